// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Calls: from rq_snd_buf to the connection's send queue.
 *
 * The planner says which items travel in chunks, and whether the whole stream does. It gets
 * the round-trip time that reply.c has measured. An item for which there is no region stays
 * in the Payload stream. If its message is longer than special_threshold, or in version 1, the
 * Call waits for a region.
 *
 * A Call is taken from sunrpc when it can go: when the connection has the credits that it needs,
 * and room for all its Work Requests. Until then it waits in sunrpc's queue, which knows
 * priorities, signals and time-outs.
 *
 * The bytes of the stream are copied out of rq_snd_buf when their Send is
 * posted. That can be after send_request has returned. The server reads chunks
 * even later. So nobody may free rq_snd_buf or encode into it before
 * rpcrdma_req_release() has run. sunrpc does so in two cases: at the end of
 * the RPC, after it has called buf_free; and when it sends the RPC again,
 * after the task has slept in wait_for_reply_request. In both cases our
 * callback comes first. In a third case there is no callback: a task sleeps
 * until it may send, while another task sends its Call. rpcrdma_reserve_xprt()
 * prevents that.
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
 * The Call has been sent, or never will be. It may have been answered and freed: then
 * @tm belongs to another Call, which may be on its way, or over as well. It is told once then.
 */
static void rpcrdma_req_sent(struct rpcrdma_txmsg *tm, int status)
{
	struct rpcrdma_req *req = container_of(tm, struct rpcrdma_req, tm);

	/*
	 * A refusal also counts if the rest could not be sent. Otherwise sunrpc
	 * would send again after a lost connection.
	 */
	if (status == -EMSGSIZE && !tm->msg.sent)
		rpcrdma_client_outdated(tm);
	else if (status && status != -ENOTCONN)
		rpcrdma_client_end(tm, -EIO);
	else if ((status || rpcrdma_conn_posted(tm)) &&
		 READ_ONCE(req->refused))
		rpcrdma_client_end(tm, req->refused);
}

/**
 * rpcrdma_fill_sparse - allocate the pages that the upper layer left to the transport
 * @buf: of the Reply
 *
 * Context: under the transport's write lock. WRITEs that would free memory may wait for
 * this lock, so the function does not sleep.
 *
 * Return: 0, or %-ENOBUFS if there is no memory now; pages already allocated stay.
 */
int rpcrdma_fill_sparse(struct xdr_buf *buf)
{
	unsigned int i, n;

	if (!(buf->flags & XDRBUF_SPARSE_PAGES))
		return 0;
	n = (buf->page_base + buf->page_len + PAGE_SIZE - 1) >> PAGE_SHIFT;
	for (i = 0; i < n; i++) {
		if (buf->pages[i])
			continue;
		buf->pages[i] = alloc_page(GFP_NOWAIT | __GFP_NOWARN);
		if (!buf->pages[i])
			return -ENOBUFS;
	}
	return 0;
}

/* list_count_nodes() is not in each kernel of 6.1. */
static u32 rpcrdma_req_regions(const struct rpcrdma_req *req)
{
	const struct list_head *at;
	u32 count = 0;

	list_for_each(at, &req->mrs)
		count++;
	return count;
}

static u32 rpcrdma_req_max_segs(const struct rpcrdma_req *req)
{
	const struct rpcrdma_chunks *c = &req->chunks;

	return req->max_segs - c->n_call - c->n_reads - c->n_write_segs;
}

static int rpcrdma_req_read_chunk(struct rpcrdma_req *req,
				  struct rpcrdma_conn *conn, u32 position)
{
	struct rpcrdma_segment segs[RPCRDMA_MAX_SEGMENTS];
	const struct xdr_buf *buf = &req->rqst.rq_snd_buf;
	u32 max_segs = rpcrdma_req_max_segs(req);
	struct rpcrdma_range range = {
		.offset = buf->page_base,
		.length = buf->page_len,
	};
	/* The XDR padding of the item comes after it in the stream. */
	struct kvec pad = {
		.iov_base = buf->tail[0].iov_base,
		.iov_len = req->plan.read_pad,
	};
	struct rpcrdma_chunks *c = &req->chunks;
	int i, n, more = 0;

	n = rpcrdma_frwr_map(conn, &req->mrs, &range, buf->pages, false, segs,
			     max_segs);
	if (n < 0)
		return n;
	if (pad.iov_len)
		more = rpcrdma_frwr_map_kvec(conn, &req->mrs, &pad, false,
					     segs + n, max_segs - n);
	if (more < 0)
		return more;
	n += more;
	for (i = 0; i < n; i++) {
		c->reads[i].position = position;
		c->reads[i].target = segs[i];
	}
	c->n_reads = n;
	return 0;
}

