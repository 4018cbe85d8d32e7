// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The life of a connection that a client opened.
 *
 * It begins on a listener's list and has nothing but a rdma_cm_id. When it is
 * accepted it gets a struct rpcrdma_conn, which takes over the rdma_cm_id. Any
 * failure sets XPT_CLOSE, and an nfsd thread then detaches the connection.
 * When no nfsd thread works on one of its Calls any more, the last reference
 * to the svc_xprt is dropped. A work item then destroys the connection, since
 * that sleeps and must not happen in the connection manager's thread.
 *
 * A device that is removed does not wait for nfsd threads: they may all be stuck in
 * a file system. Another work item destroys the connection then, and the svc_xprt
 * goes on without one until nfsd gets to it. Who may use the device, and what of
 * struct rpcrdma_conn is more than memory because of it (queue pair, rdma_cm_id,
 * Receives, whatever is mapped for DMA):
 *
 *	accept, detach, recvfrom, sendto:	between rpcrdma_svc_enter() and
 *	nfsd threads; work items		rpcrdma_svc_leave()
 *	resume, forget
 *	completion handlers, callbacks		until rpcrdma_conn_destroy() has
 *	of the connection, what it posts	waited for them
 *	transport of callbacks			never itself: rpcrdma_conn_send()
 *						refuses what comes too late
 *	release_ctxt, result_payload,		never
 *	has_wspace, free: nfsd threads
 *	rpcrdma_svc_release()			if rpcrdma_svc_end() has not run
 *
 * What is between enter and leave is short, and so are completion handlers. Reclaim of memory
 * could make them long: it waits for a file system or a disk, which may be behind this server, or
 * have its completions on the same queue as ours. So all that they allocate is without I/O.
 */
#include <linux/module.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>
#include <linux/sunrpc/xprt.h>

#include <trace/events/rpcrdma_v2.h>

#include "../auth.h"
#include "../versions.h"
#include "server.h"

/* This value means "no limit" to the connection manager. */
#define RPCRDMA_RNR_FOREVER	7

static const struct svc_xprt_ops rpcrdma_svc_ops;

/* The connection calls this at the first sign of trouble. */
static void rpcrdma_svc_lost(struct rpcrdma_conn *conn)
{
	struct rpcrdma_svc_xprt *svc = conn->context;

	svc_xprt_deferred_close(&svc->xprt);
}

/* What destroys a connection otherwise takes a thread, which may take for ever. */
static void rpcrdma_svc_removed(struct rpcrdma_conn *conn)
{
	struct rpcrdma_svc_xprt *svc = conn->context;

	/* Else rpcrdma_svc_release() is on its way. */
	if (kref_get_unless_zero(&svc->xprt.xpt_ref))
		queue_work(rpcrdma_svc_wq, &svc->end);
}

static void rpcrdma_svc_ready(struct rpcrdma_conn *conn)
{
}

static u32 rpcrdma_svc_serving(const struct rpcrdma_conn *conn)
{
	struct rpcrdma_svc_xprt *svc = conn->context;

	return READ_ONCE(svc->reading) + atomic_read(&svc->n_ready) +
	       atomic_read(&svc->xprt.xpt_nr_rqsts);
}

static void rpcrdma_svc_account_info(const struct rpcrdma_conn *conn,
				     struct rpcrdma_account_info *info)
{
	const struct rpcrdma_svc_xprt *svc = conn->context;
	const struct rpcrdma_account *a = &svc->account;

	info->calls = READ_ONCE(a->used[RPCRDMA_BUDGET_CALLS]);
	info->calls_limit = READ_ONCE(a->limit[RPCRDMA_BUDGET_CALLS]);
	info->replies = READ_ONCE(a->used[RPCRDMA_BUDGET_REPLIES]) +
			rpcrdma_svc_replies(svc).pooled;
	info->replies_limit = a->limit[RPCRDMA_BUDGET_REPLIES];
	info->reserve = READ_ONCE(a->reserve);
	info->most = READ_ONCE(a->most);
	info->held_back = READ_ONCE(a->held_back);
}

static const struct rpcrdma_conn_ops rpcrdma_svc_conn_ops = {
	.ready = rpcrdma_svc_ready,
	.lost = rpcrdma_svc_lost,
	.removed = rpcrdma_svc_removed,
	.payload = rpcrdma_svc_payload,
	.stalled = rpcrdma_svc_stalled,
	.abandon = rpcrdma_svc_abandon,
	.failed = rpcrdma_svc_bc_failed,
	.reply_refused = rpcrdma_svc_reply_refused,
	.fault = rpcrdma_svc_fault,
	.serving = rpcrdma_svc_serving,
	.account = rpcrdma_svc_account_info,
};

