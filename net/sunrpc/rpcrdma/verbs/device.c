// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * RDMA devices can be removed. Then every connection on the device is marked as
 * lost, and the removal waits until the owners have destroyed all of them.
 * ops->removed tells an owner that could take long for that.
 */
#include <linux/slab.h>

#include "verbs.h"

static struct ib_client rpcrdma_ib_client;

/* Guards the device lists and the client data behind them. */
static DEFINE_MUTEX(rpcrdma_devices);

static void rpcrdma_device_unuse(struct rpcrdma_device *rd)
{
	if (refcount_dec_and_test(&rd->users))
		complete(&rd->idle);
}

static int rpcrdma_device_arrives(struct ib_device *device)
{
	struct rpcrdma_device *rd;

	rd = kzalloc(sizeof(*rd), GFP_KERNEL);
	if (!rd)
		return -ENOMEM;
	refcount_set(&rd->users, 1);
	init_completion(&rd->idle);
	INIT_LIST_HEAD(&rd->conns);
	mutex_lock(&rpcrdma_devices);
	ib_set_client_data(device, &rpcrdma_ib_client, rd);
	mutex_unlock(&rpcrdma_devices);
	return 0;
}

static void rpcrdma_device_leaves(struct ib_device *device, void *client_data)
{
	struct rpcrdma_device *rd = client_data;
	struct rpcrdma_conn *conn;

	mutex_lock(&rpcrdma_devices);
	rd->removed = true;
	/* ib_core forgets it after this function only. */
	ib_set_client_data(device, &rpcrdma_ib_client, NULL);
	/* What is in the list has an owner: that frees itself after it has left. */
	list_for_each_entry(conn, &rd->conns, device_link) {
		rpcrdma_conn_lost(conn, "device removed");
		if (conn->ops->removed)
			conn->ops->removed(conn);
	}
	mutex_unlock(&rpcrdma_devices);

	rpcrdma_device_unuse(rd);
	wait_for_completion(&rd->idle);
	kfree(rd);
}

static struct ib_client rpcrdma_ib_client = {
	.name = "rpcrdma",
	.add = rpcrdma_device_arrives,
	.remove = rpcrdma_device_leaves,
};

/**
 * rpcrdma_device_add - a connection begins to use its device
 * @conn: the connection; ops->lost may come from now on
 *
 * Context: Process context. May sleep.
 *
 * Return: 0 or %-ENODEV if the device is going away.
 */
int rpcrdma_device_add(struct rpcrdma_conn *conn)
{
	struct rpcrdma_device *rd;
	int rc = -ENODEV;

	mutex_lock(&rpcrdma_devices);
	rd = ib_get_client_data(conn->cm_id->device, &rpcrdma_ib_client);
	if (rd && !rd->removed) {
		refcount_inc(&rd->users);
		list_add_tail(&conn->device_link, &rd->conns);
		conn->device = rd;
		rc = 0;
	}
	mutex_unlock(&rpcrdma_devices);
	return rc;
}

/**
 * rpcrdma_device_del - a connection has freed all resources of its device
 * @conn: the connection
 *
 * Context: Process context. May sleep.
 */
void rpcrdma_device_del(struct rpcrdma_conn *conn)
{
	struct rpcrdma_device *rd = conn->device;

	mutex_lock(&rpcrdma_devices);
	list_del_init(&conn->device_link);
	mutex_unlock(&rpcrdma_devices);
	rpcrdma_device_unuse(rd);
}

/**
 * rpcrdma_device_init - follow RDMA devices as they come and go
 *
 * Return: 0 or a negative errno.
 */
int rpcrdma_device_init(void)
{
	return ib_register_client(&rpcrdma_ib_client);
}

/**
 * rpcrdma_device_exit - no connection is left
 */
void rpcrdma_device_exit(void)
{
	ib_unregister_client(&rpcrdma_ib_client);
}
