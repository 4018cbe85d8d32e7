// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * From nfsd's results to Replies.
 *
 * A Reply takes over the pages of its results, so that the nfsd thread is free
 * at once: it waits neither for credits nor for RDMA Writes. Results that the
 * client wants in Write chunks are written by Work Requests in front of the
 * first Send, in the same chain. Other results go in Sends, from the pages where they are
 * if they are not small. With rtrext the Sends place results in pages of the client, if its
 * Call says so. The connection reports when the last Send has
 * been posted or, with RDMA Writes or Sends from pages, has completed. Then the pages are
 * freed.
 *
 * Bounds. If a client returns no credits, Replies pile up. When there are
 * RPCRDMA_SVC_REPLIES of them, or RPCRDMA_SVC_REPLY_MEMORY bytes, or there are some and the
 * account has more than the module's budget had for it, no nfsd
 * thread takes another Call of this connection. RPCRDMA_SVC_REPLY_POOL bytes more are not in
 * the account: they were held when the connection was made, and counting them needs no lock.
 * No Call waits for these. After that each thread at work
 * adds at most one Reply. A Reply that went by a group of rtrext is kept when it is out, as
 * the client may refuse it: a few of them, for a few seconds, and none when there are too many
 * Replies.
 *
 * If RDMA Writes take memory regions, and too few are free, the Reply waits until operations
 * under way have given some back. Those that wait go one after the other, before any later one
 * that needs regions. If nothing is under way and there are still too few, it cannot be sent. If
 * there is no memory for what describes RDMA Writes, the Reply waits likewise, for some seconds.
 *
 * To free a large Reply takes longer than to look at many completions: a work item does that.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include <trace/events/rpcrdma_v2.h>

#include "reply.h"

/* Pages of a Reply that are freed at once, wherever it ends. */
#define RPCRDMA_SVC_FEW_PAGES	32U

static const struct rpcrdma_replies_limits rpcrdma_svc_replies_limits = {
	.number = RPCRDMA_SVC_REPLIES,
	.pool = RPCRDMA_SVC_REPLY_POOL,
};

/**
 * rpcrdma_svc_replies_full - are there too many Replies for one more Call?
 * @svc: the connection
 *
 * Context: any. Under the lock of @svc the account does not change; the number of Replies may.
 */
bool rpcrdma_svc_replies_full(const struct rpcrdma_svc_xprt *svc)
{
	const struct rpcrdma_replies replies = rpcrdma_svc_replies(svc);

	/* Without the lock in has_wspace: see there. */
	return data_race(rpcrdma_replies_full(&replies,
					      &rpcrdma_svc_replies_limits,
					      &svc->account));
}

/**
 * rpcrdma_svc_has_wspace - may a thread take a Call?
 * @xprt: the connection
 *
 * Context: takes the lock of the connection.
 *
 * Return: 0 while too many Replies wait.
 */
int rpcrdma_svc_has_wspace(struct svc_xprt *xprt)
{
	struct rpcrdma_svc_xprt *svc = rpcrdma_svc_of(xprt);
	bool full;

	/*
	 * The caller has set or cleared a bit in xpt_flags before. Pairs with
	 * the barrier in rpcrdma_svc_eased(), which follows the change of the account or
	 * of the number of Replies: if this function finds no room, that one sees the new
	 * bits, and enqueues.
	 */
	smp_mb();
	if (!rpcrdma_svc_replies_full(svc))
		return true;
	/*
	 * What has been read of the account may be of two moments. If it never was full,
	 * nobody says that it is not any more.
	 */
	spin_lock(&svc->lock);
	full = rpcrdma_svc_replies_full(svc);
	spin_unlock(&svc->lock);
	return !full;
}

/**
 * rpcrdma_svc_reply_take - there is one Reply more
 * @svc: the connection
 * @octets: its memory
 *
 * Context: Process context, no lock held. Does not sleep.
 *
 * Return: true if it is in the pool of small Replies, false if it is in the account.
 */
