/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a Responder reads in an RPC Call itself (RFC 5531, RFC 2203): where its
 * arguments begin, and what RPCSEC_GSS protects. The peer cannot see any decision that
 * depends on it.
 */
#ifndef _RPCRDMA_CORE_CALL_HEADER_H
#define _RPCRDMA_CORE_CALL_HEADER_H

#include "chunks.h"
#include "xid.h"

namespace rpcrdma
{

/* See rpcrdma_call_id(). */
[[nodiscard]] u64 call_id(Xid xid, u64 length, Bytes stream, u64 secret);

/* See rpcrdma_call_divides(). */
[[nodiscard]] bool call_divides(Bytes stream, u32 position);

/* See rpcrdma_call_item(); @stream is the part that has been received. */
[[nodiscard]] bool call_item(const Chunks &chunks, Bytes stream, Range &item);

/* Where the arguments of this Call begin. Return: false if that is not at hand. */
[[nodiscard]] bool call_arguments(Bytes stream, u32 &begin);

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_CALL_HEADER_H */
