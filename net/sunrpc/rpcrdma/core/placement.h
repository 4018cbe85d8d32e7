/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Making an object in memory that is there. The kernel build has no <new>.
 */
#ifndef _RPCRDMA_CORE_PLACEMENT_H
#define _RPCRDMA_CORE_PLACEMENT_H

#include <rpcrdma/types.h>

inline void *operator new(size_t, void *place) noexcept
{
	return place;
}

#endif /* _RPCRDMA_CORE_PLACEMENT_H */
