// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Connecting and disconnecting a client transport.
 *
 * One worker per transport takes all steps, one after the other, under the
 * xprt's write lock: resolve the address, resolve the route, create the queue
 * pair, connect by rdma_cm, exchange properties (section 4.3). But for the route
 * it only waits: the handler that is told of the address begins it. A step ends
 * when its event comes, on an error, or after its time-out. If a step fails,
 * the worker undoes the whole attempt.
 *
 * A server of version 1 refuses the properties. The connection then goes on
 * with version 1 (D5). If a server does not answer the properties at all, the
 * client connects once more and speaks version 1 from the beginning. After a time-out
 * it remembers the server for a while, so that the next mount does not wait
 * again. A server whose private data says that it speaks version 2 gets more time, and
 * is not remembered. A server that cannot read the properties, though it calls what it
 * speaks version 2, gets another connection with version 1, too (D25).
 *
 * If the policy asks for host authentication, a server that does not answer the opening of
 * it cannot be sent the properties either, without credit. If the policy allows to do
 * without, the client connects again and sends no opening.
 *
 * If a connection is lost later, sunrpc's own autoclose closes it, also under the
 * write lock. So there is never more than one connection.
 */
#include <linux/delay.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/sched/mm.h>
#include <linux/sunrpc/addr.h>
#include <rdma/ib_cm.h>

#include <trace/events/rpcrdma_v2.h>

#include "../auth.h"
#include "../netlink.h"
#include "../versions.h"
#include "client.h"

/* Bytes of the smallest header of version 1. */
#define RPCRDMA_V1_HEADER	28

/* Pause after a failed attempt; short compared with the attempt itself. */
#define RPCRDMA_PAUSE_MS	50

/* Guards the table of servers that did not answer version 2. */
static DEFINE_SPINLOCK(rpcrdma_silent_lock);
static struct rpcrdma_recent rpcrdma_silent_servers = {
	.seconds = RPCRDMA_SILENT_SECONDS,
};

/**
 * rpcrdma_silent - did the server recently not answer version 2?
 * @r_xprt: the transport
 * @now: seconds
 *
 * Context: Process context. Does not sleep.
 */
bool rpcrdma_silent(const struct rpcrdma_xprt *r_xprt, u32 now)
{
	const struct sockaddr *sap = (const struct sockaddr *)&r_xprt->xprt.addr;
	u64 key = rpcrdma_peer_key(r_xprt->xprt.xprt_net, sap);
	bool silent;

	spin_lock(&rpcrdma_silent_lock);
	silent = rpcrdma_recent_known(&rpcrdma_silent_servers, key,
				      rpc_get_port(sap), now);
	spin_unlock(&rpcrdma_silent_lock);
	return silent;
}

/**
 * rpcrdma_note_silent - the server does not answer version 2
 * @r_xprt: the transport
 * @now: seconds
 *
 * Context: Process context. Does not sleep.
 */
void rpcrdma_note_silent(const struct rpcrdma_xprt *r_xprt, u32 now)
{
	const struct sockaddr *sap = (const struct sockaddr *)&r_xprt->xprt.addr;
	u64 key = rpcrdma_peer_key(r_xprt->xprt.xprt_net, sap);

	spin_lock(&rpcrdma_silent_lock);
	rpcrdma_recent_note(&rpcrdma_silent_servers, key, rpc_get_port(sap),
			    now);
	spin_unlock(&rpcrdma_silent_lock);
}

/**
 * rpcrdma_forget_silent - a server that did not answer version 2 does speak it
 * @r_xprt: the transport
 *
 * Context: Process context. Does not sleep.
 *
 * Return: true if the connection speaks version 1 only because there was no answer.
 */
bool rpcrdma_forget_silent(const struct rpcrdma_xprt *r_xprt)
{
	const struct sockaddr *sap = (const struct sockaddr *)&r_xprt->xprt.addr;
	u64 key = rpcrdma_peer_key(r_xprt->xprt.xprt_net, sap);
	bool silent;

	spin_lock(&rpcrdma_silent_lock);
	silent = rpcrdma_recent_forget(&rpcrdma_silent_servers, key,
				       rpc_get_port(sap), ktime_get_seconds());
	spin_unlock(&rpcrdma_silent_lock);
	/* Another transport may have removed the server from the table. */
	return silent || READ_ONCE(r_xprt->only_v1) == RPCRDMA_V1_SILENT;
}

static void rpcrdma_step_error(struct rpcrdma_xprt *r_xprt, int error)
{
	cmpxchg(&r_xprt->cm_error, 0, error);
}

static void rpcrdma_step_done(struct rpcrdma_xprt *r_xprt, int error)
{
	if (error)
		rpcrdma_step_error(r_xprt, error);
	complete(&r_xprt->step);
}

