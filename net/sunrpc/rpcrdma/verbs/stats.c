// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Counters and the state of connections, in debugfs:
 *
 *   <debugfs>/rpcrdma/conn/<id>	one connection
 *   <debugfs>/rpcrdma/totals		sums of all connections since the module was
 *				loaded, and what exists now
 *
 * Each line is "name: value", in bytes unless the name says otherwise. This is
 * for debugging and testing: like all of debugfs, it is not a stable interface.
 */
#include <linux/debugfs.h>
#include <linux/math64.h>
#include <linux/seq_file.h>
#include <linux/seqlock.h>
#include <linux/slab.h>
#include <linux/sunrpc/sched.h>
#include <linux/xarray.h>

#include "../auth.h"
#include "verbs.h"

static struct dentry *rpcrdma_debugfs;
static struct dentry *rpcrdma_debugfs_conns;
static struct workqueue_struct *rpcrdma_stats_wq;

/*
 * Connections by number: the lock guards changes, readers hold the lock or RCU. The lock
 * also guards the sums of connections that have left the table.
 */
static DEFINE_MUTEX(rpcrdma_stats_lock);
static DEFINE_XARRAY(rpcrdma_stats_conns);
static struct rpcrdma_stats rpcrdma_stats_past[2];
/* A connection moves from the table into the sums. */
static DEFINE_SEQLOCK(rpcrdma_stats_moves);
static u64 rpcrdma_stats_closed;

atomic_t rpcrdma_live[RPCRDMA_LIVE_KINDS];

static const char *const rpcrdma_live_names[] = {
	[RPCRDMA_LIVE_CONNS] = "connections not freed",
	[RPCRDMA_LIVE_REGIONS] = "regions",
	[RPCRDMA_LIVE_RECVS] = "receive buffers",
	[RPCRDMA_LIVE_SENDS] = "send buffers",
	[RPCRDMA_LIVE_CALLBACKS] = "callbacks under way",
};

static_assert(ARRAY_SIZE(rpcrdma_live_names) == RPCRDMA_LIVE_KINDS);

static_assert(sizeof(struct rpcrdma_stats) % sizeof(u64) == 0);

/**
 * rpcrdma_stats_sum - add the counters of a connection
 * @to: the sum
 * @from: the counters, which may still change
 */
void rpcrdma_stats_sum(struct rpcrdma_stats *to,
		       const struct rpcrdma_stats *from)
{
	const u64 *f = (const u64 *)from;
	u64 *t = (u64 *)to;
	size_t i;

	for (i = 0; i < sizeof(*to) / sizeof(u64); i++)
		t[i] += READ_ONCE(f[i]);
}

/**
 * rpcrdma_errcode_slot - where an error code is counted
 * @errcode: enum rpcrdma_errcode
 *
 * Return: an index below RPCRDMA_ERRCODES.
 */
u32 rpcrdma_errcode_slot(u32 errcode)
{
	return min_t(u32, errcode, RPCRDMA_ERRCODES - 1);
}

/**
 * rpcrdma_slot_errcode - which error code is counted there
 * @slot: below RPCRDMA_ERRCODES
 *
 * Return: the error code. The last slot is that of the only one which is not small.
 */
u32 rpcrdma_slot_errcode(u32 slot)
{
	return slot < RPCRDMA_ERRCODES - 1 ? slot : RPCRDMA2_ERR_SYSTEM;
}

static_assert(RPCRDMA_ERRCODES - 2 == RPCRDMA2_ERR_VERS_MISMATCH);

