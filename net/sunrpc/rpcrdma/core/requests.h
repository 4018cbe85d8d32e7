/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Flow control of version 1 (RFC 8166, section 3.3): the Calls that one side
 * makes.
 *
 * The peer's Replies say how many Calls may be outstanding; before the first
 * Reply, one Call may. A Reply needs no credit: a Receive has been posted for it
 * since its Call was sent. So two numbers bound Calls: the peer's grant and this
 * side's own Receives. Both bounds count a Call that the upper layer has given up
 * until it is answered: it may still occupy a Receive of the peer.
 * Answers are matched by XID, so no credit is given back twice, whatever the peer
 * sends.
 */
#ifndef _RPCRDMA_CORE_REQUESTS_H
#define _RPCRDMA_CORE_REQUESTS_H

#include "xid.h"

namespace rpcrdma
{

class Requests {
public:
	/* Calls that may be outstanding at most. */
	static constexpr u32 kMax = 256;

	/* The credit word of a Reply; zero would be a deadlock. */
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
	constexpr void sent(Xid xid)
	{
		if (outstanding_ < kMax)
			xids_[outstanding_++] = xid;
	}

	/* A Reply or an error has come. Return: false if it belongs to none of these Calls. */
	constexpr bool answered(Xid xid)
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
	Xid xids_[kMax] = {};
};

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_REQUESTS_H */
