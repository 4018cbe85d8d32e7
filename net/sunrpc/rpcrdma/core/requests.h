/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Flow control of version 1 (RFC 8166, section 3.3): the Calls that one side
 * makes.
 *
 * The peer's Replies say how many Calls may be outstanding; before the first
 * one, a single Call may. A Reply needs no credit: it takes a Receive that is
 * posted for it since its Call was sent. So Calls are bounded twice, by what the
 * peer grants and by this side's own Receives. Both bounds count a Call that the
 * upper layer has given up for as long as it is not answered: the peer may still
 * hold the Receive that it came in. XIDs tell what is answered, so that nothing
 * is given back twice, whatever the peer sends.
 */
#ifndef _RPCRDMA_CORE_REQUESTS_H
#define _RPCRDMA_CORE_REQUESTS_H

#include <rpcrdma/core.h>

namespace rpcrdma
{

class Requests {
public:
	/* Calls that may be outstanding at all. */
	static constexpr u32 kMax = 256;

	/* The credit word of a Reply; none at all would be a deadlock. */
	constexpr void grant(u32 credits)
	{
		granted_ = credits ? credits : 1;
	}

	/* Calls that may be sent now, with @receives posted for Replies. */
	[[nodiscard]] constexpr u32 available(u32 receives) const
	{
		const u32 most = lesser(granted_, lesser(receives, kMax));

		return most > outstanding_ ? most - outstanding_ : 0;
	}

	/* A Call is being posted; available() was not zero. */
	constexpr void sent(u32 xid)
	{
		if (outstanding_ < kMax)
			xids_[outstanding_++] = xid;
	}

	/* A Reply or an error has come. Return: false if to no Call of these. */
	constexpr bool answered(u32 xid)
	{
		for (u32 i = 0; i < outstanding_; i++) {
			if (xids_[i] != xid)
				continue;
			xids_[i] = xids_[--outstanding_];
			return true;
		}
		return false;
	}

private:
	static constexpr u32 lesser(u32 a, u32 b)
	{
		return a < b ? a : b;
	}

	u32 granted_ = 1;
	u32 outstanding_ = 0;
	u32 xids_[kMax] = {};
};

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_REQUESTS_H */
