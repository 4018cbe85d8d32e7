/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * RPC messages by groups of Sends: rtrext's part of what pings.h has.
 */
#ifndef _RPCRDMA_SIM_GROUPS_H
#define _RPCRDMA_SIM_GROUPS_H

#include "pings.h"

namespace sim::groups
{

void configure(Random &r, pings::Budget &b);
/* Calls go again by further groups, of some ends. */
void configure_repeats(Pair &p);
/* Data are placed in Receives of some ends. */
void configure_places(Random &r, Pair &p);
/*
 * "groups": nothing comes between the Sends of one; what has to be refused is; and what is
 * reserved for Replies is what Calls without an answer have been promised, no more.
 */
void received(Conn &c, rpcrdma_rx &rx, const u8 *buffer, u32 length);
void quiet(const Conn &c);
void print(const Tally &t);
[[nodiscard]] bool reaches(const Tally &t);

} // namespace sim::groups

#endif /* _RPCRDMA_SIM_GROUPS_H */
