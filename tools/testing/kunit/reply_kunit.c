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
	struct rpcrdma_req *req = kunit_kzalloc(test, sizeof(*req), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, req);
	req->rqst.rq_rcv_buf = f->buf;
	req->rqst.rq_private_buf = f->buf;
	return &req->rqst;
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
	/* What is in the tail would be looked for behind the four bytes. */
	KUNIT_EXPECT_EQ(test, rpcrdma_reply_external(rqst, 160, true, 4), -EIO);
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

/* Sends of a group, and what else a transport needs that has got them. */
#define GROUP_SENDS	2
#define GROUP_HEAD	1024
#define GROUP_PAGES	2
/* Of the memory that a Call offers, what is in its first segment. */
#define GROUP_FIRST	4000

struct reply_group {
	struct rpcrdma_xprt x;
	struct rpcrdma_conn conn;
	struct rpcrdma_recv recvs[GROUP_SENDS];
	struct page *pages[GROUP_SENDS][1 + GROUP_PAGES];
	struct rpcrdma_rx rx;
};

static void reply_group_free(void *context)
{
	struct reply_group *g = context;
	u32 i, j;

	for (i = 0; i < GROUP_SENDS; i++)
		for (j = 0; j <= GROUP_PAGES; j++)
			if (g->pages[i][j])
				__free_page(g->pages[i][j]);
}

/* What begins the first Send. Return: its bytes. */
static u32 reply_group_header(u8 *to, const struct rpcrdma_range *item,
			      u32 type, u32 stream)
{
	const u32 numbers = DIV_ROUND_UP(item->length, PAGE_SIZE);
	u32 words[24] = { 5, 2, 1, RPCRDMA_RTR_XMTRESP, 1, item->offset,
			  item->length, type };
	u32 n = 8, i;

	/* Or else it is what Table 1 has without a place. */
	if (type == 2) {
		words[n++] = 0;
		words[n++] = numbers;
		for (i = 0; i < numbers; i++)
			words[n++] = i;
	} else if (type == 1) {
		/* The segments of reply_offered(), as far as they are used. */
		words[n++] = 1 + (item->length > GROUP_FIRST);
		words[n++] = 7;
		words[n++] = min_t(u32, item->length, GROUP_FIRST);
		words[n++] = 0;
		words[n++] = 0x1000;
		if (item->length > GROUP_FIRST) {
			words[n++] = 8;
			words[n++] = item->length - GROUP_FIRST;
			words[n++] = 0;
			words[n++] = 0x3000;
		}
	}
	words[n++] = GROUP_SENDS;
	words[n++] = stream;
	for (i = 0; i < n; i++)
		put_unaligned_be32(words[i], to + i * sizeof(u32));
	return n * sizeof(u32);
}

