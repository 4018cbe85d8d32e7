// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "recent.h"

namespace rpcrdma::recent
{

/*
 * Seconds since then; serial arithmetic, so that the clock may wrap, and that
 * what another processor has noted a moment ahead of @now is new, not old.
 */
static s32 age(const rpcrdma_recent_entry &e, u32 now)
{
	return static_cast<s32>(now - e.since);
}

static bool live(const rpcrdma_recent &t, const rpcrdma_recent_entry &e,
		 u32 now)
{
	const u32 seconds = t.seconds ? t.seconds :
					u32{ RPCRDMA_RECENT_SECONDS };

	return e.suspected && age(e, now) < static_cast<s32>(seconds);
}

static bool is(const rpcrdma_recent_entry &e, u64 peer, u32 id)
{
	return e.peer == peer && e.id == id;
}

static bool is_known(const rpcrdma_recent &t, const rpcrdma_recent_entry &e,
		     u64 peer, u32 id, u32 now)
{
	return is(e, peer, id) && live(t, e, now) &&
	       e.suspected == RPCRDMA_MAX_SUSPECTED;
}

/* How many entries are @peer's. */
static u32 share(const rpcrdma_recent &t, u64 peer)
{
	u32 n = 0;

	for (const rpcrdma_recent_entry &e : t.entries)
		n += e.peer == peer;
	return n;
}

/* In a full table: the oldest of a peer that has the most, once @peer has more. */
static rpcrdma_recent_entry &victim(rpcrdma_recent &t, u64 peer, u32 now)
{
	rpcrdma_recent_entry *place = nullptr;
	u64 from = peer;
	u32 most = share(t, peer) + 1;

	for (const rpcrdma_recent_entry &e : t.entries) {
		const u32 n = share(t, e.peer);

		if (n > most) {
			most = n;
			from = e.peer;
		}
	}
	for (rpcrdma_recent_entry &e : t.entries) {
		/* A peer that has none: everybody else has one. */
		if (e.peer != from && most > 1)
			continue;
		if (!place || age(e, now) > age(*place, now))
			place = &e;
	}
	return *place;
}

/* Its entry, or else one that it may have. */
static rpcrdma_recent_entry &place_for(rpcrdma_recent &t, u64 peer, u32 id,
				       u32 now)
{
	rpcrdma_recent_entry *place = nullptr;

	for (rpcrdma_recent_entry &e : t.entries) {
		if (e.suspected && is(e, peer, id))
			return e;
		if (!place && !live(t, e, now))
			place = &e;
	}
	return place ? *place : victim(t, peer, now);
}

void note(rpcrdma_recent &t, u64 peer, u32 id, u32 now)
{
	place_for(t, peer, id, now) = { peer, id, now, RPCRDMA_MAX_SUSPECTED };
}

bool suspect(rpcrdma_recent &t, u64 peer, u32 id, u32 now)
{
	rpcrdma_recent_entry &e = place_for(t, peer, id, now);
	const u32 before = is(e, peer, id) && live(t, e, now) ? e.suspected : 0;

	e = { peer, id, now,
	      before < RPCRDMA_MAX_SUSPECTED ? before + 1 : before };
	return e.suspected == RPCRDMA_MAX_SUSPECTED;
}

bool known(const rpcrdma_recent &t, u64 peer, u32 id, u32 now)
{
	for (const rpcrdma_recent_entry &e : t.entries)
		if (is_known(t, e, peer, id, now))
			return true;
	return false;
}

bool forget(rpcrdma_recent &t, u64 peer, u32 id, u32 now)
{
	for (rpcrdma_recent_entry &e : t.entries) {
		if (!is_known(t, e, peer, id, now))
			continue;
		e.suspected = 0;
		return true;
	}
	return false;
}

} // namespace rpcrdma::recent
