// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Groups of Sends: what of them is in order, and what is said of the rest. See also
 * ../sim/search/group_search.cpp.
 */
#include "rtr_group.h"

#include <gtest/gtest.h>

using namespace rpcrdma;

namespace
{

using Step = GroupReceiver::Step;
using Verdict = GroupReceiver::Verdict;

constexpr u32 kMost = 4;

/* A group of @count with @taken Sends of it taken, of four octets each. */
GroupReceiver begun(Xid xid, rpcrdma_dir dir, u32 count, u32 taken)
{
	GroupReceiver g;

	EXPECT_EQ(g.begin(xid, dir, count, kMost).step, Step::Take);
	g.taken(4);
	for (u32 i = 1; i < taken; i++) {
		EXPECT_EQ(g.go_on(xid, i, lead_type(dir)).step, Step::Take);
		g.taken(4);
	}
	return g;
}

void expect_refused(const Verdict &v, const TransmissionId &bad, bool lead,
		    const RtrFault &fault)
{
	EXPECT_EQ(v.step, Step::Refuse);
	EXPECT_EQ(v.report.bad, bad);
	EXPECT_EQ(v.report.has_lead, lead);
	EXPECT_EQ(v.report.fault, fault);
}

} // namespace

TEST(rtr_group, take__one_after_the_other)
{
	GroupReceiver g;

	EXPECT_FALSE(g.active());
	for (const rpcrdma_dir dir : { RPCRDMA_CALL, RPCRDMA_REPLY }) {
		EXPECT_EQ(g.begin(Xid{ 7 }, dir, 3, kMost).step, Step::Take);
		EXPECT_EQ(g.dir(), dir);
		EXPECT_EQ(g.stream(), 0u);
		g.taken(100);
		EXPECT_FALSE(g.last());
		EXPECT_EQ(g.go_on(Xid{ 7 }, 1, lead_type(dir)).step,
			  Step::Take);
		EXPECT_EQ(g.stream(), 100u);
		g.taken(0);
		EXPECT_EQ(g.go_on(Xid{ 7 }, 2, lead_type(dir)).step,
			  Step::Take);
		EXPECT_TRUE(g.last());
		g.taken(8);
		EXPECT_FALSE(g.active());
	}
}

TEST(rtr_group, take__a_group_of_one)
{
	GroupReceiver g;

	EXPECT_EQ(g.begin(Xid{ 7 }, RPCRDMA_CALL, 1, kMost).step, Step::Take);
	EXPECT_TRUE(g.last());
	g.taken(40);
	EXPECT_FALSE(g.active());
	expect_refused(g.go_on(Xid{ 7 }, 1, kXmtReq),
		       { Xid{ 7 }, RPCRDMA_CALL, 1 }, false,
		       { RtrError::BadCont, {} });
}

TEST(rtr_group, refuse__counts_that_cannot_be)
{
	for (const u32 count : { 0u, kMost + 1, UINT32_MAX }) {
		GroupReceiver g;

		expect_refused(g.begin(Xid{ 7 }, RPCRDMA_REPLY, count, kMost),
			       { Xid{ 7 }, RPCRDMA_REPLY, 0 }, false,
			       { RtrError::BadSeq, { kMost, count } });
		EXPECT_FALSE(g.active());
		EXPECT_EQ(g.go_on(Xid{ 7 }, 1, kXmtResp).step,
			  count ? Step::Discard : Step::Refuse);
	}
}

TEST(rtr_group, refuse__nothing_to_go_on_with)
{
	GroupReceiver g;

	expect_refused(g.go_on(Xid{ 9 }, 3, kXmtResp),
		       { Xid{ 9 }, RPCRDMA_REPLY, 3 }, false,
		       { RtrError::BadCont, {} });
}

TEST(rtr_group, refuse__another_xid)
{
	GroupReceiver g = begun(Xid{ 7 }, RPCRDMA_CALL, 3, 1);
	const Verdict v = g.go_on(Xid{ 8 }, 1, kXmtReq);

	expect_refused(v, { Xid{ 8 }, RPCRDMA_CALL, 1 }, true,
		       { RtrError::BadXid, { 7, 8 } });
	EXPECT_EQ(v.report.lead, (TransmissionId{ Xid{ 7 }, RPCRDMA_CALL, 0 }));
	EXPECT_TRUE(v.void_group);
	EXPECT_FALSE(g.active());
	/* The rest of it says nothing new. */
	EXPECT_EQ(g.go_on(Xid{ 7 }, 1, kXmtReq).step, Step::Discard);
	EXPECT_EQ(g.go_on(Xid{ 7 }, 2, kXmtReq).step, Step::Discard);
	EXPECT_EQ(g.go_on(Xid{ 7 }, 2, kXmtReq).step, Step::Refuse);
}

