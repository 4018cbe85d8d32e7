// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Replies that were sent by a group of rtrext, and are kept: the client may refuse them.
 *
 * Few are kept, for a few seconds, and none when there are too many Replies.
 */
#include <trace/events/rpcrdma_v2.h>

#include "reply.h"

/* A Reply is not kept any more. The caller frees it, or sends it again. */
static void rpcrdma_svc_sent_take(struct rpcrdma_svc_xprt *svc,
				  struct rpcrdma_svc_reply *reply)
	__must_hold(&svc->lock)
{
	list_del_init(&reply->link);
	svc->n_sent--;
	svc->sent_memory -= reply->memory;
}

/* Of the Replies that are kept, one that is too many: it is in no list then. Or NULL. */
static struct rpcrdma_svc_reply *
rpcrdma_svc_sent_surplus(struct rpcrdma_svc_xprt *svc)
	__must_hold(&svc->lock)
{
	struct rpcrdma_svc_reply *reply;

	if (!svc->n_sent ||
	    (!svc->keep_none && svc->n_sent <= RPCRDMA_SVC_SENT &&
	     svc->sent_memory <= RPCRDMA_SVC_SENT_MEMORY &&
	     !rpcrdma_memory_short() && !rpcrdma_svc_replies_full(svc)))
		return NULL;
	list_for_each_entry(reply, &svc->groups, link) {
		if (!reply->sent)
			continue;
		rpcrdma_svc_sent_take(svc, reply);
		return reply;
	}
	return NULL;
}

/* The account was charged: must Replies that were sent give back their memory soon? */
static void rpcrdma_svc_hurry(struct rpcrdma_svc_xprt *svc)
{
	bool full = rpcrdma_svc_replies_full(svc);

	if (!full) {
		/* Whoever finds it full after this says so. */
		if (!data_race(svc->conn->hurry))
			return;
		rpcrdma_conn_hurry(svc->conn, false);
		/* Another thread may have charged it, and called with true before. */
		full = rpcrdma_svc_replies_full(svc);
	}
	if (full)
		rpcrdma_conn_hurry(svc->conn, true);
}

/**
 * rpcrdma_svc_replies_charged - get memory of Replies back, if they hold too much
 * @svc: the connection, not yet destroyed
 *
 * Whoever has charged the account calls it: memory of Replies that are kept comes back by
 * nothing else. That of Replies that were sent and are not known to have arrived comes back by
 * the next one, which nobody makes while Replies hold too much.
 *
 * Context: Process context, no lock held. May sleep.
 */
void rpcrdma_svc_replies_charged(struct rpcrdma_svc_xprt *svc)
{
	struct rpcrdma_svc_reply *reply;
	LIST_HEAD(surplus);

	rpcrdma_svc_hurry(svc);
	/* Nearly always zero; whoever makes it larger calls this, too. */
	if (!data_race(svc->n_sent))
		return;
	/* Freeing one may lead here again, which must find nothing then. */
	spin_lock(&svc->lock);
	while ((reply = rpcrdma_svc_sent_surplus(svc)))
		list_add_tail(&reply->link, &surplus);
	spin_unlock(&svc->lock);
	rpcrdma_svc_replies_free(&surplus);
}

/* Look again after a while at those that are kept. */
static void rpcrdma_svc_sent_later(struct rpcrdma_svc_xprt *svc)
	__must_hold(&svc->lock)
{
	if (svc->n_sent && !svc->keep_none)
		queue_delayed_work(rpcrdma_svc_wq, &svc->forget,
				   RPCRDMA_SVC_SENT_SECONDS * HZ);
}

/* Free those that were there when it last looked. */
static void rpcrdma_svc_sent_forget(struct rpcrdma_svc_xprt *svc)
{
	struct rpcrdma_svc_reply *reply, *next;
	LIST_HEAD(old);

	spin_lock(&svc->lock);
	list_for_each_entry_safe(reply, next, &svc->groups, link) {
		if (!reply->sent)
			continue;
		if (reply->old) {
			rpcrdma_svc_sent_take(svc, reply);
			list_add_tail(&reply->link, &old);
		}
		reply->old = true;
	}
	rpcrdma_svc_sent_later(svc);
	spin_unlock(&svc->lock);
	rpcrdma_svc_replies_free(&old);
}