bool rpcrdma_svc_reply_take(struct rpcrdma_svc_xprt *svc, u32 octets)
{
	union rpcrdma_svc_replies next, now = {
		.word = atomic64_read(&svc->replies),
	};
	bool pooled;

	do {
		next = now;
		pooled = rpcrdma_replies_take(&next.are,
					      &rpcrdma_svc_replies_limits,
					      octets);
	} while (!atomic64_try_cmpxchg(&svc->replies, &now.word, next.word));
	if (pooled)
		return true;
	spin_lock(&svc->lock);
	rpcrdma_memory_take(&svc->account, RPCRDMA_BUDGET_REPLIES, octets);
	spin_unlock(&svc->lock);
	return false;
}

/**
 * rpcrdma_svc_reply_put - the opposite
 * @svc: the connection
 * @octets: as before
 * @pooled: what rpcrdma_svc_reply_take() has returned
 *
 * Context: as there.
 *
 * Return: true if rpcrdma_svc_eased() has to follow.
 */
bool rpcrdma_svc_reply_put(struct rpcrdma_svc_xprt *svc, u32 octets,
			   bool pooled)
{
	union rpcrdma_svc_replies next, now;
	bool eased = false, few;

	if (!pooled) {
		spin_lock(&svc->lock);
		eased = rpcrdma_memory_put(&svc->account,
					   RPCRDMA_BUDGET_REPLIES, octets);
		spin_unlock(&svc->lock);
	}
	now.word = atomic64_read(&svc->replies);
	do {
		next = now;
		few = rpcrdma_replies_put(&next.are,
					  &rpcrdma_svc_replies_limits, octets,
					  pooled);
	} while (!atomic64_try_cmpxchg(&svc->replies, &now.word, next.word));
	return eased || few;
}

/* The pages of @reply are its own now, and are counted. */
static void rpcrdma_svc_reply_charge(struct rpcrdma_svc_xprt *svc,
				     struct rpcrdma_svc_reply *reply)
{
	struct rpcrdma_replies replies;
	bool kept;

	reply->pooled = rpcrdma_svc_reply_take(svc, reply->memory);
	replies = rpcrdma_svc_replies(svc);
	/* As in rpcrdma_svc_replies_charged(), without a lock. */
	kept = data_race(svc->conn->hurry || svc->n_sent);
	if (rpcrdma_replies_charged(&replies, &rpcrdma_svc_replies_limits,
				    reply->pooled, kept))
		rpcrdma_svc_replies_charged(svc);
}

static void __rpcrdma_svc_reply_free(struct rpcrdma_svc_reply *reply)
{
	struct rpcrdma_svc_xprt *svc = reply->svc;
	bool eased;

	if (reply->rw)
		rpcrdma_svc_rw_free(reply->rw);
	eased = rpcrdma_svc_reply_put(svc, reply->memory, reply->pooled);
	release_pages(reply->pages, reply->n_pages);
	kfree(reply);
	if (eased)
		rpcrdma_svc_eased(svc);
	rpcrdma_svc_freed(svc);
}

static void rpcrdma_svc_reply_free(struct rpcrdma_svc_reply *reply)
{
	struct rpcrdma_svc_xprt *svc = reply->svc;

	/* When the connection ends nobody waits, and the queue pair must not go before. */
	if (reply->n_pages <= RPCRDMA_SVC_FEW_PAGES || !rpcrdma_svc_enter(svc)) {
		__rpcrdma_svc_reply_free(reply);
		return;
	}
	/* The first one brings the work item, which frees all. */
	if (llist_add(&reply->ended, &svc->ended))
		rpcrdma_svc_resume_soon(svc);
}

/**
 * rpcrdma_svc_replies_free - free all Replies of a list
 * @replies: the list, which is empty then
 *
 * Context: Process context, no lock held. May sleep.
 */
void rpcrdma_svc_replies_free(struct list_head *replies)
{
	struct rpcrdma_svc_reply *reply, *next;

	list_for_each_entry_safe(reply, next, replies, link) {
		list_del_init(&reply->link);
		rpcrdma_svc_reply_free(reply);
	}
}

