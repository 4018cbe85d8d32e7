// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "ring.h"

using namespace rpcrdma;

namespace
{

constexpr u32 kSends = 64;
constexpr u32 kRest = 24;

/* A ring at rest whose numbers begin at @start. */
rpcrdma_ring at_rest(u32 start = 0)
{
	rpcrdma_ring r = {};

	r.sends = kSends;
	r.rest = kRest;
	r.bare = kSends - kRest;
	r.head = r.tail = r.moved = start;
	return r;
}

/* Buffers as the Sends have them, without any thread but this one. */
struct Buffers {
	rpcrdma_ring r;
	bool has[kSends] = {};

	explicit Buffers(u32 start)
		: r(at_rest(start))
	{
		for (u32 i = r.bare; i < kSends; i++)
			at(start + i) = true;
	}
	bool &at(u32 i)
	{
		return has[i % kSends];
	}
	/* Return: somebody has to look. */
	bool send()
	{
		bool told = false;
		u32 from;

		if (r.bare) {
			told = rpcrdma_ring_turn(&r, true, &from);
			if (!at(r.head))
				std::swap(at(r.head), at(from));
		}
		EXPECT_TRUE(at(r.head));
		r.head++;
		return told;
	}
	void expect_sound()
	{
		const u32 first =
			ring::first_bare(r, r.bare && at(r.head));

		EXPECT_TRUE(ring::invariants(r));
		for (u32 i = 0; i < kSends; i++)
			EXPECT_EQ(at(first + i), i >= r.bare);
	}
};

} // namespace

/* Sends of a ring at rest that can be decided on are those that have a buffer. */
TEST(ring, room__is_what_has_a_buffer)
{
	rpcrdma_ring r = at_rest();

	EXPECT_EQ(rpcrdma_ring_room(&r), kRest);
	r.head += 5;
	EXPECT_EQ(rpcrdma_ring_room(&r), kRest - 5);
	r.tail += 3;
	EXPECT_EQ(rpcrdma_ring_room(&r), kRest - 2);
	r.bare = 0;
	EXPECT_EQ(rpcrdma_ring_room(&r), kSends - 2);
}

TEST(ring, signals__once_in_each_quarter)
{
	const rpcrdma_ring r = at_rest();
	u32 count = 0;

	for (u32 i = 0; i < kSends; i++)
		count += rpcrdma_ring_signals(&r, i);
	EXPECT_EQ(count, 4u);
	for (u32 i = 0; i < kSends; i += kSends / 4)
		EXPECT_TRUE(rpcrdma_ring_signals(&r, i));
}

TEST(ring, turn__is_told_once_when_there_is_little_room)
{
	rpcrdma_ring r = at_rest();
	u32 from;

	r.head += kRest - RPCRDMA_RING_NEAR - 1;
	EXPECT_FALSE(rpcrdma_ring_turn(&r, true, &from));
	EXPECT_EQ(from, r.head + r.bare);
	r.head++;
	EXPECT_FALSE(rpcrdma_ring_turn(&r, false, &from));
	EXPECT_FALSE(r.wanted);
	EXPECT_TRUE(rpcrdma_ring_turn(&r, true, &from));
	EXPECT_TRUE(r.wanted);
	EXPECT_FALSE(rpcrdma_ring_turn(&r, true, &from));
	EXPECT_EQ(from, r.head + r.bare);
}

/* What needs more room at once than completions make waits for buffers, or goes otherwise. */
TEST(ring, awaits__if_there_will_be_room)
{
	const u32 sure = kRest - (kSends / 4 - 1);
	rpcrdma_ring r = at_rest();
	bool look = false;

	r.head += kRest - 1;
	EXPECT_TRUE(rpcrdma_ring_awaits(&r, sure, false, &look));
	EXPECT_FALSE(look);
	EXPECT_FALSE(rpcrdma_ring_awaits(&r, sure + 1, false, &look));
	EXPECT_FALSE(look);
	EXPECT_TRUE(rpcrdma_ring_awaits(&r, sure + 1, true, &look));
	EXPECT_TRUE(look);
	EXPECT_TRUE(r.wanted);
	/* Somebody looks already. */
	EXPECT_TRUE(rpcrdma_ring_awaits(&r, sure + 1, true, &look));
	EXPECT_FALSE(look);
	EXPECT_EQ(rpcrdma_ring_look(&r), u32(RPCRDMA_RING_FILL));
	r.bare = 0;
	EXPECT_TRUE(rpcrdma_ring_awaits(&r, kSends - kSends / 4 + 1, true, &look));
	EXPECT_FALSE(look);
	EXPECT_FALSE(rpcrdma_ring_awaits(&r, kSends - kSends / 4 + 2, true, &look));
	EXPECT_FALSE(look);
}

