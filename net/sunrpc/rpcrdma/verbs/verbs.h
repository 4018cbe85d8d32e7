/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * One RDMA connection, of a client or a server.
 *
 * Normal operation: the queue pair's Receives are posted once, handed back one by one,
 * and posted again some at a time; every received message goes through the session, which says what
 * it means. Messages to be sent wait on one queue. The pump, which one thread per
 * connection runs at a time, asks the session what can be posted now, copies the
 * bytes into Send buffers and posts all of them at once. Because most Sends carry copies, a
 * message's memory is needed only until its last Send is posted; what is sent from its
 * place is needed until that Send has completed, and chunk memory until the RPC is over.
 *
 * Transport recovery: the first sign of trouble calls ops->lost, once. The
 * owner then calls rpcrdma_conn_destroy() from a context that may sleep. That
 * moves the queue pair to the error state, waits until no completion can come
 * any more, takes back every memory region, ends every queued message with
 * -ENOTCONN and frees all resources. struct rpcrdma_conn itself lives until
 * its last reference goes.
 */
#ifndef _RPCRDMA_VERBS_H
#define _RPCRDMA_VERBS_H

#include <linux/completion.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/inet.h>
#include <linux/kref.h>
#include <linux/ktime.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/spinlock.h>
#include <linux/sunrpc/xdr.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>
#include <rdma/rw.h>

#include <rpcrdma/adapt.h>
#include <rpcrdma/core.h>
#include <rpcrdma/names.h>
#include <rpcrdma/plan.h>
#include <rpcrdma/private_data.h>
#include <rpcrdma/regions.h>
#include <rpcrdma/ring.h>
#include <rpcrdma/round_trip.h>
#include <rpcrdma/rtrext.h>
#include <rpcrdma/sizes.h>

struct rpcrdma_conn;
struct rpcrdma_txmsg;
struct seq_file;

/*
 * RDMA operations of one Call or Reply. A Call chunk is cut at its own segments
 * and at each Read segment.
 */
#define RPCRDMA_MAX_RW_OPS	(3 * RPCRDMA_MAX_SEGMENTS)
/* Two of a Reply's are cut: at the end of its head and at the end of its pages. */
#define RPCRDMA_MAX_WRITES	(RPCRDMA_MAX_WRITE_JOBS + 2)
static_assert(RPCRDMA_MAX_RW_OPS >= RPCRDMA_MAX_WRITES);

/* Error codes that are counted one by one; the last slot is for ERR_SYSTEM. */
#define RPCRDMA_ERRCODES	13

/**
 * struct rpcrdma_stats - what a connection has done
 *
 * rx_ members are written by the Receive handler alone, tx_ members by the
 * pump alone, recv_copied_bytes by atomic operations; the others under rpcrdma_conn.lock. Who
 * shows them takes no lock: a processor of 32 bits could read half of an old and half of a new
 * value.
 */
struct rpcrdma_stats {
	u64 rx_type[RPCRDMA_MAX_TYPES];
	u64 rx_refused[RPCRDMA_REASON_COUNT];
	u64 rx_errors[RPCRDMA_ERRCODES];
	u64 rx_continued;
	u64 rx_inline_bytes;
	u64 rx_continued_bytes;
	u64 rx_wire_bytes;
	u64 tx_type[RPCRDMA_MAX_TYPES];
	u64 tx_errors[RPCRDMA_ERRCODES];
	u64 tx_continued;
	u64 tx_inline_bytes;
	u64 tx_continued_bytes;
	u64 tx_wire_bytes;
	u64 tx_copied_bytes;
	u64 tx_doorbells;
	u64 recv_copied_bytes;
	u64 rdma_reads;
	u64 rdma_writes;
	u64 read_chunks;
	u64 read_chunk_bytes;
	u64 write_chunks;
	u64 write_chunk_bytes;
	u64 call_chunks;
	u64 call_chunk_bytes;
	u64 reply_chunks;
	u64 reply_chunk_bytes;
	u64 retries;
	u64 keep_alives;
	u64 regions;
	u64 registrations;
	u64 local_invalidates;
	u64 remote_invalidates;
	u64 no_mr;
	u64 sq_full;
	u64 bad_xids;
	u64 failed_calls;
	u64 failed_calls_answered;
	u64 failed_callbacks;
};

static_assert(BITS_PER_LONG == 64);
/* As in C++, see RPCRDMA_ENUM(). */
static_assert(sizeof(enum rpcrdma_dir) == sizeof(u32));
static_assert(sizeof(enum rpcrdma_rx_action) == sizeof(u32));

/*
 * Objects that are counted from allocation until they are freed, also after their
 * connection has dropped them.
 */
enum rpcrdma_live {
	RPCRDMA_LIVE_CONNS,
	RPCRDMA_LIVE_REGIONS,
	RPCRDMA_LIVE_RECVS,
	RPCRDMA_LIVE_SENDS,
	RPCRDMA_LIVE_CALLBACKS,
	RPCRDMA_LIVE_KINDS,
};

extern atomic_t rpcrdma_live[RPCRDMA_LIVE_KINDS];

/**
 * struct rpcrdma_recv - a Receive and its buffer
 * @conn: owner
 * @all: link in its list of all Receives
 * @cqe: completion
 * @wr: the Work Request, ready to be posted
 * @link: for the current user of the buffer
 * @back: link in those that have come back
 * @buf: the buffer, or what of it is in the first of its pages
 * @pages: the pages of the buffer, or NULL if it is in one piece
 * @size: bytes of the buffer
 * @len: bytes received
 * @part: of a group that its user gathers: what of the Payload stream is here
 * @copied: bytes that its user has copied from it
 * @invalidated: the handle that came with its message, if that waits to be taken
 * @sge: elements, one for each page; DMA mapped while they exist
 */
struct rpcrdma_recv {
	struct rpcrdma_conn *conn;
	struct list_head all;
	struct ib_cqe cqe;
	struct ib_recv_wr wr;
	struct list_head link;
	struct llist_node back;
	void *buf;
	struct page **pages;
	u32 size;
	u32 len;
	struct rpcrdma_range part;
	u32 copied;
	u32 invalidated;
	struct ib_sge *sge;
};

/* Who waits for credit: the first message of the pump, a Call that its owner keeps. */
enum rpcrdma_credit_waiter {
	RPCRDMA_CREDIT_PUMP = BIT(0),
	RPCRDMA_CREDIT_OWNER = BIT(1),
};

/* What ops->payload did with a Receive. */
enum rpcrdma_recv_verdict {
	RPCRDMA_RECV_DONE,	/* free: to be posted and offered to the peer again */
	RPCRDMA_RECV_KEEP,	/* kept; comes back by rpcrdma_conn_recv_put() */
	RPCRDMA_RECV_AGAIN,	/* not taken yet: see ops->stalled */
};

struct rpcrdma_account_info;

