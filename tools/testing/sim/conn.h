/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * One end of a connection: it does the work of the module's verbs/, over the simulated
 * fabric. Its parts are those of verbs/: send.c with pump.c, sent.c, fill.c, cancel.c and job.c;
 * ring.c; recv.c with window.c; and frwr.c. They have the same names and the same order of steps.
 */
#ifndef _RPCRDMA_SIM_CONN_H
#define _RPCRDMA_SIM_CONN_H

#include "fabric.h"
#include "ring.h"

#include <map>

struct rpcrdma_rtr_directions;

namespace sim
{

class Conn;
class World;

namespace groups
{
struct Sending;
}

/* What the module calls negative errnos. */
enum class Error : u8 {
	None,
	NotConnected,
	NoMemory,
	NoRegion,
	Again,
	NoSpace,
	MessageSize,
	Io,
	NoCredit,
	NoRoom,
};

/* A message to be sent: rpcrdma_txmsg. */
class Outgoing {
public:
	rpcrdma_message msg = {};
	const u8 *octets = nullptr; /* of the unreduced message */
	rpcrdma_range removed[RPCRDMA_MAX_CHUNKS] = {};
	u32 n_removed = 0;
	/* What may be placed by Sends, in the unreduced message: the Call's, or its results. */
	const rpcrdma_range *items = nullptr;
	u32 n_items = 0;
	u32 n_results = 0; /* of a Call: what may be placed of its Reply */
	/* Its chunks are memory for that, or of what may be placed, and nothing else. */
	bool offers = false;
	bool grouped = false; /* it goes, or has gone, by a group */
	/* A Reply that is to go by a group as its Call directs. */
	std::shared_ptr<groups::Sending> group;
	/* Of a Reply, what that says, if its Call came by a group. */
	std::shared_ptr<const rpcrdma_rtr_directions> directions;
	bool no_group = false; /* the peer has refused it so */
	bool only_group = false; /* if it cannot go so it does not go */
	u32 chain_cost = 0;
	u32 invalidate = 0;
	u64 call = 0; /* of a Reply, rpcrdma_call_id() of its Call */
	/*
	 * Each time that a Call is handed to a connection it has another number, which its
	 * Reply has, too. No header says it: it tells checkers which one is answered.
	 */
	u32 sending = 0;
	bool hold = false;
	bool gather = false; /* its octets are sent from their place */
	bool direct = false;
	bool over = false; /* done() is to be called with @outcome */
	Error outcome = Error::None;
	bool queued = false;
	u64 turn = 0; /* as messages were handed to the connection */

	/* As rpcrdma_txmsg_done(). */
	void finish(Error error)
	{
		if (!direct)
			return done(error);
		over = true;
		outcome = error;
	}

	/* Post what goes before the first Send. */
	virtual void chain()
	{
	}
	/* It goes by the types of -07: nothing is posted before it. */
	virtual void ungroup()
	{
	}
	/* The last Send is posted, or has completed if it is to be held. */
	virtual void done(Error error) = 0;

protected:
	~Outgoing() = default;
};

/* Work Requests that carry no message: rpcrdma_job. */
class Job {
public:
	u32 cost = 0;
	u32 xid = 0;
	u64 call = 0; /* rpcrdma_call_id() */

	virtual void post() = 0;
	virtual void done(Error error) = 0;

protected:
	~Job() = default;
};

struct Receive final : Completer {
	Conn *conn = nullptr;
	std::unique_ptr<u8[]> buffer;
	u32 size = 0;
	u32 length = 0;
	u32 sending = 0; /* of what has come: see Outgoing */
	u32 invalidated = 0; /* likewise */
	bool kept = false;

	void complete(const Completion &c) override;
};

/* Told when the peer can no longer reach some regions. */
class Invalidated {
public:
	virtual void unreachable() = 0;

protected:
	~Invalidated() = default;
};

struct MemoryRegion final : Completer {
	Conn *conn = nullptr;
	Region region;
	u32 index = 0;
	u32 key = 0;
	Window window;
	Invalidated *waiter = nullptr;

