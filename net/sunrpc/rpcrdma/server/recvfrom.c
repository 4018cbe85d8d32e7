// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A thread of nfsd takes a Call.
 *
 * It swaps the pages that the Call fills for its own, whether they are those of a Receive or were
 * allocated, or it copies what is small. Then the peer gets the credit of the Receive back.
 */
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/slab.h>

#include <trace/events/rpcrdma_v2.h>

#include "call.h"

/* Put the Calls that have come behind those that wait already, in their order. */
static void rpcrdma_svc_gather_calls(struct rpcrdma_svc_xprt *svc,
				     struct llist_node *came)
{
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
void rpcrdma_svc_drop_calls(struct rpcrdma_svc_xprt *svc)
{
	struct rpcrdma_svc_call *call, *next;

	rpcrdma_svc_gather_calls(svc, llist_del_all(&svc->came));
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
static void rpcrdma_svc_place_call(struct svc_rqst *rqstp,
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

/* Return: the Call that has been ready for longest, in no list any more, or NULL. */
static struct rpcrdma_svc_call *
rpcrdma_svc_first_call(struct rpcrdma_svc_xprt *svc)
	__must_hold(&svc->lock)
{
	struct rpcrdma_svc_call *call;
	struct llist_node *came;

	if (list_empty(&svc->ready)) {
		came = llist_del_all(&svc->came);
		/* Most often it is a single one. */
		if (came && !came->next)
			return llist_entry(came, struct rpcrdma_svc_call, came);
		rpcrdma_svc_gather_calls(svc, came);
	}
	call = list_first_entry_or_null(&svc->ready, struct rpcrdma_svc_call,
					link);
	if (call)
		list_del_init(&call->link);
	return call;
}

/* Return: as rpcrdma_svc_first_call(), which is not counted any more. */
static struct rpcrdma_svc_call *
rpcrdma_svc_take_call(struct rpcrdma_svc_xprt *svc)
	__must_hold(&svc->lock)
{
	unsigned long *flags = &svc->xprt.xpt_flags;
	struct rpcrdma_svc_call *call = rpcrdma_svc_first_call(svc);

	if (call) {
		atomic_dec(&svc->n_ready);
		if (call->memory)
			atomic_dec(&svc->n_charged);
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
	struct rpcrdma_svc_xprt *svc = rpcrdma_svc_of(xprt);
	struct rpcrdma_svc_call *call;
	bool resume = false;
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
		resume = call->memory || (!ready && !list_empty(&svc->waiting));
	}
	spin_unlock(&svc->lock);
	/* Another thread may take the next one meanwhile. */
	svc_xprt_received(xprt);
	if (!call) {
		rpcrdma_svc_leave(svc);
		return 0;
	}

	trace_rpcrdma_serve(svc->conn->id, call->xid, call->length, ready);
	rpcrdma_svc_place_call(rqstp, call);
	if (call->recv)
		rpcrdma_conn_recv_put(svc->conn, call->recv);
	call->recv = NULL;
	if (!list_empty(&call->group))
		rpcrdma_svc_group_release(call);
	if (resume)
		rpcrdma_svc_freed(svc);
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
