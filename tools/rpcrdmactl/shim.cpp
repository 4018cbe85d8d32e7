// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <cstdio>
#include <cstdlib>

#include <rpcrdma/shim.h>

/* No message that is decoded may break an invariant of the core. */
extern "C" void rpcrdma_shim_broken(const char *file, int line,
				    const char *what)
{
	std::fprintf(stderr, "rpcrdmactl: %s:%d: invariant broken: %s\n", file,
		     line, what);
	std::abort();
}
