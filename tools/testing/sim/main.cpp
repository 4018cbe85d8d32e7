// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Run seeds, print TAP. See README.
 */
#include "mutants.h"
#include "watch.h"
#include "world.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <sstream>
#include <thread>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sim
{

namespace
{

using Clock = std::chrono::steady_clock;

struct Plan {
	Options options;
	u64 count = 0; /* seeds; zero: until the time is over */
	double seconds = 0;
	u32 jobs = 1;
	bool mutants = false;
	const char *must_fail = nullptr; /* the checker */
	bool shrink = true;
};

/* A run takes a millisecond, and with sanitizers ten. */
constexpr u32 kRunSeconds = 60;

/* Seeds that a planted bug may need to show. */
constexpr u64 kMutantSeeds = 100000;
constexpr u64 kPingSeeds = 100000;

const char *mutant_name(Mutant m)
{
	for (const MutantType &t : kMutants)
		if (t.mutant == m)
			return t.name;
	return "none";
}

/* The command that does @o again. */
std::string replay(const Options &o)
{
	std::string command = pings::there_are() ? "sim-extended" : "sim";
	const auto number = [&](const char *name, u32 value) {
		if (value != UINT32_MAX)
			command += name + std::to_string(value);
	};

	command += " --seed " + std::to_string(o.seed);
	number(" --rpcs ", o.rpcs);
	number(" --acts ", o.acts);
	number(" --features ", o.features);
	number(" --faults ", o.faults);
	if (o.version1)
		command += " --version1";
	if (o.mutant != Mutant::None)
		command += std::string(" --mutant ") + mutant_name(o.mutant);
	return command;
}

struct Result {
	Failure failure; /* its checker is nullptr if there is none */
	u64 digest;

	[[nodiscard]] bool same(const Result &other) const
	{
		return failure.checker && other.failure.checker &&
		       !std::strcmp(failure.checker, other.failure.checker) &&
		       failure.what == other.failure.what &&
		       digest == other.digest;
	}
};

Result run_result(const Options &o, Tally *tally = nullptr)
{
	const Watch watch(replay(o));
	World w(o);

	try {
		w.run();
	} catch (const Failure &f) {
		return { f, w.digest() };
	}
	if (tally)
		tally->add(w.tally);
	return { { nullptr, {} }, w.digest() };
}

Failure run(const Options &o, Tally *tally = nullptr)
{
	return run_result(o, tally).failure;
}

bool fails(const Options &o, const char *checker)
{
	const Failure f = run(o);

	return f.checker && !std::strcmp(f.checker, checker);
}

/* Leave out whatever the failure does not need. */
Options shrink(Options o, const char *checker)
{
	bool smaller = true;
	const auto attempt = [&](auto change) {
		Options less = o;

		change(less);
		if (!fails(less, checker))
			return;
		o = less;
		smaller = true;
	};

	o.features &= (1U << static_cast<u32>(Feature::Count)) - 1;
	o.faults &= (1U << static_cast<u32>(Fault::Count)) - 1;
	while (smaller) {
		smaller = false;
		for (u32 bit = 1; bit <= o.features; bit <<= 1)
			if (o.features & bit)
				attempt([&](Options &l) {
					l.features &= ~bit;
				});
		for (u32 bit = 1; bit <= o.faults; bit <<= 1)
			if (o.faults & bit)
				attempt([&](Options &l) { l.faults &= ~bit; });
		if (o.acts)
			attempt([&](Options &l) {
				l.acts = std::min(l.acts, kMostActs) - 1;
			});
		if (o.rpcs)
			attempt([&](Options &l) {
				l.rpcs = std::min(l.rpcs, kMostRpcs) / 2;
			});
		if (o.rpcs && !smaller)
			attempt([&](Options &l) {
				l.rpcs = std::min(l.rpcs, kMostRpcs) - 1;
			});
	}
	return o;
}

void print_failure(const Options &o, const Failure &f)
{
	std::printf("# seed %" PRIu64 ": %s: %s\n", o.seed, f.checker,
		    f.what.c_str());
	std::printf("# replay: %s --trace\n", replay(o).c_str());
}

void report(const Plan &plan, const Options &o, const Failure &f)
{
	print_failure(o, f);
	std::fflush(stdout);
	if (!plan.shrink)
		return;
	const Options less = shrink(o, f.checker);

	std::printf("# cut down:\n");
	print_failure(less, run(less));
	std::fflush(stdout);
}

void print_tally(const Tally &t, double seconds)
{
	static const char *const kEffects[] = {
		"connections broken",	 "client restarts",
		"server restarts",	 "windows changed",
		"allocations denied",	 "stalled steps",
		"completions lost or told twice", "RPCs given up",
		"hostile messages",	 "Calls forgotten as time passed",
		"registrations put off",
	};
	static_assert(sizeof(kEffects) / sizeof(kEffects[0]) ==
		      static_cast<size_t>(Fault::Count));

	std::printf("# %" PRIu64 " seeds in %.0f s: %.0f a second\n", t.seeds,
		    seconds, static_cast<double>(t.seeds) / seconds);
	std::printf("# %" PRIu64 " steps, %" PRIu64 " connections, %" PRIu64
		    " of them of version 1; RPCs: %" PRIu64
		    " answered, %" PRIu64 " failed as they may, %" PRIu64
		    " cancelled, %" PRIu64 " gone with their machine\n",
		    t.steps, t.links, t.links_v1, t.ends[0], t.ends[1],
		    t.ends[2], t.ends[3]);
	std::printf("# Calls with Read chunk %" PRIu64 ", Write chunk %" PRIu64
		    ", Call chunk %" PRIu64 ", Reply chunk %" PRIu64
		    ", sent again after an error %" PRIu64 "\n",
		    t.reads, t.writes, t.call_chunks, t.reply_chunks,
		    t.retries);
	std::printf("# continued parts %" PRIu64 ", GRANTs %" PRIu64
		    ", Receives held for memory %" PRIu64
		    ", Calls that had to wait for room %" PRIu64
		    " (for Sends: %" PRIu64 "), for a region %" PRIu64
		    " (it had come when they looked again: %" PRIu64
		    "), for memory %" PRIu64
		    ", more than the budget had %" PRIu64 ", marks %" PRIu64
		    ", Calls sent since the way is long %" PRIu64
		    ", Replies that had to wait for regions %" PRIu64
		    ", Calls behind others that wait %" PRIu64
		    ", tried again for want of memory %" PRIu64
		    ", Receives without memory %" PRIu64
		    ", and behind such %" PRIu64 "\n",
		    t.continued, t.grants, t.held, t.not_admitted, t.no_room,
		    t.no_regions, t.looked_again, t.short_of_memory, t.forced, t.marks,
		    t.streamed, t.writes_waited, t.queued_behind, t.tried_again,
		    t.stalled, t.behind);
	std::printf("# Replies in the pool %" PRIu64 ", in the account %" PRIu64
		    ", threads that found too many or too large ones %" PRIu64
		    "\n",
		    t.pooled[1], t.pooled[0], t.looked_in_vain);
	std::printf("# posted together: Sends, %" PRIu64
		    " times; Receives, %" PRIu64
		    " times; Sends copied without the lock, %" PRIu64
		    " times\n",
		    t.chained, t.batched, t.built);
	std::printf("# buffers of Sends that were made %" PRIu64
		    ", taken away %" PRIu64 ", not to be had %" PRIu64 "\n",
		    t.ring_grown, t.ring_shrunk, t.ring_refused);
	std::printf("# messages sent alone %" PRIu64
		    ", while others asked for more %" PRIu64 "\n",
		    t.alone, t.alone_again);
	std::printf("# connections that nobody waits for any more %" PRIu64
		    ", regions that they keep %" PRIu64 "\n",
		    t.endings, t.regions_kept);
	std::printf("# callbacks answered %" PRIu64
		    ", remote invalidations %" PRIu64
		    ", seeds with several clients %" PRIu64
		    ", at one address %" PRIu64 "\n",
		    t.callbacks, t.remote_invalidates, t.several_clients,
		    t.one_address);
	std::printf("# lost at the flush: signaled Sends %" PRIu64
		    ", RDMA Reads %" PRIu64 ", Local Invalidates %" PRIu64
		    "; told twice: RDMA Reads %" PRIu64 "\n",
		    t.lost_sends, t.lost_reads, t.lost_invalidates,
		    t.repeated_reads);
	for (u32 i = 0; i < static_cast<u32>(Fault::Count); i++)
		std::printf("# %s %" PRIu64 "\n", kEffects[i], t.effects[i]);
	std::printf("# ends that have authenticated their peer, as they must %" PRIu64
		    "\n",
		    t.authenticated);
	pings::print(t);
}

/* Everything that seeds are there for has been seen. */
bool reaches(const Tally &t)
{
	bool all = t.reads && t.writes && t.call_chunks && t.reply_chunks &&
		   t.retries && t.continued && t.grants && t.held &&
		   t.short_of_memory && t.forced && t.marks && t.not_admitted &&
		   t.no_room &&
		   t.no_regions && t.looked_again && t.writes_waited && t.endings &&
		   t.queued_behind && t.tried_again && t.stalled && t.behind &&
		   t.pooled[0] && t.pooled[1] && t.looked_in_vain &&
		   t.regions_kept && t.streamed && t.chained &&
		   t.batched && t.built && t.alone && t.alone_again &&
		   t.links_v1 && t.lost_sends && t.lost_reads &&
		   t.lost_invalidates && t.repeated_reads && t.callbacks &&
		   t.remote_invalidates && t.several_clients && t.one_address &&
		   t.ring_grown && t.ring_shrunk && t.ring_refused &&
		   t.authenticated && pings::reaches(t);

	for (const u64 n : t.ends)
		all = all && n;
	for (const u64 n : t.effects)
		all = all && n;
	return all;
}

int run_seeds(const Plan &plan)
{
	const auto begin = Clock::now();
	std::atomic<u64> next = plan.options.seed;
	std::atomic<bool> stop = false;
	std::mutex lock;
	Tally tally;
	u32 failed = 0;
	const auto elapsed = [&] {
		return std::chrono::duration<double>(Clock::now() - begin)
			.count();
	};
	const auto work = [&] {
		Options o = plan.options;
		Tally t;

		while (!stop) {
			o.seed = next++;
			if (plan.count &&
			    o.seed - plan.options.seed >= plan.count)
				break;
			if (plan.seconds > 0 && o.seed % 64 == 0 &&
			    elapsed() >= plan.seconds)
				break;
			const Failure f = run(o, &t);

			if (!f.checker)
				continue;
			const std::lock_guard<std::mutex> guard(lock);

			report(plan, o, f);
			if (++failed == 5)
				stop = true;
		}
		const std::lock_guard<std::mutex> guard(lock);

		tally.add(t);
	};
	std::vector<std::thread> threads;

	for (u32 i = 0; i < plan.jobs; i++)
		threads.emplace_back(work);
	for (std::thread &t : threads)
		t.join();
	print_tally(tally, elapsed());
	std::printf("TAP version 13\n1..2\n");
	std::printf("%s 1 - %" PRIu64 " seeds from %" PRIu64 " are clean\n",
		    failed ? "not ok" : "ok", tally.seeds, plan.options.seed);
	std::printf("%s 2 - they reach everything\n",
		    reaches(tally) ? "ok" : "not ok");
	return failed || !reaches(tally);
}

/* The first of @seeds from that of @o on in which @checker fails; zero if none. */
u64 first_failure(Options o, const char *checker, u64 seeds)
{
	const u64 end = o.seed + seeds;

	for (; o.seed < end; o.seed++)
		if (fails(o, checker))
			return o.seed;
	return 0;
}

int must_fail(const Plan &plan)
{
	const u64 seed =
		first_failure(plan.options, plan.must_fail, kMutantSeeds);

	std::printf("TAP version 13\n1..1\n");
	std::printf("%s 1 - %s: this core fails (seed %" PRIu64 ")\n",
		    seed ? "ok" : "not ok", plan.must_fail, seed);
	return !seed;
}

[[noreturn]] void usage()
{
	std::fprintf(stderr,
		     "usage: sim [--seed N] [--count N] [--seconds N] "
		     "[--jobs N]\n"
		     "           [--rpcs N] [--acts N] [--features MASK] "
		     "[--faults MASK]\n"
		     "           [--version1] [--mutant NAME] [--mutants] "
		     "[--must-fail CHECKER]\n"
		     "           [--trace] "
		     "[--no-shrink]\n");
	std::exit(2);
}

Mutant mutant(const char *name)
{
	for (const MutantType &t : kMutants)
		if (!std::strcmp(t.name, name))
			return t.mutant;
	usage();
}

Plan parse(int argc, char **argv)
{
	Plan plan;
	Options &o = plan.options;

	plan.jobs = std::clamp(std::thread::hardware_concurrency(), 1U,
			       kMaxThreads - 1);
	for (int i = 1; i < argc; i++) {
		const std::string name = argv[i];

		if (name == "--trace") {
			o.trace = true;
			plan.shrink = false;
			plan.count = 1;
		} else if (name == "--version1") {
			o.version1 = true;
		} else if (name == "--mutants") {
			plan.mutants = true;
		} else if (name == "--no-shrink") {
			plan.shrink = false;
		} else if (i + 1 == argc) {
			usage();
		} else {
			const char *value = argv[++i];
			const u64 number = std::strtoull(value, nullptr, 0);

			if (name == "--seed")
				o.seed = number;
			else if (name == "--count")
				plan.count = number;
			else if (name == "--seconds")
				plan.seconds = static_cast<double>(number);
			else if (name == "--jobs")
				plan.jobs = static_cast<u32>(number);
			else if (name == "--rpcs")
				o.rpcs = static_cast<u32>(number);
			else if (name == "--acts")
				o.acts = static_cast<u32>(number);
			else if (name == "--features")
				o.features = static_cast<u32>(number);
			else if (name == "--faults")
				o.faults = static_cast<u32>(number);
			else if (name == "--must-fail")
				plan.must_fail = value;
			else if (name == "--mutant")
				o.mutant = mutant(value);
			else
				usage();
		}
	}
	if (!plan.count && plan.seconds <= 0)
		plan.count = 1;
	if (plan.jobs >= kMaxThreads)
		usage();
	return plan;
}

/* What @command would run. */
Options parsed(const std::string &command)
{
	std::istringstream words(command);
	std::vector<std::string> all;
	std::vector<char *> argv;

	for (std::string word; words >> word;)
		all.push_back(word);
	argv.reserve(argv.size() + all.size());
	for (std::string &word : all)
		argv.push_back(word.data());
	return parse(static_cast<int>(argv.size()), argv.data()).options;
}

/* Whatever else is left out of @o, it does not fail so any more. */
bool is_least(const Options &o, const char *checker)
{
	const auto needs = [&](auto change) {
		Options less = o;

		change(less);
		return !fails(less, checker);
	};

	for (u32 i = 0; i < static_cast<u32>(Feature::Count); i++)
		if ((o.features >> i & 1) &&
		    !needs([&](Options &l) { l.features ^= 1U << i; }))
			return false;
	for (u32 i = 0; i < static_cast<u32>(Fault::Count); i++)
		if ((o.faults >> i & 1) &&
		    !needs([&](Options &l) { l.faults ^= 1U << i; }))
			return false;
	return (!o.acts || needs([](Options &l) {
		       l.acts = std::min(l.acts, kMostActs) - 1;
	       })) &&
	       (!o.rpcs || needs([](Options &l) {
		       l.rpcs = std::min(l.rpcs, kMostRpcs) - 1;
	       }));
}

/* Cut down, and done again as is printed, a failure is the same each time. */
bool is_replayed(const Options &o, const char *checker)
{
	const Options less = shrink(o, checker);
	Options again = parsed(replay(less));

	again.digest = true;
	const Result first = run_result(again);
	const Result second = run_result(again);
	std::printf("# %s\n", replay(less).c_str());
	return is_least(less, checker) && first.same(second) &&
	       !std::strcmp(first.failure.checker, checker) &&
	       first.failure.what == run(less).what;
}

/* The process that runs @o says @how it ends, and what it was running. */
bool is_told(const Options &o, const char *how)
{
	const std::string words = std::string("# ") + how + ": " + replay(o);
	int fds[2];
	int status = 0;

	if (pipe(fds))
		return false;
	std::fflush(stdout);
	const pid_t child = fork();
	if (!child) {
		const rlimit none = {};

		setrlimit(RLIMIT_CORE, &none);
		dup2(fds[1], STDOUT_FILENO);
		watch_begin(1);
		alarm(30);
		(void)run(o);
		_exit(0);
	}
	close(fds[1]);
	std::string said;
	char buffer[256];

	for (ssize_t n; (n = read(fds[0], buffer, sizeof(buffer))) > 0;)
		said.append(buffer, static_cast<size_t>(n));
	close(fds[0]);
	return child > 0 && waitpid(child, &status, 0) == child && status &&
	       said == words + "\n";
}

/* Each planted bug is seen by its checker, cut down, and seen again. */
int run_mutants(const Plan &plan)
{
	int failed = 0;
	u32 n = 0;

	std::printf("TAP version 13\n");
	for (const MutantType &m : kMutants) {
		Options o = plan.options;

		if (m.pings != pings::there_are())
			continue;

		o.mutant = m.mutant;
		o.version1 = m.version1;
		if (!ends_process(m))
			o.seed = first_failure(o, m.checker,
					       m.pings ? kPingSeeds :
							 kMutantSeeds);
		const bool ok = ends_process(m) ?
					is_told(o, m.checker) :
					o.seed && is_replayed(o, m.checker);
		std::printf("%s %u - %s: %s (%s%s, seed %" PRIu64 ")\n",
			    ok ? "ok" : "not ok", ++n, m.checker, m.what,
			    m.name, m.version1 ? ", version 1" : "", o.seed);
		failed |= !ok;
	}
	std::printf("1..%u\n", n);
	return failed;
}

} // namespace

} // namespace sim

int main(int argc, char **argv)
{
	const sim::Plan plan = sim::parse(argc, argv);

	/* Whoever reads a trace may take any time. */
	if (!plan.options.trace)
		sim::watch_begin(sim::kRunSeconds);
	if (plan.mutants)
		return sim::run_mutants(plan);
	if (plan.must_fail)
		return sim::must_fail(plan);
	if (plan.count != 1)
		return sim::run_seeds(plan);

	const sim::Failure f = sim::run(plan.options);

	if (f.checker)
		sim::report(plan, plan.options, f);
	else
		std::printf("clean\n");
	return f.checker ? 1 : 0;
}
