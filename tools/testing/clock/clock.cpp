// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "clock.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cinttypes>
#include <csignal>
#include <cstdarg>

#include <fcntl.h>
#include <linux/um_timetravel.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace ttclock
{

namespace
{

/* The guest's device asks for its interrupt to be handled. */
constexpr u32 kVringCall = 4;

struct VringCall {
	u32 index;
	u32 number;
};

File watch_signals()
{
	sigset_t set;

	sigemptyset(&set);
	for (int signal : { SIGTERM, SIGINT, SIGHUP, SIGUSR1 })
		sigaddset(&set, signal);
	if (sigprocmask(SIG_BLOCK, &set, nullptr))
		host_failed("sigprocmask");

	File file(signalfd(-1, &set, SFD_CLOEXEC));

	if (!file.open())
		host_failed("signalfd");
	return file;
}

std::string name(u32 guest)
{
	return "guest " + std::to_string(guest + 1);
}

} /* namespace */

Clock::Guest::Guest(u32 number, const Options &options, Line &line)
	: listener(options.directory + "/net." + std::to_string(number + 1))
	, device(number, options.mtu, line)
{
}

std::vector<std::unique_ptr<Clock::Guest>>
Clock::make_guests(const Options &options, Line &line)
{
	std::vector<std::unique_ptr<Guest>> guests;

	for (u32 i = 0; i < options.guests; i++)
		guests.push_back(std::make_unique<Guest>(i, options, line));
	return guests;
}

Clock::Clock(const Options &options)
	: options_(options)
	, schedule_(options.guests, options.slice)
	, wire_(options.guests, options.latency, options.bandwidth)
	, signals_(watch_signals())
	, guests_(make_guests(options, *this))
	, listener_(options.directory + "/time")
	, trace_(nullptr, &std::fclose)
{
	if (options.trace.empty())
		return;
	trace_.reset(std::fopen(options.trace.c_str(), "we"));
	if (!trace_)
		host_failed(options.trace);
}

template <typename F> void Clock::for_guest(u32 guest, F f)
{
	try {
		f();
	} catch (const Failure &failure) {
		if (failure.status() != Status::Protocol)
			throw;
		throw Failure(Status::Protocol,
			      name(guest) + " " + failure.what());
	}
}

void Clock::trace(u32 guest, const char *format, ...)
{
	va_list arguments;

	if (!trace_)
		return;
	std::fprintf(trace_.get(), "%" PRIu64 " %u ", schedule_.now(),
		     guest + 1);
	va_start(arguments, format);
	std::vfprintf(trace_.get(), format, arguments);
	va_end(arguments);
	std::fputc('\n', trace_.get());
}

bool Clock::done() const
{
	return !options_.done.empty() &&
	       std::all_of(options_.done.begin(), options_.done.end(),
			   [](const std::string &file) {
				   return access(file.c_str(), F_OK) == 0;
			   });
}

void Clock::run()
{
	for (;;) {
		if (schedule_.running()) {
			attend();
			continue;
		}
		if (done()) {
			told();
			continue;
		}

		const Schedule::Step step = schedule_.next(wire_.due());

		if (step.time > options_.limit)
			throw Failure(Status::Late, "the time is up");
		switch (step.kind) {
		case Schedule::Step::Kind::Gather:
			attend();
			break;
		case Schedule::Step::Kind::Event:
			deliver();
			break;
		case Schedule::Step::Kind::Run:
			run_guest(step);
			break;
		case Schedule::Step::Kind::Forever:
			throw Failure(Status::Forever,
				      "all guests sleep for ever");
		case Schedule::Step::Kind::Ended:
			return;
		}
	}
}

std::size_t Clock::await(const std::vector<int> &fds)
{
	std::vector<pollfd> polled = { { signals_.fd(), POLLIN, 0 } };

	for (int fd : fds)
		polled.push_back({ fd, POLLIN, 0 });
	for (;;) {
		const int n =
			poll(polled.data(), polled.size(),
			     options_.stall ?
				     static_cast<int>(options_.stall) * 1000 :
				     -1);

		if (n < 0 && errno != EINTR)
			host_failed("poll");
		if (n < 0)
			continue;
		if (n == 0) {
			const auto guest = schedule_.running();

			throw Failure(Status::Stalled,
				      guest ? name(*guest) +
						      " has not come back" :
					      "not all guests have come");
		}
		if (polled[0].revents) {
			told();
			continue;
		}
		for (std::size_t i = 1; i < polled.size(); i++)
			if (polled[i].revents)
				return i - 1;
	}
}

void Clock::told()
{
	signalfd_siginfo info = {};

	if (::read(signals_.fd(), &info, sizeof(info)) != sizeof(info))
		host_failed("signalfd");
	if (info.ssi_signo != SIGUSR1)
		throw Failure(Status::Told, "told to end");
	std::fprintf(stderr, "clock: at %" PRIu64 " ns", schedule_.now());
	for (u32 i = 0; i < guests_.size(); i++)
		std::fprintf(stderr, ", guest %u %s (%" PRIu64 ")", i + 1,
			     schedule_.state(i), schedule_.requested(i));
	std::fprintf(stderr, "\n");
	if (trace_)
		std::fflush(trace_.get());
}

/* Take the first thing that has come. */
void Clock::attend()
{
	std::vector<int> fds = { listener_.fd() };

	for (const auto &g : guests_)
		for (int fd : { g->time.fd(), g->net.fd(), g->listener.fd() })
			fds.push_back(fd);
	for (const File &newcomer : newcomers_)
		fds.push_back(newcomer.fd());

	std::size_t i = await(fds);

	if (i == 0) {
		newcomers_.push_back(listener_.accept());
		return;
	}
	i--;
	if (i >= 3 * guests_.size()) {
		start(i - 3 * guests_.size());
		return;
	}

	const u32 guest = static_cast<u32>(i / 3);

	switch (i % 3) {
	case 0:
		time_message(guest);
		break;
	case 1:
		net_message(guest);
		break;
	case 2:
		guests_[guest]->net = guests_[guest]->listener.accept();
		break;
	}
}

/* A newcomer says its number. It is answered when it is its turn to run. */
void Clock::start(std::size_t newcomer)
{
	um_timetravel_msg m;
	File file = std::move(newcomers_[newcomer]);

	newcomers_.erase(newcomers_.begin() + static_cast<long>(newcomer));
	if (!read_all(file, &m, sizeof(m)))
		throw Failure(Status::Died,
			      "a guest ended before it had started");
	if (m.op != UM_TIMETRAVEL_START || m.time < 1 ||
	    m.time > guests_.size() || schedule_.came(m.time - 1))
		refuse("a guest starts as number " + std::to_string(m.time));

	const u32 guest = static_cast<u32>(m.time - 1);

	schedule_.start(guest);
	guests_[guest]->time = std::move(file);
	guests_[guest]->start_sequence = m.seq;
}

void Clock::time_message(u32 guest)
{
	um_timetravel_msg m;

	if (!read_all(guests_[guest]->time, &m, sizeof(m))) {
		gone(guest);
		return;
	}
	for_guest(guest, [&] {
		if (schedule_.running() != guest)
			refuse("was woken by something outside of virtual "
			       "time");
		answer(guest, m);
	});
}

void Clock::answer(u32 guest, const um_timetravel_msg &m)
{
	um_timetravel_msg ack = { UM_TIMETRAVEL_ACK, m.seq, 0 };

	switch (m.op) {
	case UM_TIMETRAVEL_REQUEST:
		schedule_.request(guest, m.time);
		break;
	case UM_TIMETRAVEL_WAIT:
		trace(guest, "wait %" PRIu64, schedule_.requested(guest));
		schedule_.wait(guest);
		break;
	case UM_TIMETRAVEL_GET:
		ack.time = schedule_.now();
		break;
	case UM_TIMETRAVEL_UPDATE:
		schedule_.update(guest, m.time);
		break;
	case UM_TIMETRAVEL_GET_TOD:
		ack.time = options_.start + schedule_.now();
		break;
	default:
		refuse("sends operation " + std::to_string(m.op) +
		       " of time travel");
	}
	if (!write_all(guests_[guest]->time, &ack, sizeof(ack)))
		gone(guest);
}

void Clock::net_message(u32 guest)
{
	Guest &g = *guests_[guest];

	for_guest(guest, [&] {
		std::optional<Message> m = Message::read(g.net);

		if (!m) {
			g.net.close();
			/* Only a guest that broke off leaves it in use. */
			if (!g.device.in_use())
				g.device.reset();
			return;
		}
		if (schedule_.running() != guest)
			refuse("uses its device without running");

		const std::optional<Message> reply =
			g.device.handle(std::move(*m));

		if (const auto until = schedule_.shorten(wire_.due()))
			free_until(guest, *until);
		if (reply && !reply->write(g.net))
			g.net.close();
	});
}

/*
 * A guest that shuts down disables its device before. Without a device nobody can
 * tell how it ended.
 */
void Clock::gone(u32 guest)
{
	Guest &g = *guests_[guest];
	const bool waits = schedule_.running() != guest;

	trace(guest, "end");
	g.time.close();
	g.net.close();
	schedule_.end(guest);
	if (waits || g.device.in_use())
		throw Failure(Status::Died, name(guest) + " died");
	g.device.reset();
}

void Clock::tell(u32 guest, u32 op, Time time)
{
	const um_timetravel_msg m = { op, ++sequence_, time };

	if (!write_all(guests_[guest]->time, &m, sizeof(m))) {
		gone(guest);
		return;
	}

	for (;;) {
		um_timetravel_msg got;

		await({ guests_[guest]->time.fd() });
		if (!read_all(guests_[guest]->time, &got, sizeof(got))) {
			gone(guest);
			return;
		}
		if (got.op != UM_TIMETRAVEL_ACK) {
			answer(guest, got);
			continue;
		}
		if (got.seq != m.seq)
			refuse("acknowledges what it was not told");
		return;
	}
}

void Clock::free_until(u32 guest, Time time)
{
	trace(guest, "free %" PRIu64, time);
	tell(guest, UM_TIMETRAVEL_FREE_UNTIL, time);
}

void Clock::run_guest(const Schedule::Step &step)
{
	Guest &g = *guests_[step.guest];

	trace(step.guest, "run %" PRIu64, step.free_until);
	if (g.begun) {
		for_guest(step.guest, [&] {
			if (step.free_until)
				tell(step.guest, UM_TIMETRAVEL_FREE_UNTIL,
				     step.free_until);
			tell(step.guest, UM_TIMETRAVEL_RUN, step.time);
		});
		return;
	}

	/*
	 * UML takes two files with the answer, even if it gets none: whatever its
	 * stack holds then. These tell it that there is no shared memory.
	 */
	const um_timetravel_msg ack = { UM_TIMETRAVEL_ACK, g.start_sequence,
					step.guest + 1u };
	const File memory(memfd_create("clock", MFD_CLOEXEC));
	const File log(open("/dev/null", O_WRONLY | O_CLOEXEC));

	if (!memory.open() || ftruncate(memory.fd(), 4096) || !log.open())
		host_failed("memfd_create");
	g.begun = true;

	const std::array<int, 2> fds = { memory.fd(), log.fd() };

	if (!write_all(g.time, &ack, sizeof(ack), fds))
		gone(step.guest);
}

/* All that is due now. No guest runs. */
void Clock::deliver()
{
	std::vector<bool> touched(guests_.size());

	for (Event &event : wire_.take(schedule_.now())) {
		touched[event.guest] = true;
		if (event.frame)
			guests_[event.guest]->device.receive(
				std::move(event.frame));
	}
	for (u32 i = 0; i < guests_.size(); i++) {
		if (!touched[i])
			continue;
		for_guest(i, [&] {
			for (u32 queue : guests_[i]->device.flush())
				interrupt(i, queue);
		});
	}
}

/* The guest that waits requests to run now, and then says that it got it. */
void Clock::interrupt(u32 guest, u32 queue)
{
	Guest &g = *guests_[guest];
	Message call;

	call.request = kVringCall;
	call.flags = Message::kVersion | Message::kNeedReply;
	call.set(VringCall{ queue, 0 });
	trace(guest, "interrupt %u", queue);
	if (!call.write(g.device.calls())) {
		gone(guest);
		return;
	}
	for (;;) {
		um_timetravel_msg m;

		if (await({ g.time.fd(), g.device.calls().fd() })) {
			const auto reply = Message::read(g.device.calls());

			if (!reply)
				gone(guest);
			else if (reply->request != kVringCall ||
				 reply->as<u64>())
				refuse("does not take an interrupt");
			return;
		}
		if (!read_all(g.time, &m, sizeof(m))) {
			gone(guest);
			return;
		}
		answer(guest, m);
	}
}

void Clock::transmit(u32 guest, Frame frame)
{
	trace(guest, "send %zu %016" PRIx64, frame.size(), hash(frame));
	wire_.send(guest, schedule_.now(), std::move(frame));
}

void Clock::look(u32 guest)
{
	wire_.look(guest, schedule_.now());
}

void Clock::received(u32 guest, const Frame &frame)
{
	trace(guest, "receive %zu %016" PRIx64, frame.size(), hash(frame));
}

void Clock::dropped(u32 guest, const Frame &frame)
{
	trace(guest, "drop %zu %016" PRIx64, frame.size(), hash(frame));
}

} /* namespace ttclock */
