/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * One run: machines, their connections, and the order of events.
 *
 * A server and one to three clients. Everything that may happen next is a source;
 * each step picks one at random. There is no time, but slow things are picked
 * seldom. When nothing can happen any more every RPC must be over: only a connection
 * with a hostile peer may wait for a time-out.
 */
#ifndef _RPCRDMA_SIM_WORLD_H
#define _RPCRDMA_SIM_WORLD_H

#include "auth.h"
#include "options.h"
#include "pings.h"
#include "requester.h"
#include "responder.h"

#include <map>
#include <optional>

namespace sim
{

/* Octets of a page; all sizes here are smaller than life. */
inline constexpr u32 kPage = 256;

struct Pair;

/* One connection, with what both ends keep for it. */
class Link {
public:
	/* One end, as the owner of its Conn. */
	class End final : public Owner {
	public:
		End(Link &l, u32 s);

		void ready() override;
		Taken payload(const rpcrdma_rx &rx, Receive &r,
			      u32 invalidated) override;
		void stalled() override
		{
			responder.stalled();
		}
		void abandon(rpcrdma_dir dir) override;
		void failed(const rpcrdma_rx &rx) override;
		void reply_refused(u32 xid) override;
		void fault(u64 call, bool sure) override;
		void no_room() override;
		void room() override;
		void gone() override;
		void crash();

		Link &link;
		const u32 side;
		Conn conn;
		Responder responder;
		pings::Ledger pings;
		std::vector<Part> reply; /* that comes by a group */

	private:
		[[nodiscard]] Taken reply_group(const rpcrdma_rx &rx,
						Receive &r, u32 invalidated);
		void put_reply();
	};

	Link(World &w, Pair &p);

	[[nodiscard]] const char *name(u32 side) const;
	/* The peer may have been told anything: only survival counts. */
	void taint();
	void excuse(u32 key)
	{
		excused_.push_back(key);
	}
	/* It is nobody's fault that @key admits nothing. */
	[[nodiscard]] bool excused(u32 key) const;
	/* A message from @side arrives. Return: its length now. */
	[[nodiscard]] u32 mangle(u32 side, u8 *buffer, u32 length, u32 size);
	/* Something that @side's core has not sent. */
	void inject(u32 side);
	[[nodiscard]] bool forgotten() const;
	/* There is something at @side that a restart would end. */
	[[nodiscard]] bool alive(u32 side) const
	{
		return ends[side]->conn.life != Conn::Life::Gone ||
		       ends[side]->responder.threads_left();
	}

	World &world;
	Pair &pair;
	QueuePair qp[2];
	bool disconnected[2] = {};
	bool tainted = false;
	u32 to_mangle[2] = {}; /* messages */
	std::optional<End> ends[2];

private:
	std::vector<u32> excused_;
	Octets last_[2];
};

/* A Call that has broken a connection. */
struct Blame {
	static constexpr u32 kUntold = UINT32_MAX;

	u32 xid;
	u32 number; /* of its RPC, or kUntold if its first octets did not say */
};

/* A client, and what the server keeps for it. */
struct Pair {
	Pair(World &w, u32 index, u32 address);

	const u32 index;
	const u32 address; /* some share one */
	ConnConfig config[2] = {};
	ServiceLimits limits[2] = {};
	bool invalidates[2] = {};
	Service callbacks; /* the client's threads */
	Requester requester[2];
	pings::Budget pings[2];
	std::vector<std::unique_ptr<Link>> links; /* the last one counts */
	bool ever_tainted = false;
	std::vector<Blame> blamed[2]; /* Calls of each side */
	bool version1 = false; /* what they agree on */
	bool private_data[2] = {}; /* is sent when connecting */
	bool welcomes = false; /* remote invalidation, in version 1 */
	rpcrdma_auth auth[2] = {};

