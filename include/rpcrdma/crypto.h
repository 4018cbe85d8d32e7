/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The cryptography that host authentication asks of its host, beside shim.h. The core has
 * none of its own.
 *
 * None of them sleeps. A function that returns false has not written a result.
 */
#ifndef _RPCRDMA_CRYPTO_H
#define _RPCRDMA_CRYPTO_H

#include "types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of a hash and of a MAC. */
#define RPCRDMA_SHA256_SIZE 32

/**
 * struct rpcrdma_octets - a part of an octet string
 * @data: may be anything if there are none
 * @size: how many
 */
struct rpcrdma_octets {
	const u8 *data;
	u32 size;
};

/**
 * rpcrdma_shim_sha256 - SHA-256 (FIPS 180-4) of the parts, one after the other
 * @parts: the octet string
 * @n: how many parts
 * @digest: gets RPCRDMA_SHA256_SIZE octets; may be one of the parts
 *
 * Return: false if it could not be computed.
 */
bool __must_check rpcrdma_shim_sha256(const struct rpcrdma_octets *parts, u32 n,
				      u8 *digest);

/**
 * rpcrdma_shim_hmac_sha256 - HMAC-SHA-256 (RFC 2104) of the parts
 * @key: of any length, none included
 * @parts: the octet string
 * @n: how many parts
 * @mac: gets RPCRDMA_SHA256_SIZE octets; may be the key or one of the parts
 *
 * Return: false if it could not be computed.
 */
bool __must_check rpcrdma_shim_hmac_sha256(const struct rpcrdma_octets *key,
					   const struct rpcrdma_octets *parts,
					   u32 n, u8 *mac);

/* Equal? How long it takes depends on @size alone. */
bool __must_check rpcrdma_shim_same(const u8 *a, const u8 *b, u32 size);

/* Overwrite a secret; the compiler cannot leave it out. */
void rpcrdma_shim_wipe(void *secret, u32 size);

#ifdef __cplusplus
}
#endif

#endif /* _RPCRDMA_CRYPTO_H */
