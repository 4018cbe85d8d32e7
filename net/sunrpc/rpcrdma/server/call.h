/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What the files that make Calls have in common: call.c, reads.c, receive.c, recvfrom.c.
 */
#ifndef _RPCRDMA_CALL_H
#define _RPCRDMA_CALL_H

#include "server.h"

static inline u32 rpcrdma_svc_page_count(u32 octets)
{
	return DIV_ROUND_UP(octets, PAGE_SIZE);
}

/* Pages that @call needs when it is whole. */
static inline u32 rpcrdma_svc_whole_pages(const struct rpcrdma_svc_call *call)
{
	return call->item.length ?
		1 + rpcrdma_svc_page_count(call->item.length) :
		rpcrdma_svc_page_count(call->unreduced);
}

/* Bytes of a Call of @pages pages. */
static inline u32 rpcrdma_svc_call_size(u32 pages)
{
	return sizeof(struct rpcrdma_svc_call) +
	       pages * (PAGE_SIZE + sizeof(struct page *));
}

static inline bool
rpcrdma_svc_call_has_reads(const struct rpcrdma_svc_call *call)
{
	return call->chunks.n_call || call->chunks.n_reads;
}

/* May the first Call that waits start in any case? For why see the head of call.c. */
static inline bool rpcrdma_svc_alone(const struct rpcrdma_svc_xprt *svc)
{
	lockdep_assert_held(&svc->lock);
	return !svc->reading && !atomic_read(&svc->n_charged);
}

/* call.c */
bool rpcrdma_svc_admits(struct rpcrdma_svc_xprt *svc, u32 bytes);
void rpcrdma_svc_charge(struct rpcrdma_svc_xprt *svc,
			struct rpcrdma_svc_call *call, u32 bytes);
void rpcrdma_svc_uncharge(struct rpcrdma_svc_xprt *svc, u32 bytes);
void rpcrdma_svc_free_pages(struct page **pages, u32 count);
bool rpcrdma_svc_get_pages(struct page **pages, u32 have, u32 want, gfp_t gfp);
void rpcrdma_svc_copy_in(struct page **pages, u32 offset, const void *from,
			 u32 length);
void rpcrdma_svc_place_item(struct rpcrdma_svc_call *call);
void rpcrdma_svc_refuse(struct rpcrdma_svc_xprt *svc, u32 xid, u32 errcode,
			int status);
void rpcrdma_svc_call_drop(struct rpcrdma_svc_xprt *svc,
			   struct rpcrdma_svc_call *call);

/* reads.c */
u32 rpcrdma_svc_read_size(u32 pages);
int rpcrdma_svc_read_queue(struct rpcrdma_svc_xprt *svc,
			   struct rpcrdma_svc_call *call);

#endif
