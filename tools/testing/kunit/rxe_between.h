/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * For modules that put themselves between ib_core and rxe.
 *
 * ib_core calls a device by its ops, each time. Such a module puts functions of its own
 * there, which call what was there before. It stays: its functions may be running.
 */
#ifndef RXE_BETWEEN_H
#define RXE_BETWEEN_H

#include <linux/module.h>
#include <rdma/ib_verbs.h>

/* What was there before; of all devices of rxe the same. */
static typeof_member(struct ib_device, ops) rxe_between_ops;

/**
 * rxe_between() - keep what a device does, if it is rxe's
 * @device: the device, which a client of ib_core has just been told of
 *
 * Return: whether it is rxe's, so that its ops may be changed.
 */
static inline bool rxe_between(const struct ib_device *device)
{
	if (device->ops.driver_id != RDMA_DRIVER_RXE)
		return false;
	rxe_between_ops = device->ops;
	return true;
}

#endif /* RXE_BETWEEN_H */
