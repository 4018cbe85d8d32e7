// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Properties that change while connected (xcharext, D23): what our server does with requests,
 * and with answers to its own.
 */
#include "headers.h"
#include "nfs.h"

#include <gtest/gtest.h>

#include <unistd.h>

using namespace peer;

namespace
{

constexpr u32 kExtensions = 0xffffff01;
constexpr u32 kInit = 0xffffff01;
constexpr u32 kRequest = 0xffffff02;
constexpr u32 kResponse = 0xffffff03;
constexpr u32 kUpdate = 0xffffff04;

constexpr u32 kSendSize = 1;
constexpr u32 kReceiveSize = 2;
constexpr u32 kSegments = 4;

/* As both ends begin, and what the server grows to. */
constexpr u32 kServerSmall = 4096;
constexpr u32 kSmall = 8192;
constexpr u32 kLarge = 32768;
constexpr u32 kData = 16384;

Words numeric(u32 which, u32 value)
{
	return { which, 4, value };
}

/* A peer that has the extension, and such Receives. */
Peer open(u32 receive_size = kSmall)
{
	Peer p = Peer::open(Words{ 2 } + numeric(kExtensions, 1) +
				    numeric(kReceiveSize, receive_size),
			    2 * kLarge);

	p.speak_extensions();
	return p;
}

/* The answer to a request for these values, without its prefix. */
Words answer(Peer &p, const Words &wanted)
{
	const u32 xid = p.new_xid();

	p.send(unit::prefix(xid, kRequest) + wanted);
	const Message m = p.next();
	EXPECT_EQ(m.htype(), kResponse) << m.describe();
	EXPECT_EQ(m.xid(), xid);
	return m.words(4);
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

void response(Peer &p, const Message &request, const Words &subsets)
{
	p.send(unit::prefix(request.xid(), kResponse) + subsets);
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

const Words kDone = { 1, 1, 1, 0, 0 };
const Words kRejected = { 0, 1, 1, 0 };
const Words kPending = { 0, 1, 0, 1, 1 };

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

	EXPECT_EQ(answer(p, Words{ 5 } + numeric(kSendSize, 1024) +
				    numeric(kSegments, 3) + numeric(0x7777, 1) +
				    numeric(kReceiveSize, 1024) +
				    numeric(5, 3)),
		  (Words{ 0, 1, 0x1f, 0 }));
	/* One of several. */
	EXPECT_EQ(answer(p, Words{ 2 } + numeric(kSegments, 3) +
				    numeric(kSendSize, kSmall)),
		  (Words{ 1, 2, 1, 1, 0 }));
	EXPECT_EQ(answer(p, Words{ 0 }), (Words{ 0, 0, 0 }));
	large_call(p, kServerSmall - 64);
}

TEST(server_changes, malformed)
{
	Peer p = open();
	const Words good = numeric(kReceiveSize, kSmall);

	refused(p, unit::prefix(p.new_xid(), kRequest) + Words{ 2 } + good,
		kBadXdr);
	refused(p,
		unit::prefix(p.new_xid(), kRequest) +
			Words{ 1, kReceiveSize, 8, 0, kLarge },
		kBadXdr);
	refused(p,
		unit::prefix(p.new_xid(), kRequest) + Words{ 1 } + good +
			Words{ 0 },
		kBadXdr);
	/* A subset with a bit that means none. */
	refused(p,
		unit::prefix(p.new_xid(), kInit) + Words{ 1 } + good +
			Words{ 1, 2 },
		kBadXdr);
	/* Neither a yes nor a no; and nothing is pending. */
	refused(p, unit::prefix(p.new_xid(), kUpdate) + good + Words{ 2 },
		kBadXdr);
	refused(p, unit::prefix(p.new_xid(), kUpdate) + good + Words{ 1 },
		kBadPropval);
	/* Too small to be sent anything. */
	refused(p,
		unit::prefix(p.new_xid(), kUpdate) + numeric(kReceiveSize, 64) +
			Words{ 0 },
		kBadPropval);
	/* An answer to nothing has no answer. */
	p.send(unit::prefix(p.new_xid(), kResponse) + kDone);
	p.expect_silence();
	p.expect_works();
}

TEST(server_changes, never_changes)
{
	Peer p = open();
	const Words fixed = numeric(kReceiveSize, kSmall);

	p.send(unit::prefix(p.new_xid(), kInit) + Words{ 1 } + fixed +
	       Words{ 1, 1 });
	refused(p,
		unit::prefix(p.new_xid(), kUpdate) +
			numeric(kReceiveSize, kLarge) + Words{ 0 },
		kBadPropval);
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
	p.send(unit::prefix(p.new_xid(), kUpdate) +
	       numeric(kReceiveSize, 10240) + Words{ 0 });
	EXPECT_EQ(pieces(p, nfs, 2), 2u);
	p.send(unit::prefix(p.new_xid(), kUpdate) +
	       numeric(kReceiveSize, kLarge) + Words{ 1 });
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
	const Words bad[] = {
		{ 1, 1, 1, 1, 0 }, /* done and rejected */
		{ 0, 1, 0, 0 }, /* neither */
		{ 1, 3, 1, 0, 0 }, /* one more than asked for */
		{ 0, 0, 2, 1, 1 }, /* the same in another word */
		{ 1, 1, 1, 0 }, /* cut short */
		{ 0xffffffff, 1, 1, 0 },
	};

	for (const Words &subsets : bad) {
		const u64 before =
			total("refused", "propval:") + total("refused", "xdr:");
		Peer p = open();
		Nfs nfs(p);

		response(p, server_asks(p, nfs), subsets);
		p.expect_silence();
		EXPECT_EQ(nfs.call(nfs.read("data", 0, kData)).pieces, 3u);
		p.expect_works();
		EXPECT_EQ(total("refused", "propval:") +
				  total("refused", "xdr:"),
			  before + 1);
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
