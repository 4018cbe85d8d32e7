// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Which messages next_send() sends, in which order and in which parts.
 */
#include "support.h"
#include "version1.h"
#include "xdr.h"

#include <algorithm>
#include <deque>

using namespace rpcrdma;
using namespace unit;

namespace
{

constexpr rpcrdma_dir kCall = RPCRDMA_CALL;
constexpr rpcrdma_dir kReply = RPCRDMA_REPLY;

/* Take all credit away, or give back @n. */
void leave_credits(Endpoint &e, u32 n)
{
	e.receive(prefix(0, RPCRDMA2_GRANT, e.info().sent + n));
}

Chunks one_write(u32 length = 4096)
{
	Chunks c = {};

	c.n_writes = 1;
	c.writes[0] = { 1, 0 };
	c.n_write_segs = 1;
	c.write_segs[0] = { 0xaa, length, 0 };
	return c;
}

} // namespace

TEST(send, simple__a_call)
{
	Endpoint e = open_client();
	rpcrdma_message msg = message(7, kCall, 100);

	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.tx.htype, u32{ RPCRDMA2_CALL_INLINE });
	EXPECT_TRUE(e.tx.first);
	EXPECT_TRUE(e.tx.last);
	EXPECT_EQ(e.tx.payload.offset, 0u);
	EXPECT_EQ(e.tx.payload.length, 100u);
	EXPECT_EQ(msg.sent, 100u);
	/* D1: one received and released, 64 offered. */
	EXPECT_EQ(e.sent, octets({ 7, 2, 65, 10, 0, 0, 0, 0 }));
}

TEST(send, simple__a_reply)
{
	Endpoint e = open_server();
	rpcrdma_message msg = message(7, kReply, 100);

	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.sent, octets({ 7, 2, 65, 13, 0 }));
	EXPECT_TRUE(e.tx.last);
}

TEST(send, simple__up_to_the_inline_threshold)
{
	Endpoint e = open_client();
	rpcrdma_message msg = message(7, kCall, 4096 - 32);

	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.tx.htype, u32{ RPCRDMA2_CALL_INLINE });
	msg = message(8, kCall, 4096 - 28);
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.tx.htype, u32{ RPCRDMA2_CALL_MIDDLE });
	EXPECT_EQ(e.tx.payload.length, 4096u - 32);
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.tx.htype, u32{ RPCRDMA2_CALL_INLINE });
	EXPECT_EQ(e.tx.payload.length, 4u) << "a word is left for it";
}

TEST(send, continued__every_length)
{
	for (rpcrdma_dir dir : { kCall, kReply })
		for (u32 length = 4; length <= 3 * 1024; length += 4) {
			Endpoint e = dir == kCall ?
					     open_client(property(2, 1024)) :
					     open_server(property(2, 1024));
			rpcrdma_message msg = message(7, dir, length);
			u32 at = 0;

			do {
				ASSERT_EQ(e.next(&msg),
					  u32{ RPCRDMA_TX_MESSAGE });
				ASSERT_EQ(word_at(e.sent, 0), 7u);
				ASSERT_EQ(e.tx.payload.offset, at);
				ASSERT_EQ(e.tx.first, at == 0);
				ASSERT_GE(e.tx.payload.length, 4u);
				ASSERT_EQ(e.tx.payload.length % 4, 0u);
				ASSERT_LE(e.tx.header_length +
						  e.tx.payload.length,
					  1024u);
				at += e.tx.payload.length;
				ASSERT_EQ(msg.sent, at);
				if (!e.tx.last)
					ASSERT_EQ(word_at(e.sent, 4),
						  length - at);
			} while (!e.tx.last);
			ASSERT_EQ(at, length);
		}
}

/* Sends are as large as there are buffers for, though the peer and the properties allow more. */
TEST(send, send_room__bounds_every_part)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);

	c.local.send_size = 32768;
	c.send_room = 1023;
	EXPECT_FALSE(Session::valid(c));
	c.send_room = 4096;
	Endpoint e = open_client(c, property(2, 65536));
	EXPECT_EQ(e.info().local.send_size, 32768u);
	for (const u32 room : { 4096u, 16384u, 8192u, 32768u, 65536u }) {
		const u32 most = std::min(room, 32768u);
		rpcrdma_message msg = message(room, kCall, 100000);

		rpcrdma_session_send_room(
			reinterpret_cast<rpcrdma_session *>(&e.session), room);
		EXPECT_EQ(e.info().max_send, most);
		while (msg.sent < msg.length) {
			leave_credits(e, 64);
			ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
			const u32 size =
				e.tx.header_length + e.tx.payload.length;
			ASSERT_LE(size, most);
			ASSERT_TRUE(e.tx.last || size > most - 4);
		}
		EXPECT_TRUE(e.session.invariants());
	}
}

/* In version 1 a server sends what it has buffers for. */
TEST(send, send_room__bounds_version_1)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_SERVER);

	c.min_version = 1;
	c.max_version = 2;
	c.local.send_size = 32768;
	c.send_room = 8192;
	Endpoint e(c);
	e.receive(v1::call(7));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	rpcrdma_message small = message(7, kReply, 8192 - 28);
	EXPECT_EQ(e.next(&small), u32{ RPCRDMA_TX_MESSAGE });
	rpcrdma_message large = message(7, kReply, 8192);
	EXPECT_EQ(e.next(&large), u32{ RPCRDMA_TX_INVALID });
}

TEST(send, continued__chunks_go_with_the_last_part_only)
{
	Endpoint e = open_client();
	const Chunks c = one_write();
	rpcrdma_message msg = message(7, kCall, 6000, &c);

	msg.inv_handle = 0xaa;
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.tx.header_length, 20u);
	EXPECT_EQ(e.tx.payload.length, 4076u);
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.sent, octets({ 7, 2, 65, 10, 0xaa, 0, 1, 1, 0xaa, 4096, 0,
				   0, 0, 0 }));
	EXPECT_TRUE(e.tx.last);
}

/* Sections 6.3.6 and 6.3.9: a peer may drop it, and who waits for it hangs. */
TEST(send, continued__an_error_waits_for_the_last_part_D7)
{
	Endpoint e = open_server();
	rpcrdma_message msg = message(7, kReply, 10000);
	rpcrdma_message next = message(8, kReply, 100);

	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	e.receive(prefix(9, 99));
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_BLOCKED }) << "not offered";
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.tx.payload.offset, 4076u);
	e.receive(prefix(10, 99));
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_TRUE(e.tx.last);
	/* But not for the next message. */
	for (const u32 xid : { 9u, 10u }) {
		ASSERT_EQ(e.next(&next), u32{ RPCRDMA_TX_CONTROL });
		EXPECT_EQ(e.tx.htype, u32{ RPCRDMA2_ERROR });
		EXPECT_EQ(e.tx.xid, xid);
	}
	EXPECT_EQ(e.next(&next), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.tx.xid, 8u);
}

/* What is left of it is not going to be sent: nothing to wait for. */
TEST(send, continued__an_error_waits_for_no_part_that_was_refused_D7)
{
	Endpoint e = open_client();
	rpcrdma_message msg = message(7, kCall, 10000);

	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	e.receive(prefix(9, 99));
	e.receive(prefix(7, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_REFUSED });
	EXPECT_EQ(e.next_error(9), Words{ RPCRDMA2_ERR_INVAL_HTYPE });
}

/* A GRANT need not wait: the rest may need what the other side gives for it. */
TEST(send, continued__a_grant_goes_between_the_parts_D7)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_SERVER);
	rpcrdma_message msg = message(7, kReply, 10000);

	c.window = 4;
	Endpoint e = open_server(c);
	e.receive(prefix(0, RPCRDMA2_GRANT, 2));
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	for (int i = 0; i < 4; i++)
		e.receive(prefix(9, i ? 99 : RPCRDMA2_GRANT, 2));
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_CONTROL });
	EXPECT_EQ(e.tx.htype, u32{ RPCRDMA2_GRANT });
	EXPECT_EQ(e.tx.xid, 0u);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_BLOCKED });
}

