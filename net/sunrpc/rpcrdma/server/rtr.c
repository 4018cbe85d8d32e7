// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Calls that come by groups of Sends (rtrext), and what they direct for their Replies.
 *
 * All Receives of a group are kept until a thread of nfsd takes the Call. It gives each page
 * that has data for one of its own, as with a Call in one Receive, and copies the Payload
 * stream. If the data are not as a WRITE has them, in whole pages and one item behind the RPC
 * header, all is copied. No memory is allocated for either.
 *
 * A Call whose items name memory is fetched like one of version 2 with Read chunks, which is
 * what the core makes of them (reads.c). The Receives are kept until its RDMA Reads start.
 */
#include <linux/sched/mm.h>

#include <trace/events/rpcrdma_v2.h>

#include "server.h"

/**
 * struct rpcrdma_svc_group - a group that is being taken apart
 * @pages: those of the thread
 * @recvs: its Receives
 * @base: where in its first page each begins
 * @stream: bytes of the Payload stream that have been copied
 * @end: bytes of the message that have been laid out
 */
struct rpcrdma_svc_group {
	struct page **pages;
	struct rpcrdma_recv *recvs[RPCRDMA_RTR_MOST_SENDS];
	u32 base;
	u32 stream;
	u32 end;
};

/* Copy the next @length bytes of the Payload stream to @to. */
static void rpcrdma_svc_group_stream(struct rpcrdma_svc_group *g, u32 to,
				     u32 length)
{
	u32 from = g->stream, i, run;
	struct rpcrdma_recv *recv;

	g->stream += length;
	for (i = 0; length && g->recvs[i]; i++) {
		recv = g->recvs[i];
		if (from >= recv->part.length) {
			from -= recv->part.length;
			continue;
		}
		run = min(length, recv->part.length - from);
		rpcrdma_svc_copy_recv(g->pages, to, recv,
				      recv->part.offset + from, run);
		to += run;
		length -= run;
		from = 0;
	}
}

/* Swap the page of this part, or copy what is in it. */
static bool rpcrdma_svc_group_swap(void *context,
				   const struct rpcrdma_rtr_part *part)
{
	struct rpcrdma_svc_group *g = context;
	struct rpcrdma_recv *recv = g->recvs[part->send];
	const u32 to = PAGE_SIZE + part->at;

	if (!rpcrdma_recv_swap(recv, (g->base + part->offset) >> PAGE_SHIFT, 1,
			       &g->pages[to >> PAGE_SHIFT]))
		rpcrdma_svc_copy_recv(g->pages, to, recv, part->offset,
				      part->length);
	return true;
}

/* Put this part where it is in the message, after the stream before it. */
static bool rpcrdma_svc_group_copy(void *context,
				   const struct rpcrdma_rtr_part *part)
{
	const u32 end = part->position + part->item;
	struct rpcrdma_svc_group *g = context;

	if (!part->at) {
		rpcrdma_svc_group_stream(g, g->end, part->position - g->end);
		g->end = xdr_align_size(end);
		rpcrdma_svc_zero(g->pages, end, g->end);
	}
	if (part->send == RPCRDMA_RTR_BY_READ)
		return true;
	rpcrdma_svc_copy_recv(g->pages, part->position + part->at,
			      g->recvs[part->send], part->offset,
			      part->length);
	return true;
}

static void rpcrdma_svc_group_open(const struct rpcrdma_svc_call *call,
				   struct page **pages,
				   struct rpcrdma_svc_group *g)
{
	struct rpcrdma_recv *recv;
	u32 i = 0;

	*g = (struct rpcrdma_svc_group) {
		.pages = pages,
		.base = call->svc->conn->recv_base,
	};
	list_for_each_entry(recv, &call->group, link)
		g->recvs[i++] = recv;
}

/* Put all of a Call that its Receives have where it is in the message. */
static void rpcrdma_svc_group_all(const struct rpcrdma_svc_call *call,
				  struct rpcrdma_svc_group *g, u32 stream)
{
	struct rpcrdma_rtr_shape shape;

