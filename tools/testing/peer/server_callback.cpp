// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Callbacks of our server (section 4.6). The client does as much of NFSv4.1 as
 * it takes to get a delegation. A process in this guest then makes the server
 * recall it.
 */
#include "nfs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fcntl.h>
#include <fstream>
#include <sys/utsname.h>
#include <unistd.h>

using namespace peer;

/* nfsd gives a callback that is not answered up after nine seconds. */
static constexpr int kSoon = 4000;

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

/* nfsd of Linux 6.1 does not call again when a callback has failed. */
static bool calls_again()
{
	utsname name;

	if (uname(&name))
		throw Failure("uname");
	return std::string(name.release).rfind("6.1.", 0) != 0;
}

/* A client of NFSv4.1 with a delegation, called back on its connection. */
class Delegation {
public:
	explicit Delegation(Peer &p)
		: peer_(p)
		, session_(p, 1, [this](const Rpc &call) { take(call); })
		, file_("delegated" + std::to_string(session_.number()))
	{
		session_.compound({ { kReclaimComplete, 0 } });
		Nfs::create(file_);
		/* Not while locks can be reclaimed, whatever version's. */
		const long end = now() + 90000;

		while (!delegated(
			session_.compound({ { kPutrootfh }, open() }))) {
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
			if (session_.compound({}).at(10) & kPathBroken)
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
		Rpc call = calls_.front();

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
		const Words &id = session_.id();
		const auto at =
			std::search(w.begin(), w.end(), id.begin(), id.end());

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
		EXPECT_GE(failed, calls_again() ? 2u : 1u);
		EXPECT_LE(failed, kSeconds + 1u);
		EXPECT_LE(calls, kSeconds + 1u);
		EXPECT_TRUE(broken(kSoon));
	}

private:
	/* What OPEN gives, behind SEQUENCE and PUTROOTFH. */
	static bool delegated(const Words &r)
	{
		/* stateid, change, flags, attributes */
		const size_t attributes = 11 + 2 + 2 + 4 + 5 + 1;

		return r.at(attributes + 1 + r.at(attributes)) == 1;
	}
	/* To read, a file that exists. */
	Words open()
	{
		Octets name(file_.begin(), file_.end());
		const u32 length = static_cast<u32>(name.size());

		name.resize((name.size() + 3) & ~3UL);
		return Words{ kOpen, 0, 1, 0 } + session_.client() +
		       Words{ 4, session_.number(), 0, 0, length } +
		       words(name);
	}
	void take(const Rpc &r)
	{
		const Words w = words(r.stream);

		if (w.size() < 6 || w[1] != 0 || w[3] != Session::kProgram ||
		    w[5] != 1)
			throw Failure("this is no CB_COMPOUND");
		EXPECT_TRUE(r.reads.empty() && r.call.empty());
		EXPECT_TRUE(r.writes.empty() && !r.reply);
		calls_.push_back(r);
	}

	Peer &peer_;
	std::vector<Rpc> calls_;
	Session session_;
	std::string file_;
};

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
