// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "failed.h"

using namespace rpcrdma::failed;

TEST(failed, known__until_it_expires)
{
	rpcrdma_failed_calls t = {};

	EXPECT_FALSE(known(t, 0, 0, 0)) << "all zero is empty";
	note(t, 5, 7, 1000);
	EXPECT_TRUE(known(t, 5, 7, 1000));
	EXPECT_TRUE(known(t, 5, 7, 1119));
	EXPECT_TRUE(known(t, 5, 7, 1119)) << "asking changes nothing";
	EXPECT_FALSE(known(t, 5, 7, 1120));
	EXPECT_FALSE(known(t, 5, 8, 1000)) << "another Call";
	EXPECT_FALSE(known(t, 6, 7, 1000)) << "another peer";
	EXPECT_FALSE(known(t, 5ull << 32 | 5, 7, 1000)) << "all of its key";
}

TEST(failed, known__across_the_wrap_of_the_clock)
{
	rpcrdma_failed_calls t = {};

	note(t, 5, 7, UINT32_MAX - 10);
	EXPECT_TRUE(known(t, 5, 7, UINT32_MAX));
	EXPECT_TRUE(known(t, 5, 7, 50));
	EXPECT_FALSE(known(t, 5, 7, 120));
}

TEST(failed, known__noted_a_moment_ahead)
{
	rpcrdma_failed_calls t = {};

	note(t, 5, 7, 1000);
	EXPECT_TRUE(known(t, 5, 7, 999));
}

TEST(failed, note__a_duplicate_refreshes)
{
	rpcrdma_failed_calls t = {};
	u32 used = 0;

	note(t, 5, 6, 900);
	note(t, 5, 7, 1000);
	note(t, 5, 7, 1100);
	EXPECT_TRUE(known(t, 5, 7, 1219));
	for (const rpcrdma_failed_call &c : t.calls)
		used += c.used;
	EXPECT_EQ(used, 2u) << "in the same place";
}

TEST(failed, note__the_oldest_gives_way)
{
	/* Across the wrap of the clock, where the numbers themselves mislead. */
	for (u32 start : { 0u, UINT32_MAX - 30 }) {
		rpcrdma_failed_calls t = {};
		const u32 now = start + RPCRDMA_MAX_FAILED;

		for (u32 i = 0; i < RPCRDMA_MAX_FAILED; i++)
			note(t, 5, i, start + i);
		note(t, 5, 0, now - 1); /* no longer the oldest */
		for (u32 i = 0; i < RPCRDMA_MAX_FAILED; i++)
			EXPECT_TRUE(known(t, 5, i, now)) << i;
		note(t, 5, 1000, now);
		note(t, 5, 1001, now);
		for (u32 i = 0; i < RPCRDMA_MAX_FAILED; i++)
			EXPECT_EQ(known(t, 5, i, now), i != 1 && i != 2) << i;
		EXPECT_TRUE(known(t, 5, 1000, now));
		EXPECT_TRUE(known(t, 5, 1001, now));
	}
}
