// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * RDMA Reads, which fetch what of a Call is in the client's memory.
 *
 * They start as soon as the Call is complete and there is memory for it. No thread waits for
 * them, and nfsd gets the Call when they are done.
 *
 * The Receive handler starts those of a Call that has just come, if nothing else waits, and if it
 * gets the pages without waiting: it has other messages of this connection to look at, with
 * credits and Calls. For the rest there is a work item, which also goes on with all that has
 * waited, Receives included for which the handler got no memory. So the handler of completions of
 * Sends, and who sends a message, only ask for it.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include <trace/events/rpcrdma_v2.h>

#include "call.h"

/**
 * struct rpcrdma_svc_read - the RDMA Reads of one Call
 * @job: the connection's view of it
 * @call: the Call
 * @rw: the operations
 */
struct rpcrdma_svc_read {
	struct rpcrdma_job job;
	struct rpcrdma_svc_call *call;
	struct rpcrdma_svc_rw *rw;
};

/**
 * rpcrdma_svc_read_size - what a Call takes that RDMA Reads fill
 * @pages: its pages
 *
 * Return: bytes.
 */
u32 rpcrdma_svc_read_size(u32 pages)
{
	return rpcrdma_svc_call_size(pages) + sizeof(struct rpcrdma_svc_read) +
	       rpcrdma_svc_rw_size(RPCRDMA_MAX_RW_OPS, pages);
}

static int rpcrdma_svc_read_post(struct rpcrdma_job *job, struct ib_cqe *cqe)
{
	struct rpcrdma_svc_read *read = container_of(job,
						     struct rpcrdma_svc_read,
						     job);

	return ib_post_send(job->conn->qp,
			    rpcrdma_svc_rw_chain(read->rw, cqe, NULL), NULL);
}

/* Check that the Call in a Call chunk agrees with its header. */
static bool rpcrdma_svc_call_sound(const struct rpcrdma_svc_call *call)
{
	return !call->external ||
	       rpcrdma_first_words(page_address(call->pages[0]),
				   min_t(u32, call->length, PAGE_SIZE),
				   call->xid, RPCRDMA_CALL);
}

/* Reads that were never posted. */
static void rpcrdma_svc_read_drop(struct rpcrdma_svc_read *read)
{
	struct rpcrdma_svc_call *call = read->call;
	struct rpcrdma_svc_xprt *svc = call->svc;

	rpcrdma_svc_rw_free(read->rw);
	kfree(read);
	rpcrdma_svc_call_drop(svc, call);
	spin_lock(&svc->lock);
	svc->reading--;
	spin_unlock(&svc->lock);
}

static void rpcrdma_svc_read_done(struct rpcrdma_job *job, int status)
{
	struct rpcrdma_svc_read *read = container_of(job,
						     struct rpcrdma_svc_read,
						     job);
	struct rpcrdma_svc_call *call = read->call;
	struct rpcrdma_svc_xprt *svc = call->svc;

	rpcrdma_svc_rw_free(read->rw);
	kfree(read);

	/*
	 * First ready, then no longer being read: rpcrdma_svc_alone() looks for both. Whoever
	 * sees under the lock that it is not being read sees that it was made ready before.
	 */
	if (!status && rpcrdma_svc_call_sound(call)) {
		rpcrdma_svc_call_ready(svc, call);
	} else {
		if (!status)
			rpcrdma_svc_refuse(svc, call->xid, RPCRDMA2_ERR_BAD_XDR,
					   -EBADMSG);
		rpcrdma_svc_call_drop(svc, call);
	}
	spin_lock(&svc->lock);
	svc->reading--;
	spin_unlock(&svc->lock);
	rpcrdma_svc_freed(svc);
}

/* Copy bytes of the received Payload stream of @call to @to. */
static int rpcrdma_svc_copy_stream(const struct rpcrdma_svc_call *call,
				   u32 source, struct page **to,
				   const struct rpcrdma_range *target)
{
	u32 offset = target->offset;
	u32 left = target->length;
	const void *from;
	u32 run;

	if (call->recv) {
		if (source > call->payload.length ||
		    left > call->payload.length - source)
			return -EPROTO;
		rpcrdma_svc_copy_recv(to, offset, call->recv,
				      call->payload.offset + source, left);
		return 0;
	}

	if (source > call->length || left > call->length - source ||
	    !call->pages)
		return -EPROTO;
	while (left) {
		run = min_t(u32, left, PAGE_SIZE - offset_in_page(source));
		from = kmap_local_page(call->pages[source >> PAGE_SHIFT]);
		rpcrdma_svc_copy_in(to, offset, from + offset_in_page(source),
				    run);
		kunmap_local(from);
		source += run;
		offset += run;
		left -= run;
	}
	return 0;
}

