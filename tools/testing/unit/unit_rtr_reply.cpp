// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What a Responder makes of the directions of a Call: answers, RDMA Writes, and what is left
 * in the Payload stream. The rules of each answer are in unit_rtr_place.cpp.
 */
#include "rtr_reply.h"

#include <gtest/gtest.h>

#include <algorithm>
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

namespace
{

constexpr Segment kOffered[] = { { 7, 100, 0x1000 }, { 8, 300, 0x2000 } };
constexpr u32 kLeast = 50;
constexpr u32 kItem = 200;

/* A Requester that may have memory registered for the one item of its Reply. */
struct Requester {
	explicit Requester(Placement type)
		: direction{ kLeast, type, kItem + 1, {} }
	{
		if (type != Placement::Tbsn)
			direction.segments = kOffered;
		for (const Segment &s : direction.segments)
			registered.push_back(s.handle);
	}
	/* The RPC has its Reply, and this is in it. Return: it is an answer. */
	bool answered(const PlacedItem &item)
	{
		const DirectionRange range = { 0, 100, { &direction, 1 } };
		std::vector<u8> xdr(256);
		XdrWriter w({ xdr.data(), 256 });
		MessageItems items;

		encode_items({ &item, 1 }, w);
		XdrReader r(Bytes(xdr.data(), w.size()));
		EXPECT_TRUE(items.decode(r));
		/* Whatever it is: nobody may write there any more. */
		given_back.swap(registered);
		return answers_valid(items, { &range, 1 });
	}
	[[nodiscard]] bool has(u32 handle) const
	{
		return std::find(registered.begin(), registered.end(),
				 handle) != registered.end();
	}

	Direction direction;
	std::vector<u32> registered;
	std::vector<u32> given_back;
};

/* What a Responder answers, if the result has this length and there is room for @targets pages. */
Answered respond(const Requester &to, u32 length, u32 targets)
{
	const Direction &d = to.direction;
	std::vector<rpcrdma_rtr_result> results;

	if (length)
		results.push_back(result(64, length));
	return { { { 0,
		     100,
		     { { d.least, d.type, d.rdma_from,
			 { d.segments.begin(), d.segments.end() } } } } },
		 results, 400, targets };
}

} // namespace

/*
 * Table 2, cell by cell. All that was registered is given back when the Reply has come, and not
 * before: RDMA Writes are to memory that is still there. That is so too where the table has NDR
 * and memory was offered: there nothing was written, but the peer knows the handles.
 */
TEST(rtr_reply, table2__what_memory_is_given_back)
{
	constexpr Placement kRows[] = { Placement::Exrw, Placement::Tbsn,
					Placement::Choice, Placement::BySize };
	constexpr Placement kColumns[] = { Placement::Exrw, Placement::Tbsn,
					   Placement::TooShort,
					   Placement::NoItem };
	enum class Cell { Inv, Ndr, Dr };
	constexpr Cell kPrinted[4][4] = {
		{ Cell::Dr, Cell::Inv, Cell::Dr, Cell::Dr },
		{ Cell::Inv, Cell::Ndr, Cell::Ndr, Cell::Ndr },
		{ Cell::Dr, Cell::Ndr, Cell::Dr, Cell::Dr },
		{ Cell::Dr, Cell::Ndr, Cell::Dr, Cell::Dr },
	};
	/* What leads to each: the length of the result, and room for it in Sends. */
	constexpr struct {
		u32 length;
		u32 targets;
	} kCauses[] = {
		{ kItem, 0 }, { kItem, 1 }, { kLeast - 1, 1 }, { 0, 1 }
	};

	for (u32 row = 0; row < 4; row++) {
		for (u32 column = 0; column < 4; column++) {
			const Cell printed = kPrinted[row][column];
			const auto &[length, targets] = kCauses[column];
			Requester requester(kRows[row]);
			const bool offers = kRows[row] != Placement::Tbsn;
			const Answered a = respond(requester, length, targets);

			SCOPED_TRACE(testing::Message()
				     << row << " " << column);
			ASSERT_TRUE(a.ok);
			EXPECT_EQ(a.plan.errcode, u32{ RPCRDMA2_ERR_NONE });
			ASSERT_EQ(a.out.count, 1u);
			PlacedItem item = a.items[0];
			EXPECT_EQ(item.type == kColumns[column],
				  printed != Cell::Inv);
			for (u32 i = 0; i < a.plan.n_jobs; i++)
				EXPECT_TRUE(requester.has(
					a.plan.jobs[i].target.handle));
			EXPECT_EQ(a.plan.n_jobs,
				  item.type == Placement::Exrw ? 2u : 0u);
			/* One that no Responder of ours sends. */
			if (printed == Cell::Inv)
				item = { .position = 64,
					 .length = kItem,
					 .type = kColumns[column],
					 .segments = {} };
			EXPECT_EQ(requester.registered.size(),
				  offers ? 2u : 0u);
			EXPECT_EQ(requester.answered(item),
				  printed != Cell::Inv);
			EXPECT_TRUE(requester.registered.empty());
			EXPECT_EQ(requester.given_back,
				  offers ? (std::vector<u32>{ 7, 8 }) :
					   std::vector<u32>{});
			/* The table agrees, but for these two. */
			if (printed != Cell::Inv &&
			    !(row >= 2 && kColumns[column] == Placement::Tbsn))
				EXPECT_EQ(!requester.given_back.empty(),
					  printed == Cell::Dr);
		}
	}
}
