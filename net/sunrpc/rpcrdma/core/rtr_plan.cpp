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

bool GroupPlan::make(const GroupContent &content, const Targets &targets,
		     u32 max_send)
{
	u32 sends = 0;
	u32 data = 0;

	*this = {};
	stream_ = content.stream;
	max_send_ = whole_words(max_send);
	targets_ = targets.count;
	before_ = targets.before;
	target_ = targets.size;
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
	Range last = part(sends);
	while (last.offset + last.length < stream_) {
		if (++sends == kMostSends)
			return false;
		last = part(sends);
	}
	if (!data || !target_ || !targets_) {
		count_ = data ? 0 : sends + 1;
		return !data;
	}

	/* The first target behind it. */
	const u32 end = head(sends) + last.length;
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
	sends = (data_end_ + targets_ - 1) / targets_;
	if (sends > kMostSends)
		return false;
	count_ = sends;
	return true;
}

} // namespace rpcrdma
