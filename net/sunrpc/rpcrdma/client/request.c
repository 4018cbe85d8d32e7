// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Calls: from rq_snd_buf to the connection's send queue.
 *
 * The planner says which items go by chunk. If there is no region for one, it
 * stays in the Payload stream. The octets of the stream are copied out of
 * rq_snd_buf when their Send is posted, which can be after send_request has
 * returned; rpcrdma_req_release() is what makes the buffers free again.
 */
#include <linux/sunrpc/xdr.h>

#include <trace/events/rpcrdma_v2.h>

#include "client.h"

static struct ib_send_wr *rpcrdma_req_chain(struct rpcrdma_txmsg *tm,
					    struct ib_send_wr *next)
{
	struct rpcrdma_req *req = container_of(tm, struct rpcrdma_req, tm);

	return rpcrdma_frwr_chain(&req->mrs, next);
}

/*
 * The Call is out, or it never will be. It may have been answered and be gone:
 * @tm is then another Call's, for which the same holds.
 */
static void rpcrdma_req_sent(struct rpcrdma_txmsg *tm, int status)
{
	struct rpcrdma_req *req = container_of(tm, struct rpcrdma_req, tm);

	/* After a lost connection sunrpc sends again. */
	if (status == -ENOTCONN)
		return;
	if (status)
		rpcrdma_client_end(tm, -EIO);
	else if (READ_ONCE(req->refused))
		rpcrdma_client_end(tm, req->refused);
}

/* Pages that the upper layer left to the transport, for a Reply by Sends. */
static int rpcrdma_fill_sparse(struct xdr_buf *buf)
{
	unsigned int i, n;

	if (!(buf->flags & XDRBUF_SPARSE_PAGES))
		return 0;
	n = (buf->page_base + buf->page_len + PAGE_SIZE - 1) >> PAGE_SHIFT;
	for (i = 0; i < n; i++) {
		if (buf->pages[i])
			continue;
		buf->pages[i] = alloc_page(rpc_task_gfp_mask());
		if (!buf->pages[i])
			return -ENOBUFS;
	}
	return 0;
}

static int rpcrdma_req_read_chunk(struct rpcrdma_req *req,
				  struct rpcrdma_conn *conn, u32 position,
				  u32 max_segs)
{
	struct rpcrdma_segment segs[RPCRDMA_MAX_SEGMENTS];
	const struct xdr_buf *buf = &req->rqst.rq_snd_buf;
	struct rpcrdma_range range = {
		.offset = buf->page_base,
		.length = buf->page_len,
	};
	struct rpcrdma_chunks *c = &req->chunks;
	int i, n;

	n = rpcrdma_frwr_map(conn, &req->mrs, &range, buf->pages, false, segs,
			     max_segs);
	if (n < 0)
		return n;
	for (i = 0; i < n; i++) {
		c->reads[i].position = position;
		c->reads[i].target = segs[i];
	}
	c->n_reads = n;
	return 0;
}

static int rpcrdma_req_write_chunk(struct rpcrdma_req *req,
				   struct rpcrdma_conn *conn, u32 max_segs)
{
	const struct xdr_buf *buf = &req->rqst.rq_rcv_buf;
	struct rpcrdma_range range = {
		.offset = buf->page_base,
		.length = buf->page_len,
	};
	struct rpcrdma_chunks *c = &req->chunks;
	int n;

	n = rpcrdma_frwr_map(conn, &req->mrs, &range, buf->pages, true,
			     c->write_segs, max_segs - c->n_reads);
	if (n < 0)
		return n;
	c->writes[0].first = 0;
	c->writes[0].count = n;
	c->n_writes = 1;
	c->n_write_segs = n;
	return 0;
}

/* Decide how the Call travels, and prepare its regions. */
static int rpcrdma_req_prepare(struct rpcrdma_req *req,
			       struct rpcrdma_conn *conn)
{
	struct rpc_rqst *rqst = &req->rqst;
	const struct xdr_buf *snd = &rqst->rq_snd_buf;
	struct rpcrdma_chunks *c = &req->chunks;
	struct rpcrdma_call_shape shape = {
		.length = snd->len,
		.reply_expected = rpc_reply_expected(rqst->rq_task),
		.reducible = !test_bit(RPCAUTH_AUTH_DATATOUCH,
				       &rqst->rq_cred->cr_auth->au_flags),
	};
	struct rpcrdma_session_info info;
	struct rpcrdma_call_plan plan;
	u32 max_segs;
	int rc;

	if (snd->flags & XDRBUF_WRITE) {
		shape.item.offset = snd->head[0].iov_len;
		shape.item.length = snd->page_len;
	}
	if (rqst->rq_rcv_buf.flags & XDRBUF_READ)
		shape.result_max = rqst->rq_rcv_buf.page_len;
	rpcrdma_plan_call(&conn->session, &shape, &plan);
	rpcrdma_session_info(&conn->session, &info);
	max_segs = min_t(u32, info.peer.max_segments, RPCRDMA_MAX_SEGMENTS);

