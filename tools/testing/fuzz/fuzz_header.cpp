// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A transport header of version 2. An accepted header encodes and decodes to itself, and
 * encodes to the received bytes wherever XDR leaves no choice.
 */
#include "header.h"

using namespace rpcrdma;

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

	const auto decode = [](Bytes octets, Header &header, Chunks &chunks) {
		header.type = header_type(header.prefix.htype);
		return decode_body(octets, kNoLimits, header, chunks);
	};
	const Parse wide = decode(in, h, c);
	fuzz::check_bounds(c);
	if (wide == Parse::Ok)
		fuzz::check_accepted(in, h, c, decode);

	/* A stricter limit refuses more, in its own words, and nothing else. */
	const Limits limits = { h.prefix.credit % 17, h.prefix.credit % 5,
				h.prefix.credit % 3 };
	const u32 n_reads = c.n_reads;
	const u32 n_writes = c.n_writes;
	const u32 n_segments = total_segments(c);
	Chunks c2;
	const Parse narrow = decode_body(in, limits, h, c2);
	fuzz::check_bounds(c2);
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
