// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Our server with an extension that it has only in tests (tools/testing/extension/ping.h):
 * whoever announces it can use it, nobody else notices it, and everything that counts and shows
 * messages knows it by its tables. wire_ping.sh inserts that module.
 */
#include "headers.h"

#include <gtest/gtest.h>

#include <sstream>

using namespace peer;

namespace
{

constexpr u32 kExtensions = 0xffffff01;
constexpr u32 kPingBit = 1U << 31;
constexpr u32 kXcharextBit = 1;

constexpr u32 kPing = 0xfffffff0;
constexpr u32 kPong = 0xfffffff1;
constexpr u32 kPings = 0xfffffff2;
constexpr u32 kNotedCall = 0xfffffff3;
constexpr u32 kTypes = 4;

/* The property: how many PINGs its sender takes at once. */
constexpr u32 kAtOnce = 0xfffffff0;
constexpr u32 kServerTakes = 2;
constexpr u32 kWeTake = 3;

const Words kInvalHtype = { RPCRDMA2_ERR_INVAL_HTYPE };

/* A peer that has the extension, and takes so many PINGs at once. */
Peer open()
{
	Peer p = Peer::open(
		{ 2, kExtensions, 4, kPingBit, kAtOnce, 4, kWeTake });

	p.speak(kPing, kTypes);
	return p;
}

Words message_of(u32 htype, u32 xid, u32 number)
{
	return unit::prefix(xid, htype) + Words{ number };
}

/* The next message is the PONG that repeats this PING's XID and count. */
void expect_pong(Peer &p, u32 xid, u32 count)
{
	const Message m = p.next();

	EXPECT_EQ(m.htype(), kPong) << m.describe();
	EXPECT_EQ(m.xid(), xid);
	EXPECT_EQ(m.words(4), Words{ count });
}

void ping(Peer &p, u32 count)
{
	const u32 xid = p.new_xid();

	p.send(message_of(kPing, xid, count));
	expect_pong(p, xid, count);
}

/* debugfs has this about the connection of @p. */
bool shown(const Peer &p, const std::string &wanted)
{
	std::istringstream said(said_of(p));
	std::string line;

	while (std::getline(said, line))
		if ((line + " ").find(wanted + " ") != std::string::npos)
			return true;
	return false;
}

/* A NULL call as the payload of a NOTED_CALL, and a note behind that. */
void noted_call(Peer &p, const Words &note)
{
	const u32 xid = p.new_xid();
	const Words call = null_call(xid);

	p.send(message_of(kNotedCall, xid, static_cast<u32>(4 * call.size())) +
	       call + note);
	EXPECT_TRUE(is_null_reply(p.reply(xid)));
}

} // namespace

TEST(ping_server, property)
{
	Peer p = open();

	EXPECT_TRUE(p.property(kExtensions) & kPingBit);
	EXPECT_EQ(p.property(kAtOnce), kServerTakes);
	p.expect_works();
}

TEST(ping_server, pong)
{
	Peer p = open();

	for (u32 count = 1; count <= 300; count++)
		ping(p, count);
	/* The count is the peer's own. */
	ping(p, 0);
	ping(p, 0xffffffff);
	p.expect_works();
}

/* As many as the server has announced, with a Call between them. */
TEST(ping_server, several_at_once)
{
	Peer p = open();
	const u32 call = p.new_xid();
	const u32 first = p.new_xid();
	const u32 second = p.new_xid();
	u32 pongs = 0;
	bool replied = false;

	p.send(message_of(kPing, first, 7));
	p.send(unit::call_inline(call, null_call(call)));
	p.send(message_of(kPing, second, 8));
	for (u32 i = 0; i < 3; i++) {
		const Message m = p.next();

		if (m.htype() != kPong) {
			EXPECT_TRUE(is_null_reply(p.rpc_from(m)));
			replied = true;
			continue;
		}
		EXPECT_EQ(m.xid(), pongs ? second : first);
		EXPECT_EQ(m.words(4), Words{ 7 + pongs });
		pongs++;
	}
	EXPECT_TRUE(replied);
	EXPECT_EQ(pongs, kServerTakes);
	p.expect_works();
}

