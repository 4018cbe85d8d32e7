// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Puts the bytes of a message into a Send: copies them to its buffer, or has the device gather
 * them from where they are.
 */
#include <rpcrdma/rtrext.h>

#include "dma.h"
#include "send.h"

/* Copy bytes of a message, nearly always of its head alone. Return: false if it lacks some. */
static inline bool rpcrdma_xdr_copy(const struct xdr_buf *xdr, u32 offset,
				    void *to, u32 length)
{
	const struct kvec *head = &xdr->head[0];

	if ((size_t)offset + length > head->iov_len)
		return !read_bytes_from_xdr_buf(xdr, offset, to, length);
	memcpy(to, head->iov_base + offset, length);
	return true;
}

/*
 * As rpcrdma_txmsg_copy(), of a message of which chunks carry a part. Not inlined: a variable
 * whose address is taken makes a function guard its stack, and others would do that for nothing.
 */
static noinline int rpcrdma_txmsg_copy_reduced(const struct rpcrdma_txmsg *tm,
					       u32 offset, void *to, u32 length)
{
	u32 run, at;

	while (length) {
		run = min(rpcrdma_stream_run(tm->removed, tm->n_removed, offset,
					     &at), length);
		if (!run || !rpcrdma_xdr_copy(tm->xdr, at, to, run))
			return -EMSGSIZE;
		to += run;
		offset += run;
		length -= run;
	}
	return 0;
}

/**
 * rpcrdma_txmsg_copy - copy bytes of a message's reduced stream
 * @tm: the message
 * @offset: the first
 * @to: where to
 * @length: how many
 *
 * Context: Any.
 *
 * Return: 0, or %-EMSGSIZE if the message lacks bytes.
 */
int rpcrdma_txmsg_copy(const struct rpcrdma_txmsg *tm, u32 offset, void *to,
		       u32 length)
{
	if (tm->n_removed)
		return rpcrdma_txmsg_copy_reduced(tm, offset, to, length);
	if (length && !rpcrdma_xdr_copy(tm->xdr, offset, to, length))
		return -EMSGSIZE;
	return 0;
}

/**
 * struct rpcrdma_stretch - bytes of a message that are in one piece of memory
 * @from: where they are
 * @length: how many
 */
struct rpcrdma_stretch {
	const void *from;
	u32 length;
};

/* The bytes at @offset. Return: none if the message ends before. */
static inline struct rpcrdma_stretch
rpcrdma_piece_at(const struct xdr_buf *xdr, u32 offset)
{
	const struct kvec *vec = &xdr->head[0];
	u32 at;

	if (offset >= vec->iov_len) {
		offset -= vec->iov_len;
		if (offset < xdr->page_len) {
			at = xdr->page_base + offset;
			return (struct rpcrdma_stretch) {
				.from = offset_in_page(at) +
					page_address(xdr->pages[at >> PAGE_SHIFT]),
				.length = min_t(u32, xdr->page_len - offset,
						PAGE_SIZE - offset_in_page(at)),
			};
		}
		offset -= xdr->page_len;
		vec = &xdr->tail[0];
	}
	return (struct rpcrdma_stretch) {
		.from = vec->iov_base + offset,
		.length = offset < vec->iov_len ? vec->iov_len - offset : 0,
	};
}

/**
 * rpcrdma_xdr_piece - what of a message is in one piece of memory
 * @xdr: the message
 * @offset: from here on
 * @length: set to how many bytes; zero if the message ends before
 *
 * Return: their address.
 */
const void *rpcrdma_xdr_piece(const struct xdr_buf *xdr, u32 offset,
			      u32 *length)
{
	const struct rpcrdma_stretch piece = rpcrdma_piece_at(xdr, offset);

	*length = piece.length;
	return piece.from;
}

/**
 * rpcrdma_send_unmap - the device has finished with memory, or never gets it
 * @send: was made of it
 */
void rpcrdma_send_unmap(struct rpcrdma_send *send)
{
	struct ib_device *device = send->conn->cm_id->device;
	const struct ib_sge *sge;

	for (; send->mapped; send->mapped &= send->mapped - 1) {
		sge = &send->sge[__ffs(send->mapped)];
		rpcrdma_dma_unmap_single(device, sge->addr, sge->length,
					 DMA_TO_DEVICE);
	}
}

/**
 * rpcrdma_send_element - add an element to a Send
 * @send: the Send
 * @addr: where its bytes are
 * @length: how many
 *
 * Return: the element, or NULL if there are too many.
 */
struct ib_sge *rpcrdma_send_element(struct rpcrdma_send *send, u64 addr,
				    u32 length)
{
	struct ib_sge *sge;

	if (send->wr.num_sge == send->conn->gather_sge)
		return NULL;
	sge = &send->sge[send->wr.num_sge++];
	sge->addr = addr;
	sge->length = length;
	return sge;
}

/* Put @length bytes into the buffer of @send. */
static bool rpcrdma_send_copy(struct rpcrdma_send *send, const void *from,
			      u32 length)
{
	u32 used = send->tx.header_length + send->copied;
	struct ib_sge *last = &send->sge[send->wr.num_sge - 1];

	memcpy(send->buf.data + used, from, length);
	send->copied += length;
	if (!(send->mapped & BIT(send->wr.num_sge - 1))) {
		last->length += length;
		return true;
	}
	return rpcrdma_send_element(send, send->buf.addr + used, length);
}

/**
 * rpcrdma_send_take - let the device take bytes of a Send from where they are
 * @send: the Send
 * @from: the bytes
 * @length: how many
 *
 * Return: false if there are too many elements, or they cannot be mapped.
 */