/* A Reply of @length bytes of @f->from has come, with an item that is placed. */
static struct reply_group *reply_group(struct kunit *test,
				       struct rpcrdma_range item, u32 type,
				       u32 length)
{
	struct reply_fixture *f = test->priv;
	struct reply_group *g = kunit_kzalloc(test, sizeof(*g), GFP_KERNEL);
	const u32 padded = type <= 2 ? xdr_align_size(item.length) : 0;
	const u32 behind = length - item.offset - padded;
	struct rpcrdma_recv *recv;
	u32 i, j, at = 0, run;
	u8 *head;

	KUNIT_ASSERT_NOT_NULL(test, g);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, reply_group_free,
							g), 0);
	g->conn.recv_pages = 1 + GROUP_PAGES;
	g->conn.recv_base = PAGE_SIZE - GROUP_HEAD;
	spin_lock_init(&g->conn.lock);
	INIT_LIST_HEAD(&g->x.group);
	for (i = 0; i < GROUP_SENDS; i++) {
		recv = &g->recvs[i];
		for (j = 0; j <= GROUP_PAGES; j++) {
			g->pages[i][j] = alloc_page(GFP_KERNEL | __GFP_ZERO);
			KUNIT_ASSERT_NOT_NULL(test, g->pages[i][j]);
		}
		recv->conn = &g->conn;
		recv->pages = g->pages[i];
		recv->buf = page_address(g->pages[i][0]) + g->conn.recv_base;
		recv->len = GROUP_HEAD + GROUP_PAGES * PAGE_SIZE;
		for (j = 0; type == 2 && j < GROUP_PAGES && at < item.length;
		     j++, at += run) {
			run = min_t(u32, PAGE_SIZE, item.length - at);
			memcpy(page_address(g->pages[i][1 + j]),
			       f->from + item.offset + at, run);
		}
	}
	/* The stream before the item in the first one, that behind it in the other. */
	head = g->recvs[0].buf;
	g->rx.payload.offset = reply_group_header(head, &item, type,
						  item.offset);
	g->rx.payload.length = item.offset;
	memcpy(head + g->rx.payload.offset, f->from, item.offset);
	rpcrdma_reply_group_keep(&g->x, &g->rx, &g->recvs[0]);
	g->rx.payload.offset = 28;
	g->rx.payload.length = behind;
	memcpy(g->recvs[1].buf + 28, f->from + item.offset + padded, behind);
	rpcrdma_reply_group_keep(&g->x, &g->rx, &g->recvs[1]);
	g->rx.stream_length = item.offset + behind;
	g->rx.unreduced_length = length;
	return g;
}

/* Its Call was sent by a group, and directs that an item of the Reply be placed. */
static struct rpcrdma_req *reply_directed(struct kunit *test)
{
	struct rpcrdma_req *req = rpcrdma_req(reply_rqst(test));

	req->tm.group = &req->group;
	req->directed = BIT(RPCRDMA_RTR_TBSN);
	return req;
}

/* The same, and it has offered memory: all that the pages have, in two segments. */
static struct rpcrdma_req *reply_offered(struct kunit *test, u32 place)
{
	struct rpcrdma_req *req = reply_directed(test);
	const u32 all = req->rqst.rq_rcv_buf.page_len;
	struct rpcrdma_chunks *c = &req->chunks;

	c->writes[0].count = 2;
	c->n_writes = 1;
	c->n_write_segs = 2;
	c->write_segs[0] = (struct rpcrdma_segment) {
		.handle = 7, .length = GROUP_FIRST, .offset = 0x1000,
	};
	c->write_segs[1] = (struct rpcrdma_segment) {
		.handle = 8, .length = all - GROUP_FIRST, .offset = 0x3000,
	};
	req->offer = place;
	req->directed = BIT(place);
	INIT_LIST_HEAD(&req->mrs);
	return req;
}

/* What the server has written of them is in the pages. */
static void reply_write(struct kunit *test, const struct rpcrdma_range *item)
{
	struct reply_fixture *f = test->priv;

	KUNIT_ASSERT_EQ(test, rpcrdma_reply_place(&f->buf, sizeof(f->head),
						  f->from + item->offset,
						  item->length), item->length);
}

/* Of a Reply in which nothing is said to be written. */
static int reply_take(struct reply_group *g, struct rpcrdma_req *req)
{
	u32 written = 0;
	int rc;

	rc = rpcrdma_reply_group_take(&g->x, req, &g->rx, &written);
	return written ? -EPROTO : rc;
}

