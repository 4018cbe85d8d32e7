// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Our client, and a server that opens connections in unusual ways, grants few
 * credits, ends connections, calls back, or falls silent.
 */
#include "headers.h"
#include "nfs3.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

using namespace peer;

static constexpr u32 kLarge = 65536;
static constexpr u32 kSmall = 4096;
/* Goes in the message, in parts of at most 4096. */
static constexpr u32 kContinued = 12288;

/* ------------------------------------------------------------------ */
/* Opening                                                            */
/* ------------------------------------------------------------------ */

TEST(client_opening, its_first_message)
{
	Nfs3 server;

	server.opening = [](Peer &p) {
		const Message m = p.next();

		EXPECT_EQ(m.htype(), u32{ RPCRDMA2_CONNPROP_FINAL });
		EXPECT_LE(m.octets.size(), 1024u);
		/* Nothing follows before there is an answer. */
		p.expect_silence(500);
		EXPECT_EQ(p.credit(), s32(m.credit()));
		p.take_properties(m);
		EXPECT_GE(p.property(2), 1024u);
		p.send(unit::connprop(p.new_xid()));
	};
	server.mount();
	server.works();
	server.unmount();
}

TEST(client_opening, properties_in_several_messages)
{
	Nfs3 server;

	server.opening = [](Peer &p) {
		p.take_properties(p.next());
		p.send(unit::connprop(p.new_xid(), unit::property(2, 1024),
				      RPCRDMA2_CONNPROP_MIDDLE));
		p.send(unit::connprop(p.new_xid(), { 0 },
				      RPCRDMA2_CONNPROP_MIDDLE));
		p.send(unit::connprop(p.new_xid()));
	};
	server.mount();
	server.works();
	server.unmount();
}

/* As server_properties.every_extension_is_announced. */
TEST(client_opening, every_extension_is_announced)
{
	Nfs3 server;

	server.opening = [](Peer &p) {
		p.take_properties(p.next());
		p.send(unit::connprop(p.new_xid(),
				      { 1, 0xffffff01, 4, 0xfffffffe }));
	};
	server.mount();
	unknown_header_types(server.peer());
	server.works_on();
}

/* The smallest of everything: Calls are continued, and have no chunks. */
TEST(client_opening, a_server_that_takes_little)
{
	Nfs3 server;

	server.opening = [](Peer &p) {
		p.take_properties(p.next());
		p.send(unit::connprop(p.new_xid(), { 2, 2, 4, 1024, 4, 4, 0 }));
	};
	server.on(kWrite3, [](Peer &, const Rpc &call) {
		EXPECT_LE(call.largest, 1024u);
		EXPECT_TRUE(call.reads.empty());
		EXPECT_TRUE(call.call.empty());
		return false;
	});
	server.on(kRead3, [](Peer &, const Rpc &call) {
		EXPECT_TRUE(call.writes.empty());
		EXPECT_FALSE(call.reply);
		return false;
	});
	server.mount();
	server.works();
	server.unmount();
}

TEST(client_opening, one_segment_at_most)
{
	Nfs3 server;

	server.opening = [](Peer &p) {
		p.take_properties(p.next());
		p.send(unit::connprop(p.new_xid(), { 1, 4, 4, 1 }));
	};
	const auto few = [](Peer &, const Rpc &call) {
		size_t segments = call.reads.size() + call.call.size();

		for (const Chunk &c : call.writes)
			segments += c.size();
		if (call.reply)
			segments += call.reply->size();
		EXPECT_LE(segments, 1u);
		return false;
	};
	server.on(kRead3, few);
	server.on(kWrite3, few);
	server.mount();
	server.works();
	server.unmount();
}

