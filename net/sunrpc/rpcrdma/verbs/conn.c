// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Creates and destroys an RDMA connection. Its owner, client or server, drives
 * rdma_cm. This file makes the connection's resources when the device is known, and frees
 * them when the device can no longer complete anything for the connection.
 *
 * Memory reclaim can wait for an RPC, and the RPC for the end of a connection. So the work
 * that this end begins with or waits for is on xprtiod, whose rescuer executes it if no thread
 * can be made. sunrpc ends connections there as well, and work that has a rescuer may only wait
 * for other such work.
 */
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>
#include <linux/sunrpc/sched.h>

#include <rpcrdma/xcharext.h>
#include <trace/events/rpcrdma_v2.h>

#include "../auth.h"
#include "../budget.h"
#include "../netlink.h"
#include "../params.h"
#include "../versions.h"
#include "verbs.h"

static atomic_long_t rpcrdma_conn_ids = ATOMIC_LONG_INIT(0);

static void rpcrdma_lost_worker(struct work_struct *work)
{
	struct rpcrdma_conn *conn = container_of(work, struct rpcrdma_conn,
						 lost_work);

	rpcrdma_conn_lost(conn, READ_ONCE(conn->lost_why));
}

/**
 * rpcrdma_conn_lost_later - rpcrdma_conn_lost() from any context
 * @conn: the connection, its queue pair not yet destroyed
 * @why: for the trace; a string that stays
 *
 * Context: any, also with conn->lock held.
 */
void rpcrdma_conn_lost_later(struct rpcrdma_conn *conn, const char *why)
{
	WRITE_ONCE(conn->lost_why, why);
	queue_work(xprtiod_workqueue, &conn->lost_work);
}

/* Some drivers call this from a tasklet. */
static void rpcrdma_qp_event(struct ib_event *event, void *context)
{
	struct rpcrdma_conn *conn = context;

	switch (event->event) {
	case IB_EVENT_COMM_EST:
	case IB_EVENT_SQ_DRAINED:
	case IB_EVENT_PATH_MIG:
	case IB_EVENT_QP_LAST_WQE_REACHED:
		break;
	default:
		rpcrdma_conn_lost_later(conn, ib_event_msg(event->event));
	}
}

/* The pump decides on nothing more. Who waits for a message, credit or room waits no longer. */
static void rpcrdma_conn_shut(struct rpcrdma_conn *conn,
			      enum rpcrdma_conn_stage stage)
{
	spin_lock(&conn->lock);
	rpcrdma_conn_advance(conn, stage);
	rpcrdma_credit_wait(conn, RPCRDMA_CREDIT_PUMP, false);
	rpcrdma_credit_wait(conn, RPCRDMA_CREDIT_OWNER, false);
	conn->ring.asked = (struct rpcrdma_claim) { };
	wake_up_all(&conn->pump_wait);
	spin_unlock(&conn->lock);
}

/* It is closed. Who listens hears of that once, and after that of nothing else. */
static bool rpcrdma_conn_over(struct rpcrdma_conn *conn, const char *why)
{
	const char *auth;
	bool first;

	spin_lock(&conn->event_lock);
	first = !test_bit(RPCRDMA_CONN_LOST, &conn->flags);
	if (first) {
		rpcrdma_conn_shut(conn, RPCRDMA_CONN_CLOSED);
		set_bit(RPCRDMA_CONN_LOST, &conn->flags);
		/* What follows from it does not count. */
		auth = READ_ONCE(conn->auth_loss);
		if (auth)
			why = auth;
		WRITE_ONCE(conn->loss, why);
		trace_rpcrdma_lost(conn->id, why);
		rpcrdma_nl_conn_down(conn);
	}
	spin_unlock(&conn->event_lock);
	return first;
}

/**
 * rpcrdma_conn_lost - the connection cannot go on
 * @conn: the connection
 * @why: for the trace and who looks at the connection; a string that stays
 *
 * Context: process context, conn->lock not held. Only the first call has an
 * effect. See %RPCRDMA_CONN_CLOSED. Calls ops->lost: the owner then ends the connection.
 */
