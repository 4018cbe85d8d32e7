// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Where the items of a message by rtrext are, and what becomes of directions for a Reply.
 */
#include "messages.h"
#include "rtr_place.h"

#include <gtest/gtest.h>

using namespace rpcrdma;
using namespace unit;

namespace
{

constexpr u32 kExrw = 1;
constexpr u32 kTbsn = 2;
constexpr u32 kChoice = 3;
constexpr u32 kBySize = 4;
constexpr u32 kTooShort = 5;
constexpr u32 kNoItem = 6;

/* 512 octets for headers, then @pages of 1024. */
ReceiveShape shape_with(u32 pages)
{
	ReceiveShape s;

	EXPECT_TRUE(s.add({ 1, 512, 4, false }));
	EXPECT_TRUE(s.add({ pages, 1024, 1024, true }));
	return s;
}

Targets targets_with(u32 pages)
{
	return targets_of(shape_number(shape_with(pages)));
}

/* What a decoder refers to lives as long as this. */
template <typename T> class Array {
public:
	explicit Array(const Words &w)
		: octets_(octets(w))
	{
		XdrReader r(bytes());

		EXPECT_TRUE(array.decode(r));
		EXPECT_FALSE(r.left());
	}
	Array(const Array &) = delete;
	Array &operator=(const Array &) = delete;

private:
	[[nodiscard]] Bytes bytes() const
	{
		return { octets_.data(), static_cast<u32>(octets_.size()) };
	}
	Octets octets_;

public:
	T array;
};

using Items = Array<MessageItems>;
using Sets = Array<DirectionSets>;

Words placed(u32 position, u32 length, u32 offset, const Words &numbers)
{
	return Words{ position, length, kTbsn, offset,
		      static_cast<u32>(numbers.size()) } +
	       numbers;
}

Words by_rdma(u32 position, u32 length, const Words &lengths)
{
	Words w = { position, length, kExrw, static_cast<u32>(lengths.size()) };

	for (const u32 l : lengths)
		w = w + Words{ 0x77, l, 0, 0x1000 };
	return w;
}

struct Checked {
	Misplaced wrong;
	GroupNeeds needs;
};

Checked check(const Words &items, u32 pages = 2, u32 count = 2,
	      rpcrdma_dir dir = RPCRDMA_CALL)
{
	const Items i(items);
	Checked c;

	c.wrong =
		check_items(i.array, dir, targets_with(pages), count, c.needs);
	return c;
}

void expect_fault(const Misplaced &m, RtrError code, u32 value, u32 least,
		  u32 most)
{
	EXPECT_EQ(m.kind, Misplaced::Kind::Fault);
	EXPECT_EQ(m.fault, (RtrFault{ code, { value, least, most } }));
}

void expect_bad_xdr(const Misplaced &m)
{
	EXPECT_EQ(m.kind, Misplaced::Kind::BadXdr);
}

} // namespace

/* ------------------------------------------------------------------ */
/* Receives                                                           */
/* ------------------------------------------------------------------ */

TEST(rtr_place, shape__targets_are_numbered_in_order)
{
	ReceiveShape s;

	EXPECT_TRUE(s.add({ 1, 64, 4, true }));
	EXPECT_TRUE(s.add({ 2, 100, 4, false }));
	EXPECT_TRUE(s.add({ 2, 4096, 4096, true }));
	EXPECT_EQ(s.length(), 64u + 200 + 8192);
	ASSERT_EQ(s.targets(), 3u);
	EXPECT_EQ(s.target(0).offset, 0u);
	EXPECT_EQ(s.target(0).length, 64u);
	EXPECT_EQ(s.target(1).offset, 264u);
	EXPECT_EQ(s.target(2).offset, 264u + 4096);
	EXPECT_EQ(s.target(2).length, 4096u);
	EXPECT_EQ(s.target(3).length, 0u);
}

