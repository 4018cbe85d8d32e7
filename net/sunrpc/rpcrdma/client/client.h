/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The client transport: a struct rpc_xprt on top of a struct rpcrdma_conn.
 */
#ifndef _RPCRDMA_CLIENT_H
#define _RPCRDMA_CLIENT_H

#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/xprt.h>

#include <rpcrdma/recent.h>
#include <rpcrdma/silence.h>

#include "../module.h"
#include "../verbs/verbs.h"

/**
 * struct rpcrdma_xprt_stats - counters of mountstats that outlive connections
 * @read_segments: segments of Read chunks
 * @write_segments: segments of Write chunks
 * @reply_segments: segments of Reply chunks
 * @call_chunks: Calls that travelled in a Call chunk
 * @failed_marshal: Calls that could not be encoded
 * @bad_reply: Replies that could not be decoded
 * @local_invalidates: RPCs with regions that this side invalidated
 * @offered_bytes: bytes of Write and Reply chunks
 * @written_bytes: bytes that the server wrote into these chunks
 * @pulled_up_bytes: bytes of Calls copied into Send buffers
 * @fixed_up_bytes: bytes of Replies copied out of Receive buffers
 * @conns: sums of the connections before this one
 */
struct rpcrdma_xprt_stats {
	unsigned long read_segments;
	unsigned long write_segments;
	unsigned long reply_segments;
	unsigned long call_chunks;
	unsigned long failed_marshal;
	unsigned long bad_reply;
	unsigned long local_invalidates;
	u64 offered_bytes;
	u64 written_bytes;
	u64 pulled_up_bytes;
	u64 fixed_up_bytes;
	struct rpcrdma_stats conns;
};

/**
 * struct rpcrdma_keepalive - asks whether the server is there
 * @work: checks after each interval whether something has come; runs while connected
 * @tm: the probe
 * @xdr: its message
 * @call: a NULL Call
 * @prog: RPC program that this transport was used for last
 * @vers: version of @prog
 * @silence: what it has seen so far
 * @waiting: the probe is not answered; guarded by the connection's lock
 */
struct rpcrdma_keepalive {
	struct delayed_work work;
	struct rpcrdma_txmsg tm;
	struct xdr_buf xdr;
	__be32 call[10];
	u32 prog;
	u32 vers;
	struct rpcrdma_silence silence;
	bool waiting;
};

/**
 * struct rpcrdma_xprt - a client transport
 * @xprt: what sunrpc sees; first member
 * @connector: brings the connection up
 * @softconn: the task that wants the connection fails if there is none; under the xprt's
 *	write lock
 * @cm_id: of the attempt under way or the connection; events of another cm_id are
 *	stale. NULL if there is none, or rdma_cm destroys it. Changes under @conn_lock.
 * @routing: rdma_cm looks for a route for @cm_id, so nobody may destroy that; under @conn_lock
 * @routed: woken when @routing ends
 * @conn: the connection; written under the xprt's write lock and @conn_lock, read
 *	under either, and by code that ends before it: the handler of @cm_id, and
 *	@keepalive
 * @spares: buffers of the connection before, for the next one; under the xprt's write
 *	lock
 * @conn_lock: of @cm_id and @routing; keeps @conn while a thread reads it or marks it as lost;
 *	taken before the transport_lock and the lock of @conn
 * @step: a step of connecting is over
 * @cm_error: first error of this attempt or after it, a negative errno; the next
 *	attempt waits
 * @private: the server's private data, when it has accepted this attempt
 * @previous_loss: why the connection before was lost, or NULL
 * @reconnects: how many connections were lost
 * @established: when @conn was established, in jiffies
 * @timeout: as set by set_connect_timeout
 * @stats: for mountstats
 * @keepalive: of the connection
 * @spoke_v2: the server has spoken version 2, and has answered every FINAL since
 * @refused: a refusal of version 2 was all that came on the last connection, see
 *	rpcrdma_only_refused()
 * @only_v1: why the connection, or an attempt at one, may speak version 1 only
 * @auth_again: the server has not answered an opening of host authentication, which
 *	the policy allows: connect without one
 * @reply_waits: a Reply to a callback waits for the xprt's write lock; under the
 *	transport_lock of @xprt
 * @group: Receives of the Reply that comes in by a group; used by the Receive handler
 * @bc_payload: bytes of the largest callback, or Reply to one
 * @bc_assembly: the callback whose parts are coming in; used by the Receive handler
 * @bc_calls: callbacks that the upper layer is working on
 * @bc_users: callbacks that the upper layer wants; the bc_pa_lock of @xprt guards this and
 *	the next two
 * @bc_spare: memory for callbacks to come
 * @bc_spares: length of @bc_spare; at most @bc_users
 */
