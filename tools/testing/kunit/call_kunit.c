// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The server takes a Call that comes in parts; there is no connection. And: what nfsd
 * gets while the device is being removed.
 */
#include <kunit/test.h>
#include <linux/kthread.h>
#include <linux/prandom.h>
#include <linux/sched.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include <rpcrdma/recent.h>
#include <trace/events/lock.h>

#include "server/call.h"

#define CALL_LENGTH	(2 * PAGE_SIZE)
/* The filter has a bit for one of 1024. */
#define CALL_MANY	20000

#define CALL_PAGES	3
/* And some for the Reply. */
#define CALL_ALL_PAGES	(CALL_PAGES + 2)
#define CALL_HEADER	32
/* Of a Call by a group: its stream, where its item is, and what says where it has come. */
#define CALL_STREAM	76
#define CALL_ITEM	64
#define CALL_ARGUMENTS	60
#define CALL_EXRW	1
#define CALL_TBSN	2

struct call_fixture {
	struct rpcrdma_conn conn;
	struct rpcrdma_svc_xprt svc;
	struct rpcrdma_recv recv;
	struct rpcrdma_rx rx;
	u64 limit;	/* of the module, before the test */
	struct work_struct shut;
	struct completion is_shut;
	u32 item;	/* of a Call by a group: where its data are in it, */
	u32 stream;	/* what of it is no data, */
	u32 counted;	/* what it says of their length, */
	u32 service;	/* and that of RPCSEC_GSS */
#ifdef CONFIG_LOCKDEP
	struct tracepoint *lock_event;
	struct task_struct *looks;
#endif
	u32 locked;
	u32 eases;	/* so much of the Replies' memory is free when that of svc is to be taken */
	u8 octets[64];
};

/* What the thread may do to get memory that has made the last Call ready. */
static unsigned int call_ready_flags;

static int call_no_thread(struct svc_xprt *xprt)
{
	call_ready_flags = current->flags;
	return 0;
}

static const struct svc_xprt_ops call_xprt_ops = {
	.xpo_has_wspace = call_no_thread,
};

/* As when a connection is accepted; the budget holds the reserve. */
static void call_account(struct call_fixture *f)
{
	const u32 reserve = rpcrdma_svc_reserve(&f->svc);
	struct rpcrdma_budget budget;

	rpcrdma_memory_info(&budget);
	f->limit = budget.limit;
	WARN_ON(rpcrdma_memory_charge(reserve, true));
	rpcrdma_account_open(&f->svc.account, RPCRDMA_BUDGET_BATCH, reserve,
			     RPCRDMA_SVC_CALL_MEMORY, RPCRDMA_SVC_REPLY_MEMORY);
}

static void call_exit(struct kunit *test)
{
	struct call_fixture *f = test->priv;

	cancel_delayed_work_sync(&f->svc.resume);
	/* A case that ends early may leave some. */
	rpcrdma_svc_drop_calls(&f->svc);
	rpcrdma_memory_uncharge(f->svc.account.reserve);
	rpcrdma_memory_close(&f->svc.account);
	rpcrdma_memory_limit(f->limit);
}

static u32 call_memory(const struct call_fixture *f)
{
	return f->svc.account.used[RPCRDMA_BUDGET_CALLS];
}

/* So much of the account is in use, by something else. */
static void call_take_memory(struct call_fixture *f, u32 kind, u32 octets)
{
	spin_lock(&f->svc.lock);
	rpcrdma_memory_take(&f->svc.account, kind, octets);
	spin_unlock(&f->svc.lock);
}

static void call_put_memory(struct call_fixture *f, u32 kind, u32 octets)
{
	spin_lock(&f->svc.lock);
	rpcrdma_memory_put(&f->svc.account, kind, octets);
	spin_unlock(&f->svc.lock);
}

static int call_init(struct kunit *test)
{
	struct call_fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, f);
	test->priv = f;
	f->conn.context = &f->svc;
	/* Nothing is sent. */
	f->conn.pumping = true;
	spin_lock_init(&f->conn.lock);
	spin_lock_init(&f->conn.event_lock);
	f->svc.conn = &f->conn;
	f->svc.xprt.xpt_ops = &call_xprt_ops;
	kref_init(&f->svc.xprt.xpt_ref);
	set_bit(XPT_BUSY, &f->svc.xprt.xpt_flags);
	rpcrdma_svc_device_init(&f->svc);
	rpcrdma_svc_resume_init(&f->svc);
	init_completion(&f->is_shut);
	f->svc.max_call = RPCRDMA_MAX_MESSAGE;
	spin_lock_init(&f->svc.lock);
	INIT_LIST_HEAD(&f->svc.ready);
	init_llist_head(&f->svc.came);
	INIT_LIST_HEAD(&f->svc.waiting);
	INIT_LIST_HEAD(&f->svc.held);
	INIT_LIST_HEAD(&f->svc.group);
	INIT_LIST_HEAD(&f->svc.groups);
	INIT_LIST_HEAD(&f->svc.no_regions);
	call_account(f);
	f->recv.conn = &f->conn;
	f->recv.buf = f->octets;
	f->item = CALL_ITEM;
	f->stream = CALL_STREAM;
	f->service = 1;
	INIT_LIST_HEAD(&f->recv.link);
	f->rx.vers = 2;
	f->rx.dir = RPCRDMA_CALL;
	f->rx.xid = 7;
	f->rx.stream_length = CALL_LENGTH;
	f->rx.payload.length = sizeof(f->octets);
	return 0;
}

static const struct rpcrdma_config call_config = {
	.role = RPCRDMA_ROLE_SERVER,
	.window = RPCRDMA_DEF_WINDOW,
	.max_message = RPCRDMA_MAX_MESSAGE,
	.local = {
		.send_size = RPCRDMA_DEF_INLINE,
		.recv_size = RPCRDMA_DEF_INLINE,
		.max_segment_size = RPCRDMA_MAX_PAYLOAD,
		.max_segments = RPCRDMA_MAX_SEGMENTS,
	},
};

/* For a Call that is refused. */
static void call_session(struct kunit *test)
{
	struct call_fixture *f = test->priv;

	KUNIT_ASSERT_TRUE(test, rpcrdma_session_init(&f->conn.session,
						     &call_config));
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
	KUNIT_EXPECT_EQ(test, call_memory(f), least);
	rpcrdma_svc_abandon(&f->conn, RPCRDMA_CALL);
	KUNIT_EXPECT_NULL(test, f->svc.partial);
	KUNIT_EXPECT_EQ(test, call_memory(f), 0U);
}

/* Others wait for the handler that takes it: no memory for that comes by I/O. */
static void call_waits_for_no_io(struct kunit *test)
{
	struct call_fixture *f = test->priv;

	f->rx.last = true;
	f->rx.stream_length = sizeof(f->octets);
	clear_bit(XPT_BUSY, &f->svc.xprt.xpt_flags);
	call_ready_flags = 0;
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_payload(&f->conn, &f->rx, &f->recv,
						  0),
			RPCRDMA_RECV_KEEP);
	KUNIT_EXPECT_NE(test, call_ready_flags & PF_MEMALLOC_NOIO, 0U);
	KUNIT_EXPECT_EQ(test, current->flags & PF_MEMALLOC_NOIO, 0U);
}

/* Extensions have any numbers: this one's is above those of groups, and it is no group. */
static void call_by_another_extension_is_no_group(struct kunit *test)
{
	struct call_fixture *f = test->priv;

	f->rx.htype = RPCRDMA_RTR_REPTERR + 1;
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_payload(&f->conn, &f->rx, &f->recv,
						  0),
			RPCRDMA_RECV_DONE);
	KUNIT_EXPECT_NOT_NULL(test, f->svc.partial);
	rpcrdma_svc_abandon(&f->conn, RPCRDMA_CALL);
}

/* At the bound its Receive stays here, and with it the peer's credit. */
static void call_holds_its_receive(struct kunit *test)
{
	struct call_fixture *f = test->priv;

	call_take_memory(f, RPCRDMA_BUDGET_CALLS,
			 RPCRDMA_SVC_CALL_MEMORY - PAGE_SIZE -
			 2 * sizeof(struct page *) -
			 sizeof(struct rpcrdma_svc_call));
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_payload(&f->conn, &f->rx, &f->recv,
						  0),
			RPCRDMA_RECV_KEEP);
	KUNIT_EXPECT_FALSE(test, list_empty(&f->svc.held));
	list_del_init(&f->recv.link);
	rpcrdma_svc_abandon(&f->conn, RPCRDMA_CALL);
}

/*
 * A client of version 1 has its credit all the same, and iWARP ends a connection that has no
 * Receive for a Send. So its Receive goes back, unless there are more Calls than it may have.
 */