TEST(rtr_place, shape__what_makes_no_sense)
{
	ReceiveShape s;

	EXPECT_FALSE(s.add({ 0, 64, 4, false }));
	EXPECT_FALSE(s.add({ 1, 0, 4, false }));
	EXPECT_FALSE(s.add({ 1, 6, 4, false }));
	EXPECT_FALSE(s.add({ 1, 64, 12, false }));
	EXPECT_FALSE(s.add({ UINT32_MAX, 1U << 31, 4, true }));
	EXPECT_EQ(s.length(), 0u);
	EXPECT_TRUE(s.add({ 1, ReceiveShape::kMostOctets - 4, 4, false }));
	EXPECT_FALSE(s.add({ 2, 4, 4, false }));
	for (u32 i = 1; i < ReceiveShape::kMostRuns; i++)
		EXPECT_EQ(s.add({ 1, 4, 4, false }), i == 1);
}

TEST(rtr_place, structure__of_a_property)
{
	const auto parse = [](const Words &w, ReceiveShape &s) {
		const Octets o = octets(w);

		return parse_shape({ o.data(), static_cast<u32>(o.size()) }, s);
	};
	ReceiveShape s;

	EXPECT_EQ(parse({ 1536, 2, 1, 512, 4, 0, 1, 1024, 1024, 1 }, s),
		  ShapeParse::Ok);
	EXPECT_EQ(s.targets(), 1u);
	EXPECT_EQ(s.target(0).offset, 512u);
	/* Flags that are not in the draft mean nothing. */
	EXPECT_EQ(parse({ 512, 1, 1, 512, 4, 0xfffffffe }, s), ShapeParse::Ok);
	EXPECT_EQ(s.targets(), 0u);
	/* Not the sum, too short. */
	EXPECT_EQ(parse({ 1535, 1, 1, 1536, 4, 0 }, s), ShapeParse::BadValue);
	EXPECT_EQ(parse({ 1540, 1, 1, 1536, 4, 0 }, s), ShapeParse::BadValue);
	EXPECT_EQ(parse({ 0, 1, 1U << 31, 2, 4, 0 }, s), ShapeParse::BadValue);
	EXPECT_EQ(parse({ 512, 1, 1, 512, 4 }, s), ShapeParse::BadValue);
	/* The draft allows all of these, and nothing can be placed there. */
	EXPECT_EQ(parse({ 0, 1, 0, 0, 4, 0 }, s), ShapeParse::Other);
	EXPECT_EQ(parse({ 512, 2, 0, 99, 4, 1, 1, 512, 4, 0 }, s),
		  ShapeParse::Other);
	EXPECT_EQ(parse({ 1022, 1, 1, 1022, 4, 1 }, s), ShapeParse::Other);
	EXPECT_EQ(parse({ 1024, 1, 1, 1024, 12, 1 }, s), ShapeParse::Other);
	EXPECT_EQ(parse({ 1U << 31, 1, 1, 1U << 31, 4, 1 }, s),
		  ShapeParse::Other);
	EXPECT_EQ(s.length(), 512u);

	Words many = { 9 * 64, 9 };
	for (u32 i = 0; i < 9; i++)
		many = many + Words{ 1, 64, 4, i % 2 };
	EXPECT_EQ(parse(many, s), ShapeParse::Other);
}

TEST(rtr_place, targets__are_those_of_the_shape)
{
	const ReceiveShape s = shape_with(3);
	const Targets t = targets_of(shape_number(s));

	EXPECT_EQ(t, (Targets{ 3, 512, 1024 }));
	for (u32 n = 0; n < 3; n++) {
		EXPECT_EQ(t.at(n).offset, s.target(n).offset);
		EXPECT_EQ(t.at(n).length, s.target(n).length);
	}
	EXPECT_EQ(targets_of(0), Targets{});
	EXPECT_EQ(targets_of(kOtherShape), Targets{});
}