TEST(rtr_group, refuse__another_number)
{
	for (const u32 number : { 0u, 1u, 3u, 99u }) {
		GroupReceiver g = begun(Xid{ 7 }, RPCRDMA_CALL, 4, 2);

		expect_refused(g.go_on(Xid{ 7 }, number, kXmtReq),
			       { Xid{ 7 }, RPCRDMA_CALL, number }, true,
			       { RtrError::BadSeq, { 2, number } });
		EXPECT_FALSE(g.active());
		/* The one after it, if there is one. */
		EXPECT_EQ(g.go_on(Xid{ 7 }, 3, kXmtReq).step,
			  number < 3 ? Step::Discard : Step::Refuse);
	}
}

/* Both directions have their own XIDs, so this is another group's. */
TEST(rtr_group, refuse__a_group_of_another_kind)
{
	GroupReceiver g = begun(Xid{ 7 }, RPCRDMA_CALL, 3, 1);

	expect_refused(g.go_on(Xid{ 7 }, 1, kXmtResp),
		       { Xid{ 7 }, RPCRDMA_REPLY, 1 }, true,
		       { RtrError::BadOmt, { kXmtReq, kXmtResp } });
	EXPECT_EQ(g.go_on(Xid{ 7 }, 1, kXmtReq).step, Step::Discard);
}

TEST(rtr_group, refuse__a_group_in_a_group)
{
	GroupReceiver g = begun(Xid{ 7 }, RPCRDMA_CALL, 3, 1);
	const Verdict v = g.begin(Xid{ 8 }, RPCRDMA_REPLY, 2, kMost);

	expect_refused(v, { Xid{ 8 }, RPCRDMA_REPLY, 0 }, true,
		       { RtrError::BadOmt, { kXmtCont, kXmtResp } });
	EXPECT_EQ(v.report.lead, (TransmissionId{ Xid{ 7 }, RPCRDMA_CALL, 0 }));
	EXPECT_TRUE(v.void_group);
	/* Neither goes on; then another may begin. */
	EXPECT_EQ(g.go_on(Xid{ 7 }, 1, kXmtReq).step, Step::Discard);
	EXPECT_EQ(g.go_on(Xid{ 8 }, 1, kXmtResp).step, Step::Discard);
	EXPECT_EQ(g.go_on(Xid{ 7 }, 2, kXmtReq).step, Step::Discard);
	EXPECT_EQ(g.go_on(Xid{ 7 }, 2, kXmtReq).step, Step::Refuse);
	EXPECT_EQ(g.go_on(Xid{ 8 }, 1, kXmtResp).step, Step::Refuse);
	EXPECT_EQ(g.begin(Xid{ 9 }, RPCRDMA_CALL, 1, kMost).step, Step::Take);
}

/* What is left of two others is still dropped without a word. */
TEST(rtr_group, refuse__a_group_among_what_is_left_of_two)
{
	for (const bool count : { true, false }) {
		GroupReceiver g = begun(Xid{ 7 }, RPCRDMA_CALL, 3, 1);

		EXPECT_EQ(g.begin(Xid{ 8 }, RPCRDMA_CALL, 3, kMost).step,
			  Step::Refuse);
		if (count) {
			EXPECT_EQ(g.begin(Xid{ 9 }, RPCRDMA_CALL, kMost + 1,
					  kMost)
					  .step,
				  Step::Refuse);
		} else {
			EXPECT_EQ(
				g.begin(Xid{ 9 }, RPCRDMA_CALL, 3, kMost).step,
				Step::Take);
			EXPECT_EQ(g.refuse({}).step, Step::Refuse);
		}
		for (u32 n = 1; n < 3; n++)
			for (const u32 xid : { 7u, 8u, 9u })
				EXPECT_EQ(g.go_on(to_xid(xid), n, kXmtReq).step,
					  Step::Discard);
		EXPECT_EQ(g.go_on(Xid{ 7 }, 2, kXmtReq).step, Step::Refuse);
	}
}

