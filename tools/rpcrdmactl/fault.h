/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Where a header goes wrong. The core only says that it does: who sends an ERROR need not
 * know more.
 */
#ifndef _RPCRDMACTL_FAULT_H
#define _RPCRDMACTL_FAULT_H

#include <optional>
#include <string>

#include "wire.h"

namespace rpcrdmactl
{

/**
 * What is wrong in a header
 * @octet: the first octet of the message that cannot be there, or where one is missing
 * @what: names the field, and what it may be
 */
struct Fault {
	u32 octet = 0;
	std::string what;
};

/**
 * Find out why the core has refused a header.
 *
 * @in: the whole message, with a whole prefix
 * @type: its type
 *
 * Return: nothing if the XDR is right. Types of extensions are not looked into.
 */
[[nodiscard]] std::optional<Fault> find_fault(rpcrdma::Bytes in,
					      const rpcrdma::HeaderType &type);

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_FAULT_H */
