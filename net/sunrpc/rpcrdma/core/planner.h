/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How each part of an RPC message travels (sections 4.5 and 6.6, D9).
 */
#ifndef _RPCRDMA_CORE_PLANNER_H
#define _RPCRDMA_CORE_PLANNER_H

#include "wire.h"
#include <rpcrdma/plan.h>

namespace rpcrdma
{

/**
 * Limits and options for a plan
 * @ddp_threshold: items up to this many bytes stay in the Payload stream
 * @special_threshold: streams up to this many bytes travel in Sends
 * @stream_from: round-trip time in microseconds from which on larger ones do so, too, if
 *	that is cheaper; zero for never
 * @max_send: largest Send to the peer, the header included
 * @max_stream: largest Call that Sends can carry without a pause
 * @chunks: Calls of this side may carry chunks
 * @special: one of those chunks may be a Call chunk
 * @continued: Replies of this side may take several Sends
 * @version: of the protocol
 * @max_reply: version 1: largest Send of the peer, the header included
 * @max_bare_reply: version 1: largest Send of a Reply for which no Reply chunk was
 *	offered
 * @read_pads: version 1: Read chunks include their XDR padding
 */
struct PlanningRules {
	u32 ddp_threshold = 0;
	u32 special_threshold = 0;
	u32 stream_from = 0;
	u32 max_send = 0;
	u32 max_stream = 0;
	u32 max_segments = 0;
	bool chunks = false;
	bool special = false;
	bool continued = false;
	u32 version = kVersion2;
	u32 max_reply = 0;
	u32 max_bare_reply = 0;
	bool read_pads = false;

	bool operator==(const PlanningRules &) const = default;
};

/*
 * What a KiB in the stream costs more than one by RDMA: two copies, and its part of a Send,
 * of a Receive and of their completions. With rxe it is about this, on real adapters about a
 * quarter of it (Documentation/performance.rst).
 */
inline constexpr u32 kStreamNanosecondsPerKib = 1000;

/**
 * Bytes of the longest Payload stream that is cheaper in Sends than by RDMA, since the peer
 * would have to fetch it: that takes a round trip more. Zero if the thresholds hold.
 * @round_trip: in microseconds, zero if it is not known
 * @sends: so many Sends may be used for it
 */
[[nodiscard]] u32 stream_reach(const PlanningRules &rules, u32 round_trip,
			       u32 sends);

/* See rpcrdma_plan_call(); @sends: those that this Call may take. */
void plan_call(const PlanningRules &rules, const rpcrdma_call_shape &shape,
	       rpcrdma_call_plan &plan, u32 sends = 0);

/* See rpcrdma_plan_why(). */
[[nodiscard]] rpcrdma_plan_reasons plan_reasons(const PlanningRules &rules,
						const rpcrdma_call_shape &shape,
						const rpcrdma_call_plan &plan);

/* See rpcrdma_plan_retry(). */
[[nodiscard]] s32 plan_retry(const rpcrdma_call_plan &plan,
			     const rpcrdma_rx &rx, u32 &avoid);

/* See rpcrdma_plan_outdated(). */
[[nodiscard]] s32 plan_outdated(const rpcrdma_call_plan &plan, u32 &avoid);

/* See rpcrdma_plan_too_long(). */
[[nodiscard]] s32 plan_too_long(u32 &avoid);

/* The Reply has @length octets; nothing is removed from it, and nothing transferred. */
void begin_reply(rpcrdma_reply_plan &plan, u32 length);

/* See rpcrdma_plan_reply(). */
void plan_reply(const PlanningRules &rules, const Chunks &call, u32 length,
		Span<const Range> results, rpcrdma_reply_plan &plan);

/* See rpcrdma_layout_call(); @pieces has RPCRDMA_MAX_PIECES entries. */
[[nodiscard]] u32 layout_call(const Chunks &chunks, u32 stream_length,
			      rpcrdma_piece *pieces);

/* See rpcrdma_stream_run(). */
[[nodiscard]] u32 stream_run(Span<const Range> removed, u32 offset,
			     u32 &unreduced);

/* See rpcrdma_written(). */
[[nodiscard]] bool written(const Chunks &offered, const Chunks &returned,
			   u32 index, u32 &length);

/* See rpcrdma_replied(). */
[[nodiscard]] bool replied(const Chunks &offered, const Chunks &returned,
			   u32 &length);

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_PLANNER_H */
