// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How Calls, and Replies to callbacks, wait for the transport's write lock, and Calls for their
 * Replies.
 */
#include <kunit/test.h>
#include <linux/sunrpc/sched.h>

#include "client/client.h"

struct request_fixture {
	struct rpcrdma_xprt rx;
	struct rpc_clnt clnt;
	struct rpcrdma_req req;
	struct rpc_task owner;
	struct rpc_task task;
};

static int request_init(struct kunit *test)
{
	struct request_fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	test->priv = f;
	spin_lock_init(&f->rx.xprt.transport_lock);
	spin_lock_init(&f->rx.xprt.queue_lock);
	rpc_init_priority_wait_queue(&f->rx.xprt.sending, "kunit_sending");
	rpc_init_wait_queue(&f->rx.xprt.pending, "kunit_pending");
	f->req.rqst.rq_xprt = &f->rx.xprt;
	f->req.rqst.rq_task = &f->task;
	f->task.tk_rqstp = &f->req.rqst;
	f->task.tk_client = &f->clnt;
	f->task.tk_flags = RPC_TASK_SOFT;
	__set_bit(RPC_TASK_ACTIVE, &f->task.tk_runstate);
	return 0;
}

static void request_exit(struct kunit *test)
{
	struct request_fixture *f = test->priv;

	rpc_destroy_wait_queue(&f->rx.xprt.pending);
	rpc_destroy_wait_queue(&f->rx.xprt.sending);
}

static int request_reserve(struct request_fixture *f)
{
	int rc;

	spin_lock(&f->rx.xprt.transport_lock);
	rc = rpcrdma_reserve_xprt(&f->rx.xprt, &f->task);
	spin_unlock(&f->rx.xprt.transport_lock);
	return rc;
}

static void request_gets_the_lock(struct kunit *test)
{
	struct request_fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, request_reserve(f), 1);
	KUNIT_EXPECT_PTR_EQ(test, f->rx.xprt.snd_task, &f->task);
	KUNIT_EXPECT_NULL(test, f->task.tk_callback);
}

/* As the scheduler does when the task comes round again. */
static void request_wake(struct rpc_task *task)
{
	void (*callback)(struct rpc_task *task) = task->tk_callback;

	task->tk_callback = NULL;
	if (callback)
		callback(task);
}

/* Until the time is over, as somebody else has the lock. */
static void request_wait(struct kunit *test)
{
	struct request_fixture *f = test->priv;

	__set_bit(XPRT_LOCKED, &f->rx.xprt.state);
	f->rx.xprt.snd_task = &f->owner;
	f->req.rqst.rq_majortimeo = jiffies;
	KUNIT_EXPECT_EQ(test, request_reserve(f), 0);
	KUNIT_EXPECT_EQ(test, f->task.tk_status, -ETIMEDOUT);
	request_wake(&f->task);
}

/* Another task may have sent the Call: it must not be encoded anew. */
static void request_out_of_time_tries_again(struct kunit *test)
{
	struct request_fixture *f = test->priv;

	request_wait(test);
	KUNIT_EXPECT_EQ(test, f->task.tk_status, -EAGAIN);
}

/* sunrpc would try again for ever, and at once. */
static void request_reply_out_of_time_ends(struct kunit *test)
{
	struct request_fixture *f = test->priv;

	f->task.tk_client = NULL;
	request_wait(test);
	KUNIT_EXPECT_EQ(test, f->task.tk_status, -ETIMEDOUT);
}

/* A Call has found no room. */
static void request_no_room(struct request_fixture *f)
{
	xprt_set_connected(&f->rx.xprt);
	xprt_wait_for_buffer_space(&f->rx.xprt);
}

static void request_call_waits_for_room(struct kunit *test)
{
	struct request_fixture *f = test->priv;

	f->task.tk_flags = 0;
	request_no_room(f);
	KUNIT_EXPECT_EQ(test, request_reserve(f), 0);
	KUNIT_EXPECT_TRUE(test, RPC_IS_QUEUED(&f->task));
	xprt_write_space(&f->rx.xprt);
	KUNIT_EXPECT_PTR_EQ(test, f->rx.xprt.snd_task, &f->task);
}