TEST(send, more__of_what_waits_without_a_message)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_SERVER);
	rpcrdma_message msg = message(7, kReply, 10000);

	c.window = 4;
	Endpoint e = open_server(c);
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_FALSE(e.tx.more);
	e.receive(prefix(9, 99));
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_TRUE(e.tx.more) << "an ERROR, after the last part";
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_TRUE(e.tx.more);
	ASSERT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
	EXPECT_FALSE(e.tx.more);
}

TEST(send, continued__no_other_message_between_the_parts)
{
	Endpoint e = open_server(property(5, RPCRDMA_RVRSDIR_GENL));
	rpcrdma_message first = message(7, kReply, 10000);
	rpcrdma_message other = message(8, kReply, 100);

	ASSERT_EQ(e.next(&first), u32{ RPCRDMA_TX_MESSAGE });
	const u32 sent = e.info().sent;
	EXPECT_EQ(e.next(&other), u32{ RPCRDMA_TX_INVALID });
	EXPECT_EQ(e.info().sent, sent);
	/* Nor the same one with another length, direction or progress. */
	other = first;
	other.length -= 4;
	EXPECT_EQ(e.next(&other), u32{ RPCRDMA_TX_INVALID });
	other = first;
	other.dir = kCall;
	EXPECT_EQ(e.next(&other), u32{ RPCRDMA_TX_INVALID });
	other = first;
	other.sent -= 4;
	EXPECT_EQ(e.next(&other), u32{ RPCRDMA_TX_INVALID });
	other = message(8, kReply, 100);
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
	ASSERT_EQ(e.next(&first), u32{ RPCRDMA_TX_MESSAGE });
	ASSERT_EQ(e.next(&first), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_TRUE(e.tx.last);
	EXPECT_EQ(e.next(&other), u32{ RPCRDMA_TX_MESSAGE });
}

namespace
{

/* A Call or Reply whose stream of 40,000 octets is in a body chunk. */
Chunks body(rpcrdma_dir dir)
{
	Chunks c = one_write();

	if (dir == kCall) {
		c.n_call = 2;
		c.call[0] = { 0xc0, 30000, 0x111 };
		c.call[1] = { 0xc1, 10000, 0x222 };
	} else {
		c.has_reply = true;
		c.reply = { 2, 1 };
		c.n_write_segs = 3;
		c.write_segs[1] = { 0xd0, 40000, 0x333 };
		c.write_segs[2] = { 0xd1, 0, 0x444 };
	}
	return c;
}

rpcrdma_message special(u32 xid, rpcrdma_dir dir, const Chunks &c, u32 length = 40000)
{
	rpcrdma_message msg = message(xid, dir, length, &c);

	msg.external = true;
	return msg;
}

} // namespace

TEST(send, special__a_call_with_all_kinds_of_chunks)
{
	Endpoint e = open_client();
	Chunks c = body(kCall);

	/* What an NFS server must always accept, and a Reply chunk. */
	c.n_reads = 1;
	c.reads[0] = { 100, { 0xb0, 5000, 0x555 } };
	c.has_reply = true;
	c.reply = { 1, 1 };
	c.n_write_segs = 2;
	c.write_segs[1] = { 0xd0, 9000, 0x666 };
	rpcrdma_message msg = special(7, kCall, c);
	msg.inv_handle = 0xc1;
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.tx.htype, u32{ RPCRDMA2_CALL_EXTERNAL });
	EXPECT_EQ(e.tx.xid, 7u);
	EXPECT_TRUE(e.tx.first);
	EXPECT_TRUE(e.tx.last);
	EXPECT_EQ(e.tx.payload.length, 0u);
	EXPECT_EQ(msg.sent, 40000u);
	EXPECT_EQ(e.sent,
		  octets({ 7,	  2, 65,    8,	  0xc1, 1,    0,     0xc0,
			   30000, 0, 0x111, 1,	  0,	0xc1, 10000, 0,
			   0x222, 0, 1,	    100,  0xb0, 5000, 0,     0x555,
			   0,	  1, 1,	    0xaa, 4096, 0,    0,     0,
			   1,	  1, 0xd0,  9000, 0,	0x666 }));
	/* The server it goes to takes it, with the default limits. */
	Endpoint server = open_server();
	server.receive_octets(e.sent);
	EXPECT_EQ(server.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_TRUE(server.rx.external);
	EXPECT_EQ(server.rx.stream_length, 40000u);
	EXPECT_EQ(server.rx.unreduced_length, 45000u);
	EXPECT_EQ(server.rx.inv_handle, 0xc1u);
	EXPECT_EQ(server.rx.chunks.n_call, 2u);
	EXPECT_EQ(server.rx.chunks.n_reads, 1u);
	EXPECT_EQ(server.rx.chunks.n_writes, 1u);
	EXPECT_TRUE(server.rx.chunks.has_reply);
	/* The next message is begun as ever. */
	msg = message(8, kCall, 100);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
}

TEST(send, special__a_reply)
{
	Endpoint e = open_server();
	const Chunks c = body(kReply);
	rpcrdma_message msg = special(7, kReply, c);

	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.tx.htype, u32{ RPCRDMA2_REPLY_EXTERNAL });
	EXPECT_TRUE(e.tx.last);
	EXPECT_EQ(e.sent, octets({ 7,	  2, 65,    11,	  1, 1, 0xaa,
				   4096,  0, 0,	    0,	  1, 2, 0xd0,
				   40000, 0, 0x333, 0xd1, 0, 0, 0x444 }));
	Endpoint client = open_client();
	client.receive_octets(e.sent);
	EXPECT_EQ(client.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_TRUE(client.rx.external);
	EXPECT_EQ(client.rx.stream_length, 40000u);
}

/* Sends a Call whole. */
static u32 send_call(Endpoint &e, rpcrdma_message &msg)
{
	u32 result;

	do
		result = e.next(&msg);
	while (result == RPCRDMA_TX_MESSAGE && !e.tx.last);
	return result;
}

static void refuse_type(Endpoint &e, u32 xid)
{
	e.receive(prefix(xid, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
}

TEST(send, refused_type__is_not_sent_again)
{
	Endpoint e = open_client();
	const Chunks c = body(kCall);
	rpcrdma_message first = special(7, kCall, c);
	rpcrdma_message long_one = message(8, kCall, 8000);
	rpcrdma_message short_one = message(12, kCall, 100);
	rpcrdma_message msg;

	/* By itself an ERROR says nothing: it may be about something else. */
	EXPECT_EQ(send_call(e, first), u32{ RPCRDMA_TX_MESSAGE });
	refuse_type(e, 1);
	EXPECT_TRUE(e.session.planning().special);
	EXPECT_TRUE(e.type_refused(first));
	EXPECT_EQ(send_call(e, msg = special(9, kCall, c)),
		  u32{ RPCRDMA_TX_INVALID });
	EXPECT_FALSE(e.session.planning().special);

	EXPECT_EQ(send_call(e, long_one), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_TRUE(e.type_refused(long_one));
	/* The parts one by one: it is still one type. */
	EXPECT_TRUE(e.type_refused(long_one));
	EXPECT_EQ(send_call(e, msg = message(11, kCall, 8000)),
		  u32{ RPCRDMA_TX_INVALID });
	EXPECT_EQ(e.session.planning().max_stream, 4096u - 32);

	EXPECT_EQ(send_call(e, short_one), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_FALSE(e.type_refused(short_one));
	/* No Call can be sent any more; another connection may do better. */
	EXPECT_FALSE(e.session.ready());
	e.receive(prefix(0, RPCRDMA2_GRANT));
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_HTYPE });
	EXPECT_EQ(send_call(e, msg = message(13, kCall, 100)),
		  u32{ RPCRDMA_TX_NONE });
	/* That says nothing of Replies. */
	Endpoint r = open_client_reverse(RPCRDMA_RVRSDIR_CONT);
	refuse_type(r, 1);
	msg = message(7, kReply, 100);
	EXPECT_EQ(r.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
}

/* What is wrong with a Reply says nothing of what the peer takes. */
TEST(send, refused_type__not_by_a_malformed_reply)
{
	Endpoint e = open_client();
	rpcrdma_message msg = message(7, kCall, 100);
	rpcrdma_rx rx = {};

	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	rx.action = RPCRDMA_RX_FAIL_RPC;
	for (u32 code :
	     { RPCRDMA2_ERR_INVAL_HTYPE, RPCRDMA2_ERR_VERS_MISMATCH }) {
		rx.errcode = code;
		EXPECT_EQ(e.session.call_refused(msg, rx), RPCRDMA_REASON_NONE);
	}
	EXPECT_TRUE(e.session.ready());
	msg = message(8, kCall, 100);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
}

/* The connection is of no use any more; what else is said changes nothing. */
TEST(send, refused_type__of_all_calls_that_are_out)
{
	Endpoint e = open_client();
	rpcrdma_message calls[] = { message(7, kCall, 100),
				    message(8, kCall, 100) };

	for (rpcrdma_message &msg : calls)
		EXPECT_EQ(send_call(e, msg), u32{ RPCRDMA_TX_MESSAGE });
	for (rpcrdma_message &msg : calls)
		EXPECT_FALSE(e.type_refused(msg));
	EXPECT_FALSE(e.session.ready());
}

/* Which one it was is known from the Call, not from what else was sent. */
TEST(send, refused_type__is_that_of_the_call)
{
	Endpoint e = open_client();
	const Chunks c = body(kCall);
	rpcrdma_message special_one = special(7, kCall, c);
	rpcrdma_message long_one = message(8, kCall, 8000);
	rpcrdma_message msg;

	EXPECT_EQ(send_call(e, special_one), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(send_call(e, long_one), u32{ RPCRDMA_TX_MESSAGE });
	refuse_type(e, 8);
	EXPECT_TRUE(e.type_refused(long_one));
	EXPECT_TRUE(e.session.planning().special);
	EXPECT_EQ(send_call(e, msg = message(9, kCall, 8000)),
		  u32{ RPCRDMA_TX_INVALID });
	EXPECT_EQ(send_call(e, msg = special(10, kCall, c)),
		  u32{ RPCRDMA_TX_MESSAGE });
}

/* A GRANT, or a Reply to a callback: no Call is meant. */
TEST(send, refused_type__of_something_that_is_no_call)
{
	Endpoint e = open_client();
	rpcrdma_message msg;

	EXPECT_EQ(send_call(e, msg = message(7, kCall, 100)),
		  u32{ RPCRDMA_TX_MESSAGE });
	refuse_type(e, 0);
	EXPECT_EQ(send_call(e, msg = message(8, kCall, 100)),
		  u32{ RPCRDMA_TX_MESSAGE });
}

TEST(send, refused_type__while_its_parts_are_sent)
{
	Endpoint e = open_client();
	const Chunks c = body(kCall);
	rpcrdma_message begun = message(8, kCall, 12000);
	rpcrdma_message next = message(9, kCall, 100);
	rpcrdma_message large = message(10, kCall, 8000);
	rpcrdma_message special_one = special(7, kCall, c);

	ASSERT_EQ(e.next(&special_one), u32{ RPCRDMA_TX_MESSAGE });
	ASSERT_EQ(e.next(&begun), u32{ RPCRDMA_TX_MESSAGE });
	ASSERT_EQ(e.tx.htype, u32{ RPCRDMA2_CALL_MIDDLE });
	const u32 sent = begun.sent;
	e.receive(prefix(8, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	/* It was that type and no other. */
	EXPECT_TRUE(e.session.planning().special);
	EXPECT_EQ(e.session.planning().max_stream, 4096u - 32);
	/* Nothing more of it goes, and the connection goes on. */
	EXPECT_EQ(e.next(&begun), u32{ RPCRDMA_TX_REFUSED });
	EXPECT_EQ(begun.sent, sent);
	EXPECT_FALSE(begun.outstanding);
	EXPECT_EQ(e.next(&next), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.next(&large), u32{ RPCRDMA_TX_INVALID });
	special_one = special(11, kCall, c);
	EXPECT_EQ(e.next(&special_one), u32{ RPCRDMA_TX_MESSAGE });
}

/* Any other error is about this Call alone, and its parts are sent to the end. */
TEST(send, refused_type__not_by_another_error_while_parts_are_sent)
{
	Endpoint e = open_client();
	rpcrdma_message begun = message(8, kCall, 12000);

	ASSERT_EQ(e.next(&begun), u32{ RPCRDMA_TX_MESSAGE });
	e.receive(prefix(8, RPCRDMA2_ERROR) + Words{ RPCRDMA2_ERR_SYSTEM });
	EXPECT_GT(e.session.planning().max_stream, 4096u);
	while (begun.sent < begun.length)
		ASSERT_EQ(e.next(&begun), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_TRUE(e.tx.last);
}

/* Not even its end, which is of another type. */
TEST(send, refused_type__before_the_last_part)
{
	Endpoint e = open_client();
	rpcrdma_message begun = message(8, kCall, 8000);

	ASSERT_EQ(e.next(&begun), u32{ RPCRDMA_TX_MESSAGE });
	e.receive(prefix(8, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	EXPECT_LT(begun.length - begun.sent, 4000u);
	EXPECT_EQ(e.next(&begun), u32{ RPCRDMA_TX_REFUSED });
}

/* It stays refused, whatever is said of another one before its next part. */
TEST(send, refused_type__while_its_parts_are_sent_and_another_call)
{
	Endpoint e = open_client();
	const Chunks c = body(kCall);
	rpcrdma_message begun = message(8, kCall, 12000);
	rpcrdma_message next = message(9, kCall, 100);
	rpcrdma_message special_one = special(7, kCall, c);

	ASSERT_EQ(e.next(&special_one), u32{ RPCRDMA_TX_MESSAGE });
	ASSERT_EQ(e.next(&begun), u32{ RPCRDMA_TX_MESSAGE });
	refuse_type(e, 8);
	refuse_type(e, 7);
	EXPECT_TRUE(e.type_refused(special_one));
	EXPECT_FALSE(e.session.planning().special);
	EXPECT_EQ(e.next(&begun), u32{ RPCRDMA_TX_REFUSED });
	EXPECT_EQ(e.next(&next), u32{ RPCRDMA_TX_MESSAGE });
}

/* Who refuses another Call may have taken the parts of this one. */
TEST(send, refused_type__while_parts_of_another_call_are_sent)
{
	Endpoint e = open_client();
	rpcrdma_message first = message(7, kCall, 8000);
	rpcrdma_message begun = message(8, kCall, 12000);

	while (e.next(&first), !e.tx.last)
		;
	ASSERT_EQ(e.next(&begun), u32{ RPCRDMA_TX_MESSAGE });
	refuse_type(e, 7);
	EXPECT_TRUE(e.type_refused(first));
	EXPECT_EQ(e.next(&begun), u32{ RPCRDMA_TX_INVALID });
	EXPECT_GT(begun.sent, 0u);
}

TEST(send, refused_type__a_server_has_more_to_do)
{
	Endpoint e = open_server(property(5, RPCRDMA_RVRSDIR_SIMPLE));
	rpcrdma_message call = message(7, kCall, 100);
	rpcrdma_message again = message(8, kCall, 100);
	rpcrdma_message reply = message(9, kReply, 100);

	ASSERT_EQ(e.next(&call), u32{ RPCRDMA_TX_MESSAGE });
	refuse_type(e, 7);
	EXPECT_TRUE(e.type_refused(call));
	EXPECT_EQ(e.next(&again), u32{ RPCRDMA_TX_INVALID });
	EXPECT_EQ(e.next(&reply), u32{ RPCRDMA_TX_MESSAGE });
}

/* An ERROR about one direction's XID, and a Reply of the other's. */
TEST(send, simple__a_reply_ends_no_discarding_of_another)
{
	Endpoint e = open_client_reverse(RPCRDMA_RVRSDIR_CONT);
	const Words whole = rpc(7, kReply, 400);
	rpcrdma_message msg = message(7, kReply, 40);

	e.receive(middle(RPCRDMA2_REPLY_MIDDLE, 7, 300, slice(whole, 0, 100)));
	e.receive(prefix(7, RPCRDMA2_ERROR) + Words{ RPCRDMA2_ERR_SYSTEM });
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	e.receive(reply_inline(7, slice(whole, 100, 300)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_DISCARDING });
}

/* The last header has the chunks, and a word of the stream goes with it. */
TEST(send, header__larger_than_the_peers_receives)
{
	Chunks c = {};

	c.n_writes = 1;
	c.writes[0] = { 4, 0 };
	c.n_write_segs = 4;
	for (u32 i = 0; i < 4; i++)
		c.write_segs[i] = { i, 40, 0 };
	const u32 head = 32 + 8 + 4 * 16;
	for (u32 size : { head - 4, head, head + 3, head + 4, head + 8 }) {
		Endpoint e = open_client(property(2, size));
		rpcrdma_message msg = message(7, kCall, 100, &c);

		if (size < head + 4) {
			EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_INVALID });
			EXPECT_EQ(msg.sent, 0u);
			continue;
		}
		do {
			ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
			ASSERT_LE(e.tx.header_length + e.tx.payload.length,
				  size);
		} while (!e.tx.last);
		EXPECT_EQ(e.tx.header_length, head);
	}
	/* Special Format has nothing but the header. */
	c.n_call = 1;
	c.call[0] = { 9, 400, 0 };
	for (u32 size : { head + 27, head + 28 }) {
		Endpoint e = open_client(property(2, size));
		rpcrdma_message msg = special(7, kCall, c, 400);

		EXPECT_EQ(e.next(&msg) == RPCRDMA_TX_MESSAGE,
			  size == head + 28);
	}
}

TEST(send, special__buffer_too_small)
{
	Endpoint e = open_client();
	const Chunks c = body(kCall);
	rpcrdma_message msg = special(7, kCall, c);
	rpcrdma_tx tx;

	for (u32 size : { 0u, 16u, 100u }) {
		std::unique_ptr<u8[]> out(new u8[size]);

		EXPECT_EQ(e.session.next_send(&msg, { out.get(), size }, tx),
			  u32{ RPCRDMA_TX_INVALID });
	}
	EXPECT_EQ(msg.sent, 0u);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
}

TEST(send, special__waits_for_credit_like_any_message)
{
	Endpoint e = open_client();
	const Chunks c = body(kCall);
	rpcrdma_message msg = special(7, kCall, c);

	leave_credits(e, 0);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_BLOCKED });
	leave_credits(e, 1);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
}

TEST(send, special__invalid)
{
	Endpoint client = open_client();
	Endpoint server = open_server();
	const auto refused = [&](rpcrdma_dir dir, const Chunks &c, u32 length,
				 u32 inv = 0) {
		Endpoint &e = dir == kCall ? client : server;
		rpcrdma_message msg = special(7, dir, c, length);

		msg.inv_handle = inv;
		return e.next(&msg) == RPCRDMA_TX_INVALID && !msg.sent;
	};

	for (rpcrdma_dir dir : { kCall, kReply }) {
		EXPECT_FALSE(refused(dir, body(dir), 40000));
		EXPECT_TRUE(refused(dir, body(dir), 39996));
		EXPECT_TRUE(refused(dir, body(dir), 40004));
		EXPECT_TRUE(refused(dir, body(dir == kCall ? kReply : kCall), 40000));
		EXPECT_TRUE(refused(dir, one_write(40000), 40000));
		EXPECT_TRUE(refused(dir, {}, 40000));
		EXPECT_TRUE(refused(dir, body(dir), 0));
	}
	EXPECT_TRUE(refused(kCall, body(kCall), 40000, 0xc2));
	Chunks c = body(kCall);
	c.n_reads = 1;
	c.reads[0] = { 40004, { 1, 4, 0 } };
	EXPECT_TRUE(refused(kCall, c, 40000)) << "outside of the message";
	c = body(kReply);
	c.n_reads = 1;
	c.reads[0] = { 4, { 1, 4, 0 } };
	EXPECT_TRUE(refused(kReply, c, 40000));
	c = body(kReply);
	c.n_call = 1;
	EXPECT_TRUE(refused(kReply, c, 40000));
	/* All segments of a header count together (5.2.4). */
	Endpoint few = open_client(property(4, 2));
	c = body(kCall);
	rpcrdma_message msg = special(7, kCall, c);
	EXPECT_EQ(few.next(&msg), u32{ RPCRDMA_TX_INVALID });
	Endpoint enough = open_client(property(4, 3));
	EXPECT_EQ(enough.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
}

TEST(send, special__in_the_reverse_direction_by_level)
{
	for (u32 level = 0; level <= RPCRDMA_RVRSDIR_GENL; level++) {
		const bool may = level == RPCRDMA_RVRSDIR_GENL;
		Endpoint server = open_server(property(5, level));
		Endpoint client = open_client_reverse(level);
		const Chunks call = body(kCall);
		const Chunks reply = body(kReply);
		rpcrdma_message msg = special(7, kCall, call);

		EXPECT_EQ(server.next(&msg) == RPCRDMA_TX_MESSAGE, may);
		msg = special(7, kReply, reply);
		EXPECT_EQ(client.next(&msg) == RPCRDMA_TX_MESSAGE, may);
	}
}

TEST(send, call_only__carries_no_chunks)
{
	Endpoint e = open_client();
	const Chunks one = one_write();
	const Chunks whole = body(kCall);
	const Chunks none = {};
	rpcrdma_message msg = message(7, kCall, 100, &one);

	msg.call_only = true;
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_INVALID });
	msg = special(7, kCall, whole);
	msg.call_only = true;
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_INVALID });
	msg = message(7, kCall, 100, &none);
	msg.call_only = true;
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
}

TEST(send, invalid__leaves_all_as_it_was)
{
	Endpoint e = open_client();
	std::vector<rpcrdma_message> bad = {
		message(7, kCall, 0),	message(7, kCall, 6),
		message(7, rpcrdma_dir{ 2 }, 100),	message(7, kCall, 100),
		message(7, kCall, 100), message(7, kCall, 100),
		message(7, kCall, 100),
	};

	bad[3].sent = 4;
	bad[4].sent = 100;
	bad[5].inv_handle = 0xaa;
	bad[6].external = true;

	for (rpcrdma_message msg : bad) {
		const u32 sent = e.info().sent;
		const u32 was = msg.sent;

		EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_INVALID });
		EXPECT_EQ(e.info().sent, sent);
		EXPECT_EQ(msg.sent, was);
	}
	rpcrdma_message good = message(7, kCall, 100);
	EXPECT_EQ(e.next(&good), u32{ RPCRDMA_TX_MESSAGE });
}

TEST(send, invalid__chunks_that_this_side_would_refuse_D7)
{
	Endpoint e = open_client();
	const auto offered = [&](const Chunks &c, u32 inv = 0) {
		rpcrdma_message msg = message(7, kCall, 100, &c);

		msg.inv_handle = inv;
		return e.next(&msg);
	};
	const u32 invalid = RPCRDMA_TX_INVALID;
	Chunks c = one_write();

	EXPECT_EQ(offered(c, 0xbb), invalid) << "no such handle";
	EXPECT_EQ(offered(c, 0xaa), u32{ RPCRDMA_TX_MESSAGE });
	c.writes[0] = { 2, 0 };
	EXPECT_EQ(offered(c), invalid) << "segments that are not there";
	c = {};
	c.n_reads = 1;
	for (u32 position : { 0u, 3u, 104u }) {
		c.reads[0] = { position, { 1, 40, 0 } };
		EXPECT_EQ(offered(c), invalid);
	}
	c.reads[0].position = 100;
	EXPECT_EQ(offered(c), u32{ RPCRDMA_TX_MESSAGE });
	c.n_reads = RPCRDMA_MAX_SEGMENTS + 1;
	EXPECT_EQ(offered(c), invalid);
	c = {};
	c.n_call = 1;
	c.call[0] = { 1, 100, 0 };
	EXPECT_EQ(offered(c), invalid) << "a Call chunk, but the Call is here";
}

TEST(send, invalid__more_segments_than_the_peer_takes)
{
	Endpoint e = open_client(property(4, 2));
	Chunks c = one_write();

	c.n_reads = 1;
	c.reads[0] = { 8, { 1, 40, 0 } };
	rpcrdma_message msg = message(7, kCall, 100, &c);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	c.n_reads = 2;
	c.reads[1] = { 8, { 2, 40, 0 } };
	msg = message(8, kCall, 100, &c);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_INVALID });
}

