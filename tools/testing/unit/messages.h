/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Messages of version 2, written by hand, word by word. The unit tests give them to
 * the core, tools/testing/peer sends them to a kernel.
 */
#ifndef _RPCRDMA_UNIT_MESSAGES_H
#define _RPCRDMA_UNIT_MESSAGES_H

#include <rpcrdma/core.h>

#include <vector>

namespace unit
{

using Octets = std::vector<u8>;
using Words = std::vector<u32>;

inline Octets octets(const Words &words)
{
	Octets out;

	for (u32 w : words)
		for (int shift = 24; shift >= 0; shift -= 8)
			out.push_back(static_cast<u8>(w >> shift));
	return out;
}

inline u32 word_at(const Octets &o, u32 index)
{
	const u8 *p = o.data() + 4 * index;

	return u32{ p[0] } << 24 | u32{ p[1] } << 16 | u32{ p[2] } << 8 | p[3];
}

inline Words operator+(Words a, const Words &b)
{
	a.insert(a.end(), b.begin(), b.end());
	return a;
}

/* Credit word of the scripted peer: as good as no limit. */
inline constexpr u32 kPlenty = 1000;

inline Words prefix(u32 xid, u32 htype, u32 credit = kPlenty, u32 vers = 2)
{
	return { xid, vers, credit, htype };
}

inline Words connprop(u32 xid, const Words &set = { 0 },
		      u32 htype = RPCRDMA2_CONNPROP_FINAL)
{
	return prefix(xid, htype) + set;
}

inline Words property(u32 which, u32 value)
{
	return { 1, which, 4, value };
}

/* An RPC message of @length octets, in words. */
inline Words rpc(u32 xid, u32 dir, u32 length)
{
	Words w = { xid, dir };

	for (u32 i = 2; i < length / 4; i++)
		w.push_back(xid + i);
	w.resize(length / 4);
	return w;
}

inline Words slice(const Words &w, u32 from, u32 octets)
{
	return Words(w.begin() + from / 4, w.begin() + (from + octets) / 4);
}

inline Words call_inline(u32 xid, const Words &payload)
{
	return prefix(xid, RPCRDMA2_CALL_INLINE) + Words{ 0, 0, 0, 0 } +
	       payload;
}

inline Words reply_inline(u32 xid, const Words &payload)
{
	return prefix(xid, RPCRDMA2_REPLY_INLINE) + Words{ 0 } + payload;
}

inline Words middle(u32 htype, u32 xid, u32 remaining, const Words &payload)
{
	return prefix(xid, htype) + Words{ remaining } + payload;
}

} // namespace unit

#endif /* _RPCRDMA_UNIT_MESSAGES_H */
