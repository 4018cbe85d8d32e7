// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Calls from the server to the client (section 4.6): NFSv4.1 callbacks. nfsd
 * is the Requester here, so sunrpc needs a struct rpc_xprt for the connection.
 *
 * Callbacks are small, and nfsd may drop one at any time. So each is copied
 * when it is sent, and the copy belongs to the connection until it has been
 * sent. The session decides when it sends whether the client takes callbacks,
 * and of what size. A callback that the session refuses fails in the same way
 * as one that the client has answered with an error. Either can happen before
 * the RPC's task sleeps, so the copy stores the failure; otherwise sunrpc would
 * think that the callback is not answered and send it again at once. nfsd
 * also repeats a failed callback at once, so the task sleeps for a while
 * before the callback fails.
 *
 * The transport lives longer than the svc_xprt's own reference to it, because
 * Replies can arrive until the connection is destroyed.
 */
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>
#include <linux/sunrpc/bc_xprt.h>
#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/sched.h>

#include <trace/events/rpcrdma_v2.h>

#include "../client/client.h"
#include "server.h"

/* Callbacks at once, their size, and copies of them that are not yet sent. */
#define RPCRDMA_SVC_BC_MIN_SLOTS	2
#define RPCRDMA_SVC_BC_SLOTS	64
#define RPCRDMA_SVC_BC_SIZE	PAGE_SIZE
#define RPCRDMA_SVC_BC_UNSENT	RPCRDMA_SVC_BC_SLOTS
/* A failed callback fails this much later, so that nfsd does not repeat it at once. */
#define RPCRDMA_SVC_BC_PAUSE	HZ

static struct xprt_class rpcrdma_svc_bc_class;

static const struct rpc_timeout rpcrdma_svc_bc_timeout = {
	.to_initval = RPCRDMA_CONNECT_TIMEOUT,
	.to_maxval = RPCRDMA_CONNECT_TIMEOUT,
};

/**
 * struct rpcrdma_svc_bc - the transport of callbacks
 * @xprt: what sunrpc sees; first member, sunrpc frees it
 * @conn: the connection, referenced; it may have ended
 * @unsent: Calls that the connection has not sent yet
 * @calls: Calls whose RPC is not over; guarded by the xprt's queue_lock
 */
struct rpcrdma_svc_bc {
	struct rpc_xprt xprt;
	struct rpcrdma_conn *conn;
	atomic_t unsent;
	struct list_head calls;
};

/**
 * struct rpcrdma_svc_bc_call - a copy of a Call
 * @tm: the message
 * @ref: one for the connection until the Call is sent, one for the RPC until its end
 * @link: in the list of @bc until the end of the RPC
 * @failure: why the RPC fails, a negative errno; guarded by queue_lock
 * @paused: its task has slept after the failure
 * @bc: the transport, which lives as long as the connection
 * @xdr: the bytes, in @data
 * @data: the bytes
 */
struct rpcrdma_svc_bc_call {
	struct rpcrdma_txmsg tm;
	struct kref ref;
	struct list_head link;
	int failure;
	bool paused;
	struct rpcrdma_svc_bc *bc;
	struct xdr_buf xdr;
	u8 data[] __aligned(4);
};

static struct rpcrdma_svc_bc *rpcrdma_svc_bc_of(struct rpc_xprt *xprt)
{
	return container_of(xprt, struct rpcrdma_svc_bc, xprt);
}

/* Find and pin the callback with this XID. */
static struct rpc_rqst *rpcrdma_svc_bc_rqst(struct rpc_xprt *xprt, u32 xid)
{
	struct rpc_rqst *rqst;

	spin_lock(&xprt->queue_lock);
	rqst = xprt_lookup_rqst(xprt, cpu_to_be32(xid));
	if (rqst)
		xprt_pin_rqst(rqst);
	spin_unlock(&xprt->queue_lock);
	return rqst;
}