void rpcrdma_conn_lost(struct rpcrdma_conn *conn, const char *why)
{
	if (rpcrdma_conn_over(conn, why))
		conn->ops->lost(conn);
}

/**
 * rpcrdma_conn_ending - the owner is about to destroy the connection
 * @conn: the connection; see %RPCRDMA_CONN_ENDING
 *
 * Context: Process context, no lock held. Does not sleep.
 */
void rpcrdma_conn_ending(struct rpcrdma_conn *conn)
{
	rpcrdma_conn_shut(conn, RPCRDMA_CONN_ENDING);
}

/**
 * rpcrdma_conn_reach - the connection has come to a stage that nobody is told of
 * @conn: the connection
 * @stage: %RPCRDMA_CONN_CONNECTING or %RPCRDMA_CONN_CONNECTED
 *
 * Context: Process context, no lock held. Does not sleep.
 */
void rpcrdma_conn_reach(struct rpcrdma_conn *conn,
			enum rpcrdma_conn_stage stage)
{
	spin_lock(&conn->lock);
	/* It may have been closed by something that came with this. */
	if (!rpcrdma_conn_advance(conn, stage) && conn->reached < stage)
		WRITE_ONCE(conn->reached, stage);
	spin_unlock(&conn->lock);
}

/* Tell who listens which version is spoken, as soon as that is known. */
static void rpcrdma_conn_tell_version(struct rpcrdma_conn *conn)
{
	bool first;

	lockdep_assert_held(&conn->event_lock);
	spin_lock(&conn->lock);
	first = rpcrdma_session_version(&conn->session) &&
		rpcrdma_conn_advance(conn, RPCRDMA_CONN_AGREED);
	spin_unlock(&conn->lock);
	if (first)
		rpcrdma_nl_conn_version(conn);
}

/**
 * rpcrdma_conn_agreed - the version may be agreed on now
 * @conn: the connection
 *
 * Context: Process context, no lock held. Does not sleep. Only the first call after the
 * version is known has an effect, and none if the connection is closed. Callers save it if they
 * see %RPCRDMA_CONN_AGREED.
 */
void rpcrdma_conn_agreed(struct rpcrdma_conn *conn)
{
	spin_lock(&conn->event_lock);
	rpcrdma_conn_tell_version(conn);
	spin_unlock(&conn->event_lock);
}

/**
 * rpcrdma_conn_up - RPC messages can flow
 * @conn: the connection, its version agreed on
 *
 * Context: Process context, no lock held. Does not sleep. Only the first call has an
 * effect, and none if the connection is closed.
 */
void rpcrdma_conn_up(struct rpcrdma_conn *conn)
{
	bool first;

	spin_lock(&conn->event_lock);
	/* Version 1 has no messages for that. */
	rpcrdma_conn_tell_version(conn);
	spin_lock(&conn->lock);
	first = rpcrdma_conn_advance(conn, RPCRDMA_CONN_UP);
	spin_unlock(&conn->lock);
	if (first) {
		trace_rpcrdma_up(conn->id, rpcrdma_conn_version(conn),
				 conn->name);
		rpcrdma_nl_conn_up(conn);
		rpcrdma_resize_start(conn);
		/* It is large, or has changed before the connection was in the list. */
		if (conn->follow &&
		    READ_ONCE(conn->n_recvs) != READ_ONCE(rpcrdma_window) + 1)
			queue_work(xprtiod_workqueue, &conn->window_work);
	}
	spin_unlock(&conn->event_lock);
}

/**
 * rpcrdma_conn_ready - may RPC messages flow?
 * @conn: the connection
 *
 * Return: true once the initial exchange is complete (section 4.3).
 */
bool rpcrdma_conn_ready(struct rpcrdma_conn *conn)
{
	bool ready;

	spin_lock(&conn->lock);
	ready = rpcrdma_session_ready(&conn->session);
	spin_unlock(&conn->lock);
	return ready;
}

