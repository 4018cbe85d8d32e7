// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What a client remembers of servers when it connects again.
 */
#include <kunit/test.h>
#include <linux/inet.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>

#include "client/client.h"

static struct rpcrdma_xprt *connect_to(struct kunit *test, const char *address,
				       u16 port)
{
	struct rpcrdma_xprt *rx = kunit_kzalloc(test, sizeof(*rx), GFP_KERNEL);
	struct sockaddr_in *sin;

	KUNIT_ASSERT_NOT_NULL(test, rx);
	rx->xprt.xprt_net = &init_net;
	sin = (struct sockaddr_in *)&rx->xprt.addr;
	sin->sin_family = AF_INET;
	sin->sin_addr.s_addr = in_aton(address);
	sin->sin_port = htons(port);
	return rx;
}

/*
 * A server that did not answer version 2 is not asked again for an hour. Other servers, and
 * another one at the same address, are.
 */
static void connect_remembers_silence_for_an_hour(struct kunit *test)
{
	const u32 hour = 60 * 60, now = ktime_get_seconds();
	struct rpcrdma_xprt *silent = connect_to(test, "192.0.2.7", 20049);
	struct rpcrdma_xprt *port = connect_to(test, "192.0.2.7", 20050);
	struct rpcrdma_xprt *other = connect_to(test, "192.0.2.8", 20049);

	KUNIT_EXPECT_FALSE(test, rpcrdma_silent(silent, now));
	rpcrdma_note_silent(silent, now);
	KUNIT_EXPECT_TRUE(test, rpcrdma_silent(silent, now));
	KUNIT_EXPECT_TRUE(test, rpcrdma_silent(silent, now + hour - 1));
	KUNIT_EXPECT_FALSE(test, rpcrdma_silent(silent, now + hour));
	KUNIT_EXPECT_FALSE(test, rpcrdma_silent(port, now));
	KUNIT_EXPECT_FALSE(test, rpcrdma_silent(other, now));

	/* Unless it shows that it speaks version 2. */
	KUNIT_EXPECT_FALSE(test, rpcrdma_forget_silent(other));
	KUNIT_EXPECT_TRUE(test, rpcrdma_forget_silent(silent));
	KUNIT_EXPECT_FALSE(test, rpcrdma_silent(silent, now));
	KUNIT_EXPECT_FALSE(test, rpcrdma_forget_silent(silent));
}

/* sizing.rst has both numbers, of 6.12. */
static void connect_slot_takes_what_sizing_says(struct kunit *test)
{
	const size_t size = sizeof(struct rpcrdma_req);

	KUNIT_EXPECT_GE(test, size, (size_t)2150);
	KUNIT_EXPECT_LE(test, size, (size_t)2350);
	KUNIT_EXPECT_EQ(test, kmalloc_size_roundup(size), (size_t)SZ_4K);
}

static int connect_event(struct rpcrdma_xprt *rx, struct rdma_cm_id *id,
			 enum rdma_cm_event_type type)
{
	struct rdma_cm_event event = { .event = type };

	rx->cm_error = 0;
	reinit_completion(&rx->step);
	return rpcrdma_client_cm_event(id, &event);
}

/* A transport with an id that belongs to no device yet. */
static struct rpcrdma_xprt *connect_with_id(struct kunit *test)
{
	struct rpcrdma_xprt *rx = connect_to(test, "192.0.2.7", 20049);

	spin_lock_init(&rx->conn_lock);
	init_completion(&rx->step);
	init_waitqueue_head(&rx->routed);
	rx->cm_id = rdma_create_id(&init_net, rpcrdma_client_cm_event, rx,
				   RDMA_PS_TCP, IB_QPT_RC);
	KUNIT_ASSERT_FALSE(test, IS_ERR(rx->cm_id));
	return rx;
}

/*
 * While rdma_cm looks for a route, it destroys the id of a device that goes: it looks at the id
 * once more after it has told this client of that. At any other time the client does.
 */
