// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Properties that change while connected. Section numbers are those of xcharext.
 */
#include "../unit/support.h"
#include "abi.h"
#include "names.h"

#include <algorithm>

using namespace rpcrdma;
using namespace unit;

namespace
{

constexpr u32 kInit = 0xffffff01;
constexpr u32 kRequest = 0xffffff02;
constexpr u32 kResponse = 0xffffff03;
constexpr u32 kUpdate = 0xffffff04;

constexpr u32 kSend = 1;
constexpr u32 kReceive = 2;
constexpr u32 kSegment = 3;
constexpr u32 kSegments = 4;
constexpr u32 kReverse = 5;
constexpr u32 kHostAuth = 6;
constexpr u32 kRemote = 0xffffff02;
constexpr u32 kSpoken[] = { kSend,     kReceive, kSegment,
			    kSegments, kReverse, kRemote };

constexpr u32 kBit = 1;
constexpr u32 kOurs = 1U << Extensions::place<Xcharext>();

rpcrdma_config changing(rpcrdma_role role)
{
	rpcrdma_config c = config(role);

	c.extensions = kOurs;
	c.local.reverse = RPCRDMA_RVRSDIR_CONT;
	return c;
}

/* Property set of a peer that knows the extension. */
Words announcing(const Words &more = {}, u32 count = 0)
{
	return Words{ 1 + count, kExtensionsProperty, 4, kBit } + more;
}

Endpoint client(const Words &peer = announcing())
{
	return open_client(changing(RPCRDMA_ROLE_CLIENT), peer);
}

Endpoint server(const Words &peer = announcing())
{
	return open_server(changing(RPCRDMA_ROLE_SERVER), peer);
}

using Wanted = std::vector<XcharNumber>;

bool request(Endpoint &e, const Wanted &wanted)
{
	return e.session.with<Xcharext>([&](Xcharext &x, Port &port) {
		return x.request(port, { wanted.data(),
					 static_cast<u32>(wanted.size()) });
	});
}

bool allow(Endpoint &e, u32 which, u32 least, u32 most)
{
	return e.session.with<Xcharext>([&](Xcharext &x, Port &) {
		return x.allow(which, least, most);
	});
}

bool fix(Endpoint &e, const Words &which)
{
	return e.session.with<Xcharext>([&](Xcharext &x, Port &port) {
		return x.fix(port,
			     { which.data(), static_cast<u32>(which.size()) });
	});
}

bool changed(Endpoint &e, u32 which, u32 number)
{
	return e.session.with<Xcharext>([&](Xcharext &x, Port &port) {
		return x.changed(port, which, number);
	});
}

u32 asking(const Endpoint &e, u32 which)
{
	return e.session.extension<Xcharext>().asking(which);
}

bool askable(const Endpoint &e, u32 which)
{
	return e.session.extension<Xcharext>().askable(which);
}

u32 wanted(const Endpoint &e, u32 which)
{
	return e.session.extension<Xcharext>().wanted(which);
}

struct rpcrdma_xchar_info counts(const Endpoint &e)
{
	struct rpcrdma_xchar_info i;

	e.session.extension<Xcharext>().info(i);
	return i;
}

u32 number_at(Endpoint &e, u32 which, bool of_peer)
{
	return e.session.with<Xcharext>([&](Xcharext &, Port &port) {
		return of_peer ? port.peer(which) : port.local(which);
	});
}

u32 peer(Endpoint &e, u32 which)
{
	return number_at(e, which, true);
}

u32 local(Endpoint &e, u32 which)
{
	return number_at(e, which, false);
}

Words value(u32 which, u32 number)
{
	return { which, 4, number };
}

Words values(const Wanted &list)
{
	Words w = { static_cast<u32>(list.size()) };

	for (const XcharNumber &n : list)
		w = w + value(n.which, n.number);
	return w;
}

Words subset(u32 bits)
{
	return bits ? Words{ 1, bits } : Words{ 0 };
}

const rpcrdma_rx &init(Endpoint &e, const Wanted &start, u32 nochg = 0)
{
	return e.receive(prefix(5, kInit) + values(start) + subset(nochg));
}

const rpcrdma_rx &req(Endpoint &e, const Wanted &want, u32 xid = 5)
{
	return e.receive(prefix(xid, kRequest) + values(want));
}

const rpcrdma_rx &resp(Endpoint &e, u32 xid, u32 done, u32 rej, u32 pend)
{
	return e.receive(prefix(xid, kResponse) + subset(done) + subset(rej) +
			 subset(pend));
}

const rpcrdma_rx &upd(Endpoint &e, u32 which, u32 number, bool pendclr)
{
	return e.receive(prefix(5, kUpdate) + value(which, number) +
			 Words{ pendclr });
}

void expect_taken(const Endpoint &e)
{
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_NONE });
}

/* And no ERROR, nor anything else, is sent. */
void expect_dropped(Endpoint &e, u32 reason)
{
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
	EXPECT_EQ(e.rx.reason, reason);
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
	EXPECT_TRUE(e.session.invariants());
}

void expect_refused(Endpoint &e, u32 reason, u32 code, u32 xid = 5)
{
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
	EXPECT_EQ(e.rx.reason, reason);
	EXPECT_EQ(e.next_error(xid), Words{ code });
	EXPECT_TRUE(e.session.ready());
	EXPECT_TRUE(e.session.invariants());
}

void expect_bad_xdr(Endpoint &e)
{
	expect_refused(e, RPCRDMA_REASON_XDR, RPCRDMA2_ERR_BAD_XDR);
}

void expect_bad_value(Endpoint &e)
{
	expect_refused(e, RPCRDMA_REASON_PROPVAL, RPCRDMA2_ERR_BAD_PROPVAL);
}

/* The answer that is next to be sent. */
void expect_answer(Endpoint &e, u32 done, u32 rej, u32 pend, u32 xid = 5)
{
	const Words w = e.next_control();

	ASSERT_GE(w.size(), 7u);
	EXPECT_EQ(w[0], xid);
	EXPECT_EQ(w[3], kResponse);
	EXPECT_EQ(Words(w.begin() + 4, w.end()),
		  subset(done) +
			  (rej	       ? subset(rej) :
			   done | pend ? Words{ 1, 0 } :
					 Words{ 0 }) +
			  subset(pend));
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
}

void expect_update(Endpoint &e, u32 which, u32 number, bool pendclr)
{
	const Words w = e.next_control();

	ASSERT_EQ(w.size(), 8u);
	EXPECT_EQ(w[3], kUpdate);
	EXPECT_EQ(Words(w.begin() + 4, w.end()),
		  value(which, number) + Words{ pendclr });
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
}

/* Ask, and send the request. Return: its XID. */
u32 ask(Endpoint &e, const Wanted &list)
{
	EXPECT_TRUE(request(e, list));
	const Words w = e.next_control();

	EXPECT_EQ(w[3], kRequest);
	EXPECT_EQ(Words(w.begin() + 4, w.end()), values(list));
	for (const XcharNumber &n : list)
		EXPECT_EQ(asking(e, n.which), u32{ RPCRDMA_XCHAR_ASKED });
	return w[0];
}

void expect_state(const Endpoint &e, u32 which, u32 state)
{
	EXPECT_EQ(asking(e, which), state);
}

} // namespace

