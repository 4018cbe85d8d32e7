// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receives and their buffers: allocated, mapped, counted and freed. What happens to them in between
 * is in recv.c.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include "../params.h"
#include "dma.h"
#include "recv.h"

/* Pages of a Receive of @size bytes; zero if it is in one piece. */
static u32 rpcrdma_recv_page_count(const struct rpcrdma_conn *conn, u32 size)
{
	return READ_ONCE(conn->recv_pages) ? DIV_ROUND_UP(size, PAGE_SIZE) : 0;
}

/* Bytes that the buffer of a Receive takes. */
static u32 rpcrdma_recv_bytes(const struct rpcrdma_conn *conn, u32 size)
{
	const u32 pages = rpcrdma_recv_page_count(conn, size);

	return pages ? pages << PAGE_SHIFT : rpcrdma_buffer_bytes(size);
}

/* Each element covers a page, or the whole buffer. */
static u32 rpcrdma_recv_elements(const struct rpcrdma_recv *recv)
{
	return recv->pages ? DIV_ROUND_UP(recv->size, PAGE_SIZE) : 1;
}

static void rpcrdma_recv_unmap(struct rpcrdma_recv *recv)
{
	struct ib_device *device = recv->conn->cm_id->device;
	int i;

	for (i = 0; i < recv->wr.num_sge; i++) {
		if (recv->pages)
			rpcrdma_dma_unmap_page(device, recv->sge[i].addr,
					       recv->sge[i].length,
					       DMA_FROM_DEVICE);
		else
			rpcrdma_dma_unmap_single(device, recv->sge[i].addr,
						 recv->sge[i].length,
						 DMA_FROM_DEVICE);
	}
	recv->wr.num_sge = 0;
}

/**
 * rpcrdma_recv_memory - what a Receive takes, with what the owner has for a message in it
 * @conn: its connection; recv_pages is known
 * @size: bytes of its buffer
 *
 * Return: bytes.
 */
u32 rpcrdma_recv_memory(const struct rpcrdma_conn *conn, u32 size)
{
	const u32 pages = rpcrdma_recv_page_count(conn, size);

	return rpcrdma_recv_bytes(conn, size) + sizeof(struct rpcrdma_recv) +
	       (pages ?: 1) * sizeof(struct ib_sge) +
	       pages * sizeof(struct page *) + conn->recv_owner;
}

/* Allocate the buffer of @recv. Return: false if there is no memory. */
static bool rpcrdma_recv_fill(struct rpcrdma_recv *recv, int node,
			      struct rpcrdma_spares *spares, gfp_t gfp)
{
	u32 i;

	if (!recv->pages) {
		recv->buf = rpcrdma_spare_get(spares, recv->size, node, gfp);
		return recv->buf;
	}
	for (i = 0; i < rpcrdma_recv_elements(recv); i++) {
		recv->pages[i] = alloc_pages_node(node, gfp, 0);
		if (!recv->pages[i])
			return false;
	}
	recv->buf = page_address(recv->pages[0]) + recv->conn->recv_base;
	return true;
}

/* Free a Receive that is not mapped, and what it has of a buffer. */
static void rpcrdma_recv_empty(struct rpcrdma_recv *recv,
			       struct rpcrdma_spares *spares)
{
	u32 i;

	for (i = 0; recv->pages && i < rpcrdma_recv_elements(recv); i++)
		if (recv->pages[i])
			__free_page(recv->pages[i]);
	if (!recv->pages && recv->buf)
		rpcrdma_spare_put(spares, recv->buf, recv->size);
	kfree(recv);
}

/* Return: false if the buffer cannot be mapped. */
static bool rpcrdma_recv_map(struct rpcrdma_recv *recv)
{
	struct rpcrdma_conn *conn = recv->conn;
	struct ib_device *device = conn->cm_id->device;
	struct ib_sge *sge;
	bool mapped;
	u32 i, base;

	for (i = 0; i < rpcrdma_recv_elements(recv); i++) {
		base = i ? 0 : conn->recv_base;
		sge = &recv->sge[i];
		sge->lkey = conn->pd->local_dma_lkey;
		sge->length = recv->pages ? PAGE_SIZE - base : recv->size;
		if (recv->pages)
			mapped = rpcrdma_dma_map_page(device, recv->pages[i],
						      base, sge->length,
						      DMA_FROM_DEVICE,
						      &sge->addr);
		else
			mapped = rpcrdma_dma_map_single(device, recv->buf,
							sge->length,
							DMA_FROM_DEVICE,
							&sge->addr);
		if (!mapped) {
			rpcrdma_recv_unmap(recv);
			return false;
		}
		recv->wr.num_sge++;
	}
	return true;
}

