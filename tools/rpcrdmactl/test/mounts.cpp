// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "mounts.h"

#include <gtest/gtest.h>

namespace rpcrdmactl
{

namespace
{

NfsMount mount(const std::string &point, const std::string &asked,
	       const std::string &wanted = "",
	       const std::set<std::string> &used = {})
{
	NfsMount m;

	m.point = point;
	m.asked = asked;
	m.wanted = wanted;
	m.used = used;
	m.peer = "192.0.2.1:20049";
	return m;
}

/* "POINT PROTOCOL", one after the other. */
std::string told(const std::vector<NfsMount> &mounts)
{
	std::string text;

	for (const Mount &m : to_use_rdma(mounts)) {
		EXPECT_EQ(m.peer, "192.0.2.1:20049");
		text += m.point + " " + m.protocol + "\n";
	}
	return text;
}

} // namespace

TEST(mounts, are_those_that_are_to_use_rdma)
{
	EXPECT_EQ(told({ mount("/a", "rdma", "", { "rdma" }),
			 mount("/b", "tcp", "", { "tcp" }),
			 mount("/c", "tcp", "rdma", { "tcp" }),
			 mount("/d", "rdma") }),
		  "/a rdma\n/c tcp\n/d rdma\n");
}

TEST(mounts, have_what_they_have_fallen_back_to)
{
	EXPECT_EQ(told({ mount("/a", "rdma", "", { "rdma", "tcp" }) }),
		  "/a tcp\n");
}

/* One mount on another hides it; a metric must not be told twice. */
TEST(mounts, are_told_once)
{
	EXPECT_EQ(told({ mount("/a", "rdma"), mount("/a", "tcp", "rdma") }),
		  "/a tcp\n");
	EXPECT_EQ(told({ mount("/a", "rdma"), mount("/a", "tcp") }), "");
}

} // namespace rpcrdmactl
