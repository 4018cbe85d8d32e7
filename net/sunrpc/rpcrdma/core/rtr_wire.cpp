// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "rtr_wire.h"

namespace rpcrdma
{

static constexpr RtrErrorType kErrors[] = {
	{ RtrError::BadHmt, 2, "BADHMT" },   { RtrError::BadOmt, 2, "BADOMT" },
	{ RtrError::BadCont, 0, "BADCONT" }, { RtrError::BadSeq, 2, "BADSEQ" },
	{ RtrError::BadXid, 2, "BADXID" },   { RtrError::BadOff, 3, "BADOFF" },
	{ RtrError::BadTbsn, 3, "BADTBSN" }, { RtrError::BadPl, 3, "BADPL" },
};

/* The place of each is its number less one, and a fault has room for its words. */
static constexpr bool errors_are_dense()
{
	u32 next = 1;

	for (const RtrErrorType &e : kErrors)
		if (static_cast<u32>(e.code) != next++ ||
		    e.words > sizeof(RtrFault::words) / sizeof(u32))
			return false;
	return true;
}
static_assert(errors_are_dense());

const RtrErrorType *rtr_error_type(u32 code)
{
	return code - 1 < sizeof(kErrors) / sizeof(kErrors[0]) ?
		       &kErrors[code - 1] :
		       nullptr;
}

/* ------------------------------------------------------------------ */
/* Decoding                                                           */
/* ------------------------------------------------------------------ */

u64 total_length(const XdrSegments &s)
{
	u64 sum = 0;

	(void)!s.each([&](const XdrSegment &one) {
		sum += one.segment.length;
		return true;
	});
	return sum;
}

bool XmtRequest::decode(Bytes body)
{
	XdrReader r(body);
	bool ok = items.decode(r);

	directed.offset = r.offset();
	ok = ok && directions.decode(r);
	directed.length = r.offset() - directed.offset;
	ok = ok && r.words(count, reply_count, length);
	head = r.offset();
	return ok;
}

bool decode_directions(Bytes in, DirectionSets &sets)
{
	XdrReader r(in);

	return sets.decode(r) && !r.left();
}

bool XmtResponse::decode(Bytes body)
{
	XdrReader r(body);
	const bool ok = items.decode(r) && r.words(count, length);

	head = r.offset();
	return ok;
}

bool XmtContinue::decode(Bytes body)
{
	XdrReader r(body);
	const bool ok = r.word(number) && r.word(began) && r.word(length);

	head = r.offset();
	return ok;
}

bool TransmissionId::decode(XdrReader &r)
{
	u32 which;
	u32 word;

	if (!r.word(which) || !r.word(word) || !direction_of(word, dir))
		return false;
	xid = to_xid(which);
	return r.word(number);
}

bool RtrFault::decode(XdrReader &r)
{
	u32 word;

	if (!r.word(word))
		return false;
	const RtrErrorType *type = rtr_error_type(word);
	if (!type)
		return false;
	code = type->code;
	for (u32 i = 0; i < type->words; i++)
		if (!r.word(words[i]))
			return false;
	return true;
}

bool ReportedError::decode(Bytes body)
{
	XdrReader r(body);

	return bad.decode(r) && r.boolean(has_lead) &&
	       (!has_lead || lead.decode(r)) && fault.decode(r) && !r.left();
}

bool BufferGroup::decode(XdrReader &r)
{
	return r.word(count) && r.word(length) && r.word(align) &&
	       r.word(flags);
}

bool BufferStructure::decode(Bytes value)
{
	XdrReader r(value);

	return r.word(length) && groups.decode(r) && !r.left();
}

/* ------------------------------------------------------------------ */
/* Encoding                                                           */
/* ------------------------------------------------------------------ */

u32 items_size(Span<const PlacedItem> items)
{
	u32 size = 0;

	for (const PlacedItem &i : items) {
		size += 3 * kWordSize;
		if (i.type == Placement::Exrw)
			size += kWordSize + i.segments.size() * kSegmentSize;
		else if (i.type == Placement::Tbsn)
			size += 2 * kWordSize + i.numbers * kWordSize;
	}
	return size;
}

u32 directions_size(Span<const DirectionRange> ranges)
{
	u32 size = 0;

	for (const DirectionRange &range : ranges) {
		size += 3 * kWordSize;
		for (const Direction &d : range.items) {
			size += 2 * kWordSize;
			if (d.type == Placement::BySize)
				size += kWordSize;
			if (d.type != Placement::Tbsn)
				size += kWordSize +
					d.segments.size() * kSegmentSize;
		}
	}
	return size;
}

static void put_segments(Span<const Segment> segments, XdrWriter &w)
{
	w.word(segments.size());
	for (const Segment &s : segments) {
		w.word(s.handle);
		w.word(s.length);
		w.hyper(s.offset);
	}
}

void encode_items(Span<const PlacedItem> items, XdrWriter &w)
{
	w.word(items.size());
	for (const PlacedItem &i : items) {
		w.words(i.position, i.length, static_cast<u32>(i.type));
		if (i.type == Placement::Exrw)
			put_segments(i.segments, w);
		if (i.type != Placement::Tbsn)
			continue;
		w.words(i.offset, i.numbers);
		for (u32 n = 0; n < i.numbers; n++)
			w.word(i.first + n);
	}
}

void encode_directions(Span<const DirectionRange> ranges, XdrWriter &w)
{
	w.word(ranges.size());
	for (const DirectionRange &range : ranges) {
		w.words(range.begin, range.end, range.items.size());
		for (const Direction &d : range.items) {
			w.words(d.least, static_cast<u32>(d.type));
			if (d.type == Placement::BySize)
				w.word(d.rdma_from);
			if (d.type != Placement::Tbsn)
				put_segments(d.segments, w);
		}
	}
}

static void put_id(const TransmissionId &id, XdrWriter &w)
{
	w.word(word_of(id.xid));
	w.word(id.dir);
	w.word(id.number);
}

void encode_report(const ReportedError &e, XdrWriter &w)
{
	const u32 code = static_cast<u32>(e.fault.code);
	const RtrErrorType *type = rtr_error_type(code);

	put_id(e.bad, w);
	w.word(e.has_lead);
	if (e.has_lead)
		put_id(e.lead, w);
	w.word(code);
	for (u32 i = 0; type && i < type->words; i++)
		w.word(e.fault.words[i]);
}

void encode_buffer_group(const BufferGroup &g, XdrWriter &w)
{
	w.word(g.count);
	w.word(g.length);
	w.word(g.align);
	w.word(g.flags);
}

} // namespace rpcrdma
