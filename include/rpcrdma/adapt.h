/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * When a connection is to have larger Receives, and when smaller ones, for C. The rule only
 * advises: its caller counts, measures, and asks the peer by <rpcrdma/xcharext.h>.
 *
 * No function sleeps, allocates or locks, and the caller serializes all calls that name the
 * same rule. Sizes are in octets.
 */
#ifndef _RPCRDMA_ADAPT_H
#define _RPCRDMA_ADAPT_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Storage for the rule of one connection; the core checks that it suffices. */
struct rpcrdma_adapt {
	u32 opaque[10];
};

/* Silence of so many milliseconds is idleness. */
#define RPCRDMA_ADAPT_IDLE_MS	60000

/**
 * struct rpcrdma_adapt_input - what a connection has counted, and what holds
 * @messages: RPC messages that this side has sent since the beginning, modulo 2^32
 * @continued: of these, those that went in several parts
 * @parts: Sends of @continued
 * @idle: milliseconds since there was the last message of either direction, but for those
 *	few that only keep a connection alive
 * @peer_receive: the peer's Receive Buffer Size, as far as this side can use it
 * @peer_send: the peer's Maximum Send Size
 * @local_receive: this side's Receive Buffer Size
 * @local_send: the largest that Sends of this side can be
 * @receives: Receives of this side
 * @budget: what they may take together
 * @now: milliseconds since any moment, modulo 2^32
 * @scarce: memory is short, whatever it is for
 * @asked_receive: the peer has been asked for other Receives, and that is not over
 * @asked_send: likewise for other Sends; or it cannot be asked for these any more
 */
struct rpcrdma_adapt_input {
	u32 messages;
	u32 continued;
	u32 parts;
	u32 idle;
	u32 peer_receive;
	u32 peer_send;
	u32 local_receive;
	u32 local_send;
	u32 receives;
	u64 budget;
	u32 now;
	bool scarce;
	bool asked_receive;
	bool asked_send;
};

/**
 * struct rpcrdma_adapt_advice - what to do, zero for nothing
 * @peer_receive: ask the peer for Receives of this size
 * @peer_send: ask the peer to send no more than this at once. If that is more than now,
 *	first have Receives of that size.
 * @local_receive: never zero: what the peer may ask for of this side's Receives, at most
 * @small_sends: until further advice, this side's Sends are to be as they were at first
 */
struct rpcrdma_adapt_advice {
	u32 peer_receive;
	u32 peer_send;
	u32 local_receive;
	bool small_sends;
};

/**
 * rpcrdma_adapt_init - the rule of a new connection
 * @a: storage, of any content
 * @least: Receives of the peer at the beginning, at least 1024
 * @own_least: the smallest that this side's Receives are, at least 1024
 * @most: the largest worth having
 */
void rpcrdma_adapt_init(struct rpcrdma_adapt *a, u32 least, u32 own_least,
			u32 most);

/**
 * rpcrdma_adapt_advise - to be asked now and then
 * @a: the rule
 * @in: counts and sizes
 * @advice: filled in
 *
 * What was counted up to the last advice that asked for other Receives is not counted again.
 */
void rpcrdma_adapt_advise(struct rpcrdma_adapt *a,
			  const struct rpcrdma_adapt_input *in,
			  struct rpcrdma_adapt_advice *advice);

/**
 * rpcrdma_adapt_answered - what has become of a request for larger Receives
 * @a: the rule
 * @accepted: the peer has them; or else it does not want to, and is asked less often
 */
void rpcrdma_adapt_answered(struct rpcrdma_adapt *a, bool accepted);

#ifdef __cplusplus
}
#endif

#endif /* _RPCRDMA_ADAPT_H */