/* For who has said nothing of it, or knows another extension, its types are unknown ones. */
TEST(ping_server, not_announced)
{
	const Words sets[] = {
		{ 0 },
		{ 1, kExtensions, 4, kXcharextBit },
		/* Its property alone announces nothing. */
		{ 1, kAtOnce, 4, kWeTake },
	};

	for (const Words &set : sets) {
		Peer p = Peer::open(set);

		for (u32 i = 0; i < kTypes; i++) {
			refused(p, message_of(kPing + i, p.new_xid(), 1),
				kInvalHtype);
			p.expect_works();
		}
		EXPECT_EQ(number(p, "refused", "htype:"), kTypes);
		EXPECT_FALSE(shown(p, "extensions: ping"));
	}
}

TEST(ping_server, malformed)
{
	Peer p = open();

	refused(p, unit::prefix(p.new_xid(), kPing), kBadXdr);
	refused(p, message_of(kPing, p.new_xid(), 1) + Words{ 2 }, kBadXdr);
	refused(p, unit::prefix(p.new_xid(), kPings), kBadXdr);
	/* The payload goes beyond the end. */
	refused(p,
		message_of(kNotedCall, p.new_xid(), 44) +
			null_call(p.new_xid()),
		kBadXdr);
	/* An answer to nothing has no answer. */
	p.send(message_of(kPong, p.new_xid(), 1));
	p.expect_silence();
	ping(p, 1);
	p.expect_works();
}

/* The property may change while connected, and only grow. */
TEST(ping_server, property_grows)
{
	Peer p = open();

	EXPECT_TRUE(shown(p, "pings " + std::to_string(kWeTake)));
	p.send(message_of(kPings, p.new_xid(), kWeTake + 1));
	ping(p, 1);
	EXPECT_TRUE(shown(p, "pings " + std::to_string(kWeTake + 1)));
	refused(p, message_of(kPings, p.new_xid(), kWeTake), kBadPropval);
	EXPECT_TRUE(shown(p, "pings " + std::to_string(kWeTake + 1)));
	p.expect_works();
}

/* A Call with the extension's header: the server takes what is its payload, and no more. */
TEST(ping_server, call_of_its_own)
{
	Peer p = open();

	noted_call(p, {});
	noted_call(p, { 0xdeadbeef });
	noted_call(p, Words(200, 0x5a5a5a5a));
	p.expect_works();
}

/* What counts and shows messages has the names of the tables. */
TEST(ping_server, names)
{
	const u64 received = total("messages PING", "received");
	const u64 sent = total("messages PONG", "sent");
	const u64 noted = total("messages NOTED_CALL", "received");
	const u64 unknown = total("messages ?", "received");
	Peer p = open();

	EXPECT_TRUE(shown(p, "extensions: ping"));
	for (u32 count = 1; count <= 5; count++)
		ping(p, count);
	noted_call(p, { 1 });
	EXPECT_TRUE(shown(p, "messages PING: sent 0 received 5"));
	EXPECT_TRUE(shown(p, "messages PONG: sent 5 received 0"));
	/* Names come from the module; rpcrdmactl knows only properties of the base protocol. */
	const std::string said = details();
	for (const char *name :
	     { " ping\n", " PING ", " PONG ", " NOTED_CALL " })
		EXPECT_NE(said.find(name), std::string::npos)
			<< name << " is not in:\n"
			<< said;
	EXPECT_EQ(total("messages PING", "received"), received + 5);
	EXPECT_EQ(total("messages PONG", "sent"), sent + 5);
	EXPECT_EQ(total("messages NOTED_CALL", "received"), noted + 1);
	EXPECT_EQ(total("messages ?", "received"), unknown);
}
