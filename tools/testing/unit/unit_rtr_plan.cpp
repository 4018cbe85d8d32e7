// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How a message is divided into the Sends of a group. That what is sent is what arrives is
 * in ../extension/unit_rtr_loopback.cpp.
 */
#include "rtr_plan.h"

#include <gtest/gtest.h>

#include <vector>

using namespace rpcrdma;

namespace
{

constexpr u32 kSend = 512 + 2 * 1024;

ReceiveShape shape()
{
	ReceiveShape s;

	EXPECT_TRUE(s.add({ 1, 512, 4, false }));
	EXPECT_TRUE(s.add({ 2, 1024, 1024, true }));
	return s;
}

PlacedItem placed(u32 position, u32 length)
{
	PlacedItem i;

	i.position = position;
	i.length = length;
	i.type = Placement::Tbsn;
	return i;
}

struct Planned {
	bool made;
	GroupPlan plan;
	std::vector<PlacedItem> items;

	/* Octets of items in Send @n. */
	[[nodiscard]] u32 octets(u32 n) const
	{
		u32 sum = 0;

		EXPECT_TRUE(plan.each_piece(
			{ items.data(), static_cast<u32>(items.size()) }, n,
			[&](u32, const ItemPiece &p) {
				sum += p.in.length;
				return true;
			}));
		return sum;
	}
};

Planned plan(u32 stream, const std::vector<PlacedItem> &items = {},
	     const ReceiveShape &s = shape(), u32 max_send = kSend)
{
	Planned p = { false, {}, items };

	p.made = p.plan.make(
		{ RPCRDMA_CALL,
		  stream,
		  { p.items.data(), static_cast<u32>(p.items.size()) },
		  {} },
		targets_of(shape_number(s)), max_send);
	return p;
}

} // namespace

TEST(rtr_plan, make__one_send)
{
	const Planned p = plan(40);

	ASSERT_TRUE(p.made);
	EXPECT_EQ(p.plan.count(), 1u);
	EXPECT_EQ(p.plan.send(0).head, kXmtReqBare);
	EXPECT_EQ(p.plan.send(0).size, kXmtReqBare + 40);
}

/* All but the last are full, and there is no more than it takes. */
TEST(rtr_plan, make__a_stream_of_any_length)
{
	const u32 first = kSend - kXmtReqBare;
	const u32 next = kSend - kXmtContSize;

	EXPECT_EQ(plan(first).plan.count(), 1u);
	EXPECT_EQ(plan(first + 4).plan.count(), 2u);
	EXPECT_EQ(plan(first + next).plan.count(), 2u);
	const Planned p = plan(first + 2 * next + 4);
	ASSERT_EQ(p.plan.count(), 4u);
	EXPECT_EQ(p.plan.send(1).size, kSend);
	EXPECT_EQ(p.plan.send(3).payload.offset, first + 2 * next);
	EXPECT_EQ(p.plan.send(3).payload.length, 4u);
	EXPECT_TRUE(plan(first + 15 * next).made);
	EXPECT_FALSE(plan(first + 15 * next + 4).made);
	EXPECT_FALSE(plan(0).made);
	EXPECT_FALSE(plan(42).made);
}

TEST(rtr_plan, make__an_item_in_the_first_send)
{
	const Planned p = plan(40, { placed(36, 1500) });

	ASSERT_EQ(p.plan.count(), 1u);
	EXPECT_EQ(p.items[0].first, 0u);
	EXPECT_EQ(p.items[0].numbers, 2u);
	EXPECT_EQ(p.plan.send(0).size, 512u + 1500);
	EXPECT_EQ(p.octets(0), 1500u);
}

/* It begins in the first target that payload leaves free. */
TEST(rtr_plan, make__behind_the_payload)
{
	const u32 head = kXmtReqBare + 5 * 4 + 4;

	EXPECT_EQ(plan(512 - head, { placed(36, 8) }).items[0].first, 0u);
	EXPECT_EQ(plan(516 - head, { placed(36, 8) }).items[0].first, 1u);
	EXPECT_EQ(plan(512 + 1024 - head, { placed(36, 8) }).items[0].first,
		  1u);
	EXPECT_EQ(plan(516 + 1024 - head, { placed(36, 8) }).items[0].first,
		  2u);
	EXPECT_EQ(plan(kSend, { placed(36, 8) }).items[0].first, 2u);
}

