/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Messages of the netlink family as JSON, with the names of the description.
 */
#ifndef _RPCRDMACTL_MESSAGE_H
#define _RPCRDMACTL_MESSAGE_H

#include <string>

#include <linux/netlink.h>
#include <nlohmann/json.hpp>

#include "table.h"

namespace rpcrdmactl
{

/* Members stay in the order in which the kernel has put them. */
using Json = nlohmann::ordered_json;

/**
 * Read the attributes of a message.
 *
 * @message: a whole message, with the header of generic netlink
 * @set: what they are; others are left out
 *
 * Throws std::runtime_error if an attribute is shorter than what it has to be.
 */
[[nodiscard]] Json read_message(const nlmsghdr &message, Set set);

/* Does a message of nlctrl, with its headers, say that the family @id is gone? */
[[nodiscard]] bool says_gone(const nlmsghdr &message, std::uint16_t id);

/* "192.0.2.1:20049" or "[2001:db8::1]:20049"; throws if it is neither. */
[[nodiscard]] std::string address_text(std::span<const std::byte> sockaddr);

/**
 * Give numbers of header types, errors and refusals their names.
 *
 * @conn: a connection as the kernel has sent it
 * @module: the answer to module-get, which has the names
 */
void name_numbers(Json &conn, const Json &module);

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_MESSAGE_H */
