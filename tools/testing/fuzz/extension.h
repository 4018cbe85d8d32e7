/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Extensions, as the caller of a session sees them. Only the build with some has this
 * (../extension/fuzz_ping.cpp, ../extension/fuzz_xcharext.cpp).
 */
#ifndef _RPCRDMA_FUZZ_EXTENSION_H
#define _RPCRDMA_FUZZ_EXTENSION_H

#include "fuzz.h"

#include <rpcrdma/core.h>

#include <vector>

namespace fuzz
{

class Extension {
public:
	/* Do something. Return: true if there is something to send. */
	bool act(rpcrdma_session &s, Choices &in);
	/*
	 * What it has taken is what came. @in_use: before that, a bit each by place. Return:
	 * this side's properties may have changed.
	 */
	bool received(const rpcrdma_rx &rx, rpcrdma::Bytes message, u32 in_use);
	/* It may send that now. */
	void sent(const rpcrdma_tx &tx, rpcrdma::Bytes message, u32 in_use);

private:
	void check_ping(const rpcrdma_rx &rx, rpcrdma::Bytes message,
			u32 in_use);
	static bool change(rpcrdma_session &s, Choices &in);
	struct Owed {
		u32 xid;
		u32 number;
	};

	std::vector<Owed> owed_; /* answers, in order */
	u32 asked_ = 0; /* sent or about to be, and not answered */
};

} // namespace fuzz

#endif /* _RPCRDMA_FUZZ_EXTENSION_H */
