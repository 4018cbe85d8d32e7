// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "registration.h"

#include <random>
#include <set>

using namespace rpcrdma::registration;

namespace
{

constexpr u32 kKey = 0x1234;

/* A table of one slot, brought into @state through its public calls. */
struct One {
	Slot slot = {};
	Table table = {};

	explicit One(u32 state)
	{
		init(table, &slot, 1);
		if (state == RPCRDMA_MR_NONE)
			return;
		EXPECT_TRUE(add(table, 0));
		if (state == RPCRDMA_MR_FREE)
			return;
		EXPECT_EQ(take(table), 0);
		if (state == RPCRDMA_MR_HELD)
			return;
		if (state == RPCRDMA_MR_LOST) {
			EXPECT_TRUE(event(table, 0, RPCRDMA_MR_LOSE, 0));
			return;
		}
		EXPECT_TRUE(event(table, 0, RPCRDMA_MR_POST, kKey));
		if (state == RPCRDMA_MR_INVALIDATING)
			EXPECT_TRUE(
				event(table, 0, RPCRDMA_MR_LOCAL_INV, kKey));
	}
};

/* The free list, the counts and the states tell the same story. */
void expect_consistent(const Table &t)
{
	EXPECT_TRUE(invariants(t));

	u32 count[RPCRDMA_MR_STATES] = {};
	std::set<u32> free;
	u32 before = kEnd;

	for (u32 i = 0; i < t.capacity; i++)
		count[t.slots[i].state]++;
	for (u32 s = 0; s < RPCRDMA_MR_STATES; s++)
		ASSERT_EQ(count[s], t.count[s]) << s;
	for (u32 i = t.free_head; i != kEnd; i = t.slots[i].next) {
		ASSERT_LT(i, t.capacity);
		ASSERT_TRUE(free.insert(i).second) << "a loop";
		ASSERT_EQ(t.slots[i].state, RPCRDMA_MR_FREE);
		ASSERT_EQ(t.slots[i].handle, before);
		before = i;
	}
	ASSERT_EQ(free.size(), t.count[RPCRDMA_MR_FREE]);
}

} // namespace

TEST(registration, event__every_state_and_event)
{
	/* The picture in regions.h, once more and by hand. */
	const auto want = [](u32 state, u32 event) -> u32 {
		if (event == RPCRDMA_MR_LOSE && state != RPCRDMA_MR_NONE)
			return RPCRDMA_MR_LOST;
		if (state == RPCRDMA_MR_HELD && event == RPCRDMA_MR_POST)
			return RPCRDMA_MR_ACTIVE;
		if (state == RPCRDMA_MR_ACTIVE &&
		    event == RPCRDMA_MR_REMOTE_INV)
			return RPCRDMA_MR_HELD;
		if (state == RPCRDMA_MR_ACTIVE && event == RPCRDMA_MR_LOCAL_INV)
			return RPCRDMA_MR_INVALIDATING;
		if (state == RPCRDMA_MR_INVALIDATING &&
		    event == RPCRDMA_MR_INV_DONE)
			return RPCRDMA_MR_HELD;
		return RPCRDMA_MR_NONE;
	};

	for (u32 state = 0; state < RPCRDMA_MR_STATES; state++)
		for (u32 e = 0; e < RPCRDMA_MR_EVENTS; e++) {
			One one(state);
			const u32 next = want(state, e);

			EXPECT_EQ(next_state(state, e), next);
			ASSERT_EQ(one.slot.state, state);
			EXPECT_EQ(event(one.table, 0, e, kKey),
				  next != RPCRDMA_MR_NONE)
				<< state << " " << e;
			EXPECT_EQ(one.slot.state,
				  next != RPCRDMA_MR_NONE ? next : state);
			expect_consistent(one.table);
		}
}

TEST(registration, next_state__out_of_range)
{
	EXPECT_EQ(next_state(RPCRDMA_MR_STATES, 0), u32{ RPCRDMA_MR_NONE });
	EXPECT_EQ(next_state(0, RPCRDMA_MR_EVENTS), u32{ RPCRDMA_MR_NONE });
	EXPECT_EQ(next_state(UINT32_MAX, UINT32_MAX), u32{ RPCRDMA_MR_NONE });
}

TEST(registration, event__another_handle)
{
	for (u32 e : { RPCRDMA_MR_REMOTE_INV, RPCRDMA_MR_LOCAL_INV }) {
		One one(RPCRDMA_MR_ACTIVE);

		EXPECT_FALSE(event(one.table, 0, e, kKey + 1));
		EXPECT_EQ(one.slot.state, RPCRDMA_MR_ACTIVE);
	}
	One one(RPCRDMA_MR_INVALIDATING);
	EXPECT_FALSE(event(one.table, 0, RPCRDMA_MR_INV_DONE, kKey + 1));
	EXPECT_TRUE(event(one.table, 0, RPCRDMA_MR_LOSE, kKey + 1));
}

