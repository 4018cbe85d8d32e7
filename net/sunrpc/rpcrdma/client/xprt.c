// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The xprt class "rdma": the operations that sunrpc's client calls.
 */
#include <linux/module.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>
#include <linux/sunrpc/msg_prot.h>

#include "client.h"

static struct xprt_class rpcrdma_xprt_class;

static const struct rpc_timeout rpcrdma_default_timeout = {
	.to_initval = RPCRDMA_CONNECT_TIMEOUT,
	.to_maxval = RPCRDMA_CONNECT_TIMEOUT,
};

static int rpcrdma_format_addresses(struct rpc_xprt *xprt,
				    const struct sockaddr *sap)
{
	char hex[40], addr[INET6_ADDRSTRLEN + 10];

	switch (sap->sa_family) {
	case AF_INET:
		snprintf(hex, sizeof(hex), "%08x",
			 ntohl(((const struct sockaddr_in *)
				sap)->sin_addr.s_addr));
		xprt->address_strings[RPC_DISPLAY_NETID] = RPCBIND_NETID_RDMA;
		break;
	case AF_INET6:
		snprintf(hex, sizeof(hex), "%pi6",
			 &((const struct sockaddr_in6 *)sap)->sin6_addr);
		xprt->address_strings[RPC_DISPLAY_NETID] = RPCBIND_NETID_RDMA6;
		break;
	default:
		return -EAFNOSUPPORT;
	}
	rpc_ntop(sap, addr, sizeof(addr));
	xprt->address_strings[RPC_DISPLAY_PROTO] = "rdma";
	xprt->address_strings[RPC_DISPLAY_HEX_ADDR] = kstrdup(hex, GFP_KERNEL);
	xprt->address_strings[RPC_DISPLAY_ADDR] = kstrdup(addr, GFP_KERNEL);
	xprt->address_strings[RPC_DISPLAY_PORT] =
		kasprintf(GFP_KERNEL, "%u", rpc_get_port(sap));
	xprt->address_strings[RPC_DISPLAY_HEX_PORT] =
		kasprintf(GFP_KERNEL, "%4hx", rpc_get_port(sap));
	if (!xprt->address_strings[RPC_DISPLAY_HEX_ADDR] ||
	    !xprt->address_strings[RPC_DISPLAY_ADDR] ||
	    !xprt->address_strings[RPC_DISPLAY_PORT] ||
	    !xprt->address_strings[RPC_DISPLAY_HEX_PORT])
		return -ENOMEM;
	return 0;
}

static void rpcrdma_free_addresses(struct rpc_xprt *xprt)
{
	kfree(xprt->address_strings[RPC_DISPLAY_HEX_ADDR]);
	kfree(xprt->address_strings[RPC_DISPLAY_ADDR]);
	kfree(xprt->address_strings[RPC_DISPLAY_PORT]);
	kfree(xprt->address_strings[RPC_DISPLAY_HEX_PORT]);
}

static void rpcrdma_op_set_port(struct rpc_xprt *xprt, unsigned short port)
{
	struct sockaddr *sap = (struct sockaddr *)&xprt->addr;

	rpc_set_port(sap, port);
	kfree(xprt->address_strings[RPC_DISPLAY_PORT]);
	xprt->address_strings[RPC_DISPLAY_PORT] =
		kasprintf(GFP_KERNEL, "%u", port);
	kfree(xprt->address_strings[RPC_DISPLAY_HEX_PORT]);
	xprt->address_strings[RPC_DISPLAY_HEX_PORT] =
		kasprintf(GFP_KERNEL, "%4hx", port);
}

/*
 * Slots are made when first needed, up to max_reqs, and kept: an idle mount
 * that never had more than a few RPCs at once has only those.
 */
static void rpcrdma_op_alloc_slot(struct rpc_xprt *xprt, struct rpc_task *task)
{
	struct rpcrdma_req *req = NULL;
	struct rpc_rqst *rqst;

	spin_lock(&xprt->reserve_lock);
	rqst = list_first_entry_or_null(&xprt->free, struct rpc_rqst, rq_list);
	if (rqst) {
		list_del(&rqst->rq_list);
	} else if (xprt->num_reqs < xprt->max_reqs) {
		xprt->num_reqs++;
		spin_unlock(&xprt->reserve_lock);
		req = kzalloc(sizeof(*req), rpc_task_gfp_mask());
		spin_lock(&xprt->reserve_lock);
		if (!req) {
			xprt->num_reqs--;
			spin_unlock(&xprt->reserve_lock);
			task->tk_status = -ENOMEM;
			return;
		}
		INIT_LIST_HEAD(&req->tm.link);
		INIT_LIST_HEAD(&req->mrs);
		rqst = &req->rqst;
		xprt->stat.max_slots = max_t(unsigned long,
					     xprt->stat.max_slots,
					     xprt->num_reqs);
	} else {
		xprt_add_backlog(xprt, task);
		spin_unlock(&xprt->reserve_lock);
		task->tk_status = -EAGAIN;
		return;
	}
	spin_unlock(&xprt->reserve_lock);
	task->tk_rqstp = rqst;
	task->tk_status = 0;
}

