// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "wire.h"

#include <algorithm>

namespace ttclock
{

namespace
{

/* Destination, source and type. */
constexpr std::size_t kEthernetHeader = 14;

constexpr u64 kSecond = 1000000000;

} /* namespace */

void Wire::send(u32 from, Time now, Frame frame)
{
	if (frame.size() < kEthernetHeader)
		refuse("sends a frame of " + std::to_string(frame.size()) +
		       " octets");

	Time &busy_until = busy_until_.at(from);

	busy_until = std::max(busy_until, now);
	if (bandwidth_)
		busy_until += (frame.size() * 8 * kSecond + bandwidth_ - 1) /
			      bandwidth_;

	const Time arrival = busy_until + latency_;
	const u32 ports = static_cast<u32>(busy_until_.size());
	Address to, source;

	std::copy_n(frame.begin(), to.size(), to.begin());
	std::copy_n(frame.begin() + to.size(), source.size(), source.begin());
	seen_[source] = from;

	/* The lowest bit of the first byte means a group. */
	const auto port = to[0] & 1 ? seen_.end() : seen_.find(to);
	const auto shared = std::make_shared<const Frame>(std::move(frame));

	for (u32 i = 0; i < ports; i++)
		if (i != from && (port == seen_.end() || port->second == i))
			events_.emplace(arrival, Event{ i, shared });
	/* The sender is told then that it is gone. */
	look(from, arrival);
}

void Wire::look(u32 guest, Time time)
{
	const auto [begin, end] = events_.equal_range(time);

	for (auto i = begin; i != end; ++i)
		if (i->second.guest == guest && !i->second.frame)
			return;
	events_.emplace(time, Event{ guest, nullptr });
}

Time Wire::due() const
{
	return events_.empty() ? kForever : events_.begin()->first;
}

std::vector<Event> Wire::take(Time now)
{
	const auto end = events_.upper_bound(now);
	std::vector<Event> taken;

	for (auto i = events_.begin(); i != end; ++i)
		taken.push_back(std::move(i->second));
	events_.erase(events_.begin(), end);
	return taken;
}

u64 hash(const Frame &frame)
{
	u64 h = 0xcbf29ce484222325;

	for (u8 octet : frame)
		h = (h ^ octet) * 0x100000001b3;
	return h;
}

} /* namespace ttclock */