static int rpcrdma_req_write_chunk(struct rpcrdma_req *req,
				   struct rpcrdma_conn *conn)
{
	const struct xdr_buf *buf = &req->rqst.rq_rcv_buf;
	struct rpcrdma_range range = {
		.offset = buf->page_base,
		.length = buf->page_len,
	};
	struct rpcrdma_chunks *c = &req->chunks;
	int n;

	n = rpcrdma_frwr_map(conn, &req->mrs, &range, buf->pages, true,
			     c->write_segs, rpcrdma_req_max_segs(req));
	if (n < 0)
		return n;
	c->writes[0].first = 0;
	c->writes[0].count = n;
	c->n_writes = 1;
	c->n_write_segs = n;
	return 0;
}

/*
 * Regions for bytes @from..@to of a message. Return: segments, or the error of
 * rpcrdma_frwr_map(); then the regions before the failure are on @mrs.
 */
static int rpcrdma_body_run(struct rpcrdma_conn *conn, struct list_head *mrs,
			    const struct xdr_buf *buf, u32 from, u32 to,
			    bool remote_write, struct rpcrdma_segment *segs,
			    u32 max_segs)
{
	const u32 sizes[] = {
		buf->head[0].iov_len, buf->page_len, buf->tail[0].iov_len,
	};
	u32 start = 0, begin, end, segments = 0, i;
	struct rpcrdma_range range;
	struct kvec vec;
	int n;

	for (i = 0; i < ARRAY_SIZE(sizes); start += sizes[i++]) {
		begin = max(from, start);
		end = min(to, start + sizes[i]);
		if (begin >= end)
			continue;
		range.offset = begin - start;
		range.length = end - begin;
		if (i == 1) {
			range.offset += buf->page_base;
			n = rpcrdma_frwr_map(conn, mrs, &range, buf->pages,
					     remote_write, segs + segments,
					     max_segs - segments);
		} else {
			vec = i ? buf->tail[0] : buf->head[0];
			vec.iov_base += range.offset;
			vec.iov_len = range.length;
			n = rpcrdma_frwr_map_kvec(conn, mrs, &vec,
						  remote_write,
						  segs + segments,
						  max_segs - segments);
		}
		if (n < 0)
			return n;
		segments += n;
	}
	return segments;
}

/*
 * Regions for a body chunk: bytes up to @end of a message, without @removed.
 * Return: as rpcrdma_frwr_map().
 */
static int rpcrdma_req_body(struct rpcrdma_req *req, struct rpcrdma_conn *conn,
			    const struct xdr_buf *buf, u32 end,
			    const struct rpcrdma_range *removed,
			    bool remote_write, struct rpcrdma_segment *segs)
{
	u32 max_segs = rpcrdma_req_max_segs(req);
	u32 resume = removed->offset + removed->length;
	LIST_HEAD(mrs);
	int n, more;

	n = rpcrdma_body_run(conn, &mrs, buf, 0,
			     removed->length ? removed->offset : end,
			     remote_write, segs, max_segs);
	if (n >= 0 && removed->length) {
		more = rpcrdma_body_run(conn, &mrs, buf, resume, end,
					remote_write, segs + n, max_segs - n);
		n = more < 0 ? more : n + more;
	}
	if (n < 0) {
		rpcrdma_frwr_undo(conn, &mrs);
		return n;
	}
	spin_lock(&conn->lock);
	list_splice_tail(&mrs, &req->mrs);
	spin_unlock(&conn->lock);
	return n;
}

static int rpcrdma_req_call_chunk(struct rpcrdma_req *req,
				  struct rpcrdma_conn *conn)
{
	const struct xdr_buf *buf = &req->rqst.rq_snd_buf;
	struct rpcrdma_chunks *c = &req->chunks;
	int n;

	n = rpcrdma_req_body(req, conn, buf, buf->len, &req->plan.removed,
			     false, c->call);
	if (n < 0)
		return n;
	c->n_call = n;
	return 0;
}

/*
 * The server says how much it has written, not where. What it leaves out must not be memory of
 * something else; in the pages of a READ that is the server's business.
 */
static void rpcrdma_req_clear(const struct xdr_buf *buf)
{
	u32 at = buf->page_base, left = buf->page_len, run;

	memset(buf->head[0].iov_base, 0, buf->head[0].iov_len);
	if (buf->tail[0].iov_len)
		memset(buf->tail[0].iov_base, 0, buf->tail[0].iov_len);
	if (buf->flags & XDRBUF_READ)
		return;
	for (; left; left -= run, at += run) {
		run = min_t(u32, left, PAGE_SIZE - offset_in_page(at));
		memzero_page(buf->pages[at >> PAGE_SHIFT], offset_in_page(at),
			     run);
	}
}

