// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Our server where it registers memory for each RDMA Read and Write, as ib_core.force_mr makes
 * it do: a connection has 64 memory regions for that. A Reply has one for each segment that it
 * writes to, and while the client gives no credit for it, it keeps them. So a few such Replies
 * have all of them, for as long as a test wants.
 */
#include "nfs.h"
#include "peer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

using namespace peer;

static constexpr u32 kPage = 4096;
static constexpr u32 kItem = RPCRDMA_MAX_SEGMENTS * kPage;
/* Regions of a connection (RPCRDMA_SVC_RW_CTXS), and READs that have all of them. */
static constexpr u32 kRegions = 64;
static constexpr u32 kAll = kRegions / RPCRDMA_MAX_SEGMENTS;
static_assert(kAll * RPCRDMA_MAX_SEGMENTS == kRegions);

/* A client that has sent READs which are answered by RDMA Writes, and gives no credit for that. */
class Reader {
public:
	explicit Reader(u32 reads)
		: peer(Peer::open())
		, nfs(peer)
	{
		peer.freeze(peer.received());
		for (u32 i = 0; i < reads; i++)
			read(i * kPage);
		peer.expect_silence();
	}
	void read(u32 offset)
	{
		std::vector<Words> segments;

		buffers.emplace_back(peer.link(), kItem, Access::Write);
		for (u32 at = 0; at < kItem; at += kPage)
			segments.push_back(buffers.back().segment(at, kPage));
		xids.push_back(nfs.send(Nfs::read("data", offset, kItem),
					Lists().write(segments)));
	}
	void give_credit()
	{
		peer.offer(Peer::kWindow);
		peer.send_grant();
	}
	/* The next Reply is to a READ. */
	void answered()
	{
		const Rpc r = peer.next_rpc();
		u32 i = 0;

		while (i < xids.size() && xids[i] != r.xid)
			i++;
		ASSERT_LT(i, xids.size());
		xids[i] = 0;
		EXPECT_EQ(Nfs::results(r.stream, { true }).back().status, 0u);
		EXPECT_TRUE(buffers[i].content(0, kItem) ==
			    Nfs::data(i * kPage, kItem));
	}

	Peer peer;
	Nfs nfs;
	std::deque<Region> buffers;
	std::vector<u32> xids;
};

TEST(registered_server, has_so_many_regions)
{
	Reader r(kAll);

	r.give_credit();
	for (u32 i = 0; i < kAll; i++)
		r.answered();
	r.peer.expect_works();
}

TEST(registered_server, replies_wait_for_regions)
{
	Reader r(5 * kAll + 1);

	EXPECT_TRUE(r.peer.link().alive());
	r.give_credit();
	for (u32 i = 0; i < 5 * kAll + 1; i++)
		r.answered();
	r.peer.expect_works();
}

TEST(registered_server, replies_without_rdma_do_not_wait)
{
	Reader r(2 * kAll);
	const u32 xid = Peer::new_xid();

	r.peer.send(unit::call_inline(xid, null_call(xid)));
	/* Of those that wait, none is in the queue before it. */
	r.peer.expect_silence();
	r.give_credit();
	for (u32 i = 0; i < kAll; i++)
		r.answered();
	EXPECT_TRUE(is_null_reply(r.peer.reply(xid)));
	for (u32 i = 0; i < kAll; i++)
		r.answered();
	r.peer.expect_works();
}

/* The only Call that is to be read does not fail because Replies have all regions. */
static void write_waits(u32 reads)
{
	const Octets data = Nfs::data(3, kItem);
	Reader r(reads);
	Region from(r.peer.link(), data);
	Lists lists;
	u32 answers = 0;

	Nfs::create("later");
	const Compound c = Nfs::file("later").write(0, kItem);
	for (u32 at = 0; at < kItem; at += kPage)
		lists.read(c.position(), from.segment(at, kPage));
	const u32 xid = r.nfs.send(c, lists);
	r.peer.expect_silence();
	EXPECT_TRUE(Nfs::written("later").empty());

	/* One region is missing at most: it need not be the last that is answered. */
	r.give_credit();
	for (bool written = false; answers < reads || !written;) {
		const Message m = r.peer.next();

		if (m.xid() == xid) {
			const Rpc reply = r.peer.rpc_from(m);

			EXPECT_EQ(Nfs::results(reply.stream).back().status, 0u);
			written = true;
			continue;
		}
		const auto at = std::find(r.xids.begin(), r.xids.end(), m.xid());
		ASSERT_NE(at, r.xids.end());
		EXPECT_EQ(Nfs::results(r.peer.rpc_from(m).stream, { true })
				  .back()
				  .status,
			  0u);
		answers++;
	}
	EXPECT_TRUE(Nfs::written("later") == data);
	r.peer.expect_works();
}

TEST(registered_server, a_call_waits_for_the_regions_of_replies)
{
	write_waits(kAll);
}

TEST(registered_server, a_call_lets_replies_go_first)
{
	write_waits(3 * kAll);
}

/* wire_registered.sh sees that nothing is left. */
TEST(registered_server, a_client_leaves_while_replies_wait)
{
	{
		Reader r(3 * kAll);
		const Octets data = Nfs::data(3, kItem);
		Region from(r.peer.link(), data);

		Nfs::create("never");
		const Compound c = Nfs::file("never").write(0, kItem);
		r.nfs.send(c, Lists().read(c.position(), from.segment()));
		r.peer.expect_silence();
	}
	Peer::open().expect_works();
}
