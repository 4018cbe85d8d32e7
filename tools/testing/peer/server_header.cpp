// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What our server answers to headers that break a rule (D4, D7, section 7).
 * The connection can be used as before.
 */
#include "headers.h"

#include <gtest/gtest.h>

using namespace peer;

/* Memory that nobody is meant to look for. */
static Words nowhere(u32 handle = 0xb1, u32 length = 4)
{
	return { handle, length, 0, 0x1000 };
}

static std::vector<Words> many(u32 count)
{
	return std::vector<Words>(count, nowhere());
}

/* A NULL call with these lists is answered with this error. */
static void lists_refused(Peer &p, const Lists &lists, const Words &error,
			  u32 inv_handle = 0)
{
	const u32 xid = p.new_xid();

	refused(p, call_header(xid, lists, inv_handle) + null_call(xid), error);
}

TEST(server_read_list, position_zero)
{
	Peer p = Peer::open();

	lists_refused(p, Lists().read(0, nowhere()), kBadXdr);
	p.expect_works();
}

TEST(server_read_list, position_not_a_multiple_of_four)
{
	Peer p = Peer::open();

	for (u32 position : { 1, 6, 39 })
		lists_refused(p, Lists().read(position, nowhere()), kBadXdr);
	p.expect_works();
}

TEST(server_read_list, position_decreasing)
{
	Peer p = Peer::open();

	lists_refused(p, Lists().read(16, nowhere()).read(8, nowhere()),
		      kBadXdr);
	lists_refused(p,
		      Lists().read(16, nowhere())
			      .read(20, nowhere())
			      .read(16, nowhere()),
		      kBadXdr);
	p.expect_works();
}

TEST(server_read_list, position_outside_the_message)
{
	Peer p = Peer::open();

	/* The stream has 40 bytes. */
	lists_refused(p, Lists().read(44, nowhere()), kBadXdr);
	lists_refused(p, Lists().read(0xfffffffc, nowhere()), kBadXdr);
	lists_refused(p, Lists().read(40, nowhere()).read(48, nowhere()),
		      kBadXdr);
	p.expect_works();
}

TEST(server_read_list, overlap)
{
	Peer p = Peer::open();

	lists_refused(p, Lists().read(8, nowhere(1, 8)).read(12, nowhere(2, 4)),
		      kBadXdr);
	/* Roundup counts. */
	lists_refused(p, Lists().read(8, nowhere(1, 5)).read(12, nowhere(2, 4)),
		      kBadXdr);
	p.expect_works();
}

TEST(server_read_list, lengths_are_summed_in_64_bits)
{
	Peer p = Peer::open();

	lists_refused(p,
		      Lists().read(8, nowhere(1, 0x80000000))
			      .read(8, nowhere(2, 0x80000008)),
		      kSystem);
	lists_refused(p, Lists().read(8, nowhere(1, 0xffffffff)), kSystem);
	p.expect_works();
}

TEST(server_limits, read_chunks)
{
	Peer p = Peer::open();
	Lists lists;

	for (u32 i = 0; i <= RPCRDMA_MAX_CHUNKS; i++)
		lists.read(8 + 4 * i, nowhere());
	lists_refused(p, lists,
		      { RPCRDMA2_ERR_READ_CHUNKS, RPCRDMA_MAX_CHUNKS });
	p.expect_works();
}

TEST(server_limits, write_chunks)
{
	Peer p = Peer::open();
	Lists lists;

	for (u32 i = 0; i <= RPCRDMA_MAX_CHUNKS; i++)
		lists.write({});
	lists_refused(p, lists,
		      { RPCRDMA2_ERR_WRITE_CHUNKS, RPCRDMA_MAX_CHUNKS });
	p.expect_works();
}

TEST(server_limits, segments_in_all_lists_together)
{
	Peer p = Peer::open();
	const u32 most = p.property(4);
	const Words error = { RPCRDMA2_ERR_SEGMENTS, most };

	lists_refused(p, Lists().write(many(most + 1)), error);
	lists_refused(p, Lists().reply_chunk(many(most + 1)), error);
	lists_refused(p,
		      Lists().read(8, nowhere())
			      .write(many(most - 1))
			      .reply_chunk(many(1)),
		      error);
	p.expect_works();
}

TEST(server_limits, a_list_that_fills_the_message)
{
	Peer p = Peer::open();
	Lists reads, writes;

	for (u32 i = 0; i < 300; i++)
		reads.read(8 + 4 * i, nowhere());
	lists_refused(p, reads,
		      { RPCRDMA2_ERR_READ_CHUNKS, RPCRDMA_MAX_CHUNKS });
	for (u32 i = 0; i < 900; i++)
		writes.write({});
	lists_refused(p, writes,
		      { RPCRDMA2_ERR_WRITE_CHUNKS, RPCRDMA_MAX_CHUNKS });
	p.expect_works();
}

