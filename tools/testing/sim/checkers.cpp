// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "checkers.h"
#include "abi.h"
#include "pings.h"
#include "registration.h"
#include "world.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace sim
{

void fail(const char *checker, const char *format, ...)
{
	char what[200];
	va_list args;

	va_start(args, format);
	std::vsnprintf(what, sizeof(what), format, args);
	va_end(args);
	throw Failure{ checker, what };
}

namespace check
{

/* See D8. */
static constexpr u32 kFirstOfExtensions = 0xffffff00;

/*
 * Errnos of the core. A Call that has broken a connection before gets a special error,
 * which version 1 does not have.
 */
static constexpr s32 kIo = -5;
static constexpr s32 kRemoteIo = -121;

void ended(const Rpc &r)
{
	const Requester &from = r.requester;

	if (r.ends != 1)
		fail("answers", "%u ends %u times", r.shape.number, r.ends);
	if (r.wrong && !r.conn->link.tainted)
		fail("answers", "%u xid %08x has wrong octets", r.shape.number,
		     r.xid);
	if (r.end != Rpc::End::Failed || r.wrong || r.excused)
		return;
	if (from.blamed(r) && r.status == (from.version1() ? kIo : kRemoteIo))
		return;
	if ((r.status < 0 && from.twin_excused(r.xid)) ||
	    (r.status == kIo && from.no_other_way(r)))
		return;
	fail("answers", "%u xid %08x fails: error %d", r.shape.number, r.xid,
	     r.status);
}

/* RDMA Writes are over before the Reply has come. */
void written(const Rpc &r)
{
	Octets whole;

	build(r.shape, r.xid, RPCRDMA_REPLY, whole);
	for (u32 i = 0; i < r.chunks.n_writes; i++) {
		if (!r.written[i])
			continue;
		const rpcrdma_range result = i < r.shape.n_results ?
						     r.shape.results[i] :
						     rpcrdma_range{};

		if (r.written[i] != result.length)
			fail("groups", "%u: %u octets of a result, of %u",
			     r.shape.number, r.written[i], result.length);
		if (std::memcmp(r.results[i].data(), &whole[result.offset],
				result.length) != 0)
			fail("groups",
			     "%u: a result is not there with its Reply",
			     r.shape.number);
	}
}

void streamed(const Rpc &r)
{
	if (r.plan.streamed)
		fail("distance", "%u xid %08x waits for credit", r.shape.number,
		     r.xid);
}

void room(rpcrdma_session session)
{
	if (!rpcrdma_session_room(&session))
		fail("waits", "%s",
		     "who waits is told of room, and there is none");
}

void room(const Conn &c)
{
	if (!c.has_room())
		fail("waits", "%s: who waits is told of room for Sends, and there is none",
		     c.link.name(c.side));
}

void ring(const Conn &c)
{
	if (c.life != Conn::Life::Gone && !c.ring_sound())
		fail("ring", "%s: other Sends lack a buffer than the next ones",
		     c.link.name(c.side));
}

void waiters(const Conn &c)
{
	const u32 waiters = c.credit_waiters();

	if ((!waiters && !c.asks_room()) || c.pumps())
		return;
	if (!c.open())
		fail("waits", "%s: for credit or room, when it is over",
		     c.link.name(c.side));
	if (c.asks_room() && !c.fills_ring() && c.has_room())
		fail("waits", "%s: there is room for Sends, and nobody is told",
		     c.link.name(c.side));
	if (waiters & kPumpWaits && !c.queued())
		fail("waits", "%s: for credit, and nothing is queued",
		     c.link.name(c.side));
	rpcrdma_session copy = c.session;
	if (waiters & kOwnerWaits && rpcrdma_session_room(&copy))
		fail("waits", "%s: there is room, and nobody is told",
		     c.link.name(c.side));
}

void unmatched(const Requester &r, const Conn &c, u32 xid)
{
	if (!c.link.tainted && r.has_answer(c, xid))
		fail("answers", "xid %08x is answered twice", xid);
}

void matched(const Requester &r, const Conn &c, u32 xid)
{
	if (!c.link.tainted && !r.has_more(c, xid, false))
		fail("answers", "xid %08x is answered more often than sent",
		     xid);
}

/* Errors may be about a Reply of this end that has the same XID. */
static void all_answered(const Conn &c)
{
	for (const auto &i : c.answers) {
		const Answers &a = i.second;
		const u32 over = a.replies + a.refused + a.errors;

		if ((a.expected && a.sent > over) ||
		    a.replies + a.refused > a.sent + a.again)
			fail("lost",
			     "%s: xid %08x was sent %u times, has %u Replies, "
			     "of which %u may come again, %u groups were "
			     "refused, %u errors",
			     c.link.name(c.side), i.first, a.sent, a.replies,
			     a.again, a.refused, a.errors);
	}
}

void unreachable(const Rpc &r)
{
	if (r.conn && r.conn->qp().reachable(&r))
		fail("access", "%u goes on while its memory can be reached",
		     r.shape.number);
}

void receives(const Conn &c)
{
	const SessionInfo i = c.info();
	const QueuePair &qp = c.qp();

	if (c.lost_flag || !qp.up())
		return;
	/* Its session is closed and counts nothing; it only waits for its end. */
	if (rpcrdma_session_auth(&c.session) == RPCRDMA_AUTH_FAILED)
		return;
	if (c.receives() != i.window + 1)
		fail("lost", "%u Receives for a window of %u", c.receives(),
		     i.window);
	const u32 in_hand = c.begins() + c.stalled();
	if (qp.receives() + qp.receives_completed() + c.kept() + c.waiting() +
		    c.later() + in_hand + c.behind() !=
	    c.receives())
		fail("lost",
		     "%u Receives: %u posted, %u completed, %u kept, %u "
		     "waiting, "
		     "%u to be made, %u behind one that has stalled",
		     c.receives(), qp.receives(), qp.receives_completed(),
		     c.kept(), c.waiting(), c.later(), c.behind());
	if (i.window_used != c.kept() + c.waiting() + in_hand)
		fail("lost", "%u Receives kept, %u waiting, %u not advertised",
		     c.kept(), c.waiting(), i.window_used);
}

void gone(const Conn &c)
{
	const Rpc *r = c.link.pair.requester[c.side].carried_by(c);

	if (r)
		fail("lost", "%u waits for a connection that is gone, state %d",
		     r->shape.number, static_cast<int>(r->state));
}

void responder_gone(const Responder &r)
{
	kept(r);
	if (r.replies() || r.reading() || r.counted().number ||
	    r.counted().pooled)
		fail("lost", "%u Replies and %u Calls without a connection",
		     r.replies(), r.reading());
}

void quiet(const Link &l)
{
	pings::quiet(l);
	for (u32 side = 0; side < 2; side++) {
		const Conn &c = l.ends[side]->conn;
		const SessionInfo here = c.info();
		const SessionInfo there = l.ends[1 - side]->conn.info();
		const rpcrdma_mr_table &t = c.table();

		receives(c);
		if (!l.tainted)
			all_answered(c);
		if (t.count[RPCRDMA_MR_FREE] != c.regions())
			fail("lost", "%s: %u regions, %u of them free",
			     l.name(side), c.regions(),
			     t.count[RPCRDMA_MR_FREE]);
		if (!l.ends[side]->responder.idle() || c.kept() ||
		    c.stalled() || c.behind() || c.resting() >= kGatherSends)
			fail("lost", "%s has kept something", l.name(side));
		if (c.budget() != c.config.sq_depth)
			fail("lost", "%s: a budget of %u, of %u", l.name(side),
			     c.budget(), c.config.sq_depth);
		const Responder &r = l.ends[side]->responder;

		if (r.call_memory() ||
		    r.reply_memory() != r.octets_of_replies(false))
			fail("lost", "%s: %u octets of Calls, %u of Replies",
			     l.name(side), r.call_memory(), r.reply_memory());
		if (here.sent != there.received)
			fail("lost", "%s: %u messages sent, %u received",
			     l.name(side), here.sent, there.received);
		if (here.version != 2)
			continue;
		if (here.peer_credits > there.window)
			fail("lost", "%s has %u credits of a window of %u",
			     l.name(side), here.peer_credits, there.window);
		if (here.peer_credits < there.window / 2)
			fail("lost", "%s is left %u credits of a window of %u",
			     l.name(side), here.peer_credits, there.window);
	}
}

void memory(const Conn &c)
{
	if (c.sends() > c.config.sends)
		fail("memory", "%u Sends, bound %u", c.sends(), c.config.sends);
	if (c.qp().requests() > c.config.sq_depth ||
	    c.qp().invalidates() > c.config.max_mrs)
		fail("memory", "%u Work Requests, bound %u; %u Invalidates, %u",
		     c.qp().requests(), c.config.sq_depth, c.qp().invalidates(),
		     c.config.max_mrs);
	if (c.buffers() > c.largest_window + 1)
		fail("memory", "%u Receives for a window of %u", c.buffers(),
		     c.largest_window);
	if (c.regions() > c.config.max_mrs)
		fail("memory", "%u regions, bound %u", c.regions(),
		     c.config.max_mrs);
	if (!rpcrdma::registration::invariants(c.table()))
		fail("memory", "%s: the table of regions is not sound",
		     c.link.name(c.side));
	if (c.qp().exposed() > c.config.max_mrs * c.config.mr_octets)
		fail("memory", "%u octets can be reached, bound %u",
		     c.qp().exposed(), c.config.max_mrs * c.config.mr_octets);
}

void memory(const Responder &r)
{
	if (!r.memory_sound())
		fail("memory", "the account or the budget is not sound");
	if (r.call_memory() > r.call_bound())
		fail("memory", "%u octets of Calls, bound %u", r.call_memory(),
		     r.call_bound());
	const u32 bound = r.limits.holds ?
				  r.limits.replies + r.service.threads :
				  r.limits.slots;

	if (r.replies() > bound)
		fail("memory", "%u Replies, bound %u", r.replies(), bound);
	if (r.counted().number != r.replies() ||
	    r.counted().pooled != r.octets_of_replies(true))
		fail("memory", "%u Replies, of %u octets in the pool; counted: %u, of %u",
		     r.replies(), r.octets_of_replies(true), r.counted().number,
		     r.counted().pooled);
	if (r.counted().pooled > r.limits.pool)
		fail("memory", "%u octets of Replies in the pool, bound %u",
		     r.counted().pooled, r.limits.pool);
	if (r.reply_memory() > r.reply_bound())
		fail("memory", "%u octets of Replies, bound %u",
		     r.reply_memory(), r.reply_bound());
}

void kept(const Responder &r)
{
	if (r.kept() > kMostKept || r.octets_kept() > kMostKeptOctets)
		fail("memory", "%u Replies are kept, of %u octets", r.kept(),
		     r.octets_kept());
	if (r.kept_memory() != r.octets_kept())
		fail("lost", "%u octets of Replies are kept, and %u counted",
		     r.octets_kept(), r.kept_memory());
}

void order(const Conn &c, const Outgoing &m)
{
	const Outgoing *other = c.overtaken(m);

	if (other)
		fail("order", "%s: xid %08x goes before xid %08x",
		     c.link.name(c.side), m.msg.xid, other->msg.xid);
}

static const char *name(Stage s)
{
	static const char *const kNames[] = { "open", "closed", "ending",
					      "dead" };

	return kNames[static_cast<u32>(s)];
}

void posts(const Conn &c, Stage last, const char *what)
{
	if (c.stage() > last)
		fail("stages", "%s: %s when it is %s", c.link.name(c.side),
		     what, name(c.stage()));
}

void stages(const Conn &c, Stage &before)
{
	const bool alive = c.life == Conn::Life::Alive;

	if (c.stage() < before)
		fail("stages", "%s is %s and was %s", c.link.name(c.side),
		     name(c.stage()), name(before));
	if (c.lost_flag && c.open())
		fail("stages", "%s is lost and open", c.link.name(c.side));
	if (c.dead() == alive || (c.dead() && !c.lost_flag))
		fail("stages", "%s is %s%s", c.link.name(c.side),
		     name(c.stage()), alive ? " and alive" : "");
	before = c.stage();
}

void drained(const Conn &c)
{
	if (c.qp().can_complete_send() || c.qp().can_complete_receive())
		fail("stages", "%s goes before its last completion",
		     c.link.name(c.side));
}

/* Sections 6.3.6 and 6.3.9: a peer that goes by them drops what does. */
void parts(const Conn &c, const rpcrdma_rx &rx, u32 &begun)
{
	const u32 htype = rx.htype;

	if (c.link.tainted || rx.vers != 2 || htype == RPCRDMA2_GRANT)
		return;
	if (begun && htype != begun && htype != begun + 1)
		fail("parts", "%s: %s between the parts of a message",
		     c.link.name(c.side), rpcrdma_htype_name(htype));
	begun = htype == RPCRDMA2_CALL_MIDDLE ||
				htype == RPCRDMA2_REPLY_MIDDLE ?
			htype :
			0;
}

static_assert(RPCRDMA2_CALL_MIDDLE + 1 == RPCRDMA2_CALL_INLINE &&
	      RPCRDMA2_REPLY_MIDDLE + 1 == RPCRDMA2_REPLY_INLINE);

void honest(const Conn &c, const rpcrdma_rx &rx)
{
	if (c.link.tainted)
		return;
	switch (rx.reason) {
	case RPCRDMA_REASON_NONE:
	case RPCRDMA_REASON_CHUNKS: /* the peer learns what is taken */
	case RPCRDMA_REASON_TOO_LARGE:
	case RPCRDMA_REASON_DISCARDING:
		return;
	case RPCRDMA_REASON_VERSION: /* the client tries the higher one */
		if (c.side == 1 && c.link.pair.version1)
			return;
		[[fallthrough]];
	default:
		if (pings::stray(c, rx))
			return;
		fail("honest", "%s: %s of an honest peer", c.link.name(c.side),
		     rpcrdma_reason_name(rx.reason));
	}
}

void no_more(const Conn &c, const rpcrdma_tx &tx)
{
	rpcrdma_session copy = c.session;
	std::vector<u8> buffer(c.config.core.local.send_size);
	rpcrdma_tx next;

	const auto result = rpcrdma_session_next_send(
		&copy, nullptr, buffer.data(), static_cast<u32>(buffer.size()),
		&next);

	if (!tx.more && result != RPCRDMA_TX_NONE)
		fail("invariant",
		     "more to send than was said: result %u, type %u",
		     static_cast<unsigned>(result),
		     static_cast<unsigned>(next.type));
}

void sound(const Conn &c)
{
	if (!rpcrdma::session(&c.session).invariants())
		fail("invariant", "%s: the session is not sound",
		     c.link.name(c.side));
}

void sensible(const Conn &c, const rpcrdma_rx &rx, u32 length)
{
	if (broken)
		fail("invariant", "%s", broken);
	if (rx.action > RPCRDMA_RX_CLOSE || rx.reason >= RPCRDMA_REASON_COUNT ||
	    rx.reason == RPCRDMA_REASON_INVARIANT)
		fail("invariant", "action %u, reason %u", rx.action, rx.reason);
	if (!rx.reason != !rx.detail)
		fail("invariant", "reason %u, and %s detail", rx.reason,
		     rx.detail ? "a" : "no");
	if (rx.action == RPCRDMA_RX_FAIL_RPC && rx.error >= 0)
		fail("invariant", "an RPC fails with %d", rx.error);
	if (rx.action != RPCRDMA_RX_PAYLOAD)
		return;
	if (rx.dir > RPCRDMA_REPLY ||
	    u64{ rx.payload.offset } + rx.payload.length > length ||
	    rx.stream_length > c.config.core.max_message)
		fail("invariant", "payload %u+%u of %u, stream %u",
		     rx.payload.offset, rx.payload.length, length,
		     rx.stream_length);
	/* optxc_pslen of rtrext may be zero (9.4): a Send of nothing but placed data. */
	if (!rx.external &&
	    ((!rx.payload.length && rx.htype < kFirstOfExtensions) ||
	     u64{ rx.stream_offset } + rx.payload.length > rx.stream_length))
		fail("invariant", "payload of %u at %u of %u",
		     rx.payload.length, rx.stream_offset, rx.stream_length);
	if (rx.last && !rx.external &&
	    rx.stream_offset + rx.payload.length != rx.stream_length)
		fail("invariant", "the last payload ends at %u of %u",
		     rx.stream_offset + rx.payload.length, rx.stream_length);
	if (rx.last && (rx.unreduced_length < rx.stream_length ||
			rx.unreduced_length > c.config.core.max_message))
		fail("invariant", "%u octets, %u of them in the stream",
		     rx.unreduced_length, rx.stream_length);
}

} // namespace check

} // namespace sim
