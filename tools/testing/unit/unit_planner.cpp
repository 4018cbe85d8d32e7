// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "planner.h"
#include "xdr.h"

#include <random>

using namespace rpcrdma;

namespace
{

constexpr PlanningRules kRules = { 4096, true };

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
	return { 120 + u32(xdr_roundup(length)) + 16,
		 { 120, length },
		 0,
		 true,
		 true };
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
			 std::vector<Range> results)
{
	rpcrdma_reply_plan p;

	std::memset(&p, 0xee, sizeof(p));
	plan_reply(call, length, { results.data(), u32(results.size()) }, p);
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

TEST(planner, plan_call__results)
{
	rpcrdma_call_shape shape = { 160, {}, 4096, true, true };

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
		const rpcrdma_call_plan p = plan(s, rules);
		EXPECT_FALSE(p.read_chunk);
		EXPECT_FALSE(p.write_chunk);
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

TEST(planner, plan_reply__what_it_returns_is_what_a_client_accepts)
{
	std::mt19937 random(7);

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
		const Chunks call = writes(offered);
		const auto p = reply(call, length, results);

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
		for (u32 i = 0; i < p.n_jobs; i++) {
			ASSERT_EQ(p.jobs[i].source.length,
				  p.jobs[i].target.length);
			in_chunks -= p.jobs[i].source.length;
		}
		ASSERT_EQ(in_chunks, 0u);
	}
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