TEST(server_limits, a_count_beyond_the_message)
{
	Peer p = Peer::open();

	for (u32 count : { 2u, 0x10000000u, 0x7fffffffu, 0xffffffffu }) {
		const u32 xid = p.new_xid();
		const Words head = unit::prefix(xid, RPCRDMA2_CALL_INLINE);

		/* In the Write list, then in the Reply chunk. */
		refused(p,
			head + Words{ 0, 0, 1, count } + nowhere() +
				Words{ 0, 0 },
			kBadXdr);
		refused(p, head + Words{ 0, 0, 0, 1, count } + nowhere(),
			kBadXdr);
	}
	p.expect_works();
}

static void told(void (*what)(Peer &))
{
	Peer p = Peer::open();

	what(p);
	p.expect_works();
}

TEST(server_header, a_discriminator_is_zero_or_one)
{
	told(other_discriminators);
}

TEST(server_header, shorter_than_a_prefix_is_dropped)
{
	told(less_than_a_prefix);
}

TEST(server_header, unknown_header_types)
{
	told(unknown_header_types);
}

TEST(server_header, xid_is_that_of_the_rpc_message)
{
	told(another_xid_inside);
}

TEST(server_header, type_is_that_of_the_rpc_message)
{
	told(another_type_inside);
}

TEST(server_header, payload_of_no_whole_words)
{
	told(no_whole_words);
}

TEST(server_header, payload_where_there_is_none)
{
	told(payload_where_there_is_none);
}

TEST(server_header, inv_handle_is_in_the_header)
{
	Peer p = Peer::open();
	const std::vector<Words> one = { nowhere(0xc1) };

	lists_refused(p, {}, kBadXdr, 0x77);
	lists_refused(p, Lists().write(one).reply_chunk(one), kBadXdr, 0xc2);
	p.expect_works();
}

static void cut_short(u32 htype)
{
	for (const unit::Golden &g : goldens(htype)) {
		Peer p = Peer::open();

		cut_short(p, g);
		p.expect_works();
	}
}

TEST(server_cut_short, call_inline)
{
	cut_short(RPCRDMA2_CALL_INLINE);
}

TEST(server_cut_short, call_middle)
{
	cut_short(RPCRDMA2_CALL_MIDDLE);
}

TEST(server_cut_short, call_external)
{
	cut_short(RPCRDMA2_CALL_EXTERNAL);
}

TEST(server_cut_short, replies_are_dropped)
{
	for (u32 htype : { RPCRDMA2_REPLY_INLINE, RPCRDMA2_REPLY_MIDDLE,
			   RPCRDMA2_REPLY_EXTERNAL })
		cut_short(htype);
}

TEST(server_cut_short, errors_are_dropped)
{
	cut_short(RPCRDMA2_ERROR);
}

TEST(server_header, errors_are_never_answered)
{
	Peer p = Peer::open();

	for (u32 code : { 0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u, 11u, 12u,
			  99u, 100u, 101u, 0xffffffffu })
		p.send(unit::prefix(p.new_xid(), RPCRDMA2_ERROR) +
		       Words{ code, 2, 2 });
	p.expect_silence();
	p.expect_works();
}

TEST(server_header, replies_to_no_call_are_dropped)
{
	Peer p = Peer::open();
	const u32 xid = p.new_xid();
	const Words reply = { xid, RPCRDMA_REPLY, 0, 0, 0, 0 };

	p.send(unit::reply_inline(xid, reply));
	p.send(unit::prefix(xid, RPCRDMA2_REPLY_INLINE) +
	       Words{ 1, 1, 0xc1, 4, 0, 0, 0 } + reply);
	p.expect_silence();
	p.expect_works();
}

TEST(server_external, call_chunk_has_segments_all_at_zero)
{
	Peer p = Peer::open();
	const u32 xid = p.new_xid();

	refused(p, call_external(xid, {}), kBadXdr);
	refused(p, call_external(xid, { nowhere(1, 0) }), kBadXdr);
	refused(p, call_external(xid, { nowhere(1, 41) }), kBadXdr);
	refused(p,
		unit::prefix(xid, RPCRDMA2_CALL_EXTERNAL) +
			Words{ 0, 1, 4, 0xb1, 40, 0, 0x1000, 0, 0, 0, 0 },
		kBadXdr);
	p.expect_works();
}

TEST(server_external, too_large)
{
	Peer p = Peer::open();

	refused(p, call_external(p.new_xid(), { nowhere(1, 0xfffffffc) }),
		kSystem);
	refused(p,
		call_external(p.new_xid(), { nowhere(1, 0x80000000),
					     nowhere(2, 0x80000000) }),
		kSystem);
	p.expect_works();
}
