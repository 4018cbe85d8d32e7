// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "linux_errno.h"
#include "planner.h"
#include "wire.h"
#include "xdr.h"

#include <rpcrdma/names.h>

#include <algorithm>
#include <numeric>
#include <random>

using namespace rpcrdma;

namespace
{

constexpr PlanningRules kRules = {
	.ddp_threshold = 4096,
	.special_threshold = 65536,
	.max_send = 4096,
	.max_stream = 200000,
	.chunks = true,
	.special = true,
	.continued = true,
};

rpcrdma_call_plan plan(const rpcrdma_call_shape &shape,
		       const PlanningRules &rules = kRules)
{
	rpcrdma_call_plan p;

	std::memset(&p, 0xee, sizeof(p));
	plan_call(rules, shape, p);
	return p;
}

/* A Call with a WRITE payload of @length octets after 120 of header. */
rpcrdma_call_shape write_call(u32 length)
{
	return {
		.length = 120 + u32(xdr_roundup(length)) + 16,
		.item = { 120, length },
		.result_max = 0,
		.reply_max = 2000,
		.avoid = 0,
		.round_trip = 0,
		.sends = 0,
		.reducible = true,
		.reply_expected = true,
	};
}

/* A Call of @length octets whose result is of up to @result octets. */
rpcrdma_call_shape read_call(u32 result, u32 length = 160)
{
	return {
		.length = length,
		.item = {},
		.result_max = result,
		.reply_max = 200 + u32(xdr_roundup(result)),
		.avoid = 0,
		.round_trip = 0,
		.sends = 0,
		.reducible = true,
		.reply_expected = true,
	};
}

/* Write chunks: the lengths of each one's segments. */
Chunks writes(const std::vector<std::vector<u32>> &list)
{
	Chunks c = {};

	for (const auto &chunk : list) {
		c.writes[c.n_writes++] = { u32(chunk.size()), c.n_write_segs };
		for (u32 length : chunk) {
			const u32 i = c.n_write_segs++;

			c.write_segs[i] = { 0x100 + i, length, i * 0x10000ull };
		}
	}
	return c;
}

rpcrdma_reply_plan reply(const Chunks &call, u32 length,
			 std::vector<Range> results,
			 const PlanningRules &rules = kRules)
{
	rpcrdma_reply_plan p;

	std::memset(&p, 0xee, sizeof(p));
	plan_reply(rules, call, length, { results.data(), u32(results.size()) },
		   p);
	return p;
}

} // namespace

TEST(planner, plan_call__the_threshold_D9)
{
	rpcrdma_call_plan p = plan(write_call(4096));
	EXPECT_FALSE(p.read_chunk);
	EXPECT_EQ(p.stream_length, 120u + 4096 + 16);

	p = plan(write_call(4097));
	EXPECT_TRUE(p.read_chunk);
	EXPECT_EQ(p.removed.offset, 120u);
	EXPECT_EQ(p.removed.length, 4100u);
	EXPECT_EQ(p.stream_length, 136u);
	EXPECT_FALSE(p.write_chunk);
}

/* In the stream it would take all credits for itself, and then wait for more. */
TEST(planner, plan_call__what_is_large_waits_for_a_region_D13)
{
	rpcrdma_call_shape shape = write_call(65536 - 120 - 16);
	EXPECT_EQ(shape.length, 65536u);
	EXPECT_TRUE(plan(shape).read_chunk);
	EXPECT_FALSE(plan(shape).call_waits);
	shape = write_call(65536 - 120 - 16 + 4);
	EXPECT_TRUE(plan(shape).call_waits);
	EXPECT_FALSE(plan(shape).result_waits);

	EXPECT_FALSE(plan(read_call(65536)).result_waits);
	EXPECT_TRUE(plan(read_call(65537)).result_waits);
	EXPECT_FALSE(plan(read_call(65537)).call_waits);
}

/* Whatever its size: the peer has said that there is no other way. */
TEST(planner, plan_call__what_the_peer_needs_waits_for_a_region_D14)
{
	rpcrdma_call_shape shape = read_call(1000);

	shape.avoid = RPCRDMA_NEED_REPLY_CHUNK;
	EXPECT_TRUE(plan(shape).result_waits);
	EXPECT_FALSE(plan(shape).call_waits);
	shape.avoid = RPCRDMA_NEED_CALL_CHUNK;
	EXPECT_TRUE(plan(shape).call_waits);
	EXPECT_FALSE(plan(shape).result_waits);
}

/* Who takes neither Special nor continued Calls may take this one. */
TEST(planner, plan_call__an_item_that_has_no_other_way)
{
	PlanningRules rules = kRules;

	rules.special = false;
	rules.max_stream = 4000;
	EXPECT_TRUE(plan(write_call(4096), rules).read_chunk);
	EXPECT_FALSE(plan(write_call(1000), rules).read_chunk);
	rpcrdma_call_shape shape = write_call(4000 - 120 - 16);
	EXPECT_FALSE(plan(shape, rules).read_chunk);
	shape.length += 4;
	EXPECT_TRUE(plan(shape, rules).read_chunk);
	/* There is none. */
	shape.item.length = 0;
	EXPECT_FALSE(plan(shape, rules).read_chunk);
	rules.special = true;
	EXPECT_FALSE(plan(write_call(4096), rules).read_chunk);
}

TEST(planner, plan_call__results)
{
	rpcrdma_call_shape shape = read_call(4096);

	EXPECT_FALSE(plan(shape).write_chunk);
	shape.result_max = 4097;
	EXPECT_TRUE(plan(shape).write_chunk);
	EXPECT_FALSE(plan(shape).read_chunk);
	EXPECT_EQ(plan(shape).stream_length, 160u);
}

TEST(planner, plan_call__no_chunks_where_they_are_forbidden)
{
	rpcrdma_call_shape shape = write_call(1 << 20);

	shape.result_max = 1 << 20;
	for (int forbid = 0; forbid < 3; forbid++) {
		rpcrdma_call_shape s = shape;
		PlanningRules rules = kRules;

		(forbid == 0 ? s.reducible :
		 forbid == 1 ? s.reply_expected :
			       rules.chunks) = false;
		rpcrdma_call_plan p = plan(s, rules);
		EXPECT_FALSE(p.read_chunk);
		EXPECT_FALSE(p.write_chunk);
		EXPECT_EQ(p.call_chunk, forbid == 0);
		EXPECT_EQ(p.reply_chunk, forbid == 0);
		EXPECT_EQ(p.stream_length, s.length);
	}
}

TEST(planner, plan_call__an_item_that_cannot_be_cut_out)
{
	rpcrdma_call_shape shape = write_call(8192);

	shape.item.offset = 122;
	EXPECT_FALSE(plan(shape).read_chunk);
	shape.item.offset = 0; /* would be Position zero */
	EXPECT_FALSE(plan(shape).read_chunk);
	shape.item = { 120, shape.length };
	EXPECT_FALSE(plan(shape).read_chunk);
	shape.item = { 120, UINT32_MAX };
	EXPECT_FALSE(plan(shape).read_chunk);
	shape.item = { 0xfffffffc, 8192 };
	EXPECT_FALSE(plan(shape).read_chunk);
}

TEST(planner, plan_call__special_above_its_threshold_D13)
{
	rpcrdma_call_shape shape = read_call(0, 65536);

	EXPECT_FALSE(plan(shape).call_chunk);
	shape.length += 4;
	EXPECT_TRUE(plan(shape).call_chunk);
	EXPECT_EQ(plan(shape).stream_length, 65540u);
	/* What counts is what the Read chunk leaves; it stays beside it. */
	shape = write_call(1 << 20);
	EXPECT_TRUE(plan(shape).read_chunk);
	EXPECT_FALSE(plan(shape).call_chunk);
	shape.length += 70000;
	EXPECT_TRUE(plan(shape).read_chunk);
	EXPECT_TRUE(plan(shape).call_chunk);
	EXPECT_EQ(plan(shape).stream_length, 70000u + 136);
}

TEST(planner, plan_call__special_beyond_the_peers_credits_D13)
{
	rpcrdma_call_shape shape = read_call(0, 30000);
	PlanningRules rules = kRules;

	rules.max_stream = 30000;
	EXPECT_FALSE(plan(shape, rules).call_chunk);
	shape.length += 4;
	EXPECT_TRUE(plan(shape, rules).call_chunk);
	rules.special = false;
	EXPECT_FALSE(plan(shape, rules).call_chunk);
	EXPECT_EQ(plan(shape, rules).stream_length, 30004u);
	rules.special = true;
	shape.reply_expected = false;
	EXPECT_FALSE(plan(shape, rules).call_chunk);
}

