// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How a session handles received messages after the connection is open.
 */
#include "golden.h"
#include "linux_errno.h"

using namespace rpcrdma;
using namespace unit;

namespace
{

constexpr rpcrdma_dir kCall = RPCRDMA_CALL;
constexpr rpcrdma_dir kReply = RPCRDMA_REPLY;

void expect_dropped(const Endpoint &e, u32 reason)
{
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
	EXPECT_EQ(e.rx.reason, reason);
}

void expect_failed(const Endpoint &e, u32 reason, u32 code, s32 error = -kEIO)
{
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	EXPECT_EQ(e.rx.reason, reason);
	EXPECT_EQ(e.rx.errcode, code);
	EXPECT_EQ(e.rx.error, error);
}

Words call_with(const Words &lists, const Words &payload)
{
	return prefix(payload[0], RPCRDMA2_CALL_INLINE) + Words{ 0 } + lists +
	       payload;
}

/* A Read list of one segment. */
Words read_at(u32 position, u32 length)
{
	return { 1, position, 0xaa, length, 0, 0, 0, 0, 0 };
}

} // namespace

TEST(receive, short__dropped_and_counted_D4)
{
	for (u32 size = 0; size < 16; size++) {
		Endpoint e = open_server();
		const u32 before = e.info().received;

		e.receive_octets(Octets(size, 2));
		expect_dropped(e, RPCRDMA_REASON_SHORT);
		EXPECT_EQ(e.info().received, before + 1);
		EXPECT_FALSE(e.rx.kick);
		EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE }) << "no answer";
	}
}

TEST(receive, htype__unknown_D7)
{
	Endpoint client = open_client();
	Endpoint server = open_server();

	for (Endpoint *e : { &client, &server })
		for (u32 htype : { 0u, 1u, 3u, 14u, 0xffffff0fu, UINT32_MAX }) {
			e->receive(prefix(7, htype) + Words{ 1, 2, 3 });
			expect_dropped(*e, RPCRDMA_REASON_HTYPE);
			/* Though version 1 has some of these. */
			EXPECT_EQ(e->rx.type, u32{ RPCRDMA_TYPE_UNKNOWN });
			EXPECT_TRUE(e->rx.kick);
			EXPECT_EQ(e->next_error(7),
				  Words{ RPCRDMA2_ERR_INVAL_HTYPE });
		}
}

TEST(receive, simple__a_call)
{
	Endpoint e = open_server();

	e.receive(call_inline(7, rpc(7, kCall, 128)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(e.rx.xid, 7u);
	EXPECT_EQ(e.rx.vers, 2u);
	EXPECT_EQ(e.rx.htype, u32{ RPCRDMA2_CALL_INLINE });
	EXPECT_EQ(e.rx.dir, kCall);
	EXPECT_TRUE(e.rx.last);
	EXPECT_FALSE(e.rx.external);
	EXPECT_FALSE(e.rx.abandon);
	EXPECT_EQ(e.rx.payload.offset, 32u);
	EXPECT_EQ(e.rx.payload.length, 128u);
	EXPECT_EQ(e.rx.stream_offset, 0u);
	EXPECT_EQ(e.rx.stream_length, 128u);
	EXPECT_EQ(e.rx.unreduced_length, 128u);
	EXPECT_EQ(e.rx.inv_handle, 0u);
	EXPECT_TRUE(no_chunks(e.rx.chunks));
}

TEST(receive, simple__a_call_with_chunks)
{
	Endpoint e = open_server();

	for (const Golden &g : goldens()) {
		if (g.htype != RPCRDMA2_CALL_INLINE)
			continue;
		e.receive_octets(g.message());
		ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		EXPECT_EQ(e.rx.inv_handle, 0xd1u);
		EXPECT_EQ(e.rx.stream_length, 16u);
		EXPECT_EQ(e.rx.unreduced_length, 16u + 0x1008 + 4);
		EXPECT_EQ(e.rx.chunks.n_reads, 3u);
		EXPECT_EQ(e.rx.chunks.n_writes, 2u);
		EXPECT_TRUE(e.rx.chunks.has_reply);
	}
}

TEST(receive, simple__a_reply)
{
	Endpoint e = open_client();

	e.receive(reply_inline(7, rpc(7, kReply, 128)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(e.rx.dir, kReply);
	EXPECT_EQ(e.rx.payload.offset, 20u);
	EXPECT_EQ(e.rx.stream_length, 128u);
}

TEST(receive, simple__the_smallest_payload)
{
	Endpoint e = open_server();

	/* What it is about and of which direction it is does not fit less. */
	e.receive(call_inline(7, { 7 }));
	expect_dropped(e, RPCRDMA_REASON_XDR);
	EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_BAD_XDR });
	e.receive(call_inline(7, { 7, kCall }));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(e.rx.stream_length, 8u);
}

TEST(receive, malformed__a_call_is_answered)
{
	const std::vector<Words> bad = {
		prefix(7, RPCRDMA2_CALL_INLINE),
		prefix(7, RPCRDMA2_CALL_INLINE) + Words{ 0, 0, 0, 0 },
		prefix(7, RPCRDMA2_CALL_INLINE) + Words{ 0, 2, 0, 0, 7, 0 },
		prefix(7, RPCRDMA2_CALL_INLINE) + Words{ 9, 0, 0, 0, 7, 0 },
		prefix(7, RPCRDMA2_CALL_MIDDLE) + Words{ 8 },
	};
	Endpoint e = open_server();

	for (const Words &w : bad) {
		e.receive(w);
		expect_dropped(e, RPCRDMA_REASON_XDR);
		EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_BAD_XDR });
	}
}

/* What the reason leaves open, and where in the header that is. */
TEST(receive, malformed__the_detail_says_what)
{
	const struct {
		Words message;
		const char *detail;
		u32 at;
	} cases[] = {
		{ prefix(7, RPCRDMA2_CALL_INLINE), kUnreadable, 16 },
		{ prefix(7, RPCRDMA2_CALL_INLINE) + Words{ 0, 2, 0, 0, 7, 0 },
		  kUnreadable, 20 },
		{ call_inline(7, { 7 }), kTooShort, 32 },
		{ call_inline(7, rpc(8, kCall, 40)),
		  "the message's xid is not the header's", 32 },
		{ call_inline(7, rpc(7, kReply, 40)),
		  "the message's msg_type is not that of the header", 32 },
		{ prefix(7, 14), "no such type", 0 },
		{ prefix(7, RPCRDMA2_GRANT) + Words{ 0 },
		  "something follows a GRANT", 0 },
		{ Words{ 7, 3, 32, RPCRDMA2_CALL_INLINE },
		  "not the version of this connection", 0 },
	};

	for (const auto &one : cases) {
		Endpoint e = open_server();

		e.receive(one.message);
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
		EXPECT_STREQ(e.rx.detail, one.detail);
		EXPECT_EQ(e.rx.detail_at, one.at) << one.detail;
		e.receive(call_inline(9, rpc(9, kCall, 40)));
		EXPECT_EQ(e.rx.detail, nullptr);
		EXPECT_EQ(e.rx.detail_at, 0u);
	}
}

