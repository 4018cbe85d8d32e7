// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Placing the bytes of a Reply in head, pages and tail.
 */
#include <kunit/test.h>

#include "client/client.h"

struct reply_fixture {
	struct xdr_buf buf;
	struct page *pages[2];
	u8 head[100];
	u8 tail[60];
	u8 from[9000];
};

#define ROOM	(100 + 5000 + 60)

static int reply_init(struct kunit *test)
{
	struct reply_fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, f);
	test->priv = f;
	for (i = 0; i < ARRAY_SIZE(f->pages); i++) {
		f->pages[i] = alloc_page(GFP_KERNEL | __GFP_ZERO);
		KUNIT_ASSERT_NOT_NULL(test, f->pages[i]);
	}
	f->buf.head[0].iov_base = f->head;
	f->buf.head[0].iov_len = sizeof(f->head);
	f->buf.pages = f->pages;
	f->buf.page_base = 200;
	f->buf.page_len = 5000;
	f->buf.tail[0].iov_base = f->tail;
	f->buf.tail[0].iov_len = sizeof(f->tail);
	get_random_bytes(f->from, sizeof(f->from));
	return 0;
}

static void reply_exit(struct kunit *test)
{
	struct reply_fixture *f = test->priv;
	int i;

	for (i = 0; f && i < ARRAY_SIZE(f->pages); i++)
		if (f->pages[i])
			__free_page(f->pages[i]);
}

/* Compare bytes 0..n of the buffer with those of @f->from. */
static void reply_expect(struct kunit *test, u32 n)
{
	struct reply_fixture *f = test->priv;
	u8 *got = kunit_kzalloc(test, ROOM, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, got);
	f->buf.len = ROOM;
	KUNIT_ASSERT_EQ(test, read_bytes_from_xdr_buf(&f->buf, 0, got, n), 0);
	KUNIT_EXPECT_MEMEQ(test, got, f->from, n);
}

static void reply_in_one_piece(struct kunit *test)
{
	struct reply_fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, rpcrdma_reply_place(&f->buf, 0, f->from, ROOM),
			(u32)ROOM);
	reply_expect(test, ROOM);
}

static void reply_in_pieces(struct kunit *test)
{
	static const u32 cuts[] = { 0, 4, 96, 104, 4000, 4300, 5096, 5104 };
	struct reply_fixture *f = test->priv;
	u32 i, to;

	for (i = 0; i < ARRAY_SIZE(cuts); i++) {
		to = i + 1 < ARRAY_SIZE(cuts) ? cuts[i + 1] : ROOM;
		KUNIT_EXPECT_EQ(test,
				rpcrdma_reply_place(&f->buf, cuts[i],
						    f->from + cuts[i],
						    to - cuts[i]),
				to - cuts[i]);
	}
	reply_expect(test, ROOM);
}

static void reply_too_long(struct kunit *test)
{
	struct reply_fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test,
			rpcrdma_reply_place(&f->buf, 0, f->from,
					    sizeof(f->from)), (u32)ROOM);
	reply_expect(test, ROOM);
	KUNIT_EXPECT_EQ(test, rpcrdma_reply_place(&f->buf, ROOM, f->from, 4),
			0U);
	KUNIT_EXPECT_EQ(test, rpcrdma_reply_place(&f->buf, U32_MAX, f->from,
						  4), 0U);
}

/* What a Reply chunk has is in place: only lengths are left to set up. */
static struct rpc_rqst *reply_rqst(struct kunit *test)
{
	struct reply_fixture *f = test->priv;
	struct rpc_rqst *rqst = kunit_kzalloc(test, sizeof(*rqst), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, rqst);
	rqst->rq_rcv_buf = f->buf;
	rqst->rq_private_buf = f->buf;
	return rqst;
}

static void reply_external_in_order(struct kunit *test)
{
	static const int lengths[] = { 24, 100, 104, 5100, 5104, ROOM };
	struct rpc_rqst *rqst = reply_rqst(test);
	struct rpc_rqst before = *rqst;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++)
		KUNIT_EXPECT_EQ(test,
				rpcrdma_reply_external(rqst, lengths[i], false,
						       0), lengths[i]);
	KUNIT_EXPECT_MEMEQ(test, rqst, &before, sizeof(before));
}

static void reply_external_refused(struct kunit *test)
{
	struct rpc_rqst *rqst = reply_rqst(test);

	KUNIT_EXPECT_EQ(test,
			rpcrdma_reply_external(rqst, ROOM + 4, false, 0), -EIO);
	KUNIT_EXPECT_EQ(test, rpcrdma_reply_external(rqst, 102, false, 0),
			-EIO);
	KUNIT_EXPECT_EQ(test, rpcrdma_reply_external(rqst, U32_MAX - 3, false,
						     0), -EIO);
	/* The pages are the Write chunk's. */
	KUNIT_EXPECT_EQ(test, rpcrdma_reply_external(rqst, 164, true, 0), -EIO);
}

static void reply_external_reduced(struct kunit *test)
{
	struct rpc_rqst *rqst = reply_rqst(test);

	/* The head is full, the rest of the stream is in the tail. */
	KUNIT_EXPECT_EQ(test, rpcrdma_reply_external(rqst, 160, true, 4999),
			160 + 5000);
	KUNIT_EXPECT_EQ(test, rqst->rq_private_buf.head[0].iov_len,
			(size_t)100);
	/* The head ends where the stream does: the pages follow. */
	KUNIT_EXPECT_EQ(test, rpcrdma_reply_external(rqst, 88, true, 5),
			88 + 8);
	KUNIT_EXPECT_EQ(test, rqst->rq_private_buf.head[0].iov_len, (size_t)88);
	KUNIT_EXPECT_EQ(test, rqst->rq_rcv_buf.head[0].iov_len, (size_t)88);
}

static struct kunit_case reply_cases[] = {
	KUNIT_CASE(reply_in_one_piece),
	KUNIT_CASE(reply_in_pieces),
	KUNIT_CASE(reply_too_long),
	KUNIT_CASE(reply_external_in_order),
	KUNIT_CASE(reply_external_refused),
	KUNIT_CASE(reply_external_reduced),
	{ }
};

static struct kunit_suite reply_suite = {
	.name = "rpcrdma_reply",
	.init = reply_init,
	.exit = reply_exit,
	.test_cases = reply_cases,
};

kunit_test_suite(reply_suite);