/**
 * rpcrdma_recv_alloc - allocate a Receive and map its buffer
 * @conn: the connection, whose budget has it already
 * @size: bytes of its buffer
 * @spares: where the buffer may come from, or NULL
 * @gfp: how to allocate
 *
 * Context: Process context, no lock held.
 *
 * Return: a Receive that is in no list, or an ERR_PTR: %-ENOMEM, or %-EIO if the buffer cannot be
 * mapped.
 */
struct rpcrdma_recv *rpcrdma_recv_alloc(struct rpcrdma_conn *conn, u32 size,
					struct rpcrdma_spares *spares,
					gfp_t gfp)
{
	const u32 pages = rpcrdma_recv_page_count(conn, size);
	const u32 elements = pages ?: 1;
	int node = ibdev_to_node(conn->cm_id->device);
	struct rpcrdma_recv *recv;
	int rc = -ENOMEM;

	recv = kzalloc_node(sizeof(*recv) + elements * sizeof(*recv->sge) +
			    pages * sizeof(*recv->pages), gfp, node);
	if (!recv)
		return ERR_PTR(-ENOMEM);
	recv->conn = conn;
	recv->size = size;
	recv->sge = (struct ib_sge *)(recv + 1);
	if (pages)
		recv->pages = (struct page **)(recv->sge + elements);
	if (!rpcrdma_recv_fill(recv, node, spares, gfp))
		goto out_empty;
	rc = -EIO;
	if (!rpcrdma_recv_map(recv))
		goto out_empty;
	recv->cqe.done = rpcrdma_recv_done;
	recv->wr.wr_cqe = &recv->cqe;
	recv->wr.sg_list = recv->sge;
	INIT_LIST_HEAD(&recv->all);
	INIT_LIST_HEAD(&recv->link);
	atomic_inc(&rpcrdma_live[RPCRDMA_LIVE_RECVS]);
	atomic_long_add(rpcrdma_recv_bytes(conn, size), &conn->buffers);
	return recv;

out_empty:
	rpcrdma_recv_empty(recv, NULL);
	return ERR_PTR(rc);
}

/**
 * rpcrdma_recv_more - allocate one more Receive, if the module may hold so much
 * @conn: the connection
 * @size: as for rpcrdma_recv_alloc(), like @spares and @gfp
 * @spares: see above
 * @gfp: see above
 * @must: as for rpcrdma_conn_charge()
 *
 * Context: Process context, no lock held.
 *
 * Return: as rpcrdma_recv_alloc(), or %-EDQUOT.
 */
struct rpcrdma_recv *rpcrdma_recv_more(struct rpcrdma_conn *conn, u32 size,
				       struct rpcrdma_spares *spares,
				       gfp_t gfp, bool must)
{
	const u32 memory = rpcrdma_recv_memory(conn, size);
	struct rpcrdma_recv *recv;
	int rc;

	rc = rpcrdma_conn_charge(conn, memory, must);
	if (rc)
		return ERR_PTR(rc);
	recv = rpcrdma_recv_alloc(conn, size, spares, gfp);
	if (IS_ERR(recv))
		rpcrdma_conn_uncharge(conn, memory);
	return recv;
}

/* Its buffer goes to @spares, or is freed if @spares is NULL or it is of pages. */
static void rpcrdma_recv_free(struct rpcrdma_recv *recv,
			      struct rpcrdma_spares *spares)
{
	rpcrdma_recv_unmap(recv);
	atomic_dec(&rpcrdma_live[RPCRDMA_LIVE_RECVS]);
	atomic_long_sub(rpcrdma_recv_bytes(recv->conn, recv->size),
			&recv->conn->buffers);
	rpcrdma_conn_uncharge(recv->conn,
			      rpcrdma_recv_memory(recv->conn, recv->size));
	rpcrdma_recv_empty(recv, spares);
}

/**
 * rpcrdma_recv_setup - allocate Receives
 * @conn: the connection
 * @count: how many
 * @size: bytes of each buffer, which is of pages if @conn->recv_pages is set
 * @later: most of them are made when the first message has come, see rpcrdma_recv_begin()
 *
 * Return: 0, %-ENOMEM, or %-EIO if a buffer cannot be mapped. The caller
 * cleans up.
 */