TEST(receive, malformed__a_reply_fails_its_rpc_D6)
{
	const std::vector<Words> bad = {
		prefix(7, RPCRDMA2_REPLY_INLINE),
		prefix(7, RPCRDMA2_REPLY_INLINE) + Words{ 0 },
		prefix(7, RPCRDMA2_REPLY_INLINE) + Words{ 2, 7, 1 },
		prefix(7, RPCRDMA2_REPLY_MIDDLE) + Words{ 8 },
	};

	for (const Words &w : bad) {
		Endpoint e = open_client();

		e.receive(w);
		expect_failed(e, RPCRDMA_REASON_XDR, RPCRDMA2_ERR_BAD_XDR);
		EXPECT_EQ(e.rx.xid, 7u);
		EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE }) << "no answer";
	}
}

TEST(receive, first_words__xid)
{
	Endpoint server = open_server();
	Endpoint client = open_client();

	server.receive(call_inline(7, rpc(8, kCall, 40)));
	expect_dropped(server, RPCRDMA_REASON_XID);
	EXPECT_EQ(server.next_error(7), Words{ RPCRDMA2_ERR_BAD_XDR });
	client.receive(reply_inline(7, rpc(8, kReply, 40)));
	expect_failed(client, RPCRDMA_REASON_XID, RPCRDMA2_ERR_BAD_XDR);
}

TEST(receive, first_words__direction)
{
	Endpoint server = open_server();
	Endpoint client = open_client();

	server.receive(call_inline(7, rpc(7, kReply, 40)));
	expect_dropped(server, RPCRDMA_REASON_DIRECTION);
	EXPECT_EQ(server.next_error(7), Words{ RPCRDMA2_ERR_BAD_XDR });
	client.receive(reply_inline(7, rpc(7, kCall, 40)));
	expect_failed(client, RPCRDMA_REASON_DIRECTION, RPCRDMA2_ERR_BAD_XDR);
}

TEST(receive, first_words__are_all_there_is)
{
	Endpoint e = open_server();

	e.receive(call_inline(7, { 7, kReply }));
	expect_dropped(e, RPCRDMA_REASON_DIRECTION);
	e.receive(call_inline(7, { 7, kCall }));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
}

TEST(receive, first_words__only_of_the_first_fragment)
{
	Endpoint e = open_server();

	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 8, { 7, kCall }));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	e.receive(call_inline(7, { 1234, 5678 }));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_TRUE(e.rx.last);
}

TEST(receive, first_words__the_direction_in_the_second_fragment)
{
	Endpoint e = open_server();

	for (u32 dir : { u32{ kCall }, u32{ kReply }, 1234u }) {
		e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 40, { 7 }));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 36, { dir }));
		if (dir == kCall) {
			EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		} else {
			expect_dropped(e, RPCRDMA_REASON_DIRECTION);
			EXPECT_TRUE(e.rx.abandon);
			EXPECT_EQ(e.next_error(7),
				  Words{ RPCRDMA2_ERR_BAD_XDR });
		}
		/* Words further on are anything. */
		e.receive(call_inline(7, Words(9)));
		if (dir == kCall)
			EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		else
			expect_dropped(e, RPCRDMA_REASON_DISCARDING);
	}
}

TEST(receive, first_words__a_fragment_has_one_at_least)
{
	for (const Words &empty :
	     { middle(RPCRDMA2_CALL_MIDDLE, 7, 36, {}), call_inline(7, {}) }) {
		Endpoint e = open_server();

		e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 40, { 7 }));
		e.receive(empty);
		expect_dropped(e, RPCRDMA_REASON_XDR);
		EXPECT_TRUE(e.rx.abandon);
		EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_BAD_XDR });
	}
}

TEST(receive, first_words__of_a_middle)
{
	Endpoint e = open_server();

	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 40, rpc(8, kCall, 40)));
	expect_dropped(e, RPCRDMA_REASON_XID);
	EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_BAD_XDR });
	EXPECT_FALSE(e.rx.abandon);
	e.receive(call_inline(7, rpc(8, kCall, 40)));
	expect_dropped(e, RPCRDMA_REASON_DISCARDING);
}

TEST(receive, reads__checked_against_the_stream_D7)
{
	Endpoint e = open_server();
	const Words stream = rpc(7, kCall, 40);

	for (u32 position : { 4u, 40u }) {
		e.receive(call_with(read_at(position, 10), stream));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		EXPECT_EQ(e.rx.unreduced_length, 52u);
	}
	for (u32 position : { 0u, 2u, 44u }) {
		e.receive(call_with(read_at(position, 10), stream));
		expect_dropped(e, RPCRDMA_REASON_XDR);
		EXPECT_FALSE(e.rx.abandon) << "nothing was begun";
		EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_BAD_XDR });
	}
}

TEST(receive, reads__message_beyond_the_bound)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_SERVER);

	c.max_message = 4096;
	c.local.max_segment_size = UINT32_MAX;
	Endpoint e = open_server(c);
	e.receive(call_with(read_at(8, 4096 - 40), rpc(7, kCall, 40)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(e.rx.unreduced_length, 4096u);
	/* Its header parses, so it is not told that it does not. */
	for (u32 length : { 4096u - 39, UINT32_MAX }) {
		e.receive(call_with(read_at(8, length), rpc(7, kCall, 40)));
		expect_dropped(e, RPCRDMA_REASON_TOO_LARGE);
		EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_SYSTEM });
	}
	e.receive(call_inline(7, rpc(7, kCall, 4100)));
	expect_dropped(e, RPCRDMA_REASON_TOO_LARGE);
	EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_SYSTEM });
	/* In parts, it is 7.1.4 that says what it is told. */
	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 40, rpc(7, kCall, 40)));
	e.receive(call_with(read_at(8, 4096 - 79), rpc(7, kCall, 40)));
	expect_dropped(e, RPCRDMA_REASON_TOO_LARGE);
	EXPECT_TRUE(e.rx.abandon);
	EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_INVAL_CONT });
}

TEST(receive, chunks__more_than_advertised_D7)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_SERVER);
	const Words stream = rpc(7, kCall, 40);
	Words reads;
	Words writes;

	c.max_read_chunks = 2;
	c.max_write_chunks = 1;
	c.local.max_segments = 3;
	Endpoint e = open_server(c);
	for (u32 i = 1; i <= 3; i++) {
		reads = reads + Words{ 1, 4 * i, i, 0, 0, 0 };
		writes = writes + Words{ 1, 0 };
	}
	e.receive(call_with(reads + Words{ 0, 0, 0 }, stream));
	expect_dropped(e, RPCRDMA_REASON_CHUNKS);
	EXPECT_EQ(e.next_error(7), (Words{ RPCRDMA2_ERR_READ_CHUNKS, 2 }));

	e.receive(call_with(Words{ 0 } + writes + Words{ 0, 0 }, stream));
	expect_dropped(e, RPCRDMA_REASON_CHUNKS);
	EXPECT_EQ(e.next_error(7), (Words{ RPCRDMA2_ERR_WRITE_CHUNKS, 1 }));

	Words segments = { 0, 1, 4 };
	for (u32 i = 0; i < 4; i++)
		segments = segments + Words{ i, 4, 0, 0 };
	e.receive(call_with(segments + Words{ 0, 0 }, stream));
	expect_dropped(e, RPCRDMA_REASON_CHUNKS);
	EXPECT_EQ(e.next_error(7), (Words{ RPCRDMA2_ERR_SEGMENTS, 3 }));
}

