// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The ring of a connection's Sends, as core/ring.h has it, with what ring.c, pump.c, send.c and
 * sent.c do around it between two places where they leave the lock, and every interleaving.
 * What is decided is the core's; who carries it out is a model of that C code.
 *
 * A ring has four or eight Sends, of which one in each quarter is signaled. One step is: a message
 * of some Sends is queued; the pump decides on what can go now, up to a quarter of the ring, and
 * leaves the lock to build it; it posts that, and goes on; the oldest signaled Send completes,
 * with all before it; the peer gives no more credit, or does; the work item looks, makes a buffer
 * or is refused the memory, installs it, or takes one away; its timer is over; a refusal is long
 * ago. With Rules::resizes another work item gives Sends buffers of another size: it fills the
 * ring, makes a buffer for a Send that is not in use, or is refused the memory, and installs it
 * if the Send still is not. With Rules::groups a message does not begin before there is room for
 * all of it. If no buffers can be made for that, it goes otherwise, each Send when there is room.
 *
 * With Rules::asks messages are a client's Calls. A task asks for room, and its Call is queued, or
 * sunrpc keeps it and all behind it. When the pump ends it looks whether there is room; then it
 * leaves the lock and tells sunrpc, and a task asks again. Work Requests may have to go in front of
 * a Call's first Send, and then the send queue's budget is short. At any moment a task is killed
 * whose Call sunrpc keeps or whose Call waits in the queue, and with Rules::others a message comes
 * that does not ask, and that goes before Calls which have not begun.
 *
 * In each state:
 * - what is decided on has a buffer, which is large enough, and which nobody else uses; and no
 *   buffer is freed, or goes to another Send, while its Send is under way;
 * - the bare Sends are the next ones, and as many as are counted;
 * - if nothing can happen but what the upper layer, the peer and time do, no message waits; so
 *   none waits for memory or for a timer;
 * - if a message waits that has room, somebody is about to run the pump;
 * - if one waits since there are too few buffers, somebody is about to make some, or was refused
 *   the memory. What was refused is tried once more at most before that is long ago;
 * - a Call that was taken begins when the pump comes to it, unless a message has its room that has
 *   not asked, or a buffer was taken away meanwhile;
 * - if sunrpc keeps Calls, and there is room for the one that has asked, somebody is about to say
 *   so, and then only; and if nothing can happen but what was said above sunrpc keeps none;
 * - when nothing is to be done there are no more buffers than at rest, or somebody is to look;
 * - what goes on without the upper layer and the peer does end, also if time passes each time.
 */
#include "ring.h"
#include "states.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <deque>
#include <utility>

namespace
{

using rpcrdma::ring::Claim;
using rpcrdma::ring::first_bare;
using rpcrdma::ring::Pace;
using rpcrdma::ring::Ring;
using rpcrdma::ring::Supply;
using states::Edge;

constexpr u32 kMostSends = 8;
/* One more than a test has, for the Call that sunrpc keeps. */
constexpr u32 kQueue = 3;
constexpr Pace kSmall = { 1, 6, 1 };

/* Of a Send. Sizes of buffers are one and two; zero: it is bare. */
struct Slot {
	enum Use : u8 { Free, Decided, Posted };

	u8 size = 0;
	Use use = Free;
	u8 chain = 0; /* Work Requests in front of it */
	bool signaled = false;
};

struct Message {
	u8 parts = 0; /* that are still to go */
	bool begun = false;
	u8 chain = 0; /* Work Requests in front of the first */
	bool taken = false; /* there was room when it asked */
};

/* What a work item is at. */
struct Worker {
	enum At : u8 {
		Idle,
		Fill, /* all Sends are to have a buffer */
		Made, /* it has one in its hand for that */
		Rest, /* takes buffers away */
		Renew, /* gives Sends buffers of another size */
		Remade, /* it has one in its hand for Send number @place */
	};

	At at = Idle;
	bool changed = false; /* it has made some */
	u8 place = 0;

	[[nodiscard]] bool fills() const
	{
		return at == Fill || at == Made;
	}
};

using Key = states::Key<32>;

struct Model {
	Ring ring = {};
	Slot slots[kMostSends];
	Message queue[kQueue];
	u8 n_queue = 0;
	bool building = false;
	bool again = false;
	bool more = false;
	bool closed = false; /* the peer gives no credit */
	bool kick = false; /* the work item is to run, */
	bool timer = false; /* or to run later */
	u8 failed = 0; /* the code knows of that: one, a moment ago; two, long ago */
	bool lacking = false; /* memory was refused the last time, */
	u8 tries = 0; /* a moment ago, and it was tried so many times since */
	Worker worker;
	Worker resizer;
	u8 size = 1; /* of Sends */
	u8 wanted = 1; /* what that is to be */
	bool left = false; /* some have another size */
	u32 depth = 0; /* of the send queue, */
	u32 avail = 0; /* and what is left of it */
	Message kept; /* by sunrpc, which has asked for it */
	bool full = false; /* sunrpc keeps its Calls, */
	bool filling = false; /* or is about to: a planted bug */
	bool telling = false; /* sunrpc is about to be told of room */
	bool fewer = false; /* buffers have been taken away since a Call asked */

