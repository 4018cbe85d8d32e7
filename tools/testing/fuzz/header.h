/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Checks of a decoded header, of any version.
 */
#ifndef _RPCRDMA_FUZZ_HEADER_H
#define _RPCRDMA_FUZZ_HEADER_H

#include "fuzz.h"
#include "layout.h"
#include "wire.h"

namespace fuzz
{

using namespace rpcrdma;

inline bool same(const Segment &a, const Segment &b)
{
	return a.handle == b.handle && a.length == b.length &&
	       a.offset == b.offset;
}

inline bool same(const WriteChunk &a, const WriteChunk &b)
{
	return a.count == b.count && a.first == b.first;
}

inline bool same(const Chunks &a, const Chunks &b)
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

inline bool same(const Header &a, const Header &b)
{
	return !std::memcmp(&a.prefix, &b.prefix, sizeof(a.prefix)) &&
	       a.type == b.type &&
	       !std::memcmp(&a.error, &b.error, sizeof(a.error)) &&
	       a.remaining == b.remaining && a.inv_handle == b.inv_handle &&
	       a.payload.offset == b.payload.offset &&
	       a.payload.length == b.payload.length;
}

/* Whatever the result, no count goes beyond its array. */
inline void check_bounds(const Chunks &c)
{
	FUZZ_CHECK(c.n_call <= RPCRDMA_MAX_SEGMENTS);
	FUZZ_CHECK(c.n_reads <= RPCRDMA_MAX_SEGMENTS);
	FUZZ_CHECK(c.n_writes <= RPCRDMA_MAX_CHUNKS);
	FUZZ_CHECK(c.n_write_segs <= RPCRDMA_MAX_SEGMENTS);
}

/* @decode: the decoder that has accepted @in */
template <typename Decode>
void check_accepted(Bytes in, const Header &h, const Chunks &c, Decode decode)
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
		check_layout(c, h.payload.length, static_cast<u32>(unreduced));

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

	/* The same header again, before the beginning of the same payload. */
	constexpr u32 kWords = 2 * kWordSize;
	const u32 some = h.payload.length < kWords ? h.payload.length : kWords;
	std::memcpy(out + header, in.data() + octets, some);
	const Bytes again(out, header + some);
	Header h2;
	Chunks c2;
	FUZZ_CHECK(decode_prefix(again, h2.prefix));
	FUZZ_CHECK(decode(again, h2, c2) == Parse::Ok);
	h2.payload = h.payload;
	FUZZ_CHECK(same(h, h2) && same(c, c2));
}

} // namespace fuzz

#endif /* _RPCRDMA_FUZZ_HEADER_H */
