// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Our client, and a server that speaks version 1 only (RFC 8166), correctly or
 * not.
 */
#include "nfs3.h"

#include "../unit/version1.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <utility>

using namespace peer;
namespace v1 = unit::v1;

static constexpr u32 kLarge = 65536;
/* Its READ takes no chunk, and its WRITE none. */
static constexpr u32 kTiny = 512;
/* More than the client's Receives have room for. */
static constexpr u32 kTooLong = 16000;

static void say(Peer &p, const Words &message)
{
	ASSERT_TRUE(p.send_as_is(unit::octets(message)));
}

class Server1 : public Nfs3 {
public:
	/* Its answer to version 2, if any, echoes that (D5) or not. */
	explicit Server1(std::optional<u32> echoed = 1)
	{
		opening = [](Peer &p) {
			p.speak_version1();
		};
		control = [this, echoed](Peer &p, const Message &m) {
			EXPECT_EQ(m.vers(), 2u);
			others++;
			if (echoed)
				say(p, v1::err_vers(m.xid(), 1, 1, *echoed));
		};
	}
	/* READs are answered by @answer. */
	void lie(const std::function<void(Peer &, const Rpc &)> &answer)
	{
		forget();
		on(kRead3, [answer](Peer &p, const Rpc &call) {
			answer(p, call);
			return true;
		});
	}

	/* Messages that were not of version 1. */
	u32 others = 0;

private:
	const Version1 allowed_;
};

TEST(client_version1, falls_back_on_the_same_connection)
{
	for (const u32 vers : { 1u, 2u }) {
		Server1 server(vers);
		u32 by_read_chunk = 0;

		server.mount();
		server.on(kWrite3, [&](Peer &, const Rpc &call) {
			by_read_chunk += !call.reads.empty();
			EXPECT_LE(call.largest, 1024u);
			return false;
		});
		for (const u32 length : { kTiny, 4096u, kLarge, 4 * kLarge }) {
			EXPECT_EQ(server.write(4096, length), 0) << length;
			EXPECT_EQ(server.read(4096, length), 0) << length;
		}
		EXPECT_EQ(by_read_chunk, 6u);
		EXPECT_EQ(server.stat(), 0);
		server.works_on();
		EXPECT_EQ(server.others, 1u);
	}
}

/* -07, 4.3.2: a client does not negotiate for ever with one that hangs up after ERR_VERS. */
TEST(client_version1, refused_and_then_lost)
{
	for (const bool at_once : { true, false }) {
		Server1 server(std::nullopt);

		server.control = [&](Peer &p, const Message &m) {
			EXPECT_EQ(m.vers(), 2u);
			server.others++;
			say(p, v1::err_vers(m.xid(), 1, 1, 1));
			if (!at_once)
				p.next();
			p.link().disconnect();
		};
		EXPECT_EQ(server.try_mount("", 60), 0) << at_once;
		EXPECT_EQ(server.write(0, kTiny), 0);
		EXPECT_GE(server.others, 1u);
		EXPECT_LE(server.connections(), 6u);
		server.works();
		server.unmount();
	}
}

/* For servers that do not add it themselves; this one has sent no private data. */
TEST(client_version1, read_chunks_have_their_roundup)
{
	Server1 server;
	u32 seen = 0;

	server.mount();
	server.on(kWrite3, [&](Peer &, const Rpc &call) {
		u32 length = 0;

		for (const auto &[position, segment] : call.reads)
			length += segment.length;
		EXPECT_EQ(length % 4, 0u);
		seen += length != 0;
		return false;
	});
	for (u32 odd = 0; odd < 4; odd++)
		EXPECT_EQ(server.write(4096, kLarge - odd), 0) << odd;
	EXPECT_EQ(seen, 4u);
	server.works_on();
}

TEST(client_version1, replies_by_chunk)
{
	Server1 server;
	bool offered = false;

	server.mount();
	server.on(kReaddirplus3, [&](Peer &, const Rpc &call) {
		offered = call.reply.has_value();
		return false;
	});
	EXPECT_EQ(server.list(), 0);
	EXPECT_TRUE(offered);
	EXPECT_NE(Nfs3::statistic(Nfs3::kReplySegments), 0u);
	server.works_on();
}

TEST(client_version1, replies_that_lie)
{
	Server1 server;
	const size_t lies = v1::lying_replies(0).size();

	server.mount();
	for (size_t i = 0; i < lies; i++) {
		SCOPED_TRACE(i);
		server.lie([i](Peer &p, const Rpc &call) {
			EXPECT_TRUE(call.writes.empty() && !call.reply);
			say(p, v1::lying_replies(call.xid)[i]);
		});
		EXPECT_EQ(server.read(0, kTiny), EIO);
		EXPECT_EQ(server.count(kRead3), 1u);
	}
	server.works_on();
}

TEST(client_version1, write_lists_that_lie)
{
	Server1 server;

	server.mount();
	for (const auto &list :
	     { returning_longer_segments, returning_other_handles,
	       returning_more_segments, returning_more_chunks }) {
		server.lie([list](Peer &p, const Rpc &call) {
			ASSERT_FALSE(call.writes.empty());
			say(p, v1::prefix(call.xid, RPCRDMA1_MSG) + Words{ 0 } +
				       list(call.writes[0]) +
				       Words{ 0, call.xid, 1, 0, 0, 0, 0, 0, 0,
					      kLarge, 0, kLarge });
		});
		EXPECT_EQ(server.read(0, kLarge), EIO);
		EXPECT_EQ(server.count(kRead3), 1u);
	}
	server.works_on();
}

