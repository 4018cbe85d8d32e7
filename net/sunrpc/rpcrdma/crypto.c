// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The functions of <rpcrdma/crypto.h>, by the kernel's crypto API.
 *
 * The algorithms are allocated when a policy first asks for host authentication, which may
 * load modules. There is one of each: exchanges are rare and take microseconds.
 */
#include <crypto/hash.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
/* crypto_memneq() was declared elsewhere. */
#include <crypto/algapi.h>

#include <rpcrdma/crypto.h>

#include "auth.h"

/* Guards both, and the key of the second. */
static DEFINE_SPINLOCK(rpcrdma_crypto_lock);
static struct shash_desc *rpcrdma_sha256;
static struct shash_desc *rpcrdma_hmac;

/* Serializes rpcrdma_crypto_init(). */
static DEFINE_MUTEX(rpcrdma_crypto_mutex);

static void rpcrdma_crypto_free(struct shash_desc *desc)
{
	if (!desc)
		return;
	crypto_free_shash(desc->tfm);
	kfree_sensitive(desc);
}

static struct shash_desc *rpcrdma_crypto_alloc(const char *name)
{
	struct crypto_shash *tfm = crypto_alloc_shash(name, 0, 0);
	struct shash_desc *desc;

	if (IS_ERR(tfm))
		return ERR_CAST(tfm);
	desc = kzalloc(sizeof(*desc) + crypto_shash_descsize(tfm), GFP_KERNEL);
	if (!desc) {
		crypto_free_shash(tfm);
		return ERR_PTR(-ENOMEM);
	}
	desc->tfm = tfm;
	return desc;
}

/**
 * rpcrdma_crypto_init - provide the algorithms, if they are not there yet
 *
 * Context: Process context. May sleep and load modules.
 *
 * Return: 0, %-ENOMEM, or %-ENOENT if the kernel has no such algorithm.
 */
int rpcrdma_crypto_init(void)
{
	struct shash_desc *sha256, *hmac;
	int rc = 0;

	mutex_lock(&rpcrdma_crypto_mutex);
	if (rpcrdma_hmac)
		goto out;
	sha256 = rpcrdma_crypto_alloc("sha256");
	if (IS_ERR(sha256)) {
		rc = PTR_ERR(sha256);
		goto out;
	}
	hmac = rpcrdma_crypto_alloc("hmac(sha256)");
	if (IS_ERR(hmac)) {
		rc = PTR_ERR(hmac);
		rpcrdma_crypto_free(sha256);
		goto out;
	}
	spin_lock(&rpcrdma_crypto_lock);
	rpcrdma_sha256 = sha256;
	rpcrdma_hmac = hmac;
	spin_unlock(&rpcrdma_crypto_lock);
out:
	mutex_unlock(&rpcrdma_crypto_mutex);
	return rc;
}

/**
 * rpcrdma_crypto_exit - nobody authenticates any more
 */
void rpcrdma_crypto_exit(void)
{
	rpcrdma_crypto_free(rpcrdma_sha256);
	rpcrdma_crypto_free(rpcrdma_hmac);
}

/* Return: false if any step fails. */
static bool rpcrdma_crypto_digest(struct shash_desc *desc,
				  const struct rpcrdma_octets *parts, u32 n,
				  u8 *digest)
{
	u32 i;

	lockdep_assert_held(&rpcrdma_crypto_lock);
	if (crypto_shash_init(desc))
		return false;
	for (i = 0; i < n; i++)
		if (parts[i].size &&
		    crypto_shash_update(desc, parts[i].data, parts[i].size))
			return false;
	return !crypto_shash_final(desc, digest);
}

bool rpcrdma_shim_sha256(const struct rpcrdma_octets *parts, u32 n, u8 *digest)
{
	bool ok;

	spin_lock(&rpcrdma_crypto_lock);
	ok = rpcrdma_sha256 &&
	     rpcrdma_crypto_digest(rpcrdma_sha256, parts, n, digest);
	spin_unlock(&rpcrdma_crypto_lock);
	return ok;
}

/* HMAC fills a short key with zeros, so a block of them is as good as none. */
bool rpcrdma_shim_hmac_sha256(const struct rpcrdma_octets *key,
			      const struct rpcrdma_octets *parts, u32 n,
			      u8 *mac)
{
	static const u8 none[RPCRDMA_SHA256_SIZE];
	bool ok;

	spin_lock(&rpcrdma_crypto_lock);
	ok = rpcrdma_hmac &&
	     !crypto_shash_setkey(rpcrdma_hmac->tfm,
				  key->size ? key->data : none,
				  key->size ?: sizeof(none)) &&
	     rpcrdma_crypto_digest(rpcrdma_hmac, parts, n, mac);
	/* Nothing of the key stays in the algorithm. */
	if (rpcrdma_hmac)
		ok = !crypto_shash_setkey(rpcrdma_hmac->tfm, none,
					  sizeof(none)) && ok;
	spin_unlock(&rpcrdma_crypto_lock);
	return ok;
}

bool rpcrdma_shim_same(const u8 *a, const u8 *b, u32 size)
{
	return !crypto_memneq(a, b, size);
}

void rpcrdma_shim_wipe(void *secret, u32 size)
{
	memzero_explicit(secret, size);
}
