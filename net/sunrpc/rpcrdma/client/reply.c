// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Replies: from the Receive buffer to rq_rcv_buf.
 *
 * Bytes are placed when they arrive, by their offset in the Payload stream. So
 * a continued Reply needs no memory of its own. Without a Write chunk the
 * stream fills head, pages and tail in this order, as with any stream
 * transport. With a Write chunk the pages hold the result already: the stream
 * fills the head, the head is cut to the bytes that have arrived, and the rest of the
 * stream goes to the tail. A Reply by a group of Sends stays in its Receives until it is whole
 * (rtr.c). It says itself what the pages hold already. A Reply chunk covers the same memory in
 * the same order, and the server has written the bytes there itself.
 *
 * An RPC is complete when the server can no longer reach its memory: at once
 * if it had no regions or if the Reply invalidated them, otherwise after a
 * Local Invalidate or when its connection has been destroyed. Until then the
 * RPC is pinned. An RPC that failed is not completed: sunrpc would think that
 * it has not been answered. Instead its task is woken and reads the failure,
 * see rpcrdma_req_woken().
 */
#include <linux/sunrpc/xdr.h>

#include <trace/events/rpcrdma_v2.h>

#include "client.h"

/**
 * rpcrdma_reply_place - copy a part of a Reply's stream
 * @to: the receive buffer
 * @offset: where in it
 * @from: the bytes
 * @length: how many
 *
 * Bytes that do not fit are dropped, as on any stream transport; decoding notices.
 *
 * Return: bytes placed.
 */
u32 rpcrdma_reply_place(const struct xdr_buf *to, u32 offset,
			const void *from, u32 length)
{
	u32 room = rpcrdma_xdr_room(to);

	if (offset >= room)
		return 0;
	length = min(length, room - offset);
	if (write_bytes_to_xdr_buf(to, offset, (void *)from, length))
		return 0;
	return length;
}

/**
 * rpcrdma_reply_place_recv - the same with bytes of a Receive
 * @to: the receive buffer
 * @offset: where in it
 * @recv: the Receive
 * @from: the first byte, in its message
 * @length: how many
 */
void rpcrdma_reply_place_recv(const struct xdr_buf *to, u32 offset,
			      struct rpcrdma_recv *recv, u32 from, u32 length)
{
	const void *at;
	u32 run;

	recv->copied += length;
	while (length) {
		at = rpcrdma_recv_at(recv, from, &run);
		run = min(run, length);
		rpcrdma_reply_place(to, offset, at, run);
		offset += run;
		from += run;
		length -= run;
	}
}

static void rpcrdma_reply_unpin(struct rpcrdma_xprt *r_xprt, struct rpc_rqst *rqst)
{
	spin_lock(&r_xprt->xprt.queue_lock);
	xprt_unpin_rqst(rqst);
	spin_unlock(&r_xprt->xprt.queue_lock);
}

/*
 * Find and pin the RPC with this XID, if @conn carries it and it is not over. While it
 * is pinned, it stays with @conn.
 */
static struct rpcrdma_req *rpcrdma_reply_req(struct rpcrdma_conn *conn, u32 xid)
{
	struct rpcrdma_xprt *r_xprt = conn->context;
	struct rpcrdma_req *req = NULL;
	struct rpc_rqst *rqst;

	spin_lock(&r_xprt->xprt.queue_lock);
	rqst = xprt_lookup_rqst(&r_xprt->xprt, cpu_to_be32(xid));
	if (rqst) {
		req = rpcrdma_req(rqst);
		/* Pairs with rpcrdma_req_outstanding(): the Call is all there. */
		if (smp_load_acquire(&req->conn) == conn &&
		    !test_bit(RPCRDMA_REQ_ENDED, &req->flags))
			xprt_pin_rqst(rqst);
		else
			req = NULL;
	}
	spin_unlock(&r_xprt->xprt.queue_lock);
	if (!rqst) {
		spin_lock(&conn->lock);
		conn->stats.bad_xids++;
		spin_unlock(&conn->lock);
		trace_rpcrdma_call(conn->id, xid, "nobody waits for it", 0);
	}
	return req;
}