/* Room for the whole Reply, or for the part that the Write chunk does not carry. */
static int rpcrdma_req_reply_chunk(struct rpcrdma_req *req,
				   struct rpcrdma_conn *conn)
{
	const struct xdr_buf *buf = &req->rqst.rq_rcv_buf;
	struct rpcrdma_chunks *c = &req->chunks;
	struct rpcrdma_range item = { };
	u32 end = rpcrdma_xdr_room(buf);
	int n;

	if (c->n_writes) {
		item.offset = buf->head[0].iov_len;
		item.length = buf->page_len;
	}
	end -= (end - item.length) % XDR_UNIT;
	rpcrdma_req_clear(buf);
	n = rpcrdma_req_body(req, conn, buf, end, &item, true,
			     c->write_segs + c->n_write_segs);
	if (n < 0)
		return n;
	c->reply.first = c->n_write_segs;
	c->reply.count = n;
	c->has_reply = true;
	c->n_write_segs += n;
	return 0;
}

/*
 * Integrity and privacy protect the arguments inside the message (D9). sunrpc marks these
 * flavors in memory that it has not cleared, so other flavors can have the mark, too.
 */
static bool rpcrdma_req_reducible(const struct rpc_rqst *rqst)
{
	const struct rpc_auth *auth = rqst->rq_cred->cr_auth;

	return auth->au_flavor == RPC_AUTH_GSS_KRB5 ||
	       !test_bit(RPCAUTH_AUTH_DATATOUCH, &auth->au_flags);
}

static void rpcrdma_req_shape(const struct rpcrdma_req *req,
			      struct rpcrdma_call_shape *shape)
{
	const struct rpc_rqst *rqst = &req->rqst;
	const struct xdr_buf *snd = &rqst->rq_snd_buf;
	const struct xdr_buf *rcv = &rqst->rq_rcv_buf;

	*shape = (struct rpcrdma_call_shape) {
		.length = snd->len,
		.avoid = req->avoid,
		.reply_expected = rpc_reply_expected(rqst->rq_task),
		.reducible = rpcrdma_req_reducible(rqst),
	};
	if (snd->flags & XDRBUF_WRITE) {
		shape->item.offset = snd->head[0].iov_len;
		shape->item.length = snd->page_len;
	}
	if (!shape->reply_expected)
		return;
	shape->reply_max = round_down(rpcrdma_xdr_room(rcv), XDR_UNIT);
	if (rcv->flags & XDRBUF_READ)
		shape->result_max = rcv->page_len;
}

/*
 * Can the Call go without a chunk that could not be prepared? Not if it @waits for a
 * region, or if the peer has asked for the chunk.
 */
static bool rpcrdma_req_may_go(const struct rpcrdma_req *req, bool waits, int rc)
{
	const u32 needed = RPCRDMA_NEED_CALL_CHUNK | RPCRDMA_NEED_REPLY_CHUNK;

	if (req->plan.chunks_required)
		return false;
	switch (rc) {
	case -EMSGSIZE:
		return true;
	case -EAGAIN:
		return !waits;
	case -ENOBUFS:
		return !(req->avoid & needed);
	default:
		return false;
	}
}

/* The same about @chunk, one flag of enum rpcrdma_avoid. */
static bool rpcrdma_req_without(const struct rpcrdma_req *req,
				const struct rpcrdma_conn *conn, u32 chunk,
				bool waits, int rc)
{
	if (!rpcrdma_req_may_go(req, waits, rc))
		return false;
	trace_rpcrdma_without(conn->id, be32_to_cpu(req->rqst.rq_xid), chunk,
			      rc);
	return true;
}

static bool rpcrdma_req_has_chunks(const struct rpcrdma_req *req)
{
	const struct rpcrdma_call_plan *plan = &req->plan;

	return plan->read_chunk || plan->write_chunk || plan->call_chunk ||
	       plan->reply_chunk;
}

/* Why it travels so. */
static noinline void
rpcrdma_req_trace_why(const struct rpcrdma_req *req,
		      const struct rpcrdma_conn *conn,
		      const struct rpcrdma_call_shape *shape)
{
	struct rpcrdma_plan_reasons why;

	rpcrdma_plan_why(&conn->session, shape, &req->plan, &why);
	if (req->tm.group && req->plan.removed.length)
		why.call = RPCRDMA_CHUNK_PLACED;
	else if (req->tm.group)
		why.result = RPCRDMA_CHUNK_PLACED;
	if (req->tm.group && req->offer) {
		why.result = RPCRDMA_CHUNK_OFFERED;
		why.chunks &= ~RPCRDMA_AVOID_WRITE_CHUNK;
	}
	trace_rpcrdma_chunks(conn->id, be32_to_cpu(req->rqst.rq_xid), shape,
			     &why);
}