/* "Send or receive" (5.2.3), "a Requester's transport header" (5.2.4): its own, too. */
TEST(send, invalid__more_or_larger_segments_than_this_side_has_said)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);

	c.local.max_segments = 2;
	c.local.max_segment_size = 5000;
	for (const bool peer_takes_less : { false, true }) {
		Endpoint e = open_client(
			c, peer_takes_less ?
				   Words{ 2, 3, 4, 4000, 4, 4, 1 } :
				   Words{ 2, 3, 4, 1 << 20, 4, 4, 16 });
		const u32 most = peer_takes_less ? 1 : 2;
		const u32 size = peer_takes_less ? 4000 : 5000;

		EXPECT_EQ(e.info().max_segments, most);
		EXPECT_EQ(e.info().max_segment_size, size);
		for (const u32 n : { most, most + 1 }) {
			Chunks reads = {};

			for (u32 i = 0; i < n; i++)
				reads.reads[reads.n_reads++] = { 8,
								 { 1, 4, 0 } };
			rpcrdma_message msg = message(7, kCall, 100, &reads);
			EXPECT_EQ(e.next(&msg) == RPCRDMA_TX_MESSAGE,
				  n == most);
		}
		for (const u32 length : { size, size + 1 }) {
			const Chunks write = one_write(length);
			rpcrdma_message msg = message(8, kCall, 100, &write);

			EXPECT_EQ(e.next(&msg) == RPCRDMA_TX_MESSAGE,
				  length == size);
		}
	}
}