	[[nodiscard]] Slot &at(u32 i)
	{
		return slots[i & (ring.sends - 1)];
	}
	[[nodiscard]] const Slot &at(u32 i) const
	{
		return slots[i & (ring.sends - 1)];
	}
	[[nodiscard]] bool early() const
	{
		return at(ring.head).size;
	}
	/* @whole: where the ring begins makes a difference */
	[[nodiscard]] Key key(bool whole) const
	{
		const u32 period = whole ? ring.sends : ring.sends / 4;
		const u32 moved = ring.head - ring.moved;
		Key k = {};
		u32 n = 0;
		const auto put = [&](u32 v) {
			k.at(n++) = static_cast<u8>(v);
		};
		const auto place = [&](const Worker &w) {
			put(((w.place - ring.head) & (ring.sends - 1)) << 4 |
			    w.at << 1 | w.changed);
		};

		const auto message = [&](const Message &x) {
			put(x.parts << 4 | x.chain << 2 | x.taken << 1 | x.begun);
		};

		for (u32 i = 0; i < ring.sends; i++) {
			const Slot &s = at(ring.head + i);

			put(s.signaled << 6 | s.chain << 4 | s.size << 2 | s.use);
		}
		put((ring.head & (period - 1)) << 4 | ring.bare);
		put((ring.head - ring.tail) << 4 |
		    (moved > kSmall.busy ? kSmall.busy + 1 : moved));
		put(ring.wanted << 7 | building << 6 | again << 5 | more << 4 |
		    closed << 3 | kick << 2 | timer << 1 | left);
		put(failed << 6 | tries << 4 | size << 2 | wanted);
		put(lacking);
		place(worker);
		place(resizer);
		message(kept);
		put(ring.asked.sends << 4 | ring.asked.chain << 2);
		put(fewer << 3 | full << 2 | filling << 1 | telling);
		for (u32 i = 0; i < n_queue; i++)
			message(queue[i]);
		return k;
	}
};

/* What must be found. */
enum class Mistake : u8 {
	None,
	RoomAny, /* bare Sends count as room */
	NoTurn, /* the next Send does not take a buffer when its turn comes */
	Unasked, /* nor does anybody make more of them */
	GrowFirst, /* a new buffer goes to the first bare Send */
	GrowStale, /* where it goes is found out before it is made */
	EarlyForgotten, /* the next Send may have a buffer, and nobody looks */
	ShrinkAny, /* buffers are taken away, whatever is under way */
	ShrinkStale, /* which one is found out before the lock is left */
	SignalOne, /* one Send of the whole ring is signaled */
	CompletedSilent, /* Sends complete, and the pump does not run */
	FillSilent, /* buffers are made, and the pump does not run */
	NotAgain, /* and nobody is to look again */
	WantedKept, /* who looks does not note that */
	RefusalForgotten, /* nor that there was no memory */
	NeverFree, /* a ring that is quiet is looked at again and again */
	RenewBlind, /* a buffer is replaced, whether its Send is under way by now or not */
	LargeEarly, /* Sends get large before all buffers are */
	SmallLate, /* or small after some buffers are */
	AskedForgotten, /* a Call finds no room, and nobody notes it */
	FullLate, /* sunrpc keeps its Calls only after the lock was left */
	RoomUntold, /* when the pump ends it does not look for room */
	ToldAlways, /* nor whether there is any */
	CancelUntold, /* a Call that was taken is given up, and the pump does not run */
	PromisedForgotten, /* what Calls take that wait for the pump is not counted, */
	ChainForgotten, /* nor what goes in front of them */
	AllOrNothing, /* a Call waits for room for all of it, whatever there can be */
	BudgetWhole, /* likewise for all of the send queue */
	KeptUnasked, /* a Call waits for room, and nobody makes buffers */
	GroupWaits, /* what needs room at once waits, whatever there is */
	GroupUnasked, /* nobody makes buffers for it */
	RefusedSilent, /* memory is refused, and the pump does not run */
};

struct Rules {
	u32 sends = 8;
	u32 rest = 4;
	u32 parts = 3; /* Sends of a message at most */
	u32 messages = 1; /* that wait at most */
	bool groups = false;
	bool resizes = false;
	bool closes = true; /* the peer takes its time with credit */
	bool asks = false; /* Calls, which sunrpc keeps */
	bool others = false; /* and messages that do not ask */
	u32 chain = 0; /* Work Requests in front of a Call at most */
	u32 depth = 64; /* of the send queue */
	Mistake mistake = Mistake::None;
	u32 max_states = 4000000;
};

struct Outcome {
	size_t states = 0;
	size_t lacking = 0; /* in which a message waits for buffers, or for room */
	size_t full = 0; /* in which all Sends have a buffer */
	size_t waiting = 0; /* in which sunrpc keeps Calls */
	size_t otherwise = 0; /* steps in which a message does not wait for room for all of it */
	bool complete = true;
	bool bare = false; /* one is decided on that has none, or a small one */
	bool in_use = false; /* one is taken away whose Send is under way */
	bool unsound = false; /* other Sends are bare than those that should be */
	bool stuck = false;
	bool late = false; /* a message waits that could go */
	bool unasked = false; /* one waits for buffers, and nobody makes any */
	bool below = false; /* a Call was taken that cannot begin */
	bool untrue = false; /* sunrpc is told of room, and there is none */
	bool hasty = false; /* what was refused is tried at once, again and again */
	bool kept = false; /* buffers that nobody takes away */
	bool endless = false;

