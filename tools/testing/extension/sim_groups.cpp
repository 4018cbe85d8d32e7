// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The simulator's part of rtrext. Messages without chunks go by groups now and then, if the
 * peer takes that and has given credit for all of it; else they go as ever. Nothing is
 * placed: the Receives here are of one segment.
 */
#include "../sim/groups.h"
#include "../sim/checkers.h"
#include "../sim/world.h"
#include "abi.h"

#include <cinttypes>
#include <cstdio>

namespace sim
{

using rpcrdma::GroupMessage;
using rpcrdma::Port;
using rpcrdma::Rtrext;

namespace
{

constexpr u32 kReplySends = 4;

pings::Ledger &ledger(const Conn &c)
{
	return c.link.ends[c.side]->pings;
}

bool in_use(const Conn &c)
{
	return rpcrdma::session(&c.session)
		.in_use(rpcrdma::Extensions::place<Rtrext>());
}

bool part_of_group(u32 htype)
{
	return htype >= rpcrdma::kXmtReq && htype <= rpcrdma::kXmtCont;
}

} // namespace

/* The one that goes out. */
struct groups::Sending {
	Sending(rpcrdma_message &m, u32 reply_count)
		: group{ m, {}, reply_count }
	{
	}
	GroupMessage group;
};

namespace groups
{

void configure(Random &r, pings::Budget &b)
{
	b.groups = r.once_in(2);
}

void received(Conn &c, const rpcrdma_rx &rx, const u8 *buffer, u32 length)
{
	pings::Ledger &l = ledger(c);

	if (rx.vers != 2 || rx.htype == RPCRDMA2_GRANT)
		return;
	if (rx.htype == rpcrdma::kReptErr && rx.action == RPCRDMA_RX_CONTROL)
		return c.lost("a group was refused");
	if (l.coming && !part_of_group(rx.htype) && !c.link.tainted)
		fail("groups", "%s: %s between the Sends of a group",
		     c.link.name(c.side), rpcrdma_htype_name(rx.htype));
	rpcrdma::XmtRequest call;
	if (rx.htype == rpcrdma::kXmtReq && rx.action == RPCRDMA_RX_PAYLOAD &&
	    call.decode(
		    rpcrdma::Bytes(buffer, length).after(rpcrdma::kPrefixSize)))
		l.replies[rx.xid] = call.reply_count;
	if (part_of_group(rx.htype))
		l.coming = rx.action == RPCRDMA_RX_PAYLOAD && !rx.last;
}

void print(const Tally &t)
{
	std::printf("# groups of Sends %" PRIu64 ", of several %" PRIu64
		    " (Replies %" PRIu64 "), without credit for one %" PRIu64
		    "\n",
		    t.groups, t.long_groups, t.long_replies, t.no_group);
}

bool reaches(const Tally &t)
{
	return t.groups && t.long_groups && t.long_replies && t.no_group;
}

} // namespace groups

bool pings::may_carry(const Conn &c)
{
	return c.link.pair.pings[c.side].groups && c.usable() && in_use(c);
}

bool pings::carry(Conn &c, rpcrdma_message *m, u8 *buffer, rpcrdma_tx &tx,
		  u32 &result)
{
	Ledger &l = ledger(c);

	if (!m || !may_carry(c))
		return false;
	if (!l.sending) {
		if (m->sent || m->external ||
		    (m->chunks && !rpcrdma::unused(*m->chunks)) ||
		    c.world.schedule.once_in(3))
			return false;
		u32 replies = kReplySends;
		if (m->dir == RPCRDMA_REPLY) {
			replies = l.replies[m->xid];
			l.replies.erase(m->xid);
		}
		l.sending = std::make_shared<groups::Sending>(*m, replies);
	}
	GroupMessage &g = l.sending->group;
	if (&g.msg != m)
		fail("groups", "%s: another message in the middle of a group",
		     c.link.name(c.side));
	result =
		rpcrdma::session(&c.session)
			.with<Rtrext>([&](Rtrext &x, Port &port) {
				return x.send(port, g,
					      { buffer,
						c.config.core.local.send_size },
					      tx);
			});
	if (result != RPCRDMA_TX_MESSAGE) {
		/* A GRANT may be due. */
		if (g.next && result == RPCRDMA_TX_BLOCKED)
			result = rpcrdma_session_next_send(
				&c.session, nullptr, buffer,
				c.config.core.local.send_size, &tx);
		if (g.next)
			return true;
		c.world.tally.no_group += result == RPCRDMA_TX_BLOCKED;
		l.sending.reset();
		return false;
	}
	if (planted(c, Mutant::GroupBroken) && !tx.first)
		rpcrdma::store_be32(buffer + 12, RPCRDMA2_CALL_INLINE);
	c.world.tally.groups += tx.first;
	c.world.tally.long_groups += tx.first && !tx.last;
	c.world.tally.long_replies +=
		tx.first && !tx.last && m->dir == RPCRDMA_REPLY;
	if (tx.last)
		l.sending.reset();
	return true;
}

} // namespace sim
