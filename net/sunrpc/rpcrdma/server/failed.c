// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Remembers the Calls whose RDMA operations have broken a connection (section
 * 7.3).
 *
 * The client sends such a Call again as soon as it has reconnected. Its RDMA
 * operations would break the new connection, too, and so on without end. So
 * the server answers it with an error instead.
 *
 * Clients that share an address may use the same XID, so a part of a Call's content also
 * identifies it.
 */
#include <linux/ktime.h>
#include <linux/once.h>
#include <linux/random.h>

#include <rpcrdma/recent.h>
#include <trace/events/rpcrdma_v2.h>

#include "server.h"

/* Guards the table of all connections. */
static DEFINE_SPINLOCK(rpcrdma_svc_failed_lock);
static struct rpcrdma_recent rpcrdma_svc_failed;
/*
 * A filter that is read without the lock. After failed_until all entries have expired.
 * Before, the table can have a Call only if the Call's bit is set in the filter.
 */
static u32 rpcrdma_svc_failed_until;
static u64 rpcrdma_svc_failed_filter[RPCRDMA_RECENT_WORDS];

static u32 rpcrdma_svc_failed_now(void)
{
	return ktime_get_seconds();
}

/* The bit of a live entry is set in the old and in the new words, so readers see it. */
static void rpcrdma_svc_failed_update(u32 now)
{
	u64 words[RPCRDMA_RECENT_WORDS];
	int i;

	lockdep_assert_held(&rpcrdma_svc_failed_lock);
	rpcrdma_recent_filter(&rpcrdma_svc_failed, now, words);
	for (i = 0; i < ARRAY_SIZE(words); i++)
		WRITE_ONCE(rpcrdma_svc_failed_filter[i], words[i]);
	WRITE_ONCE(rpcrdma_svc_failed_until, now + RPCRDMA_RECENT_SECONDS + 1);
}

static bool rpcrdma_svc_failed_maybe(const struct rpcrdma_svc_xprt *svc,
				     u64 call, u32 now)
{
	u32 bit;

	if ((s32)(READ_ONCE(rpcrdma_svc_failed_until) - now) <= 0)
		return false;
	bit = rpcrdma_recent_bit(svc->peer_key, call);
	return READ_ONCE(rpcrdma_svc_failed_filter[bit / 64]) >> bit % 64 & 1;
}

/**
 * rpcrdma_svc_call_id - a number that identifies a Call
 * @rx: its first part
 * @recv: the Receive that has this part
 *
 * Context: Process context.
 *
 * Return: see rpcrdma_call_id().
 */
u64 rpcrdma_svc_call_id(const struct rpcrdma_rx *rx,
			const struct rpcrdma_recv *recv)
{
	static u64 secret;
	const void *stream;
	u32 run;

	get_random_once(&secret, sizeof(secret));
	/* What is at the end of a long header is not worth joining pages for. */
	stream = rpcrdma_recv_at(recv, rx->payload.offset, &run);
	return rpcrdma_call_id(rx->xid, rx->stream_length, stream,
			       min(run, rx->payload.length), secret);
}

/**
 * rpcrdma_svc_fault - an operation for a Call has broken its connection
 * @conn: the connection
 * @call: the Call, by rpcrdma_svc_call_id()
 * @sure: it would break every other connection, too
 *
 * Context: Process context. Does not sleep.
 */
void rpcrdma_svc_fault(struct rpcrdma_conn *conn, u64 call, bool sure)
{
	struct rpcrdma_svc_xprt *svc = conn->context;
	u32 now = rpcrdma_svc_failed_now();
	bool known = sure;

	spin_lock(&rpcrdma_svc_failed_lock);
	if (sure)
		rpcrdma_recent_note(&rpcrdma_svc_failed, svc->peer_key, call,
				    now);
	else
		known = rpcrdma_recent_suspect(&rpcrdma_svc_failed,
					       svc->peer_key, call, now);
	rpcrdma_svc_failed_update(now);
	spin_unlock(&rpcrdma_svc_failed_lock);

	trace_rpcrdma_call(conn->id, lower_32_bits(call),
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
 * @svc: the connection that it came by
 * @call: the Call, by rpcrdma_svc_call_id()
 *
 * Context: Process context, no lock held.
 *
 * Return: true if it is such a Call, which has been answered now.
 */
bool rpcrdma_svc_failed_answer(struct rpcrdma_svc_xprt *svc, u64 call)
{
	struct rpcrdma_conn *conn = svc->conn;
	u32 now = rpcrdma_svc_failed_now();
	u32 xid = lower_32_bits(call);
	bool known;

	if (!rpcrdma_svc_failed_maybe(svc, call, now))
		return false;
	spin_lock(&rpcrdma_svc_failed_lock);
	known = rpcrdma_recent_known(&rpcrdma_svc_failed, svc->peer_key, call,
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