/* The peer cannot reach the RPC's memory any more: complete the RPC. */
static void rpcrdma_reply_complete(struct rpcrdma_req *req, bool invalidated)
{
	struct rpc_rqst *rqst = &req->rqst;
	struct rpcrdma_xprt *r_xprt = rpcrdma_xprt(rqst->rq_xprt);
	struct rpcrdma_conn *conn = req->conn;

	rpcrdma_frwr_put(conn, &req->mrs);
	rpcrdma_conn_end_call(conn, &req->tm);
	/* The first words of a body chunk could not be checked before. */
	if (req->external && req->status >= 0 &&
	    !rpcrdma_first_words(rqst->rq_private_buf.head[0].iov_base,
				 min_t(u32, req->status,
				       rqst->rq_private_buf.head[0].iov_len),
				 be32_to_cpu(rqst->rq_xid), RPCRDMA_REPLY)) {
		req->status = -EIO;
		trace_rpcrdma_call(conn->id, be32_to_cpu(rqst->rq_xid),
				   "its Reply is wrong", req->status);
	}

	spin_lock(&r_xprt->xprt.queue_lock);
	req->conn = NULL;
	r_xprt->stats.local_invalidates += invalidated;
	if (req->status < 0) {
		r_xprt->stats.bad_reply++;
		req->failure = req->status;
		rpc_wake_up_queued_task(&r_xprt->xprt.pending, rqst->rq_task);
	} else {
		xprt_update_rtt(rqst->rq_task);
		xprt_complete_rqst(rqst->rq_task, req->status);
	}
	xprt_unpin_rqst(rqst);
	spin_unlock(&r_xprt->xprt.queue_lock);
	rpcrdma_conn_put(conn);
}

static void rpcrdma_reply_invalidated(struct rpcrdma_inv *inv)
{
	rpcrdma_reply_complete(container_of(inv, struct rpcrdma_req, inv),
			       true);
}

/* @req is pinned. */
static void rpcrdma_reply_finish(struct rpcrdma_conn *conn,
				 struct rpcrdma_req *req, int status)
{
	struct rpcrdma_xprt *r_xprt = conn->context;

	/* The pump may have ended it at the same time. */
	if (test_and_set_bit(RPCRDMA_REQ_ENDED, &req->flags)) {
		rpcrdma_reply_unpin(r_xprt, &req->rqst);
		return;
	}
	req->status = status;
	req->inv.done = rpcrdma_reply_invalidated;
	if (!rpcrdma_frwr_invalidate(conn, &req->mrs, &req->inv))
		rpcrdma_reply_complete(req, false);
}

/*
 * All @length bytes of a stream have come, and @written bytes of its result by the Write
 * chunk. Return: bytes of the message, or a negative errno.
 */
static int rpcrdma_reply_reduced(struct rpc_rqst *rqst, u32 length, u32 written)
{
	struct xdr_buf *buf = &rqst->rq_private_buf;

	/* The chunk has no XDR padding, but the length of the message does. */
	written = xdr_align_size(written);
	/* What is in the tail would be looked for behind what was written. */
	if (length > buf->head[0].iov_len && written < buf->page_len)
		return -EIO;
	if (length < buf->head[0].iov_len) {
		buf->head[0].iov_len = length;
		rqst->rq_rcv_buf.head[0].iov_len = length;
	}
	return length + written;
}

/*
 * Place bytes of a Reply whose result was written into a Write chunk.
 * Return: bytes of the message so far, or a negative errno.
 */
static int rpcrdma_reply_place_reduced(struct rpc_rqst *rqst,
				       const struct rpcrdma_rx *rx,
				       struct rpcrdma_recv *recv, u32 written)
{
	struct xdr_buf *buf = &rqst->rq_private_buf;
	u32 head = buf->head[0].iov_len, length = rx->payload.length;
	u32 offset = rx->stream_offset, from = rx->payload.offset, n;

