// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "silence.h"

namespace rpcrdma
{

rpcrdma_silence_verdict look(rpcrdma_silence &s,
			     const rpcrdma_silence_seen &seen)
{
	const bool quiet = seen.received == s.received;
	const bool stalled = quiet && seen.kept && !seen.outstanding;

	s.received = seen.received;
	s.quiet = quiet ? s.quiet + 1 : 0;
	s.stalled = stalled ? s.stalled + 1 : 0;
	if (seen.asked)
		return s.quiet > 1 && (seen.posted || !seen.outstanding) ?
			       RPCRDMA_SILENCE_UNANSWERED :
			       RPCRDMA_SILENCE_WAIT;
	if (seen.may_ask)
		return s.quiet ? RPCRDMA_SILENCE_ASK : RPCRDMA_SILENCE_WAIT;
	/* Since the look before, at least. */
	return s.stalled > 1 ? RPCRDMA_SILENCE_NO_CREDIT : RPCRDMA_SILENCE_WAIT;
}

} // namespace rpcrdma
