// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The exchange of section 4.3, and the values that a session reports.
 */
#include "support.h"

using namespace rpcrdma;
using namespace unit;

namespace
{

/* What is private of a session: an explicit instantiation may name it. */
struct OfPhase {
	friend auto member(OfPhase);
};
struct OfReason {
	friend auto member(OfReason);
};
struct OfExchange {
	friend auto member(OfExchange);
};

template <typename Of, auto what> struct Reveal {
	friend auto member(Of)
	{
		return what;
	}
};

template struct Reveal<OfPhase, &Session::phase_>;
template struct Reveal<OfReason, &Session::closed_>;
template struct Reveal<OfExchange, &Session::exchange_>;

constexpr Phase kAllPhases[] = { Phase::Agreeing, Phase::Open, Phase::Closed };
constexpr Told kAllTold[] = { Told::Nothing, Told::Middle, Told::Final };

} // namespace

/* From each phase only a later one can be reached, and nothing comes back from the last. */
TEST(session, phases__only_go_on)
{
	static_assert(std::size(kAllPhases) == kPhases);
	for (const Phase from : kAllPhases)
		for (const Phase to : kAllPhases) {
			const bool may = kNextPhases[static_cast<u32>(from)] &
					 phase_bit(to);

			EXPECT_EQ(may, to > from || (from == Phase::Closed &&
						     to == Phase::Closed));
		}
}

/* A session that is somewhere else than its phase allows is not sound, and in version 1 neither. */
TEST(session, invariants__of_the_phase_and_the_exchange)
{
	for (const rpcrdma_role role :
	     { RPCRDMA_ROLE_CLIENT, RPCRDMA_ROLE_SERVER }) {
		Session s = role == RPCRDMA_ROLE_CLIENT ?
				    open_client().session :
				    open_server().session;
		u32 sound = 0;

		for (const Phase phase : { Phase::Agreeing, Phase::Open })
			for (const Told sent : kAllTold)
				for (const Told received : kAllTold) {
					s.*member(OfPhase{}) = phase;
					s.*member(OfExchange{}) = { sent,
								    received };
					s.send_room(UINT32_MAX); /* settles */
					const bool may =
						kExchanges[role][static_cast<u32>(
							phase)] &
						exchange_bit(sent, received);

					EXPECT_EQ(s.invariants(), may);
					sound += may;
				}
		EXPECT_GT(sound, 9u);
		EXPECT_LT(sound, 18u);
		s.*member(OfPhase{}) = Phase::Closed;
		s.send_room(UINT32_MAX);
		EXPECT_FALSE(s.invariants()) << "for what reason?";
	}
}

TEST(session, invariants__of_version_1_has_no_exchange)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);

	c.min_version = c.max_version = 1;
	Session s(c);
	ASSERT_TRUE(s.ready());
	ASSERT_TRUE(s.invariants());
	s.*member(OfExchange{}) = { Told::Final, Told::Final };
	s.send_room(UINT32_MAX); /* settles */
	EXPECT_FALSE(s.invariants());
	s.*member(OfExchange{}) = { Told::Middle, Told::Nothing };
	s.send_room(UINT32_MAX);
	EXPECT_FALSE(s.invariants());
}

/* Another message has opened the client. Between its server's MIDDLE and FINAL nothing comes. */
TEST(session, client__a_middle_after_it_has_opened)
{
	for (const bool general : { false, true }) {
		Endpoint c(config(RPCRDMA_ROLE_CLIENT),
			   Session::Options{ .general = general });

		EXPECT_EQ(c.next(), u32{ RPCRDMA_TX_CONTROL });
		EXPECT_EQ(c.receive(reply_inline(7, rpc(7, RPCRDMA_REPLY, 40))).action,
			  u32{ RPCRDMA_RX_PAYLOAD });
		EXPECT_TRUE(c.rx.opened);
		EXPECT_EQ(c.receive(connprop(kServerXid, { 0 },
					     RPCRDMA2_CONNPROP_MIDDLE))
				  .action,
			  u32{ RPCRDMA_RX_CONTROL });
		EXPECT_EQ(c.receive(reply_inline(8, rpc(8, RPCRDMA_REPLY, 40))).reason,
			  u32{ RPCRDMA_REASON_CONTINUATION });
		EXPECT_EQ(c.receive(connprop(kServerXid)).action,
			  u32{ RPCRDMA_RX_CONTROL });
		EXPECT_EQ(c.receive(reply_inline(9, rpc(9, RPCRDMA_REPLY, 40))).action,
			  u32{ RPCRDMA_RX_PAYLOAD });
	}
}

/* A message takes fewer Sends than were kept for it: others have the credits. */
TEST(session, admit__a_message_that_is_shorter_than_planned)
{
	Endpoint c = open_client();
	rpcrdma_message msg = message(7, RPCRDMA_CALL, 100);

	ASSERT_TRUE(c.session.admit(&msg, 3));
	EXPECT_EQ(c.session.reserved(), 3u);
	EXPECT_EQ(c.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_TRUE(c.tx.last);
	EXPECT_EQ(c.session.reserved(), 0u);
	EXPECT_EQ(msg.reserved, 0u);
}

/* What a bug has closed while it sent says so at once. */
TEST(session, closed__while_it_sends)
{
	Endpoint c = open_client();
	rpcrdma_message msg = message(7, RPCRDMA_CALL, 100);

	msg.reserved = 1;
	tolerated_breaks = 1;
	EXPECT_EQ(c.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(tolerated_breaks, 0u);
	EXPECT_TRUE(c.tx.more);
	EXPECT_EQ(c.next(), u32{ RPCRDMA_TX_INVALID });
}

/* What has closed begins nothing, and stays closed. */
TEST(session, closed__begins_nothing)
{
	Endpoint e = open_client();
	rpcrdma_message msg = message(1, RPCRDMA_CALL, 100);

	ASSERT_TRUE(e.session.admit(&msg));
	e.session.put_back(msg);
	const u32 never = e.info().sent + 0x7fffffff;
	ASSERT_EQ(e.receive(prefix(0, RPCRDMA2_GRANT, never)).action,
		  u32{ RPCRDMA_RX_CLOSE });
	EXPECT_FALSE(e.session.ready());
	EXPECT_FALSE(e.session.admit(&msg));
	EXPECT_EQ(msg.reserved, 0u);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_NONE });
	EXPECT_EQ(e.receive(connprop(kServerXid)).action,
		  u32{ RPCRDMA_RX_CLOSE });
	EXPECT_FALSE(e.session.ready());
}