	recv->copied += length;
	if (offset < head) {
		n = min(length, head - offset);
		rpcrdma_recv_read(recv, from, buf->head[0].iov_base + offset,
				  n);
		offset += n;
		from += n;
		length -= n;
	}
	if (length) {
		n = offset - head;
		if (n > buf->tail[0].iov_len ||
		    length > buf->tail[0].iov_len - n)
			return -EIO;
		rpcrdma_recv_read(recv, from, buf->tail[0].iov_base + n,
				  length);
	}
	if (!rx->last)
		return rx->stream_length;
	return rpcrdma_reply_reduced(rqst, rx->stream_length, written);
}

static bool rpcrdma_reply_written(struct rpcrdma_req *req,
				  const struct rpcrdma_rx *rx, u32 *written)
{
	*written = 0;
	if (!req->chunks.n_writes || !rx->chunks.n_writes)
		return true;
	/* Its Call has offered the memory in a direction, which this form does not answer. */
	if (req->tm.group)
		return false;
	if (!rpcrdma_written(&req->chunks, &rx->chunks, 0, written))
		return false;
	return *written <= req->rqst.rq_rcv_buf.page_len;
}

/**
 * rpcrdma_reply_external - set up a Reply whose stream is in the Reply chunk
 * @rqst: the RPC; its receive buffer is the chunk
 * @length: bytes of the stream
 * @reduced: a Write chunk was offered, so the Reply chunk does not cover the pages
 * @written: bytes that came by the Write chunk
 *
 * Return: bytes of the message, or a negative errno.
 */
int rpcrdma_reply_external(struct rpc_rqst *rqst, u32 length, bool reduced,
			   u32 written)
{
	const struct xdr_buf *buf = &rqst->rq_private_buf;
	u32 room = rpcrdma_xdr_room(buf);

	/* If the room is not a multiple of four, no chunk covers its last bytes. */
	if (reduced)
		room -= buf->page_len;
	if (length > room || length % XDR_UNIT)
		return -EIO;
	return reduced ? rpcrdma_reply_reduced(rqst, length, written) : length;
}

static void rpcrdma_reply_count(struct rpcrdma_conn *conn, u32 written,
				bool external, u32 replied)
{
	spin_lock(&conn->lock);
	if (written) {
		conn->stats.write_chunks++;
		conn->stats.write_chunk_bytes += written;
	}
	if (external) {
		conn->stats.reply_chunks++;
		conn->stats.reply_chunk_bytes += replied;
	}
	spin_unlock(&conn->lock);
}

static const struct rpcrdma_segment *
rpcrdma_write_segs(const struct rpcrdma_chunks *c,
		   const struct rpcrdma_write_chunk *chunk)
{
	return &c->write_segs[chunk->first];
}

/**
 * rpcrdma_reply_keep - keep what the processor writes where the server could have written
 * @conn: the connection
 * @req: the RPC
 * @chunk: a chunk of its Call, or the memory that it has offered
 */
void rpcrdma_reply_keep(struct rpcrdma_conn *conn, struct rpcrdma_req *req,
			const struct rpcrdma_write_chunk *chunk)
{
	rpcrdma_frwr_keep_cpu(conn, &req->mrs,
			      rpcrdma_write_segs(&req->chunks, chunk),
			      chunk->count);
}

/* A Reply by a group is whole. Return: as for rpcrdma_reply_take(). */
static int rpcrdma_reply_take_group(struct rpcrdma_conn *conn,
				    struct rpcrdma_req *req,
				    const struct rpcrdma_rx *rx)
{
	const struct rpcrdma_chunks *c = &req->chunks;
	struct rpcrdma_xprt *r_xprt = conn->context;
	u32 written = 0;
	int rc;

	if (c->has_reply)
		rpcrdma_reply_keep(conn, req, &c->reply);
	rc = rpcrdma_reply_group_take(r_xprt, req, rx, &written);
	r_xprt->stats.fixed_up_bytes += rx->unreduced_length -
					xdr_align_size(written);
	r_xprt->stats.written_bytes += written;
	if (written)
		rpcrdma_reply_count(conn, written, false, 0);
	return rc;
}

