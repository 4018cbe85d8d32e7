/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The memory of the module: <rpcrdma/budget.h> with the locks. No function sleeps. Those
 * that get an account need the lock of its connection, inside of which they may take the
 * module's.
 */
#ifndef _RPCRDMA_MEMORY_BUDGET_H
#define _RPCRDMA_MEMORY_BUDGET_H

#include <rpcrdma/budget.h>

int rpcrdma_memory_charge(u64 octets, bool must);
void rpcrdma_memory_uncharge(u64 octets);
bool rpcrdma_memory_short(void);
void rpcrdma_memory_info(struct rpcrdma_budget *copy);

void rpcrdma_memory_close(struct rpcrdma_account *a);
bool rpcrdma_memory_call(struct rpcrdma_account *a, u32 octets, bool alone);
void rpcrdma_memory_take(struct rpcrdma_account *a, u32 kind, u32 octets);
bool rpcrdma_memory_put(struct rpcrdma_account *a, u32 kind, u32 octets);
bool rpcrdma_memory_extend(struct rpcrdma_account *a, u32 reserve);

void rpcrdma_memory_limit(u64 limit);
void rpcrdma_memory_init(void);
void rpcrdma_memory_exit(void);

/* The module parameter, in MiB: module.c. */
extern unsigned int rpcrdma_memory;
extern const struct kernel_param_ops rpcrdma_memory_ops;

#endif /* _RPCRDMA_MEMORY_BUDGET_H */
