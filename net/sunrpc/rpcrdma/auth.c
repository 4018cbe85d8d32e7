// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Host authentication: policies and counts of each network namespace, in
 * /proc/sys/net/rpcrdma, and the keyring .rpcrdma with the keys of all of them.
 *
 *   server_auth	off, offered or required: what this server asks of its clients
 *   client_auth	the same of this client and its servers
 *   client_key		name of the key that this client uses
 *   client_servers	other policies and keys: ADDRESS[/BITS]=POLICY[:KEY] for servers
 *   server_clients	other policies: ADDRESS[/BITS]=POLICY for clients
 *   auth_counts	what has become of connections, by outcome and reason
 *   auth_last_failure	SIDE ADDRESS REASON KEY SECONDS-AGO, until that peer has authenticated
 *
 * New connections use them. Only root of the machine can put keys into the keyring.
 */
#include <keys/user-type.h>
#include <linux/cred.h>
#include <linux/ctype.h>
#include <linux/inet.h>
#include <linux/inetdevice.h>
#include <linux/key.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/once.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/sunrpc/addr.h>
#include <linux/sunrpc/svc_xprt.h>
#include <linux/sysctl.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/netns/generic.h>

#include <rpcrdma/recent.h>

#include "auth.h"
#include "params.h"
#include "verbs/verbs.h"

#define RPCRDMA_AUTH_PREFIX	"rpcrdma:"
/* Octets of client_servers and of server_clients, and of the text of auth_counts. */
#define RPCRDMA_AUTH_LIST	1024
#define RPCRDMA_AUTH_TEXT	1024
/* Of an address as text. */
#define RPCRDMA_AUTH_ADDRESS	(INET6_ADDRSTRLEN + sizeof("%4294967295"))

static const char * const rpcrdma_auth_policies[RPCRDMA_AUTH_POLICIES] = {
	[RPCRDMA_AUTH_OFF] = "off",
	[RPCRDMA_AUTH_OFFERED] = "offered",
	[RPCRDMA_AUTH_REQUIRED] = "required",
};

/**
 * struct rpcrdma_auth_net - host authentication in a network namespace
 * @client: enum rpcrdma_auth_policy for servers that @servers does not name
 * @server: the same for clients that @clients does not name
 * @lock: guards the next three
 * @key: name of the key that clients use, or empty
 * @servers: other policies, as they were written
 * @clients: the same of a server
 * @host: identifier of this host
 * @done: connections that have authenticated
 * @without: by enum rpcrdma_auth_reason: those that have not, and need not
 * @failed: those that have failed
 * @turned_away: those whose client had failed too often
 * @last_lock: guards the next members
 * @last_peer: the peer of the last failure; its family is zero if there is none
 * @last_server: that peer is a server
 * @last_reason: enum rpcrdma_auth_reason
 * @last_key: name of the key, or empty
 * @last_at: when, in seconds
 * @header: of the sysctls
 * @table: their table
 */
struct rpcrdma_auth_net {
	u32 client;
	u32 server;
	struct mutex lock;	/* see above */
	char key[RPCRDMA_AUTH_NAME + 1];
	char servers[RPCRDMA_AUTH_LIST];
	char clients[RPCRDMA_AUTH_LIST];
	u8 host[RPCRDMA_AUTH_HOST];
	atomic64_t done;
	atomic64_t without[RPCRDMA_AUTH_REASONS];
	atomic64_t failed[RPCRDMA_AUTH_REASONS];
	atomic64_t turned_away;
	spinlock_t last_lock;	/* see above */
	struct sockaddr_storage last_peer;
	bool last_server;
	u32 last_reason;
	char last_key[RPCRDMA_AUTH_NAME + 1];
	time64_t last_at;
	struct ctl_table_header *header;
	struct ctl_table *table;
};

static unsigned int rpcrdma_auth_net_id __read_mostly;
static struct key *rpcrdma_keyring;

