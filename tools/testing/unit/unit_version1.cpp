// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sessions that speak version 1 (RFC 8166, 8167, 8797), and how they agree on it.
 */
#include "linux_errno.h"
#include "support.h"
#include "version1.h"
#include "xdr.h"

#include <algorithm>
#include <random>

using namespace rpcrdma;
using namespace unit;

namespace
{

constexpr rpcrdma_dir kCall = RPCRDMA_CALL;
constexpr rpcrdma_dir kReply = RPCRDMA_REPLY;
/* Of a window of 64: one Receive in eight is for the reverse direction. */
constexpr u32 kForward = 56;
constexpr u32 kReverse = 8;

rpcrdma_config versions(rpcrdma_role role, u32 min, u32 max)
{
	rpcrdma_config c = config(role);

	c.min_version = min;
	c.max_version = max;
	c.local.reverse = role == RPCRDMA_ROLE_CLIENT ? RPCRDMA_RVRSDIR_CONT :
							RPCRDMA_RVRSDIR_NONE;
	return c;
}

rpcrdma_cm_private private_data(u32 send, u32 recv, bool remote_inv = false)
{
	return { send, recv, remote_inv, true, false };
}

/* A client that speaks version 1 from the beginning. */
Endpoint client_of_1()
{
	Endpoint e(versions(RPCRDMA_ROLE_CLIENT, 1, 1));

	e.session.peer_private(private_data(4096, 4096, true));
	return e;
}

/* A client that has been granted @credits. */
Endpoint granted_client(u32 credits)
{
	Endpoint e = client_of_1();
	rpcrdma_message first = message(1, kCall, 40);

	EXPECT_EQ(e.next(&first), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.receive(v1::reply(1, credits)).action,
		  u32{ RPCRDMA_RX_PAYLOAD });
	return e;
}

/* A server whose client has sent one Call. */
Endpoint server_of_1(bool remote_inv = true)
{
	Endpoint e(versions(RPCRDMA_ROLE_SERVER, 1, 2));

	e.session.peer_private(private_data(4096, 4096, remote_inv));
	EXPECT_EQ(e.receive(v1::call(1)).action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_TRUE(e.rx.opened);
	return e;
}

void expect_refused(Endpoint &e, const Words &w, u32 reason)
{
	e.receive(w);
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
	EXPECT_EQ(e.rx.reason, reason);
	EXPECT_TRUE(e.rx.kick);
	EXPECT_EQ(e.next_control(), (Words{ w[0], 1, kForward, 4, 2 }))
		<< "ERR_CHUNK";
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
}

} // namespace

/* ------------------------------------------------------------------ */
/* Which version                                                      */
/* ------------------------------------------------------------------ */

/* A server that has begun its property set in version 2 cannot lack version 2. */
TEST(version1, client__does_not_leave_version_2_once_it_is_agreed_on)
{
	for (u32 vers : { 1u, 2u }) {
		Endpoint e(versions(RPCRDMA_ROLE_CLIENT, 1, 2));

		EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
		e.receive(connprop(kServerXid, { 0 },
				   RPCRDMA2_CONNPROP_MIDDLE));
		ASSERT_EQ(e.info().version, 2u);
		e.receive(prefix(kClientXid, RPCRDMA2_ERROR, 32, vers) +
			  Words{ RPCRDMA2_ERR_VERS, 1, 1 });
		EXPECT_EQ(e.info().version, 2u) << vers;
		EXPECT_FALSE(e.rx.opened) << vers;
	}
}

TEST(version1, config__versions)
{
	const auto valid = [](u32 min, u32 max) {
		return Session::valid(versions(RPCRDMA_ROLE_CLIENT, min, max));
	};

	EXPECT_TRUE(valid(0, 0));
	EXPECT_TRUE(valid(1, 1));
	EXPECT_TRUE(valid(1, 2));
	EXPECT_TRUE(valid(2, 2));
	EXPECT_FALSE(valid(2, 1));
	EXPECT_FALSE(valid(0, 1));
	EXPECT_FALSE(valid(0, 2));
	EXPECT_FALSE(valid(1, 3));
	EXPECT_FALSE(valid(3, 3));
	EXPECT_FALSE(valid(1, 0));
}

TEST(version1, client__falls_back_on_the_same_connection_D5)
{
	for (u32 vers : { 1u, 2u }) {
		Endpoint e(versions(RPCRDMA_ROLE_CLIENT, 1, 2));
		rpcrdma_message msg = message(7, kCall, 40);

		ASSERT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
		EXPECT_EQ(word_at(e.sent, 1), 2u);
		e.receive(v1::err_vers(kClientXid, 1, 1, vers));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
		EXPECT_TRUE(e.rx.opened);
		EXPECT_TRUE(e.rx.kick);
		EXPECT_TRUE(e.session.ready());
		EXPECT_EQ(e.info().version, 1u);
		EXPECT_EQ(e.info().peer_credits, 1u) << "whatever it said";
		ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
		EXPECT_EQ(e.sent, octets({ 7, 1, kForward, 0, 0, 0, 0 }));
		EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
	}
}

TEST(version1, client__falls_back_if_version_1_is_in_the_range)
{
	static const u32 kRanges[][2] = { { 0, 1 }, { 0, 9 }, { 1, 2 } };

	for (const auto &r : kRanges) {
		Endpoint e(versions(RPCRDMA_ROLE_CLIENT, 1, 2));

		(void)e.next();
		e.receive(v1::err_vers(kClientXid, r[0], r[1], 2));
		EXPECT_TRUE(e.rx.opened);
		EXPECT_EQ(e.info().version, 1u);
	}
}

TEST(version1, client__falls_back_from_any_error_of_version_1)
{
	Endpoint e(versions(RPCRDMA_ROLE_CLIENT, 1, 2));

	(void)e.next();
	e.receive(v1::err_chunk(99));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP }) << "about nothing";
	e.receive(v1::err_chunk(kClientXid));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	EXPECT_EQ(e.info().version, 1u);
}

TEST(version1, client__nothing_in_common)
{
	const std::vector<Words> answers = {
		v1::err_vers(kClientXid, 3, 4),
		v1::err_vers(kClientXid, 2, 2),
		v1::err_vers(kClientXid, 0, 0),
		v1::prefix(kClientXid, 4) + Words{ 1, 1 }, /* cut short */
		v1::reply(kClientXid),
		{ kClientXid, 3, 32, 4, 1, 1, 1 },
	};

	for (const Words &w : answers) {
		Endpoint e(versions(RPCRDMA_ROLE_CLIENT, 1, 2));

		(void)e.next();
		e.receive(w);
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
		EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_NO_VERSION });
	}
}

TEST(version1, client__version_2_is_taken_if_both_have_it)
{
	Endpoint e(versions(RPCRDMA_ROLE_CLIENT, 1, 2));

	(void)e.next();
	e.receive(connprop(kServerXid));
	EXPECT_TRUE(e.rx.opened);
	EXPECT_EQ(e.info().version, 2u);
	/* From now on nothing of version 1 means anything. */
	e.receive(v1::reply(7));
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_VERSION_MISMATCH });
}

TEST(version1, client__one_that_offers_nothing_else)
{
	Endpoint e(versions(RPCRDMA_ROLE_CLIENT, 1, 1));
	rpcrdma_message msg = message(7, kCall, 40);

	EXPECT_TRUE(e.session.ready());
	EXPECT_EQ(e.info().version, 1u);
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(word_at(e.sent, 1), 1u);
}

TEST(version1, client__meets_a_server_of_version_2_alone)
{
	Endpoint e = client_of_1();
	rpcrdma_message msg = message(7, kCall, 40);

	(void)e.next(&msg);
	e.receive(v1::err_vers(7, 2, 2));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	EXPECT_EQ(e.rx.error, -kEPROTONOSUPPORT);
	/* Its caller has a Call with that XID. */
	EXPECT_TRUE(e.session.ready());
	EXPECT_EQ(e.session.call_refused(msg, e.rx), RPCRDMA_REASON_NO_VERSION);
	EXPECT_FALSE(e.session.ready());
}

TEST(version1, server__mirrors_the_first_message_D5)
{
	Endpoint e = server_of_1();
	rpcrdma_message msg = message(1, kReply, 40);

	EXPECT_EQ(e.info().version, 1u);
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE }) << "nothing of version 2";
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.sent, octets({ 1, 1, kForward, 0, 0, 0, 0 }));
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });

	/* A client that changes its mind is told what this connection speaks. */
	e.receive(connprop(kClientXid));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_VERSION_MISMATCH });
	EXPECT_EQ(e.next_control(),
		  (Words{ kClientXid, 2, kForward, 4, 1, 1, 1 }));
}

