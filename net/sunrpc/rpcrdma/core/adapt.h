/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * When to ask the peer for larger Receives, and when for smaller ones.
 *
 * A message that is larger than the peer's Receives goes in parts, of which each costs a
 * Send, a Receive and a credit. Larger Receives cost memory as long as the connection
 * lives, busy or idle. So a connection begins with small ones, grows when a good part of
 * its messages would go in fewer parts, and shrinks again when it is idle.
 *
 * A side must not make its own Receives smaller on its own account (xcharext, 3.1). When
 * its memory is short it asks its peer to send less at once, since it may size its
 * Receives by that (5.2.1). Its own Sends it makes small at once. What becomes free by
 * that would be used up again at once, by all connections: so memory counts as short for
 * some seconds more, and for twice as long each time that it is short again soon.
 *
 * This only advises, by numbers that its caller has counted or measured: it reads no clock
 * and sends nothing.
 */
#ifndef _RPCRDMA_CORE_ADAPT_H
#define _RPCRDMA_CORE_ADAPT_H

#include <rpcrdma/core.h>

namespace rpcrdma
{

/**
 * What a connection has counted, and what holds. Counts are since its beginning,
 * modulo 2^32; sizes are in octets.
 * @messages: RPC messages sent by this side
 * @continued: of these, those that went in several parts
 * @parts: Sends of @continued
 * @idle: milliseconds since there was the last message of either direction, but for those
 *	few that only keep a connection alive
 * @peer_receive: the peer's Receive Buffer Size
 * @peer_send: the peer's Maximum Send Size
 * @local_receive: this side's Receive Buffer Size
 * @local_send: the largest that this side's Maximum Send Size can be
 * @receives: Receives of this side
 * @budget: what they may take together
 * @now: milliseconds since any moment, modulo 2^32
 * @scarce: memory is short, whatever it is for
 * @asked_receive: the peer has been asked for other Receives, and that is not over
 * @asked_send: likewise for other Sends; or it cannot be asked for these any more
 */
struct AdaptInput {
	u32 messages = 0;
	u32 continued = 0;
	u32 parts = 0;
	u32 idle = 0;
	u32 peer_receive = 0;
	u32 peer_send = 0;
	u32 local_receive = 0;
	u32 local_send = 0;
	u32 receives = 0;
	u64 budget = 0;
	u32 now = 0;
	bool scarce = false;
	bool asked_receive = false;
	bool asked_send = false;
};

/**
 * What to do, zero for nothing
 * @peer_receive: ask the peer for Receives of this size
 * @peer_send: ask the peer to send no more than this at once. If that is more than now,
 *	first have Receives of that size.
 * @local_receive: never zero: what the peer may ask for of this side's Receives, at most
 * @small_sends: until further advice, this side's Sends are to be as they were at first
 */
struct AdaptAdvice {
	u32 peer_receive = 0;
	u32 peer_send = 0;
	u32 local_receive = 0;
	bool small_sends = false;

	bool operator==(const AdaptAdvice &) const = default;
};

class Adapt {
public:
	/* Messages that show something. */
	static constexpr u32 kEnough = 32;
	/* Of these, one in so many has to go in parts. */
	static constexpr u32 kShare = 4;
	static constexpr u32 kIdle = 60000; /* milliseconds */
	/* Sizes are multiples of this. */
	static constexpr u32 kStep = 1024;
	/* A peer that rejects is asked again after twice as long, up to this many times. */
	static constexpr u32 kMostDoublings = 6;
	/* Milliseconds until memory that was short counts as there again, the first time. */
	static constexpr u32 kCalm = 4000;

	/**
	 * @least: Receives of the peer at the beginning; at least one kStep
	 * @own_least: the smallest that this side's Receives are
	 * @most: the largest worth having
	 */
	constexpr Adapt(u32 least, u32 own_least, u32 most)
		: least_(least)
		, own_least_(own_least)
		, most_(most)
	{
	}

	/*
	 * To be asked now and then. What was counted up to the last advice that asked for other
	 * Receives is not counted again.
	 */
	[[nodiscard]] constexpr AdaptAdvice advise(const AdaptInput &in)
	{
		AdaptAdvice a;

		look_at_memory(in);
		a.local_receive = affordable(in);
		if (!in.asked_send)
			a.peer_send = sends(in, a.local_receive);
		a.small_sends = scarce_;
		if (in.asked_receive)
			return a;
		a.peer_receive =
			in.idle >= kIdle ? when_idle(in) : when_busy(in);
		if (a.peer_receive)
			from_now(in);
		return a;
	}

