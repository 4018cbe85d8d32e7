/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Whether this machine's own rules for packets let RDMA through.
 */
#ifndef _RPCRDMACTL_RULES_H
#define _RPCRDMACTL_RULES_H

#include <string>
#include <vector>

#include "message.h"

namespace rpcrdmactl
{

/**
 * The first packet of somebody who has not been heard of before
 * @protocol: "udp" or "tcp"
 * @port: where it goes to
 * @family: "ip" for IPv4 or "ip6", as tables have it
 */
struct Packet {
	std::string protocol;
	unsigned port = 0;
	std::string family = "ip";
};

/**
 * A chain that drops it
 * @family: of its table: "ip", "ip6" or "inet"
 * @output: packets that leave this machine pass it, else packets that come in
 * @owner: the program that has made the table: "firewalld", "ufw", "iptables", or "nft" if
 *	it is none of these
 */
struct Dropping {
	std::string family;
	std::string table;
	std::string chain;
	bool output = false;
	std::string owner;
};

/**
 * Find the chains that surely drop a packet.
 *
 * @ruleset: what "nft -j list ruleset" prints; null if it is not known
 *
 * A rule that depends on more than protocol and port may let it pass; where that is so, the
 * chain is left out.
 */
[[nodiscard]] std::vector<Dropping> dropping(const Json &ruleset,
					     const Packet &packet);

/* The command with which the administrator lets it pass. */
[[nodiscard]] std::string letting_pass(const Dropping &dropping,
				       const Packet &packet);

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_RULES_H */
