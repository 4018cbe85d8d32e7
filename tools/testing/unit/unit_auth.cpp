// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sessions that authenticate their hosts (11.4 of Documentation/host-authentication.rst).
 * unit_hostauth.cpp has the state machine by itself.
 */
#include "support.h"
#include "hkdf.h"
#include "../hostauth/crypto.h"

#include <algorithm>
#include <functional>

#include <rpcrdma/auth.h>

using namespace rpcrdma;
using namespace unit;

namespace
{

const Octets kSecret(32, 0x5e);
const Octets kOther(40, 0x77);
const Octets kDecoy(32, 0xdd);
const Octets kName = { 'k', 'e', 'y', '1' };

Bytes bytes(const Octets &o)
{
	return { o.data(), static_cast<u32>(o.size()) };
}

rpcrdma_auth auth(u32 role, u32 policy, const Octets &secret = kSecret)
{
	rpcrdma_auth a = {};

	a.policy = policy;
	std::memset(a.host, role == RPCRDMA_ROLE_CLIENT ? 0xa1 : 0xb2,
		    sizeof(a.host));
	std::memset(a.nonce, role == RPCRDMA_ROLE_CLIENT ? 0xc1 : 0x52,
		    sizeof(a.nonce));
	if (role != RPCRDMA_ROLE_CLIENT || secret.empty())
		return a;
	std::memcpy(a.name, kName.data(), kName.size());
	a.name_size = static_cast<u32>(kName.size());
	std::memcpy(a.secret, secret.data(), secret.size());
	a.secret_size = static_cast<u32>(secret.size());
	return a;
}

Endpoint endpoint(rpcrdma_role role, u32 policy, const Octets &secret = kSecret,
		  u32 min_version = 2, u32 max_version = 2, u32 extensions = 0)
{
	rpcrdma_auth a = auth(role, policy, secret);
	rpcrdma_config c = config(role);

	c.local.recv_size = 8192;
	c.min_version = min_version;
	c.max_version = max_version;
	c.auth = &a;
	c.extensions = extensions;
	Endpoint e(c);
	std::memset(&a, 0xff,
		    sizeof(a)); /* NOLINT: nothing of it is used again */
	return e;
}

Endpoint client(u32 policy = RPCRDMA_AUTH_REQUIRED,
		const Octets &secret = kSecret)
{
	return endpoint(RPCRDMA_ROLE_CLIENT, policy, secret);
}

Endpoint server(u32 policy = RPCRDMA_AUTH_REQUIRED)
{
	return endpoint(RPCRDMA_ROLE_SERVER, policy);
}

bool over(const Endpoint &e)
{
	const u32 s = e.session.auth_state();

	return s == RPCRDMA_AUTH_FAILED || e.rx.action == RPCRDMA_RX_CLOSE;
}

u32 reason(const Endpoint &e)
{
	return static_cast<u32>(e.session.auth().reason());
}

/* May change message @n before it arrives. Return: it arrives. */
using OnTheWay = std::function<bool(u32 n, Octets &message)>;

/* Both ends, as long as one of them has something to send. */
struct Both {
	Endpoint client;
	Endpoint server;
	std::vector<Octets> sent;
	std::vector<u32> types;

	void run(const Octets &secret = kSecret, const OnTheWay &change = {})
	{
		for (u32 idle = 0; idle < 2 && sent.size() < 20;) {
			Endpoint &from = sent.size() % 2 == 0 ? client : server;
			const bool first = step(from, secret, change);

			idle = first ? 0 : idle + 1;
			if (first)
				continue;
			Endpoint &other = &from == &client ? server : client;
			idle = step(other, secret, change) ? 0 : idle + 1;
		}
	}

private:
	bool step(Endpoint &from, const Octets &secret, const OnTheWay &change)
	{
		Endpoint &to = &from == &client ? server : client;

		if (from.rx.action == RPCRDMA_RX_CLOSE ||
		    from.next() != RPCRDMA_TX_CONTROL)
			return false;
		sent.push_back(from.sent);
		types.push_back(from.tx.htype);
		Octets message = from.sent;
		if (change && !change(static_cast<u32>(sent.size()), message))
			return true;
		if (to.rx.action == RPCRDMA_RX_CLOSE)
			return true;
		to.receive_octets(message);
		if (to.session.auth_state() == RPCRDMA_AUTH_WANTS_KEY) {
			EXPECT_EQ(to.peek(), u32{ RPCRDMA_TX_NONE });
			const bool due = to.session.auth_key(bytes(secret),
							     bytes(kDecoy));

			/* To look computes, too. */
			if (hostauth::good_calls < 0)
				EXPECT_EQ(due,
					  to.peek() == RPCRDMA_TX_CONTROL);
		}
		return true;
	}
};

Both both(u32 client_policy, u32 server_policy)
{
	return { client(client_policy), server(server_policy), {}, {} };
}

/* A Call goes from one end to the other. */
void expect_rpc(Both &b)
{
	rpcrdma_message call = message(7, RPCRDMA_CALL, 40);

	ASSERT_EQ(b.client.next(&call), u32{ RPCRDMA_TX_MESSAGE });
	Octets o = b.client.sent;
	const Octets payload = octets(rpc(7, RPCRDMA_CALL, 40));
	o.insert(o.end(), payload.begin(), payload.end());
	b.server.receive_octets(o);
	EXPECT_EQ(b.server.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
}

bool contains(const Session &s, const Octets &what)
{
	const u8 *p = reinterpret_cast<const u8 *>(&s);
	const Octets all(p, p + sizeof(s));

	return std::search(all.begin(), all.end(), what.begin(), what.end()) !=
	       all.end();
}

} // namespace

TEST(auth, both__four_messages_and_then_rpc_messages)
{
	Both b = both(RPCRDMA_AUTH_REQUIRED, RPCRDMA_AUTH_REQUIRED);

	EXPECT_EQ(b.client.session.auth_state(), u32{ RPCRDMA_AUTH_OPEN });
	b.run(kSecret, [&](u32 n, Octets &) {
		EXPECT_EQ(b.client.session.ready(), false) << n;
		EXPECT_EQ(b.server.session.ready(), n > 3) << n;
		EXPECT_EQ(b.client.info().peer.recv_size,
			  kDefaultProperties.recv_size)
			<< "in force when the exchange is complete";
		return true;
	});
	EXPECT_EQ(b.types, (std::vector<u32>{ RPCRDMA2_CONNPROP_MIDDLE,
					      RPCRDMA2_CONNPROP_MIDDLE,
					      RPCRDMA2_CONNPROP_FINAL,
					      RPCRDMA2_CONNPROP_FINAL }));
	for (const Octets &o : b.sent)
		EXPECT_LE(o.size(), 1024u);
	EXPECT_EQ(word_at(b.sent[2], 0), kClientXid);
	EXPECT_EQ(word_at(b.sent[3], 0), kServerXid);
	for (Endpoint *e : { &b.client, &b.server }) {
		EXPECT_TRUE(e->session.ready());
		EXPECT_EQ(e->session.auth_state(), u32{ RPCRDMA_AUTH_DONE });
		EXPECT_EQ(e->info().peer.recv_size, 8192u);
		EXPECT_FALSE(e->session.auth_late());
		EXPECT_TRUE(e->session.invariants());
		const Bytes name = e->session.auth().key_name();
		EXPECT_EQ(Octets(name.begin(), name.end()), kName);
	}
	EXPECT_TRUE(b.client.rx.opened);
	expect_rpc(b);
}

TEST(auth, off__is_as_if_it_were_not_there)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);
	c.local.recv_size = 8192;
	Endpoint without(c);
	Endpoint off = client(RPCRDMA_AUTH_OFF);

	(void)without.next();
	(void)off.next();
	EXPECT_EQ(without.sent, off.sent);
	EXPECT_EQ(off.session.auth_state(), u32{ RPCRDMA_AUTH_NONE });
	EXPECT_EQ(without.session.auth_state(), u32{ RPCRDMA_AUTH_NONE });
	off.receive(connprop(kServerXid));
	EXPECT_TRUE(off.rx.opened);
}

