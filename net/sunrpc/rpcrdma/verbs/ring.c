// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The ring of Sends: their buffers are made, get another size, and are freed.
 *
 * A connection at rest has buffers for some of its Sends only. <rpcrdma/ring.h> says which, and
 * when there are to be more or fewer.
 *
 * A work item makes buffers for all when there is little room left, when a Call waits for room,
 * or after 256 Sends. It looks once a minute from then on, and takes buffers away when there was
 * hardly anything to send. Then it does not run any more. If there is no memory, the few that there
 * are go on.
 */
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/sunrpc/sched.h>

#include <trace/events/rpcrdma_v2.h>

#include "../params.h"
#include "dma.h"
#include "send.h"

/* Between two looks. */
#define RPCRDMA_RING_LOOK	(60 * HZ)
/* Until buffers are tried to be made again after that has failed. */
#define RPCRDMA_RING_RETRY	HZ

/* A quarter of the ring can wait for one completion. */
static_assert(RPCRDMA_SEND_RING / 4 + RPCRDMA_RING_NEAR < RPCRDMA_SEND_REST);

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
	lockdep_assert_held(&conn->lock);
	return rpcrdma_ring_spare(&conn->ring,
				  conn->ring.sends / RPCRDMA_STREAM_SPARES,
				  conn->ring_failed);
}

/**
 * rpcrdma_send_memory - what the Sends of a connection take at first
 * @conn: the connection; gather_sge and send_rest are known
 * @count: how many
 * @size: bytes of each buffer
 *
 * Return: bytes.
 */
u64 rpcrdma_send_memory(const struct rpcrdma_conn *conn, u32 count, u32 size)
{
	const u64 each = sizeof(struct rpcrdma_send) +
			 conn->gather_sge * sizeof(struct ib_sge);

	return count * each +
	       (u64)min(count, conn->ring.rest) * rpcrdma_buffer_bytes(size);
}

/*
 * Make a buffer, for which there is memory in the budget. Return: 0, %-ENOMEM, or %-EIO if it
 * cannot be mapped.
 */
static int rpcrdma_send_buffer_make(struct rpcrdma_conn *conn, u32 size,
				    struct rpcrdma_spares *spares, gfp_t gfp,
				    struct rpcrdma_send_buffer *buf)
{
	struct ib_device *device = conn->cm_id->device;
	void *data;
	u64 addr;

	data = rpcrdma_spare_get(spares, size, ibdev_to_node(device), gfp);
	if (!data)
		return -ENOMEM;
	if (!rpcrdma_dma_map_single(device, data, size, DMA_TO_DEVICE, &addr)) {
		kfree(data);
		return -EIO;
	}
	*buf = (struct rpcrdma_send_buffer){ data, addr, size };
	atomic_long_add(rpcrdma_buffer_bytes(size), &conn->buffers);
	return 0;
}

/* Free a buffer that no Send has, or let @spares have it unless that is NULL. */
static void rpcrdma_send_buffer_free(struct rpcrdma_conn *conn,
				     const struct rpcrdma_send_buffer *buf,
				     struct rpcrdma_spares *spares)
{
	rpcrdma_dma_unmap_single(conn->cm_id->device, buf->addr, buf->size,
				 DMA_TO_DEVICE);
	atomic_long_sub(rpcrdma_buffer_bytes(buf->size), &conn->buffers);
	rpcrdma_spare_put(spares, buf->data, buf->size);
}

/* The next Send may have got its buffer, but not have been decided on. */
static bool rpcrdma_send_early(const struct rpcrdma_conn *conn)
	__must_hold(&conn->lock)
{
	return rpcrdma_send_at(conn, conn->ring.head)->buf.data;
}

/* Buffers could be made the last time, or that was long ago. */
static bool rpcrdma_ring_retry(const struct rpcrdma_conn *conn)
	__must_hold(&conn->lock)
{
	return !conn->ring_failed ||
	       time_after(jiffies, conn->ring_failed + RPCRDMA_RING_RETRY);
}

/**
 * rpcrdma_send_ask - a Call waits for room
 * @conn: the connection
 * @claim: what the Call takes
 *
 * Context: any; the caller holds the connection's lock.
 */
void rpcrdma_send_ask(struct rpcrdma_conn *conn,
		      const struct rpcrdma_claim *claim)
{
	lockdep_assert_held(&conn->lock);
	if (rpcrdma_conn_open(conn) &&
	    rpcrdma_ring_ask(&conn->ring, rpcrdma_ring_retry(conn), claim))
		mod_delayed_work(xprtiod_workqueue, &conn->ring_work, 0);
}

