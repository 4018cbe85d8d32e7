/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * XDR (RFC 4506), bounded: no call reads or writes outside the span it was
 * given, and a call that fails consumes nothing, but for words().
 */
#ifndef _RPCRDMA_CORE_XDR_H
#define _RPCRDMA_CORE_XDR_H

#include "span.h"

namespace rpcrdma
{

/* XDR pads every opaque to a multiple of this many octets. */
inline constexpr u32 kXdrUnit = 4;

[[nodiscard]] constexpr u64 xdr_roundup(u64 octets)
{
	return (octets + kXdrUnit - 1) & ~u64{ kXdrUnit - 1 };
}

[[nodiscard]] constexpr bool xdr_aligned(u64 octets)
{
	return octets % kXdrUnit == 0;
}

[[nodiscard]] inline u32 load_be32(const u8 *p)
{
	u32 v;

	__builtin_memcpy(&v, p, sizeof(v));
	return __builtin_bswap32(v);
}

inline void store_be32(u8 *p, u32 v)
{
	v = __builtin_bswap32(v);
	__builtin_memcpy(p, &v, sizeof(v));
}

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	      "load_be32 and store_be32 swap");

class XdrReader {
public:
	constexpr explicit XdrReader(Bytes in)
		: in_(in)
	{
	}

	[[nodiscard]] constexpr u32 offset() const
	{
		return at_;
	}
	[[nodiscard]] constexpr u32 left() const
	{
		return in_.size() - at_;
	}
	/* What has not been read. */
	[[nodiscard]] constexpr Bytes rest() const
	{
		return Bytes(in_.data() + at_, left());
	}

	[[nodiscard]] bool word(u32 &v)
	{
		if (left() < sizeof(v))
			return false;
		v = load_be32(in_.data() + at_);
		at_ += sizeof(v);
		return true;
	}

	/* As word() for each of them in turn, with one check. */
	template <typename... Words>
	[[nodiscard, gnu::always_inline]] bool words(Words &...v)
	{
		constexpr u32 octets = sizeof...(v) * sizeof(u32);

		if (left() < octets) {
			at_ += left() & ~(kXdrUnit - 1);
			return false;
		}
		const u8 *p = in_.data() + at_;
		((v = load_be32(p), p += sizeof(u32)), ...);
		at_ += octets;
		return true;
	}

	[[nodiscard]] bool hyper(u64 &v)
	{
		if (left() < sizeof(v))
			return false;
		const u8 *p = in_.data() + at_;
		v = u64{ load_be32(p) } << 32 | load_be32(p + 4);
		at_ += sizeof(v);
		return true;
	}

	/* An XDR bool, also the discriminator of optional-data: 0 or 1 only. */
	[[nodiscard]] bool boolean(bool &v)
	{
		if (left() < sizeof(u32))
			return false;
		const u32 raw = load_be32(in_.data() + at_);
		if (raw > 1)
			return false;
		at_ += sizeof(u32);
		v = raw == 1;
		return true;
	}

	/* @octets of opaque data and their padding; @out has no padding. */
	[[nodiscard]] bool opaque(u32 octets, Bytes &out)
	{
		const u64 padded = xdr_roundup(octets);

		if (left() < padded)
			return false;
		out = Bytes(in_.data() + at_, octets);
		at_ += static_cast<u32>(padded);
		return true;
	}

	/* @octets, which are whole words. */
	[[nodiscard]] constexpr bool skip(u32 octets)
	{
		if (left() < octets)
			return false;
		at_ += octets;
		return true;
	}

private:
	Bytes in_;
	u32 at_ = 0;
};

/* After a put that did not fit, ok() stays false and nothing is written. */
class XdrWriter {
public:
	constexpr explicit XdrWriter(MutableBytes out)
		: out_(out)
	{
	}

	[[nodiscard]] constexpr bool ok() const
	{
		return ok_;
	}
	[[nodiscard]] constexpr u32 size() const
	{
		return at_;
	}

	void word(u32 v)
	{
		if (!ok_ || out_.size() - at_ < sizeof(v)) {
			ok_ = false;
			return;
		}
		store_be32(out_.data() + at_, v);
		at_ += sizeof(v);
	}

	/* Several words, or none of them. */
	template <typename... Words>
	[[gnu::always_inline]] void words(Words... v)
	{
		constexpr u32 octets = sizeof...(v) * sizeof(u32);

		if (!ok_ || out_.size() - at_ < octets) {
			ok_ = false;
			return;
		}
		u8 *p = out_.data() + at_;
		((store_be32(p, v), p += sizeof(u32)), ...);
		at_ += octets;
	}

	void hyper(u64 v)
	{
		word(static_cast<u32>(v >> 32));
		word(static_cast<u32>(v));
	}

	/* Write a word again that was put at @at. */
	void word_at(u32 at, u32 v)
	{
		if (ok_ && at_ >= sizeof(v) && at <= at_ - sizeof(v))
			store_be32(out_.data() + at, v);
	}

private:
	MutableBytes out_;
	u32 at_ = 0;
	bool ok_ = true;
};

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_XDR_H */
