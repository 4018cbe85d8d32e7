// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "recent.h"

namespace rpcrdma::recent
{

static constexpr u32 kWordBits = 64;
static constexpr u32 kFilterBits = RPCRDMA_RECENT_WORDS * kWordBits;

/*
 * Seconds since then. Serial arithmetic: the clock may wrap, and an entry that another
 * processor made a moment after @now is new, not old.
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

static bool is(const rpcrdma_recent_entry &e, u64 peer, u64 id)
{
	return e.peer == peer && e.id == id;
}

static bool is_known(const rpcrdma_recent &t, const rpcrdma_recent_entry &e,
		     u64 peer, u64 id, u32 now)
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

/* In a full table: the oldest entry of the peer that has the most, counting the new one. */
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
		/* @peer has none, and every other peer has one. */
		if (e.peer != from && most > 1)
			continue;
		if (!place || age(e, now) > age(*place, now))
			place = &e;
	}
	return *place;
}

/* The entry of this item, or an entry that the item may use. */
static rpcrdma_recent_entry &place_for(rpcrdma_recent &t, u64 peer, u64 id,
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

void note(rpcrdma_recent &t, u64 peer, u64 id, u32 now)
{
	place_for(t, peer, id, now) = { peer, id, now, RPCRDMA_MAX_SUSPECTED };
}

bool suspect(rpcrdma_recent &t, u64 peer, u64 id, u32 now)
{
	rpcrdma_recent_entry &e = place_for(t, peer, id, now);
	const u32 before = is(e, peer, id) && live(t, e, now) ? e.suspected : 0;

	e = { peer, id, now,
	      before < RPCRDMA_MAX_SUSPECTED ? before + 1 : before };
	return e.suspected == RPCRDMA_MAX_SUSPECTED;
}

bool known(const rpcrdma_recent &t, u64 peer, u64 id, u32 now)
{
	for (const rpcrdma_recent_entry &e : t.entries)
		if (is_known(t, e, peer, id, now))
			return true;
	return false;
}

bool forget(rpcrdma_recent &t, u64 peer, u64 id, u32 now)
{
	for (rpcrdma_recent_entry &e : t.entries) {
		if (!is_known(t, e, peer, id, now))
			continue;
		e.suspected = 0;
		return true;
	}
	return false;
}

u32 bit(u64 peer, u64 id)
{
	/* Fibonacci hashing: the upper bits depend on all of both. */
	constexpr u64 kGolden = 0x9e3779b97f4a7c15;
	const u64 mixed = (peer ^ id * kGolden) * kGolden;

	return static_cast<u32>(mixed >> 32) % kFilterBits;
}

void filter(const rpcrdma_recent &t, u32 now, Span<u64> words)
{
	for (u64 &word : words)
		word = 0;
	for (const rpcrdma_recent_entry &e : t.entries) {
		if (!is_known(t, e, e.peer, e.id, now))
			continue;
		const u32 n = bit(e.peer, e.id);

		words[n / kWordBits] |= u64{ 1 } << n % kWordBits;
	}
}

} // namespace rpcrdma::recent
