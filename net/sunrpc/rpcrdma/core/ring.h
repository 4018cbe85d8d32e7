/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Which Sends of a connection have a buffer. <rpcrdma/ring.h> has the rules.
 */
#ifndef _RPCRDMA_CORE_RING_H
#define _RPCRDMA_CORE_RING_H

#include <rpcrdma/ring.h>

namespace rpcrdma::ring
{

using Ring = rpcrdma_ring;
using Claim = rpcrdma_claim;
using Supply = rpcrdma_supply;

/* See the macros of <rpcrdma/ring.h>; a small ring has smaller ones. */
struct Pace {
	u32 near;
	u32 busy;
	u32 quiet;
};

inline constexpr Pace kPace = { RPCRDMA_RING_NEAR, RPCRDMA_RING_BUSY,
				RPCRDMA_RING_QUIET };

/* What is true of a ring at all times. */
[[nodiscard]] constexpr bool invariants(const Ring &r)
{
	return r.head - r.tail <= r.sends &&
	       r.bare <= r.sends - (r.head - r.tail) &&
	       r.bare <= r.sends - r.rest;
}

/* The first bare Send. */
[[nodiscard]] constexpr u32 first_bare(const Ring &r, bool early)
{
	return r.head + (r.bare && early);
}

/* All are to have a buffer. Return: true if somebody has to look, soon. */
[[nodiscard]] constexpr bool want(Ring &r, bool retry)
{
	const bool asks = r.bare && !r.wanted && retry;

	r.wanted |= asks;
	return asks;
}

/* For each see the function of the same name in <rpcrdma/ring.h>. */

[[nodiscard]] constexpr bool ask(Ring &r, bool retry, const Claim &c)
{
	r.asked = c;
	return want(r, retry);
}

[[nodiscard]] inline bool answers(Ring &r, const Supply &s)
{
	if (!r.asked.sends || !rpcrdma_ring_fits(&r, &s, &r.asked))
		return false;
	r.asked = {};
	return true;
}

[[nodiscard]] constexpr bool turn(Ring &r, bool retry, u32 &from,
				  const Pace &pace = kPace)
{
	from = r.head + r.bare;
	if (r.wanted || !retry ||
	    (rpcrdma_ring_room(&r) > pace.near &&
	     r.head - r.moved <= pace.busy))
		return false;
	r.wanted = true;
	return true;
}

/* Of one quarter all but one may wait for a later Send. */
[[nodiscard]] constexpr bool awaits(Ring &r, u32 sends, bool retry, bool &look)
{
	look = want(r, retry);
	return r.wanted || sends + r.sends / 4 - 1 <= r.sends - r.bare;
}

/* The last bare one: all behind it have a buffer. */
[[nodiscard]] constexpr u32 grow(Ring &r, bool early)
{
	const u32 to = first_bare(r, early) + r.bare - 1;

	r.bare--;
	return to;
}

[[nodiscard]] constexpr bool shrink(Ring &r, bool early, u32 &from,
				    const Pace &pace = kPace)
{
	if (r.sends - r.bare <= r.rest ||
	    rpcrdma_ring_room(&r) <= pace.near + 1)
		return false;
	from = first_bare(r, early) + r.bare;
	r.bare++;
	return true;
}

[[nodiscard]] constexpr u32 look(Ring &r, const Pace &pace = kPace)
{
	const bool wanted = r.wanted;
	const bool quiet = r.head - r.moved <= pace.quiet;

	r.wanted = false;
	r.moved = r.head;
	return wanted ? RPCRDMA_RING_FILL :
	       quiet  ? RPCRDMA_RING_FREE :
			RPCRDMA_RING_KEEP;
}

[[nodiscard]] constexpr bool rests(const Ring &r)
{
	return r.sends - r.bare <= r.rest;
}

[[nodiscard]] constexpr bool unused(const Ring &r, u32 i)
{
	return ((i - r.tail) & (r.sends - 1)) >= r.head - r.tail;
}

[[nodiscard]] constexpr u32 spare(const Ring &r, u32 others, bool lacking)
{
	const u32 used = r.head - r.tail + others + (lacking ? r.bare : 0);

	return used < r.sends ? r.sends - used : 0;
}

} // namespace rpcrdma::ring

#endif /* _RPCRDMA_CORE_RING_H */
