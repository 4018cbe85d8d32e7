// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * From nfsd's results to Replies.
 *
 * A Reply takes over the pages of its results, so that the nfsd thread is free
 * at once: it waits neither for credits nor for RDMA Writes. Results that the
 * client wants in Write chunks are written by Work Requests in front of the
 * first Send, in the same chain. Other results go in Sends, from the pages where they are
 * if they are not small. The connection reports when the last Send has
 * been posted or, with RDMA Writes or Sends from pages, has completed. Then the pages are
 * freed.
 *
 * Bounds. If a client returns no credits, Replies pile up. When there are
 * RPCRDMA_SVC_REPLIES of them, or RPCRDMA_SVC_REPLY_MEMORY bytes, or there are some and the
 * account has more than the module's budget had for it, no nfsd
 * thread takes another Call of this connection. After that each thread at work
 * adds at most one Reply.
 */
#include <linux/mm.h>
#include <linux/nfs4.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sunrpc/svcauth.h>

#include <trace/events/rpcrdma_v2.h>

#include "server.h"

/**
 * struct rpcrdma_svc_reply - a Reply to be sent
 * @tm: the message
 * @svc: the connection
 * @xdr: its bytes, in @pages
 * @plan: how it travels
 * @rw: RDMA Writes, or NULL
 * @memory: bytes accounted for it
 * @n_pages: length of @pages
 * @pages: the pages that hold @xdr
 */
struct rpcrdma_svc_reply {
	struct rpcrdma_txmsg tm;
	struct rpcrdma_svc *svc;
	struct xdr_buf xdr;
	struct rpcrdma_reply_plan plan;
	struct rpcrdma_svc_rw *rw;
	u32 memory;
	u32 n_pages;
	struct page *pages[];
};

static bool rpcrdma_svc_replies_full(const struct rpcrdma_svc *svc)
{
	if (READ_ONCE(svc->replies) >= RPCRDMA_SVC_REPLIES)
		return true;
	/* Without the lock in has_wspace: see there. */
	return data_race(rpcrdma_account_replies_full(&svc->account));
}

/**
 * rpcrdma_svc_has_wspace - may a thread take a Call?
 * @xprt: the connection
 *
 * Return: 0 while too many Replies wait.
 */
int rpcrdma_svc_has_wspace(struct svc_xprt *xprt)
{
	/*
	 * The caller has set or cleared a bit in xpt_flags before. Pairs with
	 * the barrier in rpcrdma_svc_reply_free(): if this function finds no room,
	 * that one sees the new bits, and enqueues.
	 */
	smp_mb();
	return !rpcrdma_svc_replies_full(rpcrdma_svc_of(xprt));
}

static void rpcrdma_svc_reply_free(struct rpcrdma_svc_reply *reply)
{
	struct rpcrdma_svc *svc = reply->svc;
	bool full;

	if (reply->rw)
		rpcrdma_svc_rw_free(reply->rw);

	spin_lock(&svc->lock);
	full = rpcrdma_svc_replies_full(svc);
	WRITE_ONCE(svc->replies, svc->replies - 1);
	rpcrdma_memory_put(&svc->account, RPCRDMA_BUDGET_REPLIES, reply->memory);
	full = full && !rpcrdma_svc_replies_full(svc);
	spin_unlock(&svc->lock);

	release_pages(reply->pages, reply->n_pages);
	kfree(reply);
	if (full) {
		/* Pairs with the one in rpcrdma_svc_has_wspace(). */
		smp_mb();
		svc_xprt_enqueue(&svc->xprt);
	}
	rpcrdma_svc_freed(svc);
}

/* No connection could carry this Reply: the client must not send the Call again. */
static void rpcrdma_svc_reply_refuse(struct rpcrdma_svc *svc, u32 xid,
				     int status)
{
	trace_rpcrdma_call(svc->conn->id, xid, "Reply not possible", status);
	rpcrdma_conn_refuse(svc->conn, xid, RPCRDMA2_ERR_SYSTEM, 0, 0);
}

static void rpcrdma_svc_reply_done(struct rpcrdma_txmsg *tm, int status)
{
	struct rpcrdma_svc_reply *reply = container_of(tm,
						struct rpcrdma_svc_reply, tm);
	struct rpcrdma_svc *svc = reply->svc;

	if (status == -EMSGSIZE && !test_bit(RPCRDMA_CONN_LOST,
					     &svc->conn->flags))
		rpcrdma_svc_reply_refuse(svc, tm->msg.xid, status);
	else if (status)
		/* The client must send the Call again. */
		rpcrdma_conn_lost(svc->conn, "Reply not sent");
	rpcrdma_svc_reply_free(reply);
}

