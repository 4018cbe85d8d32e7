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

/* How many entries are @peer's. */
static u32 share(const rpcrdma_failed_calls &t, u64 peer)
{
	u32 n = 0;

	for (const rpcrdma_failed_call &c : t.calls)
		n += c.peer == peer;
	return n;
}

/* In a full table: the oldest of a peer that has the most, once @peer has more. */
static rpcrdma_failed_call &victim(rpcrdma_failed_calls &t, u64 peer, u32 now)
{
	rpcrdma_failed_call *place = nullptr;
	u64 from = peer;
	u32 most = share(t, peer) + 1;

	for (const rpcrdma_failed_call &c : t.calls) {
		const u32 n = share(t, c.peer);

		if (n > most) {
			most = n;
			from = c.peer;
		}
	}
	for (rpcrdma_failed_call &c : t.calls) {
		/* A peer that has none: everybody else has one. */
		if (c.peer != from && most > 1)
			continue;
		if (!place || age(c, now) > age(*place, now))
			place = &c;
	}
	return *place;
}

void note(rpcrdma_failed_calls &t, u64 peer, u32 xid, u32 now)
{
	rpcrdma_failed_call *place = nullptr;

	for (rpcrdma_failed_call &c : t.calls) {
		if (c.used && c.peer == peer && c.xid == xid) {
			place = &c;
			break;
		}
		if (!place && !live(c, now))
			place = &c;
	}
	if (!place)
		place = &victim(t, peer, now);
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