	rpcrdma_rtr_shape(call->svc->conn, &shape);
	(void)!rpcrdma_rtr_each_part(&shape, &call->first,
				     rpcrdma_svc_group_copy, g);
	rpcrdma_svc_group_stream(g, g->end, stream - g->stream);
}

/**
 * rpcrdma_svc_group_layout - copy a Call whose items name memory, without these items
 * @call: it came by a group; its length is that of the Payload stream
 * @pages: pages for all of it
 *
 * Context: Process context. The device is there.
 */
void rpcrdma_svc_group_layout(const struct rpcrdma_svc_call *call,
			      struct page **pages)
{
	struct rpcrdma_svc_group g;

	rpcrdma_svc_group_open(call, pages, &g);
	rpcrdma_svc_group_all(call, &g, call->length);
}

static void rpcrdma_svc_group_put(struct rpcrdma_conn *conn,
				  struct list_head *recvs)
{
	struct rpcrdma_recv *recv, *next;

	list_for_each_entry_safe(recv, next, recvs, link) {
		list_del_init(&recv->link);
		rpcrdma_conn_recv_put(conn, recv);
	}
}

/**
 * rpcrdma_svc_group_move - move a Call out of its Receives
 * @call: it came by a group
 * @pages: the thread's, enough for the largest Call
 *
 * Context: Process context. The device is there.
 *
 * Return: how many of @pages are used.
 */
u32 rpcrdma_svc_group_move(struct rpcrdma_svc_call *call, struct page **pages)
{
	const struct rpcrdma_conn *conn = call->svc->conn;
	const struct rpcrdma_rtr_first *first = &call->first;
	const struct rpcrdma_range item = first->item;
	const u32 count = DIV_ROUND_UP(item.length, PAGE_SIZE);
	const u32 stream = call->length;
	struct rpcrdma_rtr_shape shape;
	struct rpcrdma_svc_group g;

	rpcrdma_svc_group_open(call, pages, &g);
	call->length = call->unreduced;
	/* The core has found all of this sound. */
	if (first->pages && stream <= PAGE_SIZE && item.offset <= stream &&
	    count < call->svc->max_call >> PAGE_SHIFT)
		rpcrdma_svc_group_stream(&g, 0, stream);
	if (g.stream &&
	    rpcrdma_call_divides(page_address(pages[0]), stream, item.offset) &&
	    rpcrdma_svc_item_apart(page_address(pages[0]), stream, &item)) {
		rpcrdma_rtr_shape(conn, &shape);
		(void)!rpcrdma_rtr_each_part(&shape, first,
					     rpcrdma_svc_group_swap, &g);
		rpcrdma_svc_zero(pages, PAGE_SIZE + item.length,
				 PAGE_SIZE + xdr_align_size(item.length));
		call->item = item;
		return 1 + count;
	}
	g.stream = 0;
	rpcrdma_svc_group_all(call, &g, stream);
	return DIV_ROUND_UP(call->unreduced, PAGE_SIZE);
}

/**
 * rpcrdma_svc_group_release - a Call does not need its Receives any more
 * @call: it may have come by a group
 *
 * Context: as for rpcrdma_conn_recv_put().
 */
void rpcrdma_svc_group_release(struct rpcrdma_svc_call *call)
{
	rpcrdma_svc_group_put(call->svc->conn, &call->group);
}

/**
 * rpcrdma_svc_group_abandon - the rest of a group will not come
 * @svc: the connection
 *
 * Context: the Receive handler.
 */
void rpcrdma_svc_group_abandon(struct rpcrdma_svc_xprt *svc)
{
	rpcrdma_svc_group_put(svc->conn, &svc->group);
}

