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
 * ready; a thread has the Reply to it; a Reply has been sent, and has given its memory back to the
 * account; it is not counted any more; the others take a page of the
 * budget, perhaps beyond its limit, or give one back. The peer sends when there is a Receive
 * for it, and what it likes: it need not have credits for a whole Call before it begins.
 * A Reply of a page may be in the pool, which has one; with two Replies no Call is taken.
 *
 * In each state:
 * - the budget holds what the account and the others have, and the account was forced to take
 *   no more beyond the limit than core/budget.h says; the account is sound; Replies are counted
 *   once each, and so are those in the pool;
 * - if nothing can happen but that the peer sends something, or that the others do, then all
 *   Calls that have come as a whole are over, and all Replies, and all Receives are there. So
 *   nothing waits for the others, nor for the rest of a Call.
 *
 * A second model has connections that come and go while the budget's limit changes. Whoever waits to
 * be let in either may still be let in, and there is too little now, or is about to ask again.
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
constexpr RepliesLimits kRepliesLimits = { 2, 1 };
/* Beside the size of a Reply, in its queue. */
constexpr u32 kPooled = 4;

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
	Queue replies; /* with kPooled */
	Queue ending; /* they have given back their memory; whether that made room */
	Replies counted;
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
				bits = bits << 3 | q->sizes[i];
			put(bits >> 16);
			put(bits >> 8);
			put(bits);
		}
		u32 ending = c.ending.n;

		for (u32 i = 0; i < c.ending.n; i++)
			ending = ending << 1 | c.ending.sizes[i];
		put(ending);
		return k;
	}
};

/* Without one of these, which the kernel has, something waits for ever. */
struct Rules {
	bool alone = true; /* a Call that is alone does not wait */
	bool reserve = true; /* nobody else's memory */
	bool sent_frees = true; /* a Reply that is sent lets Calls go on */
	bool eased = true; /* and lets nfsd look again */
	bool counted = true; /* also if it was one of too many, in the pool or not */
	bool told = true; /* a reserve that grows lets Calls go on, and nfsd look again */
	u32 shared = 1; /* pages besides the reserve */
	u32 first = kLargest; /* the reserve at first */
};

