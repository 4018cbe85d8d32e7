// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "schedule.h"

#include <algorithm>

namespace ttclock
{

void Schedule::start(u32 guest)
{
	Guest &g = guests_.at(guest);

	if (g.state != State::Absent)
		refuse("starts twice");
	g.state = State::Waiting;
	g.request = 0;
}

void Schedule::request(u32 guest, Time time)
{
	Guest &g = guests_.at(guest);

	if (g.state != State::Waiting && g.state != State::Running)
		refuse("requests time before it has started");
	if (time < now_)
		refuse("requests " + std::to_string(time) + ", which is past");
	g.request = std::min(time, kForever);
}

void Schedule::wait(u32 guest)
{
	Guest &g = guests_.at(guest);

	if (g.state != State::Running)
		refuse("waits without running");
	if (!g.request)
		refuse("waits for nothing");
	g.state = State::Waiting;
	running_.reset();
}

void Schedule::update(u32 guest, Time time)
{
	if (running_ != guest)
		refuse("updates the time without running");
	/* What is due at a time comes before everything that is later. */
	if (time < now_ || (time != now_ && time >= free_until_))
		refuse("updates the time to " + std::to_string(time) +
		       ", but may run until " + std::to_string(free_until_));
	now_ = time;
}

void Schedule::end(u32 guest)
{
	Guest &g = guests_.at(guest);

	if (running_ == guest)
		running_.reset();
	g.state = State::Ended;
	g.request.reset();
}

std::optional<u32> Schedule::earliest() const
{
	std::optional<u32> found;

	for (u32 i = 0; i < guests_.size(); i++)
		if (guests_[i].state == State::Waiting &&
		    (!found || *guests_[i].request < *guests_[*found].request))
			found = i;
	return found;
}

Schedule::Step Schedule::next(Time event)
{
	Step step;

	for (const Guest &g : guests_)
		if (g.state == State::Absent)
			return step;

	const std::optional<u32> guest = earliest();

	step.time = now_;
	if (!guest) {
		step.kind = Step::Kind::Ended;
		return step;
	}

	const Time request = requested(*guest);

	if (event >= kForever && request >= kForever) {
		step.kind = Step::Kind::Forever;
		return step;
	}
	now_ = step.time = std::max(now_, std::min(event, request));
	if (event <= request) {
		step.kind = Step::Kind::Event;
		return step;
	}
	step.kind = Step::Kind::Run;
	step.guest = *guest;
	running_ = *guest;
	guests_[*guest].state = State::Running;
	guests_[*guest].request.reset();
	free_until_ = std::min(event, now_ + slice_);
	if (const std::optional<u32> other = earliest())
		free_until_ = std::min(free_until_, requested(*other));
	if (free_until_ > now_)
		step.free_until = free_until_;
	return step;
}

std::optional<Time> Schedule::shorten(Time event)
{
	if (!running_ || event >= free_until_)
		return {};
	free_until_ = event;
	return event;
}

const char *Schedule::state(u32 guest) const
{
	switch (guests_.at(guest).state) {
	case State::Absent:
		return "absent";
	case State::Waiting:
		return "waits";
	case State::Running:
		return "runs";
	case State::Ended:
		return "ended";
	}
	return "?";
}

} /* namespace ttclock */