/* Place a part of a Reply of which nothing is anywhere else. Return: as rpcrdma_reply_take(). */
static int rpcrdma_reply_take_stream(struct rpc_rqst *rqst,
				     const struct rpcrdma_rx *rx,
				     struct rpcrdma_recv *recv)
{
	struct xdr_buf *buf = &rqst->rq_private_buf;

	rpcrdma_reply_place_recv(buf, rx->stream_offset, recv,
				 rx->payload.offset, rx->payload.length);
	return min_t(u32, rx->stream_length, rpcrdma_xdr_room(buf));
}

/* As rpcrdma_reply_take(), if there may be chunks. */
static noinline int rpcrdma_reply_take_chunks(struct rpcrdma_conn *conn,
					      struct rpcrdma_req *req,
					      const struct rpcrdma_rx *rx,
					      struct rpcrdma_recv *recv)
{
	const struct rpcrdma_chunks *c = &req->chunks;
	struct rpcrdma_xprt *r_xprt = conn->context;
	struct rpc_rqst *rqst = &req->rqst;
	u32 written = 0, replied = 0;
	bool reduced;

	if (rx->last && !rpcrdma_reply_written(req, rx, &written))
		return -EIO;
	if (rx->external && !rpcrdma_replied(c, &rx->chunks, &replied))
		return -EIO;
	r_xprt->stats.written_bytes += written + replied;
	if (written || rx->external)
		rpcrdma_reply_count(conn, written, rx->external, replied);
	req->external = rx->external;
	if (rx->external)
		return rpcrdma_reply_external(rqst, replied, c->n_writes,
					      written);

	/*
	 * The Write list comes with the last bytes. Until then assume that an
	 * offered Write chunk is used, as the binding requires of the peer. With a
	 * single Send the Write list is there at once. Memory in a direction is no chunk.
	 */
	reduced = c->n_writes && !req->tm.group &&
		  (written || !rx->last || rx->stream_offset);
	if (c->has_reply)
		rpcrdma_reply_keep(conn, req, &c->reply);
	if (reduced)
		return rpcrdma_reply_place_reduced(rqst, rx, recv, written);
	if (c->n_writes)
		rpcrdma_reply_keep(conn, req, &c->writes[0]);
	return rpcrdma_reply_take_stream(rqst, rx, recv);
}

/* A part of a Reply. Return: bytes of the message so far, or an errno. */
static int rpcrdma_reply_take(struct rpcrdma_conn *conn,
			      struct rpcrdma_req *req,
			      const struct rpcrdma_rx *rx,
			      struct rpcrdma_recv *recv)
{
	const struct rpcrdma_chunks *c = &req->chunks;
	struct rpcrdma_xprt *r_xprt = conn->context;

	r_xprt->stats.fixed_up_bytes += rx->payload.length;
	if (c->n_writes || c->has_reply || rx->external)
		return rpcrdma_reply_take_chunks(conn, req, rx, recv);
	req->external = false;
	return rpcrdma_reply_take_stream(&req->rqst, rx, recv);
}

/*
 * A Reply has come. The times of small RPCs tell how far the server is: a Call of one Send,
 * its Reply of one Send, and what the server does between the two.
 */
