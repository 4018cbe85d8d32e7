/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The base protocol as an extension: its header types (sections 6.1 and 8.4) and its
 * properties (section 5.2). What it takes and sends is the session itself.
 */
#ifndef _RPCRDMA_CORE_BASE_H
#define _RPCRDMA_CORE_BASE_H

#include "extension.h"

namespace rpcrdma
{

/* rdma_which, section 5.2 */
enum class Property : u32 {
	SendSize = 1,
	RecvSize = 2,
	SegmentSize = 3,
	SegmentCount = 4,
	Reverse = 5,
	HostAuth = 6,
};

/* A level that is not known is ignored, as a property would be (6.3.4). */
[[nodiscard]] bool decode_reverse(Bytes value, u32 &number);
/* No policy here asks for authentication (D10), so only the form is checked. */
[[nodiscard]] bool decode_host_auth(Bytes value, u32 &number);

struct BaseProtocol {
	static constexpr const char *kName = "base";

	static constexpr u16 kCallLists =
		kFieldReads | kFieldWrites | kFieldReply;

	/* A row's place is its number, less that of the first. */
	static constexpr HeaderType kTypes[] = {
		{ "ERROR", RPCRDMA2_ERROR, kFieldError, Kind::Error, false,
		  true },
		{ "GRANT", RPCRDMA2_GRANT, 0, Kind::Grant, false, true },
		{ "CONNPROP_MIDDLE", RPCRDMA2_CONNPROP_MIDDLE, kFieldProperties,
		  Kind::Connprop, false, false },
		{ "CONNPROP_FINAL", RPCRDMA2_CONNPROP_FINAL, kFieldProperties,
		  Kind::Connprop, false, true },
		{ "CALL_EXTERNAL", RPCRDMA2_CALL_EXTERNAL,
		  kFieldInvHandle | kFieldCall | kCallLists, Kind::Call, false,
		  true },
		{ "CALL_MIDDLE", RPCRDMA2_CALL_MIDDLE, kFieldRemaining,
		  Kind::Call, true, false },
		{ "CALL_INLINE", RPCRDMA2_CALL_INLINE,
		  kFieldInvHandle | kCallLists, Kind::Call, true, true },
		{ "REPLY_EXTERNAL", RPCRDMA2_REPLY_EXTERNAL,
		  kFieldWrites | kFieldReply, Kind::Reply, false, true },
		{ "REPLY_MIDDLE", RPCRDMA2_REPLY_MIDDLE, kFieldRemaining,
		  Kind::Reply, true, false },
		{ "REPLY_INLINE", RPCRDMA2_REPLY_INLINE, kFieldWrites,
		  Kind::Reply, true, true },
	};
	static constexpr u32 kFirstType = kTypes[0].htype;

	/*
	 * Without an extension nothing can change after the initial exchange. Of a
	 * peer any number is taken (5.1).
	 */
	static constexpr PropertyType kProperties[] = {
		{ .id = static_cast<u32>(Property::SendSize),
		  .initial = 4096,
		  .name = "send",
		  .decode = decode_number,
		  .encode = encode_number,
		  .least = RPCRDMA_MIN_RECV_SIZE,
		  .field = &rpcrdma_properties::send_size },
		{ .id = static_cast<u32>(Property::RecvSize),
		  .initial = 4096,
		  .name = "receive",
		  .decode = decode_number,
		  .encode = encode_number,
		  .least = RPCRDMA_MIN_RECV_SIZE,
		  .field = &rpcrdma_properties::recv_size },
		{ .id = static_cast<u32>(Property::SegmentSize),
		  .initial = 1048576,
		  .name = "segment",
		  .decode = decode_number,
		  .encode = encode_number,
		  .least = 1,
		  .field = &rpcrdma_properties::max_segment_size },
		{ .id = static_cast<u32>(Property::SegmentCount),
		  .initial = 16,
		  .name = "segments",
		  .decode = decode_number,
		  .encode = encode_number,
		  .field = &rpcrdma_properties::max_segments },
		{ .id = static_cast<u32>(Property::Reverse),
		  .initial = RPCRDMA_RVRSDIR_NONE,
		  .name = "reverse",
		  .decode = decode_reverse,
		  .encode = encode_number,
		  .most = RPCRDMA_RVRSDIR_GENL,
		  .field = &rpcrdma_properties::reverse },
		{ .id = static_cast<u32>(Property::HostAuth),
		  .name = "host-auth",
		  .decode = decode_host_auth },
	};

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
