// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "continuation.h"

namespace rpcrdma
{

bool Continuation::refuse(Xid xid, bool last, u32 left)
{
	const bool aborted = active(xid);

	if (aborted)
		active_ = false;
	if (!last) {
		discarding_ = true;
		discard_xid_ = xid;
		discard_left_ = left;
	}
	return aborted;
}

} // namespace rpcrdma
