// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "xid.h"

#include <gtest/gtest.h>

#include <type_traits>

using namespace rpcrdma;

/* What they are for. */
static_assert(!std::is_convertible_v<u32, Xid>);
static_assert(!std::is_convertible_v<Xid, u32>);
static_assert(!std::is_convertible_v<u32, rpcrdma_dir>);
static_assert(sizeof(Xid) == sizeof(u32));

TEST(xid, to_xid__and_back)
{
	for (const u32 word : { 0u, 7u, UINT32_MAX })
		EXPECT_EQ(word_of(to_xid(word)), word);
	EXPECT_EQ(to_xid(7), Xid{ 7 });
	EXPECT_NE(to_xid(7), to_xid(8));
	EXPECT_EQ(Xid{}, to_xid(0));
}

TEST(xid, direction_of__of_the_two_words_that_are_one)
{
	for (const rpcrdma_dir before : { RPCRDMA_CALL, RPCRDMA_REPLY }) {
		rpcrdma_dir dir = before;

		for (const u32 word : { 2u, 0x80000000u, UINT32_MAX }) {
			EXPECT_FALSE(direction_of(word, dir));
			EXPECT_EQ(dir, before);
		}
		EXPECT_TRUE(direction_of(0, dir));
		EXPECT_EQ(dir, RPCRDMA_CALL);
		EXPECT_TRUE(direction_of(1, dir));
		EXPECT_EQ(dir, RPCRDMA_REPLY);
	}
}