/* Section 5.2.3; a segment may end inside a page. */
TEST(client_opening, segments_are_no_larger_than_the_server_takes)
{
	for (const u32 most : { kLarge, 60000u }) {
		const size_t fewest = (4 * kLarge + most - 1) / most;
		Nfs3 server;

		server.opening = [most](Peer &p) {
			p.take_properties(p.next());
			p.send(unit::connprop(p.new_xid(), { 1, 3, 4, most }));
		};
		server.on(kWrite3, [=](Peer &, const Rpc &call) {
			EXPECT_GE(call.reads.size(), fewest);
			for (const auto &[position, segment] : call.reads)
				EXPECT_LE(segment.length, most);
			return false;
		});
		server.on(kRead3, [=](Peer &, const Rpc &call) {
			EXPECT_EQ(call.writes.size(), 1u);
			for (const Chunk &c : call.writes) {
				EXPECT_GE(c.size(), fewest);
				for (const Segment &s : c)
					EXPECT_LE(s.length, most);
			}
			return false;
		});
		server.mount("rsize=262144,wsize=262144");
		EXPECT_EQ(server.write(4096, 4 * kLarge), 0);
		EXPECT_EQ(server.read(4096, 4 * kLarge), 0);
		EXPECT_EQ(server.count(kWrite3), 1u);
		EXPECT_EQ(server.count(kRead3), 1u);
		server.unmount();
		EXPECT_EQ(server.connections(), 1u);
	}
}

/* A Call of version 1, and nothing of version 2 any more. */
static bool is_version_1(const Message &m)
{
	const Words w = words(m.octets);

	return w.size() > 8 && w[1] == 1 && w[2] >= 2 && w[2] <= 256 &&
	       Words(w.begin() + 3, w.begin() + 9) ==
		       Words{ 0, 0, 0, 0, w[0], RPCRDMA_CALL };
}

/*
 * Who has been refused has not been left without an answer. (This and the next come
 * before those whose mounts fail: such a client may try to connect a while longer.)
 */
TEST(client_opening, lost_after_having_been_refused)
{
	const Version1 allowed;
	Nfs3 server;
	u32 version_1 = 0;
	bool lost = false;

	server.mount("timeo=600");
	const auto before = server.opening;
	server.opening = [&](Peer &p) {
		if (lost)
			return before(p);
		version_1 += is_version_1(p.next());
		lost = true;
		p.link().disconnect();
	};
	server.refuse(1);
	server.peer().link().disconnect();
	EXPECT_EQ(server.read(0, kSmall, 100), 0);
	EXPECT_TRUE(lost);
	EXPECT_EQ(version_1, 0u);
	EXPECT_EQ(server.connections(), 3u);
	server.unmount();
}

/* It has spoken version 2 all the time. */
TEST(client_opening, falls_back_and_is_refused)
{
	const Version1 allowed;
	Nfs3 server;
	u32 refused = 0;
	const auto before = server.opening;

	server.opening = [&](Peer &p) {
		if (refused)
			return before(p);
		const Message m = p.next();

		refused += is_version_1(m);
		if (refused)
			p.send_as_is(
				unit::octets({ m.xid(), 1, 32, 4, 1, 2, 2 }));
		else
			p.link().disconnect();
	};
	server.mount();
	EXPECT_EQ(refused, 1u);
	EXPECT_EQ(server.connections(), 3u);
	server.works();
	server.unmount();
}

static void does_not_mount(const std::function<void(Peer &)> &opening)
{
	Nfs3 server;
	const long begin = now();

	server.opening = opening;
	EXPECT_NE(server.try_mount("", 60), 0);
	EXPECT_LT(now() - begin, 45000);
	EXPECT_LE(server.connections(), 6u);
}

TEST(client_opening, no_answer_at_all)
{
	does_not_mount([](Peer &p) { p.next(); });
}

TEST(client_opening, a_server_of_version_1)
{
	/* The kernel's own server echoes the version it was sent (D5). */
	for (const u32 vers : { 1u, 2u })
		does_not_mount([vers](Peer &p) {
			const Message m = p.next();

			p.send_as_is(unit::octets(
				{ m.xid(), vers, 32, 4, 1, 1, 1 }));
		});
}