/* That is worked out for those who look. */
static inline void
rpcrdma_req_trace_plan(const struct rpcrdma_req *req,
		       const struct rpcrdma_conn *conn,
		       const struct rpcrdma_call_shape *shape)
{
	if (trace_rpcrdma_chunks_enabled())
		rpcrdma_req_trace_why(req, conn, shape);
}

/* What of the Call does not depend on how it travels. Nobody else has it. */
static void rpcrdma_req_init(struct rpcrdma_req *req)
{
	struct rpc_rqst *rqst = &req->rqst;

	rpcrdma_no_chunks(&req->chunks);
	req->flags = 0;
	req->status = 0;
	req->external = false;
	req->placed = 0;
	req->refused = 0;
	req->tm.msg.xid = be32_to_cpu(rqst->rq_xid);
	req->tm.msg.dir = RPCRDMA_CALL;
	req->tm.msg.call_only = !rpc_reply_expected(rqst->rq_task);
	req->tm.msg.sent = 0;
	req->tm.msg.types = 0;
	req->snd = rqst->rq_snd_buf;
	req->tm.xdr = &req->snd;
	req->tm.removed = &req->plan.removed;
	req->tm.done = rpcrdma_req_sent;
	req->tm.quiet = true;
	req->tm.direct = false;
	req->tm.posted = false;
	rqst->rq_xtime = ktime_get();
}

/* The rest of it: the plan, and the regions if it has any. */
static void rpcrdma_req_fill(struct rpcrdma_req *req)
{
	const struct rpcrdma_call_plan *plan = &req->plan;
	struct rpcrdma_txmsg *tm = &req->tm;

	tm->n_removed = plan->read_chunk || tm->group ? 1 : 0;
	tm->msg.length = plan->stream_length;
	tm->msg.external = plan->call_chunk;
	tm->msg.chunks = &req->chunks;
	tm->msg.inv_handle = 0;
	tm->chain = NULL;
	tm->chain_cost = 0;
	/* No region has a handle, then. */
	if (list_empty(&req->mrs))
		return;
	/* What is offered in a direction is in no chunk, and cannot be named. */
	if (tm->group)
		tm->msg.chunks = NULL;
	else
		tm->msg.inv_handle = rpcrdma_inv_handle(&req->chunks);
	tm->chain = rpcrdma_req_chain;
	tm->chain_cost = rpcrdma_req_regions(req);
}

/*
 * From now on messages from the peer with this XID are about this Call. Its Reply finds it
 * with certainty: what is posted was queued after this, under the connection's lock, which
 * the handler of the Reply has had. A message that comes before the Call is posted finds
 * either nothing or all of the Call.
 */
static void rpcrdma_req_outstanding(struct rpcrdma_req *req,
				    struct rpcrdma_conn *conn)
	__must_hold(&conn->lock)
{
	lockdep_assert_held(&conn->lock);
	/* Pairs with smp_load_acquire() in rpcrdma_reply_req(). */
	smp_store_release(&req->conn, rpcrdma_conn_get(conn));
}

/*
 * Decide how the Call travels, and queue it at once if that needs no regions. Return: 1 if it
 * has to be prepared; %-EAGAIN if it needs regions, and no Call may begin now: then it takes
 * none; otherwise as rpcrdma_conn_send_planned().
 */
static int rpcrdma_req_plan(struct rpcrdma_req *req, struct rpcrdma_conn *conn)
{
	struct rpcrdma_call_shape shape;
	int rc = 1;

	rpcrdma_req_shape(req, &shape);
	shape.round_trip = READ_ONCE(conn->round_trip);
	spin_lock(&conn->lock);
	shape.sends = rpcrdma_send_spare(conn);
	rpcrdma_plan_call(&conn->session, &shape, &req->plan);
	if (conn->rtr) {
		rpcrdma_req_plan_group(req, conn, &shape);
	} else {
		req->tm.group = NULL;
		req->offer = 0;
	}
	/* With an offer it is not yet decided. */
	if (!req->offer)
		rpcrdma_req_trace_plan(req, conn, &shape);
	if (!rpcrdma_req_has_chunks(req)) {
		rpcrdma_req_fill(req);
		rpcrdma_req_outstanding(req, conn);
		return rpcrdma_conn_send_planned(conn, &req->tm, true);
	}
	if (!rpcrdma_conn_admits(conn, NULL, be32_to_cpu(req->rqst.rq_xid)))
		rc = -EAGAIN;
	spin_unlock(&conn->lock);
	return rc;
}

/* Can it go by a group, with its Write chunk's memory in a direction? */
static noinline bool rpcrdma_req_offer(struct rpcrdma_req *req,
				       struct rpcrdma_conn *conn)
{
	struct rpcrdma_call_shape shape;
	bool planned;