static void call_of_version_1_holds_none_over_iwarp(struct kunit *test)
{
	static const struct {
		bool iwarp;
		u32 ready;
		enum rpcrdma_recv_verdict verdict;
	} cases[] = {
		{ false, 32, RPCRDMA_RECV_KEEP },
		{ true, 32, RPCRDMA_RECV_DONE },
		{ true, 65, RPCRDMA_RECV_KEEP },
	};
	struct call_fixture *f = test->priv;
	int i;

	f->rx.vers = 1;
	f->conn.n_recvs = 65;
	call_take_memory(f, RPCRDMA_BUDGET_CALLS, RPCRDMA_SVC_CALL_MEMORY);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		f->conn.iwarp = cases[i].iwarp;
		atomic_set(&f->svc.n_ready, cases[i].ready);
		KUNIT_EXPECT_EQ(test, rpcrdma_svc_payload(&f->conn, &f->rx, &f->recv, 0),
				cases[i].verdict);
		list_del_init(&f->recv.link);
		rpcrdma_svc_abandon(&f->conn, RPCRDMA_CALL);
	}
	atomic_set(&f->svc.n_ready, 0);
	call_put_memory(f, RPCRDMA_BUDGET_CALLS, RPCRDMA_SVC_CALL_MEMORY);
}

/*
 * The module has no memory beyond the reserve of this connection, and Replies have that:
 * what comes in is stored, and its Receive stays here until they have been sent.
 */
static void call_waits_for_the_modules_memory(struct kunit *test)
{
	struct call_fixture *f = test->priv;
	const u32 reserve = f->svc.account.reserve;
	struct rpcrdma_budget before, after;

	rpcrdma_memory_info(&before);
	rpcrdma_memory_limit(before.held);
	KUNIT_EXPECT_TRUE(test, rpcrdma_memory_short());
	call_take_memory(f, RPCRDMA_BUDGET_REPLIES, reserve);
	rpcrdma_memory_info(&after);
	KUNIT_EXPECT_EQ(test, after.held, before.held);
	KUNIT_EXPECT_NE(test, rpcrdma_svc_has_wspace(&f->svc.xprt), 0);

	KUNIT_EXPECT_EQ(test, rpcrdma_svc_payload(&f->conn, &f->rx, &f->recv,
						  0),
			RPCRDMA_RECV_KEEP);
	rpcrdma_memory_info(&after);
	KUNIT_EXPECT_EQ(test, after.held, before.held + call_memory(f));
	KUNIT_EXPECT_EQ(test, f->svc.account.forced, call_memory(f));
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_has_wspace(&f->svc.xprt), 0);
	/* Maybe they are sent and only wait for the next Reply, which this Call would have. */
	KUNIT_EXPECT_TRUE(test, f->conn.hurry);
	KUNIT_EXPECT_TRUE(test, f->conn.pump_again);

	call_put_memory(f, RPCRDMA_BUDGET_REPLIES, reserve);
	KUNIT_EXPECT_EQ(test, f->svc.account.forced, 0U);
	KUNIT_EXPECT_NE(test, rpcrdma_svc_has_wspace(&f->svc.xprt), 0);
	rpcrdma_memory_info(&after);
	KUNIT_EXPECT_EQ(test, after.held, before.held);
	rpcrdma_svc_replies_charged(&f->svc);
	KUNIT_EXPECT_FALSE(test, f->conn.hurry);
	list_del_init(&f->recv.link);
	rpcrdma_svc_abandon(&f->conn, RPCRDMA_CALL);
}

/*
 * Small Calls in their Receives hold no memory. However many are ready, and whatever Replies hold,
 * a Call that is to be fetched does not wait for them; it waits for those that do hold some.
 */
static void call_does_not_wait_for_small_ones(struct kunit *test)
{
	struct call_fixture *f = test->priv;
	const u32 size = rpcrdma_svc_call_size(RPCRDMA_MAX_PAYLOAD / PAGE_SIZE);
	struct rpcrdma_budget before;

	rpcrdma_memory_info(&before);
	rpcrdma_memory_limit(before.held);
	call_take_memory(f, RPCRDMA_BUDGET_REPLIES, f->svc.account.reserve);
	atomic_set(&f->svc.n_ready, 3);
	/* What it has brought with it counts, too. */
	call_take_memory(f, RPCRDMA_BUDGET_CALLS, PAGE_SIZE);
	spin_lock(&f->svc.lock);
	KUNIT_EXPECT_FALSE(test, rpcrdma_memory_call(&f->svc.account, size, false));
	atomic_set(&f->svc.n_charged, 1);
	KUNIT_EXPECT_FALSE(test, rpcrdma_svc_alone(&f->svc));
	atomic_set(&f->svc.n_charged, 0);
	KUNIT_EXPECT_TRUE(test, rpcrdma_svc_alone(&f->svc));
	KUNIT_EXPECT_TRUE(test, rpcrdma_memory_call(&f->svc.account, size,
						    rpcrdma_svc_alone(&f->svc)));
	/* One after the other. */
	f->svc.reading = 1;
	KUNIT_EXPECT_FALSE(test, rpcrdma_svc_alone(&f->svc));
	f->svc.reading = 0;
	spin_unlock(&f->svc.lock);
	atomic_set(&f->svc.n_ready, 0);
	call_put_memory(f, RPCRDMA_BUDGET_CALLS, size + PAGE_SIZE);
	call_put_memory(f, RPCRDMA_BUDGET_REPLIES, f->svc.account.reserve);
}

/* With its reserve alone a connection takes the largest Call, part by part. */
static void call_of_the_largest_size_fits_the_reserve(struct kunit *test)
{
	const u32 pages = RPCRDMA_MAX_MESSAGE / PAGE_SIZE;
	struct call_fixture *f = test->priv;
	struct rpcrdma_budget before, after;
	u32 i;

	rpcrdma_memory_info(&before);
	rpcrdma_memory_limit(before.held);
	f->rx.stream_length = RPCRDMA_MAX_MESSAGE;
	for (i = 0; i < pages; i++) {
		f->rx.stream_offset = i * PAGE_SIZE;
		KUNIT_ASSERT_EQ(test, rpcrdma_svc_payload(&f->conn, &f->rx,
							  &f->recv, 0),
				RPCRDMA_RECV_DONE);
	}
	KUNIT_EXPECT_GT(test, call_memory(f), (u32)RPCRDMA_MAX_MESSAGE);
	rpcrdma_memory_info(&after);
	KUNIT_EXPECT_EQ(test, after.held, before.held);
	rpcrdma_svc_abandon(&f->conn, RPCRDMA_CALL);
	KUNIT_EXPECT_EQ(test, call_memory(f), 0U);
}

/*
 * nfsd takes more than clients of Linux send: for the first such Call the connection gets a
 * larger reserve, even if the module does not have it. All further ones have it.
 */
static void call_larger_than_the_reserve(struct kunit *test)
{
	struct call_fixture *f = test->priv;
	const u32 least = f->svc.account.reserve;
	struct rpcrdma_budget before, after;
	u32 i;

	f->svc.max_call = SZ_4M + PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_reserve(&f->svc), least);
	rpcrdma_memory_info(&before);
	f->rx.stream_length = SZ_4M;

	rpcrdma_memory_limit(before.held);
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, rpcrdma_svc_payload(&f->conn, &f->rx,
							  &f->recv, 0),
				RPCRDMA_RECV_DONE);
		KUNIT_EXPECT_NOT_NULL(test, f->svc.partial);
		KUNIT_EXPECT_GT(test, f->svc.account.reserve, (u32)SZ_4M);
		rpcrdma_memory_info(&after);
		KUNIT_EXPECT_EQ(test, after.held - before.held,
				(u64)f->svc.account.reserve - least);
		KUNIT_EXPECT_EQ(test, f->conn.memory, after.held - before.held);
		rpcrdma_svc_abandon(&f->conn, RPCRDMA_CALL);
	}

	/* One of more than nfsd takes is refused, and the connection goes on. */
	call_session(test);
	f->rx.stream_length = SZ_4M + 2 * PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_payload(&f->conn, &f->rx, &f->recv,
						  0),
			RPCRDMA_RECV_DONE);
	KUNIT_EXPECT_NULL(test, f->svc.partial);
	KUNIT_EXPECT_FALSE(test, test_bit(RPCRDMA_CONN_LOST, &f->conn.flags));
}

static void call_shut(struct work_struct *work)
{
	struct call_fixture *f = container_of(work, struct call_fixture, shut);

	rpcrdma_svc_shut(&f->svc);
	complete(&f->is_shut);
}

