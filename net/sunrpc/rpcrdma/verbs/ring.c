// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The ring of Sends: their buffers are made, get another size, and are freed.
 */
#include <linux/slab.h>

#include "../params.h"
#include "send.h"

/**
 * rpcrdma_send_spare - Send buffers that a Call of many Sends may take
 * @conn: the connection
 *
 * Context: the caller holds the connection's lock.
 *
 * Return: how many are free, but for some that are for others.
 */
u32 rpcrdma_send_spare(const struct rpcrdma_conn *conn)
{
	const u32 used = conn->send_head - conn->send_tail +
			 conn->n_sends / RPCRDMA_STREAM_SPARES;

	lockdep_assert_held(&conn->lock);
	return used < conn->n_sends ? conn->n_sends - used : 0;
}

/**
 * rpcrdma_send_memory - what a Send takes
 * @conn: its connection; gather_sge is known
 * @size: bytes of its buffer
 *
 * Return: bytes.
 */
u32 rpcrdma_send_memory(const struct rpcrdma_conn *conn, u32 size)
{
	return rpcrdma_buffer_bytes(size) + sizeof(struct rpcrdma_send) +
	       conn->gather_sge * sizeof(struct ib_sge);
}

/**
 * rpcrdma_send_setup - allocate Sends
 * @conn: the connection
 * @count: how many, a power of two, at least four
 * @size: bytes of each buffer
 *
 * Return: 0, %-EINVAL, %-ENOMEM, or %-EIO if a buffer cannot be mapped. The
 * caller cleans up.
 */
int rpcrdma_send_setup(struct rpcrdma_conn *conn, u32 count, u32 size)
{
	struct ib_device *device = conn->cm_id->device;
	struct rpcrdma_spares *spares = rpcrdma_spares(conn,
						       RPCRDMA_SPARE_SENDS);
	int node = ibdev_to_node(device);
	struct rpcrdma_send *send;
	u32 i;

	/* Ring indices run freely and wrap at 2^32. */
	if (count < 4 || !is_power_of_2(count))
		return -EINVAL;
	conn->send_size = size;
	conn->mark_cqe.done = rpcrdma_mark_done;
	conn->sends = kvcalloc_node(count, sizeof(*conn->sends), GFP_KERNEL,
				    node);
	conn->send_sges = kvcalloc_node(count * conn->gather_sge,
					sizeof(*conn->send_sges), GFP_KERNEL,
					node);
	if (!conn->sends || !conn->send_sges)
		return -ENOMEM;

	for (; conn->n_sends < count; conn->n_sends++) {
		send = &conn->sends[conn->n_sends];
		send->conn = conn;
		send->index = conn->n_sends;
		send->buf = rpcrdma_spare_get(spares, size, node, GFP_KERNEL);
		if (!send->buf)
			return -ENOMEM;
		send->size = size;
		send->addr = ib_dma_map_single(device, send->buf, size,
					       DMA_TO_DEVICE);
		if (ib_dma_mapping_error(device, send->addr)) {
			kfree(send->buf);
			return -EIO;
		}
		send->sge = &conn->send_sges[conn->n_sends * conn->gather_sge];
		for (i = 0; i < conn->gather_sge; i++)
			send->sge[i].lkey = conn->pd->local_dma_lkey;
		send->cqe.done = rpcrdma_send_done;
		send->wr.wr_cqe = &send->cqe;
		send->wr.sg_list = send->sge;
		send->wr.num_sge = 1;
		atomic_inc(&rpcrdma_live[RPCRDMA_LIVE_SENDS]);
		atomic_long_add(rpcrdma_buffer_bytes(size), &conn->buffers);
	}
	return 0;
}

/* Nobody has this Send: it is not decided on, being built or under way. */
static bool rpcrdma_send_unused(const struct rpcrdma_conn *conn, u32 i)
	__must_hold(&conn->lock)
{
	return ((i - conn->send_tail) & (conn->n_sends - 1)) >=
	       conn->send_head - conn->send_tail;
}

/* Give the Send at @i another buffer. Return: 0, %-EBUSY, %-EDQUOT, %-ENOMEM or %-EIO. */
static int rpcrdma_send_renew(struct rpcrdma_conn *conn, u32 i, u32 size)
{
	struct ib_device *device = conn->cm_id->device;
	struct rpcrdma_send *send = &conn->sends[i];
	u32 old_size = send->size;
	int rc;
	void *buf;
	u64 addr;

	/* A smaller one takes the place of a larger one. */
	rc = rpcrdma_conn_hold(conn, rpcrdma_buffer_bytes(size),
			       size < old_size);
	if (rc)
		return rc;
	rc = -ENOMEM;
	/* Nobody waits for it. */
	buf = kmalloc_node(size, GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN,
			   ibdev_to_node(device));
	if (!buf)
		goto out_unhold;
	rc = -EIO;
	addr = ib_dma_map_single(device, buf, size, DMA_TO_DEVICE);
	if (ib_dma_mapping_error(device, addr))
		goto out_free;
	rc = -EBUSY;
	spin_lock(&conn->lock);
	if (rpcrdma_send_unused(conn, i)) {
		swap(send->buf, buf);
		swap(send->addr, addr);
		swap(send->size, size);
		atomic_long_add((long)rpcrdma_buffer_bytes(send->size) -
				rpcrdma_buffer_bytes(old_size), &conn->buffers);
		rc = 0;
	}
	spin_unlock(&conn->lock);
	ib_dma_unmap_single(device, addr, size, DMA_TO_DEVICE);
out_free:
	kfree(buf);
out_unhold:
	/* What is not needed: of the old buffer, or of the new one. */
	rpcrdma_conn_unhold(conn, rpcrdma_buffer_bytes(size));
	return rc;
}

/**
 * rpcrdma_send_resize - give Sends buffers of another size, as far as they are not in use
 * @conn: the connection; @conn->send_size is the smaller one of both sizes
 * @size: bytes of each buffer
 *
 * Context: Process context, no lock held. May sleep. One caller at a time.
 *
 * Return: how many still have another size, or a negative errno: %-ENOMEM, %-EDQUOT if the
 * module may not hold so much, or %-EIO if a buffer cannot be mapped.
 */
int rpcrdma_send_resize(struct rpcrdma_conn *conn, u32 size)
{
	int rc, left = 0;
	u32 i;

	for (i = 0; i < conn->n_sends; i++) {
		if (conn->sends[i].size == size)
			continue;
		rc = rpcrdma_send_renew(conn, i, size);
		if (rc == -EBUSY)
			left++;
		else if (rc)
			return rc;
	}
	return left;
}

/**
 * rpcrdma_send_cleanup - free the Sends, of which none is posted any more
 * @conn: the connection
 */
void rpcrdma_send_cleanup(struct rpcrdma_conn *conn)
{
	struct rpcrdma_spares *spares = rpcrdma_spares(conn,
						       RPCRDMA_SPARE_SENDS);
	struct ib_device *device = conn->cm_id->device;
	struct rpcrdma_send *send;

	while (conn->n_sends) {
		send = &conn->sends[--conn->n_sends];
		ib_dma_unmap_single(device, send->addr, send->size,
				    DMA_TO_DEVICE);
		atomic_dec(&rpcrdma_live[RPCRDMA_LIVE_SENDS]);
		atomic_long_sub(rpcrdma_buffer_bytes(send->size),
				&conn->buffers);
		rpcrdma_spare_put(spares, send->buf, send->size);
	}
	kvfree(conn->send_sges);
	conn->send_sges = NULL;
	kvfree(conn->sends);
	conn->sends = NULL;
}