enum class Loss { at_once, before_an_answer };

/* Whose connection comes to nothing is tried once more, with version 1. */
static void tried_in_version_1(Loss loss)
{
	const Version1 allowed;
	Nfs3 server;
	bool lost = false;
	u32 version_1 = 0;

	server.opening = [&](Peer &p) {
		if (loss == Loss::at_once && !lost) {
			lost = true;
			p.link().disconnect();
			return;
		}
		/* What the test before has mounted may still try to connect. */
		const Message m = p.next();

		if (is_version_1(m)) {
			version_1 += lost;
			lost = false;
		} else {
			lost = true;
		}
		p.link().disconnect();
	};
	EXPECT_NE(server.try_mount("", 60), 0);
	EXPECT_GE(version_1, 1u);
}

TEST(client_opening, lost_before_an_answer_but_in_version_1)
{
	tried_in_version_1(Loss::before_an_answer);
}

TEST(client_opening, lost_at_once_but_not_in_version_1)
{
	tried_in_version_1(Loss::at_once);
}

/* Without an exchange the defaults hold (4.2.2). */
TEST(client_opening, its_properties_are_refused)
{
	Nfs3 server;
	u32 largest = 0;

	server.opening = [](Peer &p) {
		const Message m = p.next();

		p.take_properties(m);
		p.send(unit::prefix(m.xid(), RPCRDMA2_ERROR) +
		       Words{ RPCRDMA2_ERR_BAD_PROPVAL });
	};
	server.on(kWrite3, [&](Peer &, const Rpc &r) {
		largest = std::max(largest, r.largest);
		return false;
	});
	server.mount();
	EXPECT_EQ(server.write(0, kContinued), 0);
	EXPECT_EQ(server.read(0, kContinued), 0);
	EXPECT_GT(largest, 1024u);
	EXPECT_LE(largest, 4096u);
	server.unmount();
}

TEST(client_opening, the_connection_ends_at_once)
{
	does_not_mount([](Peer &p) {
		p.next();
		p.link().disconnect();
	});
}

/* ------------------------------------------------------------------ */
/* Credits                                                            */
/* ------------------------------------------------------------------ */

static void offer_window(Nfs3 &server, u32 window)
{
	server.opening = [window, before = server.opening](Peer &p) {
		p.offer(window);
		before(p);
	};
}

static void mounts_with_window(u32 window)
{
	Nfs3 server;

	offer_window(server, window);
	server.mount();
	EXPECT_EQ(server.read(0, kLarge), 0);
	EXPECT_EQ(server.read(0, kSmall), 0);
	EXPECT_EQ(server.stat(), 0);
	server.unmount();
}

TEST(client_credits, a_window_of_one)
{
	mounts_with_window(1);
}

TEST(client_credits, a_window_of_two)
{
	mounts_with_window(2);
}

TEST(client_credits, none_at_first)
{
	Nfs3 server;

	server.opening = [](Peer &p) {
		p.offer(0);
		p.take_properties(p.next());
		p.send(unit::connprop(p.new_xid()));
		/* It may say how much it takes, and no more. */
		p.expect_silence(1500);
		EXPECT_LE(p.grants(), 1u);
		p.offer(Peer::kWindow);
		p.send_grant();
	};
	server.mount();
	server.works();
	server.unmount();
}

/* ------------------------------------------------------------------ */
/* Connections that end                                               */
/* ------------------------------------------------------------------ */