/* ------------------------------------------------------------------ */
/* Who it is spoken with                                              */
/* ------------------------------------------------------------------ */

TEST(xcharext, numbers_D8)
{
	EXPECT_STREQ(rpcrdma_htype_name(0xffffff01), "INITXCH");
	EXPECT_STREQ(rpcrdma_htype_name(0xffffff02), "REQXCH");
	EXPECT_STREQ(rpcrdma_htype_name(0xffffff03), "RESPXCH");
	EXPECT_STREQ(rpcrdma_htype_name(0xffffff04), "UPDXCH");
	EXPECT_STREQ(rpcrdma_property_name(property_index(0xffffff02)),
		     "remote-invalidation");
	EXPECT_EQ(kDefaultProperties
			  .more[property_index(kRemote) - kBaseProperties],
		  0u)
		<< "the default is false";
}

TEST(xcharext, announced__by_its_bit_D19)
{
	Endpoint e(changing(RPCRDMA_ROLE_CLIENT));
	const Words w = e.next_control();

	ASSERT_EQ(w.size(), 4 + kPropertiesSize / 4 + 6);
	EXPECT_EQ(Words(w.end() - 6, w.end()),
		  (Words{ kExtensionsProperty, 4, kBit, kRemote, 4, 1 }));
}

TEST(xcharext, unknown__to_who_has_not_announced_it)
{
	for (const bool here : { false, true }) {
		rpcrdma_config c = changing(RPCRDMA_ROLE_SERVER);

		c.extensions = here ? kOurs : 0;
		Endpoint e = open_server(c, here ? Words{ 0 } : announcing());
		EXPECT_TRUE(allow(e, kReceive, 1024, 8192));
		for (const u32 type : { kInit, kRequest, kResponse, kUpdate }) {
			e.receive(prefix(5, type) + Words{ 0, 0, 0 });
			expect_refused(e, RPCRDMA_REASON_HTYPE,
				       RPCRDMA2_ERR_INVAL_HTYPE);
		}
		EXPECT_FALSE(request(e, { { kReceive, 8192 } }));
		EXPECT_FALSE(fix(e, { kReceive }));
		EXPECT_FALSE(changed(e, kReceive, 8192));
		EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
	}
}

/* ------------------------------------------------------------------ */
/* The beginning                                                      */
/* ------------------------------------------------------------------ */

bool begin(Endpoint &e, u32 receive_size)
{
	return e.session.with<Xcharext>([&](Xcharext &x, Port &port) {
		return x.begin(port, receive_size);
	});
}

/* Receive Buffer Size, as the server's FINAL has it. */
u32 said(Endpoint &e)
{
	const Words w = e.next_control();

	EXPECT_EQ(w.at(3), u32{ RPCRDMA2_CONNPROP_FINAL });
	EXPECT_EQ(w.at(8), kReceive);
	return w.at(10);
}

TEST(xcharext, begin__a_server_has_smaller_receives_for_a_peer_that_knows)
{
	Endpoint e(changing(RPCRDMA_ROLE_SERVER));
	const u32 size = e.info().local.recv_size;

	EXPECT_FALSE(begin(e, 1024)) << "nothing is known of the peer";
	e.receive(connprop(kClientXid, announcing()));
	EXPECT_TRUE(e.rx.opened);
	EXPECT_FALSE(begin(e, size + 4)) << "it only gets smaller";
	EXPECT_FALSE(begin(e, 1020)) << "too small for any message";
	EXPECT_TRUE(begin(e, 1024));
	EXPECT_EQ(e.info().local.recv_size, 1024u);
	EXPECT_TRUE(e.session.invariants());
	EXPECT_EQ(said(e), 1024u);
	EXPECT_FALSE(begin(e, 1024)) << "it has said so";
	/* And the peer can have them larger. */
	EXPECT_TRUE(allow(e, kReceive, 1024, size));
	e.receive(prefix(5, kRequest) + values({ { kReceive, size } }));
	EXPECT_EQ(wanted(e, kReceive), size);
}

TEST(xcharext, begin__no_other_has)
{
	Endpoint unknown(changing(RPCRDMA_ROLE_SERVER));
	unknown.receive(connprop(kClientXid));
	EXPECT_FALSE(begin(unknown, 1024));
	EXPECT_EQ(said(unknown), unknown.info().local.recv_size);

	rpcrdma_config c = changing(RPCRDMA_ROLE_SERVER);
	c.extensions = 0;
	Endpoint without(c);
	without.receive(connprop(kClientXid, announcing()));
	EXPECT_FALSE(begin(without, 1024));

	/* It has more to say, and is answered before. */
	Endpoint middle(changing(RPCRDMA_ROLE_SERVER));
	middle.receive(connprop(kClientXid, announcing(),
				RPCRDMA2_CONNPROP_MIDDLE));
	EXPECT_FALSE(begin(middle, 1024));

	Endpoint closed(changing(RPCRDMA_ROLE_SERVER));
	closed.receive(connprop(kClientXid, announcing(value(kReceive, 64), 1)));
	EXPECT_EQ(closed.rx.action, u32{ RPCRDMA_RX_CLOSE });
	EXPECT_FALSE(begin(closed, 1024));

	Endpoint client(changing(RPCRDMA_ROLE_CLIENT));
	EXPECT_FALSE(begin(client, 1024)) << "it speaks first";
}

/* ------------------------------------------------------------------ */
/* Asking                                                             */
/* ------------------------------------------------------------------ */

TEST(xcharext, request__done_at_once)
{
	for (Endpoint e : { client(), server() })
		for (const XcharNumber n :
		     Wanted{ { kSend, 8192 },
			     { kReceive, 16384 },
			     { kSegment, 2048 },
			     { kSegments, 3 },
			     { kReverse, RPCRDMA_RVRSDIR_SIMPLE },
			     { kRemote, 1 } }) {
			const u32 before = peer(e, n.which);
			const u32 xid = ask(e, { n });

			EXPECT_EQ(peer(e, n.which), std::min(before, n.number))
				<< "more is not so before the answer";
			resp(e, xid, 1, 0, 0);
			expect_taken(e);
			EXPECT_EQ(peer(e, n.which), n.number);
			expect_state(e, n.which, RPCRDMA_XCHAR_IDLE);
		}
}

TEST(xcharext, request__rejected)
{
	Endpoint e = client();
	const u32 xid = ask(e, { { kReceive, 16384 }, { kSend, 2048 } });

	resp(e, xid, 0, 3, 0);
	expect_taken(e);
	EXPECT_EQ(peer(e, kReceive), 4096u);
	EXPECT_EQ(peer(e, kSend), 4096u);
	EXPECT_EQ(counts(e).rejected, 2u);
	/* It may be asked for again. */
	ask(e, { { kReceive, 16384 } });
}

