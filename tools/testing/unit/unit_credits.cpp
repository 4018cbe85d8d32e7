// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "credits.h"

using rpcrdma::Credits;

TEST(credits, may_send__exactly_one_at_first_D2)
{
	Credits c(8);

	EXPECT_TRUE(c.may_send());
	EXPECT_EQ(c.available(), 1u);
	c.sent();
	EXPECT_FALSE(c.may_send());
	EXPECT_EQ(c.available(), 0u);
}

TEST(credits, may_send__strictly_below_the_limit_D2)
{
	Credits c(8);

	EXPECT_TRUE(c.limit(3));
	for (int i = 0; i < 3; i++) {
		EXPECT_TRUE(c.may_send()) << i;
		c.sent();
	}
	EXPECT_FALSE(c.may_send());
	EXPECT_EQ(c.sent_count(), 3u);
}

TEST(credits, may_send__the_peer_may_shrink_its_window_D2)
{
	Credits c(8);

	EXPECT_TRUE(c.limit(10));
	for (int i = 0; i < 5; i++)
		c.sent();
	EXPECT_TRUE(c.limit(4));
	EXPECT_FALSE(c.may_send());
	EXPECT_FALSE(c.may_grant());
	EXPECT_EQ(c.available(), 0u);
	EXPECT_TRUE(c.limit(6));
	EXPECT_TRUE(c.may_send());
}

TEST(credits, may_grant__one_beyond_the_limit_D3)
{
	Credits c(8);

	c.sent();
	EXPECT_FALSE(c.may_send());
	EXPECT_TRUE(c.may_grant());
	c.sent(); /* the GRANT: counted like all messages */
	EXPECT_FALSE(c.may_grant());
}

TEST(credits, credit__counts_what_was_received_D1)
{
	Credits c(8);

	EXPECT_EQ(c.credit(), 8u);
	/* One sent, five received and given back: the draft would say 9. */
	c.sent();
	for (int i = 0; i < 5; i++) {
		c.received();
		EXPECT_TRUE(c.release(1));
	}
	EXPECT_EQ(c.credit(), 13u);
	EXPECT_EQ(c.credit(), c.received_count() + c.window());
}

TEST(credits, credit__held_receives_are_not_advertised_D1)
{
	Credits c(8);

	for (int i = 0; i < 3; i++)
		c.received();
	EXPECT_EQ(c.in_use(), 3u);
	/* Received 3 + advertised (8 - 3). */
	EXPECT_EQ(c.credit(), 8u);
	EXPECT_TRUE(c.release(2));
	EXPECT_EQ(c.credit(), 10u);
	EXPECT_EQ(c.high(), 3u);
	c.received();
	EXPECT_EQ(c.in_use(), 2u);
	EXPECT_EQ(c.high(), 3u) << "the most, not the last";
}

TEST(credits, grant_due__half_of_the_window_D3)
{
	for (u32 window : { 3u, 4u, 5u, 8u, 64u, 1000u }) {
		Credits c(window);
		u32 taken = 0;

		c.sent(); /* tells the peer of the whole window */
		while (!c.grant_due()) {
			c.received();
			EXPECT_TRUE(c.release(1));
			ASSERT_LE(++taken, window);
		}
		EXPECT_EQ(window - taken, window / 2) << window;
		c.sent();
		EXPECT_FALSE(c.grant_due());
	}
}

TEST(credits, grant_due__any_kind_of_message_uses_the_window_D3)
{
	Credits c(4);

	c.sent();
	c.received();
	EXPECT_TRUE(c.release(1));
	EXPECT_FALSE(c.grant_due());
	c.received();
	EXPECT_TRUE(c.release(1));
	EXPECT_TRUE(c.grant_due());
}

TEST(credits, grant_due__not_for_the_receive_of_a_grant_alone_D3)
{
	Credits c(4);

	c.sent();
	for (int i = 0; i < 4; i++)
		c.received();
	EXPECT_FALSE(c.grant_due());
	EXPECT_TRUE(c.release(1));
	EXPECT_FALSE(c.grant_due()) << "worth one message";
	EXPECT_TRUE(c.release(1));
	EXPECT_TRUE(c.grant_due()) << "worth two";
}

TEST(credits, overrun__only_a_grant_takes_the_extra_receive_D3)
{
	Credits c(4);

	EXPECT_FALSE(c.overrun(false));
	c.received();
	EXPECT_FALSE(c.overrun(false)) << "the first message is free";
	c.received();
	EXPECT_TRUE(c.overrun(false));
	EXPECT_FALSE(c.overrun(true));
	c.received();
	EXPECT_TRUE(c.overrun(true));
}

TEST(credits, overrun__what_was_told_stays_told)
{
	Credits c(4);

	c.sent(); /* told: 4 */
	for (int i = 0; i < 4; i++)
		c.received();
	EXPECT_FALSE(c.overrun(false));
	c.received();
	EXPECT_TRUE(c.overrun(false));
}

