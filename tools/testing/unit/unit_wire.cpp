// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "golden.h"
#include "linux_errno.h"

#include <cerrno>

using namespace rpcrdma;
using namespace unit;

namespace
{

Parse decode(const Octets &message, Header &h, Chunks &c,
	     const Limits &limits = kNoLimits)
{
	const Exact copy(message);

	if (!decode_prefix(copy.bytes(), h.prefix))
		return Parse::BadXdr;
	h.type = header_type(h.prefix.htype);
	if (!h.type)
		return Parse::BadXdr;
	return decode_body(copy.bytes(), limits, h, c);
}

Parse decode(const Words &message, const Limits &limits = kNoLimits)
{
	Header h;
	Chunks c;

	return decode(octets(message), h, c, limits);
}

void expect_equal(const Segment &a, const Segment &b)
{
	EXPECT_EQ(a.handle, b.handle);
	EXPECT_EQ(a.length, b.length);
	EXPECT_EQ(a.offset, b.offset);
}

void expect_equal(const Chunks &a, const Chunks &b)
{
	ASSERT_EQ(a.n_call, b.n_call);
	ASSERT_EQ(a.n_reads, b.n_reads);
	ASSERT_EQ(a.n_writes, b.n_writes);
	ASSERT_EQ(a.n_write_segs, b.n_write_segs);
	ASSERT_EQ(a.has_reply, b.has_reply);
	for (u32 i = 0; i < a.n_call; i++)
		expect_equal(a.call[i], b.call[i]);
	for (u32 i = 0; i < a.n_reads; i++) {
		EXPECT_EQ(a.reads[i].position, b.reads[i].position);
		expect_equal(a.reads[i].target, b.reads[i].target);
	}
	for (u32 i = 0; i < a.n_writes; i++) {
		EXPECT_EQ(a.writes[i].count, b.writes[i].count);
		EXPECT_EQ(a.writes[i].first, b.writes[i].first);
	}
	if (a.has_reply) {
		EXPECT_EQ(a.reply.count, b.reply.count);
		EXPECT_EQ(a.reply.first, b.reply.first);
	}
	for (u32 i = 0; i < a.n_write_segs; i++)
		expect_equal(a.write_segs[i], b.write_segs[i]);
}

/* A Read list of @n segments, each at a Position of its own. */
Words read_list(u32 n, u32 step = 4)
{
	Words w;

	for (u32 i = 0; i < n; i++)
		w = w + Words{ 1, 4 + i * step, i + 1, 0, 0, 0 };
	return w + Words{ 0 };
}

Words write_chunk(u32 segments)
{
	Words w = { segments };

	for (u32 i = 0; i < segments; i++)
		w = w + Words{ 0xf0 + i, 4096, 0, 0 };
	return w;
}

Words write_list(u32 chunks, u32 segments)
{
	Words w;

	for (u32 i = 0; i < chunks; i++)
		w = w + Words{ 1 } + write_chunk(segments);
	return w + Words{ 0 };
}

Words call(u32 inv, const Words &reads, const Words &writes, const Words &reply)
{
	return prefix(1, RPCRDMA2_CALL_INLINE) + Words{ inv } + reads + writes +
	       reply + Words{ 1, 0 };
}

} // namespace

TEST(wire, decode_prefix__four_words)
{
	const Octets o = { 0x11, 0x22, 0x33, 0x44, 0, 0, 0, 2,
			   0,	 0,    1,    0,	   0, 0, 0, 5 };
	Prefix p;

	ASSERT_TRUE(decode_prefix(Exact(o).bytes(), p));
	EXPECT_EQ(p.xid, Xid{ 0x11223344 });
	EXPECT_EQ(p.vers, 2u);
	EXPECT_EQ(p.credit, 256u);
	EXPECT_EQ(p.htype, u32{ RPCRDMA2_GRANT });
}

TEST(wire, decode_prefix__under_16_octets_D4)
{
	const Octets o(16, 1);
	Prefix p;

	for (u32 size = 0; size < 16; size++)
		EXPECT_FALSE(decode_prefix(
			Exact(Octets(o.begin(), o.begin() + size)).bytes(), p));
}

