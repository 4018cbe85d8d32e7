// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Calls from the server to the client (section 4.6): NFSv4.1 callbacks. The
 * client answers them on the connection on which they arrived.
 *
 * A callback and its Reply fit in one page each: the NFS client tells the
 * server so when it creates the session. The session refuses a longer callback.
 *
 * The Receive handler takes callbacks, and it also completes the WRITEs that
 * memory reclaim waits for. So it never waits for memory: memory for as many callbacks as
 * the upper layer has asked for exists already; others are refused if there is none.
 */
#include <linux/slab.h>
#include <linux/sunrpc/bc_xprt.h>
#include <linux/sunrpc/svc.h>

#include "client.h"

/* Callbacks at once; sunrpc's BC_MAX_SLOTS has the same value. */
#define RPCRDMA_BC_SLOTS	64

/**
 * struct rpcrdma_bc_call - a call from the server
 * @rqst: what sunrpc sees; first member
 * @spare: in the list of those that have memory and no call
 * @ref: one for the upper layer, one for the send queue while the answer is in it
 * @r_xprt: the transport, referenced while the upper layer has @rqst. The other
 *	users end with the connection, which ends before the transport.
 * @conn: the connection that it came by, referenced
 * @tm: the answer
 * @arg: page of the call
 * @res: page of the answer
 */
struct rpcrdma_bc_call {
	struct rpc_rqst rqst;
	struct list_head spare;
	struct kref ref;
	struct rpcrdma_xprt *r_xprt;
	struct rpcrdma_conn *conn;
	struct rpcrdma_txmsg tm;
	struct page *arg;
	struct page *res;
};

static void rpcrdma_bc_call_free(struct rpcrdma_bc_call *call)
{
	if (call->arg)
		__free_page(call->arg);
	if (call->res)
		__free_page(call->res);
	kfree(call);
	atomic_dec(&rpcrdma_live[RPCRDMA_LIVE_CALLBACKS]);
}

static struct rpcrdma_bc_call *rpcrdma_bc_call_alloc(gfp_t gfp)
{
	struct rpcrdma_bc_call *call = kzalloc(sizeof(*call), gfp);

	if (!call)
		return NULL;
	atomic_inc(&rpcrdma_live[RPCRDMA_LIVE_CALLBACKS]);
	call->arg = alloc_page(gfp);
	call->res = alloc_page(gfp);
	if (call->arg && call->res)
		return call;
	rpcrdma_bc_call_free(call);
	return NULL;
}

/* Keep it for the next call, unless the upper layer's number is reached. */
static void rpcrdma_bc_call_keep(struct rpcrdma_xprt *r_xprt,
				 struct rpcrdma_bc_call *call)
{
	struct rpc_xprt *xprt = &r_xprt->xprt;
	bool keep;

	spin_lock_bh(&xprt->bc_pa_lock);
	keep = r_xprt->bc_spares < r_xprt->bc_users;
	if (keep) {
		list_add(&call->spare, &r_xprt->bc_spare);
		r_xprt->bc_spares++;
	}
	spin_unlock_bh(&xprt->bc_pa_lock);
	if (!keep)
		rpcrdma_bc_call_free(call);
}

static struct rpcrdma_bc_call *rpcrdma_bc_call_take(struct rpcrdma_xprt *r_xprt)
{
	struct rpc_xprt *xprt = &r_xprt->xprt;
	struct rpcrdma_bc_call *call;

	spin_lock_bh(&xprt->bc_pa_lock);
	call = list_first_entry_or_null(&r_xprt->bc_spare, struct rpcrdma_bc_call,
					spare);
	if (call) {
		list_del(&call->spare);
		r_xprt->bc_spares--;
	}
	spin_unlock_bh(&xprt->bc_pa_lock);
	return call ? call : rpcrdma_bc_call_alloc(GFP_NOWAIT | __GFP_NOWARN);
}

static void rpcrdma_bc_call_release(struct kref *ref)
{
	struct rpcrdma_bc_call *call = container_of(ref, struct rpcrdma_bc_call,
						    ref);
	struct rpcrdma_xprt *r_xprt = call->r_xprt;
	struct page *arg = call->arg, *res = call->res;

	rpcrdma_conn_put(call->conn);
	atomic_dec(&r_xprt->bc_calls);
	memset(call, 0, sizeof(*call));
	call->arg = arg;
	call->res = res;
	rpcrdma_bc_call_keep(r_xprt, call);
}

static void rpcrdma_bc_call_put(struct rpcrdma_bc_call *call)
{
	kref_put(&call->ref, rpcrdma_bc_call_release);
}

