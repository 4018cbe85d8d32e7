// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The simulator's part of the extension. Its checker goes by the messages, not by what the
 * extension counts of them.
 */
#include "../sim/changes.h"
#include "../sim/checkers.h"
#include "../sim/groups.h"
#include "../sim/world.h"
#include "abi.h"
#include "xdr.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>

namespace sim::pings
{

using rpcrdma::Ping;
using rpcrdma::Port;

namespace
{

/* Plus a count: of a PING that is sent to be refused. */
constexpr u32 kFirstStray = 0x6f000000;
constexpr u32 kMostStrays = 64; /* of all ends of a seed */

bool announces(const Conn &c, u32 side)
{
	return c.link.pair.config[side].core.extensions;
}

/* Each end of this connection has told the other that it takes them. */
bool agreed(const Conn &c)
{
	return announces(c, 0) && announces(c, 1) &&
	       rpcrdma_session_version(&c.session) == 2;
}

Ledger &ledger(const Conn &c)
{
	return c.link.ends[c.side]->pings;
}

Budget &budget(const Conn &c)
{
	return c.link.pair.pings[c.side];
}

bool remove(std::vector<u32> &xids, u32 xid)
{
	const auto i = std::find(xids.begin(), xids.end(), xid);

	if (i == xids.end())
		return false;
	xids.erase(i);
	return true;
}

/* PINGs that this end takes at once, as it says, and as the other end has heard. */
u32 told(const Conn &c, bool of_peer)
{
	const u32 i = rpcrdma::property_index(Ping::kProperty);
	rpcrdma_numbers n;

	rpcrdma_session_numbers(&c.session, &n);
	return of_peer ? n.peer[i] : n.local[i];
}

void become(rpcrdma_tx &tx, u8 *buffer, u32 htype, u32 xid)
{
	rpcrdma::store_be32(buffer, xid);
	rpcrdma::store_be32(buffer + 12, htype);
	tx.htype = htype;
	tx.xid = xid;
}

/* A peer that has not announced it sends one anyway; its words of a GRANT stay. */
void send_stray(Conn &c, rpcrdma_tx &tx, u8 *buffer)
{
	const u32 xid = kFirstStray + static_cast<u32>(c.world.tally.strays);

	become(tx, buffer, Ping::kPing, xid);
	ledger(c).strays.push_back(xid);
	budget(c).strays--;
	c.world.tally.strays++;
}

void instead_of_grant(Conn &c, rpcrdma_tx &tx, u8 *buffer)
{
	/* A GRANT may go where nothing else may. */
	if (c.info().version != 2 || !c.info().peer_credits)
		return;
	if (!agreed(c) && planted(c, Mutant::PingUninvited))
		become(tx, buffer, Ping::kPing, Ping::kFirstXid);
	else if (!agreed(c) && budget(c).strays)
		send_stray(c, tx, buffer);
	else if (planted(c, Mutant::PongTwice) && !ledger(c).last.empty()) {
		const Octets &last = ledger(c).last;

		become(tx, buffer, Ping::kPong, Ping::kFirstXid);
		std::copy(last.begin(), last.begin() + 4, buffer);
		std::copy(last.begin() + 16, last.end(), buffer + 16);
		tx.header_length = static_cast<u32>(last.size());
	}
}

} // namespace

void configure(Random &r, Pair &p)
{
	for (u32 side = 0; side < 2; side++) {
		const bool announces = !r.once_in(4);
		const u32 acts = r.below(12);

		p.config[side].core.extensions =
			announces ? RPCRDMA_ALL_EXTENSIONS : 0;
		p.pings[side] = { acts, r.once_in(2) ? r.within(1, 3) : 0 };
		changes::configure(r, p.config[side].core, p.pings[side]);
		groups::configure(r, p.pings[side]);
	}
	groups::configure_places(r, p);
	groups::configure_repeats(p);
}

static bool can_ping(const Conn &c)
{
	const rpcrdma::Session &s = rpcrdma::session(&c.session);

	return c.open() && budget(c).acts &&
	       s.in_use(rpcrdma::Extensions::place<Ping>()) &&
	       s.extension<Ping>().unanswered() < told(c, true);
}

bool can_act(const Conn &c)
{
	return can_ping(c) || changes::can_act(c);
}

void act(Conn &c)
{
	if (changes::can_act(c) &&
	    (!can_ping(c) || c.world.schedule.once_in(2)))
		return changes::act(c);

	rpcrdma::Session &s = rpcrdma::session(&c.session);
	const bool more = c.world.schedule.once_in(4);

	budget(c).acts--;
	const bool done = s.with<Ping>([&](Ping &p, Port &port) {
		return more ? p.take_more(port, told(c, false) + 1) :
			      p.ping(port);
	});
	if (done)
		c.pump();
}

u32 some_type(Random &r)
{
	const u32 type = r.within(3, 18);

	return type < 15 ? type : Ping::kPing + type - 15;
}

void sent(Conn &c, bool between, rpcrdma_tx &tx, u8 *buffer)
{
	if (tx.htype == RPCRDMA2_GRANT && !between)
		instead_of_grant(c, tx, buffer);
	switch (tx.htype) {
	case Ping::kPing:
		if (!agreed(c))
			break;
		ledger(c).asked.push_back(tx.xid);
		c.world.tally.pings++;
		break;
	case Ping::kPong:
		ledger(c).last.assign(buffer, buffer + tx.header_length);
		if (!planted(c, Mutant::PongLost))
			break;
		become(tx, buffer, RPCRDMA2_GRANT, 0);
		tx.header_length = rpcrdma::kPrefixSize;
		break;
	case rpcrdma::Xcharext::kUpdate:
	case rpcrdma::Xcharext::kResponse:
		changes::sent(c, tx, buffer);
		break;
	case RPCRDMA2_CONNPROP_FINAL:
		c.world.tally.one_sided += announces(c, 0) != announces(c, 1);
		break;
	}
}

void wrote(Conn &c, const rpcrdma_tx &tx)
{
	changes::wrote(c, tx);
}

static void taken(Conn &c, const rpcrdma_rx &rx)
{
	Tally &t = c.world.tally;

	switch (rx.htype) {
	case Ping::kPing:
		if (!agreed(c) && !stray(c, rx))
			fail("pings", "%s: a PING, and it has announced none",
			     c.link.name(c.side));
		break;
	case Ping::kPong:
		if (!remove(ledger(c).asked, rx.xid))
			fail("pings", "%s: xid %08x is answered twice",
			     c.link.name(c.side), rx.xid);
		t.pongs++;
		break;
	case Ping::kPings:
		t.pings_more++;
		break;
	case RPCRDMA2_ERROR:
		if (rx.xid - kFirstStray >= kMostStrays)
			break;
		if (rx.errcode != RPCRDMA2_ERR_INVAL_HTYPE ||
		    !remove(ledger(c).strays, rx.xid))
			fail("pings", "%s: xid %08x is refused by code %u",
			     c.link.name(c.side), rx.xid, rx.errcode);
		t.strays_refused++;
		break;
	}
}

void received(Conn &c, rpcrdma_rx &rx, const u8 *buffer, u32 length)
{
	if (!c.link.tainted)
		taken(c, rx);
	groups::received(c, rx, buffer, length);
	if (planted(c, Mutant::PongUntold) && rx.htype == Ping::kPing)
		rx.kick = false;
}

bool begins_small(const Conn &c)
{
	return budget(c).rest;
}

void begin(Conn &c)
{
	changes::begin(c);
}

void opened(Conn &c)
{
	changes::opened(c);
}

void reposted(Conn &c)
{
	changes::follow(c);
}

bool stray(const Conn &c, const rpcrdma_rx &rx)
{
	const Ledger &l = ledger(c);

	/* It may be refused already, or be said of a Send with another number. */
	if (l.refuses || (l.spoils && rx.htype == rpcrdma::kReptErr &&
			  rx.reason == RPCRDMA_REASON_XID))
		return true;
	return rx.htype == Ping::kPing && rx.action == RPCRDMA_RX_DROP &&
	       rx.reason == RPCRDMA_REASON_HTYPE &&
	       rx.xid - kFirstStray < kMostStrays;
}

void gone(Conn &c)
{
	Ledger &l = ledger(c);

	c.world.tally.pings_overtaken += l.asked.size();
	changes::count(c, c.world.tally);
	l = {};
}

void quiet(const Link &l)
{
	for (u32 side = 0; side < 2; side++) {
		const Conn &c = l.ends[side]->conn;
		const Ledger &here = ledger(c);

		if (!here.asked.empty())
			fail("pings", "%s: xid %08x is not answered",
			     l.name(side), here.asked.front());
		if (!here.strays.empty())
			fail("pings", "%s: xid %08x is not refused",
			     l.name(side), here.strays.front());
		const u32 says = told(c, false);
		const u32 heard = told(l.ends[1 - side]->conn, true);

		if (agreed(c) && says != heard)
			fail("pings", "%s takes %u at once, the peer knows %u",
			     l.name(side), says, heard);
		if (agreed(c) && !l.tainted) {
			changes::quiet(l, side);
			groups::quiet(c);
		}
	}
}

void print(const Tally &t)
{
	std::printf("# PINGs %" PRIu64 ", answered %" PRIu64
		    ", overtaken by the end of their connection %" PRIu64
		    ", PINGSs %" PRIu64 "\n",
		    t.pings, t.pongs, t.pings_overtaken, t.pings_more);
	std::printf("# FINALs between ends of which one has them %" PRIu64
		    ", PINGs sent to be refused %" PRIu64
		    ", and refused %" PRIu64 "\n",
		    t.one_sided, t.strays, t.strays_refused);
	changes::print(t);
	groups::print(t);
}

bool reaches(const Tally &t)
{
	return t.pongs && t.pings_overtaken && t.pings_more && t.one_sided &&
	       t.strays_refused && changes::reaches(t) && groups::reaches(t);
}

bool there_are()
{
	return true;
}

} // namespace sim::pings