/* The device stays for those who use it, and for nobody else. */
static void device_waits_for_who_uses_it(struct kunit *test)
{
	struct call_fixture *f = test->priv;
	bool second;

	KUNIT_ASSERT_TRUE(test, rpcrdma_svc_enter(&f->svc));
	second = rpcrdma_svc_enter(&f->svc);
	KUNIT_EXPECT_TRUE(test, second);
	INIT_WORK(&f->shut, call_shut);
	schedule_work(&f->shut);
	KUNIT_EXPECT_FALSE(test, wait_for_completion_timeout(&f->is_shut,
							     HZ / 20));
	if (second)
		rpcrdma_svc_leave(&f->svc);
	KUNIT_EXPECT_FALSE(test, wait_for_completion_timeout(&f->is_shut,
							     HZ / 20));
	rpcrdma_svc_leave(&f->svc);
	flush_work(&f->shut);
	KUNIT_EXPECT_TRUE(test, try_wait_for_completion(&f->is_shut));
	KUNIT_EXPECT_FALSE(test, rpcrdma_svc_enter(&f->svc));
}

/* A Call that was ready is in a Receive that goes with the device. */
static void device_gone_leaves_nothing_to_do(struct kunit *test)
{
	struct svc_rqst *rqstp = kunit_kzalloc(test, sizeof(*rqstp), GFP_KERNEL);
	struct call_fixture *f = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, rqstp);
	rqstp->rq_xprt = &f->svc.xprt;
	f->rx.last = true;
	f->rx.stream_length = sizeof(f->octets);
	KUNIT_ASSERT_EQ(test, rpcrdma_svc_payload(&f->conn, &f->rx, &f->recv,
						  0),
			RPCRDMA_RECV_KEEP);
	KUNIT_EXPECT_FALSE(test, llist_empty(&f->svc.came));
	rpcrdma_svc_shut(&f->svc);

	KUNIT_EXPECT_EQ(test, rpcrdma_svc_recvfrom(rqstp), 0);
	KUNIT_EXPECT_NULL(test, rqstp->rq_xprt_ctxt);
	KUNIT_EXPECT_FALSE(test, test_bit(XPT_BUSY, &f->svc.xprt.xpt_flags));
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_sendto(rqstp), -ENOTCONN);
	KUNIT_EXPECT_FALSE(test, test_bit(RPCRDMA_CONN_LOST, &f->conn.flags));
	rpcrdma_svc_drop_calls(&f->svc);
	KUNIT_EXPECT_TRUE(test, llist_empty(&f->svc.came));
	KUNIT_EXPECT_TRUE(test, list_empty(&f->svc.ready));
}

static void call_free_pages(struct page **pages, int count)
{
	while (count--)
		if (pages[count])
			__free_page(pages[count]);
}

/* Behind call_exit(), also if a case ends early: who has a page then frees it. */
static void call_free_rqst(void *context)
{
	struct svc_rqst *rqstp = context;

	call_free_pages(rqstp->rq_pages, CALL_ALL_PAGES);
}

static void call_free_recv(void *context)
{
	struct rpcrdma_recv *recv = context;

	call_free_pages(recv->pages, CALL_PAGES);
}

/* What nfsd has for a Call. Since Linux 6.16 the array is not in struct svc_rqst. */
static struct svc_rqst *call_rqst(struct kunit *test)
{
	struct svc_rqst *rqstp = kunit_kzalloc(test, sizeof(*rqstp), GFP_KERNEL);
	struct call_fixture *f = test->priv;
	void *array;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, rqstp);
	if (sizeof(rqstp->rq_pages) == sizeof(array)) {
		array = kunit_kcalloc(test, CALL_ALL_PAGES,
				      sizeof(struct page *), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, array);
		memcpy(&rqstp->rq_pages, &array, sizeof(array));
	}
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, call_free_rqst,
							rqstp), 0);
	for (i = 0; i < CALL_ALL_PAGES; i++) {
		rqstp->rq_pages[i] = alloc_page(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, rqstp->rq_pages[i]);
	}
	rqstp->rq_page_end = &rqstp->rq_pages[CALL_ALL_PAGES];
	rqstp->rq_xprt = &f->svc.xprt;
	return rqstp;
}

/* The Receive is of pages, on a device that takes addresses of the kernel. */
static void call_recv_pages(struct kunit *test)
{
	struct call_fixture *f = test->priv;
	struct rpcrdma_recv *recv = &f->recv;
	int i;

	f->conn.cm_id = kunit_kzalloc(test, sizeof(*f->conn.cm_id), GFP_KERNEL);
	recv->pages = kunit_kcalloc(test, CALL_PAGES, sizeof(*recv->pages),
				    GFP_KERNEL);
	recv->sge = kunit_kcalloc(test, CALL_PAGES, sizeof(*recv->sge),
				  GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->conn.cm_id);
	KUNIT_ASSERT_NOT_NULL(test, recv->pages);
	KUNIT_ASSERT_NOT_NULL(test, recv->sge);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, call_free_recv,
							recv), 0);
	f->conn.cm_id->device = kunit_kzalloc(test, sizeof(struct ib_device),
					      GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, f->conn.cm_id->device);
	recv->wr.num_sge = CALL_PAGES;
	for (i = 0; i < CALL_PAGES; i++) {
		recv->pages[i] = alloc_page(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, recv->pages[i]);
		memset(page_address(recv->pages[i]), 'a' + i, PAGE_SIZE);
		recv->sge[i].addr = (uintptr_t)page_address(recv->pages[i]);
		recv->sge[i].length = PAGE_SIZE;
	}
	recv->buf = page_address(recv->pages[0]);
}

/* A thread takes a Call of @length bytes that has come in one Receive. */
static void call_take_from(struct kunit *test, struct svc_rqst *rqstp,
			   u32 length, u32 offset)
{
	struct call_fixture *f = test->priv;

	f->rx.last = true;
	f->rx.stream_length = length;
	f->rx.unreduced_length = length;
	f->rx.payload.offset = offset;
	f->rx.payload.length = length;
	clear_bit(RPCRDMA_CONN_LOST, &f->conn.flags);
	set_bit(XPT_BUSY, &f->svc.xprt.xpt_flags);
	KUNIT_ASSERT_EQ(test, rpcrdma_svc_payload(&f->conn, &f->rx, &f->recv,
						  0),
			RPCRDMA_RECV_KEEP);
	/* Its Receive is not posted again. */
	set_bit(RPCRDMA_CONN_LOST, &f->conn.flags);
	f->conn.stage = RPCRDMA_CONN_DEAD;
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_recvfrom(rqstp), length);
	KUNIT_EXPECT_NOT_NULL(test, rqstp->rq_xprt_ctxt);
	rpcrdma_svc_release_ctxt(&f->svc.xprt, rqstp->rq_xprt_ctxt);
	rqstp->rq_xprt_ctxt = NULL;
}

static void call_take(struct kunit *test, struct svc_rqst *rqstp, u32 length)
{
	call_take_from(test, rqstp, length, CALL_HEADER);
}

