// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "netlink.h"

#include <gtest/gtest.h>

#include "tree.h"

namespace rpcrdmactl
{

namespace
{

std::string reason(const test::Tree &tree)
{
	return why_not_loaded(tree.root() / "rpcrdma");
}

} // namespace

TEST(netlink, why__no_module)
{
	EXPECT_EQ(reason(test::Tree()),
		  "the module is not loaded: modprobe rpcrdma");
}

TEST(netlink, why__of_the_kernel)
{
	const test::Tree tree;

	tree.put("rpcrdma/initstate", "live\n");
	EXPECT_EQ(reason(tree), "the kernel's own rpcrdma is loaded: modprobe "
				"-r rpcrdma && modprobe rpcrdma");
}

TEST(netlink, why__comes_or_goes)
{
	const test::Tree tree;

	tree.put("rpcrdma/version", "1\n");
	for (const char *state : { "coming\n", "going\n" }) {
		tree.put("rpcrdma/initstate", state);
		EXPECT_EQ(reason(tree), "the module is being loaded or "
					"unloaded: try again")
			<< state;
	}
}

TEST(netlink, why__too_old)
{
	const test::Tree tree;

	tree.put("rpcrdma/version", "1\n");
	tree.put("rpcrdma/initstate", "live\n");
	EXPECT_EQ(reason(tree),
		  "the loaded module is too old for this program: modprobe -r "
		  "rpcrdma && modprobe rpcrdma");
}

} // namespace rpcrdmactl
