/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Where the data of an RPC message are that goes by a group of Sends (rtrext, sections 6.2
 * and 7): how Receives are made, which of their segments hold which item, how a Requester
 * directs its Reply, and how a Responder answers that. D20 has what the draft leaves open.
 *
 * Nothing here keeps or moves data. Positions are those of the message with all items back
 * in ("virtual XDR stream"); XDR padding behind an item counts there, and travels nowhere.
 */
#ifndef _RPCRDMA_CORE_RTR_PLACE_H
#define _RPCRDMA_CORE_RTR_PLACE_H

#include "rtr_wire.h"

namespace rpcrdma
{

/* ------------------------------------------------------------------ */
/* Receives (7.2)                                                     */
/* ------------------------------------------------------------------ */

/* Segments that are alike, one after the other. */
struct BufferRun {
	u32 count = 0;
	u32 length = 0;
	u32 align = 0;
	bool target = false;

	bool operator==(const BufferRun &) const = default;
};

/* How each Receive of one side is made. Without runs nothing can be placed in it. */
class ReceiveShape {
public:
	static constexpr u32 kMostRuns = 8;
	/* A Receive is no larger than this, in octets, so that sums fit a word. */
	static constexpr u32 kMostOctets = 1U << 30;

	/* Return: false if it makes no sense, or is one run too many; nothing changes. */
	[[nodiscard]] constexpr bool add(const BufferRun &run)
	{
		const u64 octets = u64{ run.count } * run.length;

		if (runs_ == kMostRuns || !octets || !xdr_aligned(run.length) ||
		    run.align & (run.align - 1) ||
		    octets > kMostOctets - length_)
			return false;
		run_[runs_++] = run;
		length_ += static_cast<u32>(octets);
		if (run.target)
			targets_ += run.count;
		return true;
	}
	/* Octets of all segments. */
	[[nodiscard]] constexpr u32 length() const
	{
		return length_;
	}
	/* Segments that data can be placed in. */
	[[nodiscard]] constexpr u32 targets() const
	{
		return targets_;
	}
	/* Where target @n, which is one, is in the Receive. */
	[[nodiscard]] constexpr Range target(u32 n) const
	{
		u32 at = 0;

		for (u32 i = 0; i < runs_; i++) {
			const BufferRun &r = run_[i];

			if (r.target && n < r.count)
				return { at + n * r.length, r.length };
			if (r.target)
				n -= r.count;
			at += r.count * r.length;
		}
		return {};
	}
	[[nodiscard]] constexpr Span<const BufferRun> runs() const
	{
		return { run_, runs_ };
	}

private:
	BufferRun run_[kMostRuns] = {};
	u32 runs_ = 0;
	u32 length_ = 0;
	u32 targets_ = 0;
};

/*
 * Of a Receive, what data can be placed in: so many segments, one after the other. None if
 * @count is zero. This is all of a shape that messages need.
 */
struct Targets {
	u32 count = 0;
	u32 before = 0; /* octets before the first one */
	u32 size = 0; /* octets of each */

	/* Where number @n is in the Receive. */
	[[nodiscard]] constexpr Range at(u32 n) const
	{
		return { before + n * size, size };
	}
	/* One run of targets in a ReceiveShape may be so: then sums fit a word. */
	[[nodiscard]] constexpr bool valid() const
	{
		const u64 octets = u64{ count } * size;

		return octets && xdr_aligned(before) && xdr_aligned(size) &&
		       !(size & (size - 1)) &&
		       before <= ReceiveShape::kMostOctets &&
		       octets <= ReceiveShape::kMostOctets - before;
	}