static void rpcrdma_reply_round_trip(struct rpcrdma_conn *conn,
				     const struct rpcrdma_req *req,
				     const struct rpcrdma_rx *rx)
{
	const struct rpcrdma_chunks *c = &req->chunks;
	s64 rtt;

	/* A Reply to what was sent before it was sent again would look too fast. */
	if (req->rqst.rq_ntrans > 1)
		return;
	if (rx->stream_offset || rx->external || !rx->last ||
	    rx->stream_length > RPCRDMA_ROUND_TRIP_SIZE ||
	    req->tm.msg.length > RPCRDMA_ROUND_TRIP_SIZE || req->tm.group ||
	    c->n_call || c->n_reads || c->n_write_segs)
		return;
	/* xprt_lookup_rqst() has measured it, and may do so again at this moment. */
	rtt = ktime_to_us(data_race(req->rqst.rq_rtt));
	WRITE_ONCE(conn->round_trip,
		   rpcrdma_round_trip_note(&conn->round_trips,
					   jiffies_to_msecs(jiffies),
					   clamp_t(s64, rtt, 0, U32_MAX)));
}

/* Bytes of a Reply have come; all of it, if it comes by a group. */
static void rpcrdma_client_reply(struct rpcrdma_conn *conn,
				 const struct rpcrdma_rx *rx,
				 struct rpcrdma_recv *recv, u32 invalidated)
{
	struct rpcrdma_req *req;
	bool whole = true;
	int rc = 0;

	if (rpcrdma_keepalive_answered(conn, rx))
		return;

	req = rpcrdma_reply_req(conn, rx->xid);
	/* It answers a Call that this connection did not carry. */
	if (!req)
		return;

	if (!rpcrdma_conn_posted(&req->tm)) {
		/*
		 * The pump still reads the Call, or does not have it yet: the RPC
		 * must not complete now.
		 */
		rpcrdma_reply_unpin(conn->context, &req->rqst);
		rpcrdma_conn_lost(conn, "Reply to a Call not sent");
		return;
	}

	if (rpcrdma_rtr_carries(rx->htype)) {
		rc = rpcrdma_reply_take_group(conn, req, rx);
	} else if (rpcrdma_rx_continues(rx, &req->placed)) {
		rpcrdma_reply_round_trip(conn, req, rx);
		rc = rpcrdma_reply_take(conn, req, rx, recv);
	} else {
		whole = false;
		trace_rpcrdma_call(conn->id, rx->xid, "its Reply lacks a part",
				   0);
	}
	if (rc < 0)
		trace_rpcrdma_call(conn->id, rx->xid, "its Reply is wrong", rc);
	if (invalidated)
		rpcrdma_frwr_remote_inv(conn, &req->mrs, invalidated);
	if (rc < 0 || (rx->last && whole))
		rpcrdma_reply_finish(conn, req, rc);
	else
		rpcrdma_reply_unpin(conn->context, &req->rqst);
}

/**
 * rpcrdma_client_payload - bytes of an RPC message have come
 * @conn: the connection
 * @rx: describes them
 * @recv: holds them
 * @invalidated: handle that came with a Send With Invalidate, or zero
 *
 * Context: the Receive handler; process context.
 *
 * Return: whether @recv is kept, which those of a group are until it is whole.
 */
enum rpcrdma_recv_verdict rpcrdma_client_payload(struct rpcrdma_conn *conn,
						 const struct rpcrdma_rx *rx,
						 struct rpcrdma_recv *recv,
						 u32 invalidated)
{
	if (rx->dir == RPCRDMA_CALL) {
		rpcrdma_bc_call(conn, rx, recv);
		return RPCRDMA_RECV_DONE;
	}
	if (!rpcrdma_rtr_carries(rx->htype)) {
		rpcrdma_client_reply(conn, rx, recv, invalidated);
		return RPCRDMA_RECV_DONE;
	}
	if (rx->htype == RPCRDMA_RTR_XMTRESP)
		rpcrdma_reply_group_put(conn);
	rpcrdma_reply_group_keep(conn->context, rx, recv);
	if (rx->last) {
		rpcrdma_client_reply(conn, rx, recv, invalidated);
		rpcrdma_reply_group_put(conn);
	}
	return RPCRDMA_RECV_KEEP;
}

/*
 * The peer refused a Call. @req is pinned; @error is a negative errno or
 * RPCRDMA_REQ_AGAIN.
 */
