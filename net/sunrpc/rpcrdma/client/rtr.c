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
 * The module parameter rtrext_offer has the memory of a Write chunk offered in such a direction,
 * instead of the chunk. It is registered and taken back like that of a chunk, whatever the
 * answer is: the server knows the handles. So the Call is planned once more when it has
 * its regions, and only then is it known whether it goes by a group or has a Write chunk.
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

/* So can those of the Reply, which may have this much, without memory for them. */
static bool rpcrdma_req_reads(const struct rpcrdma_call_shape *shape,
			      const struct rpcrdma_call_plan *plan)
{
	return shape->result_max >= PAGE_SIZE &&
	       (!plan->write_chunk ||
		shape->result_max <= RPCRDMA_RTR_MOST_DATA);
}

/*
 * In which direction the memory is to be that the planner wants for a Write chunk; zero: in a
 * Write chunk, or the result may come without it.
 */
static u32 rpcrdma_req_offers(const struct rpcrdma_call_shape *shape,
			      const struct rpcrdma_call_plan *plan)
{
	if (!plan->write_chunk || shape->result_max < PAGE_SIZE)
		return 0;
	switch (READ_ONCE(rpcrdma_rtrext_offer)) {
	case RPCRDMA_OFFER_EXRW:
		return RPCRDMA_RTR_EXRW;
	case RPCRDMA_OFFER_CHOICE:
		return RPCRDMA_RTR_CHOICE;
	case RPCRDMA_OFFER_BYSIZE:
		return shape->result_max > RPCRDMA_RTR_MOST_DATA ?
			       RPCRDMA_RTR_BYSIZE : 0;
	default:
		return 0;
	}
}

/* What is directed so: from a page on, and with all memory of the Write chunk. */
static void rpcrdma_req_direct(const struct rpcrdma_chunks *memory, u32 place,
			       struct rpcrdma_rtr_direction *d)
{
	*d = (struct rpcrdma_rtr_direction) {
		.place = place,
		.least = PAGE_SIZE,
	};
	if (!memory)
		return;
	d->rdma_from = RPCRDMA_RTR_MOST_DATA + 1;
	d->segments = memory->write_segs + memory->writes[0].first;
	d->n_segments = memory->writes[0].count;
}

/*
 * @place: as in struct rpcrdma_req; zero to direct nothing
 * @most: data of the Reply that Receives are reserved for
 *
 * Return: false if it cannot go so now.
 */
static bool rpcrdma_req_try_group(struct rpcrdma_req *req,
				  struct rpcrdma_conn *conn,
				  const struct rpcrdma_call_shape *shape,
				  bool places, u32 place, u32 most)
	__must_hold(&conn->lock)
{
	struct rpcrdma_rtr_direction d;

	if (place)
		rpcrdma_req_direct(req->chunks.n_writes ? &req->chunks : NULL,
				   place, &d);
	if (!rpcrdma_rtr_plan(&conn->session, &req->tm.msg,
			      places ? &shape->item : NULL, place ? &d : NULL,
			      most, &req->group))
		return false;
	req->directed |= BIT(place);
	return true;
}

/* The message without what Sends place. */
static void rpcrdma_req_group_msg(struct rpcrdma_req *req,
				  const struct rpcrdma_call_shape *shape,
				  u32 padded)
{
	struct rpcrdma_message *msg = &req->tm.msg;

	msg->xid = be32_to_cpu(req->rqst.rq_xid);
	msg->dir = RPCRDMA_CALL;
	msg->length = shape->length - padded;
	msg->sent = 0;
	msg->external = false;
	msg->chunks = NULL;
	msg->call_only = !shape->reply_expected;
}

/* It goes by a group. */
static void rpcrdma_req_set_group(struct rpcrdma_req *req,
				  const struct rpcrdma_call_shape *shape,
				  u32 padded)
{
	struct rpcrdma_call_plan *plan = &req->plan;

	plan->read_chunk = false;
	plan->stream_length = req->tm.msg.length;
	plan->removed.offset = shape->item.offset;
	plan->removed.length = padded;
	req->tm.group = &req->group;
}

/**
 * rpcrdma_req_plan_group - let a Call go by a group, if it can
 * @req: the RPC; its plan changes, and @req->tm.group and @req->offer are set
 * @conn: the connection, with its lock held
 * @shape: of the Call
 *
 * Only for data of a page or more; of those of the Reply only the most is known. If there is
 * nothing to reserve for these, and they need no chunk, those of the Call are placed alone.
 * If they need one, a Call may be planned by rpcrdma_req_plan_offer() when the chunk is there.
 */
void rpcrdma_req_plan_group(struct rpcrdma_req *req, struct rpcrdma_conn *conn,
			    const struct rpcrdma_call_shape *shape)
	__must_hold(&conn->lock)
{
	struct rpcrdma_call_plan *plan = &req->plan;
	const bool places = rpcrdma_req_places(shape, plan);
	const bool reads = rpcrdma_req_reads(shape, plan);
	const u32 offer = rpcrdma_req_offers(shape, plan);
	u32 padded = 0;

	req->tm.group = NULL;
	req->offer = 0;
	if (req->no_group || !shape->reducible ||
	    (!places && !reads && !offer) || plan->chunks_required ||
	    plan->call_chunk || plan->reply_chunk ||
	    (plan->write_chunk && !reads && !offer) ||
	    (plan->read_chunk && !places))
		return;
	if (offer) {
		req->offer = offer;
		return;
	}
	if (places)
		padded = xdr_align_size(shape->item.length);
	rpcrdma_req_group_msg(req, shape, padded);
	if (!rpcrdma_req_try_group(req, conn, shape, places,
				   reads ? RPCRDMA_RTR_TBSN : 0,
				   shape->result_max) &&
	    !(places && reads && !plan->write_chunk &&
	      rpcrdma_req_try_group(req, conn, shape, true, 0, 0))) {
		if (places && plan->write_chunk &&
		    READ_ONCE(rpcrdma_rtrext_offer))
			req->offer = RPCRDMA_RTR_EXRW;
		return;
	}
	plan->write_chunk = false;
	rpcrdma_req_set_group(req, shape, padded);
}

