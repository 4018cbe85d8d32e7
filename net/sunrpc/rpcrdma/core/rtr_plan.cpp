// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "rtr_plan.h"

namespace rpcrdma
{

/* What of the Payload stream is in Send @n; nothing once it has ended. */
Range GroupPlan::part(u32 n) const
{
	const u32 first = max_send_ - first_head_;
	const u32 next = max_send_ - kXmtContSize;
	const u64 from = n ? first + u64{ n - 1 } * next : 0;
	const u32 room = n ? next : first;

	if (from >= stream_)
		return { stream_, 0 };
	const u32 offset = static_cast<u32>(from);
	const u32 left = stream_ - offset;
	return { offset, left < room ? left : room };
}

GroupSend GroupPlan::send(u32 n) const
{
	const u32 h = head(n);
	const Range payload = part(n);
	GroupSend s = { h, payload, h + payload.length };
	const u32 end = data_end_ > n * targets_ ? data_end_ - n * targets_ : 0;

	if (data_begin_ == data_end_ || data_begin_ >= (n + 1) * targets_ ||
	    !end)
		return s;
	if (end > targets_)
		s.size = before_ + targets_ * target_;
	else
		s.size = before_ + (end - 1) * target_ + last_part_;
	return s;
}

ItemPiece GroupPlan::piece(const PlacedItem &item, u32 k, u32 n) const
{
	const u32 number = item.first + k - n * targets_;
	const u32 at = k * target_;
	const u32 left = item.length - at;

	return { n,
		 { before_ + number * target_,
		   left < target_ ? left : target_ },
		 at };
}

bool GroupPlan::make(const GroupContent &content, const ReceiveShape &shape,
		     u32 max_send)
{
	const Range target = shape.target(0);
	u32 sends = 0;
	u32 data = 0;

	*this = {};
	stream_ = content.stream;
	max_send_ = max_send & ~(kXdrUnit - 1);
	targets_ = shape.targets();
	before_ = target.offset;
	target_ = target.length;
	for (PlacedItem &i : content.items) {
		if (i.type != Placement::Tbsn)
			continue;
		if (!target_ || i.length > kMostTargets * u64{ target_ })
			return false;
		i.offset = 0;
		i.first = 0;
		i.numbers = static_cast<u32>((u64{ i.length } + target_ - 1) /
					     target_);
		data += i.numbers;
	}
	/* All targets can be reached, and no header is in them. */
	if (data && (data > kMostTargets || before_ < kXmtContSize ||
		     before_ + u64{ targets_ } * target_ > max_send_))
		return false;
	const Span<const PlacedItem> items(content.items.data(),
					   content.items.size());
	const u32 lists =
		items_size(items) + directions_size(content.directions);
	first_head_ = lists + (content.dir == RPCRDMA_REPLY ? kXmtRespBare :
							      kXmtReqBare);
	if (!stream_ || !xdr_aligned(stream_) ||
	    u64{ first_head_ } + kXdrUnit > max_send_ ||
	    kXmtContSize + kXdrUnit > max_send_)
		return false;
	/* Where the Payload stream ends. */
	while (part(sends).offset + part(sends).length < stream_)
		if (++sends == kMostSends)
			return false;
	count_ = sends + 1;
	if (!data || !target_ || !targets_)
		return !data;

	/* The first target behind it. */
	const u32 end = head(sends) + part(sends).length;
	const u32 behind =
		end <= before_ ? 0 : (end - before_ + target_ - 1) / target_;
	u32 next = sends * targets_ + (behind < targets_ ? behind : targets_);

	data_begin_ = next;
	for (PlacedItem &i : content.items) {
		if (i.type != Placement::Tbsn || !i.numbers)
			continue;
		i.first = next;
		next += i.numbers;
		last_part_ = i.length - (i.numbers - 1) * target_;
	}
	data_end_ = next;
	count_ = (data_end_ + targets_ - 1) / targets_;
	return count_ <= kMostSends;
}

} // namespace rpcrdma
