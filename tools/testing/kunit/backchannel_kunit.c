// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The memory of callbacks.
 */
#include <kunit/test.h>

#include "client/client.h"

struct backchannel_fixture {
	struct rpcrdma_xprt rx;
	struct rpcrdma_conn conn;
	struct rpcrdma_recv recv;
	u8 bytes[64];
};

static int backchannel_init(struct kunit *test)
{
	struct backchannel_fixture *f = kunit_kzalloc(test, sizeof(*f),
						      GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	test->priv = f;
	spin_lock_init(&f->rx.xprt.bc_pa_lock);
	INIT_LIST_HEAD(&f->rx.bc_spare);
	/* Only whether there is one. */
	f->rx.xprt.bc_serv = (struct svc_serv *)f;
	kref_init(&f->conn.kref);
	f->conn.context = &f->rx;
	f->recv.buf = f->bytes;
	return 0;
}

static void backchannel_exit(struct kunit *test)
{
	struct backchannel_fixture *f = test->priv;

	rpcrdma_bc_destroy(&f->rx.xprt, UINT_MAX);
}

/* The first part of a call comes, where nobody may sleep. */
static void backchannel_begin(struct kunit *test)
{
	struct backchannel_fixture *f = test->priv;
	struct rpcrdma_rx *rx = kunit_kzalloc(test, sizeof(*rx), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, rx);
	rx->xid = 1;
	rx->payload.length = sizeof(f->bytes);
	rx->stream_length = PAGE_SIZE;
	preempt_disable();
	rpcrdma_bc_call(&f->conn, rx, &f->recv);
	preempt_enable();
}

/* It has its memory before it comes, and the next one has it again. */
static void backchannel_has_memory(struct kunit *test)
{
	struct backchannel_fixture *f = test->priv;
	int i;

	KUNIT_EXPECT_EQ(test, rpcrdma_bc_setup(&f->rx.xprt, 1), 0);
	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_EQ(test, f->rx.bc_spares, 1U);
		backchannel_begin(test);
		KUNIT_EXPECT_NOT_NULL(test, f->rx.bc_assembly);
		KUNIT_EXPECT_EQ(test, f->rx.bc_spares, 0U);
		KUNIT_EXPECT_EQ(test, atomic_read(&f->rx.bc_calls), 1);
		rpcrdma_bc_abandon(&f->conn, RPCRDMA_CALL);
		KUNIT_EXPECT_EQ(test, atomic_read(&f->rx.bc_calls), 0);
	}
	KUNIT_EXPECT_EQ(test, kref_read(&f->conn.kref), 1U);
}

/* More than were asked for do not wait for memory, and leave none behind. */
static void backchannel_does_not_wait(struct kunit *test)
{
	struct backchannel_fixture *f = test->priv;

	backchannel_begin(test);
	KUNIT_EXPECT_NOT_NULL(test, f->rx.bc_assembly);
	rpcrdma_bc_abandon(&f->conn, RPCRDMA_CALL);
	KUNIT_EXPECT_EQ(test, f->rx.bc_spares, 0U);
}

#ifdef CONFIG_FAULT_INJECTION

/*
 * Whichever allocation of several callbacks' memory fails: there is room for none of them, and what
 * was asked for before stays. tools/testing/guest/kunit lets allocations fail that may wait.
 */
static void backchannel_fails_midway(struct kunit *test)
{
	struct backchannel_fixture *f = test->priv;
	const atomic_t *live = &rpcrdma_live[RPCRDMA_LIVE_CALLBACKS];
	const int before = atomic_read(live);
	int rc, at, failed = 0, left = 0;

	KUNIT_ASSERT_EQ(test, rpcrdma_bc_setup(&f->rx.xprt, 2), 0);
	for (at = 1; at < 1000 && !left; at++) {
		current->fail_nth = at;
		rc = rpcrdma_bc_setup(&f->rx.xprt, 3);
		left = current->fail_nth;
		current->fail_nth = 0;
		/* kmemleak gets along without its own. */
		if (!rc) {
			KUNIT_EXPECT_EQ(test, f->rx.bc_spares, 5U);
			KUNIT_EXPECT_EQ(test, atomic_read(live), before + 5);
			rpcrdma_bc_destroy(&f->rx.xprt, 3);
		} else {
			KUNIT_EXPECT_EQ(test, rc, -ENOMEM);
			failed++;
		}
		KUNIT_EXPECT_EQ(test, f->rx.bc_users, 2U);
		KUNIT_EXPECT_EQ(test, f->rx.bc_spares, 2U);
		KUNIT_EXPECT_EQ(test, atomic_read(live), before + 2);
	}
	/* The first one has itself and two pages: others have failed behind it. */
	KUNIT_EXPECT_GT(test, failed, 3);
	rpcrdma_bc_destroy(&f->rx.xprt, 2);
	KUNIT_EXPECT_EQ(test, f->rx.bc_spares, 0U);
	KUNIT_EXPECT_EQ(test, atomic_read(live), before);
}

#else

static void backchannel_fails_midway(struct kunit *test)
{
	kunit_skip(test, "no allocation can fail on this kernel");
}

#endif

static struct kunit_case backchannel_cases[] = {
	KUNIT_CASE(backchannel_has_memory),
	KUNIT_CASE(backchannel_does_not_wait),
	KUNIT_CASE(backchannel_fails_midway),
	{ }
};

static struct kunit_suite backchannel_suite = {
	.name = "rpcrdma_backchannel",
	.init = backchannel_init,
	.exit = backchannel_exit,
	.test_cases = backchannel_cases,
};

kunit_test_suite(backchannel_suite);