/**
 * rpcrdma_send_awaits - let a message wait until so many Sends can be decided on at once
 * @conn: the connection, with too little room in the ring
 * @sends: how many
 *
 * Context: any; the caller holds the connection's lock.
 *
 * Return: false if there may never be room for them.
 */
bool rpcrdma_send_awaits(struct rpcrdma_conn *conn, u32 sends)
{
	bool look, awaits;

	lockdep_assert_held(&conn->lock);
	awaits = rpcrdma_ring_awaits(&conn->ring, sends,
				     rpcrdma_ring_retry(conn), &look);
	if (look)
		mod_delayed_work(xprtiod_workqueue, &conn->ring_work, 0);
	return awaits;
}

/**
 * rpcrdma_send_turn - let the next Send have a buffer
 * @conn: the connection, with room in the ring and bare Sends
 *
 * Context: any; the caller holds the connection's lock.
 */
void rpcrdma_send_turn(struct rpcrdma_conn *conn)
{
	struct rpcrdma_send *send = rpcrdma_send_at(conn, conn->ring.head);
	u32 from;

	lockdep_assert_held(&conn->lock);
	if (rpcrdma_ring_turn(&conn->ring, rpcrdma_ring_retry(conn), &from))
		mod_delayed_work(xprtiod_workqueue, &conn->ring_work, 0);
	if (!send->buf.data)
		swap(send->buf, rpcrdma_send_at(conn, from)->buf);
}

/* Give one bare Send a buffer. Return: 0, %-EDQUOT, %-ENOMEM or %-EIO. */
static int rpcrdma_ring_more(struct rpcrdma_conn *conn)
{
	const u32 bytes = rpcrdma_buffer_bytes(conn->send_size);
	struct rpcrdma_send_buffer fresh = { };
	u32 to;
	int rc;

	rc = rpcrdma_conn_charge(conn, bytes, false);
	if (rc)
		return rc;
	rc = rpcrdma_send_buffer_make(conn, conn->send_size, NULL, GFP_KERNEL |
				      __GFP_NORETRY | __GFP_NOWARN, &fresh);
	if (rc) {
		rpcrdma_conn_uncharge(conn, bytes);
		return rc;
	}
	spin_lock(&conn->lock);
	to = rpcrdma_ring_grow(&conn->ring, rpcrdma_send_early(conn));
	swap(fresh, rpcrdma_send_at(conn, to)->buf);
	spin_unlock(&conn->lock);
	return 0;
}

/* Take one buffer away, if that leaves enough. Return: false if it does not. */
static bool rpcrdma_ring_less(struct rpcrdma_conn *conn)
{
	struct rpcrdma_send_buffer old = { };
	u32 from;

	spin_lock(&conn->lock);
	if (rpcrdma_ring_shrink(&conn->ring, rpcrdma_send_early(conn), &from))
		swap(old, rpcrdma_send_at(conn, from)->buf);
	spin_unlock(&conn->lock);
	if (!old.data)
		return false;
	rpcrdma_send_buffer_free(conn, &old, NULL);
	rpcrdma_conn_uncharge(conn, rpcrdma_buffer_bytes(old.size));
	return true;
}

/* Look again in a minute. */
static void rpcrdma_ring_again(struct rpcrdma_conn *conn)
{
	spin_lock(&conn->lock);
	if (!rpcrdma_conn_dead(conn))
		queue_delayed_work(xprtiod_workqueue, &conn->ring_work,
				   RPCRDMA_RING_LOOK);
	spin_unlock(&conn->lock);
}

/**
 * rpcrdma_ring_fill - give all Sends buffers, of the size that they have now
 * @conn: the connection
 *
 * Context: Process context. May sleep. The caller holds @conn->ring_mutex and no spinlock.
 *
 * Return: 0; or a negative errno if some Sends stay without one: %-ENOMEM, %-EDQUOT if the
 * module may not hold so much, or %-EIO if a buffer cannot be mapped.
 */
int rpcrdma_ring_fill(struct rpcrdma_conn *conn)
{
	const u32 bare = READ_ONCE(conn->ring.bare);
	int rc = 0;

	lockdep_assert_held(&conn->ring_mutex);
	if (!bare)
		return 0;
	while (!rc && READ_ONCE(conn->ring.bare))
		rc = rpcrdma_ring_more(conn);
	spin_lock(&conn->lock);
	conn->ring_failed = rc ? jiffies | 1 : 0;
	spin_unlock(&conn->lock);
	trace_rpcrdma_resize(conn->id, "number of Sends",
			     conn->ring.sends - READ_ONCE(conn->ring.bare));
	/* There is room in the ring, or what awaits it need not wait any longer. */
	if (rc || READ_ONCE(conn->ring.bare) != bare)
		rpcrdma_conn_pump(conn);
	rpcrdma_ring_again(conn);
	return rc;
}