/**
 * rpcrdma_conn_version - which version is spoken?
 * @conn: the connection
 *
 * Return: 1 or 2, or 0 if that is not known yet.
 */
u32 rpcrdma_conn_version(struct rpcrdma_conn *conn)
{
	u32 version;

	spin_lock(&conn->lock);
	version = rpcrdma_session_version(&conn->session);
	spin_unlock(&conn->lock);
	return version;
}

/**
 * rpcrdma_conn_info - what the session can tell
 * @conn: the connection
 * @info: filled in
 */
void rpcrdma_conn_info(struct rpcrdma_conn *conn,
		       struct rpcrdma_session_info *info)
{
	spin_lock(&conn->lock);
	rpcrdma_session_info(&conn->session, info);
	spin_unlock(&conn->lock);
}

/**
 * rpcrdma_conn_private - the peer's private data has come (RFC 8797)
 * @conn: the connection
 * @p: the private data, decoded
 */
void rpcrdma_conn_private(struct rpcrdma_conn *conn,
			  const struct rpcrdma_cm_private *p)
{
	spin_lock(&conn->lock);
	rpcrdma_session_private(&conn->session, p);
	spin_unlock(&conn->lock);
}

/*
 * Which driver a device has. The tests make rxe look like a device of another one, but ib_core and
 * rxe itself have to find the driver of rxe. So the other one is in a number that rxe leaves at 0.
 */
static u32 rpcrdma_driver(const struct ib_device *device)
{
	const u32 driver = device->ops.driver_id;

	if (IS_ENABLED(CONFIG_KUNIT) && driver == RDMA_DRIVER_RXE &&
	    device->attrs.vendor_part_id)
		return device->attrs.vendor_part_id;
	return driver;
}

/* The only place that reads the limits of the device. */
static void rpcrdma_conn_limits(struct ib_device *device, u32 port,
				struct rpcrdma_device_limits *limits)
{
	const struct ib_device_attr *attrs = &device->attrs;

	*limits = (struct rpcrdma_device_limits) {
		.max_send_sge = rpcrdma_device_limit(attrs->max_send_sge),
		.max_recv_sge = rpcrdma_device_limit(attrs->max_recv_sge),
		.max_sge_rd = rpcrdma_device_limit(attrs->max_sge_rd),
		.max_sgl_rd = rpcrdma_device_limit(attrs->max_sgl_rd),
		.max_qp_wr = rpcrdma_device_limit(attrs->max_qp_wr),
		.max_cqe = rpcrdma_device_limit(attrs->max_cqe),
		.max_mr = rpcrdma_device_limit(attrs->max_mr),
		.max_fast_reg_pages =
			rpcrdma_device_limit(attrs->max_fast_reg_page_list_len),
		.max_reads_in = rpcrdma_device_limit(attrs->max_qp_rd_atom),
		.max_reads_out =
			rpcrdma_device_limit(attrs->max_qp_init_rd_atom),
		.page_size = PAGE_SIZE,
		.fast_reg = attrs->device_cap_flags &
			    IB_DEVICE_MEM_MGT_EXTENSIONS,
		/* No flag says that this driver lacks the opcode. */
		.local_inv = rpcrdma_driver(device) != RDMA_DRIVER_HNS,
		.iwarp = rdma_protocol_iwarp(device, port),
	};
}

