// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Sends and Receives that become larger and smaller while connected, by the extension
 * xcharext. The core has its messages and says when a change pays; this file counts and
 * measures for that, and carries changes out.
 *
 * One work item per connection does everything, in process context, one step after the
 * other. It runs once a second while there is traffic, after a minute of silence, and at
 * once when something has come or is needed. Then it rests, if all sizes are those of the
 * beginning: it uses no processor while there is no traffic.
 *
 *	this side	the peer
 *	asks		REQXCH -> its work item allocates Receives of the new size, some
 *			at a time; each takes the place of one that has completed (recv.c)
 *			<- UPDXCH, when no smaller one is left
 *	gives its Sends larger buffers; the session then makes use of them
 *
 * A server's Receives begin with a page if the client has announced the extension: see
 * rpcrdma_recv_begin().
 *
 * After a minute of silence both sides go back to the sizes of the beginning:
 *
 *	makes its Sends smaller,
 *	asks		REQXCH -> from now on smaller Receives may be posted: this side
 *			sends nothing larger. They take the place of large ones as those
 *			complete, so each message that comes frees one.
 *
 * If memory is short a side may not make its own Receives smaller (xcharext, 3.1). It asks
 * its peer to send less at once, and needs no larger Receives then (-07, 5.2.1). Its Sends are
 * as at the beginning until memory has not been short for a while.
 *
 * Receives and Sends are asked for independently of each other: a request may stay pending for
 * long, or for ever. What this side does by itself waits for no answer.
 *
 * What cannot be allocated ends the change: the peer hears that nothing has changed.
 *
 * A look at a connection takes its lock once, if nothing has to change: under it the look reads
 * all that decides. What has to change takes the lock again, and reads again what it is about.
 */
#include <linux/moduleparam.h>
#include <linux/sched/mm.h>
#include <linux/seq_file.h>
#include <linux/sunrpc/sched.h>

#include <rpcrdma/xcharext.h>
#include <trace/events/rpcrdma_v2.h>

#include "../budget.h"
#include "../params.h"
#include "verbs.h"

/* Between two looks at a connection with traffic, and at one without. */
#define RPCRDMA_RESIZE_TICK	HZ
#define RPCRDMA_RESIZE_REST	(30 * HZ)
/* Sends that are in use now may soon be free. */
#define RPCRDMA_RESIZE_RETRY	(HZ / 10)
/* Receives that wait to take the place of others. */
#define RPCRDMA_RESIZE_BATCH	16U
/* So many messages a second, both directions together, are no traffic. */
#define RPCRDMA_RESIZE_QUIET	1U

/* rdma_which of -07 */
#define RPCRDMA_RESIZE_SBSIZ	1
#define RPCRDMA_RESIZE_RBSIZ	2

/* Bytes that the Receives of one connection may take together. */
u64 rpcrdma_recv_limit = U64_MAX;

/**
 * struct rpcrdma_resize_look - what a look finds, all of the same moment
 * @info: of the session
 * @lost: answers of the peer's that made no sense
 * @recv_wanted: larger Receives that the peer waits for, or zero
 * @send_wanted: larger Sends that it waits for, or zero
 * @asking_recv: the peer has been asked for other Receives, and that is not over
 * @asking_send: likewise for other Sends
 * @sends_askable: it can be asked for these, now or later
 * @wished: an administrator has asked for something
 * @recvs_change: Receives of another size are there, or those that are to replace them
 */
struct rpcrdma_resize_look {
	struct rpcrdma_session_info info;
	u32 lost;
	u32 recv_wanted;
	u32 send_wanted;
	bool asking_recv;
	bool asking_send;
	bool sends_askable;
	bool wished;
	bool recvs_change;
};

static int rpcrdma_grow_set(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, 0, RPCRDMA_MAX_GROW);
}

const struct kernel_param_ops rpcrdma_grow_ops = {
	.set = rpcrdma_grow_set,
	.get = param_get_uint,
};

/**
 * rpcrdma_resize_kick - there is something to do for the work item
 * @conn: the connection
 *
 * Context: Process context: with @conn->lock held and @conn not dead, or from the pump or
 * the Receive handler. Does not sleep.
 */
