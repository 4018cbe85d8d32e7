// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The send queue and the pump that empties it.
 *
 * Messages are sent in the order in which they were queued, one after the
 * other, as credits allow. The session may put control messages between their
 * parts. Only one thread at a time runs the pump; any other sets a flag that
 * there is more to do. So messages are posted in the order in which the
 * session decided, although no lock is held while their bytes are copied.
 *
 * The pump takes three steps. Under the lock the session decides on all Sends that can
 * go now, of one message or of many. Without the lock their bytes are copied, and what
 * has to go before a Send is put before it. Under the lock again all of them are posted
 * as one chain, with one doorbell. What has no more than a few bytes to be copied, as most
 * Calls and many Replies, is built without leaving the lock. A message of one Send is not even
 * queued if nothing else waits.
 *
 * A client's Call is not queued before there are credits and room for all of it, see
 * rpcrdma_conn_admits(): until then sunrpc keeps it.
 *
 * The pump tells no owner that his message is over: that may take long, and nothing is sent
 * meanwhile. It puts the message into @tx_over. The thread that ran it tells the owners when it has
 * stopped, and others can send. Only one thread tells at a time, so an owner who sends another
 * message is not called again from there. Until the owner was told, the message is the pump's:
 * rpcrdma_pump_has().
 *
 * Send Work Requests complete in order. So one signaled Send in each quarter
 * of the ring completes all Sends before it. A Send is also signaled
 * when a message waits for it, or when half of the send queue's budget is in
 * use.
 *
 * A message whose owner allows it is not copied where that pays: the device gathers its
 * large pieces from where they are. They stay mapped until the Send has completed. Of such
 * Sends every fourth is signaled, so that at rest the memory of three messages at most
 * waits for the next Send. If the owner lacks memory, or waits for a message to send it again,
 * nothing waits at rest: such Sends are signaled then, and what is out already is followed by
 * a mark, an RDMA Write of no bytes, whose completion says that all before it has completed.
 *
 * siw gives a Send of a page or more to TCP without a copy, unless it is signaled, and a later
 * completion does not wait until TCP has sent it. So with siw every Send is signaled.
 */
#include <trace/events/rpcrdma_v2.h>

#include "send.h"

/*
 * Sends of one chain at most, and no more than a quarter of the ring. With so many the
 * doorbell costs each of them little. With more the first would wait for longer until the
 * others are copied, the lock would be held for longer, and the device would have less to
 * do meanwhile.
 */
#define RPCRDMA_SEND_CHAIN	16U

/*
 * Bytes that are copied under the lock, as the headers are that the session encodes. To leave
 * the lock and take it again would cost more.
 */
#define RPCRDMA_SEND_BRIEF	512U

/* While memory waits for a completion, one Send of so many has one. A power of two. */
#define RPCRDMA_GATHER_SENDS	4U

static void rpcrdma_txmsg_done(struct rpcrdma_txmsg *tm, int status)
{
	if (tm->done)
		tm->done(tm, status);
}

/* Nothing that was sent may wait for the next Send. */
static bool rpcrdma_send_hurries(const struct rpcrdma_conn *conn)
	__must_hold(&conn->lock)
{
	return conn->hurry || atomic_read(&conn->awaited);
}

static bool rpcrdma_send_signaled(struct rpcrdma_conn *conn,
				  const struct rpcrdma_send *send)
	__must_hold(&conn->lock)
{
	const bool gathers = send->tm && send->tm->gather;
	bool signaled = conn->signals_all || (send->held && !gathers) ||
			rpcrdma_ring_signals(&conn->ring, send->index) ||
			conn->sq_avail < conn->sq_depth / 2;

	conn->gathered |= gathers;
	if (conn->gathered && (send->index % RPCRDMA_GATHER_SENDS == 0 ||
			       rpcrdma_send_hurries(conn)))
		signaled = true;
	if (signaled)
		conn->gathered = false;
	return signaled;
}

static void rpcrdma_send_count(struct rpcrdma_conn *conn,
			       const struct rpcrdma_send *send)
{
	const struct rpcrdma_tx *tx = &send->tx;
	struct rpcrdma_stats *stats = &conn->stats;

	stats->tx_type[tx->type]++;
	stats->tx_wire_bytes += send->length;
	stats->tx_copied_bytes += send->copied;
	if (tx->errcode)
		stats->tx_errors[rpcrdma_errcode_slot(tx->errcode)]++;
	if (tx->first && tx->last) {
		stats->tx_inline_bytes += tx->payload.length;
	} else {
		stats->tx_continued_bytes += tx->payload.length;
		stats->tx_continued += tx->last;
		if (unlikely(READ_ONCE(conn->resize.slow)))
			rpcrdma_resize_wake(conn);
	}
	if (unlikely(tx->type == RPCRDMA2_CONNPROP_FINAL))
		rpcrdma_resize_kick(conn);
	trace_rpcrdma_tx(conn->id, tx, send->length);
	if (tx->errcode)
		trace_rpcrdma_refuse(conn->id, tx);
}

/*
 * Build what the session decided. Return: the first Work Request, or NULL if the message
 * lacks bytes.
 */
static struct ib_send_wr *rpcrdma_send_build(struct rpcrdma_conn *conn,
					     struct rpcrdma_send *send)
{
	struct ib_device *device = conn->cm_id->device;
	const struct rpcrdma_tx *tx = &send->tx;
	struct rpcrdma_txmsg *tm = send->tm;
	struct ib_send_wr *wr = &send->wr;

