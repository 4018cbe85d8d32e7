/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Which guest runs, and until when.
 *
 * At most one guest runs at a time. All others wait, each for the time of its last
 * request. The guest with the earliest request runs next; if several have the same time,
 * the guest with the lowest number. No guest runs before all have connected.
 */
#ifndef _RPCRDMA_CLOCK_SCHEDULE_H
#define _RPCRDMA_CLOCK_SCHEDULE_H

#include "base.h"

#include <optional>
#include <vector>

namespace ttclock
{

class Schedule {
public:
	/* What has to be done when no guest runs. */
	struct Step {
		enum class Kind : u8 {
			Gather, /* some guest has not come yet */
			Event, /* the earliest event is due */
			Run,
			Forever, /* nothing will ever happen */
			Ended, /* all guests have */
		};

		Kind kind = Kind::Gather;
		Time time = 0;
		u32 guest = 0; /* Run */
		Time free_until = 0; /* Run: more than @time, or zero */
	};

	/* A guest comes back after @slice even if nothing else is due. */
	Schedule(u32 guests, Time slice)
		: slice_(slice)
		, guests_(guests)
	{
	}

	/* What guests tell. They throw a Failure if it makes no sense. */
	void start(u32 guest);
	void request(u32 guest, Time time);
	void wait(u32 guest);
	void update(u32 guest, Time time);
	void end(u32 guest);

	/* @event is when the earliest event is due. The Step has been made. */
	Step next(Time event);

	/*
	 * An event that is due at @event has been added while a guest runs. Until
	 * when it may run freely now, if that is less than it has been told.
	 */
	std::optional<Time> shorten(Time event);

	[[nodiscard]] Time now() const
	{
		return now_;
	}
	[[nodiscard]] std::optional<u32> running() const
	{
		return running_;
	}
	[[nodiscard]] bool came(u32 guest) const
	{
		return guests_.at(guest).state != State::Absent;
	}
	/* What a guest that waits has requested. */
	[[nodiscard]] Time requested(u32 guest) const
	{
		return guests_.at(guest).request.value_or(kForever);
	}
	/* "absent", "waits", "runs", "ended" */
	[[nodiscard]] const char *state(u32 guest) const;

private:
	enum class State : u8 { Absent, Waiting, Running, Ended };

	struct Guest {
		State state = State::Absent;
		std::optional<Time> request;
	};

	[[nodiscard]] std::optional<u32> earliest() const;

	Time slice_;
	Time now_ = 0;
	Time free_until_ = 0;
	std::optional<u32> running_;
	std::vector<Guest> guests_;
};

} /* namespace ttclock */

#endif