/* Property Maximum Segment Size (5.2.3): in every list of a Call. */
TEST(receive, chunks__larger_segments_than_advertised_D7)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_SERVER);
	const Words stream = rpc(7, kCall, 40);

	c.local.max_segment_size = 5000;
	Endpoint e = open_server(c);
	for (u32 length : { 5000u, 5004u, UINT32_MAX }) {
		const std::vector<Words> calls = {
			call_with(read_at(8, length), stream),
			call_with({ 0, 1, 1, 0xc1, length, 0, 0, 0, 0 },
				  stream),
			call_with({ 0, 0, 1, 1, 0xd1, length, 0, 0 }, stream),
			prefix(7, RPCRDMA2_CALL_EXTERNAL) +
				Words{ 0, 1, 0, 9, length, 0, 0, 0, 0, 0, 0 },
		};

		for (const Words &w : calls) {
			e.receive(w);
			if (length == 5000) {
				EXPECT_EQ(e.rx.action,
					  u32{ RPCRDMA_RX_PAYLOAD });
				continue;
			}
			expect_dropped(e, RPCRDMA_REASON_CHUNKS);
			EXPECT_EQ(e.next_error(7),
				  Words{ RPCRDMA2_ERR_SYSTEM });
		}
	}
	/* A Reply returns what its Call has offered. */
	rpcrdma_config own = config(RPCRDMA_ROLE_CLIENT);
	own.local.max_segment_size = 5000;
	Endpoint client = open_client(own);
	client.receive(prefix(7, RPCRDMA2_REPLY_INLINE) +
		       Words{ 1, 1, 0xc1, 5004, 0, 0, 0 } + rpc(7, kReply, 40));
	EXPECT_EQ(client.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
}

TEST(receive, chunks__in_a_reply_beyond_the_arrays)
{
	Endpoint e = open_client();
	Words w = prefix(7, RPCRDMA2_REPLY_INLINE);

	for (u32 i = 0; i < 9; i++)
		w = w + Words{ 1, 0 };
	e.receive(w + Words{ 0 } + rpc(7, kReply, 40));
	expect_failed(e, RPCRDMA_REASON_CHUNKS, RPCRDMA2_ERR_WRITE_CHUNKS);
	Endpoint simple = open_client_reverse(RPCRDMA_RVRSDIR_SIMPLE);
	simple.receive(w + Words{ 0 } + rpc(7, kReply, 40));
	expect_failed(simple, RPCRDMA_REASON_CHUNKS, RPCRDMA2_ERR_WRITE_CHUNKS);
}

TEST(receive, continued__a_call_of_three_parts)
{
	Endpoint e = open_server();
	const Words whole = rpc(7, kCall, 400);

	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 300, slice(whole, 0, 100)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_FALSE(e.rx.last);
	EXPECT_EQ(e.rx.payload.offset, 20u);
	EXPECT_EQ(e.rx.stream_offset, 0u);
	EXPECT_EQ(e.rx.stream_length, 400u);
	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 100, slice(whole, 100, 200)));
	EXPECT_EQ(e.rx.stream_offset, 100u);
	EXPECT_EQ(e.rx.stream_length, 400u);
	/* The Read list of the last header counts in the whole stream. */
	e.receive(prefix(7, RPCRDMA2_CALL_INLINE) + Words{ 0 } +
		  read_at(396, 4) + slice(whole, 300, 100));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_TRUE(e.rx.last);
	EXPECT_FALSE(e.rx.abandon);
	EXPECT_EQ(e.rx.stream_offset, 300u);
	EXPECT_EQ(e.rx.unreduced_length, 404u);
}

TEST(receive, continued__remaining_does_not_add_up_D7)
{
	const Words whole = rpc(7, kCall, 400);

	for (u32 remaining : { 0u, 96u, 104u, 300u, UINT32_MAX }) {
		Endpoint e = open_server();

		e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 300,
				 slice(whole, 0, 100)));
		e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, remaining,
				 slice(whole, 100, 200)));
		expect_dropped(e, RPCRDMA_REASON_CONTINUATION);
		EXPECT_TRUE(e.rx.abandon);
		EXPECT_EQ(e.rx.dir, kCall);
		EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_INVAL_CONT });
		/* One answer; the rest is dropped in silence. */
		for (int i = 0; i < 3; i++) {
			e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 100,
					 slice(whole, 100, 100)));
			expect_dropped(e, RPCRDMA_REASON_DISCARDING);
			EXPECT_FALSE(e.rx.abandon);
		}
		e.receive(call_inline(7, slice(whole, 300, 100)));
		expect_dropped(e, RPCRDMA_REASON_DISCARDING);
		EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
		/* The same XID again is a retransmission. */
		e.receive(call_inline(7, whole));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	}
}

TEST(receive, continued__the_last_part_has_another_size_D7)
{
	const Words whole = rpc(7, kCall, 400);

	for (u32 size : { 296u, 304u }) {
		Endpoint e = open_server();
		Words rest = slice(whole, 100, 300);

		rest.resize(size / 4);
		e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 300,
				 slice(whole, 0, 100)));
		e.receive(call_inline(7, rest));
		expect_dropped(e, RPCRDMA_REASON_CONTINUATION);
		EXPECT_TRUE(e.rx.abandon);
		EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_INVAL_CONT });
		/* That was its last part: the XID is free again. */
		e.receive(call_inline(7, whole));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	}
}

TEST(receive, continued__too_large_at_the_first_fragment_D7)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_SERVER);

	c.max_message = 8192;
	Endpoint e = open_server(c);
	e.receive(
		middle(RPCRDMA2_CALL_MIDDLE, 7, 8192 - 96, rpc(7, kCall, 100)));
	expect_dropped(e, RPCRDMA_REASON_TOO_LARGE);
	EXPECT_FALSE(e.rx.abandon) << "nothing was begun";
	EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_INVAL_CONT });
	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 8000, Words(24)));
	expect_dropped(e, RPCRDMA_REASON_DISCARDING);
	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 8, 8192 - 100,
			 rpc(8, kCall, 100)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
}

