// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Flow control (section 4.2.1, D1 to D3): that our server obeys it, and that
 * it makes its clients obey it.
 */
#include "nfs.h"
#include "peer.h"

#include <gtest/gtest.h>

#include <set>

using namespace peer;

/*
 * A peer that lets the server send nothing but one GRANT, and has sent NULL
 * calls until there was no credit left.
 */
class Full {
public:
	Full()
		: peer(Peer::open())
	{
		peer.freeze(peer.received());
		/* What makes this known is a message itself. */
		do {
			while (peer.credit() > 0) {
				const u32 xid = peer.new_xid();

				peer.send(
					unit::call_inline(xid, null_call(xid)));
				xids.insert(xid);
			}
		} while (peer.poll(kSilence));
		EXPECT_GE(xids.size(), 3u);
		EXPECT_LE(peer.grants(), 1u);
	}
	void answered()
	{
		while (!xids.empty()) {
			const Rpc r = peer.next_rpc();

			EXPECT_TRUE(is_null_reply(r));
			ASSERT_TRUE(xids.erase(r.xid));
			if (xids.size() % 16 == 0 && peer.credit() >= 0)
				peer.send_grant();
		}
		peer.expect_works();
	}

	Peer peer;
	std::set<u32> xids;
};

TEST(server_credits, all_that_was_granted_may_be_used)
{
	Full f;

	f.peer.expect_silence();
	/* It takes the one extra Receive, and brings credit. */
	f.peer.offer(Peer::kWindow);
	f.peer.send_grant();
	f.answered();
}

TEST(server_credits, replies_come_one_by_one)
{
	Full f;
	u32 rounds = 0;

	/* Each GRANT allows one message, which is a Reply or a GRANT. */
	f.peer.offer(1);
	for (; !f.xids.empty() && rounds < 500; rounds++) {
		f.peer.send_grant();
		const std::optional<Message> m = f.peer.poll(kPatience);

		ASSERT_TRUE(m);
		if (m->htype() != RPCRDMA2_GRANT)
			ASSERT_TRUE(f.xids.erase(m->xid()));
	}
	EXPECT_TRUE(f.xids.empty());
	f.peer.offer(Peer::kWindow);
	f.peer.expect_works();
}

TEST(server_credits, one_call_too_many_ends_the_connection)
{
	Full f;
	const u32 xid = f.peer.new_xid();

	f.peer.send_as_is(unit::octets(unit::call_inline(xid, null_call(xid))));
	f.peer.expect_closed();
	Peer::open().expect_works();
}

TEST(server_credits, the_extra_receive_is_for_one_grant)
{
	Full f;

	f.peer.send_grant();
	f.peer.expect_silence();
	f.peer.send_as_is(unit::octets(unit::prefix(0, RPCRDMA2_GRANT, 1)));
	f.peer.expect_closed();
	Peer::open().expect_works();
}

TEST(server_credits, more_than_one_first_message)
{
	Peer p = Peer::connect();

	/* Until there is an answer, just one message is allowed (4.3). */
	p.freeze(0);
	EXPECT_TRUE(p.send_as_is(unit::octets(
		unit::connprop(p.new_xid(), { 0 }, RPCRDMA2_CONNPROP_FINAL))));
	p.take_properties(p.next());
	p.offer(Peer::kWindow);
	p.expect_works();
}

TEST(server_credits, a_peer_that_grants_nothing_blocks_nobody)
{
	Full a, b;

	for (u32 i = 0; i < 3; i++)
		Peer::open().expect_works();
	EXPECT_TRUE(a.peer.link().alive());
	EXPECT_TRUE(b.peer.link().alive());
	b.peer.offer(Peer::kWindow);
	b.peer.send_grant();
	b.answered();
	/* The other one goes with its calls unanswered. */
}

TEST(server_credits, a_peer_that_never_reads_its_replies)
{
	Peer p = Peer::open();
	Nfs nfs(p);
	u32 calls = 0;

	/* Replies of a size that would hurt; as many as the server takes. */
	p.freeze(p.received());
	do {
		for (; p.credit() > 0; calls++)
			nfs.send(nfs.read("data", 0, 150000));
		/* The one GRANT after each GRANT of ours. */
		if (p.poll(kSilence))
			p.freeze(p.received());
	} while (p.credit() > 0 && calls < 1000);
	EXPECT_LT(calls, 1000u);
	Peer::open().expect_works();
}

/* Section 7.4: nothing but the end of the connection can tell the client. */
TEST(server_credits, errors_that_cannot_be_sent_end_the_connection)
{
	Peer p = Peer::open();
	Nfs nfs(p);
	Region to(p.link(), 100, Access::Write);
	const auto refused = [&] {
		nfs.send(Nfs::read("data", 0, 5000),
			 Lists().write({ to.segment() }));
	};

	p.freeze(p.received());
	for (u32 i = 0; i < RPCRDMA_MAX_CONTROL; i++)
		refused();
	p.expect_silence();
	try {
		refused();
	} catch (const Failure &) {
		/* It was received, but that is not known here. */
		EXPECT_FALSE(p.link().alive());
	}
	p.expect_closed();
	Peer::open().expect_works();
}

/* Answer each message with a GRANT, as a peer with this window has to. */
static void small_window(u32 window)
{
	Peer p = Peer::connect();
	Nfs nfs(p);
	u32 count = 0;

	p.offer(window);
	p.send(unit::connprop(p.new_xid()));
	p.take_properties(p.next());
	for (u32 i = 0; i < 40; i++)
		p.expect_works();
	EXPECT_LE(p.grants(), 20u);

	const u32 xid = nfs.send(nfs.read("data", 0, 100000));
	for (u32 more = 0; more < 40; count++) {
		const std::optional<Message> m =
			p.poll(more ? kSilence : kPatience);

		if (!m)
			break;
		if (m->htype() != RPCRDMA2_GRANT)
			ASSERT_EQ(m->xid(), xid);
		if (more || m->htype() == RPCRDMA2_REPLY_INLINE)
			more++;
		if (p.credit() >= 0)
			p.send_grant();
	}
	/* After the last of the Reply it has become quiet. */
	EXPECT_LE(count, 40u);
	p.offer(Peer::kWindow);
	p.send_grant();
	p.expect_works();
}

/* Section 4.2.1: it is 2^31 ahead, or as much behind. */
TEST(server_credits, a_limit_that_cannot_be)
{
	Peer p = Peer::open();

	p.freeze(0x80000000);
	p.send_last(unit::prefix(0, RPCRDMA2_GRANT));
	p.expect_closed();
}

TEST(server_credits, a_peer_with_a_window_of_one)
{
	small_window(1);
}

TEST(server_credits, a_peer_with_a_window_of_two)
{
	small_window(2);
}

TEST(server_credits, a_grant_is_due_when_half_of_the_window_is_used)
{
	Peer p = Peer::open();
	const s32 window = p.credit();

	/* Errors about nothing are taken in and given back at once. */
	for (s32 i = 0; i < 10 * window; i++)
		p.send(unit::prefix(p.new_xid(), RPCRDMA2_ERROR) +
		       Words{ 0x7777 });
	EXPECT_GE(p.grants(), 9u);
	EXPECT_LE(p.grants(), 22u);
	p.expect_works();
}
