/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Control messages that wait for a credit: RDMA2_ERROR (section 7), and those of
 * extensions. They leave in the order in which they came.
 */
#ifndef _RPCRDMA_CORE_CONTROL_H
#define _RPCRDMA_CORE_CONTROL_H

#include "wire.h"

namespace rpcrdma
{

/* Enough for the body of an ERROR; what more a type has to say is in its state. */
inline constexpr u32 kControlWords = 3;

/**
 * A control message to be sent
 * @xid: rdma_xid, host order
 * @vers: version of its header
 * @type: its index
 * @words: what its encoder needs; of an ERROR the code and the arm of it
 */
struct ControlMessage {
	Xid xid;
	u32 vers;
	u32 type;
	u32 words[kControlWords];
};

/* An answer to the message with this XID and this version. */
[[nodiscard]] constexpr ControlMessage error_message(Xid xid, u32 vers,
						     const ErrorBody &body)
{
	return { xid,
		 vers,
		 RPCRDMA2_ERROR,
		 { body.code, body.arg[0], body.arg[1] } };
}

class ControlQueue {
public:
	[[nodiscard]] u32 size() const
	{
		return count_;
	}
	[[nodiscard]] bool empty() const
	{
		return !count_;
	}
	[[nodiscard]] const ControlMessage &front() const
	{
		return ring_[head_];
	}
	void pop()
	{
		head_ = (head_ + 1) % RPCRDMA_MAX_CONTROL;
		count_--;
	}
	void clear()
	{
		count_ = 0;
	}
	/* Return: false if there is no room. */
	[[nodiscard]] bool push(const ControlMessage &m)
	{
		if (count_ == RPCRDMA_MAX_CONTROL)
			return false;
		at(count_++) = m;
		return true;
	}
	/* What is no ERROR is not to be sent any more. */
	void keep_errors()
	{
		u32 kept = 0;

		for (u32 i = 0; i < count_; i++)
			if (at(i).type == RPCRDMA2_ERROR)
				at(kept++) = at(i);
		count_ = kept;
	}

	/* What holds between two events. */
	[[nodiscard]] bool invariants() const
	{
		return count_ <= RPCRDMA_MAX_CONTROL &&
		       head_ < RPCRDMA_MAX_CONTROL;
	}

private:
	/* Counted from the first to leave. */
	[[nodiscard]] ControlMessage &at(u32 i)
	{
		return ring_[(head_ + i) % RPCRDMA_MAX_CONTROL];
	}

	ControlMessage ring_[RPCRDMA_MAX_CONTROL] = {};
	u32 head_ = 0;
	u32 count_ = 0;
};

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_CONTROL_H */