/* What this side has found wrong with itself is told to whoever sends next. */
TEST(session, closed__by_an_invariant_is_learnt_by_sending)
{
	Endpoint e = open_client();
	rpcrdma_message msg = message(1, RPCRDMA_CALL, 100);

	e.session.*member(OfPhase{}) = Phase::Closed;
	e.session.*member(OfReason{}) = RPCRDMA_REASON_INVARIANT;
	e.session.send_room(UINT32_MAX); /* settles */
	EXPECT_TRUE(e.session.admit(&msg));
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_INVALID });
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_INVALID });
}

TEST(session, valid__config)
{
	const rpcrdma_config good = config(RPCRDMA_ROLE_CLIENT);
	const auto bad = [&](auto change) {
		rpcrdma_config c = good;

		change(c);
		return !Session::valid(c);
	};
	using C = rpcrdma_config;

	EXPECT_TRUE(Session::valid(good));
	EXPECT_TRUE(Session::valid(config(RPCRDMA_ROLE_SERVER)));
	/* All bounds are inclusive. */
	EXPECT_FALSE(bad([](C &c) {
		c.max_message = 1024;
		c.max_read_chunks = 16;
		c.max_write_chunks = 8;
		c.local.send_size = c.local.recv_size = 1024;
		c.local.max_segments = 0;
	}));
	EXPECT_TRUE(bad([](C &c) { c.role = 2; }));
	for (u32 window : { 0u, 1u, 2u, 0x7fffffffu, UINT32_MAX })
		EXPECT_TRUE(bad([&](C &c) { c.window = window; }));
	for (u32 window : { 3u, 0x7ffffffeu })
		EXPECT_FALSE(bad([&](C &c) { c.window = window; }));
	EXPECT_TRUE(bad([](C &c) { c.max_message = 1023; }));
	EXPECT_TRUE(bad([](C &c) { c.max_reverse_call = c.max_message + 1; }));
	EXPECT_FALSE(bad([](C &c) { c.max_reverse_call = c.max_message; }));
	EXPECT_TRUE(bad([](C &c) { c.max_read_chunks = 17; }));
	EXPECT_TRUE(bad([](C &c) { c.max_write_chunks = 9; }));
	EXPECT_TRUE(bad([](C &c) { c.local.max_segments = 17; }));
	EXPECT_TRUE(bad([](C &c) { c.local.send_size = 1023; }));
	EXPECT_TRUE(bad([](C &c) { c.local.recv_size = 1023; }));
	EXPECT_TRUE(bad([](C &c) { c.local.max_segment_size = 0; }));
	EXPECT_TRUE(bad([](C &c) { c.local.reverse = 4; }));
}

TEST(session, client__sends_its_final_first_and_waits_D5)
{
	Endpoint e(config(RPCRDMA_ROLE_CLIENT));
	rpcrdma_message msg = message(1, RPCRDMA_CALL, 100);

	EXPECT_FALSE(e.session.ready());
	EXPECT_EQ(e.info().version, 0u);
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_CONTROL });
	EXPECT_EQ(e.tx.htype, u32{ RPCRDMA2_CONNPROP_FINAL });
	EXPECT_LE(e.sent.size(), 1024u);
	EXPECT_EQ(word_at(e.sent, 0), kClientXid);
	EXPECT_EQ(word_at(e.sent, 1), 2u);
	EXPECT_EQ(word_at(e.sent, 2), 64u) << "D1: nothing received yet";
	EXPECT_EQ(word_at(e.sent, 3), u32{ RPCRDMA2_CONNPROP_FINAL });

	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_BLOCKED });
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
	EXPECT_EQ(msg.sent, 0u);
	EXPECT_FALSE(e.session.ready());
}

TEST(session, client__opens_with_the_servers_final)
{
	Endpoint e(config(RPCRDMA_ROLE_CLIENT));
	rpcrdma_message msg = message(1, RPCRDMA_CALL, 100);

	(void)e.next();
	e.receive(connprop(kServerXid, property(2, 8192)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	EXPECT_TRUE(e.rx.opened);
	EXPECT_TRUE(e.rx.kick);
	EXPECT_TRUE(e.session.ready());
	EXPECT_EQ(e.info().version, 2u);
	EXPECT_EQ(e.info().peer.recv_size, 8192u);
	EXPECT_EQ(e.info().max_send, 4096u) << "its own send_size";
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
}

TEST(session, client__its_own_properties_are_in_the_final)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);
	Properties p = kDefaultProperties;

	c.local = { 8192, 16384, 65536, 8, RPCRDMA_RVRSDIR_CONT };
	Endpoint e(c);
	(void)e.next();
	const Exact copy(e.sent);
	ASSERT_EQ(decode_properties(copy.bytes().after(16), p),
		  PropertyParse::Ok);
	const rpcrdma_properties &told = p;
	EXPECT_EQ(std::memcmp(&told, &c.local, sizeof(told)), 0);
}

TEST(session, client__refused_with_ERR_VERS_of_either_version_D5)
{
	for (u32 vers : { 1u, 2u }) {
		Endpoint e(config(RPCRDMA_ROLE_CLIENT));

		(void)e.next();
		/* A version 1 credit word is a window: it is not a count. */
		e.receive(prefix(kClientXid, RPCRDMA2_ERROR, 32, vers) +
			  Words{ RPCRDMA2_ERR_VERS, 1, 1 });
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
		EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_NO_VERSION });
		EXPECT_EQ(e.info().peer_credits, 0u) << "word was read";
		EXPECT_EQ(e.info().version, 0u);
	}
}

TEST(session, client__closed_stays_closed)
{
	Endpoint e(config(RPCRDMA_ROLE_CLIENT));
	rpcrdma_message msg = message(1, RPCRDMA_CALL, 100);

	(void)e.next();
	e.receive(prefix(kClientXid, RPCRDMA2_ERROR, 32, 1) + Words{ 1, 1, 1 });
	ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
	e.receive(connprop(kServerXid));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_NO_VERSION });
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_NONE });
	EXPECT_FALSE(e.session.ready());
	EXPECT_FALSE(e.session.release(1));
	EXPECT_FALSE(e.session.refuse(Xid{ 1 }, { RPCRDMA2_ERR_SYSTEM, {} }));
}

