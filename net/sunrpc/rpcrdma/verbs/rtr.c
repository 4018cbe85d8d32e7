// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rtrext: messages by groups of Sends (D20 in Documentation/protocol-notes.rst).
 *
 * A Receive is a head and whole pages. Header and Payload stream of a message are in the head
 * of its first Send; its data are in the pages of that and of those after it, which can be
 * passed on as they are. The head of a Receive is the end of a page, so that the whole is an
 * array of pages that begins somewhere in its first one.
 */
#include <linux/moduleparam.h>

#include "../params.h"
#include "send.h"

static int rpcrdma_rtrext_set(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 0, RPCRDMA_MAX_RTREXT);
}

const struct kernel_param_ops rpcrdma_rtrext_ops = {
	.set = rpcrdma_rtrext_set,
	.get = param_get_uint,
};

static int rpcrdma_rtrext_offer_set(const char *val,
				    const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 0, RPCRDMA_MAX_RTREXT_OFFER);
}

const struct kernel_param_ops rpcrdma_rtrext_offer_ops = {
	.set = rpcrdma_rtrext_offer_set,
	.get = param_get_uint,
};

/**
 * rpcrdma_rtr_want - let a connection speak rtrext if the module parameter says so
 * @attr: of a connection that is to be made; versions and sizes are in it, and change
 *
 * Its buffers then keep their sizes: the peer is told once how Receives are made. So they have at
 * once what others grow to.
 */
void rpcrdma_rtr_want(struct rpcrdma_conn_attr *attr)
{
	struct rpcrdma_config *config = &attr->config;

	attr->rtr = READ_ONCE(rpcrdma_rtrext) && attr->only_v1 != RPCRDMA_V1_DIALECT &&
		    config->max_version != 1;
	if (!attr->rtr)
		return;
	/* A Reply's header has a word for each page that its group fills, and 48 octets besides. */
	static_assert(48 + sizeof(u32) * RPCRDMA_RTR_MOST_SENDS *
		      (RPCRDMA_MAX_RECV_PAGES - 1) <= RPCRDMA_RTR_HEAD);
	attr->recv_pages = true;
	attr->recv_head = RPCRDMA_RTR_HEAD;
	config->local.recv_size += RPCRDMA_RTR_HEAD;
	/* A Send of a group fills a Receive of the peer's to the end. */
	config->local.send_size += RPCRDMA_RTR_HEAD;
}

/**
 * rpcrdma_rtr_drop - a connection cannot have Receives of pages
 * @attr: of the connection. A server is without rtrext afterwards, and nothing is placed at
 *	a client.
 *
 * Return: true if @attr has changed.
 */
bool rpcrdma_rtr_drop(struct rpcrdma_conn_attr *attr)
{
	if (!attr->rtr || !attr->recv_head)
		return false;
	attr->config.local.recv_size -= attr->recv_head;
	if (attr->config.role == RPCRDMA_ROLE_SERVER) {
		attr->config.local.send_size -= attr->recv_head;
		attr->rtr = false;
	} else {
		attr->recv_pages = false;
	}
	attr->recv_head = 0;
	return true;
}

/**
 * rpcrdma_rtr_shape - how Receives in which data are placed are made
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
 * rpcrdma_rtr_head - what of the first Send of a group is in one piece
 * @recv: has it
 *
 * Its header and Payload stream are in that, and all that says where data are.
 *
 * Return: bytes.
 */
u32 rpcrdma_rtr_head(const struct rpcrdma_recv *recv)
{
	return min_t(u32, recv->len, PAGE_SIZE - recv->conn->recv_base);
}

/**
 * rpcrdma_rtr_setup - prepare what the peer is told
 * @conn: its session is new; rtr and recv_base get set
 * @attr: of the connection, with the sizes that it has
 *
 * Return: false if that makes no sense.
 */
bool rpcrdma_rtr_setup(struct rpcrdma_conn *conn,
		       const struct rpcrdma_conn_attr *attr)
{
	const bool server = conn->role == RPCRDMA_ROLE_SERVER;
	struct rpcrdma_rtr_shape shape;

	conn->rtr = attr->rtr;
	if (!attr->rtr)
		return true;
	if (!attr->recv_head)
		return rpcrdma_rtr_declare(&conn->session, NULL, 0);
	conn->recv_base = PAGE_SIZE - attr->recv_head;
	rpcrdma_rtr_shape(conn, &shape);
	return rpcrdma_rtr_declare(&conn->session, &shape,
				   server ? RPCRDMA_RTR_CALLS :
					    RPCRDMA_RTR_REPLIES);
}

/**
 * rpcrdma_rtr_decide - let the session decide on the next Send of a group
 * @conn: the connection
 * @send: gets its header, and what data go with it
 * @tm: the message
 *
 * A group does not begin before there is room for all of it, because nothing may come in
 * between. If it cannot begin for another reason, or too few Sends have buffers and there is no
 * memory for more, it goes in another form. One of a single Send waits for its credit like any
 * message.
 *
 * Return: as rpcrdma_session_next_send().
 */
