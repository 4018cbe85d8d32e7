// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Receives: a set of buffers, one more than the window (D3). Each buffer is
 * posted, or in use by the Receive handler, or kept by the connection's owner, or waits to
 * be posted with others. So when a peer has credit for a message, there is a Receive
 * posted for it.
 *
 * One doorbell posts several Receives. A Receive that waits for others is not offered. It
 * may wait only as long as the peer has been told of credit for more than half of the
 * window: so it is never a Receive that waits which the peer lacks. The credit that is
 * left changes when a message comes, a Receive is given back, or the window changes. The
 * rule is checked each time, under the same lock; no timer and no other message is needed.
 * In version 1 nothing waits: each Reply gives back the credit of its Call.
 *
 * Whoever checks the rule also says how many more Receives may wait by it, and that many are
 * given back without the lock. Whoever checks it next puts them to the others. A message after
 * which the peer still has credit for more than half of the window changes neither that number
 * nor the rule: its handler has nothing to check. While the number or the size of Receives
 * changes nothing waits so, but for what was given back before.
 *
 * The owner may be unable to take a message, for want of memory. Then a work item of the owner goes
 * on with that message, and with all that comes until it has caught up: the handler only puts
 * that behind. So messages stay in order, the handler waits for no memory of the owner's, and what
 * waits is in Receives that the peer cannot use meanwhile.
 *
 * The window can change. To make it larger, buffers are allocated and posted
 * before the peer is told. To make it smaller, buffers are freed instead of
 * being posted again: the peer keeps the credits that it has, so a window shrinks by
 * one per message. The queues have room for the largest window from the beginning. That
 * costs a few bytes per Receive; its buffer costs thousands.
 *
 * A server's buffers are pages, if the device can fill them. A thread of nfsd takes the
 * pages of a message and gives the Receive others, which it has anyway, so nothing is
 * copied, and a Receive has all its pages whenever it is posted. The memory of a connection
 * does not change by that. With rtrext a client's are pages, too, and a message begins in its
 * first page where the data that are placed begin with the second.
 *
 * The size of Receives can change (resize.c). A Receive that is posted stays as it is. When
 * it has completed and is free, one of the new size is posted in its place, as long as there
 * are any in @recv_fresh; else it is posted once more. So no change needs memory or waits
 * here, and there are always as many Receives as before.
 */
#include <linux/mm.h>
#include <linux/slab.h>

#include <trace/events/rpcrdma_v2.h>

#include <rpcrdma/xcharext.h>

#include "../auth.h"
#include "../params.h"
#include "dma.h"
#include "recv.h"

/*
 * Does anything have to be done before the other one of processor and device has a Receive? To be
 * asked each time: a device that needs no copies may get its first memory that does.
 */
static bool rpcrdma_recv_syncs(const struct rpcrdma_conn *conn)
{
	struct ib_device *device = conn->cm_id->device;

	return !ib_uses_virt_dma(device) &&
	       dma_dev_need_sync(device->dma_device);
}

/* The device may write again to what the processor could read. */
static noinline void rpcrdma_recv_sync(struct rpcrdma_recv *recv)
{
	struct ib_device *device = recv->conn->cm_id->device;
	u32 left = recv->len, part;
	int i;

	for (i = 0; left && i < recv->wr.num_sge; i++) {
		part = min(left, recv->sge[i].length);
		ib_dma_sync_single_for_device(device, recv->sge[i].addr, part,
					      DMA_FROM_DEVICE);
		left -= part;
	}
}

/* The processor reads what has come. */
static noinline void rpcrdma_recv_sync_for_cpu(struct rpcrdma_recv *recv)
{
	struct ib_device *device = recv->conn->cm_id->device;
	u32 left = recv->len, part;
	int i;

	for (i = 0; left && i < recv->wr.num_sge; i++) {
		part = min(left, recv->sge[i].length);
		ib_dma_sync_single_for_cpu(device, recv->sge[i].addr, part,
					   DMA_FROM_DEVICE);
		left -= part;
	}
}

