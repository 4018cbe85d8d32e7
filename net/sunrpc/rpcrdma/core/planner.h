/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Which octets of an RPC message travel how (sections 4.5 and 6.6, D9).
 */
#ifndef _RPCRDMA_CORE_PLANNER_H
#define _RPCRDMA_CORE_PLANNER_H

#include "chunks.h"

namespace rpcrdma
{

/**
 * What a plan depends on besides the message
 * @ddp_threshold: items up to this many octets stay in the Payload stream
 * @chunks: Calls of this side may carry chunks
 */
struct PlanningRules {
	u32 ddp_threshold;
	bool chunks;
};

/* See rpcrdma_plan_call(). */
void plan_call(const PlanningRules &rules, const rpcrdma_call_shape &shape,
	       rpcrdma_call_plan &plan);

/* See rpcrdma_plan_reply(). */
void plan_reply(const Chunks &call, u32 length, Span<const Range> results,
		rpcrdma_reply_plan &plan);

/* See rpcrdma_layout_call(); @pieces has RPCRDMA_MAX_PIECES entries. */
[[nodiscard]] u32 layout_call(const Chunks &chunks, u32 stream_length,
			      rpcrdma_piece *pieces);

/* See rpcrdma_stream_run(). */
[[nodiscard]] u32 stream_run(Span<const Range> removed, u32 offset,
			     u32 &unreduced);

/* See rpcrdma_written(). */
[[nodiscard]] bool written(const Chunks &offered, const Chunks &returned,
			   u32 index, u32 &length);

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_PLANNER_H */
