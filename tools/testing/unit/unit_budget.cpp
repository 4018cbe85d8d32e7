// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "budget.h"

#include <random>

using namespace rpcrdma;
using unit::tolerated_breaks;

namespace
{

constexpr u32 kCalls = RPCRDMA_BUDGET_CALLS;
constexpr u32 kReplies = RPCRDMA_BUDGET_REPLIES;
constexpr u32 kStart = RPCRDMA_BUDGET_START;
constexpr u32 kHoldBack = RPCRDMA_BUDGET_HOLD_BACK;
constexpr u32 kRefuse = RPCRDMA_BUDGET_REFUSE;
constexpr u32 kDraw = RPCRDMA_BUDGET_DRAW;
constexpr u32 kBatch = RPCRDMA_BUDGET_BATCH;
constexpr u32 kReserve = 1U << 20;

/* What the kernel does around the two. */
struct Memory {
	rpcrdma_budget b = {};

	explicit Memory(u64 limit)
	{
		rpcrdma_budget_init(&b, limit);
	}
	u32 call(rpcrdma_account &a, u32 octets, bool alone = false)
	{
		const u32 verdict = rpcrdma_account_call(&a, octets, alone);

		return verdict == kDraw ? rpcrdma_budget_draw(&b, &a, kCalls,
							      octets, alone) :
					  verdict;
	}
	void take(rpcrdma_account &a, u32 kind, u32 octets)
	{
		if (rpcrdma_account_take(&a, kind, octets) == kDraw)
			EXPECT_EQ(
				rpcrdma_budget_draw(&b, &a, kind, octets, true),
				kStart);
	}
	bool put(rpcrdma_account &a, u32 kind, u32 octets)
	{
		const u32 back = rpcrdma_account_put(&a, kind, octets,
						     rpcrdma_budget_short(&b));

		return back && rpcrdma_budget_give(&b, &a, back);
	}
};

/* A connection of a server: its reserve is held, and its account open. */
rpcrdma_account opened(Memory &m, u32 reserve = kReserve)
{
	rpcrdma_account a;

	EXPECT_EQ(rpcrdma_budget_charge(&m.b, reserve, false), kStart);
	rpcrdma_account_open(&a, kBatch, reserve, 8 * reserve, 16 * reserve);
	return a;
}

} // namespace

TEST(budget, reserve_needs_no_budget)
{
	Memory m(kReserve);
	rpcrdma_account a = opened(m);

	EXPECT_EQ(rpcrdma_account_call(&a, kReserve - 1, false), kStart);
	EXPECT_EQ(rpcrdma_account_take(&a, kReplies, 1), kStart);
	EXPECT_EQ(m.b.held, kReserve);
	EXPECT_EQ(rpcrdma_account_call(&a, 1, false), kDraw);
	EXPECT_EQ(rpcrdma_account_put(&a, kCalls, kReserve - 1, false), 0U);
	EXPECT_EQ(rpcrdma_account_put(&a, kReplies, 1, true), 0U);
	EXPECT_EQ(m.b.held, kReserve) << "it keeps its reserve";
	EXPECT_EQ(a.most, kReserve);
}

/* Between the answer and the draw others may have put something back. */
TEST(budget, draws_nothing_that_is_there)
{
	Memory m(kReserve);
	rpcrdma_account a = opened(m);

	EXPECT_EQ(rpcrdma_budget_draw(&m.b, &a, kCalls, kReserve, false),
		  kStart);
	EXPECT_EQ(a.used[kCalls], kReserve);
	EXPECT_EQ(a.drawn, 0U);
	EXPECT_EQ(m.b.held, kReserve);
}

TEST(budget, waits_for_the_least_that_was_wanted)
{
	Memory m(kReserve);
	const rpcrdma_account a = opened(m);

	EXPECT_EQ(a.reserve, kReserve);
	for (const u32 octets : { 20U, 30U, 10U })
		EXPECT_EQ(rpcrdma_budget_charge(&m.b, octets, false), kHoldBack);
	EXPECT_EQ(m.b.wanted, 10U);
}

