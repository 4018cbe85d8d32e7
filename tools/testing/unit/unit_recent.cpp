// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "recent.h"

using namespace rpcrdma::recent;

TEST(recent, known__until_it_expires)
{
	rpcrdma_recent t = {};

	EXPECT_FALSE(known(t, 0, 0, 0)) << "all zero is empty";
	note(t, 5, 7, 1000);
	EXPECT_TRUE(known(t, 5, 7, 1000));
	EXPECT_TRUE(known(t, 5, 7, 1119));
	EXPECT_TRUE(known(t, 5, 7, 1119)) << "asking changes nothing";
	EXPECT_FALSE(known(t, 5, 7, 1120));
	EXPECT_FALSE(known(t, 5, 8, 1000)) << "something else";
	EXPECT_FALSE(known(t, 6, 7, 1000)) << "another peer";
	EXPECT_FALSE(known(t, 5ull << 32 | 5, 7, 1000)) << "all of its key";
}

TEST(recent, known__as_long_as_the_table_says)
{
	rpcrdma_recent t = { .seconds = 3600, .entries = {} };

	note(t, 5, 7, 1000);
	EXPECT_TRUE(known(t, 5, 7, 4599));
	EXPECT_FALSE(known(t, 5, 7, 4600));
}

TEST(recent, known__across_the_wrap_of_the_clock)
{
	rpcrdma_recent t = {};

	note(t, 5, 7, UINT32_MAX - 10);
	EXPECT_TRUE(known(t, 5, 7, UINT32_MAX));
	EXPECT_TRUE(known(t, 5, 7, 50));
	EXPECT_FALSE(known(t, 5, 7, 120));
}

TEST(recent, known__noted_a_moment_ahead)
{
	rpcrdma_recent t = {};

	note(t, 5, 7, 1000);
	EXPECT_TRUE(known(t, 5, 7, 999));
}

TEST(recent, note__a_duplicate_refreshes)
{
	rpcrdma_recent t = {};
	u32 used = 0;

	note(t, 5, 6, 900);
	note(t, 5, 7, 1000);
	note(t, 5, 7, 1100);
	EXPECT_TRUE(known(t, 5, 7, 1219));
	for (const rpcrdma_recent_entry &e : t.entries)
		used += e.suspected != 0;
	EXPECT_EQ(used, 2u) << "in the same place";
}

TEST(recent, note__the_oldest_gives_way)
{
	/* Across the wrap of the clock, where the numbers themselves mislead. */
	for (u32 start : { 0u, UINT32_MAX - 30 }) {
		rpcrdma_recent t = {};
		const u32 now = start + RPCRDMA_MAX_RECENT;

		for (u32 i = 0; i < RPCRDMA_MAX_RECENT; i++)
			note(t, 5, i, start + i);
		note(t, 5, 0, now - 1); /* no longer the oldest */
		for (u32 i = 0; i < RPCRDMA_MAX_RECENT; i++)
			EXPECT_TRUE(known(t, 5, i, now)) << i;
		note(t, 5, 1000, now);
		note(t, 5, 1001, now);
		for (u32 i = 0; i < RPCRDMA_MAX_RECENT; i++)
			EXPECT_EQ(known(t, 5, i, now), i != 1 && i != 2) << i;
		EXPECT_TRUE(known(t, 5, 1000, now));
		EXPECT_TRUE(known(t, 5, 1001, now));
	}
}

TEST(recent, note__a_peer_takes_no_more_than_its_share)
{
	rpcrdma_recent t = {};
	u32 now = 1000;

	/* What others have noted stays, whatever one does. */
	for (u32 peer = 1; peer <= 4; peer++)
		note(t, peer, 7, now);
	for (u32 i = 0; i < 3 * RPCRDMA_MAX_RECENT; i++)
		note(t, 99, i, now + 1);
	for (u32 peer = 1; peer <= 4; peer++)
		EXPECT_TRUE(known(t, peer, 7, now + 1)) << peer;
	/* And what they note has room, at the cost of that one. */
	for (u32 xid = 10; xid < 20; xid++)
		for (u32 peer = 1; peer <= 5; peer++)
			note(t, peer, xid, now + 2);
	for (u32 i = 0; i < 3 * RPCRDMA_MAX_RECENT; i++)
		note(t, 99, i, now + 3);
	for (u32 peer = 1; peer <= 5; peer++)
		for (u32 xid = 10; xid < 20; xid++)
			EXPECT_TRUE(known(t, peer, xid, now + 3)) << peer;
	/* It keeps the rest, the newest. */
	EXPECT_TRUE(known(t, 99, 3 * RPCRDMA_MAX_RECENT - 1, now + 3));
	EXPECT_FALSE(known(t, 99, 0, now + 3));
}

TEST(recent, note__who_has_the_most_gives_way)
{
	/* Wherever it is among those that have more than the one that comes. */
	for (u32 place = 1; place <= 3; place++) {
		rpcrdma_recent t = {};

		for (u32 peer = 1; peer <= 3; peer++)
			for (u32 id = 0; id < 10; id++)
				note(t, peer, id, 1000);
		for (u32 id = 10; id < 10 + RPCRDMA_MAX_RECENT - 30; id++)
			note(t, place, id, 1001);
		note(t, 9, 7, 1002);
		for (u32 peer = 1; peer <= 3; peer++)
			EXPECT_EQ(known(t, peer, 0, 1002), peer != place)
				<< peer;
	}
}

