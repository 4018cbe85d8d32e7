/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What rpcrdma/crypto.h asks for, by OpenSSL, and what a test wants to know of it.
 */
#ifndef _RPCRDMA_HOSTAUTH_CRYPTO_H
#define _RPCRDMA_HOSTAUTH_CRYPTO_H

#include <rpcrdma/crypto.h>

namespace hostauth
{

/*
 * Of the functions that compute or compare
 * @calls: that compute
 * @blocks: of SHA-256, as a host has to compute them that keeps nothing
 * @compared: octets
 */
struct Work {
	u32 calls = 0;
	u64 blocks = 0;
	u32 compared = 0;

	bool operator==(const Work &) const = default;
};

extern thread_local Work work;
/* So many calls that compute succeed, and then one fails; negative: all succeed. */
extern thread_local int good_calls;

/* A bug: every proof is the right one. */
extern thread_local bool believes_all;

} // namespace hostauth

#endif /* _RPCRDMA_HOSTAUTH_CRYPTO_H */
