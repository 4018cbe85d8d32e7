/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The part of canary.c that is C++, as the core of the module is: the kernel's checkers must see
 * that, too.
 */
#ifndef _RPCRDMA_CANARY_CORE_H
#define _RPCRDMA_CANARY_CORE_H

#include <rpcrdma/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads an octet. */
u8 canary_core_read(const u8 *octet);

/* Reads a number as an enum. In C all numbers are values of an enum, and UBSAN has no check. */
u32 canary_core_colour(const u32 *number);

/* Adds one to a number, which others change meanwhile. */
void canary_core_raise(u32 *number);

#ifdef __cplusplus
}
#endif

#endif /* _RPCRDMA_CANARY_CORE_H */
