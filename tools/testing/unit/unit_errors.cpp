// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "errors.h"

using rpcrdma::ErrorQueue;

TEST(errors, push__first_in_first_out_around_the_ring)
{
	ErrorQueue q;
	u32 in = 0;
	u32 out = 0;

	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 5; i++, in++)
			ASSERT_TRUE(q.push({ in, 2, {} }));
		for (int i = 0; i < 5; i++, out++) {
			ASSERT_FALSE(q.empty());
			EXPECT_EQ(q.front().xid, out);
			q.pop();
		}
		EXPECT_TRUE(q.empty());
	}
}

TEST(errors, push__full)
{
	ErrorQueue q;

	for (u32 i = 0; i < RPCRDMA_MAX_ERRORS; i++)
		EXPECT_TRUE(q.push({ i, 2, {} }));
	EXPECT_FALSE(q.push({ 99, 2, {} }));
	EXPECT_EQ(q.size(), u32{ RPCRDMA_MAX_ERRORS });
	q.pop();
	EXPECT_TRUE(q.push({ 99, 2, {} }));
	EXPECT_EQ(q.front().xid, 1u);
}