static struct rpcrdma_bc_call *rpcrdma_bc_call_get(struct rpcrdma_conn *conn,
						   u32 xid, u32 length)
{
	struct rpcrdma_xprt *r_xprt = conn->context;
	struct rpcrdma_bc_call *call;
	struct rpc_rqst *rqst;

	if (!r_xprt->xprt.bc_serv)
		return NULL;
	if (atomic_inc_return(&r_xprt->bc_calls) > RPCRDMA_BC_SLOTS) {
		atomic_dec(&r_xprt->bc_calls);
		return NULL;
	}
	call = rpcrdma_bc_call_take(r_xprt);
	if (!call) {
		atomic_dec(&r_xprt->bc_calls);
		return NULL;
	}
	kref_init(&call->ref);
	call->r_xprt = r_xprt;
	call->conn = rpcrdma_conn_get(conn);
	INIT_LIST_HEAD(&call->tm.link);

	rqst = &call->rqst;
	rqst->rq_xprt = &r_xprt->xprt;
	rqst->rq_xid = cpu_to_be32(xid);
	/* The Reply goes before Calls that wait for room: see rpcrdma_reserve_xprt(). */
	rqst->rq_cong = 1;
	__set_bit(RPC_BC_PA_IN_USE, &rqst->rq_bc_pa_state);
	xdr_buf_init(&rqst->rq_snd_buf, page_address(call->res), PAGE_SIZE);
	xdr_buf_init(&rqst->rq_rcv_buf, page_address(call->arg), PAGE_SIZE);
	rqst->rq_rcv_buf.head[0].iov_len = length;
	rqst->rq_rcv_buf.len = length;
	rqst->rq_private_buf.len = length;
	return call;
}

/*
 * Before Linux 6.19 nobody clears bc_serv when the service ends; that is after the last
 * NFS session has given up the back channel. Since 6.19 sunrpc clears it under bc_pa_lock.
 * The transport may be ending, too.
 */
static bool rpcrdma_bc_enqueue(struct rpcrdma_xprt *r_xprt, struct rpc_rqst *rqst)
{
	struct rpc_xprt *xprt = &r_xprt->xprt;
	bool taken;

	spin_lock_bh(&xprt->bc_pa_lock);
	taken = r_xprt->bc_users && xprt->bc_serv && xprt_get(xprt);
	if (taken) {
		atomic_inc(&xprt->bc_slot_count);
		rpcrdma_compat_bc_enqueue(xprt->bc_serv, rqst);
	}
	spin_unlock_bh(&xprt->bc_pa_lock);
	return taken;
}

/**
 * rpcrdma_bc_call - bytes of a call from the server
 * @conn: the connection
 * @rx: describes them
 * @recv: holds them
 *
 * Context: the Receive handler; process context.
 */
void rpcrdma_bc_call(struct rpcrdma_conn *conn, const struct rpcrdma_rx *rx,
		     struct rpcrdma_recv *recv)
{
	struct rpcrdma_xprt *r_xprt = conn->context;
	struct rpcrdma_bc_call *call = r_xprt->bc_assembly;

	if (!rx->stream_offset) {
		/* The call was refused, and its rest has not come. */
		rpcrdma_bc_abandon(conn, RPCRDMA_CALL);
		call = rpcrdma_bc_call_get(conn, rx->xid, rx->stream_length);
		if (!call)
			rpcrdma_conn_refuse(conn, rx->xid, RPCRDMA2_ERR_SYSTEM,
					    0, 0);
	}
	r_xprt->bc_assembly = rx->last ? NULL : call;
	if (!call)
		return;
	rpcrdma_recv_read(recv, rx->payload.offset,
			  page_address(call->arg) + rx->stream_offset,
			  rx->payload.length);
	recv->copied += rx->payload.length;
	if (!rx->last)
		return;

	if (rpcrdma_bc_enqueue(r_xprt, &call->rqst))
		return;
	rpcrdma_conn_refuse(conn, rx->xid, RPCRDMA2_ERR_SYSTEM, 0, 0);
	rpcrdma_bc_call_put(call);
}

/**
 * rpcrdma_bc_abandon - a partly received message is void
 * @conn: the connection
 * @dir: of the message; only Calls have memory here
 *
 * Context: the Receive handler, or nothing is received any more.
 */
void rpcrdma_bc_abandon(struct rpcrdma_conn *conn, enum rpcrdma_dir dir)
{
	struct rpcrdma_xprt *r_xprt = conn->context;
	struct rpcrdma_bc_call *call = r_xprt->bc_assembly;

	if (dir != RPCRDMA_CALL || !call)
		return;
	r_xprt->bc_assembly = NULL;
	rpcrdma_bc_call_put(call);
}

