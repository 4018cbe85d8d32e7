// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "message.h"

#include <arpa/inet.h>
#include <linux/genetlink.h>
#include <netinet/in.h>
#include <stdexcept>

#include "attributes.h"

namespace rpcrdmactl
{

namespace
{

Json read_attributes(Payload attributes, Set set);

std::size_t least(Kind kind)
{
	switch (kind) {
	case Kind::U32:
		return sizeof(std::uint32_t);
	case Kind::U64:
		return sizeof(std::uint64_t);
	default:
		return 0;
	}
}

Json read_value(Payload payload, const Attribute &a)
{
	if (payload.size() < least(a.kind))
		throw std::runtime_error(std::string(a.name) +
					 ": attribute is too short");
	switch (a.kind) {
	case Kind::U32: {
		const auto value = integer<std::uint32_t>(payload);
		if (value < a.names.size())
			return a.names[value];
		return value;
	}
	case Kind::U64:
		return integer<std::uint64_t>(payload);
	case Kind::String:
		return text(payload);
	case Kind::Address:
		return address_text(payload);
	case Kind::Nest:
		return read_attributes(payload, *a.nested);
	case Kind::Flag:
	case Kind::Pad:
		break;
	}
	return true;
}

const Attribute *find(Set set, std::uint16_t type)
{
	for (const Attribute &a : set)
		if (a.type == type)
			return &a;
	return nullptr;
}

Json read_attributes(Payload attributes, Set set)
{
	Json object = Json::object();

	/* One that is not sent is not set. */
	for (const Attribute &a : set)
		if (a.kind == Kind::Flag)
			object[a.name] = false;
	each_attribute(attributes, [&](std::uint16_t type, Payload payload) {
		const Attribute *a = find(set, type);
		if (!a || a->kind == Kind::Pad)
			return;
		Json value = read_value(payload, *a);
		if (a->several)
			object[a->name].push_back(std::move(value));
		else
			object[a->name] = std::move(value);
	});
	return object;
}

} // namespace

Json read_message(const nlmsghdr &message, Set set)
{
	if (mnl_nlmsg_get_payload_len(&message) < GENL_HDRLEN)
		throw std::runtime_error("message is too short");
	return read_attributes(payload_of(message, GENL_HDRLEN), set);
}

bool says_gone(const nlmsghdr &message, std::uint16_t id)
{
	bool gone = false;

	if (message.nlmsg_type != GENL_ID_CTRL ||
	    mnl_nlmsg_get_payload_len(&message) < GENL_HDRLEN ||
	    static_cast<const genlmsghdr *>(mnl_nlmsg_get_payload(&message))
			    ->cmd != CTRL_CMD_DELFAMILY)
		return false;
	each_attribute(payload_of(message, GENL_HDRLEN),
		       [&](std::uint16_t type, Payload payload) {
			       if (type == CTRL_ATTR_FAMILY_ID)
				       gone = integer<std::uint16_t>(payload) ==
					      id;
		       });
	return gone;
}

std::string address_text(std::span<const std::byte> sockaddr)
{
	char text[INET6_ADDRSTRLEN];
	sockaddr_in in = {};
	sockaddr_in6 in6 = {};
	sa_family_t family = AF_UNSPEC;

	if (sockaddr.size() >= sizeof(family))
		std::memcpy(&family, sockaddr.data(), sizeof(family));
	if (family == AF_INET && sockaddr.size() >= sizeof(in)) {
		std::memcpy(&in, sockaddr.data(), sizeof(in));
		inet_ntop(AF_INET, &in.sin_addr, text, sizeof(text));
		return std::string(text) + ":" +
		       std::to_string(ntohs(in.sin_port));
	}
	if (family == AF_INET6 && sockaddr.size() >= sizeof(in6)) {
		std::memcpy(&in6, sockaddr.data(), sizeof(in6));
		inet_ntop(AF_INET6, &in6.sin6_addr, text, sizeof(text));
		return "[" + std::string(text) +
		       "]:" + std::to_string(ntohs(in6.sin6_port));
	}
	throw std::runtime_error("address of an unknown family");
}

void name_numbers(Json &conn, const Json &module)
{
	for (const char *list : { "header-type", "error", "refusal" }) {
		if (!conn.contains(list))
			conn[list] = Json::array();
		for (Json &count : conn[list]) {
			count["name"] = std::to_string(
				count.at("number").get<std::uint32_t>());
			if (!module.contains(list))
				continue;
			for (const Json &name : module.at(list))
				if (name.at("number") == count.at("number"))
					count["name"] = name.at("name");
		}
	}
}

} // namespace rpcrdmactl