static void rpcrdma_svc_bc_unpin(struct rpc_rqst *rqst, bool end, int length)
{
	struct rpc_xprt *xprt = rqst->rq_xprt;

	spin_lock(&xprt->queue_lock);
	if (end)
		xprt_complete_rqst(rqst->rq_task, length);
	xprt_unpin_rqst(rqst);
	spin_unlock(&xprt->queue_lock);
}

static void rpcrdma_svc_bc_call_free(struct kref *ref)
{
	kfree(container_of(ref, struct rpcrdma_svc_bc_call, ref));
	atomic_dec(&rpcrdma_live[RPCRDMA_LIVE_CALLBACKS]);
}

static void rpcrdma_svc_bc_call_put(struct rpcrdma_svc_bc_call *call)
{
	kref_put(&call->ref, rpcrdma_svc_bc_call_free);
}

static struct rpcrdma_svc_bc_call *
rpcrdma_svc_bc_call_find(struct rpc_xprt *xprt, u32 xid)
	__must_hold(&xprt->queue_lock)
{
	struct rpcrdma_svc_bc_call *call;

	lockdep_assert_held(&xprt->queue_lock);
	list_for_each_entry(call, &rpcrdma_svc_bc_of(xprt)->calls, link)
		if (call->tm.msg.xid == xid)
			return call;
	return NULL;
}

/* The Call with this XID whose RPC is not over, referenced, or NULL. */
static struct rpcrdma_svc_bc_call *
rpcrdma_svc_bc_call_get(struct rpc_xprt *xprt, u32 xid)
{
	struct rpcrdma_svc_bc_call *call;

	spin_lock(&xprt->queue_lock);
	call = rpcrdma_svc_bc_call_find(xprt, xid);
	if (call)
		kref_get(&call->ref);
	spin_unlock(&xprt->queue_lock);
	return call;
}

/* The RPC of a Call is over, or the Call will be sent again. */
static void rpcrdma_svc_bc_end(struct rpc_rqst *rqst)
{
	struct rpc_xprt *xprt = rqst->rq_xprt;
	struct rpcrdma_svc_bc_call *call;

	spin_lock(&xprt->queue_lock);
	call = rpcrdma_svc_bc_call_find(xprt, be32_to_cpu(rqst->rq_xid));
	if (call)
		list_del_init(&call->link);
	spin_unlock(&xprt->queue_lock);
	if (!call)
		return;
	rpcrdma_conn_end_call(call->bc->conn, &call->tm);
	rpcrdma_svc_bc_call_put(call);
}

/* Fail the RPC of @call, if it is not over. */
static void rpcrdma_svc_bc_fail(struct rpcrdma_svc_bc_call *call, int error)
{
	struct rpc_xprt *xprt = &call->bc->xprt;
	struct rpcrdma_conn *conn = call->bc->conn;
	struct rpc_rqst *rqst = NULL;

	spin_lock(&xprt->queue_lock);
	if (!list_empty(&call->link))
		rqst = xprt_lookup_rqst(xprt, cpu_to_be32(call->tm.msg.xid));
	if (rqst) {
		call->failure = error;
		rpc_wake_up_queued_task(&xprt->pending, rqst->rq_task);
	}
	spin_unlock(&xprt->queue_lock);
	if (!rqst)
		return;
	spin_lock(&conn->lock);
	conn->stats.failed_callbacks++;
	spin_unlock(&conn->lock);
}

/* This side's Calls offer no chunks, so no Reply may return one. */
static bool rpcrdma_svc_bc_plain(const struct rpcrdma_rx *rx)
{
	return !rx->external && !rx->chunks.n_call && !rx->chunks.n_reads &&
	       !rx->chunks.n_writes && !rx->chunks.has_reply;
}

/**
 * rpcrdma_svc_bc_reply - bytes of a Reply from the client
 * @conn: the connection
 * @rx: describes them
 * @recv: holds them
 *
 * Context: the Receive handler; process context.
 */