/* 4.4: one that is pending ends with pendclr; what comes before only says what is so. */
TEST(xcharext, request__pending)
{
	Endpoint e = client();
	const u32 xid = ask(e, { { kReceive, 16384 } });

	resp(e, xid, 0, 0, 1);
	expect_taken(e);
	expect_state(e, kReceive, RPCRDMA_XCHAR_PENDING);
	EXPECT_EQ(e.info().max_send, 4096u);
	EXPECT_FALSE(request(e, { { kReceive, 8192 } }))
		<< "nothing would tell them apart";
	upd(e, kReceive, 4200, false);
	expect_taken(e);
	EXPECT_EQ(peer(e, kReceive), 4200u);
	expect_state(e, kReceive, RPCRDMA_XCHAR_PENDING);
	upd(e, kReceive, 16384, true);
	expect_taken(e);
	EXPECT_EQ(peer(e, kReceive), 16384u);
	expect_state(e, kReceive, RPCRDMA_XCHAR_IDLE);
	EXPECT_EQ(counts(e).pended, 1u);
	EXPECT_EQ(counts(e).cleared, 1u);
	/* Once. */
	upd(e, kReceive, 16384, true);
	expect_bad_value(e);
}

TEST(xcharext, request__pending_and_then_not_carried_out_or_in_part)
{
	for (const u32 end : { 4096u, 8192u }) {
		Endpoint e = client();

		resp(e, ask(e, { { kReceive, 16384 } }), 0, 0, 1);
		upd(e, kReceive, end, true);
		expect_taken(e);
		EXPECT_EQ(peer(e, kReceive), end);
		expect_state(e, kReceive, RPCRDMA_XCHAR_IDLE);
	}
}

TEST(xcharext, request__each_value_has_its_own_fate)
{
	Endpoint e = server();
	const u32 xid = ask(e, { { kSegment, 65536 },
				 { kReceive, 16384 },
				 { kSegments, 2 },
				 { kRemote, 1 } });

	resp(e, xid, 1 << 0 | 1 << 2, 1 << 3, 1 << 1);
	expect_taken(e);
	EXPECT_EQ(peer(e, kSegment), 65536u);
	EXPECT_EQ(peer(e, kReceive), 4096u);
	EXPECT_EQ(peer(e, kSegments), 2u);
	EXPECT_EQ(peer(e, kRemote), 0u);
	expect_state(e, kReceive, RPCRDMA_XCHAR_PENDING);
	expect_state(e, kRemote, RPCRDMA_XCHAR_IDLE);
}

/* 3.1: whoever asks for less sends no more than that until it is rejected. */
TEST(xcharext, request__less_holds_at_once)
{
	Endpoint e = client();
	rpcrdma_message msg = message(7, RPCRDMA_CALL, 8000);

	ASSERT_TRUE(request(e, { { kReceive, 2048 } }));
	EXPECT_EQ(e.info().max_send, 2048u);
	EXPECT_EQ(e.next_control()[3], kRequest);
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_LE(e.tx.header_length + e.tx.payload.length, 2048u);
	EXPECT_TRUE(e.session.invariants());
}

TEST(xcharext, request__less_is_rejected)
{
	Endpoint e = client();

	resp(e, ask(e, { { kReceive, 2048 } }), 0, 1, 0);
	EXPECT_EQ(e.info().max_send, 4096u);
}

TEST(xcharext, request__less_is_pending)
{
	Endpoint e = client();

	resp(e, ask(e, { { kReceive, 2048 } }), 0, 0, 1);
	EXPECT_EQ(e.info().max_send, 2048u);
	/* Larger, but the change is still pending. */
	upd(e, kReceive, 3000, false);
	EXPECT_EQ(e.info().max_send, 2048u);
	upd(e, kReceive, 3000, true);
	EXPECT_EQ(e.info().max_send, 3000u);
}

/* The peer grew before it heard, and then it says no. */
TEST(xcharext, request__less_crosses_an_update)
{
	rpcrdma_config c = changing(RPCRDMA_ROLE_CLIENT);

	c.local.send_size = 16384;
	Endpoint e = open_client(c, announcing());
	const u32 xid = ask(e, { { kReceive, 2048 } });

	upd(e, kReceive, 8192, false);
	expect_taken(e);
	EXPECT_EQ(e.info().max_send, 2048u);
	resp(e, xid, 0, 1, 0);
	EXPECT_EQ(e.info().max_send, 8192u);
}

TEST(xcharext, request__a_message_that_has_begun_goes_on_in_smaller_parts)
{
	Endpoint e = client();
	rpcrdma_message msg = message(7, RPCRDMA_CALL, 12000);

	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	ASSERT_TRUE(request(e, { { kReceive, 1024 } }));
	u32 sends = 1;
	while (!e.tx.last) {
		ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
		EXPECT_LE(e.tx.header_length + e.tx.payload.length, 1024u);
		sends++;
	}
	EXPECT_GT(sends, 8u);
	EXPECT_EQ(msg.sent, 12000u);
	/* Between the parts it could not go (-07, 6.3.6). */
	EXPECT_EQ(e.next_control()[3], kRequest);
}

TEST(xcharext, request__several_under_way_are_told_apart)
{
	Endpoint e = client();
	const u32 first = ask(e, { { kReceive, 16384 }, { kSegments, 8 } });
	const u32 second = ask(e, { { kSend, 16384 } });
	const u32 third = ask(e, { { kSegment, 4096 }, { kRemote, 1 } });

	EXPECT_NE(first, second);
	EXPECT_NE(second, third);
	resp(e, third, 2, 1, 0);
	expect_taken(e);
	EXPECT_EQ(peer(e, kRemote), 1u);
	EXPECT_EQ(peer(e, kSegment), 1048576u);
	expect_state(e, kReceive, RPCRDMA_XCHAR_ASKED);
	resp(e, first, 3, 0, 0);
	expect_taken(e);
	EXPECT_EQ(peer(e, kReceive), 16384u);
	EXPECT_EQ(peer(e, kSegments), 8u);
	expect_state(e, kSend, RPCRDMA_XCHAR_ASKED);
	resp(e, second, 0, 1, 0);
	expect_taken(e);
	expect_state(e, kSend, RPCRDMA_XCHAR_IDLE);
	EXPECT_EQ(counts(e).asked, 5u);
	EXPECT_EQ(counts(e).done, 3u);
	EXPECT_EQ(counts(e).rejected, 2u);
}

TEST(xcharext, request__what_cannot_be_asked_for)
{
	Endpoint e = client();

	EXPECT_FALSE(request(e, {}));
	for (const XcharNumber n : Wanted{ { kSend, 1023 },
					   { kReceive, 1023 },
					   { kReceive, 0 },
					   { kSegment, 0 },
					   { kSegments, 17 },
					   { kReverse, 4 },
					   { kRemote, 2 },
					   { kHostAuth, 1 },
					   { kExtensionsProperty, 1 },
					   { Ping::kProperty, 1 },
					   { 0, 0 },
					   { 77, 1 } })
		EXPECT_FALSE(request(e, { { kSegments, 3 }, n })) << n.which;
	EXPECT_FALSE(request(e, { { kReceive, 8192 }, { kReceive, 8192 } }));
	EXPECT_FALSE(request(e, { { kSend, 8192 },
				  { kReceive, 8192 },
				  { kSegment, 8192 },
				  { kSegments, 8 },
				  { kReverse, 0 },
				  { kRemote, 1 } }))
		<< "more than fits any Receive";
	for (const u32 which : kSpoken)
		expect_state(e, which, RPCRDMA_XCHAR_IDLE);
	/* Nor can anything be said of it. */
	expect_state(e, 77, RPCRDMA_XCHAR_IDLE);
	EXPECT_EQ(wanted(e, 77), 0u);
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
	EXPECT_EQ(counts(e).asked, 0u);
}

