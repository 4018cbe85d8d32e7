// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "round_trip.h"

#include <algorithm>
#include <deque>
#include <random>

using namespace rpcrdma;

namespace
{

constexpr u32 kPeriod = RPCRDMA_ROUND_TRIP_MS;
constexpr u32 kCount = RPCRDMA_ROUND_TRIP_COUNT;

struct Measured {
	rpcrdma_round_trip r = {};
	u32 now = 0;

	/* It takes @took, so often and so far apart. */
	u32 note(u32 took, u32 times = 1, u32 apart = 1)
	{
		u32 shortest = 0;

		for (; times; times--) {
			now += apart;
			shortest = rpcrdma_round_trip_note(&r, now, took);
		}
		return shortest;
	}
};

} // namespace

TEST(round_trip, note__the_shortest_one)
{
	Measured m;

	EXPECT_EQ(m.note(300), 300u);
	EXPECT_EQ(m.note(500), 300u);
	EXPECT_EQ(m.note(200), 200u);
	EXPECT_EQ(m.note(900, 100), 200u);
}

TEST(round_trip, note__is_never_unknown_again)
{
	Measured m;

	EXPECT_EQ(m.note(0), 1u);
	EXPECT_EQ(m.note(UINT32_MAX, 1000, kPeriod), UINT32_MAX);
}

/* The way has become longer: that is known after two periods. */
TEST(round_trip, note__can_grow_again)
{
	Measured m;

	EXPECT_EQ(m.note(100, kCount), 100u);
	EXPECT_EQ(m.note(5000, kPeriod / 100 - 1, 100), 100u);
	EXPECT_EQ(m.note(5000, kPeriod / 100, 100), 100u);
	EXPECT_EQ(m.note(5000, 1, 100), 5000u);
	EXPECT_EQ(m.note(50), 50u) << "and at once shorter";
}

/* Who sends seldom has no period of one Call, which may have been slow. */
TEST(round_trip, note__a_single_slow_answer_counts_for_nothing)
{
	Measured m;

	EXPECT_EQ(m.note(100, 1, kPeriod), 100u);
	for (u32 i = 0; i < 100; i++) {
		EXPECT_EQ(m.note(7000, kCount - 1, kPeriod), 100u);
		EXPECT_EQ(m.note(100, 1, kPeriod), 100u);
	}
}

TEST(round_trip, note__time_may_wrap)
{
	Measured m;

	m.now = UINT32_MAX - kPeriod / 2;
	EXPECT_EQ(m.note(100, kCount), 100u);
	EXPECT_EQ(m.note(900, kCount, kPeriod / kCount), 100u);
	EXPECT_EQ(m.note(900, kCount, kPeriod / kCount + 1), 900u);
}

/*
 * Against all that was measured: never less than the shortest one of all, never more than
 * the shortest one of the last period, whatever comes when.
 */
TEST(round_trip, note__between_the_last_period_and_all)
{
	std::mt19937 random(23);

	for (u32 run = 0; run < 200; run++) {
		std::deque<std::pair<u32, u32>> all;
		Measured m;
		u32 least = UINT32_MAX;

		for (u32 i = 0; i < 300; i++) {
			const u32 took = 1 + u32(random() % 1000);
			const u32 shortest =
				m.note(took, 1, u32(random() % 3000));
			u32 recent = UINT32_MAX;

			least = std::min(least, took);
			all.emplace_back(m.now, took);
			for (auto [when, what] : all)
				if (m.now - when < kPeriod)
					recent = std::min(recent, what);
			ASSERT_GE(shortest, least);
			ASSERT_LE(shortest, recent);
		}
	}
}
