// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "rules.h"

#include <algorithm>

#include "quoted.h"

namespace rpcrdmactl
{

namespace
{

/* Chains can jump to others, but not in a circle. */
constexpr unsigned kDeepest = 16;

enum class Match : std::uint8_t { No, Yes, Maybe };
/* Open: nothing is decided. Unknown: it may be accepted. */
enum class Fate : std::uint8_t { Open, Accepted, Dropped, Unknown };

std::string text_in(const Json &object, const char *name)
{
	return object.is_object() && object.contains(name) &&
			       object.at(name).is_string() ?
		       object.at(name).get<std::string>() :
		       "";
}

Match match_of(bool yes)
{
	return yes ? Match::Yes : Match::No;
}

/* Does what the packet has equal a value, or is it in a set or range of values? */
template <typename T> Match among(const T &mine, const Json &value)
{
	if (value.is_array()) {
		Match found = Match::No;
		for (const Json &one : value) {
			const Match match = among(mine, one);
			if (match == Match::Yes)
				return match;
			if (match == Match::Maybe)
				found = match;
		}
		return found;
	}
	if (value.is_object() && value.contains("set"))
		return among(mine, value.at("set"));
	if constexpr (std::is_integral_v<T>) {
		if (value.is_number_unsigned())
			return match_of(value.get<T>() == mine);
		if (value.is_object() && value.contains("range")) {
			const Json &range = value.at("range");
			if (range.size() == 2 &&
			    range[0].is_number_unsigned() &&
			    range[1].is_number_unsigned())
				return match_of(range[0].get<T>() <= mine &&
						mine <= range[1].get<T>());
		}
	} else if (value.is_string()) {
		const auto text = value.get<std::string>();
		/* A set with a name. */
		if (!text.starts_with("@"))
			return match_of(text == mine);
	}
	return Match::Maybe;
}

class Walk {
public:
	Walk(const Json &items, const Packet &packet)
		: items_(items)
		, packet_(packet)
	{
	}

	[[nodiscard]] Fate chain(const Json &chain, unsigned depth = 0) const
	{
		for (const Json &item : items_) {
			if (!item.contains("rule") ||
			    !same_place(item.at("rule"), chain))
				continue;
			bool leave = false;
			const Fate fate = rule(item.at("rule"), leave, depth);
			if (fate != Fate::Open || leave)
				return fate;
		}
		return Fate::Open;
	}

	[[nodiscard]] bool same_table(const Json &one, const Json &other) const
	{
		return text_in(one, "family") == text_in(other, "family") &&
		       text_in(one, "table") == text_in(other, "table");
	}

private:
	[[nodiscard]] bool same_place(const Json &rule, const Json &chain) const
	{
		return same_table(rule, chain) &&
		       text_in(rule, "chain") == text_in(chain, "name");
	}

	/* @leave: the rest of the chain is not for this packet. */
	[[nodiscard]] Fate rule(const Json &rule, bool &leave,
				unsigned depth) const
	{
		bool sure = true;

		if (!rule.contains("expr"))
			return Fate::Open;
		for (const Json &statement : rule.at("expr")) {
			if (!statement.is_object() || statement.empty())
				return Fate::Unknown;
			const std::string name = statement.begin().key();
			if (name == "match") {
				const Match found =
					matches(statement.at("match"));
				if (found == Match::No)
					return Fate::Open;
				sure = sure && found == Match::Yes;
			} else if (name == "limit" || name == "xt" ||
				   name == "quota" || name == "ct count") {
				sure = false;
			} else if (name == "vmap") {
				return vmap(statement.at("vmap"), rule, sure,
					    leave, depth);
			} else if (is_verdict(name)) {
				return verdict(statement, rule, sure, leave,
					       depth);
			} else if (name == "queue") {
				return Fate::Unknown;
			}
		}
		return Fate::Open;
	}

	static bool is_verdict(const std::string &name)
	{
		return name == "accept" || name == "drop" || name == "reject" ||
		       name == "jump" || name == "goto" || name == "return" ||
		       name == "continue";
	}

	[[nodiscard]] Fate verdict(const Json &statement, const Json &rule,
				   bool sure, bool &leave, unsigned depth) const
	{
		const std::string name = statement.begin().key();

		if (name == "accept")
			return sure ? Fate::Accepted : Fate::Unknown;
		if (name == "drop" || name == "reject")
			return sure ? Fate::Dropped : Fate::Open;
		if (name == "continue")
			return Fate::Open;
		/* What follows may not be for this packet. */
		if (!sure && name != "jump")
			return Fate::Unknown;
		leave = name != "jump";
		if (name == "return")
			return Fate::Open;
		if (depth == kDeepest)
			return Fate::Unknown;
		Json target = rule;
		target["name"] = text_in(statement.begin().value(), "target");
		const Fate fate = chain(target, depth + 1);
		if (sure)
			return fate;
		return fate == Fate::Accepted ? Fate::Unknown :
		       fate == Fate::Dropped  ? Fate::Open :
						fate;
	}