	[[nodiscard]] bool sound() const
	{
		return !bare && !in_use && !unsound && !stuck && !late &&
		       !unasked && !below && !untrue && !hasty && !kept && !endless;
	}
};

class Search {
public:
	explicit Search(const Rules &rules)
		: rules_(rules)
	{
		Model m = {};

		m.ring.sends = rules.sends;
		m.ring.rest = rules.rest;
		m.ring.bare = rules.sends - rules.rest;
		m.depth = m.avail = rules.depth;
		for (u32 i = m.ring.bare; i < rules.sends; i++)
			m.slots[i].size = 1;
		reach(m);
		while (!open_.empty() && out_.sound()) {
			if (seen_.size() > rules_.max_states) {
				out_.complete = false;
				break;
			}
			const Model from = open_.front();

			open_.pop_front();
			expand(from);
			from_++;
		}
		out_.states = seen_.size();
		if (out_.sound() && !rules_.resizes)
			out_.endless = states::cyclic(seen_.size(), edges_);
	}
	[[nodiscard]] const Outcome &outcome() const
	{
		return out_;
	}

private:
	[[nodiscard]] bool planted(Mistake mistake) const
	{
		return rules_.mistake == mistake;
	}
	u32 reach(const Model &m)
	{
		const auto [number, fresh] =
			seen_.add(m.key(planted(Mistake::SignalOne)));

		if (fresh)
			open_.push_back(m);
		return number;
	}
	/* The upper layer has no part in it, nor the peer. */
	void goes_on(const Model &m)
	{
		const u32 to = reach(m);

		if (!rules_.resizes)
			edges_.push_back({ from_, to });
		any_ = true;
	}

	/* A buffer leaves its Send. */
	u8 take(Slot &s)
	{
		out_.in_use |= s.use != Slot::Free;
		out_.unsound |= !s.size;
		return std::exchange(s.size, u8{ 0 });
	}

	/* ---------------------------------------------------------------- */
	/* pump.c, send.c, sent.c                                           */
	/* ---------------------------------------------------------------- */

	[[nodiscard]] u32 room(const Model &m) const
	{
		if (planted(Mistake::RoomAny))
			return m.ring.sends - (m.ring.head - m.ring.tail);
		return rpcrdma_ring_room(&m.ring);
	}
	/* The first message can go, if there is credit. */
	[[nodiscard]] bool fits(const Model &m) const
	{
		const Message &first = m.queue[0];
		const bool whole = rules_.groups && !first.begun;
		const u32 sends = whole ? first.parts : 1U;
		const u32 chain = first.begun ? 0 : first.chain;

		return room(m) >= sends && m.avail >= sends + chain;
	}
	/* As rpcrdma_send_awaits(). */
	bool awaits(Model &m) const
	{
		bool look;
		const bool waits = rpcrdma::ring::awaits(
			m.ring, m.queue[0].parts, m.failed != 1, look);

		if (look && !planted(Mistake::GroupUnasked)) {
			m.kick = true;
			m.timer = false;
		}
		return waits || planted(Mistake::GroupWaits);
	}
	/* It can go so, or otherwise. */
	[[nodiscard]] bool may_go(Model m) const
	{
		const bool whole = rules_.groups && !m.queue[0].begun;

		return fits(m) || (whole && room(m) && !awaits(m));
	}
	/* As rpcrdma_send_signaled(). */
	[[nodiscard]] bool signals(const Model &m, u32 i) const
	{
		if (planted(Mistake::SignalOne))
			return !(i & (m.ring.sends - 1));
		return rpcrdma_ring_signals(&m.ring, i) || m.avail < m.depth / 2;
	}
	/* As rpcrdma_send_supply(). */
	[[nodiscard]] Supply supply(const Model &m) const
	{
		Supply s = { m.depth, m.avail, 0, 0 };

		for (u32 i = 0; i < m.n_queue; i++) {
			const Message &x = m.queue[i];

			if (x.taken && !planted(Mistake::PromisedForgotten))
				s.sends += x.parts;
			if (!x.begun && !planted(Mistake::ChainForgotten))
				s.chain += x.chain;
		}
		return s;
	}
	[[nodiscard]] bool has_room(const Model &m, const Claim &c) const
	{
		const Supply s = supply(m);

		if (planted(Mistake::AllOrNothing))
			return s.sends + c.sends <= room(m);
		if (planted(Mistake::BudgetWhole) &&
		    s.sends + c.sends + s.chain + c.chain > s.avail)
			return false;
		return rpcrdma_ring_fits(&m.ring, &s, &c);
	}
	/* The end of rpcrdma_pump(). */
	void look_for_room(Model &m)
	{
		if (!m.ring.asked.sends || planted(Mistake::RoomUntold))
			return;
		if (!planted(Mistake::ToldAlways) && !has_room(m, m.ring.asked))
			return;
		out_.untrue |= !has_room(m, m.ring.asked);
		m.ring.asked = {};
		m.telling = true;
	}

