/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What names an RPC message on its connection: XID and direction. On the wire and in C both
 * are words. Here each has a type, so that no other word is taken for it.
 */
#ifndef _RPCRDMA_CORE_XID_H
#define _RPCRDMA_CORE_XID_H

#include <rpcrdma/core.h>

namespace rpcrdma
{

/* rdma_xid, host order */
enum class Xid : u32 {};

[[nodiscard]] constexpr Xid to_xid(u32 word)
{
	return Xid{ word };
}

[[nodiscard]] constexpr u32 word_of(Xid xid)
{
	return static_cast<u32>(xid);
}

/* A word of the wire as a direction. Return: false if it is none; @dir is as before then. */
[[nodiscard]] constexpr bool direction_of(u32 word, rpcrdma_dir &dir)
{
	if (word > RPCRDMA_REPLY)
		return false;
	dir = rpcrdma_dir{ word };
	return true;
}

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_XID_H */