/* Store the sizes of the server's private data for version 1 (RFC 8797). */
static void rpcrdma_established(struct rpcrdma_xprt *r_xprt,
				const struct rdma_cm_id *id,
				const struct rdma_conn_param *param)
{
	struct rpcrdma_conn *conn = READ_ONCE(r_xprt->conn);
	struct rpcrdma_cm_private private;

	if (!conn || conn->cm_id != id)
		return;
	rpcrdma_cm_private_decode(param->private_data, param->private_data_len,
				  &private);
	r_xprt->private = private;
	rpcrdma_conn_private(conn, &private);
	rpcrdma_conn_reach(conn, RPCRDMA_CONN_CONNECTED);
}

/* Ends with its own reason; later ones, such as that this side closes it, do not count. */
static void rpcrdma_cm_lost(struct rpcrdma_xprt *r_xprt, const struct rdma_cm_id *id,
			    const char *why)
{
	/* r_xprt->conn was set before the connection could have such an event. */
	struct rpcrdma_conn *conn = READ_ONCE(r_xprt->conn);

	if (conn && conn->cm_id == id)
		rpcrdma_conn_lost(conn, why);
}

/*
 * The error comes first, because rpcrdma_client_lost() has another one; the step is done
 * last, because who waits for it ends the connection.
 */
static void rpcrdma_cm_failed(struct rpcrdma_xprt *r_xprt,
			      const struct rdma_cm_id *id, int error,
			      const char *why)
{
	rpcrdma_step_error(r_xprt, error);
	rpcrdma_cm_lost(r_xprt, id, why);
	rpcrdma_step_done(r_xprt, error);
}

/* rdma_cm does not look for a route any more. @error: 0 if there is one. */
static void rpcrdma_route_done(struct rpcrdma_xprt *r_xprt, int error)
{
	lockdep_assert_held(&r_xprt->conn_lock);
	r_xprt->routing = false;
	rpcrdma_step_done(r_xprt, error);
	wake_up(&r_xprt->routed);
}

static void rpcrdma_cm_routed(struct rpcrdma_xprt *r_xprt, int error)
{
	spin_lock(&r_xprt->conn_lock);
	rpcrdma_route_done(r_xprt, error);
	spin_unlock(&r_xprt->conn_lock);
}

/* How a thread got memory before rpcrdma_memalloc_save(). */
struct rpcrdma_memalloc {
	bool swapper;
	unsigned int noreclaim, noio;
};

/*
 * Memory for a connection: reclaim could wait for an RPC that waits for the connection, so NOIO.
 * With swap over it, from the reserves, too.
 */
static struct rpcrdma_memalloc rpcrdma_memalloc_save(struct rpc_xprt *xprt)
{
	struct rpcrdma_memalloc saved = {
		.swapper = atomic_read(&xprt->swapper),
	};

	if (saved.swapper)
		saved.noreclaim = memalloc_noreclaim_save();
	saved.noio = memalloc_noio_save();
	return saved;
}

static void rpcrdma_memalloc_restore(struct rpcrdma_memalloc saved)
{
	memalloc_noio_restore(saved.noio);
	if (saved.swapper)
		memalloc_noreclaim_restore(saved.noreclaim);
}

/*
 * Look for a route. Here no other event of @id can come meanwhile. If the connector has given up
 * already, it destroys @id.
 */
static void rpcrdma_cm_route(struct rpcrdma_xprt *r_xprt, struct rdma_cm_id *id)
{
	struct rpcrdma_memalloc saved;
	bool wanted;
	int rc;

	spin_lock(&r_xprt->conn_lock);
	wanted = r_xprt->cm_id == id;
	r_xprt->routing = wanted;
	spin_unlock(&r_xprt->conn_lock);
	if (!wanted)
		return;

	saved = rpcrdma_memalloc_save(&r_xprt->xprt);
	rc = rdma_resolve_route(id, RPCRDMA_CM_TIMEOUT_MS);
	rpcrdma_memalloc_restore(saved);
	if (rc)
		rpcrdma_cm_routed(r_xprt, rc);
	else
		rpcrdma_step_done(r_xprt, 0);
}

/* A handler may still have to return to rdma_cm when its transport is gone. */
static bool rpcrdma_cm_gave_up;

/*
 * If the device goes while rdma_cm looks for a route, rdma_cm cancels that after this event, and
 * looks at id->device to do so. If another thread destroyed the id at that moment, it would be
 * NULL. So rdma_cm destroys the id itself, when it has cancelled.
 *
 * Return: true if the connector has no id any more.
 */
static bool rpcrdma_cm_gives_up(struct rpcrdma_xprt *r_xprt)
{
	bool routing;

	spin_lock(&r_xprt->conn_lock);
	routing = r_xprt->routing;
	if (routing) {
		WRITE_ONCE(rpcrdma_cm_gave_up, true);
		r_xprt->cm_id = NULL;
		/* The connector waits for the lock, and may then free @r_xprt. */
		rpcrdma_route_done(r_xprt, -ENOTCONN);
	}
	spin_unlock(&r_xprt->conn_lock);
	return routing;
}

/**
 * rpcrdma_connect_exit - no handler of the connection manager runs any more
 *
 * Context: Process context, no transport is left. May sleep.
 */