TEST(rtr_place, targets__are_none_that_a_shape_cannot_have)
{
	constexpr u32 most = ReceiveShape::kMostOctets;

	EXPECT_TRUE((Targets{ 2, 512, 1024 }).valid());
	EXPECT_TRUE((Targets{ 1, 0, most }).valid());
	EXPECT_FALSE((Targets{ 0, 512, 1024 }).valid());
	EXPECT_FALSE((Targets{ 2, 512, 0 }).valid());
	EXPECT_FALSE((Targets{ 2, 510, 1024 }).valid());
	EXPECT_FALSE((Targets{ 2, 512, 1020 }).valid());
	EXPECT_FALSE((Targets{ 2, 512, 2 }).valid());
	EXPECT_FALSE((Targets{ 1, 4, most }).valid());
	EXPECT_FALSE((Targets{ 2, 0, most }).valid());
	EXPECT_FALSE((Targets{ UINT32_MAX, 0, 1U << 31 }).valid());
	EXPECT_FALSE((Targets{ 1, UINT32_MAX - 3, 4 }).valid());
}

TEST(rtr_place, structure__as_a_number)
{
	const ReceiveShape s = shape_with(3);
	const u32 number = shape_number(s);
	u8 out[64];
	XdrWriter w(out);
	u32 again = 0;

	EXPECT_EQ(shape_of(number).targets(), 3u);
	EXPECT_EQ(shape_of(number).length(), 512u + 3 * 1024);
	EXPECT_EQ(shape_of(number).target(2).offset, s.target(2).offset);
	encode_shape_number(number, w);
	EXPECT_TRUE(decode_shape_number({ out, w.size() }, again));
	EXPECT_EQ(again, number);

	/* What comes after the targets changes nothing of it. */
	ReceiveShape more = s;
	EXPECT_TRUE(more.add({ 1, 100, 4, false }));
	EXPECT_EQ(shape_number(more), number);
	/* Two kinds of targets do, and sizes that are no powers of two. */
	EXPECT_TRUE(more.add({ 1, 64, 4, true }));
	EXPECT_EQ(shape_number(more), kOtherShape);
	ReceiveShape odd;
	EXPECT_TRUE(odd.add({ 1, 1000, 4, true }));
	EXPECT_EQ(shape_number(odd), kOtherShape);
	EXPECT_EQ(shape_of(kOtherShape).targets(), 0u);
	ReceiveShape none;
	EXPECT_TRUE(none.add({ 1, 4096, 4, false }));
	EXPECT_EQ(shape_number(none), 0u);
	EXPECT_EQ(shape_of(0).targets(), 0u);
}

/* So many targets, or so far behind, that they have no number. */
TEST(rtr_place, structure__as_a_number_that_is_too_large)
{
	const auto number = [](u32 before, u32 targets) {
		ReceiveShape s;

		EXPECT_TRUE(s.add({ 1, before * 4, 4, false }));
		EXPECT_TRUE(s.add({ targets, 64, 64, true }));
		return shape_number(s);
	};

	EXPECT_NE(number(kBeforeMost, kCountMost), kOtherShape);
	EXPECT_EQ(number(kBeforeMost + 1, kCountMost), kOtherShape);
	EXPECT_EQ(number(kBeforeMost, kCountMost + 1), kOtherShape);
}

/* What nothing can be placed in is no mistake of the peer's; what is no structure is. */
TEST(rtr_place, structure__as_a_number_of_any_value)
{
	u32 number = 0;
	const auto decode = [&](const Words &w) {
		const Octets o = octets(w);

		return decode_shape_number(
			{ o.data(), static_cast<u32>(o.size()) }, number);
	};

	EXPECT_TRUE(decode({ 1022, 1, 1, 1022, 4, 1 }));
	EXPECT_EQ(number, kOtherShape);
	EXPECT_FALSE(decode({ 512, 1, 1, 512, 4, 0, 0 }));
	EXPECT_TRUE(decode({ 512, 1, 1, 512, 4, 0 }));
	EXPECT_EQ(number, 0u);
}

/* Whatever it is made of. */
TEST(rtr_place, structure__its_length)
{
	const auto length = [](const Words &w) {
		const Octets o = octets(w);

		return structure_length(
			{ o.data(), static_cast<u32>(o.size()) });
	};
	const u32 most = ReceiveShape::kMostOctets;

	EXPECT_EQ(length({ 1022, 1, 1, 1022, 4, 1 }), 1022u);
	for (const u32 more : { 0u, 1u, most })
		EXPECT_EQ(length({ most + more, 1, 1, most + more, 4, 0 }),
			  most);
	EXPECT_EQ(length({ most - 1, 0 }), most - 1);
	/* Of what is none. */
	EXPECT_EQ(length({}), 0u);
	EXPECT_EQ(length({ 1022, 1, 1, 1022, 4 }), 0u);
}