/* RFC 8166, section 4.5.1: only a Responder says so; and nobody about an error. */
TEST(version1, session__other_versions_that_are_not_answered)
{
	Endpoint client = granted_client(3);
	Endpoint server = server_of_1();

	client.receive(connprop(kServerXid));
	EXPECT_EQ(client.rx.action, u32{ RPCRDMA_RX_DROP });
	EXPECT_EQ(client.rx.reason, u32{ RPCRDMA_REASON_VERSION_MISMATCH });
	EXPECT_EQ(client.next(), u32{ RPCRDMA_TX_NONE });
	server.receive(unit::prefix(7, RPCRDMA2_ERROR) +
		       Words{ RPCRDMA2_ERR_SYSTEM });
	EXPECT_EQ(server.rx.action, u32{ RPCRDMA_RX_DROP });
	EXPECT_EQ(server.next(), u32{ RPCRDMA_TX_NONE });
}

TEST(version1, server__nothing_of_version_2_however_much_it_receives)
{
	Endpoint e = server_of_1();

	for (u32 i = 0; i < 1000; i++) {
		e.receive(v1::call(i));
		ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		ASSERT_FALSE(e.grant);
		ASSERT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
	}
}

TEST(version1, server__as_configured)
{
	/* One of version 1 alone, to a client that begins with version 2. */
	Endpoint one(versions(RPCRDMA_ROLE_SERVER, 1, 1));

	one.receive(connprop(kClientXid));
	EXPECT_EQ(one.rx.reason, u32{ RPCRDMA_REASON_VERSION });
	EXPECT_FALSE(one.rx.opened);
	const Words w = one.next_control();
	EXPECT_EQ(Words(w.begin() + 3, w.end()), (Words{ 4, 1, 1, 1 }));
	/* The client falls back, then, on the same connection. */
	one.receive(v1::call(7));
	EXPECT_TRUE(one.rx.opened);
	EXPECT_EQ(one.info().version, 1u);

	Endpoint both(versions(RPCRDMA_ROLE_SERVER, 1, 2));
	both.receive({ 7, 3, 32, 0, 0, 0, 0 });
	EXPECT_EQ(both.rx.reason, u32{ RPCRDMA_REASON_VERSION });
	EXPECT_EQ(both.next_control(), (Words{ 7, 3, 65, 4, 1, 1, 2 }));
	both.receive(connprop(kClientXid));
	EXPECT_EQ(both.info().version, 2u);

	Endpoint two(versions(RPCRDMA_ROLE_SERVER, 2, 2));
	two.receive(v1::call(7));
	EXPECT_EQ(two.next_control(), (Words{ 7, 1, 64, 4, 1, 2, 2 }));
}

