// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The memory of a server's connection, as core/budget.h and server/call.c have it, and
 * every interleaving with whatever other connections do to the budget.
 *
 * The unit of memory is a page. A Call has up to three; that is the largest, and the reserve.
 * Or the reserve is less at first, and becomes three with the first Call that is larger.
 * The connection has two Receives, so the parts of a Call need one of them twice. One step is:
 * a Call comes that has to be fetched by RDMA Reads, and waits with its Receive; the first or
 * the next part of a continued Call comes; Reads end; a thread of nfsd takes a Call that is
 * ready; a thread has the Reply to it; a Reply has been sent; the others take a page of the
 * budget, perhaps beyond its limit, or give one back. The peer sends when there is a Receive
 * for it, and what it likes: it need not have credits for a whole Call before it begins.
 *
 * In each state:
 * - the budget holds what the account and the others have, and the account was forced to take
 *   no more beyond the limit than core/budget.h says; the account is sound;
 * - if nothing can happen but that the peer sends something, or that the others do, then all
 *   Calls that have come as a whole are over, and all Replies, and all Receives are there. So
 *   nothing waits for the others, nor for the rest of a Call.
 */
#include "budget.h"
#include "states.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <vector>

extern "C" void rpcrdma_shim_broken(const char *file, int line,
				    const char *what)
{
	std::fprintf(stderr, "%s:%d: %s\n", file, line, what);
	std::abort();
}

namespace
{

using namespace rpcrdma::budget;
using rpcrdma::budget::Account;
using rpcrdma::budget::Budget;

constexpr u32 kCalls = RPCRDMA_BUDGET_CALLS;
constexpr u32 kReplies = RPCRDMA_BUDGET_REPLIES;
constexpr u32 kLargest = 3;
/* Pages of others beyond the limit. */
constexpr u32 kOthersBeyond = 2;
constexpr u32 kThreads = 2;
constexpr u32 kReceives = 2;

struct Queue {
	u8 n = 0;
	u8 sizes[6] = {};

	void push(u32 size)
	{
		sizes[n++] = static_cast<u8>(size);
	}
	u32 pop()
	{
		const u32 first = sizes[0];

		n--;
		for (u32 i = 0; i < n; i++)
			sizes[i] = sizes[i + 1];
		sizes[n] = 0;
		return first;
	}
};

struct Connection {
	Account account;
	u8 receives = kReceives; /* posted */
	u8 held = 0; /* Receives kept back */
	Queue waiting; /* each with a Receive */
	Queue reading;
	Queue ready;
	Queue serving; /* a thread has the Call */
	Queue replies;
	u8 partial = 0; /* pages that have come, of so many */
	u8 total = 0;
	bool enqueued = false; /* nfsd looks at it again */
};

using Key = states::Key<24>;

struct Model {
	Budget budget;
	Connection c;
	u32 others; /* pages of the budget, but for reserves */

	[[nodiscard]] Key key() const
	{
		Key k = {};
		u32 n = 0;
		const auto put = [&](u32 v) {
			k.at(n++) = static_cast<u8>(v);
		};

		put(others);
		put(c.account.reserve);
		put(c.account.drawn);
		put(c.account.forced);
		put(c.account.used[kCalls]);
		put(c.account.used[kReplies]);
		put(c.receives << 4 | c.held);
		put(c.partial << 4 | c.total << 1 | c.enqueued);
		for (const Queue *q : { &c.waiting, &c.reading, &c.ready,
					&c.serving, &c.replies }) {
			u32 bits = q->n;

			for (u32 i = 0; i < q->n; i++)
				bits = bits << 2 | q->sizes[i];
			put(bits >> 8);
			put(bits);
		}
		return k;
	}
};

/* Without one of these, which the kernel has, something waits for ever. */
struct Rules {
	bool alone = true; /* a Call that is alone does not wait */
	bool reserve = true; /* nobody else's memory */
	bool sent_frees = true; /* a Reply that is sent lets Calls go on */
	bool eased = true; /* and lets nfsd look again */
	bool told = true; /* a reserve that grows lets Calls go on, and nfsd look again */
	u32 shared = 1; /* pages besides the reserve */
	u32 first = kLargest; /* the reserve at first */
};

struct Outcome {
	size_t states = 0;
	size_t held_back = 0; /* in which something waits for memory */
	u32 forced = 0; /* the most */
	bool stuck = false;
	bool unsound = false;
};

class Search {
public:
	explicit Search(const Rules &rules)
		: rules_(rules)
	{
		Model start = {};

		start.budget.limit = rules.first + rules.shared;
		start.budget.batch = 1;
		EXPECT_EQ(rpcrdma::budget::charge(start.budget, rules.first, false),
			  RPCRDMA_BUDGET_START);
		open(start.c.account, 1, rules.first, kLargest + 1, 2);
		/* Somebody else has it. */
		if (!rules.reserve)
			start.c.account.reserve = 0;
		reach(start);
		while (!open_.empty() && !out_.stuck && !out_.unsound) {
			const Model m = open_.front();

			open_.pop_front();
			check(m);
			expand(m);
		}
		out_.states = seen_.size();
	}
	[[nodiscard]] const Outcome &outcome() const
	{
		return out_;
	}

private:
	void reach(const Model &m)
	{
		if (seen_.add(m.key()).second)
			open_.push_back(m);
	}

