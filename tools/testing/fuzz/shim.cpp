// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "fuzz.h"

#include <rpcrdma/shim.h>

/* No input may break an invariant of the core: abort. */
extern "C" void rpcrdma_shim_broken(const char *file, int line,
				    const char *what)
{
	fuzz::failed(file, line, what);
}