struct rpcrdma_xprt {
	struct rpc_xprt xprt;
	struct delayed_work connector;
	bool softconn;
	struct rdma_cm_id *cm_id;
	bool routing;
	wait_queue_head_t routed;
	struct rpcrdma_conn *conn;
	struct rpcrdma_spares spares[RPCRDMA_SPARE_KINDS];
	spinlock_t conn_lock;	/* see above */
	struct completion step;
	int cm_error;
	struct rpcrdma_cm_private private;
	const char *previous_loss;
	u32 reconnects;
	unsigned long established;
	struct rpc_timeout timeout;
	struct rpcrdma_xprt_stats stats;
	struct rpcrdma_keepalive keepalive;
	bool spoke_v2;
	bool refused;
	enum rpcrdma_only_v1 only_v1;
	bool auth_again;
	bool reply_waits;
	struct list_head group;
	u32 bc_payload;
	struct rpcrdma_bc_call *bc_assembly;
	atomic_t bc_calls;
	unsigned int bc_users;
	struct list_head bc_spare;
	unsigned int bc_spares;
};

static inline struct rpcrdma_xprt *rpcrdma_xprt(struct rpc_xprt *xprt)
{
	return container_of(xprt, struct rpcrdma_xprt, xprt);
}

/* The RPC must be planned, encoded and sent again; sunrpc does not use this errno. */
#define RPCRDMA_REQ_AGAIN	(-ERESTART)

enum {
	RPCRDMA_REQ_ENDED,	/* bit: answered or refused; nothing more counts */
};

/* No enum rpcrdma_rtr_place is zero. */
#define RPCRDMA_REQ_UNDIRECTED	BIT(0)

/**
 * struct rpcrdma_req - an RPC
 * @rqst: what sunrpc sees; first member, so that sunrpc can free it
 * @conn: referenced from sending until the Reply is in, or the RPC is dropped; set by the
 *	task that sends, cleared under the xprt's queue_lock while the RPC is outstanding
 * @tm: the Call as a message
 * @snd: copy of its xdr_buf when it was sent
 * @plan: how it travels
 * @chunks: its chunk lists
 * @max_segs: segments that the chunk lists may have together
 * @mrs: its memory regions
 * @inv: waits for their invalidation
 * @avoid: enum rpcrdma_avoid, set by failures of earlier attempts
 * @group: how it goes by a group, if @tm says so
 * @no_group: it does not go by a group, because that has failed
 * @offer: enum rpcrdma_rtr_place: if it can go by a group, the memory of its Write chunk is in
 *	such a direction, and there is no chunk; or zero
 * @directed: how groups by which it has gone, or was to go, direct its Reply: bits of enum
 *	rpcrdma_rtr_place, or %RPCRDMA_REQ_UNDIRECTED. Several, if it was sent again.
 * @flags: RPCRDMA_REQ_ENDED
 * @status: of the Reply: bytes, a negative errno, or RPCRDMA_REQ_AGAIN
 * @external: the Reply's stream is in the Reply chunk
 * @placed: bytes of the Reply that have come, from its first on; the Receive handler's
 * @refused: set if the peer refused the Call before all of it was sent: a
 *	negative errno, or RPCRDMA_REQ_AGAIN
 * @failure: the same, for the task of the RPC; written under queue_lock, and only by
 *	the task after the Call has been recalled
 */
