/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Which of a connection's memory regions the peer may reach. <rpcrdma/regions.h> has a
 * diagram of the states and events.
 */
#ifndef _RPCRDMA_CORE_REGISTRATION_H
#define _RPCRDMA_CORE_REGISTRATION_H

#include <rpcrdma/regions.h>

namespace rpcrdma::registration
{

using Table = rpcrdma_mr_table;
using Slot = rpcrdma_mr_slot;

/* Ends the free list; no slot has this index. */
inline constexpr u16 kEnd = UINT16_MAX;

/* The state after @event in @state, or @state itself if it cannot happen. */
[[nodiscard]] u32 next_state(u32 state, u32 event);

/* What is true of a table at all times. Whoever asks reads all of it. */
[[nodiscard]] bool invariants(const Table &t);

/* For each see the function of the same name in <rpcrdma/regions.h>. */
void init(Table &t, Slot *slots, u32 capacity);
[[nodiscard]] bool add(Table &t, u32 index);
[[nodiscard]] s32 take(Table &t);
[[nodiscard]] bool event(Table &t, u32 index, u32 event, u32 handle);
[[nodiscard]] bool put(Table &t, u32 index);
[[nodiscard]] bool rested(Table &t, u32 keep);
[[nodiscard]] s32 remove(Table &t, u32 keep);

} // namespace rpcrdma::registration

#endif /* _RPCRDMA_CORE_REGISTRATION_H */