/* Guards the table of clients that were refused. */
static DEFINE_SPINLOCK(rpcrdma_auth_refused_lock);
static struct rpcrdma_recent rpcrdma_auth_refused = {
	.seconds = RPCRDMA_AUTH_PAUSE_SECONDS,
};

static struct rpcrdma_auth_net *rpcrdma_auth_net(const struct net *net)
{
	return net_generic(net, rpcrdma_auth_net_id);
}

/* ------------------------------------------------------------------ */
/* Keys                                                               */
/* ------------------------------------------------------------------ */

static u32 rpcrdma_auth_read_key(struct key_type *type, const char *description,
				 u8 *secret)
{
	const struct user_key_payload *payload;
	struct key *key;
	key_ref_t ref;
	u32 size = 0;

	/* The keyring is the module's own. Keys that have ended are not found. */
	ref = keyring_search(make_key_ref(rpcrdma_keyring, true), type,
			     description, true);
	if (IS_ERR(ref))
		return 0;
	key = key_ref_to_ptr(ref);
	down_read(&key->sem);
	payload = key_validate(key) ? NULL : user_key_payload_locked(key);
	if (payload && payload->datalen >= RPCRDMA_AUTH_LEAST &&
	    payload->datalen <= RPCRDMA_AUTH_MOST) {
		size = payload->datalen;
		memcpy(secret, payload->data, size);
	}
	up_read(&key->sem);
	key_put(key);
	return size;
}

/**
 * rpcrdma_auth_find_key - the key of a name
 * @name: 1 to RPCRDMA_AUTH_NAME octets
 * @size: how many
 * @secret: gets up to RPCRDMA_AUTH_MOST octets; the caller wipes it
 *
 * No program is run to find one, since a stranger may have chosen the name.
 *
 * Context: Process context. May sleep.
 *
 * Return: octets of the key; zero if there is none, or it has expired or been revoked, or
 * its size is not allowed.
 */
u32 rpcrdma_auth_find_key(const u8 *name, u32 size, u8 *secret)
{
	char description[sizeof(RPCRDMA_AUTH_PREFIX) + RPCRDMA_AUTH_NAME];
	u32 found;

	scnprintf(description, sizeof(description), RPCRDMA_AUTH_PREFIX "%.*s",
		  (int)size, name);
	found = rpcrdma_auth_read_key(&key_type_logon, description, secret);
	return found ?: rpcrdma_auth_read_key(&key_type_user, description,
					      secret);
}

/**
 * rpcrdma_auth_keyring - where the keys are
 *
 * Return: the keyring .rpcrdma, for as long as the module is loaded.
 */
struct key *rpcrdma_auth_keyring(void)
{
	return rpcrdma_keyring;
}

/**
 * rpcrdma_auth_decoy - takes the place of a key that a server does not have
 *
 * Return: RPCRDMA_AUTH_LEAST octets, the same until the module is loaded again.
 */
const u8 *rpcrdma_auth_decoy(void)
{
	static u8 decoy[RPCRDMA_AUTH_LEAST];

	get_random_once(decoy, sizeof(decoy));
	return decoy;
}

/* ------------------------------------------------------------------ */
/* Policies                                                           */
/* ------------------------------------------------------------------ */

static bool rpcrdma_auth_name_valid(const char *name, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
		if (name[i] < 0x21 || name[i] > 0x7e)
			return false;
	return length <= RPCRDMA_AUTH_NAME;
}

static int rpcrdma_auth_policy(const char *word, size_t length)
{
	int i;

	for (i = 0; i < RPCRDMA_AUTH_POLICIES; i++)
		if (strlen(rpcrdma_auth_policies[i]) == length &&
		    !strncmp(rpcrdma_auth_policies[i], word, length))
			return i;
	return -EINVAL;
}