TEST(session, client__any_other_version_in_the_answer)
{
	for (u32 vers : { 0u, 1u, 3u, UINT32_MAX }) {
		Endpoint e(config(RPCRDMA_ROLE_CLIENT));

		(void)e.next();
		e.receive(prefix(kClientXid, 0, 32, vers));
		EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_NO_VERSION });
	}
}

TEST(session, client__its_final_is_refused)
{
	for (u32 code : { RPCRDMA2_ERR_INVAL_HTYPE, RPCRDMA2_ERR_BAD_XDR }) {
		Endpoint e(config(RPCRDMA_ROLE_CLIENT));

		(void)e.next();
		e.receive(prefix(kClientXid, RPCRDMA2_ERROR) + Words{ code });
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
		EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_NO_VERSION });
	}
}

/* Without an exchange of properties the defaults hold (4.2.2). */
TEST(session, client__its_properties_are_refused_D10)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);
	rpcrdma_message msg = message(7, RPCRDMA_CALL, 8000);

	c.local.send_size = c.local.recv_size = 8192;
	c.local.reverse = RPCRDMA_RVRSDIR_CONT;
	Endpoint e(c);
	(void)e.next();
	e.receive(prefix(kClientXid, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_BAD_PROPVAL });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	EXPECT_TRUE(e.rx.opened);
	EXPECT_EQ(e.info().version, 2u);
	EXPECT_GT(e.info().peer_credits, 100u) << "its word counts";
	/* The server may have Receives of 4096 octets, whatever it sends. */
	e.receive(connprop(kServerXid, property(2, 65536)));
	EXPECT_EQ(e.info().max_send, 4096u);
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.tx.header_length + e.tx.payload.length, 4096u);
	while (!e.tx.last)
		ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	/* It takes callbacks for unsupported, too. */
	e.receive(call_inline(9, rpc(9, RPCRDMA_CALL, 40)));
	EXPECT_EQ(e.next_error(9), Words{ RPCRDMA2_ERR_INVAL_HTYPE });
}

TEST(session, server__its_properties_are_refused_D10)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_SERVER);

	c.local.send_size = 8192;
	Endpoint e = open_server(c, property(2, 8192));
	EXPECT_EQ(e.info().max_send, 8192u);
	e.receive(prefix(kServerXid, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_BAD_PROPVAL });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	EXPECT_EQ(e.info().max_send, 4096u);
	EXPECT_TRUE(e.session.ready());
	/* About something else it says nothing of that. */
	Endpoint other = open_server(c, property(2, 8192));
	other.receive(prefix(99, RPCRDMA2_ERROR) +
		      Words{ RPCRDMA2_ERR_BAD_PROPVAL });
	EXPECT_EQ(other.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	EXPECT_EQ(other.info().max_send, 8192u);
}

/* Its Receives are smaller than the default: what would come might not fit. */
TEST(session, client__its_properties_are_refused_and_the_defaults_cannot_hold)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);

	c.local.recv_size = 4092;
	Endpoint e(c);
	(void)e.next();
	e.receive(prefix(kClientXid, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_BAD_PROPVAL });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_PROPVAL });
	EXPECT_FALSE(e.rx.opened);
}

/* What it said of itself stays, where that is less than the defaults (5.2.1). */
TEST(session, client__its_properties_are_refused_and_it_sends_no_more)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);
	rpcrdma_message msg = message(7, RPCRDMA_CALL, 4000);

	c.local.send_size = 2048;
	Endpoint e(c);
	(void)e.next();
	e.receive(prefix(kClientXid, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_BAD_PROPVAL });
	ASSERT_TRUE(e.rx.opened);
	EXPECT_EQ(e.info().max_send, 2048u);
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.tx.header_length + e.tx.payload.length, 2048u);
	/* The word that comes with it is one of this version. */
	Endpoint other(c);
	(void)other.next();
	other.receive(prefix(kClientXid, RPCRDMA2_ERROR, 0x80000005) +
		      Words{ RPCRDMA2_ERR_BAD_PROPVAL });
	EXPECT_EQ(other.rx.action, u32{ RPCRDMA_RX_CLOSE });
	EXPECT_EQ(other.rx.reason, u32{ RPCRDMA_REASON_CREDIT_LIMIT });
}

TEST(session, client__an_error_about_nothing_does_not_open)
{
	for (const Words &body :
	     { Words{ RPCRDMA2_ERR_SYSTEM }, Words{ RPCRDMA2_ERR_VERS, 1, 1 },
	       Words{ RPCRDMA2_ERR_BAD_PROPVAL } }) {
		Endpoint e(config(RPCRDMA_ROLE_CLIENT));

		(void)e.next();
		e.receive(prefix(99, RPCRDMA2_ERROR) + body);
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
		EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_EARLY });
		EXPECT_FALSE(e.session.ready());
		e.receive(connprop(kServerXid));
		EXPECT_TRUE(e.rx.opened);
	}
}

/* Section 7: dropped in silence at any time. */
TEST(session, client__an_unknown_error_before_it_opens_D7)
{
	Endpoint e(config(RPCRDMA_ROLE_CLIENT));

	(void)e.next();
	for (u32 code : { 0u, 12u, 99u, 101u, UINT32_MAX }) {
		e.receive(prefix(kClientXid, RPCRDMA2_ERROR) + Words{ code });
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
		EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_UNKNOWN_ERROR });
	}
	e.receive(prefix(kClientXid, RPCRDMA2_ERROR));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_XDR });
	EXPECT_FALSE(e.rx.kick);
	e.receive(connprop(kServerXid));
	EXPECT_TRUE(e.rx.opened);
}

TEST(session, client__the_server_speaks_first)
{
	Endpoint e(config(RPCRDMA_ROLE_CLIENT));

	e.receive(connprop(kServerXid));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_EARLY });
}

