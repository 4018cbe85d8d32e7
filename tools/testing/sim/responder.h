/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The Responder of one endpoint on one connection: the work of server/receive.c,
 * server/sendto.c and server/rdma_rw.c, and nfsd's threads. The same code
 * serves callbacks on the client.
 *
 * The bounds are those of server/call.c and server/sendto.c, see README. A
 * client holds no Receive back and refuses Calls beyond its bound (client/backchannel.c).
 * If both sides held Receives back, each could wait for the other's credit with a
 * message half sent.
 */
#ifndef _RPCRDMA_SIM_RESPONDER_H
#define _RPCRDMA_SIM_RESPONDER_H

#include "conn.h"
#include "rpc.h"

#include <rpcrdma/budget.h>
#include <rpcrdma/recent.h>

namespace sim
{

class Responder;

/* RPCRDMA_SVC_SENT and RPCRDMA_SVC_SENT_MEMORY, for fewer and smaller Replies */
inline constexpr u32 kMostKept = 3;
inline constexpr u32 kMostKeptOctets = 2048;

/* A Receive of a group, and what of the Payload stream it has. */
struct Part {
	Receive *receive;
	rpcrdma_range payload;
};

/* Threads and memory of the machine that serves, for all its connections. */
struct Service {
	u32 threads = 1;
	u32 busy = 0;
	rpcrdma_budget budget = {}; /* its limit grows with each reserve */
	rpcrdma_recent failed_calls = {};
};

struct ServiceLimits {
	u32 call_memory; /* C */
	u32 replies; /* N */
	u32 reply_memory; /* Q */
	u32 max_call; /* M */
	bool holds; /* Receives, until there is a thread or memory */
	u32 kept_v1; /* Calls of version 1 that stay in their Receives */
	u32 slots; /* else: Calls that are served at a time */
	u32 reads; /* RDMA Reads that the device has room for at a time */
	/* Its memory regions for RDMA Reads and Writes. A message that needs more has as many. */
	u32 regions;
	u32 pool = 0; /* octets of Replies that are in no account */
};

/* Octets that RDMA Read or Write moves. */
struct Operation {
	u8 *local;
	u32 length;
	u32 handle;
	u64 address;
};

/* A Call, and the Reads that it waits for: rpcrdma_svc_call and _read. */
struct IncomingCall final : public Job, public Completer {
	/* The last of its Reads. */
	struct Last final : Completer {
		IncomingCall *call = nullptr;

		void complete(const Completion &c) override;
	};

	Responder *responder = nullptr;
	Last last;
	Receive *receive = nullptr;
	rpcrdma_range payload = {};
	std::vector<Part> group; /* in these Receives, if it came by a group */
	Octets octets; /* if they are not in Receives */
	Octets laid_out; /* where Reads go */
	u32 pages = 0;
	u32 length = 0;
	u32 unreduced = 0;
	u32 inv_handle = 0;
	u32 sending = 0; /* see Outgoing, */
	std::shared_ptr<const rpcrdma_rtr_directions> directions; /* too */
	bool external = false;
	bool reading = false;
	/* It came by a group, and items of it are to be read. */
	bool fetched = false;
	/* Its octets are where they are in the whole Call, or will be. */
	bool in_place = false;
	rpcrdma_chunks chunks = {};
	std::vector<Operation> operations;
	Shape shape = {}; /* once a thread has it */

	void post() override;
	void done(Error error) override;
	void complete(const Completion &c) override;
};

struct OutgoingReply final : public Outgoing, public Completer {
	Responder *responder = nullptr;
	Octets message;
	Shape shape = {};
	rpcrdma_reply_plan plan = {};
	u32 memory = 0;
	bool pooled = false; /* which is not in the account */
	u32 regions = 0; /* that its RDMA Writes have */
	bool sent = false; /* by a group, and is kept */
	bool refused = false;

	void chain() override;
	void ungroup() override;
	void done(Error error) override;
	void complete(const Completion &c) override;
};

class Responder {
public:
	Responder(Conn &c, Service &service, const ServiceLimits &limits,
		  u64 peer);
	~Responder();

	/* What the connection reports. */
	[[nodiscard]] Taken payload(const rpcrdma_rx &rx, Receive &r);
	/* payload() has returned Again: the work item tries. */
	void stalled();
	void abandon();
	void fault(u64 call, bool sure);
	/* A Reply that went by a group. Return: it is sent again. */
	[[nodiscard]] bool refused(u32 xid);
	void gone();
	/* The machine has stopped. */
	void crash();

	/* What may happen next: a thread looks for a Call, or has its Reply. */
	[[nodiscard]] bool can_pick() const
	{
		return enqueued_ && !ready_.empty() &&
		       service.busy < service.threads;
	}
	void pick();
	/* A work item looks whether what waits can go on. */
	[[nodiscard]] bool has_work() const
	{
		return resume_asked_;
	}
	void work();
	[[nodiscard]] bool can_reply() const
	{
		return !executing_.empty();
	}
	void reply();

	/* What Calls and Replies report. */
	void read_done(IncomingCall &job, Error error);
	void reply_done(OutgoingReply &reply, Error error);
	void remove(OutgoingReply &reply);

