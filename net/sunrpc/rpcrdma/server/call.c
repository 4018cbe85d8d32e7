// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A Call of a client: its memory, and how it is laid out in that.
 *
 * Bounds. The account counts the Calls of a connection, from their allocation until nfsd has
 * taken them: pages, pointers to pages, what describes RDMA Reads, and S, the size of
 * struct rpcrdma_svc_call. It does not count Calls that wait in Receives, S bytes each: the
 * connection holds so much for each Receive from its beginning. With
 * C = RPCRDMA_SVC_CALL_MEMORY, M the largest Call with all that, W the
 * largest window, I the size of a Receive:
 *
 * - While Calls have C or more, or the account has more than the module's budget had for
 *   it, the Receive of a fragment is held back after it has been copied, and with it the
 *   credit. So at most W more fragments arrive, each of which takes at most
 *   I / PAGE_SIZE + 2 pages, and begins at most one Call. A Call has pointers for all its
 *   pages, P bytes at most. A client of version 1 whose adapter speaks iWARP may send W small
 *   Calls more: see rpcrdma_svc_calls_full().
 * - RDMA Reads start if Calls then have no more than C, and if the account has or gets
 *   the memory. A Call that cannot start them waits, in order of arrival, and keeps its
 *   Receive if it has one, or those of its group. It may start in any case if no other Call
 *   is being read, and none that is ready holds memory.
 *
 * So Calls never have more than C + M + W * (I + 2 * PAGE_SIZE + S + P), and while the budget
 * is used up no more than 2 * M + W * (I + 2 * PAGE_SIZE + S + P).
 *
 * Why this cannot block for ever: Calls that are ready are picked up, since
 * nfsd threads never wait for this connection (a Reply that lacks credit is
 * left to the connection), but for Replies that can be sent. Reads that are under way end,
 * or the connection does. Then the first waiting Call may start. It does not wait for Calls that
 * lie in their Receives: they would give nothing back, and there may always be others of them.
 * When no Call waits either, and no Reply, only the partial Call is counted, which has at most M
 * bytes, what is reserved for it (rpcrdma_svc_admits()); then nothing is held back, and its
 * fragments can come. Each of these steps calls rpcrdma_svc_freed(). None of them waits for
 * another connection. The search of tools/testing/sim visits all states of this.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/slab.h>

#include <trace/events/rpcrdma_v2.h>

#include "call.h"

static struct kmem_cache *rpcrdma_svc_calls;

struct workqueue_struct *rpcrdma_svc_calls_wq;

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
u32 rpcrdma_svc_reserve(const struct rpcrdma_svc_xprt *svc)
{
	return rpcrdma_svc_largest(min_t(u32, svc->max_call,
					 RPCRDMA_MAX_MESSAGE));
}

/**
 * rpcrdma_svc_admits - can there be a Call that takes so much?
 * @svc: the connection
 * @bytes: all that is counted of it
 *
 * From the first Call on that takes more than was reserved, the reserve is that of the largest
 * that nfsd allows.
 *
 * Context: the Receive handler, no lock held.
 *
 * Return: false if there cannot.
 */
bool rpcrdma_svc_admits(struct rpcrdma_svc_xprt *svc, u32 bytes)
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
	rpcrdma_conn_charged(svc->conn, reserve - before);
	if (eased)
		rpcrdma_svc_eased(svc);
	/* Calls for which there was no memory before may have it now. */
	rpcrdma_svc_freed(svc);
	return true;
}

/**
 * rpcrdma_svc_charge - a Call takes more memory
 * @svc: the connection
 * @call: the Call
 * @bytes: how much
 *
 * Context: Process context, no lock held.
 */
