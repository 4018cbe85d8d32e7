/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the files that receive have in common: recv.c, recv_buffer.c, window.c.
 */
#ifndef _RPCRDMA_RECV_H
#define _RPCRDMA_RECV_H

#include "verbs.h"

/* Put a Receive, synced, before those at @first, to be posted with them. */
static inline void rpcrdma_recv_chain(struct rpcrdma_recv *recv,
				      struct ib_recv_wr **first)
{
	recv->wr.next = *first;
	*first = &recv->wr;
}

/* recv.c */
void rpcrdma_recv_done(struct ib_cq *cq, struct ib_wc *wc);
int rpcrdma_recv_push(struct rpcrdma_conn *conn, bool *due,
		      struct list_head *retired)
	__must_hold(&conn->lock);

/* recv_buffer.c */
struct rpcrdma_recv *rpcrdma_recv_alloc(struct rpcrdma_conn *conn, u32 size,
					struct rpcrdma_spares *spares,
					gfp_t gfp);
struct rpcrdma_recv *rpcrdma_recv_more(struct rpcrdma_conn *conn, u32 size,
				       struct rpcrdma_spares *spares,
				       gfp_t gfp, bool must);

#endif