	/* A task asks for room, as rpcrdma_conn_send_planned(). */
	void ask(Model &m, const Message &call)
	{
		const Claim c = { call.parts, call.chain };

		m.kept = {};
		m.fewer &= m.n_queue != 0;
		if (has_room(m, c)) {
			Message &last = m.queue[m.n_queue++];

			last = call;
			last.taken = true;
			return pump(m);
		}
		m.kept = call;
		const bool kick = rpcrdma::ring::ask(m.ring, m.failed != 1, c);

		if (kick && !planted(Mistake::KeptUnasked)) {
			m.kick = true;
			m.timer = false;
		}
		if (planted(Mistake::AskedForgotten))
			m.ring.asked = {};
		m.filling = planted(Mistake::FullLate);
		m.full = !m.filling;
	}
	/* sunrpc: it hears of room, and a task asks again. */
	void sunrpc(const Model &from)
	{
		if (from.filling) {
			Model m = from;

			m.filling = false;
			m.full = true;
			goes_on(m);
		}
		if (from.telling) {
			Model m = from;

			m.telling = false;
			m.full = false;
			goes_on(m);
		}
		if (from.kept.parts && !from.full && !from.filling) {
			Model m = from;
			const Message call = m.kept;

			ask(m, call);
			goes_on(m);
		}
	}

	/* As rpcrdma_send_turn(). */
	void turn(Model &m)
	{
		u32 from;

		if (rpcrdma::ring::turn(m.ring, m.failed != 1, from, kSmall) &&
		    !planted(Mistake::Unasked)) {
			m.kick = true;
			m.timer = false;
		}
		if (!m.early() && !planted(Mistake::NoTurn)) {
			const u8 size = take(m.at(from));

			m.at(m.ring.head).size = size;
		}
	}
	/* As rpcrdma_pump_decide(). */
	bool decide(Model &m)
	{
		if (!m.n_queue || !room(m))
			return false;
		if (m.ring.bare)
			turn(m);
		if (m.closed)
			return false;
		if (!fits(m)) {
			if (m.queue[0].begun || awaits(m))
				return false;
			m.queue[0].begun = true;
			out_.otherwise++;
		}

		Slot &s = m.at(m.ring.head);
		Message &first = m.queue[0];

		out_.bare |= s.size < m.size || s.use != Slot::Free;
		const u32 number = m.ring.head++;

		s.use = Slot::Decided;
		s.chain = first.begun ? 0 : first.chain;
		m.avail -= 1U + s.chain;
		s.signaled = signals(m, number);
		first.begun = true;
		first.parts--;
		if (!first.parts)
			leaves(m, 0);
		return true;
	}
	static void leaves(Model &m, u32 i)
	{
		for (m.n_queue--; i < m.n_queue; i++)
			m.queue[i] = m.queue[i + 1];
		m.queue[i] = {};
	}
	/* As rpcrdma_pump(), up to where it leaves the lock. */
	void pump_on(Model &m, bool more)
	{
		while (more || m.again) {
			const u32 end = m.ring.head + m.ring.sends / 4;

			if (!more)
				m.again = false;
			const u32 begin = m.ring.head;
			do {
				more = decide(m) && m.n_queue;
			} while (more && m.ring.head != end);
			m.more = more;
			m.building = m.ring.head != begin;
			if (m.building)
				return;
		}
		m.building = false;
		m.more = false;
		look_for_room(m);
	}
	void pump(Model &m)
	{
		m.again = true;
		if (!m.building)
			pump_on(m, false);
	}
	void built(const Model &from)
	{
		Model m = from;

		if (!m.building)
			return;
		for (u32 i = m.ring.tail; i != m.ring.head; i++)
			m.at(i).use = Slot::Posted;
		m.building = false;
		pump_on(m, m.more);
		goes_on(m);
	}
	/* Something completes, and then the pump runs. */
	[[nodiscard]] bool completes(const Model &m) const
	{
		for (u32 i = m.ring.tail; i != m.ring.head; i++)
			if (m.at(i).signaled)
				return true;
		return false;
	}
	/* As rpcrdma_send_done(). */
	void completed(const Model &from)
	{
		Model m = from;
		u32 i = m.ring.tail;

		while (i != m.ring.head && !m.at(i).signaled)
			i++;
		if (i == m.ring.head || m.at(i).use != Slot::Posted)
			return;
		for (; m.ring.tail != i + 1; m.ring.tail++) {
			Slot &s = m.at(m.ring.tail);

			m.avail += 1U + s.chain;
			s = { s.size };
		}
		if (!planted(Mistake::CompletedSilent))
			pump(m);
		goes_on(m);
	}

	/* ---------------------------------------------------------------- */
	/* ring.c                                                           */
	/* ---------------------------------------------------------------- */