void rpcrdma_connect_exit(void)
{
	/* What destroys an id waits for its handler, unless rdma_cm destroys it. */
	if (READ_ONCE(rpcrdma_cm_gave_up))
		synchronize_rcu_tasks();
}

/**
 * rpcrdma_client_cm_event - the connection manager says something
 * @id: of a transport
 * @event: what has happened
 *
 * Context: Process context, under the handler's mutex of @id. May sleep.
 *
 * Return: not 0 if rdma_cm is to destroy @id.
 */
int rpcrdma_client_cm_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct rpcrdma_xprt *r_xprt = id->context;

	trace_rpcrdma_cm(id, event);
	switch (event->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		/* Before the step ends. */
		rpcrdma_established(r_xprt, id, &event->param.conn);
		rpcrdma_step_done(r_xprt, 0);
		break;
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		rpcrdma_cm_route(r_xprt, id);
		break;
	case RDMA_CM_EVENT_ADDR_ERROR:
		rpcrdma_step_done(r_xprt, -EHOSTUNREACH);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		rpcrdma_cm_routed(r_xprt, 0);
		break;
	case RDMA_CM_EVENT_ROUTE_ERROR:
		rpcrdma_cm_routed(r_xprt, -EHOSTUNREACH);
		break;
	case RDMA_CM_EVENT_CONNECT_ERROR:
		rpcrdma_cm_failed(r_xprt, id, -ENOTCONN,
				  rdma_event_msg(event->event));
		break;
	case RDMA_CM_EVENT_REJECTED:
		/* The server still has an old connection: a later attempt succeeds. */
		rpcrdma_cm_failed(r_xprt, id,
				  event->status == IB_CM_REJ_STALE_CONN ?
				  -EAGAIN : -ECONNREFUSED,
				  rdma_reject_msg(id, event->status));
		break;
	case RDMA_CM_EVENT_UNREACHABLE:
		/* Also when the server's hardware address has changed. */
		rpcrdma_cm_failed(r_xprt, id, -EHOSTUNREACH,
				  rdma_event_msg(event->event));
		break;
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		if (rpcrdma_cm_gives_up(r_xprt))
			return 1;
		fallthrough;
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_ADDR_CHANGE:
		rpcrdma_cm_lost(r_xprt, id, rdma_event_msg(event->event));
		rpcrdma_step_done(r_xprt, -ENOTCONN);
		break;
	default:
		break;
	}
	return 0;
}

static void rpcrdma_client_ready(struct rpcrdma_conn *conn)
{
	rpcrdma_step_done(conn->context, 0);
}

static void rpcrdma_client_lost(struct rpcrdma_conn *conn)
{
	struct rpcrdma_xprt *r_xprt = conn->context;

	spin_lock(&r_xprt->conn_lock);
	/* If this comes late, r_xprt->conn is another connection. */
	if (r_xprt->conn == conn) {
		rpcrdma_step_done(r_xprt, READ_ONCE(conn->error));
		if (xprt_connected(&r_xprt->xprt))
			xprt_force_disconnect(&r_xprt->xprt);
	}
	spin_unlock(&r_xprt->conn_lock);
}

/*
 * There is room. xprt_write_space() takes the write lock, and if nobody wants it, it gives it
 * back without waking xprt_destroy(), which may have tried to take it meanwhile.
 */
static void rpcrdma_write_space(struct rpc_xprt *xprt)
{
	xprt_write_space(xprt);
	/* wake_up_bit() looks for sleepers without a barrier of its own. */
	smp_mb();
	wake_up_bit(&xprt->state, XPRT_LOCKED);
}

/* An old connection must not end the pause after a failed attempt. */
static void rpcrdma_client_room(struct rpcrdma_conn *conn)
{
	struct rpcrdma_xprt *r_xprt = conn->context;

	spin_lock(&r_xprt->conn_lock);
	if (r_xprt->conn == conn && xprt_connected(&r_xprt->xprt)) {
		trace_rpcrdma_room(conn->id);
		rpcrdma_write_space(&r_xprt->xprt);
	}
	spin_unlock(&r_xprt->conn_lock);
}

/*
 * sunrpc keeps its Calls until rpcrdma_client_room() runs. The task that has found no room still
 * has the transport's write lock.
 */
static void rpcrdma_client_no_room(struct rpcrdma_conn *conn)
{
	struct rpcrdma_xprt *r_xprt = conn->context;

	lockdep_assert_held(&conn->lock);
	xprt_wait_for_buffer_space(&r_xprt->xprt);
}

/**
 * rpcrdma_client_give_up - end the connection that an RPC was sent on
 * @r_xprt: the transport
 * @cookie: the connect_cookie when the RPC was sent; another connection stays
 *
 * Context: Process context, no lock held. Does not sleep.
 *
 * Return: true if that connection was still there.
 */
