// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What a client remembers of servers when it connects again.
 */
#include <kunit/test.h>
#include <linux/inet.h>
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

static struct kunit_case connect_cases[] = {
	KUNIT_CASE(connect_remembers_silence_for_an_hour),
	{ }
};

static struct kunit_suite connect_suite = {
	.name = "rpcrdma_connect",
	.test_cases = connect_cases,
};

kunit_test_suite(connect_suite);
