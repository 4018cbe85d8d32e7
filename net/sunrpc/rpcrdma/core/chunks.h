/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Chunk lists (sections 4.4 and 4.5), independent of their format on the wire.
 */
#ifndef _RPCRDMA_CORE_CHUNKS_H
#define _RPCRDMA_CORE_CHUNKS_H

#include "span.h"
#include <rpcrdma/core.h>

namespace rpcrdma
{

using Chunks = rpcrdma_chunks;
using Segment = rpcrdma_segment;
using ReadSegment = rpcrdma_read_segment;
using WriteChunk = rpcrdma_write_chunk;
using Range = rpcrdma_range;

/* Make @c hold no chunk. The arrays are left as they are. */
inline void clear(Chunks &c)
{
	c.n_call = 0;
	c.n_reads = 0;
	c.n_writes = 0;
	c.n_write_segs = 0;
	c.has_reply = false;
	c.reply = {};
}

/* It is as after clear(). */
[[nodiscard]] inline bool unused(const Chunks &c)
{
	return !(c.n_call | c.n_reads | c.n_writes | c.n_write_segs) &&
	       !c.has_reply;
}

/* No Read, Write, Call or Reply chunk at all, not even an empty one. */
[[nodiscard]] bool no_chunks(const Chunks &c);

/* Neither Call chunk nor Read list: nothing for a Responder to fetch. */
[[nodiscard]] bool no_reads(const Chunks &c);

/* All counts are within the arrays; no two Write chunks share a segment. */
[[nodiscard]] bool well_formed(const Chunks &c);

/* Segments in all lists together; property RCSIZ bounds this (5.2.4). */
[[nodiscard]] u32 total_segments(const Chunks &c);

/* The segments of one Write chunk or of the Reply chunk. */
[[nodiscard]] Span<const Segment> segments(const Chunks &c,
					   const WriteChunk &w);

/* Sum of the segment lengths, in bytes. */
[[nodiscard]] u64 total_length(Span<const Segment> s);

/* No segment is larger than property RSSIZ allows (5.2.3). */
[[nodiscard]] bool segments_within(const Chunks &c, u32 max);

/* Bytes of the body chunk of a message in direction @dir; zero if none. */
[[nodiscard]] u64 body_length(const Chunks &c, rpcrdma_dir dir);

/* @handle is zero or the handle of some segment in @c (section 6.5). */
[[nodiscard]] bool handle_known(const Chunks &c, u32 handle);

/* A handle for the Reply to invalidate, or zero: see rpcrdma_inv_handle(). */
[[nodiscard]] u32 inv_handle(const Chunks &c);

/**
 * Check the Read list against the stream in which it is inserted (4.5.1, D7):
 * positions non-zero, non-decreasing, multiples of four, inside the message;
 * no overlap.
 *
 * @stream: bytes of the reduced Payload stream
 * @unreduced: set to the bytes of the whole message, XDR padding included; may
 *	exceed 32 bits
 */
[[nodiscard]] bool reads_valid(const Chunks &c, u32 stream, u64 &unreduced);

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_CHUNKS_H */
