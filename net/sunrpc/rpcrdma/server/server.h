/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Server side: the svc_xprt class "rdma".
 *
 * A listener turns connection requests into struct rpcrdma_svc_xprt, one for each
 * connection. The connection's Receive handler builds Calls (receive.c); threads of nfsd
 * pick them up (recvfrom.c), and give their Replies to the connection (sendto.c).
 */
#ifndef _RPCRDMA_SERVER_H
#define _RPCRDMA_SERVER_H

#include <linux/completion.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/refcount.h>
#include <linux/sunrpc/svc.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/workqueue.h>

#include "../budget.h"
#include "../params.h"
#include "../verbs/verbs.h"

/**
 * struct rpcrdma_listener - a bound address
 * @xprt: what nfsd sees
 * @id: number of the listener, never used again
 * @link: in the list of all listeners, until it is detached
 * @cm_id: the cm_id that listens, or NULL; detach and @listen exclude each other
 * @listen: replaces @cm_id after its device is removed or changes its address
 * @look: looks whether requests need not wait any more for clients that came before
 * @lock: guards the following
 * @pending: connections that no thread has accepted yet
 * @n_pending: length of @pending
 * @accepted: when a request was taken off the list, by get_jiffies_64()
 * @crowded: requests wait for @look
 * @retry: there may be memory for a connection that could not be accepted before
 * @closed: the listener takes no more connections
 * @listening: @cm_id is set
 * @device_name: name of the device that it is bound to, or empty
 */
struct rpcrdma_listener {
	struct svc_xprt xprt;
	u64 id;
	struct list_head link;
	struct rdma_cm_id *cm_id;
	struct delayed_work listen;
	struct delayed_work look;

	struct mutex binding;	/* @cm_id, until detached */
	spinlock_t lock;	/* see above */
	struct list_head pending;
	u32 n_pending;
	u64 accepted;
	bool crowded;
	bool retry;
	bool closed;
	bool listening;
	char device_name[IB_DEVICE_NAME_MAX];
};

/**
 * struct rpcrdma_listener_info - what a listener is, for people
 * @id: its number
 * @address: where it listens
 * @length: octets of that
 * @listening: its address is there now
 * @pending: connections nobody has accepted yet
 * @device_name: empty if it is bound to none
 */
struct rpcrdma_listener_info {
	u64 id;
	struct sockaddr_storage address;
	u32 length;
	bool listening;
	u32 pending;
	char device_name[IB_DEVICE_NAME_MAX];
};

/**
 * struct rpcrdma_svc_xprt - a connection that a client opened
 * @xprt: what nfsd sees
 * @conn: the connection, NULL until accepted; see @users
 * @cm_id: until @conn takes it over
 * @listener: the listener that got the request, until accepted
 * @pending: link in the listener's list
 * @gone: the client gave up before it was accepted
 * @peer: the client's private data (RFC 8797)
 * @initiator_depth: RDMA Reads that the client lets us have under way
 * @remote_inv: this device can do Send With Invalidate
 * @inline_size: size of Send and Receive buffers
 * @max_call: bytes of the largest Call that nfsd's page arrays can hold
 * @peer_key: identifies the client, see rpcrdma_peer_key()
 * @release: frees everything from a context that may sleep
 * @users: number of threads that use @conn's device, plus one until the device is removed.
 *	At zero nobody may use the device, and of @conn only the memory is left.
 * @unused: completed when @users becomes zero
 * @end: runs when the device is being removed: waits until @users is zero, then destroys
 *	@conn
 * @bc: transport of callbacks, or NULL; set once
 * @bc_placed: bytes that have come of the Reply to one, from its first on; the Receive handler's
 * @partial: the Call being assembled; belongs to the Receive handler
 * @group: Receives of the group that comes in; likewise
 * @group_id: rpcrdma_svc_call_id() of its Call; likewise
 * @group_first: what its first Send says, if it can be taken; likewise
 * @group_usable: its Call can be taken; likewise
 * @stalled_since: when there first was no memory for what a Receive has brought, in jiffies, or
 *	zero; likewise
 * @lock: guards the following; only the lock of the budget is taken inside it
 * @ready: Calls that nfsd may pick up, older than those of @came
 * @waiting: Calls whose RDMA Reads have not started yet
 * @resume: looks whether what waits can go on; all but a Call that has just come starts there
 * @held: Receives kept back because Calls hold too much memory
 * @reading: Calls whose RDMA Reads are under way
 * @alone: the Call of these that was started when no other operations were under way
 * @alone_made: of rpcrdma_svc_rw_none() when @alone was set
 * @account: what Calls that are not in a Receive, and Replies, hold: pages and structs
 * @groups: Replies that go by groups, or have gone, in the order in which they were queued
 * @n_sent: of these, those that have gone, and are kept
 * @sent_memory: bytes accounted for them
 * @keep_none: the connection ends
 * @forget: frees those that have been kept for long enough
 * @no_regions: Replies whose RDMA Writes wait for memory regions or memory, in the order in which
 *	they came. Only @resume takes some
 * @ended: Replies that @resume frees
 * @came: Calls that nfsd may pick up, the youngest first; only who holds @lock takes some
 * @n_ready: how many @ready and @came have, or are about to have
 * @n_charged: of these, those that hold memory in @account
 * @replies: Replies not yet done, or kept: union rpcrdma_svc_replies
 */