bool rpcrdma_client_give_up(struct rpcrdma_xprt *r_xprt, unsigned int cookie)
{
	bool there;

	spin_lock(&r_xprt->conn_lock);
	/* The cookie changes only some time after the connection has gone. */
	there = r_xprt->conn && cookie == READ_ONCE(r_xprt->xprt.connect_cookie);
	if (there)
		xprt_force_disconnect(&r_xprt->xprt);
	spin_unlock(&r_xprt->conn_lock);
	return there;
}

static u32 rpcrdma_client_serving(const struct rpcrdma_conn *conn)
{
	struct rpcrdma_xprt *r_xprt = conn->context;

	return atomic_read(&r_xprt->bc_calls);
}

static const struct rpcrdma_conn_ops rpcrdma_client_conn_ops = {
	.ready = rpcrdma_client_ready,
	.lost = rpcrdma_client_lost,
	.room = rpcrdma_client_room,
	.no_room = rpcrdma_client_no_room,
	.payload = rpcrdma_client_payload,
	.abandon = rpcrdma_client_abandon,
	.failed = rpcrdma_client_failed,
	.serving = rpcrdma_client_serving,
};

/* Begin a step: the end of an earlier step must not end it. */
static void rpcrdma_step_begin(struct rpcrdma_xprt *r_xprt)
{
	reinit_completion(&r_xprt->step);
}

/*
 * Wait for the end of a step whose start returned @rc. A worker gets no signals. That it could be
 * interrupted says that it does not hang: a server may be silent for all of a minute.
 */
static int rpcrdma_step_wait(struct rpcrdma_xprt *r_xprt, const char *step, int rc,
			     unsigned long timeout)
{
	struct completion *done = &r_xprt->step;
	long left = 1;

	if (!rc && !READ_ONCE(r_xprt->cm_error))
		left = wait_for_completion_interruptible_timeout(done, timeout);
	if (left <= 0)
		rc = left ?: -ETIMEDOUT;
	if (!rc)
		rc = READ_ONCE(r_xprt->cm_error);
	trace_rpcrdma_connect(r_xprt->xprt.address_strings[RPC_DISPLAY_ADDR], step,
			      rc);
	return rc;
}

/*
 * True if a server of version 1 has refused version 2, and nothing has come since. If the
 * connection is lost then, the next one has to begin with version 1, or it goes on like that
 * (-07, 4.3.2).
 */
static bool rpcrdma_only_refused(const struct rpcrdma_xprt *r_xprt,
				 const struct rpcrdma_conn *conn,
				 const struct rpcrdma_session_info *info)
{
	return info->version == 1 && info->received == 1 &&
	       conn->max_version > 1 && r_xprt->only_v1 != RPCRDMA_V1_DIALECT;
}

/*
 * True if the server has accepted and then nothing has come but a refusal of version 2. The
 * server may have ended the connection before the first message was sent.
 */
static bool rpcrdma_unanswered(const struct rpcrdma_xprt *r_xprt)
{
	struct rpcrdma_conn *conn = r_xprt->conn;
	struct rpcrdma_session_info info;

	if (!conn || !rpcrdma_conn_has_been(conn, RPCRDMA_CONN_CONNECTED))
		return false;
	/* An answer that fits no Receive does not say that the server is of version 1 (D21). */
	if (conn->auth_policy && test_bit(RPCRDMA_CONN_TOO_LONG, &conn->flags))
		return false;
	rpcrdma_conn_info(conn, &info);
	return !info.received || rpcrdma_only_refused(r_xprt, conn, &info);
}

/* With a nonce of its own. */
static struct rpcrdma_conn *
rpcrdma_client_create(struct rpcrdma_xprt *r_xprt, struct rpcrdma_conn_attr *attr,
		      const struct rpcrdma_auth *auth)
{
	struct rpcrdma_auth fresh;
	struct rpcrdma_conn *conn;

	if (!auth)
		return rpcrdma_conn_create(r_xprt->cm_id, attr);
	fresh = *auth;
	get_random_bytes_wait(fresh.nonce, sizeof(fresh.nonce));
	attr->config.auth = &fresh;
	conn = rpcrdma_conn_create(r_xprt->cm_id, attr);
	memzero_explicit(&fresh, sizeof(fresh));
	attr->config.auth = NULL;
	return conn;
}

/* Wait until RPC messages can flow, @ms for each answer. */
static int rpcrdma_connect_open(struct rpcrdma_xprt *r_xprt, u32 ms)
{
	struct rpcrdma_conn *conn = r_xprt->conn;
	unsigned long timeout = msecs_to_jiffies(ms);
	int rc;

	rpcrdma_step_begin(r_xprt);
	rpcrdma_conn_pump(conn);
	if (rpcrdma_conn_ready(conn))
		rpcrdma_step_done(r_xprt, 0);
	rc = rpcrdma_step_wait(r_xprt, "properties", 0, timeout);
	if (rc != -ETIMEDOUT || !READ_ONCE(conn->auth))
		return rc;
	/* The second answer may be on its way. */
	if (READ_ONCE(conn->auth_state) == RPCRDMA_AUTH_WAITS) {
		rc = rpcrdma_step_wait(r_xprt, "proof", 0, timeout);
		if (rc != -ETIMEDOUT || !READ_ONCE(conn->auth))
			return rc;
	}
	if (rpcrdma_conn_auth_late(conn))
		return rpcrdma_step_wait(r_xprt, "properties", 0, timeout);
	r_xprt->auth_again = READ_ONCE(conn->auth_state) == RPCRDMA_AUTH_WITHOUT;
	return rc;
}