/**
 * rpcrdma_recv_read - copy bytes of a received message
 * @recv: the Receive
 * @offset: in its message
 * @to: where to
 * @length: how many
 */
void rpcrdma_recv_read(const struct rpcrdma_recv *recv, u32 offset, void *to,
		       u32 length)
{
	const void *from;
	u32 run;

	while (length) {
		from = rpcrdma_recv_at(recv, offset, &run);
		run = min(run, length);
		memcpy(to, from, run);
		to += run;
		offset += run;
		length -= run;
	}
}

/* The message in one piece. Return: as rpcrdma_recv_message(). */
static noinline const void *rpcrdma_recv_whole(struct rpcrdma_recv *recv)
{
	struct rpcrdma_conn *conn = recv->conn;
	void *whole = conn->recv_whole;

	if (recv->len > conn->whole_size) {
		/* Larger than Receives at the beginning were: rarer still. */
		whole = kvmalloc(recv->len, GFP_NOIO);
		if (!whole)
			return NULL;
	}
	rpcrdma_recv_read(recv, 0, whole, recv->len);
	recv->copied += recv->len;
	return whole;
}

/*
 * The message as the session needs it: in one piece, as far as the session reads it. Only
 * a header with chunks, or of another message than an RPC message, can be longer than a
 * page, so nearly nothing is copied here. Return: NULL if there is no memory; the caller
 * frees what is neither the Receive's nor the connection's.
 */
static inline const void *rpcrdma_recv_message(struct rpcrdma_recv *recv)
{
	const u32 first = PAGE_SIZE - recv->conn->recv_base;

	if (!recv->pages || recv->len <= first ||
	    rpcrdma_header_is_bare(recv->buf) ||
	    rpcrdma_rtr_readable(recv->buf, first))
		return recv->buf;
	return rpcrdma_recv_whole(recv);
}

/**
 * rpcrdma_recv_swap - take pages from a Receive, and give it others
 * @recv: kept by ops->payload; its buffer is of pages
 * @first: index of the first page that is taken
 * @count: how many
 * @pages: so many pages, which @recv gets; then those of @recv, with what was received
 *
 * Context: Process context. Does not sleep. The device is there.
 *
 * Return: false if the device cannot map the pages; then nothing has changed.
 */
bool rpcrdma_recv_swap(struct rpcrdma_recv *recv, u32 first, u32 count,
		       struct page **pages)
{
	struct ib_device *device = recv->conn->cm_id->device;
	u64 addr[RPCRDMA_MAX_RECV_PAGES] __uninitialized;
	struct ib_sge *sge;
	u32 i, base;

	for (i = 0; i < count; i++) {
		base = (first + i) ? 0 : recv->conn->recv_base;
		if (!rpcrdma_dma_map_page(device, pages[i], base,
					  PAGE_SIZE - base, DMA_FROM_DEVICE,
					  &addr[i]))
			goto out_unmap;
	}
	for (i = 0; i < count; i++) {
		sge = &recv->sge[first + i];
		rpcrdma_dma_unmap_page(device, sge->addr, sge->length,
				       DMA_FROM_DEVICE);
		sge->addr = addr[i];
		swap(recv->pages[first + i], pages[i]);
	}
	recv->buf = page_address(recv->pages[0]) + recv->conn->recv_base;
	return true;

out_unmap:
	while (i--)
		rpcrdma_dma_unmap_page(device, addr[i],
				       recv->sge[first + i].length,
				       DMA_FROM_DEVICE);
	return false;
}

/* Receives that are given back without the lock at most, until somebody has it. */
#define RPCRDMA_RECV_SLACK	4

/* A Receive is in @conn->recvs, or is no more. */
static void rpcrdma_recv_sized(struct rpcrdma_conn *conn,
			       const struct rpcrdma_recv *recv, int count)
	__must_hold(&conn->lock)
{
	if (recv->size != conn->recv_size)
		conn->n_recv_old += count;
	if (recv->size < conn->recv_size)
		conn->n_recv_small += count;
}