	c->n_call = 0;
	c->n_reads = 0;
	c->n_writes = 0;
	c->n_write_segs = 0;
	c->has_reply = false;

	rc = plan.read_chunk ?
		rpcrdma_req_read_chunk(req, conn, shape.item.offset,
				       max_segs) : 0;
	if (rc == -ENOBUFS) {
		plan.read_chunk = false;
		plan.stream_length = shape.length;
	} else if (rc) {
		return rc;
	}
	rc = plan.write_chunk ?
		rpcrdma_req_write_chunk(req, conn, max_segs) : 0;
	if (rc && rc != -ENOBUFS)
		return rc;
	rc = rpcrdma_fill_sparse(&rqst->rq_rcv_buf);
	if (rc)
		return rc;

	req->removed = plan.removed;
	req->tm.n_removed = plan.read_chunk ? 1 : 0;
	req->tm.msg.length = plan.stream_length;
	if (c->n_reads)
		req->tm.msg.inv_handle = c->reads[0].target.handle;
	else if (c->n_write_segs)
		req->tm.msg.inv_handle = c->write_segs[0].handle;
	else
		req->tm.msg.inv_handle = 0;
	return 0;
}

/**
 * rpcrdma_req_release - nothing of an RPC is queued, posted or registered
 * @req: the RPC
 * @sent: wait until the Call is out instead of taking it back
 *
 * Context: Process context. May sleep.
 */
void rpcrdma_req_release(struct rpcrdma_req *req, bool sent)
{
	struct rpcrdma_conn *conn = req->conn;

	if (!conn)
		return;
	if (sent)
		rpcrdma_conn_wait_sent(conn, &req->tm);
	rpcrdma_conn_cancel(conn, &req->tm);
	rpcrdma_frwr_invalidate_wait(conn, &req->mrs);
	req->conn = NULL;
	rpcrdma_conn_put(conn);
}

/**
 * rpcrdma_send_request - send a Call, or the Reply to a callback
 * @rqst: the RPC
 *
 * Context: the caller holds the transport's write lock.
 *
 * Return:
 *	%0 the message is on the send queue and will go as credits allow
 *	%-ENOTCONN connect, then send again
 *	%-ENOBUFS no memory now, send again after a delay
 *	%-EIO this message cannot be sent
 */
int rpcrdma_send_request(struct rpc_rqst *rqst)
{
	struct rpcrdma_xprt *rx = rpcrdma_xprt(rqst->rq_xprt);
	struct rpcrdma_conn *conn = rx->conn;
	struct rpcrdma_req *req;
	int rc;

	if (!rqst->rq_buffer)
		return rpcrdma_bc_send_reply(rqst);
	if (!xprt_connected(&rx->xprt) || !conn)
		return -ENOTCONN;

	req = rpcrdma_req(rqst);
	if (req->conn == conn) {
		/*
		 * Not answered yet: the connection is reliable, so sending the
		 * same again on it helps nobody. Begin a new one.
		 */
		xprt_force_disconnect(&rx->xprt);
		return -ENOTCONN;
	}
	rpcrdma_req_release(req, false);

	rc = rpcrdma_req_prepare(req, conn);
	if (rc)
		goto out_unmap;

	req->conn = rpcrdma_conn_get(conn);
	req->status = 0;
	req->refused = 0;
	req->tm.msg.xid = be32_to_cpu(rqst->rq_xid);
	req->tm.msg.dir = RPCRDMA_CALL;
	req->tm.msg.chunks = &req->chunks;
	req->tm.msg.sent = 0;
	req->snd = rqst->rq_snd_buf;
	req->tm.xdr = &req->snd;
	req->tm.removed = &req->removed;
	req->tm.chain = list_empty(&req->mrs) ? NULL : rpcrdma_req_chain;
	req->tm.done = rpcrdma_req_sent;
	req->tm.chain_cost = list_count_nodes(&req->mrs);

	rx->stats.requested_bytes += rqst->rq_snd_buf.len;
	rx->stats.pulled_up_bytes += req->tm.msg.length;
	rx->stats.read_segments += req->chunks.n_reads;
	rx->stats.write_segments += req->chunks.n_write_segs;
	spin_lock(&conn->lock);
	if (req->tm.n_removed) {
		conn->stats.read_chunks++;
		conn->stats.read_chunk_bytes += rqst->rq_snd_buf.page_len;
	}
	spin_unlock(&conn->lock);

	rqst->rq_xtime = ktime_get();
	rc = rpcrdma_conn_send(conn, &req->tm);
	if (rc) {
		rpcrdma_req_release(req, false);
		return rc == -ENOTCONN ? rc : -EIO;
	}
	rqst->rq_xmit_bytes_sent += rqst->rq_snd_buf.len;
	return 0;

out_unmap:
	rx->stats.failed_marshal++;
	rpcrdma_frwr_put(conn, &req->mrs);
	return rc;
}
