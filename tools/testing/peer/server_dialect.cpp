// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Our server, and clients that mean the dialect of 2016 by version 2 (D25).
 */
#include "headers.h"
#include "nfs3.h"

#include "../unit/dialect.h"

#include <gtest/gtest.h>

using namespace peer;
namespace old = unit::dialect;
namespace v1 = unit::v1;

static const Words kVersion1Only = { old::kErrVers, 1, 1 };

static void say(Peer &p, const Words &message)
{
	ASSERT_TRUE(p.send_as_is(unit::octets(message)));
}

/* A NULL call of version 1 is answered. */
static void works_in_version1(Peer &p)
{
	const u32 xid = p.new_xid();

	say(p, v1::prefix(xid, RPCRDMA1_MSG) + v1::kNoLists + null_call(xid));
	const Message m = p.next();
	const Words w = words(m.octets);

	ASSERT_GE(w.size(), 9u);
	EXPECT_EQ(w[0], xid);
	EXPECT_EQ(w[1], 1u);
	EXPECT_LE(w[2], 256u) << "a grant";
	EXPECT_EQ(Words(w.begin() + 3, w.begin() + 9),
		  (Words{ RPCRDMA1_MSG, 0, 0, 0, xid, RPCRDMA_REPLY }));
}

/* As section 5.2 there has it: ERR_VERS, and version 1 on the same connection. */
TEST(server_dialect, goes_on_with_version_1)
{
	const u32 n = static_cast<u32>(old::first_messages(0).size());

	for (u32 i = 0; i < n; i++) {
		SCOPED_TRACE(i);
		const u64 before = total("refused", "dialect:");
		const u64 grants = total("messages GRANT", "received");
		Peer p = Peer::connect();
		const u32 xid = p.new_xid();

		say(p, old::first_messages(xid)[i]);
		p.expect_error(xid, kVersion1Only);
		p.speak_version1();
		for (u32 calls = 0; calls < 100; calls++)
			works_in_version1(p);
		/* Nothing of version 2 any more, in either dialect. */
		say(p, old::call(xid));
		p.expect_error(xid, kVersion1Only);
		p.expect_silence();
		works_in_version1(p);
		EXPECT_EQ(total("refused", "dialect:"), before + 1);
		EXPECT_EQ(total("messages GRANT", "received"), grants);
	}
}

/* It is refused as often as it asks, whatever credits it asks for. */
TEST(server_dialect, again_and_again)
{
	Peer p = Peer::connect();

	for (u32 i = 0; i < 300; i++) {
		const u32 xid = p.new_xid();
		const auto all = old::first_messages(xid);
		Words w = all[i % all.size()];

		w[2] = i % 3 ? 0xffffffff / (i % 3) : 0;
		say(p, w);
		p.expect_error(xid, kVersion1Only);
	}
	p.expect_silence();
	p.speak_version1();
	works_in_version1(p);
}

/* One that knows both may begin again, with -07's first message. */
TEST(server_dialect, version_2_after_it)
{
	Peer p = Peer::connect();
	const u32 xid = p.new_xid();

	say(p, old::call(xid));
	p.expect_error(xid, kVersion1Only);
	say(p, unit::connprop(p.new_xid()));
	p.take_properties(p.next());
	p.expect_works();
}

/* What it cannot be: -07 has an answer for that. */
TEST(server_dialect, what_does_not_parse)
{
	for (const u32 direction : { 1u, 2u, 0xffffffffu }) {
		Peer p = Peer::connect();
		const u32 xid = p.new_xid();

		say(p, old::msg(xid, direction, null_call(xid)));
		p.expect_error(xid, { RPCRDMA2_ERR_INVAL_HTYPE });
	}
}

/* A server without version 1 has an error that both know. */
TEST(server_dialect, where_version_1_is_forbidden)
{
	const Setting only("/proc/sys/sunrpc/svc_rdma/min_version", 2);
	Peer p = Peer::connect();
	const u32 xid = p.new_xid();

	for (const Words &w : old::first_messages(xid)) {
		say(p, w);
		p.expect_error(xid, { old::kErrBadHeader });
	}
	say(p, unit::connprop(p.new_xid()));
	p.take_properties(p.next());
	p.expect_works();
}
