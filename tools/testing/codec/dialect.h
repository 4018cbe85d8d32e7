/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The content of a message of the dialect of 2016, as plain values, to compare two codecs.
 */
#ifndef _RPCRDMA_CODEC_DIALECT_H
#define _RPCRDMA_CODEC_DIALECT_H

#include "content.h"

namespace codec
{

/* Numbers of the draft. */
inline constexpr u32 kOldMsg = 0;
inline constexpr u32 kOldNomsg = 1;
inline constexpr u32 kOldError = 4;
inline constexpr u32 kOldOptional = 5;

/* A whole header; what its type does not have stays as it is here. */
struct Dialect {
	rpcrdma::Prefix prefix = {};
	u32 direction = 0;
	std::vector<ReadSegment> reads;
	std::vector<WriteChunk> writes;
	std::optional<WriteChunk> reply;
	u32 opttype = 0;
	Octets optinfo;
	u32 error = 0;
	u32 error_args[2] = {};
};

/* Return: false if it is none; @d.prefix is set all the same if that is whole. */
bool dialect_decode(const Octets &in, Dialect &d, u32 &consumed,
		    bool &canonical);
Octets dialect_encode(const Dialect &d);

} // namespace codec

#endif /* _RPCRDMA_CODEC_DIALECT_H */
