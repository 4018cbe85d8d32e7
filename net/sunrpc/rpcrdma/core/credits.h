/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Flow control of one connection (section 4.2.1, D1 to D3).
 *
 * Every counter counts messages, modulo 2^32, and is compared by serial
 * arithmetic. The draft adds the advertised credits to the sent messages, but they
 * must be added to the received messages (D1). With W Receives offered:
 *
 *   rdma_credit = received + (W - (received - released)) = released + W
 *
 * This never falls, so no message takes back credits of an earlier one. When a window
 * shrinks, it falls by one whenever a Receive completes and is not posted again:
 * released + 1 and W - 1, so the word stays the same. A larger window is advertised at
 * once.
 */
#ifndef _RPCRDMA_CORE_CREDITS_H
#define _RPCRDMA_CORE_CREDITS_H

#include <rpcrdma/core.h>

namespace rpcrdma
{

/**
 * How many Receives are posted together. A quarter of the window, so that most of it stays
 * open to the peer; with more than 16 the doorbell would cost each of them hardly less.
 */
[[nodiscard]] constexpr u32 receive_batch(u32 window)
{
	const u32 quarter = window / 4;

	return quarter > 16 ? 16 : quarter;
}

class Credits {
public:
	/**
	 * @window: Receives offered, one less than posted; zero, or at least
	 *	RPCRDMA_MIN_WINDOW
	 * @start: value of both counts at the beginning; zero on a real
	 *	connection, near 2^32 in tests of the wrap
	 */
	constexpr explicit Credits(u32 window, u32 start = 0)
		: window_(window)
		, sent_(start)
		, limit_(start + 1)
		, received_(start)
		, released_(start)
		, told_(start + 1)
	{
	}

	/* A message of any type but GRANT may be posted (D2). */
	[[nodiscard]] constexpr bool may_send() const
	{
		return ahead(limit_, sent_) > 0;
	}

	/* A GRANT may be posted; it may also use the one extra Receive (D3). */
	[[nodiscard]] constexpr bool may_grant() const
	{
		return ahead(limit_, sent_) >= 0;
	}

	/**
	 * The peer has been told of credit for more than half of the window. Then no
	 * GRANT is due, however many Receives are released.
	 */
	[[nodiscard]] constexpr bool ample() const
	{
		return ahead(told_, received_) > s32(window_ / 2);
	}

	/**
	 * Half of the window is used up and there is something new to tell.
	 *
	 * The new word must allow at least two messages more. If it only gave back
	 * the Receive of a GRANT, while the other Receives are held, two such peers
	 * would answer GRANT with GRANT for ever.
	 */
	[[nodiscard]] constexpr bool grant_due() const
	{
		return !ample() && ahead(credit(), told_) >= 2;
	}

	/* rdma_credit of the next message. */
	[[nodiscard]] constexpr u32 credit() const
	{
		return released_ + window_;
	}

	/*
	 * A message is being posted. It carries credit(), or it is an answer before there is a
	 * version, after which the peer may send one more.
	 */
	constexpr void sent()
	{
		sent_++;
		if (lifetime_ < kLifetimeMost)
			lifetime_++;
		if (ahead(credit(), told_) > 0)
			told_ = credit();
	}

	/* A Receive completed, whatever was in it. */
	constexpr void received()
	{
		received_++;
		if (in_use() > high_)
			high_ = in_use();
	}

	/**
	 * The message just received exceeds every credit that the peer can have
	 * received.
	 */
	[[nodiscard]] constexpr bool overrun(bool grant) const
	{
		return ahead(received_, told_) > (grant ? 1 : 0);
	}

	/**
	 * Offer @window Receives from now on. A smaller window takes effect when enough
	 * Receives have completed.
	 */
	constexpr void set_window(u32 window)
	{
		surplus_ = window < window_ ? window_ - window : 0;
		if (window > window_)
			window_ = window;
	}

	/**
	 * Do not post a completed Receive again.
	 *
	 * While the whole window is in use, the last Receive is for a GRANT. It must
	 * stay, or the peer could not give credit to waiting messages.
	 *
	 * Return: false if it is still needed; then nothing has changed.
	 */
	[[nodiscard]] constexpr bool retire()
	{
		if (!surplus_ || !in_use() || in_use() > window_)
			return false;
		surplus_--;
		window_--;
		released_++;
		return true;
	}

