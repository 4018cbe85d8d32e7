// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The buffers for the XDR of Calls and Replies.
 *
 * Since Linux 6.18 only sunrpc's own transports can call rpc_malloc() and rpc_free().
 */
#include <linux/mempool.h>
#include <linux/slab.h>
#include <linux/sunrpc/sched.h>
#include <linux/sunrpc/xprt.h>

#include "module.h"

/* Most RPCs of NFS need less. */
#define RPCRDMA_BUFFER_SMALL	2048

/* Small buffers kept for times without free memory: write-back must go on. */
#define RPCRDMA_BUFFER_RESERVE	8

static mempool_t *rpcrdma_buffer_pool;

static size_t rpcrdma_buffer_size(const struct rpc_rqst *rqst)
{
	return rqst->rq_callsize + rqst->rq_rcvsize;
}

/**
 * rpcrdma_buf_alloc - a buffer for a Call and its Reply
 * @task: the RPC; rq_callsize and rq_rcvsize of its rpc_rqst are the bytes it needs
 *
 * The buffer belongs to the rpc_rqst until rpcrdma_buf_free().
 *
 * Context: Process context; sleeps only if the task may.
 *
 * Return: zero, or -ENOMEM, after which sunrpc tries again.
 */
int rpcrdma_buf_alloc(struct rpc_task *task)
{
	struct rpc_rqst *rqst = task->tk_rqstp;
	size_t size = rpcrdma_buffer_size(rqst);
	gfp_t gfp = rpc_task_gfp_mask();

	if (size > RPCRDMA_BUFFER_SMALL) {
		rqst->rq_buffer = kmalloc(size, gfp);
	} else {
		rqst->rq_buffer = kmalloc(RPCRDMA_BUFFER_SMALL, gfp);
		if (!rqst->rq_buffer && RPC_IS_ASYNC(task))
			rqst->rq_buffer = mempool_alloc(rpcrdma_buffer_pool,
							GFP_NOWAIT);
	}
	if (!rqst->rq_buffer)
		return -ENOMEM;
	rqst->rq_rbuffer = rqst->rq_buffer + rqst->rq_callsize;
	return 0;
}

/**
 * rpcrdma_buf_free - free the buffer of rpcrdma_buf_alloc()
 * @task: the RPC
 *
 * Context: Any.
 */
void rpcrdma_buf_free(struct rpc_task *task)
{
	struct rpc_rqst *rqst = task->tk_rqstp;

	if (rpcrdma_buffer_size(rqst) > RPCRDMA_BUFFER_SMALL)
		kfree(rqst->rq_buffer);
	else
		mempool_free(rqst->rq_buffer, rpcrdma_buffer_pool);
}

/**
 * rpcrdma_buffers_init - allocate the reserve of small buffers
 *
 * Return: zero or -ENOMEM.
 */
int rpcrdma_buffers_init(void)
{
	rpcrdma_buffer_pool = mempool_create_kmalloc_pool(RPCRDMA_BUFFER_RESERVE,
							  RPCRDMA_BUFFER_SMALL);
	return rpcrdma_buffer_pool ? 0 : -ENOMEM;
}

/**
 * rpcrdma_buffers_exit - free the reserve
 *
 * Context: Process context; all transports are gone.
 */
void rpcrdma_buffers_exit(void)
{
	mempool_destroy(rpcrdma_buffer_pool);
}
