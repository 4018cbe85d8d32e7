// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Rules of choice
 *
 * A Call. Its DDP-eligible argument moves by a Read chunk when it is larger
 * than ddp_threshold. For a smaller one, one or a few more Sends cost less than
 * registering memory and the Responder's round trip to fetch it. A Write chunk
 * is offered when the largest expected result is above the same threshold.
 *
 * The rest of the Payload stream goes by a Call chunk (Special Format) when it is larger
 * than special_threshold, or when it takes more Sends than the peer has ever granted at
 * one time and would pause for a GRANT. The Call may also have a Read chunk.
 * Other streams travel in one Send if they fit (Simple), else in several
 * (Continued); the session decides that when it sends.
 *
 * Both kinds of chunks of a Call cost a round trip, in which the Responder fetches what is in
 * them. On a connection that takes longer for one than stream_from, a Call has no such chunk
 * if the time beyond stream_from is more than what the bytes above ddp_threshold cost in the
 * stream. (What is below stream_from may be the time that the two machines take.) So no
 * threshold becomes less. The Call must find all its Sends: a quarter of the credits that
 * the peer has ever granted at one time is left for others. So whoever writes much at once
 * streams some of it, and the rest has chunks, which take one credit each. A result costs no
 * round trip: the Responder writes it before it sends. So results know no distance.
 *
 * A Reply chunk is offered when the result cannot be reduced and is expected to
 * be larger than both thresholds. If the size of a Reply is only a guess
 * (READDIR, ACLs) no chunk is offered: any Reply can be continued, so registering
 * memory for the worst case would be useless (6.6.4).
 *
 * RPCSEC_GSS integrity and privacy forbid reduction, not body chunks. There are
 * no chunks of any kind when no Reply will say that the memory is free again
 * (4.7), when the peer accepts no segments, or in the reverse direction to a peer
 * that did not announce RVRSDIR_GENL. A header type that the peer has refused is
 * not used again on its connection (7.1.3).
 *
 * If too few memory regions are free, an item of up to special_threshold is sent
 * without a chunk. A larger item waits for a region: without one it would use all credits
 * and then wait for more.
 *
 * Version 1 continues nothing, so each message goes in one Send or by chunk, and the Call
 * must provide chunks for a large Reply. An argument that fits the Call's Send
 * stays in it unless it is above ddp_threshold. A Call that does not fit even without its
 * argument goes by a Call chunk, with the argument inside, since Responders expect
 * that. If the largest Reply that the upper layer has room for does not fit
 * one Send of the peer, a Write chunk is offered for a reducible result when the
 * rest will fit, else a Reply chunk. "Fits" assumes the largest header: the
 * number of segments of a chunk is known only when its memory is registered.
 *
 * If a Read chunk has an odd length, a Responder of version 1 must add the XDR padding
 * (RFC 8166, 3.4.5.2), but not all do. A Requester may send it. This one does, unless the
 * peer has sent private data: such peers are known to add it.
 *
 * A retry. If an ERROR names what the Responder cannot accept, or needs, the
 * same Call is sent again without that, or with it (7.3). Each retry adds a
 * flag and no flag is ever removed, which bounds the retries; an ERROR that adds no
 * flag, or does not say what would help, ends the RPC:
 *
 *   READ_CHUNKS	no Read chunk; if there was none, no Call chunk
 *   WRITE_CHUNKS	no Write chunk; if there was none, no Reply chunk
 *   SEGMENTS		no chunk of a kind that the Call had
 *   WRITE_RESOURCE	no Write chunk, if the upper layer has room for the result
 *   REPLY_RESOURCE	a Reply chunk, if the upper layer has room for the Reply
 *
 * A Call that waits while the peer refuses its header type is planned again, too:
 * without a Call chunk if it has one, else with one.
 *
 * A message that is too long for its Receive ends the connection, and does not say which
 * Call it answers. All Calls that were sent get a Reply chunk from then on if the peer
 * accepts one, in version 1 instead of a Write chunk. The third time the RPC ends.
 *
 * A Reply. The Requester has chosen by offering Write chunks: the nth
 * DDP-eligible result goes into the nth of them, whatever its size (6.6.3). An
 * empty chunk leaves its result in the stream. A chunk that is too short causes an
 * error that the Requester can handle; the result is not sent inline, since the chunk
 * has no other purpose (6.6.4). A chunk whose operation has
 * no result is returned with its segments, all of length zero: the binding says
 * "empty", but a Responder copies the segment count and all segments (4.5.2.1),
 * so its Requester can check that it is the offered chunk. A Requester also accepts
 * an empty chunk.
 *
 * The rest of the stream goes in one Send if it fits, whatever else was
 * offered; else into the Reply chunk if there is one and it is large enough;
 * otherwise it is continued. If that is not allowed (a reverse-direction Reply
 * below RVRSDIR_CONT, version 1), the error tells the Requester how long a Reply chunk
 * must be. Version 1 returns an unused Reply chunk with segments of length zero.
 *
 * A client of version 1 that offers no Reply chunk expects the Reply to fit. If it
 * has not given the size of its Receives either, they may be larger than the RFC's
 * default: the Reply is sent, as the kernel's own server does.
 */