/* The Payload stream is in the Call chunk, which is one run of segments. */
static int rpcrdma_svc_read_stream(struct rpcrdma_svc_rw *rw,
				   const struct rpcrdma_svc_call *call,
				   u32 source, struct page **to,
				   struct rpcrdma_range target)
{
	const struct rpcrdma_chunks *chunks = &call->chunks;
	const struct rpcrdma_segment *s;
	struct rpcrdma_range run;
	int rc;
	u32 i;

	for (i = 0; i < chunks->n_call && target.length; i++) {
		s = &chunks->call[i];
		if (source >= s->length) {
			source -= s->length;
			continue;
		}
		run.offset = target.offset;
		run.length = min(target.length, s->length - source);
		rc = rpcrdma_svc_rw_pages(rw, to, &run, s->handle,
					  s->offset + source);
		if (rc)
			return rc;
		target.offset += run.length;
		target.length -= run.length;
		source = 0;
	}
	return target.length ? -EPROTO : 0;
}

/* Plan RDMA Reads of all Read chunks, each @shift bytes behind its position. */
static int rpcrdma_svc_layout_reads(const struct rpcrdma_svc_call *call,
				    struct rpcrdma_svc_rw *rw,
				    struct page **to, u32 shift)
{
	const struct rpcrdma_chunks *chunks = &call->chunks;
	const struct rpcrdma_read_segment *s;
	struct rpcrdma_range run = {};
	u32 i, position = 0;
	int rc;

	for (i = 0; i < chunks->n_reads; i++) {
		s = &chunks->reads[i];
		if (s->position != position)
			run.offset = s->position + shift;
		position = s->position;
		run.length = s->target.length;
		if (!run.length)
			continue;
		rc = rpcrdma_svc_rw_pages(rw, to, &run, s->target.handle,
					  s->target.offset);
		if (rc)
			return rc;
		run.offset += run.length;
	}
	return 0;
}

/* The same with the item of @call in pages of its own. */
static int rpcrdma_svc_layout_item(const struct rpcrdma_svc_call *call,
				   struct rpcrdma_svc_rw *rw, struct page **to)
{
	const struct rpcrdma_range run = { .length = call->length };
	const u32 end = PAGE_SIZE + call->item.length;
	int rc;

	rc = rpcrdma_svc_copy_stream(call, 0, to, &run);
	if (rc)
		return rc;
	rpcrdma_svc_zero(to, end, xdr_align_size(end));
	return rpcrdma_svc_layout_reads(call, rw, to,
					PAGE_SIZE - call->item.offset);
}

/* Lay @call out in @to: copy the received bytes, plan RDMA Reads for the rest. */
static int rpcrdma_svc_layout(const struct rpcrdma_svc_call *call,
			      struct rpcrdma_svc_rw *rw, struct page **to)
{
	struct rpcrdma_piece pieces[RPCRDMA_MAX_PIECES];
	const struct rpcrdma_segment *s;
	struct rpcrdma_piece *p;
	u32 n, i, end = 0;
	int rc;

	if (call->item.length)
		return rpcrdma_svc_layout_item(call, rw, to);
	if (!list_empty(&call->group)) {
		rpcrdma_svc_group_layout(call, to);
		return rpcrdma_svc_layout_reads(call, rw, to, 0);
	}
	n = rpcrdma_layout_call(&call->chunks, call->length, pieces);
	for (i = 0; i < n; i++) {
		p = &pieces[i];
		if (p->target.offset < end ||
		    p->target.offset > call->unreduced ||
		    p->target.length > call->unreduced - p->target.offset)
			return -EPROTO;
		/* XDR padding: its content is not defined */
		rpcrdma_svc_zero(to, end, p->target.offset);
		end = p->target.offset + p->target.length;

		if (p->segment >= 0) {
			s = &call->chunks.reads[p->segment].target;
			rc = rpcrdma_svc_rw_pages(rw, to, &p->target, s->handle,
						  s->offset + p->source);
		} else if (call->external) {
			rc = rpcrdma_svc_read_stream(rw, call, p->source, to,
						     p->target);
		} else {
			rc = rpcrdma_svc_copy_stream(call, p->source, to,
						     &p->target);
		}
		if (rc)
			return rc;
	}
	rpcrdma_svc_zero(to, end, call->unreduced);
	return 0;
}