TEST(planner, plan_call__a_body_chunk_needs_no_reduction_D13)
{
	rpcrdma_call_shape shape = write_call(1 << 20);

	shape.reducible = false;
	EXPECT_FALSE(plan(shape).read_chunk);
	EXPECT_TRUE(plan(shape).call_chunk);
	EXPECT_EQ(plan(shape).stream_length, shape.length);
	/* Neither does one whose item cannot be cut out. */
	shape = write_call(1 << 20);
	shape.item.offset = 122;
	EXPECT_TRUE(plan(shape).call_chunk);
}

TEST(planner, plan_call__a_reply_chunk_for_what_cannot_be_reduced_D13)
{
	rpcrdma_call_shape shape = read_call(65537);

	EXPECT_TRUE(plan(shape).write_chunk);
	EXPECT_FALSE(plan(shape).reply_chunk) << "the Write chunk takes it";
	shape.reducible = false;
	EXPECT_FALSE(plan(shape).write_chunk);
	EXPECT_TRUE(plan(shape).reply_chunk);
	EXPECT_EQ(plan(shape).reply_max, shape.reply_max);
	shape.result_max = 65536;
	EXPECT_FALSE(plan(shape).reply_chunk);
	shape = read_call(65537);
	shape.avoid = RPCRDMA_AVOID_WRITE_CHUNK;
	EXPECT_TRUE(plan(shape).reply_chunk);
	/* Not where ddp_threshold wants the result in the stream. */
	PlanningRules rules = kRules;
	rules.ddp_threshold = 1 << 20;
	EXPECT_FALSE(plan(read_call(1 << 20), rules).reply_chunk);
	EXPECT_FALSE(plan(read_call(1 << 20), rules).write_chunk);
	/* Not for READDIR, however much it may return. */
	shape = read_call(0);
	shape.reply_max = 1 << 20;
	for (bool reducible : { false, true }) {
		shape.reducible = reducible;
		EXPECT_FALSE(plan(shape).reply_chunk);
	}
}

TEST(planner, plan_call__a_reply_chunk_that_is_needed_D14)
{
	rpcrdma_call_shape shape = read_call(8192);

	shape.avoid = RPCRDMA_NEED_REPLY_CHUNK;
	EXPECT_TRUE(plan(shape).write_chunk);
	EXPECT_TRUE(plan(shape).reply_chunk);
	shape.result_max = 0;
	EXPECT_TRUE(plan(shape).reply_chunk);
	shape.reply_max = 0;
	EXPECT_FALSE(plan(shape).reply_chunk) << "of no octets";
	shape = read_call(0);
	shape.avoid = RPCRDMA_NEED_REPLY_CHUNK | RPCRDMA_AVOID_REPLY_CHUNK;
	EXPECT_FALSE(plan(shape).reply_chunk);
}

/* Of what earlier attempts have shown, nothing stands for anything else. */
TEST(planner, plan_call__what_each_attempt_has_shown_D14)
{
	for (u32 bit = 1; bit <= RPCRDMA_SEEN_TOO_LONG_AGAIN; bit <<= 1) {
		rpcrdma_call_shape shape = read_call(1000);

		shape.avoid = bit;
		const rpcrdma_call_plan p = plan(shape);
		EXPECT_EQ(p.call_waits, bit == RPCRDMA_NEED_CALL_CHUNK) << bit;
		EXPECT_EQ(p.call_chunk, bit == RPCRDMA_NEED_CALL_CHUNK) << bit;
		EXPECT_EQ(p.result_waits, bit == RPCRDMA_NEED_REPLY_CHUNK)
			<< bit;
		EXPECT_EQ(p.reply_chunk, bit == RPCRDMA_NEED_REPLY_CHUNK ||
						 bit == RPCRDMA_SEEN_TOO_LONG)
			<< bit;
	}
}

TEST(planner, plan_call__what_is_avoided_D14)
{
	rpcrdma_call_shape shape = write_call(1 << 20);

	shape.result_max = 1 << 20;
	shape.avoid = RPCRDMA_AVOID_READ_CHUNK;
	EXPECT_FALSE(plan(shape).read_chunk);
	EXPECT_TRUE(plan(shape).write_chunk);
	EXPECT_TRUE(plan(shape).call_chunk) << "the item is in the stream now";
	EXPECT_EQ(plan(shape).stream_length, shape.length);
	shape.avoid |= RPCRDMA_AVOID_CALL_CHUNK;
	EXPECT_FALSE(plan(shape).call_chunk);
	shape.avoid |= RPCRDMA_AVOID_WRITE_CHUNK;
	EXPECT_FALSE(plan(shape).write_chunk);
	EXPECT_TRUE(plan(shape).reply_chunk);
	shape.avoid |= RPCRDMA_AVOID_REPLY_CHUNK;
	EXPECT_FALSE(plan(shape).reply_chunk);
}

namespace
{

constexpr u32 kAvoidRead = RPCRDMA_AVOID_READ_CHUNK;
constexpr u32 kAvoidWrite = RPCRDMA_AVOID_WRITE_CHUNK;
constexpr u32 kAvoidCall = RPCRDMA_AVOID_CALL_CHUNK;
constexpr u32 kAvoidReply = RPCRDMA_AVOID_REPLY_CHUNK;
constexpr u32 kNeedReply = RPCRDMA_NEED_REPLY_CHUNK;

/* A plan with the chunks that the flags @used would avoid. */
rpcrdma_call_plan plan_with(u32 used)
{
	rpcrdma_call_plan p = {};

	p.read_chunk = used & kAvoidRead;
	p.write_chunk = used & kAvoidWrite;
	p.call_chunk = used & kAvoidCall;
	p.reply_chunk = used & kAvoidReply;
	p.reply_max = 5000;
	return p;
}

rpcrdma_rx error(u32 code, u32 arg0 = 0, u32 arg1 = 0)
{
	rpcrdma_rx rx = {};

	rx.action = RPCRDMA_RX_FAIL_RPC;
	rx.error = -71;
	rx.errcode = code;
	rx.errargs[0] = arg0;
	rx.errargs[1] = arg1;
	rx.reported = true;
	return rx;
}

constexpr u32 kNoRetry = UINT32_MAX;

/* The flags that an error adds, or kNoRetry. */
u32 added(u32 used, const rpcrdma_rx &rx, u32 avoid = 0)
{
	const u32 before = avoid;
	const s32 rc = plan_retry(plan_with(used), rx, avoid);

	if (rc) {
		EXPECT_EQ(rc, -71);
		EXPECT_EQ(avoid, before);
		return kNoRetry;
	}
	EXPECT_EQ(avoid & before, before) << "none is taken back";
	EXPECT_NE(avoid, before) << "it would never end";
	return avoid & ~before;
}

} // namespace

TEST(planner, plan_retry__too_many_chunks_or_segments_D14)
{
	static const struct {
		u32 code;
		u32 used;
		u32 add;
	} rows[] = {
		{ RPCRDMA2_ERR_READ_CHUNKS, kAvoidRead, kAvoidRead },
		{ RPCRDMA2_ERR_READ_CHUNKS, kAvoidRead | kAvoidCall,
		  kAvoidRead },
		{ RPCRDMA2_ERR_READ_CHUNKS, kAvoidCall, kAvoidCall },
		{ RPCRDMA2_ERR_READ_CHUNKS, kAvoidWrite | kAvoidReply,
		  kNoRetry },
		{ RPCRDMA2_ERR_WRITE_CHUNKS, kAvoidWrite, kAvoidWrite },
		{ RPCRDMA2_ERR_WRITE_CHUNKS, kAvoidWrite | kAvoidReply,
		  kAvoidWrite },
		{ RPCRDMA2_ERR_WRITE_CHUNKS, kAvoidReply, kAvoidReply },
		{ RPCRDMA2_ERR_WRITE_CHUNKS, kAvoidRead | kAvoidCall,
		  kNoRetry },
		{ RPCRDMA2_ERR_SEGMENTS, kAvoidRead | kAvoidWrite,
		  kAvoidRead | kAvoidWrite },
		{ RPCRDMA2_ERR_SEGMENTS, kAvoidCall | kAvoidReply,
		  kAvoidCall | kAvoidReply },
		{ RPCRDMA2_ERR_SEGMENTS, 0, kNoRetry },
	};

	for (const auto &row : rows) {
		EXPECT_EQ(added(row.used, error(row.code)), row.add)
			<< row.code << " " << row.used;
		if (row.add != kNoRetry)
			EXPECT_EQ(added(row.used, error(row.code), row.add),
				  kNoRetry)
				<< "it has been tried already";
	}
}