TEST(receive, continued__another_message_of_the_direction_D7)
{
	Endpoint e = open_server();
	const Words whole = rpc(7, kCall, 400);

	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 300, slice(whole, 0, 100)));
	e.receive(call_inline(8, rpc(8, kCall, 40)));
	expect_dropped(e, RPCRDMA_REASON_CONTINUATION);
	EXPECT_FALSE(e.rx.abandon);
	EXPECT_EQ(e.next_error(8), Words{ RPCRDMA2_ERR_INVAL_CONT });
	/* A fragmented interloper is answered once. */
	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 9, 40, rpc(9, kCall, 40)));
	EXPECT_EQ(e.next_error(9), Words{ RPCRDMA2_ERR_INVAL_CONT });
	e.receive(call_inline(9, rpc(9, kCall, 40)));
	expect_dropped(e, RPCRDMA_REASON_DISCARDING);
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
	/* And the message goes on. */
	e.receive(call_inline(7, slice(whole, 100, 300)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_TRUE(e.rx.last);
}

/* Whether it parses or not, and whatever else is wrong with it (6.3.6). */
TEST(receive, continued__another_message_that_does_not_parse_D7)
{
	const Words whole = rpc(7, kCall, 400);
	const std::vector<Words> others = {
		prefix(8, RPCRDMA2_CALL_INLINE),
		prefix(8, RPCRDMA2_CALL_INLINE) + Words{ 0, 2 },
		prefix(8, RPCRDMA2_CALL_MIDDLE) + Words{ 40 },
		prefix(8, RPCRDMA2_CALL_EXTERNAL) + Words{ 0, 0, 0, 0, 0 },
		call_inline(8, rpc(9, kReply, 40)),
	};

	for (const Words &w : others) {
		Endpoint e = open_server();

		e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 300,
				 slice(whole, 0, 100)));
		e.receive(w);
		expect_dropped(e, RPCRDMA_REASON_CONTINUATION);
		EXPECT_FALSE(e.rx.abandon);
		EXPECT_EQ(e.next_error(8), Words{ RPCRDMA2_ERR_INVAL_CONT });
		e.receive(call_inline(7, slice(whole, 100, 300)));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		EXPECT_TRUE(e.rx.last);
	}
}

/*
 * A peer that stops in the middle of what was refused, and sends it again under its
 * XID (3.1.3): not a word of that may be lost.
 */
TEST(receive, continued__refused_and_sent_again_at_once_D7)
{
	const Words whole = rpc(7, kCall, 400);
	const auto refused = [&] {
		Endpoint e = open_server();

		e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 300,
				 slice(whole, 0, 100)));
		EXPECT_TRUE(e.session.refuse(Xid{ 7 },
					     { RPCRDMA2_ERR_SYSTEM, {} }));
		EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_SYSTEM });
		/* What was under way, whatever it begins with. */
		e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 200,
				 slice(whole, 0, 100)));
		expect_dropped(e, RPCRDMA_REASON_DISCARDING);
		return e;
	};

	Endpoint simple = refused();
	simple.receive(call_inline(7, whole));
	EXPECT_EQ(simple.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_TRUE(simple.rx.last);

	Endpoint parts = refused();
	parts.receive(
		middle(RPCRDMA2_CALL_MIDDLE, 7, 300, slice(whole, 0, 100)));
	EXPECT_EQ(parts.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(parts.rx.stream_offset, 0u);
	parts.receive(call_inline(7, slice(whole, 100, 300)));
	EXPECT_EQ(parts.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_TRUE(parts.rx.last);

	/* It may be as short as a message can be. */
	Endpoint brief = refused();
	brief.receive(call_inline(7, { 7, kCall }));
	EXPECT_EQ(brief.rx.action, u32{ RPCRDMA_RX_PAYLOAD });

	/* If that is refused, too, nothing is left to be discarded. */
	Endpoint twice = refused();
	twice.receive(call_with(read_at(404, 4), whole));
	EXPECT_EQ(twice.next_error(7), Words{ RPCRDMA2_ERR_BAD_XDR });
	twice.receive(call_inline(7, rpc(7, kCall, 200)));
	EXPECT_EQ(twice.rx.action, u32{ RPCRDMA_RX_PAYLOAD });

	/* Its own end is none, though its octets be those of a Call. */
	Endpoint end = refused();
	end.receive(call_inline(7, slice(whole, 0, 200)));
	expect_dropped(end, RPCRDMA_REASON_DISCARDING);
	EXPECT_EQ(end.next(), u32{ RPCRDMA_TX_NONE });
	end.receive(call_inline(7, slice(whole, 0, 200)));
	EXPECT_EQ(end.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
}

/* Which is refused, too, and the rest of what it broke is not taken for a new one. */
TEST(receive, continued__an_external_of_its_own_xid_D7)
{
	const Words whole = rpc(7, kCall, 400);
	Endpoint e = open_server();

	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 300, slice(whole, 0, 100)));
	e.receive(prefix(7, RPCRDMA2_CALL_EXTERNAL) +
		  Words{ 0, 1, 0, 0xa1, 40, 0, 0, 0, 0, 0, 0 });
	expect_dropped(e, RPCRDMA_REASON_CONTINUATION);
	EXPECT_TRUE(e.rx.abandon);
	EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_INVAL_CONT });
	e.receive(call_inline(7, slice(whole, 100, 300)));
	expect_dropped(e, RPCRDMA_REASON_DISCARDING);
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
	e.receive(call_inline(7, whole));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
}

/* Nothing more of it is to come, so what comes next is no rest of it. */
TEST(receive, refused_whole__what_comes_next_is_answered)
{
	const Words whole = rpc(7, kCall, 400);
	Endpoint last = open_server();

	last.receive(
		middle(RPCRDMA2_CALL_MIDDLE, 7, 300, slice(whole, 0, 100)));
	last.receive(call_inline(7, slice(whole, 100, 296)));
	EXPECT_EQ(last.next_error(7), Words{ RPCRDMA2_ERR_INVAL_CONT });
	last.receive(call_inline(7, rpc(8, kCall, 40)));
	EXPECT_EQ(last.next_error(7), Words{ RPCRDMA2_ERR_BAD_XDR });

	Endpoint external = open_server();
	external.receive(prefix(7, RPCRDMA2_CALL_EXTERNAL) +
			 Words{ 0, 1, 0, 0xa1, 2, 0, 0, 0, 0, 0, 0 });
	EXPECT_EQ(external.next_error(7), Words{ RPCRDMA2_ERR_BAD_XDR });
	external.receive(call_inline(7, rpc(8, kCall, 40)));
	EXPECT_EQ(external.next_error(7), Words{ RPCRDMA2_ERR_BAD_XDR });
}

