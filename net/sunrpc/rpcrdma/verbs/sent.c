// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What was sent: completions of Sends, and the end of all that is queued or in flight.
 *
 * Sends complete in order, and few of them are signaled: a completion is that of all before it,
 * too. See pump.c.
 */
#include <trace/events/rpcrdma_v2.h>

#include "send.h"

/* All Sends before number @last have completed. In the handler of completions of Sends. */
static void rpcrdma_sends_end(struct rpcrdma_conn *conn, u32 last)
{
	struct rpcrdma_txmsg *tm, *next;
	struct rpcrdma_send *s;
	LIST_HEAD(held);
	u32 i;

	/* Nobody else moves the tail; what is between it and @last is not used again. */
	for (i = conn->ring.tail; i != last; i++) {
		s = rpcrdma_send_at(conn, i);
		if (s->mapped)
			rpcrdma_send_unmap(s);
	}

	spin_lock(&conn->lock);
	while (conn->ring.tail != last) {
		s = rpcrdma_send_at(conn, conn->ring.tail);
		if (s->held)
			list_add_tail(&s->held->link, &held);
		s->held = NULL;
		conn->sq_avail += s->cost;
		conn->ring.tail++;
	}
	if (unlikely(conn->resize.sends_left) && !rpcrdma_conn_dead(conn)) {
		conn->resize.sends_left = false;
		rpcrdma_resize_kick(conn);
	}
	rpcrdma_pump(conn);
	spin_unlock(&conn->lock);
	list_for_each_entry_safe(tm, next, &held, link) {
		list_del_init(&tm->link);
		rpcrdma_txmsg_done(tm, 0);
	}
}

/**
 * rpcrdma_send_done - a Send has completed, and all before it
 * @cq: of Sends
 * @wc: the completion
 *
 * Context: the handler of completions of Sends; process context, no lock held.
 */
void rpcrdma_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_send *send = container_of(wc->wr_cqe,
						 struct rpcrdma_send, cqe);
	struct rpcrdma_conn *conn = send->conn;

	if (wc->status != IB_WC_SUCCESS) {
		/* rpcrdma_send_flush() ends what was in flight. */
		if (send->reply) {
			rpcrdma_conn_fault(conn, "Send", wc, send->call);
			return;
		}
		if (wc->status != IB_WC_WR_FLUSH_ERR)
			trace_rpcrdma_wc(conn->id, "Send", wc);
		rpcrdma_conn_lost(conn, ib_wc_status_msg(wc->status));
		return;
	}

	rpcrdma_sends_end(conn, conn->ring.tail + 1 +
			  ((send->index - conn->ring.tail) &
			   (conn->ring.sends - 1)));
}

/**
 * rpcrdma_mark_done - the mark has completed, see rpcrdma_pump_mark()
 * @cq: of Sends
 * @wc: the completion
 *
 * Context: as rpcrdma_send_done().
 */
void rpcrdma_mark_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_conn *conn = container_of(wc->wr_cqe, struct rpcrdma_conn,
						 mark_cqe);
	u32 last;

	if (wc->status != IB_WC_SUCCESS) {
		if (wc->status != IB_WC_WR_FLUSH_ERR)
			trace_rpcrdma_wc(conn->id, "RDMA Write", wc);
		rpcrdma_conn_lost(conn, ib_wc_status_msg(wc->status));
		return;
	}
	spin_lock(&conn->lock);
	last = conn->marked;
	conn->marking = false;
	conn->sq_avail++;
	spin_unlock(&conn->lock);
	rpcrdma_sends_end(conn, last);
}

/**
 * rpcrdma_conn_hurry - is the memory of what was sent needed soon?
 * @conn: the connection
 * @hurry: if so, no message waits for the next Send to know that its own have completed; those
 *	that wait now neither
 *
 * Context: Process context, no lock held.
 */
void rpcrdma_conn_hurry(struct rpcrdma_conn *conn, bool hurry)
{
	spin_lock(&conn->lock);
	conn->hurry = hurry;
	if (hurry)
		rpcrdma_pump(conn);
	spin_unlock(&conn->lock);
}

/**
 * rpcrdma_send_stop - the pump posts nothing from now on
 * @conn: the connection
 *
 * The owner of each message that is over has been told when this returns.
 *
 * Context: Process context. May sleep.
 */
void rpcrdma_send_stop(struct rpcrdma_conn *conn)
{
	spin_lock(&conn->lock);
	rpcrdma_conn_advance(conn, RPCRDMA_CONN_CLOSED);
	wake_up_all(&conn->pump_wait);
	conn->pump_waiters++;
	wait_event_cmd(conn->pump_wait,
		       !conn->pumping && !conn->telling &&
			       list_empty(&conn->tx_over),
		       spin_unlock(&conn->lock), spin_lock(&conn->lock));
	conn->pump_waiters--;
	spin_unlock(&conn->lock);
}

/**
 * rpcrdma_send_flush - end everything queued or in flight with -ENOTCONN
 * @conn: stopped and drained
 *
 * Context: Process context, no lock held.
 */
void rpcrdma_send_flush(struct rpcrdma_conn *conn)
{
	struct rpcrdma_txmsg *tm;
	struct rpcrdma_send *send;
	struct rpcrdma_job *job;
	u32 i;

	for (i = conn->ring.tail; i != conn->ring.head; i++)
		rpcrdma_send_unmap(rpcrdma_send_at(conn, i));
	spin_lock(&conn->lock);
	while (conn->ring.tail != conn->ring.head) {
		send = rpcrdma_send_at(conn, conn->ring.tail++);
		tm = send->held;
		send->held = NULL;
		if (!tm)
			continue;
		spin_unlock(&conn->lock);
		rpcrdma_txmsg_done(tm, -ENOTCONN);
		spin_lock(&conn->lock);
	}
	while ((tm = list_first_entry_or_null(&conn->tx_queue,
					      struct rpcrdma_txmsg, link))) {
		rpcrdma_pump_take(conn, tm);
		spin_unlock(&conn->lock);
		rpcrdma_txmsg_done(tm, -ENOTCONN);
		spin_lock(&conn->lock);
		conn->pump_msg = NULL;
		rpcrdma_pump_through(conn);
	}
	/* Failed, posted in part, or never completed: siw loses RDMA Reads. */
	list_splice_init(&conn->jobs_posted, &conn->job_queue);
	while ((job = list_first_entry_or_null(&conn->job_queue,
					       struct rpcrdma_job, link))) {
		list_del_init(&job->link);
		spin_unlock(&conn->lock);
		job->done(job, -ENOTCONN);
		spin_lock(&conn->lock);
	}
	spin_unlock(&conn->lock);
}