static void rpcrdma_reply_refused(struct rpcrdma_conn *conn,
				  struct rpcrdma_req *req, int error)
{
	bool early;

	/*
	 * The refusal may come after the first part, or before the Call is sent: it
	 * takes effect when the whole Call is sent. The pump checks it under this lock.
	 */
	spin_lock(&conn->lock);
	early = !rpcrdma_conn_posted(&req->tm);
	if (early) {
		WRITE_ONCE(req->refused, error);
		req->tm.quiet = false;
	}
	spin_unlock(&conn->lock);
	if (early)
		rpcrdma_reply_unpin(conn->context, &req->rqst);
	else
		rpcrdma_reply_finish(conn, req, error);
}

static void rpcrdma_client_no_version(struct rpcrdma_conn *conn)
{
	struct rpcrdma_xprt *r_xprt = conn->context;

	/* sysfs may replace the text. */
	rcu_read_lock();
	pr_warn_ratelimited("rpcrdma: %s does not speak version %u\n",
			    READ_ONCE(r_xprt->xprt.address_strings[RPC_DISPLAY_ADDR]),
			    rpcrdma_conn_version(conn));
	rcu_read_unlock();
}

/**
 * rpcrdma_client_failed - a Call has been refused, or its Reply is malformed
 * @conn: the connection
 * @rx: which one, and why
 *
 * Context: the Receive handler; process context.
 */
void rpcrdma_client_failed(struct rpcrdma_conn *conn,
			   const struct rpcrdma_rx *rx)
{
	struct rpcrdma_req *req;
	u32 reason;
	int error;

	/* An error, too, shows that the peer is alive. */
	if (rpcrdma_keepalive_answered(conn, rx))
		return;
	req = rpcrdma_reply_req(conn, rx->xid);
	if (!req)
		return;
	reason = rpcrdma_conn_call_refused(conn, &req->tm, rx);
	error = rpcrdma_req_group_refused(req, rx) ?
		0 : rpcrdma_plan_retry(&req->plan, rx, &req->avoid);
	if (reason == RPCRDMA_REASON_NO_VERSION) {
		rpcrdma_client_no_version(conn);
		/* The client wrongly remembered the server as one of version 1. */
		if (rpcrdma_forget_silent(conn->context))
			error = 0;
	}
	trace_rpcrdma_retry(conn->id, rx, req->avoid, error);
	if (!error) {
		spin_lock(&conn->lock);
		conn->stats.retries++;
		spin_unlock(&conn->lock);
		error = RPCRDMA_REQ_AGAIN;
	}
	rpcrdma_reply_refused(conn, req, error);
}

/**
 * rpcrdma_client_outdated - a Call cannot be sent as planned; no part was sent
 * @tm: the Call
 *
 * Context: the pump; process context.
 */
void rpcrdma_client_outdated(struct rpcrdma_txmsg *tm)
{
	struct rpcrdma_conn *conn = tm->conn;
	struct rpcrdma_req *req = rpcrdma_reply_req(conn, tm->msg.xid);
	int error;

	if (!req)
		return;
	error = rpcrdma_req_ungroup(req) ?
		0 : rpcrdma_plan_outdated(&req->plan, &req->avoid);
	trace_rpcrdma_call(conn->id, tm->msg.xid, "cannot be sent as planned",
			   error);
	rpcrdma_reply_finish(conn, req, error ? error : RPCRDMA_REQ_AGAIN);
}

/**
 * rpcrdma_client_end - a Call left the send queue, and will have no Reply
 * @tm: the Call
 * @error: a negative errno for its RPC, or RPCRDMA_REQ_AGAIN
 *
 * Context: the pump; process context.
 */
void rpcrdma_client_end(struct rpcrdma_txmsg *tm, int error)
{
	struct rpcrdma_conn *conn = tm->conn;
	struct rpcrdma_req *req = rpcrdma_reply_req(conn, tm->msg.xid);

	if (req)
		rpcrdma_reply_finish(conn, req, error);
}
