// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "failed.h"

namespace rpcrdma::failed
{

/*
 * Seconds since then; serial arithmetic, so that the clock may wrap, and that
 * what another processor has noted a moment ahead of @now is new, not old.
 */
static s32 age(const rpcrdma_failed_call &c, u32 now)
{
	return static_cast<s32>(now - c.since);
}

static bool live(const rpcrdma_failed_call &c, u32 now)
{
	return c.used && age(c, now) < RPCRDMA_FAILED_SECONDS;
}

void note(rpcrdma_failed_calls &t, u64 peer, u32 xid, u32 now)
{
	rpcrdma_failed_call *place = &t.calls[0];

	for (rpcrdma_failed_call &c : t.calls) {
		if (c.used && c.peer == peer && c.xid == xid) {
			place = &c;
			break;
		}
		/* A free one, or else the oldest. */
		if (place->used && (!c.used || age(c, now) > age(*place, now)))
			place = &c;
	}
	*place = { peer, xid, now, true };
}

bool known(const rpcrdma_failed_calls &t, u64 peer, u32 xid, u32 now)
{
	for (const rpcrdma_failed_call &c : t.calls)
		if (c.peer == peer && c.xid == xid && live(c, now))
			return true;
	return false;
}

} // namespace rpcrdma::failed