TEST(wire, header_type__table_of_section_6_1)
{
	static const struct {
		u32 htype;
		bool payload;
		const char *name;
	} rows[] = {
		{ 4, false, "ERROR" },
		{ 5, false, "GRANT" },
		{ 6, false, "CONNPROP_MIDDLE" },
		{ 7, false, "CONNPROP_FINAL" },
		{ 8, false, "CALL_EXTERNAL" },
		{ 9, true, "CALL_MIDDLE" },
		{ 10, true, "CALL_INLINE" },
		{ 11, false, "REPLY_EXTERNAL" },
		{ 12, true, "REPLY_MIDDLE" },
		{ 13, true, "REPLY_INLINE" },
	};

	for (const auto &row : rows) {
		const HeaderType *t = header_type(row.htype);

		ASSERT_NE(t, nullptr);
		EXPECT_EQ(t->htype, row.htype);
		EXPECT_EQ(t->payload, row.payload);
		EXPECT_EQ(t->external(), row.htype == 8 || row.htype == 11);
		EXPECT_STREQ(t->name, row.name);
	}
	for (u32 htype : { 0u, 1u, 2u, 3u, 14u, 255u, 0xffffff0fu, UINT32_MAX })
		EXPECT_EQ(header_type(htype), nullptr);
}

/* Whatever a number on the wire is, what is counted by it is bounded. */
TEST(wire, type_at__every_index_and_no_other)
{
	u32 found = 0;

	ASSERT_LE(type_count(), u32{ RPCRDMA_MAX_TYPES });
	for (u32 index = 0; index < 2 * RPCRDMA_MAX_TYPES; index++) {
		const HeaderType *t = type_at(index);

		if (!t)
			continue;
		found++;
		EXPECT_LT(index, type_count());
		EXPECT_EQ(t->index, index);
		EXPECT_EQ(header_type(t->htype), t);
		EXPECT_EQ(t->extension == 0, t->htype < RPCRDMA_TYPE_UNKNOWN);
	}
	/* All but those of version 1, and what stands for the unknown ones. */
	EXPECT_EQ(found + 5, type_count());
	for (u32 htype = 4; htype < 14; htype++)
		EXPECT_EQ(header_type(htype)->index, htype);
	EXPECT_EQ(type_at(UINT32_MAX), nullptr);
}

TEST(wire, error_type__table_of_section_7)
{
	static const struct {
		u32 code;
		u32 words;
		int error;
	} rows[] = {
		{ 1, 2, EPROTONOSUPPORT },
		{ 2, 0, EIO },
		{ 3, 0, EIO },
		{ 4, 0, EIO },
		{ 5, 0, EIO },
		{ 6, 1, EIO },
		{ 7, 1, EIO },
		{ 8, 1, EIO },
		{ 9, 2, EIO },
		{ 10, 1, EIO },
		{ 11, 0, EPROTONOSUPPORT },
		{ 100, 0, EREMOTEIO },
	};

	for (const auto &row : rows) {
		const ErrorType *t = error_type(row.code);

		ASSERT_NE(t, nullptr) << row.code;
		EXPECT_EQ(t->words, row.words) << row.code;
		EXPECT_EQ(t->error, -row.error) << row.code;
	}
	for (u32 code : { 0u, 12u, 99u, 101u, UINT32_MAX })
		EXPECT_EQ(error_type(code), nullptr);
}

TEST(wire, linux_errno__agrees_with_the_system)
{
	EXPECT_EQ(kEIO, EIO);
	EXPECT_EQ(kEPROTONOSUPPORT, EPROTONOSUPPORT);
	EXPECT_EQ(kEREMOTEIO, EREMOTEIO);
}

TEST(wire, decode_body__golden)
{
	for (const Golden &g : goldens()) {
		SCOPED_TRACE(g.name);
		Header h;
		Chunks c;

		ASSERT_EQ(decode(g.message(), h, c), Parse::Ok);
		EXPECT_EQ(h.prefix.credit, 7u);
		EXPECT_EQ(h.prefix.htype, g.htype);
		EXPECT_EQ(h.remaining, g.remaining);
		EXPECT_EQ(h.inv_handle, g.inv_handle);
		EXPECT_EQ(h.error.code, g.error.code);
		EXPECT_EQ(h.error.arg[0], g.error.arg[0]);
		EXPECT_EQ(h.error.arg[1], g.error.arg[1]);
		EXPECT_EQ(h.payload.length, 4 * g.payload.size());
		if (!g.payload.empty())
			EXPECT_EQ(h.payload.offset, 4 * g.header.size());
		EXPECT_TRUE(well_formed(c));
		expect_equal(c, g.chunks);
	}
}