TEST(send, invalid__larger_segments_than_the_peer_takes)
{
	Endpoint e = open_client(property(3, 5000));
	const auto offered = [&](const Chunks &c, bool external) {
		rpcrdma_message msg =
			message(7, kCall, external ? 5004 : 100, &c);

		msg.external = external;
		return e.next(&msg) == RPCRDMA_TX_MESSAGE;
	};

	for (u32 length : { 5000u, 5001u }) {
		const bool fits = length == 5000;
		Chunks c = one_write(length);

		EXPECT_EQ(offered(c, false), fits);
		c = {};
		c.n_reads = 2;
		c.reads[0] = { 8, { 1, 40, 0 } };
		c.reads[1] = { 8, { 2, length, 0 } };
		EXPECT_EQ(offered(c, false), fits);
		c = {};
		c.n_call = 2;
		c.call[0] = { 1, 5004 - length, 0 };
		c.call[1] = { 1, length, 0 };
		EXPECT_EQ(offered(c, true), fits);
	}
}

TEST(send, invalid__call_lists_in_a_reply)
{
	Endpoint e = open_server();
	Chunks c = one_write();

	rpcrdma_message msg = message(7, kReply, 100, &c);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	c.n_reads = 1;
	c.reads[0] = { 8, { 1, 40, 0 } };
	msg = message(8, kReply, 100, &c);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_INVALID });
	c = one_write();
	c.has_reply = true;
	msg = message(9, kReply, 100, &c);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_INVALID });
}

