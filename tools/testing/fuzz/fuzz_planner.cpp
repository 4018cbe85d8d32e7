// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Chunk lists and errors that a peer may choose, for the code that plans with them:
 * the layout of a Call, a Reply's RDMA Writes, the written lengths in a Reply, and
 * whether a Call is tried again.
 */
#include "fuzz.h"
#include "layout.h"
#include "planner.h"
#include "wire.h"
#include "xdr.h"

using namespace rpcrdma;
using fuzz::Choices;

namespace
{

Segment segment(Choices &in)
{
	return { in.octet(), in.number(), in.hyper() };
}

WriteChunk write_chunk(Choices &in, Chunks &c)
{
	WriteChunk w = { in.up_to(4), c.n_write_segs };

	for (u32 i = 0; i < w.count && c.n_write_segs < RPCRDMA_MAX_SEGMENTS;
	     i++)
		c.write_segs[c.n_write_segs++] = segment(in);
	/* As a decoder would never have it. */
	if (in.octet() == 0xff)
		w.first = in.word();
	return w;
}

Chunks chunks(Choices &in)
{
	Chunks c = {};
	u32 position = 0;

	for (u32 n = in.up_to(5); n; n--) {
		const u32 step = in.number();

		c.reads[c.n_reads++] = { position += step & ~3U, segment(in) };
	}
	for (u32 n = in.up_to(RPCRDMA_MAX_CHUNKS); n; n--)
		c.writes[c.n_writes++] = write_chunk(in, c);
	c.has_reply = in.flip();
	if (c.has_reply)
		c.reply = write_chunk(in, c);
	return c;
}

PlanningRules rules(Choices &in)
{
	PlanningRules r = {};

	r.ddp_threshold = in.number();
	r.special_threshold = in.number();
	r.max_send = in.number() + RPCRDMA_MIN_RECV_SIZE;
	r.max_stream = in.number();
	r.chunks = in.flip();
	r.special = in.flip();
	r.continued = in.flip();
	return r;
}

void lay_out_call(Choices &in, const Chunks &c)
{
	const u32 stream = 4 * in.number();
	u64 unreduced;

	if (reads_valid(c, stream, unreduced) && unreduced <= UINT32_MAX)
		fuzz::check_layout(c, stream, static_cast<u32>(unreduced));
}

void answer(Choices &in, const PlanningRules &r, const Chunks &call)
{
	const u32 length = 4 * (in.number() & 0xffff);
	rpcrdma_reply_plan plan;
	Range results[RPCRDMA_MAX_CHUNKS + 1];
	u32 n = in.up_to(RPCRDMA_MAX_CHUNKS + 1);
	u32 at = 0;

	for (u32 i = 0; i < n; i++) {
		at += in.number();
		results[i] = { at, in.number() };
		/* The next one usually follows. */
		if (in.octet() < 0xf0)
			at = static_cast<u32>(
				xdr_roundup(u64{ at } + results[i].length));
	}
	plan_reply(r, call, length, { results, n }, plan);
	fuzz::check_reply_plan(call, length, { results, n }, plan);
	if (!plan.errcode && !plan.external && !r.continued)
		FUZZ_CHECK(
			plan.stream_length +
				header_size(*header_type(RPCRDMA2_REPLY_INLINE),
					    &plan.chunks) <=
			r.max_send);
}

/* What somebody else says was written can be anything. */
void believe(Choices &in, const Chunks &offered)
{
	Chunks returned = offered;
	u32 octets;

	for (u32 n = in.up_to(3); n; n--) {
		Segment &s = returned.write_segs[in.up_to(15)];

		s.length = in.number();
		if (in.octet() == 0)
			s = segment(in);
	}
	if (in.octet() == 0)
		returned = chunks(in);
	for (u32 i = 0; i <= returned.n_writes; i++)
		if (written(offered, returned, i, octets)) {
			FUZZ_CHECK(i < offered.n_writes);
			FUZZ_CHECK(octets <=
				   total_length(segments(offered,
							 offered.writes[i])));
		}
	if (replied(offered, returned, octets))
		FUZZ_CHECK(octets <=
			   total_length(segments(offered, offered.reply)));
}

void ask(Choices &in, PlanningRules r)
{
	rpcrdma_call_shape shape = {};
	rpcrdma_call_plan plan;

	shape.length = 4 * in.number();
	shape.item = { in.number(), in.number() };
	shape.result_max = in.number();
	shape.reply_max = in.number();
	shape.reducible = in.flip();
	shape.reply_expected = in.flip();
	r.stream_from = in.number();
	shape.round_trip = in.number();
	const u32 sends = in.number();
	const u32 part =
		(r.max_send & ~3U) - header_type(RPCRDMA2_CALL_MIDDLE)->bare;
	for (u32 attempt = 0;; attempt++) {
		const u32 before = shape.avoid;
		rpcrdma_rx rx = {};

		plan_call(r, shape, plan, sends);
		FUZZ_CHECK(plan.stream_length + plan.removed.length ==
			   shape.length);
		FUZZ_CHECK(plan.read_chunk == (plan.removed.length > 0));
		if (!r.chunks || !shape.reply_expected)
			FUZZ_CHECK(!plan.read_chunk && !plan.write_chunk &&
				   !plan.call_chunk && !plan.reply_chunk);
		if (!shape.reducible)
			FUZZ_CHECK(!plan.read_chunk && !plan.write_chunk);
		if (plan.streamed) {
			FUZZ_CHECK(!plan.read_chunk && !plan.call_chunk);
			FUZZ_CHECK(r.stream_from &&
				   shape.round_trip > r.stream_from);
			FUZZ_CHECK(plan.stream_length <= r.max_stream &&
				   plan.stream_length < u64{ sends } * part);
		}
		FUZZ_CHECK(!plan.read_chunk ||
			   !(before & RPCRDMA_AVOID_READ_CHUNK));
		FUZZ_CHECK(!plan.write_chunk ||
			   !(before & RPCRDMA_AVOID_WRITE_CHUNK));
		FUZZ_CHECK(!plan.call_chunk ||
			   (r.special && !(before & RPCRDMA_AVOID_CALL_CHUNK)));
		FUZZ_CHECK(!plan.reply_chunk ||
			   !(before & RPCRDMA_AVOID_REPLY_CHUNK));

		rx.action = RPCRDMA_RX_FAIL_RPC;
		rx.reported = in.octet() < 0xf0;
		rx.errcode = in.up_to(12);
		rx.error = -static_cast<s32>(in.up_to(120));
		rx.errargs[0] = in.number();
		rx.errargs[1] = in.number();
		const u32 what = in.octet();
		const bool refused = what <= 0xc0;
		const s32 result =
			refused	     ? plan_retry(plan, rx, shape.avoid) :
			what <= 0xe0 ? plan_outdated(plan, shape.avoid) :
				       plan_too_long(shape.avoid);
		/* Each attempt rules out more: the eighth is the last (D14). */
		FUZZ_CHECK(attempt <= 7);
		FUZZ_CHECK((shape.avoid & before) == before);
		FUZZ_CHECK(result <= 0);
		if (result) {
			FUZZ_CHECK(shape.avoid == before);
			return;
		}
		FUZZ_CHECK(rx.reported || !refused);
		FUZZ_CHECK(shape.avoid != before);
	}
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	Choices in(data, size);
	const PlanningRules r = rules(in);
	const Chunks c = chunks(in);

	lay_out_call(in, c);
	answer(in, r, c);
	believe(in, c);
	ask(in, r);
	return 0;
}
