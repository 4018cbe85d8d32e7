// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What the module, its devices, listeners and connections are and do, by generic
 * netlink. Documentation/netlink/specs/rpcrdma.yaml describes it.
 *
 * Nothing here counts: what is shown is counted for other reasons. It is read without a
 * lock, which is why struct rpcrdma_stats demands 64-bit processors. A dump holds no
 * lock from one message to the next, and nobody who ends a connection waits for it. It
 * goes on at the next number, so that it does not matter what has come and gone.
 */
#include <linux/ktime.h>
#include <linux/math64.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>
#include <uapi/linux/rpcrdma.h>

#include "module.h"
#include "auth.h"
#include "budget.h"
#include "netlink.h"
#include "server/server.h"
#include "verbs/verbs.h"
#include "versions.h"

static struct genl_family rpcrdma_nl_family;

enum {
	RPCRDMA_NL_CONN,
};

static const struct genl_multicast_group rpcrdma_nl_mcgrps[] = {
	[RPCRDMA_NL_CONN] = { .name = RPCRDMA_MCGRP_CONN },
};

/* The numbers of both are the same. */
static_assert((int)RPCRDMA_CONN_ROLE_CLIENT == (int)RPCRDMA_ROLE_CLIENT);
static_assert((int)RPCRDMA_CONN_ROLE_SERVER == (int)RPCRDMA_ROLE_SERVER);
static_assert((int)RPCRDMA_CONN_REVERSE_NONE == (int)RPCRDMA_RVRSDIR_NONE);
static_assert((int)RPCRDMA_CONN_REVERSE_SIMPLE == (int)RPCRDMA_RVRSDIR_SIMPLE);
static_assert((int)RPCRDMA_CONN_REVERSE_CONTINUED == (int)RPCRDMA_RVRSDIR_CONT);
static_assert((int)RPCRDMA_CONN_REVERSE_GENERAL == (int)RPCRDMA_RVRSDIR_GENL);
static_assert((int)RPCRDMA_AUTH_POLICY_OFF == (int)RPCRDMA_AUTH_OFF);
static_assert((int)RPCRDMA_AUTH_POLICY_OFFERED == (int)RPCRDMA_AUTH_OFFERED);
static_assert((int)RPCRDMA_AUTH_POLICY_REQUIRED == (int)RPCRDMA_AUTH_REQUIRED);

/* A list of u32 or u64 attributes, in the order in which they are put. */
struct rpcrdma_nl_u32 {
	u16 type;
	u32 value;
};

struct rpcrdma_nl_u64 {
	u16 type;
	u64 value;
};

static int rpcrdma_nl_put_u32s(struct sk_buff *skb,
			       const struct rpcrdma_nl_u32 *list, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (nla_put_u32(skb, list[i].type, list[i].value))
			return -EMSGSIZE;
	return 0;
}

static int rpcrdma_nl_put_u64s(struct sk_buff *skb, u16 pad,
			       const struct rpcrdma_nl_u64 *list, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++)
		if (nla_put_u64_64bit(skb, list[i].type, list[i].value, pad))
			return -EMSGSIZE;
	return 0;
}

