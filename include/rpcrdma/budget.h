/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How much memory the module may hold, and who may have it. For C.
 *
 * There is one budget for the module. From it comes
 *
 * - what a connection has for as long as it exists: buffers, structs, memory regions, and at
 *   a server a reserve, enough for one largest Call. See rpcrdma_budget_charge(), and
 *   rpcrdma_budget_extend() for Calls that are larger than was thought.
 * - what the account of a server's connection draws, which pays for its Calls and Replies.
 *   They may use the reserve, which nobody else can take. With more than that the account
 *   draws on the budget, and gives back what it does not need.
 *
 * So while a connection holds no more than its reserve, it never looks at the budget. Beyond
 * it does so once for a batch of bytes. What is held back waits for its own connection only:
 * it was held back because that connection holds something, and whoever gives this back has
 * to ask again. Nobody waits for another connection's memory, except for new connections.
 *
 * Small Replies have a pool: bytes that are held when the connection is made, and in no account.
 * So nearly all Replies need no lock. Too many Replies, or too much memory of theirs in the
 * account, and no Call is begun: see struct rpcrdma_replies.
 *
 * The rules of <rpcrdma/core.h> hold: no function sleeps, allocates or locks. A function that
 * gets the budget needs a lock for it; a function that gets an account needs one for that.
 * All numbers are bytes.
 */
#ifndef _RPCRDMA_BUDGET_H
#define _RPCRDMA_BUDGET_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* An account draws and gives back no less than this, if it can. */
#define RPCRDMA_BUDGET_BATCH	(256U << 10)

/* What is to be done with who wants memory. */
enum rpcrdma_budget_verdict {
	RPCRDMA_BUDGET_START,		/* it has the memory */
	RPCRDMA_BUDGET_HOLD_BACK,	/* not now: ask again when memory is given back */
	RPCRDMA_BUDGET_REFUSE,		/* there will never be so much */
	RPCRDMA_BUDGET_DRAW,		/* ask the budget, by rpcrdma_budget_draw() */
};

/* What an account pays for. */
enum rpcrdma_budget_kind {
	RPCRDMA_BUDGET_CALLS,
	RPCRDMA_BUDGET_REPLIES,
	RPCRDMA_BUDGET_KINDS,
};

/**
 * struct rpcrdma_budget - the memory of the module
 * @limit: what it may hold
 * @batch: see RPCRDMA_BUDGET_BATCH
 * @held: what it holds, reserves included; beyond @limit only what could not be held back
 * @most: the largest @held
 * @wanted: the least that rpcrdma_budget_charge() has held back since it gave the word to ask
 *	again, or zero; never more than @limit
 * @held_back: how often @limit was why something was held back
 * @refused: how often something was refused
 */
struct rpcrdma_budget {
	u64 limit;
	u32 batch;
	u64 held;
	u64 most;
	u64 wanted;
	u64 held_back;
	u64 refused;
};

/**
 * struct rpcrdma_account - the memory of a connection's Calls and Replies
 * @reserve: what it may use without asking; zero if it is closed
 * @batch: of the budget
 * @drawn: what it has from the budget beyond @reserve
 * @forced: how much of @drawn the budget did not have
 * @used: what it uses; together never more than @reserve + @drawn
 * @limit: from there on more of this kind is held back
 * @most: the largest sum of @used
 * @waits: a Call was held back, and none has started since
 * @held_back: how many Calls were
 */
struct rpcrdma_account {
	u32 reserve;
	u32 batch;
	u32 drawn;
	u32 forced;
	u32 used[RPCRDMA_BUDGET_KINDS];
	u32 limit[RPCRDMA_BUDGET_KINDS];
	u32 most;
	bool waits;
	u64 held_back;
};

/**
 * struct rpcrdma_replies - the Replies of a connection that are not over, or kept
 * @number: how many
 * @pooled: bytes of those in the pool
 *
 * It is one word: threads can change it without a lock. Each makes the new value of the one that
 * it has read, and puts it there if that one still is.
 */
struct rpcrdma_replies {
	u32 number;
	u32 pooled;
};

/**
 * struct rpcrdma_replies_limits - what Replies may be, besides what their account says
 * @number: with so many no further Call is begun
 * @pool: bytes of the pool
 */