/**
 * rpcrdma_svc_device_init - nobody uses the device yet
 * @svc: not known to anybody
 */
void rpcrdma_svc_device_init(struct rpcrdma_svc_xprt *svc)
{
	refcount_set(&svc->users, 1);
	init_completion(&svc->unused);
}

/**
 * rpcrdma_svc_shut - let nobody use the device any more
 * @svc: the caller has a reference, or is the last; this is called once. If it has a connection,
 *	that is lost: those who still get in are the threads at work on its Calls.
 *
 * Context: Process context. Waits for those who use it.
 */
void rpcrdma_svc_shut(struct rpcrdma_svc_xprt *svc)
{
	rpcrdma_svc_leave(svc);
	wait_for_completion(&svc->unused);
}

/* The device is being removed. nfsd detaches what is left when it has a thread. */
static void rpcrdma_svc_end(struct work_struct *work)
{
	struct rpcrdma_svc_xprt *svc = container_of(work, struct rpcrdma_svc_xprt,
						    end);

	rpcrdma_svc_shut(svc);
	/* Without one it could not be made. */
	if (svc->conn) {
		rpcrdma_svc_drop_sent(svc);
		rpcrdma_conn_destroy(svc->conn);
		rpcrdma_svc_drop_calls(svc);
		rpcrdma_svc_drop_writes(svc);
	}
	svc_xprt_put(&svc->xprt);
}

static void rpcrdma_svc_release(struct work_struct *work)
{
	struct rpcrdma_svc_xprt *svc = container_of(work, struct rpcrdma_svc_xprt,
						    release);

	/* Nobody has a reference: if it is zero, rpcrdma_svc_end() has run. */
	if (svc->conn && refcount_read(&svc->users)) {
		rpcrdma_svc_shut(svc);
		rpcrdma_svc_drop_sent(svc);
		rpcrdma_conn_destroy(svc->conn);
	} else if (svc->cm_id) {
		rdma_destroy_id(svc->cm_id);
	}
	rpcrdma_svc_drop_calls(svc);
	rpcrdma_svc_drop_writes(svc);
	/* The last handlers may have asked for it. It finds that it must not use the device. */
	cancel_delayed_work_sync(&svc->resume);
	if (svc->bc)
		xprt_put(svc->bc);
	if (svc->conn)
		rpcrdma_conn_put(svc->conn);
	if (svc->listener)
		svc_xprt_put(&svc->listener->xprt);
	rpcrdma_memory_close(&svc->account);
	kfree(svc);
}

/**
 * rpcrdma_svc_discard - end a transport that nfsd has not seen
 * @xprt: a listener or a connection, with one reference
 *
 * Context: Process context, also that of a connection manager event.
 */
void rpcrdma_svc_discard(struct svc_xprt *xprt)
{
	/* svc_xprt_put() drops a module reference that nfsd would have got. */
	__module_get(THIS_MODULE);
	svc_xprt_put(xprt);
}

/**
 * rpcrdma_svc_alloc - a connection to be accepted
 * @listener: the listener that got the request
 * @cm_id: the caller owns it until rpcrdma_svc_accept() or the end of @svc
 * @param: of the connection request
 *
 * Context: Process context. May sleep.
 *
 * Return: the connection, with one reference, or NULL.
 */
