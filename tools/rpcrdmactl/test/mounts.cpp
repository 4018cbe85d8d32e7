// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "mounts.h"

#include <gtest/gtest.h>

#include "json_text.h"
#include "tree.h"

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

namespace
{

Json connection(const std::string &role, const std::string &peer)
{
	return { { "role", role }, { "peer-address", peer } };
}

} // namespace

/* Of a client the mounts that use RDMA, of their server and port alone. */
TEST(uses, mounts_of_a_connection)
{
	std::vector<Json> conns = { connection("client", "192.0.2.1:20049"),
				    connection("client", "192.0.2.1:20050"),
				    connection("server", "192.0.2.1:20049") };
	Uses uses;

	uses.mounts = { mount("/b", "rdma"), mount("/a", "rdma"),
			mount("/a", "rdma"), mount("/c", "tcp"),
			mount("/d", "rdma", "", { "tcp" }) };
	put_uses(conns, uses);
	EXPECT_EQ(conns[0]["mounts"], Json({ "/a", "/b" }));
	EXPECT_EQ(conns[1]["mounts"], Json::array());
	EXPECT_FALSE(conns[2].contains("mounts"));
	/* It could not be read. */
	EXPECT_FALSE(conns[2].contains("exports"));
}

/* As the kernel writes its caches; what has expired or was refused is no export. */
TEST(uses, exports_of_a_connection)
{
	test::Tree tree;
	std::vector<Json> conns = { connection("server", "192.0.2.7:700"),
				    connection("server", "[2001:db8::7]:700"),
				    connection("server", "192.0.2.9:700"),
				    connection("client", "192.0.2.7:20049") };

	tree.put("proc/net/rpc/auth.unix.ip/content",
		 "#class IP domain\n"
		 "nfsd 192.0.2.7 192.0.2.0/24\n"
		 "nfsd 2001:0db8:0000:0000:0000:0000:0000:0007 *\n"
		 "# nfsd 192.0.2.9 -no-domain-\n"
		 "nfsd 192.0.2.10 -no-domain-\n");
	tree.put("proc/net/rpc/nfsd.export/content",
		 "#path domain(flags)\n"
		 "/export\t192.0.2.0/24(rw,root_squash,sync,uuid=1)\n"
		 "/a\\040b\t192.0.2.0/24(ro,sync)\n"
		 "/\t192.0.2.0/24(ro,root_squash,v4root,fsid=0)\n"
		 "/refused\t192.0.2.0/24()\n"
		 "# /old\t192.0.2.0/24(rw)\n"
		 "/all\t*(rw)\n");
	put_uses(conns, read_uses(tree.root()));
	EXPECT_EQ(conns[0]["exports"], Json({ "/a b", "/export" }));
	EXPECT_EQ(conns[1]["exports"], Json({ "/all" }));
	EXPECT_EQ(conns[2]["exports"], Json::array());
	EXPECT_FALSE(conns[3].contains("exports"));
	EXPECT_EQ(conns[3]["mounts"], Json::array());
}

/* One path that is no UTF-8 takes nothing from the others. */
TEST(uses, a_path_of_any_octets)
{
	std::vector<Json> conns = { connection("client", "192.0.2.1:20049") };
	Uses uses;

	uses.mounts = { mount("/a", "rdma"), mount("/\xe4", "rdma") };
	put_uses(conns, uses);
	EXPECT_EQ(Json::parse(json_text(conns)).at(0).at("mounts"),
		  Json({ "/a", "/\xef\xbf\xbd" }));
}

} // namespace rpcrdmactl
