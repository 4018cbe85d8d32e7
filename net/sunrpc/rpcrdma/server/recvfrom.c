// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * From Receives to Calls that nfsd can pick up.
 *
 * A Call that came in one Receive, without Read chunks, stays in the Receive
 * buffer until an nfsd thread takes it: swaps the pages of the buffer for its own, or
 * copies what is small. Then the peer gets the credit back, so
 * at most a window of such Calls can exist. (In version 1 fewer Calls stay there; the
 * others are handled like continued Calls.) A continued Call is copied to its own pages,
 * fragment by fragment. The RDMA Reads of a Call with Read chunks
 * start as soon as the Call is complete and there is memory for it; no thread
 * waits for them, and nfsd gets the Call when they are done.
 *
 * Bounds. The account counts all these Calls, from their allocation until nfsd has
 * taken them: pages, pointers to pages, what describes RDMA Reads, and S, the size of
 * struct rpcrdma_svc_call. It does not count Calls that wait in Receives: at most W, S bytes
 * each. With C = RPCRDMA_SVC_CALL_MEMORY, M the largest Call with all that, W the
 * largest window, I the size of a Receive:
 *
 * - While Calls have C or more, or the account has more than the module's budget had for
 *   it, the Receive of a fragment is held back after it has been copied, and with it the
 *   credit. So at most W more fragments arrive, each of which takes at most
 *   I / PAGE_SIZE + 2 pages, and begins at most one Call. A Call has pointers for all its
 *   pages, P bytes at most.
 * - RDMA Reads start if Calls then have no more than C, and if the account has or gets
 *   the memory. A Call that cannot start them waits, in order of arrival, and keeps its
 *   Receive if it has one, or those of its group. It may start in any case if no other Call
 *   is being read or is ready.
 *
 * So Calls never have more than C + M + W * (I + 2 * PAGE_SIZE + S + P), and while the budget
 * is used up no more than 2 * M + W * (I + 2 * PAGE_SIZE + S + P).
 *
 * Why this cannot block for ever: Calls that are ready are picked up, since
 * nfsd threads never wait for this connection (a Reply that lacks credit is
 * left to the connection), but for Replies that can be sent. Reads that are under way end,
 * or the connection does. When no Call is ready or being read, the first waiting Call may
 * start. When no Call waits either, and no Reply, only the partial Call is counted, which
 * has at most M bytes, what is reserved for it (rpcrdma_svc_admits()); then nothing is held
 * back, and its fragments can come. Each of these steps calls rpcrdma_svc_relax(). None of
 * them waits for another connection. The search of tools/testing/sim visits all states of
 * this.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include <trace/events/rpcrdma_v2.h>

#include "server.h"

static struct kmem_cache *rpcrdma_svc_calls;

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

static void rpcrdma_svc_relax(struct rpcrdma_svc *svc);

static u32 rpcrdma_svc_page_count(u32 octets)
{
	return DIV_ROUND_UP(octets, PAGE_SIZE);
}

/* Pages that @call needs when it is whole. */
static u32 rpcrdma_svc_whole_pages(const struct rpcrdma_svc_call *call)
{
	return call->item.length ?
		1 + rpcrdma_svc_page_count(call->item.length) :
		rpcrdma_svc_page_count(call->unreduced);
}

/* Bytes of a Call of @pages pages. */
static u32 rpcrdma_svc_call_size(u32 pages)
{
	return sizeof(struct rpcrdma_svc_call) +
	       pages * (PAGE_SIZE + sizeof(struct page *));
}

/* Bytes of a Call of @pages pages that RDMA Reads fill. */
static u32 rpcrdma_svc_read_size(u32 pages)
{
	return rpcrdma_svc_call_size(pages) + sizeof(struct rpcrdma_svc_read) +
	       rpcrdma_svc_rw_size(RPCRDMA_MAX_RW_OPS, pages);
}

/* Bytes of a Call of so many, wherever its item begins. */
static u32 rpcrdma_svc_largest(u32 octets)
{
	return rpcrdma_svc_read_size(1 + rpcrdma_svc_page_count(octets));
}

/**
 * rpcrdma_svc_reserve - what the largest Call of a connection takes at first
 * @svc: the connection; max_call is known
 *
 * A client of Linux has no larger ones, whatever nfsd allows.
 *
 * Return: bytes.
 */
u32 rpcrdma_svc_reserve(const struct rpcrdma_svc *svc)
{
	return rpcrdma_svc_largest(min_t(u32, svc->max_call,
					 RPCRDMA_MAX_MESSAGE));
}

/*
 * Can there be a Call of @bytes? From the first on that takes more than was reserved, the
 * reserve is that of the largest that nfsd allows.
 *
 * Context: the Receive handler, no lock held.
 */