/**
 * rpcrdma_svc_free_ended - free Replies that are over
 * @svc: the connection; nobody can end its use of the device meanwhile
 *
 * Context: the work item of what waits. May sleep.
 */
void rpcrdma_svc_free_ended(struct rpcrdma_svc_xprt *svc)
{
	struct rpcrdma_svc_reply *reply, *next;

	llist_for_each_entry_safe(reply, next, llist_del_all(&svc->ended), ended) {
		__rpcrdma_svc_reply_free(reply);
		rpcrdma_svc_leave(svc);
	}
}

/* The pages of a Reply wait for the adapter then, which all others need not. */
static void rpcrdma_svc_reply_gather(struct rpcrdma_svc_reply *reply)
{
	const struct rpcrdma_reply_plan *plan = &reply->plan;
	struct rpcrdma_txmsg *tm = &reply->tm;
	const bool large = plan->stream_length >= RPCRDMA_SVC_GATHER ||
			   (tm->group && reply->group.placed);

	if (!plan->n_jobs && reply->svc->conn->gather_sge > 1 && large)
		tm->gather = RPCRDMA_SVC_GATHER;
}

/* No connection could carry this Reply: the client must not send the Call again. */
static void rpcrdma_svc_reply_refuse(struct rpcrdma_svc_xprt *svc, u32 xid,
				     int status)
{
	trace_rpcrdma_call(svc->conn->id, xid, "Reply not possible", status);
	rpcrdma_conn_refuse(svc->conn, xid, RPCRDMA2_ERR_SYSTEM, 0, 0);
}

/* Its RDMA Writes are over, or were never posted. Return: true if there were any. */
static bool rpcrdma_svc_reply_no_writes(struct rpcrdma_svc_reply *reply)
{
	const bool any = reply->rw;

	if (any)
		rpcrdma_svc_rw_free(reply->rw);
	reply->rw = NULL;
	return any;
}

/*
 * Send a Reply that cannot go by a group in a form of version 2, all of it in the Payload
 * stream. Return: 0, or a negative errno if it is not on its way.
 */
static int rpcrdma_svc_reply_ungroup(struct rpcrdma_svc_reply *reply)
{
	static const struct rpcrdma_chunks none;
	struct rpcrdma_reply_plan *plan = &reply->plan;
	struct rpcrdma_conn *conn = reply->svc->conn;
	struct rpcrdma_txmsg *tm = &reply->tm;

	spin_lock(&conn->lock);
	rpcrdma_plan_reply(&conn->session, &none, reply->xdr.len, NULL, 0,
			   plan);
	spin_unlock(&conn->lock);
	if (plan->errcode)
		return -EMSGSIZE;
	if (rpcrdma_svc_reply_no_writes(reply))
		rpcrdma_svc_freed(reply->svc);
	tm->group = NULL;
	tm->chain = NULL;
	tm->chain_cost = 0;
	tm->hold = false;
	tm->n_removed = 0;
	tm->msg.length = plan->stream_length;
	tm->msg.sent = 0;
	rpcrdma_svc_reply_gather(reply);
	trace_rpcrdma_call(conn->id, tm->msg.xid, "Reply in another form", 0);
	return rpcrdma_conn_send(conn, tm);
}

/* Nothing more is to be done for this Reply, or it cannot be. */
static void rpcrdma_svc_reply_end(struct rpcrdma_svc_reply *reply, int status)
{
	struct rpcrdma_svc_xprt *svc = reply->svc;

	if (status == -EMSGSIZE && !test_bit(RPCRDMA_CONN_LOST,
					     &svc->conn->flags))
		rpcrdma_svc_reply_refuse(svc, reply->tm.msg.xid, status);
	else if (status)
		/* The client must send the Call again. */
		rpcrdma_conn_lost(svc->conn, "Reply not sent");
	rpcrdma_svc_reply_free(reply);
}

