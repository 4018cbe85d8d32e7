/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The core's functions as a connection calls them. Bugs of the core are planted in these
 * calls, so that they look like bugs of the core from outside.
 */
#ifndef _RPCRDMA_SIM_CORE_H
#define _RPCRDMA_SIM_CORE_H

#include "conn.h"

namespace sim::core
{

void receive(Conn &c, const u8 *buffer, u32 length, rpcrdma_rx &rx);
/* @size: of a Send that has more than header and payload, else zero. */
[[nodiscard]] u32 next_send(Conn &c, Outgoing *o, u8 *buffer, rpcrdma_tx &tx,
			    u32 &size);
[[nodiscard]] bool admit(Conn &c, rpcrdma_message *m);
void put_back(Conn &c, rpcrdma_message &m);
[[nodiscard]] bool room(Conn &c);
[[nodiscard]] bool release(Conn &c, u32 count);
[[nodiscard]] bool retire(Conn &c);
[[nodiscard]] bool set_window(Conn &c, u32 window);
[[nodiscard]] bool refuse(Conn &c, u32 xid, u32 code, u32 index, u32 needed);
void plan_call(const Conn &c, const rpcrdma_call_shape &shape,
	       rpcrdma_call_plan &plan);
[[nodiscard]] s32 plan_retry(const Conn &c, const rpcrdma_call_plan &plan,
			     const rpcrdma_rx &rx, u32 &avoid);
void plan_reply(Conn &c, const rpcrdma_chunks &call, u32 length,
		const rpcrdma_range *results, u32 n, rpcrdma_reply_plan &plan);

} // namespace sim::core

#endif /* _RPCRDMA_SIM_CORE_H */
