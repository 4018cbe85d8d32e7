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
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/version.h>

/* What comes with a request for a completion queue. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define rpcrdma_cq_request ib_udata
#else
#define rpcrdma_cq_request uverbs_attr_bundle
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#include <asm/unaligned.h>
#else
#include <linux/hex.h>
#include <linux/unaligned.h>
#endif

#ifndef KUNIT_EXPECT_MEMEQ
#define KUNIT_EXPECT_MEMEQ(test, left, right, size) \
	KUNIT_EXPECT_EQ(test, memcmp(left, right, size), 0)
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