static void connect_leaves_the_id_of_a_device_that_goes(struct kunit *test)
{
	struct rpcrdma_xprt *rx = connect_with_id(test);
	struct rdma_cm_id *id = rx->cm_id;

	rx->routing = true;
	KUNIT_EXPECT_NE(test, connect_event(rx, id, RDMA_CM_EVENT_DEVICE_REMOVAL),
			0);
	KUNIT_EXPECT_NULL(test, rx->cm_id);
	KUNIT_EXPECT_FALSE(test, rx->routing);
	KUNIT_EXPECT_TRUE(test, completion_done(&rx->step));
	KUNIT_EXPECT_EQ(test, rx->cm_error, -ENOTCONN);

	/* An address that comes when the client has given up: nobody looks for a route. */
	KUNIT_EXPECT_EQ(test, connect_event(rx, id, RDMA_CM_EVENT_ADDR_RESOLVED), 0);
	KUNIT_EXPECT_FALSE(test, rx->routing);
	KUNIT_EXPECT_FALSE(test, completion_done(&rx->step));

	/* There is no route, since there is no device. */
	rx->cm_id = id;
	KUNIT_EXPECT_EQ(test, connect_event(rx, id, RDMA_CM_EVENT_ADDR_RESOLVED), 0);
	KUNIT_EXPECT_FALSE(test, rx->routing);
	KUNIT_EXPECT_TRUE(test, completion_done(&rx->step));
	KUNIT_EXPECT_EQ(test, rx->cm_error, -EINVAL);

	KUNIT_EXPECT_EQ(test, connect_event(rx, id, RDMA_CM_EVENT_DEVICE_REMOVAL), 0);
	KUNIT_EXPECT_PTR_EQ(test, rx->cm_id, id);
	KUNIT_EXPECT_TRUE(test, completion_done(&rx->step));
	rpcrdma_disconnect(rx);
	KUNIT_EXPECT_NULL(test, rx->cm_id);
}

struct connect_route {
	struct delayed_work work;
	struct rpcrdma_xprt *rx;
	struct rdma_cm_id *id;
};

static void connect_finds_a_route(struct work_struct *work)
{
	struct connect_route *route = container_of(to_delayed_work(work),
						   struct connect_route, work);

	connect_event(route->rx, route->id, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

/* Who gives up meanwhile, since the address has changed or time is over, waits for the route. */
static void connect_keeps_the_id_while_there_is_no_route(struct kunit *test)
{
	struct rpcrdma_xprt *rx = connect_with_id(test);
	struct connect_route route = { .rx = rx, .id = rx->cm_id };

	rx->routing = true;
	connect_event(rx, rx->cm_id, RDMA_CM_EVENT_ADDR_CHANGE);
	KUNIT_EXPECT_TRUE(test, completion_done(&rx->step));
	KUNIT_EXPECT_EQ(test, rx->cm_error, -ENOTCONN);
	KUNIT_EXPECT_TRUE(test, rx->routing);

	INIT_DELAYED_WORK_ONSTACK(&route.work, connect_finds_a_route);
	schedule_delayed_work(&route.work, HZ / 10);
	rpcrdma_disconnect(rx);
	/* If it did not wait, the id is gone before the event. */
	KUNIT_EXPECT_FALSE(test, cancel_delayed_work_sync(&route.work));
	KUNIT_EXPECT_FALSE(test, rx->routing);
	KUNIT_EXPECT_NULL(test, rx->cm_id);
	destroy_delayed_work_on_stack(&route.work);
}

static struct kunit_case connect_cases[] = {
	KUNIT_CASE(connect_remembers_silence_for_an_hour),
	KUNIT_CASE(connect_slot_takes_what_sizing_says),
	KUNIT_CASE(connect_leaves_the_id_of_a_device_that_goes),
	KUNIT_CASE(connect_keeps_the_id_while_there_is_no_route),
	{ }
};

static struct kunit_suite connect_suite = {
	.name = "rpcrdma_connect",
	.test_cases = connect_cases,
};

kunit_test_suite(connect_suite);