/* Leave as many buffers as at rest. Return: false if there are more. */
static bool rpcrdma_ring_rest(struct rpcrdma_conn *conn)
{
	const u32 bare = READ_ONCE(conn->ring.bare);

	while (rpcrdma_ring_less(conn))
		;
	if (READ_ONCE(conn->ring.bare) != bare)
		trace_rpcrdma_resize(conn->id, "number of Sends",
				     conn->ring.sends - READ_ONCE(conn->ring.bare));
	return rpcrdma_ring_rests(&conn->ring);
}

static void rpcrdma_ring_worker(struct work_struct *work)
{
	struct rpcrdma_conn *conn = container_of(work, struct rpcrdma_conn,
						 ring_work.work);
	unsigned int noio;
	u32 verdict;

	/* Reclaim could wait for an RPC that waits for this connection. */
	noio = memalloc_noio_save();
	mutex_lock(&conn->ring_mutex);
	spin_lock(&conn->lock);
	verdict = rpcrdma_ring_look(&conn->ring);
	spin_unlock(&conn->lock);
	/* Somebody else may have done so. */
	if (verdict == RPCRDMA_RING_FILL)
		rpcrdma_ring_fill(conn);
	if (verdict != RPCRDMA_RING_FREE || !rpcrdma_ring_rest(conn))
		rpcrdma_ring_again(conn);
	mutex_unlock(&conn->ring_mutex);
	memalloc_noio_restore(noio);
}

/**
 * rpcrdma_ring_init - a connection is being made
 * @conn: the connection
 * @attr: how many Sends it has, and how many have a buffer at rest
 *
 * Context: Process context.
 */
void rpcrdma_ring_init(struct rpcrdma_conn *conn,
		       const struct rpcrdma_conn_attr *attr)
{
	conn->ring.rest = attr->send_rest ?: attr->send_ring;
	mutex_init(&conn->ring_mutex);
	INIT_DELAYED_WORK(&conn->ring_work, rpcrdma_ring_worker);
}

/**
 * rpcrdma_send_setup - allocate Sends
 * @conn: the connection
 * @count: how many, a power of two, at least four
 * @size: bytes of each buffer
 *
 * As many of them get a buffer as there are at rest. The others are the first ones.
 *
 * Return: 0, %-EINVAL, %-ENOMEM, or %-EIO if a buffer cannot be mapped. The
 * caller cleans up.
 */
int rpcrdma_send_setup(struct rpcrdma_conn *conn, u32 count, u32 size)
{
	struct rpcrdma_spares *spares = rpcrdma_spares(conn,
						       RPCRDMA_SPARE_SENDS);
	const int node = ibdev_to_node(conn->cm_id->device);
	struct rpcrdma_send *send;
	u32 i, bare;
	int rc = 0;

	/* Ring indices run freely and wrap at 2^32. */
	if (count < 4 || !is_power_of_2(count))
		return -EINVAL;
	bare = count - min(count, conn->ring.rest);
	conn->send_size = size;
	conn->mark_cqe.done = rpcrdma_mark_done;
	conn->sends = kvcalloc_node(count, sizeof(*conn->sends), GFP_KERNEL,
				    node);
	conn->send_sges = kvcalloc_node(count * conn->gather_sge,
					sizeof(*conn->send_sges), GFP_KERNEL,
					node);
	if (!conn->sends || !conn->send_sges)
		return -ENOMEM;

	for (; conn->ring.sends < count; conn->ring.sends++) {
		send = &conn->sends[conn->ring.sends];
		send->conn = conn;
		send->index = conn->ring.sends;
		if (conn->ring.sends >= bare)
			rc = rpcrdma_send_buffer_make(conn, size, spares,
						      GFP_KERNEL, &send->buf);
		if (rc)
			return rc;
		send->sge = &conn->send_sges[conn->ring.sends * conn->gather_sge];
		for (i = 0; i < conn->gather_sge; i++)
			send->sge[i].lkey = conn->pd->local_dma_lkey;
		send->cqe.done = rpcrdma_send_done;
		send->wr.wr_cqe = &send->cqe;
		send->wr.sg_list = send->sge;
		send->wr.num_sge = 1;
		atomic_inc(&rpcrdma_live[RPCRDMA_LIVE_SENDS]);
	}
	conn->ring.bare = bare;
	return 0;
}