/**
 * struct rpcrdma_auth_rule - some servers of client_servers, or clients of server_clients
 * @peer: their address, or one of them
 * @bits: of @peer, those that all of them have; U32_MAX if it is one
 * @policy: enum rpcrdma_auth_policy
 * @key: name of the key, or NULL for that of client_key
 * @key_size: octets of @key
 */
struct rpcrdma_auth_rule {
	struct sockaddr_storage peer;
	u32 bits;
	u32 policy;
	const char *key;
	size_t key_size;
};

/* Return: a number of up to three digits, not more than @most; or %-EINVAL. */
static int rpcrdma_auth_number(const char *text, size_t length, int most)
{
	int number = 0;
	size_t i;

	if (!length || length > 3)
		return -EINVAL;
	for (i = 0; i < length; i++) {
		if (!isdigit(text[i]))
			return -EINVAL;
		number = number * 10 + text[i] - '0';
	}
	return number <= most ? number : -EINVAL;
}

/* ADDRESS or ADDRESS/BITS */
static bool rpcrdma_auth_rule_peer(struct net *net, const char *text,
				   size_t length,
				   struct rpcrdma_auth_rule *rule)
{
	struct sockaddr *peer = (struct sockaddr *)&rule->peer;
	const char *slash = memchr(text, '/', length);
	size_t address = slash ? slash - text : length;
	int bits;

	if (!rpc_pton(net, text, address, peer, sizeof(rule->peer)))
		return false;
	rule->bits = U32_MAX;
	if (!slash)
		return true;
	bits = rpcrdma_auth_number(slash + 1, length - address - 1,
				   peer->sa_family == AF_INET ? 32 : 128);
	rule->bits = bits;
	return bits >= 0;
}

static bool rpcrdma_auth_rule_is_about(const struct rpcrdma_auth_rule *rule,
				       const struct sockaddr *peer)
{
	const struct sockaddr *own = (const struct sockaddr *)&rule->peer;

	if (rule->bits == U32_MAX)
		return rpc_cmp_addr(own, peer);
	if (own->sa_family != peer->sa_family)
		return false;
	if (own->sa_family == AF_INET)
		return !((((const struct sockaddr_in *)own)->sin_addr.s_addr ^
			  ((const struct sockaddr_in *)peer)->sin_addr.s_addr) &
			 inet_make_mask(rule->bits));
	return ipv6_prefix_equal(&((const struct sockaddr_in6 *)own)->sin6_addr,
				 &((const struct sockaddr_in6 *)peer)->sin6_addr,
				 rule->bits);
}

/* Between two rules. */
static const char rpcrdma_auth_space[] = " \t\n,";

/* Return: characters taken, zero at the end of the list, or %-EINVAL. */
static int rpcrdma_auth_rule(struct net *net, const char *list,
			     struct rpcrdma_auth_rule *rule)
{
	const char *word = list + strspn(list, rpcrdma_auth_space);
	size_t length = strcspn(word, rpcrdma_auth_space);
	const char *value = memchr(word, '=', length);
	const char *end = word + length;
	const char *key;
	int policy;

	if (!length)
		return 0;
	if (!value || !rpcrdma_auth_rule_peer(net, word, value - word, rule))
		return -EINVAL;
	value++;
	key = memchr(value, ':', end - value);
	policy = rpcrdma_auth_policy(value, (key ?: end) - value);
	rule->key = key ? key + 1 : NULL;
	rule->key_size = key ? end - rule->key : 0;
	if (policy < 0 || (key && !rule->key_size) ||
	    !rpcrdma_auth_name_valid(rule->key, rule->key_size))
		return -EINVAL;
	rule->policy = policy;
	return end - list;
}

/*
 * Return: 0, or %-EINVAL if it does not parse, or names a key where it may not; @policy is the
 * strictest of all.
 */
static int rpcrdma_auth_check_list(struct net *net, const char *list,
				   bool keys, u32 *policy)
{
	struct rpcrdma_auth_rule rule;
	int taken;

	*policy = RPCRDMA_AUTH_OFF;
	while ((taken = rpcrdma_auth_rule(net, list, &rule)) > 0) {
		if (rule.key && !keys)
			return -EINVAL;
		*policy = max(*policy, rule.policy);
		list += taken;
	}
	return taken;
}

