/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * RPCs, as both ends' upper layers see them: the RPC's number decides the content of its
 * Call and Reply, so every byte can be compared.
 */
#ifndef _RPCRDMA_SIM_RPC_H
#define _RPCRDMA_SIM_RPC_H

#include "base.h"

namespace sim
{

using Octets = std::vector<u8>;

inline constexpr u32 kItems = 3;

/**
 * What an RPC is like
 * @call_length: octets of the Call, a multiple of four
 * @items: DDP-eligible arguments in it, ascending
 * @reply_length: octets of the Reply
 * @results: DDP-eligible results in it, ascending
 * @result_max: what the caller has room for, for each of them
 * @reply_max: what it has room for, for the whole Reply
 * @offered: results that the caller expects; the Reply may have fewer
 */
struct Shape {
	u32 number;
	u32 call_length;
	u32 n_items;
	rpcrdma_range items[kItems];
	u32 reply_length;
	u32 n_results;
	rpcrdma_range results[kItems];
	u32 offered;
	u32 result_max[kItems];
	u32 reply_max;
	bool reducible;
	bool reply_expected;
	bool probe;
	u32 round_trip; /* that was measured last when the Call is planned */
};

/* Everything that can be told from the first twelve octets. */
inline constexpr u32 kRpcHeader = 12;

/* The number of the RPC that @message says it belongs to. */
[[nodiscard]] u32 number_in(const u8 *message);

/* The message of @s in direction @dir. */
void build(const Shape &s, u32 xid, rpcrdma_dir dir, Octets &message);

/* A range of @n octets at @offset of a message, with its XDR roundup. */
[[nodiscard]] u32 padded(const rpcrdma_range &r);

} // namespace sim

#endif /* _RPCRDMA_SIM_RPC_H */