/* Sections 6.3.6 and 6.3.9. The message goes on. */
TEST(receive, continued__properties_between_D7)
{
	const Words whole = rpc(7, kCall, 400);
	Endpoint e(config(RPCRDMA_ROLE_SERVER));

	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 300, slice(whole, 0, 100)));
	ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	ASSERT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
	const u32 size = e.info().peer.recv_size;
	for (u32 htype :
	     { RPCRDMA2_CONNPROP_MIDDLE, RPCRDMA2_CONNPROP_FINAL }) {
		e.receive(connprop(9, property(2, 65536), htype));
		expect_dropped(e, RPCRDMA_REASON_CONTINUATION);
		EXPECT_FALSE(e.rx.abandon);
		EXPECT_EQ(e.next_error(9), Words{ RPCRDMA2_ERR_INVAL_CONT });
		EXPECT_EQ(e.info().peer.recv_size, size);
	}
	e.receive(call_inline(7, slice(whole, 100, 300)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_TRUE(e.rx.last);
	/* Now it may come. */
	e.receive(connprop(9, property(2, 65536)));
	EXPECT_EQ(e.info().peer.recv_size, 65536u);
}

/* The same on the other side, whose peer has yet to send its properties. */
TEST(receive, continued__properties_between_the_parts_of_a_reply_D7)
{
	const Words whole = rpc(7, kReply, 400);
	Endpoint e(config(RPCRDMA_ROLE_CLIENT));

	(void)e.next();
	e.receive(prefix(0, RPCRDMA2_GRANT));
	e.receive(middle(RPCRDMA2_REPLY_MIDDLE, 7, 300, slice(whole, 0, 100)));
	ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	for (u32 htype :
	     { RPCRDMA2_CONNPROP_MIDDLE, RPCRDMA2_CONNPROP_FINAL }) {
		e.receive(connprop(9, property(2, 2048), htype));
		expect_dropped(e, RPCRDMA_REASON_CONTINUATION);
		EXPECT_FALSE(e.rx.abandon);
		EXPECT_EQ(e.next_error(9), Words{ RPCRDMA2_ERR_INVAL_CONT });
		EXPECT_EQ(e.info().max_send, 4096u);
	}
	e.receive(reply_inline(7, slice(whole, 100, 300)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_TRUE(e.rx.last);
}

/* Its caller refused what the session had taken (section 7.3). */
TEST(receive, continued__a_call_that_was_refused_by_the_caller)
{
	const Words whole = rpc(7, kCall, 400);
	Endpoint e = open_server();

	for (const bool rest : { true, false }) {
		e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 300,
				 slice(whole, 0, 100)));
		ASSERT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		ASSERT_TRUE(e.session.refuse(Xid{ 7 },
					     { RPCRDMA2_ERR_SYSTEM, {} }));
		EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_SYSTEM });
		if (rest) {
			e.receive(call_inline(7, slice(whole, 100, 300)));
			expect_dropped(e, RPCRDMA_REASON_DISCARDING);
		}
		e.receive(call_inline(8, rpc(8, kCall, 40)));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	}
}

TEST(receive, continued__directions_are_independent_D7)
{
	Endpoint e = open_server();
	const Words call = rpc(7, kCall, 400);
	const Words reply = rpc(7, kReply, 200);

	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 300, slice(call, 0, 100)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	e.receive(middle(RPCRDMA2_REPLY_MIDDLE, 7, 100, slice(reply, 0, 100)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(e.rx.dir, kReply);
	e.receive(call_inline(7, slice(call, 100, 300)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(e.rx.stream_length, 400u);
	e.receive(reply_inline(7, slice(reply, 100, 100)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(e.rx.stream_length, 200u);
}

TEST(receive, continued__control_messages_between_D7)
{
	Endpoint e = open_server();
	const Words whole = rpc(7, kCall, 400);

	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 300, slice(whole, 0, 100)));
	e.receive(prefix(0, RPCRDMA2_GRANT));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	e.receive(prefix(7, RPCRDMA2_ERROR) + Words{ RPCRDMA2_ERR_SYSTEM });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	EXPECT_FALSE(e.rx.abandon) << "that XID is a reverse Call's (D6)";
	e.receive(call_inline(7, slice(whole, 100, 300)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
}

TEST(receive, continued__a_broken_reply_fails_and_is_answered_D6)
{
	Endpoint e = open_client();
	const Words whole = rpc(7, kReply, 400);

	e.receive(middle(RPCRDMA2_REPLY_MIDDLE, 7, 300, slice(whole, 0, 100)));
	e.receive(reply_inline(7, slice(whole, 100, 100)));
	expect_failed(e, RPCRDMA_REASON_CONTINUATION, RPCRDMA2_ERR_INVAL_CONT);
	EXPECT_TRUE(e.rx.abandon);
	EXPECT_EQ(e.rx.dir, kReply);
	EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_INVAL_CONT });
}

TEST(receive, continued__a_fragment_that_does_not_parse)
{
	const Words whole = rpc(7, kCall, 400);
	Endpoint e = open_server();

	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 300, slice(whole, 0, 100)));
	e.receive(prefix(7, RPCRDMA2_CALL_INLINE) + Words{ 0, 5 });
	expect_dropped(e, RPCRDMA_REASON_XDR);
	EXPECT_TRUE(e.rx.abandon);
	EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_BAD_XDR });

	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 8, 300, rpc(8, kCall, 100)));
	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 8, 300, {}));
	expect_dropped(e, RPCRDMA_REASON_XDR);
	EXPECT_TRUE(e.rx.abandon);
	(void)e.next_error(8);
	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 8, 200, Words(25)));
	expect_dropped(e, RPCRDMA_REASON_DISCARDING);
}

TEST(receive, continued__reads_that_miss_the_whole_stream)
{
	Endpoint e = open_server();
	const Words whole = rpc(7, kCall, 400);

	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 7, 300, slice(whole, 0, 100)));
	e.receive(prefix(7, RPCRDMA2_CALL_INLINE) + Words{ 0 } +
		  read_at(404, 4) + slice(whole, 100, 300));
	expect_dropped(e, RPCRDMA_REASON_XDR);
	EXPECT_TRUE(e.rx.abandon) << "its fragments are with the caller";
	EXPECT_EQ(e.rx.dir, kCall);
	EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_BAD_XDR });
	e.receive(call_inline(7, whole));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_FALSE(e.rx.abandon);
}

TEST(receive, error__fails_its_rpc)
{
	static const struct {
		Words body;
		s32 error;
	} rows[] = {
		{ { 1, 1, 2 }, -kEPROTONOSUPPORT },
		{ { 2 }, -kEIO },
		{ { 5 }, -kEIO },
		{ { 6, 0 }, -kEIO },
		{ { 9, 1, 4096 }, -kEIO },
		{ { 100 }, -kEREMOTEIO },
	};
	Endpoint client = open_client();
	Endpoint server = open_server();

	for (Endpoint *e : { &client, &server })
		for (const auto &row : rows) {
			e->receive(prefix(7, RPCRDMA2_ERROR) + row.body);
			expect_failed(*e, RPCRDMA_REASON_NONE, row.body[0],
				      row.error);
			EXPECT_EQ(e->rx.xid, 7u);
			EXPECT_TRUE(e->rx.reported);
			for (u32 i = 0; i < 2; i++)
				EXPECT_EQ(e->rx.errargs[i],
					  i + 1 < row.body.size() ?
						  row.body[i + 1] :
						  0u);
		}
	/* What failed here was not reported. */
	client.receive(reply_inline(7, rpc(8, kReply, 40)));
	expect_failed(client, RPCRDMA_REASON_XID, RPCRDMA2_ERR_BAD_XDR);
	EXPECT_FALSE(client.rx.reported);
	EXPECT_EQ(client.rx.errargs[0], 0u);
	/* Nothing can be told from an ERROR that does not parse. */
	client.receive(prefix(7, RPCRDMA2_ERROR) + Words{ 9, 1 });
	EXPECT_TRUE(client.rx.reported);
	EXPECT_EQ(client.rx.errargs[0], 0u);
}

