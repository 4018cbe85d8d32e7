// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "rtr_reply.h"
#include "planner.h"

namespace rpcrdma
{

/*
 * RDMA Writes of one item, to as much of the memory given as it needs. Return: false if they
 * would be too many.
 */
static bool write_item(const DirectionItem &d, PlacedItem &item,
		       rpcrdma_reply_plan &plan)
{
	rpcrdma_chunks &c = plan.chunks;
	const u32 first = c.n_write_segs;
	u32 done = 0;

	(void)!d.segments.each([&](const XdrSegment &s) {
		Segment to = s.segment;
		const u32 left = item.length - done;

		if (!left || c.n_write_segs == RPCRDMA_MAX_SEGMENTS)
			return false;
		if (to.length > left)
			to.length = left;
		if (!to.length)
			return true;
		c.write_segs[c.n_write_segs++] = to;
		plan.jobs[plan.n_jobs++] = {
			{ item.position + done, to.length }, to
		};
		done += to.length;
		return true;
	});
	item.segments = { c.write_segs + first, c.n_write_segs - first };
	return done == item.length;
}

/* The next answer. Return: false if it cannot be given. */
static bool put(const DirectionItem &d, Placement type, const Range &where,
		ReplyItems &out, rpcrdma_reply_plan &plan)
{
	const u32 padded = static_cast<u32>(xdr_roundup(where.length));
	PlacedItem &item = out.items[out.count++];

	item = {};
	item.position = where.offset;
	item.length = where.length;
	item.type = type;
	if (type == Placement::Exrw && !write_item(d, item, plan))
		return false;
	if (type == Placement::Tbsn)
		out.placed++;
	if (type == Placement::Exrw || type == Placement::Tbsn) {
		plan.removed[plan.n_removed++] = { where.offset, padded };
		plan.stream_length -= padded;
	}
	return true;
}

/* Items of a Reply that is @length octets long: in order, and inside. */
static u32 get_items(Span<const rpcrdma_rtr_result> results, u32 length,
		     u32 unknown, ReplyItem *items, Range *where)
{
	u64 end = kXdrUnit;
	u32 n = 0;

	for (const rpcrdma_rtr_result &r : results) {
		const u64 after = r.where.offset + xdr_roundup(r.where.length);

		if (n == kMostItems)
			break;
		if (r.where.offset < end || !xdr_aligned(r.where.offset) ||
		    after > length)
			continue;
		items[n] = { r.cause == RPCRDMA_RTR_NOWHERE ? unknown : r.cause,
			     r.where.length };
		where[n++] = { r.where.offset, r.where.length };
		end = after;
	}
	return n;
}

bool answer_reply(const DirectionSets &sets,
		  Span<const rpcrdma_rtr_result> results, const Range &rest,
		  u32 length, ReplyRoom room, ReplyItems &out,
		  rpcrdma_reply_plan &plan)
{
	ReplyItem items[kMostItems];
	Range where[kMostItems];
	u32 unknown = RPCRDMA_RTR_NOWHERE;

	begin_reply(plan, length);
	(void)sets.each([&](const DirectionSet &s) {
		if (s.begin <= rest.offset &&
		    s.end >= u64{ rest.offset } + rest.length)
			unknown = rest.offset;
		return true;
	});
	const u32 n = get_items(results, length, unknown, items, where);
	const auto sends = [&](u32 octets) {
		const u64 segments =
			room.size ?
				(u64{ octets } + room.size - 1) / room.size :
				UINT32_MAX;

		if (segments > room.count)
			return false;
		room.count -= static_cast<u32>(segments);
		return true;
	};
	const auto answer = [&](const DirectionItem &d,
				const DirectionAnswer &a, u32 item) {
		if (out.count == kMostItems)
			return false;
		if (!a.fits && !plan.errcode) {
			plan.errcode = RPCRDMA2_ERR_WRITE_RESOURCE;
			plan.index = out.count + 1;
			plan.needed = where[item].length;
		}
		return put(d, a.fits ? a.type : Placement::NoItem,
			   item < n ? where[item] : Range{}, out, plan);
	};

	return answer_directions(sets, { items, n }, sends, answer);
}

} // namespace rpcrdma