void rpcrdma_resize_kick(struct rpcrdma_conn *conn)
{
	if (READ_ONCE(conn->resize.on))
		mod_delayed_work(xprtiod_workqueue, &conn->resize.work, 0);
}

/**
 * rpcrdma_resize_wake - there is traffic that larger Receives might help
 * @conn: the connection, whose work item rests
 *
 * What there was before does not count any more.
 *
 * Context: As rpcrdma_resize_kick().
 */
void rpcrdma_resize_wake(struct rpcrdma_conn *conn)
{
	struct rpcrdma_resize *r = &conn->resize;

	if (!READ_ONCE(r->on))
		return;
	WRITE_ONCE(r->slow, false);
	mod_delayed_work(xprtiod_workqueue, &r->work, RPCRDMA_RESIZE_RETRY);
}

/* The largest Receives that the peer may ask for. */
static u32 rpcrdma_resize_allowed(const struct rpcrdma_resize *r)
{
	return clamp(min(r->affordable, r->cap), r->least_recv, r->most_recv);
}

/* Say what the peer may ask for. Called with @conn->lock held. */
static void rpcrdma_resize_allow(struct rpcrdma_conn *conn)
{
	struct rpcrdma_resize *r = &conn->resize;
	const u32 most = rpcrdma_resize_allowed(r);

	lockdep_assert_held(&conn->lock);
	/* It fails only for a number that is not possible, or for what this side has fixed. */
	(void)!rpcrdma_xchar_allow(&conn->session, RPCRDMA_RESIZE_RBSIZ,
				   r->least_recv, most);
	(void)!rpcrdma_xchar_allow(&conn->session, RPCRDMA_RESIZE_SBSIZ,
				   r->least_send, r->most_send);
	r->allowed = most;
}

/* ------------------------------------------------------------------ */
/* Receives                                                           */
/* ------------------------------------------------------------------ */

/*
 * What Receives have to be for: this is never less than what the peer may send, even if it
 * takes back what it has promised.
 */
static u32 rpcrdma_resize_needed(const struct rpcrdma_resize *r,
				 const struct rpcrdma_session_info *info)
{
	return min(info->local.recv_size,
		   max3(r->limit, r->lift, info->peer.send_size));
}

/* The size that Receives are to have. @number: larger ones that somebody waits for, or zero. */
static u32 rpcrdma_resize_recv_size(const struct rpcrdma_conn *conn,
				    const struct rpcrdma_session_info *info,
				    u32 number)
{
	const struct rpcrdma_resize *r = &conn->resize;
	const u32 size = max(number, rpcrdma_resize_needed(r, info));

	return min(rpcrdma_recv_rounded(conn, size), r->most_recv);
}

/* There is no memory for larger Receives. */
static void rpcrdma_resize_give_up(struct rpcrdma_conn *conn)
{
	struct rpcrdma_resize *r = &conn->resize;
	struct rpcrdma_session_info info;
	bool due = false;

	spin_lock(&conn->lock);
	rpcrdma_session_info(&conn->session, &info);
	r->affordable = info.local.recv_size;
	r->goal = 0;
	r->lift = 0;
	if (rpcrdma_xchar_wanted(&conn->session, RPCRDMA_RESIZE_RBSIZ))
		due = rpcrdma_xchar_changed(&conn->session,
					    RPCRDMA_RESIZE_RBSIZ,
					    info.local.recv_size);
	spin_unlock(&conn->lock);
	trace_rpcrdma_resize(conn->id, "no memory", info.local.recv_size);
	if (due)
		rpcrdma_conn_pump(conn);
}

/*
 * Let Receives follow what they are to be, and tell the peer when they are larger. Return:
 * false if this is to be tried again soon.
 */