/* 11.4.8, each policy of one side with each of the other. */
TEST(auth, policy__of_both_sides)
{
	for (u32 ours = 0; ours < RPCRDMA_AUTH_POLICIES; ours++)
		for (u32 theirs = 0; theirs < RPCRDMA_AUTH_POLICIES; theirs++) {
			Both b = both(ours, theirs);
			const bool done = ours && theirs;
			const bool refused =
				!done && (ours == RPCRDMA_AUTH_REQUIRED ||
					  theirs == RPCRDMA_AUTH_REQUIRED);

			SCOPED_TRACE(testing::Message()
				     << ours << " to " << theirs);
			b.run();
			EXPECT_EQ(b.client.session.ready(), !refused);
			if (refused) {
				const Endpoint &strict =
					ours ? b.client : b.server;

				EXPECT_EQ(strict.session.auth_state(),
					  u32{ RPCRDMA_AUTH_FAILED });
				EXPECT_EQ(reason(strict),
					  u32{ RPCRDMA_AUTH_R_MISSING });
				EXPECT_FALSE(strict.session.ready());
				continue;
			}
			EXPECT_TRUE(b.server.session.ready());
			EXPECT_EQ(b.client.session.auth_state(),
				  done	? u32{ RPCRDMA_AUTH_DONE } :
				  !ours ? u32{ RPCRDMA_AUTH_NONE } :
					  u32{ RPCRDMA_AUTH_WITHOUT });
			EXPECT_EQ(b.server.info().peer.recv_size, 8192u);
			EXPECT_EQ(b.client.info().peer.recv_size, 8192u);
			expect_rpc(b);
		}
}

/* A server that demands it says so, and its client does not take it for version 1. */
TEST(auth, client__without_is_refused_by_a_server_that_demands_it)
{
	Both b = { endpoint(RPCRDMA_ROLE_CLIENT, RPCRDMA_AUTH_OFF, {}, 1, 2),
		   server(),
		   {},
		   {} };

	b.run();
	EXPECT_EQ(b.types, (std::vector<u32>{ RPCRDMA2_CONNPROP_FINAL,
					      RPCRDMA2_ERROR }));
	EXPECT_EQ(word_at(b.sent[1], 4), u32{ RPCRDMA2_ERR_SYSTEM });
	EXPECT_EQ(b.client.rx.action, u32{ RPCRDMA_RX_CLOSE });
	EXPECT_EQ(b.client.rx.reason, u32{ RPCRDMA_REASON_AUTH });
	EXPECT_EQ(b.server.rx.action, u32{ RPCRDMA_RX_DROP });
	EXPECT_EQ(b.server.rx.reason, u32{ RPCRDMA_REASON_AUTH });
}