TEST(session, client__opens_with_a_grant_and_takes_the_final_later)
{
	Endpoint e(config(RPCRDMA_ROLE_CLIENT));

	(void)e.next();
	e.receive(prefix(0, RPCRDMA2_GRANT));
	EXPECT_TRUE(e.rx.opened);
	EXPECT_EQ(e.info().max_send, 4096u) << "defaults hold";
	e.receive(connprop(kServerXid, property(2, 2048)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	EXPECT_FALSE(e.rx.opened);
	EXPECT_EQ(e.info().max_send, 2048u);
}

TEST(session, server__answers_a_final_with_its_own_D5)
{
	Endpoint e(config(RPCRDMA_ROLE_SERVER));

	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
	e.receive(connprop(kClientXid, property(2, 2048)));
	EXPECT_TRUE(e.rx.opened);
	EXPECT_TRUE(e.rx.kick);
	ASSERT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
	EXPECT_EQ(e.tx.htype, u32{ RPCRDMA2_CONNPROP_FINAL });
	EXPECT_EQ(word_at(e.sent, 0), kServerXid);
	EXPECT_EQ(word_at(e.sent, 2), 65u) << "D1: one received, 64 offered";
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE }) << "exactly one";
	EXPECT_EQ(e.info().max_send, 2048u);
}

/* The first message has its version, and says how many Receives wait for more. */
TEST(session, server__sends_what_the_first_message_allows_D5)
{
	for (const u32 credit : { 1u, 2u, 3u }) {
		Endpoint e(config(RPCRDMA_ROLE_SERVER));
		Words first = call_inline(7, rpc(7, RPCRDMA_CALL, 40));
		rpcrdma_message reply = message(7, RPCRDMA_REPLY, 40);
		u32 sent = 0;

		first[2] = credit;
		e.receive(first);
		while (sent < 2 && e.next(&reply) != RPCRDMA_TX_BLOCKED)
			sent++;
		EXPECT_EQ(sent, credit < 2 ? credit : 2);
	}
}

TEST(session, server__takes_any_legal_message_as_the_first_D5)
{
	const std::vector<Words> first = {
		connprop(kClientXid),
		connprop(kClientXid, { 0 }, RPCRDMA2_CONNPROP_MIDDLE),
		prefix(0, RPCRDMA2_GRANT),
		call_inline(7, rpc(7, RPCRDMA_CALL, 40)),
		middle(RPCRDMA2_CALL_MIDDLE, 7, 40, rpc(7, RPCRDMA_CALL, 40)),
		reply_inline(7, rpc(7, RPCRDMA_REPLY, 40)),
	};

	for (const Words &w : first) {
		Endpoint e(config(RPCRDMA_ROLE_SERVER));

		e.receive(w);
		EXPECT_TRUE(e.rx.opened) << w[3];
		EXPECT_TRUE(e.rx.kick);
		EXPECT_TRUE(e.session.ready());
		EXPECT_EQ(e.info().max_send, 4096u);
		/* Its own FINAL goes out before the answer. */
		rpcrdma_message msg = message(7, RPCRDMA_REPLY, 40);
		EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_CONTROL });
		EXPECT_EQ(e.tx.htype, u32{ RPCRDMA2_CONNPROP_FINAL });
		EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	}
}

TEST(session, server__an_illegal_first_message_does_not_open)
{
	Endpoint e(config(RPCRDMA_ROLE_SERVER));

	e.receive(prefix(7, RPCRDMA2_CALL_INLINE) + Words{ 0, 0 });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
	EXPECT_FALSE(e.rx.opened);
	EXPECT_FALSE(e.session.ready());
	/* But the peer speaks version 2, so it is told. */
	EXPECT_TRUE(e.rx.kick);
	EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_BAD_XDR });
	e.receive(connprop(kClientXid));
	EXPECT_TRUE(e.rx.opened);
}

TEST(session, server__version_1_client_gets_ERR_VERS_D5)
{
	Endpoint e(config(RPCRDMA_ROLE_SERVER));

	/* RDMA_MSG of version 1, asking for 32 credits. */
	e.receive(prefix(0xabcd, 0, 32, 1) + Words{ 0, 0, 0, 0xabcd, 0 });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_VERSION });
	EXPECT_TRUE(e.rx.kick);
	EXPECT_FALSE(e.rx.opened);
	/* RFC 8166: xid, vers, credits, RDMA_ERROR, ERR_VERS, low, high. */
	EXPECT_EQ(e.next_control(), (Words{ 0xabcd, 1, 64, 4, 1, 2, 2 }));
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
	EXPECT_FALSE(e.session.ready());
	EXPECT_EQ(e.info().version, 0u);
}

TEST(session, server__sends_a_version_1_client_nothing_else_D5)
{
	Endpoint e(config(RPCRDMA_ROLE_SERVER));
	rpcrdma_message msg = message(1, RPCRDMA_CALL, 40);

	/* Far more than the window, and no version 2 credit in any of them. */
	for (u32 i = 0; i < 1000; i++) {
		e.receive(prefix(i, 0, 32, 1) + Words{ 0, 0, 0, i, 0 });
		ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
		ASSERT_FALSE(e.grant);
		ASSERT_EQ(e.next_control(), (Words{ i, 1, 64, 4, 1, 2, 2 }));
		ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_BLOCKED });
	}
}

TEST(session, server__a_version_1_error_is_not_answered)
{
	Endpoint e(config(RPCRDMA_ROLE_SERVER));

	e.receive(prefix(7, RPCRDMA2_ERROR, 32, 1) + Words{ 1, 1, 1 });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
}

TEST(session, server__a_client_that_tries_version_3_first)
{
	Endpoint e(config(RPCRDMA_ROLE_SERVER));

	e.receive(prefix(7, 77, 32, 3));
	EXPECT_EQ(e.next_control(), (Words{ 7, 3, 65, 4, 1, 2, 2 }));
	e.receive(connprop(kClientXid));
	EXPECT_TRUE(e.rx.opened);
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
	EXPECT_EQ(e.tx.htype, u32{ RPCRDMA2_CONNPROP_FINAL });
}

TEST(session, server__two_messages_at_once_before_an_answer)
{
	Endpoint e(config(RPCRDMA_ROLE_SERVER));

	e.receive(connprop(kClientXid));
	e.receive(call_inline(7, rpc(7, RPCRDMA_CALL, 40)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_CREDIT });
}

TEST(session, connprop__after_the_final)
{
	for (u32 htype :
	     { RPCRDMA2_CONNPROP_MIDDLE, RPCRDMA2_CONNPROP_FINAL }) {
		Endpoint e = open_server(property(2, 8192));

		e.receive(connprop(5, property(2, 2048), htype));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
		EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_CONTINUATION });
		EXPECT_EQ(e.next_error(5), Words{ RPCRDMA2_ERR_INVAL_CONT });
		EXPECT_EQ(e.info().peer.recv_size, 8192u);
	}
}

