/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A counted array of XDR (RFC 4506, section 4.13) that stays in its message: each element is
 * decoded whenever it is looked at. So the array has no bound of its own; the length of the
 * message bounds it.
 */
#ifndef _RPCRDMA_CORE_XDR_ARRAY_H
#define _RPCRDMA_CORE_XDR_ARRAY_H

#include "xdr.h"

namespace rpcrdma
{

/*
 * @T has bool decode(XdrReader &). It may have kOctets, if each takes so many: then they are
 * all there if their octets are.
 *
 * Readers are local here, so that the compiler can keep them in registers.
 */
template <typename T> class XdrArray {
public:
	constexpr XdrArray() = default;
	/* @count of them, whose octets begin @in. */
	constexpr XdrArray(Bytes in, u32 count)
		: first_(in.data())
		, octets_(in.size())
		, count_(count)
	{
	}

	/* If it is not all there, nothing is in it; @from is where that was found. */
	[[nodiscard, gnu::always_inline]] bool decode(XdrReader &from)
	{
		XdrReader r = from;
		u32 count = 0;
		const bool ok = r.word(count) && decode(r, count);

		count_ = ok ? count : 0;
		from = r;
		return ok;
	}
	[[nodiscard]] u32 size() const
	{
		return count_;
	}
	/* Its elements, and what follows them. */
	[[nodiscard]] Bytes octets() const
	{
		return Bytes(first_, octets_);
	}
	/* Call @f(position, one) with each, until it returns false. Return: it never did. */
	template <typename F>
	[[nodiscard, gnu::always_inline]] bool each_at(F f) const
	{
		XdrReader r(Bytes(first_, octets_));

		for (u32 i = 0; i < count_; i++) {
			T one;

			if (!one.decode(r) || !f(i, one))
				return false;
		}
		return true;
	}
	/* Likewise @f(one). */
	template <typename F>
	[[nodiscard, gnu::always_inline]] bool each(F f) const
	{
		return each_at([&](u32, const T &one) { return f(one); });
	}

private:
	/* What follows the count. */
	[[nodiscard, gnu::always_inline]] bool decode(XdrReader &r, u32 count)
	{
		first_ = r.rest().data();
		octets_ = r.left();
		if constexpr (requires { T::kOctets; }) {
			static_assert(xdr_aligned(T::kOctets));
			return count <= octets_ / T::kOctets &&
			       r.skip(count * T::kOctets);
		} else {
			for (u32 i = 0; i < count; i++) {
				T one;

				if (!one.decode(r))
					return false;
			}
			return true;
		}
	}

	const u8 *first_ = nullptr;
	u32 octets_ = 0; /* from there to the end of the message */
	u32 count_ = 0;
};

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_XDR_ARRAY_H */
