/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _RPCRDMA_MODULE_H
#define _RPCRDMA_MODULE_H

#include "params.h"

#define RPCRDMA_VERSION		"0.1.0"

/* Module parameters: bytes, microseconds and seconds; new connections use them. */
extern unsigned int rpcrdma_ddp_threshold;
extern unsigned int rpcrdma_special_threshold;
extern unsigned int rpcrdma_stream_from;
extern unsigned int rpcrdma_keepalive;

struct rpc_task;

/* Buffers of Calls and Replies: buffers.c. */
int rpcrdma_buf_alloc(struct rpc_task *task);
void rpcrdma_buf_free(struct rpc_task *task);
int rpcrdma_buffers_init(void);
void rpcrdma_buffers_exit(void);

/* Module parameter, seconds; read for each new client transport. */
extern unsigned int rpcrdma_idle_timeout;

#endif /* _RPCRDMA_MODULE_H */