/*
 * The index in rq_respages of the first page of results. READLINK of NFSv2 has only one
 * page, the one that was taken last, and stores it in another place.
 */
static int rpcrdma_svc_first_page(const struct svc_rqst *rqstp)
{
	struct page **pages = rqstp->rq_res.pages;
	int taken = rqstp->rq_next_page - rqstp->rq_respages;

	if (pages >= rqstp->rq_respages && pages < rqstp->rq_page_end)
		return pages - rqstp->rq_respages;
	if (taken && rqstp->rq_next_page[-1] == *pages)
		return taken - 1;
	return -EINVAL;
}

/* Move the pages of the results from @rqstp to the Reply. */
static struct rpcrdma_svc_reply *rpcrdma_svc_reply_alloc(struct svc_rqst *rqstp)
{
	const struct xdr_buf *res = &rqstp->rq_res;
	u32 count = rqstp->rq_next_page - rqstp->rq_respages;
	struct rpcrdma_svc *svc = rpcrdma_svc_of(rqstp->rq_xprt);
	struct rpcrdma_svc_reply *reply;
	int first = 0;

	/* RPCSEC_GSS adds to the results and does not advance rq_next_page. */
	if (res->page_len) {
		first = rpcrdma_svc_first_page(rqstp);
		if (WARN_ON_ONCE(first < 0))
			return NULL;
		count = max_t(u32, count, first +
			      DIV_ROUND_UP(res->page_base + res->page_len,
					   PAGE_SIZE));
	}
	reply = kmalloc(struct_size(reply, pages, count), GFP_KERNEL);
	if (!reply)
		return NULL;
	memset(&reply->tm, 0, sizeof(reply->tm));
	INIT_LIST_HEAD(&reply->tm.link);
	reply->svc = svc;
	reply->rw = NULL;
	reply->xdr = rqstp->rq_res;
	if (reply->xdr.page_len)
		reply->xdr.pages = &reply->pages[first];

	reply->n_pages = count;
	memcpy(reply->pages, rqstp->rq_respages,
	       count * sizeof(*reply->pages));
	memset(rqstp->rq_respages, 0, count * sizeof(*reply->pages));
	rpcrdma_compat_reply_taken(rqstp, count);

	reply->memory = (count << PAGE_SHIFT) + struct_size(reply, pages, count);
	spin_lock(&svc->lock);
	WRITE_ONCE(svc->replies, svc->replies + 1);
	rpcrdma_memory_take(&svc->account, RPCRDMA_BUDGET_REPLIES,
			    reply->memory);
	spin_unlock(&svc->lock);
	return reply;
}

/* Integrity and privacy protect the results inside the message (D9). */
static bool rpcrdma_svc_reducible(const struct svc_rqst *rqstp)
{
	u32 flavor = rqstp->rq_cred.cr_flavor;

	return flavor < RPC_AUTH_GSS || flavor == RPC_AUTH_TLS ||
	       flavor == RPC_AUTH_GSS_KRB5;
}

static bool rpcrdma_svc_word_is(const struct xdr_buf *xdr, u32 offset,
				u32 value)
{
	__be32 word;

	return !read_bytes_from_xdr_buf(xdr, offset, &word, sizeof(word)) &&
	       word == cpu_to_be32(value);
}

/* The result of an operation of NFSv4 that begins at @offset. */
static bool rpcrdma_svc_op_is(const struct svc_rqst *rqstp,
			      const struct xdr_buf *xdr, u32 offset, u32 op)
{
	return rqstp->rq_vers < 4 || (rpcrdma_svc_word_is(xdr, offset, op) &&
				      rpcrdma_svc_word_is(xdr, offset + XDR_UNIT,
							  NFS4_OK));
}

/*
 * A result is the content of a variable-length opaque, so its length is the
 * word before it. nfsd's READLINK of NFSv4 reports the offset of that word
 * instead of the next one; this function corrects it. READ_PLUS reports
 * data that is not DDP-eligible; it is skipped. Any other result stays in the
 * Payload stream, with all later ones.
 */
