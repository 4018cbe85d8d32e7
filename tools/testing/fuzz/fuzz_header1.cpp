// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A transport header of version 1; the checks are those of fuzz_header.cpp.
 */
#include "header.h"

using namespace rpcrdma;

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	const fuzz::Exact copy(data, size);
	const Bytes in = copy.bytes();
	Header h;
	Chunks c;

	if (!decode_prefix(in, h.prefix) || h.prefix.htype > RPCRDMA1_NOMSG)
		return 0;
	const Parse parsed = decode_body_v1(in, h, c);
	fuzz::check_bounds(c);
	if (parsed != Parse::Ok)
		return 0;
	fuzz::check_accepted(in, h, c, decode_body_v1);
	FUZZ_CHECK(h.type->htype == h.prefix.htype);
	if (h.type->kind == Kind::Reply)
		FUZZ_CHECK(!c.n_call && !c.n_reads);

	/* What has been counted is what was stored. */
	const Count n = counted(c);
	FUZZ_CHECK(within_limits(n, kNoLimitsV1) == Parse::Ok);
	FUZZ_CHECK(within_limits(n, { n.segments, n.read_chunks,
				      n.write_chunks }) == Parse::Ok);
	FUZZ_CHECK(!n.segments ||
		   within_limits(n, { n.segments - 1, n.read_chunks,
				      n.write_chunks }) ==
			   Parse::TooManySegments);
	return 0;
}
