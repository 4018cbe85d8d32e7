/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The Requester of one endpoint: the work of client/request.c and client/reply.c, and
 * the parts of sunrpc that send again and give up. The server's callbacks also use it,
 * but end with their connection.
 */
#ifndef _RPCRDMA_SIM_REQUESTER_H
#define _RPCRDMA_SIM_REQUESTER_H

#include "conn.h"
#include "rpc.h"

#include <deque>

namespace sim
{

class Requester;

class Rpc final : public Outgoing, public Invalidated {
public:
	enum class State : u8 {
		New,
		Queued, /* to be sent, or sent again */
		Waiting, /* for credit, or the Reply */
		Ending, /* for invalidation */
		Over,
	};
	enum class End : u8 { Answered, Failed, Cancelled, Crashed };

	Rpc(Requester &r, const Shape &s)
		: requester(r)
		, shape(s)
	{
	}
	void chain() override;
	void done(Error error) override;
	void unreachable() override;

	Requester &requester;
	const Shape shape;
	u32 xid = 0;
	State state = State::New;
	End end = End::Failed;
	u32 ends = 0; /* how often it has ended: once is right */
	Conn *conn = nullptr;
	const Conn *answered = nullptr; /* on which all of the Reply came */
	Regions mrs;
	rpcrdma_chunks chunks = {};
	rpcrdma_call_plan plan = {};
	u32 avoid = 0;
	s32 refused = 0; /* while it is being sent; kAgain to send again */
	s32 status = 0;
	u64 denied = 0; /* allocations, when it began */
	bool cancelled = false;
	bool repeated = false; /* it went again before it was answered */
	bool external = false;
	bool unwritten = false; /* results came by a group, and none by RDMA */
	bool excused = false; /* may fail */
	bool wrong = false; /* other octets came than were sent */
	u32 length = 0; /* of the Reply's stream */
	u32 taken = 0; /* octets of it that have come */
	u32 written[kItems] = {};
	Octets call;
	Octets stream;
	Octets results[kItems];
};

/* A Call that goes again, by a further group. Its RPC may be over before that. */
class Repeated final : public Outgoing {
public:
	explicit Repeated(const Rpc &r);
	void done(Error error) override;

	const Rpc &rpc;
	Conn &conn;

private:
	const Octets call_;
};

class Requester {
public:
	static constexpr s32 kAgain = -85; /* ERESTART */

	Requester(World &w, u32 pair, u32 side)
		: world(w)
		, pair_(pair)
		, side_(side)
	{
	}
	void add(const Shape &s)
	{
		rpcs_.emplace_back(*this, s);
	}
	void set_slots(u32 slots, u32 first_xid)
	{
		slots_ = slots;
		xid_ = first_xid;
	}

	/* What may happen next: an RPC is sent. */
	[[nodiscard]] bool can_run() const
	{
		if (!conn || !conn->open())
			return false;
		if (writer_ != Writer::Nobody)
			return true;
		if (full_)
			return may_begin() && rpcs_[begun_].shape.probe;
		return !queued_.empty() || may_begin();
	}
	void run();
	/* Likewise: one that has gone out goes again. */
	[[nodiscard]] bool can_repeat() const
	{
		return !to_repeat_.empty();
	}
	void repeat();
	[[nodiscard]] bool over() const
	{
		return begun_ == rpcs_.size() && active_.empty();
	}
	[[nodiscard]] bool version1() const;
	/*
	 * This Call has broken a connection. So has, as far as the peer can tell, a Call of
	 * the same XID if its first octets, or those of the other, say no more.
	 */
	[[nodiscard]] bool blamed(const Rpc &r) const;
	/*
	 * An ERROR has no direction (D6): what is said about a Reply that is
	 * too large ends an RPC of the other side that has the same XID.
	 */
	[[nodiscard]] bool twin_excused(u32 xid) const;
	/* Version 1 cannot do without what there is no memory for. */
	[[nodiscard]] bool no_other_way(const Rpc &r) const;
	[[nodiscard]] u32 active() const
	{
		return static_cast<u32>(active_.size());
	}
	/* Some have been given up: the peer may still be busy with them. */
	[[nodiscard]] bool cancelled() const
	{
		return cancelled_;
	}
	/* One that is not over, or nullptr. */
	[[nodiscard]] const Rpc *waiting() const
	{
		return active_.empty() ? nullptr : active_.front();
	}
	/* All of a Reply with this XID has come by @c, and none is to come. */
	[[nodiscard]] bool has_answer(const Conn &c, u32 xid) const;
	/*
	 * The Calls of this XID that @c has sent have not all been answered. @errors_count:
	 * errors are about one of them, also if the other side has the same XID.
	 */
	[[nodiscard]] bool has_more(const Conn &c, u32 xid,
				    bool errors_count) const;
	/* One that @c has not let go of, or nullptr. */
	[[nodiscard]] const Rpc *carried_by(const Conn &c) const;
	/* Give up one of the RPCs that are under way, if there is any. */
	void cancel_one();
	/* Those of a connection that does not behave. */
	void excuse(const Conn &c);