/*
 * A rule whose address names an interface, as fe80::1%ib0 does, does not parse while there is no
 * such interface. It is about nobody then. The rules after it hold.
 *
 * Return: true if @list has a rule about @peer; @rule is the first one.
 */
static bool rpcrdma_auth_look_up(const struct net *net, const char *list,
				 const struct sockaddr *peer,
				 struct rpcrdma_auth_rule *rule)
{
	int taken;

	while ((taken = rpcrdma_auth_rule((struct net *)net, list, rule))) {
		if (taken < 0) {
			list += strspn(list, rpcrdma_auth_space);
			list += strcspn(list, rpcrdma_auth_space);
			continue;
		}
		if (rpcrdma_auth_rule_is_about(rule, peer))
			return true;
		list += taken;
	}
	return false;
}

static void rpcrdma_auth_fill(const struct rpcrdma_auth_net *an, u32 policy,
			      struct rpcrdma_auth *auth)
{
	auth->policy = policy;
	memcpy(auth->host, an->host, sizeof(auth->host));
	get_random_bytes_wait(auth->nonce, sizeof(auth->nonce));
}

/**
 * rpcrdma_auth_client - what a client asks of a server
 * @net: network namespace
 * @server: the address of the server
 * @auth: filled in; the caller wipes it
 *
 * Context: Process context. May sleep.
 *
 * Return: false if the policy is "off"; nothing is filled in then.
 */
bool rpcrdma_auth_client(const struct net *net, const struct sockaddr *server,
			 struct rpcrdma_auth *auth)
{
	struct rpcrdma_auth_net *an = rpcrdma_auth_net(net);
	struct rpcrdma_auth_rule rule;
	u32 policy;

	/* The usual case takes no lock. */
	if (!READ_ONCE(an->client) && !READ_ONCE(an->servers[0]))
		return false;
	memset(auth, 0, sizeof(*auth));
	mutex_lock(&an->lock);
	policy = an->client;
	auth->name_size = strlen(an->key);
	memcpy(auth->name, an->key, auth->name_size);
	if (rpcrdma_auth_look_up(net, an->servers, server, &rule)) {
		policy = rule.policy;
		if (rule.key) {
			auth->name_size = rule.key_size;
			memcpy(auth->name, rule.key, rule.key_size);
		}
	}
	mutex_unlock(&an->lock);
	if (policy == RPCRDMA_AUTH_OFF)
		return false;
	rpcrdma_auth_fill(an, policy, auth);
	if (auth->name_size)
		auth->secret_size = rpcrdma_auth_find_key(auth->name,
							  auth->name_size,
							  auth->secret);
	return true;
}

/**
 * rpcrdma_auth_server - what a server asks of a client
 * @net: network namespace
 * @client: the address of the client
 * @auth: filled in
 *
 * Context: Process context. May sleep.
 *
 * Return: false if the policy is "off"; nothing is filled in then.
 */
bool rpcrdma_auth_server(const struct net *net, const struct sockaddr *client,
			 struct rpcrdma_auth *auth)
{
	struct rpcrdma_auth_net *an = rpcrdma_auth_net(net);
	u32 policy = READ_ONCE(an->server);
	struct rpcrdma_auth_rule rule;

	/* The usual case takes no lock. */
	if (READ_ONCE(an->clients[0])) {
		mutex_lock(&an->lock);
		if (rpcrdma_auth_look_up(net, an->clients, client, &rule))
			policy = rule.policy;
		mutex_unlock(&an->lock);
	}
	if (policy == RPCRDMA_AUTH_OFF)
		return false;
	memset(auth, 0, sizeof(*auth));
	rpcrdma_auth_fill(an, policy, auth);
	return true;
}