/* ------------------------------------------------------------------ */
/* Items                                                              */
/* ------------------------------------------------------------------ */

TEST(rtr_place, items__none)
{
	const Checked c = check({ 0 });

	EXPECT_FALSE(c.wrong);
	EXPECT_EQ(c.needs.added, 0u);
	EXPECT_EQ(c.needs.begin(0, 999), 999u);
	EXPECT_EQ(c.needs.end(1), 0u);
}

/* Numbers go on from Send to Send, whether a segment is filled or not. */
TEST(rtr_place, items__numbers_of_all_sends_D20)
{
	const Items items(Words{ 2 } + placed(40, 1500, 0, { 1, 2 }) +
			  placed(1600, 9, 100, { 3 }));
	const Targets targets = targets_with(2);
	GroupNeeds needs;
	std::vector<ItemPiece> pieces;

	EXPECT_FALSE(check_items(items.array, RPCRDMA_CALL, targets, 2, needs));
	EXPECT_TRUE(items.array.each([&](const MessageItem &i) {
		return each_piece(i, targets, [&](const ItemPiece &p) {
			pieces.push_back(p);
			return true;
		});
	}));
	ASSERT_EQ(pieces.size(), 3u);
	EXPECT_EQ(pieces[0].send, 0u);
	EXPECT_EQ(pieces[0].in.offset, 512u + 1024);
	EXPECT_EQ(pieces[0].in.length, 1024u);
	EXPECT_EQ(pieces[1].send, 1u);
	EXPECT_EQ(pieces[1].in.offset, 512u);
	EXPECT_EQ(pieces[1].in.length, 476u);
	EXPECT_EQ(pieces[1].at, 1024u);
	EXPECT_EQ(pieces[2].in.offset, 512u + 1024 + 100);
	EXPECT_EQ(pieces[2].in.length, 9u);
	/* Where they begin, and where they end. */
	EXPECT_EQ(needs.begin(0, 9999), 512u + 1024);
	EXPECT_EQ(needs.end(0), 512u + 2048);
	EXPECT_EQ(needs.begin(1, 9999), 512u);
	EXPECT_EQ(needs.end(1), 512u + 1024 + 109);
	/* 1500 of the 1600 are the first item. */
	EXPECT_EQ(needs.stream, 100u);
	EXPECT_EQ(needs.added, 1500u + 12);
}

TEST(rtr_place, items__a_segment_that_is_not_there)
{
	expect_fault(check(Words{ 1 } + placed(40, 8, 0, { 4 })).wrong,
		     RtrError::BadTbsn, 4, 0, 3);
	expect_fault(check(Words{ 1 } + placed(40, 8, 0, { UINT32_MAX })).wrong,
		     RtrError::BadTbsn, UINT32_MAX, 0, 3);

	/* In Receives without targets there is none at all. */
	const Items items(Words{ 1 } + placed(40, 8, 0, { 0 }));
	GroupNeeds needs;
	expect_fault(check_items(items.array, RPCRDMA_CALL, {}, 1, needs),
		     RtrError::BadTbsn, 0, 0, 0);
}

TEST(rtr_place, items__a_segment_twice)
{
	expect_fault(check(Words{ 1 } + placed(40, 1500, 0, { 1, 1 })).wrong,
		     RtrError::BadTbsn, 1, 0, 3);
	expect_fault(check(Words{ 2 } + placed(40, 8, 0, { 2 }) +
			   placed(80, 8, 512, { 2 }))
			     .wrong,
		     RtrError::BadTbsn, 2, 0, 3);
}