/* A large Call is not copied: the thread gets its pages, and its Receive the thread's. */
static void call_gives_its_pages(struct kunit *test)
{
	const u32 length = PAGE_SIZE + 1000, head = PAGE_SIZE - CALL_HEADER;
	struct call_fixture *f = test->priv;
	struct svc_rqst *rqstp = call_rqst(test);
	struct page *theirs[2], *mine[2];
	struct xdr_buf *arg = &rqstp->rq_arg;

	call_recv_pages(test);
	memcpy(theirs, f->recv.pages, sizeof(theirs));
	memcpy(mine, rqstp->rq_pages, sizeof(mine));
	call_take(test, rqstp, length);
	KUNIT_EXPECT_EQ(test, memcmp(rqstp->rq_pages, theirs, sizeof(theirs)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(f->recv.pages, mine, sizeof(mine)), 0);
	KUNIT_EXPECT_PTR_EQ(test, f->recv.buf, page_address(mine[0]));
	KUNIT_EXPECT_EQ(test, f->recv.sge[1].addr,
			(u64)(uintptr_t)page_address(mine[1]));
	KUNIT_EXPECT_PTR_EQ(test, arg->head[0].iov_base,
			    page_address(theirs[0]) + CALL_HEADER);
	KUNIT_EXPECT_EQ(test, arg->head[0].iov_len, (size_t)head);
	KUNIT_EXPECT_PTR_EQ(test, arg->pages, &rqstp->rq_pages[1]);
	KUNIT_EXPECT_EQ(test, arg->page_len, length - head);
	KUNIT_EXPECT_EQ(test, arg->tail[0].iov_len, 0UL);
	KUNIT_EXPECT_EQ(test, f->conn.stats.recv_copied_bytes, 0ULL);
}

/* A small one is copied, and the Receive keeps its pages. One page is enough for a middling. */
static void call_of_few_bytes_is_copied(struct kunit *test)
{
	struct call_fixture *f = test->priv;
	struct svc_rqst *rqstp = call_rqst(test);
	struct page *theirs[2], *mine[2];

	call_recv_pages(test);
	memcpy(theirs, f->recv.pages, sizeof(theirs));
	memcpy(mine, rqstp->rq_pages, sizeof(mine));
	call_take(test, rqstp, RPCRDMA_SVC_SWAP - 4);
	KUNIT_EXPECT_EQ(test, memcmp(rqstp->rq_pages, mine, sizeof(mine)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(f->recv.pages, theirs, sizeof(theirs)), 0);
	KUNIT_EXPECT_PTR_EQ(test, rqstp->rq_arg.head[0].iov_base,
			    page_address(mine[0]));
	KUNIT_EXPECT_NULL(test, memchr_inv(page_address(mine[0]), 'a',
					   RPCRDMA_SVC_SWAP - 4));
	KUNIT_EXPECT_EQ(test, f->conn.stats.recv_copied_bytes,
			RPCRDMA_SVC_SWAP - 4ULL);

	call_take(test, rqstp, RPCRDMA_SVC_SWAP);
	KUNIT_EXPECT_PTR_EQ(test, rqstp->rq_pages[0], theirs[0]);
	KUNIT_EXPECT_PTR_EQ(test, rqstp->rq_pages[1], mine[1]);
	KUNIT_EXPECT_PTR_EQ(test, f->recv.pages[1], theirs[1]);
	KUNIT_EXPECT_EQ(test, rqstp->rq_arg.page_len, 0U);
}

/*
 * sunrpc wants the RPC header in one piece: behind a long transport header the first page has
 * too little of it.
 */
static void call_header_is_in_one_piece(struct kunit *test)
{
	const u32 length = PAGE_SIZE + 1000;
	struct call_fixture *f = test->priv;
	struct svc_rqst *rqstp = call_rqst(test);
	struct page *theirs[2], *mine[2];

	call_recv_pages(test);
	f->conn.recv_base = PAGE_SIZE - RPCRDMA_RTR_HEAD;
	f->recv.buf = page_address(f->recv.pages[0]) + f->conn.recv_base;
	memcpy(theirs, f->recv.pages, sizeof(theirs));
	memcpy(mine, rqstp->rq_pages, sizeof(mine));
	call_take_from(test, rqstp, length, 132);
	KUNIT_EXPECT_EQ(test, memcmp(rqstp->rq_pages, mine, sizeof(mine)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(f->recv.pages, theirs, sizeof(theirs)), 0);
	KUNIT_EXPECT_EQ(test, rqstp->rq_arg.head[0].iov_len, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, f->conn.stats.recv_copied_bytes, (u64)length);

	call_take_from(test, rqstp, length, 128);
	if (rpcrdma_compat_any_layout()) {
		KUNIT_EXPECT_PTR_EQ(test, rqstp->rq_pages[0], theirs[0]);
		KUNIT_EXPECT_EQ(test, rqstp->rq_arg.head[0].iov_len, 896UL);
	} else {
		/* As with TCP: an older nfsd stores wrong data behind less. */
		KUNIT_EXPECT_PTR_EQ(test, rqstp->rq_pages[0], mine[0]);
		KUNIT_EXPECT_EQ(test, rqstp->rq_arg.head[0].iov_len, PAGE_SIZE);
	}
}

/* What the first Send of a group says of a Call with one item. */
static void call_group_header(struct call_fixture *f, u32 type, u32 length,
			      u32 offset, u32 number)
{
	const u32 begin[] = {
		7, 2, 64, RPCRDMA_RTR_XMTREQ, 1, f->item, length, type,
	};
	const u32 placed[] = { offset, 1, number };
	/* One segment, with its handle, length and offset. */
	const u32 memory[] = { 1, 77, length, 0, PAGE_SIZE };
	const u32 end[] = { 0, 1, 1, f->stream };
	/* The RPC header: RPCSEC_GSS without integrity, and no verifier. */
	const u32 call[] = {
		7, RPCRDMA_CALL, 2, 100003, 4, 1,
		6, 20, 1, 0, 9, f->service, 0, 0, 0,
	};
	__be32 *at = f->recv.buf;
	int i;

	memset(f->recv.buf, 's', RPCRDMA_RTR_HEAD);
	for (i = 0; i < ARRAY_SIZE(begin); i++)
		*at++ = cpu_to_be32(begin[i]);
	for (i = 0; type == CALL_TBSN && i < ARRAY_SIZE(placed); i++)
		*at++ = cpu_to_be32(placed[i]);
	for (i = 0; type == CALL_EXRW && i < ARRAY_SIZE(memory); i++)
		*at++ = cpu_to_be32(memory[i]);
	for (i = 0; i < ARRAY_SIZE(end); i++)
		*at++ = cpu_to_be32(end[i]);
	f->rx.payload.offset = (void *)at - f->recv.buf;
	for (i = 0; i < ARRAY_SIZE(call); i++)
		*at++ = cpu_to_be32(call[i]);
	if (f->item == CALL_ITEM)
		*at = cpu_to_be32(f->counted ?: length);
}

/*
 * A Receive of a head and two pages gets a Call whose item has @length bytes, from @offset on
 * in the page of that number. Return: what the Receive handler did.
 */
static int call_come_by_group(struct kunit *test, u32 type, u32 length,
			      u32 offset, u32 number)
{
	struct call_fixture *f = test->priv;

	f->conn.recv_base = PAGE_SIZE - RPCRDMA_RTR_HEAD;
	f->conn.recv_pages = CALL_PAGES;
	f->recv.buf = page_address(f->recv.pages[0]) + f->conn.recv_base;
	f->recv.len = RPCRDMA_RTR_HEAD + 2 * PAGE_SIZE;
	call_group_header(f, type, length, offset, number);
	f->rx.htype = RPCRDMA_RTR_XMTREQ;
	f->rx.last = true;
	f->rx.stream_length = f->stream;
	f->rx.unreduced_length = f->stream + xdr_align_size(length);
	f->rx.payload.length = f->stream;
	clear_bit(RPCRDMA_CONN_LOST, &f->conn.flags);
	set_bit(XPT_BUSY, &f->svc.xprt.xpt_flags);
	return rpcrdma_svc_payload(&f->conn, &f->rx, &f->recv, 0);
}

static void call_take_group(struct kunit *test, struct svc_rqst *rqstp)
{
	struct call_fixture *f = test->priv;

	/* Its Receive is not posted again. */
	set_bit(RPCRDMA_CONN_LOST, &f->conn.flags);
	f->conn.stage = RPCRDMA_CONN_DEAD;
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_recvfrom(rqstp),
			(int)f->rx.unreduced_length);
	KUNIT_EXPECT_TRUE(test, list_empty(&f->recv.link));
	rpcrdma_svc_release_ctxt(&f->svc.xprt, rqstp->rq_xprt_ctxt);
	rqstp->rq_xprt_ctxt = NULL;
}

/* The thread gets the page with the data as it is. Only the stream is copied. */
static void call_by_group_gives_its_pages(struct kunit *test)
{
	const u32 length = PAGE_SIZE - 3;
	struct call_fixture *f = test->priv;
	struct svc_rqst *rqstp = call_rqst(test);
	struct xdr_buf *arg = &rqstp->rq_arg;
	struct page *theirs[CALL_PAGES], *mine[CALL_PAGES];

	call_recv_pages(test);
	memcpy(theirs, f->recv.pages, sizeof(theirs));
	memcpy(mine, rqstp->rq_pages, sizeof(mine));
	KUNIT_ASSERT_EQ(test, call_come_by_group(test, CALL_TBSN, length, 0, 0),
			RPCRDMA_RECV_KEEP);
	call_take_group(test, rqstp);
	KUNIT_EXPECT_PTR_EQ(test, rqstp->rq_pages[0], mine[0]);
	KUNIT_EXPECT_PTR_EQ(test, rqstp->rq_pages[1], theirs[1]);
	KUNIT_EXPECT_PTR_EQ(test, f->recv.pages[1], mine[1]);
	KUNIT_EXPECT_PTR_EQ(test, f->recv.pages[0], theirs[0]);
	KUNIT_EXPECT_EQ(test, f->conn.stats.recv_copied_bytes,
			(u64)CALL_STREAM);
	KUNIT_EXPECT_EQ(test, arg->head[0].iov_len, (size_t)CALL_ITEM);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(arg->head[0].iov_base), 7U);
	KUNIT_EXPECT_PTR_EQ(test, arg->pages, &rqstp->rq_pages[1]);
	KUNIT_EXPECT_EQ(test, arg->page_len, xdr_align_size(length));
	KUNIT_EXPECT_EQ(test, arg->tail[0].iov_len,
			(size_t)CALL_STREAM - CALL_ITEM);
	KUNIT_EXPECT_NULL(test, memchr_inv(page_address(theirs[1]), 'b', length));
	/* XDR padding was not sent. */
	KUNIT_EXPECT_NULL(test, memchr_inv(page_address(theirs[1]) + length, 0,
					   3));
}

/* Data that do not begin with a page are copied to where they are in the message. */
static void call_by_group_is_copied(struct kunit *test)
{
	const u32 length = PAGE_SIZE - 8;
	struct call_fixture *f = test->priv;
	struct svc_rqst *rqstp = call_rqst(test);
	struct xdr_buf *arg = &rqstp->rq_arg;
	struct page *theirs[CALL_PAGES], *mine[CALL_PAGES];
	u8 *whole = kunit_kzalloc(test, CALL_STREAM + length, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, whole);
	call_recv_pages(test);
	memcpy(theirs, f->recv.pages, sizeof(theirs));
	memcpy(mine, rqstp->rq_pages, sizeof(mine));
	KUNIT_ASSERT_EQ(test, call_come_by_group(test, CALL_TBSN, length, 8, 1),
			RPCRDMA_RECV_KEEP);
	call_take_group(test, rqstp);
	KUNIT_EXPECT_EQ(test, memcmp(rqstp->rq_pages, mine, sizeof(mine)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(f->recv.pages, theirs, sizeof(theirs)), 0);
	KUNIT_EXPECT_EQ(test, f->conn.stats.recv_copied_bytes,
			CALL_STREAM + (u64)length);
	KUNIT_EXPECT_EQ(test, arg->len, CALL_STREAM + length);
	KUNIT_ASSERT_EQ(test, read_bytes_from_xdr_buf(arg, 0, whole,
						      arg->len), 0);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(whole), 7U);
	KUNIT_EXPECT_EQ(test, get_unaligned_be32(whole + CALL_ARGUMENTS), length);
	KUNIT_EXPECT_NULL(test, memchr_inv(whole + CALL_ITEM, 'c', length));
	KUNIT_EXPECT_NULL(test, memchr_inv(whole + CALL_ITEM + length, 's',
					   CALL_STREAM - CALL_ITEM));
}

/* Nor do those get pages that begin in what sunrpc itself reads: header, or integrity. */
static void call_by_group_is_whole_for_sunrpc(struct kunit *test)
{
	const u32 items[] = { 4, 28, 32, CALL_ARGUMENTS - 4, CALL_ITEM };
	struct call_fixture *f = test->priv;
	struct svc_rqst *rqstp = call_rqst(test);
	struct xdr_buf *arg = &rqstp->rq_arg;
	struct page *mine[CALL_PAGES];
	const u32 length = PAGE_SIZE;
	int i;

	call_recv_pages(test);
	memcpy(mine, rqstp->rq_pages, sizeof(mine));
	for (i = 0; i < ARRAY_SIZE(items); i++) {
		f->item = items[i];
		f->service = f->item == CALL_ITEM ? 2 : 1;
		KUNIT_ASSERT_EQ(test, call_come_by_group(test, CALL_TBSN,
							 length, 0, 0),
				RPCRDMA_RECV_KEEP);
		call_take_group(test, rqstp);
		KUNIT_EXPECT_EQ(test, memcmp(rqstp->rq_pages, mine,
					     sizeof(mine)), 0);
		KUNIT_EXPECT_EQ(test, arg->head[0].iov_len, PAGE_SIZE);
		KUNIT_EXPECT_EQ(test, arg->len, CALL_STREAM + length);
		KUNIT_EXPECT_EQ(test, arg->tail[0].iov_len, 0UL);
	}
}

/*
 * An older nfsd would look for the data of another operation, and for the end of those that an
 * item is only the beginning of, in the pages of the item.
 */
static void call_by_group_may_bring_more(struct kunit *test)
{
	static const struct {
		u32 behind, length, counted;
		bool apart;
	} cases[] = {
		{ 24, PAGE_SIZE, PAGE_SIZE },
		{ 20, PAGE_SIZE, PAGE_SIZE + 4 },
		{ 20, PAGE_SIZE, PAGE_SIZE - 4 },
		{ 20, PAGE_SIZE, PAGE_SIZE, true },
		{ 20, PAGE_SIZE, PAGE_SIZE - 3, true },
		{ 20, PAGE_SIZE - 3, PAGE_SIZE - 3, true },
	};
	struct call_fixture *f = test->priv;
	struct svc_rqst *rqstp = call_rqst(test);
	struct xdr_buf *arg = &rqstp->rq_arg;
	size_t head, tail;
	int i;

	call_recv_pages(test);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		f->stream = CALL_ITEM + cases[i].behind;
		f->counted = cases[i].counted;
		KUNIT_ASSERT_EQ(test, call_come_by_group(test, CALL_TBSN,
							 cases[i].length, 0, 0),
				RPCRDMA_RECV_KEEP);
		call_take_group(test, rqstp);
		KUNIT_EXPECT_EQ(test, arg->len, f->stream + PAGE_SIZE);
		head = PAGE_SIZE;
		tail = 0;
		if (cases[i].apart) {
			head = CALL_ITEM;
			tail = cases[i].behind;
		}
		KUNIT_EXPECT_EQ_MSG(test, arg->head[0].iov_len, head, "%d", i);
		KUNIT_EXPECT_EQ_MSG(test, arg->tail[0].iov_len, tail, "%d", i);
	}
}