	/* In version 1 a server cannot call before its client has. */
	[[nodiscard]] bool over() const
	{
		return requester[0].over() &&
		       (requester[1].over() ||
			(version1 && !requester[1].active()));
	}
};

/* What many runs have done, to see that they do reach things. */
struct Tally {
	u64 seeds = 0;
	u64 steps = 0;
	u64 ends[4] = {};
	u64 links = 0;
	u64 links_v1 = 0;
	u64 effects[static_cast<u32>(Fault::Count)] = {};
	u64 reads = 0;
	u64 writes = 0;
	u64 call_chunks = 0;
	u64 reply_chunks = 0;
	u64 continued = 0;
	u64 retries = 0;
	u64 not_admitted = 0;
	u64 no_room = 0; /* of these, for Sends */
	u64 no_regions = 0; /* Calls that waited for one */
	u64 writes_waited = 0; /* Replies that waited for some */
	u64 queued_behind = 0; /* Calls that others waited before */
	u64 tried_again = 0; /* Calls and Replies that found no memory at first */
	u64 stalled = 0; /* Receives that did */
	u64 behind = 0; /* and others waited for them */
	u64 pooled[2] = {}; /* Replies that are in the account, and in the pool */
	u64 looked_in_vain = 0; /* threads, since Replies were too many or too large */
	u64 looked_again = 0; /* and it had come back before they waited */
	u64 endings = 0; /* connections whose owner does not wait any more */
	u64 regions_kept = 0; /* by these */
	u64 streamed = 0; /* Calls, since the way is long */
	u64 grants = 0;
	u64 chained = 0; /* Sends posted with others, how often */
	u64 alone = 0; /* messages that were not queued */
	u64 alone_again = 0; /* and others had something to do meanwhile */
	u64 built = 0; /* Sends copied while others had the lock */
	u64 batched = 0; /* Receives posted with others, how often */
	u64 held = 0;
	u64 short_of_memory = 0; /* a Call that was held back */
	u64 forced = 0; /* more memory than the budget had */
	u64 marks = 0; /* for want of memory */
	u64 ring_grown = 0; /* buffers of Sends that were made, */
	u64 ring_refused = 0; /* that could not be, */
	u64 ring_shrunk = 0; /* and that were taken away */
	u64 lost_sends = 0; /* signaled ones, whose end nobody was told of */
	u64 lost_reads = 0;
	u64 repeated_reads = 0;
	u64 lost_invalidates = 0;
	u64 callbacks = 0; /* answered */
	u64 remote_invalidates = 0;
	u64 several_clients = 0; /* seeds */
	u64 one_address = 0; /* of these */
	u64 pings = 0;
	u64 pongs = 0;
	u64 pings_overtaken = 0; /* by the end of their connection */
	u64 pings_more = 0; /* the message that changes a property */
	/* values that were asked for, by what became of them */
	u64 changes
		[4] = {}; /* done, rejected, pending, pending and then over */
	u64 grown = 0; /* Receives, and their peer was told */
	u64 shrunk = 0;
	/* what the rule has asked for, and got */
	u64 ruled[4] = {}; /* larger Receives, smaller, smaller Sends, larger */
	u64 own_sends_small = 0; /* for want of memory */
	u64 wishes_kept = 0; /* until there was room to ask */
	u64 asked_early = 0; /* and will get it: before the rule was followed */
	u64 began_small = 0;
	u64 began_late =
		0; /* Receives were made when the first message had come */
	u64 one_sided = 0; /* FINALs */
	u64 groups = 0;
	u64 long_groups = 0; /* of several Sends */
	u64 long_replies = 0; /* of these, Replies */
	u64 no_group = 0; /* for want of credit */
	u64 placed[2] = {}; /* Calls and Replies of which data are placed */
	u64 refused[2] = {}; /* Calls and Replies by a group, and sent again */
	u64 replies_not_kept = 0; /* that were refused */
	/* Calls by groups that were sent again while they had no answer, and of these: */
	u64 repeated = 0;
	u64 repeated_answered = 0; /* Replies when the RPC had one */
	u64 repeated_ignored = 0; /* Replies, and another is waited for */
	u64 repeated_withdrawn = 0; /* they had the Reply to another one */
	u64 repeated_refused = 0; /* groups, and nothing goes again */
	u64 kept_too_large = 0; /* Replies were few, and had too many octets */
	u64 offered = 0; /* Calls by a group that name memory for results */
	u64 written = 0; /* results of these that were written there */
	u64 sent_instead = 0; /* that came by Sends */
	u64 written_refused = 0; /* Replies with RDMA Writes, sent again */
	/* Calls by a group that have items in memory: others, in one Receive */
	u64 fetched[2] = {};
	u64 fetched_mixed = 0; /* other items of these came by Sends */
	/* their RDMA Reads did not come to an end, since: */
	u64 fetch_refused = 0; /* the group was refused */
	u64 fetch_failed = 0; /* they could not start */
	u64 fetch_broken = 0; /* the connection ended */
	u64 fetch_cancelled = 0; /* the RPC was given up */
	u64 strays = 0;
	u64 strays_refused = 0;
	u64 authenticated = 0; /* ends that require it */

	void add(const Tally &t);
};

/* What a seed has at most: faults, and RPCs of both sides of all clients. */
inline constexpr u32 kMostActs = 5;
inline constexpr u32 kMostRpcs = 42;

class World {
public:
	explicit World(const Options &o);
	~World();

	/* Throws Failure. */
	void run();