/* One more than the item needs, or one less. */
TEST(rtr_place, items__lists_of_the_wrong_length)
{
	expect_fault(check(Words{ 1 } + placed(40, 1024, 0, { 0, 1 })).wrong,
		     RtrError::BadTbsn, 1, 0, 3);
	expect_fault(check(Words{ 1 } + placed(40, 1025, 0, { 2 })).wrong,
		     RtrError::BadTbsn, 2, 0, 3);
	expect_fault(check(Words{ 1 } + placed(40, 1024, 4, { 2 })).wrong,
		     RtrError::BadTbsn, 2, 0, 3);
	expect_fault(check(Words{ 1 } + placed(40, 1, 0, {})).wrong,
		     RtrError::BadTbsn, 0, 0, 3);
	EXPECT_FALSE(check(Words{ 1 } + placed(40, 0, 0, {})).wrong);
}

TEST(rtr_place, items__offsets)
{
	EXPECT_FALSE(check(Words{ 1 } + placed(40, 4, 1020, { 0 })).wrong);
	expect_fault(check(Words{ 1 } + placed(40, 4, 1024, { 0 })).wrong,
		     RtrError::BadOff, 1024, 0, 1023);
	expect_fault(
		check(Words{ 1 } + placed(40, 4, UINT32_MAX - 3, { 0 })).wrong,
		RtrError::BadOff, UINT32_MAX - 3, 0, 1023);
	/* In the range, so it is the alignment that is wrong (9.5). */
	expect_fault(check(Words{ 1 } + placed(40, 4, 2, { 0 })).wrong,
		     RtrError::BadOff, 2, 0, 1023);
}

TEST(rtr_place, items__positions)
{
	for (const u32 position : { 0u, 42u })
		expect_bad_xdr(check(Words{ 1 } + placed(position, 8, 0, { 0 }))
				       .wrong);
	/* The second begins in the first, or in its padding. */
	for (const u32 position : { 36u, 44u, 48u })
		expect_bad_xdr(check(Words{ 2 } + placed(40, 9, 0, { 0 }) +
				     placed(position, 8, 0, { 1 }))
				       .wrong);
	EXPECT_FALSE(check(Words{ 2 } + placed(40, 9, 0, { 0 }) +
			   placed(52, 8, 0, { 1 }))
			     .wrong);
	/* The sum of lengths is more than 32 bits. */
	expect_bad_xdr(check(Words{ 2 } +
			     by_rdma(4, UINT32_MAX, { UINT32_MAX }) +
			     by_rdma(8, 8, { 8 }))
			       .wrong);
}

TEST(rtr_place, items__by_explicit_rdma)
{
	const Checked c = check(Words{ 2 } + by_rdma(40, 3000, { 1000, 2000 }) +
				placed(3040, 8, 0, { 0 }));

	EXPECT_FALSE(c.wrong);
	EXPECT_EQ(c.needs.segments, 2u);
	EXPECT_EQ(c.needs.largest, 2000u);
	EXPECT_EQ(c.needs.stream, 40u);
	expect_bad_xdr(check(Words{ 1 } + by_rdma(40, 3000, { 2999 })).wrong);
	expect_bad_xdr(check(Words{ 1 } + by_rdma(40, 3000, {})).wrong);
}

/* Table 1: XDR has them in a Call, too, and they mean nothing there. */
TEST(rtr_place, items__that_only_replies_have)
{
	for (const u32 type : { kTooShort, kNoItem }) {
		const Words items = { 1, 0, 0, type };

		expect_bad_xdr(check(items).wrong);
		EXPECT_FALSE(check(items, 2, 2, RPCRDMA_REPLY).wrong);
	}
	for (const u32 type : { 0u, kChoice, kBySize, 7u }) {
		const Octets o = octets({ 1, 40, 8, type, 0, 0 });
		XdrReader r({ o.data(), static_cast<u32>(o.size()) });
		MessageItems items;

		EXPECT_FALSE(items.decode(r)) << type;
	}
	for (const u32 type : { 0u, kTooShort, kNoItem, 7u }) {
		const Octets o = octets({ 1, 0, 8, 1, 0, type, 0, 0 });
		XdrReader r({ o.data(), static_cast<u32>(o.size()) });
		DirectionSets sets;

		EXPECT_FALSE(sets.decode(r)) << type;
	}
}

