// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "control.h"

using rpcrdma::ControlMessage;
using rpcrdma::ControlQueue;
using rpcrdma::error_message;
using rpcrdma::to_xid;
using rpcrdma::Xid;

namespace
{

/* Not an ERROR; a type of its own kind is sent in another way. */
ControlMessage other(u32 xid)
{
	return { to_xid(xid), 2, RPCRDMA_TYPE_UNKNOWN + 1, {} };
}

} // namespace

TEST(control, push__first_in_first_out_around_the_ring)
{
	ControlQueue q;
	u32 in = 0;
	u32 out = 0;

	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < 5; i++, in++)
			ASSERT_TRUE(q.push(error_message(to_xid(in), 2, {})));
		for (int i = 0; i < 5; i++, out++) {
			ASSERT_FALSE(q.empty());
			EXPECT_EQ(q.front().xid, to_xid(out));
			q.pop();
		}
		EXPECT_TRUE(q.empty());
	}
}

TEST(control, push__full)
{
	ControlQueue q;

	for (u32 i = 0; i < RPCRDMA_MAX_CONTROL; i++)
		EXPECT_TRUE(q.push(error_message(to_xid(i), 2, {})));
	EXPECT_FALSE(q.push(error_message(Xid{ 99 }, 2, {})));
	EXPECT_EQ(q.size(), u32{ RPCRDMA_MAX_CONTROL });
	q.pop();
	EXPECT_TRUE(q.push(error_message(Xid{ 99 }, 2, {})));
	EXPECT_EQ(q.front().xid, Xid{ 1 });
}

TEST(control, push__errors_and_others_keep_their_order)
{
	ControlQueue q;

	EXPECT_TRUE(q.push(other(1)));
	EXPECT_TRUE(q.push(error_message(
		Xid{ 2 }, 2, { RPCRDMA2_ERR_WRITE_RESOURCE, { 7, 8 } })));
	EXPECT_TRUE(q.push(other(3)));
	EXPECT_EQ(q.front().xid, Xid{ 1 });
	q.pop();
	EXPECT_EQ(q.front().type, u32{ RPCRDMA2_ERROR });
	EXPECT_EQ(q.front().words[0], u32{ RPCRDMA2_ERR_WRITE_RESOURCE });
	EXPECT_EQ(q.front().words[1], 7u);
	EXPECT_EQ(q.front().words[2], 8u);
	q.pop();
	EXPECT_EQ(q.front().xid, Xid{ 3 });
}

TEST(control, keep_errors__in_their_order_and_nothing_else)
{
	for (u32 start = 0; start < RPCRDMA_MAX_CONTROL; start++) {
		ControlQueue q;

		for (u32 i = 0; i < start; i++) {
			ASSERT_TRUE(q.push(other(0)));
			q.pop();
		}
		for (u32 i = 0; i < RPCRDMA_MAX_CONTROL; i++)
			ASSERT_TRUE(q.push(
				i % 3 ? other(i) :
					error_message(to_xid(i), 2, {})));
		q.keep_errors();
		ASSERT_EQ(q.size(), 6u);
		for (u32 i = 0; i < RPCRDMA_MAX_CONTROL; i += 3) {
			EXPECT_EQ(q.front().xid, to_xid(i));
			EXPECT_EQ(q.front().type, u32{ RPCRDMA2_ERROR });
			q.pop();
		}
		EXPECT_TRUE(q.empty());
	}
}