	bool operator==(const Targets &) const = default;
};

enum class ShapeParse : u8 {
	Ok,
	BadValue, /* it is no XDR, or contradicts itself: RDMA2_ERR_BAD_PROPVAL */
	Other, /* nothing can be placed here in what is made so */
};

/* The value of a Receive Buffer Structure Property. */
[[nodiscard]] ShapeParse parse_shape(Bytes value, ReceiveShape &shape);
void encode_shape(const ReceiveShape &shape, XdrWriter &w);

/*
 * A Receive Buffer Structure as a number, which is all that a session keeps of a property:
 * one run of targets, each a power of two of octets, with other segments before and after
 * it. Zero: there are no targets. kOtherShape: there are, but not like that.
 */
inline constexpr u32 kOtherShape = UINT32_MAX;

[[nodiscard]] u32 shape_number(const ReceiveShape &shape);
/* Up to the last target. That of a kOtherShape has none. */
[[nodiscard]] ReceiveShape shape_of(u32 number);

/* How many there are, the logarithm of their size, and how many words come before them. */
inline constexpr u32 kCountBits = 10;
inline constexpr u32 kSizeBits = 5;
inline constexpr u32 kCountMost = (1U << kCountBits) - 1;
inline constexpr u32 kSizeMost = (1U << kSizeBits) - 1;
inline constexpr u32 kBeforeMost = (1U << (32 - kCountBits - kSizeBits)) - 1;

/* The targets of what this number stands for, which shape_number() has given. */
[[nodiscard, gnu::always_inline]] constexpr Targets targets_of(u32 number)
{
	if (!(number & kCountMost) || number == kOtherShape)
		return {};
	return { number & kCountMost,
		 (number >> (kCountBits + kSizeBits)) * kXdrUnit,
		 1U << (number >> kCountBits & kSizeMost) };
}

/* As a property has them: see PropertyType. */
[[nodiscard]] bool decode_shape_number(Bytes value, u32 &number);
void encode_shape_number(u32 number, XdrWriter &w);
/* Octets of a Receive that is made so, or kMostOctets if there are more. */
[[nodiscard]] u32 structure_length(Bytes value);

/* ------------------------------------------------------------------ */
/* Items of a message (7.3)                                           */
/* ------------------------------------------------------------------ */

/* A group of Sends has no more of them here, whatever the properties say. */
inline constexpr u32 kMostSends = 16;
/* And its Receives have no more targets together. */
inline constexpr u32 kMostTargets = 1024;

/* Of what is wrong, if anything: by ERROR with BAD_XDR, or by REPTERR. */
struct Misplaced {
	enum class Kind : u8 { No, BadXdr, Fault };

	Kind kind = Kind::No;
	RtrFault fault = {};

	[[nodiscard]] explicit constexpr operator bool() const
	{
		return kind != Kind::No;
	}
};

/* What the Sends of a group have to bring, by what its first one says. */
class GroupNeeds {
public:
	/* Nothing yet, of a group of @sends, which are no more than kMostSends. */
	constexpr void reset(u32 sends)
	{
		stream = 0;
		added = 0;
		reads = 0;
		segments = 0;
		largest = 0;
		for (u32 i = 0; i < sends; i++)
			placed_[i] = {};
	}
	/* Octets from @from on, of Send @send, are placed data. */
	constexpr void add(u32 send, Range r)
	{
		Placed &p = placed_[send];

		if (p.begin == p.end || r.offset < p.begin)
			p.begin = r.offset;
		if (r.offset + r.length > p.end)
			p.end = r.offset + r.length;
	}
	/* First octet of Send @send that is placed data; @size if there are none. */
	[[nodiscard]] constexpr u32 begin(u32 send, u32 size) const
	{
		const Placed &p = placed_[send];

		return p.begin == p.end ? size : p.begin;
	}
	/* Octets that Send @send has at least. */
	[[nodiscard]] constexpr u32 end(u32 send) const
	{
		return placed_[send].end;
	}

	u32 stream = 0; /* octets of the Payload stream before the last item */
	u32 reads = 0; /* items that are in memory, by explicit RDMA */
	u64 added = 0; /* octets that the items are in the message */
	u32 segments = 0; /* of @reads */
	u32 largest = 0; /* segment, in octets */

private:
	struct Placed {
		u32 begin = 0;
		u32 end = 0;
	};

