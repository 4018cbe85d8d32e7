// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What our server does with clients of version 1 (RFC 8166) that are right or
 * wrong.
 */
#include "nfs.h"
#include "peer.h"

#include "../unit/version1.h"

#include <gtest/gtest.h>

using namespace peer;
namespace v1 = unit::v1;

static const Words kErrChunk = { 2 };

static void send(Peer &p, const Words &message)
{
	ASSERT_TRUE(p.send_as_is(unit::octets(message)));
}

/* A NULL call is answered, with these lists. */
static void expect_works(Peer &p, const Words &lists = v1::kNoLists,
			 const Words &returned = v1::kNoLists)
{
	const u32 xid = p.new_xid();

	send(p, v1::prefix(xid, RPCRDMA1_MSG) + lists + null_call(xid));
	const Message m = p.next();
	const Words w = words(m.octets);

	ASSERT_GE(w.size(), 4 + returned.size() + 2);
	EXPECT_EQ(w[0], xid);
	EXPECT_EQ(w[1], 1u);
	EXPECT_GE(w[2], 2u) << "a grant";
	EXPECT_LE(w[2], 256u) << "and no count";
	EXPECT_EQ(w[3], u32{ RPCRDMA1_MSG });
	EXPECT_EQ(Words(w.begin() + 4, w.begin() + 4 + returned.size()),
		  returned);
	EXPECT_EQ(w[4 + returned.size()], xid);
	EXPECT_EQ(w[4 + returned.size() + 1], u32{ RPCRDMA_REPLY });
	EXPECT_FALSE(m.invalidated);
}

TEST(server_version1, works)
{
	Peer p = Peer::connect();

	for (u32 i = 0; i < 300; i++)
		expect_works(p);
	p.expect_silence();
	EXPECT_EQ(p.grants(), 0u);
}

TEST(server_version1, chunks_that_are_not_used)
{
	Peer p = Peer::connect();

	expect_works(p,
		     Words{ 0, 1 } + v1::segments(0xc1, { 8192 }) +
			     Words{ 0, 1 } + v1::segments(0xd1, { 100, 5000 }),
		     Words{ 0, 1 } + v1::segments(0xc1, { 0 }) + Words{ 0, 1 } +
			     v1::segments(0xd1, { 0, 0 }));
}

/* As many as the kernel's own client may have in each list. */
TEST(server_version1, sixteen_segments_in_each_list)
{
	Peer p = Peer::connect();
	Words reads;

	for (u32 i = 0; i < 16; i++)
		reads = reads + Words{ 1, 40, 0xa1 + i, 0, 0, 0 };
	expect_works(p,
		     reads + Words{ 0, 1 } +
			     v1::segments(0xc1, Words(16, 100)) + Words{ 0, 0 },
		     Words{ 0, 1 } + v1::segments(0xc1, Words(16, 0)) +
			     Words{ 0, 0 });
	expect_works(p);
}

TEST(server_version1, calls_that_lie)
{
	Peer p = Peer::connect();
	u32 number = 0;

	expect_works(p);
	for (const Words &w : v1::lying_calls(p.new_xid())) {
		SCOPED_TRACE(number++);
		send(p, w);
		p.expect_error(w[0], kErrChunk, 1);
	}
	expect_works(p);
}

TEST(server_version1, calls_that_lie_first)
{
	for (const Words &w : v1::lying_calls(77)) {
		Peer p = Peer::connect();

		send(p, w);
		p.expect_error(w[0], kErrChunk, 1);
		expect_works(p);
	}
}

/* A client that says neither how large its Receives are nor offers a Reply chunk. */
TEST(server_version1, a_reply_that_its_client_made_no_room_for)
{
	const Compound c = Nfs::read("data", 0, 2000);
	Peer p = Peer::connect();
	const u32 xid = p.new_xid();

	send(p, v1::prefix(xid, RPCRDMA1_MSG) + v1::kNoLists +
			words(c.message(xid)));
	const Message m = p.next();
	EXPECT_EQ(m.xid(), xid);
	EXPECT_EQ(m.htype(), u32{ RPCRDMA1_MSG });
	EXPECT_GT(m.octets.size(), 2000u);
	expect_works(p);
}