static u32 rpcrdma_svc_results(const struct svc_rqst *rqstp,
			       struct rpcrdma_svc_call *call,
			       const struct xdr_buf *xdr)
{
	struct rpcrdma_range *r;
	u32 i, n = 0;

	if (!call->chunks.n_writes || !rpcrdma_svc_reducible(rqstp))
		return 0;
	for (i = 0; i < call->n_results; i++) {
		r = &call->results[i];
		if (r->offset >= 4 * XDR_UNIT &&
		    rpcrdma_svc_word_is(xdr, r->offset - XDR_UNIT, r->length)) {
			/* operation, status, end of file, length */
			if (rpcrdma_svc_op_is(rqstp, xdr,
					      r->offset - 4 * XDR_UNIT,
					      OP_READ))
				call->results[n++] = *r;
			continue;
		}
		/* operation, status, length */
		if (r->offset < 2 * XDR_UNIT ||
		    !rpcrdma_svc_word_is(xdr, r->offset, r->length) ||
		    !rpcrdma_svc_op_is(rqstp, xdr, r->offset - 2 * XDR_UNIT,
				       OP_READLINK))
			break;
		call->results[n] = *r;
		call->results[n++].offset += XDR_UNIT;
	}
	return n;
}

static void rpcrdma_svc_reply_plan(const struct svc_rqst *rqstp,
				   struct rpcrdma_svc_call *call,
				   struct rpcrdma_svc_reply *reply)
{
	u32 n_results = rpcrdma_svc_results(rqstp, call, &reply->xdr);
	struct rpcrdma_conn *conn = reply->svc->conn;

	spin_lock(&conn->lock);
	rpcrdma_plan_reply(&conn->session, &call->chunks, reply->xdr.len,
			   call->results, n_results, &reply->plan);
	spin_unlock(&conn->lock);
}

static u32 rpcrdma_svc_reply_octets(const struct rpcrdma_reply_plan *plan)
{
	u32 i, octets = 0;

	for (i = 0; i < plan->n_jobs; i++)
		octets += plan->jobs[i].source.length;
	return octets;
}

static int rpcrdma_svc_reply_writes(struct rpcrdma_svc_reply *reply, u64 call)
{
	const struct rpcrdma_reply_plan *plan = &reply->plan;
	const struct rpcrdma_write_job *job;
	int rc;
	u32 i;

	/* The end of the head, and the end of the pages, can be inside a Write. */
	reply->rw = rpcrdma_svc_rw_alloc(reply->svc->conn, call, DMA_TO_DEVICE,
					 plan->n_jobs + 2,
					 rpcrdma_svc_reply_octets(plan));
	if (!reply->rw)
		return -ENOMEM;
	for (i = 0; i < plan->n_jobs; i++) {
		job = &plan->jobs[i];
		rc = rpcrdma_svc_rw_xdr(reply->rw, &reply->xdr, &job->source,
					job->target.handle, job->target.offset);
		if (rc)
			return rc;
	}
	return 0;
}

/* Count the chunks of a Reply that is being sent. */
static void rpcrdma_svc_reply_count(const struct rpcrdma_svc_reply *reply)
{
	const struct rpcrdma_reply_plan *plan = &reply->plan;
	struct rpcrdma_conn *conn = reply->svc->conn;
	u32 octets = rpcrdma_svc_reply_octets(plan);

	spin_lock(&conn->lock);
	if (plan->external) {
		conn->stats.reply_chunks++;
		conn->stats.reply_chunk_bytes += plan->stream_length;
		octets -= plan->stream_length;
	}
	conn->stats.rdma_writes += plan->n_jobs;
	conn->stats.write_chunks += plan->n_removed;
	conn->stats.write_chunk_bytes += octets;
	spin_unlock(&conn->lock);
}

static struct ib_send_wr *rpcrdma_svc_reply_chain(struct rpcrdma_txmsg *tm,
						  struct ib_send_wr *next)
{
	struct rpcrdma_svc_reply *reply = container_of(tm,
						struct rpcrdma_svc_reply, tm);

	rpcrdma_svc_reply_count(reply);
	return rpcrdma_svc_rw_chain(reply->rw, NULL, next);
}