/* One that is taken shows that its sender has gone on. */
TEST(rtr_group, refuse__what_is_left_when_another_is_taken)
{
	GroupReceiver g = begun(Xid{ 7 }, RPCRDMA_CALL, 3, 1);

	(void)g.interrupted(RPCRDMA2_CALL_INLINE, false);
	EXPECT_EQ(g.begin(Xid{ 8 }, RPCRDMA_CALL, 1, kMost).step, Step::Take);
	g.taken(40);
	EXPECT_EQ(g.go_on(Xid{ 7 }, 1, kXmtReq).step, Step::Refuse);
}

TEST(rtr_group, refuse__another_message_in_between)
{
	GroupReceiver g = begun(Xid{ 7 }, RPCRDMA_CALL, 3, 2);
	const Verdict v = g.interrupted(RPCRDMA2_CALL_INLINE, false);

	expect_refused(
		v, { Xid{ 7 }, RPCRDMA_CALL, 2 }, true,
		{ RtrError::BadHmt, { kXmtCont, RPCRDMA2_CALL_INLINE } });
	EXPECT_TRUE(v.void_group);
	EXPECT_EQ(g.go_on(Xid{ 7 }, 2, kXmtReq).step, Step::Discard);

	g = begun(Xid{ 7 }, RPCRDMA_CALL, 3, 2);
	EXPECT_EQ(g.interrupted(0xffffff02, true).report.fault.code,
		  RtrError::BadOmt);
}

TEST(rtr_group, refuse__for_what_is_in_a_send)
{
	const RtrFault fault = { RtrError::BadPl, { 44, 0, 40 } };
	GroupReceiver g = begun(Xid{ 7 }, RPCRDMA_REPLY, 4, 2);

	EXPECT_EQ(g.go_on(Xid{ 7 }, 2, kXmtResp).step, Step::Take);
	const Verdict v = g.refuse(fault);
	expect_refused(v, { Xid{ 7 }, RPCRDMA_REPLY, 2 }, true, fault);
	EXPECT_TRUE(v.void_group);
	EXPECT_EQ(g.go_on(Xid{ 7 }, 3, kXmtResp).step, Step::Discard);

	/* The first: no other led to it, and nothing is left behind. */
	EXPECT_EQ(g.begin(Xid{ 8 }, RPCRDMA_CALL, 2, kMost).step, Step::Take);
	const Verdict first = g.refuse(fault);
	expect_refused(first, { Xid{ 8 }, RPCRDMA_CALL, 0 }, false, fault);
	EXPECT_FALSE(first.void_group);
	EXPECT_EQ(g.go_on(Xid{ 8 }, 1, kXmtReq).step, Step::Discard);
}

TEST(rtr_group, send__only_with_credits_for_all_of_it_D20)
{
	EXPECT_TRUE(GroupSender::may_begin(3, 3, 4));
	EXPECT_FALSE(GroupSender::may_begin(3, 2, 4));
	EXPECT_FALSE(GroupSender::may_begin(5, 9, 4));
	EXPECT_FALSE(GroupSender::may_begin(1, 9, 0));
	EXPECT_FALSE(GroupSender::may_begin(0, 9, 4));

	GroupSender s;
	EXPECT_FALSE(s.active());
	EXPECT_EQ(s.left(), 0u);
	s.begin(2);
	EXPECT_EQ(s.left(), 2u);
	s.sent();
	EXPECT_TRUE(s.active());
	EXPECT_EQ(s.left(), 1u);
	s.sent();
	EXPECT_FALSE(s.active());
	EXPECT_EQ(s.left(), 0u);
}