/* Each Read segment may cut a run of the Call chunk in two. */
static u32 rpcrdma_svc_count_ops(const struct rpcrdma_chunks *chunks)
{
	u32 ops = chunks->n_reads;

	if (chunks->n_call)
		ops += chunks->n_call + chunks->n_reads;
	return ops;
}

static void rpcrdma_svc_count_reads(struct rpcrdma_svc_xprt *svc,
				    const struct rpcrdma_svc_call *call,
				    u32 n_ops)
{
	struct rpcrdma_stats *stats = &svc->conn->stats;
	const struct rpcrdma_chunks *chunks = &call->chunks;
	u32 i, position = U32_MAX;

	spin_lock(&svc->conn->lock);
	stats->rdma_reads += n_ops;
	stats->call_chunks += !!chunks->n_call;
	for (i = 0; i < chunks->n_call; i++)
		stats->call_chunk_bytes += chunks->call[i].length;
	for (i = 0; i < chunks->n_reads; i++) {
		stats->read_chunks += chunks->reads[i].position != position;
		position = chunks->reads[i].position;
		stats->read_chunk_bytes += chunks->reads[i].target.length;
	}
	spin_unlock(&svc->conn->lock);
}

/*
 * Begin the RDMA Reads of @call, whose memory is already counted. On success the caller
 * does not own @call any more.
 */
static int rpcrdma_svc_read_start(struct rpcrdma_svc_xprt *svc,
				  struct rpcrdma_svc_call *call, gfp_t gfp)
{
	u32 count = rpcrdma_svc_whole_pages(call);
	struct rpcrdma_recv *recv = call->recv;
	struct rpcrdma_svc_read *read;
	struct page **pages;
	int rc = -ENOMEM;

	read = kzalloc(sizeof(*read), gfp);
	pages = kvcalloc(count, sizeof(*pages), gfp);
	if (!read || !pages || !rpcrdma_svc_get_pages(pages, 0, count, gfp))
		goto out_free;
	read->rw = rpcrdma_svc_rw_alloc(svc->conn, call->id, DMA_FROM_DEVICE,
					rpcrdma_svc_count_ops(&call->chunks),
					call->unreduced, gfp);
	if (!read->rw)
		goto out_pages;
	rc = rpcrdma_svc_layout(call, read->rw, pages);
	if (rc)
		goto out_rw;
	rc = -ENOSPC;
	if (!rpcrdma_conn_fits(svc->conn, read->rw->cost))
		goto out_rw;

	/* From now on the Call is only in @pages. */
	rpcrdma_svc_count_reads(svc, call, read->rw->n_ops);
	if (call->pages) {
		rpcrdma_svc_uncharge(svc, call->memory);
		rpcrdma_svc_free_pages(call->pages, call->n_pages);
	}
	call->pages = pages;
	call->n_pages = count;
	call->memory = rpcrdma_svc_read_size(count);
	call->length = call->unreduced;
	call->recv = NULL;
	if (recv)
		rpcrdma_conn_recv_put(svc->conn, recv);
	rpcrdma_svc_group_release(call);

	read->call = call;
	read->job.cost = read->rw->cost;
	read->job.call = call->id;
	read->job.post = rpcrdma_svc_read_post;
	read->job.done = rpcrdma_svc_read_done;
	if (!read->rw->n_ops) {
		/* All chunks are empty. The caller goes on with the next Call. */
		rpcrdma_svc_rw_free(read->rw);
		kfree(read);
		rpcrdma_svc_call_ready(svc, call);
		spin_lock(&svc->lock);
		svc->reading--;
		spin_unlock(&svc->lock);
		return 0;
	}
	/* If the connection is over, the Call is over, too. */
	rc = rpcrdma_conn_job(svc->conn, &read->job);
	if (rc)
		rpcrdma_svc_read_drop(read);
	return 0;

out_rw:
	rpcrdma_svc_rw_free(read->rw);
out_pages:
	release_pages(pages, count);
out_free:
	kvfree(pages);
	kfree(read);
	return rc;
}

