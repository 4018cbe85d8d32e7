/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Facts about peers, remembered for a while. For C.
 *
 * The rules of <rpcrdma/core.h> hold.
 */
#ifndef _RPCRDMA_RECENT_H
#define _RPCRDMA_RECENT_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RPCRDMA_MAX_RECENT	64
#define RPCRDMA_RECENT_SECONDS	120
/* Suspicions that are as good as knowing. */
#define RPCRDMA_MAX_SUSPECTED	3

/**
 * struct rpcrdma_recent_entry - one thing
 * @peer: whose, by any key that survives its reconnects
 * @id: what: rpcrdma_call_id() of a Call, a port; host order
 * @since: when, in seconds
 * @suspected: how often, at most RPCRDMA_MAX_SUSPECTED, which means known; zero is
 *	an empty entry
 */
struct rpcrdma_recent_entry {
	u64 peer;
	u64 id;
	u32 since;
	u32 suspected;
};

/**
 * struct rpcrdma_recent - all of them; all zero is empty
 * @seconds: how long each is remembered; zero is RPCRDMA_RECENT_SECONDS
 * @entries: in a full table a new one takes the place of the oldest of the peer that
 *	has the most
 */
struct rpcrdma_recent {
	u32 seconds;
	struct rpcrdma_recent_entry entries[RPCRDMA_MAX_RECENT];
};

/**
 * rpcrdma_recent_note - remember something for as long as the table does
 * @t: the table
 * @peer: whose
 * @id: what: of a Call whose RDMA operation has ended its connection (section 7.3)
 *	what rpcrdma_call_id() returned
 * @now: seconds of any clock that does not go back
 *
 * What is there already is as of @now.
 */
void rpcrdma_recent_note(struct rpcrdma_recent *t, u64 peer, u64 id, u32 now);

/**
 * rpcrdma_recent_suspect - the same, if it may be chance
 * @t: the table
 * @peer: whose
 * @id: what
 * @now: seconds
 *
 * It is known once it has been suspected RPCRDMA_MAX_SUSPECTED times, with less
 * than RPCRDMA_RECENT_SECONDS between them.
 *
 * Return: true if it is known now.
 */
bool rpcrdma_recent_suspect(struct rpcrdma_recent *t, u64 peer, u64 id,
			    u32 now);

/**
 * rpcrdma_recent_known - has it been noted, not long ago?
 * @t: the table
 * @peer: whose
 * @id: what
 * @now: seconds
 */
bool __must_check rpcrdma_recent_known(const struct rpcrdma_recent *t, u64 peer,
				       u64 id, u32 now);

/* Words of a filter: if the table has few entries, it nearly always says no. See below. */
#define RPCRDMA_RECENT_WORDS	16

/**
 * rpcrdma_recent_bit - the bit of an entry in a filter
 * @peer: whose
 * @id: what
 *
 * Return: a bit in a filter; others may share it.
 */
u32 __must_check rpcrdma_recent_bit(u64 peer, u64 id);

/**
 * rpcrdma_recent_filter - make a filter of a table
 * @t: the table
 * @now: seconds
 * @words: gets the bits of all known entries, and no others: if the bit of an entry is
 *	clear it is not known, and the table need not be locked
 */
void rpcrdma_recent_filter(const struct rpcrdma_recent *t, u32 now,
			   u64 words[RPCRDMA_RECENT_WORDS]);

/**
 * rpcrdma_recent_forget - remove an entry that is not true any more
 * @t: the table
 * @peer: whose
 * @id: what
 * @now: seconds
 *
 * Return: true if it was known.
 */
bool __must_check rpcrdma_recent_forget(struct rpcrdma_recent *t, u64 peer,
					u64 id, u32 now);

#ifdef __cplusplus
}
#endif

#endif /* _RPCRDMA_RECENT_H */