/* The pages have the item from their beginning on, and the rest is as in any stream. */
static void reply_by_group(struct kunit *test)
{
	static const struct {
		struct rpcrdma_range item;
		u32 length;
	} sizes[] = {
		{ { 60, 5000 }, 60 + 5000 + 20 }, { { 60, 4097 }, 60 + 4100 },
		{ { 100, 5000 }, ROOM }, { { 60, 4096 }, 60 + 4096 + 200 },
		{ { 8, 5000 }, 8 + 5000 + 60 },
	};
	struct reply_fixture *f = test->priv;
	struct reply_group *g;
	struct rpcrdma_req *req;
	struct rpc_rqst *rqst;
	u8 *got = kunit_kzalloc(test, ROOM, GFP_KERNEL);
	u32 i, end;

	KUNIT_ASSERT_NOT_NULL(test, got);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		end = sizes[i].item.offset + sizes[i].item.length;
		memset(f->from + end, 0, xdr_align_size(end) - end);
		g = reply_group(test, sizes[i].item, 2, sizes[i].length);
		req = reply_directed(test);
		rqst = &req->rqst;
		KUNIT_EXPECT_EQ(test, reply_take(g, req),
				(int)sizes[i].length);
		KUNIT_EXPECT_EQ(test, rqst->rq_private_buf.head[0].iov_len,
				(size_t)sizes[i].item.offset);
		KUNIT_EXPECT_EQ(test, rqst->rq_rcv_buf.head[0].iov_len,
				(size_t)sizes[i].item.offset);
		rqst->rq_private_buf.len = ROOM;
		KUNIT_EXPECT_EQ(test, read_bytes_from_xdr_buf(&rqst->rq_private_buf,
							      0, got,
							      sizes[i].length), 0);
		KUNIT_EXPECT_MEMEQ(test, got, f->from, sizes[i].length);
	}
}

/* With a head that is cut, not all would have room. */
static void reply_by_group_that_is_long(struct kunit *test)
{
	struct rpcrdma_range item = { 60, 5000 };
	struct rpcrdma_req *req = reply_directed(test);
	struct reply_group *g = reply_group(test, item, 2, ROOM);

	KUNIT_EXPECT_EQ(test, reply_take(g, req), ROOM);
	KUNIT_EXPECT_EQ(test, req->rqst.rq_private_buf.head[0].iov_len,
			(size_t)100);
	reply_expect(test, ROOM);
}

/* What is not placed is in the stream, or nowhere. */
static void reply_by_group_without_data(struct kunit *test)
{
	struct rpcrdma_range item = { 60, 40 };
	struct rpcrdma_req *req = reply_directed(test);
	struct reply_group *g = reply_group(test, item, 5, 200);

	KUNIT_EXPECT_EQ(test, reply_take(g, req), 200);
	reply_expect(test, 200);
	/* It should have been written to memory that was not offered. */
	g = reply_group(test, item, 1, 200);
	KUNIT_EXPECT_EQ(test, reply_take(g, req), -EIO);
}

/* The server has written the item: only what is around it is placed, and the pages stay. */
static void reply_by_group_around_what_is_written(struct kunit *test)
{
	static const struct {
		struct rpcrdma_range item;
		u32 length;
		bool fits;
	} sizes[] = {
		{ { 60, 5000 }, 60 + 5000 + 20, true },
		{ { 100, 5000 }, ROOM, true },
		{ { 8, 4999 }, 8 + 5000 + 60, true },
		{ { 60, 5000 }, 60 + 5000, true },
		{ { 60, 4096 }, 60 + 4096, true },
		{ { 60, 40 }, 60 + 40, true },
		/* The upper layer would look for the rest behind it. */
		{ { 60, 4096 }, 60 + 4096 + 4, false },
		/* The data would not be where it looks. */
		{ { 104, 4096 }, 104 + 4096, false },
		/* The tail has no room. */
		{ { 60, 5000 }, 60 + 5000 + 64, false },
	};
	u8 *got = kunit_kzalloc(test, ROOM, GFP_KERNEL);
	struct reply_fixture *f = test->priv;
	struct rpcrdma_req *req;
	struct rpc_rqst *rqst;
	struct reply_group *g;
	u32 i, end, written;

	KUNIT_ASSERT_NOT_NULL(test, got);
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		end = sizes[i].item.offset + sizes[i].item.length;
		memset(f->from + end, 0, xdr_align_size(end) - end);
		memset(page_address(f->pages[1]), 0, PAGE_SIZE);
		req = reply_offered(test, RPCRDMA_RTR_BYSIZE);
		rqst = &req->rqst;
		reply_write(test, &sizes[i].item);
		g = reply_group(test, sizes[i].item, 1, sizes[i].length);
		KUNIT_EXPECT_EQ(test, rpcrdma_reply_group_take(&g->x, req,
							       &g->rx,
							       &written),
				sizes[i].fits ? (int)sizes[i].length : -EIO);
		KUNIT_EXPECT_EQ(test, written, sizes[i].item.length);
		if (!sizes[i].fits)
			continue;
		KUNIT_EXPECT_EQ(test, rqst->rq_private_buf.head[0].iov_len,
				(size_t)sizes[i].item.offset);
		KUNIT_EXPECT_EQ(test, rqst->rq_rcv_buf.head[0].iov_len,
				(size_t)sizes[i].item.offset);
		/* Nothing is copied into the pages. */
		KUNIT_EXPECT_EQ(test, g->recvs[0].copied + g->recvs[1].copied,
				g->rx.stream_length);
		rqst->rq_private_buf.len = ROOM;
		KUNIT_EXPECT_EQ(test, read_bytes_from_xdr_buf(&rqst->rq_private_buf,
							      0, got,
							      sizes[i].length), 0);
		KUNIT_EXPECT_MEMEQ(test, got, f->from, sizes[i].length);
	}
}