TEST(version1, session__client_and_server_of_every_configuration)
{
	static const u32 kRanges[][2] = { { 1, 1 }, { 1, 2 }, { 2, 2 } };

	for (const auto &c : kRanges)
		for (const auto &s : kRanges) {
			Endpoint client(
				versions(RPCRDMA_ROLE_CLIENT, c[0], c[1]));
			Endpoint server(
				versions(RPCRDMA_ROLE_SERVER, s[0], s[1]));
			const u32 best = std::min(c[1], s[1]);
			const bool common = best >= c[0] && best >= s[0];
			rpcrdma_message msg = message(7, kCall, 40);

			/* What was sent, with a payload that says nothing. */
			const auto pass = [](Endpoint &from, Endpoint &to) {
				Octets o = from.sent;
				const Octets body = octets(
					rpc(7, kCall, from.tx.payload.length));

				o.insert(o.end(), body.begin(), body.end());
				to.receive_octets(o);
			};
			for (int i = 0; i < 6; i++) {
				const u32 r =
					client.next(msg.sent ? nullptr : &msg);

				if (r == RPCRDMA_TX_CONTROL ||
				    r == RPCRDMA_TX_MESSAGE)
					pass(client, server);
				if (server.next() == RPCRDMA_TX_CONTROL)
					pass(server, client);
				if (client.rx.action == RPCRDMA_RX_FAIL_RPC)
					(void)client.session.call_refused(
						msg, client.rx);
			}
			SCOPED_TRACE(testing::Message()
				     << c[0] << c[1] << s[0] << s[1]);
			EXPECT_EQ(server.session.ready(), common);
			EXPECT_EQ(client.session.ready(), common);
			if (!common)
				continue;
			EXPECT_EQ(client.info().version, best);
			EXPECT_EQ(server.info().version, best);
			EXPECT_EQ(server.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		}
}

TEST(version1, private_data__sizes)
{
	/* The smaller of one's own and the peer's, 1024 unless it says more. */
	static const struct {
		u32 recv;
		u32 max_send;
	} cases[] = { { 1024, 1024 }, { 2048, 2048 }, { 8192, 4096 } };

	for (const auto &c : cases) {
		Endpoint e(versions(RPCRDMA_ROLE_CLIENT, 1, 1));

		EXPECT_EQ(e.info().max_send, 1024u) << "the default";
		e.session.peer_private(private_data(8192, c.recv));
		EXPECT_EQ(e.info().max_send, c.max_send);
	}
	/* It may come before the version is known. */
	Endpoint e(versions(RPCRDMA_ROLE_CLIENT, 1, 2));
	e.session.peer_private(private_data(2048, 2048));
	(void)e.next();
	e.receive(v1::err_vers(kClientXid, 1, 1));
	EXPECT_EQ(e.info().max_send, 2048u);
	EXPECT_EQ(e.session.planning().max_reply, 2048u);
}

/* A peer that heeds it sends no more than the whole units it was told (RFC 8797). */
TEST(version1, private_data__size_that_is_no_multiple)
{
	rpcrdma_config config = versions(RPCRDMA_ROLE_CLIENT, 1, 1);
	config.local.recv_size = 5000;
	Endpoint e(config);

	e.session.peer_private(private_data(8192, 8192));
	EXPECT_EQ(e.session.planning().max_reply, 4096u);
	EXPECT_EQ(e.info().local.recv_size, 4096u);
}

/* Nor has it Receives for more than that. */
TEST(version1, private_data__sends_no_more_than_was_told)
{
	rpcrdma_config config = versions(RPCRDMA_ROLE_SERVER, 1, 1);
	config.local.send_size = 5000;
	Endpoint e(config);

	e.session.peer_private(private_data(8192, 8192));
	e.receive(v1::msg(kClientXid, kCall));
	EXPECT_EQ(e.info().max_send, 4096u);
}

/* ------------------------------------------------------------------ */
/* What comes in                                                      */
/* ------------------------------------------------------------------ */

TEST(version1, wire__round_trip)
{
	for (const u32 proc : { RPCRDMA1_MSG, RPCRDMA1_NOMSG })
		for (const rpcrdma_dir dir : { kCall, kReply }) {
			const bool body = proc == RPCRDMA1_NOMSG;
			Chunks c = {};
			Chunks back;
			Header h;

			if (dir == kCall) {
				c.n_call = body;
				c.call[0] = { 0xa1, 40, 1 };
				c.n_reads = 2;
				c.reads[0] = { 8, { 0xb1, 5, 2 } };
				c.reads[1] = { 16, { 0xb2, 8, 3 } };
			}
			c.n_writes = 1;
			c.writes[0] = { 1, 0 };
			c.has_reply = true;
			c.reply = { 1, 1 };
			c.n_write_segs = 2;
			c.write_segs[0] = { 0xc1, 100, 4 };
			c.write_segs[1] = { 0xd1, 40, 5 };
			h.prefix = { Xid{ 7 }, 1, 32, proc };
			h.type = &header_type_v1(proc, dir);
			Octets o(1024);
			const u32 size =
				encode(h, &c, { o.data(), u32(o.size()) });
			ASSERT_EQ(size, header_size(*h.type, &c));
			o.resize(size);
			if (!body)
				for (const u8 b : octets(rpc(7, dir, 40)))
					o.push_back(b);

			const Exact copy(o);
			Header got;
			ASSERT_TRUE(decode_prefix(copy.bytes(), got.prefix));
			ASSERT_EQ(decode_body_v1(copy.bytes(), got, back),
				  Parse::Ok);
			EXPECT_EQ(got.type, h.type);
			EXPECT_EQ(got.payload.length, body ? 0u : 40u);
			EXPECT_EQ(back.n_call, c.n_call);
			EXPECT_EQ(back.n_writes, 1u);
			EXPECT_TRUE(back.has_reply);
			const Count n = counted(back);
			EXPECT_EQ(n.read_chunks, c.n_reads);
			EXPECT_EQ(n.write_chunks, 1u);
			EXPECT_EQ(n.segments, c.n_call + c.n_reads + 2);
			EXPECT_EQ(within_limits(n, { 16, c.n_reads, 1 }),
				  Parse::Ok);
			EXPECT_EQ(within_limits(n, { 16, c.n_reads, 0 }),
				  Parse::TooManyWriteChunks);
		}
}

TEST(version1, receive__a_call)
{
	Endpoint e = server_of_1();

	e.receive(v1::call(7));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(e.rx.vers, 1u);
	EXPECT_EQ(e.rx.xid, 7u);
	EXPECT_EQ(e.rx.dir, kCall);
	EXPECT_TRUE(e.rx.last);
	EXPECT_FALSE(e.rx.external);
	EXPECT_EQ(e.rx.payload.offset, 28u);
	EXPECT_EQ(e.rx.payload.length, 40u);
	EXPECT_EQ(e.rx.stream_offset, 0u);
	EXPECT_EQ(e.rx.stream_length, 40u);
	EXPECT_EQ(e.rx.unreduced_length, 40u);
	EXPECT_EQ(e.rx.inv_handle, 0u);
	EXPECT_TRUE(no_chunks(e.rx.chunks));
}

TEST(version1, receive__a_call_with_chunks)
{
	const Words lists = v1::read_segment(8, 0xb1, 0x1000) +
			    v1::read_segment(8, 0xb2, 5) +
			    v1::read_segment(0x1010, 0xb3, 4) + Words{ 0, 1 } +
			    v1::segments(0xc1, { 0x2000, 0 }) + Words{ 1 } +
			    v1::segments(0, {}) + Words{ 0, 1 } +
			    v1::segments(0xd1, { 0x8000 });

	for (bool remote_inv : { false, true }) {
		Endpoint e = server_of_1(remote_inv);

		e.receive(v1::call(7, lists));
		ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		const Chunks &c = e.rx.chunks;
		EXPECT_EQ(c.n_call, 0u);
		ASSERT_EQ(c.n_reads, 3u);
		EXPECT_EQ(c.reads[1].position, 8u);
		EXPECT_EQ(c.reads[1].target.handle, 0xb2u);
		ASSERT_EQ(c.n_writes, 2u);
		EXPECT_EQ(c.writes[0].count, 2u);
		EXPECT_EQ(c.writes[1].count, 0u);
		EXPECT_TRUE(c.has_reply);
		EXPECT_EQ(c.write_segs[c.reply.first].handle, 0xd1u);
		EXPECT_EQ(e.rx.unreduced_length, 40u + 0x1008 + 4);
		EXPECT_EQ(e.rx.inv_handle, remote_inv ? 0xb1u : 0u);
	}
}

/* The kernel's own client has up to sixteen in each list, and in two at once. */
TEST(version1, receive__as_many_segments_in_each_list)
{
	Endpoint e = server_of_1();
	const Words sixteen(16, 4);
	Words call;
	Words reads;

	for (u32 i = 0; i < 16; i++) {
		call = call + v1::read_segment(0, 0xa1 + i, 4);
		reads = reads + v1::read_segment(8, 0xb1 + i, 4);
	}
	e.receive(v1::nomsg(7, call + reads + Words{ 0, 0, 1 } +
				       v1::segments(0xd1, sixteen)));
	ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(e.rx.chunks.n_call, 16u);
	EXPECT_EQ(e.rx.chunks.n_reads, 16u);
	EXPECT_EQ(e.rx.chunks.n_write_segs, 16u);
	EXPECT_EQ(e.rx.unreduced_length, 128u);
	e.receive(v1::msg(8, kCall, 40,
			  reads + Words{ 0, 1 } + v1::segments(0xc1, sixteen) +
				  Words{ 0, 0 }));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	/* The Reply returns them all, whatever RCSIZ a version 2 peer would hear. */
	rpcrdma_config small = versions(RPCRDMA_ROLE_SERVER, 1, 1);
	small.local.max_segments = 2;
	small.local.max_segment_size = 1;
	Endpoint s(small);
	s.receive(v1::msg(8, kCall, 40, reads + Words{ 0, 0, 0 }));
	EXPECT_EQ(s.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
}

TEST(version1, receive__a_call_by_its_chunk)
{
	Endpoint e = server_of_1();

	e.receive(v1::nomsg(7, v1::read_segment(0, 0xa1, 0x100) +
				       v1::read_segment(0, 0xa2, 0x40) +
				       v1::read_segment(0x20, 0xb1, 8) +
				       Words{ 0, 0, 0 }));
	ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(e.rx.dir, kCall);
	EXPECT_TRUE(e.rx.external);
	ASSERT_EQ(e.rx.chunks.n_call, 2u);
	EXPECT_EQ(e.rx.chunks.call[1].handle, 0xa2u);
	ASSERT_EQ(e.rx.chunks.n_reads, 1u);
	EXPECT_EQ(e.rx.stream_length, 0x140u);
	EXPECT_EQ(e.rx.unreduced_length, 0x148u);
	EXPECT_EQ(e.rx.inv_handle, 0xb1u);
}

TEST(version1, receive__replies)
{
	Endpoint e = granted_client(32);

	e.receive(v1::reply(7));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(e.rx.dir, kReply);
	EXPECT_EQ(e.rx.payload.offset, 28u);

	/* A Reply chunk that was not used comes back empty. */
	e.receive(v1::msg(7, kReply, 40,
			  Words{ 0, 1 } + v1::segments(0xc1, { 5000 }) +
				  Words{ 0, 1 } + v1::segments(0xd1, { 0 })));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_FALSE(e.rx.external);
	EXPECT_EQ(e.rx.chunks.n_writes, 1u);

	e.receive(v1::nomsg(7, Words{ 0, 0, 1 } +
				       v1::segments(0xd1, { 5000, 0 })));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(e.rx.dir, kReply);
	EXPECT_TRUE(e.rx.external);
	EXPECT_EQ(e.rx.stream_length, 5000u);
}

TEST(version1, receive__the_reverse_direction)
{
	Endpoint client = granted_client(32);
	Endpoint server = server_of_1();

	/* The RPC message says what it is (RFC 8167). */
	client.receive(v1::call(7));
	EXPECT_EQ(client.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(client.rx.dir, kCall);
	server.receive(v1::reply(7));
	EXPECT_EQ(server.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(server.rx.dir, kReply);
}

TEST(version1, receive__reverse_calls_with_chunks)
{
	const std::vector<Words> lists = {
		v1::read_segment(8, 0xb1, 8) + Words{ 0, 0, 0 },
		Words{ 0, 1 } + v1::segments(0xc1, { 8 }) + Words{ 0, 0 },
		Words{ 0, 0, 1 } + v1::segments(0xd1, { 8 }),
		/* More than there may be in either direction. */
		Words{ 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0 } +
			Words{ 0, 0 },
		Words{ 0, 1 } + v1::segments(0xc1, Words(17, 8)) +
			Words{ 0, 0 },
	};

	for (const Words &l : lists) {
		Endpoint e = granted_client(32);

		e.receive(v1::call(7, l));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
		EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_CHUNKS });
		EXPECT_EQ(e.next_control(), (Words{ 7, 1, kReverse, 4, 2 }));
	}
	/* And of a callback's Reply: it fails, and nothing is sent. */
	for (const Words &l : { lists[0], lists[3], lists[4] }) {
		Endpoint e = server_of_1();

		e.receive(v1::msg(7, kReply, 40, l));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
		EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
	}
}

TEST(version1, receive__reverse_calls_to_a_client_that_takes_none)
{
	rpcrdma_config c = versions(RPCRDMA_ROLE_CLIENT, 1, 1);

	c.local.reverse = RPCRDMA_RVRSDIR_NONE;
	Endpoint e(c);
	e.receive(v1::call(7));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
	EXPECT_EQ(e.next_control(), (Words{ 7, 1, kReverse, 4, 2 }));
}

TEST(version1, receive__short)
{
	Endpoint e = server_of_1();

	for (u32 size = 0; size < 16; size++) {
		e.receive_octets(Octets(size, 1));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
		EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_SHORT });
		EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE }) << "no answer";
	}
}

TEST(version1, receive__procedures_that_nobody_uses)
{
	Endpoint e = server_of_1();

	/* RDMA_MSGP: alignment and threshold before the lists. */
	expect_refused(e,
		       v1::prefix(7, RPCRDMA1_MSGP) + Words{ 4096, 4096 } +
			       v1::kNoLists + rpc(7, kCall, 40),
		       RPCRDMA_REASON_HTYPE);
	expect_refused(e, v1::prefix(7, 5), RPCRDMA_REASON_HTYPE);
	expect_refused(e, v1::prefix(7, UINT32_MAX), RPCRDMA_REASON_HTYPE);
	e.receive(v1::prefix(7, RPCRDMA1_DONE));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE }) << "ignored";
}

