// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Host authentication on one connection.
 *
 * The session has the exchange; this file finds the key that a client names, measures the
 * time, and tells of the end. A side that has refused its peer sends an ERROR, and the peer
 * disconnects; if it does not, this side does so after RPCRDMA_AUTH_LINGER.
 */
#include <linux/seq_file.h>
#include <linux/sunrpc/sched.h>

#include <trace/events/rpcrdma_v2.h>

#include "../auth.h"
#include "../netlink.h"
#include "../params.h"
#include "verbs.h"

/* Why a connection was lost, for people. */
static const char * const rpcrdma_auth_losses[RPCRDMA_AUTH_REASONS] = {
	[RPCRDMA_AUTH_R_NONE] = "authentication failed",
	[RPCRDMA_AUTH_R_FORM] = "authentication failed: form",
	[RPCRDMA_AUTH_R_PLACE] = "authentication failed: place",
	[RPCRDMA_AUTH_R_STEP] = "authentication failed: step",
	[RPCRDMA_AUTH_R_SELF] = "authentication failed: self",
	[RPCRDMA_AUTH_R_UNKNOWN] = "authentication failed: unknown-key",
	[RPCRDMA_AUTH_R_PROOF] = "authentication failed: proof",
	[RPCRDMA_AUTH_R_MISSING] = "authentication failed: missing",
	[RPCRDMA_AUTH_R_VERSION] = "authentication failed: version",
	[RPCRDMA_AUTH_R_NO_KEY] = "authentication failed: no-key",
	[RPCRDMA_AUTH_R_LATE] = "authentication failed: late",
	[RPCRDMA_AUTH_R_ENDED] = "authentication failed: ended",
	[RPCRDMA_AUTH_R_REFUSED] = "authentication failed: refused",
	[RPCRDMA_AUTH_R_INTERNAL] = "authentication failed: internal",
};

static void rpcrdma_conn_auth_timer(struct rpcrdma_conn *conn, u32 ms)
{
	mod_delayed_work(xprtiod_workqueue, &conn->auth_work,
			 msecs_to_jiffies(ms));
}

/* The exchange is over: count it and tell of it, once. */
static void rpcrdma_conn_auth_over(struct rpcrdma_conn *conn, u32 state,
				   u32 reason, const char *name)
{
	trace_rpcrdma_auth(conn->id, name, state, reason, conn->name);
	rpcrdma_auth_over(conn->net, conn->role, &conn->peer.sa, state, reason,
			  name);
	if (state != RPCRDMA_AUTH_FAILED)
		return;
	WRITE_ONCE(conn->error, -EACCES);
	WRITE_ONCE(conn->auth_loss, rpcrdma_auth_losses[reason]);
	rpcrdma_nl_conn_auth_failed(conn);
	/* Those that have made this side compute. */
	if (conn->role == RPCRDMA_ROLE_SERVER && name[0])
		rpcrdma_auth_note_refused(rpcrdma_peer_key(conn->net,
							   &conn->peer.sa));
}

/* Return: the state of the exchange, after what is due when that has changed. */
static u32 rpcrdma_conn_auth_look(struct rpcrdma_conn *conn)
{
	char name[RPCRDMA_AUTH_NAME + 1] = "";
	u32 state, reason;
	bool over;

	spin_lock(&conn->lock);
	state = rpcrdma_session_auth(&conn->session);
	reason = rpcrdma_session_auth_reason(&conn->session);
	(void)rpcrdma_session_auth_name(&conn->session, (u8 *)name);
	over = conn->auth && state >= RPCRDMA_AUTH_DONE;
	if (over)
		WRITE_ONCE(conn->auth, false);
	conn->auth_state = state;
	spin_unlock(&conn->lock);
	if (over)
		rpcrdma_conn_auth_over(conn, state, reason, name);
	return state;
}

/**
 * rpcrdma_auth_worker - it has taken too long
 * @work: of the connection
 */
void rpcrdma_auth_worker(struct work_struct *work)
{
	struct rpcrdma_conn *conn = container_of(work, struct rpcrdma_conn,
						 auth_work.work);

	spin_lock(&conn->lock);
	/* It may just have come. */
	(void)!rpcrdma_session_auth_late(&conn->session);
	spin_unlock(&conn->lock);
	if (rpcrdma_conn_auth_look(conn) == RPCRDMA_AUTH_FAILED)
		rpcrdma_conn_lost(conn, "authentication failed");
}

/**
 * rpcrdma_conn_auth_begin - a connection is being made
 * @conn: nothing has been sent or received
 * @auth: as its session has it
 */
void rpcrdma_conn_auth_begin(struct rpcrdma_conn *conn,
			     const struct rpcrdma_auth *auth)
{
	conn->auth = true;
	conn->auth_policy = auth->policy;
	/* A client that does not begin may do nothing else either. */
	if (auth->policy == RPCRDMA_AUTH_REQUIRED &&
	    conn->role == RPCRDMA_ROLE_SERVER)
		rpcrdma_conn_auth_timer(conn, RPCRDMA_AUTH_WAIT);
}