/*
 * A Receive of another size than @conn->recv_size is free. Return: the one that is posted
 * in its place, which may be the same.
 */
static struct rpcrdma_recv *rpcrdma_recv_renew(struct rpcrdma_conn *conn,
					       struct rpcrdma_recv *recv)
	__must_hold(&conn->lock)
{
	struct rpcrdma_recv *fresh;

	fresh = list_first_entry_or_null(&conn->recv_fresh, struct rpcrdma_recv,
					 all);
	if (fresh) {
		rpcrdma_recv_sized(conn, recv, -1);
		list_move_tail(&recv->all, &conn->recv_old);
		list_move_tail(&fresh->all, &conn->recvs);
		conn->n_recv_fresh--;
		recv = fresh;
	}
	/* More are needed, or all are there. */
	if (!conn->n_recv_fresh || !conn->n_recv_old)
		rpcrdma_resize_kick(conn);
	return recv;
}

/* Let the Receives that have come back wait for others, or go to @retired. */
static void rpcrdma_recv_gather(struct rpcrdma_conn *conn,
				struct list_head *retired)
	__must_hold(&conn->lock)
{
	struct llist_node *back = llist_del_all(&conn->recv_back);
	struct rpcrdma_recv *recv, *next;

	llist_for_each_entry_safe(recv, next, back, back) {
		atomic_dec(&conn->n_recv_back);
		if (rpcrdma_session_retire(&conn->session)) {
			list_move_tail(&recv->all, retired);
			conn->n_recvs--;
			rpcrdma_recv_sized(conn, recv, -1);
			continue;
		}
		if (unlikely(recv->size != conn->recv_size))
			recv = rpcrdma_recv_renew(conn, recv);
		rpcrdma_recv_chain(recv, &conn->recv_free);
		conn->n_recv_free++;
	}
}

/* How many Receives may come back without the lock: they may wait, if the peer sends nothing. */
static int rpcrdma_recv_slack(const struct rpcrdma_conn *conn)
	__must_hold(&conn->lock)
{
	const u32 free = conn->n_recv_free;

	if (conn->n_recv_old || conn->n_recvs != conn->recv_target)
		return 0;
	if (rpcrdma_session_may_wait(&conn->session, free + RPCRDMA_RECV_SLACK))
		return RPCRDMA_RECV_SLACK;
	return rpcrdma_session_may_wait(&conn->session, free + 1);
}

/**
 * rpcrdma_recv_push - post the Receives that wait, if they must not wait any longer
 * @conn: the connection, with its lock held
 * @due: set if the caller then has to pump
 * @retired: gets what the caller frees when it has left the lock
 *
 * They are offered to the peer, too. To be called when one was given back, and when it has become
 * more difficult to wait. All is under one lock: no Receive is posted after the drain, see
 * rpcrdma_conn_destroy(), and no Receive is offered before it is posted.
 *
 * Return: 0 or the errno of the verb.
 */
int rpcrdma_recv_push(struct rpcrdma_conn *conn, bool *due,
		      struct list_head *retired)
	__must_hold(&conn->lock)
{
	const struct ib_recv_wr *first;
	u32 count;
	int slack, rc = 0;

	if (rpcrdma_conn_dead(conn))
		return 0;
	do {
		rpcrdma_recv_gather(conn, retired);
		count = conn->n_recv_free;
		slack = rpcrdma_recv_slack(conn);
		/* If another one may wait, so may these. */
		if (!slack && count &&
		    !rpcrdma_session_may_wait(&conn->session, count)) {
			first = conn->recv_free;
			conn->recv_free = NULL;
			conn->n_recv_free = 0;
			rc = ib_post_recv(conn->qp, first, NULL);
			if (!rc &&
			    rpcrdma_session_release(&conn->session, count))
				*due = true;
			slack = rpcrdma_recv_slack(conn);
		}
		WRITE_ONCE(conn->recv_slack, slack);
		/*
		 * Pairs with atomic_inc_return() in rpcrdma_recv_put(): either that
		 * function sees the new number, or the Receive is seen here.
		 */
		smp_mb();
	} while (!rc && atomic_read(&conn->n_recv_back) > slack);
	return rc;
}