/* Of the window, or of what is remembered. */
TEST(rtr_group, reserve__what_there_is_room_for)
{
	ReplyReserve r;

	EXPECT_EQ(r.room(10), 10u);
	EXPECT_EQ(r.reserve(Xid{ 1 }, 4, 10), 4u);
	EXPECT_EQ(r.room(10), 6u);
	EXPECT_EQ(r.room(3), 0u);
	for (u32 i = 1; i < ReplyReserve::kMostCalls; i++) {
		EXPECT_EQ(r.room(1000), 1000 - r.reserved());
		EXPECT_EQ(r.reserve(to_xid(1 + i), 2, 1000), 2u);
	}
	EXPECT_EQ(r.room(1000), 0u);
	EXPECT_EQ(r.reserve(Xid{ 1000 }, 2, 1000), 1u);
	r.give_back(Xid{ 1 });
	EXPECT_EQ(r.room(1000), 1000 - r.reserved());
}

TEST(rtr_group, reserve__no_more_than_the_window)
{
	ReplyReserve r;

	EXPECT_EQ(r.reserve(Xid{ 1 }, 4, 10), 4u);
	EXPECT_EQ(r.reserve(Xid{ 2 }, 4, 10), 4u);
	EXPECT_EQ(r.reserve(Xid{ 3 }, 4, 10), 2u);
	EXPECT_EQ(r.reserve(Xid{ 4 }, 4, 10), 1u);
	EXPECT_EQ(r.reserved(), 10u);
	EXPECT_EQ(r.most(Xid{ 1 }), 4u);
	EXPECT_EQ(r.most(Xid{ 3 }), 2u);
	EXPECT_EQ(r.most(Xid{ 4 }), 1u);
	EXPECT_EQ(r.most(Xid{ 99 }), 1u);
	/* The window has become smaller than what was promised. */
	EXPECT_EQ(r.reserve(Xid{ 5 }, 4, 3), 1u);
}

TEST(rtr_group, reserve__is_given_back)
{
	ReplyReserve r;

	EXPECT_EQ(r.reserve(Xid{ 1 }, 4, 8), 4u);
	EXPECT_EQ(r.reserve(Xid{ 2 }, 4, 8), 4u);
	/* The first Send of a Reply says how many there are. */
	r.shrink(Xid{ 1 }, 2);
	EXPECT_EQ(r.reserved(), 6u);
	/* It may be refused, and come again. */
	EXPECT_EQ(r.most(Xid{ 1 }), 4u);
	r.shrink(Xid{ 1 }, 3);
	EXPECT_EQ(r.reserved(), 6u);
	r.give_back(Xid{ 1 });
	r.give_back(Xid{ 1 });
	EXPECT_EQ(r.reserved(), 4u);
	EXPECT_EQ(r.reserve(Xid{ 3 }, 9, 8), 4u);
	r.give_back(Xid{ 2 });
	r.give_back(Xid{ 3 });
	EXPECT_EQ(r.reserved(), 0u);
}

/* Which of the two Replies comes first nobody knows. */
TEST(rtr_group, reserve__a_call_that_is_sent_twice)
{
	ReplyReserve r;

	EXPECT_EQ(r.reserve(Xid{ 1 }, 4, 8), 4u);
	EXPECT_EQ(r.reserve(Xid{ 1 }, 3, 8), 3u);
	EXPECT_EQ(r.reserve(Xid{ 1 }, 9, 8), 4u);
	EXPECT_EQ(r.reserved(), 4u);
	r.shrink(Xid{ 1 }, 2);
	r.give_back(Xid{ 1 });
	r.give_back(Xid{ 1 });
	EXPECT_EQ(r.most(Xid{ 1 }), 4u);
	r.shrink(Xid{ 1 }, 2);
	EXPECT_EQ(r.reserved(), 2u);
	r.give_back(Xid{ 1 });
	EXPECT_EQ(r.reserved(), 0u);
}

/* What one group was promised ends with its answer; of several a Reply may still come. */
TEST(rtr_group, reserve__what_stands_when_it_is_answered)
{
	ReplyReserve r;

	EXPECT_FALSE(r.stands(Xid{ 1 }));
	EXPECT_EQ(r.reserve(Xid{ 1 }, 4, 8), 4u);
	EXPECT_FALSE(r.stands(Xid{ 1 }));
	EXPECT_EQ(r.reserve(Xid{ 1 }, 4, 8), 4u);
	EXPECT_TRUE(r.stands(Xid{ 1 }));
	EXPECT_EQ(r.reserve(Xid{ 2 }, 4, 8), 4u);
	for (u32 xid = 1; xid <= 2; xid++)
		for (u32 i = 0; i < 2; i++)
			r.give_back(to_xid(xid));
	EXPECT_TRUE(r.stands(Xid{ 1 }));
	EXPECT_EQ(r.most(Xid{ 1 }), 4u);
	EXPECT_FALSE(r.stands(Xid{ 2 }));
	EXPECT_EQ(r.most(Xid{ 2 }), 1u);
	EXPECT_EQ(r.reserved(), 0u);
}

