// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "round_trip.h"

namespace rpcrdma::round_trip
{

u32 note(rpcrdma_round_trip &r, u32 now, u32 took)
{
	/* Zero is for what is not known. */
	if (!took)
		took = 1;
	if (!r.count) {
		r.since = now;
	} else if (now - r.since >= RPCRDMA_ROUND_TRIP_MS &&
		   r.count >= RPCRDMA_ROUND_TRIP_COUNT) {
		r.before = r.shortest;
		r.since = now;
		r.count = 0;
	}
	if (!r.count || took < r.shortest)
		r.shortest = took;
	if (r.count < RPCRDMA_ROUND_TRIP_COUNT)
		r.count++;
	return r.before && r.before < r.shortest ? r.before : r.shortest;
}

} // namespace rpcrdma::round_trip

using namespace rpcrdma;

extern "C" u32 rpcrdma_round_trip_note(struct rpcrdma_round_trip *r, u32 now,
				       u32 took)
{
	return round_trip::note(*r, now, took);
}
