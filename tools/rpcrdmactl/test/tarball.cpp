// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "tarball.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "data.h"
#include "tree.h"

namespace rpcrdmactl
{

namespace
{

namespace fs = std::filesystem;

unsigned files_in(const fs::path &directory)
{
	return static_cast<unsigned>(
		std::distance(fs::directory_iterator(directory), {}));
}

/* As tar(1) unpacks it. */
std::string content(const fs::path &archive, const std::string &name)
{
	const std::string command =
		"tar -xOzf '" + archive.string() + "' '" + name + "'";
	std::FILE *pipe = popen(command.c_str(), "r");
	std::string text;

	for (int c; (c = std::fgetc(pipe)) != EOF;)
		text += static_cast<char>(c);
	EXPECT_EQ(pclose(pipe), 0) << command;
	return text;
}

} // namespace

TEST(tarball, whole)
{
	const test::Tree tree;
	const fs::path file = tree.root() / "a.tar.gz";
	const std::string large(3000000, 'x');
	std::FILE *content_of_b = std::tmpfile();
	struct stat status = {};

	ASSERT_EQ(std::fwrite(large.data(), 1, large.size(), content_of_b),
		  large.size());
	{
		Tarball archive(file);

		archive.add("top/a", "one\ntwo\n");
		archive.add("top/b/c", content_of_b);
		archive.add("top/empty", "");
		EXPECT_FALSE(fs::exists(file));
		archive.commit();
	}
	std::fclose(content_of_b);
	EXPECT_EQ(content(file, "top/a"), "one\ntwo\n");
	EXPECT_EQ(content(file, "top/b/c"), large);
	EXPECT_EQ(content(file, "top/empty"), "");
	EXPECT_EQ(files_in(tree.root()), 1U);
	ASSERT_EQ(stat(file.c_str(), &status), 0);
	EXPECT_EQ(status.st_mode & 0777, 0600U);
	EXPECT_LT(status.st_size, 100000);
}

/* What was there before stays until the new one is complete. */
TEST(tarball, not_completed)
{
	const test::Tree tree;
	const fs::path file = tree.root() / "a.tar.gz";

	tree.put("a.tar.gz", "old");
	{
		Tarball archive(file);

		archive.add("a", "one");
	}
	EXPECT_EQ(test::file(file), "old");
	EXPECT_EQ(files_in(tree.root()), 1U);
	Tarball(file).commit();
	EXPECT_NE(test::file(file), "old");
}

TEST(tarball, no_place_for_it)
{
	const test::Tree tree;

	EXPECT_THROW(Tarball(tree.root()), std::runtime_error);
	EXPECT_THROW(Tarball(tree.root() / "missing" / "a"),
		     std::runtime_error);
	EXPECT_THROW(Tarball("/dev/null"), std::runtime_error);
	EXPECT_EQ(files_in(tree.root()), 0U);
	EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

} // namespace rpcrdmactl