TEST(auth, key__wrong_or_unknown_looks_the_same_to_the_client)
{
	std::vector<u32> types[2];

	for (const Octets &theirs : { kOther, Octets{} }) {
		Both b = both(RPCRDMA_AUTH_OFFERED, RPCRDMA_AUTH_OFFERED);

		b.run(theirs);
		EXPECT_FALSE(b.client.session.ready());
		EXPECT_FALSE(b.server.session.ready());
		EXPECT_EQ(reason(b.client), u32{ RPCRDMA_AUTH_R_PROOF });
		EXPECT_EQ(reason(b.server), u32{ RPCRDMA_AUTH_R_REFUSED });
		EXPECT_EQ(b.server.rx.action, u32{ RPCRDMA_RX_CLOSE });
		EXPECT_EQ(b.server.rx.reason, u32{ RPCRDMA_REASON_AUTH });
		ASSERT_EQ(b.sent.size(), 3u);
		EXPECT_EQ(word_at(b.sent[2], 3), u32{ RPCRDMA2_ERROR });
		EXPECT_EQ(word_at(b.sent[2], 0), kServerXid);
		EXPECT_EQ(word_at(b.sent[2], 4), u32{ RPCRDMA2_ERR_SYSTEM });
		types[theirs.empty()] = b.types;
	}
	EXPECT_EQ(types[0], types[1]);
}

/* The server believes nothing of a client that goes on with a wrong proof. */
TEST(auth, server__refuses_a_wrong_proof_and_says_no_more)
{
	Both b = both(RPCRDMA_AUTH_OFFERED, RPCRDMA_AUTH_OFFERED);

	b.run(kSecret, [&](u32 n, Octets &o) {
		if (n == 3)
			o.back() ^= 1;
		return true;
	});
	EXPECT_EQ(reason(b.server), u32{ RPCRDMA_AUTH_R_PROOF });
	EXPECT_FALSE(b.server.session.ready());
	EXPECT_EQ(reason(b.client), u32{ RPCRDMA_AUTH_R_REFUSED });
	EXPECT_EQ(b.client.rx.reason, u32{ RPCRDMA_REASON_AUTH });
	/* Whatever comes, it is over. */
	b.server.receive(call_inline(9, rpc(9, RPCRDMA_CALL, 40)));
	EXPECT_EQ(b.server.rx.action, u32{ RPCRDMA_RX_CLOSE });
	EXPECT_EQ(b.server.rx.reason, u32{ RPCRDMA_REASON_AUTH });
}

/* Claims 1 to 4: no octet of a message may be another. */
TEST(auth, attacker__changes_any_octet_of_any_message)
{
	Both plain = both(RPCRDMA_AUTH_REQUIRED, RPCRDMA_AUTH_REQUIRED);

	plain.run();
	ASSERT_EQ(plain.sent.size(), 4u);
	for (u32 which = 1; which <= 4; which++)
		for (u32 at = 0; at < plain.sent[which - 1].size(); at++) {
			Both b = both(RPCRDMA_AUTH_REQUIRED,
				      RPCRDMA_AUTH_REQUIRED);

			b.run(kSecret, [&](u32 n, Octets &o) {
				if (n == which)
					o[at] ^= 0x10;
				return true;
			});
			EXPECT_FALSE(b.client.session.ready())
				<< which << " at " << at;
			EXPECT_EQ(b.server.session.ready() && !over(b.server),
				  which == 4)
				<< which << " at " << at;
		}
}

TEST(auth, attacker__repeats_or_drops_or_reflects_a_message)
{
	for (u32 which = 1; which <= 4; which++) {
		Both b = both(RPCRDMA_AUTH_REQUIRED, RPCRDMA_AUTH_REQUIRED);

		b.run(kSecret, [&](u32 n, Octets &o) {
			Endpoint &to = n % 2 ? b.server : b.client;

			if (n != which)
				return true;
			to.receive_octets(o);
			if (n == 1)
				EXPECT_TRUE(to.session.auth_key(bytes(kSecret),
								bytes(kDecoy)));
			return true;
		});
		/* A PROVE that comes twice is refused once, and proves as much. */
		EXPECT_EQ(b.client.session.ready(), which >= 3) << which;
	}
	for (u32 which = 1; which <= 4; which++) {
		Both b = both(RPCRDMA_AUTH_REQUIRED, RPCRDMA_AUTH_REQUIRED);

		b.run(kSecret, [&](u32 n, Octets &) { return n != which; });
		EXPECT_FALSE(b.client.session.ready()) << which;
		EXPECT_EQ(b.server.session.ready(), which == 4) << which;
	}
	Both b = both(RPCRDMA_AUTH_REQUIRED, RPCRDMA_AUTH_REQUIRED);
	b.run(kSecret, [&](u32, Octets &o) {
		b.client.receive_octets(o);
		return false;
	});
	EXPECT_FALSE(b.client.session.ready());
	EXPECT_EQ(reason(b.client), u32{ RPCRDMA_AUTH_R_STEP });
}

/* Nothing but the exchange opens the connection. */
TEST(auth, both__a_grant_does_not_open)
{
	Endpoint c = client();
	Endpoint s = server();

	(void)c.next();
	c.receive(prefix(0, RPCRDMA2_GRANT));
	s.receive(prefix(0, RPCRDMA2_GRANT));
	EXPECT_EQ(c.rx.action, u32{ RPCRDMA_RX_CONTROL });
	EXPECT_FALSE(c.session.ready());
	EXPECT_FALSE(s.session.ready());
	EXPECT_EQ(s.peek(), u32{ RPCRDMA_TX_NONE });
}