TEST(registration, event__post_sets_the_handle)
{
	One one(RPCRDMA_MR_HELD);

	EXPECT_TRUE(event(one.table, 0, RPCRDMA_MR_POST, 77));
	EXPECT_EQ(one.slot.handle, 77u);
	EXPECT_TRUE(event(one.table, 0, RPCRDMA_MR_REMOTE_INV, 77));
	/* Used again, under a new key. */
	EXPECT_TRUE(event(one.table, 0, RPCRDMA_MR_POST, 78));
	EXPECT_FALSE(event(one.table, 0, RPCRDMA_MR_REMOTE_INV, 77));
}

TEST(registration, event__index_out_of_range)
{
	One one(RPCRDMA_MR_ACTIVE);

	for (u32 index : { 1u, 65535u, UINT32_MAX }) {
		EXPECT_FALSE(event(one.table, index, RPCRDMA_MR_LOSE, kKey));
		EXPECT_FALSE(add(one.table, index));
		EXPECT_FALSE(put(one.table, index));
	}
}

TEST(registration, put__only_held)
{
	for (u32 state = 0; state < RPCRDMA_MR_STATES; state++) {
		One one(state);

		EXPECT_EQ(put(one.table, 0), state == RPCRDMA_MR_HELD) << state;
		expect_consistent(one.table);
	}
}

TEST(registration, add__only_an_empty_slot)
{
	for (u32 state = 0; state < RPCRDMA_MR_STATES; state++) {
		One one(state);

		EXPECT_EQ(add(one.table, 0), state == RPCRDMA_MR_NONE) << state;
		expect_consistent(one.table);
	}
}

TEST(registration, take__exhausted)
{
	One one(RPCRDMA_MR_HELD);

	EXPECT_EQ(take(one.table), -1);
	EXPECT_TRUE(put(one.table, 0));
	EXPECT_EQ(take(one.table), 0);
}

TEST(registration, event__lost_from_the_middle_of_the_free_list)
{
	Slot slots[5];
	Table t;

	init(t, slots, 5);
	for (u32 i = 0; i < 5; i++)
		ASSERT_TRUE(add(t, i));
	for (u32 i : { 2u, 4u, 0u }) {
		EXPECT_TRUE(event(t, i, RPCRDMA_MR_LOSE, 0));
		expect_consistent(t);
	}
	EXPECT_EQ(take(t), 3);
	EXPECT_EQ(take(t), 1);
	EXPECT_EQ(take(t), -1);
}

/* What somebody uses is never taken away, nor what is lost. */
TEST(registration, remove__only_free)
{
	for (u32 state = 0; state < RPCRDMA_MR_STATES; state++) {
		One one(state);

		EXPECT_EQ(remove(one.table, 1), -1) << state;
		EXPECT_EQ(remove(one.table, 0),
			  state == RPCRDMA_MR_FREE ? 0 : -1)
			<< state;
		EXPECT_EQ(one.slot.state == RPCRDMA_MR_NONE,
			  state == RPCRDMA_MR_NONE || state == RPCRDMA_MR_FREE);
		expect_consistent(one.table);
	}
}

TEST(registration, remove__leaves_as_many_as_are_kept)
{
	Slot slots[5];
	Table t;

	init(t, slots, 5);
	for (u32 i = 0; i < 5; i++)
		ASSERT_TRUE(add(t, i));
	const s32 first = take(t);
	EXPECT_GE(remove(t, 3), 0);
	EXPECT_GE(remove(t, 3), 0);
	EXPECT_EQ(remove(t, 3), -1);
	EXPECT_EQ(t.count[RPCRDMA_MR_FREE], 2u);
	EXPECT_TRUE(put(t, static_cast<u32>(first)));
	EXPECT_EQ(remove(t, 3), -1);
	EXPECT_EQ(t.count[RPCRDMA_MR_FREE], 3u);

	/* There is room for others, and all can be taken. */
	u32 added = 0;
	for (u32 i = 0; i < 5; i++)
		added += add(t, i);
	EXPECT_EQ(added, 2u);
	expect_consistent(t);
	for (u32 i = 0; i < 5; i++)
		EXPECT_GE(take(t), 0);
}

