/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the makers of random messages, and the tests that compare two decoders of them, have
 * in common.
 */
#ifndef _RPCRDMA_CODEC_MAKER_H
#define _RPCRDMA_CODEC_MAKER_H

#include "content.h"
#include "xdr.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

namespace codec
{

/* A number in the environment; differential.cpp says which there are. */
inline u32 setting(const char *name, u32 otherwise)
{
	const char *value = std::getenv(name);

	return value ? static_cast<u32>(std::strtoul(value, nullptr, 0)) :
		       otherwise;
}

inline rpcrdma::Bytes bytes(const Octets &o)
{
	return { o.data(), static_cast<u32>(o.size()) };
}

class Numbers {
public:
	explicit Numbers(u32 seed)
		: random_(seed)
	{
	}
	u64 hyper()
	{
		return random_();
	}
	u32 below(u64 n)
	{
		return static_cast<u32>(random_() % n);
	}
	/* Small, most of the time. */
	u32 word()
	{
		return below(3) ? below(5) : static_cast<u32>(random_());
	}

private:
	std::mt19937_64 random_;
};

/* Something from octet @from on is likely to be wrong now. */
template <typename Maker> void damage(Maker &m, Octets &o, u32 from = 0)
{
	const u32 size = static_cast<u32>(o.size());
	const u32 words = (size - from) / 4;
	const u32 at = words ? from + 4 * m.below(words) : from;

	switch (words ? m.below(7) : 6) {
	case 0:
		o[from + m.below(size - from)] ^= 1 << m.below(8);
		break;
	case 1:
		rpcrdma::store_be32(o.data() + at, m.word());
		break;
	case 2:
		o.resize(from + m.below(size - from + 1));
		break;
	case 3:
		o.erase(o.begin() + at, o.begin() + at + 4);
		break;
	case 4:
		o.insert(o.begin() + at, 4, o[at]);
		break;
	case 5:
		/* Lists turn on such words. */
		rpcrdma::store_be32(o.data() + at, m.below(3));
		break;
	default:
		o.resize(size + 1 + m.below(9));
		break;
	}
}

/**
 * Messages of one kind through two decoders
 *
 * In its methods @make makes octets with a Maker; @compare gets them, checks that both
 * decoders say the same of them, and returns whether that is a message.
 */
class CodecTest : public testing::TestWithParam<u32> {
protected:
	template <typename Maker, typename Make, typename Compare>
	void compare_sound(Make make, Compare compare)
	{
		Maker m(seed);

		for (u32 i = 0; i < rounds && !HasFailure(); i++)
			EXPECT_TRUE(compare(make(m)));
	}

	/* @from: what is before that octet stays as it is. */
	template <typename Maker, typename Make, typename Compare>
	void compare_damaged(Make make, Compare compare, u32 from = 0)
	{
		Maker m(seed + 1);
		u32 refused = 0;

		for (u32 i = 0; i < rounds && !HasFailure(); i++) {
			Octets o = make(m);

			for (u32 n = 1 + m.below(3); n; n--)
				damage(m, o, from);
			refused += !compare(o);
		}
		EXPECT_GT(refused, rounds / 20);
	}

	const u32 rounds = setting("CODEC_ROUNDS", 10000);
	const u32 seed = setting("CODEC_SEED", 1);
};

} // namespace codec

#endif /* _RPCRDMA_CODEC_MAKER_H */