	/**
	 * rdma_credit of the message just received; may be less than before.
	 *
	 * The word is the sum of the messages that the peer has received and its free
	 * credits. So it is less than 2^31 - 1 ahead of the messages sent, and
	 * behind them by no more than were ever sent (section 4.2.1).
	 *
	 * Return: false if it is outside this range; then nothing has changed.
	 */
	[[nodiscard]] constexpr bool limit(u32 credit)
	{
		if (credit - sent_ > kLimitMax && sent_ - credit > lifetime_)
			return false;

		const bool less = ahead(credit, limit_) < 0;

		limit_ = credit;
		if (less)
			taken_back_++;
		if (less || available() > granted_)
			granted_ = available();
		/* The peer will allow at least one message at some time. */
		if (!granted_)
			granted_ = 1;
		return true;
	}

	/**
	 * Before a version is agreed on there is no credit word: the peer sends one
	 * message and gets one answer (section 4.3).
	 */
	constexpr void ping_pong(u32 answers)
	{
		limit_ = sent_ + answers;
		if (ahead(received_, told_) > 0)
			told_ = received_;
	}

	/**
	 * @count Receives are posted again.
	 *
	 * Return: false if fewer than @count were in use.
	 */
	[[nodiscard]] constexpr bool release(u32 count)
	{
		if (count > in_use())
			return false;
		released_ += count;
		return true;
	}

	[[nodiscard]] constexpr u32 window() const
	{
		return window_;
	}
	/* The window, or its new size while Receives are still retiring. */
	[[nodiscard]] constexpr u32 target() const
	{
		return window_ - surplus_;
	}
	[[nodiscard]] constexpr u32 sent_count() const
	{
		return sent_;
	}
	[[nodiscard]] constexpr u32 received_count() const
	{
		return received_;
	}
	/* Messages received and not released. */
	[[nodiscard]] constexpr u32 in_use() const
	{
		return received_ - released_;
	}
	[[nodiscard]] constexpr u32 high() const
	{
		return high_;
	}
	/* Messages that may be sent now. */
	[[nodiscard]] constexpr u32 available() const
	{
		return may_send() ? limit_ - sent_ : 0;
	}

	/* The most credits that the peer has allowed at one time: about its window. */
	[[nodiscard]] constexpr u32 granted() const
	{
		return granted_;
	}
	/* How often rdma_credit was less than in the message before. */
	[[nodiscard]] constexpr u32 taken_back() const
	{
		return taken_back_;
	}

	/**
	 * What holds between two events, unless the peer has overrun its credits.
	 *
	 * No more Receives are in use than are posted, and the peer was told of no more than there
	 * are: by a credit word of no more than the window, by ping_pong() of all.
	 */
	[[nodiscard]] constexpr bool invariants() const
	{
		return surplus_ <= window_ && in_use() <= window_ + 1 &&
		       high_ >= in_use() && granted_ &&
		       ahead(credit() + 1, told_) >= 0;
	}

	/* Limits are less than 2^31 - 1 ahead of the counts (section 4.2.1). */
	static constexpr u32 kLimitMax = (1U << 31) - 2;

private:
	/* More than any peer has under way, and much less than kLimitMax. */
	static constexpr u32 kLifetimeMost = 1U << 30;

	static constexpr s32 ahead(u32 a, u32 b)
	{
		return static_cast<s32>(a - b);
	}

	u32 window_; /* Receives that are or were posted, minus one */
	u32 surplus_ = 0; /* of them, not to be posted again */
	u32 sent_; /* Sends posted */
	u32 limit_; /* rdma_credit received last */
	u32 received_; /* Receives completed */
	u32 released_; /* of them, posted again */
	u32 told_; /* the largest rdma_credit sent */
	u32 high_ = 0;
	u32 granted_ = 1;
	u32 taken_back_ = 0;
	u32 lifetime_ = 0; /* Sends posted, counted up to kLifetimeMost */
};

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_CREDITS_H */