	Placed placed_[kMostSends] = {};
};

/**
 * Check where the items of a message are.
 *
 * @items: of its first Send
 * @dir: of the message
 * @targets: of the Receives that take it; no more than kMostTargets in @count of them
 * @count: Sends of the group, one to kMostSends
 * @needs: overwritten; complete only if nothing is wrong
 *
 * Positions that are none, or overlap, and what is no valid placement in this direction
 * (table 1) are BAD_XDR: REPTERR has no code for them. A buffer segment that is not there,
 * is named twice, or a list of them that is too short or too long for its item is BADTBSN.
 * An offset in a segment that is outside of it, or no multiple of four, is BADOFF.
 */
[[nodiscard]] Misplaced check_items(const MessageItems &items, rpcrdma_dir dir,
				    const Targets &targets, u32 count,
				    GroupNeeds &needs);

/**
 * Check one Send of a group.
 *
 * @targets, @needs: as for check_items()
 * @send: its number in the group
 * @size: its octets, prefix included
 * @head: of these, prefix and header
 * @length: of these, payload behind that, as the header has it
 *
 * A payload that is not inside the Send, reaches into placed data, or is no multiple of
 * four is BADPL. A Send that ends before its placed data do is BADTBSN, with the last number
 * that names a segment of it.
 */
[[nodiscard]] Misplaced check_part(const Targets &targets,
				   const GroupNeeds &needs, u32 send, u32 size,
				   u32 head, u32 length);

/* A part of an item: octets @in of Send @send, which begin at @at of the item. */
struct ItemPiece {
	u32 send = 0;
	Range in = {};
	u32 at = 0;
};

/**
 * Call @f with each piece of an item that is in buffer segments, until it returns false.
 *
 * @item: one of those that check_items() has found sound
 */
template <typename F>
[[nodiscard, gnu::always_inline]] inline bool
each_piece(const MessageItem &item, const Targets &targets, F f)
{
	u32 offset = item.where.offset;
	u32 at = 0;

	return item.where.numbers.each([&](const XdrNumber &n) {
		const u32 send = n.value / targets.count;
		const Range target = targets.at(n.value % targets.count);
		const u32 room = target.length - offset;
		const u32 left = item.length - at;
		const u32 part = left < room ? left : room;
		const ItemPiece piece = { send,
					  { target.offset + offset, part },
					  at };

		offset = 0;
		at += part;
		return f(piece);
	});
}

/* ------------------------------------------------------------------ */
/* Directions for the Reply (7.4)                                     */
/* ------------------------------------------------------------------ */

/*
 * Table 2: this direction may have this answer, that is, it has not Inv. there. Its other two
 * say when a Requester deregisters memory: here always, if it has any registered (D20).
 *
 * @direction and @answer are what they can be in these places.
 */
[[nodiscard]] constexpr bool may_answer(Placement direction, Placement answer)
{
	if (direction == Placement::Exrw)
		return answer != Placement::Tbsn;
	return direction != Placement::Tbsn || answer != Placement::Exrw;
}

/**
 * How a Responder carries one direction out
 * @type: Exrw, Tbsn, or TooShort for an item that stays in the Payload stream
 * @fits: of Exrw: the memory given suffices; else RDMA2_ERR_WRITE_RESOURCE
 */
struct DirectionAnswer {
	Placement type = Placement::NoItem;
	bool fits = true;

	bool operator==(const DirectionAnswer &) const = default;
};

/* It lets an item of this length go by Send. */
[[nodiscard]] constexpr bool may_send(const DirectionItem &d, u32 length)
{
	return length >= d.least && d.type != Placement::Exrw &&
	       (d.type != Placement::BySize || length < d.rdma_from);
}

/**
 * @d: the direction
 * @length: of the item that it is about
 * @sends: there is room for the item in buffer segments of the peer
 *
 * If Tbsn is wanted and there is no room the item stays in the Payload stream: TooShort is
 * the only answer that says so.
 */
[[nodiscard]] DirectionAnswer answer_direction(const DirectionItem &d,
					       u32 length, bool sends);

/**
 * An item of a Reply that the binding lets be placed
 * @cause: where in the Call is what it comes of (the operation of a COMPOUND)
 */
struct ReplyItem {
	u32 cause = 0;
	u32 length = 0;
};

/* Ranges have to be disjoint and in strictly increasing order, and none ends too early. */
class RangeOrder {
public:
	/* Return: the next one may follow those before. */
	[[nodiscard]] constexpr bool next(u32 begin, u32 end)
	{
		const bool ok = begin < end && (first_ || begin >= end_);

		end_ = end;
		first_ = false;
		return ok;
	}

private:
	u32 end_ = 0;
	bool first_ = true;
};

/* All of them are so. */
[[nodiscard]] bool ranges_valid(const DirectionSets &sets);

/**
 * Go through all directions of a Call, in order.
 *
 * @sets: ranges_valid()
 * @items: of the Reply, in order, by their causes too
 * @sends: called with an item's length, once for each that may go by Send: there is room
 * @f: called with each direction, the DirectionAnswer, and the place of its item in
 *	@items, or their number; returns false to end it
 *
 * An item for which there is no direction stays in the Payload stream.
 * Return: f never returned false.
 */
template <typename Sends, typename F>
[[nodiscard]] bool answer_directions(const DirectionSets &sets,
				     Span<const ReplyItem> items, Sends sends,
				     F f)
{
	u32 next = 0;

	return sets.each([&](const DirectionSet &set) {
		while (next < items.size() && items[next].cause < set.begin)
			next++;
		return set.items.each([&](const DirectionItem &d) {
			if (next == items.size() ||
			    items[next].cause >= set.end)
				return f(d, DirectionAnswer{}, items.size());
			const u32 length = items[next].length;
			const bool wanted = may_send(d, length);
			const DirectionAnswer a = answer_direction(
				d, length, wanted && sends(length));

			return f(d, a, next++);
		});
	});
}

/**
 * A Reply's items answer the directions of its Call: one for each, in order, as table 2
 * allows, and what was written is in the memory that was given for it, from its beginning on.
 */
[[nodiscard]] bool answers_valid(const MessageItems &items,
				 Span<const DirectionRange> directions);

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_RTR_PLACE_H */
