/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * RDMA2_ERROR messages that wait for a credit (section 7).
 */
#ifndef _RPCRDMA_CORE_ERRORS_H
#define _RPCRDMA_CORE_ERRORS_H

#include "wire.h"

namespace rpcrdma
{

/* An answer to the message with this XID and this version. */
struct PendingError {
	u32 xid;
	u32 vers;
	ErrorBody body;
};

class ErrorQueue {
public:
	[[nodiscard]] u32 size() const
	{
		return count_;
	}
	[[nodiscard]] bool empty() const
	{
		return !count_;
	}
	[[nodiscard]] const PendingError &front() const
	{
		return ring_[head_];
	}
	void pop()
	{
		head_ = (head_ + 1) % RPCRDMA_MAX_ERRORS;
		count_--;
	}
	/* Return: false if there is no room. */
	[[nodiscard]] bool push(const PendingError &e)
	{
		if (count_ == RPCRDMA_MAX_ERRORS)
			return false;
		ring_[(head_ + count_) % RPCRDMA_MAX_ERRORS] = e;
		count_++;
		return true;
	}

private:
	PendingError ring_[RPCRDMA_MAX_ERRORS] = {};
	u32 head_ = 0;
	u32 count_ = 0;
};

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_ERRORS_H */
