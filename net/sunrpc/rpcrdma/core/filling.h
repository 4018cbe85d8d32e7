/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a peer says that it has written to memory that was offered.
 */
#ifndef RPCRDMA_CORE_FILLING_H
#define RPCRDMA_CORE_FILLING_H

#include "wire.h"

namespace rpcrdma
{

/* Segments that come back: those that were offered, filled in order. */
class Filling {
public:
	/* Return: false if @returned is not @offered, or it is not its turn. */
	[[nodiscard]] bool take(const Segment &offered, const Segment &returned)
	{
		if (returned.handle != offered.handle ||
		    returned.offset != offered.offset ||
		    returned.length > offered.length ||
		    (!full_ && returned.length))
			return false;
		full_ = full_ && returned.length == offered.length;
		octets_ += returned.length;
		return true;
	}

	/* What has been written in all. */
	[[nodiscard]] u64 octets() const
	{
		return octets_;
	}

private:
	u64 octets_ = 0;
	bool full_ = true; /* every segment so far */
};

} // namespace rpcrdma

#endif /* RPCRDMA_CORE_FILLING_H */