/* Nor one Send of the server's. */
TEST(server_version1, a_reply_that_fits_nowhere)
{
	const u32 size = 2000;
	const Compound c = Nfs::read("data", 0, size);
	Peer p = Peer::connect();
	Nfs nfs(p);
	Region reply(p.link(), 2 * size, Access::Write);
	const auto call = [&](const Words &lists) {
		const u32 xid = p.new_xid();

		send(p, v1::prefix(xid, RPCRDMA1_MSG) + lists +
				words(c.message(xid)));
		return xid;
	};

	const u32 large = p.new_xid();
	send(p, v1::prefix(large, RPCRDMA1_MSG) + v1::kNoLists +
			words(Nfs::read("data", 0, 20000).message(large)));
	p.expect_error(large, kErrChunk, 1);
	for (const Words &lists :
	     { Words{ 0, 0, 1, 0 },
	       Words{ 0, 0, 1, 1 } + reply.segment(0, size),
	       Words{ 0, 1, 1 } + reply.segment(0, size - 1) + Words{ 0, 0 } })
		p.expect_error(call(lists), kErrChunk, 1);
	EXPECT_TRUE(reply.untouched_from(0));

	/* Where there is room, that Call is answered. */
	const u32 xid = call(Words{ 0, 0, 1, 1 } + reply.segment());
	const Message m = p.next();
	ASSERT_EQ(m.octets.size(), 4u * (4 + 4 + 4));
	EXPECT_EQ(m.xid(), xid);
	EXPECT_EQ(m.htype(), u32{ RPCRDMA1_NOMSG });
	const u32 length = m.word(9);
	ASSERT_LE(length, 2 * size);
	Rpc r;
	r.stream = reply.content(0, length);
	EXPECT_TRUE(Nfs::read_result(r) == Nfs::data(0, size));
	EXPECT_TRUE(reply.untouched_from(length));
	expect_works(p);
}

/* Who has given up Calls may send more than were granted: a Send waits for a Receive. */
TEST(server_version1, a_receive_may_be_missing_for_a_moment)
{
	Peer p = Peer::connect();

	expect_works(p);
	EXPECT_EQ(p.link().receive_retries(), 7u);
}

TEST(server_version1, directions)
{
	Peer p = Peer::connect();
	const u32 xid = p.new_xid();

	expect_works(p);
	/* Neither a Call nor a Reply; and Replies to nothing. */
	for (u32 dir : { 2u, 0xffffffffu }) {
		send(p, v1::msg(xid, dir));
		p.expect_error(xid, kErrChunk, 1);
	}
	send(p, v1::reply(xid));
	send(p, v1::msg(xid, RPCRDMA_REPLY, 40,
			Words{ 0, 0, 1 } + v1::segments(0xd1, { 0 })));
	p.expect_silence();
	expect_works(p);
}

TEST(server_version1, other_procedures)
{
	Peer p = Peer::connect();
	const u32 xid = p.new_xid();

	expect_works(p);
	for (u32 proc : { u32{ RPCRDMA1_MSGP }, 5u, 0xffffffffu }) {
		send(p, v1::prefix(xid, proc) + Words{ 4, 4 } + v1::kNoLists +
				null_call(xid));
		p.expect_error(xid, kErrChunk, 1);
	}
	send(p, v1::prefix(xid, RPCRDMA1_DONE));
	send(p, v1::err_chunk(xid));
	send(p, v1::err_vers(xid, 1, 1));
	send(p, { xid, 1, 32 });
	p.expect_silence();
	expect_works(p);
}

TEST(server_version1, another_version_later)
{
	Peer p = Peer::connect();
	const u32 xid = p.new_xid();

	expect_works(p);
	for (u32 vers : { 0u, 2u, 3u }) {
		send(p, { xid, vers, 32, RPCRDMA2_CONNPROP_FINAL, 0 });
		p.expect_error(xid, { RPCRDMA2_ERR_VERS, 1, 1 }, vers);
	}
	expect_works(p);
}

/* While others speak version 2. */
TEST(server_version1, beside_version_2)
{
	Peer one = Peer::connect();
	Peer two = Peer::open();

	for (u32 i = 0; i < 20; i++) {
		expect_works(one);
		two.expect_works();
	}
}
