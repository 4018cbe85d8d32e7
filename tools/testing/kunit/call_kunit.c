// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What the server takes of a Call that comes in parts, without a connection.
 */
#include <kunit/test.h>

#include "server/server.h"

#define CALL_LENGTH	(2 * PAGE_SIZE)

struct call_fixture {
	struct rpcrdma_conn conn;
	struct rpcrdma_svc svc;
	struct rpcrdma_recv recv;
	struct rpcrdma_rx rx;
	u8 octets[64];
};

static int call_init(struct kunit *test)
{
	struct call_fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	test->priv = f;
	f->conn.context = &f->svc;
	spin_lock_init(&f->conn.lock);
	f->svc.conn = &f->conn;
	f->svc.max_call = RPCRDMA_MAX_MESSAGE;
	spin_lock_init(&f->svc.lock);
	INIT_LIST_HEAD(&f->svc.ready);
	INIT_LIST_HEAD(&f->svc.waiting);
	INIT_LIST_HEAD(&f->svc.held);
	f->recv.conn = &f->conn;
	f->recv.buf = f->octets;
	INIT_LIST_HEAD(&f->recv.link);
	f->rx.vers = 2;
	f->rx.dir = RPCRDMA_CALL;
	f->rx.xid = 7;
	f->rx.stream_length = CALL_LENGTH;
	f->rx.payload.length = sizeof(f->octets);
	return 0;
}

/* Its first part: one page, pointers for both, and what tells of it. */
static void call_is_counted_with_all_it_takes(struct kunit *test)
{
	struct call_fixture *f = test->priv;
	const u32 least = PAGE_SIZE + 2 * sizeof(struct page *) +
			  sizeof(struct rpcrdma_svc_call);

	KUNIT_EXPECT_EQ(test, rpcrdma_svc_payload(&f->conn, &f->rx, &f->recv,
						  0),
			RPCRDMA_RECV_DONE);
	KUNIT_EXPECT_NOT_NULL(test, f->svc.partial);
	KUNIT_EXPECT_EQ(test, f->svc.call_memory, least);
	rpcrdma_svc_abandon(&f->conn, RPCRDMA_CALL);
	KUNIT_EXPECT_NULL(test, f->svc.partial);
	KUNIT_EXPECT_EQ(test, f->svc.call_memory, 0U);
}

/* At the bound its Receive stays here, and with it the peer's credit. */
static void call_holds_its_receive(struct kunit *test)
{
	struct call_fixture *f = test->priv;

	f->svc.call_memory = RPCRDMA_SVC_CALL_MEMORY - PAGE_SIZE -
			     2 * sizeof(struct page *) -
			     sizeof(struct rpcrdma_svc_call);
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_payload(&f->conn, &f->rx, &f->recv,
						  0),
			RPCRDMA_RECV_KEEP);
	KUNIT_EXPECT_FALSE(test, list_empty(&f->svc.held));
	list_del_init(&f->recv.link);
	rpcrdma_svc_abandon(&f->conn, RPCRDMA_CALL);
}

static struct kunit_case call_cases[] = {
	KUNIT_CASE(call_is_counted_with_all_it_takes),
	KUNIT_CASE(call_holds_its_receive),
	{}
};

static struct kunit_suite call_suite = {
	.name = "rpcrdma_call",
	.init = call_init,
	.test_cases = call_cases,
};

kunit_test_suite(call_suite);
