/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * RFC 8797: RDMA-CM private data of version 1. Version 2 sends it too, since the peer may
 * speak version 1 (D5).
 */
#ifndef _RPCRDMA_CORE_PRIVATE_DATA_H
#define _RPCRDMA_CORE_PRIVATE_DATA_H

#include "span.h"
#include <rpcrdma/private_data.h>

namespace rpcrdma
{

using PrivateData = rpcrdma_cm_private;

/* Defaults for a peer that sends none. */
inline constexpr PrivateData kDefaultPrivateData = { 1024, 1024, false, false,
						      false };

/* The size that the peer decodes, in bytes: sizes travel in whole units. */
[[nodiscard]] u32 announced_size(u32 octets);

/* See rpcrdma_cm_private_encode(). @out has RPCRDMA_CM_PRIVATE_SIZE bytes. */
void encode_private_data(const rpcrdma_cm_private &p, MutableBytes out);

/* See rpcrdma_cm_private_decode(). */
[[nodiscard]] bool decode_private_data(Bytes in, rpcrdma_cm_private &p);

/* See rpcrdma_opening_wait(). */
[[nodiscard]] u32 opening_wait(const PrivateData &p, u32 round_trip);

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_PRIVATE_DATA_H */