bool rpcrdma_send_take(struct rpcrdma_send *send, const void *from, u32 length)
{
	struct ib_device *device = send->conn->cm_id->device;
	u64 addr;

	if (send->wr.num_sge == send->conn->gather_sge)
		return false;
	if (!rpcrdma_dma_map_single(device, from, length, DMA_TO_DEVICE, &addr))
		return false;
	rpcrdma_send_element(send, addr, length);
	send->mapped |= BIT(send->wr.num_sge - 1);
	return true;
}

/* As rpcrdma_send_piece(), of a message of which chunks carry a part. */
static noinline struct rpcrdma_stretch
rpcrdma_send_piece_reduced(const struct rpcrdma_txmsg *tm, u32 offset)
{
	struct rpcrdma_stretch piece = {};
	u32 run, at;

	run = rpcrdma_stream_run(tm->removed, tm->n_removed, offset, &at);
	if (run) {
		piece = rpcrdma_piece_at(tm->xdr, at);
		piece.length = min(piece.length, run);
	}
	return piece;
}

/* What of the @left bytes at @offset of the stream is in one piece. Return: none if they lack. */
static inline struct rpcrdma_stretch
rpcrdma_send_piece(const struct rpcrdma_txmsg *tm, u32 offset, u32 left)
{
	struct rpcrdma_stretch piece;

	if (unlikely(tm->n_removed))
		piece = rpcrdma_send_piece_reduced(tm, offset);
	else
		piece = rpcrdma_piece_at(tm->xdr, offset);
	piece.length = min(piece.length, left);
	return piece;
}

/* A small piece is copied, and what the device cannot reach. */
static bool rpcrdma_send_takes(const struct rpcrdma_txmsg *tm,
			       struct rpcrdma_stretch piece)
{
	return piece.length >= tm->gather && virt_addr_valid(piece.from);
}

/* Are there enough elements for rpcrdma_send_pieces()? It is dear to find out by mapping. */
static bool rpcrdma_send_fits(const struct rpcrdma_send *send)
{
	const struct rpcrdma_txmsg *tm = send->tm;
	u32 offset = send->tx.payload.offset;
	u32 left = send->tx.payload.length;
	bool takes, took = false;
	struct rpcrdma_stretch piece;
	u32 count = 1;

	for (; left; left -= piece.length, offset += piece.length) {
		piece = rpcrdma_send_piece(tm, offset, left);
		if (!piece.length)
			return false;
		takes = rpcrdma_send_takes(tm, piece);
		count += takes || took;
		if (count > send->conn->gather_sge)
			return false;
		took = takes;
	}
	return true;
}

/*
 * Make elements of the bytes that go in @send: of its buffer, which small pieces are copied
 * to, and of other memory. Return: false if there are not enough elements, or if memory
 * cannot be mapped; then all has to be copied.
 */
static bool rpcrdma_send_pieces(struct rpcrdma_send *send)
{
	const struct rpcrdma_txmsg *tm = send->tm;
	u32 offset = send->tx.payload.offset;
	u32 left = send->tx.payload.length;
	struct rpcrdma_stretch piece;
	bool ok;

	for (; left; left -= piece.length, offset += piece.length) {
		piece = rpcrdma_send_piece(tm, offset, left);
		if (!piece.length)
			return false;
		if (rpcrdma_send_takes(tm, piece))
			ok = rpcrdma_send_take(send, piece.from, piece.length);
		else
			ok = rpcrdma_send_copy(send, piece.from, piece.length);
		if (!ok)
			return false;
	}
	return true;
}

/* Copy all that goes in @send to its buffer. Return: as rpcrdma_send_fill(). */
static bool rpcrdma_send_copy_all(struct rpcrdma_send *send)
{
	const struct rpcrdma_tx *tx = &send->tx;

	send->sge[0].length = send->length;
	send->copied = tx->payload.length;
	return !rpcrdma_txmsg_copy(send->tm, tx->payload.offset,
				   send->buf.data + tx->header_length,
				   tx->payload.length);
}

/*
 * Gather what goes in @send, or else copy it. Not inlined, since most is copied, and that need not
 * save the registers that this uses. Return: as rpcrdma_send_fill().
 */
static noinline bool rpcrdma_send_gather(struct rpcrdma_send *send)
{
	const u32 pages = DIV_ROUND_UP(send->tx.payload.length, PAGE_SIZE) + 1;

	/* Nearly always there are elements for the pages, and what is before and behind them. */
	if (pages + 2 > send->conn->gather_sge && !rpcrdma_send_fits(send))
		return rpcrdma_send_copy_all(send);
	if (rpcrdma_send_pieces(send))
		return true;
	rpcrdma_send_unmap(send);
	send->wr.num_sge = 1;
	return rpcrdma_send_copy_all(send);
}

/**
 * rpcrdma_send_fill - fill a Send with its part of a message
 * @send: the session has decided on it, and its header is in its buffer
 *
 * Context: Process context, by the thread that pumps; perhaps with the connection's lock held.
 *
 * Return: false if the message lacks bytes.
 */
bool rpcrdma_send_fill(struct rpcrdma_send *send)
{
	const struct rpcrdma_tx *tx = &send->tx;
	struct ib_sge *first = &send->sge[0];

	send->length = tx->header_length + tx->payload.length;
	first->addr = send->buf.addr;
	first->length = tx->header_length;
	send->wr.num_sge = 1;
	send->copied = 0;
	if (send->rtr.size)
		return rpcrdma_rtr_fill(send);
	if (!tx->payload.length)
		return true;
	if (send->tm->gather && send->conn->gather_sge > 1)
		return rpcrdma_send_gather(send);
	return rpcrdma_send_copy_all(send);
}
