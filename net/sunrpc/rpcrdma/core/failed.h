/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Calls whose RDMA operations have ended a connection (section 7.3).
 *
 * A Requester sends such a Call again on its next connection, where the same
 * would happen again. There is room for a few and they expire, so the worst a
 * Requester can do is to be answered with an error for a while, itself alone.
 * When the room is used up those suffer who use the most of it.
 */
#ifndef _RPCRDMA_CORE_FAILED_H
#define _RPCRDMA_CORE_FAILED_H

#include <rpcrdma/core.h>

namespace rpcrdma::failed
{

/* See rpcrdma_failed_note(). */
void note(rpcrdma_failed_calls &t, u64 peer, u32 xid, u32 now);

/* See rpcrdma_failed_known(). */
[[nodiscard]] bool known(const rpcrdma_failed_calls &t, u64 peer, u32 xid,
			 u32 now);

} // namespace rpcrdma::failed

#endif /* _RPCRDMA_CORE_FAILED_H */