static void rpcrdma_stats_show_all(struct seq_file *m,
				   const struct rpcrdma_stats *s)
{
	u32 i;

	for (i = 0; i < rpcrdma_type_count(); i++)
		if (s->tx_type[i] || s->rx_type[i])
			seq_printf(m, "messages %s: sent %llu received %llu\n",
				   rpcrdma_type_name(i), s->tx_type[i],
				   s->rx_type[i]);
	for (i = 1; i < RPCRDMA_REASON_COUNT; i++)
		if (s->rx_refused[i])
			seq_printf(m, "refused %s: %llu\n",
				   rpcrdma_reason_name(i), s->rx_refused[i]);
	for (i = 1; i < RPCRDMA_ERRCODES; i++)
		if (s->tx_errors[i] || s->rx_errors[i])
			seq_printf(m, "errors %s: sent %llu received %llu\n",
				   rpcrdma_errcode_name(rpcrdma_slot_errcode(i)),
				   s->tx_errors[i], s->rx_errors[i]);
	seq_printf(m, "continued messages: sent %llu received %llu\n",
		   s->tx_continued, s->rx_continued);
	seq_printf(m, "bytes inline: sent %llu received %llu\n",
		   s->tx_inline_bytes, s->rx_inline_bytes);
	seq_printf(m, "bytes continued: sent %llu received %llu\n",
		   s->tx_continued_bytes, s->rx_continued_bytes);
	seq_printf(m, "bytes on wire by Send: sent %llu received %llu\n",
		   s->tx_wire_bytes, s->rx_wire_bytes);
	seq_printf(m, "bytes copied: sent %llu received %llu\n",
		   s->tx_copied_bytes, s->recv_copied_bytes);
	seq_printf(m, "RDMA operations: read %llu write %llu\n",
		   s->rdma_reads, s->rdma_writes);
	seq_printf(m, "read chunks: %llu\n", s->read_chunks);
	seq_printf(m, "bytes by read chunk: %llu\n", s->read_chunk_bytes);
	seq_printf(m, "write chunks: %llu\n", s->write_chunks);
	seq_printf(m, "bytes by write chunk: %llu\n", s->write_chunk_bytes);
	seq_printf(m, "call chunks: %llu\n", s->call_chunks);
	seq_printf(m, "bytes by call chunk: %llu\n", s->call_chunk_bytes);
	seq_printf(m, "reply chunks: %llu\n", s->reply_chunks);
	seq_printf(m, "bytes by reply chunk: %llu\n", s->reply_chunk_bytes);
	seq_printf(m, "retries: %llu\n", s->retries);
	seq_printf(m, "keep-alives: %llu\n", s->keep_alives);
	seq_printf(m, "doorbells: %llu\n", s->tx_doorbells);
	seq_printf(m, "regions made: %llu\n", s->regions);
	seq_printf(m, "registrations: %llu\n", s->registrations);
	seq_printf(m, "local invalidates: %llu\n", s->local_invalidates);
	seq_printf(m, "remote invalidates: %llu\n", s->remote_invalidates);
	seq_printf(m, "no free region: %llu\n", s->no_mr);
	seq_printf(m, "send queue full: %llu\n", s->sq_full);
	seq_printf(m, "unmatched replies: %llu\n", s->bad_xids);
	seq_printf(m, "calls that broke the connection: %llu\n",
		   s->failed_calls);
	seq_printf(m, "failed calls answered: %llu\n",
		   s->failed_calls_answered);
	seq_printf(m, "callbacks failed: %llu\n", s->failed_callbacks);
}

static void rpcrdma_stats_properties(struct seq_file *m, const char *whose,
				     u32 known, const u32 *number)
{
	u32 i;

	seq_printf(m, "%s properties:", whose);
	for (i = 0; i < rpcrdma_property_count(); i++)
		if (known & BIT(i))
			seq_printf(m, " %s %u", rpcrdma_property_name(i),
				   number[i]);
	seq_putc(m, '\n');
}

static void rpcrdma_stats_extensions(struct seq_file *m, u32 in_use)
{
	u32 i;

	seq_puts(m, "extensions:");
	for (i = 1; i < rpcrdma_extension_count(); i++)
		if (in_use & BIT(i))
			seq_printf(m, " %s", rpcrdma_extension_name(i));
	seq_putc(m, '\n');
}