	rpcrdma_req_shape(req, &shape);
	spin_lock(&conn->lock);
	planned = req->plan.write_chunk &&
		  rpcrdma_req_plan_offer(req, conn, &shape);
	rpcrdma_req_trace_plan(req, conn, &shape);
	spin_unlock(&conn->lock);
	return planned;
}

/*
 * Prepare the regions of the plan. If there are too few, a small Call goes without chunks,
 * and a large one waits. In version 1 a Call always waits for a region, or fails if there
 * will never be one. A Call by a group needs no Read chunk.
 */
static int rpcrdma_req_prepare(struct rpcrdma_req *req,
			       struct rpcrdma_conn *conn)
{
	const struct xdr_buf *snd = &req->rqst.rq_snd_buf;
	struct rpcrdma_call_plan *plan = &req->plan;
	int rc;

	/* Do not wait for more regions than there can ever be. */
	req->max_segs = min3(plan->max_segments, (u32)RPCRDMA_MAX_SEGMENTS,
			     conn->mr_table.capacity);

	rc = plan->write_chunk ? rpcrdma_req_write_chunk(req, conn) : 0;
	if (rpcrdma_req_without(req, conn, RPCRDMA_AVOID_WRITE_CHUNK,
				plan->result_waits, rc))
		plan->write_chunk = false;
	else if (rc)
		return rc;
	if (req->offer && rpcrdma_req_offer(req, conn))
		return 0;
	rc = plan->read_chunk ?
		rpcrdma_req_read_chunk(req, conn, snd->head[0].iov_len) : 0;
	if (rpcrdma_req_without(req, conn, RPCRDMA_AVOID_READ_CHUNK,
				plan->call_waits, rc)) {
		plan->read_chunk = false;
		plan->stream_length = snd->len;
		plan->removed.length = 0;
	} else if (rc) {
		return rc;
	}
	rc = plan->call_chunk ? rpcrdma_req_call_chunk(req, conn) : 0;
	if (rpcrdma_req_without(req, conn, RPCRDMA_AVOID_CALL_CHUNK,
				plan->call_waits, rc))
		plan->call_chunk = false;
	else if (rc)
		return rc;
	rc = plan->reply_chunk ? rpcrdma_req_reply_chunk(req, conn) : 0;
	if (rpcrdma_req_without(req, conn, RPCRDMA_AVOID_REPLY_CHUNK,
				plan->result_waits, rc))
		plan->reply_chunk = false;
	else if (rc)
		return rc;
	return 0;
}

/*
 * A message that was too long for its Receive has ended the connection. It may have been
 * this RPC's Reply: do not request it in the same way for ever.
 */
static void rpcrdma_req_too_long(struct rpcrdma_req *req,
				 struct rpcrdma_conn *conn)
{
	struct rpcrdma_xprt *r_xprt = rpcrdma_xprt(req->rqst.rq_xprt);
	bool posted;
	int rc;

	spin_lock(&conn->lock);
	posted = rpcrdma_conn_posted(&req->tm);
	spin_unlock(&conn->lock);
	if (!posted || req->failure)
		return;
	rc = rpcrdma_plan_too_long(&req->avoid);
	trace_rpcrdma_call(conn->id, be32_to_cpu(req->rqst.rq_xid),
			   "its Reply may have been too long", rc);
	if (!rc)
		return;
	req->failure = rc;
	spin_lock(&r_xprt->xprt.queue_lock);
	r_xprt->stats.bad_reply++;
	spin_unlock(&r_xprt->xprt.queue_lock);
}

/* After this the RPC takes no Reply. Called under the transport's queue_lock. */
static struct rpcrdma_conn *rpcrdma_req_take(struct rpcrdma_req *req)
{
	struct rpcrdma_conn *conn = req->conn;

	lockdep_assert_held(&req->rqst.rq_xprt->queue_lock);
	req->conn = NULL;
	return conn;
}

static void rpcrdma_req_end(struct rpcrdma_req *req, struct rpcrdma_conn *conn,
			    bool sent)
{
	if (!conn)
		return;
	if (sent)
		rpcrdma_conn_wait_sent(conn, &req->tm);
	rpcrdma_conn_cancel(conn, &req->tm);
	rpcrdma_conn_end_call(conn, &req->tm);
	rpcrdma_frwr_invalidate_wait(conn, &req->mrs);
	rpcrdma_conn_put(conn);
}

/**
 * rpcrdma_req_release - end all that is queued, posted or registered for an RPC
 * @req: the RPC, which takes no Reply any more
 * @sent: wait until the Call is sent instead of taking it back
 *
 * Context: Process context. May sleep.
 */
void rpcrdma_req_release(struct rpcrdma_req *req, bool sent)
{
	struct rpc_xprt *xprt = req->rqst.rq_xprt;
	struct rpcrdma_conn *conn;

	spin_lock(&xprt->queue_lock);
	conn = rpcrdma_req_take(req);
	spin_unlock(&xprt->queue_lock);
	rpcrdma_req_end(req, conn, sent);
}