/**
 * struct rpcrdma_conn_ops - callbacks of the owner of a connection
 * @ready: the initial exchange is complete (section 4.3)
 * @lost: the connection is over; called once, any process context, must not
 *	sleep and must not destroy the connection itself
 * @removed: the device goes, and waits for rpcrdma_conn_destroy(). The owner calls that
 *	soon, whatever else keeps it busy. Called once, after @lost, even if the owner
 *	has begun with it; perhaps before rpcrdma_conn_create() has returned. Process
 *	context, must not sleep. NULL if @lost brings it about as surely.
 * @payload: bytes of an RPC message have come; @invalidated is the handle
 *	that a Send With Invalidate named, or zero. May sleep.
 * @stalled: @payload has returned AGAIN to the Receive handler. The owner soon calls
 *	rpcrdma_conn_recv_again(), which gives it the same bytes again; what has come since then
 *	waits behind them. Process context, must not sleep. NULL if @payload never returns AGAIN.
 * @abandon: the parts of the message in this direction that @payload got are void
 * @failed: the Call with rx->xid cannot succeed; rx->error says why
 * @reply_refused: the Reply with this XID, which went by a group, was refused, and can be sent
 *	in another form. NULL is allowed.
 * @fault: an operation for this Call of the peer (rpcrdma_call_id()) failed, and not
 *	because the connection broke: it will break the next connection, too.
 *	Process context, must not sleep. NULL is allowed.
 * @room: rpcrdma_frwr_map() found too few regions, or rpcrdma_conn_admits() too few
 *	credits or too little room in the send queue, and now there may be more.
 *	Process context, must not sleep. NULL is allowed.
 * @no_room: a Call was not admitted: until @room the owner keeps its Calls. Under the
 *	connection's lock, so @room does not come before. For rpcrdma_conn_admits() only.
 * @serving: how many Calls of the peer are being worked on. Under the connection's
 *	lock and only while it is not dead. NULL is allowed.
 * @account: how much memory these take, and may take. Called like @serving. NULL is allowed.
 *
 * All but @lost, @removed, @fault, @room, @no_room, @serving and @account come from the Receive
 * handler, or from rpcrdma_conn_recv_again() in its place, and are serialized.
 */
struct rpcrdma_conn_ops {
	void (*ready)(struct rpcrdma_conn *conn);
	void (*lost)(struct rpcrdma_conn *conn);
	void (*removed)(struct rpcrdma_conn *conn);
	enum rpcrdma_recv_verdict (*payload)(struct rpcrdma_conn *conn,
					     const struct rpcrdma_rx *rx,
					     struct rpcrdma_recv *recv,
					     u32 invalidated);
	void (*stalled)(struct rpcrdma_conn *conn);
	void (*abandon)(struct rpcrdma_conn *conn, enum rpcrdma_dir dir);
	void (*failed)(struct rpcrdma_conn *conn, const struct rpcrdma_rx *rx);
	void (*reply_refused)(struct rpcrdma_conn *conn, u32 xid);
	void (*fault)(struct rpcrdma_conn *conn, u64 call, bool sure);
	void (*room)(struct rpcrdma_conn *conn);
	void (*no_room)(struct rpcrdma_conn *conn);
	u32 (*serving)(const struct rpcrdma_conn *conn);
	void (*account)(const struct rpcrdma_conn *conn,
			struct rpcrdma_account_info *info);
};

/**
 * struct rpcrdma_txmsg - an RPC message to be sent
 * @link: the connection's queue; empty when not queued, which its owner begins with
 * @conn: the connection that queued it last
 * @msg: the session's description of the message
 * @xdr: the unreduced message; valid until @done or rpcrdma_conn_cancel()
 * @removed: ranges of @xdr that chunks carry, ascending
 * @n_removed: how many
 * @chain: puts Work Requests in front of @next, returns the first of them;
 *	called once, before the first Send is posted. NULL if there are none.
 * @chain_cost: how many Work Requests @chain adds
 * @hold: @done waits until the last Send and everything before it has completed; if not
 *	set, @done is called when the last Send is posted
 * @gather: pieces of @xdr of so many bytes are sent from where they are, if the device can;
 *	zero to copy all. @done waits as with @hold, but perhaps until a few further Sends
 *	have completed. Not for a message that may be cancelled.
 * @group: it goes by a group of rtrext, without @removed in its stream; or NULL. If it
 *	cannot begin, @done gets -EMSGSIZE.
 * @posted: all of it is posted, or being posted; see rpcrdma_conn_posted(). Its owner makes it
 *	false.
 * @quiet: @done need not be called if all of it has been posted, which saves taking the lock once
 *	more; under the connection's lock once it is queued. Not with @hold or @gather.
 * @direct: if whoever sends it also posts the last of it, @done is called when that thread has
 *	left the lock for good, not in between. It takes care that the connection is not destroyed
 *	before. Not with @hold, @gather or @group; reset by the connection.
 * @over: for the connection: @done of a @direct one is to be called, with @status
 * @ending: for the connection: in @tx_over, by @over_link
 * @over_link: for the connection
 * @status: for the connection: argument of @done
 * @call: of a Reply, rpcrdma_call_id() of its Call
 * @invalidate: handle for a Send With Invalidate, or zero
 * @done: called at the end with 0 or a negative errno, once per
 *	rpcrdma_conn_send() that returned 0, unless the message is cancelled or @quiet.
 *	Process context, no lock held. NULL is allowed.
 */
struct rpcrdma_txmsg {
	struct list_head link;
	struct rpcrdma_conn *conn;
	struct rpcrdma_message msg;
	const struct xdr_buf *xdr;
	const struct rpcrdma_range *removed;
	u32 n_removed;
	u32 chain_cost;
	bool hold;
	u32 gather;
	struct rpcrdma_rtr_group *group;
	bool posted;
	bool quiet;
	bool direct;
	bool over;
	bool ending;
	struct list_head over_link;
	int status;
	u64 call;
	u32 invalidate;
	struct ib_send_wr *(*chain)(struct rpcrdma_txmsg *tm,
				    struct ib_send_wr *next);
	void (*done)(struct rpcrdma_txmsg *tm, int status);
};

/**
 * rpcrdma_conn_posted - can there be an answer to a message?
 * @tm: its owner has made @posted false before anybody could ask, whether it has already been
 *	given to rpcrdma_conn_send() or not
 *
 * Return: true if all of it has been posted, or is being posted.
 */
static inline bool rpcrdma_conn_posted(const struct rpcrdma_txmsg *tm)
{
	return READ_ONCE(tm->posted);
}

/**
 * struct rpcrdma_job - Work Requests without a message: RDMA Reads
 * @link: the connection's queue, then its list of posted jobs
 * @cost: Work Requests
 * @call: rpcrdma_call_id() of the Call they are for
 * @post: posts the Work Requests with @cqe on the last; returns as ib_post_send(). If
 *	it fails some may be posted: the connection ends, and the job with it.
 * @done: called once if rpcrdma_conn_job() returned 0, in process context: with 0
 *	when all have completed, or with %-ENOTCONN when the connection has ended
 *	and none is under way any more. It may free @job.
 * @cqe: belongs to the connection
 */
struct rpcrdma_job {
	struct list_head link;
	struct rpcrdma_conn *conn;
	u32 cost;
	u64 call;
	struct ib_cqe cqe;
	int (*post)(struct rpcrdma_job *job, struct ib_cqe *cqe);
	void (*done)(struct rpcrdma_job *job, int status);
};

