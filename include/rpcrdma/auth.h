/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Host authentication of a session (5.2.6, 11.4), for C.
 * Documentation/host-authentication.rst is what it does. As in core.h, nothing here
 * sleeps, and the caller serializes all calls that name the same session.
 */
#ifndef _RPCRDMA_AUTH_H
#define _RPCRDMA_AUTH_H

#include "core.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RPCRDMA_AUTH_HOST	16
#define RPCRDMA_AUTH_NONCE	32
#define RPCRDMA_AUTH_NAME	64	/* at most */
#define RPCRDMA_AUTH_LEAST	32	/* octets of a secret */
#define RPCRDMA_AUTH_MOST	48

/* Milliseconds that a server waits for what its client has to send. */
#define RPCRDMA_AUTH_WAIT	10000
/* Milliseconds until who has refused the peer ends the connection by itself. */
#define RPCRDMA_AUTH_LINGER	1000

/* 11.4.8 */
enum rpcrdma_auth_policy {
	RPCRDMA_AUTH_OFF,
	RPCRDMA_AUTH_OFFERED,
	RPCRDMA_AUTH_REQUIRED,
	RPCRDMA_AUTH_POLICIES
};

/**
 * struct rpcrdma_auth - what rpcrdma_config says of host authentication
 * @policy: enum rpcrdma_auth_policy; a session with the last one speaks version 2 alone
 * @host: this host's identifier, the same in all exchanges
 * @nonce: fresh random octets, for this connection
 * @name: client: of its key
 * @name_size: how many octets; zero if it has none
 * @secret: client: the key
 * @secret_size: how many octets; zero if it has none
 *
 * rpcrdma_session_init() keeps nothing of it, so the caller can wipe it.
 */
struct rpcrdma_auth {
	u32 policy;
	u8 host[RPCRDMA_AUTH_HOST];
	u8 nonce[RPCRDMA_AUTH_NONCE];
	u8 name[RPCRDMA_AUTH_NAME];
	u32 name_size;
	u8 secret[RPCRDMA_AUTH_MOST];
	u32 secret_size;
};

enum rpcrdma_auth_state {
	RPCRDMA_AUTH_NONE,	/* the policy is "off" */
	RPCRDMA_AUTH_OPEN,	/* nothing has come of the peer's exchange */
	RPCRDMA_AUTH_WAITS,	/* it has begun */
	RPCRDMA_AUTH_WANTS_KEY,	/* rpcrdma_session_auth_key() is due */
	RPCRDMA_AUTH_DONE,	/* the peer has authenticated */
	RPCRDMA_AUTH_WITHOUT,	/* it has not, and need not */
	RPCRDMA_AUTH_FAILED,	/* and the connection has to end */
	RPCRDMA_AUTH_STATES
};

/* Why an exchange has failed, or why there was none. */
enum rpcrdma_auth_reason {
	RPCRDMA_AUTH_R_NONE,
	RPCRDMA_AUTH_R_FORM,	/* the value does not parse */
	RPCRDMA_AUTH_R_PLACE,	/* it comes twice, or is not the last property */
	RPCRDMA_AUTH_R_STEP,	/* a message that is not due */
	RPCRDMA_AUTH_R_SELF,	/* the peer is this host */
	RPCRDMA_AUTH_R_UNKNOWN,	/* server: there is no key of that name */
	RPCRDMA_AUTH_R_PROOF,	/* wrong */
	RPCRDMA_AUTH_R_MISSING,	/* the peer does not authenticate, or not any more */
	RPCRDMA_AUTH_R_VERSION,	/* it speaks version 1 */
	RPCRDMA_AUTH_R_NO_KEY,	/* client: it has no key to use */
	RPCRDMA_AUTH_R_LATE,	/* nothing came in time */
	RPCRDMA_AUTH_R_ENDED,	/* the connection did, before the exchange */
	RPCRDMA_AUTH_R_REFUSED,	/* the peer has refused this side */
	RPCRDMA_AUTH_R_INTERNAL,/* a bug here, or the host could not compute */
	RPCRDMA_AUTH_REASONS
};

/** rpcrdma_auth_reason_name - for people; never sent */
const char *rpcrdma_auth_reason_name(u32 reason);

/** rpcrdma_session_auth - enum rpcrdma_auth_state */
u32 __must_check rpcrdma_session_auth(const struct rpcrdma_session *s);

/** rpcrdma_session_auth_reason - enum rpcrdma_auth_reason, of FAILED and WITHOUT */
u32 __must_check rpcrdma_session_auth_reason(const struct rpcrdma_session *s);

/**
 * rpcrdma_session_auth_name - the name of the key that is, or is to be, used
 * @s: the session
 * @name: gets RPCRDMA_AUTH_NAME octets, zeros behind the name
 *
 * Return: octets of the name; zero if there is none yet.
 */
u32 rpcrdma_session_auth_name(const struct rpcrdma_session *s, u8 *name);

/**
 * rpcrdma_session_auth_key - the key that a client has named
 * @s: of a server, in RPCRDMA_AUTH_WANTS_KEY
 * @secret: the key; the caller wipes it
 * @size: how many octets; zero if there is none
 * @decoy: RPCRDMA_AUTH_LEAST random octets that nobody else knows, the same for a long
 *	time; used if there is none, so that the client cannot tell
 *
 * Return: true if there is something to be sent; the caller then sends.
 */
bool __must_check rpcrdma_session_auth_key(struct rpcrdma_session *s,
					   const u8 *secret, u32 size,
					   const u8 *decoy);

/**
 * rpcrdma_session_auth_late - what the exchange waits for has not come in time
 * @s: the session
 *
 * A client whose policy is "offered" goes on without, if it has the credit to say so.
 *
 * Return: true if it does, and the caller then sends. Otherwise the connection has to end,
 * unless the exchange is over.
 */
bool __must_check rpcrdma_session_auth_late(struct rpcrdma_session *s);

/**
 * rpcrdma_session_auth_end - the connection has ended
 * @s: the session
 *
 * No secret is left in @s. An exchange that was under way has failed.
 */
void rpcrdma_session_auth_end(struct rpcrdma_session *s);

#ifdef __cplusplus
}
#endif

#endif /* _RPCRDMA_AUTH_H */