void rpcrdma_svc_bc_reply(struct rpcrdma_conn *conn,
			  const struct rpcrdma_rx *rx,
			  struct rpcrdma_recv *recv)
{
	struct rpcrdma_svc_xprt *svc = conn->context;
	struct rpc_xprt *xprt = READ_ONCE(svc->bc);
	u32 done, run;
	struct rpcrdma_svc_bc_call *call;
	struct rpc_rqst *rqst = NULL;
	const void *from;
	struct xdr_buf *to;

	if (xprt)
		rqst = rpcrdma_svc_bc_rqst(xprt, rx->xid);
	if (!rqst) {
		/* What follows of it is not wanted, either. */
		svc->bc_placed = U32_MAX;
	} else if (!rpcrdma_rx_continues(rx, &svc->bc_placed)) {
		rpcrdma_svc_bc_unpin(rqst, false, 0);
		rqst = NULL;
	}
	if (!rqst) {
		spin_lock(&conn->lock);
		conn->stats.bad_xids++;
		spin_unlock(&conn->lock);
		trace_rpcrdma_call(conn->id, rx->xid, "nobody waits for it", 0);
		return;
	}
	if (rx->last && !rpcrdma_svc_bc_plain(rx)) {
		trace_rpcrdma_call(conn->id, rx->xid, "callback's Reply", -EIO);
		rpcrdma_svc_bc_unpin(rqst, false, 0);
		call = rpcrdma_svc_bc_call_get(xprt, rx->xid);
		if (!call)
			return;
		rpcrdma_svc_bc_fail(call, -EIO);
		rpcrdma_svc_bc_call_put(call);
		return;
	}
	to = &rqst->rq_private_buf;
	for (done = 0; done < rx->payload.length; done += run) {
		from = rpcrdma_recv_at(recv, rx->payload.offset + done, &run);
		run = min(run, rx->payload.length - done);
		recv->copied += rpcrdma_reply_place(to, rx->stream_offset + done,
						    from, run);
	}
	rpcrdma_svc_bc_unpin(rqst, rx->last,
			     min(rx->stream_length, to->buflen));
}

/**
 * rpcrdma_svc_bc_failed - the client answered a Call with an error
 * @conn: the connection
 * @rx: which one, and why
 *
 * Context: the Receive handler; process context.
 */
void rpcrdma_svc_bc_failed(struct rpcrdma_conn *conn,
			   const struct rpcrdma_rx *rx)
{
	struct rpcrdma_svc_xprt *svc = conn->context;
	struct rpc_xprt *xprt = READ_ONCE(svc->bc);
	struct rpcrdma_svc_bc_call *call;

	trace_rpcrdma_call(conn->id, rx->xid, "callback refused", rx->error);
	call = xprt ? rpcrdma_svc_bc_call_get(xprt, rx->xid) : NULL;
	if (!call)
		return;
	rpcrdma_conn_call_refused(conn, &call->tm, rx);
	rpcrdma_svc_bc_fail(call, rx->error);
	rpcrdma_svc_bc_call_put(call);
}

static void rpcrdma_svc_bc_sent(struct rpcrdma_txmsg *tm, int status)
{
	struct rpcrdma_svc_bc_call *call = container_of(tm,
					struct rpcrdma_svc_bc_call, tm);
	struct rpcrdma_svc_bc *bc = call->bc;
	bool over;

	/* If the connection is lost, its Calls fail when sunrpc closes it. */
	if (status)
		trace_rpcrdma_call(bc->conn->id, tm->msg.xid,
				   "callback not sent", status);
	if (status && status != -ENOTCONN)
		rpcrdma_svc_bc_fail(call, -EIO);
	spin_lock(&bc->xprt.queue_lock);
	over = list_empty(&call->link);
	spin_unlock(&bc->xprt.queue_lock);
	/* The RPC ended before the session counted the Call. */
	if (over)
		rpcrdma_conn_end_call(bc->conn, tm);
	rpcrdma_svc_bc_call_put(call);
	atomic_dec(&bc->unsent);
}

