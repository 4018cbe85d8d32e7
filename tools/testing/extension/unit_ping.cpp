// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What an extension can do, and what a peer without it notices: nothing.
 */
#include "../unit/support.h"
#include "../unit/version1.h"
#include "names.h"

using namespace rpcrdma;
using namespace unit;

namespace
{

constexpr u32 kBit = 1U << 31;
constexpr u32 kPlace = Extensions::place<Ping>();

rpcrdma_config extended(rpcrdma_role role)
{
	rpcrdma_config c = config(role);

	c.extensions = 1U << kPlace;
	return c;
}

/* Property set of a peer that knows the extension and takes @pings at once. */
Words announcing(u32 pings, u32 bits = kBit)
{
	return { 2, kExtensionsProperty, 4, bits, Ping::kProperty, 4, pings };
}

Endpoint client_of(const Words &peer)
{
	return open_client(extended(RPCRDMA_ROLE_CLIENT), peer);
}

Endpoint server_of(const Words &peer)
{
	return open_server(extended(RPCRDMA_ROLE_SERVER), peer);
}

bool ping(Endpoint &e)
{
	return e.session.with<Ping>(
		[](Ping &p, Port &port) { return p.ping(port); });
}

const Ping &state(const Endpoint &e)
{
	return e.session.extension<Ping>();
}

bool in_use(Endpoint &e)
{
	return e.session.with<Ping>(
		[](Ping &, Port &port) { return port.in_use(); });
}

Words message_of(u32 htype, u32 xid, u32 number)
{
	return prefix(xid, htype) + Words{ number };
}

/* It is taken for a type that nobody knows, and that is all. */
void expect_unknown(Endpoint &e, u32 htype)
{
	e.receive(message_of(htype, 7, 1));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_HTYPE });
	EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	EXPECT_TRUE(e.session.ready());
	/* And it goes on. */
	e.receive(prefix(0, RPCRDMA2_GRANT));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
}

void expect_dropped(const Endpoint &e, u32 reason)
{
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
	EXPECT_EQ(e.rx.reason, reason);
}

Words noted(u32 xid, u32 length, const Words &payload, const Words &note)
{
	return prefix(xid, Ping::kNotedCall) + Words{ length } + payload + note;
}

} // namespace

TEST(extension, names__of_types_properties_and_extensions)
{
	ASSERT_EQ(rpcrdma_type_count(), u32{ RPCRDMA_TYPE_UNKNOWN } + 13);
	EXPECT_STREQ(rpcrdma_type_name(RPCRDMA_TYPE_UNKNOWN), "?");
	EXPECT_STREQ(rpcrdma_type_name(RPCRDMA_TYPE_UNKNOWN + 1), "PING");
	EXPECT_STREQ(rpcrdma_type_name(RPCRDMA_TYPE_UNKNOWN + 4), "NOTED_CALL");
	EXPECT_STREQ(rpcrdma_type_name(RPCRDMA_TYPE_UNKNOWN + 5), "INITXCH");
	EXPECT_STREQ(rpcrdma_type_name(RPCRDMA_TYPE_UNKNOWN + 9), "XMTREQ");
	EXPECT_STREQ(rpcrdma_type_name(RPCRDMA_TYPE_UNKNOWN + 13), "?");
	EXPECT_STREQ(rpcrdma_htype_name(Ping::kPong), "PONG");
	ASSERT_EQ(rpcrdma_property_count(), 13u);
	EXPECT_STREQ(rpcrdma_property_name(6), "extensions");
	EXPECT_STREQ(rpcrdma_property_name(7), "pings");
	EXPECT_STREQ(rpcrdma_property_name(9), "rtr-support");
	ASSERT_EQ(rpcrdma_extension_count(), 4u);
	EXPECT_STREQ(rpcrdma_extension_name(0), "base");
	EXPECT_STREQ(rpcrdma_extension_name(1), "ping");
	EXPECT_STREQ(rpcrdma_extension_name(2), "xcharext");
	EXPECT_STREQ(rpcrdma_extension_name(3), "rtrext");
	EXPECT_STREQ(rpcrdma_extension_name(4), "?");
}