struct rpcrdma_req {
	struct rpc_rqst rqst;
	struct rpcrdma_conn *conn;
	struct rpcrdma_txmsg tm;
	struct xdr_buf snd;
	struct rpcrdma_call_plan plan;
	u32 max_segs;
	struct list_head mrs;
	struct rpcrdma_inv inv;
	u32 avoid;
	struct rpcrdma_rtr_group group;
	bool no_group;
	u8 offer;
	u8 directed;
	unsigned long flags;
	int status;
	bool external;
	u32 placed;
	int refused;
	int failure;
	struct rpcrdma_chunks chunks;
};

static inline struct rpcrdma_req *rpcrdma_req(struct rpc_rqst *rqst)
{
	return container_of(rqst, struct rpcrdma_req, rqst);
}

/* Bytes that fit in an xdr_buf. */
static inline u32 rpcrdma_xdr_room(const struct xdr_buf *buf)
{
	return buf->head[0].iov_len + buf->page_len + buf->tail[0].iov_len;
}

/*
 * When the wait for a Reply ends, in jiffies. An RPC that never gives up gets its whole
 * time from now on, even if it waited long before it was sent: that wait must not end the
 * connection. So does one that may not be sent twice on a connection, as those of NFSv4: it
 * does not give up while there is one.
 */
static inline unsigned long rpcrdma_reply_timeout(const struct rpc_rqst *rqst)
{
	unsigned long timeout = jiffies + rqst->rq_timeout;

	if (RPC_IS_SOFT(rqst->rq_task) &&
	    !(rqst->rq_task->tk_flags & RPC_TASK_NO_RETRANS_TIMEOUT) &&
	    time_after(timeout, rqst->rq_majortimeo))
		return rqst->rq_majortimeo;
	return timeout;
}

/* xprt.c */
int rpcrdma_client_init(void);
void rpcrdma_client_exit(void);

/* connect.c */
void rpcrdma_connect_worker(struct work_struct *work);
void rpcrdma_connect_exit(void);
int rpcrdma_client_cm_event(struct rdma_cm_id *id, struct rdma_cm_event *event);
void rpcrdma_disconnect(struct rpcrdma_xprt *r_xprt);
bool rpcrdma_client_give_up(struct rpcrdma_xprt *r_xprt, unsigned int cookie);
bool rpcrdma_silent(const struct rpcrdma_xprt *r_xprt, u32 now);
void rpcrdma_note_silent(const struct rpcrdma_xprt *r_xprt, u32 now);
bool rpcrdma_forget_silent(const struct rpcrdma_xprt *r_xprt);

/* request.c */
int rpcrdma_reserve_xprt(struct rpc_xprt *xprt, struct rpc_task *task);
void rpcrdma_release_xprt(struct rpc_xprt *xprt, struct rpc_task *task);
int rpcrdma_fill_sparse(struct xdr_buf *buf);
int rpcrdma_send_request(struct rpc_rqst *rqst);
void rpcrdma_req_release(struct rpcrdma_req *req, bool sent);
void rpcrdma_wait_for_reply(struct rpc_task *task);

/* rtr.c */
void rpcrdma_req_plan_group(struct rpcrdma_req *req, struct rpcrdma_conn *conn,
			    const struct rpcrdma_call_shape *shape);
bool rpcrdma_req_plan_offer(struct rpcrdma_req *req, struct rpcrdma_conn *conn,
			    const struct rpcrdma_call_shape *shape);
bool rpcrdma_req_ungroup(struct rpcrdma_req *req);
bool rpcrdma_req_group_refused(struct rpcrdma_req *req,
			       const struct rpcrdma_rx *rx);
void rpcrdma_reply_group_keep(struct rpcrdma_xprt *r_xprt,
			      const struct rpcrdma_rx *rx,
			      struct rpcrdma_recv *recv);