TEST(send, invalid__buffer_too_small)
{
	Endpoint e = open_client();
	rpcrdma_message msg = message(7, kCall, 100);
	rpcrdma_tx tx;

	for (u32 size = 0; size < 32; size++) {
		std::unique_ptr<u8[]> out(new u8[size]);

		EXPECT_EQ(e.session.next_send(&msg, { out.get(), size }, tx),
			  u32{ RPCRDMA_TX_INVALID });
	}
	EXPECT_EQ(msg.sent, 0u);
}

TEST(send, invalid__buffer_too_small_for_control)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_SERVER);
	rpcrdma_tx tx;

	c.window = 4;
	Endpoint e(c);
	/* Each in turn is what is due; none of them is lost. */
	const auto due = [&](u32 size) {
		for (u32 room = 0; room < size; room++) {
			std::unique_ptr<u8[]> out(new u8[room]);

			EXPECT_EQ(e.session.next_send(nullptr,
						      { out.get(), room }, tx),
				  u32{ RPCRDMA_TX_INVALID });
		}
		EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
		EXPECT_EQ(e.tx.header_length, size);
		return e.tx.htype;
	};
	e.receive(connprop(kClientXid));
	EXPECT_EQ(due(80), u32{ RPCRDMA2_CONNPROP_FINAL });
	EXPECT_TRUE(e.session.refuse(Xid{ 9 },
				     { RPCRDMA2_ERR_SEGMENTS, { 16, 0 } }));
	EXPECT_EQ(due(24), u32{ RPCRDMA2_ERROR });
	e.receive(call_inline(1, rpc(1, kCall, 40)));
	e.receive(call_inline(2, rpc(2, kCall, 40)));
	EXPECT_EQ(due(16), u32{ RPCRDMA2_GRANT });
}

TEST(send, credit__blocked_is_counted_once_per_wait)
{
	Endpoint e = open_client();
	rpcrdma_message msg = message(7, kCall, 100);

	leave_credits(e, 0);
	for (int i = 0; i < 5; i++)
		EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_BLOCKED });
	EXPECT_EQ(e.info().blocked, 1u);
	leave_credits(e, 1);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	msg = message(8, kCall, 100);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_BLOCKED });
	EXPECT_EQ(e.info().blocked, 2u);
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
}

TEST(send, credit__never_more_than_granted_D2)
{
	Endpoint e = open_client();

	for (u32 grant = 1; grant < 20; grant++) {
		leave_credits(e, grant);
		for (u32 i = 0; i < grant; i++) {
			rpcrdma_message msg = message(i, kCall, 100);

			ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
		}
		rpcrdma_message msg = message(99, kCall, 100);
		ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_BLOCKED });
	}
}

namespace
{

Endpoint open_reserving()
{
	rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);

	c.reserve = 1;
	c.local.reverse = RPCRDMA_RVRSDIR_GENL;
	return open_client(c);
}

} // namespace