TEST(auth, both__an_rpc_message_instead_of_the_exchange)
{
	Endpoint s = server();
	s.receive(call_inline(9, rpc(9, RPCRDMA_CALL, 40)));
	EXPECT_EQ(s.rx.reason, u32{ RPCRDMA_REASON_AUTH });
	EXPECT_EQ(s.next_error(9), Words{ RPCRDMA2_ERR_SYSTEM });
	EXPECT_EQ(s.peek(), u32{ RPCRDMA_TX_NONE });
	EXPECT_EQ(reason(s), u32{ RPCRDMA_AUTH_R_MISSING });

	Endpoint offered = server(RPCRDMA_AUTH_OFFERED);
	offered.receive(call_inline(9, rpc(9, RPCRDMA_CALL, 40)));
	EXPECT_EQ(offered.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_TRUE(offered.rx.opened);
	EXPECT_EQ(offered.session.auth_state(), u32{ RPCRDMA_AUTH_WITHOUT });

	/* Once it has begun there is no way back, under no policy. */
	Both b = both(RPCRDMA_AUTH_OFFERED, RPCRDMA_AUTH_OFFERED);
	b.run(kSecret, [&](u32 n, Octets &) { return n < 3; });
	b.server.receive(call_inline(9, rpc(9, RPCRDMA_CALL, 40)));
	EXPECT_EQ(b.server.next_error(9), Words{ RPCRDMA2_ERR_BAD_PROPVAL });
	EXPECT_EQ(reason(b.server), u32{ RPCRDMA_AUTH_R_STEP });
	EXPECT_FALSE(b.server.session.ready());
}

/* There may be one credit, and the reason needs it; who is refused has no use for the rest. */
TEST(auth, both__what_waits_to_be_said_gives_way_to_the_reason)
{
	constexpr u32 kUnknownType = 77;
	Endpoint s = server();
	Words call = call_inline(9, rpc(9, RPCRDMA_CALL, 40));

	s.receive(prefix(4, kUnknownType, 1));
	EXPECT_EQ(s.next_error(4), Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	for (u32 xid = 100; xid < 100 + RPCRDMA_MAX_CONTROL; xid++) {
		s.receive(prefix(xid, kUnknownType, 1));
		EXPECT_EQ(s.rx.reason, u32{ RPCRDMA_REASON_HTYPE });
		EXPECT_EQ(s.peek(), u32{ RPCRDMA_TX_BLOCKED }) << "no credit";
	}
	call[2] = 2;
	s.receive(call);
	EXPECT_TRUE(s.rx.kick);
	EXPECT_EQ(s.next_error(9), Words{ RPCRDMA2_ERR_SYSTEM });
	EXPECT_EQ(s.peek(), u32{ RPCRDMA_TX_NONE });
	s.receive(prefix(0, RPCRDMA2_GRANT));
	EXPECT_EQ(s.rx.action, u32{ RPCRDMA_RX_CLOSE });
	EXPECT_EQ(s.peek(), u32{ RPCRDMA_TX_NONE }) << "not with credit either";

	/* A client has used its credit for OPEN. */
	Endpoint c = client();
	(void)c.next();
	c.receive(prefix(5, kUnknownType, 1));
	EXPECT_EQ(c.peek(), u32{ RPCRDMA_TX_BLOCKED });
	c.receive(prefix(6, RPCRDMA2_CONNPROP_MIDDLE, 2));
	EXPECT_EQ(reason(c), u32{ RPCRDMA_AUTH_R_FORM });
	EXPECT_EQ(c.next_error(6), Words{ RPCRDMA2_ERR_BAD_XDR });
	EXPECT_EQ(c.peek(), u32{ RPCRDMA_TX_NONE });

	/* When it takes too long there is no reason to be told. */
	Endpoint late = server();
	late.receive(prefix(4, kUnknownType, 1));
	EXPECT_FALSE(late.session.auth_late());
	EXPECT_EQ(late.peek(), u32{ RPCRDMA_TX_NONE });

	Endpoint old =
		endpoint(RPCRDMA_ROLE_SERVER, RPCRDMA_AUTH_REQUIRED, {}, 1, 2);
	old.receive(prefix(4, RPCRDMA1_MSG, 32, 3));
	old.receive(prefix(9, RPCRDMA1_MSG, 32, 1) + Words{ 0, 0, 0 } +
		    rpc(9, RPCRDMA_CALL, 40));
	EXPECT_EQ(old.next_control(),
		  (Words{ 9, 1, 64, RPCRDMA2_ERROR, RPCRDMA2_ERR_VERS, 2, 2 }));
	EXPECT_EQ(old.peek(), u32{ RPCRDMA_TX_NONE });

	/* If authentication does not fail they leave. */
	Both b = both(RPCRDMA_AUTH_REQUIRED, RPCRDMA_AUTH_REQUIRED);
	b.run(kSecret, [&](u32 n, Octets &o) {
		if (n == 3)
			b.server.receive(
				prefix(5, kUnknownType, word_at(o, 2)));
		return true;
	});
	EXPECT_TRUE(b.client.session.ready());
	EXPECT_EQ(std::count(b.types.begin(), b.types.end(),
			     u32{ RPCRDMA2_ERROR }),
		  1);
}

TEST(auth, client__stops_waiting)
{
	Endpoint strict = client();
	(void)strict.next();
	EXPECT_FALSE(strict.session.auth_late());
	EXPECT_EQ(strict.session.auth_state(), u32{ RPCRDMA_AUTH_FAILED });
	EXPECT_EQ(reason(strict), u32{ RPCRDMA_AUTH_R_LATE });
	EXPECT_EQ(strict.peek(), u32{ RPCRDMA_TX_NONE });
	strict.receive(connprop(kServerXid));
	EXPECT_EQ(strict.rx.action, u32{ RPCRDMA_RX_CLOSE });
	EXPECT_EQ(strict.rx.reason, u32{ RPCRDMA_REASON_AUTH });

	/* It has no credit for a FINAL: it has to connect again. */
	Endpoint poor = client(RPCRDMA_AUTH_OFFERED);
	(void)poor.next();
	EXPECT_FALSE(poor.session.auth_late());
	EXPECT_EQ(poor.session.auth_state(), u32{ RPCRDMA_AUTH_WITHOUT });
	EXPECT_EQ(poor.peek(), u32{ RPCRDMA_TX_NONE });

	Endpoint granted = client(RPCRDMA_AUTH_OFFERED);
	(void)granted.next();
	granted.receive(prefix(0, RPCRDMA2_GRANT));
	EXPECT_TRUE(granted.session.auth_late());
	ASSERT_EQ(granted.next(), u32{ RPCRDMA_TX_CONTROL });
	EXPECT_EQ(granted.tx.htype, u32{ RPCRDMA2_CONNPROP_FINAL });
	EXPECT_EQ(granted.sent.size(), 20u) << "there is no more to tell";
	EXPECT_FALSE(granted.session.ready());
	granted.receive(connprop(kServerXid, property(2, 2048)));
	EXPECT_TRUE(granted.rx.opened);
	EXPECT_EQ(granted.session.auth_state(), u32{ RPCRDMA_AUTH_WITHOUT });
	EXPECT_EQ(reason(granted), u32{ RPCRDMA_AUTH_R_LATE });

	/* After a CHALLENGE there is nothing but DONE. */
	Both b = both(RPCRDMA_AUTH_OFFERED, RPCRDMA_AUTH_OFFERED);
	b.run(kSecret, [&](u32 n, Octets &) { return n < 4; });
	EXPECT_FALSE(b.client.session.auth_late());
	EXPECT_EQ(b.client.session.auth_state(), u32{ RPCRDMA_AUTH_FAILED });
}

/* A client that has stopped waiting crosses the server's CHALLENGE. */
TEST(auth, server__offers_and_its_client_goes_on_without)
{
	Endpoint s = server(RPCRDMA_AUTH_OFFERED);
	Endpoint c = client(RPCRDMA_AUTH_OFFERED);

	(void)c.next();
	s.receive_octets(c.sent);
	ASSERT_TRUE(s.session.auth_key(bytes(kSecret), bytes(kDecoy)));
	(void)s.next();
	const Octets challenge = s.sent;
	c.receive(prefix(0, RPCRDMA2_GRANT));
	ASSERT_TRUE(c.session.auth_late());
	(void)c.next();
	s.receive_octets(c.sent);
	EXPECT_TRUE(s.session.ready());
	EXPECT_EQ(s.session.auth_state(), u32{ RPCRDMA_AUTH_WITHOUT });
	EXPECT_EQ(s.info().peer.recv_size, 8192u) << "from the MIDDLE";
	ASSERT_EQ(s.next(), u32{ RPCRDMA_TX_CONTROL });
	c.receive_octets(challenge);
	EXPECT_FALSE(c.session.ready());
	c.receive_octets(s.sent);
	EXPECT_TRUE(c.session.ready());
	EXPECT_EQ(c.info().peer.recv_size, 8192u);
}

TEST(auth, server__waits_in_vain)
{
	Endpoint s = server(RPCRDMA_AUTH_OFFERED);
	Endpoint c = client();

	(void)c.next();
	s.receive_octets(c.sent);
	ASSERT_TRUE(s.session.auth_key(bytes(kSecret), bytes(kDecoy)));
	(void)s.next();
	EXPECT_EQ(s.session.auth_state(), u32{ RPCRDMA_AUTH_WAITS });
	EXPECT_FALSE(s.session.auth_late());
	EXPECT_EQ(s.session.auth_state(), u32{ RPCRDMA_AUTH_FAILED });
	EXPECT_EQ(reason(s), u32{ RPCRDMA_AUTH_R_LATE });
}

/* They were in the CHALLENGE. When its FINAL is due it cannot have smaller Receives. */
TEST(auth, server__has_told_of_its_receives_before_the_clients_final)
{
	constexpr u32 kXchar = 1U << Extensions::place<Xcharext>();
	const auto end = [&](rpcrdma_role role) {
		return endpoint(role, RPCRDMA_AUTH_REQUIRED, kSecret, 2, 2,
				kXchar);
	};
	Both b = {
		end(RPCRDMA_ROLE_CLIENT), end(RPCRDMA_ROLE_SERVER), {}, {}
	};

	b.run(kSecret, [&](u32 n, Octets &o) {
		if (n != 3)
			return true;
		b.server.receive_octets(o);
		EXPECT_FALSE(b.server.session.with<Xcharext>(
			[](Xcharext &x, Port &port) {
				return x.begin(port, 1024);
			}));
		return false;
	});
	EXPECT_TRUE(b.client.session.ready());
	EXPECT_TRUE(b.server.session.in_use(Extensions::place<Xcharext>()));
	EXPECT_EQ(b.server.info().local.recv_size, 8192u);
	EXPECT_EQ(b.client.info().peer.recv_size, 8192u);
}

/* Its properties have gone with the OPEN: it says that there are no more. */
TEST(auth, client__buffer_too_small_for_its_final)
{
	Endpoint c = client(RPCRDMA_AUTH_OFFERED);
	const u32 size = 20;
	rpcrdma_tx tx;

	(void)c.next();
	c.receive(prefix(0, RPCRDMA2_GRANT));
	ASSERT_TRUE(c.session.auth_late());
	for (u32 room = 0; room < size; room++) {
		std::unique_ptr<u8[]> out(new u8[room]);

		EXPECT_EQ(c.session.next_send(nullptr, { out.get(), room }, tx),
			  u32{ RPCRDMA_TX_INVALID });
	}
	ASSERT_EQ(c.next(), u32{ RPCRDMA_TX_CONTROL });
	EXPECT_EQ(c.tx.htype, u32{ RPCRDMA2_CONNPROP_FINAL });
	EXPECT_EQ(c.sent.size(), size);
}

/* The OPEN gives none: the CHALLENGE waits until one has come. */
TEST(auth, key__before_there_is_a_credit)
{
	Endpoint s = server();
	Endpoint c = client();

	(void)c.next();
	Octets open = c.sent;
	std::fill_n(open.begin() + 8, 4, 0);
	s.receive_octets(open);
	EXPECT_EQ(s.session.auth_state(), u32{ RPCRDMA_AUTH_WANTS_KEY });
	EXPECT_FALSE(s.session.auth_key(bytes(kSecret), bytes(kDecoy)));
	EXPECT_EQ(s.session.auth_state(), u32{ RPCRDMA_AUTH_WAITS });
	EXPECT_EQ(s.peek(), u32{ RPCRDMA_TX_BLOCKED });
	s.receive(prefix(0, RPCRDMA2_GRANT, 1));
	EXPECT_TRUE(s.rx.kick);
	ASSERT_EQ(s.next(), u32{ RPCRDMA_TX_CONTROL });
	EXPECT_EQ(s.tx.htype, u32{ RPCRDMA2_CONNPROP_MIDDLE });
}

TEST(auth, key__of_a_session_that_has_closed)
{
	Endpoint s = server();
	Endpoint c = client();

	(void)c.next();
	s.receive_octets(c.sent);
	s.receive(prefix(0, RPCRDMA2_GRANT, 0xfffffff0));
	EXPECT_EQ(s.rx.action, u32{ RPCRDMA_RX_CLOSE });
	EXPECT_EQ(s.rx.reason, u32{ RPCRDMA_REASON_CREDIT_LIMIT });
	EXPECT_FALSE(s.session.auth_key(bytes(kSecret), bytes(kDecoy)));
	EXPECT_EQ(s.peek(), u32{ RPCRDMA_TX_NONE });
}

/* Nothing can be computed with it, and so nothing is said. */
TEST(auth, key__that_cannot_be_used)
{
	Endpoint s = server();
	Endpoint c = client();

	(void)c.next();
	s.receive_octets(c.sent);
	hostauth::good_calls = 0;
	EXPECT_FALSE(s.session.auth_key(bytes(kSecret), bytes(kDecoy)));
	hostauth::good_calls = -1;
	EXPECT_EQ(s.session.auth_state(), u32{ RPCRDMA_AUTH_FAILED });
	EXPECT_EQ(reason(s), u32{ RPCRDMA_AUTH_R_INTERNAL });
	EXPECT_EQ(s.peek(), u32{ RPCRDMA_TX_NONE });
}

TEST(auth, key__is_asked_for_once_and_only_then)
{
	Endpoint s = server();
	Endpoint c = client();

	EXPECT_FALSE(s.session.auth_key(bytes(kSecret), bytes(kDecoy)));
	EXPECT_EQ(s.session.auth_state(), u32{ RPCRDMA_AUTH_OPEN });
	(void)c.next();
	s.receive_octets(c.sent);
	EXPECT_TRUE(s.session.auth_key(bytes(kSecret), bytes(kDecoy)));
	EXPECT_FALSE(s.session.auth_key(bytes(kOther), bytes(kDecoy)));
	(void)s.next();
	c.receive_octets(s.sent);
	EXPECT_EQ(c.peek(), u32{ RPCRDMA_TX_CONTROL }) << "the first counts";
}

/* ------------------------------------------------------------------ */

TEST(auth, version1__is_not_spoken_if_it_is_demanded)
{
	rpcrdma_auth a = auth(RPCRDMA_ROLE_CLIENT, RPCRDMA_AUTH_REQUIRED);
	rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);

	c.auth = &a;
	c.min_version = c.max_version = 1;
	EXPECT_FALSE(Session::valid(c));
	c.max_version = 2;
	EXPECT_TRUE(Session::valid(c));

	for (u32 vers : { 1u, 2u }) {
		Endpoint e(c);
		(void)e.next();
		e.receive(prefix(kClientXid, RPCRDMA2_ERROR, 32, vers) +
			  Words{ RPCRDMA2_ERR_VERS, 1, 1 });
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
		EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_AUTH });
		EXPECT_EQ(reason(e), u32{ RPCRDMA_AUTH_R_VERSION });
		EXPECT_FALSE(e.session.ready());
	}

	Endpoint s =
		endpoint(RPCRDMA_ROLE_SERVER, RPCRDMA_AUTH_REQUIRED, {}, 1, 2);
	s.receive(prefix(9, RPCRDMA1_MSG, 32, 1) + Words{ 0, 0, 0 } +
		  rpc(9, RPCRDMA_CALL, 40));
	EXPECT_EQ(s.rx.action, u32{ RPCRDMA_RX_DROP });
	EXPECT_EQ(s.rx.reason, u32{ RPCRDMA_REASON_AUTH });
	EXPECT_EQ(s.next_control(),
		  (Words{ 9, 1, 64, RPCRDMA2_ERROR, RPCRDMA2_ERR_VERS, 2, 2 }));
	EXPECT_EQ(reason(s), u32{ RPCRDMA_AUTH_R_VERSION });
	s.receive(connprop(kClientXid));
	EXPECT_EQ(s.rx.action, u32{ RPCRDMA_RX_CLOSE });
}