struct rpcrdma_svc_xprt {
	struct svc_xprt xprt;
	struct rpcrdma_conn *conn;
	struct rdma_cm_id *cm_id;
	struct rpcrdma_listener *listener;
	struct list_head pending;
	bool gone;
	struct rpcrdma_cm_private peer;
	bool version2;
	u8 initiator_depth;
	bool remote_inv;
	u32 inline_size;
	u32 max_call;
	u64 peer_key;
	struct work_struct release;

	refcount_t users;
	struct completion unused;
	struct work_struct end;

	struct rpc_xprt *bc;
	u32 bc_placed;
	struct rpcrdma_svc_call *partial;
	struct list_head group;
	u64 group_id;
	struct rpcrdma_rtr_first group_first;
	bool group_usable;
	unsigned long stalled_since;

	spinlock_t lock;	/* see above */
	struct list_head ready;
	struct list_head waiting;
	struct list_head held;
	u32 reading;
	struct rpcrdma_svc_call *alone;
	u32 alone_made;
	struct rpcrdma_account account;
	struct list_head groups;
	u32 n_sent;
	u32 sent_memory;
	bool keep_none;
	struct delayed_work forget;
	struct list_head no_regions;
	struct delayed_work resume;

	struct llist_head ended;
	struct llist_head came;
	atomic_t n_ready;
	atomic_t n_charged;
	atomic64_t replies;
};

/**
 * struct rpcrdma_svc_call - a Call, and the parts of it that the Reply needs
 * @link: list of struct rpcrdma_svc_xprt, while it is in one
 * @came: likewise for those that have come
 * @svc: the connection
 * @recv: the Receive that has its bytes, or NULL
 * @group: the Receives that have its bytes, if it came by a group
 * @first: what the first of them says
 * @payload: place of the bytes in @recv
 * @pages: its bytes, if they are not in @recv
 * @n_pages: length of @pages
 * @memory: what of the account is its, in bytes
 * @length: bytes; only of the Payload stream until the Read chunks have come
 * @base: where they begin in the first page that nfsd gets
 * @unreduced: bytes with Read chunks
 * @item: data of the only Read chunk, if it has its own pages; otherwise empty
 * @id: identifies the Call if it comes again
 * @xid: host order
 * @inv_handle: handle that the Reply may invalidate, or zero
 * @external: its Payload stream is in the Call chunk
 * @directions: what it says of data of its Reply, if it came by a group
 * @n_causes: used entries of @causes
 * @causes: where in it operations are whose results may be placed, for @directions
 * @short_since: when its RDMA Reads first lacked memory, in jiffies, or zero
 * @n_results: used entries of @results
 * @results: DDP-eligible results of the Reply
 * @chunks: the chunk lists; valid only as far as the counts say
 */
