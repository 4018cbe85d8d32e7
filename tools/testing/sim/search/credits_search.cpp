// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Two trackers of credits, two FIFO channels, and every interleaving.
 *
 * One step is: a side posts a message, or a GRANT that is due; the first message
 * of a channel arrives; a side gives one Receive back; a side changes its window. A
 * Receive that is given back is posted at once or, while the peer has ample credit, waits
 * to be posted with others: both happen, so the search holds for any size of a batch.
 * Only differences of counters matter, so endless traffic has a finite number of
 * states, and the search visits all of them.
 *
 * In each state:
 * - each message that arrives finds a Receive, and no more come than were allowed;
 * - a side that has a message, now or later, will be able to post it, even
 *   if the other side never has one again. This also holds if the side keeps all its
 *   Receives until it has posted its message, like a server whose threads
 *   wait for that (but not if both sides do).
 * - while a side may send nothing, and nothing is on its way, no Receive of the other
 *   waits to be posted.
 * And every sequence of GRANTs that answer GRANTs ends.
 */
#include "states.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <deque>
#include <vector>

namespace
{

using states::Credits;
using states::Essence;

/* The draft's own words: "Sent message count" + "Advertised credits". */
class LiteralCredits {
public:
	explicit LiteralCredits(u32 window, u32 = 0)
		: window_(window)
	{
	}
	[[nodiscard]] bool may_send() const
	{
		return s32(limit_ - sent_) > 0;
	}
	[[nodiscard]] bool may_grant() const
	{
		return s32(limit_ - sent_) >= 0;
	}
	/* D3's rule, with what the literal words tell the peer. */
	[[nodiscard]] bool grant_due() const
	{
		return s32(told_ - received_) <= s32(window_ / 2) &&
		       s32(credit() - told_) >= 2;
	}
	[[nodiscard]] bool ample() const
	{
		return false;
	}
	[[nodiscard]] u32 credit() const
	{
		return sent_ + window_ - (received_ - released_);
	}
	void sent()
	{
		told_ = credit();
		sent_++;
	}
	void received()
	{
		received_++;
	}
	[[nodiscard]] bool overrun(bool) const
	{
		return false;
	}
	[[nodiscard]] bool limit(u32 credit)
	{
		limit_ = credit;
		return true;
	}
	[[nodiscard]] bool release(u32 n)
	{
		released_ += n;
		return true;
	}
	[[nodiscard]] bool retire()
	{
		return false;
	}
	[[nodiscard]] u32 window() const
	{
		return window_;
	}
	void set_window(u32 window)
	{
		window_ = window;
	}
	[[nodiscard]] u32 received_count() const
	{
		return received_;
	}
	/* What it tells depends on both counts. */
	friend Essence essence(const LiteralCredits &c)
	{
		return { c.window_, c.sent_ - c.received_,
			 s32(c.limit_ - c.sent_), c.received_ - c.released_,
			 s32(c.told_ - c.received_) };
	}

private:
	u32 window_;
	u32 sent_ = 0;
	u32 limit_ = 1;
	u32 received_ = 0;
	u32 released_ = 0;
	u32 told_ = 1;
};

/* The real thing, but it grants whenever it has anything new to tell. */
class EagerCredits : public Credits {
public:
	using Credits::Credits;

