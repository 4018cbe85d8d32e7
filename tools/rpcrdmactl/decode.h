/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a message of RPC-over-RDMA says, with the module's own codec.
 */
#ifndef _RPCRDMACTL_DECODE_H
#define _RPCRDMACTL_DECODE_H

#include <cstdint>
#include <istream>
#include <string>
#include <vector>

#include "message.h"

namespace rpcrdmactl
{

using Octets = std::vector<std::uint8_t>;

/**
 * Decode one message of version 1 or 2.
 *
 * The result has "valid". If that is false, "error" says what is wrong and "octet"
 * where: the first octet of the message that cannot be there.
 */
[[nodiscard]] Json decode(const Octets &message);

/* The same for people; a wrong message is shown in hexadecimal, with a mark. */
[[nodiscard]] std::string decoded_text(const Json &decoded,
				       const Octets &message);

/**
 * Messages that are written in hexadecimal.
 *
 * Digits, with white space, commas, colons and "0x" anywhere between octets. An empty
 * line ends a message, "#" begins a comment. Left out are an offset with a colon at the
 * beginning of a line, as xxd and tcpdump -x have it, and behind one what follows two
 * spaces, as xxd's text does.
 *
 * Throws std::runtime_error that names the line.
 */
[[nodiscard]] std::vector<Octets> read_hex(std::istream &in);

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_DECODE_H */