struct rpcrdma_svc_call {
	struct list_head link;
	struct llist_node came;
	struct rpcrdma_svc_xprt *svc;
	struct rpcrdma_recv *recv;
	struct list_head group;
	struct rpcrdma_rtr_first first;
	struct rpcrdma_range payload;
	struct page **pages;
	u32 n_pages;
	u32 memory;
	u32 length;
	u32 base;
	u32 unreduced;
	struct rpcrdma_range item;
	u64 id;
	u32 xid;
	u32 inv_handle;
	bool external;
	struct rpcrdma_rtr_directions directions;
	u32 n_causes;
	u32 causes[RPCRDMA_RTR_MOST_ITEMS];
	unsigned long short_since;
	u32 n_results;
	struct rpcrdma_range results[RPCRDMA_MAX_CHUNKS];
	struct rpcrdma_chunks chunks;
};

/**
 * struct rpcrdma_svc_op - one RDMA Read or Write
 * @ctx: its Work Requests
 * @sgl: local memory
 * @nents: elements of @sgl
 */
struct rpcrdma_svc_op {
	struct rdma_rw_ctx ctx;
	struct scatterlist *sgl;
	u32 nents;
};

/**
 * struct rpcrdma_svc_rw - the RDMA Reads of a Call, or the Writes of a Reply
 * @conn: the connection
 * @cqe: completion of all Work Requests but the last; these complete only if they fail
 * @call: rpcrdma_call_id() of the Call
 * @dir: DMA_FROM_DEVICE for Reads
 * @cost: Work Requests
 * @sgl: scatter elements of all operations
 * @max_sge: size of @sgl
 * @n_sge: used elements of @sgl
 * @max_ops: size of @ops
 * @n_ops: used elements of @ops
 * @ops: the operations
 */
struct rpcrdma_svc_rw {
	struct rpcrdma_conn *conn;
	struct ib_cqe cqe;
	u64 call;
	enum dma_data_direction dir;
	u32 cost;
	struct scatterlist *sgl;
	u32 max_sge;
	u32 n_sge;
	u32 max_ops;
	u32 n_ops;
	struct rpcrdma_svc_op ops[];
};

/*
 * Bytes of a set of so many operations that move @pages pages, at most. Each can begin and end
 * inside a page, and large ones are cut.
 */
static inline u32 rpcrdma_svc_rw_size(u32 ops, u32 pages)
{
	const u32 elements = pages + 2 * ops;

	return sizeof(struct rpcrdma_svc_rw) +
	       elements * sizeof(struct scatterlist) +
	       (ops + elements / RPCRDMA_LEAST_RW_PAGES) *
		       sizeof(struct rpcrdma_svc_op);
}

/* Replies of a connection, as they change without a lock. */
union rpcrdma_svc_replies {
	struct rpcrdma_replies are;
	s64 word;
};

static_assert(sizeof(union rpcrdma_svc_replies) == sizeof(s64));

/* What they are at this moment. */
static inline struct rpcrdma_replies
rpcrdma_svc_replies(const struct rpcrdma_svc_xprt *svc)
{
	const union rpcrdma_svc_replies now = {
		.word = atomic64_read(&svc->replies),
	};

	return now.are;
}

static inline struct rpcrdma_svc_xprt *rpcrdma_svc_of(struct svc_xprt *xprt)
{
	return container_of(xprt, struct rpcrdma_svc_xprt, xprt);
}

/* listener.c */
extern struct svc_xprt_class rpcrdma_svc_class;
extern struct workqueue_struct *rpcrdma_svc_wq;
extern struct workqueue_struct *rpcrdma_svc_calls_wq;
bool rpcrdma_listener_next(const struct net *net, u64 from,
			   struct rpcrdma_listener_info *info);
void rpcrdma_listeners_retry(void);
int rpcrdma_server_init(void);
void rpcrdma_server_exit(void);

/* xprt.c */
struct rpcrdma_svc_xprt *rpcrdma_svc_alloc(struct rpcrdma_listener *listener,
					   struct rdma_cm_id *cm_id,
					   const struct rdma_conn_param *param);
int rpcrdma_svc_accept(struct rpcrdma_svc_xprt *svc);
void rpcrdma_svc_discard(struct svc_xprt *xprt);
void rpcrdma_svc_device_init(struct rpcrdma_svc_xprt *svc);