TEST(xcharext, request__the_largest_fits_the_smallest_receive)
{
	Endpoint e = client(announcing(value(kReceive, 80), 1));

	ask(e, { { kReceive, 8192 },
		 { kSegment, 8192 },
		 { kSegments, 8 },
		 { kReverse, 0 },
		 { kRemote, 1 } });
	EXPECT_EQ(e.sent.size(), 80u);
}

TEST(xcharext, request__less_reverse_support_not_while_calling)
{
	Endpoint e = server(announcing(value(kReverse, 2), 1));
	rpcrdma_message msg = message(7, RPCRDMA_CALL, 400);

	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_FALSE(request(e, { { kReverse, 1 } }));
	EXPECT_TRUE(request(e, { { kReverse, 3 } }));
	EXPECT_EQ(e.next_control()[3], kRequest);
	resp(e, kServerXid + 1, 1, 0, 0);
	EXPECT_EQ(peer(e, kReverse), 3u);
	e.receive(reply_inline(7, rpc(7, RPCRDMA_REPLY, 40)));
	ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	(void)!e.session.end_call(msg);
	EXPECT_TRUE(request(e, { { kReverse, 0 } }));
	msg = message(8, RPCRDMA_CALL, 400);
	EXPECT_EQ(e.next_control()[3], kRequest);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_INVALID });
}

/* One that has credits of its own, and one of which some parts have gone, are under way. */
TEST(xcharext, request__less_reverse_support_not_before_a_call_ends)
{
	for (const bool begun : { false, true }) {
		Endpoint e = server(announcing(value(kReverse, 2), 1));
		rpcrdma_message msg = message(7, RPCRDMA_CALL, 5000);

		if (begun)
			ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
		else
			ASSERT_TRUE(e.session.admit(&msg));
		EXPECT_EQ(e.info().outstanding, 0u);
		EXPECT_FALSE(request(e, { { kReverse, 1 } }));
		if (begun) {
			ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
			EXPECT_TRUE(e.tx.last);
			EXPECT_FALSE(request(e, { { kReverse, 1 } }));
		}
		(void)!e.session.end_call(msg);
		EXPECT_TRUE(request(e, { { kReverse, 1 } }));
	}
}

TEST(xcharext, request__no_room)
{
	Endpoint e = server();
	const u32 none = e.info().sent;

	for (u32 i = 0; i < RPCRDMA_MAX_CONTROL; i++)
		e.receive(prefix(i, 99, none));
	EXPECT_FALSE(request(e, { { kReceive, 2048 } }));
	EXPECT_EQ(peer(e, kReceive), 4096u);
	expect_state(e, kReceive, RPCRDMA_XCHAR_IDLE);
	/* But later, when they have gone. */
	EXPECT_TRUE(askable(e, kReceive));
	e.receive(prefix(0, RPCRDMA2_GRANT));
	for (u32 i = 0; i < RPCRDMA_MAX_CONTROL; i++)
		(void)e.next_control();
	EXPECT_TRUE(request(e, { { kReceive, 2048 } }));
	EXPECT_TRUE(askable(e, kReceive)) << "when that is over";
}

/* 3: it is as if each request were rejected. It is not tried again. */
TEST(xcharext, request__the_peer_does_not_know_it)
{
	Endpoint e = client();
	const u32 xid = ask(e, { { kReceive, 2048 } });

	e.receive(prefix(xid, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	expect_taken(e);
	EXPECT_EQ(peer(e, kReceive), 4096u);
	EXPECT_EQ(counts(e).rejected, 1u);
	EXPECT_FALSE(request(e, { { kReceive, 2048 } }));
	for (const u32 which : kSpoken)
		EXPECT_FALSE(askable(e, which));
	/* But its updates are understood. */
	upd(e, kReceive, 8192, false);
	EXPECT_EQ(peer(e, kReceive), 8192u);
}

TEST(xcharext, request__the_peer_answers_with_another_error)
{
	Endpoint e = client();
	const u32 xid = ask(e, { { kReceive, 8192 } });

	e.receive(prefix(xid, RPCRDMA2_ERROR) + Words{ RPCRDMA2_ERR_BAD_XDR });
	expect_taken(e);
	expect_state(e, kReceive, RPCRDMA_XCHAR_IDLE);
	EXPECT_TRUE(request(e, { { kReceive, 8192 } }));
}

/* What fails a Call is about a Call. */
TEST(xcharext, refused__its_own_messages_alone)
{
	Endpoint e = client();
	const u32 xid = ask(e, { { kReceive, 8192 } });

	for (const u32 other : { xid - 1, xid + 1, 7u }) {
		e.receive(prefix(other, RPCRDMA2_ERROR) +
			  Words{ RPCRDMA2_ERR_BAD_XDR });
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	}
	expect_state(e, kReceive, RPCRDMA_XCHAR_ASKED);
}

TEST(xcharext, refused__an_old_xid_is_a_calls_again)
{
	rpcrdma_config c = changing(RPCRDMA_ROLE_CLIENT);

	Endpoint e = open_client(c, announcing());
	const u32 first = ask(e, { { kReceive, 8192 } });
	resp(e, first, 0, 1, 0);
	for (u32 i = 0; i < 64; i++)
		resp(e, ask(e, { { kReceive, 8192 } }), 0, 1, 0);
	e.receive(prefix(first, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_BAD_XDR });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	e.receive(prefix(first + 1, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_BAD_XDR });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
}

TEST(xcharext, response__to_nothing_or_twice)
{
	Endpoint e = client();
	const u32 xid = ask(e, { { kReceive, 8192 } });

	resp(e, xid + 1, 1, 0, 0);
	expect_dropped(e, RPCRDMA_REASON_XID);
	resp(e, xid, 1, 0, 0);
	expect_taken(e);
	resp(e, xid, 0, 1, 0);
	expect_dropped(e, RPCRDMA_REASON_XID);
	EXPECT_EQ(peer(e, kReceive), 8192u);
}

TEST(xcharext, response__before_the_request_is_sent)
{
	Endpoint e = client();

	ASSERT_TRUE(request(e, { { kReceive, 8192 } }));
	e.receive(prefix(kClientXid + 1, kResponse) + Words{ 1, 1, 0, 0 });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_XID });
	expect_state(e, kReceive, RPCRDMA_XCHAR_QUEUED);
}

/* 4.3: no value in two subsets, none in no subset; a bit for each value and no more. */
TEST(xcharext, response__subsets_that_contradict_each_other)
{
	struct {
		u32 done, rej, pend;
	} const cases[] = { { 3, 1, 0 },	 { 1, 0, 0 }, { 0, 0, 0 },
			    { 3, 0, 2 },	 { 7, 0, 0 }, { 3, 4, 0 },
			    { 1, 2, 0x80000000 } };

	for (const auto &c : cases) {
		Endpoint e = client();
		const u32 xid =
			ask(e, { { kReceive, 8192 }, { kSegments, 2 } });

		resp(e, xid, c.done, c.rej, c.pend);
		expect_dropped(e, RPCRDMA_REASON_PROPVAL);
		/* Of both possibilities the smaller number. */
		EXPECT_EQ(peer(e, kReceive), 4096u);
		EXPECT_EQ(peer(e, kSegments), 2u);
		EXPECT_EQ(counts(e).lost, 2u);
		expect_state(e, kReceive, RPCRDMA_XCHAR_IDLE);
	}
}

