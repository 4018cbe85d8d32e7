// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * READs and WRITEs by groups of Sends (rtrext).
 *
 * Data of WRITEs are copied into the Sends: then they need neither a registration nor the
 * server's RDMA Read, and the Call may be cancelled at any time. A Call whose Reply may have
 * data to place directs the server to place them by Sends, and reserves Receives for that.
 * No memory is registered for it. The pages that a READ fills belong to the page cache or
 * to a program, so those that have come cannot take their place: the data are copied once.
 *
 * What a group cannot carry now goes in the form that the planner has chosen. A server may
 * send any Reply in any form.
 */
#include "../params.h"
#include "client.h"

/*
 * More data than this take fewer instructions by a chunk, where the planner chooses one: at a
 * distance it does not.
 */
#define RPCRDMA_RTR_MOST_DATA	SZ_128K

/* The data of a WRITE can be placed: they begin with a page at the server. */
static bool rpcrdma_req_places(const struct rpcrdma_call_shape *shape,
			       const struct rpcrdma_call_plan *plan)
{
	return shape->item.length >= PAGE_SIZE &&
	       (!plan->read_chunk ||
		shape->item.length <= RPCRDMA_RTR_MOST_DATA) &&
	       shape->item.offset + xdr_align_size(shape->item.length) <=
		       shape->length;
}

/* So can those of the Reply, which may have this much. */
static bool rpcrdma_req_reads(const struct rpcrdma_call_shape *shape,
			      const struct rpcrdma_call_plan *plan)
{
	return shape->result_max >= PAGE_SIZE &&
	       (!plan->write_chunk ||
		shape->result_max <= RPCRDMA_RTR_MOST_DATA);
}

/* Return: false if it cannot go so now. */
static bool rpcrdma_req_try_group(struct rpcrdma_req *req,
				  struct rpcrdma_conn *conn,
				  const struct rpcrdma_call_shape *shape,
				  bool places, bool reads)
	__must_hold(&conn->lock)
{
	if (!rpcrdma_rtr_plan(&conn->session, &req->tm.msg,
			      places ? &shape->item : NULL,
			      reads ? PAGE_SIZE : 0, shape->result_max,
			      &req->group))
		return false;
	if (reads)
		req->directed = true;
	else
		req->undirected = true;
	return true;
}

/**
 * rpcrdma_req_plan_group - let a Call go by a group, if it can
 * @req: the RPC; its plan changes, and @req->tm.group is set
 * @conn: the connection, with its lock held
 * @shape: of the Call
 *
 * Only for data of a page or more; of those of the Reply only the most is known. If there is
 * nothing to reserve for these, and they need no chunk, those of the Call are placed alone.
 */
void rpcrdma_req_plan_group(struct rpcrdma_req *req, struct rpcrdma_conn *conn,
			    const struct rpcrdma_call_shape *shape)
	__must_hold(&conn->lock)
{
	struct rpcrdma_message *msg = &req->tm.msg;
	struct rpcrdma_call_plan *plan = &req->plan;
	const bool places = rpcrdma_req_places(shape, plan);
	const bool reads = rpcrdma_req_reads(shape, plan);
	u32 padded = 0;

	req->tm.group = NULL;
	if (req->no_group || !shape->reducible || (!places && !reads) ||
	    plan->chunks_required || plan->call_chunk || plan->reply_chunk ||
	    (plan->write_chunk && !reads) || (plan->read_chunk && !places))
		return;
	if (places)
		padded = xdr_align_size(shape->item.length);
	msg->xid = be32_to_cpu(req->rqst.rq_xid);
	msg->dir = RPCRDMA_CALL;
	msg->length = shape->length - padded;
	msg->sent = 0;
	msg->external = false;
	msg->chunks = NULL;
	msg->call_only = !shape->reply_expected;
	if (!rpcrdma_req_try_group(req, conn, shape, places, reads) &&
	    !(places && reads && !plan->write_chunk &&
	      rpcrdma_req_try_group(req, conn, shape, true, false)))
		return;
	plan->read_chunk = false;
	plan->write_chunk = false;
	plan->stream_length = msg->length;
	plan->removed.offset = shape->item.offset;
	plan->removed.length = padded;
	req->tm.group = &req->group;
}