static int rpcrdma_conn_show(struct seq_file *m, void *v)
{
	struct rpcrdma_conn *conn = m->private;
	u32 in_use[RPCRDMA_MR_STATES];
	struct rpcrdma_session_info info;
	struct rpcrdma_numbers numbers;
	struct rpcrdma_stats stats = { };
	u64 waited;

	spin_lock(&conn->lock);
	rpcrdma_session_info(&conn->session, &info);
	waited = rpcrdma_credit_waited(conn);
	rpcrdma_session_numbers(&conn->session, &numbers);
	memcpy(in_use, conn->mr_table.count, sizeof(in_use));
	spin_unlock(&conn->lock);

	seq_printf(m, "connection: %s\n", conn->name);
	seq_printf(m, "role: %s\n",
		   conn->role == RPCRDMA_ROLE_CLIENT ? "client" : "server");
	seq_printf(m, "age in ms: %lld\n",
		   ktime_ms_delta(ktime_get(), conn->created));
	seq_printf(m, "version: %u\n", info.version);
	rpcrdma_conn_auth_show(m, conn);
	rpcrdma_resize_show(m, conn);
	rpcrdma_stats_properties(m, "local", numbers.known, numbers.local);
	rpcrdma_stats_properties(m, "peer", numbers.known, numbers.peer);
	rpcrdma_stats_extensions(m, numbers.extensions);
	seq_printf(m, "largest send: %u\n", info.max_send);
	seq_printf(m, "window: %u used %u high %u\n", info.window,
		   info.window_used, info.window_high);
	seq_printf(m, "receive buffers: %u\n", READ_ONCE(conn->n_recvs));
	seq_printf(m, "peer credits: %u\n", info.peer_credits);
	seq_printf(m, "waits for credit: %u\n", info.blocked);
	seq_printf(m, "waited for credit in us: %llu\n",
		   div_u64(waited, NSEC_PER_USEC));
	seq_printf(m, "credit taken back: %u\n", info.taken_back);
	seq_printf(m, "round trip in us: %u\n", READ_ONCE(conn->round_trip));
	seq_printf(m, "reads at once: %u\n", conn->reads_out);
	seq_printf(m, "sends: %u\n", info.sent);
	seq_printf(m, "receives: %u\n", info.received);
	seq_printf(m, "regions: %u free %u held %u active %u invalidating %u\n",
		   READ_ONCE(conn->n_mrs), in_use[RPCRDMA_MR_FREE],
		   in_use[RPCRDMA_MR_HELD], in_use[RPCRDMA_MR_ACTIVE],
		   in_use[RPCRDMA_MR_INVALIDATING]);
	rpcrdma_stats_sum(&stats, &conn->stats);
	rpcrdma_stats_show_all(m, &stats);
	return 0;
}

static int rpcrdma_conn_file_open(struct inode *inode, struct file *file)
{
	struct rpcrdma_conn *conn = inode->i_private;
	int rc = single_open(file, rpcrdma_conn_show, conn);

	if (!rc)
		rpcrdma_conn_get(conn);
	return rc;
}

static int rpcrdma_conn_release(struct inode *inode, struct file *file)
{
	rpcrdma_conn_put(inode->i_private);
	return single_release(inode, file);
}

static const struct file_operations rpcrdma_conn_fops = {
	.owner = THIS_MODULE,
	.open = rpcrdma_conn_file_open,
	.read = seq_read,
	.llseek = seq_lseek,
	.release = rpcrdma_conn_release,
};

