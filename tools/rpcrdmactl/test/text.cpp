// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "text.h"

#include <gtest/gtest.h>
#include <set>
#include <sstream>

#include "data.h"
#include "json_text.h"

namespace rpcrdmactl
{

TEST(text, connections)
{
	EXPECT_EQ(table_of_connections(test::status().connections),
		  test::file("test/data/connections.txt"));
	EXPECT_EQ(table_of_connections({}),
		  "ID  ROLE  STATE  VER  LOCAL  PEER  DEVICE  CREDITS  CALLS  "
		  "AGE  MOUNT/EXPORT\n");
}

TEST(text, details)
{
	std::string all;

	for (const Json &conn : test::status().connections)
		all += details_of_connection(conn);
	EXPECT_EQ(all, test::file("test/data/details.txt"));
}

TEST(text, devices_listeners_and_module)
{
	const Status s = test::status();

	EXPECT_EQ(table_of_devices(s.devices) +
			  table_of_listeners(s.listeners) +
			  lines_of_module(s.module),
		  test::file("test/data/objects.txt"));
}

TEST(text, metrics)
{
	EXPECT_EQ(metrics(test::status()), test::file("test/data/metrics.txt"));
}

/* Who reads the older format learns the type and the help of each sample by its name. */
TEST(text, metrics__in_the_format_of_prometheus)
{
	const std::string text = metrics(test::status(), Format::Prometheus);
	std::istringstream lines(text), new_lines(metrics(test::status()));
	std::multiset<std::string> samples, new_samples;
	std::string family;

	EXPECT_EQ(text, test::file("test/data/metrics.prom"));
	for (std::string line; std::getline(lines, line);) {
		if (line.starts_with("# TYPE "))
			family = line.substr(7, line.rfind(' ') - 7);
		if (line[0] == '#')
			continue;
		EXPECT_EQ(line.substr(0, line.find_first_of("{ ")), family);
		samples.insert(line);
	}
	for (std::string line; std::getline(new_lines, line);)
		if (line[0] != '#')
			new_samples.insert(line);
	EXPECT_EQ(samples, new_samples);
	EXPECT_NE(text.find("\n# TYPE rpcrdma_credit_waits_total counter\n"),
		  std::string::npos);
	EXPECT_EQ(text.find("# EOF"), std::string::npos);
}

/* Who sums a family over one of its labels counts nothing twice. */
TEST(text, metrics__have_no_totals_among_their_parts)
{
	const std::string text = metrics(test::status());

	EXPECT_EQ(text.find("\"total\""), std::string::npos);
	EXPECT_EQ(text.find("\"wire\""), std::string::npos);
}

/* One for each listener, also if several have one address. */
TEST(text, metrics__are_told_once)
{
	Status s = test::status();
	std::set<std::string> seen;

	s.listeners.push_back(s.listeners[0]);
	s.listeners[2]["id"] = 3;
	s.listeners[2]["device"] = "rxe1";
	std::istringstream lines(metrics(s));
	for (std::string line; std::getline(lines, line);)
		if (line[0] != '#')
			EXPECT_TRUE(seen.insert(line.substr(0, line.rfind(' ')))
					    .second)
				<< line;
	EXPECT_GT(seen.size(), 50U);
}

TEST(text, metrics__without_connections)
{
	const std::string text = metrics({ Json::object(), {}, {}, {} });

	EXPECT_EQ(text.find("NaN"), std::string::npos);
	EXPECT_NE(text.find("\nrpcrdma_module_loaded 0\n"), std::string::npos);
	EXPECT_EQ(text.find("\nrpcrdma_module_info{"), std::string::npos);
	EXPECT_EQ(text.substr(text.size() - 6), "# EOF\n");
}

/* Of the connections with its server, the one that is worst. */
TEST(text, metrics__say_what_version_a_mount_speaks)
{
	Status s = test::status();
	const auto version = [&s](const std::string &number) {
		return metrics(s).find("{mount=\"/mnt\",peer=\"192.0.2.1:20049"
				       "\",protocol=\"rdma\",version=\"" +
				       number + "\"} 1\n") != std::string::npos;
	};

	EXPECT_TRUE(version("2"));
	s.connections.push_back(s.connections[0]);
	s.connections[2]["id"] = 8;
	s.connections[2]["version"] = 1;
	EXPECT_TRUE(version("1"));
	s.connections[2]["role"] = "server";
	EXPECT_TRUE(version("2"));
	s.connections[2]["role"] = "client";
	s.connections[2]["peer-address"] = "192.0.2.9:20049";
	EXPECT_TRUE(version("2"));
	s.connections.clear();
	EXPECT_TRUE(version("-"));
}

/* Else who reads them takes none, and if two are alike, none either. */
TEST(text, metrics__are_utf_8_whatever_a_path_is)
{
	Status s = test::status();

	s.mounts = { { "/\xc3\xa4", "-", "tcp" },
		     { "/\xe4", "-", "tcp" },
		     { "/\xf6", "-", "tcp" } };
	const std::string text = metrics(s);
	for (const char *point : { "/\xc3\xa4", "/\\\\344", "/\\\\366" })
		EXPECT_NE(text.find(std::string("{mount=\"") + point + "\","),
			  std::string::npos)
			<< point;
	EXPECT_NO_THROW((void)Json(text).dump());
}

TEST(text, json__is_utf_8_whatever_a_path_is)
{
	const Json json = { { "what", "/\xe4 \xc3\xa4" } };

	EXPECT_EQ(json_text(json), "{\"what\":\"/\xef\xbf\xbd \xc3\xa4\"}");
	EXPECT_EQ(json_text(json, 2),
		  "{\n  \"what\": \"/\xef\xbf\xbd \xc3\xa4\"\n}");
}

TEST(text, events)
{
	const Status s = test::status();

	EXPECT_EQ(
		event_line("up", s.connections[0]),
		"up 1 client 192.0.2.2:40001 - 192.0.2.1:20049 rxe0 version 2 "
		"(best) authenticated, key one");
	EXPECT_EQ(event_line("auth-failed", s.connections[1]).substr(0, 72),
		  "auth-failed 7 server [2001:db8::1]:20049 - "
		  "[2001:db8::2]:51000 rxe0 vers");
	EXPECT_TRUE(event_line("auth-failed", s.connections[1])
			    .find(" version -: proof, key two") !=
		    std::string::npos);
	/* There was no connection. */
	EXPECT_EQ(event_line("auth-failed",
			     { { "role", "client" },
			       { "peer-address", "192.0.2.1:20049" },
			       { "authentication",
				 { { "policy", "required" },
				   { "outcome", "failed" },
				   { "reason", "no-key" } } } }),
		  "auth-failed - client - - 192.0.2.1:20049 - version -: "
		  "no-key, key none");
	EXPECT_EQ(event_line("version", s.connections[0]),
		  "version 1 client 192.0.2.2:40001 - 192.0.2.1:20049 rxe0 "
		  "version 2 (best)");
	EXPECT_EQ(
		event_line("down", s.connections[1]),
		"down 7 server [2001:db8::1]:20049 - [2001:db8::2]:51000 rxe0 "
		"version - never up, after 0.9s: a \"quoted\\\" reason");
}

/* One that was there, one that is new, and one whose counters are lower: nothing. */
TEST(text, rates)
{
	std::vector<Json> before = { test::status().connections[0] };
	std::vector<Json> now = before;

	now[0]["header-type"][1]["sent"] = 1490 + 200;
	now[0]["header-type"][2]["received"] = 1388 + 100;
	now[0]["formats"]["simple-sent"] = 1480 + 200;
	now[0]["octets"]["wire-sent"] = 450000 + 40000;
	now[0]["octets"]["read-chunk"] = 1048576 + 20000000;
	now[0]["octets"]["wire-received"] = 1;
	now.push_back(test::status().connections[0]);
	now[1]["id"] = 2;
	EXPECT_EQ(table_of_rates(before, now, 2),
		  test::file("test/data/rates.txt"));
}

} // namespace rpcrdmactl