TEST(xcharext, response__words_that_are_zero)
{
	Endpoint e = client();
	const u32 xid = ask(e, { { kReceive, 8192 } });

	e.receive(prefix(xid, kResponse) + Words{ 3, 1, 0, 0, 2, 0, 0, 1, 0 });
	expect_taken(e);
	EXPECT_EQ(peer(e, kReceive), 8192u);
}

TEST(xcharext, response__malformed)
{
	for (const Words &body :
	     { Words{}, Words{ 1, 1 }, Words{ 1, 1, 0 }, Words{ 1, 1, 0, 0, 0 },
	       Words{ 0x40000000, 1, 0, 0 }, Words{ 1, 1, 0, UINT32_MAX } }) {
		Endpoint e = client();
		const u32 xid = ask(e, { { kReceive, 8192 } });

		e.receive(prefix(xid, kResponse) + body);
		expect_dropped(e, RPCRDMA_REASON_XDR);
		EXPECT_EQ(counts(e).lost, 1u);
		EXPECT_EQ(peer(e, kReceive), 4096u);
	}
}

/* ------------------------------------------------------------------ */
/* Being asked                                                        */
/* ------------------------------------------------------------------ */

TEST(xcharext, asked__nothing_changes_unless_allowed)
{
	for (Endpoint e : { client(), server() }) {
		req(e, { { kSend, 8192 },
			 { kReceive, 8192 },
			 { kSegment, 4096 },
			 { kSegments, 2 },
			 { kReverse, 0 },
			 { kRemote, 0 } });
		expect_taken(e);
		EXPECT_TRUE(e.rx.kick);
		expect_answer(e, 0, 0x3f, 0);
		EXPECT_EQ(counts(e).refused, 6u);
	}
}

TEST(xcharext, asked__for_what_is_so)
{
	Endpoint e = client();

	req(e, { { kReceive, 4096 }, { kRemote, 1 } });
	expect_answer(e, 3, 0, 0);
}

TEST(xcharext, asked__at_once_within_bounds)
{
	Endpoint e = client();

	EXPECT_TRUE(allow(e, kSend, 1024, 4096));
	EXPECT_TRUE(allow(e, kReceive, 2048, 4096));
	EXPECT_TRUE(allow(e, kSegment, 4096, 1 << 21));
	EXPECT_TRUE(allow(e, kSegments, 2, 16));
	EXPECT_TRUE(allow(e, kReverse, 1, 2));
	EXPECT_TRUE(allow(e, kRemote, 0, 1));
	req(e, { { kSend, 1024 },
		 { kReceive, 2048 },
		 { kSegment, 1 << 21 },
		 { kSegments, 2 },
		 { kReverse, 1 },
		 { kRemote, 0 } });
	expect_answer(e, 0x3f, 0, 0);
	EXPECT_EQ(e.info().local.send_size, 1024u);
	EXPECT_EQ(e.info().local.recv_size, 2048u);
	EXPECT_EQ(e.info().local.max_segment_size, 1u << 21);
	EXPECT_EQ(e.info().local.max_segments, 2u);
	EXPECT_EQ(e.info().local.reverse, 1u);
	EXPECT_EQ(local(e, kRemote), 0u);
	EXPECT_EQ(e.info().max_send, 1024u);
	EXPECT_TRUE(e.session.invariants());
	EXPECT_EQ(counts(e).granted, 6u);

	req(e, { { kSend, 1023 },
		 { kReceive, 2047 },
		 { kSegment, 4095 },
		 { kSegments, 1 },
		 { kReverse, 0 },
		 { kReverse, 4 } });
	expect_answer(e, 0, 0x3f, 0);
}

/* The peer hears that it has grown when its owner says so, and not before. */
TEST(xcharext, asked__larger_receives_take_their_time)
{
	Endpoint e = server();

	ASSERT_TRUE(allow(e, kReceive, 1024, 16384));
	EXPECT_EQ(wanted(e, kReceive), 0u);
	req(e, { { kReceive, 8192 } });
	expect_answer(e, 0, 0, 1);
	EXPECT_EQ(wanted(e, kReceive), 8192u);
	EXPECT_EQ(e.info().local.recv_size, 4096u);
	/* One at a time. */
	for (const u32 more : { 16384u, 8192u, 2048u, 4096u }) {
		req(e, { { kReceive, more } }, 6);
		expect_answer(e, 0, 1, 0, 6);
	}
	EXPECT_FALSE(changed(e, kReceive, 16384)) << "more than was asked for";
	EXPECT_FALSE(changed(e, kReceive, 2048));
	EXPECT_TRUE(changed(e, kReceive, 8192));
	expect_update(e, kReceive, 8192, true);
	EXPECT_EQ(e.info().local.recv_size, 8192u);
	EXPECT_EQ(wanted(e, kReceive), 0u);
	EXPECT_EQ(counts(e).deferred, 1u);
	EXPECT_EQ(counts(e).told, 1u);
}

/* The peer may ask at once, so what it may ask for can be said before anything is received. */
TEST(xcharext, asked__in_the_first_moment)
{
	for (const bool first : { false, true }) {
		Endpoint e(changing(RPCRDMA_ROLE_SERVER), {});

		if (first)
			EXPECT_TRUE(allow(e, kReceive, 1024, 16384));
		e.receive(connprop(kClientXid, announcing()));
		EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
		req(e, { { kReceive, 8192 } });
		expect_answer(e, 0, !first, first);
		EXPECT_EQ(wanted(e, kReceive), first ? 8192u : 0u);
	}
}

TEST(xcharext, asked__larger_receives_in_part_or_not_at_all)
{
	Endpoint e = server();

	ASSERT_TRUE(allow(e, kReceive, 1024, 8192));
	req(e, { { kReceive, 65536 } });
	expect_answer(e, 0, 0, 1);
	EXPECT_EQ(wanted(e, kReceive), 8192u) << "a part of it";
	EXPECT_TRUE(changed(e, kReceive, 4096)) << "there is no memory";
	expect_update(e, kReceive, 4096, true);
	req(e, { { kReceive, 8192 } });
	expect_answer(e, 0, 0, 1);
	EXPECT_TRUE(changed(e, kReceive, 6000));
	expect_update(e, kReceive, 6000, true);
	ASSERT_TRUE(allow(e, kReceive, 1024, 6000));
	req(e, { { kReceive, 8192 } });
	expect_answer(e, 0, 1, 0);
}