TEST(ring, turn__is_told_after_many_sends)
{
	rpcrdma_ring r = at_rest();
	u32 from;

	r.head = r.tail = r.moved + RPCRDMA_RING_BUSY;
	EXPECT_FALSE(rpcrdma_ring_turn(&r, true, &from));
	r.head = r.tail = r.moved + RPCRDMA_RING_BUSY + 1;
	EXPECT_TRUE(rpcrdma_ring_turn(&r, true, &from));
}

TEST(ring, look__fills_keeps_or_frees)
{
	rpcrdma_ring r = at_rest();

	r.wanted = true;
	EXPECT_EQ(rpcrdma_ring_look(&r), u32(RPCRDMA_RING_FILL));
	EXPECT_FALSE(r.wanted);
	r.head = r.tail += RPCRDMA_RING_QUIET + 1;
	EXPECT_EQ(rpcrdma_ring_look(&r), u32(RPCRDMA_RING_KEEP));
	EXPECT_EQ(r.moved, r.head);
	r.head = r.tail += RPCRDMA_RING_QUIET;
	EXPECT_EQ(rpcrdma_ring_look(&r), u32(RPCRDMA_RING_FREE));
	EXPECT_EQ(r.moved, r.head);
}

TEST(ring, shrink__leaves_what_is_under_way_and_some_more)
{
	rpcrdma_ring r = at_rest();
	u32 from = 0;

	r.bare = 0;
	r.head = r.tail + kSends - RPCRDMA_RING_NEAR - 1;
	EXPECT_FALSE(rpcrdma_ring_shrink(&r, true, &from));
	EXPECT_EQ(r.bare, 0u);
	r.tail++;
	EXPECT_TRUE(rpcrdma_ring_shrink(&r, true, &from));
	EXPECT_EQ(from, r.head);
	EXPECT_FALSE(rpcrdma_ring_shrink(&r, false, &from));
	EXPECT_EQ(r.bare, 1u);
	EXPECT_FALSE(rpcrdma_ring_rests(&r));
	r.bare = kSends - kRest;
	r.tail = r.head;
	EXPECT_TRUE(rpcrdma_ring_rests(&r));
	EXPECT_FALSE(rpcrdma_ring_shrink(&r, false, &from));
}

TEST(ring, unused__is_what_is_not_under_way)
{
	rpcrdma_ring r = at_rest(7);

	for (u32 i = 0; i < kSends; i++)
		EXPECT_TRUE(rpcrdma_ring_unused(&r, i));
	r.head += 3;
	for (u32 i = 0; i < kSends; i++)
		EXPECT_EQ(rpcrdma_ring_unused(&r, i), i < 7 || i >= 10);
	r.bare = 0;
	r.head = r.tail + kSends;
	for (u32 i = 0; i < kSends; i++)
		EXPECT_FALSE(rpcrdma_ring_unused(&r, i));
}

namespace
{

/* A send queue that has room for more than the ring has. */
constexpr rpcrdma_supply kAmple = { 1000, 1000, 0, 0 };

bool fits(const rpcrdma_ring &r, u32 sends,
	  const rpcrdma_supply &s = kAmple, u32 chain = 0)
{
	const rpcrdma_claim c = { sends, chain };

	return rpcrdma_ring_fits(&r, &s, &c);
}

} // namespace

TEST(ring, fits__what_has_room_behind_what_is_promised)
{
	rpcrdma_ring r = at_rest();
	rpcrdma_supply s = kAmple;

	r.bare = 0;
	r.head = r.tail + kSends - 3;
	EXPECT_TRUE(fits(r, 3));
	EXPECT_FALSE(fits(r, 4));
	s.sends = 2;
	EXPECT_TRUE(fits(r, 1, s));
	EXPECT_FALSE(fits(r, 2, s));
	s.sends = 3;
	EXPECT_FALSE(fits(r, 1, s));
	r.head = r.tail + kSends;
	EXPECT_FALSE(fits(r, 1));
}

