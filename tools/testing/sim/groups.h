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
/* "groups": nothing comes between the Sends of one. */
void received(Conn &c, const rpcrdma_rx &rx, const u8 *buffer, u32 length);
void print(const Tally &t);
[[nodiscard]] bool reaches(const Tally &t);

} // namespace sim::groups

#endif /* _RPCRDMA_SIM_GROUPS_H */