int rpcrdma_recv_setup(struct rpcrdma_conn *conn, u32 count, u32 size,
		       bool later)
{
	struct rpcrdma_spares *spares = rpcrdma_spares(conn,
						       RPCRDMA_SPARE_RECVS);
	const u32 now = later && count >= 4 * RPCRDMA_OPENING_RECVS ?
			RPCRDMA_OPENING_RECVS : count;
	struct rpcrdma_recv *recv;

	conn->recv_size = size;
	if (conn->recv_pages > 1) {
		conn->recv_whole = kmalloc_node(size, GFP_KERNEL,
						ibdev_to_node(conn->cm_id->device));
		if (!conn->recv_whole)
			return -ENOMEM;
		conn->whole_size = size;
		atomic_long_add(rpcrdma_buffer_bytes(size), &conn->buffers);
	}
	for (; conn->n_recvs < now; conn->n_recvs++) {
		recv = rpcrdma_recv_alloc(conn, size, spares, GFP_KERNEL);
		if (IS_ERR(recv))
			return PTR_ERR(recv);
		list_add_tail(&recv->all, &conn->recvs);
	}
	conn->n_recv_later = count - now;
	conn->n_recvs = count;
	conn->recv_target = count;
	return 0;
}

/**
 * rpcrdma_recv_cleanup - free the Receives; none is posted any more
 * @conn: the connection
 */
void rpcrdma_recv_cleanup(struct rpcrdma_conn *conn)
{
	struct rpcrdma_recv *recv, *next;

	list_for_each_entry_safe(recv, next, &conn->recvs, all)
		rpcrdma_recv_free(recv,
				  rpcrdma_spares(conn, RPCRDMA_SPARE_RECVS));
	INIT_LIST_HEAD(&conn->recvs);
	INIT_LIST_HEAD(&conn->behind);
	conn->stalled = NULL;
	conn->n_recvs = 0;
	init_llist_head(&conn->recv_back);
	rpcrdma_recv_free_list(&conn->recv_fresh);
	rpcrdma_recv_free_list(&conn->recv_old);
	conn->n_recv_fresh = 0;
	if (conn->recv_whole)
		atomic_long_sub(rpcrdma_buffer_bytes(conn->whole_size),
				&conn->buffers);
	kfree(conn->recv_whole);
	conn->recv_whole = NULL;
	conn->whole_size = 0;
}

/**
 * rpcrdma_recv_free_list - free Receives that are not posted
 * @list: of Receives, linked by @all; empty afterwards
 *
 * Context: Process context, no lock held. The device is there.
 */
void rpcrdma_recv_free_list(struct list_head *list)
{
	struct rpcrdma_recv *recv, *next;

	list_for_each_entry_safe(recv, next, list, all)
		rpcrdma_recv_free(recv, NULL);
	INIT_LIST_HEAD(list);
}

/**
 * rpcrdma_recv_rounded - size of a Receive for messages of so many bytes
 * @conn: the connection
 * @size: bytes
 *
 * Return: @size, or whole pages.
 */
u32 rpcrdma_recv_rounded(const struct rpcrdma_conn *conn, u32 size)
{
	return conn->recv_pages ? round_up(size, PAGE_SIZE) : size;
}

/**
 * rpcrdma_recv_supply - allocate Receives that take the place of those of another size
 * @conn: the connection
 * @count: how many more
 * @must: those that they replace are larger, so this ends with less memory
 *
 * Context: Process context. May sleep. The caller calls rpcrdma_recv_retarget(), too.
 *
 * Return: 0, %-ENOMEM, %-EDQUOT if the module may not hold so much, or %-EIO if a buffer
 * cannot be mapped.
 */
int rpcrdma_recv_supply(struct rpcrdma_conn *conn, u32 count, bool must)
{
	struct rpcrdma_recv *recv;

	while (count--) {
		/* Nobody waits for it. */
		recv = rpcrdma_recv_more(conn, conn->recv_size, NULL,
					 GFP_KERNEL | __GFP_NORETRY |
					 __GFP_NOWARN, must);
		if (IS_ERR(recv))
			return PTR_ERR(recv);
		spin_lock(&conn->lock);
		list_add_tail(&recv->all, &conn->recv_fresh);
		conn->n_recv_fresh++;
		spin_unlock(&conn->lock);
	}
	return 0;
}
