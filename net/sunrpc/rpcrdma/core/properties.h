/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Transport properties (section 5): a property set on the wire, and the table of known
 * properties.
 */
#ifndef _RPCRDMA_CORE_PROPERTIES_H
#define _RPCRDMA_CORE_PROPERTIES_H

#include "span.h"
#include <rpcrdma/core.h>

namespace rpcrdma
{

using Properties = rpcrdma_properties;

/* rdma_which, section 5.2 */
enum class Property : u32 {
	SendSize = 1,
	RecvSize = 2,
	SegmentSize = 3,
	SegmentCount = 4,
	Reverse = 5,
	HostAuth = 6,
};

/* In force for a peer that has not said otherwise (section 5.2). */
inline constexpr Properties kDefaultProperties = {
	.send_size = 4096,
	.recv_size = 4096,
	.max_segment_size = 1048576,
	.max_segments = 16,
	.reverse = RPCRDMA_RVRSDIR_NONE,
};

enum class PropertyParse : u8 {
	Ok,
	BadXdr, /* the set itself ends too soon, or too late */
	BadValue, /* RDMA2_ERR_BAD_PROPVAL (section 5.1) */
};

/**
 * Decode a property set into @p.
 *
 * Properties that are not in the set keep their value, unknown ones are
 * skipped, a value of no octets means the default, the last of duplicates
 * counts. Every value of the XDR type is taken; a Reverse-Direction Support that
 * is not in the draft means the default.
 *
 * Return: @p is changed only if the result is Ok.
 */
[[nodiscard]] PropertyParse decode_properties(Bytes in, Properties &p);

/* Numeric properties there are. */
inline constexpr u32 kNumerics = 5;

/* Octets of them: a count; then for each which, length and value. */
inline constexpr u32 kPropertiesSize = (1 + kNumerics * 3) * sizeof(u32);

/* Encode all numeric properties. Return: octets, zero if @out is too small. */
[[nodiscard]] u32 encode_properties(const Properties &p, MutableBytes out);

/* This side can say so of itself and do as it says. */
[[nodiscard]] bool properties_valid(const Properties &p);

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_PROPERTIES_H */