static bool rpcrdma_svc_admits(struct rpcrdma_svc *svc, u32 bytes)
{
	const u32 reserve = rpcrdma_svc_largest(svc->max_call);
	u32 before;
	bool eased;

	/* Nobody else changes the reserve. */
	if (!rpcrdma_account_fits(&svc->account, bytes))
		return true;
	if (bytes > reserve)
		return false;
	spin_lock(&svc->lock);
	before = svc->account.reserve;
	eased = rpcrdma_memory_extend(&svc->account, reserve);
	spin_unlock(&svc->lock);
	rpcrdma_conn_held(svc->conn, reserve - before);
	if (eased)
		rpcrdma_svc_eased(svc);
	/* Calls for which there was no memory before may have it now. */
	rpcrdma_svc_relax(svc);
	return true;
}

static void rpcrdma_svc_free_pages(struct page **pages, u32 count)
{
	if (!pages)
		return;
	release_pages(pages, count);
	kvfree(pages);
}

/* Fill @pages from @have to @want, or change nothing. */
static bool rpcrdma_svc_get_pages(struct page **pages, u32 have, u32 want)
{
	u32 n = have, more;

	while (n < want) {
		more = alloc_pages_bulk(GFP_KERNEL, want - n, pages + n);
		if (!more) {
			release_pages(pages + have, n - have);
			memset(pages + have, 0, (n - have) * sizeof(*pages));
			return false;
		}
		n += more;
	}
	return true;
}

static void rpcrdma_svc_copy_in(struct page **pages, u32 offset,
				const void *from, u32 length)
{
	u32 run;

	while (length) {
		run = min_t(u32, length, PAGE_SIZE - offset_in_page(offset));
		memcpy_to_page(pages[offset >> PAGE_SHIFT],
			       offset_in_page(offset), from, run);
		offset += run;
		from += run;
		length -= run;
	}
}

/**
 * rpcrdma_svc_copy_recv - copy bytes of a received message
 * @pages: to these
 * @offset: from here on
 * @recv: has the message
 * @from: the first byte of it
 * @length: how many
 */
void rpcrdma_svc_copy_recv(struct page **pages, u32 offset,
			   struct rpcrdma_recv *recv, u32 from, u32 length)
{
	const void *at;
	u32 run;

	recv->copied += length;
	while (length) {
		at = rpcrdma_recv_at(recv, from, &run);
		run = min(run, length);
		rpcrdma_svc_copy_in(pages, offset, at, run);
		offset += run;
		from += run;
		length -= run;
	}
}

/**
 * rpcrdma_svc_zero - set bytes to zero
 * @pages: in these
 * @offset: from here on
 * @end: the first byte that stays as it is
 */
void rpcrdma_svc_zero(struct page **pages, u32 offset, u32 end)
{
	u32 run;

	while (offset < end) {
		run = min_t(u32, end - offset,
			    PAGE_SIZE - offset_in_page(offset));
		memzero_page(pages[offset >> PAGE_SHIFT],
			     offset_in_page(offset), run);
		offset += run;
	}
}

/**
 * rpcrdma_svc_call_free - free a Call that is in no list
 * @call: the Call; its Receives, if it has any, stay the caller's
 */
void rpcrdma_svc_call_free(struct rpcrdma_svc_call *call)
{
	rpcrdma_svc_free_pages(call->pages, call->n_pages);
	kmem_cache_free(rpcrdma_svc_calls, call);
}

/**
 * rpcrdma_svc_call_alloc - begin a Call
 * @svc: the connection
 * @rx: the part of it that has come
 * @id: rpcrdma_svc_call_id()
 *
 * Return: the Call, or NULL.
 */
struct rpcrdma_svc_call *rpcrdma_svc_call_alloc(struct rpcrdma_svc *svc,
						const struct rpcrdma_rx *rx,
						u64 id)
{
	struct rpcrdma_svc_call *call;

	call = kmem_cache_alloc(rpcrdma_svc_calls, GFP_KERNEL);
	if (!call)
		return NULL;
	INIT_LIST_HEAD(&call->link);
	INIT_LIST_HEAD(&call->group);
	call->svc = svc;
	call->recv = NULL;
	call->pages = NULL;
	call->n_pages = 0;
	call->memory = 0;
	call->id = id;
	call->xid = rx->xid;
	call->length = rx->stream_length;
	call->base = 0;
	call->item.length = 0;
	call->directions.length = 0;
	call->n_results = 0;
	return call;
}

static bool rpcrdma_svc_call_has_reads(const struct rpcrdma_svc_call *call)
{
	return call->chunks.n_call || call->chunks.n_reads;
}

/*
 * What an operation has at least that brings data: SETXATTR its number, flags, a name and a
 * value, each of these with its length and a word. WRITE has more. GETATTR, which Linux has
 * behind a WRITE, has 20 bytes at most.
 */
#define RPCRDMA_SVC_LEAST_DATA	24

/**
 * rpcrdma_svc_item_apart - can nfsd have an item of a Call in pages of its own?
 * @stream: the Call without the item, as far as it is in front of it
 * @length: bytes of the Call without the item
 * @item: the item, within the Call
 *
 * nfsd takes some data as if all of them were in the head and the pages: an older one those of
 * WRITE and SETXATTR, see rpcrdma_compat_any_layout(), each one those of SYMLINK. So an item
 * must be all of what its operation brings, and no other operation may bring data behind it.
 *
 * Return: false if it has to be laid out as with TCP
 */