	[[nodiscard]] bool grant_due() const
	{
		return credit() != told_now_;
	}
	void sent()
	{
		told_now_ = credit();
		Credits::sent();
	}
	friend Essence essence(const EagerCredits &c)
	{
		Essence e = essence(static_cast<const Credits &>(c));

		e.told = s32(c.told_now_ - c.received_count());
		return e;
	}

private:
	u32 told_now_ = 1;
};

struct Flying {
	u32 credit;
	bool grant;
};

using Key = states::Key<48>;

template <typename Tracker> struct Side {
	Tracker credits;
	u32 posted; /* Receives on the queue */
	u32 held; /* Receives of messages that the upper layer has */
	u32 waiting =
		0; /* Receives that are free, not posted: the rest of in_use */
	u32 target; /* the window wanted */
	u32 n_inbound = 0;
	Flying inbound[12] = {};

	explicit Side(u32 window, u32 start)
		: credits(window, start)
		, posted(window + 1)
		, held(0)
		, target(window)
	{
	}
};

template <typename A, typename B> struct Model {
	Side<A> a;
	Side<B> b;

	[[nodiscard]] Key key() const
	{
		Key k = {};
		u32 n = 0;

		pack(k, n, a, b.credits.received_count());
		pack(k, n, b, a.credits.received_count());
		return k;
	}

private:
	/* Words in flight are the other side's, and relative to its count. */
	template <typename T>
	static void pack(Key &k, u32 &n, const Side<T> &s, u32 base)
	{
		const Essence e = essence(s.credits);
		const auto put = [&](u32 v) {
			k.at(n++) = static_cast<u8>(v);
		};

		put(e.window);
		put(e.surplus);
		put(u32(e.allowed));
		put(e.in_use);
		put(u32(e.told));
		put(s.posted << 4 | s.held);
		put(s.target);
		put(s.n_inbound);
		for (u32 i = 0; i < s.n_inbound; i++)
			put((s.inbound[i].credit - base) << 1 |
			    s.inbound[i].grant);
	}
};

/* When Receives that wait are posted. */
enum class Push {
	Always, /* as soon as the peer's credit is not ample any more */
	GivenBack, /* no: then, but only if a Receive is given back */
	Never, /* no: when there are enough of them */
};

struct Rules {
	bool hold_a =
		false; /* Receives are kept until a step gives them back */
	bool hold_b = false;
	std::vector<u32> windows_a; /* to change to, at any time */
	std::vector<u32> windows_b;
	Push push = Push::Always;
	bool wait_b = true; /* b's Receives may wait, too */
	bool stop = false; /* at the first that is found */
	u32 sound_b = 2; /* with smaller windows b may starve a */
	u32 max_states = 4000000;
};

struct Outcome {
	size_t states = 0;
	bool overrun = false;
	bool blocked_a = false; /* a message that can never be posted */
	bool blocked_b = false;
	bool starved = false; /* a Receive waits, and nothing will push it */
	bool endless = false; /* GRANTs */
	bool complete = true;
};

template <typename A, typename B> class Search {
public:
	using State = Model<A, B>;

	Search(const State &start, const Rules &rules)
		: rules_(rules)
	{
		(void)reach(start);
		while (!open_.empty() && !out_.overrun &&
		       !(rules_.stop &&
			 (out_.blocked_a || out_.blocked_b || out_.starved))) {
			if (ids_.size() > rules_.max_states) {
				out_.complete = false;
				break;
			}
			const State s = open_.front();
			const u32 id = first_++;

			open_.pop_front();
			from_ = id;
			expand(s);
		}
		out_.states = ids_.size();
		if (out_.complete && !out_.overrun)
			out_.endless = states::cyclic(ids_.size(), edges_);
	}

	[[nodiscard]] const Outcome &outcome() const
	{
		return out_;
	}

private:
	u32 reach(const State &s)
	{
		const auto [id, fresh] = ids_.add(s.key());

		if (fresh)
			open_.push_back(s);
		return id;
	}

	template <typename S, typename T>
	static void post(S &from, T &to, bool grant)
	{
		to.inbound[to.n_inbound++] = { from.credits.credit(), grant };
		from.credits.sent();
	}

	/* Post what waits. */
	template <typename S> static void push(S &s)
	{
		const u32 n = s.waiting;

		s.posted += n;
		s.waiting = 0;
		EXPECT_TRUE(s.credits.release(n));
	}

	/* A Receive that has completed is free: it waits to be posted again, or not. */
	template <typename S> void give_back(S &s, bool wait)
	{
		if (s.credits.retire())
			return;
		s.waiting++;
		if (!wait || (rules_.push != Push::Never && !s.credits.ample()))
			push(s);
	}

	/* @s may have a Receive more that waits; perhaps now there are enough to post. */
	template <typename S> void reach_both(State &next, S State::*mine)
	{
		S &s = next.*mine;

		edges_.push_back({ from_, reach(next) });
		if (!s.waiting)
			return;
		push(s);
		edges_.push_back({ from_, reach(next) });
	}

	template <typename S> void arrive(S &s, bool hold, bool wait)
	{
		const Flying f = s.inbound[0];

		s.n_inbound--;
		for (u32 i = 0; i < s.n_inbound; i++)
			s.inbound[i] = s.inbound[i + 1];
		if (!s.posted)
			out_.overrun = true;
		s.posted--;
		s.credits.received();
		if (s.credits.overrun(f.grant))
			out_.overrun = true;
		if (!s.credits.limit(f.credit))
			out_.overrun = true;
		if (s.waiting && rules_.push == Push::Always &&
		    !s.credits.ample())
			push(s);
		if (hold && !f.grant)
			s.held++;
		else
			give_back(s, wait);
	}

	template <typename S> void resize(S &s, u32 window)
	{
		if (window > s.credits.window())
			s.posted += window - s.credits.window();
		s.credits.set_window(window);
		s.target = window;
		if (s.waiting && rules_.push == Push::Always &&
		    !s.credits.ample())
			push(s);
	}

	/* What can happen to @s, which is @mine of @m, without its messages. */
	template <typename S, typename T>
	u32 others(const State &m, S State::*mine, T State::*theirs, bool hold,
		   bool wait, bool &release)
	{
		const S &s = m.*mine;
		u32 n = 0;

		if (s.credits.grant_due() && s.credits.may_grant()) {
			State next = m;

			post(next.*mine, next.*theirs, true);
			edges_.push_back({ from_, reach(next) });
			n++;
		}
		if (s.n_inbound) {
			State next = m;

			arrive(next.*mine, hold, wait);
			reach_both(next, mine);
			n++;
		}
		release = s.held;
		if (s.held) {
			State next = m;

			(next.*mine).held--;
			give_back(next.*mine, wait);
			reach_both(next, mine);
		}
		return n;
	}

	template <typename S, typename T>
	void messages(const State &m, S State::*mine, T State::*theirs,
		      const std::vector<u32> &windows)
	{
		if ((m.*mine).credits.may_send()) {
			State next = m;

			post(next.*mine, next.*theirs, false);
			(void)reach(next);
		}
		for (const u32 window : windows) {
			if (window == (m.*mine).target)
				continue;
			State next = m;

			resize(next.*mine, window);
			(void)reach(next);
		}
	}

	void expand(const State &m)
	{
		bool release_a, release_b;
		const u32 n = others(m, &State::a, &State::b, rules_.hold_a,
				     true, release_a) +
			      others(m, &State::b, &State::a, rules_.hold_b,
				     rules_.wait_b, release_b);

		messages(m, &State::a, &State::b, rules_.windows_a);
		messages(m, &State::b, &State::a, rules_.windows_b);
		if (!m.a.n_inbound && !m.b.n_inbound &&
		    ((m.a.waiting && !m.b.credits.may_send()) ||
		     (m.b.waiting && !m.a.credits.may_send())))
			out_.starved = true;
		/*
		 * The other's Receives come back; its own wait for it. A peer
		 * that advertises less than it may (D3) can starve itself: while
		 * its window is zero or one nothing can be sent to it, and while
		 * it holds the only Receive back that it has, no GRANT either.
		 */
		if (!n && !release_b && !m.a.credits.may_send() &&
		    m.b.target >= rules_.sound_b)
			out_.blocked_a = true;
		if (!n && !release_a && !m.b.credits.may_send() &&
		    (m.b.target || !rules_.hold_b))
			out_.blocked_b = true;
	}

	const Rules &rules_;
	Outcome out_;
	states::Numbers<48> ids_;
	std::deque<State> open_; /* in the order of their ids */
	std::vector<states::Edge> edges_; /* steps that are not messages */
	u32 first_ = 0;
	u32 from_ = 0;
};

template <typename A, typename B>
Outcome search(u32 a, u32 b, const Rules &rules = {}, u32 start = 0)
{
	const Model<A, B> m = { Side<A>(a, start), Side<B>(b, start) };

	return Search<A, B>(m, rules).outcome();
}

} // namespace