/* Who reads on behind the item finds what follows it in the Call, not what was in the pages. */
static void call_by_group_ends_in_its_pages(struct kunit *test)
{
	const u32 lengths[] = { PAGE_SIZE - 40, PAGE_SIZE - 4, PAGE_SIZE };
	struct call_fixture *f = test->priv;
	struct svc_rqst *rqstp = call_rqst(test);
	struct xdr_buf *arg = &rqstp->rq_arg;
	u8 found[20];
	u32 i, n, at;

	call_recv_pages(test);
	for (n = 0; n < ARRAY_SIZE(lengths); n++) {
		f->stream = CALL_ITEM + sizeof(found);
		KUNIT_ASSERT_EQ(test, call_come_by_group(test, CALL_TBSN,
							 lengths[n], 0, 0),
				RPCRDMA_RECV_KEEP);
		call_take_group(test, rqstp);
		KUNIT_ASSERT_EQ(test, arg->tail[0].iov_len, sizeof(found));
		/* Until 7.0 the Reply begins in the pages of the Call, before the end is read. */
		if (rqstp->rq_respages)
			memset(page_address(rqstp->rq_respages[0]), 'r', 64);
		for (i = 0; i < sizeof(found); i++) {
			at = lengths[n] + i;
			found[i] = *((u8 *)page_address(arg->pages[at / PAGE_SIZE]) +
				     offset_in_page(at));
		}
		KUNIT_EXPECT_EQ(test, memcmp(found, arg->tail[0].iov_base,
					     sizeof(found)), 0);
	}
}

/* If there is too much to read by RDMA the Call is refused, and its Receive is given back. */
static void call_by_group_with_too_much_to_read_is_refused(struct kunit *test)
{
	struct call_fixture *f = test->priv;

	call_session(test);
	call_recv_pages(test);
	f->svc.max_call = f->stream;
	/* The Receive waits for others. */
	f->conn.recv_slack = 1;
	KUNIT_EXPECT_EQ(test, call_come_by_group(test, CALL_EXRW, 64, 0, 0),
			RPCRDMA_RECV_KEEP);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->conn.n_recv_back), 1);
	KUNIT_EXPECT_TRUE(test, llist_empty(&f->svc.came));
	KUNIT_EXPECT_TRUE(test, list_empty(&f->svc.ready));
	KUNIT_EXPECT_TRUE(test, list_empty(&f->svc.waiting));
	KUNIT_EXPECT_TRUE(test, list_empty(&f->svc.group));
	KUNIT_EXPECT_TRUE(test, f->conn.pump_again);
	KUNIT_EXPECT_FALSE(test, test_bit(RPCRDMA_CONN_LOST, &f->conn.flags));
}

/* A group that stops keeps no Receive. */
static void call_by_group_is_abandoned(struct kunit *test)
{
	struct call_fixture *f = test->priv;

	call_recv_pages(test);
	KUNIT_ASSERT_EQ(test, call_come_by_group(test, CALL_TBSN, 64, 0, 0),
			RPCRDMA_RECV_KEEP);
	rpcrdma_svc_drop_calls(&f->svc);
	INIT_LIST_HEAD(&f->recv.link);
	f->rx.last = false;
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_payload(&f->conn, &f->rx, &f->recv,
						  0),
			RPCRDMA_RECV_KEEP);
	KUNIT_EXPECT_FALSE(test, list_empty(&f->svc.group));
	KUNIT_EXPECT_TRUE(test, llist_empty(&f->svc.came));
	KUNIT_EXPECT_TRUE(test, list_empty(&f->svc.ready));
	f->conn.stage = RPCRDMA_CONN_DEAD;
	set_bit(RPCRDMA_CONN_LOST, &f->conn.flags);
	rpcrdma_svc_abandon(&f->conn, RPCRDMA_CALL);
	KUNIT_EXPECT_TRUE(test, list_empty(&f->svc.group));
	KUNIT_EXPECT_TRUE(test, list_empty(&f->recv.link));
}