TEST(budget, draws_a_batch_at_a_time)
{
	Memory m(64 * kReserve);
	rpcrdma_account a = opened(m);

	ASSERT_EQ(m.call(a, kReserve), kStart);
	ASSERT_EQ(m.call(a, 1), kStart);
	EXPECT_EQ(a.drawn, kBatch);
	EXPECT_EQ(rpcrdma_account_call(&a, kBatch - 1, false), kStart)
		<< "that was the batch";
	ASSERT_EQ(m.call(a, 3 * kBatch), kStart);
	EXPECT_EQ(a.drawn, 4 * kBatch) << "no more than it needs";
	EXPECT_EQ(m.b.held, kReserve + 4 * kBatch);

	/* Up to two batches stay for what comes next; of more, one. */
	m.put(a, kCalls, 2 * kBatch);
	EXPECT_EQ(a.drawn, 4 * kBatch);
	m.put(a, kCalls, 1);
	EXPECT_EQ(a.drawn, 3 * kBatch - 1);
	m.put(a, kCalls, kReserve + 2 * kBatch - 1);
	EXPECT_EQ(a.used[kCalls], 0U);
	EXPECT_LE(a.drawn, 2 * kBatch);
	EXPECT_EQ(m.b.held, kReserve + a.drawn);
	EXPECT_FALSE(rpcrdma_account_close(&m.b, &a));
	EXPECT_EQ(m.b.held, kReserve);
}

TEST(budget, gives_all_back_when_memory_is_short)
{
	Memory m(8 * kReserve);
	rpcrdma_account a = opened(m), b = opened(m);

	ASSERT_EQ(m.call(a, kReserve), kStart);
	ASSERT_EQ(m.call(a, kBatch), kStart);
	ASSERT_EQ(m.call(b, kReserve), kStart);
	ASSERT_EQ(m.call(b, 5 * kReserve), kStart);
	ASSERT_TRUE(rpcrdma_budget_short(&m.b));
	m.put(a, kCalls, 1);
	EXPECT_EQ(a.drawn, kBatch - 1);
	m.put(b, kCalls, 5 * kReserve);
	EXPECT_EQ(b.drawn, 0U);
	EXPECT_FALSE(rpcrdma_budget_short(&m.b));
}

TEST(budget, short_is_less_than_an_eighth)
{
	Memory m(800);

	EXPECT_FALSE(rpcrdma_budget_short(&m.b));
	ASSERT_EQ(rpcrdma_budget_charge(&m.b, 700, false), kStart);
	EXPECT_FALSE(rpcrdma_budget_short(&m.b));
	ASSERT_EQ(rpcrdma_budget_charge(&m.b, 1, false), kStart);
	EXPECT_TRUE(rpcrdma_budget_short(&m.b));
	EXPECT_FALSE(rpcrdma_budget_change(&m.b, 1600));
	EXPECT_FALSE(rpcrdma_budget_short(&m.b));
}

TEST(budget, holds_back_what_is_not_alone)
{
	Memory m(2 * kReserve);
	rpcrdma_account a = opened(m), b = opened(m);

	ASSERT_EQ(m.call(a, kReserve), kStart);
	EXPECT_EQ(m.call(a, 2), kHoldBack);
	EXPECT_EQ(m.call(a, 2), kHoldBack);
	EXPECT_EQ(a.held_back, 1U) << "one Call that asked twice";
	EXPECT_EQ(m.b.held_back, 2U);
	EXPECT_EQ(m.call(b, kReserve), kStart) << "it has its reserve";

	/* Nothing of its own would wake it, so it does not wait. */
	EXPECT_EQ(m.call(a, 2, true), kStart);
	EXPECT_EQ(a.forced, 2U);
	EXPECT_EQ(m.b.held, 2 * kReserve + 2);
	EXPECT_TRUE(rpcrdma_account_calls_full(&a));
	EXPECT_FALSE(rpcrdma_account_calls_full(&b));
	m.put(a, kCalls, kReserve);
	EXPECT_EQ(a.forced, 0U);
	EXPECT_FALSE(rpcrdma_account_calls_full(&a));
	EXPECT_EQ(m.b.held, 2 * kReserve);
	EXPECT_EQ(m.call(a, 2), kStart);
	EXPECT_EQ(m.call(a, kReserve), kHoldBack);
	EXPECT_EQ(a.held_back, 2U);
}

