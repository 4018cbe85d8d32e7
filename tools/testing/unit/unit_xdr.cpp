// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "xdr.h"

using namespace rpcrdma;
using unit::Exact;

TEST(xdr, roundup__multiples_of_four)
{
	EXPECT_EQ(xdr_roundup(0), 0u);
	EXPECT_EQ(xdr_roundup(1), 4u);
	EXPECT_EQ(xdr_roundup(4), 4u);
	EXPECT_EQ(xdr_roundup(UINT32_MAX), u64{ 1 } << 32);
	EXPECT_TRUE(xdr_aligned(8));
	EXPECT_FALSE(xdr_aligned(6));
}

TEST(xdr, reader__network_order)
{
	const Exact in({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 });
	XdrReader r(in.bytes());
	u32 w;
	u64 h;

	ASSERT_TRUE(r.word(w));
	EXPECT_EQ(w, 0x01020304u);
	ASSERT_TRUE(r.hyper(h));
	EXPECT_EQ(h, 0x05060708090a0b0cu);
	EXPECT_EQ(r.left(), 0u);
	EXPECT_EQ(r.offset(), 12u);
}

TEST(xdr, reader__fails_without_consuming)
{
	const Exact in({ 0, 0, 0, 9, 0, 0, 0 });
	XdrReader r(in.bytes());
	bool b;
	u64 h;
	u32 w;

	EXPECT_FALSE(r.hyper(h));
	EXPECT_FALSE(r.boolean(b));
	EXPECT_EQ(r.offset(), 0u);
	ASSERT_TRUE(r.word(w));
	EXPECT_FALSE(r.word(w));
	EXPECT_EQ(r.left(), 3u);
}

/* What says where a header ends relies on it. */
TEST(xdr, words__are_read_as_one_after_the_other)
{
	const u8 in[] = { 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 9, 9 };
	u32 a = 0, b = 0, c = 0;

	XdrReader all{ Bytes(in) };
	ASSERT_TRUE(all.words(a, b, c));
	EXPECT_EQ(a, 1u);
	EXPECT_EQ(b, 2u);
	EXPECT_EQ(c, 3u);
	EXPECT_EQ(all.offset(), 12u);
	for (u32 size = 0; size < 12; size++) {
		XdrReader words{ Bytes(in, size) };
		XdrReader each{ Bytes(in, size) };

		EXPECT_FALSE(words.words(a, b, c));
		EXPECT_FALSE(each.word(a) && each.word(b) && each.word(c));
		EXPECT_EQ(words.offset(), each.offset());
	}
}

TEST(xdr, words__are_written_all_or_none)
{
	u8 out[12] = {};
	XdrWriter w{ MutableBytes(out) };

	w.words(1, 2);
	EXPECT_TRUE(w.ok());
	EXPECT_EQ(w.size(), 8u);
	EXPECT_EQ(load_be32(out + 4), 2u);
	w.words(3, 4);
	EXPECT_FALSE(w.ok());
	/* Nothing follows what is missing. */
	w.words(5);
	EXPECT_EQ(w.size(), 8u);
	EXPECT_EQ(load_be32(out + 8), 0u);
}

TEST(xdr, boolean__only_zero_and_one)
{
	for (u32 v : { 0u, 1u, 2u, 0x01000000u, 0x100u }) {
		const Exact in(unit::octets({ v }));
		XdrReader r(in.bytes());
		bool b;

		EXPECT_EQ(r.boolean(b), v < 2) << v;
		if (v < 2)
			EXPECT_EQ(b, v == 1);
	}
}

TEST(xdr, opaque__padding_is_consumed)
{
	const Exact in({ 'a', 'b', 'c', 'd', 'e', 0, 0, 0, 0, 0, 0, 1 });
	XdrReader r(in.bytes());
	Bytes out;
	u32 w;

	ASSERT_TRUE(r.opaque(5, out));
	EXPECT_EQ(out.size(), 5u);
	EXPECT_EQ(out[4], 'e');
	ASSERT_TRUE(r.word(w));
	EXPECT_EQ(w, 1u);
}

TEST(xdr, opaque__padding_missing)
{
	const Exact in({ 1, 2, 3, 4, 5 });
	Bytes out;

	EXPECT_FALSE(XdrReader(in.bytes()).opaque(5, out));
	EXPECT_FALSE(XdrReader(in.bytes()).opaque(UINT32_MAX, out));
	EXPECT_FALSE(XdrReader(in.bytes()).opaque(0xfffffffd, out));
	EXPECT_TRUE(XdrReader(in.bytes()).opaque(4, out));
	EXPECT_TRUE(XdrReader(in.bytes()).opaque(0, out));
}

TEST(xdr, writer__what_does_not_fit_is_not_written)
{
	for (u32 size = 0; size <= 12; size++) {
		std::unique_ptr<u8[]> out(new u8[size]);
		XdrWriter w({ out.get(), size });

		w.word(0x01020304);
		w.hyper(0x05060708090a0b0c);
		EXPECT_EQ(w.ok(), size == 12);
		if (size == 12)
			EXPECT_EQ(out[11], 12);
		EXPECT_LE(w.size(), size);
	}
}

TEST(span, after__never_past_the_end)
{
	u8 a[3] = { 1, 2, 3 };
	const MutableBytes s(a);

	EXPECT_EQ(s.after(1).size(), 2u);
	EXPECT_EQ(s.after(1)[0], 2);
	EXPECT_EQ(s.after(3).size(), 0u);
	EXPECT_EQ(s.after(4).size(), 0u);
}

TEST(xdr, word_at__only_what_was_written)
{
	std::unique_ptr<u8[]> out(new u8[8]);
	XdrWriter w({ out.get(), 8 });

	w.word_at(0, 1);
	EXPECT_TRUE(w.ok());
	w.word(7);
	w.word(8);
	w.word_at(4, 9);
	w.word_at(5, 0xdead);
	w.word_at(UINT32_MAX, 0xdead);
	XdrReader r({ out.get(), 8 });
	u32 v;
	ASSERT_TRUE(r.word(v));
	EXPECT_EQ(v, 7u);
	ASSERT_TRUE(r.word(v));
	EXPECT_EQ(v, 9u);
	/* After a put that did not fit nothing is written. */
	w.word(10);
	EXPECT_FALSE(w.ok());
	w.word_at(0, 11);
	EXPECT_EQ(load_be32(out.get()), 7u);
}
