// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The window: how many messages the peer may send, as far as Receives for them are there. See the
 * head of recv.c.
 */
#include <linux/moduleparam.h>
#include <linux/sched/mm.h>

#include <trace/events/rpcrdma_v2.h>

#include "../params.h"
#include "recv.h"

/*
 * Post as many of the @n Receives of @size in @fresh as @window needs. Return: 0; %-EAGAIN
 * if @n is too few, %-ESTALE if Receives have another size now (nothing has changed); or
 * the errno of the verb.
 */
static int rpcrdma_window_grow(struct rpcrdma_conn *conn, u32 window,
			       struct list_head *fresh, u32 n, u32 size)
	__must_hold(&conn->lock)
{
	struct ib_recv_wr *first = NULL;
	struct rpcrdma_recv *recv;

	if (size != conn->recv_size)
		return -ESTALE;
	if (conn->n_recvs + n < window + 1)
		return -EAGAIN;
	while (conn->n_recvs < window + 1) {
		recv = list_first_entry(fresh, struct rpcrdma_recv, all);
		rpcrdma_recv_chain(recv, &first);
		list_move_tail(&recv->all, &conn->recvs);
		conn->n_recvs++;
	}
	return first ? ib_post_recv(conn->qp, first, NULL) : 0;
}

/* Return: as rpcrdma_conn_set_window(), which limits @window. */
static int rpcrdma_window_step(struct rpcrdma_conn *conn, u32 window)
{
	struct rpcrdma_spares *all = rpcrdma_spares(conn, RPCRDMA_SPARE_RECVS);
	struct rpcrdma_spares *spares;
	struct rpcrdma_recv *recv;
	bool due = false;
	LIST_HEAD(retired);
	LIST_HEAD(fresh);
	u32 n = 0, size;
	int rc;

	do {
		size = READ_ONCE(conn->recv_size);
		/* Those of another size are for the next connection. */
		spares = all && all->size == size ? all : NULL;
		/* Receives may be freed meanwhile: see the end of the loop. */
		while (READ_ONCE(conn->n_recvs) + n < window + 1) {
			if (test_bit(RPCRDMA_CONN_LOST, &conn->flags))
				recv = ERR_PTR(-ENOTCONN);
			else
				recv = rpcrdma_recv_more(conn, size, spares,
							 GFP_KERNEL |
								 __GFP_NORETRY |
								 __GFP_NOWARN,
							 false);
			rc = PTR_ERR_OR_ZERO(recv);
			if (rc)
				goto out_free;
			list_add_tail(&recv->all, &fresh);
			n++;
		}

		spin_lock(&conn->lock);
		rc = rpcrdma_conn_dead(conn) ? -ENOTCONN :
			rpcrdma_window_grow(conn, window, &fresh, n, size);
		if (!rc) {
			conn->recv_target = window + 1;
			due = rpcrdma_session_set_window(&conn->session,
							 window);
			rc = rpcrdma_recv_push(conn, &due, &retired);
		}
		spin_unlock(&conn->lock);
		rpcrdma_recv_free_list(&retired);
		if (rc == -ESTALE) {
			rpcrdma_recv_free_list(&fresh);
			n = 0;
		}
	} while (rc == -EAGAIN || rc == -ESTALE);
	if (rc && rc != -ENOTCONN)
		rpcrdma_conn_lost(conn, "post Receive");
	else if (due)
		rpcrdma_conn_pump(conn);

out_free:
	rpcrdma_recv_free_list(&fresh);
	return rc;
}

/**
 * rpcrdma_conn_set_window - offer the peer more or fewer Receives
 * @conn: the connection
 * @window: how many; limited to the length of the queues
 *
 * If it fails the window may have become larger, but less than it should.
 *
 * Context: Process context, no lock held. May sleep. One caller at a time.
 *
 * Return: 0, %-ENOTCONN if the connection is over, %-ENOMEM, %-EDQUOT if the module may not
 * hold so much, or %-EIO if a buffer cannot be mapped.
 */
int rpcrdma_conn_set_window(struct rpcrdma_conn *conn, u32 window)
{
	u32 step;
	int rc;

	window = clamp(window, RPCRDMA_MIN_WINDOW, conn->max_window);
	do {
		step = min(window, READ_ONCE(conn->n_recvs) - 1 +
					   RPCRDMA_WINDOW_STEP);
		rc = rpcrdma_window_step(conn, step);
	} while (!rc && step != window);
	return rc;
}

/**
 * rpcrdma_window_worker - the module parameter has changed
 * @work: of the connection
 */
void rpcrdma_window_worker(struct work_struct *work)
{
	struct rpcrdma_conn *conn = container_of(work, struct rpcrdma_conn,
						 window_work);
	u32 window = READ_ONCE(rpcrdma_window);
	unsigned int noio;
	int rc;

	/* Reclaim could wait for an RPC that waits for this connection. */
	noio = memalloc_noio_save();
	rc = rpcrdma_conn_set_window(conn, window);
	memalloc_noio_restore(noio);
	trace_rpcrdma_window(conn->id, window, rc);
}

/**
 * rpcrdma_window_change - set the number of Receives offered to each peer
 * @window: new value of the module parameter; limited to its range
 *
 * Context: Process context. May sleep.
 */
void rpcrdma_window_change(unsigned int window)
{
	WRITE_ONCE(rpcrdma_window,
		   clamp_t(unsigned int, window, RPCRDMA_MIN_WINDOW,
			   RPCRDMA_MAX_WINDOW));
	rpcrdma_stats_resize_windows();
}

static int rpcrdma_window_set(const char *val, const struct kernel_param *kp)
{
	int rc;

	rc = param_set_uint_minmax(val, kp, RPCRDMA_MIN_WINDOW,
				   RPCRDMA_MAX_WINDOW);
	if (!rc)
		rpcrdma_stats_resize_windows();
	return rc;
}

const struct kernel_param_ops rpcrdma_window_ops = {
	.set = rpcrdma_window_set,
	.get = param_get_uint,
};
