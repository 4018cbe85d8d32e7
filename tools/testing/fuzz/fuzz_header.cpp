// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A transport header of version 2. What is accepted has a form that encodes and
 * decodes to itself, and is the octets that came wherever XDR leaves no choice.
 */
#include "fuzz.h"
#include "layout.h"
#include "wire.h"

using namespace rpcrdma;

namespace
{

bool same(const Segment &a, const Segment &b)
{
	return a.handle == b.handle && a.length == b.length &&
	       a.offset == b.offset;
}

bool same(const WriteChunk &a, const WriteChunk &b)
{
	return a.count == b.count && a.first == b.first;
}

bool same(const Chunks &a, const Chunks &b)
{
	bool equal = a.n_call == b.n_call && a.n_reads == b.n_reads &&
		     a.n_writes == b.n_writes &&
		     a.n_write_segs == b.n_write_segs &&
		     a.has_reply == b.has_reply && same(a.reply, b.reply);

	for (u32 i = 0; equal && i < a.n_call; i++)
		equal = same(a.call[i], b.call[i]);
	for (u32 i = 0; equal && i < a.n_reads; i++)
		equal = a.reads[i].position == b.reads[i].position &&
			same(a.reads[i].target, b.reads[i].target);
	for (u32 i = 0; equal && i < a.n_writes; i++)
		equal = same(a.writes[i], b.writes[i]);
	for (u32 i = 0; equal && i < a.n_write_segs; i++)
		equal = same(a.write_segs[i], b.write_segs[i]);
	return equal;
}

bool same(const Header &a, const Header &b)
{
	return !std::memcmp(&a.prefix, &b.prefix, sizeof(a.prefix)) &&
	       a.type == b.type &&
	       !std::memcmp(&a.error, &b.error, sizeof(a.error)) &&
	       a.remaining == b.remaining && a.inv_handle == b.inv_handle &&
	       a.payload.offset == b.payload.offset &&
	       a.payload.length == b.payload.length;
}

/* Whatever the result, no count goes beyond its array. */
void check_bounds(const Chunks &c)
{
	FUZZ_CHECK(c.n_call <= RPCRDMA_MAX_SEGMENTS);
	FUZZ_CHECK(c.n_reads <= RPCRDMA_MAX_SEGMENTS);
	FUZZ_CHECK(c.n_writes <= RPCRDMA_MAX_CHUNKS);
	FUZZ_CHECK(c.n_write_segs <= RPCRDMA_MAX_SEGMENTS);
}

void check_accepted(Bytes in, const Header &h, const Chunks &c)
{
	const HeaderType &t = *h.type;
	u64 unreduced;

	FUZZ_CHECK(well_formed(c));
	FUZZ_CHECK(handle_known(c, h.inv_handle));
	FUZZ_CHECK((h.payload.length > 0) == t.payload);
	if (t.payload) {
		FUZZ_CHECK(h.payload.offset + h.payload.length == in.size());
		FUZZ_CHECK(h.payload.length % 4 == 0);
	}
	if (t.htype == RPCRDMA2_CALL_EXTERNAL)
		FUZZ_CHECK(c.n_call > 0);
	if (t.htype == RPCRDMA2_REPLY_EXTERNAL)
		FUZZ_CHECK(c.has_reply);
	if (reads_valid(c, h.payload.length, unreduced) &&
	    unreduced <= UINT32_MAX)
		fuzz::check_layout(c, h.payload.length,
				   static_cast<u32>(unreduced));

	/* Nothing is left out, and the unknown words of errors alone. */
	u8 out[1 << 12];
	const u32 header = encode(h, &c, out);
	const u32 octets = t.payload ? h.payload.offset : in.size();

	FUZZ_CHECK(header >= kPrefixSize);
	FUZZ_CHECK(header == octets ||
		   (t.kind == Kind::Error && header < octets &&
		    !error_type(h.error.code)));
	FUZZ_CHECK(!std::memcmp(out, in.data(), header));
	if (t.kind != Kind::Error)
		FUZZ_CHECK(header == header_size(t, &c));

	/* With nothing but the header to spare, and with less. */
	const std::unique_ptr<u8[]> exact(new u8[header]);
	FUZZ_CHECK(encode(h, &c, { exact.get(), header }) == header);
	FUZZ_CHECK(!encode(h, &c, { exact.get(), header - 1 }));

	/* The same header again, before the same payload. */
	std::memcpy(out + header, in.data() + octets,
		    t.payload ? kWordSize : 0);
	const Bytes again(out, header + (t.payload ? kWordSize : 0));
	Header h2;
	Chunks c2;
	FUZZ_CHECK(decode_prefix(again, h2.prefix));
	h2.type = header_type(h2.prefix.htype);
	FUZZ_CHECK(h2.type == h.type);
	FUZZ_CHECK(decode_body(again, kNoLimits, h2, c2) == Parse::Ok);
	h2.payload = h.payload;
	FUZZ_CHECK(same(h, h2) && same(c, c2));
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	const fuzz::Exact copy(data, size);
	const Bytes in = copy.bytes();
	Header h;
	Chunks c;

	if (!decode_prefix(in, h.prefix)) {
		FUZZ_CHECK(size < kPrefixSize);
		return 0;
	}
	h.type = header_type(h.prefix.htype);
	if (!h.type || h.type->fields & kFieldProperties)
		return 0;

	const Parse wide = decode_body(in, kNoLimits, h, c);
	check_bounds(c);
	if (wide == Parse::Ok)
		check_accepted(in, h, c);

	/* A stricter limit refuses more, in its own words, and nothing else. */
	const Limits limits = { h.prefix.credit % 17, h.prefix.credit % 5,
				h.prefix.credit % 3 };
	const u32 n_reads = c.n_reads;
	const u32 n_writes = c.n_writes;
	const u32 n_segments = total_segments(c);
	Chunks c2;
	const Parse narrow = decode_body(in, limits, h, c2);
	check_bounds(c2);
	FUZZ_CHECK(wide != Parse::BadXdr || narrow != Parse::Ok);
	if (wide == Parse::Ok && narrow == Parse::Ok) {
		FUZZ_CHECK(n_segments <= limits.segments);
		FUZZ_CHECK(n_writes <= limits.write_chunks);
		FUZZ_CHECK(!n_reads || limits.read_chunks);
	} else if (wide == Parse::Ok) {
		FUZZ_CHECK(narrow != Parse::BadXdr);
	}
	return 0;
}