TEST(version1, receive__calls_that_lie)
{
	const Words payload = rpc(7, kCall, 40);
	const Words head = v1::prefix(7, RPCRDMA1_MSG);
	const Words body = v1::prefix(7, RPCRDMA1_NOMSG);
	const Words none = { 0, 0, 0 };
	Endpoint e = server_of_1();

	u32 number = 0;
	for (const Words &w : v1::lying_calls(7)) {
		SCOPED_TRACE(number++);
		expect_refused(e, w, RPCRDMA_REASON_XDR);
	}
	expect_refused(e, head + none + rpc(8, kCall, 40), RPCRDMA_REASON_XID);
	expect_refused(e, head + none + rpc(7, 2, 40),
		       RPCRDMA_REASON_DIRECTION);
	expect_refused(e, head + none + rpc(7, UINT32_MAX, 40),
		       RPCRDMA_REASON_DIRECTION);
	expect_refused(
		e, head + v1::read_segment(8, 0xb1, 1 << 20) + none + payload,
		RPCRDMA_REASON_TOO_LARGE);
	expect_refused(e, body + v1::read_segment(0, 0xa1, 0x80000000) + none,
		       RPCRDMA_REASON_TOO_LARGE);

	Words many = head;
	for (u32 i = 0; i < 5; i++)
		many = many + v1::read_segment(8 * (i + 1), 0xb1, 4);
	expect_refused(e, many + none + payload, RPCRDMA_REASON_CHUNKS);
	many = head;
	for (u32 i = 0; i < 17; i++)
		many = many + v1::read_segment(8, 0xb1, 4);
	expect_refused(e, many + none + payload, RPCRDMA_REASON_CHUNKS);
	many = body;
	for (u32 i = 0; i < 17; i++)
		many = many + v1::read_segment(0, 0xa1, 4);
	expect_refused(e, many + none, RPCRDMA_REASON_CHUNKS);
	expect_refused(e,
		       head + Words{ 0, 0, 1 } +
			       v1::segments(0xd1, Words(17, 4)) + payload,
		       RPCRDMA_REASON_CHUNKS);
	many = head + Words{ 0 };
	for (u32 i = 0; i < 5; i++)
		many = many + Words{ 1 } + v1::segments(0xc1, { 4 });
	expect_refused(e, many + Words{ 0, 0 } + payload,
		       RPCRDMA_REASON_CHUNKS);
	/* After all that it serves others. */
	EXPECT_EQ(e.receive(v1::call(8)).action, u32{ RPCRDMA_RX_PAYLOAD });
}

TEST(version1, receive__replies_that_lie)
{
	const std::vector<Words> bad = v1::lying_replies(7);

	for (const Words &w : bad) {
		Endpoint e = granted_client(3);
		rpcrdma_message msg = message(7, kCall, 40);

		SCOPED_TRACE(&w - bad.data());
		ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
		EXPECT_EQ(e.info().peer_credits, 2u);
		e.receive(w);
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
		EXPECT_EQ(e.rx.error, -kEIO);
		EXPECT_EQ(e.rx.xid, 7u);
		EXPECT_FALSE(e.rx.reported);
		EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE }) << "no answer";
		EXPECT_GT(e.info().peer_credits, 2u) << "its credit is back";
	}
}

TEST(version1, error__ends_the_rpc_and_gives_the_credit_back)
{
	const std::vector<Words> errors = {
		v1::err_chunk(7, 3),
		v1::prefix(7, 4, 3), /* no code */
		v1::prefix(7, 4, 3) + Words{ 7 }, /* of version 2 */
		v1::prefix(7, 4, 3) + Words{ 0xdead },
		v1::prefix(7, 4, 3) + Words{ 1, 1 },
	};

	for (const Words &w : errors) {
		Endpoint e = granted_client(3);
		rpcrdma_message msg = message(7, kCall, 40);

		ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
		e.receive(w);
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
		EXPECT_EQ(e.rx.error, w.size() > 5 ? -kEPROTONOSUPPORT : -kEIO);
		EXPECT_TRUE(e.rx.reported);
		EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
		EXPECT_EQ(e.info().peer_credits, 3u);
		e.receive(w);
		EXPECT_EQ(e.info().peer_credits, 3u) << "once";
	}
}

/* ------------------------------------------------------------------ */
/* Credits                                                            */
/* ------------------------------------------------------------------ */

TEST(version1, credit__one_call_before_the_first_reply)
{
	Endpoint e = client_of_1();
	rpcrdma_message first = message(7, kCall, 40);
	rpcrdma_message second = message(8, kCall, 40);

	ASSERT_EQ(e.next(&first), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.next(&second), u32{ RPCRDMA_TX_BLOCKED });
	e.receive(v1::reply(9, 32));
	EXPECT_EQ(e.next(&second), u32{ RPCRDMA_TX_BLOCKED }) << "to no Call";
	e.receive(v1::reply(7, 2));
	EXPECT_TRUE(e.rx.kick);
	EXPECT_EQ(e.next(&second), u32{ RPCRDMA_TX_MESSAGE });
	first = message(10, kCall, 40);
	EXPECT_EQ(e.next(&first), u32{ RPCRDMA_TX_MESSAGE });
	second = message(11, kCall, 40);
	EXPECT_EQ(e.next(&second), u32{ RPCRDMA_TX_BLOCKED });
	EXPECT_EQ(e.info().blocked, 2u);
}

TEST(version1, credit__never_more_calls_than_receives_for_their_replies)
{
	Endpoint e = granted_client(1000);
	u32 sent = 0;

	for (;; sent++) {
		rpcrdma_message msg = message(100 + sent, kCall, 40);

		if (e.next(&msg) != RPCRDMA_TX_MESSAGE)
			break;
	}
	EXPECT_EQ(sent, kForward);
}

TEST(version1, credit__replies_need_none)
{
	Endpoint client = client_of_1();
	Endpoint server = server_of_1();
	rpcrdma_message call = message(7, kCall, 40);

	ASSERT_EQ(client.next(&call), u32{ RPCRDMA_TX_MESSAGE });
	ASSERT_EQ(server.next(&(call = message(7, kCall, 40))),
		  u32{ RPCRDMA_TX_MESSAGE });
	for (u32 xid = 20; xid < 200; xid++) {
		rpcrdma_message msg = message(xid, kReply, 40);

		ASSERT_EQ(client.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
		EXPECT_EQ(word_at(client.sent, 2), kReverse);
		msg = message(xid, kReply, 40);
		ASSERT_EQ(server.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
		EXPECT_EQ(word_at(server.sent, 2), kForward);
	}
}

TEST(version1, credit__of_the_reverse_direction_is_its_own)
{
	Endpoint e = server_of_1();
	rpcrdma_message first = message(7, kCall, 40);
	rpcrdma_message second = message(8, kCall, 40);

	/* The Calls it has received grant it nothing. */
	ASSERT_EQ(e.next(&first), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(word_at(e.sent, 2), kReverse);
	EXPECT_EQ(e.next(&second), u32{ RPCRDMA_TX_BLOCKED });
	e.receive(v1::call(2));
	EXPECT_EQ(e.next(&second), u32{ RPCRDMA_TX_BLOCKED });
	e.receive(v1::reply(7, 16));
	EXPECT_TRUE(e.rx.kick);
	EXPECT_EQ(e.info().peer_credits, kReverse) << "what it can take in";
	EXPECT_EQ(e.next(&second), u32{ RPCRDMA_TX_MESSAGE });
}

/* Equal XIDs, but it is a Call: it answers none. */
TEST(version1, credit__a_reverse_call_gives_none_back)
{
	Endpoint e = granted_client(3);
	rpcrdma_message msg = message(7, kCall, 40);

	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.info().peer_credits, 2u);
	e.receive(v1::msg(7, kCall, 40, v1::kNoLists, 9));
	ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(e.info().peer_credits, 2u);
}

TEST(version1, credit__a_call_given_up_keeps_it_until_answered)
{
	Endpoint e = client_of_1();
	rpcrdma_message first = message(7, kCall, 40);
	rpcrdma_message second = message(8, kCall, 40);

	EXPECT_FALSE(e.session.end_call(second)) << "not sent";
	ASSERT_EQ(e.next(&first), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.next(&second), u32{ RPCRDMA_TX_BLOCKED });
	EXPECT_FALSE(e.session.end_call(first));
	EXPECT_FALSE(e.session.end_call(first));
	EXPECT_EQ(e.next(&second), u32{ RPCRDMA_TX_BLOCKED })
		<< "the server may have one Receive, and hold it";
	/* Its Reply comes late, and grants like any other. */
	e.receive(v1::reply(7, 2));
	EXPECT_TRUE(e.rx.kick);
	EXPECT_EQ(e.info().peer_credits, 2u);
	e.receive(v1::reply(7, 2));
	EXPECT_EQ(e.info().peer_credits, 2u) << "once";
	ASSERT_EQ(e.next(&second), u32{ RPCRDMA_TX_MESSAGE });
	e.receive(v1::reply(8, 2));
	EXPECT_EQ(e.info().peer_credits, 2u);
	EXPECT_FALSE(e.session.end_call(second)) << "it is back already";
	EXPECT_EQ(e.info().peer_credits, 2u);
}

TEST(version1, credit__calls_given_up_keep_their_receives)
{
	Endpoint e = granted_client(1000);

	for (u32 i = 0; i < kForward; i++) {
		rpcrdma_message msg = message(100 + i, kCall, 40);

		ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
		EXPECT_FALSE(e.session.end_call(msg));
	}
	rpcrdma_message msg = message(7, kCall, 40);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_BLOCKED });
	e.receive(v1::reply(100, 1000));
	EXPECT_TRUE(e.rx.kick);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
}

