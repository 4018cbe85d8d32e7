// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "continuation.h"

using rpcrdma::Continuation;
using rpcrdma::Fragment;
using rpcrdma::to_xid;
using rpcrdma::Xid;
using Verdict = Continuation::Verdict;

namespace
{

struct Taken {
	Verdict verdict;
	rpcrdma_range place;
	u32 total;
};

Taken take(Continuation &c, const Fragment &f, u32 max = 1 << 20)
{
	Taken t = {};

	t.verdict = c.take(f, max, t.place, t.total);
	return t;
}

Fragment middle(u32 xid, u32 length, u32 remaining)
{
	return { to_xid(xid), length, remaining, false };
}

Fragment last(u32 xid, u32 length)
{
	return { to_xid(xid), length, 0, true };
}

} // namespace

TEST(continuation, take__a_message_of_one_part)
{
	Continuation c;
	const Taken t = take(c, last(7, 100));

	EXPECT_EQ(t.verdict, Verdict::Accept);
	EXPECT_EQ(t.place.offset, 0u);
	EXPECT_EQ(t.place.length, 100u);
	EXPECT_EQ(t.total, 100u);
	EXPECT_FALSE(c.active());
}

TEST(continuation, take__a_message_of_three_parts)
{
	Continuation c;

	Taken t = take(c, middle(7, 100, 60));
	EXPECT_EQ(t.verdict, Verdict::Accept);
	EXPECT_EQ(t.total, 160u);
	EXPECT_TRUE(c.active(Xid{ 7 }));
	EXPECT_FALSE(c.active(Xid{ 8 }));
	t = take(c, middle(7, 40, 20));
	EXPECT_EQ(t.verdict, Verdict::Accept);
	EXPECT_EQ(t.place.offset, 100u);
	t = take(c, last(7, 20));
	EXPECT_EQ(t.verdict, Verdict::Accept);
	EXPECT_EQ(t.place.offset, 140u);
	EXPECT_EQ(t.total, 160u);
	EXPECT_FALSE(c.active());
}

TEST(continuation, take__remaining_falls_by_what_came_D7)
{
	for (u32 remaining : { 0u, 16u, 24u, 60u, UINT32_MAX - 3 }) {
		Continuation c;

		(void)take(c, middle(7, 100, 60));
		EXPECT_EQ(take(c, middle(7, 40, remaining)).verdict,
			  Verdict::Broken);
		EXPECT_TRUE(c.active(Xid{ 7 })) << "refusing is the caller's";
	}
}

TEST(continuation, take__last_brings_exactly_the_rest_D7)
{
	for (u32 length : { 4u, 56u, 64u, 0xfffffffcu }) {
		Continuation c;

		(void)take(c, middle(7, 100, 60));
		EXPECT_EQ(take(c, last(7, length)).verdict, Verdict::Broken);
	}
}

TEST(continuation, take__a_middle_leaves_a_word_at_least)
{
	Continuation c;

	for (u32 remaining : { 0u, 1u, 2u, 3u, 5u, 6u })
		EXPECT_EQ(take(c, middle(7, 100, remaining)).verdict,
			  Verdict::Broken);
	EXPECT_EQ(take(c, middle(7, 100, 4)).verdict, Verdict::Accept);
}

TEST(continuation, take__bounded_at_the_first_fragment_D7)
{
	Continuation c;

	EXPECT_EQ(take(c, middle(7, 100, 60), 156).verdict, Verdict::TooLarge);
	EXPECT_FALSE(c.active());
	EXPECT_EQ(take(c, middle(7, 100, 0xfffffffc), UINT32_MAX).verdict,
		  Verdict::TooLarge)
		<< "the sum does not fit in 32 bits";
	EXPECT_EQ(take(c, last(7, 100), 96).verdict, Verdict::TooLarge);
	EXPECT_EQ(take(c, middle(7, 100, 60), 160).verdict, Verdict::Accept);
}

TEST(continuation, take__another_message_between_D7)
{
	Continuation c;

	(void)take(c, middle(7, 100, 60));
	EXPECT_EQ(take(c, middle(8, 100, 60)).verdict, Verdict::Interloper);
	EXPECT_EQ(take(c, last(8, 60)).verdict, Verdict::Interloper);
	EXPECT_EQ(take(c, last(7, 60)).verdict, Verdict::Accept);
}

