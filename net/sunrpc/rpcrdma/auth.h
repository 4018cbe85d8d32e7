/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Host authentication: policies, keys and counts of each network namespace, and what a
 * connection has of it. Documentation/host-authentication.rst
 */
#ifndef _RPCRDMA_AUTH_MODULE_H
#define _RPCRDMA_AUTH_MODULE_H

#include <linux/types.h>

#include <rpcrdma/auth.h>

struct key;
struct net;
struct rpcrdma_conn;
struct seq_file;
struct sockaddr;
struct work_struct;

/**
 * struct rpcrdma_auth_counts - host authentication in a network namespace
 * @server: enum rpcrdma_auth_policy for clients
 * @client: the same for servers that have none of their own
 * @key: name of the key that clients use, or empty
 * @done: connections that have authenticated
 * @turned_away: connections of clients that had failed too often
 * @without: by enum rpcrdma_auth_reason: those that have not, and need not
 * @failed: those that have failed
 */
struct rpcrdma_auth_counts {
	u32 server;
	u32 client;
	char key[RPCRDMA_AUTH_NAME + 1];
	u64 done;
	u64 turned_away;
	u64 without[RPCRDMA_AUTH_REASONS];
	u64 failed[RPCRDMA_AUTH_REASONS];
};

/**
 * struct rpcrdma_conn_auth - host authentication of a connection
 * @policy: enum rpcrdma_auth_policy of this side when the connection was made
 * @state: enum rpcrdma_auth_state
 * @reason: enum rpcrdma_auth_reason
 * @key: name of the key, or empty
 */
struct rpcrdma_conn_auth {
	u32 policy;
	u32 state;
	u32 reason;
	char key[RPCRDMA_AUTH_NAME + 1];
};

/* crypto.c */
int __must_check rpcrdma_crypto_init(void);
void rpcrdma_crypto_exit(void);

/* auth.c */
int __must_check rpcrdma_auth_init(void);
void rpcrdma_auth_exit(void);
bool rpcrdma_auth_client(const struct net *net, const struct sockaddr *server,
			 struct rpcrdma_auth *auth);
bool rpcrdma_auth_server(const struct net *net, const struct sockaddr *client,
			 struct rpcrdma_auth *auth);
bool rpcrdma_auth_limited(u64 peer);
bool rpcrdma_auth_turns_away(const struct net *net, u64 peer);
void rpcrdma_auth_counts(const struct net *net,
			 struct rpcrdma_auth_counts *counts);
u32 rpcrdma_auth_find_key(const u8 *name, u32 size, u8 *secret);
const u8 *rpcrdma_auth_decoy(void);
struct key *rpcrdma_auth_keyring(void);
void rpcrdma_auth_over(const struct net *net, u32 role,
		       const struct sockaddr *peer, u32 state, u32 reason,
		       const char *key);
void rpcrdma_auth_note_refused(u64 peer);

/* verbs/auth.c */
void rpcrdma_auth_worker(struct work_struct *work);
void rpcrdma_conn_auth_begin(struct rpcrdma_conn *conn,
			     const struct rpcrdma_auth *auth);
void rpcrdma_conn_auth_received(struct rpcrdma_conn *conn);
bool rpcrdma_conn_auth_late(struct rpcrdma_conn *conn);
void rpcrdma_conn_auth_info(struct rpcrdma_conn *conn,
			    struct rpcrdma_conn_auth *info)
	__must_hold(&conn->lock);
void rpcrdma_conn_auth_show(struct seq_file *m, struct rpcrdma_conn *conn);
void rpcrdma_conn_auth_end(struct rpcrdma_conn *conn);

#endif /* _RPCRDMA_AUTH_MODULE_H */