	if (!rpcrdma_send_fill(send))
		return NULL;
	/* In a Send of a group, what is of the buffer may be anywhere in it. */
	ib_dma_sync_single_for_device(device, send->buf.addr,
				      send->rtr.size ?: tx->header_length +
							send->copied,
				      DMA_TO_DEVICE);

	wr->next = NULL;
	wr->opcode = IB_WR_SEND;
	wr->send_flags = send->signaled ? IB_SEND_SIGNALED : 0;
	if (tm && tx->last && tm->invalidate) {
		wr->opcode = IB_WR_SEND_WITH_INV;
		wr->ex.invalidate_rkey = tm->invalidate;
	}
	rpcrdma_send_count(conn, send);
	return tm && tx->first && tm->chain ? tm->chain(tm, wr) : wr;
}

/*
 * Build the Sends from @from to @to. Return: the number of the first one that could not be
 * built, or @to.
 */
static u32 rpcrdma_send_build_all(struct rpcrdma_conn *conn, u32 from, u32 to,
				  struct ib_send_wr **first)
{
	struct rpcrdma_send *send;
	u32 i;

	*first = NULL;
	for (i = from; i != to; i++) {
		send = rpcrdma_send_at(conn, i);
		*first = rpcrdma_send_build(conn, send);
		if (!*first)
			break;
		first = &send->wr.next;
	}
	return i;
}

/* Of the Sends from @i on, which is the first that was not taken, if @bad was not? */
static u32 rpcrdma_send_refused(const struct rpcrdma_conn *conn, u32 i,
				const struct ib_send_wr *wr,
				const struct ib_send_wr *bad)
{
	for (; wr != bad && wr->next; wr = wr->next)
		if (wr == &rpcrdma_send_at(conn, i)->wr)
			i++;
	return i;
}

/**
 * rpcrdma_credit_wait - something waits for credit from now on, or no longer
 * @conn: the connection
 * @who: what it is
 * @waits: it does
 *
 * The time is counted in which anything waits. On a connection that is over nothing does.
 *
 * Context: the caller holds the lock of @conn.
 */
void rpcrdma_credit_wait(struct rpcrdma_conn *conn,
			 enum rpcrdma_credit_waiter who, bool waits)
{
	const u32 before = conn->credit_waiters;

	lockdep_assert_held(&conn->lock);
	if (waits && rpcrdma_conn_open(conn))
		conn->credit_waiters |= who;
	else
		conn->credit_waiters &= ~who;
	if (!before && conn->credit_waiters)
		conn->credit_since = ktime_get();
	else if (before && !conn->credit_waiters)
		conn->credit_waited +=
			ktime_to_ns(ktime_sub(ktime_get(), conn->credit_since));
}

/**
 * rpcrdma_credit_waited - how long something has waited for credit
 * @conn: the connection
 *
 * Context: the caller holds the lock of @conn.
 *
 * Return: nanoseconds, with a wait that has not ended.
 */
u64 rpcrdma_credit_waited(const struct rpcrdma_conn *conn)
{
	u64 waited = conn->credit_waited;

	lockdep_assert_held(&conn->lock);
	if (conn->credit_waiters)
		waited += ktime_to_ns(ktime_sub(ktime_get(),
						conn->credit_since));
	return waited;
}

/*
 * What belongs to @xid waits until the device has finished with earlier Work Requests, or until
 * more Sends have buffers.
 */
static void rpcrdma_pump_full(struct rpcrdma_conn *conn, u32 xid)
	__must_hold(&conn->lock)
{
	conn->stats.sq_full++;
	trace_rpcrdma_wait(conn->id, xid, "send queue");
}

/* One RDMA job, if there is room for it. */
static bool rpcrdma_pump_job(struct rpcrdma_conn *conn)
	__must_hold(&conn->lock)
{
	struct rpcrdma_job *job;
	int rc;

	job = list_first_entry_or_null(&conn->job_queue, struct rpcrdma_job,
				       link);
	if (!job)
		return false;
	if (job->cost > conn->sq_avail) {
		rpcrdma_pump_full(conn, lower_32_bits(job->call));
		return false;
	}
	/* It may complete, and be gone, before @post returns. */
	list_move_tail(&job->link, &conn->jobs_posted);
	conn->sq_avail -= job->cost;
	spin_unlock(&conn->lock);

	rc = job->post(job, &job->cqe);
	if (rc)
		rpcrdma_conn_lost(conn, "post RDMA Read");
	spin_lock(&conn->lock);
	return true;
}

/**
 * rpcrdma_pump_has - does the pump have this message?
 * @conn: the connection, with its lock held
 * @tm: the message
 *
 * Return: true if it must be neither freed nor used again yet.
 */
bool rpcrdma_pump_has(const struct rpcrdma_conn *conn,
		      const struct rpcrdma_txmsg *tm)
	__must_hold(&conn->lock)
{
	u32 i;

	if (conn->pump_msg == tm || conn->telling == tm || tm->ending)
		return true;
	for (i = conn->send_told; i != conn->ring.head; i++)
		if (rpcrdma_send_at(conn, i)->tm == tm)
			return true;
	return false;
}

/* The pump has finished with a message: wake the threads that wait for that. */
static void rpcrdma_pump_through(struct rpcrdma_conn *conn)
	__must_hold(&conn->lock)
{
	if (conn->pump_waiters)
		wake_up_all(&conn->pump_wait);
}