TEST(extension, types__bits_of_large_numbers_are_in_a_word)
{
	u32 all = 0;

	for (u32 i = 0; i < type_count(); i++) {
		const HeaderType *t = type_at(i);

		if (!t)
			continue;
		EXPECT_FALSE(all & type_bit(*t)) << t->name;
		all |= type_bit(*t);
	}
	EXPECT_EQ(__builtin_popcount(all), 22);
}

/* What a peer without any extension sees is what it saw before there were any. */
TEST(extension, announced__by_the_final_and_only_if_configured)
{
	Endpoint plain(config(RPCRDMA_ROLE_CLIENT));
	const Words without = plain.next_control();
	Endpoint e(extended(RPCRDMA_ROLE_CLIENT));
	Words with = e.next_control();

	ASSERT_EQ(without.size(), 4 + kPropertiesSize / 4);
	ASSERT_EQ(with.size(), without.size() + 6);
	EXPECT_EQ(without[4], 5u);
	EXPECT_EQ(with[4], 7u);
	with[4] = 5;
	EXPECT_EQ(Words(with.begin(), with.end() - 6), without);
	EXPECT_EQ(
		Words(with.end() - 6, with.end()),
		(Words{ kExtensionsProperty, 4, kBit, Ping::kProperty, 4, 2 }));
}

/* Bits of what no extension is mean nothing. */
TEST(extension, announced__unknown_bits)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);

	c.extensions = ~((2U << Extensions::kOthers) - 1);
	Endpoint none(c);
	EXPECT_EQ(none.next_control().size(), 4 + kPropertiesSize / 4);

	Endpoint e = server_of(announcing(2, ~kBit));
	EXPECT_FALSE(in_use(e));
	expect_unknown(e, Ping::kPing);
}

TEST(extension, in_use__only_if_both_announce_it)
{
	for (const bool here : { false, true })
		for (const bool there : { false, true }) {
			rpcrdma_config c = config(RPCRDMA_ROLE_SERVER);
			rpcrdma_numbers n;

			c.extensions = here ? 1U << kPlace : 0;
			Endpoint e = open_server(c, there ? announcing(3) :
							    Words{ 0 });
			EXPECT_EQ(in_use(e), here && there);
			e.session.numbers(n);
			EXPECT_EQ(n.extensions, here && there ? 2u : 0u);
			EXPECT_EQ(n.known, 0x1fdfu);
			EXPECT_EQ(n.local[6], here ? kBit : 0);
			EXPECT_EQ(n.peer[6], there ? kBit : 0);
			EXPECT_EQ(n.local[7], here ? 2u : 0u);
			EXPECT_EQ(n.peer[7], there ? 3u : 0u);
			if (here && there)
				continue;
			EXPECT_FALSE(ping(e));
			EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
			for (const HeaderType &t : Ping::kTypes)
				expect_unknown(e, t.htype);
		}
}

TEST(extension, in_use__announced_in_several_messages)
{
	Endpoint e(extended(RPCRDMA_ROLE_SERVER));

	e.receive(connprop(kClientXid, { 1, kExtensionsProperty, 4, kBit },
			   RPCRDMA2_CONNPROP_MIDDLE));
	ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	ASSERT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
	EXPECT_FALSE(in_use(e)) << "the FINAL may take it back";
	expect_unknown(e, Ping::kPing);
	e.receive(connprop(kClientXid, { 1, Ping::kProperty, 4, 1 }));
	EXPECT_TRUE(in_use(e));
	EXPECT_TRUE(ping(e));
}

/* A server that answers with something else first has announced nothing yet. */
TEST(extension, in_use__not_before_the_final)
{
	Endpoint e(extended(RPCRDMA_ROLE_CLIENT));

	ASSERT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
	e.receive(prefix(0, RPCRDMA2_GRANT));
	ASSERT_TRUE(e.rx.opened);
	EXPECT_FALSE(in_use(e));
	expect_unknown(e, Ping::kPing);
	e.receive(connprop(kServerXid, announcing(1)));
	EXPECT_TRUE(in_use(e));
}

TEST(extension, in_use__not_in_version_1)
{
	rpcrdma_config c = extended(RPCRDMA_ROLE_SERVER);

	c.min_version = 1;
	c.max_version = 2;
	Endpoint e(c);
	e.receive(v1::call(7));
	ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_FALSE(in_use(e));
	EXPECT_FALSE(ping(e));
}