static int rpcrdma_connect_cm(struct rpcrdma_xprt *r_xprt,
			      const struct rpcrdma_config *versions)
{
	struct rpcrdma_properties *local;
	struct rpcrdma_cm_private private = { };
	u8 private_data[RPCRDMA_CM_PRIVATE_SIZE];
	struct rdma_conn_param param = { };
	struct rpcrdma_conn_attr attr = {
		.ops = &rpcrdma_client_conn_ops,
		.context = r_xprt,
		.spares = r_xprt->spares,
		/* RPCs wait for a mount's connection, perhaps those that free memory. */
		.must = r_xprt->xprt.stat.connect_count ||
			atomic_read(&r_xprt->xprt.swapper),
		.config = {
			.role = RPCRDMA_ROLE_CLIENT,
			.window = 0, /* the module parameter's */
			.max_message = RPCRDMA_MAX_MESSAGE,
			.max_reverse_call = PAGE_SIZE,
			.first_xid = get_random_u32(),
			.ddp_threshold = READ_ONCE(rpcrdma_ddp_threshold),
			.special_threshold =
				READ_ONCE(rpcrdma_special_threshold),
			.stream_from = READ_ONCE(rpcrdma_stream_from),
			/* One credit for the keep-alive. */
			.reserve = 1,
			.min_version = versions->min_version,
			.max_version = versions->max_version,
			.extensions = RPCRDMA_ALL_EXTENSIONS,
		},
		.grow = READ_ONCE(rpcrdma_grow),
		.send_ring = RPCRDMA_SEND_RING,
		.send_rest = RPCRDMA_SEND_REST,
		.max_mrs = RPCRDMA_MAX_MRS,
		.mr_pages = RPCRDMA_MR_PAGES,
		/* RDMA Reads come from the server only. */
		.reads_in = U8_MAX,
		.only_v1 = READ_ONCE(r_xprt->only_v1),
		.previous_loss = r_xprt->previous_loss,
		.reconnects = r_xprt->reconnects,
	};
	struct rpcrdma_conn *conn;
	ktime_t asked;
	u32 wait;
	int rc;

	local = &attr.config.local;
	local->send_size = READ_ONCE(rpcrdma_inline_write);
	local->recv_size = READ_ONCE(rpcrdma_inline_read);
	local->max_segment_size = RPCRDMA_MAX_PAYLOAD;
	local->max_segments = RPCRDMA_MAX_SEGMENTS;
	local->reverse = RPCRDMA_RVRSDIR_CONT;
	rpcrdma_rtr_want(&attr);

	rpcrdma_step_begin(r_xprt);
	rc = rdma_resolve_addr(r_xprt->cm_id, NULL,
			       (struct sockaddr *)&r_xprt->xprt.addr,
			       RPCRDMA_CM_TIMEOUT_MS);
	rc = rpcrdma_step_wait(r_xprt, "address", rc, RPCRDMA_CONNECT_TIMEOUT);
	if (rc)
		return rc;
	/* The handler has begun it. */
	rc = rpcrdma_step_wait(r_xprt, "route", 0, RPCRDMA_CONNECT_TIMEOUT);
	if (rc)
		return rc;

	conn = rpcrdma_client_create(r_xprt, &attr, versions->auth);
	trace_rpcrdma_connect(r_xprt->xprt.address_strings[RPC_DISPLAY_ADDR],
			      "resources", PTR_ERR_OR_ZERO(conn));
	if (IS_ERR(conn))
		return PTR_ERR(conn);
	/* If it is lost before: see below. Later rpcrdma_client_lost() finds r_xprt->conn. */
	spin_lock(&r_xprt->conn_lock);
	WRITE_ONCE(r_xprt->conn, conn);
	spin_unlock(&r_xprt->conn_lock);
	if (test_bit(RPCRDMA_CONN_LOST, &conn->flags))
		return -ENOTCONN;

	/* RFC 8797: the peer may speak version 1. */
	private.send_size = conn->send_size;
	private.recv_size = conn->recv_size;
	private.remote_inv = true;
	rpcrdma_cm_private_encode(&private, private_data);
	param.private_data = private_data;
	param.private_data_len = sizeof(private_data);
	param.initiator_depth = conn->reads_out;
	param.responder_resources = conn->reads_in;
	param.retry_count = 6;
	/* Credits guarantee that a Receive is posted. */
	param.rnr_retry_count = 0;
	param.flow_control = 0;

	rpcrdma_conn_reach(conn, RPCRDMA_CONN_CONNECTING);
	rpcrdma_step_begin(r_xprt);
	asked = ktime_get();
	rc = rdma_connect(r_xprt->cm_id, &param);
	rc = rpcrdma_step_wait(r_xprt, "handshake", rc, r_xprt->xprt.connect_timeout);
	if (rc)
		return rc;

	wait = rpcrdma_opening_wait(&r_xprt->private,
				    min_t(s64, U32_MAX,
					  ktime_ms_delta(ktime_get(), asked)));
	return rpcrdma_connect_open(r_xprt, wait);
}

