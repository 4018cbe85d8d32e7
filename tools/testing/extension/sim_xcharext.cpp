// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The simulator's part of xcharext. Some ends ask the other for Receives of another size at
 * random, and grow by themselves. Others do what the rule of core/adapt.h advises, and what an
 * administrator wants, as verbs/resize.c does; memory and silence are drawn. All do what they
 * are asked for, one Receive after the other. That no message is larger than the Receive it
 * meets is checked by the fabric ("overrun").
 */
#include "../sim/changes.h"
#include "../sim/checkers.h"
#include "../sim/world.h"
#include "abi.h"
#include "properties.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <utility>

namespace sim::changes
{

using rpcrdma::Xcharext;

namespace
{

constexpr u32 kSend = static_cast<u32>(rpcrdma::Property::SendSize);
constexpr u32 kReceive = static_cast<u32>(rpcrdma::Property::RecvSize);
constexpr u32 kRemote = Xcharext::kRemoteInvalidation;
constexpr u32 kMost = 4096;
/* A seed has few messages, so each counts for many of them. */
constexpr u32 kTimes = 16;

pings::Ledger &ledger(const Conn &c)
{
	return c.link.ends[c.side]->pings;
}

pings::Budget &budget(const Conn &c)
{
	return c.link.pair.pings[c.side];
}

u32 told(const Conn &c, u32 which, bool of_peer)
{
	const u32 i = rpcrdma::property_index(which);
	rpcrdma_numbers n;

	rpcrdma_session_numbers(&c.session, &n);
	return of_peer ? n.peer[i] : n.local[i];
}

struct rpcrdma_xchar_info counts(const Conn &c)
{
	struct rpcrdma_xchar_info i;