TEST(extension, take__a_ping_is_answered)
{
	for (Endpoint e :
	     { client_of(announcing(2)), server_of(announcing(2)) })
		for (u32 count = 1; count < 100; count++) {
			e.receive(message_of(Ping::kPing, 50 + count, count));
			ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
			EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_NONE });
			EXPECT_EQ(e.rx.htype, Ping::kPing);
			EXPECT_STREQ(rpcrdma_type_name(e.rx.type), "PING");
			EXPECT_TRUE(e.rx.kick);
			const Words w = e.next_control();
			ASSERT_EQ(w.size(), 5u);
			EXPECT_EQ(w[0], 50 + count);
			EXPECT_EQ(w[1], 2u);
			EXPECT_EQ(w[2], e.info().received + 64);
			EXPECT_EQ(w[3], Ping::kPong);
			EXPECT_EQ(w[4], count);
			EXPECT_STREQ(rpcrdma_type_name(e.tx.type), "PONG");
			EXPECT_EQ(state(e).taken(), count);
		}
}

TEST(extension, send__as_many_as_the_peer_takes)
{
	Endpoint e = client_of(announcing(2));

	EXPECT_TRUE(ping(e));
	EXPECT_TRUE(ping(e));
	EXPECT_FALSE(ping(e));
	for (u32 count : { 1u, 2u }) {
		const Words w = e.next_control();

		EXPECT_EQ(w, (Words{ Ping::kFirstXid + count, 2, w[2],
				     Ping::kPing, count }));
	}
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
	e.receive(message_of(Ping::kPong, Ping::kFirstXid + 1, 1));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	EXPECT_TRUE(ping(e));
	EXPECT_FALSE(ping(e));
}

/* It waits like an ERROR does, and neither overtakes the other. */
TEST(extension, send__waits_for_credit_in_order)
{
	Endpoint e = server_of(announcing(4));

	/* The peer has no Receive left. */
	e.receive(prefix(7, 99, e.info().sent) + Words{ 1 });
	EXPECT_FALSE(e.rx.kick);
	EXPECT_TRUE(ping(e));
	e.receive(prefix(8, 99, e.info().sent));
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_BLOCKED });
	e.receive(prefix(0, RPCRDMA2_GRANT, e.info().sent + 3));
	EXPECT_TRUE(e.rx.kick);
	EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	EXPECT_EQ(e.next_control()[3], Ping::kPing);
	EXPECT_EQ(e.next_error(8), Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
}

TEST(extension, send__not_between_the_parts_of_a_message)
{
	Endpoint e = client_of(announcing(2));
	rpcrdma_message msg = message(7, RPCRDMA_CALL, 9000);

	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_TRUE(ping(e));
	while (!e.tx.last)
		ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.next_control()[3], Ping::kPing);
}