	/* The peer does not want to have larger Receives. */
	constexpr void rejected()
	{
		if (doublings_ < kMostDoublings)
			doublings_++;
	}

	/* It has what it was asked for. */
	constexpr void accepted()
	{
		doublings_ = 0;
	}

private:
	/* What this side's Receives may be, by the memory that there is. */
	[[nodiscard]] constexpr u32 affordable(const AdaptInput &in) const
	{
		const u64 budget = scarce_ ? 0 : in.budget;
		const u64 each = in.receives ? budget / in.receives : budget;

		if (each >= most_)
			return most_;
		const u32 size = static_cast<u32>(each) / kStep * kStep;
		return size < own_least_ ? own_least_ : size;
	}

	/* Memory is short; or it is there again, for twice as much, so as not to sway. */
	[[nodiscard]] constexpr u32 sends(const AdaptInput &in, u32 affordable)
	{
		if (affordable < in.peer_send &&
		    affordable < in.local_receive) {
			if (before_ < in.peer_send)
				before_ = in.peer_send;
			return affordable;
		}
		if (!before_ || affordable / 2 < in.peer_send)
			return 0;
		const u32 size =
			lesser(lesser(before_, affordable), in.local_receive);
		if (affordable >= before_)
			before_ = 0;
		return size > in.peer_send ? size : 0;
	}

	/*
	 * Is it short, or was it until a moment ago? What was sent before says nothing of how
	 * it is after that.
	 */
	constexpr void look_at_memory(const AdaptInput &in)
	{
		const u32 passed = in.now - short_at_;

		if (in.scarce) {
			if (!scarce_ && passed >= kCalm << (kMostDoublings + 1))
				shortages_ = 0;
			if (!scarce_ && shortages_ <= kMostDoublings)
				shortages_++;
			scarce_ = true;
			short_at_ = in.now;
			from_now(in);
		} else if (scarce_ && passed >= kCalm << (shortages_ - 1)) {
			scarce_ = false;
		}
	}

	[[nodiscard]] constexpr bool enough(const AdaptInput &in) const
	{
		return (in.messages - messages_) >> doublings_ >= kEnough;
	}

	[[nodiscard]] constexpr u32 when_idle(const AdaptInput &in) const
	{
		return in.peer_receive > least_ ? least_ : 0;
	}

	/* What went in parts of another size says nothing of this one. */
	constexpr void forget_other_size(const AdaptInput &in)
	{
		if (part_ && part_ != in.peer_receive)
			from_now(in);
		part_ = in.peer_receive;
	}

	[[nodiscard]] constexpr u32 when_busy(const AdaptInput &in)
	{
		forget_other_size(in);
		const u32 messages = in.messages - messages_;
		const u32 continued = in.continued - continued_;
		const u32 parts = in.parts - parts_;
		const u32 most = lesser(most_, in.local_send);

		if (scarce_ || !enough(in))
			return 0;
		if (continued < messages / kShare || in.peer_receive >= most) {
			from_now(in);
			return 0;
		}
		/* Each part but the last was as large as a Receive. */
		const u64 mean = u64{ parts } * in.peer_receive / continued;
		u32 size = kStep;
		while (size < mean && size < most)
			size *= 2;
		if (size > most)
			size = most / kStep * kStep;
		return size > in.peer_receive ? size : 0;
	}

	static constexpr u32 lesser(u32 a, u32 b)
	{
		return a < b ? a : b;
	}

	constexpr void from_now(const AdaptInput &in)
	{
		messages_ = in.messages;
		continued_ = in.continued;
		parts_ = in.parts;
	}

	u32 least_;
	u32 own_least_;
	u32 most_;
	u32 messages_ = 0;
	u32 continued_ = 0;
	u32 parts_ = 0;
	u32 part_ = 0; /* octets of a part, since these have been counted */
	/* The peer's Maximum Send Size before memory was short. */
	u32 before_ = 0;
	u32 short_at_ = 0; /* when memory was short */
	u8 doublings_ = 0;
	u8 shortages_ = 0; /* one soon after the other */
	bool scarce_ = false; /* memory is, or has been until a moment ago */
};

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_ADAPT_H */
