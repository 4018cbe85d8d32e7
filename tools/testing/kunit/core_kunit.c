// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The core, compiled with the kernel's flags: two sessions talk through
 * memory. The tests in user space look at the core in detail.
 */
#include <kunit/test.h>
#include <linux/module.h>

#include <rpcrdma/plan.h>

#define BUF_SIZE	8192

struct core_side {
	struct rpcrdma_session session;
	struct rpcrdma_rx rx;
	u8 buf[BUF_SIZE];
};

struct core_pair {
	struct core_side client;
	struct core_side server;
};

static int core_init(struct kunit *test)
{
	struct rpcrdma_config cfg = {
		.role = RPCRDMA_ROLE_CLIENT,
		.window = 8,
		.max_message = 1 << 20,
		.max_read_chunks = RPCRDMA_MAX_CHUNKS,
		.max_write_chunks = RPCRDMA_MAX_CHUNKS,
		.first_xid = 0x1234,
		.ddp_threshold = 16384,
		.special_threshold = 1 << 18,
		.local = {
			.send_size = BUF_SIZE,
			.recv_size = BUF_SIZE,
			.max_segment_size = 1 << 20,
			.max_segments = RPCRDMA_MAX_SEGMENTS,
		},
	};
	struct core_pair *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, p);
	test->priv = p;
	KUNIT_ASSERT_TRUE(test, rpcrdma_session_init(&p->client.session, &cfg));
	cfg.role = RPCRDMA_ROLE_SERVER;
	KUNIT_ASSERT_TRUE(test, rpcrdma_session_init(&p->server.session, &cfg));
	return 0;
}

/* Move one message, if there is one. Return: what the sender said. */
static u32 core_step(struct kunit *test, struct core_side *from,
		     struct core_side *to, struct rpcrdma_message *msg,
		     const u8 *stream)
{
	struct rpcrdma_tx tx;
	u32 result;
	bool due;

	result = rpcrdma_session_next_send(&from->session, msg, from->buf,
					   BUF_SIZE, &tx);
	if (result != RPCRDMA_TX_CONTROL && result != RPCRDMA_TX_MESSAGE)
		return result;
	KUNIT_ASSERT_LE(test, tx.header_length + tx.payload.length,
			(u32)BUF_SIZE);
	if (tx.payload.length)
		memcpy(from->buf + tx.header_length,
		       stream + tx.payload.offset, tx.payload.length);
	rpcrdma_session_receive(&to->session, from->buf,
				tx.header_length + tx.payload.length, &to->rx);
	due = rpcrdma_session_release(&to->session, 1);
	if (due)
		KUNIT_EXPECT_EQ(test, tx.htype, (u32)RPCRDMA2_CALL_INLINE);
	return result;
}

static void core_open(struct kunit *test, struct core_pair *p)
{
	KUNIT_ASSERT_EQ(test, core_step(test, &p->client, &p->server, NULL,
					NULL), (u32)RPCRDMA_TX_CONTROL);
	KUNIT_ASSERT_EQ(test, core_step(test, &p->server, &p->client, NULL,
					NULL), (u32)RPCRDMA_TX_CONTROL);
	KUNIT_ASSERT_TRUE(test, rpcrdma_session_ready(&p->client.session));
	KUNIT_ASSERT_TRUE(test, rpcrdma_session_ready(&p->server.session));
}

static void core_negotiates(struct kunit *test)
{
	struct core_pair *p = test->priv;
	struct rpcrdma_session_info info;

	core_open(test, p);
	rpcrdma_session_info(&p->client.session, &info);
	KUNIT_EXPECT_EQ(test, info.version, 2U);
	KUNIT_EXPECT_EQ(test, info.max_send, (u32)BUF_SIZE);
	KUNIT_EXPECT_EQ(test, info.peer_credits, 8U);
}