/**
 * struct rpcrdma_send_buffer - what a Send's bytes are copied to
 * @data: the memory, or NULL
 * @addr: where the device finds it; it is mapped while it exists
 * @size: bytes of it
 */
struct rpcrdma_send_buffer {
	void *data;
	u64 addr;
	u32 size;
};

/**
 * struct rpcrdma_send - a Send and its buffer
 * @cqe: completion
 * @wr: the Work Request
 * @sge: elements of @buf and of other memory
 * @buf: its buffer; it has none while it is bare, see ring.c
 * @mapped: elements that are of other memory, mapped, a bit each
 * @copied: bytes of the message in @buf
 * @length: bytes of all elements
 * @cost: Work Requests posted with it
 * @signaled: its completion is wanted
 * @tx: what the session decided
 * @rtr: which Send of a group it is; no size if it is none
 * @tm: its message, while the pump has it, or NULL
 * @ends: with it @tm is over, and its @done is to be called, unless @held is
 * @held: message whose @done follows this Send's completion
 * @call: of a Reply, rpcrdma_call_id() of its Call
 * @reply: it is a part of a Reply
 */
struct rpcrdma_send {
	struct rpcrdma_conn *conn;
	struct ib_cqe cqe;
	struct ib_send_wr wr;
	struct ib_sge *sge;
	struct rpcrdma_send_buffer buf;
	u32 mapped;
	u32 copied;
	u32 length;
	u32 index;
	u32 cost;
	bool signaled;
	struct rpcrdma_tx tx;
	struct rpcrdma_rtr_send rtr;
	struct rpcrdma_txmsg *tm;
	bool ends;
	struct rpcrdma_txmsg *held;
	u64 call;
	bool reply;
};

/**
 * struct rpcrdma_mr - a memory region for fast registration
 * @index: slot in the table of the core
 * @link: list of the owner, while it has one
 * @attrs: DMA_ATTR_SKIP_CPU_SYNC to keep what the CPU wrote to the memory
 * @cqe: completion of @inv
 * @waiter: its @done is called when the peer cannot reach this region any more
 */
struct rpcrdma_mr {
	struct rpcrdma_conn *conn;
	struct list_head link;
	u32 index;
	struct ib_mr *mr;
	struct scatterlist *sgl;
	unsigned int nents;
	enum dma_data_direction dir;
	unsigned long attrs;
	struct ib_reg_wr reg;
	struct ib_send_wr inv;
	struct ib_cqe cqe;
	struct rpcrdma_inv *waiter;
};

/**
 * struct rpcrdma_inv - waits for the invalidation of a list of regions
 * @done: all are invalid, or taken back after the queue pair died; process
 *	context
 */
struct rpcrdma_inv {
	void (*done)(struct rpcrdma_inv *inv);
};

/**
 * struct rpcrdma_device - one RDMA device
 * @link: in the list of all devices
 * @device: valid while the device is in that list
 * @users: connections, and the device itself while it exists
 * @idle: the last user has gone
 * @conns: the connections
 * @removed: the device accepts no more connections
 */
struct rpcrdma_device {
	struct list_head link;
	struct ib_device *device;
	refcount_t users;
	struct completion idle;
	struct list_head conns;
	bool removed;
};

/**
 * enum rpcrdma_conn_stage - how far the life of a connection has come
 * @RPCRDMA_CONN_CREATED: its Receives are posted. What may be sent before it is UP, the session
 *	says
 * @RPCRDMA_CONN_CONNECTING: a client's, until the handshake of rdma_cm ends: a Receive that
 *	fails does not say why
 * @RPCRDMA_CONN_CONNECTED: a client's; the server has accepted
 * @RPCRDMA_CONN_AGREED: the version is known, and who listens was told
 * @RPCRDMA_CONN_UP: RPC messages can flow, and who listens was told
 * @RPCRDMA_CONN_CLOSED: it cannot go on; no message and no RDMA operation, but for those that
 *	the pump has decided on. Its Receives are still posted, and regions given up by Local
 *	Invalidate
 * @RPCRDMA_CONN_ENDING: its owner destroys it soon, and waits for nobody before. Nor a Local
 *	Invalidate: an operation of the peer would find no region and fail, and the peer would
 *	blame the Call. Who waits for regions waits until they are taken back
 * @RPCRDMA_CONN_DEAD: the queue pair is, or soon will be, in the error state; nothing. No
 *	region is taken or made
 *
 * A connection goes on through these stages and never back; it may leave some out. From CLOSED
 * on, each forbids what those before it forbid. "Stages of a connection" in
 * Documentation/architecture.rst has them drawn, and a table of what may be done, and who may be
 * woken, in which stage.
 */
enum rpcrdma_conn_stage {
	RPCRDMA_CONN_CREATED,
	RPCRDMA_CONN_CONNECTING,
	RPCRDMA_CONN_CONNECTED,
	RPCRDMA_CONN_AGREED,
	RPCRDMA_CONN_UP,
	RPCRDMA_CONN_CLOSED,
	RPCRDMA_CONN_ENDING,
	RPCRDMA_CONN_DEAD,
};

/*
 * Bits of rpcrdma_conn.flags: facts, which are no stages. Whoever finds that the connection cannot
 * go on may hold its lock, and closes it at once. Others are told without the lock, so later.
 */
enum {
	RPCRDMA_CONN_LOST,	/* bit: ops->lost has been called, and who listens was told */
	RPCRDMA_CONN_TOO_LONG,	/* bit: a message was too long for its Receive */
};

/**
 * struct rpcrdma_spares - buffers of one size for the next connection
 * @first: the first one; each begins with a pointer to the next
 * @size: bytes of each
 * @count: how many
 */
struct rpcrdma_spares {
	void *first;
	u32 size;
	u32 count;
};

/* Kinds of spares. */
enum {
	RPCRDMA_SPARE_SENDS,
	RPCRDMA_SPARE_RECVS,
	RPCRDMA_SPARE_KINDS,
};

/**
 * enum rpcrdma_only_v1 - why only version 1 may be spoken on a connection
 * @RPCRDMA_V1_NOT_ONLY: it is not so, but for settings
 * @RPCRDMA_V1_SILENT: the peer has left version 2 unanswered
 * @RPCRDMA_V1_DIALECT: the peer means something else by version 2 (D25), or has refused it and
 *	then ended the connection
 */
enum rpcrdma_only_v1 {
	RPCRDMA_V1_NOT_ONLY,
	RPCRDMA_V1_SILENT,
	RPCRDMA_V1_DIALECT,
};

