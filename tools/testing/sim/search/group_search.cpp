// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Groups of Sends of rtrext, as core/rtr_group.h has them: two sides, two FIFO channels, and
 * every interleaving.
 *
 * One step is: a side posts a message alone, or the first Send of a group, or the next one
 * of the group that it is in; it posts a GRANT that is due; the first message of a channel
 * arrives; a side gives a Receive back; a side changes its window. The Receives of a group
 * are kept until all of it has come, and then are held or given back as others are.
 * (credits_search.cpp is about Receives that wait to be posted with others.)
 *
 * In each state:
 * - each message that arrives finds a Receive, and is what its receiver expects;
 * - when nothing can happen any more but what the upper layers may do, and none of their
 *   messages is there, both sides can send; and none is in the middle of a group.
 */
#include "rtr_group.h"
#include "states.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <deque>

namespace
{

using rpcrdma::GroupReceiver;
using rpcrdma::GroupSender;
using rpcrdma::kXmtReq;
using rpcrdma::Xid;
using states::Credits;
using states::Essence;

constexpr Xid kXid = Xid{ 1 };

/* What is on its way; @count: of a first Send, the Sends of its group. */
struct Flying {
	enum Kind : u8 { Alone, Grant, First, Next };

	u32 credit;
	Kind kind;
	u8 count;
};

struct Side {
	Credits credits;
	GroupSender out;
	GroupReceiver in;
	u32 posted; /* Receives on the queue */
	u32 kept = 0; /* Receives of the group that comes in */
	u32 held = 0; /* Receives of messages that the upper layer has */
	u32 target; /* the window wanted */
	u32 n_inbound = 0;
	Flying inbound[16] = {};

	explicit Side(u32 window)
		: credits(window)
		, posted(window + 1)
		, target(window)
	{
	}
};

using Key = states::Key<64>;

struct Model {
	Side sides[2];

	[[nodiscard]] Key key() const
	{
		Key k = {};
		u32 n = 0;
		const auto put = [&](u32 v) {
			k.at(n++) = static_cast<u8>(v);
		};

		for (u32 i = 0; i < 2; i++) {
			const Side &s = sides[i];
			const u32 base = sides[1 - i].credits.received_count();
			const Essence e = essence(s.credits);

			put(e.window << 4 | e.surplus);
			put(u32(e.allowed));
			put(u32(e.told));
			put(e.in_use << 4 | s.posted);
			put(s.kept << 4 | s.held);
			put(s.out.left());
			put(s.in.active() ? s.in.next() << 4 | s.in.count() :
					    0);
			put(s.target << 4 | s.n_inbound);
			for (u32 m = 0; m < s.n_inbound; m++) {
				const Flying &f = s.inbound[m];

				put((f.credit - base) << 4 | f.kind << 2 |
				    (f.count ? f.count - 1U : 0));
			}
		}
		return k;
	}
};

struct Rules {
	u32 largest = 4; /* Sends of a group, at most four */
	bool hold[2] = { false, false };
	bool grants_in_groups = false; /* no: what rtr_group.h forbids */
	/* A side sends nothing at all until it has credits for so many. */
	u32 waits_for = 1;
	std::vector<u32> windows; /* of the first side, to change to */
	bool stop = false; /* at the first that is found */
	u32 max_states = 3000000;
};

struct Outcome {
	size_t states = 0;
	size_t groups = 0; /* states in which one is under way */
	bool overrun = false;
	bool overlap = false;
	bool blocked = false; /* a side that can never send */
	bool stuck = false; /* in the middle of a group */
	bool complete = true;
};

class Search {
public:
	Search(const Model &start, const Rules &rules)
		: rules_(rules)
	{
		reach(start);
		while (!open_.empty() && !done()) {
			if (seen_.size() > rules_.max_states) {
				out_.complete = false;
				break;
			}
			const Model m = open_.front();

			open_.pop_front();
			expand(m);
		}
		out_.states = seen_.size();
	}
	[[nodiscard]] const Outcome &outcome() const
	{
		return out_;
	}

private:
	[[nodiscard]] bool done() const
	{
		return out_.overrun || out_.overlap ||
		       (rules_.stop && (out_.blocked || out_.stuck));
	}
	void reach(const Model &m)
	{
		if (seen_.add(m.key()).second)
			open_.push_back(m);
	}

	static void post(Model &m, u32 i, Flying::Kind kind, u32 count)
	{
		Side &from = m.sides[i];
		Side &to = m.sides[1 - i];

		to.inbound[to.n_inbound++] = { from.credits.credit(), kind,
					       static_cast<u8>(count) };
		from.credits.sent();
	}
	static void give_back(Side &s)
	{
		if (s.credits.retire())
			return;
		s.posted++;
		EXPECT_TRUE(s.credits.release(1));
	}
	void finished(Side &s, bool hold)
	{
		if (hold)
			s.held++;
		else
			give_back(s);
	}

	/* Is it what the group receiver takes? */
	static bool expected(Side &s, const Flying &f)
	{
		GroupReceiver::Verdict v;

		switch (f.kind) {
		case Flying::Alone:
			return !s.in.active();
		case Flying::First:
			v = s.in.begin(kXid, RPCRDMA_CALL, f.count, 4);
			break;
		case Flying::Next:
			v = s.in.go_on(kXid, s.in.next(), kXmtReq);
			break;
		case Flying::Grant:
			return true;
		}
		if (v.step != GroupReceiver::Step::Take)
			return false;
		s.in.taken(4);
		s.kept++;
		return true;
	}

