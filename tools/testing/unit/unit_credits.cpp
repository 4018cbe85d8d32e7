// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "credits.h"

#include <deque>
#include <set>
#include <tuple>

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

	c.limit(3);
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

	c.limit(10);
	for (int i = 0; i < 5; i++)
		c.sent();
	c.limit(4);
	EXPECT_FALSE(c.may_send());
	EXPECT_FALSE(c.may_grant());
	EXPECT_EQ(c.available(), 0u);
	c.limit(6);
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
	c.limit(8);
	for (int i = 0; i < 6; i++)
		c.sent();
	c.limit(10);
	EXPECT_EQ(c.granted(), 8u);
	c.limit(20);
	EXPECT_EQ(c.granted(), 14u);
	/* A peer that takes credits back has a smaller window now. */
	c.limit(9);
	EXPECT_EQ(c.granted(), 3u);
	c.limit(6);
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

	c.limit(0x7fffffff);
	EXPECT_EQ(c.available(), 0x7fffffffu);
	EXPECT_TRUE(c.may_send());
	/* Half the number space or more away is behind, not ahead. */
	c.limit(0x80000000);
	EXPECT_FALSE(c.may_send());
	EXPECT_FALSE(c.may_grant());
	c.limit(UINT32_MAX);
	EXPECT_FALSE(c.may_send());
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

namespace
{

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
	void limit(u32 credit)
	{
		limit_ = credit;
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

private:
	u32 window_;
	u32 sent_ = 0;
	u32 limit_ = 1;
	u32 received_ = 0;
	u32 released_ = 0;
	u32 told_ = 1;
};

/* The real thing, or one that grants whenever it has anything new to tell. */
class AnyPeer {
public:
	explicit AnyPeer(u32 window, u32 start = 0)
		: credits_(window, start)
		, told_(start + 1)
	{
	}

	u32 eager = false;

