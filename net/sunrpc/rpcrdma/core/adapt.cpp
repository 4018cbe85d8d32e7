// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The C functions of <rpcrdma/adapt.h>.
 */
#include "adapt.h"
#include "placement.h"
#include <rpcrdma/adapt.h>

using rpcrdma::Adapt;
using rpcrdma::AdaptAdvice;

static_assert(sizeof(Adapt) <= sizeof(rpcrdma_adapt));
static_assert(alignof(Adapt) <= alignof(rpcrdma_adapt));
static_assert(__is_trivially_copyable(Adapt), "its owner just forgets it");
static_assert(Adapt::kIdle == RPCRDMA_ADAPT_IDLE_MS);

static Adapt &rule(rpcrdma_adapt *a)
{
	return *__builtin_launder(reinterpret_cast<Adapt *>(a));
}

extern "C" {

void rpcrdma_adapt_init(struct rpcrdma_adapt *a, u32 least, u32 own_least,
			u32 most)
{
	::new (static_cast<void *>(a->opaque)) Adapt(least, own_least, most);
}

void rpcrdma_adapt_advise(struct rpcrdma_adapt *a,
			  const struct rpcrdma_adapt_input *in,
			  struct rpcrdma_adapt_advice *advice)
{
	const AdaptAdvice said = rule(a).advise({
		.messages = in->messages,
		.continued = in->continued,
		.parts = in->parts,
		.idle = in->idle,
		.peer_receive = in->peer_receive,
		.peer_send = in->peer_send,
		.local_receive = in->local_receive,
		.local_send = in->local_send,
		.receives = in->receives,
		.budget = in->budget,
		.now = in->now,
		.scarce = in->scarce,
		.asked_receive = in->asked_receive,
		.asked_send = in->asked_send,
	});

	*advice = { said.peer_receive, said.peer_send, said.local_receive,
		    said.small_sends };
}

void rpcrdma_adapt_answered(struct rpcrdma_adapt *a, bool accepted)
{
	if (accepted)
		rule(a).accepted();
	else
		rule(a).rejected();
}

} /* extern "C" */
