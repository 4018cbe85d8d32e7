/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * How an RPC message is divided into the Sends of a group (rtrext, sections 4.2 and 7.2).
 *
 * The Payload stream comes first: each Send but the last that has some of it is full. Items
 * to be placed follow, each from the beginning of a buffer segment of the peer's on, in the
 * first segment that is free and in those after it. What lies between is padding.
 */
#ifndef _RPCRDMA_CORE_RTR_PLAN_H
#define _RPCRDMA_CORE_RTR_PLAN_H

#include "rtr_place.h"

namespace rpcrdma
{

/**
 * What is to be sent
 * @dir: of the message
 * @stream: octets of the Payload stream, a multiple of four and not zero
 * @items: in order; where those of Tbsn go plan_group() fills in
 * @directions: of a Call
 */
struct GroupContent {
	rpcrdma_dir dir = RPCRDMA_CALL;
	u32 stream = 0;
	Span<PlacedItem> items;
	Span<const DirectionRange> directions;
};

/* One Send: its header, payload behind it, and up to which octet it goes. */
struct GroupSend {
	u32 head = 0;
	Range payload = {}; /* of the Payload stream */
	u32 size = 0;
};

class GroupPlan {
public:
	/**
	 * @content: what is to be sent
	 * @targets: of the peer's Receives
	 * @max_send: octets of a Send
	 *
	 * Return: false if it cannot go so: the header is too large, there are more than
	 * kMostSends, or no targets for an item that wants some. Then count() is zero.
	 */
	[[nodiscard]] bool make(const GroupContent &content,
				const Targets &targets, u32 max_send);
	/*
	 * It has been made of a message that is as long and would be made the same now. Its
	 * items and directions do not change.
	 */
	[[nodiscard]] bool holds(u32 stream, const Targets &targets,
				 u32 max_send) const
	{
		return count_ && stream_ == stream &&
		       targets_ == targets.count && before_ == targets.before &&
		       target_ == targets.size &&
		       max_send_ == whole_words(max_send);
	}

	[[nodiscard]] u32 count() const
	{
		return count_;
	}
	/* All of the Payload stream is in the first Send, and ends at octet @most of it. */
	[[nodiscard]] bool stream_is_in_first(u32 most) const
	{
		const u64 end = u64{ first_head_ } + stream_;

		return end <= max_send_ && end <= most;
	}
	/* @n: less than count() */
	[[nodiscard]] GroupSend send(u32 n) const;

	/**
	 * Call @f(item, piece) with what of @items is in Send @n, until it returns false:
	 * octets piece.in of the Send are those of the item from piece.at on.
	 */
	template <typename F>
	[[nodiscard]] bool each_piece(Span<const PlacedItem> items, u32 n,
				      F f) const
	{
		for (u32 i = 0; i < items.size(); i++) {
			const PlacedItem &item = items[i];

			if (item.type != Placement::Tbsn)
				continue;
			/* Those of its targets that Send @n has. */
			const u32 first = n * targets_;
			u32 k = first > item.first ? first - item.first : 0;

			for (; k < item.numbers &&
			       item.first + k < first + targets_;
			     k++)
				if (!f(i, piece(item, k, n)))
					return false;
		}
		return true;
	}

private:
	[[nodiscard]] static constexpr u32 whole_words(u32 octets)
	{
		return octets & ~(kXdrUnit - 1);
	}
	/* Target @k of an item, which is in Send @n. */
	[[nodiscard, gnu::always_inline]] ItemPiece
	piece(const PlacedItem &item, u32 k, u32 n) const
	{
		const u32 target = item.first + k - n * targets_;
		const u32 at = k * target_;
		const u32 left = item.length - at;

		return { n,
			 { before_ + target * target_,
			   left < target_ ? left : target_ },
			 at };
	}
	[[nodiscard]] u32 head(u32 n) const
	{
		return n ? kXmtContSize : first_head_;
	}
	[[nodiscard]] Range part(u32 n) const;

	u32 count_ = 0;
	u32 first_head_ = 0;
	u32 stream_ = 0;
	u32 max_send_ = 0;
	u32 targets_ = 0; /* of a Receive */
	u32 before_ = 0; /* octets before them */
	u32 target_ = 0; /* octets of each */
	u32 data_begin_ = 0; /* the first target that is used */
	u32 data_end_ = 0; /* the one after the last */
	u32 last_part_ = 0; /* octets of the last target that is used */
};

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_RTR_PLAN_H */
