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
#include <utility>
#include <vector>

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

/*
 * Keys, each with a number in the order in which they came. Of a place, the lower half is the
 * number and one more, and the upper half is of the hash: most that are not meant are passed
 * over without a look at their key. std::unordered_map takes twice the time.
 */
template <size_t N> class Numbers {
public:
	Numbers()
		: places_(1 << 12)
	{
	}
	/* The number of @k, and whether it is new. */
	std::pair<u32, bool> add(const Key<N> &k)
	{
		if (keys_.size() * 2 >= places_.size())
			grow();
		const u64 hash = KeyHash<N>()(k);
		size_t i = first(hash);

		for (; places_[i]; i = (i + 1) & (places_.size() - 1)) {
			const u32 number = u32(places_[i]) - 1;

			if (places_[i] >> 32 == hash >> 32 && keys_[number] == k)
				return { number, false };
		}
		keys_.push_back(k);
		places_[i] = (hash >> 32 << 32) | keys_.size();
		return { u32(keys_.size()) - 1, true };
	}
	[[nodiscard]] size_t size() const
	{
		return keys_.size();
	}
	[[nodiscard]] const Key<N> &at(u32 number) const
	{
		return keys_[number];
	}

private:
	[[nodiscard]] size_t first(u64 hash) const
	{
		return hash & (places_.size() - 1);
	}
	void grow()
	{
		std::vector<u64> old(places_.size() * 2);

		old.swap(places_);
		for (const u64 place : old) {
			if (!place)
				continue;
			size_t i = first(KeyHash<N>()(keys_[u32(place) - 1]));

			while (places_[i])
				i = (i + 1) & (places_.size() - 1);
			places_[i] = place;
		}
	}

	std::vector<Key<N>> keys_;
	std::vector<u64> places_; /* a power of two of them; zero: free */
};

struct Edge {
	u32 from, to;
};

/* Of so many states, some are reached again by these steps. */
inline bool cyclic(size_t states, const std::vector<Edge> &edges)
{
	std::vector<u32> begin(states + 2), to(edges.size());
	std::vector<u32> incoming(states), ready;
	size_t removed = 0;

	for (const Edge &e : edges)
		begin[e.from + 2]++;
	for (size_t i = 2; i < begin.size(); i++)
		begin[i] += begin[i - 1];
	for (const Edge &e : edges) {
		to[begin[e.from + 1]++] = e.to;
		incoming[e.to]++;
	}
	for (u32 i = 0; i < states; i++)
		if (!incoming[i])
			ready.push_back(i);
	for (; !ready.empty(); removed++) {
		const u32 i = ready.back();

		ready.pop_back();
		for (u32 k = begin[i]; k < begin[i + 1]; k++)
			if (!--incoming[to[k]])
				ready.push_back(to[k]);
	}
	return removed < states;
}

} // namespace states

#endif /* _RPCRDMA_SEARCH_STATES_H */
