// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A property set. An accepted set stays the same when it is written and read again, but
 * for a structure of Receives that no number describes; a refused set changes nothing; a
 * second set adds to the first (section 6.3.3).
 */
#include "fuzz.h"
#include "properties.h"
#include "rtr_place.h"

#include <array>
#include <bit>

using namespace rpcrdma;

static bool same(const Properties &a, const Properties &b)
{
	using Numbers = std::array<u32, sizeof(Properties) / kWordSize>;

	return std::bit_cast<Numbers>(a) == std::bit_cast<Numbers>(b);
}

/* What a peer hears of these: nothing of a structure that only a peer could have told. */
static Properties told(Properties p)
{
	u32 &structure = *number(p, property_index(kReceiveStructure));

	if (structure == kOtherShape)
		structure = 0;
	return p;
}

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	const fuzz::Exact copy(data, size);
	Properties before = kDefaultProperties;
	static_cast<rpcrdma_properties &>(before) = { 1111, 2222, 3333, 4, 1 };
	Properties p = before;
	u8 out[kPropertiesSizeMax];

	if (decode_properties(copy.bytes(), p) != PropertyParse::Ok) {
		FUZZ_CHECK(same(p, before));
		return 0;
	}
	FUZZ_CHECK(p.reverse <= RPCRDMA_RVRSDIR_GENL);
	/* What the peer has said of an extension takes more. */
	const u32 length = encode_properties(p, out);
	FUZZ_CHECK(length >= kPropertiesSize);
	FUZZ_CHECK(!encode_properties(p, { out, length - 1 }));
	FUZZ_CHECK(encode_properties(p, out) == length);

	Properties again = kDefaultProperties;
	FUZZ_CHECK(decode_properties({ out, length }, again) ==
		   PropertyParse::Ok);
	FUZZ_CHECK(same(told(p), again));

	/* What a set says holds whatever was there before. */
	FUZZ_CHECK(decode_properties(copy.bytes(), again) == PropertyParse::Ok);
	FUZZ_CHECK(same(p, again));
	return 0;
}
