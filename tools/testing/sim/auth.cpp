// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "auth.h"
#include "../hostauth/crypto.h"
#include "world.h"

#include <cstring>

namespace sim::auth
{

static constexpr u8 kSecret[RPCRDMA_AUTH_LEAST] = { 0x5e, 0xc3, 0xe7 };
static constexpr u8 kDecoy[RPCRDMA_AUTH_LEAST] = { 0xde, 0xc0, 0x17 };
static constexpr char kName[] = "sim";

void plant(const Options &o)
{
	hostauth::believes_all = o.mutant == Mutant::AuthUnproved;
}

void configure(Random &r, Pair &p)
{
	static constexpr u8 kPolicies[][2] = {
		{ RPCRDMA_AUTH_REQUIRED, RPCRDMA_AUTH_REQUIRED },
		{ RPCRDMA_AUTH_REQUIRED, RPCRDMA_AUTH_REQUIRED },
		{ RPCRDMA_AUTH_OFFERED, RPCRDMA_AUTH_REQUIRED },
		{ RPCRDMA_AUTH_REQUIRED, RPCRDMA_AUTH_OFFERED },
		{ RPCRDMA_AUTH_OFFERED, RPCRDMA_AUTH_OFFERED },
		{ RPCRDMA_AUTH_OFFERED, RPCRDMA_AUTH_OFF },
		{ RPCRDMA_AUTH_OFF, RPCRDMA_AUTH_OFFERED },
	};
	const u8 *policies = kPolicies[r.below(7)];

	if (r.below(3))
		return;
	for (u32 side = 0; side < 2; side++) {
		rpcrdma_auth &a = p.auth[side];

		a.policy = policies[side];
		if (p.version1 && a.policy == RPCRDMA_AUTH_REQUIRED)
			a.policy = RPCRDMA_AUTH_OFFERED;
		/*
		 * A server that does not know host authentication is open with a
		 * MIDDLE, and learns of the reverse direction from the FINAL: too
		 * late for End::ready().
		 */
		if (side && policies[0] && p.config[0].core.local.reverse &&
		    a.policy == RPCRDMA_AUTH_OFF)
			a.policy = RPCRDMA_AUTH_OFFERED;
		a.host[0] = static_cast<u8>(1 + 2 * p.index + side);
		if (side == 0) {
			a.name_size = sizeof(kName) - 1;
			std::memcpy(a.name, kName, a.name_size);
			a.secret_size = sizeof(kSecret);
			std::memcpy(a.secret, kSecret, a.secret_size);
		}
		p.config[side].core.auth = a.policy ? &a : nullptr;
	}
}

void begin(World &w, Pair &p)
{
	for (u32 side = 0; side < 2; side++) {
		rpcrdma_auth &a = p.auth[side];

		if (!a.policy)
			continue;
		for (u32 i = 0; i < sizeof(a.nonce); i += sizeof(u64)) {
			const u64 n = w.chaos.next();

			std::memcpy(a.nonce + i, &n, sizeof(n));
		}
		p.config[side].core.auth = &a;
		if (w.options.mutant == Mutant::AuthIgnored)
			p.config[side].core.auth = nullptr;
	}
}

void begun(Link &l)
{
	World &w = l.world;
	const rpcrdma_auth *a = l.pair.auth;

	if (!w.options.has(Fault::Hostile) || !a[0].policy || !a[1].policy ||
	    !w.chaos.once_in(8))
		return;
	const u32 side = w.chaos.below(2);
	l.to_mangle[side] = w.chaos.within(1, 2);
}

void received(Conn &c)
{
	if (rpcrdma_session_auth(&c.session) != RPCRDMA_AUTH_WANTS_KEY)
		return;
	u8 name[RPCRDMA_AUTH_NAME];
	const u32 size = rpcrdma_session_auth_name(&c.session, name);
	const bool known =
		size == sizeof(kName) - 1 && !std::memcmp(name, kName, size);

	if (rpcrdma_session_auth_key(&c.session, kSecret,
				     known ? u32{ sizeof(kSecret) } : 0,
				     kDecoy))
		c.pump();
}

/* What the two have agreed on is what each has said, whoever was between them. */
void ready(const Conn &c)
{
	const Pair &p = c.link.pair;

	if (p.auth[c.side].policy != RPCRDMA_AUTH_REQUIRED)
		return;
	if (rpcrdma_session_auth(&c.session) != RPCRDMA_AUTH_DONE)
		fail("auth", "%s is open and has not authenticated its peer",
		     c.link.name(c.side));
	const rpcrdma_properties &said = p.config[1 - c.side].core.local;
	const SessionInfo i = c.info();
	if (i.peer.send_size != said.send_size ||
	    i.peer.recv_size != said.recv_size ||
	    i.peer.max_segment_size != said.max_segment_size ||
	    i.peer.max_segments != said.max_segments ||
	    i.peer.reverse != said.reverse || i.version != 2)
		fail("auth", "%s believes what its peer has not said",
		     c.link.name(c.side));
	c.world.tally.authenticated++;
}

} // namespace sim::auth