static void rpcrdma_op_free_slot(struct rpc_xprt *xprt, struct rpc_rqst *rqst)
{
	spin_lock(&xprt->reserve_lock);
	if (!xprt_wake_up_backlog(xprt, rqst)) {
		memset(rqst, 0, sizeof(*rqst));
		list_add(&rqst->rq_list, &xprt->free);
	}
	spin_unlock(&xprt->reserve_lock);
}

static void rpcrdma_op_buf_free(struct rpc_task *task)
{
	struct rpcrdma_req *req = rpcrdma_req(task->tk_rqstp);

	rpcrdma_req_release(req, !rpc_reply_expected(task));
	/* The slot's next user is another RPC. */
	req->avoid = 0;
	req->no_group = false;
	req->directed = 0;
	req->failure = 0;
	rpcrdma_buf_free(task);
}

/*
 * The connector is not on xprtiod, as all other work is that RPCs may wait for. A rescuer would
 * not help: rdma_cm's own queues, where it handles addresses and messages of the handshake, have
 * none. And destroying a cm_id waits for work on one of these queues, which the kernel warns of
 * if the caller has a rescuer.
 */
static void rpcrdma_op_connect(struct rpc_xprt *xprt, struct rpc_task *task)
{
	struct rpcrdma_xprt *r_xprt = rpcrdma_xprt(xprt);
	unsigned long delay = 0;

	if (WARN_ON_ONCE(!xprt_lock_connect(xprt, task, r_xprt)))
		return;
	r_xprt->softconn = RPC_IS_SOFTCONN(task);
	if (READ_ONCE(r_xprt->cm_error)) {
		delay = xprt_reconnect_delay(xprt);
		xprt_reconnect_backoff(xprt, RPCRDMA_INIT_REEST);
	}
	queue_delayed_work(system_long_wq, &r_xprt->connector, delay);
}

static void rpcrdma_free_spares(struct rpcrdma_xprt *r_xprt)
{
	u32 i;

	for (i = 0; i < RPCRDMA_SPARE_KINDS; i++)
		rpcrdma_spares_free(&r_xprt->spares[i]);
}

/* Does an RPC wait to be sent, or to be answered? */
static bool rpcrdma_wanted(struct rpc_xprt *xprt)
{
	bool wanted;

	spin_lock(&xprt->queue_lock);
	wanted = !list_empty(&xprt->xmit_queue) ||
		 !RB_EMPTY_ROOT(&xprt->recv_queue);
	spin_unlock(&xprt->queue_lock);
	return wanted;
}

/*
 * After a failed attempt or a short-lived connection, the next attempt must wait: otherwise
 * connections that can never serve an RPC come and go without end. One that no RPC needs when
 * it is closed does not count.
 */
static void rpcrdma_op_close(struct rpc_xprt *xprt)
{
	struct rpcrdma_xprt *r_xprt = rpcrdma_xprt(xprt);

	if (r_xprt->conn &&
	    (!rpcrdma_wanted(xprt) ||
	     time_after(jiffies, r_xprt->established + RPCRDMA_INIT_REEST)))
		xprt->reestablish_timeout = 0;
	rpcrdma_disconnect(r_xprt);
	/* An idle mount keeps no buffers, only its slots. */
	if (!rpcrdma_wanted(xprt))
		rpcrdma_free_spares(r_xprt);
	++xprt->connect_cookie;
	xprt_disconnect_done(xprt);
}

static void rpcrdma_op_destroy(struct rpc_xprt *xprt)
{
	struct rpcrdma_xprt *r_xprt = rpcrdma_xprt(xprt);

	cancel_delayed_work_sync(&r_xprt->connector);
	rpcrdma_disconnect(r_xprt);
	rpcrdma_free_spares(r_xprt);
	rpcrdma_free_addresses(xprt);
	xprt_free(xprt);
	module_put(THIS_MODULE);
}