/* Table 2, for a Call that has offered memory, and that offers it no more. */
static void reply_by_group_to_an_offer(struct kunit *test)
{
	static const u32 places[] = {
		RPCRDMA_RTR_EXRW, RPCRDMA_RTR_CHOICE, RPCRDMA_RTR_BYSIZE,
	};
	/* By their types; the last two leave the item in the stream. */
	static const struct {
		struct rpcrdma_range item;
		u32 length;
	} answers[] = {
		[1] = { { 60, 5000 }, 60 + 5000 + 20 },
		[2] = { { 60, 5000 }, 60 + 5000 + 20 },
		[5] = { { 60, 40 }, 200 },
		[6] = { { 60, 40 }, 200 },
	};
	struct rpcrdma_req *req;
	struct reply_group *g;
	u32 i, type, written;
	int want;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		for (type = 1; type < ARRAY_SIZE(answers); type++) {
			if (!answers[type].length)
				continue;
			want = answers[type].length;
			if (places[i] == RPCRDMA_RTR_EXRW && type == 2)
				want = -EIO;
			req = reply_offered(test, places[i]);
			g = reply_group(test, answers[type].item, type,
					answers[type].length);
			written = 0;
			KUNIT_EXPECT_EQ(test,
					rpcrdma_reply_group_take(&g->x, req,
								 &g->rx,
								 &written),
					want);
			KUNIT_EXPECT_EQ(test, written, type == 1 ? 5000U : 0U);
			/* Sent again in a form of version 2: its Write chunk is for others. */
			req = reply_offered(test, places[i]);
			req->tm.group = NULL;
			req->offer = 0;
			g = reply_group(test, answers[type].item, type,
					answers[type].length);
			KUNIT_EXPECT_EQ(test, reply_take(g, req),
					type == 1 ? -EIO : want);
			/* Or by a group that offers no memory. */
			req = reply_offered(test, places[i]);
			req->offer = 0;
			g = reply_group(test, answers[type].item, type,
					answers[type].length);
			KUNIT_EXPECT_EQ(test, reply_take(g, req),
					type == 1 ? -EIO : want);
		}
	}
}