static bool rpcrdma_resize_receives(struct rpcrdma_conn *conn)
{
	struct rpcrdma_resize *r = &conn->resize;
	struct rpcrdma_session *s = &conn->session;
	struct rpcrdma_session_info info;
	u32 number, before, size, count = 0;
	bool larger, ready, told = false;
	LIST_HEAD(old);

	spin_lock(&conn->lock);
	rpcrdma_session_info(s, &info);
	number = max(rpcrdma_xchar_wanted(s, RPCRDMA_RESIZE_RBSIZ), r->goal);
	larger = number > info.local.recv_size;
	size = rpcrdma_resize_recv_size(conn, &info, number);
	before = conn->recv_size;
	rpcrdma_recv_retarget(conn, size, &old);
	ready = !conn->n_recv_small;
	if (larger && ready)
		told = rpcrdma_xchar_changed(s, RPCRDMA_RESIZE_RBSIZ, number);
	if (conn->n_recv_old > conn->n_recv_fresh)
		count = min(conn->n_recv_old, RPCRDMA_RESIZE_BATCH) -
			min(conn->n_recv_fresh, RPCRDMA_RESIZE_BATCH);
	spin_unlock(&conn->lock);

	if (told || !larger)
		r->goal = 0;
	if (size != before)
		trace_rpcrdma_resize(conn->id, "Receives", size);
	if (told) {
		trace_rpcrdma_resize(conn->id, "told", number);
		rpcrdma_conn_pump(conn);
	}
	rpcrdma_recv_free_list(&old);
	/* Without smaller ones nobody is worse off. */
	if (rpcrdma_recv_supply(conn, count, ready) && !ready) {
		rpcrdma_resize_give_up(conn);
		return false;
	}
	return told || !larger || !ready;
}

/* ------------------------------------------------------------------ */
/* Sends                                                              */
/* ------------------------------------------------------------------ */

/* The size that Sends are to have: one that pays, and that the peer can receive. */
static u32 rpcrdma_resize_send_size(const struct rpcrdma_conn *conn,
				    const struct rpcrdma_session_info *info)
{
	const struct rpcrdma_resize *r = &conn->resize;
	u32 size = r->small_sends ? r->least_send : r->wanted_send;

	size = min3(size, info->peer.recv_size, info->local.send_size);
	return clamp(round_up(size, 8), r->least_send, r->most_send);
}

/* Let Sends have that size. Return: as above. */
static bool rpcrdma_resize_sends(struct rpcrdma_conn *conn)
{
	struct rpcrdma_resize *r = &conn->resize;
	struct rpcrdma_session_info info;
	u32 size, before, wanted;
	bool due = false;
	int left = 0;

	mutex_lock(&conn->ring_mutex);
	spin_lock(&conn->lock);
	rpcrdma_session_info(&conn->session, &info);
	/* To say that they may be larger costs nothing: see rpcrdma_session_send_room(). */
	wanted = rpcrdma_xchar_wanted(&conn->session, RPCRDMA_RESIZE_SBSIZ);
	if (wanted)
		due = rpcrdma_xchar_changed(&conn->session,
					    RPCRDMA_RESIZE_SBSIZ, wanted);
	size = rpcrdma_resize_send_size(conn, &info);
	before = conn->send_size;
	if (size < before) {
		conn->send_size = size;
		rpcrdma_session_send_room(&conn->session, size);
	}
	spin_unlock(&conn->lock);
	if (due)
		rpcrdma_conn_pump(conn);

	/* Sends that have no buffer yet would get a small one. */
	if (size > before)
		left = rpcrdma_ring_fill(conn);
	if (!left)
		left = rpcrdma_send_resize(conn, size);
	if (left < 0 && size > before) {
		r->wanted_send = before;
		trace_rpcrdma_resize(conn->id, "no memory", before);
	} else if (!left && size > before) {
		spin_lock(&conn->lock);
		conn->send_size = size;
		rpcrdma_session_send_room(&conn->session, size);
		spin_unlock(&conn->lock);
	}
	/* Further buffers get the size that Sends have then. */
	r->sends_even = !left;
	mutex_unlock(&conn->ring_mutex);
	if (conn->send_size != before)
		trace_rpcrdma_resize(conn->id, "Sends", conn->send_size);
	/* Large ones that are in use are replaced when they have completed. */
	r->sends_failed = left < 0 && size <= before;
	return left <= 0 || size <= before;
}