TEST(receive, error__no_more_of_a_refused_version)
{
	/* The RPC fails, or it would be sent again on the next connection. */
	for (const Words &body :
	     { Words{ 1, 1, 1 }, Words{ 1, 3, 9 }, Words{ 11 } }) {
		Endpoint e = open_client();
		rpcrdma_message msg = message(7, kCall, 100);

		ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
		e.receive(prefix(7, RPCRDMA2_ERROR) + body);
		expect_failed(e, RPCRDMA_REASON_NONE, body[0],
			      -kEPROTONOSUPPORT);
		EXPECT_EQ(e.rx.xid, 7u);
		EXPECT_EQ(e.session.call_refused(msg, e.rx),
			  RPCRDMA_REASON_NO_VERSION);
		msg = message(8, kCall, 100);
		EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_NONE });
		e.receive(reply_inline(8, rpc(8, kReply, 40)));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
	}
}

/* Who has no Call with that XID leaves it at that (D6). */
TEST(receive, error__of_versions_about_no_call_D6)
{
	for (const Words &body :
	     { Words{ 1, 1, 1 }, Words{ 1, 3, 9 }, Words{ 11 } }) {
		Endpoint e = open_client();
		rpcrdma_message msg = message(7, kCall, 100);

		ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
		e.receive(prefix(8, RPCRDMA2_ERROR) + body);
		EXPECT_TRUE(e.session.ready());
		e.receive(reply_inline(7, rpc(7, kReply, 40)));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	}
}

/* Nor does it say so of this version, if it cannot be read, or has it in its range. */
TEST(receive, error__of_versions_that_refuses_none)
{
	for (const Words &body :
	     { Words{ 1, 1, 2 }, Words{ 1, 2, 2 }, Words{ 1, 2, 3 },
	       Words{ 1, 1, 3 }, Words{ 1, 1 } }) {
		Endpoint e = open_client();
		rpcrdma_message msg = message(7, kCall, 100);

		ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
		e.receive(prefix(7, RPCRDMA2_ERROR) + body);
		EXPECT_EQ(e.session.call_refused(msg, e.rx),
			  RPCRDMA_REASON_NONE);
		EXPECT_TRUE(e.session.ready());
	}
}

TEST(receive, error__no_version_can_be_refused_without_a_call)
{
	Endpoint client = open_client();
	Endpoint server = open_server();

	for (Endpoint *e : { &client, &server }) {
		e->receive(prefix(7, RPCRDMA2_ERROR) +
			   Words{ RPCRDMA2_ERR_VERS_MISMATCH });
		expect_failed(*e, RPCRDMA_REASON_NONE,
			      RPCRDMA2_ERR_VERS_MISMATCH, -kEPROTONOSUPPORT);
		EXPECT_TRUE(e->session.ready());
	}
}

TEST(receive, error__of_an_unknown_code_is_dropped_D7)
{
	Endpoint e = open_client();

	for (u32 code : { 0u, 12u, 99u, 101u, UINT32_MAX }) {
		e.receive(prefix(7, RPCRDMA2_ERROR) + Words{ code });
		expect_dropped(e, RPCRDMA_REASON_UNKNOWN_ERROR);
		e.receive(prefix(7, RPCRDMA2_ERROR) + Words{ code, 1, 2, 3 });
		expect_dropped(e, RPCRDMA_REASON_UNKNOWN_ERROR);
	}
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
}

TEST(receive, error__is_never_answered)
{
	Endpoint e = open_client();

	e.receive(prefix(7, RPCRDMA2_ERROR));
	expect_dropped(e, RPCRDMA_REASON_XDR);
	e.receive(prefix(7, RPCRDMA2_ERROR) + Words{ RPCRDMA2_ERR_SEGMENTS });
	expect_failed(e, RPCRDMA_REASON_XDR, RPCRDMA2_ERR_SEGMENTS);
	e.receive(prefix(7, RPCRDMA2_ERROR) + Words{ RPCRDMA2_ERR_SYSTEM, 0 });
	expect_failed(e, RPCRDMA_REASON_XDR, RPCRDMA2_ERR_SYSTEM, -kEREMOTEIO);
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
}

TEST(receive, error__about_the_reply_being_put_together)
{
	Endpoint e = open_client();
	const Words whole = rpc(7, kReply, 400);

	e.receive(middle(RPCRDMA2_REPLY_MIDDLE, 7, 300, slice(whole, 0, 100)));
	e.receive(prefix(7, RPCRDMA2_ERROR) + Words{ RPCRDMA2_ERR_SYSTEM });
	expect_failed(e, RPCRDMA_REASON_NONE, RPCRDMA2_ERR_SYSTEM, -kEREMOTEIO);
	EXPECT_TRUE(e.rx.abandon);
	EXPECT_EQ(e.rx.dir, kReply);
	e.receive(reply_inline(7, slice(whole, 100, 300)));
	expect_dropped(e, RPCRDMA_REASON_DISCARDING);
	e.receive(reply_inline(8, rpc(8, kReply, 40)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
}

/* What was to be discarded belongs to the Call as it was sent before. */
TEST(receive, error__about_the_reply_being_put_together_and_the_call_again)
{
	Endpoint e = open_client();
	rpcrdma_message again = message(7, kCall, 40);
	const Words whole = rpc(7, kReply, 400);

	e.receive(middle(RPCRDMA2_REPLY_MIDDLE, 7, 300, slice(whole, 0, 100)));
	e.receive(prefix(7, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_REPLY_RESOURCE, 400 });
	EXPECT_TRUE(e.rx.abandon);
	EXPECT_EQ(e.next(&again), u32{ RPCRDMA_TX_MESSAGE });
	e.receive(reply_inline(7, whole));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
}

/* The rest of what had begun before is no other Call, though its XID is that. */
TEST(receive, error__about_a_reply_while_its_call_goes_again)
{
	Endpoint e = open_client();
	rpcrdma_message again = message(7, kCall, 10000);
	const Words whole = rpc(7, kReply, 400);

	EXPECT_EQ(e.next(&again), u32{ RPCRDMA_TX_MESSAGE });
	ASSERT_FALSE(e.tx.last);
	e.receive(middle(RPCRDMA2_REPLY_MIDDLE, 7, 300, slice(whole, 0, 100)));
	e.receive(prefix(7, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_REPLY_RESOURCE, 400 });
	EXPECT_TRUE(e.rx.abandon);
	EXPECT_EQ(e.next(&again), u32{ RPCRDMA_TX_MESSAGE });
	EXPECT_FALSE(e.tx.first);
	e.receive(reply_inline(7, slice(whole, 100, 300)));
	expect_dropped(e, RPCRDMA_REASON_DISCARDING);
}

/* Its numbers could be those of the rest: that the Call went out again decides. */
TEST(receive, error__about_a_reply_and_the_next_is_as_long_as_its_rest)
{
	Endpoint e = open_client();
	rpcrdma_message again = message(7, kCall, 40);

	e.receive(middle(RPCRDMA2_REPLY_MIDDLE, 7, 300, rpc(7, kReply, 100)));
	e.receive(prefix(7, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_REPLY_RESOURCE, 400 });
	EXPECT_TRUE(e.rx.abandon);
	EXPECT_EQ(e.next(&again), u32{ RPCRDMA_TX_MESSAGE });
	e.receive(reply_inline(7, rpc(7, kReply, 300)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
}

TEST(receive, grant__opens_credit)
{
	Endpoint e = open_client();
	rpcrdma_message msg = message(1, kCall, 40);
	const u32 sent = e.info().sent;

	e.receive(prefix(0, RPCRDMA2_GRANT, sent));
	EXPECT_FALSE(e.rx.kick);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_BLOCKED });
	e.receive(prefix(0xdead, RPCRDMA2_GRANT, sent + 1));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
	EXPECT_TRUE(e.rx.kick);
	EXPECT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
}

TEST(receive, grant__octets_behind_it)
{
	Endpoint e = open_client();

	e.receive(prefix(0, RPCRDMA2_GRANT, 5000) + Words{ 0 });
	expect_dropped(e, RPCRDMA_REASON_XDR);
	EXPECT_EQ(e.info().peer_credits, 5000u - 1) << "the prefix was whole";
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE }) << "no answer";
}

