// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "rules.h"

#include <gtest/gtest.h>

namespace rpcrdmactl
{

namespace
{

constexpr const char *kUdp4791 =
	R"({"match": {"op": "==", "left": {"payload": {"protocol": "udp",
	    "field": "dport"}}, "right": 4791}})";
const Packet kRoce = { "udp", 4791 };

std::string match(const std::string &left, const std::string &right,
		  const std::string &op = "==")
{
	return R"({"match": {"op": ")" + op + R"(", "left": )" + left +
	       R"(, "right": )" + right + "}}";
}

std::string dport(const std::string &protocol, const std::string &right)
{
	return match(R"({"payload": {"protocol": ")" + protocol +
			     R"(", "field": "dport"}})",
		     right);
}

std::string meta(const std::string &key, const std::string &right)
{
	return match(R"({"meta": {"key": ")" + key + R"("}})", right);
}

std::string verdict(const std::string &name)
{
	return R"({")" + name + R"(": null})";
}

std::string jump(const std::string &target, const std::string &name = "jump")
{
	return R"({")" + name + R"(": {"target": ")" + target + R"("}})";
}

using Statements = std::vector<std::string>;
/* Rules of a chain, each with its statements. */
using Rules = std::vector<std::pair<std::string, Statements>>;

/* A table with a base chain "input" and another chain "more". */
Json table(const Rules &rules, const std::string &policy = "accept",
	   const std::string &family = "inet", const std::string &name = "filter",
	   const std::string &hook = "input", const std::string &base = "input")
{
	const std::string place =
		R"("family": ")" + family + R"(", "table": ")" + name + R"(", )";
	std::string text = R"({"nftables": [{"metainfo": {}}, {"chain": {)" +
			   place + R"("name": ")" + base +
			   R"(", "type": "filter", "hook": ")" + hook +
			   R"(", "policy": ")" + policy +
			   R"("}}, {"chain": {)" + place +
			   R"("name": "more"}})";

	for (const auto &[chain, statements] : rules) {
		text += R"(, {"rule": {)" + place + R"("chain": ")" + chain +
			R"(", "expr": [)";
		for (std::size_t i = 0; i < statements.size(); i++)
			text += (i ? ", " : "") + statements[i];
		text += "]}}";
	}
	return Json::parse(text + "]}");
}

bool drops(const Rules &rules, const std::string &policy = "accept")
{
	return !dropping(table(rules, policy), kRoce).empty();
}

} // namespace

TEST(rules, none)
{
	EXPECT_TRUE(dropping(Json(), kRoce).empty());
	EXPECT_TRUE(dropping(Json::object(), kRoce).empty());
	EXPECT_FALSE(drops({}));
	EXPECT_TRUE(drops({}, "drop"));
}

TEST(rules, of_one_port)
{
	EXPECT_TRUE(drops({ { "input", { kUdp4791, verdict("drop") } } }));
	EXPECT_TRUE(drops({ { "input", { kUdp4791, R"({"counter": {}})",
					 verdict("reject") } } }));
	EXPECT_FALSE(drops({ { "input", { kUdp4791, verdict("accept") } } },
			   "drop"));
	EXPECT_FALSE(drops({ { "input", { dport("tcp", "4791"),
					  verdict("drop") } } }));
	EXPECT_FALSE(
		drops({ { "input", { dport("udp", "53"), verdict("drop") } } }));
	EXPECT_TRUE(drops({ { "input", { dport("th", "4791"),
					 verdict("drop") } } }));
	/* The first that decides. */
	EXPECT_FALSE(drops({ { "input", { kUdp4791, verdict("accept") } },
			     { "input", { verdict("drop") } } }));
	EXPECT_TRUE(drops({ { "input", { verdict("drop") } },
			    { "input", { kUdp4791, verdict("accept") } } }));
}

TEST(rules, of_several)
{
	const char *const with[] = { R"({"set": [22, 4791]})",
				     R"({"range": [4000, 5000]})",
				     R"({"set": [22, {"range": [1, 4791]}]})" };
	const char *const without[] = { R"({"set": [22, 4792]})",
					R"({"range": [4000, 4790]})",
					R"({"set": []})" };

	for (const char *ports : with)
		EXPECT_TRUE(drops({ { "input", { dport("udp", ports),
						 verdict("drop") } } }))
			<< ports;
	for (const char *ports : without)
		EXPECT_FALSE(drops({ { "input", { dport("udp", ports),
						  verdict("drop") } } }))
			<< ports;
	/* A set that has a name may have the port. */
	EXPECT_FALSE(drops({ { "input", { dport("udp", R"("@open")"),
					  verdict("accept") } } },
			   "drop"));
	EXPECT_FALSE(drops({ { "input", { dport("udp", R"("@shut")"),
					  verdict("drop") } } }));
	EXPECT_FALSE(drops({ { "input",
			       { match(R"({"payload": {"protocol": "udp",
				    "field": "dport"}})",
				       "4791", "!="),
				 verdict("drop") } } }));
}