/* A nest of them. A message that has no room is cancelled as a whole. */
static int rpcrdma_nl_nest_u32s(struct sk_buff *skb, u16 type,
				const struct rpcrdma_nl_u32 *list, u32 count)
{
	struct nlattr *nest = nla_nest_start(skb, type);

	if (!nest || rpcrdma_nl_put_u32s(skb, list, count))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int rpcrdma_nl_nest_u64s(struct sk_buff *skb, u16 type, u16 pad,
				const struct rpcrdma_nl_u64 *list, u32 count)
{
	struct nlattr *nest = nla_nest_start(skb, type);

	if (!nest || rpcrdma_nl_put_u64s(skb, pad, list, count))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* ------------------------------------------------------------------ */
/* The module                                                         */
/* ------------------------------------------------------------------ */

static int rpcrdma_nl_name(struct sk_buff *skb, u16 type, u32 number,
			   const char *name)
{
	struct nlattr *nest = nla_nest_start(skb, type);

	if (!nest || nla_put_u32(skb, RPCRDMA_A_NAME_NUMBER, number) ||
	    nla_put_string(skb, RPCRDMA_A_NAME_NAME, name))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* Names of what is counted. */
static int rpcrdma_nl_names(struct sk_buff *skb)
{
	u32 i;
	int rc = 0;

	for (i = 0; i < rpcrdma_type_count() && !rc; i++)
		rc = rpcrdma_nl_name(skb, RPCRDMA_A_MODULE_HEADER_TYPE, i,
				     rpcrdma_type_name(i));
	for (i = 1; i < RPCRDMA_ERRCODES && !rc; i++)
		rc = rpcrdma_nl_name(skb, RPCRDMA_A_MODULE_ERROR,
				     rpcrdma_slot_errcode(i),
				     rpcrdma_errcode_name(rpcrdma_slot_errcode(i)));
	for (i = 1; i < RPCRDMA_REASON_COUNT && !rc; i++)
		rc = rpcrdma_nl_name(skb, RPCRDMA_A_MODULE_REFUSAL, i,
				     rpcrdma_reason_name(i));
	return rc;
}

/* The lines of kernels that Kbuild names, separated by spaces. */
static int rpcrdma_nl_tested(struct sk_buff *skb)
{
	const char *line = RPCRDMA_TESTED;
	size_t length;

	while (*line) {
		struct nlattr *attr;

		length = strcspn(line, " ");
		attr = nla_reserve(skb, RPCRDMA_A_MODULE_TESTED_KERNEL,
				   length + 1);
		if (!attr)
			return -EMSGSIZE;
		memcpy(nla_data(attr), line, length);
		((char *)nla_data(attr))[length] = '\0';
		line += length;
		line += strspn(line, " ");
	}
	return 0;
}

static int rpcrdma_nl_budget(struct sk_buff *skb,
			     const struct rpcrdma_budget *budget)
{
	const struct rpcrdma_nl_u64 list[] = {
		{ RPCRDMA_A_BUDGET_LIMIT, budget->limit },
		{ RPCRDMA_A_BUDGET_HELD, budget->held },
		{ RPCRDMA_A_BUDGET_MOST, budget->most },
		{ RPCRDMA_A_BUDGET_HELD_BACK, budget->held_back },
		{ RPCRDMA_A_BUDGET_REFUSED, budget->refused },
	};

	return rpcrdma_nl_nest_u64s(skb, RPCRDMA_A_MODULE_MEMORY,
				    RPCRDMA_A_BUDGET_PAD, list,
				    ARRAY_SIZE(list));
}

static int rpcrdma_nl_module_put(struct sk_buff *skb)
{
	const struct rpcrdma_nl_u32 parameters[] = {
		{ RPCRDMA_A_PARAMETERS_DDP_THRESHOLD,
		  READ_ONCE(rpcrdma_ddp_threshold) },
		{ RPCRDMA_A_PARAMETERS_SPECIAL_THRESHOLD,
		  READ_ONCE(rpcrdma_special_threshold) },
		{ RPCRDMA_A_PARAMETERS_WINDOW, READ_ONCE(rpcrdma_window) },
		{ RPCRDMA_A_PARAMETERS_KEEPALIVE, READ_ONCE(rpcrdma_keepalive) },
		{ RPCRDMA_A_PARAMETERS_IDLE_TIMEOUT,
		  READ_ONCE(rpcrdma_idle_timeout) },
		{ RPCRDMA_A_PARAMETERS_CLIENT_MIN_VERSION,
		  READ_ONCE(rpcrdma_client_min) },
		{ RPCRDMA_A_PARAMETERS_CLIENT_MAX_VERSION,
		  READ_ONCE(rpcrdma_client_max) },
		{ RPCRDMA_A_PARAMETERS_SERVER_MIN_VERSION,
		  READ_ONCE(rpcrdma_server_min) },
		{ RPCRDMA_A_PARAMETERS_SERVER_MAX_VERSION,
		  READ_ONCE(rpcrdma_server_max) },
		{ RPCRDMA_A_PARAMETERS_MEMORY, READ_ONCE(rpcrdma_memory) },
		{ RPCRDMA_A_PARAMETERS_STREAM_FROM,
		  READ_ONCE(rpcrdma_stream_from) },
		{ RPCRDMA_A_PARAMETERS_GROW, READ_ONCE(rpcrdma_grow) },
		{ RPCRDMA_A_PARAMETERS_RTREXT, READ_ONCE(rpcrdma_rtrext) },
		{ RPCRDMA_A_PARAMETERS_RTREXT_OFFER,
		  READ_ONCE(rpcrdma_rtrext_offer) },
	};
	const struct rpcrdma_nl_u32 defaults[] = {
		{ RPCRDMA_A_PARAMETERS_DDP_THRESHOLD, RPCRDMA_DEF_THRESHOLD },
		{ RPCRDMA_A_PARAMETERS_SPECIAL_THRESHOLD, RPCRDMA_DEF_SPECIAL },
		{ RPCRDMA_A_PARAMETERS_WINDOW, RPCRDMA_DEF_WINDOW },
		{ RPCRDMA_A_PARAMETERS_KEEPALIVE, RPCRDMA_DEF_KEEPALIVE },
		{ RPCRDMA_A_PARAMETERS_IDLE_TIMEOUT, RPCRDMA_IDLE_TIMEOUT },
		{ RPCRDMA_A_PARAMETERS_CLIENT_MIN_VERSION,
		  rpcrdma_version_lowest },
		{ RPCRDMA_A_PARAMETERS_CLIENT_MAX_VERSION,
		  rpcrdma_version_highest },
		{ RPCRDMA_A_PARAMETERS_SERVER_MIN_VERSION,
		  rpcrdma_version_lowest },
		{ RPCRDMA_A_PARAMETERS_SERVER_MAX_VERSION,
		  rpcrdma_version_highest },
		{ RPCRDMA_A_PARAMETERS_MEMORY, 0 },
		{ RPCRDMA_A_PARAMETERS_STREAM_FROM, RPCRDMA_DEF_STREAM_FROM },
		{ RPCRDMA_A_PARAMETERS_GROW, RPCRDMA_DEF_GROW },
		{ RPCRDMA_A_PARAMETERS_RTREXT, 0 },
		{ RPCRDMA_A_PARAMETERS_RTREXT_OFFER, 0 },
	};
	struct rpcrdma_budget budget;

	rpcrdma_memory_info(&budget);
	if (nla_put_string(skb, RPCRDMA_A_MODULE_NAME, KBUILD_MODNAME) ||
	    nla_put_string(skb, RPCRDMA_A_MODULE_VERSION, RPCRDMA_VERSION) ||
	    rpcrdma_nl_tested(skb) ||
	    rpcrdma_nl_nest_u32s(skb, RPCRDMA_A_MODULE_PARAMETERS, parameters,
				 ARRAY_SIZE(parameters)) ||
	    rpcrdma_nl_nest_u32s(skb, RPCRDMA_A_MODULE_DEFAULTS, defaults,
				 ARRAY_SIZE(defaults)) ||
	    rpcrdma_nl_names(skb) || rpcrdma_nl_budget(skb, &budget))
		return -EMSGSIZE;
	return 0;
}

static int rpcrdma_nl_module_get(struct sk_buff *skb, struct genl_info *info)
{
	struct sk_buff *reply;
	void *header;

	reply = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	header = genlmsg_put_reply(reply, info, &rpcrdma_nl_family, 0,
				   RPCRDMA_CMD_MODULE_GET);
	if (!header || rpcrdma_nl_module_put(reply)) {
		nlmsg_free(reply);
		return -EMSGSIZE;
	}
	genlmsg_end(reply, header);
	return genlmsg_reply(reply, info);
}

/* ------------------------------------------------------------------ */
/* Host authentication                                                */
/* ------------------------------------------------------------------ */

static int rpcrdma_nl_auth_count(struct sk_buff *skb, u32 reason, u64 without,
				 u64 failed)
{
	struct nlattr *nest;

	if (!without && !failed)
		return 0;
	nest = nla_nest_start(skb, RPCRDMA_A_AUTH_REASON);
	if (!nest || nla_put_string(skb, RPCRDMA_A_AUTH_COUNT_REASON,
				    rpcrdma_auth_reason_name(reason)) ||
	    nla_put_u64_64bit(skb, RPCRDMA_A_AUTH_COUNT_WITHOUT, without,
			      RPCRDMA_A_AUTH_COUNT_PAD) ||
	    nla_put_u64_64bit(skb, RPCRDMA_A_AUTH_COUNT_FAILED, failed,
			      RPCRDMA_A_AUTH_COUNT_PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int rpcrdma_nl_auth_counts(struct sk_buff *skb,
				  const struct rpcrdma_auth_counts *c)
{
	int rc = 0;
	u32 i;

	if (nla_put_u32(skb, RPCRDMA_A_AUTH_SERVER_POLICY, c->server) ||
	    nla_put_u32(skb, RPCRDMA_A_AUTH_CLIENT_POLICY, c->client) ||
	    (c->key[0] &&
	     nla_put_string(skb, RPCRDMA_A_AUTH_CLIENT_KEY, c->key)) ||
	    nla_put_u64_64bit(skb, RPCRDMA_A_AUTH_AUTHENTICATED, c->done,
			      RPCRDMA_A_AUTH_PAD) ||
	    nla_put_u64_64bit(skb, RPCRDMA_A_AUTH_TURNED_AWAY, c->turned_away,
			      RPCRDMA_A_AUTH_PAD))
		return -EMSGSIZE;
	for (i = 0; i < RPCRDMA_AUTH_REASONS && !rc; i++)
		rc = rpcrdma_nl_auth_count(skb, i, c->without[i], c->failed[i]);
	return rc;
}

static int rpcrdma_nl_auth_get(struct sk_buff *skb, struct genl_info *info)
{
	struct rpcrdma_auth_counts counts;
	struct sk_buff *reply;
	void *header;

	rpcrdma_auth_counts(genl_info_net(info), &counts);
	reply = genlmsg_new(GENLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	header = genlmsg_put_reply(reply, info, &rpcrdma_nl_family, 0,
				   RPCRDMA_CMD_AUTH_GET);
	if (!header || rpcrdma_nl_auth_counts(reply, &counts)) {
		nlmsg_free(reply);
		return -EMSGSIZE;
	}
	genlmsg_end(reply, header);
	return genlmsg_reply(reply, info);
}

static u32 rpcrdma_nl_auth_outcome(u32 state)
{
	switch (state) {
	case RPCRDMA_AUTH_DONE:
		return RPCRDMA_AUTH_OUTCOME_AUTHENTICATED;
	case RPCRDMA_AUTH_WITHOUT:
		return RPCRDMA_AUTH_OUTCOME_WITHOUT;
	case RPCRDMA_AUTH_FAILED:
		return RPCRDMA_AUTH_OUTCOME_FAILED;
	}
	return RPCRDMA_AUTH_OUTCOME_UNDER_WAY;
}

/* Reasons of authentication are shorter. */
#define RPCRDMA_NL_AUTH_REASON	16

static int rpcrdma_nl_auth(struct sk_buff *skb,
			   const struct rpcrdma_conn_auth *auth)
{
	char reason[RPCRDMA_NL_AUTH_REASON];
	struct nlattr *nest;

	if (auth->policy == RPCRDMA_AUTH_OFF)
		return 0;
	strscpy(reason, rpcrdma_auth_reason_name(auth->reason), sizeof(reason));
	nest = nla_nest_start(skb, RPCRDMA_A_CONN_AUTHENTICATION);
	if (!nest || nla_put_u32(skb, RPCRDMA_A_AUTHENTICATION_POLICY,
				 auth->policy) ||
	    nla_put_u32(skb, RPCRDMA_A_AUTHENTICATION_OUTCOME,
			rpcrdma_nl_auth_outcome(auth->state)) ||
	    (auth->key[0] &&
	     nla_put_string(skb, RPCRDMA_A_AUTHENTICATION_KEY, auth->key)) ||
	    (auth->reason != RPCRDMA_AUTH_R_NONE &&
	     nla_put_string(skb, RPCRDMA_A_AUTHENTICATION_REASON, reason)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* Octets of that, at most. */
static __always_inline size_t rpcrdma_nl_auth_size(void)
{
	return nla_total_size(0) + 2 * nla_total_size(sizeof(u32)) +
	       nla_total_size(RPCRDMA_AUTH_NAME + 1) +
	       nla_total_size(RPCRDMA_NL_AUTH_REASON);
}

/* ------------------------------------------------------------------ */
/* Devices and listeners                                              */
/* ------------------------------------------------------------------ */

/* A dump ends, or goes on in another message. */
static int rpcrdma_nl_dumped(const struct sk_buff *skb, int rc)
{
	return skb->len ?: rc;
}

static void *rpcrdma_nl_dump_header(struct sk_buff *skb,
				    const struct netlink_callback *cb, u8 cmd)
{
	return genlmsg_put(skb, NETLINK_CB(cb->skb).portid,
			   cb->nlh->nlmsg_seq, &rpcrdma_nl_family,
			   NLM_F_MULTI, cmd);
}

static int rpcrdma_nl_device_put(struct sk_buff *skb,
				 const struct netlink_callback *cb,
				 const struct rpcrdma_device_info *info)
{
	void *header = rpcrdma_nl_dump_header(skb, cb, RPCRDMA_CMD_DEVICE_GET);

	if (!header)
		return -EMSGSIZE;
	if (nla_put_u32(skb, RPCRDMA_A_DEVICE_INDEX, info->index) ||
	    nla_put_string(skb, RPCRDMA_A_DEVICE_NAME, info->name) ||
	    (info->iwarp && nla_put_flag(skb, RPCRDMA_A_DEVICE_IWARP)) ||
	    nla_put_u32(skb, RPCRDMA_A_DEVICE_CONNECTIONS, info->conns) ||
	    (info->client.unfit &&
	     nla_put_string(skb, RPCRDMA_A_DEVICE_CLIENT_UNFIT,
			    rpcrdma_unfit_name(info->client.unfit))) ||
	    (info->server.unfit &&
	     nla_put_string(skb, RPCRDMA_A_DEVICE_SERVER_UNFIT,
			    rpcrdma_unfit_name(info->server.unfit))) ||
	    (info->client.version1 &&
	     nla_put_flag(skb, RPCRDMA_A_DEVICE_VERSION1))) {
		genlmsg_cancel(skb, header);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return 0;
}

/* Where a dump goes on: at this index or number. */
struct rpcrdma_nl_cursor {
	u64 next;
};

static struct rpcrdma_nl_cursor *rpcrdma_nl_cursor(struct netlink_callback *cb)
{
	BUILD_BUG_ON(sizeof(struct rpcrdma_nl_cursor) > sizeof(cb->ctx));
	return (struct rpcrdma_nl_cursor *)cb->ctx;
}

static int rpcrdma_nl_device_dump(struct sk_buff *skb,
				  struct netlink_callback *cb)
{
	struct rpcrdma_nl_cursor *cursor = rpcrdma_nl_cursor(cb);
	const struct net *net = sock_net(skb->sk);
	struct rpcrdma_device_info info;
	int rc = 0;

	while (!rc && cursor->next <= U32_MAX &&
	       rpcrdma_device_next(net, cursor->next, &info)) {
		rc = rpcrdma_nl_device_put(skb, cb, &info);
		if (!rc)
			cursor->next = (u64)info.index + 1;
	}
	return rpcrdma_nl_dumped(skb, rc);
}

static int rpcrdma_nl_listener_put(struct sk_buff *skb,
				   const struct netlink_callback *cb,
				   const struct rpcrdma_listener_info *info)
{
	void *header = rpcrdma_nl_dump_header(skb, cb,
					      RPCRDMA_CMD_LISTENER_GET);

	if (!header)
		return -EMSGSIZE;
	if (nla_put_u64_64bit(skb, RPCRDMA_A_LISTENER_ID, info->id,
			      RPCRDMA_A_LISTENER_PAD) ||
	    nla_put(skb, RPCRDMA_A_LISTENER_ADDRESS, info->length,
		    &info->address) ||
	    (info->device_name[0] &&
	     nla_put_string(skb, RPCRDMA_A_LISTENER_DEVICE,
			    info->device_name)) ||
	    (info->listening &&
	     nla_put_flag(skb, RPCRDMA_A_LISTENER_LISTENING)) ||
	    nla_put_u32(skb, RPCRDMA_A_LISTENER_PENDING, info->pending)) {
		genlmsg_cancel(skb, header);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return 0;
}

static int rpcrdma_nl_listener_dump(struct sk_buff *skb,
				    struct netlink_callback *cb)
{
	struct rpcrdma_nl_cursor *cursor = rpcrdma_nl_cursor(cb);
	const struct net *net = sock_net(skb->sk);
	struct rpcrdma_listener_info info;
	int rc = 0;

	while (!rc && rpcrdma_listener_next(net, cursor->next, &info)) {
		rc = rpcrdma_nl_listener_put(skb, cb, &info);
		if (!rc)
			cursor->next = info.id + 1;
	}
	return rpcrdma_nl_dumped(skb, rc);
}

/* ------------------------------------------------------------------ */
/* Connections                                                        */
/* ------------------------------------------------------------------ */

/* RPC messages sent or received, by format. */
struct rpcrdma_nl_formats {
	u64 simple;
	u64 continued;
	u64 special;
};

/*
 * The type of a message's last part tells Simple and Continued from Special Format.
 * The numbers of versions 1 and 2 differ. A group of several Sends is counted as continued, too.
 */
static struct rpcrdma_nl_formats rpcrdma_nl_formats(const u64 *types,
						    u64 continued)
{
	struct rpcrdma_nl_formats f = {
		.continued = continued,
		.special = types[RPCRDMA1_NOMSG] +
			   types[RPCRDMA2_CALL_EXTERNAL] +
			   types[RPCRDMA2_REPLY_EXTERNAL],
	};
	u64 inlined = types[RPCRDMA1_MSG] + types[RPCRDMA2_CALL_INLINE] +
		      types[RPCRDMA2_REPLY_INLINE] +
		      types[rpcrdma_rtr_lead_type(RPCRDMA_CALL)] +
		      types[rpcrdma_rtr_lead_type(RPCRDMA_REPLY)];

	/* They go on counting meanwhile. */
	f.simple = inlined - min(inlined, continued);
	return f;
}

static int rpcrdma_nl_sockaddr(struct sk_buff *skb, u16 type,
			       const union rpcrdma_sockaddr *address)
{
	switch (address->sa.sa_family) {
	case AF_INET:
		return nla_put(skb, type, sizeof(address->in), &address->in);
	case AF_INET6:
		return nla_put(skb, type, sizeof(address->in6), &address->in6);
	}
	return 0;
}

static int rpcrdma_nl_properties(struct sk_buff *skb, u16 type,
				 const struct rpcrdma_properties *p)
{
	const struct rpcrdma_nl_u32 list[] = {
		{ RPCRDMA_A_PROPERTIES_SEND_SIZE, p->send_size },
		{ RPCRDMA_A_PROPERTIES_RECEIVE_SIZE, p->recv_size },
		{ RPCRDMA_A_PROPERTIES_SEGMENT_SIZE, p->max_segment_size },
		{ RPCRDMA_A_PROPERTIES_SEGMENT_COUNT, p->max_segments },
		{ RPCRDMA_A_PROPERTIES_REVERSE, p->reverse },
	};

	return rpcrdma_nl_nest_u32s(skb, type, list, ARRAY_SIZE(list));
}

static int rpcrdma_nl_credits(struct sk_buff *skb,
			      const struct rpcrdma_session_info *info,
			      u64 waited)
{
	const struct rpcrdma_nl_u32 list[] = {
		{ RPCRDMA_A_CREDITS_WINDOW, info->window },
		{ RPCRDMA_A_CREDITS_IN_USE, info->window_used },
		{ RPCRDMA_A_CREDITS_HIGH_WATER, info->window_high },
		{ RPCRDMA_A_CREDITS_AVAILABLE, info->peer_credits },
		{ RPCRDMA_A_CREDITS_SENT, info->sent },
		{ RPCRDMA_A_CREDITS_RECEIVED, info->received },
		{ RPCRDMA_A_CREDITS_WAITS, info->blocked },
		{ RPCRDMA_A_CREDITS_TAKEN_BACK, info->taken_back },
		/* Last: version 1 counts otherwise. */
		{ RPCRDMA_A_CREDITS_LIMIT, info->sent + info->peer_credits },
	};

	const u32 count = ARRAY_SIZE(list) - (info->version != 2);
	struct nlattr *nest = nla_nest_start(skb, RPCRDMA_A_CONN_CREDITS);

	if (!nest || rpcrdma_nl_put_u32s(skb, list, count) ||
	    nla_put_u64_64bit(skb, RPCRDMA_A_CREDITS_TIME_WAITED,
			      div_u64(waited, NSEC_PER_USEC),
			      RPCRDMA_A_CREDITS_PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int rpcrdma_nl_regions(struct sk_buff *skb, u32 total, const u32 *count)
{
	const struct rpcrdma_nl_u32 list[] = {
		{ RPCRDMA_A_REGIONS_TOTAL, total },
		{ RPCRDMA_A_REGIONS_FREE, count[RPCRDMA_MR_FREE] },
		{ RPCRDMA_A_REGIONS_HELD, count[RPCRDMA_MR_HELD] },
		{ RPCRDMA_A_REGIONS_ACTIVE, count[RPCRDMA_MR_ACTIVE] },
		{ RPCRDMA_A_REGIONS_INVALIDATING,
		  count[RPCRDMA_MR_INVALIDATING] },
	};

	return rpcrdma_nl_nest_u32s(skb, RPCRDMA_A_CONN_REGIONS, list,
				    ARRAY_SIZE(list));
}

static int rpcrdma_nl_memory(struct sk_buff *skb,
			     const struct rpcrdma_account_info *info)
{
	const struct rpcrdma_nl_u64 list[] = {
		{ RPCRDMA_A_MEMORY_CALLS, info->calls },
		{ RPCRDMA_A_MEMORY_CALLS_LIMIT, info->calls_limit },
		{ RPCRDMA_A_MEMORY_REPLIES, info->replies },
		{ RPCRDMA_A_MEMORY_REPLIES_LIMIT, info->replies_limit },
		{ RPCRDMA_A_MEMORY_RESERVE, info->reserve },
		{ RPCRDMA_A_MEMORY_MOST, info->most },
		{ RPCRDMA_A_MEMORY_HELD_BACK, info->held_back },
	};

	/* Nobody has said anything. */
	if (!info->calls_limit)
		return 0;
	return rpcrdma_nl_nest_u64s(skb, RPCRDMA_A_CONN_MEMORY,
				    RPCRDMA_A_MEMORY_PAD, list,
				    ARRAY_SIZE(list));
}

/* The base protocol is no extension. */
static int rpcrdma_nl_extensions(struct sk_buff *skb, u32 in_use)
{
	u32 i;

	for (i = 1; i < rpcrdma_extension_count(); i++)
		if ((in_use & BIT(i)) &&
		    nla_put_string(skb, RPCRDMA_A_CONN_EXTENSION,
				   rpcrdma_extension_name(i)))
			return -EMSGSIZE;
	return 0;
}

static size_t rpcrdma_nl_extensions_size(void)
{
	size_t size = 0;
	u32 i;

	for (i = 1; i < rpcrdma_extension_count(); i++)
		size += nla_total_size(strlen(rpcrdma_extension_name(i)) + 1);
	return size;
}

static int rpcrdma_nl_count(struct sk_buff *skb, u16 type, u32 number, u64 sent,
			    u64 received)
{
	struct nlattr *nest;

	if (!sent && !received)
		return 0;
	nest = nla_nest_start(skb, type);
	if (!nest || nla_put_u32(skb, RPCRDMA_A_COUNT_NUMBER, number) ||
	    nla_put_u64_64bit(skb, RPCRDMA_A_COUNT_SENT, sent,
			      RPCRDMA_A_COUNT_PAD) ||
	    nla_put_u64_64bit(skb, RPCRDMA_A_COUNT_RECEIVED, received,
			      RPCRDMA_A_COUNT_PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int rpcrdma_nl_refused(struct sk_buff *skb, u32 number, u64 received)
{
	struct nlattr *nest;

	if (!received)
		return 0;
	nest = nla_nest_start(skb, RPCRDMA_A_CONN_REFUSAL);
	if (!nest || nla_put_u32(skb, RPCRDMA_A_REFUSED_NUMBER, number) ||
	    nla_put_u64_64bit(skb, RPCRDMA_A_REFUSED_RECEIVED, received,
			      RPCRDMA_A_REFUSED_PAD))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int rpcrdma_nl_counters(struct sk_buff *skb,
			       const struct rpcrdma_stats *s)
{
	const struct rpcrdma_nl_formats
		tx = rpcrdma_nl_formats(s->tx_type, s->tx_continued),
		rx = rpcrdma_nl_formats(s->rx_type, s->rx_continued);
	const struct rpcrdma_nl_u64 formats[] = {
		{ RPCRDMA_A_FORMATS_SIMPLE_SENT, tx.simple },
		{ RPCRDMA_A_FORMATS_SIMPLE_RECEIVED, rx.simple },
		{ RPCRDMA_A_FORMATS_CONTINUED_SENT, tx.continued },
		{ RPCRDMA_A_FORMATS_CONTINUED_RECEIVED, rx.continued },
		{ RPCRDMA_A_FORMATS_SPECIAL_SENT, tx.special },
		{ RPCRDMA_A_FORMATS_SPECIAL_RECEIVED, rx.special },
	};
	const struct rpcrdma_nl_u64 octets[] = {
		{ RPCRDMA_A_OCTETS_INLINE_SENT, s->tx_inline_bytes },
		{ RPCRDMA_A_OCTETS_INLINE_RECEIVED, s->rx_inline_bytes },
		{ RPCRDMA_A_OCTETS_CONTINUED_SENT, s->tx_continued_bytes },
		{ RPCRDMA_A_OCTETS_CONTINUED_RECEIVED, s->rx_continued_bytes },
		{ RPCRDMA_A_OCTETS_WIRE_SENT, s->tx_wire_bytes },
		{ RPCRDMA_A_OCTETS_WIRE_RECEIVED, s->rx_wire_bytes },
		{ RPCRDMA_A_OCTETS_READ_CHUNK, s->read_chunk_bytes },
		{ RPCRDMA_A_OCTETS_WRITE_CHUNK, s->write_chunk_bytes },
		{ RPCRDMA_A_OCTETS_CALL_CHUNK, s->call_chunk_bytes },
		{ RPCRDMA_A_OCTETS_REPLY_CHUNK, s->reply_chunk_bytes },
	};
	const struct rpcrdma_nl_u64 events[] = {
		{ RPCRDMA_A_EVENTS_RDMA_READS, s->rdma_reads },
		{ RPCRDMA_A_EVENTS_RDMA_WRITES, s->rdma_writes },
		{ RPCRDMA_A_EVENTS_DOORBELLS, s->tx_doorbells },
		{ RPCRDMA_A_EVENTS_REGISTRATIONS, s->registrations },
		{ RPCRDMA_A_EVENTS_LOCAL_INVALIDATES, s->local_invalidates },
		{ RPCRDMA_A_EVENTS_REMOTE_INVALIDATES, s->remote_invalidates },
		{ RPCRDMA_A_EVENTS_RETRIES, s->retries },
		{ RPCRDMA_A_EVENTS_KEEP_ALIVES, s->keep_alives },
		{ RPCRDMA_A_EVENTS_NO_REGION, s->no_mr },
		{ RPCRDMA_A_EVENTS_SEND_QUEUE_FULL, s->sq_full },
		{ RPCRDMA_A_EVENTS_UNMATCHED_REPLIES, s->bad_xids },
	};
	int rc = 0;
	u32 i;

	for (i = 0; i < rpcrdma_type_count() && !rc; i++)
		rc = rpcrdma_nl_count(skb, RPCRDMA_A_CONN_HEADER_TYPE, i,
				      s->tx_type[i], s->rx_type[i]);
	for (i = 1; i < RPCRDMA_ERRCODES && !rc; i++)
		rc = rpcrdma_nl_count(skb, RPCRDMA_A_CONN_ERROR,
				      rpcrdma_slot_errcode(i), s->tx_errors[i],
				      s->rx_errors[i]);
	for (i = 1; i < RPCRDMA_REASON_COUNT && !rc; i++)
		rc = rpcrdma_nl_refused(skb, i, s->rx_refused[i]);
	if (!rc)
		rc = rpcrdma_nl_nest_u64s(skb, RPCRDMA_A_CONN_FORMATS,
					  RPCRDMA_A_FORMATS_PAD, formats,
					  ARRAY_SIZE(formats));
	if (!rc)
		rc = rpcrdma_nl_nest_u64s(skb, RPCRDMA_A_CONN_OCTETS,
					  RPCRDMA_A_OCTETS_PAD, octets,
					  ARRAY_SIZE(octets));
	if (!rc)
		rc = rpcrdma_nl_nest_u64s(skb, RPCRDMA_A_CONN_EVENTS,
					  RPCRDMA_A_EVENTS_PAD, events,
					  ARRAY_SIZE(events));
	return rc;
}

/* Reasons are longer than this nowhere; one that was would be cut. */
#define RPCRDMA_NL_REASON	64

static int rpcrdma_nl_reason(struct sk_buff *skb, u16 type, const char *reason)
{
	char text[RPCRDMA_NL_REASON];

	if (!reason)
		return 0;
	strscpy(text, reason, sizeof(text));
	return nla_put_string(skb, type, text);
}

static u32 rpcrdma_nl_state(const struct rpcrdma_conn *conn)
{
	if (test_bit(RPCRDMA_CONN_LOST, &conn->flags))
		return RPCRDMA_CONN_STATE_LOST;
	return rpcrdma_conn_has_been(conn, RPCRDMA_CONN_UP) ?
		RPCRDMA_CONN_STATE_UP : RPCRDMA_CONN_STATE_OPENING;
}

static u32 rpcrdma_nl_choice(const struct rpcrdma_conn *conn, u32 version)
{
	if (!version)
		return RPCRDMA_CONN_CHOICE_UNKNOWN;
	if (conn->only_v1 == RPCRDMA_V1_SILENT)
		return RPCRDMA_CONN_CHOICE_SILENCE;
	return version < conn->max_version ? RPCRDMA_CONN_CHOICE_PEER :
		RPCRDMA_CONN_CHOICE_BEST;
}

/* What every message about a connection has. */
static int rpcrdma_nl_conn_common(struct sk_buff *skb,
				  const struct rpcrdma_conn *conn, u32 version,
				  const struct rpcrdma_conn_auth *auth)
{
	u64 age = ktime_ms_delta(ktime_get(), conn->created);

	if (nla_put_u64_64bit(skb, RPCRDMA_A_CONN_ID, conn->id,
			      RPCRDMA_A_CONN_PAD) ||
	    nla_put_u32(skb, RPCRDMA_A_CONN_ROLE, conn->role) ||
	    rpcrdma_nl_sockaddr(skb, RPCRDMA_A_CONN_LOCAL_ADDRESS,
				&conn->local) ||
	    rpcrdma_nl_sockaddr(skb, RPCRDMA_A_CONN_PEER_ADDRESS,
				&conn->peer) ||
	    nla_put_string(skb, RPCRDMA_A_CONN_DEVICE, conn->device_name) ||
	    nla_put_u32(skb, RPCRDMA_A_CONN_PORT, conn->port) ||
	    nla_put_u32(skb, RPCRDMA_A_CONN_STATE, rpcrdma_nl_state(conn)) ||
	    nla_put_u32(skb, RPCRDMA_A_CONN_VERSION, version) ||
	    nla_put_u32(skb, RPCRDMA_A_CONN_CHOICE,
			rpcrdma_nl_choice(conn, version)) ||
	    nla_put_u64_64bit(skb, RPCRDMA_A_CONN_AGE, age,
			      RPCRDMA_A_CONN_PAD) ||
	    rpcrdma_nl_reason(skb, RPCRDMA_A_CONN_LOSS,
			      READ_ONCE(conn->loss)) ||
	    rpcrdma_nl_reason(skb, RPCRDMA_A_CONN_PREVIOUS_LOSS,
			      conn->previous_loss) ||
	    (conn->role == RPCRDMA_ROLE_CLIENT &&
	     nla_put_u32(skb, RPCRDMA_A_CONN_RECONNECTS, conn->reconnects)) ||
	    (rpcrdma_conn_has_been(conn, RPCRDMA_CONN_UP) &&
	     nla_put_flag(skb, RPCRDMA_A_CONN_WAS_UP)) ||
	    rpcrdma_nl_auth(skb, auth))
		return -EMSGSIZE;
	return 0;
}

/* Octets of what rpcrdma_nl_conn_common() puts, at most. */
static __always_inline size_t rpcrdma_nl_common_size(void)
{
	return 2 * nla_total_size_64bit(sizeof(u64)) +
	       6 * nla_total_size(sizeof(u32)) +
	       2 * nla_total_size(sizeof(struct sockaddr_in6)) +
	       nla_total_size(IB_DEVICE_NAME_MAX) +
	       2 * nla_total_size(RPCRDMA_NL_REASON) + nla_total_size(0) +
	       rpcrdma_nl_auth_size();
}

static __always_inline size_t rpcrdma_nl_size(u32 types)
{
	const size_t u32s = nla_total_size(sizeof(u32));
	const size_t u64s = nla_total_size_64bit(sizeof(u64));
	const size_t nest = nla_total_size(0);
	/* Its size is in the numbers that may need it. */
	const size_t pad = 1;

	return rpcrdma_nl_common_size() +
		2 * (nest + RPCRDMA_A_PROPERTIES_MAX * u32s) +
		nest + RPCRDMA_A_CREDITS_TAKEN_BACK * u32s + u64s +
		nest + RPCRDMA_A_REGIONS_MAX * u32s +
		3 * u32s + 2 * u64s +
		(types + RPCRDMA_ERRCODES - 1) * (nest + u32s + 2 * u64s) +
		(RPCRDMA_REASON_COUNT - 1) * (nest + u32s + u64s) +
		nest + (RPCRDMA_A_FORMATS_MAX - pad) * u64s +
		nest + (RPCRDMA_A_OCTETS_MAX - pad) * u64s +
		nest + (RPCRDMA_A_EVENTS_MAX - pad) * u64s +
		nest + (RPCRDMA_A_MEMORY_MAX - pad) * u64s;
}

/**
 * rpcrdma_nl_conn_size - octets of a message about a connection, at most
 *
 * Return: octets behind the header of generic netlink.
 */
size_t rpcrdma_nl_conn_size(void)
{
	return rpcrdma_nl_size(rpcrdma_type_count()) +
	       rpcrdma_nl_extensions_size();
}

/**
 * rpcrdma_nl_conn_put - all that is to be said of a connection
 * @skb: gets a message of conn-get
 * @conn: referenced; it may end meanwhile, or have ended
 * @portid: of who has asked
 * @seq: of the question
 * @flags: of the message
 *
 * Context: Process context. Does not sleep.
 *
 * Return: 0, or %-EMSGSIZE if @skb has no room; it is as it was then.
 */
int rpcrdma_nl_conn_put(struct sk_buff *skb, struct rpcrdma_conn *conn,
			u32 portid, u32 seq, int flags)
{
	u32 regions[RPCRDMA_MR_STATES], serving = 0;
	struct rpcrdma_session_info info;
	struct rpcrdma_numbers numbers;
	struct rpcrdma_account_info account = { };
	struct rpcrdma_conn_auth auth;
	u64 memory, all, waited;
	u32 round_trip;
	void *header;

	header = genlmsg_put(skb, portid, seq, &rpcrdma_nl_family, flags,
			     RPCRDMA_CMD_CONN_GET);
	if (!header)
		return -EMSGSIZE;

	spin_lock(&conn->lock);
	rpcrdma_session_info(&conn->session, &info);
	rpcrdma_session_numbers(&conn->session, &numbers);
	rpcrdma_conn_auth_info(conn, &auth);
	memcpy(regions, conn->mr_table.count, sizeof(regions));
	/* Its owner is there for as long as it is not dead. */
	if (!rpcrdma_conn_dead(conn) && conn->ops->serving)
		serving = conn->ops->serving(conn);
	if (!rpcrdma_conn_dead(conn) && conn->ops->account)
		conn->ops->account(conn, &account);
	all = conn->memory;
	waited = rpcrdma_credit_waited(conn);
	spin_unlock(&conn->lock);
	memory = atomic_long_read(&conn->buffers);
	round_trip = READ_ONCE(conn->round_trip);

	if (rpcrdma_nl_conn_common(skb, conn, info.version, &auth) ||
	    rpcrdma_nl_properties(skb, RPCRDMA_A_CONN_LOCAL_PROPERTIES,
				  &info.local) ||
	    rpcrdma_nl_properties(skb, RPCRDMA_A_CONN_PEER_PROPERTIES,
				  &info.peer) ||
	    rpcrdma_nl_credits(skb, &info, waited) ||
	    nla_put_u32(skb, RPCRDMA_A_CONN_CALLS_SENT, info.outstanding) ||
	    nla_put_u32(skb, RPCRDMA_A_CONN_CALLS_RECEIVED, serving) ||
	    (round_trip &&
	     nla_put_u32(skb, RPCRDMA_A_CONN_ROUND_TRIP, round_trip)) ||
	    rpcrdma_nl_regions(skb, READ_ONCE(conn->n_mrs), regions) ||
	    nla_put_u64_64bit(skb, RPCRDMA_A_CONN_BUFFER_MEMORY, memory,
			      RPCRDMA_A_CONN_PAD) ||
	    nla_put_u64_64bit(skb, RPCRDMA_A_CONN_HELD_MEMORY, all,
			      RPCRDMA_A_CONN_PAD) ||
	    rpcrdma_nl_memory(skb, &account) ||
	    rpcrdma_nl_extensions(skb, numbers.extensions) ||
	    rpcrdma_nl_counters(skb, &conn->stats)) {
		genlmsg_cancel(skb, header);
		return -EMSGSIZE;
	}
	genlmsg_end(skb, header);
	return 0;
}

static int rpcrdma_nl_conn_get(struct sk_buff *skb, struct genl_info *info)
{
	struct rpcrdma_conn *conn;
	struct sk_buff *reply;
	int rc;

	if (GENL_REQ_ATTR_CHECK(info, RPCRDMA_A_CONN_ID)) {
		NL_SET_ERR_MSG(info->extack, "which connection is not said");
		return -EINVAL;
	}
	reply = genlmsg_new(rpcrdma_nl_conn_size(), GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	conn = rpcrdma_conn_find(genl_info_net(info),
				 nla_get_u64(info->attrs[RPCRDMA_A_CONN_ID]));
	if (!conn) {
		NL_SET_ERR_MSG_ATTR(info->extack,
				    info->attrs[RPCRDMA_A_CONN_ID],
				    "no such connection in this network namespace");
		rc = -ENOENT;
		goto out_free;
	}
	rc = rpcrdma_nl_conn_put(reply, conn, info->snd_portid, info->snd_seq,
				 0);
	rpcrdma_conn_put(conn);
	if (rc)
		goto out_free;
	return genlmsg_reply(reply, info);

out_free:
	nlmsg_free(reply);
	return rc;
}

/* What an administrator asks for takes its time; the properties then tell. */
static int rpcrdma_nl_conn_set(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *mine = info->attrs[RPCRDMA_A_CONN_RECEIVE_SIZE];
	struct nlattr *peers = info->attrs[RPCRDMA_A_CONN_PEER_RECEIVE_SIZE];
	struct rpcrdma_conn *conn;
	int rc;

	if (GENL_REQ_ATTR_CHECK(info, RPCRDMA_A_CONN_ID)) {
		NL_SET_ERR_MSG(info->extack, "which connection is not said");
		return -EINVAL;
	}
	if (!mine && !peers) {
		NL_SET_ERR_MSG(info->extack, "what is to change is not said");
		return -EINVAL;
	}
	conn = rpcrdma_conn_find(genl_info_net(info),
				 nla_get_u64(info->attrs[RPCRDMA_A_CONN_ID]));
	if (!conn) {
		NL_SET_ERR_MSG_ATTR(info->extack,
				    info->attrs[RPCRDMA_A_CONN_ID],
				    "no such connection in this network namespace");
		return -ENOENT;
	}
	rc = rpcrdma_resize_wish(conn, mine ? nla_get_u32(mine) : 0,
				 peers ? nla_get_u32(peers) : 0);
	rpcrdma_conn_put(conn);
	if (rc == -EOPNOTSUPP)
		NL_SET_ERR_MSG(info->extack,
			       "this side or its peer cannot change sizes while connected");
	else if (rc == -ERANGE)
		NL_SET_ERR_MSG(info->extack,
			       "Receives of this connection cannot have that size");
	return rc;
}

/* The policy is for the question about one connection. */
static int rpcrdma_nl_conn_start(struct netlink_callback *cb)
{
	if (nlmsg_attrlen(cb->nlh, GENL_HDRLEN)) {
		NL_SET_ERR_MSG(cb->extack, "a dump takes no attributes");
		return -EINVAL;
	}
	rpcrdma_nl_cursor(cb)->next = 0;
	/* However small the reader's buffer is: else such a connection would end the dump. */
	cb->min_dump_alloc = NLMSG_HDRLEN + GENL_HDRLEN +
			     rpcrdma_nl_conn_size();
	return 0;
}

static int rpcrdma_nl_conn_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct rpcrdma_nl_cursor *cursor = rpcrdma_nl_cursor(cb);
	const struct net *net = sock_net(skb->sk);
	struct rpcrdma_conn *conn;
	int rc = 0;

	while (!rc && cursor->next <= ULONG_MAX &&
	       (conn = rpcrdma_conn_next(net, cursor->next))) {
		rc = rpcrdma_nl_conn_put(skb, conn, NETLINK_CB(cb->skb).portid,
					 cb->nlh->nlmsg_seq, NLM_F_MULTI);
		if (!rc)
			cursor->next = (u64)conn->id + 1;
		rpcrdma_conn_put(conn);
	}
	return rpcrdma_nl_dumped(skb, rc);
}

/* A lost notification is lost: who listens can ask. */
static void rpcrdma_nl_notify(struct rpcrdma_conn *conn, u8 cmd)
{
	struct net *net = (struct net *)conn->net;
	struct rpcrdma_conn_auth auth;
	struct sk_buff *skb;
	void *header;
	u32 version;

	if (!genl_has_listeners(&rpcrdma_nl_family, net, RPCRDMA_NL_CONN))
		return;
	skb = genlmsg_new(rpcrdma_nl_common_size(), GFP_ATOMIC);
	if (!skb)
		return;
	spin_lock(&conn->lock);
	version = rpcrdma_session_version(&conn->session);
	rpcrdma_conn_auth_info(conn, &auth);
	spin_unlock(&conn->lock);
	header = genlmsg_put(skb, 0, 0, &rpcrdma_nl_family, 0, cmd);
	if (!header || rpcrdma_nl_conn_common(skb, conn, version, &auth)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, header);
	genlmsg_multicast_netns(&rpcrdma_nl_family, net, skb, 0,
				RPCRDMA_NL_CONN, GFP_ATOMIC);
}

/**
 * rpcrdma_nl_conn_version - tell who listens which version is agreed on
 * @conn: the connection, not yet destroyed
 *
 * Context: as rpcrdma_nl_conn_up().
 */
void rpcrdma_nl_conn_version(struct rpcrdma_conn *conn)
{
	rpcrdma_nl_notify(conn, RPCRDMA_CMD_CONN_VERSION_NTF);
}

/**
 * rpcrdma_nl_conn_up - tell who listens that RPC messages can flow
 * @conn: the connection, not yet destroyed
 *
 * Context: Process context, lock of @conn not held. Does not sleep.
 */
void rpcrdma_nl_conn_up(struct rpcrdma_conn *conn)
{
	rpcrdma_nl_notify(conn, RPCRDMA_CMD_CONN_UP_NTF);
}

/**
 * rpcrdma_nl_conn_down - tell who listens that a connection is over, and why
 * @conn: the connection, not yet destroyed
 *
 * Context: as rpcrdma_nl_conn_up().
 */
void rpcrdma_nl_conn_down(struct rpcrdma_conn *conn)
{
	rpcrdma_nl_notify(conn, RPCRDMA_CMD_CONN_DOWN_NTF);
}

/**
 * rpcrdma_nl_conn_auth_failed - tell who listens that host authentication has failed
 * @conn: the connection, not yet destroyed
 *
 * Context: as rpcrdma_nl_conn_up(). If the exchange has ended with its connection, the end
 * has been told before.
 */
void rpcrdma_nl_conn_auth_failed(struct rpcrdma_conn *conn)
{
	rpcrdma_nl_notify(conn, RPCRDMA_CMD_AUTH_FAILED_NTF);
}

/**
 * rpcrdma_nl_auth_failed - tell who listens that a client makes no connection
 * @net: network namespace of the client
 * @server: with which it has to authenticate, and cannot
 * @auth: why
 *
 * Context: Process context, no lock held. Does not sleep.
 */
void rpcrdma_nl_auth_failed(const struct net *net,
			    const struct sockaddr *server,
			    const struct rpcrdma_conn_auth *auth)
{
	struct sk_buff *skb;
	void *header;

	if (!genl_has_listeners(&rpcrdma_nl_family, (struct net *)net,
				RPCRDMA_NL_CONN))
		return;
	skb = genlmsg_new(rpcrdma_nl_common_size(), GFP_ATOMIC);
	if (!skb)
		return;
	header = genlmsg_put(skb, 0, 0, &rpcrdma_nl_family, 0,
			     RPCRDMA_CMD_AUTH_FAILED_NTF);
	if (!header || nla_put_u32(skb, RPCRDMA_A_CONN_ROLE,
				   RPCRDMA_CONN_ROLE_CLIENT) ||
	    rpcrdma_nl_sockaddr(skb, RPCRDMA_A_CONN_PEER_ADDRESS,
				(const union rpcrdma_sockaddr *)server) ||
	    rpcrdma_nl_auth(skb, auth)) {
		nlmsg_free(skb);
		return;
	}
	genlmsg_end(skb, header);
	genlmsg_multicast_netns(&rpcrdma_nl_family, (struct net *)net, skb, 0,
				RPCRDMA_NL_CONN, GFP_ATOMIC);
}

/* ------------------------------------------------------------------ */
/* The family                                                         */
/* ------------------------------------------------------------------ */

static const struct nla_policy rpcrdma_nl_conn_policy[] = {
	[RPCRDMA_A_CONN_ID] = NLA_POLICY_MIN(NLA_U64, 1),
};

static const struct nla_policy rpcrdma_nl_conn_set_policy[] = {
	[RPCRDMA_A_CONN_ID] = NLA_POLICY_MIN(NLA_U64, 1),
	[RPCRDMA_A_CONN_RECEIVE_SIZE] =
		NLA_POLICY_MIN(NLA_U32, RPCRDMA_MIN_RECV_SIZE),
	[RPCRDMA_A_CONN_PEER_RECEIVE_SIZE] =
		NLA_POLICY_MIN(NLA_U32, RPCRDMA_MIN_RECV_SIZE),
};

/* Who has no policy is sent no attributes: generic netlink refuses them. */
static const struct genl_ops rpcrdma_nl_ops[] = {
	{
		.cmd = RPCRDMA_CMD_MODULE_GET,
		.doit = rpcrdma_nl_module_get,
	},
	{
		.cmd = RPCRDMA_CMD_DEVICE_GET,
		.dumpit = rpcrdma_nl_device_dump,
	},
	{
		.cmd = RPCRDMA_CMD_CONN_GET,
		.doit = rpcrdma_nl_conn_get,
		.start = rpcrdma_nl_conn_start,
		.dumpit = rpcrdma_nl_conn_dump,
		.policy = rpcrdma_nl_conn_policy,
		.maxattr = RPCRDMA_A_CONN_ID,
	},
	{
		.cmd = RPCRDMA_CMD_LISTENER_GET,
		.dumpit = rpcrdma_nl_listener_dump,
	},
	{
		.cmd = RPCRDMA_CMD_CONN_SET,
		.doit = rpcrdma_nl_conn_set,
		.policy = rpcrdma_nl_conn_set_policy,
		.maxattr = RPCRDMA_A_CONN_PEER_RECEIVE_SIZE,
		.flags = GENL_ADMIN_PERM,
	},
	{
		.cmd = RPCRDMA_CMD_AUTH_GET,
		.doit = rpcrdma_nl_auth_get,
	},
};

static struct genl_family rpcrdma_nl_family __ro_after_init = {
	.name = RPCRDMA_FAMILY_NAME,
	.version = RPCRDMA_FAMILY_VERSION,
	.netnsok = true,
	.parallel_ops = true,
	.ops = rpcrdma_nl_ops,
	.n_ops = ARRAY_SIZE(rpcrdma_nl_ops),
	.mcgrps = rpcrdma_nl_mcgrps,
	.n_mcgrps = ARRAY_SIZE(rpcrdma_nl_mcgrps),
	.module = THIS_MODULE,
};

/**
 * rpcrdma_nl_init - answer questions; there is nothing to be said yet
 *
 * Return: 0 or a negative errno.
 */
int __init rpcrdma_nl_init(void)
{
	return genl_register_family(&rpcrdma_nl_family);
}

/**
 * rpcrdma_nl_exit - no connection, listener or device is left
 */
void rpcrdma_nl_exit(void)
{
	genl_unregister_family(&rpcrdma_nl_family);
}