TEST(budget, bounds_the_calls_of_a_connection)
{
	Memory m(64 * kReserve);
	rpcrdma_account a = opened(m);

	for (u32 i = 0; i < 8; i++)
		ASSERT_EQ(m.call(a, kReserve), kStart) << i;
	EXPECT_TRUE(rpcrdma_account_calls_full(&a));
	EXPECT_EQ(m.call(a, 1), kHoldBack);
	EXPECT_EQ(m.b.held_back, 0U) << "the budget has enough";
	EXPECT_EQ(m.call(a, 1, true), kStart);
	m.put(a, kCalls, 2);
	EXPECT_FALSE(rpcrdma_account_calls_full(&a));
	EXPECT_EQ(m.call(a, 1), kStart);
	EXPECT_EQ(m.call(a, 1), kHoldBack);
}

TEST(budget, refuses_what_never_fits)
{
	Memory m(4 * kReserve);
	rpcrdma_account a = opened(m);

	EXPECT_EQ(rpcrdma_account_fits(&a, kReserve), kStart);
	EXPECT_EQ(rpcrdma_account_fits(&a, kReserve + 1), kRefuse);
	EXPECT_EQ(rpcrdma_budget_charge(&m.b, 4 * kReserve + 1, false), kRefuse);
	EXPECT_EQ(m.b.refused, 1U);
	EXPECT_EQ(m.b.held, kReserve);
}

TEST(budget, replies_stop_only_while_there_are_some)
{
	Memory m(kReserve);
	rpcrdma_account a = opened(m);

	m.take(a, kReplies, 1);
	m.take(a, kCalls, kReserve);
	EXPECT_EQ(a.forced, 1U);
	EXPECT_TRUE(rpcrdma_account_replies_full(&a));
	EXPECT_TRUE(rpcrdma_account_calls_full(&a));
	m.put(a, kReplies, 1);
	EXPECT_FALSE(rpcrdma_account_replies_full(&a));
	EXPECT_FALSE(rpcrdma_account_calls_full(&a))
		<< "a Call of the largest size can come in";
	EXPECT_EQ(m.b.held, kReserve);

	m.take(a, kCalls, 1);
	EXPECT_FALSE(rpcrdma_account_replies_full(&a)) << "there are none";
	m.take(a, kReplies, 1);
	EXPECT_TRUE(rpcrdma_account_replies_full(&a));
	m.put(a, kCalls, 2);
	EXPECT_FALSE(rpcrdma_account_replies_full(&a));
}

TEST(budget, replies_are_bounded_by_their_own_limit)
{
	Memory m(64 * kReserve);
	rpcrdma_account a = opened(m);

	m.take(a, kReplies, 16 * kReserve - 1);
	EXPECT_FALSE(rpcrdma_account_replies_full(&a));
	m.take(a, kReplies, 1);
	EXPECT_TRUE(rpcrdma_account_replies_full(&a));
	EXPECT_EQ(m.call(a, kReserve), kStart) << "Calls have theirs";
}

/* Of what was forced nothing is kept for later. */
TEST(budget, draws_no_batch_while_it_is_forced)
{
	Memory m(3 * kReserve);
	rpcrdma_account a = opened(m), b = opened(m);

	ASSERT_EQ(m.call(b, kReserve), kStart);
	ASSERT_EQ(m.call(b, kReserve), kStart);
	m.take(a, kReplies, kReserve + 1);
	ASSERT_EQ(a.forced, 1U);
	m.put(b, kCalls, kReserve);
	m.take(a, kReplies, 1);
	EXPECT_EQ(a.drawn, 2U);
	EXPECT_TRUE(budget::invariants(a));
}

