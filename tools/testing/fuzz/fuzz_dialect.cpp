// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A message of the dialect of 2016, or nearly one.
 */
#include "header.h"
#include "xdr.h"

#include <vector>

using namespace rpcrdma;

static void optional(Bytes in, bool its)
{
	Optional2016 o;

	FUZZ_CHECK(decode_optional_2016(in, o) == its);
	if (!its)
		return;
	FUZZ_CHECK(in.size() > kPrefixSize);
	FUZZ_CHECK(o.direction <= RPCRDMA_REPLY);
	FUZZ_CHECK(o.optinfo.offset == kPrefixSize + 3 * kWordSize);
	FUZZ_CHECK(o.optinfo.length <= in.size());
	FUZZ_CHECK(o.payload.offset ==
		   o.optinfo.offset + xdr_roundup(o.optinfo.length));
	FUZZ_CHECK(o.payload.offset + o.payload.length == in.size());
}

/* Without its direction it is a message of version 1, of that direction. */
static void message(Bytes in, bool its)
{
	Header h;
	Header h1;
	Chunks c;
	Chunks c1;

	FUZZ_CHECK(decode_prefix(in, h.prefix));
	const Parse parsed = decode_body_2016(in, h, c);
	fuzz::check_bounds(c);
	FUZZ_CHECK(its == (parsed != Parse::BadXdr));
	FUZZ_CHECK(h.end >= kPrefixSize && h.end <= in.size());
	if (in.size() < kPrefixSize + kWordSize)
		return;
	std::vector<u8> less(in.begin(), in.begin() + kPrefixSize);
	less.insert(less.end(), in.begin() + kPrefixSize + kWordSize, in.end());
	const fuzz::Exact copy(less.data(), less.size());
	const u32 direction = load_be32(in.data() + kPrefixSize);
	FUZZ_CHECK(decode_prefix(copy.bytes(), h1.prefix));
	const Parse parsed1 = decode_body_v1(copy.bytes(), h1, c1);
	if (!h1.type || h1.type->direction() != direction) {
		FUZZ_CHECK(!its);
		return;
	}
	/* There a msg_type that is none comes to light later. */
	if (h1.payload.length &&
	    load_be32(copy.bytes().data() + h1.payload.offset + kWordSize) !=
		    direction) {
		FUZZ_CHECK(!its);
		return;
	}
	FUZZ_CHECK(parsed == parsed1);
	if (parsed != Parse::Ok)
		return;
	fuzz::check_accepted(copy.bytes(), h1, c1, decode_body_v1);
	if (h1.payload.length)
		h1.payload.offset += kWordSize;
	FUZZ_CHECK(fuzz::same(h, h1) && fuzz::same(c, c1));
}

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	const fuzz::Exact copy(data, size);
	const Bytes in = copy.bytes();
	Prefix p;
	Chunks c = {};

	if (!decode_prefix(in, p))
		return 0;
	const bool its = of_2016(in, p, c);
	fuzz::check_bounds(c);
	if (its) {
		/* And not one of version 2. */
		Header h;

		h.prefix = p;
		h.type = header_type(p.htype);
		FUZZ_CHECK(p.vers == kVersion2);
		FUZZ_CHECK(!h.type ||
			   (h.type->kind == Kind::Grant &&
			    decode_body(in, kNoLimits, h, c) == Parse::BadXdr));
	}
	if (p.vers == kVersion2 && p.htype == kOptional2016)
		optional(in, its);
	else if (p.vers == kVersion2 && p.htype <= RPCRDMA1_NOMSG)
		message(in, its);
	else
		FUZZ_CHECK(!its);
	return 0;
}