/* A message is not to be sent: take it from the queue. */
static void rpcrdma_pump_take(struct rpcrdma_conn *conn,
			      struct rpcrdma_txmsg *tm)
	__must_hold(&conn->lock)
{
	list_del_init(&tm->link);
	/* rpcrdma_conn_cancel() waits for this: the message must not be used again yet. */
	conn->pump_msg = tm;
}

/* A message is over: its owner is to be told when nothing waits for this thread any more. */
static void rpcrdma_pump_over(struct rpcrdma_conn *conn,
			      struct rpcrdma_txmsg *tm, int status)
	__must_hold(&conn->lock)
{
	tm->status = status;
	/* Only the thread that sends it and pumps sees that, see rpcrdma_conn_send_planned(). */
	if (tm->direct) {
		tm->over = true;
	} else if (tm->done && !tm->ending) {
		/* It may be there for a Call that was answered since and had the same slot. */
		tm->ending = true;
		list_add_tail(&tm->over_link, &conn->tx_over);
	}
}

/* Tell the owners of messages that are over. Drops the lock for a while. */
static void rpcrdma_pump_tell(struct rpcrdma_conn *conn)
	__must_hold(&conn->lock)
{
	struct rpcrdma_txmsg *tm;

	while (!conn->telling &&
	       (tm = list_first_entry_or_null(&conn->tx_over,
					      struct rpcrdma_txmsg,
					      over_link))) {
		list_del(&tm->over_link);
		tm->ending = false;
		conn->telling = tm;
		spin_unlock(&conn->lock);
		tm->done(tm, tm->status);
		spin_lock(&conn->lock);
		conn->telling = NULL;
		rpcrdma_pump_through(conn);
	}
}

/* End the message that was taken. */
static void rpcrdma_pump_drop(struct rpcrdma_conn *conn,
			      struct rpcrdma_txmsg *tm, int error)
	__must_hold(&conn->lock)
{
	conn->pump_msg = NULL;
	rpcrdma_pump_over(conn, tm, error);
}

/* The session has decided on the next Send: a part of @tm, or a control message. */
static void rpcrdma_pump_decided(struct rpcrdma_conn *conn,
				 struct rpcrdma_send *send,
				 struct rpcrdma_txmsg *tm, u32 cost)
	__must_hold(&conn->lock)
{
	const bool last = tm && send->tx.last;

	conn->ring.head++;
	conn->sq_avail -= cost;
	send->cost = cost;
	send->tm = tm;
	send->held = last && (tm->hold || tm->gather) ? tm : NULL;
	/*
	 * After posting, the completion of its last Send, or its Reply if
	 * it has no @done, may end the message: it may be freed.
	 */
	send->ends = last && !send->held && tm->done;
	send->reply = tm && tm->msg.dir == RPCRDMA_REPLY;
	send->call = tm ? tm->call : 0;
	send->signaled = rpcrdma_send_signaled(conn, send);
}

/*
 * Let the session decide on one Send, if there is room for it. Return: enum
 * rpcrdma_tx_result; @offer is the message that it was about, or NULL.
 */
static u32 rpcrdma_pump_decide(struct rpcrdma_conn *conn,
			       struct rpcrdma_txmsg **offer)
	__must_hold(&conn->lock)
{
	struct rpcrdma_txmsg *tm;
	struct rpcrdma_send *send;
	u32 result, cost = 1;

	*offer = NULL;
	tm = list_first_entry_or_null(&conn->tx_queue, struct rpcrdma_txmsg,
				      link);
	if (!rpcrdma_ring_room(&conn->ring) || !conn->sq_avail) {
		if (tm)
			rpcrdma_pump_full(conn, tm->msg.xid);
		else
			conn->stats.sq_full++;
		return RPCRDMA_TX_NONE;
	}

	if (tm && !tm->msg.sent)
		cost += tm->chain_cost;
	/* A job that is still queued did not fit. What comes back of the queue is kept for it. */
	if (cost <= conn->sq_avail &&
	    (cost == 1 || list_empty(&conn->job_queue)))
		*offer = tm;
	else
		rpcrdma_pump_full(conn, tm->msg.xid);
	send = rpcrdma_send_next(conn);
	send->rtr.size = 0;
	if (*offer && tm->group)
		result = rpcrdma_rtr_decide(conn, send, tm);
	else
		result = rpcrdma_session_next_send(&conn->session,
						   *offer ? &tm->msg : NULL,
						   send->buf.data, conn->send_size,
						   &send->tx);
	if (result == RPCRDMA_TX_CONTROL) {
		tm = NULL;
		cost = 1;
	} else if (result != RPCRDMA_TX_MESSAGE) {
		return result;
	}

	rpcrdma_pump_decided(conn, send, tm, cost);
	if (tm && send->tx.last)
		list_del_init(&tm->link);
	return result;
}

/*
 * Post the Sends up to @built, of which @first is the first Work Request. Holds the lock
 * while it posts: the Receive handler must not invalidate regions before they are
 * registered. Return: the number of the first Send that was not posted.
 */
static u32 rpcrdma_pump_ring(struct rpcrdma_conn *conn, u32 built,
			     struct ib_send_wr *first)
	__must_hold(&conn->lock)
{
	const struct ib_send_wr *bad = first;
	struct rpcrdma_send *send;
	u32 i;

	if (!first)
		return built;
	conn->stats.tx_doorbells++;
	/* From now on answers may come. */
	for (i = conn->send_told; i != built; i++) {
		send = rpcrdma_send_at(conn, i);
		if (send->tm && send->tx.last)
			WRITE_ONCE(send->tm->posted, true);
	}
	if (!ib_post_send(conn->qp, first, &bad))
		return built;
	return rpcrdma_send_refused(conn, conn->send_told, first, bad);
}

