// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A mutator that knows XDR: it works on words, and can insert and remove elements of
 * lists and arrays. Half of the time libFuzzer's own mutator runs instead.
 */
#include "fuzz.h"
#include "xdr.h"

#include <algorithm>
#include <random>

extern "C" size_t LLVMFuzzerMutate(u8 *data, size_t size, size_t max);
extern "C" size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t max,
					  unsigned seed);

namespace
{

using rpcrdma::load_be32;
using rpcrdma::store_be32;

class Words {
public:
	Words(u8 *data, size_t size, size_t max, unsigned seed)
		: data_(data)
		, words_(size / 4)
		, max_(max / 4)
		, random_(seed)
	{
	}

	size_t mutate()
	{
		switch (below(6)) {
		case 0: /* a value that counts and sizes stumble over */
			if (words_)
				store_be32(at(below(words_)), edge());
			break;
		case 1: /* one more or less */
			if (words_) {
				u8 *p = at(below(words_));

				store_be32(p,
					   load_be32(p) + (below(2) ? 1 : ~0U));
			}
			break;
		case 2: /* a further item in a list of Read segments */
			insert({ 1, edge(), word(), edge(), 0, word() });
			break;
		case 3: /* a segment; a Write chunk of one; an optional one */
			insert(below(2) ?
				       List{ word(), edge(), 0, word() } :
				       List{ 1, 1, word(), edge(), 0, word() });
			break;
		case 4: /* a word says what an earlier one says */
			if (words_ > 1) {
				const size_t to = 1 + below(words_ - 1);

				std::memcpy(at(to), at(below(to)), 4);
			}
			break;
		case 5:
			remove(1 + below(6));
			break;
		}
		return 4 * words_;
	}

private:
	using List = std::initializer_list<u32>;

	size_t below(size_t n)
	{
		return random_() % n;
	}
	u8 *at(size_t word)
	{
		return data_ + 4 * word;
	}
	u32 word()
	{
		return static_cast<u32>(random_());
	}
	u32 edge()
	{
		static constexpr u32 kEdges[] = {
			0,	1,	    2,	      4,	  8,
			12,	16,	    17,	      0x400,	  0x1000,
			0xffff, 0x7fffffff, 1U << 31, 0xfffffffc, ~0U
		};

		return kEdges[below(sizeof(kEdges) / sizeof(kEdges[0]))];
	}
	void insert(List words)
	{
		const size_t place = below(words_ + 1);

		if (words_ + words.size() > max_)
			return;
		std::memmove(at(place + words.size()), at(place),
			     4 * (words_ - place));
		words_ += words.size();
		for (size_t i = 0; i < words.size(); i++)
			store_be32(at(place + i), words.begin()[i]);
	}
	void remove(size_t n)
	{
		if (n >= words_)
			return;
		const size_t place = below(words_ - n);

		std::memmove(at(place), at(place + n),
			     4 * (words_ - place - n));
		words_ -= n;
	}

	u8 *data_;
	size_t words_;
	size_t max_;
	std::minstd_rand random_;
};

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(u8 *data, size_t size, size_t max,
					  unsigned seed)
{
	if (seed % 2)
		return LLVMFuzzerMutate(data, size, max);
	return Words(data, size, max, seed / 2 + 1).mutate();
}