TEST(auth, version1__is_spoken_if_it_is_offered)
{
	Endpoint c = endpoint(RPCRDMA_ROLE_CLIENT, RPCRDMA_AUTH_OFFERED,
			      kSecret, 1, 2);
	(void)c.next();
	c.receive(prefix(kClientXid, RPCRDMA2_ERROR, 32, 1) +
		  Words{ RPCRDMA2_ERR_VERS, 1, 1 });
	EXPECT_TRUE(c.rx.opened);
	EXPECT_EQ(c.session.version(), 1u);
	EXPECT_EQ(c.session.auth_state(), u32{ RPCRDMA_AUTH_WITHOUT });
	EXPECT_EQ(reason(c), u32{ RPCRDMA_AUTH_R_VERSION });

	Endpoint first = endpoint(RPCRDMA_ROLE_CLIENT, RPCRDMA_AUTH_OFFERED,
				  kSecret, 1, 1);
	EXPECT_TRUE(first.session.ready());
	EXPECT_EQ(first.session.auth_state(), u32{ RPCRDMA_AUTH_WITHOUT });

	Endpoint s =
		endpoint(RPCRDMA_ROLE_SERVER, RPCRDMA_AUTH_OFFERED, {}, 1, 2);
	s.receive(prefix(9, RPCRDMA1_MSG, 32, 1) + Words{ 0, 0, 0 } +
		  rpc(9, RPCRDMA_CALL, 40));
	EXPECT_TRUE(s.rx.opened);
	EXPECT_EQ(s.session.auth_state(), u32{ RPCRDMA_AUTH_WITHOUT });

	/* Who has proved itself speaks version 2. */
	Both b = { endpoint(RPCRDMA_ROLE_CLIENT, RPCRDMA_AUTH_OFFERED, kSecret,
			    1, 2),
		   server(),
		   {},
		   {} };
	b.run(kSecret, [&](u32 n, Octets &) { return n < 4; });
	b.client.receive(prefix(kClientXid, RPCRDMA2_ERROR) +
			 Words{ RPCRDMA2_ERR_VERS, 1, 1 });
	EXPECT_EQ(b.client.rx.action, u32{ RPCRDMA_RX_CLOSE });
	EXPECT_EQ(b.client.rx.reason, u32{ RPCRDMA_REASON_AUTH });
}

