// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What follows the prefix in messages of rtrext, and the value of its Receive Buffer
 * Structure. What is decoded is in the octets that were read, word for word. Of what is
 * found sound, each octet of an item is in one place, which is in a buffer segment that data
 * may be placed in, in a Send that has it, and nobody else's.
 *
 * The first word chooses which it is, and how Receives are made.
 */
#include "fuzz.h"
#include "compound.h"
#include "rtr_reply.h"

#include <vector>

using namespace rpcrdma;

namespace
{

/* ---- the octets again ---- */

void put(const XdrSegments &s, XdrWriter &w)
{
	w.word(s.size());
	FUZZ_CHECK(s.each([&](const XdrSegment &one) {
		w.word(one.segment.handle);
		w.word(one.segment.length);
		w.hyper(one.segment.offset);
		return true;
	}));
}

void put(const MessageItems &items, XdrWriter &w)
{
	w.word(items.size());
	FUZZ_CHECK(items.each([&](const MessageItem &i) {
		w.word(i.position);
		w.word(i.length);
		w.word(static_cast<u32>(i.where.type));
		if (i.where.type == Placement::Exrw)
			put(i.where.segments, w);
		if (i.where.type != Placement::Tbsn)
			return true;
		w.word(i.where.offset);
		w.word(i.where.numbers.size());
		return i.where.numbers.each([&](const XdrNumber &n) {
			w.word(n.value);
			return true;
		});
	}));
}

void put(const DirectionSets &sets, XdrWriter &w)
{
	w.word(sets.size());
	FUZZ_CHECK(sets.each([&](const DirectionSet &s) {
		w.word(s.begin);
		w.word(s.end);
		w.word(s.items.size());
		return s.items.each([&](const DirectionItem &d) {
			w.word(d.least);
			w.word(static_cast<u32>(d.type));
			if (d.type == Placement::BySize)
				w.word(d.rdma_from);
			if (d.type != Placement::Tbsn)
				put(d.segments, w);
			return true;
		});
	}));
}

class Again {
public:
	explicit Again(Bytes in)
		: in_(in)
		, out_(in.size())
		, w({ out_.data(), in.size() })
	{
	}
	void check(u32 size)
	{
		FUZZ_CHECK(w.ok() && w.size() == size);
		FUZZ_CHECK(!size ||
			   !std::memcmp(out_.data(), in_.data(), size));
	}

private:
	Bytes in_;
	std::vector<u8> out_;

public:
	XdrWriter w;
};

/* ---- items ---- */

void check_places(const MessageItems &items, rpcrdma_dir dir, const Targets &targets,
		  u32 count, u32 head, u32 length)
{
	const u32 whole = targets.at(targets.count).offset;
	GroupNeeds needs;
	std::vector<std::vector<bool>> placed(count, std::vector<bool>(whole));

	const Misplaced wrong = check_items(items, dir, targets, count, needs);
	if (wrong.kind == Misplaced::Kind::Fault)
		FUZZ_CHECK(wrong.fault.code == RtrError::BadOff ||
			   wrong.fault.code == RtrError::BadTbsn);
	if (wrong)
		return;
	u64 end = 0;
	u64 added = 0;
	FUZZ_CHECK(items.each([&](const MessageItem &i) {
		u32 at = 0;

		if (i.where.type == Placement::TooShort ||
		    i.where.type == Placement::NoItem)
			return dir == RPCRDMA_REPLY;
		FUZZ_CHECK(i.position >= end && i.position);
		end = u64{ i.position } + i.length;
		added += xdr_roundup(i.length);
		if (i.where.type == Placement::Exrw) {
			FUZZ_CHECK(total_length(i.where.segments) == i.length);
			return true;
		}
		FUZZ_CHECK(each_piece(i, targets, [&](const ItemPiece &p) {
			FUZZ_CHECK(p.send < count && p.at == at);
			FUZZ_CHECK(p.in.length &&
				   p.in.offset >= needs.begin(p.send, 0) &&
				   p.in.offset + p.in.length <=
					   needs.end(p.send));
			for (u32 o = 0; o < p.in.length; o++) {
				FUZZ_CHECK(p.in.offset + o >= targets.before);
				FUZZ_CHECK(!placed[p.send][p.in.offset + o]);
				placed[p.send][p.in.offset + o] = true;
			}
			at += p.in.length;
			return true;
		}));
		FUZZ_CHECK(at == i.length);
		return true;
	}));
	FUZZ_CHECK(added == needs.added);

	for (u32 send = 0; send < count; send++)
		for (const u32 size :
		     { whole, needs.end(send), head + length }) {
			if (size > whole || size < head ||
			    check_part(targets, needs, send, size, head,
				       length))
				continue;
			FUZZ_CHECK(u64{ head } + length <= size);
			for (u32 o = 0; o < whole; o++)
				FUZZ_CHECK(!placed[send][o] ||
					   (o >= head + length && o < size));
		}
}

/* Each direction has one answer, and each item is in one of them at most. */
void check_answers(const DirectionSets &sets, u32 choice)
{
	ReplyItem items[4];
	u32 sends = 0;
	u32 directions = 0;
	u32 answers = 0;
	u32 last = 0;
	bool any = false;

	if (!ranges_valid(sets))
		return;
	for (u32 i = 0; i < 4; i++)
		items[i] = { choice % 64 * i, choice >> i * 4 & 0xfff };
	FUZZ_CHECK(sets.each([&](const DirectionSet &s) {
		directions += s.items.size();
		return true;
	}));
	FUZZ_CHECK(answer_directions(
		sets, items, [&](u32) { return sends++ % 2; },
		[&](const DirectionItem &d, const DirectionAnswer &a,
		    u32 item) {
			answers++;
			FUZZ_CHECK(may_answer(d.type, a.type));
			FUZZ_CHECK((a.type == Placement::NoItem) ==
				   (item == 4));
			if (item == 4)
				return true;
			FUZZ_CHECK(!any || item > last);
			any = true;
			last = item;
			FUZZ_CHECK(items[item].length >= d.least ||
				   a.type == Placement::TooShort);
			return true;
		}));
	FUZZ_CHECK(answers == directions);
}

/* What is not in the Payload stream goes somewhere, in order, and once. */
void check_reply(const DirectionSets &sets, u32 choice)
{
	const rpcrdma_rtr_result results[] = {
		{ { choice % 97, choice >> 20 }, RPCRDMA_RTR_NOWHERE },
		{ { 4096, choice >> 16 & 0xfff }, choice % 64 },
		{ { 9000, choice >> 8 & 0xff }, choice % 128 },
	};
	const u32 length = 9000 + choice % 300;
	PlacedItem items[kMostItems];
	ReplyItems out = { items };
	rpcrdma_reply_plan plan;
	u64 written = 0;
	u64 removed = 0;
	u64 end = 0;
	u32 n = 0;

	if (!ranges_valid(sets) ||
	    !answer_reply(sets, results, { choice % 64, choice % 128 }, length,
			  { choice % 8, 1024 }, out, plan) ||
	    plan.errcode)
		return;
	for (u32 i = 0; i < out.count; i++) {
		const PlacedItem &item = items[i];

		if (item.type != Placement::Exrw &&
		    item.type != Placement::Tbsn)
			continue;
		FUZZ_CHECK(n < plan.n_removed && item.position >= end);
		FUZZ_CHECK(plan.removed[n].offset == item.position);
		FUZZ_CHECK(plan.removed[n].length == xdr_roundup(item.length));
		end = u64{ item.position } + plan.removed[n].length;
		FUZZ_CHECK(end <= length);
		removed += plan.removed[n++].length;
		for (const Segment &s : item.segments)
			written += s.length;
		if (item.type == Placement::Exrw)
			written -= item.length;
	}
	FUZZ_CHECK(n == plan.n_removed && !written);
	FUZZ_CHECK(plan.stream_length + removed == length);
}

/* They are in the Call, in order. */
void check_causes(Bytes in)
{
	u32 causes[kMostItems];
	u32 known;
	const u32 n = get_causes(in, causes, known);
	u32 end = 0;

	FUZZ_CHECK(n <= kMostItems && known <= in.size());
	for (u32 i = 0; i < n; i++) {
		FUZZ_CHECK(causes[i] >= end && causes[i] <= in.size());
		end = causes[i] + 1;
	}
}

void check_structure(Bytes in)
{
	ReceiveShape shape;
	BufferStructure s;
	u32 number;

	if (s.decode(in)) {
		Again again(in);

		again.w.word(s.length);
		again.w.word(s.groups.size());
		FUZZ_CHECK(s.groups.each([&](const BufferGroup &g) {
			encode_buffer_group(g, again.w);
			return true;
		}));
		again.check(in.size());
	}
	const ShapeParse parsed = parse_shape(in, shape);
	const bool sound = decode_shape_number(in, number);
	FUZZ_CHECK(sound == (parsed != ShapeParse::BadValue));
	if (parsed != ShapeParse::Ok)
		return;
	FUZZ_CHECK(shape.length() == s.length);
	const ReceiveShape known = shape_of(number);
	FUZZ_CHECK(known.targets() ==
		   (number == kOtherShape ? 0 : shape.targets()));
	const Targets targets = targets_of(number);
	FUZZ_CHECK(targets.count == known.targets());
	for (u32 n = 0; n < known.targets() && n < 64; n++) {
		const Range r = shape.target(n);

		FUZZ_CHECK(known.target(n).offset == r.offset &&
			   known.target(n).length == r.length);
		FUZZ_CHECK(targets.at(n).offset == r.offset &&
			   targets.at(n).length == r.length);
	}
}

/* Sometimes none. */
Targets some_targets(u32 choice)
{
	const Targets t = { choice >> 4 & 7, 64 + 4 * (choice & 0xf),
			    32U << (choice >> 7 & 3) };

	return t.valid() ? t : Targets{};
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	if (size < 4)
		return 0;
	const u32 choice = load_be32(data);
	const Targets targets = some_targets(choice >> 16);
	const u32 count = 1 + (choice >> 12) % 4;
	const fuzz::Exact copy(data + 4, size - 4);
	const Bytes in = copy.bytes();
	Again again(in);
	XmtRequest request;
	XmtResponse response;
	XmtContinue go_on;
	ReportedError report;

	switch (choice % 5) {
	case 0:
		if (!request.decode(in))
			break;
		put(request.items, again.w);
		put(request.directions, again.w);
		again.w.word(request.count);
		again.w.word(request.reply_count);
		again.w.word(request.length);
		again.check(request.head);
		check_places(request.items, RPCRDMA_CALL, targets, count,
			     kPrefixSize + request.head, request.length);
		check_answers(request.directions, choice);
		check_reply(request.directions, choice);
		break;
	case 1:
		if (!response.decode(in))
			break;
		put(response.items, again.w);
		again.w.word(response.count);
		again.w.word(response.length);
		again.check(response.head);
		check_places(response.items, RPCRDMA_REPLY, targets, count,
			     kPrefixSize + response.head, response.length);
		break;
	case 2:
		if (!go_on.decode(in))
			break;
		again.w.word(go_on.number);
		again.w.word(go_on.began);
		again.w.word(go_on.length);
		again.check(go_on.head);
		break;
	case 3:
		if (!report.decode(in))
			break;
		encode_report(report, again.w);
		again.check(in.size());
		break;
	default:
		check_structure(in);
		check_causes(in);
		break;
	}
	return 0;
}
