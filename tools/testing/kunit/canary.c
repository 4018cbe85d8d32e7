// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Bugs that the checking kernel must find. If it misses one of them, the
 * absence of reports about rpcrdma.ko proves little. The parameter chooses the bug,
 * for example "bug=overrun".
 */
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/scatterlist.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timer.h>

#include "canary_core.h"

#define CANARY_OCTETS	8
#define CANARY_FEW	2
#define CANARY_LOST	64
#define CANARY_SMALL	512

static char *bug = "none";
module_param(bug, charp, 0);
MODULE_PARM_DESC(bug, "the bug to have");

static unsigned int seconds;
module_param(seconds, uint, 0);
MODULE_PARM_DESC(seconds, "how long to hang, or to race");

/* What the compiler must not know. */
static u32 canary_offset = CANARY_OCTETS;
static u32 canary_bits = 32;
static u32 canary_index = CANARY_FEW;
static u8 canary_truth = 2;
static u32 canary_colour = 9;
static u32 canary_shifted;
static unsigned long canary_lost;
static u32 canary_raced;

static noinline void canary_overrun(void)
{
	u8 *octets = kmalloc(CANARY_OCTETS, GFP_KERNEL);

	if (octets)
		octets[READ_ONCE(canary_offset)] = 1;
	kfree(octets);
}

static noinline void canary_freed(void)
{
	u8 *octets = kzalloc(CANARY_OCTETS, GFP_KERNEL);

	kfree(octets);
	if (octets)
		canary_lost = canary_core_read(octets);
}

struct canary_timed {
	u8 in_front[CANARY_LOST];
	struct timer_list timer;
};

static void canary_rings(struct timer_list *timer)
{
}

/* The kernel uses it after this module has freed it. KASAN keeps what is in it for a while. */
static noinline void canary_timer(void)
{
	struct canary_timed *timed = kzalloc(sizeof(*timed), GFP_KERNEL);

	if (!timed)
		return;
	timer_setup(&timed->timer, canary_rings, 0);
	mod_timer(&timed->timer, jiffies + 1);
	kfree(timed);
	schedule_timeout_uninterruptible(4);
}

static noinline void canary_shift(void)
{
	canary_shifted = 1U << READ_ONCE(canary_bits);
}

/* What is read belongs to the same object, so that KASAN has nothing to say. */
static noinline void canary_bounds(void)
{
	static struct {
		u32 few[CANARY_FEW];
		u32 more[CANARY_FEW];
	} all;

	canary_lost = all.few[READ_ONCE(canary_index)];
}

static noinline void canary_bool(void)
{
	canary_lost = READ_ONCE(*(bool *)&canary_truth);
}

static noinline void canary_enum(void)
{
	canary_lost = canary_core_colour(&canary_colour);
}

/*
 * Many of two sizes, since not all are found. What kmemleak looks through may still have the
 * address of some: SLUB of 7.3 of small ones, in its sheaves; struct page of large ones, where
 * pages have been SLUB's before.
 */
static noinline void canary_leak(void)
{
	u32 i;

	for (i = 0; i < CANARY_LOST; i++) {
		char *lost = kzalloc(i % 2 ? CANARY_SMALL : 2 * KMALLOC_MAX_CACHE_SIZE,
				     GFP_KERNEL);

		/* No pointer to it. */
		if (lost)
			memcpy(lost, "canary", sizeof("canary"));
		canary_lost = ~(unsigned long)lost;
	}
}

static noinline void canary_locks(void)
{
	static DEFINE_MUTEX(one);
	static DEFINE_MUTEX(two);

	mutex_lock(&one);
	mutex_lock(&two);
	mutex_unlock(&two);
	mutex_unlock(&one);
	mutex_lock(&two);
	mutex_lock(&one);
	mutex_unlock(&one);
	mutex_unlock(&two);
}

static noinline void canary_sleep(void)
{
	/* Held by a task that sleeps. */
	static DEFINE_SPINLOCK(lock);

	spin_lock(&lock);
	might_sleep();
	spin_unlock(&lock);
}

static noinline void canary_list(void)
{
	LIST_HEAD(list);
	LIST_HEAD(entry);

	list_add(&entry, &list);
	list_add(&entry, &list);
}

/* The kernel does not live on. */
static noinline void canary_chain(void)
{
	struct scatterlist list[2], next[1];

	sg_init_table(list, ARRAY_SIZE(list));
	sg_init_table(next, ARRAY_SIZE(next));
	sg_chain(list, ARRAY_SIZE(list), next);
	canary_lost = ~(unsigned long)sg_page(&list[1]);
}

static noinline void canary_hang(void)
{
	long left = seconds * HZ;

	while (left)
		left = schedule_timeout_uninterruptible(left);
}

static int canary_racer(void *unused)
{
	while (!kthread_should_stop()) {
		canary_core_raise(&canary_raced);
		cond_resched();
	}
	return 0;
}

/* Two tasks raise a number without a lock: this one in C, the other one in C++. */
static noinline void canary_race(void)
{
	unsigned long end = jiffies + seconds * HZ;
	struct task_struct *racer = kthread_run(canary_racer, NULL, "canary");

	if (IS_ERR(racer))
		return;
	while (time_before(jiffies, end)) {
		canary_raced++;
		/* Not kept in a register. */
		barrier();
		cond_resched();
	}
	kthread_stop(racer);
}

/* No bug: what fails if somebody has asked failslab for it, in this task alone. */
static noinline void canary_refused(void)
{
	void *octets;

	current->make_it_fail = 1;
	octets = kmalloc(CANARY_OCTETS, GFP_KERNEL);
	current->make_it_fail = 0;
	pr_info("rpcrdma_canary: allocation %s\n",
		octets ? "granted" : "refused");
	kfree(octets);
}

static const struct {
	const char *name;
	void (*have)(void);
} canary_bugs[] = {
	{ "overrun", canary_overrun }, { "freed", canary_freed },
	{ "shift", canary_shift },     { "bounds", canary_bounds },
	{ "bool", canary_bool },       { "enum", canary_enum },
	{ "leak", canary_leak },       { "locks", canary_locks },
	{ "sleep", canary_sleep },     { "list", canary_list },
	{ "chain", canary_chain },     { "hang", canary_hang },
	{ "refused", canary_refused }, { "race", canary_race },
	{ "timer", canary_timer },
};

static int __init canary_init(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(canary_bugs); i++)
		if (!strcmp(bug, canary_bugs[i].name)) {
			canary_bugs[i].have();
			return 0;
		}
	return -EINVAL;
}
module_init(canary_init);

static void __exit canary_exit(void)
{
}
module_exit(canary_exit);

MODULE_DESCRIPTION("bugs for the kernel's checkers to find");
MODULE_LICENSE("Dual BSD/GPL");
