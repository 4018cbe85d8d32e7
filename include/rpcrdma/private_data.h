/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Private data of the connection manager (RFC 8797). For C.
 *
 * The rules of <rpcrdma/core.h> hold.
 */
#ifndef _RPCRDMA_PRIVATE_DATA_H
#define _RPCRDMA_PRIVATE_DATA_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RPCRDMA_CM_PRIVATE_SIZE	8

/**
 * struct rpcrdma_cm_private - RFC 8797 connection private data
 * @send_size: in octets; multiple of 1024, at most 262144
 * @recv_size: in octets; likewise
 * @remote_inv: Send With Invalidate is welcome
 * @given: decoded: the peer has sent it, this is not the default
 * @version2: the sender answers a message of version 2 (D5); by a flag that is reserved,
 *	so that all others ignore it
 */
struct rpcrdma_cm_private {
	u32 send_size;
	u32 recv_size;
	bool remote_inv;
	bool given;
	bool version2;
};

void rpcrdma_cm_private_encode(const struct rpcrdma_cm_private *p, void *buf);

/* If @buf is no such message, @p is the RFC's default. */
void rpcrdma_cm_private_decode(const void *buf, u32 len,
			       struct rpcrdma_cm_private *p);

/**
 * rpcrdma_session_private - the peer's private data has come
 * @s: the session
 * @p: as decoded, or the default
 *
 * In force if version 1 is. Until this is called the RFC's default is.
 */
void rpcrdma_session_private(struct rpcrdma_session *s,
			     const struct rpcrdma_cm_private *p);

/* Milliseconds that a client waits for the answer to its first message (D5). */
#define RPCRDMA_OPENING_MOST	10000
#define RPCRDMA_OPENING_LEAST	2000
/* Round trips that are as good as that, for a server that may be of version 1. */
#define RPCRDMA_OPENING_TRIPS	32

/**
 * rpcrdma_opening_wait - how long is the answer to the first message worth waiting for?
 * @p: what the server has said when it accepted
 * @round_trip: milliseconds that it took to accept
 *
 * Return: milliseconds.
 */
u32 __must_check rpcrdma_opening_wait(const struct rpcrdma_cm_private *p,
				      u32 round_trip);

#ifdef __cplusplus
}
#endif

#endif /* _RPCRDMA_PRIVATE_DATA_H */