/* So much is free when nothing is sent any more: the last fifteen Sends tell of nothing. */
TEST(ring, fits__what_needs_more_than_there_is_waits_for_what_comes)
{
	rpcrdma_ring r = at_rest();
	const u32 unsaid = kSends / 4 - 1;

	r.head = r.tail + unsaid + 1;
	EXPECT_FALSE(fits(r, 1000));
	EXPECT_FALSE(fits(r, kRest - unsaid));
	EXPECT_TRUE(fits(r, kRest - unsaid - 1));
	r.tail++;
	EXPECT_TRUE(fits(r, 1000));
	r.bare = 0;
	EXPECT_TRUE(fits(r, 1000));
	r.head++;
	EXPECT_FALSE(fits(r, 1000));
}

TEST(ring, fits__the_send_queue_has_room_too)
{
	rpcrdma_ring r = at_rest();
	rpcrdma_supply s = { 40, 10, 0, 0 };

	EXPECT_TRUE(fits(r, 4, s, 6));
	EXPECT_FALSE(fits(r, 4, s, 7));
	s.chain = 1;
	EXPECT_FALSE(fits(r, 4, s, 6));
	EXPECT_FALSE(fits(r, 1, s, 10));
	s = { 40, 20, 0, 0 };
	/* Half of it: all Sends tell that leave less. */
	EXPECT_TRUE(fits(r, 1000, s, 18));
	s.avail = 19;
	EXPECT_FALSE(fits(r, 1000, s, 18));
}

TEST(ring, answers__once_when_there_is_room)
{
	rpcrdma_ring r = at_rest();
	const rpcrdma_claim c = { 3, 0 };

	EXPECT_FALSE(rpcrdma_ring_answers(&r, &kAmple));
	r.head = r.tail + kRest - 2;
	EXPECT_FALSE(rpcrdma_ring_ask(&r, false, &c));
	EXPECT_FALSE(r.wanted);
	EXPECT_TRUE(rpcrdma_ring_ask(&r, true, &c));
	EXPECT_TRUE(r.wanted);
	EXPECT_FALSE(rpcrdma_ring_ask(&r, true, &c));
	EXPECT_FALSE(rpcrdma_ring_answers(&r, &kAmple));
	r.tail++;
	EXPECT_TRUE(rpcrdma_ring_answers(&r, &kAmple));
	EXPECT_FALSE(rpcrdma_ring_answers(&r, &kAmple));
	r.wanted = false;
	r.bare = 0;
	EXPECT_FALSE(rpcrdma_ring_ask(&r, true, &c));
}

TEST(ring, spare__leaves_some_for_others)
{
	rpcrdma_ring r = at_rest();

	EXPECT_EQ(rpcrdma_ring_spare(&r, 8, false), kSends - 8);
	EXPECT_EQ(rpcrdma_ring_spare(&r, 8, true), kRest - 8);
	r.head += kRest - 8;
	EXPECT_EQ(rpcrdma_ring_spare(&r, 8, true), 0u);
	r.head += 3;
	EXPECT_EQ(rpcrdma_ring_spare(&r, 8, true), 0u);
}

/* A few buffers go round the ring, also where its numbers wrap; more are made, and go again. */
TEST(ring, buffers__go_round_grow_and_shrink)
{
	Buffers b(u32(0) - 100);
	u32 told = 0;

	for (u32 i = 0; i < 200; i++) {
		told += b.send();
		b.r.tail = b.r.head - i % (kSends / 4);
		b.expect_sound();
	}
	EXPECT_EQ(told, 0u);
	/* The next one has its buffer early. */
	u32 from;
	(void)!rpcrdma_ring_turn(&b.r, false, &from);
	std::swap(b.at(b.r.head), b.at(from));
	b.expect_sound();
	for (u32 i = 0; b.r.bare && i < kSends; i++) {
		bool &to = b.at(rpcrdma_ring_grow(&b.r, b.at(b.r.head)));

		EXPECT_FALSE(to);
		to = true;
		b.expect_sound();
	}
	EXPECT_EQ(b.r.bare, 0u);
	EXPECT_EQ(rpcrdma_ring_look(&b.r), u32(RPCRDMA_RING_KEEP));
	while (rpcrdma_ring_shrink(&b.r, b.at(b.r.head), &from)) {
		EXPECT_TRUE(b.at(from));
		b.at(from) = false;
		b.expect_sound();
	}
	EXPECT_TRUE(rpcrdma_ring_rests(&b.r));
	while (rpcrdma_ring_room(&b.r))
		told += b.send();
	EXPECT_EQ(told, 1u);
	EXPECT_EQ(rpcrdma_ring_look(&b.r), u32(RPCRDMA_RING_FILL));
}
