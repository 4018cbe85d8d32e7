// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rtrext as a session speaks it. What of groups and placements is in order and what is not
 * is in ../unit/unit_rtr_group.cpp and unit_rtr_place.cpp.
 */
#include "../unit/support.h"
#include <rpcrdma/rtrext.h>
#include "abi.h"
#include "names.h"

#include <algorithm>

using namespace rpcrdma;
using namespace unit;

namespace
{

constexpr u32 kExrw = 1;
constexpr u32 kTbsn = 2;
constexpr u32 kAll = 7;
constexpr u32 kOurs = 1U << Extensions::place<Rtrext>();
constexpr u32 kXid = 0x11;
constexpr u32 kPages = 2;
constexpr u32 kReceive = 512 + kPages * 1024;

/* 512 octets for headers, and two targets. */
ReceiveShape shape()
{
	ReceiveShape s;

	EXPECT_TRUE(s.add({ 1, 512, 4, false }));
	EXPECT_TRUE(s.add({ kPages, 1024, 1024, true }));
	return s;
}

rpcrdma_config grouping(rpcrdma_role role)
{
	rpcrdma_config c = config(role);

	c.extensions = kOurs;
	c.local.recv_size = kReceive;
	c.local.reverse = RPCRDMA_RVRSDIR_GENL;
	return c;
}

/* How such Receives, and all that goes with them, are announced. */
Words own_properties(u32 support, u32 most, u32 sends)
{
	return { kRtrSupport,
		 4,
		 support,
		 kReceiveStructure,
		 40,
		 kReceive,
		 2,
		 1,
		 512,
		 4,
		 0,
		 kPages,
		 1024,
		 1024,
		 1,
		 kRequestReceiveLimit,
		 4,
		 most,
		 kResponseSendLimit,
		 4,
		 sends };
}

/* Property set of a peer with such Receives that takes groups of @most. */
Words announcing(u32 support = kAll, u32 most = 4, u32 sends = 4)
{
	return Words{ 6, 2, 4, kReceive } +
	       own_properties(support, most, sends) +
	       Words{ 5, 4, RPCRDMA_RVRSDIR_GENL };
}

bool declare(Session &s)
{
	return s.with<Rtrext>([](Rtrext &, Port &port) {
		return Rtrext::declare(port, shape());
	});
}

Endpoint server(const rpcrdma_config &c, const Words &peer = announcing())
{
	Endpoint e(c);

	EXPECT_TRUE(declare(e.session));
	EXPECT_EQ(e.receive(connprop(kClientXid, peer)).action,
		  u32{ RPCRDMA_RX_CONTROL });
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
	return e;
}

Endpoint server(const Words &peer = announcing())
{
	return server(grouping(RPCRDMA_ROLE_SERVER), peer);
}

/* One that says that it takes only these. */
Endpoint server_taking(u32 support)
{
	Endpoint e(grouping(RPCRDMA_ROLE_SERVER));

	EXPECT_TRUE(declare(e.session));
	EXPECT_TRUE(e.session.with<Rtrext>([&](Rtrext &, Port &port) {
		return Rtrext::declare(port, support);
	}));
	e.receive(connprop(kClientXid, announcing()));
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
	return e;
}

Endpoint client(const rpcrdma_config &c, const Words &peer = announcing())
{
	Endpoint e(c);

	EXPECT_TRUE(declare(e.session));
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
	EXPECT_EQ(e.receive(connprop(kServerXid, peer)).action,
		  u32{ RPCRDMA_RX_CONTROL });
	return e;
}

Endpoint client(const Words &peer = announcing())
{
	return client(grouping(RPCRDMA_ROLE_CLIENT), peer);
}

bool in_use(const Endpoint &e)
{
	return e.session.in_use(Extensions::place<Rtrext>());
}

const Rtrext &state(const Endpoint &e)
{
	return e.session.extension<Rtrext>();
}

/* Headers with their payload. */
Words request(u32 xid, u32 count, const Words &payload,
	      const Words &items = { 0 }, const Words &directions = { 0 },
	      u32 credit = kPlenty)
{
	return prefix(xid, kXmtReq, credit) + items + directions +
	       Words{ count, 1, static_cast<u32>(4 * payload.size()) } +
	       payload;
}

Words response(u32 xid, u32 count, const Words &payload,
	       const Words &items = { 0 })
{
	return prefix(xid, kXmtResp) + items +
	       Words{ count, static_cast<u32>(4 * payload.size()) } + payload;
}

Words go_on(u32 xid, u32 number, const Words &payload, u32 began = kXmtReq)
{
	return prefix(xid, kXmtCont) +
	       Words{ number, began, static_cast<u32>(4 * payload.size()) } +
	       payload;
}

Words call(u32 octets = 40)
{
	return rpc(kXid, RPCRDMA_CALL, octets);
}

void expect_dropped(const Endpoint &e, u32 reason)
{
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
	EXPECT_EQ(e.rx.reason, reason);
}

/* The words after the prefix of the REPTERR that is next. */
void expect_report(Endpoint &e, const Words &body)
{
	const Words w = e.next_control();

	ASSERT_GE(w.size(), 4u);
	EXPECT_EQ(w[0], body[0]);
	EXPECT_EQ(w[3], kReptErr);
	EXPECT_EQ(Words(w.begin() + 4, w.end()), body);
}

void expect_error(Endpoint &e, u32 code)
{
	const Words w = e.next_error(e.rx.xid);

	ASSERT_FALSE(w.empty());
	EXPECT_EQ(w[0], code);
}

/* The group of a Call that has begun is over, and its Requester hears that. */
void expect_given_up(Endpoint &e)
{
	expect_dropped(e, RPCRDMA_REASON_XDR);
	EXPECT_TRUE(e.rx.abandon);
	EXPECT_EQ(e.rx.dir, u32{ RPCRDMA_CALL });
	EXPECT_FALSE(state(e).incoming().active());
	expect_error(e, RPCRDMA2_ERR_BAD_XDR);
}

/* A Call or Reply of this side's that goes by a group. */
struct Outgoing {
	explicit Outgoing(rpcrdma_dir dir, u32 length, u32 reply_count = 1)
		: msg(message(kXid, dir, length))
		, m{ msg, {}, reply_count }
	{
	}
	rpcrdma_message msg;
	GroupMessage m;
};

u32 send(Endpoint &e, Outgoing &o)
{
	Octets out(4096);
	const u32 result = e.session.with<Rtrext>([&](Rtrext &x, Port &port) {
		return x.send(port, o.m,
			      { out.data(), static_cast<u32>(out.size()) },
			      e.tx);
	});

	e.sent = Octets(out.begin(), out.begin() + e.tx.header_length);
	return result;
}

constexpr u32 kSent = RPCRDMA_TX_MESSAGE;
constexpr u32 kNotSo = RPCRDMA_TX_INVALID;
constexpr u32 kNoCredit = RPCRDMA_TX_BLOCKED;

} // namespace

/* ------------------------------------------------------------------ */
/* Announced                                                          */
/* ------------------------------------------------------------------ */

TEST(rtrext, numbers_D8)
{
	EXPECT_EQ(kXmtReq, 0xffffff05);
	EXPECT_EQ(kXmtResp, 0xffffff06);
	EXPECT_EQ(kXmtCont, 0xffffff07);
	EXPECT_EQ(kReptErr, 0xffffff08);
	EXPECT_EQ(kRtrSupport, 0xffffff03);
	EXPECT_EQ(kReceiveStructure, 0xffffff04);
	EXPECT_EQ(kRequestReceiveLimit, 0xffffff05);
	EXPECT_EQ(kResponseSendLimit, 0xffffff06);
	EXPECT_STREQ(rpcrdma_htype_name(kXmtReq), "XMTREQ");
	EXPECT_STREQ(rpcrdma_htype_name(kReptErr), "REPTERR");
}

TEST(rtrext, announced__by_its_own_property_D19)
{
	EXPECT_TRUE(in_use(server()));
	EXPECT_TRUE(in_use(client()));
	EXPECT_TRUE(in_use(server(property(kRtrSupport, 1))));
	EXPECT_FALSE(in_use(server(property(kRtrSupport, 0))));
	EXPECT_FALSE(in_use(server(Words{ 0 })));
	EXPECT_FALSE(in_use(server(property(kRtrSupport, 8))));
}

TEST(rtrext, announced__what_this_side_says_of_itself)
{
	Endpoint e(grouping(RPCRDMA_ROLE_CLIENT));

	EXPECT_TRUE(declare(e.session));
	const Words w = e.next_control();
	const Words told = own_properties(kAll, 16, 16);

	ASSERT_GE(w.size(), told.size());
	EXPECT_EQ(Words(w.end() - told.size(), w.end()), told);
	/* It is too late for anything else. */
	EXPECT_FALSE(declare(e.session));
}

TEST(rtrext, declare__what_does_not_agree)
{
	const auto declares = [](const rpcrdma_config &c,
				 const ReceiveShape &s) {
		Endpoint e(c);

		return e.session.with<Rtrext>([&](Rtrext &, Port &port) {
			return Rtrext::declare(port, s);
		});
	};
	rpcrdma_config c = grouping(RPCRDMA_ROLE_SERVER);
	ReceiveShape s;

	EXPECT_TRUE(declares(c, shape()));
	/* No targets; no room for a header; more than there is room for. */
	EXPECT_TRUE(s.add({ 1, kReceive, 4, false }));
	EXPECT_FALSE(declares(c, s));
	s = {};
	EXPECT_TRUE(s.add({ 1, kReceive - 2048, 4, true }));
	EXPECT_TRUE(s.add({ 1, 2048, 4, false }));
	EXPECT_FALSE(declares(c, s));
	/* Not its Receive Buffer Size. */
	c.local.recv_size = kReceive + 4;
	EXPECT_FALSE(declares(c, shape()));
	/* It does not speak it. */
	c = grouping(RPCRDMA_ROLE_SERVER);
	c.extensions = 0;
	EXPECT_FALSE(declares(c, shape()));
}

/* Those of others it leaves alone. */
TEST(rtrext, declare__numbers)
{
	const auto declares = [](u32 which, u32 number, u32 extensions) {
		rpcrdma_config c = grouping(RPCRDMA_ROLE_SERVER);

		c.extensions = extensions;
		Endpoint e(c);
		return e.session.with<Rtrext>([&](Rtrext &, Port &port) {
			return port.declare(which, number) &&
			       port.local(which) == number;
		});
	};
	const u32 all = kOurs | 1U << Extensions::place<Xcharext>();

	EXPECT_FALSE(declares(kRequestReceiveLimit, 0, all));
	EXPECT_TRUE(declares(kRequestReceiveLimit, 1, all));
	EXPECT_TRUE(declares(kRequestReceiveLimit, kMostSends, all));
	EXPECT_FALSE(declares(kRequestReceiveLimit, kMostSends + 1, all));
	EXPECT_FALSE(declares(kRequestReceiveLimit, 1, all & ~kOurs));
	EXPECT_FALSE(declares(2, 2048, all));
	EXPECT_FALSE(declares(kExtensionsProperty, 0, all));
	EXPECT_FALSE(declares(0xfffffffe, 1, all));
}

TEST(rtrext, announced__a_structure_that_is_none)
{
	Endpoint e(grouping(RPCRDMA_ROLE_SERVER));

	e.receive(connprop(kClientXid, { 1, kReceiveStructure, 8, 512, 0 }));
	expect_dropped(e, RPCRDMA_REASON_PROPVAL);
}

TEST(rtrext, unknown__to_who_has_not_announced_it)
{
	Endpoint e = server(Words{ 0 });

	for (const u32 htype : { kXmtReq, kXmtResp, kXmtCont, kReptErr }) {
		e.receive(prefix(kXid, htype) +
			  Words{ 0, 0, 1, 1, 8, kXid, 0 });
		expect_dropped(e, RPCRDMA_REASON_HTYPE);
		expect_error(e, RPCRDMA2_ERR_INVAL_HTYPE);
	}
}

/* ------------------------------------------------------------------ */
/* Taken                                                              */
/* ------------------------------------------------------------------ */