	[[nodiscard]] bool may_send() const
	{
		return credits_.may_send();
	}
	[[nodiscard]] bool may_grant() const
	{
		return credits_.may_grant();
	}
	[[nodiscard]] bool grant_due() const
	{
		return eager ? credit() != told_ : credits_.grant_due();
	}
	[[nodiscard]] u32 credit() const
	{
		return credits_.credit();
	}
	void sent()
	{
		told_ = credit();
		credits_.sent();
	}
	void received()
	{
		credits_.received();
	}
	[[nodiscard]] bool overrun(bool grant) const
	{
		return credits_.overrun(grant);
	}
	void limit(u32 credit)
	{
		credits_.limit(credit);
	}
	[[nodiscard]] bool release(u32 n)
	{
		return credits_.release(n);
	}
	[[nodiscard]] bool retire()
	{
		return credits_.retire();
	}
	[[nodiscard]] u32 window() const
	{
		return credits_.window();
	}
	void set_window(u32 window)
	{
		credits_.set_window(window);
	}

private:
	Credits credits_;
	u32 told_;
};

struct Flying {
	u32 credit;
	bool grant;
	auto operator<=>(const Flying &) const = default;
};

/*
 * Two peers and two FIFO channels. One step is: a peer posts a message it has,
 * or a GRANT that is due; the first message of a channel arrives; a peer gives
 * one Receive back; a peer changes its window, if it is to. A peer gives Receives back in any order with everything
 * else, so "held by a slow upper layer" is among the schedules.
 */
template <typename Tracker> struct Model {
	struct Side {
		Tracker credits;
		u32 todo;
		u32 posted; /* Receives on the queue */
		u32 held;
		std::deque<Flying> inbound;
		std::vector<u32> windows; /* to be offered in turn */
	};

	Side side[2];

	Model(u32 window0, u32 window1, u32 todo0, u32 todo1, u32 start)
		: side{ { Tracker(window0, start),
			  todo0,
			  window0 + 1,
			  0,
			  {},
			  {} },
			{ Tracker(window1, start),
			  todo1,
			  window1 + 1,
			  0,
			  {},
			  {} } }
	{
	}

	/* Everything a step depends on. */
	[[nodiscard]] std::vector<u32> key() const
	{
		std::vector<u32> k;

		for (const Side &s : side) {
			static_assert(sizeof(Tracker) % sizeof(u32) == 0);
			u32 raw[sizeof(Tracker) / sizeof(u32)];

			std::memcpy(raw, &s.credits, sizeof(raw));
			k.insert(k.end(), std::begin(raw), std::end(raw));
			k.insert(k.end(), { s.todo, s.posted, s.held,
					    u32(s.windows.size()),
					    u32(s.inbound.size()) });
			for (const Flying &f : s.inbound)
				k.push_back(f.credit * 2 + f.grant);
		}
		return k;
	}

	void post(int from, bool grant)
	{
		Side &s = side[from];

		side[1 - from].inbound.push_back({ s.credits.credit(), grant });
		s.credits.sent();
	}

	/* A Receive that has completed is free: post it again, or not. */
	static void give_back(Side &s)
	{
		if (s.credits.retire())
			return;
		s.posted++;
		EXPECT_TRUE(s.credits.release(1));
	}

	void resize(int i)
	{
		Side &s = side[i];
		const u32 window = s.windows.front();

		s.windows.erase(s.windows.begin());
		if (window > s.credits.window())
			s.posted += window - s.credits.window();
		s.credits.set_window(window);
	}

	[[nodiscard]] bool finished() const
	{
		return !side[0].todo && !side[1].todo &&
		       side[0].inbound.empty() && side[1].inbound.empty();
	}
};

struct Outcome {
	size_t states = 0;
	bool overrun = false;
	bool deadlock = false;
	bool bounded = true;
};

template <typename Tracker>
Outcome search(const Model<Tracker> &start, size_t max_states,
	       bool hold_receives)
{
	std::set<std::vector<u32>> seen;
	std::deque<Model<Tracker>> open;
	Outcome out;

	const auto reach = [&](const Model<Tracker> &m) {
		if (seen.insert(m.key()).second)
			open.push_back(m);
	};
	reach(start);
	while (!open.empty()) {
		if (seen.size() > max_states) {
			out.bounded = false;
			break;
		}
		/* Breadth first: what is found is found early. */
		const Model<Tracker> m = open.front();
		bool stuck = true;

		open.pop_front();
		for (int i = 0; i < 2; i++) {
			const auto &s = m.side[i];

			if (s.todo && s.credits.may_send()) {
				Model<Tracker> n = m;

				n.side[i].todo--;
				n.post(i, false);
				reach(n);
				stuck = false;
			}
			/* Only when no message can carry the word instead. */
			if (s.credits.grant_due() && s.credits.may_grant() &&
			    !(s.todo && s.credits.may_send())) {
				Model<Tracker> n = m;

				n.post(i, true);
				reach(n);
				stuck = false;
			}
			if (!s.inbound.empty()) {
				Model<Tracker> n = m;
				auto &r = n.side[i];
				const Flying f = r.inbound.front();

				r.inbound.pop_front();
				if (!r.posted--)
					out.overrun = true;
				r.credits.received();
				if (r.credits.overrun(f.grant))
					out.overrun = true;
				r.credits.limit(f.credit);
				if (hold_receives)
					r.held++;
				else
					n.give_back(r);
				if (out.overrun) {
					out.states = seen.size();
					return out;
				}
				reach(n);
				stuck = false;
			}
			if (s.held) {
				Model<Tracker> n = m;

				n.side[i].held--;
				n.give_back(n.side[i]);
				reach(n);
				stuck = false;
			}
			if (!s.windows.empty()) {
				Model<Tracker> n = m;

				n.resize(i);
				reach(n);
				stuck = false;
			}
		}
		if (stuck && !m.finished()) {
			out.deadlock = true;
			break;
		}
	}
	out.states = seen.size();
	return out;
}

void expect_sound(u32 window0, u32 window1, u32 todo0, u32 todo1,
		  bool hold_receives, u32 start = 0)
{
	const Outcome o =
		search(Model<Credits>(window0, window1, todo0, todo1, start),
		       600000, hold_receives);

	EXPECT_FALSE(o.overrun);
	EXPECT_FALSE(o.deadlock);
	EXPECT_TRUE(o.bounded) << "GRANTs for ever, or too large a search";
	::testing::Test::RecordProperty("states", int(o.states));
}

} // namespace

TEST(credits_search, both_ways__windows_3_and_3)
{
	expect_sound(3, 3, 10, 10, false);
}