/* Take the next Call off the waiting list if its Reads may start. */
static struct rpcrdma_svc_call *
rpcrdma_svc_read_next(struct rpcrdma_svc_xprt *svc)
	__must_hold(&svc->lock)
{
	struct rpcrdma_svc_call *call;
	u32 need;

	lockdep_assert_held(&svc->lock);
	call = list_first_entry_or_null(&svc->waiting, struct rpcrdma_svc_call,
					link);
	/* Replies get regions first: what was begun ends, and makes room. */
	if (!call || !list_empty(&svc->no_regions))
		return NULL;
	need = rpcrdma_svc_read_size(rpcrdma_svc_whole_pages(call));
	if (!rpcrdma_memory_call(&svc->account, need,
				 rpcrdma_svc_alone(svc)))
		return NULL;
	list_del_init(&call->link);
	svc->alone = call;
	if (svc->reading++ || !rpcrdma_svc_rw_none(svc->conn, &svc->alone_made))
		svc->alone = NULL;
	return call;
}

/**
 * rpcrdma_svc_resume_soon - what waits may go on, and a work item is to look
 * @svc: the connection
 *
 * Context: Any.
 */
void rpcrdma_svc_resume_soon(struct rpcrdma_svc_xprt *svc)
{
	/* It may have been asked for already, for later. */
	mod_delayed_work(rpcrdma_svc_calls_wq, &svc->resume, 0);
}

/* How long a Call or a Reply waits for memory of this machine, and how long between two tries. */
#define RPCRDMA_SVC_SHORT_WAIT	(10 * HZ)
#define RPCRDMA_SVC_SHORT_TRY	(HZ / 10)

/**
 * rpcrdma_svc_short - there was no memory for a Call or a Reply that is waiting
 * @svc: the connection
 * @since: when there first was none for it, or zero
 *
 * Context: the work item of what waits, under the lock of @svc, when it is in its list, or when its
 * Receive is stalled.
 *
 * Return: true if it is tried again, false if it has waited for long enough.
 */
bool rpcrdma_svc_short(struct rpcrdma_svc_xprt *svc, unsigned long *since)
{
	if (!*since)
		*since = jiffies | 1;
	if (time_after(jiffies, *since + RPCRDMA_SVC_SHORT_WAIT))
		return false;
	queue_delayed_work(rpcrdma_svc_calls_wq, &svc->resume,
			   RPCRDMA_SVC_SHORT_TRY);
	return true;
}

/*
 * Reads of @call could not start: wait, or refuse the Call. Return: true to go
 * on with the waiting list.
 */
static bool rpcrdma_svc_read_failed(struct rpcrdma_svc_xprt *svc,
				    struct rpcrdma_svc_call *call, int rc,
				    gfp_t gfp)
{
	u32 size = rpcrdma_svc_read_size(rpcrdma_svc_whole_pages(call));
	struct rpcrdma_recv *recv = call->recv;
	bool again, eased, lost = false;

	spin_lock(&svc->lock);
	/* Memory regions come back when other operations end, or have already come back. */
	if (rc == -ENOMEM ||
	    (rc == -EAGAIN &&
	     !(svc->alone == call &&
	       rpcrdma_svc_rw_only(svc->conn, svc->alone_made)))) {
		eased = rpcrdma_memory_put(&svc->account, RPCRDMA_BUDGET_CALLS,
					   size);
		list_add(&call->link, &svc->waiting);
		if (rc == -ENOMEM && gfpflags_allow_blocking(gfp))
			lost = !rpcrdma_svc_short(svc, &call->short_since);
		else if (rc == -ENOMEM)
			rpcrdma_svc_resume_soon(svc);
		else
			call->short_since = 0;
		/* Pairs with the barrier in rpcrdma_svc_rw_free(). */
		smp_mb();
		again = !--svc->reading && rc != -ENOMEM &&
			!atomic_read(&svc->conn->rw_sets);
		spin_unlock(&svc->lock);
		if (eased)
			rpcrdma_svc_eased(svc);
		if (lost)
			rpcrdma_conn_lost(svc->conn, "no memory for a Call");
		return again;
	}
	spin_unlock(&svc->lock);

	/* If the device cannot do so many Reads, a continued Call would work. */
	rpcrdma_svc_refuse(svc, call->xid, rc == -EAGAIN || rc == -ENOSPC ?
			   RPCRDMA2_ERR_READ_CHUNKS : RPCRDMA2_ERR_SYSTEM, rc);
	rpcrdma_svc_group_release(call);
	rpcrdma_svc_call_drop(svc, call);
	if (recv)
		rpcrdma_conn_recv_put(svc->conn, recv);
	rpcrdma_svc_uncharge(svc, size);
	spin_lock(&svc->lock);
	svc->reading--;
	spin_unlock(&svc->lock);
	return true;
}