/*
 * Can all that was decided be built under the lock? Then nothing is to be mapped or
 * registered, and no more copied than a header.
 */
static bool rpcrdma_pump_brief(const struct rpcrdma_conn *conn, u32 end)
	__must_hold(&conn->lock)
{
	const struct rpcrdma_send *send;
	u32 octets = 0, i;

	for (i = conn->send_told; i != end; i++) {
		send = rpcrdma_send_at(conn, i);
		octets += send->tx.payload.length;
		if (octets > RPCRDMA_SEND_BRIEF || send->rtr.size)
			return false;
		if (send->tm && (send->tm->chain || send->tm->gather))
			return false;
	}
	return true;
}

/* Build and post what was decided, and note what is over. Drops the lock for a while. */
static void rpcrdma_pump_post(struct rpcrdma_conn *conn)
	__must_hold(&conn->lock)
{
	const u32 end = conn->ring.head;
	struct rpcrdma_txmsg *short_of = NULL;
	struct ib_send_wr *first;
	struct rpcrdma_send *send;
	u32 built, posted, i;
	int status;

	if (conn->send_told == end)
		return;
	if (rpcrdma_pump_brief(conn, end)) {
		built = rpcrdma_send_build_all(conn, conn->send_told, end,
					       &first);
	} else {
		spin_unlock(&conn->lock);
		built = rpcrdma_send_build_all(conn, conn->send_told, end,
					       &first);
		spin_lock(&conn->lock);
	}
	posted = rpcrdma_pump_ring(conn, built, first);
	if (built != end)
		short_of = rpcrdma_send_at(conn, built)->tm;
	/* If the peer refused a message before it was posted, it is not quiet any more. */
	for (i = conn->send_told; i != end; i++) {
		send = rpcrdma_send_at(conn, i);
		status = 0;
		if ((s32)(i - posted) >= 0)
			status = send->tm == short_of ? -EMSGSIZE : -ENOTCONN;
		if (send->ends && (status || !send->tm->quiet))
			rpcrdma_pump_over(conn, send->tm, status);
		send->tm = NULL;
	}
	conn->send_told = end;
	rpcrdma_pump_through(conn);
	if (posted == end)
		return;

	/*
	 * Sends were counted but not posted: send nothing after them, even if another
	 * thread has begun to end the connection.
	 */
	rpcrdma_conn_advance(conn, RPCRDMA_CONN_CLOSED);
	spin_unlock(&conn->lock);
	rpcrdma_conn_lost(conn, "post Send");
	spin_lock(&conn->lock);
}

/* After a Send was decided: is there anything to decide on? */
static bool rpcrdma_pump_more(const struct rpcrdma_conn *conn)
	__must_hold(&conn->lock)
{
	return !list_empty(&conn->tx_queue) ||
	       rpcrdma_send_at(conn, conn->ring.head - 1)->tx.more;
}

/* All that can be sent, as one chain. Return: true if there may be more. */
static bool rpcrdma_pump_send(struct rpcrdma_conn *conn)
	__must_hold(&conn->lock)
{
	const u32 end = conn->ring.head +
			min(RPCRDMA_SEND_CHAIN, conn->ring.sends / 4);
	struct rpcrdma_txmsg *offer;
	bool more, blocked;
	u32 result;

	do {
		more = true;
		result = rpcrdma_pump_decide(conn, &offer);
		if (result != RPCRDMA_TX_MESSAGE &&
		    result != RPCRDMA_TX_CONTROL)
			break;
		more = rpcrdma_pump_more(conn);
	} while (more && conn->ring.head != end);

	blocked = result == RPCRDMA_TX_BLOCKED && offer;
	if (blocked || conn->credit_waiters)
		rpcrdma_credit_wait(conn, RPCRDMA_CREDIT_PUMP, blocked);
	/* What was decided before is posted, whatever becomes of the next message. */
	switch (result) {
	case RPCRDMA_TX_MESSAGE:
	case RPCRDMA_TX_CONTROL:
		rpcrdma_pump_post(conn);
		break;
	case RPCRDMA_TX_INVALID:
		/*
		 * Drop the message, or if there is none the connection failed. A message
		 * that has begun must be finished before another one is sent, and its
		 * chain is posted: the flush ends it.
		 */
		if (offer && !offer->msg.sent) {
			rpcrdma_pump_take(conn, offer);
			rpcrdma_pump_post(conn);
			rpcrdma_pump_drop(conn, offer, -EMSGSIZE);
			break;
		}
		rpcrdma_pump_post(conn);
		spin_unlock(&conn->lock);
		rpcrdma_conn_lost(conn, "message cannot go on");
		spin_lock(&conn->lock);
		break;
	case RPCRDMA_TX_REFUSED:
		rpcrdma_pump_take(conn, offer);
		rpcrdma_pump_post(conn);
		rpcrdma_pump_drop(conn, offer, -EIO);
		break;
	default:
		if (blocked)
			trace_rpcrdma_wait(conn->id, offer->msg.xid, "credit");
		/* What could be sent after that sets pump_again. */
		rpcrdma_pump_post(conn);
		more = false;
		break;
	}
	return more;
}