/* ------------------------------------------------------------------ */

TEST(auth, client__an_error_about_its_message_ends_the_exchange)
{
	for (u32 code : { RPCRDMA2_ERR_SYSTEM, RPCRDMA2_ERR_BAD_PROPVAL,
			  RPCRDMA2_ERR_INVAL_HTYPE, RPCRDMA2_ERR_BAD_XDR }) {
		Endpoint e = client(RPCRDMA_AUTH_OFFERED);

		(void)e.next();
		e.receive(prefix(99, RPCRDMA2_ERROR) + Words{ code });
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
		EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_EARLY });
		e.receive(prefix(kClientXid, RPCRDMA2_ERROR) + Words{ 55 });
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
		e.receive(prefix(kClientXid, RPCRDMA2_ERROR) + Words{ code });
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE }) << code;
		EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_AUTH });
		EXPECT_EQ(reason(e), u32{ RPCRDMA_AUTH_R_REFUSED });
	}
}

TEST(auth, server__an_error_about_nothing_changes_nothing)
{
	Both b = both(RPCRDMA_AUTH_REQUIRED, RPCRDMA_AUTH_REQUIRED);

	b.run(kSecret, [&](u32 n, Octets &) {
		if (n == 3)
			b.server.receive(prefix(99, RPCRDMA2_ERROR) +
					 Words{ RPCRDMA2_ERR_SYSTEM });
		return true;
	});
	EXPECT_TRUE(b.client.session.ready());

	Endpoint s = server();
	s.receive(prefix(kServerXid, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_SYSTEM });
	EXPECT_EQ(s.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	EXPECT_EQ(s.session.auth_state(), u32{ RPCRDMA_AUTH_OPEN })
		<< "it has sent nothing";
}

TEST(auth, both__a_set_that_does_not_parse)
{
	for (u32 policy : { RPCRDMA_AUTH_OFFERED, RPCRDMA_AUTH_REQUIRED }) {
		Endpoint s = server(policy);
		s.receive(connprop(7, { 1 }, RPCRDMA2_CONNPROP_MIDDLE));
		EXPECT_EQ(s.rx.reason, u32{ RPCRDMA_REASON_AUTH });
		EXPECT_EQ(s.next_error(7), Words{ RPCRDMA2_ERR_BAD_XDR });
		EXPECT_EQ(reason(s), u32{ RPCRDMA_AUTH_R_FORM });

		Endpoint c = client(policy);
		(void)c.next();
		c.receive(connprop(7, { 1, 1, 8, 0, 0 },
				   RPCRDMA2_CONNPROP_MIDDLE));
		EXPECT_EQ(c.next_error(7), Words{ RPCRDMA2_ERR_BAD_PROPVAL });
		EXPECT_EQ(c.session.auth_state(), u32{ RPCRDMA_AUTH_FAILED });
		EXPECT_EQ(c.peek(), u32{ RPCRDMA_TX_NONE });
	}
}

/* It has believed its client, and that stays so. */
TEST(auth, server__ends_before_it_has_sent_done)
{
	Both b = both(RPCRDMA_AUTH_REQUIRED, RPCRDMA_AUTH_REQUIRED);

	b.run(kSecret, [&](u32 n, Octets &o) {
		if (n != 3)
			return n < 3;
		b.server.receive_octets(o);
		EXPECT_EQ(b.server.session.auth_state(),
			  u32{ RPCRDMA_AUTH_DONE });
		b.server.session.auth_end();
		b.server.rx.action = RPCRDMA_RX_CLOSE;
		return false;
	});
	EXPECT_EQ(b.server.session.auth_state(), u32{ RPCRDMA_AUTH_DONE });
	EXPECT_EQ(reason(b.server), u32{ RPCRDMA_AUTH_R_NONE });
	EXPECT_EQ(b.sent.size(), 3u);
}

TEST(auth, server__a_property_set_after_the_exchange)
{
	Both b = both(RPCRDMA_AUTH_REQUIRED, RPCRDMA_AUTH_REQUIRED);

	b.run();
	b.server.receive_octets(b.sent[0]);
	EXPECT_EQ(b.server.next_error(kClientXid),
		  Words{ RPCRDMA2_ERR_INVAL_CONT });
	EXPECT_TRUE(b.server.session.ready());
}

TEST(auth, client__has_no_key)
{
	Endpoint strict = client(RPCRDMA_AUTH_REQUIRED, {});
	EXPECT_EQ(strict.next(), u32{ RPCRDMA_TX_NONE });
	EXPECT_EQ(reason(strict), u32{ RPCRDMA_AUTH_R_NO_KEY });
	Endpoint offered = client(RPCRDMA_AUTH_OFFERED, {});
	ASSERT_EQ(offered.next(), u32{ RPCRDMA_TX_CONTROL });
	EXPECT_EQ(offered.tx.htype, u32{ RPCRDMA2_CONNPROP_FINAL });
	offered.receive(connprop(kServerXid));
	EXPECT_TRUE(offered.rx.opened);
}

TEST(auth, valid__config)
{
	rpcrdma_auth a = auth(RPCRDMA_ROLE_CLIENT, RPCRDMA_AUTH_REQUIRED);
	rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);

	c.auth = &a;
	EXPECT_TRUE(Session::valid(c));
	a.policy = RPCRDMA_AUTH_POLICIES;
	EXPECT_FALSE(Session::valid(c));
	a.policy = RPCRDMA_AUTH_OFFERED;
	a.name_size = 65;
	EXPECT_FALSE(Session::valid(c));
	a.name_size = 64;
	a.secret_size = 49;
	EXPECT_FALSE(Session::valid(c));
	a.secret_size = 48;
	EXPECT_TRUE(Session::valid(c));
}

