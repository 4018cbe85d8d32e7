// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The Receive handler: from Receives to Calls that nfsd can pick up.
 *
 * A Call that came in one Receive, without Read chunks, stays in the Receive buffer until a
 * thread of nfsd takes it (recvfrom.c). So at most a window of such Calls can exist. In version 1
 * fewer Calls stay there; the others are handled like continued Calls. A continued Call is copied
 * to its own pages, fragment by fragment. What bounds their memory is in call.c.
 *
 * What the handler allocates it gets at once, or not at all. Then the Receive is stalled, and all
 * that come after it, until the work item of what waits has got the memory, which it may wait for
 * (verbs/recv.c). After ten seconds without any it ends the connection, and the client sends its
 * Calls again on the next one. An attempt that fails changes nothing but what the next one begins
 * with: it abandons a Call that it finds begun.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include <trace/events/rpcrdma_v2.h>

#include "call.h"

/* Add the bytes of one Receive to a continued Call. */
static int rpcrdma_svc_append(struct rpcrdma_svc_xprt *svc,
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
		if (!rpcrdma_svc_get_pages(call->pages, have, want,
					   rpcrdma_svc_gfp(svc)))
			return -ENOMEM;
		call->n_pages = want;
		rpcrdma_svc_charge(svc, call, (want - have) << PAGE_SHIFT);
	}
	rpcrdma_svc_copy_recv(call->pages, rx->stream_offset, recv,
			      rx->payload.offset, rx->payload.length);
	return 0;
}

static int rpcrdma_svc_begin(struct rpcrdma_svc_xprt *svc,
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
	call->pages = kvcalloc(count, sizeof(*call->pages),
			       rpcrdma_svc_gfp(svc));
	if (!call->pages) {
		rpcrdma_svc_call_free(call);
		return -ENOMEM;
	}
	rpcrdma_svc_charge(svc, call, sizeof(*call) +
				      count * sizeof(*call->pages));
	svc->partial = call;
	return 0;
}

/*
 * A Receive that stays here holds back credit in version 2. A client of version 1 gets its credit
 * with the Reply, so it may find no Receive. Then its adapter tries again, but iWARP ends the
 * connection. So there as many small Calls are taken as it may have. Those with chunks wait
 * until they are read, and are held.
 */
static bool rpcrdma_svc_calls_full(const struct rpcrdma_svc_xprt *svc,
				   const struct rpcrdma_rx *rx)
	__must_hold(&svc->lock)
{
	const struct rpcrdma_conn *conn = svc->conn;

	return rpcrdma_account_calls_full(&svc->account) &&
	       (rx->vers != 1 || !conn->iwarp || rx->chunks.n_reads ||
		atomic_read(&svc->n_ready) >= READ_ONCE(conn->n_recvs));
}

