// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What a Responder makes of the directions of a Call: answers, RDMA Writes, and what is left
 * in the Payload stream. The rules of each answer are in unit_rtr_place.cpp.
 */
#include "rtr_reply.h"

#include <gtest/gtest.h>

#include <vector>

using namespace rpcrdma;

namespace
{

constexpr u32 kPage = 1024;

struct Wanted {
	u32 least;
	Placement type;
	u32 rdma_from = 0;
	std::vector<Segment> memory = {};
};

struct WantedRange {
	u32 begin;
	u32 end;
	std::vector<Wanted> items;
};

/* The Reply to a Call with these directions, with room for @targets pages in its Sends. */
struct Answered {
	Answered(const std::vector<WantedRange> &wanted,
		 const std::vector<rpcrdma_rtr_result> &results, u32 length,
		 u32 targets, const Range &rest = {})
	{
		std::vector<std::vector<Direction>> directions;
		std::vector<DirectionRange> ranges;

		for (const WantedRange &w : wanted) {
			directions.emplace_back();
			for (const Wanted &i : w.items)
				directions.back().push_back(
					{ i.least,
					  i.type,
					  i.rdma_from,
					  { i.memory.data(),
					    static_cast<u32>(
						    i.memory.size()) } });
		}
		for (u32 i = 0; i < wanted.size(); i++)
			ranges.push_back(
				{ wanted[i].begin,
				  wanted[i].end,
				  { directions[i].data(),
				    static_cast<u32>(directions[i].size()) } });
		std::vector<u8> xdr(4096);
		XdrWriter w({ xdr.data(), 4096 });
		encode_directions(
			{ ranges.data(), static_cast<u32>(ranges.size()) }, w);
		XdrReader r(Bytes(xdr.data(), w.size()));
		DirectionSets sets;
		EXPECT_TRUE(sets.decode(r));
		EXPECT_TRUE(ranges_valid(sets));
		ok = answer_reply(
			sets,
			{ results.data(), static_cast<u32>(results.size()) },
			rest, length, { targets, kPage }, out, plan);
	}
	[[nodiscard]] std::vector<Placement> types() const
	{
		std::vector<Placement> t;

		for (u32 i = 0; i < out.count; i++)
			t.push_back(items[i].type);
		return t;
	}

	PlacedItem items[kMostItems] = {};
	ReplyItems out = { items };
	rpcrdma_reply_plan plan = {};
	bool ok = false;
};

using Types = std::vector<Placement>;

rpcrdma_rtr_result result(u32 offset, u32 length,
			  u32 cause = RPCRDMA_RTR_NOWHERE)
{
	return { { offset, length }, cause };
}

} // namespace

TEST(rtr_reply, by_sends)
{
	const Answered a({ { 0, 100, { { 100, Placement::Tbsn } } } },
			 { result(64, 2 * kPage + 1) }, 64 + 2 * kPage + 4 + 8,
			 3);

	ASSERT_TRUE(a.ok);
	EXPECT_EQ(a.types(), Types{ Placement::Tbsn });
	EXPECT_EQ(a.out.placed, 1u);
	EXPECT_EQ(a.plan.stream_length, 72u);
	ASSERT_EQ(a.plan.n_removed, 1u);
	EXPECT_EQ(a.plan.removed[0].offset, 64u);
	EXPECT_EQ(a.plan.removed[0].length, 2 * kPage + 4);
	EXPECT_EQ(a.plan.n_jobs, 0u);
}

