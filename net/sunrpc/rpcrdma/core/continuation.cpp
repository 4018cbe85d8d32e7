// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "continuation.h"
#include "xdr.h"

namespace rpcrdma
{

Continuation::Verdict Continuation::take(const Fragment &f, u32 max,
					 Range &place, u32 &total)
{
	if (active_ && f.xid != xid_)
		return Verdict::Interloper;
	/* A MIDDLE that leaves less than a word to its INLINE. */
	if (f.last != !f.remaining || !xdr_aligned(f.remaining))
		return Verdict::Broken;

	if (!active_) {
		const u64 sum = u64{ f.length } + f.remaining;

		if (sum > max)
			return Verdict::TooLarge;
		xid_ = f.xid;
		total_ = left_ = static_cast<u32>(sum);
		discarding_ = false;
	} else if (u64{ f.length } + f.remaining != left_) {
		return Verdict::Broken;
	}
	place = { total_ - left_, f.length };
	total = total_;
	left_ = f.remaining;
	active_ = !f.last;
	return Verdict::Accept;
}

bool Continuation::refuse(u32 xid, bool last, u32 left)
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
