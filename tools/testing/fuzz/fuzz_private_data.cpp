// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * RFC 8797 private data: sizes are in range for any input, and decoded data encodes to
 * the same bytes, except for unknown flags.
 */
#include "fuzz.h"
#include "private_data.h"

using namespace rpcrdma;

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	const fuzz::Exact copy(data, size);
	rpcrdma_cm_private p = { 1, 1, true, true, true };
	const bool ok = decode_private_data(copy.bytes(), p);
	u8 out[RPCRDMA_CM_PRIVATE_SIZE];

	FUZZ_CHECK(p.send_size >= 1024 && p.send_size <= 262144);
	FUZZ_CHECK(p.recv_size >= 1024 && p.recv_size <= 262144);
	FUZZ_CHECK(p.send_size % 1024 == 0 && p.recv_size % 1024 == 0);
	if (!ok) {
		FUZZ_CHECK(p.send_size == 1024 && p.recv_size == 1024 &&
			   !p.remote_inv && !p.version2);
		return 0;
	}
	FUZZ_CHECK(size >= RPCRDMA_CM_PRIVATE_SIZE);
	encode_private_data(p, out);
	for (u32 i = 0; i < sizeof(out); i++)
		FUZZ_CHECK(out[i] == (i == 5 ? data[i] & 0x81 : data[i]));
	return 0;
}
