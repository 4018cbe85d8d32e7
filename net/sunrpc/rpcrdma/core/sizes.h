/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a device can do, turned into the sizes of a connection.
 *
 * All arithmetic saturates: what a device says may be anything up to 2^32 - 1.
 */
#ifndef _RPCRDMA_CORE_SIZES_H
#define _RPCRDMA_CORE_SIZES_H

#include <rpcrdma/core.h>

namespace rpcrdma
{

/* ib_core registers no more pages for one RDMA Read or Write (rw.c). */
inline constexpr u32 kRwRegionPages = 256;
/* Work Requests for memory that ib_core registers: invalidate, register, use. */
inline constexpr u32 kRwRegisteredCost = 3;

/*
 * The most groups of up to @size that there can be of @elements in @ops rows, when no
 * group reaches from one row into the next.
 */
[[nodiscard]] u32 most_groups(u32 elements, u32 ops, u32 size);

/* See rpcrdma_device_limit(). */
[[nodiscard]] u32 device_limit(s64 said);

/* See rpcrdma_size_conn(). */
[[nodiscard]] rpcrdma_sizes size_conn(const rpcrdma_device_limits &limits,
				      const rpcrdma_wants &wants);

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_SIZES_H */