/* Of the second group, too: a Reply of one Send there may always be. */
TEST(rtr_group, reserve__is_one_at_least)
{
	ReplyReserve r;

	EXPECT_EQ(r.reserve(Xid{ 1 }, 0, 8), 1u);
	EXPECT_EQ(r.reserve(Xid{ 1 }, 4, 8), 4u);
	EXPECT_EQ(r.reserve(Xid{ 1 }, 0, 8), 1u);
	EXPECT_EQ(r.most(Xid{ 1 }), 4u);
	EXPECT_EQ(r.reserved(), 4u);
}

/* It stands beside a later one that is less, or that finds no room. */
TEST(rtr_group, reserve__an_earlier_promise)
{
	ReplyReserve r;

	EXPECT_EQ(r.reserve(Xid{ 1 }, 4, 8), 4u);
	r.doubt(Xid{ 1 });
	EXPECT_EQ(r.reserve(Xid{ 1 }, 1, 8), 1u);
	EXPECT_EQ(r.most(Xid{ 1 }), 4u);
	EXPECT_EQ(r.reserve(Xid{ 2 }, 8, 8), 8u);
	EXPECT_EQ(r.reserve(Xid{ 1 }, 2, 8), 1u);
	EXPECT_EQ(r.most(Xid{ 1 }), 4u);
	EXPECT_EQ(r.reserved(), 8u);
	EXPECT_TRUE(r.invariants());
	r.give_back(Xid{ 2 });
	/* Both have one place, also if there is another one. */
	EXPECT_EQ(r.reserve(Xid{ 1 }, 3, 8), 3u);
	EXPECT_EQ(r.most(Xid{ 1 }), 4u);
	EXPECT_EQ(r.reserved(), 3u);
	EXPECT_TRUE(r.invariants());
	r.give_back(Xid{ 1 });
	EXPECT_EQ(r.most(Xid{ 1 }), 4u);
	EXPECT_EQ(r.reserved(), 0u);
	EXPECT_EQ(r.reserve(Xid{ 1 }, 6, 8), 6u);
	EXPECT_EQ(r.most(Xid{ 1 }), 6u);
	EXPECT_TRUE(r.invariants());
}

/* An ERROR has the XID of this Call, and may be about a Reply with the same XID. */
TEST(rtr_group, reserve__an_error_may_be_about_something_else)
{
	ReplyReserve r;

	EXPECT_EQ(r.reserve(Xid{ 1 }, 4, 8), 4u);
	r.doubt(Xid{ 1 });
	EXPECT_EQ(r.reserved(), 0u);
	EXPECT_EQ(r.most(Xid{ 1 }), 4u);
	r.shrink(Xid{ 1 }, 3);
	EXPECT_EQ(r.reserved(), 0u);
	EXPECT_EQ(r.most(Xid{ 1 }), 4u);
	r.give_back(Xid{ 1 });
	EXPECT_EQ(r.most(Xid{ 1 }), 1u);
	EXPECT_EQ(r.reserved(), 0u);

	/* The next group promises less, and a Reply to the first one may still come. */
	EXPECT_EQ(r.reserve(Xid{ 2 }, 4, 8), 4u);
	r.doubt(Xid{ 2 });
	EXPECT_EQ(r.reserve(Xid{ 2 }, 2, 8), 2u);
	EXPECT_EQ(r.most(Xid{ 2 }), 4u);
	EXPECT_EQ(r.reserved(), 2u);
	EXPECT_TRUE(r.invariants());
	r.give_back(Xid{ 2 });
	EXPECT_EQ(r.reserved(), 0u);

	/* What is in doubt gives way to what is not. */
	for (u32 xid = 1; xid <= ReplyReserve::kMostCalls; xid++) {
		EXPECT_EQ(r.reserve(to_xid(xid), 2, 1000), 2u);
		r.doubt(to_xid(xid));
	}
	for (u32 xid = 101; xid <= 100 + ReplyReserve::kMostCalls; xid++)
		EXPECT_EQ(r.reserve(to_xid(xid), 2, 1000), 2u);
	EXPECT_EQ(r.most(Xid{ 1 }), 1u);
	EXPECT_EQ(r.reserve(Xid{ 200 }, 2, 1000), 1u);
}

