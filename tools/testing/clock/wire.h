/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The Ethernet between the guests: a switch that loses nothing.
 *
 * A frame that is sent at T arrives at T + latency, later if the sender's line is
 * still busy. It goes to the port from which its destination has sent before, or to
 * all other ports. Frames that arrive at the same time arrive in the order of sending,
 * copies of one frame in the order of the ports.
 */
#ifndef _RPCRDMA_CLOCK_WIRE_H
#define _RPCRDMA_CLOCK_WIRE_H

#include "base.h"

#include <array>
#include <map>
#include <memory>
#include <vector>

namespace ttclock
{

using Frame = std::vector<u8>;

/* Something that is due at a guest's network device. */
struct Event {
	u32 guest = 0;
	/* That arrives; NULL: the device has to look at its queues again. */
	std::shared_ptr<const Frame> frame;
};

class Wire {
public:
	/* @bandwidth in bits a second, zero for no limit. */
	Wire(u32 ports, Time latency, u64 bandwidth)
		: latency_(latency)
		, bandwidth_(bandwidth)
		, busy_until_(ports)
	{
	}

	void send(u32 from, Time now, Frame frame);

	/* Have @guest's device look at its queues at @time. */
	void look(u32 guest, Time time);

	/* When the earliest event is due, kForever without any. */
	[[nodiscard]] Time due() const;

	/* All events that are due at @now, in their order. */
	std::vector<Event> take(Time now);

private:
	using Address = std::array<u8, 6>;

	Time latency_;
	u64 bandwidth_;
	std::vector<Time> busy_until_; /* the line of each port */
	std::map<Address, u32> seen_;
	/* Equal keys stay in the order in which they were added. */
	std::multimap<Time, Event> events_;
};

/* FNV-1a, to compare frames by. */
u64 hash(const Frame &frame);

} /* namespace ttclock */

#endif