/* ------------------------------------------------------------------ */
/* What to ask for                                                    */
/* ------------------------------------------------------------------ */

/*
 * Ask the peer for another number of one of both properties. Return: false if too many
 * messages wait, so that it may be asked later.
 */
static bool rpcrdma_resize_request(struct rpcrdma_conn *conn, u32 which,
				   u32 number)
{
	const struct rpcrdma_xchar_number wanted = {
		.which = which,
		.number = number,
	};
	struct rpcrdma_resize *r = &conn->resize;
	struct rpcrdma_xchar_info counts;
	bool sent, later;

	spin_lock(&conn->lock);
	rpcrdma_xchar_info(&conn->session, &counts);
	sent = rpcrdma_xchar_request(&conn->session, &wanted, 1);
	later = rpcrdma_xchar_askable(&conn->session, which);
	spin_unlock(&conn->lock);
	if (!sent) {
		trace_rpcrdma_resize(conn->id, "cannot ask", number);
		return !later;
	}
	if (which == RPCRDMA_RESIZE_SBSIZ) {
		r->asked_send = number;
		r->lost = counts.lost;
	} else {
		r->asked_recv = number;
	}
	trace_rpcrdma_resize(conn->id, which == RPCRDMA_RESIZE_SBSIZ ?
			     "asks for Sends" : "asks for Receives", number);
	rpcrdma_conn_pump(conn);
	return true;
}

/* Learn from requests of this side's that are over. */
static void rpcrdma_resize_settle(struct rpcrdma_conn *conn,
				  const struct rpcrdma_resize_look *look)
{
	const struct rpcrdma_session_info *info = &look->info;
	struct rpcrdma_resize *r = &conn->resize;
	const u32 asked_recv = look->asking_recv ? 0 : r->asked_recv;
	const u32 asked_send = look->asking_send ? 0 : r->asked_send;

	if (asked_recv) {
		r->asked_recv = 0;
		rpcrdma_adapt_answered(&r->rule,
				       info->peer.recv_size >= asked_recv);
		/* It does not want to have smaller ones. */
		r->kept = info->peer.recv_size > asked_recv;
		trace_rpcrdma_resize(conn->id, "peer's Receives",
				     info->peer.recv_size);
	}
	if (!asked_send)
		return;
	r->asked_send = 0;
	/* An answer that makes no sense promises nothing. */
	if (info->peer.send_size <= asked_send && look->lost == r->lost)
		r->limit = info->peer.send_size;
	else
		r->refused = jiffies | 1;
	r->lift = 0;
	trace_rpcrdma_resize(conn->id, "peer's Sends", info->peer.send_size);
}

/* How long has there been nothing to do? Return: false if it is too early to tell. */
static bool rpcrdma_resize_measure(struct rpcrdma_resize *r,
				   const struct rpcrdma_session_info *info)
{
	const u32 moved = info->sent + info->received;
	const unsigned long passed = jiffies - r->looked;

	/* The first time it is early, but nothing is known of memory yet. */
	if (passed < RPCRDMA_RESIZE_TICK && r->measured)
		return false;
	r->measured = true;
	if (moved - r->moved <= RPCRDMA_RESIZE_QUIET * (passed / HZ + 1))
		r->idle = min_t(u64, U32_MAX,
				(u64)r->idle + jiffies_to_msecs(passed));
	else
		r->idle = 0;
	r->looked = jiffies;
	r->moved = moved;
	return true;
}