/*
 * The same for an RPC whose Reply may be coming in. A thread that finds the RPC on the
 * connection pins it. When nobody has it pinned, it is taken off the connection before the
 * lock is released. Do not call this while sending: then sunrpc itself has it pinned. If
 * the answer is @late, the connection ends; but if the peer has seen nothing of the Call, it
 * is not late.
 */
static void rpcrdma_req_recall(struct rpcrdma_req *req, bool late)
{
	struct rpc_rqst *rqst = &req->rqst;
	unsigned long *state = &rqst->rq_task->tk_runstate;
	struct rpc_xprt *xprt = rqst->rq_xprt;
	struct rpcrdma_conn *conn;

	spin_lock(&xprt->queue_lock);
	while (atomic_read(&rqst->rq_pin)) {
		/* Without this bit xprt_unpin_rqst() wakes nobody. */
		set_bit(RPC_TASK_MSG_PIN_WAIT, state);
		spin_unlock(&xprt->queue_lock);
		wait_var_event(&rqst->rq_pin, !atomic_read(&rqst->rq_pin));
		spin_lock(&xprt->queue_lock);
		clear_bit(RPC_TASK_MSG_PIN_WAIT, state);
	}
	conn = rpcrdma_req_take(req);
	spin_unlock(&xprt->queue_lock);
	if (!conn)
		return;
	if (test_bit(RPCRDMA_CONN_TOO_LONG, &conn->flags))
		rpcrdma_req_too_long(req, conn);
	/* Another connection that has already replaced this one stays. */
	if (!rpcrdma_conn_cancel(conn, &req->tm) && late &&
	    rpcrdma_client_give_up(rpcrdma_xprt(xprt), rqst->rq_connect_cookie)) {
		trace_rpcrdma_call(conn->id, be32_to_cpu(rqst->rq_xid),
				   "not answered in time", -ETIMEDOUT);
		rpcrdma_conn_ending(conn);
		rpcrdma_conn_lost(conn, "Call not answered");
	}
	rpcrdma_req_end(req, conn, false);
}

/*
 * An RC connection has no keep-alive of its own: if no answer comes in time, end it. The
 * time of a soft RPC may be over although its Call has been out for a moment only; then the
 * RPC fails, and the connection stays.
 */
static bool rpcrdma_req_late(const struct rpc_rqst *rqst)
{
	return ktime_ms_delta(ktime_get(), rqst->rq_xtime) >=
	       jiffies_to_msecs(rqst->rq_timeout / 2);
}

static bool rpcrdma_req_answered(struct rpc_rqst *rqst)
{
	/* Pairs with the barrier in xprt_complete_rqst(). */
	return smp_load_acquire(&rqst->rq_reply_bytes_recvd);
}

/* The task has slept until another event than the Reply. */
static noinline void rpcrdma_req_unanswered(struct rpc_task *task)
{
	struct rpc_rqst *rqst = task->tk_rqstp;
	struct rpcrdma_req *req = rpcrdma_req(rqst);
	bool late;

	late = task->tk_status == -ETIMEDOUT && !READ_ONCE(req->failure) &&
	       rpcrdma_req_late(rqst);
	rpcrdma_req_recall(req, late);
	if (rpcrdma_req_answered(rqst)) {
		task->tk_status = 0;
		return;
	}

	/*
	 * Nothing will come any more. Otherwise sunrpc thinks that a Call on a live connection
	 * is sent. It may have got a Reply, too, and not taken it for one: its verifier is wrong.
	 */
	rqst->rq_connect_cookie =
		READ_ONCE(rqst->rq_xprt->connect_cookie) - 1;
	if (req->failure == RPCRDMA_REQ_AGAIN)
		task->tk_status = -EAGAIN;
	else if (req->failure)
		task->tk_status = req->failure;
	req->failure = 0;
}

/*
 * The task has slept until the Reply came, or until another event. After another event
 * sunrpc may next encode the Call again, or give up.
 */
static void rpcrdma_req_woken(struct rpc_task *task)
{
	if (likely(rpcrdma_req_answered(task->tk_rqstp)))
		task->tk_status = 0;
	else
		rpcrdma_req_unanswered(task);
}

/* If @task has the write lock, the next task gets it. */
static void rpcrdma_give_lock(struct rpc_xprt *xprt, struct rpc_task *task)
{
	if (likely(READ_ONCE(xprt->snd_task) != task))
		return;
	spin_lock(&xprt->transport_lock);
	rpcrdma_release_xprt(xprt, task);
	spin_unlock(&xprt->transport_lock);
}

/**
 * rpcrdma_wait_for_reply - put the task of an RPC to sleep
 * @task: the task
 *
 * Context: the caller holds the transport's queue_lock.
 */