TEST(wire, encode__golden)
{
	for (const Golden &g : goldens()) {
		SCOPED_TRACE(g.name);
		const Octets want = octets(g.header);
		Header h;

		h.prefix = { to_xid(g.header[0]), 2, 7, g.htype };
		h.type = header_type(g.htype);
		h.error = g.error;
		h.remaining = g.remaining;
		h.inv_handle = g.inv_handle;

		Octets out(4096, 0xee);
		const u32 size =
			encode(h, &g.chunks,
			       { out.data(), static_cast<u32>(out.size()) });
		if (h.type->kind == Kind::Connprop) {
			EXPECT_EQ(size, kPrefixSize); /* the set is apart */
			continue;
		}
		out.resize(size);
		EXPECT_EQ(out, want);
		if (h.type->kind != Kind::Error)
			EXPECT_EQ(header_size(*h.type, &g.chunks), size);
	}
}

TEST(wire, encode__octet_by_octet)
{
	Header h;
	u8 out[24];

	h.prefix = { Xid{ 0xdeadbeef }, 2, 0x01020304, RPCRDMA2_REPLY_MIDDLE };
	h.type = header_type(RPCRDMA2_REPLY_MIDDLE);
	h.remaining = 0x1000;
	ASSERT_EQ(encode(h, nullptr, out), 20u);
	static const u8 want[] = { 0xde, 0xad, 0xbe, 0xef, 0, 0,  0, 2, 1,  2,
				   3,	 4,    0,    0,	   0, 12, 0, 0, 16, 0 };
	EXPECT_EQ(std::memcmp(out, want, sizeof(want)), 0);
}

TEST(wire, encode__too_small_a_buffer)
{
	for (const Golden &g : goldens()) {
		SCOPED_TRACE(g.name);
		Header h;

		h.type = header_type(g.htype);
		h.error = g.error;
		Octets big(4096);
		const u32 size = encode(h, &g.chunks, { big.data(), 4096 });
		ASSERT_GE(size, kPrefixSize);
		for (u32 room = 0; room < size; room++) {
			std::unique_ptr<u8[]> out(new u8[room]);

			EXPECT_EQ(encode(h, &g.chunks, { out.get(), room }),
				  0u);
		}
	}
}

TEST(wire, encode__empty_lists)
{
	Header h;
	u8 out[64];
	const Chunks none = {};

	h.prefix = { Xid{ 5 }, 2, 9, RPCRDMA2_CALL_INLINE };
	h.type = header_type(RPCRDMA2_CALL_INLINE);
	EXPECT_EQ(encode(h, nullptr, out), 32u);
	EXPECT_EQ(encode(h, &none, out), 32u);
	EXPECT_EQ(header_size(*h.type, nullptr), 32u);
	h.type = header_type(RPCRDMA2_REPLY_INLINE);
	EXPECT_EQ(encode(h, nullptr, out), 20u);
	EXPECT_EQ(header_size(*h.type, nullptr), 20u);
	/* Not that it could be sent. */
	h.type = header_type(RPCRDMA2_CALL_EXTERNAL);
	EXPECT_EQ(encode(h, nullptr, out), 36u);
	EXPECT_EQ(header_size(*h.type, nullptr), 36u);
}

TEST(wire, decode_body__every_truncation)
{
	for (const Golden &g : goldens()) {
		SCOPED_TRACE(g.name);
		const Octets whole = g.message();
		const u32 head = 4 * static_cast<u32>(g.header.size());

		for (u32 size = 0; size < whole.size(); size++) {
			const Octets part(whole.begin(), whole.begin() + size);
			Header h;
			Chunks c;
			const Parse p = decode(part, h, c);

			if (size >= kPrefixSize && h.type &&
			    h.type->kind == Kind::Connprop)
				continue; /* the set is decoded elsewhere */
			if (size > head && size % 4 == 0) {
				/* the payload is shorter, the header whole */
				EXPECT_EQ(p, Parse::Ok) << size;
				EXPECT_EQ(h.payload.length, size - head);
			} else {
				EXPECT_EQ(p, Parse::BadXdr) << size;
			}
		}
	}
}

TEST(wire, decode_body__trailing_octets_without_payload)
{
	for (const Golden &g : goldens()) {
		const HeaderType *t = header_type(g.htype);

		if (t->payload || t->kind == Kind::Connprop)
			continue;
		SCOPED_TRACE(g.name);
		EXPECT_EQ(decode(g.header + Words{ 0 }), Parse::BadXdr);
	}
}