/*
 * A message has come: may all Receives that wait now, and as many more as was said, wait on?
 * Besides that message, what changes how many may wait says so itself.
 */
static bool rpcrdma_recv_waits(const struct rpcrdma_conn *conn,
			       const struct rpcrdma_rx *rx)
	__must_hold(&conn->lock)
{
	return rx->ample && conn->recv_slack == RPCRDMA_RECV_SLACK;
}

/*
 * A message has come after which Receives may have to be posted. Return: 1 if the caller has to
 * pump, 0 if not, or the errno of the verb.
 */
static noinline int rpcrdma_recv_push_unlock(struct rpcrdma_conn *conn)
	__releases(&conn->lock)
{
	LIST_HEAD(retired);
	bool due = false;
	int rc;

	rc = rpcrdma_recv_push(conn, &due, &retired);
	spin_unlock(&conn->lock);
	rpcrdma_recv_free_list(&retired);
	return rc ?: due;
}

/* Several threads give Receives back at the same time. All counters are of the same size. */
static void rpcrdma_recv_count_copied(struct rpcrdma_recv *recv)
{
	u64 *sum = &recv->conn->stats.recv_copied_bytes;

	static_assert(sizeof(atomic64_t) == sizeof(*sum));
	if (!recv->copied)
		return;
	atomic64_add(recv->copied, (atomic64_t *)sum);
	recv->copied = 0;
}

/* Receives have come back that may have to be posted. Return: as rpcrdma_recv_put(). */
static noinline bool rpcrdma_recv_put_all(struct rpcrdma_conn *conn)
{
	LIST_HEAD(retired);
	bool due = false;
	int rc;

	spin_lock(&conn->lock);
	rc = rpcrdma_conn_dead(conn) ? -ENOTCONN :
				  rpcrdma_recv_push(conn, &due, &retired);
	spin_unlock(&conn->lock);
	rpcrdma_recv_free_list(&retired);
	if (rc)
		rpcrdma_conn_lost(conn, "post Receive");
	return due;
}

/* A Receive is free. Mostly it waits for others. Return: true if the caller has to pump. */
static inline bool rpcrdma_recv_put(struct rpcrdma_conn *conn,
				    struct rpcrdma_recv *recv)
{
	int n;

	if (rpcrdma_recv_syncs(conn))
		rpcrdma_recv_sync(recv);
	rpcrdma_recv_count_copied(recv);
	/* From here on it may be posted, replaced or freed at any time. */
	llist_add(&recv->back, &conn->recv_back);
	/* A full barrier: see rpcrdma_recv_push(). */
	n = atomic_inc_return(&conn->n_recv_back);
	/*
	 * None if the Receive was taken already. It is even less if others were, whose threads
	 * have been stopped before they counted them: this one must not wait for them.
	 */
	if (n > 0 && n <= READ_ONCE(conn->recv_slack))
		return false;
	return rpcrdma_recv_put_all(conn);
}

/**
 * rpcrdma_conn_recv_put - post a Receive again and offer it to the peer, now or with
 *	others, or free it if the window has become smaller
 * @conn: the connection, not yet destroyed
 * @recv: a Receive that ops->payload kept, or that nobody uses
 *
 * Context: Process context, no lock held.
 */
void rpcrdma_conn_recv_put(struct rpcrdma_conn *conn, struct rpcrdma_recv *recv)
{
	if (rpcrdma_recv_put(conn, recv))
		rpcrdma_conn_pump(conn);
}

