/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Flow control of version 1 (RFC 8166, section 3.3): the Calls that one side
 * makes.
 *
 * The peer's Replies say how many Calls may be outstanding; before the first
 * one, a single Call may. A Reply needs no credit: it takes a Receive that is
 * posted for it since its Call was sent. So Calls are bounded twice, by what the
 * peer grants and by this side's own Receives. The second bound is the one that a
 * Call keeps using up when the upper layer has abandoned it, since its Reply can
 * still come; its credit it gives back at once. XIDs tell which is which, so that
 * nothing is given back twice, whatever the peer sends.
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
		const u32 room = left(receives < kMax ? receives : kMax,
				      waiting_ + abandoned_);
		const u32 credits = left(granted_, waiting_);

		return credits < room ? credits : room;
	}

	/* A Call is being posted; available() was not zero. */
	constexpr void sent(u32 xid)
	{
		if (waiting_ + abandoned_ == kMax)
			return;
		/* Abandoned ones are behind the others. */
		xids_[waiting_ + abandoned_] = xids_[waiting_];
		xids_[waiting_++] = xid;
	}

	/* A Reply or an error has come. Return: false if to no Call of these. */
	constexpr bool answered(u32 xid)
	{
		/* From those that wait first: an old one may have the same XID. */
		abandon(xid);
		for (u32 i = waiting_; i < waiting_ + abandoned_; i++) {
			if (xids_[i] != xid)
				continue;
			xids_[i] = xids_[waiting_ + --abandoned_];
			return true;
		}
		return false;
	}

	/* Nobody waits for this Call any more. Return: false if nobody did. */
	constexpr bool abandon(u32 xid)
	{
		for (u32 i = 0; i < waiting_; i++) {
			if (xids_[i] != xid)
				continue;
			xids_[i] = xids_[--waiting_];
			xids_[waiting_] = xid;
			abandoned_++;
			return true;
		}
		return false;
	}

private:
	static constexpr u32 left(u32 of, u32 used)
	{
		return of > used ? of - used : 0;
	}

	u32 granted_ = 1;
	u32 waiting_ = 0;
	u32 abandoned_ = 0;
	/* First those that somebody waits for, then the abandoned. */
	u32 xids_[kMax] = {};
};

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_REQUESTS_H */
