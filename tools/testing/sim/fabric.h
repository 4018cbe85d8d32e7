/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Two queue pairs of an RC connection, and the network between them.
 *
 * It does all that the InfiniBand specification allows (fabric.cpp says what a connection
 * loses when it ends): Work Requests of a send queue begin in order and
 * complete in order. Sends and RDMA Writes arrive in order, an RDMA Write byte by
 * byte. The other end executes an RDMA Read in order, but its data may be placed
 * after later Sends have arrived. A message that finds no Receive, or
 * too small a Receive, ends the connection, and so does an access outside a region. Buffers
 * are read when the device sends, not when they are posted. Each queue delivers its
 * completions in order, at any time, and independently of all others.
 */
#ifndef _RPCRDMA_SIM_FABRIC_H
#define _RPCRDMA_SIM_FABRIC_H

#include "base.h"

namespace sim
{

class Link;

enum class Status : u8 {
	Success,
	Flushed,
	Unreachable, /* the other queue pair is gone */
	RemoteAccess, /* no region admits it */
	RemoteInvalid, /* the message fits no Receive */
	RemoteOperation, /* the handle cannot be invalidated */
};

struct Completion {
	Status status = Status::Success;
	u32 length = 0;
	u32 invalidated = 0;
	u32 sending = 0;
};

/* Who is told when a Work Request ends. */
class Completer {
public:
	virtual void complete(const Completion &c) = 0;

protected:
	~Completer() = default;
};

/* What a memory region admits. */
struct Window {
	u8 *base = nullptr;
	u32 length = 0;
	u64 address = 0;
	bool writable = false;
	const void *owner = nullptr; /* the RPC whose memory it is */
};

/* A memory region as the device sees it. */
struct Region {
	Window window;
	u32 key = 0;
	bool valid = false;
};

struct WorkRequest {
	enum Op : u8 {
		Register,
		Invalidate,
		Send,
		SendInvalidate,
		Write,
		Read,
	};

	Op op = Send;
	bool signaled = false;
	bool done = false;
	Completer *owner = nullptr;
	Region *region = nullptr; /* Register, Invalidate */
	Window window; /* Register */
	u32 key = 0;
	u64 address = 0;
	u8 *local = nullptr;
	u32 length = 0;
	/* Of a Send, for checkers: see Outgoing. */
	u32 sending = 0;
	u32 at = 0; /* octets carried out */
	u32 placed = 0; /* Read: octets that have come back */
};

/* Octets moved at a time by RDMA Read and Write. */
inline constexpr u32 kMtu = 512;

class QueuePair {
public:
	enum class State : u8 { Up, Error };

	struct Posted {
		u8 *buffer = nullptr;
		u32 size = 0;
		Completer *owner = nullptr;
	};
	struct Queued {
		Completer *owner = nullptr;
		Completion completion;
	};

	void bind(Link *link, u32 side)
	{
		link_ = link;
		side_ = side;
	}
	[[nodiscard]] bool up() const
	{
		return state_ == State::Up;
	}
	void post_send(const WorkRequest &wr);
	void post_receive(const Posted &r);
	void add_region(Region *r)
	{
		regions_.push_back(r);
	}
	/* The end: everything posted is flushed, but @number has @status. */
	void error(Status status = Status::Flushed, u32 number = 0);
	/* The same for this end's last time, which posts nothing any more: ib_drain_qp(). */
	void drain()
	{
		error();
		draining_ = true;
	}
	/* The machine has stopped: nobody is told of anything. */
	void crash();
	/* Regions whose memory @owner has, and that the peer can reach. */
	[[nodiscard]] u32 reachable(const void *owner) const;
	[[nodiscard]] Region *region(u32 key) const;

	/* What may happen next, and its happening. */
	[[nodiscard]] bool can_issue() const
	{
		return issued_ < sq_.size();
	}
	void issue();
	/* The next is to register memory. */
	[[nodiscard]] bool registers() const
	{
		return can_issue() && sq_[issued_].op == WorkRequest::Register;
	}
	[[nodiscard]] bool can_arrive() const
	{
		return !wire_.empty();
	}
	void arrive();
	[[nodiscard]] bool can_respond() const
	{
		return !responses_.empty();
	}
	void respond();
	[[nodiscard]] bool can_retire() const
	{
		return !sq_.empty() && sq_[0].done;
	}
	void retire();
	[[nodiscard]] bool can_complete_send() const
	{
		return !send_cq_.empty();
	}
	void complete_send();
	/* A completion for @c waits to be told. */
	[[nodiscard]] bool tells(const Completer &c) const;
	[[nodiscard]] bool can_complete_receive() const
	{
		return !recv_cq_.empty();
	}
	void complete_receive();

	/* Work Requests on the send queue, but Local Invalidates. */
	[[nodiscard]] u32 requests() const
	{
		return sq_.size() - invalidates_;
	}
	[[nodiscard]] u32 invalidates() const
	{
		return invalidates_;
	}
	/* Octets that the peer can reach. */
	[[nodiscard]] u32 exposed() const;
	[[nodiscard]] u32 receives() const
	{
		return rq_.size();
	}
	[[nodiscard]] u32 receives_completed() const
	{
		return recv_cq_.size();
	}
	/* A message from nowhere, of which this end knows nothing. */
	void inject(const WorkRequest &wr, std::vector<u8> data);

private:
	/* On its way; one that its queue pair has forgotten has @data. */
	struct Packet {
		u32 number = 0;
		bool detached = false;
		WorkRequest wr;
		std::vector<u8> data;
	};
	struct Response {
		u32 number = 0;
		u32 offset = 0;
		u32 length = 0;
		u8 data[kMtu];
	};

	void deliver(WorkRequest &wr, Packet &p, QueuePair &to);
	[[nodiscard]] bool access(WorkRequest &wr, Packet &p, QueuePair &to);
	void refused(Packet &p, QueuePair &to, Status status);
	void posts() const;
	/* Nobody is told that it was flushed. */
	[[nodiscard]] bool lost(const WorkRequest &wr);
	void unreachable();
	[[nodiscard]] WorkRequest &numbered(u32 number)
	{
		return sq_[number - first_];
	}

	Link *link_ = nullptr;
	u32 side_ = 0;
	State state_ = State::Up;
	bool draining_ = false;
	Queue<WorkRequest> sq_;
	u32 first_ = 0; /* number of the oldest in sq_ */
	u32 issued_ = 0;
	u32 invalidates_ = 0;
	Queue<Packet> wire_;
	Queue<Response> responses_;
	Queue<Posted> rq_;
	Queue<Queued> send_cq_;
	Queue<Queued> recv_cq_;
	std::vector<Region *> regions_;
};

} // namespace sim

#endif /* _RPCRDMA_SIM_FABRIC_H */
