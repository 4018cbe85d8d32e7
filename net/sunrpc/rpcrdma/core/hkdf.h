/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * HKDF (RFC 5869) with the HMAC-SHA-256 of the host, and labels as in RFC 8446, 7.1.
 */
#ifndef _RPCRDMA_CORE_HKDF_H
#define _RPCRDMA_CORE_HKDF_H

#include "span.h"
#include <rpcrdma/crypto.h>

namespace rpcrdma
{

/* A hash, a MAC, or a key of that size. */
struct Digest {
	u8 octets[RPCRDMA_SHA256_SIZE] = {};

	[[nodiscard]] Bytes bytes() const
	{
		return Bytes(octets);
	}
	void wipe()
	{
		rpcrdma_shim_wipe(octets, sizeof(octets));
	}
};

/* What hkdf_expand() makes at the most: 255 blocks. */
inline constexpr u32 kHkdfMost = 255 * RPCRDMA_SHA256_SIZE;

/* A string literal, without the zero at its end. */
class Label {
public:
	template <u32 N>
	constexpr explicit Label(const char (&s)[N])
		: begin_(s)
		, size_(N - 1)
	{
	}
	[[nodiscard]] constexpr u32 size() const
	{
		return size_;
	}
	[[nodiscard]] constexpr u8 operator[](u32 i) const
	{
		return static_cast<u8>(begin_[i]);
	}

private:
	const char *begin_;
	u32 size_;
};

/* HMAC of one octet string. Return: false if the host could not compute it. */
[[nodiscard]] bool hmac(Bytes key, Bytes text, Digest &mac);

/* RFC 5869, 2.2. Return: as hmac(). */
[[nodiscard]] bool hkdf_extract(Bytes salt, Bytes secret, Digest &prk);

/**
 * RFC 5869, 2.3
 * @out: all of it is filled; at most kHkdfMost octets
 *
 * Return: false if @out is too large, or as hmac(). Then @out is wiped.
 */
[[nodiscard]] bool hkdf_expand(Bytes prk, Bytes info, MutableBytes out);

/**
 * One block, for a purpose (Expand-Label in Documentation/host-authentication.rst)
 * @label: for what; "rpcrdma2 " comes before it
 * @context: for which exchange
 *
 * Return: false if label and context are too long, or as hmac().
 */
[[nodiscard]] bool hkdf_expand_label(const Digest &prk, Label label,
				     Bytes context, Digest &out);

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_HKDF_H */
