// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The rule that makes Receives larger and smaller.
 */
#include "adapt.h"
#include <rpcrdma/adapt.h>

#include <gtest/gtest.h>

#include <random>

using namespace rpcrdma;

namespace
{

constexpr u32 kLeast = 1024;
constexpr u32 kMost = 65536;
constexpr u64 kPlenty = 1 << 30;

/* A connection whose Receives all begin small, with memory enough. */
AdaptInput beginning()
{
	AdaptInput in;

	in.peer_receive = kLeast;
	in.local_receive = kLeast;
	in.peer_send = kMost;
	in.local_send = kMost;
	in.receives = 65;
	in.budget = kPlenty;
	return in;
}

/* @n messages more, of this size, as a sender divides them. */
void send(AdaptInput &in, u32 n, u32 octets)
{
	const u32 room = in.peer_receive - 32;
	const u32 parts = (octets + room - 1) / room;

	in.messages += n;
	in.idle = 0;
	if (parts <= 1)
		return;
	in.continued += n;
	in.parts += n * parts;
}

} // namespace

TEST(adapt, advise__nothing_at_first)
{
	Adapt a(kLeast, kLeast, kMost);

	EXPECT_EQ(a.advise(beginning()), (AdaptAdvice{ 0, 0, kMost }));
}

TEST(adapt, advise__grow_when_messages_go_in_parts)
{
	Adapt a(kLeast, kLeast, kMost);
	AdaptInput in = beginning();

	send(in, Adapt::kEnough - 1, 16384);
	EXPECT_EQ(a.advise(in).peer_receive, 0u) << "that shows too little";
	send(in, 1, 16384);
	const u32 size = a.advise(in).peer_receive;
	EXPECT_GE(size, 16384u + 32);
	EXPECT_LE(size, 32768u);
	/* With it no message goes in parts. */
	in.peer_receive = size;
	send(in, 1000, 16384);
	EXPECT_EQ(a.advise(in).peer_receive, 0u);
}

/* While the peer makes its Receives larger messages still go in many parts. */
TEST(adapt, advise__parts_of_the_size_before_do_not_count)
{
	Adapt a(kLeast, kLeast, kMost);
	AdaptInput in = beginning();

	send(in, Adapt::kEnough, 7000);
	EXPECT_EQ(a.advise(in).peer_receive, 8192u);
	send(in, 10 * Adapt::kEnough, 7000);
	a.accepted();
	in.peer_receive = 8192;
	EXPECT_EQ(a.advise(in).peer_receive, 0u);
	/* Those of now do. */
	send(in, Adapt::kEnough, 16000);
	EXPECT_EQ(a.advise(in).peer_receive, 16384u);
}

TEST(adapt, advise__not_for_a_few_large_ones)
{
	Adapt a(kLeast, kLeast, kMost);
	AdaptInput in = beginning();

	for (u32 i = 0; i < 100; i++) {
		send(in, 4 * Adapt::kShare, 200);
		send(in, 3, 16384);
		EXPECT_EQ(a.advise(in).peer_receive, 0u);
	}
	/* What was long ago does not count. */
	send(in, Adapt::kEnough, 16384);
	EXPECT_NE(a.advise(in).peer_receive, 0u);
}

TEST(adapt, advise__no_more_than_most)
{
	AdaptInput in = beginning();
	Adapt a(kLeast, kLeast, 20000);

	send(in, 100, 1 << 20);
	EXPECT_EQ(a.advise(in).peer_receive, 19u * 1024);
	/* Nor than this side can send. */
	Adapt b(kLeast, kLeast, kMost);
	in.local_send = 4096;
	EXPECT_EQ(b.advise(in).peer_receive, 4096u);
	in.peer_receive = 4096;
	send(in, 100, 1 << 20);
	EXPECT_EQ(b.advise(in).peer_receive, 0u);
}

TEST(adapt, advise__shrink_when_idle)
{
	Adapt a(kLeast, kLeast, kMost);
	AdaptInput in = beginning();

	in.peer_receive = 32768;
	in.idle = Adapt::kIdle - 1;
	EXPECT_EQ(a.advise(in).peer_receive, 0u);
	in.idle = Adapt::kIdle;
	EXPECT_EQ(a.advise(in).peer_receive, kLeast);
	in.peer_receive = kLeast;
	EXPECT_EQ(a.advise(in).peer_receive, 0u);
}