TEST(rules, of_a_protocol)
{
	EXPECT_TRUE(drops({ { "input", { meta("l4proto", R"("udp")"),
					 verdict("drop") } } }));
	EXPECT_TRUE(drops({ { "input", { meta("l4proto", "17"),
					 verdict("drop") } } }));
	EXPECT_FALSE(drops({ { "input", { meta("l4proto", R"("tcp")"),
					  verdict("drop") } } }));
	EXPECT_FALSE(drops({ { "input", { meta("nfproto", R"("ipv6")"),
					  verdict("drop") } } }));
	EXPECT_TRUE(drops(
		{ { "input", { match(R"({"payload": {"protocol": "ip",
			"field": "protocol"}})",
				     R"("udp")"),
			       verdict("drop") } } }));
	EXPECT_FALSE(drops(
		{ { "input", { match(R"({"payload": {"protocol": "ip6",
			"field": "nexthdr"}})",
				     R"("udp")"),
			       verdict("drop") } } }));
}

/* An ordinary firewall: it lets in what was asked for, what is local, and ssh. */
TEST(rules, usual)
{
	Rules rules = {
		{ "input", { match(R"({"ct": {"key": "state"}})",
				   R"(["established", "related"])", "in"),
			     verdict("accept") } },
		{ "input", { meta("iifname", R"("lo")"), verdict("accept") } },
		{ "input", { dport("tcp", "22"), verdict("accept") } },
	};

	EXPECT_TRUE(drops(rules, "drop"));
	/* It may come from there. */
	rules.push_back({ "input", { meta("iifname", R"("eth1")"),
				     verdict("accept") } });
	EXPECT_FALSE(drops(rules, "drop"));
	rules.back() = { "input", { kUdp4791, R"({"limit": {}})",
				    verdict("accept") } };
	EXPECT_FALSE(drops(rules, "drop"));
	rules.back() = { "input", { R"({"xt": null})", verdict("drop") } };
	EXPECT_FALSE(drops(rules));
}

/* What nft 1.0.6 prints of such a table. */
TEST(rules, as_nft_prints)
{
	Json printed = Json::parse(R"({"nftables": [
	{"metainfo": {"version": "1.0.6", "json_schema_version": 1}},
	{"table": {"family": "inet", "name": "guard", "handle": 1}},
	{"chain": {"family": "inet", "table": "guard", "name": "input",
	  "handle": 1, "type": "filter", "hook": "input", "prio": 0,
	  "policy": "drop"}},
	{"rule": {"family": "inet", "table": "guard", "chain": "input",
	  "handle": 2, "expr": [{"match": {"op": "in",
	  "left": {"ct": {"key": "state"}},
	  "right": ["established", "related"]}}, {"accept": null}]}},
	{"rule": {"family": "inet", "table": "guard", "chain": "input",
	  "handle": 3, "expr": [{"match": {"op": "==",
	  "left": {"meta": {"key": "iifname"}}, "right": "lo"}},
	  {"accept": null}]}},
	{"rule": {"family": "inet", "table": "guard", "chain": "input",
	  "handle": 5, "expr": [{"match": {"op": "==",
	  "left": {"meta": {"key": "l4proto"}},
	  "right": {"set": ["icmp", "ipv6-icmp"]}}}, {"accept": null}]}},
	{"rule": {"family": "inet", "table": "guard", "chain": "input",
	  "handle": 7, "expr": [{"match": {"op": "==",
	  "left": {"payload": {"protocol": "tcp", "field": "dport"}},
	  "right": {"set": [111, 2049, 20048]}}}, {"accept": null}]}}]})");

	const auto found = dropping(printed, kRoce);
	ASSERT_EQ(found.size(), 1U);
	EXPECT_EQ(letting_pass(found[0], kRoce),
		  "nft insert rule inet guard input udp dport 4791 accept");
	EXPECT_TRUE(dropping(printed, { "tcp", 2049 }).empty());
	/* What that command makes of it. */
	Json &items = printed["nftables"];
	items.insert(items.begin() + 3, Json::parse(R"({"rule": {
	  "family": "inet", "table": "guard", "chain": "input", "handle": 8,
	  "expr": [{"match": {"op": "==",
	  "left": {"payload": {"protocol": "udp", "field": "dport"}},
	  "right": 4791}}, {"accept": null}]}})"));
	EXPECT_TRUE(dropping(printed, kRoce).empty());
}

TEST(rules, maps)
{
	const std::string states =
		R"({"vmap": {"key": {"ct": {"key": "state"}}, "data": {"set":
		    [["established", {"accept": null}],
		     ["invalid", {"drop": null}]]}}})";
	const std::string ports =
		R"({"vmap": {"key": {"payload": {"protocol": "udp",
		    "field": "dport"}}, "data": {"set":
		    [[53, {"drop": null}], [4791, {"accept": null}]]}}})";

	EXPECT_TRUE(drops({ { "input", { states } } }, "drop"));
	EXPECT_FALSE(drops({ { "input", { states } } }));
	EXPECT_FALSE(drops({ { "input", { ports } } }, "drop"));
	EXPECT_FALSE(drops({ { "input", { R"({"vmap": {"key": {"meta":
		{"key": "iifname"}}, "data": "@zones"}})" } } },
			   "drop"));
}