static int rpcrdma_attempt(struct rpcrdma_xprt *r_xprt,
			   const struct rpcrdma_config *versions,
			   bool *unanswered)
{
	struct rdma_cm_id *id;
	int rc;

	*unanswered = false;
	rpcrdma_disconnect(r_xprt);
	WRITE_ONCE(r_xprt->cm_error, 0);
	r_xprt->auth_again = false;
	memset(&r_xprt->private, 0, sizeof(r_xprt->private));
	id = rdma_create_id(r_xprt->xprt.xprt_net, rpcrdma_client_cm_event,
			    r_xprt, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id)) {
		rc = PTR_ERR(id);
	} else {
		spin_lock(&r_xprt->conn_lock);
		r_xprt->cm_id = id;
		spin_unlock(&r_xprt->conn_lock);
		rc = rpcrdma_connect_cm(r_xprt, versions);
	}
	if (rc) {
		*unanswered = rpcrdma_unanswered(r_xprt);
		/* It says more than that the server has then ended the connection. */
		if (r_xprt->conn && READ_ONCE(r_xprt->conn->error) == -EPROTOTYPE)
			rc = -EPROTOTYPE;
		if (rc == -ETIMEDOUT && r_xprt->conn)
			rpcrdma_conn_lost(r_xprt->conn, "no answer");
		rpcrdma_disconnect(r_xprt);
		/* Every failure delays the next attempt, also one without a CM event. */
		WRITE_ONCE(r_xprt->cm_error, rc);
	}
	return rc;
}

/* In version 1 a callback and its Reply have one Send each. */
static u32 rpcrdma_bc_payload(struct rpcrdma_conn *conn)
{
	struct rpcrdma_session_info info;
	u32 size;

	rpcrdma_conn_info(conn, &info);
	size = min3(info.max_send, info.local.recv_size, info.peer.send_size);
	return info.version == 1 ?
		min_t(u32, size - RPCRDMA_V1_HEADER, PAGE_SIZE) : PAGE_SIZE;
}

/* The versions to speak: 2 alone, if the server has to authenticate. */
static void rpcrdma_client_versions(struct rpcrdma_config *cfg)
{
	rpcrdma_versions(cfg);
	if (cfg->auth && cfg->auth->policy == RPCRDMA_AUTH_REQUIRED)
		cfg->min_version = cfg->max_version;
}

/* Host authentication is required and cannot be: count it, and tell of it. */
static void rpcrdma_auth_give_up(struct rpcrdma_xprt *r_xprt,
				 const struct rpcrdma_auth *cfg, u32 reason)
{
	const struct sockaddr *server = (struct sockaddr *)&r_xprt->xprt.addr;
	struct rpcrdma_conn_auth auth = {
		.policy = cfg->policy,
		.state = RPCRDMA_AUTH_FAILED,
		.reason = reason,
	};

	memcpy(auth.key, cfg->name, cfg->name_size);
	rpcrdma_auth_over(r_xprt->xprt.xprt_net, RPCRDMA_ROLE_CLIENT, server,
			  auth.state, reason, auth.key);
	rpcrdma_nl_auth_failed(r_xprt->xprt.xprt_net, server, &auth);
}

/* Host authentication is required and cannot be. Return: why, or zero. */
static u32 rpcrdma_auth_impossible(const struct rpcrdma_config *cfg)
{
	if (!cfg->auth || cfg->auth->policy != RPCRDMA_AUTH_REQUIRED)
		return RPCRDMA_AUTH_R_NONE;
	if (!cfg->auth->secret_size)
		return RPCRDMA_AUTH_R_NO_KEY;
	return cfg->max_version < 2 ? RPCRDMA_AUTH_R_VERSION :
				      RPCRDMA_AUTH_R_NONE;
}

/* What the client knows of its server from before this attempt. */
static enum rpcrdma_only_v1 rpcrdma_why_v1(const struct rpcrdma_xprt *r_xprt,
					   const struct rpcrdma_config *versions)
{
	if (versions->min_version != 1)
		return RPCRDMA_V1_NOT_ONLY;
	if (r_xprt->refused)
		return RPCRDMA_V1_DIALECT;
	return rpcrdma_silent(r_xprt, ktime_get_seconds()) ?
		RPCRDMA_V1_SILENT : RPCRDMA_V1_NOT_ONLY;
}