static struct rpcrdma_wants
rpcrdma_conn_wants(const struct rpcrdma_conn_attr *attr)
{
	return (struct rpcrdma_wants) {
		.window = attr->config.window,
		.max_window = max_t(u32, RPCRDMA_WINDOW_STEP, attr->config.window),
		.recv_size = attr->config.local.recv_size,
		.recv_most = attr->grow,
		.recv_pages = attr->recv_pages,
		.recv_head = attr->recv_head,
		.send_size = attr->config.local.send_size,
		.send_most = attr->grow,
		.send_head = attr->rtr ? RPCRDMA_RTR_HEAD : 0,
		.gather = attr->gather,
		.send_ring = attr->send_ring,
		.regions = attr->max_mrs,
		.region_pages = attr->mr_pages,
		.max_payload = RPCRDMA_MAX_PAYLOAD,
		.max_message = attr->rw_octets,
		.rw_ctxs = attr->rw_ctxs,
		.rw_sges = attr->rw_pages,
		.rw_ops = RPCRDMA_MAX_RW_OPS,
		.reads_in = attr->reads_in,
		.reads_out = attr->reads_out,
	};
}

/*
 * Compute all sizes. @attr changes if it wants rtrext and the device lacks what that needs, or
 * larger messages than clients of Linux have and the device's queue is too short for them.
 * Return: false if there can be no connection; the unfit of @sizes tells why.
 */
static bool rpcrdma_conn_sizes(struct ib_device *device, u32 port,
			       struct rpcrdma_conn_attr *attr,
			       struct rpcrdma_sizes *sizes)
{
	struct rpcrdma_device_limits limits;
	struct rpcrdma_wants wants;
	bool fits, less;

	rpcrdma_conn_limits(device, port, &limits);
	do {
		wants = rpcrdma_conn_wants(attr);
		fits = rpcrdma_size_conn(&limits, &wants, sizes);
		/* What then is too large for the queue is refused: rpcrdma_conn_fits(). */
		less = !fits && sizes->unfit == RPCRDMA_UNFIT_SENDS &&
		       attr->rw_octets > RPCRDMA_MAX_MESSAGE;
		if (less)
			attr->rw_octets = RPCRDMA_MAX_MESSAGE;
		/* Without pages to fill, that is without rtrext, other sizes are right. */
	} while (less ||
		 (fits && !sizes->recv_pages && rpcrdma_rtr_drop(attr)));
	return fits;
}

/* Tell why there can be no connection. Return: a negative errno. */
static int rpcrdma_conn_unfit(const struct ib_device *device, u32 role,
			      u32 unfit)
{
	trace_rpcrdma_unfit(device->name, role, rpcrdma_unfit_name(unfit));
	pr_warn_ratelimited("rpcrdma: %s cannot be used: %s\n",
			    dev_name(&device->dev), rpcrdma_unfit_name(unfit));
	return unfit == RPCRDMA_UNFIT_RECEIVES ||
	       unfit == RPCRDMA_UNFIT_SENDS ? -ENOSPC : -EOPNOTSUPP;
}

/**
 * rpcrdma_conn_fit - what a connection would be made with on a device
 * @device: the device; nfsd's READs and WRITEs have no more than 1 MiB
 * @role: enum rpcrdma_role
 * @sizes: filled in; its unfit tells why there can be none
 *
 * Context: Any.
 */
void rpcrdma_conn_fit(struct ib_device *device, u32 role,
		      struct rpcrdma_sizes *sizes)
{
	const bool client = role == RPCRDMA_ROLE_CLIENT;
	struct rpcrdma_conn_attr attr = {
		.config = {
			.role = role,
			.window = READ_ONCE(rpcrdma_window),
			.local = {
				.send_size = client ?
					READ_ONCE(rpcrdma_inline_write) :
					READ_ONCE(rpcrdma_svc_inline),
				.recv_size = client ?
					READ_ONCE(rpcrdma_inline_read) :
					READ_ONCE(rpcrdma_svc_inline),
			},
		},
		.recv_pages = !client,
		.gather = !client,
		.grow = READ_ONCE(rpcrdma_grow),
		.send_ring = RPCRDMA_SEND_RING,
		.max_mrs = client ? RPCRDMA_MAX_MRS : 0,
		.mr_pages = client ? RPCRDMA_MR_PAGES : 0,
		.rw_ctxs = client ? 0 : RPCRDMA_SVC_RW_CTXS,
		.rw_pages = client ? 0 : RPCRDMA_SVC_RW_PAGES,
		.rw_octets = client ? 0 : RPCRDMA_MAX_MESSAGE,
		.reads_in = client ? U8_MAX : 0,
		.reads_out = client ? 0 : READ_ONCE(rpcrdma_svc_reads),
	};