/* The peer may make room only when it has the Reply. */
static void request_reply_does_not_wait_for_room(struct kunit *test)
{
	struct request_fixture *f = test->priv;

	f->task.tk_client = NULL;
	request_no_room(f);
	KUNIT_EXPECT_EQ(test, request_reserve(f), 1);
	KUNIT_EXPECT_PTR_EQ(test, f->rx.xprt.snd_task, &f->task);
}

static void request_reply_comes_as_a_call_finds_no_room(struct kunit *test)
{
	struct request_fixture *f = test->priv;
	struct rpc_xprt *xprt = &f->rx.xprt;

	f->task.tk_flags = 0;
	f->task.tk_client = NULL;
	__set_bit(XPRT_LOCKED, &xprt->state);
	xprt->snd_task = &f->owner;
	xprt_set_connected(xprt);
	KUNIT_EXPECT_EQ(test, request_reserve(f), 0);
	request_no_room(f);
	spin_lock(&xprt->transport_lock);
	rpcrdma_release_xprt(xprt, &f->owner);
	spin_unlock(&xprt->transport_lock);
	KUNIT_EXPECT_PTR_EQ(test, xprt->snd_task, &f->task);
	KUNIT_EXPECT_FALSE(test, RPC_IS_QUEUED(&f->task));
}

/* The pause after a failed attempt to connect is for all. */
static void request_reply_waits_while_not_connected(struct kunit *test)
{
	struct request_fixture *f = test->priv;

	f->task.tk_flags = 0;
	f->task.tk_client = NULL;
	request_no_room(f);
	xprt_clear_connected(&f->rx.xprt);
	KUNIT_EXPECT_EQ(test, request_reserve(f), 0);
	KUNIT_EXPECT_TRUE(test, RPC_IS_QUEUED(&f->task));
	xprt_write_space(&f->rx.xprt);
	KUNIT_EXPECT_FALSE(test, RPC_IS_QUEUED(&f->task));
}

/* The lock comes when another task has sent the Call, or has not. */
static void request_lock_comes_late(struct kunit *test, bool sent)
{
	struct request_fixture *f = test->priv;
	struct rpc_xprt *xprt = &f->rx.xprt;

	f->task.tk_flags = 0;
	__set_bit(RPC_TASK_NEED_XMIT, &f->task.tk_runstate);
	__set_bit(XPRT_LOCKED, &xprt->state);
	xprt->snd_task = &f->owner;
	KUNIT_EXPECT_EQ(test, request_reserve(f), 0);
	if (sent)
		__clear_bit(RPC_TASK_NEED_XMIT, &f->task.tk_runstate);
	spin_lock(&xprt->transport_lock);
	rpcrdma_release_xprt(xprt, &f->owner);
	spin_unlock(&xprt->transport_lock);
	KUNIT_EXPECT_PTR_EQ(test, xprt->snd_task, &f->task);
	request_wake(&f->task);
}

/* If the task were killed now it would keep the lock until nobody has its Reply. */
static void request_already_sent_needs_no_lock(struct kunit *test)
{
	struct request_fixture *f = test->priv;

	request_lock_comes_late(test, true);
	KUNIT_EXPECT_NULL(test, f->rx.xprt.snd_task);
	KUNIT_EXPECT_FALSE(test, test_bit(XPRT_LOCKED, &f->rx.xprt.state));
}

static void request_not_sent_keeps_the_lock(struct kunit *test)
{
	struct request_fixture *f = test->priv;

	request_lock_comes_late(test, false);
	KUNIT_EXPECT_PTR_EQ(test, f->rx.xprt.snd_task, &f->task);
}

/* Jiffies until an RPC with @flags does not wait any more. Its time is over in a second. */
static long request_time_left(struct request_fixture *f, unsigned short flags)
{
	const unsigned long now = jiffies;

	f->task.tk_flags = flags;
	f->req.rqst.rq_timeout = 60 * HZ;
	f->req.rqst.rq_majortimeo = now + HZ;
	return rpcrdma_reply_timeout(&f->req.rqst) - now;
}