TEST(credits, overrun__the_first_message_is_free_even_of_a_window_of_zero)
{
	Credits c(0);

	c.sent(); /* its word is below the one message of the beginning */
	EXPECT_EQ(c.credit(), 0u);
	c.received();
	EXPECT_FALSE(c.overrun(false));
	c.received();
	EXPECT_TRUE(c.overrun(false));
}

TEST(credits, set_window__growth_takes_effect_at_once_D15)
{
	Credits c(4);

	c.sent();
	c.received();
	EXPECT_TRUE(c.release(1));
	EXPECT_FALSE(c.grant_due());
	c.set_window(64);
	EXPECT_EQ(c.window(), 64u);
	EXPECT_EQ(c.credit(), 65u);
	EXPECT_TRUE(c.grant_due()) << "three left of 64";
	EXPECT_FALSE(c.retire());
	c.sent();
	EXPECT_FALSE(c.grant_due());
}

TEST(credits, set_window__shrinks_as_receives_complete_D15)
{
	for (u32 start : { 0u, UINT32_MAX - 5, 0x7ffffffau }) {
		Credits c(10, start);

		c.sent();
		c.set_window(4);
		EXPECT_EQ(c.window(), 10u) << "it was offered";
		EXPECT_EQ(c.credit(), start + 10);
		EXPECT_FALSE(c.retire()) << "none has completed";
		for (u32 i = 0; i < 6; i++) {
			c.received();
			EXPECT_FALSE(c.overrun(false));
			ASSERT_TRUE(c.retire());
			EXPECT_EQ(c.credit(), start + 10) << "never less";
			EXPECT_EQ(c.in_use(), 0u);
		}
		EXPECT_EQ(c.window(), 4u);
		/* All of what was offered may still come. */
		for (u32 i = 0; i < 4; i++) {
			c.received();
			EXPECT_FALSE(c.overrun(false));
			EXPECT_FALSE(c.retire());
			EXPECT_EQ(c.grant_due(), i > 1)
				<< "half of the new window";
			EXPECT_TRUE(c.release(1));
		}
		EXPECT_EQ(c.credit(), start + 14);
		c.received();
		EXPECT_TRUE(c.overrun(false));
		EXPECT_FALSE(c.overrun(true));
	}
}

TEST(credits, set_window__several_changes_in_a_row_D15)
{
	Credits c(10);

	c.sent();
	c.set_window(4);
	c.received();
	EXPECT_TRUE(c.retire());
	EXPECT_EQ(c.window(), 9u);
	c.set_window(8); /* more than four, less than what there is */
	c.received();
	EXPECT_TRUE(c.retire());
	EXPECT_EQ(c.window(), 8u);
	c.received();
	EXPECT_FALSE(c.retire());
	EXPECT_TRUE(c.release(1));
	c.set_window(3);
	c.set_window(12);
	EXPECT_EQ(c.window(), 12u);
	c.received();
	EXPECT_FALSE(c.retire());
	EXPECT_TRUE(c.release(1));
	EXPECT_EQ(c.credit(), 12u + 4) << "four are back, or retired";
	c.set_window(12);
	EXPECT_EQ(c.credit(), 12u + 4) << "four are back, or retired";
}

TEST(credits, ample__until_half_of_what_was_told_has_come)
{
	Credits c(8);

	EXPECT_FALSE(c.ample()) << "one message is allowed";
	c.sent();
	for (int i = 0; i < 3; i++) {
		c.received();
		EXPECT_TRUE(c.ample()) << i;
		EXPECT_FALSE(c.grant_due());
	}
	c.received();
	EXPECT_FALSE(c.ample());
	EXPECT_FALSE(c.grant_due()) << "there is nothing new to tell";
	EXPECT_TRUE(c.release(4));
	EXPECT_TRUE(c.grant_due());
	c.sent();
	EXPECT_TRUE(c.ample());
}

TEST(credits, receive_batch__leaves_most_of_the_window_open)
{
	EXPECT_EQ(rpcrdma::receive_batch(3), 0u);
	EXPECT_EQ(rpcrdma::receive_batch(8), 2u);
	EXPECT_EQ(rpcrdma::receive_batch(64), 16u);
	EXPECT_EQ(rpcrdma::receive_batch(256), 16u);
}

TEST(credits, retire__not_the_receive_of_a_grant_D15)
{
	Credits c(5);

	c.sent();
	for (int i = 0; i < 5; i++)
		c.received();
	c.set_window(3);
	c.received(); /* a GRANT */
	EXPECT_FALSE(c.retire()) << "all others are held: it is the last one";
	EXPECT_TRUE(c.release(1));
	EXPECT_EQ(c.credit(), 6u) << "for another GRANT";
	EXPECT_TRUE(c.retire()) << "one of those that were held";
	EXPECT_TRUE(c.retire());
	EXPECT_FALSE(c.retire());
	EXPECT_EQ(c.window(), 3u);
}