TEST(continuation, refuse__discards_the_rest)
{
	Continuation c;

	(void)take(c, middle(7, 100, 60));
	EXPECT_TRUE(c.refuse(Xid{ 7 }, false, 60));
	EXPECT_FALSE(c.active());
	EXPECT_TRUE(c.discarding(Xid{ 7 }));
	EXPECT_FALSE(c.discarding(Xid{ 8 }));
	c.discarded(middle(7, 20, 40));
	EXPECT_TRUE(c.discarding(Xid{ 7 }));
	c.discarded(last(7, 40));
	EXPECT_FALSE(c.discarding(Xid{ 7 }));
}

TEST(continuation, refuse__the_last_part_leaves_nothing_to_discard)
{
	Continuation c;

	(void)take(c, middle(7, 100, 60));
	EXPECT_TRUE(c.refuse(Xid{ 7 }, true, 0));
	EXPECT_FALSE(c.active());
	EXPECT_FALSE(c.discarding(Xid{ 7 }));
	EXPECT_FALSE(c.refuse(Xid{ 7 }, true, 0))
		<< "there is nothing to abort now";
}

TEST(continuation, refuse__an_interloper_leaves_the_message_alone)
{
	Continuation c;

	(void)take(c, middle(7, 100, 60));
	EXPECT_FALSE(c.refuse(Xid{ 8 }, false, 40));
	EXPECT_TRUE(c.active(Xid{ 7 }));
	EXPECT_TRUE(c.discarding(Xid{ 8 }));
	EXPECT_EQ(take(c, last(7, 60)).verdict, Verdict::Accept);
	EXPECT_TRUE(c.discarding(Xid{ 8 }));
}

TEST(continuation, discarding__ends_when_another_message_starts)
{
	Continuation c;

	(void)c.refuse(Xid{ 8 }, false, 40);
	EXPECT_EQ(take(c, last(9, 60)).verdict, Verdict::Accept);
	EXPECT_FALSE(c.discarding(Xid{ 8 }));
}

/* Whatever a new message with that XID is, it is longer than what was to come. */
TEST(continuation, goes_on_with__the_numbers_tell_the_rest_from_a_new_message)
{
	Continuation c;

	(void)take(c, middle(7, 100, 60));
	EXPECT_EQ(c.left(), 60u);
	EXPECT_TRUE(c.refuse(Xid{ 7 }, false, c.left()));
	EXPECT_EQ(c.left(), 0u);
	EXPECT_TRUE(c.goes_on_with(last(7, 60)));
	EXPECT_TRUE(c.goes_on_with(middle(7, 20, 40)));
	EXPECT_FALSE(c.goes_on_with(last(7, 160)));
	EXPECT_FALSE(c.goes_on_with(middle(7, 100, 60)));
	EXPECT_FALSE(c.goes_on_with(middle(7, 64, UINT32_MAX - 3)));
	c.discarded(middle(7, 20, 40));
	EXPECT_FALSE(c.goes_on_with(last(7, 60)));
	EXPECT_TRUE(c.goes_on_with(last(7, 40)));
}

/* The Call is sent again: its Reply may be as long as the rest of the old one. */
TEST(continuation, expect__nothing_is_discarded_any_more)
{
	Continuation c;

	(void)c.refuse(Xid{ 7 }, false, 40);
	c.expect(Xid{ 8 });
	EXPECT_TRUE(c.discarding(Xid{ 7 }));
	c.expect(Xid{ 7 });
	EXPECT_FALSE(c.discarding(Xid{ 7 }));
}

TEST(continuation, take__every_split_of_a_message)
{
	const u32 words = 8;

	/* Bit n: there is a cut after word n + 1. */
	for (u32 cuts = 0; cuts < 1u << (words - 1); cuts++) {
		Continuation c;
		u32 at = 0;

		for (u32 w = 1; w <= words; w++) {
			if (w < words && !(cuts >> (w - 1) & 1))
				continue;
			const u32 length = (w - at) * 4;
			const Taken t =
				take(c, w == words ? last(3, length) :
						     middle(3, length,
							    (words - w) * 4));

			ASSERT_EQ(t.verdict, Verdict::Accept);
			ASSERT_EQ(t.place.offset, at * 4);
			ASSERT_EQ(t.total, words * 4);
			at = w;
		}
		ASSERT_FALSE(c.active());
	}
}
