/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Shared by the fuzz targets. Each takes one kind of input that a peer can
 * choose, and checks more than the absence of crashes.
 */
#ifndef _RPCRDMA_FUZZ_H
#define _RPCRDMA_FUZZ_H

#include "span.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

/* What has to hold. The fuzzer keeps the input that broke it. */
#define FUZZ_CHECK(cond) \
	((cond) ? (void)0 : fuzz::failed(__FILE__, __LINE__, #cond))

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

namespace fuzz
{

[[noreturn]] inline void failed(const char *file, int line, const char *what)
{
	std::fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
	std::abort();
}

/* A copy whose end is the end of its allocation, for ASan to watch over. */
class Exact {
public:
	Exact(const u8 *data, size_t size)
		: size_(static_cast<u32>(size))
		, copy_(new u8[size])
	{
		if (size)
			std::memcpy(copy_.get(), data, size);
	}
	[[nodiscard]] rpcrdma::Bytes bytes() const
	{
		return { copy_.get(), size_ };
	}

private:
	u32 size_;
	std::unique_ptr<u8[]> copy_;
};

/* Choices made by the input; all zero once it has ended. */
class Choices {
public:
	Choices(const u8 *data, size_t size)
		: data_(data)
		, left_(size)
	{
	}

	[[nodiscard]] bool empty() const
	{
		return !left_;
	}
	u8 octet()
	{
		if (!left_)
			return 0;
		left_--;
		return *data_++;
	}
	/* One that is @n at the most, of one octet. */
	u32 up_to(u8 n)
	{
		return octet() % (n + 1U);
	}
	bool flip()
	{
		return octet() & 1;
	}
	u32 word()
	{
		u32 v = 0;

		for (int i = 0; i < 4; i++)
			v = v << 8 | octet();
		return v;
	}
	u64 hyper()
	{
		const u64 high = word();

		return high << 32 | word();
	}
	/* Small as a rule, now and then of any size. */
	u32 number()
	{
		const u8 o = octet();

		return o < 0xc0 ? o : o < 0xf0 ? 4U * octet() : word();
	}
	/* Octets of the input themselves, as far as there are. */
	size_t take(u8 *out, size_t n)
	{
		if (n > left_)
			n = left_;
		if (n)
			std::memcpy(out, data_, n);
		data_ += n;
		left_ -= n;
		return n;
	}

private:
	const u8 *data_;
	size_t left_;
};

} // namespace fuzz

#endif /* _RPCRDMA_FUZZ_H */