/**
 * rpcrdma_svc_reply_again - send a Reply that could not go by a group in a form of version 2
 * @reply: the Reply, in no list
 *
 * If that fails, too, the client gets an error or the connection ends.
 *
 * Context: Process context, no lock held.
 */
void rpcrdma_svc_reply_again(struct rpcrdma_svc_reply *reply)
{
	const int status = rpcrdma_svc_reply_ungroup(reply);

	if (status)
		rpcrdma_svc_reply_end(reply, status);
}

static void rpcrdma_svc_reply_done(struct rpcrdma_txmsg *tm, int status)
{
	struct rpcrdma_svc_reply *reply = container_of(tm,
						struct rpcrdma_svc_reply, tm);
	struct rpcrdma_svc_xprt *svc = reply->svc;
	bool wrote;

	if (likely(!tm->group)) {
		if (likely(!status))
			rpcrdma_svc_reply_free(reply);
		else
			rpcrdma_svc_reply_end(reply, status);
		return;
	}
	if (!status) {
		wrote = rpcrdma_svc_reply_no_writes(reply);
		if (rpcrdma_svc_reply_keep(reply))
			/* It may be gone. */
			rpcrdma_svc_replies_charged(svc);
		else
			rpcrdma_svc_reply_again(reply);
		if (wrote)
			rpcrdma_svc_freed(svc);
		return;
	}
	rpcrdma_svc_reply_unlink(reply);
	if (status == -EMSGSIZE && !tm->msg.sent &&
	    !test_bit(RPCRDMA_CONN_LOST, &svc->conn->flags))
		rpcrdma_svc_reply_again(reply);
	else
		rpcrdma_svc_reply_end(reply, status);
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
static struct rpcrdma_svc_reply *
rpcrdma_svc_reply_alloc(struct svc_rqst *rqstp,
			const struct rpcrdma_svc_call *call)
{
	/* Those of directions are not counted before it is planned. */
	const u32 segments = call->directions.length ?
		RPCRDMA_MAX_SEGMENTS : call->chunks.n_write_segs;
	const struct xdr_buf *res = &rqstp->rq_res;
	u32 count = rqstp->rq_next_page - rqstp->rq_respages;
	struct rpcrdma_svc_xprt *svc = rpcrdma_svc_of(rqstp->rq_xprt);
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
	INIT_LIST_HEAD(&reply->link);
	reply->short_since = 0;
	reply->svc = svc;
	reply->sent = false;
	reply->old = false;
	reply->refused = false;
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
	/* Its RDMA Writes, at most, see rpcrdma_svc_reply_writes(). Some are cut. */
	if (segments)
		reply->memory += rpcrdma_svc_rw_size(segments +
						     RPCRDMA_MAX_WRITES -
						     RPCRDMA_MAX_SEGMENTS,
						     count);
	rpcrdma_svc_reply_charge(svc, reply);
	return reply;
}

static void rpcrdma_svc_reply_fill(struct rpcrdma_svc_reply *reply,
				   const struct rpcrdma_svc_call *call)
{
	const struct rpcrdma_reply_plan *plan = &reply->plan;
	struct rpcrdma_txmsg *tm = &reply->tm;

	rpcrdma_svc_reply_gather(reply);
	tm->direct = !tm->hold && !tm->gather && !tm->group;
	tm->call = call->id;
	tm->msg.length = plan->stream_length;
	tm->msg.external = plan->external;
	if (plan->chunks.n_writes || plan->chunks.has_reply)
		tm->msg.chunks = &plan->chunks;
	tm->xdr = &reply->xdr;
	tm->removed = plan->removed;
	tm->n_removed = plan->n_removed;
	tm->invalidate = reply->svc->remote_inv ? call->inv_handle : 0;
	tm->done = rpcrdma_svc_reply_done;
}

/* Plan a Reply by a group, as the client has directed. Return: false if it cannot go so. */
static bool rpcrdma_svc_reply_directed(struct rpcrdma_svc_call *call,
				       struct rpcrdma_svc_reply *reply,
				       u32 n_results)
	__must_hold(&reply->svc->conn->lock)
{
	struct rpcrdma_rtr_result results[RPCRDMA_MAX_CHUNKS];
	u32 i;

	for (i = 0; i < n_results; i++) {
		results[i].where = call->results[i];
		results[i].cause = i < call->n_causes ? call->causes[i] :
							RPCRDMA_RTR_NOWHERE;
	}
	if (!rpcrdma_rtr_plan_reply(&reply->svc->conn->session,
				    &call->directions, results, n_results,
				    reply->xdr.len, &reply->tm.msg,
				    &reply->plan, &reply->group))
		return false;
	reply->tm.group = &reply->group;
	return true;
}

/*
 * Decide how a Reply travels, and queue it at once if nothing is to be prepared for that.
 * Return: 1 if it has to be prepared, or has no plan; otherwise as rpcrdma_conn_send().
 */
static int rpcrdma_svc_reply_plan(const struct svc_rqst *rqstp,
				  struct rpcrdma_svc_call *call,
				  struct rpcrdma_svc_reply *reply)
{
	struct rpcrdma_conn *conn = reply->svc->conn;
	struct rpcrdma_txmsg *tm = &reply->tm;
	u32 n_results = 0;

	if (call->chunks.n_writes || call->directions.length)
		n_results = rpcrdma_svc_results(rqstp, call, &reply->xdr);
	tm->msg.xid = call->xid;
	tm->msg.dir = RPCRDMA_REPLY;
	spin_lock(&conn->lock);
	if (!call->directions.length ||
	    !rpcrdma_svc_reply_directed(call, reply, n_results))
		rpcrdma_plan_reply(&conn->session, &call->chunks,
				   reply->xdr.len, call->results, n_results,
				   &reply->plan);
	if (tm->group || reply->plan.errcode || reply->plan.n_jobs) {
		spin_unlock(&conn->lock);
		return 1;
	}
	rpcrdma_svc_reply_fill(reply, call);
	return rpcrdma_conn_send_planned(conn, tm, false);
}

static u32 rpcrdma_svc_reply_octets(const struct rpcrdma_reply_plan *plan)
{
	u32 i, octets = 0;

	for (i = 0; i < plan->n_jobs; i++)
		octets += plan->jobs[i].source.length;
	return octets;
}

/*
 * Prepare the RDMA Writes of a Reply. Return: 0, %-EAGAIN if too few memory regions are free, or
 * another negative errno. If it fails, none of them is left.
 */
static int rpcrdma_svc_reply_writes(struct rpcrdma_svc_reply *reply)
{
	const struct rpcrdma_reply_plan *plan = &reply->plan;
	const struct rpcrdma_write_job *job;
	int rc;
	u32 i;

	/* The end of the head, and the end of the pages, can be inside a Write. */
	reply->rw = rpcrdma_svc_rw_alloc(reply->svc->conn, reply->tm.call,
					 DMA_TO_DEVICE, plan->n_jobs + 2,
					 rpcrdma_svc_reply_octets(plan),
					 GFP_KERNEL);
	if (!reply->rw)
		return -ENOMEM;
	for (i = 0; i < plan->n_jobs; i++) {
		job = &plan->jobs[i];
		rc = rpcrdma_svc_rw_xdr(reply->rw, &reply->xdr, &job->source,
					job->target.handle, job->target.offset);
		if (rc) {
			rpcrdma_svc_reply_no_writes(reply);
			return rc;
		}
	}
	return 0;
}

/* Count the chunks of a Reply that is being sent. */
static void rpcrdma_svc_reply_count(const struct rpcrdma_svc_reply *reply)
{
	const struct rpcrdma_reply_plan *plan = &reply->plan;
	struct rpcrdma_conn *conn = reply->svc->conn;
	const u32 placed = reply->tm.group ? reply->group.placed : 0;
	u32 octets = rpcrdma_svc_reply_octets(plan);

	spin_lock(&conn->lock);
	if (plan->external) {
		conn->stats.reply_chunks++;
		conn->stats.reply_chunk_bytes += plan->stream_length;
		octets -= plan->stream_length;
	}
	conn->stats.rdma_writes += plan->n_jobs;
	conn->stats.write_chunks += plan->n_removed - placed;
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

/* Queue a Reply whose RDMA Writes are prepared, if it has any. */
static int rpcrdma_svc_reply_queue(struct rpcrdma_svc_reply *reply)
{
	struct rpcrdma_txmsg *tm = &reply->tm;
	struct rpcrdma_svc_xprt *svc = reply->svc;
	int rc;

	if (reply->rw) {
		tm->chain = rpcrdma_svc_reply_chain;
		tm->chain_cost = reply->rw->cost;
	}
	if (tm->group) {
		spin_lock(&svc->lock);
		list_add_tail(&reply->link, &svc->groups);
		spin_unlock(&svc->lock);
	}
	rc = rpcrdma_conn_send(svc->conn, tm);
	if (rc)
		rpcrdma_svc_reply_unlink(reply);
	return rc;
}

/* A Reply is not on its way. Return: 0 if the client was told, or @rc: the connection ends. */
static int rpcrdma_svc_reply_failed(struct rpcrdma_svc_xprt *svc, u32 xid,
				    int rc)
{
	switch (rc) {
	case -ENOMEM:
		rpcrdma_conn_lost(svc->conn, "no memory for a Reply");
		return rc;
	case -ENOTCONN:
		rpcrdma_conn_lost(svc->conn, "no way for a Reply");
		return rc;
	default:
		rpcrdma_svc_reply_refuse(svc, xid, rc);
		return 0;
	}
}

/*
 * The first Reply that waits for regions: prepare its RDMA Writes. Return: the Reply, which does
 * not wait any more, with @rc as rpcrdma_svc_reply_writes() has returned it; or NULL if it has to
 * wait on, and whoever frees regions calls rpcrdma_svc_freed().
 */
static struct rpcrdma_svc_reply *
rpcrdma_svc_writes_next(struct rpcrdma_svc_xprt *svc, int *rc)
	__must_hold(&svc->lock)
{
	struct rpcrdma_conn *conn = svc->conn;
	struct rpcrdma_svc_reply *reply;
	bool last, waits;
	u32 made;

	lockdep_assert_held(&svc->lock);
	reply = list_first_entry_or_null(&svc->no_regions,
					 struct rpcrdma_svc_reply, link);
	if (!reply || test_bit(RPCRDMA_CONN_LOST, &conn->flags))
		return NULL;
	last = rpcrdma_svc_rw_none(conn, &made);
	spin_unlock(&svc->lock);
	*rc = rpcrdma_svc_reply_writes(reply);
	/* If nothing else had regions it lacks none that could come back. */
	waits = *rc == -EAGAIN && !(last && rpcrdma_svc_rw_only(conn, made));
	spin_lock(&svc->lock);
	if (*rc == -ENOMEM)
		waits = rpcrdma_svc_short(svc, &reply->short_since);
	else
		reply->short_since = 0;
	if (waits)
		return NULL;
	list_del_init(&reply->link);
	return reply;
}

/**
 * rpcrdma_svc_writes_resume - go on with Replies that have waited for memory regions
 * @svc: the connection
 *
 * One at a time, or a small Reply would take the regions that a large one waits for.
 *
 * Context: the work item of what waits. May sleep.
 *
 * Return: true if the last of them does not wait any more. Calls have let them go first, so the
 * caller goes on with these.
 */
bool rpcrdma_svc_writes_resume(struct rpcrdma_svc_xprt *svc)
{
	struct rpcrdma_svc_reply *reply;
	bool some = false;
	int rc;

	/* Whoever adds one asks for this, too. Nearly always there is none. */
	if (list_empty_careful(&svc->no_regions))
		return false;
	spin_lock(&svc->lock);
	while ((reply = rpcrdma_svc_writes_next(svc, &rc))) {
		some = true;
		spin_unlock(&svc->lock);
		if (!rc)
			rc = rpcrdma_svc_reply_queue(reply);
		if (rc) {
			rpcrdma_svc_reply_failed(svc, reply->tm.msg.xid, rc);
			rpcrdma_svc_reply_free(reply);
		}
		spin_lock(&svc->lock);
	}
	some &= list_empty(&svc->no_regions);
	spin_unlock(&svc->lock);
	return some;
}

/**
 * rpcrdma_svc_drop_writes - free Replies that wait for memory regions
 * @svc: its connection has been destroyed, or was never made
 *
 * Context: Process context. May sleep.
 */
void rpcrdma_svc_drop_writes(struct rpcrdma_svc_xprt *svc)
{
	LIST_HEAD(all);

	list_splice_init(&svc->no_regions, &all);
	rpcrdma_svc_replies_free(&all);
}

/* Return: 0 if a Reply is on its way, or waits for memory regions; or a negative errno. */
static int rpcrdma_svc_reply_send(struct rpcrdma_svc_reply *reply,
				  const struct rpcrdma_svc_call *call)
{
	struct rpcrdma_svc_xprt *svc = reply->svc;
	int rc = 0;

	reply->tm.hold = reply->plan.n_jobs;
	rpcrdma_svc_reply_fill(reply, call);
	if (reply->plan.n_jobs)
		rc = list_empty_careful(&svc->no_regions) ?
			rpcrdma_svc_reply_writes(reply) : -EAGAIN;
	if (!rc)
		return rpcrdma_svc_reply_queue(reply);
	if (rc != -EAGAIN && rc != -ENOMEM)
		return rc;
	trace_rpcrdma_call(svc->conn->id, call->xid, rc == -EAGAIN ?
			   "Reply waits for memory regions" :
			   "Reply waits for memory", rc);
	spin_lock(&svc->conn->lock);
	svc->conn->stats.no_mr += rc == -EAGAIN;
	spin_unlock(&svc->conn->lock);
	spin_lock(&svc->lock);
	list_add_tail(&reply->link, &svc->no_regions);
	spin_unlock(&svc->lock);
	rpcrdma_svc_freed(svc);
	return 0;
}

static int rpcrdma_svc_reply(struct rpcrdma_svc_xprt *svc,
			     struct svc_rqst *rqstp)
{
	struct rpcrdma_svc_call *call = rqstp->rq_xprt_ctxt;
	struct rpcrdma_svc_reply *reply;
	const struct rpcrdma_reply_plan *plan;
	int rc = -ENOTCONN;

	if (svc_xprt_is_dead(&svc->xprt) || !call)
		return rpcrdma_svc_reply_failed(svc, 0, rc);
	reply = rpcrdma_svc_reply_alloc(rqstp, call);
	if (!reply)
		return rpcrdma_svc_reply_failed(svc, call->xid, -ENOMEM);

	rc = rpcrdma_svc_reply_plan(rqstp, call, reply);
	/* It may be gone. */
	if (!rc)
		return 0;
	plan = &reply->plan;
	if (rc > 0 && plan->errcode) {
		rpcrdma_conn_refuse(svc->conn, call->xid, plan->errcode,
				    plan->index, plan->needed);
		rpcrdma_svc_reply_free(reply);
		return 0;
	}
	if (rc > 0)
		rc = rpcrdma_svc_reply_send(reply, call);
	if (!rc)
		return 0;
	rpcrdma_svc_reply_free(reply);
	return rpcrdma_svc_reply_failed(svc, call->xid, rc);
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
	struct rpcrdma_svc_xprt *svc = rpcrdma_svc_of(rqstp->rq_xprt);
	unsigned int noio;
	int rc;

	if (!rpcrdma_svc_enter(svc))
		return -ENOTCONN;
	noio = memalloc_noio_save();
	rc = rpcrdma_svc_reply(svc, rqstp);
	memalloc_noio_restore(noio);
	rpcrdma_svc_leave(svc);
	return rc;
}