/* Give back Receives that are held, and start RDMA Reads, as far as there is memory now. */
static void rpcrdma_svc_resume(struct rpcrdma_svc_xprt *svc, gfp_t gfp)
{
	const bool waits = gfpflags_allow_blocking(gfp);
	struct rpcrdma_svc_call *call;
	struct rpcrdma_recv *recv;
	bool again;
	int rc;

	spin_lock(&svc->lock);
	for (;;) {
		while (!rpcrdma_account_calls_full(&svc->account)) {
			recv = list_first_entry_or_null(&svc->held,
							struct rpcrdma_recv,
							link);
			if (!recv)
				break;
			list_del_init(&recv->link);
			spin_unlock(&svc->lock);
			rpcrdma_conn_recv_put(svc->conn, recv);
			spin_lock(&svc->lock);
		}

		/* A Call that fails frees memory, too. */
		call = test_bit(RPCRDMA_CONN_LOST, &svc->conn->flags) ?
			NULL : rpcrdma_svc_read_next(svc);
		if (!call)
			break;
		spin_unlock(&svc->lock);
		rpcrdma_svc_replies_charged(svc);
		rc = rpcrdma_svc_read_start(svc, call, gfp);
		again = !rc || rpcrdma_svc_read_failed(svc, call, rc, gfp);
		/* It may have had regions for a moment. */
		if (waits)
			again |= rpcrdma_svc_writes_resume(svc);
		else if (!list_empty_careful(&svc->no_regions))
			rpcrdma_svc_resume_soon(svc);
		if (!again)
			return;
		spin_lock(&svc->lock);
	}
	spin_unlock(&svc->lock);
}

static void rpcrdma_svc_resume_worker(struct work_struct *work)
{
	struct rpcrdma_svc_xprt *svc = container_of(to_delayed_work(work),
						    struct rpcrdma_svc_xprt,
						    resume);
	unsigned int noio;

	if (!rpcrdma_svc_enter(svc))
		return;
	noio = memalloc_noio_save();
	rpcrdma_svc_free_ended(svc);
	(void)rpcrdma_svc_writes_resume(svc);
	rpcrdma_svc_resume(svc, RPCRDMA_SVC_GFP_TRY);
	rpcrdma_conn_recv_again(svc->conn);
	memalloc_noio_restore(noio);
	rpcrdma_svc_leave(svc);
}

/**
 * rpcrdma_svc_resume_init - nothing waits yet
 * @svc: not known to anybody
 */
void rpcrdma_svc_resume_init(struct rpcrdma_svc_xprt *svc)
{
	INIT_DELAYED_WORK(&svc->resume, rpcrdma_svc_resume_worker);
	init_llist_head(&svc->ended);
}

/**
 * rpcrdma_svc_read_queue - start the RDMA Reads of a Call, or let them wait for memory
 * @svc: the connection
 * @call: the Call, whole but for its Read chunks
 *
 * Does not wait itself.
 *
 * Context: the Receive handler. May sleep: how ib_core allocates the little that it needs for an
 * operation is not for us to say.
 *
 * Return: 0, and @call may be gone; or %-EPROTO if it is too large.
 */
int rpcrdma_svc_read_queue(struct rpcrdma_svc_xprt *svc,
			   struct rpcrdma_svc_call *call)
{
	bool first;
	u32 pages;

	if (call->unreduced > svc->max_call || !call->unreduced)
		return -EPROTO;
	pages = rpcrdma_svc_whole_pages(call);
	if (!rpcrdma_svc_admits(svc, rpcrdma_svc_read_size(pages)))
		return -EPROTO;
	spin_lock(&svc->lock);
	first = list_empty(&svc->waiting);
	list_add_tail(&call->link, &svc->waiting);
	spin_unlock(&svc->lock);
	if (first)
		rpcrdma_svc_resume(svc, GFP_NOWAIT | __GFP_NOWARN);
	return 0;
}

/**
 * rpcrdma_svc_call_fetch - fetch what a Call that came by a group has elsewhere
 * @svc: the connection
 * @call: the Call, whole but for its Read chunks, which have been filled in since
 *	rpcrdma_svc_call_complete()
 *
 * Context: the Receive handler. May sleep.
 *
 * Return: 0, and @call may be gone; or a negative errno.
 */
int rpcrdma_svc_call_fetch(struct rpcrdma_svc_xprt *svc,
			   struct rpcrdma_svc_call *call)
{
	if (call->recv)
		rpcrdma_svc_place_item(call);
	return rpcrdma_svc_read_queue(svc, call);
}