TEST(session, connprop__middles_apply_with_the_final)
{
	Endpoint e(config(RPCRDMA_ROLE_SERVER));

	e.receive(connprop(1, property(2, 2048), RPCRDMA2_CONNPROP_MIDDLE));
	EXPECT_TRUE(e.rx.opened) << "the client needs credit to go on";
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
	EXPECT_EQ(e.info().peer.recv_size, 4096u) << "not yet";
	e.receive(connprop(2, property(5, 2), RPCRDMA2_CONNPROP_MIDDLE));
	e.receive(connprop(3, property(1, 3000)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	EXPECT_EQ(e.info().peer.recv_size, 2048u);
	EXPECT_EQ(e.info().peer.reverse, 2u);
	EXPECT_EQ(e.info().peer.send_size, 3000u);
}

TEST(session, connprop__client_waits_for_the_servers_final)
{
	Endpoint e(config(RPCRDMA_ROLE_CLIENT));
	rpcrdma_message msg = message(1, RPCRDMA_CALL, 40);

	(void)e.next();
	e.receive(connprop(1, property(2, 2048), RPCRDMA2_CONNPROP_MIDDLE));
	EXPECT_FALSE(e.rx.opened);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_BLOCKED });
	e.receive(prefix(0, RPCRDMA2_GRANT));
	EXPECT_FALSE(e.rx.opened) << "its FINAL is still to come";
	e.receive(connprop(2));
	EXPECT_TRUE(e.rx.opened);
	EXPECT_EQ(e.info().max_send, 2048u);
}

TEST(session, connprop__many_middles_do_not_starve)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);
	u32 grants = 0;

	c.window = 3;
	Endpoint e(c);
	(void)e.next();
	for (u32 i = 0; i < 40; i++) {
		e.receive(connprop(i, { 0 }, RPCRDMA2_CONNPROP_MIDDLE));
		ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
		if (!e.grant)
			continue;
		ASSERT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
		ASSERT_EQ(e.tx.htype, u32{ RPCRDMA2_GRANT });
		grants++;
	}
	EXPECT_EQ(grants, 20u);
}

TEST(session, connprop__middle_followed_by_something_else)
{
	Endpoint e(config(RPCRDMA_ROLE_SERVER));

	e.receive(connprop(1, property(2, 2048), RPCRDMA2_CONNPROP_MIDDLE));
	(void)e.next();
	e.receive(call_inline(7, rpc(7, RPCRDMA_CALL, 40)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_CONTINUATION });
	EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_INVAL_CONT });
	/* A GRANT and an ERROR may come between; then the rest. */
	e.receive(prefix(0, RPCRDMA2_GRANT));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	e.receive(prefix(9, RPCRDMA2_ERROR) + Words{ RPCRDMA2_ERR_SYSTEM });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	e.receive(connprop(2));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	EXPECT_EQ(e.info().peer.recv_size, 2048u);
	e.receive(call_inline(8, rpc(8, RPCRDMA_CALL, 40)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
}

/* Section 7.2.2: what came before it holds, and RPC messages may follow. */
TEST(session, connprop__a_final_that_is_refused_ends_the_sequence)
{
	const Words bad[] = {
		{ 2, 1, 4, 9999, 3, 3, 0 }, /* a value of three octets */
		{ 2, 1, 4, 9999 }, /* cut short */
	};

	for (const Words &set : bad) {
		Endpoint e(config(RPCRDMA_ROLE_SERVER));

		e.receive(connprop(1, property(2, 2048),
				   RPCRDMA2_CONNPROP_MIDDLE));
		(void)e.next();
		e.receive(connprop(2, set));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
		(void)e.next_control();
		EXPECT_EQ(e.info().max_send, 2048u);
		EXPECT_EQ(e.info().peer.send_size, 4096u);
		e.receive(call_inline(7, rpc(7, RPCRDMA_CALL, 40)));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		/* Nor was that the final one. */
		e.receive(connprop(3, property(1, 3000)));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
		EXPECT_EQ(e.info().peer.send_size, 3000u);
		EXPECT_EQ(e.info().max_send, 2048u);
	}
	/* Whoever waits for the server's properties waits no longer. */
	Endpoint client(config(RPCRDMA_ROLE_CLIENT));
	(void)client.next();
	client.receive(connprop(1, { 0 }, RPCRDMA2_CONNPROP_MIDDLE));
	client.receive(connprop(2, bad[0]));
	EXPECT_FALSE(client.rx.opened);
	client.receive(prefix(0, RPCRDMA2_GRANT));
	EXPECT_TRUE(client.rx.opened);
}

TEST(session, connprop__a_bad_value_applies_nothing)
{
	Endpoint e(config(RPCRDMA_ROLE_SERVER));

	e.receive(connprop(1, { 2, 2, 4, 2048, 5, 3, 9 }));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_PROPVAL });
	EXPECT_FALSE(e.rx.opened);
	EXPECT_EQ(e.next_error(1), Words{ RPCRDMA2_ERR_BAD_PROPVAL });
	EXPECT_EQ(e.info().peer.recv_size, 4096u);
	/* What was discarded does not count as the one FINAL. */
	e.receive(connprop(2, property(2, 2048)));
	EXPECT_TRUE(e.rx.opened);
	EXPECT_EQ(e.info().peer.recv_size, 2048u);
}

TEST(session, connprop__a_set_that_does_not_parse)
{
	Endpoint e(config(RPCRDMA_ROLE_SERVER));

	e.receive(connprop(1, { 1 }));
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_XDR });
	EXPECT_EQ(e.next_error(1), Words{ RPCRDMA2_ERR_BAD_XDR });
}

TEST(session, connprop__every_truncation)
{
	const Octets whole = octets(connprop(1, { 2, 2, 4, 2048, 99, 0 }));

	for (u32 size = 0; size < whole.size(); size++) {
		Endpoint e(config(RPCRDMA_ROLE_SERVER));

		e.receive_octets(Octets(whole.begin(), whole.begin() + size));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
		EXPECT_FALSE(e.rx.opened);
		EXPECT_EQ(e.rx.kick, size >= 16);
	}
}

