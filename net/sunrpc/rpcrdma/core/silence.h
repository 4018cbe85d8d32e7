/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a client concludes when it hears nothing from its server.
 *
 * It looks in equal intervals. A reliable connection notices that its peer is dead only
 * when it sends something, so a client that has heard nothing asks, if it is to ask at
 * all. A question that waits for credit proves nothing as long as a Reply can bring
 * credit. Whether it asks or not: Calls that wait for credit, while no Reply is awaited
 * that could bring any, would wait for ever.
 */
#ifndef _RPCRDMA_CORE_SILENCE_H
#define _RPCRDMA_CORE_SILENCE_H

#include <rpcrdma/silence.h>

namespace rpcrdma
{

/* See rpcrdma_silence_look(). */
[[nodiscard]] rpcrdma_silence_verdict look(rpcrdma_silence &s,
					   const rpcrdma_silence_seen &seen);

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_SILENCE_H */
