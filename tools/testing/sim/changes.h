/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Properties that change while connected: xcharext's part of what pings.h has.
 */
#ifndef _RPCRDMA_SIM_CHANGES_H
#define _RPCRDMA_SIM_CHANGES_H

#include "pings.h"

namespace sim::changes
{

void configure(Random &r, rpcrdma_config &k, pings::Budget &b);
/* A server may say that its Receives are smaller than they were to be. */
void begin(Conn &c);
/* The peer may ask for other sizes. */
void opened(Conn &c);
[[nodiscard]] bool can_act(const Conn &c);
void act(Conn &c);
/* Receives get the size that they are to have, and the peer hears of it in time. */
void follow(Conn &c);
/* Of an RPC message a Send is written. */
void wrote(Conn &c, const rpcrdma_tx &tx);
/* The core has written a message of this kind, which may become another. */
void sent(Conn &c, rpcrdma_tx &tx, u8 *buffer);
/* "changes": each side knows what holds at the other. */
void quiet(const Link &l, u32 side);
void count(const Conn &c, Tally &t);
void print(const Tally &t);
[[nodiscard]] bool reaches(const Tally &t);

} // namespace sim::changes

#endif /* _RPCRDMA_SIM_CHANGES_H */
