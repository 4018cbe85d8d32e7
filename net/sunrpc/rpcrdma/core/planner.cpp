// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Rules of choice
 *
 * A Call. Its DDP-eligible argument moves by a Read chunk when it is larger
 * than ddp_threshold; up to there one more Send, or a few, cost less than
 * registering memory and the Responder's round trip to fetch it. A Write chunk
 * is offered when the largest result expected is above the same threshold.
 * Neither happens when reduction is forbidden (RPCSEC_GSS integrity and
 * privacy), when no Reply will tell that the memory is free again (4.7), when
 * the peer takes no segments, or in the reverse direction to a peer that did
 * not announce RVRSDIR_GENL. What stays in the stream travels in one Send if it
 * fits, else continued; the session decides that when it sends.
 *
 * A Reply. The Requester has chosen by offering Write chunks: the nth
 * DDP-eligible result goes into the nth of them, whatever its size (6.6.3). An
 * empty chunk leaves its result in the stream. A chunk that is too short is an
 * error the Requester can act upon, not a reason to send the result inline,
 * since it is offered for no other purpose (6.6.4). The Reply chunk is not
 * used: a Reply that does not fit is continued (6.6.4).
 */
#include "planner.h"
#include "xdr.h"

namespace rpcrdma
{

/* @item can be cut out of @length octets and leave an XDR stream behind. */
static bool removable(const Range &item, u64 from, u32 length)
{
	return item.offset && xdr_aligned(item.offset) && item.offset >= from &&
	       item.offset + xdr_roundup(item.length) <= length;
}

void plan_call(const PlanningRules &rules, const rpcrdma_call_shape &shape,
	       rpcrdma_call_plan &plan)
{
	const bool chunks =
		rules.chunks && shape.reducible && shape.reply_expected;

	plan = {};
	plan.stream_length = shape.length;
	plan.write_chunk = chunks && shape.result_max > rules.ddp_threshold;
	plan.read_chunk = chunks && shape.item.length > rules.ddp_threshold &&
			  removable(shape.item, 0, shape.length);
	if (!plan.read_chunk)
		return;
	plan.removed = { shape.item.offset,
			 static_cast<u32>(xdr_roundup(shape.item.length)) };
	plan.stream_length -= plan.removed.length;
}

/* Fill a Write chunk contiguously, in segment order (section 4.5.2.1). */
static void fill(const WriteChunk &chunk, Range source,
		 rpcrdma_reply_plan &plan)
{
	for (u32 i = chunk.first; i < chunk.first + chunk.count; i++) {
		Segment &s = plan.chunks.write_segs[i];

		if (s.length > source.length)
			s.length = source.length;
		if (!s.length)
			continue;
		plan.jobs[plan.n_jobs++] = { { source.offset, s.length }, s };
		source.offset += s.length;
		source.length -= s.length;
	}
}

void plan_reply(const Chunks &call, u32 length, Span<const Range> results,
		rpcrdma_reply_plan &plan)
{
	Chunks &c = plan.chunks;
	u64 end = 0; /* of the result before */

	plan.errcode = RPCRDMA2_ERR_NONE;
	plan.index = 0;
	plan.needed = 0;
	plan.stream_length = length;
	plan.n_removed = 0;
	plan.n_jobs = 0;
	clear(c);
	if (!well_formed(call))
		return;

	c.n_writes = call.n_writes;
	for (u32 i = 0; i < call.n_writes; i++) {
		const WriteChunk &w = call.writes[i];

		c.writes[i] = { w.count, c.n_write_segs };
		for (const Segment &s : segments(call, w))
			c.write_segs[c.n_write_segs++] = s;
	}

	for (u32 i = 0; i < c.n_writes; i++) {
		const WriteChunk &w = c.writes[i];
		Range result = {};

		if (i < results.size() && removable(results[i], end, length))
			result = results[i];
		if (w.count && result.length > total_length(segments(c, w))) {
			plan.errcode = RPCRDMA2_ERR_WRITE_RESOURCE;
			plan.index = i + 1;
			plan.needed = result.length;
			return;
		}
		fill(w, result, plan);
		if (!result.length)
			continue;
		end = result.offset + xdr_roundup(result.length);
		if (!w.count)
			continue;
		const u32 padded = static_cast<u32>(xdr_roundup(result.length));
		plan.removed[plan.n_removed++] = { result.offset, padded };
		plan.stream_length -= padded;
	}
}

u32 layout_call(const Chunks &chunks, u32 stream_length, rpcrdma_piece *pieces)
{
	u32 n = 0;
	u32 to = 0; /* in the unreduced message */
	u32 from = 0; /* in the received stream */

	for (u32 i = 0; i < chunks.n_reads;) {
		const u32 position = chunks.reads[i].position;
		const u32 before = position - to;

		if (before) {
			pieces[n++] = { { to, before }, -1, from };
			from += before;
			to = position;
		}
		for (;
		     i < chunks.n_reads && chunks.reads[i].position == position;
		     i++) {
			const u32 length = chunks.reads[i].target.length;

			if (!length)
				continue;
			pieces[n++] = { { to, length },
					static_cast<s32>(i),
					0 };
			to += length;
		}
		to = static_cast<u32>(xdr_roundup(to));
	}
	if (from < stream_length)
		pieces[n++] = { { to, stream_length - from }, -1, from };
	return n;
}

u32 stream_run(Span<const Range> removed, u32 offset, u32 &unreduced)
{
	unreduced = offset;
	for (const Range &r : removed) {
		if (unreduced < r.offset)
			return r.offset - unreduced;
		unreduced += r.length;
	}
	return UINT32_MAX;
}

bool written(const Chunks &offered, const Chunks &returned, u32 index,
	     u32 &length)
{
	u64 sum = 0;
	bool full = true; /* every segment so far */

	length = 0;
	if (!well_formed(offered) || !well_formed(returned) ||
	    returned.n_writes != offered.n_writes || index >= offered.n_writes)
		return false;

	const auto out = segments(offered, offered.writes[index]);
	const auto in = segments(returned, returned.writes[index]);
	/* So the binding has it; the base protocol returns the segments (D9). */
	if (!in.size())
		return true;
	if (in.size() != out.size())
		return false;
	for (u32 i = 0; i < in.size(); i++) {
		if (in[i].handle != out[i].handle ||
		    in[i].offset != out[i].offset ||
		    in[i].length > out[i].length || (!full && in[i].length))
			return false;
		full = full && in[i].length == out[i].length;
		sum += in[i].length;
	}
	if (sum > UINT32_MAX)
		return false;
	length = static_cast<u32>(sum);
	return true;
}

} // namespace rpcrdma