/* Only what is no part of an RPC message, or is not taken as one, has a reason or an errcode. */
static noinline void rpcrdma_recv_count_other(struct rpcrdma_stats *stats,
					      const struct rpcrdma_rx *rx)
{
	if (rx->reason < RPCRDMA_REASON_COUNT)
		stats->rx_refused[rx->reason]++;
	if (rx->htype == RPCRDMA2_ERROR && rx->errcode)
		stats->rx_errors[rpcrdma_errcode_slot(rx->errcode)]++;
}

static inline void rpcrdma_recv_count(struct rpcrdma_conn *conn,
				      const struct rpcrdma_rx *rx, u32 len)
{
	struct rpcrdma_stats *stats = &conn->stats;

	stats->rx_type[rx->type]++;
	stats->rx_wire_bytes += len;
	if (unlikely(rx->action != RPCRDMA_RX_PAYLOAD)) {
		rpcrdma_recv_count_other(stats, rx);
		return;
	}
	if (rx->last && !rx->stream_offset) {
		stats->rx_inline_bytes += rx->payload.length;
	} else {
		stats->rx_continued_bytes += rx->payload.length;
		stats->rx_continued += rx->last;
	}
}

/*
 * A server's first message has come, and nothing has been sent: make and post all that the
 * client is going to be told of. They are small if it can ask for larger ones. Then those of
 * the opening are replaced, too. The caller then has to pump: until now nobody could. Return:
 * NULL, or why the connection cannot go on.
 */
static noinline const char *rpcrdma_recv_begin(struct rpcrdma_conn *conn)
{
	const u32 later = conn->n_recv_later, before = conn->recv_size;
	const char *why = "no memory for Receives";
	u32 size, n = 0, count = later;
	struct ib_recv_wr *first = NULL;
	struct rpcrdma_recv *recv;
	LIST_HEAD(fresh);
	LIST_HEAD(old);
	int rc = 0;

	spin_lock(&conn->lock);
	if (rpcrdma_xchar_begin(&conn->session, conn->resize.rest)) {
		rpcrdma_recv_retarget(conn, conn->resize.rest, &old);
		count += RPCRDMA_OPENING_RECVS;
	}
	size = conn->recv_size;
	spin_unlock(&conn->lock);

	for (; n < count && !rc; n++) {
		recv = rpcrdma_recv_alloc(conn, size, NULL, GFP_NOIO);
		rc = PTR_ERR_OR_ZERO(recv);
		if (rc)
			break;
		list_add_tail(&recv->all, &fresh);
	}
	if (!rc)
		rpcrdma_conn_uncharge(conn,
				      (u64)later * rpcrdma_recv_memory(conn, before) -
				      (u64)n * rpcrdma_recv_memory(conn, size));
	spin_lock(&conn->lock);
	if (!rc && !rpcrdma_conn_dead(conn)) {
		for (n = 0; n < later; n++) {
			recv = list_first_entry(&fresh, struct rpcrdma_recv,
						all);
			rpcrdma_recv_chain(recv, &first);
			list_move_tail(&recv->all, &conn->recvs);
		}
		conn->n_recv_fresh += count - later;
		list_splice_init(&fresh, &conn->recv_fresh);
		rc = ib_post_recv(conn->qp, first, NULL);
		why = rc ? "post Receive" : NULL;
	}
	/* Nothing may be sent that tells of Receives that are not there. */
	if (why)
		rpcrdma_conn_advance(conn, RPCRDMA_CONN_CLOSED);
	conn->n_recv_later = 0;
	spin_unlock(&conn->lock);
	rpcrdma_recv_free_list(&fresh);
	return why;
}

/* The peer has not taken messages that went by groups: their owners send them again. */
static void rpcrdma_recv_refused(struct rpcrdma_conn *conn,
				 struct rpcrdma_rx *rx)
{
	const struct rpcrdma_rtr_refused *refused = conn->refused;
	u32 i;