TEST(session, connprop__a_bad_middle_does_not_undo_the_others)
{
	Endpoint e(config(RPCRDMA_ROLE_SERVER));

	e.receive(connprop(1, property(2, 2048), RPCRDMA2_CONNPROP_MIDDLE));
	(void)e.next();
	e.receive(connprop(2, { 2, 1, 4, 9999, 3, 3, 0 },
			   RPCRDMA2_CONNPROP_MIDDLE));
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_PROPVAL });
	EXPECT_EQ(e.next_error(2), Words{ RPCRDMA2_ERR_BAD_PROPVAL });
	/* Nor does it end the sequence. */
	EXPECT_EQ(e.info().peer.recv_size, 4096u);
	e.receive(call_inline(7, rpc(7, RPCRDMA_CALL, 40)));
	EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_INVAL_CONT });
	/* Octets of no length take a value back to its default. */
	e.receive(
		connprop(3, { 2, 4, 4, 7, 5, 4, 1 }, RPCRDMA2_CONNPROP_MIDDLE));
	e.receive(connprop(4, { 1, 4, 0 }));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	EXPECT_EQ(e.info().peer.recv_size, 2048u);
	EXPECT_EQ(e.info().peer.send_size, 4096u) << "none of that message";
	EXPECT_EQ(e.info().peer.max_segments, 16u);
	EXPECT_EQ(e.info().peer.reverse, 1u);
}

TEST(session, connprop__host_authentication_in_pieces)
{
	Endpoint e(config(RPCRDMA_ROLE_SERVER));

	/* Each is a whole property; what they mean together is for a policy. */
	for (u32 i = 0; i < 3; i++) {
		e.receive(connprop(i, { 1, 6, 8, 4, 0x61626364 },
				   RPCRDMA2_CONNPROP_MIDDLE));
		ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
		if (!i)
			(void)e.next();
	}
	e.receive(connprop(4, { 2, 6, 8, 1, 0x61000000, 2, 4, 2048 }));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	EXPECT_EQ(e.info().peer.recv_size, 2048u);
	/* Its own length goes beyond it. */
	Endpoint bad(config(RPCRDMA_ROLE_SERVER));
	bad.receive(connprop(1, { 1, 6, 8, 5, 0x61626364 }));
	EXPECT_EQ(bad.rx.reason, u32{ RPCRDMA_REASON_PROPVAL });
	EXPECT_EQ(bad.next_error(1), Words{ RPCRDMA2_ERR_BAD_PROPVAL });
}

TEST(session, connprop__every_kind_of_rpc_message_in_between)
{
	const std::vector<Words> others = {
		/* which need not even parse, or be taken otherwise */
		prefix(7, RPCRDMA2_CALL_INLINE),
		prefix(7, RPCRDMA2_CALL_INLINE) + Words{ 0, 2 },
		call_inline(7, rpc(8, RPCRDMA_REPLY, 40)),
		prefix(7, RPCRDMA2_CALL_EXTERNAL) + Words{ 0, 0, 0, 0, 0 },
		prefix(7, RPCRDMA2_REPLY_INLINE) + Words{ 0 },
		middle(RPCRDMA2_CALL_MIDDLE, 7, 1 << 30,
		       rpc(7, RPCRDMA_CALL, 40)),
		call_inline(7, rpc(7, RPCRDMA_CALL, 40)),
		middle(RPCRDMA2_CALL_MIDDLE, 7, 40, rpc(7, RPCRDMA_CALL, 40)),
		prefix(7, RPCRDMA2_CALL_EXTERNAL) +
			Words{ 0, 1, 0, 9, 40, 0, 0, 0, 0, 0, 0 },
		reply_inline(7, rpc(7, RPCRDMA_REPLY, 40)),
		middle(RPCRDMA2_REPLY_MIDDLE, 7, 40, rpc(7, RPCRDMA_REPLY, 40)),
		prefix(7, RPCRDMA2_REPLY_EXTERNAL) +
			Words{ 0, 1, 1, 9, 40, 0, 0 },
	};

	for (const Words &w : others) {
		Endpoint e(config(RPCRDMA_ROLE_SERVER));

		e.receive(connprop(1, property(2, 2048),
				   RPCRDMA2_CONNPROP_MIDDLE));
		(void)e.next();
		e.receive(w);
		EXPECT_NE(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_CONTINUATION })
			<< w[3];
		EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_INVAL_CONT });
		e.receive(connprop(2));
		EXPECT_EQ(e.info().peer.recv_size, 2048u);
	}
}

TEST(session, max_send__the_smaller_of_both_sides_D10)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);

	c.local.send_size = 8192;
	EXPECT_EQ(open_client(c).info().max_send, 4096u);
	EXPECT_EQ(open_client(c, property(2, 65536)).info().max_send, 8192u);
	EXPECT_EQ(open_client(c, property(2, 1024)).info().max_send, 1024u);
}

/* As small as anybody may say; what cannot take a property set takes nothing. */
TEST(session, max_send__receives_of_almost_nothing_D10)
{
	for (const u32 size : { 80u, 84u, 431u, 432u, 512u, 1023u }) {
		Endpoint e = open_client(property(2, size));
		rpcrdma_message msg = message(7, RPCRDMA_CALL, 2000);

		EXPECT_EQ(e.info().max_send, size);
		EXPECT_EQ(e.session.planning().chunks, size >= 432);
		do {
			ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
			ASSERT_LE(e.tx.header_length + e.tx.payload.length,
				  size);
			ASSERT_EQ(e.tx.payload.length % 4, 0u);
		} while (!e.tx.last);
		e.receive(prefix(9, 99));
		EXPECT_EQ(e.next_error(9), Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	}
	for (const u32 size : { 0u, 1u, 79u }) {
		Endpoint e(config(RPCRDMA_ROLE_SERVER));

		e.receive(connprop(kClientXid, property(2, size)));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
		EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_PROPVAL });
		EXPECT_FALSE(e.rx.opened);
		EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
	}
}

/* Private data is of version 1: once version 2 is agreed nothing of it counts. */
TEST(session, private_data__means_nothing_in_version_2_D22)
{
	const rpcrdma_cm_private tiny = { 1024, 1024, true, true, false };
	rpcrdma_config c = config(RPCRDMA_ROLE_SERVER);

	c.min_version = 1;
	c.max_version = 2;
	for (const bool early : { false, true }) {
		Endpoint e(c);

		if (early)
			e.session.peer_private(tiny);
		e.receive(connprop(kClientXid));
		(void)e.next();
		e.session.peer_private(tiny);
		EXPECT_EQ(e.info().version, 2u);
		EXPECT_EQ(e.info().max_send, 4096u);
		EXPECT_EQ(e.info().peer.send_size, 4096u);
		/* Only the header says what may be invalidated (6.5). */
		e.receive(prefix(7, RPCRDMA2_CALL_INLINE) +
			  Words{ 0, 0, 1, 1, 0xc1, 4096, 0, 0, 0, 0 } +
			  rpc(7, RPCRDMA_CALL, 40));
		ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		EXPECT_EQ(e.rx.inv_handle, 0u);
	}
}