/* ------------------------------------------------------------------ */
/* Rate limit and counts                                              */
/* ------------------------------------------------------------------ */

/**
 * rpcrdma_auth_limited - has this client failed too often?
 * @peer: of rpcrdma_peer_key()
 *
 * Context: Any that may take a spinlock.
 *
 * Return: true if it is to be turned away without any computation (11.4.7).
 */
bool rpcrdma_auth_limited(u64 peer)
{
	bool limited;

	spin_lock(&rpcrdma_auth_refused_lock);
	limited = rpcrdma_recent_known(&rpcrdma_auth_refused, peer, 0,
				       ktime_get_seconds());
	spin_unlock(&rpcrdma_auth_refused_lock);
	return limited;
}

/**
 * rpcrdma_auth_turns_away - ask rpcrdma_auth_limited(), and count
 * @net: network namespace of the server
 * @peer: of rpcrdma_peer_key()
 *
 * Context: Any that may take a spinlock.
 *
 * Return: true if the client is to be turned away.
 */
bool rpcrdma_auth_turns_away(const struct net *net, u64 peer)
{
	if (!rpcrdma_auth_limited(peer))
		return false;
	atomic64_inc(&rpcrdma_auth_net(net)->turned_away);
	return true;
}

/**
 * rpcrdma_auth_counts - policies, and what has become of connections
 * @net: network namespace
 * @counts: filled in; they go on counting meanwhile
 *
 * Context: Process context. May sleep.
 */
void rpcrdma_auth_counts(const struct net *net,
			 struct rpcrdma_auth_counts *counts)
{
	struct rpcrdma_auth_net *an = rpcrdma_auth_net(net);
	u32 i;

	counts->server = READ_ONCE(an->server);
	counts->client = READ_ONCE(an->client);
	mutex_lock(&an->lock);
	strscpy(counts->key, an->key, sizeof(counts->key));
	mutex_unlock(&an->lock);
	counts->done = atomic64_read(&an->done);
	counts->turned_away = atomic64_read(&an->turned_away);
	for (i = 0; i < RPCRDMA_AUTH_REASONS; i++) {
		counts->without[i] = atomic64_read(&an->without[i]);
		counts->failed[i] = atomic64_read(&an->failed[i]);
	}
}

/**
 * rpcrdma_auth_note_refused - an exchange with a client has failed
 * @peer: of rpcrdma_peer_key()
 */
void rpcrdma_auth_note_refused(u64 peer)
{
	spin_lock(&rpcrdma_auth_refused_lock);
	(void)rpcrdma_recent_suspect(&rpcrdma_auth_refused, peer, 0,
				     ktime_get_seconds());
	spin_unlock(&rpcrdma_auth_refused_lock);
}

static void rpcrdma_auth_address(const struct sockaddr *peer, char *text)
{
	if (!rpc_ntop(peer, text, RPCRDMA_AUTH_ADDRESS))
		strscpy(text, "?", RPCRDMA_AUTH_ADDRESS);
}

static void rpcrdma_auth_failed(struct rpcrdma_auth_net *an, u32 role,
				const struct sockaddr *peer, u32 reason,
				const char *key)
{
	const bool server = role == RPCRDMA_ROLE_CLIENT;
	char address[RPCRDMA_AUTH_ADDRESS];

	atomic64_inc(&an->failed[reason]);
	spin_lock(&an->last_lock);
	memcpy(&an->last_peer, peer, svc_addr_len(peer));
	an->last_server = server;
	an->last_reason = reason;
	strscpy(an->last_key, key, sizeof(an->last_key));
	an->last_at = ktime_get_seconds();
	spin_unlock(&an->last_lock);
	rpcrdma_auth_address(peer, address);
	pr_warn_ratelimited("rpcrdma: host authentication of %s %s failed: %s, key %s\n",
			    server ? "server" : "client", address,
			    rpcrdma_auth_reason_name(reason),
			    key[0] ? key : "none");
}

