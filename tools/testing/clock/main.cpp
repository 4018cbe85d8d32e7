// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * One virtual time for several user-mode Linux guests, and the Ethernet between
 * them. See README.
 */
#include "clock.h"

#include <cerrno>
#include <cinttypes>
#include <cstdlib>
#include <limits>

#include <getopt.h>

namespace ttclock
{

namespace
{

constexpr u64 kSecond = 1000000000;

const char kUsage[] =
	"usage: clock [options] DIRECTORY\n"
	"  --guests N         how many (2)\n"
	"  --latency NS       from one guest to another (20000)\n"
	"  --bandwidth BITS   a second, of each guest's line (0: no limit)\n"
	"  --mtu OCTETS       the largest that a guest may set (9000)\n"
	"  --start NS         since the epoch: the time of day at first\n"
	"  --slice NS         a guest that nobody waits for shows up so often\n"
	"                     (10000000)\n"
	"  --limit SECONDS    of virtual time, after which to end (no limit)\n"
	"  --stall SECONDS    of real time, that a guest may run at once\n"
	"                     (300; 0: no limit)\n"
	"  --trace FILE       who runs when, and every frame\n"
	"  --done FILE        once it exists, time stands still; of several,\n"
	"                     once all exist\n";

u64 number(const char *text, u64 least, u64 most)
{
	char *end;

	errno = 0;

	const u64 value = std::strtoull(text, &end, 10);

	if (errno || end == text || *end || *text == '-' || value < least ||
	    value > most)
		throw Failure(Status::Host,
			      std::string("no such number: ") + text);
	return value;
}

Options parse(int argc, char **argv)
{
	enum {
		Guests,
		Latency,
		Bandwidth,
		Mtu,
		Start,
		Slice,
		Limit,
		Stall,
		Trace,
		Done
	};
	static const option known[] = {
		{ "guests", required_argument, nullptr, Guests },
		{ "latency", required_argument, nullptr, Latency },
		{ "bandwidth", required_argument, nullptr, Bandwidth },
		{ "mtu", required_argument, nullptr, Mtu },
		{ "start", required_argument, nullptr, Start },
		{ "slice", required_argument, nullptr, Slice },
		{ "limit", required_argument, nullptr, Limit },
		{ "stall", required_argument, nullptr, Stall },
		{ "trace", required_argument, nullptr, Trace },
		{ "done", required_argument, nullptr, Done },
		{},
	};
	constexpr u64 hour = 3600 * kSecond;
	Options o;

	for (int c; (c = getopt_long(argc, argv, "", known, nullptr)) != -1;) {
		switch (c) {
		case Guests:
			o.guests = static_cast<u32>(number(optarg, 1, 16));
			break;
		case Latency:
			/* A frame never arrives at the time it was sent. */
			o.latency = number(optarg, 1, hour);
			break;
		case Bandwidth:
			o.bandwidth = number(
				optarg, 0, std::numeric_limits<u64>::max() / 2);
			break;
		case Mtu:
			o.mtu = static_cast<u16>(number(optarg, 68, 65521));
			break;
		case Start:
			o.start = number(optarg, 0, kForever / 2);
			break;
		case Slice:
			o.slice = number(optarg, 1, hour);
			break;
		case Limit:
			o.limit =
				kSecond * number(optarg, 1, kForever / kSecond);
			break;
		case Stall:
			o.stall = static_cast<u32>(number(optarg, 0, 1000000));
			break;
		case Trace:
			o.trace = optarg;
			break;
		case Done:
			o.done.emplace_back(optarg);
			break;
		default:
			throw Failure(Status::Host, "");
		}
	}
	if (optind + 1 != argc)
		throw Failure(Status::Host, "");
	o.directory = argv[optind];
	return o;
}

Status run(int argc, char **argv)
{
	Options options;

	try {
		options = parse(argc, argv);
	} catch (const Failure &failure) {
		if (*failure.what())
			std::fprintf(stderr, "clock: %s\n", failure.what());
		std::fputs(kUsage, stderr);
		return Status::Host;
	}

	std::string what = "all guests ended";
	Status status = Status::Ended;
	Time now = 0;

	try {
		Clock clock(options);

		try {
			clock.run();
		} catch (const Failure &failure) {
			what = failure.what();
			status = failure.status();
		}
		now = clock.now();
	} catch (const Failure &failure) {
		what = failure.what();
		status = failure.status();
	}
	std::fprintf(stderr, "clock: %s at %" PRIu64 ".%09" PRIu64 "\n",
		     what.c_str(), now / kSecond, now % kSecond);
	return status;
}

} /* namespace */

} /* namespace ttclock */

int main(int argc, char **argv)
{
	return static_cast<int>(ttclock::run(argc, argv));
}