	void complete(const Completion &c) override;
};

using Regions = std::vector<MemoryRegion *>;

/* What the owner did with a Receive: rpcrdma_recv_verdict. */
enum class Taken : u8 {
	No, /* it is free */
	Kept,
	Again,
};

/* What a connection tells its owner: rpcrdma_conn_ops. */
class Owner {
public:
	virtual void ready() = 0;
	virtual Taken payload(const rpcrdma_rx &rx, Receive &r,
			      u32 invalidated) = 0;
	virtual void stalled() = 0;
	virtual void abandon(rpcrdma_dir dir) = 0;
	virtual void failed(const rpcrdma_rx &rx) = 0;
	/* The peer has refused a Reply that went by a group. */
	virtual void reply_refused(u32 xid) = 0;
	virtual void fault(u64 call, bool sure) = 0;
	/* A Call was not admitted: until room() the owner keeps its Calls. */
	virtual void no_room() = 0;
	/* There is credit that a Call waits for, or there may be regions. */
	virtual void room() = 0;
	/* Nothing of the connection is left but what the owner has. */
	virtual void gone() = 0;

protected:
	~Owner() = default;
};

/* What has become of the Calls of one XID that this end has sent. */
struct Answers {
	bool expected = false; /* there is to be one */
	u32 sent = 0; /* of which the first Send is out */
	u32 replies = 0; /* that are whole, or were not taken */
	u32 refused = 0; /* groups */
	u32 errors = 0; /* that may be about Replies of this end (D6) */
	/* Replies that count, and of which a REPTERR is sent as well: they may come once more. */
	u32 again = 0;

	/* Of a further Reply it is known which Call it could be about. */
	[[nodiscard]] bool more(bool errors_count) const
	{
		return sent + again >
		       replies + refused + (errors_count ? errors : 0);
	}
};

struct ConnConfig {
	rpcrdma_config core;
	u32 sends;
	u32 rest; /* of these, with a buffer at rest */
	u32 sq_depth;
	u32 max_mrs;
	u32 first_mrs;
	u32 mr_octets;
};

/* Who waits for credit: rpcrdma_credit_waiter. */
inline constexpr u32 kPumpWaits = 1;
inline constexpr u32 kOwnerWaits = 2;

/* Sends of one chain at most: RPCRDMA_SEND_CHAIN. */
inline constexpr u32 kSendChain = 16;
/* RPCRDMA_SEND_BRIEF */
inline constexpr u32 kSendBrief = 512;
/* RPCRDMA_GATHER_SENDS */
inline constexpr u32 kGatherSends = 4;
/* RPCRDMA_STREAM_SPARES */
inline constexpr u32 kStreamSpares = 8;
/* RPCRDMA_OPENING_RECVS */
inline constexpr u32 kOpening = 2;
/* RPCRDMA_RECV_SLACK, for smaller windows */
inline constexpr u32 kSlack = 2;

/* rpcrdma_conn_stage: what may still be posted. Those up to RPCRDMA_CONN_UP are Open. */
enum class Stage : u8 { Open, Closed, Ending, Dead };

class Conn {
public:
	enum class Life : u8 { Alive, Draining, Gone };

	Conn(Link &link, u32 side, const ConnConfig &config, Owner &owner);

	/* Return: false if there was no memory; nothing can be done with it. */
	[[nodiscard]] bool create();

	/* With @ask only if the credits for all of @m are there, and room. */
	[[nodiscard]] Error send(Outgoing &m, bool ask = false);
	/*
	 * May this Call begin, or any if it is nullptr? So many Work Requests go in front of it. If
	 * it may not, the owner waits.
	 */
	[[nodiscard]] Error admits(rpcrdma_message *msg, u32 chain = 0);
	/* The owner waits for room. */
	[[nodiscard]] bool asks_room() const
	{
		return ring_.asked.sends;
	}
	/* There is what it has asked for. */
	[[nodiscard]] bool has_room() const;
	[[nodiscard]] Error start(Job &job);
	[[nodiscard]] bool fits(u32 cost) const
	{
		return cost < config.sq_depth / 2;
	}
	/* A part of @m is yet to be sent. */
	[[nodiscard]] bool pending(const Outgoing &m) const
	{
		return m.queued || pump_has(m);
	}
	/* One that waits, and should have gone before @m, or nullptr. */
	[[nodiscard]] const Outgoing *overtaken(const Outgoing &m) const;
	/* Wait until @m may be cancelled. */
	void settle(const Outgoing &m);
	void cancel(Outgoing &m);
	/* Cancel @m if nothing of it has been decided on. Return: so it was. */
	[[nodiscard]] bool withdraw(Outgoing &m);
	/* The peer does not know the header type of a Call. */
	void call_refused(Outgoing &m, const rpcrdma_rx &rx);
	/* Nobody waits for the Reply any more. */
	void end_call(Outgoing &m);
	void refuse(u32 xid, u32 code, u32 index, u32 needed);
	void pump();
	/* The last Work Request of a job has completed. */
	void completed(Job &job);