void rpcrdma_wait_for_reply(struct rpc_task *task)
{
	struct rpc_rqst *rqst = task->tk_rqstp;
	struct rpc_xprt *xprt = rqst->rq_xprt;

	/*
	 * sunrpc may have passed the lock to a task whose Call another task has sent.
	 * The task must not sleep with the lock: its Reply may need the lock.
	 */
	rpcrdma_give_lock(xprt, task);
	rpc_sleep_on_timeout(&xprt->pending, task, rpcrdma_req_woken,
			     rpcrdma_reply_timeout(rqst));
	/* The RPC failed before the task could sleep. */
	if (rpcrdma_req(rqst)->failure)
		rpc_wake_up_queued_task(&xprt->pending, task);
}

/*
 * A Reply to a callback. It comes first in sunrpc's queue, because rpcrdma_bc_call_get()
 * has set rq_cong.
 */
static bool rpcrdma_task_replies(const struct rpc_task *task)
{
	return !task->tk_client;
}

/*
 * Another task may have sent the Call, and this one been given the lock after that. If it is
 * killed now sunrpc waits until nobody has its Reply, and keeps the lock meanwhile. Who has the
 * Reply may wait for the connection to be closed, and for that the lock is needed.
 */
static void rpcrdma_reserve_woken(struct rpc_task *task)
{
	struct rpc_xprt *xprt = task->tk_rqstp->rq_xprt;

	if (task->tk_status == -ETIMEDOUT)
		task->tk_status = -EAGAIN;
	if (!test_bit(RPC_TASK_NEED_XMIT, &task->tk_runstate))
		rpcrdma_give_lock(xprt, task);
}

/**
 * rpcrdma_reserve_xprt - get the transport's write lock, or wait for it
 * @xprt: the transport
 * @task: the task
 *
 * Some tasks do not wait for ever. If the task's status says that its time has passed,
 * sunrpc encodes the Call again even if another task has just sent it. So the status says
 * "try again": then sunrpc only checks whether the RPC must end. This does not apply to
 * the Reply to a callback: it is not encoded again, and sunrpc would try again at once.
 *
 * While a Call waits for room, sunrpc gives nobody the lock. A Reply does not wait for
 * this: the peer may need it before it makes room.
 *
 * Context: the task itself; the caller holds the transport_lock.
 *
 * Return: 1 if the task has the lock, 0 if it was put to sleep
 */
int rpcrdma_reserve_xprt(struct rpc_xprt *xprt, struct rpc_task *task)
{
	const bool replies = rpcrdma_task_replies(task);

	lockdep_assert_held(&xprt->transport_lock);
	if (replies && xprt_connected(xprt))
		clear_bit(XPRT_WRITE_SPACE, &xprt->state);
	if (xprt_reserve_xprt(xprt, task))
		return 1;
	if (replies)
		rpcrdma_xprt(xprt)->reply_waits = true;
	else
		/* The task, even if woken, does not run before this function returns. */
		task->tk_callback = rpcrdma_reserve_woken;
	return 0;
}

static void rpcrdma_req_count(const struct rpcrdma_req *req,
			      struct rpcrdma_conn *conn)
{
	spin_lock(&conn->lock);
	if (req->plan.read_chunk) {
		conn->stats.read_chunks++;
		conn->stats.read_chunk_bytes += req->rqst.rq_snd_buf.page_len;
	}
	if (req->plan.call_chunk) {
		conn->stats.call_chunks++;
		conn->stats.call_chunk_bytes += req->plan.stream_length;
	}
	spin_unlock(&conn->lock);
}

/**
 * rpcrdma_release_xprt - give the transport's write lock to the next task
 * @xprt: the transport
 * @task: the task that has the lock; another one changes nothing
 *
 * A Reply may have come while @task had the lock, after a Call of @task found no room.
 *
 * Context: the caller holds the transport_lock.
 */
void rpcrdma_release_xprt(struct rpc_xprt *xprt, struct rpc_task *task)
{
	struct rpcrdma_xprt *r_xprt = rpcrdma_xprt(xprt);

	lockdep_assert_held(&xprt->transport_lock);
	if (xprt->snd_task == task && r_xprt->reply_waits) {
		r_xprt->reply_waits = false;
		if (xprt_connected(xprt))
			clear_bit(XPRT_WRITE_SPACE, &xprt->state);
	}
	xprt_release_xprt(xprt, task);
}

/* What a Call that is on the send queue consists of. */
static void rpcrdma_req_statistics(const struct rpcrdma_req *req,
				   struct rpcrdma_xprt *r_xprt,
				   struct rpcrdma_conn *conn)
{
	const struct rpcrdma_chunks *c = &req->chunks;
	u32 i;