TEST(send, reserve__the_last_credit_is_for_probes_D16)
{
	Endpoint e = open_reserving();
	rpcrdma_message msg = message(1, kCall, 100);

	leave_credits(e, 2);
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	msg = message(2, kCall, 100);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_BLOCKED });
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_BLOCKED });
	EXPECT_EQ(msg.sent, 0u);
	EXPECT_EQ(e.info().blocked, 1u);
	rpcrdma_message probe = message(3, kCall, 40);
	probe.probe = true;
	EXPECT_EQ(e.next(&probe), u32{ RPCRDMA_TX_MESSAGE });
	/* One credit more is not enough, two are. */
	leave_credits(e, 1);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_BLOCKED });
	leave_credits(e, 2);
	EXPECT_TRUE(e.rx.kick);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	/* Without a reserve the last one is like the others. */
	Endpoint other = open_client();
	leave_credits(other, 2);
	for (u32 xid : { 1u, 2u }) {
		msg = message(xid, kCall, 100);
		EXPECT_EQ(other.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	}
}

TEST(send, reserve__a_peer_with_a_window_of_one_D16)
{
	Endpoint e = open_reserving();

	leave_credits(e, 1);
	for (u32 xid = 1; xid < 50; xid++) {
		rpcrdma_message msg = message(xid, kCall, 100);
		rpcrdma_message next = message(xid + 1, kCall, 100);

		ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
		/* It gives the Receive back before it has an answer. */
		leave_credits(e, 1);
		ASSERT_EQ(e.next(&next), u32{ RPCRDMA_TX_BLOCKED });
		/* What ends the Call is for its caller to say. */
		Words w = reply_inline(xid, rpc(xid, kReply, 40));
		w[2] = e.info().sent + 1;
		e.receive(w);
		ASSERT_FALSE(e.rx.kick);
		ASSERT_EQ(e.next(&next), u32{ RPCRDMA_TX_BLOCKED });
		ASSERT_TRUE(e.session.end_call(msg)) << xid;
	}
}

TEST(send, reserve__exactly_while_calls_are_outstanding_D16)
{
	Endpoint e = open_reserving();
	rpcrdma_message calls[] = { message(1, kCall, 100),
				    message(2, kCall, 100) };
	rpcrdma_message next = message(3, kCall, 100);

	leave_credits(e, 3);
	for (rpcrdma_message &msg : calls) {
		EXPECT_FALSE(msg.outstanding);
		ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
		EXPECT_TRUE(msg.outstanding);
	}
	leave_credits(e, 1);
	/* One that its caller has given up, and its Reply afterwards. */
	EXPECT_FALSE(e.session.end_call(calls[0]));
	EXPECT_FALSE(calls[0].outstanding);
	EXPECT_FALSE(e.session.end_call(calls[0]));
	for (u32 again = 0; again < 2; again++) {
		Words w = reply_inline(1, rpc(1, kReply, 40));
		w[2] = e.info().sent + 1;
		e.receive(w);
		EXPECT_FALSE(e.rx.kick);
		EXPECT_EQ(e.next(&next), u32{ RPCRDMA_TX_BLOCKED });
	}
	/* Nor does one count that was never sent. */
	EXPECT_FALSE(e.session.end_call(next));
	EXPECT_EQ(e.next(&next), u32{ RPCRDMA_TX_BLOCKED });
	/* The other was never answered: nothing is kept for it from now on. */
	EXPECT_TRUE(e.session.end_call(calls[1]));
	EXPECT_EQ(e.next(&next), u32{ RPCRDMA_TX_MESSAGE });
}

TEST(send, end_call__of_a_call_that_this_session_never_sent)
{
	Endpoint e = open_reserving();
	rpcrdma_message msg = message(1, kCall, 100);

	msg.outstanding = true;
	tolerated_breaks = 1;
	EXPECT_FALSE(e.session.end_call(msg));
	EXPECT_EQ(tolerated_breaks, 0u);
	EXPECT_FALSE(e.session.ready());
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_INVALID });
}

TEST(send, end_call__nothing_follows_on_a_session_that_has_closed)
{
	Endpoint e = open_reserving();
	rpcrdma_message msg = message(1, kCall, 100);

	leave_credits(e, 1);
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	leave_credits(e, 1);
	e.receive(prefix(1, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_VERS_MISMATCH });
	ASSERT_EQ(e.session.call_refused(msg, e.rx), RPCRDMA_REASON_NO_VERSION);
	EXPECT_FALSE(e.session.end_call(msg));
	EXPECT_FALSE(msg.outstanding);
}

TEST(send, reserve__what_is_not_held_back_D16)
{
	Endpoint e = open_reserving();
	rpcrdma_message msg = message(1, kCall, 9000);
	rpcrdma_message reply = message(9, kReply, 100);

	/* Parts of what has been begun. */
	leave_credits(e, 3);
	for (u32 part = 0; part < 3; part++) {
		ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
		ASSERT_EQ(e.tx.last, part == 2);
	}
	/* Replies, on which the answer waited for may depend; and errors. */
	leave_credits(e, 1);
	EXPECT_EQ(e.next(&reply), u32{ RPCRDMA_TX_MESSAGE });
	leave_credits(e, 1);
	ASSERT_TRUE(e.session.refuse(Xid{ 9 }, { RPCRDMA2_ERR_SYSTEM, {} }));
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
}

TEST(send, reserve__calls_that_are_not_waited_for_D16)
{
	Endpoint e = open_reserving();
	rpcrdma_message msg = message(1, kCall, 100);

	/* Call-only procedures have no answer. */
	msg.call_only = true;
	leave_credits(e, 1);
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	leave_credits(e, 1);
	EXPECT_FALSE(msg.outstanding);
	/* Nor is waited for what has been begun and not finished. */
	msg = message(2, kCall, 6000);
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_FALSE(msg.outstanding);
	leave_credits(e, 1);
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	ASSERT_TRUE(e.tx.last);
	EXPECT_TRUE(msg.outstanding);
	leave_credits(e, 1);
	msg = message(3, kCall, 100);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_BLOCKED });
}

TEST(send, grant__not_when_a_message_carries_the_word)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_SERVER);

	c.window = 4;
	Endpoint e = open_server(c);
	for (u32 i = 0; i < 2; i++)
		e.receive(call_inline(i, rpc(i, kCall, 40)));
	EXPECT_TRUE(e.grant);
	rpcrdma_message msg = message(0, kReply, 40);
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(word_at(e.sent, 2), 7u);
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
}

TEST(send, grant__when_there_is_nothing_else)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_SERVER);

	c.window = 4;
	Endpoint e = open_server(c);
	e.receive(call_inline(1, rpc(1, kCall, 40)));
	EXPECT_FALSE(e.grant);
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
	e.receive(call_inline(2, rpc(2, kCall, 40)));
	EXPECT_TRUE(e.grant);
	EXPECT_EQ(e.next_control(), (Words{ 0, 2, 7, 5 }));
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
}

TEST(send, grant__while_everything_else_is_blocked_D3)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_SERVER);
	rpcrdma_message msg = message(1, kReply, 40);

	c.window = 4;
	Endpoint e = open_server(c);
	const u32 sent = e.info().sent;
	for (u32 i = 0; i < 2; i++) {
		Words w = call_inline(i, rpc(i, kCall, 40));

		w[2] = sent; /* no credit left */
		e.receive(w);
	}
	EXPECT_TRUE(e.grant);
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_CONTROL });
	EXPECT_EQ(e.tx.htype, u32{ RPCRDMA2_GRANT });
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_BLOCKED });
	/* The extra Receive is used up now, so there is no second GRANT. */
	for (u32 i = 0; i < 3; i++) {
		Words w = call_inline(i, rpc(i, kCall, 40));

		w[2] = sent;
		e.receive(w);
		ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		EXPECT_FALSE(e.grant);
	}
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_BLOCKED });
	/* As soon as the limit allows for it, there is. */
	e.receive(prefix(0, RPCRDMA2_GRANT, sent + 1));
	EXPECT_TRUE(e.rx.kick);
	ASSERT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
	EXPECT_EQ(e.tx.htype, u32{ RPCRDMA2_GRANT });
}