static void rpcrdma_op_set_connect_timeout(struct rpc_xprt *xprt,
					   unsigned long connect_timeout,
					   unsigned long reconnect_timeout)
{
	struct rpcrdma_xprt *r_xprt = rpcrdma_xprt(xprt);

	spin_lock(&xprt->transport_lock);
	if (connect_timeout < xprt->connect_timeout) {
		r_xprt->timeout = *xprt->timeout;
		r_xprt->timeout.to_initval = max_t(unsigned long, connect_timeout,
						   RPCRDMA_INIT_REEST * 2);
		r_xprt->timeout.to_maxval = r_xprt->timeout.to_initval;
		xprt->timeout = &r_xprt->timeout;
		xprt->connect_timeout = connect_timeout;
	}
	xprt->max_reconnect_timeout = min(xprt->max_reconnect_timeout,
					  reconnect_timeout);
	spin_unlock(&xprt->transport_lock);
}

/*
 * The xprt line of mountstats has the 27 numbers of the kernel's own transport, in
 * its order, and no more: a program that knows 27 may have no room for another.
 * Documentation/drop-in.rst names them. Other counters are in debugfs. The counters
 * change while this reads them, each under its own lock; KCSAN need not report that.
 */
static __no_kcsan
void rpcrdma_op_print_stats(struct rpc_xprt *xprt, struct seq_file *m)
{
	struct rpcrdma_xprt *r_xprt = rpcrdma_xprt(xprt);
	const struct rpcrdma_xprt_stats *s = &r_xprt->stats;
	u64 regions, sq_full;
	long idle = 0;

	spin_lock(&r_xprt->conn_lock);
	regions = s->conns.regions;
	sq_full = s->conns.sq_full;
	if (r_xprt->conn) {
		regions += r_xprt->conn->stats.regions;
		sq_full += r_xprt->conn->stats.sq_full;
	}
	spin_unlock(&r_xprt->conn_lock);
	if (xprt_connected(xprt))
		idle = (long)(jiffies - xprt->last_used) / HZ;
	seq_printf(m, "\txprt:\trdma %u %lu %lu %lu %ld %lu %lu %lu %llu %llu ",
		   0, xprt->stat.bind_count, xprt->stat.connect_count,
		   xprt->stat.connect_time / HZ, idle, xprt->stat.sends,
		   xprt->stat.recvs, xprt->stat.bad_xids, xprt->stat.req_u,
		   xprt->stat.bklog_u);
	/* segments to read, to write, for replies; bytes of the latter two */
	seq_printf(m, "%lu %lu %lu %llu %llu ", s->read_segments,
		   s->write_segments, s->reply_segments, s->offered_bytes,
		   s->written_bytes);
	/* pullup fixup hardway failed_marshal bad_reply nomsg_calls */
	seq_printf(m, "%llu %llu %lu %lu %lu %lu ", s->pulled_up_bytes,
		   s->fixed_up_bytes, 0UL, s->failed_marshal, s->bad_reply,
		   s->call_chunks);
	/* recovered orphaned allocated regions, local_invalidates */
	seq_printf(m, "%lu %lu %llu %lu ", 0UL, 0UL, regions,
		   s->local_invalidates);
	/* empty_sendctx_q reply_waits_for_send */
	seq_printf(m, "%llu %lu\n", sq_full, 0UL);
}

/*
 * Sends and Receives have their buffers from the beginning. The task of an RPC for swap,
 * and the connector, take all other memory from the reserves. A Call that needs a region
 * and finds none free waits until other RPCs give regions back.
 */
static int rpcrdma_op_enable_swap(struct rpc_xprt *xprt)
{
	atomic_inc(&xprt->swapper);
	return 0;
}

static void rpcrdma_op_disable_swap(struct rpc_xprt *xprt)
{
	atomic_dec(&xprt->swapper);
}

/* The caller may not have the write lock: then the connection may be ending. */
static void rpcrdma_op_inject_disconnect(struct rpc_xprt *xprt)
{
	xprt_force_disconnect(xprt);
}