TEST(receive, credit__overrun_closes)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_SERVER);
	const Exact call(octets(call_inline(7, rpc(7, kCall, 40))));
	const Exact grant(octets(prefix(0, RPCRDMA2_GRANT)));

	c.window = 3;
	for (bool extra : { false, true }) {
		/* Told 4 = 1 received + 3, and nothing is given back. */
		Endpoint e = open_server(c);

		for (int i = 0; i < 3; i++) {
			e.session.receive(call.bytes(), e.rx);
			EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		}
		e.session.receive((extra ? grant : call).bytes(), e.rx);
		if (!extra) {
			EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
			EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_CREDIT });
			continue;
		}
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CONTROL });
		e.session.receive(grant.bytes(), e.rx);
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
		EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_CREDIT });
	}
}

/* Section 4.2.1: nobody would ever hear why nothing goes any more. */
TEST(receive, credit__a_limit_that_cannot_be)
{
	for (const u32 ahead : { 0x7fffffffu, 0x80000000u, 0xfffffff0u }) {
		Endpoint e = open_client();
		const u32 sent = e.info().sent;

		e.receive(prefix(0, RPCRDMA2_GRANT, sent + ahead));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
		EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_CREDIT_LIMIT });
		EXPECT_FALSE(e.session.ready());
	}
	Endpoint most = open_client();
	most.receive(prefix(0, RPCRDMA2_GRANT, 1 + 0x7ffffffe));
	EXPECT_EQ(most.rx.action, u32{ RPCRDMA_RX_CONTROL });
	/* Already with the message that opens. */
	Endpoint first(config(RPCRDMA_ROLE_SERVER));
	Words w = connprop(kClientXid);
	w[2] = 0x80000000;
	first.receive(w);
	EXPECT_EQ(first.rx.reason, u32{ RPCRDMA_REASON_CREDIT_LIMIT });
}

/* It is no error (D2), but whoever looks for what went wrong sees it. */
TEST(receive, credit__what_was_taken_back_is_told_D2)
{
	Endpoint e = open_client();

	e.receive(prefix(0, RPCRDMA2_GRANT, 50));
	EXPECT_TRUE(e.rx.taken_back) << "it was 1000 before";
	EXPECT_EQ(e.rx.credits, 49u);
	e.receive(prefix(0, RPCRDMA2_GRANT, 50));
	EXPECT_FALSE(e.rx.taken_back);
	e.receive(prefix(0, RPCRDMA2_GRANT, 1));
	EXPECT_TRUE(e.rx.taken_back);
	EXPECT_EQ(e.rx.credits, 0u);
	EXPECT_EQ(e.info().taken_back, 2u);
}

TEST(receive, credit__every_kind_of_junk_counts)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_SERVER);
	const std::vector<Octets> junk = {
		Octets(3),
		octets(prefix(1, 99)),
		octets(prefix(1, 0, 9, 1)),
		octets(prefix(1, RPCRDMA2_ERROR) + Words{ 100 }),
	};

	c.window = 3;
	for (const Octets &o : junk) {
		Endpoint e = open_server(c);
		const Exact copy(o);

		for (int i = 0; i < 3; i++) {
			e.session.receive(copy.bytes(), e.rx);
			EXPECT_NE(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
		}
		e.session.receive(copy.bytes(), e.rx);
		EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_CREDIT });
	}
}

TEST(receive, flood__closes_when_no_more_errors_can_wait)
{
	Endpoint e = open_server();

	for (u32 i = 0; i < RPCRDMA_MAX_CONTROL; i++) {
		e.receive(prefix(i, 99));
		expect_dropped(e, RPCRDMA_REASON_HTYPE);
	}
	e.receive(prefix(77, 99));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_FLOOD });
	EXPECT_FALSE(e.rx.kick);
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
}

TEST(receive, flood__not_while_the_errors_leave)
{
	Endpoint e = open_server();

	for (u32 i = 0; i < 500; i++) {
		e.receive(prefix(i, 99));
		ASSERT_EQ(e.next_error(i), Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	}
}

TEST(receive, reverse__a_call_to_a_client_that_takes_none)
{
	Endpoint e = open_client();

	e.receive(call_inline(7, rpc(7, kCall, 40)));
	expect_dropped(e, RPCRDMA_REASON_HTYPE);
	EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 8, 40, rpc(8, kCall, 40)));
	expect_dropped(e, RPCRDMA_REASON_HTYPE);
	EXPECT_EQ(e.next_error(8), Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	e.receive(call_inline(8, rpc(8, kCall, 40)));
	expect_dropped(e, RPCRDMA_REASON_DISCARDING);
}

/* Without its chunks such a Call would be refused as well: nothing of 7.3 helps. */
TEST(receive, reverse__chunks_to_a_client_that_takes_no_calls_D17)
{
	const Words stream = rpc(7, kCall, 40);
	const Words messages[] = {
		call_with(read_at(8, 16), stream),
		call_with({ 0, 1, 1, 5, 16, 0, 0, 0, 0 }, stream),
		call_with({ 0, 0, 1, 1, 5, 16, 0, 0 }, stream),
		/* A Call chunk of 40 octets. */
		prefix(7, RPCRDMA2_CALL_EXTERNAL) +
			Words{ 0, 1, 0, 9, 40, 0, 0, 0, 0, 0, 0 },
	};

	for (const Words &message : messages) {
		Endpoint e = open_client();

		e.receive(message);
		expect_dropped(e, RPCRDMA_REASON_HTYPE);
		EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	}
}

TEST(receive, reverse__simple)
{
	Endpoint e = open_client_reverse(RPCRDMA_RVRSDIR_SIMPLE);

	e.receive(call_inline(7, rpc(7, kCall, 40)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 8, 40, rpc(8, kCall, 40)));
	expect_dropped(e, RPCRDMA_REASON_HTYPE);
	EXPECT_EQ(e.next_error(8), Words{ RPCRDMA2_ERR_INVAL_HTYPE });
}