static struct rpcrdma_svc_bc_call *
rpcrdma_svc_bc_copy(struct rpcrdma_svc_bc *bc, const struct rpc_rqst *rqst)
{
	const struct xdr_buf *from = &rqst->rq_snd_buf;
	struct rpcrdma_svc_bc_call *call;

	call = kzalloc(struct_size(call, data, from->len),
		       rpc_task_gfp_mask());
	if (!call)
		return NULL;
	if (read_bytes_from_xdr_buf(from, 0, call->data, from->len)) {
		kfree(call);
		return NULL;
	}
	xdr_buf_init(&call->xdr, call->data, from->len);
	call->xdr.head[0].iov_len = from->len;
	call->xdr.len = from->len;
	call->bc = bc;
	atomic_inc(&rpcrdma_live[RPCRDMA_LIVE_CALLBACKS]);
	kref_init(&call->ref);
	INIT_LIST_HEAD(&call->link);
	INIT_LIST_HEAD(&call->tm.link);
	call->tm.msg.xid = be32_to_cpu(rqst->rq_xid);
	call->tm.msg.dir = RPCRDMA_CALL;
	call->tm.msg.length = from->len;
	call->tm.xdr = &call->xdr;
	call->tm.done = rpcrdma_svc_bc_sent;
	return call;
}

static int rpcrdma_svc_bc_send_request(struct rpc_rqst *rqst)
{
	struct rpcrdma_svc_bc *bc = rpcrdma_svc_bc_of(rqst->rq_xprt);
	struct rpcrdma_svc_bc_call *call;
	int rc = -EMSGSIZE;

	rpcrdma_svc_bc_end(rqst);
	if (rqst->rq_snd_buf.len > RPCRDMA_SVC_BC_SIZE)
		goto out;
	rc = -ENOBUFS;
	if (atomic_inc_return(&bc->unsent) > RPCRDMA_SVC_BC_UNSENT)
		goto out_dec;
	call = rpcrdma_svc_bc_copy(bc, rqst);
	if (!call)
		goto out_dec;
	rqst->rq_xtime = ktime_get();
	rqst->rq_xmit_bytes_sent += rqst->rq_snd_buf.len;
	spin_lock(&bc->xprt.queue_lock);
	list_add(&call->link, &bc->calls);
	kref_get(&call->ref);
	spin_unlock(&bc->xprt.queue_lock);
	rc = rpcrdma_conn_send(bc->conn, &call->tm);
	if (!rc)
		return 0;

	/* Without this the task would try again at once, for ever. */
	xprt_disconnect_done(&bc->xprt);
	rpcrdma_svc_bc_end(rqst);
	rpcrdma_svc_bc_call_put(call);
	rc = -ENOTCONN;
out_dec:
	atomic_dec(&bc->unsent);
out:
	trace_rpcrdma_call(bc->conn->id, be32_to_cpu(rqst->rq_xid),
			   "callback not sent", rc);
	return rc;
}

static void rpcrdma_svc_bc_woken(struct rpc_task *task);

/* Put @task to sleep until its Reply comes, or for a pause if the RPC has failed. */
static void rpcrdma_svc_bc_sleep(struct rpc_task *task)
	__must_hold(&task->tk_rqstp->rq_xprt->queue_lock)
{
	struct rpc_rqst *rqst = task->tk_rqstp;
	struct rpc_xprt *xprt = rqst->rq_xprt;
	unsigned long timeout = rpcrdma_reply_timeout(rqst);
	struct rpcrdma_svc_bc_call *call;

	call = rpcrdma_svc_bc_call_find(xprt, be32_to_cpu(rqst->rq_xid));
	if (call && call->failure) {
		call->paused = true;
		timeout = jiffies + RPCRDMA_SVC_BC_PAUSE;
	}
	rpc_sleep_on_timeout(&xprt->pending, task, rpcrdma_svc_bc_woken,
			     timeout);
}