	void again(Model &m)
	{
		if (!m.kick && !planted(Mistake::NotAgain))
			m.timer = true;
	}
	/* A buffer is made, or cannot be. Return: false if none is needed. */
	bool make(const Model &from, Worker Model::*who)
	{
		Model m = from;
		Worker &w = m.*who;

		if (!m.ring.bare)
			return false;
		w.at = Worker::Made;
		if (planted(Mistake::GrowStale))
			w.place = static_cast<u8>(first_bare(m.ring, m.early()) +
						  m.ring.bare - 1) &
				  (m.ring.sends - 1);
		goes_on(m);
		return true;
	}
	void install(const Model &from, Worker Model::*who)
	{
		Model m = from;
		Worker &w = m.*who;
		const bool early =
			m.early() && !planted(Mistake::EarlyForgotten);
		const u32 first = first_bare(m.ring, early);
		u32 to = rpcrdma::ring::grow(m.ring, early);

		if (planted(Mistake::GrowFirst))
			to = first;
		if (planted(Mistake::GrowStale))
			to = w.place;
		out_.unsound |= m.at(to).size != 0;
		m.at(to).size = m.size;
		w.at = Worker::Fill;
		w.changed = true;
		w.place = 0;
		goes_on(m);
	}
	/* As the end of rpcrdma_ring_fill(). */
	void filled(Model &m, Worker Model::*who, bool refused)
	{
		Worker &w = m.*who;

		if (!refused || !planted(Mistake::RefusalForgotten))
			m.failed = refused;
		/* Whatever the code knows. */
		m.lacking = refused;
		if (!refused)
			m.tries = 0;
		else if (!m.tries)
			m.tries = 1;
		if ((w.changed && !planted(Mistake::FillSilent)) ||
		    (refused && !planted(Mistake::RefusedSilent)))
			pump(m);
		again(m);
		w = {};
	}
	void look(const Model &from)
	{
		Model m = from;
		Worker &w = m.worker;

		m.kick = false;
		m.timer = false;
		const bool wanted = m.ring.wanted;
		const u32 verdict = rpcrdma::ring::look(m.ring, kSmall);

		if (planted(Mistake::WantedKept))
			m.ring.wanted = wanted;
		if (verdict == RPCRDMA_RING_FILL && m.ring.bare) {
			w.at = Worker::Fill;
			/* Memory was refused a moment ago. */
			if (m.tries && ++m.tries > 2)
				out_.hasty = true;
		} else if (verdict == RPCRDMA_RING_FREE &&
			   !planted(Mistake::NeverFree)) {
			w.at = Worker::Rest;
		} else {
			again(m);
		}
		goes_on(m);
	}
	/* As rpcrdma_ring_less(). */
	void less(const Model &from)
	{
		Model m = from;
		Worker &w = m.worker;
		const bool early =
			m.early() && !planted(Mistake::EarlyForgotten);
		const u32 behind = first_bare(m.ring, early) + m.ring.bare;
		u32 which = 0;
		bool any;

		if (planted(Mistake::ShrinkAny)) {
			any = !rpcrdma::ring::rests(m.ring);
			which = behind;
			m.ring.bare += any;
		} else if (planted(Mistake::ShrinkStale) && !w.changed) {
			w.changed = true;
			w.place = behind & (m.ring.sends - 1);
			return goes_on(m);
		} else {
			any = rpcrdma::ring::shrink(m.ring, early, which, kSmall);
		}
		if (planted(Mistake::ShrinkStale)) {
			which = w.place;
			w.changed = false;
		}
		if (any) {
			(void)take(m.at(which));
			m.fewer = rules_.asks && (m.full || m.n_queue);
		} else {
			if (!rpcrdma::ring::rests(m.ring))
				again(m);
			w = {};
		}
		goes_on(m);
	}
	/* Both work items hold the mutex. */
	void refuse(const Model &from, Worker Model::*who)
	{
		Model m = from;
		const bool resizes = who == &Model::resizer;

		filled(m, who, true);
		if (resizes)
			m.wanted = m.size;
		goes_on(m);
	}
	void work(const Model &from)
	{
		switch (from.worker.at) {
		case Worker::Idle:
			if (from.kick && from.resizer.at == Worker::Idle)
				look(from);
			break;
		case Worker::Fill:
			if (make(from, &Model::worker)) {
				refuse(from, &Model::worker);
			} else {
				Model m = from;

				filled(m, &Model::worker, false);
				goes_on(m);
			}
			break;
		case Worker::Made:
			install(from, &Model::worker);
			break;
		default:
			less(from);
		}
	}

	/* ---------------------------------------------------------------- */
	/* resize.c                                                         */
	/* ---------------------------------------------------------------- */