	for (i = 0; i < conn->n_refused; i++) {
		rx->xid = refused[i].xid;
		if (refused[i].dir == RPCRDMA_CALL)
			conn->ops->failed(conn, rx);
		else if (conn->ops->reply_refused)
			conn->ops->reply_refused(conn, rx->xid);
	}
}

/*
 * What a message does besides being a part of an RPC message, before that is given to the owner.
 * Return: false if the connection is over.
 */
static noinline bool rpcrdma_recv_effects(struct rpcrdma_conn *conn,
					  struct rpcrdma_rx *rx)
{
	const bool refused = rx->htype == RPCRDMA_RTR_REPTERR && conn->n_refused;

	if (rx->htype - RPCRDMA_XCHAR_FIRST_TYPE < RPCRDMA_XCHAR_TYPES ||
	    rx->htype == RPCRDMA2_CONNPROP_FINAL)
		rpcrdma_resize_kick(conn);
	if (rx->opened) {
		rpcrdma_conn_up(conn);
		conn->ops->ready(conn);
	}
	if (rx->abandon) {
		trace_rpcrdma_abandon(conn->id, rx->xid, rx->dir,
				      rpcrdma_reason_name(rx->reason));
		conn->ops->abandon(conn, rx->dir);
	}
	if (refused)
		rpcrdma_recv_refused(conn, rx);

	switch (rx->action) {
	case RPCRDMA_RX_DROP:
	case RPCRDMA_RX_CONTROL:
	case RPCRDMA_RX_PAYLOAD:
		break;
	case RPCRDMA_RX_FAIL_RPC:
		if (!refused)
			conn->ops->failed(conn, rx);
		break;
	case RPCRDMA_RX_CLOSE:
		if (rx->reason == RPCRDMA_REASON_NO_VERSION)
			WRITE_ONCE(conn->error, -EPROTONOSUPPORT);
		/* Another connection, with version 1, may do. */
		else if (rx->reason == RPCRDMA_REASON_DIALECT)
			WRITE_ONCE(conn->error, -EPROTOTYPE);
		else if (rx->reason == RPCRDMA_REASON_AUTH)
			WRITE_ONCE(conn->error, -EACCES);
		rpcrdma_conn_lost(conn, rpcrdma_reason_name(rx->reason));
		return false;
	}
	return true;
}

/* A Receive has completed without a message. */
static noinline void rpcrdma_recv_failed(struct rpcrdma_conn *conn,
					 struct ib_wc *wc)
{
	trace_rpcrdma_wc(conn->id, "Receive", wc);
	/* If a server refuses, rdma_cm flushes the Receives and then says why. */
	if (wc->status == IB_WC_WR_FLUSH_ERR &&
	    READ_ONCE(conn->stage) == RPCRDMA_CONN_CONNECTING)
		return;
	/* rxe reports the second. */
	if (wc->status == IB_WC_LOC_LEN_ERR || wc->status == IB_WC_LOC_QP_OP_ERR)
		set_bit(RPCRDMA_CONN_TOO_LONG, &conn->flags);
	rpcrdma_conn_lost(conn, ib_wc_status_msg(wc->status));
}

/* Let the owner have what has come. Return: false if it cannot take that yet. */
static inline bool rpcrdma_recv_give(struct rpcrdma_conn *conn,
				     struct rpcrdma_recv *recv, u32 invalidated)
{
	enum rpcrdma_recv_verdict verdict = RPCRDMA_RECV_DONE;
	const struct rpcrdma_rx *rx = &conn->rx;
	bool due;

	if (likely(rx->action == RPCRDMA_RX_PAYLOAD))
		verdict = conn->ops->payload(conn, rx, recv, invalidated);

	due = verdict == RPCRDMA_RECV_DONE && rpcrdma_recv_put(conn, recv);
	if (due || rx->kick || rx->opened)
		rpcrdma_conn_pump(conn);
	return likely(verdict != RPCRDMA_RECV_AGAIN);
}