TEST(wire, decode_body__discriminators_are_zero_or_one)
{
	/* Each word of the golden headers that is a discriminator. */
	static const struct {
		u32 htype;
		std::vector<u32> at;
	} rows[] = {
		{ RPCRDMA2_CALL_EXTERNAL,
		  { 5, 11, 17, 18, 24, 30, 36, 37, 47, 49, 50 } },
		{ RPCRDMA2_CALL_INLINE, { 5, 11, 17, 23, 24, 34, 36, 37 } },
		{ RPCRDMA2_REPLY_EXTERNAL, { 4, 14, 16, 17 } },
		{ RPCRDMA2_REPLY_INLINE, { 4, 14, 16 } },
	};

	for (const Golden &g : goldens())
		for (const auto &row : rows) {
			if (row.htype != g.htype)
				continue;
			for (u32 at : row.at) {
				Words w = g.header + g.payload;

				ASSERT_LE(w[at], 1u) << g.name << at;
				w[at] = 2;
				EXPECT_EQ(decode(w), Parse::BadXdr);
				w[at] = 0x01000000;
				EXPECT_EQ(decode(w), Parse::BadXdr);
			}
		}
}

TEST(wire, decode_body__segment_count_beyond_the_message)
{
	for (u32 count : { 2u, 0x10000000u, 0x0fffffffu, UINT32_MAX }) {
		EXPECT_EQ(
			decode(call(0, { 0 }, { 1, count, 1, 1, 0, 0 }, { 0 })),
			Parse::BadXdr);
		EXPECT_EQ(
			decode(call(0, { 0 }, { 0 }, { 1, count, 1, 1, 0, 0 })),
			Parse::BadXdr);
	}
}

TEST(wire, decode_body__payload_positive_multiple_of_four)
{
	Octets o = octets(call(0, { 0 }, { 0 }, { 0 }));
	Header h;
	Chunks c;

	ASSERT_EQ(decode(o, h, c), Parse::Ok);
	o.push_back(0);
	EXPECT_EQ(decode(o, h, c), Parse::BadXdr);
	o.resize(32);
	EXPECT_EQ(decode(o, h, c), Parse::BadXdr);
}

TEST(wire, decode_body__limits_are_inclusive_D7)
{
	const Limits limits = { 8, 3, 2 };

	EXPECT_EQ(
		decode(call(0, read_list(3), write_list(2, 1), { 0 }), limits),
		Parse::Ok);
	EXPECT_EQ(decode(call(0, read_list(4), { 0 }, { 0 }), limits),
		  Parse::TooManyReadChunks);
	/* One chunk of many segments is one chunk. */
	EXPECT_EQ(decode(call(0, read_list(8, 0), { 0 }, { 0 }), limits),
		  Parse::Ok);
	EXPECT_EQ(decode(call(0, read_list(9, 0), { 0 }, { 0 }), limits),
		  Parse::TooManySegments);
	EXPECT_EQ(decode(call(0, { 0 }, write_list(3, 1), { 0 }), limits),
		  Parse::TooManyWriteChunks);
	EXPECT_EQ(decode(call(0, { 0 }, write_list(2, 4), { 0 }), limits),
		  Parse::Ok);
	EXPECT_EQ(decode(call(0, { 0 }, write_list(2, 4),
			      Words{ 1 } + write_chunk(1)),
			 limits),
		  Parse::TooManySegments);
	/* The Reply chunk is none of the Write list's. */
	EXPECT_EQ(decode(call(0, { 0 }, write_list(2, 1),
			      Words{ 1 } + write_chunk(1)),
			 limits),
		  Parse::Ok);
}

TEST(wire, decode_body__lists_beyond_the_arrays)
{
	/* Counted to the end, stored only as far as there is room. */
	EXPECT_EQ(decode(call(0, read_list(500), { 0 }, { 0 })),
		  Parse::TooManyReadChunks);
	EXPECT_EQ(decode(call(0, read_list(500, 0), { 0 }, { 0 })),
		  Parse::TooManySegments);
	EXPECT_EQ(decode(call(0, { 0 }, write_list(500, 0), { 0 })),
		  Parse::TooManyWriteChunks);
	EXPECT_EQ(decode(call(0, { 0 }, write_list(1, 500), { 0 })),
		  Parse::TooManySegments);
	EXPECT_EQ(decode(call(0, { 0 }, { 0 }, Words{ 1 } + write_chunk(500))),
		  Parse::TooManySegments);
	/* A list that is too long and does not end is malformed first. */
	Words w = read_list(500);
	w.pop_back();
	EXPECT_EQ(decode(prefix(1, RPCRDMA2_CALL_INLINE) + Words{ 0 } + w),
		  Parse::BadXdr);

	Words external = prefix(1, RPCRDMA2_CALL_EXTERNAL) + Words{ 0 };
	for (u32 i = 0; i < 17; i++)
		external = external + Words{ 1, 0, 9, 4, 0, 0 };
	EXPECT_EQ(decode(external + Words{ 0, 0, 0, 0 }),
		  Parse::TooManySegments);
}