TEST(session, version_mismatch__once_version_2_is_agreed)
{
	Endpoint client = open_client();
	Endpoint server = open_server();

	for (Endpoint *e : { &client, &server })
		for (u32 vers : { 0u, 1u, 3u }) {
			e->receive(prefix(7, 0, 5, vers) + Words{ 0, 0, 0 });
			EXPECT_EQ(e->rx.action, u32{ RPCRDMA_RX_DROP });
			EXPECT_EQ(e->rx.reason,
				  u32{ RPCRDMA_REASON_VERSION_MISMATCH });
			EXPECT_GT(e->info().peer_credits, 100u)
				<< "its credit word means something else";
			const Words w = e->next_control();
			EXPECT_EQ(w[0], 7u);
			EXPECT_EQ(w[1], vers);
			EXPECT_EQ(w[2], e->info().received + 64)
				<< "the connection is one of version 2";
			EXPECT_EQ(w[4], u32{ RPCRDMA2_ERR_VERS_MISMATCH });
			EXPECT_EQ(w.size(), 5u);
			/* But no ERROR answers an ERROR. */
			e->receive(prefix(7, RPCRDMA2_ERROR, 5, vers) +
				   Words{ 1, 1, 1 });
			EXPECT_EQ(e->rx.action, u32{ RPCRDMA_RX_DROP });
			EXPECT_EQ(e->next(), u32{ RPCRDMA_TX_NONE });
			/* And the connection stays what it was. */
			rpcrdma_message msg = message(
				8, e == &client ? RPCRDMA_CALL : RPCRDMA_REPLY,
				40);
			ASSERT_EQ(e->next(&msg), u32{ RPCRDMA_TX_MESSAGE });
			EXPECT_EQ(word_at(e->sent, 1), 2u);
			EXPECT_EQ(e->info().version, 2u);
		}
}

TEST(session, info__counts)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_SERVER);
	Endpoint e = open_server(c);

	EXPECT_EQ(e.info().sent, 1u);
	EXPECT_EQ(e.info().received, 1u);
	EXPECT_EQ(e.info().window, 64u);
	EXPECT_EQ(e.info().window_used, 0u);
	EXPECT_EQ(e.info().window_high, 1u);
	EXPECT_EQ(e.info().peer_credits, kPlenty - 1);
	const Exact copy(octets(call_inline(7, rpc(7, RPCRDMA_CALL, 40))));
	for (u32 i = 0; i < 5; i++)
		e.session.receive(copy.bytes(), e.rx);
	EXPECT_EQ(e.info().window_used, 5u);
	EXPECT_FALSE(e.session.release(5));
	EXPECT_EQ(e.info().window_used, 0u);
	EXPECT_EQ(e.info().window_high, 5u);
}

TEST(session, release__too_many_is_a_bug_here)
{
	Endpoint e = open_server();
	rpcrdma_message msg = message(1, RPCRDMA_REPLY, 40);

	tolerated_breaks = 1;
	EXPECT_FALSE(e.session.release(1));
	EXPECT_EQ(tolerated_breaks, 0u);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_INVALID });
	e.receive(call_inline(7, rpc(7, RPCRDMA_CALL, 40)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_INVARIANT });
}

TEST(session, refuse__goes_out_as_an_error)
{
	Endpoint e = open_server();

	EXPECT_TRUE(e.session.refuse(
		Xid{ 9 }, { RPCRDMA2_ERR_WRITE_RESOURCE, { 2, 5000 } }));
	EXPECT_TRUE(e.session.refuse(Xid{ 10 }, { RPCRDMA2_ERR_SYSTEM, {} }));
	EXPECT_EQ(e.next_error(9),
		  (Words{ RPCRDMA2_ERR_WRITE_RESOURCE, 2, 5000 }));
	EXPECT_EQ(e.next_error(10), Words{ RPCRDMA2_ERR_SYSTEM });
}

/* No part of it is to come, so what has its XID is answered as ever. */
TEST(session, refuse__a_call_that_came_whole)
{
	Endpoint e = open_server();

	EXPECT_TRUE(e.session.refuse(Xid{ 9 }, { RPCRDMA2_ERR_SYSTEM, {} }));
	EXPECT_EQ(e.next_error(9), Words{ RPCRDMA2_ERR_SYSTEM });
	e.receive(call_inline(9, rpc(8, RPCRDMA_CALL, 40)));
	EXPECT_EQ(e.next_error(9), Words{ RPCRDMA2_ERR_BAD_XDR });
}

TEST(session, refuse__no_more_can_wait)
{
	Endpoint e = open_server();

	for (u32 i = 0; i < RPCRDMA_MAX_CONTROL; i++)
		EXPECT_TRUE(e.session.refuse(to_xid(i),
					     { RPCRDMA2_ERR_SYSTEM, {} }));
	EXPECT_FALSE(e.session.refuse(Xid{ 99 }, { RPCRDMA2_ERR_SYSTEM, {} }));
}

TEST(session, refuse__an_unknown_code_is_a_bug_here)
{
	Endpoint e = open_server();

	tolerated_breaks = 1;
	EXPECT_FALSE(e.session.refuse(Xid{ 9 }, { 12, {} }));
	EXPECT_EQ(tolerated_breaks, 0u);
	EXPECT_FALSE(e.session.ready());
}

TEST(session, valid__reserve)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);

	c.reserve = 1;
	EXPECT_TRUE(Session::valid(c));
	c.reserve = 2;
	EXPECT_FALSE(Session::valid(c));
}

TEST(session, set_window__growth_makes_a_grant_due_D15)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_SERVER);

	c.window = 4;
	Endpoint e = open_server(c);
	e.receive(call_inline(1, rpc(1, RPCRDMA_CALL, 40)));
	EXPECT_FALSE(e.grant);
	EXPECT_TRUE(e.session.set_window(8));
	EXPECT_EQ(e.next_control(), (Words{ 0, 2, 10, 5 }));
	EXPECT_EQ(e.info().window, 8u);
	EXPECT_FALSE(e.session.set_window(9)) << "not worth a message";
}