/* It has a buffer, which nobody uses: it is not decided on, being built or under way. */
static bool rpcrdma_send_unused(const struct rpcrdma_conn *conn, u32 i)
	__must_hold(&conn->lock)
{
	return conn->sends[i].buf.data &&
	       rpcrdma_ring_unused(&conn->ring, i);
}

/*
 * Give the Send at @i another buffer, unless it is in use or has that size. Return: 0, %-EDQUOT,
 * %-ENOMEM or %-EIO.
 */
static int rpcrdma_send_renew(struct rpcrdma_conn *conn, u32 i, u32 size)
{
	struct rpcrdma_send *send = &conn->sends[i];
	struct rpcrdma_send_buffer fresh;
	u32 before;
	int rc;

	spin_lock(&conn->lock);
	before = rpcrdma_send_unused(conn, i) ? send->buf.size : size;
	spin_unlock(&conn->lock);
	if (before == size)
		return 0;
	/* A smaller one takes the place of a larger one. */
	rc = rpcrdma_conn_charge(conn, rpcrdma_buffer_bytes(size), size < before);
	if (rc)
		return rc;
	/* Nobody waits for it. */
	rc = rpcrdma_send_buffer_make(conn, size, NULL, GFP_KERNEL |
				      __GFP_NORETRY | __GFP_NOWARN, &fresh);
	if (rc) {
		rpcrdma_conn_uncharge(conn, rpcrdma_buffer_bytes(size));
		return rc;
	}
	spin_lock(&conn->lock);
	if (rpcrdma_send_unused(conn, i))
		swap(send->buf, fresh);
	spin_unlock(&conn->lock);
	/* What is not needed: the old buffer, or the new one. */
	rpcrdma_send_buffer_free(conn, &fresh, NULL);
	rpcrdma_conn_uncharge(conn, rpcrdma_buffer_bytes(fresh.size));
	return 0;
}

/*
 * Return: how many buffers have another size than @size. If there are some, completions of Sends
 * tell of it.
 */
static u32 rpcrdma_send_others(struct rpcrdma_conn *conn, u32 size)
{
	const struct rpcrdma_send *send;
	u32 count = 0;

	spin_lock(&conn->lock);
	for (send = conn->sends; send != conn->sends + conn->ring.sends; send++)
		count += send->buf.data && send->buf.size != size;
	conn->resize.sends_left = count;
	spin_unlock(&conn->lock);
	return count;
}

/**
 * rpcrdma_send_resize - give Sends buffers of another size, as far as they are not in use
 * @conn: the connection; @conn->send_size is the smaller one of both sizes
 * @size: bytes of each buffer
 *
 * Context: Process context. May sleep. The caller holds @conn->ring_mutex and no spinlock. If
 * buffers become larger, all Sends have one.
 *
 * Return: how many still have another size, or a negative errno: %-ENOMEM, %-EDQUOT if the
 * module may not hold so much, or %-EIO if a buffer cannot be mapped.
 */
int rpcrdma_send_resize(struct rpcrdma_conn *conn, u32 size)
{
	int rc;
	u32 i;

	lockdep_assert_held(&conn->ring_mutex);
	if (!rpcrdma_send_others(conn, size))
		return 0;
	for (i = 0; i < conn->ring.sends; i++) {
		rc = rpcrdma_send_renew(conn, i, size);
		if (rc) {
			/* To try again with each completion would not help. */
			spin_lock(&conn->lock);
			conn->resize.sends_left = false;
			spin_unlock(&conn->lock);
			return rc;
		}
	}
	/* Buffers may have gone from one Send to another one meanwhile. */
	return rpcrdma_send_others(conn, size);
}

/**
 * rpcrdma_send_cleanup - free the Sends, of which none is posted any more
 * @conn: the connection
 */
void rpcrdma_send_cleanup(struct rpcrdma_conn *conn)
{
	struct rpcrdma_spares *spares = rpcrdma_spares(conn,
						       RPCRDMA_SPARE_SENDS);
	struct rpcrdma_send *send;

	while (conn->ring.sends) {
		send = &conn->sends[--conn->ring.sends];
		atomic_dec(&rpcrdma_live[RPCRDMA_LIVE_SENDS]);
		if (!send->buf.data)
			continue;
		/* The next connection begins at rest. */
		if (spares && spares->count >= conn->ring.rest)
			spares = NULL;
		rpcrdma_send_buffer_free(conn, &send->buf, spares);
	}
	kvfree(conn->send_sges);
	conn->send_sges = NULL;
	kvfree(conn->sends);
	conn->sends = NULL;
}
