/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Computes the sizes of a connection from the limits of a device.
 *
 * All arithmetic saturates: a limit of a device can be any value up to 2^32 - 1.
 */
#ifndef _RPCRDMA_CORE_SIZES_H
#define _RPCRDMA_CORE_SIZES_H

#include <rpcrdma/sizes.h>

namespace rpcrdma
{

/* ib_core registers no more pages for one RDMA Read or Write (rw.c). */
inline constexpr u32 kRwRegionPages = 256;
/* Work Requests for memory that ib_core registers: invalidate, register, use. */
inline constexpr u32 kRwRegisteredCost = 3;
/* Each page of a Receive is an element, and each place of the queue has room for all. */
inline constexpr u32 kMostRecvPages = RPCRDMA_MAX_RECV_PAGES;

/*
 * The largest number of groups when @elements in @ops rows are divided into groups of up
 * to @size, and no group reaches from one row into the next.
 */
[[nodiscard]] u32 most_groups(u32 elements, u32 ops, u32 size);

/* The same if rows are cut into rows of up to @cut before they are divided. */
[[nodiscard]] u32 most_cut_groups(u32 elements, u32 ops, u32 cut, u32 size);

/* See rpcrdma_device_limit(). */
[[nodiscard]] u32 device_limit(s64 said);

/* See rpcrdma_size_conn(). */
[[nodiscard]] rpcrdma_sizes size_conn(const rpcrdma_device_limits &limits,
				      const rpcrdma_wants &wants);

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_SIZES_H */
