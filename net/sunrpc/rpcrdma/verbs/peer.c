// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include <linux/net.h>
#include <linux/siphash.h>
#include <linux/sunrpc/addr.h>
#include <net/net_namespace.h>

#include "verbs.h"

/**
 * rpcrdma_peer_key - a key for a peer, the same for all its connections
 * @net: network namespace
 * @sap: address; its port is ignored
 *
 * Context: Any.
 *
 * Return: a key for struct rpcrdma_recent. It is hashed with a secret, so that no peer can
 * choose it.
 */
u64 rpcrdma_peer_key(const struct net *net, const struct sockaddr *sap)
{
	const struct sockaddr_in6 *sin6 = (const struct sockaddr_in6 *)sap;
	const struct sockaddr_in *sin = (const struct sockaddr_in *)sap;
	static siphash_key_t secret;
	struct {
		u64 net;
		u64 scope;
		struct in6_addr addr;
	} k = { .net = net->net_cookie };

	net_get_random_once(&secret, sizeof(secret));
	if (sap->sa_family == AF_INET6) {
		k.addr = sin6->sin6_addr;
		k.scope = sin6->sin6_scope_id;
	} else {
		ipv6_addr_set_v4mapped(sin->sin_addr.s_addr, &k.addr);
	}
	return siphash(&k, sizeof(k), &secret);
}