/* What NFSv4 sends may be sent again on another connection only: then it must be late. */
static void request_waits_as_long_as_it_may(struct kunit *test)
{
	struct request_fixture *f = test->priv;

	KUNIT_EXPECT_LE(test, request_time_left(f, RPC_TASK_TIMEOUT), (long)HZ);
	KUNIT_EXPECT_GE(test, request_time_left(f, 0), 60L * HZ);
	KUNIT_EXPECT_GE(test,
			request_time_left(f, RPC_TASK_TIMEOUT |
						     RPC_TASK_NO_RETRANS_TIMEOUT),
			60L * HZ);
}

/* The task sleeps until it has a Reply, or until @status says why not. */
static void request_wait_for_reply(struct request_fixture *f, int status)
{
	f->task.tk_flags = 0;
	f->req.rqst.rq_timeout = 60 * HZ;
	f->req.rqst.rq_connect_cookie = f->rx.xprt.connect_cookie;
	rpcrdma_wait_for_reply(&f->task);
	rpc_wake_up_queued_task(&f->rx.xprt.pending, &f->task);
	f->task.tk_status = status;
	request_wake(&f->task);
}

/*
 * As after a Reply whose verifier was wrong: sunrpc waits for another, but the Call is on no
 * connection any more. Without another cookie sunrpc would not send it again.
 */
static void request_waits_for_nothing(struct kunit *test)
{
	struct request_fixture *f = test->priv;

	request_wait_for_reply(f, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, f->task.tk_status, -ETIMEDOUT);
	KUNIT_EXPECT_NE(test, f->req.rqst.rq_connect_cookie,
			f->rx.xprt.connect_cookie);
}

static void request_is_answered(struct kunit *test)
{
	struct request_fixture *f = test->priv;

	f->req.rqst.rq_reply_bytes_recvd = 24;
	request_wait_for_reply(f, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, f->task.tk_status, 0);
	KUNIT_EXPECT_EQ(test, f->req.rqst.rq_connect_cookie,
			f->rx.xprt.connect_cookie);
}

/* Who has the write lock does not wait for memory. */
static void request_pages_come_at_once(struct kunit *test)
{
	struct page *pages[3] = { };
	struct xdr_buf buf = {
		.pages = pages,
		.page_base = 100,
		.page_len = 2 * PAGE_SIZE,
		.flags = XDRBUF_SPARSE_PAGES,
	};
	int i, rc;

	preempt_disable();
	rc = rpcrdma_fill_sparse(&buf);
	preempt_enable();
	KUNIT_EXPECT_EQ(test, rc, 0);
	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		KUNIT_EXPECT_NOT_NULL(test, pages[i]);
		if (pages[i])
			__free_page(pages[i]);
	}
}

static struct kunit_case request_cases[] = {
	KUNIT_CASE(request_gets_the_lock),
	KUNIT_CASE(request_out_of_time_tries_again),
	KUNIT_CASE(request_reply_out_of_time_ends),
	KUNIT_CASE(request_call_waits_for_room),
	KUNIT_CASE(request_reply_does_not_wait_for_room),
	KUNIT_CASE(request_reply_comes_as_a_call_finds_no_room),
	KUNIT_CASE(request_reply_waits_while_not_connected),
	KUNIT_CASE(request_already_sent_needs_no_lock),
	KUNIT_CASE(request_not_sent_keeps_the_lock),
	KUNIT_CASE(request_waits_as_long_as_it_may),
	KUNIT_CASE(request_waits_for_nothing),
	KUNIT_CASE(request_is_answered),
	KUNIT_CASE(request_pages_come_at_once),
	{ }
};

static struct kunit_suite request_suite = {
	.name = "rpcrdma_request",
	.init = request_init,
	.exit = request_exit,
	.test_cases = request_cases,
};

kunit_test_suite(request_suite);