bool rpcrdma_svc_item_apart(const void *stream, u32 length,
			    const struct rpcrdma_range *item)
{
	u32 octets;

	if (item->offset < XDR_UNIT ||
	    length - item->offset >= RPCRDMA_SVC_LEAST_DATA)
		return false;
	octets = get_unaligned_be32(stream + item->offset - XDR_UNIT);
	/* The peer may count the roundup. */
	return octets <= item->length && xdr_align_size(octets) >= item->length;
}

/*
 * An item that begins at the start of a page fills the fewest pages: a WRITE of
 * the largest payload fits a memory region, and can be passed on page by page. The
 * rest of the Call is then in one page before it. A Call that fits one page as
 * a whole stays there.
 */
static void rpcrdma_svc_place_item(struct rpcrdma_svc_call *call)
{
	u32 length = call->length, run = PAGE_SIZE;
	struct rpcrdma_range item;
	const void *start;

	if (call->external || length > PAGE_SIZE ||
	    call->unreduced <= PAGE_SIZE)
		return;
	if (call->recv) {
		start = rpcrdma_recv_at(call->recv, call->payload.offset, &run);
		length = call->payload.length;
	} else {
		start = page_address(call->pages[0]);
	}
	/* What is in two pages, which is rare, stays together. */
	if (length > run ||
	    !rpcrdma_call_item(&call->chunks, start, length, &item) ||
	    item.offset > length || rpcrdma_svc_page_count(item.length) >=
				    call->svc->max_call >> PAGE_SHIFT ||
	    !rpcrdma_svc_item_apart(start, length, &item))
		return;
	call->item = item;
}

/**
 * rpcrdma_svc_call_complete - store what only the last part of a message says
 * @call: the Call
 * @rx: that part
 */
void rpcrdma_svc_call_complete(struct rpcrdma_svc_call *call,
			       const struct rpcrdma_rx *rx)
{
	const struct rpcrdma_chunks *chunks = &rx->chunks;

	call->unreduced = rx->unreduced_length;
	call->inv_handle = rx->inv_handle;
	call->external = rx->external;
	if (chunks->n_call || chunks->n_reads || chunks->n_writes ||
	    chunks->has_reply) {
		call->chunks = *chunks;
		if (rpcrdma_svc_call_has_reads(call))
			rpcrdma_svc_place_item(call);
		return;
	}
	rpcrdma_no_chunks(&call->chunks);
}

/**
 * rpcrdma_svc_call_ready - hand a Call to nfsd
 * @svc: the connection
 * @call: the Call; it may be gone when this returns
 */
void rpcrdma_svc_call_ready(struct rpcrdma_svc *svc,
			    struct rpcrdma_svc_call *call)
{
	/*
	 * Before it can be picked up. llist_add() is a full barrier: see
	 * rpcrdma_svc_read_done() and rpcrdma_svc_take_call().
	 */
	atomic_inc(&svc->n_ready);
	/* If it is not the first, whoever has added that one enqueues. */
	if (!llist_add(&call->came, &svc->came))
		return;
	set_bit(XPT_DATA, &svc->xprt.xpt_flags);
	svc_xprt_enqueue(&svc->xprt);
}

static void rpcrdma_svc_charge(struct rpcrdma_svc *svc,
			       struct rpcrdma_svc_call *call, u32 bytes)
{
	call->memory += bytes;
	spin_lock(&svc->lock);
	rpcrdma_memory_take(&svc->account, RPCRDMA_BUDGET_CALLS, bytes);
	spin_unlock(&svc->lock);
	rpcrdma_svc_replies_charged(svc);
}

/**
 * rpcrdma_svc_eased - a thread that has seen too many Replies may take Calls now
 * @svc: the connection
 */
void rpcrdma_svc_eased(struct rpcrdma_svc *svc)
{
	/* Pairs with the barrier in rpcrdma_svc_has_wspace(). */
	smp_mb();
	svc_xprt_enqueue(&svc->xprt);
}

static void rpcrdma_svc_uncharge(struct rpcrdma_svc *svc, u32 bytes)
{
	bool eased;

	spin_lock(&svc->lock);
	eased = rpcrdma_memory_put(&svc->account, RPCRDMA_BUDGET_CALLS, bytes);
	spin_unlock(&svc->lock);
	if (eased)
		rpcrdma_svc_eased(svc);
}

/* Tell the client that this Call gets no Reply, and would get none if sent again. */
static void rpcrdma_svc_refuse(struct rpcrdma_svc *svc, u32 xid, u32 errcode,
			       int status)
{
	trace_rpcrdma_call(svc->conn->id, xid, "cannot be taken", status);
	rpcrdma_conn_refuse(svc->conn, xid, errcode, 0, 0);
}

