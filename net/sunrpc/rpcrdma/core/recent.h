/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * A table of facts about peers, remembered for a while.
 *
 * A server notes Calls whose RDMA operations have ended a connection (section
 * 7.3): a Requester sends such a Call again on its next connection, and the
 * same would happen again. A client notes servers that did not answer version 2.
 * The table is small and entries expire, so a hostile peer can only get itself
 * remembered for a while. When the table is full, the peer with the most
 * entries loses one.
 */
#ifndef _RPCRDMA_CORE_RECENT_H
#define _RPCRDMA_CORE_RECENT_H

#include "span.h"
#include <rpcrdma/recent.h>

namespace rpcrdma::recent
{

/* See rpcrdma_recent_note(). */
void note(rpcrdma_recent &t, u64 peer, u64 id, u32 now);

/* See rpcrdma_recent_suspect(). */
bool suspect(rpcrdma_recent &t, u64 peer, u64 id, u32 now);

/* See rpcrdma_recent_known(). */
[[nodiscard]] bool known(const rpcrdma_recent &t, u64 peer, u64 id, u32 now);

/* See rpcrdma_recent_forget(). */
[[nodiscard]] bool forget(rpcrdma_recent &t, u64 peer, u64 id, u32 now);

/* See rpcrdma_recent_bit(). */
[[nodiscard]] u32 bit(u64 peer, u64 id);

/* See rpcrdma_recent_filter(). */
void filter(const rpcrdma_recent &t, u32 now, Span<u64> words);

} // namespace rpcrdma::recent

#endif /* _RPCRDMA_CORE_RECENT_H */
