// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Calls of our server to its client (section 4.6): of NFSv4.1 there is just
 * enough to get a delegation, which a process in this guest then breaks.
 */
#include "nfs.h"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <fstream>
#include <unistd.h>

using namespace peer;

/* Octets that a callback may have, which is what our own client says. */
static constexpr u32 kCallback = 4096;

/* nfsd gives a callback that is not answered up after nine seconds. */
static constexpr int kSoon = 4000;

enum : u32 {
	kOpen = 18,
	kPutrootfh = 24,
	kExchangeId = 42,
	kCreateSession = 43,
	kSequence = 53,
	kReclaimComplete = 58
};
enum : u32 { kCbRecall = 4, kCbSequence = 11 };

static constexpr u32 kProgram = 0x40000000;

/* sr_status_flags: the path is down, or there is another fault in it */
static constexpr u32 kPathBroken = 1 | 0x400;

/* Reverse-Direction Support */
static Words reverse(u32 level)
{
	return unit::property(5, level);
}

/* Callbacks of this machine that have failed. */
static unsigned long failed_callbacks()
{
	static const std::string kName = "callbacks failed: ";
	std::ifstream totals("/sys/kernel/debug/rpcrdma/totals");
	std::string line;

	while (std::getline(totals, line))
		if (line.rfind(kName, 0) == 0)
			return std::stoul(line.substr(kName.size()));
	throw Failure("nobody counts callbacks");
}

/* A client of NFSv4.1 with a delegation, called back on its connection. */
class Delegation {
public:
	explicit Delegation(Peer &p)
		: peer_(p)
		, instance_(++instances)
		, file_("delegated" + std::to_string(instance_))
	{
		Words r = compound({ { kExchangeId, instance_, 0, 4, instance_,
				       0, 0, 0 } });
		client_ = unit::slice(r, 8, 8);
		r = compound({ Words{ kCreateSession } + unit::slice(r, 8, 12) +
			       Words{ 2 } + channel(16) + channel(1) +
			       /* program, AUTH_SYS as root */
			       Words{ kProgram, 1, 1, 0, 0, 0, 0, 0 } });
		id_ = unit::slice(r, 8, 16);
		compound({ sequence(), { kReclaimComplete, 0 } });
		Nfs::create(file_);
		/* Not while locks can be reclaimed, whatever version's. */
		const long end = now() + 90000;

		while (!delegated(r = compound({ sequence(), { kPutrootfh },
						 open() }))) {
			if (now() > end)
				throw Failure("no delegation to read");
			serve(500);
		}
	}

	/* Somebody wants to write. */
	void recall()
	{
		const std::string name = "/export/" + file_;
		const int fd = ::open(name.c_str(), O_WRONLY | O_NONBLOCK);

		EXPECT_EQ(fd, -1);
		EXPECT_EQ(errno, EWOULDBLOCK);
	}
	/* The server knows that there is no way to call back. */
	bool broken(int ms)
	{
		const long end = now() + ms;

		while (now() < end) {
			if (compound({ sequence() }).at(10) & kPathBroken)
				return true;
			serve(100);
		}
		return false;
	}
	/* Take in what comes. */
	void serve(int ms)
	{
		const long end = now() + ms;

		while (now() < end) {
			const std::optional<Message> m =
				peer_.poll(static_cast<int>(end - now()));

			if (m && m->htype() != RPCRDMA2_GRANT)
				take(peer_.rpc_from(*m));
		}
	}
	/* The next callback. */
	Rpc callback()
	{
		while (calls_.empty())
			take(peer_.next_rpc());
		const Rpc call = calls_.front();

		calls_.erase(calls_.begin());
		return call;
	}
	[[nodiscard]] size_t callbacks() const
	{
		return calls_.size();
	}
	/* What a client says that is going to return the delegation. */
	Words result(const Rpc &call)
	{
		const Words w = words(call.stream);
		const auto at =
			std::search(w.begin(), w.end(), id_.begin(), id_.end());

		if (at == w.end())
			throw Failure("a callback of another session");
		return Words{
			call.xid, 1, 0, 0, 0, 0, 0, 0, 2, kCbSequence, 0
		} + Words(at, at + 6) +
		       Words{ 0, 0, kCbRecall, 0 };
	}
	/* Called once again, now and then, whatever is answered. */
	void called_again(const std::function<void(const Rpc &)> &answer)
	{
		static constexpr int kSeconds = 5;
		const unsigned long before = failed_callbacks();
		const long end = now() + 1000 * kSeconds;
		u32 calls = 0;

		recall();
		while (now() < end) {
			serve(100);
			while (!calls_.empty()) {
				answer(callback());
				calls++;
			}
		}
		const unsigned long failed = failed_callbacks() - before;
		EXPECT_GE(failed, 2u);
		EXPECT_LE(failed, kSeconds + 1u);
		EXPECT_LE(calls, kSeconds + 1u);
		EXPECT_TRUE(broken(kSoon));
	}

private:
	static Words channel(u32 requests)
	{
		return { 0, kCallback, kCallback, 0, 16, requests, 0 };
	}
	/* What OPEN gives, behind SEQUENCE and PUTROOTFH. */
	static bool delegated(const Words &r)
	{
		/* stateid, change, flags, attributes */
		const size_t attributes = 11 + 2 + 2 + 4 + 5 + 1;

		return r.at(attributes + 1 + r.at(attributes)) == 1;
	}
	Words sequence()
	{
		return Words{ kSequence } + id_ + Words{ ++sequence_, 0, 0, 0 };
	}
	/* To read, a file that exists. */
	Words open()
	{
		Octets name(file_.begin(), file_.end());
		const u32 length = static_cast<u32>(name.size());

		name.resize((name.size() + 3) & ~3UL);
		return Words{ kOpen, 0, 1, 0 } + client_ +
		       Words{ 4, instance_, 0, 0, length } + words(name);
	}
	/* Return: the results, of which none failed. */
	Words compound(const std::vector<Words> &ops)
	{
		const u32 xid = peer_.new_xid();
		Words call = {
			xid, 0,	 2, 100003, 4, 1,
			1,   20, 0, 0,	    0, 0,
			0,   0,	 0, 0,	    1, static_cast<u32>(ops.size())
		};

		for (const Words &op : ops)
			call = call + op;
		peer_.send(unit::call_inline(xid, call));
		for (;;) {
			const Rpc r = peer_.next_rpc();

			if (r.word(1) != 1) {
				take(r);
				continue;
			}
			const Words w = words(r.stream);
			/* accepted, verifier, success; status, tag, count */
			if (r.xid != xid || w.size() < 10 || w[6] || w[7])
				throw Failure("a COMPOUND failed");
			return Words(w.begin() + 9, w.end());
		}
	}
	void take(const Rpc &r)
	{
		const Words w = words(r.stream);

		if (w.size() < 6 || w[1] != 0 || w[3] != kProgram || w[5] != 1)
			throw Failure("this is no CB_COMPOUND");
		EXPECT_TRUE(r.reads.empty() && r.call.empty());
		EXPECT_TRUE(r.writes.empty() && !r.reply);
		calls_.push_back(r);
	}