TEST(version1, credit__one_in_reserve_for_probes_D16)
{
	rpcrdma_config c = versions(RPCRDMA_ROLE_CLIENT, 1, 1);

	c.reserve = 1;
	Endpoint e(c);
	rpcrdma_message msg = message(1, kCall, 40);
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	e.receive(v1::reply(1, 2));
	ASSERT_EQ(e.next(&(msg = message(2, kCall, 40))),
		  u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.next(&(msg = message(3, kCall, 40))),
		  u32{ RPCRDMA_TX_BLOCKED });
	rpcrdma_message probe = message(4, kCall, 40);
	probe.probe = true;
	EXPECT_EQ(e.next(&probe), u32{ RPCRDMA_TX_MESSAGE });
	probe = message(5, kCall, 40);
	probe.probe = true;
	EXPECT_EQ(e.next(&probe), u32{ RPCRDMA_TX_BLOCKED });
	/* The grant falls to one: now a probe can go, nothing else. */
	e.receive(v1::reply(4, 2));
	EXPECT_TRUE(e.rx.kick);
	EXPECT_EQ(e.next(&probe), u32{ RPCRDMA_TX_MESSAGE });
}

TEST(version1, credit__a_window_that_grows_lets_a_probe_go_D16)
{
	rpcrdma_config c = versions(RPCRDMA_ROLE_CLIENT, 1, 1);
	u32 sent = 1;

	c.reserve = 1;
	Endpoint e(c);
	rpcrdma_message msg = message(1, kCall, 40);
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	e.receive(v1::reply(1, 256));
	const u32 window = e.info().window;
	for (;;) {
		msg = message(++sent, kCall, 40);
		msg.probe = true;
		if (e.next(&msg) == RPCRDMA_TX_BLOCKED)
			break;
	}
	EXPECT_TRUE(e.session.set_window(window + 1));
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	msg = message(++sent, kCall, 40);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_BLOCKED });
}

TEST(version1, may_wait__never)
{
	Endpoint e = server_of_1();

	(void)e.session.set_window(64);
	rpcrdma_message msg = message(1, kReply, 40);
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_FALSE(e.session.may_wait(1));
	EXPECT_FALSE(e.rx.ample);
}

TEST(version1, credit__a_window_that_changes)
{
	Endpoint e = server_of_1();
	rpcrdma_message msg = message(1, kReply, 40);

	(void)e.session.set_window(16);
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(word_at(e.sent, 2), 14u) << "two are for callbacks";
	/* Its Receives stay: the client may not have heard of it yet. */
	e.receive(v1::call(2));
	EXPECT_FALSE(e.session.retire());
	(void)e.session.set_window(3);
	ASSERT_EQ(e.next(&(msg = message(2, kReply, 40))),
		  u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(word_at(e.sent, 2), 2u);
	(void)e.session.set_window(256);
	ASSERT_EQ(e.next(&(msg = message(3, kReply, 40))),
		  u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(word_at(e.sent, 2), 240u);
}

/* ------------------------------------------------------------------ */
/* What goes out                                                      */
/* ------------------------------------------------------------------ */

TEST(version1, send__calls_with_chunks)
{
	Endpoint e = granted_client(32);
	Chunks c = {};

	c.n_reads = 1;
	c.reads[0] = { 36, { 0xb1, 5000, 0x1122334455667788 } };
	c.has_reply = true;
	c.reply = { 1, 0 };
	c.n_write_segs = 1;
	c.write_segs[0] = { 0xd1, 8000, 0x10 };
	rpcrdma_message msg = message(7, kCall, 40, &c);
	msg.inv_handle = 0xb1;
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_TRUE(e.tx.last);
	EXPECT_EQ(e.tx.htype, u32{ RPCRDMA1_MSG });
	EXPECT_EQ(e.sent,
		  octets({ 7, 1, kForward, 0, 1, 36, 0xb1, 5000, 0x11223344,
			   0x55667788, 0, 0, 1, 1, 0xd1, 8000, 0, 0x10 }));

	/* By a Call chunk: in Position zero, before the other Read chunks. */
	c.n_call = 1;
	c.call[0] = { 0xa1, 400, 1 };
	msg = message(8, kCall, 400, &c);
	msg.external = true;
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_TRUE(e.tx.first && e.tx.last);
	EXPECT_EQ(e.tx.payload.length, 0u);
	EXPECT_EQ(
		e.sent,
		octets({ 8, 1, kForward, 1,  1,	   0,	 0xa1,	     400,
			 0, 1, 1,	 36, 0xb1, 5000, 0x11223344, 0x55667788,
			 0, 0, 1,	 1,  0xd1, 8000, 0,	     0x10 }));
}

TEST(version1, send__replies_with_chunks)
{
	Endpoint e = server_of_1();
	Chunks c = {};

	c.n_writes = 1;
	c.writes[0] = { 1, 0 };
	c.has_reply = true;
	c.reply = { 1, 1 };
	c.n_write_segs = 2;
	c.write_segs[0] = { 0xc1, 5000, 0 };
	c.write_segs[1] = { 0xd1, 0, 0 };
	rpcrdma_message msg = message(7, kReply, 40, &c);
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.sent, octets({ 7, 1, kForward, 0, 0, 1, 1, 0xc1, 5000, 0, 0,
				   0, 1, 1, 0xd1, 0, 0, 0 }));

	c.write_segs[1].length = 44;
	EXPECT_EQ(e.next(&(msg = message(7, kReply, 40, &c))),
		  u32{ RPCRDMA_TX_INVALID })
		<< "used, but the message is here";
	msg = message(7, kReply, 44, &c);
	msg.external = true;
	ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.sent, octets({ 7, 1, kForward, 1, 0, 1, 1, 0xc1, 5000, 0, 0,
				   0, 1, 1, 0xd1, 44, 0, 0 }));
}

TEST(version1, send__what_does_not_fit_one_send)
{
	Endpoint client = granted_client(32);
	Endpoint server = server_of_1();
	rpcrdma_message msg = message(7, kCall, 4096 - 28);

	ASSERT_EQ(client.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_TRUE(client.tx.last);
	msg = message(8, kCall, 4096 - 24);
	EXPECT_EQ(client.next(&msg), u32{ RPCRDMA_TX_INVALID });
	msg = message(8, kReply, 4096 - 24);
	EXPECT_EQ(server.next(&msg), u32{ RPCRDMA_TX_INVALID });
	EXPECT_EQ(client.info().peer_credits, 31u) << "nothing was used up";
}

TEST(version1, send__no_chunks_in_the_reverse_direction)
{
	Endpoint e = server_of_1();
	Chunks c = {};

	c.n_reads = 1;
	c.reads[0] = { 8, { 0xb1, 8, 0 } };
	rpcrdma_message msg = message(7, kCall, 40, &c);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_INVALID });
}

TEST(version1, refuse__says_everything_by_ERR_CHUNK)
{
	Endpoint e = server_of_1();

	for (u32 code : { RPCRDMA2_ERR_BAD_XDR, RPCRDMA2_ERR_READ_CHUNKS,
			  RPCRDMA2_ERR_WRITE_RESOURCE,
			  RPCRDMA2_ERR_REPLY_RESOURCE, RPCRDMA2_ERR_SYSTEM }) {
		ASSERT_TRUE(e.session.refuse(Xid{ 7 }, { code, { 5, 6 } }));
		EXPECT_EQ(e.next_control(), (Words{ 7, 1, kForward, 4, 2 }));
		EXPECT_EQ(e.tx.errcode, code) << "for the trace";
	}
}

/* ------------------------------------------------------------------ */
/* Plans                                                              */
/* ------------------------------------------------------------------ */

namespace
{

constexpr PlanningRules kRules = {
	.ddp_threshold = 16384,
	.special_threshold = 65536,
	.max_send = 4096,
	.max_stream = 0,
	.chunks = true,
	.special = true,
	.continued = false,
	.version = 1,
	.max_reply = 4096,
};

rpcrdma_call_shape shape(u32 length, Range item, u32 result_max, u32 reply_max)
{
	return {
		.length = length,
		.item = item,
		.result_max = result_max,
		.reply_max = reply_max,
		.avoid = 0,
		.round_trip = 0,
		.sends = 0,
		.reducible = true,
		.reply_expected = true,
	};
}

rpcrdma_call_plan plan(const rpcrdma_call_shape &s,
		       const PlanningRules &rules = kRules)
{
	rpcrdma_call_plan p;

	std::memset(&p, 0xee, sizeof(p));
	plan_call(rules, s, p);
	return p;
}

} // namespace