static void rpcrdma_resize_advise(struct rpcrdma_conn *conn,
				  const struct rpcrdma_resize_look *look)
{
	const struct rpcrdma_session_info *info = &look->info;
	struct rpcrdma_resize *r = &conn->resize;
	const u64 *types = conn->stats.tx_type;
	const bool idle = r->idle >= RPCRDMA_ADAPT_IDLE_MS;
	struct rpcrdma_adapt_input in = {
		.messages = READ_ONCE(types[RPCRDMA2_CALL_INLINE]) +
			    READ_ONCE(types[RPCRDMA2_REPLY_INLINE]),
		.continued = READ_ONCE(conn->stats.tx_continued),
		.idle = r->idle,
		/* When busy, what is sent now counts. */
		.peer_receive = idle ? info->peer.recv_size : info->max_send,
		.peer_send = info->peer.send_size,
		.local_receive = info->local.recv_size,
		.local_send = min(r->most_send, info->local.send_size),
		.receives = READ_ONCE(conn->n_recvs),
		.budget = READ_ONCE(rpcrdma_recv_limit),
		.now = jiffies_to_msecs(jiffies),
		.scarce = rpcrdma_memory_short(),
		.asked_receive = r->asked_recv != 0,
		.asked_send = r->asked_send || !look->sends_askable,
	};
	struct rpcrdma_adapt_advice advice;
	u32 receive;

	in.parts = in.continued + READ_ONCE(types[RPCRDMA2_CALL_MIDDLE]) +
		   READ_ONCE(types[RPCRDMA2_REPLY_MIDDLE]);
	rpcrdma_adapt_advise(&r->rule, &in, &advice);
	r->affordable = advice.local_receive;
	r->small_sends = advice.small_sends;
	r->content = idle && !advice.peer_receive && !advice.peer_send &&
		     !in.asked_receive && !r->asked_send;

	if (advice.peer_send > info->peer.send_size)
		/* Not more than an administrator wants. */
		r->lift = min(advice.peer_send, r->cap);
	else if (advice.peer_send &&
		 (!r->refused ||
		  time_after(jiffies, r->refused + RPCRDMA_RESIZE_REST)))
		rpcrdma_resize_request(conn, RPCRDMA_RESIZE_SBSIZ,
				       advice.peer_send);
	if (READ_ONCE(r->held))
		return;
	receive = advice.peer_receive;
	if (idle)
		r->wanted_send = r->least_send;
	if (idle && receive && !r->kept)
		rpcrdma_resize_request(conn, RPCRDMA_RESIZE_RBSIZ, receive);
	if (idle || !receive)
		return;
	r->wanted_send = receive;
	r->kept = false;
	if (receive > info->peer.recv_size)
		rpcrdma_resize_request(conn, RPCRDMA_RESIZE_RBSIZ, receive);
}

/* As rpcrdma_resize_request(). What cannot go now waits in @wish, unless there is a newer one. */
static void rpcrdma_resize_ask_for(struct rpcrdma_conn *conn, u32 which,
				   u32 number, u32 *wish)
{
	if (rpcrdma_resize_request(conn, which, number))
		return;
	spin_lock(&conn->lock);
	if (!*wish)
		*wish = number;
	spin_unlock(&conn->lock);
}

/* Carry out what an administrator has asked for, unless the peer has not answered yet. */
static void rpcrdma_resize_wishes(struct rpcrdma_conn *conn,
				  const struct rpcrdma_session_info *info)
{
	struct rpcrdma_resize *r = &conn->resize;
	u32 wish = 0, peer_wish = 0;

	spin_lock(&conn->lock);
	if (!r->asked_send)
		swap(wish, r->wish);
	if (!r->asked_recv)
		swap(peer_wish, r->peer_wish);
	spin_unlock(&conn->lock);
	if (wish) {
		r->cap = wish;
		/* An older one that was larger may not have been carried out yet. */
		r->goal = wish > info->local.recv_size ? wish : 0;
	}
	if (wish > r->limit)
		r->lift = wish;
	else if (wish && wish < rpcrdma_resize_needed(r, info))
		rpcrdma_resize_ask_for(conn, RPCRDMA_RESIZE_SBSIZ, wish,
				       &r->wish);
	if (!peer_wish)
		return;
	r->wanted_send = peer_wish;
	if (peer_wish != info->peer.recv_size)
		rpcrdma_resize_ask_for(conn, RPCRDMA_RESIZE_RBSIZ, peer_wish,
				       &r->peer_wish);
}

