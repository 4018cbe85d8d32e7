/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Defines functions for KUnit's tests that older kernels lack, like rpcrdma/compat.h for the
 * module. The compiler includes this file at the head of every C file here.
 */
#ifndef _RPCRDMA_KUNIT_COMPAT_H
#define _RPCRDMA_KUNIT_COMPAT_H

#include <kunit/resource.h>
#include <kunit/test.h>
#include <linux/gfp.h>
#include <linux/list.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
static inline size_t list_count_nodes(struct list_head *head)
{
	struct list_head *at;
	size_t count = 0;

	list_for_each(at, head)
		count++;
	return count;
}
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
typedef void kunit_action_t(void *);

struct rpcrdma_kunit_action {
	kunit_action_t *run;
	void *ctx;
};

static inline void rpcrdma_kunit_run_action(struct kunit_resource *resource)
{
	struct rpcrdma_kunit_action *action = resource->data;

	action->run(action->ctx);
}

/* KUnit frees what came last first, so the action is there until it has run. */
static inline int kunit_add_action_or_reset(struct kunit *test, kunit_action_t *run, void *ctx)
{
	struct rpcrdma_kunit_action *action = kunit_kzalloc(test, sizeof(*action), GFP_KERNEL);

	if (!action)
		goto reset;
	action->run = run;
	action->ctx = ctx;
	if (!kunit_alloc_resource(test, NULL, rpcrdma_kunit_run_action, GFP_KERNEL, action))
		goto reset;
	return 0;

reset:
	run(ctx);
	return -ENOMEM;
}
#endif

#endif /* _RPCRDMA_KUNIT_COMPAT_H */
