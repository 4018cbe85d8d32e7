// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "report.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <sstream>

#include "data.h"
#include "settings.h"
#include "tree.h"

namespace rpcrdmactl
{

namespace
{

constexpr const char *kMountstats =
	"device proc mounted on /proc with fstype proc\n"
	"device server:/secret mounted on /home/secret with fstype nfs4 "
	"statvers=1.1\n"
	"\topts:\trw,vers=4.2,proto=rdma,addr=192.0.2.1\n"
	"\tfsc:\tsecret\n"
	"\txprt:\trdma 0 0 1 0\n"
	"device nfsd mounted on /proc/fs/nfsd with fstype nfsd\n"
	"device other:/secret mounted on /mnt/secret with fstype nfs with "
	"fstype nfs "
	"statvers=1.1\n"
	"\topts:\trw,vers=3\n"
	"device tmpfs mounted on /secret with fstype tmpfs\n";

std::string log_of(const std::string &text)
{
	std::istringstream in(text);

	return relevant_log(in);
}

/* All have their defaults. */
void put_settings(const test::Tree &tree)
{
	for (const Setting &setting : settings())
		tree.put((setting.where == Where::Parameter ?
				  "sys/module/rpcrdma/parameters/" :
			  setting.where == Where::ClientSysctl ?
				  "proc/sys/sunrpc/" :
				  "proc/sys/sunrpc/svc_rdma/") +
				 std::string(setting.name),
			 std::to_string(setting.normal) + "\n");
}

} // namespace

TEST(report, mounts)
{
	std::istringstream in(kMountstats);

	EXPECT_EQ(mounts_without_paths(in),
		  "mount 1 with fstype nfs4 statvers=1.1\n"
		  "\topts:\trw,vers=4.2,proto=rdma,addr=192.0.2.1\n"
		  "\txprt:\trdma 0 0 1 0\n"
		  "mount 2 with fstype nfs statvers=1.1\n"
		  "\topts:\trw,vers=3\n");
}

TEST(report, log)
{
	EXPECT_EQ(
		log_of("<6>[1.0] usb 1-1: SerialNumber: secret\n"
			 "<5>[1.0] Kernel command line: secret rpcrdma.window=3\n"
		       "<4>[2.0] rpcrdma: 192.0.2.1 does not speak version 2\n"
		       "<6>[3.0] audit: secret\n"
		       "<6>[4.0] NFS: nfs4_discover_server_trunking\n"),
		"<4>[2.0] rpcrdma: 192.0.2.1 does not speak version 2\n"
		"<6>[4.0] NFS: nfs4_discover_server_trunking\n");
}

/* The calls that led to a fault are kept up to the end of the report on it. */
TEST(report, faults_in_the_log)
{
	const std::string fault =
		"[5.0] ------------[ cut here ]------------\n"
		"[5.0] WARNING: CPU: 0 PID: 1 at x.c:1\n"
		"[5.0]  some_function+0x1/0x2\n"
		"[5.0] ---[ end trace 0000000000000000 ]---\n";
	const std::string hung = "[7.0] INFO: task worker:12 blocked for more "
				 "than 120 seconds.\n"
				 "[7.0]  another_function+0x1/0x2\n";

	EXPECT_EQ(log_of("[4.9] secret\n" + fault + "[5.1] secret\n" + hung),
		  fault + hung);
	/* It does not go on for ever. */
	std::string more;
	for (int i = 0; i < 1000; i++)
		more += "[8.0] secret\n";
	const std::string kept = log_of(hung + more);
	EXPECT_LT(std::ranges::count(kept, '\n'), 100);
}

TEST(report, only_the_last_lines)
{
	std::string log;

	for (int i = 0; i < 5000; i++)
		log += "rpcrdma " + std::to_string(i) + "\n";
	const std::string kept = log_of(log);
	EXPECT_LT(std::ranges::count(kept, '\n'), 1000);
	EXPECT_NE(kept.find("rpcrdma 4999\n"), std::string::npos);
}

TEST(report, state)
{
	const test::Tree tree;
	std::string all;

	put_settings(tree);
	tree.put("proc/self/mountstats", kMountstats);
	tree.put("proc/fs/nfsd/portlist", "rdma 20049\n");
	const std::vector<Piece> pieces =
		state_pieces(test::status(), tree.root());
	for (const Piece &piece : pieces) {
		EXPECT_NE(piece.text, "") << piece.name;
		if (piece.name.ends_with(".json"))
			EXPECT_FALSE(Json::parse(piece.text).is_null());
		all += piece.text;
	}
	EXPECT_GE(pieces.size(), 9U);
	EXPECT_NE(all.find("192.0.2.1:20049"), std::string::npos);
	EXPECT_NE(all.find("rdma 20049\n"), std::string::npos);
	EXPECT_EQ(all.find("secret"), std::string::npos);
}

/* It may have no setting that is newer, and a kernel without sysctls has none of those. */
TEST(report, state_of_an_older_module)
{
	const test::Tree tree;

	put_settings(tree);
	std::filesystem::remove(tree.root() /
				"sys/module/rpcrdma/parameters/rtrext");
	std::filesystem::remove_all(tree.root() / "proc/sys");
	for (const Piece &piece : state_pieces(test::status(), tree.root())) {
		if (piece.name != "settings.txt")
			continue;
		EXPECT_NE(piece.text.find("\nwindow "), std::string::npos);
		EXPECT_EQ(piece.text.find("\nrtrext "), std::string::npos);
		EXPECT_EQ(piece.text.find("\nmax_req_size "),
			  std::string::npos);
	}
}

TEST(report, machine)
{
	const test::Tree tree;

	tree.put("sys/module/rpcrdma/version", "0.1.0\n");
	tree.put("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
	tree.put("sys/class/infiniband/mlx5_0/ports/1/rate",
		 "100 Gb/sec (4X EDR)\n");
	tree.put("sys/class/infiniband/mlx5_0/fw_ver", "16.35.1012\n");
	tree.put("sys/class/infiniband/mlx5_0/node_desc", "secret mlx5_0\n");
	const Json about = machine(tree.root());
	EXPECT_EQ(about.at("module-version"), "0.1.0");
	EXPECT_EQ(about.at("ports").at(0).at("state"), "ACTIVE");
	EXPECT_EQ(about.at("ports").at(0).at("rate"), "100 Gb/sec (4X EDR)");
	EXPECT_EQ(about.at("ports").at(0).at("fw_ver"), "16.35.1012");
	EXPECT_NE(about.at("kernel"), "");
	EXPECT_EQ(about.dump().find("secret"), std::string::npos);
}

} // namespace rpcrdmactl