/* Each direction has an answer, and there are no others. */
static void reply_by_group_that_does_not_answer(struct kunit *test)
{
	static const struct {
		bool group;
		u8 directed;
		bool fits;
	} calls[] = {
		{ true, BIT(RPCRDMA_RTR_TBSN), true },
		{ true, RPCRDMA_REQ_UNDIRECTED, false },
		/* Sent again: the Reply may be to the first one. */
		{ true, RPCRDMA_REQ_UNDIRECTED | BIT(RPCRDMA_RTR_TBSN), true },
		{ false, BIT(RPCRDMA_RTR_TBSN), true },
		/* In a form of version 2. */
		{ false, 0, false },
	};
	struct reply_fixture *f = test->priv;
	struct rpcrdma_range item = { 60, 5000 };
	struct reply_group *g;
	struct rpcrdma_req *req;
	u8 *head;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(calls); i++) {
		req = rpcrdma_req(reply_rqst(test));
		req->tm.group = calls[i].group ? &req->group : NULL;
		req->directed = calls[i].directed;
		g = reply_group(test, item, 2, 5100);
		KUNIT_EXPECT_EQ(test, reply_take(g, req),
				calls[i].fits ? 5100 : -EIO);
		/* The same without an item. */
		g = reply_group(test, item, 6, 200);
		head = g->recvs[0].buf;
		put_unaligned_be32(0, head + 16);
		put_unaligned_be32(GROUP_SENDS, head + 20);
		put_unaligned_be32(item.offset, head + 24);
		memcpy(head + 28, f->from, item.offset);
		g->recvs[0].part.offset = 28;
		KUNIT_EXPECT_EQ(test, reply_take(g, req),
				calls[i].directed & RPCRDMA_REQ_UNDIRECTED ||
				!calls[i].group ? 200 : -EIO);
	}
}

/* Extensions have any numbers. What is above or below those of groups is no group. */
static void reply_by_another_extension_is_no_group(struct kunit *test)
{
	static const struct {
		u32 htype;
		bool kept;
	} types[] = {
		{ RPCRDMA2_REPLY_INLINE, false },
		{ RPCRDMA_RTR_XMTREQ - 1, false },
		{ RPCRDMA_RTR_XMTRESP, true },
		{ RPCRDMA_RTR_XMTCONT, true },
		{ RPCRDMA_RTR_REPTERR + 1, false },
		{ U32_MAX, false },
	};
	struct reply_group *g = kunit_kzalloc(test, sizeof(*g), GFP_KERNEL);
	u32 i, replies = 0;

	KUNIT_ASSERT_NOT_NULL(test, g);
	spin_lock_init(&g->conn.lock);
	spin_lock_init(&g->x.xprt.queue_lock);
	INIT_LIST_HEAD(&g->x.group);
	g->conn.context = &g->x;
	g->rx.dir = RPCRDMA_REPLY;
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		g->rx.htype = types[i].htype;
		KUNIT_EXPECT_EQ(test, rpcrdma_client_payload(&g->conn, &g->rx,
							     &g->recvs[0], 0),
				types[i].kept ? RPCRDMA_RECV_KEEP :
						RPCRDMA_RECV_DONE);
		KUNIT_EXPECT_EQ(test, list_empty(&g->x.group), !types[i].kept);
		INIT_LIST_HEAD(&g->x.group);
		/* No RPC waits for it. */
		replies += !types[i].kept;
		KUNIT_EXPECT_EQ(test, g->conn.stats.bad_xids, (u64)replies);
	}
}

static struct kunit_case reply_cases[] = {
	KUNIT_CASE(reply_in_one_piece),
	KUNIT_CASE(reply_in_pieces),
	KUNIT_CASE(reply_too_long),
	KUNIT_CASE(reply_external_in_order),
	KUNIT_CASE(reply_external_refused),
	KUNIT_CASE(reply_external_reduced),
	KUNIT_CASE(reply_by_group),
	KUNIT_CASE(reply_by_group_that_is_long),
	KUNIT_CASE(reply_by_group_without_data),
	KUNIT_CASE(reply_by_group_around_what_is_written),
	KUNIT_CASE(reply_by_group_to_an_offer),
	KUNIT_CASE(reply_by_group_that_does_not_answer),
	KUNIT_CASE(reply_by_another_extension_is_no_group),
	{ }
};

static struct kunit_suite reply_suite = {
	.name = "rpcrdma_reply",
	.init = reply_init,
	.exit = reply_exit,
	.test_cases = reply_cases,
};

kunit_test_suite(reply_suite);