TEST(credits_search, essence__is_all_there_is)
{
	Credits c(5, 100);

	c.sent();
	EXPECT_TRUE(c.limit(104));
	c.received();
	c.received();
	EXPECT_TRUE(c.release(1));
	c.set_window(4);
	const Essence e = essence(c);
	EXPECT_EQ(e.window, c.window());
	EXPECT_EQ(e.surplus, 1u);
	EXPECT_EQ(u32(e.allowed), c.available());
	EXPECT_EQ(e.in_use, c.in_use());
	EXPECT_EQ(e.told, 105 - 102);
}

namespace
{

size_t total_states;

void expect_sound(u32 a, u32 b, const Rules &rules, u32 start = 0)
{
	const Outcome o = search<Credits, Credits>(a, b, rules, start);

	EXPECT_TRUE(o.complete);
	EXPECT_FALSE(o.overrun);
	EXPECT_FALSE(o.endless);
	EXPECT_FALSE(o.blocked_a);
	EXPECT_FALSE(o.blocked_b);
	EXPECT_FALSE(o.starved);
	std::printf("windows %u%s%s and %u%s%s: %zu states\n", a,
		    rules.windows_a.empty() ? "" : ", changing",
		    rules.hold_a ? ", held" : "", b,
		    rules.windows_b.empty() ? "" : ", changing",
		    rules.hold_b ? ", held" : "", o.states);
	total_states += o.states;
	::testing::Test::RecordProperty("states", int(o.states));
}

/* As expect_sound(), for each way of holding Receives back. */
void expect_sound_held(u32 a, u32 b, Rules rules)
{
	for (u32 held = 1; held < 4; held++) {
		rules.hold_a = held & 1;
		rules.hold_b = held & 2;
		expect_sound(a, b, rules);
	}
}

const std::vector<u32> kWindows = { 3, 4, 5 };

} // namespace

