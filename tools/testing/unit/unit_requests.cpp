// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "requests.h"
#include "support.h"

#include <algorithm>
#include <random>
#include <set>

using rpcrdma::Requests;
using rpcrdma::to_xid;
using rpcrdma::Xid;

TEST(requests, available__one_before_the_first_reply)
{
	Requests r;

	EXPECT_EQ(r.available(32), 1u);
	r.sent(Xid{ 7 });
	EXPECT_EQ(r.available(32), 0u);
	EXPECT_TRUE(r.answered(Xid{ 7 }));
	r.grant(20);
	EXPECT_EQ(r.available(32), 20u);
}

TEST(requests, available__no_more_than_there_are_receives_for)
{
	Requests r;

	r.grant(100);
	EXPECT_EQ(r.available(32), 32u);
	r.sent(Xid{ 7 });
	EXPECT_EQ(r.available(32), 31u);
	EXPECT_EQ(r.available(1), 0u) << "the window has become smaller";
	r.grant(UINT32_MAX);
	EXPECT_EQ(r.available(UINT32_MAX), Requests::kMax - 1);
}

TEST(requests, grant__zero_counts_as_one)
{
	Requests r;

	r.grant(0);
	EXPECT_EQ(r.available(32), 1u);
}

TEST(requests, grant__may_become_smaller)
{
	Requests r;

	r.grant(3);
	for (u32 xid = 1; xid <= 3; xid++)
		r.sent(to_xid(xid));
	r.grant(2);
	EXPECT_EQ(r.available(32), 0u);
	EXPECT_TRUE(r.answered(Xid{ 1 }));
	EXPECT_EQ(r.available(32), 0u);
	EXPECT_TRUE(r.answered(Xid{ 2 }));
	EXPECT_EQ(r.available(32), 1u);
}

TEST(requests, answered__once)
{
	Requests r;

	r.grant(2);
	r.sent(Xid{ 7 });
	EXPECT_FALSE(r.answered(Xid{ 8 }));
	EXPECT_EQ(r.available(32), 1u);
	EXPECT_TRUE(r.answered(Xid{ 7 }));
	EXPECT_FALSE(r.answered(Xid{ 7 }));
	EXPECT_EQ(r.available(32), 2u);
}

TEST(requests, sent__again_before_it_was_answered)
{
	Requests r;

	r.grant(4);
	r.sent(Xid{ 7 });
	r.sent(Xid{ 7 });
	EXPECT_EQ(r.available(4), 2u) << "two Replies may come";
	EXPECT_TRUE(r.answered(Xid{ 7 }));
	EXPECT_TRUE(r.answered(Xid{ 7 }));
	EXPECT_FALSE(r.answered(Xid{ 7 }));
	EXPECT_EQ(r.available(4), 4u);
}

/* Against the plainest bookkeeping there is. */
TEST(requests, random__as_a_set_would_have_it)
{
	std::mt19937 random(1);

	for (int run = 0; run < 200; run++) {
		const u32 receives = 1 + random() % 20;
		std::set<u32> calls;
		u32 granted = 1;
		Requests r;

		for (int i = 0; i < 400; i++) {
			const u32 xid = random() % 30;
			const bool there = calls.count(xid);
			const u32 most = std::min(receives, granted);
			const u32 room =
				most - std::min<u32>(most, u32(calls.size()));

			ASSERT_EQ(r.available(receives), room);
			if (random() % 2) {
				ASSERT_EQ(r.answered(to_xid(xid)), there);
				if (!there)
					continue;
				calls.erase(xid);
				granted = 1 + random() % 8;
				r.grant(granted);
			} else if (!there && room) {
				r.sent(to_xid(xid));
				calls.insert(xid);
			}
		}
	}
}