	/* What the parts ask for. */
	[[nodiscard]] bool allocates();
	/* Allocations that have failed. */
	[[nodiscard]] u64 denied() const
	{
		return tally.effects[static_cast<u32>(Fault::Allocation)];
	}
	[[nodiscard]] bool loses_flush();
	/* A fault has changed what happens. */
	void effect(Fault f)
	{
		tally.effects[static_cast<u32>(f)]++;
	}
	[[nodiscard]] u32 seconds() const
	{
		return seconds_;
	}
	[[nodiscard]] bool may_fail(const Shape &s, u32 pair, u32 side) const;
	[[nodiscard]] bool sends_invalidate(const Conn &c) const;
	/* A Call has come whole. Return: what the Reply is to be. */
	[[nodiscard]] Shape arrived(const Conn &c, const Octets &octets,
				    u32 xid);
	void progress()
	{
		progress_ = steps_;
	}
	/* rpcrdma_call_id() of a Call whose first part is @payload of @buffer. */
	[[nodiscard]] u64 call_id(const rpcrdma_rx &rx, const u8 *buffer);
	/* What it was made of. */
	[[nodiscard]] Blame blame(u64 call) const;
	[[nodiscard]] u32 largest_reply() const
	{
		return largest_reply_;
	}
	/* Something that is forgotten as time passes. */
	void remembered()
	{
		if (jumps_ && !jump_at_)
			jump_at_ = steps_ + chaos.within(1, 256);
	}
	void post_later(QueuePair &qp, const QueuePair::Posted &r);
	[[gnu::format(printf, 2, 3)]] void trace(const char *format, ...);
	/* Two runs that did the same have the same. */
	[[nodiscard]] u64 digest() const
	{
		return digest_;
	}

	const Options options;
	Random schedule; /* who is next */
	Random chaos; /* what faults are like */
	Service server;
	std::vector<std::unique_ptr<Pair>> pairs;
	Tally tally;

private:
	/* Something that may happen next. */
	enum Kind : u8 {
		Issue,
		Register,
		Arrive,
		Respond,
		Retire,
		CompleteSend,
		CompleteReceive,
		Call,
		Pick,
		Reply,
		Build,
		Tell,
		Resume,
		Work,
		Grow,
		Disconnected,
		Close,
		Destroy,
		Connect,
		Ping,
		Repeat,
		Ring,
		Kinds,
	};
	struct Source {
		Kind kind;
		u8 side;
		Link *link;
		Pair *pair;
	};
	struct Act {
		u32 step;
		Fault fault;
	};

	void configure(Random &random, Pair &p);
	void configure_rings(Random &random);
	void configure_pools(Random &random);
	void configure_versions(Random &random, Pair &p);
	void populate(Random &random, Pair &p);
	[[nodiscard]] Shape shape(Random &random, const Pair &p, u32 side);
	void plan_faults(Random &random);
	[[nodiscard]] bool step();
	void collect(Pair &p);
	void collect(Link &l, u32 side);
	void happen(const Source &s);
	void connect(Pair &p);
	void exchange_private_data(Link &l);
	void act(Fault f);
	void jump(u32 seconds);
	[[nodiscard]] Link *some_link();
	[[nodiscard]] bool time_out();
	[[noreturn]] void stuck() const;
	void restart_client(Pair &p);
	void restart_server();
	void finish();
	void forget();

	std::vector<Shape> shapes_; /* by number */
	std::map<u64, u32> calls_; /* their numbers, by rpcrdma_call_id() */
	u32 largest_reply_ = kRpcHeader;
	std::vector<Source> sources_;
	std::vector<Act> acts_; /* by step, the next one last */
	std::vector<std::pair<QueuePair *, QueuePair::Posted>> later_;
	u64 slow_ = 0; /* bits of sources that are seldom picked */
	u64 registering_ = 0; /* those of them that a fault has slowed */
	u64 stalled_ = 0;
	u32 stalled_until_ = 0;
	void note(u64 word)
	{
		digest_ = (digest_ ^ word) * 0x9e3779b97f4a7c15;
		digest_ ^= digest_ >> 29;
	}

	u64 digest_ = 0;
	u32 steps_ = 0;
	u32 progress_ = 0;
	u32 seconds_ = 1000;
	u32 failing_ = 0; /* allocations */
	u32 sparing_ = 0; /* those that come before */
	bool heavy_ = false; /* large Calls, little memory */
	bool one_address_ = false; /* of all clients, which use the same XIDs */
	u32 first_xid_ = 0;
	u32 jump_at_ = 0; /* step */
	bool jumps_ = false;
	bool losing_ = false;
};

/* What the core has complained of in this thread, or nullptr. */
extern thread_local const char *broken;

/* This run has that bug. */
[[nodiscard]] inline bool planted(const Conn &c, Mutant m)
{
	return c.world.options.mutant == m;
}

} // namespace sim

#endif /* _RPCRDMA_SIM_WORLD_H */