TEST(credits_search, every_window__all_interleavings)
{
	for (const u32 a : kWindows)
		for (u32 b = 0; b <= 5; b++)
			expect_sound(a, b, {});
}

TEST(credits_search, every_window__held_receives)
{
	for (const u32 a : kWindows)
		for (u32 b = 0; b <= 5; b++)
			expect_sound_held(a, b, {});
}

TEST(credits_search, both_ways__across_the_wrap)
{
	for (const u32 start :
	     { UINT32_MAX - 2, UINT32_MAX - 7, 0x7ffffffdU }) {
		expect_sound(3, 3, {}, start);
		expect_sound(4, 5, {}, start);
		expect_sound(5, 3, { true, true, {}, {} }, start);
	}
}

/*
 * From any window each other one is reached, so one beginning does for all; but a
 * window that has shrunk to less than three is not all that such a peer can begin with.
 */
TEST(credits_search, windows__change_at_any_moment_D15)
{
	Rules rules;

	rules.windows_a = kWindows;
	for (u32 b = 0; b < 3; b++) {
		expect_sound(3, b, rules);
		expect_sound_held(3, b, rules);
	}
	/*
	 * To hold a Receive back, and to give it back, is to give it back at
	 * once; but a peer that does so must not starve where others may.
	 */
	rules.hold_a = true;
	rules.windows_b = kWindows;
	expect_sound(3, 3, rules);
	/* With a peer of another kind, that has any window and posts at once. */
	rules.windows_b = { 0, 1, 2, 3, 4, 5 };
	rules.wait_b = false;
	expect_sound(3, 3, rules);
	rules.hold_b = true;
	expect_sound(3, 3, rules);
	std::printf("%zu states in all\n", total_states);
}

/* Why Receives that wait are pushed: see recv.c of the module. */
TEST(credits_search, receives_that_wait__are_pushed_or_all_hangs)
{
	Rules rules;

	rules.push = Push::Never;
	const Outcome o = search<Credits, Credits>(3, 3, rules);
	EXPECT_TRUE(o.complete);
	EXPECT_TRUE(o.blocked_a);
	EXPECT_TRUE(o.blocked_b);
}

/*
 * It is not enough to push them when others are given back: all others may be held by
 * those who wait for the peer.
 */
TEST(credits_search, receives_that_wait__are_pushed_by_arrivals)
{
	for (const u32 window : kWindows) {
		Rules rules;

		rules.stop = true;
		rules.push = Push::GivenBack;
		rules.hold_a = true;
		const Outcome o =
			search<Credits, Credits>(window, window, rules);
		EXPECT_TRUE(o.starved);
	}
}

TEST(credits_search, tiny_peer__does_not_make_this_side_loop_D3)
{
	/*
	 * A window of one or two is not ours to advertise, and a peer that
	 * follows D3 may starve with one. Another that answers everything with a
	 * GRANT does not, and draws no endless GRANTs out of this side.
	 */
	for (const u32 a : kWindows)
		for (const u32 b : { 0u, 1u, 2u })
			for (const bool held : { false, true }) {
				Rules rules;

				rules.hold_a = rules.hold_b = held;
				rules.sound_b = 1;
				const Outcome o = search<Credits, EagerCredits>(
					a, b, rules);

				EXPECT_TRUE(o.complete);
				EXPECT_FALSE(o.endless);
				EXPECT_FALSE(o.overrun);
				EXPECT_FALSE(o.blocked_a);
				EXPECT_FALSE(o.blocked_b);
			}
}

TEST(credits_search, two_eager_peers__grant_for_ever_D3)
{
	/* What the rule of two messages is there for. */
	EXPECT_TRUE((search<EagerCredits, EagerCredits>(4, 4)).endless);
}

TEST(credits_search, literal_draft__deadlocks_D1)
{
	for (const u32 a : kWindows)
		for (const u32 b : kWindows) {
			Rules rules;

			rules.stop = true;
			const Outcome o =
				search<LiteralCredits, LiteralCredits>(a, b,
								       rules);

			EXPECT_TRUE(o.blocked_a || o.blocked_b);
			EXPECT_LT(o.states, 2000u);
		}
}