/* @task has slept until the Reply came, or until another event. */
static void rpcrdma_svc_bc_woken(struct rpc_task *task)
{
	struct rpc_rqst *rqst = task->tk_rqstp;
	struct rpc_xprt *xprt = rqst->rq_xprt;
	const struct rpcrdma_svc_bc_call *call;

	spin_lock(&xprt->queue_lock);
	call = rpcrdma_svc_bc_call_find(xprt, be32_to_cpu(rqst->rq_xid));
	if (rqst->rq_reply_bytes_recvd)
		task->tk_status = 0;
	else if (call && call->failure && !call->paused)
		rpcrdma_svc_bc_sleep(task);
	else if (call && call->failure)
		task->tk_status = call->failure;
	spin_unlock(&xprt->queue_lock);
}

static void rpcrdma_svc_bc_buf_free(struct rpc_task *task)
{
	rpcrdma_svc_bc_end(task->tk_rqstp);
	rpcrdma_buf_free(task);
}

static void rpcrdma_svc_bc_close(struct rpc_xprt *xprt)
{
	xprt_disconnect_done(xprt);
}

static void rpcrdma_svc_bc_destroy(struct rpc_xprt *xprt)
{
	struct rpcrdma_svc_bc *bc = rpcrdma_svc_bc_of(xprt);

	rpcrdma_conn_put(bc->conn);
	kfree(xprt->address_strings[RPC_DISPLAY_ADDR]);
	kfree(xprt->address_strings[RPC_DISPLAY_PORT]);
	xprt_free(xprt);
	module_put(THIS_MODULE);
}

static void rpcrdma_svc_bc_inject_disconnect(struct rpc_xprt *xprt)
{
	struct rpcrdma_conn *conn = rpcrdma_svc_bc_of(xprt)->conn;

	/* Only this lock keeps its owner alive. */
	spin_lock(&conn->lock);
	if (!rpcrdma_conn_dead(conn))
		rpcrdma_conn_lost_later(conn, "fault injected");
	spin_unlock(&conn->lock);
}

static void rpcrdma_svc_bc_print_stats(struct rpc_xprt *xprt,
				       struct seq_file *seq)
{
	seq_printf(seq, "\txprt:\trdma 0 %lu %lu 0 0 %lu %lu %lu 0 0\n",
		   xprt->stat.bind_count, xprt->stat.connect_count,
		   xprt->stat.sends, xprt->stat.recvs, xprt->stat.bad_xids);
}

static const struct rpc_xprt_ops rpcrdma_svc_bc_ops = {
	.reserve_xprt = xprt_reserve_xprt,
	.release_xprt = xprt_release_xprt,
	.alloc_slot = xprt_alloc_slot,
	.free_slot = xprt_free_slot,
	.buf_alloc = rpcrdma_buf_alloc,
	.buf_free = rpcrdma_svc_bc_buf_free,
	.send_request = rpcrdma_svc_bc_send_request,
	.wait_for_reply_request = rpcrdma_svc_bc_sleep,
	.close = rpcrdma_svc_bc_close,
	.destroy = rpcrdma_svc_bc_destroy,
	.print_stats = rpcrdma_svc_bc_print_stats,
	.inject_disconnect = rpcrdma_svc_bc_inject_disconnect,
};

static int rpcrdma_svc_bc_name(struct rpc_xprt *xprt)
{
	struct sockaddr *sap = (struct sockaddr *)&xprt->addr;
	bool v6 = sap->sa_family == AF_INET6;
	const char **names = xprt->address_strings;

	names[RPC_DISPLAY_ADDR] = kasprintf(GFP_KERNEL, "%pISc", sap);
	names[RPC_DISPLAY_PORT] = kasprintf(GFP_KERNEL, "%u",
					    rpc_get_port(sap));
	names[RPC_DISPLAY_PROTO] = "rdma";
	names[RPC_DISPLAY_NETID] = v6 ? RPCBIND_NETID_RDMA6 :
					RPCBIND_NETID_RDMA;
	return names[RPC_DISPLAY_ADDR] && names[RPC_DISPLAY_PORT] ? 0 : -ENOMEM;
}