	rpcrdma_versions(&attr.config);
	rpcrdma_rtr_want(&attr);
	(void)!rpcrdma_conn_sizes(device, rdma_start_port(device), &attr,
				  sizes);
}

/* ib_core makes a region for each of the @rw_ctxs, if the device needs any. */
static int rpcrdma_conn_try_qp(struct rpcrdma_conn *conn,
			       const struct rpcrdma_sizes *sizes, u32 rw_ctxs)
{
	struct ib_qp_init_attr qp = { };

	qp.event_handler = rpcrdma_qp_event;
	qp.qp_context = conn;
	qp.send_cq = conn->send_cq;
	qp.recv_cq = conn->recv_cq;
	qp.qp_type = IB_QPT_RC;
	qp.sq_sig_type = IB_SIGNAL_REQ_WR;
	qp.port_num = conn->cm_id->port_num;
	qp.cap.max_rdma_ctxs = rw_ctxs;
	qp.cap.max_send_wr = sizes->send_wr;
	qp.cap.max_recv_wr = sizes->recv_wr;
	qp.cap.max_send_sge = sizes->send_sge;
	qp.cap.max_recv_sge = sizes->recv_sge;
	return rdma_create_qp(conn->cm_id, conn->pd, &qp);
}

/* Drivers say either if they have no region left. */
static bool rpcrdma_no_region(int rc)
{
	return rc == -ENOMEM || rc == -ENOSPC;
}

static int rpcrdma_conn_create_qp(struct rpcrdma_conn *conn,
				  const struct rpcrdma_sizes *sizes)
{
	struct ib_device *device = conn->cm_id->device;
	int rc;

	conn->sq_depth = sizes->budget;
	conn->sq_avail = conn->sq_depth;

	conn->send_cq = ib_alloc_cq_any(device, conn, sizes->send_cqe,
					IB_POLL_WORKQUEUE);
	if (IS_ERR(conn->send_cq)) {
		rc = PTR_ERR(conn->send_cq);
		conn->send_cq = NULL;
		return rc;
	}
	conn->recv_cq = ib_alloc_cq_any(device, conn, sizes->recv_cqe,
					IB_POLL_WORKQUEUE);
	if (IS_ERR(conn->recv_cq)) {
		rc = PTR_ERR(conn->recv_cq);
		conn->recv_cq = NULL;
		return rc;
	}

	rc = rpcrdma_conn_try_qp(conn, sizes, sizes->rw_ctxs);
	if (sizes->rw_least && rpcrdma_no_region(rc)) {
		/* The limit is the device's, and all connections share it. */
		if (sizes->rw_least < sizes->rw_ctxs)
			rc = rpcrdma_conn_try_qp(conn, sizes, sizes->rw_least);
		if (rpcrdma_no_region(rc))
			rc = -ENOBUFS;
	}
	if (rc)
		return rc;
	conn->qp = conn->cm_id->qp;
	return 0;
}

/**
 * rpcrdma_conn_charged - the module holds more memory for the connection already
 * @conn: the connection, which releases it when it ends
 * @octets: how much
 *
 * Context: Process context, no lock held.
 */
void rpcrdma_conn_charged(struct rpcrdma_conn *conn, u64 octets)
{
	spin_lock(&conn->lock);
	conn->memory += octets;
	spin_unlock(&conn->lock);
}

/**
 * rpcrdma_conn_charge - the connection needs more memory for as long as it exists
 * @conn: the connection
 * @octets: how much
 * @must: whoever wants it cannot wait, or gives back more soon
 *
 * Context: Process context, no lock held.
 *
 * Return: 0, or %-EDQUOT if the module may not hold so much now.
 */
