// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The connection layer over a real RDMA device: one connection to ourselves.
 *
 *	client conn ----- rdma_cm, rxe ----- server conn
 *
 * Each side keeps the bytes of the last message that came, by direction.
 */
#include <kunit/test.h>
#include <linux/inet.h>
#include <linux/delay.h>
#include <linux/module.h>
#include <linux/sunrpc/sched.h>
#include <net/genetlink.h>
#include <rdma/mr_pool.h>
#include <uapi/linux/rpcrdma.h>

#include <rpcrdma/xcharext.h>

#include "auth.h"
#include "budget.h"
#include "client/client.h"
#include "netlink.h"
#include "params.h"
#include "server/call.h"
#include "verbs/dma.h"
#include "verbs/verbs.h"

static char *addr = "192.0.2.1";
module_param(addr, charp, 0444);
MODULE_PARM_DESC(addr, "IPv4 address of an RDMA device of this machine");

#define CONN_TIMEOUT_MS	120000
#define CONN_TIMEOUT	(CONN_TIMEOUT_MS / MSEC_PER_SEC * HZ)
/* Look again after so many milliseconds. */
#define CONN_LOOK	20
#define CONN_WINDOW	8
#define CONN_MAX	SZ_1M
#define CONN_PAGES	17
/* With its header it is in two pages, of any size that a Receive of two pages can have. */
#define CONN_SPANS	6000
#define CONN_GROWN	SZ_32K
/* Parts of a message that shows it, with small Sends and with large ones. */
#define CONN_WRITE	SZ_16K

/* Waits until @cond holds, for @limit jiffies at most. Return: it holds. */
#define conn_becomes_in(cond, limit)					\
({									\
	const unsigned long end_ = jiffies + (limit);			\
	bool last_ = false, holds_;					\
									\
	while (!(holds_ = (cond)) && !last_) {				\
		msleep(CONN_LOOK);					\
		last_ = time_after(jiffies, end_);			\
	}								\
	holds_;								\
})

/* A slow machine is no failure: only a failure takes as long as CONN_TIMEOUT. */
#define conn_becomes(cond)	conn_becomes_in(cond, CONN_TIMEOUT)

/* The same, of what would come by itself when a connection has had nothing to do for a minute. */
#define conn_becomes_soon(cond)	conn_becomes_in(cond, 45 * HZ)

struct conn_side {
	struct rdma_cm_id *cm_id;
	struct rpcrdma_conn *conn;
	struct completion ready;
	struct completion lost;
	struct completion arrived;
	atomic_t messages;
	spinlock_t lock;	/* guards held */
	struct list_head held;
	bool hold;
	u32 version;
	u32 invalidated;
	u32 length;
	u64 faulty;
	bool sure;
	bool queues;	/* as the server has them */
	bool large;	/* and larger messages than clients of Linux have */
	bool pages;	/* it receives into pages, and sends from them */
	u32 grow;	/* what its Sends and Receives may grow to */
	u32 rest;	/* what Receives of a server are before and after that */
	bool rtr;
	bool late;	/* the work item of its sizes does not run */
	bool follows;	/* the module parameter says how large its window is */
	bool bare;	/* Sends without a buffer, as mounts and nfsd have them */
	bool wraps;	/* the numbers of its Sends do, soon */
	u32 owner;	/* bytes that its owner has for each message in a Receive */
	u32 offset;	/* of the payload in the last Receive */
	u32 n_writes;
	struct rpcrdma_spares *spares;
	struct rpcrdma_txmsg *call;	/* that errors are about */
	atomic_t room;
	atomic_t no_room;
	atomic_t receiving;	/* messages that are on their way to @held */
	atomic_t again;	/* Receives that are not taken at first */
	struct completion stalled;
	u32 stalls_at;	/* nor is this one, by its XID */
	u32 last_xid;
	u32 disorder;	/* how often XIDs did not ascend */
	u8 *got;
};

struct conn_fixture {
	struct rdma_cm_id *listener;
	struct rdma_cm_id *refuser;
	struct completion step;
	struct conn_side client;
	struct conn_side server;
	u64 recv_limit;		/* of the module, before the case */
	u8 *stream;
};

struct conn_msg {
	struct rpcrdma_txmsg tm;
	struct xdr_buf xdr;
	struct rpcrdma_rtr_group group;
	struct rpcrdma_range item;
	struct rpcrdma_svc_rw *rw;
	struct completion done;
	int status;
	int ends;
};

static void conn_ready(struct rpcrdma_conn *conn)
{
	struct conn_side *side = conn->context;

	complete(&side->ready);
}

static void conn_lost(struct rpcrdma_conn *conn)
{
	struct conn_side *side = conn->context;

	complete_all(&side->lost);
}

static enum rpcrdma_recv_verdict conn_payload(struct rpcrdma_conn *conn,
					      const struct rpcrdma_rx *rx,
					      struct rpcrdma_recv *recv,
					      u32 invalidated)
{
	struct conn_side *side = conn->context;
	const void *from;
	u32 done, run;
	bool hold;

	if (atomic_add_unless(&side->again, -1, 0))
		return RPCRDMA_RECV_AGAIN;
	if (side->stalls_at && side->stalls_at == rx->xid) {
		side->stalls_at = 0;
		return RPCRDMA_RECV_AGAIN;
	}
	side->disorder += rx->xid < side->last_xid;
	side->last_xid = rx->xid;
	for (done = 0; done < rx->payload.length; done += run) {
		from = rpcrdma_recv_at(recv, rx->payload.offset + done, &run);
		run = min(run, rx->payload.length - done);
		if (rx->stream_offset + done + run <= CONN_MAX)
			memcpy(side->got + rx->stream_offset + done, from, run);
	}
	side->offset = rx->payload.offset;
	side->n_writes = rx->chunks.n_writes;
	side->length = rx->stream_length;
	if (invalidated)
		side->invalidated = invalidated;
	atomic_inc(&side->receiving);
	/* Pairs with conn_let_go(): either that waits for this, or @hold is not set any more. */
	smp_mb__after_atomic();
	if (rx->last) {
		atomic_inc(&side->messages);
		complete(&side->arrived);
	}
	hold = READ_ONCE(side->hold);
	if (hold) {
		recv->part = rx->payload;
		spin_lock(&side->lock);
		list_add_tail(&recv->link, &side->held);
		spin_unlock(&side->lock);
	}
	atomic_dec(&side->receiving);
	return hold ? RPCRDMA_RECV_KEEP : RPCRDMA_RECV_DONE;
}

/* Give back what was held, and hold no more. A message is told of before it is held. */
static void conn_let_go(struct conn_side *side)
{
	struct rpcrdma_recv *recv;

	WRITE_ONCE(side->hold, false);
	/* Pairs with conn_payload(). */
	smp_mb();
	while (atomic_read(&side->receiving))
		msleep(CONN_LOOK);
	spin_lock(&side->lock);
	while ((recv = list_first_entry_or_null(&side->held,
						struct rpcrdma_recv, link))) {
		list_del_init(&recv->link);
		spin_unlock(&side->lock);
		rpcrdma_conn_recv_put(side->conn, recv);
		spin_lock(&side->lock);
	}
	spin_unlock(&side->lock);
}

/* The case goes on with it. */
static void conn_stalled(struct rpcrdma_conn *conn)
{
	struct conn_side *side = conn->context;

	complete(&side->stalled);
}

static void conn_abandon(struct rpcrdma_conn *conn, enum rpcrdma_dir dir)
{
}

static void conn_failed(struct rpcrdma_conn *conn, const struct rpcrdma_rx *rx)
{
	struct conn_side *side = conn->context;

	if (side->call && side->call->msg.xid == rx->xid &&
	    rx->errcode == RPCRDMA2_ERR_INVAL_HTYPE)
		rpcrdma_conn_call_refused(conn, side->call, rx);
}

static void conn_fault(struct rpcrdma_conn *conn, u64 call, bool sure)
{
	struct conn_side *side = conn->context;

	side->faulty = call;
	side->sure = sure;
}

static void conn_room(struct rpcrdma_conn *conn)
{
	struct conn_side *side = conn->context;

	atomic_inc(&side->room);
}

static void conn_no_room(struct rpcrdma_conn *conn)
{
	struct conn_side *side = conn->context;

	atomic_inc(&side->no_room);
}

static void conn_account_info(const struct rpcrdma_conn *conn,
			      struct rpcrdma_account_info *info)
{
	memset(info, 0xff, sizeof(*info));
}

static const struct rpcrdma_conn_ops conn_ops = {
	.ready = conn_ready,
	.lost = conn_lost,
	.payload = conn_payload,
	.stalled = conn_stalled,
	.abandon = conn_abandon,
	.failed = conn_failed,
	.fault = conn_fault,
	.room = conn_room,
	.no_room = conn_no_room,
	.account = conn_account_info,
};

/* list_count_nodes() is not in each kernel of 6.1. */
static u32 conn_count(const struct list_head *list)
{
	const struct list_head *at;
	u32 count = 0;

	list_for_each(at, list)
		count++;
	return count;
}

static void conn_not_yet(struct work_struct *work)
{
}

/* Nothing was sent yet. The ring goes round once before the numbers of Sends wrap at 2^32. */
static void conn_wraps_soon(struct rpcrdma_conn *conn)
{
	const u32 first = -conn->ring.sends;

	spin_lock(&conn->lock);
	conn->ring.head = first;
	conn->ring.tail = first;
	conn->ring.moved = first;
	conn->send_told = first;
	conn->marked = first;
	spin_unlock(&conn->lock);
}

static struct rpcrdma_conn *conn_make(struct conn_side *side, u32 role)
{
	struct rpcrdma_conn *conn;
	struct rpcrdma_conn_attr attr = {
		.ops = &conn_ops,
		.context = side,
		.spares = side->spares,
		.config = {
			.role = role,
			.window = side->follows ? 0 : CONN_WINDOW,
			.max_message = CONN_MAX,
			.max_read_chunks = RPCRDMA_MAX_CHUNKS,
			.max_write_chunks = RPCRDMA_MAX_CHUNKS,
			.first_xid = 1,
			.min_version = side->version,
			.max_version = side->version,
			.ddp_threshold = RPCRDMA_DEF_THRESHOLD,
			.extensions = RPCRDMA_ALL_EXTENSIONS,
			.local = {
				.send_size = RPCRDMA_DEF_INLINE,
				.recv_size = RPCRDMA_DEF_INLINE,
				.max_segment_size = RPCRDMA_MAX_PAYLOAD,
				.max_segments = RPCRDMA_MAX_SEGMENTS,
				.reverse = RPCRDMA_RVRSDIR_GENL,
			},
		},
		.recv_owner = side->owner,
		.recv_pages = side->pages,
		.gather = side->pages,
		.grow = side->grow,
		.rest = side->rest,
		.send_ring = 16,
		.max_mrs = 8,
		.mr_pages = RPCRDMA_MR_PAGES,
	};

	if (side->rtr) {
		attr.rtr = true;
		attr.recv_pages = true;
		attr.recv_head = RPCRDMA_RTR_HEAD;
		attr.config.local.recv_size += RPCRDMA_RTR_HEAD;
		attr.config.local.send_size += RPCRDMA_RTR_HEAD;
	}
	if (side->bare) {
		attr.send_ring = RPCRDMA_SEND_RING;
		attr.send_rest = RPCRDMA_SEND_REST;
	}
	if (side->queues) {
		attr.send_ring = RPCRDMA_SEND_RING;
		attr.max_mrs = 0;
	}
	if (side->queues || (side->rtr && role == RPCRDMA_ROLE_SERVER)) {
		attr.rw_ctxs = RPCRDMA_SVC_RW_CTXS;
		attr.rw_pages = RPCRDMA_SVC_RW_PAGES;
		attr.rw_octets = side->large ? 4 * RPCRDMA_MAX_MESSAGE :
					       RPCRDMA_MAX_MESSAGE;
	}
	conn = rpcrdma_conn_create(side->cm_id, &attr);
	if (side->late && !IS_ERR(conn))
		INIT_DELAYED_WORK(&conn->resize.work, conn_not_yet);
	if (side->wraps && !IS_ERR(conn))
		conn_wraps_soon(conn);
	return conn;
}

static int conn_cm_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct conn_fixture *f = id->context;
	struct conn_side *side = id == f->client.cm_id ? &f->client :
				 &f->server;

	switch (event->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		f->server.cm_id = id;
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		if (side->conn)
			rpcrdma_conn_lost(side->conn, "disconnected");
		return 0;
	case RDMA_CM_EVENT_ESTABLISHED:
		/* The server's would wake the client's wait. */
		if (side == &f->server)
			return 0;
		break;
	default:
		break;
	}
	complete(&f->step);
	return 0;
}

/* All that a connection may still use is freed behind conn_exit(), also if a case ends early. */
static void conn_kvfree(void *octets)
{
	kvfree(octets);
}

static void *conn_kvzalloc(struct kunit *test, u32 size)
{
	void *octets = kvzalloc(size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, octets);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, conn_kvfree,
							octets), 0);
	return octets;
}

static void conn_side_init(struct kunit *test, struct conn_side *side,
			   u32 version)
{
	side->version = version;
	init_completion(&side->ready);
	init_completion(&side->lost);
	init_completion(&side->arrived);
	init_completion(&side->stalled);
	spin_lock_init(&side->lock);
	INIT_LIST_HEAD(&side->held);
	side->got = conn_kvzalloc(test, CONN_MAX);
}

static struct rpcrdma_session_info conn_info(struct conn_side *side)
{
	struct rpcrdma_session_info info;

	spin_lock(&side->conn->lock);
	rpcrdma_session_info(&side->conn->session, &info);
	spin_unlock(&side->conn->lock);
	return info;
}

/* Receives that wait to be posted with others, or to be looked at. */
static u32 conn_free(const struct rpcrdma_conn *conn)
{
	return READ_ONCE(conn->n_recv_free) + atomic_read(&conn->n_recv_back);
}

/* What nobody can ask for when the test is over. */
static void conn_tell(struct kunit *test, const char *name,
		      struct conn_side *side)
{
	struct rpcrdma_conn *conn = side->conn;
	struct rpcrdma_session_info info;
	u32 sends, room, recvs;
	enum rpcrdma_conn_stage stage;
	bool pumping, queued;

	if (IS_ERR_OR_NULL(conn))
		return;
	spin_lock(&conn->lock);
	rpcrdma_session_info(&conn->session, &info);
	sends = conn->ring.head - conn->ring.tail;
	room = conn->sq_avail;
	recvs = conn_free(conn);
	stage = conn->stage;
	pumping = conn->pumping;
	queued = !list_empty(&conn->tx_queue);
	spin_unlock(&conn->lock);
	kunit_info(test, "%s: error %d stage %d pumping %d queued %d lost %d: %s\n",
		   name, READ_ONCE(conn->error), stage, pumping, queued,
		   completion_done(&side->lost),
		   READ_ONCE(conn->loss) ?: "not at all");
	kunit_info(test, "%s: %u Sends out, room for %u, %u Receives free\n",
		   name, sends, room, recvs);
	kunit_info(test, "%s: sent %u received %u, may send %u, window %u used %u\n",
		   name, info.sent, info.received, info.peer_credits,
		   info.window, info.window_used);
}

/* What was awaited has happened; if not, how far both ends have come is of interest. */
static void conn_assert(struct kunit *test, bool done)
{
	struct conn_fixture *f = test->priv;

	if (!done) {
		conn_tell(test, "client", &f->client);
		conn_tell(test, "server", &f->server);
	}
	KUNIT_ASSERT_TRUE(test, done);
}

static void conn_wait(struct kunit *test, struct completion *c)
{
	conn_assert(test, wait_for_completion_timeout(c, CONN_TIMEOUT));
}

/* The entries of a list that others change under @lock. */
static u32 conn_count_under(spinlock_t *lock, const struct list_head *list)
{
	u32 count;

	spin_lock(lock);
	count = conn_count(list);
	spin_unlock(lock);
	return count;
}

static u32 conn_n_held(struct conn_side *side)
{
	return conn_count_under(&side->lock, &side->held);
}

/* Receives of @side wait for others, or are held, or are posted; none is in its handler. */
static bool conn_recvs_are_back(struct conn_side *side)
{
	const u32 back = conn_free(side->conn) + conn_n_held(side);

	return conn_info(side).window_used == back;
}

/* What @from has sent has come. */
static bool conn_all_came(struct conn_side *from, struct conn_side *to)
{
	return conn_info(from).sent == conn_info(to).received;
}

static u32 conn_all_sent(struct conn_fixture *f)
{
	return conn_info(&f->client).sent + conn_info(&f->server).sent;
}

/*
 * Is nothing under way, and nothing due? All that was sent before this began has come, and its
 * handlers have given their Receives back. They may still be about to pump: this does so for them.
 * If nothing is sent meanwhile, there is nothing to send.
 */
static bool conn_is_settled(struct conn_fixture *f)
{
	const u32 sent = conn_all_sent(f);

	if (!conn_all_came(&f->client, &f->server) ||
	    !conn_all_came(&f->server, &f->client) ||
	    !conn_recvs_are_back(&f->client) ||
	    !conn_recvs_are_back(&f->server))
		return false;
	rpcrdma_conn_pump(f->client.conn);
	rpcrdma_conn_pump(f->server.conn);
	return !READ_ONCE(f->client.conn->pumping) &&
	       !READ_ONCE(f->server.conn->pumping) &&
	       conn_all_sent(f) == sent;
}

/* Both sides have as much credit as they get before another message is sent. */
static void conn_settle(struct kunit *test)
{
	struct conn_fixture *f = test->priv;

	conn_assert(test, conn_becomes(conn_is_settled(f)));
}

/* Its owner hears that there is room again, once. */
static void conn_wait_room(struct kunit *test, struct conn_side *side)
{
	conn_becomes(atomic_read(&side->room));
	KUNIT_EXPECT_EQ(test, atomic_read(&side->room), 1);
}

static void conn_end(struct conn_side *side)
{
	if (!IS_ERR_OR_NULL(side->conn)) {
		rpcrdma_conn_destroy(side->conn);
		rpcrdma_conn_put(side->conn);
	} else if (!IS_ERR_OR_NULL(side->cm_id)) {
		rdma_destroy_id(side->cm_id);
	}
	side->conn = NULL;
	side->cm_id = NULL;
}

/* A cm_id that is bound to the device by which @to can be reached. @side may be on the stack. */
static void conn_resolve(struct kunit *test, struct conn_side *side,
			 struct sockaddr *to)
{
	struct conn_fixture *f = test->priv;
	bool resolved;

	reinit_completion(&f->step);
	side->cm_id = rdma_create_id(&init_net, conn_cm_event, f, RDMA_PS_TCP,
				     IB_QPT_RC);
	KUNIT_ASSERT_FALSE(test, IS_ERR(side->cm_id));
	resolved = !rdma_resolve_addr(side->cm_id, NULL, to, CONN_TIMEOUT_MS) &&
		   wait_for_completion_timeout(&f->step, CONN_TIMEOUT) &&
		   side->cm_id->device;
	if (!resolved)
		conn_end(side);
	KUNIT_ASSERT_TRUE(test, resolved);
}

/* How a connection of a case is made. Zeros are for the simplest one of version 1. */
struct conn_shape {
	bool version2;
	bool pages;		/* the server's Receives are of pages */
	u32 client_grow;	/* what buffers may grow to, */
	u32 grow;		/* and the server's */
	u32 rest;		/* and these at rest */
	bool rtr;
	bool late;		/* nothing grows before the case says so */
	bool bare;		/* few Sends have a buffer at first */
	bool wraps;		/* the numbers of Sends wrap soon */
	bool follows;		/* windows are as the module parameter says */
};

static int conn_open(struct kunit *test, struct conn_shape shape)
{
	const u32 version = shape.version2 ? 2 : 1;
	struct conn_fixture *f = kunit_kzalloc(test, sizeof(*f), GFP_KERNEL);
	struct sockaddr_in sin = { .sin_family = AF_INET };
	/* On a busy machine a packet is late, and not only once. No Receive ever is. */
	struct rdma_conn_param param = {
		.responder_resources = 1,
		.retry_count = 7,
		.rnr_retry_count = 0,
	};
	int rc;

	KUNIT_ASSERT_NOT_NULL(test, f);
	test->priv = f;
	f->recv_limit = rpcrdma_recv_limit;
	init_completion(&f->step);
	conn_side_init(test, &f->client, version);
	conn_side_init(test, &f->server, version);
	f->server.pages = shape.pages;
	f->client.grow = shape.client_grow;
	f->server.grow = shape.grow;
	f->server.rest = shape.rest;
	f->client.rtr = shape.rtr;
	f->server.rtr = shape.rtr;
	f->server.late = shape.late;
	f->client.bare = shape.bare;
	f->server.bare = shape.bare;
	f->client.wraps = shape.wraps;
	f->server.wraps = shape.wraps;
	f->client.follows = shape.follows;
	f->server.follows = shape.follows;
	f->stream = conn_kvzalloc(test, CONN_MAX);
	get_random_bytes(f->stream, CONN_MAX);

	sin.sin_addr.s_addr = in_aton(addr);
	f->listener = rdma_create_id(&init_net, conn_cm_event, f, RDMA_PS_TCP,
				     IB_QPT_RC);
	KUNIT_ASSERT_FALSE(test, IS_ERR(f->listener));
	KUNIT_ASSERT_EQ(test, rdma_bind_addr(f->listener,
					     (struct sockaddr *)&sin), 0);
	KUNIT_ASSERT_EQ(test, rdma_listen(f->listener, 1), 0);
	sin.sin_port = ((struct sockaddr_in *)
			&f->listener->route.addr.src_addr)->sin_port;

	conn_resolve(test, &f->client, (struct sockaddr *)&sin);
	KUNIT_ASSERT_EQ(test, rdma_resolve_route(f->client.cm_id, CONN_TIMEOUT_MS),
			0);
	conn_wait(test, &f->step);
	f->client.conn = conn_make(&f->client, RPCRDMA_ROLE_CLIENT);
	KUNIT_ASSERT_FALSE(test, IS_ERR(f->client.conn));
	KUNIT_ASSERT_EQ(test, rdma_connect(f->client.cm_id, &param), 0);
	conn_wait(test, &f->step);
	KUNIT_ASSERT_NOT_NULL(test, f->server.cm_id);
	f->server.conn = conn_make(&f->server, RPCRDMA_ROLE_SERVER);
	KUNIT_ASSERT_FALSE(test, IS_ERR(f->server.conn));
	param.responder_resources = 0;
	param.initiator_depth = 1;
	rdma_lock_handler(f->server.cm_id);
	rc = rdma_accept(f->server.cm_id, &param);
	rdma_unlock_handler(f->server.cm_id);
	KUNIT_ASSERT_EQ(test, rc, 0);
	conn_wait(test, &f->step);

	rpcrdma_conn_pump(f->client.conn);
	/* Version 1 has no messages that open a connection. */
	if (!shape.version2)
		return 0;
	conn_wait(test, &f->client.ready);
	conn_wait(test, &f->server.ready);
	/* The handlers that have said so are over. */
	conn_settle(test);
	return 0;
}

static int conn_init(struct kunit *test)
{
	return conn_open(test, (struct conn_shape){ .version2 = true });
}

static int conn_init_pages(struct kunit *test)
{
	return conn_open(test, (struct conn_shape){ .version2 = true, .pages = true });
}

static int conn_init_pages_wrap(struct kunit *test)
{
	return conn_open(test, (struct conn_shape){
		.version2 = true,
		.pages = true,
		.wraps = true,
	});
}

static int conn_init_growing(struct kunit *test)
{
	return conn_open(test, (struct conn_shape){
		.version2 = true,
		.pages = true,
		.client_grow = CONN_GROWN,
		.grow = CONN_GROWN,
	});
}

static int conn_init_resting(struct kunit *test)
{
	return conn_open(test, (struct conn_shape){
		.version2 = true,
		.pages = true,
		.client_grow = CONN_GROWN,
		.grow = CONN_GROWN,
		.rest = PAGE_SIZE,
	});
}

static int conn_init_late(struct kunit *test)
{
	return conn_open(test, (struct conn_shape){
		.version2 = true,
		.pages = true,
		.client_grow = CONN_GROWN,
		.grow = CONN_GROWN,
		.late = true,
	});
}

/* The server cannot make small what the client cannot ask to be larger. */
static int conn_init_alone(struct kunit *test)
{
	return conn_open(test, (struct conn_shape){
		.version2 = true,
		.pages = true,
		.grow = CONN_GROWN,
		.rest = PAGE_SIZE,
	});
}

static int conn_init_bare(struct kunit *test)
{
	return conn_open(test, (struct conn_shape){
		.version2 = true,
		.pages = true,
		.client_grow = CONN_GROWN,
		.grow = CONN_GROWN,
		.bare = true,
	});
}

static int conn_init_bare_wrap(struct kunit *test)
{
	return conn_open(test, (struct conn_shape){
		.version2 = true,
		.pages = true,
		.client_grow = CONN_GROWN,
		.grow = CONN_GROWN,
		.bare = true,
		.wraps = true,
	});
}

static int conn_init_bare_version1(struct kunit *test)
{
	return conn_open(test, (struct conn_shape){ .bare = true });
}

/* rtrext takes precedence over small Receives. */
static int conn_init_groups(struct kunit *test)
{
	return conn_open(test, (struct conn_shape){
		.version2 = true,
		.pages = true,
		.rest = PAGE_SIZE,
		.rtr = true,
	});
}

/* Sends and Receives are at once as large as others become. */
static int conn_init_large_groups(struct kunit *test)
{
	return conn_open(test, (struct conn_shape){
		.version2 = true,
		.pages = true,
		.client_grow = CONN_GROWN,
		.grow = CONN_GROWN,
		.rest = PAGE_SIZE,
		.rtr = true,
		.bare = true,
		.follows = true,
	});
}

static int conn_init_version1(struct kunit *test)
{
	return conn_open(test, (struct conn_shape){ });
}

static void conn_exit(struct kunit *test)
{
	struct conn_fixture *f = test->priv;

	if (!f)
		return;
	test->priv = NULL;
	rpcrdma_recv_limit = f->recv_limit;
	/*
	 * rxe of 6.12 tells of a message while it is still at its last packet. If the queue pair
	 * ends meanwhile, rxe takes that packet once more, and has no Receive for it: an Oops.
	 */
	msleep(20);
	conn_end(&f->client);
	conn_end(&f->server);
	if (!IS_ERR_OR_NULL(f->listener))
		rdma_destroy_id(f->listener);
	if (!IS_ERR_OR_NULL(f->refuser))
		rdma_destroy_id(f->refuser);
}

static void conn_msg_done(struct rpcrdma_txmsg *tm, int status)
{
	struct conn_msg *m = container_of(tm, struct conn_msg, tm);

	m->status = status;
	m->ends++;
	complete(&m->done);
}

static struct conn_msg *conn_msg(struct kunit *test, u32 xid, enum rpcrdma_dir dir,
				 u32 length)
{
	struct conn_fixture *f = test->priv;
	struct conn_msg *m = kunit_kzalloc(test, sizeof(*m), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, m);
	init_completion(&m->done);
	INIT_LIST_HEAD(&m->tm.link);
	put_unaligned_be32(xid, f->stream);
	put_unaligned_be32(dir, f->stream + 4);
	m->xdr.head[0].iov_base = f->stream;
	m->xdr.head[0].iov_len = length;
	m->xdr.len = length;
	m->tm.msg.xid = xid;
	m->tm.msg.dir = dir;
	m->tm.msg.length = length;
	m->tm.xdr = &m->xdr;
	m->tm.done = conn_msg_done;
	return m;
}

static void conn_exchange(struct kunit *test, struct conn_side *from,
			  struct conn_side *to, enum rpcrdma_dir dir)
{
	static const u32 sizes[] = { 8, 100, 4096, 8100, 8160, 8192, 20000,
				     65536, CONN_MAX };
	struct conn_fixture *f = test->priv;
	struct conn_msg *m;
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		m = conn_msg(test, i + 1, dir, sizes[i]);
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(from->conn, &m->tm),
				0);
		conn_wait(test, &to->arrived);
		conn_wait(test, &m->done);
		KUNIT_EXPECT_EQ(test, m->status, 0);
		KUNIT_EXPECT_EQ(test, to->length, sizes[i]);
		KUNIT_EXPECT_EQ(test, memcmp(to->got, f->stream, sizes[i]), 0);
	}
}

static void conn_carries_calls(struct kunit *test)
{
	struct conn_fixture *f = test->priv;

	conn_exchange(test, &f->client, &f->server, RPCRDMA_CALL);
}

static void conn_carries_replies(struct kunit *test)
{
	struct conn_fixture *f = test->priv;

	conn_exchange(test, &f->server, &f->client, RPCRDMA_REPLY);
}

static void conn_carries_reverse_calls(struct kunit *test)
{
	struct conn_fixture *f = test->priv;

	conn_exchange(test, &f->server, &f->client, RPCRDMA_CALL);
}

/* How long messages of @side have waited for credit, in milliseconds. */
static u64 conn_waited(struct conn_side *side)
{
	u64 waited;

	spin_lock(&side->conn->lock);
	waited = rpcrdma_credit_waited(side->conn);
	spin_unlock(&side->conn->lock);
	return div_u64(waited, NSEC_PER_MSEC);
}

/*
 * Sleeps for about @ms. Return: the milliseconds that have passed by the clock that waits are
 * measured with; jiffies that were late catch up in one step, and the sleep is shorter than @ms.
 */
static u64 conn_sleep(unsigned int ms)
{
	const ktime_t start = ktime_get();

	msleep(ms);
	return ktime_ms_delta(ktime_get(), start);
}

static void conn_waits_for_credit(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_msg *m;
	u64 waited, slept;
	int i, seen;

	KUNIT_EXPECT_EQ(test, conn_waited(&f->client), 0ULL);
	f->server.hold = true;
	for (i = 0; i < 2 * CONN_WINDOW; i++) {
		m = conn_msg(test, 7, RPCRDMA_CALL, 64);
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn,
							&m->tm), 0);
	}
	for (i = 0; i < CONN_WINDOW; i++)
		conn_wait(test, &f->server.arrived);
	slept = conn_sleep(200);
	seen = atomic_read(&f->server.messages);
	KUNIT_EXPECT_LE(test, seen, CONN_WINDOW);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
	/* What still waits counts. */
	KUNIT_EXPECT_GE(test, conn_waited(&f->client), slept);

	/* The rest must come without anybody asking for it. */
	conn_let_go(&f->server);
	for (; i < 2 * CONN_WINDOW; i++)
		conn_wait(test, &f->server.arrived);
	waited = conn_waited(&f->client);
	msleep(50);
	KUNIT_EXPECT_EQ(test, conn_waited(&f->client), waited);
	KUNIT_EXPECT_EQ(test, conn_waited(&f->server), 0ULL);
}

/* Two waits at the same time are one; none goes on when the connection is over. */
static void conn_counts_waits_once(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->client.conn;
	u64 waited, slept;

	spin_lock(&conn->lock);
	rpcrdma_credit_wait(conn, RPCRDMA_CREDIT_OWNER, true);
	spin_unlock(&conn->lock);
	slept = conn_sleep(20);
	spin_lock(&conn->lock);
	rpcrdma_credit_wait(conn, RPCRDMA_CREDIT_PUMP, true);
	rpcrdma_credit_wait(conn, RPCRDMA_CREDIT_OWNER, false);
	rpcrdma_credit_wait(conn, RPCRDMA_CREDIT_OWNER, true);
	spin_unlock(&conn->lock);
	slept += conn_sleep(20);
	KUNIT_EXPECT_GE(test, conn_waited(&f->client), slept);

	rpcrdma_conn_lost(conn, "test");
	spin_lock(&conn->lock);
	KUNIT_EXPECT_EQ(test, conn->credit_waiters, 0U);
	waited = conn->credit_waited;
	rpcrdma_credit_wait(conn, RPCRDMA_CREDIT_OWNER, true);
	KUNIT_EXPECT_EQ(test, conn->credit_waiters, 0U);
	spin_unlock(&conn->lock);
	KUNIT_EXPECT_LE(test, div_u64(waited, NSEC_PER_MSEC),
			(u64)ktime_ms_delta(ktime_get(), conn->created));
}

static bool conn_admit(struct conn_side *side, struct conn_msg *m)
{
	struct rpcrdma_conn *conn = side->conn;
	bool admitted;

	spin_lock(&conn->lock);
	admitted = rpcrdma_session_admit(&conn->session, &m->tm.msg);
	if (!admitted)
		rpcrdma_credit_wait(conn, RPCRDMA_CREDIT_OWNER, true);
	spin_unlock(&conn->lock);
	return admitted;
}

/* Who is not admitted is told when there is room; what is admitted goes at once. */
static void conn_tells_of_room(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_side *side = &f->client;
	struct conn_msg *m;
	int n;

	f->server.hold = true;
	for (n = 0; n <= CONN_WINDOW; n++) {
		m = conn_msg(test, 7, RPCRDMA_CALL, 64);
		if (!conn_admit(side, m))
			break;
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(side->conn, &m->tm), 0);
		conn_wait(test, &m->done);
		conn_wait(test, &f->server.arrived);
		/* The credit that the server gives for it comes before the next one asks. */
		conn_settle(test);
	}
	KUNIT_EXPECT_GT(test, n, 0);
	KUNIT_EXPECT_LE(test, n, CONN_WINDOW);
	KUNIT_EXPECT_EQ(test, atomic_read(&side->room), 0);

	conn_let_go(&f->server);
	conn_wait_room(test, side);
	KUNIT_EXPECT_TRUE(test, conn_admit(side, m));
	rpcrdma_conn_end_call(side->conn, &m->tm);
}

/* What the handler of completions waits for. */
static DECLARE_COMPLETION(conn_goes_on);

static void conn_msg_blocks(struct rpcrdma_txmsg *tm, int status)
{
	conn_msg_done(tm, status);
	wait_for_completion_timeout(&conn_goes_on, CONN_TIMEOUT);
}

/* As the client sends a Call. */
static int conn_ask(struct conn_side *side, struct conn_msg *m)
{
	spin_lock(&side->conn->lock);
	return rpcrdma_conn_send_planned(side->conn, &m->tm, true);
}

/* Small Calls until there is no room. Return: the one that was not taken. */
static struct conn_msg *conn_fill_ring(struct kunit *test, struct conn_side *side)
{
	struct conn_fixture *f = test->priv;
	struct conn_msg *m = NULL;
	int n, rc;

	for (n = 0; n <= side->conn->ring.sends; n++) {
		KUNIT_ASSERT_TRUE(test,
				  conn_becomes(conn_info(side).peer_credits >= 2));
		m = conn_msg(test, 7, RPCRDMA_CALL, 64);
		rc = conn_ask(side, m);
		if (rc) {
			KUNIT_EXPECT_EQ(test, rc, -EAGAIN);
			return m;
		}
		conn_wait(test, &m->done);
		conn_wait(test, &f->server.arrived);
	}
	KUNIT_FAIL(test, "there is room for all");
	return m;
}

/* A Call for which there is no room is not taken. Who has it is told when Sends complete. */
static void conn_waits_for_room(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_side *side = &f->client;
	struct rpcrdma_conn *conn = side->conn;
	struct conn_msg *m = conn_msg(test, 7, RPCRDMA_CALL, 64);
	const u64 full = conn->stats.sq_full;

	reinit_completion(&conn_goes_on);
	m->tm.hold = true;
	m->tm.done = conn_msg_blocks;
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(conn, &m->tm), 0);
	conn_wait(test, &m->done);
	conn_wait(test, &f->server.arrived);
	m = conn_fill_ring(test, side);
	KUNIT_EXPECT_EQ(test, conn->ring.asked.sends, 1U);
	KUNIT_EXPECT_EQ(test, conn->credit_waiters, 0U);
	KUNIT_EXPECT_EQ(test, conn->stats.sq_full, full + 1);
	KUNIT_EXPECT_EQ(test, m->tm.msg.reserved, 0U);
	KUNIT_EXPECT_TRUE(test, list_empty(&m->tm.link));
	KUNIT_EXPECT_EQ(test, atomic_read(&side->no_room), 1);
	msleep(100);
	KUNIT_EXPECT_EQ(test, atomic_read(&side->room), 0);

	complete(&conn_goes_on);
	conn_wait_room(test, side);
	KUNIT_EXPECT_EQ(test, conn->ring.asked.sends, 0U);
	KUNIT_EXPECT_EQ(test, conn_ask(side, m), 0);
	conn_wait(test, &m->done);
	conn_wait(test, &f->server.arrived);
}

/* A Call that needs more Sends than there are does not wait for all of them. */
static void conn_takes_what_never_fits(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_side *side = &f->client;
	struct conn_msg *m = conn_msg(test, 7, RPCRDMA_CALL, CONN_MAX);

	KUNIT_ASSERT_EQ(test, conn_ask(side, m), 0);
	conn_wait(test, &f->server.arrived);
	conn_wait(test, &m->done);
	KUNIT_EXPECT_EQ(test, f->server.length, (u32)CONN_MAX);
}

/* The order in which messages went out is their status. */
static void conn_msg_in_order(struct rpcrdma_txmsg *tm, int status)
{
	static atomic_t order;

	conn_msg_done(tm, status ? status : atomic_inc_return(&order));
}

/* One whose stream is its own, for messages of several XIDs at once. */
static struct conn_msg *conn_own_msg(struct kunit *test, u32 xid, enum rpcrdma_dir dir)
{
	struct conn_msg *m = conn_msg(test, xid, dir, 64);
	void *stream = kunit_kzalloc(test, m->xdr.len, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, stream);
	memcpy(stream, m->xdr.head[0].iov_base, m->xdr.len);
	m->xdr.head[0].iov_base = stream;
	return m;
}

#define CONN_STALLED	5

static u32 conn_n_behind(struct rpcrdma_conn *conn)
{
	return conn_count_under(&conn->lock, &conn->behind);
}

/* The server does not take the first of some Calls: all of them wait. */
static void conn_stall(struct kunit *test, int again)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->server.conn;
	struct conn_msg *m;
	u32 i;

	atomic_set(&f->server.again, again);
	for (i = 0; i < CONN_STALLED; i++) {
		m = conn_own_msg(test, 20 + i, RPCRDMA_CALL);
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &m->tm),
				0);
	}
	conn_wait(test, &f->server.stalled);
	conn_becomes(conn_n_behind(conn) >= CONN_STALLED - 1);
	KUNIT_EXPECT_EQ(test, conn_n_behind(conn), (u32)CONN_STALLED - 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->server.messages), 0);
}

/* There is no memory for a message at first: it and all behind it come later, in order. */
static void conn_takes_in_order_what_has_stalled(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->server.conn;
	u32 i;

	conn_stall(test, 2);
	/* Nor is there now. */
	rpcrdma_conn_recv_again(conn);
	KUNIT_EXPECT_TRUE(test, rpcrdma_conn_stalled(conn));
	KUNIT_EXPECT_EQ(test, atomic_read(&f->server.messages), 0);
	KUNIT_EXPECT_EQ(test, f->server.last_xid, 0U);

	rpcrdma_conn_recv_again(conn);
	KUNIT_EXPECT_FALSE(test, rpcrdma_conn_stalled(conn));
	KUNIT_EXPECT_TRUE(test, list_empty(&conn->behind));
	KUNIT_EXPECT_EQ(test, atomic_read(&f->server.messages), CONN_STALLED);
	KUNIT_EXPECT_EQ(test, f->server.last_xid, 19U + CONN_STALLED);
	KUNIT_EXPECT_EQ(test, f->server.disorder, 0U);
	for (i = 0; i < CONN_STALLED; i++)
		conn_wait(test, &f->server.arrived);

	/* All Receives are there again, and the handler takes what comes. */
	rpcrdma_conn_recv_again(conn);
	conn_exchange(test, &f->client, &f->server, RPCRDMA_CALL);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->server.stalled));
}

/* Of those that waited one stalls, too. What came before it is not given twice. */
static void conn_takes_once_what_has_stalled(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->server.conn;
	u32 i;

	conn_stall(test, 1);
	f->server.hold = true;
	atomic_set(&f->server.again, 0);
	f->server.stalls_at = 22;
	rpcrdma_conn_recv_again(conn);
	KUNIT_EXPECT_TRUE(test, rpcrdma_conn_stalled(conn));
	KUNIT_EXPECT_EQ(test, atomic_read(&f->server.messages), 2);
	KUNIT_EXPECT_EQ(test, conn_count(&f->server.held), 2U);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->server.stalled));
	conn_let_go(&f->server);

	rpcrdma_conn_recv_again(conn);
	KUNIT_EXPECT_FALSE(test, rpcrdma_conn_stalled(conn));
	KUNIT_EXPECT_EQ(test, atomic_read(&f->server.messages), CONN_STALLED);
	KUNIT_EXPECT_EQ(test, f->server.disorder, 0U);
	for (i = 0; i < CONN_STALLED; i++)
		conn_wait(test, &f->server.arrived);
	conn_exchange(test, &f->client, &f->server, RPCRDMA_CALL);
}

/* What has stalled ends with its connection. */
static void conn_ends_what_has_stalled(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	const int before = atomic_read(&rpcrdma_live[RPCRDMA_LIVE_RECVS]);
	const int here = f->server.conn->n_recvs;

	conn_stall(test, 1);
	rpcrdma_conn_lost(f->server.conn, "fault injected");
	conn_end(&f->server);
	KUNIT_EXPECT_EQ(test, atomic_read(&rpcrdma_live[RPCRDMA_LIVE_RECVS]),
			before - here);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->server.messages), 0);
}

/* What the Calls wait for may depend on the Reply. */
static void conn_lets_replies_pass(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_msg *call, *reply;
	int i;

	f->server.hold = true;
	for (i = 0; i < CONN_WINDOW; i++) {
		call = conn_own_msg(test, 7, RPCRDMA_CALL);
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn,
							&call->tm), 0);
	}
	/* They have taken all credit, also what comes for the first of them. */
	conn_settle(test);
	KUNIT_EXPECT_EQ(test, conn_info(&f->client).peer_credits, 0U);
	call = conn_own_msg(test, 8, RPCRDMA_CALL);
	reply = conn_own_msg(test, 9, RPCRDMA_REPLY);
	call->tm.done = conn_msg_in_order;
	reply->tm.done = conn_msg_in_order;
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &call->tm), 0);
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &reply->tm), 0);
	KUNIT_EXPECT_FALSE(test, completion_done(&reply->done));

	conn_let_go(&f->server);
	conn_wait(test, &reply->done);
	conn_wait(test, &call->done);
	KUNIT_EXPECT_GT(test, reply->status, 0);
	KUNIT_EXPECT_GT(test, call->status, reply->status);
	for (i = 0; i < CONN_WINDOW + 2; i++)
		conn_wait(test, &f->server.arrived);
}

/* There is one credit at first, which the first Call takes. */
static void conn_lets_replies_pass_probes(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_msg *first, *probe, *call, *reply, *answer;
	int i;

	first = conn_own_msg(test, 7, RPCRDMA_CALL);
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &first->tm), 0);
	conn_wait(test, &first->done);
	probe = conn_own_msg(test, 8, RPCRDMA_CALL);
	call = conn_own_msg(test, 9, RPCRDMA_CALL);
	reply = conn_own_msg(test, 10, RPCRDMA_REPLY);
	probe->tm.msg.probe = true;
	probe->tm.done = conn_msg_in_order;
	call->tm.done = conn_msg_in_order;
	reply->tm.done = conn_msg_in_order;
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &call->tm), 0);
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &probe->tm), 0);
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &reply->tm), 0);
	conn_wait(test, &reply->done);
	KUNIT_EXPECT_FALSE(test, completion_done(&probe->done));
	KUNIT_EXPECT_FALSE(test, completion_done(&call->done));

	answer = conn_own_msg(test, 7, RPCRDMA_REPLY);
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->server.conn, &answer->tm), 0);
	conn_wait(test, &probe->done);
	conn_wait(test, &call->done);
	KUNIT_EXPECT_GT(test, reply->status, 0);
	KUNIT_EXPECT_GT(test, probe->status, reply->status);
	KUNIT_EXPECT_GT(test, call->status, probe->status);
	for (i = 0; i < 4; i++)
		conn_wait(test, &f->server.arrived);
}

static void conn_cancels_unsent(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_msg *last = NULL;
	int i;

	f->server.hold = true;
	for (i = 0; i < CONN_WINDOW + 4; i++) {
		last = conn_msg(test, 7, RPCRDMA_CALL, 64);
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn,
							&last->tm), 0);
	}
	KUNIT_EXPECT_TRUE(test, rpcrdma_conn_cancel(f->client.conn,
						    &last->tm));
	KUNIT_EXPECT_FALSE(test, completion_done(&last->done));
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
}

/* The time without credit ends with the last message that waits, sent or taken back. */
static void conn_cancelled_waits_no_longer(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_msg *m[CONN_WINDOW + 2];
	u64 waited, slept;
	int i;

	f->server.hold = true;
	for (i = 0; i < ARRAY_SIZE(m); i++) {
		m[i] = conn_msg(test, 7, RPCRDMA_CALL, 64);
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn,
							&m[i]->tm), 0);
	}
	/* The others have no credit. */
	for (i = 0; i < CONN_WINDOW; i++)
		conn_wait(test, &f->server.arrived);
	waited = conn_waited(&f->client);
	KUNIT_EXPECT_TRUE(test, rpcrdma_conn_cancel(f->client.conn, &m[i]->tm));
	slept = conn_sleep(50);
	KUNIT_EXPECT_GE(test, conn_waited(&f->client), waited + slept);
	KUNIT_EXPECT_TRUE(test, rpcrdma_conn_cancel(f->client.conn,
						    &m[i + 1]->tm));
	waited = conn_waited(&f->client);
	msleep(50);
	KUNIT_EXPECT_EQ(test, conn_waited(&f->client), waited);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
}

/* Half sent: the peer gets the rest, whatever becomes of what it was. */
static void conn_sends_the_rest_of_what_is_cancelled(struct kunit *test)
{
	const u32 length = 16 * RPCRDMA_DEF_INLINE;
	struct conn_fixture *f = test->priv;
	const struct rpcrdma_range removed = { .offset = 400, .length = 1200 };
	struct conn_msg *m, *next;
	u8 *sent = conn_kvzalloc(test, length);

	m = conn_msg(test, 8, RPCRDMA_CALL, length);
	m->item = removed;
	memcpy(sent, f->stream, removed.offset);
	memcpy(sent + removed.offset, f->stream + 1600, length - 1600);
	m->tm.removed = &m->item;
	m->tm.n_removed = 1;
	m->tm.msg.length -= removed.length;
	f->server.hold = true;
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_send(f->client.conn, &m->tm), 0);
	KUNIT_EXPECT_FALSE(test, rpcrdma_conn_cancel(f->client.conn, &m->tm));
	KUNIT_EXPECT_GT(test, m->tm.msg.sent, 0U);
	KUNIT_EXPECT_LT(test, m->tm.msg.sent, m->tm.msg.length);
	KUNIT_EXPECT_TRUE(test, list_empty(&m->tm.link));
	get_random_bytes(f->stream, length);
	next = conn_own_msg(test, 9, RPCRDMA_CALL);
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_send(f->client.conn, &next->tm), 0);
	conn_let_go(&f->server);
	conn_wait(test, &f->server.arrived);
	conn_wait(test, &next->done);
	conn_wait(test, &f->server.arrived);
	/* The next one lies over its first bytes. */
	KUNIT_EXPECT_EQ(test, memcmp(f->server.got + 64, sent + 64,
				     m->tm.msg.length - 64), 0);
	KUNIT_EXPECT_FALSE(test, completion_done(&m->done));
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
	KUNIT_EXPECT_FALSE(test, completion_done(&f->server.lost));
}

/* Half sent, with a chunk to be read from memory that is taken away now. */
static void conn_ends_with_what_cannot_be_cancelled(struct kunit *test)
{
	struct rpcrdma_chunks chunks = {
		.n_reads = 1,
		.reads[0] = {
			.position = 400,
			.target = { .handle = 1, .length = 4 },
		},
	};
	struct conn_fixture *f = test->priv;
	struct conn_msg *m;

	f->server.hold = true;
	m = conn_msg(test, 8, RPCRDMA_CALL, 16 * RPCRDMA_DEF_INLINE);
	m->tm.msg.chunks = &chunks;
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &m->tm), 0);
	KUNIT_EXPECT_GT(test, m->tm.msg.sent, 0U);
	KUNIT_EXPECT_FALSE(test, rpcrdma_conn_cancel(f->client.conn, &m->tm));
	conn_wait(test, &f->client.lost);
}

static void conn_ends_what_is_queued(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_msg *m[3];
	int i;

	f->server.hold = true;
	for (i = 0; i < CONN_WINDOW; i++) {
		m[0] = conn_msg(test, 7, RPCRDMA_CALL, 64);
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn,
							&m[0]->tm), 0);
	}
	for (i = 0; i < ARRAY_SIZE(m); i++) {
		m[i] = conn_msg(test, 9, RPCRDMA_CALL, 64);
		m[i]->tm.hold = i == 1;
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn,
							&m[i]->tm), 0);
	}
	conn_end(&f->client);
	for (i = 0; i < ARRAY_SIZE(m); i++) {
		KUNIT_EXPECT_TRUE(test, completion_done(&m[i]->done));
		KUNIT_EXPECT_EQ(test, m[i]->status, -ENOTCONN);
	}
	conn_wait(test, &f->server.lost);
}

/* A message that no header can carry ends alone. */
static void conn_reports_what_cannot_be_sent(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_msg *m = conn_msg(test, 5, RPCRDMA_CALL, 63);

	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &m->tm), 0);
	conn_wait(test, &m->done);
	KUNIT_EXPECT_EQ(test, m->status, -EMSGSIZE);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
	conn_exchange(test, &f->client, &f->server, RPCRDMA_CALL);
}

/*
 * With credit for neither Replies nor errors, the end of the connection is all
 * that can tell the client.
 */
static void conn_ends_with_errors_that_cannot_go(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *server = f->server.conn;
	struct conn_msg *m;
	int i;

	f->client.hold = true;
	for (i = 0; i < 2 * CONN_WINDOW; i++) {
		m = conn_msg(test, 7, RPCRDMA_REPLY, 64);
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(server, &m->tm), 0);
	}
	/* Until all that may go has gone. */
	conn_settle(test);
	KUNIT_EXPECT_EQ(test, conn_info(&f->server).peer_credits, 0U);
	for (i = 0; i < RPCRDMA_MAX_CONTROL; i++)
		KUNIT_EXPECT_TRUE(test,
				  rpcrdma_conn_refuse(server, i,
						      RPCRDMA2_ERR_SYSTEM, 0,
						      0));
	KUNIT_EXPECT_EQ(test, server->stats.tx_type[RPCRDMA2_ERROR], 0ULL);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->server.lost));
	KUNIT_EXPECT_FALSE(test, rpcrdma_conn_refuse(server, i,
						     RPCRDMA2_ERR_SYSTEM, 0,
						     0));
	conn_wait(test, &f->server.lost);
}

struct conn_cancel {
	struct work_struct work;
	struct rpcrdma_txmsg *tm;
	struct completion begun;
	struct completion over;
};

static struct conn_cancel conn_cancel;

static void conn_cancel_worker(struct work_struct *work)
{
	complete(&conn_cancel.begun);
	rpcrdma_conn_cancel(conn_cancel.tm->conn, conn_cancel.tm);
	complete(&conn_cancel.over);
}

static void conn_cancel_init(void)
{
	INIT_WORK(&conn_cancel.work, conn_cancel_worker);
	init_completion(&conn_cancel.begun);
	init_completion(&conn_cancel.over);
}

/* Another thread cancels @tm. Return: @status if it has to wait. */
static int conn_cancel_waits(struct rpcrdma_txmsg *tm, int status)
{
	conn_cancel.tm = tm;
	schedule_work(&conn_cancel.work);
	if (!wait_for_completion_timeout(&conn_cancel.begun, CONN_TIMEOUT))
		return -ETIMEDOUT;
	if (wait_for_completion_timeout(&conn_cancel.over, HZ / 5))
		return -EALREADY;
	return status;
}

static void conn_msg_cancelled(struct rpcrdma_txmsg *tm, int status)
{
	conn_msg_done(tm, conn_cancel_waits(tm, status));
}

/*
 * While its owner is told so, one that cannot be sent is not free to be used
 * anew: whoever cancels it waits.
 */
static void conn_holds_what_cannot_be_sent(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_msg *m;
	int i;

	for (i = 0; i < 2; i++) {
		conn_cancel_init();
		m = conn_msg(test, 5 + i, RPCRDMA_CALL, i ? 64 : 63);
		/* The other one lacks bytes, as is noticed later. */
		m->xdr.head[0].iov_len = 32;
		m->xdr.len = 32;
		m->tm.done = conn_msg_cancelled;
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &m->tm),
				0);
		conn_wait(test, &m->done);
		KUNIT_EXPECT_EQ(test, m->status, -EMSGSIZE);
		flush_work(&conn_cancel.work);
		KUNIT_EXPECT_FALSE(test, rpcrdma_conn_posted(&m->tm));
	}
	conn_wait(test, &f->client.lost);
}

/* Whoever asks for nothing else hears of failures alone. */
static void conn_tells_of_failures_alone(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_msg *m = conn_msg(test, 5, RPCRDMA_CALL, 64);

	m->tm.quiet = true;
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &m->tm), 0);
	rpcrdma_conn_wait_sent(f->client.conn, &m->tm);
	KUNIT_EXPECT_TRUE(test, rpcrdma_conn_posted(&m->tm));
	KUNIT_EXPECT_FALSE(test, completion_done(&m->done));

	m = conn_msg(test, 6, RPCRDMA_CALL, 64);
	m->tm.quiet = true;
	/* It lacks bytes. */
	m->xdr.head[0].iov_len = 32;
	m->xdr.len = 32;
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &m->tm), 0);
	conn_wait(test, &m->done);
	KUNIT_EXPECT_EQ(test, m->status, -EMSGSIZE);
	conn_wait(test, &f->client.lost);
}

/* Who sends a message and posts it is told when it has left the lock, once. */
static void conn_tells_its_sender_itself(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_msg *m;
	bool told = false;
	int i;

	/* Sometimes another thread posts it, of what has come. */
	for (i = 0; i < 20 && !told; i++) {
		m = conn_msg(test, 5, RPCRDMA_CALL, 64);
		m->tm.direct = true;
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &m->tm),
				0);
		told = READ_ONCE(m->ends) == 1;
		conn_wait(test, &m->done);
		KUNIT_EXPECT_EQ(test, m->ends, 1);
		KUNIT_EXPECT_EQ(test, m->status, 0);
		KUNIT_EXPECT_FALSE(test, m->tm.direct);
		conn_wait(test, &f->server.arrived);
	}
	KUNIT_EXPECT_TRUE(test, told);

	/* What waits for credit is posted by another thread, which tells. */
	WRITE_ONCE(f->server.hold, true);
	for (i = 0; i < CONN_WINDOW + 2; i++) {
		m = conn_own_msg(test, 7, RPCRDMA_CALL);
		m->tm.direct = true;
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn,
							&m->tm), 0);
	}
	KUNIT_EXPECT_EQ(test, m->ends, 0);
	KUNIT_EXPECT_FALSE(test, m->tm.direct);
	conn_let_go(&f->server);
	conn_wait(test, &m->done);
	KUNIT_EXPECT_EQ(test, m->ends, 1);
	KUNIT_EXPECT_EQ(test, m->status, 0);

	/* It lacks bytes. */
	m = conn_msg(test, 8, RPCRDMA_CALL, 64);
	m->tm.direct = true;
	m->xdr.head[0].iov_len = 32;
	m->xdr.len = 32;
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &m->tm), 0);
	conn_wait(test, &m->done);
	KUNIT_EXPECT_EQ(test, m->ends, 1);
	KUNIT_EXPECT_EQ(test, m->status, -EMSGSIZE);
	conn_wait(test, &f->client.lost);
}

/*
 * Of @msg, Call 5, a part is out and the rest waits for credit, and @next waits
 * behind it, when the header type of Call @xid is refused.
 */
static void conn_refuse_midway(struct kunit *test, u32 xid,
			       struct conn_msg **msg, struct conn_msg **next)
{
	struct conn_fixture *f = test->priv;
	struct conn_msg *m = conn_msg(test, 5, RPCRDMA_CALL,
				      2 * CONN_WINDOW * RPCRDMA_DEF_INLINE);

	*msg = m;
	*next = conn_own_msg(test, 6, RPCRDMA_CALL);
	f->server.hold = true;
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &m->tm), 0);
	KUNIT_ASSERT_EQ(test,
			rpcrdma_conn_send(f->client.conn, &(*next)->tm), 0);
	KUNIT_ASSERT_GT(test, m->tm.msg.sent, 0U);
	KUNIT_ASSERT_LT(test, m->tm.msg.sent, m->tm.msg.length);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
	KUNIT_ASSERT_TRUE(test, rpcrdma_conn_refuse(f->server.conn, xid,
						    RPCRDMA2_ERR_INVAL_HTYPE,
						    0, 0));
	conn_let_go(&f->server);
}

/*
 * One that has been begun and cannot go on would be in the way of all others: it
 * needs the type that was refused another.
 */
static void conn_ends_with_what_cannot_go_on(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_msg *before, *m, *next;

	before = conn_msg(test, 4, RPCRDMA_CALL, 2 * RPCRDMA_DEF_INLINE);
	f->client.call = &before->tm;
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &before->tm),
			0);
	conn_wait(test, &f->server.arrived);
	conn_refuse_midway(test, 4, &m, &next);
	conn_wait(test, &f->client.lost);
	conn_end(&f->client);
	KUNIT_EXPECT_TRUE(test, completion_done(&m->done));
	KUNIT_EXPECT_EQ(test, m->status, -ENOTCONN);
	KUNIT_EXPECT_TRUE(test, completion_done(&next->done));
	KUNIT_EXPECT_EQ(test, next->status, -ENOTCONN);
	KUNIT_EXPECT_EQ(test, atomic_read(&f->server.messages), 1);
}

/* One that was itself refused is dropped by the peer, so the next can go. */
static void conn_goes_on_without_what_is_refused(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_msg *m, *next;

	conn_refuse_midway(test, 5, &m, &next);
	conn_wait(test, &m->done);
	KUNIT_EXPECT_EQ(test, m->status, -EIO);
	KUNIT_EXPECT_LT(test, m->tm.msg.sent, m->tm.msg.length);
	conn_wait(test, &next->done);
	KUNIT_EXPECT_EQ(test, next->status, 0);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
}

/* The message that is posted slowly, and what the device does really. */
static struct conn_msg *conn_slow;
static int (*conn_post_send)(struct ib_qp *qp, const struct ib_send_wr *wr,
			     const struct ib_send_wr **bad);

static void conn_restore_post_send(void *device)
{
	WRITE_ONCE(((struct ib_device *)device)->ops.post_send, conn_post_send);
}

/* Until conn_restore_post_send(), or the end of the case. */
static void conn_replace_post_send(struct kunit *test, struct ib_device *device,
				   int (*instead)(struct ib_qp *qp,
						  const struct ib_send_wr *wr,
						  const struct ib_send_wr **bad))
{
	conn_post_send = device->ops.post_send;
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, conn_restore_post_send,
						  device), 0);
	WRITE_ONCE(device->ops.post_send, instead);
}

/* Returns when the Send has long been completed. */
static int conn_post_send_slowly(struct ib_qp *qp, const struct ib_send_wr *wr,
				 const struct ib_send_wr **bad)
{
	struct conn_msg *m = xchg(&conn_slow, NULL);
	int rc = conn_post_send(qp, wr, bad);

	if (m)
		mdelay(100);
	return rc;
}

static void conn_told_again(struct rpcrdma_txmsg *tm, int status)
{
	struct conn_msg *m = container_of(tm, struct conn_msg, tm);

	m->status = -EALREADY;
}

/* Told that it is out, the owner uses the memory for something else. */
static void conn_msg_reused(struct rpcrdma_txmsg *tm, int status)
{
	tm->hold = false;
	tm->done = conn_told_again;
	conn_msg_done(tm, status);
}

static void conn_lets_go_of_what_is_out(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct ib_device *device = f->client.conn->qp->device;
	struct conn_msg *m = conn_msg(test, 11, RPCRDMA_CALL, 64);
	int rc;

	m->tm.hold = true;
	m->tm.done = conn_msg_reused;
	WRITE_ONCE(conn_slow, m);
	conn_replace_post_send(test, device, conn_post_send_slowly);
	rc = rpcrdma_conn_send(f->client.conn, &m->tm);
	conn_restore_post_send(device);
	WRITE_ONCE(conn_slow, NULL);
	KUNIT_ASSERT_EQ(test, rc, 0);
	conn_wait(test, &m->done);
	conn_wait(test, &f->server.arrived);
	KUNIT_EXPECT_EQ(test, m->status, 0);
}

/* Messages that are queued while one before them is built: the pump finds all of them. */
static struct conn_msg *conn_next[3];

static struct ib_send_wr *conn_chain_brings_others(struct rpcrdma_txmsg *tm,
						   struct ib_send_wr *next)
{
	int i;

	/* This thread pumps, so they are queued. */
	for (i = 0; i < ARRAY_SIZE(conn_next); i++)
		WARN_ON(rpcrdma_conn_send(tm->conn, &conn_next[i]->tm));
	return next;
}

static void conn_make_others(struct kunit *test)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(conn_next); i++)
		conn_next[i] = conn_own_msg(test, 20 + i, RPCRDMA_CALL);
}

/* Send one message, and those together behind it. */
static void conn_send_others(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_msg *first = conn_own_msg(test, 19, RPCRDMA_CALL);

	first->tm.chain = conn_chain_brings_others;
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &first->tm), 0);
	conn_wait(test, &first->done);
	KUNIT_EXPECT_EQ(test, first->status, 0);
}

static void conn_rings_once_for_a_message(struct kunit *test)
{
	struct conn_msg *m = conn_msg(test, 7, RPCRDMA_CALL, 20000);
	struct conn_fixture *f = test->priv;
	struct rpcrdma_stats *stats = &f->client.conn->stats;
	const u64 parts = stats->tx_type[RPCRDMA2_CALL_MIDDLE];
	const u64 doorbells = stats->tx_doorbells;

	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &m->tm), 0);
	conn_wait(test, &m->done);
	conn_wait(test, &f->server.arrived);
	KUNIT_EXPECT_EQ(test, stats->tx_type[RPCRDMA2_CALL_MIDDLE], parts + 2);
	KUNIT_EXPECT_EQ(test, stats->tx_doorbells, doorbells + 1);
	KUNIT_EXPECT_EQ(test, memcmp(f->server.got, f->stream, 20000), 0);
}

static void conn_rings_once_for_what_waits(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_stats *stats = &f->client.conn->stats;
	const u64 doorbells = stats->tx_doorbells;
	int i;

	conn_make_others(test);
	conn_send_others(test);
	for (i = 0; i < ARRAY_SIZE(conn_next); i++) {
		conn_wait(test, &conn_next[i]->done);
		KUNIT_EXPECT_EQ(test, conn_next[i]->status, 0);
		conn_wait(test, &f->server.arrived);
	}
	KUNIT_EXPECT_EQ(test, stats->tx_doorbells, doorbells + 2);
}

/* The one that cannot be sent ends alone, and those around it are posted. */
static void conn_sends_what_is_around_a_bad_one(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	int i;

	conn_make_others(test);
	conn_next[1]->tm.msg.length = 63;
	conn_send_others(test);
	for (i = 0; i < ARRAY_SIZE(conn_next); i++) {
		conn_wait(test, &conn_next[i]->done);
		KUNIT_EXPECT_EQ(test, conn_next[i]->status,
				i == 1 ? -EMSGSIZE : 0);
		KUNIT_EXPECT_EQ(test, conn_next[i]->ends, 1);
		conn_wait(test, &f->server.arrived);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&f->server.messages), 3);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
}

static struct ib_qp *conn_part_qp;

/* A device that takes the first of several Work Requests. */
static int conn_post_send_in_part(struct ib_qp *qp, const struct ib_send_wr *wr,
				  const struct ib_send_wr **bad)
{
	struct ib_send_wr *first = (struct ib_send_wr *)wr;
	struct ib_send_wr *rest = first->next;
	int rc;

	if (!rest || qp != conn_part_qp)
		return conn_post_send(qp, wr, bad);
	first->next = NULL;
	rc = conn_post_send(qp, first, bad);
	first->next = rest;
	*bad = rest;
	return rc ? rc : -ENOMEM;
}

static void conn_ends_each_once_if_a_post_fails(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct ib_device *device = f->client.conn->qp->device;
	int i;

	conn_make_others(test);
	conn_next[1]->tm.hold = true;
	conn_part_qp = f->client.conn->qp;
	conn_replace_post_send(test, device, conn_post_send_in_part);
	conn_send_others(test);
	conn_wait(test, &f->client.lost);
	conn_restore_post_send(device);
	conn_end(&f->client);
	for (i = 0; i < ARRAY_SIZE(conn_next); i++) {
		KUNIT_EXPECT_EQ_MSG(test, conn_next[i]->ends, 1, "%d", i);
		KUNIT_EXPECT_EQ_MSG(test, conn_next[i]->status,
				    i ? -ENOTCONN : 0, "%d", i);
	}
}

/* One that lacks bytes takes none with it that is out, and none behind it goes out. */
static void conn_ends_each_once_if_a_copy_fails(struct kunit *test)
{
	static const int status[] = { 0, -EMSGSIZE, -ENOTCONN };
	struct conn_fixture *f = test->priv;
	int i;

	conn_make_others(test);
	conn_next[1]->xdr.head[0].iov_len = 32;
	conn_next[1]->xdr.len = 32;
	conn_send_others(test);
	conn_wait(test, &f->client.lost);
	for (i = 0; i < 2; i++)
		conn_wait(test, &f->server.arrived);
	conn_end(&f->client);
	for (i = 0; i < ARRAY_SIZE(conn_next); i++) {
		KUNIT_EXPECT_EQ_MSG(test, conn_next[i]->ends, 1, "%d", i);
		KUNIT_EXPECT_EQ_MSG(test, conn_next[i]->status, status[i],
				    "%d", i);
		KUNIT_EXPECT_EQ_MSG(test,
				    rpcrdma_conn_posted(&conn_next[i]->tm), !i,
				    "%d", i);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&f->server.messages), 2);
}

static void conn_msg_cancels_the_next(struct rpcrdma_txmsg *tm, int status)
{
	conn_msg_done(tm, conn_cancel_waits(&conn_next[2]->tm, status));
}

/* It has been posted with the one before it, but its owner has not been told so. */
static void conn_holds_all_that_are_together(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	int i;

	conn_cancel_init();
	conn_make_others(test);
	conn_next[0]->tm.done = conn_msg_cancels_the_next;
	conn_send_others(test);
	for (i = 0; i < ARRAY_SIZE(conn_next); i++) {
		conn_wait(test, &conn_next[i]->done);
		KUNIT_EXPECT_EQ_MSG(test, conn_next[i]->status, 0, "%d", i);
		conn_wait(test, &f->server.arrived);
	}
	flush_work(&conn_cancel.work);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
}

/* Told that it is out, the owner sends another one, which nothing keeps from being sent. */
static void conn_msg_is_followed(struct rpcrdma_txmsg *tm, int status)
{
	struct rpcrdma_txmsg *next = &conn_next[1]->tm;

	if (rpcrdma_conn_send(tm->conn, next))
		status = -EIO;
	else if (!rpcrdma_conn_posted(next))
		status = -EBUSY;
	conn_msg_done(tm, status);
}

static struct ib_send_wr *conn_chain_brings_one(struct rpcrdma_txmsg *tm,
						struct ib_send_wr *next)
{
	WARN_ON(rpcrdma_conn_send(tm->conn, &conn_next[0]->tm));
	return next;
}

/* Nobody waits for an owner that is told by the thread which has sent his message. */
static void conn_goes_on_while_it_tells(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	int i, status = -EBUSY;
	struct conn_msg *first;

	/* Sometimes another thread sends at that moment, of what has come. */
	for (i = 0; i < 20 && status == -EBUSY; i++) {
		conn_settle(test);
		conn_make_others(test);
		first = conn_own_msg(test, 19, RPCRDMA_CALL);
		first->tm.chain = conn_chain_brings_one;
		conn_next[0]->tm.done = conn_msg_is_followed;
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn,
							&first->tm), 0);
		conn_wait(test, &first->done);
		conn_wait(test, &conn_next[0]->done);
		conn_wait(test, &conn_next[1]->done);
		status = conn_next[0]->status;
	}
	KUNIT_EXPECT_EQ(test, status, 0);
}

struct conn_raw {
	struct ib_cqe cqe;
	struct completion done;
	enum ib_wc_status status;
};

static void conn_raw_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct conn_raw *raw = container_of(wc->wr_cqe, struct conn_raw, cqe);

	raw->status = wc->status;
	complete(&raw->done);
}

/* A Send that no session would make: @words as they are, host order. */
static void conn_send_raw(struct kunit *test, const u32 *words, u32 length)
{
	struct conn_fixture *f = test->priv;
	struct ib_device *device = f->client.cm_id->device;
	struct conn_raw *raw = kunit_kzalloc(test, sizeof(*raw), GFP_KERNEL);
	struct ib_sge sge = { .length = length };
	struct ib_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IB_WR_SEND,
		.send_flags = IB_SEND_SIGNALED,
	};
	__be32 *buf = kunit_kzalloc(test, 64, GFP_KERNEL);
	u32 i;

	KUNIT_ASSERT_NOT_NULL(test, raw);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	for (i = 0; i < DIV_ROUND_UP(length, 4); i++)
		buf[i] = cpu_to_be32(words[i]);
	raw->cqe.done = conn_raw_done;
	init_completion(&raw->done);
	wr.wr_cqe = &raw->cqe;
	sge.lkey = f->client.conn->pd->local_dma_lkey;
	sge.addr = ib_dma_map_single(device, buf, 64, DMA_TO_DEVICE);
	KUNIT_ASSERT_FALSE(test, ib_dma_mapping_error(device, sge.addr));
	KUNIT_EXPECT_EQ(test, ib_post_send(f->client.conn->qp, &wr, NULL), 0);
	conn_wait(test, &raw->done);
	ib_dma_unmap_single(device, sge.addr, 64, DMA_TO_DEVICE);
	KUNIT_EXPECT_EQ(test, raw->status, IB_WC_SUCCESS);
}

/* What a bad message is answered with, counted as, and does not disturb. */
static void conn_survives_bad_messages(struct kunit *test)
{
	static const struct {
		u32 reason;
		bool answered;
		u32 length;
		u32 words[12];
	} bad[] = {
		{ RPCRDMA_REASON_SHORT, false, 12, { 1, 2, 0 } },
		{ RPCRDMA_REASON_HTYPE, true, 16, { 2, 2, 100, 99 } },
		/* a Call by a chunk that is not there */
		{ RPCRDMA_REASON_XDR, true, 20, { 3, 2, 100, 8, 0 } },
		{ RPCRDMA_REASON_VERSION_MISMATCH, true, 28,
		  { 4, 1, 100, 0, 0, 0, 0 } },
		/* an optional-data discriminator of two */
		{ RPCRDMA_REASON_XDR, true, 40,
		  { 5, 2, 100, 10, 0, 2, 0, 0, 5, 0 } },
		/* the message has another XID */
		{ RPCRDMA_REASON_XID, true, 40,
		  { 6, 2, 100, 10, 0, 0, 0, 0, 7, 0 } },
		/* the message is a Reply */
		{ RPCRDMA_REASON_DIRECTION, true, 40,
		  { 8, 2, 100, 10, 0, 0, 0, 0, 8, 1 } },
		/* more to come than anybody takes */
		{ RPCRDMA_REASON_TOO_LARGE, true, 28,
		  { 9, 2, 100, 9, 0x7ffffff8, 9, 0 } },
		/* properties after the final ones */
		{ RPCRDMA_REASON_CONTINUATION, true, 20, { 10, 2, 100, 7, 0 } },
	};
	struct conn_fixture *f = test->priv;
	struct rpcrdma_stats *server = &f->server.conn->stats;
	struct rpcrdma_stats *client = &f->client.conn->stats;
	u64 refused, answers;
	struct conn_msg *m;
	int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		refused = server->rx_refused[bad[i].reason];
		answers = client->rx_type[RPCRDMA2_ERROR];
		conn_send_raw(test, bad[i].words, bad[i].length);
		KUNIT_ASSERT_TRUE(test,
				  conn_becomes(READ_ONCE(client->rx_type[RPCRDMA2_ERROR]) -
					       answers == bad[i].answered &&
					       READ_ONCE(server->rx_refused[bad[i].reason]) !=
					       refused));
		KUNIT_EXPECT_EQ_MSG(test, server->rx_refused[bad[i].reason],
				    refused + 1, "case %d", i);
		KUNIT_EXPECT_EQ_MSG(test, client->rx_type[RPCRDMA2_ERROR],
				    answers + bad[i].answered, "case %d", i);
	}
	KUNIT_EXPECT_EQ(test, atomic_read(&f->server.messages), 0);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->server.lost));

	/*
	 * The session has not counted those, so it believes in more credits than
	 * there are Receives: only one message at a time is sure to find one.
	 */
	m = conn_msg(test, 11, RPCRDMA_CALL, 64);
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &m->tm), 0);
	conn_wait(test, &f->server.arrived);
	conn_wait(test, &m->done);
	KUNIT_EXPECT_EQ(test, m->status, 0);
	KUNIT_EXPECT_EQ(test, memcmp(f->server.got, f->stream, 64), 0);
}

struct conn_chunk_call {
	struct conn_msg *m;
	struct list_head mrs;
	struct rpcrdma_chunks chunks;
};

static struct conn_chunk_call *conn_the_chunk_call;

static struct ib_send_wr *conn_chain(struct rpcrdma_txmsg *tm,
				     struct ib_send_wr *next)
{
	return rpcrdma_frwr_chain(&conn_the_chunk_call->mrs, next);
}

static void conn_free_pages(void *array)
{
	struct page **pages = array;
	int i;

	for (i = 0; i < CONN_PAGES && pages[i]; i++)
		__free_page(pages[i]);
}

/* Those that are in the array when the case ends are freed. */
static struct page **conn_alloc_pages(struct kunit *test)
{
	struct page **pages = kunit_kcalloc(test, CONN_PAGES, sizeof(*pages),
					    GFP_KERNEL);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, pages);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, conn_free_pages,
							pages), 0);
	for (i = 0; i < CONN_PAGES; i++) {
		pages[i] = alloc_page(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, pages[i]);
	}
	return pages;
}

/* A Call that offers @n Write chunks of @length bytes over @pages. */
static struct conn_chunk_call *conn_offer_chunks(struct kunit *test,
						 struct page **pages,
						 u32 length, u32 n)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_range range = { .offset = 100, .length = length };
	struct rpcrdma_mr_table *t = &f->client.conn->mr_table;
	struct conn_chunk_call *call;
	struct rpcrdma_segment *seg;
	u32 i;

	call = kunit_kzalloc(test, sizeof(*call), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, call);
	INIT_LIST_HEAD(&call->mrs);
	for (i = 0; i < n; i++) {
		seg = &call->chunks.write_segs[i];
		KUNIT_ASSERT_EQ(test, rpcrdma_frwr_map(f->client.conn,
						       &call->mrs, &range,
						       pages, true, seg, 1), 1);
		KUNIT_EXPECT_EQ(test, seg->length, length);
		call->chunks.writes[i].count = 1;
		call->chunks.writes[i].first = i;
	}
	call->chunks.n_writes = n;
	call->chunks.n_write_segs = n;
	call->m = conn_msg(test, 77, RPCRDMA_CALL, 64);
	call->m->tm.msg.chunks = &call->chunks;
	call->m->tm.msg.inv_handle = call->chunks.write_segs[0].handle;
	call->m->tm.chain = conn_chain;
	call->m->tm.chain_cost = n;
	conn_the_chunk_call = call;
	/* The peer reaches it with the Call, and not before. */
	KUNIT_EXPECT_EQ(test, t->count[RPCRDMA_MR_ACTIVE], 0U);
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &call->m->tm),
			0);
	conn_wait(test, &f->server.arrived);
	return call;
}

static struct conn_chunk_call *conn_offer(struct kunit *test,
					  struct page **pages, u32 length)
{
	return conn_offer_chunks(test, pages, length, 1);
}

static struct rpcrdma_mr *conn_region(struct conn_chunk_call *call)
{
	return list_first_entry_or_null(&call->mrs, struct rpcrdma_mr, link);
}

static void conn_invalidates(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_mr_table *t = &f->client.conn->mr_table;
	struct page **pages = conn_alloc_pages(test);
	struct conn_chunk_call *call;
	struct conn_msg *reply;
	struct rpcrdma_mr *mr;
	u32 handle, before;

	/* By this side. */
	call = conn_offer(test, pages, 65536);
	mr = conn_region(call);
	before = call->chunks.write_segs[0].handle;
	KUNIT_EXPECT_EQ(test, t->count[RPCRDMA_MR_ACTIVE], 1U);
	/* No new region is to be taken before the one that is given back. */
	flush_delayed_work(&f->client.conn->mr_work);
	rpcrdma_frwr_put(f->client.conn, &call->mrs);
	KUNIT_EXPECT_EQ(test, t->count[RPCRDMA_MR_ACTIVE], 1U);
	rpcrdma_frwr_invalidate_wait(f->client.conn, &call->mrs);
	KUNIT_EXPECT_TRUE(test, list_empty(&call->mrs));
	KUNIT_EXPECT_EQ(test, t->count[RPCRDMA_MR_ACTIVE], 0U);
	KUNIT_EXPECT_EQ(test, t->count[RPCRDMA_MR_FREE], f->client.conn->n_mrs);

	/* By the peer. The region is the same, its handle is another one. */
	call = conn_offer(test, pages, 65536);
	handle = call->chunks.write_segs[0].handle;
	KUNIT_EXPECT_PTR_EQ(test, conn_region(call), mr);
	KUNIT_EXPECT_NE(test, handle, before);
	reply = conn_msg(test, 77, RPCRDMA_REPLY, 64);
	reply->tm.invalidate = handle;
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->server.conn, &reply->tm),
			0);
	conn_wait(test, &f->client.arrived);
	KUNIT_EXPECT_EQ(test, f->client.invalidated, handle);
	rpcrdma_frwr_remote_inv(f->client.conn, &call->mrs, handle);
	rpcrdma_frwr_put(f->client.conn, &call->mrs);
	KUNIT_EXPECT_TRUE(test, list_empty(&call->mrs));
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));

	/* By the end of the connection. */
	call = conn_offer(test, pages, 65536);
	conn_end(&f->client);
	KUNIT_EXPECT_TRUE(test, list_empty(&call->mrs));
}

static void conn_distrusts_foreign_invalidation(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	LIST_HEAD(none);

	rpcrdma_frwr_remote_inv(f->client.conn, &none, 0x1234);
	conn_wait(test, &f->client.lost);
}

/* The largest Call has its regions, and the next one will have: nobody waits. */
static void conn_pool_grows_in_time(struct kunit *test)
{
	struct rpcrdma_range range = { .length = PAGE_SIZE };
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->client.conn;
	struct page *page = conn_alloc_pages(test)[0];
	struct rpcrdma_segment seg;
	LIST_HEAD(mrs);

	/* An argument and a result by body chunk: head, payload and tail each. */
	KUNIT_EXPECT_EQ(test, conn->n_mrs, 6U);
	/* The queue is seen once there is a delay. */
	conn->mr_delay = 1;
	KUNIT_EXPECT_EQ(test, rpcrdma_frwr_map(conn, &mrs, &range, &page, false,
					       &seg, 1), 1);
	/* A queue that memory reclaim can wait for. */
	KUNIT_EXPECT_PTR_EQ(test, conn->mr_work.wq, xprtiod_workqueue);
	flush_delayed_work(&conn->mr_work);
	KUNIT_EXPECT_EQ(test, conn->n_mrs, 8U);
	KUNIT_EXPECT_EQ(test, conn->stats.no_mr, 0ULL);
	rpcrdma_frwr_put(conn, &mrs);
}

static void conn_pool_grows_to_its_bound(struct kunit *test)
{
	struct rpcrdma_range range = { .length = PAGE_SIZE };
	struct conn_fixture *f = test->priv;
	struct rpcrdma_segment seg;
	struct page *page = conn_alloc_pages(test)[0];
	const unsigned long end = jiffies + CONN_TIMEOUT;
	LIST_HEAD(mrs);
	int rc;

	while (READ_ONCE(f->client.conn->n_mrs) < 8 &&
	       time_before(jiffies, end)) {
		rc = rpcrdma_frwr_map(f->client.conn, &mrs, &range, &page,
				      false, &seg, 1);
		KUNIT_EXPECT_TRUE(test, rc == 1 || rc == -EAGAIN);
		if (rc < 0)
			msleep(CONN_LOOK);
	}
	do {
		rc = rpcrdma_frwr_map(f->client.conn, &mrs, &range, &page,
				      false, &seg, 1);
	} while (rc == 1);
	KUNIT_EXPECT_EQ(test, rc, -EAGAIN);
	msleep(50);
	KUNIT_EXPECT_EQ(test, f->client.conn->n_mrs, 8U);
	KUNIT_EXPECT_EQ(test, conn_count(&mrs), 8U);
	rpcrdma_frwr_put(f->client.conn, &mrs);
	KUNIT_EXPECT_TRUE(test, list_empty(&mrs));
}

/* A few pages take a few entries of the list, and no more are touched. */
static void conn_maps_what_there_is(struct kunit *test)
{
	struct rpcrdma_range range = {
		.offset = PAGE_SIZE - 8, .length = PAGE_SIZE,
	};
	struct conn_fixture *f = test->priv;
	struct page **pages = conn_alloc_pages(test);
	struct rpcrdma_segment seg;
	struct rpcrdma_mr *mr;
	LIST_HEAD(mrs);
	int i;

	for (i = 0; i < 2; i++) {
		KUNIT_ASSERT_EQ(test, rpcrdma_frwr_map(f->client.conn, &mrs,
						       &range, pages, true,
						       &seg, 1), 1);
		KUNIT_EXPECT_EQ(test, seg.length, PAGE_SIZE);
		mr = list_first_entry(&mrs, struct rpcrdma_mr, link);
		KUNIT_EXPECT_EQ(test, mr->nents, 2U);
		KUNIT_EXPECT_TRUE(test, sg_is_last(&mr->sgl[1]));
		if (i)
			KUNIT_EXPECT_EQ(test, mr->sgl[2].length, 77U);
		mr->sgl[2].length = 77;
		/* Regions that are made now would be taken before this one. */
		flush_delayed_work(&f->client.conn->mr_work);
		rpcrdma_frwr_put(f->client.conn, &mrs);
	}
}

/* The peer has segments, and takes that back when a Call has been planned with them. */
static void conn_maps_nothing_into_no_segments(struct kunit *test)
{
	/* UPDXCH: SegmentSize is zero. */
	static const u32 update[] = { 1, 2, 100, 0xffffff04, 3, 4, 0, 0 };
	struct rpcrdma_range range = { .length = PAGE_SIZE };
	struct conn_fixture *f = test->priv;
	struct page **pages = conn_alloc_pages(test);
	struct rpcrdma_conn *conn = f->server.conn;
	struct rpcrdma_segment seg;
	LIST_HEAD(mrs);

	KUNIT_EXPECT_EQ(test, rpcrdma_frwr_map(conn, &mrs, &range, pages, true,
					       &seg, 1), 1);
	rpcrdma_frwr_put(conn, &mrs);
	conn_send_raw(test, update, sizeof(update));
	conn_becomes(!conn_info(&f->server).max_segment_size);
	KUNIT_EXPECT_EQ(test, conn_info(&f->server).max_segment_size, 0U);
	KUNIT_EXPECT_EQ(test, rpcrdma_frwr_map(conn, &mrs, &range, pages, true,
					       &seg, 1), -EMSGSIZE);
	KUNIT_EXPECT_TRUE(test, list_empty(&mrs));
}

/* Regions for a page each, as many as there are. Return: how many. */
static int conn_take_regions(struct kunit *test, struct page *page,
			     struct list_head *mrs)
{
	struct rpcrdma_range range = { .length = PAGE_SIZE };
	struct conn_fixture *f = test->priv;
	struct rpcrdma_segment seg;
	int rc, n = 0;

	while ((rc = rpcrdma_frwr_map(f->client.conn, mrs, &range, &page,
				      false, &seg, 1)) == 1)
		n++;
	KUNIT_EXPECT_EQ(test, rc, -EAGAIN);
	return n;
}

/* Who found too few regions is told of more, and not of those he gives back. */
static void conn_tells_of_regions(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->client.conn;
	struct page *page = conn_alloc_pages(test)[0];
	struct conn_side *side = &f->client;
	LIST_HEAD(others);
	LIST_HEAD(mrs);

	KUNIT_EXPECT_FALSE(test, rpcrdma_frwr_short(conn));
	/* Those that are made, once those that there are have been taken, and not before. */
	conn->mr_delay = CONN_TIMEOUT;
	conn_take_regions(test, page, &others);
	KUNIT_EXPECT_EQ(test, conn->stats.no_mr, 1ULL);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&conn->mr_work));
	flush_delayed_work(&conn->mr_work);
	conn_wait_room(test, side);
	KUNIT_EXPECT_FALSE(test, rpcrdma_frwr_short(conn));
	KUNIT_EXPECT_GT(test, conn_take_regions(test, page, &mrs), 0);
	KUNIT_EXPECT_EQ(test, conn->n_mrs, 8U);
	KUNIT_EXPECT_TRUE(test, rpcrdma_frwr_short(conn));
	/* Its own. */
	KUNIT_EXPECT_TRUE(test, rpcrdma_frwr_undo(conn, &mrs));
	KUNIT_EXPECT_FALSE(test, rpcrdma_frwr_undo(conn, &mrs));
	KUNIT_EXPECT_TRUE(test, rpcrdma_frwr_short(conn));
	KUNIT_EXPECT_EQ(test, atomic_read(&side->room), 1);
	/* Those of others; once. */
	rpcrdma_frwr_put(conn, &others);
	KUNIT_EXPECT_FALSE(test, rpcrdma_frwr_short(conn));
	KUNIT_EXPECT_EQ(test, atomic_read(&side->room), 2);
	KUNIT_EXPECT_EQ(test, conn_take_regions(test, page, &mrs), 8);
	rpcrdma_frwr_put(conn, &mrs);
	KUNIT_EXPECT_EQ(test, atomic_read(&side->room), 3);
	rpcrdma_frwr_put(conn, &mrs);
	KUNIT_EXPECT_EQ(test, atomic_read(&side->room), 3);
}

struct conn_taking_away {
	struct work_struct work;
	struct rpcrdma_conn *conn;
	struct list_head *mrs;
	struct completion over;
};

static void conn_take_away(struct work_struct *work)
{
	struct conn_taking_away *t = container_of(work, struct conn_taking_away,
						  work);

	rpcrdma_frwr_invalidate_wait(t->conn, t->mrs);
	complete(&t->over);
}

/* Behind conn_exit(), also if a case ends early: it ends with the connection. */
static void conn_await_taking_away(void *context)
{
	struct conn_taking_away *away = context;

	flush_work(&away->work);
	rpcrdma_conn_put(away->conn);
}

static struct conn_taking_away *
conn_begin_to_take_away(struct kunit *test, struct conn_chunk_call *call)
{
	struct conn_fixture *f = test->priv;
	struct conn_taking_away *away = kunit_kzalloc(test, sizeof(*away),
						      GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, away);
	away->conn = f->client.conn;
	away->mrs = &call->mrs;
	init_completion(&away->over);
	INIT_WORK(&away->work, conn_take_away);
	rpcrdma_conn_get(away->conn);
	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, conn_await_taking_away,
						  away), 0);
	schedule_work(&away->work);
	return away;
}

/* With the connection, regions are given back. */
static void conn_end_taking_away(struct kunit *test,
				 struct conn_taking_away *away)
{
	struct conn_fixture *f = test->priv;

	conn_end(&f->client);
	conn_wait(test, &away->over);
	KUNIT_EXPECT_TRUE(test, list_empty(away->mrs));
}

/* A connection goes from stage to stage and never back, whatever it hears of late. */
static void conn_stage_advances(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->client.conn;
	struct conn_msg *m = conn_msg(test, 7, RPCRDMA_CALL, 64);

	KUNIT_EXPECT_EQ(test, conn->stage, RPCRDMA_CONN_UP);
	rpcrdma_conn_reach(conn, RPCRDMA_CONN_CONNECTED);
	rpcrdma_conn_agreed(conn);
	KUNIT_EXPECT_EQ(test, conn->stage, RPCRDMA_CONN_UP);
	rpcrdma_conn_lost(conn, "test");
	KUNIT_EXPECT_EQ(test, conn->stage, RPCRDMA_CONN_CLOSED);
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_send(conn, &m->tm), -ENOTCONN);
	rpcrdma_conn_ending(conn);
	KUNIT_EXPECT_EQ(test, conn->stage, RPCRDMA_CONN_ENDING);
	rpcrdma_conn_lost(conn, "test again");
	rpcrdma_send_stop(conn);
	KUNIT_EXPECT_EQ(test, conn->stage, RPCRDMA_CONN_ENDING);
	KUNIT_EXPECT_STREQ(test, conn->loss, "test");
	KUNIT_EXPECT_TRUE(test, rpcrdma_conn_has_been(conn, RPCRDMA_CONN_UP));
	rpcrdma_conn_get(conn);
	conn_end(&f->client);
	KUNIT_EXPECT_EQ(test, conn->stage, RPCRDMA_CONN_DEAD);
	KUNIT_EXPECT_TRUE(test, rpcrdma_conn_has_been(conn, RPCRDMA_CONN_UP));
	rpcrdma_conn_put(conn);
	conn_wait(test, &f->server.lost);
}

/* KUnit allocates memory for what it says of a failure: not under the lock. */
static bool conn_advances(struct rpcrdma_conn *conn, enum rpcrdma_conn_stage stage)
{
	bool advances;

	spin_lock(&conn->lock);
	advances = rpcrdma_conn_advance(conn, stage);
	spin_unlock(&conn->lock);
	return advances;
}

/* Each stage is reached once: who is told of it is told once. What was, is known afterwards. */
static void conn_stage_is_reached_once(struct kunit *test)
{
	static const enum rpcrdma_conn_stage stages[] = {
		RPCRDMA_CONN_CONNECTING, RPCRDMA_CONN_CONNECTED,
		RPCRDMA_CONN_AGREED, RPCRDMA_CONN_UP,
	};
	struct rpcrdma_conn *conn;
	int i, last;

	conn = kunit_kzalloc(test, sizeof(*conn), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, conn);
	spin_lock_init(&conn->lock);
	for (last = 0; last <= ARRAY_SIZE(stages); last++) {
		conn->stage = RPCRDMA_CONN_CREATED;
		conn->reached = RPCRDMA_CONN_CREATED;
		for (i = 0; i < last; i++) {
			KUNIT_EXPECT_TRUE(test, conn_advances(conn, stages[i]));
			KUNIT_EXPECT_FALSE(test, conn_advances(conn, stages[i]));
			KUNIT_EXPECT_TRUE(test, rpcrdma_conn_open(conn));
			KUNIT_EXPECT_TRUE(test, rpcrdma_conn_sound(conn));
		}
		KUNIT_EXPECT_TRUE(test, conn_advances(conn, RPCRDMA_CONN_CLOSED));
		KUNIT_EXPECT_FALSE(test, rpcrdma_conn_open(conn));
		for (i = 0; i < ARRAY_SIZE(stages); i++) {
			KUNIT_EXPECT_FALSE(test, conn_advances(conn, stages[i]));
			KUNIT_EXPECT_EQ(test, rpcrdma_conn_has_been(conn, stages[i]), i < last);
		}
		KUNIT_EXPECT_TRUE(test, conn_advances(conn, RPCRDMA_CONN_DEAD));
		KUNIT_EXPECT_TRUE(test, rpcrdma_conn_sound(conn));
	}

	/* It was closed before anybody heard that the server has accepted. */
	conn->stage = RPCRDMA_CONN_CLOSED;
	conn->reached = RPCRDMA_CONN_CONNECTING;
	rpcrdma_conn_reach(conn, RPCRDMA_CONN_CONNECTED);
	KUNIT_EXPECT_TRUE(test, rpcrdma_conn_has_been(conn, RPCRDMA_CONN_CONNECTED));
	KUNIT_EXPECT_FALSE(test, rpcrdma_conn_open(conn));
	KUNIT_EXPECT_TRUE(test, rpcrdma_conn_sound(conn));

	/* Nobody is told of the end of a connection that is not closed. */
	conn->reached = RPCRDMA_CONN_UP;
	conn->stage = RPCRDMA_CONN_UP;
	KUNIT_EXPECT_TRUE(test, rpcrdma_conn_sound(conn));
	set_bit(RPCRDMA_CONN_LOST, &conn->flags);
	KUNIT_EXPECT_FALSE(test, rpcrdma_conn_sound(conn));
}

/*
 * What the peer may still be doing to a region of a connection that is being
 * ended must not fail: it stays until the queue pair is dead.
 */
static void conn_ending_keeps_regions(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_mr_table *t = &f->client.conn->mr_table;
	struct conn_taking_away *away;
	struct conn_chunk_call *call;
	struct page **pages = conn_alloc_pages(test);

	call = conn_offer(test, pages, 65536);
	rpcrdma_conn_ending(f->client.conn);
	away = conn_begin_to_take_away(test, call);
	KUNIT_EXPECT_EQ(test, wait_for_completion_timeout(&away->over, HZ / 5),
			0UL);
	KUNIT_EXPECT_EQ(test, t->count[RPCRDMA_MR_ACTIVE], 1U);
	KUNIT_EXPECT_EQ(test, f->client.conn->stats.local_invalidates, 0ULL);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
	conn_end_taking_away(test, away);
}

/* Somebody who waits for regions to be taken away, and what he finds then. */
struct conn_waiter {
	struct rpcrdma_inv inv;
	struct rpcrdma_mr *mr;
	int told;
	unsigned int nents;	/* of what @mr maps */
};

static void conn_waiter_told(struct rpcrdma_inv *inv)
{
	struct conn_waiter *w = container_of(inv, struct conn_waiter, inv);

	w->told++;
	w->nents = w->mr->nents;
}

static struct conn_waiter *conn_waiter(struct kunit *test)
{
	struct conn_waiter *w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, w);
	w->inv.done = conn_waiter_told;
	return w;
}

/* Whoever may use the memory again is told when no device maps it any more. */
static void conn_unmaps_before_it_tells(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_waiter *waiter = conn_waiter(test);
	struct conn_chunk_call *call;
	struct page **pages = conn_alloc_pages(test);

	call = conn_offer(test, pages, 65536);
	waiter->mr = conn_region(call);
	rpcrdma_conn_ending(f->client.conn);
	KUNIT_EXPECT_TRUE(test, rpcrdma_frwr_invalidate(f->client.conn,
							&call->mrs,
							&waiter->inv));
	KUNIT_EXPECT_EQ(test, waiter->told, 0);
	conn_end(&f->client);
	KUNIT_EXPECT_EQ(test, waiter->told, 1);
	KUNIT_EXPECT_EQ(test, waiter->nents, 0U);
}

/* Nor before, if the device could not take the memory away. */
static void conn_unmaps_before_it_tells_of_a_failure(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_waiter *waiter = conn_waiter(test);
	struct conn_chunk_call *call;
	struct page **pages = conn_alloc_pages(test);
	u32 key;

	call = conn_offer(test, pages, 65536);
	waiter->mr = conn_region(call);
	key = waiter->mr->mr->rkey;
	waiter->mr->mr->rkey = ib_inc_rkey(key);
	KUNIT_EXPECT_TRUE(test, rpcrdma_frwr_invalidate(f->client.conn,
							&call->mrs,
							&waiter->inv));
	waiter->mr->mr->rkey = key;
	conn_wait(test, &f->client.lost);
	KUNIT_EXPECT_EQ(test, f->client.conn->stats.local_invalidates, 1ULL);
	conn_end(&f->client);
	KUNIT_EXPECT_EQ(test, waiter->told, 1);
	KUNIT_EXPECT_EQ(test, waiter->nents, 0U);
}

/* An RPC of a client transport, which has the client's connection. */
struct conn_rpc {
	struct rpcrdma_xprt x;
	struct rpcrdma_req req;
	struct rpc_task task;
	struct rpc_clnt clnt;
	struct rpc_procinfo proc;
	struct rpcrdma_rx rx;
	struct rpcrdma_recv recv;
	u8 head[64];
	int told;	/* how often regions came back */
	u32 before;	/* bytes of its Reply when they first did */
	bool all;	/* it had none left then */
};

static void conn_rpc_lost(struct rpcrdma_conn *conn)
{
}

static void conn_rpc_room(struct rpcrdma_conn *conn)
{
	struct conn_rpc *rpc = container_of(conn->context, struct conn_rpc,
					    x);

	if (rpc->told++)
		return;
	rpc->before = rpc->req.rqst.rq_reply_bytes_recvd;
	rpc->all = list_empty(&rpc->req.mrs);
}

static const struct rpcrdma_conn_ops conn_rpc_ops = {
	.lost = conn_rpc_lost,
	.room = conn_rpc_room,
};

/* @call becomes an RPC that has been sent and waits for its Reply. */
static struct conn_rpc *conn_rpc(struct kunit *test,
				 struct conn_chunk_call *call)
{
	struct conn_rpc *rpc = kunit_kzalloc(test, sizeof(*rpc), GFP_KERNEL);
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->client.conn;
	struct rpc_xprt *xprt = &rpc->x.xprt;
	struct rpc_rqst *rqst = &rpc->req.rqst;

	KUNIT_ASSERT_NOT_NULL(test, rpc);
	spin_lock_init(&xprt->queue_lock);
	xprt->recv_queue = RB_ROOT;
	rpc_init_wait_queue(&xprt->pending, "kunit_pending");
	rpc->task.tk_rqstp = rqst;
	rpc->task.tk_client = &rpc->clnt;
	rpc->task.tk_msg.rpc_proc = &rpc->proc;
	__set_bit(RPC_TASK_NEED_RECV, &rpc->task.tk_runstate);
	rqst->rq_xprt = xprt;
	rqst->rq_task = &rpc->task;
	rqst->rq_xid = cpu_to_be32(call->m->tm.msg.xid);
	rqst->rq_rcv_buf.head[0].iov_base = rpc->head;
	rqst->rq_rcv_buf.head[0].iov_len = sizeof(rpc->head);
	rqst->rq_private_buf = rqst->rq_rcv_buf;
	rb_link_node(&rqst->rq_recv, NULL, &xprt->recv_queue.rb_node);
	rb_insert_color(&rqst->rq_recv, &xprt->recv_queue);

	INIT_LIST_HEAD(&rpc->req.mrs);
	list_splice_init(&call->mrs, &rpc->req.mrs);
	rpc->req.chunks = call->chunks;
	rpc->req.tm.posted = true;
	rpc->req.conn = conn;
	rpcrdma_conn_get(conn);
	/* Somebody waits for its regions, and there will be no others. */
	flush_delayed_work(&conn->mr_work);
	conn->ops = &conn_rpc_ops;
	conn->context = &rpc->x;
	spin_lock(&conn->lock);
	conn->mr_short = true;
	spin_unlock(&conn->lock);
	return rpc;
}

/* Its Reply comes, in one Send, and has invalidated the region with @handle. */
static void conn_rpc_reply(struct kunit *test, struct conn_rpc *rpc,
			   u32 handle)
{
	struct conn_fixture *f = test->priv;

	rpc->rx.xid = 77;
	rpc->rx.dir = RPCRDMA_REPLY;
	rpc->rx.last = true;
	rpc->rx.payload.length = sizeof(rpc->head);
	rpc->rx.stream_length = sizeof(rpc->head);
	rpc->recv.buf = f->stream;
	rpcrdma_client_payload(f->client.conn, &rpc->rx, &rpc->recv, handle);
	KUNIT_EXPECT_EQ(test, memcmp(rpc->head, f->stream, sizeof(rpc->head)),
			0);
}

/* It went on, without its regions, which had been given back before. */
static void conn_rpc_over(struct kunit *test, struct conn_rpc *rpc)
{
	const int length = sizeof(rpc->head);

	KUNIT_EXPECT_EQ(test, rpc->req.rqst.rq_reply_bytes_recvd, length);
	KUNIT_EXPECT_TRUE(test, list_empty(&rpc->req.mrs));
	KUNIT_EXPECT_EQ(test, atomic_read(&rpc->req.rqst.rq_pin), 0);
	KUNIT_EXPECT_NULL(test, rpc->req.conn);
	rpc_destroy_wait_queue(&rpc->x.xprt.pending);
}

/*
 * The consumer of an RPC has its memory when the peer cannot reach it any more, and
 * the device does not map it (section 11.1.3). This side takes all regions away.
 */
static void conn_takes_memory_back_before_an_rpc_ends(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpc_rqst *rqst;
	struct conn_chunk_call *call;
	struct page **pages = conn_alloc_pages(test);
	struct conn_rpc *rpc;

	call = conn_offer_chunks(test, pages, 65536, 2);
	rpc = conn_rpc(test, call);
	rqst = &rpc->req.rqst;
	conn_rpc_reply(test, rpc, 0);
	conn_becomes(READ_ONCE(rqst->rq_reply_bytes_recvd));
	KUNIT_EXPECT_EQ(test, f->client.conn->stats.local_invalidates, 2ULL);
	KUNIT_EXPECT_EQ(test, rpc->told, 1);
	KUNIT_EXPECT_EQ(test, rpc->before, 0U);
	KUNIT_EXPECT_TRUE(test, rpc->all);
	conn_end(&f->client);
	conn_rpc_over(test, rpc);
}

/* The Reply has taken it away. */
static void conn_unmaps_memory_before_an_rpc_ends(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_chunk_call *call;
	struct page **pages = conn_alloc_pages(test);
	struct conn_rpc *rpc;
	struct rpcrdma_mr *mr;

	call = conn_offer(test, pages, 65536);
	mr = conn_region(call);
	rpc = conn_rpc(test, call);
	conn_rpc_reply(test, rpc, call->chunks.write_segs[0].handle);
	KUNIT_EXPECT_EQ(test, mr->nents, 0U);
	KUNIT_EXPECT_EQ(test, rpc->told, 1);
	KUNIT_EXPECT_EQ(test, rpc->before, 0U);
	KUNIT_EXPECT_TRUE(test, rpc->all);
	conn_rpc_over(test, rpc);
	conn_end(&f->client);
}

/* While it cannot be taken away, the RPC has its Reply and does not end. */
static void conn_keeps_an_rpc_while_its_memory_is_registered(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_chunk_call *call;
	struct page **pages = conn_alloc_pages(test);
	struct conn_rpc *rpc;

	call = conn_offer(test, pages, 65536);
	rpc = conn_rpc(test, call);
	rpcrdma_conn_ending(f->client.conn);
	conn_rpc_reply(test, rpc, 0);
	KUNIT_EXPECT_EQ(test, rpc->req.rqst.rq_reply_bytes_recvd, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&rpc->req.rqst.rq_pin), 1);
	KUNIT_EXPECT_FALSE(test, list_empty(&rpc->req.mrs));
	conn_end(&f->client);
	conn_rpc_over(test, rpc);
}

/* What cannot be registered is told of by itself, and not by what follows it. */
static void conn_ends_with_what_cannot_be_registered(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct ib_wc wc = { .status = IB_WC_MW_BIND_ERR };
	struct conn_chunk_call *call;
	struct page **pages = conn_alloc_pages(test);

	call = conn_offer(test, pages, 65536);
	wc.wr_cqe = conn_region(call)->reg.wr.wr_cqe;
	KUNIT_EXPECT_NOT_NULL(test, wc.wr_cqe);
	if (wc.wr_cqe) {
		wc.wr_cqe->done(f->client.conn->send_cq, &wc);
		conn_wait(test, &f->client.lost);
	}
	conn_end(&f->client);
	KUNIT_EXPECT_TRUE(test, list_empty(&call->mrs));
}

/* As the device does, but Local Invalidates have a key that no region has. */
static int conn_post_wrong_key(struct ib_qp *qp, const struct ib_send_wr *wr,
			       const struct ib_send_wr **bad)
{
	struct ib_send_wr wrong = *wr;

	if (wr->opcode != IB_WR_LOCAL_INV)
		return conn_post_send(qp, wr, bad);
	wrong.ex.invalidate_rkey ^= 0xff;
	return conn_post_send(qp, &wrong, bad);
}

/*
 * Memory that cannot be taken away from the peer ends the connection, and is
 * given back to nobody before that has happened.
 */
static void conn_ends_with_what_cannot_be_invalidated(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_mr_table *t = &f->client.conn->mr_table;
	struct ib_device *device = f->client.conn->qp->device;
	struct conn_taking_away *away;
	struct conn_chunk_call *call;
	struct page **pages = conn_alloc_pages(test);
	struct rpcrdma_mr *mr;

	call = conn_offer(test, pages, 65536);
	mr = conn_region(call);
	conn_replace_post_send(test, device, conn_post_wrong_key);
	away = conn_begin_to_take_away(test, call);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&f->client.lost,
							  CONN_TIMEOUT), 0UL);
	conn_restore_post_send(device);
	KUNIT_EXPECT_EQ(test, f->client.conn->stats.local_invalidates, 1ULL);
	KUNIT_EXPECT_EQ(test, wait_for_completion_timeout(&away->over, HZ / 5),
			0UL);
	/* The end is told of before that. */
	KUNIT_EXPECT_TRUE(test,
			  conn_becomes(READ_ONCE(t->count[RPCRDMA_MR_LOST]) == 1));
	KUNIT_EXPECT_PTR_EQ(test, conn_region(call), mr);
	KUNIT_EXPECT_NE(test, mr->nents, 0);
	conn_end_taking_away(test, away);
}

static struct rpcrdma_session_info conn_server_info(struct conn_fixture *f)
{
	return conn_info(&f->server);
}

/* Return: Receives that the server offers. */
static u32 conn_window(struct conn_fixture *f)
{
	return conn_server_info(f).window;
}

/* What has arrived holds its Receive for a little longer. */
static void conn_wait_back(struct kunit *test)
{
	struct conn_fixture *f = test->priv;

	KUNIT_EXPECT_TRUE(test, conn_becomes(conn_recvs_are_back(&f->server)));
}

/* So many Receives wait then to be posted with others. */
static void conn_expect_free(struct kunit *test, u32 count)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->server.conn;

	/* All that are to be posted wait as well for a moment. */
	conn_becomes(conn_free(conn) == count && conn_recvs_are_back(&f->server));
	KUNIT_EXPECT_EQ(test, conn_free(conn), count);
	KUNIT_EXPECT_EQ(test, conn_server_info(f).window_used, count);
}

static void conn_send_small(struct kunit *test, int count)
{
	struct conn_fixture *f = test->priv;
	struct conn_msg *m;

	while (count--) {
		m = conn_msg(test, 7, RPCRDMA_CALL, 64);
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn,
							&m->tm), 0);
	}
}

/* A Receive goes after its message has been taken. */
static void conn_expect_recvs(struct kunit *test, u32 count)
{
	struct conn_fixture *f = test->priv;

	conn_becomes(READ_ONCE(f->server.conn->n_recvs) == count);
	KUNIT_EXPECT_EQ(test, f->server.conn->n_recvs, count);
}

static void conn_window_changes(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *server = f->server.conn;
	int i, seen;

	KUNIT_EXPECT_EQ(test, server->n_recvs, CONN_WINDOW + 1U);

	/* Larger: the peer hears of it, and can use it. */
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_set_window(server, 20), 0);
	KUNIT_EXPECT_EQ(test, conn_window(f), 20U);
	KUNIT_EXPECT_EQ(test, server->n_recvs, 21U);
	f->server.hold = true;
	conn_send_small(test, 24);
	for (i = 0; i < 20; i++)
		conn_wait(test, &f->server.arrived);
	msleep(200);
	seen = atomic_read(&f->server.messages);
	KUNIT_EXPECT_LE(test, seen, 20);
	conn_let_go(&f->server);
	for (; i < 24; i++)
		conn_wait(test, &f->server.arrived);

	KUNIT_EXPECT_TRUE(test, conn_becomes(conn_free(server) < 20 / 4 &&
					     conn_recvs_are_back(&f->server)));

	/* Smaller: the buffers go as messages come. */
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_set_window(server, 4), 0);
	/*
	 * A GRANT that the client still owed may have taken one with it, and those that were
	 * given back without the lock go at once.
	 */
	KUNIT_EXPECT_GE(test, conn_window(f), 15U);
	conn_send_small(test, 60);
	for (i = 0; i < 60; i++)
		conn_wait(test, &f->server.arrived);
	conn_expect_recvs(test, 5);
	KUNIT_EXPECT_EQ(test, conn_window(f), 4U);

	/* Larger again, before all that were to go have gone. */
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_set_window(server, 32), 0);
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_set_window(server, 5), 0);
	conn_send_small(test, 10);
	for (i = 0; i < 10; i++)
		conn_wait(test, &f->server.arrived);
	KUNIT_EXPECT_GT(test, server->n_recvs, 6U);
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_set_window(server, 12), 0);
	conn_send_small(test, 60);
	for (i = 0; i < 60; i++)
		conn_wait(test, &f->server.arrived);
	conn_expect_recvs(test, 13);

	/* What makes no sense becomes what does. */
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_set_window(server, 0), 0);
	conn_send_small(test, 60);
	for (i = 0; i < 60; i++)
		conn_wait(test, &f->server.arrived);
	conn_expect_recvs(test, RPCRDMA_MIN_WINDOW + 1);
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_set_window(server, 100000), 0);
	KUNIT_EXPECT_EQ(test, conn_window(f), (u32)RPCRDMA_WINDOW_STEP);
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_set_window(server, 8), 0);
	conn_exchange(test, &f->client, &f->server, RPCRDMA_CALL);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
	KUNIT_EXPECT_FALSE(test, completion_done(&f->server.lost));
}

static int (*conn_post_recv)(struct ib_qp *qp, const struct ib_recv_wr *wr,
			     const struct ib_recv_wr **bad);
static struct ib_qp *conn_recv_qp;
static atomic_t conn_recv_doorbells;
static atomic_t conn_recv_posted;

/* What the device does, counted for one queue pair. */
static int conn_post_recv_counted(struct ib_qp *qp, const struct ib_recv_wr *wr,
				  const struct ib_recv_wr **bad)
{
	const struct ib_recv_wr *each;

	if (qp == conn_recv_qp) {
		atomic_inc(&conn_recv_doorbells);
		for (each = wr; each; each = each->next)
			atomic_inc(&conn_recv_posted);
	}
	return conn_post_recv(qp, wr, bad);
}

static void conn_count_no_recvs(void *device)
{
	WRITE_ONCE(((struct ib_device *)device)->ops.post_recv, conn_post_recv);
}

/* Until conn_count_no_recvs(), or the end of the case. */
static void conn_count_recvs(struct kunit *test, struct ib_qp *qp)
{
	struct ib_device *device = qp->device;

	conn_recv_qp = qp;
	atomic_set(&conn_recv_doorbells, 0);
	atomic_set(&conn_recv_posted, 0);
	conn_post_recv = device->ops.post_recv;
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, conn_count_no_recvs,
							device), 0);
	WRITE_ONCE(device->ops.post_recv, conn_post_recv_counted);
}

/* So many Calls, and each has been taken. */
static void conn_take_small(struct kunit *test, int count)
{
	struct conn_fixture *f = test->priv;

	while (count--) {
		conn_send_small(test, 1);
		conn_wait(test, &f->server.arrived);
	}
}

/* A quarter of the window goes together, until half of it is used up. */
static void conn_posts_receives_together(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *server = f->server.conn;

	KUNIT_ASSERT_EQ(test, rpcrdma_conn_set_window(server, 64), 0);
	conn_expect_free(test, 0);
	conn_count_recvs(test, server->qp);
	conn_take_small(test, 15);
	conn_expect_free(test, 15);
	KUNIT_EXPECT_EQ(test, atomic_read(&conn_recv_doorbells), 0);
	conn_take_small(test, 1);
	conn_expect_free(test, 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&conn_recv_doorbells), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&conn_recv_posted), 16);
	conn_take_small(test, 15);
	conn_expect_free(test, 15);
	conn_count_no_recvs(server->qp->device);
	KUNIT_EXPECT_EQ(test, atomic_read(&conn_recv_doorbells), 1);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
}

/* All others are held: those that wait are posted, and the client hears of them. */
static void conn_leaves_no_receive_behind(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *server = f->server.conn;
	int i;

	KUNIT_ASSERT_EQ(test, rpcrdma_conn_set_window(server, 64), 0);
	conn_expect_free(test, 0);
	conn_take_small(test, 15);
	conn_expect_free(test, 15);
	WRITE_ONCE(f->server.hold, true);
	conn_send_small(test, 64);
	for (i = 0; i < 64; i++)
		conn_wait(test, &f->server.arrived);
	KUNIT_EXPECT_EQ(test, conn_free(server), 0U);
	conn_let_go(&f->server);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
}

/* The server keeps the Receives of @count small Calls, which have come. */
static void conn_hold_small(struct kunit *test, u32 count)
{
	struct conn_fixture *f = test->priv;
	u32 i;

	WRITE_ONCE(f->server.hold, true);
	conn_send_small(test, count);
	for (i = 0; i < count; i++)
		conn_wait(test, &f->server.arrived);
	/*
	 * The handler may still be about to put the last one into the list, or may just have done
	 * so: who lets them go must not have to wait for it.
	 */
	conn_becomes(conn_n_held(&f->server) >= count &&
		     !atomic_read(&f->server.receiving));
	KUNIT_ASSERT_EQ(test, atomic_read(&f->server.receiving), 0);
	KUNIT_ASSERT_EQ(test, conn_n_held(&f->server), count);
}

/*
 * A Receive that may wait is given back without the lock: here that would be a deadlock, of
 * which the checking kernel tells. What is one too many is posted with the others.
 */
static void conn_gives_receives_back_without_the_lock(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *server = f->server.conn;

	KUNIT_ASSERT_EQ(test, rpcrdma_conn_set_window(server, 64), 0);
	conn_expect_free(test, 0);
	conn_hold_small(test, 2);
	spin_lock(&server->lock);
	conn_let_go(&f->server);
	spin_unlock(&server->lock);
	KUNIT_EXPECT_EQ(test, conn_free(server), 2U);
	KUNIT_EXPECT_EQ(test, server->n_recv_free, 0U);

	conn_take_small(test, 13);
	conn_expect_free(test, 15);
	conn_take_small(test, 1);
	conn_expect_free(test, 0);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
}

/*
 * A thread that has been stopped before it counted its Receive makes no room for another one:
 * that is posted at once, where none may wait.
 */
static void conn_posts_a_receive_beside_a_stopped_thread(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *server = f->server.conn;

	KUNIT_ASSERT_EQ(test, rpcrdma_conn_set_window(server, 64), 0);
	conn_expect_free(test, 0);
	conn_hold_small(test, 1);
	WRITE_ONCE(server->recv_slack, 0);
	atomic_dec(&server->n_recv_back);
	conn_let_go(&f->server);
	KUNIT_EXPECT_TRUE(test, llist_empty(&server->recv_back));
	atomic_inc(&server->n_recv_back);
	conn_expect_free(test, 1);
}

/* A window that grows makes scarce what was ample. */
static void conn_posts_what_waits_for_a_larger_window(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *server = f->server.conn;

	KUNIT_ASSERT_EQ(test, rpcrdma_conn_set_window(server, 16), 0);
	conn_take_small(test, 3);
	conn_expect_free(test, 3);
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_set_window(server, 64), 0);
	conn_expect_free(test, 0);
}

/* The client may send the next Call when the Reply has come. */
static void conn_posts_receives_at_once(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *server = f->server.conn;

	KUNIT_ASSERT_EQ(test, rpcrdma_conn_set_window(server, 64), 0);
	conn_count_recvs(test, server->qp);
	conn_take_small(test, 1);
	conn_expect_free(test, 0);
	conn_count_no_recvs(server->qp->device);
	KUNIT_EXPECT_EQ(test, atomic_read(&conn_recv_doorbells), 1);
	KUNIT_EXPECT_EQ(test, atomic_read(&conn_recv_posted), 1);
}

struct conn_read {
	struct rpcrdma_job job;
	struct ib_sge sge;
	struct ib_rdma_wr wr;
	int status;
	int ends;
};

static int conn_read_post(struct rpcrdma_job *job, struct ib_cqe *cqe)
{
	struct conn_read *read = container_of(job, struct conn_read, job);

	read->wr.wr.wr_cqe = cqe;
	return ib_post_send(job->conn->qp, &read->wr.wr, NULL);
}

static void conn_read_done(struct rpcrdma_job *job, int status)
{
	struct conn_read *read = container_of(job, struct conn_read, job);

	read->status = status;
	read->ends++;
}

static struct conn_read *
conn_read_alloc(struct kunit *test, u64 call,
		int (*post)(struct rpcrdma_job *job, struct ib_cqe *cqe))
{
	struct conn_read *read = kunit_kzalloc(test, sizeof(*read), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, read);
	read->job.cost = 1;
	read->job.call = call;
	read->job.post = post;
	read->job.done = conn_read_done;
	return read;
}

/* An RDMA Read by the server of memory that the client never offered. */
static void conn_read(struct kunit *test, u64 call,
		      int (*post)(struct rpcrdma_job *job, struct ib_cqe *cqe))
{
	struct conn_fixture *f = test->priv;
	struct ib_device *device = f->server.cm_id->device;
	struct conn_read *read = conn_read_alloc(test, call, post);

	read->sge.length = 64;
	read->sge.lkey = f->server.conn->pd->local_dma_lkey;
	read->sge.addr = ib_dma_map_single(device, f->server.got, 64,
					   DMA_FROM_DEVICE);
	KUNIT_ASSERT_FALSE(test, ib_dma_mapping_error(device, read->sge.addr));
	read->wr.wr.opcode = IB_WR_RDMA_READ;
	read->wr.wr.send_flags = IB_SEND_SIGNALED;
	read->wr.wr.sg_list = &read->sge;
	read->wr.wr.num_sge = 1;
	read->wr.rkey = 0x1234;
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_job(f->server.conn, &read->job), 0);
	conn_wait(test, &f->server.lost);
	conn_end(&f->server);
	ib_dma_unmap_single(device, read->sge.addr, 64, DMA_FROM_DEVICE);
	KUNIT_EXPECT_EQ(test, read->ends, 1);
	KUNIT_EXPECT_EQ(test, read->status, -ENOTCONN);
}

static void conn_blames_a_bad_operation(struct kunit *test)
{
	struct conn_fixture *f = test->priv;

	conn_read(test, 42, conn_read_post);
	KUNIT_EXPECT_EQ(test, f->server.faulty, 42ULL);
	KUNIT_EXPECT_TRUE(test, f->server.sure);
}

static int conn_read_post_flushed(struct rpcrdma_job *job, struct ib_cqe *cqe)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	ib_modify_qp(job->conn->qp, &attr, IB_QP_STATE);
	return conn_read_post(job, cqe);
}

/* Lost with its connection: the same Call may succeed on the next one. */
static void conn_blames_no_flushed_operation(struct kunit *test)
{
	struct conn_fixture *f = test->priv;

	conn_read(test, 43, conn_read_post_flushed);
	KUNIT_EXPECT_EQ(test, f->server.faulty, 0ULL);
}

static int conn_post_nothing(struct rpcrdma_job *job, struct ib_cqe *cqe)
{
	return 0;
}

static int conn_cannot_post(struct rpcrdma_job *job, struct ib_cqe *cqe)
{
	return -ENOMEM;
}

/* A device that does not tell how an RDMA Read has ended, or takes none. */
static void conn_ends_what_never_completes(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_read *read[] = {
		conn_read_alloc(test, 44, conn_post_nothing),
		conn_read_alloc(test, 45, conn_post_nothing),
		conn_read_alloc(test, 46, conn_cannot_post),
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(read); i++) {
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_job(f->server.conn,
						       &read[i]->job), 0);
		KUNIT_EXPECT_EQ(test, read[i]->ends, 0);
	}
	conn_wait(test, &f->server.lost);
	conn_end(&f->server);
	for (i = 0; i < ARRAY_SIZE(read); i++) {
		KUNIT_EXPECT_EQ(test, read[i]->ends, 1);
		KUNIT_EXPECT_EQ(test, read[i]->status, -ENOTCONN);
	}
}

static struct ib_send_wr *conn_no_chain(struct rpcrdma_txmsg *tm,
					struct ib_send_wr *next)
{
	return next;
}

/* Replies with RDMA Writes take what comes back of the send queue, unless a Read waits for it. */
static void conn_replies_do_not_overtake_a_read(struct kunit *test)
{
	struct conn_read *read = conn_read_alloc(test, 49, conn_post_nothing);
	struct conn_msg *m = conn_msg(test, 2, RPCRDMA_CALL, 64);
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->server.conn;
	const u32 few = 4;
	u32 others;

	read->job.cost = 16;
	spin_lock(&conn->lock);
	others = conn->sq_avail - few;
	conn->sq_avail = few;
	spin_unlock(&conn->lock);
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_job(conn, &read->job), 0);
	/* A message that needs no other Work Request passes. */
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(conn, &m->tm), 0);
	conn_wait(test, &f->client.arrived);
	conn_wait(test, &m->done);
	m = conn_msg(test, 1, RPCRDMA_REPLY, 64);
	m->tm.chain = conn_no_chain;
	m->tm.chain_cost = 1;
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(conn, &m->tm), 0);
	KUNIT_EXPECT_FALSE(test, list_empty(&m->tm.link));
	KUNIT_EXPECT_FALSE(test, list_empty(&conn->job_queue));

	spin_lock(&conn->lock);
	conn->sq_avail += others;
	spin_unlock(&conn->lock);
	rpcrdma_conn_pump(conn);
	conn_wait(test, &f->client.arrived);
	KUNIT_EXPECT_TRUE(test, list_empty(&m->tm.link));
}

static int conn_read_post_all_the_same(struct rpcrdma_job *job,
				       struct ib_cqe *cqe)
{
	conn_read_post(job, cqe);
	return -ENOMEM;
}

/* A device that takes a Work Request and says that it does not. */
static void conn_ends_a_completed_read_once(struct kunit *test)
{
	conn_read(test, 47, conn_read_post_all_the_same);
}

/* A device that tells again of what it has flushed. */
static void conn_ends_a_read_flushed_twice_once(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_read *read = conn_read_alloc(test, 48, conn_post_nothing);
	struct ib_wc wc = { .status = IB_WC_WR_FLUSH_ERR };

	KUNIT_ASSERT_EQ(test, rpcrdma_conn_job(f->server.conn, &read->job), 0);
	wc.wr_cqe = &read->job.cqe;
	wc.wr_cqe->done(f->server.conn->send_cq, &wc);
	wc.wr_cqe->done(f->server.conn->send_cq, &wc);
	KUNIT_EXPECT_EQ(test, read->ends, 0);
	conn_wait(test, &f->server.lost);
	conn_end(&f->server);
	KUNIT_EXPECT_EQ(test, read->ends, 1);
	KUNIT_EXPECT_EQ(test, read->status, -ENOTCONN);
}

/* It may have broken because something else went wrong at the same time. */
static void conn_suspects_a_local_failure(struct kunit *test)
{
	struct ib_wc wc = { .status = IB_WC_LOC_QP_OP_ERR };
	struct conn_fixture *f = test->priv;

	f->server.sure = true;
	rpcrdma_conn_fault(f->server.conn, "Send", &wc, 44);
	KUNIT_EXPECT_EQ(test, f->server.faulty, 44ULL);
	KUNIT_EXPECT_FALSE(test, f->server.sure);
	conn_wait(test, &f->server.lost);
}

/* No regions, all else as always. */
static void conn_expect_no_regions(struct kunit *test, struct conn_side *side,
				   struct page *page)
{
	struct rpcrdma_range range = { .length = PAGE_SIZE };
	struct rpcrdma_segment seg;
	LIST_HEAD(mrs);

	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(side->conn), 0);
	if (IS_ERR(side->conn))
		return;
	KUNIT_EXPECT_EQ(test, side->conn->n_mrs, 0U);
	KUNIT_EXPECT_EQ(test, rpcrdma_frwr_map(side->conn, &mrs, &range, &page,
					       false, &seg, 1), -EMSGSIZE);
}

/* A device without fast registration, or that registers no page at all, or gives none back. */
static void conn_does_without_registration(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct sockaddr *to = (struct sockaddr *)
		&f->client.cm_id->route.addr.dst_addr;
	struct ib_device_attr *attrs = &f->client.cm_id->device->attrs;
	const struct ib_device_attr was = *attrs;
	struct page *page = conn_alloc_pages(test)[0];
	struct conn_side side = { };
	int i;

	for (i = 0; i < 3; i++) {
		conn_resolve(test, &side, to);
		if (i == 2)
			attrs->vendor_part_id = RDMA_DRIVER_HNS;
		else if (i)
			attrs->max_fast_reg_page_list_len = 0;
		else
			attrs->device_cap_flags &= ~IB_DEVICE_MEM_MGT_EXTENSIONS;
		side.conn = conn_make(&side, RPCRDMA_ROLE_CLIENT);
		*attrs = was;
		conn_expect_no_regions(test, &side, page);
		conn_end(&side);
	}
}

/* Regions that the device has left. A queue pair that cannot be made gives all of its own back. */
static struct {
	typeof_member(struct ib_device, ops.alloc_mr) make;
	u32 limit;
	u32 left;
	u32 refused;
} conn_mrs;

static struct ib_mr *conn_alloc_mr(struct ib_pd *pd, enum ib_mr_type type, u32 n)
{
	if (conn_mrs.left) {
		conn_mrs.left--;
		return conn_mrs.make(pd, type, n);
	}
	conn_mrs.left = conn_mrs.limit;
	conn_mrs.refused++;
	return ERR_PTR(-ENOSPC);
}

/*
 * Other connections have nearly all of the regions that a server needs for RDMA: it does with as
 * few as one message takes at most, and with fewer it waits.
 */
static void conn_does_with_few_regions(struct kunit *test)
{
	static const struct {
		u32 left, has;
	} tries[] = { { 64, 64 }, { 63, 49 }, { 49, 49 }, { 48, 0 } };
	struct conn_fixture *f = test->priv;
	struct ib_device *device = f->client.cm_id->device;
	struct sockaddr *to = (struct sockaddr *)
		&f->client.cm_id->route.addr.dst_addr;
	const u32 max_sgl_rd = device->attrs.max_sgl_rd;
	struct conn_side side = { .queues = true };
	struct list_head *at;
	u32 i, has;

	for (i = 0; i < ARRAY_SIZE(tries); i++) {
		conn_resolve(test, &side, to);
		conn_mrs.make = device->ops.alloc_mr;
		conn_mrs.limit = tries[i].left;
		conn_mrs.left = tries[i].left;
		conn_mrs.refused = 0;
		device->attrs.max_sgl_rd = 1;
		device->ops.alloc_mr = conn_alloc_mr;
		side.conn = conn_make(&side, RPCRDMA_ROLE_SERVER);
		device->ops.alloc_mr = conn_mrs.make;
		device->attrs.max_sgl_rd = max_sgl_rd;
		has = 0;
		if (!IS_ERR(side.conn))
			list_for_each(at, &side.conn->qp->rdma_mrs)
				has++;
		else
			KUNIT_EXPECT_EQ(test, PTR_ERR(side.conn), -ENOBUFS);
		KUNIT_EXPECT_EQ_MSG(test, has, tries[i].has, "%u left",
				    tries[i].left);
		KUNIT_EXPECT_EQ(test, conn_mrs.refused,
				(tries[i].left < 64) + (tries[i].left < 49));
		conn_end(&side);
	}
}

static void conn_free_spares(void *spares)
{
	int i;

	for (i = 0; i < RPCRDMA_SPARE_KINDS; i++)
		rpcrdma_spares_free((struct rpcrdma_spares *)spares + i);
}

/* They and what is in them are freed behind conn_exit(). */
static struct rpcrdma_spares *conn_spares(struct kunit *test)
{
	struct rpcrdma_spares *spares;

	spares = kunit_kcalloc(test, RPCRDMA_SPARE_KINDS, sizeof(*spares), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, spares);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, conn_free_spares,
							spares), 0);
	return spares;
}

/* Who connects again has the buffers that there were, and needs no memory for them. */
static void conn_gets_the_buffers_of_the_last_one(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct sockaddr *to = (struct sockaddr *)
		&f->client.cm_id->route.addr.dst_addr;
	struct conn_side side = { };
	struct rpcrdma_spares *spares;
	void *first = NULL;
	int i;

	spares = conn_spares(test);
	side.spares = spares;
	for (i = 0; i < 3; i++) {
		conn_resolve(test, &side, to);
		side.conn = conn_make(&side, RPCRDMA_ROLE_CLIENT);
		KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(side.conn), 0);
		KUNIT_EXPECT_EQ(test, spares[RPCRDMA_SPARE_SENDS].count, 0U);
		KUNIT_EXPECT_EQ(test, spares[RPCRDMA_SPARE_RECVS].count, 0U);
		if (first && !IS_ERR(side.conn))
			KUNIT_EXPECT_PTR_EQ(test, side.conn->sends[0].buf.data,
					    first);
		conn_end(&side);
		KUNIT_EXPECT_EQ(test, spares[RPCRDMA_SPARE_SENDS].count, 16U);
		KUNIT_EXPECT_EQ(test, spares[RPCRDMA_SPARE_RECVS].count,
				CONN_WINDOW + 1U);
		first = spares[RPCRDMA_SPARE_SENDS].first;
	}
	conn_free_spares(spares);
	for (i = 0; i < RPCRDMA_SPARE_KINDS; i++)
		KUNIT_EXPECT_NULL(test, spares[i].first);
}

/* What a large window had is not kept: the budget does not know of it. Nor are other sizes. */
static void conn_leaves_no_more_than_is_needed(struct kunit *test)
{
	const u32 window = 2 * RPCRDMA_WINDOW_STEP;
	struct conn_side side = { .version = 2, .follows = true };
	struct conn_fixture *f = test->priv;
	const unsigned int before = rpcrdma_window;
	struct rpcrdma_spares *spares, *recvs;

	spares = conn_spares(test);
	recvs = &spares[RPCRDMA_SPARE_RECVS];
	side.spares = spares;
	conn_resolve(test, &side,
		     (struct sockaddr *)&f->client.cm_id->route.addr.dst_addr);
	rpcrdma_window_change(window);
	side.conn = conn_make(&side, RPCRDMA_ROLE_CLIENT);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(side.conn), 0);
	if (!IS_ERR(side.conn)) {
		/* As if they had grown. */
		recvs->size = SZ_1K;
		KUNIT_EXPECT_EQ(test, rpcrdma_conn_set_window(side.conn, window), 0);
		KUNIT_EXPECT_EQ(test, side.conn->n_recvs, window + 1);
		KUNIT_EXPECT_EQ(test, recvs->size, (u32)SZ_1K);
		recvs->size = RPCRDMA_DEF_INLINE;
	}
	conn_end(&side);
	rpcrdma_window_change(before);
	KUNIT_EXPECT_EQ(test, recvs->count, RPCRDMA_WINDOW_STEP + 1U);
}

/* Waits for another work item, as memory reclaim may have to. */
struct conn_reclaim {
	struct work_struct work;
	struct rpcrdma_conn *conn;
};

/* The kernel complains if what a rescuer may have to wait for has none. */
static void conn_wait_as_reclaim(struct kunit *test, struct conn_reclaim *w,
				 work_func_t what)
{
	struct workqueue_struct *wq =
		alloc_workqueue("conn_reclaim", WQ_UNBOUND | WQ_MEM_RECLAIM, 0);

	KUNIT_ASSERT_NOT_NULL(test, wq);
	INIT_WORK_ONSTACK(&w->work, what);
	queue_work(wq, &w->work);
	flush_work(&w->work);
	destroy_work_on_stack(&w->work);
	destroy_workqueue(wq);
}

/* Each time the work may be done before this waits for it, but not every time. */
static void conn_wait_for_work(struct work_struct *work)
{
	struct conn_reclaim *w = container_of(work, struct conn_reclaim, work);
	struct rpcrdma_conn *conn = w->conn;
	int i;

	for (i = 0; i < 50; i++) {
		rpcrdma_stats_resize_windows();
		flush_work(&conn->window_work);
		rpcrdma_conn_lost_later(conn, "test");
		flush_work(&conn->lost_work);
	}
}

static void conn_has_a_rescuer(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_reclaim w = { .conn = f->client.conn };

	w.conn->follow = true;
	conn_wait_as_reclaim(test, &w, conn_wait_for_work);
	KUNIT_EXPECT_TRUE(test, test_bit(RPCRDMA_CONN_LOST, &w.conn->flags));
}

static void conn_flush_a_recv(struct rpcrdma_conn *conn)
{
	struct rpcrdma_recv *recv = list_first_entry(&conn->recvs,
						     struct rpcrdma_recv, all);
	struct ib_wc wc = {
		.wr_cqe = &recv->cqe,
		.status = IB_WC_WR_FLUSH_ERR,
		.qp = conn->cm_id->qp,
	};

	recv->cqe.done(wc.qp->recv_cq, &wc);
}

/* As if it had not come further. */
static void conn_back_to(struct rpcrdma_conn *conn, enum rpcrdma_conn_stage stage)
{
	spin_lock(&conn->lock);
	conn->stage = stage;
	conn->reached = stage;
	spin_unlock(&conn->lock);
}

/* If a server refuses, rdma_cm flushes the Receives before it says so. */
static void conn_ends_for_a_flush_after_the_handshake(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->client.conn;

	conn_back_to(conn, RPCRDMA_CONN_CONNECTING);
	conn_flush_a_recv(conn);
	KUNIT_EXPECT_FALSE(test, test_bit(RPCRDMA_CONN_LOST, &conn->flags));
	rpcrdma_conn_reach(conn, RPCRDMA_CONN_CONNECTED);
	conn_flush_a_recv(conn);
	KUNIT_EXPECT_TRUE(test, test_bit(RPCRDMA_CONN_LOST, &conn->flags));
}

/* A server that refuses everybody. */
static int conn_refuse(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	return event->event == RDMA_CM_EVENT_CONNECT_REQUEST ? -ECONNREFUSED :
							       0;
}

static unsigned int conn_rpc_counts[1];

static const struct rpc_version conn_version = {
	.number = 1,
	.nrprocs = ARRAY_SIZE(conn_rpc_counts),
	.counts = conn_rpc_counts,
};

static const struct rpc_version *conn_versions[] = {
	NULL,
	&conn_version,
};

static struct rpc_stat conn_rpc_stats;

static const struct rpc_program conn_program = {
	.name = "kunit",
	.number = 0x20000000,
	.nrvers = ARRAY_SIZE(conn_versions),
	.version = conn_versions,
	.stats = &conn_rpc_stats,
};

/* sunrpc's side of a mount. */
static struct rpc_clnt *conn_mount(struct kunit *test,
				   struct sockaddr_in *server)
{
	struct rpc_create_args args = {
		.net = &init_net,
		.protocol = XPRT_TRANSPORT_RDMA,
		.address = (struct sockaddr *)server,
		.addrsize = sizeof(*server),
		.servername = "kunit",
		.program = &conn_program,
		.version = 1,
		.authflavor = RPC_AUTH_NULL,
		.flags = RPC_CLNT_CREATE_NOPING | RPC_CLNT_CREATE_HARDRTRY,
		.cred = current_cred(),
	};
	struct rpc_clnt *clnt = rpc_create(&args);

	KUNIT_ASSERT_FALSE(test, IS_ERR(clnt));
	return clnt;
}

/* An RPC wants a connection, and there is none to be had. */
static void conn_try(struct kunit *test, struct rpcrdma_xprt *rx)
{
	struct rpc_task *task = kunit_kzalloc(test, sizeof(*task), GFP_KERNEL);
	struct rpc_xprt *xprt = &rx->xprt;
	const unsigned int cookie = xprt->connect_cookie;

	KUNIT_ASSERT_NOT_NULL(test, task);
	set_bit(XPRT_LOCKED, &xprt->state);
	xprt->snd_task = task;
	xprt->ops->connect(xprt, task);
	flush_delayed_work(&rx->connector);
	/* Who has waited for this attempt cannot end what the next one brings. */
	KUNIT_EXPECT_NE(test, xprt->connect_cookie, cookie);
}

/* A server that refuses everybody, and a mount of it that has not tried yet. */
static struct rpc_clnt *conn_refused_mount(struct kunit *test)
{
	struct sockaddr_in server = { .sin_family = AF_INET };
	struct conn_fixture *f = test->priv;

	server.sin_addr.s_addr = in_aton(addr);
	f->refuser = rdma_create_id(&init_net, conn_refuse, NULL, RDMA_PS_TCP,
				    IB_QPT_RC);
	KUNIT_ASSERT_FALSE(test, IS_ERR(f->refuser));
	KUNIT_ASSERT_EQ(test, rdma_bind_addr(f->refuser,
					     (struct sockaddr *)&server), 0);
	KUNIT_ASSERT_EQ(test, rdma_listen(f->refuser, 1), 0);
	server.sin_port = ((struct sockaddr_in *)
			   &f->refuser->route.addr.src_addr)->sin_port;
	return conn_mount(test, &server);
}

static void conn_null_encode(struct rpc_rqst *rqst, struct xdr_stream *xdr,
			     const void *nothing)
{
}

static int conn_null_decode(struct rpc_rqst *rqst, struct xdr_stream *xdr,
			    void *nothing)
{
	return 0;
}

static const struct rpc_procinfo conn_null = {
	.p_encode = conn_null_encode,
	.p_decode = conn_null_decode,
	.p_name = "NULL",
};

static const struct rpc_call_ops conn_call_ops = { };

/* sunrpc's own lets no NULL call wait. */
static struct rpc_task *conn_call_null(struct rpc_clnt *clnt, int flags)
{
	const struct rpc_message message = { .rpc_proc = &conn_null };
	const struct rpc_task_setup setup = {
		.rpc_client = clnt,
		.rpc_message = &message,
		.callback_ops = &conn_call_ops,
		.flags = RPC_TASK_ASYNC | flags,
	};

	return rpc_run_task(&setup);
}

/* An RPC ends that must not wait for a connection, and another one goes on trying. */
static void conn_ends_who_cannot_wait(struct kunit *test)
{
	static const int flags[] = { RPC_TASK_SOFTCONN, 0 };
	struct conn_fixture *f = test->priv;
	struct rpc_clnt *clnt;
	struct rpc_task *task;
	struct rpc_xprt *xprt;
	unsigned int cookie;
	bool active;
	int i;

	for (i = 0; i < ARRAY_SIZE(flags); i++) {
		clnt = conn_refused_mount(test);
		xprt = rcu_access_pointer(clnt->cl_xprt);
		cookie = READ_ONCE(xprt->connect_cookie);
		task = conn_call_null(clnt, flags[i]);
		KUNIT_EXPECT_FALSE(test, IS_ERR(task));
		if (!IS_ERR(task)) {
			/* It may be about to end; nobody else tries. */
			if (flags[i]) {
				conn_becomes(!RPC_IS_ACTIVATED(task));
				KUNIT_EXPECT_EQ(test,
						READ_ONCE(xprt->connect_cookie),
						cookie + 1);
			} else {
				conn_becomes(READ_ONCE(xprt->connect_cookie) -
					     cookie >= 2);
				KUNIT_EXPECT_GE(test,
						READ_ONCE(xprt->connect_cookie),
						cookie + 2);
			}
			active = RPC_IS_ACTIVATED(task);
			KUNIT_EXPECT_EQ_MSG(test, active, !flags[i],
					    "status %d", task->tk_rpc_status);
			if (flags[i])
				KUNIT_EXPECT_EQ(test, task->tk_rpc_status,
						-ECONNREFUSED);
		}
		rpc_shutdown_client(clnt);
		if (!IS_ERR(task))
			rpc_put_task(task);
		rdma_destroy_id(f->refuser);
		f->refuser = NULL;
	}
}

/* Every attempt of a mount begins with the buffers of the one before. */
static void conn_of_a_mount_leaves_its_buffers(struct kunit *test)
{
	struct rpcrdma_xprt *rx;
	struct module *owner;
	struct rpc_clnt *clnt;
	u32 i, recvs = 0;
	int refs;

	clnt = conn_refused_mount(test);
	rx = rpcrdma_xprt(rcu_access_pointer(clnt->cl_xprt));
	owner = rx->xprt.xprt_class->owner;
	refs = module_refcount(owner);
	for (i = 0; i < 3; i++) {
		/* A probe of one connection is none of the next. */
		rx->keepalive.waiting = true;
		conn_try(test, rx);
		KUNIT_EXPECT_FALSE(test, rx->keepalive.waiting);
		KUNIT_EXPECT_EQ(test, rx->cm_error, -ECONNREFUSED);
		KUNIT_EXPECT_NULL(test, rx->conn);
		KUNIT_EXPECT_EQ(test, rx->spares[RPCRDMA_SPARE_SENDS].count,
				(u32)RPCRDMA_SEND_REST);
		if (!i)
			recvs = rx->spares[RPCRDMA_SPARE_RECVS].count;
		KUNIT_EXPECT_GT(test, recvs, 0U);
		KUNIT_EXPECT_EQ(test, rx->spares[RPCRDMA_SPARE_RECVS].count,
				recvs);
	}
	rpc_shutdown_client(clnt);
	/* sunrpc frees the transport later. */
	conn_becomes(module_refcount(owner) < refs);
	KUNIT_EXPECT_LT(test, module_refcount(owner), refs);
}

/*
 * A MiB that begins inside a page, by RDMA Reads into at most so many pages each: an IOMMU can
 * make one element of all of them, which one region has to hold.
 */
static void conn_cuts_what_a_region_cannot_hold(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct sockaddr *to = (struct sockaddr *)
		&f->client.cm_id->route.addr.dst_addr;
	struct ib_device_attr *attrs = &f->client.cm_id->device->attrs;
	const struct ib_device_attr was = *attrs;
	const struct rpcrdma_range mebibyte = { 200, SZ_1M };
	static const struct {
		u32 list_len;
		bool registers;
		u32 most;
		u32 ops;
		u32 last;
	} device[] = {
		{ 512, true, 256, 2, 1 },
		{ 128, true, 128, 3, 1 },
		{ 100, true, 100, 3, 57 },
		{ 10, true, 10, 26, 7 },
		{ 0, true, 256, 2, 1 },
		{ 128, false, 256, 2, 1 },
	};
	struct conn_side side = { .version = 2, .queues = true };
	const u32 count = SZ_1M / PAGE_SIZE + 1;
	struct rpcrdma_svc_rw *rw;
	struct page **pages, *page;
	u32 i, j, elements, size;

	pages = kunit_kcalloc(test, count, sizeof(*pages), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, pages);
	page = conn_alloc_pages(test)[0];
	for (i = 0; i < count; i++)
		pages[i] = page;
	for (i = 0; i < ARRAY_SIZE(device); i++) {
		conn_resolve(test, &side, to);
		attrs->max_fast_reg_page_list_len = device[i].list_len;
		if (!device[i].registers)
			attrs->device_cap_flags &=
				~IB_DEVICE_MEM_MGT_EXTENSIONS;
		side.conn = conn_make(&side, RPCRDMA_ROLE_SERVER);
		*attrs = was;
		KUNIT_EXPECT_FALSE_MSG(test, IS_ERR(side.conn), "%d", i);
		rw = IS_ERR(side.conn) ? NULL :
		     rpcrdma_svc_rw_alloc(side.conn, 1, DMA_FROM_DEVICE, 1,
					  mebibyte.length, GFP_KERNEL);
		if (!rw) {
			KUNIT_FAIL(test, "no memory");
			conn_end(&side);
			break;
		}
		KUNIT_EXPECT_EQ(test, rpcrdma_svc_rw_pages(rw, pages, &mebibyte,
							   1, SZ_1G), 0);
		KUNIT_EXPECT_EQ(test, rw->n_ops, device[i].ops);
		/* What the account has for it. */
		size = struct_size(rw, ops, rw->max_ops) +
		       rw->max_sge * sizeof(*rw->sgl);
		if (side.conn->rw_pages >= RPCRDMA_LEAST_RW_PAGES)
			KUNIT_EXPECT_GE(test, rpcrdma_svc_rw_size(1, count),
					size);
		for (j = 0, elements = 0; j < rw->n_ops; j++) {
			KUNIT_EXPECT_LE(test, rw->ops[j].nents, device[i].most);
			elements += rw->ops[j].nents;
		}
		KUNIT_EXPECT_EQ(test, elements, count);
		if (rw->n_ops)
			KUNIT_EXPECT_EQ(test, rw->ops[rw->n_ops - 1].nents,
					device[i].last);
		rpcrdma_svc_rw_free(rw);
		conn_end(&side);
	}
}

/* Few pages to a Work Request take more of them, for which there is room. */
static void conn_fits_short_queues(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct sockaddr *to = (struct sockaddr *)
		&f->client.cm_id->route.addr.dst_addr;
	struct ib_device_attr *attrs = &f->client.cm_id->device->attrs;
	const struct ib_device_attr was = *attrs;
	static const struct {
		int max_send_sge;
		int max_sge_rd;
		int max_qp_wr;
		bool fits;
	} device[] = {
		{ 3, 3, 312, false },
		{ 3, 3, 313, true },
		/* RDMA Reads alone are into single pages. */
		{ 16, 1, 738, false },
		{ 16, 1, 739, true },
	};
	struct conn_side side = { .version = 2, .queues = true };
	int i;

	/* Where there is no room for larger messages, a connection does without. */
	for (i = 0; i < 2 * ARRAY_SIZE(device); i++) {
		side.large = i % 2;
		conn_resolve(test, &side, to);
		attrs->max_send_sge = device[i / 2].max_send_sge;
		attrs->max_sge_rd = device[i / 2].max_sge_rd;
		attrs->max_qp_wr = device[i / 2].max_qp_wr;
		side.conn = conn_make(&side, RPCRDMA_ROLE_SERVER);
		*attrs = was;
		if (device[i / 2].fits)
			KUNIT_EXPECT_FALSE_MSG(test, IS_ERR(side.conn), "%d",
					       i);
		else
			KUNIT_EXPECT_EQ_MSG(test, PTR_ERR(side.conn), -ENOSPC,
					    "%d", i);
		conn_end(&side);
	}
}

static void conn_free_skb(void *skb)
{
	nlmsg_free(skb);
}

static struct sk_buff *conn_skb(struct kunit *test, size_t size)
{
	struct sk_buff *skb = genlmsg_new(size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, skb);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, conn_free_skb, skb),
			0);
	return skb;
}

/* Who looks at a connection while it ends sees it to the end, and nobody waits for that. */
static void conn_is_found_until_destroyed(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	const struct net *elsewhere = (const struct net *)f;
	unsigned long id = f->client.conn->id;
	struct rpcrdma_conn *conn, *next;
	struct sk_buff *skb;

	KUNIT_EXPECT_NULL(test, rpcrdma_conn_find(elsewhere, id));
	KUNIT_EXPECT_NULL(test, rpcrdma_conn_next(elsewhere, 0));
	skb = conn_skb(test, rpcrdma_nl_conn_size());
	conn = rpcrdma_conn_find(&init_net, id);
	KUNIT_EXPECT_PTR_EQ(test, conn, f->client.conn);
	if (!conn)
		return;
	next = rpcrdma_conn_next(&init_net, id + 1);
	KUNIT_EXPECT_PTR_EQ(test, next, f->server.conn);
	if (next)
		rpcrdma_conn_put(next);

	conn_end(&f->client);
	KUNIT_EXPECT_NULL(test, rpcrdma_conn_find(&init_net, id));
	KUNIT_EXPECT_EQ(test, rpcrdma_nl_conn_put(skb, conn, 0, 0, 0), 0);
	KUNIT_EXPECT_NOT_NULL(test, conn->loss);
	rpcrdma_conn_put(conn);
}

/* A message with all that it can have is as long as it is said to be, and no longer. */
static void conn_message_has_room(struct kunit *test)
{
	const char *reason =
		"a reason that is far longer than any that there is, for which there is no room";
	const size_t most = NLMSG_HDRLEN + GENL_HDRLEN + rpcrdma_nl_conn_size();
	/* A 64-bit number may need padding, if it is not aligned by chance. */
	const size_t padding = (nla_total_size_64bit(sizeof(u64)) -
				nla_total_size(sizeof(u64))) *
		(2 * (rpcrdma_type_count() + RPCRDMA_ERRCODES) +
		 RPCRDMA_REASON_COUNT + RPCRDMA_A_FORMATS_MAX +
		 RPCRDMA_A_OCTETS_MAX + RPCRDMA_A_EVENTS_MAX +
		 RPCRDMA_A_MEMORY_MAX + 1);
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->client.conn;
	struct sk_buff *skb, *small;

	skb = conn_skb(test, rpcrdma_nl_conn_size());
	small = conn_skb(test, 0);

	memset(&conn->stats, 0xff, sizeof(conn->stats));
	conn->local.sa.sa_family = AF_INET6;
	conn->peer.sa.sa_family = AF_INET6;
	conn->loss = reason;
	conn->previous_loss = reason;
	KUNIT_EXPECT_EQ(test, rpcrdma_nl_conn_put(skb, conn, 0, 0, 0), 0);
	KUNIT_EXPECT_LE(test, (size_t)skb->len, most);
	/* The name of the device is short, hosts do not authenticate, and nothing else. */
	KUNIT_EXPECT_GE(test,
			skb->len + IB_DEVICE_NAME_MAX + RPCRDMA_AUTH_NAME +
			128 + padding, most);
	KUNIT_EXPECT_EQ(test, rpcrdma_nl_conn_put(small, conn, 0, 0, 0),
			-EMSGSIZE);
	KUNIT_EXPECT_EQ(test, small->len, 0U);
	memset(&conn->stats, 0, sizeof(conn->stats));
}

/* A group of one Send is a simple message, one of several is continued. */
static void conn_counts_formats(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->client.conn;
	struct nlattr *formats, *simple = NULL, *continued = NULL;
	struct sk_buff *skb;

	skb = conn_skb(test, rpcrdma_nl_conn_size());
	conn->stats.tx_type[RPCRDMA2_CALL_INLINE] = 10;
	conn->stats.tx_type[rpcrdma_rtr_lead_type(RPCRDMA_CALL)] = 6;
	conn->stats.tx_continued = 4;
	KUNIT_EXPECT_EQ(test, rpcrdma_nl_conn_put(skb, conn, 0, 0, 0), 0);
	formats = nlmsg_find_attr(nlmsg_hdr(skb), GENL_HDRLEN,
				  RPCRDMA_A_CONN_FORMATS);
	if (formats) {
		simple = nla_find_nested(formats, RPCRDMA_A_FORMATS_SIMPLE_SENT);
		continued = nla_find_nested(formats,
					    RPCRDMA_A_FORMATS_CONTINUED_SENT);
	}
	KUNIT_EXPECT_EQ(test, simple ? nla_get_u64(simple) : 0, 12ULL);
	KUNIT_EXPECT_EQ(test, continued ? nla_get_u64(continued) : 0, 4ULL);
}

/* Who listens would take it for one that is there. */
static void conn_is_not_up_once_it_is_lost(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->client.conn;
	struct sk_buff *never, *was;

	never = conn_skb(test, rpcrdma_nl_conn_size());
	was = conn_skb(test, rpcrdma_nl_conn_size());

	conn_back_to(conn, RPCRDMA_CONN_CONNECTED);
	rpcrdma_conn_lost(conn, "test");
	rpcrdma_conn_up(conn);
	KUNIT_EXPECT_EQ(test, conn->stage, RPCRDMA_CONN_CLOSED);
	KUNIT_EXPECT_FALSE(test, rpcrdma_conn_has_been(conn, RPCRDMA_CONN_AGREED));
	KUNIT_EXPECT_STREQ(test, conn->loss, "test");

	/* It says of itself whether it was. */
	KUNIT_EXPECT_EQ(test, rpcrdma_nl_conn_put(never, conn, 0, 0, 0), 0);
	KUNIT_EXPECT_NULL(test, nlmsg_find_attr(nlmsg_hdr(never), GENL_HDRLEN,
						RPCRDMA_A_CONN_WAS_UP));
	conn->reached = RPCRDMA_CONN_UP;
	KUNIT_EXPECT_EQ(test, rpcrdma_nl_conn_put(was, conn, 0, 0, 0), 0);
	KUNIT_EXPECT_NOT_NULL(test, nlmsg_find_attr(nlmsg_hdr(was), GENL_HDRLEN,
						    RPCRDMA_A_CONN_WAS_UP));
}

/* What @side holds, as soon as it is there. */
static struct rpcrdma_recv *conn_kept_recv(struct kunit *test,
					   struct conn_side *side)
{
	struct rpcrdma_recv *recv;

	KUNIT_ASSERT_TRUE(test, conn_becomes(conn_n_held(side)));
	spin_lock(&side->lock);
	recv = list_first_entry(&side->held, struct rpcrdma_recv, link);
	spin_unlock(&side->lock);
	return recv;
}

/* A Call of more than a page, less than two. */
static void conn_send_pages(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_msg *m;

	get_random_bytes(f->stream, CONN_SPANS);
	m = conn_msg(test, 5, RPCRDMA_CALL, CONN_SPANS);
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &m->tm), 0);
	conn_wait(test, &f->server.arrived);
	conn_wait(test, &m->done);
	KUNIT_EXPECT_EQ(test, memcmp(f->server.got, f->stream, CONN_SPANS), 0);
}

/* Who takes the pages of a message has it, and further messages go to other pages. */
static void conn_gives_its_pages(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct page **pages = conn_alloc_pages(test);
	struct rpcrdma_recv *recv;
	struct page *mine[2];
	u32 head, i;

	KUNIT_ASSERT_EQ(test, f->server.conn->recv_pages, 2U);
	memcpy(mine, pages, sizeof(mine));
	WRITE_ONCE(f->server.hold, true);
	conn_send_pages(test);
	recv = conn_kept_recv(test, &f->server);
	KUNIT_EXPECT_TRUE(test, rpcrdma_recv_swap(recv, 0, 2, pages));
	head = PAGE_SIZE - f->server.offset;
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_PTR_EQ(test, recv->pages[i], mine[i]);
		KUNIT_EXPECT_PTR_NE(test, pages[i], mine[i]);
	}
	KUNIT_EXPECT_PTR_EQ(test, recv->buf, page_address(mine[0]));
	KUNIT_EXPECT_EQ(test, memcmp(page_address(pages[0]) + f->server.offset,
				     f->stream, head), 0);
	KUNIT_EXPECT_EQ(test, memcmp(page_address(pages[1]), f->stream + head,
				     CONN_SPANS - head), 0);

	/* All Receives, this one as well, are used again; nothing comes to what was taken. */
	for (i = 0; i < 2; i++)
		memset(page_address(pages[i]), 0x5a, PAGE_SIZE);
	conn_let_go(&f->server);
	for (i = 0; i < 3 * CONN_WINDOW; i++)
		conn_send_pages(test);
	for (i = 0; i < 2; i++)
		KUNIT_EXPECT_NULL(test, memchr_inv(page_address(pages[i]), 0x5a,
						   PAGE_SIZE));
}

/* A header with chunks is read in one piece, wherever the pages are. */
static void conn_send_chunks(struct kunit *test, u32 length)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_chunks *chunks;
	struct conn_msg *m;

	chunks = kunit_kzalloc(test, sizeof(*chunks), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, chunks);
	chunks->n_writes = 1;
	chunks->n_write_segs = 1;
	chunks->writes[0].count = 1;
	chunks->write_segs[0].handle = 7;
	chunks->write_segs[0].length = PAGE_SIZE;
	m = conn_msg(test, 5, RPCRDMA_CALL, length);
	m->tm.msg.chunks = chunks;
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &m->tm), 0);
	conn_wait(test, &f->server.arrived);
	conn_wait(test, &m->done);
	KUNIT_EXPECT_EQ(test, f->server.n_writes, 1U);
	KUNIT_EXPECT_EQ(test, f->server.length, length);
	KUNIT_EXPECT_EQ(test, memcmp(f->server.got, f->stream, length), 0);
}

static void conn_joins_what_has_chunks(struct kunit *test)
{
	struct conn_fixture *f = test->priv;

	conn_send_chunks(test, CONN_SPANS);
	conn_wait_back(test);
	KUNIT_EXPECT_GE(test, READ_ONCE(f->server.conn->stats.recv_copied_bytes),
			(u64)CONN_SPANS);

	/* Others are not. */
	WRITE_ONCE(f->server.conn->stats.recv_copied_bytes, 0);
	conn_send_pages(test);
	conn_wait_back(test);
	KUNIT_EXPECT_EQ(test, READ_ONCE(f->server.conn->stats.recv_copied_bytes),
			0ULL);
}

/*
 * Bytes of the buffers of @side, as they are. What Documentation/sizing.rst has as formulas is
 * this, whatever is sent.
 */
static u64 conn_buffer_memory(struct conn_side *side)
{
	struct rpcrdma_conn *conn = side->conn;
	struct rpcrdma_recv *recv;
	u64 sum = 0;
	int i;

	spin_lock(&conn->lock);
	for (i = 0; i < conn->ring.sends; i++)
		if (conn->sends[i].buf.data)
			sum += ksize(conn->sends[i].buf.data);
	list_for_each_entry(recv, &conn->recvs, all) {
		for (i = 0; i < conn->recv_pages; i++)
			sum += page_size(recv->pages[i]);
		if (!conn->recv_pages)
			sum += ksize(recv->buf);
	}
	spin_unlock(&conn->lock);
	return sum + (conn->recv_whole ? ksize(conn->recv_whole) : 0);
}

/* What has been replaced is freed a little later. */
static void conn_expect_memory(struct kunit *test, struct conn_side *side,
			       u64 memory)
{
	atomic_long_t *buffers = &side->conn->buffers;

	conn_becomes((u64)atomic_long_read(buffers) == memory &&
		     conn_buffer_memory(side) == memory);
	KUNIT_EXPECT_EQ(test, (u64)atomic_long_read(buffers), memory);
	KUNIT_EXPECT_EQ(test, conn_buffer_memory(side), memory);
}

/* Receives above a smaller window may still go, so both sums are taken anew each time. */
static void conn_counts_its_memory(struct kunit *test, struct conn_side *side)
{
	atomic_long_t *buffers = &side->conn->buffers;

	KUNIT_EXPECT_TRUE_MSG(test,
			      conn_becomes((u64)atomic_long_read(buffers) ==
					   conn_buffer_memory(side)),
			      "%ld counted, %llu there",
			      atomic_long_read(buffers),
			      conn_buffer_memory(side));
}

/* What the budget holds for a connection is at least what can be counted of it. */
static void conn_holds_the_memory_it_takes(struct kunit *test,
					   struct conn_side *side)
{
	struct rpcrdma_conn *conn = side->conn;
	u64 least = conn_buffer_memory(side) + sizeof(*conn) +
		    (u64)conn->ring.sends * sizeof(*conn->sends) +
		    (u64)conn->n_recvs *
			(sizeof(struct rpcrdma_recv) + side->owner) +
		    (u64)conn->n_mrs * (sizeof(struct rpcrdma_mr) +
			conn->mr_pages * sizeof(struct scatterlist));

	KUNIT_EXPECT_GE(test, conn->memory, least);
	/* Besides, there are pointers, elements and slots of regions. */
	KUNIT_EXPECT_LT(test, conn->memory, least + least / 8);
}

static void conn_takes_the_memory_it_should(struct kunit *test)
{
	const u64 size = RPCRDMA_DEF_INLINE, sends = 16 * size;
	struct conn_fixture *f = test->priv;
	int i;

	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, conn_buffer_memory(&f->client),
				(CONN_WINDOW + 1) * size + sends);
		KUNIT_EXPECT_EQ(test, conn_buffer_memory(&f->server),
				(CONN_WINDOW + 2) * size + sends);
		conn_counts_its_memory(test, &f->client);
		conn_counts_its_memory(test, &f->server);
		conn_holds_the_memory_it_takes(test, &f->client);
		conn_holds_the_memory_it_takes(test, &f->server);
		if (!i)
			conn_gives_its_pages(test);
	}
}

/* The memory of the module has its limit again, also if the case ends early. */
static void conn_restore_limit(void *limit)
{
	rpcrdma_memory_limit(*(u64 *)limit);
}

static void conn_keep_limit(struct kunit *test, u64 now)
{
	u64 *limit = kunit_kzalloc(test, sizeof(*limit), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, limit);
	*limit = now;
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, conn_restore_limit,
							limit), 0);
}

/* A larger window is paid for, and a smaller one gives back as its Receives go. */
static void conn_pays_for_its_window(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->server.conn;
	const u64 before = conn->memory;
	struct rpcrdma_budget budget;
	u64 limit;

	rpcrdma_memory_info(&budget);
	limit = budget.limit;
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_set_window(conn, CONN_WINDOW + 1), 0);
	KUNIT_EXPECT_EQ(test, conn->memory - before,
			(u64)rpcrdma_recv_memory(conn, conn->recv_size));
	conn_holds_the_memory_it_takes(test, &f->server);

	/* The module may hold no more. */
	rpcrdma_memory_info(&budget);
	rpcrdma_memory_limit(budget.held);
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_set_window(conn, CONN_WINDOW + 2),
			-EDQUOT);
	conn_holds_the_memory_it_takes(test, &f->server);
	rpcrdma_memory_limit(limit);
}

/* What is larger than the whole budget is refused, and the module counts that. It holds nothing. */
static void conn_is_refused_if_too_large(struct kunit *test)
{
	struct conn_side side = { .version = 2, .owner = SZ_2M };
	struct conn_fixture *f = test->priv;
	struct rpcrdma_budget before, after;

	rpcrdma_memory_info(&before);
	conn_keep_limit(test, before.limit);
	conn_resolve(test, &side,
		     (struct sockaddr *)&f->client.cm_id->route.addr.dst_addr);
	rpcrdma_memory_limit(SZ_16M);
	side.conn = conn_make(&side, RPCRDMA_ROLE_SERVER);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(side.conn), -E2BIG);
	conn_end(&side);
	rpcrdma_memory_info(&after);
	KUNIT_EXPECT_EQ(test, after.refused, before.refused + 1);
	KUNIT_EXPECT_EQ(test, after.held_back, before.held_back);
	KUNIT_EXPECT_EQ(test, after.held, before.held);
	rpcrdma_memory_limit(before.limit);
}

/* What the owner has for messages in Receives is held with these, however many there are. */
static void conn_holds_what_owners_have(struct kunit *test)
{
	struct conn_side side = { .version = 2, .owner = 10000 };
	struct conn_fixture *f = test->priv;

	conn_resolve(test, &side,
		     (struct sockaddr *)&f->client.cm_id->route.addr.dst_addr);
	side.conn = conn_make(&side, RPCRDMA_ROLE_SERVER);
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(side.conn), 0);
	if (!IS_ERR(side.conn)) {
		conn_holds_the_memory_it_takes(test, &side);
		KUNIT_EXPECT_EQ(test, rpcrdma_conn_set_window(side.conn,
							      CONN_WINDOW + 8),
				0);
		conn_holds_the_memory_it_takes(test, &side);
	}
	conn_end(&side);
}

/* Its queues are for the window that there is, if that is large; and it gets there by steps. */
static void conn_has_a_large_window(struct kunit *test)
{
	const u32 window = 2 * RPCRDMA_WINDOW_STEP + 88;
	struct conn_side side = { .version = 2, .follows = true };
	struct conn_fixture *f = test->priv;
	const unsigned int before = rpcrdma_window;
	struct rpcrdma_conn *conn;

	conn_resolve(test, &side,
		     (struct sockaddr *)&f->client.cm_id->route.addr.dst_addr);
	rpcrdma_window_change(window);
	side.conn = conn_make(&side, RPCRDMA_ROLE_CLIENT);
	conn = side.conn;
	if (!IS_ERR(conn)) {
		KUNIT_EXPECT_EQ(test, conn->n_recvs, RPCRDMA_WINDOW_STEP + 1U);
		KUNIT_EXPECT_EQ(test, rpcrdma_conn_set_window(conn, window), 0);
		KUNIT_EXPECT_EQ(test, conn->n_recvs, window + 1);
		KUNIT_EXPECT_EQ(test, conn_info(&side).window, window);
		conn_counts_its_memory(test, &side);
		conn_holds_the_memory_it_takes(test, &side);
		KUNIT_EXPECT_EQ(test, rpcrdma_conn_set_window(conn, window + 1), 0);
		KUNIT_EXPECT_EQ(test, conn->n_recvs, window + 1);
	}
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(conn), 0);
	conn_end(&side);
	rpcrdma_window_change(before);
}

/* A server's connection on a device that fills so many pieces with a message. */
static void conn_make_with_sges(struct kunit *test, struct conn_side *side,
				u32 role, int sges)
{
	struct conn_fixture *f = test->priv;
	struct rdma_cm_id *id = f->client.cm_id;
	const struct ib_device_attr was = id->device->attrs;

	conn_resolve(test, side, (struct sockaddr *)&id->route.addr.dst_addr);
	id->device->attrs.max_recv_sge = sges;
	side->conn = conn_make(side, role);
	id->device->attrs = was;
	KUNIT_EXPECT_EQ(test, PTR_ERR_OR_ZERO(side->conn), 0);
}

/* A device that fills one piece of memory only, and one that fills more than it has. */
static void conn_has_pages_if_the_device_can(struct kunit *test)
{
	struct conn_side side = { .version = 2, .queues = true, .pages = true };
	int i;

	for (i = 1; i <= 2; i++) {
		conn_make_with_sges(test, &side, RPCRDMA_ROLE_SERVER, i);
		if (!IS_ERR(side.conn))
			KUNIT_EXPECT_EQ(test, side.conn->recv_pages,
					i == 1 ? 0U : 2U);
		conn_end(&side);
	}
}

/* A Reply of @page_len bytes in pages, from @base on, and of some around them. */
static struct conn_msg *conn_page_reply(struct kunit *test, struct page **pages,
					u32 base, u32 page_len, u32 tail)
{
	const u32 head = 100, length = head + page_len + tail;
	struct conn_msg *m = conn_msg(test, 9, RPCRDMA_REPLY, length);
	struct conn_fixture *f = test->priv;
	u8 *around = kunit_kzalloc(test, head + tail, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, around);
	get_random_bytes(around, head + tail);
	put_unaligned_be32(9, around);
	put_unaligned_be32(RPCRDMA_REPLY, around + 4);
	m->xdr = (struct xdr_buf){
		.head[0] = { .iov_base = around, .iov_len = head },
		.pages = pages,
		.page_base = base,
		.page_len = page_len,
		.tail[0] = { .iov_base = around + head, .iov_len = tail },
		.len = length,
		.buflen = length,
	};
	m->tm.gather = SZ_2K;
	KUNIT_ASSERT_EQ(test, read_bytes_from_xdr_buf(&m->xdr, 0, f->stream,
						      length), 0);
	return m;
}

/*
 * What is in pages is sent from there: hardly anything is copied. A message has ended
 * when its Sends have completed, which is known after a few more; or with the connection.
 */
static void conn_sends_from_pages(struct kunit *test)
{
	static const struct {
		u32 base, page_len, tail;
	} shape[] = {
		{ 0, 4096, 0 }, { 0, 4096, 40 }, { 200, 4096, 4 },
		{ 0, 8000, 0 }, { 2000, 8000, 8 }, { 4, 16384, 0 },
		{ 4095, 16385, 3 }, { 0, 65536, 100 }, { 1000, 3000, 0 },
		{ 3000, 2048, 20 },
	};
	struct conn_fixture *f = test->priv;
	struct rpcrdma_stats *stats = &f->server.conn->stats;
	struct conn_msg *m[2 * ARRAY_SIZE(shape)];
	struct page **pages = conn_alloc_pages(test);
	u64 all = 0, copied;
	u32 i, ended = 0;

	for (i = 0; i < CONN_PAGES; i++)
		get_random_bytes(page_address(pages[i]), PAGE_SIZE);
	KUNIT_ASSERT_EQ(test, f->server.conn->gather_sge, 5U);
	copied = READ_ONCE(stats->tx_copied_bytes);
	for (i = 0; i < ARRAY_SIZE(m); i++) {
		m[i] = conn_page_reply(test, pages,
				       shape[i % ARRAY_SIZE(shape)].base,
				       shape[i % ARRAY_SIZE(shape)].page_len,
				       shape[i % ARRAY_SIZE(shape)].tail);
		all += m[i]->xdr.len;
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->server.conn,
							&m[i]->tm), 0);
		conn_wait(test, &f->client.arrived);
		KUNIT_EXPECT_EQ(test, f->client.length, m[i]->xdr.len);
		KUNIT_EXPECT_EQ_MSG(test, memcmp(f->client.got, f->stream,
						 m[i]->xdr.len), 0, "%u", i);
	}
	copied = READ_ONCE(stats->tx_copied_bytes) - copied;
	KUNIT_EXPECT_LT(test, copied, all / 5);
	KUNIT_EXPECT_GE(test, copied, 100ULL * ARRAY_SIZE(m));
	/* The last three at most have not. */
	conn_wait(test, &m[ARRAY_SIZE(m) - 4]->done);

	conn_end(&f->server);
	for (i = 0; i < ARRAY_SIZE(m); i++) {
		KUNIT_EXPECT_EQ(test, m[i]->ends, 1);
		ended += !m[i]->status;
	}
	KUNIT_EXPECT_GE(test, ended, (u32)ARRAY_SIZE(m) - 3);
}

/* Replies from pages until the last waits for the next Send. Return: that one. */
static struct conn_msg *conn_waits_at_rest(struct kunit *test,
					   struct page **pages)
{
	struct conn_fixture *f = test->priv;
	const unsigned long end = jiffies + CONN_TIMEOUT;
	struct rpcrdma_conn *conn = f->server.conn;
	struct conn_msg *m;
	bool waits;

	do {
		KUNIT_ASSERT_TRUE(test, time_before(jiffies, end));
		m = conn_page_reply(test, pages, 0, PAGE_SIZE, 0);
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(conn, &m->tm), 0);
		conn_wait(test, &f->client.arrived);
		/* A GRANT may follow, which is a Send as well. */
		conn_settle(test);
		spin_lock(&conn->lock);
		waits = conn->gathered;
		spin_unlock(&conn->lock);
	} while (!waits);
	return m;
}

/* Then neither what is sent waits, nor what was, however often that changes. */
static void conn_waits_for_nothing_in_a_hurry(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->server.conn;
	struct page **pages = conn_alloc_pages(test);
	struct conn_msg *m;
	int i;

	for (i = 0; i < 6; i++) {
		m = conn_waits_at_rest(test, pages);
		msleep(20);
		KUNIT_EXPECT_EQ(test, READ_ONCE(m->ends), 0);
		rpcrdma_conn_hurry(conn, true);
		conn_wait(test, &m->done);
		KUNIT_EXPECT_EQ(test, m->status, 0);

		m = conn_page_reply(test, pages, 0, PAGE_SIZE, 0);
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(conn, &m->tm), 0);
		conn_wait(test, &f->client.arrived);
		conn_wait(test, &m->done);
		KUNIT_EXPECT_EQ(test, m->status, 0);
		rpcrdma_conn_hurry(conn, false);
	}
	/* The marks gave back what they had of the send queue. */
	spin_lock(&conn->lock);
	KUNIT_EXPECT_FALSE(test, conn->marking);
	KUNIT_EXPECT_EQ(test, conn->sq_avail + conn->ring.head - conn->ring.tail,
			conn->sq_depth);
	spin_unlock(&conn->lock);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
	KUNIT_EXPECT_FALSE(test, completion_done(&f->server.lost));
	conn_end(&f->server);
}

/* A connection that ends while its mark is out. */
static void conn_ends_in_a_hurry(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct page **pages = conn_alloc_pages(test);
	struct conn_msg *m;

	m = conn_waits_at_rest(test, pages);
	rpcrdma_conn_hurry(f->server.conn, true);
	conn_end(&f->server);
	KUNIT_EXPECT_EQ(test, m->ends, 1);
}

/* ------------------------------------------------------------------ */
/* Sizes that change while connected                                  */
/* ------------------------------------------------------------------ */

/* No Receive of another size is left, and none waits to take the place of one. */
static bool conn_recvs_are(struct conn_side *side, u32 size)
{
	struct rpcrdma_conn *conn = side->conn;
	struct rpcrdma_recv *recv;
	bool all;

	spin_lock(&conn->lock);
	all = conn->recv_size == size && !conn->n_recv_old;
	list_for_each_entry(recv, &conn->recvs, all)
		if (recv->size != size)
			all = false;
	spin_unlock(&conn->lock);
	return all;
}

/* A Call of @length bytes arrives as it was sent. Return: Sends that it took. */
static u64 conn_call(struct kunit *test, u32 length)
{
	struct conn_fixture *f = test->priv;
	const u64 *types = f->client.conn->stats.tx_type;
	const u64 before = READ_ONCE(types[RPCRDMA2_CALL_MIDDLE]);
	struct conn_msg *m = conn_msg(test, 7, RPCRDMA_CALL, length);

	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &m->tm), 0);
	conn_wait(test, &f->server.arrived);
	conn_wait(test, &m->done);
	KUNIT_EXPECT_EQ(test, m->status, 0);
	KUNIT_EXPECT_EQ(test, f->server.length, length);
	KUNIT_EXPECT_EQ(test, memcmp(f->server.got, f->stream, length), 0);
	return READ_ONCE(types[RPCRDMA2_CALL_MIDDLE]) - before + 1;
}

/* How many of the last @sends Sends of @side were not signaled. */
static u32 conn_unsignaled(struct conn_side *side, u32 sends)
{
	struct rpcrdma_conn *conn = side->conn;
	u32 i, unsignaled = 0;

	spin_lock(&conn->lock);
	for (i = conn->ring.head - sends; i != conn->ring.head; i++)
		unsignaled += !conn->sends[i % conn->ring.sends].signaled;
	spin_unlock(&conn->lock);
	return unsignaled;
}

/* siw completes a later Send before it has sent an earlier one that was not signaled. */
static void conn_signals_all(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->client.conn;
	u64 sends;

	sends = conn_call(test, SZ_64K);
	KUNIT_EXPECT_GT(test, conn_unsignaled(&f->client, sends), sends / 2);
	KUNIT_EXPECT_FALSE(test, conn->signals_all);

	spin_lock(&conn->lock);
	conn->signals_all = true;
	spin_unlock(&conn->lock);
	sends = conn_call(test, SZ_64K) + conn_call(test, 64);
	KUNIT_EXPECT_EQ(test, conn_unsignaled(&f->client, sends), 0U);
}

/*
 * Send Calls of @length bytes until @done says so of both ends. If not zero, the client
 * wants the server to have Receives of @wish bytes. The server rejects that while it has not
 * yet got back the memory of an earlier connection; so now and then the client asks again.
 */
static void conn_wish_until(struct kunit *test, u32 length,
			    bool (*done)(struct conn_fixture *f, u32 size),
			    u32 size, u32 wish)
{
	const unsigned long end = jiffies + CONN_TIMEOUT;
	struct conn_fixture *f = test->priv;
	int i;

	for (i = 0; !done(f, size) && time_before(jiffies, end); i++) {
		if (wish && !(i % 100))
			KUNIT_EXPECT_EQ(test,
					rpcrdma_resize_wish(f->client.conn, 0,
							    wish), 0);
		conn_call(test, length);
		msleep(CONN_LOOK);
	}
	KUNIT_ASSERT_TRUE(test, done(f, size));
}

static void conn_call_until(struct kunit *test, u32 length,
			    bool (*done)(struct conn_fixture *f, u32 size),
			    u32 size)
{
	conn_wish_until(test, length, done, size, 0);
}

/* Send Replies of @length bytes until @done says so of both ends; each arrives as it was sent. */
static void conn_reply_until(struct kunit *test, u32 length,
			     bool (*done)(struct conn_fixture *f, u32 size),
			     u32 size)
{
	const unsigned long end = jiffies + CONN_TIMEOUT;
	struct conn_fixture *f = test->priv;
	struct conn_msg *m;

	while (!done(f, size) && time_before(jiffies, end)) {
		m = conn_msg(test, 7, RPCRDMA_REPLY, length);
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->server.conn, &m->tm),
				0);
		conn_wait(test, &f->client.arrived);
		conn_wait(test, &m->done);
		KUNIT_EXPECT_EQ(test, m->status, 0);
		KUNIT_EXPECT_EQ(test, f->client.length, length);
		KUNIT_EXPECT_EQ(test, memcmp(f->client.got, f->stream, length),
				0);
		msleep(CONN_LOOK);
	}
	KUNIT_ASSERT_TRUE(test, done(f, size));
}

/* From client to server everything has this size. */
static bool conn_sends_are(struct conn_fixture *f, u32 size)
{
	return conn_info(&f->client).max_send == size &&
	       conn_info(&f->client).peer.recv_size == size &&
	       f->client.conn->send_size == size &&
	       conn_recvs_are(&f->server, size);
}

/* The server's Receives have this size, whatever it says of them. */
static bool conn_server_recvs_are(struct conn_fixture *f, u32 size)
{
	return conn_recvs_are(&f->server, size);
}

static bool conn_client_recvs_are(struct conn_fixture *f, u32 size)
{
	return conn_recvs_are(&f->client, size);
}

/* So have the Sends that come to these. */
static bool conn_replies_are(struct conn_fixture *f, u32 size)
{
	return conn_info(&f->server).max_send == size &&
	       conn_recvs_are(&f->client, size);
}

static bool conn_server_may_send(struct conn_fixture *f, u32 size)
{
	return conn_info(&f->server).max_send == size;
}

static bool conn_server_takes(struct conn_fixture *f, u32 size)
{
	return conn_info(&f->server).local.recv_size == size;
}

static bool conn_client_may_send(struct conn_fixture *f, u32 size)
{
	return conn_info(&f->client).max_send == size;
}

static void conn_grow(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, conn_call(test, CONN_WRITE), 3ULL);
	conn_call_until(test, CONN_WRITE, conn_sends_are, CONN_GROWN);
}

static void conn_grows_when_it_pays(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	u64 memory = atomic_long_read(&f->server.conn->buffers);

	conn_grow(test);
	KUNIT_EXPECT_EQ(test, conn_call(test, CONN_WRITE), 1ULL);
	KUNIT_EXPECT_EQ(test, conn_call(test, SZ_64K), 3ULL);
	KUNIT_EXPECT_EQ(test, f->server.conn->n_recvs, CONN_WINDOW + 1U);
	conn_expect_memory(test, &f->server, memory + (CONN_WINDOW + 1) *
			   (CONN_GROWN - RPCRDMA_DEF_INLINE));
	/* Where nothing was continued all is as it was. */
	KUNIT_EXPECT_TRUE(test, conn_recvs_are(&f->client, RPCRDMA_DEF_INLINE));
	conn_exchange(test, &f->client, &f->server, RPCRDMA_CALL);
	conn_exchange(test, &f->server, &f->client, RPCRDMA_REPLY);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
	KUNIT_EXPECT_FALSE(test, completion_done(&f->server.lost));
}

/* Messages with chunks that are longer than a Receive was at the beginning. */
static void conn_joins_large_messages(struct kunit *test)
{
	conn_grow(test);
	conn_send_chunks(test, 20000);
}

/* As if it had been silent for a minute. */
static void conn_rest(struct conn_side *side)
{
	struct rpcrdma_resize *r = &side->conn->resize;

	/* Its work item counts there, too. */
	cancel_delayed_work_sync(&r->work);
	r->idle = RPCRDMA_ADAPT_IDLE_MS;
	spin_lock(&side->conn->lock);
	rpcrdma_resize_kick(side->conn);
	spin_unlock(&side->conn->lock);
	flush_work(&r->work.work);
}

/* Small Calls until @side has buffers of so many bytes: those in use are replaced later. */
static void conn_call_until_memory(struct kunit *test, struct conn_side *side,
				   u64 memory)
{
	const unsigned long end = jiffies + CONN_TIMEOUT;

	while ((u64)atomic_long_read(&side->conn->buffers) != memory &&
	       time_before(jiffies, end)) {
		KUNIT_EXPECT_EQ(test, conn_call(test, 64), 1ULL);
		msleep(CONN_LOOK);
	}
	conn_expect_memory(test, side, memory);
}

static void conn_shrinks_when_idle(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	u64 memory = atomic_long_read(&f->client.conn->buffers);

	conn_grow(test);
	msleep(2500);
	conn_rest(&f->client);
	KUNIT_EXPECT_TRUE(test,
			  conn_becomes_soon(conn_client_may_send(f, RPCRDMA_DEF_INLINE)));
	KUNIT_EXPECT_TRUE(test,
			  conn_becomes_soon(conn_server_takes(f, RPCRDMA_DEF_INLINE)));
	/* Those that are posted go as messages come. */
	KUNIT_EXPECT_FALSE(test, conn_recvs_are(&f->server,
						RPCRDMA_DEF_INLINE));
	conn_call_until(test, 64, conn_server_recvs_are, RPCRDMA_DEF_INLINE);
	conn_counts_its_memory(test, &f->server);
	/* Sends that are in use are replaced when they have completed. */
	conn_call_until_memory(test, &f->client, memory);
	/* And it can grow again. */
	conn_grow(test);
}

static void conn_sends_less_for_want_of_memory(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	u64 memory = rpcrdma_recv_limit;

	conn_grow(test);
	rpcrdma_recv_limit = (CONN_WINDOW + 1) * SZ_16K;
	conn_call_until(test, 64, conn_server_recvs_are, SZ_16K);
	KUNIT_EXPECT_EQ(test, conn_info(&f->client).max_send, (u32)SZ_16K);
	/* It has said so, and may not take that back. */
	KUNIT_EXPECT_EQ(test, conn_info(&f->server).local.recv_size,
			(u32)CONN_GROWN);
	KUNIT_EXPECT_EQ(test, conn_call(test, CONN_WRITE), 2ULL);
	rpcrdma_recv_limit = memory;
	conn_call_until(test, 64, conn_client_may_send, CONN_GROWN);
	KUNIT_EXPECT_TRUE(test, conn_recvs_are(&f->server, CONN_GROWN));
	KUNIT_EXPECT_EQ(test, conn_call(test, CONN_WRITE), 1ULL);
}

/* Let memory be short. Return: the limit as it was; it comes back when the case ends. */
static u64 conn_make_memory_short(struct kunit *test)
{
	struct rpcrdma_budget budget;

	rpcrdma_memory_info(&budget);
	conn_keep_limit(test, budget.limit);
	rpcrdma_memory_limit(budget.held / 2);
	return budget.limit;
}

/* When the module holds more than it may, smaller buffers still take the place of larger ones. */
static void conn_shrinks_when_all_is_held(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	u64 limit, held;

	conn_grow(test);
	held = f->server.conn->memory;
	limit = conn_make_memory_short(test);
	conn_call_until(test, 64, conn_server_recvs_are, RPCRDMA_DEF_INLINE);
	/* The work item frees what has been replaced. */
	KUNIT_EXPECT_TRUE(test,
			  conn_becomes(READ_ONCE(f->server.conn->memory) < held));
	KUNIT_EXPECT_EQ(test, conn_info(&f->client).max_send,
			(u32)RPCRDMA_DEF_INLINE);
	rpcrdma_memory_limit(limit);
	conn_call_until(test, CONN_WRITE, conn_sends_are, CONN_GROWN);
}

/* This side's Sends become small by themselves, even if the peer does not ask for less. */
static void conn_has_small_sends_for_want_of_memory(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	u64 limit;

	conn_reply_until(test, SZ_64K, conn_replies_are, CONN_GROWN);
	/* As if the server had rejected that, and a while were never over. */
	WRITE_ONCE(f->client.conn->resize.refused, (jiffies + HZ * 3600) | 1);
	limit = conn_make_memory_short(test);
	conn_reply_until(test, 64, conn_server_may_send, RPCRDMA_DEF_INLINE);
	KUNIT_EXPECT_EQ(test, conn_info(&f->client).peer.send_size,
			(u32)CONN_GROWN);
	KUNIT_EXPECT_EQ(test, conn_info(&f->client).local.recv_size,
			(u32)CONN_GROWN);
	rpcrdma_memory_limit(limit);
	conn_reply_until(test, SZ_64K, conn_replies_are, CONN_GROWN);
}

/* The client asks the server for larger Receives. The server puts that off for ever. */
static void conn_asks_in_vain(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *client = f->client.conn, *server = f->server.conn;

	conn_wish_until(test, 64, conn_sends_are, SZ_16K, SZ_16K);
	spin_lock(&server->lock);
	WRITE_ONCE(server->resize.on, false);
	spin_unlock(&server->lock);
	cancel_delayed_work_sync(&server->resize.work);
	KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(client, 0, CONN_GROWN), 0);
	conn_becomes(READ_ONCE(client->resize.asked_recv));
	KUNIT_EXPECT_EQ(test, READ_ONCE(client->resize.asked_recv),
			(u32)CONN_GROWN);
}

/* What is put off does not keep the rest from going on. */
static void conn_shrinks_while_it_asks(struct kunit *test)
{
	struct conn_fixture *f = test->priv;

	conn_asks_in_vain(test);
	conn_make_memory_short(test);
	KUNIT_EXPECT_TRUE(test,
			  conn_becomes(conn_client_may_send(f, RPCRDMA_DEF_INLINE)));
	KUNIT_EXPECT_EQ(test, READ_ONCE(f->client.conn->resize.asked_recv),
			(u32)CONN_GROWN);
}

static struct rpcrdma_xchar_info conn_changes(struct conn_side *side)
{
	struct rpcrdma_xchar_info info;

	spin_lock(&side->conn->lock);
	rpcrdma_xchar_info(&side->conn->session, &info);
	spin_unlock(&side->conn->lock);
	return info;
}

/* What the server lets the client ask for. */
static bool conn_server_allows(struct conn_fixture *f, u32 size)
{
	return READ_ONCE(f->server.conn->resize.allowed) == size;
}

/* A server that has no memory for more does not grow, and goes on. */
static void conn_does_not_grow_without_memory(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	u64 memory = rpcrdma_recv_limit;
	unsigned long end;
	int i;

	rpcrdma_recv_limit = 1;
	/* Its work item has to see that before it is asked for more. */
	conn_call_until(test, 64, conn_server_allows, RPCRDMA_DEF_INLINE);
	end = jiffies + CONN_TIMEOUT;
	for (i = 0; i < 150 || (!conn_changes(&f->client).rejected &&
				time_before(jiffies, end)); i++) {
		KUNIT_EXPECT_EQ(test, conn_call(test, CONN_WRITE), 3ULL);
		msleep(CONN_LOOK);
	}
	rpcrdma_recv_limit = memory;
	KUNIT_EXPECT_GE(test, conn_changes(&f->client).rejected, 1U);
	KUNIT_EXPECT_TRUE(test, conn_recvs_are(&f->server, RPCRDMA_DEF_INLINE));
}

/* What an administrator wants, on both sides. */
static void conn_follows_wishes(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *client = f->client.conn;

	KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(client, CONN_GROWN + 1, 0),
			-ERANGE);
	KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(client, 4096, 0), -ERANGE);
	KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(client, 0, CONN_GROWN + 1),
			-ERANGE);
	KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(client, SZ_16K, SZ_16K), 0);
	/* The client's change as the server grants credit. */
	conn_call_until(test, 64, conn_client_recvs_are, SZ_16K);
	conn_call_until(test, 64, conn_sends_are, SZ_16K);
	KUNIT_EXPECT_EQ(test, conn_call(test, CONN_WRITE), 2ULL);
	KUNIT_EXPECT_EQ(test, conn_info(&f->server).peer.recv_size,
			(u32)SZ_16K);
	/* The server finds that larger Sends pay. */
	conn_reply_until(test, SZ_64K, conn_replies_are, SZ_16K);
	/* Fewer octets: the server is asked to send less. */
	KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(client, RPCRDMA_DEF_INLINE,
						  0), 0);
	conn_call_until(test, 64, conn_client_recvs_are, RPCRDMA_DEF_INLINE);
	KUNIT_EXPECT_EQ(test, conn_info(&f->server).max_send,
			(u32)RPCRDMA_DEF_INLINE);
	/* More again: it sends no more before the client's Receives can take it. */
	KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(client, SZ_16K, 0), 0);
	conn_reply_until(test, SZ_64K, conn_replies_are, SZ_16K);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
	KUNIT_EXPECT_FALSE(test, completion_done(&f->server.lost));
}

/* rdma_which */
#define CONN_SEND_SIZE		1
#define CONN_RECEIVE_SIZE	2
#define CONN_REVERSE		5

/* Nothing leaves while @held, as if the peer gave no credit. */
static void conn_hold(struct conn_side *side, bool held)
{
	struct rpcrdma_conn *conn = side->conn;

	for (;;) {
		spin_lock(&conn->lock);
		if (!held || !conn->pumping)
			break;
		spin_unlock(&conn->lock);
		msleep(CONN_LOOK);
	}
	conn->pumping = held;
	spin_unlock(&conn->lock);
	if (!held)
		rpcrdma_conn_pump(conn);
}

/* The client has Receives of this size, and has told the server. */
static bool conn_client_told(struct conn_fixture *f, u32 size)
{
	return conn_client_recvs_are(f, size) &&
	       conn_info(&f->client).local.recv_size == size;
}

/* Too many messages wait: what an administrator wants is asked when they have gone. */
static void conn_asks_when_there_is_room(struct kunit *test)
{
	const u32 reverse = CONN_REVERSE;
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *client = f->client.conn;
	u32 asked;
	int i;

	KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(client, SZ_16K, 0), 0);
	conn_call_until(test, 64, conn_client_told, SZ_16K);
	conn_settle(test);
	asked = conn_changes(&f->client).asked;
	conn_hold(&f->client, true);
	spin_lock(&client->lock);
	for (i = 0; i <= RPCRDMA_MAX_CONTROL; i++)
		if (!rpcrdma_xchar_fix(&client->session, &reverse, 1))
			break;
	spin_unlock(&client->lock);
	KUNIT_EXPECT_EQ(test, i, RPCRDMA_MAX_CONTROL);
	KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(client, RPCRDMA_DEF_INLINE,
						  SZ_16K), 0);
	/* The work item comes by, more than once. */
	msleep(2500);
	KUNIT_EXPECT_EQ(test, conn_changes(&f->client).asked, asked);
	conn_hold(&f->client, false);
	conn_becomes(conn_changes(&f->client).asked >= asked + 2);
	KUNIT_EXPECT_EQ(test, conn_changes(&f->client).asked, asked + 2);
	conn_call_until(test, 64, conn_client_recvs_are, RPCRDMA_DEF_INLINE);
}

/* A smaller size is wished before a larger one is there: the last wish counts. */
static void conn_forgets_a_larger_wish(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *client = f->client.conn;
	int i;

	KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(client, SZ_16K, 0), 0);
	/* Small ones are posted until messages have come. */
	KUNIT_EXPECT_TRUE(test,
			  conn_becomes(READ_ONCE(client->recv_size) == SZ_16K));
	KUNIT_EXPECT_EQ(test, conn_info(&f->client).local.recv_size,
			(u32)RPCRDMA_DEF_INLINE);
	KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(client, RPCRDMA_DEF_INLINE,
						  0), 0);
	conn_call_until(test, 64, conn_client_recvs_are, RPCRDMA_DEF_INLINE);
	for (i = 0; i < 100; i++)
		conn_call(test, 64);
	msleep(2500);
	KUNIT_EXPECT_TRUE(test, conn_client_recvs_are(f, RPCRDMA_DEF_INLINE));
	KUNIT_EXPECT_EQ(test, conn_info(&f->client).local.recv_size,
			(u32)RPCRDMA_DEF_INLINE);
}

/* What the server never changes: who asks for that hears so at once. */
static void conn_cannot_wish_what_never_changes(struct kunit *test)
{
	static const u32 fixed[] = { CONN_RECEIVE_SIZE, CONN_SEND_SIZE };
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *client = f->client.conn, *server = f->server.conn;
	bool told;

	KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(client, SZ_16K, 0), 0);
	conn_call_until(test, 64, conn_client_recvs_are, SZ_16K);
	spin_lock(&server->lock);
	told = rpcrdma_xchar_fix(&server->session, fixed, ARRAY_SIZE(fixed));
	spin_unlock(&server->lock);
	KUNIT_EXPECT_TRUE(test, told);
	rpcrdma_conn_pump(server);
	KUNIT_EXPECT_TRUE(test, conn_becomes(conn_changes(&f->client).heard >= 2));
	KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(client, 0, SZ_16K),
			-EOPNOTSUPP);
	KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(client, RPCRDMA_DEF_INLINE,
						  0), -EOPNOTSUPP);
	/* Nobody has to be asked for these. */
	KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(client, SZ_32K, 0), 0);
	KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(client, 0, RPCRDMA_DEF_INLINE),
			0);
}

/* Its Sends have the size that they have from now on, and the other end knows. */
static void conn_fix_sends(struct kunit *test, struct conn_side *side,
			   struct conn_side *other)
{
	const u32 heard = conn_changes(other).heard;
	const u32 which = CONN_SEND_SIZE;
	bool told;

	spin_lock(&side->conn->lock);
	told = rpcrdma_xchar_fix(&side->conn->session, &which, 1);
	spin_unlock(&side->conn->lock);
	KUNIT_EXPECT_TRUE(test, told);
	rpcrdma_conn_pump(side->conn);
	KUNIT_EXPECT_TRUE(test, conn_becomes(conn_changes(other).heard > heard));
}

/* As if it had been silent for a minute: nothing is left to be done. */
static void conn_expect_rest(struct kunit *test, struct conn_side *side)
{
	const struct rpcrdma_resize *r = &side->conn->resize;

	msleep(2500);
	conn_rest(side);
	KUNIT_EXPECT_TRUE(test, conn_becomes_soon(READ_ONCE(r->slow)));
	KUNIT_EXPECT_EQ(test, r->lift, 0U);
}

/* A connection at rest costs no time, even if the peer never answers what it is asked. */
static void conn_rests_while_it_asks(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *client = f->client.conn;

	conn_asks_in_vain(test);
	conn_expect_rest(test, &f->client);
	/* Nor if more is wanted, which has to wait for that answer. */
	KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(client, 0, SZ_32K), 0);
	conn_expect_rest(test, &f->client);
	KUNIT_EXPECT_EQ(test, READ_ONCE(client->resize.peer_wish), (u32)SZ_32K);
	KUNIT_EXPECT_EQ(test, READ_ONCE(client->resize.asked_recv),
			(u32)CONN_GROWN);
}

/* The server sends less, and then never anything else: it is not asked for more. */
static void conn_gives_up_what_nobody_can_be_asked(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *client = f->client.conn;
	u32 asked;

	KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(client, SZ_16K, 0), 0);
	conn_call_until(test, 64, conn_client_recvs_are, SZ_16K);
	KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(client, RPCRDMA_DEF_INLINE,
						  0), 0);
	conn_call_until(test, 64, conn_client_recvs_are, RPCRDMA_DEF_INLINE);
	asked = conn_changes(&f->client).asked;
	conn_fix_sends(test, &f->server, &f->client);
	KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(client, SZ_16K, 0), 0);
	conn_expect_rest(test, &f->client);
	KUNIT_EXPECT_EQ(test, conn_changes(&f->client).asked, asked);
	/* What cannot come needs no room. */
	KUNIT_EXPECT_EQ(test, client->recv_size, RPCRDMA_DEF_INLINE);
}

/* The same for want of memory, when there is more of it again, but less than before. */
static void conn_gives_up_what_memory_allows(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	u64 memory = rpcrdma_recv_limit;
	u32 asked;

	conn_grow(test);
	rpcrdma_recv_limit = (CONN_WINDOW + 1) * RPCRDMA_DEF_INLINE;
	conn_call_until(test, 64, conn_server_recvs_are, RPCRDMA_DEF_INLINE);
	asked = conn_changes(&f->server).asked;
	conn_fix_sends(test, &f->client, &f->server);
	rpcrdma_recv_limit = (CONN_WINDOW + 1) * SZ_16K;
	conn_expect_rest(test, &f->server);
	rpcrdma_recv_limit = memory;
	KUNIT_EXPECT_EQ(test, conn_changes(&f->server).asked, asked);
}

/* A change that the end of the connection overtakes, on one side and on the other. */
static void conn_ends_while_it_changes(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	const unsigned long end = jiffies + CONN_TIMEOUT;
	struct rpcrdma_conn *client = f->client.conn;
	int i;

	/* The server may refuse, while the memory of an earlier connection is not yet free. */
	for (i = 0; !READ_ONCE(f->server.conn->n_recv_fresh) &&
	     time_before(jiffies, end); i++) {
		if (!(i % 100))
			KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(client,
								  CONN_GROWN,
								  CONN_GROWN),
					0);
		msleep(CONN_LOOK);
	}
	KUNIT_EXPECT_GT(test, f->server.conn->n_recv_fresh, 0U);
	conn_call(test, 64);
	kref_get(&client->kref);
	conn_end(&f->client);
	KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(client, SZ_16K, 0),
			-ENOTCONN);
	rpcrdma_conn_put(client);
	conn_wait(test, &f->server.lost);
	conn_end(&f->server);
}

/* Larger and smaller windows meet larger and smaller Receives. */
static void conn_changes_all_at_once(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *server = f->server.conn;
	int i;

	KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(f->client.conn, 0,
						  CONN_GROWN), 0);
	for (i = 0; i < 60; i++) {
		KUNIT_EXPECT_EQ(test, rpcrdma_conn_set_window(server, i % 3 ?
							      20 : 5), 0);
		conn_call(test, i % 2 ? 64 : SZ_64K);
		msleep(i % 5);
	}
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_set_window(server, 12), 0);
	conn_wish_until(test, 64, conn_sends_are, CONN_GROWN, CONN_GROWN);
	conn_call_until(test, 64, conn_server_recvs_are, CONN_GROWN);
	KUNIT_EXPECT_EQ(test, conn_call(test, CONN_WRITE), 1ULL);
	conn_counts_its_memory(test, &f->server);
}

/* A device that fills two pieces: Receives of pages do not grow, and nobody minds. */
static void conn_grows_as_far_as_the_device_can(struct kunit *test)
{
	struct conn_side side = {
		.version = 2, .queues = true, .pages = true, .grow = CONN_GROWN,
	};
	static const u32 most[] = { CONN_GROWN, SZ_8K, SZ_16K, CONN_GROWN };
	static const int sges[] = { 1, 2, 4, 8 };
	int i;

	for (i = 0; i < ARRAY_SIZE(sges); i++) {
		conn_make_with_sges(test, &side, RPCRDMA_ROLE_SERVER, sges[i]);
		if (!IS_ERR(side.conn)) {
			KUNIT_EXPECT_EQ(test, !side.conn->recv_pages, !i);
			KUNIT_EXPECT_EQ(test, side.conn->resize.most_recv,
					most[i]);
		}
		conn_end(&side);
	}
}

/* The next connection begins small, with what the last one has left, however large. */
static void conn_replaces_large_buffers(struct kunit *test)
{
	struct rpcrdma_spares s = { };
	void *buf = rpcrdma_spare_get(&s, SZ_8K, NUMA_NO_NODE, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, buf);
	kfree(buf);
	buf = kmalloc(SZ_16K, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	rpcrdma_spare_put(&s, buf, SZ_16K);
	KUNIT_EXPECT_EQ(test, s.count, 1U);
	buf = rpcrdma_spare_get(&s, SZ_8K, NUMA_NO_NODE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	KUNIT_EXPECT_LT(test, ksize(buf), (size_t)SZ_16K);
	kfree(buf);
	buf = kmalloc(SZ_4K, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buf);
	rpcrdma_spare_put(&s, buf, SZ_4K);
	KUNIT_EXPECT_EQ(test, s.count, 0U);
}

/* A server's Receives begin small, and get small again. */
static void conn_begins_small(struct kunit *test)
{
	/* The Sends, and room to put a message together. */
	const u64 size = PAGE_SIZE, others = 17 * RPCRDMA_DEF_INLINE;
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *server = f->server.conn;

	KUNIT_EXPECT_EQ(test, conn_info(&f->client).peer.recv_size, (u32)size);
	KUNIT_EXPECT_EQ(test, conn_info(&f->client).local.recv_size,
			(u32)RPCRDMA_DEF_INLINE);
	KUNIT_EXPECT_EQ(test, server->n_recvs, CONN_WINDOW + 1U);
	/* Those of the opening are replaced by the second message. */
	conn_call(test, 64);
	conn_call(test, 64);
	KUNIT_EXPECT_TRUE(test, conn_becomes(conn_recvs_are(&f->server, size)));
	conn_expect_memory(test, &f->server, others + (CONN_WINDOW + 1) * size);
	conn_holds_the_memory_it_takes(test, &f->server);

	conn_exchange(test, &f->client, &f->server, RPCRDMA_CALL);
	conn_exchange(test, &f->server, &f->client, RPCRDMA_REPLY);
	conn_call_until(test, CONN_WRITE, conn_sends_are, CONN_GROWN);
	KUNIT_EXPECT_EQ(test, conn_call(test, CONN_WRITE), 1ULL);

	msleep(2500);
	conn_rest(&f->client);
	KUNIT_EXPECT_TRUE(test, conn_becomes_soon(conn_client_may_send(f, size)));
	conn_call_until(test, 64, conn_server_recvs_are, size);
	conn_counts_its_memory(test, &f->server);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->server.lost));
}

static void conn_begins_as_ever_without_the_extension(struct kunit *test)
{
	struct conn_fixture *f = test->priv;

	KUNIT_EXPECT_EQ(test, conn_info(&f->client).peer.recv_size,
			(u32)RPCRDMA_DEF_INLINE);
	KUNIT_EXPECT_TRUE(test, conn_recvs_are(&f->server, RPCRDMA_DEF_INLINE));
	conn_expect_memory(test, &f->server, (CONN_WINDOW + 2 + 16) *
			   (u64)RPCRDMA_DEF_INLINE);
	conn_holds_the_memory_it_takes(test, &f->server);
	conn_exchange(test, &f->client, &f->server, RPCRDMA_CALL);
	conn_exchange(test, &f->server, &f->client, RPCRDMA_REPLY);
	conn_expect_memory(test, &f->server, (CONN_WINDOW + 2 + 16) *
			   (u64)RPCRDMA_DEF_INLINE);
}

/*
 * The client's properties have been taken, and the Receives that the answer is to tell of are
 * not there yet: whoever pumps, nothing is sent.
 */
static void conn_offers_what_is_posted(struct kunit *test)
{
	struct conn_side side = {
		.version = 2, .queues = true, .pages = true,
		.grow = CONN_GROWN, .rest = PAGE_SIZE,
	};
	struct conn_fixture *f = test->priv;
	struct rpcrdma_config config = {
		.role = RPCRDMA_ROLE_CLIENT,
		.window = CONN_WINDOW,
		.max_message = CONN_MAX,
		.min_version = 2,
		.max_version = 2,
		.extensions = RPCRDMA_ALL_EXTENSIONS,
		.local = conn_info(&f->client).local,
	};
	struct rpcrdma_session *client;
	struct rpcrdma_conn *conn;
	struct rpcrdma_tx tx;
	u32 later;
	u8 *first;

	client = kunit_kzalloc(test, sizeof(*client), GFP_KERNEL);
	first = kunit_kzalloc(test, SZ_1K, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, client);
	KUNIT_ASSERT_NOT_NULL(test, first);
	KUNIT_ASSERT_TRUE(test, rpcrdma_session_init(client, &config));
	KUNIT_ASSERT_EQ(test, rpcrdma_session_next_send(client, NULL, first,
							SZ_1K, &tx),
			(u32)RPCRDMA_TX_CONTROL);

	conn_side_init(test, &side, 2);
	conn_make_with_sges(test, &side, RPCRDMA_ROLE_SERVER,
			    RPCRDMA_MAX_RECV_PAGES);
	conn = side.conn;
	if (!IS_ERR(conn)) {
		later = conn->n_recv_later;
		KUNIT_EXPECT_EQ(test, later, CONN_WINDOW + 1U -
				RPCRDMA_OPENING_RECVS);
		spin_lock(&conn->lock);
		rpcrdma_session_receive(&conn->session, first,
					tx.header_length, &conn->rx);
		spin_unlock(&conn->lock);
		KUNIT_EXPECT_EQ(test, conn->rx.action, (u32)RPCRDMA_RX_CONTROL);
		rpcrdma_conn_pump(conn);
		KUNIT_EXPECT_EQ(test, conn_info(&side).sent, 0U);
		KUNIT_EXPECT_EQ(test, conn->n_recv_later, later);
		KUNIT_EXPECT_FALSE(test, completion_done(&side.lost));
		KUNIT_EXPECT_TRUE(test, conn->pump_again);
	}
	conn_end(&side);
}

static struct kunit_case conn_resting_cases[] = {
	KUNIT_CASE(conn_carries_calls),
	KUNIT_CASE(conn_carries_replies),
	KUNIT_CASE(conn_begins_small),
	KUNIT_CASE(conn_offers_what_is_posted),
	KUNIT_CASE(conn_changes_all_at_once),
	{}
};

static struct kunit_suite conn_resting_suite = {
	.name = "rpcrdma_conn_resting",
	.init = conn_init_resting,
	.exit = conn_exit,
	.test_cases = conn_resting_cases,
};

static struct kunit_case conn_alone_cases[] = {
	KUNIT_CASE(conn_begins_as_ever_without_the_extension),
	{}
};

static struct kunit_suite conn_alone_suite = {
	.name = "rpcrdma_conn_alone",
	.init = conn_init_alone,
	.exit = conn_exit,
	.test_cases = conn_alone_cases,
};

/* The client asks before the server's work item runs for the first time. */
static void conn_ask_early(struct kunit *test, u32 deferred, u32 refused)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_xchar_info counts;

	KUNIT_EXPECT_EQ(test, rpcrdma_resize_wish(f->client.conn, 0, CONN_GROWN),
			0);
	conn_becomes(conn_changes(&f->server).deferred ||
		     conn_changes(&f->server).refused);
	counts = conn_changes(&f->server);
	KUNIT_EXPECT_EQ(test, counts.deferred, deferred);
	KUNIT_EXPECT_EQ(test, counts.refused, refused);
}

static void conn_puts_off_what_comes_early(struct kunit *test)
{
	conn_ask_early(test, 1, 0);
}

/* Memory is short as the connection begins. */
static void conn_refuses_what_comes_early(struct kunit *test)
{
	struct rpcrdma_budget memory;
	int rc;

	/* Enough for as many connections as there are now, and for no more. */
	rpcrdma_memory_info(&memory);
	conn_keep_limit(test, memory.limit);
	conn_exit(test);
	rpcrdma_memory_limit(memory.held + memory.held / 16);
	rc = conn_init_late(test);
	KUNIT_EXPECT_TRUE(test, rpcrdma_memory_short());
	rpcrdma_memory_limit(memory.limit);
	KUNIT_ASSERT_EQ(test, rc, 0);
	conn_ask_early(test, 0, 1);
}

static struct kunit_case conn_late_cases[] = {
	KUNIT_CASE(conn_puts_off_what_comes_early),
	KUNIT_CASE(conn_refuses_what_comes_early),
	{}
};

static struct kunit_suite conn_late_suite = {
	.name = "rpcrdma_conn_late",
	.init = conn_init_late,
	.exit = conn_exit,
	.test_cases = conn_late_cases,
};

static struct kunit_case conn_growing_cases[] = {
	KUNIT_CASE(conn_maps_nothing_into_no_segments),
	KUNIT_CASE(conn_carries_calls),
	KUNIT_CASE(conn_grows_when_it_pays),
	KUNIT_CASE(conn_joins_large_messages),
	KUNIT_CASE(conn_shrinks_when_idle),
	KUNIT_CASE(conn_sends_less_for_want_of_memory),
	KUNIT_CASE(conn_shrinks_when_all_is_held),
	KUNIT_CASE(conn_has_small_sends_for_want_of_memory),
	KUNIT_CASE(conn_shrinks_while_it_asks),
	KUNIT_CASE(conn_rests_while_it_asks),
	KUNIT_CASE(conn_does_not_grow_without_memory),
	KUNIT_CASE(conn_follows_wishes),
	KUNIT_CASE(conn_asks_when_there_is_room),
	KUNIT_CASE(conn_forgets_a_larger_wish),
	KUNIT_CASE(conn_cannot_wish_what_never_changes),
	KUNIT_CASE(conn_gives_up_what_nobody_can_be_asked),
	KUNIT_CASE(conn_gives_up_what_memory_allows),
	KUNIT_CASE(conn_ends_while_it_changes),
	KUNIT_CASE(conn_changes_all_at_once),
	KUNIT_CASE(conn_grows_as_far_as_the_device_can),
	KUNIT_CASE(conn_replaces_large_buffers),
	{}
};

/* Where the item of a Call is, and what is behind it. */
#define CONN_ITEM	100
#define CONN_TAIL	20

/* Plan a Call whose item, @length bytes, goes by a group. Return: false if it cannot now. */
static bool conn_plan_group(struct conn_fixture *f, struct conn_msg *m,
			    u32 length)
{
	const struct rpcrdma_range item = { CONN_ITEM, length };
	struct rpcrdma_conn *conn = f->client.conn;
	bool planned;

	spin_lock(&conn->lock);
	planned = rpcrdma_rtr_plan(&conn->session, &m->tm.msg, &item, NULL, 0,
				   &m->group);
	spin_unlock(&conn->lock);
	m->tm.group = planned ? &m->group : NULL;
	return planned;
}

static struct conn_msg *conn_item_msg(struct kunit *test, enum rpcrdma_dir dir,
				      u32 length)
{
	struct conn_msg *m = conn_msg(test, 7, dir,
				      CONN_ITEM + length + CONN_TAIL);

	m->item.offset = CONN_ITEM;
	m->item.length = length;
	m->tm.removed = &m->item;
	m->tm.n_removed = 1;
	m->tm.msg.length -= length;
	return m;
}

struct conn_placed {
	struct kunit *test;
	struct rpcrdma_recv *recvs[RPCRDMA_RTR_MOST_SENDS];
	u32 data[RPCRDMA_RTR_MOST_SENDS];	/* where those of the item begin */
	u32 length;
};

/* Each part is at the beginning of a page. */
static bool conn_part_is_placed(void *context,
				const struct rpcrdma_rtr_part *part)
{
	struct conn_placed *p = context;
	struct kunit *test = p->test;
	struct conn_fixture *f = test->priv;
	struct rpcrdma_recv *recv = p->recvs[part->send];
	const u32 at = recv->conn->recv_base + part->offset;

	KUNIT_EXPECT_EQ(test, part->position, (u32)CONN_ITEM);
	KUNIT_EXPECT_EQ(test, part->at, p->length);
	KUNIT_EXPECT_EQ(test, offset_in_page(at), 0UL);
	KUNIT_EXPECT_EQ(test, memcmp(page_address(recv->pages[at >> PAGE_SHIFT]),
				     f->stream + CONN_ITEM + part->at,
				     part->length), 0);
	if (!p->data[part->send])
		p->data[part->send] = part->offset;
	p->length += part->length;
	return true;
}

/* Between payload and data there are zeros in each Send, and nothing that was sent before. */
static void conn_expect_zeros(struct kunit *test, const struct conn_placed *p,
			      u32 sends)
{
	const struct rpcrdma_recv *recv;
	u32 i, at, end, run;
	const void *from;

	for (i = 0; i < sends; i++) {
		recv = p->recvs[i];
		at = recv->part.offset + recv->part.length;
		end = p->data[i] ?: recv->len;
		KUNIT_EXPECT_LT(test, at, end);
		for (; at < end; at += run) {
			from = rpcrdma_recv_at(recv, at, &run);
			run = min(run, end - at);
			KUNIT_EXPECT_NULL(test, memchr_inv(from, 0, run));
		}
	}
}

/* The Receives that @side holds; so many, which is awaited: a message is told of before. */
static void conn_get_held(struct kunit *test, struct conn_side *side,
			  struct conn_placed *p, u32 count)
{
	struct rpcrdma_recv *recv;
	u32 n = 0;

	conn_becomes(conn_n_held(side) >= count);
	spin_lock(&side->lock);
	list_for_each_entry(recv, &side->held, link)
		if (n < ARRAY_SIZE(p->recvs))
			p->recvs[n++] = recv;
	spin_unlock(&side->lock);
	KUNIT_ASSERT_EQ(test, n, count);
}

/* A message whose item has so many bytes has come by @sends Sends, its data in whole pages. */
static void conn_expect_placed(struct kunit *test, struct conn_side *side,
			       u32 length, u32 sends)
{
	struct conn_fixture *f = test->priv;
	struct conn_placed p = { .test = test };
	struct rpcrdma_rtr_first first;
	struct rpcrdma_rtr_shape shape;

	KUNIT_EXPECT_EQ(test, side->length, (u32)CONN_ITEM + CONN_TAIL);
	KUNIT_EXPECT_EQ(test, memcmp(side->got, f->stream, CONN_ITEM), 0);
	KUNIT_EXPECT_EQ(test, memcmp(side->got + CONN_ITEM,
				     f->stream + CONN_ITEM + length,
				     CONN_TAIL), 0);
	conn_get_held(test, side, &p, sends);
	rpcrdma_rtr_shape(side->conn, &shape);
	KUNIT_ASSERT_TRUE(test, rpcrdma_rtr_read(p.recvs[0]->buf, shape.head,
						 &first));
	KUNIT_EXPECT_TRUE(test, rpcrdma_rtr_each_part(&shape, &first,
						      conn_part_is_placed, &p));
	KUNIT_EXPECT_EQ(test, p.length, length);
	conn_expect_zeros(test, &p, sends);
}

/*
 * Messages that @side has sent. Those that do no more than give credit do not count: how many of
 * them there are depends on who runs when.
 */
static u64 conn_sent(struct conn_side *side)
{
	struct rpcrdma_conn *conn = side->conn;
	struct rpcrdma_session_info info;
	u64 grants;

	spin_lock(&conn->lock);
	rpcrdma_session_info(&conn->session, &info);
	grants = conn->stats.tx_type[RPCRDMA2_GRANT];
	spin_unlock(&conn->lock);
	return info.sent - grants;
}

/* Data of so many bytes take @sends Sends, and are in whole pages. */
static void conn_place(struct kunit *test, u32 length, u32 sends)
{
	struct conn_fixture *f = test->priv;
	struct conn_msg *m;
	u64 sent;

	get_random_bytes(f->stream, CONN_ITEM + length + CONN_TAIL);
	m = conn_item_msg(test, RPCRDMA_CALL, length);
	KUNIT_ASSERT_TRUE(test, conn_becomes(conn_plan_group(f, m, length)));
	KUNIT_EXPECT_EQ(test, m->group.sends, sends);
	sent = conn_sent(&f->client);
	WRITE_ONCE(f->server.hold, true);
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &m->tm), 0);
	conn_wait(test, &f->server.arrived);
	conn_wait(test, &m->done);
	KUNIT_EXPECT_EQ(test, m->status, 0);
	KUNIT_EXPECT_EQ(test, conn_sent(&f->client) - sent, (u64)sends);
	conn_expect_placed(test, &f->server, length, sends);
	conn_let_go(&f->server);
}

/* Plan a Call that says how its result shall come. Return: false if it cannot now. */
static bool conn_plan_direction(struct conn_fixture *f, struct conn_msg *call,
				const struct rpcrdma_rtr_direction *direction,
				u32 most)
{
	struct rpcrdma_conn *conn = f->client.conn;
	bool planned;

	spin_lock(&conn->lock);
	planned = rpcrdma_rtr_plan(&conn->session, &call->tm.msg, NULL,
				   direction, most, &call->group);
	spin_unlock(&conn->lock);
	return planned;
}

/* Send a Call that directs how its result comes, which may have @most bytes in Sends. */
static void conn_send_direction(struct kunit *test, struct conn_msg *call,
				const struct rpcrdma_rtr_direction *direction,
				u32 most, struct rpcrdma_rtr_directions *d)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->client.conn;
	struct conn_placed p = { .test = test };
	struct rpcrdma_rtr_first first;

	KUNIT_ASSERT_TRUE(test, conn_becomes(conn_plan_direction(f, call,
								 direction,
								 most)));
	call->tm.group = &call->group;
	WRITE_ONCE(f->server.hold, true);
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(conn, &call->tm), 0);
	conn_wait(test, &f->server.arrived);
	conn_wait(test, &call->done);
	conn_get_held(test, &f->server, &p, 1);
	KUNIT_ASSERT_TRUE(test, rpcrdma_rtr_read(p.recvs[0]->buf,
						 p.recvs[0]->len, &first));
	rpcrdma_rtr_get_directions(&first, d);
	conn_let_go(&f->server);
	rpcrdma_conn_end_call(conn, &call->tm);
}

/* What a Call says that wants an item of up to @most bytes placed. */
static void conn_direct(struct kunit *test, u32 most,
			struct rpcrdma_rtr_directions *d)
{
	const struct rpcrdma_rtr_direction direction = {
		.place = RPCRDMA_RTR_TBSN,
		.least = PAGE_SIZE,
	};

	conn_send_direction(test, conn_own_msg(test, 7, RPCRDMA_CALL),
			    &direction, most, d);
}

/* A Call that offers memory by a group. It is registered with the Call, and not before. */
static struct conn_chunk_call *
conn_offer_by_group(struct kunit *test, struct page **pages, u32 length,
		    struct rpcrdma_rtr_directions *d)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_range range = { .offset = 100, .length = length };
	struct rpcrdma_mr_table *t = &f->client.conn->mr_table;
	struct rpcrdma_rtr_direction direction = {
		.place = RPCRDMA_RTR_EXRW,
		.least = PAGE_SIZE,
		.n_segments = 1,
	};
	struct conn_chunk_call *call;

	call = kunit_kzalloc(test, sizeof(*call), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, call);
	INIT_LIST_HEAD(&call->mrs);
	direction.segments = call->chunks.write_segs;
	KUNIT_ASSERT_EQ(test, rpcrdma_frwr_map(f->client.conn, &call->mrs,
					       &range, pages, true,
					       call->chunks.write_segs, 1), 1);
	call->m = conn_own_msg(test, 7, RPCRDMA_CALL);
	call->m->tm.chain = conn_chain;
	call->m->tm.chain_cost = 1;
	conn_the_chunk_call = call;
	KUNIT_EXPECT_EQ(test, t->count[RPCRDMA_MR_ACTIVE], 0U);
	conn_send_direction(test, call->m, &direction, 0, d);
	KUNIT_EXPECT_EQ(test, t->count[RPCRDMA_MR_ACTIVE], 1U);
	KUNIT_EXPECT_EQ(test, d->sends, 1U);
	return call;
}

/* Plan a Reply whose item, @length bytes, is placed. Return: false if it cannot be. */
static bool conn_plan_reply(struct conn_fixture *f, struct conn_msg *m,
			    const struct rpcrdma_rtr_directions *d, u32 length)
{
	const struct rpcrdma_rtr_result result = {
		.where = { CONN_ITEM, length },
		.cause = RPCRDMA_RTR_NOWHERE,
	};
	struct rpcrdma_conn *conn = f->server.conn;
	struct rpcrdma_reply_plan *plan;
	bool planned;

	plan = kzalloc(sizeof(*plan), GFP_KERNEL);
	if (!plan)
		return false;
	spin_lock(&conn->lock);
	planned = rpcrdma_rtr_plan_reply(&conn->session, d, &result, 1,
					 m->xdr.len, &m->tm.msg, plan,
					 &m->group);
	spin_unlock(&conn->lock);
	kfree(plan);
	m->tm.group = planned ? &m->group : NULL;
	return planned && m->group.placed;
}

/* A Reply of pages that may go by a group of @sends. */
static struct conn_msg *conn_group_reply(struct kunit *test, struct page **pages,
					 u32 base, u32 length, u32 sends)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_rtr_directions d;
	struct conn_msg *m;

	conn_direct(test, length, &d);
	KUNIT_EXPECT_EQ(test, d.sends, sends);
	m = conn_page_reply(test, pages, base, length, CONN_TAIL);
	put_unaligned_be32(7, m->xdr.head[0].iov_base);
	put_unaligned_be32(7, f->stream);
	m->tm.msg.xid = 7;
	m->item.offset = CONN_ITEM;
	m->item.length = length;
	m->tm.removed = &m->item;
	m->tm.n_removed = 1;
	KUNIT_ASSERT_TRUE(test,
			  conn_becomes(conn_plan_reply(f, m, &d, length)));
	KUNIT_EXPECT_EQ(test, m->group.sends, sends);
	return m;
}

/* Who waits for messages that were sent, as to send one again, does not wait for the next Send. */
static void conn_await(struct rpcrdma_conn *conn, struct conn_msg *m,
		       struct kunit *test)
{
	atomic_inc(&conn->awaited);
	rpcrdma_conn_pump(conn);
	conn_wait(test, &m->done);
	atomic_dec(&conn->awaited);
}

/*
 * The same of a Reply whose data are in pages, from @base on. Hardly anything is copied if the
 * adapter has elements enough.
 */
static void conn_place_reply(struct kunit *test, struct page **pages, u32 base,
			     u32 length, u32 sends)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_stats *stats = &f->server.conn->stats;
	struct conn_msg *m, *small;
	u64 copied;
	int i;

	m = conn_group_reply(test, pages, base, length, sends);
	copied = READ_ONCE(stats->tx_copied_bytes);
	WRITE_ONCE(f->client.hold, true);
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->server.conn, &m->tm), 0);
	conn_wait(test, &f->client.arrived);
	conn_expect_placed(test, &f->client, length, sends);
	KUNIT_EXPECT_LT(test, READ_ONCE(stats->tx_copied_bytes) - copied,
			(u64)CONN_ITEM + CONN_TAIL + 2 * sends * SZ_2K);
	conn_let_go(&f->client);
	/* What is sent from pages ends with one of the next Sends. */
	for (i = 0; i < 4; i++) {
		small = conn_own_msg(test, 9, RPCRDMA_REPLY);
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->server.conn,
							&small->tm), 0);
		conn_wait(test, &f->client.arrived);
	}
	conn_wait(test, &m->done);
	KUNIT_EXPECT_EQ(test, m->status, 0);
}

static void conn_places_results(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct page **pages = conn_alloc_pages(test);
	u32 i;

	for (i = 0; i < CONN_PAGES; i++)
		get_random_bytes(page_address(pages[i]), PAGE_SIZE);
	/* Leave something in each buffer that is sent from. */
	conn_exchange(test, &f->server, &f->client, RPCRDMA_REPLY);
	for (i = 0; i < 3; i++) {
		conn_place_reply(test, pages, 0, PAGE_SIZE, 1);
		conn_place_reply(test, pages, 0, 2 * PAGE_SIZE, 1);
		conn_place_reply(test, pages, 0, 2 * PAGE_SIZE + 4, 2);
		conn_place_reply(test, pages, 1000, 2 * PAGE_SIZE, 1);
		conn_place_reply(test, pages, 4, 5 * PAGE_SIZE, 3);
		conn_place_reply(test, pages, 3000, 8 * PAGE_SIZE, 4);
	}
	conn_exchange(test, &f->server, &f->client, RPCRDMA_REPLY);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
	KUNIT_EXPECT_FALSE(test, completion_done(&f->server.lost));
}

static struct ib_send_wr *conn_chain_writes(struct rpcrdma_txmsg *tm,
					    struct ib_send_wr *next)
{
	struct conn_msg *m = container_of(tm, struct conn_msg, tm);

	return rpcrdma_svc_rw_chain(m->rw, NULL, next);
}

/* The queue pair is there until each message has ended, also if a case ends early. */
static void conn_writes_done(struct rpcrdma_txmsg *tm, int status)
{
	struct conn_msg *m = container_of(tm, struct conn_msg, tm);

	rpcrdma_svc_rw_free(m->rw);
	conn_msg_done(tm, status);
}

/* Send a Reply behind RDMA Writes. Between these and the Send nothing may end the case. */
static void conn_send_with_writes(struct kunit *test, struct conn_msg *m,
				  const struct rpcrdma_write_job *job)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->server.conn;
	int rc;

	m->rw = rpcrdma_svc_rw_alloc(conn, 1, DMA_TO_DEVICE, 3,
				     job->source.length, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, m->rw);
	m->tm.chain = conn_chain_writes;
	m->tm.chain_cost = m->rw->cost;
	m->tm.hold = true;
	m->tm.gather = 0;
	m->tm.done = conn_writes_done;
	rc = rpcrdma_svc_rw_xdr(m->rw, &m->xdr, &job->source,
				job->target.handle, job->target.offset);
	if (!rc)
		rc = rpcrdma_conn_send(conn, &m->tm);
	if (rc)
		rpcrdma_svc_rw_free(m->rw);
	KUNIT_ASSERT_EQ(test, rc, 0);
}

/* A Call directs that its result, whatever its size, be written to @to (EXRW). */
static void conn_direct_to(const struct rpcrdma_segment *to,
			   struct rpcrdma_rtr_directions *d)
{
	const u32 words[] = {
		1, 0, U32_MAX,				/* a range, all of it */
		1, 0, 1,				/* an item, EXRW */
		1, to->handle, to->length,
		upper_32_bits(to->offset), lower_32_bits(to->offset),
	};
	int i;

	*d = (struct rpcrdma_rtr_directions) {
		.sends = 1,
		.length = sizeof(words),
	};
	for (i = 0; i < ARRAY_SIZE(words); i++)
		put_unaligned_be32(words[i], d->xdr + i * sizeof(*words));
}

/* The Reply has no more than what is not written, and says so. */
static void conn_expect_written(struct kunit *test, u32 length)
{
	struct conn_fixture *f = test->priv;
	struct conn_placed p = { .test = test };
	struct rpcrdma_rtr_first first;

	KUNIT_EXPECT_EQ(test, f->client.length, (u32)CONN_ITEM + CONN_TAIL);
	KUNIT_EXPECT_EQ(test, memcmp(f->client.got, f->stream, CONN_ITEM), 0);
	KUNIT_EXPECT_EQ(test, memcmp(f->client.got + CONN_ITEM,
				     f->stream + CONN_ITEM + length,
				     CONN_TAIL), 0);
	conn_get_held(test, &f->client, &p, 1);
	KUNIT_ASSERT_TRUE(test, rpcrdma_rtr_read(p.recvs[0]->buf,
						 p.recvs[0]->len, &first));
	KUNIT_EXPECT_TRUE(test, first.reply);
	KUNIT_EXPECT_TRUE(test, first.external);
	KUNIT_EXPECT_EQ(test, first.n_items, 1U);
	KUNIT_EXPECT_EQ(test, first.item.length, 0U);
}

struct conn_written {
	struct rpcrdma_rtr_directions directions;
	struct rpcrdma_reply_plan plan;
	struct rpcrdma_rtr_group group;
	struct rpcrdma_range item;
};

/* A result is in the memory that the Call names for it before its Reply has come. */
static void conn_write_result(struct kunit *test, bool group)
{
	const u32 length = PAGE_SIZE + 904, at = 100;
	const struct rpcrdma_rtr_result result = {
		{ CONN_ITEM, length }, RPCRDMA_RTR_NOWHERE,
	};
	struct page **from = conn_alloc_pages(test);
	struct page **to = conn_alloc_pages(test);
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->server.conn;
	struct conn_chunk_call *call;
	struct conn_written *w;
	struct conn_msg *m;
	bool planned;

	w = kunit_kzalloc(test, sizeof(*w), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, w);
	w->item = result.where;
	get_random_bytes(page_address(from[0]), PAGE_SIZE);
	get_random_bytes(page_address(from[1]), PAGE_SIZE);
	/* Its memory is registered then. */
	if (group) {
		call = conn_offer_by_group(test, to, length, &w->directions);
	} else {
		call = conn_offer(test, to, length);
		conn_direct_to(&call->chunks.write_segs[0], &w->directions);
	}

	m = conn_page_reply(test, from, 0, length, CONN_TAIL);
	spin_lock(&conn->lock);
	planned = rpcrdma_rtr_plan_reply(&conn->session, &w->directions,
					 &result, 1, m->xdr.len, &m->tm.msg,
					 &w->plan, &w->group);
	spin_unlock(&conn->lock);
	KUNIT_ASSERT_TRUE(test, planned);
	KUNIT_EXPECT_EQ(test, w->plan.errcode, (u32)RPCRDMA2_ERR_NONE);
	KUNIT_EXPECT_EQ(test, w->group.placed, 0U);
	KUNIT_EXPECT_EQ(test, w->group.sends, 1U);
	KUNIT_ASSERT_EQ(test, w->plan.n_jobs, 1U);
	m->tm.group = &w->group;
	m->tm.removed = &w->item;
	m->tm.n_removed = 1;
	WRITE_ONCE(f->client.hold, true);
	conn_send_with_writes(test, m, &w->plan.jobs[0]);
	conn_wait(test, &f->client.arrived);
	conn_expect_written(test, length);
	KUNIT_EXPECT_EQ(test, memcmp(page_address(to[0]) + at,
				     f->stream + CONN_ITEM, PAGE_SIZE - at), 0);
	KUNIT_EXPECT_EQ(test, memcmp(page_address(to[1]),
				     f->stream + CONN_ITEM + PAGE_SIZE - at,
				     length - (PAGE_SIZE - at)), 0);
	conn_let_go(&f->client);
	conn_wait(test, &m->done);
	KUNIT_EXPECT_EQ(test, m->status, 0);

	rpcrdma_frwr_invalidate_wait(f->client.conn, &call->mrs);
	KUNIT_EXPECT_EQ(test,
			f->client.conn->mr_table.count[RPCRDMA_MR_ACTIVE], 0U);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
	KUNIT_EXPECT_FALSE(test, completion_done(&f->server.lost));
}

static void conn_writes_results(struct kunit *test)
{
	conn_write_result(test, false);
}

/* The same when the Call itself comes by a group, and says so in a direction. */
static void conn_writes_results_as_directed(struct kunit *test)
{
	conn_write_result(test, true);
}

/*
 * It ends without another Send if somebody waits for that, also if what was queued behind it
 * when it was sent cannot be sent. But not each has a completion.
 */
static void conn_ends_groups_at_rest(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct page **pages = conn_alloc_pages(test);
	struct conn_msg *first;
	int i, round, rested = 0;

	for (round = 0; round < 4; round++) {
		conn_next[0] = conn_group_reply(test, pages, 0, PAGE_SIZE, 1);
		for (i = 1; i < ARRAY_SIZE(conn_next); i++) {
			conn_next[i] = conn_own_msg(test, 20 + i, RPCRDMA_REPLY);
			conn_next[i]->tm.msg.length = 63;
		}
		first = conn_own_msg(test, 9, RPCRDMA_REPLY);
		first->tm.chain = conn_chain_brings_others;
		WRITE_ONCE(f->client.hold, true);
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->server.conn,
							&first->tm), 0);
		conn_wait(test, &f->client.arrived);
		conn_wait(test, &f->client.arrived);
		conn_let_go(&f->client);
		spin_lock(&f->server.conn->lock);
		rested += f->server.conn->gathered;
		spin_unlock(&f->server.conn->lock);
		conn_await(f->server.conn, conn_next[0], test);
		for (i = 0; i < ARRAY_SIZE(conn_next); i++) {
			if (i)
				conn_wait(test, &conn_next[i]->done);
			KUNIT_EXPECT_EQ(test, conn_next[i]->status,
					i ? -EMSGSIZE : 0);
		}
	}
	KUNIT_EXPECT_GT(test, rested, 0);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
	KUNIT_EXPECT_FALSE(test, completion_done(&f->server.lost));
	conn_end(&f->server);
}

/* Its sender can send it in another form then. */
static void conn_begins_no_reply_without_credit(struct kunit *test)
{
	const u32 length = (CONN_WINDOW + 2) * PAGE_SIZE;
	struct conn_fixture *f = test->priv;
	struct rpcrdma_rtr_directions d;
	struct conn_msg *m, *small;
	int i;

	conn_direct(test, length, &d);
	m = conn_item_msg(test, RPCRDMA_REPLY, length);
	KUNIT_ASSERT_TRUE(test,
			  conn_becomes(conn_plan_reply(f, m, &d, length)));
	f->client.hold = true;
	for (i = 0; i < CONN_WINDOW / 2; i++) {
		small = conn_own_msg(test, 8, RPCRDMA_REPLY);
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->server.conn,
							&small->tm), 0);
		conn_wait(test, &f->client.arrived);
	}
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_send(f->server.conn, &m->tm), 0);
	conn_wait(test, &m->done);
	KUNIT_EXPECT_EQ(test, m->status, -EMSGSIZE);
	KUNIT_EXPECT_FALSE(test, conn_plan_reply(f, m, &d, length));
	m = conn_msg(test, 7, RPCRDMA_REPLY, CONN_ITEM + length + CONN_TAIL);
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_send(f->server.conn, &m->tm), 0);
	conn_let_go(&f->client);
	conn_wait(test, &f->client.arrived);
	KUNIT_EXPECT_EQ(test, f->client.length, m->xdr.len);
	KUNIT_EXPECT_EQ(test, memcmp(f->client.got, f->stream, m->xdr.len), 0);
	conn_wait(test, &m->done);
}

static void conn_places_data(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	int i;

	/* Leave something in each buffer that is sent from. */
	conn_exchange(test, &f->client, &f->server, RPCRDMA_CALL);
	for (i = 0; i < 3; i++) {
		conn_place(test, PAGE_SIZE, 1);
		conn_place(test, 2 * PAGE_SIZE, 1);
		conn_place(test, 2 * PAGE_SIZE + 4, 2);
		conn_place(test, 5 * PAGE_SIZE, 3);
		conn_place(test, 8 * PAGE_SIZE, 4);
	}
	/* Messages without data go as ever. */
	conn_exchange(test, &f->client, &f->server, RPCRDMA_CALL);
	KUNIT_EXPECT_EQ(test, READ_ONCE(f->client.conn->stats.registrations),
			0ULL);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
	KUNIT_EXPECT_FALSE(test, completion_done(&f->server.lost));
}

/* Without credits for all of it a group is not planned, and one that was is not begun. */
static void conn_begins_no_group_without_credit(struct kunit *test)
{
	const u32 length = (CONN_WINDOW + 2) * PAGE_SIZE;
	struct conn_fixture *f = test->priv;
	struct conn_msg *m, *small;
	int i;

	m = conn_item_msg(test, RPCRDMA_CALL, length);
	KUNIT_ASSERT_TRUE(test, conn_becomes(conn_plan_group(f, m, length)));
	f->server.hold = true;
	for (i = 0; i < CONN_WINDOW / 2; i++) {
		small = conn_own_msg(test, 8, RPCRDMA_CALL);
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn,
							&small->tm), 0);
		conn_wait(test, &f->server.arrived);
	}
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_send(f->client.conn, &m->tm), 0);
	conn_wait(test, &m->done);
	KUNIT_EXPECT_EQ(test, m->status, -EMSGSIZE);
	KUNIT_EXPECT_FALSE(test, conn_plan_group(f, m, length));
	conn_let_go(&f->server);
	conn_place(test, 8 * PAGE_SIZE, 4);
}

static bool conn_plan_req_group(struct rpcrdma_conn *conn,
				struct rpcrdma_req *req,
				const struct rpcrdma_call_shape *shape)
{
	spin_lock(&conn->lock);
	rpcrdma_req_plan_group(req, conn, shape);
	spin_unlock(&conn->lock);
	return req->tm.group;
}

/*
 * A Call with data, for whose Reply no Receives can be promised: its data are placed, unless
 * the result needs a chunk.
 */
static void conn_groups_what_cannot_promise(struct kunit *test)
{
	const u32 most = RPCRDMA_RTR_MOST_SENDS * 2 * PAGE_SIZE;
	struct rpcrdma_call_shape shape = {
		.length = CONN_ITEM + 2 * PAGE_SIZE + CONN_TAIL,
		.item = { CONN_ITEM, 2 * PAGE_SIZE },
		.reducible = true,
		.reply_expected = true,
	};
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->client.conn;
	struct rpcrdma_req *req;

	req = kunit_kzalloc(test, sizeof(*req), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, req);
	conn_becomes(conn_plan_req_group(conn, req, &shape));
	KUNIT_ASSERT_PTR_EQ(test, req->tm.group, &req->group);
	KUNIT_EXPECT_EQ(test, req->directed, RPCRDMA_REQ_UNDIRECTED);
	shape.result_max = PAGE_SIZE;
	spin_lock(&conn->lock);
	rpcrdma_req_plan_group(req, conn, &shape);
	KUNIT_EXPECT_PTR_EQ(test, req->tm.group, &req->group);
	KUNIT_EXPECT_EQ(test, req->directed,
			RPCRDMA_REQ_UNDIRECTED | BIT(RPCRDMA_RTR_TBSN));
	req->directed = 0;
	shape.result_max = most + PAGE_SIZE;
	rpcrdma_req_plan_group(req, conn, &shape);
	KUNIT_EXPECT_PTR_EQ(test, req->tm.group, &req->group);
	KUNIT_EXPECT_EQ(test, req->group.placed, 1U);
	KUNIT_EXPECT_EQ(test, req->directed, RPCRDMA_REQ_UNDIRECTED);
	req->plan.write_chunk = true;
	rpcrdma_req_plan_group(req, conn, &shape);
	KUNIT_EXPECT_NULL(test, req->tm.group);
	KUNIT_EXPECT_TRUE(test, req->plan.write_chunk);
	req->plan.write_chunk = false;
	shape.item.length = 0;
	rpcrdma_req_plan_group(req, conn, &shape);
	KUNIT_EXPECT_NULL(test, req->tm.group);
	spin_unlock(&conn->lock);
}

/* The module parameter is as it was, also if the case ends early. */
static void conn_restore_offer(void *was)
{
	WRITE_ONCE(rpcrdma_rtrext_offer, (uintptr_t)was);
}

static void conn_set_offer(struct kunit *test)
{
	const uintptr_t was = READ_ONCE(rpcrdma_rtrext_offer);

	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, conn_restore_offer,
						  (void *)was), 0);
}

/* What comes of a Call that the planner wants chunks for. */
struct conn_offered {
	u32 knob;
	u32 item;
	u32 result;
	u32 offer;	/* in which direction the memory shall be; 0: none is needed */
	u32 place;	/* in which it is; 0: it has a Write chunk */
};

/* Plan it, then with its Write chunk, as the client does. */
static void conn_plan_offered(struct kunit *test, const struct conn_offered *o)
{
	const struct rpcrdma_call_shape shape = {
		.length = CONN_ITEM + o->item + CONN_TAIL,
		.item = { CONN_ITEM, o->item },
		.result_max = o->result,
		.reducible = true,
		.reply_expected = true,
	};
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->client.conn;
	struct rpcrdma_req *req;
	bool planned = false;

	req = kunit_kzalloc(test, sizeof(*req), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, req);
	req->plan.read_chunk = o->item;
	req->plan.write_chunk = true;
	req->plan.stream_length = CONN_ITEM + CONN_TAIL;
	WRITE_ONCE(rpcrdma_rtrext_offer, o->knob);
	spin_lock(&conn->lock);
	rpcrdma_req_plan_group(req, conn, &shape);
	KUNIT_EXPECT_EQ(test, (u32)req->offer, o->offer);
	KUNIT_EXPECT_EQ(test, req->plan.write_chunk, !req->tm.group);
	if (req->offer) {
		/* Not before there is memory to offer. */
		KUNIT_EXPECT_NULL(test, req->tm.group);
		KUNIT_EXPECT_EQ(test, req->directed, 0);
		req->chunks.writes[0].count = 1;
		req->chunks.n_writes = 1;
		req->chunks.n_write_segs = 1;
		req->chunks.write_segs[0].length = o->result;
		planned = rpcrdma_req_plan_offer(req, conn, &shape);
		KUNIT_EXPECT_EQ(test, planned, !!o->place);
		KUNIT_EXPECT_TRUE(test, req->plan.write_chunk);
	}
	spin_unlock(&conn->lock);
	KUNIT_EXPECT_EQ(test, (u32)req->offer, o->place);
	KUNIT_EXPECT_EQ(test, req->directed,
			o->place ? BIT(o->place) :
			o->offer ? 0 :
			req->tm.group ? BIT(RPCRDMA_RTR_TBSN) : 0);
	KUNIT_EXPECT_EQ(test, req->plan.read_chunk, o->item && !req->tm.group);
	if (o->offer)
		KUNIT_EXPECT_PTR_EQ(test, req->tm.group,
				    planned ? &req->group : NULL);
	if (req->tm.group) {
		KUNIT_EXPECT_EQ(test, req->group.placed, o->item ? 1U : 0U);
		KUNIT_EXPECT_EQ(test, req->plan.removed.length, o->item);
		KUNIT_EXPECT_EQ(test, req->plan.stream_length,
				(u32)CONN_ITEM + CONN_TAIL);
	}
}

static void conn_plan_all_offered(struct kunit *test,
				  const struct conn_offered *o, u32 count)
{
	struct conn_fixture *f = test->priv;
	struct conn_msg *m = conn_item_msg(test, RPCRDMA_CALL, PAGE_SIZE);
	u32 i;

	conn_set_offer(test);
	/* There are credits as soon as the server has said so. */
	KUNIT_ASSERT_TRUE(test, conn_becomes(conn_plan_group(f, m, PAGE_SIZE)));
	for (i = 0; i < count; i++)
		conn_plan_offered(test, &o[i]);
}

/* No Receives can be reserved for 128 KiB: where the size decides, nothing is offered. */
static void conn_offers_without_receives(struct kunit *test)
{
	static const struct conn_offered calls[] = {
		{ 0, 0, SZ_128K, 0, 0 },
		{ RPCRDMA_OFFER_EXRW, 0, SZ_1M, RPCRDMA_RTR_EXRW,
		  RPCRDMA_RTR_EXRW },
		{ RPCRDMA_OFFER_EXRW, 0, SZ_32K, RPCRDMA_RTR_EXRW,
		  RPCRDMA_RTR_EXRW },
		{ RPCRDMA_OFFER_EXRW, SZ_8K, SZ_64K, RPCRDMA_RTR_EXRW,
		  RPCRDMA_RTR_EXRW },
		{ RPCRDMA_OFFER_CHOICE, 0, SZ_128K, RPCRDMA_RTR_CHOICE,
		  RPCRDMA_RTR_CHOICE },
		{ RPCRDMA_OFFER_CHOICE, SZ_8K, SZ_1M, RPCRDMA_RTR_CHOICE,
		  RPCRDMA_RTR_CHOICE },
		{ RPCRDMA_OFFER_BYSIZE, 0, SZ_1M, RPCRDMA_RTR_BYSIZE, 0 },
		{ RPCRDMA_OFFER_BYSIZE, 0, SZ_128K, 0, 0 },
		/* Rather than to let the server fetch the data of the Call. */
		{ RPCRDMA_OFFER_BYSIZE, SZ_8K, SZ_1M, RPCRDMA_RTR_BYSIZE,
		  RPCRDMA_RTR_EXRW },
		{ RPCRDMA_OFFER_BYSIZE, SZ_8K, SZ_128K, RPCRDMA_RTR_EXRW,
		  RPCRDMA_RTR_EXRW },
		/* Less than a page stays in the stream: no memory helps. */
		{ RPCRDMA_OFFER_CHOICE, 0, 2048, 0, 0 },
		/* The group would be too large. */
		{ RPCRDMA_OFFER_EXRW, SZ_256K, SZ_64K, 0, 0 },
	};

	conn_plan_all_offered(test, calls, ARRAY_SIZE(calls));
}

/* With large Receives, some can. */
static void conn_offers_with_receives(struct kunit *test)
{
	static const struct conn_offered calls[] = {
		{ 0, 0, SZ_1M, 0, 0 },
		{ 0, 0, SZ_128K, 0, 0 },
		{ RPCRDMA_OFFER_CHOICE, 0, SZ_1M, RPCRDMA_RTR_CHOICE,
		  RPCRDMA_RTR_CHOICE },
		{ RPCRDMA_OFFER_BYSIZE, 0, SZ_128K, 0, 0 },
		{ RPCRDMA_OFFER_BYSIZE, 0, SZ_128K + 4, RPCRDMA_RTR_BYSIZE,
		  RPCRDMA_RTR_BYSIZE },
		{ RPCRDMA_OFFER_BYSIZE, SZ_16K, SZ_1M, RPCRDMA_RTR_BYSIZE,
		  RPCRDMA_RTR_BYSIZE },
	};

	conn_plan_all_offered(test, calls, ARRAY_SIZE(calls));
}

/* A Receive of a head and two pages. */
static void conn_with_groups_takes_memory(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	const u64 size = RPCRDMA_DEF_INLINE;
	const u64 all = (CONN_WINDOW + 1) * (size + PAGE_SIZE) + 2 * size +
			16 * SZ_16K;

	KUNIT_EXPECT_EQ(test, conn_buffer_memory(&f->client), all);
	KUNIT_EXPECT_EQ(test, conn_buffer_memory(&f->server), all);
	conn_counts_its_memory(test, &f->client);
	conn_counts_its_memory(test, &f->server);
	conn_holds_the_memory_it_takes(test, &f->client);
	conn_holds_the_memory_it_takes(test, &f->server);
}

/* Data that one Send carries, beside a head in a page of its own. */
#define CONN_LARGE	(CONN_GROWN - PAGE_SIZE)

static void conn_places_data_in_large_sends(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	int i;

	for (i = 0; i < 3; i++) {
		conn_place(test, PAGE_SIZE, 1);
		conn_place(test, CONN_LARGE, 1);
		conn_place(test, CONN_LARGE + 4, 2);
		conn_place(test, SZ_64K, 3);
	}
	conn_exchange(test, &f->client, &f->server, RPCRDMA_CALL);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
	KUNIT_EXPECT_FALSE(test, completion_done(&f->server.lost));
}

static void conn_places_results_in_large_sends(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct page **pages = conn_alloc_pages(test);
	u32 i;

	for (i = 0; i < CONN_PAGES; i++)
		get_random_bytes(page_address(pages[i]), PAGE_SIZE);
	for (i = 0; i < 3; i++) {
		conn_place_reply(test, pages, 0, PAGE_SIZE, 1);
		conn_place_reply(test, pages, 1000, CONN_LARGE, 1);
		conn_place_reply(test, pages, 4, CONN_LARGE + 4, 2);
		conn_place_reply(test, pages, 0, SZ_64K, 3);
	}
	conn_exchange(test, &f->server, &f->client, RPCRDMA_REPLY);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
	KUNIT_EXPECT_FALSE(test, completion_done(&f->server.lost));
}

/* Can a Call go by a group that has an item of @item bytes, or a result of @result? */
static bool conn_would_group(struct kunit *test, u32 item, u32 result, bool chunk)
{
	struct rpcrdma_call_shape shape = {
		.length = CONN_ITEM + item + CONN_TAIL,
		.item = { CONN_ITEM, item },
		.result_max = result,
		.reducible = true,
		.reply_expected = true,
	};
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->client.conn;
	struct rpcrdma_req *req;
	bool planned;

	req = kunit_kzalloc(test, sizeof(*req), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, req);
	req->plan.read_chunk = item && chunk;
	req->plan.write_chunk = result && chunk;
	spin_lock(&conn->lock);
	rpcrdma_req_plan_group(req, conn, &shape);
	spin_unlock(&conn->lock);
	planned = req->tm.group;
	KUNIT_EXPECT_EQ(test, req->plan.read_chunk, item && chunk && !planned);
	KUNIT_EXPECT_EQ(test, req->plan.write_chunk, result && chunk && !planned);
	return planned;
}

/* What has more data than pays goes by a chunk, if one was chosen. */
static void conn_groups_what_is_cheaper(struct kunit *test)
{
	/* There are credits as soon as the server has said so. */
	KUNIT_ASSERT_TRUE(test, conn_becomes(conn_would_group(test, SZ_256K, 0,
							      false)));
	KUNIT_EXPECT_TRUE(test, conn_would_group(test, SZ_128K, 0, true));
	KUNIT_EXPECT_FALSE(test, conn_would_group(test, SZ_128K + 4, 0, true));
	KUNIT_EXPECT_TRUE(test, conn_would_group(test, SZ_128K + 4, 0, false));
	KUNIT_EXPECT_TRUE(test, conn_would_group(test, 0, SZ_128K, true));
	KUNIT_EXPECT_FALSE(test, conn_would_group(test, 0, SZ_128K + 4, true));
	KUNIT_EXPECT_TRUE(test, conn_would_group(test, 0, SZ_128K + 4, false));
	/* Not even without a chunk if it is too large for any group. */
	KUNIT_EXPECT_FALSE(test, conn_would_group(test, 16 * CONN_LARGE + 4, 0,
						  false));
}

/* Sends have buffers of that size, but few have one; and Receives have pages. */
static void conn_with_large_groups_takes_memory(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	const u64 all = (f->client.conn->n_recvs + RPCRDMA_SEND_REST + 1ULL) *
			CONN_GROWN;

	KUNIT_EXPECT_EQ(test, f->client.conn->n_recvs,
			READ_ONCE(rpcrdma_window) + 1);
	KUNIT_EXPECT_EQ(test, conn_buffer_memory(&f->client), all);
	KUNIT_EXPECT_EQ(test, conn_buffer_memory(&f->server), all);
	conn_counts_its_memory(test, &f->client);
	conn_counts_its_memory(test, &f->server);
	conn_holds_the_memory_it_takes(test, &f->client);
	conn_holds_the_memory_it_takes(test, &f->server);
}

/* Send until no more Sends can wait for a later one to complete. */
static void conn_fill_a_quarter(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_ring *ring = &f->client.conn->ring;
	const unsigned long end = jiffies + CONN_TIMEOUT;
	const u32 quarter = ring->sends / 4;

	do {
		KUNIT_ASSERT_TRUE(test, time_before(jiffies, end));
		conn_call(test, 64);
		/* A GRANT is a Send, too. */
		conn_settle(test);
	} while (READ_ONCE(ring->head) % quarter);
	conn_becomes(ring->head - READ_ONCE(ring->tail) < quarter);
	KUNIT_ASSERT_EQ(test, ring->head - ring->tail, quarter - 1);
}

/* A group of more Sends than there is room for: wait for its end. */
static struct conn_msg *conn_large_group(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	const u32 length = 11 * CONN_LARGE;
	struct conn_msg *m = conn_item_msg(test, RPCRDMA_CALL, length);

	KUNIT_ASSERT_TRUE(test, conn_becomes(conn_plan_group(f, m, length)));
	KUNIT_EXPECT_EQ(test, m->group.sends, 11U);
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &m->tm), 0);
	conn_wait(test, &m->done);
	return m;
}

/*
 * A group waits for buffers that are made for it. If there is no memory for these, it does not
 * wait: nothing else may ever make room.
 */
static void conn_makes_buffers_for_a_group(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->client.conn;
	struct rpcrdma_budget budget;
	u64 sent;
	int i;

	conn_fill_a_quarter(test);
	rpcrdma_memory_info(&budget);
	rpcrdma_memory_limit(budget.held);
	sent = conn_sent(&f->client);
	/* The second one does not even wait for the refusal. */
	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, conn_large_group(test)->status, -EMSGSIZE);
		KUNIT_EXPECT_EQ(test, conn_sent(&f->client), sent);
		KUNIT_EXPECT_EQ(test, conn->ring.sends - conn->ring.bare,
				(u32)RPCRDMA_SEND_REST);
	}
	rpcrdma_memory_limit(budget.limit);
	msleep(1100);
	KUNIT_EXPECT_EQ(test, conn_large_group(test)->status, 0);
	conn_wait(test, &f->server.arrived);
	KUNIT_EXPECT_EQ(test, conn_sent(&f->client) - sent, 11ULL);
	/* It may go before the last ones have a buffer. */
	KUNIT_EXPECT_TRUE(test, conn_becomes(!READ_ONCE(conn->ring.bare)));
	conn_holds_the_memory_it_takes(test, &f->client);
}

/* Without an element for each page there is no rtrext, and all is as without. */
static void conn_has_groups_if_the_device_can(struct kunit *test)
{
	struct conn_side side = {
		.version = 2, .queues = true, .pages = true, .rtr = true,
	};
	int i;

	for (i = 1; i <= 3; i++) {
		conn_make_with_sges(test, &side, RPCRDMA_ROLE_SERVER, i);
		if (!IS_ERR(side.conn)) {
			KUNIT_EXPECT_EQ(test, side.conn->recv_pages,
					i == 1 ? 0U : i);
			KUNIT_EXPECT_EQ(test, side.conn->recv_size,
					RPCRDMA_DEF_INLINE +
					(i == 3 ? (u32)RPCRDMA_RTR_HEAD : 0U));
			KUNIT_EXPECT_EQ(test, !side.conn->recv_base, i < 3);
		}
		conn_end(&side);
	}
	/* As many pages as there are elements, up to what others grow to. */
	side.grow = CONN_GROWN;
	for (i = 3; i <= 9; i += 2) {
		const u32 pages = min_t(u32, i, CONN_GROWN / PAGE_SIZE);

		conn_make_with_sges(test, &side, RPCRDMA_ROLE_SERVER, i);
		if (!IS_ERR(side.conn)) {
			KUNIT_EXPECT_EQ(test, side.conn->recv_pages, pages);
			KUNIT_EXPECT_EQ(test, side.conn->recv_size,
					(u32)((pages - 1) * PAGE_SIZE +
					      RPCRDMA_RTR_HEAD));
			KUNIT_EXPECT_EQ(test, side.conn->send_size,
					(u32)(CONN_LARGE + RPCRDMA_RTR_HEAD));
			KUNIT_EXPECT_EQ(test, side.conn->resize.most_send,
					side.conn->resize.least_send);
		}
		conn_end(&side);
	}
	side.grow = 0;
	/* A client still sends Calls by groups. */
	side.queues = false;
	side.pages = false;
	for (i = 2; i <= 3; i++) {
		conn_make_with_sges(test, &side, RPCRDMA_ROLE_CLIENT, i);
		if (!IS_ERR(side.conn)) {
			KUNIT_EXPECT_EQ(test, side.conn->recv_pages,
					i == 2 ? 0U : 3U);
			KUNIT_EXPECT_EQ(test, side.conn->recv_size,
					RPCRDMA_DEF_INLINE +
					(i == 3 ? (u32)RPCRDMA_RTR_HEAD : 0U));
			KUNIT_EXPECT_EQ(test, side.conn->send_size,
					RPCRDMA_DEF_INLINE +
					(u32)RPCRDMA_RTR_HEAD);
		}
		conn_end(&side);
	}
}

/* The module parameter is as it was, also if the case ends early. */
static void conn_restore_rtrext(void *was)
{
	WRITE_ONCE(rpcrdma_rtrext, (uintptr_t)was);
}

/* What people are told of a device is what connections are made with on it. */
static void conn_is_made_as_was_told(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct ib_device *device = f->client.cm_id->device;
	const struct ib_device_attr was = device->attrs;
	int sges, role, rtr;

	KUNIT_ASSERT_EQ(test,
			kunit_add_action_or_reset(test, conn_restore_rtrext,
						  (void *)(uintptr_t)
						  READ_ONCE(rpcrdma_rtrext)), 0);
	for (role = RPCRDMA_ROLE_CLIENT; role <= RPCRDMA_ROLE_SERVER; role++) {
		const bool server = role == RPCRDMA_ROLE_SERVER;

		for (rtr = 0; rtr <= 1; rtr++) {
			struct conn_side side = {
				.version = 2, .queues = server, .pages = server,
				.rtr = rtr, .grow = READ_ONCE(rpcrdma_grow),
			};

			WRITE_ONCE(rpcrdma_rtrext, rtr);
			for (sges = 1; sges <= 9; sges++) {
				struct rpcrdma_sizes told;

				device->attrs.max_recv_sge = sges;
				rpcrdma_conn_fit(device, role, &told);
				device->attrs = was;
				conn_make_with_sges(test, &side, role, sges);
				KUNIT_EXPECT_EQ(test, told.unfit,
						(u32)RPCRDMA_FIT);
				if (!IS_ERR(side.conn))
					KUNIT_EXPECT_EQ_MSG(test,
							    told.recv_pages,
							    side.conn->recv_pages,
							    "%d %d %d", role,
							    rtr, sges);
				conn_end(&side);
			}
		}
	}
}

static struct kunit_case conn_groups_cases[] = {
	KUNIT_CASE(conn_carries_calls),
	KUNIT_CASE(conn_carries_replies),
	KUNIT_CASE(conn_carries_reverse_calls),
	KUNIT_CASE(conn_places_data),
	KUNIT_CASE(conn_begins_no_group_without_credit),
	KUNIT_CASE(conn_groups_what_cannot_promise),
	KUNIT_CASE(conn_offers_without_receives),
	KUNIT_CASE(conn_places_results),
	KUNIT_CASE(conn_writes_results),
	KUNIT_CASE(conn_writes_results_as_directed),
	KUNIT_CASE(conn_ends_groups_at_rest),
	KUNIT_CASE(conn_begins_no_reply_without_credit),
	KUNIT_CASE(conn_with_groups_takes_memory),
	KUNIT_CASE(conn_has_groups_if_the_device_can),
	KUNIT_CASE(conn_is_made_as_was_told),
	KUNIT_CASE(conn_joins_what_has_chunks),
	KUNIT_CASE(conn_survives_bad_messages),
	KUNIT_CASE(conn_window_changes),
	{}
};

static struct kunit_case conn_large_groups_cases[] = {
	KUNIT_CASE(conn_with_large_groups_takes_memory),
	KUNIT_CASE(conn_carries_calls),
	KUNIT_CASE(conn_carries_replies),
	KUNIT_CASE(conn_places_data_in_large_sends),
	KUNIT_CASE(conn_places_results_in_large_sends),
	KUNIT_CASE(conn_groups_what_is_cheaper),
	KUNIT_CASE(conn_offers_with_receives),
	KUNIT_CASE(conn_makes_buffers_for_a_group),
	{}
};

static struct kunit_suite conn_large_groups_suite = {
	.name = "rpcrdma_conn_large_groups",
	.init = conn_init_large_groups,
	.exit = conn_exit,
	.test_cases = conn_large_groups_cases,
};

static struct kunit_suite conn_groups_suite = {
	.name = "rpcrdma_conn_groups",
	.init = conn_init_groups,
	.exit = conn_exit,
	.test_cases = conn_groups_cases,
};

static struct kunit_suite conn_growing_suite = {
	.name = "rpcrdma_conn_growing",
	.init = conn_init_growing,
	.exit = conn_exit,
	.test_cases = conn_growing_cases,
};

/* The bare Sends are the next ones, and all others have a buffer that is large enough. */
static void conn_ring_holds(struct kunit *test, struct conn_side *side)
{
	struct rpcrdma_conn *conn = side->conn;
	const struct rpcrdma_send *send;
	u32 i, first, wrong = 0;

	spin_lock(&conn->lock);
	first = conn->ring.head;
	if (conn->ring.bare && conn->sends[first % conn->ring.sends].buf.data)
		first++;
	for (i = 0; i < conn->ring.sends; i++) {
		send = &conn->sends[(first + i) % conn->ring.sends];
		if (i < conn->ring.bare)
			wrong += !!send->buf.data;
		else
			wrong += !send->buf.data ||
				 send->buf.size < conn->send_size;
	}
	wrong += conn->ring.head - conn->ring.tail + conn->ring.bare > conn->ring.sends;
	spin_unlock(&conn->lock);
	KUNIT_EXPECT_EQ(test, wrong, 0U);
}

static u32 conn_bare(struct conn_side *side)
{
	return READ_ONCE(side->conn->ring.bare);
}

/* No more Sends are out than may wait for one completion. */
static void conn_let_complete(struct kunit *test, struct conn_side *side)
{
	const struct rpcrdma_ring *ring = &side->conn->ring;

	KUNIT_ASSERT_TRUE(test,
			  conn_becomes(READ_ONCE(ring->head) - READ_ONCE(ring->tail) <=
				       RPCRDMA_SEND_RING / 4));
}

/* A message of 100 bytes, and what comes is what was sent. */
static struct conn_msg *conn_deliver(struct kunit *test, struct conn_side *from,
				     struct conn_side *to, enum rpcrdma_dir dir)
{
	struct conn_fixture *f = test->priv;
	struct conn_msg *m = conn_msg(test, 7, dir, 100);

	get_random_bytes(f->stream + 8, 92);
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(from->conn, &m->tm), 0);
	conn_wait(test, &to->arrived);
	conn_wait(test, &m->done);
	KUNIT_EXPECT_EQ(test, m->status, 0);
	KUNIT_EXPECT_EQ(test, memcmp(to->got, f->stream, 100), 0);
	conn_let_complete(test, from);
	conn_ring_holds(test, from);
	return m;
}

/* @count Calls, each with its Reply, one after the other. */
static void conn_call_slowly(struct kunit *test, u32 count)
{
	struct conn_fixture *f = test->priv;
	struct conn_msg *call;

	while (count--) {
		call = conn_deliver(test, &f->client, &f->server, RPCRDMA_CALL);
		conn_deliver(test, &f->server, &f->client, RPCRDMA_REPLY);
		rpcrdma_conn_end_call(f->client.conn, &call->tm);
	}
}

/* As if a minute had passed in which hardly anything was sent. */
static void conn_ring_rests(struct kunit *test, struct conn_side *side)
{
	struct rpcrdma_conn *conn = side->conn;

	conn_let_complete(test, side);
	spin_lock(&conn->lock);
	conn->ring.moved = conn->ring.head;
	mod_delayed_work(xprtiod_workqueue, &conn->ring_work, 0);
	spin_unlock(&conn->lock);
	flush_work(&conn->ring_work.work);
	conn_ring_holds(test, side);
}

static void conn_ring_fills(struct kunit *test, struct conn_side *side)
{
	conn_becomes(!conn_bare(side));
	KUNIT_EXPECT_EQ(test, conn_bare(side), 0U);
	conn_ring_holds(test, side);
}

/* A few buffers go round the ring. Who sends much gets the others, and keeps them for a while. */
static void conn_makes_sends_when_needed(struct kunit *test)
{
	const u32 bare = RPCRDMA_SEND_RING - RPCRDMA_SEND_REST;
	const u64 more = (u64)bare * RPCRDMA_DEF_INLINE;
	struct conn_fixture *f = test->priv;
	struct conn_side *side = &f->client;
	struct rpcrdma_conn *conn = side->conn;
	const u64 buffers = atomic_long_read(&conn->buffers);
	const u64 memory = conn->memory;
	int i;

	for (i = 0; i < 2; i++) {
		KUNIT_EXPECT_EQ(test, conn_bare(side), bare);
		conn_call_slowly(test, 3 * RPCRDMA_SEND_RING);
		KUNIT_EXPECT_EQ(test, conn_bare(side), bare);
		conn_expect_memory(test, side, buffers);
		conn_holds_the_memory_it_takes(test, side);

		conn_call_slowly(test, 2 * RPCRDMA_SEND_RING);
		conn_ring_fills(test, side);
		conn_expect_memory(test, side, buffers + more);
		conn_holds_the_memory_it_takes(test, side);
		conn_call_slowly(test, RPCRDMA_SEND_RING);

		conn_ring_rests(test, side);
		conn_expect_memory(test, side, buffers);
		KUNIT_EXPECT_EQ(test, conn->memory, memory);
	}
	conn_ring_fills(test, &f->server);
}

/* A message of many Sends does not wait for the ring to go round. */
static void conn_makes_sends_for_many_parts(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_msg *m;
	int i;

	for (i = 0; i < 4 && conn_bare(&f->client); i++) {
		m = conn_msg(test, i + 1, RPCRDMA_CALL, SZ_256K);
		KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->client.conn, &m->tm), 0);
		conn_wait(test, &f->server.arrived);
		conn_wait(test, &m->done);
		KUNIT_EXPECT_EQ(test, memcmp(f->server.got, f->stream, SZ_256K), 0);
	}
	conn_ring_fills(test, &f->client);
}

/* Without memory for more the few go on, and more are made when there is memory. */
static void conn_does_with_few_sends(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_side *side = &f->client;
	struct rpcrdma_conn *conn = side->conn;
	const u32 bare = conn_bare(side);
	struct rpcrdma_budget budget;
	u64 limit;

	rpcrdma_memory_info(&budget);
	limit = budget.limit;
	rpcrdma_memory_limit(budget.held);
	conn_call_slowly(test, 5 * RPCRDMA_SEND_RING);
	flush_work(&conn->ring_work.work);
	KUNIT_EXPECT_NE(test, READ_ONCE(conn->ring_failed), 0UL);
	if (side->version == 2) {
		conn_exchange(test, side, &f->server, RPCRDMA_CALL);
		conn_exchange(test, &f->server, side, RPCRDMA_REPLY);
	}
	KUNIT_EXPECT_EQ(test, conn_bare(side), bare);
	conn_ring_holds(test, side);
	conn_ring_holds(test, &f->server);
	rpcrdma_memory_limit(limit);

	/* Not at once. */
	msleep(1100);
	conn_call_slowly(test, 5 * RPCRDMA_SEND_RING);
	conn_ring_fills(test, side);
	/* That is set when the last one is there. */
	KUNIT_EXPECT_TRUE(test, conn_becomes(!READ_ONCE(conn->ring_failed)));
}

/* Buffers grow for all Sends, or for none. At rest there are few and small ones again. */
static void conn_grows_all_sends(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_side *side = &f->client;
	const u64 buffers = atomic_long_read(&side->conn->buffers);

	conn_grow(test);
	KUNIT_EXPECT_EQ(test, conn_bare(side), 0U);
	conn_ring_holds(test, side);
	/* Larger ones are free as well, whichever work item runs first. */
	conn_ring_rests(test, side);
	KUNIT_EXPECT_NE(test, conn_bare(side), 0U);
	KUNIT_EXPECT_EQ(test, conn_call(test, CONN_WRITE), 1ULL);
	msleep(2500);
	conn_rest(side);
	KUNIT_EXPECT_TRUE(test,
			  conn_becomes_soon(conn_client_may_send(f, RPCRDMA_DEF_INLINE)));
	conn_call_until_memory(test, side, buffers);
	conn_ring_holds(test, side);
	conn_grow(test);
	conn_ring_fills(test, side);
}

/* Sends with large buffers that were in use are looked at when they have completed. */
static void conn_looks_when_large_sends_complete(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_resize *r = &f->client.conn->resize;

	cancel_delayed_work_sync(&r->work);
	spin_lock(&f->client.conn->lock);
	r->sends_left = true;
	spin_unlock(&f->client.conn->lock);
	conn_call_slowly(test, RPCRDMA_SEND_RING / 2);
	flush_work(&r->work.work);
	KUNIT_EXPECT_FALSE(test, READ_ONCE(r->sends_left));
}

/* If the buffers are there when the work item comes, it looks again in a minute all the same. */
static void conn_looks_again_whoever_fills(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->client.conn;

	conn_call_slowly(test, 5 * RPCRDMA_SEND_RING);
	conn_ring_fills(test, &f->client);
	cancel_delayed_work_sync(&conn->ring_work);
	spin_lock(&conn->lock);
	conn->ring.wanted = true;
	mod_delayed_work(xprtiod_workqueue, &conn->ring_work, 0);
	spin_unlock(&conn->lock);
	flush_work(&conn->ring_work.work);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&conn->ring_work));
	KUNIT_EXPECT_EQ(test, conn_bare(&f->client), 0U);
}

/* Without memory to be had, Calls of many Sends leave those that have no buffer out. */
static void conn_streams_by_what_there_is(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->client.conn;
	const u32 bare = conn->ring.bare;
	u32 before, after;

	spin_lock(&conn->lock);
	before = rpcrdma_send_spare(conn);
	conn->ring_failed = jiffies | 1;
	after = rpcrdma_send_spare(conn);
	conn->ring_failed = 0;
	spin_unlock(&conn->lock);
	KUNIT_EXPECT_NE(test, bare, 0U);
	KUNIT_EXPECT_EQ(test, before - after, bare);
}

/* Look now whether there are too many regions. */
static void conn_look_at_regions(struct rpcrdma_conn *conn)
{
	mod_delayed_work(xprtiod_workqueue, &conn->mr_rest_work, 0);
	flush_work(&conn->mr_rest_work.work);
}

/* As many regions as there can be, and all of them taken. */
static void conn_grow_regions(struct kunit *test, struct page *page,
			      struct list_head *mrs)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->client.conn;
	int n = conn_take_regions(test, page, mrs);

	/* It may have a delay. */
	flush_delayed_work(&conn->mr_work);
	n += conn_take_regions(test, page, mrs);
	KUNIT_EXPECT_EQ(test, n, 8);
	KUNIT_EXPECT_EQ(test, conn->n_mrs, 8U);
	conn_holds_the_memory_it_takes(test, &f->client);
}

/* What regions take, by Documentation/sizing.rst: a region 33 bytes for each page. */
static void conn_holds_regions(struct kunit *test, struct rpcrdma_conn *conn,
			       u64 bytes, u32 regions)
{
	const u64 pages = regions * RPCRDMA_MR_PAGES;
	const u32 page = sizeof(struct scatterlist) + 1;

	KUNIT_EXPECT_EQ(test, conn->mr_pages, RPCRDMA_MR_PAGES);
	KUNIT_EXPECT_LE(test, bytes, pages * page);
	KUNIT_EXPECT_GT(test, bytes, pages * (page - 1));
	/* Elsewhere, as in user-mode Linux, the kernel's struct is smaller. */
	if (IS_ENABLED(CONFIG_NEED_SG_DMA_LENGTH))
		KUNIT_EXPECT_EQ(test, page, 33U);
}

/* Those that a connection does not begin with go when it rests, or when memory is short. */
static void conn_frees_regions_at_rest(struct kunit *test)
{
	struct rpcrdma_range range = { .length = PAGE_SIZE };
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->client.conn;
	struct rpcrdma_mr_table *t = &conn->mr_table;
	struct page *page = conn_alloc_pages(test)[0];
	const u64 before = conn->memory;
	struct rpcrdma_budget memory;
	struct rpcrdma_segment seg;
	LIST_HEAD(one);
	LIST_HEAD(mrs);

	KUNIT_EXPECT_EQ(test, conn->n_mrs, 6U);
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&conn->mr_rest_work));
	conn_grow_regions(test, page, &mrs);
	conn_holds_regions(test, conn, conn->memory - before, 2);
	/* Who asks for more than all there can be does not make the next one wait. */
	mod_delayed_work(xprtiod_workqueue, &conn->mr_work, 0);
	flush_work(&conn->mr_work.work);
	KUNIT_EXPECT_EQ(test, conn->mr_delay, 0UL);
	KUNIT_EXPECT_PTR_EQ(test, conn->mr_rest_work.wq, xprtiod_workqueue);
	/* They are in use, then they have been a moment ago, then they rest. */
	conn_look_at_regions(conn);
	KUNIT_EXPECT_EQ(test, conn->n_mrs, 8U);
	rpcrdma_frwr_put(conn, &mrs);
	conn_look_at_regions(conn);
	KUNIT_EXPECT_EQ(test, conn->n_mrs, 8U);
	KUNIT_EXPECT_TRUE(test, delayed_work_pending(&conn->mr_rest_work));
	conn_look_at_regions(conn);
	KUNIT_EXPECT_EQ(test, conn->n_mrs, 6U);
	KUNIT_EXPECT_EQ(test, t->count[RPCRDMA_MR_FREE], 6U);
	KUNIT_EXPECT_EQ(test, conn->memory, before);
	/* A connection without work uses no processor. */
	KUNIT_EXPECT_FALSE(test, delayed_work_pending(&conn->mr_rest_work));

	/* Memory is short: what is free goes at once, and what is in use stays. */
	conn_grow_regions(test, page, &mrs);
	list_move(mrs.next, &one);
	rpcrdma_frwr_put(conn, &one);
	rpcrdma_memory_info(&memory);
	conn_keep_limit(test, memory.limit);
	rpcrdma_memory_limit(memory.held + memory.held / 16);
	KUNIT_EXPECT_TRUE(test, rpcrdma_memory_short());
	conn_look_at_regions(conn);
	KUNIT_EXPECT_EQ(test, conn->n_mrs, 7U);
	KUNIT_EXPECT_EQ(test, t->count[RPCRDMA_MR_HELD], 7U);
	conn_holds_the_memory_it_takes(test, &f->client);
	/* None is too many for who comes now. */
	KUNIT_EXPECT_EQ(test, rpcrdma_frwr_map(conn, &one, &range, &page, false,
					       &seg, 1), -EAGAIN);
	rpcrdma_frwr_put(conn, &mrs);
	flush_work(&conn->mr_work.work);
	conn_look_at_regions(conn);
	KUNIT_EXPECT_EQ(test, conn->n_mrs, 6U);
	KUNIT_EXPECT_EQ(test, conn->memory, before);
	rpcrdma_memory_limit(memory.limit);

	/* There is room for them again. A connection may end with many. */
	conn_grow_regions(test, page, &mrs);
	rpcrdma_frwr_put(conn, &mrs);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
}

/* The next connection of a mount begins at rest, and its owner keeps no more than that. */
static void conn_leaves_as_many_sends_as_at_rest(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct conn_side *side = &f->client;
	struct rpcrdma_spares *spares;

	spares = conn_spares(test);
	spares[RPCRDMA_SPARE_SENDS].size = RPCRDMA_DEF_INLINE;
	spares[RPCRDMA_SPARE_RECVS].size = RPCRDMA_DEF_INLINE;
	conn_call_slowly(test, 5 * RPCRDMA_SEND_RING);
	conn_ring_fills(test, side);
	side->conn->spares = spares;
	conn_end(side);
	KUNIT_EXPECT_EQ(test, spares[RPCRDMA_SPARE_SENDS].count,
			(u32)RPCRDMA_SEND_REST);
}

static u32 conn_next_send(const struct conn_side *side)
{
	return READ_ONCE(side->conn->ring.head);
}

/* A message of many Sends, and small ones. */
static void conn_goes_on_when_numbers_wrap(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	const u32 sends = f->client.conn->ring.sends;

	conn_call_slowly(test, sends - 8);
	KUNIT_EXPECT_GE(test, conn_next_send(&f->client), -sends);
	KUNIT_EXPECT_GE(test, conn_next_send(&f->server), -sends);
	conn_exchange(test, &f->client, &f->server, RPCRDMA_CALL);
	conn_exchange(test, &f->server, &f->client, RPCRDMA_REPLY);
	KUNIT_EXPECT_LT(test, conn_next_send(&f->client), (u32)S32_MAX);
	KUNIT_EXPECT_LT(test, conn_next_send(&f->server), (u32)S32_MAX);
	conn_call_slowly(test, 2 * sends);
	conn_ring_holds(test, &f->client);
	conn_ring_holds(test, &f->server);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
	KUNIT_EXPECT_FALSE(test, completion_done(&f->server.lost));
}

static struct kunit_case conn_bare_cases[] = {
	KUNIT_CASE(conn_makes_sends_when_needed),
	KUNIT_CASE(conn_makes_sends_for_many_parts),
	KUNIT_CASE(conn_does_with_few_sends),
	KUNIT_CASE(conn_grows_all_sends),
	KUNIT_CASE(conn_looks_when_large_sends_complete),
	KUNIT_CASE(conn_looks_again_whoever_fills),
	KUNIT_CASE(conn_streams_by_what_there_is),
	KUNIT_CASE(conn_leaves_as_many_sends_as_at_rest),
	KUNIT_CASE(conn_waits_for_credit),
	KUNIT_CASE(conn_sends_the_rest_of_what_is_cancelled),
	KUNIT_CASE(conn_rings_once_for_what_waits),
	{}
};

static struct kunit_suite conn_bare_suite = {
	.name = "rpcrdma_conn_bare",
	.init = conn_init_bare,
	.exit = conn_exit,
	.test_cases = conn_bare_cases,
};

static struct kunit_case conn_bare_wrap_cases[] = {
	KUNIT_CASE(conn_goes_on_when_numbers_wrap),
	KUNIT_CASE(conn_makes_sends_when_needed),
	KUNIT_CASE(conn_makes_sends_for_many_parts),
	KUNIT_CASE(conn_does_with_few_sends),
	KUNIT_CASE(conn_grows_all_sends),
	KUNIT_CASE(conn_leaves_as_many_sends_as_at_rest),
	{}
};

static struct kunit_suite conn_bare_wrap_suite = {
	.name = "rpcrdma_conn_bare_wrap",
	.init = conn_init_bare_wrap,
	.exit = conn_exit,
	.test_cases = conn_bare_wrap_cases,
};

static struct kunit_case conn_pages_wrap_cases[] = {
	KUNIT_CASE(conn_goes_on_when_numbers_wrap),
	KUNIT_CASE(conn_sends_from_pages),
	KUNIT_CASE(conn_waits_for_nothing_in_a_hurry),
	KUNIT_CASE(conn_ends_in_a_hurry),
	{}
};

static struct kunit_suite conn_pages_wrap_suite = {
	.name = "rpcrdma_conn_pages_wrap",
	.init = conn_init_pages_wrap,
	.exit = conn_exit,
	.test_cases = conn_pages_wrap_cases,
};

/* Buffers do not change their size there. */
static struct kunit_case conn_bare_version1_cases[] = {
	KUNIT_CASE(conn_makes_sends_when_needed),
	KUNIT_CASE(conn_does_with_few_sends),
	{}
};

static struct kunit_suite conn_bare_version1_suite = {
	.name = "rpcrdma_conn_bare_version1",
	.init = conn_init_bare_version1,
	.exit = conn_exit,
	.test_cases = conn_bare_version1_cases,
};

static struct kunit_case conn_cases[] = {
	KUNIT_CASE(conn_carries_calls),
	KUNIT_CASE(conn_carries_replies),
	KUNIT_CASE(conn_carries_reverse_calls),
	KUNIT_CASE(conn_waits_for_credit),
	KUNIT_CASE(conn_counts_waits_once),
	KUNIT_CASE(conn_tells_of_room),
	KUNIT_CASE(conn_waits_for_room),
	KUNIT_CASE(conn_takes_what_never_fits),
	KUNIT_CASE(conn_lets_replies_pass),
	KUNIT_CASE(conn_fits_short_queues),
	KUNIT_CASE(conn_cuts_what_a_region_cannot_hold),
	KUNIT_CASE(conn_has_pages_if_the_device_can),
	KUNIT_CASE(conn_holds_what_owners_have),
	KUNIT_CASE(conn_gets_the_buffers_of_the_last_one),
	KUNIT_CASE(conn_leaves_no_more_than_is_needed),
	KUNIT_CASE(conn_of_a_mount_leaves_its_buffers),
	KUNIT_CASE(conn_ends_who_cannot_wait),
	KUNIT_CASE(conn_has_a_rescuer),
	KUNIT_CASE(conn_ends_for_a_flush_after_the_handshake),
	KUNIT_CASE(conn_cancels_unsent),
	KUNIT_CASE(conn_cancelled_waits_no_longer),
	KUNIT_CASE(conn_sends_the_rest_of_what_is_cancelled),
	KUNIT_CASE(conn_ends_with_what_cannot_be_cancelled),
	KUNIT_CASE(conn_ends_what_is_queued),
	KUNIT_CASE(conn_reports_what_cannot_be_sent),
	KUNIT_CASE(conn_ends_with_errors_that_cannot_go),
	KUNIT_CASE(conn_holds_what_cannot_be_sent),
	KUNIT_CASE(conn_tells_of_failures_alone),
	KUNIT_CASE(conn_tells_its_sender_itself),
	KUNIT_CASE(conn_ends_with_what_cannot_go_on),
	KUNIT_CASE(conn_goes_on_without_what_is_refused),
	KUNIT_CASE(conn_lets_go_of_what_is_out),
	KUNIT_CASE(conn_signals_all),
	KUNIT_CASE(conn_rings_once_for_a_message),
	KUNIT_CASE(conn_rings_once_for_what_waits),
	KUNIT_CASE(conn_sends_what_is_around_a_bad_one),
	KUNIT_CASE(conn_ends_each_once_if_a_post_fails),
	KUNIT_CASE(conn_ends_each_once_if_a_copy_fails),
	KUNIT_CASE(conn_holds_all_that_are_together),
	KUNIT_CASE(conn_goes_on_while_it_tells),
	KUNIT_CASE(conn_survives_bad_messages),
	KUNIT_CASE(conn_takes_in_order_what_has_stalled),
	KUNIT_CASE(conn_takes_once_what_has_stalled),
	KUNIT_CASE(conn_ends_what_has_stalled),
	KUNIT_CASE(conn_invalidates),
	KUNIT_CASE(conn_distrusts_foreign_invalidation),
	KUNIT_CASE(conn_maps_what_there_is),
	KUNIT_CASE(conn_pool_grows_in_time),
	KUNIT_CASE(conn_pool_grows_to_its_bound),
	KUNIT_CASE(conn_tells_of_regions),
	KUNIT_CASE(conn_frees_regions_at_rest),
	KUNIT_CASE(conn_stage_advances),
	KUNIT_CASE(conn_stage_is_reached_once),
	KUNIT_CASE(conn_ending_keeps_regions),
	KUNIT_CASE(conn_unmaps_before_it_tells),
	KUNIT_CASE(conn_unmaps_before_it_tells_of_a_failure),
	KUNIT_CASE(conn_pays_for_its_window),
	KUNIT_CASE(conn_is_refused_if_too_large),
	KUNIT_CASE(conn_has_a_large_window),
	KUNIT_CASE(conn_takes_memory_back_before_an_rpc_ends),
	KUNIT_CASE(conn_unmaps_memory_before_an_rpc_ends),
	KUNIT_CASE(conn_keeps_an_rpc_while_its_memory_is_registered),
	KUNIT_CASE(conn_ends_with_what_cannot_be_invalidated),
	KUNIT_CASE(conn_ends_with_what_cannot_be_registered),
	KUNIT_CASE(conn_window_changes),
	KUNIT_CASE(conn_posts_receives_together),
	KUNIT_CASE(conn_leaves_no_receive_behind),
	KUNIT_CASE(conn_gives_receives_back_without_the_lock),
	KUNIT_CASE(conn_posts_a_receive_beside_a_stopped_thread),
	KUNIT_CASE(conn_posts_what_waits_for_a_larger_window),
	KUNIT_CASE(conn_blames_a_bad_operation),
	KUNIT_CASE(conn_blames_no_flushed_operation),
	KUNIT_CASE(conn_ends_what_never_completes),
	KUNIT_CASE(conn_ends_a_completed_read_once),
	KUNIT_CASE(conn_ends_a_read_flushed_twice_once),
	KUNIT_CASE(conn_replies_do_not_overtake_a_read),
	KUNIT_CASE(conn_suspects_a_local_failure),
	KUNIT_CASE(conn_does_without_registration),
	KUNIT_CASE(conn_does_with_few_regions),
	KUNIT_CASE(conn_is_found_until_destroyed),
	KUNIT_CASE(conn_message_has_room),
	KUNIT_CASE(conn_counts_formats),
	KUNIT_CASE(conn_is_not_up_once_it_is_lost),
	{ }
};

static struct kunit_suite conn_suite = {
	.name = "rpcrdma_conn",
	.init = conn_init,
	.exit = conn_exit,
	.test_cases = conn_cases,
};

static struct kunit_case conn_pages_cases[] = {
	KUNIT_CASE(conn_carries_calls),
	KUNIT_CASE(conn_carries_replies),
	KUNIT_CASE(conn_gives_its_pages),
	KUNIT_CASE(conn_takes_the_memory_it_should),
	KUNIT_CASE(conn_joins_what_has_chunks),
	KUNIT_CASE(conn_sends_from_pages),
	KUNIT_CASE(conn_waits_for_nothing_in_a_hurry),
	KUNIT_CASE(conn_ends_in_a_hurry),
	KUNIT_CASE(conn_survives_bad_messages),
	KUNIT_CASE(conn_takes_in_order_what_has_stalled),
	KUNIT_CASE(conn_window_changes),
	{}
};

static struct kunit_suite conn_pages_suite = {
	.name = "rpcrdma_conn_pages",
	.init = conn_init_pages,
	.exit = conn_exit,
	.test_cases = conn_pages_cases,
};

static struct kunit_case conn_version1_cases[] = {
	KUNIT_CASE(conn_lets_replies_pass_probes),
	KUNIT_CASE(conn_posts_receives_at_once),
	{ }
};

static struct kunit_suite conn_version1_suite = {
	.name = "rpcrdma_conn_version1",
	.init = conn_init_version1,
	.exit = conn_exit,
	.test_cases = conn_version1_cases,
};

/* ------------------------------------------------------------------ */
/* Memory that cannot be mapped                                       */
/* ------------------------------------------------------------------ */

static struct {
	atomic_t mapped;	/* entries, as they were given */
	atomic_t tries;		/* how often something was mapped, or was to be */
	atomic_t fails_at;	/* of those to come this one fails, if not 0 */
	bool never;		/* none can be mapped */
	bool merges;		/* entries that are next to each other become one */
} conn_dma;

static int conn_dma_merge(struct scatterlist *list, int count)
{
	struct scatterlist *to = list;
	int i;

	for (i = 1; i < count; i++) {
		if (sg_dma_address(to) + sg_dma_len(to) ==
		    sg_dma_address(&list[i])) {
			sg_dma_len(to) += sg_dma_len(&list[i]);
			continue;
		}
		to++;
		sg_dma_address(to) = sg_dma_address(&list[i]);
		sg_dma_len(to) = sg_dma_len(&list[i]);
	}
	return to - list + 1;
}

static int conn_dma_test(struct scatterlist *list, int count)
{
	if (count > 0)
		atomic_inc(&conn_dma.tries);
	if (count > 0 &&
	    (READ_ONCE(conn_dma.never) ||
	     (atomic_read(&conn_dma.fails_at) &&
	      atomic_dec_and_test(&conn_dma.fails_at))))
		return 0;
	atomic_add(count, &conn_dma.mapped);
	if (count > 0 && list && READ_ONCE(conn_dma.merges))
		return conn_dma_merge(list, count);
	return count;
}

static void conn_dma_begin(void)
{
	memset(&conn_dma, 0, sizeof(conn_dma));
	WRITE_ONCE(rpcrdma_dma_tested, conn_dma_test);
}

static int conn_init_mapping(struct kunit *test)
{
	conn_dma_begin();
	return conn_init_groups(test);
}

static int conn_init_mapping_growing(struct kunit *test)
{
	conn_dma_begin();
	return conn_init_bare(test);
}

/* All that was mapped has been unmapped, and nothing twice. */
static void conn_exit_mapping(struct kunit *test)
{
	WRITE_ONCE(conn_dma.never, false);
	conn_exit(test);
	KUNIT_EXPECT_EQ(test, atomic_read(&conn_dma.mapped), 0);
	WRITE_ONCE(rpcrdma_dma_tested, NULL);
}

/* Make connections of which one mapping fails. Return: how many fail until one is made. */
static u32 conn_make_unmapped(struct kunit *test, struct conn_side *side,
			      u32 role)
{
	struct conn_fixture *f = test->priv;
	struct sockaddr *to = (struct sockaddr *)
		&f->client.cm_id->route.addr.dst_addr;
	const atomic_t *conns = &rpcrdma_live[RPCRDMA_LIVE_CONNS];
	int mapped, live[RPCRDMA_LIVE_KINDS], kind;
	struct rpcrdma_budget before, after;
	bool made = false;
	u32 at;

	for (at = 1; at < 1000 && !made; at++) {
		conn_resolve(test, side, to);
		mapped = atomic_read(&conn_dma.mapped);
		rpcrdma_memory_info(&before);
		for (kind = 0; kind < RPCRDMA_LIVE_KINDS; kind++)
			live[kind] = atomic_read(&rpcrdma_live[kind]);
		atomic_set(&conn_dma.fails_at, at);
		side->conn = conn_make(side, role);
		atomic_set(&conn_dma.fails_at, 0);
		made = !IS_ERR(side->conn);
		if (!made)
			KUNIT_EXPECT_EQ_MSG(test, PTR_ERR(side->conn), -EIO,
					    "mapping %u", at);
		conn_end(side);
		/* One that was made is freed later. */
		conn_becomes(atomic_read(conns) <= live[RPCRDMA_LIVE_CONNS]);
		rpcrdma_memory_info(&after);
		KUNIT_EXPECT_EQ_MSG(test, atomic_read(&conn_dma.mapped), mapped,
				    "mapping %u", at);
		KUNIT_EXPECT_EQ_MSG(test, after.held, before.held, "mapping %u",
				    at);
		for (kind = 0; kind < RPCRDMA_LIVE_KINDS; kind++)
			KUNIT_EXPECT_EQ_MSG(test,
					    atomic_read(&rpcrdma_live[kind]),
					    live[kind], "mapping %u, kind %d",
					    at, kind);
	}
	KUNIT_EXPECT_TRUE(test, made);
	return at - 2;
}

/* Whichever buffer cannot be mapped: there is no connection, and nothing is left of it. */
static void conn_is_not_made_unmapped(struct kunit *test)
{
	struct conn_side mount = { .version = 2 };
	struct conn_side nfsd = { .version = 2, .queues = true, .pages = true };

	/* A Send has one buffer; a Receive, too, or two pages. */
	KUNIT_EXPECT_EQ(test, conn_make_unmapped(test, &mount,
						 RPCRDMA_ROLE_CLIENT),
			16U + CONN_WINDOW + 1);
	KUNIT_EXPECT_EQ(test, conn_make_unmapped(test, &nfsd,
						 RPCRDMA_ROLE_SERVER),
			RPCRDMA_SEND_RING + 2U * (CONN_WINDOW + 1));
}

/* A Reply from pages, by several Sends. Return: how much of it was copied. */
static u64 conn_reply_from(struct kunit *test, struct page **pages)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_stats *stats = &f->server.conn->stats;
	const u64 before = READ_ONCE(stats->tx_copied_bytes);
	struct conn_msg *m;

	m = conn_page_reply(test, pages, 200, 5 * PAGE_SIZE, 4);
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_send(f->server.conn, &m->tm), 0);
	conn_wait(test, &f->client.arrived);
	KUNIT_EXPECT_EQ(test, f->client.length, m->xdr.len);
	KUNIT_EXPECT_EQ(test, memcmp(f->client.got, f->stream, m->xdr.len), 0);
	conn_await(f->server.conn, m, test);
	KUNIT_EXPECT_EQ(test, m->status, 0);
	return READ_ONCE(stats->tx_copied_bytes) - before;
}

/* The same of one whose data are placed. */
static u64 conn_place_from(struct kunit *test, struct page **pages)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_stats *stats = &f->server.conn->stats;
	struct conn_msg *m;
	u64 before;

	m = conn_group_reply(test, pages, 200, 5 * PAGE_SIZE, 3);
	before = READ_ONCE(stats->tx_copied_bytes);
	WRITE_ONCE(f->client.hold, true);
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_send(f->server.conn, &m->tm), 0);
	conn_wait(test, &f->client.arrived);
	conn_expect_placed(test, &f->client, 5 * PAGE_SIZE, 3);
	conn_let_go(&f->client);
	conn_await(f->server.conn, m, test);
	KUNIT_EXPECT_EQ(test, m->status, 0);
	return READ_ONCE(stats->tx_copied_bytes) - before;
}

/* What a device cannot take from where it is goes by way of the buffer of the Send. */
static void conn_copies_what_it_cannot_map(struct kunit *test)
{
	const u64 all = 5 * PAGE_SIZE;
	struct page **pages = conn_alloc_pages(test);
	int i;

	for (i = 0; i < CONN_PAGES; i++)
		get_random_bytes(page_address(pages[i]), PAGE_SIZE);
	KUNIT_EXPECT_LT(test, conn_reply_from(test, pages), all / 2);
	KUNIT_EXPECT_LT(test, conn_place_from(test, pages), all / 2);
	/* Its first piece, or a later one, after which those before are unmapped again. */
	for (i = 1; i <= 3; i++) {
		atomic_set(&conn_dma.fails_at, i);
		KUNIT_EXPECT_LT(test, conn_reply_from(test, pages), all);
		KUNIT_EXPECT_EQ(test, atomic_read(&conn_dma.fails_at), 0);
		atomic_set(&conn_dma.fails_at, i);
		KUNIT_EXPECT_LT(test, conn_place_from(test, pages), all);
		KUNIT_EXPECT_EQ(test, atomic_read(&conn_dma.fails_at), 0);
	}
	WRITE_ONCE(conn_dma.never, true);
	KUNIT_EXPECT_GE(test, conn_reply_from(test, pages), all);
	KUNIT_EXPECT_GE(test, conn_place_from(test, pages), all);
	WRITE_ONCE(conn_dma.never, false);
	KUNIT_EXPECT_LT(test, conn_reply_from(test, pages), all / 2);
	KUNIT_EXPECT_LT(test, conn_place_from(test, pages), all / 2);
}

/* Send a Reply from @pages. Return: how often memory was mapped for that. */
static int conn_maps_of(struct kunit *test, struct page **pages, u32 base,
			u32 page_len, u32 tail)
{
	struct conn_fixture *f = test->priv;
	int before = atomic_read(&conn_dma.tries);
	struct conn_msg *m;

	m = conn_page_reply(test, pages, base, page_len, tail);
	KUNIT_ASSERT_EQ(test, rpcrdma_conn_send(f->server.conn, &m->tm), 0);
	conn_wait(test, &f->client.arrived);
	KUNIT_EXPECT_EQ(test, f->client.length, m->xdr.len);
	KUNIT_EXPECT_EQ(test, memcmp(f->client.got, f->stream, m->xdr.len), 0);
	return atomic_read(&conn_dma.tries) - before;
}

/* If there are too few elements for all pieces of a Send, none is mapped. */
static void conn_maps_nothing_of_too_many_pieces(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->server.conn;
	struct page **pages = conn_alloc_pages(test);
	const u32 elements = conn->gather_sge;
	int i;

	for (i = 0; i < CONN_PAGES; i++)
		get_random_bytes(page_address(pages[i]), PAGE_SIZE);
	KUNIT_ASSERT_GT(test, elements, 4U);
	/* The buffer, two pages, and the buffer again for the end of the third. */
	conn->gather_sge = 3;
	KUNIT_EXPECT_EQ(test, conn_maps_of(test, pages, 2000, 7000, 0), 0);
	conn->gather_sge = 4;
	KUNIT_EXPECT_EQ(test, conn_maps_of(test, pages, 2000, 7000, 0), 2);
	/* The end of the first page lies in the buffer, beside the header. */
	conn->gather_sge = 2;
	KUNIT_EXPECT_EQ(test, conn_maps_of(test, pages, 2100, 7000, 0), 0);
	conn->gather_sge = 3;
	KUNIT_EXPECT_EQ(test, conn_maps_of(test, pages, 2100, 7000, 0), 1);
	KUNIT_EXPECT_EQ(test, conn_maps_of(test, pages, 0, PAGE_SIZE, 0), 1);
	/* Five pages, in several Sends. */
	conn->gather_sge = 2;
	KUNIT_EXPECT_EQ(test, conn_maps_of(test, pages, 2100, 5 * PAGE_SIZE,
					   2000), 0);
	conn->gather_sge = elements;
	KUNIT_EXPECT_GT(test, conn_maps_of(test, pages, 2100, 5 * PAGE_SIZE,
					   2000), 4);
}

/* Pages that cannot be mapped take no one's place: a Receive keeps its own. */
static void conn_keeps_its_pages(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct page **pages = conn_alloc_pages(test);
	struct page *mine[2], *theirs[2];
	struct rpcrdma_recv *recv;
	u64 was[2];
	int mapped, i;

	WRITE_ONCE(f->server.hold, true);
	conn_send_pages(test);
	recv = conn_kept_recv(test, &f->server);
	memcpy(mine, pages, sizeof(mine));
	memcpy(theirs, recv->pages, sizeof(theirs));
	for (i = 0; i < 2; i++)
		was[i] = recv->sge[i].addr;
	mapped = atomic_read(&conn_dma.mapped);
	for (i = 1; i <= 2; i++) {
		atomic_set(&conn_dma.fails_at, i);
		KUNIT_EXPECT_FALSE(test, rpcrdma_recv_swap(recv, 0, 2, pages));
		KUNIT_EXPECT_EQ(test, memcmp(mine, pages, sizeof(mine)), 0);
		KUNIT_EXPECT_EQ(test, memcmp(theirs, recv->pages,
					     sizeof(theirs)), 0);
		KUNIT_EXPECT_EQ(test, recv->sge[0].addr, was[0]);
		KUNIT_EXPECT_EQ(test, recv->sge[1].addr, was[1]);
		KUNIT_EXPECT_EQ(test, atomic_read(&conn_dma.mapped), mapped);
	}
	KUNIT_EXPECT_TRUE(test, rpcrdma_recv_swap(recv, 0, 2, pages));
	KUNIT_EXPECT_EQ(test, memcmp(mine, recv->pages, sizeof(mine)), 0);
	KUNIT_EXPECT_EQ(test, memcmp(theirs, pages, sizeof(theirs)), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&conn_dma.mapped), mapped);
	conn_let_go(&f->server);
	conn_exchange(test, &f->client, &f->server, RPCRDMA_CALL);
}

/*
 * Of a chunk of two regions the first or the second cannot be mapped: both are free again, and
 * that of an earlier chunk stays.
 */
static void conn_gives_back_unmapped_regions(struct kunit *test)
{
	struct rpcrdma_range range = { .offset = 100, .length = 6 * PAGE_SIZE };
	struct rpcrdma_range before = { .length = PAGE_SIZE };
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->client.conn;
	struct page **pages = conn_alloc_pages(test);
	const int mapped = atomic_read(&conn_dma.mapped);
	struct rpcrdma_segment segs[2];
	struct rpcrdma_mr *first;
	LIST_HEAD(mrs);
	int i;

	/* A region takes more, and here it is not to. */
	conn->mr_pages = 4;
	KUNIT_ASSERT_EQ(test, rpcrdma_frwr_map(conn, &mrs, &before, pages, true,
					       segs, 1), 1);
	first = list_first_entry(&mrs, struct rpcrdma_mr, link);
	for (i = 1; i <= 2; i++) {
		atomic_set(&conn_dma.fails_at, i);
		KUNIT_EXPECT_EQ(test, rpcrdma_frwr_map(conn, &mrs, &range,
						       pages, true, segs, 2),
				-ENOBUFS);
		KUNIT_EXPECT_PTR_EQ(test, mrs.next, &first->link);
		KUNIT_EXPECT_EQ(test, conn_count(&mrs), 1U);
		flush_delayed_work(&conn->mr_work);
		KUNIT_EXPECT_EQ(test, conn->mr_table.count[RPCRDMA_MR_FREE],
				conn->n_mrs - 1);
		KUNIT_EXPECT_EQ(test, atomic_read(&conn_dma.mapped), mapped + 1);
	}
	KUNIT_EXPECT_EQ(test, rpcrdma_frwr_map(conn, &mrs, &range, pages, true,
					       segs, 2), 2);
	KUNIT_EXPECT_EQ(test, segs[0].length + segs[1].length, range.length);
	KUNIT_EXPECT_EQ(test, atomic_read(&conn_dma.mapped), mapped + 8);
	rpcrdma_frwr_put(conn, &mrs);
	KUNIT_EXPECT_EQ(test, atomic_read(&conn_dma.mapped), mapped);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
}

static void conn_free_run(void *run)
{
	free_pages_exact(run, CONN_PAGES * PAGE_SIZE);
}

/* Pages that are next to each other. */
static struct page **conn_alloc_run(struct kunit *test)
{
	struct page **pages = kunit_kcalloc(test, CONN_PAGES, sizeof(*pages),
					    GFP_KERNEL);
	void *run = alloc_pages_exact(CONN_PAGES * PAGE_SIZE,
				      GFP_KERNEL | __GFP_ZERO);
	int i;

	KUNIT_ASSERT_NOT_NULL(test, run);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, conn_free_run,
							run), 0);
	KUNIT_ASSERT_NOT_NULL(test, pages);
	for (i = 0; i < CONN_PAGES; i++)
		pages[i] = virt_to_page(run + i * PAGE_SIZE);
	return pages;
}

/* An IOMMU makes one entry of pages that are next to each other. */
static void conn_registers_fewer_entries(struct kunit *test)
{
	const u32 length = SZ_64K, head = 64;
	struct conn_fixture *f = test->priv;
	struct rpcrdma_conn *conn = f->client.conn;
	struct page **to = conn_alloc_run(test), **from = conn_alloc_pages(test);
	const int mapped = atomic_read(&conn_dma.mapped);
	struct rpcrdma_write_job job = { .source = { head, length } };
	struct conn_chunk_call *call;
	struct rpcrdma_mr *mr;
	struct conn_msg *m;
	int i;

	for (i = 0; i < CONN_PAGES; i++)
		get_random_bytes(page_address(from[i]), PAGE_SIZE);
	WRITE_ONCE(conn_dma.merges, true);
	call = conn_offer(test, to, length);
	mr = conn_region(call);
	KUNIT_EXPECT_EQ(test, sg_dma_len(mr->sgl), length);
	KUNIT_EXPECT_EQ(test, mr->nents, (u32)CONN_PAGES);
	KUNIT_EXPECT_EQ(test, atomic_read(&conn_dma.mapped),
			mapped + CONN_PAGES);

	m = conn_msg(test, 77, RPCRDMA_REPLY, head);
	m->xdr.head[0].iov_len = head;
	m->xdr.pages = from;
	m->xdr.page_len = length;
	m->xdr.len = head + length;
	job.target = call->chunks.write_segs[0];
	conn_send_with_writes(test, m, &job);
	conn_wait(test, &f->client.arrived);
	conn_await(f->server.conn, m, test);
	for (i = 0; i < length; i += PAGE_SIZE)
		KUNIT_EXPECT_EQ_MSG(test, memcmp(page_address(to[0]) + 100 + i,
						 page_address(from[i / PAGE_SIZE]),
						 PAGE_SIZE), 0, "%d", i);

	rpcrdma_frwr_put(conn, &call->mrs);
	rpcrdma_frwr_invalidate_wait(conn, &call->mrs);
	KUNIT_EXPECT_TRUE(test, list_empty(&call->mrs));
	KUNIT_EXPECT_EQ(test, atomic_read(&conn_dma.mapped), mapped);
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
}

/* Of a Read of four operations, each of four pages. */
static struct rpcrdma_svc_rw *conn_four_operations(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct rpcrdma_svc_rw *rw;

	f->server.conn->rw_pages = 4;
	rw = rpcrdma_svc_rw_alloc(f->server.conn, 1, DMA_FROM_DEVICE, 1,
				  16 * PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, rw);
	return rw;
}

/* The server says that there is no memory: the client calls again. */
static void conn_begins_no_unmapped_operation(struct kunit *test)
{
	const struct rpcrdma_range range = { .length = 16 * PAGE_SIZE };
	struct page **pages = conn_alloc_pages(test);
	const int mapped = atomic_read(&conn_dma.mapped);
	struct rpcrdma_svc_rw *rw;
	u32 i;

	for (i = 1; i <= 5; i++) {
		rw = conn_four_operations(test);
		atomic_set(&conn_dma.fails_at, i);
		KUNIT_EXPECT_EQ(test, rpcrdma_svc_rw_pages(rw, pages, &range, 1,
							   SZ_1G),
				i <= 4 ? -ENOMEM : 0);
		atomic_set(&conn_dma.fails_at, 0);
		KUNIT_EXPECT_EQ(test, rw->n_ops, i - 1);
		rpcrdma_svc_rw_free(rw);
		KUNIT_EXPECT_EQ(test, atomic_read(&conn_dma.mapped), mapped);
	}
}

/* Whoever lacks regions knows whether anybody else had some meanwhile. */
static void conn_knows_who_was_alone(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	const struct rpcrdma_conn *conn = f->server.conn;
	struct rpcrdma_svc_rw *rw, *other;
	u32 made;

	KUNIT_EXPECT_TRUE(test, rpcrdma_svc_rw_none(conn, &made));
	rw = conn_four_operations(test);
	KUNIT_EXPECT_TRUE(test, rpcrdma_svc_rw_only(conn, made));
	other = conn_four_operations(test);
	KUNIT_EXPECT_FALSE(test, rpcrdma_svc_rw_only(conn, made));
	/* It has gone, and may have had regions. */
	rpcrdma_svc_rw_free(other);
	KUNIT_EXPECT_FALSE(test, rpcrdma_svc_rw_only(conn, made));
	KUNIT_EXPECT_FALSE(test, rpcrdma_svc_rw_none(conn, &made));
	rpcrdma_svc_rw_free(rw);
	KUNIT_EXPECT_TRUE(test, rpcrdma_svc_rw_none(conn, &made));
}

/* The regions of a queue pair for what its device cannot do without. Return: how many. */
static u32 conn_take_pool(struct ib_qp *qp, struct list_head *mrs)
{
	struct ib_mr *mr;
	u32 n = 0;

	while ((mr = ib_mr_pool_get(qp, &qp->rdma_mrs))) {
		list_add(&mr->qp_entry, mrs);
		n++;
	}
	return n;
}

static void conn_give_to_pool(struct ib_qp *qp, struct list_head *mrs, u32 n)
{
	struct ib_mr *mr;

	for (; n; n--) {
		mr = list_first_entry(mrs, struct ib_mr, qp_entry);
		list_del(&mr->qp_entry);
		ib_mr_pool_put(qp, &qp->rdma_mrs, mr);
	}
}

/* As iWARP has it: each RDMA Read takes a region. */
static void conn_needs_regions(struct ib_qp *qp, bool needs)
{
	u32 *flags = &qp->device->port_data[1].immutable.core_cap_flags;

	if (needs)
		*flags |= RDMA_CORE_CAP_PROT_IWARP;
	else
		*flags &= ~RDMA_CORE_CAP_PROT_IWARP;
}

/* Some of the regions that it needs are free: those come back, and all other ones, too. */
static void conn_gives_back_too_few_regions(struct kunit *test)
{
	const struct rpcrdma_range range = { .length = 16 * PAGE_SIZE };
	struct conn_side side = { .version = 2, .queues = true };
	struct page **pages = conn_alloc_pages(test);
	struct conn_fixture *f = test->priv;
	struct ib_device *device = f->client.cm_id->device;
	const u32 was = device->attrs.max_sgl_rd;
	struct rpcrdma_svc_rw *rw;
	LIST_HEAD(taken);
	struct ib_qp *qp;
	u32 all, i;
	int rc;

	conn_resolve(test, &side, (struct sockaddr *)
		     &f->client.cm_id->route.addr.dst_addr);
	device->attrs.max_sgl_rd = 1;
	side.conn = conn_make(&side, RPCRDMA_ROLE_SERVER);
	device->attrs.max_sgl_rd = was;
	KUNIT_EXPECT_FALSE(test, IS_ERR(side.conn));
	if (IS_ERR(side.conn))
		goto out;
	side.conn->rw_pages = 4;
	qp = side.conn->qp;
	all = conn_take_pool(qp, &taken);
	KUNIT_EXPECT_GE(test, all, 4U);
	for (i = 0; i <= 4 && i <= all; i++) {
		conn_give_to_pool(qp, &taken, i);
		rw = rpcrdma_svc_rw_alloc(side.conn, 1, DMA_FROM_DEVICE, 1,
					  range.length, GFP_KERNEL);
		if (!rw) {
			KUNIT_FAIL(test, "no memory");
			break;
		}
		conn_needs_regions(qp, true);
		rc = rpcrdma_svc_rw_pages(rw, pages, &range, 1, SZ_1G);
		conn_needs_regions(qp, false);
		KUNIT_EXPECT_EQ(test, rc, i < 4 ? -EAGAIN : 0);
		KUNIT_EXPECT_EQ(test, rw->n_ops, i);
		rpcrdma_svc_rw_free(rw);
		KUNIT_EXPECT_EQ(test, conn_take_pool(qp, &taken), i);
	}
	conn_give_to_pool(qp, &taken, all);
out:
	conn_end(&side);
}

/* Neither end can make larger buffers: it goes on with those that it has, until it can. */
static void conn_grows_when_it_can_map(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	int i;

	WRITE_ONCE(conn_dma.never, true);
	for (i = 0; i < 150; i++) {
		conn_call(test, CONN_WRITE);
		msleep(CONN_LOOK);
	}
	/* They are to be larger while that is tried. */
	KUNIT_EXPECT_TRUE(test, conn_becomes(conn_recvs_are(&f->server,
							    RPCRDMA_DEF_INLINE)));
	KUNIT_EXPECT_FALSE(test, completion_done(&f->client.lost));
	KUNIT_EXPECT_FALSE(test, completion_done(&f->server.lost));
	WRITE_ONCE(conn_dma.never, false);
	conn_call_until(test, CONN_WRITE, conn_sends_are, CONN_GROWN);
	KUNIT_EXPECT_EQ(test, conn_call(test, CONN_WRITE), 1ULL);
	conn_exchange(test, &f->client, &f->server, RPCRDMA_CALL);
	conn_exchange(test, &f->server, &f->client, RPCRDMA_REPLY);
}

/**
 * struct conn_waits - a Call of a server that waits for memory, and what it is fetched by
 * @svc: the server's side
 * @chunk: what registers the memory that it is fetched from
 * @told: who is being told that a Reply is over, and then gives back memory
 * @mapped: who mapped memory last
 * @flags: of that thread
 * @busy: it was the one who is being told
 * @fails: mappings that are to fail
 */
static struct conn_waits {
	struct rpcrdma_svc_xprt svc;
	struct conn_chunk_call chunk;
	struct task_struct *told;
	struct task_struct *mapped;
	unsigned int flags;
	bool busy;
	atomic_t fails;
} *conn_waits;

#define CONN_FETCHED	(4 * PAGE_SIZE)

static int conn_waits_map(struct scatterlist *list, int count)
{
	struct conn_waits *w = conn_waits;

	if (count > 0 && !list) {
		w->mapped = current;
		w->flags = current->flags;
		w->busy |= w->told == current;
		if (atomic_dec_if_positive(&w->fails) >= 0)
			return 0;
	}
	return conn_dma_test(list, count);
}

static void conn_waits_free(void *context)
{
	struct conn_waits *w = context;

	cancel_delayed_work_sync(&w->svc.resume);
	rpcrdma_svc_drop_calls(&w->svc);
	rpcrdma_memory_close(&w->svc.account);
	conn_waits = NULL;
	kfree(w);
}

/* Call 31 has come, is in memory of the client, and cannot be fetched while all of it is held. */
static struct conn_waits *conn_call_waits(struct kunit *test, struct page **pages)
{
	const struct rpcrdma_range range = { .length = CONN_FETCHED };
	const struct rpcrdma_rx rx = { .xid = 31, .stream_length = CONN_FETCHED };
	struct conn_fixture *f = test->priv;
	struct rpcrdma_svc_call *call;
	struct conn_waits *w;
	__be32 *words = page_address(pages[0]);

	w = kzalloc(sizeof(*w), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, w);
	conn_waits = w;
	w->svc.conn = f->server.conn;
	set_bit(XPT_BUSY, &w->svc.xprt.xpt_flags);
	rpcrdma_svc_device_init(&w->svc);
	rpcrdma_svc_resume_init(&w->svc);
	w->svc.max_call = RPCRDMA_MAX_MESSAGE;
	spin_lock_init(&w->svc.lock);
	INIT_LIST_HEAD(&w->svc.ready);
	init_llist_head(&w->svc.came);
	INIT_LIST_HEAD(&w->svc.waiting);
	INIT_LIST_HEAD(&w->svc.held);
	INIT_LIST_HEAD(&w->svc.group);
	INIT_LIST_HEAD(&w->svc.groups);
	INIT_LIST_HEAD(&w->svc.no_regions);
	rpcrdma_account_open(&w->svc.account, RPCRDMA_BUDGET_BATCH, 0,
			     RPCRDMA_SVC_CALL_MEMORY, RPCRDMA_SVC_REPLY_MEMORY);
	/* Behind conn_exit(), which ends what is under way. */
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, conn_waits_free, w),
			0);

	words[0] = cpu_to_be32(31);
	words[1] = cpu_to_be32(RPCRDMA_CALL);
	call = rpcrdma_svc_call_alloc(&w->svc, &rx, 1);
	KUNIT_ASSERT_NOT_NULL(test, call);
	memset(&call->chunks, 0, sizeof(call->chunks));
	call->inv_handle = 0;
	call->external = true;
	call->unreduced = CONN_FETCHED;
	call->chunks.n_call = 1;
	INIT_LIST_HEAD(&w->chunk.mrs);
	KUNIT_EXPECT_EQ(test, rpcrdma_frwr_map(f->client.conn, &w->chunk.mrs,
					       &range, pages, false,
					       &call->chunks.call[0], 1), 1);
	w->chunk.m = conn_own_msg(test, 31, RPCRDMA_CALL);
	w->chunk.m->tm.chain = conn_chain;
	w->chunk.m->tm.chain_cost = 1;
	conn_the_chunk_call = &w->chunk;
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_send(f->client.conn,
						&w->chunk.m->tm), 0);
	conn_wait(test, &f->server.arrived);

	atomic_set(&w->svc.n_charged, 1);
	spin_lock(&w->svc.lock);
	rpcrdma_memory_take(&w->svc.account, RPCRDMA_BUDGET_CALLS,
			    RPCRDMA_SVC_CALL_MEMORY);
	spin_unlock(&w->svc.lock);
	WRITE_ONCE(rpcrdma_dma_tested, conn_waits_map);
	KUNIT_EXPECT_EQ(test, rpcrdma_svc_read_queue(&w->svc, call), 0);
	KUNIT_EXPECT_FALSE(test, list_empty(&w->svc.waiting));
	return w;
}

/* Others give back their memory, as when a Reply is over. */
static void conn_waits_no_more(struct conn_waits *w)
{
	atomic_set(&w->svc.n_charged, 0);
	spin_lock(&w->svc.lock);
	rpcrdma_memory_put(&w->svc.account, RPCRDMA_BUDGET_CALLS,
			   RPCRDMA_SVC_CALL_MEMORY);
	spin_unlock(&w->svc.lock);
	WRITE_ONCE(w->told, current);
	rpcrdma_svc_freed(&w->svc);
}

static void conn_reply_is_over(struct rpcrdma_txmsg *tm, int status)
{
	conn_waits_no_more(conn_waits);
	WRITE_ONCE(conn_waits->told, NULL);
	conn_msg_done(tm, status);
}

/* It has been fetched, and not by who was told of the memory. */
static void conn_expect_fetched(struct kunit *test, struct conn_waits *w)
{
	struct conn_fixture *f = test->priv;

	conn_becomes(!llist_empty(&w->svc.came));
	flush_work(&w->svc.resume.work);
	WRITE_ONCE(rpcrdma_dma_tested, conn_dma_test);
	KUNIT_EXPECT_FALSE(test, llist_empty(&w->svc.came));
	KUNIT_EXPECT_FALSE(test, completion_done(&f->server.lost));
	KUNIT_EXPECT_NOT_NULL(test, w->mapped);
	KUNIT_EXPECT_FALSE(test, w->busy);
	KUNIT_EXPECT_NE(test, w->flags & PF_MEMALLOC_NOIO, 0U);
	rpcrdma_frwr_invalidate_wait(f->client.conn, &w->chunk.mrs);
}

/* Whoever sends, or is told that something was sent, does not fetch what has waited for memory. */
static void conn_lets_others_fetch(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct page **pages = conn_alloc_pages(test);
	struct conn_waits *w = conn_call_waits(test, pages);
	struct conn_msg *first;

	/* It is queued while this thread pumps. */
	conn_make_others(test);
	first = conn_own_msg(test, 19, RPCRDMA_CALL);
	first->tm.chain = conn_chain_brings_one;
	conn_next[0]->tm.done = conn_reply_is_over;
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_send(f->server.conn, &first->tm), 0);
	conn_wait(test, &conn_next[0]->done);
	conn_expect_fetched(test, w);
}

static void conn_lets_others_fetch_after_sending(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct page **pages = conn_alloc_pages(test);
	struct conn_waits *w = conn_call_waits(test, pages);
	struct conn_msg *m = conn_own_msg(test, 19, RPCRDMA_CALL);

	m->tm.hold = true;
	m->tm.done = conn_reply_is_over;
	KUNIT_EXPECT_EQ(test, rpcrdma_conn_send(f->server.conn, &m->tm), 0);
	conn_wait(test, &m->done);
	conn_expect_fetched(test, w);
}

/* There is no memory for it at first, or no bounce buffer: it is tried again. */
static void conn_fetches_when_there_is_memory(struct kunit *test)
{
	struct page **pages = conn_alloc_pages(test);
	struct conn_waits *w = conn_call_waits(test, pages);

	atomic_set(&w->fails, 3);
	conn_waits_no_more(w);
	WRITE_ONCE(w->told, NULL);
	conn_expect_fetched(test, w);
	KUNIT_EXPECT_LT(test, atomic_read(&w->fails), 1);
}

/* It has been tried for long enough: the client sends it again on another connection. */
static void conn_fetches_no_longer(struct kunit *test)
{
	struct conn_fixture *f = test->priv;
	struct page **pages = conn_alloc_pages(test);
	struct conn_waits *w = conn_call_waits(test, pages);
	struct rpcrdma_svc_call *call;

	call = list_first_entry(&w->svc.waiting, struct rpcrdma_svc_call, link);
	call->short_since = (jiffies - 11 * HZ) | 1;
	atomic_set(&w->fails, 1000);
	conn_waits_no_more(w);
	conn_wait(test, &f->server.lost);
	KUNIT_EXPECT_STREQ(test, READ_ONCE(f->server.conn->loss),
			   "no memory for a Call");
	KUNIT_EXPECT_TRUE(test, llist_empty(&w->svc.came));
	flush_work(&w->svc.resume.work);
	WRITE_ONCE(rpcrdma_dma_tested, conn_dma_test);
	rpcrdma_frwr_invalidate_wait(f->client.conn, &w->chunk.mrs);
}

static struct kunit_case conn_mapping_cases[] = {
	KUNIT_CASE(conn_is_not_made_unmapped),
	KUNIT_CASE(conn_copies_what_it_cannot_map),
	KUNIT_CASE(conn_maps_nothing_of_too_many_pieces),
	KUNIT_CASE(conn_keeps_its_pages),
	KUNIT_CASE(conn_gives_back_unmapped_regions),
	KUNIT_CASE(conn_registers_fewer_entries),
	KUNIT_CASE(conn_begins_no_unmapped_operation),
	KUNIT_CASE(conn_knows_who_was_alone),
	KUNIT_CASE(conn_gives_back_too_few_regions),
	KUNIT_CASE(conn_lets_others_fetch),
	KUNIT_CASE(conn_lets_others_fetch_after_sending),
	KUNIT_CASE(conn_fetches_when_there_is_memory),
	KUNIT_CASE(conn_fetches_no_longer),
	{}
};

static struct kunit_suite conn_mapping_suite = {
	.name = "rpcrdma_conn_mapping",
	.init = conn_init_mapping,
	.exit = conn_exit_mapping,
	.test_cases = conn_mapping_cases,
};

static struct kunit_case conn_mapping_growing_cases[] = {
	KUNIT_CASE(conn_grows_when_it_can_map),
	{}
};

static struct kunit_suite conn_mapping_growing_suite = {
	.name = "rpcrdma_conn_mapping_growing",
	.init = conn_init_mapping_growing,
	.exit = conn_exit_mapping,
	.test_cases = conn_mapping_growing_cases,
};

kunit_test_suites(&conn_suite, &conn_pages_suite, &conn_growing_suite,
		  &conn_groups_suite, &conn_large_groups_suite,
		  &conn_resting_suite, &conn_alone_suite,
		  &conn_late_suite, &conn_bare_suite, &conn_bare_version1_suite,
		  &conn_bare_wrap_suite, &conn_pages_wrap_suite,
		  &conn_version1_suite, &conn_mapping_suite,
		  &conn_mapping_growing_suite);