TEST(version1, plan_call__small)
{
	const rpcrdma_call_plan p = plan(shape(200, {}, 0, 1000));

	EXPECT_FALSE(p.read_chunk || p.write_chunk || p.call_chunk ||
		     p.reply_chunk);
	EXPECT_EQ(p.stream_length, 200u);
	EXPECT_TRUE(p.chunks_required);
}

/* Not all Responders add what the Read chunk lacks. */
TEST(version1, plan_call__the_roundup_of_an_argument)
{
	PlanningRules rules = kRules;
	rpcrdma_call_shape odd = shape(120 + 8192, { 120, 8190 }, 0, 200);

	EXPECT_TRUE(plan(odd).read_chunk);
	EXPECT_EQ(plan(odd).read_pad, 0u);
	rules.read_pads = true;
	EXPECT_EQ(plan(odd, rules).read_pad, 2u);
	EXPECT_EQ(plan(odd, rules).stream_length, 120u);
	odd.item.length = 8192;
	EXPECT_EQ(plan(odd, rules).read_pad, 0u);
	/* It is in the Call chunk anyway. */
	odd.length = 8192 + 8192;
	odd.item.length = 8190;
	EXPECT_TRUE(plan(odd, rules).call_chunk);
	EXPECT_EQ(plan(odd, rules).read_pad, 0u);
}

TEST(version1, session__the_roundup_for_a_peer_without_private_data)
{
	Endpoint e(versions(RPCRDMA_ROLE_CLIENT, 1, 1));

	EXPECT_TRUE(e.session.planning().read_pads);
	e.session.peer_private(private_data(4096, 4096));
	EXPECT_FALSE(e.session.planning().read_pads);
}

TEST(version1, plan_call__an_argument_that_does_not_fit)
{
	/* Below the threshold, but there is no continuation. */
	rpcrdma_call_plan p = plan(shape(120 + 8192, { 120, 8192 }, 0, 200));
	EXPECT_TRUE(p.read_chunk);
	EXPECT_FALSE(p.call_chunk);
	EXPECT_EQ(p.stream_length, 120u);
	EXPECT_EQ(p.removed.offset, 120u);
	EXPECT_EQ(p.removed.length, 8192u);

	p = plan(shape(120 + 2048, { 120, 2048 }, 0, 200));
	EXPECT_FALSE(p.read_chunk) << "it fits";

	PlanningRules rules = kRules;
	rules.ddp_threshold = 2044;
	p = plan(shape(120 + 2048, { 120, 2048 }, 0, 200), rules);
	EXPECT_TRUE(p.read_chunk) << "somebody prefers chunks";
	rules.ddp_threshold = 2048;
	p = plan(shape(120 + 2048, { 120, 2048 }, 0, 200), rules);
	EXPECT_FALSE(p.read_chunk) << "but for larger ones";
}

TEST(version1, plan_call__what_is_no_item_and_no_result)
{
	/* Not in a multiple of four octets: nothing can be cut out there. */
	rpcrdma_call_plan p = plan(shape(8320, { 122, 8192 }, 0, 200));
	EXPECT_FALSE(p.read_chunk);
	EXPECT_TRUE(p.call_chunk);
	EXPECT_EQ(p.stream_length, 8320u);

	/* Larger than the Reply that it is in. */
	p = plan(shape(200, {}, 8192, 8000));
	EXPECT_FALSE(p.write_chunk);
	EXPECT_TRUE(p.reply_chunk);
	EXPECT_TRUE(plan(shape(200, {}, 8192, 8192)).write_chunk);
	EXPECT_FALSE(plan(shape(200, {}, UINT32_MAX, 8000)).write_chunk);
	EXPECT_FALSE(plan(shape(200, {}, UINT32_MAX - 3, 200)).write_chunk);

	/* There is none, so it is not that what makes the Call large. */
	p = plan(shape(8320, { 120, 0 }, 0, 200));
	EXPECT_FALSE(p.read_chunk);
	EXPECT_TRUE(p.call_chunk);
}

TEST(version1, plan_call__up_to_the_last_octet)
{
	for (u32 length = 3800; length <= 4200; length += 4) {
		const rpcrdma_call_plan p = plan(shape(length, {}, 0, 200));

		EXPECT_EQ(p.call_chunk, length > 4096 - 28) << length;
		EXPECT_EQ(p.stream_length, length);
	}
}

TEST(version1, plan_call__a_call_chunk_takes_everything)
{
	/* Large without its argument, or not reducible. */
	rpcrdma_call_plan p = plan(shape(20000, { 8000, 8192 }, 0, 200));
	EXPECT_TRUE(p.call_chunk);
	EXPECT_FALSE(p.read_chunk);
	EXPECT_EQ(p.removed.length, 0u);
	EXPECT_EQ(p.stream_length, 20000u);

	rpcrdma_call_shape s = shape(20000, { 120, 16384 }, 0, 200);
	s.reducible = false;
	p = plan(s);
	EXPECT_TRUE(p.call_chunk);
	EXPECT_FALSE(p.read_chunk);
}

TEST(version1, plan_call__what_may_come_back)
{
	/* A READ: the rest of its Reply fits. */
	rpcrdma_call_plan p = plan(shape(200, {}, 8192, 8192 + 200));
	EXPECT_TRUE(p.write_chunk);
	EXPECT_FALSE(p.reply_chunk);

	/* READDIR, ACLs: nothing can be taken out. */
	p = plan(shape(200, {}, 0, 5000));
	EXPECT_TRUE(p.reply_chunk);
	EXPECT_FALSE(p.write_chunk);
	EXPECT_EQ(p.reply_max, 5000u);

	/* A READ whose Reply is large without its result, or is sealed. */
	p = plan(shape(200, {}, 8192, 8192 + 5000));
	EXPECT_TRUE(p.reply_chunk);
	EXPECT_FALSE(p.write_chunk);
	rpcrdma_call_shape s = shape(200, {}, 8192, 8192 + 200);
	s.reducible = false;
	p = plan(s);
	EXPECT_TRUE(p.reply_chunk);
	EXPECT_FALSE(p.write_chunk);

	/* A small READ. */
	p = plan(shape(200, {}, 1024, 1024 + 200));
	EXPECT_FALSE(p.write_chunk || p.reply_chunk);
	PlanningRules rules = kRules;
	rules.ddp_threshold = 1024;
	EXPECT_FALSE(plan(shape(200, {}, 1024, 1024 + 200), rules).write_chunk);
	EXPECT_TRUE(plan(shape(200, {}, 1025, 1028 + 200), rules).write_chunk);
}

/* A Reply like that did not fit the Receive that it came into. */
TEST(version1, plan_call__a_reply_chunk_that_is_needed)
{
	rpcrdma_call_shape s = shape(200, {}, 0, 200);
	s.avoid = RPCRDMA_SEEN_TOO_LONG;
	rpcrdma_call_plan p = plan(s);
	EXPECT_TRUE(p.reply_chunk);
	EXPECT_FALSE(p.write_chunk);
	EXPECT_EQ(p.reply_max, 200u);

	s = shape(200, {}, 8192, 8192 + 200);
	s.avoid = RPCRDMA_SEEN_TOO_LONG;
	p = plan(s);
	EXPECT_TRUE(p.reply_chunk) << "it takes the result, too";
	EXPECT_FALSE(p.write_chunk);

	s.reply_expected = false;
	p = plan(s);
	EXPECT_FALSE(p.reply_chunk || p.write_chunk);

	/* There is no room for any Reply, or something else has been seen. */
	s = shape(200, {}, 0, 0);
	s.avoid = RPCRDMA_SEEN_TOO_LONG;
	EXPECT_FALSE(plan(s).reply_chunk);
	s = shape(200, {}, 0, 200);
	s.avoid = u32{ UINT8_MAX } & ~u32{ RPCRDMA_SEEN_TOO_LONG };
	EXPECT_FALSE(plan(s).reply_chunk);
}

TEST(version1, plan_call__replies_up_to_the_last_octet)
{
	for (u32 max = 3800; max <= 4200; max += 4)
		EXPECT_EQ(plan(shape(200, {}, 0, max)).reply_chunk,
			  max > 4096 - 28)
			<< max;
}

/*
 * What has to fit beside chunks, to the last octet: each may have sixteen segments, of
 * 24 octets in the Read list, of 16 in a Write chunk, which adds two words.
 */
