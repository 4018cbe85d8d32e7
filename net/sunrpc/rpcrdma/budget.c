// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How much memory the module holds. The core decides (core/budget.h); here are the lock, the
 * module parameter, and the way to those who have to ask again.
 *
 * A connection that needs no more than its reserve changes its own account only. The lock is
 * taken for a batch of memory, for buffers of connections, and by those who look.
 */
#include <linux/mm.h>
#include <linux/moduleparam.h>
#include <linux/spinlock.h>
#include <linux/workqueue.h>

#include "budget.h"
#include "server/server.h"

/* With less, a few largest Calls would not fit. In MiB. */
#define RPCRDMA_MEMORY_LEAST	16
/* One part in so many of the machine's memory, if nothing else is said. */
#define RPCRDMA_MEMORY_PART	4

/* The innermost lock. */
static DEFINE_SPINLOCK(rpcrdma_budget_lock);
static struct rpcrdma_budget rpcrdma_budget;
/* What the budget said last, for those without the lock. */
static bool rpcrdma_budget_scarce;
/* The module goes. Its parameter can be written until it has gone. */
static bool rpcrdma_memory_over;

static void rpcrdma_memory_worker(struct work_struct *work)
{
	rpcrdma_listeners_retry();
}

static DECLARE_WORK(rpcrdma_memory_work, rpcrdma_memory_worker);

/* After each change. @tell: who was held back has to ask again. */
static void rpcrdma_memory_changed(bool tell)
	__must_hold(&rpcrdma_budget_lock)
{
	const bool scarce = rpcrdma_budget_short(&rpcrdma_budget);

	lockdep_assert_held(&rpcrdma_budget_lock);
	if (scarce != rpcrdma_budget_scarce)
		WRITE_ONCE(rpcrdma_budget_scarce, scarce);
	if (tell && !rpcrdma_memory_over)
		schedule_work(&rpcrdma_memory_work);
}

static int rpcrdma_memory_errno(u32 verdict)
{
	switch (verdict) {
	case RPCRDMA_BUDGET_START:
		return 0;
	case RPCRDMA_BUDGET_REFUSE:
		return -E2BIG;
	default:
		return -EDQUOT;
	}
}

/**
 * rpcrdma_memory_charge - memory for as long as a connection exists
 * @octets: how much
 * @must: whoever wants it cannot wait
 *
 * Return: 0; %-EDQUOT if there is not enough now; %-E2BIG if there never is.
 */
int rpcrdma_memory_charge(u64 octets, bool must)
{
	u32 verdict;

	spin_lock(&rpcrdma_budget_lock);
	verdict = rpcrdma_budget_charge(&rpcrdma_budget, octets, must);
	rpcrdma_memory_changed(false);
	spin_unlock(&rpcrdma_budget_lock);
	return rpcrdma_memory_errno(verdict);
}

/**
 * rpcrdma_memory_uncharge - the opposite
 * @octets: how much of it
 */
void rpcrdma_memory_uncharge(u64 octets)
{
	bool tell;

	if (!octets)
		return;
	spin_lock(&rpcrdma_budget_lock);
	tell = rpcrdma_budget_uncharge(&rpcrdma_budget, octets);
	rpcrdma_memory_changed(tell);
	spin_unlock(&rpcrdma_budget_lock);
}

/**
 * rpcrdma_memory_short - does the module hold nearly all that it may?
 *
 * Context: Any. Takes no lock.
 *
 * Return: true if less than an eighth is left. What is not needed should be given back then.
 */
bool rpcrdma_memory_short(void)
{
	return READ_ONCE(rpcrdma_budget_scarce);
}

/**
 * rpcrdma_memory_info - for those who look
 * @copy: filled in
 */
void rpcrdma_memory_info(struct rpcrdma_budget *copy)
{
	spin_lock(&rpcrdma_budget_lock);
	*copy = rpcrdma_budget;
	spin_unlock(&rpcrdma_budget_lock);
}

/**
 * rpcrdma_memory_close - a connection of a server is over
 * @a: its account, which nobody else knows any more; what it used is freed
 */
void rpcrdma_memory_close(struct rpcrdma_account *a)
{
	bool tell;

	spin_lock(&rpcrdma_budget_lock);
	tell = rpcrdma_account_close(&rpcrdma_budget, a);
	rpcrdma_memory_changed(tell);
	spin_unlock(&rpcrdma_budget_lock);
}

static u32 rpcrdma_memory_draw(struct rpcrdma_account *a, u32 kind, u32 octets,
			       bool must)
{
	u32 verdict;

	spin_lock(&rpcrdma_budget_lock);
	verdict = rpcrdma_budget_draw(&rpcrdma_budget, a, kind, octets, must);
	rpcrdma_memory_changed(false);
	spin_unlock(&rpcrdma_budget_lock);
	return verdict;
}