/**
 * rpcrdma_svc_enter - begin to use the device of a connection
 * @svc: the caller has a reference
 *
 * Until rpcrdma_svc_leave() the removal of the device waits. The caller must not
 * wait for anything that could wait for that, nor for a file system.
 *
 * Context: Any.
 *
 * Return: false if there is none any more.
 */
static inline bool rpcrdma_svc_enter(struct rpcrdma_svc_xprt *svc)
{
	return refcount_inc_not_zero(&svc->users);
}

/**
 * rpcrdma_svc_leave - end what rpcrdma_svc_enter() began
 * @svc: the caller still has a reference
 *
 * Context: Any.
 */
static inline void rpcrdma_svc_leave(struct rpcrdma_svc_xprt *svc)
{
	if (refcount_dec_and_test(&svc->users))
		complete(&svc->unused);
}

void rpcrdma_svc_shut(struct rpcrdma_svc_xprt *svc);

/* call.c */
u32 rpcrdma_svc_reserve(const struct rpcrdma_svc_xprt *svc);
void rpcrdma_svc_eased(struct rpcrdma_svc_xprt *svc);
/* For who may sleep, but has work to do that frees memory: not until there is some. */
#define RPCRDMA_SVC_GFP_TRY	(GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN)
gfp_t rpcrdma_svc_gfp(const struct rpcrdma_svc_xprt *svc);
void rpcrdma_svc_copy_recv(struct page **pages, u32 offset,
			   struct rpcrdma_recv *recv, u32 from, u32 length);
void rpcrdma_svc_zero(struct page **pages, u32 offset, u32 end);
bool rpcrdma_svc_item_apart(const void *stream, u32 length,
			    const struct rpcrdma_range *item);
struct rpcrdma_svc_call *rpcrdma_svc_call_alloc(struct rpcrdma_svc_xprt *svc,
						const struct rpcrdma_rx *rx,
						u64 id);
void rpcrdma_svc_call_complete(struct rpcrdma_svc_call *call,
			       const struct rpcrdma_rx *rx);
void rpcrdma_svc_call_ready(struct rpcrdma_svc_xprt *svc,
			    struct rpcrdma_svc_call *call);
void rpcrdma_svc_call_free(struct rpcrdma_svc_call *call);
int rpcrdma_svc_calls_init(void);
void rpcrdma_svc_calls_exit(void);

/* reads.c */
void rpcrdma_svc_resume_init(struct rpcrdma_svc_xprt *svc);
void rpcrdma_svc_resume_soon(struct rpcrdma_svc_xprt *svc);
bool rpcrdma_svc_short(struct rpcrdma_svc_xprt *svc, unsigned long *since);

/**
 * rpcrdma_svc_freed - there is more of what others may wait for: memory, regions, room for a Call
 * @svc: the connection
 *
 * None is overlooked that waits. Whoever adds to one of these lists looks afterwards whether it can
 * go on, or has the work item look. If that takes a Call off its list, and puts it back since it
 * lacks regions, it looks again for these: rpcrdma_svc_read_failed(). If the work item is at work,
 * it runs once more.
 *
 * Context: Process context, no lock held. Does not sleep.
 */
static inline void rpcrdma_svc_freed(struct rpcrdma_svc_xprt *svc)
{
	if (!list_empty_careful(&svc->no_regions) ||
	    !list_empty_careful(&svc->waiting) ||
	    !list_empty_careful(&svc->held))
		rpcrdma_svc_resume_soon(svc);
}

int rpcrdma_svc_call_fetch(struct rpcrdma_svc_xprt *svc,
			   struct rpcrdma_svc_call *call);

/* receive.c */
enum rpcrdma_recv_verdict rpcrdma_svc_payload(struct rpcrdma_conn *conn,
					      const struct rpcrdma_rx *rx,
					      struct rpcrdma_recv *recv,
					      u32 invalidated);
void rpcrdma_svc_stalled(struct rpcrdma_conn *conn);
void rpcrdma_svc_abandon(struct rpcrdma_conn *conn, enum rpcrdma_dir dir);