TEST(send, grant__not_before_this_sides_final)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_SERVER);

	c.window = 3;
	Endpoint e(c);
	/* Version 2 it is, but nothing legal came yet. */
	e.receive(prefix(0, RPCRDMA2_GRANT) + Words{ 0 });
	EXPECT_FALSE(e.rx.opened);
	EXPECT_FALSE(e.grant);
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
}

TEST(send, grant__not_before_the_version_is_agreed)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);

	c.window = 3;
	Endpoint e(c);
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
	for (int i = 0; i < 3; i++) {
		e.receive(prefix(9, RPCRDMA2_ERROR) + Words{ 100 });
		EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_EARLY });
		EXPECT_FALSE(e.grant);
		EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
	}
}

TEST(send, error__waits_for_an_ordinary_credit)
{
	Endpoint e = open_server();

	leave_credits(e, 0);
	ASSERT_TRUE(e.session.refuse(Xid{ 9 }, { RPCRDMA2_ERR_SYSTEM, {} }));
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_BLOCKED });
	leave_credits(e, 1);
	EXPECT_TRUE(e.rx.kick);
	EXPECT_EQ(e.next_error(9), Words{ RPCRDMA2_ERR_SYSTEM });
}

TEST(send, error__goes_before_the_message)
{
	Endpoint e = open_server();
	rpcrdma_message msg = message(1, kReply, 40);

	ASSERT_TRUE(e.session.refuse(Xid{ 9 }, { RPCRDMA2_ERR_SYSTEM, {} }));
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_CONTROL });
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
}

TEST(send, reverse__as_far_as_the_client_allows)
{
	const Chunks c = one_write();

	for (u32 level = 0; level <= RPCRDMA_RVRSDIR_GENL; level++) {
		const auto first = [&](u32 length, const Chunks *chunks) {
			Endpoint e = open_server(property(5, level));
			rpcrdma_message msg = message(7, kCall, length, chunks);

			return e.next(&msg) == RPCRDMA_TX_MESSAGE;
		};
		EXPECT_EQ(first(100, nullptr), level >= RPCRDMA_RVRSDIR_SIMPLE);
		EXPECT_EQ(first(8000, nullptr), level >= RPCRDMA_RVRSDIR_CONT);
		EXPECT_EQ(first(100, &c), level >= RPCRDMA_RVRSDIR_GENL);
	}
	/* Lists that are there but empty are no chunks. */
	const Chunks none = {};
	Endpoint e = open_server(property(5, RPCRDMA_RVRSDIR_SIMPLE));
	rpcrdma_message msg = message(7, kCall, 100, &none);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
}

TEST(send, reverse__replies_keep_to_the_same_level)
{
	for (u32 level = 0; level <= RPCRDMA_RVRSDIR_GENL; level++) {
		const auto first = [&](u32 length) {
			Endpoint e = open_client_reverse(level);
			rpcrdma_message msg = message(7, kReply, length);

			return e.next(&msg) == RPCRDMA_TX_MESSAGE;
		};
		EXPECT_EQ(first(100), level >= RPCRDMA_RVRSDIR_SIMPLE);
		EXPECT_EQ(first(8000), level >= RPCRDMA_RVRSDIR_CONT);
	}
}

TEST(send, header__largest_there_is)
{
	rpcrdma_config cfg = config(RPCRDMA_ROLE_CLIENT);
	Endpoint e = open_client(cfg, property(2, 1024));
	Chunks c = {};

	/* Eight Write chunks and sixteen segments: what 16 segments can cost. */
	c.n_reads = 8;
	for (u32 i = 0; i < 8; i++)
		c.reads[i] = { 4 + 4 * i, { i, 4, 0 } };
	c.n_writes = 8;
	c.n_write_segs = 8;
	for (u32 i = 0; i < 8; i++) {
		c.writes[i] = { 1, i };
		c.write_segs[i] = { i, 4, 0 };
	}
	rpcrdma_message msg = message(7, kCall, 2000, &c);
	u32 parts = 0;
	do {
		ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
		ASSERT_LE(e.tx.header_length + e.tx.payload.length, 1024u);
		parts++;
	} while (!e.tx.last);
	EXPECT_EQ(parts, 3u);
	EXPECT_EQ(e.tx.header_length, 32u + 8 * 24 + 8 * 24);
}

namespace
{

/* A Call to be begun once it is admitted. */
struct Waiting {
	Endpoint &e;
	rpcrdma_message msg;

	Waiting(Endpoint &on, u32 xid, u32 length = 100)
		: e(on)
		, msg(message(xid, kCall, length))
	{
	}
	bool admit()
	{
		return e.session.admit(&msg);
	}
	u32 send()
	{
		return e.next(&msg);
	}
};

/* The Sends that the core counts for a Call are those that it makes. */
u32 sends_of(Endpoint &e, rpcrdma_message msg)
{
	u32 n = 0;

	do {
		EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
		n++;
	} while (!e.tx.last);
	EXPECT_FALSE(e.session.end_call(msg));
	return n;
}

} // namespace

TEST(send, admit__a_credit_for_each_send)
{
	const Chunks c = one_write();

	for (u32 i = 0; i < 8; i++)
		for (u32 length = 4; length <= 4 * 1024; length += 4) {
			Endpoint e = open_client(property(2, 1024 + i / 2));
			rpcrdma_message msg = message(7, kCall, length,
						      i % 2 ? &c : nullptr);

			ASSERT_TRUE(e.session.admit(&msg));
			const u32 reserved = msg.reserved;
			msg.reserved = 0;
			ASSERT_EQ(reserved, sends_of(e, msg)) << length;
		}
}

TEST(send, admit__who_asks_twice_keeps_credits_once)
{
	Endpoint e = open_client();
	Waiting call(e, 1), other(e, 2);

	leave_credits(e, 2);
	EXPECT_TRUE(call.admit());
	EXPECT_TRUE(call.admit());
	EXPECT_TRUE(other.admit());
	EXPECT_EQ(call.msg.reserved, 1u);
}

TEST(send, put_back__another_call_can_have_its_credits)
{
	Endpoint e = open_client();
	Waiting first(e, 1), second(e, 2), third(e, 3);

	leave_credits(e, 2);
	EXPECT_EQ(e.session.reserved(), 0u);
	EXPECT_TRUE(first.admit());
	EXPECT_TRUE(second.admit());
	EXPECT_FALSE(third.admit());
	EXPECT_EQ(e.session.reserved(), 2u);
	e.session.put_back(second.msg);
	EXPECT_EQ(second.msg.reserved, 0u);
	EXPECT_EQ(e.session.reserved(), 1u);
	EXPECT_TRUE(third.admit());
}

TEST(send, admit__a_call_of_4_GiB)
{
	Endpoint e = open_client();
	Waiting call(e, 1, 0xfffffffc);

	EXPECT_TRUE(call.admit());
	EXPECT_EQ(call.msg.reserved, 1053722u);
}

TEST(send, admit__not_before_the_exchange)
{
	Endpoint e(config(RPCRDMA_ROLE_CLIENT));
	Waiting call(e, 7);

	EXPECT_FALSE(call.admit());
	ASSERT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
	EXPECT_FALSE(e.session.room());
	e.receive(connprop(kServerXid, { 0 }));
	EXPECT_TRUE(e.rx.kick);
	EXPECT_TRUE(e.session.room());
	EXPECT_TRUE(call.admit());
}

