/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _RPCRDMA_MODULE_H
#define _RPCRDMA_MODULE_H

#include "params.h"

#define RPCRDMA_VERSION		"0.1.0"

/* Module parameter, octets; read for each RPC. */
extern unsigned int rpcrdma_ddp_threshold;

/* Module parameter, seconds; read for each new client transport. */
extern unsigned int rpcrdma_idle_timeout;

#endif /* _RPCRDMA_MODULE_H */