TEST(budget, connections_that_wait_are_told_once)
{
	Memory m(100);

	ASSERT_EQ(rpcrdma_budget_charge(&m.b, 90, false), kStart);
	EXPECT_EQ(rpcrdma_budget_charge(&m.b, 30, false), kHoldBack);
	EXPECT_EQ(rpcrdma_budget_charge(&m.b, 20, false), kHoldBack);
	EXPECT_EQ(m.b.held_back, 2U);
	EXPECT_FALSE(rpcrdma_budget_uncharge(&m.b, 9)) << "too few for any";
	EXPECT_TRUE(rpcrdma_budget_uncharge(&m.b, 1));
	EXPECT_FALSE(rpcrdma_budget_uncharge(&m.b, 1)) << "nobody waits";
	EXPECT_EQ(rpcrdma_budget_charge(&m.b, 30, false), kHoldBack);
	EXPECT_TRUE(rpcrdma_budget_change(&m.b, 200));
	EXPECT_EQ(rpcrdma_budget_charge(&m.b, 30, false), kStart);
}

/* It would wait for what there never will be: it has to ask again, and is refused. */
TEST(budget, connections_that_wait_are_told_of_a_lower_limit)
{
	Memory m(100);

	ASSERT_EQ(rpcrdma_budget_charge(&m.b, 90, false), kStart);
	ASSERT_EQ(rpcrdma_budget_charge(&m.b, 30, false), kHoldBack);
	EXPECT_TRUE(rpcrdma_budget_change(&m.b, 29));
	EXPECT_TRUE(budget::invariants(m.b));
	EXPECT_EQ(rpcrdma_budget_charge(&m.b, 30, false), kRefuse);
	EXPECT_EQ(m.b.refused, 1U);
	EXPECT_FALSE(rpcrdma_budget_change(&m.b, 28)) << "nobody waits";
}

/* Only the least is known of what they want. */
TEST(budget, connections_that_wait_are_all_told_of_a_lower_limit)
{
	Memory m(100);

	ASSERT_EQ(rpcrdma_budget_charge(&m.b, 90, false), kStart);
	ASSERT_EQ(rpcrdma_budget_charge(&m.b, 30, false), kHoldBack);
	ASSERT_EQ(rpcrdma_budget_charge(&m.b, 20, false), kHoldBack);
	EXPECT_TRUE(rpcrdma_budget_change(&m.b, 25));
	EXPECT_EQ(rpcrdma_budget_charge(&m.b, 30, false), kRefuse);
	EXPECT_EQ(rpcrdma_budget_charge(&m.b, 20, false), kHoldBack);
	EXPECT_TRUE(rpcrdma_budget_uncharge(&m.b, 85));
}

TEST(budget, who_must_have_it_gets_it)
{
	Memory m(100);

	ASSERT_EQ(rpcrdma_budget_charge(&m.b, 90, false), kStart);
	EXPECT_EQ(rpcrdma_budget_charge(&m.b, 200, true), kStart);
	EXPECT_EQ(m.b.held, 290U);
	EXPECT_EQ(m.b.most, 290U);
	EXPECT_EQ(rpcrdma_budget_charge(&m.b, 1, false), kHoldBack);
	EXPECT_FALSE(rpcrdma_budget_uncharge(&m.b, 190));
	EXPECT_TRUE(rpcrdma_budget_uncharge(&m.b, 1));
	EXPECT_EQ(m.b.most, 290U);
}