TEST(send, admit__as_many_as_there_are_credits)
{
	Endpoint e = open_client();
	Waiting first(e, 1), second(e, 2), third(e, 3);

	leave_credits(e, 2);
	EXPECT_TRUE(first.admit());
	EXPECT_TRUE(second.admit());
	EXPECT_FALSE(third.admit());
	EXPECT_EQ(e.info().blocked, 1u);
	ASSERT_EQ(first.send(), u32{ RPCRDMA_TX_MESSAGE });
	ASSERT_EQ(second.send(), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_FALSE(e.session.room());
	leave_credits(e, 1);
	EXPECT_TRUE(e.rx.kick);
	EXPECT_TRUE(e.session.room());
	EXPECT_FALSE(e.session.room()) << "once";
	EXPECT_TRUE(third.admit());
	ASSERT_EQ(third.send(), u32{ RPCRDMA_TX_MESSAGE });
}

TEST(send, admit__a_continued_call_needs_a_credit_for_each_part)
{
	Endpoint e = open_client();
	Waiting first(e, 1), second(e, 2, 10000), third(e, 3);

	leave_credits(e, 3);
	ASSERT_TRUE(first.admit());
	EXPECT_FALSE(second.admit()) << "three parts, two credits";
	ASSERT_EQ(first.send(), u32{ RPCRDMA_TX_MESSAGE });
	leave_credits(e, 3);
	EXPECT_TRUE(e.session.room());
	ASSERT_TRUE(second.admit());
	EXPECT_FALSE(third.admit());
	/* Each part gives back the credit that it had. */
	leave_credits(e, 4);
	ASSERT_EQ(second.send(), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_TRUE(third.admit());
	EXPECT_EQ(second.msg.reserved, 2u);
	EXPECT_EQ(third.msg.reserved, 1u);
}

/*
 * Whatever was admitted before: a Call that is planned for the stream because the way is
 * long finds all its Sends, and leaves a quarter for others.
 */
TEST(send, admit__what_the_distance_has_in_the_stream_D26)
{
	u32 streamed = 0;

	for (u32 credits = 1; credits <= 64; credits++)
		for (u32 buffers : { 0u, 1u, 10u, 33u, 64u, 300u }) {
			rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);
			c.stream_from = 500;
			c.reserve = 1;
			Endpoint e = open_client(c);
			std::deque<Waiting> calls;
			u32 large = 0;

			leave_credits(e, credits);
			for (u32 xid = 1; xid < 20; xid++) {
				rpcrdma_call_shape shape = {};
				rpcrdma_call_plan plan;

				shape.item = { 120, 4000 + 3000 * (xid % 5) };
				shape.length = shape.item.length + 136;
				shape.reducible = true;
				shape.reply_expected = true;
				shape.round_trip = 10000;
				plan_call(e.session.planning(), shape, plan,
					  e.session.spare_sends(buffers));
				if (!plan.streamed)
					continue;
				calls.emplace_back(e, xid, shape.length);
				ASSERT_TRUE(calls.back().admit())
					<< credits << " credits";
				large += calls.back().msg.reserved;
				ASSERT_LE(large, buffers);
			}
			streamed += large;
			/* All are admitted; the last one is for a probe. */
			if (!large)
				continue;
			const u32 left = credits - large;
			ASSERT_GE(left, (credits + 3) / 4);
			for (u32 i = 0; i + 1 < left; i++) {
				calls.emplace_back(e, 100 + i, 200);
				ASSERT_TRUE(calls.back().admit());
			}
		}
	EXPECT_GT(streamed, 500u);
}

TEST(send, spare_sends__a_quarter_is_for_others_D26)
{
	Endpoint e = open_client();
	Waiting first(e, 1, 100000), second(e, 2, 80000);

	leave_credits(e, 64);
	EXPECT_EQ(e.session.spare_sends(UINT32_MAX), 48u);
	EXPECT_EQ(e.session.spare_sends(40), 40u);
	ASSERT_TRUE(first.admit());
	ASSERT_EQ(first.msg.reserved, 25u);
	EXPECT_EQ(e.session.spare_sends(UINT32_MAX), 23u);
	EXPECT_EQ(e.session.spare_sends(40), 15u) << "they need buffers, too";
	EXPECT_EQ(e.session.spare_sends(20), 0u);
	ASSERT_TRUE(second.admit());
	ASSERT_EQ(second.msg.reserved, 20u);
	EXPECT_EQ(e.session.spare_sends(UINT32_MAX), 3u);

	/* Who takes credit back has a smaller window now. */
	Endpoint other = open_client();
	for (auto [credits, spare] : { std::pair{ 17u, 12u },
				       { 16u, 12u },
				       { 3u, 2u },
				       { 1u, 0u },
				       { 0u, 0u } }) {
		leave_credits(other, credits);
		EXPECT_EQ(other.session.spare_sends(UINT32_MAX), spare);
	}
}

/* The peer may never have as many Receives as the Call has parts. */
TEST(send, admit__alone_with_less)
{
	Endpoint e = open_client();
	Waiting large(e, 1, 100000), small(e, 2);

	leave_credits(e, 1);
	ASSERT_TRUE(large.admit());
	EXPECT_FALSE(small.admit());
	ASSERT_EQ(large.send(), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(large.send(), u32{ RPCRDMA_TX_BLOCKED });
	leave_credits(e, 64);
	while (!e.tx.last)
		ASSERT_EQ(large.send(), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(large.msg.reserved, 0u);
	EXPECT_TRUE(e.session.room());
	EXPECT_TRUE(small.admit());
}

TEST(send, admit__what_is_given_up_gives_its_credits_back)
{
	Endpoint e = open_client();
	Waiting first(e, 1), second(e, 2);

	leave_credits(e, 1);
	ASSERT_TRUE(first.admit());
	EXPECT_FALSE(second.admit());
	EXPECT_TRUE(e.session.end_call(first.msg)) << "now the other may go";
	EXPECT_TRUE(e.session.room());
	EXPECT_TRUE(second.admit());
	EXPECT_EQ(second.send(), u32{ RPCRDMA_TX_MESSAGE });
}

TEST(send, admit__what_cannot_be_sent_gives_its_credits_back)
{
	Endpoint e = open_client();
	Waiting wrong(e, 1, 102), next(e, 2);

	leave_credits(e, 1);
	ASSERT_TRUE(wrong.admit());
	EXPECT_FALSE(next.admit());
	EXPECT_EQ(wrong.send(), u32{ RPCRDMA_TX_INVALID });
	EXPECT_EQ(wrong.msg.reserved, 0u);
	EXPECT_TRUE(e.session.room());
	EXPECT_TRUE(next.admit());
}

TEST(send, admit__the_reserve_stays_D16)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);

	c.reserve = 1;
	Endpoint e = open_client(c);
	Waiting first(e, 1), second(e, 2), third(e, 3);

	leave_credits(e, 3);
	EXPECT_TRUE(first.admit());
	EXPECT_TRUE(second.admit());
	EXPECT_FALSE(third.admit()) << "the last one is for a probe";
	ASSERT_EQ(first.send(), u32{ RPCRDMA_TX_MESSAGE });
	ASSERT_EQ(second.send(), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_FALSE(e.session.room());
	EXPECT_FALSE(e.session.end_call(second.msg));
	EXPECT_TRUE(e.session.end_call(first.msg));
	EXPECT_TRUE(e.session.room()) << "nothing is outstanding";
	EXPECT_TRUE(third.admit());
}

TEST(send, admit__any_call_keeps_nothing)
{
	Endpoint e = open_client();
	Waiting call(e, 1);

	leave_credits(e, 1);
	EXPECT_TRUE(e.session.admit(nullptr));
	EXPECT_TRUE(e.session.admit(nullptr));
	ASSERT_TRUE(call.admit());
	EXPECT_FALSE(e.session.admit(nullptr));
	EXPECT_TRUE(e.session.end_call(call.msg));
	EXPECT_TRUE(e.session.room());
}
