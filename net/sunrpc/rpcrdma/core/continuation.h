/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Message Continuation (section 6.6.2, D7): one direction of one connection.
 *
 * Payload streams are never interleaved, so at most one message is being put
 * together. Of a message that was refused, nothing more is answered: its
 * further fragments are discarded up to its last, or until another message
 * starts, so that the state stays this small whatever the peer sends.
 *
 * A peer that gives up such a message may use its XID for a new one, which the
 * numbers tell from the rest of the old: a fragment of that is as long, with what
 * is to come after it, as was to come before. A new message is longer.
 */
#ifndef _RPCRDMA_CORE_CONTINUATION_H
#define _RPCRDMA_CORE_CONTINUATION_H

#include "chunks.h"

namespace rpcrdma
{

/**
 * A fragment as its header describes it
 * @length: octets of payload in it, a positive multiple of four
 * @remaining: octets that are still to come; zero if and only if @last
 */
struct Fragment {
	u32 xid;
	u32 length;
	u32 remaining;
	bool last;
};

class Continuation {
public:
	enum class Verdict : u8 {
		Accept,
		Broken, /* the numbers do not add up */
		Interloper, /* another message is being put together */
		TooLarge,
	};

	/* A message is being put together. */
	[[nodiscard]] bool active() const
	{
		return active_;
	}
	[[nodiscard]] bool active(u32 xid) const
	{
		return active_ && xid_ == xid;
	}
	/* Octets of the message that is being put together. */
	[[nodiscard]] u32 taken() const
	{
		return total_ - left_;
	}
	/* Fragments with this XID belong to a message that was refused. */
	[[nodiscard]] bool discarding(u32 xid) const
	{
		return discarding_ && discard_xid_ == xid;
	}
	/* While discarding(): this may be the next one of that message. */
	[[nodiscard]] bool goes_on_with(const Fragment &f) const
	{
		return u64{ f.length } + f.remaining == discard_left_;
	}
	/* Octets of the message being put together that are to come. */
	[[nodiscard]] u32 left() const
	{
		return active_ ? left_ : 0;
	}

	/**
	 * Take in a fragment.
	 *
	 * @max: largest Payload stream, in octets
	 * @place: if accepted, where the fragment lies in the stream
	 * @total: if accepted, octets of the whole stream
	 *
	 * Unless it accepts, nothing changes.
	 */
	[[nodiscard]] Verdict take(const Fragment &f, u32 max, Range &place,
				   u32 &total);

	/**
	 * A fragment of @xid was refused: its message is void, and if more of
	 * it is to come, that is to be discarded.
	 *
	 * @left: how many octets that is; zero if the fragment did not say
	 *
	 * Return: a message was being put together, and now is not.
	 */
	[[nodiscard]] bool refuse(u32 xid, bool last, u32 left);

	/* Fragments with this XID belong to another message from now on. */
	void expect(u32 xid)
	{
		if (discarding(xid))
			discarding_ = false;
	}

	/* A fragment for which discarding() holds was dropped. */
	void discarded(const Fragment &f)
	{
		discard_left_ = f.remaining;
		if (f.last)
			discarding_ = false;
	}

private:
	u32 xid_ = 0;
	u32 total_ = 0;
	u32 left_ = 0;
	u32 discard_xid_ = 0;
	u32 discard_left_ = 0;
	bool active_ = false;
	bool discarding_ = false;
};

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_CONTINUATION_H */
