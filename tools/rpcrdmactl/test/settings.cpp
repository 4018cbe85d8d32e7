// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "settings.h"

#include <gtest/gtest.h>
#include <set>

#include "data.h"
#include "tree.h"

namespace rpcrdmactl
{

namespace
{

namespace fs = std::filesystem;

/* All settings have their defaults. */
class Module : public test::Tree {
public:
	Module()
	{
		for (const Setting &setting : settings())
			put(file(setting.name),
			    std::to_string(setting.normal) + "\n");
	}
	[[nodiscard]] static std::string file(const std::string &name)
	{
		for (const Setting &setting : settings())
			if (name == setting.name)
				return (setting.where == Where::Parameter ?
						"sys/module/rpcrdma/"
						"parameters/" :
					setting.where == Where::ClientSysctl ?
						"proc/sys/sunrpc/" :
						"proc/sys/sunrpc/svc_rdma/") +
				       name;
		return {};
	}
	[[nodiscard]] std::uint32_t value(const std::string &name) const
	{
		return static_cast<std::uint32_t>(
			std::stoul(test::file(root() / file(name))));
	}
};

std::string wrong(const std::vector<std::string> &texts)
{
	try {
		(void)read_changes(texts);
	} catch (const Usage &error) {
		return error.what();
	}
	return "it is taken";
}

Changed changed(const char *text, std::uint32_t before)
{
	const Change change = read_changes({ text })[0];

	return { change, before, change.value };
}

} // namespace

TEST(settings, list)
{
	const Module module;
	std::set<std::string> names;

	for (const Json &setting : read_settings(module.root())) {
		names.insert(setting.at("name").get<std::string>());
		EXPECT_EQ(setting.at("value"), setting.at("default"));
		EXPECT_LE(setting.at("lowest"), setting.at("default"));
		EXPECT_GE(setting.at("highest"), setting.at("default"));
		EXPECT_NE(setting.at("unit"), "");
	}
	EXPECT_EQ(names.size(), settings().size());
	EXPECT_TRUE(names.contains("max_req_size"));
}

TEST(settings, table)
{
	const Module module;
	const std::string table =
		table_of_settings(read_settings(module.root()));

	EXPECT_EQ(table.find("NAME "), 0U);
	EXPECT_NE(table.find("\nwindow  "), std::string::npos) << table;
	EXPECT_NE(table.find(" 3-16384 "), std::string::npos) << table;
}

TEST(settings, what_cannot_be_meant)
{
	EXPECT_EQ(
		wrong({ "windows=3" }),
		"windows: there is no such setting; rpcrdmactl set lists them");
	EXPECT_EQ(wrong({ "=3" }),
		  ": there is no such setting; rpcrdmactl set lists them");
	EXPECT_EQ(wrong({ "window" }), "window: to which value? window=VALUE");
	EXPECT_EQ(wrong({ "window=" }), "window: to which value? window=VALUE");
	EXPECT_EQ(wrong({ "window=many" }), "window: many is not a number");
	EXPECT_EQ(wrong({ "window=64k" }), "window: 64k is not a number");
	EXPECT_EQ(wrong({ "window=-1" }), "window: -1 is not a number");
	EXPECT_EQ(wrong({ "window=2" }),
		  "window: 2 is not in the range 3 to 16384");
	EXPECT_EQ(wrong({ "window=16385" }),
		  "window: 16385 is not in the range 3 to 16384");
	EXPECT_EQ(wrong({ "keepalive=4294967296" }),
		  "keepalive: 4294967296 is not in the range 0 to 4294967295");
	EXPECT_EQ(wrong({ "window=4", "keepalive=5", "window=4" }),
		  "window: it is given twice");
	EXPECT_EQ(wrong({ "max_requests=64" }),
		  "max_requests: it is the same as window: set that");
	EXPECT_EQ(wrong({ "rdma_pad_optimize=1" }),
		  "rdma_pad_optimize: it has no effect");
	EXPECT_EQ(wrong({ "window=3", "keepalive=4294967295" }), "it is taken");
}

TEST(settings, set)
{
	const Module module;
	const auto done = write_changes(
		module.root(), read_changes({ "window=128", "keepalive=0",
					      "max_req_size=16384" }));

	ASSERT_EQ(done.size(), 3U);
	EXPECT_EQ(done[0].before, 64U);
	EXPECT_EQ(done[0].now, 128U);
	EXPECT_EQ(done[1].before, 30U);
	EXPECT_EQ(done[1].now, 0U);
	EXPECT_EQ(module.value("window"), 128U);
	EXPECT_EQ(module.value("keepalive"), 0U);
	EXPECT_EQ(module.value("max_req_size"), 16384U);
	EXPECT_EQ(module.value("idle_timeout"), 300U);
}

/* One is not there: the other is as it was. */
TEST(settings, another_module)
{
	const Module module;

	fs::remove(module.root() / Module::file("max_req_size"));
	EXPECT_THROW((void)write_changes(module.root(),
					 read_changes({ "window=128",
							"max_req_size=8192" })),
		     std::runtime_error);
	EXPECT_EQ(module.value("window"), 64U);
	/* The list has the others. */
	EXPECT_EQ(read_settings(module.root()).size(), settings().size() - 1);
}

/* A file of the kernel that takes no such number stands for one of the module. */
TEST(settings, the_kernel_refuses)
{
	const Module module;
	const fs::path refuses = module.root() / Module::file("idle_timeout");
	std::string what;

	fs::remove(refuses);
	fs::create_symlink("/proc/self/oom_score_adj", refuses);
	try {
		(void)write_changes(module.root(),
				    read_changes({ "window=128", "keepalive=7",
						   "idle_timeout=70000",
						   "max_req_size=16384" }));
	} catch (const std::runtime_error &error) {
		what = error.what();
	}
	EXPECT_EQ(what,
		  "idle_timeout: the kernel refuses 70000: Invalid argument; "
		  "nothing is changed");
	EXPECT_EQ(module.value("window"), 64U);
	EXPECT_EQ(module.value("keepalive"), 30U);
	EXPECT_EQ(module.value("max_req_size"), 8192U);
}

TEST(settings, what_follows)
{
	const std::vector<Json> up = { { { "role", "client" } },
				       { { "role", "client" } },
				       { { "role", "server" } } };

	EXPECT_EQ(line_of_change(changed("window=128", 64), up),
		  "window: 128, before 64; connections that are up follow at "
		  "once: 3");
	EXPECT_EQ(line_of_change(changed("ddp_threshold=0", 16384), up),
		  "ddp_threshold: 0, before 16384; for new connections; those "
		  "that are up keep the old value: 2");
	EXPECT_EQ(line_of_change(changed("max_req_size=4096", 8192), up),
		  "max_req_size: 4096, before 8192; for new connections; those "
		  "that are up keep the old value: 1");
	EXPECT_EQ(line_of_change(changed("idle_timeout=0", 300), up),
		  "idle_timeout: 0, before 300; for new mounts; those that are "
		  "there keep the old value");
	EXPECT_EQ(line_of_change(changed("window=64", 64), up),
		  "window: 64, as before");
	EXPECT_EQ(line_of_change(changed("window=32", 64), up),
		  "window: 32, before 64; connections that are up follow as the "
		  "peer sends: 3");
	/* Who was made while it was zero looks, too. */
	EXPECT_EQ(line_of_change(changed("keepalive=10", 30), up),
		  "keepalive: 10, before 30; connections that are up follow when "
		  "the old time is over: 2");
	EXPECT_EQ(
		line_of_change(changed("keepalive=10", 0), up),
		"keepalive: 10, before 0; connections that are up follow when "
		"the old time is over: 2");
}

TEST(settings, json_of_changes)
{
	const Json all = json_of_changes({ changed("window=128", 64) });

	EXPECT_EQ(all.dump(), R"([{"name":"window","before":64,"value":128,)"
			      R"("takes-effect":"at once"}])");
}

TEST(settings, sizes_of_a_connection)
{
	const auto why = [](const std::vector<std::string> &texts) {
		try {
			(void)read_sizes(texts);
		} catch (const Usage &error) {
			return std::string(error.what());
		}
		return std::string("it is taken");
	};
	const Sizes both =
		read_sizes({ "peer-receive-size=8192", "receive-size=16384" });

	EXPECT_EQ(both.mine, 16384u);
	EXPECT_EQ(both.peers, 8192u);
	EXPECT_EQ(read_sizes({ "receive-size=1024" }).peers, 0u);
	EXPECT_EQ(why({}), "--id: to which size? receive-size=VALUE or "
			   "peer-receive-size=VALUE");
	EXPECT_EQ(why({ "window=3" }), "window: a connection has receive-size and "
				       "peer-receive-size");
	EXPECT_EQ(why({ "receive-size=1023" }),
		  "receive-size: 1023 is not in the range 1024 to 65536");
	EXPECT_EQ(why({ "receive-size=2048", "receive-size=2048" }),
		  "receive-size: it is given twice");
	EXPECT_EQ(why({ "receive-size" }),
		  "receive-size: to which value? receive-size=VALUE");
}

} // namespace rpcrdmactl
