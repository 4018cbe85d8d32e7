/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The requester that opened the connection: struct rpc_xprt on top of
 * struct rpcrdma_conn.
 */
#ifndef _RPCRDMA_CLIENT_H
#define _RPCRDMA_CLIENT_H

#include <linux/sunrpc/clnt.h>
#include <linux/sunrpc/xprt.h>

#include "../module.h"
#include "../verbs/verbs.h"

/**
 * struct rpcrdma_xprt_stats - counters of mountstats that outlive connections
 */
struct rpcrdma_xprt_stats {
	unsigned long read_segments;
	unsigned long write_segments;
	unsigned long failed_marshal;
	unsigned long bad_reply;
	unsigned long local_invalidates;
	u64 requested_bytes;
	u64 replied_bytes;
	u64 pulled_up_bytes;
	u64 fixed_up_bytes;
};

/**
 * struct rpcrdma_xprt - a client transport
 * @xprt: what sunrpc sees; first member
 * @connector: brings the connection up
 * @cm_id: of the attempt under way or the connection; events of another are
 *	stale
 * @conn: the connection; read and written under the xprt's write lock
 * @step: a step of connecting is over
 * @cm_error: first thing that went wrong in this attempt or since, a negative
 *	errno; the next attempt waits
 * @established: when @conn came about, in jiffies
 * @timeout: as set by set_connect_timeout
 * @bc_calls: callbacks that the upper layer is working on
 */
struct rpcrdma_xprt {
	struct rpc_xprt xprt;
	struct delayed_work connector;
	struct rdma_cm_id *cm_id;
	struct rpcrdma_conn *conn;
	struct completion step;
	int cm_error;
	unsigned long established;
	struct rpc_timeout timeout;
	struct rpcrdma_xprt_stats stats;
	struct rpcrdma_bc_call *bc_assembly;
	atomic_t bc_calls;
};

static inline struct rpcrdma_xprt *rpcrdma_xprt(struct rpc_xprt *xprt)
{
	return container_of(xprt, struct rpcrdma_xprt, xprt);
}

/**
 * struct rpcrdma_req - an RPC
 * @rqst: what sunrpc sees; first member, so that sunrpc can free it
 * @conn: referenced from sending until the Reply is in, or the RPC is dropped;
 *	cleared under the xprt's queue_lock while the RPC is outstanding
 * @tm: the Call on its way
 * @snd: its xdr_buf as it was then: sunrpc may encode anew when the connection
 *	is being closed, while the pump still copies
 * @chunks: its chunk lists
 * @removed: what the Read chunk carries
 * @mrs: its memory regions
 * @inv: waits for their invalidation
 * @status: of the Reply: octets, or a negative errno
 * @refused: a negative errno if the peer refused the Call before all of it
 *	was sent
 */
struct rpcrdma_req {
	struct rpc_rqst rqst;
	struct rpcrdma_conn *conn;
	struct rpcrdma_txmsg tm;
	struct xdr_buf snd;
	struct rpcrdma_range removed;
	struct list_head mrs;
	struct rpcrdma_inv inv;
	int status;
	int refused;
	struct rpcrdma_chunks chunks;
};

static inline struct rpcrdma_req *rpcrdma_req(struct rpc_rqst *rqst)
{
	return container_of(rqst, struct rpcrdma_req, rqst);
}

/* xprt.c */
int rpcrdma_client_init(void);
void rpcrdma_client_exit(void);

/* connect.c */
void rpcrdma_connect_worker(struct work_struct *work);
void rpcrdma_disconnect(struct rpcrdma_xprt *rx);

/* request.c */
int rpcrdma_send_request(struct rpc_rqst *rqst);
void rpcrdma_req_release(struct rpcrdma_req *req, bool sent);

/* reply.c */
u32 rpcrdma_reply_place(const struct xdr_buf *to, u32 offset,
			const void *from, u32 length);
enum rpcrdma_recv_verdict rpcrdma_client_payload(struct rpcrdma_conn *conn,
						 const struct rpcrdma_rx *rx,
						 struct rpcrdma_recv *recv,
						 u32 invalidated);
void rpcrdma_client_failed(struct rpcrdma_conn *conn,
			   const struct rpcrdma_rx *rx);
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
void rpcrdma_bc_abandon(struct rpcrdma_conn *conn, u32 dir);

#endif /* _RPCRDMA_CLIENT_H */