/**
 * rpcrdma_req_plan_offer - let a Call go by a group that offers the memory of its Write chunk
 * @req: the RPC; @req->offer is set, and its Write chunk has regions. Its plan changes, and
 *	@req->tm.group is set.
 * @conn: the connection, with its lock held
 * @shape: of the Call
 *
 * Who lets the server choose needs no Receives but one. Where the size decides there have to be
 * some for what is short. Without, all of the result is written if data of the Call are placed.
 *
 * Return: false if it cannot go so now. Then it has a Write chunk, and no data are placed.
 */
bool rpcrdma_req_plan_offer(struct rpcrdma_req *req, struct rpcrdma_conn *conn,
			    const struct rpcrdma_call_shape *shape)
	__must_hold(&conn->lock)
{
	const bool places = rpcrdma_req_places(shape, &req->plan);
	u32 padded = 0, most = 0, place = req->offer;
	bool planned;

	if (places)
		padded = xdr_align_size(shape->item.length);
	if (place != RPCRDMA_RTR_EXRW)
		most = min_t(u32, shape->result_max, RPCRDMA_RTR_MOST_DATA);
	rpcrdma_req_group_msg(req, shape, padded);
	planned = rpcrdma_req_try_group(req, conn, shape, places, place, most);
	if (!planned && most) {
		if (place == RPCRDMA_RTR_BYSIZE)
			place = places ? RPCRDMA_RTR_EXRW : 0;
		planned = place && rpcrdma_req_try_group(req, conn, shape,
							 places, place, 0);
	}
	req->offer = planned ? place : 0;
	if (planned)
		rpcrdma_req_set_group(req, shape, padded);
	return planned;
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

/*
 * A Call in a form of version 2 directs nothing. Memory that an earlier form has offered is taken
 * back.
 */
static bool rpcrdma_reply_group_answers(const struct rpcrdma_req *req,
					const struct rpcrdma_rtr_first *first,
					struct rpcrdma_range *written)
{
	unsigned long places = req->directed & ~RPCRDMA_REQ_UNDIRECTED;
	const struct rpcrdma_chunks *memory;
	struct rpcrdma_rtr_direction d;
	u32 place;

	for_each_set_bit(place, &places, RPCRDMA_RTR_PLACES) {
		memory = req->tm.group && req->offer == place ? &req->chunks :
								 NULL;
		rpcrdma_req_direct(memory, place, &d);
		if (rpcrdma_rtr_answers(first, &d, written))
			return true;
	}
	return (req->directed & RPCRDMA_REQ_UNDIRECTED || !req->tm.group) &&
	       rpcrdma_rtr_answers(first, NULL, written);
}

/*
 * The server has written the item: the stream goes around it, into head and tail. What is in the
 * tail would be looked for behind what was written. Return: as rpcrdma_reply_group_take().
 */
static int rpcrdma_reply_group_around(struct rpcrdma_reply_group *g,
				      struct rpc_rqst *rqst,
				      const struct rpcrdma_range *item,
				      const struct rpcrdma_rx *rx)
{
	struct xdr_buf *buf = g->buf;
	const u32 rest = rx->stream_length - item->offset;

	if (item->offset > buf->head[0].iov_len ||
	    rest > buf->tail[0].iov_len ||
	    (rest && xdr_align_size(item->length) < buf->page_len))
		return -EIO;
	buf->head[0].iov_len = item->offset;
	rqst->rq_rcv_buf.head[0].iov_len = item->offset;
	rpcrdma_reply_group_stream(g, item->offset);
	g->end += buf->page_len;
	rpcrdma_reply_group_stream(g, rest);
	return rx->unreduced_length;
}

/**
 * rpcrdma_reply_group_take - place a Reply that has come by a group
 * @r_xprt: the transport; @r_xprt->group has all its Receives
 * @req: the RPC
 * @rx: of the last Send
 * @written: set to the bytes that the server has written to memory that was offered
 *
 * One that does not answer what its Call directs is malformed. If the Call was sent twice it
 * may answer either.
 *
 * Return: bytes of the message, or %-EIO.
 */
int rpcrdma_reply_group_take(struct rpcrdma_xprt *r_xprt, struct rpcrdma_req *req,
			     const struct rpcrdma_rx *rx, u32 *written)
{
	struct rpcrdma_reply_group g = { .buf = &req->rqst.rq_private_buf };
	struct rpcrdma_rtr_first first;
	struct rpcrdma_rtr_shape shape;
	struct rpcrdma_range item;
	struct rpcrdma_recv *recv;
	u32 i = 0;

	list_for_each_entry(recv, &r_xprt->group, link) {
		if (WARN_ON_ONCE(i == ARRAY_SIZE(g.recvs)))
			return -EIO;
		g.recvs[i++] = recv;
	}
	if (!rpcrdma_rtr_read(g.recvs[0]->buf, rpcrdma_rtr_head(g.recvs[0]),
			      &first) ||
	    !rpcrdma_reply_group_answers(req, &first, &item))
		return -EIO;
	*written = item.length;
	if (item.length)
		return rpcrdma_reply_group_around(&g, &req->rqst, &item, rx);
	if (req->chunks.n_writes)
		rpcrdma_reply_keep(g.recvs[0]->conn, req,
				   &req->chunks.writes[0]);
	rpcrdma_rtr_shape(g.recvs[0]->conn, &shape);
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
