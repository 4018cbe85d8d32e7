/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Invariants. A failed check is a bug here, not a fault of the peer. It is reported, and
 * the expression is false, so the caller can mark its session broken.
 */
#ifndef _RPCRDMA_CORE_CHECK_H
#define _RPCRDMA_CORE_CHECK_H

#include <rpcrdma/shim.h>

#define RPCRDMA_CHECK(cond)                                              \
	(__builtin_expect(!!(cond), 1) ?                                 \
		 true :                                                  \
		 (::rpcrdma_shim_broken(__FILE_NAME__, __LINE__, #cond), \
		  false))

#endif /* _RPCRDMA_CORE_CHECK_H */