/**
 * rpcrdma_req_ungroup - a Call cannot be sent as planned
 * @req: the RPC
 *
 * Return: true if it was to go by a group: now it can be sent in another form.
 */
bool rpcrdma_req_ungroup(struct rpcrdma_req *req)
{
	if (!req->tm.group)
		return false;
	req->no_group = true;
	return true;
}

/**
 * rpcrdma_req_group_refused - a Call has been refused
 * @req: the RPC
 * @rx: what the peer says of it
 *
 * Return: true if it went by a group, and another form may be accepted.
 */
bool rpcrdma_req_group_refused(struct rpcrdma_req *req,
			       const struct rpcrdma_rx *rx)
{
	if (!rx->reported)
		return false;
	switch (rx->errcode) {
	case RPCRDMA2_ERR_NONE:	/* a REPTERR */
	case RPCRDMA2_ERR_BAD_XDR:
	case RPCRDMA2_ERR_INVAL_HTYPE:
	case RPCRDMA2_ERR_INVAL_CONT:
	case RPCRDMA2_ERR_READ_CHUNKS:
	case RPCRDMA2_ERR_SEGMENTS:
		return rpcrdma_req_ungroup(req);
	default:
		return false;
	}
}

/**
 * struct rpcrdma_reply_group - a Reply that is being taken apart
 * @buf: where it goes
 * @recvs: its Receives
 * @stream: bytes of the Payload stream that have been placed
 * @end: bytes of the message that have been placed
 */
struct rpcrdma_reply_group {
	struct xdr_buf *buf;
	struct rpcrdma_recv *recvs[RPCRDMA_RTR_MOST_SENDS];
	u32 stream;
	u32 end;
};

/* The next @length bytes of the Payload stream. */
static void rpcrdma_reply_group_stream(struct rpcrdma_reply_group *g,
				       u32 length)
{
	u32 from = g->stream, i, run;
	struct rpcrdma_recv *recv;

	g->stream += length;
	for (i = 0; length && i < ARRAY_SIZE(g->recvs) && g->recvs[i]; i++) {
		recv = g->recvs[i];
		if (from >= recv->part.length) {
			from -= recv->part.length;
			continue;
		}
		run = min(length, recv->part.length - from);
		rpcrdma_reply_place_recv(g->buf, g->end, recv,
					 recv->part.offset + from, run);
		g->end += run;
		length -= run;
		from = 0;
	}
}

/* Put this part where it is in the message, after the stream before it. */
static bool rpcrdma_reply_group_place(void *context,
				      const struct rpcrdma_rtr_part *part)
{
	static const u8 zeros[XDR_UNIT];
	const u32 end = part->position + part->item;
	struct rpcrdma_reply_group *g = context;

	if (!part->at) {
		rpcrdma_reply_group_stream(g, part->position - g->end);
		g->end = xdr_align_size(end);
		rpcrdma_reply_place(g->buf, end, zeros, g->end - end);
	}
	rpcrdma_reply_place_recv(g->buf, part->position + part->at,
				 g->recvs[part->send], part->offset,
				 part->length);
	return true;
}

/*
 * The upper layer expects the first item in the pages. It has left room for the largest head:
 * cut it, as with a Write chunk, unless the message has no room then.
 */
static void rpcrdma_reply_group_cut(struct rpc_rqst *rqst,
				    const struct rpcrdma_range *item, u32 length)
{
	struct xdr_buf *buf = &rqst->rq_private_buf;
	const u32 head = buf->head[0].iov_len;

	if (!item->length || item->offset >= head ||
	    length > rpcrdma_xdr_room(buf) - (head - item->offset))
		return;
	buf->head[0].iov_len = item->offset;
	rqst->rq_rcv_buf.head[0].iov_len = item->offset;
}

