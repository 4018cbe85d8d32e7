// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The send queue: which messages are taken, and which is sent next. pump.c sends them.
 *
 * A client's Call is not queued before there are credits and room for all of it, see
 * rpcrdma_conn_admits(): until then sunrpc keeps it.
 */
#include <trace/events/rpcrdma_v2.h>

#include "send.h"

/**
 * rpcrdma_credit_wait - something waits for credit from now on, or no longer
 * @conn: the connection
 * @who: what it is
 * @waits: it does
 *
 * The time is counted in which anything waits. On a connection that is over nothing does.
 *
 * Context: the caller holds the lock of @conn.
 */
void rpcrdma_credit_wait(struct rpcrdma_conn *conn,
			 enum rpcrdma_credit_waiter who, bool waits)
{
	const u32 before = conn->credit_waiters;

	lockdep_assert_held(&conn->lock);
	if (waits && rpcrdma_conn_open(conn))
		conn->credit_waiters |= who;
	else
		conn->credit_waiters &= ~who;
	if (!before && conn->credit_waiters)
		conn->credit_since = ktime_get();
	else if (before && !conn->credit_waiters)
		conn->credit_waited +=
			ktime_to_ns(ktime_sub(ktime_get(), conn->credit_since));
}

/**
 * rpcrdma_credit_waited - how long something has waited for credit
 * @conn: the connection
 *
 * Context: the caller holds the lock of @conn.
 *
 * Return: nanoseconds, with a wait that has not ended.
 */
u64 rpcrdma_credit_waited(const struct rpcrdma_conn *conn)
{
	u64 waited = conn->credit_waited;

	lockdep_assert_held(&conn->lock);
	if (conn->credit_waiters)
		waited += ktime_to_ns(ktime_sub(ktime_get(),
						conn->credit_since));
	return waited;
}

/**
 * rpcrdma_send_promised - what there is of the send queue while messages wait for the pump
 * @conn: the connection, with its lock held
 *
 * Return: that, and what is promised to the Calls among them.
 */
struct rpcrdma_supply rpcrdma_send_promised(const struct rpcrdma_conn *conn)
	__must_hold(&conn->lock)
{
	struct rpcrdma_supply supply = {
		.depth = conn->sq_depth,
		.avail = conn->sq_avail,
		.sends = rpcrdma_session_reserved(&conn->session),
	};
	const struct rpcrdma_txmsg *tm;

	list_for_each_entry(tm, &conn->tx_queue, link)
		if (!tm->msg.sent)
			supply.chain += tm->chain_cost;
	return supply;
}

/* The order of messages: lower ranks are sent first. */
enum rpcrdma_send_rank {
	RPCRDMA_SEND_BEGUN,
	RPCRDMA_SEND_FREE,
	RPCRDMA_SEND_PROBE,
	RPCRDMA_SEND_REPLY,
	RPCRDMA_SEND_ANY,
};

/*
 * Nothing comes between the parts of a message. Of the messages that need credit, a
 * probe goes first. A client's Replies go before its Calls, because a Call may wait for
 * an event that depends on a Reply. In version 1 Replies need no credit and do not wait.
 */
static enum rpcrdma_send_rank rpcrdma_send_rank(const struct rpcrdma_conn *conn,
						const struct rpcrdma_txmsg *tm)
{
	if (tm->msg.sent)
		return RPCRDMA_SEND_BEGUN;
	if (tm->msg.probe)
		return RPCRDMA_SEND_PROBE;
	if (tm->msg.dir == RPCRDMA_CALL)
		return RPCRDMA_SEND_ANY;
	if (rpcrdma_session_version(&conn->session) == 1)
		return RPCRDMA_SEND_FREE;
	return conn->role == RPCRDMA_ROLE_CLIENT ? RPCRDMA_SEND_REPLY :
						   RPCRDMA_SEND_ANY;
}

static void rpcrdma_send_enqueue(struct rpcrdma_conn *conn,
				 struct rpcrdma_txmsg *tm)
{
	enum rpcrdma_send_rank rank = RPCRDMA_SEND_ANY;
	struct rpcrdma_txmsg *next;

