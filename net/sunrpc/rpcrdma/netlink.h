/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
#ifndef _RPCRDMA_NETLINK_H
#define _RPCRDMA_NETLINK_H

#include <linux/compiler.h>
#include <linux/types.h>

struct net;
struct rpcrdma_conn;
struct rpcrdma_conn_auth;
struct sk_buff;
struct sockaddr;

int __must_check rpcrdma_nl_init(void);
void rpcrdma_nl_exit(void);

void rpcrdma_nl_conn_version(struct rpcrdma_conn *conn);
void rpcrdma_nl_conn_up(struct rpcrdma_conn *conn);
void rpcrdma_nl_conn_down(struct rpcrdma_conn *conn);
void rpcrdma_nl_conn_auth_failed(struct rpcrdma_conn *conn);
void rpcrdma_nl_auth_failed(const struct net *net,
			    const struct sockaddr *server,
			    const struct rpcrdma_conn_auth *auth);

/* Exported for KUnit. */
size_t rpcrdma_nl_conn_size(void);
int rpcrdma_nl_conn_put(struct sk_buff *skb, struct rpcrdma_conn *conn,
			u32 portid, u32 seq, int flags);

#endif /* _RPCRDMA_NETLINK_H */