static void core_carries_a_continued_call(struct kunit *test)
{
	struct core_pair *p = test->priv;
	struct rpcrdma_message msg = {
		.xid = 0xabcdef01,
		.dir = RPCRDMA_CALL,
		.length = 3 * BUF_SIZE,
	};
	u8 *stream, *got;
	u32 parts = 0;

	stream = kunit_kzalloc(test, msg.length, GFP_KERNEL);
	got = kunit_kzalloc(test, msg.length, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, stream);
	KUNIT_ASSERT_NOT_NULL(test, got);
	get_random_bytes(stream, msg.length);
	put_unaligned_be32(msg.xid, stream);
	put_unaligned_be32(RPCRDMA_CALL, stream + 4);

	core_open(test, p);
	while (msg.sent < msg.length) {
		KUNIT_ASSERT_EQ(test, core_step(test, &p->client, &p->server,
						&msg, stream),
				(u32)RPCRDMA_TX_MESSAGE);
		KUNIT_ASSERT_EQ(test, p->server.rx.action,
				(u32)RPCRDMA_RX_PAYLOAD);
		memcpy(got + p->server.rx.stream_offset,
		       p->client.buf + p->server.rx.payload.offset,
		       p->server.rx.payload.length);
		parts++;
	}
	KUNIT_EXPECT_TRUE(test, p->server.rx.last);
	KUNIT_EXPECT_EQ(test, parts, 4U);
	KUNIT_EXPECT_MEMEQ(test, got, stream, msg.length);
}

static void core_refuses_garbage(struct kunit *test)
{
	struct core_pair *p = test->priv;
	u32 i, n;

	core_open(test, p);
	for (i = 0; i < 1000; i++) {
		n = 16 + get_random_u32_below(512);
		get_random_bytes(p->client.buf, n);
		put_unaligned_be32(2, p->client.buf + 4);
		/* A GRANT is legal whatever its XID and credit are. */
		put_unaligned_be32(RPCRDMA2_CALL_INLINE, p->client.buf + 12);
		rpcrdma_session_receive(&p->server.session, p->client.buf, n,
					&p->server.rx);
		KUNIT_ASSERT_NE(test, p->server.rx.action,
				(u32)RPCRDMA_RX_PAYLOAD);
		if (p->server.rx.action == RPCRDMA_RX_CLOSE)
			break;
	}
	KUNIT_EXPECT_LE(test, i, (u32)RPCRDMA_MAX_CONTROL);
}

static void core_carries_a_special_call(struct kunit *test)
{
	struct core_pair *p = test->priv;
	struct rpcrdma_call_shape shape = {
		.length = 1 << 19,
		.reply_max = 4096,
		.reply_expected = true,
	};
	struct rpcrdma_message msg = {
		.xid = 0xabcdef01,
		.dir = RPCRDMA_CALL,
		.external = true,
	};
	struct rpcrdma_call_plan plan;
	struct rpcrdma_chunks *c;

	c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, c);
	core_open(test, p);
	rpcrdma_plan_call(&p->client.session, &shape, &plan);
	KUNIT_ASSERT_TRUE(test, plan.call_chunk);

	c->n_call = 1;
	c->call[0].handle = 0x77;
	c->call[0].length = plan.stream_length;
	msg.length = plan.stream_length;
	msg.inv_handle = 0x77;
	msg.chunks = c;
	KUNIT_ASSERT_EQ(test, core_step(test, &p->client, &p->server, &msg,
					NULL), (u32)RPCRDMA_TX_MESSAGE);
	KUNIT_EXPECT_EQ(test, msg.sent, msg.length);
	KUNIT_ASSERT_EQ(test, p->server.rx.action, (u32)RPCRDMA_RX_PAYLOAD);
	KUNIT_EXPECT_TRUE(test, p->server.rx.external);
	KUNIT_EXPECT_EQ(test, p->server.rx.stream_length, msg.length);
	KUNIT_EXPECT_EQ(test, p->server.rx.chunks.call[0].handle, 0x77U);
}

static struct kunit_case core_cases[] = {
	KUNIT_CASE(core_negotiates),
	KUNIT_CASE(core_carries_a_continued_call),
	KUNIT_CASE(core_carries_a_special_call),
	KUNIT_CASE(core_refuses_garbage),
	{ }
};

static struct kunit_suite core_suite = {
	.name = "rpcrdma_core",
	.init = core_init,
	.test_cases = core_cases,
};

kunit_test_suite(core_suite);

MODULE_DESCRIPTION("KUnit tests of rpcrdma");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_IMPORT_NS("EXPORTED_FOR_KUNIT_TESTING");
