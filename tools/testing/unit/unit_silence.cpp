// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "silence.h"

using namespace rpcrdma;

namespace
{

/* A client that looks, and what there is to see. */
struct Client {
	rpcrdma_silence silence = {};
	rpcrdma_silence_seen seen = {};

	Client()
	{
		/* The server's FINAL. */
		seen.received = 1;
	}
	u32 look()
	{
		return rpcrdma_silence_look(&silence, &seen);
	}
	/* The verdicts of so many looks at a server that says nothing. */
	std::vector<u32> looks(u32 count)
	{
		std::vector<u32> verdicts;

		for (u32 i = 0; i < count; i++)
			verdicts.push_back(look());
		return verdicts;
	}
};

constexpr u32 kWait = RPCRDMA_SILENCE_WAIT;

} // namespace

TEST(silence, asks_after_one_interval)
{
	Client c;

	c.seen.may_ask = true;
	EXPECT_EQ(c.look(), kWait) << "the FINAL has come";
	EXPECT_EQ(c.look(), u32{ RPCRDMA_SILENCE_ASK });
	c.seen.received++;
	EXPECT_EQ(c.look(), kWait);
	EXPECT_EQ(c.look(), u32{ RPCRDMA_SILENCE_ASK });
}

TEST(silence, gives_up_who_does_not_answer)
{
	Client c;

	c.seen.may_ask = true;
	EXPECT_EQ(c.looks(2), (std::vector<u32>{ kWait, RPCRDMA_SILENCE_ASK }));
	c.seen.asked = c.seen.posted = true;
	c.seen.outstanding = 3;
	EXPECT_EQ(c.look(), u32{ RPCRDMA_SILENCE_UNANSWERED });
}

/* Another message than the answer will do. */
TEST(silence, waits_for_who_says_anything)
{
	Client c;

	c.seen.may_ask = c.seen.asked = c.seen.posted = true;
	for (u32 i = 0; i < 5; i++) {
		EXPECT_EQ(c.looks(2), std::vector<u32>(2, kWait));
		c.seen.received++;
	}
}

/* A Reply may bring credit for the probe; without one nothing does. */
TEST(silence, asks_as_soon_as_it_can)
{
	Client c;

	c.seen.may_ask = c.seen.asked = true;
	c.seen.outstanding = 1;
	EXPECT_EQ(c.looks(10), std::vector<u32>(10, kWait));
	c.seen.outstanding = 0;
	EXPECT_EQ(c.look(), u32{ RPCRDMA_SILENCE_UNANSWERED });
}

TEST(silence, without_questions_is_no_reason)
{
	Client c;

	EXPECT_EQ(c.looks(10), std::vector<u32>(10, kWait));
	/* Replies are awaited: their own time-out is for that. */
	c.seen.outstanding = 1;
	c.seen.kept = true;
	EXPECT_EQ(c.looks(10), std::vector<u32>(10, kWait));
}

/* Nothing can bring the credit for which Calls wait. */
TEST(silence, without_questions_ends_if_no_credit_can_come)
{
	Client c;

	EXPECT_EQ(c.looks(10), std::vector<u32>(10, kWait));
	c.seen.kept = true;
	/* They may have begun to wait only just now. */
	EXPECT_EQ(c.looks(2),
		  (std::vector<u32>{ kWait, RPCRDMA_SILENCE_NO_CREDIT }));
}

TEST(silence, without_questions_goes_on_if_credit_comes)
{
	Client c;

	c.seen.kept = true;
	for (u32 i = 0; i < 5; i++) {
		EXPECT_EQ(c.looks(2), std::vector<u32>(2, kWait));
		/* A GRANT. */
		c.seen.received++;
	}
	EXPECT_EQ(c.looks(2), std::vector<u32>(2, kWait));
	c.seen.kept = false;
	EXPECT_EQ(c.looks(2), std::vector<u32>(2, kWait));
}

/* Who sets the parameter to zero has a probe out. */
TEST(silence, waits_for_the_answer_to_its_last_question)
{
	Client c;

	c.seen.asked = c.seen.posted = true;
	EXPECT_EQ(c.looks(3), (std::vector<u32>{ kWait, kWait,
						 RPCRDMA_SILENCE_UNANSWERED }));
}
