// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Keep-alive, as the binding demands.
 *
 * A reliable connection notices that its peer is dead only when it sends
 * something. So, when the client has received nothing for an interval, it
 * sends a NULL Call. The session keeps one credit for this Call, which is sent
 * before Calls that wait for credit. If still nothing has arrived at the end
 * of the next interval, the client ends the connection, and sunrpc sends its
 * Calls again on a new one.
 *
 * If the module parameter keepalive is zero the client asks nothing. But it goes on
 * looking: Calls must not wait for ever for credit that no Reply can bring.
 * rpcrdma_silence_look() of the core decides.
 *
 * sunrpc does not know about the NULL Call. So the idle timer still closes an
 * unused connection. The XID of the NULL Call comes from the same counter as
 * sunrpc's own XIDs, so no outstanding Call has the same XID.
 */
#include <linux/sunrpc/sched.h>

#include <trace/events/rpcrdma_v2.h>

#include "client.h"

/* A multiplication by HZ must not overflow, and timers have a limit. */
#define RPCRDMA_KEEPALIVE_MAX	(24U * 60 * 60)

/* Until the next look, in jiffies. */
static unsigned long rpcrdma_keepalive_interval(void)
{
	const u32 seconds = READ_ONCE(rpcrdma_keepalive);

	return seconds ? HZ * min(seconds, RPCRDMA_KEEPALIVE_MAX) :
			 RPCRDMA_UNASKED_INTERVAL;
}

static void rpcrdma_keepalive_encode(struct rpcrdma_keepalive *k, __be32 xid)
{
	__be32 *p = k->call;

	*p++ = xid;
	*p++ = cpu_to_be32(RPC_CALL);
	*p++ = cpu_to_be32(RPC_VERSION);
	*p++ = cpu_to_be32(READ_ONCE(k->prog));
	*p++ = cpu_to_be32(READ_ONCE(k->vers));
	*p++ = cpu_to_be32(0);
	*p++ = cpu_to_be32(RPC_AUTH_NULL);
	*p++ = cpu_to_be32(0);
	*p++ = cpu_to_be32(RPC_AUTH_NULL);
	*p = cpu_to_be32(0);
	xdr_buf_init(&k->xdr, k->call, sizeof(k->call));
	k->xdr.head[0].iov_len = sizeof(k->call);
	k->xdr.len = sizeof(k->call);
}

static void rpcrdma_keepalive_probe(struct rpcrdma_xprt *r_xprt,
				    struct rpcrdma_conn *conn)
{
	struct rpcrdma_keepalive *k = &r_xprt->keepalive;
	struct rpcrdma_txmsg *tm = &k->tm;
	u32 xid;

	spin_lock(&r_xprt->xprt.reserve_lock);
	xid = r_xprt->xprt.xid++;
	spin_unlock(&r_xprt->xprt.reserve_lock);
	rpcrdma_keepalive_encode(k, (__force __be32)xid);

	memset(&tm->msg, 0, sizeof(tm->msg));
	tm->msg.xid = be32_to_cpu((__force __be32)xid);
	tm->msg.dir = RPCRDMA_CALL;
	tm->msg.length = sizeof(k->call);
	tm->msg.probe = true;
	tm->xdr = &k->xdr;
	tm->posted = false;
	spin_lock(&conn->lock);
	k->waiting = true;
	conn->stats.keep_alives++;
	spin_unlock(&conn->lock);
	trace_rpcrdma_keepalive(conn->id, tm->msg.xid, "probe");
	/* A connection that is over needs no probe. */
	if (rpcrdma_conn_send(conn, tm))
		trace_rpcrdma_keepalive(conn->id, tm->msg.xid, "not sent");
}