TEST(planner, plan_retry__reply_resources_D14)
{
	const u32 write = RPCRDMA2_ERR_WRITE_RESOURCE;
	const u32 reply = RPCRDMA2_ERR_REPLY_RESOURCE;

	EXPECT_EQ(added(kAvoidWrite, error(write, 1, 5000)), kAvoidWrite);
	EXPECT_EQ(added(kAvoidWrite, error(write, 1, 5001)), kNoRetry)
		<< "nobody has room for it";
	EXPECT_EQ(added(kAvoidWrite, error(write, 0, 5000)), kNoRetry);
	EXPECT_EQ(added(kAvoidWrite, error(write, 1, 0)), kNoRetry);
	EXPECT_EQ(added(kAvoidReply, error(write, 1, 5000)), kNoRetry);

	EXPECT_EQ(added(0, error(reply, 5000)), kNeedReply);
	EXPECT_EQ(added(kAvoidWrite, error(reply, 1)), kNeedReply);
	EXPECT_EQ(added(0, error(reply, 5001)), kNoRetry);
	EXPECT_EQ(added(0, error(reply, 0)), kNoRetry);
	EXPECT_EQ(added(kAvoidReply, error(reply, 4000)), kNoRetry)
		<< "it had all there is";
	EXPECT_EQ(added(0, error(reply, 4000), kAvoidReply), kNoRetry);
	/* What is needed is not given up again. */
	EXPECT_EQ(added(kAvoidReply, error(RPCRDMA2_ERR_SEGMENTS), kNeedReply),
		  kNoRetry);
	EXPECT_EQ(added(kAvoidReply | kAvoidCall, error(RPCRDMA2_ERR_SEGMENTS),
			kNeedReply),
		  kAvoidCall);
}

TEST(planner, plan_retry__everything_else_is_permanent_D14)
{
	const u32 all = kAvoidRead | kAvoidWrite | kAvoidCall | kAvoidReply;

	for (u32 code : { 1u, 2u, 3u, 4u, 5u, 11u, 100u, 0u, 77u })
		EXPECT_EQ(added(all, error(code, 1, 4000)), kNoRetry) << code;
	/* Of a malformed Reply nothing is known but that. */
	rpcrdma_rx rx = error(RPCRDMA2_ERR_READ_CHUNKS);
	rx.reported = false;
	EXPECT_EQ(added(all, rx), kNoRetry);
	/* Never zero, which would mean to send it again. */
	u32 avoid = 0;
	rx.error = 0;
	EXPECT_LT(plan_retry(plan_with(all), rx, avoid), 0);
}

TEST(planner, plan_outdated__another_way_D14)
{
	rpcrdma_call_shape shape = write_call(1 << 20);
	PlanningRules rules = kRules;

	/* EXTERNAL was refused: in parts; and if those are, in no way. */
	shape.avoid = RPCRDMA_AVOID_READ_CHUNK;
	ASSERT_TRUE(plan(shape).call_chunk);
	EXPECT_EQ(plan_outdated(plan(shape), shape.avoid), 0);
	EXPECT_EQ(shape.avoid, kAvoidRead | kAvoidCall);
	EXPECT_FALSE(plan(shape).call_chunk);
	EXPECT_EQ(plan_outdated(plan(shape), shape.avoid), -kEIO);

	/* MIDDLE was refused: by a chunk, however short it is. */
	shape = write_call(6000);
	shape.reducible = false;
	ASSERT_FALSE(plan(shape).call_chunk);
	EXPECT_EQ(plan_outdated(plan(shape), shape.avoid), 0);
	EXPECT_TRUE(plan(shape).call_chunk);
	/* That is refused as well. */
	EXPECT_EQ(plan_outdated(plan(shape), shape.avoid), 0);
	EXPECT_FALSE(plan(shape).call_chunk);
	EXPECT_EQ(plan_outdated(plan(shape), shape.avoid), -kEIO);

	/* There can be no chunk: it is not tried for ever. */
	shape = write_call(6000);
	rules.special = false;
	EXPECT_EQ(plan_outdated(plan(shape, rules), shape.avoid), 0);
	EXPECT_FALSE(plan(shape, rules).call_chunk);
	EXPECT_EQ(plan_outdated(plan(shape, rules), shape.avoid), -kEIO);
}

TEST(planner, plan_too_long__a_reply_chunk_next_time_D14)
{
	rpcrdma_call_shape shape = write_call(100);

	shape.reply_max = 120;
	ASSERT_FALSE(plan(shape).reply_chunk);
	EXPECT_EQ(plan_too_long(shape.avoid), 0);
	EXPECT_TRUE(plan(shape).reply_chunk);
	/* It may have been another Call's Reply; not the third time. */
	EXPECT_EQ(plan_too_long(shape.avoid), 0);
	EXPECT_TRUE(plan(shape).reply_chunk);
	EXPECT_EQ(plan_too_long(shape.avoid), -kEIO);
}

/* It was a guess: the peer's word counts for more. */
TEST(planner, plan_too_long__a_peer_without_reply_chunks_D14)
{
	for (const u32 code :
	     { RPCRDMA2_ERR_WRITE_CHUNKS, RPCRDMA2_ERR_SEGMENTS }) {
		rpcrdma_call_shape shape = write_call(100);

		shape.reply_max = 120;
		ASSERT_EQ(plan_too_long(shape.avoid), 0);
		EXPECT_EQ(plan_retry(plan(shape), error(code), shape.avoid), 0);
		EXPECT_FALSE(plan(shape).reply_chunk);
		EXPECT_EQ(plan_too_long(shape.avoid), 0);
		EXPECT_FALSE(plan(shape).reply_chunk);
		EXPECT_EQ(plan_too_long(shape.avoid), -kEIO);
	}
}

TEST(planner, plan_retry__ends_against_any_peer_D14)
{
	std::mt19937 random(3);

	for (int round = 0; round < 2000; round++) {
		rpcrdma_call_shape shape = write_call(random() % (1 << 20));
		u32 tries = 0;
		s32 rc;

		shape.result_max = random() % (1 << 20);
		shape.reply_max = random() % (1 << 20);
		shape.length += random() % 2 ? 0 : 1 << 20;
		shape.reducible = random() % 2;
		do {
			const rpcrdma_call_plan p = plan(shape);
			const rpcrdma_rx rx =
				error(1 + random() % 11, random() % 4,
				      random() % (1 << 19));

			rc = plan_retry(p, rx, shape.avoid);
			ASSERT_LE(++tries, 6u);
		} while (!rc);
		EXPECT_LT(rc, 0);
	}
}

/* How often a Call can be sent again, whatever is said of it. */
u32 most_retries(const rpcrdma_call_shape &shape)
{
	const rpcrdma_call_plan p = plan(shape);
	u32 most = 0;

	const auto again = [&](auto &&ask) {
		rpcrdma_call_shape next = shape;

		if (!ask(next.avoid))
			most = std::max(most, 1 + most_retries(next));
	};

	for (u32 code = 1; code <= 12; code++)
		again([&](u32 &avoid) {
			return plan_retry(p, error(code, 1, 1), avoid);
		});
	again([&](u32 &avoid) { return plan_outdated(p, avoid); });
	again([&](u32 &avoid) { return plan_too_long(avoid); });
	return most;
}

/* Of the two about the Reply chunk one is ruled out by the other. */
TEST(planner, plan_retry__seven_times_at_most_D14)
{
	rpcrdma_call_shape shape = write_call(100000);

	shape.result_max = 100000;
	shape.reply_max = 120000;
	EXPECT_EQ(most_retries(shape), 7u);
}

