// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The allowed versions of the protocol, as a client and as a server:
 *
 *   client_min_version client_max_version	module parameters
 *   /proc/sys/sunrpc/rdma_{min,max}_version	the same values
 *
 *   server_min_version server_max_version	module parameters
 *   /proc/sys/sunrpc/svc_rdma/{min,max}_version	the same values
 *
 * New connections use them. If the lowest version is above the highest, the
 * highest is used for both.
 */
#include <linux/minmax.h>
#include <linux/module.h>

#include "verbs/verbs.h"
#include "versions.h"

unsigned int rpcrdma_version_lowest = 1;
unsigned int rpcrdma_version_highest = 2;

unsigned int rpcrdma_client_min = 1;
unsigned int rpcrdma_client_max = 2;
unsigned int rpcrdma_server_min = 1;
unsigned int rpcrdma_server_max = 2;

static int rpcrdma_version_set(const char *val, const struct kernel_param *kp)
{
	return param_set_uint_minmax(val, kp, rpcrdma_version_lowest,
				     rpcrdma_version_highest);
}

static const struct kernel_param_ops rpcrdma_version_ops = {
	.set = rpcrdma_version_set,
	.get = param_get_uint,
};

module_param_cb(client_min_version, &rpcrdma_version_ops, &rpcrdma_client_min,
		0644);
MODULE_PARM_DESC(client_min_version,
		 "Lowest protocol version that a client speaks, 1 or 2");
module_param_cb(client_max_version, &rpcrdma_version_ops, &rpcrdma_client_max,
		0644);
MODULE_PARM_DESC(client_max_version,
		 "Highest protocol version that a client speaks, 1 or 2");
module_param_cb(server_min_version, &rpcrdma_version_ops, &rpcrdma_server_min,
		0644);
MODULE_PARM_DESC(server_min_version,
		 "Lowest protocol version that a server speaks, 1 or 2");
module_param_cb(server_max_version, &rpcrdma_version_ops, &rpcrdma_server_max,
		0644);
MODULE_PARM_DESC(server_max_version,
		 "Highest protocol version that a server speaks, 1 or 2");

/**
 * rpcrdma_versions - set the versions that a new connection may speak
 * @cfg: its role is set; the function sets its versions
 */
void rpcrdma_versions(struct rpcrdma_config *cfg)
{
	bool client = cfg->role == RPCRDMA_ROLE_CLIENT;

	cfg->max_version = client ? READ_ONCE(rpcrdma_client_max) :
				    READ_ONCE(rpcrdma_server_max);
	cfg->min_version = min(client ? READ_ONCE(rpcrdma_client_min) :
					READ_ONCE(rpcrdma_server_min),
			       cfg->max_version);
}
