// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Host authentication inside the kernel: its cryptography by published test cases, the
 * keyring, and two sessions that authenticate each other with both.
 */
#include <keys/user-type.h>
#include <kunit/test.h>
#include <linux/key.h>
#include <linux/string.h>

#include <rpcrdma/crypto.h>

#include "auth.h"

#define AUTH_BUF	4096

static void auth_expect(struct kunit *test, const u8 *octets, const char *hex)
{
	u8 want[RPCRDMA_SHA256_SIZE];

	KUNIT_ASSERT_EQ(test, hex2bin(want, hex, sizeof(want)), 0);
	KUNIT_EXPECT_MEMEQ(test, octets, want, sizeof(want));
}

/* FIPS 180-4's examples, whole and in parts. */
static void auth_hashes(struct kunit *test)
{
	const struct rpcrdma_octets parts[] = {
		{ (const u8 *)"a", 1 },
		{ NULL, 0 },
		{ (const u8 *)"bc", 2 },
	};
	u8 digest[RPCRDMA_SHA256_SIZE];

	KUNIT_ASSERT_TRUE(test, rpcrdma_shim_sha256(parts, 3, digest));
	auth_expect(test, digest,
		    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	KUNIT_ASSERT_TRUE(test, rpcrdma_shim_sha256(NULL, 0, digest));
	auth_expect(test, digest,
		    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

/* RFC 4231, test cases 2 and 6; and an HMAC without a key. */
static void auth_macs(struct kunit *test)
{
	static const char what[] = "what do ya want for nothing?";
	static const char large[] =
		"Test Using Larger Than Block-Size Key - Hash Key First";
	const struct rpcrdma_octets parts[] = {
		{ (const u8 *)what, 10 },
		{ (const u8 *)what + 10, sizeof(what) - 11 },
	};
	const struct rpcrdma_octets one = { (const u8 *)large,
					    sizeof(large) - 1 };
	struct rpcrdma_octets key = { (const u8 *)"Jefe", 4 };
	u8 mac[RPCRDMA_SHA256_SIZE], longer[131];

	KUNIT_ASSERT_TRUE(test, rpcrdma_shim_hmac_sha256(&key, parts, 2, mac));
	auth_expect(test, mac,
		    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(longer, 0xaa, sizeof(longer));
	key = (struct rpcrdma_octets) { longer, sizeof(longer) };
	KUNIT_ASSERT_TRUE(test, rpcrdma_shim_hmac_sha256(&key, &one, 1, mac));
	auth_expect(test, mac,
		    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
	key = (struct rpcrdma_octets) { NULL, 0 };
	KUNIT_ASSERT_TRUE(test, rpcrdma_shim_hmac_sha256(&key, NULL, 0, mac));
	auth_expect(test, mac,
		    "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
	/* It may be written over its key. */
	memcpy(longer, "Jefe", 4);
	key = (struct rpcrdma_octets) { longer, 4 };
	KUNIT_ASSERT_TRUE(test, rpcrdma_shim_hmac_sha256(&key, parts, 2,
							 longer));
	auth_expect(test, longer,
		    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

static void auth_compares_and_wipes(struct kunit *test)
{
	u8 a[32] = { 1, 2, 3 }, b[32] = { 1, 2, 3 };

	KUNIT_EXPECT_TRUE(test, rpcrdma_shim_same(a, b, sizeof(a)));
	b[31] = 1;
	KUNIT_EXPECT_FALSE(test, rpcrdma_shim_same(a, b, sizeof(a)));
	KUNIT_EXPECT_TRUE(test, rpcrdma_shim_same(a, b, 31));
	rpcrdma_shim_wipe(a, sizeof(a));
	KUNIT_EXPECT_NULL(test, memchr_inv(a, 0, sizeof(a)));
}

static struct key *auth_add(struct kunit *test, const char *type,
			    const char *name, u8 octet, size_t size)
{
	u8 secret[RPCRDMA_AUTH_MOST + 1];
	key_ref_t ref;

	memset(secret, octet, sizeof(secret));
	ref = key_create_or_update(make_key_ref(rpcrdma_auth_keyring(), true),
				   type, name, secret, size,
				   KEY_POS_ALL | KEY_USR_VIEW,
				   KEY_ALLOC_NOT_IN_QUOTA);
	KUNIT_ASSERT_FALSE(test, IS_ERR(ref));
	return key_ref_to_ptr(ref);
}

static u32 auth_find(const char *name, u8 *secret)
{
	return rpcrdma_auth_find_key((const u8 *)name, strlen(name), secret);
}

static void auth_finds_keys(struct kunit *test)
{
	u8 secret[RPCRDMA_AUTH_MOST];
	struct key *key;

	KUNIT_EXPECT_EQ(test, auth_find("kunit-none", secret), 0);
	key = auth_add(test, "logon", "rpcrdma:kunit-a", 0x41,
		       RPCRDMA_AUTH_LEAST);
	KUNIT_EXPECT_EQ(test, auth_find("kunit-a", secret), RPCRDMA_AUTH_LEAST);
	KUNIT_EXPECT_NULL(test, memchr_inv(secret, 0x41, RPCRDMA_AUTH_LEAST));
	/* A part of a name is no name. */
	KUNIT_EXPECT_EQ(test, auth_find("kunit-", secret), 0);
	key_put(auth_add(test, "logon", "rpcrdma:kunit-a", 0x42,
			 RPCRDMA_AUTH_MOST));
	KUNIT_EXPECT_EQ(test, auth_find("kunit-a", secret), RPCRDMA_AUTH_MOST);
	KUNIT_EXPECT_EQ(test, secret[0], 0x42);
	key_revoke(key);
	key_put(key);
	KUNIT_EXPECT_EQ(test, auth_find("kunit-a", secret), 0);

	key_put(auth_add(test, "user", "rpcrdma:kunit-b", 0x43, 40));
	KUNIT_EXPECT_EQ(test, auth_find("kunit-b", secret), 40);
	key_put(auth_add(test, "user", "rpcrdma:kunit-c", 0x44,
			 RPCRDMA_AUTH_LEAST - 1));
	KUNIT_EXPECT_EQ(test, auth_find("kunit-c", secret), 0);
	key_put(auth_add(test, "user", "rpcrdma:kunit-c", 0x44,
			 RPCRDMA_AUTH_MOST + 1));
	KUNIT_EXPECT_EQ(test, auth_find("kunit-c", secret), 0);
	/* Keys of others are out of reach. */
	key_put(auth_add(test, "user", "kunit-d", 0x45, 40));
	KUNIT_EXPECT_EQ(test, auth_find("kunit-d", secret), 0);
	KUNIT_ASSERT_EQ(test, keyring_clear(rpcrdma_auth_keyring()), 0);
}

struct auth_side {
	struct rpcrdma_session session;
	struct rpcrdma_rx rx;
};

struct auth_pair {
	struct auth_side client;
	struct auth_side server;
	u8 buf[AUTH_BUF];
};

static void auth_begin(struct kunit *test, struct auth_side *side, u32 role)
{
	struct rpcrdma_auth auth = { .policy = RPCRDMA_AUTH_REQUIRED };
	struct rpcrdma_config cfg = {
		.role = role,
		.window = 8,
		.max_message = 1 << 20,
		.first_xid = 1 + role,
		.local = {
			.send_size = AUTH_BUF,
			.recv_size = AUTH_BUF,
			.max_segment_size = 1 << 20,
			.max_segments = RPCRDMA_MAX_SEGMENTS,
		},
		.auth = &auth,
	};

	memset(auth.host, 1 + role, sizeof(auth.host));
	get_random_bytes(auth.nonce, sizeof(auth.nonce));
	if (role == RPCRDMA_ROLE_CLIENT) {
		auth.name_size = strlen("kunit");
		memcpy(auth.name, "kunit", auth.name_size);
		auth.secret_size = auth_find("kunit", auth.secret);
	}
	KUNIT_ASSERT_TRUE(test, rpcrdma_session_init(&side->session, &cfg));
}

/* One message. Return: it was there to be sent. */
static bool auth_step(struct auth_pair *p, struct auth_side *from,
		      struct auth_side *to)
{
	struct rpcrdma_tx tx;

	if (rpcrdma_session_next_send(&from->session, NULL, p->buf, AUTH_BUF,
				      &tx) != RPCRDMA_TX_CONTROL)
		return false;
	rpcrdma_session_receive(&to->session, p->buf, tx.header_length,
				&to->rx);
	/* Whether a GRANT is due does not matter. */
	(void)!rpcrdma_session_release(&to->session, 1);
	return true;
}

/* With the server's key made of @octet. */
static void auth_exchange(struct kunit *test, u8 octet, bool same)
{
	struct auth_pair *p = kunit_kzalloc(test, sizeof(*p), GFP_KERNEL);
	u8 secret[RPCRDMA_AUTH_LEAST];

	KUNIT_ASSERT_NOT_NULL(test, p);
	auth_begin(test, &p->client, RPCRDMA_ROLE_CLIENT);
	auth_begin(test, &p->server, RPCRDMA_ROLE_SERVER);
	KUNIT_ASSERT_TRUE(test, auth_step(p, &p->client, &p->server));
	KUNIT_ASSERT_EQ(test, rpcrdma_session_auth(&p->server.session),
			RPCRDMA_AUTH_WANTS_KEY);
	memset(secret, octet, sizeof(secret));
	KUNIT_ASSERT_TRUE(test,
			  rpcrdma_session_auth_key(&p->server.session, secret,
						   sizeof(secret),
						   rpcrdma_auth_decoy()));
	KUNIT_ASSERT_TRUE(test, auth_step(p, &p->server, &p->client));
	KUNIT_ASSERT_TRUE(test, auth_step(p, &p->client, &p->server));
	KUNIT_EXPECT_EQ(test, auth_step(p, &p->server, &p->client), same);
	KUNIT_EXPECT_EQ(test, rpcrdma_session_ready(&p->client.session), same);
	KUNIT_EXPECT_EQ(test, rpcrdma_session_ready(&p->server.session), same);
	KUNIT_EXPECT_EQ(test, rpcrdma_session_auth(&p->client.session),
			same ? RPCRDMA_AUTH_DONE : RPCRDMA_AUTH_FAILED);
}

static void auth_sessions_agree(struct kunit *test)
{
	key_put(auth_add(test, "logon", "rpcrdma:kunit", 0x46,
			 RPCRDMA_AUTH_LEAST));
	auth_exchange(test, 0x46, true);
	auth_exchange(test, 0x47, false);
	KUNIT_ASSERT_EQ(test, keyring_clear(rpcrdma_auth_keyring()), 0);
}

/* Three failures in a row, and not for the others. */
static void auth_limits(struct kunit *test)
{
	const u64 peer = 0x6b756e6974;
	int i;

	for (i = 0; i < 3; i++) {
		KUNIT_EXPECT_FALSE(test, rpcrdma_auth_limited(peer));
		rpcrdma_auth_note_refused(peer);
	}
	KUNIT_EXPECT_TRUE(test, rpcrdma_auth_limited(peer));
	KUNIT_EXPECT_FALSE(test, rpcrdma_auth_limited(peer + 1));
}

static int auth_suite_init(struct kunit_suite *suite)
{
	return rpcrdma_crypto_init();
}

static struct kunit_case auth_cases[] = {
	KUNIT_CASE(auth_hashes),
	KUNIT_CASE(auth_macs),
	KUNIT_CASE(auth_compares_and_wipes),
	KUNIT_CASE(auth_finds_keys),
	KUNIT_CASE(auth_sessions_agree),
	KUNIT_CASE(auth_limits),
	{ }
};

static struct kunit_suite auth_suite = {
	.name = "rpcrdma_auth",
	.suite_init = auth_suite_init,
	.test_cases = auth_cases,
};

kunit_test_suites(&auth_suite);