/**
 * rpcrdma_svc_forget - free Replies that have been kept for long enough
 * @work: of a connection
 */
void rpcrdma_svc_forget(struct work_struct *work)
{
	struct rpcrdma_svc_xprt *svc = container_of(to_delayed_work(work),
						    struct rpcrdma_svc_xprt,
						    forget);

	/* What waits for their memory may use the device. */
	if (!rpcrdma_svc_enter(svc))
		return;
	rpcrdma_svc_sent_forget(svc);
	rpcrdma_svc_leave(svc);
}

/**
 * rpcrdma_svc_reply_keep - a Reply by a group is out: keep it for a while
 * @reply: the Reply; unless it was refused it may be gone when this returns
 *
 * Context: Process context, no lock held.
 *
 * Return: false if the client has refused it already.
 */
bool rpcrdma_svc_reply_keep(struct rpcrdma_svc_reply *reply)
{
	struct rpcrdma_svc_xprt *svc = reply->svc;
	bool refused;

	spin_lock(&svc->lock);
	refused = reply->refused;
	if (refused) {
		list_del_init(&reply->link);
		atomic_dec(&svc->conn->awaited);
	} else {
		reply->sent = true;
		svc->n_sent++;
		svc->sent_memory += reply->memory;
		rpcrdma_svc_sent_later(svc);
	}
	spin_unlock(&svc->lock);
	return !refused;
}

/**
 * rpcrdma_svc_reply_unlink - a Reply does not go by a group any more, if it did
 * @reply: the Reply, which is not kept
 *
 * Context: Process context, no lock held.
 */
void rpcrdma_svc_reply_unlink(struct rpcrdma_svc_reply *reply)
{
	spin_lock(&reply->svc->lock);
	list_del_init(&reply->link);
	if (reply->refused)
		atomic_dec(&reply->svc->conn->awaited);
	spin_unlock(&reply->svc->lock);
}

/**
 * rpcrdma_svc_reply_refused - the client cannot take a Reply that went by a group
 * @conn: the connection
 * @xid: of the Reply
 *
 * It is sent again in a form of version 2. If it is not kept any more the client sends its
 * Call again, when it has waited for long enough.
 *
 * Context: the Receive handler.
 */
void rpcrdma_svc_reply_refused(struct rpcrdma_conn *conn, u32 xid)
{
	struct rpcrdma_svc_reply *reply, *again = NULL;
	struct rpcrdma_svc_xprt *svc = conn->context;
	bool found = false;

	spin_lock(&svc->lock);
	/* If the Call has come twice, one of its Replies may still wait to be sent. */
	list_for_each_entry_reverse(reply, &svc->groups, link) {
		if (reply->tm.msg.xid != xid || reply->refused)
			continue;
		/* It does not change back, and what the client has seen was sent before. */
		if (!reply->sent && !data_race(reply->tm.msg.sent))
			continue;
		found = true;
		reply->refused = true;
		if (reply->sent) {
			rpcrdma_svc_sent_take(svc, reply);
			again = reply;
		} else {
			/* It has memory mapped until its last Send completes. */
			atomic_inc(&conn->awaited);
		}
		break;
	}
	spin_unlock(&svc->lock);
	trace_rpcrdma_call(conn->id, xid, "Reply refused", found ? 0 : -ENOENT);
	if (again)
		rpcrdma_svc_reply_again(again);
	else if (found)
		rpcrdma_conn_pump(conn);
}

/**
 * rpcrdma_svc_drop_sent - free Replies that are kept, and keep none from now on
 * @svc: its connection is about to be destroyed
 *
 * Context: Process context. May sleep.
 */
void rpcrdma_svc_drop_sent(struct rpcrdma_svc_xprt *svc)
{
	spin_lock(&svc->lock);
	svc->keep_none = true;
	spin_unlock(&svc->lock);
	cancel_delayed_work_sync(&svc->forget);
	rpcrdma_svc_replies_charged(svc);
}
