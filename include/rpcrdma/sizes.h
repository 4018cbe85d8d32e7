/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Sizes of a connection: what a device can do, and what is made of it. For C.
 *
 * The rules of <rpcrdma/core.h> hold.
 */
#ifndef _RPCRDMA_SIZES_H
#define _RPCRDMA_SIZES_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * struct rpcrdma_device_limits - the limits that a device reports
 * @max_send_sge: elements of memory that a Send or RDMA Write can take from
 * @max_recv_sge: elements that a Receive can fill
 * @max_sge_rd: elements that an RDMA Read can fill
 * @max_sgl_rd: ib_core registers the memory of an RDMA Read with more elements; zero if
 *	it never does
 * @max_qp_wr: Work Requests on one queue
 * @max_cqe: completions in one completion queue
 * @max_mr: memory regions of the device; zero if it does not say
 * @max_fast_reg_pages: pages of one region
 * @max_reads_in: RDMA Reads of a peer that are answered at once
 * @max_reads_out: RDMA Reads to a peer at once
 * @page_size: of the machine, in octets
 * @fast_reg: it registers memory by Work Requests
 * @local_inv: it takes such memory back by Work Requests
 * @iwarp: what an RDMA Read fills must be registered
 */
struct rpcrdma_device_limits {
	u32 max_send_sge;
	u32 max_recv_sge;
	u32 max_sge_rd;
	u32 max_sgl_rd;
	u32 max_qp_wr;
	u32 max_cqe;
	u32 max_mr;
	u32 max_fast_reg_pages;
	u32 max_reads_in;
	u32 max_reads_out;
	u32 page_size;
	bool fast_reg;
	bool local_inv;
	bool iwarp;
};

/* Elements of a Send at most. */
#define RPCRDMA_MAX_GATHER	16

/* No adapter has fewer pages in a region. Memory is counted as if all had so many. */
#define RPCRDMA_LEAST_RW_PAGES	16

/* Pages of a Receive at most; a larger one is one buffer. */
#define RPCRDMA_MAX_RECV_PAGES	16

/**
 * struct rpcrdma_wants - what the owner of a connection would like to have
 * @window: Receives offered to the peer now
 * @max_window: the most that it may ever be
 * @recv_size: octets of a Receive
 * @recv_most: what Receives may grow to, in octets; not less than @recv_size, or zero
 * @recv_pages: Receives are to be of pages, which the owner can replace one by one
 * @recv_head: octets of a Receive that are in a page of their own, before the others; such
 *	Receives have at once what others may grow to
 * @send_ring: Sends outstanding
 * @send_size: octets of a Send
 * @send_most: what Sends may grow to, in octets; not less than @send_size, or zero
 * @send_head: Sends go to Receives with a head of so many octets, and have at once what others
 *	may grow to
 * @gather: Sends are to take data from where it is
 * @regions: memory regions that the peer reaches, zero for none
 * @region_pages: pages of each
 * @max_payload: largest item of an RPC, in octets
 * @max_message: largest RPC message with all its items, in octets
 * @rw_ctxs: RDMA Read and Write contexts of ib_core, zero for none
 * @rw_sges: elements of each of their Work Requests
 * @rw_ops: operations of one message at most
 * @reads_in: RDMA Reads that the peer may have under way, zero for none
 * @reads_out: RDMA Reads that this side may have under way, zero for none
 */
struct rpcrdma_wants {
	u32 window;
	u32 max_window;
	u32 recv_size;
	u32 recv_most;
	bool recv_pages;
	u32 recv_head;
	u32 send_ring;
	u32 send_size;
	u32 send_most;
	u32 send_head;
	bool gather;
	u32 regions;
	u32 region_pages;
	u32 max_payload;
	u32 max_message;
	u32 rw_ctxs;
	u32 rw_sges;
	u32 rw_ops;
	u32 reads_in;
	u32 reads_out;
};