void rpcrdma_svc_charge(struct rpcrdma_svc_xprt *svc,
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
void rpcrdma_svc_eased(struct rpcrdma_svc_xprt *svc)
{
	/* Pairs with the barrier in rpcrdma_svc_has_wspace(). */
	smp_mb();
	svc_xprt_enqueue(&svc->xprt);
}

/**
 * rpcrdma_svc_uncharge - Calls take less memory
 * @svc: the connection; the caller calls rpcrdma_svc_freed() when it can
 * @bytes: how much less
 *
 * Context: Process context, no lock held.
 */
void rpcrdma_svc_uncharge(struct rpcrdma_svc_xprt *svc, u32 bytes)
{
	bool eased;

	spin_lock(&svc->lock);
	eased = rpcrdma_memory_put(&svc->account, RPCRDMA_BUDGET_CALLS, bytes);
	spin_unlock(&svc->lock);
	if (eased)
		rpcrdma_svc_eased(svc);
}

/**
 * rpcrdma_svc_free_pages - free an array of pages
 * @pages: the array, or NULL
 * @count: how many it has
 */
void rpcrdma_svc_free_pages(struct page **pages, u32 count)
{
	if (!pages)
		return;
	release_pages(pages, count);
	kvfree(pages);
}

/**
 * rpcrdma_svc_get_pages - allocate pages of a Call
 * @pages: the array
 * @have: how many it has
 * @want: how many it is to have
 * @gfp: how to get them
 *
 * Context: Process context. May sleep, if @gfp says so.
 *
 * Return: false if there is no memory; nothing has changed then.
 */
bool rpcrdma_svc_get_pages(struct page **pages, u32 have, u32 want, gfp_t gfp)
{
	u32 n = have, more;

	while (n < want) {
		more = alloc_pages_bulk(gfp, want - n, pages + n);
		if (!more) {
			release_pages(pages + have, n - have);
			memset(pages + have, 0, (n - have) * sizeof(*pages));
			return false;
		}
		n += more;
	}
	return true;
}

/**
 * rpcrdma_svc_copy_in - copy bytes
 * @pages: to these
 * @offset: from here on
 * @from: the bytes
 * @length: how many
 */
void rpcrdma_svc_copy_in(struct page **pages, u32 offset, const void *from,
			 u32 length)
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
 * rpcrdma_svc_gfp - how to allocate what a Call needs that comes in
 * @svc: the connection
 *
 * Others wait for the Receive handler. So it takes what is there. If that is too little, the work
 * item of what waits tries.
 *
 * Return: flags.
 */
gfp_t rpcrdma_svc_gfp(const struct rpcrdma_svc_xprt *svc)
{
	return rpcrdma_conn_stalled(svc->conn) ? RPCRDMA_SVC_GFP_TRY :
						 GFP_NOWAIT | __GFP_NOWARN;
}

/**
 * rpcrdma_svc_call_alloc - begin a Call
 * @svc: the connection
 * @rx: the part of it that has come
 * @id: rpcrdma_svc_call_id()
 *
 * Context: see rpcrdma_svc_gfp().
 *
 * Return: the Call, or NULL.
 */
struct rpcrdma_svc_call *rpcrdma_svc_call_alloc(struct rpcrdma_svc_xprt *svc,
						const struct rpcrdma_rx *rx,
						u64 id)
{
	struct rpcrdma_svc_call *call;

	call = kmem_cache_alloc(rpcrdma_svc_calls, rpcrdma_svc_gfp(svc));
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
	call->short_since = 0;
	return call;
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

/**
 * rpcrdma_svc_place_item - let the item of a Call have pages of its own, if it may
 * @call: the Call, with the Read chunks that bring the item
 *
 * An item that begins at the start of a page fills the fewest pages: a WRITE of
 * the largest payload fits a memory region, and can be passed on page by page. The
 * rest of the Call is then in one page before it. A Call that fits one page as
 * a whole stays there.
 */
void rpcrdma_svc_place_item(struct rpcrdma_svc_call *call)
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
void rpcrdma_svc_call_ready(struct rpcrdma_svc_xprt *svc,
			    struct rpcrdma_svc_call *call)
{
	/*
	 * Before it can be picked up. llist_add() is a full barrier: see
	 * rpcrdma_svc_read_done() and rpcrdma_svc_take_call().
	 */
	atomic_inc(&svc->n_ready);
	if (call->memory)
		atomic_inc(&svc->n_charged);
	/* If it is not the first, whoever has added that one enqueues. */
	if (!llist_add(&call->came, &svc->came))
		return;
	set_bit(XPT_DATA, &svc->xprt.xpt_flags);
	svc_xprt_enqueue(&svc->xprt);
}

/**
 * rpcrdma_svc_refuse - tell a client that a Call gets no Reply, and would get none if sent again
 * @svc: the connection
 * @xid: of the Call
 * @errcode: enum rpcrdma_errcode
 * @status: for the trace, a negative errno
 *
 * Context: Process context, no lock held.
 */
void rpcrdma_svc_refuse(struct rpcrdma_svc_xprt *svc, u32 xid, u32 errcode,
			int status)
{
	trace_rpcrdma_call(svc->conn->id, xid, "cannot be taken", status);
	rpcrdma_conn_refuse(svc->conn, xid, errcode, 0, 0);
}

/**
 * rpcrdma_svc_call_drop - free a Call that nfsd will not see; its connection may go on
 * @svc: the connection
 * @call: the Call, in no list
 *
 * Context: Process context, no lock held.
 */
void rpcrdma_svc_call_drop(struct rpcrdma_svc_xprt *svc,
			   struct rpcrdma_svc_call *call)
{
	rpcrdma_svc_uncharge(svc, call->memory);
	rpcrdma_svc_call_free(call);
}

/**
 * rpcrdma_svc_calls_init - prepare for Calls
 *
 * Return: 0 or %-ENOMEM.
 */
int rpcrdma_svc_calls_init(void)
{
	/*
	 * Reclaim could wait for an NFS WRITE that only this work fetches: so it has a rescuer, and
	 * never waits for what frees connections, which takes long.
	 */
	rpcrdma_svc_calls_wq = alloc_workqueue("rpcrdma_calls",
					       WQ_UNBOUND | WQ_MEM_RECLAIM, 0);
	if (!rpcrdma_svc_calls_wq)
		return -ENOMEM;
	rpcrdma_svc_calls = KMEM_CACHE(rpcrdma_svc_call, 0);
	if (rpcrdma_svc_calls)
		return 0;
	destroy_workqueue(rpcrdma_svc_calls_wq);
	return -ENOMEM;
}

/**
 * rpcrdma_svc_calls_exit - no Call is left
 */
void rpcrdma_svc_calls_exit(void)
{
	kmem_cache_destroy(rpcrdma_svc_calls);
	destroy_workqueue(rpcrdma_svc_calls_wq);
}
