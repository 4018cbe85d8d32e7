// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rtrext: Calls by groups of Sends (D20 in Documentation/protocol-notes.rst).
 *
 * A Receive of a server that takes them is a head and whole pages. Header and Payload stream
 * of a Call are in the head of its first Send; its data are in the pages of that and of
 * those after it, which can be passed on as they are. The head of a Receive is the end of a
 * page, so that the whole is an array of pages that begins somewhere in its first one.
 */
#include <linux/moduleparam.h>

#include "../params.h"
#include "verbs.h"

static int rpcrdma_rtrext_set(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 0, RPCRDMA_MAX_RTREXT);
}

const struct kernel_param_ops rpcrdma_rtrext_ops = {
	.set = rpcrdma_rtrext_set,
	.get = param_get_uint,
};

/**
 * rpcrdma_rtr_want - let a connection speak rtrext if the module parameter says so
 * @attr: of a connection that is to be made; versions and sizes are in it, and change
 *
 * Its buffers then keep their sizes: the peer is told once how Receives are made.
 */
void rpcrdma_rtr_want(struct rpcrdma_conn_attr *attr)
{
	struct rpcrdma_config *config = &attr->config;

	attr->rtr = READ_ONCE(rpcrdma_rtrext) && !attr->dialect &&
		    config->max_version != 1;
	if (!attr->rtr)
		return;
	if (config->role == RPCRDMA_ROLE_SERVER) {
		attr->recv_head = RPCRDMA_RTR_HEAD;
		config->local.recv_size += RPCRDMA_RTR_HEAD;
	} else {
		/* A Send of a group fills a Receive of the server's to the end. */
		config->local.send_size += RPCRDMA_RTR_HEAD;
	}
}

/**
 * rpcrdma_rtr_drop - a connection cannot have Receives of pages
 * @attr: of the connection; without rtrext afterwards, if it needs them for that
 *
 * Return: true if @attr has changed.
 */
bool rpcrdma_rtr_drop(struct rpcrdma_conn_attr *attr)
{
	if (!attr->rtr || !attr->recv_head)
		return false;
	attr->config.local.recv_size -= attr->recv_head;
	attr->recv_head = 0;
	attr->rtr = false;
	return true;
}

/**
 * rpcrdma_rtr_shape - how the Receives of a server with rtrext are made
 * @conn: the connection
 * @shape: filled in
 */
void rpcrdma_rtr_shape(const struct rpcrdma_conn *conn,
		       struct rpcrdma_rtr_shape *shape)
{
	*shape = (struct rpcrdma_rtr_shape) {
		.head = PAGE_SIZE - conn->recv_base,
		.page = PAGE_SIZE,
		.pages = conn->recv_pages - 1,
	};
}

/**
 * rpcrdma_rtr_setup - prepare what the peer is told
 * @conn: its session is new; recv_base gets set
 * @attr: of the connection, with the sizes that it has
 *
 * Return: false if that makes no sense.
 */
bool rpcrdma_rtr_setup(struct rpcrdma_conn *conn,
		       const struct rpcrdma_conn_attr *attr)
{
	struct rpcrdma_rtr_shape shape;

	if (!attr->rtr)
		return true;
	if (!attr->recv_head)
		return rpcrdma_rtr_declare(&conn->session, NULL);
	conn->recv_base = PAGE_SIZE - attr->recv_head;
	rpcrdma_rtr_shape(conn, &shape);
	return rpcrdma_rtr_declare(&conn->session, &shape);
}

/**
 * rpcrdma_rtr_decide - let the session decide on the next Send of a group
 * @conn: the connection
 * @send: gets its header, and what data go with it
 * @tm: the message
 *
 * A group does not begin before there is room for all of it, because nothing may come in
 * between. If it cannot begin for another reason it goes in another form.
 *
 * Return: as rpcrdma_session_next_send().
 */
u32 rpcrdma_rtr_decide(struct rpcrdma_conn *conn, struct rpcrdma_send *send,
		       struct rpcrdma_txmsg *tm)
	__must_hold(&conn->lock)
{
	const u32 room = conn->n_sends - (conn->send_head - conn->send_tail);
	u32 result;

	if (!tm->msg.sent) {
		/* What else is to be sent would wait for all groups that are queued. */
		result = rpcrdma_session_next_send(&conn->session, NULL,
						   send->buf, conn->send_size,
						   &send->tx);
		if (result != RPCRDMA_TX_NONE)
			return result;
		if (min(room, conn->sq_avail) <
		    tm->group->sends + tm->chain_cost) {
			conn->stats.sq_full++;
			return RPCRDMA_TX_NONE;
		}
	}
	result = rpcrdma_rtr_next_send(&conn->session, tm->group, &tm->msg,
				       send->buf, conn->send_size, &send->tx,
				       &send->piece);
	if (result == RPCRDMA_TX_MESSAGE || tm->msg.sent)
		return result;
	send->piece.size = 0;
	return RPCRDMA_TX_INVALID;
}

/**
 * rpcrdma_rtr_fill - build a Send of a group
 * @send: its header and padding are in its buffer
 *
 * Return: false if the message lacks bytes.
 */
bool rpcrdma_rtr_fill(struct rpcrdma_send *send)
{
	const struct rpcrdma_rtr_piece *piece = &send->piece;
	const struct rpcrdma_txmsg *tm = send->tm;
	const struct rpcrdma_tx *tx = &send->tx;

	if (rpcrdma_txmsg_copy(tm, tx->payload.offset,
			       send->buf + tx->header_length,
			       tx->payload.length))
		return false;
	if (piece->length &&
	    read_bytes_from_xdr_buf(tm->xdr, tm->removed->offset + piece->at,
				    send->buf + piece->offset, piece->length))
		return false;
	send->length = piece->size;
	send->sge[0].length = piece->size;
	send->copied = piece->size - tx->header_length;
	return true;
}