	[[nodiscard]] u32 call_memory() const
	{
		return account_.used[RPCRDMA_BUDGET_CALLS];
	}
	/* What holds between two events of the account and the budget. */
	[[nodiscard]] bool memory_sound() const;
	[[nodiscard]] u32 call_bound() const;
	[[nodiscard]] u32 reply_memory() const
	{
		return account_.used[RPCRDMA_BUDGET_REPLIES];
	}
	[[nodiscard]] u32 reply_bound() const;
	/* What the account should have of them, or the pool. */
	[[nodiscard]] u32 octets_of_replies(bool pooled) const;
	[[nodiscard]] u32 replies() const
	{
		return static_cast<u32>(replies_.size());
	}
	/* What is counted of them. */
	[[nodiscard]] const rpcrdma_replies &counted() const
	{
		return counted_;
	}
	/* Calls whose Reads are under way. */
	[[nodiscard]] u32 reading() const
	{
		return static_cast<u32>(reading_.size());
	}
	[[nodiscard]] bool idle() const;
	/* Replies that are kept, in case that the peer refuses one. */
	[[nodiscard]] u32 kept() const;
	[[nodiscard]] u32 octets_kept() const;
	/* What is counted of these. */
	[[nodiscard]] u32 kept_memory() const
	{
		return sent_memory_;
	}
	[[nodiscard]] bool threads_left() const
	{
		return !executing_.empty();
	}

	Conn &conn;
	Service &service;
	const ServiceLimits limits;

private:
	using CallPtr = std::unique_ptr<IncomingCall>;

	[[nodiscard]] bool replies_full() const;
	[[nodiscard]] Error single(const rpcrdma_rx &rx, Receive &r,
				   bool &kept);
	[[nodiscard]] Error fragment(const rpcrdma_rx &rx, Receive &r,
				     bool &kept);
	[[nodiscard]] Error group(const rpcrdma_rx &rx, Receive &r, bool &kept);
	void put_group(std::vector<Part> &group);
	[[nodiscard]] Error fetch(CallPtr call, bool placed);
	[[nodiscard]] Error wait(CallPtr call);
	[[nodiscard]] CallPtr new_call(const rpcrdma_rx &rx, u64 id);
	[[nodiscard]] Taken no_memory();
	[[nodiscard]] bool too_many(u32 xid);
	[[nodiscard]] bool answered_before(u64 call);
	void resume();
	void freed();
	[[nodiscard]] bool patient();
	[[nodiscard]] bool call(u32 octets, bool alone);
	void take(u32 kind, u32 octets);
	void hurry();
	[[nodiscard]] bool put(u32 kind, u32 octets);
	void put_call(u32 octets);
	[[nodiscard]] rpcrdma_replies_limits replies_limits() const
	{
		return { limits.replies, limits.pool };
	}
	void take_reply(OutgoingReply &reply);
	void put_reply(const OutgoingReply &reply);
	void close_account();
	void make_ready(CallPtr call);
	[[nodiscard]] CallPtr next_to_read(bool &alone);
	[[nodiscard]] Error start_reads(CallPtr &call);
	[[nodiscard]] Error lay_out(IncomingCall &call);
	void lay_out_reads(IncomingCall &call) const;
	[[nodiscard]] bool has_room(const IncomingCall &call) const;
	[[nodiscard]] u32 regions() const;
	[[nodiscard]] bool has_regions(size_t count) const;
	[[nodiscard]] bool reads_failed(CallPtr call, bool alone, Error error);
	[[nodiscard]] bool sound(const IncomingCall &call) const;
	[[nodiscard]] Error send(OutgoingReply &reply,
				 const IncomingCall &call);
	[[nodiscard]] Error prepare(OutgoingReply &reply);
	void resume_writes();
	void failed(OutgoingReply &reply, Error error);
	void send_again(OutgoingReply &reply);
	void sent_take(OutgoingReply &reply);
	[[nodiscard]] bool surplus() const;
	void drop_sent(bool all);

	const u64 peer_;
	CallPtr partial_;
	std::vector<Part> group_; /* that comes */
	u64 group_id_ = 0;
	/* For a planted bug: what each Call has directed first, by XID. */
	std::map<u32, std::shared_ptr<const rpcrdma_rtr_directions>>
		directed_first_;
	bool group_usable_ = false;
	std::vector<CallPtr> ready_; /* in order of arrival */
	size_t came_ = 0; /* of these, since a thread has taken all that had come */
	bool enqueued_ = false; /* a thread is to look at them */
	std::vector<CallPtr> waiting_;
	std::vector<CallPtr> reading_;
	std::vector<CallPtr> executing_;
	std::vector<Receive *> held_;
	std::vector<std::unique_ptr<OutgoingReply>> replies_;
	/* Of these, those whose RDMA Writes wait for regions. */
	std::vector<OutgoingReply *> no_regions_;
	bool resume_asked_ = false; /* the work item is to look at what waits */
	u32 n_reading_ = 0; /* being started, or under way */
	u32 n_sent_ = 0; /* of replies_, those that are sent and kept */
	u32 sent_memory_ = 0; /* octets of these */
	rpcrdma_account account_ = {};
	rpcrdma_replies counted_ = {};
	bool gone_ = false;
};

} // namespace sim

#endif /* _RPCRDMA_SIM_RESPONDER_H */