/**
 * struct rpcrdma_conn_attr - parameters of a new connection
 * @ops: callbacks of the owner
 * @context: for the owner
 * @spares: array of RPCRDMA_SPARE_KINDS, owned by the owner and used by one connection at
 *	a time, or NULL
 * @config: for the session; sizes are rounded to what the device can do. With a
 *	window of zero the connection follows the module parameter.
 * @reserve: bytes that the owner may hold besides, for as long as the connection exists
 * @recv_owner: bytes that the owner allocates for a message as long as it lies in its Receive
 * @must: others wait for the connection, so it gets memory beyond the module's limit
 * @recv_pages: Receives of pages, if the device and the size of a Receive allow it: the
 *	owner calls rpcrdma_recv_swap(). @spares has none of them.
 * @rtr: rtrext is to be used: Calls and Replies go by groups. Then Sends and Receives have from the
 *	beginning what @grow allows.
 * @recv_head: as in struct rpcrdma_wants; with @rtr there is one, for what is placed
 * @gather: Sends can take data from where it is, if the device allows it
 * @grow: what Sends and Receives may grow to while connected, if the peer takes part in
 *	that (xcharext), in bytes; zero if they keep the sizes in @config
 * @rest: for a server: if the client takes part, what Receives are while larger ones do not
 *	pay, in bytes; zero for the size in @config. They are so from the beginning, as a
 *	server knows its client before it has to say how large they are; unless hosts
 *	authenticate each other, when it does not.
 * @send_ring: Sends that may be outstanding
 * @send_rest: as many of them have a buffer from the beginning and at rest, see ring.c; zero for
 *	all
 * @max_mrs: memory regions at most, zero for none
 * @mr_pages: pages that one memory region can hold
 * @rw_ctxs: RDMA Read and Write contexts at once, zero for none
 * @rw_pages: pages of the largest of them
 * @rw_octets: bytes of the largest message that they transfer
 * @reads_in: RDMA Reads that the peer may have under way, zero for none
 * @reads_out: RDMA Reads that this side may have under way, zero for none
 * @only_v1: why only version 1 may be spoken
 * @previous_loss: why the owner's connection before this one was lost, or NULL
 * @reconnects: how many of the owner's connections were lost before
 *
 * rpcrdma_size_conn() of the core computes the sizes of a connection from these and from
 * the limits of its device.
 */
struct rpcrdma_conn_attr {
	const struct rpcrdma_conn_ops *ops;
	void *context;
	struct rpcrdma_spares *spares;
	struct rpcrdma_config config;
	u32 reserve;
	u32 recv_owner;
	bool must;
	bool recv_pages;
	bool rtr;
	u32 recv_head;
	bool gather;
	u32 grow;
	u32 rest;
	u32 send_ring;
	u32 send_rest;
	u32 max_mrs;
	u32 mr_pages;
	u32 rw_ctxs;
	u32 rw_pages;
	u32 rw_octets;
	u32 reads_in;
	u32 reads_out;
	enum rpcrdma_only_v1 only_v1;
	const char *previous_loss;
	u32 reconnects;
};

/**
 * struct rpcrdma_account_info - memory that a connection holds for RPCs, and its bounds, in bytes
 * @calls: of Calls that no thread has taken yet and that are not in Receives
 * @calls_limit: from there on no more begin to come in
 * @replies: of Replies that are not sent yet
 * @replies_limit: from there on no thread begins with another Call
 * @reserve: what Calls and Replies may have without asking
 * @most: the most that they have held, without Replies of a pool beside @reserve
 * @held_back: Calls that had to wait for memory
 */
struct rpcrdma_account_info {
	u32 calls;
	u32 calls_limit;
	u32 replies;
	u32 replies_limit;
	u32 reserve;
	u32 most;
	u64 held_back;
};

/* Address of one end of a connection. */
union rpcrdma_sockaddr {
	struct sockaddr sa;
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
};

/**
 * struct rpcrdma_resize - sizes of Sends and Receives that change while connected
 * @work: does that
 * @rule: says when. This and all that follows but @on belongs to @work.
 * @on: @work may be scheduled; guarded by the connection's lock
 * @slow: nothing happens, so @work runs seldom or not at all; traffic resets this
 * @rests: @work has set @slow
 * @held: an administrator has asked for sizes: @rule advises nothing any more
 * @wish: Receives that an administrator wants this side to have, or zero; guarded by the
 *	connection's lock, as is @peer_wish
 * @peer_wish: Receives that an administrator wants the peer to have, or zero
 * @goal: larger Receives that this side makes unasked, or zero
 * @begun: the peer is known to take part
 * @rest: bytes of a server's Receives if its client takes part, or zero
 * @least_recv: bytes of Receives at least
 * @most_recv: bytes of the largest Receives
 * @least_send: bytes of Sends at the beginning
 * @most_send: bytes of the largest Sends
 * @affordable: Receives that the peer may ask for, by the memory that there is
 * @cap: the same, by the administrator
 * @allowed: what the session was told of both
 * @wanted_send: Sends that pay
 * @small_sends: memory is short, so they are as at the beginning
 * @limit: what the peer sends at once at most because this side has asked for it, or
 *	U32_MAX
 * @lift: the same, once Receives are large enough for that; zero for nothing
 * @asked_recv: Receives that the peer has been asked for, until that is over, or zero
 * @asked_send: likewise what it is to send at once at most
 * @lost: answers that made no sense before @asked_send was asked for
 * @kept: the peer wants to keep its large Receives
 * @refused: when the peer did not want to send less, in jiffies, or zero
 * @idle: milliseconds of silence
 * @content: of the sizes of the peer there is nothing to ask for while nothing happens
 * @sends_left: Sends are in use whose buffers are to have another size: the completion of Sends
 *	calls rpcrdma_resize_kick(); guarded by the connection's lock
 * @sends_even: the buffers of all Sends have the size that the connection says
 * @sends_failed: there was no memory for smaller ones
 * @measured: that was measured
 * @looked: when, in jiffies
 * @moved: messages in both directions until then
 */
struct rpcrdma_resize {
	struct delayed_work work;
	struct rpcrdma_adapt rule;
	bool on;
	bool slow;
	bool rests;
	bool held;
	bool begun;
	u32 rest;
	u32 wish;
	u32 peer_wish;
	u32 goal;
	u32 least_recv;
	u32 most_recv;
	u32 least_send;
	u32 most_send;
	u32 affordable;
	u32 cap;
	u32 allowed;
	u32 wanted_send;
	bool small_sends;
	u32 limit;
	u32 lift;
	u32 asked_recv;
	u32 asked_send;
	u32 lost;
	bool kept;
	unsigned long refused;
	u32 idle;
	bool content;
	bool sends_left;
	bool sends_even;
	bool sends_failed;
	bool measured;
	unsigned long looked;
	u32 moved;
};