TEST(planner, plan_reply__one_result_one_chunk)
{
	const auto p = reply(writes({ { 4096, 4096 } }), 128 + 5000 + 24,
			     { { 128, 4998 } });

	EXPECT_EQ(p.errcode, 0u);
	EXPECT_EQ(p.n_removed, 1u);
	EXPECT_EQ(p.removed[0].offset, 128u);
	EXPECT_EQ(p.removed[0].length, 5000u);
	EXPECT_EQ(p.stream_length, 152u);
	ASSERT_EQ(p.n_jobs, 2u);
	EXPECT_EQ(p.jobs[0].source.offset, 128u);
	EXPECT_EQ(p.jobs[0].source.length, 4096u);
	EXPECT_EQ(p.jobs[0].target.handle, 0x100u);
	EXPECT_EQ(p.jobs[1].source.offset, 128u + 4096);
	EXPECT_EQ(p.jobs[1].source.length, 902u) << "roundup is not written";
	EXPECT_EQ(p.jobs[1].target.handle, 0x101u);
	EXPECT_EQ(p.jobs[1].target.offset, 0x10000u);
	ASSERT_EQ(p.chunks.n_writes, 1u);
	EXPECT_EQ(p.chunks.writes[0].count, 2u);
	EXPECT_EQ(p.chunks.write_segs[0].length, 4096u);
	EXPECT_EQ(p.chunks.write_segs[1].length, 902u);
	EXPECT_FALSE(p.chunks.has_reply);
}

TEST(planner, plan_reply__no_chunks)
{
	const auto p = reply({}, 400, { { 128, 100 } });

	EXPECT_EQ(p.stream_length, 400u);
	EXPECT_EQ(p.n_removed, 0u);
	EXPECT_EQ(p.n_jobs, 0u);
	EXPECT_TRUE(no_chunks(p.chunks));
}

TEST(planner, plan_reply__a_chunk_without_result_is_returned_unused)
{
	const auto p = reply(writes({ { 4096, 8192 }, { 100 } }), 400, {});

	EXPECT_EQ(p.errcode, 0u);
	EXPECT_EQ(p.stream_length, 400u);
	EXPECT_EQ(p.n_jobs, 0u);
	ASSERT_EQ(p.chunks.n_writes, 2u);
	ASSERT_EQ(p.chunks.n_write_segs, 3u);
	for (u32 i = 0; i < 3; i++) {
		EXPECT_EQ(p.chunks.write_segs[i].length, 0u);
		EXPECT_EQ(p.chunks.write_segs[i].handle, 0x100 + i);
	}
}

TEST(planner, plan_reply__a_result_of_no_octets)
{
	const auto p = reply(writes({ { 4096 } }), 400, { { 128, 0 } });

	EXPECT_EQ(p.errcode, 0u);
	EXPECT_EQ(p.n_removed, 0u);
	EXPECT_EQ(p.n_jobs, 0u);
	EXPECT_EQ(p.chunks.write_segs[0].length, 0u);
}

TEST(planner, plan_reply__an_empty_chunk_leaves_its_result_inline)
{
	const auto p = reply(writes({ {}, { 300 } }), 1000,
			     { { 100, 200 }, { 400, 300 } });

	EXPECT_EQ(p.errcode, 0u);
	ASSERT_EQ(p.n_removed, 1u);
	EXPECT_EQ(p.removed[0].offset, 400u);
	EXPECT_EQ(p.stream_length, 700u);
	ASSERT_EQ(p.chunks.n_writes, 2u);
	EXPECT_EQ(p.chunks.writes[0].count, 0u);
}

TEST(planner, plan_reply__more_results_than_chunks)
{
	const auto p = reply(writes({ { 300 } }), 1000,
			     { { 100, 200 }, { 400, 300 } });

	EXPECT_EQ(p.n_removed, 1u);
	EXPECT_EQ(p.stream_length, 800u);
}

TEST(planner, plan_reply__a_chunk_too_short)
{
	const auto p = reply(writes({ { 300 }, { 100, 100 } }), 2000,
			     { { 100, 300 }, { 600, 201 } });

	EXPECT_EQ(p.errcode, u32{ RPCRDMA2_ERR_WRITE_RESOURCE });
	EXPECT_EQ(p.index, 2u) << "counted from one";
	EXPECT_EQ(p.needed, 201u);
}

TEST(planner, plan_reply__a_chunk_that_just_fits)
{
	const auto p = reply(writes({ { 100, 101 } }), 2000, { { 600, 201 } });

	EXPECT_EQ(p.errcode, 0u);
	EXPECT_EQ(p.stream_length, 2000u - 204);
}

TEST(planner, plan_reply__capacity_is_summed_in_64_bits)
{
	const auto p = reply(writes({ { UINT32_MAX, UINT32_MAX } }), 2000,
			     { { 600, 201 } });

	EXPECT_EQ(p.errcode, 0u);
	EXPECT_EQ(p.n_jobs, 1u);
}

TEST(planner, plan_reply__empty_segments_are_passed_over)
{
	const auto p =
		reply(writes({ { 0, 100, 0, 200 } }), 2000, { { 600, 150 } });

	ASSERT_EQ(p.n_jobs, 2u);
	EXPECT_EQ(p.jobs[0].target.handle, 0x101u);
	EXPECT_EQ(p.jobs[1].target.handle, 0x103u);
	EXPECT_EQ(p.chunks.write_segs[3].length, 50u);
}

TEST(planner, plan_reply__results_that_are_not_reducible)
{
	const Chunks call = writes({ { 4096 }, { 4096 } });
	const std::vector<std::vector<Range>> bad = {
		{ { 0, 100 } },		 { { 102, 100 } },
		{ { 1900, 104 } },	 { { 2000, 4 } },
		{ { 100, 5000 } },	 { { 0xfffffffc, 8 } },
		{ { 100, UINT32_MAX } },
	};

	for (const auto &results : bad) {
		const auto p = reply(call, 2000, results);

		EXPECT_EQ(p.errcode, 0u);
		EXPECT_EQ(p.n_removed, 0u);
		EXPECT_EQ(p.n_jobs, 0u);
		EXPECT_EQ(p.stream_length, 2000u);
	}
	/* The second overlaps the first one's roundup, or comes before it. */
	for (u32 offset : { 104u, 200u, 100u, 52u }) {
		const auto p =
			reply(call, 2000, { { 100, 101 }, { offset, 8 } });

		EXPECT_EQ(p.n_removed, 1u) << offset;
	}
	EXPECT_EQ(reply(call, 2000, { { 100, 101 }, { 204, 8 } }).n_removed,
		  2u);
}

TEST(planner, plan_reply__chunk_lists_that_make_no_sense)
{
	Chunks call = writes({ { 4096 } });

	call.writes[0].count = 2;
	const auto p = reply(call, 2000, { { 100, 100 } });
	EXPECT_EQ(p.stream_length, 2000u);
	EXPECT_EQ(p.n_jobs, 0u);
	EXPECT_TRUE(no_chunks(p.chunks));
}

namespace
{

/* A Call that offers a Reply chunk besides. */
Chunks with_reply(Chunks c, const std::vector<u32> &lengths)
{
	c.has_reply = true;
	c.reply = { u32(lengths.size()), c.n_write_segs };
	for (u32 length : lengths) {
		const u32 i = c.n_write_segs++;

		c.write_segs[i] = { 0x100 + i, length, i * 0x100000ull };
	}
	return c;
}

} // namespace

TEST(planner, plan_reply__the_reply_chunk_is_for_what_does_not_fit_a_send_D13)
{
	const Chunks call = with_reply({}, { 8192 });
	/* REPLY_INLINE without Write chunks has 20 octets of header. */
	auto p = reply(call, 4096 - 20, {});

	EXPECT_EQ(p.errcode, 0u);
	EXPECT_FALSE(p.external);
	EXPECT_FALSE(p.chunks.has_reply) << "REPLY_INLINE has no place for it";
	EXPECT_EQ(p.n_jobs, 0u);

	p = reply(call, 4096 - 16, {});
	EXPECT_EQ(p.errcode, 0u);
	EXPECT_TRUE(p.external);
	EXPECT_EQ(p.stream_length, 4096u - 16);
	ASSERT_EQ(p.n_jobs, 1u);
	EXPECT_EQ(p.jobs[0].source.offset, 0u);
	EXPECT_EQ(p.jobs[0].source.length, 4080u);
	EXPECT_EQ(p.jobs[0].target.handle, 0x100u);
	EXPECT_EQ(p.jobs[0].target.length, 4080u);
	ASSERT_TRUE(p.chunks.has_reply);
	u32 n;
	ASSERT_TRUE(replied(call, p.chunks, n));
	EXPECT_EQ(n, 4080u);
	/* The Write list makes the header longer: 4 + 4 + 16. */
	const Chunks both = with_reply(writes({ { 100 } }), { 8192 });
	EXPECT_FALSE(reply(both, 4096 - 44, {}).external);
	EXPECT_TRUE(reply(both, 4096 - 40, {}).external);
}