/* Ask the peer to send more, once Receives are large enough. */
static void rpcrdma_resize_lift(struct rpcrdma_conn *conn,
				const struct rpcrdma_resize_look *look)
{
	const struct rpcrdma_session_info *info = &look->info;
	struct rpcrdma_resize *r = &conn->resize;
	u32 number;
	bool ready;

	/* The peer may have asked for smaller ones since. */
	if (!r->goal)
		r->lift = min(r->lift, info->local.recv_size);
	number = r->lift;
	/* Or it may have said since that it never sends more. */
	if (number <= info->peer.send_size || !look->sends_askable) {
		r->lift = 0;
		return;
	}
	/* The new size may be decided on, but not yet set: then none counts as small. */
	spin_lock(&conn->lock);
	ready = conn->recv_size >= number && !conn->n_recv_small;
	spin_unlock(&conn->lock);
	if (!ready)
		return;
	/* What the peer sends from now on fits. */
	r->limit = number;
	rpcrdma_resize_request(conn, RPCRDMA_RESIZE_SBSIZ, number);
}

/* ------------------------------------------------------------------ */
/* The work item                                                      */
/* ------------------------------------------------------------------ */

/*
 * Read all that decides whether there is anything to do. What changes after that is seen by the
 * next look. Return: false if sizes do not change, or not yet.
 */
static bool rpcrdma_resize_read(struct rpcrdma_conn *conn,
				struct rpcrdma_resize_look *look)
{
	const struct rpcrdma_session *s = &conn->session;
	const struct rpcrdma_resize *r = &conn->resize;
	struct rpcrdma_xchar_info counts;
	bool in_use;

	spin_lock(&conn->lock);
	rpcrdma_session_info(s, &look->info);
	rpcrdma_xchar_info(s, &counts);
	look->lost = counts.lost;
	look->recv_wanted = rpcrdma_xchar_wanted(s, RPCRDMA_RESIZE_RBSIZ);
	look->send_wanted = rpcrdma_xchar_wanted(s, RPCRDMA_RESIZE_SBSIZ);
	look->asking_recv = rpcrdma_xchar_asking(s, RPCRDMA_RESIZE_RBSIZ);
	look->asking_send = rpcrdma_xchar_asking(s, RPCRDMA_RESIZE_SBSIZ);
	look->sends_askable = rpcrdma_xchar_askable(s, RPCRDMA_RESIZE_SBSIZ);
	look->wished = r->wish || r->peer_wish;
	look->recvs_change = conn->n_recv_old || conn->n_recv_fresh ||
			     !list_empty(&conn->recv_old);
	in_use = !rpcrdma_conn_dead(conn) && rpcrdma_xchar_in_use(s);
	spin_unlock(&conn->lock);
	return in_use;
}

/* Is all as it is to be? Requests that are under way bound what this side does. */
static bool rpcrdma_resize_done(const struct rpcrdma_conn *conn,
				const struct rpcrdma_resize_look *look)
{
	const struct rpcrdma_session_info *info = &look->info;
	const struct rpcrdma_resize *r = &conn->resize;

	return !r->asked_recv && !r->asked_send && !r->goal &&
	       !look->recv_wanted && !look->send_wanted &&
	       !look->recvs_change && r->sends_even &&
	       rpcrdma_resize_recv_size(conn, info, 0) == conn->recv_size &&
	       rpcrdma_resize_send_size(conn, info) == conn->send_size;
}

