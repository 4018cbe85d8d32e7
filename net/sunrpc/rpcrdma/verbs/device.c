// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * RDMA devices can be removed. Then every connection on the device is marked as
 * lost, and the removal waits until the owners have destroyed all of them.
 * ops->removed tells an owner that could take long for that.
 */
#include <linux/slab.h>

#include <trace/events/rpcrdma_v2.h>

#include "verbs.h"

static struct ib_client rpcrdma_ib_client;

/* Guards the device lists and the client data behind them. */
static DEFINE_MUTEX(rpcrdma_devices);
static LIST_HEAD(rpcrdma_device_list);

static void rpcrdma_device_unuse(struct rpcrdma_device *rd)
{
	if (refcount_dec_and_test(&rd->users))
		complete(&rd->idle);
}

static void rpcrdma_device_try(struct ib_device *device, u32 role)
{
	struct rpcrdma_sizes sizes;

	rpcrdma_conn_fit(device, role, &sizes);
	if (sizes.unfit)
		trace_rpcrdma_unfit(device->name, role,
				    rpcrdma_unfit_name(sizes.unfit));
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
	rd->device = device;
	mutex_lock(&rpcrdma_devices);
	list_add_tail(&rd->link, &rpcrdma_device_list);
	ib_set_client_data(device, &rpcrdma_ib_client, rd);
	mutex_unlock(&rpcrdma_devices);
	rpcrdma_device_try(device, RPCRDMA_ROLE_CLIENT);
	rpcrdma_device_try(device, RPCRDMA_ROLE_SERVER);
	return 0;
}

static void rpcrdma_device_leaves(struct ib_device *device, void *client_data)
{
	struct rpcrdma_device *rd = client_data;
	struct rpcrdma_conn *conn;

	mutex_lock(&rpcrdma_devices);
	rd->removed = true;
	list_del(&rd->link);
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
 * rpcrdma_device_next - what is to be said of one device after another
 * @net: the network namespace that has to be able to use it
 * @from: the lowest index that it may have
 * @info: filled in
 *
 * Context: Process context. May sleep.
 *
 * Return: false if there is none.
 */
bool rpcrdma_device_next(const struct net *net, u32 from,
			 struct rpcrdma_device_info *info)
{
	struct rpcrdma_device *rd, *found = NULL;
	struct rpcrdma_conn *conn;
	struct ib_device *device;

	mutex_lock(&rpcrdma_devices);
	list_for_each_entry(rd, &rpcrdma_device_list, link) {
		if (rd->device->index < from ||
		    !rdma_dev_access_netns(rd->device, net))
			continue;
		if (!found || rd->device->index < found->device->index)
			found = rd;
	}
	if (found) {
		device = found->device;
		info->index = device->index;
		/* dev_name() can be freed meanwhile, if somebody renames it. */
		strscpy(info->name, device->name, sizeof(info->name));
		info->iwarp = rdma_protocol_iwarp(device,
						  rdma_start_port(device));
		info->conns = 0;
		list_for_each_entry(conn, &found->conns, device_link)
			info->conns += conn->net == net;
		rpcrdma_conn_fit(device, RPCRDMA_ROLE_CLIENT, &info->client);
		rpcrdma_conn_fit(device, RPCRDMA_ROLE_SERVER, &info->server);
	}
	mutex_unlock(&rpcrdma_devices);
	return found;
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