/* Give the session the key that the client has named. */
static void rpcrdma_conn_auth_key(struct rpcrdma_conn *conn)
{
	u8 name[RPCRDMA_AUTH_NAME], secret[RPCRDMA_AUTH_MOST];
	u32 name_size, size;
	bool due;

	spin_lock(&conn->lock);
	name_size = rpcrdma_session_auth_name(&conn->session, name);
	spin_unlock(&conn->lock);
	size = rpcrdma_auth_find_key(name, name_size, secret);
	spin_lock(&conn->lock);
	due = rpcrdma_session_auth_key(&conn->session, secret, size,
				       rpcrdma_auth_decoy());
	spin_unlock(&conn->lock);
	memzero_explicit(secret, sizeof(secret));
	rpcrdma_conn_auth_timer(conn, RPCRDMA_AUTH_WAIT);
	if (due)
		rpcrdma_conn_pump(conn);
}

/**
 * rpcrdma_conn_auth_received - a message has come while hosts authenticate each other
 * @conn: the connection
 *
 * Context: the Receive handler, no lock held. May sleep.
 */
void rpcrdma_conn_auth_received(struct rpcrdma_conn *conn)
{
	switch (rpcrdma_conn_auth_look(conn)) {
	case RPCRDMA_AUTH_WANTS_KEY:
		rpcrdma_conn_auth_key(conn);
		break;
	case RPCRDMA_AUTH_DONE:
	case RPCRDMA_AUTH_WITHOUT:
		cancel_delayed_work(&conn->auth_work);
		break;
	case RPCRDMA_AUTH_FAILED:
		rpcrdma_conn_auth_timer(conn, RPCRDMA_AUTH_LINGER);
		break;
	}
}

/**
 * rpcrdma_conn_auth_late - a client has waited long enough
 * @conn: the connection, not yet open
 *
 * Context: Process context, no lock held. Does not sleep.
 *
 * Return: true if the connection goes on without; the caller waits again.
 */
bool rpcrdma_conn_auth_late(struct rpcrdma_conn *conn)
{
	bool on;

	spin_lock(&conn->lock);
	on = rpcrdma_session_auth_late(&conn->session);
	spin_unlock(&conn->lock);
	(void)rpcrdma_conn_auth_look(conn);
	if (on)
		rpcrdma_conn_pump(conn);
	return on;
}

/**
 * rpcrdma_conn_auth_info - whether the hosts have authenticated each other
 * @conn: the connection; it may have ended
 * @info: filled in
 */
void rpcrdma_conn_auth_info(struct rpcrdma_conn *conn,
			    struct rpcrdma_conn_auth *info)
	__must_hold(&conn->lock)
{
	memset(info, 0, sizeof(*info));
	info->policy = conn->auth_policy;
	info->state = rpcrdma_session_auth(&conn->session);
	info->reason = rpcrdma_session_auth_reason(&conn->session);
	(void)rpcrdma_session_auth_name(&conn->session, (u8 *)info->key);
	/* See rpcrdma_conn_auth_end(): not the exchange has failed. */
	if (info->state == RPCRDMA_AUTH_FAILED && !READ_ONCE(conn->auth_loss) &&
	    info->reason == RPCRDMA_AUTH_R_ENDED) {
		info->state = RPCRDMA_AUTH_OPEN;
		info->reason = RPCRDMA_AUTH_R_NONE;
	}
}

/**
 * rpcrdma_conn_auth_show - tell people whether the hosts have authenticated each other
 * @m: file of the connection
 * @conn: the connection
 */
void rpcrdma_conn_auth_show(struct seq_file *m, struct rpcrdma_conn *conn)
{
	struct rpcrdma_conn_auth info;

	spin_lock(&conn->lock);
	rpcrdma_conn_auth_info(conn, &info);
	spin_unlock(&conn->lock);
	if (info.state == RPCRDMA_AUTH_DONE)
		seq_printf(m, "authentication: done key %s\n", info.key);
	else if (info.state == RPCRDMA_AUTH_WITHOUT)
		seq_printf(m, "authentication: none: %s\n",
			   rpcrdma_auth_reason_name(info.reason));
	else if (info.state != RPCRDMA_AUTH_NONE)
		seq_puts(m, "authentication: under way or failed\n");
}

/**
 * rpcrdma_conn_auth_end - the connection is over, and nothing comes in any more
 * @conn: the connection
 *
 * Context: Process context. May sleep.
 */
void rpcrdma_conn_auth_end(struct rpcrdma_conn *conn)
{
	cancel_delayed_work_sync(&conn->auth_work);
	spin_lock(&conn->lock);
	/* Nothing has come: the connection has failed, and not the exchange. */
	if (rpcrdma_session_auth(&conn->session) == RPCRDMA_AUTH_OPEN)
		WRITE_ONCE(conn->auth, false);
	rpcrdma_session_auth_end(&conn->session);
	spin_unlock(&conn->lock);
	(void)rpcrdma_conn_auth_look(conn);
}