int rpcrdma_conn_charge(struct rpcrdma_conn *conn, u64 octets, bool must)
{
	if (rpcrdma_memory_charge(octets, must))
		return -EDQUOT;
	rpcrdma_conn_charged(conn, octets);
	return 0;
}

/**
 * rpcrdma_conn_uncharge - the opposite of rpcrdma_conn_charge()
 * @conn: the connection
 * @octets: how much of it
 *
 * Context: Process context, no lock held.
 */
void rpcrdma_conn_uncharge(struct rpcrdma_conn *conn, u64 octets)
{
	spin_lock(&conn->lock);
	octets = min(octets, conn->memory);
	conn->memory -= octets;
	spin_unlock(&conn->lock);
	rpcrdma_memory_uncharge(octets);
}

/* What it takes to make a connection; Documentation/sizing.rst has the formula. */
static int rpcrdma_conn_charge_all(struct rpcrdma_conn *conn,
				   const struct rpcrdma_conn_attr *attr,
				   const struct rpcrdma_sizes *sizes)
{
	const struct rpcrdma_config *cfg = &attr->config;
	u64 octets = sizeof(*conn) + attr->reserve;
	int rc;

	conn->mr_pages = sizes->region_pages;
	octets += (cfg->window + 1ULL) *
			  rpcrdma_recv_memory(conn, cfg->local.recv_size) +
		  (conn->recv_pages > 1 ?
		   rpcrdma_buffer_bytes(cfg->local.recv_size) : 0) +
		  rpcrdma_send_memory(conn, attr->send_ring, cfg->send_room) +
		  rpcrdma_frwr_memory(conn, sizes);
	rc = rpcrdma_memory_charge(octets, conn->must);
	if (!rc)
		conn->memory = octets;
	return rc;
}

static void rpcrdma_conn_free(struct kref *kref)
{
	struct rpcrdma_conn *conn = container_of(kref, struct rpcrdma_conn,
						 kref);

	atomic_dec(&rpcrdma_live[RPCRDMA_LIVE_CONNS]);
	kfree_rcu(conn, rcu);
}

/**
 * rpcrdma_conn_put - drop a reference
 * @conn: the connection, destroyed before the last reference goes
 */
void rpcrdma_conn_put(struct rpcrdma_conn *conn)
{
	kref_put(&conn->kref, rpcrdma_conn_free);
}

static void rpcrdma_conn_release_resources(struct rpcrdma_conn *conn)
{
	rpcrdma_frwr_cleanup(conn);
	if (conn->qp)
		rdma_destroy_qp(conn->cm_id);
	conn->qp = NULL;
	/* The queue pair is gone, and nothing else schedules lost_work. */
	cancel_work_sync(&conn->lost_work);
	rpcrdma_conn_auth_end(conn);
	rpcrdma_send_cleanup(conn);
	rpcrdma_recv_cleanup(conn);
	if (conn->send_cq)
		ib_free_cq(conn->send_cq);
	if (conn->recv_cq)
		ib_free_cq(conn->recv_cq);
	if (conn->pd)
		ib_dealloc_pd(conn->pd);
	rpcrdma_memory_uncharge(conn->memory);
	conn->memory = 0;
}

/**
 * rpcrdma_conn_create - create a connection and post its Receives
 * @cm_id: bound to a device; its event handler stays the caller's
 * @attr: copied as needed
 *
 * The caller then connects or accepts. On success @cm_id belongs to the
 * connection, which destroys it at its end.
 *
 * Context: Process context. May sleep.
 *
 * Return: a connection with one reference, or an ERR_PTR: %-ENOMEM,
 * %-ENODEV if the device is going away, %-EINVAL if @attr makes no sense,
 * %-EDQUOT if the module may not hold so much now, %-E2BIG if it never may, %-ENOBUFS if the
 * device has too few memory regions now for what it has to register for RDMA,
 * %-ENOSPC if the device's queues are too short, %-EOPNOTSUPP if the device lacks another
 * feature (enum rpcrdma_unfit), or the errno of a verb.
 */
