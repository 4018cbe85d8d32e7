// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "xdr.h"

using namespace rpcrdma;

namespace
{

struct Read {
	u32 position;
	u32 length;
};

Chunks reads(std::initializer_list<Read> list)
{
	Chunks c = {};

	for (const Read &r : list)
		c.reads[c.n_reads++] = { r.position, { 1, r.length, 0 } };
	return c;
}

bool valid(const Chunks &c, u32 stream, u64 want = 0)
{
	u64 unreduced = 0;
	const bool ok = reads_valid(c, stream, unreduced);

	if (ok && want)
		EXPECT_EQ(unreduced, want);
	return ok;
}

} // namespace

TEST(chunks, reads_valid__no_reads)
{
	EXPECT_TRUE(valid({}, 400, 400));
}

TEST(chunks, reads_valid__position_zero_D7)
{
	EXPECT_FALSE(valid(reads({ { 0, 16 } }), 400));
}

TEST(chunks, reads_valid__position_multiple_of_four_D7)
{
	EXPECT_TRUE(valid(reads({ { 100, 16 } }), 400, 416));
	for (u32 p : { 101u, 102u, 103u })
		EXPECT_FALSE(valid(reads({ { p, 16 } }), 400));
}

TEST(chunks, reads_valid__inside_the_message_D7)
{
	EXPECT_TRUE(valid(reads({ { 400, 16 } }), 400, 416));
	EXPECT_FALSE(valid(reads({ { 404, 16 } }), 400));
	EXPECT_FALSE(valid(reads({ { 0xfffffffc, 16 } }), 400));
	/* The second Position counts the first chunk's octets. */
	EXPECT_TRUE(valid(reads({ { 100, 16 }, { 416, 8 } }), 400, 424));
	EXPECT_FALSE(valid(reads({ { 100, 16 }, { 420, 8 } }), 400));
}

TEST(chunks, reads_valid__positions_increase_D7)
{
	EXPECT_FALSE(valid(reads({ { 200, 4 }, { 100, 4 } }), 400));
	EXPECT_FALSE(valid(reads({ { 100, 4 }, { 200, 4 }, { 100, 4 } }), 400));
}

TEST(chunks, reads_valid__no_overlap_D7)
{
	EXPECT_FALSE(valid(reads({ { 100, 16 }, { 112, 4 } }), 400));
	EXPECT_TRUE(valid(reads({ { 100, 16 }, { 116, 4 } }), 400, 420));
	/* Roundup belongs to the chunk. */
	EXPECT_FALSE(valid(reads({ { 100, 17 }, { 116, 4 } }), 400));
	EXPECT_TRUE(valid(reads({ { 100, 17 }, { 120, 4 } }), 400, 424));
}

TEST(chunks, reads_valid__segments_of_one_chunk)
{
	EXPECT_TRUE(valid(reads({ { 8, 3 }, { 8, 3 }, { 8, 3 } }), 8, 20));
}

TEST(chunks, reads_valid__lengths_summed_in_64_bits_D7)
{
	EXPECT_TRUE(valid(reads({ { 4, UINT32_MAX }, { 4, UINT32_MAX } }), 8,
			  8 + xdr_roundup(u64{ 2 } * UINT32_MAX)));
	/* In 32 bits the first chunk would be 4 octets long. */
	EXPECT_FALSE(
		valid(reads({ { 4, 0xfffffffc }, { 4, 8 }, { 8, 4 } }), 400));
}

TEST(chunks, reads_valid__empty_segments)
{
	EXPECT_TRUE(valid(reads({ { 4, 0 }, { 8, 0 } }), 8, 8));
}

TEST(chunks, well_formed__counts)
{
	Chunks c = {};

	EXPECT_TRUE(well_formed(c));
	c.n_reads = RPCRDMA_MAX_SEGMENTS + 1;
	EXPECT_FALSE(well_formed(c));
	c = {};
	c.n_call = RPCRDMA_MAX_SEGMENTS + 1;
	EXPECT_FALSE(well_formed(c));
	c = {};
	c.n_writes = RPCRDMA_MAX_CHUNKS + 1;
	EXPECT_FALSE(well_formed(c));
	c = {};
	c.n_write_segs = RPCRDMA_MAX_SEGMENTS + 1;
	EXPECT_FALSE(well_formed(c));
}