#ifdef CONFIG_LOCKDEP

/* The lock that all connections share has been taken, or another one. */
static void call_lock_taken(void *context, struct lockdep_map *lock,
			    unsigned int subclass, int trylock, int read,
			    int check, struct lockdep_map *nest,
			    unsigned long ip)
{
	struct call_fixture *f = context;

	if (current == f->looks && lock->name &&
	    !strcmp(lock->name, "rpcrdma_svc_failed_lock"))
		f->locked++;
	/* Somebody else has had it before. */
	if (current == f->looks && f->eases && lock == &f->svc.lock.dep_map) {
		f->svc.account.used[RPCRDMA_BUDGET_REPLIES] -= f->eases;
		f->eases = 0;
	}
}

static void call_find_lock_event(struct tracepoint *tp, void *context)
{
	struct call_fixture *f = context;

	if (!strcmp(tp->name, "lock_acquire"))
		f->lock_event = tp;
}

static void call_stop_counting(void *context)
{
	struct call_fixture *f = context;

	tracepoint_probe_unregister(f->lock_event, call_lock_taken, f);
	tracepoint_synchronize_unregister();
}

/* From now on f->locked is how often this thread has taken that lock. */
static void call_count_locks(struct kunit *test)
{
	struct call_fixture *f = test->priv;

	check_trace_callback_type_lock_acquire(call_lock_taken);
	f->looks = current;
	for_each_kernel_tracepoint(call_find_lock_event, f);
	KUNIT_ASSERT_NOT_NULL(test, f->lock_event);
	KUNIT_ASSERT_EQ(test, tracepoint_probe_register(f->lock_event,
							call_lock_taken, f), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, call_stop_counting,
							f), 0);
}

#else

static void call_count_locks(struct kunit *test)
{
	kunit_skip(test, "this kernel does not tell of locks");
}

#endif

/*
 * One Call has broken its connection. For two minutes only Calls with its bit in the filter
 * take the lock that all connections share, and are looked for in the table.
 */
static void call_passes_without_the_lock_of_all(struct kunit *test)
{
	const u64 broken = 7;
	struct call_fixture *f = test->priv;
	const u32 bit = rpcrdma_recent_bit(f->svc.peer_key, broken);
	u32 sharing = 0, wrong = 0, before;
	u64 call;
	bool shares;

	call_session(test);
	call_count_locks(test);
	rpcrdma_svc_fault(&f->conn, broken, true);
	KUNIT_EXPECT_EQ(test, f->locked, 1U);
	KUNIT_EXPECT_EQ(test, f->conn.stats.failed_calls, 1ULL);
	KUNIT_EXPECT_TRUE(test, rpcrdma_svc_failed_answer(&f->svc, broken));
	KUNIT_EXPECT_EQ(test, f->locked, 2U);
	KUNIT_EXPECT_EQ(test, f->conn.stats.failed_calls_answered, 1ULL);

	for (call = broken + 1; call < CALL_MANY; call++) {
		shares = rpcrdma_recent_bit(f->svc.peer_key, call) == bit;
		before = f->locked;
		wrong += rpcrdma_svc_failed_answer(&f->svc, call);
		wrong += f->locked != before + shares;
		sharing += shares;
	}
	KUNIT_EXPECT_EQ(test, wrong, 0U);
	KUNIT_EXPECT_GT(test, sharing, 0U);
	KUNIT_EXPECT_LT(test, sharing, CALL_MANY / 100U);
	KUNIT_EXPECT_EQ(test, f->conn.stats.failed_calls_answered, 1ULL);
}

static void call_lost(struct rpcrdma_conn *conn)
{
	struct call_fixture *f = container_of(conn, struct call_fixture, conn);

	complete(&f->is_shut);
}

static const struct rpcrdma_conn_ops call_conn_ops = {
	.lost = call_lost,
};

/* The connection can be lost. */
static void call_has_owner(struct call_fixture *f)
{
	f->conn.ops = &call_conn_ops;
	f->conn.net = &init_net;
	init_waitqueue_head(&f->conn.pump_wait);
}

#ifdef CONFIG_FAULT_INJECTION

enum call_kind {
	CALL_FRAGMENT,
	CALL_SINGLE,
	CALL_GROUP,
};

/* A Call, or the first part of one, comes. */
static int call_comes(struct kunit *test, enum call_kind kind)
{
	struct call_fixture *f = test->priv;

	if (kind == CALL_GROUP)
		return call_come_by_group(test, CALL_TBSN, 64, 0, 0);
	f->rx.htype = 0;
	f->rx.last = kind == CALL_SINGLE;
	f->rx.stream_length = kind == CALL_SINGLE ? sizeof(f->octets) :
						    CALL_LENGTH;
	f->rx.payload.length = sizeof(f->octets);
	return rpcrdma_svc_payload(&f->conn, &f->rx, &f->recv, 0);
}

/* It is dropped. Return: whether it was there, once. */
static bool call_goes(struct call_fixture *f)
{
	const bool partial = f->svc.partial;
	const bool ready = atomic_read(&f->svc.n_ready) == 1 &&
			   !llist_empty(&f->svc.came);

	if (partial)
		rpcrdma_svc_abandon(&f->conn, RPCRDMA_CALL);
	rpcrdma_svc_drop_calls(&f->svc);
	INIT_LIST_HEAD(&f->recv.link);
	atomic_set(&f->svc.n_ready, 0);
	return partial != ready && !call_memory(f);
}

/*
 * Whichever allocation fails in the Receive handler: the connection goes on. The Receive comes
 * again, to somebody who may wait, and then the Call is there as if nothing had happened.
 */
static void call_waits_for_memory_in_its_receive(struct kunit *test)
{
	static const struct {
		enum call_kind kind;
		int verdict;
		int least; /* allocations that fail: single pages do not in each kernel */
	} kinds[] = {
		{ CALL_FRAGMENT, RPCRDMA_RECV_DONE, 2 },
		{ CALL_SINGLE, RPCRDMA_RECV_KEEP, 1 },
		{ CALL_GROUP, RPCRDMA_RECV_KEEP, 1 },
	};
	struct call_fixture *f = test->priv;
	int i, at, left, failed, verdict;

	call_has_owner(f);
	call_recv_pages(test);
	for (i = 0; i < ARRAY_SIZE(kinds); i++) {
		failed = 0;
		left = 0;
		for (at = 1; at < 100 && !left; at++) {
			current->fail_nth = at;
			verdict = call_comes(test, kinds[i].kind);
			left = current->fail_nth;
			current->fail_nth = 0;
			/* kmemleak gets along without its own. */
			if (verdict == RPCRDMA_RECV_AGAIN) {
				failed++;
				KUNIT_EXPECT_TRUE(test, list_empty(&f->recv.link));
				f->conn.stalled = &f->recv;
				verdict = call_comes(test, kinds[i].kind);
				f->conn.stalled = NULL;
			}
			KUNIT_EXPECT_EQ_MSG(test, verdict, kinds[i].verdict,
					    "%d %d", i, at);
			KUNIT_EXPECT_TRUE_MSG(test, call_goes(f), "%d %d", i, at);
			KUNIT_EXPECT_FALSE(test, test_bit(RPCRDMA_CONN_LOST,
							  &f->conn.flags));
		}
		KUNIT_EXPECT_GE_MSG(test, failed, kinds[i].least, "%d", i);
	}
	KUNIT_EXPECT_FALSE(test, completion_done(&f->is_shut));
	KUNIT_EXPECT_EQ(test, f->svc.stalled_since, 0UL);
}

/*
 * A Call of version 1 is copied while many wait for threads. There is no memory for that, and when
 * it comes again, its Receive can hold it. Nothing of the copy is left.
 */
static void call_is_held_where_it_was_to_be_copied(struct kunit *test)
{
	struct call_fixture *f = test->priv;
	int at, left = 0, failed = 0, verdict;

	call_has_owner(f);
	call_recv_pages(test);
	f->rx.vers = 1;
	f->conn.n_recvs = 4 * RPCRDMA_SVC_V1_KEPT;
	for (at = 1; at < 100 && !left; at++) {
		atomic_set(&f->svc.n_ready, RPCRDMA_SVC_V1_KEPT);
		current->fail_nth = at;
		verdict = call_comes(test, CALL_SINGLE);
		left = current->fail_nth;
		current->fail_nth = 0;
		if (verdict == RPCRDMA_RECV_AGAIN) {
			failed++;
			atomic_set(&f->svc.n_ready, 0);
			f->conn.stalled = &f->recv;
			verdict = call_comes(test, CALL_SINGLE);
			f->conn.stalled = NULL;
			KUNIT_EXPECT_EQ_MSG(test, verdict,
					    (int)RPCRDMA_RECV_KEEP, "%d", at);
		} else {
			KUNIT_EXPECT_EQ_MSG(test, verdict,
					    (int)RPCRDMA_RECV_DONE, "%d", at);
			atomic_sub(RPCRDMA_SVC_V1_KEPT, &f->svc.n_ready);
			/* Who drops Calls ends the account, too. */
			call_put_memory(f, RPCRDMA_BUDGET_CALLS, call_memory(f));
		}
		KUNIT_EXPECT_TRUE_MSG(test, call_goes(f), "%d", at);
	}
	KUNIT_EXPECT_GE(test, failed, 2);
}

