// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Our client, and servers that mean the dialect of 2016 by version 2 (D25).
 */
#include "nfs3.h"

#include "../unit/dialect.h"
#include "../unit/version1.h"

#include <gtest/gtest.h>

#include <cerrno>

using namespace peer;
namespace old = unit::dialect;
namespace v1 = unit::v1;

static constexpr u32 kTiny = 512;
static constexpr u32 kLarge = 65536;

/*
 * It knows no CONNPROP: the first message has a bad header. Every other connection
 * speaks version 1.
 */
class Server2016 : public Nfs3 {
public:
	explicit Server2016(u32 code = old::kErrBadHeader)
	{
		opening = [this, code](Peer &p) {
			if (connections() % 2)
				return refuse_properties(p, code);
			p.speak_version1();
			if (!version1)
				refuse_version1(p);
		};
		control = [this](Peer &, const Message &) {
			others++;
		};
	}

	/* It ends the connection itself. */
	bool ends = false;
	/* It speaks version 1 as well. */
	bool version1 = true;
	/* First messages that were refused. */
	u32 refused = 0;
	/* Messages besides that were none of version 1. */
	u32 others = 0;

private:
	void refuse_properties(Peer &p, u32 code)
	{
		const Message m = p.next();

		EXPECT_EQ(m.vers(), 2u);
		EXPECT_EQ(m.htype(), u32{ RPCRDMA2_CONNPROP_FINAL });
		EXPECT_LE(m.octets.size(), 1024u);
		refused++;
		/* Its credits are those of version 1. */
		p.send_as_is(unit::octets(old::prefix(m.xid(), old::kError) +
					  Words{ code }));
		if (ends)
			p.link().disconnect();
		else
			p.expect_closed();
	}

	static void refuse_version1(Peer &p)
	{
		const Message m = p.next();

		EXPECT_EQ(m.vers(), 1u);
		p.send_as_is(unit::octets(v1::err_vers(m.xid(), 2, 2)));
	}
};

TEST(client_dialect, comes_again_with_version_1)
{
	const Version1 allowed;

	for (const u32 code :
	     { old::kErrBadHeader, u32{ RPCRDMA2_ERR_INVAL_HTYPE } }) {
		Server2016 server(code);
		const long begin = now();

		server.mount();
		EXPECT_LT(now() - begin, 5000) << "nobody waits for anything";
		EXPECT_EQ(server.connections(), 2u);
		for (const u32 length : { kTiny, kLarge }) {
			EXPECT_EQ(server.write(4096, length), 0) << length;
			EXPECT_EQ(server.read(4096, length), 0) << length;
		}
		server.works();
		EXPECT_EQ(server.refused, 1u);
		EXPECT_EQ(server.others, 0u);
		server.unmount();
	}
}

/* What the client sees first, the answer or the end, makes no difference. */
TEST(client_dialect, ends_the_connection_at_once)
{
	const Version1 allowed;
	Server2016 server;

	server.ends = true;
	server.mount();
	EXPECT_EQ(server.connections(), 2u);
	server.works();
	EXPECT_EQ(server.refused, 1u);
	server.unmount();
}

/* It may speak another version 2 by then, so it is asked once more. */
TEST(client_dialect, is_asked_again_on_the_next_connection)
{
	const Version1 allowed;
	Server2016 server;

	server.mount("timeo=600");
	for (u32 lost = 1; lost <= 2; lost++) {
		server.peer().link().disconnect();
		EXPECT_EQ(server.read(0, kTiny, 60), 0);
		EXPECT_EQ(server.connections(), 2 + 2 * lost);
		EXPECT_EQ(server.refused, 1 + lost);
	}
	server.works();
	server.unmount();
	EXPECT_EQ(server.others, 0u);
}

static void does_not_mount(Server2016 &server, u32 connections)
{
	const long begin = now();

	EXPECT_EQ(server.try_mount("", 60), EPROTONOSUPPORT);
	EXPECT_LT(now() - begin, 10000);
	EXPECT_EQ(server.connections(), connections);
	EXPECT_EQ(server.refused, 1u);
}

/* Nothing is left to try then, and nothing is tried for ever. */
TEST(client_dialect, a_server_without_version_1)
{
	const Version1 allowed;
	Server2016 server;

	server.version1 = false;
	does_not_mount(server, 2);
}

TEST(client_dialect, where_version_1_is_forbidden)
{
	Server2016 server;

	does_not_mount(server, 1);
}
