// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Properties that change while connected (xcharext, D23): what our server does with requests,
 * and with answers to its own.
 */
#include "changes.h"
#include "nfs.h"

#include <gtest/gtest.h>

#include <unistd.h>

using namespace peer;
using namespace peer::changes;

namespace
{

constexpr u32 kData = 16384;

/* A peer that has the extension, and such Receives. */
Peer open(u32 receive_size = kSmall)
{
	Peer p = Peer::open(announced(receive_size), 2 * kLarge);

	p.speak_extensions();
	return p;
}

/* A NULL call that is so long. */
void large_call(Peer &p, u32 octets)
{
	const u32 xid = p.new_xid();
	Words call = null_call(xid);

	call.resize(octets / 4);
	p.send(unit::call_inline(xid, call));
	EXPECT_TRUE(is_null_reply(p.reply(xid)));
}

/*
 * Read until the server asks for larger Receives. READs travel in several Sends until then.
 * Return: its request.
 */
Message server_asks(Peer &p, Nfs &nfs)
{
	for (u32 i = 0; i < 400; i++) {
		const u32 xid = nfs.send(nfs.read("data", 0, kData));
		Message m = p.next();

		if (m.htype() == kRequest) {
			EXPECT_EQ(p.reply(xid).xid, xid);
			return m;
		}
		EXPECT_EQ(p.rpc_from(m).xid, xid);
		usleep(10000);
	}
	throw Failure("the server does not ask for larger Receives");
}

/* Sends that a READ takes, after a while. */
u32 pieces(Peer &p, Nfs &nfs, u32 wanted)
{
	u32 n = 0;

	for (u32 i = 0; i < 200 && n != wanted; i++) {
		const Rpc r = nfs.call(nfs.read("data", 0, kData));

		EXPECT_EQ(Nfs::read_result(r), Nfs::data(0, kData));
		n = r.pieces;
		usleep(20000);
	}
	p.expect_works();
	return n;
}

} // namespace

TEST(server_changes, announced)
{
	Peer p = open();

	EXPECT_EQ(p.property(kExtensions), 1u);
	EXPECT_EQ(p.property(kReceiveSize), kServerSmall);
	p.expect_works();
}

/* A peer that cannot ask for larger Receives gets those of always. */
TEST(server_changes, not_announced)
{
	Peer p = Peer::open(Words{ 1 } + numeric(kReceiveSize, kSmall));

	EXPECT_EQ(p.property(kReceiveSize), kSmall);
	for (u32 i = 0; i < 100; i++)
		large_call(p, kSmall - 64);
}

/* The server says so when no smaller Receive is left, and not before. */
TEST(server_changes, larger_receives)
{
	Peer p = open();
	u32 calls = 0;
	bool told = false;

	EXPECT_EQ(answer(p, Words{ 1 } + numeric(kReceiveSize, 4 * kLarge)),
		  kPending);
	/* It is pending, and only once. */
	EXPECT_EQ(answer(p, Words{ 1 } + numeric(kReceiveSize, kLarge)),
		  kRejected);
	for (; calls < 1000 && !told; calls++) {
		const u32 xid = p.new_xid();

		p.send(unit::call_inline(xid, null_call(xid)));
		Message m = p.next();
		if (m.htype() == kUpdate) {
			/* As large as may be is better than nothing. */
			EXPECT_EQ(m.words(4),
				  numeric(kReceiveSize, kLarge) + Words{ 1 });
			told = true;
			m = p.next();
		}
		EXPECT_EQ(p.rpc_from(m).xid, xid);
		usleep(1000);
	}
	ASSERT_TRUE(told);
	/* A Receive goes with each message, and there are some more than the window. */
	EXPECT_GE(calls, 60u);
	for (u32 i = 0; i < 100; i++)
		large_call(p, kData - 384);
}

TEST(server_changes, rejected)
{
	Peer p = open();

	impossible(p);
	large_call(p, kServerSmall - 64);
}