TEST(xcharext, asked__to_send_more_at_once)
{
	Endpoint e = server(announcing(value(kReceive, 16384), 1));

	ASSERT_TRUE(allow(e, kSend, 4096, 8192));
	EXPECT_FALSE(changed(e, kSend, 8192))
		<< "the peer's Receives may be no larger (-07, 5.2.1)";
	req(e, { { kSend, 8192 } });
	expect_answer(e, 0, 0, 1);
	EXPECT_EQ(e.info().max_send, 4096u);
	EXPECT_TRUE(changed(e, kSend, 8192));
	EXPECT_EQ(e.info().max_send, 8192u);
	e = server();
	EXPECT_TRUE(changed(e, kSend, 2048));
	expect_update(e, kSend, 2048, false);
	EXPECT_EQ(e.info().max_send, 2048u);
}

TEST(xcharext, changed__unasked)
{
	Endpoint e = client();

	for (const XcharNumber n : Wanted{ { kReceive, 8192 },
					   { kSegment, 1 << 21 },
					   { kReverse, 3 } }) {
		EXPECT_TRUE(changed(e, n.which, n.number));
		expect_update(e, n.which, n.number, false);
		EXPECT_EQ(local(e, n.which), n.number);
	}
	/* Less only if the peer asks: it may be using what there is (3.1). */
	EXPECT_FALSE(changed(e, kReceive, 4096));
	EXPECT_FALSE(changed(e, kSegment, 4096));
	EXPECT_FALSE(changed(e, kSegments, 2));
	EXPECT_FALSE(changed(e, kReverse, 1));
	EXPECT_FALSE(changed(e, kRemote, 0));
	/* Nothing to say, and what cannot be. */
	EXPECT_FALSE(changed(e, kReceive, 8192));
	EXPECT_FALSE(changed(e, kSegments, 17));
	EXPECT_FALSE(changed(e, kHostAuth, 1));
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
}

TEST(xcharext, changed__no_room_now)
{
	Endpoint e = server();
	const u32 none = e.info().sent;

	for (u32 i = 0; i < RPCRDMA_MAX_CONTROL; i++)
		e.receive(prefix(i, 99, none));
	EXPECT_FALSE(changed(e, kReceive, 8192));
	EXPECT_EQ(e.info().local.recv_size, 4096u);
	e.receive(prefix(0, RPCRDMA2_GRANT));
	ASSERT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
	EXPECT_TRUE(changed(e, kReceive, 8192));
}

TEST(xcharext, asked__for_unknown_ones)
{
	Endpoint e = client();

	ASSERT_TRUE(allow(e, kSegments, 1, 16));
	e.receive(prefix(5, kRequest) + Words{ 4, 77, 0, kHostAuth, 4, 0 } +
		  value(kSegments, 2) + Words{ 0xfffffff7, 6, 1, 2 });
	expect_taken(e);
	expect_answer(e, 4, 0xb, 0);
}

TEST(xcharext, asked__for_nothing)
{
	Endpoint e = client();

	req(e, {});
	expect_taken(e);
	expect_answer(e, 0, 0, 0);
}

TEST(xcharext, asked__for_the_same_twice)
{
	Endpoint e = client();

	ASSERT_TRUE(allow(e, kSegments, 1, 16));
	req(e, { { kSegments, 2 }, { kRemote, 1 }, { kSegments, 3 } });
	expect_answer(e, 6, 1, 0);
	EXPECT_EQ(local(e, kSegments), 3u);
}

/* Every value is in the answer, whatever there are. */
TEST(xcharext, asked__for_many_values)
{
	for (const u32 n : { 31u, 32u, 33u, 64u, 65u, 351u, 352u, 353u }) {
		Endpoint e = client();
		Words w = { n };

		ASSERT_TRUE(allow(e, kSegments, 1, 16));
		/* What is too far behind is rejected, whatever it is. */
		for (u32 i = 0; i < n; i++)
			w = w + (!i	 ? value(kSegments, 5) :
				 i == 32 ? value(kSegments, 3) :
					   Words{ 7, 0 });
		e.receive(prefix(5, kRequest) + w);
		if (n > 352) {
			expect_refused(e, RPCRDMA_REASON_TOO_LARGE,
				       RPCRDMA2_ERR_SYSTEM);
			EXPECT_EQ(local(e, kSegments), 16u);
			continue;
		}
		expect_taken(e);
		const Words a = e.next_control();
		EXPECT_LE(4 * a.size(), 80u);
		const u32 words = (n + 31) / 32;
		u32 at = 4;
		ASSERT_EQ(a[at++], 1u);
		EXPECT_EQ(a[at++], 1u);
		ASSERT_EQ(a[at++], words);
		u32 rejected = 0;
		for (u32 i = 0; i < words; i++)
			rejected +=
				static_cast<u32>(__builtin_popcount(a[at++]));
		EXPECT_EQ(rejected, n - 1);
		EXPECT_EQ(local(e, kSegments), 5u);
		EXPECT_EQ(a[at++], 0u);
		EXPECT_EQ(at, a.size());
	}
}

/* 2.1: these are to be reported, for each value that is understood. */
TEST(xcharext, asked__malformed)
{
	Endpoint e = client();

	ASSERT_TRUE(allow(e, kSegments, 1, 16));
	for (const Words &body :
	     { Words{}, Words{ 1 }, Words{ 1, kSegments },
	       Words{ 1, kSegments, 4 }, Words{ 2, kSegments, 4, 2 },
	       Words{ 1, kSegments, 4, 2, 0 }, Words{ 1, kSegments, 0 },
	       Words{ 1, kSegments, 8, 0, 2 }, Words{ 1, kSegments, 2, 0 },
	       Words{ 1, kSegments, UINT32_MAX, 2 }, Words{ UINT32_MAX, 7, 0 },
	       Words{ 2, kSegments, 4, 2, kRemote, 4, 2 },
	       Words{ 2, kSegments, 4, 2, 77, 4 } }) {
		e.receive(prefix(5, kRequest) + body);
		expect_bad_xdr(e);
		EXPECT_EQ(local(e, kSegments), 16u) << "all or nothing";
	}
}

TEST(xcharext, asked__without_giving_credit_for_answers)
{
	Endpoint e = server();
	const u32 none = e.info().sent;

	for (u32 i = 0; i < RPCRDMA_MAX_CONTROL; i++) {
		e.receive(prefix(i, kRequest, none) + values({}));
		expect_taken(e);
	}
	e.receive(prefix(5, kRequest, none) + values({}));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_FLOOD });
	EXPECT_FALSE(changed(e, kReceive, 8192));
	EXPECT_FALSE(request(e, { { kReceive, 8192 } }));
}

TEST(xcharext, asked__between_the_parts_of_a_message)
{
	Endpoint e = server();
	const Words whole = rpc(7, RPCRDMA_CALL, 400);

	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 200, slice(whole, 0, 200)));
	req(e, { { kReceive, 8192 } });
	expect_refused(e, RPCRDMA_REASON_CONTINUATION, RPCRDMA2_ERR_INVAL_CONT);
}

TEST(xcharext, allow__what_this_side_can_have)
{
	Endpoint e = client();

	EXPECT_FALSE(allow(e, kReceive, 1023, 4096));
	EXPECT_FALSE(allow(e, kReceive, 4096, 2048));
	EXPECT_FALSE(allow(e, kSegments, 1, 17));
	EXPECT_FALSE(allow(e, kReverse, 0, 4));
	EXPECT_FALSE(allow(e, kRemote, 0, 2));
	EXPECT_FALSE(allow(e, kHostAuth, 0, 1));
	EXPECT_FALSE(allow(e, 77, 0, 1));
	ASSERT_TRUE(fix(e, { kSegments }));
	EXPECT_FALSE(allow(e, kSegments, 1, 16));
}