/**
 * rpcrdma_auth_over - an exchange is over: count it, and say so if it has failed
 * @net: network namespace
 * @role: this side's, enum rpcrdma_role
 * @peer: address of the other side
 * @state: enum rpcrdma_auth_state
 * @reason: enum rpcrdma_auth_reason
 * @key: name of the key, or an empty string
 *
 * Context: Process context. Does not sleep.
 */
void rpcrdma_auth_over(const struct net *net, u32 role,
		       const struct sockaddr *peer, u32 state, u32 reason,
		       const char *key)
{
	struct rpcrdma_auth_net *an = rpcrdma_auth_net(net);

	switch (state) {
	case RPCRDMA_AUTH_DONE:
		atomic64_inc(&an->done);
		spin_lock(&an->last_lock);
		if (rpc_cmp_addr((struct sockaddr *)&an->last_peer, peer))
			an->last_peer.ss_family = AF_UNSPEC;
		spin_unlock(&an->last_lock);
		break;
	case RPCRDMA_AUTH_WITHOUT:
		atomic64_inc(&an->without[reason]);
		break;
	case RPCRDMA_AUTH_FAILED:
		rpcrdma_auth_failed(an, role, peer, reason, key);
		break;
	}
}

/* ------------------------------------------------------------------ */
/* Sysctls                                                            */
/* ------------------------------------------------------------------ */

static int rpcrdma_auth_policy_handler(rpcrdma_ctl_table *table, int write,
				       void *buffer, size_t *lenp, loff_t *ppos)
{
	/* One octet more: a longer word must not be cut to one that means something. */
	char word[sizeof("required") + 1];
	struct ctl_table copy = { .data = word, .maxlen = sizeof(word) };
	u32 *policy = table->data;
	int rc;

	strscpy(word, rpcrdma_auth_policies[READ_ONCE(*policy)], sizeof(word));
	rc = proc_dostring(&copy, write, buffer, lenp, ppos);
	if (rc || !write)
		return rc;
	rc = rpcrdma_auth_policy(word, strlen(word));
	if (rc < 0)
		return rc;
	if (rc != RPCRDMA_AUTH_OFF) {
		int error = rpcrdma_crypto_init();

		if (error)
			return error;
	}
	WRITE_ONCE(*policy, rc);
	return 0;
}

static int rpcrdma_auth_key_handler(rpcrdma_ctl_table *table, int write,
				    void *buffer, size_t *lenp, loff_t *ppos)
{
	struct rpcrdma_auth_net *an = table->extra1;
	char name[RPCRDMA_AUTH_NAME + 2];
	struct ctl_table copy = { .data = name, .maxlen = sizeof(name) };
	int rc;

	mutex_lock(&an->lock);
	strscpy(name, an->key, sizeof(name));
	rc = proc_dostring(&copy, write, buffer, lenp, ppos);
	if (!rc && write) {
		if (rpcrdma_auth_name_valid(name, strlen(name)))
			strscpy(an->key, name, sizeof(an->key));
		else
			rc = -EINVAL;
	}
	mutex_unlock(&an->lock);
	return rc;
}

/* A server has the key that its client names. */
static int rpcrdma_auth_list_handler(rpcrdma_ctl_table *table, int write,
				     void *buffer, size_t *lenp, loff_t *ppos)
{
	struct rpcrdma_auth_net *an = table->extra1;
	const bool keys = table->data == an->servers;
	struct ctl_table copy = { .maxlen = RPCRDMA_AUTH_LIST };
	char *list;
	u32 policy;
	int rc;

	list = kmalloc(RPCRDMA_AUTH_LIST, GFP_KERNEL);
	if (!list)
		return -ENOMEM;
	copy.data = list;
	mutex_lock(&an->lock);
	strscpy(list, table->data, RPCRDMA_AUTH_LIST);
	mutex_unlock(&an->lock);
	rc = proc_dostring(&copy, write, buffer, lenp, ppos);
	if (rc || !write)
		goto out;
	/* A list that may have been cut is not taken. */
	rc = strlen(list) < RPCRDMA_AUTH_LIST - 1 ?
		rpcrdma_auth_check_list(table->extra2, list, keys, &policy) :
		-EINVAL;
	/* It may load modules, from files that a connection brings which waits for the lock. */
	if (!rc && policy != RPCRDMA_AUTH_OFF)
		rc = rpcrdma_crypto_init();
	if (rc)
		goto out;
	mutex_lock(&an->lock);
	strscpy(table->data, list, RPCRDMA_AUTH_LIST);
	mutex_unlock(&an->lock);
out:
	kfree(list);
	return rc;
}

