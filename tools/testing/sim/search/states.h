/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Shared by the searches: what of a tracker of credits makes two states differ, and keys of
 * states.
 */
#ifndef _RPCRDMA_SEARCH_STATES_H
#define _RPCRDMA_SEARCH_STATES_H

#include "credits.h"

#include <array>
#include <cstring>

namespace states
{

using rpcrdma::Credits;

/*
 * Counters of a tracker as differences, and what else it decides by. By its lifetime
 * it tells limits that no peer can mean; here there are none, whatever it is.
 */
struct Essence {
	u32 window;
	u32 surplus;
	s32 allowed; /* limit - sent */
	u32 in_use; /* received - released */
	s32 told; /* told - received */
};

/* Credits as it lies in memory. essence__is_all_there_is holds the two equal. */
struct Layout {
	u32 window, surplus, sent, limit, received, released, told, high,
		granted, taken_back, lifetime;
};
static_assert(sizeof(Layout) == sizeof(Credits));

} // namespace states

namespace rpcrdma
{

inline states::Essence essence(const Credits &c)
{
	states::Layout l;

	std::memcpy(&l, &c, sizeof(l));
	return { l.window, l.surplus, s32(l.limit - l.sent),
		 l.received - l.released, s32(l.told - l.received) };
}

} // namespace rpcrdma

namespace states
{

/* Small, so that millions of states fit; compared octet by octet. */
template <size_t N> using Key = std::array<u8, N>;

template <size_t N> struct KeyHash {
	static_assert(N % sizeof(u64) == 0);

	size_t operator()(const Key<N> &k) const
	{
		u64 h = 0;

		for (size_t i = 0; i < N; i += sizeof(u64)) {
			u64 word;

			std::memcpy(&word, &k[i], sizeof(word));
			h = (h ^ word) * 0x9e3779b97f4a7c15;
			h ^= h >> 29;
		}
		return h;
	}
};

} // namespace states

#endif /* _RPCRDMA_SEARCH_STATES_H */