/* The first READ meets @end; the next connection brings it again. */
static void reconnects(u32 length,
		       const std::function<void(Peer &, const Rpc &)> &end)
{
	Nfs3 server;
	u32 calls = 0;
	u32 first_xid = 0;

	/* No time-out of an RPC has a part in it. */
	server.mount("timeo=600");
	server.on(kRead3, [&](Peer &p, const Rpc &call) {
		if (calls++) {
			EXPECT_EQ(call.xid, first_xid);
			return false;
		}
		first_xid = call.xid;
		end(p, call);
		return true;
	});
	EXPECT_EQ(server.read(0, length, 60), 0);
	EXPECT_EQ(calls, 2u);
	/*
	 * A client that learns of the end while it reconnects may do it once
	 * more than it has to.
	 */
	EXPECT_LE(server.connections(), 3u);
	server.works_again();
}

TEST(client_lost, instead_of_a_reply)
{
	reconnects(kSmall, [](Peer &p, const Rpc &) { p.link().disconnect(); });
}

TEST(client_lost, with_memory_registered)
{
	reconnects(kLarge, [](Peer &p, const Rpc &) { p.link().disconnect(); });
}

TEST(client_lost, in_the_middle_of_a_reply)
{
	reconnects(kSmall, [](Peer &p, const Rpc &call) {
		p.send(unit::middle(RPCRDMA2_REPLY_MIDDLE, call.xid, 4000,
				    { call.xid, 1, 0, 0, 0, 0 }));
		p.link().disconnect();
	});
}

/* The device ends the connection, since there is no such handle. */
TEST(client_lost, invalidation_of_a_handle_that_is_none)
{
	reconnects(kLarge, [](Peer &p, const Rpc &call) {
		const Words w = { call.xid, 1, 0, 0, 0, 0, 5, 0 };

		p.send_last(unit::reply_inline(call.xid, {}), unit::octets(w),
			    0xbad00);
	});
}

/* It answers READs with more than the client's Receives can take. */
static void answers_at_too_great_a_length(Peer &p, const Rpc &call)
{
	p.send_last(unit::reply_inline(call.xid, {}), Octets(p.receive_size()));
}

/* The server does well if it is offered a Reply chunk. */
TEST(client_lost, a_reply_that_was_too_long_for_a_receive)
{
	Nfs3 server;

	server.mount("timeo=600");
	server.on(kRead3, [](Peer &p, const Rpc &call) {
		if (!call.reply)
			answers_at_too_great_a_length(p, call);
		return !call.reply;
	});
	EXPECT_EQ(server.read(0, kSmall, 60), 0);
	EXPECT_EQ(server.count(kRead3), 2u);
	server.works_again();
}

TEST(client_lost, replies_that_are_too_long_again_and_again)
{
	Nfs3 server;
	u32 with_reply_chunk = 0;

	server.mount("timeo=600");
	server.on(kRead3, [&](Peer &p, const Rpc &call) {
		with_reply_chunk += call.reply.has_value();
		answers_at_too_great_a_length(p, call);
		return true;
	});
	EXPECT_EQ(server.read(0, kSmall, 100), EIO);
	EXPECT_EQ(server.count(kRead3), 3u);
	EXPECT_EQ(with_reply_chunk, 2u);
	server.works_again();
}

TEST(client_lost, one_message_too_many)
{
	Nfs3 server;

	server.mount();
	/* One GRANT is all that the client may send meanwhile. */
	const u32 word = server.peer().received();

	for (u32 i = 0; i < 500 && server.peer().link().alive(); i++)
		server.peer().send_as_is(
			unit::octets(unit::prefix(i, RPCRDMA2_ERROR, word) +
				     Words{ 0x7777 }));
	EXPECT_TRUE(server.peer().link().closed(kPatience));
	EXPECT_EQ(server.read(0, kSmall, 60), 0);
	EXPECT_EQ(server.connections(), 2u);
	server.unmount();
}