/* As much of the memory as the item needs, and no more is returned. */
TEST(rtr_reply, by_explicit_rdma)
{
	const std::vector<Segment> memory = { { 7, 0, 1000 },
					      { 8, 100, 2000 },
					      { 9, 50, 3000 },
					      { 10, 50, 4000 } };
	const Answered a({ { 0, 100, { { 0, Placement::Exrw, 0, memory } } } },
			 { result(64, 110) }, 64 + 112, 100);

	ASSERT_TRUE(a.ok);
	EXPECT_EQ(a.types(), Types{ Placement::Exrw });
	EXPECT_EQ(a.out.placed, 0u);
	EXPECT_EQ(a.plan.stream_length, 64u);
	ASSERT_EQ(a.items[0].segments.size(), 2u);
	ASSERT_EQ(a.plan.n_jobs, 2u);
	EXPECT_EQ(a.plan.jobs[0].source.offset, 64u);
	EXPECT_EQ(a.plan.jobs[0].source.length, 100u);
	EXPECT_EQ(a.plan.jobs[0].target.handle, 8u);
	EXPECT_EQ(a.plan.jobs[0].target.offset, 2000u);
	EXPECT_EQ(a.plan.jobs[1].source.offset, 164u);
	EXPECT_EQ(a.plan.jobs[1].source.length, 10u);
	EXPECT_EQ(a.plan.jobs[1].target.handle, 9u);
	EXPECT_EQ(a.items[0].segments[1].length, 10u);
}

TEST(rtr_reply, memory_that_is_too_small)
{
	const Answered a(
		{ { 0,
		    100,
		    { { 0, Placement::Tbsn },
		      { 0, Placement::Exrw, 0, { { 7, 15, 0 } } } } } },
		{ result(64, 16), result(100, 16) }, 116, 100);

	ASSERT_TRUE(a.ok);
	EXPECT_EQ(a.plan.errcode, u32{ RPCRDMA2_ERR_WRITE_RESOURCE });
	EXPECT_EQ(a.plan.index, 2u);
	EXPECT_EQ(a.plan.needed, 16u);
}

/* An ERROR has one of them. */
TEST(rtr_reply, memory_that_is_too_small_twice)
{
	const Wanted small = { 0, Placement::Exrw, 0, { { 7, 4, 0 } } };
	const Answered a({ { 0, 100, { small, small } } },
			 { result(64, 8), result(100, 12) }, 112, 100);

	ASSERT_TRUE(a.ok);
	EXPECT_EQ(a.plan.errcode, u32{ RPCRDMA2_ERR_WRITE_RESOURCE });
	EXPECT_EQ(a.plan.index, 1u);
	EXPECT_EQ(a.plan.needed, 8u);
}

TEST(rtr_reply, memory_of_too_many_segments)
{
	const auto answered = [](u32 segments) {
		const std::vector<Segment> memory(segments, { 7, 4, 0 });

		return Answered(
			{ { 0, 9, { { 0, Placement::Exrw, 0, memory } } } },
			{ result(64, 4 * segments) }, 64 + 4 * segments, 0);
	};

	EXPECT_TRUE(answered(RPCRDMA_MAX_SEGMENTS).ok);
	EXPECT_FALSE(answered(RPCRDMA_MAX_SEGMENTS + 1).ok);
}

/* Those that are too many stay in the Payload stream. */
TEST(rtr_reply, more_results_than_items)
{
	std::vector<rpcrdma_rtr_result> results;

	for (u32 i = 0; i <= kMostItems; i++)
		results.push_back(result(8 * (i + 1), 8));
	const Answered a(
		{ { 0,
		    9,
		    std::vector<Wanted>(kMostItems, { 0, Placement::Tbsn }) } },
		results, 8 * (kMostItems + 2), 100);

	ASSERT_TRUE(a.ok);
	EXPECT_EQ(a.out.placed, kMostItems);
	EXPECT_EQ(a.plan.stream_length, 16u);
}

