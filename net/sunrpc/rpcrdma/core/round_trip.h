/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The shortest round trip of a connection. <rpcrdma/round_trip.h> has the rule.
 */
#ifndef _RPCRDMA_CORE_ROUND_TRIP_H
#define _RPCRDMA_CORE_ROUND_TRIP_H

#include <rpcrdma/round_trip.h>

namespace rpcrdma::round_trip
{

/* See rpcrdma_round_trip_note(). */
[[nodiscard]] u32 note(rpcrdma_round_trip &r, u32 now, u32 took);

} // namespace rpcrdma::round_trip

#endif /* _RPCRDMA_CORE_ROUND_TRIP_H */
