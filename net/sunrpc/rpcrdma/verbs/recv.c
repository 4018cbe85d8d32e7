// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receives: a fixed set of buffers, one more than the window (D3). A buffer is
 * posted, or in the hands of the Receive handler, or kept by the owner of the
 * connection; nothing else exists, so a message can never find the queue
 * empty while its sender had credit.
 */
#include <linux/slab.h>

#include <trace/events/rpcrdma_v2.h>

#include "verbs.h"

static int rpcrdma_recv_post(struct rpcrdma_conn *conn,
			     struct rpcrdma_recv *recv)
{
	ib_dma_sync_single_for_device(conn->cm_id->device, recv->sge.addr,
				      recv->sge.length, DMA_FROM_DEVICE);
	return ib_post_recv(conn->qp, &recv->wr, NULL);
}

/**
 * rpcrdma_conn_recv_put - post a Receive again and offer it to the peer
 * @conn: the connection, not yet destroyed
 * @recv: a Receive that ops->payload kept, or that nobody wants
 *
 * Context: Process context, no lock held.
 */
void rpcrdma_conn_recv_put(struct rpcrdma_conn *conn, struct rpcrdma_recv *recv)
{
	bool due = false;
	int rc;

	/*
	 * Under one lock: no Receive follows the drain, see conn_destroy, and
	 * none is offered before it is posted.
	 */
	spin_lock(&conn->lock);
	rc = conn->dead ? -ENOTCONN : rpcrdma_recv_post(conn, recv);
	if (!rc)
		due = rpcrdma_session_release(&conn->session, 1);
	spin_unlock(&conn->lock);
	if (rc)
		rpcrdma_conn_lost(conn, "post Receive");
	else if (due)
		rpcrdma_conn_pump(conn);
}

static void rpcrdma_recv_count(struct rpcrdma_conn *conn,
			       const struct rpcrdma_rx *rx, u32 len)
{
	struct rpcrdma_stats *stats = &conn->stats;

	stats->rx_htype[rx->htype < RPCRDMA_HTYPES ? rx->htype : 0]++;
	stats->rx_wire_bytes += len;
	if (rx->reason < RPCRDMA_REASON_COUNT)
		stats->rx_refused[rx->reason]++;
	if (rx->action != RPCRDMA_RX_PAYLOAD)
		return;
	if (rx->last && !rx->stream_offset)
		stats->rx_inline_bytes += rx->payload.length;
	else
		stats->rx_continued_bytes += rx->payload.length;
}

static void rpcrdma_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_recv *recv = container_of(wc->wr_cqe,
						 struct rpcrdma_recv, cqe);
	enum rpcrdma_recv_verdict verdict = RPCRDMA_RECV_DONE;
	struct rpcrdma_conn *conn = recv->conn;
	struct rpcrdma_rx *rx = &conn->rx;
	u32 invalidated = 0;

	if (wc->status != IB_WC_SUCCESS) {
		trace_rpcrdma_wc(conn->id, "Receive", wc);
		rpcrdma_conn_lost(conn, ib_wc_status_msg(wc->status));
		return;
	}

	recv->len = wc->byte_len;
	ib_dma_sync_single_for_cpu(conn->cm_id->device, recv->sge.addr,
				   recv->len, DMA_FROM_DEVICE);
	if (wc->wc_flags & IB_WC_WITH_INVALIDATE)
		invalidated = wc->ex.invalidate_rkey;

	spin_lock(&conn->lock);
	rpcrdma_session_receive(&conn->session, recv->buf, recv->len, rx);
	spin_unlock(&conn->lock);
	rpcrdma_recv_count(conn, rx, recv->len);
	trace_rpcrdma_rx(conn->id, rx, recv->len);

	if (rx->opened)
		conn->ops->ready(conn);
	if (rx->abandon)
		conn->ops->abandon(conn, rx->dir);

	switch (rx->action) {
	case RPCRDMA_RX_PAYLOAD:
		verdict = conn->ops->payload(conn, rx, recv, invalidated);
		break;
	case RPCRDMA_RX_FAIL_RPC:
		conn->ops->failed(conn, rx);
		break;
	case RPCRDMA_RX_CLOSE:
		if (rx->reason == RPCRDMA_REASON_NO_VERSION)
			conn->error = -EPROTONOSUPPORT;
		rpcrdma_conn_lost(conn, rpcrdma_reason_name(rx->reason));
		return;
	}

	if (verdict == RPCRDMA_RECV_DONE)
		rpcrdma_conn_recv_put(conn, recv);
	if (rx->kick || rx->opened)
		rpcrdma_conn_pump(conn);
}

/**
 * rpcrdma_recv_setup - allocate Receives
 * @conn: the connection
 * @count: how many
 * @size: octets of each buffer
 *
 * Return: 0, %-ENOMEM, or %-EIO if a buffer cannot be mapped. The caller
 * cleans up.
 */
int rpcrdma_recv_setup(struct rpcrdma_conn *conn, u32 count, u32 size)
{
	struct ib_device *device = conn->cm_id->device;
	int node = ibdev_to_node(device);
	struct rpcrdma_recv *recv;

	conn->recvs = kvcalloc_node(count, sizeof(*conn->recvs), GFP_KERNEL,
				    node);
	if (!conn->recvs)
		return -ENOMEM;

	for (; conn->n_recvs < count; conn->n_recvs++) {
		recv = &conn->recvs[conn->n_recvs];
		recv->conn = conn;
		recv->buf = kmalloc_node(size, GFP_KERNEL, node);
		if (!recv->buf)
			return -ENOMEM;
		recv->sge.addr = ib_dma_map_single(device, recv->buf, size,
						   DMA_FROM_DEVICE);
		if (ib_dma_mapping_error(device, recv->sge.addr)) {
			kfree(recv->buf);
			return -EIO;
		}
		recv->sge.length = size;
		recv->sge.lkey = conn->pd->local_dma_lkey;
		recv->cqe.done = rpcrdma_recv_done;
		recv->wr.wr_cqe = &recv->cqe;
		recv->wr.sg_list = &recv->sge;
		recv->wr.num_sge = 1;
		INIT_LIST_HEAD(&recv->link);
	}
	return 0;
}

/**
 * rpcrdma_recv_post_all - post every Receive, before any peer is told of one
 * @conn: the connection
 *
 * Return: 0 or a negative errno of the verb.
 */
int rpcrdma_recv_post_all(struct rpcrdma_conn *conn)
{
	int rc = 0;
	u32 i;

	for (i = 0; i < conn->n_recvs && !rc; i++)
		rc = rpcrdma_recv_post(conn, &conn->recvs[i]);
	return rc;
}

/**
 * rpcrdma_recv_cleanup - free the Receives; none is posted any more
 * @conn: the connection
 */
void rpcrdma_recv_cleanup(struct rpcrdma_conn *conn)
{
	struct ib_device *device = conn->cm_id->device;
	struct rpcrdma_recv *recv;

	while (conn->n_recvs) {
		recv = &conn->recvs[--conn->n_recvs];
		ib_dma_unmap_single(device, recv->sge.addr, recv->sge.length,
				    DMA_FROM_DEVICE);
		kfree(recv->buf);
	}
	kvfree(conn->recvs);
	conn->recvs = NULL;
}