/* The host cannot compute: whichever of its computations it is, nobody believes. */
TEST(auth, both__the_host_cannot_compute)
{
	for (int good = 0; good < 40; good++) {
		hostauth::good_calls = good;
		Both b = both(RPCRDMA_AUTH_REQUIRED, RPCRDMA_AUTH_REQUIRED);
		b.run();
		const bool all = hostauth::good_calls >= 0;
		hostauth::good_calls = -1;
		EXPECT_EQ(b.client.session.ready(), all) << good;
		if (!all)
			EXPECT_TRUE(over(b.client) || over(b.server) ||
				    b.client.peek() != RPCRDMA_TX_CONTROL)
				<< good;
	}
}

TEST(auth, secret__nothing_of_it_is_left)
{
	Digest s;
	ASSERT_TRUE(hkdf_extract({}, bytes(kSecret), s));
	const Octets derived(s.octets, s.octets + sizeof(s.octets));

	Both b = both(RPCRDMA_AUTH_REQUIRED, RPCRDMA_AUTH_REQUIRED);
	EXPECT_FALSE(contains(b.client.session, kSecret));
	EXPECT_TRUE(contains(b.client.session, derived));
	b.run();
	EXPECT_FALSE(contains(b.client.session, derived));
	EXPECT_FALSE(contains(b.server.session, derived));

	Endpoint c = client();
	c.session.auth_end();
	EXPECT_FALSE(contains(c.session, derived));
	EXPECT_EQ(reason(c), u32{ RPCRDMA_AUTH_R_ENDED });
}