TEST(wire, decode_body__no_limit_goes_beyond_the_arrays)
{
	const Limits generous = { 1000, 1000, 1000 };

	EXPECT_EQ(decode(call(0, { 0 }, write_list(9, 0), { 0 }), generous),
		  Parse::TooManyWriteChunks);
	EXPECT_EQ(decode(call(0, read_list(17), { 0 }, { 0 }), generous),
		  Parse::TooManySegments);
	EXPECT_EQ(decode(call(0, { 0 }, write_list(1, 17), { 0 }), generous),
		  Parse::TooManySegments);
}

TEST(wire, decode_body__arrays_filled_to_the_brim)
{
	Header h;
	Chunks c;

	EXPECT_EQ(decode(octets(call(0, read_list(16), { 0 }, { 0 })), h, c),
		  Parse::Ok);
	EXPECT_EQ(c.n_reads, 16u);
	EXPECT_EQ(decode(octets(call(0, { 0 }, write_list(8, 2), { 0 })), h, c),
		  Parse::Ok);
	EXPECT_EQ(c.n_writes, 8u);
	EXPECT_EQ(c.n_write_segs, 16u);
	EXPECT_TRUE(well_formed(c));
}

TEST(wire, decode_body__call_chunk_has_segments_in_position_zero)
{
	const Words head = prefix(1, RPCRDMA2_CALL_EXTERNAL) + Words{ 0 };
	const Words rest = { 0, 0, 0 };

	EXPECT_EQ(decode(head + Words{ 1, 0, 9, 4, 0, 0, 0 } + rest),
		  Parse::Ok);
	EXPECT_EQ(decode(head + Words{ 0 } + rest), Parse::BadXdr);
	EXPECT_EQ(decode(head + Words{ 1, 4, 9, 4, 0, 0, 0 } + rest),
		  Parse::BadXdr);
	/* All of them, not just one. */
	EXPECT_EQ(decode(head + Words{ 1, 0, 9, 4, 0, 0 } +
			 Words{ 1, 4, 9, 4, 0, 0, 0 } + rest),
		  Parse::BadXdr);
}

TEST(wire, decode_body__reply_external_needs_its_reply_chunk)
{
	EXPECT_EQ(decode(prefix(1, RPCRDMA2_REPLY_EXTERNAL) + Words{ 0, 0 }),
		  Parse::BadXdr);
}

TEST(wire, decode_body__inv_handle_is_zero_or_in_the_header_D7)
{
	const Words reads = { 1, 4, 0xaa, 0, 0, 0, 0 };
	const Words writes = { 1, 1, 0xbb, 4, 0, 0, 0 };
	const Words reply = { 1, 1, 0xcc, 4, 0, 0 };

	for (u32 handle : { 0u, 0xaau, 0xbbu, 0xccu })
		EXPECT_EQ(decode(call(handle, reads, writes, reply)),
			  Parse::Ok);
	EXPECT_EQ(decode(call(0xdd, reads, writes, reply)), Parse::BadXdr);
	EXPECT_EQ(decode(call(0xaa, { 0 }, { 0 }, { 0 })), Parse::BadXdr);
}

TEST(wire, decode_body__error_arms)
{
	for (u32 code = 0; code < 120; code++) {
		const ErrorType *t = error_type(code);

		for (u32 words = 0; words < 4; words++) {
			Header h;
			Chunks c;
			Words w = prefix(1, RPCRDMA2_ERROR) + Words{ code };

			for (u32 i = 0; i < words; i++)
				w.push_back(0x100 + i);
			const Parse p = decode(octets(w), h, c);
			EXPECT_EQ(p, !t || t->words == words ? Parse::Ok :
							       Parse::BadXdr);
			EXPECT_EQ(h.error.code, code);
			for (u32 i = 0; t && i < t->words && i < words; i++)
				EXPECT_EQ(h.error.arg[i], 0x100 + i);
		}
	}
}
