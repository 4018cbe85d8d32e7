/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The ring of a connection's Sends: which of them have a buffer, and when some are made or taken
 * away. For C.
 *
 * A connection at rest has buffers for some of its Sends only. The others are bare. These are
 * always the next ones, and behind them are Sends whose buffers are free:
 *
 *	tail              head                           tail + sends
 *	 |   under way     |   bare                |   free   |
 *
 * If a Send is bare when its turn comes it takes the buffer of the first one behind the bare
 * ones, which is bare then. It may have that before it is decided on: then the bare ones begin
 * behind it. So few buffers go round the whole ring, and nothing else depends on how many there
 * are: neither the order nor which Sends are signaled.
 *
 * One Send in each quarter of the ring is signaled at least, and completes all before it. So a
 * quarter of the ring can wait for a later Send, and those that have a buffer at rest must be
 * more than that.
 *
 * A Call that its owner can keep is only taken when there is room for it. If there is none, the
 * owner hears of it when there is: that takes completions, buffers that are made, or Calls that
 * do without the room that they were promised. No more room is asked for than is there when all
 * Sends have completed that are signaled anyway. So a Call that needs more than there ever is can
 * begin, and none waits for a Send that nobody posts.
 *
 * No function sleeps, allocates or locks, and the caller serializes all calls that name the same
 * ring. Numbers of Sends run freely and wrap at 2^32.
 */
#ifndef _RPCRDMA_RING_H
#define _RPCRDMA_RING_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* If no more Sends than this can be decided on, more buffers are made. */
#define RPCRDMA_RING_NEAR	4U
/* Likewise after so many Sends since the connection came to rest. */
#define RPCRDMA_RING_BUSY	256U
/* Between two looks so many Sends are no traffic. */
#define RPCRDMA_RING_QUIET	60U

/**
 * struct rpcrdma_claim - what a Call takes of the ring and of the send queue
 * @sends: Sends
 * @chain: Work Requests in front of the first Send
 */
struct rpcrdma_claim {
	u32 sends;
	u32 chain;
};

/**
 * struct rpcrdma_supply - the send queue, and what of it and of the ring is promised
 * @depth: Work Requests that it may have; every Send is signaled that leaves less than half
 * @avail: Work Requests that may be posted now
 * @sends: Sends that are not decided on, of Calls that have been taken
 * @chain: Work Requests in front of the first Sends of these
 */
struct rpcrdma_supply {
	u32 depth;
	u32 avail;
	u32 sends;
	u32 chain;
};

/**
 * struct rpcrdma_ring - the Sends of a connection
 * @sends: how many there are, a power of two, at least four
 * @rest: how many of them have a buffer at rest
 * @bare: how many have none
 * @head: the next one
 * @tail: those from here to @head are under way
 * @moved: @head at the last rpcrdma_ring_look()
 * @wanted: all are to have a buffer
 * @asked: what a Call takes whose owner keeps it until there is room; no Sends if there is none
 */
struct rpcrdma_ring {
	u32 sends;
	u32 rest;
	u32 bare;
	u32 head;
	u32 tail;
	u32 moved;
	bool wanted;
	struct rpcrdma_claim asked;
};

/* What is to be done by who looks. */
enum rpcrdma_ring_verdict {
	RPCRDMA_RING_FILL,	/* give all Sends a buffer, and look again */
	RPCRDMA_RING_KEEP,	/* look again */
	RPCRDMA_RING_FREE,	/* rpcrdma_ring_shrink(), and look again if that leaves too many */
};

/**
 * rpcrdma_ring_room - Sends that can be decided on now
 * @r: the ring
 *
 * Return: how many.
 */
static inline u32 rpcrdma_ring_room(const struct rpcrdma_ring *r)
{
	return r->sends - r->bare - (r->head - r->tail);
}

/**
 * rpcrdma_ring_signals - does a Send tell of its completion wherever it is?
 * @r: the ring
 * @i: its number
 *
 * Return: true if it is the one of its quarter.
 */
static inline bool rpcrdma_ring_signals(const struct rpcrdma_ring *r, u32 i)
{
	return (i & (r->sends / 4 - 1)) == 0;
}

/**
 * rpcrdma_ring_fits - is there room for a Call?
 * @r: the ring
 * @s: the send queue
 * @c: what the Call takes; @c->chain is less than half of @s->depth
 *
 * Return: true if all of it can go, behind what is promised; or if it never could, but as much as
 * there is when nothing else is sent.
 */