	void put_receive(Receive &r);
	void keep(Receive &r);
	/* Receives that are posted from now on have this size. */
	void set_receive_size(u32 size);
	[[nodiscard]] u32 receive_size() const
	{
		return receive_size_;
	}
	/* Of all, posted or not: one that waits may be posted before it is replaced. */
	[[nodiscard]] u32 smallest_receive() const;
	void request_window(u32 window)
	{
		wanted_window_ = window;
	}

	/* Return: segments, or a negative Error. */
	int map(Regions &mrs, u8 *base, u32 offset, u32 length, bool write,
		const void *of, rpcrdma_segment *segs, u32 max);
	void post_regions(Regions &mrs);
	/* Return: true if @inv will be told. */
	bool invalidate(Regions &mrs, Invalidated &inv);
	void put_regions(Regions &mrs);
	/* They are too few for an RPC: nobody is told. Return: some came back. */
	bool undo_regions(Regions &mrs);
	/* A region was missing, and none has come back since. */
	[[nodiscard]] bool lacks_regions() const
	{
		return mr_short_;
	}
	void remote_invalidated(Regions &mrs, u32 handle);
	[[nodiscard]] bool active(const MemoryRegion &mr) const;

	void lost(const char *reason);
	/* The owner ends it soon, and waits for nobody before. */
	void ending();
	void fault(const Completion &c, u64 call);

	/* As the functions of verbs.h with these names. */
	[[nodiscard]] bool open() const
	{
		return stage_ == Stage::Open;
	}
	[[nodiscard]] bool invalidates() const
	{
		return stage_ < Stage::Ending;
	}
	[[nodiscard]] bool dead() const
	{
		return stage_ == Stage::Dead;
	}
	[[nodiscard]] Stage stage() const
	{
		return stage_;
	}

	/* What may happen next. */
	[[nodiscard]] bool has_work() const
	{
		return !dead() && (grow_ || wanted_window_ || beginning_);
	}
	/* What work() does next is to make regions. */
	[[nodiscard]] bool grows() const
	{
		return has_work() && grow_ && !beginning_;
	}
	/* The Receive handler has the first message, and makes Receives. */
	[[nodiscard]] bool begins() const
	{
		return has_work() && beginning_;
	}
	void work();
	/* The owner goes on with what it could not take, and with what has come since. */
	void again();
	[[nodiscard]] bool stalled() const
	{
		return stalled_;
	}
	/* Receives that wait behind that one, and the session has not seen. */
	[[nodiscard]] u32 behind() const
	{
		return static_cast<u32>(behind_.size());
	}
	/* The ring of Sends is to be looked at, or gets buffers, or loses some. */
	[[nodiscard]] bool works_on_ring() const
	{
		return !dead() && (ring_kick_ || ring_timer_ ||
				   ring_step_ != RingStep::None);
	}
	void work_on_ring();
	/* Buffers are made, and when that is done the pump runs. */
	[[nodiscard]] bool fills_ring() const
	{
		return ring_step_ == RingStep::Fill &&
		       ring_.bare != ring_before_;
	}
	/* It is sound: its bare Sends are the next ones, and as many as are counted. */
	[[nodiscard]] bool ring_sound() const;
	/* The pump copies octets, and has left the lock to others. */
	[[nodiscard]] bool builds() const
	{
		return building_;
	}
	/* They are copied. */
	void build();
	/* There is room, and the owner is about to be told. */
	[[nodiscard]] bool tells() const
	{
		return telling_;
	}
	void tell();
	void close();
	[[nodiscard]] bool drained() const;
	void destroy();
	void crash();