TEST(planner, plan_reply__external_writes_around_what_was_removed_D13)
{
	const Chunks call = with_reply(writes({ { 300 }, {}, { 5000 } }),
				       { 1000, 0, 4096, 4000 });
	const auto p = reply(call, 8000 + 300 + 4 + 204,
			     { { 100, 297 }, { 600, 200 }, { 2000, 5 } });

	EXPECT_EQ(p.errcode, 0u);
	EXPECT_TRUE(p.external);
	ASSERT_EQ(p.n_removed, 2u);
	EXPECT_EQ(p.stream_length, 8508u - 300 - 8);
	static const struct {
		u32 from, length, handle;
		u64 offset;
	} want[] = {
		{ 100, 297, 0x100, 0 },
		{ 2000, 5, 0x101, 0x10000 },
		{ 0, 100, 0x102, 0x200000 },
		{ 400, 900, 0x102, 0x200000 + 100 },
		{ 1300, 700, 0x104, 0x400000 },
		{ 2008, 3396, 0x104, 0x400000 + 700 },
		{ 5404, 3104, 0x105, 0x500000 },
	};
	ASSERT_EQ(p.n_jobs, std::size(want));
	for (u32 i = 0; i < p.n_jobs; i++) {
		EXPECT_EQ(p.jobs[i].source.offset, want[i].from) << i;
		EXPECT_EQ(p.jobs[i].source.length, want[i].length) << i;
		EXPECT_EQ(p.jobs[i].target.length, want[i].length) << i;
		EXPECT_EQ(p.jobs[i].target.handle, want[i].handle) << i;
		EXPECT_EQ(p.jobs[i].target.offset, want[i].offset) << i;
	}
	u32 n;
	ASSERT_TRUE(replied(call, p.chunks, n));
	EXPECT_EQ(n, p.stream_length);
	ASSERT_TRUE(written(call, p.chunks, 0, n));
	EXPECT_EQ(n, 297u);
	ASSERT_TRUE(written(call, p.chunks, 2, n));
	EXPECT_EQ(n, 5u);
}

TEST(planner, plan_reply__a_reply_chunk_just_large_enough_D13)
{
	EXPECT_TRUE(reply(with_reply({}, { 4000, 4000 }), 8000, {}).external);
	/* Else it is continued, which is what a Responder should do (6.6.4). */
	for (const auto &lengths : std::vector<std::vector<u32>>{
		     { 4000, 3999 }, {}, { 0 }, { 7999 } }) {
		const auto p = reply(with_reply({}, lengths), 8000, {});

		EXPECT_EQ(p.errcode, 0u);
		EXPECT_FALSE(p.external);
		EXPECT_FALSE(p.chunks.has_reply);
		EXPECT_EQ(p.chunks.n_write_segs, 0u);
		EXPECT_EQ(p.n_jobs, 0u);
		EXPECT_EQ(p.stream_length, 8000u);
	}
	EXPECT_TRUE(reply(with_reply({}, { UINT32_MAX, UINT32_MAX }), 8000, {})
			    .external)
		<< "summed in 64 bits";
}

TEST(planner, plan_reply__no_way_to_send_it_D13)
{
	PlanningRules rules = kRules;

	rules.continued = false;
	auto p = reply({}, 4096 - 20, {}, rules);
	EXPECT_EQ(p.errcode, 0u);
	p = reply({}, 4096 - 16, {}, rules);
	EXPECT_EQ(p.errcode, u32{ RPCRDMA2_ERR_REPLY_RESOURCE });
	EXPECT_EQ(p.needed, 4096u - 16);
	p = reply(with_reply({}, { 4000 }), 4096, {}, rules);
	EXPECT_EQ(p.errcode, u32{ RPCRDMA2_ERR_REPLY_RESOURCE });
	EXPECT_FALSE(p.external);
	p = reply(with_reply({}, { 4096 }), 4096, {}, rules);
	EXPECT_EQ(p.errcode, 0u);
	EXPECT_TRUE(p.external);
	/* A Write chunk that is too short is told first: it comes first. */
	p = reply(writes({ { 8 } }), 8192, { { 100, 12 } }, rules);
	EXPECT_EQ(p.errcode, u32{ RPCRDMA2_ERR_WRITE_RESOURCE });
}

TEST(planner, replied__what_was_offered)
{
	const Chunks offered = with_reply(writes({ { 50 } }), { 100, 200 });
	Chunks back = offered;
	u32 n;

	ASSERT_TRUE(replied(offered, back, n));
	EXPECT_EQ(n, 300u);
	back.write_segs[2].length = 7;
	ASSERT_TRUE(replied(offered, back, n));
	EXPECT_EQ(n, 107u);
	back.write_segs[1].length = 99;
	EXPECT_FALSE(replied(offered, back, n)) << "a gap";
	back = offered;
	back.write_segs[2].handle++;
	EXPECT_FALSE(replied(offered, back, n));
	back = offered;
	back.reply.count = 1;
	EXPECT_FALSE(replied(offered, back, n));
	back = offered;
	back.reply.first = 0;
	EXPECT_FALSE(replied(offered, back, n)) << "another chunk's segments";
	back = offered;
	back.has_reply = false;
	EXPECT_FALSE(replied(offered, back, n));
	EXPECT_FALSE(replied(writes({ { 50 } }), offered, n))
		<< "none was offered";
	back = offered;
	back.reply.count = 17;
	EXPECT_FALSE(replied(offered, back, n));
	EXPECT_EQ(n, 0u);
}

TEST(planner, plan_reply__what_it_returns_is_what_a_client_accepts)
{
	const HeaderType &inline_reply = *header_type(RPCRDMA2_REPLY_INLINE);
	std::mt19937 random(7);
	u32 specials = 0;

	for (int round = 0; round < 3000; round++) {
		std::vector<std::vector<u32>> offered;
		std::vector<Range> results;
		u32 at = 4 + random() % 100 / 4 * 4;
		u32 segs = 0;

		for (u32 n = random() % 5; n; n--) {
			std::vector<u32> chunk;

			for (u32 k = random() % 4; k && segs < 16; k--, segs++)
				chunk.push_back(random() % 3 ? random() % 500 :
							       0);
			offered.push_back(chunk);
		}
		for (u32 n = random() % 5; n; n--) {
			const u32 length = random() % 600;

			results.push_back({ at, length });
			at += u32(xdr_roundup(length)) + random() % 50 / 4 * 4;
		}
		const u32 length = at + 40;
		std::vector<u32> body;
		Chunks call = writes(offered);

		for (; random() % 4 && segs < 16; segs++)
			body.push_back(random() % 3 ? random() % 2000 : 0);
		if (random() % 3)
			call = with_reply(call, body);
		PlanningRules rules = kRules;
		rules.max_send = 400;
		rules.continued = random() % 2;
		const auto p = reply(call, length, results, rules);

		if (p.errcode == RPCRDMA2_ERR_REPLY_RESOURCE) {
			ASSERT_FALSE(rules.continued);
			ASSERT_GT(p.needed +
					  header_size(inline_reply, &p.chunks),
				  rules.max_send);
			if (call.has_reply)
				ASSERT_LT(std::accumulate(body.begin(),
							  body.end(), 0u),
					  p.needed);
			continue;
		}
		if (p.errcode) {
			ASSERT_LE(p.index, offered.size());
			u32 room = 0;
			for (u32 l : offered[p.index - 1])
				room += l;
			ASSERT_GT(p.needed, room);
			continue;
		}
		u32 removed = 0;
		u32 in_chunks = 0;
		for (u32 i = 0; i < p.n_removed; i++)
			removed += p.removed[i].length;
		ASSERT_EQ(p.stream_length + removed, length);
		for (u32 i = 0; i < p.chunks.n_writes; i++) {
			u32 octets;

			ASSERT_TRUE(written(call, p.chunks, i, octets));
			if (i < results.size() && !offered[i].empty())
				ASSERT_EQ(octets, results[i].length);
			else
				ASSERT_EQ(octets, 0u);
			in_chunks += octets;
		}
		if (p.external) {
			u32 octets;

			ASSERT_TRUE(replied(call, p.chunks, octets));
			ASSERT_EQ(octets, p.stream_length);
			in_chunks += octets;
			specials++;
		} else {
			ASSERT_FALSE(p.chunks.has_reply);
		}
		ASSERT_LE(p.n_jobs, u32{ RPCRDMA_MAX_WRITE_JOBS });
		/* Each octet of the Reply goes somewhere, once. */
		std::vector<bool> seen(length);
		for (u32 i = 0; i < p.n_jobs; i++) {
			const Range from = p.jobs[i].source;

			ASSERT_GT(from.length, 0u);
			ASSERT_EQ(from.length, p.jobs[i].target.length);
			in_chunks -= from.length;
			for (u32 k = 0; k < from.length; k++) {
				ASSERT_FALSE(seen[from.offset + k]);
				seen[from.offset + k] = true;
			}
		}
		ASSERT_EQ(in_chunks, 0u);
	}
	EXPECT_GT(specials, 300u);
}