	[[nodiscard]] Fate vmap(const Json &map, const Json &rule, bool sure,
				bool &leave, unsigned depth) const
	{
		if (!map.is_object() || !map.contains("key") ||
		    !map.contains("data") || !map.at("data").is_object() ||
		    !map.at("data").contains("set"))
			return Fate::Unknown;
		for (const Json &pair : map.at("data").at("set")) {
			if (!pair.is_array() || pair.size() != 2 ||
			    !pair[1].is_object() || pair[1].empty())
				return Fate::Unknown;
			const Match found = equals(map.at("key"), pair[0]);
			if (found == Match::No)
				continue;
			const Fate fate =
				verdict(pair[1], rule,
					sure && found == Match::Yes, leave,
					depth);
			if (fate != Fate::Open || leave)
				return fate;
		}
		return Fate::Open;
	}

	[[nodiscard]] Match matches(const Json &match) const
	{
		const std::string op = text_in(match, "op");

		if (!match.contains("left") || !match.contains("right"))
			return Match::Maybe;
		const Match found = equals(match.at("left"), match.at("right"));
		if (op == "==" || op == "in")
			return found;
		if (op == "!=" && found != Match::Maybe)
			return match_of(found == Match::No);
		return Match::Maybe;
	}

	/* Is the packet's @left equal to @right? */
	[[nodiscard]] Match equals(const Json &left, const Json &right) const
	{
		if (!left.is_object() || left.empty())
			return Match::Maybe;
		const std::string kind = left.begin().key();
		const Json &what = left.begin().value();
		const std::string key = text_in(what, "key");

		if (kind == "payload")
			return payload(what, right);
		if (kind == "ct" && key == "state")
			return among(std::string("new"), right);
		if (kind != "meta")
			return Match::Maybe;
		if (key == "l4proto")
			return protocol(right);
		if (key == "nfproto")
			return among(std::string(packet_.family == "ip" ?
							 "ipv4" :
							 "ipv6"),
				     right);
		/* It comes from another machine. */
		if ((key.ends_with("if") || key.ends_with("ifname")) &&
		    right.is_string() && right.get<std::string>() == "lo")
			return Match::No;
		return Match::Maybe;
	}

	[[nodiscard]] Match protocol(const Json &right) const
	{
		if (right.is_number_unsigned())
			return among(packet_.protocol == "udp" ? 17U : 6U,
				     right);
		return among(packet_.protocol, right);
	}

	[[nodiscard]] Match payload(const Json &what, const Json &right) const
	{
		const std::string layer = text_in(what, "protocol");
		const std::string field = text_in(what, "field");

		if (layer == packet_.family)
			return field == "protocol" || field == "nexthdr" ?
				       protocol(right) :
				       Match::Maybe;
		if (layer == "th" || layer == packet_.protocol)
			return field == "dport" ? among(packet_.port, right) :
						  Match::Maybe;
		/* The other version of IP, or another protocol above it. */
		return layer.empty() || layer == "ether" || layer == "vlan" ?
			       Match::Maybe :
			       Match::No;
	}

	const Json &items_;
	const Packet &packet_;
};

std::string owner_of(const Json &items, const Walk &walk, const Json &chain)
{
	if (text_in(chain, "table") == "firewalld")
		return "firewalld";
	for (const Json &item : items)
		if (item.contains("chain") &&
		    walk.same_table(item.at("chain"), chain) &&
		    (text_in(item.at("chain"), "name").starts_with("ufw-") ||
		     text_in(item.at("chain"), "name").starts_with("ufw6-")))
			return "ufw";
	const std::string name = text_in(chain, "name");
	return text_in(chain, "family") != "inet" &&
			       (name == "INPUT" || name == "OUTPUT") ?
		       "iptables" :
		       "nft";
}

} // namespace

std::vector<Dropping> dropping(const Json &ruleset, const Packet &packet)
{
	std::vector<Dropping> found;

	if (!ruleset.is_object() || !ruleset.contains("nftables"))
		return found;
	const Json &items = ruleset.at("nftables");
	const Walk walk(items, packet);
	for (const Json &item : items) {
		if (!item.contains("chain"))
			continue;
		const Json &chain = item.at("chain");
		const std::string family = text_in(chain, "family");
		const std::string hook = text_in(chain, "hook");
		if ((family != packet.family && family != "inet") ||
		    text_in(chain, "type") != "filter" ||
		    (hook != "input" && hook != "prerouting" &&
		     hook != "output"))
			continue;
		const Fate fate = walk.chain(chain);
		if (fate == Fate::Dropped ||
		    (fate == Fate::Open && text_in(chain, "policy") == "drop"))
			found.push_back({ family, text_in(chain, "table"),
					  text_in(chain, "name"),
					  hook == "output",
					  owner_of(items, walk, chain) });
	}
	return found;
}

std::string letting_pass(const Dropping &dropping, const Packet &packet)
{
	const std::string port = std::to_string(packet.port);

	if (dropping.owner == "firewalld" && !dropping.output)
		return "firewall-cmd --add-port=" + port + "/" +
		       packet.protocol + " && firewall-cmd --runtime-to-permanent";
	if (dropping.owner == "ufw")
		return std::string("ufw allow ") +
		       (dropping.output ? "out " : "") + port + "/" +
		       packet.protocol;
	if (dropping.owner == "iptables")
		return (dropping.family == "ip6" ? "ip6tables -I " :
						   "iptables -I ") +
		       quoted(dropping.chain) + " -p " + packet.protocol +
		       " --dport " + port + " -j ACCEPT";
	return "nft insert rule " + dropping.family + " " +
	       quoted(dropping.table) + " " + quoted(dropping.chain) + " " +
	       packet.protocol + " dport " + port + " accept";
}

} // namespace rpcrdmactl