TEST(rtr_place, part__the_payload_is_inside)
{
	const Targets targets = targets_with(2);
	GroupNeeds needs;

	EXPECT_FALSE(check_part(targets, needs, 0, 200, 36, 164));
	EXPECT_FALSE(check_part(targets, needs, 0, 200, 36, 0));
	/* What follows is not looked at. */
	EXPECT_FALSE(check_part(targets, needs, 0, 200, 36, 100));
	expect_fault(check_part(targets, needs, 0, 200, 36, 168),
		     RtrError::BadPl, 168, 0, 164);
	expect_fault(check_part(targets, needs, 0, 200, 36, UINT32_MAX - 3),
		     RtrError::BadPl, UINT32_MAX - 3, 0, 164);
	expect_fault(check_part(targets, needs, 0, 200, 36, 42),
		     RtrError::BadPl, 42, 0, 164);
}

TEST(rtr_place, part__placed_data_are_there_and_alone)
{
	const Checked c = check(Words{ 1 } + placed(40, 1100, 0, { 0, 1 }));
	const Targets targets = targets_with(2);

	EXPECT_FALSE(check_part(targets, c.needs, 0, 512 + 1100, 60, 40));
	EXPECT_FALSE(check_part(targets, c.needs, 0, 512 + 1100, 60, 452));
	expect_fault(check_part(targets, c.needs, 0, 512 + 1100, 60, 456),
		     RtrError::BadPl, 456, 0, 452);
	/* The header itself reaches into them. */
	expect_fault(check_part(targets, c.needs, 0, 512 + 1100, 516, 0),
		     RtrError::BadPl, 0, 0, 0);
	/* Segment 1 is not whole, or segment 0 is not. */
	expect_fault(check_part(targets, c.needs, 0, 512 + 1099, 60, 40),
		     RtrError::BadTbsn, 1, 0, 0);
	expect_fault(check_part(targets, c.needs, 0, 512 + 1023, 60, 40),
		     RtrError::BadTbsn, 1, 0, 0);
	/* In the other Send there are none. */
	EXPECT_FALSE(check_part(targets, c.needs, 1, 28, 28, 0));
}

/* As 9.5 wants it: one that was sent. The range is what the Send could have had. */
TEST(rtr_place, part__the_number_of_what_is_missing_was_sent)
{
	const Targets targets = targets_with(4);
	const auto expect = [&](const Words &numbers, u32 send, u32 size,
				u32 number, u32 most) {
		const u32 length =
			(static_cast<u32>(numbers.size()) - 1) * 1024 + 8;
		const Checked c =
			check(Words{ 1 } + placed(40, length, 0, numbers), 4);

		EXPECT_FALSE(c.wrong);
		expect_fault(check_part(targets, c.needs, send, size, 28, 0),
			     RtrError::BadTbsn, number, 0, most);
	};

	/* The Send ends before the first segment, in it, and behind it. */
	expect({ 1 }, 0, 500, 1, 0);
	expect({ 1 }, 0, 512, 1, 0);
	expect({ 1 }, 0, 512 + 1023, 1, 0);
	expect({ 1 }, 0, 512 + 1024 + 4, 1, 0);
	expect({ 3 }, 0, 512 + 2 * 1024, 3, 1);
	expect({ 1, 3 }, 0, 512 + 2 * 1024, 3, 1);
	expect({ 0, 1, 2 }, 0, 512 + 1024, 2, 0);
	/* The next Send has 4 to 7. */
	expect({ 1, 6 }, 1, 500, 6, 3);
	expect({ 1, 6 }, 1, 512 + 1024, 6, 4);
	expect({ 4 }, 1, 512 + 7, 4, 3);
	/* That of one word less than all is its only one. */
	expect({ 0 }, 0, 512 + 4, 0, 0);
}

/* ------------------------------------------------------------------ */
/* Directions                                                         */
/* ------------------------------------------------------------------ */

