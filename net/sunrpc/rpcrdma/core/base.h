/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The base protocol as an extension: its header types (sections 6.1 and 8.4). What it
 * takes and sends is the session itself.
 */
#ifndef _RPCRDMA_CORE_BASE_H
#define _RPCRDMA_CORE_BASE_H

#include "wire.h"

namespace rpcrdma
{

struct BaseProtocol {
	static constexpr const char *kName = "base";

	static constexpr u16 kCallLists =
		kFieldReads | kFieldWrites | kFieldReply;

	/* A row's place is its number, less that of the first. */
	static constexpr HeaderType kTypes[] = {
		{ RPCRDMA2_ERROR, kFieldError, Kind::Error, false, true,
		  "ERROR" },
		{ RPCRDMA2_GRANT, 0, Kind::Grant, false, true, "GRANT" },
		{ RPCRDMA2_CONNPROP_MIDDLE, kFieldProperties, Kind::Connprop,
		  false, false, "CONNPROP_MIDDLE" },
		{ RPCRDMA2_CONNPROP_FINAL, kFieldProperties, Kind::Connprop,
		  false, true, "CONNPROP_FINAL" },
		{ RPCRDMA2_CALL_EXTERNAL,
		  kFieldInvHandle | kFieldCall | kCallLists, Kind::Call, false,
		  true, "CALL_EXTERNAL" },
		{ RPCRDMA2_CALL_MIDDLE, kFieldRemaining, Kind::Call, true,
		  false, "CALL_MIDDLE" },
		{ RPCRDMA2_CALL_INLINE, kFieldInvHandle | kCallLists,
		  Kind::Call, true, true, "CALL_INLINE" },
		{ RPCRDMA2_REPLY_EXTERNAL, kFieldWrites | kFieldReply,
		  Kind::Reply, false, true, "REPLY_EXTERNAL" },
		{ RPCRDMA2_REPLY_MIDDLE, kFieldRemaining, Kind::Reply, true,
		  false, "REPLY_MIDDLE" },
		{ RPCRDMA2_REPLY_INLINE, kFieldWrites, Kind::Reply, true, true,
		  "REPLY_INLINE" },
	};
	static constexpr u32 kFirstType = kTypes[0].htype;

	[[nodiscard]] static constexpr bool types_are_dense()
	{
		u32 next = kFirstType;

		for (const HeaderType &t : kTypes)
			if (t.htype != next++)
				return false;
		return next == RPCRDMA_TYPE_UNKNOWN;
	}
};

static_assert(BaseProtocol::types_are_dense());

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_BASE_H */