/* Free a Call that nfsd will not see; its connection may go on. */
static void rpcrdma_svc_call_drop(struct rpcrdma_svc *svc,
				  struct rpcrdma_svc_call *call)
{
	rpcrdma_svc_uncharge(svc, call->memory);
	rpcrdma_svc_call_free(call);
}

/* ------------------------------------------------------------------ */
/* RDMA Reads                                                         */
/* ------------------------------------------------------------------ */

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
	struct rpcrdma_svc *svc = call->svc;

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
	struct rpcrdma_svc *svc = call->svc;
	unsigned int nofs;

	rpcrdma_svc_rw_free(read->rw);
	kfree(read);

	/*
	 * First ready, then no longer being read: relax() looks for both. Whoever sees
	 * under the lock that it is not being read sees that it was made ready before.
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
	/* See rpcrdma_svc_payload(). */
	nofs = memalloc_nofs_save();
	rpcrdma_svc_relax(svc);
	memalloc_nofs_restore(nofs);
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

static void rpcrdma_svc_count_reads(struct rpcrdma_svc *svc,
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
static int rpcrdma_svc_read_start(struct rpcrdma_svc *svc,
				  struct rpcrdma_svc_call *call)
{
	u32 count = rpcrdma_svc_whole_pages(call);
	struct rpcrdma_recv *recv = call->recv;
	struct rpcrdma_svc_read *read;
	struct page **pages;
	int rc = -ENOMEM;

	read = kzalloc(sizeof(*read), GFP_KERNEL);
	pages = kvcalloc(count, sizeof(*pages), GFP_KERNEL);
	if (!read || !pages || !rpcrdma_svc_get_pages(pages, 0, count))
		goto out_free;
	read->rw = rpcrdma_svc_rw_alloc(svc->conn, call->id, DMA_FROM_DEVICE,
					rpcrdma_svc_count_ops(&call->chunks),
					call->unreduced);
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
rpcrdma_svc_read_next(struct rpcrdma_svc *svc)
	__must_hold(&svc->lock)
{
	struct rpcrdma_svc_call *call;
	u32 need;

	lockdep_assert_held(&svc->lock);
	call = list_first_entry_or_null(&svc->waiting, struct rpcrdma_svc_call,
					link);
	if (!call)
		return NULL;
	need = rpcrdma_svc_read_size(rpcrdma_svc_whole_pages(call));
	if (!rpcrdma_memory_call(&svc->account, need,
				 !svc->reading && !atomic_read(&svc->n_ready)))
		return NULL;
	list_del_init(&call->link);
	svc->alone = svc->reading++ ? NULL : call;
	return call;
}

/*
 * Reads of @call could not start: wait, or refuse the Call. Return: true to go
 * on with the waiting list.
 */
static bool rpcrdma_svc_read_failed(struct rpcrdma_svc *svc,
				    struct rpcrdma_svc_call *call, int rc)
{
	u32 size = rpcrdma_svc_read_size(rpcrdma_svc_whole_pages(call));
	struct rpcrdma_recv *recv = call->recv;
	bool again, eased;

	if (rc == -ENOMEM)
		rpcrdma_conn_lost(svc->conn, "no memory for a Call");
	spin_lock(&svc->lock);
	/* Memory regions come back when other Reads end, or have already come back. */
	if (rc == -ENOMEM || (rc == -EAGAIN && svc->alone != call)) {
		eased = rpcrdma_memory_put(&svc->account, RPCRDMA_BUDGET_CALLS,
					   size);
		list_add(&call->link, &svc->waiting);
		again = !--svc->reading && rc != -ENOMEM;
		spin_unlock(&svc->lock);
		if (eased)
			rpcrdma_svc_eased(svc);
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

/*
 * Memory may have become free: give back Receives, start RDMA Reads.
 *
 * Context: Process context, no lock held. May sleep.
 */
static void rpcrdma_svc_relax(struct rpcrdma_svc *svc)
{
	struct rpcrdma_svc_call *call;
	struct rpcrdma_recv *recv;
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
		rc = rpcrdma_svc_read_start(svc, call);
		if (rc && !rpcrdma_svc_read_failed(svc, call, rc))
			return;
		spin_lock(&svc->lock);
	}
	spin_unlock(&svc->lock);
}

/**
 * rpcrdma_svc_freed - Replies have given memory back that Calls may wait for
 * @svc: the connection, not yet destroyed
 *
 * Context: Process context, no lock held. May sleep.
 */
void rpcrdma_svc_freed(struct rpcrdma_svc *svc)
{
	unsigned int nofs;

	/* Whoever adds to these lists looks at the account afterwards. */
	if (list_empty_careful(&svc->waiting) && list_empty_careful(&svc->held))
		return;
	/* See rpcrdma_svc_payload(). */
	nofs = memalloc_nofs_save();
	rpcrdma_svc_relax(svc);
	memalloc_nofs_restore(nofs);
}

/* ------------------------------------------------------------------ */
/* The Receive handler                                                */
/* ------------------------------------------------------------------ */

/* Add the bytes of one Receive to a continued Call. */
static int rpcrdma_svc_append(struct rpcrdma_svc *svc,
			      struct rpcrdma_svc_call *call,
			      const struct rpcrdma_rx *rx,
			      struct rpcrdma_recv *recv)
{
	u32 have = call->n_pages;
	u32 want = rpcrdma_svc_page_count(rx->stream_offset +
					  rx->payload.length);

	if (rx->stream_offset > call->length ||
	    rx->payload.length > call->length - rx->stream_offset)
		return -EPROTO;
	if (want > have) {
		if (!rpcrdma_svc_get_pages(call->pages, have, want))
			return -ENOMEM;
		call->n_pages = want;
		rpcrdma_svc_charge(svc, call, (want - have) << PAGE_SHIFT);
	}
	rpcrdma_svc_copy_recv(call->pages, rx->stream_offset, recv,
			      rx->payload.offset, rx->payload.length);
	return 0;
}

static int rpcrdma_svc_begin(struct rpcrdma_svc *svc,
			     const struct rpcrdma_rx *rx, u64 id)
{
	u32 count = rpcrdma_svc_page_count(rx->stream_length);
	struct rpcrdma_svc_call *call;

	if (rx->stream_length > svc->max_call ||
	    !rpcrdma_svc_admits(svc, rpcrdma_svc_call_size(count)))
		return -EPROTO;
	call = rpcrdma_svc_call_alloc(svc, rx, id);
	if (!call)
		return -ENOMEM;
	call->pages = kvcalloc(count, sizeof(*call->pages), GFP_KERNEL);
	if (!call->pages) {
		rpcrdma_svc_call_free(call);
		return -ENOMEM;
	}
	rpcrdma_svc_charge(svc, call, sizeof(*call) +
				      count * sizeof(*call->pages));
	svc->partial = call;
	return 0;
}

static int rpcrdma_svc_wait(struct rpcrdma_svc *svc,
			    struct rpcrdma_svc_call *call)
{
	u32 pages;

	if (call->unreduced > svc->max_call || !call->unreduced)
		return -EPROTO;
	pages = rpcrdma_svc_whole_pages(call);
	if (!rpcrdma_svc_admits(svc, rpcrdma_svc_read_size(pages)))
		return -EPROTO;
	spin_lock(&svc->lock);
	list_add_tail(&call->link, &svc->waiting);
	spin_unlock(&svc->lock);
	rpcrdma_svc_relax(svc);
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
int rpcrdma_svc_call_fetch(struct rpcrdma_svc *svc,
			   struct rpcrdma_svc_call *call)
{
	if (call->recv)
		rpcrdma_svc_place_item(call);
	return rpcrdma_svc_wait(svc, call);
}

static int rpcrdma_svc_fragment(struct rpcrdma_svc *svc,
				const struct rpcrdma_rx *rx,
				struct rpcrdma_recv *recv,
				enum rpcrdma_recv_verdict *verdict)
{
	struct rpcrdma_svc_call *call;
	u64 id;
	int rc;

	if (!rx->stream_offset) {
		/* The Call was refused, and its rest has not come. */
		rpcrdma_svc_abandon(svc->conn, RPCRDMA_CALL);
		id = rpcrdma_svc_call_id(rx, recv);
		if (!rpcrdma_svc_failed_answer(svc, id)) {
			rc = rpcrdma_svc_begin(svc, rx, id);
			if (rc)
				return rc;
		}
	}
	call = svc->partial;
	/* The rest of a Call that has been refused. */
	if (!call)
		return 0;
	rc = rpcrdma_svc_append(svc, call, rx, recv);
	if (rc)
		return rc;

	/* The thread that gives enough memory back checks this list. */
	spin_lock(&svc->lock);
	if (rpcrdma_account_calls_full(&svc->account)) {
		list_add_tail(&recv->link, &svc->held);
		*verdict = RPCRDMA_RECV_KEEP;
	}
	spin_unlock(&svc->lock);
	if (!rx->last)
		return 0;

	/* The next owner may free it. */
	svc->partial = NULL;
	rpcrdma_svc_call_complete(call, rx);
	if (!rpcrdma_svc_call_has_reads(call)) {
		rpcrdma_svc_call_ready(svc, call);
		return 0;
	}
	rc = rpcrdma_svc_wait(svc, call);
	if (rc) {
		rpcrdma_svc_call_drop(svc, call);
		rpcrdma_svc_relax(svc);
	}
	return rc;
}

static int rpcrdma_svc_single(struct rpcrdma_svc *svc,
			      const struct rpcrdma_rx *rx,
			      struct rpcrdma_recv *recv,
			      enum rpcrdma_recv_verdict *verdict)
{
	u64 id = rpcrdma_svc_call_id(rx, recv);
	struct rpcrdma_svc_call *call;
	int rc;

	if (rpcrdma_svc_failed_answer(svc, id))
		return 0;
	if (rx->payload.length > svc->max_call)
		return -EPROTO;
	call = rpcrdma_svc_call_alloc(svc, rx, id);
	if (!call)
		return -ENOMEM;
	call->recv = recv;
	call->payload = rx->payload;
	rpcrdma_svc_call_complete(call, rx);
	if (rpcrdma_svc_call_has_reads(call)) {
		rc = rpcrdma_svc_wait(svc, call);
		if (rc) {
			rpcrdma_svc_call_free(call);
			return rc;
		}
	} else {
		call->length = rx->payload.length;
		rpcrdma_svc_call_ready(svc, call);
	}
	*verdict = RPCRDMA_RECV_KEEP;
	return 0;
}

/*
 * A client of version 1 may have more Calls here than it was granted: the kernel's
 * own client does not count Calls that it has given up. So not all Receives may hold Calls
 * that wait for threads: above a limit, Calls are copied. Their memory is bounded, see above.
 */
static bool rpcrdma_svc_copies(const struct rpcrdma_conn *conn,
			       const struct rpcrdma_rx *rx)
{
	const struct rpcrdma_svc *svc = conn->context;
	u32 kept = min_t(u32, RPCRDMA_SVC_V1_KEPT,
			 READ_ONCE(conn->n_recvs) / 4);

	return rx->vers == 1 && !rx->external &&
	       atomic_read(&svc->n_ready) >= kept;
}

/**
 * rpcrdma_svc_payload - bytes of an RPC message have come
 * @conn: the connection
 * @rx: describes them
 * @recv: holds them
 * @invalidated: not used: a server offers no memory that could be invalidated
 *
 * Context: the Receive handler. May sleep.
 *
 * Return: whether this keeps @recv.
 */
enum rpcrdma_recv_verdict rpcrdma_svc_payload(struct rpcrdma_conn *conn,
					      const struct rpcrdma_rx *rx,
					      struct rpcrdma_recv *recv,
					      u32 invalidated)
{
	enum rpcrdma_recv_verdict verdict = RPCRDMA_RECV_DONE;
	struct rpcrdma_svc *svc = conn->context;
	unsigned int nofs;
	int rc;

	/* If a Call could not be stored before, bytes may be missing. */
	if (test_bit(RPCRDMA_CONN_LOST, &conn->flags))
		return RPCRDMA_RECV_DONE;
	if (rx->dir != RPCRDMA_CALL) {
		rpcrdma_svc_bc_reply(conn, rx, recv);
		return RPCRDMA_RECV_DONE;
	}

	/* Reclaim could wait for an NFS WRITE that only this thread can receive. */
	nofs = memalloc_nofs_save();
	if (rpcrdma_rtr_carries(rx->htype))
		rc = rpcrdma_svc_group_payload(svc, rx, recv, &verdict);
	else if (rx->last && !rx->stream_offset &&
		 !rpcrdma_svc_copies(conn, rx))
		rc = rpcrdma_svc_single(svc, rx, recv, &verdict);
	else
		rc = rpcrdma_svc_fragment(svc, rx, recv, &verdict);
	memalloc_nofs_restore(nofs);
	if (rc == -ENOMEM) {
		/* The client will send the Call again, on another connection. */
		rpcrdma_conn_lost(conn, "no memory for a Call");
	} else if (rc) {
		rpcrdma_svc_refuse(svc, rx->xid, RPCRDMA2_ERR_SYSTEM, rc);
		if (svc->partial)
			trace_rpcrdma_abandon(conn->id, rx->xid, RPCRDMA_CALL,
					      "cannot be taken");
		rpcrdma_svc_abandon(conn, RPCRDMA_CALL);
	}
	return verdict;
}

/**
 * rpcrdma_svc_abandon - the rest of a continued message will not come
 * @conn: the connection
 * @dir: which message
 *
 * Context: the Receive handler. May sleep.
 */
void rpcrdma_svc_abandon(struct rpcrdma_conn *conn, u32 dir)
{
	struct rpcrdma_svc *svc = conn->context;
	struct rpcrdma_svc_call *call = svc->partial;
	unsigned int nofs;

	if (dir != RPCRDMA_CALL)
		return;
	rpcrdma_svc_group_abandon(svc);
	if (!call)
		return;
	svc->partial = NULL;
	rpcrdma_svc_call_drop(svc, call);
	nofs = memalloc_nofs_save();
	rpcrdma_svc_relax(svc);
	memalloc_nofs_restore(nofs);
}

/* Put the Calls that have come behind those that wait already, in their order. */
static void rpcrdma_svc_gather_calls(struct rpcrdma_svc *svc)
{
	struct llist_node *came = llist_del_all(&svc->came);
	struct rpcrdma_svc_call *call, *next;

	llist_for_each_entry_safe(call, next, llist_reverse_order(came), came)
		list_add_tail(&call->link, &svc->ready);
}

/**
 * rpcrdma_svc_drop_calls - free Calls that nobody picked up
 * @svc: its connection is destroyed, and all Receives with it; no thread looks at its
 *	lists any more
 *
 * Context: Process context.
 */
void rpcrdma_svc_drop_calls(struct rpcrdma_svc *svc)
{
	struct rpcrdma_svc_call *call, *next;

	rpcrdma_svc_gather_calls(svc);
	list_splice_init(&svc->waiting, &svc->ready);
	list_for_each_entry_safe(call, next, &svc->ready, link)
		rpcrdma_svc_call_free(call);
	INIT_LIST_HEAD(&svc->ready);
	INIT_LIST_HEAD(&svc->held);
	INIT_LIST_HEAD(&svc->group);
	if (svc->partial)
		rpcrdma_svc_call_free(svc->partial);
	svc->partial = NULL;
}

/* ------------------------------------------------------------------ */
/* nfsd threads                                                       */
/* ------------------------------------------------------------------ */

/*
 * sunrpc reads so many bytes of a Call in one piece, at most: the RPC header, which has 24 and
 * two bodies of authentication of up to 408, and behind it a length, the header of a token of
 * Kerberos and its confounder.
 */
#define RPCRDMA_SVC_ONE_PIECE	896U

/*
 * Swap the pages that @call fills for pages of @rqstp. Its bytes follow each other from page
 * to page, so they are where nfsd expects them: the first page is the head. Return: false
 * if it has to be copied.
 */
static bool rpcrdma_svc_swap(struct svc_rqst *rqstp,
			     struct rpcrdma_svc_call *call, u32 *count)
{
	u32 offset = call->recv->conn->recv_base + call->payload.offset;
	u32 base = offset_in_page(offset);
	u32 first = offset >> PAGE_SHIFT;

	if (!call->recv->pages || call->length < RPCRDMA_SVC_SWAP)
		return false;
	/* The head of a Receive for groups is less than a page. */
	if (call->recv->conn->recv_base &&
	    (call->length <= PAGE_SIZE || !rpcrdma_compat_any_layout()))
		return false;
	if (call->length > RPCRDMA_SVC_ONE_PIECE &&
	    PAGE_SIZE - base < RPCRDMA_SVC_ONE_PIECE)
		return false;
	*count = rpcrdma_svc_page_count(base + call->length);
	if (!rpcrdma_recv_swap(call->recv, first, *count, rqstp->rq_pages))
		return false;
	call->base = base;
	return true;
}

/* What follows an item goes on in the page after it, too: see rpcrdma_svc_fill_arg(). */
static bool rpcrdma_svc_ends_behind(const struct rpcrdma_svc_call *call,
				    u32 count)
{
	return call->item.length &&
	       rpcrdma_svc_page_count(call->length - call->item.offset) >= count;
}

/* Move the bytes of @call to @rqstp's pages. */
static void rpcrdma_svc_move(struct svc_rqst *rqstp,
			     struct rpcrdma_svc_call *call)
{
	u32 count = call->n_pages;

	if (call->pages) {
		release_pages(rqstp->rq_pages, count);
		memcpy(rqstp->rq_pages, call->pages,
		       count * sizeof(*call->pages));
		kvfree(call->pages);
		call->pages = NULL;
		call->n_pages = 0;
	} else if (!list_empty(&call->group)) {
		count = rpcrdma_svc_group_move(call, rqstp->rq_pages);
	} else if (!rpcrdma_svc_swap(rqstp, call, &count)) {
		count = rpcrdma_svc_page_count(call->length);
		rpcrdma_svc_copy_recv(rqstp->rq_pages, 0, call->recv,
				      call->payload.offset, call->length);
	}
	rpcrdma_compat_call_pages(rqstp, count,
				  rpcrdma_svc_ends_behind(call, count));
}

/*
 * The first page is the head, all others are pages, as with TCP. If an item has its own
 * pages, the first page is head and tail.
 */
static void rpcrdma_svc_fill_arg(struct svc_rqst *rqstp,
				 const struct rpcrdma_svc_call *call)
{
	u32 body = xdr_align_size(call->item.length);
	struct xdr_buf *arg = &rqstp->rq_arg;
	void *first = page_address(rqstp->rq_pages[0]) + call->base;

	arg->head[0].iov_base = first;
	arg->head[0].iov_len = body ? call->item.offset :
				      min_t(u32, call->length,
					    PAGE_SIZE - call->base);
	arg->pages = &rqstp->rq_pages[1];
	arg->page_base = 0;
	arg->page_len = body ? body : call->length - arg->head[0].iov_len;
	arg->tail[0].iov_base = body ? first + call->item.offset : NULL;
	arg->tail[0].iov_len = call->length - arg->head[0].iov_len -
			       arg->page_len;
	arg->len = call->length;
	arg->buflen = call->length;
	/*
	 * The peer may lie about where data end, see rpcrdma_svc_item_apart(). Behind the item
	 * nfsd then finds what the peer has sent behind it, not what the pages had before.
	 * Behind the largest item it may find the beginning of its own Reply.
	 */
	if (body)
		rpcrdma_svc_copy_in(arg->pages, body, arg->tail[0].iov_base,
				    arg->tail[0].iov_len);
}

/* Return: the Call that has been ready for longest, or NULL. */
static struct rpcrdma_svc_call *rpcrdma_svc_take_call(struct rpcrdma_svc *svc)
	__must_hold(&svc->lock)
{
	unsigned long *flags = &svc->xprt.xpt_flags;
	struct rpcrdma_svc_call *call;

	if (list_empty(&svc->ready))
		rpcrdma_svc_gather_calls(svc);
	call = list_first_entry_or_null(&svc->ready, struct rpcrdma_svc_call,
					link);
	if (call) {
		list_del_init(&call->link);
		atomic_dec(&svc->n_ready);
	}
	if (list_empty(&svc->ready)) {
		clear_bit(XPT_DATA, flags);
		/*
		 * Pairs with llist_add() in rpcrdma_svc_call_ready(): either the Call is
		 * seen here, or its XPT_DATA is set after this was cleared.
		 */
		smp_mb__after_atomic();
		if (!llist_empty(&svc->came))
			set_bit(XPT_DATA, flags);
	}
	return call;
}

/**
 * rpcrdma_svc_recvfrom - give a Call to an nfsd thread
 * @rqstp: gets the Call
 *
 * Context: Process context. May sleep, but does not wait for the client.
 *
 * Return: the size of the Call, or zero if there is none.
 */
int rpcrdma_svc_recvfrom(struct svc_rqst *rqstp)
{
	struct svc_xprt *xprt = rqstp->rq_xprt;
	struct rpcrdma_svc *svc = rpcrdma_svc_of(xprt);
	struct rpcrdma_svc_call *call;
	unsigned int nofs;
	bool relax = false;
	u32 ready;

	rpcrdma_compat_call_pages(rqstp, 0, false);
	rqstp->rq_xprt_ctxt = NULL;

	/* nfsd is about to close it. Its Calls are void: some are in Receives. */
	if (!rpcrdma_svc_enter(svc)) {
		svc_xprt_received(xprt);
		return 0;
	}
	spin_lock(&svc->lock);
	call = rpcrdma_svc_take_call(svc);
	ready = atomic_read(&svc->n_ready);
	if (call) {
		if (call->memory || svc->account.drawn)
			rpcrdma_memory_put(&svc->account, RPCRDMA_BUDGET_CALLS,
					   call->memory);
		relax = call->memory || (!ready && !list_empty(&svc->waiting));
	}
	spin_unlock(&svc->lock);
	/* Another thread may take the next one meanwhile. */
	svc_xprt_received(xprt);
	if (!call) {
		rpcrdma_svc_leave(svc);
		return 0;
	}

	trace_rpcrdma_serve(svc->conn->id, call->xid, call->length, ready);
	rpcrdma_svc_move(rqstp, call);
	if (call->recv)
		rpcrdma_conn_recv_put(svc->conn, call->recv);
	call->recv = NULL;
	if (!list_empty(&call->group))
		rpcrdma_svc_group_release(call);
	if (relax) {
		nofs = memalloc_nofs_save();
		rpcrdma_svc_relax(svc);
		memalloc_nofs_restore(nofs);
	}
	rpcrdma_svc_leave(svc);

	rpcrdma_svc_fill_arg(rqstp, call);
	rpcrdma_svc_group_causes(call, &rqstp->rq_arg.head[0]);
	rqstp->rq_xprt_ctxt = call;
	rqstp->rq_prot = IPPROTO_MAX;
	svc_xprt_copy_addrs(rqstp, xprt);
	set_bit(RQ_SECURE, &rqstp->rq_flags);
	if (test_bit(XPT_LOCAL, &xprt->xpt_flags))
		set_bit(RQ_LOCAL, &rqstp->rq_flags);
	else
		clear_bit(RQ_LOCAL, &rqstp->rq_flags);
	return rqstp->rq_arg.len;
}

/**
 * rpcrdma_svc_release_ctxt - a Call is over
 * @xprt: its transport
 * @ctxt: the value that rpcrdma_svc_recvfrom() left in rq_xprt_ctxt, or NULL; in between
 *	a deferred request may have kept it
 *
 * Context: Process context.
 */
void rpcrdma_svc_release_ctxt(struct svc_xprt *xprt, void *ctxt)
{
	if (ctxt)
		rpcrdma_svc_call_free(ctxt);
}

/**
 * rpcrdma_svc_calls_init - prepare for Calls
 *
 * Return: 0 or %-ENOMEM.
 */
int rpcrdma_svc_calls_init(void)
{
	rpcrdma_svc_calls = KMEM_CACHE(rpcrdma_svc_call, 0);
	return rpcrdma_svc_calls ? 0 : -ENOMEM;
}

/**
 * rpcrdma_svc_calls_exit - no Call is left
 */
void rpcrdma_svc_calls_exit(void)
{
	kmem_cache_destroy(rpcrdma_svc_calls);
}