struct rpcrdma_svc_xprt *rpcrdma_svc_alloc(struct rpcrdma_listener *listener,
					   struct rdma_cm_id *cm_id,
					   const struct rdma_conn_param *param)
{
	struct rdma_addr *addr = &cm_id->route.addr;
	struct rpcrdma_svc_xprt *svc;
	struct sockaddr *sap;

	svc = kzalloc_node(sizeof(*svc), GFP_KERNEL,
			   ibdev_to_node(cm_id->device));
	if (!svc)
		return NULL;
	svc_xprt_init(listener->xprt.xpt_net, &rpcrdma_svc_class, &svc->xprt,
		      listener->xprt.xpt_server);
	svc->xprt.xpt_ops = &rpcrdma_svc_ops;
	set_bit(XPT_CONG_CTRL, &svc->xprt.xpt_flags);
	svc->cm_id = cm_id;
	svc_xprt_get(&listener->xprt);
	svc->listener = listener;
	INIT_LIST_HEAD(&svc->pending);
	INIT_WORK(&svc->release, rpcrdma_svc_release);
	INIT_WORK(&svc->end, rpcrdma_svc_end);
	INIT_DELAYED_WORK(&svc->forget, rpcrdma_svc_forget);
	rpcrdma_svc_resume_init(svc);
	rpcrdma_svc_device_init(svc);
	spin_lock_init(&svc->lock);
	INIT_LIST_HEAD(&svc->ready);
	init_llist_head(&svc->came);
	INIT_LIST_HEAD(&svc->waiting);
	INIT_LIST_HEAD(&svc->held);
	INIT_LIST_HEAD(&svc->group);
	INIT_LIST_HEAD(&svc->groups);
	INIT_LIST_HEAD(&svc->no_regions);

	rpcrdma_cm_private_decode(param->private_data, param->private_data_len,
				  &svc->peer);
	svc->initiator_depth = param->initiator_depth;

	sap = (struct sockaddr *)&addr->src_addr;
	svc_xprt_set_local(&svc->xprt, sap, svc_addr_len(sap));
	sap = (struct sockaddr *)&addr->dst_addr;
	svc_xprt_set_remote(&svc->xprt, sap, svc_addr_len(sap));
	svc->peer_key = rpcrdma_peer_key(listener->xprt.xpt_net, sap);
	if (rpc_cmp_addr((struct sockaddr *)&addr->src_addr, sap))
		set_bit(XPT_LOCAL, &svc->xprt.xpt_flags);

	/*
	 * The client's port differs after each reconnect. nfsd's duplicate
	 * request cache, which compares addresses, has to find the Calls of
	 * the connection before.
	 */
	rpc_set_port((struct sockaddr *)&svc->xprt.xpt_remote, 0);
	return svc;
}

/* Events of a connection that is being accepted, or has been. */
static int rpcrdma_svc_event(struct rdma_cm_id *cm_id,
			     struct rdma_cm_event *event)
{
	struct rpcrdma_svc_xprt *svc = cm_id->context;

	trace_rpcrdma_cm(cm_id, event);
	switch (event->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		break;
	default:
		rpcrdma_conn_lost(svc->conn, rdma_event_msg(event->event));
	}
	return 0;
}

static int rpcrdma_svc_create_conn(struct rpcrdma_svc_xprt *svc)
{
	const u32 payload = max_t(u32, RPCRDMA_MAX_PAYLOAD,
				  svc->xprt.xpt_server->sv_max_payload);
	struct rpcrdma_conn_attr attr = {
		.ops = &rpcrdma_svc_conn_ops,
		.context = svc,
		.config = {
			.role = RPCRDMA_ROLE_SERVER,
			.window = 0, /* the module parameter's */
			.max_message = svc->max_call,
			.max_read_chunks = RPCRDMA_MAX_CHUNKS,
			.max_write_chunks = RPCRDMA_MAX_CHUNKS,
			.first_xid = get_random_u32(),
			.extensions = RPCRDMA_ALL_EXTENSIONS,
			.local = {
				.send_size = svc->inline_size,
				.recv_size = svc->inline_size,
				.max_segment_size = payload,
				.max_segments = RPCRDMA_MAX_SEGMENTS,
				.reverse = RPCRDMA_RVRSDIR_NONE,
			},
		},
		.reserve = sizeof(*svc) + rpcrdma_svc_reserve(svc) +
			   RPCRDMA_SVC_REPLY_POOL,
		.recv_owner = sizeof(struct rpcrdma_svc_call),
		.recv_pages = true,
		.gather = true,
		.grow = READ_ONCE(rpcrdma_grow),
		.rest = RPCRDMA_REST_INLINE,
		.send_ring = RPCRDMA_SEND_RING,
		.send_rest = RPCRDMA_SEND_REST,
		.rw_ctxs = RPCRDMA_SVC_RW_CTXS,
		.rw_pages = RPCRDMA_SVC_RW_PAGES,
		.rw_octets = max(payload + RPCRDMA_SURROUNDING, svc->max_call),
		.reads_out = min_t(u32, svc->initiator_depth,
				   READ_ONCE(rpcrdma_svc_reads)),
	};
	struct rpcrdma_conn *conn;
	struct rpcrdma_auth auth;

	if (rpcrdma_auth_server(svc->xprt.xpt_net,
				(struct sockaddr *)&svc->cm_id->route.addr.dst_addr,
				&auth)) {
		if (rpcrdma_auth_turns_away(svc->xprt.xpt_net, svc->peer_key))
			return -EACCES;
		attr.config.auth = &auth;
	}
	rpcrdma_account_open(&svc->account, RPCRDMA_BUDGET_BATCH,
			     rpcrdma_svc_reserve(svc), RPCRDMA_SVC_CALL_MEMORY,
			     RPCRDMA_SVC_REPLY_MEMORY);
	rpcrdma_versions(&attr.config);
	svc->version2 = attr.config.max_version >= 2;
	rpcrdma_rtr_want(&attr);
	conn = rpcrdma_conn_create(svc->cm_id, &attr);
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	rpcrdma_conn_private(conn, &svc->peer);
	svc->conn = conn;
	svc->cm_id = NULL;
	return 0;
}