	if (!req->plan.call_chunk)
		r_xprt->stats.pulled_up_bytes += req->tm.msg.length +
			(req->tm.group ? req->plan.removed.length : 0);
	/* Its regions may be gone: the Reply may have come. The plan stays. */
	if (!rpcrdma_req_has_chunks(req))
		return;
	for (i = 0; i < c->n_write_segs; i++)
		r_xprt->stats.offered_bytes += c->write_segs[i].length;
	r_xprt->stats.read_segments += c->n_reads;
	if (c->n_writes)
		r_xprt->stats.write_segments += c->writes[0].count;
	if (c->has_reply)
		r_xprt->stats.reply_segments += c->reply.count;
	r_xprt->stats.call_chunks += req->plan.call_chunk;
	if (req->plan.read_chunk || req->plan.call_chunk)
		rpcrdma_req_count(req, conn);
}

/* Nothing of the Call is on the send queue: give back what it has. */
static void rpcrdma_req_put_back(struct rpcrdma_req *req)
{
	struct rpc_xprt *xprt = req->rqst.rq_xprt;
	struct rpcrdma_conn *conn;

	spin_lock(&xprt->queue_lock);
	conn = rpcrdma_req_take(req);
	spin_unlock(&xprt->queue_lock);
	if (!conn)
		return;
	rpcrdma_frwr_undo(conn, &req->mrs);
	rpcrdma_conn_put(conn);
}

/* The Call has its regions. Return: as rpcrdma_conn_send_planned(). */
static int rpcrdma_req_begin(struct rpcrdma_req *req, struct rpcrdma_conn *conn)
{
	rpcrdma_req_fill(req);
	req->rqst.rq_xtime = ktime_get();
	spin_lock(&conn->lock);
	rpcrdma_req_outstanding(req, conn);
	return rpcrdma_conn_send_planned(conn, &req->tm, true);
}

/**
 * rpcrdma_send_request - send a Call, or the Reply to a callback
 * @rqst: the RPC
 *
 * Context: the caller holds the transport's write lock.
 *
 * Return:
 *	%0 the message is on the send queue, and has the credits and the room that it needs
 *	%-ENOTCONN connect, then send again
 *	%-EAGAIN no credit, no room or no region now, send again after xprt_write_space()
 *	%-ENOBUFS no memory now, send again after a delay
 *	%-EIO this message cannot be sent
 */
int rpcrdma_send_request(struct rpc_rqst *rqst)
{
	struct rpcrdma_xprt *r_xprt = rpcrdma_xprt(rqst->rq_xprt);
	struct rpcrdma_conn *conn = r_xprt->conn;
	struct rpcrdma_req *req;
	int rc;

	if (!rqst->rq_buffer)
		return rpcrdma_bc_send_reply(rqst);
	if (!xprt_connected(&r_xprt->xprt) || !conn)
		return -ENOTCONN;

	req = rpcrdma_req(rqst);
	rpcrdma_req_release(req, false);
	req->failure = 0;

	/* Also if it has to wait: a peer that never lets it begin has to be asked. */
	rpcrdma_keepalive_note(r_xprt, rqst->rq_task->tk_client);
	rc = rpcrdma_fill_sparse(&rqst->rq_rcv_buf);
	if (rc)
		goto out_unmap;
	rpcrdma_req_init(req);
	rc = rpcrdma_req_plan(req, conn);
	if (rc > 0) {
		rc = rpcrdma_req_prepare(req, conn);
		if (rc)
			goto out_unmap;
		rc = rpcrdma_req_begin(req, conn);
	}
	switch (rc) {
	case 0:
		break;
	case -EAGAIN:
		rpcrdma_req_put_back(req);
		return rc;
	default:
		rpcrdma_req_release(req, false);
		return rc == -ENOTCONN ? rc : -EIO;
	}

	/* The caller has it pinned, so it stays although it may have been answered. */
	rpcrdma_req_statistics(req, r_xprt, conn);
	rqst->rq_xmit_bytes_sent += rqst->rq_snd_buf.len;
	return 0;

out_unmap:
	rpcrdma_frwr_undo(conn, &req->mrs);
	if (rc == -EAGAIN) {
		trace_rpcrdma_wait(conn->id, be32_to_cpu(rqst->rq_xid),
				   "region");
		xprt_wait_for_buffer_space(&r_xprt->xprt);
		/* A region may have come back before the task waited. */
		if (!rpcrdma_frwr_short(conn))
			xprt_write_space(&r_xprt->xprt);
		return rc;
	}
	trace_rpcrdma_call(conn->id, be32_to_cpu(rqst->rq_xid),
			   "cannot be sent", rc);
	/* sunrpc tries again after ENOBUFS. */
	if (rc != -ENOBUFS)
		r_xprt->stats.failed_marshal++;
	return rc == -EMSGSIZE ? -EIO : rc;
}