TEST(adapt, advise__rejected_is_asked_less_often)
{
	Adapt a(kLeast, kLeast, kMost);
	AdaptInput in = beginning();
	u32 needed = Adapt::kEnough;

	for (u32 i = 0; i < 10; i++) {
		send(in, needed - 1, 16384);
		EXPECT_EQ(a.advise(in).peer_receive, 0u);
		send(in, 1, 16384);
		EXPECT_NE(a.advise(in).peer_receive, 0u);
		a.rejected();
		if (i < Adapt::kMostDoublings)
			needed *= 2;
	}
	a.accepted();
	send(in, Adapt::kEnough, 16384);
	EXPECT_NE(a.advise(in).peer_receive, 0u);
}

TEST(adapt, advise__counts_wrap)
{
	Adapt a(kLeast, kLeast, kMost);
	AdaptInput in = beginning();

	in.messages = UINT32_MAX - 10;
	in.continued = 1 << 30;
	in.parts = UINT32_MAX - 20;
	EXPECT_NE(a.advise(in).peer_receive, 0u);
	send(in, Adapt::kEnough - 1, 16384);
	EXPECT_EQ(a.advise(in).peer_receive, 0u);
	send(in, 1, 16384);
	EXPECT_EQ(a.advise(in).peer_receive, 32768u);
}

TEST(adapt, advise__memory_that_is_there)
{
	Adapt a(kLeast, kLeast, kMost);
	AdaptInput in = beginning();

	in.budget = 65 * 5000;
	EXPECT_EQ(a.advise(in).local_receive, 4096u);
	in.budget = 0;
	EXPECT_EQ(a.advise(in).local_receive, kLeast) << "nobody has less";
	in.receives = 0;
	in.budget = UINT64_MAX;
	EXPECT_EQ(a.advise(in).local_receive, kMost);
}

/* However small the peer's Receives were at the beginning, and however large. */
TEST(adapt, advise__memory_is_short_and_own_receives_stay)
{
	for (const u32 peer : { kLeast, 32768U }) {
		Adapt a(peer, 8192, kMost);
		AdaptInput in = beginning();

		in.local_receive = 16384;
		in.budget = u64{ in.receives } * kLeast;
		const AdaptAdvice advice = a.advise(in);
		EXPECT_EQ(advice.local_receive, 8192u);
		EXPECT_EQ(advice.peer_send, 8192u);
	}
}

TEST(adapt, advise__memory_is_short_and_is_there_again)
{
	Adapt a(kLeast, kLeast, kMost);
	AdaptInput in = beginning();

	in.local_receive = 16384;
	in.peer_send = 32768;
	in.budget = 65 * 4096;
	EXPECT_EQ(a.advise(in).peer_send, 4096u);
	in.peer_send = 4096;
	EXPECT_EQ(a.advise(in).peer_send, 0u);
	in.budget = 65 * 2048;
	EXPECT_EQ(a.advise(in).peer_send, 2048u);
	in.peer_send = 2048;
	/* A little more is not worth asking. */
	in.budget = 65 * 3072;
	EXPECT_EQ(a.advise(in).peer_send, 0u);
	in.budget = 65 * 8192;
	EXPECT_EQ(a.advise(in).peer_send, 8192u);
	in.peer_send = 8192;
	in.budget = kPlenty;
	EXPECT_EQ(a.advise(in).peer_send, 16384u) << "what its Receives are";
	in.peer_send = 16384;
	EXPECT_EQ(a.advise(in).peer_send, 0u);
}

/* A peer that sends little at once has its reasons. */
TEST(adapt, advise__the_peer_need_not_send_more)
{
	Adapt a(kLeast, kLeast, kMost);
	AdaptInput in = beginning();

	in.local_receive = 16384;
	in.peer_send = 4096;
	EXPECT_EQ(a.advise(in).peer_send, 0u);
}