/* What finds no room goes by RDMA if it may, and else stays where it is. */
TEST(rtr_reply, several_items)
{
	const std::vector<Segment> memory = { { 7, 5 * kPage, 0 } };
	const std::vector<WantedRange> all = {
		{ 0, 40, { { 0, Placement::Tbsn }, { 0, Placement::Tbsn } } },
		{ 40,
		  80,
		  { { 0, Placement::Choice, 0, memory },
		    { 0, Placement::BySize, 100, memory },
		    { 0, Placement::Tbsn } } },
	};
	const std::vector<rpcrdma_rtr_result> results = {
		result(40, 2 * kPage, 12),
		result(2200, kPage, 40),
		result(3300, 200, 60),
		result(3600, kPage, 70),
	};
	const Answered much(all, results, 5000, 4);
	const Answered little(all, results, 5000, 2);

	ASSERT_TRUE(much.ok);
	EXPECT_EQ(much.types(),
		  (Types{ Placement::Tbsn, Placement::NoItem, Placement::Tbsn,
			  Placement::Exrw, Placement::Tbsn }));
	EXPECT_EQ(much.plan.n_removed, 4u);
	EXPECT_EQ(much.plan.stream_length, 5000 - 4 * kPage - 200);
	EXPECT_EQ(much.out.placed, 3u);
	EXPECT_EQ(much.items[0].position, 40u);
	EXPECT_EQ(much.items[4].position, 3600u);

	ASSERT_TRUE(little.ok);
	EXPECT_EQ(little.types(),
		  (Types{ Placement::Tbsn, Placement::NoItem, Placement::Exrw,
			  Placement::Exrw, Placement::TooShort }));
	EXPECT_EQ(little.plan.n_jobs, 2u);
}

/* It is of a range that has all in it where its cause may be. */
TEST(rtr_reply, of_an_unknown_operation)
{
	const std::vector<Wanted> one = { { 0, Placement::Tbsn } };
	const auto types = [&](const std::vector<WantedRange> &ranges,
			       const Range &rest) {
		const Answered a(ranges, { result(40, kPage) }, 40 + kPage, 9,
				 rest);

		EXPECT_TRUE(a.ok);
		EXPECT_EQ(a.plan.stream_length + kPage * a.out.placed,
			  40 + kPage);
		return a.types();
	};
	const WantedRange first = { 0, 40, one };
	const WantedRange second = { 40, 80, one };

	EXPECT_EQ(types({ second }, { 40, 40 }), Types{ Placement::Tbsn });
	EXPECT_EQ(types({ second }, { 36, 44 }), Types{ Placement::NoItem });
	EXPECT_EQ(types({ second }, { 40, 44 }), Types{ Placement::NoItem });
	EXPECT_EQ(types({ second }, { 40, UINT32_MAX }),
		  Types{ Placement::NoItem });
	EXPECT_EQ(types({ first, second }, { 44, 36 }),
		  (Types{ Placement::NoItem, Placement::Tbsn }));
	EXPECT_EQ(types({ first, second }, { 36, 44 }),
		  (Types{ Placement::NoItem, Placement::NoItem }));
}

/* The directions are about the second READ, behind an operation that is not known. */
TEST(rtr_reply, another_item_keeps_its_place)
{
	const std::vector<Segment> memory = { { 7, 100, 0 } };
	const Answered a({ { 80, 120, { { 0, Placement::Exrw, 0, memory } } } },
			 { result(40, kPage), result(40 + kPage, 100) },
			 140 + kPage, 9, { 20, 100 });

	ASSERT_TRUE(a.ok);
	EXPECT_EQ(a.types(), Types{ Placement::NoItem });
	EXPECT_EQ(a.plan.errcode, u32{ RPCRDMA2_ERR_NONE });
	EXPECT_EQ(a.plan.n_jobs, 0u);
}

/* What is not as an item is has no answer, and more directions than this have none at all. */
TEST(rtr_reply, what_cannot_be)
{
	const std::vector<Wanted> two = { { 0, Placement::Tbsn },
					  { 0, Placement::Tbsn } };
	const Answered odd({ { 0, 9, two } },
			   { result(0, 8), result(42, 8), result(60, 8),
			     result(64, 8), result(96, 8) },
			   100, 9);
	const Answered many(
		{ { 0, 9, std::vector<Wanted>(kMostItems + 1, two[0]) } }, {},
		100, 9);

	ASSERT_TRUE(odd.ok);
	EXPECT_EQ(odd.types(), (Types{ Placement::Tbsn, Placement::NoItem }));
	EXPECT_EQ(odd.items[0].position, 60u);
	EXPECT_FALSE(many.ok);
}