u32 rpcrdma_rtr_decide(struct rpcrdma_conn *conn, struct rpcrdma_send *send,
		       struct rpcrdma_txmsg *tm)
	__must_hold(&conn->lock)
{
	const u32 room = rpcrdma_ring_room(&conn->ring);
	const u32 sends = tm->group->sends;
	u32 result;

	if (!tm->msg.sent) {
		/* What else is to be sent would wait for all groups that are queued. */
		result = rpcrdma_session_next_send(&conn->session, NULL,
						   send->buf.data, conn->send_size,
						   &send->tx);
		if (result != RPCRDMA_TX_NONE)
			return result;
		if (room < sends && !rpcrdma_send_awaits(conn, sends))
			return RPCRDMA_TX_INVALID;
		if (room < sends || conn->sq_avail < sends + tm->chain_cost) {
			conn->stats.sq_full++;
			return RPCRDMA_TX_NONE;
		}
	}
	result = rpcrdma_rtr_next_send(&conn->session, tm->group, &tm->msg,
				       send->buf.data, conn->send_size, &send->tx,
				       &send->rtr);
	if (result == RPCRDMA_TX_MESSAGE)
		return result;
	send->rtr.size = 0;
	/* The peer has taken credits back, and may wait for a GRANT. */
	if (tm->msg.sent && result == RPCRDMA_TX_BLOCKED)
		return rpcrdma_session_next_send(&conn->session, NULL,
						 send->buf.data, conn->send_size,
						 &send->tx);
	if (tm->msg.sent)
		return result;
	if (result == RPCRDMA_TX_BLOCKED && tm->group->sends == 1)
		return result;
	return RPCRDMA_TX_INVALID;
}

/**
 * struct rpcrdma_rtr_filler - a Send that is being built
 * @send: the Send
 * @done: bytes that there are elements for
 */
struct rpcrdma_rtr_filler {
	struct rpcrdma_send *send;
	u32 done;
};

/* The buffer has bytes of the Send up to @end, where they are in the Send, too. */
static bool rpcrdma_rtr_from_buffer(struct rpcrdma_rtr_filler *f, u32 end)
{
	struct rpcrdma_send *send = f->send;
	struct ib_sge *last = &send->sge[send->wr.num_sge - 1];
	const u32 length = end - f->done;

	if (!length)
		return true;
	if (send->mapped & BIT(send->wr.num_sge - 1)) {
		if (!rpcrdma_send_element(send, send->buf.addr + f->done, length))
			return false;
	} else {
		last->length += length;
	}
	f->done = end;
	return true;
}

/* Let the device take data from where they are, but for small pieces. */
static bool rpcrdma_rtr_gather(void *context,
			       const struct rpcrdma_rtr_piece *piece)
{
	struct rpcrdma_rtr_filler *f = context;
	const struct rpcrdma_txmsg *tm = f->send->tm;
	u32 at = 0, run;
	const void *from;

	for (; at < piece->length; at += run) {
		from = rpcrdma_xdr_piece(tm->xdr, piece->at + at, &run);
		run = min(run, piece->length - at);
		if (!run)
			return false;
		if (run < tm->gather || !virt_addr_valid(from)) {
			memcpy(f->send->buf.data + piece->offset + at, from, run);
			f->send->copied += run;
			continue;
		}
		if (!rpcrdma_rtr_from_buffer(f, piece->offset + at) ||
		    !rpcrdma_send_take(f->send, from, run))
			return false;
		f->done += run;
	}
	return true;
}

static bool rpcrdma_rtr_copy(void *context,
			     const struct rpcrdma_rtr_piece *piece)
{
	struct rpcrdma_send *send = context;

	send->copied += piece->length;
	return !read_bytes_from_xdr_buf(send->tm->xdr, piece->at,
					send->buf.data + piece->offset,
					piece->length);
}

/**
 * rpcrdma_rtr_fill - build a Send of a group
 * @send: its header and padding are in its buffer
 *
 * Return: false if the message lacks bytes.
 */
bool rpcrdma_rtr_fill(struct rpcrdma_send *send)
{
	const struct rpcrdma_txmsg *tm = send->tm;
	const struct rpcrdma_tx *tx = &send->tx;
	struct rpcrdma_rtr_filler f = { .send = send };

	if (rpcrdma_txmsg_copy(tm, tx->payload.offset,
			       send->buf.data + tx->header_length,
			       tx->payload.length))
		return false;
	send->length = send->rtr.size;
	send->copied = tx->payload.length;
	send->sge[0].length = 0;
	if (tm->gather && send->conn->gather_sge > 1) {
		if (rpcrdma_rtr_each_piece(tm->group, send->rtr.number,
					   rpcrdma_rtr_gather, &f) &&
		    rpcrdma_rtr_from_buffer(&f, send->length))
			return true;
		rpcrdma_send_unmap(send);
		send->wr.num_sge = 1;
		send->copied = tx->payload.length;
	}
	send->sge[0].length = send->length;
	return rpcrdma_rtr_each_piece(tm->group, send->rtr.number,
				      rpcrdma_rtr_copy, send);
}