	/* As the kernel's budget.c. */
	static bool call(Model &m, Connection &c, u32 size, bool alone)
	{
		Verdict v = rpcrdma::budget::call(c.account, size, alone);

		if (v == RPCRDMA_BUDGET_DRAW)
			v = draw(m.budget, c.account, kCalls, size, alone);
		return v == RPCRDMA_BUDGET_START;
	}
	static void charge(Model &m, Connection &c, u32 kind, u32 size)
	{
		if (take(c.account, kind, size) == RPCRDMA_BUDGET_DRAW)
			(void)!draw(m.budget, c.account, kind, size, true);
	}
	void uncharge(Model &m, Connection &c, u32 kind, u32 size) const
	{
		const bool full = replies_full(c.account);
		const u32 back = put(c.account, kind, size, is_short(m.budget));

		if (back)
			(void)give(m.budget, c.account, back);
		if (full && !replies_full(c.account) && rules_.eased)
			c.enqueued = true;
	}
	/* As the kernel's reads.c. */
	void resume(Model &m, Connection &c) const
	{
		while (c.held && !calls_full(c.account)) {
			c.held--;
			c.receives++;
		}
		while (c.waiting.n &&
		       call(m, c, c.waiting.sizes[0],
			    rules_.alone && !c.reading.n && !c.ready.n)) {
			c.reading.push(c.waiting.pop());
			c.receives++;
		}
	}
	void admit(Model &m, Connection &c, u32 size) const
	{
		const bool full = replies_full(c.account);

		/* Somebody else has the reserve. */
		if (!rules_.reserve || fits(c.account, size) == RPCRDMA_BUDGET_START)
			return;
		(void)extend(m.budget, c.account, kLargest);
		if (!rules_.told)
			return;
		if (full && !replies_full(c.account))
			c.enqueued = true;
		resume(m, c);
	}
	static void is_ready(Connection &c, u32 size)
	{
		c.ready.push(size);
		c.enqueued = true;
	}
	void part(Model &m, Connection &c) const
	{
		charge(m, c, kCalls, 1);
		c.partial++;
		if (calls_full(c.account)) {
			c.receives--;
			c.held++;
		}
		if (c.partial == c.total) {
			is_ready(c, c.total);
			c.partial = c.total = 0;
		}
	}

	/* What the peer may send. */
	void send(const Model &from)
	{
		const Connection &was = from.c;

		if (was.total && was.receives) {
			Model m = from;

			part(m, m.c);
			reach(m);
		}
		if (!was.receives || was.total ||
		    was.waiting.n + was.reading.n + was.ready.n > 2)
			return;
		for (u32 size = 1; size <= kLargest; size++) {
			Model m = from;
			Connection &c = m.c;

			c.receives--;
			admit(m, c, size);
			c.waiting.push(size);
			resume(m, c);
			reach(m);

			m = from;
			admit(m, c, size);
			c.total = static_cast<u8>(size);
			part(m, c);
			reach(m);
		}
	}