TEST(server_changes, malformed)
{
	Peer p = open();

	malformed(p);
	unasked(p);
	p.expect_works();
}

TEST(server_changes, never_changes)
{
	Peer p = open();

	never_changes(p, kSmall);
	p.expect_works();
}

TEST(server_changes, asks_and_gets)
{
	Peer p = open();
	Nfs nfs(p);
	const Message m = server_asks(p, nfs);

	EXPECT_EQ(m.words(4), Words{ 1 } + numeric(kReceiveSize, kLarge));
	response(p, m, kDone);
	EXPECT_EQ(pieces(p, nfs, 1), 1u);
}

TEST(server_changes, asks_in_vain)
{
	Peer p = open();
	Nfs nfs(p);

	response(p, server_asks(p, nfs), kRejected);
	for (u32 i = 0; i < 20; i++)
		EXPECT_EQ(nfs.call(nfs.read("data", 0, kData)).pieces, 3u);
	/* It asks again, after more messages. */
	response(p, server_asks(p, nfs), kRejected);
	p.expect_works();
}

TEST(server_changes, asks_and_gets_a_part)
{
	Peer p = open();
	Nfs nfs(p);

	response(p, server_asks(p, nfs), kPending);
	EXPECT_EQ(pieces(p, nfs, 3), 3u);
	/* More of it, but not all. */
	update(p, kReceiveSize, 10240, false);
	EXPECT_EQ(pieces(p, nfs, 2), 2u);
	update(p, kReceiveSize, kLarge, true);
	EXPECT_EQ(pieces(p, nfs, 1), 1u);
}

TEST(server_changes, answered_twice)
{
	Peer p = open();
	Nfs nfs(p);
	const Message m = server_asks(p, nfs);

	response(p, m, kDone);
	response(p, m, kRejected);
	p.expect_silence();
	EXPECT_EQ(pieces(p, nfs, 1), 1u);
	response(p, m, kDone);
	p.expect_silence();
	p.expect_works();
}

/* RPC messages can flow before its last properties come, which is when both may ask. */
TEST(server_changes, announced_in_two_messages)
{
	Peer p = Peer::connect(2 * kLarge);

	p.speak_extensions();
	p.send(unit::connprop(p.new_xid(), announced(kSmall),
			      RPCRDMA2_CONNPROP_MIDDLE));
	p.take_properties(p.next());
	/* The server has found nothing to do by then. */
	usleep(500000);
	p.send(unit::connprop(p.new_xid(), { 0 }));
	Nfs nfs(p);
	response(p, server_asks(p, nfs), kDone);
	EXPECT_EQ(pieces(p, nfs, 1), 1u);
}

/* It goes on as it was, and does not ask again. */
TEST(server_changes, answered_never)
{
	Peer p = open();
	Nfs nfs(p);

	(void)server_asks(p, nfs);
	for (u32 i = 0; i < 100; i++) {
		EXPECT_EQ(nfs.call(nfs.read("data", 0, kData)).pieces, 3u);
		usleep(20000);
	}
	p.expect_works();
}

/* Nothing that the peer may have meant is taken for granted. */
TEST(server_changes, answered_badly)
{
	for (const Words &subsets : bad_subsets()) {
		const u64 before = refusals();
		Peer p = open();
		Nfs nfs(p);

		response(p, server_asks(p, nfs), subsets);
		p.expect_silence();
		EXPECT_EQ(nfs.call(nfs.read("data", 0, kData)).pieces, 3u);
		p.expect_works();
		EXPECT_EQ(refusals(), before + 1);
	}
}

/* The connection ends while a change is under way. */
TEST(server_changes, the_end_overtakes_a_change)
{
	for (u32 i = 0; i < 4; i++) {
		Peer p = open();

		EXPECT_EQ(answer(p, Words{ 1 } + numeric(kReceiveSize, kLarge)),
			  kPending);
		for (u32 n = 0; n < 16 * i; n++)
			p.expect_works();
	}
	open().expect_works();
}