/* Return: when there is something to do again, in jiffies; zero for never. */
static unsigned long rpcrdma_resize(struct rpcrdma_conn *conn)
{
	struct rpcrdma_resize *r = &conn->resize;
	const struct rpcrdma_session_info *info;
	struct rpcrdma_resize_look look;
	bool done, measured, send_due, recv_due;

	/* The last properties of either side, if they are still due, wake the work item. */
	if (!rpcrdma_resize_read(conn, &look))
		return 0;

	info = &look.info;
	if (!r->begun) {
		r->begun = true;
		/* What the peer has now, it goes back to. */
		rpcrdma_adapt_init(&r->rule,
				   max_t(u32, info->peer.recv_size,
					 RPCRDMA_MIN_RECV_SIZE),
				   r->least_recv,
				   max(r->most_recv, r->most_send));
	}
	measured = rpcrdma_resize_measure(r, info);
	rpcrdma_resize_settle(conn, &look);
	if (look.wished)
		rpcrdma_resize_wishes(conn, info);
	if (r->lift && !r->asked_send)
		rpcrdma_resize_lift(conn, &look);
	if (measured)
		rpcrdma_resize_advise(conn, &look);
	if (rpcrdma_resize_allowed(r) != r->allowed) {
		spin_lock(&conn->lock);
		rpcrdma_resize_allow(conn);
		spin_unlock(&conn->lock);
	}
	done = rpcrdma_resize_done(conn, &look);
	if (!done) {
		done = rpcrdma_resize_receives(conn);
		done &= rpcrdma_resize_sends(conn);
	}
	/* Nothing becomes free while nothing moves. */
	if (!done && !r->idle)
		return RPCRDMA_RESIZE_RETRY;
	/* An answer of the peer's wakes the work item; it may never come. */
	send_due = !r->asked_send && (r->lift || READ_ONCE(r->wish));
	recv_due = !r->asked_recv && READ_ONCE(r->peer_wish);
	if (!r->idle || !measured || send_due || recv_due)
		return RPCRDMA_RESIZE_TICK;
	r->rests = true;
	WRITE_ONCE(r->slow, true);
	if (r->idle < RPCRDMA_ADAPT_IDLE_MS)
		return max_t(unsigned long, RPCRDMA_RESIZE_TICK,
			     msecs_to_jiffies(RPCRDMA_ADAPT_IDLE_MS - r->idle));
	/* Whatever becomes of memory, there is nothing to give. */
	if (done && r->content && !r->sends_failed &&
	    info->local.recv_size <= r->least_recv)
		return 0;
	return RPCRDMA_RESIZE_REST;
}

static void rpcrdma_resize_worker(struct work_struct *work)
{
	struct rpcrdma_conn *conn = container_of(work, struct rpcrdma_conn,
						 resize.work.work);
	struct rpcrdma_resize *r = &conn->resize;
	unsigned long delay;
	unsigned int noio;

	if (r->rests && !READ_ONCE(r->slow))
		r->idle = 0;
	r->rests = false;
	WRITE_ONCE(r->slow, false);
	/* Reclaim could wait for an RPC that waits for this connection. */
	noio = memalloc_noio_save();
	delay = rpcrdma_resize(conn);
	memalloc_noio_restore(noio);
	/*
	 * It may have been kicked: then it runs sooner. The lock is not needed: whoever cancels the
	 * work item waits for this, and until then it cannot be queued.
	 */
	if (delay && READ_ONCE(r->on))
		queue_delayed_work(xprtiod_workqueue, &r->work, delay);
}

/**
 * rpcrdma_resize_init - a connection is being made
 * @conn: the connection
 * @attr: its sizes at the beginning, and what they may grow to
 * @sizes: as computed from @attr
 *
 * Context: Process context.
 */
void rpcrdma_resize_init(struct rpcrdma_conn *conn,
			 const struct rpcrdma_conn_attr *attr,
			 const struct rpcrdma_sizes *sizes)
{
	const struct rpcrdma_properties *local = &attr->config.local;
	struct rpcrdma_resize *r = &conn->resize;

	INIT_DELAYED_WORK(&r->work, rpcrdma_resize_worker);
	INIT_LIST_HEAD(&conn->recv_fresh);
	INIT_LIST_HEAD(&conn->recv_old);
	r->rest = attr->rest;
	r->least_recv = min(local->recv_size, r->rest ?: U32_MAX);
	r->most_recv = max(sizes->recv_most, local->recv_size);
	r->least_send = attr->config.send_room ?: local->send_size;
	r->most_send = local->send_size;
	r->affordable = r->most_recv;
	r->cap = r->most_recv;
	r->wanted_send = r->least_send;
	r->limit = U32_MAX;
	r->looked = jiffies;
}

/**
 * rpcrdma_resize_start - RPC messages can flow
 * @conn: the connection
 *
 * Context: Process context, no lock held. Does not sleep.
 */