#include "planner.h"
#include "filling.h"
#include "linux_errno.h"
#include "xdr.h"

namespace rpcrdma
{

/* Without @item, @length bytes are still an XDR stream. */
static bool removable(const Range &item, u64 from, u32 length)
{
	return item.offset && xdr_aligned(item.offset) && item.offset >= from &&
	       item.offset + xdr_roundup(item.length) <= length;
}

static void reduce_call(const rpcrdma_call_shape &shape,
			rpcrdma_call_plan &plan)
{
	plan.read_chunk = true;
	plan.removed = { shape.item.offset,
			 static_cast<u32>(xdr_roundup(shape.item.length)) };
	plan.stream_length -= plan.removed.length;
}

/* Bytes of the largest header of version 1 with such chunks. */
static u32 largest_header_v1(bool reads, bool results)
{
	u32 size = header_type_v1(RPCRDMA1_MSG, RPCRDMA_CALL).bare;

	/* One Write chunk is longer than a Reply chunk. */
	if (results)
		size += 2 * kWordSize +
			(reads ? 0 : RPCRDMA_MAX_SEGMENTS * kSegmentSize);
	if (reads)
		size += RPCRDMA_MAX_SEGMENTS * (kWordSize + kReadSegmentSize);
	return size;
}

static bool fits(u32 header, u32 stream, u32 max)
{
	return u64{ header } + stream <= max;
}

[[gnu::noinline]] static void
plan_call_v1(const PlanningRules &rules, const rpcrdma_call_shape &shape,
	     rpcrdma_call_plan &plan)
{
	const bool chunks = rules.chunks && shape.reply_expected;
	const bool reduce = chunks && shape.reducible;
	const u32 result = static_cast<u32>(xdr_roundup(shape.result_max));
	const bool reply_chunk = shape.reply_max &&
				 shape.avoid & RPCRDMA_SEEN_TOO_LONG;
	const bool large_reply = !fits(largest_header_v1(false, false),
				       shape.reply_max, rules.max_reply);

	plan.chunks_required = true;
	if (!reply_chunk &&
	    (shape.result_max > rules.ddp_threshold || large_reply))
		plan.write_chunk =
			reduce && result && result <= shape.reply_max &&
			fits(largest_header_v1(false, true),
			     shape.reply_max - result, rules.max_reply);
	plan.reply_chunk =
		chunks && (reply_chunk || large_reply) && !plan.write_chunk;

	const bool results = plan.write_chunk || plan.reply_chunk;
	const bool large_call = !fits(largest_header_v1(false, results),
				      shape.length, rules.max_send);
	if (reduce && shape.item.length &&
	    removable(shape.item, 0, shape.length) &&
	    (large_call || shape.item.length > rules.ddp_threshold)) {
		reduce_call(shape, plan);
		if (rules.read_pads)
			plan.read_pad =
				plan.removed.length - shape.item.length;
	}
	if (!chunks || fits(largest_header_v1(plan.read_chunk, results),
			    plan.stream_length, rules.max_send))
		return;
	plan.call_chunk = true;
	plan.read_chunk = false;
	plan.read_pad = 0;
	plan.removed = {};
	plan.stream_length = shape.length;
}

/*
 * Nothing in it is large, and no earlier attempt has shown anything: none of the rules for
 * chunks applies.
 */
static bool small_call(const PlanningRules &rules,
		       const rpcrdma_call_shape &shape)
{
	return !shape.avoid && rules.special &&
	       shape.item.length <= rules.ddp_threshold &&
	       shape.result_max <= rules.ddp_threshold &&
	       shape.result_max <= rules.special_threshold &&
	       shape.length <= rules.special_threshold &&
	       shape.length <= rules.max_stream;
}

static u32 lesser(u64 a, u32 b)
{
	return a < b ? static_cast<u32>(a) : b;
}

/* Bytes that so many Sends carry, whatever the header of the last one has. */
static u64 stream_of(const PlanningRules &rules, u32 sends)
{
	const u32 head = header_type(RPCRDMA2_CALL_MIDDLE)->bare;
	const u32 part = (rules.max_send & ~(kXdrUnit - 1)) - head;

	return sends ? u64{ sends - 1 } * part : 0;
}

u32 stream_reach(const PlanningRules &rules, u32 round_trip, u32 sends)
{
	if (!rules.stream_from || round_trip <= rules.stream_from)
		return 0;
	const u64 gain = u64{ round_trip - rules.stream_from } * 1000;
	const u64 worth =
		rules.ddp_threshold + gain * 1024 / kStreamNanosecondsPerKib;

	return lesser(stream_of(rules, sends), lesser(worth, rules.max_stream));
}

[[gnu::noinline]] static void
plan_large_call(const PlanningRules &rules, const rpcrdma_call_shape &shape,
		rpcrdma_call_plan &plan, u32 sends)
{
	const u32 avoid = shape.avoid;
	const bool chunks = rules.chunks && shape.reply_expected;
	const bool reduce = chunks && shape.reducible;
	const u32 reach =
		sends ? stream_reach(rules, shape.round_trip, sends) : 0;
	const bool far = reach && shape.length <= reach &&
			 !(avoid & RPCRDMA_NEED_CALL_CHUNK);
	const bool large_result = shape.result_max > rules.ddp_threshold;
	const bool large_item =
		(shape.item.length > rules.ddp_threshold && !far) ||
		(!rules.special && shape.length > rules.max_stream);

	plan.call_waits = avoid & RPCRDMA_NEED_CALL_CHUNK ||
			  shape.length > rules.special_threshold;
	plan.result_waits = avoid & RPCRDMA_NEED_REPLY_CHUNK ||
			    shape.result_max > rules.special_threshold;
	if (reduce && !(avoid & RPCRDMA_AVOID_READ_CHUNK) &&
	    shape.item.length && large_item &&
	    removable(shape.item, 0, shape.length))
		reduce_call(shape, plan);
	plan.call_chunk =
		chunks && rules.special &&
		!(avoid & RPCRDMA_AVOID_CALL_CHUNK) &&
		(avoid & RPCRDMA_NEED_CALL_CHUNK ||
		 (plan.stream_length > rules.special_threshold && !far) ||
		 plan.stream_length > rules.max_stream);
	plan.streamed = far && chunks &&
			((reduce && shape.item.length > rules.ddp_threshold) ||
			 shape.length > rules.special_threshold);
	plan.write_chunk =
		reduce && !(avoid & RPCRDMA_AVOID_WRITE_CHUNK) && large_result;
	plan.reply_chunk = chunks && !(avoid & RPCRDMA_AVOID_REPLY_CHUNK) &&
			   shape.reply_max &&
			   (avoid & (RPCRDMA_NEED_REPLY_CHUNK |
				     RPCRDMA_SEEN_TOO_LONG) ||
			    (large_result && !plan.write_chunk &&
			     shape.result_max > rules.special_threshold));
}

void plan_call(const PlanningRules &rules, const rpcrdma_call_shape &shape,
	       rpcrdma_call_plan &plan, u32 sends)
{
	plan = {};
	plan.reply_max = shape.reply_max;
	plan.stream_length = shape.length;
	plan.max_segments = rules.max_segments;
	if (rules.version == kVersion1)
		plan_call_v1(rules, shape, plan);
	else if (!small_call(rules, shape))
		plan_large_call(rules, shape, plan, sends);
}

/* The chunks of a plan, as the flags that would avoid them. */
static u32 chunks_used(const rpcrdma_call_plan &plan)
{
	return (plan.read_chunk ? u32{ RPCRDMA_AVOID_READ_CHUNK } : 0) |
	       (plan.write_chunk ? u32{ RPCRDMA_AVOID_WRITE_CHUNK } : 0) |
	       (plan.call_chunk ? u32{ RPCRDMA_AVOID_CALL_CHUNK } : 0) |
	       (plan.reply_chunk ? u32{ RPCRDMA_AVOID_REPLY_CHUNK } : 0);
}

/* Version 1 has no thresholds but the first: a chunk is there because it has to be. */
static u32 call_reason(const PlanningRules &rules,
		       const rpcrdma_call_shape &shape,
		       const rpcrdma_call_plan &plan)
{
	const bool version1 = rules.version == kVersion1;
	const bool item = shape.item.length > rules.ddp_threshold;

	if (plan.call_chunk) {
		if (version1)
			return RPCRDMA_CHUNK_SEND_SIZE;
		if (shape.avoid & RPCRDMA_NEED_CALL_CHUNK)
			return RPCRDMA_CHUNK_ASKED;
		return plan.stream_length > rules.special_threshold ?
			       RPCRDMA_CHUNK_SPECIAL :
			       RPCRDMA_CHUNK_CREDITS;
	}
	if (plan.read_chunk) {
		if (item)
			return RPCRDMA_CHUNK_DDP;
		return version1 ? RPCRDMA_CHUNK_SEND_SIZE :
				  RPCRDMA_CHUNK_CREDITS;
	}
	if (plan.streamed)
		return RPCRDMA_CHUNK_ROUND_TRIP;
	if (!item && (version1 || (shape.length <= rules.special_threshold &&
				   shape.length <= rules.max_stream)))
		return RPCRDMA_CHUNK_SMALL;
	if (shape.avoid & (RPCRDMA_AVOID_READ_CHUNK | RPCRDMA_AVOID_CALL_CHUNK))
		return RPCRDMA_CHUNK_REFUSED;
	return RPCRDMA_CHUNK_NOT_ALLOWED;
}

static u32 result_reason(const PlanningRules &rules,
			 const rpcrdma_call_shape &shape,
			 const rpcrdma_call_plan &plan)
{
	const bool version1 = rules.version == kVersion1;
	const bool large = shape.result_max > rules.ddp_threshold;

	if (plan.write_chunk)
		return large ? RPCRDMA_CHUNK_DDP : RPCRDMA_CHUNK_SEND_SIZE;
	if (plan.reply_chunk) {
		if (shape.avoid & RPCRDMA_NEED_REPLY_CHUNK)
			return RPCRDMA_CHUNK_ASKED;
		if (shape.avoid & RPCRDMA_SEEN_TOO_LONG)
			return RPCRDMA_CHUNK_TOO_LONG;
		return version1 ? RPCRDMA_CHUNK_SEND_SIZE :
				  RPCRDMA_CHUNK_SPECIAL;
	}
	if (!large)
		return RPCRDMA_CHUNK_SMALL;
	if (shape.avoid &
	    (RPCRDMA_AVOID_WRITE_CHUNK | RPCRDMA_AVOID_REPLY_CHUNK))
		return RPCRDMA_CHUNK_REFUSED;
	return RPCRDMA_CHUNK_NOT_ALLOWED;
}

rpcrdma_plan_reasons plan_reasons(const PlanningRules &rules,
				  const rpcrdma_call_shape &shape,
				  const rpcrdma_call_plan &plan)
{
	return { chunks_used(plan), call_reason(rules, shape, plan),
		 result_reason(rules, shape, plan) };
}

/* The bytes that an error says are needed, if it says so. */
static bool has_room(u32 needed, const rpcrdma_call_plan &plan)
{
	return needed && needed <= plan.reply_max;
}

/* What might help against an error, as flags for the next plan. */
static u32 remedy(const rpcrdma_call_plan &plan, const rpcrdma_rx &rx)
{
	const u32 used = chunks_used(plan);

	switch (rx.errcode) {
	case RPCRDMA2_ERR_READ_CHUNKS:
		return used & (plan.read_chunk ? RPCRDMA_AVOID_READ_CHUNK :
						 RPCRDMA_AVOID_CALL_CHUNK);
	case RPCRDMA2_ERR_WRITE_CHUNKS:
		return used & (plan.write_chunk ? RPCRDMA_AVOID_WRITE_CHUNK :
						  RPCRDMA_AVOID_REPLY_CHUNK);
	case RPCRDMA2_ERR_SEGMENTS:
		return used;
	case RPCRDMA2_ERR_WRITE_RESOURCE:
		return rx.errargs[0] && has_room(rx.errargs[1], plan) ?
			       used & RPCRDMA_AVOID_WRITE_CHUNK :
			       0;
	case RPCRDMA2_ERR_REPLY_RESOURCE:
		return !plan.reply_chunk && has_room(rx.errargs[0], plan) ?
			       u32{ RPCRDMA_NEED_REPLY_CHUNK } :
			       0;
	default:
		return 0;
	}
}

s32 plan_retry(const rpcrdma_call_plan &plan, const rpcrdma_rx &rx, u32 &avoid)
{
	u32 add = rx.reported ? remedy(plan, rx) : 0;

	/* Do not give up a Reply chunk that is needed, or offer one that was refused. */
	if (avoid & RPCRDMA_NEED_REPLY_CHUNK)
		add &= ~u32{ RPCRDMA_AVOID_REPLY_CHUNK };
	if (avoid & RPCRDMA_AVOID_REPLY_CHUNK)
		add &= ~u32{ RPCRDMA_NEED_REPLY_CHUNK };
	add &= ~avoid;
	if (!add)
		return rx.error < 0 ? rx.error : -kEIO;
	avoid |= add;
	return 0;
}

s32 plan_outdated(const rpcrdma_call_plan &plan, u32 &avoid)
{
	const u32 add = plan.call_chunk ? u32{ RPCRDMA_AVOID_CALL_CHUNK } :
					  u32{ RPCRDMA_NEED_CALL_CHUNK };

	/* The peer has refused both forms, or this form has been tried before. */
	if (avoid & (add | RPCRDMA_AVOID_CALL_CHUNK))
		return -kEIO;
	avoid |= add;
	return 0;
}

s32 plan_too_long(u32 &avoid)
{
	if (avoid & RPCRDMA_SEEN_TOO_LONG_AGAIN)
		return -kEIO;
	avoid |= avoid & RPCRDMA_SEEN_TOO_LONG ?
			 u32{ RPCRDMA_SEEN_TOO_LONG_AGAIN } :
			 u32{ RPCRDMA_SEEN_TOO_LONG };
	return 0;
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

/* The same for the rest of the stream, XDR padding included. */
static void fill_reply(rpcrdma_reply_plan &plan)
{
	const Span<const Range> removed(plan.removed, plan.n_removed);
	const WriteChunk &chunk = plan.chunks.reply;
	u32 at = 0; /* in the reduced stream */

	for (u32 i = chunk.first; i < chunk.first + chunk.count; i++) {
		Segment &s = plan.chunks.write_segs[i];
		const u32 room = s.length;

		s.length = 0;
		while (s.length < room && at < plan.stream_length) {
			u32 from;
			u32 n = stream_run(removed, at, from);

			if (n > room - s.length)
				n = room - s.length;
			if (n > plan.stream_length - at)
				n = plan.stream_length - at;
			plan.jobs[plan.n_jobs++] = { { from, n },
						     { s.handle, n,
						       s.offset + s.length } };
			s.length += n;
			at += n;
		}
	}
}

static void copy_chunk(const Chunks &from, const WriteChunk &w, Chunks &to,
		       WriteChunk &copy)
{
	copy = { w.count, to.n_write_segs };
	for (const Segment &s : segments(from, w))
		to.write_segs[to.n_write_segs++] = s;
}

/* Return: false if a Write chunk is too short, and the plan says which. */
static bool reduce_reply(const Chunks &call, u32 length,
			 Span<const Range> results, rpcrdma_reply_plan &plan)
{
	Chunks &c = plan.chunks;
	u64 end = 0; /* of the result before */

	c.n_writes = call.n_writes;
	for (u32 i = 0; i < call.n_writes; i++)
		copy_chunk(call, call.writes[i], c, c.writes[i]);

	for (u32 i = 0; i < c.n_writes; i++) {
		const WriteChunk &w = c.writes[i];
		Range result = {};

		if (i < results.size() && removable(results[i], end, length))
			result = results[i];
		if (w.count && result.length > total_length(segments(c, w))) {
			plan.errcode = RPCRDMA2_ERR_WRITE_RESOURCE;
			plan.index = i + 1;
			plan.needed = result.length;
			return false;
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
	return true;
}

static void return_reply_chunk(const Chunks &call, rpcrdma_reply_plan &plan)
{
	plan.chunks.has_reply = true;
	copy_chunk(call, call.reply, plan.chunks, plan.chunks.reply);
}

static void empty_reply_chunk(rpcrdma_reply_plan &plan)
{
	const WriteChunk &chunk = plan.chunks.reply;

	for (u32 i = 0; plan.chunks.has_reply && i < chunk.count; i++)
		plan.chunks.write_segs[chunk.first + i].length = 0;
}

/* The Call has offered something, or one Send may not have room. */
[[gnu::noinline]] static void
plan_large_reply(const PlanningRules &rules, const Chunks &call, u32 length,
		 Span<const Range> results, rpcrdma_reply_plan &plan)
{
	const bool version1 = rules.version == kVersion1;
	const HeaderType &simple =
		version1 ? header_type_v1(RPCRDMA1_MSG, RPCRDMA_REPLY) :
			   *header_type(RPCRDMA2_REPLY_INLINE);
	const bool valid = well_formed(call);
	const Chunks &c = plan.chunks;

	if (valid && !reduce_reply(call, length, results, plan))
		return;
	/* Version 1 returns the Reply chunk also if it is not used. */
	const bool offered = valid && call.has_reply;
	if (offered && version1)
		return_reply_chunk(call, plan);
	if (fits(header_size(simple, &c), plan.stream_length, rules.max_send)) {
		empty_reply_chunk(plan);
		return;
	}
	if (offered &&
	    total_length(segments(call, call.reply)) >= plan.stream_length) {
		plan.external = true;
		if (!version1)
			return_reply_chunk(call, plan);
		return fill_reply(plan);
	}
	if (version1 && !call.has_reply &&
	    fits(header_size(simple, &c), plan.stream_length,
		 rules.max_bare_reply))
		return;
	if (!rules.continued) {
		plan.errcode = RPCRDMA2_ERR_REPLY_RESOURCE;
		plan.needed = plan.stream_length;
	}
}

void begin_reply(rpcrdma_reply_plan &plan, u32 length)
{
	plan.errcode = RPCRDMA2_ERR_NONE;
	plan.index = 0;
	plan.needed = 0;
	plan.stream_length = length;
	plan.n_removed = 0;
	plan.n_jobs = 0;
	plan.external = false;
	clear(plan.chunks);
}

void plan_reply(const PlanningRules &rules, const Chunks &call, u32 length,
		Span<const Range> results, rpcrdma_reply_plan &plan)
{
	begin_reply(plan, length);
	/* One Send has room for it, and there is nothing to return. */
	if (!call.n_writes && !call.has_reply &&
	    fits(kLargestPlain, length, rules.max_send))
		return;
	plan_large_reply(rules, call, length, results, plan);
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

/* Bytes in a returned chunk, if it is the offered one, filled in order. */
static bool filled(Span<const Segment> out, Span<const Segment> in, u32 &length)
{
	Filling filling;

	if (in.size() != out.size())
		return false;
	for (u32 i = 0; i < in.size(); i++)
		if (!filling.take(out[i], in[i]))
			return false;
	if (filling.octets() > UINT32_MAX)
		return false;
	length = static_cast<u32>(filling.octets());
	return true;
}

bool written(const Chunks &offered, const Chunks &returned, u32 index,
	     u32 &length)
{
	length = 0;
	if (!well_formed(offered) || !well_formed(returned) ||
	    returned.n_writes != offered.n_writes || index >= offered.n_writes)
		return false;
	/* The binding says "empty"; the base protocol returns the segments (D9). */
	if (!returned.writes[index].count)
		return true;
	return filled(segments(offered, offered.writes[index]),
		      segments(returned, returned.writes[index]), length);
}

bool replied(const Chunks &offered, const Chunks &returned, u32 &length)
{
	length = 0;
	if (!well_formed(offered) || !well_formed(returned) ||
	    !offered.has_reply || !returned.has_reply)
		return false;
	return filled(segments(offered, offered.reply),
		      segments(returned, returned.reply), length);
}

} // namespace rpcrdma