TEST(planner, written__other_segments_than_offered)
{
	const Chunks offered = writes({ { 100, 200 }, { 50 } });
	u32 n;

	Chunks back = offered;
	ASSERT_TRUE(written(offered, back, 0, n));
	EXPECT_EQ(n, 300u);
	ASSERT_TRUE(written(offered, back, 1, n));
	EXPECT_EQ(n, 50u);
	EXPECT_FALSE(written(offered, back, 2, n));

	back.write_segs[1].handle++;
	EXPECT_FALSE(written(offered, back, 0, n));
	back = offered;
	back.write_segs[1].offset++;
	EXPECT_FALSE(written(offered, back, 0, n));
	back = offered;
	back.writes[0].count = 1;
	EXPECT_FALSE(written(offered, back, 0, n));
	back = offered;
	back.n_writes = 1;
	EXPECT_FALSE(written(offered, back, 0, n));
	back = offered;
	back.writes[0] = { 9, 9 };
	EXPECT_FALSE(written(offered, back, 0, n));
}

TEST(planner, written__lengths_fill_in_order)
{
	const Chunks offered = writes({ { 100, 200, 300 } });
	Chunks back = offered;
	u32 n;

	const auto try_lengths = [&](u32 a, u32 b, u32 c) {
		back.write_segs[0].length = a;
		back.write_segs[1].length = b;
		back.write_segs[2].length = c;
		return written(offered, back, 0, n);
	};
	EXPECT_TRUE(try_lengths(0, 0, 0));
	EXPECT_TRUE(try_lengths(99, 0, 0));
	EXPECT_TRUE(try_lengths(100, 1, 0));
	EXPECT_EQ(n, 101u);
	EXPECT_TRUE(try_lengths(100, 200, 300));
	EXPECT_FALSE(try_lengths(101, 0, 0)) << "more than was offered";
	EXPECT_FALSE(try_lengths(99, 1, 0)) << "a gap";
	EXPECT_FALSE(try_lengths(100, 0, 1)) << "a gap";
	EXPECT_FALSE(try_lengths(0, 200, 0)) << "a gap";
}

TEST(planner, written__sum_beyond_32_bits)
{
	const Chunks offered = writes({ { UINT32_MAX, 1 } });
	u32 n;

	EXPECT_FALSE(written(offered, offered, 0, n));
}

TEST(planner, layout_call__one_chunk_in_the_middle)
{
	rpcrdma_piece p[RPCRDMA_MAX_PIECES];
	Chunks c = {};

	c.n_reads = 2;
	c.reads[0] = { 120, { 1, 4096, 0 } };
	c.reads[1] = { 120, { 2, 5, 0 } };
	ASSERT_EQ(layout_call(c, 136, p), 4u);
	EXPECT_EQ(p[0].target.offset, 0u);
	EXPECT_EQ(p[0].target.length, 120u);
	EXPECT_EQ(p[0].segment, -1);
	EXPECT_EQ(p[0].source, 0u);
	EXPECT_EQ(p[1].target.offset, 120u);
	EXPECT_EQ(p[1].target.length, 4096u);
	EXPECT_EQ(p[1].segment, 0);
	EXPECT_EQ(p[2].target.offset, 4216u);
	EXPECT_EQ(p[2].target.length, 5u);
	EXPECT_EQ(p[2].segment, 1);
	EXPECT_EQ(p[3].target.offset, 4224u);
	EXPECT_EQ(p[3].target.length, 16u);
	EXPECT_EQ(p[3].source, 120u);
}

TEST(planner, layout_call__chunk_at_the_end_and_chunks_in_a_row)
{
	rpcrdma_piece p[RPCRDMA_MAX_PIECES];
	Chunks c = {};

	c.n_reads = 2;
	c.reads[0] = { 8, { 1, 3, 0 } };
	c.reads[1] = { 12, { 2, 4, 0 } };
	ASSERT_EQ(layout_call(c, 8, p), 3u);
	EXPECT_EQ(p[1].target.offset, 8u);
	EXPECT_EQ(p[1].target.length, 3u);
	EXPECT_EQ(p[2].target.offset, 12u);
}

TEST(planner, layout_call__undoes_any_reduction)
{
	std::mt19937 random(11);

	for (int round = 0; round < 3000; round++) {
		/* Cut chunks out of a message, and put them back. */
		const u32 length = 64 + random() % 2000 / 4 * 4;
		std::vector<u8> whole(length);
		std::vector<std::vector<u8>> memory;
		std::vector<u8> stream;
		std::vector<Range> removed;
		Chunks c = {};
		u32 at = 0;

		for (u8 &octet : whole)
			octet = u8(1 + random() % 255);
		for (u32 n = random() % 5; n; n--) {
			const u32 gap =
				(n == 4 ? 4 : 0) + random() % 200 / 4 * 4;
			const u32 item = random() % 200;
			const u32 padded = u32(xdr_roundup(item));

			if (at + gap + padded > length || !(at + gap))
				break;
			/* A chunk of no octets has no Position of its own. */
			if (c.n_reads && !gap &&
			    c.reads[c.n_reads - 1].position == at)
				continue;
			stream.insert(stream.end(), whole.begin() + at,
				      whole.begin() + at + gap);
			at += gap;
			std::fill(whole.begin() + at + item,
				  whole.begin() + at + padded, 0);
			removed.push_back({ at, padded });
			/* In up to three segments. */
			u32 from = 0;
			for (u32 k = 0; k < 3; k++) {
				const u32 part =
					k == 2 ? item - from :
						 random() % (item - from + 1);

				memory.emplace_back(whole.begin() + at + from,
						    whole.begin() + at + from +
							    part);
				c.reads[c.n_reads++] = { at, { k, part, 0 } };
				from += part;
			}
			at += padded;
		}
		stream.insert(stream.end(), whole.begin() + at, whole.end());

		u64 unreduced;
		ASSERT_TRUE(reads_valid(c, u32(stream.size()), unreduced));
		ASSERT_EQ(unreduced, length);

		rpcrdma_piece p[RPCRDMA_MAX_PIECES];
		const u32 n = layout_call(c, u32(stream.size()), p);
		std::vector<u8> again(length);
		u32 end = 0;

		ASSERT_LE(n, u32{ RPCRDMA_MAX_PIECES });
		for (u32 i = 0; i < n; i++) {
			const Range t = p[i].target;
			const auto &from = p[i].segment < 0 ?
						   stream :
						   memory[p[i].segment];

			ASSERT_GE(t.offset, end) << "ascending";
			ASSERT_LE(t.offset + t.length, length);
			ASSERT_LE(p[i].source + t.length, from.size());
			std::copy_n(from.begin() + p[i].source, t.length,
				    again.begin() + t.offset);
			end = t.offset + t.length;
		}
		ASSERT_EQ(again, whole);

		/* The sender's map agrees: the same octets, in runs. */
		for (u32 from = 0; from < stream.size();) {
			u32 to;
			const u32 run = stream_run(
				{ removed.data(), u32(removed.size()) }, from,
				to);
			const u32 octets =
				std::min(run, u32(stream.size()) - from);

			ASSERT_GT(run, 0u);
			ASSERT_TRUE(std::equal(stream.begin() + from,
					       stream.begin() + from + octets,
					       whole.begin() + to));
			from += octets;
		}
	}
}