/*
 * A message has come; @invalidated is the handle that it came with. Nearly always it has a part of
 * an RPC message, which has no other effect and after which Receives that wait go on waiting. All
 * else is in functions that are not inlined. Return: false if the owner cannot take it yet.
 */
static __always_inline bool rpcrdma_recv_take(struct rpcrdma_conn *conn,
					      struct rpcrdma_recv *recv,
					      u32 invalidated)
{
	struct rpcrdma_rx *rx = &conn->rx;
	const char *why = NULL;
	const void *message;
	int due = 0;

	message = rpcrdma_recv_message(recv);
	if (unlikely(!message)) {
		rpcrdma_conn_lost(conn, "no memory for a message");
		return true;
	}

	spin_lock(&conn->lock);
	rpcrdma_session_receive(&conn->session, message, recv->len, rx);
	if (unlikely(rx->htype == RPCRDMA_RTR_REPTERR))
		conn->n_refused = rpcrdma_rtr_reported(&conn->session, rx,
						       conn->refused);
	if (rpcrdma_recv_waits(conn, rx))
		spin_unlock(&conn->lock);
	else
		due = rpcrdma_recv_push_unlock(conn);
	if (unlikely(due < 0)) {
		why = "post Receive";
	} else if (unlikely(conn->n_recv_later)) {
		why = rpcrdma_recv_begin(conn);
		due = 1;
	}
	if (unlikely(message != recv->buf && message != conn->recv_whole))
		kvfree(message);
	rpcrdma_recv_count(conn, rx, recv->len);
	trace_rpcrdma_rx(conn->id, rx, recv->len);
	if (unlikely(due)) {
		if (why) {
			rpcrdma_conn_lost(conn, why);
			return true;
		}
		/* The owner may be long, and the peer may wait for this GRANT. */
		rpcrdma_conn_pump(conn);
	}

	if (unlikely(READ_ONCE(conn->stage) < RPCRDMA_CONN_AGREED))
		rpcrdma_conn_agreed(conn);
	if (unlikely(READ_ONCE(conn->auth)))
		rpcrdma_conn_auth_received(conn);
	if (unlikely(rx->action != RPCRDMA_RX_PAYLOAD || rx->opened ||
		     rx->abandon) &&
	    !rpcrdma_recv_effects(conn, rx))
		return true;
	return rpcrdma_recv_give(conn, recv, invalidated);
}

/* The owner has no memory for @recv: what comes from now on waits behind it. */
static noinline void rpcrdma_recv_stall(struct rpcrdma_conn *conn,
					struct rpcrdma_recv *recv,
					u32 invalidated)
{
	recv->invalidated = invalidated;
	/* Pairs with rpcrdma_conn_recv_again(), which goes on with @conn->rx. */
	smp_store_release(&conn->stalled, recv);
	conn->ops->stalled(conn);
}

/* Return: false if nothing is stalled any more. */
static noinline bool rpcrdma_recv_wait(struct rpcrdma_conn *conn,
				       struct rpcrdma_recv *recv,
				       u32 invalidated)
{
	bool waits;

	recv->invalidated = invalidated;
	spin_lock(&conn->lock);
	waits = conn->stalled;
	if (waits)
		list_add_tail(&recv->link, &conn->behind);
	spin_unlock(&conn->lock);
	return waits;
}

/* The same of a message that has waited behind others. */
static noinline bool rpcrdma_recv_take_late(struct rpcrdma_conn *conn,
					    struct rpcrdma_recv *recv)
{
	return rpcrdma_recv_take(conn, recv, recv->invalidated);
}

/* The next one that waits is stalled now, or none is. */
static struct rpcrdma_recv *rpcrdma_recv_next(struct rpcrdma_conn *conn)
{
	struct rpcrdma_recv *recv;

	spin_lock(&conn->lock);
	recv = list_first_entry_or_null(&conn->behind, struct rpcrdma_recv,
					link);
	if (recv)
		list_del_init(&recv->link);
	/* Pairs with rpcrdma_recv_done(), which goes on with @conn->rx. */
	smp_store_release(&conn->stalled, recv);
	spin_unlock(&conn->lock);
	return recv;
}

