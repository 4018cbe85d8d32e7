/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A view of consecutive objects that it does not own.
 */
#ifndef _RPCRDMA_CORE_SPAN_H
#define _RPCRDMA_CORE_SPAN_H

#include <rpcrdma/types.h>

namespace rpcrdma
{

template <typename T> class Span {
public:
	constexpr Span() = default;
	constexpr Span(T *data, u32 size)
		: data_(data)
		, size_(size)
	{
	}
	/* Implicit: an array is a span of all of it. */
	template <u32 N>
	/* cppcheck-suppress noExplicitConstructor */
	constexpr Span(T (&array)[N]) /* NOLINT(google-explicit-constructor) */
		: data_(array)
		, size_(N)
	{
	}

	[[nodiscard]] constexpr T *data() const
	{
		return data_;
	}
	[[nodiscard]] constexpr u32 size() const
	{
		return size_;
	}
	[[nodiscard]] constexpr T &operator[](u32 i) const
	{
		return data_[i];
	}
	[[nodiscard]] constexpr T *begin() const
	{
		return data_;
	}
	[[nodiscard]] constexpr T *end() const
	{
		return data_ + size_;
	}
	/* The elements after the first @n; empty if there are none. */
	[[nodiscard]] constexpr Span after(u32 n) const
	{
		return n < size_ ? Span(data_ + n, size_ - n) : Span();
	}

	/* The first @n elements, or all if there are fewer. */
	[[nodiscard]] constexpr Span first(u32 n) const
	{
		return Span(data_, n < size_ ? n : size_);
	}

	/* @size elements from @from on, which are there. */
	[[nodiscard]] constexpr Span part(u32 from, u32 size) const
	{
		return Span(data_ + from, size);
	}

private:
	T *data_ = nullptr;
	u32 size_ = 0;
};

using Bytes = Span<const u8>;
using MutableBytes = Span<u8>;

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_SPAN_H */