/* The client learns what this side cannot do, and sends the Call in another form. */
static bool rpcrdma_svc_group_usable(struct rpcrdma_svc_xprt *svc,
				     const struct rpcrdma_rx *rx,
				     const struct rpcrdma_recv *recv)
{
	if (rpcrdma_svc_failed_answer(svc, svc->group_id))
		return false;
	if (rpcrdma_rtr_read(recv->buf, rpcrdma_rtr_head(recv),
			     &svc->group_first))
		return true;
	trace_rpcrdma_call(svc->conn->id, rx->xid, "cannot be taken",
			   -EOPNOTSUPP);
	/* A header that is longer than a head cannot be read here. */
	rpcrdma_conn_refuse(svc->conn, rx->xid, RPCRDMA2_ERR_BAD_XDR, 0, 0);
	return false;
}

/*
 * Begin to fetch what the items of @call name. If it came in one Send, and nothing is placed in
 * that, it is as one of version 2 in one Receive. Otherwise it goes on being a group.
 */
static int rpcrdma_svc_group_fetch(struct rpcrdma_svc_xprt *svc,
				   struct rpcrdma_svc_call *call)
{
	int rc = -EPROTO;

	if (list_is_singular(&call->group) && !call->first.item.length) {
		call->recv = list_first_entry(&call->group,
					      struct rpcrdma_recv, link);
		call->payload = call->recv->part;
		list_del_init(&call->recv->link);
	}
	if (rpcrdma_rtr_get_reads(&call->first, &call->chunks))
		rc = rpcrdma_svc_call_fetch(svc, call);
	if (!rc)
		return 0;
	/* Who refuses the Call gives them back. */
	if (call->recv)
		list_add_tail(&call->recv->link, &svc->group);
	list_splice_init(&call->group, &svc->group);
	rpcrdma_svc_call_free(call);
	return rc;
}

/**
 * rpcrdma_svc_group_causes - note where operations are that directions may be about
 * @call: it is about to be decoded
 * @head: its first bytes
 */
void rpcrdma_svc_group_causes(struct rpcrdma_svc_call *call,
			      const struct kvec *head)
{
	if (call->directions.length)
		call->n_causes = rpcrdma_rtr_get_causes(head->iov_base,
							head->iov_len,
							call->unreduced,
							call->causes,
							&call->directions.rest);
}

/**
 * rpcrdma_svc_group_payload - a Send of a Call that comes by a group
 * @svc: the connection
 * @rx: describes it
 * @recv: has it
 * @verdict: set if the Receive is kept
 *
 * Context: the Receive handler. May sleep.
 *
 * Return: 0 or %-ENOMEM.
 */
int rpcrdma_svc_group_payload(struct rpcrdma_svc_xprt *svc,
			      const struct rpcrdma_rx *rx,
			      struct rpcrdma_recv *recv,
			      enum rpcrdma_recv_verdict *verdict)
{
	struct rpcrdma_svc_call *call = NULL;

	if (rx->htype == RPCRDMA_RTR_XMTREQ) {
		rpcrdma_svc_abandon(svc->conn, RPCRDMA_CALL);
		svc->group_id = rpcrdma_svc_call_id(rx, recv);
		svc->group_usable = rpcrdma_svc_group_usable(svc, rx, recv);
	}
	if (!svc->group_usable)
		return 0;
	if (rx->last) {
		call = rpcrdma_svc_call_alloc(svc, rx, svc->group_id);
		if (!call)
			return -ENOMEM;
	}
	recv->part = rx->payload;
	list_add_tail(&recv->link, &svc->group);
	*verdict = RPCRDMA_RECV_KEEP;
	if (!call)
		return 0;
	rpcrdma_svc_call_complete(call, rx);
	call->first = svc->group_first;
	/* They are in the first Receive, which does not wait for the Reply. */
	rpcrdma_rtr_get_directions(&call->first, &call->directions);
	list_splice_init(&svc->group, &call->group);
	if (call->first.external)
		return rpcrdma_svc_group_fetch(svc, call);
	rpcrdma_svc_call_ready(svc, call);
	return 0;
}
