/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a message of RPC-over-RDMA says, with the module's own codec.
 */
#ifndef _RPCRDMACTL_DECODE_H
#define _RPCRDMACTL_DECODE_H

#include <cstdint>
#include <functional>
#include <istream>
#include <string>
#include <vector>

#include "message.h"

namespace rpcrdmactl
{

using Octets = std::vector<std::uint8_t>;

/* Octets; whatever is larger is no message of ours. */
inline constexpr std::size_t kLargestMessage = 1 << 20;

/**
 * Decode one message of version 1 or 2.
 *
 * The result has "valid". If that is false, "error" says what is wrong and "octet"
 * where: the first octet of the message that cannot be there. It has no field that was
 * not read.
 */
[[nodiscard]] Json decode(const Octets &message);

/* The same for people; a wrong message is shown in hexadecimal, with a mark. */
[[nodiscard]] std::string decoded_text(const Json &decoded,
				       const Octets &message);

/**
 * Messages that are written in hexadecimal.
 *
 * Digits, with white space, commas, colons and "0x" anywhere between octets. An empty
 * line ends a message, "#" begins a comment. Left out are an offset at the beginning of a
 * line, with a colon and white space behind it, as xxd and tcpdump -x have it, and behind
 * one what follows two spaces, as xxd's text does.
 *
 * @take: called with each message as soon as it has ended
 * @bad: called with a line's number and what is wrong with it; the message that the line
 *	is in is left out
 */
void read_hex(std::istream &in, const std::function<void(const Octets &)> &take,
	      const std::function<void(unsigned, const std::string &)> &bad);

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_DECODE_H */