	[[nodiscard]] static u32 others(const Model &m)
	{
		u32 n = 0;

		for (u32 i = 0; i < m.ring.sends; i++)
			n += m.slots[i].size && m.slots[i].size != m.wanted;
		return n;
	}
	void begin_resize(const Model &from)
	{
		Model m = from;

		if (m.worker.at != Worker::Idle ||
		    (m.wanted == m.size && !others(m)))
			return;
		m.left = false;
		if (m.wanted < m.size && !planted(Mistake::SmallLate))
			m.size = m.wanted;
		m.resizer.at = m.wanted > m.size && m.ring.bare ? Worker::Fill :
								  Worker::Renew;
		goes_on(m);
	}
	/* One buffer after the other, in any order. */
	void renew(const Model &from)
	{
		for (u32 i = 0; i < from.ring.sends; i++) {
			Model m = from;

			if (!rpcrdma::ring::unused(m.ring, i) ||
			    !m.slots[i].size || m.slots[i].size == m.wanted)
				continue;
			m.resizer.at = Worker::Remade;
			m.resizer.place = static_cast<u8>(i);
			goes_on(m);
		}
		/* Those that are in use are left out, or there is no memory. */
		Model m = from;

		m.left = others(m);
		if (!m.left || planted(Mistake::LargeEarly))
			m.size = m.wanted;
		m.resizer = {};
		goes_on(m);
	}
	void remade(const Model &from)
	{
		Model m = from;
		const u32 i = m.resizer.place;
		Slot &s = m.slots[i];
		const bool blind = planted(Mistake::RenewBlind);

		if (s.size && (blind || rpcrdma::ring::unused(m.ring, i))) {
			(void)take(s);
			s.size = m.wanted;
		}
		m.resizer = { Worker::Renew };
		goes_on(m);
	}
	void resize(const Model &from)
	{
		switch (from.resizer.at) {
		case Worker::Idle:
			begin_resize(from);
			break;
		case Worker::Fill:
			if (make(from, &Model::resizer)) {
				refuse(from, &Model::resizer);
			} else {
				Model m = from;

				filled(m, &Model::resizer, false);
				m.resizer.at = Worker::Renew;
				goes_on(m);
			}
			break;
		case Worker::Made:
			install(from, &Model::resizer);
			break;
		case Worker::Remade:
			remade(from);
			break;
		default:
			renew(from);
		}
	}

	/* ---------------------------------------------------------------- */

	/* A message that does not ask comes. Calls that have not begun come after it. */
	void queue(const Model &from, u32 parts)
	{
		Model m = from;
		u32 i = m.n_queue++;

		for (; i && m.queue[i - 1].taken && !m.queue[i - 1].begun; i--)
			m.queue[i] = m.queue[i - 1];
		m.queue[i] = { static_cast<u8>(parts) };
		pump(m);
		reach(m);
	}
	/* Calls come to sunrpc. Those behind one that waits wait, too. */
	void calls(const Model &from)
	{
		const bool waits = from.kept.parts || from.full ||
				   from.n_queue >= rules_.messages;

		for (u32 parts = 1; !waits && parts <= rules_.parts; parts++) {
			for (u32 chain = 0; chain <= rules_.chain; chain++) {
				Model m = from;

				ask(m, { static_cast<u8>(parts), false,
					 static_cast<u8>(chain) });
				reach(m);
			}
		}
		if (rules_.others && from.n_queue < rules_.messages)
			queue(from, 1);
		killed(from);
	}
	/* A task is: as rpcrdma_conn_cancel() and rpcrdma_conn_end_call(). */
	void killed(const Model &from)
	{
		if (from.kept.parts && from.full) {
			Model m = from;

			m.kept = {};
			reach(m);
		}
		for (u32 i = 0; i < from.n_queue; i++) {
			Model m = from;

			if (m.queue[i].begun || !m.queue[i].taken)
				continue;
			leaves(m, i);
			if (m.ring.asked.sends && !planted(Mistake::CancelUntold))
				pump(m);
			reach(m);
		}
	}

	/* What may happen at any moment. */
	void around(const Model &from)
	{
		if (rules_.asks)
			calls(from);
		for (u32 parts = 1; !rules_.asks && parts <= rules_.parts &&
				    from.n_queue < rules_.messages;
		     parts++)
			queue(from, parts);
		if (rules_.closes) {
			Model m = from;

			m.closed = !m.closed;
			if (!m.closed)
				pump(m);
			reach(m);
		}
		if (from.tries) {
			Model m = from;

			m.tries = 0;
			if (m.failed == 1)
				m.failed = 2;
			reach(m);
		}
		if (rules_.resizes && from.resizer.at == Worker::Idle) {
			Model m = from;

			m.wanted = 3 - m.wanted;
			reach(m);
		}
	}

	void check(const Model &m)
	{
		const u32 first = first_bare(m.ring, m.early());
		const bool fills = m.worker.fills() || m.resizer.fills();
		const bool waits = m.n_queue && !m.closed && !m.building;

		for (u32 i = 0; i < m.ring.sends; i++)
			out_.unsound |= (m.at(first + i).size == 0) !=
					(i < m.ring.bare);
		out_.unsound |= !rpcrdma::ring::invariants(m.ring);
		if (waits && fits(m) && !(fills && (m.worker.changed ||
						    m.resizer.changed)))
			out_.late = true;
		/* What needs room at once may wait while buffers are taken away. */
		const bool soon = fills || m.kick ||
				  (rules_.groups && completes(m));
		if (waits && !fits(m) && !soon) {
			out_.late |= may_go(m);
			out_.unasked |= m.ring.bare && !m.lacking;
		}
		out_.lacking += waits;
		out_.full += !m.ring.bare;
		if (waits && !fits(m) && m.queue[0].taken &&
		    !m.queue[0].begun && !rules_.others && !m.fewer)
			out_.below = true;
		check_kept(m, fills && (m.worker.changed || m.resizer.changed));
	}
	/* @pumps: somebody who makes buffers is about to */
	void check_kept(const Model &m, bool pumps)
	{
		const bool fills = m.worker.fills() || m.resizer.fills();

		if (!m.full || m.telling)
			return;
		out_.waiting++;
		if (!m.building && !pumps && m.ring.asked.sends &&
		    has_room(m, m.ring.asked))
			out_.late = true;
		if (m.ring.bare && !m.lacking && !fills && !m.kick && !m.fewer)
			out_.unasked = true;
	}