TEST(version1, plan_call__beside_the_largest_chunks)
{
	constexpr u32 kHeader = 16 + 3 * 4;
	constexpr u32 kReads = 16 * 24;
	constexpr u32 kWrites = 2 * 4 + 16 * 16;

	for (u32 rest = 3600; rest <= 4100; rest++) {
		const rpcrdma_call_plan p =
			plan(shape(200, {}, 8192, 8192 + rest));

		EXPECT_EQ(p.write_chunk, rest <= 4096 - kHeader - kWrites)
			<< rest;
		EXPECT_EQ(p.reply_chunk, !p.write_chunk) << rest;
	}
	for (u32 length = 3600; length <= 4100; length += 4) {
		const Range large = { 120, 8192 };
		const Range small = { 120, 2048 };
		const u32 with_item = length + large.length;
		const u32 room = 4096 - kHeader;

		EXPECT_EQ(plan(shape(length, {}, 8192, 8392)).call_chunk,
			  length > room - kWrites)
			<< length;
		EXPECT_EQ(plan(shape(with_item, large, 0, 200)).call_chunk,
			  length > room - kReads)
			<< length;
		/* Of the segments, those of the Read list are the larger ones. */
		EXPECT_EQ(plan(shape(with_item, large, 8192, 8392)).call_chunk,
			  length > room - kReads - 2 * 4)
			<< length;
		/* An argument stays if it fits beside the others. */
		EXPECT_EQ(plan(shape(length, small, 0, 200)).read_chunk,
			  length > room)
			<< length;
		EXPECT_EQ(plan(shape(length, small, 8192, 8392)).read_chunk,
			  length > room - kWrites)
			<< length;
	}
}

TEST(version1, plan_call__sizes_of_the_peer)
{
	PlanningRules rules = kRules;

	rules.max_send = 1024;
	EXPECT_TRUE(plan(shape(1000, {}, 0, 200), rules).call_chunk);
	EXPECT_FALSE(plan(shape(1000, {}, 0, 2000), rules).reply_chunk);
	rules.max_reply = 1024;
	EXPECT_TRUE(plan(shape(200, {}, 0, 1000), rules).reply_chunk);
	/* A Call that fits only without room for chunks. */
	const rpcrdma_call_plan p = plan(shape(900, {}, 0, 2000), rules);
	EXPECT_TRUE(p.reply_chunk);
	EXPECT_TRUE(p.call_chunk);
}

TEST(version1, plan_call__no_chunks_where_they_are_forbidden)
{
	PlanningRules rules = kRules;
	rpcrdma_call_shape s = shape(20000, { 120, 16384 }, 50000, 60000);

	s.reply_expected = false;
	rpcrdma_call_plan p = plan(s);
	EXPECT_FALSE(p.read_chunk || p.write_chunk || p.call_chunk ||
		     p.reply_chunk);
	s.reply_expected = true;
	rules.chunks = false;
	p = plan(s, rules);
	EXPECT_FALSE(p.read_chunk || p.write_chunk || p.call_chunk ||
		     p.reply_chunk);
}

/* Whatever is planned can be sent, with as many segments as there can be. */
TEST(version1, plan_call__random_plans_fit)
{
	std::mt19937 random(1);

	for (int i = 0; i < 20000; i++) {
		const u32 send = 1024u << random() % 3;
		Endpoint e = granted_client(32);
		rpcrdma_call_shape s = {};
		Chunks c = {};

		e.session.peer_private(private_data(send, send));
		s.item.offset = 4 * (1 + random() % 300);
		s.item.length = random() % 3 ? random() % 20000 : 0;
		s.length = s.item.offset + u32(xdr_roundup(s.item.length)) +
			   4 * (random() % 50);
		s.result_max = random() % 2 ? random() % 20000 : 0;
		s.reply_max =
			u32(xdr_roundup(s.result_max)) + 4 * (random() % 2000);
		s.reducible = random() % 2;
		s.reply_expected = true;
		rpcrdma_call_plan p;
		plan_call(e.session.planning(), s, p);

		ASSERT_FALSE(p.write_chunk && p.reply_chunk);
		ASSERT_FALSE(p.read_chunk && p.call_chunk);
		const u32 share =
			(p.read_chunk || p.call_chunk) &&
					(p.write_chunk || p.reply_chunk) ?
				1 + random() % 15 :
				16;
		for (u32 k = 0; p.read_chunk && k < share; k++)
			c.reads[c.n_reads++] = { s.item.offset, { k, 0, 0 } };
		if (p.read_chunk)
			c.reads[0].target.length = s.item.length;
		for (u32 k = 0; p.call_chunk && k < share; k++)
			c.call[c.n_call++] = { k, 0, 0 };
		if (p.call_chunk)
			c.call[0].length = p.stream_length;
		const u32 rest = 16 - c.n_call - c.n_reads;
		if (p.write_chunk || p.reply_chunk)
			c.n_write_segs = rest;
		if (p.write_chunk) {
			c.n_writes = 1;
			c.writes[0] = { rest, 0 };
		}
		if (p.reply_chunk) {
			c.has_reply = true;
			c.reply = { rest, 0 };
		}
		rpcrdma_message msg = message(7, kCall, p.stream_length, &c);
		msg.external = p.call_chunk;
		ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE })
			<< send << " " << s.length;
		ASSERT_LE(e.tx.header_length + e.tx.payload.length, send);
	}
}

namespace
{

Chunks offered(u32 write, u32 reply)
{
	Chunks c = {};

	if (write) {
		c.n_writes = 1;
		c.writes[0] = { 1, c.n_write_segs };
		c.write_segs[c.n_write_segs++] = { 0xc1, write, 0x1000 };
	}
	if (reply) {
		c.has_reply = true;
		c.reply = { 2, c.n_write_segs };
		c.write_segs[c.n_write_segs++] = { 0xd1, 100, 0x2000 };
		c.write_segs[c.n_write_segs++] = { 0xd2, reply - 100, 0x3000 };
	}
	return c;
}

rpcrdma_reply_plan reply_plan(const Chunks &c, u32 length,
			      std::vector<Range> results = {})
{
	rpcrdma_reply_plan p;

	std::memset(&p, 0xee, sizeof(p));
	plan_reply(kRules, c, length, { results.data(), u32(results.size()) },
		   p);
	return p;
}

} // namespace

TEST(version1, plan_reply__inline_returns_the_reply_chunk_unused)
{
	const rpcrdma_reply_plan p = reply_plan(offered(0, 8000), 200);

	EXPECT_EQ(p.errcode, 0u);
	EXPECT_FALSE(p.external);
	EXPECT_EQ(p.n_jobs, 0u);
	ASSERT_TRUE(p.chunks.has_reply);
	ASSERT_EQ(p.chunks.reply.count, 2u);
	EXPECT_EQ(p.chunks.write_segs[0].handle, 0xd1u);
	EXPECT_EQ(p.chunks.write_segs[0].length, 0u);
	EXPECT_EQ(p.chunks.write_segs[1].length, 0u);
}

TEST(version1, plan_reply__in_the_reply_chunk)
{
	const rpcrdma_reply_plan p = reply_plan(offered(0, 8000), 5000);

	EXPECT_EQ(p.errcode, 0u);
	EXPECT_TRUE(p.external);
	ASSERT_EQ(p.n_jobs, 2u);
	EXPECT_EQ(p.jobs[0].source.length, 100u);
	EXPECT_EQ(p.jobs[1].source.offset, 100u);
	EXPECT_EQ(p.jobs[1].source.length, 4900u);
	EXPECT_EQ(p.chunks.write_segs[1].length, 4900u);
}

TEST(version1, plan_reply__with_a_write_chunk)
{
	const rpcrdma_reply_plan p =
		reply_plan(offered(8192, 0), 8000, { { 100, 7001 } });

	EXPECT_EQ(p.errcode, 0u);
	EXPECT_FALSE(p.external);
	ASSERT_EQ(p.n_jobs, 1u);
	EXPECT_EQ(p.jobs[0].source.length, 7001u);
	EXPECT_EQ(p.stream_length, 8000u - 7004);
	EXPECT_EQ(p.chunks.write_segs[0].length, 7001u);
}

TEST(version1, plan_reply__nowhere_to_put_it)
{
	EXPECT_NE(reply_plan(offered(0, 4996), 5000).errcode, 0u);
	EXPECT_NE(reply_plan(Chunks{}, 5000).errcode, 0u);
	EXPECT_NE(reply_plan(offered(6999, 0), 8000, { { 100, 7001 } }).errcode,
		  0u);
	EXPECT_EQ(reply_plan(Chunks{}, 4096 - 28).errcode, 0u);
	EXPECT_NE(reply_plan(Chunks{}, 4096 - 24).errcode, 0u);
}

/* A client that has not said how large its Receives are, and offers no chunk. */
TEST(version1, plan_reply__what_its_client_made_no_room_for)
{
	Endpoint e(versions(RPCRDMA_ROLE_SERVER, 1, 2));
	const auto planned = [&](const Chunks &c, u32 length) {
		rpcrdma_reply_plan p;

		plan_reply(e.session.planning(), c, length, {}, p);
		EXPECT_FALSE(p.external);
		return p.errcode;
	};

	EXPECT_EQ(e.receive(v1::call(1)).action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(e.info().max_send, 1024u);
	EXPECT_EQ(planned(Chunks{}, 1064), 0u);
	EXPECT_EQ(planned(Chunks{}, 4096 - 28), 0u) << "one Send of this side";
	EXPECT_NE(planned(Chunks{}, 4096 - 24), 0u);
	EXPECT_NE(planned(offered(0, 500), 1064), 0u) << "it has offered one";
	rpcrdma_message msg = message(1, kReply, 4096 - 28);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_EQ(e.tx.payload.length, 4096u - 28);
	/* Its Calls are another matter. */
	msg = message(2, kCall, 1064);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_INVALID });
	/* Who has said it is believed. */
	e.session.peer_private(private_data(1024, 1024));
	EXPECT_EQ(planned(Chunks{}, 1024 - 28), 0u);
	EXPECT_NE(planned(Chunks{}, 1064), 0u);
	msg = message(3, kReply, 1064);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_INVALID });
}