/* The Sends that took data from its place are to complete now, and none will say so. */
static void rpcrdma_pump_mark(struct rpcrdma_conn *conn)
	__must_hold(&conn->lock)
{
	const struct ib_rdma_wr mark = {
		.wr.wr_cqe = &conn->mark_cqe,
		.wr.opcode = IB_WR_RDMA_WRITE,
		.wr.send_flags = IB_SEND_SIGNALED,
	};

	if (!conn->gathered || conn->marking || !rpcrdma_conn_open(conn) ||
	    !conn->sq_avail)
		return;
	conn->sq_avail--;
	conn->stats.tx_doorbells++;
	conn->marking = true;
	conn->marked = conn->send_told;
	conn->gathered = false;
	if (!ib_post_send(conn->qp, &mark.wr, NULL))
		return;
	rpcrdma_conn_advance(conn, RPCRDMA_CONN_CLOSED);
	spin_unlock(&conn->lock);
	rpcrdma_conn_lost(conn, "post RDMA Write");
	spin_lock(&conn->lock);
}

/* What there is of the send queue, and what is promised to Calls that wait for the pump. */
static void rpcrdma_send_supply(const struct rpcrdma_conn *conn,
				struct rpcrdma_supply *supply)
	__must_hold(&conn->lock)
{
	const struct rpcrdma_txmsg *tm;

	supply->depth = conn->sq_depth;
	supply->avail = conn->sq_avail;
	supply->sends = 0;
	supply->chain = 0;
	if (likely(list_empty(&conn->tx_queue)))
		return;
	supply->sends = rpcrdma_session_reserved(&conn->session);
	list_for_each_entry(tm, &conn->tx_queue, link)
		if (!tm->msg.sent)
			supply->chain += tm->chain_cost;
}

/* Return: true if the owner keeps a Call for which there is room now. */
static bool rpcrdma_pump_room(struct rpcrdma_conn *conn)
	__must_hold(&conn->lock)
{
	struct rpcrdma_supply supply;
	bool room = false;

	if (conn->credit_waiters & RPCRDMA_CREDIT_OWNER &&
	    rpcrdma_session_room(&conn->session)) {
		rpcrdma_credit_wait(conn, RPCRDMA_CREDIT_OWNER, false);
		room = true;
	}
	if (unlikely(conn->ring.asked.sends)) {
		rpcrdma_send_supply(conn, &supply);
		room |= rpcrdma_ring_answers(&conn->ring, &supply);
	}
	return room;
}

/**
 * rpcrdma_pump - post what can be posted
 * @conn: the connection, with its lock held, which is dropped for a while
 *
 * If another thread pumps already, that one does it.
 */
void rpcrdma_pump(struct rpcrdma_conn *conn)
	__must_hold(&conn->lock)
{
	conn->pump_again = true;
	/* What is sent first tells of Receives, see rpcrdma_recv_begin(). */
	if (conn->pumping || conn->n_recv_later)
		return;
	conn->pumping = true;
	while (conn->pump_again && rpcrdma_conn_open(conn)) {
		conn->pump_again = false;
		while (rpcrdma_conn_open(conn) && (rpcrdma_pump_job(conn) ||
						   rpcrdma_pump_send(conn)))
			;
		if (rpcrdma_send_hurries(conn))
			rpcrdma_pump_mark(conn);
	}
	conn->pumping = false;
	rpcrdma_pump_through(conn);
	if (rpcrdma_pump_room(conn) && conn->ops->room) {
		spin_unlock(&conn->lock);
		conn->ops->room(conn);
		spin_lock(&conn->lock);
	}
	rpcrdma_pump_tell(conn);
}

/* Does nothing wait or go on that the pump would do before it comes to @tm? */
static bool rpcrdma_pump_idle(const struct rpcrdma_conn *conn,
			      const struct rpcrdma_txmsg *tm)
	__must_hold(&conn->lock)
{
	return !conn->pumping && !conn->n_recv_later && !conn->credit_waiters &&
	       list_empty(&conn->tx_queue) && list_empty(&conn->job_queue) &&
	       rpcrdma_ring_room(&conn->ring) &&
	       conn->sq_avail > tm->chain_cost;
}

/*
 * Send @tm at once, which is not queued, if that is all that is to be done: nearly always it
 * is. Whatever the session says otherwise, the pump goes on from there: what has been decided
 * is posted by it, and a question that it asks again has the same answer. Drops the lock for a
 * while. Return: false if the pump has to go on; @tm is queued then, unless all of it has been
 * decided on.
 */
static bool rpcrdma_pump_alone(struct rpcrdma_conn *conn,
			       struct rpcrdma_txmsg *tm)
	__must_hold(&conn->lock)
{
	struct rpcrdma_send *send = rpcrdma_send_next(conn);
	u32 result;

	send->rtr.size = 0;
	result = rpcrdma_session_next_send(&conn->session, &tm->msg, send->buf.data,
					   conn->send_size, &send->tx);
	if (result == RPCRDMA_TX_MESSAGE)
		rpcrdma_pump_decided(conn, send, tm, 1 + tm->chain_cost);
	else if (result == RPCRDMA_TX_CONTROL)
		rpcrdma_pump_decided(conn, send, NULL, 1);
	if (result != RPCRDMA_TX_MESSAGE || !send->tx.last) {
		list_add_tail(&tm->link, &conn->tx_queue);
		return false;
	}
	if (send->tx.more)
		return false;

	conn->pumping = true;
	conn->pump_again = false;
	rpcrdma_pump_post(conn);
	conn->pumping = false;
	rpcrdma_pump_through(conn);
	if (conn->pump_again || rpcrdma_send_hurries(conn))
		return false;
	rpcrdma_pump_tell(conn);
	return true;
}

/**
 * rpcrdma_conn_pump - post what can be posted
 * @conn: the connection
 *
 * Context: Process context, no lock held. Does not sleep.
 */