TEST(rtr_group, reserve__for_so_many_calls)
{
	ReplyReserve r;

	for (u32 xid = 1; xid <= ReplyReserve::kMostCalls; xid++)
		EXPECT_EQ(r.reserve(to_xid(xid), 2, 1000), 2u);
	EXPECT_EQ(r.reserve(Xid{ 100 }, 2, 1000), 1u);
	r.give_back(Xid{ 5 });
	EXPECT_EQ(r.reserve(Xid{ 100 }, 2, 1000), 2u);
}

TEST(rtr_group, reserve__of_a_call_that_was_sent_twice)
{
	ReplyReserve r;

	/* Both promise as much, and each has an answer. */
	EXPECT_EQ(r.reserve(Xid{ 7 }, 3, 8), 3u);
	EXPECT_EQ(r.reserve(Xid{ 7 }, 3, 8), 3u);
	r.doubt(Xid{ 7 });
	EXPECT_EQ(r.reserved(), 3u);
	EXPECT_EQ(r.most(Xid{ 7 }), 3u);
	r.doubt(Xid{ 7 });
	EXPECT_EQ(r.reserved(), 0u);
	/* Which one was refused is not known: a Reply to the other may still come. */
	EXPECT_EQ(r.most(Xid{ 7 }), 3u);
	r = {};
	/* The first one promised nothing. */
	EXPECT_EQ(r.reserve(Xid{ 7 }, 1, 8), 1u);
	EXPECT_EQ(r.reserve(Xid{ 7 }, 3, 8, 1), 3u);
	r.give_back(Xid{ 7 });
	EXPECT_EQ(r.reserved(), 3u);
	EXPECT_EQ(r.most(Xid{ 7 }), 3u);
	r.give_back(Xid{ 7 });
	EXPECT_EQ(r.reserved(), 0u);
	/* If one of these answers was to a form of -07, the other group still has a Reply. */
	EXPECT_EQ(r.most(Xid{ 7 }), 3u);
	EXPECT_TRUE(r.invariants());
	/* Another Call has promised nothing. */
	r.doubt(Xid{ 100 });
	EXPECT_TRUE(r.invariants());
}

TEST(rtr_group, sent__each_is_sent_again_once)
{
	SentGroups s;
	const auto take = [&](u32 xid, rpcrdma_dir dir) {
		const u32 sends = s.take(to_xid(xid), dir).sends;

		EXPECT_TRUE(s.invariants());
		return sends;
	};

	EXPECT_EQ(take(0, RPCRDMA_CALL), 0u);
	s.add(Xid{ 7 }, RPCRDMA_CALL, 3);
	s.add(Xid{ 7 }, RPCRDMA_REPLY, 16);
	EXPECT_EQ(take(7, RPCRDMA_REPLY), 16u);
	EXPECT_EQ(take(7, RPCRDMA_REPLY), 0u);
	EXPECT_EQ(take(7, RPCRDMA_CALL), 3u);
	/* Of groups with one XID one at a time, the first one first. */
	for (u32 sends = 2; sends <= 3; sends++) {
		s.add(Xid{ 7 }, RPCRDMA_CALL, sends);
		s.add(Xid{ 7 }, RPCRDMA_REPLY, sends);
	}
	for (u32 sends = 2; sends <= 3; sends++) {
		EXPECT_EQ(take(7, RPCRDMA_REPLY), sends);
		EXPECT_EQ(take(7, RPCRDMA_CALL), sends);
	}
	EXPECT_EQ(take(7, RPCRDMA_REPLY), 0u);
	EXPECT_EQ(take(7, RPCRDMA_CALL), 0u);
	EXPECT_FALSE(s.any());
	for (u32 xid = 1; xid <= SentGroups::kMost + 1; xid++)
		s.add(to_xid(xid), RPCRDMA_CALL, 1);
	EXPECT_EQ(take(1, RPCRDMA_CALL), 0u);
	EXPECT_EQ(take(2, RPCRDMA_CALL), 1u);
	for (u32 xid = 3; xid <= SentGroups::kMost + 1; xid++) {
		EXPECT_TRUE(s.any());
		EXPECT_EQ(take(xid, RPCRDMA_CALL), 1u) << xid;
	}
	EXPECT_FALSE(s.any());
}

