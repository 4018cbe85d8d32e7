/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The guests' connections, and their messages.
 */
#ifndef _RPCRDMA_CLOCK_CLOCK_H
#define _RPCRDMA_CLOCK_CLOCK_H

#include "device.h"
#include "schedule.h"
#include "wire.h"

#include <cstdio>
#include <memory>
#include <optional>
#include <vector>

struct um_timetravel_msg;

namespace ttclock
{

struct Options {
	u32 guests = 2;
	std::string directory; /* of the sockets */
	Time latency = 20000;
	u64 bandwidth = 0; /* bits a second, zero: no limit */
	u16 mtu = 9000;
	u32 stall = 300; /* seconds */
	Time limit = kForever; /* when to end at the latest */
	/* The time of day at which the guests begin, since the epoch. */
	Time start = Time(1767225600) * 1000000000;
	/* A guest that has nothing to wait for shows up after this time. */
	Time slice = 10000000;
	std::string trace;
	/* When all of these exist, the guests have done what they had to. */
	std::vector<std::string> done;
};

class Clock : private Device::Line {
public:
	explicit Clock(const Options &options);

	/* Until all guests have ended. */
	void run();

	[[nodiscard]] Time now() const
	{
		return schedule_.now();
	}

private:
	struct Guest {
		Guest(u32 number, const Options &options, Line &line);

		Listener listener; /* of the device */
		Device device;
		File time;
		File net;
		u32 start_sequence = 0;
		bool begun = false; /* START has been answered */
	};

	static std::vector<std::unique_ptr<Guest>>
	make_guests(const Options &options, Line &line);

	/* Wait until one of @fds can be read: its index. */
	std::size_t await(const std::vector<int> &fds);
	void attend();
	void told();
	[[nodiscard]] bool done() const;

	void start(std::size_t newcomer);
	void time_message(u32 guest);
	void answer(u32 guest, const um_timetravel_msg &m);
	void net_message(u32 guest);
	void gone(u32 guest);

	void run_guest(const Schedule::Step &step);
	void tell(u32 guest, u32 op, Time time);
	void free_until(u32 guest, Time time);
	void deliver();
	void interrupt(u32 guest, u32 queue);

	void transmit(u32 guest, Frame frame) override;
	void look(u32 guest) override;
	void received(u32 guest, const Frame &frame) override;
	void dropped(u32 guest, const Frame &frame) override;

	[[gnu::format(printf, 3, 4)]] void trace(u32 guest, const char *format,
						 ...);

	/* What is being done, to name the guest if it fails. */
	template <typename F> void for_guest(u32 guest, F f);

	Options options_;
	Schedule schedule_;
	Wire wire_;
	File signals_;
	std::vector<std::unique_ptr<Guest>> guests_;
	Listener listener_; /* of the time; the last to be there */
	std::vector<File> newcomers_; /* who have not said who they are */
	u32 sequence_ = 0;
	std::unique_ptr<FILE, int (*)(FILE *)> trace_;
};

} /* namespace ttclock */

#endif