static bool call_is_tried_again;

static void call_try_again(struct work_struct *work)
{
	WRITE_ONCE(call_is_tried_again, true);
}

/* The next attempts fail, too: for a while it is tried again, then the connection is over. */
static void call_waits_for_memory_no_longer(struct kunit *test)
{
	struct call_fixture *f = test->priv;

	call_has_owner(f);
	/* Here the connection has nothing that could come again, however soon that is. */
	call_is_tried_again = false;
	INIT_DELAYED_WORK(&f->svc.resume, call_try_again);
	f->conn.stalled = &f->recv;
	current->fail_nth = 1;
	KUNIT_EXPECT_EQ(test, call_comes(test, CALL_SINGLE),
			(int)RPCRDMA_RECV_AGAIN);
	KUNIT_EXPECT_NE(test, f->svc.stalled_since, 0UL);
	flush_delayed_work(&f->svc.resume);
	KUNIT_EXPECT_TRUE(test, call_is_tried_again);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->is_shut));

	f->svc.stalled_since = (jiffies - 11 * HZ) | 1;
	current->fail_nth = 1;
	KUNIT_EXPECT_EQ(test, call_comes(test, CALL_SINGLE),
			(int)RPCRDMA_RECV_DONE);
	current->fail_nth = 0;
	KUNIT_EXPECT_TRUE(test, completion_done(&f->is_shut));
	KUNIT_EXPECT_STREQ(test, f->conn.loss, "no memory for a Call");
	f->conn.stalled = NULL;
	KUNIT_EXPECT_FALSE(test, call_goes(f));
}

#else

static void call_waits_for_memory_in_its_receive(struct kunit *test)
{
	kunit_skip(test, "not in this kernel");
}

static void call_is_held_where_it_was_to_be_copied(struct kunit *test)
{
	kunit_skip(test, "not in this kernel");
}

static void call_waits_for_memory_no_longer(struct kunit *test)
{
	kunit_skip(test, "not in this kernel");
}

#endif

/* So many, and nothing of the pool. */
static void call_has_replies(struct call_fixture *f, u32 number)
{
	const union rpcrdma_svc_replies replies = { .are.number = number };

	atomic64_set(&f->svc.replies, replies.word);
}

/* A peer that takes no Replies: nfsd takes no more of its Calls. */
static void call_waits_while_replies_pile_up(struct kunit *test)
{
	struct call_fixture *f = test->priv;

	call_has_replies(f, RPCRDMA_SVC_REPLIES - 1);
	call_take_memory(f, RPCRDMA_BUDGET_REPLIES,
			 RPCRDMA_SVC_REPLY_MEMORY - 1);
	KUNIT_EXPECT_NE(test, rpcrdma_svc_has_wspace(&f->svc.xprt), 0);
	call_has_replies(f, RPCRDMA_SVC_REPLIES);
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_has_wspace(&f->svc.xprt), 0);
	call_has_replies(f, RPCRDMA_SVC_REPLIES - 1);
	call_take_memory(f, RPCRDMA_BUDGET_REPLIES, 1);
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_has_wspace(&f->svc.xprt), 0);
}

/*
 * The account changes while a thread looks at it. What it reads may be of two moments, so it looks
 * again with the lock: if there is room then, nobody would tell it of that.
 */
static void call_looks_twice_for_room(struct kunit *test)
{
	struct call_fixture *f = test->priv;

	call_take_memory(f, RPCRDMA_BUDGET_REPLIES, RPCRDMA_SVC_REPLY_MEMORY);
	call_count_locks(test);
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_has_wspace(&f->svc.xprt), 0);
	f->eases = 1;
	KUNIT_EXPECT_NE(test, rpcrdma_svc_has_wspace(&f->svc.xprt), 0);
	KUNIT_EXPECT_EQ(test, f->eases, 0U);
	call_put_memory(f, RPCRDMA_BUDGET_REPLIES, RPCRDMA_SVC_REPLY_MEMORY - 1);
}

static u32 call_replies_memory(const struct call_fixture *f)
{
	return f->svc.account.used[RPCRDMA_BUDGET_REPLIES];
}

/* Small Replies up to the size of the pool need nothing of the account. */
static void replies_fill_their_pool(struct kunit *test)
{
	const u32 all = RPCRDMA_SVC_REPLY_POOL, part = all / 8;
	struct call_fixture *f = test->priv;
	struct rpcrdma_svc_xprt *svc = &f->svc;
	struct rpcrdma_budget before, after;
	int i;

	rpcrdma_memory_info(&before);
	for (i = 0; i < 8; i++)
		KUNIT_EXPECT_TRUE(test, rpcrdma_svc_reply_take(svc, part));
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_replies(svc).pooled, all);
	KUNIT_EXPECT_EQ(test, call_replies_memory(f), 0U);

	/* It is full, to the last byte. */
	KUNIT_EXPECT_FALSE(test, rpcrdma_svc_reply_take(svc, 1));
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_replies(svc).pooled, all);
	KUNIT_EXPECT_EQ(test, call_replies_memory(f), 1U);
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_replies(svc).number, 9U);

	/* Each gives back where it has taken. */
	rpcrdma_svc_reply_put(svc, part, true);
	KUNIT_EXPECT_TRUE(test, rpcrdma_svc_reply_take(svc, part - 1));
	KUNIT_EXPECT_FALSE(test, rpcrdma_svc_reply_take(svc, 2));
	rpcrdma_svc_reply_put(svc, 1, false);
	KUNIT_EXPECT_EQ(test, call_replies_memory(f), 2U);
	rpcrdma_svc_reply_put(svc, 2, false);
	rpcrdma_svc_reply_put(svc, part - 1, true);
	for (i = 0; i < 7; i++)
		rpcrdma_svc_reply_put(svc, part, true);
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_replies(svc).pooled, 0U);
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_replies(svc).number, 0U);
	KUNIT_EXPECT_EQ(test, call_replies_memory(f), 0U);

	/* What it can never have does not disturb the others. */
	KUNIT_EXPECT_FALSE(test, rpcrdma_svc_reply_take(svc, all + 1));
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_replies(svc).pooled, 0U);
	KUNIT_EXPECT_EQ(test, call_replies_memory(f), all + 1);
	rpcrdma_svc_reply_put(svc, all + 1, false);
	KUNIT_EXPECT_TRUE(test, rpcrdma_svc_reply_take(svc, all));
	rpcrdma_svc_reply_put(svc, all, true);
	rpcrdma_memory_info(&after);
	KUNIT_EXPECT_EQ(test, after.held, before.held);
}

/* The module has nothing left: the pool is this connection's own, and the rest is forced. */
static void replies_have_their_pool_when_all_is_held(struct kunit *test)
{
	struct call_fixture *f = test->priv;
	const u32 reserve = f->svc.account.reserve;
	struct rpcrdma_budget before, after;

	rpcrdma_memory_info(&before);
	rpcrdma_memory_limit(before.held);
	call_take_memory(f, RPCRDMA_BUDGET_CALLS, reserve);
	KUNIT_EXPECT_TRUE(test, rpcrdma_svc_reply_take(&f->svc,
						       RPCRDMA_SVC_REPLY_POOL));
	rpcrdma_memory_info(&after);
	KUNIT_EXPECT_EQ(test, after.held, before.held);
	KUNIT_EXPECT_FALSE(test, rpcrdma_svc_reply_take(&f->svc, PAGE_SIZE));
	rpcrdma_memory_info(&after);
	KUNIT_EXPECT_EQ(test, after.held, before.held + PAGE_SIZE);
	KUNIT_EXPECT_TRUE(test, rpcrdma_svc_reply_put(&f->svc, PAGE_SIZE,
						      false));
	rpcrdma_svc_reply_put(&f->svc, RPCRDMA_SVC_REPLY_POOL, true);
	call_put_memory(f, RPCRDMA_BUDGET_CALLS, reserve);
	rpcrdma_memory_info(&after);
	KUNIT_EXPECT_EQ(test, after.held, before.held);
}

#define CALL_SERVING	4

/*
 * All is held. Threads that have begun a Call before can each add one largest Reply, and no more:
 * L + T x R of sizing.rst. After that none begins.
 */