/* Why a device cannot carry a connection. */
enum rpcrdma_unfit {
	RPCRDMA_FIT,
	RPCRDMA_UNFIT_ELEMENTS,		/* nothing can be sent or received */
	RPCRDMA_UNFIT_RECEIVES,		/* not even the smallest window */
	RPCRDMA_UNFIT_SENDS,		/* the largest message would wait for ever */
	RPCRDMA_UNFIT_READS,		/* no RDMA Reads */
	RPCRDMA_UNFIT_READ_ELEMENTS,	/* no memory for them to fill */
	RPCRDMA_UNFIT_REGISTRATION,	/* they need memory registered, and it is not */
	RPCRDMA_UNFIT_REGIONS,		/* iWARP, and too little can be registered */
	RPCRDMA_UNFIT_COUNT
};

/**
 * struct rpcrdma_sizes - the sizes of a connection
 * @unfit: enum rpcrdma_unfit; unless it is RPCRDMA_FIT nothing else is set
 * @window: Receives offered to the peer now
 * @max_window: the most that the queues have room for
 * @budget: Work Requests that may be on the send queue, but for invalidations
 * @send_wr: length of the send queue, at least; ib_core may add some
 * @recv_wr: length of the receive queue
 * @send_cqe: length of the completion queue for Sends
 * @recv_cqe: length of that for Receives
 * @send_sge: elements of each Work Request of the send queue
 * @gather_sge: of them, those that a Send uses at most; one if all its data is copied
 * @recv_sge: elements of each Receive
 * @recv_pages: pages of each Receive, an element each; zero if it is one buffer
 * @recv_size: octets of a Receive at first
 * @send_size: octets of a Send at first
 * @recv_most: what Receives may grow to with as many elements, in octets
 * @rw_ctxs: RDMA Read and Write contexts
 * @rw_least: the same at least, if each takes a region of the device; or zero
 * @rw_pages: pages of an RDMA Read or Write at most; larger ones are cut
 * @largest: Work Requests of the operations of one message, at most
 * @regions: memory regions at most
 * @region_pages: pages of each
 * @first_regions: how many one Call can need
 * @chunk_payload: largest item that chunks can carry wherever in a page it begins, in
 *	octets
 * @version1: chunks can carry the largest item, as version 1 needs
 * @reads_in: RDMA Reads that the peer may have under way
 * @reads_out: RDMA Reads that this side may have under way
 */
struct rpcrdma_sizes {
	u32 unfit;
	u32 window;
	u32 max_window;
	u32 budget;
	u32 send_wr;
	u32 recv_wr;
	u32 send_cqe;
	u32 recv_cqe;
	u32 send_sge;
	u32 gather_sge;
	u32 recv_sge;
	u32 recv_pages;
	u32 recv_size;
	u32 send_size;
	u32 recv_most;
	u32 rw_ctxs;
	u32 rw_least;
	u32 rw_pages;
	u32 largest;
	u32 regions;
	u32 region_pages;
	u32 first_regions;
	u32 chunk_payload;
	bool version1;
	u32 reads_in;
	u32 reads_out;
};

/**
 * rpcrdma_device_limit - a limit as struct ib_device_attr has it
 * @said: some members of it are signed up to Linux 7.2, all are unsigned since
 *
 * Return: the limit; zero for less than nothing.
 */
u32 __must_check rpcrdma_device_limit(s64 said);

/**
 * rpcrdma_size_conn - compute the sizes of a connection
 * @limits: of its device
 * @wants: what is wanted
 * @sizes: filled in; no more than the device can do
 *
 * Return: false if the device cannot carry the connection; @sizes->unfit tells why.
 */
bool __must_check rpcrdma_size_conn(const struct rpcrdma_device_limits *limits,
				    const struct rpcrdma_wants *wants,
				    struct rpcrdma_sizes *sizes);

#ifdef __cplusplus
}
#endif

#endif /* _RPCRDMA_SIZES_H */