struct rpcrdma_replies_limits {
	u32 number;
	u32 pool;
};

/**
 * rpcrdma_budget_init - nothing is held
 * @b: the budget
 * @limit: what it may hold
 */
void rpcrdma_budget_init(struct rpcrdma_budget *b, u64 limit);

/**
 * rpcrdma_budget_change - another limit
 * @b: the budget
 * @limit: what it may hold from now on; what is held stays
 *
 * Return: true if who was held back by rpcrdma_budget_charge() has to ask again: there is room, or
 * the limit is less, and there may never be.
 */
bool __must_check rpcrdma_budget_change(struct rpcrdma_budget *b, u64 limit);

/**
 * rpcrdma_budget_short - is nearly everything held?
 * @b: the budget
 *
 * Return: true if less than an eighth is left.
 */
bool rpcrdma_budget_short(const struct rpcrdma_budget *b);

/**
 * rpcrdma_budget_charge - memory for as long as a connection exists
 * @b: the budget
 * @octets: how much
 * @must: whoever wants it cannot wait: others wait for the connection
 *
 * Return: START, HOLD_BACK or REFUSE.
 */
u32 __must_check rpcrdma_budget_charge(struct rpcrdma_budget *b, u64 octets,
				       bool must);

/**
 * rpcrdma_budget_uncharge - the opposite
 * @b: the budget
 * @octets: how much of it
 *
 * Return: as rpcrdma_budget_change().
 */
bool __must_check rpcrdma_budget_uncharge(struct rpcrdma_budget *b, u64 octets);

/**
 * rpcrdma_account_open - a connection begins
 * @a: its account, filled in
 * @batch: of the budget
 * @reserve: the largest Call; the budget holds it for as long as the account is open
 * @calls: from there on Calls are held back; not less than @reserve
 * @replies: from there on Replies are
 */
void rpcrdma_account_open(struct rpcrdma_account *a, u32 batch, u32 reserve,
			  u32 calls, u32 replies);

/**
 * rpcrdma_budget_extend - the largest Call of a connection is larger than was thought
 * @b: the budget, which holds the larger reserve even if it does not have so much: the
 *	connection has to go on
 * @a: the account
 * @reserve: the largest Call, not less than before
 *
 * Return: as rpcrdma_budget_change().
 */
bool __must_check rpcrdma_budget_extend(struct rpcrdma_budget *b,
					struct rpcrdma_account *a, u32 reserve);

/**
 * rpcrdma_account_close - the connection is over, and what it used is freed
 * @b: the budget, which goes on holding the reserve
 * @a: its account; one that is closed stays so
 *
 * Return: as rpcrdma_budget_change().
 */
bool __must_check rpcrdma_account_close(struct rpcrdma_budget *b,
					struct rpcrdma_account *a);

/**
 * rpcrdma_account_fits - can there ever be a Call of this size?
 * @a: the account
 * @octets: what it needs
 *
 * Return: START or REFUSE.
 */
u32 rpcrdma_account_fits(const struct rpcrdma_account *a, u32 octets);

/**
 * rpcrdma_account_call - memory for a Call that can wait
 * @a: the account
 * @octets: what it needs; rpcrdma_account_fits()
 * @alone: no other Call is about to give memory back, so this one must not wait
 *
 * Return: START, HOLD_BACK or DRAW. At START the account uses it.
 */
u32 __must_check rpcrdma_account_call(struct rpcrdma_account *a, u32 octets,
				      bool alone);

/**
 * rpcrdma_account_take - memory for what is there already
 * @a: the account
 * @kind: enum rpcrdma_budget_kind
 * @octets: how much
 *
 * Return: START or DRAW. At START the account uses it.
 */
u32 __must_check rpcrdma_account_take(struct rpcrdma_account *a, u32 kind,
				      u32 octets);

/**
 * rpcrdma_budget_draw - the budget decides
 * @b: the budget
 * @a: the account, for which the answer was DRAW
 * @kind: enum rpcrdma_budget_kind
 * @octets: how much it wants to use
 * @must: it cannot be held back: alone, or there already
 *
 * Return: START or HOLD_BACK. At START the account uses it.
 */
u32 __must_check rpcrdma_budget_draw(struct rpcrdma_budget *b,
				     struct rpcrdma_account *a, u32 kind,
				     u32 octets, bool must);