TEST(budget, account_that_is_closed_has_nothing)
{
	Memory m(4 * kReserve);
	rpcrdma_account a = opened(m);

	ASSERT_EQ(m.call(a, kReserve), kStart);
	ASSERT_EQ(m.call(a, kReserve), kStart);
	EXPECT_EQ(rpcrdma_budget_charge(&m.b, 3 * kReserve, false), kHoldBack);
	EXPECT_TRUE(rpcrdma_account_close(&m.b, &a));
	EXPECT_EQ(m.b.held, kReserve) << "whoever holds it has the reserve";
	EXPECT_EQ(a.used[kCalls], 0U);
	EXPECT_FALSE(rpcrdma_account_close(&m.b, &a));
	EXPECT_EQ(m.b.held, kReserve);
}

/* Its largest Call is larger than was thought, and it goes on, whatever the budget has. */
TEST(budget, account_that_is_extended)
{
	Memory m(kReserve);
	rpcrdma_account a = opened(m);

	a.limit[kCalls] = kReserve;
	m.take(a, kReplies, kReserve);
	m.take(a, kReplies, 1);
	ASSERT_EQ(a.forced, 1U);
	EXPECT_TRUE(rpcrdma_account_replies_full(&a));
	EXPECT_EQ(rpcrdma_account_fits(&a, 3 * kReserve), kRefuse);

	EXPECT_FALSE(rpcrdma_budget_extend(&m.b, &a, 3 * kReserve));
	EXPECT_TRUE(budget::invariants(a));
	EXPECT_EQ(a.drawn, 0U) << "the reserve has room for it";
	EXPECT_EQ(a.forced, 0U);
	EXPECT_EQ(m.b.held, u64{ 3 } * kReserve);
	EXPECT_FALSE(rpcrdma_account_replies_full(&a));
	EXPECT_EQ(rpcrdma_account_fits(&a, 3 * kReserve), kStart);
	EXPECT_EQ(a.limit[kCalls], 3 * kReserve);

	m.put(a, kReplies, kReserve);
	m.put(a, kReplies, 1);
	EXPECT_EQ(m.call(a, 3 * kReserve), kStart);
	(void)!rpcrdma_account_close(&m.b, &a);
	EXPECT_EQ(m.b.held, u64{ 3 } * kReserve);
}

/* Somewhat more than there was does not free it from what it was forced to draw. */
TEST(budget, account_that_is_extended_by_little)
{
	Memory m(kReserve);
	rpcrdma_account a = opened(m);

	m.take(a, kReplies, 2 * kReserve);
	ASSERT_EQ(a.forced, kReserve);
	EXPECT_FALSE(rpcrdma_budget_extend(&m.b, &a, kReserve + 100));
	EXPECT_TRUE(budget::invariants(a));
	EXPECT_EQ(a.forced, kReserve - 100);
	EXPECT_EQ(m.b.held, u64{ 2 } * kReserve);
	EXPECT_TRUE(rpcrdma_account_replies_full(&a));
	m.put(a, kReplies, 2 * kReserve);
	EXPECT_EQ(m.b.held, kReserve + 100);
}

TEST(budget, invariants__fail_if_the_budget_was_damaged)
{
	Memory m(100);

	ASSERT_EQ(rpcrdma_budget_charge(&m.b, 90, false), kStart);
	ASSERT_EQ(rpcrdma_budget_charge(&m.b, 20, false), kHoldBack);
	ASSERT_TRUE(budget::invariants(m.b));

	rpcrdma_budget unseen = m.b;
	unseen.held++;
	EXPECT_FALSE(budget::invariants(unseen)) << "of more than the most";
	rpcrdma_budget untold = m.b;
	untold.limit += 10;
	EXPECT_FALSE(budget::invariants(untold)) << "there is room for it";
	rpcrdma_budget never = m.b;
	never.limit = 19;
	EXPECT_FALSE(budget::invariants(never)) << "there never will be";
}

