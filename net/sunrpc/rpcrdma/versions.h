/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _RPCRDMA_VERSIONS_H
#define _RPCRDMA_VERSIONS_H

#include <rpcrdma/core.h>

void rpcrdma_versions(struct rpcrdma_config *cfg);

/* Limits for the sysctls. */
extern unsigned int rpcrdma_version_lowest, rpcrdma_version_highest;
extern unsigned int rpcrdma_client_min, rpcrdma_client_max;
extern unsigned int rpcrdma_server_min, rpcrdma_server_max;

#endif /* _RPCRDMA_VERSIONS_H */