static int rpcrdma_connect_as(struct rpcrdma_xprt *r_xprt,
			      const struct rpcrdma_config *cfg)
{
	const char *address = r_xprt->xprt.address_strings[RPC_DISPLAY_ADDR];
	struct rpcrdma_config versions = *cfg;
	bool unanswered, silent;
	u32 version, reason;
	int rc;

	rpcrdma_client_versions(&versions);
	WRITE_ONCE(r_xprt->only_v1, rpcrdma_why_v1(r_xprt, &versions));
	r_xprt->refused = false;
	reason = rpcrdma_auth_impossible(&versions);
	if (reason) {
		rpcrdma_auth_give_up(r_xprt, versions.auth, reason);
		WRITE_ONCE(r_xprt->cm_error, -EACCES);
		return -EACCES;
	}
	if (r_xprt->only_v1)
		versions.max_version = 1;
	rc = rpcrdma_attempt(r_xprt, &versions, &unanswered);
	/* The server speaks version 2 now. */
	if (!rc && r_xprt->only_v1 && r_xprt->private.version2) {
		rpcrdma_forget_silent(r_xprt);
		WRITE_ONCE(r_xprt->only_v1, RPCRDMA_V1_NOT_ONLY);
		rpcrdma_client_versions(&versions);
		rc = rpcrdma_attempt(r_xprt, &versions, &unanswered);
	}
	if (rc && r_xprt->auth_again) {
		versions.auth = NULL;
		rc = rpcrdma_attempt(r_xprt, &versions, &unanswered);
	}

	/* The server means something else by version 2: so version 1, on another connection. */
	if (rc == -EPROTOTYPE) {
		WRITE_ONCE(r_xprt->only_v1, RPCRDMA_V1_DIALECT);
		versions.max_version = 1;
		rc = rpcrdma_attempt(r_xprt, &versions, &unanswered);
	}
	/* A server that has spoken version 2 should do so the next time. */
	if (unanswered && versions.min_version == 1 &&
	    versions.max_version > 1 && !r_xprt->spoke_v2) {
		/* A lost connection may have another reason. */
		silent = rc == -ETIMEDOUT && !r_xprt->private.version2;
		versions.max_version = 1;
		WRITE_ONCE(r_xprt->only_v1, r_xprt->refused ?
			   RPCRDMA_V1_DIALECT : RPCRDMA_V1_SILENT);
		r_xprt->refused = false;
		rc = rpcrdma_attempt(r_xprt, &versions, &unanswered);
		if (!rc && silent)
			rpcrdma_note_silent(r_xprt, ktime_get_seconds());
	}
	if (unanswered)
		r_xprt->spoke_v2 = false;
	if (rc == -EPROTONOSUPPORT)
		pr_warn_ratelimited("rpcrdma: %s speaks no version from %u to %u\n",
				    address, versions.min_version,
				    versions.max_version);
	/* Else the connection has said why. */
	if (rc == -EACCES && !versions.auth)
		pr_warn_ratelimited("rpcrdma: %s refuses this client; it may require host authentication\n",
				    address);
	if (rc)
		return rc;
	version = rpcrdma_conn_version(r_xprt->conn);
	if (version == 1 && !r_xprt->conn->version1) {
		pr_warn_ratelimited("rpcrdma: %s %s needs a device that registers more memory\n",
				    address, r_xprt->only_v1 == RPCRDMA_V1_SILENT ?
				    "did not answer version 2; version 1" :
				    "speaks version 1, which");
		/* This side cannot use version 1: ask for version 2 again. */
		rc = rpcrdma_forget_silent(r_xprt) ? -ENOTCONN : -EOPNOTSUPP;
		rpcrdma_disconnect(r_xprt);
		r_xprt->refused = false;
		WRITE_ONCE(r_xprt->cm_error, rc);
		return rc;
	}
	r_xprt->spoke_v2 = version == 2;
	rpcrdma_conn_up(r_xprt->conn);
	WRITE_ONCE(r_xprt->bc_payload, rpcrdma_bc_payload(r_xprt->conn));
	trace_rpcrdma_connect(address, version == 1 ? "version 1" : "version 2",
			      0);
	return 0;
}

static int rpcrdma_connect(struct rpcrdma_xprt *r_xprt)
{
	struct rpcrdma_config cfg = { .role = RPCRDMA_ROLE_CLIENT };
	struct rpcrdma_auth auth;
	int rc;

	if (rpcrdma_auth_client(r_xprt->xprt.xprt_net,
				(struct sockaddr *)&r_xprt->xprt.addr, &auth))
		cfg.auth = &auth;
	rc = rpcrdma_connect_as(r_xprt, &cfg);
	if (cfg.auth)
		memzero_explicit(&auth, sizeof(auth));
	return rc;
}

/* Return: false while rdma_cm looks for a route: see rpcrdma_cm_gives_up(). */
static bool rpcrdma_take_id(struct rpcrdma_xprt *r_xprt, struct rdma_cm_id **id)
{
	bool routing;

	spin_lock(&r_xprt->conn_lock);
	routing = r_xprt->routing;
	if (!routing)
		swap(*id, r_xprt->cm_id);
	spin_unlock(&r_xprt->conn_lock);
	return !routing;
}

