/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Which operations of a Call have results that may be placed, and where they are (RFC 1813,
 * RFC 8881). The directions of rtrext are about ranges of the Call.
 */
#ifndef _RPCRDMA_CORE_COMPOUND_H
#define _RPCRDMA_CORE_COMPOUND_H

#include "span.h"

namespace rpcrdma
{

/**
 * @call: an RPC Call of NFS, or what of its beginning is at hand
 * @causes: gets where each READ and READLINK begins, in order; of NFSv2 and NFSv3, which have
 *	one operation, where the arguments do
 * @known: gets the octets of the Call of which nothing else causes such a result
 *
 * Their results are in the Reply in this order. With an operation that is not known here
 * nothing is known of those behind it.
 *
 * Return: how many.
 */
[[nodiscard]] u32 get_causes(Bytes call, Span<u32> causes, u32 &known);

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_COMPOUND_H */