/**
 * rpcrdma_conn_recv_again - go on with what ops->payload could not take
 * @conn: the connection, not yet destroyed
 *
 * And with all that has come since then, in order, until that function returns AGAIN once more.
 *
 * Context: Process context, no lock held; may sleep. One caller at a time.
 */
void rpcrdma_conn_recv_again(struct rpcrdma_conn *conn)
{
	struct rpcrdma_recv *recv;

	/* Pairs with rpcrdma_recv_stall(). */
	recv = smp_load_acquire(&conn->stalled);
	if (likely(!recv) ||
	    !rpcrdma_recv_give(conn, recv, recv->invalidated))
		return;
	do {
		recv = rpcrdma_recv_next(conn);
	} while (recv && rpcrdma_recv_take_late(conn, recv));
}

/**
 * rpcrdma_recv_done - a Receive has completed
 * @cq: of Receives
 * @wc: the completion
 *
 * Context: the handler of Receives; process context, no lock held.
 */
void rpcrdma_recv_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_recv *recv = container_of(wc->wr_cqe,
						 struct rpcrdma_recv, cqe);
	struct rpcrdma_conn *conn = recv->conn;
	u32 invalidated = 0;

	if (unlikely(wc->status != IB_WC_SUCCESS)) {
		rpcrdma_recv_failed(conn, wc);
		return;
	}

	recv->len = wc->byte_len;
	if (rpcrdma_recv_syncs(conn))
		rpcrdma_recv_sync_for_cpu(recv);
	if (wc->wc_flags & IB_WC_WITH_INVALIDATE)
		invalidated = wc->ex.invalidate_rkey;
	/* Pairs with rpcrdma_recv_next(). */
	if (unlikely(smp_load_acquire(&conn->stalled)) &&
	    rpcrdma_recv_wait(conn, recv, invalidated))
		return;
	if (unlikely(!rpcrdma_recv_take(conn, recv, invalidated)))
		rpcrdma_recv_stall(conn, recv, invalidated);
}

/**
 * rpcrdma_recv_post_all - post every Receive, before the peer gets any credit
 * @conn: the connection
 *
 * Return: 0 or a negative errno of the verb.
 */
int rpcrdma_recv_post_all(struct rpcrdma_conn *conn)
{
	struct ib_recv_wr *first = NULL;
	struct rpcrdma_recv *recv;

	list_for_each_entry(recv, &conn->recvs, all)
		rpcrdma_recv_chain(recv, &first);
	return ib_post_recv(conn->qp, first, NULL);
}

/**
 * rpcrdma_recv_retarget - Receives are to have another size
 * @conn: the connection
 * @size: as rpcrdma_recv_rounded() returns it
 * @old: gets what can be freed: what has been replaced, and what was to replace
 *
 * Context: Process context, @conn->lock held. One caller at a time.
 */
void rpcrdma_recv_retarget(struct rpcrdma_conn *conn, u32 size,
			   struct list_head *old)
{
	struct rpcrdma_recv *recv;

	lockdep_assert_held(&conn->lock);
	list_splice_init(&conn->recv_old, old);
	if (size == conn->recv_size && conn->n_recv_old)
		return;
	list_splice_init(&conn->recv_fresh, old);
	conn->n_recv_fresh = 0;
	if (size == conn->recv_size)
		return;
	WRITE_ONCE(conn->recv_size, size);
	WRITE_ONCE(conn->recv_slack, 0);
	if (conn->recv_pages)
		WRITE_ONCE(conn->recv_pages, size >> PAGE_SHIFT);
	conn->n_recv_old = 0;
	conn->n_recv_small = 0;
	list_for_each_entry(recv, &conn->recvs, all)
		rpcrdma_recv_sized(conn, recv, 1);
}
