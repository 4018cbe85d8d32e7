/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Integer types of fixed width, for the kernel's C and for the freestanding
 * C++ core.
 */
#ifndef _RPCRDMA_TYPES_H
#define _RPCRDMA_TYPES_H

#if defined(__KERNEL__) && !defined(__cplusplus)
#include <linux/types.h>
#else
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

/* As the kernel's compiler_attributes.h has it. */
#define __must_check __attribute__((__warn_unused_result__))
#endif

/*
 * An enum of the width of u32 in both languages. In C++ it is a type of its own, to which no number
 * is converted by itself, and may have any value: what C hands over is checked, not trusted.
 */
#ifdef __cplusplus
#define RPCRDMA_ENUM(name) enum name : u32
#else
#define RPCRDMA_ENUM(name) enum name
#endif

#endif /* _RPCRDMA_TYPES_H */