TEST(credits_search, both_ways__windows_3_and_5)
{
	expect_sound(3, 5, 9, 9, false);
}

TEST(credits_search, both_ways__windows_4_and_4)
{
	expect_sound(4, 4, 8, 8, false);
}

TEST(credits_search, one_way__windows_3_to_6)
{
	for (u32 window = 3; window <= 6; window++) {
		expect_sound(window, 3, 0, 14, false);
		expect_sound(3, window, 14, 0, false);
	}
}

TEST(credits_search, one_way__held_receives)
{
	expect_sound(3, 3, 10, 0, true);
	expect_sound(3, 4, 0, 8, true);
}

TEST(credits_search, both_ways__held_receives)
{
	expect_sound(3, 3, 4, 4, true);
}

TEST(credits_search, both_ways__across_the_wrap)
{
	expect_sound(3, 3, 6, 6, false, UINT32_MAX - 2);
	expect_sound(4, 3, 0, 10, true, UINT32_MAX - 4);
	expect_sound(3, 3, 6, 6, false, 0x7ffffffd);
}

TEST(credits_search, windows__change_at_any_moment_D15)
{
	static const struct {
		u32 window0, window1, todo0, todo1;
		std::vector<u32> windows0, windows1;
		bool held;
		u32 start;
	} rows[] = {
		{ 6, 3, 0, 9, { 3 }, {}, false, 0 },
		{ 6, 3, 0, 9, { 3, 5 }, {}, false, UINT32_MAX - 6 },
		{ 3, 3, 2, 5, { 5, 3 }, {}, false, 0x7ffffffc },
		{ 3, 5, 2, 3, { 4 }, { 3 }, false, 0 },
		{ 5, 3, 0, 5, { 3 }, {}, true, UINT32_MAX - 4 },
		{ 3, 3, 0, 4, { 5, 3 }, {}, true, 0 },
	};

	for (const auto &row : rows) {
		Model<Credits> start(row.window0, row.window1, row.todo0,
				     row.todo1, row.start);

		start.side[0].windows = row.windows0;
		start.side[1].windows = row.windows1;
		const Outcome o = search(start, 300000, row.held);
		EXPECT_FALSE(o.overrun);
		EXPECT_FALSE(o.deadlock);
		EXPECT_TRUE(o.bounded) << row.windows0.size();
		EXPECT_GT(o.states, 100u);
	}
}

TEST(credits_search, tiny_peer__does_not_make_this_side_loop_D3)
{
	/*
	 * A window of one or two is not ours to advertise, and such a peer may
	 * starve; but even one that answers everything with a GRANT draws no
	 * endless GRANTs out of this side: the search ends.
	 */
	for (u32 window : { 1u, 2u })
		for (bool held : { false, true }) {
			Model<AnyPeer> start(4, window, 3, 3, 0);

			start.side[1].credits.eager = true;
			const Outcome o = search(start, 600000, held);

			EXPECT_TRUE(o.bounded);
			EXPECT_FALSE(o.overrun);
		}
}

TEST(credits_search, two_eager_peers__grant_for_ever_D3)
{
	/* What the rule of two messages is there for. */
	Model<AnyPeer> start(2, 2, 1, 1, 0);

	start.side[0].credits.eager = true;
	start.side[1].credits.eager = true;
	EXPECT_FALSE(search(start, 20000, false).bounded);
}

TEST(credits_search, literal_draft__deadlocks_D1)
{
	/* Windows of four, twelve messages one way (D3). */
	const Outcome o =
		search(Model<LiteralCredits>(4, 4, 12, 0, 0), 100000, false);

	EXPECT_TRUE(o.deadlock);
	EXPECT_LT(o.states, 200u);
	EXPECT_FALSE(
		search(Model<Credits>(4, 4, 12, 0, 0), 100000, false).deadlock);
}

TEST(credits_search, sums__wrap_at_2_to_the_32)
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
	c.limit(5);
	EXPECT_EQ(c.available(), 5u - (UINT32_MAX - 2));
	for (int i = 0; i < 8; i++) {
		EXPECT_TRUE(c.may_send());
		c.sent();
	}
	EXPECT_FALSE(c.may_send());
	EXPECT_EQ(c.sent_count(), 5u);
}