struct rpcrdma_conn *rpcrdma_conn_create(struct rdma_cm_id *cm_id,
					 const struct rpcrdma_conn_attr *attr)
{
	struct ib_device *device = cm_id->device;
	struct rpcrdma_conn_attr a = *attr;
	struct rpcrdma_sizes sizes;
	struct rpcrdma_conn *conn;
	u32 send_size;
	int rc;

	conn = kzalloc_node(sizeof(*conn), GFP_KERNEL, ibdev_to_node(device));
	if (!conn)
		return ERR_PTR(-ENOMEM);
	atomic_inc(&rpcrdma_live[RPCRDMA_LIVE_CONNS]);
	kref_init(&conn->kref);
	conn->ops = a.ops;
	conn->context = a.context;
	conn->spares = a.spares;
	conn->must = a.must;
	conn->role = a.config.role;
	conn->error = -ENOTCONN;
	conn->created = ktime_get();
	conn->id = atomic_long_inc_return(&rpcrdma_conn_ids);
	conn->net = cm_id->route.addr.dev_addr.net;
	conn->cm_id = cm_id;
	spin_lock_init(&conn->lock);
	spin_lock_init(&conn->event_lock);
	INIT_LIST_HEAD(&conn->tx_queue);
	INIT_LIST_HEAD(&conn->tx_over);
	INIT_LIST_HEAD(&conn->job_queue);
	INIT_LIST_HEAD(&conn->jobs_posted);
	init_waitqueue_head(&conn->pump_wait);
	INIT_WORK(&conn->lost_work, rpcrdma_lost_worker);
	INIT_LIST_HEAD(&conn->recvs);
	INIT_LIST_HEAD(&conn->behind);
	init_llist_head(&conn->recv_back);
	INIT_WORK(&conn->window_work, rpcrdma_window_worker);
	INIT_DELAYED_WORK(&conn->auth_work, rpcrdma_auth_worker);
	scnprintf(conn->name, sizeof(conn->name), "%pISpc - %pISpc",
		  &cm_id->route.addr.src_addr, &cm_id->route.addr.dst_addr);
	memcpy(&conn->local, &cm_id->route.addr.src_addr, sizeof(conn->local));
	memcpy(&conn->peer, &cm_id->route.addr.dst_addr, sizeof(conn->peer));
	strscpy(conn->device_name, device->name, sizeof(conn->device_name));
	conn->port = cm_id->port_num;
	conn->iwarp = rdma_protocol_iwarp(device, conn->port);
	conn->signals_all = rpcrdma_driver(device) == RDMA_DRIVER_SIW;
	conn->max_version = 2;
	if (a.only_v1 != RPCRDMA_V1_DIALECT && a.config.max_version)
		conn->max_version = a.config.max_version;
	conn->only_v1 = a.only_v1;
	conn->previous_loss = a.previous_loss;
	conn->reconnects = a.reconnects;

	conn->follow = !a.config.window;
	if (conn->follow)
		a.config.window = READ_ONCE(rpcrdma_window);
	if (!rpcrdma_conn_sizes(device, cm_id->port_num, &a, &sizes)) {
		rc = rpcrdma_conn_unfit(device, a.config.role, sizes.unfit);
		goto out_free;
	}
	a.config.local.recv_size = sizes.recv_size;
	/* Sends never are larger than this side says: so it says what they can become. */
	send_size = sizes.send_size;
	a.config.local.send_size = send_size;
	a.config.send_room = send_size;
	if (!a.rtr && a.grow > send_size)
		a.config.local.send_size = a.grow;
	else
		a.config.extensions &= ~rpcrdma_xchar_extension();
	if (a.rtr || a.grow <= send_size ||
	    a.rest >= a.config.local.recv_size)
		a.rest = 0;
	rpcrdma_resize_init(conn, &a, &sizes);
	rpcrdma_ring_init(conn, &a);
	a.config.window = min_t(u32, sizes.window, RPCRDMA_WINDOW_STEP);
	conn->max_window = sizes.max_window;
	conn->recv_pages = sizes.recv_pages;
	conn->recv_owner = a.recv_owner;
	conn->gather_sge = sizes.gather_sge;
	conn->reads_in = sizes.reads_in;
	conn->reads_out = sizes.reads_out;
	conn->rw_pages = sizes.rw_pages;
	conn->version1 = sizes.version1;
	if (!a.rtr)
		a.config.extensions &= ~rpcrdma_rtr_extension();

	rc = -EINVAL;
	if (!rpcrdma_session_init(&conn->session, &a.config) ||
	    !rpcrdma_rtr_setup(conn, &a))
		goto out_free;
	rc = rpcrdma_conn_charge_all(conn, &a, &sizes);
	if (rc)
		goto out_free;
	rc = rpcrdma_device_add(conn);
	if (rc)
		goto out_memory;

	conn->pd = ib_alloc_pd(device, 0);
	if (IS_ERR(conn->pd)) {
		rc = PTR_ERR(conn->pd);
		conn->pd = NULL;
		goto out_release;
	}
	rc = rpcrdma_conn_create_qp(conn, &sizes);
	if (rc)
		goto out_release;
	rc = rpcrdma_send_setup(conn, a.send_ring, send_size);
	if (rc)
		goto out_release;
	rc = rpcrdma_recv_setup(conn, a.config.window + 1,
				a.config.local.recv_size, a.rest);
	if (rc)
		goto out_release;
	rc = rpcrdma_frwr_setup(conn, &sizes);
	if (rc)
		goto out_release;
	rc = rpcrdma_recv_post_all(conn);
	if (rc)
		goto out_drain;
	rc = rpcrdma_stats_add(conn);
	if (rc)
		goto out_drain;
	if (a.config.auth)
		rpcrdma_conn_auth_begin(conn, a.config.auth);
	return conn;

out_drain:
	ib_drain_qp(conn->qp);
out_release:
	rpcrdma_conn_release_resources(conn);
	rpcrdma_device_del(conn);
out_memory:
	rpcrdma_memory_uncharge(conn->memory);
out_free:
	rpcrdma_conn_put(conn);
	return ERR_PTR(rc);
}