TEST(extension, take__not_between_the_parts_of_a_message)
{
	Endpoint e = server_of(announcing(2));
	const Words whole = rpc(7, RPCRDMA_CALL, 400);

	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 200, slice(whole, 0, 200)));
	ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	e.receive(message_of(Ping::kPing, 5, 1));
	expect_dropped(e, RPCRDMA_REASON_CONTINUATION);
	EXPECT_EQ(e.next_error(5), Words{ RPCRDMA2_ERR_INVAL_CONT });
	EXPECT_EQ(state(e).taken(), 0u);
	e.receive(call_inline(7, slice(whole, 200, 200)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_TRUE(e.rx.last);
}

TEST(extension, take__malformed)
{
	Endpoint e = server_of(announcing(2));

	for (const HeaderType &t : Ping::kTypes) {
		if (t.kind != Kind::Extension)
			continue;
		for (const Words &body : { Words{}, Words{ 1, 2 } }) {
			e.receive(prefix(5, t.htype) + body);
			expect_dropped(e, RPCRDMA_REASON_XDR);
			EXPECT_EQ(e.next_error(5),
				  Words{ RPCRDMA2_ERR_BAD_XDR });
		}
	}
	/* An answer to nothing is dropped, and not answered. */
	e.receive(message_of(Ping::kPong, 5, 1));
	expect_dropped(e, RPCRDMA_REASON_XID);
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
}

/* One that the peer does not know after all ends no Call. */
TEST(extension, refused__its_own_messages_alone)
{
	Endpoint e = client_of(announcing(2));

	ASSERT_TRUE(ping(e));
	ASSERT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
	e.receive(prefix(8, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	EXPECT_EQ(state(e).refused(), 0u);
	e.receive(prefix(Ping::kFirstXid + 1, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	EXPECT_EQ(state(e).refused(), 1u);
	EXPECT_EQ(state(e).unanswered(), 0u);
	e.receive(prefix(Ping::kFirstXid + 1, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
}

/* The peer has not heard of what this side knows, so it would not understand. */
TEST(extension, withdrawn__this_sides_properties_are_refused)
{
	Endpoint e = server_of(announcing(2));

	e.receive(message_of(Ping::kPing, 5, 1));
	ASSERT_TRUE(ping(e));
	e.receive(prefix(6, 99));
	e.receive(prefix(kServerXid, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_BAD_PROPVAL });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	EXPECT_FALSE(in_use(e));
	EXPECT_EQ(e.next_error(6), Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
	expect_unknown(e, Ping::kPing);
}

TEST(extension, withdrawn__the_peer_has_no_room_for_the_announcement)
{
	const u32 least = kPrefixSize + kPropertiesSize;

	for (const u32 room : { least, least + 4, least + 20, least + 24 }) {
		Endpoint e(extended(RPCRDMA_ROLE_SERVER));

		e.receive(connprop(kClientXid,
				   Words{ 3, 2, 4, room, kExtensionsProperty, 4,
					  kBit, Ping::kProperty, 4, 2 }));
		ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
		const Words w = e.next_control();
		EXPECT_LE(4 * w.size(), room);
		EXPECT_EQ(w[4], room == least + 24 ? 7u : 5u);
		EXPECT_EQ(in_use(e), room == least + 24);
	}
}

TEST(extension, flood__who_gives_no_credit_for_answers)
{
	Endpoint e = server_of(announcing(2));
	const u32 none = e.info().sent;
	u32 i;

	/* Two PONGs wait; what is too much is refused. */
	for (i = 1; i <= 2; i++) {
		e.receive(prefix(i, Ping::kPing, none) + Words{ i });
		ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	}
	for (; i <= RPCRDMA_MAX_CONTROL; i++) {
		e.receive(prefix(i, Ping::kPing, none) + Words{ i });
		expect_dropped(e, RPCRDMA_REASON_EARLY);
	}
	e.receive(prefix(i, Ping::kPing, none) + Words{ i });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_FLOOD });
	EXPECT_FALSE(ping(e));
}

/* An answer that finds no room ends the connection as an ERROR would. */
TEST(extension, flood__errors_wait_already)
{
	Endpoint e = server_of(announcing(2));
	const u32 none = e.info().sent;

	for (u32 i = 0; i < RPCRDMA_MAX_CONTROL; i++) {
		e.receive(prefix(i, 99, none));
		expect_dropped(e, RPCRDMA_REASON_HTYPE);
	}
	EXPECT_FALSE(ping(e));
	e.receive(prefix(5, Ping::kPing, none) + Words{ 1 });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_FLOOD });
}

TEST(extension, property__may_change_if_its_row_says_so)
{
	Endpoint e = client_of(announcing(2));
	const auto more = [&](u32 pings) {
		return e.session.with<Ping>([&](Ping &p, Port &port) {
			return p.take_more(port, pings);
		});
	};

	EXPECT_FALSE(more(1)) << "fewer";
	EXPECT_FALSE(more(Ping::kMost + 1));
	EXPECT_TRUE(more(3));
	EXPECT_EQ(e.next_control(),
		  (Words{ 0, 2, e.info().received + 64, Ping::kPings, 3 }));
	e.receive(message_of(Ping::kPings, 5, 4));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	rpcrdma_numbers n;
	e.session.numbers(n);
	EXPECT_EQ(n.local[7], 3u);
	EXPECT_EQ(n.peer[7], 4u);
	e.receive(message_of(Ping::kPings, 5, 3));
	expect_dropped(e, RPCRDMA_REASON_PROPVAL);
	EXPECT_EQ(e.next_error(5), Words{ RPCRDMA2_ERR_BAD_PROPVAL });

	/* Those of the base protocol and of others stay, and so does what is none. */
	e.session.with<Ping>([](Ping &, Port &port) {
		for (const u32 which :
		     { 1u, 2u, 3u, 4u, 5u, 6u, 77u, kExtensionsProperty,
		       Xcharext::kRemoteInvalidation }) {
			EXPECT_FALSE(port.set_local(which, 4096));
			EXPECT_FALSE(port.set_peer(which, 4096));
		}
		EXPECT_EQ(port.local(2), 4096u);
		EXPECT_EQ(port.peer(6), 0u);
		EXPECT_EQ(port.peer(77), 0u);
	});
}

/* Into a buffer without room for its header, or for what follows that. */
TEST(extension, encode__not_into_a_buffer_that_is_too_small)
{
	Endpoint e = client_of(announcing(2));
	u8 out[20];
	const auto next = [&](u32 size) {
		return e.session.next_send(nullptr, { out, size }, e.tx);
	};

	ASSERT_TRUE(ping(e));
	EXPECT_EQ(next(12), RPCRDMA_TX_INVALID);
	EXPECT_EQ(next(16), RPCRDMA_TX_INVALID);
	EXPECT_EQ(next(20), RPCRDMA_TX_CONTROL);
}

TEST(extension, property__malformed)
{
	for (const u32 which : { kExtensionsProperty, Ping::kProperty })
		for (const Words &value : { Words{ 8, 0, 0 }, Words{ 2, 0 } }) {
			Endpoint e(extended(RPCRDMA_ROLE_SERVER));

			e.receive(connprop(kClientXid,
					   Words{ 1, which } + value));
			expect_dropped(e, RPCRDMA_REASON_PROPVAL);
		}
}

/* RPC messages with a header of the extension's go the way of all others. */
TEST(extension, payload__ends_where_its_type_says)
{
	Endpoint e = server_of(announcing(2));
	const Words payload = rpc(7, RPCRDMA_CALL, 40);

	for (const Words &note : { Words{}, Words{ 1 }, Words{ 7, 1, 2, 3 } }) {
		e.receive(noted(7, 40, payload, note));
		ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		EXPECT_EQ(e.rx.payload.offset, 20u);
		EXPECT_EQ(e.rx.payload.length, 40u);
		EXPECT_EQ(e.rx.stream_length, 40u);
		EXPECT_EQ(e.rx.unreduced_length, 40u);
		EXPECT_TRUE(e.rx.last);
		EXPECT_EQ(e.rx.dir, u32{ RPCRDMA_CALL });
		EXPECT_STREQ(rpcrdma_type_name(e.rx.type), "NOTED_CALL");
	}
}

TEST(extension, payload__lies_about_its_length)
{
	Endpoint e = server_of(announcing(2));
	const Words payload = rpc(7, RPCRDMA_CALL, 40);

	for (const u32 length : { 0u, 2u, 38u, 44u, 0x80000000u, UINT32_MAX }) {
		e.receive(noted(7, length, payload, {}));
		expect_dropped(e, RPCRDMA_REASON_XDR);
		EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_BAD_XDR });
	}
	e.receive(prefix(7, Ping::kNotedCall));
	expect_dropped(e, RPCRDMA_REASON_XDR);
	EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_BAD_XDR });
	/* Words behind the payload are none of its own. */
	e.receive(noted(7, 4, { 7 }, { RPCRDMA_CALL }));
	expect_dropped(e, RPCRDMA_REASON_XDR);
	EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_BAD_XDR });
}

TEST(extension, payload__the_last_part_of_a_continued_message)
{
	Endpoint e = server_of(announcing(2));
	const Words whole = rpc(7, RPCRDMA_CALL, 400);

	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 200, slice(whole, 0, 200)));
	e.receive(noted(7, 200, slice(whole, 200, 200), { 1, 2 }));
	ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_TRUE(e.rx.last);
	EXPECT_EQ(e.rx.stream_offset, 200u);
	EXPECT_EQ(e.rx.stream_length, 400u);
}