void rpcrdma_conn_pump(struct rpcrdma_conn *conn)
{
	spin_lock(&conn->lock);
	rpcrdma_pump(conn);
	spin_unlock(&conn->lock);
}

/* The order of messages: lower ranks are sent first. */
enum rpcrdma_send_rank {
	RPCRDMA_SEND_BEGUN,
	RPCRDMA_SEND_FREE,
	RPCRDMA_SEND_PROBE,
	RPCRDMA_SEND_REPLY,
	RPCRDMA_SEND_ANY,
};

/*
 * Nothing comes between the parts of a message. Of the messages that need credit, a
 * probe goes first. A client's Replies go before its Calls, because a Call may wait for
 * an event that depends on a Reply. In version 1 Replies need no credit and do not wait.
 */
static enum rpcrdma_send_rank rpcrdma_send_rank(const struct rpcrdma_conn *conn,
						const struct rpcrdma_txmsg *tm)
{
	if (tm->msg.sent)
		return RPCRDMA_SEND_BEGUN;
	if (tm->msg.probe)
		return RPCRDMA_SEND_PROBE;
	if (tm->msg.dir == RPCRDMA_CALL)
		return RPCRDMA_SEND_ANY;
	if (rpcrdma_session_version(&conn->session) == 1)
		return RPCRDMA_SEND_FREE;
	return conn->role == RPCRDMA_ROLE_CLIENT ? RPCRDMA_SEND_REPLY :
						   RPCRDMA_SEND_ANY;
}

static void rpcrdma_send_enqueue(struct rpcrdma_conn *conn,
				 struct rpcrdma_txmsg *tm)
{
	enum rpcrdma_send_rank rank = RPCRDMA_SEND_ANY;
	struct rpcrdma_txmsg *next;

	if (!list_empty(&conn->tx_queue))
		rank = rpcrdma_send_rank(conn, tm);
	if (rank == RPCRDMA_SEND_ANY) {
		list_add_tail(&tm->link, &conn->tx_queue);
		return;
	}
	list_for_each_entry(next, &conn->tx_queue, link)
		if (rpcrdma_send_rank(conn, next) > rank)
			break;
	/* Before @next, or at the end. */
	list_add_tail(&tm->link, &next->link);
}

/**
 * rpcrdma_conn_fits - can @cost Work Requests be posted at once?
 * @conn: the connection
 * @cost: Work Requests
 *
 * Return: false if the send queue never has room for them.
 */
bool rpcrdma_conn_fits(const struct rpcrdma_conn *conn, u32 cost)
{
	return cost < conn->sq_depth / 2;
}

static bool rpcrdma_send_has_credit(struct rpcrdma_conn *conn,
				    struct rpcrdma_txmsg *tm)
	__must_hold(&conn->lock)
{
	if (tm && tm->group)
		return rpcrdma_rtr_admit(&conn->session, &tm->msg, tm->group);
	return rpcrdma_session_admit(&conn->session, tm ? &tm->msg : NULL);
}

/* Can all Work Requests of a Call be posted, which has credits? */
static bool rpcrdma_send_has_room(struct rpcrdma_conn *conn,
				  struct rpcrdma_txmsg *tm)
	__must_hold(&conn->lock)
{
	struct rpcrdma_claim claim = { .sends = 1 };
	struct rpcrdma_supply supply;

	rpcrdma_send_supply(conn, &supply);
	if (tm) {
		claim.sends = tm->msg.reserved;
		claim.chain = tm->chain_cost;
		if (supply.sends)
			supply.sends -= claim.sends;
	}
	if (likely(rpcrdma_ring_fits(&conn->ring, &supply, &claim)))
		return true;
	if (tm)
		rpcrdma_session_put_back(&conn->session, &tm->msg);
	rpcrdma_send_ask(conn, &claim);
	return false;
}

/**
 * rpcrdma_conn_admits - may a Call begin now?
 * @conn: the connection; it has ops->no_room
 * @tm: the Call; or NULL: any Call at all
 * @xid: of the Call
 *
 * Context: the caller holds the lock of @conn.
 *
 * Return: true if it may, and then what it takes is kept for it; false if ops->no_room has been
 * called, and ops->room will be called when it is worth while to try again.
 */
bool rpcrdma_conn_admits(struct rpcrdma_conn *conn, struct rpcrdma_txmsg *tm,
			 u32 xid)
{
	lockdep_assert_held(&conn->lock);
	if (!rpcrdma_send_has_credit(conn, tm)) {
		trace_rpcrdma_wait(conn->id, xid, "credit");
		rpcrdma_credit_wait(conn, RPCRDMA_CREDIT_OWNER, true);
	} else if (!rpcrdma_send_has_room(conn, tm)) {
		rpcrdma_pump_full(conn, xid);
	} else {
		return true;
	}
	conn->ops->no_room(conn);
	return false;
}

/**
 * rpcrdma_conn_send_planned - queue a message that has just been planned
 * @conn: the connection; with @ask it has ops->no_room
 * @tm: the message; the connection owns it until its @done
 * @ask: only if the credits for all of it are there, and room in the send queue
 *
 * What the plan depends on does not change before the message is queued.
 *
 * Context: as rpcrdma_conn_send(), but the caller holds the lock of @conn, which is released.
 *
 * Return: as rpcrdma_conn_send(); with @ask also %-EAGAIN, see rpcrdma_conn_admits().
 */