namespace
{

Words direction(u32 least, u32 type, u32 rdma_from, const Words &lengths)
{
	Words w = { least, type };

	if (type == kBySize)
		w.push_back(rdma_from);
	if (type == kTbsn)
		return w;
	w.push_back(static_cast<u32>(lengths.size()));
	for (const u32 l : lengths)
		w = w + Words{ 0x99, l, 0, 0 };
	return w;
}

/* The answer to one direction about one item of @length. */
DirectionAnswer answer(const Words &d, u32 length, bool sends)
{
	const Array<XdrArray<DirectionItem>> items(Words{ 1 } + d);
	DirectionAnswer a;

	EXPECT_TRUE(items.array.each([&](const DirectionItem &i) {
		a = answer_direction(i, length, sends);
		return true;
	}));
	return a;
}

constexpr DirectionAnswer kByRdma = { Placement::Exrw, true };
constexpr DirectionAnswer kBySend = { Placement::Tbsn, true };
constexpr DirectionAnswer kInline = { Placement::TooShort, true };

} // namespace

/* As printed, row by row: Inv. or not. */
TEST(rtr_place, table2__which_answers_are_valid)
{
	constexpr bool kPrinted[4][4] = { { true, false, true, true },
					  { false, true, true, true },
					  { true, true, true, true },
					  { true, true, true, true } };
	constexpr u32 kColumns[4] = { kExrw, kTbsn, kTooShort, kNoItem };

	for (u32 row = 0; row < 4; row++)
		for (u32 column = 0; column < 4; column++)
			EXPECT_EQ(may_answer(static_cast<Placement>(row + 1),
					     static_cast<Placement>(
						     kColumns[column])),
				  kPrinted[row][column])
				<< row << " " << column;
}

TEST(rtr_place, answer__by_explicit_rdma)
{
	const Words d = direction(100, kExrw, 0, { 500, 600 });

	EXPECT_EQ(answer(d, 99, true), kInline);
	EXPECT_EQ(answer(d, 100, true), kByRdma);
	EXPECT_EQ(answer(d, 1100, false), kByRdma);
	EXPECT_EQ(answer(d, 1101, true),
		  (DirectionAnswer{ Placement::Exrw, false }));
}

TEST(rtr_place, answer__by_sends)
{
	const Words d = direction(100, kTbsn, 0, {});

	EXPECT_EQ(answer(d, 99, true), kInline);
	EXPECT_EQ(answer(d, 100, true), kBySend);
	/* No answer says that there was no room. */
	EXPECT_EQ(answer(d, 100, false), kInline);
}

TEST(rtr_place, answer__the_responder_chooses)
{
	const Words d = direction(0, kChoice, 0, { 500 });

	EXPECT_EQ(answer(d, 0, true), kBySend);
	EXPECT_EQ(answer(d, 5000, true), kBySend);
	EXPECT_EQ(answer(d, 500, false), kByRdma);
	EXPECT_EQ(answer(d, 501, false),
		  (DirectionAnswer{ Placement::Exrw, false }));
}

TEST(rtr_place, answer__by_size)
{
	const Words d = direction(10, kBySize, 300, { 500 });

	EXPECT_EQ(answer(d, 9, true), kInline);
	EXPECT_EQ(answer(d, 299, true), kBySend);
	EXPECT_EQ(answer(d, 299, false), kByRdma);
	EXPECT_EQ(answer(d, 300, true), kByRdma);
}

TEST(rtr_place, directions__ranges)
{
	const auto valid = [](const Words &bounds) {
		Words w = { static_cast<u32>(bounds.size() / 2) };

		for (u32 i = 0; i < bounds.size(); i += 2)
			w = w + Words{ bounds[i], bounds[i + 1], 0 };
		const Sets sets(w);
		return ranges_valid(sets.array);
	};

	EXPECT_TRUE(valid({}));
	EXPECT_TRUE(valid({ 0, UINT32_MAX }));
	EXPECT_TRUE(valid({ 40, 60, 60, 80, 100, 101 }));
	EXPECT_FALSE(valid({ 40, 40 }));
	EXPECT_FALSE(valid({ 60, 40 }));
	EXPECT_FALSE(valid({ 40, 60, 56, 80 }));
	EXPECT_FALSE(valid({ 60, 80, 40, 60 }));
}