TEST(rtr_plan, make__items_go_on_in_further_sends)
{
	const Planned p = plan(40, { placed(8, 1024), placed(1036, 2500) });

	ASSERT_EQ(p.plan.count(), 2u);
	EXPECT_EQ(p.items[1].first, 1u);
	EXPECT_EQ(p.items[1].numbers, 3u);
	EXPECT_EQ(p.octets(0), 2048u);
	EXPECT_EQ(p.octets(1), 1024u + 452);
	EXPECT_EQ(p.plan.send(0).size, kSend);
	EXPECT_EQ(p.plan.send(1).payload.length, 0u);
	EXPECT_EQ(p.plan.send(1).size, 512u + 1024 + 452);
}

TEST(rtr_plan, make__an_item_of_nothing)
{
	const Planned p = plan(40, { placed(36, 0) });

	ASSERT_TRUE(p.made);
	EXPECT_EQ(p.items[0].numbers, 0u);
	EXPECT_EQ(p.plan.send(0).size, p.plan.send(0).head + 40);
}

TEST(rtr_plan, make__without_targets)
{
	EXPECT_FALSE(plan(40, { placed(36, 8) }, {}).made);
	EXPECT_FALSE(plan(40, { placed(36, 8) }, shape_of(kOtherShape)).made);
	EXPECT_TRUE(plan(40, {}, {}).made);
}

/* Nor those that headers are in. */
TEST(rtr_plan, make__targets_that_a_send_does_not_reach)
{
	ReceiveShape early;

	EXPECT_TRUE(early.add({ 1, 16, 4, false }));
	EXPECT_TRUE(early.add({ 2, 1024, 4, true }));
	EXPECT_FALSE(plan(40, { placed(36, 8) }, shape(), kSend - 4).made);
	EXPECT_FALSE(plan(40, { placed(36, 8) }, early, kSend).made);
}

TEST(rtr_plan, make__more_targets_than_a_group_has)
{
	const u32 most = kMostTargets * 1024 / 2;

	EXPECT_FALSE(plan(40, { placed(36, most), placed(36 + most, most + 1) })
			     .made);
}

TEST(rtr_plan, each_piece__until_it_is_told_to_end)
{
	const Planned p = plan(40, { placed(36, 2048) });
	u32 pieces = 0;

	ASSERT_TRUE(p.made);
	EXPECT_FALSE(
		p.plan.each_piece({ p.items.data(), 1 }, 0,
				  [&](u32, const ItemPiece &) {
					  pieces++;
					  return false;
				  }));
	EXPECT_EQ(pieces, 1u);
}

TEST(rtr_plan, stream_is_in_first__if_it_is_in_one_send)
{
	const u32 largest = kSend - plan(40).plan.send(0).head;

	EXPECT_TRUE(plan(largest).plan.stream_is_in_first(UINT32_MAX));
	EXPECT_FALSE(plan(largest + 4).plan.stream_is_in_first(UINT32_MAX));
	EXPECT_FALSE(plan(largest).plan.stream_is_in_first(kSend - 4));
}

TEST(rtr_plan, make__a_header_that_is_too_large)
{
	static constexpr Segment kMemory[64] = {};
	PlacedItem item;

	item.type = Placement::Exrw;
	item.segments = kMemory;
	EXPECT_TRUE(plan(40, { item }).made);
	EXPECT_FALSE(plan(40, { item }, shape(), 1024).made);
}

/* What is asked for each time before it is sent, instead of being made again. */
TEST(rtr_plan, holds__until_what_it_was_made_for_changes)
{
	const Targets t = targets_of(shape_number(shape()));
	const Planned p = plan(40, { placed(36, 8) });

	ASSERT_TRUE(p.made);
	EXPECT_TRUE(p.plan.holds(40, t, kSend));
	EXPECT_FALSE(p.plan.holds(44, t, kSend));
	EXPECT_FALSE(p.plan.holds(40, t, kSend - 4));
	EXPECT_FALSE(
		p.plan.holds(40, { t.count + 1, t.before, t.size }, kSend));
	EXPECT_FALSE(
		p.plan.holds(40, { t.count, t.before + 4, t.size }, kSend));
	EXPECT_FALSE(
		p.plan.holds(40, { t.count, t.before, 2 * t.size }, kSend));
	EXPECT_FALSE(GroupPlan().holds(40, t, kSend));
}

TEST(rtr_plan, holds__nothing_that_could_not_be_made)
{
	const Targets t = targets_of(shape_number(shape()));
	const Planned large = plan(kMostSends * kSend);

	EXPECT_FALSE(large.made);
	EXPECT_EQ(large.plan.count(), 0u);
	EXPECT_FALSE(large.plan.holds(kMostSends * kSend, t, kSend));
	/* The last one would be too much. */
	const Planned data =
		plan(40, { placed(36, (2 * kMostSends + 1) * 1024) });
	EXPECT_FALSE(data.made);
	EXPECT_EQ(data.plan.count(), 0u);
}
