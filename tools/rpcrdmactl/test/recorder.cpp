// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "recorder.h"

#include <gtest/gtest.h>
#include <set>

#include "tree.h"

namespace rpcrdmactl
{

namespace
{

namespace fs = std::filesystem;

std::string refusal(const fs::path &root)
{
	try {
		const Recorder recorder(root);
	} catch (const std::exception &error) {
		return error.what();
	}
	return "it records";
}

} // namespace

/* A self-test records; here is no tracefs. */
TEST(recorder, no_tracefs)
{
	const test::Tree tree;

	EXPECT_EQ(refusal(tree.root()), "this kernel has no tracefs");
	fs::create_directories(tree.root() / "sys/kernel/tracing");
	EXPECT_EQ(refusal(tree.root()),
		  "tracefs is not mounted: mount -t tracefs tracefs "
		  "/sys/kernel/tracing");
}

/* A directory of this kind has no files that control a trace. */
TEST(recorder, leaves_nothing)
{
	const test::Tree tree;
	const fs::path instances = tree.root() / "sys/kernel/tracing/instances";

	fs::create_directories(instances);
	EXPECT_NE(refusal(tree.root()), "it records");
	EXPECT_TRUE(fs::is_empty(instances));
}

TEST(recorder, another_one)
{
	const test::Tree tree;

	tree.put("sys/kernel/debug/tracing/instances/rpcrdmactl/tracing_on",
		 "1\n");
	EXPECT_EQ(refusal(tree.root()), "another rpcrdmactl trace is running");
}

/* What can have names of files, users or programs is not recorded. */
TEST(recorder, events)
{
	std::set<std::string> names;

	for (const EventName &event : recorded_events()) {
		const std::string name = event.name;

		EXPECT_TRUE(
			names.insert(std::string(event.system) + name).second)
			<< name;
		for (const char *private_one :
		     { "nfs4_lookup", "open", "rename", "rpc_clnt_new",
		       "rpcgss" })
			EXPECT_EQ(name.find(private_one), std::string::npos);
	}
	EXPECT_STREQ(recorded_events()[0].system, "rpcrdma");
	EXPECT_STREQ(recorded_events()[0].name, "");
}

TEST(recorder, names_of_processes)
{
	EXPECT_EQ(without_process("          secret-4711    [003] ...1.  9.1: "
				  "rpcrdma_tx: a-b"),
		  "                -4711    [003] ...1.  9.1: rpcrdma_tx: a-b");
	EXPECT_EQ(without_process("     with - dash-1       [003] ...1.  9.1: "
				  "rpcrdma_tx: x"),
		  "                -1       [003] ...1.  9.1: rpcrdma_tx: x");
	for (const char *kernels :
	     { "     kworker/1:2-99      [001] .....  9.1: x: y",
	       "          <idle>-0       [001] d.s1.  9.1: x: y",
	       "            nfsd-812     [001] .....  9.1: x: y",
	       "# entries-in-buffer/entries-written: 12/12   #P:1",
	       "CPU:0 [LOST 12 EVENTS]", "" })
		EXPECT_EQ(without_process(kernels), kernels);
}

} // namespace rpcrdmactl