TEST(registration, remove__begins_with_what_was_free_for_longest)
{
	Slot slots[4];
	Table t;

	init(t, slots, 4);
	for (u32 i = 0; i < 4; i++)
		ASSERT_TRUE(add(t, i));
	const u32 used = static_cast<u32>(take(t));
	ASSERT_TRUE(put(t, used));
	for (u32 keep = 3; keep; keep--)
		EXPECT_NE(remove(t, keep), static_cast<s32>(used));
	EXPECT_EQ(remove(t, 0), static_cast<s32>(used));
	expect_consistent(t);
}

TEST(registration, rested__counts_what_was_in_use_at_once)
{
	Slot slots[4];
	Table t;
	u32 index[3];

	init(t, slots, 4);
	for (u32 i = 0; i < 4; i++)
		ASSERT_TRUE(add(t, i));
	EXPECT_TRUE(rested(t, 0));
	/* One after the other is one at once. */
	for (u32 i = 0; i < 3; i++)
		ASSERT_TRUE(put(t, static_cast<u32>(take(t))));
	EXPECT_FALSE(rested(t, 0));
	EXPECT_TRUE(rested(t, 0)) << "that was before";
	for (u32 &i : index)
		i = static_cast<u32>(take(t));
	ASSERT_TRUE(put(t, index[0]));
	EXPECT_FALSE(rested(t, 2)) << "there were three";
	EXPECT_FALSE(rested(t, 1)) << "there are two";
	EXPECT_TRUE(rested(t, 2));
}

TEST(registration, init__capacity_zero_and_too_large)
{
	Table t;
	std::vector<Slot> slots(70000);

	init(t, nullptr, 0);
	EXPECT_EQ(take(t), -1);
	init(t, slots.data(), 70000);
	EXPECT_EQ(t.capacity, 65534u);
	for (u32 i = 0; i < t.capacity; i++)
		ASSERT_TRUE(add(t, i));
	for (u32 i = 0; i < t.capacity; i++)
		ASSERT_GE(take(t), 0);
	EXPECT_EQ(take(t), -1);
}

TEST(registration, invariants__fail_if_the_table_was_damaged)
{
	void (*const damages[])(Table & t) = {
		/* Of 4 slots 0 is held, 2 and 1 are free, and 3 has no region. */
		[](Table &t) { t.count[RPCRDMA_MR_HELD]++; },
		[](Table &t) { t.slots[0].state = RPCRDMA_MR_ACTIVE; },
		[](Table &t) { t.slots[0].state = RPCRDMA_MR_STATES; },
		[](Table &t) { t.slots[0].state = RPCRDMA_MR_FREE; },
		[](Table &t) { t.slots[1].state = RPCRDMA_MR_HELD; },
		[](Table &t) { t.slots[0].next = 2; },
		[](Table &t) { t.slots[3].next = 2; },
		[](Table &t) { t.slots[1].next = 2; },
		[](Table &t) { t.slots[2].next = kEnd; },
		[](Table &t) { t.slots[2].next = 4; },
		[](Table &t) { t.slots[1].handle = 0; },
		[](Table &t) { t.free_head = 1; },
		[](Table &t) { t.free_head = kEnd; },
		[](Table &t) { t.free_head = 4; },
		/* One more is free than is in the list. */
		[](Table &t) {
			t.slots[3].state = RPCRDMA_MR_FREE;
			t.count[RPCRDMA_MR_NONE]--;
			t.count[RPCRDMA_MR_FREE]++;
		},
	};

	for (const auto &damage : damages) {
		Slot slots[4];
		Table t;

		init(t, slots, 4);
		ASSERT_TRUE(add(t, 1));
		ASSERT_TRUE(add(t, 2));
		ASSERT_TRUE(add(t, 0));
		ASSERT_EQ(take(t), 0);
		expect_consistent(t);
		damage(t);
		EXPECT_FALSE(invariants(t)) << &damage - damages;
	}
}

TEST(registration, random__walk_stays_consistent)
{
	std::mt19937 random(1);
	Slot slots[9];
	Table t;

	for (u32 step = 0; step < 50000; step++) {
		const u32 i = random() % 9;

		/* What is lost stays so. */
		if (step % 100 == 0)
			init(t, slots, 9);
		switch (random() % 6) {
		case 5:
			(void)remove(t, random() % 9);
			break;
		case 0:
			(void)add(t, i);
			break;
		case 1: {
			const s32 got = take(t);
			if (got >= 0)
				ASSERT_EQ(slots[got].state, RPCRDMA_MR_HELD);
			break;
		}
		case 2:
			(void)put(t, i);
			break;
		default:
			(void)event(t, i, random() % RPCRDMA_MR_EVENTS,
				    100 + i);
		}
		expect_consistent(t);
	}
}