/* Give @svc its transport. Return: false if it has one already. */
static bool rpcrdma_svc_bc_attach(struct rpcrdma_svc_xprt *svc,
				  struct rpc_xprt *xprt)
{
	bool first;

	spin_lock(&svc->lock);
	first = !svc->bc;
	if (first) {
		/* One reference each for svc_xprt_free() and for @svc */
		svc->xprt.xpt_bc_xprt = xprt_get(xprt);
		WRITE_ONCE(svc->bc, xprt_get(xprt));
	}
	spin_unlock(&svc->lock);
	return first;
}

static struct rpc_xprt *rpcrdma_svc_bc_setup(struct xprt_create *args)
{
	struct svc_xprt *sxprt = args->bc_xprt;
	struct rpcrdma_svc_bc *bc;
	struct rpcrdma_svc_xprt *svc;
	struct rpc_xprt *xprt;
	int rc = -ENOMEM;

	if (!sxprt || sxprt->xpt_class != &rpcrdma_svc_class ||
	    test_bit(XPT_LISTENER, &sxprt->xpt_flags))
		return ERR_PTR(-EINVAL);
	if (args->addrlen > sizeof(xprt->addr))
		return ERR_PTR(-EBADF);
	svc = rpcrdma_svc_of(sxprt);

	xprt = xprt_alloc(args->net, sizeof(*bc), RPCRDMA_SVC_BC_MIN_SLOTS,
			  RPCRDMA_SVC_BC_SLOTS);
	if (!xprt)
		return ERR_PTR(-ENOMEM);
	bc = rpcrdma_svc_bc_of(xprt);
	__module_get(THIS_MODULE);
	bc->conn = rpcrdma_conn_get(svc->conn);
	atomic_set(&bc->unsent, 0);
	INIT_LIST_HEAD(&bc->calls);

	memcpy(&xprt->addr, args->dstaddr, args->addrlen);
	xprt->addrlen = args->addrlen;
	xprt->ops = &rpcrdma_svc_bc_ops;
	xprt->xprt_class = &rpcrdma_svc_bc_class;
	xprt->prot = XPRT_TRANSPORT_BC_RDMA;
	xprt->timeout = &rpcrdma_svc_bc_timeout;
	xprt->max_payload = RPCRDMA_SVC_BC_SIZE;
	xprt->bc_xprt = sxprt;
	/* The client has made the connection already. */
	xprt_set_bound(xprt);
	xprt_set_connected(xprt);
	if (rpcrdma_svc_bc_name(xprt))
		goto out_destroy;
	/* sunrpc uses an existing transport, but two threads may come here at once. */
	rc = -EAGAIN;
	if (!rpcrdma_svc_bc_attach(svc, xprt))
		goto out_destroy;
	return xprt;

out_destroy:
	rpcrdma_svc_bc_destroy(xprt);
	return ERR_PTR(rc);
}

static struct xprt_class rpcrdma_svc_bc_class = {
	.list = LIST_HEAD_INIT(rpcrdma_svc_bc_class.list),
	.name = "rdma backchannel",
	.owner = THIS_MODULE,
	.ident = XPRT_TRANSPORT_BC_RDMA,
	.setup = rpcrdma_svc_bc_setup,
	.netid = { "" },
};

/**
 * rpcrdma_svc_bc_init - offer the transport of callbacks to sunrpc
 *
 * Return: 0, or %-EEXIST if another module has it.
 */
int rpcrdma_svc_bc_init(void)
{
	return xprt_register_transport(&rpcrdma_svc_bc_class);
}

/**
 * rpcrdma_svc_bc_exit - no transport of the class is left
 */
void rpcrdma_svc_bc_exit(void)
{
	xprt_unregister_transport(&rpcrdma_svc_bc_class);
}