	if (!list_empty(&conn->tx_queue))
		rank = rpcrdma_send_rank(conn, tm);
	if (rank == RPCRDMA_SEND_ANY) {
		list_add_tail(&tm->link, &conn->tx_queue);
		return;
	}
	list_for_each_entry(next, &conn->tx_queue, link)
		if (rpcrdma_send_rank(conn, next) > rank)
			break;
	/* Before @next, or at the end. */
	list_add_tail(&tm->link, &next->link);
}

/**
 * rpcrdma_conn_fits - can @cost Work Requests be posted at once?
 * @conn: the connection
 * @cost: Work Requests
 *
 * Return: false if the send queue never has room for them.
 */
bool rpcrdma_conn_fits(const struct rpcrdma_conn *conn, u32 cost)
{
	return cost < conn->sq_depth / 2;
}

static bool rpcrdma_send_has_credit(struct rpcrdma_conn *conn,
				    struct rpcrdma_txmsg *tm)
	__must_hold(&conn->lock)
{
	if (tm && tm->group)
		return rpcrdma_rtr_admit(&conn->session, &tm->msg, tm->group);
	return rpcrdma_session_admit(&conn->session, tm ? &tm->msg : NULL);
}

/* There is no room for a Call. Not inlined, so that its caller need not guard its stack. */
static noinline void rpcrdma_send_lacks(struct rpcrdma_conn *conn,
					struct rpcrdma_txmsg *tm,
					struct rpcrdma_claim claim)
	__must_hold(&conn->lock)
{
	if (tm)
		rpcrdma_session_put_back(&conn->session, &tm->msg);
	rpcrdma_send_ask(conn, &claim);
}

/* Can all Work Requests of a Call be posted, which has credits? */
static bool rpcrdma_send_has_room(struct rpcrdma_conn *conn,
				  struct rpcrdma_txmsg *tm)
	__must_hold(&conn->lock)
{
	struct rpcrdma_claim claim = { .sends = 1 };
	struct rpcrdma_supply supply = rpcrdma_send_supply(conn);

	if (tm) {
		claim.sends = tm->msg.reserved;
		claim.chain = tm->chain_cost;
		if (supply.sends)
			supply.sends -= claim.sends;
	}
	if (likely(rpcrdma_ring_fits(&conn->ring, &supply, &claim)))
		return true;
	rpcrdma_send_lacks(conn, tm, claim);
	return false;
}

/**
 * rpcrdma_conn_admits - may a Call begin now?
 * @conn: the connection; it has ops->no_room
 * @tm: the Call; or NULL: any Call at all
 * @xid: of the Call
 *
 * Context: the caller holds the lock of @conn.
 *
 * Return: true if it may, and then what it takes is kept for it; false if ops->no_room has been
 * called, and ops->room will be called when it is worth while to try again.
 */
bool rpcrdma_conn_admits(struct rpcrdma_conn *conn, struct rpcrdma_txmsg *tm,
			 u32 xid)
{
	lockdep_assert_held(&conn->lock);
	if (!rpcrdma_send_has_credit(conn, tm)) {
		trace_rpcrdma_wait(conn->id, xid, "credit");
		rpcrdma_credit_wait(conn, RPCRDMA_CREDIT_OWNER, true);
	} else if (!rpcrdma_send_has_room(conn, tm)) {
		rpcrdma_pump_full(conn, xid);
	} else {
		return true;
	}
	conn->ops->no_room(conn);
	return false;
}

/**
 * rpcrdma_conn_send_planned - queue a message that has just been planned
 * @conn: the connection; with @ask it has ops->no_room
 * @tm: the message; the connection owns it until its @done
 * @ask: only if the credits for all of it are there, and room in the send queue
 *
 * What the plan depends on does not change before the message is queued.
 *
 * Context: as rpcrdma_conn_send(), but the caller holds the lock of @conn, which is released.
 *
 * Return: as rpcrdma_conn_send(); with @ask also %-EAGAIN, see rpcrdma_conn_admits().
 */