TEST(auth, abi__passes_everything_on)
{
	rpcrdma_auth a = auth(RPCRDMA_ROLE_CLIENT, RPCRDMA_AUTH_OFFERED);
	rpcrdma_auth b = auth(RPCRDMA_ROLE_SERVER, RPCRDMA_AUTH_OFFERED);
	rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);
	rpcrdma_config d = config(RPCRDMA_ROLE_SERVER);
	rpcrdma_session ours;
	rpcrdma_session theirs;
	rpcrdma_rx rx;
	rpcrdma_tx tx;
	u8 buffer[4096];
	u8 name[RPCRDMA_AUTH_NAME];

	c.auth = &a;
	d.auth = &b;
	ASSERT_TRUE(rpcrdma_session_init(&ours, &c));
	ASSERT_TRUE(rpcrdma_session_init(&theirs, &d));
	EXPECT_EQ(rpcrdma_session_auth_name(&theirs, name), 0u);
	ASSERT_EQ(rpcrdma_session_next_send(&ours, nullptr, buffer,
					    sizeof(buffer), &tx),
		  u32{ RPCRDMA_TX_CONTROL });
	rpcrdma_session_receive(&theirs, buffer, tx.header_length, &rx);
	EXPECT_EQ(rpcrdma_session_auth(&theirs), u32{ RPCRDMA_AUTH_WANTS_KEY });
	ASSERT_EQ(rpcrdma_session_auth_name(&theirs, name), kName.size());
	EXPECT_EQ(std::memcmp(name, kName.data(), kName.size()), 0);
	EXPECT_EQ(name[kName.size()], 0);
	EXPECT_TRUE(rpcrdma_session_auth_key(
		&theirs, kSecret.data(), RPCRDMA_AUTH_LEAST, kDecoy.data()));
	EXPECT_FALSE(rpcrdma_session_auth_late(&theirs));
	EXPECT_EQ(rpcrdma_session_auth_reason(&theirs),
		  u32{ RPCRDMA_AUTH_R_LATE });
	rpcrdma_session_auth_end(&ours);
	EXPECT_EQ(rpcrdma_session_auth(&ours), u32{ RPCRDMA_AUTH_FAILED });
	EXPECT_STREQ(rpcrdma_auth_reason_name(RPCRDMA_AUTH_R_LATE), "late");
	EXPECT_STREQ(rpcrdma_auth_reason_name(RPCRDMA_AUTH_R_REFUSED),
		     "refused");
	EXPECT_STREQ(rpcrdma_auth_reason_name(RPCRDMA_AUTH_REASONS), "?");
}
