// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * RPC-over-RDMA: client and server transports in one module.
 */
#include <linux/init.h>
#include <linux/module.h>

#include "auth.h"
#include "budget.h"
#include "client/client.h"
#include "module.h"
#include "netlink.h"
#include "server/server.h"
#include "verbs/verbs.h"

unsigned int rpcrdma_ddp_threshold = RPCRDMA_DEF_THRESHOLD;
module_param_named(ddp_threshold, rpcrdma_ddp_threshold, uint, 0644);
MODULE_PARM_DESC(ddp_threshold,
		 "DDP-eligible items up to this many bytes travel inline or continued, larger ones by chunk");

unsigned int rpcrdma_special_threshold = RPCRDMA_DEF_SPECIAL;
module_param_named(special_threshold, rpcrdma_special_threshold, uint, 0644);
MODULE_PARM_DESC(special_threshold,
		 "Payload streams up to this many bytes travel inline or continued, larger ones by body chunk");

unsigned int rpcrdma_stream_from = RPCRDMA_DEF_STREAM_FROM;
module_param_named(stream_from, rpcrdma_stream_from, uint, 0644);
MODULE_PARM_DESC(stream_from,
		 "Microseconds of a round trip from which on larger Calls travel inline or continued, too, 0: never");

unsigned int rpcrdma_keepalive = RPCRDMA_DEF_KEEPALIVE;
module_param_named(keepalive, rpcrdma_keepalive, uint, 0644);
MODULE_PARM_DESC(keepalive,
		 "Seconds of silence before a client asks whether the server is there, 0: never");

unsigned int rpcrdma_idle_timeout = RPCRDMA_IDLE_TIMEOUT;
module_param_named(idle_timeout, rpcrdma_idle_timeout, uint, 0644);
MODULE_PARM_DESC(idle_timeout,
		 "A new mount closes a connection after this many seconds without use; 0: never");

unsigned int rpcrdma_window = RPCRDMA_DEF_WINDOW;
module_param_cb(window, &rpcrdma_window_ops, &rpcrdma_window, 0644);
MODULE_PARM_DESC(window, "Receives offered to each peer, 3 to 16384");

unsigned int rpcrdma_grow = RPCRDMA_DEF_GROW;
module_param_cb(grow, &rpcrdma_grow_ops, &rpcrdma_grow, 0644);
MODULE_PARM_DESC(grow,
		 "Bytes that Sends and Receives of new connections grow to if that pays, up to 65536; 0: never");

unsigned int rpcrdma_memory;
module_param_cb(memory, &rpcrdma_memory_ops, &rpcrdma_memory, 0644);
MODULE_PARM_DESC(memory,
		 "MiB that all connections together may hold, at least 16; 0: a quarter of the machine's memory");

unsigned int rpcrdma_rtrext;
module_param_cb(rtrext, &rpcrdma_rtrext_ops, &rpcrdma_rtrext, 0644);
MODULE_PARM_DESC(rtrext,
		 "1: new connections place the data of READs and WRITEs by Sends if both sides have it, and buffers have what grow allows at once; 0: never");

unsigned int rpcrdma_rtrext_offer;
module_param_cb(rtrext_offer, &rpcrdma_rtrext_offer_ops, &rpcrdma_rtrext_offer,
		0644);
MODULE_PARM_DESC(rtrext_offer,
		 "With rtrext, what a client tells the server to do with the memory of a Write chunk: 1: write the data there; 2: as it likes; 3: write there what has more than 128 KiB; 0: memory is for Write chunks alone");

/*
 * modprobe treats EEXIST as success. The kernel refuses a second module with this name
 * before it gets here, so the other module has another name.
 */
static int rpcrdma_registered(int rc)
{
	if (rc != -EEXIST)
		return rc;
	pr_err("rpcrdma: another module has registered the rdma transport: remove that module first\n");
	return -EBUSY;
}

static int __init rpcrdma_init(void)
{
	int rc;

	rpcrdma_memory_init();
	rc = rpcrdma_stats_init();
	if (rc)
		goto out_memory;
	rc = rpcrdma_buffers_init();
	if (rc)
		goto out_stats;
	rc = rpcrdma_auth_init();
	if (rc)
		goto out_buffers;
	/* After what any user can ask for by it; before what tells of itself by it. */
	rc = rpcrdma_registered(rpcrdma_nl_init());
	if (rc)
		goto out_auth;
	rc = rpcrdma_device_init();
	if (rc)
		goto out_netlink;
	/*
	 * What is registered can be used at once, so this should not fail any more. It can only if
	 * another module has the client's transport, and not the server's.
	 */
	rc = rpcrdma_registered(rpcrdma_server_init());
	if (rc)
		goto out_device;
	rc = rpcrdma_registered(rpcrdma_client_init());
	if (rc)
		goto out_server;
	/* If the transports could register, the sysctl names are free. */
	if (rpcrdma_sysctl_init())
		pr_warn("rpcrdma: no memory for the files in /proc/sys/sunrpc\n");
	return 0;

out_server:
	rpcrdma_server_exit();
out_device:
	rpcrdma_device_exit();
out_netlink:
	rpcrdma_nl_exit();
out_auth:
	rpcrdma_auth_exit();
out_buffers:
	rpcrdma_buffers_exit();
out_stats:
	rpcrdma_stats_exit();
out_memory:
	rpcrdma_memory_exit();
	return rc;
}

static void __exit rpcrdma_exit(void)
{
	rpcrdma_sysctl_exit();
	rpcrdma_client_exit();
	rpcrdma_server_exit();
	rpcrdma_device_exit();
	rpcrdma_nl_exit();
	rpcrdma_auth_exit();
	rpcrdma_buffers_exit();
	rpcrdma_stats_exit();
	rpcrdma_memory_exit();
}

module_init(rpcrdma_init);
module_exit(rpcrdma_exit);

MODULE_AUTHOR("The rpcrdma developers");
MODULE_DESCRIPTION("RPC-over-RDMA client and server transports, versions 1 and 2");
MODULE_LICENSE("Dual BSD/GPL");
MODULE_VERSION(RPCRDMA_VERSION);
MODULE_ALIAS("svcrdma");
MODULE_ALIAS("xprtrdma");
MODULE_ALIAS("rpcrdma6");
