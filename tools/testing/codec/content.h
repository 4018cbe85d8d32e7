/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The content of a transport header of version 2, as plain values, to compare two codecs:
 * the core's, and the one that rpcgen makes of the draft's XDR.
 */
#ifndef _RPCRDMA_CODEC_CONTENT_H
#define _RPCRDMA_CODEC_CONTENT_H

#include "properties.h"
#include "wire.h"

#include <optional>
#include <vector>

namespace codec
{

using Octets = std::vector<u8>;

struct Segment {
	u32 handle;
	u32 length;
	u64 offset;
	bool operator==(const Segment &) const = default;
};

struct ReadSegment {
	u32 position;
	Segment target;
	bool operator==(const ReadSegment &) const = default;
};

using WriteChunk = std::vector<Segment>;

/* A header without its prefix; what a type does not have stays as it is here. */
struct Content {
	u32 error = 0;
	u32 error_args[2] = {};
	u32 remaining = 0;
	u32 inv_handle = 0;
	std::vector<ReadSegment> call;
	std::vector<ReadSegment> reads;
	std::vector<WriteChunk> writes;
	std::optional<WriteChunk> reply;
	/* Headers with a payload: the first word of it. */
	u32 first_word = 0;
	bool operator==(const Content &) const = default;
};

/* One property, as it travels. */
struct Property {
	u32 which;
	Octets data;
};

/* What the reference makes of octets. */
struct Decoded {
	bool ok = false;
	/* Encoding it again gives the octets that were read. */
	bool canonical = false;
	u32 consumed = 0;
	Content content;
};

/* The reference, made by rpcgen: a header type's body, without the prefix. */
Decoded reference_decode(u32 htype, const u8 *in, u32 size);
Octets reference_encode(const rpcrdma::Prefix &prefix, const Content &content);
rpcrdma::Prefix reference_prefix(const u8 *in);

/* False if it is no property set; @consumed then means nothing. */
bool reference_properties(const u8 *in, u32 size, std::vector<Property> &set,
			  u32 &consumed);
Octets reference_encode(const std::vector<Property> &set);
/* The values as their XDR types, of all octets that there are. */
bool reference_number(u32 which, const Octets &data, u32 &value);
bool reference_host_auth(const Octets &data);

} // namespace codec

#endif /* _RPCRDMA_CODEC_CONTENT_H */
