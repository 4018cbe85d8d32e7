// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "chunks.h"
#include "xdr.h"

namespace rpcrdma
{

bool no_chunks(const Chunks &c)
{
	return no_reads(c) && !c.n_writes && !c.has_reply;
}

bool no_reads(const Chunks &c)
{
	return !c.n_call && !c.n_reads;
}

/*
 * The segments of @w exist, and no earlier chunk uses them: @used has a bit for each
 * segment in use.
 */
static bool takes_own(const Chunks &c, const WriteChunk &w, u64 &used)
{
	static_assert(RPCRDMA_MAX_SEGMENTS < 64);

	if (w.first > c.n_write_segs || w.count > c.n_write_segs - w.first)
		return false;
	const u64 mine = ((u64{ 1 } << w.count) - 1) << w.first;
	if (used & mine)
		return false;
	used |= mine;
	return true;
}

bool well_formed(const Chunks &c)
{
	if (c.n_call > RPCRDMA_MAX_SEGMENTS ||
	    c.n_reads > RPCRDMA_MAX_SEGMENTS ||
	    c.n_writes > RPCRDMA_MAX_CHUNKS ||
	    c.n_write_segs > RPCRDMA_MAX_SEGMENTS)
		return false;
	u64 used = 0;
	for (u32 i = 0; i < c.n_writes; i++)
		if (!takes_own(c, c.writes[i], used))
			return false;
	return !c.has_reply || takes_own(c, c.reply, used);
}

u32 total_segments(const Chunks &c)
{
	return c.n_call + c.n_reads + c.n_write_segs;
}

Span<const Segment> segments(const Chunks &c, const WriteChunk &w)
{
	return Span<const Segment>(c.write_segs + w.first, w.count);
}

u64 total_length(Span<const Segment> s)
{
	u64 sum = 0;

	for (const Segment &seg : s)
		sum += seg.length;
	return sum;
}

bool segments_within(const Chunks &c, u32 max)
{
	u32 largest = 0;

	for (u32 i = 0; i < c.n_call; i++)
		if (c.call[i].length > largest)
			largest = c.call[i].length;
	for (u32 i = 0; i < c.n_reads; i++)
		if (c.reads[i].target.length > largest)
			largest = c.reads[i].target.length;
	for (u32 i = 0; i < c.n_write_segs; i++)
		if (c.write_segs[i].length > largest)
			largest = c.write_segs[i].length;
	return largest <= max;
}

u64 body_length(const Chunks &c, rpcrdma_dir dir)
{
	if (dir == RPCRDMA_CALL)
		return total_length(Span<const Segment>(c.call, c.n_call));
	return c.has_reply ? total_length(segments(c, c.reply)) : 0;
}

bool handle_known(const Chunks &c, u32 handle)
{
	if (!handle)
		return true;
	for (u32 i = 0; i < c.n_call; i++)
		if (c.call[i].handle == handle)
			return true;
	for (u32 i = 0; i < c.n_reads; i++)
		if (c.reads[i].target.handle == handle)
			return true;
	for (u32 i = 0; i < c.n_write_segs; i++)
		if (c.write_segs[i].handle == handle)
			return true;
	return false;
}

u32 inv_handle(const Chunks &c)
{
	if (c.n_reads)
		return c.reads[0].target.handle;
	if (c.n_write_segs)
		return c.write_segs[0].handle;
	return c.n_call ? c.call[0].handle : 0;
}

bool reads_valid(const Chunks &c, u32 stream, u64 &unreduced)
{
	u64 end = 0; /* of the chunk before, in the unreduced message */
	u64 inserted = 0;

	for (u32 i = 0; i < c.n_reads;) {
		const u32 position = c.reads[i].position;
		u64 length = 0;

		if (!position || !xdr_aligned(position) || position < end)
			return false;
		if (position - inserted > stream)
			return false;
		while (i < c.n_reads && c.reads[i].position == position)
			length += c.reads[i++].target.length;
		inserted += xdr_roundup(length);
		end = position + xdr_roundup(length);
	}
	unreduced = stream + inserted;
	return true;
}

} // namespace rpcrdma
