/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The functions that the core calls. The kernel module, or a test program, provides
 * them. Memory functions are the compiler's builtins, which call the kernel's or the C
 * library's functions.
 */
#ifndef _RPCRDMA_SHIM_H
#define _RPCRDMA_SHIM_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * rpcrdma_shim_broken - an invariant of the core does not hold
 * @file: source file of the check
 * @line: line of the check
 * @what: the invariant
 *
 * The kernel traces it (and warns once in a debug build); the core then closes
 * that one connection. Userspace tests abort.
 */
void rpcrdma_shim_broken(const char *file, int line, const char *what);

#ifdef __cplusplus
}
#endif

#endif /* _RPCRDMA_SHIM_H */