int rpcrdma_reply_group_take(struct rpcrdma_xprt *r_xprt, struct rpcrdma_req *req,
			     const struct rpcrdma_rx *rx, u32 *written);
void rpcrdma_reply_group_put(struct rpcrdma_conn *conn);
void rpcrdma_client_abandon(struct rpcrdma_conn *conn, enum rpcrdma_dir dir);

/* keepalive.c */
void rpcrdma_keepalive_init(struct rpcrdma_xprt *r_xprt);
void rpcrdma_keepalive_start(struct rpcrdma_xprt *r_xprt);
void rpcrdma_keepalive_stop(struct rpcrdma_xprt *r_xprt);
bool rpcrdma_keepalive_probed(struct rpcrdma_xprt *r_xprt,
			      struct rpcrdma_conn *conn,
			      const struct rpcrdma_rx *received);

/**
 * rpcrdma_keepalive_note - set the RPC program of the probe
 * @r_xprt: the transport
 * @clnt: a client that uses it
 */
static inline void rpcrdma_keepalive_note(struct rpcrdma_xprt *r_xprt,
					  const struct rpc_clnt *clnt)
{
	WRITE_ONCE(r_xprt->keepalive.vers, clnt->cl_vers);
	WRITE_ONCE(r_xprt->keepalive.prog, clnt->cl_prog);
}

/**
 * rpcrdma_keepalive_answered - is this about the probe?
 * @conn: the connection
 * @received: a Reply or an error
 *
 * Context: the Receive handler; process context.
 *
 * Return: true if it is; no RPC of sunrpc has this XID.
 */
static inline bool
rpcrdma_keepalive_answered(struct rpcrdma_conn *conn,
			   const struct rpcrdma_rx *received)
{
	struct rpcrdma_xprt *r_xprt = conn->context;

	return READ_ONCE(r_xprt->keepalive.waiting) &&
	       rpcrdma_keepalive_probed(r_xprt, conn, received);
}

/* reply.c */
void rpcrdma_reply_keep(struct rpcrdma_conn *conn, struct rpcrdma_req *req,
			const struct rpcrdma_write_chunk *chunk);
u32 rpcrdma_reply_place(const struct xdr_buf *to, u32 offset,
			const void *from, u32 length);
void rpcrdma_reply_place_recv(const struct xdr_buf *to, u32 offset,
			      struct rpcrdma_recv *recv, u32 from, u32 length);
int rpcrdma_reply_external(struct rpc_rqst *rqst, u32 length, bool reduced,
			   u32 written);
enum rpcrdma_recv_verdict rpcrdma_client_payload(struct rpcrdma_conn *conn,
						 const struct rpcrdma_rx *rx,
						 struct rpcrdma_recv *recv,
						 u32 invalidated);
void rpcrdma_client_failed(struct rpcrdma_conn *conn,
			   const struct rpcrdma_rx *rx);
void rpcrdma_client_outdated(struct rpcrdma_txmsg *tm);
void rpcrdma_client_end(struct rpcrdma_txmsg *tm, int error);

/* backchannel.c */
int rpcrdma_bc_setup(struct rpc_xprt *xprt, unsigned int reqs);
size_t rpcrdma_bc_maxpayload(struct rpc_xprt *xprt);
unsigned int rpcrdma_bc_num_slots(struct rpc_xprt *xprt);
void rpcrdma_bc_free_rqst(struct rpc_rqst *rqst);
void rpcrdma_bc_destroy(struct rpc_xprt *xprt, unsigned int reqs);
int rpcrdma_bc_send_reply(struct rpc_rqst *rqst);
void rpcrdma_bc_call(struct rpcrdma_conn *conn, const struct rpcrdma_rx *rx,
		     struct rpcrdma_recv *recv);
void rpcrdma_bc_abandon(struct rpcrdma_conn *conn, enum rpcrdma_dir dir);

#endif /* _RPCRDMA_CLIENT_H */
