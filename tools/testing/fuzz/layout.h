/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Checks of chunk lists from any source.
 */
#ifndef _RPCRDMA_FUZZ_LAYOUT_H
#define _RPCRDMA_FUZZ_LAYOUT_H

#include "chunks.h"
#include <rpcrdma/plan.h>

namespace fuzz
{

/* Of valid Read chunks: every octet is in one piece, or roundup. */
void check_layout(const rpcrdma::Chunks &c, u32 stream_length, u32 unreduced);

/* Of what plan_reply() makes of @call's Write and Reply chunks. */
void check_reply_plan(const rpcrdma::Chunks &call, u32 length,
		      rpcrdma::Span<const rpcrdma::Range> results,
		      const rpcrdma_reply_plan &plan);

} // namespace fuzz

#endif /* _RPCRDMA_FUZZ_LAYOUT_H */
