// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The pump: it posts the messages of the send queue.
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
 * The pump tells no owner that his message is over: that may take long, and nothing is sent
 * meanwhile. It puts the message into @tx_over. The thread that ran it tells the owners when it has
 * stopped, and others can send. Only one thread tells at a time, so an owner who sends another
 * message is not called again from there. Until the owner was told, the message is the pump's:
 * rpcrdma_pump_has().
 *
 * Send Work Requests complete in order. So one signaled Send in each quarter
 * of the ring completes all Sends before it. A Send is also signaled
 * when a message waits for it, or when half of the send queue's budget is in
 * use. What follows a completion is in sent.c.
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
 * rpcrdma_pump_full - something waits for room in the send queue
 * @conn: the connection, with its lock held
 * @xid: what it belongs to, host order
 *
 * It waits until the device has finished with earlier Work Requests, or more Sends have buffers.
 */
void rpcrdma_pump_full(struct rpcrdma_conn *conn, u32 xid)
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

/**
 * rpcrdma_pump_through - the pump has finished with a message
 * @conn: the connection, with its lock held
 *
 * Wakes the threads that wait for that.
 */
void rpcrdma_pump_through(struct rpcrdma_conn *conn)
	__must_hold(&conn->lock)
{
	if (conn->pump_waiters)
		wake_up_all(&conn->pump_wait);
}

/**
 * rpcrdma_pump_take - a message is not to be sent: take it from the queue
 * @conn: the connection, with its lock held
 * @tm: the message; rpcrdma_pump_has() says so until the caller clears pump_msg
 */
void rpcrdma_pump_take(struct rpcrdma_conn *conn, struct rpcrdma_txmsg *tm)
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
static noinline void rpcrdma_pump_tell_all(struct rpcrdma_conn *conn)
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

/* Mostly there are none: of one Send its own thread tells, see rpcrdma_conn_send_planned(). */
static void rpcrdma_pump_tell(struct rpcrdma_conn *conn)
	__must_hold(&conn->lock)
{
	if (unlikely(!list_empty(&conn->tx_over)))
		rpcrdma_pump_tell_all(conn);
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

/* The Send is about to be posted: from now on answers may come. */
static void rpcrdma_pump_answerable(const struct rpcrdma_send *send)
{
	if (send->tm && send->tx.last)
		WRITE_ONCE(send->tm->posted, true);
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
	u32 i;

	if (!first)
		return built;
	conn->stats.tx_doorbells++;
	for (i = conn->send_told; i != built; i++)
		rpcrdma_pump_answerable(rpcrdma_send_at(conn, i));
	if (!ib_post_send(conn->qp, first, &bad))
		return built;
	return rpcrdma_send_refused(conn, conn->send_told, first, bad);
}

/*
 * Can this Send be built under the lock, and others of so many @octets? Then nothing is to be
 * mapped or registered, and no more copied than a header.
 */
static bool rpcrdma_pump_brief(const struct rpcrdma_send *send, u32 octets)
{
	const struct rpcrdma_txmsg *tm = send->tm;

	return octets + send->tx.payload.length <= RPCRDMA_SEND_BRIEF &&
	       !send->rtr.size && !(tm && (tm->chain || tm->gather));
}

/* The same of all that was decided. */
static bool rpcrdma_pump_all_brief(const struct rpcrdma_conn *conn, u32 end)
	__must_hold(&conn->lock)
{
	const struct rpcrdma_send *send;
	u32 octets = 0, i;

	for (i = conn->send_told; i != end; i++) {
		send = rpcrdma_send_at(conn, i);
		if (!rpcrdma_pump_brief(send, octets))
			return false;
		octets += send->tx.payload.length;
	}
	return true;
}

/*
 * A Send was posted, or was not for the reason @status. If the peer refused its message before
 * it was posted, that is not quiet any more.
 */
static inline void rpcrdma_pump_posted(struct rpcrdma_conn *conn,
				       struct rpcrdma_send *send, int status)
	__must_hold(&conn->lock)
{
	if (send->ends && (status || !send->tm->quiet))
		rpcrdma_pump_over(conn, send->tm, status);
	send->tm = NULL;
}

/*
 * Sends were counted but not posted: send nothing after them, even if another thread has begun
 * to end the connection.
 */
static noinline void rpcrdma_pump_failed(struct rpcrdma_conn *conn)
	__must_hold(&conn->lock)
{
	rpcrdma_conn_advance(conn, RPCRDMA_CONN_CLOSED);
	spin_unlock(&conn->lock);
	rpcrdma_conn_lost(conn, "post Send");
	spin_lock(&conn->lock);
}

/* Build and post the only Send that was decided. Mostly there is no other. */
static __always_inline void rpcrdma_pump_post_one(struct rpcrdma_conn *conn,
						  struct rpcrdma_send *send)
	__must_hold(&conn->lock)
{
	struct ib_send_wr *first;
	int status = 0;

	if (rpcrdma_pump_brief(send, 0)) {
		first = rpcrdma_send_build(conn, send);
	} else {
		spin_unlock(&conn->lock);
		first = rpcrdma_send_build(conn, send);
		spin_lock(&conn->lock);
	}
	if (first) {
		conn->stats.tx_doorbells++;
		rpcrdma_pump_answerable(send);
		if (ib_post_send(conn->qp, first, NULL))
			status = -ENOTCONN;
	} else {
		status = -EMSGSIZE;
	}
	rpcrdma_pump_posted(conn, send, status);
	conn->send_told++;
	rpcrdma_pump_through(conn);
	if (unlikely(status))
		rpcrdma_pump_failed(conn);
}

/* The same of all that was decided, as one chain. */
static void rpcrdma_pump_post_all(struct rpcrdma_conn *conn, u32 end)
	__must_hold(&conn->lock)
{
	struct rpcrdma_txmsg *short_of = NULL;
	struct ib_send_wr *first;
	struct rpcrdma_send *send;
	u32 built, posted, i;
	int status;

	if (rpcrdma_pump_all_brief(conn, end)) {
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
	for (i = conn->send_told; i != end; i++) {
		send = rpcrdma_send_at(conn, i);
		status = 0;
		if ((s32)(i - posted) >= 0)
			status = send->tm == short_of ? -EMSGSIZE : -ENOTCONN;
		rpcrdma_pump_posted(conn, send, status);
	}
	conn->send_told = end;
	rpcrdma_pump_through(conn);
	if (posted != end)
		rpcrdma_pump_failed(conn);
}

/* Build and post what was decided, and note what is over. Drops the lock for a while. */
static void rpcrdma_pump_post(struct rpcrdma_conn *conn)
	__must_hold(&conn->lock)
{
	const u32 begin = conn->send_told, end = conn->ring.head;

	if (end - begin > 1)
		rpcrdma_pump_post_all(conn, end);
	else if (end != begin)
		rpcrdma_pump_post_one(conn, rpcrdma_send_at(conn, begin));
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
		supply = rpcrdma_send_supply(conn);
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

/**
 * rpcrdma_pump_alone - send a message at once if that is all that is to be done
 * @conn: the connection, with its lock held, which is dropped for a while
 * @tm: the message, not queued; rpcrdma_pump_idle() has said yes
 *
 * Nearly always it is. Whatever the session says otherwise, the pump goes on from there: what has
 * been decided is posted by it, and a question that it asks again has the same answer.
 *
 * Return: false if the pump has to go on; @tm is queued then, unless all of it has been decided on.
 */
bool rpcrdma_pump_alone(struct rpcrdma_conn *conn, struct rpcrdma_txmsg *tm)
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
	rpcrdma_pump_post_one(conn, send);
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
