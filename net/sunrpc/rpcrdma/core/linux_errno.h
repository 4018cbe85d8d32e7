/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Linux error numbers that the core returns. The core uses no libc header, so they are
 * defined here; a test compares them with <errno.h>.
 */
#ifndef _RPCRDMA_CORE_LINUX_ERRNO_H
#define _RPCRDMA_CORE_LINUX_ERRNO_H

#include <rpcrdma/types.h>

namespace rpcrdma
{

inline constexpr s32 kEIO = 5;
inline constexpr s32 kEPROTONOSUPPORT = 93;
inline constexpr s32 kEREMOTEIO = 121;

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_LINUX_ERRNO_H */