/* Its own Sends are a side's own affair: they get small at once, and large later. */
TEST(adapt, advise__memory_is_short_and_own_sends_get_small)
{
	const AdaptAdvice small{ 0, 0, kLeast, true };
	Adapt a(kLeast, kLeast, kMost);
	AdaptInput in = beginning();

	in.now = UINT32_MAX - 1000;
	send(in, Adapt::kEnough, 16384);
	in.scarce = true;
	EXPECT_EQ(a.advise(in), small) << "and no larger Receives for them";
	send(in, 100 * Adapt::kEnough, 16384);
	EXPECT_EQ(a.advise(in), small);
	in.scarce = false;
	send(in, Adapt::kEnough, 16384);
	in.now += Adapt::kCalm - 1;
	EXPECT_EQ(a.advise(in), small);
	in.now++;
	EXPECT_EQ(a.advise(in), (AdaptAdvice{ 32768, 0, kMost, false }));
}

/* The peer may not answer for long, or never. What needs no answer does not wait for it. */
TEST(adapt, advise__an_answer_is_awaited)
{
	Adapt a(kLeast, kLeast, kMost);
	AdaptInput in = beginning();

	in.local_receive = 16384;
	in.asked_receive = true;
	send(in, Adapt::kEnough, 16384);
	EXPECT_EQ(a.advise(in), (AdaptAdvice{ 0, 0, kMost, false }));
	in.scarce = true;
	EXPECT_EQ(a.advise(in), (AdaptAdvice{ 0, kLeast, kLeast, true }));
	in.asked_send = true;
	EXPECT_EQ(a.advise(in), (AdaptAdvice{ 0, 0, kLeast, true }));
	/* Memory is there again, before the peer has said that it sends less. */
	in.scarce = false;
	in.now += Adapt::kCalm;
	EXPECT_EQ(a.advise(in), (AdaptAdvice{ 0, 0, kMost, false }));
	in.asked_send = false;
	in.peer_send = kLeast;
	EXPECT_EQ(a.advise(in).peer_send, 16384u);
	/* What was counted meanwhile is not lost. */
	in.peer_send = 16384;
	in.asked_receive = false;
	send(in, Adapt::kEnough, 16384);
	EXPECT_EQ(a.advise(in).peer_receive, 32768u);
}

/*
 * If what shrinks sets free what was missing, all is large again after a while, and memory is short
 * again. That is more and more seldom, and has a bound.
 */
TEST(adapt, advise__a_limit_that_is_near_does_not_make_them_sway)
{
	Adapt a(kLeast, kLeast, kMost);
	AdaptInput in = beginning();
	u32 calm = Adapt::kCalm;

	in.local_receive = 16384;
	for (u32 i = 0; i < 10; i++) {
		const u32 before = in.peer_send;

		in.scarce = true;
		EXPECT_TRUE(a.advise(in).small_sends);
		EXPECT_EQ(a.advise(in).peer_send, kLeast);
		in.peer_send = kLeast;
		in.scarce = false;
		EXPECT_TRUE(a.advise(in).small_sends);
		in.now += calm - 1;
		EXPECT_TRUE(a.advise(in).small_sends);
		EXPECT_EQ(a.advise(in).peer_send, 0u);
		EXPECT_EQ(a.advise(in).local_receive, kLeast);
		in.now++;
		const AdaptAdvice again = a.advise(in);
		EXPECT_FALSE(again.small_sends);
		EXPECT_EQ(again.peer_send, before < 16384 ? before : 16384);
		in.peer_send = again.peer_send;
		if (i < Adapt::kMostDoublings)
			calm *= 2;
	}
	/* After a long time it begins anew. */
	in.now += Adapt::kCalm << (Adapt::kMostDoublings + 1);
	in.scarce = true;
	EXPECT_TRUE(a.advise(in).small_sends);
	in.scarce = false;
	in.now += Adapt::kCalm;
	EXPECT_FALSE(a.advise(in).small_sends);
}