TEST(credits, granted__the_most_at_one_time)
{
	Credits c(4);

	EXPECT_EQ(c.granted(), 1u);
	EXPECT_TRUE(c.limit(8));
	for (int i = 0; i < 6; i++)
		c.sent();
	EXPECT_TRUE(c.limit(10));
	EXPECT_EQ(c.granted(), 8u);
	EXPECT_TRUE(c.limit(20));
	EXPECT_EQ(c.granted(), 14u);
	/* A peer that takes credits back has a smaller window now. */
	EXPECT_TRUE(c.limit(9));
	EXPECT_EQ(c.granted(), 3u);
	EXPECT_TRUE(c.limit(6));
	EXPECT_EQ(c.granted(), 1u) << "none now, but some day one";
}

TEST(credits, release__no_more_than_was_received)
{
	Credits c(4);

	EXPECT_FALSE(c.release(1));
	c.received();
	c.received();
	EXPECT_FALSE(c.release(3));
	EXPECT_FALSE(c.release(UINT32_MAX));
	EXPECT_TRUE(c.release(2));
	EXPECT_TRUE(c.release(0));
	EXPECT_FALSE(c.release(1));
}

TEST(credits, limit__a_huge_window_is_only_a_window)
{
	Credits c(4);

	EXPECT_TRUE(c.limit(0x7ffffffe));
	EXPECT_EQ(c.available(), 0x7ffffffeu);
	EXPECT_TRUE(c.may_send());
}

/* Section 4.2.1: less than 2^31 - 1 ahead; and behind by what was sent, at most. */
TEST(credits, limit__what_no_peer_can_mean)
{
	for (const u32 start : { 0u, 1000u, UINT32_MAX - 1, 0x7ffffff0u }) {
		Credits c(4, start);

		for (u32 sent = 0; sent < 4; sent++) {
			const u32 now = start + sent;

			ASSERT_EQ(c.sent_count(), now);
			for (const u32 off :
			     { 0x7fffffffu, 0x80000000u, 0x80000001u,
			       0xc0000000u, UINT32_MAX - sent }) {
				const u32 before = c.available();

				EXPECT_FALSE(c.limit(now + off)) << off;
				EXPECT_EQ(c.available(), before);
			}
			EXPECT_EQ(c.taken_back(), sent);
			EXPECT_TRUE(c.limit(now + 0x7ffffffe));
			/* All that was sent is still under way. */
			EXPECT_TRUE(c.limit(start));
			EXPECT_FALSE(c.may_send());
			EXPECT_TRUE(c.limit(now + 1));
			c.sent();
		}
	}
}

TEST(credits, taken_back__every_word_that_is_less)
{
	Credits c(4);

	EXPECT_TRUE(c.limit(10));
	EXPECT_TRUE(c.limit(10));
	EXPECT_TRUE(c.limit(12));
	EXPECT_EQ(c.taken_back(), 0u);
	EXPECT_TRUE(c.limit(11));
	EXPECT_EQ(c.taken_back(), 1u);
	EXPECT_TRUE(c.limit(0));
	EXPECT_EQ(c.taken_back(), 2u);
	EXPECT_TRUE(c.limit(UINT32_MAX / 4));
	EXPECT_EQ(c.taken_back(), 2u);
}

TEST(credits, ping_pong__one_answer_for_one_message)
{
	Credits c(4);

	for (int i = 0; i < 100; i++) {
		c.received();
		c.ping_pong(1);
		EXPECT_TRUE(c.release(1));
		EXPECT_FALSE(c.overrun(false));
		ASSERT_TRUE(c.may_send());
		c.sent();
		ASSERT_FALSE(c.may_send());
	}
}

TEST(credits, sums__wrap_at_2_to_the_32)
{
	Credits c(8, UINT32_MAX - 3);

	EXPECT_TRUE(c.may_send());
	c.sent();
	EXPECT_FALSE(c.may_send());
	EXPECT_EQ(c.credit(), 4u);
	for (int i = 0; i < 6; i++) {
		c.received();
		EXPECT_FALSE(c.overrun(false));
		EXPECT_TRUE(c.release(1));
	}
	EXPECT_EQ(c.received_count(), 2u);
	EXPECT_EQ(c.credit(), 10u);
	EXPECT_TRUE(c.limit(5));
	EXPECT_EQ(c.available(), 5u - (UINT32_MAX - 2));
	for (int i = 0; i < 8; i++) {
		EXPECT_TRUE(c.may_send());
		c.sent();
	}
	EXPECT_FALSE(c.may_send());
	EXPECT_EQ(c.sent_count(), 5u);
}

TEST(credits, invariants__fail_if_a_receive_is_used_that_is_not_posted)
{
	Credits c(8);

	for (int i = 0; i < 9; i++) {
		c.received();
		EXPECT_TRUE(c.invariants()) << i;
	}
	c.received();
	EXPECT_FALSE(c.invariants());
}
