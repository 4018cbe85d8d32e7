/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The shortest round trip of a connection, for C. The caller measures, and brings the time.
 *
 * No function sleeps, allocates or locks, and the caller serializes all calls that name the
 * same struct.
 */
#ifndef _RPCRDMA_ROUND_TRIP_H
#define _RPCRDMA_ROUND_TRIP_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is longer than before counts when it was the shortest for so long, */
#define RPCRDMA_ROUND_TRIP_MS	10000
/* and was measured so often. */
#define RPCRDMA_ROUND_TRIP_COUNT	8

/**
 * struct rpcrdma_round_trip - what has been measured; all zero at first
 * @since: when the present period began, in milliseconds
 * @count: measured in it
 * @shortest: of these, in microseconds; zero if there are none
 * @before: the shortest of the period before, likewise
 */
struct rpcrdma_round_trip {
	u32 since;
	u32 count;
	u32 shortest;
	u32 before;
};

/**
 * rpcrdma_round_trip_note - a message and its answer took some time
 * @r: what was measured before
 * @now: milliseconds, modulo 2^32
 * @took: microseconds
 *
 * Whatever delays a message or its answer makes this longer, and nothing makes it shorter.
 * So the shortest one of this period and the last one is what the way takes. A period ends
 * after RPCRDMA_ROUND_TRIP_MS, but not before there are RPCRDMA_ROUND_TRIP_COUNT of it: a
 * single one may have been slow.
 *
 * Return: the shortest one, in microseconds, never zero.
 */
u32 rpcrdma_round_trip_note(struct rpcrdma_round_trip *r, u32 now, u32 took);

#ifdef __cplusplus
}
#endif

#endif /* _RPCRDMA_ROUND_TRIP_H */