/**
 * rpcrdma_conn_destroy - end a connection
 * @conn: the connection; the caller's reference stays with the caller
 *
 * When this returns the peer can reach no memory through this connection, every
 * queued message has ended, and no callback is called any more.
 *
 * Context: Process context. May sleep. Not from an ops callback.
 */
void rpcrdma_conn_destroy(struct rpcrdma_conn *conn)
{
	struct rdma_cm_id *cm_id = conn->cm_id;
	/* rpcrdma_device_leaves() can tell who listens until rpcrdma_device_del(). */
	struct net *net = get_net((struct net *)conn->net);

	/* The owner knows already: ops->lost must not be called. */
	rpcrdma_conn_over(conn, "closed by this side");
	rpcrdma_send_stop(conn);
	rdma_disconnect(cm_id);

	spin_lock(&conn->lock);
	rpcrdma_conn_advance(conn, RPCRDMA_CONN_DEAD);
	spin_unlock(&conn->lock);

	ib_drain_qp(conn->qp);
	rpcrdma_frwr_reclaim(conn);
	rpcrdma_send_flush(conn);

	rpcrdma_stats_del(conn);
	/* The connection is in no list, so nobody schedules window_work again. */
	cancel_work_sync(&conn->window_work);
	/* It is dead, so nobody schedules this again but itself, which ends here. */
	cancel_delayed_work_sync(&conn->resize.work);
	cancel_delayed_work_sync(&conn->ring_work);
	rpcrdma_conn_release_resources(conn);
	rdma_destroy_id(cm_id);
	rpcrdma_device_del(conn);
	put_net(net);
}