/**
 * rpcrdma_disconnect - end the connection, or an attempt at one
 * @r_xprt: the transport; nothing of the connection is left when this returns
 *
 * Context: Process context, under the xprt's write lock. May sleep.
 */
void rpcrdma_disconnect(struct rpcrdma_xprt *r_xprt)
{
	struct rpcrdma_conn *conn = r_xprt->conn;
	struct rpcrdma_session_info info;
	struct rdma_cm_id *id = NULL;

	/* Until rdma_cm gives up, after RPCRDMA_CM_TIMEOUT_MS. */
	wait_event(r_xprt->routed, rpcrdma_take_id(r_xprt, &id));
	if (conn) {
		rpcrdma_conn_info(conn, &info);
		r_xprt->refused = rpcrdma_only_refused(r_xprt, conn, &info);
		rpcrdma_keepalive_stop(r_xprt);
		rpcrdma_conn_destroy(conn);
		/* An attempt that has failed is no connection that was lost. */
		if (rpcrdma_conn_has_been(conn, RPCRDMA_CONN_UP)) {
			r_xprt->previous_loss = READ_ONCE(conn->loss);
			r_xprt->reconnects++;
		}
		rpcrdma_bc_abandon(conn, RPCRDMA_CALL);
		/* They are gone. */
		INIT_LIST_HEAD(&r_xprt->group);
		spin_lock(&r_xprt->conn_lock);
		rpcrdma_stats_sum(&r_xprt->stats.conns, &conn->stats);
		WRITE_ONCE(r_xprt->conn, NULL);
		spin_unlock(&r_xprt->conn_lock);
		rpcrdma_conn_put(conn);
	} else if (id) {
		rdma_destroy_id(id);
	}
}

/*
 * Which errors sunrpc retries. A mount that cannot work fails at once; a mount that
 * worked goes on trying, since devices come back, also if this is a further transport of it
 * (nconnect) that has never worked. Only the network itself may report
 * ENETUNREACH: newer kernels then end the tasks of mounts with fatal_neterrors, as mounts
 * in containers have it.
 */
static int rpcrdma_connect_status(struct rpcrdma_xprt *r_xprt, int rc)
{
	switch (rc) {
	case -ECONNREFUSED:
	case -ENETUNREACH:
	case -EHOSTUNREACH:
	case -ETIMEDOUT:
	case -ENOTCONN:
	case -EAGAIN:
		return rc;
	case -ENOMEM:
	case -EDQUOT:
		/* sunrpc waits and tries again; ENOMEM would fail the RPC. */
		return -ENOBUFS;
	}
	return r_xprt->softconn && !r_xprt->xprt.stat.connect_count ? rc : -EHOSTUNREACH;
}

/**
 * rpcrdma_connect_worker - connect in the background
 * @work: of the transport
 *
 * The caller took the write lock for the work; it is released when the attempt is over.
 * Meanwhile RPCs wait on the pending queue, or for the lock. After a failure they wait a
 * little longer: otherwise they pass the lock to each other for ever, and a thread that
 * wants to change the address never gets it.
 */
void rpcrdma_connect_worker(struct work_struct *work)
{
	struct rpcrdma_xprt *r_xprt = container_of(work, struct rpcrdma_xprt,
						   connector.work);
	struct rpc_xprt *xprt = &r_xprt->xprt;
	struct rpcrdma_memalloc saved = rpcrdma_memalloc_save(xprt);
	bool failed;
	int rc;

	rc = rpcrdma_connect(r_xprt);
	failed = rc;
	xprt_clear_connecting(xprt);
	/* A task that had waited for this attempt must not end what the next one brings. */
	xprt->connect_cookie++;
	if (!rc) {
		xprt->stat.connect_count++;
		xprt->stat.connect_time += (long)jiffies -
					   xprt->stat.connect_start;
		r_xprt->established = jiffies;
		rpcrdma_keepalive_start(r_xprt);
		/* Under the same lock as where r_xprt->conn is set. */
		spin_lock(&r_xprt->conn_lock);
		xprt_set_connected(xprt);
		spin_unlock(&r_xprt->conn_lock);
		if (test_bit(RPCRDMA_CONN_LOST, &r_xprt->conn->flags))
			xprt_force_disconnect(xprt);
		rc = -EAGAIN;
	} else {
		rc = rpcrdma_connect_status(r_xprt, rc);
	}
	if (failed)
		xprt_wait_for_buffer_space(xprt);
	else
		/* Not the tasks that wait for a Reply: nobody can send yet. */
		xprt_wake_pending_tasks(xprt, rc);
	xprt_unlock_connect(xprt, r_xprt);
	if (failed) {
		msleep(RPCRDMA_PAUSE_MS);
		/* If the flag is clear, its clearer has woken them; they may wait again. */
		if (test_bit(XPRT_WRITE_SPACE, &xprt->state))
			xprt_wake_pending_tasks(xprt, rc);
		rpcrdma_write_space(xprt);
	}
	rpcrdma_memalloc_restore(saved);
}
