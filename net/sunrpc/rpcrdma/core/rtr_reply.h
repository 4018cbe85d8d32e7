/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How a Responder carries out what a Call directs for its Reply (rtrext, section 7.4): which
 * items go by Sends, which by RDMA Writes, and which stay in the Payload stream.
 */
#ifndef _RPCRDMA_CORE_RTR_REPLY_H
#define _RPCRDMA_CORE_RTR_REPLY_H

#include "rtr_place.h"
#include <rpcrdma/rtrext.h>

namespace rpcrdma
{

inline constexpr u32 kMostItems = RPCRDMA_RTR_MOST_ITEMS;

/**
 * Of the Requester's buffer segments, what a Reply can take
 * @count: how many, for all items together
 * @size: octets of each
 */
struct ReplyRoom {
	u32 count = 0;
	u32 size = 0;
};

/* The items of a Reply: an answer to each direction. */
struct ReplyItems {
	PlacedItem *items = nullptr; /* kMostItems of them */
	u32 count = 0;
	u32 placed = 0; /* of these, by Sends */
};

/**
 * Answer all directions of a Call.
 *
 * @sets: ranges_valid()
 * @results: what may be placed, in order; at most kMostItems
 * @rest: where in the Call the causes are that are not known. Such an item is of the range
 *	that has all of this in it: the directions of another are not about it (7.4).
 * @length: octets of the whole Reply
 * @room: for what goes by Sends
 * @out: filled in; where the items go that are placed GroupPlan::make() decides
 * @plan: filled in: an error for the Requester if memory that it gives is too small; or
 *	what is not in the Payload stream, and the RDMA Writes. @out refers to it.
 *
 * Return: false if there are more directions than that, or more segments to be written to
 * than a Reply has.
 */
[[nodiscard]] bool answer_reply(const DirectionSets &sets,
				Span<const rpcrdma_rtr_result> results,
				const Range &rest, u32 length, ReplyRoom room,
				ReplyItems &out, rpcrdma_reply_plan &plan);

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_RTR_REPLY_H */