/* Whatever happens, it does not ask all the time, and only for what can be. */
TEST(adapt, simulated__it_does_not_sway)
{
	for (u32 seed = 1; seed <= 200; seed++) {
		std::mt19937 random(seed);
		const auto below = [&](u32 n) {
			return static_cast<u32>(random() % n);
		};
		Adapt a(kLeast, kLeast, kMost);
		AdaptInput in = beginning();
		u32 octets = 1 + below(100000);
		u32 asked = 0;
		u32 messages = 0;
		u32 pauses = 0;

		for (u32 step = 0; step < 500; step++) {
			if (!below(50)) {
				octets = 1 + below(100000);
			}
			if (below(40)) {
				const u32 n = 1 + below(40);

				send(in, n, octets);
				messages += n;
			} else {
				in.idle = below(2 * Adapt::kIdle);
				pauses += in.idle >= Adapt::kIdle;
			}
			in.scarce = !below(30);
			in.now += below(3000);
			const AdaptAdvice advice = a.advise(in);
			ASSERT_TRUE(advice.small_sends || !in.scarce);
			ASSERT_TRUE(!in.scarce || in.idle >= Adapt::kIdle ||
				    !advice.peer_receive);
			ASSERT_GE(advice.local_receive, kLeast);
			ASSERT_LE(advice.local_receive, kMost);
			if (!advice.peer_receive)
				continue;
			asked++;
			ASSERT_NE(advice.peer_receive, in.peer_receive);
			ASSERT_GE(advice.peer_receive, kLeast);
			ASSERT_LE(advice.peer_receive, kMost);
			ASSERT_EQ(advice.peer_receive % Adapt::kStep, 0u);
			if (below(3)) {
				in.peer_receive = advice.peer_receive;
				a.accepted();
			} else {
				a.rejected();
			}
		}
		EXPECT_LE(asked, messages / Adapt::kEnough + pauses);
		in.scarce = false;
		in.now += Adapt::kCalm << Adapt::kMostDoublings;
		/* With messages of one size and nothing rejected, it comes to rest. */
		for (u32 i = 0; i < 100; i++) {
			send(in, 4096, octets);
			const u32 size = a.advise(in).peer_receive;
			if (!size)
				continue;
			ASSERT_LT(i, 3u);
			in.peer_receive = size;
			a.accepted();
		}
		if (octets + 32 <= in.peer_receive)
			continue;
		EXPECT_EQ(in.peer_receive, kMost);
	}
}

/* The C functions say the same, member by member. */
TEST(adapt, abi)
{
	AdaptInput in = beginning();
	Adapt a(kLeast, kLeast, kMost);
	rpcrdma_adapt c;
	rpcrdma_adapt_advice said;

	rpcrdma_adapt_init(&c, kLeast, kLeast, kMost);
	for (u32 i = 0; i < 200; i++) {
		send(in, i % 40, i % 3 ? 20000 : 100);
		in.idle = i % 50 == 49 ? RPCRDMA_ADAPT_IDLE_MS : 0;
		in.budget = i % 20 == 10 ? 65 * 4096 : kPlenty;
		in.local_receive = i % 7 ? 8192 : kMost;
		in.scarce = i % 60 == 30;
		in.now += 1000;
		in.asked_receive = i % 11 == 3;
		in.asked_send = i % 13 == 5;
		const rpcrdma_adapt_input same = {
			in.messages,	  in.continued,	   in.parts,
			in.idle,	  in.peer_receive, in.peer_send,
			in.local_receive, in.local_send,   in.receives,
			in.budget,	  in.now,	   in.scarce,
			in.asked_receive, in.asked_send
		};
		const AdaptAdvice advice = a.advise(in);

		rpcrdma_adapt_advise(&c, &same, &said);
		ASSERT_EQ(said.peer_receive, advice.peer_receive);
		ASSERT_EQ(said.peer_send, advice.peer_send);
		ASSERT_EQ(said.local_receive, advice.local_receive);
		ASSERT_EQ(said.small_sends, advice.small_sends);
		if (!advice.peer_receive)
			continue;
		if (i % 4) {
			a.accepted();
			in.peer_receive = advice.peer_receive;
		} else {
			a.rejected();
		}
		rpcrdma_adapt_answered(&c, i % 4);
	}
}