TEST(chunks, well_formed__write_chunks_in_the_array)
{
	Chunks c = {};

	c.n_writes = 2;
	c.n_write_segs = 4;
	c.writes[0] = { 2, 0 };
	c.writes[1] = { 2, 2 };
	EXPECT_TRUE(well_formed(c));
	c.writes[1] = { 3, 2 };
	EXPECT_FALSE(well_formed(c));
	c.writes[1] = { UINT32_MAX, 2 };
	EXPECT_FALSE(well_formed(c));
	c.writes[1] = { 1, 5 };
	EXPECT_FALSE(well_formed(c));
	c.writes[0] = { 4, 0 };
	c.writes[1] = { 4, 0 };
	EXPECT_FALSE(well_formed(c)) << "segments shared";
	c.writes[0] = { 2, 0 };
	c.writes[1] = { 2, 1 };
	EXPECT_FALSE(well_formed(c)) << "one segment shared, and one of nobody";
	c.writes[1] = { 1, 2 };
	c.has_reply = true;
	for (u32 first = 0; first <= 4; first++) {
		c.reply = { 1, first };
		EXPECT_EQ(well_formed(c), first == 3) << first;
		c.reply = { 0, first };
		EXPECT_TRUE(well_formed(c)) << "an empty one has none";
	}
	c.writes[0] = { 1, 3 };
	c.reply = { 2, 0 };
	EXPECT_TRUE(well_formed(c)) << "in any order";
	c.n_writes = 0;
	c.reply = { 4, 1 };
	EXPECT_FALSE(well_formed(c));
	c.reply = { 3, 1 };
	EXPECT_TRUE(well_formed(c));
}

namespace
{

/* Three segments in each list, of @length octets but for the one that is @other. */
Chunks of_length(u32 length, u32 at, u32 other)
{
	Chunks c = {};

	c.n_call = c.n_reads = c.n_write_segs = 3;
	for (u32 i = 0; i < 3; i++) {
		c.call[i] = { 1 + i, at == i ? other : length, 0 };
		c.reads[i] = { 8, { 4 + i, at == 3 + i ? other : length, 0 } };
		c.write_segs[i] = { 7 + i, at == 6 + i ? other : length, 0 };
	}
	/* What has been there before does not count. */
	c.call[3] = c.write_segs[3] = c.reads[3].target = { 77, 9999, 0 };
	return c;
}

} // namespace

TEST(chunks, segments_within__the_largest_of_all_lists)
{
	for (u32 at = 0; at < 9; at++) {
		EXPECT_TRUE(segments_within(of_length(10, at, 50), 50)) << at;
		EXPECT_FALSE(segments_within(of_length(10, at, 51), 50)) << at;
	}
	EXPECT_TRUE(segments_within({}, 0));
}

TEST(chunks, handle_known__in_any_place)
{
	const Chunks c = of_length(10, 0, 10);

	for (u32 handle = 0; handle < 12; handle++)
		EXPECT_EQ(handle_known(c, handle), handle <= 9) << handle;
	EXPECT_FALSE(handle_known(c, 77));
}

TEST(chunks, inv_handle__of_the_first_segment_there_is)
{
	Chunks c = of_length(10, 0, 10);

	EXPECT_EQ(inv_handle(c), 4u);
	c.n_reads = 0;
	EXPECT_EQ(inv_handle(c), 7u);
	c.n_write_segs = 0;
	EXPECT_EQ(inv_handle(c), 1u);
	c.n_call = 0;
	EXPECT_EQ(inv_handle(c), 0u);
}

TEST(chunks, body_length__of_no_body_chunk)
{
	EXPECT_EQ(body_length({}, RPCRDMA_CALL), 0u);
	EXPECT_EQ(body_length({}, RPCRDMA_REPLY), 0u);
}

TEST(chunks, no_chunks__an_empty_chunk_is_one)
{
	Chunks c = {};

	EXPECT_TRUE(no_chunks(c));
	c.n_writes = 1;
	EXPECT_FALSE(no_chunks(c));
	c = {};
	c.has_reply = true;
	EXPECT_FALSE(no_chunks(c));
}