	/* What a connection reports. */
	void use(Conn &c)
	{
		conn = &c;
		full_ = false;
		writer_ = Writer::Nobody;
	}
	void payload(Conn &c, const rpcrdma_rx &rx, const u8 *buffer,
		     u32 invalidated);
	void failed(Conn &c, const rpcrdma_rx &rx);
	void gone(Conn &c);
	/* There is no room for a Call now. */
	void no_room();
	/* There is room for a Call on @c. */
	void room(Conn &c)
	{
		full_ &= conn != &c;
	}
	/* The machine has stopped. */
	void crash();

	/* What an RPC reports. */
	void sent(Rpc &r, Error error);
	void unreachable(Rpc &r);
	void repeated(Repeated &m);

	World &world;
	Conn *conn = nullptr; /* where new RPCs go */

private:
	/* What the task does next that has the write lock. */
	enum class Writer : u8 {
		Nobody,
		Waits, /* there was no region */
		LooksAgain, /* one may have come back meanwhile */
		WaitsLate, /* a planted bug */
	};

	void send_on();
	[[nodiscard]] bool may_begin() const
	{
		return begun_ < rpcs_.size() && active_.size() < slots_;
	}
	void begin(Rpc &r);
	void send(Rpc &r);
	[[nodiscard]] bool asks(const Rpc &r) const;
	void not_admitted(Rpc &r);
	[[nodiscard]] Error prepare(Rpc &r);
	[[nodiscard]] int body(Rpc &r, Octets &octets,
			       const rpcrdma_range *removed, u32 n_removed,
			       bool write, rpcrdma_segment *segs);
	[[nodiscard]] Rpc *find(const Conn &c, u32 xid);
	[[nodiscard]] bool take(Rpc &r, const rpcrdma_rx &rx, const u8 *buffer);
	void withdraw_repeated(const Conn &c, u32 xid);
	[[nodiscard]] bool has_twin(u32 xid) const;
	[[nodiscard]] bool ignores(Conn &c, Rpc &r, const rpcrdma_rx &rx);
	void fail_queued(const Conn &c, u32 xid);
	void fail_rpc(Rpc &r, s32 error);
	void finish(Rpc &r, s32 status);
	void over(Rpc &r, Rpc::End end);
	[[nodiscard]] bool right(Rpc &r);

	u32 pair_;
	u32 side_;
	u32 slots_ = 1;
	u32 xid_ = 0;
	u32 begun_ = 0;
	bool cancelled_ = false;
	std::deque<Rpc> rpcs_;
	std::vector<Rpc *> active_;
	Queue<Rpc *> queued_;
	Queue<Rpc *> to_repeat_;
	std::vector<std::unique_ptr<Repeated>> repeated_; /* that are to go */
	/* XPRT_WRITE_SPACE: the first of them waits for room, and all others behind it. */
	bool full_ = false;
	Writer writer_ = Writer::Nobody;
};

} // namespace sim

#endif /* _RPCRDMA_SIM_REQUESTER_H */
