// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The simulator's part of xcharext. Each end asks the other for Receives of another size,
 * and for remote invalidation or none; grows by itself; and does what it is asked for, one
 * Receive after the other. That no message is larger than the Receive it meets is checked
 * by the fabric ("overrun").
 */
#include "../sim/changes.h"
#include "../sim/checkers.h"
#include "../sim/world.h"
#include "abi.h"
#include "properties.h"

#include <cinttypes>
#include <cstdio>

namespace sim::changes
{

using rpcrdma::Xcharext;

namespace
{

constexpr u32 kReceive = static_cast<u32>(rpcrdma::Property::RecvSize);
constexpr u32 kRemote = Xcharext::kRemoteInvalidation;
constexpr u32 kMost = 4096;

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

/* Never less than at first: what has no parts could not be sent any more. */
u32 some_size(Conn &c, u32 side)
{
	const u32 rest = c.link.pair.pings[side].rest;

	return (rest ? rest : c.link.pair.config[side].core.local.recv_size) +
	       512 * c.world.schedule.below(5);
}

} // namespace

void configure(Random &r, const rpcrdma_config &k, pings::Budget &b)
{
	b.changes = r.once_in(3) ? 0 : r.below(10);
	if (k.role == RPCRDMA_ROLE_SERVER && r.once_in(2))
		b.rest = r.within(RPCRDMA_MIN_RECV_SIZE, k.local.recv_size);
}

void begin(Conn &c)
{
	const u32 rest = budget(c).rest;

	if (!rpcrdma_xchar_begin(&c.session, rest))
		return;
	c.set_receive_size(rest);
	c.world.tally.began_small++;
}

bool can_act(const Conn &c)
{
	return c.usable() && budget(c).changes && in_use(c);
}

void act(Conn &c)
{
	Random &r = c.world.schedule;

	budget(c).changes--;
	if (!ledger(c).allowed) {
		ledger(c).allowed =
			rpcrdma_xchar_allow(&c.session, kReceive, 1024,
					    kMost) &&
			rpcrdma_xchar_allow(&c.session, kRemote, 0, 1);
	}
	if (r.once_in(4)) {
		ledger(c).growing = some_size(c, c.side);
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

void follow(Conn &c)
{
	if (!c.usable() || !in_use(c))
		return;
	const u32 now = told(c, kReceive, false);
	u32 size = rpcrdma_xchar_wanted(&c.session, kReceive);
	u32 &growing = ledger(c).growing;

	if (!size && growing > now)
		size = growing;
	if (!size) {
		growing = 0;
		c.world.tally.shrunk += c.receive_size() > now;
		c.set_receive_size(now);
		return;
	}
	c.set_receive_size(size);
	if (c.smallest_receive() < size &&
	    c.world.options.mutant != Mutant::GrownTooSoon)
		return;
	if (!rpcrdma_xchar_changed(&c.session, kReceive, size))
		return;
	c.world.tally.grown++;
	if (growing <= size)
		growing = 0;
	c.pump();
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
	for (const u32 which : { kReceive, kRemote }) {
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
	std::printf("# Receives that grew %" PRIu64 ", and shrank %" PRIu64
		    "\n",
		    t.grown, t.shrunk);
	std::printf("# servers that began with small Receives %" PRIu64
		    ", that made Receives late %" PRIu64 "\n",
		    t.began_small, t.began_late);
}

bool reaches(const Tally &t)
{
	for (const u64 n : t.changes)
		if (!n)
			return false;
	return t.grown && t.shrunk && t.began_small && t.began_late;
}

} // namespace sim::changes