/* ------------------------------------------------------------------ */
/* All together                                                       */
/* ------------------------------------------------------------------ */

namespace
{

/*
 * Two sessions and exactly as many Receives as they have. Each side makes Calls,
 * answers those of the other sooner or later, and loses patience with its own.
 */
class Pair {
public:
	explicit Pair(u32 seed)
		: random_(seed)
	{
		const u32 window = 3 + random_() % 30;

		for (u32 i = 0; i < 2; i++) {
			rpcrdma_config c = versions(i ? RPCRDMA_ROLE_SERVER :
							RPCRDMA_ROLE_CLIENT,
						    1, 1);

			c.window = window + random_() % 3;
			c.reserve = !i && random_() % 2;
			side_[i].session = std::make_unique<Session>(c);
			side_[i].posted = c.window + 1;
			side_[i].calls = 20 + random_() % 60;
		}
	}

	void run()
	{
		for (u32 step = 0; step < 200000; step++) {
			const u32 i = random_() % 2;
			Side &s = side_[i];

			switch (random_() % 6) {
			case 0:
			case 1:
				if (!s.inbound.empty())
					deliver(i);
				break;
			case 2:
			case 3:
				send(i);
				break;
			case 4:
				if (s.held)
					release(s);
				break;
			default:
				if (random_() % 8 == 0 && !s.mine.empty())
					abandon(s);
				break;
			}
			if (::testing::Test::HasFatalFailure() || done())
				return;
		}
		FAIL() << "it does not end";
	}

	u32 late = 0;

private:
	struct Side {
		std::unique_ptr<Session> session;
		std::vector<Octets> inbound;
		std::vector<u32> owed; /* Calls to be answered */
		/* Calls that wait for a Reply */
		std::vector<rpcrdma_message> mine;
		u32 posted;
		u32 held = 0;
		u32 calls;
		u32 next_xid = 1;
	};

	[[nodiscard]] bool done() const
	{
		for (const Side &s : side_)
			if (s.calls || !s.inbound.empty() || !s.owed.empty() ||
			    !s.mine.empty() || s.held)
				return false;
		return true;
	}

	void send(u32 i)
	{
		Side &s = side_[i];
		const bool answer =
			!s.owed.empty() && (!s.calls || random_() % 2);
		const u32 at = answer ? u32(random_() % s.owed.size()) : 0;
		rpcrdma_message msg = answer ? message(s.owed[at], kReply, 40) :
					       message(s.next_xid, kCall, 40);
		u8 buffer[4096];
		rpcrdma_tx tx;

		if (!answer && !s.calls)
			return;
		/* The Reply frees a credit: the Receive has to be there. */
		while (answer && s.held)
			release(s);
		const u32 result = s.session->next_send(
			&msg, { buffer, sizeof(buffer) }, tx);
		if (result == RPCRDMA_TX_BLOCKED) {
			ASSERT_FALSE(answer);
			return;
		}
		ASSERT_EQ(result, u32{ RPCRDMA_TX_MESSAGE });
		Octets o(buffer, buffer + tx.header_length);
		for (const u8 b : octets(rpc(msg.xid, msg.dir, 40)))
			o.push_back(b);
		side_[1 - i].inbound.push_back(o);
		if (answer) {
			s.owed.erase(s.owed.begin() + at);
			return;
		}
		s.mine.push_back(msg);
		s.next_xid++;
		s.calls--;
	}

	void deliver(u32 i)
	{
		Side &s = side_[i];
		const Exact copy(s.inbound.front());
		rpcrdma_rx rx;

		s.inbound.erase(s.inbound.begin());

		ASSERT_GT(s.posted, 0u) << "no Receive for it";
		s.posted--;
		s.held++;
		s.session->receive(copy.bytes(), rx);
		ASSERT_EQ(rx.action, u32{ RPCRDMA_RX_PAYLOAD }) << rx.reason;
		if (rx.dir == kCall)
			return s.owed.push_back(rx.xid);
		const auto at = std::find_if(
			s.mine.begin(), s.mine.end(),
			[&](const auto &m) { return m.xid == rx.xid; });
		if (at == s.mine.end()) {
			late++;
		} else {
			(void)s.session->end_call(*at);
			s.mine.erase(at);
		}
		/* A Receive that held a Reply is posted again at once. */
		release(s);
	}

	static void release(Side &s)
	{
		s.held--;
		s.posted++;
		ASSERT_FALSE(s.session->retire());
		ASSERT_FALSE(s.session->release(1));
	}

	void abandon(Side &s)
	{
		const u32 at = u32(random_() % s.mine.size());

		(void)s.session->end_call(s.mine[at]);
		s.mine.erase(s.mine.begin() + at);
	}

	std::mt19937 random_;
	Side side_[2];
};

} // namespace

TEST(version1, pair__everything_is_answered_and_no_receive_is_missing)
{
	u32 late = 0;

	for (u32 seed = 1; seed <= 300; seed++) {
		Pair p(seed);

		p.run();
		late += p.late;
		if (::testing::Test::HasFatalFailure())
			FAIL() << "seed " << seed;
	}
	EXPECT_GT(late, 50u);
}

namespace
{

std::vector<Words> samples()
{
	const Words reads =
		v1::read_segment(8, 0xb1, 8) + v1::read_segment(8, 0xb2, 4);
	const Words results = Words{ 0, 1 } + v1::segments(0xc1, { 8, 8 }) +
			      Words{ 0, 1 } + v1::segments(0xd1, { 40 });

	return {
		v1::call(7),
		v1::call(7, reads + results),
		v1::reply(7),
		v1::msg(7, kReply, 40, results),
		v1::nomsg(7, v1::read_segment(0, 0xa1, 40) + reads + results),
		v1::nomsg(7, results),
		v1::err_vers(7, 1, 1),
		v1::err_chunk(7),
		v1::prefix(7, RPCRDMA1_DONE),
		v1::prefix(7, RPCRDMA1_MSGP) + Words{ 4, 4 } + v1::kNoLists,
	};
}

void expect_survives(const Octets &o)
{
	static const Endpoint client = granted_client(4);
	static const Endpoint server = server_of_1();
	Endpoint sides[] = { client, server };

	for (Endpoint &e : sides) {
		e.receive_octets(o);
		ASSERT_NE(e.rx.reason, u32{ RPCRDMA_REASON_INVARIANT });
		if (e.rx.action == RPCRDMA_RX_PAYLOAD) {
			ASSERT_LE(u64{ e.rx.payload.offset } +
					  e.rx.payload.length,
				  o.size());
			ASSERT_TRUE(well_formed(e.rx.chunks));
			ASSERT_LE(e.rx.unreduced_length, 1u << 20);
			ASSERT_TRUE(e.rx.last);
			rpcrdma_piece p[RPCRDMA_MAX_PIECES];
			ASSERT_LE(
				layout_call(e.rx.chunks, e.rx.stream_length, p),
				u32{ RPCRDMA_MAX_PIECES });
		}
		/* At most one answer, and nothing but an error. */
		const u32 result = e.next();
		if (result == RPCRDMA_TX_CONTROL) {
			ASSERT_EQ(e.tx.htype, u32{ RPCRDMA2_ERROR });
			ASSERT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
		}
	}
}

} // namespace

TEST(version1, mutation__every_truncation)
{
	for (const Words &w : samples()) {
		const Octets whole = octets(w);

		for (u32 size = 0; size <= whole.size(); size++)
			expect_survives(
				Octets(whole.begin(), whole.begin() + size));
	}
}

TEST(version1, mutation__every_bit)
{
	for (const Words &w : samples())
		for (u32 bit = 0; bit < 32 * w.size(); bit++) {
			Octets o = octets(w);

			o[bit / 8] ^= u8(1u << bit % 8);
			expect_survives(o);
		}
}

TEST(version1, mutation__every_word_at_its_extremes)
{
	for (const Words &sample : samples())
		for (u32 at = 0; at < sample.size(); at++)
			for (u32 value :
			     { 0u, 1u, 2u, 3u, 17u, 0x7fffffffu, 0x80000000u,
			       0xfffffffcu, UINT32_MAX }) {
				Words w = sample;

				w[at] = value;
				expect_survives(octets(w));
			}
}