/**
 * rpcrdma_memory_call - memory for a Call that can wait
 * @a: the account
 * @octets: what it needs, no more than rpcrdma_account_fits() allows
 * @alone: no other Call is about to give memory back
 *
 * Return: false if it has to wait until rpcrdma_memory_put().
 */
bool rpcrdma_memory_call(struct rpcrdma_account *a, u32 octets, bool alone)
{
	u32 verdict = rpcrdma_account_call(a, octets, alone);

	if (verdict == RPCRDMA_BUDGET_DRAW)
		verdict = rpcrdma_memory_draw(a, RPCRDMA_BUDGET_CALLS, octets,
					      alone);
	return verdict == RPCRDMA_BUDGET_START;
}

/**
 * rpcrdma_memory_take - memory for what is there already
 * @a: the account
 * @kind: enum rpcrdma_budget_kind
 * @octets: how much
 */
void rpcrdma_memory_take(struct rpcrdma_account *a, u32 kind, u32 octets)
{
	if (rpcrdma_account_take(a, kind, octets) == RPCRDMA_BUDGET_DRAW)
		rpcrdma_memory_draw(a, kind, octets, true);
}

/**
 * rpcrdma_memory_put - memory is free again
 * @a: the account
 * @kind: enum rpcrdma_budget_kind
 * @octets: how much
 *
 * Return: true if Replies were too much for further Calls, and now are not.
 */
bool rpcrdma_memory_put(struct rpcrdma_account *a, u32 kind, u32 octets)
{
	const bool full = rpcrdma_account_replies_full(a);
	const u32 back = rpcrdma_account_put(a, kind, octets,
					     rpcrdma_memory_short());
	bool tell;

	if (back) {
		spin_lock(&rpcrdma_budget_lock);
		tell = rpcrdma_budget_give(&rpcrdma_budget, a, back);
		rpcrdma_memory_changed(tell);
		spin_unlock(&rpcrdma_budget_lock);
	}
	return full && !rpcrdma_account_replies_full(a);
}

/**
 * rpcrdma_memory_extend - the largest Call is larger than was thought
 * @a: the account
 * @reserve: what it takes, even if the module does not have so much; whoever ends the
 *	connection releases the difference, too
 *
 * Return: as rpcrdma_memory_put().
 */
bool rpcrdma_memory_extend(struct rpcrdma_account *a, u32 reserve)
{
	const bool full = rpcrdma_account_replies_full(a);
	bool tell;

	spin_lock(&rpcrdma_budget_lock);
	tell = rpcrdma_budget_extend(&rpcrdma_budget, a, reserve);
	rpcrdma_memory_changed(tell);
	spin_unlock(&rpcrdma_budget_lock);
	return full && !rpcrdma_account_replies_full(a);
}

/**
 * rpcrdma_memory_limit - the module may hold more or less from now on
 * @limit: bytes
 */
void rpcrdma_memory_limit(u64 limit)
{
	bool tell;

	spin_lock(&rpcrdma_budget_lock);
	tell = rpcrdma_budget_change(&rpcrdma_budget, limit);
	rpcrdma_memory_changed(tell);
	spin_unlock(&rpcrdma_budget_lock);
}

/* The limit that the module parameter means. */
static u64 rpcrdma_memory_wanted(void)
{
	const u64 mib = READ_ONCE(rpcrdma_memory);
	const u64 part = ((u64)totalram_pages() << PAGE_SHIFT) /
			 RPCRDMA_MEMORY_PART;
	const u64 least = (u64)RPCRDMA_MEMORY_LEAST << 20;

	return max(mib ? mib << 20 : part, least);
}

static int rpcrdma_memory_set(const char *val, const struct kernel_param *kp)
{
	int rc = param_set_uint(val, kp);

	if (!rc)
		rpcrdma_memory_limit(rpcrdma_memory_wanted());
	return rc;
}

const struct kernel_param_ops rpcrdma_memory_ops = {
	.set = rpcrdma_memory_set,
	.get = param_get_uint,
};

/**
 * rpcrdma_memory_init - nothing is held
 *
 * The parameter has been set before, if somebody has set it.
 */
void rpcrdma_memory_init(void)
{
	rpcrdma_budget_init(&rpcrdma_budget, rpcrdma_memory_wanted());
}

/**
 * rpcrdma_memory_exit - no connection is left
 *
 * Context: Process context. May sleep.
 */
void rpcrdma_memory_exit(void)
{
	spin_lock(&rpcrdma_budget_lock);
	rpcrdma_memory_over = true;
	spin_unlock(&rpcrdma_budget_lock);
	cancel_work_sync(&rpcrdma_memory_work);
	WARN_ON_ONCE(rpcrdma_budget.held);
}