static const struct rpc_xprt_ops rpcrdma_xprt_ops = {
	.reserve_xprt		= rpcrdma_reserve_xprt,
	.release_xprt		= rpcrdma_release_xprt,
	.alloc_slot		= rpcrdma_op_alloc_slot,
	.free_slot		= rpcrdma_op_free_slot,
	.rpcbind		= rpcb_getport_async,
	.set_port		= rpcrdma_op_set_port,
	.connect		= rpcrdma_op_connect,
	.buf_alloc		= rpcrdma_buf_alloc,
	.buf_free		= rpcrdma_op_buf_free,
	.send_request		= rpcrdma_send_request,
	.wait_for_reply_request	= rpcrdma_wait_for_reply,
	.close			= rpcrdma_op_close,
	.destroy		= rpcrdma_op_destroy,
	.set_connect_timeout	= rpcrdma_op_set_connect_timeout,
	.print_stats		= rpcrdma_op_print_stats,
	.enable_swap		= rpcrdma_op_enable_swap,
	.disable_swap		= rpcrdma_op_disable_swap,
	.inject_disconnect	= rpcrdma_op_inject_disconnect,
	.bc_setup		= rpcrdma_bc_setup,
	.bc_maxpayload		= rpcrdma_bc_maxpayload,
	.bc_num_slots		= rpcrdma_bc_num_slots,
	.bc_free_rqst		= rpcrdma_bc_free_rqst,
	.bc_destroy		= rpcrdma_bc_destroy,
};

static struct rpc_xprt *rpcrdma_setup(struct xprt_create *args)
{
	struct rpcrdma_xprt *r_xprt;
	struct rpc_xprt *xprt;
	int rc;

	if (args->addrlen > sizeof(xprt->addr))
		return ERR_PTR(-EBADF);
	if (!try_module_get(THIS_MODULE))
		return ERR_PTR(-EIO);
	xprt = xprt_alloc(args->net, sizeof(struct rpcrdma_xprt), 0,
			  READ_ONCE(rpcrdma_slots));
	if (!xprt) {
		module_put(THIS_MODULE);
		return ERR_PTR(-ENOMEM);
	}
	r_xprt = rpcrdma_xprt(xprt);

	xprt->ops = &rpcrdma_xprt_ops;
	xprt->xprt_class = &rpcrdma_xprt_class;
	/* Side protocols, such as NLM, read the address and expect TCP there. */
	xprt->prot = IPPROTO_TCP;
	xprt->resvport = 0;
	xprt->max_payload = RPCRDMA_MAX_PAYLOAD;
	xprt->timeout = &rpcrdma_default_timeout;
	xprt->connect_timeout = RPCRDMA_CONNECT_TIMEOUT;
	xprt->max_reconnect_timeout = RPCRDMA_MAX_REEST;
	xprt->bind_timeout = RPCRDMA_BIND_TIMEOUT;
	xprt->reestablish_timeout = RPCRDMA_INIT_REEST;
	xprt->idle_timeout =
		(unsigned long)READ_ONCE(rpcrdma_idle_timeout) * HZ;
	xprt->addrlen = args->addrlen;
	memcpy(&xprt->addr, args->dstaddr, args->addrlen);
	if (rpc_get_port(args->dstaddr))
		xprt_set_bound(xprt);
	r_xprt->bc_payload = PAGE_SIZE;
	INIT_LIST_HEAD(&r_xprt->group);
	INIT_LIST_HEAD(&r_xprt->bc_spare);
	spin_lock_init(&r_xprt->conn_lock);
	init_completion(&r_xprt->step);
	init_waitqueue_head(&r_xprt->routed);
	INIT_DELAYED_WORK(&r_xprt->connector, rpcrdma_connect_worker);
	rpcrdma_keepalive_init(r_xprt);

	rc = rpcrdma_format_addresses(xprt, args->dstaddr);
	if (rc) {
		rpcrdma_free_addresses(xprt);
		xprt_free(xprt);
		module_put(THIS_MODULE);
		return ERR_PTR(rc);
	}
	return xprt;
}

static struct xprt_class rpcrdma_xprt_class = {
	.list	= LIST_HEAD_INIT(rpcrdma_xprt_class.list),
	.name	= "rdma",
	.owner	= THIS_MODULE,
	.ident	= XPRT_TRANSPORT_RDMA,
	.setup	= rpcrdma_setup,
	.netid	= { RPCBIND_NETID_RDMA, RPCBIND_NETID_RDMA6, "" },
};

/**
 * rpcrdma_client_init - offer the transport to sunrpc
 *
 * Return: 0, or %-EEXIST if another module has it.
 */
int rpcrdma_client_init(void)
{
	return xprt_register_transport(&rpcrdma_xprt_class);
}

/**
 * rpcrdma_client_exit - no transport of the class is left
 */
void rpcrdma_client_exit(void)
{
	xprt_unregister_transport(&rpcrdma_xprt_class);
	rpcrdma_connect_exit();
}
