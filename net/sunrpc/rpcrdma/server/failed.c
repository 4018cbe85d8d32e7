// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Calls whose RDMA operations have broken a connection (section 7.3).
 *
 * The client sends such a Call again as soon as it has reconnected, and the
 * operation would break that connection too, and so on. It is answered with an
 * error instead. What the client is known by survives its reconnects: its
 * address without the port, in its network namespace.
 */
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/siphash.h>
#include <linux/sunrpc/addr.h>
#include <net/net_namespace.h>

#include <trace/events/rpcrdma_v2.h>

#include "server.h"

/* Guards the table, which is for all connections. */
static DEFINE_SPINLOCK(rpcrdma_svc_failed_lock);
static struct rpcrdma_failed_calls rpcrdma_svc_failed;
/* From then on the table tells nothing, so that nobody needs the lock. */
static u32 rpcrdma_svc_failed_until;
static siphash_key_t rpcrdma_svc_failed_key;

static u32 rpcrdma_svc_failed_now(void)
{
	return ktime_get_seconds();
}

/**
 * rpcrdma_svc_failed_peer - a key for a client
 * @net: network namespace
 * @sap: address, of which the port does not count
 *
 * Return: the key.
 */
u64 rpcrdma_svc_failed_peer(const struct net *net, const struct sockaddr *sap)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)sap;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)sap;
	struct {
		u64 net;
		u64 scope;
		struct in6_addr addr;
	} k = { .net = net->net_cookie };

	if (sap->sa_family == AF_INET6) {
		k.addr = sin6->sin6_addr;
		k.scope = sin6->sin6_scope_id;
	} else {
		ipv6_addr_set_v4mapped(sin->sin_addr.s_addr, &k.addr);
	}
	return siphash(&k, sizeof(k), &rpcrdma_svc_failed_key);
}

/**
 * rpcrdma_svc_fault - an operation for a Call has broken its connection
 * @conn: the connection
 * @xid: of the Call, host order
 *
 * Context: Process context. Does not sleep.
 */
void rpcrdma_svc_fault(struct rpcrdma_conn *conn, u32 xid)
{
	struct rpcrdma_svc *svc = conn->context;
	u32 now = rpcrdma_svc_failed_now();

	spin_lock(&rpcrdma_svc_failed_lock);
	rpcrdma_failed_note(&rpcrdma_svc_failed, svc->peer_key, xid, now);
	WRITE_ONCE(rpcrdma_svc_failed_until, now + RPCRDMA_FAILED_SECONDS + 1);
	spin_unlock(&rpcrdma_svc_failed_lock);

	spin_lock(&conn->lock);
	conn->stats.failed_calls++;
	spin_unlock(&conn->lock);
	trace_rpcrdma_call(conn->id, xid, "broke the connection", -EREMOTEIO);
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
	known = rpcrdma_failed_known(&rpcrdma_svc_failed, svc->peer_key, xid,
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

/** rpcrdma_svc_failed_init - before the first connection */
void rpcrdma_svc_failed_init(void)
{
	get_random_bytes(&rpcrdma_svc_failed_key,
			 sizeof(rpcrdma_svc_failed_key));
}