TEST(recent, note__as_many_peers_as_there_is_room)
{
	rpcrdma_recent t = {};

	for (u32 peer = 1; peer <= RPCRDMA_MAX_RECENT; peer++)
		note(t, peer, 7, 1000 + peer);
	/* Nobody has more than another: its own, or else the oldest. */
	note(t, 5, 8, 1100);
	EXPECT_FALSE(known(t, 5, 7, 1100));
	EXPECT_TRUE(known(t, 5, 8, 1100));
	EXPECT_TRUE(known(t, 1, 7, 1100));
	note(t, 500, 7, 1100);
	EXPECT_TRUE(known(t, 500, 7, 1100));
	EXPECT_FALSE(known(t, 1, 7, 1100));
	EXPECT_TRUE(known(t, 2, 7, 1100));
}

TEST(recent, note__what_has_expired_gives_way_first)
{
	rpcrdma_recent t = {};

	for (u32 i = 0; i < RPCRDMA_MAX_RECENT; i++)
		note(t, i < 2 ? 1 : 2, i, i == 1 ? 1000 : 1050);
	note(t, 3, 7, 1000 + RPCRDMA_RECENT_SECONDS);
	for (u32 i = 0; i < RPCRDMA_MAX_RECENT; i++)
		EXPECT_EQ(known(t, i < 2 ? 1 : 2, i,
				1000 + RPCRDMA_RECENT_SECONDS),
			  i != 1)
			<< i;
}

TEST(recent, suspect__three_times_is_known)
{
	rpcrdma_recent t = {};

	EXPECT_FALSE(suspect(t, 5, 7, 1000));
	suspect(t, 5, 8, 1000);
	EXPECT_FALSE(known(t, 5, 7, 1000));
	EXPECT_FALSE(forget(t, 5, 7, 1000));
	EXPECT_FALSE(suspect(t, 5, 7, 1100));
	EXPECT_FALSE(known(t, 5, 7, 1100));
	EXPECT_TRUE(suspect(t, 5, 7, 1200));
	EXPECT_TRUE(known(t, 5, 7, 1200));
	EXPECT_TRUE(known(t, 5, 7, 1319)) << "from the last time on";
	EXPECT_FALSE(known(t, 5, 7, 1320));
	EXPECT_FALSE(known(t, 5, 8, 1000)) << "that alone";
	suspect(t, 5, 8, 1120);
	suspect(t, 5, 8, 1121);
	EXPECT_FALSE(known(t, 5, 8, 1121)) << "the first was too long ago";
	suspect(t, 5, 8, 1122);
	suspect(t, 5, 8, 1123);
	EXPECT_TRUE(known(t, 5, 8, 1123)) << "no less for once more";
}

TEST(recent, suspect__takes_nothing_from_what_is_known)
{
	rpcrdma_recent t = {};

	note(t, 5, 7, 1000);
	EXPECT_TRUE(suspect(t, 5, 7, 1050));
	EXPECT_TRUE(known(t, 5, 7, 1169));
	suspect(t, 5, 8, 1000);
	note(t, 5, 8, 1000);
	EXPECT_TRUE(known(t, 5, 8, 1000));
}

TEST(recent, forget__and_say_whether_it_was_known)
{
	rpcrdma_recent t = {};

	EXPECT_FALSE(forget(t, 5, 7, 1000)) << "nothing is there";
	note(t, 5, 7, 1000);
	note(t, 5, 8, 1000);
	EXPECT_FALSE(forget(t, 6, 7, 1000)) << "another peer";
	EXPECT_FALSE(forget(t, 5, 9, 1000)) << "something else";
	EXPECT_TRUE(forget(t, 5, 7, 1119));
	EXPECT_FALSE(known(t, 5, 7, 1119));
	EXPECT_FALSE(forget(t, 5, 7, 1119)) << "once";
	EXPECT_TRUE(known(t, 5, 8, 1119)) << "that alone";
	EXPECT_FALSE(forget(t, 5, 8, 1120)) << "it has expired";
	note(t, 5, 7, 1120);
	EXPECT_TRUE(known(t, 5, 7, 1120)) << "as if it had never been there";
}

static bool passes(const u64 (&words)[RPCRDMA_RECENT_WORDS], u64 peer, u64 id)
{
	const u32 n = bit(peer, id);

	return words[n / 64] >> n % 64 & 1;
}

/* Whoever is not in the table is rarely taken for somebody who may be. */
TEST(recent, filter__lets_few_others_pass)
{
	u64 words[RPCRDMA_RECENT_WORDS];
	rpcrdma_recent t = {};
	u32 others = 0;

	filter(t, 100, words);
	for (u64 word : words)
		EXPECT_EQ(word, 0u);
	for (u64 i = 0; i < RPCRDMA_MAX_RECENT; i++)
		note(t, i % 3, i << 32 | 1, 100);
	suspect(t, 9, 9, 100);
	filter(t, 100, words);
	for (u64 i = 1; i < RPCRDMA_MAX_RECENT; i++)
		if (known(t, i % 3, i << 32 | 1, 100))
			EXPECT_TRUE(passes(words, i % 3, i << 32 | 1));
	for (u64 i = 0; i < 1000; i++) {
		others += passes(words, i % 3, i << 32 | 2);
		others += passes(words, 3 + i, i % 64 << 32 | 1);
		others += passes(words, i % 3, i);
	}
	EXPECT_LT(others, 3000u / 10);
	filter(t, 100 + RPCRDMA_RECENT_SECONDS, words);
	for (u64 word : words)
		EXPECT_EQ(word, 0u) << "nothing is known any more";
}

TEST(recent, known__by_all_of_an_id)
{
	rpcrdma_recent t = {};

	note(t, 5, 1ull << 32 | 7, 100);
	EXPECT_TRUE(known(t, 5, 1ull << 32 | 7, 100));
	EXPECT_FALSE(known(t, 5, 2ull << 32 | 7, 100));
	EXPECT_FALSE(known(t, 5, 7, 100));
}
