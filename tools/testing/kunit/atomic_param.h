/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * For modules that show what they count as parameters.
 */
#ifndef ATOMIC_PARAM_H
#define ATOMIC_PARAM_H

#include <linux/atomic.h>
#include <linux/module.h>

static int atomic_param_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%d\n", atomic_read((const atomic_t *)kp->arg));
}

static const struct kernel_param_ops atomic_param_ops = {
	.get = atomic_param_get,
};

/**
 * module_param_atomic() - a parameter that everybody may read and nobody may write
 * @name: of the parameter
 * @value: an atomic_t
 */
#define module_param_atomic(name, value) \
	module_param_cb(name, &atomic_param_ops, &(value), 0444)

#endif /* ATOMIC_PARAM_H */
