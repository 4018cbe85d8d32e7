// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Tests for entries of Documentation/conformance that no other file here tests.
 */
#include "planner.h"

#include <gtest/gtest.h>

using namespace rpcrdma;

namespace
{

/* Two Write chunks: of two segments, and of one. */
Chunks two_chunks()
{
	Chunks c = {};

	c.n_writes = 2;
	c.writes[0] = { 2, 0 };
	c.writes[1] = { 1, 2 };
	c.n_write_segs = 3;
	c.write_segs[0] = { 0x100, 400, 0 };
	c.write_segs[1] = { 0x101, 400, 0x1000 };
	c.write_segs[2] = { 0x102, 80, 0x2000 };
	return c;
}

} // namespace

/* ULB-5.1.2.1-4; what this side returns is in planner.plan_reply__*. */
TEST(conformance, written__an_empty_chunk_means_an_unused_one_D9)
{
	const Chunks offered = two_chunks();
	u32 n = 77;

	Chunks back = {};
	back.n_writes = 2;
	back.writes[1] = { 1, 0 };
	back.n_write_segs = 1;
	back.write_segs[0] = offered.write_segs[2];
	EXPECT_TRUE(written(offered, back, 0, n));
	EXPECT_EQ(n, 0u);
	EXPECT_TRUE(written(offered, back, 1, n));
	EXPECT_EQ(n, 80u);

	back.writes[1] = {};
	back.n_write_segs = 0;
	EXPECT_TRUE(written(offered, back, 1, n));
	EXPECT_EQ(n, 0u);
	/* One segment of two is neither. */
	back.writes[0] = { 1, 0 };
	back.n_write_segs = 1;
	back.write_segs[0] = offered.write_segs[0];
	EXPECT_FALSE(written(offered, back, 0, n));
}