static int rpcrdma_svc_reply_send(struct rpcrdma_svc_reply *reply,
				  const struct rpcrdma_svc_call *call)
{
	const struct rpcrdma_reply_plan *plan = &reply->plan;
	const struct rpcrdma_svc *svc = reply->svc;
	struct rpcrdma_txmsg *tm = &reply->tm;
	int rc;

	if (plan->n_jobs) {
		rc = rpcrdma_svc_reply_writes(reply, call->id);
		if (rc)
			return rc;
		tm->chain = rpcrdma_svc_reply_chain;
		tm->chain_cost = reply->rw->cost;
		tm->hold = true;
	}
	/* Its pages wait for the adapter then, which all others need not. */
	if (!plan->n_jobs && svc->conn->gather_sge > 1 &&
	    plan->stream_length >= RPCRDMA_SVC_GATHER)
		tm->gather = RPCRDMA_SVC_GATHER;
	tm->call = call->id;
	tm->msg.xid = call->xid;
	tm->msg.dir = RPCRDMA_REPLY;
	tm->msg.length = plan->stream_length;
	tm->msg.external = plan->external;
	if (plan->chunks.n_writes || plan->chunks.has_reply)
		tm->msg.chunks = &plan->chunks;
	tm->xdr = &reply->xdr;
	tm->removed = plan->removed;
	tm->n_removed = plan->n_removed;
	tm->invalidate = reply->svc->remote_inv ? call->inv_handle : 0;
	tm->done = rpcrdma_svc_reply_done;
	return rpcrdma_conn_send(reply->svc->conn, tm);
}

static int rpcrdma_svc_reply(struct rpcrdma_svc *svc, struct svc_rqst *rqstp)
{
	struct rpcrdma_svc_call *call = rqstp->rq_xprt_ctxt;
	struct rpcrdma_svc_reply *reply;
	const struct rpcrdma_reply_plan *plan;
	int rc = -ENOTCONN;

	if (svc_xprt_is_dead(&svc->xprt) || !call)
		goto out_lost;
	reply = rpcrdma_svc_reply_alloc(rqstp);
	if (!reply) {
		rc = -ENOMEM;
		goto out_lost;
	}

	rpcrdma_svc_reply_plan(rqstp, call, reply);
	plan = &reply->plan;
	if (plan->errcode) {
		rpcrdma_conn_refuse(svc->conn, call->xid, plan->errcode,
				    plan->index, plan->needed);
		rpcrdma_svc_reply_free(reply);
		return 0;
	}

	rc = rpcrdma_svc_reply_send(reply, call);
	if (!rc)
		return 0;
	rpcrdma_svc_reply_free(reply);
	switch (rc) {
	case -ENOMEM:
	case -EAGAIN:	/* the device has no memory region free */
	case -ENOTCONN:
		break;
	default:
		rpcrdma_svc_reply_refuse(svc, call->xid, rc);
		return 0;
	}

out_lost:
	rpcrdma_conn_lost(svc->conn, rc == -ENOTCONN ? "no way for a Reply" :
			  "no memory for a Reply");
	return rc;
}

/**
 * rpcrdma_svc_sendto - nfsd has the results of a Call
 * @rqstp: the Call and its results
 *
 * Context: Process context. May sleep, but does not wait for the client.
 *
 * If a Reply can never be sent, the client gets an error. If it cannot be sent now, the
 * connection ends, so the client sends the Call again.
 *
 * Return: 0, or a negative errno; the connection is lost then.
 */
int rpcrdma_svc_sendto(struct svc_rqst *rqstp)
{
	struct rpcrdma_svc *svc = rpcrdma_svc_of(rqstp->rq_xprt);
	unsigned int nofs;
	int rc;

	if (!rpcrdma_svc_enter(svc))
		return -ENOTCONN;
	nofs = memalloc_nofs_save();
	rc = rpcrdma_svc_reply(svc, rqstp);
	memalloc_nofs_restore(nofs);
	rpcrdma_svc_leave(svc);
	return rc;
}

/**
 * rpcrdma_svc_result_payload - nfsd has encoded a DDP-eligible result
 * @rqstp: the Call
 * @offset: where it is in the Reply
 * @length: bytes without XDR padding
 *
 * Results come in the order of the Reply. If the offset does not grow, nfsd encodes
 * the Reply again, after a deferral.
 *
 * Return: 0.
 */
int rpcrdma_svc_result_payload(struct svc_rqst *rqstp, unsigned int offset,
			       unsigned int length)
{
	struct rpcrdma_svc_call *call = rqstp->rq_xprt_ctxt;
	struct rpcrdma_range *r;

	if (!call)
		return 0;
	if (call->n_results && offset <= call->results[call->n_results - 1].offset)
		call->n_results = 0;
	/* Further ones stay in the Payload stream. */
	if (call->n_results == RPCRDMA_MAX_CHUNKS)
		return 0;
	r = &call->results[call->n_results++];
	r->offset = offset;
	r->length = length;
	return 0;
}
