// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "registration.h"

namespace rpcrdma::registration
{

/*
 * Rows: the state; columns: POST, REMOTE_INV, LOCAL_INV, INV_DONE, LOSE. The outcome
 * zero (NONE) means that the event cannot happen in this state.
 */
static constexpr u8 kNext[RPCRDMA_MR_STATES][RPCRDMA_MR_EVENTS] = {
	/* NONE */
	{},
	/* FREE */
	{ 0, 0, 0, 0, RPCRDMA_MR_LOST },
	/* HELD */
	{ RPCRDMA_MR_ACTIVE, 0, 0, 0, RPCRDMA_MR_LOST },
	/* ACTIVE */
	{ 0, RPCRDMA_MR_HELD, RPCRDMA_MR_INVALIDATING, 0, RPCRDMA_MR_LOST },
	/* INVALIDATING */
	{ 0, 0, 0, RPCRDMA_MR_HELD, RPCRDMA_MR_LOST },
	/* LOST */
	{ 0, 0, 0, 0, RPCRDMA_MR_LOST },
};

static_assert(RPCRDMA_MR_NONE == 0 && RPCRDMA_MR_FREE == 1 &&
	      RPCRDMA_MR_HELD == 2 && RPCRDMA_MR_ACTIVE == 3 &&
	      RPCRDMA_MR_INVALIDATING == 4 && RPCRDMA_MR_LOST == 5);
static_assert(RPCRDMA_MR_POST == 0 && RPCRDMA_MR_REMOTE_INV == 1 &&
	      RPCRDMA_MR_LOCAL_INV == 2 && RPCRDMA_MR_INV_DONE == 3 &&
	      RPCRDMA_MR_LOSE == 4);

u32 next_state(u32 state, u32 event)
{
	if (state >= RPCRDMA_MR_STATES || event >= RPCRDMA_MR_EVENTS)
		return RPCRDMA_MR_NONE;
	return kNext[state][event];
}

static void move(Table &t, Slot &s, u32 state)
{
	t.count[s.state]--;
	t.count[state]++;
	s.state = static_cast<u16>(state);
}

/*
 * The free list is doubly linked, because a dead queue pair takes regions out
 * of its middle. A FREE region has no handle: the link back is kept there.
 */
static void push(Table &t, u32 index)
{
	Slot &s = t.slots[index];

	s.next = static_cast<u16>(t.free_head);
	s.handle = kEnd;
	if (t.free_head != kEnd)
		t.slots[t.free_head].handle = index;
	t.free_head = index;
}

static void unlink(Table &t, u32 index)
{
	Slot &s = t.slots[index];

	if (s.handle == kEnd)
		t.free_head = s.next;
	else
		t.slots[s.handle].next = s.next;
	if (s.next != kEnd)
		t.slots[s.next].handle = s.handle;
	s.next = kEnd;
	s.handle = 0;
}

/* Regions that there are. */
static u32 regions(const Table &t)
{
	return t.capacity - t.count[RPCRDMA_MR_NONE];
}

static u32 in_use(const Table &t)
{
	return regions(t) - t.count[RPCRDMA_MR_FREE];
}

static bool in_state(const Table &t, u32 index, u32 state)
{
	return index < t.capacity && t.slots[index].state == state;
}

/* Each free region is in the list once, and what is there besides is in no list. */
static bool free_list_is_sound(const Table &t)
{
	u32 before = kEnd;
	u32 n = 0;

	for (u32 i = t.free_head; i != kEnd; i = t.slots[i].next) {
		if (!in_state(t, i, RPCRDMA_MR_FREE) ||
		    t.slots[i].handle != before)
			return false;
		before = i;
		n++;
	}
	return n == t.count[RPCRDMA_MR_FREE];
}

bool invariants(const Table &t)
{
	u32 count[RPCRDMA_MR_STATES] = {};

	for (u32 i = 0; i < t.capacity; i++) {
		const Slot &s = t.slots[i];

		if (s.state >= RPCRDMA_MR_STATES ||
		    (s.state != RPCRDMA_MR_FREE && s.next != kEnd))
			return false;
		count[s.state]++;
	}
	for (u32 state = 0; state < RPCRDMA_MR_STATES; state++)
		if (count[state] != t.count[state])
			return false;
	return free_list_is_sound(t);
}

void init(Table &t, Slot *slots, u32 capacity)
{
	t.slots = slots;
	t.capacity = capacity < kEnd ? capacity : kEnd - 1;
	t.free_head = kEnd;
	t.most = 0;
	for (u32 &n : t.count)
		n = 0;
	t.count[RPCRDMA_MR_NONE] = t.capacity;
	for (u32 i = 0; i < t.capacity; i++)
		slots[i] = { 0, RPCRDMA_MR_NONE, kEnd };
}

bool add(Table &t, u32 index)
{
	if (!in_state(t, index, RPCRDMA_MR_NONE))
		return false;
	move(t, t.slots[index], RPCRDMA_MR_FREE);
	push(t, index);
	return true;
}

s32 take(Table &t)
{
	const u32 index = t.free_head;

	if (index == kEnd)
		return -1;
	unlink(t, index);
	move(t, t.slots[index], RPCRDMA_MR_HELD);
	if (in_use(t) > t.most)
		t.most = in_use(t);
	return static_cast<s32>(index);
}

bool event(Table &t, u32 index, u32 event, u32 handle)
{
	if (index >= t.capacity)
		return false;

	Slot &s = t.slots[index];
	const u32 state = next_state(s.state, event);
	if (state == RPCRDMA_MR_NONE)
		return false;
	switch (event) {
	case RPCRDMA_MR_POST:
		s.handle = handle;
		break;
	case RPCRDMA_MR_LOSE:
		if (s.state == RPCRDMA_MR_FREE)
			unlink(t, index);
		break;
	default:
		if (s.handle != handle)
			return false;
	}
	move(t, s, state);
	return true;
}

bool put(Table &t, u32 index)
{
	if (!in_state(t, index, RPCRDMA_MR_HELD))
		return false;
	move(t, t.slots[index], RPCRDMA_MR_FREE);
	push(t, index);
	return true;
}

bool rested(Table &t, u32 keep)
{
	const bool few = t.most <= keep;

	t.most = in_use(t);
	return few;
}

s32 remove(Table &t, u32 keep)
{
	u32 index = t.free_head;

	if (index == kEnd || regions(t) <= keep)
		return -1;
	/* The one that has been free for longest: of the others the device may still know. */
	while (t.slots[index].next != kEnd)
		index = t.slots[index].next;
	unlink(t, index);
	move(t, t.slots[index], RPCRDMA_MR_NONE);
	return static_cast<s32>(index);
}

} // namespace rpcrdma::registration
