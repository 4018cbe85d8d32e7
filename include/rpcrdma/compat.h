/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Defines functions and types that older kernels lack, with their names in the newest
 * supported kernel. The compiler includes this file at the head of every C file. No other
 * file of the module tests the kernel's version.
 */
#ifndef _RPCRDMA_COMPAT_H
#define _RPCRDMA_COMPAT_H

#include <linux/device.h>
#include <linux/gfp.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/sunrpc/bc_xprt.h>
#include <linux/sunrpc/svc.h>
#include <linux/sysctl.h>
#include <linux/version.h>

#ifndef kvcalloc_node
#define kvcalloc_node(n, size, flags, node) \
	kvzalloc_node(array_size(n, size), flags, node)
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
#define alloc_pages_bulk	alloc_pages_bulk_array
#endif

/* Whether a device needs its memory synced was asked for each piece of memory. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
static inline bool dma_dev_need_sync(const struct device *dev)
{
	return true;
}
#endif

/* Stable kernels got it at different times. */
#ifndef __uninitialized
#define __uninitialized
#endif

/* The name space was not a string. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#undef MODULE_IMPORT_NS
#define MODULE_IMPORT_NS(ns)	MODULE_INFO(import_ns, ns)
#endif

/*
 * The pages of Call and Reply in a svc_rqst. Until 7.0 the Reply used the pages of rq_pages
 * that the Call left. Since 7.1 each has its own array: nobody assigns rq_respages, and
 * svc_alloc_arg() refills it up to rq_next_page.
 */

/* From 7.1 on a Reply has pages of its own; Kbuild sees whether an older kernel has that. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 1, 0) && !defined(RPCRDMA_REPLY_HAS_PAGES)
#define RPCRDMA_REPLY_HAS_PAGES
#endif

/**
 * rpcrdma_compat_call_pages - the Call is in the first pages of rq_pages
 * @rqstp: the transport has put the Call there
 * @count: number of these pages, which @rqstp still owns; zero if there is no Call
 * @more: the page after them is not for the Reply, if two are left for that
 */
static inline void rpcrdma_compat_call_pages(struct svc_rqst *rqstp, u32 count,
					     bool more)
{
#ifndef RPCRDMA_REPLY_HAS_PAGES
	rqstp->rq_respages = &rqstp->rq_pages[count];
	if (more && rqstp->rq_page_end - rqstp->rq_respages > 2)
		rqstp->rq_respages++;
#endif
	rqstp->rq_next_page = rqstp->rq_respages;
}

/**
 * rpcrdma_compat_reply_taken - @rqstp does not own pages of the Reply any more
 * @rqstp: the first @count of its rq_respages are NULL
 * @count: number of pages
 */
static inline void rpcrdma_compat_reply_taken(struct svc_rqst *rqstp, u32 count)
{
#ifndef RPCRDMA_REPLY_HAS_PAGES
	rqstp->rq_next_page = rqstp->rq_respages;
#else
	rqstp->rq_next_page = rqstp->rq_respages + count;
#endif
}

/**
 * rpcrdma_compat_any_layout - whether nfsd finds the data of each WRITE in a COMPOUND
 *
 * svc_fill_write_vector() takes data from the head, and from pages as if they began a page.
 * It ignores page_base and the tail; so does nfsd4_vbuf_from_vector(), of SETXATTR. If the
 * data of a second WRITE are there, or the end of one WRITE's, nfsd stores other data and
 * says NFS4_OK. In 7.3 the first is gone, and the second reads data wherever they are; nobody
 * has looked at the kernels between 6.12 and 7.3.
 *
 * Return: false if a Call in which that may happen must be laid out as with TCP
 */
static inline bool rpcrdma_compat_any_layout(void)
{
	return LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0);
}

/**
 * rpcrdma_compat_max_new - how many connections may have shown no file handle yet
 * @serv: sunrpc's service
 *
 * If sv_tmpcnt is larger, sunrpc ends the oldest of them when it accepts the next connection
 * (svc_check_conn_limits()). Kbuild sees whether a kernel has that. Without it sv_tmpcnt counts
 * all connections.
 *
 * Return: zero if these are not counted
 */
static inline u32 rpcrdma_compat_max_new(const struct svc_serv *serv)
{
#if !defined(RPCRDMA_COUNTS_NEW_PEERS)
	return 0;
#elif defined(XPT_MAX_TMP_CONN)
	return XPT_MAX_TMP_CONN;
#else
	/* 64 is svc_check_conn_limits()'s own. */
	return READ_ONCE(serv->sv_maxconn) ?: 64;
#endif
}

/* Give a call from the server to the threads that serve callbacks. */
static inline void rpcrdma_compat_bc_enqueue(struct svc_serv *serv,
					     struct rpc_rqst *rqst)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 7, 0)
	lwq_enqueue(&rqst->rq_bc_list, &serv->sv_cb_list);
	svc_pool_wake_idle_thread(&serv->sv_pools[0]);
#else
	spin_lock(&serv->sv_cb_lock);
	list_add_tail(&rqst->rq_bc_list, &serv->sv_cb_list);
	spin_unlock(&serv->sv_cb_lock);
	wake_up(&serv->sv_cb_waitq);
#endif
}

/* Further members of struct svc_xprt_ops. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
#define RPCRDMA_COMPAT_SVC_OPS
#else
/* RDMA has no privileged ports: see rpcrdma_svc_recvfrom(). */
static inline void rpcrdma_compat_secure_port(struct svc_rqst *rqstp)
{
	set_bit(RQ_SECURE, &rqstp->rq_flags);
}

#define RPCRDMA_COMPAT_SVC_OPS	.xpo_secure_port = rpcrdma_compat_secure_port,
#endif

/* An empty entry ended a table of sysctls. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#define RPCRDMA_COMPAT_SYSCTL_END
#else
#define RPCRDMA_COMPAT_SYSCTL_END	{ },
#endif

/* Handlers of sysctls got an entry that they may change. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 11, 0)
#define rpcrdma_ctl_table		const struct ctl_table
#else
#define rpcrdma_ctl_table		struct ctl_table
#endif

/* A table that is not an array had no size. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#define rpcrdma_register_net_sysctl(net, path, table, size) \
	register_net_sysctl_sz(net, path, table, size)
#else
#define rpcrdma_register_net_sysctl(net, path, table, size) \
	register_net_sysctl(net, path, table)
#endif

/* TP_fast_assign() had to name the source of a __string() again. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 10, 0)
#define rpcrdma_assign_str(field, value)	__assign_str(field)
#else
#define rpcrdma_assign_str(field, value)	__assign_str(field, value)
#endif

#endif /* _RPCRDMA_COMPAT_H */
