// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The owner of a message wants it back before its connection has finished with it.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "send.h"

/**
 * struct rpcrdma_rest - the rest of a message that its owner gave up half sent
 * @tm: the same message, without its Write list, because the regions are gone
 * @xdr: its stream without the part that has been sent
 * @stream: the bytes
 */
struct rpcrdma_rest {
	struct rpcrdma_txmsg tm;
	struct xdr_buf xdr;
	u8 stream[];
};

static void rpcrdma_rest_done(struct rpcrdma_txmsg *tm, int status)
{
	struct rpcrdma_rest *rest = container_of(tm, struct rpcrdma_rest, tm);

	rpcrdma_conn_end_call(tm->conn, tm);
	kvfree(rest);
}

/*
 * Make a message of the rest of @tm. Return: NULL if there is no memory, or if @tm has
 * chunks that the peer must read: without them it would be another message. A group is
 * hardly ever found half sent: there was credit for all of it when it began.
 */
static struct rpcrdma_rest *rpcrdma_rest_make(const struct rpcrdma_txmsg *tm)
{
	const struct rpcrdma_message *msg = &tm->msg;
	struct rpcrdma_rest *rest;
	unsigned int noio;

	if (tm->group ||
	    (msg->chunks && (msg->chunks->n_reads || msg->chunks->n_call)))
		return NULL;
	/*
	 * Reclaim could wait for an RPC that waits for this connection. Nobody sends on it
	 * meanwhile, so rather do without than wait for long.
	 */
	noio = memalloc_noio_save();
	rest = kvmalloc(struct_size(rest, stream, msg->length),
			GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	memalloc_noio_restore(noio);
	if (!rest)
		return NULL;
	if (rpcrdma_txmsg_copy(tm, msg->sent, rest->stream + msg->sent,
			       msg->length - msg->sent)) {
		kvfree(rest);
		return NULL;
	}
	rest->xdr = (struct xdr_buf){
		.head[0] = {
			.iov_base = rest->stream,
			.iov_len = msg->length,
		},
		.len = msg->length,
		.buflen = msg->length,
	};
	rest->tm = (struct rpcrdma_txmsg){
		.link = LIST_HEAD_INIT(rest->tm.link),
		.conn = tm->conn,
		.msg = *msg,
		.xdr = &rest->xdr,
		.done = rpcrdma_rest_done,
	};
	rest->tm.msg.chunks = NULL;
	rest->tm.msg.inv_handle = 0;
	return rest;
}

/*
 * The owner of @tm wants it back, but it is half sent: replace it by a copy of the rest.
 * Meanwhile no other thread runs the pump. Return: false if that is not possible.
 */
static bool rpcrdma_cancel_begun(struct rpcrdma_conn *conn,
				 struct rpcrdma_txmsg *tm)
	__must_hold(&conn->lock)
{
	struct rpcrdma_rest *rest;

	conn->pumping = true;
	spin_unlock(&conn->lock);
	rest = rpcrdma_rest_make(tm);
	spin_lock(&conn->lock);
	if (rest) {
		list_replace_init(&tm->link, &rest->tm.link);
		tm->msg.reserved = 0;
	} else {
		list_del_init(&tm->link);
	}
	/* At once: the pump must not begin another message now. */
	if (!rest)
		rpcrdma_conn_advance(conn, RPCRDMA_CONN_CLOSED);
	conn->pumping = false;
	wake_up_all(&conn->pump_wait);
	return rest;
}

/**
 * rpcrdma_conn_cancel - take back a message
 * @conn: the connection
 * @tm: a message whose @done need not be called, queued or not
 *
 * If a part of the message has been sent, the peer needs the rest for its reassembly: the
 * rest is sent from a copy. If no copy can be made, the connection ends.
 *
 * Context: Process context. May sleep.
 *
 * Return: true if nothing of the message was or will be sent.
 */
bool rpcrdma_conn_cancel(struct rpcrdma_conn *conn, struct rpcrdma_txmsg *tm)
{
	bool lost = false, unsent = false, rest = false;

	spin_lock(&conn->lock);
	conn->pump_waiters++;
	wait_event_cmd(conn->pump_wait,
		       !rpcrdma_pump_has(conn, tm) &&
		       (!conn->pumping || !tm->msg.sent ||
			list_empty(&tm->link)),
		       spin_unlock(&conn->lock), spin_lock(&conn->lock));
	conn->pump_waiters--;
	if (!list_empty(&tm->link)) {
		unsent = !tm->msg.sent;
		if (unsent || !rpcrdma_conn_open(conn)) {
			list_del_init(&tm->link);
			/* It may be what has waited for credit. */
			if (list_empty(&conn->tx_queue))
				rpcrdma_credit_wait(conn, RPCRDMA_CREDIT_PUMP,
						    false);
		} else {
			rest = rpcrdma_cancel_begun(conn, tm);
			lost = !rest;
		}
	}
	spin_unlock(&conn->lock);
	if (lost)
		rpcrdma_conn_lost(conn, "message cancelled half sent");
	if (rest)
		rpcrdma_conn_pump(conn);
	return unsent;
}

/**
 * rpcrdma_conn_wait_sent - wait until a message is out, or its connection over
 * @conn: the connection
 * @tm: the message
 *
 * Context: Process context. May sleep.
 */
void rpcrdma_conn_wait_sent(struct rpcrdma_conn *conn, struct rpcrdma_txmsg *tm)
{
	spin_lock(&conn->lock);
	conn->pump_waiters++;
	wait_event_cmd(conn->pump_wait,
		       !rpcrdma_conn_open(conn) ||
		       (list_empty(&tm->link) && !rpcrdma_pump_has(conn, tm)),
		       spin_unlock(&conn->lock), spin_lock(&conn->lock));
	conn->pump_waiters--;
	spin_unlock(&conn->lock);
}