static int rpcrdma_auth_counts_handler(rpcrdma_ctl_table *table, int write,
				       void *buffer, size_t *lenp, loff_t *ppos)
{
	const struct rpcrdma_auth_net *an = table->extra1;
	struct ctl_table copy = { .maxlen = RPCRDMA_AUTH_TEXT };
	s64 turned_away;
	char *text;
	int n, rc;
	u32 i;

	text = kmalloc(RPCRDMA_AUTH_TEXT, GFP_KERNEL);
	if (!text)
		return -ENOMEM;
	n = scnprintf(text, RPCRDMA_AUTH_TEXT, "authenticated=%lld",
		      (s64)atomic64_read(&an->done));
	for (i = 0; i < RPCRDMA_AUTH_REASONS; i++) {
		s64 without = atomic64_read(&an->without[i]);
		s64 failed = atomic64_read(&an->failed[i]);

		if (without)
			n += scnprintf(text + n, RPCRDMA_AUTH_TEXT - n,
				       " without-%s=%lld",
				       rpcrdma_auth_reason_name(i), without);
		if (failed)
			n += scnprintf(text + n, RPCRDMA_AUTH_TEXT - n,
				       " failed-%s=%lld",
				       rpcrdma_auth_reason_name(i), failed);
	}
	turned_away = atomic64_read(&an->turned_away);
	if (turned_away)
		scnprintf(text + n, RPCRDMA_AUTH_TEXT - n, " turned-away=%lld",
			  turned_away);
	copy.data = text;
	rc = proc_dostring(&copy, write, buffer, lenp, ppos);
	kfree(text);
	return rc;
}

static int rpcrdma_auth_last_handler(rpcrdma_ctl_table *table, int write,
				     void *buffer, size_t *lenp, loff_t *ppos)
{
	struct rpcrdma_auth_net *an = table->extra1;
	char text[RPCRDMA_AUTH_ADDRESS + RPCRDMA_AUTH_NAME + 64] = "";
	struct ctl_table copy = { .data = text, .maxlen = sizeof(text) };
	char address[RPCRDMA_AUTH_ADDRESS];

	spin_lock(&an->last_lock);
	if (an->last_peer.ss_family != AF_UNSPEC) {
		rpcrdma_auth_address((struct sockaddr *)&an->last_peer,
				     address);
		scnprintf(text, sizeof(text), "%s %s %s %s %lld",
			  an->last_server ? "server" : "client", address,
			  rpcrdma_auth_reason_name(an->last_reason),
			  an->last_key[0] ? an->last_key : "none",
			  (s64)ktime_get_seconds() - an->last_at);
	}
	spin_unlock(&an->last_lock);
	return proc_dostring(&copy, write, buffer, lenp, ppos);
}