int rpcrdma_conn_send_planned(struct rpcrdma_conn *conn,
			      struct rpcrdma_txmsg *tm, bool ask)
	__releases(&conn->lock)
{
	/* Once it is queued, @tm may be gone, unless it is direct. */
	const bool direct = tm->direct;
	bool over = false;
	int rc = 0;

	lockdep_assert_held(&conn->lock);
	if (!rpcrdma_conn_fits(conn, tm->chain_cost)) {
		rc = -ENOSPC;
	} else if (!rpcrdma_conn_open(conn)) {
		rc = -ENOTCONN;
	} else if (ask && !rpcrdma_conn_admits(conn, tm, tm->msg.xid)) {
		rc = -EAGAIN;
	} else {
		tm->conn = conn;
		tm->over = false;
		if (conn->pumping)
			trace_rpcrdma_wait(conn->id, tm->msg.xid, "pump");
		if (tm->group || !rpcrdma_pump_idle(conn, tm)) {
			rpcrdma_send_enqueue(conn, tm);
			rpcrdma_pump(conn);
		} else if (!rpcrdma_pump_alone(conn, tm)) {
			rpcrdma_pump(conn);
		}
	}
	/*
	 * If another thread pumps, the lock was not left since the message was queued: that
	 * thread has not seen it. If this one has left it to tell others, and the message waits,
	 * another may have posted it meanwhile: it leaves the owner to this one, too.
	 */
	if (direct) {
		tm->direct = false;
		over = !rc && tm->over;
	}
	spin_unlock(&conn->lock);
	if (over)
		rpcrdma_txmsg_done(tm, tm->status);
	return rc;
}

/**
 * rpcrdma_conn_send - queue an RPC message
 * @conn: the connection
 * @tm: the message; the connection owns it until its @done
 *
 * Context: Process context, no lock held. Does not sleep; @tm->done may run
 * before this returns.
 *
 * Return: 0, %-ENOTCONN if the connection is over, or %-ENOSPC if the chain is
 * too long for the send queue; @tm->done then does not run.
 */
int rpcrdma_conn_send(struct rpcrdma_conn *conn, struct rpcrdma_txmsg *tm)
{
	spin_lock(&conn->lock);
	return rpcrdma_conn_send_planned(conn, tm, false);
}

/**
 * rpcrdma_conn_call_refused - the peer has answered a Call with an ERROR
 * @conn: the connection
 * @tm: the Call
 * @rx: the ERROR
 *
 * Context: the Receive handler; process context, no lock held.
 *
 * Return: enum rpcrdma_reason: why the connection has ended, or %RPCRDMA_REASON_NONE.
 */
u32 rpcrdma_conn_call_refused(struct rpcrdma_conn *conn,
			      struct rpcrdma_txmsg *tm,
			      const struct rpcrdma_rx *rx)
{
	u32 reason;

	spin_lock(&conn->lock);
	reason = rpcrdma_session_call_refused(&conn->session, &tm->msg, rx);
	spin_unlock(&conn->lock);
	if (reason == RPCRDMA_REASON_NO_VERSION)
		WRITE_ONCE(conn->error, -EPROTONOSUPPORT);
	if (reason != RPCRDMA_REASON_NONE)
		rpcrdma_conn_lost(conn, rpcrdma_reason_name(reason));
	return reason;
}

/**
 * rpcrdma_conn_end_call - nobody waits for the Reply to a Call any more
 * @conn: the connection
 * @tm: a Call of which no more parts will be sent
 *
 * Context: Process context, no lock held. Does not sleep.
 */
void rpcrdma_conn_end_call(struct rpcrdma_conn *conn, struct rpcrdma_txmsg *tm)
{
	spin_lock(&conn->lock);
	/* It may have been promised the room that another one waits for. */
	if (rpcrdma_session_end_call(&conn->session, &tm->msg) ||
	    conn->ring.asked.sends)
		rpcrdma_pump(conn);
	spin_unlock(&conn->lock);
}

/**
 * rpcrdma_conn_refuse - answer a Call with RDMA2_ERROR
 * @conn: the connection
 * @xid: of the Call, host order
 * @errcode: enum rpcrdma_errcode
 * @index: see rpcrdma_session_refuse()
 * @needed: likewise
 *
 * Context: Process context, no lock held.
 *
 * Return: false if too many errors wait already; the connection is lost.
 */
bool rpcrdma_conn_refuse(struct rpcrdma_conn *conn, u32 xid, u32 errcode,
			 u32 index, u32 needed)
{
	bool ok;

	spin_lock(&conn->lock);
	ok = rpcrdma_session_refuse(&conn->session, xid, errcode, index,
				    needed);
	if (ok)
		rpcrdma_pump(conn);
	spin_unlock(&conn->lock);
	if (!ok)
		rpcrdma_conn_lost(conn, "errors unanswered");
	return ok;
}
