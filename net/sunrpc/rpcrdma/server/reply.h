/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the files that make Replies have in common: sendto.c, results.c, sent.c.
 */
#ifndef _RPCRDMA_REPLY_H
#define _RPCRDMA_REPLY_H

#include "call.h"

/**
 * struct rpcrdma_svc_reply - a Reply to be sent
 * @tm: the message
 * @svc: the connection
 * @xdr: its bytes, in @pages
 * @plan: how it travels
 * @group: how it goes by a group, if @tm says so
 * @link: in the groups of @svc, under its lock, if it goes or has gone by one
 * @ended: in those of @svc that a work item frees
 * @short_since: when its RDMA Writes first lacked memory, in jiffies, or zero
 * @sent: it has, and is kept; under the same lock
 * @old: it has been kept for a while; likewise
 * @refused: the client does not take it by a group; likewise
 * @rw: RDMA Writes, or NULL
 * @memory: bytes accounted for it
 * @pooled: they are not in the account of @svc
 * @n_pages: length of @pages
 * @pages: the pages that hold @xdr
 */
struct rpcrdma_svc_reply {
	struct rpcrdma_txmsg tm;
	struct rpcrdma_svc_xprt *svc;
	struct xdr_buf xdr;
	struct rpcrdma_reply_plan plan;
	struct rpcrdma_rtr_group group;
	struct list_head link;
	struct llist_node ended;
	unsigned long short_since;
	bool sent;
	bool old;
	bool refused;
	struct rpcrdma_svc_rw *rw;
	u32 memory;
	bool pooled;
	u32 n_pages;
	struct page *pages[];
};

/* sendto.c */
bool rpcrdma_svc_replies_full(const struct rpcrdma_svc_xprt *svc);
void rpcrdma_svc_reply_again(struct rpcrdma_svc_reply *reply);
void rpcrdma_svc_replies_free(struct list_head *replies);

/* results.c */
u32 rpcrdma_svc_results(const struct svc_rqst *rqstp,
			struct rpcrdma_svc_call *call,
			const struct xdr_buf *xdr);

/* sent.c */
bool rpcrdma_svc_reply_keep(struct rpcrdma_svc_reply *reply);
void rpcrdma_svc_reply_unlink(struct rpcrdma_svc_reply *reply);

#endif
