// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"

#include <cstdio>
#include <cstdlib>

namespace unit
{

unsigned tolerated_breaks;

} // namespace unit

/* A broken invariant fails the test, except in tests that provoke one. */
extern "C" void rpcrdma_shim_broken(const char *file, int line,
				    const char *what)
{
	if (unit::tolerated_breaks) {
		unit::tolerated_breaks--;
		return;
	}
	std::fprintf(stderr, "%s:%d: invariant broken: %s\n", file, line, what);
	std::abort();
}