int rpcrdma_conn_send_planned(struct rpcrdma_conn *conn,
			      struct rpcrdma_txmsg *tm, bool ask)
	__releases(&conn->lock)
{
	/* Once it is queued, @tm may be gone, unless it is direct. */
	const bool direct = tm->direct;
	bool over = false;
	int rc = 0;

	lockdep_assert_held(&conn->lock);
	if (!rpcrdma_conn_fits(conn, tm->chain_cost)) {
		rc = -ENOSPC;
	} else if (!rpcrdma_conn_open(conn)) {
		rc = -ENOTCONN;
	} else if (ask && !rpcrdma_conn_admits(conn, tm, tm->msg.xid)) {
		rc = -EAGAIN;
	} else {
		tm->conn = conn;
		tm->over = false;
		if (conn->pumping)
			trace_rpcrdma_wait(conn->id, tm->msg.xid, "pump");
		if (tm->group || !rpcrdma_pump_idle(conn, tm)) {
			rpcrdma_send_enqueue(conn, tm);
			rpcrdma_pump(conn);
		} else if (!rpcrdma_pump_alone(conn, tm)) {
			rpcrdma_pump(conn);
		}
	}
	/*
	 * If another thread pumps, the lock was not left since the message was queued: that
	 * thread has not seen it. If this one has left it to tell others, and the message waits,
	 * another may have posted it meanwhile: it leaves the owner to this one, too.
	 */
	if (direct) {
		tm->direct = false;
		over = !rc && tm->over;
	}
	spin_unlock(&conn->lock);
	if (over)
		rpcrdma_txmsg_done(tm, tm->status);
	return rc;
}

/**
 * rpcrdma_conn_send - queue an RPC message
 * @conn: the connection
 * @tm: the message; the connection owns it until its @done
 *
 * Context: Process context, no lock held. Does not sleep; @tm->done may run
 * before this returns.
 *
 * Return: 0, %-ENOTCONN if the connection is over, or %-ENOSPC if the chain is
 * too long for the send queue; @tm->done then does not run.
 */
int rpcrdma_conn_send(struct rpcrdma_conn *conn, struct rpcrdma_txmsg *tm)
{
	spin_lock(&conn->lock);
	return rpcrdma_conn_send_planned(conn, tm, false);
}

/**
 * rpcrdma_conn_call_refused - the peer has answered a Call with an ERROR
 * @conn: the connection
 * @tm: the Call
 * @rx: the ERROR
 *
 * Context: the Receive handler; process context, no lock held.
 *
 * Return: enum rpcrdma_reason: why the connection has ended, or %RPCRDMA_REASON_NONE.
 */
u32 rpcrdma_conn_call_refused(struct rpcrdma_conn *conn,
			      struct rpcrdma_txmsg *tm,
			      const struct rpcrdma_rx *rx)
{
	u32 reason;

	spin_lock(&conn->lock);
	reason = rpcrdma_session_call_refused(&conn->session, &tm->msg, rx);
	spin_unlock(&conn->lock);
	if (reason == RPCRDMA_REASON_NO_VERSION)
		WRITE_ONCE(conn->error, -EPROTONOSUPPORT);
	if (reason != RPCRDMA_REASON_NONE)
		rpcrdma_conn_lost(conn, rpcrdma_reason_name(reason));
	return reason;
}

/**
 * rpcrdma_conn_end_call - nobody waits for the Reply to a Call any more
 * @conn: the connection
 * @tm: a Call of which no more parts will be sent
 *
 * Context: Process context, no lock held. Does not sleep.
 */
void rpcrdma_conn_end_call(struct rpcrdma_conn *conn, struct rpcrdma_txmsg *tm)
{
	spin_lock(&conn->lock);
	/* It may have been promised the room that another one waits for. */
	if (rpcrdma_session_end_call(&conn->session, &tm->msg) ||
	    conn->ring.asked.sends)
		rpcrdma_pump(conn);
	spin_unlock(&conn->lock);
}

/**
 * rpcrdma_conn_refuse - answer a Call with RDMA2_ERROR
 * @conn: the connection
 * @xid: of the Call, host order
 * @errcode: enum rpcrdma_errcode
 * @index: see rpcrdma_session_refuse()
 * @needed: likewise
 *
 * Context: Process context, no lock held.
 *
 * Return: false if too many errors wait already; the connection is lost.
 */
bool rpcrdma_conn_refuse(struct rpcrdma_conn *conn, u32 xid, u32 errcode,
			 u32 index, u32 needed)
{
	bool ok;

	spin_lock(&conn->lock);
	ok = rpcrdma_session_refuse(&conn->session, xid, errcode, index,
				    needed);
	if (ok)
		rpcrdma_pump(conn);
	spin_unlock(&conn->lock);
	if (!ok)
		rpcrdma_conn_lost(conn, "errors unanswered");
	return ok;
}

/* All Sends before number @last have completed. In the handler of completions of Sends. */
static void rpcrdma_sends_end(struct rpcrdma_conn *conn, u32 last)
{
	struct rpcrdma_txmsg *tm, *next;
	struct rpcrdma_send *s;
	LIST_HEAD(held);
	u32 i;

	/* Nobody else moves the tail; what is between it and @last is not used again. */
	for (i = conn->ring.tail; i != last; i++) {
		s = rpcrdma_send_at(conn, i);
		if (s->mapped)
			rpcrdma_send_unmap(s);
	}

	spin_lock(&conn->lock);
	while (conn->ring.tail != last) {
		s = rpcrdma_send_at(conn, conn->ring.tail);
		if (s->held)
			list_add_tail(&s->held->link, &held);
		s->held = NULL;
		conn->sq_avail += s->cost;
		conn->ring.tail++;
	}
	if (unlikely(conn->resize.sends_left) && !rpcrdma_conn_dead(conn)) {
		conn->resize.sends_left = false;
		rpcrdma_resize_kick(conn);
	}
	rpcrdma_pump(conn);
	spin_unlock(&conn->lock);
	list_for_each_entry_safe(tm, next, &held, link) {
		list_del_init(&tm->link);
		rpcrdma_txmsg_done(tm, 0);
	}
}