TEST(planner, stream_run__maps_around_what_was_removed)
{
	const std::vector<Range> removed = { { 100, 8 }, { 200, 4 } };
	const Span<const Range> r(removed.data(), 2);
	u32 to;

	EXPECT_EQ(stream_run(r, 0, to), 100u);
	EXPECT_EQ(to, 0u);
	EXPECT_EQ(stream_run(r, 50, to), 50u);
	EXPECT_EQ(to, 50u);
	EXPECT_EQ(stream_run(r, 100, to), 92u);
	EXPECT_EQ(to, 108u);
	EXPECT_EQ(stream_run(r, 191, to), 1u);
	EXPECT_EQ(to, 199u);
	EXPECT_EQ(stream_run(r, 192, to), UINT32_MAX);
	EXPECT_EQ(to, 204u);
	EXPECT_EQ(stream_run({}, 7, to), UINT32_MAX);
	EXPECT_EQ(to, 7u);
}

/*
 * A flag that no rule of version 2 looks at keeps a Call from the short way for small
 * ones: the plan is the same.
 */
TEST(planner, small_call__is_planned_as_by_all_rules)
{
	std::mt19937 random(13);
	u32 without_chunks = 0;

	for (u32 i = 0; i < 100000; i++) {
		const auto near = [&](u32 size) -> u32 {
			return size + u32(random() % 3) - 1;
		};
		const PlanningRules rules = {
			.ddp_threshold = near(u32(random() % 4 * 1000 + 1)),
			.special_threshold = near(u32(random() % 4 * 1000 + 1)),
			.max_send = 4096,
			.max_stream = near(u32(random() % 4 * 1000 + 1)),
			.chunks = random() % 4 != 0,
			.special = random() % 4 != 0,
			.continued = true,
		};
		const auto size = [&]() -> u32 {
			return random() % 4 ?
				       near(u32(random() % 4 * 1000 + 1)) :
				       0;
		};
		rpcrdma_call_shape shape = {
			.length = size(),
			.item = { 4, size() },
			.result_max = size(),
			.reply_max = size(),
			.avoid = 0,
			.round_trip = 0,
			.sends = 0,
			.reducible = random() % 4 != 0,
			.reply_expected = random() % 4 != 0,
		};
		const rpcrdma_call_plan a = plan(shape, rules);

		shape.avoid = RPCRDMA_SEEN_TOO_LONG_AGAIN;
		const rpcrdma_call_plan b = plan(shape, rules);

		EXPECT_EQ(a.read_chunk, b.read_chunk);
		EXPECT_EQ(a.write_chunk, b.write_chunk);
		EXPECT_EQ(a.call_chunk, b.call_chunk);
		EXPECT_EQ(a.reply_chunk, b.reply_chunk);
		EXPECT_EQ(a.reply_max, b.reply_max);
		EXPECT_EQ(a.stream_length, b.stream_length);
		EXPECT_EQ(a.removed.offset, b.removed.offset);
		EXPECT_EQ(a.removed.length, b.removed.length);
		EXPECT_EQ(a.read_pad, b.read_pad);
		EXPECT_EQ(a.chunks_required, b.chunks_required);
		EXPECT_EQ(a.call_waits, b.call_waits);
		EXPECT_EQ(a.result_waits, b.result_waits);
		if (HasFailure())
			FAIL() << "case " << i;
		without_chunks +=
			!(a.read_chunk || a.write_chunk || a.call_chunk ||
			  a.reply_chunk || a.call_waits || a.result_waits);
	}
	EXPECT_GT(without_chunks, 10000u);
}

/* ------------------------------------------------------------------ */
/* Distance                                                           */
/* ------------------------------------------------------------------ */

namespace
{

constexpr u32 kFrom = 500;

PlanningRules far_rules()
{
	PlanningRules rules = kRules;

	rules.stream_from = kFrom;
	rules.max_stream = 64 * (4096 - 20);
	return rules;
}

rpcrdma_call_plan plan_far(rpcrdma_call_shape shape, u32 round_trip, u32 sends,
			   const PlanningRules &rules = far_rules())
{
	rpcrdma_call_plan p;

	std::memset(&p, 0xee, sizeof(p));
	shape.round_trip = round_trip;
	plan_call(rules, shape, p, sends);
	return p;
}

/* Sends that the stream takes, as Session::sends_for() counts them. */
u32 sends_of(u32 length, const PlanningRules &rules)
{
	const u32 part =
		rules.max_send - header_type(RPCRDMA2_CALL_MIDDLE)->bare;
	const u32 last =
		rules.max_send - header_type(RPCRDMA2_CALL_INLINE)->bare;

	return length <= last ? 1 : 1 + (length - last + part - 1) / part;
}

/* A Call without chunks, whose octets all travel in Sends. */
bool in_stream(const rpcrdma_call_plan &p)
{
	return !p.read_chunk && !p.call_chunk;
}

} // namespace

/* Without a delay, without the setting, or unknown: the thresholds alone. */
TEST(planner, stream_reach__nothing_where_the_way_is_short_D26)
{
	PlanningRules never = far_rules();

	never.stream_from = 0;
	for (u32 round_trip : { 0u, 1u, 20u, kFrom - 1, kFrom }) {
		EXPECT_EQ(stream_reach(far_rules(), round_trip, 64), 0u);
		EXPECT_TRUE(
			plan_far(write_call(4097), round_trip, 64).read_chunk);
	}
	for (u32 round_trip : { 1u, kFrom + 1, 10000u, UINT32_MAX })
		EXPECT_EQ(stream_reach(never, round_trip, 64), 0u);
}

/* A microsecond is worth a KiB. */
TEST(planner, stream_reach__what_the_time_is_worth_D26)
{
	PlanningRules rules = far_rules();

	rules.max_stream = UINT32_MAX;
	EXPECT_EQ(kStreamNanosecondsPerKib, 1000u);
	EXPECT_EQ(stream_reach(rules, kFrom + 1, UINT32_MAX), 4096u + 1024);
	EXPECT_EQ(stream_reach(rules, 1000, UINT32_MAX), 4096u + 500 * 1024);
	EXPECT_EQ(stream_reach(rules, UINT32_MAX, UINT32_MAX), UINT32_MAX);
	rules.max_stream = 5000;
	EXPECT_EQ(stream_reach(rules, UINT32_MAX, UINT32_MAX), 5000u);
}

/* What the marks ask for, with a window of 64 and Receives of 8 KiB. */
TEST(planner, stream_reach__writes_of_64_and_256_KiB_D26)
{
	PlanningRules rules = far_rules();

	rules.ddp_threshold = 16384;
	rules.max_send = 8192;
	rules.max_stream = 64 * (8192 - 20);
	for (u32 size : { 65536u, 262144u }) {
		const auto at = [&](u32 round_trip) {
			return plan_far(write_call(size), round_trip, 48,
					rules);
		};
		EXPECT_TRUE(at(120).read_chunk);
		EXPECT_TRUE(in_stream(at(1000))) << size;
		EXPECT_TRUE(at(1000).streamed);
		EXPECT_TRUE(in_stream(at(10000))) << size;
	}
	EXPECT_TRUE(plan_far(write_call(1 << 20), 10000, 48, rules).read_chunk)
		<< "more than the credits";
}

/*
 * All small cases: more time never makes it shorter, nor do more Sends; a Call never takes
 * more Sends than there are; and what is in the stream at no distance stays there.
 */
TEST(planner, stream_reach__monotonic_and_within_the_credits_D26)
{
	u32 streamed = 0;

	for (u32 threshold : { 0u, 1000u, 4096u, 20000u }) {
		PlanningRules rules = far_rules();

		rules.ddp_threshold = threshold;
		rules.special_threshold = 8192;
		rules.max_send = 1024;
		rules.max_stream = 64 * (1024 - 20);
		for (u32 sends = 0; sends <= 40; sends++) {
			u32 before = 0;

			for (u32 trip = 0; trip < kFrom + 60; trip++) {
				const u32 reach =
					stream_reach(rules, trip, sends);

				ASSERT_GE(reach, before);
				ASSERT_GE(stream_reach(rules, trip, sends + 1),
					  reach);
				before = reach;
			}
		}
		for (u32 size = 4; size < 45000; size += 508)
			for (u32 sends = 0; sends <= 48; sends++)
				for (u32 trip = 0; trip < kFrom + 60;
				     trip += 10) {
					const auto shape = write_call(size);
					const auto p = plan_far(shape, trip,
								sends, rules);
					const bool near_stream =
						in_stream(plan(shape, rules));

					ASSERT_FALSE(near_stream &&
						     !in_stream(p));
					ASSERT_EQ(p.streamed,
						  in_stream(p) && !near_stream);
					if (!p.streamed)
						continue;
					streamed++;
					ASSERT_LE(sends_of(p.stream_length,
							   rules),
						  sends);
					ASSERT_EQ(p.stream_length,
						  shape.length);
				}
	}
	EXPECT_GT(streamed, 1000u);
}

