/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A server that is silent. For C.
 *
 * The rules of <rpcrdma/core.h> hold.
 */
#ifndef _RPCRDMA_SILENCE_H
#define _RPCRDMA_SILENCE_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

enum rpcrdma_silence_verdict {
	RPCRDMA_SILENCE_WAIT,		/* there is nothing to do */
	RPCRDMA_SILENCE_ASK,		/* send a probe */
	RPCRDMA_SILENCE_UNANSWERED,	/* no answer to the probe: give the connection up */
	RPCRDMA_SILENCE_NO_CREDIT,	/* Calls wait for credit that cannot come: likewise */
};

/**
 * struct rpcrdma_silence - how long a client has heard nothing; zero at first
 * @received: messages received at the last look
 * @quiet: looks without a message since the one before
 * @stalled: those of them at which Calls waited for credit and nothing was outstanding
 */
struct rpcrdma_silence {
	u32 received;
	u32 quiet;
	u32 stalled;
};

/**
 * struct rpcrdma_silence_seen - a connection when a client looks
 * @received: of struct rpcrdma_session_info
 * @outstanding: likewise
 * @may_ask: the client is to ask, and can
 * @asked: the probe is not answered
 * @posted: all of the probe is out
 * @kept: a Call was not admitted, and waits
 */
struct rpcrdma_silence_seen {
	u32 received;
	u32 outstanding;
	bool may_ask;
	bool asked;
	bool posted;
	bool kept;
};

/**
 * rpcrdma_silence_look - look at a connection, an interval after the last look
 * @s: of this connection
 * @seen: the connection now
 *
 * Return: enum rpcrdma_silence_verdict. The caller gives up a silent server at the third
 * look at the latest, with two exceptions: as long as a Reply is awaited, a Call or a
 * probe may wait for credit; and without @may_ask nobody finds out that a server is dead
 * to which nothing is to be sent.
 */
u32 __must_check rpcrdma_silence_look(struct rpcrdma_silence *s,
				      const struct rpcrdma_silence_seen *seen);

#ifdef __cplusplus
}
#endif

#endif /* _RPCRDMA_SILENCE_H */
