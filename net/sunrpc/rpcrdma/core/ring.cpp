// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "ring.h"
#include "check.h"
#include "event.h"

using namespace rpcrdma;

static void check(const ring::Ring &r)
{
	(void)RPCRDMA_CHECK(ring::invariants(r));
}

using Event = EventOf<ring::Ring, check>;

extern "C" {

bool rpcrdma_ring_ask(struct rpcrdma_ring *r, bool retry,
		      const struct rpcrdma_claim *c)
{
	return ring::ask(*Event(*r), retry, *c);
}

bool rpcrdma_ring_answers(struct rpcrdma_ring *r,
			  const struct rpcrdma_supply *s)
{
	return ring::answers(*Event(*r), *s);
}

bool rpcrdma_ring_turn(struct rpcrdma_ring *r, bool retry, u32 *from)
{
	return ring::turn(*Event(*r), retry, *from);
}

bool rpcrdma_ring_awaits(struct rpcrdma_ring *r, u32 sends, bool retry,
			 bool *look)
{
	return ring::awaits(*Event(*r), sends, retry, *look);
}

u32 rpcrdma_ring_grow(struct rpcrdma_ring *r, bool early)
{
	return ring::grow(*Event(*r), early);
}

bool rpcrdma_ring_shrink(struct rpcrdma_ring *r, bool early, u32 *from)
{
	return ring::shrink(*Event(*r), early, *from);
}

u32 rpcrdma_ring_look(struct rpcrdma_ring *r)
{
	return ring::look(*Event(*r));
}

bool rpcrdma_ring_rests(const struct rpcrdma_ring *r)
{
	return ring::rests(*r);
}

bool rpcrdma_ring_unused(const struct rpcrdma_ring *r, u32 i)
{
	return ring::unused(*r, i);
}

u32 rpcrdma_ring_spare(const struct rpcrdma_ring *r, u32 others, bool lacking)
{
	return ring::spare(*r, others, lacking);
}

} /* extern "C" */
