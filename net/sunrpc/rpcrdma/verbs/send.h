/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the files that send have in common: send.c, pump.c, sent.c, fill.c, ring.c,
 * cancel.c, job.c.
 */
#ifndef _RPCRDMA_SEND_H
#define _RPCRDMA_SEND_H

#include "verbs.h"

/* There are as many Sends as a power of two, see rpcrdma_send_setup(). */
static inline struct rpcrdma_send *
rpcrdma_send_at(const struct rpcrdma_conn *conn, u32 i)
{
	return &conn->sends[i & (conn->ring.sends - 1)];
}

/* ring.c */
void rpcrdma_send_turn(struct rpcrdma_conn *conn)
	__must_hold(&conn->lock);
void rpcrdma_send_ask(struct rpcrdma_conn *conn,
		      const struct rpcrdma_claim *claim)
	__must_hold(&conn->lock);
bool rpcrdma_send_awaits(struct rpcrdma_conn *conn, u32 sends)
	__must_hold(&conn->lock);

/* The next Send to decide on, with a buffer. There is room in the ring. */
static inline struct rpcrdma_send *rpcrdma_send_next(struct rpcrdma_conn *conn)
	__must_hold(&conn->lock)
{
	if (conn->ring.bare)
		rpcrdma_send_turn(conn);
	return rpcrdma_send_at(conn, conn->ring.head);
}

/* send.c */
struct rpcrdma_supply rpcrdma_send_promised(const struct rpcrdma_conn *conn)
	__must_hold(&conn->lock);

/* What there is of the send queue, and what is promised of it. Mostly no message waits. */
static inline struct rpcrdma_supply
rpcrdma_send_supply(const struct rpcrdma_conn *conn)
	__must_hold(&conn->lock)
{
	if (unlikely(!list_empty(&conn->tx_queue)))
		return rpcrdma_send_promised(conn);
	return (struct rpcrdma_supply) {
		.depth = conn->sq_depth,
		.avail = conn->sq_avail,
	};
}

/* pump.c */
void rpcrdma_pump(struct rpcrdma_conn *conn)
	__must_hold(&conn->lock);
bool rpcrdma_pump_alone(struct rpcrdma_conn *conn, struct rpcrdma_txmsg *tm)
	__must_hold(&conn->lock);
void rpcrdma_pump_full(struct rpcrdma_conn *conn, u32 xid)
	__must_hold(&conn->lock);
bool rpcrdma_pump_has(const struct rpcrdma_conn *conn,
		      const struct rpcrdma_txmsg *tm)
	__must_hold(&conn->lock);
void rpcrdma_pump_take(struct rpcrdma_conn *conn, struct rpcrdma_txmsg *tm)
	__must_hold(&conn->lock);
void rpcrdma_pump_through(struct rpcrdma_conn *conn)
	__must_hold(&conn->lock);

/* Does nothing wait or go on that the pump would do before it comes to @tm? */
static inline bool rpcrdma_pump_idle(const struct rpcrdma_conn *conn,
				     const struct rpcrdma_txmsg *tm)
	__must_hold(&conn->lock)
{
	return !conn->pumping && !conn->n_recv_later && !conn->credit_waiters &&
	       list_empty(&conn->tx_queue) && list_empty(&conn->job_queue) &&
	       rpcrdma_ring_room(&conn->ring) &&
	       conn->sq_avail > tm->chain_cost;
}

/* sent.c */
void rpcrdma_send_done(struct ib_cq *cq, struct ib_wc *wc);
void rpcrdma_mark_done(struct ib_cq *cq, struct ib_wc *wc);

static inline void rpcrdma_txmsg_done(struct rpcrdma_txmsg *tm, int status)
{
	if (tm->done)
		tm->done(tm, status);
}

/* fill.c */
bool rpcrdma_send_fill(struct rpcrdma_send *send);

#endif