static void rpcrdma_keepalive_worker(struct work_struct *work)
{
	struct rpcrdma_xprt *r_xprt = container_of(work, struct rpcrdma_xprt,
						   keepalive.work.work);
	struct rpcrdma_keepalive *k = &r_xprt->keepalive;
	/* Stays until rpcrdma_keepalive_stop() has returned. */
	struct rpcrdma_conn *conn = r_xprt->conn;
	struct rpcrdma_silence_seen seen = {
		.may_ask = READ_ONCE(rpcrdma_keepalive) && READ_ONCE(k->prog),
		.kept = test_bit(XPRT_WRITE_SPACE, &r_xprt->xprt.state),
	};
	struct rpcrdma_session_info info;

	spin_lock(&conn->lock);
	rpcrdma_session_info(&conn->session, &info);
	seen.received = info.received;
	seen.outstanding = info.outstanding;
	seen.asked = k->waiting;
	seen.posted = rpcrdma_conn_posted(&k->tm);
	spin_unlock(&conn->lock);

	switch (rpcrdma_silence_look(&k->silence, &seen)) {
	case RPCRDMA_SILENCE_UNANSWERED:
		trace_rpcrdma_keepalive(conn->id, k->tm.msg.xid, "unanswered");
		rpcrdma_conn_lost(conn, "keep-alive not answered");
		return;
	case RPCRDMA_SILENCE_NO_CREDIT:
		rpcrdma_conn_lost(conn, "no credit");
		return;
	case RPCRDMA_SILENCE_ASK:
		rpcrdma_keepalive_probe(r_xprt, conn);
		break;
	default:
		break;
	}
	queue_delayed_work(xprtiod_workqueue, &k->work,
			   rpcrdma_keepalive_interval());
}

/**
 * rpcrdma_keepalive_probed - is this about the probe that waits for its answer?
 * @r_xprt: the transport
 * @conn: its connection
 * @received: a Reply or an error
 *
 * Context and Return: as rpcrdma_keepalive_answered(), which alone calls it.
 */
bool rpcrdma_keepalive_probed(struct rpcrdma_xprt *r_xprt,
			      struct rpcrdma_conn *conn,
			      const struct rpcrdma_rx *received)
{
	struct rpcrdma_keepalive *k = &r_xprt->keepalive;
	bool match, more;

	spin_lock(&conn->lock);
	match = k->waiting && k->tm.msg.xid == received->xid &&
		rpcrdma_conn_posted(&k->tm);
	spin_unlock(&conn->lock);
	if (!match)
		return false;
	/* k->tm is not reused while k->waiting is set. */
	if (received->action == RPCRDMA_RX_FAIL_RPC)
		rpcrdma_conn_call_refused(conn, &k->tm, received);
	trace_rpcrdma_keepalive(conn->id, received->xid, "answered");
	spin_lock(&conn->lock);
	k->waiting = false;
	more = rpcrdma_session_end_call(&conn->session, &k->tm.msg);
	spin_unlock(&conn->lock);
	if (more)
		rpcrdma_conn_pump(conn);
	return true;
}

/**
 * rpcrdma_keepalive_init - a new transport
 * @r_xprt: the transport
 */
void rpcrdma_keepalive_init(struct rpcrdma_xprt *r_xprt)
{
	INIT_DELAYED_WORK(&r_xprt->keepalive.work, rpcrdma_keepalive_worker);
	INIT_LIST_HEAD(&r_xprt->keepalive.tm.link);
}

/**
 * rpcrdma_keepalive_start - a connection has come up
 * @r_xprt: the transport
 *
 * Context: under the xprt's write lock.
 */
void rpcrdma_keepalive_start(struct rpcrdma_xprt *r_xprt)
{
	struct rpcrdma_keepalive *k = &r_xprt->keepalive;

	memset(&k->silence, 0, sizeof(k->silence));
	k->waiting = false;
	queue_delayed_work(xprtiod_workqueue, &k->work,
			   rpcrdma_keepalive_interval());
}

/**
 * rpcrdma_keepalive_stop - the connection is about to be destroyed
 * @r_xprt: the transport
 *
 * Context: Process context, under the xprt's write lock. May sleep.
 */
void rpcrdma_keepalive_stop(struct rpcrdma_xprt *r_xprt)
{
	cancel_delayed_work_sync(&r_xprt->keepalive.work);
	/* What the next connection brings is no answer to a probe of this one. */
	spin_lock(&r_xprt->conn->lock);
	r_xprt->keepalive.waiting = false;
	spin_unlock(&r_xprt->conn->lock);
}