	void expand(const Model &m)
	{
		check(m);
		any_ = false;
		built(m);
		completed(m);
		work(m);
		sunrpc(m);
		if (rules_.resizes)
			resize(m);
		if (!any_ && (m.n_queue || m.full) && !(m.n_queue && m.closed))
			out_.stuck = true;
		if (!any_ && !m.n_queue && !m.full && !m.timer &&
		    !rpcrdma::ring::rests(m.ring))
			out_.kept = true;
		/* Time is slow: what it does each time has to end only if nothing else goes on. */
		if (m.timer && m.worker.at == Worker::Idle &&
		    m.resizer.at == Worker::Idle) {
			const bool alone = !any_;

			look(m);
			if (!alone && !rules_.resizes)
				edges_.pop_back();
		}
		around(m);
	}

	const Rules &rules_;
	Outcome out_;
	bool any_ = false;
	u32 from_ = 0;
	std::vector<Edge> edges_;
	states::Numbers<32> seen_;
	std::deque<Model> open_;
};

Outcome search_for(const Rules &rules)
{
	return Search(rules).outcome();
}

void expect_sound(const Rules &rules)
{
	const Outcome o = search_for(rules);

	EXPECT_TRUE(o.complete);
	EXPECT_FALSE(o.bare);
	EXPECT_FALSE(o.in_use);
	EXPECT_FALSE(o.unsound);
	EXPECT_FALSE(o.stuck);
	EXPECT_FALSE(o.late);
	EXPECT_FALSE(o.unasked);
	EXPECT_FALSE(o.below);
	EXPECT_FALSE(o.untrue);
	EXPECT_FALSE(o.hasty);
	EXPECT_FALSE(o.kept);
	EXPECT_FALSE(o.endless);
	EXPECT_GT(o.lacking + o.waiting, 0u);
	EXPECT_GT(o.full, 0u);
	EXPECT_EQ(o.waiting > 0, rules.asks);
	/* Of a quarter all but one may wait for a later Send. */
	EXPECT_EQ(o.otherwise != 0,
		  rules.groups &&
			  rules.rest < rules.parts + rules.sends / 4 - 1);
	std::printf("%u Sends, %u at rest, messages of up to %u%s%s%s%s%s: %zu states, "
		    "something waits for room in %zu, sunrpc keeps Calls in %zu\n",
		    rules.sends, rules.rest, rules.parts,
		    rules.groups ? " at once" : "",
		    rules.resizes ? ", other sizes" : "",
		    rules.asks ? ", which ask" : "",
		    rules.others ? ", beside others" : "",
		    rules.chain ? ", a short queue" : "", o.states, o.lacking,
		    o.waiting);
}

Outcome with(Mistake mistake, Rules rules = {})
{
	rules.mistake = mistake;
	return search_for(rules);
}

} // namespace

TEST(ring_search, every_interleaving__four_sends)
{
	Rules rules;

	rules.sends = 4;
	rules.messages = 2;
	for (rules.rest = 2; rules.rest <= 4; rules.rest++)
		expect_sound(rules);
}

TEST(ring_search, every_interleaving__a_signal_each_second_send)
{
	Rules rules;

	rules.rest = 3;
	expect_sound(rules);
	rules.rest = 6;
	rules.closes = false;
	expect_sound(rules);
}

/* Sizes of buffers may change while Sends are under way, in either direction. */
TEST(ring_search, every_interleaving__buffers_of_other_sizes)
{
	Rules rules;

	rules.sends = 4;
	rules.rest = 3;
	rules.parts = 2;
	rules.closes = false;
	rules.resizes = true;
	expect_sound(rules);
}

TEST(ring_search, every_interleaving__room_for_all_of_a_message)
{
	Rules rules;

	rules.groups = true;
	rules.messages = 2;
	rules.parts = 5;
	rules.rest = 8;
	expect_sound(rules);
	rules.messages = 1;
	rules.closes = false;
	for (rules.rest = 3; rules.rest <= 6; rules.rest++)
		expect_sound(rules);
}

/* sunrpc keeps Calls for which there is no room; some need more than there ever is. */
TEST(ring_search, every_interleaving__calls_that_ask)
{
	Rules rules;

	rules.asks = true;
	rules.sends = 4;
	rules.messages = 2;
	for (rules.rest = 4; rules.rest >= 2; rules.rest--) {
		rules.parts = rules.rest + 1;
		expect_sound(rules);
		rules.closes = false;
	}
	rules.sends = 8;
	rules.rest = 3;
	rules.messages = 1;
	rules.parts = 4;
	expect_sound(rules);
}

