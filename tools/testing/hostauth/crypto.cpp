// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "crypto.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <vector>

namespace hostauth
{

thread_local Work work;
thread_local int good_calls = -1;
thread_local bool believes_all = false;

static std::vector<u8> join(const rpcrdma_octets *parts, u32 n)
{
	std::vector<u8> all;

	for (u32 i = 0; i < n; i++)
		if (parts[i].size)
			all.insert(all.end(), parts[i].data,
				   parts[i].data + parts[i].size);
	return all;
}

static bool may_go(u64 blocks)
{
	if (good_calls >= 0 && good_calls-- == 0)
		return false;
	work.calls++;
	work.blocks += blocks;
	return true;
}

/* A one, zeros and the length come at the end: nine octets at least. */
static u64 blocks(u64 octets)
{
	return (octets + 9 + 63) / 64;
}

/* The key is a block by itself, in both hashes; a longer one is hashed first. */
static u64 hmac_blocks(u64 key, u64 octets)
{
	return (key > 64 ? blocks(key) : 0) + blocks(64 + octets) +
	       blocks(64 + RPCRDMA_SHA256_SIZE);
}

} // namespace hostauth

extern "C" bool rpcrdma_shim_sha256(const struct rpcrdma_octets *parts, u32 n,
				    u8 *digest)
{
	const std::vector<u8> all = hostauth::join(parts, n);

	return hostauth::may_go(hostauth::blocks(all.size())) &&
	       EVP_Digest(all.data(), all.size(), digest, nullptr, EVP_sha256(),
			  nullptr) == 1;
}

extern "C" bool rpcrdma_shim_hmac_sha256(const struct rpcrdma_octets *key,
					 const struct rpcrdma_octets *parts,
					 u32 n, u8 *mac)
{
	const std::vector<u8> all = hostauth::join(parts, n);
	const u8 none = 0;

	return hostauth::may_go(hostauth::hmac_blocks(key->size, all.size())) &&
	       HMAC(EVP_sha256(), key->size ? key->data : &none,
		    static_cast<int>(key->size), all.data(), all.size(), mac,
		    nullptr);
}

extern "C" bool rpcrdma_shim_same(const u8 *a, const u8 *b, u32 size)
{
	hostauth::work.compared += size;
	return !CRYPTO_memcmp(a, b, size) ||
	       (hostauth::believes_all && size == RPCRDMA_SHA256_SIZE);
}

extern "C" void rpcrdma_shim_wipe(void *secret, u32 size)
{
	OPENSSL_cleanse(secret, size);
}