static inline bool rpcrdma_ring_fits(const struct rpcrdma_ring *r,
				     const struct rpcrdma_supply *s,
				     const struct rpcrdma_claim *c)
{
	const u32 chains = s->chain + c->chain;
	const u32 work = s->avail > chains ? s->avail - chains : 0;
	const u32 half = s->depth / 2 - c->chain;
	u32 room = rpcrdma_ring_room(r);
	/* The others may wait for a later Send. */
	u32 sure = r->sends - r->bare - (r->sends / 4 - 1);

	if (room > work)
		room = work;
	if (sure > half)
		sure = half;
	return s->sends + (c->sends < sure ? c->sends : sure) <= room;
}

/**
 * rpcrdma_ring_ask - there is no room for a Call, so its owner keeps it
 * @r: the ring
 * @retry: as for rpcrdma_ring_turn()
 * @c: what the Call takes
 *
 * Return: true if somebody has to look, soon.
 */
bool __must_check rpcrdma_ring_ask(struct rpcrdma_ring *r, bool retry,
				   const struct rpcrdma_claim *c);

/**
 * rpcrdma_ring_answers - is there room for the Call that was kept?
 * @r: the ring
 * @s: the send queue
 *
 * Return: true once after rpcrdma_ring_ask(), when the Call fits.
 */
bool __must_check rpcrdma_ring_answers(struct rpcrdma_ring *r,
				       const struct rpcrdma_supply *s);

/**
 * rpcrdma_ring_turn - the turn of the next Send has come
 * @r: the ring, with room and bare Sends
 * @retry: buffers could be made the last time, or that was long ago
 * @from: gets the number of the Send whose buffer it takes, unless it has one
 *
 * Return: true if somebody has to look, soon.
 */
bool __must_check rpcrdma_ring_turn(struct rpcrdma_ring *r, bool retry,
				    u32 *from);

/**
 * rpcrdma_ring_awaits - there is too little room for a message whose Sends go at once
 * @r: the ring
 * @sends: of the message
 * @retry: as for rpcrdma_ring_turn()
 * @look: gets whether somebody has to look, soon
 *
 * If buffers can be made the message waits for these. If not, it waits only if there will be room
 * when what is under way has completed, however many of these Sends wait for a later one.
 *
 * Return: false if it must not wait.
 */
bool __must_check rpcrdma_ring_awaits(struct rpcrdma_ring *r, u32 sends,
				      bool retry, bool *look);

/**
 * rpcrdma_ring_grow - a buffer has been made
 * @r: the ring, with bare Sends
 * @early: the next Send has a buffer
 *
 * Return: the number of the Send that gets it.
 */
u32 __must_check rpcrdma_ring_grow(struct rpcrdma_ring *r, bool early);

/**
 * rpcrdma_ring_shrink - take one buffer away
 * @r: the ring
 * @early: the next Send has a buffer
 * @from: gets the number of the Send that loses it
 *
 * Return: false if what would be left is less than at rest, or too little for what is under way.
 */
bool __must_check rpcrdma_ring_shrink(struct rpcrdma_ring *r, bool early,
				      u32 *from);

/**
 * rpcrdma_ring_look - it was to be looked at, or some time has passed
 * @r: the ring
 *
 * Return: enum rpcrdma_ring_verdict.
 */
u32 __must_check rpcrdma_ring_look(struct rpcrdma_ring *r);

/**
 * rpcrdma_ring_rests - has it no more buffers than at rest?
 * @r: the ring
 *
 * Return: true if so.
 */
bool rpcrdma_ring_rests(const struct rpcrdma_ring *r);

/**
 * rpcrdma_ring_unused - may the buffer of a Send be replaced?
 * @r: the ring
 * @i: its number, or its place
 *
 * Return: true if it is neither decided on nor under way. It may be bare.
 */
bool rpcrdma_ring_unused(const struct rpcrdma_ring *r, u32 i);

/**
 * rpcrdma_ring_spare - Sends that a Call of many Sends may take
 * @r: the ring
 * @others: so many are for others
 * @lacking: buffers could not be made the last time
 *
 * Return: how many. Those that are bare get buffers, unless they are @lacking.
 */
u32 rpcrdma_ring_spare(const struct rpcrdma_ring *r, u32 others, bool lacking);

#ifdef __cplusplus
}
#endif

#endif /* _RPCRDMA_RING_H */