/**
 * struct rpcrdma_conn - one RDMA connection
 * @lock: guards session, queues, ring indices, regions and flags. Never held
 *	by code that sleeps; taken in process context only.
 * @follow: the window follows the module parameter
 * @max_window: largest window that the queues are long enough for
 * @window_work: sets the window to the module parameter
 * @memory: bytes of the module's budget that are held for this connection; its owner's
 *	reserve included, but not what an account has drawn
 * @must: as in struct rpcrdma_conn_attr
 * @spares: as in struct rpcrdma_conn_attr; used when the connection is made and destroyed,
 *	and by @window_work
 * @recvs: all Receives, posted or in use
 * @n_recvs: how many
 * @recv_fresh: Receives that take the place of others of another size
 * @n_recv_fresh: how many
 * @n_recv_later: of @n_recvs, those that are made when the first message has come; nothing is
 *	sent before. Only the Receive handler changes it.
 * @recv_old: Receives whose place has been taken, to be freed
 * @n_recv_old: of @recvs, those that are not of @recv_size
 * @n_recv_small: of these, those that are smaller
 * @recv_free: Receives that are free and wait to be posted together, chained
 * @n_recv_free: how many
 * @recv_back: Receives that are free and that nobody has looked at under @lock since; only who
 *	holds @lock takes some
 * @n_recv_back: how many. Less for a moment while one is added or taken.
 * @recv_slack: so many may be there before somebody has to look; written under @lock
 * @recv_target: what @n_recvs is to be, or is about to be
 * @recv_size: bytes of each Receive, or those that it is to have
 * @recv_pages: the same in pages, or zero if a Receive is in one piece
 * @recv_owner: as in struct rpcrdma_conn_attr
 * @rtr: Calls and Replies may go by groups; does not change
 * @recv_base: where in its first page a Receive begins
 * @recv_whole: memory for one message in one piece, if a Receive has several pages;
 *	belongs to the Receive handler
 * @whole_size: bytes of @recv_whole
 * @buffers: bytes of all Sends and Receives, and of @recv_whole
 * @rx: what the message means that the Receive handler is at, or @stalled
 * @stalled: the Receive that the owner could not take yet, or NULL. Set by the Receive handler;
 *	while it is set, all that the handler does is done by rpcrdma_conn_recv_again()
 * @behind: Receives that have completed since then, in order
 * @refused: if that is a REPTERR, the messages that it is about
 * @n_refused: how many
 * @resize: changes @recv_size and @send_size
 * @lost_work: calls rpcrdma_conn_lost() for callers in other contexts
 * @lost_why: argument for @lost_work
 * @id: number of the connection, never used again; traces and debugfs show it
 * @net: network namespace, which @cm_id keeps
 * @local: address of this end when the connection was made
 * @peer: address of the other end then
 * @device_name: name of the device then
 * @port: port of the device
 * @iwarp: the device speaks iWARP
 * @signals_all: each Send is signaled
 * @max_version: highest version that this side may speak to peers
 * @only_v1: as in struct rpcrdma_conn_attr
 * @auth: hosts authenticate each other; guarded by @lock
 * @auth_policy: enum rpcrdma_auth_policy, as it is for this connection
 * @auth_state: enum rpcrdma_auth_state when it was looked at last
 * @auth_loss: why that failed, a static string, or NULL
 * @auth_work: ends a connection whose peer takes too long
 * @reached: the stage that it was in last before it was closed
 * @loss: why the connection was lost, a static string, or NULL
 * @previous_loss: as in struct rpcrdma_conn_attr
 * @reconnects: as in struct rpcrdma_conn_attr
 * @send_sges: elements of all Sends, @gather_sge of each
 * @send_size: bytes of a Send at most
 * @ring: which Sends are under way, and which have a buffer; all of @sends that there are
 * @ring_work: gives Sends buffers, and takes them away
 * @ring_mutex: held while any of this or the size of buffers changes
 * @ring_failed: when there was no memory for a buffer, or zero
 * @gathered: a Send is out that took data from its place, and none after it is signaled
 * @hurry: such a Send is signaled, and @gathered is followed by a mark
 * @awaited: messages that were sent and whose owner waits to send them again: likewise, while
 *	there are any. Who adds one calls rpcrdma_conn_pump().
 * @mark_cqe: completion of the mark
 * @marking: the mark is out
 * @marked: the Sends before it, then
 * @pump_msg: a message that the pump is about to drop, or NULL
 * @tx_over: messages whose owners are to be told that they are over
 * @telling: the message whose owner is being told, or NULL; it may be gone
 * @send_told: Sends from here to @ring.head are the pump's: not posted yet
 * @pump_waiters: threads that wait at @pump_wait
 * @credit_waiters: bits of enum rpcrdma_credit_waiter: what waits for credit
 * @credit_since: since when anything does
 * @credit_waited: how long anything did before, in nanoseconds
 * @round_trips: what a client's Receive handler has measured
 * @round_trip: the shortest of them, in microseconds, or zero. Only that handler writes it.
 * @job_queue: jobs to be posted
 * @jobs_posted: jobs whose last Work Request has not completed successfully
 * @mr_reg_cqe: completion of a registration, if it fails. That can come after its region is
 *	gone: the Reply came before the Send in front of which it was posted has completed.
 * @mr_first: regions that the connection keeps
 * @mr_rest_work: frees others that have nothing to do
 * @mr_unmapping: threads that unmap regions which are HELD, without the lock
 * @mr_wait: waits for @mr_unmapping to become zero
 * @reads_in: RDMA Reads that the peer may have under way
 * @reads_out: RDMA Reads that this side may have under way
 * @rw_pages: pages of an RDMA Read or Write at most, if this side does any
 * @rw_sets: sets of RDMA Reads and Writes that exist: each may have regions of the queue pair
 * @rw_made: how many there ever were
 * @version1: there are enough regions for version 1
 * @shown: the connection is in the table of verbs/stats.c, guarded by the lock there
 * @rcu: a thread that finds the connection in that table may still read it
 * @debugfs: the file that shows the connection; @stats_work makes and removes it
 * @error: why it was lost, a negative errno; valid after ops->lost was called
 */
struct rpcrdma_conn {
	struct kref kref;
	struct rcu_head rcu;
	const struct rpcrdma_conn_ops *ops;
	void *context;
	unsigned long id;
	u32 role;
	unsigned long flags;
	int error;
	struct work_struct lost_work;
	const char *lost_why;
	bool auth;
	u32 auth_policy;
	u32 auth_state;
	const char *auth_loss;
	struct delayed_work auth_work;
	const char *loss;
	const char *previous_loss;
	u32 reconnects;
	char name[2 * (INET6_ADDRSTRLEN + sizeof("[]:65535"))];

	const struct net *net;
	union rpcrdma_sockaddr local;
	union rpcrdma_sockaddr peer;
	char device_name[IB_DEVICE_NAME_MAX];
	u32 port;
	bool iwarp;
	bool signals_all;
	u32 max_version;
	enum rpcrdma_only_v1 only_v1;

	struct rdma_cm_id *cm_id;
	struct rpcrdma_device *device;
	struct list_head device_link;
	struct ib_pd *pd;
	struct ib_qp *qp;
	struct ib_cq *send_cq;
	struct ib_cq *recv_cq;

	spinlock_t event_lock;	/* what listeners are told, in its order; outside of lock */
	spinlock_t lock;	/* see above */
	struct rpcrdma_session session;
	enum rpcrdma_conn_stage stage;
	enum rpcrdma_conn_stage reached;