/**
 * rpcrdma_account_put - memory is free again
 * @a: the account
 * @kind: enum rpcrdma_budget_kind
 * @octets: how much
 * @scarce: rpcrdma_budget_short(), perhaps of a moment ago
 *
 * Return: how much the budget gets back, by rpcrdma_budget_give(), before anything else happens
 * to the account; often zero.
 */
u32 __must_check rpcrdma_account_put(struct rpcrdma_account *a, u32 kind,
				     u32 octets, bool scarce);

/**
 * rpcrdma_budget_give - take back what an account does not need
 * @b: the budget
 * @a: the account
 * @octets: what rpcrdma_account_put() has returned
 *
 * Return: as rpcrdma_budget_change().
 */
bool __must_check rpcrdma_budget_give(struct rpcrdma_budget *b,
				      struct rpcrdma_account *a, u32 octets);

/**
 * rpcrdma_account_calls_full - do Calls hold so much that no more may come?
 * @a: the account
 *
 * Return: true if Receives have to be held back. It becomes false at some
 * rpcrdma_account_put(), at the latest when there is only one Call and no Reply.
 */
bool rpcrdma_account_calls_full(const struct rpcrdma_account *a);

/**
 * rpcrdma_account_replies_full - do Replies hold so much that no Call may be begun?
 * @a: the account
 *
 * Return: true if so. It becomes false at some rpcrdma_account_put(), at the latest when
 * there is no Reply.
 */
static inline bool rpcrdma_account_replies_full(const struct rpcrdma_account *a)
{
	const u32 used = a->used[RPCRDMA_BUDGET_REPLIES];

	return used && (a->forced || used >= a->limit[RPCRDMA_BUDGET_REPLIES]);
}

/**
 * rpcrdma_replies_take - there is one Reply more
 * @r: the Replies
 * @limits: of them
 * @octets: its memory
 *
 * Return: true if it is in the pool; false if the account has to take it.
 */
bool __must_check
rpcrdma_replies_take(struct rpcrdma_replies *r,
		     const struct rpcrdma_replies_limits *limits, u32 octets);

/**
 * rpcrdma_replies_put - the opposite
 * @r: the Replies
 * @limits: of them
 * @octets: as before
 * @pooled: what rpcrdma_replies_take() has returned; if false, the account has got them back
 *
 * Return: true if there were too many, and now are not. Of this and the account, whichever makes
 * room last has to have threads look again that have found none: so each does when it makes some.
 */
bool __must_check
rpcrdma_replies_put(struct rpcrdma_replies *r,
		    const struct rpcrdma_replies_limits *limits, u32 octets,
		    bool pooled);

/**
 * rpcrdma_replies_many - are there too many, whatever they hold?
 * @r: the Replies
 * @limits: of them
 *
 * Return: true if so.
 */
static inline bool
rpcrdma_replies_many(const struct rpcrdma_replies *r,
		     const struct rpcrdma_replies_limits *limits)
{
	return r->number >= limits->number;
}

/**
 * rpcrdma_replies_full - may no further Call be begun?
 * @r: the Replies
 * @limits: of them
 * @a: their account
 *
 * Return: true if there are too many, or if they hold too much.
 */
static inline bool
rpcrdma_replies_full(const struct rpcrdma_replies *r,
		     const struct rpcrdma_replies_limits *limits,
		     const struct rpcrdma_account *a)
{
	return rpcrdma_replies_many(r, limits) ||
	       rpcrdma_account_replies_full(a);
}

/**
 * rpcrdma_replies_charged - a Reply was taken: is there anything to be done about those that are
 *	sent?
 * @r: the Replies
 * @limits: of them
 * @pooled: what rpcrdma_replies_take() has returned
 * @kept: Replies are kept that were sent, or it was found before that they hold too much
 *
 * What is in the pool has not charged the account.
 *
 * Return: false if none of them need give back memory.
 */
static inline bool
rpcrdma_replies_charged(const struct rpcrdma_replies *r,
			const struct rpcrdma_replies_limits *limits,
			bool pooled, bool kept)
{
	return !pooled || kept || rpcrdma_replies_many(r, limits);
}

#ifdef __cplusplus
}
#endif

#endif /* _RPCRDMA_BUDGET_H */