	rpcrdma_xchar_info(&c.session, &i);
	return i;
}

bool in_use(const Conn &c)
{
	return rpcrdma::session(&c.session)
		.in_use(rpcrdma::Extensions::place<Xcharext>());
}

pings::Sizes &sizes(const Conn &c)
{
	return ledger(c).sizes;
}

/* This end's Receives as they are at first, and the room of its Sends. */
u32 least_receive(const Conn &c)
{
	const u32 rest = budget(c).rest;

	return rest ? rest : c.config.core.local.recv_size;
}

u32 least_send(const Conn &c)
{
	return c.config.core.send_room;
}

/* Never less than at first: what has no parts could not be sent any more. */
u32 some_size(Conn &c, u32 side)
{
	const u32 rest = c.link.pair.pings[side].rest;

	return (rest ? rest : c.link.pair.config[side].core.local.recv_size) +
	       512 * c.world.schedule.below(5);
}

} // namespace

void configure(Random &r, rpcrdma_config &k, pings::Budget &b)
{
	b.changes = r.once_in(3) ? 0 : r.below(10);
	if (k.role == RPCRDMA_ROLE_SERVER && r.once_in(2))
		b.rest = r.within(RPCRDMA_MIN_RECV_SIZE, k.local.recv_size);
	b.ruled = r.once_in(2);
	if (!b.ruled)
		return;
	/* It is said to be the most that it ever is. */
	k.send_room = k.local.send_size;
	k.local.send_size = kMost;
	b.changes *= 6;
}

void begin(Conn &c)
{
	const u32 rest = budget(c).rest;

	if (!rpcrdma_xchar_begin(&c.session, rest))
		return;
	c.set_receive_size(rest);
	c.world.tally.began_small++;
}

/* Messages in both directions. */
static u32 moved(const Conn &c)
{
	const SessionInfo i = c.info();

	return i.sent + i.received;
}

bool can_act(const Conn &c)
{
	if (!c.open() || !in_use(c))
		return false;
	if (!budget(c).ruled)
		return budget(c).changes;
	const pings::Sizes &s = sizes(c);
	const bool news = s.moved != moved(c);
	/* Whatever is left: what waits to be asked for is asked for. */
	return (s.wish && (news || !s.asked_send)) ||
	       (budget(c).changes && news);
}

/* ------------------------------------------------------------------ */
/* At random                                                          */
/* ------------------------------------------------------------------ */

static void act_at_random(Conn &c)
{
	Random &r = c.world.schedule;

	(void)!rpcrdma_xchar_allow(&c.session, kReceive, 1024, kMost);
	if (r.once_in(4)) {
		sizes(c).goal = some_size(c, c.side);
		return follow(c);
	}
	const rpcrdma_xchar_number wanted[2] = {
		{ kReceive, some_size(c, 1 - c.side) },
		{ kRemote, r.below(2) },
	};
	const u32 first = r.below(2);
	const u32 n = first ? 1 : r.within(1, 2);

	if (rpcrdma_xchar_request(&c.session, wanted + first, n))
		c.pump();
}

/* ------------------------------------------------------------------ */
/* By the rule: resize.c                                              */
/* ------------------------------------------------------------------ */

/* As rpcrdma_resize_allow(). */
static void allow(Conn &c)
{
	const pings::Sizes &s = sizes(c);

	(void)!rpcrdma_xchar_allow(
		&c.session, kReceive, least_receive(c),
		std::clamp(std::min(s.affordable, s.cap), least_receive(c),
			   kMost));
	(void)!rpcrdma_xchar_allow(&c.session, kSend, least_send(c), kMost);
}

/* As rpcrdma_resize_start(). */
void opened(Conn &c)
{
	if (!budget(c).ruled)
		return;
	if (c.world.schedule.once_in(4))
		sizes(c).affordable = least_receive(c);
	allow(c);
}

/* As rpcrdma_resize_needed(). */
static u32 needed(const Conn &c)
{
	const pings::Sizes &s = sizes(c);

	return std::min(told(c, kReceive, false),
			std::max({ s.limit, s.lift, told(c, kSend, true) }));
}

static bool sends_askable(const Conn &c)
{
	return rpcrdma_xchar_askable(&c.session, kSend);
}

/* As rpcrdma_resize_request(). Return: false if it may be asked later. */
static bool request(Conn &c, u32 which, u32 number)
{
	const rpcrdma_xchar_number wanted = { which, number };

	if (!rpcrdma_xchar_request(&c.session, &wanted, 1))
		return !rpcrdma_xchar_askable(&c.session, which);
	(which == kSend ? sizes(c).asked_send : sizes(c).asked_receive) =
		number;
	if (which == kSend && planted(c, Mutant::ShrunkTooSoon))
		sizes(c).limit = number;
	c.pump();
	return true;
}

/* As rpcrdma_resize_settle(). */
static void settle(Conn &c)
{
	Tally &t = c.world.tally;
	pings::Sizes &s = sizes(c);

	if (s.asked_receive && !rpcrdma_xchar_asking(&c.session, kReceive)) {
		const u32 has = told(c, kReceive, true);

		rpcrdma_adapt_answered(&s.rule, has >= s.asked_receive);
		s.kept = has > s.asked_receive;
		s.asked_receive = 0;
	}
	if (!s.asked_send || rpcrdma_xchar_asking(&c.session, kSend))
		return;
	const u32 has = told(c, kSend, true);

	if (has <= s.asked_send && !counts(c).lost) {
		t.ruled[s.lift ? 3 : 2]++;
		s.limit = has;
	} else {
		s.refused = true;
	}
	s.asked_send = 0;
	s.lift = 0;
}

/* As rpcrdma_resize_wish(). */
static void wish(Conn &c)
{
	Random &r = c.world.schedule;
	/* From one end to the other, more often than not. */
	const u32 wish = r.once_in(4) ? r.within(least_receive(c), kMost) :
			 r.once_in(2) ? least_receive(c) :
					kMost;

	if (wish >= told(c, kReceive, false) || sends_askable(c))
		sizes(c).wish = wish;
}

/* As rpcrdma_resize_wishes(). */
static void follow_wish(Conn &c)
{
	pings::Sizes &s = sizes(c);

	if (!s.wish || s.asked_send)
		return;
	const u32 wish = std::exchange(s.wish, 0);
	s.cap = wish;
	if (wish > told(c, kReceive, false))
		s.goal = wish;
	if (wish > s.limit) {
		s.lift = wish;
	} else if (wish < needed(c) &&
		   (c.world.schedule.once_in(4) || !request(c, kSend, wish))) {
		/* It is as if too many messages waited. */
		s.wish = wish;
		c.world.tally.wishes_kept++;
	}
}

/* As rpcrdma_resize_lift(). */
static void lift(Conn &c)
{
	pings::Sizes &s = sizes(c);

	if (!s.goal)
		s.lift = std::min(s.lift, told(c, kReceive, false));
	if (s.lift <= told(c, kSend, true) || !sends_askable(c)) {
		s.lift = 0;
		return;
	}
	if (c.smallest_receive() < s.lift && !planted(c, Mutant::LiftedTooSoon))
		return;
	s.limit = s.lift;
	(void)request(c, kSend, s.lift);
}

/* What it says makes sense. */
static void check_advice(const Conn &c, const rpcrdma_adapt_input &in,
			 const rpcrdma_adapt_advice &a)
{
	if (a.local_receive < least_receive(c) || a.local_receive > kMost ||
	    (in.scarce && !a.small_sends) ||
	    (a.peer_send &&
	     (a.peer_send < least_receive(c) || a.peer_send == in.peer_send ||
	      a.peer_send > in.local_receive)) ||
	    a.peer_receive > kMost)
		fail("changes",
		     "%s is advised to have Receives of %u, to ask for %u and "
		     "for Sends of %u",
		     c.link.name(c.side), a.local_receive, a.peer_receive,
		     a.peer_send);
}

/* As rpcrdma_resize_advise(). */
static void advise(Conn &c)
{
	Random &r = c.world.schedule;
	pings::Sizes &s = sizes(c);
	const bool idle = r.once_in(6);
	const u32 has = told(c, kReceive, true);
	const u32 receives = c.config.core.window + 1;
	rpcrdma_adapt_input in = {};
	rpcrdma_adapt_advice a;

	in.messages = s.messages;
	in.continued = s.continued;
	in.parts = s.parts;
	in.idle = idle ? RPCRDMA_ADAPT_IDLE_MS : 0;
	in.peer_receive = idle ? has : c.info().max_send;
	in.peer_send = told(c, kSend, true);
	in.local_receive = told(c, kReceive, false);
	in.local_send = told(c, kSend, false);
	in.receives = receives;
	if (r.once_in(4))
		s.memory = r.once_in(2) ? kMost : r.below(kMost);
	in.scarce = s.memory < RPCRDMA_MIN_RECV_SIZE;
	in.budget = u64{ receives } * s.memory;
	in.now = s.now += 1000;
	in.asked_receive = s.asked_receive != 0;
	in.asked_send = s.asked_send || !sends_askable(c);
	rpcrdma_adapt_advise(&s.rule, &in, &a);
	check_advice(c, in, a);
	s.affordable = a.local_receive;
	s.small_sends = a.small_sends;
	c.world.tally.own_sends_small +=
		in.scarce && s.wanted_send > least_send(c);

	if (a.peer_send > in.peer_send)
		s.lift = std::min(a.peer_send, s.cap);
	else if (a.peer_send && (!s.refused || r.once_in(4)))
		(void)request(c, kSend, a.peer_send);
	if (idle)
		s.wanted_send = least_send(c);
	if (!a.peer_receive || (idle && s.kept))
		return;
	c.world.tally.ruled[idle ? 1 : 0]++;
	if (!idle) {
		s.wanted_send = a.peer_receive;
		s.kept = false;
	}
	if (idle || a.peer_receive > has)
		(void)request(c, kReceive, a.peer_receive);
}

/* As rpcrdma_resize(). @more: not only what has to be. */
static void act_by_rule(Conn &c, bool more)
{
	pings::Sizes &s = sizes(c);

	s.moved = moved(c);
	if (!s.begun) {
		s.begun = true;
		s.wanted_send = least_send(c);
		c.world.tally.asked_early += counts(c).deferred;
		rpcrdma_adapt_init(&s.rule,
				   std::max<u32>(told(c, kReceive, true),
						 RPCRDMA_MIN_RECV_SIZE),
				   least_receive(c), kMost);
	}
	settle(c);
	if (more && c.world.schedule.once_in(3))
		wish(c);
	follow_wish(c);
	if (!more)
		return;
	if (s.lift && !s.asked_send)
		lift(c);
	advise(c);
	if (!c.open())
		return;
	allow(c);
	follow(c);
}

/* ------------------------------------------------------------------ */
/* Both                                                               */
/* ------------------------------------------------------------------ */

void act(Conn &c)
{
	const bool more = budget(c).changes;

	if (more)
		budget(c).changes--;
	(void)!rpcrdma_xchar_allow(&c.session, kRemote, 0, 1);
	if (budget(c).ruled)
		return act_by_rule(c, more);
	act_at_random(c);
}

/* As rpcrdma_resize_receives(). */
static void follow_receives(Conn &c)
{
	const u32 now = told(c, kReceive, false);
	pings::Sizes &s = sizes(c);
	const u32 number =
		std::max(rpcrdma_xchar_wanted(&c.session, kReceive), s.goal);
	const u32 size = std::max(number > now ? number : 0, needed(c));

	if (number <= now) {
		s.goal = 0;
		c.world.tally.shrunk += c.receive_size() > size;
		return c.set_receive_size(size);
	}
	c.set_receive_size(size);
	if (c.smallest_receive() < size &&
	    c.world.options.mutant != Mutant::GrownTooSoon)
		return;
	if (!rpcrdma_xchar_changed(&c.session, kReceive, number))
		return;
	c.world.tally.grown++;
	if (s.goal <= number)
		s.goal = 0;
	c.pump();
}

/* As rpcrdma_resize_sends(), with buffers that are there. */
static void follow_sends(Conn &c)
{
	const pings::Sizes &s = sizes(c);
	const u32 wanted = rpcrdma_xchar_wanted(&c.session, kSend);

	if (!budget(c).ruled || !s.begun)
		return;
	if (wanted && rpcrdma_xchar_changed(&c.session, kSend, wanted))
		c.pump();
	const u32 pays = s.small_sends ? least_send(c) : s.wanted_send;
	const u32 size = std::min(
		{ pays, told(c, kReceive, true), told(c, kSend, false) });
	rpcrdma_session_send_room(&c.session, std::max(size, least_send(c)));
}

void follow(Conn &c)
{
	if (!c.open() || !in_use(c))
		return;
	follow_receives(c);
	if (c.open())
		follow_sends(c);
}

void wrote(Conn &c, const rpcrdma_tx &tx)
{
	const bool whole = tx.htype == RPCRDMA2_CALL_INLINE ||
			   tx.htype == RPCRDMA2_REPLY_INLINE;
	const bool middle = tx.htype == RPCRDMA2_CALL_MIDDLE ||
			    tx.htype == RPCRDMA2_REPLY_MIDDLE;
	const bool continued = tx.last && !tx.first;
	pings::Sizes &s = sizes(c);

	if (c.info().version != 2)
		return;
	s.messages += whole ? kTimes : 0;
	s.continued += continued ? kTimes : 0;
	s.parts += continued || middle ? kTimes : 0;
}

void sent(Conn &c, rpcrdma_tx &tx, u8 *buffer)
{
	if (c.world.options.mutant != Mutant::ChangeUntold)
		return;
	rpcrdma::store_be32(buffer, 0);
	rpcrdma::store_be32(buffer + 12, RPCRDMA2_GRANT);
	tx.htype = RPCRDMA2_GRANT;
	tx.xid = 0;
	tx.header_length = rpcrdma::kPrefixSize;
}

void quiet(const Link &l, u32 side)
{
	const Conn &c = l.ends[side]->conn;
	const Conn &other = l.ends[1 - side]->conn;
	const struct rpcrdma_xchar_info n = counts(c);

	if (n.asked != n.done + n.rejected + n.pended || n.lost)
		fail("changes",
		     "%s: %u asked for, %u done, %u rejected, %u pending, "
		     "%u lost",
		     l.name(side), n.asked, n.done, n.rejected, n.pended,
		     n.lost);
	if (sizes(c).wish && !sizes(c).asked_send)
		fail("changes", "%s wants Receives of %u and does not ask",
		     l.name(side), sizes(c).wish);
	for (const u32 which : { kSend, kReceive, kRemote }) {
		const u32 says = told(other, which, false);
		const u32 heard = told(c, which, true);

		if (says != heard)
			fail("changes",
			     "%s has %u of property %#x, %s knows %u",
			     l.name(1 - side), says, which, l.name(side),
			     heard);
	}
	const u32 waits = rpcrdma_xchar_wanted(&other.session, kReceive);
	const bool pending = rpcrdma_xchar_asking(&c.session, kReceive) ==
			     RPCRDMA_XCHAR_PENDING;

	if (pending != (waits != 0))
		fail("changes", "%s waits for Receives of %u, %s does %s",
		     l.name(side), waits, l.name(1 - side),
		     pending ? "not know" : "not wait");
}

void count(const Conn &c, Tally &t)
{
	const struct rpcrdma_xchar_info n = counts(c);

	t.changes[0] += n.done;
	t.changes[1] += n.rejected;
	t.changes[2] += n.pended;
	t.changes[3] += n.cleared;
}

void print(const Tally &t)
{
	std::printf("# changes asked for: done %" PRIu64 ", rejected %" PRIu64
		    ", pending %" PRIu64 ", of these in the end %" PRIu64 "\n",
		    t.changes[0], t.changes[1], t.changes[2], t.changes[3]);
	std::printf("# by the rule: larger Receives %" PRIu64
		    ", smaller %" PRIu64 ", smaller Sends %" PRIu64
		    ", larger %" PRIu64 ", own Sends made small %" PRIu64 "\n",
		    t.ruled[0], t.ruled[1], t.ruled[2], t.ruled[3],
		    t.own_sends_small);
	std::printf("# what waited until it could be asked for: %" PRIu64 "\n",
		    t.wishes_kept);
	std::printf("# Receives that grew %" PRIu64 ", and shrank %" PRIu64
		    "\n",
		    t.grown, t.shrunk);
	std::printf("# asked for before the rule was followed: %" PRIu64 "\n",
		    t.asked_early);
	std::printf("# servers that began with small Receives %" PRIu64
		    ", that made Receives late %" PRIu64 "\n",
		    t.began_small, t.began_late);
}

bool reaches(const Tally &t)
{
	for (const u64 n : t.changes)
		if (!n)
			return false;
	for (const u64 n : t.ruled)
		if (!n)
			return false;
	return t.own_sends_small && t.wishes_kept && t.grown && t.shrunk &&
	       t.asked_early && t.began_small && t.began_late;
}

} // namespace sim::changes