	u64 memory;
	bool must;
	struct rpcrdma_spares *spares;
	struct list_head recvs;
	u32 n_recvs;
	struct list_head recv_fresh;
	u32 n_recv_fresh;
	u32 n_recv_later;
	struct list_head recv_old;
	u32 n_recv_old;
	u32 n_recv_small;
	struct ib_recv_wr *recv_free;
	u32 n_recv_free;
	struct llist_head recv_back;
	atomic_t n_recv_back;
	int recv_slack;
	u32 recv_target;
	u32 recv_size;
	u32 recv_pages;
	u32 recv_owner;
	bool rtr;
	u32 recv_base;
	void *recv_whole;
	u32 whole_size;
	atomic_long_t buffers;
	struct rpcrdma_resize resize;
	struct delayed_work ring_work;
	struct mutex ring_mutex;	/* see above */
	unsigned long ring_failed;
	u32 max_window;
	bool follow;
	u32 reads_in;
	u32 reads_out;
	u32 rw_pages;
	atomic_t rw_sets;
	atomic_t rw_made;
	bool version1;
	struct work_struct window_work;
	struct rpcrdma_rx rx;
	struct rpcrdma_recv *stalled;
	struct list_head behind;
	struct rpcrdma_rtr_refused refused[RPCRDMA_RTR_MOST_REFUSED];
	u32 n_refused;

	struct list_head tx_queue;
	struct list_head job_queue;
	struct list_head jobs_posted;
	bool pumping;
	bool pump_again;
	const struct rpcrdma_txmsg *pump_msg;
	struct list_head tx_over;
	const struct rpcrdma_txmsg *telling;
	wait_queue_head_t pump_wait;
	u32 pump_waiters;
	u32 credit_waiters;
	ktime_t credit_since;
	u64 credit_waited;
	struct rpcrdma_round_trip round_trips;
	u32 round_trip;
	struct rpcrdma_send *sends;
	struct ib_sge *send_sges;
	u32 gather_sge;
	bool gathered;
	bool hurry;
	atomic_t awaited;
	bool marking;
	u32 marked;
	struct ib_cqe mark_cqe;
	struct rpcrdma_ring ring;
	u32 send_size;
	u32 send_told;
	u32 sq_depth;
	u32 sq_avail;

	struct rpcrdma_mr_table mr_table;
	struct rpcrdma_mr_slot *mr_slots;
	struct rpcrdma_mr **mrs;
	u32 mr_pages;
	u32 n_mrs;
	u32 mr_first;
	struct ib_cqe mr_reg_cqe;
	struct delayed_work mr_work;
	struct delayed_work mr_rest_work;
	unsigned long mr_delay;
	bool mr_short;		/* ops->room is to be called */
	u32 mr_unmapping;
	wait_queue_head_t mr_wait;

	struct rpcrdma_stats stats;
	ktime_t created;
	bool shown;
	struct dentry *debugfs;
	struct work_struct stats_work;
};

/* Do the stage of @conn and what tells of it agree? Under its lock. */
static inline bool rpcrdma_conn_sound(const struct rpcrdma_conn *conn)
{
	const bool closed = conn->stage >= RPCRDMA_CONN_CLOSED;

	return (closed ? conn->reached < RPCRDMA_CONN_CLOSED :
			 conn->reached == conn->stage) &&
	       (closed || !test_bit(RPCRDMA_CONN_LOST, &conn->flags));
}

/**
 * rpcrdma_conn_advance - the next stage, or a later one
 * @conn: the connection
 * @stage: nothing changes if it is as far, or further
 *
 * Context: the caller holds the lock of @conn.
 *
 * Return: true if it was not, which is so once for each stage.
 */
static inline bool rpcrdma_conn_advance(struct rpcrdma_conn *conn,
					enum rpcrdma_conn_stage stage)
{
	lockdep_assert_held(&conn->lock);
	if (conn->stage >= stage)
		return false;
	WRITE_ONCE(conn->stage, stage);
	if (stage < RPCRDMA_CONN_CLOSED)
		WRITE_ONCE(conn->reached, stage);
	lockdep_assert(rpcrdma_conn_sound(conn));
	return true;
}

/* Has it come as far as @stage, which is before CLOSED? It may have been closed since. */
static inline bool rpcrdma_conn_has_been(const struct rpcrdma_conn *conn,
					 enum rpcrdma_conn_stage stage)
{
	return READ_ONCE(conn->reached) >= stage;
}

/* May messages and RDMA operations be posted? Under the lock of @conn. */
static inline bool rpcrdma_conn_open(const struct rpcrdma_conn *conn)
{
	return conn->stage < RPCRDMA_CONN_CLOSED;
}

/* May regions be given up by Local Invalidate? Under the lock of @conn. */
static inline bool rpcrdma_conn_invalidates(const struct rpcrdma_conn *conn)
{
	return conn->stage < RPCRDMA_CONN_ENDING;
}

/* Is nothing to be posted any more, and no region to be made? Under the lock of @conn. */
static inline bool rpcrdma_conn_dead(const struct rpcrdma_conn *conn)
{
	return conn->stage == RPCRDMA_CONN_DEAD;
}

/**
 * rpcrdma_recv_at - where bytes of a received message are
 * @recv: the Receive
 * @offset: in its message
 * @run: how many bytes from there on are in one piece, or more than there are
 *
 * Return: their address.
 */
static inline const void *rpcrdma_recv_at(const struct rpcrdma_recv *recv,
					  u32 offset, u32 *run)
{
	if (!recv->pages) {
		*run = U32_MAX;
		return recv->buf + offset;
	}
	offset += recv->conn->recv_base;
	*run = PAGE_SIZE - offset_in_page(offset);
	return page_address(recv->pages[offset >> PAGE_SHIFT]) +
	       offset_in_page(offset);
}

/* What kmalloc() takes for a buffer of @size bytes, which are not few. */
static inline u32 rpcrdma_buffer_bytes(u32 size)
{
	return roundup_pow_of_two(size);
}

/* conn.c */
void rpcrdma_conn_charged(struct rpcrdma_conn *conn, u64 octets);
int rpcrdma_conn_charge(struct rpcrdma_conn *conn, u64 octets, bool must);
void rpcrdma_conn_uncharge(struct rpcrdma_conn *conn, u64 octets);
struct rpcrdma_conn *rpcrdma_conn_create(struct rdma_cm_id *cm_id,
					 const struct rpcrdma_conn_attr *attr);
void rpcrdma_conn_destroy(struct rpcrdma_conn *conn);
void rpcrdma_conn_lost(struct rpcrdma_conn *conn, const char *why);
void rpcrdma_conn_lost_later(struct rpcrdma_conn *conn, const char *why);
void rpcrdma_conn_put(struct rpcrdma_conn *conn);
void rpcrdma_conn_ending(struct rpcrdma_conn *conn);
void rpcrdma_conn_reach(struct rpcrdma_conn *conn,
			enum rpcrdma_conn_stage stage);
void rpcrdma_conn_agreed(struct rpcrdma_conn *conn);
void rpcrdma_conn_up(struct rpcrdma_conn *conn);
bool rpcrdma_conn_ready(struct rpcrdma_conn *conn);
u32 rpcrdma_conn_version(struct rpcrdma_conn *conn);
void rpcrdma_conn_info(struct rpcrdma_conn *conn,
		       struct rpcrdma_session_info *info);