/**
 * rpcrdma_send_done - a Send has completed, and all before it
 * @cq: of Sends
 * @wc: the completion
 *
 * Context: the handler of completions of Sends; process context, no lock held.
 */
void rpcrdma_send_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_send *send = container_of(wc->wr_cqe,
						 struct rpcrdma_send, cqe);
	struct rpcrdma_conn *conn = send->conn;

	if (wc->status != IB_WC_SUCCESS) {
		/* rpcrdma_send_flush() ends what was in flight. */
		if (send->reply) {
			rpcrdma_conn_fault(conn, "Send", wc, send->call);
			return;
		}
		if (wc->status != IB_WC_WR_FLUSH_ERR)
			trace_rpcrdma_wc(conn->id, "Send", wc);
		rpcrdma_conn_lost(conn, ib_wc_status_msg(wc->status));
		return;
	}

	rpcrdma_sends_end(conn, conn->ring.tail + 1 +
			  ((send->index - conn->ring.tail) &
			   (conn->ring.sends - 1)));
}

/**
 * rpcrdma_mark_done - the mark has completed, see rpcrdma_pump_mark()
 * @cq: of Sends
 * @wc: the completion
 *
 * Context: as rpcrdma_send_done().
 */
void rpcrdma_mark_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct rpcrdma_conn *conn = container_of(wc->wr_cqe, struct rpcrdma_conn,
						 mark_cqe);
	u32 last;

	if (wc->status != IB_WC_SUCCESS) {
		if (wc->status != IB_WC_WR_FLUSH_ERR)
			trace_rpcrdma_wc(conn->id, "RDMA Write", wc);
		rpcrdma_conn_lost(conn, ib_wc_status_msg(wc->status));
		return;
	}
	spin_lock(&conn->lock);
	last = conn->marked;
	conn->marking = false;
	conn->sq_avail++;
	spin_unlock(&conn->lock);
	rpcrdma_sends_end(conn, last);
}

/**
 * rpcrdma_conn_hurry - is the memory of what was sent needed soon?
 * @conn: the connection
 * @hurry: if so, no message waits for the next Send to know that its own have completed; those
 *	that wait now neither
 *
 * Context: Process context, no lock held.
 */
void rpcrdma_conn_hurry(struct rpcrdma_conn *conn, bool hurry)
{
	spin_lock(&conn->lock);
	conn->hurry = hurry;
	if (hurry)
		rpcrdma_pump(conn);
	spin_unlock(&conn->lock);
}

/**
 * rpcrdma_send_stop - the pump posts nothing from now on
 * @conn: the connection
 *
 * The owner of each message that is over has been told when this returns.
 *
 * Context: Process context. May sleep.
 */
void rpcrdma_send_stop(struct rpcrdma_conn *conn)
{
	spin_lock(&conn->lock);
	rpcrdma_conn_advance(conn, RPCRDMA_CONN_CLOSED);
	wake_up_all(&conn->pump_wait);
	conn->pump_waiters++;
	wait_event_cmd(conn->pump_wait,
		       !conn->pumping && !conn->telling &&
			       list_empty(&conn->tx_over),
		       spin_unlock(&conn->lock), spin_lock(&conn->lock));
	conn->pump_waiters--;
	spin_unlock(&conn->lock);
}

/**
 * rpcrdma_send_flush - end everything queued or in flight with -ENOTCONN
 * @conn: stopped and drained
 *
 * Context: Process context, no lock held.
 */
void rpcrdma_send_flush(struct rpcrdma_conn *conn)
{
	struct rpcrdma_txmsg *tm;
	struct rpcrdma_send *send;
	struct rpcrdma_job *job;
	u32 i;

	for (i = conn->ring.tail; i != conn->ring.head; i++)
		rpcrdma_send_unmap(rpcrdma_send_at(conn, i));
	spin_lock(&conn->lock);
	while (conn->ring.tail != conn->ring.head) {
		send = rpcrdma_send_at(conn, conn->ring.tail++);
		tm = send->held;
		send->held = NULL;
		if (!tm)
			continue;
		spin_unlock(&conn->lock);
		rpcrdma_txmsg_done(tm, -ENOTCONN);
		spin_lock(&conn->lock);
	}
	while ((tm = list_first_entry_or_null(&conn->tx_queue,
					      struct rpcrdma_txmsg, link))) {
		rpcrdma_pump_take(conn, tm);
		spin_unlock(&conn->lock);
		rpcrdma_txmsg_done(tm, -ENOTCONN);
		spin_lock(&conn->lock);
		conn->pump_msg = NULL;
		rpcrdma_pump_through(conn);
	}
	/* Failed, posted in part, or never completed: siw loses RDMA Reads. */
	list_splice_init(&conn->jobs_posted, &conn->job_queue);
	while ((job = list_first_entry_or_null(&conn->job_queue,
					       struct rpcrdma_job, link))) {
		list_del_init(&job->link);
		spin_unlock(&conn->lock);
		job->done(job, -ENOTCONN);
		spin_lock(&conn->lock);
	}
	spin_unlock(&conn->lock);
}