static void replies_hold_no_more_than_the_formula(struct kunit *test)
{
	const u32 reply = RPCRDMA_MAX_MESSAGE;
	struct call_fixture *f = test->priv;
	const u32 reserve = f->svc.account.reserve;
	struct rpcrdma_budget before, after;
	int i;

	rpcrdma_memory_info(&before);
	rpcrdma_memory_limit(before.held);
	call_take_memory(f, RPCRDMA_BUDGET_CALLS, reserve);
	for (i = 0; i < CALL_SERVING; i++)
		KUNIT_EXPECT_NE(test, rpcrdma_svc_has_wspace(&f->svc.xprt), 0);
	for (i = 0; i < CALL_SERVING; i++) {
		KUNIT_EXPECT_FALSE(test, rpcrdma_svc_reply_take(&f->svc, reply));
		KUNIT_EXPECT_EQ(test, rpcrdma_svc_has_wspace(&f->svc.xprt), 0);
	}
	rpcrdma_memory_info(&after);
	KUNIT_EXPECT_EQ(test, after.held,
			before.held + CALL_SERVING * (u64)reply);
	/* Small ones have the pool, which was held before. */
	KUNIT_EXPECT_TRUE(test, rpcrdma_svc_reply_take(&f->svc, PAGE_SIZE));
	rpcrdma_memory_info(&after);
	KUNIT_EXPECT_EQ(test, after.held,
			before.held + CALL_SERVING * (u64)reply);

	KUNIT_EXPECT_FALSE(test, rpcrdma_svc_reply_put(&f->svc, PAGE_SIZE, true));
	for (i = 0; i < CALL_SERVING; i++)
		KUNIT_EXPECT_EQ(test, rpcrdma_svc_reply_put(&f->svc, reply,
							    false),
				i == CALL_SERVING - 1);
	KUNIT_EXPECT_NE(test, rpcrdma_svc_has_wspace(&f->svc.xprt), 0);
	call_put_memory(f, RPCRDMA_BUDGET_CALLS, reserve);
	rpcrdma_memory_info(&after);
	KUNIT_EXPECT_EQ(test, after.held, before.held);
}

/* As many as there may be: only the one that makes room says that threads can go on. */
static void replies_tell_when_there_is_room(struct kunit *test)
{
	struct call_fixture *f = test->priv;
	struct rpcrdma_svc_xprt *svc = &f->svc;
	int i;

	for (i = 0; i <= RPCRDMA_SVC_REPLIES; i++)
		KUNIT_EXPECT_TRUE(test, rpcrdma_svc_reply_take(svc, 1));
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_has_wspace(&svc->xprt), 0);
	for (i = 0; i <= RPCRDMA_SVC_REPLIES; i++)
		KUNIT_EXPECT_EQ(test, rpcrdma_svc_reply_put(svc, 1, true),
				i == 1);
	KUNIT_EXPECT_NE(test, rpcrdma_svc_has_wspace(&svc->xprt), 0);
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_replies(svc).number, 0U);
}

#define CALL_THREADS	4
#define CALL_ROUNDS	20000
#define CALL_AT_ONCE	8

/**
 * struct call_thread - one of those that send Replies at the same time
 * @svc: of all
 * @pooled: bytes that all of them have in the pool, by their own account
 * @done: it has ended
 * @seed: of its random numbers
 * @most: the most that it has seen of @pooled
 * @in: how many of its Replies were in the pool
 * @out: and how many were not
 */
struct call_thread {
	struct rpcrdma_svc_xprt *svc;
	atomic_t *pooled;
	struct completion done;
	struct rnd_state seed;
	int most;
	u32 in;
	u32 out;
};

static void call_reply_ends(struct call_thread *t, u32 octets, bool pooled)
{
	/* First: nobody can have these bytes before they are given back. */
	if (pooled)
		atomic_sub(octets, t->pooled);
	rpcrdma_svc_reply_put(t->svc, octets, pooled);
}

static int call_sends_replies(void *context)
{
	struct call_thread *t = context;
	u32 octets[CALL_AT_ONCE] = { };
	bool pooled[CALL_AT_ONCE];
	u32 i, round;

	for (round = 0; round < CALL_ROUNDS; round++) {
		i = prandom_u32_state(&t->seed) % CALL_AT_ONCE;
		if (octets[i])
			call_reply_ends(t, octets[i], pooled[i]);
		/* Now and then a larger one than fits. */
		octets[i] = 1 + prandom_u32_state(&t->seed) %
				(round % 64 ? SZ_16K : 2 * SZ_128K);
		pooled[i] = rpcrdma_svc_reply_take(t->svc, octets[i]);
		if (pooled[i]) {
			t->most = max(t->most, atomic_add_return(octets[i],
								 t->pooled));
			t->in++;
		} else {
			t->out++;
		}
		if (!(round % 16))
			schedule();
	}
	for (i = 0; i < CALL_AT_ONCE; i++)
		if (octets[i])
			call_reply_ends(t, octets[i], pooled[i]);
	complete(&t->done);
	return 0;
}

/* Threads send and free Replies at the same time: nothing is lost, and nothing is in it twice. */
static void replies_share_their_pool(struct kunit *test)
{
	struct call_fixture *f = test->priv;
	struct rpcrdma_budget before, after;
	struct call_thread *threads;
	atomic_t pooled = ATOMIC_INIT(0);
	u32 i, started = 0;

	threads = kunit_kcalloc(test, CALL_THREADS, sizeof(*threads),
				GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, threads);
	rpcrdma_memory_info(&before);
	for (i = 0; i < CALL_THREADS; i++) {
		struct call_thread *t = &threads[i];

		t->svc = &f->svc;
		t->pooled = &pooled;
		init_completion(&t->done);
		prandom_seed_state(&t->seed, i + 1);
		if (IS_ERR(kthread_run(call_sends_replies, t, "rpcrdma_reply")))
			break;
		started++;
	}
	KUNIT_EXPECT_EQ(test, started, CALL_THREADS);
	for (i = 0; i < started; i++)
		wait_for_completion(&threads[i].done);
	for (i = 0; i < started; i++) {
		KUNIT_EXPECT_LE(test, threads[i].most,
				(int)RPCRDMA_SVC_REPLY_POOL);
		KUNIT_EXPECT_GT(test, threads[i].in, 0U);
		KUNIT_EXPECT_GT(test, threads[i].out, 0U);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&pooled), 0);
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_replies(&f->svc).pooled, 0U);
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_replies(&f->svc).number, 0U);
	KUNIT_EXPECT_EQ(test, call_replies_memory(f), 0U);
	rpcrdma_memory_info(&after);
	KUNIT_EXPECT_EQ(test, after.held, before.held);
}

static struct kunit_case call_cases[] = {
	KUNIT_CASE(call_is_counted_with_all_it_takes),
	KUNIT_CASE(call_waits_for_no_io),
	KUNIT_CASE(call_by_another_extension_is_no_group),
	KUNIT_CASE(call_holds_its_receive),
	KUNIT_CASE(call_of_version_1_holds_none_over_iwarp),
	KUNIT_CASE(call_waits_for_the_modules_memory),
	KUNIT_CASE(call_does_not_wait_for_small_ones),
	KUNIT_CASE(call_of_the_largest_size_fits_the_reserve),
	KUNIT_CASE(call_larger_than_the_reserve),
	KUNIT_CASE(call_gives_its_pages),
	KUNIT_CASE(call_of_few_bytes_is_copied),
	KUNIT_CASE(call_header_is_in_one_piece),
	KUNIT_CASE(call_by_group_gives_its_pages),
	KUNIT_CASE(call_by_group_is_copied),
	KUNIT_CASE(call_by_group_is_whole_for_sunrpc),
	KUNIT_CASE(call_by_group_may_bring_more),
	KUNIT_CASE(call_by_group_ends_in_its_pages),
	KUNIT_CASE(call_by_group_with_too_much_to_read_is_refused),
	KUNIT_CASE(call_by_group_is_abandoned),
	KUNIT_CASE(call_waits_for_memory_in_its_receive),
	KUNIT_CASE(call_is_held_where_it_was_to_be_copied),
	KUNIT_CASE(call_waits_for_memory_no_longer),
	KUNIT_CASE(call_waits_while_replies_pile_up),
	KUNIT_CASE(call_looks_twice_for_room),
	KUNIT_CASE(replies_fill_their_pool),
	KUNIT_CASE(replies_have_their_pool_when_all_is_held),
	KUNIT_CASE(replies_hold_no_more_than_the_formula),
	KUNIT_CASE(replies_tell_when_there_is_room),
	KUNIT_CASE(replies_share_their_pool),
	KUNIT_CASE(call_passes_without_the_lock_of_all),
	KUNIT_CASE(device_waits_for_who_uses_it),
	KUNIT_CASE(device_gone_leaves_nothing_to_do),
	{}
};

static struct kunit_suite call_suite = {
	.name = "rpcrdma_call",
	.init = call_init,
	.exit = call_exit,
	.test_cases = call_cases,
};

kunit_test_suite(call_suite);