static int rpcrdma_svc_fragment(struct rpcrdma_svc_xprt *svc,
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
	if (rpcrdma_svc_calls_full(svc, rx)) {
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
	rc = rpcrdma_svc_read_queue(svc, call);
	if (rc) {
		rpcrdma_svc_call_drop(svc, call);
		rpcrdma_svc_freed(svc);
	}
	return rc;
}

static int rpcrdma_svc_single(struct rpcrdma_svc_xprt *svc,
			      const struct rpcrdma_rx *rx,
			      struct rpcrdma_recv *recv,
			      enum rpcrdma_recv_verdict *verdict)
{
	u64 id = rpcrdma_svc_call_id(rx, recv);
	struct rpcrdma_svc_call *call;
	int rc;

	/* The same Call was to be copied when it came first, and then there was no memory. */
	if (unlikely(svc->partial))
		rpcrdma_svc_abandon(svc->conn, RPCRDMA_CALL);
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
		rc = rpcrdma_svc_read_queue(svc, call);
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
 * that wait for threads: above a limit, Calls are copied. Their memory is bounded, see call.c.
 */
static bool rpcrdma_svc_copies(const struct rpcrdma_conn *conn,
			       const struct rpcrdma_rx *rx)
{
	const struct rpcrdma_svc_xprt *svc = conn->context;
	u32 kept = min_t(u32, RPCRDMA_SVC_V1_KEPT,
			 READ_ONCE(conn->n_recvs) / 4);

	return rx->vers == 1 && !rx->external &&
	       atomic_read(&svc->n_ready) >= kept;
}

/* There is no memory for what has come. */
static enum rpcrdma_recv_verdict
rpcrdma_svc_recv_short(struct rpcrdma_svc_xprt *svc,
		       const struct rpcrdma_rx *rx)
{
	bool again;

	if (!rpcrdma_conn_stalled(svc->conn)) {
		trace_rpcrdma_call(svc->conn->id, rx->xid,
				   "Call waits for memory", -ENOMEM);
		return RPCRDMA_RECV_AGAIN;
	}
	spin_lock(&svc->lock);
	again = rpcrdma_svc_short(svc, &svc->stalled_since);
	spin_unlock(&svc->lock);
	if (again)
		return RPCRDMA_RECV_AGAIN;
	/* The client will send the Call again, on another connection. */
	rpcrdma_conn_lost(svc->conn, "no memory for a Call");
	return RPCRDMA_RECV_DONE;
}

/**
 * rpcrdma_svc_stalled - the Receive handler got no memory: the work item tries, and may wait
 * @conn: the connection
 *
 * Context: the Receive handler.
 */
void rpcrdma_svc_stalled(struct rpcrdma_conn *conn)
{
	rpcrdma_svc_resume_soon(conn->context);
}

/**
 * rpcrdma_svc_payload - bytes of an RPC message have come
 * @conn: the connection
 * @rx: describes them
 * @recv: holds them
 * @invalidated: not used: a server offers no memory that could be invalidated
 *
 * Context: the Receive handler, or rpcrdma_conn_recv_again(). May sleep.
 *
 * Return: whether this keeps @recv, or has to get it again.
 */
enum rpcrdma_recv_verdict rpcrdma_svc_payload(struct rpcrdma_conn *conn,
					      const struct rpcrdma_rx *rx,
					      struct rpcrdma_recv *recv,
					      u32 invalidated)
{
	enum rpcrdma_recv_verdict verdict = RPCRDMA_RECV_DONE;
	struct rpcrdma_svc_xprt *svc = conn->context;
	unsigned int noio;
	int rc;

	/* If a Call could not be stored before, bytes may be missing. */
	if (test_bit(RPCRDMA_CONN_LOST, &conn->flags))
		return RPCRDMA_RECV_DONE;
	/* The work item has more to do than to catch up with the peer. */
	if (rpcrdma_conn_stalled(conn)) {
		rpcrdma_svc_free_ended(svc);
		(void)rpcrdma_svc_writes_resume(svc);
	}
	if (rx->dir != RPCRDMA_CALL) {
		rpcrdma_svc_bc_reply(conn, rx, recv);
		return RPCRDMA_RECV_DONE;
	}

	/* See xprt.c. Or reclaim could wait for an NFS WRITE that only this thread can receive. */
	noio = memalloc_noio_save();
	if (rpcrdma_rtr_carries(rx->htype))
		rc = rpcrdma_svc_group_payload(svc, rx, recv, &verdict);
	else if (rx->last && !rx->stream_offset &&
		 !rpcrdma_svc_copies(conn, rx))
		rc = rpcrdma_svc_single(svc, rx, recv, &verdict);
	else
		rc = rpcrdma_svc_fragment(svc, rx, recv, &verdict);
	memalloc_noio_restore(noio);
	if (rc == -ENOMEM)
		return rpcrdma_svc_recv_short(svc, rx);
	if (unlikely(svc->stalled_since))
		svc->stalled_since = 0;
	if (rc) {
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
void rpcrdma_svc_abandon(struct rpcrdma_conn *conn, enum rpcrdma_dir dir)
{
	struct rpcrdma_svc_xprt *svc = conn->context;
	struct rpcrdma_svc_call *call = svc->partial;

	if (dir != RPCRDMA_CALL)
		return;
	rpcrdma_svc_group_abandon(svc);
	if (!call)
		return;
	svc->partial = NULL;
	rpcrdma_svc_call_drop(svc, call);
	rpcrdma_svc_freed(svc);
}