static int rpcrdma_svc_let_in(struct rpcrdma_svc_xprt *svc)
{
	const struct ib_device_attr *attrs = &svc->cm_id->device->attrs;
	struct rdma_cm_id *cm_id = svc->cm_id;
	struct rpcrdma_cm_private mine = { };
	u8 private[RPCRDMA_CM_PRIVATE_SIZE];
	struct rdma_conn_param param = {
		.private_data = private,
		.private_data_len = sizeof(private),
	};
	int rc;

	/* If the client allows no RDMA Reads, it can send no large argument. */
	if (!svc->initiator_depth)
		return -EINVAL;
	if (!rdma_protocol_iwarp(cm_id->device, cm_id->port_num) &&
	    !rdma_ib_or_roce(cm_id->device, cm_id->port_num))
		return -EPROTONOSUPPORT;
	svc->remote_inv = attrs->device_cap_flags &
			  IB_DEVICE_MEM_MGT_EXTENSIONS;
	svc->max_call = svc->xprt.xpt_server->sv_max_mesg;

	svc->inline_size = READ_ONCE(rpcrdma_svc_inline);

	rc = rpcrdma_svc_create_conn(svc);
	if (rc)
		return rc;
	param.initiator_depth = svc->conn->reads_out;
	/*
	 * Credits of version 1 do not count Calls that the client has given up, so a
	 * Receive can be missing. One comes back soon: do not end the connection.
	 */
	rdma_set_min_rnr_timer(cm_id, IB_RNR_TIMER_002_56);
	param.rnr_retry_count = RPCRDMA_RNR_FOREVER;
	mine.send_size = svc->inline_size;
	mine.recv_size = svc->inline_size;
	mine.version2 = svc->version2;
	rpcrdma_cm_private_encode(&mine, private);

	/* Events up to here went to the listener's handler. */
	rdma_lock_handler(cm_id);
	rc = -ECONNABORTED;
	if (!svc->gone) {
		cm_id->event_handler = rpcrdma_svc_event;
		rc = rdma_accept(cm_id, &param);
	}
	rdma_unlock_handler(cm_id);
	if (rc)
		return rc;

	/* Only the listener's handler needed it. */
	svc_xprt_put(&svc->listener->xprt);
	svc->listener = NULL;
	return 0;
}

/**
 * rpcrdma_svc_accept - let a client in
 * @svc: off its listener's list
 *
 * Context: Process context. May sleep.
 *
 * Return: 0; %-EDQUOT if there is no memory for it now, or %-ENOBUFS if its device has no memory
 * regions, and the caller may try again; or another errno, and the caller discards @svc.
 */
int rpcrdma_svc_accept(struct rpcrdma_svc_xprt *svc)
{
	unsigned int noio;
	int rc = -ENODEV;

	/* The device may go as soon as there is a connection, but not this cm_id. */
	if (!rpcrdma_svc_enter(svc))
		return rc;
	noio = memalloc_noio_save();
	rc = rpcrdma_svc_let_in(svc);
	memalloc_noio_restore(noio);
	rpcrdma_svc_leave(svc);
	return rc;
}

static void rpcrdma_svc_detach(struct svc_xprt *xprt)
{
	struct rpcrdma_svc_xprt *svc = rpcrdma_svc_of(xprt);

	/* Without a device it has been disconnected. */
	if (!rpcrdma_svc_enter(svc))
		return;
	rdma_disconnect(svc->conn->cm_id);
	rpcrdma_svc_leave(svc);
}

static void rpcrdma_svc_free(struct svc_xprt *xprt)
{
	struct rpcrdma_svc_xprt *svc = rpcrdma_svc_of(xprt);

	queue_work(rpcrdma_svc_wq, &svc->release);
}

static void rpcrdma_svc_kill_temp(struct svc_xprt *xprt)
{
}

static const struct svc_xprt_ops rpcrdma_svc_ops = {
	.xpo_has_wspace = rpcrdma_svc_has_wspace,
	.xpo_recvfrom = rpcrdma_svc_recvfrom,
	.xpo_sendto = rpcrdma_svc_sendto,
	.xpo_result_payload = rpcrdma_svc_result_payload,
	.xpo_release_ctxt = rpcrdma_svc_release_ctxt,
	.xpo_detach = rpcrdma_svc_detach,
	.xpo_free = rpcrdma_svc_free,
	.xpo_kill_temp_xprt = rpcrdma_svc_kill_temp,
	RPCRDMA_COMPAT_SVC_OPS
};
