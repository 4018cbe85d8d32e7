/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Names, for traces and counters. For C.
 *
 * The rules of <rpcrdma/core.h> hold.
 */
#ifndef _RPCRDMA_NAMES_H
#define _RPCRDMA_NAMES_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** rpcrdma_type_count - header types there are, no more than RPCRDMA_MAX_TYPES */
u32 __must_check rpcrdma_type_count(void);
/** rpcrdma_type_name - of a header type, by its index */
const char *rpcrdma_type_name(u32 type);
/** rpcrdma_htype_name - of a header type, by its number on the wire */
const char *rpcrdma_htype_name(u32 htype);
/** rpcrdma_extension_count - extensions there are, the base protocol included */
u32 __must_check rpcrdma_extension_count(void);
/** rpcrdma_extension_name - of an extension, by its place in the list */
const char *rpcrdma_extension_name(u32 extension);
/** rpcrdma_property_count - properties there are, at most RPCRDMA_MAX_PROPERTIES */
u32 __must_check rpcrdma_property_count(void);
/** rpcrdma_property_name - of a property, by its index */
const char *rpcrdma_property_name(u32 property);
const char *rpcrdma_reason_name(u32 reason);
const char *rpcrdma_errcode_name(u32 errcode);
const char *rpcrdma_unfit_name(u32 unfit);
const char *rpcrdma_chunk_reason_name(u32 reason);

#ifdef __cplusplus
}
#endif

#endif /* _RPCRDMA_NAMES_H */
