/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the makers of random messages have in common.
 */
#ifndef _RPCRDMA_CODEC_MAKER_H
#define _RPCRDMA_CODEC_MAKER_H

#include "content.h"

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

} // namespace codec

#endif /* _RPCRDMA_CODEC_MAKER_H */