	[[nodiscard]] bool pumps() const
	{
		return pumping_;
	}
	/* Messages that wait to be sent. */
	[[nodiscard]] u32 queued() const
	{
		return tx_queue_.size();
	}
	[[nodiscard]] u32 credit_waiters() const
	{
		return credit_waiters_;
	}
	/* Sends that are under way. */
	[[nodiscard]] u32 sends() const
	{
		return ring_.head - ring_.tail;
	}
	/* As rpcrdma_send_spare(). */
	[[nodiscard]] u32 spare_sends() const
	{
		return rpcrdma_ring_spare(&ring_, config.sends / kStreamSpares,
					  ring_failed_);
	}
	/* Replies that are sent and wait for a later Send to complete. */
	[[nodiscard]] u32 resting() const;
	/* As rpcrdma_conn_hurry(). */
	void hurry(bool on);
	[[nodiscard]] bool in_a_hurry() const
	{
		return hurry_;
	}
	/* As rpcrdma_send_hurries(). */
	[[nodiscard]] bool hurries() const
	{
		return hurry_ || awaited_;
	}
	/* Whether a Reply is awaited that is out, and is to be sent again. */
	void await(bool on)
	{
		awaited_ += on ? 1 : -1;
		pump();
	}
	/* It is one of those that there are. */
	[[nodiscard]] bool has(const Receive *r) const;
	/* The send queue's budget, with what Sends have of it. */
	[[nodiscard]] u32 budget() const;
	/* Receives that there is memory for, whatever becomes of them. */
	[[nodiscard]] u32 buffers() const
	{
		return static_cast<u32>(receives_.size());
	}
	[[nodiscard]] u32 receives() const
	{
		return n_receives_;
	}
	[[nodiscard]] u32 kept() const
	{
		return kept_;
	}
	/* Of receives(), those that are not made yet. */
	[[nodiscard]] u32 later() const
	{
		return later_;
	}
	/* Receives that wait to be posted with others, or to be looked at. */
	[[nodiscard]] u32 waiting() const
	{
		return static_cast<u32>(waiting_.size() + back_.size());
	}
	[[nodiscard]] SessionInfo info() const;
	[[nodiscard]] QueuePair &qp() const;
	[[nodiscard]] u32 regions() const
	{
		return static_cast<u32>(mrs_.size());
	}
	[[nodiscard]] const rpcrdma_mr_table &table() const
	{
		return table_;
	}

	Link &link;
	World &world;
	const u32 side;
	const ConnConfig config;
	Owner &owner;
	u32 largest_window; /* that was ever offered */
	u32 largest_receive; /* that there ever was */
	rpcrdma_session session;
	Life life = Life::Alive;
	bool lost_flag = false;
	u32 begun = 0; /* see check::parts() */
	Stage before = Stage::Open; /* see check::stages() */
	u32 sending = 0; /* of what is being taken: see Outgoing */
	std::map<u32, Answers> answers; /* to Calls of this end, by XID */
	const char *why = "";

private:
	friend struct Receive;
	friend struct MemoryRegion;

	struct Send final : Completer {
		Conn *conn = nullptr;
		u32 index = 0;
		u32 cost = 0;
		u32 size = 0; /* if data are placed by it */
		u64 call = 0;
		bool signaled = false;
		bool reply = false;
		bool tell = false; /* who sent it, when it is posted */
		u8 *buffer = nullptr;
		rpcrdma_tx tx = {};
		Outgoing *message = nullptr;
		Outgoing *held = nullptr;

		void complete(const Completion &c) override;
	};
	/* An RDMA Write of no octets, which completes after the Sends before it. */
	struct Mark final : Completer {
		Conn *conn = nullptr;

		void complete(const Completion &c) override;
	};

	/* What the pump does when all that it has decided on is out. */
	struct After {
		bool more = false;
		bool invalid = false;
		Outgoing *drop = nullptr;
	};

	/* What the work item of the ring is at. */
	enum class RingStep : u8 { None, Fill, Free };

