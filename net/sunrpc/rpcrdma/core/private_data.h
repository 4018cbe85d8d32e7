/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * RFC 8797: what version 1 peers tell each other in RDMA-CM private data.
 * Version 2 sends it too, since the peer may turn out to be version 1 (D5).
 */
#ifndef _RPCRDMA_CORE_PRIVATE_DATA_H
#define _RPCRDMA_CORE_PRIVATE_DATA_H

#include "span.h"
#include <rpcrdma/core.h>

namespace rpcrdma
{

using PrivateData = rpcrdma_cm_private;

/* In force for a peer that sends none. */
inline constexpr PrivateData kDefaultPrivateData = { 1024, 1024, false, false,
						      false };

/* What the peer takes a size for, in octets: it travels in whole units. */
[[nodiscard]] u32 told_size(u32 octets);

/* See rpcrdma_cm_private_encode(). @out has RPCRDMA_CM_PRIVATE_SIZE octets. */
void encode_private_data(const rpcrdma_cm_private &p, MutableBytes out);

/* See rpcrdma_cm_private_decode(). */
[[nodiscard]] bool decode_private_data(Bytes in, rpcrdma_cm_private &p);

/* See rpcrdma_opening_wait(). */
[[nodiscard]] u32 opening_wait(const PrivateData &p, u32 round_trip);

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_PRIVATE_DATA_H */