TEST(budget, replies__small_ones_fill_their_pool)
{
	const rpcrdma_replies_limits limits = { 100, 80 };
	rpcrdma_replies r = {};

	for (u32 i = 0; i < 8; i++)
		EXPECT_TRUE(rpcrdma_replies_take(&r, &limits, 10));
	EXPECT_FALSE(rpcrdma_replies_take(&r, &limits, 1)) << "it is full";
	EXPECT_EQ(r.pooled, 80U);
	EXPECT_EQ(r.number, 9U) << "they are counted all the same";
	EXPECT_FALSE(rpcrdma_replies_put(&r, &limits, 1, false));
	EXPECT_EQ(r.pooled, 80U) << "it had nothing of it";
	EXPECT_FALSE(rpcrdma_replies_put(&r, &limits, 10, true));
	EXPECT_FALSE(rpcrdma_replies_take(&r, &limits, 11));
	EXPECT_TRUE(rpcrdma_replies_take(&r, &limits, 10));
	EXPECT_EQ(r.pooled, 80U);
}

TEST(budget, replies__one_that_is_too_large_for_their_pool)
{
	const rpcrdma_replies_limits limits = { 100, 80 };
	rpcrdma_replies r = {};

	EXPECT_FALSE(rpcrdma_replies_take(&r, &limits, 81));
	EXPECT_FALSE(rpcrdma_replies_take(&r, &limits, UINT32_MAX));
	EXPECT_EQ(r.pooled, 0U);
	EXPECT_TRUE(rpcrdma_replies_take(&r, &limits, 80));
	EXPECT_FALSE(rpcrdma_replies_take(&r, &limits, UINT32_MAX))
		<< "no sum overflows";
}

/* Only the one that makes room says so. */
TEST(budget, replies__tell_once_when_they_are_few)
{
	const rpcrdma_replies_limits limits = { 3, 80 };
	const rpcrdma_account a = {};
	rpcrdma_replies r = {};

	for (u32 i = 0; i < 5; i++) {
		EXPECT_EQ(rpcrdma_replies_full(&r, &limits, &a), i >= 3) << i;
		EXPECT_TRUE(rpcrdma_replies_take(&r, &limits, 1));
	}
	for (u32 left = 5; left--;) {
		EXPECT_EQ(rpcrdma_replies_put(&r, &limits, 1, true), left == 2)
			<< left;
		EXPECT_EQ(rpcrdma_replies_full(&r, &limits, &a), left >= 3);
	}
	EXPECT_EQ(r.pooled, 0U);
}

/* Few Replies in number can hold too much. */
TEST(budget, replies__are_full_if_their_account_is)
{
	const rpcrdma_replies_limits limits = { 3, 80 };
	Memory m(kReserve);
	rpcrdma_account a = opened(m);
	rpcrdma_replies r = {};

	EXPECT_FALSE(rpcrdma_replies_take(&r, &limits, kReserve));
	m.take(a, kReplies, kReserve);
	EXPECT_FALSE(rpcrdma_replies_full(&r, &limits, &a));
	m.take(a, kReplies, 1);
	EXPECT_TRUE(rpcrdma_replies_full(&r, &limits, &a)) << "it was forced";
	m.put(a, kReplies, 1);
	EXPECT_FALSE(rpcrdma_replies_full(&r, &limits, &a));
	m.put(a, kReplies, kReserve);
}

/* The fast path: a small Reply of few, and none that is kept. */
TEST(budget, replies__charge_nothing_if_they_are_few_and_small)
{
	const rpcrdma_replies_limits limits = { 3, 80 };
	rpcrdma_replies r = {};

	EXPECT_TRUE(rpcrdma_replies_take(&r, &limits, 80));
	EXPECT_FALSE(rpcrdma_replies_charged(&r, &limits, true, false));
	EXPECT_TRUE(rpcrdma_replies_charged(&r, &limits, false, false));
	EXPECT_TRUE(rpcrdma_replies_charged(&r, &limits, true, true));
	r.number = 3;
	EXPECT_TRUE(rpcrdma_replies_charged(&r, &limits, true, false));
}