/* It does not get to serve an RPC: each attempt comes later than the last. */
TEST(client_lost, at_once_again_and_again)
{
	std::vector<long> when;
	Nfs3 server;

	server.mount("timeo=600");
	const auto before = server.opening;
	server.opening = [&](Peer &p) {
		when.push_back(now());
		before(p);
		if (when.size() < 3)
			p.link().disconnect();
	};
	server.peer().link().disconnect();
	EXPECT_EQ(server.read(0, kSmall, 100), 0);
	ASSERT_EQ(when.size(), 3u);
	EXPECT_GT(when[1] - when[0], 2000);
	EXPECT_GT(when[2] - when[1], 3 * (when[1] - when[0]) / 2);
	server.unmount();
}

/* ------------------------------------------------------------------ */
/* Remote invalidation                                                */
/* ------------------------------------------------------------------ */

TEST(client_invalidation, of_the_handle_that_it_named)
{
	Nfs3 server;

	server.mount();
	server.sender = [](Peer &p, const Rpc &call, const Octets &stream) {
		if (call.word(5) != kWrite3 || !call.inv_handle) {
			p.send(unit::prefix(call.xid, RPCRDMA2_REPLY_INLINE) +
				       Words{ 0 },
			       stream);
			return;
		}
		EXPECT_FALSE(call.reads.empty());
		p.send(unit::prefix(call.xid, RPCRDMA2_REPLY_INLINE) +
			       Words{ 0 },
		       stream, call.inv_handle);
	};
	for (u32 i = 0; i < 8; i++)
		EXPECT_EQ(server.write(i * kLarge, kLarge), 0);
	EXPECT_NE(server.last.inv_handle, 0u);
	server.sender = nullptr;
	server.works_on();
}

/* ------------------------------------------------------------------ */
/* Calls to the client                                                */
/* ------------------------------------------------------------------ */

/* More than a page: of a continued Call that is told at the first part, and once. */
TEST(client_reverse, a_call_that_is_too_long)
{
	static constexpr u32 kPart = 1000, kAll = 5 * kPart;
	std::vector<Words> errors;
	Nfs3 server;

	server.mount();
	server.control = [&](Peer &, const Message &m) {
		errors.push_back({ m.xid(), m.htype() });
		errors.back() = errors.back() + m.words(4);
	};
	const u32 xid = server.peer().new_xid();
	Words part = unit::rpc(xid, RPCRDMA_CALL, kPart);
	for (u32 left = kAll - kPart; left; left -= kPart) {
		server.peer().send(
			unit::middle(RPCRDMA2_CALL_MIDDLE, xid, left, part));
		server.serve_for(50);
	}
	server.peer().send(unit::call_inline(xid, part));
	server.serve_for(500);
	const u32 whole = server.peer().new_xid();
	server.peer().send(
		unit::call_inline(whole, unit::rpc(whole, RPCRDMA_CALL, kAll)));
	server.serve_for(500);
	EXPECT_EQ(errors,
		  (std::vector<Words>{
			  { xid, RPCRDMA2_ERROR, RPCRDMA2_ERR_INVAL_CONT },
			  { whole, RPCRDMA2_ERROR, RPCRDMA2_ERR_SYSTEM } }));
	server.works_on();
}

/* ------------------------------------------------------------------ */
/* A server that falls silent                                         */
/* ------------------------------------------------------------------ */

TEST(client_keepalive, finds_out_that_nobody_is_there)
{
	const Parameter interval("keepalive", 2);
	Nfs3 server;
	bool silent = true;

	server.mount("timeo=600");
	server.forget();
	server.on(kNull, [&](Peer &, const Rpc &) { return silent; });
	server.on(kRead3, [&](Peer &, const Rpc &) { return silent; });
	const auto before = server.opening;
	server.opening = [&](Peer &p) {
		silent = false;
		before(p);
	};
	const long begin = now();
	EXPECT_EQ(server.read(0, kSmall, 60), 0);
	EXPECT_LT(now() - begin, 30000);
	EXPECT_EQ(server.connections(), 2u);
	server.unmount();
}

