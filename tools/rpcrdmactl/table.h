/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How a message of the netlink family is to be read. The tables themselves are in
 * spec.h, which spec2table makes of Documentation/netlink/specs/rpcrdma.yaml.
 */
#ifndef _RPCRDMACTL_TABLE_H
#define _RPCRDMACTL_TABLE_H

#include <cstdint>
#include <span>

namespace rpcrdmactl
{

enum class Kind : std::uint8_t { U32, U64, String, Flag, Address, Nest, Pad };

struct Attribute;
using Set = std::span<const Attribute>;
using Names = std::span<const char *const>;

/**
 * One attribute of a set
 * @type: its number
 * @name: its name in the description, and in JSON
 * @nested: for Kind::Nest, what is inside
 * @names: of its values, if they have names
 * @several: there may be several: an array in JSON
 */
struct Attribute {
	std::uint16_t type;
	const char *name;
	Kind kind;
	const Set *nested;
	Names names;
	bool several;
};

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_TABLE_H */