TEST(receive, reverse__continued)
{
	Endpoint e = open_client_reverse(RPCRDMA_RVRSDIR_CONT);

	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 8, 40, rpc(8, kCall, 40)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	e.receive(call_inline(8, Words(10)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_TRUE(e.rx.last);
}

/* Of a continued Call the first part says so (7.1.4), else there is no better code. */
TEST(receive, reverse__a_call_beyond_what_the_client_takes)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);

	c.local.reverse = RPCRDMA_RVRSDIR_CONT;
	c.max_reverse_call = 80;
	Endpoint e = open_client(c);

	e.receive(call_inline(7, rpc(7, kCall, 80)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	e.receive(call_inline(8, rpc(8, kCall, 84)));
	expect_dropped(e, RPCRDMA_REASON_TOO_LARGE);
	EXPECT_EQ(e.next_error(8), Words{ RPCRDMA2_ERR_SYSTEM });
	e.receive(middle(RPCRDMA2_CALL_MIDDLE, 9, 44, rpc(9, kCall, 40)));
	expect_dropped(e, RPCRDMA_REASON_TOO_LARGE);
	EXPECT_EQ(e.next_error(9), Words{ RPCRDMA2_ERR_INVAL_CONT });
	e.receive(call_inline(9, Words(11)));
	expect_dropped(e, RPCRDMA_REASON_DISCARDING);
	/* That is not for Replies, nor for the Calls that a server takes. */
	e.receive(reply_inline(7, rpc(7, kReply, 84)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });

	c.role = RPCRDMA_ROLE_SERVER;
	Endpoint server = open_server(c);
	server.receive(call_inline(7, rpc(7, kCall, 84)));
	EXPECT_EQ(server.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
}

TEST(receive, reverse__chunks_only_with_general_support)
{
	const Words stream = rpc(7, kCall, 40);

	for (u32 level : { RPCRDMA_RVRSDIR_SIMPLE, RPCRDMA_RVRSDIR_CONT }) {
		Endpoint e = open_client_reverse(level);

		e.receive(call_with(read_at(8, 16), stream));
		expect_dropped(e, RPCRDMA_REASON_CHUNKS);
		EXPECT_EQ(e.next_error(7),
			  (Words{ RPCRDMA2_ERR_READ_CHUNKS, 0 }));
		/* 7.3.2: neither Write chunks nor a continued Reply. */
		const Words refused = {
			level == RPCRDMA_RVRSDIR_SIMPLE ?
				u32{ RPCRDMA2_ERR_REPLY_RESOURCE } :
				u32{ RPCRDMA2_ERR_WRITE_CHUNKS },
			0
		};
		e.receive(call_with({ 0, 1, 0, 0, 0 }, stream));
		expect_dropped(e, RPCRDMA_REASON_CHUNKS);
		EXPECT_EQ(e.next_error(7), refused);
		e.receive(call_with({ 0, 0, 1, 1, 5, 5, 0, 0 }, stream));
		expect_dropped(e, RPCRDMA_REASON_CHUNKS);
		EXPECT_EQ(e.next_error(7), refused);
	}
	Endpoint e = open_client_reverse(RPCRDMA_RVRSDIR_GENL);
	e.receive(call_with(read_at(8, 16), stream));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
}

TEST(receive, reverse__a_reply_to_a_server)
{
	Endpoint e = open_server();

	e.receive(reply_inline(7, rpc(7, kReply, 40)));
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(e.rx.dir, kReply);
}

TEST(receive, special__calls_and_replies)
{
	Endpoint server = open_server();
	Endpoint client = open_client();

	for (const Golden &g : goldens()) {
		const bool call = g.htype == RPCRDMA2_CALL_EXTERNAL;

		if (!call && g.htype != RPCRDMA2_REPLY_EXTERNAL)
			continue;
		Endpoint &e = call ? server : client;
		e.receive_octets(g.message());
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		EXPECT_TRUE(e.rx.external);
		EXPECT_TRUE(e.rx.last);
		EXPECT_EQ(e.rx.payload.length, 0u);
		EXPECT_EQ(e.rx.stream_length, call ? 0x140u : 0x400u);
		EXPECT_EQ(e.rx.unreduced_length,
			  call ? 0x140u + 0x1008 + 4 : 0x400u);
	}
	const auto external = [](u32 length) {
		return prefix(7, RPCRDMA2_CALL_EXTERNAL) +
		       Words{ 0, 1, 0, 9, length, 0, 0, 0, 0, 0, 0 };
	};
	for (u32 length : { 0u, 2u, 41u }) {
		server.receive(external(length));
		expect_dropped(server, RPCRDMA_REASON_XDR);
		(void)server.next_error(7);
	}
	rpcrdma_config large = config(RPCRDMA_ROLE_SERVER);
	large.local.max_segment_size = UINT32_MAX;
	Endpoint any = open_server(large);
	any.receive(external((1 << 20) + 4));
	expect_dropped(any, RPCRDMA_REASON_TOO_LARGE);
	EXPECT_EQ(any.next_error(7), Words{ RPCRDMA2_ERR_SYSTEM });
	/* Of 2^32 + 40 octets together, which is not 40. */
	any.receive(prefix(7, RPCRDMA2_CALL_EXTERNAL) +
		    Words{ 0, 1, 0, 9, 0xfffffffc, 0, 0, 1, 0, 9, 44, 0, 0, 0,
			   0, 0, 0 });
	expect_dropped(any, RPCRDMA_REASON_TOO_LARGE);
	EXPECT_EQ(any.next_error(7), Words{ RPCRDMA2_ERR_SYSTEM });
	server.receive(external(1 << 20));
	EXPECT_EQ(server.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	/* Of a client that takes Calls, but none by chunk (4.6.4). */
	for (u32 level : { RPCRDMA_RVRSDIR_SIMPLE, RPCRDMA_RVRSDIR_CONT }) {
		Endpoint e = open_client_reverse(level);
		e.receive(external(40));
		expect_dropped(e, RPCRDMA_REASON_CHUNKS);
		EXPECT_EQ(e.next_error(7),
			  (Words{ RPCRDMA2_ERR_READ_CHUNKS, 0 }));
	}
	Endpoint all = open_client_reverse(RPCRDMA_RVRSDIR_GENL);
	all.receive(external(40));
	EXPECT_EQ(all.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	/* Between fragments it is an interloper like any other. */
	server.receive(middle(RPCRDMA2_CALL_MIDDLE, 8, 40, rpc(8, kCall, 40)));
	server.receive(external(40));
	expect_dropped(server, RPCRDMA_REASON_CONTINUATION);
	EXPECT_EQ(server.next_error(7), Words{ RPCRDMA2_ERR_INVAL_CONT });
}

TEST(receive, kick__once_the_way_is_free)
{
	Endpoint e = open_client();
	const u32 sent = e.info().sent;

	e.receive(prefix(0, RPCRDMA2_GRANT, sent));
	e.receive(prefix(7, 99, sent));
	EXPECT_FALSE(e.rx.kick) << "an ERROR waits, without credit";
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_BLOCKED });
	e.receive(prefix(0, RPCRDMA2_GRANT, sent + 1));
	EXPECT_TRUE(e.rx.kick);
	EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	e.receive(prefix(0, RPCRDMA2_GRANT, sent + 5));
	EXPECT_TRUE(e.rx.kick);
	e.receive(prefix(0, RPCRDMA2_GRANT, sent + 6));
	EXPECT_FALSE(e.rx.kick) << "it was free before";
}