/* recvfrom.c */
int rpcrdma_svc_recvfrom(struct svc_rqst *rqstp);
void rpcrdma_svc_release_ctxt(struct svc_xprt *xprt, void *ctxt);
void rpcrdma_svc_drop_calls(struct rpcrdma_svc_xprt *svc);

/* rtr.c */
int rpcrdma_svc_group_payload(struct rpcrdma_svc_xprt *svc,
			      const struct rpcrdma_rx *rx,
			      struct rpcrdma_recv *recv,
			      enum rpcrdma_recv_verdict *verdict);
void rpcrdma_svc_group_abandon(struct rpcrdma_svc_xprt *svc);
u32 rpcrdma_svc_group_move(struct rpcrdma_svc_call *call, struct page **pages);
void rpcrdma_svc_group_layout(const struct rpcrdma_svc_call *call,
			      struct page **pages);
void rpcrdma_svc_group_release(struct rpcrdma_svc_call *call);
void rpcrdma_svc_group_causes(struct rpcrdma_svc_call *call,
			      const struct kvec *head);

/* sendto.c */
int rpcrdma_svc_has_wspace(struct svc_xprt *xprt);
void rpcrdma_svc_free_ended(struct rpcrdma_svc_xprt *svc);
bool rpcrdma_svc_writes_resume(struct rpcrdma_svc_xprt *svc);
void rpcrdma_svc_drop_writes(struct rpcrdma_svc_xprt *svc);
bool rpcrdma_svc_reply_take(struct rpcrdma_svc_xprt *svc, u32 octets);
bool rpcrdma_svc_reply_put(struct rpcrdma_svc_xprt *svc, u32 octets,
			   bool pooled);
int rpcrdma_svc_sendto(struct svc_rqst *rqstp);

/* sent.c */
void rpcrdma_svc_reply_refused(struct rpcrdma_conn *conn, u32 xid);
void rpcrdma_svc_replies_charged(struct rpcrdma_svc_xprt *svc);
void rpcrdma_svc_drop_sent(struct rpcrdma_svc_xprt *svc);
void rpcrdma_svc_forget(struct work_struct *work);

/* results.c */
int rpcrdma_svc_result_payload(struct svc_rqst *rqstp, unsigned int offset,
			       unsigned int length);

/* backchannel.c */
int rpcrdma_svc_bc_init(void);
void rpcrdma_svc_bc_exit(void);
void rpcrdma_svc_bc_reply(struct rpcrdma_conn *conn,
			  const struct rpcrdma_rx *rx,
			  struct rpcrdma_recv *recv);
void rpcrdma_svc_bc_failed(struct rpcrdma_conn *conn,
			   const struct rpcrdma_rx *rx);

/* failed.c */
u64 rpcrdma_svc_call_id(const struct rpcrdma_rx *rx,
			const struct rpcrdma_recv *recv);
void rpcrdma_svc_fault(struct rpcrdma_conn *conn, u64 call, bool sure);
bool rpcrdma_svc_failed_answer(struct rpcrdma_svc_xprt *svc, u64 call);

/* rdma_rw.c */
struct rpcrdma_svc_rw *rpcrdma_svc_rw_alloc(struct rpcrdma_conn *conn, u64 call,
					    enum dma_data_direction dir,
					    u32 max_ops, u32 octets, gfp_t gfp);
bool rpcrdma_svc_rw_none(const struct rpcrdma_conn *conn, u32 *made);
bool rpcrdma_svc_rw_only(const struct rpcrdma_conn *conn, u32 made);
void rpcrdma_svc_rw_free(struct rpcrdma_svc_rw *rw);
int rpcrdma_svc_rw_pages(struct rpcrdma_svc_rw *rw, struct page **pages,
			 const struct rpcrdma_range *range, u32 handle,
			 u64 address);
int rpcrdma_svc_rw_xdr(struct rpcrdma_svc_rw *rw, const struct xdr_buf *xdr,
		       const struct rpcrdma_range *range, u32 handle,
		       u64 address);
struct ib_send_wr *rpcrdma_svc_rw_chain(struct rpcrdma_svc_rw *rw,
					struct ib_cqe *cqe,
					struct ib_send_wr *next);

#endif /* _RPCRDMA_SERVER_H */
