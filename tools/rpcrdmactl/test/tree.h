/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A directory that stands for the root of a system.
 */
#ifndef _RPCRDMACTL_TEST_TREE_H
#define _RPCRDMACTL_TEST_TREE_H

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace test
{

class Tree {
public:
	Tree()
	{
		char path[] = "/tmp/rpcrdmactl-XXXXXX";

		root_ = mkdtemp(path);
	}
	~Tree()
	{
		std::error_code ignored;

		std::filesystem::remove_all(root_, ignored);
	}
	Tree(const Tree &) = delete;
	Tree &operator=(const Tree &) = delete;

	void put(const std::string &name, const std::string &text) const
	{
		std::filesystem::create_directories(
			(root_ / name).parent_path());
		std::ofstream(root_ / name) << text;
	}
	[[nodiscard]] const std::filesystem::path &root() const
	{
		return root_;
	}

private:
	std::filesystem::path root_;
};

} // namespace test

#endif /* _RPCRDMACTL_TEST_TREE_H */