/* The last credit is kept for a probe, again and again, however many Calls wait. */
TEST(client_keepalive, has_a_credit_of_its_own)
{
	static constexpr u32 kFew = 3, kProbes = 3;
	const Parameter interval("keepalive", 2);
	std::vector<Rpc> held;
	std::vector<u32> reads;
	Nfs3 server;

	offer_window(server, kFew);
	server.mount("timeo=600");
	server.on(kRead3, [&](Peer &p, const Rpc &call) {
		if (reads.size() == kProbes)
			return false;
		/* Nothing more than what has been granted before the first. */
		if (held.empty())
			p.freeze(p.received() - 1 + kFew);
		held.push_back(call);
		return true;
	});
	server.on(kNull, [&](Peer &p, const Rpc &probe) {
		reads.push_back(static_cast<u32>(held.size()));
		if (reads.size() < kProbes) {
			p.freeze(p.received() + 1);
			return false;
		}
		p.offer(Peer::kWindow);
		server.reply(p, probe);
		for (const Rpc &call : held)
			server.reply(p, call);
		return true;
	});
	/* READs of rsize, all at the same time. */
	EXPECT_EQ(server.read(0, 6 * kLarge), 0);
	EXPECT_EQ(reads, std::vector<u32>(kProbes, kFew - 1));
	server.works_on();
}

namespace
{

/*
 * No Call and no probe can be sent, and no Reply is awaited that could change that: the
 * client makes another connection within @seconds. Return: milliseconds that it took.
 */
long takes_all_credit(int seconds)
{
	Nfs3 server;
	bool taken_back = false;

	server.mount("timeo=600");
	server.on(kRead3, [&](Peer &p, const Rpc &) {
		if (!taken_back)
			p.freeze(p.received());
		taken_back = true;
		return false;
	});
	EXPECT_EQ(server.read(0, kSmall, 60), 0);
	EXPECT_EQ(server.connections(), 1u);
	const long begin = now();
	EXPECT_EQ(server.read(kSmall, kSmall, seconds), 0);
	const long took = now() - begin;
	EXPECT_EQ(server.connections(), 2u);
	server.works_again();
	return took;
}

} // namespace

TEST(client_keepalive, has_no_credit_that_could_come_back)
{
	const Parameter interval("keepalive", 2);

	EXPECT_LT(takes_all_credit(60), 30000);
}

/* Who does not ask must not hang either. It takes longer then. */
TEST(client_keepalive, which_is_off_has_no_credit_that_could_come_back)
{
	const Parameter never("keepalive", 0);

	EXPECT_GE(takes_all_credit(300), 50000);
}

/* Not even the first Call of the mount could be sent. */
TEST(client_keepalive, has_no_credit_from_the_beginning)
{
	const Parameter interval("keepalive", 2);
	Nfs3 server;
	u32 opened = 0;

	const auto before = server.opening;
	server.opening = [&](Peer &p) {
		/* The client's FINAL is all that it may send. */
		if (!opened++)
			p.freeze(1);
		before(p);
	};
	server.mount("timeo=600");
	EXPECT_EQ(server.connections(), 2u);
	server.works_again();
}

/*
 * It went by CALL_INLINE. Without that type a connection is of no use (7.1.3), so it
 * ends now, and the next Call does not meet it.
 */
TEST(client_keepalive, whose_header_type_is_refused)
{
	const Parameter interval("keepalive", 2);
	Nfs3 server;
	u32 refused = 0;

	server.mount("timeo=600");
	server.on(kNull, [&](Peer &p, const Rpc &probe) {
		if (refused++)
			return false;
		server.error(p, probe, { RPCRDMA2_ERR_INVAL_HTYPE });
		return true;
	});
	server.serve_for(8000);
	EXPECT_EQ(refused, 1u);
	EXPECT_THROW((void)server.peer(), Failure) << "it is still there";
	EXPECT_EQ(server.read(0, kSmall, 60), 0);
	EXPECT_EQ(server.count(kRead3), 1u);
	EXPECT_EQ(server.connections(), 2u);
	server.works_again();
}