static void rpcrdma_bc_sent(struct rpcrdma_txmsg *tm, int status)
{
	struct rpcrdma_bc_call *call = container_of(tm, struct rpcrdma_bc_call,
						    tm);

	/* The ERROR tells the server that no answer comes (7.4). */
	if (status)
		rpcrdma_conn_lost(call->conn, "callback not answered");
	rpcrdma_bc_call_put(call);
}

/**
 * rpcrdma_bc_send_reply - answer a call from the server
 * @rqst: the call; its rq_snd_buf is the answer
 *
 * Context: the caller holds the transport's write lock.
 *
 * Return: 0, or %-ENOTCONN if the connection of the call is gone: the server
 * will call again on another connection.
 */
int rpcrdma_bc_send_reply(struct rpc_rqst *rqst)
{
	struct rpcrdma_bc_call *call = container_of(rqst,
						    struct rpcrdma_bc_call,
						    rqst);
	struct rpcrdma_txmsg *tm = &call->tm;
	int rc;

	if (call->r_xprt->conn != call->conn)
		return -ENOTCONN;
	tm->msg.xid = be32_to_cpu(rqst->rq_xid);
	tm->msg.dir = RPCRDMA_REPLY;
	tm->msg.length = rqst->rq_snd_buf.len;
	tm->xdr = &rqst->rq_snd_buf;
	tm->done = rpcrdma_bc_sent;
	kref_get(&call->ref);
	rc = rpcrdma_conn_send(call->conn, tm);
	if (rc)
		rpcrdma_bc_call_put(call);
	return rc;
}

/**
 * rpcrdma_bc_free_rqst - the upper layer has finished with a call
 * @rqst: the call
 */
void rpcrdma_bc_free_rqst(struct rpc_rqst *rqst)
{
	struct rpc_xprt *xprt = rqst->rq_xprt;

	rpcrdma_bc_call_put(container_of(rqst, struct rpcrdma_bc_call, rqst));
	xprt_put(xprt);
}

/**
 * rpcrdma_bc_setup - prepare for callbacks
 * @xprt: the transport
 * @reqs: how many at once
 *
 * Context: Process context. May sleep.
 *
 * Return: 0, %-ENOSPC if @reqs is too large, or %-ENOMEM.
 */
int rpcrdma_bc_setup(struct rpc_xprt *xprt, unsigned int reqs)
{
	struct rpcrdma_xprt *r_xprt = rpcrdma_xprt(xprt);

	struct rpcrdma_bc_call *call;
	unsigned int i;

	if (reqs > RPCRDMA_BC_SLOTS)
		return -ENOSPC;
	spin_lock_bh(&xprt->bc_pa_lock);
	r_xprt->bc_users += reqs;
	spin_unlock_bh(&xprt->bc_pa_lock);
	for (i = 0; i < reqs; i++) {
		call = rpcrdma_bc_call_alloc(GFP_KERNEL);
		if (!call) {
			rpcrdma_bc_destroy(xprt, reqs);
			return -ENOMEM;
		}
		rpcrdma_bc_call_keep(r_xprt, call);
	}
	return 0;
}

/**
 * rpcrdma_bc_maxpayload - bytes of the largest call or answer
 * @xprt: the transport
 */
size_t rpcrdma_bc_maxpayload(struct rpc_xprt *xprt)
{
	return READ_ONCE(rpcrdma_xprt(xprt)->bc_payload);
}

/**
 * rpcrdma_bc_num_slots - calls that may be outstanding
 * @xprt: the transport
 */
unsigned int rpcrdma_bc_num_slots(struct rpc_xprt *xprt)
{
	return RPCRDMA_BC_SLOTS;
}

/**
 * rpcrdma_bc_destroy - no more callbacks
 * @xprt: the transport
 * @reqs: as many as were set up, or more if the transport ends
 *
 * Calls that come from now on are refused.
 */
void rpcrdma_bc_destroy(struct rpc_xprt *xprt, unsigned int reqs)
{
	struct rpcrdma_xprt *r_xprt = rpcrdma_xprt(xprt);
	struct rpcrdma_bc_call *call, *tmp;
	LIST_HEAD(gone);

	spin_lock_bh(&xprt->bc_pa_lock);
	r_xprt->bc_users -= min(reqs, r_xprt->bc_users);
	while (r_xprt->bc_spares > r_xprt->bc_users) {
		list_move(r_xprt->bc_spare.next, &gone);
		r_xprt->bc_spares--;
	}
	spin_unlock_bh(&xprt->bc_pa_lock);
	list_for_each_entry_safe(call, tmp, &gone, spare)
		rpcrdma_bc_call_free(call);
}