TEST(session, set_window__shrinks_by_what_is_retired_D15)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_SERVER);
	const Exact copy(octets(call_inline(7, rpc(7, RPCRDMA_CALL, 40))));

	c.window = 6;
	Endpoint e = open_server(c);
	EXPECT_FALSE(e.session.retire());
	EXPECT_FALSE(e.session.set_window(3));
	EXPECT_FALSE(e.session.retire()) << "no Receive has completed";
	for (u32 window = 5; window >= 3; window--) {
		e.session.receive(copy.bytes(), e.rx);
		ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		ASSERT_TRUE(e.session.retire());
		EXPECT_EQ(e.info().window, window);
		EXPECT_EQ(e.info().window_used, 0u);
	}
	e.session.receive(copy.bytes(), e.rx);
	EXPECT_FALSE(e.session.retire());
	EXPECT_FALSE(e.session.release(1));
	/* Told: 1 + 6. Received: 5. The word stays where it was, plus one. */
	rpcrdma_message msg = message(7, RPCRDMA_REPLY, 40);
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(word_at(e.sent, 2), 8u);
}

TEST(session, may_wait__while_credit_is_ample_and_few_do)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_SERVER);
	const Exact copy(octets(call_inline(7, rpc(7, RPCRDMA_CALL, 40))));

	c.window = 16;
	Endpoint unopened(c);
	EXPECT_FALSE(unopened.session.may_wait(1));
	Endpoint e = open_server(c);
	for (u32 i = 0; i < 7; i++) {
		e.session.receive(copy.bytes(), e.rx);
		EXPECT_TRUE(e.rx.ample) << i;
		EXPECT_TRUE(e.session.may_wait(3)) << i;
		EXPECT_FALSE(e.session.may_wait(4)) << "enough to be posted";
	}
	e.session.receive(copy.bytes(), e.rx);
	EXPECT_FALSE(e.rx.ample) << "half of the window is left";
	EXPECT_FALSE(e.session.may_wait(1)) << "half of the window is left";
	EXPECT_TRUE(e.session.release(8));
	EXPECT_EQ(e.next(nullptr), u32{ RPCRDMA_TX_CONTROL });
	EXPECT_TRUE(e.session.may_wait(1));
	e.session.receive(copy.bytes(), e.rx);
	EXPECT_TRUE(e.rx.ample);
	EXPECT_TRUE(e.session.set_window(64));
	EXPECT_FALSE(e.session.may_wait(1)) << "not half of the new window";
}

TEST(session, set_window__bounds)
{
	for (u32 window : { 0u, 2u, 0x7fffffffu }) {
		Endpoint e = open_server();

		tolerated_breaks = 1;
		EXPECT_FALSE(e.session.set_window(window));
		EXPECT_EQ(tolerated_breaks, 0u);
		EXPECT_FALSE(e.session.ready());
		EXPECT_FALSE(e.session.set_window(64)) << "it has closed";
	}
	Endpoint e = open_server();
	EXPECT_FALSE(e.session.set_window(3));
	EXPECT_TRUE(e.session.set_window(0x7ffffffe));
}

TEST(session, planning__what_a_plan_depends_on)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);

	c.special_threshold = 70000;
	c.stream_from = 700;
	Endpoint e(c);
	(void)e.next();
	Words final = connprop(kServerXid, property(2, 2048));
	final[2] = 11;
	e.receive(final);
	const PlanningRules rules = e.session.planning();
	EXPECT_EQ(rules.ddp_threshold, 4096u);
	EXPECT_EQ(rules.special_threshold, 70000u);
	EXPECT_EQ(rules.stream_from, 700u);
	EXPECT_EQ(rules.max_send, 2048u);
	EXPECT_EQ(rules.max_stream, 10u * (2048 - 20)) << "ten Sends";
	EXPECT_TRUE(rules.special);
	EXPECT_FALSE(rules.continued) << "it takes no reverse Calls";
	final = prefix(0, RPCRDMA2_GRANT, 0x7fffffff);
	e.receive(final);
	EXPECT_EQ(e.session.planning().max_stream, UINT32_MAX);
	EXPECT_TRUE(open_server().session.planning().continued);
	for (u32 level : { 1u, 2u, 3u })
		EXPECT_EQ(
			open_client_reverse(level).session.planning().continued,
			level >= RPCRDMA_RVRSDIR_CONT);
}

TEST(session, planning__who_may_use_chunks)
{
	EXPECT_TRUE(open_client().session.planning().chunks);
	EXPECT_FALSE(open_client(property(4, 0)).session.planning().chunks)
		<< "the peer takes no segments";
	EXPECT_FALSE(open_client(property(3, 0)).session.planning().chunks)
		<< "or none but empty ones";
	rpcrdma_config none = config(RPCRDMA_ROLE_CLIENT);
	none.local.max_segments = 0;
	EXPECT_FALSE(open_client(none).session.planning().chunks)
		<< "this side sends none";
	for (u32 level : { 0u, 1u, 2u, 3u })
		EXPECT_EQ(open_server(property(5, level))
				  .session.planning()
				  .chunks,
			  level == RPCRDMA_RVRSDIR_GENL);
}

TEST(session, count_start__wraps_without_notice)
{
	/* The scripted peer's credit word has to be near the count, too. */
	for (u32 start : { UINT32_MAX - 5, 0x7ffffffau }) {
		Session::Options options;
		u32 replies = 0;

		options.count_start = start;
		Endpoint e(config(RPCRDMA_ROLE_SERVER), options);
		Words first = connprop(kClientXid);
		first[2] = start + kPlenty;
		e.receive(first);
		ASSERT_TRUE(e.rx.opened);
		ASSERT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
		for (u32 i = 0; i < 50; i++) {
			Words w = call_inline(i, rpc(i, RPCRDMA_CALL, 40));
			rpcrdma_message msg = message(i, RPCRDMA_REPLY, 40);

			w[2] = start + kPlenty;
			e.receive(w);
			ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
			ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
			ASSERT_EQ(word_at(e.sent, 2), start + 2 + i + 64);
			replies++;
		}
		EXPECT_EQ(replies, 50u);
	}
}
