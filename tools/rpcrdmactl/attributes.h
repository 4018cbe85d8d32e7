/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Attributes of netlink, one after the other.
 */
#ifndef _RPCRDMACTL_ATTRIBUTES_H
#define _RPCRDMACTL_ATTRIBUTES_H

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <libmnl/libmnl.h>

namespace rpcrdmactl
{

using Payload = std::span<const std::byte>;

/* Call @take with the type and the payload of each; what is cut off is left out. */
template <typename Take> void each_attribute(Payload attributes, Take take)
{
	const auto *at = reinterpret_cast<const nlattr *>(attributes.data());
	auto left = static_cast<int>(attributes.size());

	for (; mnl_attr_ok(at, left);
	     left -= MNL_ALIGN(at->nla_len), at = mnl_attr_next(at))
		take(mnl_attr_get_type(at),
		     Payload(static_cast<const std::byte *>(
				     mnl_attr_get_payload(at)),
			     mnl_attr_get_payload_len(at)));
}

/* Of a payload that is long enough. */
template <typename T> [[nodiscard]] T integer(Payload payload)
{
	T value = 0;

	if (payload.size() >= sizeof(value))
		std::memcpy(&value, payload.data(), sizeof(value));
	return value;
}

/* Up to the first zero, or the end. */
[[nodiscard]] inline std::string text(Payload payload)
{
	const char *begin = reinterpret_cast<const char *>(payload.data());

	return { begin, strnlen(begin, payload.size()) };
}

/* What follows the first @skip octets of a message's payload. */
[[nodiscard]] inline Payload payload_of(const nlmsghdr &message,
					std::size_t skip)
{
	const std::size_t length = mnl_nlmsg_get_payload_len(&message);

	if (length < skip)
		return {};
	return { static_cast<const std::byte *>(
			 mnl_nlmsg_get_payload(&message)) +
			 skip,
		 length - skip };
}

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_ATTRIBUTES_H */
