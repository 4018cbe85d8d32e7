// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Remembers the Calls whose RDMA operations have broken a connection (section
 * 7.3).
 *
 * The client sends such a Call again as soon as it has reconnected. Its RDMA
 * operations would break the new connection, too, and so on without end. So
 * the server answers it with an error instead.
 */
#include <linux/ktime.h>

#include <trace/events/rpcrdma_v2.h>

#include "server.h"

/* Guards the table, which is for all connections. */
static DEFINE_SPINLOCK(rpcrdma_svc_failed_lock);
static struct rpcrdma_recent rpcrdma_svc_failed;
/* From then on the table tells nothing, so that nobody needs the lock. */
static u32 rpcrdma_svc_failed_until;

static u32 rpcrdma_svc_failed_now(void)
{
	return ktime_get_seconds();
}

/**
 * rpcrdma_svc_fault - an operation for a Call has broken its connection
 * @conn: the connection
 * @xid: of the Call, host order
 * @sure: it would break any other
 *
 * Context: Process context. Does not sleep.
 */
void rpcrdma_svc_fault(struct rpcrdma_conn *conn, u32 xid, bool sure)
{
	struct rpcrdma_svc *svc = conn->context;
	u32 now = rpcrdma_svc_failed_now();
	bool known = sure;

	spin_lock(&rpcrdma_svc_failed_lock);
	if (sure)
		rpcrdma_recent_note(&rpcrdma_svc_failed, svc->peer_key, xid,
				    now);
	else
		known = rpcrdma_recent_suspect(&rpcrdma_svc_failed,
					       svc->peer_key, xid, now);
	WRITE_ONCE(rpcrdma_svc_failed_until, now + RPCRDMA_RECENT_SECONDS + 1);
	spin_unlock(&rpcrdma_svc_failed_lock);

	trace_rpcrdma_call(conn->id, xid,
			   known ? "broke the connection" :
				   "may have broken the connection",
			   -EREMOTEIO);
	if (!known)
		return;
	spin_lock(&conn->lock);
	conn->stats.failed_calls++;
	spin_unlock(&conn->lock);
}

/**
 * rpcrdma_svc_failed_answer - end a Call that has broken a connection before
 * @svc: where it came
 * @xid: of the Call, host order
 *
 * Context: Process context, no lock held.
 *
 * Return: true if it is such a Call. It has been answered then.
 */
bool rpcrdma_svc_failed_answer(struct rpcrdma_svc *svc, u32 xid)
{
	struct rpcrdma_conn *conn = svc->conn;
	u32 now = rpcrdma_svc_failed_now();
	bool known;

	if ((s32)(READ_ONCE(rpcrdma_svc_failed_until) - now) <= 0)
		return false;
	spin_lock(&rpcrdma_svc_failed_lock);
	known = rpcrdma_recent_known(&rpcrdma_svc_failed, svc->peer_key, xid,
				     now);
	spin_unlock(&rpcrdma_svc_failed_lock);
	if (!known)
		return false;

	spin_lock(&conn->lock);
	conn->stats.failed_calls_answered++;
	spin_unlock(&conn->lock);
	trace_rpcrdma_call(conn->id, xid, "broke a connection before", 0);
	rpcrdma_conn_refuse(conn, xid, RPCRDMA2_ERR_SYSTEM, 0, 0);
	return true;
}