/* What does not ask takes the room that Calls were promised. */
TEST(ring_search, every_interleaving__calls_that_ask_beside_others)
{
	Rules rules;

	rules.asks = true;
	rules.others = true;
	rules.sends = 4;
	rules.rest = 3;
	rules.messages = 2;
	rules.parts = 2;
	rules.closes = false;
	expect_sound(rules);
}

/* Half of the send queue is less than a Call may need, with what goes in front of it. */
TEST(ring_search, every_interleaving__calls_that_ask_of_a_short_queue)
{
	Rules rules;

	rules.asks = true;
	rules.sends = 4;
	rules.rest = 4;
	rules.messages = 2;
	rules.chain = 2;
	for (rules.depth = 6; rules.depth <= 8; rules.depth++)
		expect_sound(rules);
	rules.rest = 3;
	rules.depth = 6;
	rules.messages = 1;
	rules.closes = false;
	expect_sound(rules);
}

TEST(ring_search, every_interleaving__calls_that_ask_for_room_for_all)
{
	Rules rules;

	rules.asks = true;
	rules.groups = true;
	rules.messages = 2;
	rules.parts = 5;
	rules.rest = 8;
	expect_sound(rules);
}

TEST(ring_search, mistakes__with_what_has_a_buffer)
{
	EXPECT_TRUE(with(Mistake::RoomAny).in_use);
	EXPECT_TRUE(with(Mistake::NoTurn).bare);
	EXPECT_TRUE(with(Mistake::GrowFirst).unsound);
	EXPECT_TRUE(with(Mistake::GrowStale).unsound);
	EXPECT_TRUE(with(Mistake::EarlyForgotten).unsound);
	EXPECT_TRUE(with(Mistake::ShrinkAny).in_use);
	EXPECT_TRUE(with(Mistake::ShrinkStale).unsound);
}

TEST(ring_search, mistakes__of_waiting)
{
	Rules rules;

	EXPECT_TRUE(with(Mistake::SignalOne).stuck);
	EXPECT_TRUE(with(Mistake::CompletedSilent).late);
	EXPECT_TRUE(with(Mistake::Unasked).unasked);
	EXPECT_TRUE(with(Mistake::FillSilent).late);
	EXPECT_TRUE(with(Mistake::WantedKept).hasty);
	EXPECT_TRUE(with(Mistake::RefusalForgotten).hasty);
	/* As many as may wait for a later Send: a message waits for memory. */
	rules.rest = 1;
	EXPECT_TRUE(with(Mistake::None, rules).stuck);
}

TEST(ring_search, mistakes__of_giving_back)
{
	Rules rules;

	rules.sends = 4;
	rules.rest = 2;
	EXPECT_TRUE(with(Mistake::NotAgain, rules).kept);
	EXPECT_TRUE(with(Mistake::NeverFree, rules).endless);
	/* What waits for a later Send, and what is near, is more than there is at rest. */
	rules.rest = 1;
	EXPECT_TRUE(with(Mistake::None, rules).endless);
}

TEST(ring_search, mistakes__with_groups)
{
	Rules rules;

	rules.groups = true;
	rules.parts = 4;
	EXPECT_TRUE(with(Mistake::GroupWaits, rules).stuck);
	EXPECT_TRUE(with(Mistake::GroupUnasked, rules).unasked);
	EXPECT_TRUE(with(Mistake::RefusedSilent, rules).late);
}

TEST(ring_search, mistakes__with_calls_that_ask)
{
	Rules rules;

	rules.asks = true;
	rules.sends = 4;
	rules.rest = 3;
	rules.messages = 2;
	rules.parts = 5;
	EXPECT_TRUE(with(Mistake::AskedForgotten, rules).stuck);
	EXPECT_TRUE(with(Mistake::FullLate, rules).stuck);
	EXPECT_TRUE(with(Mistake::RoomUntold, rules).late);
	EXPECT_TRUE(with(Mistake::CompletedSilent, rules).late);
	EXPECT_TRUE(with(Mistake::FillSilent, rules).late);
	EXPECT_TRUE(with(Mistake::CancelUntold, rules).late);
	EXPECT_TRUE(with(Mistake::ToldAlways, rules).untrue);
	EXPECT_TRUE(with(Mistake::PromisedForgotten, rules).below);
	EXPECT_TRUE(with(Mistake::AllOrNothing, rules).stuck);
	EXPECT_TRUE(with(Mistake::KeptUnasked, rules).unasked);
	rules.chain = 2;
	rules.depth = 6;
	rules.parts = 3;
	EXPECT_TRUE(with(Mistake::ChainForgotten, rules).below);
	rules.parts = 5;
	EXPECT_TRUE(with(Mistake::BudgetWhole, rules).stuck);
}

TEST(ring_search, mistakes__with_other_sizes)
{
	Rules rules;

	rules.sends = 4;
	rules.rest = 3;
	rules.parts = 2;
	rules.closes = false;
	rules.resizes = true;
	EXPECT_TRUE(with(Mistake::RenewBlind, rules).in_use);
	EXPECT_TRUE(with(Mistake::LargeEarly, rules).bare);
	EXPECT_TRUE(with(Mistake::SmallLate, rules).bare);
}