void rpcrdma_conn_private(struct rpcrdma_conn *conn,
			  const struct rpcrdma_cm_private *p);
void rpcrdma_conn_fit(struct ib_device *device, u32 role,
		      struct rpcrdma_sizes *sizes);

static inline struct rpcrdma_conn *rpcrdma_conn_get(struct rpcrdma_conn *conn)
{
	kref_get(&conn->kref);
	return conn;
}

/* peer.c */
u64 rpcrdma_peer_key(const struct net *net, const struct sockaddr *sap);

/* recv_buffer.c */
u32 rpcrdma_recv_memory(const struct rpcrdma_conn *conn, u32 size);
int rpcrdma_recv_setup(struct rpcrdma_conn *conn, u32 count, u32 size,
		       bool later);
void rpcrdma_recv_cleanup(struct rpcrdma_conn *conn);
u32 rpcrdma_recv_rounded(const struct rpcrdma_conn *conn, u32 size);
void rpcrdma_recv_free_list(struct list_head *list);
int rpcrdma_recv_supply(struct rpcrdma_conn *conn, u32 count, bool must);

/* recv.c */
int rpcrdma_recv_post_all(struct rpcrdma_conn *conn);
void rpcrdma_conn_recv_put(struct rpcrdma_conn *conn,
			   struct rpcrdma_recv *recv);
void rpcrdma_conn_recv_again(struct rpcrdma_conn *conn);

/**
 * rpcrdma_conn_stalled - is this a try to take bytes that could not be taken at first?
 * @conn: the connection; the caller is called by ops->payload
 *
 * Return: false in the Receive handler; true in rpcrdma_conn_recv_again(), for whose caller only
 * this connection waits.
 */
static inline bool rpcrdma_conn_stalled(const struct rpcrdma_conn *conn)
{
	return READ_ONCE(conn->stalled);
}

bool rpcrdma_recv_swap(struct rpcrdma_recv *recv, u32 first, u32 count,
		       struct page **pages);
void rpcrdma_recv_read(const struct rpcrdma_recv *recv, u32 offset, void *to,
		       u32 length);
void rpcrdma_recv_retarget(struct rpcrdma_conn *conn, u32 size,
			   struct list_head *old);

/* window.c */
int rpcrdma_conn_set_window(struct rpcrdma_conn *conn, u32 window);
void rpcrdma_window_worker(struct work_struct *work);

/* resize.c */
void rpcrdma_resize_init(struct rpcrdma_conn *conn,
			 const struct rpcrdma_conn_attr *attr,
			 const struct rpcrdma_sizes *sizes);
void rpcrdma_resize_start(struct rpcrdma_conn *conn);
void rpcrdma_resize_kick(struct rpcrdma_conn *conn);
void rpcrdma_resize_wake(struct rpcrdma_conn *conn);
int rpcrdma_resize_wish(struct rpcrdma_conn *conn, u32 receive,
			u32 peer_receive);
void rpcrdma_resize_show(struct seq_file *m, struct rpcrdma_conn *conn);

/* ring.c */
u32 rpcrdma_send_spare(const struct rpcrdma_conn *conn);
u64 rpcrdma_send_memory(const struct rpcrdma_conn *conn, u32 count, u32 size);
void rpcrdma_ring_init(struct rpcrdma_conn *conn,
		       const struct rpcrdma_conn_attr *attr);
int rpcrdma_send_setup(struct rpcrdma_conn *conn, u32 count, u32 size);
int rpcrdma_ring_fill(struct rpcrdma_conn *conn);
void rpcrdma_send_cleanup(struct rpcrdma_conn *conn);
int rpcrdma_send_resize(struct rpcrdma_conn *conn, u32 size);

/* fill.c */
int rpcrdma_txmsg_copy(const struct rpcrdma_txmsg *tm, u32 offset, void *to,
		       u32 length);
const void *rpcrdma_xdr_piece(const struct xdr_buf *xdr, u32 offset,
			      u32 *length);
struct ib_sge *rpcrdma_send_element(struct rpcrdma_send *send, u64 addr,
				    u32 length);
bool rpcrdma_send_take(struct rpcrdma_send *send, const void *from, u32 length);
void rpcrdma_send_unmap(struct rpcrdma_send *send);

/* send.c */
void rpcrdma_credit_wait(struct rpcrdma_conn *conn,
			 enum rpcrdma_credit_waiter who, bool waits);
u64 rpcrdma_credit_waited(const struct rpcrdma_conn *conn);
bool __must_check rpcrdma_conn_admits(struct rpcrdma_conn *conn,
				      struct rpcrdma_txmsg *tm, u32 xid);
int rpcrdma_conn_send(struct rpcrdma_conn *conn, struct rpcrdma_txmsg *tm);
int rpcrdma_conn_send_planned(struct rpcrdma_conn *conn,
			      struct rpcrdma_txmsg *tm, bool ask)
	__releases(&conn->lock);
u32 rpcrdma_conn_call_refused(struct rpcrdma_conn *conn,
			      struct rpcrdma_txmsg *tm,
			      const struct rpcrdma_rx *rx);
void rpcrdma_conn_end_call(struct rpcrdma_conn *conn,
			   struct rpcrdma_txmsg *tm);
bool rpcrdma_conn_fits(const struct rpcrdma_conn *conn, u32 cost);
bool rpcrdma_conn_refuse(struct rpcrdma_conn *conn, u32 xid, u32 errcode,
			 u32 index, u32 needed);

/* pump.c */
void rpcrdma_conn_pump(struct rpcrdma_conn *conn);

/* sent.c */
void rpcrdma_conn_hurry(struct rpcrdma_conn *conn, bool hurry);
void rpcrdma_send_stop(struct rpcrdma_conn *conn);
void rpcrdma_send_flush(struct rpcrdma_conn *conn);

/* cancel.c */
bool rpcrdma_conn_cancel(struct rpcrdma_conn *conn, struct rpcrdma_txmsg *tm);
void rpcrdma_conn_wait_sent(struct rpcrdma_conn *conn,
			    struct rpcrdma_txmsg *tm);

/* job.c */
int rpcrdma_conn_job(struct rpcrdma_conn *conn, struct rpcrdma_job *job);
void rpcrdma_conn_fault(struct rpcrdma_conn *conn, const char *what,
			const struct ib_wc *wc, u64 call);

/**
 * rpcrdma_rx_continues - has the receiver got all that is in front of a part of a Reply?
 * @rx: the part
 * @placed: bytes of the Reply that the receiver has got; counts those of @rx, too
 *
 * A part can come before its Call is known. What follows of that Reply is then not taken.
 *
 * Context: the Receive handler.
 */
static inline bool rpcrdma_rx_continues(const struct rpcrdma_rx *rx, u32 *placed)
{
	if (!rx->stream_offset)
		*placed = 0;
	if (rx->stream_offset != *placed)
		return false;
	*placed += rx->payload.length;
	return true;
}

/* There are none. What is not counted keeps its value: the lists are long. */
static inline void rpcrdma_no_chunks(struct rpcrdma_chunks *c)
{
	c->n_call = 0;
	c->n_reads = 0;
	c->n_writes = 0;
	c->n_write_segs = 0;
	c->has_reply = false;
}

