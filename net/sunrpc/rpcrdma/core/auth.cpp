// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The C functions of <rpcrdma/auth.h>.
 */
#include "abi.h"

using rpcrdma::Bytes;
using rpcrdma::Event;
using rpcrdma::session;

extern "C" {

const char *rpcrdma_auth_reason_name(u32 reason)
{
	return reason < RPCRDMA_AUTH_REASONS ?
		       rpcrdma::host_auth_reason(
			       static_cast<rpcrdma::HostAuthReason>(reason)) :
		       "?";
}

u32 rpcrdma_session_auth(const struct rpcrdma_session *s)
{
	return session(s).auth_state();
}

u32 rpcrdma_session_auth_reason(const struct rpcrdma_session *s)
{
	return static_cast<u32>(session(s).auth().reason());
}

u32 rpcrdma_session_auth_name(const struct rpcrdma_session *s, u8 *name)
{
	const Bytes of = session(s).auth().key_name();

	__builtin_memset(name, 0, RPCRDMA_AUTH_NAME);
	__builtin_memcpy(name, of.data(), of.size());
	return of.size();
}

bool rpcrdma_session_auth_key(struct rpcrdma_session *s, const u8 *secret,
			      u32 size, const u8 *decoy)
{
	return Event(s)->auth_key({ secret, size },
				  { decoy, RPCRDMA_AUTH_LEAST });
}

bool rpcrdma_session_auth_late(struct rpcrdma_session *s)
{
	return Event(s)->auth_late();
}

void rpcrdma_session_auth_end(struct rpcrdma_session *s)
{
	Event(s)->auth_end();
}

} /* extern "C" */
