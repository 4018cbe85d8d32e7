// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The functions of <rpcrdma/shim.h>, in the kernel.
 */
#include <linux/bug.h>

#define CREATE_TRACE_POINTS
#include <trace/events/rpcrdma_v2.h>

#include <rpcrdma/shim.h>

void rpcrdma_shim_broken(const char *file, int line, const char *what)
{
	trace_rpcrdma_broken(file, line, what);
	WARN_ONCE(IS_ENABLED(CONFIG_DEBUG_KERNEL) && IS_ENABLED(CONFIG_KUNIT),
		  "rpcrdma: %s:%d: %s\n", file, line, what);
}