TEST(rtrext, request__in_one_send)
{
	Endpoint e = server();
	const rpcrdma_rx &rx = e.receive(request(kXid, 1, call()));

	EXPECT_EQ(rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_TRUE(rx.last);
	EXPECT_EQ(rx.dir, u32{ RPCRDMA_CALL });
	EXPECT_EQ(rx.xid, kXid);
	EXPECT_EQ(rx.payload.offset, kXmtReqBare);
	EXPECT_EQ(rx.payload.length, 40u);
	EXPECT_EQ(rx.stream_offset, 0u);
	EXPECT_EQ(rx.stream_length, 40u);
	EXPECT_EQ(rx.unreduced_length, 40u);
	EXPECT_EQ(e.peek(), u32{ RPCRDMA_TX_NONE });
}

TEST(rtrext, request__in_three_sends)
{
	Endpoint e = server();
	const Words w = call(48);

	e.receive(request(kXid, 3, slice(w, 0, 20)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_FALSE(e.rx.last);
	EXPECT_TRUE(state(e).incoming().active());
	/* It is valid for the payload to be nothing (9.4). */
	e.receive(go_on(kXid, 1, {}));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(e.rx.payload.length, 0u);
	e.receive(go_on(kXid, 2, slice(w, 20, 28)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_TRUE(e.rx.last);
	EXPECT_EQ(e.rx.payload.offset, kXmtContSize);
	EXPECT_EQ(e.rx.stream_offset, 20u);
	EXPECT_EQ(e.rx.stream_length, 48u);
	EXPECT_FALSE(state(e).incoming().active());
}

/* Its two first words in two Sends. */
TEST(rtrext, request__of_which_the_first_send_has_a_word)
{
	for (const u32 dir : { 0u, 1u }) {
		Endpoint e = server();

		e.receive(request(kXid, 2, { kXid }));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		e.receive(go_on(kXid, 1, { dir, 2, 3 }));
		EXPECT_EQ(e.rx.action, dir ? u32{ RPCRDMA_RX_DROP } :
					     u32{ RPCRDMA_RX_PAYLOAD });
		EXPECT_EQ(e.rx.abandon, dir != 0);
	}
}

/* The second word is still to come then. */
TEST(rtrext, request__of_which_the_second_send_has_nothing)
{
	for (const u32 dir : { 0u, 1u }) {
		Endpoint e = server();

		e.receive(request(kXid, 3, { kXid }));
		e.receive(go_on(kXid, 1, {}));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		e.receive(go_on(kXid, 2, { dir, 2, 3 }));
		if (!dir) {
			EXPECT_TRUE(e.rx.last);
			EXPECT_EQ(e.rx.stream_length, 16u);
			continue;
		}
		expect_given_up(e);
	}
}

TEST(rtrext, request__placed_data)
{
	Endpoint e = server();
	Words w = request(kXid, 1, call(), { 1, 36, 1030, kTbsn, 0, 2, 0, 1 });

	w.resize((512 + 1030 + 3) / 4);
	e.receive(w);
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(e.rx.stream_length, 40u);
	EXPECT_EQ(e.rx.unreduced_length, 40u + 1032);
	/* A word less, and the data are not there. */
	w.pop_back();
	e.receive(w);
	expect_dropped(e, RPCRDMA_REASON_CONTINUATION);
	expect_report(e, { kXid, 0, 0, 0, 7, 1, 0, 0 });
}

TEST(rtrext, reply__to_a_call_with_room_for_it)
{
	Endpoint e = client();
	Outgoing o(RPCRDMA_CALL, 40, 3);

	EXPECT_EQ(send(e, o), kSent);
	EXPECT_EQ(o.m.reply_count, 3u);
	EXPECT_EQ(state(e).reserved(), 3u);
	const Words w = rpc(kXid, RPCRDMA_REPLY, 48);
	e.receive(response(kXid, 2, slice(w, 0, 20)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(e.rx.dir, u32{ RPCRDMA_REPLY });
	EXPECT_EQ(state(e).reserved(), 2u);
	e.receive(go_on(kXid, 1, slice(w, 20, 28), kXmtResp));
	EXPECT_TRUE(e.rx.last);
	EXPECT_EQ(state(e).reserved(), 0u);
}

TEST(rtrext, reply__that_takes_more_than_was_reserved)
{
	Endpoint e = client();
	Outgoing o(RPCRDMA_CALL, 40, 2);

	EXPECT_EQ(send(e, o), kSent);
	e.receive(response(kXid, 3, rpc(kXid, RPCRDMA_REPLY, 40)));
	expect_dropped(e, RPCRDMA_REASON_CONTINUATION);
	expect_report(e, { kXid, 1, 0, 0, 4, 2, 3 });
	/* The Call goes on waiting for it, in another form. */
	EXPECT_EQ(state(e).reserved(), 0u);
	e.receive(reply_inline(kXid, rpc(kXid, RPCRDMA_REPLY, 40)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(state(e).reserved(), 0u);
}

/* The Responder does not know that nobody waits any more. */
TEST(rtrext, reply__to_a_call_that_was_given_up)
{
	Endpoint e = client();
	Outgoing o(RPCRDMA_CALL, 40, 2);
	const Words w = rpc(kXid, RPCRDMA_REPLY, 48);

	EXPECT_EQ(send(e, o), kSent);
	(void)!e.session.end_call(o.msg);
	EXPECT_EQ(state(e).reserved(), 2u);
	e.receive(response(kXid, 2, slice(w, 0, 20)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	e.receive(go_on(kXid, 1, slice(w, 20, 28), kXmtResp));
	EXPECT_TRUE(e.rx.last);
	EXPECT_EQ(state(e).reserved(), 0u);
}

TEST(rtrext, reserved__until_an_answer_has_come_in_any_form)
{
	const Words reply = rpc(kXid, RPCRDMA_REPLY, 48);
	const Words error = prefix(kXid, RPCRDMA2_ERROR);
	const Words report = prefix(kXid, kReptErr);
	const std::vector<Words> answers[] = {
		{ reply_inline(kXid, reply) },
		{ middle(RPCRDMA2_REPLY_MIDDLE, kXid, 28, slice(reply, 0, 20)),
		  reply_inline(kXid, slice(reply, 20, 28)) },
		{ reply_inline(kXid, rpc(kXid + 1, RPCRDMA_REPLY, 48)) },
		{ error + Words{ RPCRDMA2_ERR_SYSTEM } },
		{ report + Words{ kXid, 0, 0, 0, 8, 40, 0, 36 } },
		{ report + Words{ kXid + 1, 1, 0, 1, kXid, 0, 0, 3 } },
		{ response(kXid, 1, reply) },
		{ response(kXid, 1, rpc(kXid + 1, RPCRDMA_REPLY, 48)) },
		{ prefix(kXid, kXmtResp) + Words{ 0, 1 } },
	};

	for (const std::vector<Words> &answer : answers) {
		Endpoint e = client();
		Outgoing o(RPCRDMA_CALL, 40, 3);

		EXPECT_EQ(send(e, o), kSent);
		(void)!e.session.end_call(o.msg);
		/* What others are told is not about it. */
		e.receive(reply_inline(kXid + 2,
				       rpc(kXid + 2, RPCRDMA_REPLY, 48)));
		e.receive(prefix(kXid + 2, RPCRDMA2_ERROR) +
			  Words{ RPCRDMA2_ERR_SYSTEM });
		for (const Words &w : answer) {
			EXPECT_EQ(state(e).reserved(), 3u);
			e.receive(w);
		}
		EXPECT_EQ(state(e).reserved(), 0u);
	}
}

/* A report about a Reply of this side's, to a Call of the peer's with the same XID. */
TEST(rtrext, reserved__whatever_is_said_of_a_reply)
{
	Endpoint e = client();
	Outgoing call(RPCRDMA_CALL, 40, 3);
	Outgoing reply(RPCRDMA_REPLY, 40);

	EXPECT_EQ(send(e, call), kSent);
	EXPECT_EQ(send(e, reply), kSent);
	e.receive(prefix(kXid, kReptErr) + Words{ kXid, 1, 0, 0, 3 });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	EXPECT_EQ(state(e).reserved(), 3u);
}

/*
 * Its Responder may not have it any more. Then no answer to that Call comes, but one to the
 * same Call when it is sent again.
 */
TEST(rtrext, reserved__nothing_for_a_reply_that_was_refused)
{
	const Words reply = rpc(kXid, RPCRDMA_REPLY, 48);
	const Words first = response(kXid, 3, slice(reply, 0, 20));
	/* The rest of the second one would be its third Send. */
	const std::vector<Words> refused[] = {
		{ response(kXid, 5, reply) },
		{ first, go_on(kXid, 2, slice(reply, 20, 28), kXmtResp) },
		{ first, go_on(kXid + 1, 1, slice(reply, 20, 28), kXmtResp) },
		{ first, go_on(kXid, 1, slice(reply, 20, 28), kXmtReq) },
		{ first,
		  reply_inline(kXid + 2, rpc(kXid + 2, RPCRDMA_REPLY, 48)) },
		{ first,
		  response(kXid + 2, 1, rpc(kXid + 2, RPCRDMA_REPLY, 48)) },
		{ response(kXid, 1, reply, { 1, 28, 4, kTbsn, 0, 1, 9 }) },
		{ go_on(kXid, 1, slice(reply, 20, 28), kXmtResp) },
	};

	for (const std::vector<Words> &sends : refused) {
		Endpoint e = client();
		Outgoing o(RPCRDMA_CALL, 40, 3);
		Outgoing again(RPCRDMA_CALL, 40, 3);

		EXPECT_EQ(send(e, o), kSent);
		EXPECT_EQ(state(e).reserved(), 3u);
		for (const Words &w : sends)
			e.receive(w);
		EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
		EXPECT_EQ(state(e).reserved(), 0u);
		(void)!e.session.end_call(o.msg);
		EXPECT_EQ(send(e, again), kSent);
		EXPECT_EQ(again.m.reply_count, 3u);
		EXPECT_EQ(state(e).reserved(), 3u);
		e.receive(reply_inline(kXid, reply));
		EXPECT_EQ(state(e).reserved(), 0u);
	}
}

/* It may take as much as was promised, whatever the first Send of the refused one said. */
TEST(rtrext, reserved__for_a_reply_that_comes_again)
{
	Endpoint e = client();
	Outgoing o(RPCRDMA_CALL, 40, 3);
	const Words reply = rpc(kXid, RPCRDMA_REPLY, 48);

	EXPECT_EQ(send(e, o), kSent);
	e.receive(response(kXid, 1, reply, { 1, 28, 4, kTbsn, 0, 1, 9 }));
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
	EXPECT_EQ(state(e).reserved(), 0u);
	e.receive(response(kXid, 3, slice(reply, 0, 20)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
}

/* Its Call goes again after the ERROR: what is still to come of this Reply is not of that. */
TEST(rtrext, reply__in_whose_middle_an_error_comes_D14)
{
	Endpoint e = client();
	Outgoing o(RPCRDMA_CALL, 40, 3);
	Outgoing again(RPCRDMA_CALL, 40, 3);
	const Words reply = rpc(kXid, RPCRDMA_REPLY, 48);

	EXPECT_EQ(send(e, o), kSent);
	e.receive(response(kXid, 2, slice(reply, 0, 20)));
	e.receive(prefix(kXid + 1, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_SYSTEM });
	EXPECT_TRUE(state(e).incoming().active());
	e.receive(prefix(kXid, RPCRDMA2_ERROR) + Words{ RPCRDMA2_ERR_SYSTEM });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	EXPECT_TRUE(e.rx.abandon);
	EXPECT_EQ(e.rx.dir, u32{ RPCRDMA_REPLY });
	EXPECT_FALSE(state(e).incoming().active());
	(void)!e.session.end_call(o.msg);
	EXPECT_EQ(send(e, again), kSent);
	e.receive(go_on(kXid, 1, slice(reply, 20, 28), kXmtResp));
	expect_dropped(e, RPCRDMA_REASON_DISCARDING);
	EXPECT_EQ(state(e).reserved(), 3u);
	e.receive(response(kXid, 3, slice(reply, 0, 20)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
}

/* The peer does not know that this side knows groups: then there are none. */
TEST(rtrext, request__in_whose_middle_the_properties_are_refused)
{
	/* Such a peer may send as much as the default of Receive Buffer Size. */
	const u32 targets = 4;
	rpcrdma_config c = grouping(RPCRDMA_ROLE_SERVER);
	c.local.recv_size = 512 + targets * 1024;
	Endpoint e(c);
	ReceiveShape large;

	EXPECT_TRUE(large.add({ 1, 512, 4, false }));
	EXPECT_TRUE(large.add({ targets, 1024, 1024, true }));
	EXPECT_TRUE(e.session.with<Rtrext>([&](Rtrext &, Port &port) {
		return Rtrext::declare(port, large);
	}));
	e.receive(connprop(kClientXid, announcing()));
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
	e.receive(request(kXid, 2, call()));
	e.receive(prefix(kServerXid, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_BAD_PROPVAL });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	EXPECT_TRUE(e.rx.abandon);
	EXPECT_EQ(e.rx.dir, u32{ RPCRDMA_CALL });
	EXPECT_FALSE(in_use(e));
	e.receive(go_on(kXid, 1, {}));
	expect_dropped(e, RPCRDMA_REASON_HTYPE);
	expect_error(e, RPCRDMA2_ERR_INVAL_HTYPE);
	e.receive(call_inline(kXid + 1, rpc(kXid + 1, RPCRDMA_CALL, 40)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
}

/* Of two Calls with that XID one answer has been refused. */
TEST(rtrext, reserved__for_the_other_answer_to_a_call_sent_twice)
{
	Endpoint e = client();
	Outgoing o(RPCRDMA_CALL, 40, 3);
	Outgoing again(RPCRDMA_CALL, 40, 3);
	const Words reply = rpc(kXid, RPCRDMA_REPLY, 48);

	EXPECT_EQ(send(e, o), kSent);
	(void)!e.session.end_call(o.msg);
	EXPECT_EQ(send(e, again), kSent);
	/* Both the Send and its group are named, and it is one Reply. */
	e.receive(response(kXid, 2, slice(reply, 0, 20)));
	e.receive(go_on(kXid, 2, slice(reply, 20, 28), kXmtResp));
	EXPECT_EQ(state(e).reserved(), 3u);
	e.receive(response(kXid, 2, slice(reply, 0, 20)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	e.receive(go_on(kXid, 1, slice(reply, 20, 28), kXmtResp));
	EXPECT_TRUE(e.rx.last);
	EXPECT_EQ(state(e).reserved(), 0u);
}

TEST(rtrext, reserved__nothing_for_a_call_without_a_reply)
{
	Endpoint e = client();
	Outgoing o(RPCRDMA_CALL, 40, 3);

	o.msg.call_only = true;
	EXPECT_EQ(send(e, o), kSent);
	EXPECT_EQ(o.m.reply_count, 1u);
	EXPECT_EQ(state(e).reserved(), 0u);
}

/* An ERROR cannot be about a Reply, and no REPTERR has a code for this. */
TEST(rtrext, reply__malformed)
{
	for (const Words &w :
	     { prefix(kXid, kXmtResp) + Words{ 0, 1 },
	       response(kXid, 1, rpc(kXid + 1, RPCRDMA_REPLY, 40)),
	       response(kXid, 1, call()),
	       response(kXid, 1, rpc(kXid, RPCRDMA_REPLY, 40),
			{ 1, 41, 8, kTbsn, 0, 1, 0 }) }) {
		Endpoint e = client();

		e.receive(w);
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
		EXPECT_EQ(e.rx.xid, kXid);
		EXPECT_FALSE(e.rx.reported);
		EXPECT_LT(e.rx.error, 0);
		EXPECT_EQ(e.peek(), u32{ RPCRDMA_TX_NONE });
	}
}

TEST(rtrext, request__malformed)
{
	Words late =
		request(kXid, 1, call(), { 1, 44, 8, kExrw, 1, 7, 8, 0, 0 });

	for (const Words &w :
	     { prefix(kXid, kXmtReq) + Words{ 0, 0, 1, 1 },
	       request(kXid, 1, rpc(kXid + 1, RPCRDMA_CALL, 40)),
	       request(kXid, 1, { kXid }), late,
	       request(kXid, 1, call(), { 0 }, { 1, 8, 4, 0 }) }) {
		Endpoint e = server();

		e.receive(w);
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
		expect_error(e, RPCRDMA2_ERR_BAD_XDR);
		EXPECT_EQ(e.peek(), u32{ RPCRDMA_TX_NONE });
	}
}

TEST(rtrext, request__what_else_is_refused_with_an_error)
{
	const auto refused = [](rpcrdma_config c, const Words &w) {
		Endpoint e = server(c);

		e.receive(w);
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
		return e.next_error(kXid);
	};
	rpcrdma_config c = grouping(RPCRDMA_ROLE_SERVER);
	const Words item = { 1, 36, 16, kExrw, 2, 1, 8, 0, 0, 2, 8, 0, 8 };
	const Words direction = { 1, 0, 40, 1, 0, kExrw, 1, 3, 9, 0, 0 };
	const Words w = request(kXid, 1, call(), item, direction);

	/* More segments, in both lists together, and larger ones than it has said. */
	c.local.max_segments = 2;
	EXPECT_EQ(refused(c, w), (Words{ RPCRDMA2_ERR_SEGMENTS, 2 }));
	c.local.max_segments = 3;
	c.local.max_segment_size = 8;
	EXPECT_EQ(refused(c, w), (Words{ RPCRDMA2_ERR_SYSTEM }));
	c.local.max_segment_size = 9;
	Endpoint e = server(c);
	EXPECT_EQ(e.receive(w).action, u32{ RPCRDMA_RX_PAYLOAD });
	/* A message that is too large, in one Send or in several. */
	c.max_message = 1024;
	EXPECT_EQ(refused(c, request(kXid, 1, call(1028))),
		  (Words{ RPCRDMA2_ERR_SYSTEM }));
	EXPECT_EQ(refused(c, request(kXid, 2, call(1028))),
		  (Words{ RPCRDMA2_ERR_INVAL_CONT }));
}

/* As many items as it takes Read chunks; one of no segments is none. */
TEST(rtrext, request__more_items_to_read_than_read_chunks)
{
	const Words one = { kExrw, 1, 1, 4, 0, 0 };
	const Words three = Words{ 4, 8, 4 } + one + Words{ 12, 4 } + one +
			    Words{ 24, 0, kExrw, 0, 24, 4 } + one;
	rpcrdma_config c = grouping(RPCRDMA_ROLE_SERVER);

	c.max_read_chunks = 3;
	Endpoint e = server(c);
	EXPECT_EQ(e.receive(request(kXid, 1, call(), three)).action,
		  u32{ RPCRDMA_RX_PAYLOAD });
	for (const u32 most : { 2u, 0u }) {
		c.max_read_chunks = most;
		Endpoint refuses = server(c);
		refuses.receive(request(kXid, 1, call(), three));
		expect_dropped(refuses, RPCRDMA_REASON_CHUNKS);
		EXPECT_EQ(refuses.next_error(kXid),
			  (Words{ RPCRDMA2_ERR_READ_CHUNKS, most }));
		EXPECT_EQ(refuses.peek(), u32{ RPCRDMA_TX_NONE });
	}
}

/* What an item says of its memory, and the message with it. */
TEST(rtrext, request__memory_to_read_that_cannot_be)
{
	const auto answer = [](u32 count, const Words &items) {
		rpcrdma_config c = grouping(RPCRDMA_ROLE_SERVER);

		c.max_message = 4096;
		Endpoint e = server(c);
		e.receive(request(kXid, count, call(), items));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
		return e.next_error(kXid);
	};
	const Words bad_xdr = { RPCRDMA2_ERR_BAD_XDR };
	const Words too_large = { RPCRDMA2_ERR_SYSTEM };
	const auto item = [](u32 position, u32 length, u32 segment) {
		return Words{ 1, position, length, kExrw, 1, 1, segment, 0, 0 };
	};

	/* A length that is not that of the segments, also beyond 32 bits. */
	EXPECT_EQ(answer(1, item(36, 16, 15)), bad_xdr);
	EXPECT_EQ(answer(1, item(36, 16, 17)), bad_xdr);
	EXPECT_EQ(answer(1, { 1, 36, 16, kExrw, 0 }), bad_xdr);
	EXPECT_EQ(answer(1, { 1, 36, 0, kExrw, 2, 1, 1U << 31, 0, 0, 2,
			      1U << 31, 0, 0 }),
		  bad_xdr);
	/* Places that are none, are behind the message, or in another item. */
	EXPECT_EQ(answer(1, item(0, 16, 16)), bad_xdr);
	EXPECT_EQ(answer(1, item(38, 16, 16)), bad_xdr);
	EXPECT_EQ(answer(1, item(44, 16, 16)), bad_xdr);
	EXPECT_EQ(answer(1, { 2, 8, 16, kExrw, 1, 1, 16, 0, 0, 20, 4, kExrw, 1,
			      2, 4, 0, 0 }),
		  bad_xdr);
	/* Segments that are not all there. */
	EXPECT_EQ(answer(1, { 1, 36, 16, kExrw, 99, 1, 16, 0, 0 }), bad_xdr);
	/* More than may come. */
	EXPECT_EQ(answer(1, item(36, 4096 - 36, 4096 - 36)), too_large);
	EXPECT_EQ(answer(2, item(36, 4096 - 36, 4096 - 36)),
		  Words{ RPCRDMA2_ERR_INVAL_CONT });
	EXPECT_EQ(answer(1, item(36, UINT32_MAX, UINT32_MAX)), too_large);
}

/* In the middle of a group, which ends behind the memory that it names. */
TEST(rtrext, request__memory_to_read_behind_its_end)
{
	const Words item = { 1, 60, 16, kExrw, 1, 1, 16, 0, 0 };

	for (const u32 more : { 20u, 16u }) {
		Endpoint e = server();

		e.receive(request(kXid, 2, call(), item));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		e.receive(go_on(kXid, 1, Words(more / 4)));
		if (more == 20) {
			EXPECT_TRUE(e.rx.last);
			EXPECT_EQ(e.rx.unreduced_length, 76u);
			continue;
		}
		expect_given_up(e);
	}
}

/* There is no field for a handle that the Reply may invalidate. */
TEST(rtrext, request__memory_to_read_is_not_invalidated)
{
	Endpoint e = server();

	e.receive(
		request(kXid, 1, call(), { 1, 36, 16, kExrw, 1, 7, 16, 0, 0 }));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(e.rx.inv_handle, 0u);
}

/* ------------------------------------------------------------------ */
/* Refused with REPTERR                                               */
/* ------------------------------------------------------------------ */

TEST(rtrext, report__nothing_to_go_on_with)
{
	Endpoint e = server();

	e.receive(go_on(kXid, 1, call()));
	expect_dropped(e, RPCRDMA_REASON_CONTINUATION);
	expect_report(e, { kXid, 0, 1, 0, 3 });
}

TEST(rtrext, report__groups_that_break)
{
	const Words first = request(kXid, 3, call());
	const Words second = call();
	struct Case {
		Words message;
		Words report;
	};
	const Case cases[] = {
		{ go_on(kXid + 1, 1, second),
		  { kXid + 1, 0, 1, 1, kXid, 0, 0, 5, kXid, kXid + 1 } },
		{ go_on(kXid, 2, second),
		  { kXid, 0, 2, 1, kXid, 0, 0, 4, 1, 2 } },
		{ go_on(kXid, 1, second, kXmtResp),
		  { kXid, 1, 1, 1, kXid, 0, 0, 2, kXmtReq, kXmtResp } },
		{ request(kXid + 1, 1, rpc(kXid + 1, 0, 40)),
		  { kXid + 1, 0, 0, 1, kXid, 0, 0, 2, kXmtCont, kXmtReq } },
		{ prefix(kXid, kXmtCont) + Words{ 1, kXmtReq, 44 } + second,
		  { kXid, 0, 1, 1, kXid, 0, 0, 8, 44, 0, 40 } },
	};

	for (const Case &c : cases) {
		Endpoint e = server();

		e.receive(first);
		e.receive(c.message);
		expect_dropped(e, RPCRDMA_REASON_CONTINUATION);
		EXPECT_TRUE(e.rx.abandon);
		EXPECT_EQ(e.rx.dir, u32{ RPCRDMA_CALL });
		expect_report(e, c.report);
		/* It goes on. */
		e.receive(request(kXid + 9, 1, rpc(kXid + 9, 0, 40)));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		EXPECT_EQ(e.peek(), u32{ RPCRDMA_TX_NONE });
	}
}

/* A Send of another group, of which only the first two words are there. */
TEST(rtrext, report__of_a_send_that_is_cut_off)
{
	Endpoint e = server();

	e.receive(request(kXid, 3, call()));
	e.receive(prefix(kXid + 1, kXmtCont) + Words{ 2, kXmtResp });
	expect_report(e, { kXid + 1, 1, 2, 1, kXid, 0, 0, 5, kXid, kXid + 1 });
}

/* It belongs to the group, and cannot be read: the group is over. */
TEST(rtrext, request__of_which_a_send_is_cut_off)
{
	Endpoint e = server();
	const Words cut = prefix(kXid, kXmtCont) + Words{ 1 };

	e.receive(request(kXid, 3, call()));
	e.receive(cut);
	expect_given_up(e);
	e.receive(go_on(kXid, 2, call()));
	expect_dropped(e, RPCRDMA_REASON_DISCARDING);
	/* An answer to what belongs to no group could be about a Reply. */
	e.receive(cut);
	expect_dropped(e, RPCRDMA_REASON_XDR);
	EXPECT_FALSE(e.rx.abandon);
	EXPECT_EQ(e.peek(), u32{ RPCRDMA_TX_NONE });
}

TEST(rtrext, reply__of_which_a_send_is_cut_off)
{
	Endpoint e = client();
	Outgoing o(RPCRDMA_CALL, 40, 3);

	EXPECT_EQ(send(e, o), kSent);
	e.receive(response(kXid, 3, rpc(kXid, RPCRDMA_REPLY, 40)));
	e.receive(prefix(kXid, kXmtCont) + Words{ 1 });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	EXPECT_EQ(e.rx.xid, kXid);
	EXPECT_EQ(e.rx.errcode, u32{ RPCRDMA2_ERR_BAD_XDR });
	EXPECT_TRUE(e.rx.abandon);
	EXPECT_EQ(state(e).reserved(), 0u);
	EXPECT_EQ(e.peek(), u32{ RPCRDMA_TX_NONE });
}

TEST(rtrext, report__the_rest_of_a_group_is_dropped)
{
	Endpoint e = server();

	e.receive(request(kXid, 4, call(), { 1, 36, 8, kTbsn, 0, 1, 99 }));
	expect_report(e, { kXid, 0, 0, 0, 7, 99, 0, 7 });
	for (u32 n = 1; n < 4; n++) {
		e.receive(go_on(kXid, n, call()));
		expect_dropped(e, RPCRDMA_REASON_DISCARDING);
	}
	EXPECT_EQ(e.peek(), u32{ RPCRDMA_TX_NONE });
}

/* Of both, however their Sends are mixed. */
TEST(rtrext, report__the_rest_of_two_groups_that_overlap)
{
	Endpoint e = server();

	e.receive(request(kXid, 3, call()));
	e.receive(request(kXid + 1, 3, rpc(kXid + 1, 0, 40)));
	expect_report(e,
		      { kXid + 1, 0, 0, 1, kXid, 0, 0, 2, kXmtCont, kXmtReq });
	for (u32 n = 1; n < 3; n++) {
		for (const u32 xid : { kXid, kXid + 1 }) {
			e.receive(go_on(xid, n, call()));
			expect_dropped(e, RPCRDMA_REASON_DISCARDING);
		}
	}
	EXPECT_EQ(e.peek(), u32{ RPCRDMA_TX_NONE });
	e.receive(request(kXid + 2, 1, rpc(kXid + 2, 0, 40)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
}

/* Numbers of Sends that are more than this side has said, or none. */
TEST(rtrext, report__counts)
{
	for (const u32 count : { 0u, 17u }) {
		Endpoint e = server();

		e.receive(request(kXid, count, call()));
		expect_dropped(e, RPCRDMA_REASON_CONTINUATION);
		expect_report(e, { kXid, 0, 0, 0, 4, 16, count });
	}
}

/* The first Send of a group has a word of its message at least. */
TEST(rtrext, report__a_first_send_without_payload)
{
	for (const u32 count : { 1u, 2u }) {
		Endpoint e = server();

		e.receive(request(kXid, count, {}));
		expect_dropped(e, RPCRDMA_REASON_CONTINUATION);
		EXPECT_FALSE(state(e).incoming().active());
		expect_report(e, { kXid, 0, 0, 0, 8, 0, 4, 0 });
		for (u32 n = 1; n < count; n++) {
			e.receive(go_on(kXid, n, call()));
			expect_dropped(e, RPCRDMA_REASON_DISCARDING);
		}
		e.receive(request(kXid, 1, call()));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	}
}

/* The interloper is refused as between parts of -07, and the group is over. */
TEST(rtrext, report__another_message_in_between)
{
	const Words other = call_inline(kXid + 1, rpc(kXid + 1, 0, 40));

	for (const bool plain : { true, false }) {
		Endpoint e = server();

		e.receive(request(kXid, 3, call()));
		e.receive(plain ? other : prefix(kXid + 1, 99) + Words{ 1, 2 });
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
		EXPECT_TRUE(e.rx.abandon);
		expect_report(e, { kXid, 0, 1, 1, kXid, 0, 0, 1, kXmtCont,
				   plain ? u32{ RPCRDMA2_CALL_INLINE } : 99 });
		expect_error(e, plain ? RPCRDMA2_ERR_INVAL_CONT :
					RPCRDMA2_ERR_INVAL_HTYPE);
		EXPECT_FALSE(state(e).incoming().active());
		e.receive(other);
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	}
}

TEST(rtrext, report__a_message_of_another_version_in_between)
{
	Endpoint e = server();
	Words other = call_inline(kXid + 1, rpc(kXid + 1, 0, 40));

	other[1] = 1;
	e.receive(request(kXid, 2, call()));
	e.receive(other);
	expect_dropped(e, RPCRDMA_REASON_VERSION_MISMATCH);
	EXPECT_TRUE(e.rx.abandon);
	EXPECT_FALSE(state(e).incoming().active());
	e.receive(go_on(kXid, 1, {}));
	expect_dropped(e, RPCRDMA_REASON_DISCARDING);
}

/* A message of the extension that is no part of the group, and is refused by itself, too. */
TEST(rtrext, report__what_this_side_does_not_take_in_between)
{
	const auto ends = [](const Words &w, u32 reason, const Words &report,
			     u32 code) {
		Endpoint e = server_taking(kTakesRequests | kTakesContinues);

		e.receive(request(kXid, 3, call()));
		e.receive(w);
		expect_dropped(e, reason);
		EXPECT_TRUE(e.rx.abandon);
		EXPECT_EQ(e.rx.dir, u32{ RPCRDMA_CALL });
		EXPECT_FALSE(state(e).incoming().active());
		expect_report(e, report);
		expect_error(e, code);
		e.receive(go_on(kXid, 1, call()));
		expect_dropped(e, RPCRDMA_REASON_DISCARDING);
		e.receive(request(kXid + 9, 1, rpc(kXid + 9, 0, 40)));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	};
	const Words of = { kXid, 0, 1, 1, kXid, 0, 0, 2, kXmtCont };

	ends(response(kXid + 1, 1, rpc(kXid + 1, RPCRDMA_REPLY, 40)),
	     RPCRDMA_REASON_HTYPE, of + Words{ kXmtResp },
	     RPCRDMA2_ERR_INVAL_HTYPE);
	ends(prefix(kXid + 1, kXmtReq) + Words{ 1, 4, 8, 99, 0, 0 },
	     RPCRDMA_REASON_XDR, of + Words{ kXmtReq }, RPCRDMA2_ERR_BAD_XDR);
}

TEST(rtrext, report__a_message_of_another_extension_in_between)
{
	rpcrdma_config c = grouping(RPCRDMA_ROLE_SERVER);

	c.extensions = RPCRDMA_ALL_EXTENSIONS;
	Endpoint e =
		server(c, Words{ 3, kExtensionsProperty, 4, UINT32_MAX,
				 kRtrSupport, 4, kAll, Ping::kProperty, 4, 2 });
	const Words ping =
		prefix(Ping::kFirstXid + 1, Ping::kPing) + Words{ 1 };

	e.receive(request(kXid, 3, call()));
	e.receive(ping);
	expect_dropped(e, RPCRDMA_REASON_CONTINUATION);
	expect_report(e,
		      { kXid, 0, 1, 1, kXid, 0, 0, 2, kXmtCont, Ping::kPing });
	expect_error(e, RPCRDMA2_ERR_INVAL_CONT);
	e.receive(ping);
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
}

TEST(rtrext, between__grant_and_error_may_come_D20)
{
	Endpoint e = server();

	e.receive(request(kXid, 2, call()));
	e.receive(prefix(0, RPCRDMA2_GRANT));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	e.receive(prefix(0x99, RPCRDMA2_ERROR) + Words{ RPCRDMA2_ERR_SYSTEM });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	e.receive(go_on(kXid, 1, call()));
	EXPECT_TRUE(e.rx.last);
}

/* A group may not begin between the parts of a message of -07, either (6.3.6 of that). */
TEST(rtrext, between__parts_of_a_message_of_version_2)
{
	Endpoint e = server();
	const Words w = rpc(kXid + 1, RPCRDMA_CALL, 80);

	e.receive(middle(RPCRDMA2_CALL_MIDDLE, kXid + 1, 40, slice(w, 0, 40)));
	e.receive(request(kXid, 1, call()));
	expect_dropped(e, RPCRDMA_REASON_CONTINUATION);
	expect_error(e, RPCRDMA2_ERR_INVAL_CONT);
	e.receive(call_inline(kXid + 1, slice(w, 40, 40)));
	EXPECT_TRUE(e.rx.last);
}

/* As a Reply of -07 that comes there: nobody waits for it any more. */
TEST(rtrext, between__a_reply_and_the_parts_of_another)
{
	Endpoint e = client();
	Outgoing o(RPCRDMA_CALL, 40, 3);
	const Words w = rpc(kXid + 1, RPCRDMA_REPLY, 80);

	EXPECT_EQ(send(e, o), kSent);
	e.receive(middle(RPCRDMA2_REPLY_MIDDLE, kXid + 1, 40, slice(w, 0, 40)));
	e.receive(response(kXid, 1, rpc(kXid, RPCRDMA_REPLY, 40)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_CONTINUATION });
	EXPECT_EQ(e.rx.xid, kXid);
	EXPECT_LT(e.rx.error, 0);
	EXPECT_EQ(state(e).reserved(), 0u);
	expect_error(e, RPCRDMA2_ERR_INVAL_CONT);
	e.receive(reply_inline(kXid + 1, slice(w, 40, 40)));
	EXPECT_TRUE(e.rx.last);
}

/* A REPTERR is no part of the group, and does not end it. */
TEST(rtrext, between__a_report_may_come_D20)
{
	Endpoint e = server();

	e.receive(request(kXid, 2, call()));
	e.receive(prefix(kXid, kReptErr) + Words{ kXid, 1, 0, 0, 3 });
	expect_dropped(e, RPCRDMA_REASON_XID);
	e.receive(go_on(kXid, 1, call()));
	EXPECT_TRUE(e.rx.last);
}

/* One ERROR says all of it. */
TEST(rtrext, report__nothing_of_what_could_not_be_read)
{
	Endpoint e = server();

	e.receive(prefix(kXid, kXmtReq) + Words{ 1, 4, 8, 99, 0, 0 });
	expect_dropped(e, RPCRDMA_REASON_XDR);
	expect_error(e, RPCRDMA2_ERR_BAD_XDR);
	for (u32 i = 1; i < 2 * Rtrext::kMostReports; i++) {
		e.receive(go_on(kXid, i, {}));
		expect_dropped(e, RPCRDMA_REASON_DISCARDING);
	}
	EXPECT_NE(e.next(), u32{ RPCRDMA_TX_CONTROL });
	/* Of another message nothing is known. */
	e.receive(go_on(kXid + 1, 1, {}));
	expect_dropped(e, RPCRDMA_REASON_CONTINUATION);
	expect_report(e, { kXid + 1, 0, 1, 0, 3 });
	e.receive(request(kXid, 1, call()));
	EXPECT_TRUE(e.rx.last);
}

/* No more reports can wait, and there is no credit to send one. */
static void fill_reports(Endpoint &e, const Words &refused)
{
	for (u32 i = 0; i < Rtrext::kMostReports; i++) {
		e.receive(refused);
		expect_dropped(e, RPCRDMA_REASON_CONTINUATION);
	}
}

static void expect_flood(const Endpoint &e)
{
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_FLOOD });
	EXPECT_EQ(e.peek(), u32{ RPCRDMA_TX_NONE });
}

TEST(rtrext, report__a_peer_that_causes_too_many_is_cut_off)
{
	Endpoint e = server();
	const Words w = prefix(kXid, kXmtCont, 1) + Words{ 1, kXmtReq, 0 };

	fill_reports(e, w);
	e.receive(w);
	expect_flood(e);
}

/* Whatever breaks into a group, there is no room for what is to be said of it. */
TEST(rtrext, report__a_group_that_is_broken_when_no_more_can_wait)
{
	const Words w = prefix(kXid, kXmtCont, 1) + Words{ 1, kXmtReq, 0 };
	const Words other = call_inline(kXid + 1, rpc(kXid + 1, 0, 40));
	Words version = other;

	version[1] = 1;
	for (const Words &breaks :
	     { other, version, response(kXid + 1, 1, rpc(kXid + 1, 1, 40)),
	       prefix(kXid + 1, kXmtReq) + Words{ 1, 4, 8, 99, 0, 0 },
	       go_on(kXid + 1, 1, call()) }) {
		Endpoint e = server_taking(kTakesRequests | kTakesContinues);

		fill_reports(e, w);
		e.receive(request(kXid, 3, call()));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		e.receive(breaks);
		expect_flood(e);
	}
}

TEST(rtrext, report__several_leave_in_order)
{
	Endpoint e = server();
	const u32 all = 9;

	for (u32 i = 0; i < all; i++)
		e.receive(go_on(kXid + i, i, {}));
	for (u32 i = 0; i < all; i++)
		expect_report(e, { kXid + i, 0, i, 0, 3 });
}

/* ------------------------------------------------------------------ */
/* Reported by the peer                                               */
/* ------------------------------------------------------------------ */

TEST(rtrext, refused__a_call_once)
{
	Endpoint e = client();
	Outgoing o(RPCRDMA_CALL, 40);
	const Words report =
		prefix(kXid, kReptErr) + Words{ kXid, 0, 0, 0, 8, 40, 0, 36 };

	e.receive(report);
	expect_dropped(e, RPCRDMA_REASON_XID);
	EXPECT_EQ(send(e, o), kSent);
	e.receive(report);
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	ASSERT_EQ(state(e).refused_count(), 1u);
	EXPECT_EQ(state(e).refused_message(0),
		  (TransmissionId{ to_xid(kXid), RPCRDMA_CALL, 0 }));
	EXPECT_EQ(state(e).refused_why().code, RtrError::BadPl);
	e.receive(report);
	expect_dropped(e, RPCRDMA_REASON_XID);
	EXPECT_EQ(state(e).refused_count(), 0u);
}

/* 5.4: whoever sends groups takes a REPTERR, even if it takes no groups. */
TEST(rtrext, refused__a_call_of_a_side_that_takes_no_replies_by_groups)
{
	Endpoint e(grouping(RPCRDMA_ROLE_CLIENT));
	Outgoing o(RPCRDMA_CALL, 40);

	EXPECT_TRUE(declare(e.session));
	EXPECT_TRUE(e.session.with<Rtrext>([](Rtrext &, Port &port) {
		return Rtrext::declare(port, kTakesContinues);
	}));
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
	e.receive(connprop(kServerXid, announcing()));
	EXPECT_EQ(send(e, o), kSent);
	e.receive(response(kXid, 1, rpc(kXid, RPCRDMA_REPLY, 40)));
	expect_dropped(e, RPCRDMA_REASON_HTYPE);
	expect_error(e, RPCRDMA2_ERR_INVAL_HTYPE);
	e.receive(prefix(kXid, kReptErr) + Words{ kXid, 0, 0, 0, 8, 40, 0, 36 });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	ASSERT_EQ(state(e).refused_count(), 1u);
	EXPECT_EQ(state(e).refused_why().code, RtrError::BadPl);
}

TEST(rtrext, refused__a_reply_and_what_led_to_it)
{
	Endpoint e = server();
	Outgoing reply(RPCRDMA_REPLY, 40);
	Outgoing call(RPCRDMA_CALL, 40);

	EXPECT_EQ(send(e, reply), kSent);
	EXPECT_EQ(send(e, call), kSent);
	e.receive(prefix(kXid, kReptErr) +
		  Words{ kXid, 1, 0, 1, kXid, 0, 0, 2, kXmtCont, kXmtResp });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	ASSERT_EQ(state(e).refused_count(), 2u);
	EXPECT_EQ(state(e).refused_message(0).dir, u32{ RPCRDMA_REPLY });
	EXPECT_EQ(state(e).refused_message(1).dir, u32{ RPCRDMA_CALL });
}

namespace
{

/* What follows the numbers of a message in a REPTERR about it, for each code (9.5). */
const Words kEachFault[] = {
	{ 1, kXmtCont, RPCRDMA2_REPLY_INLINE },
	{ 2, kXmtCont, kXmtResp },
	{ 3 },
	{ 4, 1, 2 },
	{ 5, kXid, kXid + 1 },
	{ 6, 1024, 0, 1023 },
	{ 7, 9, 0, 5 },
	{ 8, 44, 0, 40 },
};

/*
 * The only message that was sent is refused, for @fault. It is sent again, once, by a type of -07:
 * a second report is about nothing, also after that.
 */
void expect_refused_once(Endpoint &e, rpcrdma_dir dir, const Words &report,
			 const Words &fault, u32 htype)
{
	e.receive(report);
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	EXPECT_FALSE(e.rx.abandon);
	ASSERT_EQ(state(e).refused_count(), 1u);
	EXPECT_EQ(state(e).refused_message(0),
		  (TransmissionId{ to_xid(kXid), dir, 0 }));
	EXPECT_EQ(static_cast<u32>(state(e).refused_why().code), fault[0]);
	for (u32 i = 1; i < fault.size(); i++)
		EXPECT_EQ(state(e).refused_why().words[i - 1], fault[i]);

	e.receive(report);
	expect_dropped(e, RPCRDMA_REASON_XID);
	EXPECT_EQ(state(e).refused_count(), 0u);
	rpcrdma_message again = message(kXid, dir, 40);
	EXPECT_EQ(e.next(&again), kSent);
	EXPECT_EQ(e.tx.htype, htype);
	e.receive(report);
	expect_dropped(e, RPCRDMA_REASON_XID);
	EXPECT_EQ(e.peek(), u32{ RPCRDMA_TX_NONE });
}

} // namespace

/* Whatever is wrong with it: it is sent again, once, by a type of -07. */
TEST(rtrext, refused__a_reply_for_each_code)
{
	u32 code = 0;

	for (const Words &fault : kEachFault) {
		Endpoint e = server();
		Outgoing o(RPCRDMA_REPLY, 40);
		const Words report =
			prefix(kXid, kReptErr) + Words{ kXid, 1, 0, 0 } + fault;

		EXPECT_EQ(fault[0], ++code);
		EXPECT_EQ(send(e, o), kSent);
		EXPECT_EQ(e.tx.htype, kXmtResp);
		ASSERT_NO_FATAL_FAILURE(
			expect_refused_once(e, RPCRDMA_REPLY, report, fault,
					    RPCRDMA2_REPLY_INLINE));
	}
}

/* So it is of Calls, whether something else is said to have led to it or not. */
TEST(rtrext, refused__a_call_for_each_code)
{
	u32 code = 0;

	for (const Words &fault : kEachFault) {
		EXPECT_EQ(fault[0], ++code);
		for (const Words &lead :
		     { Words{ 0 }, Words{ 1, kXid, RPCRDMA_CALL, 0 } }) {
			Endpoint e = client();
			Outgoing o(RPCRDMA_CALL, 40);
			const Words report =
				prefix(kXid, kReptErr) +
				Words{ kXid, RPCRDMA_CALL, 0 } + lead + fault;

			EXPECT_EQ(send(e, o), kSent);
			EXPECT_EQ(e.tx.htype, kXmtReq);
			ASSERT_NO_FATAL_FAILURE(
				expect_refused_once(e, RPCRDMA_CALL, report,
						    fault,
						    RPCRDMA2_CALL_INLINE));
		}
	}
}

/* A word is missing, or there is one more; or there is no such code. */
TEST(rtrext, refused__no_reply_by_a_report_that_is_malformed)
{
	Endpoint e = server();
	Outgoing o(RPCRDMA_REPLY, 40);
	const Words of = prefix(kXid, kReptErr) + Words{ kXid, 1, 0, 0 };

	EXPECT_EQ(send(e, o), kSent);
	for (const Words &fault : kEachFault) {
		Words less = of + fault;

		less.pop_back();
		for (const Words &w : { less, of + fault + Words{ 0 } }) {
			e.receive(w);
			expect_dropped(e, RPCRDMA_REASON_XDR);
			EXPECT_EQ(state(e).refused_count(), 0u);
		}
	}
	for (const u32 code : { 0u, 9u, UINT32_MAX }) {
		e.receive(of + Words{ code });
		expect_dropped(e, RPCRDMA_REASON_XDR);
	}
	/* It is there still. */
	e.receive(of + Words{ 3 });
	EXPECT_EQ(state(e).refused_count(), 1u);
}

/* The rest of it has to go all the same, and nothing before that. */
TEST(rtrext, refused__a_reply_in_the_middle)
{
	Endpoint e = server();
	Outgoing o(RPCRDMA_REPLY, 2 * kReceive, 4);
	const Words report =
		prefix(kXid, kReptErr) + Words{ kXid, 1, 0, 0, 7, 9, 0, 1 };
	rpcrdma_message again = message(kXid, RPCRDMA_REPLY, 2 * kReceive);

	EXPECT_EQ(send(e, o), kSent);
	EXPECT_FALSE(e.tx.last);
	e.receive(report);
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	EXPECT_EQ(state(e).refused_count(), 1u);
	EXPECT_EQ(e.next(&again), kNoCredit);
	e.receive(report);
	expect_dropped(e, RPCRDMA_REASON_XID);
	for (u32 n = 1; n < o.m.plan.count(); n++) {
		ASSERT_EQ(send(e, o), kSent);
		EXPECT_EQ(e.tx.htype, kXmtCont);
	}
	EXPECT_TRUE(e.tx.last);
	EXPECT_EQ(e.next(&again), kSent);
	EXPECT_EQ(e.tx.htype, u32{ RPCRDMA2_REPLY_MIDDLE });
}

/*
 * Of 64 groups it is remembered that they were sent. What is older the Requester waits for
 * until its time is over (5.4).
 */
TEST(rtrext, refused__a_reply_that_is_not_known_any_more)
{
	Endpoint e = server();
	const auto report = [&](u32 xid) {
		e.receive(prefix(xid, kReptErr) + Words{ xid, 1, 0, 0, 3 });
	};

	for (u32 i = 0; i <= SentGroups::kMost; i++) {
		Outgoing o(RPCRDMA_REPLY, 40);

		o.msg.xid = kXid + i;
		EXPECT_EQ(send(e, o), kSent);
		e.receive(prefix(0, RPCRDMA2_GRANT));
	}
	report(kXid);
	expect_dropped(e, RPCRDMA_REASON_XID);
	EXPECT_FALSE(e.rx.abandon);
	/* One by a type of -07 is none of them, and so is a Call. */
	rpcrdma_message plain = message(kXid, RPCRDMA_REPLY, 40);
	EXPECT_EQ(e.next(&plain), kSent);
	report(kXid);
	expect_dropped(e, RPCRDMA_REASON_XID);
	e.receive(prefix(kXid + 1, kReptErr) + Words{ kXid + 1, 0, 0, 0, 3 });
	expect_dropped(e, RPCRDMA_REASON_XID);
	report(kXid + 1);
	EXPECT_EQ(state(e).refused_count(), 1u);
	EXPECT_EQ(e.peek(), u32{ RPCRDMA_TX_NONE });
}

/* Two Replies, of which one has come in the middle of the other. */
TEST(rtrext, refused__two_replies)
{
	Endpoint e = server();
	const Words report =
		prefix(kXid + 1, kReptErr) +
		Words{ kXid + 1, 1, 0, 1, kXid, 1, 0, 2, kXmtCont, kXmtResp };

	for (u32 i = 0; i < 2; i++) {
		Outgoing o(RPCRDMA_REPLY, 40);

		o.msg.xid = kXid + i;
		EXPECT_EQ(send(e, o), kSent);
	}
	e.receive(report);
	ASSERT_EQ(state(e).refused_count(), 2u);
	for (u32 i = 0; i < 2; i++) {
		const TransmissionId &id = state(e).refused_message(i);

		EXPECT_EQ(id.dir, u32{ RPCRDMA_REPLY });
		EXPECT_EQ(word_of(id.xid), kXid + 1 - i);
	}
	e.receive(report);
	expect_dropped(e, RPCRDMA_REASON_XID);
}

/*
 * A Call that has come twice has two Replies with its XID. A REPTERR is about one of them: each may
 * be refused, and is sent again. Two ids of a REPTERR that are the same mean one.
 */
TEST(rtrext, refused__each_of_two_replies_with_one_xid)
{
	const Words reports[] = {
		prefix(kXid, kReptErr) + Words{ kXid, 1, 0, 0, 3 },
		prefix(kXid, kReptErr) +
			Words{ kXid, 1, 1, 1, kXid, 1, 0, 8, 40, 0, 28 },
	};

	for (const Words &report : reports) {
		Endpoint e = server();

		for (u32 i = 0; i < 2; i++) {
			Outgoing o(RPCRDMA_REPLY, 40);

			EXPECT_EQ(send(e, o), kSent);
		}
		for (u32 i = 0; i < 2; i++) {
			rpcrdma_message again =
				message(kXid, RPCRDMA_REPLY, 40);

			e.receive(report);
			EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
			ASSERT_EQ(state(e).refused_count(), 1u);
			EXPECT_EQ(e.next(&again), kSent);
			EXPECT_EQ(e.tx.htype, u32{ RPCRDMA2_REPLY_INLINE });
		}
		e.receive(report);
		expect_dropped(e, RPCRDMA_REASON_XID);
		EXPECT_EQ(state(e).refused_count(), 0u);
	}
}

/* A Call by groups, each of which promises so many Sends to its Reply. */
static void send_twice(Endpoint &e, u32 promised)
{
	for (u32 i = 0; i < 2; i++) {
		Outgoing o(RPCRDMA_CALL, 40, promised);

		EXPECT_EQ(send(e, o), kSent);
		EXPECT_EQ(o.m.reply_count, promised);
	}
}

/*
 * For a Call that went twice one RPC waits, which is sent again once. The second REPTERR would
 * fail what has another form by then. It gives back what was promised to the Reply.
 */
TEST(rtrext, refused__a_call_that_was_sent_twice_once)
{
	for (u32 promised = 1; promised <= 3; promised += 2) {
		Endpoint e = client();
		const u32 reserved = promised > 1 ? promised : 0;
		const Words report =
			prefix(kXid, kReptErr) + Words{ kXid, 0, 0, 0, 3 };

		send_twice(e, promised);
		e.receive(report);
		EXPECT_EQ(state(e).refused_count(), 1u);
		EXPECT_EQ(state(e).reserved(), reserved);
		e.receive(report);
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
		EXPECT_EQ(state(e).refused_count(), 0u);
		EXPECT_EQ(state(e).reserved(), 0u);
		e.receive(report);
		expect_dropped(e, RPCRDMA_REASON_XID);
		EXPECT_EQ(state(e).refused_count(), 0u);
	}
}

/* One of both has a Reply, in either form, or an ERROR; the other is refused. */
TEST(rtrext, refused__a_call_that_was_sent_twice_after_its_answer)
{
	const Words reply = rpc(kXid, RPCRDMA_REPLY, 48);
	const Words report = prefix(kXid, kReptErr) + Words{ kXid, 0, 0, 0, 3 };

	for (const Words &answer :
	     { response(kXid, 1, reply), reply_inline(kXid, reply),
	       prefix(kXid, RPCRDMA2_ERROR) + Words{ RPCRDMA2_ERR_BAD_XDR } }) {
		Endpoint e = client();

		send_twice(e, 3);
		e.receive(answer);
		EXPECT_NE(e.rx.action, u32{ RPCRDMA_RX_DROP });
		EXPECT_NE(state(e).reserved(), 0u);
		e.receive(report);
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
		EXPECT_EQ(state(e).refused_count(), 0u);
		EXPECT_EQ(state(e).reserved(), 0u);
		e.receive(report);
		expect_dropped(e, RPCRDMA_REASON_XID);
	}
}

/* The RPC goes on by a third group, and a report is about that: the second has it no more. */
TEST(rtrext, refused__a_call_that_is_sent_again_after_an_error)
{
	const Words report = prefix(kXid, kReptErr) + Words{ kXid, 0, 0, 0, 3 };
	Outgoing third(RPCRDMA_CALL, 40, 3);
	Endpoint e = client();

	send_twice(e, 3);
	e.receive(prefix(kXid, RPCRDMA2_ERROR) + Words{ RPCRDMA2_ERR_BAD_XDR });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	EXPECT_EQ(send(e, third), kSent);
	e.receive(report);
	EXPECT_EQ(state(e).refused_count(), 1u);
	EXPECT_EQ(state(e).reserved(), 3u);
	e.receive(report);
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	EXPECT_EQ(state(e).refused_count(), 0u);
	EXPECT_EQ(state(e).reserved(), 0u);
}

/* One has come in the middle of the other. The numbers of both are the same. */
TEST(rtrext, refused__both_groups_of_a_call)
{
	Endpoint e = client();
	const Words report =
		prefix(kXid, kReptErr) +
		Words{ kXid, 0, 0, 1, kXid, 0, 0, 2, kXmtCont, kXmtReq };

	send_twice(e, 2);
	e.receive(report);
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	EXPECT_EQ(state(e).refused_count(), 1u);
	EXPECT_EQ(state(e).reserved(), 0u);
	e.receive(report);
	expect_dropped(e, RPCRDMA_REASON_XID);
}

/* That type is not taken, which is said of each Send of both groups. */
TEST(rtrext, refused__a_type_of_message_that_was_sent_twice)
{
	Endpoint e = client();
	rpcrdma_message again = message(kXid, RPCRDMA_CALL, 40);
	const Words error = prefix(kXid, RPCRDMA2_ERROR) +
			    Words{ RPCRDMA2_ERR_INVAL_HTYPE };
	u32 sends = 0;

	for (u32 i = 0; i < 2; i++) {
		Outgoing o(RPCRDMA_CALL, i ? 40 : kReceive, 3);

		do {
			ASSERT_EQ(send(e, o), kSent);
			sends++;
		} while (!e.tx.last);
	}
	EXPECT_EQ(sends, 3u);
	e.receive(error);
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	EXPECT_EQ(state(e).reserved(), 0u);
	EXPECT_EQ(e.next(&again), kSent);
	for (u32 i = 1; i < sends; i++) {
		e.receive(error);
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL }) << i;
	}
	e.receive(error);
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
}

/*
 * A REPTERR has had it sent in another form, so the peer knows the type: an ERROR is about that
 * form.
 */
TEST(rtrext, refused__a_type_of_message_after_a_report)
{
	Endpoint e = client();
	Outgoing other(RPCRDMA_CALL, 40);
	rpcrdma_message again = message(kXid, RPCRDMA_CALL, 40);

	send_twice(e, 3);
	e.receive(prefix(kXid, kReptErr) + Words{ kXid, 0, 0, 0, 3 });
	EXPECT_EQ(state(e).refused_count(), 1u);
	EXPECT_EQ(e.next(&again), kSent);
	e.receive(prefix(kXid, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	EXPECT_EQ(state(e).reserved(), 0u);
	other.msg.xid = kXid + 1;
	EXPECT_EQ(send(e, other), kSent);
}

/*
 * A Call was sent twice. The Reply to one group cannot be taken, or is refused here, and the peer
 * refuses the other group.
 */
TEST(rtrext, refused__a_call_that_was_sent_twice_after_a_bad_reply)
{
	const Words report = prefix(kXid, kReptErr) + Words{ kXid, 0, 0, 0, 3 };
	const Words reply = rpc(kXid, RPCRDMA_REPLY, 48);
	struct {
		Words reply;
		bool failed;
	} const cases[] = {
		{ response(kXid, 1, rpc(kXid + 1, RPCRDMA_REPLY, 48)), true },
		{ prefix(kXid, kXmtResp) + Words{ UINT32_MAX }, true },
		{ response(kXid, 9, reply), false },
	};

	for (const auto &c : cases) {
		Endpoint e = client();

		send_twice(e, 3);
		e.receive(c.reply);
		EXPECT_EQ(e.rx.action == RPCRDMA_RX_FAIL_RPC, c.failed);
		EXPECT_EQ(state(e).reserved(), 3u);
		e.receive(report);
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
		EXPECT_EQ(state(e).refused_count(), c.failed ? 0u : 1u);
		EXPECT_EQ(state(e).reserved(), 0u);
		e.receive(report);
		expect_dropped(e, RPCRDMA_REASON_XID);
	}
}

/*
 * The first group promised nothing, since other Calls had reserved all. Its Reply takes nothing
 * from the second one, in any form.
 */
TEST(rtrext, reserved__for_the_second_group_of_a_call_alone)
{
	const Words reply = rpc(kXid, RPCRDMA_REPLY, 48);

	for (const Words &answer :
	     { response(kXid, 1, reply), reply_inline(kXid, reply),
	       prefix(kXid, kReptErr) + Words{ kXid, 0, 0, 0, 3 } }) {
		Endpoint e = client();
		Outgoing first(RPCRDMA_CALL, 40);
		Outgoing second(RPCRDMA_CALL, 40, 3);

		EXPECT_EQ(send(e, first), kSent);
		EXPECT_EQ(send(e, second), kSent);
		EXPECT_EQ(second.m.reply_count, 3u);
		e.receive(answer);
		EXPECT_NE(e.rx.action, u32{ RPCRDMA_RX_DROP });
		EXPECT_EQ(state(e).reserved(), 3u);
		e.receive(response(kXid, 3, slice(reply, 0, 20)));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		e.receive(go_on(kXid, 1, slice(reply, 20, 20), kXmtResp));
		e.receive(go_on(kXid, 2, slice(reply, 40, 8), kXmtResp));
		EXPECT_TRUE(e.rx.last);
		EXPECT_EQ(state(e).reserved(), 0u);
	}
}

TEST(rtrext, reserved__an_error_ends_one_of_two_replies)
{
	const Words reply = rpc(kXid, RPCRDMA_REPLY, 48);
	Endpoint e = client();

	send_twice(e, 3);
	e.receive(response(kXid, 3, slice(reply, 0, 20)));
	e.receive(prefix(kXid, RPCRDMA2_ERROR) + Words{ RPCRDMA2_ERR_BAD_XDR });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	e.receive(go_on(kXid, 1, slice(reply, 20, 20), kXmtResp));
	expect_dropped(e, RPCRDMA_REASON_DISCARDING);
	e.receive(go_on(kXid, 2, slice(reply, 40, 8), kXmtResp));
	expect_dropped(e, RPCRDMA_REASON_DISCARDING);
	EXPECT_EQ(state(e).reserved(), 0u);
}

TEST(rtrext, reserved__an_error_ends_one_of_two_replies_of_which_one_was_promised)
{
	const Words reply = rpc(kXid, RPCRDMA_REPLY, 48);
	Endpoint e = client();
	Outgoing first(RPCRDMA_CALL, 40);
	Outgoing second(RPCRDMA_CALL, 40, 3);

	EXPECT_EQ(send(e, first), kSent);
	EXPECT_EQ(send(e, second), kSent);
	e.receive(response(kXid, 3, slice(reply, 0, 20)));
	e.receive(prefix(kXid, RPCRDMA2_ERROR) + Words{ RPCRDMA2_ERR_BAD_XDR });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	e.receive(go_on(kXid, 1, slice(reply, 20, 20), kXmtResp));
	e.receive(go_on(kXid, 2, slice(reply, 40, 8), kXmtResp));
	EXPECT_EQ(state(e).reserved(), 0u);
}

/* The same if that Reply comes in parts of -07, or another one breaks into it. */
TEST(rtrext, reserved__what_ends_one_of_two_replies_in_parts)
{
	const Words reply = rpc(kXid, RPCRDMA_REPLY, 48);
	const Words first =
		middle(RPCRDMA2_REPLY_MIDDLE, kXid, 28, slice(reply, 0, 20));

	for (const Words &end :
	     { prefix(kXid, RPCRDMA2_ERROR) + Words{ RPCRDMA2_ERR_BAD_XDR },
	       prefix(kXid, RPCRDMA2_REPLY_EXTERNAL) +
		       Words{ 0, 1, 1, 9, 40, 0, 0 } }) {
		Endpoint e = client();

		send_twice(e, 3);
		e.receive(first);
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		EXPECT_EQ(state(e).reserved(), 3u);
		e.receive(end);
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
		EXPECT_TRUE(e.rx.abandon);
		EXPECT_EQ(state(e).reserved(), 0u);
		e.receive(reply_inline(kXid, slice(reply, 20, 28)));
		expect_dropped(e, RPCRDMA_REASON_DISCARDING);
	}
}

/* Its Reply is no answer to come, but another Call has its XID. */
TEST(rtrext, reserved__nothing_for_a_group_without_a_reply)
{
	const Words reply = rpc(kXid, RPCRDMA_REPLY, 48);
	const Words report = prefix(kXid, kReptErr) + Words{ kXid, 0, 0, 0, 3 };
	const auto twice = [](Endpoint &e) {
		Outgoing first(RPCRDMA_CALL, 40);
		Outgoing second(RPCRDMA_CALL, 40, 3);

		first.msg.call_only = true;
		EXPECT_EQ(send(e, first), kSent);
		EXPECT_EQ(send(e, second), kSent);
		EXPECT_EQ(second.m.reply_count, 3u);
	};
	Endpoint e = client();

	twice(e);
	e.receive(response(kXid, 1, reply));
	EXPECT_EQ(state(e).reserved(), 0u);
	/* That is not the answer to the one without. */
	e.receive(report);
	EXPECT_EQ(state(e).refused_count(), 1u);
	e.receive(report);
	expect_dropped(e, RPCRDMA_REASON_XID);

	/* What is said of that one gives back nothing. */
	Endpoint other = client();

	twice(other);
	other.receive(report);
	EXPECT_EQ(state(other).refused_count(), 1u);
	EXPECT_EQ(state(other).reserved(), 3u);
	other.receive(response(kXid, 3, slice(reply, 0, 20)));
	EXPECT_EQ(other.rx.action, u32{ RPCRDMA_RX_PAYLOAD });

	/* Their type is not taken. */
	Endpoint none = client();

	twice(none);
	none.receive(prefix(kXid, RPCRDMA2_ERROR) +
		     Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	EXPECT_EQ(state(none).reserved(), 0u);

	/* So it is not for one whose answer is to come, but which is not known any more. */
	Endpoint old = client();
	Outgoing forgotten(RPCRDMA_CALL, 40, 3);

	EXPECT_EQ(send(old, forgotten), kSent);
	twice(old);
	for (u32 i = 3; i <= SentGroups::kMost; i++) {
		Outgoing o(RPCRDMA_CALL, 40);

		o.msg.xid = kXid + i;
		ASSERT_EQ(send(old, o), kSent);
		old.receive(prefix(0, RPCRDMA2_GRANT));
	}
	old.receive(prefix(kXid, RPCRDMA2_ERROR) +
		    Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	EXPECT_EQ(state(old).reserved(), 3u);
}

/* A Reply that was refused here comes again, after a group that promises less, or nothing. */
TEST(rtrext, reserved__a_promise_stands_beside_a_later_one)
{
	const Words reply = rpc(kXid, RPCRDMA_REPLY, 48);

	for (u32 wanted = 0; wanted <= 1; wanted++) {
		Endpoint e = client();
		Outgoing first(RPCRDMA_CALL, 40, 3);
		Outgoing second(RPCRDMA_CALL, 40, wanted);

		EXPECT_EQ(send(e, first), kSent);
		e.receive(response(kXid, 9, reply));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
		EXPECT_EQ(send(e, second), kSent);
		EXPECT_EQ(second.m.reply_count, 1u);
		EXPECT_EQ(state(e).reserved(), 0u);
		e.receive(response(kXid, 3, slice(reply, 0, 20)));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	}
}

/* The form of -07 in between has a Reply, one group is refused, and the other has a Reply. */
TEST(rtrext, refused__one_of_three_that_were_sent)
{
	Endpoint e = client();
	const Words reply = rpc(kXid, RPCRDMA_REPLY, 48);
	rpcrdma_message plain = message(kXid, RPCRDMA_CALL, 40);

	for (u32 i = 0; i < 2; i++) {
		Outgoing o(RPCRDMA_CALL, 40, 3);

		EXPECT_EQ(send(e, o), kSent);
		if (!i)
			EXPECT_EQ(e.next(&plain), kSent);
	}
	e.receive(reply_inline(kXid, reply));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	e.receive(prefix(kXid, kReptErr) + Words{ kXid, 0, 0, 0, 3 });
	EXPECT_EQ(state(e).refused_count(), 0u);
	e.receive(response(kXid, 3, reply));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(state(e).reserved(), 0u);
}

/* It is not known any more that the first one was sent. */
TEST(rtrext, refused__a_call_that_was_sent_long_ago)
{
	Endpoint e = client();
	const Words report = prefix(kXid, kReptErr) + Words{ kXid, 0, 0, 0, 3 };

	for (u32 i = 0; i <= SentGroups::kMost; i++) {
		Outgoing o(RPCRDMA_CALL, 40, i < 2 ? 3 : 1);

		o.msg.xid = i < 2 ? kXid : kXid + i;
		ASSERT_EQ(send(e, o), kSent);
		e.receive(prefix(0, RPCRDMA2_GRANT));
	}
	e.receive(report);
	EXPECT_EQ(state(e).refused_count(), 1u);
	EXPECT_EQ(state(e).reserved(), 3u);
	e.receive(report);
	EXPECT_EQ(state(e).refused_count(), 0u);
	EXPECT_EQ(state(e).reserved(), 0u);
}

namespace
{

/* A Reply of which @broken is to be refused, and what is said of it. */
struct BadReply {
	std::vector<Words> before;
	Words broken;
	Words report;
};

} // namespace

/* What this side refuses of a Reply, and that it takes it when it comes by a type of -07. */
TEST(rtrext, refuses__a_reply_for_each_code)
{
	const Words reply = rpc(kXid, RPCRDMA_REPLY, 48);
	const Words other = rpc(kXid + 2, RPCRDMA_REPLY, 48);
	const Words first = response(kXid, 3, slice(reply, 0, 20));
	const Words second = slice(reply, 20, 28);
	const Words lead = { 1, kXid, 1, 0 };
	const auto placed = [&](u32 offset, u32 number) {
		return response(kXid, 1, reply,
				{ 1, 28, 4, kTbsn, offset, 1, number });
	};
	const BadReply cases[] = {
		{ { first },
		  reply_inline(kXid + 2, other),
		  Words{ kXid, 1, 1 } + lead +
			  Words{ 1, kXmtCont, RPCRDMA2_REPLY_INLINE } },
		{ { first },
		  response(kXid + 2, 1, other),
		  Words{ kXid + 2, 1, 0 } + lead +
			  Words{ 2, kXmtCont, kXmtResp } },
		{ {}, go_on(kXid, 1, second, kXmtResp), { kXid, 1, 1, 0, 3 } },
		{ {}, response(kXid, 4, reply), { kXid, 1, 0, 0, 4, 3, 4 } },
		{ { first },
		  go_on(kXid, 2, second, kXmtResp),
		  Words{ kXid, 1, 2 } + lead + Words{ 4, 1, 2 } },
		{ { first },
		  go_on(kXid + 1, 1, second, kXmtResp),
		  Words{ kXid + 1, 1, 1 } + lead + Words{ 5, kXid, kXid + 1 } },
		{ {}, placed(1024, 0), { kXid, 1, 0, 0, 6, 1024, 0, 1023 } },
		{ {}, placed(0, 2), { kXid, 1, 0, 0, 7, 2, 0, 1 } },
		{ { first },
		  prefix(kXid, kXmtCont) + Words{ 1, kXmtResp, 40 } + second,
		  Words{ kXid, 1, 1 } + lead + Words{ 8, 40, 0, 28 } },
	};
	u32 seen = 0;

	for (const BadReply &c : cases) {
		Endpoint e = client();
		Outgoing o(RPCRDMA_CALL, 40, 3);

		EXPECT_EQ(send(e, o), kSent);
		for (const Words &w : c.before) {
			e.receive(w);
			EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		}
		EXPECT_EQ(state(e).reserved(), 3u);
		e.receive(c.broken);
		EXPECT_NE(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		EXPECT_EQ(e.rx.abandon, !c.before.empty());
		EXPECT_EQ(state(e).reserved(), 0u);
		expect_report(e, c.report);
		seen |= 1U << c.report[c.report[3] ? 7 : 4];
		/* The RPC waits on. */
		if (e.rx.action == RPCRDMA_RX_FAIL_RPC)
			EXPECT_NE(e.rx.xid, kXid);
		e.receive(reply_inline(kXid, reply));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		EXPECT_TRUE(e.rx.last);
		EXPECT_EQ(state(e).reserved(), 0u);
		(void)!e.session.end_call(o.msg);
	}
	EXPECT_EQ(seen, 0x1feu);
}

/* The Call has been sent again in another form: a report is about what it was. */
TEST(rtrext, refused__nothing_that_has_been_answered)
{
	const Words answers[] = {
		prefix(kXid, RPCRDMA2_ERROR) + Words{ RPCRDMA2_ERR_BAD_XDR },
		reply_inline(kXid, rpc(kXid, RPCRDMA_REPLY, 48)),
	};

	for (const Words &answer : answers) {
		Endpoint e = client();
		Outgoing o(RPCRDMA_CALL, 40);

		EXPECT_EQ(send(e, o), kSent);
		e.receive(answer);
		e.receive(prefix(kXid, kReptErr) + Words{ kXid, 0, 1, 0, 3 });
		expect_dropped(e, RPCRDMA_REASON_XID);
	}
}

TEST(rtrext, refused__nothing_that_has_a_reply_by_a_group)
{
	Endpoint e = client();
	Outgoing o(RPCRDMA_CALL, 40);

	EXPECT_EQ(send(e, o), kSent);
	e.receive(response(kXid, 1, rpc(kXid, RPCRDMA_REPLY, 48)));
	EXPECT_TRUE(e.rx.last);
	e.receive(prefix(kXid, kReptErr) + Words{ kXid, 0, 1, 0, 3 });
	expect_dropped(e, RPCRDMA_REASON_XID);
}

/* It has announced that it takes them. What it refuses once is not sent to it again (-07, 7.1.3). */
TEST(rtrext, refused__a_type_of_message)
{
	Endpoint e = client();
	Outgoing o(RPCRDMA_CALL, kReceive);
	Outgoing other(RPCRDMA_CALL, 40);
	rpcrdma_message again = message(kXid, RPCRDMA_CALL, 40);
	const Words error = prefix(kXid, RPCRDMA2_ERROR) +
			    Words{ RPCRDMA2_ERR_INVAL_HTYPE };

	EXPECT_EQ(send(e, o), kSent);
	EXPECT_EQ(send(e, o), kSent);
	EXPECT_TRUE(e.tx.last);
	e.receive(error);
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	EXPECT_EQ(e.session.call_refused(o.msg, e.rx),
		  u32{ RPCRDMA_REASON_NONE });
	(void)!e.session.end_call(o.msg);
	EXPECT_EQ(send(e, other), kNotSo);
	/* One for each Send of the group is not about the Call as it is sent now. */
	EXPECT_EQ(e.next(&again), kSent);
	e.receive(error);
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	/* About another Call it is. */
	e.receive(prefix(kXid + 1, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	/* The group had two Sends. What follows is about the other form. */
	e.receive(error);
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
}

/* Answered with an ERROR it would be about something else. */
TEST(rtrext, refused__malformed_reports_are_dropped)
{
	Endpoint e = client();

	for (const Words &w :
	     { Words{ kXid, 0, 0, 0, 3, 0 }, Words{ kXid, 2, 0, 0, 3 },
	       Words{ kXid, 0, 0, 2, 3 }, Words{ kXid, 0, 0, 0, 9 },
	       Words{ kXid, 0, 0, 0, 8, 1, 2 } }) {
		e.receive(prefix(kXid, kReptErr) + w);
		expect_dropped(e, RPCRDMA_REASON_XDR);
		EXPECT_EQ(e.peek(), u32{ RPCRDMA_TX_NONE });
	}
}

/* ------------------------------------------------------------------ */
/* Sent                                                               */
/* ------------------------------------------------------------------ */

TEST(rtrext, send__a_call_in_one)
{
	Endpoint e = client();
	Outgoing o(RPCRDMA_CALL, 40, 2);

	EXPECT_EQ(send(e, o), kSent);
	EXPECT_EQ(e.sent,
		  octets(prefix(kXid, kXmtReq,
				e.session.extension<Rtrext>().reserved() ?
					word_at(e.sent, 2) :
					0) +
			 Words{ 0, 0, 1, 2, 40 }));
	EXPECT_TRUE(e.tx.first);
	EXPECT_TRUE(e.tx.last);
	EXPECT_EQ(e.tx.payload.length, 40u);
	EXPECT_TRUE(o.msg.outstanding);
	EXPECT_EQ(e.info().outstanding, 1u);
}

TEST(rtrext, send__several_and_nothing_in_between_D20)
{
	Endpoint e = client();
	const u32 room = kReceive - kXmtReqBare;
	Outgoing o(RPCRDMA_CALL, room + 100);
	rpcrdma_message other = message(0x22, RPCRDMA_CALL, 40);

	EXPECT_EQ(send(e, o), kSent);
	EXPECT_EQ(word_at(e.sent, 6), 2u);
	EXPECT_EQ(e.tx.payload.length, room);
	EXPECT_FALSE(e.tx.last);
	/* Not its rest in another form, not another message, not an ERROR that is due. */
	EXPECT_EQ(e.next(&o.msg), u32{ RPCRDMA_TX_BLOCKED });
	e.receive(prefix(0x77, 99));
	EXPECT_EQ(e.next(&other), u32{ RPCRDMA_TX_BLOCKED });
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_BLOCKED });
	Outgoing second(RPCRDMA_CALL, 40);
	EXPECT_EQ(send(e, second), kNotSo);
	EXPECT_EQ(send(e, o), kSent);
	EXPECT_EQ(e.sent, octets(prefix(kXid, kXmtCont, word_at(e.sent, 2)) +
				 Words{ 1, kXmtReq, 100 }));
	EXPECT_EQ(e.tx.payload.offset, room);
	EXPECT_TRUE(e.tx.last);
	EXPECT_TRUE(e.tx.more);
	expect_error(e, RPCRDMA2_ERR_INVAL_HTYPE);
	EXPECT_EQ(e.next(&other), u32{ RPCRDMA_TX_MESSAGE });
}

/* The peer does not take its header types: that says nothing of those of version 2. */
TEST(rtrext, send__refused_in_the_middle)
{
	Endpoint e = client();
	Outgoing o(RPCRDMA_CALL, kReceive);
	rpcrdma_message other = message(0x22, RPCRDMA_CALL, 2 * kReceive);

	EXPECT_EQ(send(e, o), kSent);
	EXPECT_FALSE(e.tx.last);
	e.receive(prefix(kXid, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	EXPECT_EQ(send(e, o), kSent);
	EXPECT_TRUE(e.tx.last);
	EXPECT_EQ(e.next(&other), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_FALSE(e.tx.last);
}

/* Two items in three segments: there is padding before, between and behind. */
TEST(rtrext, send__padding_is_zero)
{
	Endpoint e = client();
	PlacedItem items[] = { { 8, 1030, Placement::Tbsn, {}, 0, 0, 0 },
			       { 1040, 10, Placement::Tbsn, {}, 0, 0, 0 } };
	rpcrdma_message msg = message(kXid, RPCRDMA_CALL, 40);
	GroupMessage m = { msg, {} };
	const auto padded = [&](Octets &out, u32 from, u32 to) {
		return std::all_of(out.begin() + from, out.begin() + to,
				   [](u8 octet) { return octet == 0; });
	};

	m.content.items = { items, 2 };
	for (u32 n = 0; n < 2; n++) {
		Octets out(kReceive, 0xee);
		const MutableBytes buffer(out.data(), kReceive);
		const u32 size = n ? 522 : kReceive;

		EXPECT_EQ(e.session.with<Rtrext>([&](Rtrext &x, Port &port) {
			return x.send(port, m, buffer, e.tx);
		}),
			  kSent);
		EXPECT_TRUE(e.session.invariants());
		EXPECT_EQ(m.plan.send(n).size, size);
		/* Payload and data are the caller's. */
		const u32 head = e.tx.header_length + e.tx.payload.length;
		EXPECT_TRUE(padded(out, head, 512));
		EXPECT_EQ(out[512], 0xee);
		EXPECT_EQ(out[n ? 521 : 512 + 1029], 0xee);
		if (!n)
			EXPECT_TRUE(padded(out, 512 + 1030, kReceive));
	}
	EXPECT_TRUE(e.tx.last);
}

/* The padding is a part of the Send. */
TEST(rtrext, send__not_into_a_buffer_that_is_too_small)
{
	Endpoint e = client();
	PlacedItem item = { 8, 1024, Placement::Tbsn, {}, 0, 0, 0 };
	rpcrdma_message msg = message(kXid, RPCRDMA_CALL, 40);
	GroupMessage m = { msg, {} };
	Octets out(512 + 1024);
	const auto result = [&](u32 size) {
		return e.session.with<Rtrext>([&](Rtrext &x, Port &port) {
			return x.send(port, m, { out.data(), size }, e.tx);
		});
	};

	m.content.items = { &item, 1 };
	EXPECT_EQ(result(512 + 1020), kNotSo);
	EXPECT_EQ(result(kPrefixSize - 1), kNotSo);
	EXPECT_EQ(result(0), kNotSo);
	EXPECT_EQ(m.next, 0u);
	EXPECT_EQ(e.info().sent, 1u);
	EXPECT_EQ(result(512 + 1024), kSent);
}

/* In another form it has begun, or has memory that a group has no place for. */
TEST(rtrext, send__what_has_another_form)
{
	Endpoint e = client();
	rpcrdma_chunks chunks = {};
	const auto as = [&](auto change) {
		Outgoing o(RPCRDMA_CALL, 40);

		o.msg.chunks = &chunks;
		change(o.msg);
		return send(e, o);
	};

	EXPECT_EQ(as([](rpcrdma_message &m) { m.sent = 4; }), kNotSo);
	EXPECT_EQ(as([](rpcrdma_message &m) { m.external = true; }), kNotSo);
	chunks.n_reads = 1;
	EXPECT_EQ(as([](rpcrdma_message &) {}), kNotSo);
	EXPECT_EQ(e.info().sent, 1u);
	chunks.n_reads = 0;
	EXPECT_EQ(as([](rpcrdma_message &) {}), kSent);
}

TEST(rtrext, send__only_with_credits_for_all_of_it_D20)
{
	Endpoint e = client();
	Outgoing o(RPCRDMA_CALL, 3 * kReceive);
	/* The credits that are left: the FINAL was one Send. */
	const auto allow = [&](u32 credits) {
		e.receive(prefix(0, RPCRDMA2_GRANT, e.info().sent + credits));
	};

	allow(3);
	EXPECT_EQ(send(e, o), kNoCredit);
	EXPECT_EQ(o.m.plan.count(), 4u);
	EXPECT_EQ(e.info().sent, 1u);
	allow(4);
	for (u32 i = 0; i < 4; i++)
		EXPECT_EQ(send(e, o), kSent);
	EXPECT_TRUE(e.tx.last);
	EXPECT_EQ(e.info().peer_credits, 0u);
}

/*
 * Calls that have been admitted wait behind one another. Of their credits a Reply may take one:
 * the first of them goes, since those behind it wait for it.
 */
TEST(rtrext, send__does_not_wait_for_what_waits_behind_it)
{
	rpcrdma_config c = grouping(RPCRDMA_ROLE_CLIENT);
	c.reserve = 1;
	Endpoint e = client(c);
	Outgoing o(RPCRDMA_CALL, 40);
	rpcrdma_message behind = message(kXid + 1, RPCRDMA_CALL, 40);
	rpcrdma_message reply = message(kXid + 2, RPCRDMA_REPLY, 40);

	e.receive(prefix(0, RPCRDMA2_GRANT, e.info().sent + 10));
	EXPECT_TRUE(e.session.admit(&o.msg, 1));
	EXPECT_TRUE(e.session.admit(&behind, 8));
	EXPECT_EQ(e.next(&reply), kSent);
	EXPECT_EQ(send(e, o), kSent);
}

/* The peer may take credits back (D2); then the rest waits. */
TEST(rtrext, send__credits_are_taken_back_in_the_middle)
{
	Endpoint e = client();
	Outgoing o(RPCRDMA_CALL, kReceive);

	EXPECT_EQ(send(e, o), kSent);
	e.receive(prefix(0, RPCRDMA2_GRANT, e.info().sent));
	EXPECT_EQ(send(e, o), kNoCredit);
	EXPECT_FALSE(e.tx.more);
	/* An ERROR that is due waits, too. */
	e.receive(prefix(0x77, 99, e.info().sent));
	EXPECT_EQ(send(e, o), kNoCredit);
	EXPECT_TRUE(e.tx.more);
	e.receive(prefix(0, RPCRDMA2_GRANT, e.info().sent + 1));
	EXPECT_EQ(send(e, o), kSent);
	EXPECT_TRUE(e.tx.last);
}

/* Who has taken all back may not be able to give any before a GRANT has come. */
TEST(rtrext, send__a_grant_in_the_middle_without_credits_D20)
{
	rpcrdma_config c = grouping(RPCRDMA_ROLE_CLIENT);
	c.window = 4;
	Endpoint e = client(c);
	Outgoing o(RPCRDMA_CALL, kReceive);

	EXPECT_EQ(send(e, o), kSent);
	/* With credits each Send of the group says so. */
	for (u32 i = 0; i < 3; i++)
		e.receive(prefix(0, RPCRDMA2_GRANT, e.info().sent + 2));
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_BLOCKED });
	e.receive(prefix(0, RPCRDMA2_GRANT, e.info().sent));
	EXPECT_EQ(send(e, o), kNoCredit);
	EXPECT_TRUE(e.tx.more);
	EXPECT_EQ(e.next_control()[3], u32{ RPCRDMA2_GRANT });
	EXPECT_EQ(send(e, o), kNoCredit);
	EXPECT_FALSE(e.tx.more);
	EXPECT_NE(e.next(), u32{ RPCRDMA_TX_CONTROL });
	e.receive(prefix(0, RPCRDMA2_GRANT, e.info().sent + 2));
	EXPECT_EQ(send(e, o), kSent);
	EXPECT_TRUE(e.tx.last);
}

TEST(rtrext, send__what_the_peer_does_not_take)
{
	Outgoing one(RPCRDMA_CALL, 40);
	Outgoing two(RPCRDMA_CALL, kReceive);
	const auto result = [](const Words &peer, Outgoing o) {
		Endpoint e = client(peer);
		Outgoing mine(o.msg.dir, o.msg.length);

		return send(e, mine);
	};

	EXPECT_EQ(result(announcing(), two), kSent);
	/* No requests; no more than one Send, by its limit or by its types. */
	EXPECT_EQ(result(announcing(6), one), kNotSo);
	EXPECT_EQ(result(announcing(kAll, 1), two), kNotSo);
	EXPECT_EQ(result(announcing(kAll, 1), one), kSent);
	EXPECT_EQ(result(announcing(3), two), kNotSo);
	EXPECT_EQ(result(announcing(3), one), kSent);
	/* It does not know it at all. */
	EXPECT_EQ(result({ 0 }, one), kNotSo);
}

/* A Reply: its Call has said how many Sends it may take. */
TEST(rtrext, send__a_reply)
{
	Endpoint e = server();
	Outgoing one(RPCRDMA_REPLY, 40, 1);
	Outgoing two(RPCRDMA_REPLY, kReceive, 2);
	Outgoing more(RPCRDMA_REPLY, 2 * kReceive, 2);

	EXPECT_EQ(send(e, more), kNotSo);
	EXPECT_EQ(send(e, one), kSent);
	EXPECT_EQ(e.sent, octets(prefix(kXid, kXmtResp, word_at(e.sent, 2)) +
				 Words{ 0, 1, 40 }));
	EXPECT_EQ(send(e, two), kSent);
	EXPECT_EQ(send(e, two), kSent);
	EXPECT_TRUE(e.tx.last);
}

TEST(rtrext, send__the_reply_gets_what_is_free_of_the_window)
{
	rpcrdma_config c = grouping(RPCRDMA_ROLE_CLIENT);

	c.window = 4;
	Endpoint e = client(c, announcing(kAll, 4, 3));
	Outgoing first(RPCRDMA_CALL, 40, 16);
	EXPECT_EQ(send(e, first), kSent);
	EXPECT_EQ(first.m.reply_count, 3u);
	Outgoing second(RPCRDMA_CALL, 40, 16);
	second.msg.xid = kXid + 1;
	EXPECT_EQ(send(e, second), kSent);
	EXPECT_EQ(second.m.reply_count, 1u);
}

/* Who asks before there is a plan is told so. */
TEST(rtrext, send__what_is_promised_is_not_promised_again)
{
	rpcrdma_config c = grouping(RPCRDMA_ROLE_CLIENT);

	c.window = 4;
	Endpoint e = client(c, announcing(kAll, 4, 16));
	const auto may = [&](u32 sends) {
		return e.session.with<Rtrext>(
			[&](const Rtrext &x, const Port &port) {
				return x.may_reserve(port, sends);
			});
	};
	Outgoing o(RPCRDMA_CALL, 40, 2);

	EXPECT_TRUE(may(4));
	EXPECT_FALSE(may(5));
	EXPECT_EQ(send(e, o), kSent);
	EXPECT_TRUE(may(2));
	EXPECT_FALSE(may(3));
	e.receive(reply_inline(kXid, rpc(kXid, RPCRDMA_REPLY, 40)));
	EXPECT_TRUE(may(4));
}

/* What the client has said of the reverse direction holds here, too (-07, 5.2.5). */
TEST(rtrext, reverse__as_far_as_the_client_goes)
{
	for (const u32 level : { RPCRDMA_RVRSDIR_NONE, RPCRDMA_RVRSDIR_SIMPLE,
				 RPCRDMA_RVRSDIR_CONT, RPCRDMA_RVRSDIR_GENL }) {
		rpcrdma_config c = grouping(RPCRDMA_ROLE_CLIENT);
		Words peer = announcing();

		c.local.reverse = level;
		peer.back() = level;
		Endpoint e = client(c);
		e.receive(request(kXid, 1, call()));
		EXPECT_EQ(e.rx.action, level ? u32{ RPCRDMA_RX_PAYLOAD } :
					       u32{ RPCRDMA_RX_DROP });
		if (!level)
			expect_error(e, RPCRDMA2_ERR_INVAL_HTYPE);
		e.receive(request(kXid, 2, call()));
		EXPECT_EQ(e.rx.action, level >= RPCRDMA_RVRSDIR_CONT ?
					       u32{ RPCRDMA_RX_PAYLOAD } :
					       u32{ RPCRDMA_RX_DROP });

		Endpoint s = server(peer);
		Outgoing one(RPCRDMA_CALL, 40);
		Outgoing two(RPCRDMA_CALL, kReceive);
		EXPECT_EQ(send(s, two),
			  level >= RPCRDMA_RVRSDIR_CONT ? kSent : kNotSo);
		if (level < RPCRDMA_RVRSDIR_CONT)
			EXPECT_EQ(send(s, one), level ? kSent : kNotSo);
	}
}

/* ------------------------------------------------------------------ */
/* As C has it                                                        */
/* ------------------------------------------------------------------ */

namespace
{

constexpr rpcrdma_rtr_shape kShape = { 512, 1024, kPages };
constexpr rpcrdma_rtr_direction kPlacing = { RPCRDMA_RTR_TBSN, 100, 0, nullptr,
					     0 };
constexpr rpcrdma_segment kOffered[] = { { 0x71, 1000, 0x5000 },
					 { 0x72, 3000, 0x123456789000 } };

/* The same with memory, of which an item of 2000 octets and more is to be written to it. */
constexpr rpcrdma_rtr_direction offering(rpcrdma_rtr_place place)
{
	return { place, 100, 2000, kOffered, 2 };
}

/* One that C calls for, of one side. */
struct Caller {
	Caller(rpcrdma_role role, const rpcrdma_rtr_shape *shape, u32 takes)
	{
		rpcrdma_config c = grouping(role);

		c.local.send_size = kReceive;
		c.extensions = rpcrdma_rtr_extension();
		EXPECT_TRUE(rpcrdma_session_init(&s, &c));
		EXPECT_TRUE(rpcrdma_rtr_declare(&s, shape, takes));
	}
	/* What is sent without a message, to @to. */
	void control(Caller &to)
	{
		Octets out(kReceive);
		rpcrdma_tx tx;

		ASSERT_EQ(rpcrdma_session_next_send(&s, nullptr, out.data(),
						    kReceive, &tx),
			  u32{ RPCRDMA_TX_CONTROL });
		out.resize(tx.header_length);
		to.take(out);
	}
	void take(const Octets &o)
	{
		rpcrdma_session_receive(&s, o.data(),
					static_cast<u32>(o.size()), &rx);
		(void)!rpcrdma_session_release(&s, 1);
	}
	[[nodiscard]] u32 reserved() const
	{
		return rpcrdma::look<Rtrext>(
			&s, [](const Rtrext &x) { return x.reserved(); });
	}
	[[nodiscard]] u32 window() const
	{
		return grouping(RPCRDMA_ROLE_CLIENT).window;
	}
	rpcrdma_session s;
	rpcrdma_rx rx = {};
};

/* Nothing can be placed at the client, unless it says so. */
struct Pair {
	explicit Pair(const rpcrdma_rtr_shape *shape = nullptr)
		: client(RPCRDMA_ROLE_CLIENT, shape,
			 shape ? RPCRDMA_RTR_REPLIES : 0)
	{
		client.control(server);
		server.control(client);
	}
	Caller client;
	Caller server{ RPCRDMA_ROLE_SERVER, &kShape, RPCRDMA_RTR_CALLS };
};

/* Plan a Call with an item of so many octets at 36. */
bool plan(Caller &c, rpcrdma_message &msg, u32 length, rpcrdma_rtr_group &g)
{
	const rpcrdma_range item = { 36, length };

	return rpcrdma_rtr_plan(&c.s, &msg, &item, nullptr, 0, &g);
}

/* A Call of one Send, with data. */
void send_one(Caller &c, u32 xid)
{
	rpcrdma_message msg = message(xid, RPCRDMA_CALL, 40);
	rpcrdma_rtr_group g;
	Octets out(kReceive);
	rpcrdma_rtr_send send;
	rpcrdma_tx tx;

	ASSERT_TRUE(plan(c, msg, 1024, g));
	ASSERT_EQ(rpcrdma_rtr_next_send(&c.s, &g, &msg, out.data(), kReceive,
					&tx, &send),
		  u32{ RPCRDMA_TX_MESSAGE });
}

struct Pieces {
	std::vector<rpcrdma_rtr_piece> all;
};

Pieces pieces(const rpcrdma_rtr_group &g, u32 number)
{
	Pieces p;

	EXPECT_TRUE(rpcrdma_rtr_each_piece(
		&g, number,
		[](void *context, const rpcrdma_rtr_piece *piece) {
			static_cast<Pieces *>(context)->all.push_back(*piece);
			return true;
		},
		&p));
	return p;
}

/*
 * All Sends of a message, which is @whole without what @removed says. Its receiver gets them.
 */
std::vector<Octets> send_all(Caller &from, Caller &to, rpcrdma_message &msg,
			     rpcrdma_rtr_group &g, const Octets &whole,
			     const std::vector<rpcrdma_range> &removed)
{
	std::vector<Octets> sends;
	Octets stream = whole;

	for (auto r = removed.rbegin(); r != removed.rend(); r++)
		stream.erase(stream.begin() + r->offset,
			     stream.begin() + r->offset + r->length);
	EXPECT_EQ(stream.size(), msg.length);
	for (u32 n = 0; n < g.sends; n++) {
		Octets out(kReceive, 0xee);
		rpcrdma_tx tx;
		rpcrdma_rtr_send send;

		EXPECT_EQ(rpcrdma_rtr_next_send(&from.s, &g, &msg, out.data(),
						kReceive, &tx, &send),
			  u32{ RPCRDMA_TX_MESSAGE });
		EXPECT_EQ(send.number, n);
		std::copy_n(stream.begin() + tx.payload.offset,
			    tx.payload.length, out.begin() + tx.header_length);
		for (const rpcrdma_rtr_piece &piece : pieces(g, n).all)
			std::copy_n(whole.begin() + piece.at, piece.length,
				    out.begin() + piece.offset);
		out.resize(send.size);
		sends.push_back(out);
		/* No more than the head has to be in one piece. */
		EXPECT_TRUE(rpcrdma_rtr_readable(out.data(), 512));
		to.take(out);
		EXPECT_EQ(to.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		EXPECT_EQ(to.rx.last, n + 1 == g.sends);
	}
	return sends;
}

/* What the first Send of a group says, of which @length octets are in one piece. */
rpcrdma_rtr_first read(const Octets &send, u32 length)
{
	rpcrdma_rtr_first first;

	EXPECT_TRUE(rpcrdma_rtr_read(send.data(), length, &first));
	return first;
}

/* A Call without data that wants an item of up to @most octets placed. */
rpcrdma_rtr_directions
directed(Pair &p, u32 most, const rpcrdma_rtr_direction &direction = kPlacing)
{
	rpcrdma_message msg = message(kXid, RPCRDMA_CALL, 40);
	rpcrdma_rtr_directions d;
	rpcrdma_rtr_group g;

	EXPECT_TRUE(rpcrdma_rtr_plan(&p.client.s, &msg, nullptr, &direction,
				     most, &g));
	EXPECT_EQ(g.sends, 1u);
	EXPECT_EQ(g.placed, 0u);
	const std::vector<Octets> sends =
		send_all(p.client, p.server, msg, g, octets(call()), {});
	const rpcrdma_rtr_first first = read(sends[0], 512);
	EXPECT_FALSE(first.reply);
	EXPECT_EQ(first.item.length, 0u);
	rpcrdma_rtr_get_directions(&first, &d);
	return d;
}

bool collect(void *context, const rpcrdma_rtr_part *part)
{
	static_cast<std::vector<rpcrdma_rtr_part> *>(context)->push_back(*part);
	return true;
}

} // namespace

TEST(rtrext, c__declare__what_makes_no_sense)
{
	const auto declares = [](const rpcrdma_rtr_shape *shape,
				 u32 extensions = kOurs, u32 size = kReceive) {
		rpcrdma_config c = grouping(RPCRDMA_ROLE_SERVER);
		rpcrdma_session s;

		c.extensions = extensions;
		c.local.recv_size = size;
		EXPECT_TRUE(rpcrdma_session_init(&s, &c));
		return rpcrdma_rtr_declare(&s, shape, RPCRDMA_RTR_CALLS);
	};
	const rpcrdma_rtr_shape wrong[] = { { 0, 1024, 2 },
					    { 512, 1024, 0 },
					    { 512, 0, 2 } };

	EXPECT_TRUE(declares(&kShape));
	EXPECT_TRUE(declares(nullptr));
	for (const rpcrdma_rtr_shape &shape : wrong)
		EXPECT_FALSE(declares(
			&shape, kOurs,
			std::max(shape.head + shape.page * shape.pages,
				 u32{ RPCRDMA_MIN_RECV_SIZE })));
	EXPECT_FALSE(declares(&kShape, 0));
	EXPECT_FALSE(declares(nullptr, 0));
	EXPECT_FALSE(declares(&kShape, kOurs, kReceive + 4));
}

/* Limits are about Calls that come and Replies to them (8.4, 8.5): who takes none has none. */
TEST(rtrext, c__declare__limits_of_what_this_side_takes)
{
	const auto limits = [](rpcrdma_role role,
			       const rpcrdma_rtr_shape *shape, u32 takes) {
		Caller c(role, shape, takes);
		Words w;

		(void)rpcrdma::ask<Rtrext>(&c.s, [&](Rtrext &, Port &port) {
			w = { port.local(kRequestReceiveLimit),
			      port.local(kResponseSendLimit) };
			return true;
		});
		return w;
	};
	constexpr u32 kBoth = RPCRDMA_RTR_CALLS | RPCRDMA_RTR_REPLIES;

	for (const rpcrdma_role role :
	     { RPCRDMA_ROLE_CLIENT, RPCRDMA_ROLE_SERVER }) {
		EXPECT_EQ(limits(role, &kShape, RPCRDMA_RTR_REPLIES),
			  (Words{ 1, 1 }));
		EXPECT_EQ(limits(role, nullptr, 0), (Words{ 1, 1 }));
		EXPECT_EQ(limits(role, &kShape, RPCRDMA_RTR_CALLS),
			  (Words{ kMostSends, kMostSends }));
		EXPECT_EQ(limits(role, &kShape, kBoth),
			  (Words{ kMostSends, kMostSends }));
	}
}

/* The peer has been told already. */
TEST(rtrext, c__declare__too_late)
{
	Pair p;

	for (Caller *c : { &p.client, &p.server }) {
		EXPECT_FALSE(rpcrdma_rtr_declare(&c->s, &kShape,
						 RPCRDMA_RTR_CALLS));
		EXPECT_FALSE(
			rpcrdma_rtr_declare(&c->s, nullptr, RPCRDMA_RTR_CALLS));
	}
	/* It is as it was: the client takes no Calls. */
	p.client.take(octets(request(kXid, 1, call())));
	EXPECT_EQ(p.client.rx.reason, u32{ RPCRDMA_REASON_HTYPE });
}

TEST(rtrext, c__the_type_that_leads)
{
	EXPECT_STREQ(rpcrdma_type_name(rpcrdma_rtr_lead_type(RPCRDMA_CALL)),
		     "XMTREQ");
	EXPECT_STREQ(rpcrdma_type_name(rpcrdma_rtr_lead_type(RPCRDMA_REPLY)),
		     "XMTRESP");
}

TEST(rtrext, c__a_call_and_where_its_data_are)
{
	Pair p;
	constexpr u32 kItem = 4 * 1024 + 10;
	Octets whole = octets(call());
	rpcrdma_message msg = message(kXid, RPCRDMA_CALL, 40);
	rpcrdma_rtr_group g;
	std::vector<rpcrdma_rtr_part> parts;
	Octets item(kItem + 2), back;

	for (u32 i = 0; i < kItem; i++)
		item[i] = static_cast<u8>(i * 7);
	whole.insert(whole.begin() + 36, item.begin(), item.end());
	item.resize(kItem);
	ASSERT_TRUE(plan(p.client, msg, kItem, g));
	EXPECT_EQ(g.sends, 3u);
	EXPECT_EQ(g.placed, 1u);
	const std::vector<Octets> sends = send_all(
		p.client, p.server, msg, g, whole, { { 36, kItem + 2 } });
	for (u32 n = 0; n < g.sends; n++) {
		ASSERT_EQ(pieces(g, n).all.size(), 1u);
		EXPECT_EQ(pieces(g, n).all[0].offset, 512u);
		EXPECT_EQ(pieces(g, n).all[0].at, 36 + n * 2048);
	}
	EXPECT_EQ(p.server.rx.stream_length, 40u);
	EXPECT_EQ(p.server.rx.unreduced_length, 40 + item.size() + 2);
	const rpcrdma_rtr_first first = read(sends[0], 512);
	EXPECT_EQ(first.item.offset, 36u);
	EXPECT_EQ(first.item.length, item.size());
	EXPECT_TRUE(rpcrdma_rtr_each_part(&kShape, &first, collect, &parts));
	ASSERT_EQ(parts.size(), 5u);
	for (const rpcrdma_rtr_part &part : parts) {
		EXPECT_EQ(part.position, 36u);
		EXPECT_EQ(part.item, item.size());
		EXPECT_EQ(part.at, back.size());
		const Octets &from = sends[part.send];
		back.insert(back.end(), from.begin() + part.offset,
			    from.begin() + part.offset + part.length);
	}
	EXPECT_EQ(back, item);
}

TEST(rtrext, c__a_reply_and_where_its_data_are)
{
	Pair p(&kShape);
	rpcrdma_rtr_directions d = directed(p, 2 * kPages * 1024);
	rpcrdma_rtr_group g;
	rpcrdma_reply_plan plan;
	std::vector<rpcrdma_rtr_part> parts;
	rpcrdma_message msg = message(kXid, RPCRDMA_REPLY, 0);
	const rpcrdma_rtr_result result = { { 28, kPages * 1024 + 1 },
					    RPCRDMA_RTR_NOWHERE };
	const u32 padded = result.where.length + 3;
	Octets whole = octets(rpc(kXid, RPCRDMA_REPLY, 40));
	Octets data(padded), back;

	EXPECT_EQ(d.sends, 2u);
	EXPECT_EQ(p.client.reserved(), 2u);
	for (u32 i = 0; i < result.where.length; i++)
		data[i] = static_cast<u8>(i * 5);
	whole.insert(whole.begin() + 28, data.begin(), data.end());
	data.resize(result.where.length);
	ASSERT_TRUE(rpcrdma_rtr_plan_reply(&p.server.s, &d, &result, 1,
					   static_cast<u32>(whole.size()), &msg,
					   &plan, &g));
	EXPECT_EQ(plan.errcode, u32{ RPCRDMA2_ERR_NONE });
	EXPECT_EQ(plan.n_jobs, 0u);
	ASSERT_EQ(plan.n_removed, 1u);
	EXPECT_EQ(msg.length, 40u);
	EXPECT_EQ(g.sends, 2u);
	EXPECT_EQ(g.placed, 1u);
	const std::vector<Octets> sends = send_all(p.server, p.client, msg, g,
						   whole, { plan.removed[0] });
	EXPECT_EQ(p.client.rx.dir, u32{ RPCRDMA_REPLY });
	EXPECT_EQ(p.client.rx.unreduced_length, whole.size());
	EXPECT_EQ(p.client.reserved(), 0u);
	const rpcrdma_rtr_first first = read(sends[0], 512);
	EXPECT_TRUE(first.reply);
	EXPECT_EQ(first.item.offset, 28u);
	EXPECT_EQ(first.item.length, data.size());
	EXPECT_TRUE(rpcrdma_rtr_each_part(&kShape, &first, collect, &parts));
	for (const rpcrdma_rtr_part &part : parts) {
		EXPECT_EQ(part.position, 28u);
		EXPECT_EQ(part.at, back.size());
		const Octets &from = sends[part.send];
		back.insert(back.end(), from.begin() + part.offset,
			    from.begin() + part.offset + part.length);
	}
	EXPECT_EQ(back, data);
}

/* Then it goes in a form of -07, or what would be placed stays in the Payload stream. */
TEST(rtrext, c__a_reply_that_cannot_go_so)
{
	Pair p(&kShape);
	rpcrdma_rtr_directions d = directed(p, 2 * kPages * 1024);
	rpcrdma_rtr_directions none = d;
	rpcrdma_rtr_group g;
	rpcrdma_reply_plan plan;
	rpcrdma_message msg = message(kXid, RPCRDMA_REPLY, 0);
	const auto can = [&](const rpcrdma_rtr_directions &directions,
			     u32 length) {
		const rpcrdma_rtr_result r = { { 28, length },
					       RPCRDMA_RTR_NOWHERE };

		return rpcrdma_rtr_plan_reply(&p.server.s, &directions, &r, 1,
					      40 + ((length + 3) & ~3U), &msg,
					      &plan, &g);
	};

	none.length = 0;
	EXPECT_FALSE(can(none, 1024));
	EXPECT_TRUE(can(d, 2 * kPages * 1024));
	EXPECT_EQ(g.placed, 1u);
	/* More than was promised. */
	EXPECT_TRUE(can(d, 2 * kPages * 1024 + 1));
	EXPECT_EQ(g.placed, 0u);
	EXPECT_EQ(g.sends, 2u);
	EXPECT_FALSE(can(d, 2 * kReceive));
	/* Too short. */
	EXPECT_TRUE(can(d, 96));
	EXPECT_EQ(plan.n_removed, 0u);
	EXPECT_EQ(g.placed, 0u);
	EXPECT_EQ(msg.length, 136u);
	/* There is no credit for two. */
	p.server.take(octets(prefix(0, RPCRDMA2_GRANT, 2)));
	EXPECT_TRUE(can(d, kPages * 1024));
	EXPECT_EQ(g.placed, 1u);
	EXPECT_TRUE(can(d, kPages * 1024 + 1));
	EXPECT_EQ(g.placed, 0u);
	EXPECT_FALSE(can(d, kReceive));
}

/* Whatever the peer says that it sends. */
TEST(rtrext, c__a_reply_has_no_more_sends_than_a_group)
{
	rpcrdma_config c = grouping(RPCRDMA_ROLE_CLIENT);

	c.window = 64;
	const Endpoint e = client(c, announcing(kAll, 4, 100));
	const auto may = [&](u32 sends) {
		Session s = e.session;

		return s.with<Rtrext>([&](const Rtrext &x, const Port &port) {
			return x.may_reserve(port, sends);
		});
	};
	EXPECT_TRUE(may(RPCRDMA_RTR_MOST_SENDS));
	EXPECT_FALSE(may(RPCRDMA_RTR_MOST_SENDS + 1));
}

/* A Reply that would be promised more than the window has. */
TEST(rtrext, c__a_call_that_cannot_promise_so_much)
{
	Pair p(&kShape), other;
	rpcrdma_message msg = message(kXid, RPCRDMA_CALL, 40);
	rpcrdma_rtr_group g;
	const auto can = [&](Caller &c, u32 most) {
		return rpcrdma_rtr_plan(&c.s, &msg, nullptr, &kPlacing, most,
					&g);
	};
	const u32 all = RPCRDMA_RTR_MOST_SENDS * kPages * 1024;

	EXPECT_TRUE(can(p.client, all));
	EXPECT_FALSE(can(p.client, all + 1));
	/* Its Receives have no pages. */
	EXPECT_FALSE(can(other.client, 1024));
	msg.call_only = true;
	EXPECT_FALSE(can(p.client, 1024));
	EXPECT_EQ(directed(p, 3 * kPages * 1024).sends, 3u);
	msg.call_only = false;
	msg.xid = kXid + 1;
	for (u32 sends = RPCRDMA_RTR_MOST_SENDS; sends; sends--)
		EXPECT_EQ(can(p.client, sends * kPages * 1024),
			  sends <= p.client.window() - 3);
}

/* Neither those that have no room in the head, nor those that the peer has no credit for. */
TEST(rtrext, c__what_does_not_go_by_a_group)
{
	Pair p;
	rpcrdma_rtr_group g;
	rpcrdma_message msg = message(kXid, RPCRDMA_CALL, 40);
	rpcrdma_message large = message(kXid, RPCRDMA_CALL, 460);
	rpcrdma_message reply = message(kXid, RPCRDMA_REPLY, 40);
	const u32 most = RPCRDMA_RTR_MOST_SENDS * kPages * 1024;
	const auto bare = [&](Caller &c, rpcrdma_message &m) {
		return rpcrdma_rtr_plan(&c.s, &m, nullptr, nullptr, 0, &g);
	};

	EXPECT_FALSE(plan(p.client, large, 1024, g));
	EXPECT_TRUE(plan(p.client, msg, most, g));
	EXPECT_FALSE(plan(p.client, msg, most + 1, g));
	/* The client takes no Calls. A Reply is planned by what its Call directs. */
	EXPECT_TRUE(bare(p.client, msg));
	EXPECT_FALSE(bare(p.server, msg));
	EXPECT_FALSE(bare(p.client, reply));
	p.client.take(octets(prefix(0, RPCRDMA2_GRANT, 2)));
	EXPECT_FALSE(plan(p.client, msg, 4096, g));
	EXPECT_TRUE(plan(p.client, msg, 2048, g));
}

/* What this side has not said that it takes is an unknown type. */
TEST(rtrext, c__what_was_not_announced_is_refused)
{
	Pair p;

	for (const Words &w : { request(kXid, 1, call()),
				response(kXid, 1, rpc(kXid, 1, 40)) }) {
		p.client.take(octets(w));
		EXPECT_EQ(p.client.rx.action, u32{ RPCRDMA_RX_DROP });
		EXPECT_EQ(p.client.rx.reason, u32{ RPCRDMA_REASON_HTYPE });
	}
	p.server.take(octets(response(kXid, 1, rpc(kXid, 1, 40))));
	EXPECT_EQ(p.server.rx.reason, u32{ RPCRDMA_REASON_HTYPE });
}

TEST(rtrext, c__a_call_that_is_refused)
{
	Pair p;

	send_one(p.client, kXid);
	p.client.take(octets(prefix(kXid, kReptErr) +
			     Words{ kXid, 0, 0, 0, 8, 40, 0, 36 }));
	rpcrdma_rtr_refused refused[RPCRDMA_RTR_MOST_REFUSED];
	ASSERT_EQ(rpcrdma_rtr_reported(&p.client.s, &p.client.rx, refused), 1u);
	EXPECT_EQ(refused[0].xid, kXid);
	EXPECT_EQ(refused[0].dir, u32{ RPCRDMA_CALL });
	EXPECT_EQ(p.client.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	EXPECT_EQ(p.client.rx.xid, kXid);
	EXPECT_TRUE(p.client.rx.reported);
	EXPECT_LT(p.client.rx.error, 0);
}

/* What came, and what had begun, may both be Calls. */
TEST(rtrext, c__two_calls_that_are_refused)
{
	Pair p;
	rpcrdma_rtr_refused refused[RPCRDMA_RTR_MOST_REFUSED] = {};

	send_one(p.client, kXid);
	send_one(p.client, kXid + 1);
	p.client.take(octets(
		prefix(kXid + 1, kReptErr) +
		Words{ kXid + 1, 0, 1, 1, kXid, 0, 0, 5, kXid, kXid + 1 }));
	ASSERT_EQ(rpcrdma_rtr_reported(&p.client.s, &p.client.rx, refused), 2u);
	EXPECT_EQ(refused[0].xid, kXid + 1);
	EXPECT_EQ(refused[1].xid, kXid);
	EXPECT_EQ(refused[1].dir, u32{ RPCRDMA_CALL });
	EXPECT_EQ(p.client.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	EXPECT_EQ(p.client.rx.xid, kXid + 1);
}

namespace
{

/* A message of one Send, without data. */
void send_one(Caller &c, rpcrdma_dir dir)
{
	Outgoing o(dir, 40);
	Octets out(kReceive);
	rpcrdma_tx tx;

	EXPECT_TRUE(rpcrdma::ask<Rtrext>(&c.s, [&](Rtrext &x, Port &port) {
		return x.send(port, o.m, { out.data(), kReceive }, tx) == kSent;
	}));
}

} // namespace

/* Code and words that the peer tells are there for whoever looks for the fault. */
TEST(rtrext, c__why_a_message_is_refused)
{
	for (const rpcrdma_dir dir : { RPCRDMA_CALL, RPCRDMA_REPLY }) {
		for (const Words &fault : kEachFault) {
			Pair p(&kShape);
			Caller &c = dir == RPCRDMA_CALL ? p.client : p.server;
			const Octets report =
				octets(prefix(kXid, kReptErr) +
				       Words{ kXid, dir, 0, 0 } + fault);
			rpcrdma_rtr_refused refused[RPCRDMA_RTR_MOST_REFUSED];
			const size_t n = fault.size();

			send_one(c, dir);
			c.take(report);
			EXPECT_EQ(c.rx.detail, nullptr);
			ASSERT_EQ(rpcrdma_rtr_reported(&c.s, &c.rx, refused),
				  1u);
			EXPECT_STREQ(c.rx.detail,
				     rtr_error_type(fault[0])->name);
			EXPECT_EQ(c.rx.errargs[0], n > 1 ? fault[1] : 0);
			EXPECT_EQ(c.rx.errargs[1], n > 2 ? fault[2] : 0);
			EXPECT_EQ(c.rx.errcode, u32{ RPCRDMA2_ERR_NONE });
			EXPECT_EQ(c.rx.reason, u32{ RPCRDMA_REASON_NONE });
			/* The second is about nothing. */
			c.take(report);
			EXPECT_EQ(rpcrdma_rtr_reported(&c.s, &c.rx, refused),
				  0u);
			EXPECT_EQ(c.rx.reason, u32{ RPCRDMA_REASON_XID });
			EXPECT_STRNE(c.rx.detail,
				     rtr_error_type(fault[0])->name);
			EXPECT_EQ(c.rx.errargs[0], 0u);
		}
	}
}

/* Once: then its sender has to know what to do. */
TEST(rtrext, c__a_reply_that_is_refused)
{
	Pair p(&kShape);
	const rpcrdma_rtr_directions d = directed(p, 1024);
	const rpcrdma_rtr_result result = { { 28, 1024 }, RPCRDMA_RTR_NOWHERE };
	const Octets report = octets(prefix(kXid, kReptErr) +
				     Words{ kXid, 1, 0, 0, 7, 9, 0, 1 });
	rpcrdma_message msg = message(kXid, RPCRDMA_REPLY, 0);
	Octets whole = octets(rpc(kXid, RPCRDMA_REPLY, 40));
	rpcrdma_rtr_refused refused[RPCRDMA_RTR_MOST_REFUSED] = {};
	rpcrdma_reply_plan plan;
	rpcrdma_rtr_group g;

	whole.insert(whole.begin() + 28, 1024, 5);
	ASSERT_TRUE(rpcrdma_rtr_plan_reply(&p.server.s, &d, &result, 1,
					   static_cast<u32>(whole.size()), &msg,
					   &plan, &g));
	(void)send_all(p.server, p.client, msg, g, whole, { plan.removed[0] });
	p.server.take(report);
	EXPECT_EQ(rpcrdma_rtr_reported(&p.server.s, &p.server.rx, refused), 1u);
	EXPECT_EQ(refused[0].xid, kXid);
	EXPECT_EQ(refused[0].dir, u32{ RPCRDMA_REPLY });
	EXPECT_EQ(p.server.rx.action, u32{ RPCRDMA_RX_CONTROL });
	p.server.take(report);
	EXPECT_EQ(rpcrdma_rtr_reported(&p.server.s, &p.server.rx, refused), 0u);
}

namespace
{

/* A Reply with these items is an answer to this direction. */
bool answers(const Words &items, const rpcrdma_rtr_direction *direction,
	     rpcrdma_range &written)
{
	const Octets o = octets(
		response(kXid, 1, rpc(kXid, RPCRDMA_REPLY, 40), items));
	const rpcrdma_rtr_first first = read(o, static_cast<u32>(o.size()));

	return rpcrdma_rtr_answers(&first, direction, &written);
}

} // namespace

/* A client asks for one item at most, by Sends. */
TEST(rtrext, c__a_reply_that_does_not_answer)
{
	const Words tbsn = { 28, 1024, kTbsn, 0, 1, 0 };
	const Words reply = rpc(kXid, RPCRDMA_REPLY, 40);
	rpcrdma_range written;
	const auto answers = [&](const Words &items, bool directed) {
		const bool ok = ::answers(items,
					  directed ? &kPlacing : nullptr,
					  written);

		EXPECT_EQ(written.length, 0u);
		return ok;
	};

	EXPECT_TRUE(answers(Words{ 1 } + tbsn, true));
	EXPECT_TRUE(answers({ 1, 0, 0, 5 }, true));
	EXPECT_TRUE(answers({ 1, 0, 0, 6 }, true));
	EXPECT_TRUE(answers({ 0 }, false));
	/* None, two, by RDMA; and what nobody has asked for. */
	EXPECT_FALSE(answers({ 0 }, true));
	EXPECT_FALSE(answers(Words{ 2 } + tbsn + Words{ 0, 0, 6 }, true));
	EXPECT_FALSE(answers({ 1, 28, 16, kExrw, 1, 1, 16, 0, 0 }, true));
	EXPECT_FALSE(answers(Words{ 1 } + tbsn, false));
	EXPECT_FALSE(answers({ 1, 0, 0, 6 }, false));
	/* Not the beginning of a Reply, or not all of it. */
	const Octets o = octets(response(kXid, 1, reply));
	rpcrdma_rtr_first first;
	EXPECT_FALSE(rpcrdma_rtr_read(o.data(), kXmtRespBare - 4, &first));
	const Octets c = octets(request(kXid, 1, call()));
	first = read(c, static_cast<u32>(c.size()));
	EXPECT_FALSE(rpcrdma_rtr_answers(&first, nullptr, &written));
	const Octets rest = octets(go_on(kXid, 1, {}));
	EXPECT_FALSE(rpcrdma_rtr_read(rest.data(),
				      static_cast<u32>(rest.size()), &first));
}

/* The server says where it has written: there where memory is offered, and in its order. */
TEST(rtrext, c__a_reply_to_a_call_that_offers_memory)
{
	const Words tbsn = { 28, 1024, kTbsn, 0, 1, 0 };
	const Words all = { 28, 1500, kExrw, 2,	     0x71,   1000,
			    0,	0x5000, 0x72,  500, 0x1234, 0x56789000 };
	rpcrdma_range written;
	const auto answered = [&](const Words &item, rpcrdma_rtr_place place) {
		const rpcrdma_rtr_direction d = offering(place);

		return answers(Words{ 1 } + item, &d, written);
	};
	const auto segments = [&](u32 length, const Words &w) {
		return answered(Words{ 28, length, kExrw,
				       static_cast<u32>(w.size() / 4) } +
					w,
				RPCRDMA_RTR_CHOICE);
	};

	for (const rpcrdma_rtr_place place :
	     { RPCRDMA_RTR_EXRW, RPCRDMA_RTR_CHOICE, RPCRDMA_RTR_BYSIZE }) {
		EXPECT_TRUE(answered(all, place));
		EXPECT_EQ(written.offset, 28u);
		EXPECT_EQ(written.length, 1500u);
		EXPECT_EQ(answered(tbsn, place), place != RPCRDMA_RTR_EXRW);
		EXPECT_EQ(written.length, 0u);
		EXPECT_TRUE(answered({ 28, 16, 5 }, place));
		EXPECT_TRUE(answered({ 0, 0, 6 }, place));
		EXPECT_EQ(written.length, 0u);
		/* The memory has been taken back. */
		rpcrdma_rtr_direction none = offering(place);
		none.n_segments = 0;
		EXPECT_FALSE(answers(Words{ 1 } + all, &none, written));
	}
	EXPECT_TRUE(segments(0, {}));
	EXPECT_TRUE(segments(1000, { 0x71, 1000, 0, 0x5000 }));
	EXPECT_TRUE(segments(4, { 0x71, 4, 0, 0x5000, 0x72, 0, 0x1234,
				  0x56789000 }));
	/* Another length than it says, memory of another handle or place, too much of it. */
	EXPECT_FALSE(segments(1004, { 0x71, 1000, 0, 0x5000 }));
	EXPECT_FALSE(segments(4, {}));
	EXPECT_FALSE(segments(1000, { 0x70, 1000, 0, 0x5000 }));
	EXPECT_FALSE(segments(1000, { 0x71, 1000, 0, 0x5004 }));
	EXPECT_FALSE(segments(1000, { 0x71, 1000, 1, 0x5000 }));
	EXPECT_FALSE(segments(1001, { 0x71, 1001, 0, 0x5000 }));
	/* The second first, or while there is room in the first, and a third. */
	EXPECT_FALSE(segments(1000, { 0x72, 1000, 0x1234, 0x56789000 }));
	EXPECT_FALSE(segments(1000, { 0x71, 996, 0, 0x5000, 0x72, 4, 0x1234,
				      0x56789000 }));
	EXPECT_FALSE(segments(4, { 0x71, 4, 0, 0x5000, 0x72, 0, 0x1234,
				   0x56789000, 0x73, 0, 0, 0 }));
}

/* Data that fill the pages of two Receives. */
constexpr u32 kTwoSends = 2 * kPages * 1024;

/* A Call whose Sends are asked for one by one. */
struct SentByHand {
	explicit SentByHand(u32 length)
		: msg(message(kXid, RPCRDMA_CALL, length))
	{
	}
	u32 next()
	{
		return rpcrdma_rtr_next_send(&p.client.s, &g, &msg, out.data(),
					     kReceive, &tx, &send);
	}

	Pair p;
	rpcrdma_message msg;
	rpcrdma_rtr_group g = {};
	Octets out = Octets(kReceive);
	rpcrdma_rtr_send send = {};
	rpcrdma_tx tx = {};
};

/* Between the plan and the first Send the largest Send may become smaller. */
TEST(rtrext, c__a_plan_is_made_again_for_other_sends)
{
	SentByHand c(1200);

	ASSERT_TRUE(rpcrdma_rtr_plan(&c.p.client.s, &c.msg, nullptr, nullptr, 0,
				     &c.g));
	EXPECT_EQ(c.g.sends, 1u);
	rpcrdma_session_send_room(&c.p.client.s, RPCRDMA_MIN_RECV_SIZE);
	ASSERT_EQ(c.next(), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(c.g.sends, 2u);
	EXPECT_EQ(c.send.size, u32{ RPCRDMA_MIN_RECV_SIZE });
	EXPECT_FALSE(c.tx.last);
	ASSERT_EQ(c.next(), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(c.send.number, 1u);
	EXPECT_TRUE(c.tx.last);
}

/* Then its data may not reach their place, until it is as large again. */
TEST(rtrext, c__a_plan_that_cannot_be_kept_for_a_while)
{
	SentByHand c(40);

	ASSERT_TRUE(plan(c.p.client, c.msg, 1024, c.g));
	rpcrdma_session_send_room(&c.p.client.s, RPCRDMA_MIN_RECV_SIZE);
	EXPECT_EQ(c.next(), u32{ RPCRDMA_TX_INVALID });
	rpcrdma_session_send_room(&c.p.client.s, kReceive);
	ASSERT_EQ(c.next(), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(c.send.size, 512u + 1024);
	ASSERT_EQ(pieces(c.g, 0).all.size(), 1u);
	EXPECT_EQ(pieces(c.g, 0).all[0].offset, 512u);
}

/* Nothing begins in the middle of a group, and nothing follows its last Send. */
TEST(rtrext, c__one_group_at_a_time)
{
	SentByHand c(40);
	rpcrdma_message other = message(kXid + 1, RPCRDMA_CALL, 40);
	rpcrdma_rtr_group g;
	const auto can = [&]() { return plan(c.p.client, other, 1024, g); };

	ASSERT_TRUE(plan(c.p.client, c.msg, kTwoSends, c.g));
	EXPECT_EQ(c.g.sends, 2u);
	EXPECT_TRUE(can());
	ASSERT_EQ(c.next(), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_FALSE(c.tx.last);
	EXPECT_FALSE(can());
	ASSERT_EQ(c.next(), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_TRUE(c.tx.last);
	EXPECT_TRUE(can());
	EXPECT_EQ(c.next(), u32{ RPCRDMA_TX_INVALID });
}

TEST(rtrext, c__a_session_that_closes_in_the_middle)
{
	SentByHand c(40);

	ASSERT_TRUE(plan(c.p.client, c.msg, kTwoSends, c.g));
	ASSERT_EQ(c.next(), u32{ RPCRDMA_TX_MESSAGE });
	/* There can be no such count of messages. */
	c.p.client.take(octets(prefix(0, RPCRDMA2_GRANT, 0xfffffff0)));
	EXPECT_EQ(c.p.client.rx.action, u32{ RPCRDMA_RX_CLOSE });
	EXPECT_EQ(c.next(), u32{ RPCRDMA_TX_INVALID });
	EXPECT_EQ(c.tx.header_length, 0u);
}

/* As many credits are kept for each Call as its group has Sends. */
TEST(rtrext, c__admitted_with_all_of_its_sends)
{
	SentByHand c(40);
	rpcrdma_message other = message(kXid + 1, RPCRDMA_CALL, 40);
	rpcrdma_session &s = c.p.client.s;
	rpcrdma_rtr_group g;

	/* The FINAL was one Send. */
	c.p.client.take(octets(prefix(0, RPCRDMA2_GRANT, 1 + 3)));
	ASSERT_TRUE(plan(c.p.client, c.msg, kTwoSends, c.g));
	ASSERT_TRUE(plan(c.p.client, other, kTwoSends, g));
	EXPECT_TRUE(rpcrdma_rtr_admit(&s, &c.msg, &c.g));
	EXPECT_FALSE(rpcrdma_rtr_admit(&s, &other, &g));
	/* One credit is free. */
	ASSERT_TRUE(plan(c.p.client, other, 1024, g));
	EXPECT_TRUE(rpcrdma_rtr_admit(&s, &other, &g));
	ASSERT_EQ(c.next(), u32{ RPCRDMA_TX_MESSAGE });
	ASSERT_EQ(c.next(), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_TRUE(c.tx.last);
}

TEST(rtrext, c__whoever_goes_through_the_data_may_stop)
{
	SentByHand c(40);
	u32 seen = 0;

	ASSERT_TRUE(plan(c.p.client, c.msg, 2 * 1024, c.g));
	ASSERT_EQ(c.next(), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_FALSE(rpcrdma_rtr_each_piece(
		&c.g, 0,
		[](void *context, const rpcrdma_rtr_piece *piece) {
			EXPECT_EQ(piece->at, 36u);
			EXPECT_EQ(piece->length, 2u * 1024);
			++*static_cast<u32 *>(context);
			return false;
		},
		&seen));
	EXPECT_EQ(seen, 1u);
}

/* Of one item, which begins with a page: then it can be passed on by pages. */
TEST(rtrext, c__what_is_in_whole_pages)
{
	const auto pages = [](const Words &items) {
		const Octets o = octets(request(kXid, 2, call(), items));

		return read(o, static_cast<u32>(o.size())).pages;
	};

	EXPECT_TRUE(pages({ 1, 36, 1030, kTbsn, 0, 2, 0, 1 }));
	EXPECT_TRUE(pages(
		{ 2, 36, 1030, kTbsn, 0, 2, 0, 1, 1068, 0, kTbsn, 0, 0 }));
	EXPECT_FALSE(pages({ 1, 36, 1030, kTbsn, 4, 2, 0, 1 }));
	EXPECT_FALSE(
		pages({ 2, 36, 16, kTbsn, 0, 1, 0, 52, 16, kTbsn, 0, 1, 1 }));
	EXPECT_FALSE(pages({ 1, 36, 0, kTbsn, 0, 0 }));
	EXPECT_FALSE(pages({ 0 }));
}

/* A header that is not all there. */
TEST(rtrext, c__what_cannot_be_gone_through)
{
	std::vector<rpcrdma_rtr_part> parts;
	const Octets placed = octets(
		request(kXid, 1, call(), { 1, 36, 1030, kTbsn, 0, 2, 0, 1 }));
	const auto each = [&](const Octets &o, u32 length) {
		rpcrdma_rtr_first first;

		return rpcrdma_rtr_read(o.data(), length, &first) &&
		       rpcrdma_rtr_each_part(&kShape, &first, collect, &parts);
	};
	const u32 head = kXmtReqBare + 7 * 4;

	EXPECT_TRUE(each(placed, head));
	EXPECT_EQ(parts.size(), 2u);
	EXPECT_FALSE(each(placed, head - 4));
	EXPECT_TRUE(rpcrdma_rtr_readable(placed.data(), head + 8));
	EXPECT_FALSE(rpcrdma_rtr_readable(placed.data(), head + 4));
	EXPECT_FALSE(rpcrdma_rtr_readable(placed.data(), head - 4));
	EXPECT_FALSE(read(placed, head).external);
	const Octets reply = octets(response(kXid, 1, call()));
	EXPECT_TRUE(rpcrdma_rtr_readable(reply.data(), kXmtRespBare + 8));
	EXPECT_FALSE(rpcrdma_rtr_readable(reply.data(), kXmtRespBare + 4));
	EXPECT_FALSE(rpcrdma_rtr_readable(reply.data(), kXmtRespBare - 4));
	const Octets plain = octets(call_inline(kXid, call()));
	EXPECT_FALSE(rpcrdma_rtr_readable(plain.data(), RPCRDMA_BARE_OCTETS));
}

/* Receives cannot be made so: nothing is in them. */
TEST(rtrext, c__what_makes_no_sense_is_not_gone_through)
{
	const Octets o = octets(
		request(kXid, 1, call(), { 1, 36, 1030, kTbsn, 0, 2, 0, 1 }));
	const rpcrdma_rtr_first first = read(o, static_cast<u32>(o.size()));
	std::vector<rpcrdma_rtr_part> parts;

	for (const rpcrdma_rtr_shape &shape :
	     { rpcrdma_rtr_shape{ 0, 1024, 2 }, { 510, 1024, 2 },
	       { 512, 1000, 2 }, { 512, 0, 2 }, { 512, 1024, 0 } })
		EXPECT_FALSE(rpcrdma_rtr_each_part(&shape, &first, collect,
						   &parts));
	EXPECT_TRUE(parts.empty());
	EXPECT_TRUE(rpcrdma_rtr_each_part(&kShape, &first, collect, &parts));
	EXPECT_EQ(parts.size(), 2u);
}

namespace
{

/* Items of a Call: where the Read list has their memory, and what its parts are. */
struct ByRead {
	explicit ByRead(const Words &items)
		: send(octets(request(kXid, 1, call(), items)))
		, first(read(send, static_cast<u32>(send.size())))
		, ok(rpcrdma_rtr_get_reads(&first, &chunks))
	{
		EXPECT_TRUE(rpcrdma_rtr_each_part(&kShape, &first, collect,
						  &parts));
	}
	/* Position and handle of each segment. */
	[[nodiscard]] std::vector<std::pair<u32, u32>> reads() const
	{
		std::vector<std::pair<u32, u32>> all;

		for (u32 i = 0; i < chunks.n_reads; i++)
			all.emplace_back(chunks.reads[i].position,
					 chunks.reads[i].target.handle);
		return all;
	}

	Octets send;
	rpcrdma_rtr_first first;
	rpcrdma_chunks chunks = {};
	bool ok;
	std::vector<rpcrdma_rtr_part> parts;
};

/* One item with @n segments of four octets each. */
Words in_segments(u32 n)
{
	Words w = { 1, 36, 4 * n, kExrw, n };

	for (u32 i = 0; i < n; i++)
		w = w + Words{ i, 4, 0, 4 * i };
	return w;
}

} // namespace

/* Then what fetches Read chunks fetches these items, too. */
TEST(rtrext, c__memory_to_read_is_a_read_list)
{
	using Reads = std::vector<std::pair<u32, u32>>;
	const ByRead b({ 5,	8,    6, kExrw, 2,    0xa1, 4,	   0,
			 0x100, 0xa2, 2, 1,	0,    24,   1030,  kTbsn,
			 0,	2,    0, 1,	1056, 4096, kExrw, 1,
			 0xb1,	4096, 0, 7,	5152, 0,    kExrw, 1,
			 0xb2,	0,    0, 0,	5152, 0,    kExrw, 0 });

	ASSERT_TRUE(b.ok);
	EXPECT_TRUE(b.first.external);
	EXPECT_EQ(b.reads(), (Reads{ { 8, 0xa1 },
				     { 8, 0xa2 },
				     { 1056, 0xb1 },
				     { 5152, 0xb2 } }));
	EXPECT_EQ(b.chunks.reads[1].target.length, 2u);
	EXPECT_EQ(b.chunks.reads[1].target.offset, u64{ 1 } << 32);
	EXPECT_EQ(b.chunks.n_call, 0u);
	EXPECT_EQ(b.chunks.n_writes, 0u);
	EXPECT_FALSE(b.chunks.has_reply);
	/* In the order of the message: what is not in a Receive is one part. */
	ASSERT_EQ(b.parts.size(), 4u);
	for (const u32 i : { 0u, 3u }) {
		EXPECT_EQ(b.parts[i].send, RPCRDMA_RTR_BY_READ);
		EXPECT_EQ(b.parts[i].at, 0u);
		EXPECT_EQ(b.parts[i].item, b.parts[i].length);
	}
	EXPECT_EQ(b.parts[0].position, 8u);
	EXPECT_EQ(b.parts[0].length, 6u);
	EXPECT_EQ(b.parts[1].position, 24u);
	EXPECT_EQ(b.parts[1].send, 0u);
	EXPECT_EQ(b.parts[2].at, 1024u);
	EXPECT_EQ(b.parts[3].position, 1056u);
	EXPECT_EQ(b.parts[3].length, 4096u);
}

TEST(rtrext, c__memory_to_read_of_so_many_segments)
{
	for (const u32 n : { 0u, 1u, 16u }) {
		const ByRead b(in_segments(n));

		EXPECT_TRUE(b.ok);
		EXPECT_EQ(b.chunks.n_reads, n);
		EXPECT_EQ(b.parts.size(), n != 0);
	}
	EXPECT_FALSE(ByRead(in_segments(17)).ok);
}

/* Where nothing is to be read nothing is said of it. */
TEST(rtrext, c__no_memory_to_read)
{
	for (const Words &items :
	     { Words{ 0 }, Words{ 1, 36, 16, kTbsn, 0, 1, 0 },
	       Words{ 1, 36, 0, kExrw, 0 } }) {
		const ByRead b(items);

		EXPECT_TRUE(b.ok);
		EXPECT_EQ(b.chunks.n_reads, 0u);
		EXPECT_FALSE(b.first.external);
	}
}

/*
 * A Call that is fetched by the Read list is laid out as one of -07: padding behind an item
 * counts, and the stream is around the items.
 */
TEST(rtrext, c__memory_to_read_is_laid_out_as_read_chunks)
{
	const Words items = { 2, 8, 6,	kExrw, 2,     1, 4, 0,	0, 2, 2,
			      0, 0, 24, 16,    kExrw, 1, 3, 16, 0, 0 };
	const ByRead b(items);
	rpcrdma_piece pieces[RPCRDMA_MAX_PIECES];
	Endpoint e = server();

	EXPECT_EQ(e.receive(request(kXid, 1, call(), items)).action,
		  u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(e.rx.stream_length, 40u);
	EXPECT_EQ(e.rx.unreduced_length, 40u + 8 + 16);
	u64 unreduced;
	EXPECT_TRUE(reads_valid(b.chunks, 40, unreduced));
	EXPECT_EQ(unreduced, e.rx.unreduced_length);
	const u32 n = rpcrdma_layout_call(&b.chunks, 40, pieces);
	u32 end = 0, from = 0;
	std::vector<u32> stream; /* where runs of it are */
	for (const rpcrdma_rtr_part &part : b.parts) {
		if (part.position > end)
			stream.push_back(end);
		end = part.position + static_cast<u32>(xdr_roundup(part.item));
	}
	stream.push_back(end);
	std::vector<u32> runs;
	for (u32 i = 0; i < n; i++) {
		if (pieces[i].segment >= 0)
			continue;
		runs.push_back(pieces[i].target.offset);
		EXPECT_EQ(pieces[i].source, from);
		from += pieces[i].target.length;
	}
	EXPECT_EQ(runs, stream);
	EXPECT_EQ(from, 40u);
}

/* ------------------------------------------------------------------ */
/* What a peer, or this side, has not told                            */
/* ------------------------------------------------------------------ */

namespace
{

/* RTR Support alone, or with how Receives are made: no limits. */
Words without_limits(bool structure)
{
	const Words own = own_properties(kAll, 1, 1);

	return Words{ structure ? 4u : 3u, 2, 4, kReceive } +
	       slice(own, 0, structure ? 60 : 12) +
	       Words{ 5, 4, RPCRDMA_RVRSDIR_GENL };
}

/* Receives of one segment that nothing can be placed in. */
Words without_targets()
{
	return { 4,	      2,
		 4,	      kReceive,
		 kRtrSupport, 4,
		 kAll,	      kReceiveStructure,
		 24,	      kReceive,
		 1,	      1,
		 kReceive,    4,
		 0,	      5,
		 4,	      RPCRDMA_RVRSDIR_GENL };
}

/* One result is wanted: by Sends, or written to memory. */
const Words kBySends = { 1, 0, 40, 1, 0, kTbsn };
const Words kByRdma = { 1, 0, 40, 1, 0, kExrw, 1, 3, 4096, 0, 0 };

/* A server, and the Reply to a Call of a client that announces this. */
struct Answering {
	explicit Answering(const Words &peer)
	{
		Octets out(kReceive);
		rpcrdma_tx tx;

		server.take(octets(connprop(kClientXid, peer)));
		EXPECT_EQ(server.rx.action, u32{ RPCRDMA_RX_CONTROL });
		EXPECT_EQ(rpcrdma_session_next_send(&server.s, nullptr,
						    out.data(), kReceive, &tx),
			  u32{ RPCRDMA_TX_CONTROL });
	}
	/*
	 * Sends of it with a result of so many octets, which is that of the first operation of
	 * @call that has one; zero if it cannot go by a group.
	 */
	u32 sends(const Words &directions, u32 length, const Words &call = {})
	{
		rpcrdma_rtr_result r = { { 28, length }, RPCRDMA_RTR_NOWHERE };
		const Octets xdr = octets(directions);
		const Octets head = octets(call);
		u32 causes[RPCRDMA_RTR_MOST_ITEMS];
		rpcrdma_message msg = message(kXid, RPCRDMA_REPLY, 0);
		rpcrdma_rtr_directions d = {};

		const auto octets_of = static_cast<u32>(head.size());
		if (rpcrdma_rtr_get_causes(head.data(), octets_of, octets_of,
					   causes, &d.rest))
			r.cause = causes[0];
		d.sends = 4;
		d.length = static_cast<u32>(xdr.size());
		std::copy(xdr.begin(), xdr.end(), d.xdr);
		return rpcrdma_rtr_plan_reply(&server.s, &d, &r, 1,
					      40 + ((length + 3) & ~3U), &msg,
					      &plan, &g) ?
			       g.sends :
			       0;
	}
	Caller server{ RPCRDMA_ROLE_SERVER, &kShape, RPCRDMA_RTR_CALLS };
	rpcrdma_reply_plan plan;
	rpcrdma_rtr_group g;
};

/* A server that sends and takes no more Sends in a group than two. */
Endpoint server_of_two()
{
	Endpoint e(grouping(RPCRDMA_ROLE_SERVER));
	const Words told = own_properties(kAll, 2, 2);

	EXPECT_TRUE(declare(e.session));
	EXPECT_TRUE(e.session.with<Rtrext>([](Rtrext &, Port &port) {
		return port.declare(kRequestReceiveLimit, 2) &&
		       port.declare(kResponseSendLimit, 2);
	}));
	e.receive(connprop(kClientXid, announcing()));
	const Words w = e.next_control();
	EXPECT_GE(w.size(), told.size());
	EXPECT_EQ(Words(w.end() - told.size(), w.end()), told);
	return e;
}

} // namespace

TEST(rtrext, c__a_reply_to_a_peer_that_takes_none)
{
	EXPECT_EQ(Answering(announcing(kAll)).sends(kBySends, 1024), 1u);
	EXPECT_EQ(Answering(announcing(kTakesRequests | kTakesContinues))
			  .sends(kBySends, 1024),
		  0u);
	EXPECT_EQ(Answering(announcing(kTakesResponses)).sends(kBySends, 1024),
		  1u);
}

/* Neither before the exchange, nor with a peer that does not speak it. */
TEST(rtrext, c__what_is_not_in_use)
{
	Caller early(RPCRDMA_ROLE_CLIENT, &kShape, RPCRDMA_RTR_REPLIES);
	rpcrdma_message msg = message(kXid, RPCRDMA_CALL, 40);
	rpcrdma_rtr_group g;

	EXPECT_FALSE(plan(early, msg, 1024, g));
	EXPECT_TRUE(Answering(announcing()).sends(kBySends, 1024));
	EXPECT_FALSE(Answering({ 0 }).sends(kBySends, 1024));
}

/* The Reply then goes in a form of -07. */
TEST(rtrext, c__directions_that_cannot_be_answered)
{
	const Words item = { 0, kTbsn };
	const auto of = [&](u32 items) {
		Words w = { 1, 0, 40, items };

		for (u32 i = 0; i < items; i++)
			w = w + item;
		return w;
	};
	const Words first = { 0, 40, 1, 0, kTbsn };
	const Words second = { 40, 80, 1, 0, kTbsn };
	Answering a(announcing());
	Words cut = kBySends;

	cut.pop_back();
	EXPECT_EQ(a.sends(cut, 1024), 0u);
	EXPECT_EQ(a.sends(kBySends + Words{ 0 }, 1024), 0u);
	EXPECT_EQ(a.sends(Words{ 2 } + second + first, 1024), 0u);
	EXPECT_EQ(a.sends(Words{ 2 } + first + second, 1024), 1u);
	/* Each has an item that answers it. */
	EXPECT_EQ(a.sends(of(RPCRDMA_RTR_MOST_ITEMS + 1), 1024), 0u);
	EXPECT_EQ(a.sends(of(RPCRDMA_RTR_MOST_ITEMS), 1024), 1u);
	EXPECT_EQ(a.g.placed, 1u);
}

/* Those that there is room for are kept as they came. */
TEST(rtrext, c__directions_of_so_many_octets)
{
	for (const u32 items : { 62u, 63u }) {
		Words w = { 1, 0, 40, items };

		for (u32 i = 0; i < items; i++)
			w = w + Words{ i, kTbsn };
		const u32 size = 4 * static_cast<u32>(w.size());
		const Octets o = octets(request(kXid, 1, call(), { 0 }, w));
		const rpcrdma_rtr_first first =
			read(o, static_cast<u32>(o.size()));
		rpcrdma_rtr_directions d;

		rpcrdma_rtr_get_directions(&first, &d);
		EXPECT_EQ(d.sends, 1u);
		EXPECT_EQ(size <= RPCRDMA_RTR_DIRECTIONS, items == 62);
		EXPECT_EQ(Octets(d.xdr, d.xdr + d.length),
			  items == 62 ? octets(w) : Octets{});
	}
}

/* A READ behind an operation that the server does not know may be the result's, or not. */
TEST(rtrext, c__directions_are_about_their_range)
{
	const auto call = [](u32 operation) {
		return Words{ kXid, 0, 2,	   100003, 4, 1,	 1,
			      20,   0, 0,	   0,	   0, 0,	 0,
			      0,    3, 0x61626300, 1,	   2, operation, 25,
			      0,    0, 0,	   0,	   0, 0,	 1024 };
	};
	const auto placed = [&](u32 begin, u32 end, u32 operation) {
		Answering a(announcing(kAll));

		EXPECT_EQ(a.sends({ 1, begin, end, 1, 0, kTbsn }, 1024,
				  call(operation)),
			  1u);
		return a.g.placed;
	};
	const u32 putrootfh = 24;
	const u32 unknown = 10044;

	EXPECT_EQ(placed(80, 112, putrootfh), 1u);
	EXPECT_EQ(placed(84, 112, putrootfh), 0u);
	EXPECT_EQ(placed(80, 112, unknown), 0u);
	EXPECT_EQ(placed(76, 108, unknown), 0u);
	EXPECT_EQ(placed(76, 112, unknown), 1u);
	EXPECT_EQ(placed(0, UINT32_MAX, unknown), 1u);
}

/* What one Send has no room for stays in the Payload stream, or goes in a form of -07. */
TEST(rtrext, c__a_reply_to_a_peer_that_takes_none_of_several_sends)
{
	Answering several(announcing(kTakesResponses | kTakesContinues));
	Answering one(announcing(kTakesResponses));

	EXPECT_EQ(several.sends(kBySends, kPages * 1024 + 4), 2u);
	EXPECT_EQ(several.g.placed, 1u);
	EXPECT_EQ(several.sends(kBySends, 2 * kPages * 1024), 2u);
	EXPECT_EQ(one.sends(kBySends, kPages * 1024), 1u);
	EXPECT_EQ(one.g.placed, 1u);
	EXPECT_EQ(one.sends(kBySends, kPages * 1024 + 4), 1u);
	EXPECT_EQ(one.g.placed, 0u);
	EXPECT_EQ(one.sends(kBySends, 2 * kPages * 1024), 0u);
}

/* Both limits are one then. */
TEST(rtrext, send__to_a_peer_without_limits)
{
	Endpoint e = client(without_limits(true));
	Outgoing two(RPCRDMA_CALL, kReceive);
	Outgoing one(RPCRDMA_CALL, 40, 3);

	EXPECT_EQ(send(e, two), kNotSo);
	EXPECT_EQ(send(e, one), kSent);
	/* Its Reply has one Send, so nothing is reserved. */
	EXPECT_EQ(one.m.reply_count, 1u);
	EXPECT_EQ(state(e).reserved(), 0u);
	e.session.with<Rtrext>([](const Rtrext &x, const Port &port) {
		EXPECT_TRUE(x.may_reserve(port, 1));
		EXPECT_FALSE(x.may_reserve(port, 2));
		return true;
	});
	/* They bound Calls to that peer, and its own Replies, but none of this side's. */
	e = server(without_limits(true));
	Outgoing reply(RPCRDMA_REPLY, kReceive, 2);
	EXPECT_EQ(send(e, reply), kSent);
	EXPECT_EQ(send(e, reply), kSent);
	EXPECT_TRUE(e.tx.last);
}

/* Whatever the Call has reserved. */
TEST(rtrext, send__a_reply_within_this_sides_limit)
{
	Endpoint e = server_of_two();
	Outgoing two(RPCRDMA_REPLY, kReceive, 4);
	Outgoing more(RPCRDMA_REPLY, 2 * kReceive, 4);

	EXPECT_EQ(send(e, more), kNotSo);
	EXPECT_EQ(send(e, two), kSent);
	EXPECT_EQ(send(e, two), kSent);
	EXPECT_TRUE(e.tx.last);
}

TEST(rtrext, report__counts_beyond_this_sides_limit)
{
	Endpoint e = server_of_two();

	e.receive(request(kXid, 3, call()));
	expect_dropped(e, RPCRDMA_REASON_CONTINUATION);
	expect_report(e, { kXid, 0, 0, 0, 4, 2, 3 });
	e.receive(request(kXid + 1, 2, rpc(kXid + 1, RPCRDMA_CALL, 40)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
}

/* Neither data of Calls nor results; whatever the Receives of this side are. */
TEST(rtrext, send__nothing_is_placed_without_targets)
{
	for (const Words &peer : { without_limits(false), without_targets() }) {
		Endpoint e = client(peer);
		Answering a(peer);
		PlacedItem item = { 8, 1024, Placement::Tbsn, {}, 0, 0, 0 };
		Outgoing o(RPCRDMA_CALL, 40);

		o.m.content.items = { &item, 1 };
		EXPECT_EQ(send(e, o), kNotSo);
		o.m.content.items = {};
		EXPECT_EQ(send(e, o), kSent);
		EXPECT_EQ(a.sends(kBySends, 1024), 1u);
		EXPECT_EQ(a.g.placed, 0u);
		EXPECT_EQ(a.plan.n_removed, 0u);
		/* What goes by RDMA needs none. */
		EXPECT_EQ(a.sends(kByRdma, 1024), 1u);
		EXPECT_EQ(a.g.placed, 0u);
		EXPECT_EQ(a.plan.n_jobs, 1u);
	}
}

/* Items and directions by RDMA do not need Receives in which data are placed. */
TEST(rtrext, request__without_targets_of_this_side)
{
	Endpoint e(grouping(RPCRDMA_ROLE_SERVER));

	e.receive(connprop(kClientXid, announcing()));
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
	e.receive(request(kXid, 1, call(), { 1, 36, 16, kExrw, 1, 1, 16, 0, 0 },
			  kByRdma));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	e.receive(request(kXid, 1, call(), { 1, 36, 16, kTbsn, 0, 1, 0 }));
	expect_dropped(e, RPCRDMA_REASON_CONTINUATION);
	expect_report(e, { kXid, 0, 0, 0, 7, 0, 0, 0 });
}

/*
 * Segment 0 holds payload, Send 1 reaches neither 2 nor 3: data are in 1 and 5 all the same.
 * What is said to be in 3 is missing.
 */
TEST(rtrext, request__numbers_of_segments_without_data)
{
	const Words payload = call(600);
	const auto item = [](u32 second) {
		return Words{ 1, 400, 1500, kTbsn, 0, 2, 1, second };
	};
	const auto padded = [](Words w, u32 size) {
		w.resize(size / 4);
		return w;
	};
	const Words first =
		padded(request(kXid, 3, payload, item(5)), kReceive);
	const Octets octets_of_first = octets(first);
	std::vector<rpcrdma_rtr_part> parts;
	Endpoint e = server();

	e.receive(first);
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_GT(e.rx.payload.offset + e.rx.payload.length, 512u);
	e.receive(go_on(kXid, 1, {}));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	e.receive(padded(go_on(kXid, 2, {}), 512 + 1024 + 476));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_TRUE(e.rx.last);
	EXPECT_EQ(e.rx.unreduced_length, 600u + 1500);
	const rpcrdma_rtr_first said = read(octets_of_first, 512);
	EXPECT_TRUE(rpcrdma_rtr_each_part(&kShape, &said, collect, &parts));
	ASSERT_EQ(parts.size(), 2u);
	EXPECT_EQ(parts[0].send, 0u);
	EXPECT_EQ(parts[0].offset, 512u + 1024);
	EXPECT_EQ(parts[1].send, 2u);
	EXPECT_EQ(parts[1].offset, 512u + 1024);
	EXPECT_EQ(parts[1].length, 476u);

	e.receive(padded(request(kXid, 3, payload, item(3)), kReceive));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	e.receive(go_on(kXid, 1, {}));
	expect_dropped(e, RPCRDMA_REASON_CONTINUATION);
	expect_report(e, { kXid, 0, 1, 1, kXid, 0, 0, 7, 3, 0, 1 });
}

/* Unless a client has some to offer, it has none to deregister after an answer. */
TEST(rtrext, c__a_call_that_offers_no_memory)
{
	Pair p(&kShape);
	const rpcrdma_rtr_directions d = directed(p, 2 * kPages * 1024);

	EXPECT_EQ(Octets(d.xdr, d.xdr + d.length),
		  octets({ 1, 0, 40, 1, 100, kTbsn }));
}

/* All of it, for all of the Call. Receives are reserved for what may come by Sends. */
TEST(rtrext, c__a_call_that_offers_memory)
{
	const Words memory = { 2,      0x71,   1000,	   0,	    0x5000,
			       0x72,   3000,   0x1234,	   0x56789000 };
	const struct {
		rpcrdma_rtr_place place;
		Words type;
		u32 most;
		u32 sends;
	} calls[] = {
		{ RPCRDMA_RTR_EXRW, { 1 }, 0, 1 },
		{ RPCRDMA_RTR_CHOICE, { 3 }, 0, 1 },
		{ RPCRDMA_RTR_CHOICE, { 3 }, 2 * kPages * 1024, 2 },
		{ RPCRDMA_RTR_BYSIZE, { 4, 2000 }, 2000, 1 },
	};

	for (const auto &[place, type, most, sends] : calls) {
		Pair p(&kShape);
		const rpcrdma_rtr_directions d =
			directed(p, most, offering(place));

		EXPECT_EQ(Octets(d.xdr, d.xdr + d.length),
			  octets(Words{ 1, 0, 40, 1, 100 } + type + memory));
		EXPECT_EQ(d.sends, sends);
		EXPECT_EQ(p.client.reserved(), sends > 1 ? sends : 0u);
	}
}

/* Also beside data of its own, which are placed. */
TEST(rtrext, c__a_call_with_data_that_offers_memory)
{
	Pair p(&kShape);
	const rpcrdma_rtr_direction direction = offering(RPCRDMA_RTR_BYSIZE);
	const rpcrdma_range item = { 36, 3000 };
	rpcrdma_message msg = message(kXid, RPCRDMA_CALL, 40);
	Octets whole = octets(call());
	rpcrdma_rtr_group g;

	whole.insert(whole.begin() + 36, 3000, 7);
	ASSERT_TRUE(rpcrdma_rtr_plan(&p.client.s, &msg, &item, &direction, 2000,
				     &g));
	EXPECT_EQ(g.placed, 1u);
	EXPECT_EQ(g.sends, 2u);
	const std::vector<Octets> sends = send_all(p.client, p.server, msg, g,
						   whole, { item });
	const rpcrdma_rtr_first first = read(sends[0], 512);
	rpcrdma_rtr_directions d;
	rpcrdma_rtr_get_directions(&first, &d);
	EXPECT_EQ(first.item.offset, 36u);
	EXPECT_EQ(first.item.length, 3000u);
	/* The whole Call is its range. */
	EXPECT_EQ(Octets(d.xdr + 4, d.xdr + 16), octets({ 0, 3040, 1 }));
	EXPECT_EQ(d.length, 4 * (1 + 3 + 3 + 1 + 2 * 4u));
}

/* From the Call to the answer, by each of both ends. */
TEST(rtrext, c__a_result_goes_where_the_direction_says)
{
	constexpr u32 kShort = 1999, kLong = 2001, kLeast = 99;
	const struct {
		rpcrdma_rtr_place place;
		u32 length;
		u32 most;
		Placement answer;
	} cases[] = {
		{ RPCRDMA_RTR_EXRW, kShort, 0, Placement::Exrw },
		{ RPCRDMA_RTR_EXRW, kLeast, 0, Placement::TooShort },
		{ RPCRDMA_RTR_CHOICE, kLong, 2048, Placement::Tbsn },
		/* There is no room for more than a Send has. */
		{ RPCRDMA_RTR_CHOICE, 2052, 0, Placement::Exrw },
		{ RPCRDMA_RTR_BYSIZE, kShort, 2048, Placement::Tbsn },
		{ RPCRDMA_RTR_BYSIZE, kLong, 2048, Placement::Exrw },
		{ RPCRDMA_RTR_BYSIZE, kLeast, 2048, Placement::TooShort },
	};

	for (const auto &[place, length, most, answer] : cases) {
		SCOPED_TRACE(testing::Message() << place << " " << length);
		Pair p(&kShape);
		const rpcrdma_rtr_direction direction = offering(place);
		const rpcrdma_rtr_directions d = directed(p, most, direction);
		const rpcrdma_rtr_result r = { { 28, length },
					       RPCRDMA_RTR_NOWHERE };
		rpcrdma_message msg = message(kXid, RPCRDMA_REPLY, 0);
		Octets whole = octets(rpc(kXid, RPCRDMA_REPLY, 40));
		rpcrdma_reply_plan plan;
		rpcrdma_rtr_group g;
		rpcrdma_range written;

		whole.insert(whole.begin() + 28, (length + 3) & ~3U, 5);
		ASSERT_TRUE(rpcrdma_rtr_plan_reply(
			&p.server.s, &d, &r, 1, static_cast<u32>(whole.size()),
			&msg, &plan, &g));
		ASSERT_EQ(plan.errcode, u32{ RPCRDMA2_ERR_NONE });
		EXPECT_EQ(g.placed, answer == Placement::Tbsn ? 1u : 0u);
		EXPECT_EQ(plan.n_jobs, answer == Placement::Exrw ? 2u : 0u);
		const std::vector<Octets> sends = send_all(
			p.server, p.client, msg, g, whole,
			{ plan.removed, plan.removed + plan.n_removed });
		const rpcrdma_rtr_first first = read(sends[0], 512);
		EXPECT_TRUE(rpcrdma_rtr_answers(&first, &direction, &written));
		EXPECT_EQ(written.length,
			  answer == Placement::Exrw ? length : 0u);
		EXPECT_EQ(p.client.rx.unreduced_length, whole.size());
		EXPECT_EQ(p.client.reserved(), 0u);
	}
}

/* Who has not said that it takes Replies by groups would get none, and no memory filled. */
TEST(rtrext, c__who_takes_no_replies_offers_no_memory)
{
	Pair p(&kShape), other;
	const rpcrdma_rtr_direction d = offering(RPCRDMA_RTR_EXRW);
	rpcrdma_message msg = message(kXid, RPCRDMA_CALL, 40);
	rpcrdma_rtr_group g;

	EXPECT_TRUE(rpcrdma_rtr_plan(&p.client.s, &msg, nullptr, &d, 0, &g));
	EXPECT_FALSE(
		rpcrdma_rtr_plan(&other.client.s, &msg, nullptr, &d, 0, &g));
	EXPECT_TRUE(rpcrdma_rtr_plan(&other.client.s, &msg, nullptr, nullptr, 0,
				     &g));
	/* And none to a Call that has no Reply. */
	msg.call_only = true;
	EXPECT_FALSE(rpcrdma_rtr_plan(&p.client.s, &msg, nullptr, &d, 0, &g));
}

/* Two of three Sends is too few. */
TEST(rtrext, send__a_call_within_the_peers_limit)
{
	Outgoing three(RPCRDMA_CALL, 2 * kReceive);
	Outgoing again(RPCRDMA_CALL, 2 * kReceive);
	Endpoint two = client(announcing(kAll, 2));
	Endpoint enough = client(announcing(kAll, 3));

	EXPECT_EQ(send(two, three), kNotSo);
	EXPECT_EQ(send(enough, again), kSent);
	EXPECT_EQ(again.m.plan.count(), 3u);
}

/* What is told is all of a Receive, and its targets in a group have numbers. */
TEST(rtrext, declare__what_cannot_be_told)
{
	const auto declares = [](const ReceiveShape &s) {
		rpcrdma_config c = grouping(RPCRDMA_ROLE_SERVER);

		c.local.recv_size = s.length();
		Endpoint e(c);
		return e.session.with<Rtrext>([&](Rtrext &, Port &port) {
			return Rtrext::declare(port, s);
		});
	};
	const auto made = [](const rpcrdma_rtr_shape &shape, u32 behind = 0) {
		ReceiveShape s;

		EXPECT_TRUE(s.add({ 1, shape.head, 4, false }));
		EXPECT_TRUE(s.add({ shape.pages, shape.page, 4, true }));
		EXPECT_TRUE(!behind || s.add({ 1, behind, 4, false }));
		return s;
	};
	const u32 most = kMostTargets / kMostSends;

	EXPECT_TRUE(declares(made({ 1024, 64, most })));
	EXPECT_FALSE(declares(made({ 1024, 64, most + 1 })));
	EXPECT_FALSE(declares(made({ 1024, 64, 2 }, 1024)));
	/* A length has to be a power of two. */
	EXPECT_FALSE(declares(made({ 1024, 1000, 2 })));
	/* The header of a XMTCONT goes before the data. */
	EXPECT_TRUE(declares(made({ kXmtContSize, 1024, 2 })));
	EXPECT_FALSE(declares(made({ kXmtContSize - 4, 1024, 2 })));
}

TEST(rtrext, request__with_a_continuation_that_was_not_announced)
{
	Endpoint e = server_taking(kTakesRequests);

	e.receive(request(kXid, 1, call()));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	e.receive(go_on(kXid, 1, call()));
	expect_dropped(e, RPCRDMA_REASON_HTYPE);
	expect_error(e, RPCRDMA2_ERR_INVAL_HTYPE);
}

/* It does not take the first Send of what it cannot take whole. */
TEST(rtrext, request__of_several_sends_without_continuations)
{
	Endpoint e = server_taking(kTakesRequests);

	e.receive(request(kXid, 2, call()));
	expect_dropped(e, RPCRDMA_REASON_CONTINUATION);
	expect_report(e, { kXid, 0, 0, 0, 4, 1, 2 });
	e.receive(request(kXid, 1, call()));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
}

/* Nor does it have room for such Replies. */
TEST(rtrext, reply__of_several_sends_without_continuations)
{
	Endpoint e(grouping(RPCRDMA_ROLE_CLIENT));
	Outgoing o(RPCRDMA_CALL, 40, 3);

	EXPECT_TRUE(declare(e.session));
	EXPECT_TRUE(e.session.with<Rtrext>([](Rtrext &, Port &port) {
		return Rtrext::declare(port, kTakesResponses);
	}));
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
	e.receive(connprop(kServerXid, announcing()));
	e.session.with<Rtrext>([](const Rtrext &x, const Port &port) {
		EXPECT_TRUE(x.may_reserve(port, 1));
		EXPECT_FALSE(x.may_reserve(port, 2));
		return true;
	});
	EXPECT_EQ(send(e, o), kSent);
	EXPECT_EQ(o.m.reply_count, 1u);
	EXPECT_EQ(state(e).reserved(), 0u);
	e.receive(response(kXid, 2, rpc(kXid, RPCRDMA_REPLY, 40)));
	expect_dropped(e, RPCRDMA_REASON_CONTINUATION);
	expect_report(e, { kXid, 1, 0, 0, 4, 1, 2 });
}

namespace
{

/* What a peer says of its Receives: both, or one. */
Words size_told(u32 size)
{
	return { 2, 4, size };
}

Words structure_told(u32 length, u32 head = 512)
{
	return { kReceiveStructure, 40, length, 2,    1,    head, 4, 0, 1,
		 length - head,	    length - head,    1 };
}

Endpoint told(const std::vector<Words> &properties)
{
	rpcrdma_config c = grouping(RPCRDMA_ROLE_CLIENT);
	Words set = { 1 + static_cast<u32>(properties.size()), kRtrSupport, 4,
		      kAll };

	c.local.send_size = 1 << 16;
	for (const Words &p : properties)
		set = set + p;
	return client(c, set);
}

} // namespace

/* On both sides of the default. */
TEST(rtrext, structure__alone_is_the_size_of_a_receive)
{
	for (const u32 length : { 512u + 1024, 4096u, 512u + 8192 }) {
		Endpoint e = told({ structure_told(length, 512) });

		EXPECT_EQ(e.info().peer.recv_size, length);
		EXPECT_EQ(e.info().max_send, length);
	}
	EXPECT_EQ(told({}).info().max_send, 4096u);
	/* No octets: as if it were not there. */
	EXPECT_EQ(told({ { 2, 0 }, structure_told(8704) }).info().max_send,
		  8704u);
	EXPECT_EQ(told({ structure_told(8704), { 2, 0 } }).info().max_send,
		  8704u);
	EXPECT_EQ(told({ structure_told(8704), { kReceiveStructure, 0 } })
			  .info()
			  .max_send,
		  4096u);
	/* Also if nothing can be placed there, or not here. */
	EXPECT_EQ(told({ { kReceiveStructure, 24, 8192, 1, 1, 8192, 4, 0 } })
			  .info()
			  .max_send,
		  8192u);
	EXPECT_EQ(told({ { kReceiveStructure, 24, 3000, 1, 3, 1000, 4, 1 } })
			  .info()
			  .max_send,
		  3000u);
}

/* Data go to all of it then. */
TEST(rtrext, structure__alone_and_data_are_placed)
{
	Endpoint e = told({ structure_told(512 + 8192) });
	PlacedItem item = { 8, 8192, Placement::Tbsn, {}, 0, 0, 0 };
	Outgoing o(RPCRDMA_CALL, 40);

	o.m.content.items = { &item, 1 };
	EXPECT_TRUE(e.session.with<Rtrext>([&](const Rtrext &x,
					       const Port &port) {
		return x.plan(port, o.m);
	}));
	EXPECT_EQ(o.m.plan.count(), 1u);
	EXPECT_EQ(o.m.plan.send(0).size, 512u + 8192);
}

/* Nothing larger is sent than what either of them has room for. */
TEST(rtrext, structure__that_contradicts_the_size_D20)
{
	const u32 sizes[] = { 2048, 4096, 8704 };

	for (const u32 size : sizes) {
		for (const u32 length : { 1536u, 4608u, 8704u }) {
			const u32 least = std::min(size, length);

			EXPECT_EQ(told({ size_told(size),
					 structure_told(length) })
					  .info()
					  .max_send,
				  least);
			EXPECT_EQ(told({ structure_told(length),
					 size_told(size) })
					  .info()
					  .max_send,
				  least);
		}
	}
}

/* Each in a message of its own. */
TEST(rtrext, structure__and_size_in_several_messages)
{
	const Words size = Words{ 1 } + size_told(4096);
	const Words structure = Words{ 1 } + structure_told(8704);
	const u32 middle = RPCRDMA2_CONNPROP_MIDDLE;

	for (const bool first : { false, true }) {
		rpcrdma_config c = grouping(RPCRDMA_ROLE_SERVER);

		c.local.send_size = 1 << 16;
		Endpoint e(c);
		e.receive(
			connprop(kClientXid, first ? size : structure, middle));
		EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
		/* Of what is malformed nothing is taken. */
		e.receive(connprop(kClientXid + 1,
				   { 2, kReceiveStructure, 0, 1 }, middle));
		expect_dropped(e, RPCRDMA_REASON_XDR);
		e.receive(connprop(kClientXid + 2, first ? structure : size));
		EXPECT_EQ(e.info().max_send, 4096u);
	}
}