/* A Call in a form of version 2 directs nothing. */
static bool rpcrdma_reply_group_answers(const struct rpcrdma_req *req,
					const struct rpcrdma_rtr_first *first)
{
	if (req->directed && rpcrdma_rtr_answers(first, true))
		return true;
	return (req->undirected || !req->tm.group) &&
	       rpcrdma_rtr_answers(first, false);
}

/**
 * rpcrdma_reply_group_take - place a Reply that has come by a group
 * @r_xprt: the transport; @r_xprt->group has all its Receives
 * @req: the RPC
 * @rx: of the last Send
 *
 * One that does not answer what its Call directs is malformed. If the Call was sent twice it
 * may answer either.
 *
 * Return: bytes of the message, or %-EIO.
 */
int rpcrdma_reply_group_take(struct rpcrdma_xprt *r_xprt, struct rpcrdma_req *req,
			     const struct rpcrdma_rx *rx)
{
	struct rpcrdma_reply_group g = { .buf = &req->rqst.rq_private_buf };
	struct rpcrdma_rtr_first first;
	struct rpcrdma_rtr_shape shape;
	struct rpcrdma_recv *recv;
	u32 i = 0;

	list_for_each_entry(recv, &r_xprt->group, link) {
		if (WARN_ON_ONCE(i == ARRAY_SIZE(g.recvs)))
			return -EIO;
		g.recvs[i++] = recv;
	}
	rpcrdma_rtr_shape(g.recvs[0]->conn, &shape);
	/* No memory was offered that the server could have written to. */
	if (!rpcrdma_rtr_read(g.recvs[0]->buf, rpcrdma_rtr_head(g.recvs[0]),
			      &first) || first.external ||
	    !rpcrdma_reply_group_answers(req, &first))
		return -EIO;
	rpcrdma_reply_group_cut(&req->rqst, &first.item, rx->unreduced_length);
	(void)!rpcrdma_rtr_each_part(&shape, &first, rpcrdma_reply_group_place,
				     &g);
	rpcrdma_reply_group_stream(&g, rx->stream_length - g.stream);
	return min_t(u32, rx->unreduced_length, rpcrdma_xdr_room(g.buf));
}

/**
 * rpcrdma_reply_group_keep - a Send of a Reply has come
 * @r_xprt: the transport
 * @rx: describes it
 * @recv: has it, and is kept
 *
 * Context: the Receive handler.
 */
void rpcrdma_reply_group_keep(struct rpcrdma_xprt *r_xprt,
			      const struct rpcrdma_rx *rx,
			      struct rpcrdma_recv *recv)
{
	recv->part = rx->payload;
	list_add_tail(&recv->link, &r_xprt->group);
}

/**
 * rpcrdma_reply_group_put - the Receives of a group are not needed any more
 * @conn: the connection
 *
 * Context: the Receive handler.
 */
void rpcrdma_reply_group_put(struct rpcrdma_conn *conn)
{
	struct rpcrdma_xprt *r_xprt = conn->context;
	struct rpcrdma_recv *recv, *next;

	list_for_each_entry_safe(recv, next, &r_xprt->group, link) {
		list_del_init(&recv->link);
		rpcrdma_conn_recv_put(conn, recv);
	}
}

/**
 * rpcrdma_client_abandon - the rest of a message will not come
 * @conn: the connection
 * @dir: which message
 *
 * Context: the Receive handler.
 */
void rpcrdma_client_abandon(struct rpcrdma_conn *conn, enum rpcrdma_dir dir)
{
	if (dir == RPCRDMA_REPLY)
		rpcrdma_reply_group_put(conn);
	else
		rpcrdma_bc_abandon(conn, dir);
}