	static u32 instances;

	Peer &peer_;
	u32 instance_;
	std::string file_;
	Words client_;
	Words id_;
	u32 sequence_ = 0;
	std::vector<Rpc> calls_;
};

u32 Delegation::instances;

TEST(server_callback, answered)
{
	for (const u32 level : { 1, 2, 3 }) {
		Peer p = Peer::open(reverse(level));
		Delegation d(p);
		const unsigned long before = failed_callbacks();

		d.recall();
		const Rpc call = d.callback();
		p.send(unit::reply_inline(call.xid, d.result(call)));
		EXPECT_FALSE(d.broken(2000));
		EXPECT_EQ(d.callbacks(), 0u);
		EXPECT_EQ(failed_callbacks(), before);
	}
}

TEST(server_callback, answered_in_several_messages)
{
	Peer p = Peer::open(reverse(2));
	Delegation d(p);

	d.recall();
	const Rpc call = d.callback();
	const Words w = d.result(call);
	const u32 all = static_cast<u32>(4 * w.size());
	p.send(unit::middle(RPCRDMA2_REPLY_MIDDLE, call.xid, all - 40,
			    unit::slice(w, 0, 40)));
	p.send(unit::middle(RPCRDMA2_REPLY_MIDDLE, call.xid, all - 48,
			    unit::slice(w, 40, 8)));
	p.send(unit::reply_inline(call.xid, unit::slice(w, 48, all - 48)));
	EXPECT_FALSE(d.broken(2000));
	EXPECT_EQ(d.callbacks(), 0u);
}

/* nfsd calls again at once, and is made to wait. */
TEST(server_callback, to_a_client_that_takes_none)
{
	for (const Words &set : { Words{ 0 }, reverse(0) }) {
		Peer p = Peer::open(set);
		Delegation d(p);

		d.called_again([](const Rpc &) { FAIL() << "it takes none"; });
		p.expect_works();
	}
}

TEST(server_callback, refused_with_an_error)
{
	for (const u32 code :
	     { u32{ RPCRDMA2_ERR_SYSTEM }, u32{ RPCRDMA2_ERR_INVAL_HTYPE } }) {
		Peer p = Peer::open(reverse(1));
		Delegation d(p);

		d.called_again([&](const Rpc &call) {
			p.send(unit::prefix(call.xid, RPCRDMA2_ERROR) +
			       Words{ code });
		});
		p.expect_works();
	}
}

/* Chunks are returned that nobody offered. */
TEST(server_callback, answered_with_what_nobody_asked_for)
{
	Peer p = Peer::open(reverse(3));
	Delegation d(p);

	d.called_again([&](const Rpc &call) {
		p.send(unit::prefix(call.xid, RPCRDMA2_REPLY_INLINE) +
		       Words{ 1, 1, 0xa1, 0, 0, 0x1000, 0 } + d.result(call));
	});
	p.expect_works();
}

/* Each side counts its own. */
TEST(server_callback, xids_are_equal_in_both_directions)
{
	Peer p = Peer::open(reverse(2));
	Delegation d(p);

	d.recall();
	const Rpc call = d.callback();
	p.send(unit::call_inline(call.xid, null_call(call.xid)));
	EXPECT_TRUE(is_null_reply(p.reply(call.xid)));
	/* The Reply to the one was none to the other. */
	p.send(unit::reply_inline(call.xid, d.result(call)));
	EXPECT_FALSE(d.broken(2000));
	EXPECT_EQ(d.callbacks(), 0u);
}

TEST(server_callback, answered_twice)
{
	Peer p = Peer::open(reverse(2));
	Delegation d(p);

	d.recall();
	const Rpc call = d.callback();
	p.send(unit::reply_inline(call.xid, d.result(call)));
	p.send(unit::reply_inline(call.xid, d.result(call)));
	p.send(unit::prefix(call.xid, RPCRDMA2_ERROR) +
	       Words{ RPCRDMA2_ERR_SYSTEM });
	EXPECT_FALSE(d.broken(2000));
	EXPECT_EQ(d.callbacks(), 0u);
	p.expect_works();
}