	void arrive(Side &s, bool hold)
	{
		const Flying f = s.inbound[0];

		s.n_inbound--;
		for (u32 i = 0; i < s.n_inbound; i++)
			s.inbound[i] = s.inbound[i + 1];
		if (!s.posted)
			out_.overrun = true;
		s.posted--;
		s.credits.received();
		if (s.credits.overrun(f.kind == Flying::Grant) ||
		    !s.credits.limit(f.credit))
			out_.overrun = true;
		if (!expected(s, f))
			out_.overlap = true;
		if (f.kind == Flying::Grant)
			give_back(s);
		else if (f.kind == Flying::Alone)
			finished(s, hold);
		else if (!s.in.active())
			for (; s.kept; s.kept--)
				finished(s, hold);
	}

	/* The rest of what has been begun, and what needs no upper layer. */
	bool goes_on(const Model &m, u32 i)
	{
		const Side &s = m.sides[i];
		bool any = false;

		if (s.out.active() && s.credits.may_send()) {
			Model next = m;
			Side &me = next.sides[i];

			me.out.sent();
			post(next, i, Flying::Next, 0);
			reach(next);
			any = true;
		}
		if (s.credits.grant_due() && s.credits.may_grant() &&
		    (!s.out.active() || rules_.grants_in_groups)) {
			Model next = m;

			post(next, i, Flying::Grant, 0);
			reach(next);
			any = true;
		}
		if (s.n_inbound) {
			Model next = m;

			arrive(next.sides[i], rules_.hold[i]);
			reach(next);
			any = true;
		}
		return any;
	}

	void upper_layer(const Model &m, u32 i)
	{
		const Side &s = m.sides[i];
		const u32 credits = s.credits.available();

		if (s.held) {
			Model next = m;

			next.sides[i].held--;
			give_back(next.sides[i]);
			reach(next);
		}
		if (!s.out.active() && credits >= rules_.waits_for) {
			Model next = m;

			post(next, i, Flying::Alone, 0);
			reach(next);
		}
		for (u32 n = 1; n <= rules_.largest && !s.out.active(); n++) {
			if (!GroupSender::may_begin(n, credits, 4) ||
			    n < rules_.waits_for)
				continue;
			Model next = m;
			Side &me = next.sides[i];

			me.out.begin(n);
			me.out.sent();
			post(next, i, Flying::First, n);
			reach(next);
		}
		if (i)
			return;
		for (const u32 window : rules_.windows) {
			if (window == s.target)
				continue;
			Model next = m;
			Side &me = next.sides[0];

			if (window > me.credits.window())
				me.posted += window - me.credits.window();
			me.credits.set_window(window);
			me.target = window;
			reach(next);
		}
	}

	void expand(const Model &m)
	{
		const bool any = goes_on(m, 0) | goes_on(m, 1);

		out_.groups +=
			m.sides[0].out.active() || m.sides[1].out.active();
		for (u32 i = 0; i < 2; i++) {
			const Side &s = m.sides[i];
			const Side &other = m.sides[1 - i];

			if (!any && s.out.active())
				out_.stuck = true;
			if (!any && !other.held &&
			    s.credits.available() < rules_.waits_for)
				out_.blocked = true;
			upper_layer(m, i);
		}
	}

	const Rules &rules_;
	Outcome out_;
	states::Numbers<64> seen_;
	std::deque<Model> open_;
};

Outcome search_for(u32 a, u32 b, const Rules &rules)
{
	return Search({ { Side(a), Side(b) } }, rules).outcome();
}

void expect_sound(u32 a, u32 b, const Rules &rules)
{
	const Outcome o = search_for(a, b, rules);

	EXPECT_TRUE(o.complete);
	EXPECT_FALSE(o.overrun);
	EXPECT_FALSE(o.overlap);
	EXPECT_FALSE(o.blocked);
	EXPECT_FALSE(o.stuck);
	EXPECT_GT(o.groups, 0u);
	std::printf("windows %u%s%s and %u%s, groups of up to %u: "
		    "%zu states, a group under way in %zu\n",
		    a, rules.windows.empty() ? "" : ", changing",
		    rules.hold[0] ? ", held" : "", b,
		    rules.hold[1] ? ", held" : "", rules.largest, o.states,
		    o.groups);
}

} // namespace

TEST(group_search, every_window__all_interleavings_D20)
{
	for (u32 a = 3; a <= 5; a++)
		for (u32 b = 3; b <= a; b++)
			expect_sound(a, b, {});
}

TEST(group_search, every_window__held_receives_D20)
{
	for (u32 held = 1; held < 4; held++) {
		Rules rules;

		rules.hold[0] = held & 1;
		rules.hold[1] = held & 2;
		expect_sound(3, 3, rules);
		expect_sound(4, 3, rules);
	}
}

TEST(group_search, windows__change_at_any_moment_D20)
{
	Rules rules;

	rules.windows = { 3, 4 };
	expect_sound(3, 3, rules);
	rules.hold[0] = true;
	expect_sound(3, 3, rules);
}

/* Why a sender posts no GRANT in the middle of its group. */
TEST(group_search, grants__in_a_group_take_its_credits)
{
	Rules rules;

	rules.grants_in_groups = true;
	rules.stop = true;
	const Outcome o = search_for(3, 3, rules);
	EXPECT_TRUE(o.stuck);
	std::printf("GRANTs in groups: stuck within %zu states\n", o.states);
}

/*
 * Why a sender does not wait for the credits of a group: GRANTs come when half of the
 * window is used up, so with one more than half nothing need come. Up to that it may wait,
 * as long as no window shrinks.
 */
TEST(group_search, waiting__for_more_than_half_the_window)
{
	for (u32 window = 3; window <= 4; window++) {
		Rules rules;

		rules.waits_for = window / 2 + 1;
		EXPECT_FALSE(search_for(window, window, rules).blocked);
		rules.waits_for = window / 2 + 2;
		rules.stop = true;
		EXPECT_TRUE(search_for(window, window, rules).blocked);
	}
}