/* A COMPOUND: two ranges, and items in, between and behind them. */
TEST(rtr_place, directions__each_has_one_answer)
{
	const Sets sets(Words{ 2, 40, 60, 3 } + direction(100, kTbsn, 0, {}) +
			direction(100, kChoice, 0, { 1000 }) +
			direction(0, kExrw, 0, { 1000 }) + Words{ 80, 100, 1 } +
			direction(0, kTbsn, 0, {}));
	const ReplyItem items[] = {
		{ 44, 99 }, { 44, 800 }, { 64, 500 }, { 84, 700 }, { 88, 700 }
	};
	struct One {
		DirectionAnswer answer;
		u32 item;
		bool operator==(const One &) const = default;
	};
	std::vector<One> got;
	std::vector<u32> asked;

	EXPECT_TRUE(ranges_valid(sets.array));
	EXPECT_TRUE(answer_directions(
		sets.array, items,
		[&](u32 length) {
			asked.push_back(length);
			return true;
		},
		[&](const DirectionItem &, const DirectionAnswer &a, u32 item) {
			got.push_back({ a, item });
			return true;
		}));
	EXPECT_EQ(got, (std::vector<One>{ { kInline, 0 },
					  { kBySend, 1 },
					  { {}, 5 },
					  { kBySend, 3 } }));
	EXPECT_EQ(asked, (std::vector<u32>{ 800, 700 }));
}

TEST(rtr_place, answers__one_for_each_direction)
{
	/* As by_rdma() has them. */
	static constexpr Segment kMemory[] = { { 0x77, 600, 0x1000 },
					       { 0x77, 400, 0x1000 } };
	const Direction first[] = { { 0, Placement::Choice, 0, kMemory },
				    { 0, Placement::Tbsn, 0, {} } };
	const Direction second[] = { { 0, Placement::Exrw, 0, kMemory } };
	const DirectionRange ranges[] = { { 0, 40, first },
					  { 40, 60, {} },
					  { 60, 80, second } };
	const auto valid = [&](const Words &w) {
		const Items items(w);

		return answers_valid(items.array, ranges);
	};
	const Words none = { 0, 0, kNoItem };
	const Words sent = placed(40, 8, 0, { 0 });

	EXPECT_TRUE(valid(Words{ 3 } + none + none + none));
	EXPECT_TRUE(valid(Words{ 3 } + by_rdma(40, 1000, { 600, 400 }) + sent +
			  none));
	EXPECT_TRUE(valid(Words{ 3 } + sent + Words{ 0, 0, kTooShort } +
			  by_rdma(80, 4, { 4 })));
	/* One too few, one too many, Inv. of table 2, more than there was room for. */
	EXPECT_FALSE(valid(Words{ 2 } + none + none));
	EXPECT_FALSE(valid(Words{ 4 } + none + none + none + none));
	EXPECT_FALSE(valid(Words{ 3 } + none + by_rdma(40, 4, { 4 }) + none));
	EXPECT_FALSE(valid(Words{ 3 } + none + none + sent));
	EXPECT_FALSE(valid(Words{ 3 } + by_rdma(40, 1001, { 600, 401 }) + none +
			   none));
	/* Not in the segments as they are, or not one after the other. */
	EXPECT_FALSE(
		valid(Words{ 3 } + by_rdma(40, 1000, { 1000 }) + none + none));
	EXPECT_FALSE(
		valid(Words{ 3 } + by_rdma(40, 400, { 0, 400 }) + none + none));
}

/* It is told where a header ends, or what of it cannot be. */
TEST(rtr_place, head__is_how_far_it_was_read)
{
	const auto read = [](const Words &w) {
		const Octets o = octets(w);
		XmtRequest m;

		EXPECT_FALSE(m.decode({ o.data(), static_cast<u32>(o.size()) }));
		return m.head;
	};

	EXPECT_EQ(read({}), 0u);
	EXPECT_EQ(read({ 1, 36 }), 8u);
	EXPECT_EQ(read({ 1, 36, 16, 9, 0 }), 16u);
	EXPECT_EQ(read({ 1, 36, 16, kTbsn, 0, 2, 0 }), 24u);
	EXPECT_EQ(read({ 0, 1, 0, 1, 1, 8, 7 }), 28u);
	EXPECT_EQ(read({ 0, 0, 1, 1 }), 16u);
}
