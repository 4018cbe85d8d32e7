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
