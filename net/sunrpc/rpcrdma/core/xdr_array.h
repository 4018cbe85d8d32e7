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
 */
template <typename T> class XdrArray {
public:
	[[nodiscard]] bool decode(XdrReader &r)
	{
		u32 count;

		if (!r.word(count))
			return false;
		first_ = r;
		if constexpr (requires { T::kOctets; }) {
			static_assert(xdr_aligned(T::kOctets));
			Bytes all;

			count_ = 0;
			if (count > r.left() / T::kOctets ||
			    !r.opaque(count * T::kOctets, all))
				return false;
			count_ = count;
		} else {
			for (count_ = 0; count_ < count; count_++) {
				T one;

				if (!one.decode(r))
					return false;
			}
		}
		return true;
	}
	[[nodiscard]] u32 size() const
	{
		return count_;
	}
	/* Call @f(position, one) with each, until it returns false. Return: it never did. */
	template <typename F> [[nodiscard]] bool each_at(F f) const
	{
		XdrReader r = first_;

		for (u32 i = 0; i < count_; i++) {
			T one;

			if (!one.decode(r) || !f(i, one))
				return false;
		}
		return true;
	}
	/* Likewise @f(one). */
	template <typename F> [[nodiscard]] bool each(F f) const
	{
		return each_at([&](u32, const T &one) { return f(one); });
	}

private:
	XdrReader first_{ Bytes() };
	u32 count_ = 0;
};

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_XDR_ARRAY_H */