TEST(rules, other_chains)
{
	const std::pair<std::string, Statements> drop = {
		"more", { kUdp4791, verdict("drop") }
	};

	EXPECT_FALSE(drops({ drop }));
	EXPECT_TRUE(drops({ drop, { "input", { jump("more") } } }));
	EXPECT_FALSE(drops({ drop, { "input", { dport("tcp", "1"),
						jump("more") } } }));
	EXPECT_FALSE(drops({ drop, { "input", { meta("iifname", R"("eth1")"),
						jump("more") } } }));
	/* What comes behind a jump goes on, behind a goto it does not. */
	EXPECT_TRUE(drops({ { "input", { jump("more") } },
			    { "input", { verdict("drop") } } }));
	EXPECT_FALSE(drops({ { "input", { jump("more", "goto") } },
			     { "input", { verdict("drop") } } }));
	EXPECT_FALSE(drops({ { "more", { verdict("return") } },
			     drop,
			     { "input", { jump("more") } } }));
	/* The kernel has none that goes in a circle. */
	EXPECT_FALSE(drops({ { "more", { jump("more") } },
			     { "input", { jump("more") } } },
			   "drop"));
}

TEST(rules, where)
{
	const auto of = [](const std::string &family, const std::string &name,
			   const std::string &hook, const std::string &base) {
		return dropping(table({}, "drop", family, name, hook, base),
				kRoce);
	};

	EXPECT_TRUE(of("ip6", "filter", "input", "input").empty());
	EXPECT_TRUE(of("inet", "filter", "forward", "forward").empty());
	const auto out = of("inet", "filter", "output", "output");
	ASSERT_EQ(out.size(), 1U);
	EXPECT_TRUE(out[0].output);
	EXPECT_EQ(letting_pass(out[0], kRoce),
		  "nft insert rule inet filter output udp dport 4791 accept");
	EXPECT_EQ(letting_pass({ "inet", "a;b", "it's", false, "nft" }, kRoce),
		  "nft insert rule inet 'a;b' 'it'\\''s' udp dport 4791 "
		  "accept");
	EXPECT_EQ(letting_pass(of("ip", "filter", "input", "INPUT").at(0),
			       kRoce),
		  "iptables -I INPUT -p udp --dport 4791 -j ACCEPT");
	EXPECT_EQ(letting_pass(of("inet", "firewalld", "input", "filter_INPUT")
				       .at(0),
			       { "tcp", 20049 }),
		  "firewall-cmd --add-port=20049/tcp && firewall-cmd "
		  "--runtime-to-permanent");
	Json ufw = table({}, "drop", "ip", "filter", "input", "INPUT");
	ufw["nftables"].push_back(Json::parse(
		R"({"chain": {"family": "ip", "table": "filter",
		    "name": "ufw-before-input"}})"));
	EXPECT_EQ(letting_pass(dropping(ufw, kRoce).at(0), kRoce),
		  "ufw allow 4791/udp");
}

TEST(rules, of_ipv6)
{
	const Packet six = { "udp", 4791, "ip6" };
	const auto drops_six = [&](const Rules &rules,
				   const std::string &family = "inet") {
		return !dropping(table(rules, "accept", family), six).empty();
	};
	const Rules all = { { "input", { kUdp4791, verdict("drop") } } };
	const auto nfproto = [](const char *name) {
		return Rules{ { "input",
				{ meta("nfproto", name), verdict("drop") } } };
	};
	const Rules next = { { "input",
			       { match(R"({"payload": {"protocol": "ip6",
				     "field": "nexthdr"}})",
				       R"("udp")"),
				 verdict("drop") } } };
	const Rules old = { { "input",
			      { match(R"({"payload": {"protocol": "ip",
				     "field": "protocol"}})",
				      R"("udp")"),
				verdict("drop") } } };

	EXPECT_TRUE(drops_six(all));
	EXPECT_TRUE(drops_six(all, "ip6"));
	EXPECT_FALSE(drops_six(all, "ip"));
	EXPECT_TRUE(drops_six(nfproto(R"("ipv6")")));
	EXPECT_FALSE(drops_six(nfproto(R"("ipv4")")));
	EXPECT_FALSE(drops(nfproto(R"("ipv6")")));
	EXPECT_TRUE(drops_six(next));
	EXPECT_FALSE(drops(next));
	EXPECT_FALSE(drops_six(old));
	EXPECT_TRUE(drops(old));

	EXPECT_EQ(letting_pass(dropping(table({}, "drop", "ip6", "filter",
					      "input", "INPUT"),
					six)
				       .at(0),
			       six),
		  "ip6tables -I INPUT -p udp --dport 4791 -j ACCEPT");
	Json ufw = table({}, "drop", "ip6", "filter", "input", "INPUT");
	ufw["nftables"].push_back(Json::parse(
		R"({"chain": {"family": "ip6", "table": "filter",
		    "name": "ufw6-before-input"}})"));
	EXPECT_EQ(letting_pass(dropping(ufw, six).at(0), six),
		  "ufw allow 4791/udp");
}

} // namespace rpcrdmactl