/* An answer is that of a group to which a Reply is to come; who refuses one may mean either. */
TEST(rtr_group, sent__a_group_without_a_reply)
{
	SentGroups s;

	s.add(Xid{ 7 }, RPCRDMA_CALL, 16, true);
	s.add(Xid{ 7 }, RPCRDMA_CALL, 2);
	s.add(Xid{ 7 }, RPCRDMA_CALL, 3);
	EXPECT_EQ(s.groups(Xid{ 7 }, RPCRDMA_CALL), 2u);
	s.answer(Xid{ 7 });
	EXPECT_EQ(s.groups(Xid{ 7 }, RPCRDMA_CALL), 1u);
	EXPECT_TRUE(s.waits(Xid{ 7 }));
	/* Also if that one is settled. */
	s.answer(Xid{ 7 });
	EXPECT_EQ(s.groups(Xid{ 7 }, RPCRDMA_CALL), 0u);
	s.add(Xid{ 7 }, RPCRDMA_CALL, 4);
	SentGroups::Group g = s.take(Xid{ 7 }, RPCRDMA_CALL);
	EXPECT_EQ(g.sends, 16u);
	EXPECT_TRUE(g.call_only);
	EXPECT_FALSE(g.settled);
	EXPECT_EQ(g.left, 1u);
	g = s.take(Xid{ 7 }, RPCRDMA_CALL);
	EXPECT_EQ(g.sends, 4u);
	EXPECT_FALSE(g.call_only);
	EXPECT_TRUE(g.settled);
	/* It can be an ERROR. */
	s.add(Xid{ 7 }, RPCRDMA_CALL, 1, true);
	s.answer(Xid{ 7 });
	EXPECT_FALSE(s.any());
	EXPECT_TRUE(s.invariants());
}

/* The second one, and a third that is sent after that. */
TEST(rtr_group, sent__of_a_call_that_has_an_answer)
{
	SentGroups s;
	const auto expect = [&](rpcrdma_dir dir, u32 sends, bool settled,
				u32 left) {
		const SentGroups::Group g = s.take(Xid{ 7 }, dir);

		EXPECT_EQ(g.sends, sends);
		EXPECT_EQ(g.settled, settled);
		EXPECT_EQ(g.left, left);
		EXPECT_TRUE(s.invariants());
	};

	s.add(Xid{ 7 }, RPCRDMA_CALL, 1);
	s.add(Xid{ 7 }, RPCRDMA_CALL, 2);
	s.add(Xid{ 7 }, RPCRDMA_REPLY, 9);
	s.add(Xid{ 7 }, RPCRDMA_CALL, 3);
	s.add(Xid{ 7 }, RPCRDMA_REPLY, 8);
	EXPECT_TRUE(s.waits(Xid{ 7 }));
	expect(RPCRDMA_CALL, 1, false, 2);
	EXPECT_FALSE(s.waits(Xid{ 7 }));
	s.add(Xid{ 7 }, RPCRDMA_CALL, 4);
	EXPECT_TRUE(s.waits(Xid{ 7 }));
	expect(RPCRDMA_CALL, 4, false, 2);
	EXPECT_FALSE(s.waits(Xid{ 7 }));
	EXPECT_FALSE(s.waits(Xid{ 100 }));
	expect(RPCRDMA_CALL, 2, true, 1);
	expect(RPCRDMA_CALL, 3, true, 0);
	expect(RPCRDMA_CALL, 0, false, 0);
	/* Each Reply is one of its own. */
	expect(RPCRDMA_REPLY, 9, false, 1);
	expect(RPCRDMA_REPLY, 8, false, 0);
	EXPECT_FALSE(s.any());
	/* Its Reply is refused: the RPC waits on. */
	s.add(Xid{ 7 }, RPCRDMA_CALL, 1);
	s.add(Xid{ 7 }, RPCRDMA_CALL, 2);
	s.answer(Xid{ 7 }, false);
	expect(RPCRDMA_CALL, 2, false, 0);
}