/* ------------------------------------------------------------------ */
/* What a side says of itself                                         */
/* ------------------------------------------------------------------ */

TEST(xcharext, init__what_never_changes)
{
	Endpoint e = client();

	EXPECT_FALSE(fix(e, {}));
	EXPECT_FALSE(fix(e, { kSend, kSegment, kSegments, kReverse, kRemote }));
	EXPECT_FALSE(fix(e, { kSend, kHostAuth }));
	ASSERT_TRUE(fix(e, { kRemote, kSegments, kReverse, kSend }));
	const Words w = e.next_control();
	EXPECT_LE(4 * w.size(), 80u);
	EXPECT_EQ(w[3], kInit);
	EXPECT_EQ(Words(w.begin() + 4, w.end()), values({ { kSend, 4096 },
							  { kSegments, 16 },
							  { kReverse, 2 },
							  { kRemote, 1 } }) +
							 subset(0xf));
	/* And so it is. */
	for (const u32 which : { kSend, kSegments, kReverse, kRemote })
		EXPECT_FALSE(changed(e, which, 1));
	req(e, { { kSegments, 2 }, { kSegments, 16 }, { kSend, 2048 } });
	expect_answer(e, 2, 5, 0);
}

TEST(xcharext, init__not_what_has_a_change_pending)
{
	Endpoint e = client();

	ASSERT_TRUE(allow(e, kReceive, 4096, 8192));
	req(e, { { kReceive, 8192 } });
	EXPECT_FALSE(fix(e, { kReceive }));
}

TEST(xcharext, init__is_taken)
{
	for (Endpoint e : { client(), server() }) {
		init(e,
		     { { kReceive, 8192 },
		       { kSegments, 4 },
		       { kSegments, 5 },
		       { kRemote, 1 } },
		     1);
		expect_taken(e);
		EXPECT_EQ(peer(e, kReceive), 8192u);
		EXPECT_EQ(peer(e, kSegments), 5u);
		EXPECT_EQ(peer(e, kRemote), 1u);
		EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
		/* Nobody asks for what never changes. */
		EXPECT_FALSE(request(e, { { kReceive, 16384 } }));
		EXPECT_FALSE(askable(e, kReceive));
		EXPECT_FALSE(askable(e, 77));
		EXPECT_TRUE(askable(e, kSegments));
		EXPECT_TRUE(request(e, { { kSegments, 6 } }));
		EXPECT_TRUE(e.session.invariants());
	}
}

/* 4.1: the receiver may not know them, and says nothing. */
TEST(xcharext, init__unknown_ones_are_skipped)
{
	Endpoint e = client();

	e.receive(prefix(5, kInit) + Words{ 4, 77, 0, kHostAuth, 3, 0 } +
		  Words{ kExtensionsProperty, 4, 0 } + value(kReceive, 8192) +
		  subset(0xf));
	expect_taken(e);
	EXPECT_EQ(peer(e, kReceive), 8192u);
	EXPECT_EQ(peer(e, kExtensionsProperty), kBit);
}

TEST(xcharext, init__malformed)
{
	Endpoint e = client();

	for (const Words &body :
	     { Words{}, Words{ 0 }, Words{ 0, 0, 0 }, Words{ 1, 2, 4, 8192 },
	       Words{ 1, 2, 4, 8192, 1 }, Words{ 1, 2, 4, 8192, 1, 2 },
	       Words{ 1, 2, 4, 8192, 2, 0, 1 }, Words{ 0, 1, 1 },
	       Words{ 1, 2, 0, 0 }, Words{ 1, 2, 8, 8192, 0, 0 },
	       Words{ 2, 2, 4, 8192, kRemote, 4, 2, 0 },
	       Words{ 1, 2, 4, 8192, 0x40000001, 1 } }) {
		e.receive(prefix(5, kInit) + body);
		expect_bad_xdr(e);
		EXPECT_EQ(peer(e, kReceive), 4096u);
	}
	/* Zeros behind the last position say nothing. */
	e.receive(prefix(5, kInit) + Words{ 1, 2, 4, 8192, 3, 0, 0, 0 });
	expect_taken(e);
}

TEST(xcharext, init__contradicts_what_was_said)
{
	Endpoint e = client();

	init(e, { { kReceive, 8192 } }, 1);
	expect_taken(e);
	init(e, { { kSegments, 3 }, { kReceive, 4096 } });
	expect_bad_value(e);
	EXPECT_EQ(peer(e, kSegments), 16u) << "all or nothing";
	upd(e, kReceive, 16384, false);
	expect_bad_value(e);
	EXPECT_EQ(peer(e, kReceive), 8192u);
	upd(e, kReceive, 8192, false);
	expect_taken(e);
}

TEST(xcharext, update__unsolicited)
{
	for (Endpoint e : { client(), server() })
		for (const XcharNumber n : Wanted{ { kSend, 100 },
						   { kReceive, 65536 },
						   { kReceive, 80 },
						   { kSegment, 0 },
						   { kSegments, 400 },
						   { kReverse, 3 },
						   { kRemote, 1 } }) {
			upd(e, n.which, n.number, false);
			expect_taken(e);
			EXPECT_EQ(peer(e, n.which), n.number);
			EXPECT_TRUE(e.session.invariants());
		}
}

TEST(xcharext, update__clears_what_is_not_pending)
{
	Endpoint e = client();

	upd(e, kReceive, 8192, true);
	expect_bad_value(e);
	ask(e, { { kReceive, 16384 } });
	upd(e, kReceive, 8192, true);
	expect_bad_value(e);
	expect_state(e, kReceive, RPCRDMA_XCHAR_ASKED);
	EXPECT_EQ(peer(e, kReceive), 4096u);
}

TEST(xcharext, update__to_receives_of_almost_nothing)
{
	Endpoint e = client();

	upd(e, kReceive, 79, false);
	expect_bad_value(e);
	EXPECT_EQ(peer(e, kReceive), 4096u);
}

TEST(xcharext, update__level_of_reverse_direction_that_is_none)
{
	Endpoint e = server(announcing(value(kReverse, 2), 1));

	upd(e, kReverse, 4, false);
	expect_taken(e);
	EXPECT_EQ(peer(e, kReverse), u32{ RPCRDMA_RVRSDIR_NONE });
}

TEST(xcharext, update__unknown_ones_are_skipped)
{
	Endpoint e = client();

	e.receive(prefix(5, kUpdate) + Words{ 77, 5, 1, 2, 0 });
	expect_taken(e);
	e.receive(prefix(5, kUpdate) + Words{ 77, 5, 1, 2, 1 });
	expect_taken(e);
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
}

TEST(xcharext, update__malformed)
{
	Endpoint e = client();

	for (const Words &body :
	     { Words{}, Words{ kReceive, 4, 8192 }, Words{ kReceive, 0, 0 },
	       Words{ kReceive, 4, 8192, 2 }, Words{ kReceive, 4, 8192, 0, 0 },
	       Words{ kReceive, 8, 8192, 0, 0 }, Words{ kRemote, 4, 2, 0 },
	       Words{ 77, 9, 0, 0 } }) {
		e.receive(prefix(5, kUpdate) + body);
		expect_bad_xdr(e);
		EXPECT_EQ(peer(e, kReceive), 4096u);
	}
}

