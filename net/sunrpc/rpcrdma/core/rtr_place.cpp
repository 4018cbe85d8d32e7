// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "rtr_place.h"

#include "filling.h"

namespace rpcrdma
{

/* ------------------------------------------------------------------ */
/* Receives                                                           */
/* ------------------------------------------------------------------ */

ShapeParse parse_shape(Bytes value, ReceiveShape &shape)
{
	ReceiveShape out;
	BufferStructure s;
	u64 sum = 0;

	if (!s.decode(value))
		return ShapeParse::BadValue;
	if (!s.groups.each([&](const BufferGroup &g) {
		    sum += u64{ g.count } * g.length;
		    return sum <= s.length;
	    }) ||
	    sum != s.length)
		return ShapeParse::BadValue;
	if (!s.groups.each([&](const BufferGroup &g) {
		    return out.add({ g.count, g.length, g.align,
				     (g.flags & kBufferTarget) != 0 });
	    }))
		return ShapeParse::Other;
	shape = out;
	return ShapeParse::Ok;
}

void encode_shape(const ReceiveShape &shape, XdrWriter &w)
{
	w.word(shape.length());
	w.word(shape.runs().size());
	for (const BufferRun &r : shape.runs())
		encode_buffer_group({ r.count, r.length, r.align,
				      r.target ? kBufferTarget : 0 },
				    w);
}

u32 shape_number(const ReceiveShape &shape)
{
	BufferRun target = {};
	u32 before = 0;
	u32 at = 0;

	for (const BufferRun &r : shape.runs()) {
		if (r.target && target.count)
			return kOtherShape;
		if (r.target) {
			target = r;
			before = at / kXdrUnit;
		}
		at += r.count * r.length;
	}
	if (!target.count)
		return 0;
	if (target.length & (target.length - 1) || target.count > kCountMost ||
	    before > kBeforeMost)
		return kOtherShape;
	const u32 size = static_cast<u32>(__builtin_ctz(target.length));
	return before << (kCountBits + kSizeBits) | size << kCountBits |
	       target.count;
}

ReceiveShape shape_of(u32 number)
{
	const Targets t = targets_of(number);
	ReceiveShape shape;

	if (!t.valid() ||
	    (t.before && !shape.add({ 1, t.before, kXdrUnit, false })) ||
	    !shape.add({ t.count, t.size, t.size, true }))
		return {};
	return shape;
}

bool decode_shape_number(Bytes value, u32 &number)
{
	ReceiveShape shape;

	switch (parse_shape(value, shape)) {
	case ShapeParse::Ok:
		number = shape_number(shape);
		return true;
	case ShapeParse::Other:
		number = kOtherShape;
		return true;
	case ShapeParse::BadValue:
		break;
	}
	return false;
}

void encode_shape_number(u32 number, XdrWriter &w)
{
	encode_shape(shape_of(number), w);
}

u32 structure_length(Bytes value)
{
	BufferStructure s;

	if (!s.decode(value))
		return 0;
	return s.length < ReceiveShape::kMostOctets ? s.length :
						      ReceiveShape::kMostOctets;
}

/* ------------------------------------------------------------------ */
/* Items                                                              */
/* ------------------------------------------------------------------ */

static constexpr Misplaced kBadXdr = { Misplaced::Kind::BadXdr, {} };

static Misplaced fault(RtrError code, u32 value, u32 least, u32 most)
{
	return { Misplaced::Kind::Fault, { code, { value, least, most } } };
}

namespace
{

/* Which targets of a group are taken. */
class Taken {
public:
	/* Return: false if it was. */
	[[nodiscard]] bool take(u32 n)
	{
		const u32 bit = 1U << n % 32;
		u32 &word = words_[n / 32];
		const bool fresh = !(word & bit);

		word |= bit;
		return fresh;
	}

private:
	u32 words_[kMostTargets / 32] = {};
};

} // namespace

/* An item that is in buffer segments. Not inline: together they need a large frame. */
[[gnu::noinline]] static Misplaced
take_numbers(u32 first_offset, u32 length, XdrArray<XdrNumber> numbers,
	     const Targets &targets, u32 count, Taken &taken, GroupNeeds &needs)
{
	const u32 all = targets.count * count;
	u32 offset = first_offset;
	u32 left = length;
	u32 last = 0;
	Misplaced wrong;

	const auto bad_number = [&](u32 n) {
		return fault(RtrError::BadTbsn, n, 0, all ? all - 1 : 0);
	};
	(void)!numbers.each([&](const XdrNumber &n) {
		last = n.value;
		if (!left || n.value >= all || !taken.take(n.value)) {
			wrong = bad_number(n.value);
			return false;
		}
		const u32 send = n.value / targets.count;
		const Range target = targets.at(n.value % targets.count);
		if (offset >= target.length || !xdr_aligned(offset)) {
			wrong = fault(RtrError::BadOff, offset, 0,
				      target.length - 1);
			return false;
		}
		const u32 room = target.length - offset;
		const u32 part = left < room ? left : room;

		needs.add(send, { target.offset + offset, part });
		left -= part;
		offset = 0;
		return true;
	});
	if (!wrong && left)
		return bad_number(last);
	return wrong;
}

Misplaced check_items(const MessageItems &items, rpcrdma_dir dir,
		      const Targets &targets, u32 count, GroupNeeds &needs)
{
	Taken taken;
	Misplaced wrong;
	u64 end = 0; /* of the item before */

	if (count > kMostSends || targets.count * u64{ count } > kMostTargets)
		return kBadXdr;
	needs.reset(count);
	const auto bad_xdr = [&] {
		wrong = kBadXdr;
		return false;
	};
	(void)!items.each([&](const MessageItem &i) {
		const Placement type = i.where.type;

		if (type == Placement::TooShort || type == Placement::NoItem)
			return dir != RPCRDMA_CALL || bad_xdr();
		if (!i.position || !xdr_aligned(i.position) ||
		    i.position < end || i.position < needs.added)
			return bad_xdr();
		needs.stream = static_cast<u32>(i.position - needs.added);
		needs.added += xdr_roundup(i.length);
		end = i.position + xdr_roundup(i.length);
		if (type == Placement::Exrw) {
			if (total_length(i.where.segments) != i.length)
				return bad_xdr();
			needs.reads += i.where.segments.size() != 0;
			needs.segments += i.where.segments.size();
			(void)!i.where.segments.each([&](const XdrSegment &s) {
				if (s.segment.length > needs.largest)
					needs.largest = s.segment.length;
				return true;
			});
			return true;
		}
		wrong = take_numbers(i.where.offset, i.length, i.where.numbers,
				     targets, count, taken, needs);
		return !wrong;
	});
	return wrong;
}

/*
 * Send @send ends at @size, before its placed data do. Of the segments that are named, the last
 * one is missing for sure; those before it may have come.
 */
static Misplaced missing(const Targets &targets, u32 send, u32 size, u32 end)
{
	const u32 first = send * targets.count;
	const u32 named = first + (end - 1 - targets.before) / targets.size;
	const u32 whole = size > targets.before ?
				  (size - targets.before) / targets.size :
				  0;
	const u32 reached = first + whole;

	return fault(RtrError::BadTbsn, named, 0, reached ? reached - 1 : 0);
}

Misplaced check_part(const Targets &targets, const GroupNeeds &needs, u32 send,
		     u32 size, u32 head, u32 length)
{
	const u32 placed = needs.begin(send, size);
	const u32 end = placed < size ? placed : size;
	const u32 room = end > head ? end - head : 0;

	if (length > room || !xdr_aligned(length) || head > placed)
		return fault(RtrError::BadPl, length, 0, room);
	if (size < needs.end(send))
		return missing(targets, send, size, needs.end(send));
	return {};
}

/* ------------------------------------------------------------------ */
/* Directions                                                         */
/* ------------------------------------------------------------------ */

DirectionAnswer answer_direction(const DirectionItem &d, u32 length, bool sends)
{
	const bool fits = total_length(d.segments) >= length;

	if (length < d.least)
		return { Placement::TooShort };
	if (sends && may_send(d, length))
		return { Placement::Tbsn };
	if (d.type == Placement::Tbsn)
		return { Placement::TooShort };
	return { Placement::Exrw, fits };
}

bool ranges_valid(const DirectionSets &sets)
{
	RangeOrder order;

	return sets.each([&](const DirectionSet &s) {
		return order.next(s.begin, s.end);
	});
}

/* All of the item is in memory that was given, in the order of its segments. */
static bool is_in(const MessageItem &item, Span<const Segment> given)
{
	Filling filling;
	u32 next = 0;

	return item.where.segments.size() <= given.size() &&
	       item.where.segments.each([&](const XdrSegment &x) {
		       return filling.take(given[next++], x.segment);
	       }) &&
	       filling.octets() == item.length;
}

/* One answer. */
static bool answer_valid(const MessageItem &item, const Direction &d)
{
	const Placement type = item.where.type;

	return may_answer(d.type, type) &&
	       (type != Placement::Exrw || is_in(item, d.segments));
}

bool answers_valid(const MessageItems &items,
		   Span<const DirectionRange> directions)
{
	u32 range = 0;
	u32 place = 0;
	const auto skip_empty = [&] {
		while (range < directions.size() &&
		       place == directions[range].items.size()) {
			range++;
			place = 0;
		}
	};
	const bool ok = items.each([&](const MessageItem &i) {
		skip_empty();
		if (range == directions.size())
			return false;
		return answer_valid(i, directions[range].items[place++]);
	});

	skip_empty();
	return ok && range == directions.size();
}

} // namespace rpcrdma