	void create_sends();
	[[nodiscard]] Send &next_send();
	[[nodiscard]] bool early() const;
	[[nodiscard]] bool grow_ring();
	[[nodiscard]] bool shrink_ring();
	void advance(Stage stage);
	void shut(Stage stage);
	void credit_wait(u32 who, bool waits);
	[[nodiscard]] rpcrdma_supply supply() const;
	[[nodiscard]] bool fits(const rpcrdma_supply &s,
				const rpcrdma_claim &c) const;
	[[nodiscard]] bool credit_comes();
	[[nodiscard]] bool room_comes();
	void pump_room();
	void spend(u32 cost);
	[[nodiscard]] bool pump_job();
	[[nodiscard]] bool pump_send();
	[[nodiscard]] bool pump_sent();
	[[nodiscard]] u32 pump_decide(Outgoing *&offer);
	void pump_decided(Send &s, Outgoing *m, u32 cost);
	[[nodiscard]] bool pump_has(const Outgoing &m) const;
	[[nodiscard]] bool pump_brief() const;
	void pump_on(bool more);
	[[nodiscard]] bool pump_idle(const Outgoing &m) const;
	[[nodiscard]] bool pump_alone(Outgoing &m);
	[[nodiscard]] bool pump_alone_sent();
	void pump_post();
	void pump_mark();
	[[nodiscard]] u8 *buffer(const Send &s) const;
	void post(Send &s);
	void enqueue(Outgoing &m);
	void sent(Send &s, const Completion &c);
	void marked(const Completion &c);
	void sends_end(u32 last);
	void flush();
	void received(Receive &r, const Completion &c);
	void begin();
	[[nodiscard]] bool take(Receive &r);
	[[nodiscard]] bool taken(Receive &r);
	[[nodiscard]] bool give(Receive &r);
	void stall(Receive &r);
	[[nodiscard]] bool next_behind();
	[[nodiscard]] Receive *new_receive();
	[[nodiscard]] QueuePair::Posted posted(Receive &r) const;
	void post_receive(Receive &r);
	void fit(Receive &r);
	void gather_receives();
	[[nodiscard]] u32 slack() const;
	[[nodiscard]] bool push_receives();
	[[nodiscard]] bool receives_wait() const;
	void set_window(u32 window);
	[[nodiscard]] bool grow(u32 count);
	void give_back(MemoryRegion &mr);
	void more_regions();
	void step(MemoryRegion &mr, u32 event);
	void invalidation_done(MemoryRegion &mr, const Completion &c);
	void reclaim();
	void retire(Receive &r);

	Stage stage_ = Stage::Open;
	bool pumping_ = false;
	bool pump_again_ = false;
	bool building_ = false;
	bool alone_ = false; /* what is built */
	After after_;
	u64 turns_ = 0;
	u32 sendings_ = 0;
	u32 credit_waiters_ = 0;
	u32 telling_ = 0; /* threads that have left the lock to tell */
	bool grow_ = false;
	bool mr_short_ = false; /* room() is to be called */
	u32 wanted_window_ = 0;
	u32 sq_avail_ = 0;
	rpcrdma_ring ring_ = {};
	RingStep ring_step_ = RingStep::None;
	bool ring_kick_ = false; /* its work item is to run */
	bool ring_timer_ = false; /* and will run */
	bool ring_failed_ = false;
	u32 ring_before_ = 0;
	u32 send_told_ = 0; /* those from here on are the pump's */
	bool gathered_ = false;
	bool hurry_ = false;
	s32 awaited_ = 0;
	bool marking_ = false;
	u32 marked_ = 0;
	Mark mark_;
	std::vector<Send> sends_;
	std::unique_ptr<u8[]> send_buffers_;
	std::vector<u8 *> spare_buffers_; /* those that no Send has */
	Queue<Outgoing *> tx_queue_;
	Queue<Job *> job_queue_;
	Queue<Job *> jobs_posted_;
	std::vector<std::unique_ptr<Receive>> receives_;
	u32 n_receives_ = 0;
	u32 receive_size_;
	u32 kept_ = 0;
	u32 later_ = 0;
	Receive *beginning_ = nullptr;
	Receive *stalled_ = nullptr; /* what the owner could not take yet */
	std::vector<Receive *> behind_; /* what has come since then */
	std::vector<Receive *> waiting_;
	std::vector<Receive *> back_; /* given back without the lock */
	u32 slack_ = 0; /* so many may be there */
	u32 target_ = 0; /* what n_receives_ is to be */
	rpcrdma_mr_table table_ = {};
	std::vector<rpcrdma_mr_slot> slots_;
	std::vector<std::unique_ptr<MemoryRegion>> mrs_;
	rpcrdma_rx rx_;
};

} // namespace sim

#endif /* _RPCRDMA_SIM_CONN_H */