static const struct ctl_table rpcrdma_auth_sysctls[] = {
	{
		.procname = "server_auth",
		.mode = 0644,
		.proc_handler = rpcrdma_auth_policy_handler,
	},
	{
		.procname = "client_auth",
		.mode = 0644,
		.proc_handler = rpcrdma_auth_policy_handler,
	},
	{
		.procname = "client_key",
		.mode = 0644,
		.proc_handler = rpcrdma_auth_key_handler,
	},
	{
		.procname = "client_servers",
		.mode = 0644,
		.proc_handler = rpcrdma_auth_list_handler,
	},
	{
		.procname = "server_clients",
		.mode = 0644,
		.proc_handler = rpcrdma_auth_list_handler,
	},
	{
		.procname = "auth_counts",
		.mode = 0444,
		.proc_handler = rpcrdma_auth_counts_handler,
	},
	{
		.procname = "auth_last_failure",
		.mode = 0444,
		.proc_handler = rpcrdma_auth_last_handler,
	},
	RPCRDMA_COMPAT_SYSCTL_END
};

#define RPCRDMA_AUTH_SYSCTLS	7

static int rpcrdma_auth_sysctl_init(struct net *net,
				    struct rpcrdma_auth_net *an)
{
	u32 i;

	if (!IS_ENABLED(CONFIG_SYSCTL))
		return 0;
	an->table = kmemdup(rpcrdma_auth_sysctls, sizeof(rpcrdma_auth_sysctls),
			    GFP_KERNEL);
	if (!an->table)
		return -ENOMEM;
	an->table[0].data = &an->server;
	an->table[1].data = &an->client;
	an->table[3].data = an->servers;
	an->table[4].data = an->clients;
	for (i = 2; i < RPCRDMA_AUTH_SYSCTLS; i++) {
		an->table[i].extra1 = an;
		an->table[i].extra2 = net;
	}
	an->header = rpcrdma_register_net_sysctl(net, "net/rpcrdma", an->table,
						 RPCRDMA_AUTH_SYSCTLS);
	if (an->header)
		return 0;
	kfree(an->table);
	return -ENOMEM;
}

/* ------------------------------------------------------------------ */
/* Life                                                               */
/* ------------------------------------------------------------------ */

static int __net_init rpcrdma_auth_net_init(struct net *net)
{
	struct rpcrdma_auth_net *an = rpcrdma_auth_net(net);

	mutex_init(&an->lock);
	spin_lock_init(&an->last_lock);
	get_random_bytes(an->host, sizeof(an->host));
	return rpcrdma_auth_sysctl_init(net, an);
}

static void __net_exit rpcrdma_auth_net_exit(struct net *net)
{
	struct rpcrdma_auth_net *an = rpcrdma_auth_net(net);

	if (!an->header)
		return;
	unregister_net_sysctl_table(an->header);
	kfree(an->table);
}

static struct pernet_operations rpcrdma_auth_net_ops = {
	.init = rpcrdma_auth_net_init,
	.exit = rpcrdma_auth_net_exit,
	.id = &rpcrdma_auth_net_id,
	.size = sizeof(struct rpcrdma_auth_net),
};

/**
 * rpcrdma_auth_init - make the keyring, and the sysctls of each network namespace
 *
 * Return: 0 or a negative errno.
 */
int rpcrdma_auth_init(void)
{
	int rc;

	rpcrdma_keyring = keyring_alloc(".rpcrdma", GLOBAL_ROOT_UID,
					GLOBAL_ROOT_GID, current_cred(),
					(KEY_POS_ALL & ~KEY_POS_SETATTR) |
					(KEY_USR_ALL & ~KEY_USR_SETATTR),
					KEY_ALLOC_NOT_IN_QUOTA, NULL, NULL);
	if (IS_ERR(rpcrdma_keyring))
		return PTR_ERR(rpcrdma_keyring);
	rc = register_pernet_subsys(&rpcrdma_auth_net_ops);
	if (rc)
		key_put(rpcrdma_keyring);
	return rc;
}

/**
 * rpcrdma_auth_exit - no connection is left
 */
void rpcrdma_auth_exit(void)
{
	unregister_pernet_subsys(&rpcrdma_auth_net_ops);
	key_revoke(rpcrdma_keyring);
	key_put(rpcrdma_keyring);
	rpcrdma_crypto_exit();
}