/* ------------------------------------------------------------------ */
/* Two ends                                                           */
/* ------------------------------------------------------------------ */

namespace
{

/* Everything that each has to say goes to the other. */
void settle(Endpoint &a, Endpoint &b)
{
	for (bool more = true; more;) {
		more = false;
		for (Endpoint *e : { &a, &b }) {
			Endpoint &other = e == &a ? b : a;

			while (e->next() == RPCRDMA_TX_CONTROL) {
				other.receive_octets(Octets(e->sent));
				EXPECT_EQ(other.rx.action,
					  u32{ RPCRDMA_RX_CONTROL });
				more = true;
			}
		}
	}
}

} // namespace

TEST(xcharext, ends__requests_that_cross)
{
	Endpoint c = client();
	Endpoint s = server();

	for (Endpoint *e : { &c, &s }) {
		ASSERT_TRUE(allow(*e, kReceive, 1024, 16384));
		ASSERT_TRUE(allow(*e, kSegments, 1, 16));
		ASSERT_TRUE(
			request(*e, { { kReceive, 8192 }, { kSegments, 4 } }));
	}
	settle(c, s);
	for (Endpoint *e : { &c, &s }) {
		EXPECT_EQ(wanted(*e, kReceive), 8192u);
		EXPECT_EQ(local(*e, kSegments), 4u);
		EXPECT_EQ(peer(*e, kSegments), 4u);
		EXPECT_EQ(peer(*e, kReceive), 4096u);
		EXPECT_TRUE(changed(*e, kReceive, 8192));
	}
	settle(c, s);
	for (Endpoint *e : { &c, &s }) {
		EXPECT_EQ(local(*e, kReceive), 8192u);
		EXPECT_EQ(peer(*e, kReceive), 8192u);
		EXPECT_EQ(asking(*e, kReceive), u32{ RPCRDMA_XCHAR_IDLE });
	}
}

/* Nothing of it is left: the next connection begins anew. */
TEST(xcharext, ends__overtaken_by_the_end_of_the_connection)
{
	Endpoint e = client();

	ask(e, { { kReceive, 2048 } });
	ASSERT_TRUE(request(e, { { kSend, 8192 } }));
	/* An impossible credit word ends it. */
	e.receive(prefix(0, RPCRDMA2_GRANT, 0x90000000));
	ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
	resp(e, kClientXid + 1, 1, 0, 0);
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
	EXPECT_FALSE(request(e, { { kSegments, 2 } }));
	EXPECT_FALSE(changed(e, kReceive, 8192));
	e = client();
	EXPECT_EQ(peer(e, kReceive), 4096u);
	expect_state(e, kReceive, RPCRDMA_XCHAR_IDLE);
}

TEST(xcharext, ends__this_sides_properties_are_refused)
{
	Endpoint e = server();

	ASSERT_TRUE(request(e, { { kReceive, 8192 } }));
	e.receive(prefix(kServerXid, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_BAD_PROPVAL });
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
	EXPECT_FALSE(request(e, { { kSegments, 2 } }));
}

/* ------------------------------------------------------------------ */
/* Requester Remote Invalidation                                      */
/* ------------------------------------------------------------------ */

TEST(xcharext, permit__invalidation_only_if_the_peer_says_so)
{
	for (const bool says : { false, true }) {
		Endpoint e = server(announcing(value(kRemote, says), 1));
		const Words call = prefix(7, RPCRDMA2_CALL_INLINE) +
				   Words{ 42, 1, 8, 42, 100, 0, 0, 0, 0, 0 } +
				   rpc(7, RPCRDMA_CALL, 40);

		e.receive(call);
		ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		EXPECT_EQ(e.rx.inv_handle, says ? 42u : 0u);
		upd(e, kRemote, !says, false);
		e.receive(call);
		EXPECT_EQ(e.rx.inv_handle, says ? 0u : 42u);
	}
}

TEST(xcharext, permit__a_peer_without_it_names_a_handle_as_before)
{
	Endpoint e = open_server(changing(RPCRDMA_ROLE_SERVER), { 0 });

	e.receive(prefix(7, RPCRDMA2_CALL_INLINE) +
		  Words{ 42, 1, 8, 42, 100, 0, 0, 0, 0, 0 } +
		  rpc(7, RPCRDMA_CALL, 40));
	EXPECT_EQ(e.rx.inv_handle, 42u);
}

/* ------------------------------------------------------------------ */
/* The functions for C                                                */
/* ------------------------------------------------------------------ */

TEST(xcharext, abi__a_request_and_its_answer)
{
	rpcrdma_session s;
	rpcrdma_config c = changing(RPCRDMA_ROLE_SERVER);
	const rpcrdma_xchar_number n = { kReceive, 8192 };
	const u32 remote = kRemote;
	const auto receive = [&](const Words &w) {
		const Exact copy(octets(w));
		rpcrdma_rx rx;

		rpcrdma_session_receive(&s, copy.bytes().data(),
					copy.bytes().size(), &rx);
		EXPECT_EQ(rx.action, u32{ RPCRDMA_RX_CONTROL });
	};
	struct rpcrdma_xchar_info i;
	rpcrdma_tx tx;
	u8 buffer[4096];

	ASSERT_TRUE(rpcrdma_session_init(&s, &c));
	EXPECT_FALSE(rpcrdma_xchar_request(&s, &n, 1));
	EXPECT_FALSE(rpcrdma_xchar_askable(&s, kReceive));
	EXPECT_FALSE(rpcrdma_xchar_begin(&s, 1024));
	receive(connprop(kClientXid, announcing()));
	EXPECT_TRUE(rpcrdma_xchar_begin(&s, 2048));
	ASSERT_EQ(rpcrdma_session_next_send(&s, nullptr, buffer, sizeof(buffer),
					    &tx),
		  u32{ RPCRDMA_TX_CONTROL });
	EXPECT_TRUE(rpcrdma_xchar_askable(&s, kReceive));
	EXPECT_FALSE(rpcrdma_xchar_askable(&s, kHostAuth));
	EXPECT_TRUE(rpcrdma_xchar_fix(&s, &remote, 1));
	EXPECT_TRUE(rpcrdma_xchar_allow(&s, kReceive, 1024, 16384));
	EXPECT_TRUE(rpcrdma_xchar_request(&s, &n, 1));
	EXPECT_EQ(rpcrdma_xchar_asking(&s, kReceive),
		  u32{ RPCRDMA_XCHAR_QUEUED });
	receive(prefix(5, kRequest) + values({ n }));
	EXPECT_EQ(rpcrdma_xchar_wanted(&s, kReceive), 8192u);
	EXPECT_TRUE(rpcrdma_xchar_changed(&s, kReceive, 8192));
	rpcrdma_xchar_info(&s, &i);
	EXPECT_EQ(i.asked, 1u);
	EXPECT_EQ(i.deferred, 1u);
	EXPECT_EQ(i.told, 1u);
}