void rpcrdma_resize_start(struct rpcrdma_conn *conn)
{
	struct rpcrdma_resize *r = &conn->resize;

	spin_lock(&conn->lock);
	if (!rpcrdma_conn_dead(conn) && !r->on && r->most_send != r->least_send &&
	    rpcrdma_session_version(&conn->session) == 2) {
		WRITE_ONCE(r->on, true);
		/* The peer may ask before the work item runs. */
		if (rpcrdma_memory_short())
			r->affordable = r->least_recv;
		rpcrdma_resize_allow(conn);
		mod_delayed_work(xprtiod_workqueue, &r->work, 0);
	}
	spin_unlock(&conn->lock);
}

/* The peer can be asked for these sizes, where it has to be. */
static bool rpcrdma_resize_askable(const struct rpcrdma_conn *conn, u32 receive,
				   u32 peer_receive)
{
	const struct rpcrdma_session *s = &conn->session;
	struct rpcrdma_session_info info;

	rpcrdma_session_info(s, &info);
	/* It has to send less before Receives may be smaller. */
	return (!receive || receive >= info.local.recv_size ||
		rpcrdma_xchar_askable(s, RPCRDMA_RESIZE_SBSIZ)) &&
	       (!peer_receive || peer_receive == info.peer.recv_size ||
		rpcrdma_xchar_askable(s, RPCRDMA_RESIZE_RBSIZ));
}

/**
 * rpcrdma_resize_wish - an administrator wants Receives of another size
 * @conn: referenced; it may have ended
 * @receive: bytes of those of this side, or zero
 * @peer_receive: bytes of those of the peer, or zero
 *
 * From then on the sizes of this connection change for want of memory alone, or if the peer
 * asks for that. The change takes its time, and the peer may reject it. It is asked when there
 * is room for one more message.
 *
 * Context: Process context, no lock held. Does not sleep.
 *
 * Return: 0, %-ENOTCONN if the connection is over, %-EOPNOTSUPP if one of both sides cannot
 * change sizes while connected, or %-ERANGE if a number is too small or too large.
 */
int rpcrdma_resize_wish(struct rpcrdma_conn *conn, u32 receive,
			u32 peer_receive)
{
	struct rpcrdma_resize *r = &conn->resize;
	int rc = 0;

	spin_lock(&conn->lock);
	if (rpcrdma_conn_dead(conn))
		rc = -ENOTCONN;
	else if (!r->on || !rpcrdma_xchar_in_use(&conn->session) ||
		 !rpcrdma_resize_askable(conn, receive, peer_receive))
		rc = -EOPNOTSUPP;
	else if ((receive && (receive < r->least_recv ||
			      receive > r->most_recv)) ||
		 (peer_receive && (peer_receive < RPCRDMA_MIN_RECV_SIZE ||
				   peer_receive > r->most_send)))
		rc = -ERANGE;
	if (!rc) {
		if (receive)
			r->wish = receive;
		if (peer_receive)
			r->peer_wish = peer_receive;
		WRITE_ONCE(r->held, true);
		rpcrdma_resize_kick(conn);
	}
	spin_unlock(&conn->lock);
	return rc;
}

/**
 * rpcrdma_resize_show - tell people of sizes and changes
 * @m: file of the connection
 * @conn: the connection
 */
void rpcrdma_resize_show(struct seq_file *m, struct rpcrdma_conn *conn)
{
	struct rpcrdma_xchar_info info;
	u32 recv_size, others;
	bool in_use;

	spin_lock(&conn->lock);
	rpcrdma_xchar_info(&conn->session, &info);
	in_use = rpcrdma_xchar_in_use(&conn->session);
	recv_size = conn->recv_size;
	others = conn->n_recv_old;
	spin_unlock(&conn->lock);
	seq_printf(m, "buffers: send %u receive %u of another size %u bytes %ld\n",
		   READ_ONCE(conn->send_size), recv_size, others,
		   atomic_long_read(&conn->buffers));
	if (!in_use)
		return;
	seq_printf(m, "changes asked for: %u done %u rejected %u pending %u cleared %u lost %u\n",
		   info.asked, info.done, info.rejected, info.pended,
		   info.cleared, info.lost);
	seq_printf(m, "changes granted: %u refused %u deferred %u told %u heard %u\n",
		   info.granted, info.refused, info.deferred, info.told,
		   info.heard);
}