TEST(budget, replies__what_was_not_taken_cannot_be_put_back)
{
	const rpcrdma_replies_limits limits = { 3, 80 };
	rpcrdma_replies r = {};

	tolerated_breaks = 2;
	EXPECT_FALSE(rpcrdma_replies_put(&r, &limits, 1, true));
	EXPECT_EQ(r.number, 0U);
	EXPECT_EQ(tolerated_breaks, 1U);
	EXPECT_TRUE(rpcrdma_replies_take(&r, &limits, 10));
	EXPECT_FALSE(rpcrdma_replies_put(&r, &limits, 11, true));
	EXPECT_EQ(r.pooled, 0U);
	EXPECT_EQ(tolerated_breaks, 0U);
}

TEST(budget, invariants__of_replies)
{
	EXPECT_TRUE(budget::invariants(rpcrdma_replies{}));
	EXPECT_TRUE(budget::invariants(rpcrdma_replies{ 1, 0 }));
	EXPECT_TRUE(budget::invariants(rpcrdma_replies{ 1, 5 }));
	EXPECT_FALSE(budget::invariants(rpcrdma_replies{ 0, 5 }))
		<< "nobody has these bytes";
}

TEST(budget, invariants__of_an_account_that_gives_back)
{
	Memory m(2 * kReserve);
	rpcrdma_account a = opened(m);

	m.take(a, kReplies, 3 * kReserve);
	ASSERT_EQ(a.forced, kReserve);
	const u32 back = rpcrdma_account_put(&a, kReplies, kReserve + 1, false);
	EXPECT_EQ(back, kReserve + 1);
	EXPECT_TRUE(budget::invariants(a, back));
	EXPECT_FALSE(budget::invariants(a)) << "it keeps what was forced";
	EXPECT_FALSE(budget::invariants(a, back + 1)) << "it uses that";
	(void)!rpcrdma_budget_give(&m.b, &a, back);
	EXPECT_TRUE(budget::invariants(a));
}

/* Any order of events of several connections: each octet is held once. */
TEST(budget, adds_up_whatever_happens)
{
	for (u32 seed = 1; seed <= 200; seed++) {
		std::mt19937 random(seed);
		const auto below = [&](u32 n) {
			return u32(random() % n);
		};
		Memory m(u64{ 4 + below(12) } * kReserve);
		std::vector<rpcrdma_account> accounts;
		std::vector<std::vector<u32>> held[2];

		for (u32 i = 0; i < 4; i++) {
			accounts.push_back(opened(m));
			held[kCalls].emplace_back();
			held[kReplies].emplace_back();
		}
		for (u32 step = 0; step < 2000; step++) {
			const u32 i = below(4), kind = below(2);
			rpcrdma_account &a = accounts[i];
			std::vector<u32> &mine = held[kind][i];
			const u32 octets = 1 + below(kReserve);

			if (below(2) && !mine.empty()) {
				m.put(a, kind, mine.back());
				mine.pop_back();
			} else if (kind == kCalls) {
				if (m.call(a, octets, mine.empty()) == kStart)
					mine.push_back(octets);
				else
					EXPECT_FALSE(mine.empty());
			} else if (!rpcrdma_account_replies_full(&a)) {
				m.take(a, kind, octets);
				mine.push_back(octets);
			}

			u64 sum = 0;

			ASSERT_TRUE(budget::invariants(m.b));
			for (const rpcrdma_account &each : accounts) {
				ASSERT_TRUE(budget::invariants(each));
				sum += each.reserve + each.drawn;
			}
			ASSERT_EQ(sum, m.b.held) << seed;
			ASSERT_LE(m.b.held, m.b.limit + 4 * 2 * kReserve);
		}
		for (u32 i = 0; i < 4; i++)
			for (u32 kind : { kCalls, kReplies })
				for (u32 octets : held[kind][i])
					m.put(accounts[i], kind, octets);
		for (rpcrdma_account &a : accounts) {
			EXPECT_EQ(budget::used(a), 0U);
			(void)!rpcrdma_account_close(&m.b, &a);
		}
		EXPECT_EQ(m.b.held, u64{ 4 } * kReserve);
	}
}
