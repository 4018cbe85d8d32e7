// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Many clients at once, each with a thread and a connection of its own. The self-test
 * crowd.sh says how many, and what the server has for them: CROWD.
 */
#include "headers.h"
#include "nfs.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <latch>
#include <map>
#include <mutex>
#include <thread>
#include <unistd.h>

using namespace peer;

namespace
{

/* What a client of few words needs, and how long it waits among so many. */
constexpr u32 kReceives = 8;
constexpr int kLong = 9 * kPatience;

u32 crowd()
{
	const char *said = std::getenv("CROWD");

	return said ? static_cast<u32>(std::stoul(said)) : 16;
}

/*
 * A client of its own: is let in, asks, is answered, and shows a file handle, as one that comes
 * back does. The server waits for that before it lets in more than some.
 */
void asks(Peer &p)
{
	p.offer(kReceives - 1);
	p.send(unit::connprop(p.new_xid(), { 0 }));
	p.take_properties(p.next(kLong));
	p.expect_works();

	const u32 xid = p.new_xid();

	p.send(call_header(xid, {}),
	       Compound().root().getattr().message(xid));
	for (const Result &r : Nfs::results(p.reply(xid).stream))
		if (r.status)
			throw Failure("no attributes: status " +
				      std::to_string(r.status));
}

/* What went wrong, and how often. */
class Faults {
public:
	void add(const std::string &what)
	{
		const std::lock_guard<std::mutex> held(lock_);

		count_[what]++;
	}
	/* Do it; what it throws is one. */
	template <typename F> void of(F f)
	{
		try {
			f();
		} catch (const std::exception &e) {
			add(e.what());
		}
	}
	void expect_none() const
	{
		for (const auto &[what, count] : count_)
			ADD_FAILURE() << count << " times: " << what;
	}

private:
	std::mutex lock_;
	std::map<std::string, u32> count_;
};

/* @meanwhile runs beside them. */
template <typename F>
void each_at_once(
	u32 count, F client, const std::function<void()> &meanwhile = [] {})
{
	std::vector<std::thread> threads;

	for (u32 i = 0; i < count; i++)
		threads.emplace_back(client);
	meanwhile();
	for (std::thread &t : threads)
		t.join();
}

/* How often the module had no memory for a connection. */
u64 held_back()
{
	return of_module("memory:", "held-back");
}

} // namespace

/* They come, all are there, they go; and all come back at once, as after an outage. */
TEST(crowd, comes_back_at_once)
{
	for (u32 round = 0; round < 2; round++) {
		std::latch here(crowd());
		Faults faults;

		each_at_once(crowd(), [&] {
			std::optional<Peer> p;

			faults.of([&] {
				p = Peer::connect(Link::kReceiveSize, kReceives,
						  kLong);
				asks(*p);
			});
			here.arrive_and_wait();
			faults.of([&] {
				if (p)
					p->expect_works();
			});
		});
		faults.expect_none();
	}
}

/*
 * Clients that show no file handle, and stay: sunrpc ends the oldest of them when it has too many,
 * and does not end each other one that comes. Then others are let in, and nobody waits for long.
 */
TEST(crowd, passes_by_silent_ones)
{
	constexpr u32 kLimit = 64, kOthers = 8;
	std::latch here(crowd() + 1), done(1);
	std::atomic<u32> ended = 0;
	Faults faults;

	const auto silent = [&] {
		std::optional<Peer> p;

		faults.of([&] {
			p = Peer::connect(Link::kReceiveSize, kReceives, kLong);
		});
		here.arrive_and_wait();
		done.wait();
		try {
			if (p)
				p->expect_closed(0);
			ended++;
		} catch (const Failure &) {
		}
	};
	const auto others = [&] {
		here.arrive_and_wait();
		for (u32 i = 0; i < kOthers; i++)
			faults.of([&] {
				Peer p = Peer::connect(Link::kReceiveSize,
						       kReceives);

				asks(p);
			});
		done.count_down();
	};

	each_at_once(crowd(), silent, others);
	faults.expect_none();
	/* It has 64, and ends one for each of the others at most. */
	EXPECT_LE(ended, std::max(crowd(), kLimit - kOthers) - (kLimit - kOthers));
}

/* Those that are let in stay until another one @waits, however fast they come. Then they go. */
static void some_wait(const std::function<bool(u32 moves)> &waits)
{
	std::atomic<bool> go = false;
	/* How many have been let in or have failed; and how often one of them did, or left. */
	std::atomic<u32> here = 0, moves = 0;
	Faults faults;

	const auto client = [&] {
		u32 seen = moves;
		/* Whoever waits does so as long as others come and go. */
		const auto others_move = [&] {
			const u32 last = seen;

			seen = moves;
			return seen != last;
		};

		std::optional<Peer> p;

		faults.of([&] {
			p = Peer::connect(Link::kReceiveSize, kReceives, kLong,
					  others_move);
			asks(*p);
		});
		here++;
		moves++;
		faults.of([&] {
			while (p && !go)
				p->expect_silence();
			if (p)
				p->expect_works();
		});
		p.reset();
		moves++;
	};
	const auto let_go = [&] {
		faults.of([&] {
			while (!waits(moves)) {
				if (here >= crowd())
					throw Failure("all came, none waited");
				usleep(100000);
			}
		});
		go = true;
	};

	each_at_once(crowd(), client, let_go);
	faults.expect_none();
}

/*
 * The server has memory for a part of them. The others are let in when these have gone; nobody is
 * rejected.
 */
TEST(crowd, waits_for_memory)
{
	const u64 before = held_back();

	some_wait([&](u32) { return held_back() != before; });
}

/*
 * The same if its device has memory regions for so many of them. Nothing counts who waits for these:
 * so no other one has come for a while.
 */
TEST(crowd, waits_for_regions)
{
	constexpr u32 kFit = 32, kLooks = 50;
	u32 last = 0, looks = 0;

	some_wait([&](u32 moves) {
		looks = moves == last ? looks + 1 : 0;
		last = moves;
		return moves >= kFit && looks > kLooks;
	});
}