struct Outcome {
	size_t states = 0;
	size_t held_back = 0; /* in which something waits for memory */
	size_t in_pool = 0; /* in which a Reply is */
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
	/* Return: nfsd has to look again. */
	bool uncharge(Model &m, Connection &c, u32 kind, u32 size) const
	{
		const bool much = rpcrdma_account_replies_full(&c.account);
		const u32 back = put(c.account, kind, size, is_short(m.budget));

		if (back)
			(void)give(m.budget, c.account, back);
		return much && !rpcrdma_account_replies_full(&c.account) && rules_.eased;
	}
	/* As the kernel's sendto.c. */
	static void begin_reply(Model &m, Connection &c, u32 size)
	{
		const bool pooled = take(c.counted, kRepliesLimits, size);

		c.replies.push(size | (pooled ? kPooled : 0));
		if (!pooled)
			charge(m, c, kReplies, size);
	}
	void end_reply(Model &m, Connection &c, u32 size, bool pooled,
		       bool eased) const
	{
		const bool few = put(c.counted, kRepliesLimits, size, pooled);

		c.enqueued |= eased || (few && rules_.counted);
		if (rules_.sent_frees)
			resume(m, c);
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
		const bool much = rpcrdma_account_replies_full(&c.account);

		/* Somebody else has the reserve. */
		if (!rules_.reserve || fits(c.account, size) == RPCRDMA_BUDGET_START)
			return;
		(void)extend(m.budget, c.account, kLargest);
		if (!rules_.told)
			return;
		if (much && !rpcrdma_account_replies_full(&c.account))
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
			if (c.ready.n &&
			    !rpcrdma_replies_full(&c.counted, &kRepliesLimits, &c.account)) {
				const u32 size = c.ready.pop();

				(void)uncharge(m, c, kCalls, size);
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
			begin_reply(m, c, size);
			step(m);
		}
		if (was.replies.n) {
			Model m = from;
			Connection &c = m.c;

			const u32 size = c.replies.pop();

			if (size & kPooled)
				end_reply(m, c, size & ~kPooled, true, false);
			else
				c.ending.push(uncharge(m, c, kReplies, size));
			step(m);
		}
		if (was.ending.n) {
			Model m = from;
			Connection &c = m.c;

			end_reply(m, c, 0, false, c.ending.pop());
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

		u32 pooled = 0;

		for (u32 i = 0; i < m.c.replies.n; i++)
			if (m.c.replies.sizes[i] & kPooled)
				pooled += m.c.replies.sizes[i] & ~kPooled;
		out_.unsound |= !invariants(m.c.counted) ||
				pooled > kRepliesLimits.pool ||
				m.c.counted.pooled != pooled ||
				m.c.counted.number !=
					u32{ m.c.replies.n } + m.c.ending.n;
		out_.in_pool += pooled;
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

/* Connections that want to be let in, the first one first; as the kernel's listener.c. */
struct Door {
	static constexpr u32 kComing = 2;
	static constexpr u32 kMost = 3; /* pages of one, and the largest limit */

	Budget budget;
	u8 others;
	u8 waits[kComing]; /* pages that it wants */
	u8 has[kComing];
	bool told;

	[[nodiscard]] states::Key<8> key() const
	{
		return { static_cast<u8>(budget.limit), others, waits[0],
			 waits[1], has[0], has[1],
			 static_cast<u8>(budget.wanted), told };
	}
};

/* Every order in which they come and go, others take and give back, and the limit changes. */
class DoorSearch {
public:
	/* @lower: who waits is told of a lower limit */
	explicit DoorSearch(bool lower)
		: lower_(lower)
	{
		Door start = {};

		start.budget.limit = Door::kMost;
		reach(start);
		while (!open_.empty()) {
			const Door d = open_.front();

			open_.pop_front();
			check(d);
			expand(d);
		}
	}
	[[nodiscard]] size_t states() const
	{
		return seen_.size();
	}

	bool overlooked = false;
	bool unsound = false;
	size_t waiting = 0; /* states in which one waits */
	size_t refused = 0; /* that had waited */

private:
	void reach(Door d)
	{
		/* Counters make no difference. */
		d.budget.most = d.budget.held;
		d.budget.held_back = d.budget.refused = 0;
		if (seen_.add(d.key()).second)
			open_.push_back(d);
	}
	static Verdict ask(Door &d, u32 i, u32 size)
	{
		const u8 pages = static_cast<u8>(size);
		const Verdict v = charge(d.budget, size, false);

		d.waits[i] = v == RPCRDMA_BUDGET_HOLD_BACK ? pages : 0;
		d.has[i] = v == RPCRDMA_BUDGET_START ? pages : 0;
		return v;
	}
	void comes(const Door &from, u32 i)
	{
		for (u32 size = 1; size <= Door::kMost; size++) {
			Door d = from;

			(void)ask(d, i, size);
			reach(d);
		}
	}
	void expand(const Door &from)
	{
		Door d = from;

		if (from.told) {
			d.told = false;
			for (u32 i = 0; i < Door::kComing; i++)
				if (d.waits[i])
					refused += ask(d, i, d.waits[i]) ==
						   RPCRDMA_BUDGET_REFUSE;
			reach(d);
		}
		for (u32 limit = 1; limit <= Door::kMost; limit++) {
			d = from;
			const bool less = limit < d.budget.limit;
			const bool tell = change(d.budget, limit);

			d.told |= tell && (lower_ || !less);
			reach(d);
		}
		if (from.others < Door::kMost) {
			d = from;
			d.others++;
			(void)!charge(d.budget, 1, true);
			reach(d);
		}
		if (from.others) {
			d = from;
			d.others--;
			d.told |= uncharge(d.budget, 1);
			reach(d);
		}
		for (u32 i = 0; i < Door::kComing; i++) {
			d = from;
			if (from.has[i]) {
				d.has[i] = 0;
				d.told |= uncharge(d.budget, from.has[i]);
				reach(d);
			} else if (from.waits[i]) {
				/* The client gives up. */
				d.waits[i] = 0;
				reach(d);
			} else {
				comes(from, i);
			}
		}
	}
	void check(const Door &d)
	{
		u32 held = d.others;

		for (u32 i = 0; i < Door::kComing; i++) {
			held += d.has[i];
			waiting += d.waits[i] != 0;
			overlooked |= d.waits[i] && !d.told &&
				      (d.waits[i] > d.budget.limit ||
				       d.waits[i] <= room(d.budget));
		}
		unsound |= !invariants(d.budget) || d.budget.held != held;
	}

	const bool lower_;
	states::Numbers<8> seen_;
	std::deque<Door> open_;
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
		EXPECT_GT(o.in_pool, 0u);
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

TEST(budget_search, replies__that_are_fewer_again_wake_nfsd)
{
	Rules rules;

	rules.counted = false;
	EXPECT_TRUE(Search(rules).outcome().stuck);
}

TEST(budget_search, connections__none_waits_that_could_ask_again)
{
	const DoorSearch s(true);

	EXPECT_FALSE(s.overlooked);
	EXPECT_FALSE(s.unsound);
	EXPECT_GT(s.waiting, 0u);
	EXPECT_GT(s.refused, 0u);
	std::printf("connections that come: %zu states, one waits in %zu\n",
		    s.states(), s.waiting);
}

TEST(budget_search, connections__that_wait_are_told_of_a_lower_limit)
{
	EXPECT_TRUE(DoorSearch(false).overlooked);
}