/* rtr.c */
void rpcrdma_rtr_want(struct rpcrdma_conn_attr *attr);
bool rpcrdma_rtr_drop(struct rpcrdma_conn_attr *attr);
bool rpcrdma_rtr_setup(struct rpcrdma_conn *conn,
		       const struct rpcrdma_conn_attr *attr);
void rpcrdma_rtr_shape(const struct rpcrdma_conn *conn,
		       struct rpcrdma_rtr_shape *shape);
u32 rpcrdma_rtr_head(const struct rpcrdma_recv *recv);
u32 rpcrdma_rtr_decide(struct rpcrdma_conn *conn, struct rpcrdma_send *send,
		       struct rpcrdma_txmsg *tm);
bool rpcrdma_rtr_fill(struct rpcrdma_send *send);

/* frwr.c */
u64 rpcrdma_frwr_memory(const struct rpcrdma_conn *conn,
			const struct rpcrdma_sizes *sizes);
int rpcrdma_frwr_setup(struct rpcrdma_conn *conn,
		       const struct rpcrdma_sizes *sizes);
void rpcrdma_frwr_cleanup(struct rpcrdma_conn *conn);
void rpcrdma_frwr_reclaim(struct rpcrdma_conn *conn);
int rpcrdma_frwr_map(struct rpcrdma_conn *conn, struct list_head *mrs,
		     const struct rpcrdma_range *range, struct page **pages,
		     bool remote_write, struct rpcrdma_segment *segs,
		     u32 max_segs);
int rpcrdma_frwr_map_kvec(struct rpcrdma_conn *conn, struct list_head *mrs,
			  const struct kvec *vec, bool remote_write,
			  struct rpcrdma_segment *segs, u32 max_segs);
struct ib_send_wr *rpcrdma_frwr_chain(struct list_head *mrs,
				      struct ib_send_wr *next);
void rpcrdma_frwr_remote_inv(struct rpcrdma_conn *conn, struct list_head *mrs,
			     u32 handle);
bool __rpcrdma_frwr_invalidate(struct rpcrdma_conn *conn, struct list_head *mrs,
			       struct rpcrdma_inv *inv);
void rpcrdma_frwr_invalidate_wait(struct rpcrdma_conn *conn,
				  struct list_head *mrs);
void rpcrdma_frwr_keep_cpu(struct rpcrdma_conn *conn, struct list_head *mrs,
			   const struct rpcrdma_segment *segs, u32 n_segs);
bool __rpcrdma_frwr_undo(struct rpcrdma_conn *conn, struct list_head *mrs);
bool rpcrdma_frwr_short(struct rpcrdma_conn *conn);
void __rpcrdma_frwr_put(struct rpcrdma_conn *conn, struct list_head *mrs);

/* An RPC without regions needs no lock: only its own thread adds some. */
static inline bool rpcrdma_frwr_none(const struct list_head *mrs)
{
	return list_empty_careful(mrs);
}

/**
 * rpcrdma_frwr_invalidate - take a list of regions away from the peer
 * @conn: the connection
 * @mrs: regions of one RPC
 * @inv: its @done is called at the end; it must live until then
 *
 * Context: Process context, no lock held. Does not sleep.
 *
 * Return: true if @inv->done will be called, with every region of @mrs HELD
 * or taken back; false if nothing was left to invalidate.
 */
static inline bool rpcrdma_frwr_invalidate(struct rpcrdma_conn *conn,
					   struct list_head *mrs,
					   struct rpcrdma_inv *inv)
{
	return !rpcrdma_frwr_none(mrs) &&
	       __rpcrdma_frwr_invalidate(conn, mrs, inv);
}

/**
 * rpcrdma_frwr_undo - give back regions that are too few for an RPC
 * @conn: the connection
 * @mrs: regions of one RPC; the peer can reach none of them
 *
 * Does not call ops->room: so few regions would not help a waiting RPC.
 *
 * Context: Process context, no lock held.
 *
 * Return: true if @mrs had regions.
 */
static inline bool rpcrdma_frwr_undo(struct rpcrdma_conn *conn,
				     struct list_head *mrs)
{
	return !rpcrdma_frwr_none(mrs) && __rpcrdma_frwr_undo(conn, mrs);
}

/**
 * rpcrdma_frwr_put - give back every region that the peer cannot reach
 * @conn: the connection
 * @mrs: regions of one RPC; those of a dead connection stay on it until
 *	rpcrdma_frwr_reclaim() takes them
 *
 * Context: Process context, no lock held. Calls ops->room if somebody waits.
 */
static inline void rpcrdma_frwr_put(struct rpcrdma_conn *conn,
				    struct list_head *mrs)
{
	if (!rpcrdma_frwr_none(mrs))
		__rpcrdma_frwr_put(conn, mrs);
}

/* spares.c */
void *rpcrdma_spare_get(struct rpcrdma_spares *s, u32 size, int node,
			gfp_t gfp);
void rpcrdma_spare_put(struct rpcrdma_spares *s, void *buf, u32 size);
void rpcrdma_spares_free(struct rpcrdma_spares *s);

static inline struct rpcrdma_spares *
rpcrdma_spares(const struct rpcrdma_conn *conn, u32 kind)
{
	return conn->spares ? &conn->spares[kind] : NULL;
}

/* device.c */
int rpcrdma_device_init(void);
void rpcrdma_device_exit(void);
int rpcrdma_device_add(struct rpcrdma_conn *conn);
void rpcrdma_device_del(struct rpcrdma_conn *conn);

/**
 * struct rpcrdma_device_info - what a device is, for people
 * @index: of ib_core
 * @name: as it is called now
 * @iwarp: it speaks iWARP
 * @conns: connections in the network namespace that was asked for
 * @client: what a client's connection would be made with
 * @server: what a server's would be
 */
struct rpcrdma_device_info {
	u32 index;
	char name[IB_DEVICE_NAME_MAX];
	bool iwarp;
	u32 conns;
	struct rpcrdma_sizes client;
	struct rpcrdma_sizes server;
};

bool rpcrdma_device_next(const struct net *net, u32 from,
			 struct rpcrdma_device_info *info);

/* stats.c */
int __must_check rpcrdma_stats_init(void);
void rpcrdma_stats_exit(void);
int __must_check rpcrdma_stats_add(struct rpcrdma_conn *conn);
void rpcrdma_stats_del(struct rpcrdma_conn *conn);
void rpcrdma_stats_resize_windows(void);
void rpcrdma_stats_sum(struct rpcrdma_stats *to,
		       const struct rpcrdma_stats *from);
void rpcrdma_stats_of(u32 role, struct rpcrdma_stats *sum);
struct rpcrdma_conn *rpcrdma_conn_find(const struct net *net, u64 id);
struct rpcrdma_conn *rpcrdma_conn_next(const struct net *net, unsigned long id);
u32 rpcrdma_errcode_slot(u32 errcode);
u32 rpcrdma_slot_errcode(u32 slot);

#endif /* _RPCRDMA_VERBS_H */