	/* What happens by itself. Return: false if nothing can. */
	bool go_on(const Model &from)
	{
		const Connection &was = from.c;
		bool any = false;
		const auto step = [&](const Model &m) {
			any = true;
			reach(m);
		};

		if (was.reading.n) {
			Model m = from;
			Connection &c = m.c;

			is_ready(c, c.reading.pop());
			resume(m, c);
			step(m);
		}
		if (was.enqueued && was.serving.n < kThreads) {
			Model m = from;
			Connection &c = m.c;

			c.enqueued = false;
			if (c.ready.n && !replies_full(c.account)) {
				const u32 size = c.ready.pop();

				uncharge(m, c, kCalls, size);
				c.serving.push(size);
				c.enqueued = c.ready.n;
				resume(m, c);
			}
			step(m);
		}
		for (u32 size = 1; was.serving.n && size <= kLargest; size++) {
			Model m = from;
			Connection &c = m.c;

			c.serving.pop();
			c.replies.push(size);
			charge(m, c, kReplies, size);
			step(m);
		}
		if (was.replies.n) {
			Model m = from;
			Connection &c = m.c;

			uncharge(m, c, kReplies, c.replies.pop());
			if (rules_.sent_frees)
				resume(m, c);
			step(m);
		}
		return any;
	}

	/* The others. */
	void around(const Model &from)
	{
		if (from.others < rules_.shared + kOthersBeyond) {
			Model m = from;

			m.others++;
			(void)!rpcrdma::budget::charge(m.budget, 1, true);
			reach(m);
		}
		if (from.others) {
			Model m = from;

			m.others--;
			(void)!rpcrdma::budget::uncharge(m.budget, 1);
			reach(m);
		}
	}

	void expand(const Model &m)
	{
		const Connection &c = m.c;

		send(m);
		around(m);
		if (!go_on(m))
			out_.stuck |= c.held || c.waiting.n || c.ready.n ||
				      used(c.account) != c.partial ||
				      c.receives != kReceives;
		out_.held_back += c.waiting.n || c.held;
	}

	void check(const Model &m)
	{
		const Account &a = m.c.account;

		out_.unsound |= !invariants(a) || !invariants(m.budget) ||
				m.budget.held !=
					(rules_.reserve ? a.reserve : kLargest) +
						a.drawn + m.others;
		if (a.forced > out_.forced)
			out_.forced = a.forced;
	}

	const Rules &rules_;
	Outcome out_;
	states::Numbers<24> seen_;
	std::deque<Model> open_;
};

/* T * R + M + F: the parts of a Call have a page each. */
constexpr u32 kForced = kThreads * kLargest + kLargest + kReceives;

} // namespace

/* All interleavings, with a reserve that is @first at first. */
static void all_goes_on(u32 first)
{
	for (u32 shared = 0; shared <= 2; shared++) {
		Rules rules;

		rules.first = first;
		rules.shared = shared;
		const Outcome o = Search(rules).outcome();
		EXPECT_FALSE(o.stuck);
		EXPECT_FALSE(o.unsound);
		EXPECT_GT(o.held_back, 0u);
		EXPECT_GT(o.forced, 0u);
		EXPECT_LE(o.forced, kForced);
		std::printf("%u pages besides a reserve of %u: %zu states, "
			    "something held back in %zu, up to %u forced\n",
			    shared, first, o.states, o.held_back, o.forced);
	}
}

TEST(budget_search, every_interleaving__nothing_waits_for_another_connection)
{
	all_goes_on(kLargest);
}

TEST(budget_search, every_interleaving__with_a_reserve_that_grows)
{
	for (u32 first = 1; first < kLargest; first++)
		all_goes_on(first);
}

TEST(budget_search, reserve_that_grows__tells_who_waits)
{
	Rules rules;

	rules.first = 1;
	rules.told = false;
	EXPECT_TRUE(Search(rules).outcome().stuck);
}

TEST(budget_search, alone__must_not_wait)
{
	Rules rules;

	rules.alone = false;
	EXPECT_TRUE(Search(rules).outcome().stuck);
}

TEST(budget_search, reserve__is_what_a_part_may_count_on)
{
	Rules rules;

	rules.reserve = false;
	rules.shared = 0;
	EXPECT_TRUE(Search(rules).outcome().stuck);
}

TEST(budget_search, replies__that_are_sent_let_calls_go_on)
{
	Rules rules;

	rules.sent_frees = false;
	EXPECT_TRUE(Search(rules).outcome().stuck);
}

TEST(budget_search, replies__that_are_few_again_wake_nfsd)
{
	Rules rules;

	rules.eased = false;
	EXPECT_TRUE(Search(rules).outcome().stuck);
}
