/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Which of a connection's memory regions the peer may reach. For C.
 *
 * The rules of <rpcrdma/core.h> hold.
 */
#ifndef _RPCRDMA_REGIONS_H
#define _RPCRDMA_REGIONS_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Life of a memory region:
 *
 *   FREE -take-> HELD -post-> ACTIVE -remote_inv-----------------> HELD
 *                              |  \---invalidate-> INVALIDATING -done-> HELD
 *   HELD -put-> FREE
 *   NONE -add-> FREE -remove-> NONE
 *   any  -lost-> LOST (the queue pair died: destroy it, never reuse it)
 *
 * HELD: the peer cannot reach it; it may be mapped, unmapped, posted or put.
 * ACTIVE and INVALIDATING: the peer may reach it; nothing may touch its memory
 * mapping and put is refused.
 */
enum rpcrdma_mr_state {
	RPCRDMA_MR_NONE,	/* the slot has no region */
	RPCRDMA_MR_FREE,
	RPCRDMA_MR_HELD,
	RPCRDMA_MR_ACTIVE,
	RPCRDMA_MR_INVALIDATING,
	RPCRDMA_MR_LOST,
	RPCRDMA_MR_STATES
};

enum rpcrdma_mr_event {
	RPCRDMA_MR_POST,	/* registration is about to be posted */
	RPCRDMA_MR_REMOTE_INV,	/* a Receive completed with its handle */
	RPCRDMA_MR_LOCAL_INV,	/* Local Invalidate is about to be posted */
	RPCRDMA_MR_INV_DONE,	/* Local Invalidate completed */
	RPCRDMA_MR_LOSE,	/* the queue pair is dead */
	RPCRDMA_MR_EVENTS
};

/**
 * struct rpcrdma_mr_slot - bookkeeping for one memory region
 * @handle: rkey while not FREE; then a link
 * @state: enum rpcrdma_mr_state
 * @next: free list link
 */
struct rpcrdma_mr_slot {
	u32 handle;
	u16 state;
	u16 next;
};

/**
 * struct rpcrdma_mr_table - all memory regions of one connection
 * @slots: caller's array
 * @capacity: its size, under 65535
 * @free_head: internal
 * @count: slots in each state
 * @most: regions that were in use at once, since rpcrdma_mr_rested() looked
 */
struct rpcrdma_mr_table {
	struct rpcrdma_mr_slot *slots;
	u32 capacity;
	u32 free_head;
	u32 count[RPCRDMA_MR_STATES];
	u32 most;
};

void rpcrdma_mr_table_init(struct rpcrdma_mr_table *t,
			   struct rpcrdma_mr_slot *slots, u32 capacity);

/** rpcrdma_mr_add - slot @index now has a region. Return: false if it had one */
bool __must_check rpcrdma_mr_add(struct rpcrdma_mr_table *t, u32 index);

/** rpcrdma_mr_take - a free region, or -1 if there is none; it becomes HELD */
s32 __must_check rpcrdma_mr_take(struct rpcrdma_mr_table *t);

/**
 * rpcrdma_mr_event - something happened to a region
 * @t: the table
 * @index: the slot
 * @event: enum rpcrdma_mr_event
 * @handle: the rkey meant; must be the slot's own, except that POST sets it and
 *	LOSE, which concerns the region, ignores it
 *
 * Return: false if that cannot happen in this state; nothing changes.
 */
bool __must_check rpcrdma_mr_event(struct rpcrdma_mr_table *t, u32 index,
				   u32 event, u32 handle);

/** rpcrdma_mr_put - give back a HELD region. Return: false if it is not HELD */
bool __must_check rpcrdma_mr_put(struct rpcrdma_mr_table *t, u32 index);

/**
 * rpcrdma_mr_rested - would fewer regions do?
 * @t: the table
 * @keep: so many
 *
 * Return: true if at no time since the last call more than @keep were in use.
 */
bool __must_check rpcrdma_mr_rested(struct rpcrdma_mr_table *t, u32 keep);

/**
 * rpcrdma_mr_remove - take away a region that nobody uses
 * @t: the table
 * @keep: so many regions stay
 *
 * Return: its slot, which has none any more, or -1 if no other is free, or if there are no more
 * than @keep.
 */
s32 __must_check rpcrdma_mr_remove(struct rpcrdma_mr_table *t, u32 keep);

#ifdef __cplusplus
}
#endif

#endif /* _RPCRDMA_REGIONS_H */
