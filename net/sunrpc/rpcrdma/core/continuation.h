/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Message Continuation (section 6.6.2, D7): one direction of one connection.
 *
 * Payload streams are never interleaved, so at most one message is being put
 * together. After a message was refused, its further fragments are discarded without
 * an answer, up to its last, or until another message starts. So the state stays
 * this small whatever the peer sends.
 *
 * A peer that gives up such a message may use its XID for a new one. The lengths
 * distinguish them: for a fragment of the old message, its length plus @remaining is
 * exactly what was left before. A new message is longer.
 */
#ifndef _RPCRDMA_CORE_CONTINUATION_H
#define _RPCRDMA_CORE_CONTINUATION_H

#include "chunks.h"
#include "xdr.h"
#include "xid.h"

namespace rpcrdma
{

/**
 * A fragment as its header describes it
 * @length: bytes of payload in it, a positive multiple of four
 * @remaining: bytes that are still to come; zero if and only if @last
 */
struct Fragment {
	Xid xid;
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
	[[nodiscard]] bool active(Xid xid) const
	{
		return active_ && xid_ == xid;
	}
	/* That, or one is discarded. */
	[[nodiscard]] bool busy() const
	{
		return active_ || discarding_;
	}
	/* Bytes received of the message that is being put together. */
	[[nodiscard]] u32 taken() const
	{
		return total_ - left_;
	}
	/* Fragments with this XID belong to a message that was refused. */
	[[nodiscard]] bool discarding(Xid xid) const
	{
		return discarding_ && discard_xid_ == xid;
	}
	/* While discarding(): @f may be the next fragment of that message. */
	[[nodiscard]] bool goes_on_with(const Fragment &f) const
	{
		return u64{ f.length } + f.remaining == discard_left_;
	}
	/* Bytes still to come of the message that is being put together. */
	[[nodiscard]] u32 left() const
	{
		return active_ ? left_ : 0;
	}

	/**
	 * Take a fragment.
	 *
	 * @max: largest Payload stream, in bytes
	 * @place: if accepted, where the fragment lies in the stream
	 * @total: if accepted, bytes of the whole stream
	 *
	 * If the fragment is not accepted, nothing changes.
	 */
	[[nodiscard]] Verdict take(const Fragment &f, u32 max, Range &place,
				   u32 &total);

	/**
	 * A fragment of @xid was refused: its message is void, and the rest of the
	 * message will be discarded.
	 *
	 * @left: bytes of the rest; zero if the fragment did not say
	 *
	 * Return: true if a message was being put together, and now is not.
	 */
	[[nodiscard]] bool refuse(Xid xid, bool last, u32 left);

	/* Fragments with this XID belong to another message from now on. */
	void expect(Xid xid)
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

	/*
	 * What holds between two events: of a message that is being put together something is
	 * there, and something is to come.
	 */
	[[nodiscard]] bool invariants() const
	{
		return !active_ ||
		       (left_ && left_ < total_ && xdr_aligned(left_));
	}

private:
	Xid xid_ = {};
	u32 total_ = 0;
	u32 left_ = 0;
	Xid discard_xid_ = {};
	u32 discard_left_ = 0;
	bool active_ = false;
	bool discarding_ = false;
};

inline Continuation::Verdict Continuation::take(const Fragment &f, u32 max,
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

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_CONTINUATION_H */