/* The last Send may have a header with chunks. */
TEST(planner, stream_reach__with_the_largest_header_D26)
{
	PlanningRules rules = far_rules();

	rules.max_send = 1024;
	for (u32 sends = 1; sends < 20; sends++) {
		const u32 reach = stream_reach(rules, 10000, sends);
		const u32 left = 1024 - kLargestHeader;

		EXPECT_LE(reach, (sends - 1) * (1024 - 20) + left);
	}
}

/* It is no choice where there are no chunks, or the peer takes no parts. */
TEST(planner, plan_call__distance_and_what_the_peer_takes_D26)
{
	PlanningRules rules = far_rules();

	rules.chunks = false;
	EXPECT_FALSE(plan_far(write_call(70000), 10000, 48, rules).streamed);
	rules = far_rules();
	rules.max_stream = 4096 - 32; /* MIDDLE has been refused */
	EXPECT_TRUE(plan_far(write_call(5000), 10000, 48, rules).read_chunk);

	rpcrdma_call_shape shape = write_call(5000);
	shape.avoid = RPCRDMA_NEED_CALL_CHUNK;
	const auto p = plan_far(shape, 10000, 48);
	EXPECT_TRUE(p.call_chunk);
	EXPECT_FALSE(p.streamed);
}

/* Integrity and privacy: the message as a whole, instead of a Call chunk. */
TEST(planner, plan_call__distance_and_bodies_D26)
{
	rpcrdma_call_shape shape = write_call(100000);

	shape.reducible = false;
	EXPECT_TRUE(plan_far(shape, 0, 48).call_chunk);
	EXPECT_TRUE(in_stream(plan_far(shape, 10000, 48)));
	EXPECT_TRUE(plan_far(shape, 10000, 48).streamed);
	EXPECT_TRUE(plan_far(shape, 10000, 20).call_chunk);
	shape = write_call(60000);
	shape.reducible = false;
	EXPECT_FALSE(plan_far(shape, 10000, 48).streamed) << "it always does";
}

/* Results cost no round trip (D26). */
TEST(planner, plan_call__distance_changes_no_result_D26)
{
	for (u32 size : { 4097u, 65536u, 1u << 20 }) {
		EXPECT_TRUE(plan_far(read_call(size), 10000, 48).write_chunk);
		EXPECT_FALSE(plan_far(read_call(size), 10000, 48).streamed);
	}
	rpcrdma_call_shape shape = read_call(70000);
	shape.reducible = false;
	EXPECT_TRUE(plan_far(shape, 10000, 48).reply_chunk);
}

TEST(planner, plan_call__distance_changes_nothing_in_version_1_D26)
{
	PlanningRules rules = far_rules();

	rules.version = kVersion1;
	rules.max_segments = RPCRDMA_MAX_SEGMENTS;
	rules.max_reply = 4096;
	EXPECT_TRUE(plan_far(write_call(70000), 10000, 48, rules).read_chunk);
}

/* ------------------------------------------------------------------ */
/* Why                                                                */
/* ------------------------------------------------------------------ */

namespace
{

/* "chunks call result", the chunks as letters. */
std::string why(const rpcrdma_call_shape &shape,
		const PlanningRules &rules = kRules)
{
	const rpcrdma_call_plan p = plan(shape, rules);
	const rpcrdma_plan_reasons r = plan_reasons(rules, shape, p);
	std::string text;

	EXPECT_EQ(p.read_chunk, (r.chunks & RPCRDMA_AVOID_READ_CHUNK) != 0);
	EXPECT_EQ(p.write_chunk, (r.chunks & RPCRDMA_AVOID_WRITE_CHUNK) != 0);
	EXPECT_EQ(p.call_chunk, (r.chunks & RPCRDMA_AVOID_CALL_CHUNK) != 0);
	EXPECT_EQ(p.reply_chunk, (r.chunks & RPCRDMA_AVOID_REPLY_CHUNK) != 0);
	text += p.read_chunk ? "R" : "";
	text += p.write_chunk ? "W" : "";
	text += p.call_chunk ? "C" : "";
	text += p.reply_chunk ? "P" : "";
	text += std::string(" ") + rpcrdma_chunk_reason_name(r.call);
	return text + " " + rpcrdma_chunk_reason_name(r.result);
}

rpcrdma_call_shape with(rpcrdma_call_shape shape, u32 avoid,
			bool reducible = true)
{
	shape.avoid = avoid;
	shape.reducible = reducible;
	return shape;
}

} // namespace

TEST(planner, plan_reasons__of_a_call)
{
	PlanningRules few = kRules;
	PlanningRules none = kRules;
	PlanningRules forbidden = kRules;

	few.max_stream = 3000;
	none.max_stream = 3000;
	none.special = false;
	forbidden.chunks = false;
	EXPECT_EQ(why(write_call(4096)), " small small");
	EXPECT_EQ(why(write_call(4097)), "R ddp-threshold small");
	EXPECT_EQ(why(with(write_call(4097), 0, false)), " not-allowed small");
	EXPECT_EQ(why(write_call(4097), forbidden), " not-allowed small");
	EXPECT_EQ(why(with(write_call(4097), RPCRDMA_AVOID_READ_CHUNK)),
		  " refused small");
	EXPECT_EQ(why(with(write_call(70000), 0, false)),
		  "C special-threshold small");
	EXPECT_EQ(why(read_call(0, 70000)), "C special-threshold small");
	EXPECT_EQ(why(with(read_call(0, 70000), RPCRDMA_AVOID_CALL_CHUNK)),
		  " refused small");
	EXPECT_EQ(why(read_call(0, 3004), few), "C credits small");
	EXPECT_EQ(why(read_call(0, 3004), none), " not-allowed small");
	EXPECT_EQ(why(write_call(3004), none), "R credits small");
	EXPECT_EQ(why(with(read_call(0), RPCRDMA_NEED_CALL_CHUNK)),
		  "C asked small");

	const PlanningRules far = far_rules();
	const rpcrdma_call_plan p = plan_far(write_call(70000), 10000, 48);
	EXPECT_STREQ(rpcrdma_chunk_reason_name(
			     plan_reasons(far, write_call(70000), p).call),
		     "round-trip");
}

TEST(planner, plan_reasons__of_a_reply)
{
	EXPECT_EQ(why(read_call(4096)), " small small");
	EXPECT_EQ(why(read_call(4097)), "W small ddp-threshold");
	EXPECT_EQ(why(with(read_call(4097), 0, false)), " small not-allowed");
	EXPECT_EQ(why(with(read_call(65537), 0, false)),
		  "P small special-threshold");
	EXPECT_EQ(why(with(read_call(4097), RPCRDMA_AVOID_WRITE_CHUNK)),
		  " small refused");
	EXPECT_EQ(why(with(read_call(0), RPCRDMA_NEED_REPLY_CHUNK)),
		  "P small asked");
	EXPECT_EQ(why(with(read_call(0), RPCRDMA_SEEN_TOO_LONG)),
		  "P small too-long");
}

TEST(planner, plan_reasons__of_version_1)
{
	PlanningRules rules = kRules;

	rules.version = kVersion1;
	rules.max_reply = 4096;
	rules.max_segments = RPCRDMA_MAX_SEGMENTS;
	EXPECT_EQ(why(write_call(500), rules), " small small");
	EXPECT_EQ(why(write_call(4097), rules), "R ddp-threshold small");
	EXPECT_EQ(why(write_call(4090), rules), "R send-size small");
	EXPECT_EQ(why(read_call(0, 5000), rules), "C send-size small");
	EXPECT_EQ(why(read_call(4097), rules), "W small ddp-threshold");
	EXPECT_EQ(why(read_call(4000), rules), "W small send-size");
	EXPECT_EQ(why(with(read_call(4000), 0, false), rules),
		  "P small send-size");
	EXPECT_EQ(why(with(read_call(100), RPCRDMA_SEEN_TOO_LONG), rules),
		  "P small too-long");
	EXPECT_EQ(why(with(write_call(4097), 0, false), rules),
		  "C send-size small");
}