TEST(client_version1, reply_chunks_that_lie)
{
	const std::vector<std::function<void(Chunk &)>> lies = {
		[](Chunk &c) { c[0].length += 4; },
		[](Chunk &c) { c[0].length = 0xfffffffc; },
		[](Chunk &c) { c[0].handle ^= 0x100; },
		[](Chunk &c) { c[0].offset += 4; },
		[](Chunk &c) {
			c.push_back({ c[0].handle, 0, c[0].offset });
		},
		[](Chunk &c) { c.clear(); },
	};
	Server1 server;

	server.mount();
	for (const auto &lie : lies) {
		SCOPED_TRACE(&lie - lies.data());
		server.forget();
		server.on(kReaddirplus3, [&lie](Peer &p, const Rpc &call) {
			Chunk returned = call.reply.value();

			lie(returned);
			say(p, v1::nomsg(call.xid, Words{ 0, 0, 1 } +
							   words_of(returned)));
			return true;
		});
		EXPECT_EQ(server.list(), EIO);
		EXPECT_EQ(server.count(kReaddirplus3), 1u);
	}
	server.usual_answers();
	EXPECT_EQ(server.list(), 0);
	server.works_on();
}

TEST(client_version1, errors_end_the_rpc)
{
	struct {
		Words body;
		int error;
	} errors[] = {
		{ { 2 }, EIO },
		/* no code, and of others */
		{ {}, EIO },
		{ { 7 }, EIO },
		{ { 0xdead }, EIO },
		/* ERR_VERS without versions */
		{ { 1, 1 }, EPROTONOSUPPORT },
	};
	Server1 server;

	server.mount();
	for (const u32 length : { kTiny, kLarge })
		for (const auto &e : errors) {
			SCOPED_TRACE(&e - errors);
			server.lie([&e](Peer &p, const Rpc &call) {
				say(p, v1::prefix(call.xid, 4) + e.body);
			});
			EXPECT_EQ(server.read(0, length), e.error);
			EXPECT_EQ(server.count(kRead3), 1u);
		}
	server.works_on();
}

/*
 * Longer than the client's Receives, though it has said how large those are: the
 * next attempt offers a Reply chunk, without which this version cannot do.
 */
TEST(client_version1, a_reply_that_was_too_long_for_a_receive)
{
	Server1 server;
	u32 by_chunk = 0;

	server.mount("timeo=600");
	server.lie([&](Peer &p, const Rpc &call) {
		by_chunk += call.reply.has_value();
		if (call.reply)
			server.reply(p, call);
		else
			p.send_last(v1::prefix(call.xid, RPCRDMA1_MSG) +
					    v1::kNoLists,
				    Octets(kTooLong));
	});
	EXPECT_EQ(server.read(0, kTiny, 60), 0);
	EXPECT_EQ(server.count(kRead3), 2u);
	EXPECT_EQ(by_chunk, 1u);
	EXPECT_EQ(server.connections(), 2u);
	server.works_again();
}

TEST(client_version1, replies_that_are_too_long_again_and_again)
{
	Server1 server;

	server.mount("timeo=600");
	server.lie([](Peer &p, const Rpc &call) {
		p.send_last(v1::prefix(call.xid, RPCRDMA1_MSG) + v1::kNoLists,
			    Octets(kTooLong));
	});
	EXPECT_EQ(server.read(0, kTiny, 100), EIO);
	EXPECT_EQ(server.count(kRead3), 3u);
	server.works_again();
}

/* And not answered; the Reply comes after them. */
TEST(client_version1, dropped)
{
	Server1 server;

	server.mount();
	server.lie([&server](Peer &p, const Rpc &call) {
		const u32 other = call.xid ^ 0x40000000;

		say(p, { call.xid, 1, 32 });
		say(p, v1::prefix(call.xid, RPCRDMA1_DONE));
		say(p, v1::reply(other));
		say(p, v1::err_chunk(other));
		for (const u32 vers : { 0u, 2u, 3u })
			say(p, { call.xid, vers, 32, RPCRDMA1_MSG, 0, 0, 0,
				 call.xid, 1, 0, 0, 0, 0, 5, 0 });
		server.reply(p, call);
	});
	EXPECT_EQ(server.read(0, kTiny), 0);
	EXPECT_EQ(server.count(kRead3), 1u);
	server.works_on();
	EXPECT_EQ(server.others, 1u);
}

/*
 * A server that does not say that it speaks version 2 is given two seconds, or some
 * round trips if they take longer. It is known as one of version 1 from then on.
 */
TEST(client_version1, no_answer_to_version_2)
{
	Server1 server(std::nullopt);
	long begin = now();

	server.mount("timeo=600");
	EXPECT_GT(now() - begin, 1900);
	EXPECT_LT(now() - begin, 9000);
	EXPECT_EQ(server.others, 1u);
	EXPECT_EQ(server.connections(), 2u);
	server.works();
	server.unmount();

	begin = now();
	server.mount("timeo=600");
	EXPECT_LT(now() - begin, 9000);
	server.works();
	server.unmount();
	EXPECT_EQ(server.others, 1u);
	EXPECT_EQ(server.connections(), 3u);
}

/*
 * Before the first Reply there is credit for one message, so nobody can ask whether the first Call
 * has arrived: the time of the RPC has to pass.
 */
TEST(client_version1, its_first_call_is_lost)
{
	const Parameter interval("keepalive", 2);
	Server1 server;
	bool lost = false;
	const long begin = now();

	server.on(kNull, [&lost](Peer &, const Rpc &) {
		return !std::exchange(lost, true);
	});
	server.mount("timeo=200");
	EXPECT_GT(now() - begin, 18000);
	EXPECT_LT(now() - begin, 30000);
	EXPECT_EQ(server.connections(), 2u);
	EXPECT_EQ(Nfs3::loss(), "Call not answered");
	server.works();
	server.unmount();
}