static int rpcrdma_totals_show(struct seq_file *m, void *v)
{
	struct rpcrdma_stats *total;
	struct rpcrdma_conn *conn;
	u32 open = 0, i;
	unsigned long id;
	u64 closed;

	total = kmalloc(sizeof(*total), GFP_KERNEL);
	if (!total)
		return -ENOMEM;
	mutex_lock(&rpcrdma_stats_lock);
	*total = rpcrdma_stats_past[RPCRDMA_ROLE_CLIENT];
	rpcrdma_stats_sum(total, &rpcrdma_stats_past[RPCRDMA_ROLE_SERVER]);
	closed = rpcrdma_stats_closed;
	xa_for_each(&rpcrdma_stats_conns, id, conn) {
		rpcrdma_stats_sum(total, &conn->stats);
		open++;
	}
	mutex_unlock(&rpcrdma_stats_lock);

	seq_printf(m, "connections: open %u closed %llu\n", open, closed);
	for (i = 0; i < RPCRDMA_LIVE_KINDS; i++)
		seq_printf(m, "%s: %d\n", rpcrdma_live_names[i],
			   atomic_read(&rpcrdma_live[i]));
	rpcrdma_stats_show_all(m, total);
	kfree(total);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(rpcrdma_totals);

/*
 * A work item makes and removes the file. Both wait for readers of the directory, and a
 * reader may wait for the connection if it copies to a mount of it. Removing does not wait
 * for readers of the file, which is what debugfs calls unsafe: each has a reference from
 * the moment in which the file is open, and until then debugfs keeps the file.
 */
static void rpcrdma_stats_worker(struct work_struct *work)
{
	struct rpcrdma_conn *conn = container_of(work, struct rpcrdma_conn,
						 stats_work);
	char id[24];
	bool there;

	mutex_lock(&rpcrdma_stats_lock);
	there = conn->shown;
	mutex_unlock(&rpcrdma_stats_lock);
	if (!there) {
		debugfs_remove(conn->debugfs);
		conn->debugfs = NULL;
	} else if (!conn->debugfs) {
		snprintf(id, sizeof(id), "%lu", conn->id);
		conn->debugfs =
			debugfs_create_file_unsafe(id, 0444,
						   rpcrdma_debugfs_conns, conn,
						   &rpcrdma_conn_fops);
	}
	rpcrdma_conn_put(conn);
}

static void rpcrdma_stats_changed(struct rpcrdma_conn *conn)
{
	rpcrdma_conn_get(conn);
	if (!queue_work(rpcrdma_stats_wq, &conn->stats_work))
		rpcrdma_conn_put(conn);
}

/**
 * rpcrdma_stats_add - show a connection, soon
 * @conn: complete, not yet connected
 *
 * Context: Process context. May sleep.
 *
 * Return: 0 or %-ENOMEM.
 */
int rpcrdma_stats_add(struct rpcrdma_conn *conn)
{
	int rc;

	INIT_WORK(&conn->stats_work, rpcrdma_stats_worker);
	mutex_lock(&rpcrdma_stats_lock);
	rc = xa_insert(&rpcrdma_stats_conns, conn->id, conn, GFP_KERNEL);
	conn->shown = !rc;
	mutex_unlock(&rpcrdma_stats_lock);
	if (!rc)
		rpcrdma_stats_changed(conn);
	return rc;
}

/**
 * rpcrdma_stats_del - remember the sums of a connection, stop showing it soon
 * @conn: drained; nothing counts any more. A reader has its own reference.
 *
 * Context: Process context. May sleep, but waits for no reader.
 */
void rpcrdma_stats_del(struct rpcrdma_conn *conn)
{
	mutex_lock(&rpcrdma_stats_lock);
	write_seqlock(&rpcrdma_stats_moves);
	xa_erase(&rpcrdma_stats_conns, conn->id);
	rpcrdma_stats_sum(&rpcrdma_stats_past[conn->role], &conn->stats);
	write_sequnlock(&rpcrdma_stats_moves);
	conn->shown = false;
	rpcrdma_stats_closed++;
	mutex_unlock(&rpcrdma_stats_lock);
	rpcrdma_stats_changed(conn);
}

/* Return: false if a connection went meanwhile: @sum may be wrong then. */
static bool rpcrdma_stats_walk(u32 role, struct rpcrdma_stats *sum)
{
	const unsigned int seq = read_seqbegin(&rpcrdma_stats_moves);
	struct rpcrdma_conn *conn;
	unsigned long id;

	*sum = rpcrdma_stats_past[role];
	rcu_read_lock();
	xa_for_each(&rpcrdma_stats_conns, id, conn)
		if (conn->role == role)
			rpcrdma_stats_sum(sum, &conn->stats);
	rcu_read_unlock();
	return !read_seqretry(&rpcrdma_stats_moves, seq);
}

/**
 * rpcrdma_stats_of - sum up the counters of all connections, also of closed ones
 * @role: this side's role in these connections
 * @sum: filled in
 *
 * Any user may ask, so connections that come and go do not wait for it. Only if one goes
 * meanwhile the sum is made again under the mutex.
 *
 * Context: Process context. May sleep.
 */
void rpcrdma_stats_of(u32 role, struct rpcrdma_stats *sum)
{
	if (rpcrdma_stats_walk(role, sum))
		return;
	mutex_lock(&rpcrdma_stats_lock);
	(void)rpcrdma_stats_walk(role, sum);
	mutex_unlock(&rpcrdma_stats_lock);
}

/**
 * rpcrdma_stats_resize_windows - the module parameter window has changed
 *
 * Context: Process context. May sleep.
 */
void rpcrdma_stats_resize_windows(void)
{
	struct rpcrdma_conn *conn;
	unsigned long id;

	mutex_lock(&rpcrdma_stats_lock);
	xa_for_each(&rpcrdma_stats_conns, id, conn)
		if (conn->follow)
			queue_work(xprtiod_workqueue, &conn->window_work);
	mutex_unlock(&rpcrdma_stats_lock);
}

/**
 * rpcrdma_conn_next - the next connection of a network namespace
 * @net: the namespace
 * @id: the lowest number that it may have
 *
 * Nobody waits for who goes on from one to the next: what comes and goes meanwhile
 * is seen or not, and what stays is seen once.
 *
 * Context: Process context. Takes no lock that sleeps.
 *
 * Return: a reference, which the caller puts, or NULL if there is none.
 */
struct rpcrdma_conn *rpcrdma_conn_next(const struct net *net, unsigned long id)
{
	struct rpcrdma_conn *conn;
	unsigned long at;

	rcu_read_lock();
	xa_for_each_start(&rpcrdma_stats_conns, at, conn, id)
		if (conn->net == net && kref_get_unless_zero(&conn->kref))
			break;
	rcu_read_unlock();
	return conn;
}

/**
 * rpcrdma_conn_find - a connection by its number
 * @net: the namespace that it has to be in
 * @id: the number
 *
 * Context: as rpcrdma_conn_next().
 *
 * Return: a reference, which the caller puts, or NULL if there is none.
 */
struct rpcrdma_conn *rpcrdma_conn_find(const struct net *net, u64 id)
{
	struct rpcrdma_conn *conn;

	if (id > ULONG_MAX)
		return NULL;
	rcu_read_lock();
	conn = xa_load(&rpcrdma_stats_conns, id);
	if (conn && (conn->net != net || !kref_get_unless_zero(&conn->kref)))
		conn = NULL;
	rcu_read_unlock();
	return conn;
}

/**
 * rpcrdma_stats_init - make the directory
 *
 * Return: 0 or %-ENOMEM.
 */
int rpcrdma_stats_init(void)
{
	rpcrdma_stats_wq = alloc_workqueue("rpcrdma_stats", WQ_UNBOUND, 0);
	if (!rpcrdma_stats_wq)
		return -ENOMEM;
	rpcrdma_debugfs = debugfs_create_dir("rpcrdma", NULL);
	rpcrdma_debugfs_conns = debugfs_create_dir("conn", rpcrdma_debugfs);
	debugfs_create_file("totals", 0444, rpcrdma_debugfs, NULL,
			    &rpcrdma_totals_fops);
	return 0;
}

/**
 * rpcrdma_stats_exit - remove the directory
 *
 * Context: Process context, no connection left. Waits for readers.
 */
void rpcrdma_stats_exit(void)
{
	destroy_workqueue(rpcrdma_stats_wq);
	debugfs_remove_recursive(rpcrdma_debugfs);
}
