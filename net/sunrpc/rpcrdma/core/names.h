/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Names for traces. Every string is static; an unknown number has the name "?".
 */
#ifndef _RPCRDMA_CORE_NAMES_H
#define _RPCRDMA_CORE_NAMES_H

#include <rpcrdma/names.h>

namespace rpcrdma
{

[[nodiscard]] const char *type_name(u32 type);
[[nodiscard]] const char *htype_name(u32 htype);
[[nodiscard]] const char *extension_name(u32 extension);
[[nodiscard]] const char *property_name(u32 property);
[[nodiscard]] const char *errcode_name(u32 code);
[[nodiscard]] const char *reason_name(u32 reason);
[[nodiscard]] const char *unfit_name(u32 unfit);
[[nodiscard]] const char *chunk_reason_name(u32 reason);

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_NAMES_H */
