// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "conn.h"
#include "checkers.h"
#include "core.h"
#include "world.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sim
{

Conn::Conn(Link &l, u32 s, const ConnConfig &c, Owner &o)
	: link(l)
	, world(l.world)
	, side(s)
	, config(c)
	, owner(o)
	, largest_window(c.core.window)
	, largest_receive(c.core.local.recv_size)
	, receive_size_(c.core.local.recv_size)
{
}

QueuePair &Conn::qp() const
{
	return link.qp[side];
}

SessionInfo Conn::info() const
{
	SessionInfo i;

	rpcrdma_session_info(&session, &i);
	return i;
}

bool Conn::create()
{
	if (!rpcrdma_session_init(&session, &config.core))
		fail("invariant", "a session does not begin");
	pings::declare(*this);
	sq_avail_ = config.sq_depth;
	mark_.conn = this;
	if (!world.allocates())
		return false;
	create_sends();
	slots_.resize(config.max_mrs);
	rpcrdma_mr_table_init(&table_, slots_.data(), config.max_mrs);
	if (config.max_mrs && !grow(config.first_mrs))
		return false;
	const u32 count = config.core.window + 1;
	const u32 now = pings::begins_small(*this) && count >= 4 * kOpening ?
				kOpening :
				count;
	for (u32 i = 0; i < now; i++) {
		Receive *r = new_receive();

		if (!r)
			return false;
		post_receive(*r);
	}
	later_ = count - now;
	n_receives_ = count;
	target_ = count;
	return true;
}

/* ------------------------------------------------------------------ */
/* send.c, pump.c, sent.c                                             */
/* ------------------------------------------------------------------ */

/* Octets @tx.payload of the reduced stream. */
static void copy(const Outgoing &m, const rpcrdma_tx &tx, u8 *to)
{
	u32 offset = tx.payload.offset;
	u32 left = tx.payload.length;

	while (left) {
		u32 at;
		const u32 run = std::min(left, rpcrdma_stream_run(m.removed,
								  m.n_removed,
								  offset, &at));
		std::memcpy(to, m.octets + at, run);
		to += run;
		offset += run;
		left -= run;
	}
}

u8 *Conn::buffer(const Send &s) const
{
	if (world.options.mutant == Mutant::SendBufferReused)
		return sends_[0].buffer;
	if (!s.buffer)
		fail("ring", "%s: a Send without a buffer", link.name(side));
	return s.buffer;
}

void Conn::post(Send &s)
{
	const rpcrdma_tx &tx = s.tx;
	Outgoing *m = s.message;
	WorkRequest wr = {};

	check::posts(*this, Stage::Ending, "a Send");
	if (tx.payload.length)
		copy(*m, tx, buffer(s) + tx.header_length);
	wr.op = WorkRequest::Send;
	wr.owner = &s;
	wr.local = buffer(s);
	wr.length = s.size ? s.size : tx.header_length + tx.payload.length;
	wr.signaled = s.signaled;
	wr.sending = m ? m->sending : 0;
	if (m && tx.last && m->invalidate) {
		wr.op = WorkRequest::SendInvalidate;
		wr.key = m->invalidate;
	}
	const bool late = world.options.mutant == Mutant::WriteAfterSend ||
			  (planted(*this, Mutant::GroupWriteLate) && m &&
			   m->grouped && m->msg.dir == RPCRDMA_REPLY);
	if (m && tx.first && !late)
		m->chain();
	world.tally.continued += m && !tx.last;
	world.tally.grants += tx.htype == RPCRDMA2_GRANT;
	world.trace("%s posts %s xid %08x %u octets", link.name(side),
		    rpcrdma_htype_name(tx.htype), m ? m->msg.xid : 0,
		    wr.length);
	qp().post_send(wr);
	if (m && tx.first && late)
		m->chain();
}

/* As rpcrdma_credit_wait(). */
void Conn::credit_wait(u32 who, bool waits)
{
	if (waits && open())
		credit_waiters_ |= who;
	else
		credit_waiters_ &= ~who;
}

void Conn::spend(u32 cost)
{
	if (world.options.mutant != Mutant::RequestsWithoutBound)
		sq_avail_ -= cost;
}

bool Conn::pump_job()
{
	if (job_queue_.empty() || job_queue_.front()->cost > sq_avail_)
		return false;
	Job *job = job_queue_.pop();

	check::posts(*this, Stage::Open, "a job");
	jobs_posted_.push(job);
	spend(job->cost);
	job->post();
	check::memory(*this);
	return true;
}

void Conn::completed(Job &job)
{
	if (!jobs_posted_.remove(&job))
		fail("lost", "a job completes that is not posted");
	sq_avail_ += job.cost;
}

u32 Conn::pump_decide(Outgoing *&offer)
{
	const bool any = world.options.mutant == Mutant::SendsWithoutBound;

	offer = nullptr;
	if ((!rpcrdma_ring_room(&ring_) && !any) || !sq_avail_)
		return RPCRDMA_TX_NONE;

	Outgoing *m = tx_queue_.empty() ? nullptr : tx_queue_.front();
	u32 cost = 1;
	if (m && !m->msg.sent)
		cost += m->chain_cost;
	if (cost <= sq_avail_ && (cost == 1 || job_queue_.empty()))
		offer = m;
	Send &s = next_send();
	const u32 result =
		core::next_send(*this, offer, buffer(s), s.tx, s.size);

	if (result == RPCRDMA_TX_CONTROL) {
		m = nullptr;
		cost = 1;
	} else if (result != RPCRDMA_TX_MESSAGE) {
		return result;
	}

	pump_decided(s, m, cost);
	if (m && s.tx.last) {
		tx_queue_.pop();
		m->queued = false;
	}
	return result;
}

/* As rpcrdma_pump_decided(). */
void Conn::pump_decided(Send &s, Outgoing *m, u32 cost)
{
	const bool last = m && s.tx.last;

	check::posts(*this, Stage::Open, "what the pump decides on");
	if (building_)
		fail("order", "%s: two threads pump", link.name(side));
	if (m && s.tx.first) {
		check::order(*this, *m);
		if (m->msg.dir == RPCRDMA_CALL) {
			Answers &a = answers[m->msg.xid];

			a.sent++;
			a.expected = !m->msg.call_only;
		}
	}
	ring_.head++;
	spend(cost);
	s.cost = cost;
	s.message = m;
	const bool gathers = m && m->gather;
	s.held = last && (m->hold || gathers) ? m : nullptr;
	s.tell = last && !s.held;
	s.reply = m && m->msg.dir == RPCRDMA_REPLY;
	s.call = s.reply ? m->call : 0;
	s.signaled = (s.held && !gathers) ||
		     rpcrdma_ring_signals(&ring_, s.index) ||
		     sq_avail_ < config.sq_depth / 2;
	gathered_ |= gathers;
	if (gathered_ && (hurries() || s.index % kGatherSends == 0))
		s.signaled = true;
	gathered_ = gathered_ && !s.signaled;
	check::memory(*this);
}

/* As rpcrdma_pump_has(). */
bool Conn::pump_has(const Outgoing &m) const
{
	if (after_.drop == &m)
		return true;
	for (u32 i = send_told_; i != ring_.head; i++)
		if (sends_[i % config.sends].message == &m)
			return true;
	return false;
}

/* As rpcrdma_pump_all_brief(). */
bool Conn::pump_brief() const
{
	u32 octets = 0;

	for (u32 i = send_told_; i != ring_.head; i++) {
		const Send &s = sends_[i % config.sends];

		octets += s.tx.payload.length;
		if (octets > kSendBrief || s.size)
			return false;
		if (s.message && (s.message->chain_cost || s.message->gather))
			return false;
	}
	return true;
}

void Conn::pump_post()
{
	const u32 end = ring_.head;

	world.tally.chained += end - send_told_ > 1;
	for (u32 i = send_told_; i != end; i++)
		post(sends_[i % config.sends]);
	check::memory(*this);
	while (send_told_ != end) {
		const Send &s = sends_[send_told_++ % config.sends];

		if (s.tell)
			s.message->finish(Error::None);
	}
}

bool Conn::pump_send()
{
	const u32 end = ring_.head + std::min(kSendChain, config.sends / 4);
	Outgoing *offer;
	bool more;
	u32 result;

	do {
		result = pump_decide(offer);
		more = result != RPCRDMA_TX_NONE &&
		       result != RPCRDMA_TX_BLOCKED;
		if (result != RPCRDMA_TX_MESSAGE &&
		    result != RPCRDMA_TX_CONTROL)
			break;
		more = !tx_queue_.empty() ||
		       sends_[(ring_.head - 1) % config.sends].tx.more;
	} while (more && ring_.head != end);

	const bool blocked = result == RPCRDMA_TX_BLOCKED && offer;
	if (blocked || credit_waiters_)
		credit_wait(kPumpWaits, blocked);
	const bool invalid = result == RPCRDMA_TX_INVALID;
	if (invalid && offer && offer->msg.sent)
		offer = nullptr;
	const bool drop = offer && (invalid || result == RPCRDMA_TX_REFUSED);
	if (drop) {
		tx_queue_.pop();
		offer->queued = false;
	}
	after_ = { more, invalid, drop ? offer : nullptr };
	building_ = !pump_brief();
	world.tally.built += building_;
	return !building_ && pump_sent();
}

/* The rest of it, when all has been copied. */
bool Conn::pump_sent()
{
	const After after = after_;

	pump_post();
	after_ = {};
	if (after.drop)
		after.drop->finish(after.invalid ? Error::MessageSize :
						   Error::Io);
	else if (after.invalid)
		lost("message cannot go on");
	return after.more;
}

void Conn::pump_mark()
{
	WorkRequest wr = {};

	if (!hurries() || !gathered_ || marking_ || !open() || !sq_avail_ ||
	    world.options.mutant == Mutant::MarkForgotten)
		return;
	spend(1);
	world.tally.marks++;
	marking_ = true;
	marked_ = send_told_;
	gathered_ = false;
	wr.op = WorkRequest::Write;
	wr.owner = &mark_;
	wr.signaled = true;
	qp().post_send(wr);
	check::memory(*this);
}

void Conn::hurry(bool on)
{
	hurry_ = on;
	if (on)
		pump();
}

void Conn::pump()
{
	const bool early = world.options.mutant == Mutant::OfferBeforeMaking;

	pump_again_ = true;
	if (pumping_ || (later_ && !early))
		return;
	pumping_ = true;
	pump_again_ = false;
	pump_on(true);
}

/* The loops of rpcrdma_pump(). Where they leave the lock, build() goes on with them. */
void Conn::pump_on(bool more)
{
	const auto goes_on = [this]() {
		return open() || planted(*this, Mutant::PumpClosed);
	};

	for (;;) {
		while (more && goes_on()) {
			more = pump_job() || pump_send();
			if (building_)
				return;
		}
		pump_mark();
		if (!pump_again_ || !goes_on())
			break;
		pump_again_ = false;
		more = true;
	}
	pumping_ = false;
	pump_room();
}

/* As rpcrdma_send_supply(). */
rpcrdma_supply Conn::supply() const
{
	rpcrdma_supply s = { config.sq_depth, sq_avail_, 0, 0 };

	if (tx_queue_.empty())
		return s;
	s.sends = rpcrdma_session_reserved(&session);
	for (u32 i = 0; i < tx_queue_.size(); i++)
		if (!tx_queue_[i]->msg.sent)
			s.chain += tx_queue_[i]->chain_cost;
	return s;
}

bool Conn::fits(const rpcrdma_supply &s, const rpcrdma_claim &c) const
{
	if (planted(*this, Mutant::RoomForAll) &&
	    s.sends + c.sends > rpcrdma_ring_room(&ring_))
		return false;
	return rpcrdma_ring_fits(&ring_, &s, &c);
}

bool Conn::has_room() const
{
	const rpcrdma_supply s = supply();

	return rpcrdma_ring_fits(&ring_, &s, &ring_.asked);
}

bool Conn::credit_comes()
{
	if (!(credit_waiters_ & kOwnerWaits))
		return false;
	const rpcrdma_session before = session;
	if (!planted(*this, Mutant::OwnerToldAlways) && !core::room(*this))
		return false;
	check::room(before);
	credit_wait(kOwnerWaits, false);
	return true;
}

bool Conn::room_comes()
{
	if (!asks_room() || planted(*this, Mutant::RoomUntold))
		return false;
	const bool always = planted(*this, Mutant::RoomToldAlways);
	if (!always && !fits(supply(), ring_.asked))
		return false;
	check::room(*this);
	ring_.asked = {};
	return true;
}

/* The end of rpcrdma_pump(). */
void Conn::pump_room()
{
	const bool credit = credit_comes();
	const bool room = room_comes();

	if ((credit || room) && !planted(*this, Mutant::OwnerUntold))
		telling_++;
}

void Conn::tell()
{
	telling_--;
	owner.room();
}

void Conn::build()
{
	building_ = false;
	if (!alone_)
		pump_on(pump_sent());
	else if (!pump_alone_sent())
		pump();
}

/* As rpcrdma_pump_idle(). */
bool Conn::pump_idle(const Outgoing &m) const
{
	const auto looks = [this](Mutant mutant) {
		return !planted(*this, mutant);
	};

	return (!pumping_ || !looks(Mutant::AloneBesidePump)) && !later_ &&
	       !credit_waiters_ &&
	       (tx_queue_.empty() || !looks(Mutant::AloneOutOfTurn)) &&
	       job_queue_.empty() &&
	       (rpcrdma_ring_room(&ring_) || !looks(Mutant::AloneWithoutSend)) &&
	       (sq_avail_ > m.chain_cost || !looks(Mutant::AloneOverBudget));
}

/* As rpcrdma_pump_alone(). */
bool Conn::pump_alone(Outgoing &m)
{
	Send &s = next_send();
	const rpcrdma_session before = session;
	const u32 result = core::next_send(*this, &m, buffer(s), s.tx, s.size);
	const bool begins = result == RPCRDMA_TX_MESSAGE;
	const bool counts = !planted(*this, Mutant::AloneCostLost);

	if (begins)
		pump_decided(s, &m, 1 + (counts ? m.chain_cost : 0));
	else if (result == RPCRDMA_TX_CONTROL)
		pump_decided(s, nullptr, 1);
	if (begins && !s.tx.last && planted(*this, Mutant::AloneRestLost))
		return false;
	if (!begins || !s.tx.last) {
		m.queued = true;
		tx_queue_.push(&m);
		return false;
	}
	if (s.tx.more)
		return false;

	world.tally.alone++;
	if (planted(*this, Mutant::AloneCreditLost) &&
	    m.msg.dir == RPCRDMA_REPLY)
		session = before;
	if (planted(*this, Mutant::AloneUntold))
		s.tell = false;
	if (planted(*this, Mutant::AloneUnposted))
		return true;
	pumping_ = true;
	pump_again_ = false;
	building_ = alone_ = !pump_brief();
	world.tally.built += building_;
	return building_ || pump_alone_sent();
}

/* The rest of it, when the message has been copied. */
bool Conn::pump_alone_sent()
{
	alone_ = false;
	pump_post();
	pumping_ = false;
	world.tally.alone_again += pump_again_;
	if (planted(*this, Mutant::AloneAgainLost))
		return true;
	return !pump_again_ && !hurries();
}

/* As rpcrdma_send_rank(). */
enum class Rank { Begun, Free, Probe, Reply, Any };

static Rank first_rank(const Conn &c, const Outgoing &m)
{
	if (m.msg.probe)
		return Rank::Probe;
	if (m.msg.dir == RPCRDMA_CALL)
		return Rank::Any;
	if (rpcrdma_session_version(&c.session) == 1 &&
	    c.world.options.mutant != Mutant::ReplyBehindCalls)
		return Rank::Free;
	return c.side == 0 ? Rank::Reply : Rank::Any;
}

static Rank rank_of(const Conn &c, const Outgoing &m)
{
	return m.msg.sent ? Rank::Begun : first_rank(c, m);
}

const Outgoing *Conn::overtaken(const Outgoing &m) const
{
	const Rank rank = first_rank(*this, m);

	for (u32 i = 0; i < tx_queue_.size(); i++) {
		const Outgoing *other = tx_queue_[i];
		const Rank its = rank_of(*this, *other);

		if (other != &m &&
		    (its < rank || (its == rank && other->turn < m.turn)))
			return other;
	}
	return nullptr;
}

void Conn::enqueue(Outgoing &m)
{
	const Rank rank = rank_of(*this, m);
	u32 at = tx_queue_.size();

	if (rank != Rank::Any)
		for (at = 0; at < tx_queue_.size(); at++)
			if (rank_of(*this, *tx_queue_[at]) > rank)
				break;
	m.queued = true;
	tx_queue_.insert(at, &m);
}

/* As rpcrdma_conn_admits(). */
Error Conn::admits(rpcrdma_message *msg, u32 chain)
{
	if (!core::admit(*this, msg)) {
		if (!planted(*this, Mutant::OwnerUnmarked))
			credit_wait(kOwnerWaits, true);
		owner.no_room();
		return Error::NoCredit;
	}
	const rpcrdma_claim claim = { msg ? msg->reserved : 1, chain };
	rpcrdma_supply s = supply();

	if (msg && s.sends)
		s.sends -= claim.sends;
	if (fits(s, claim))
		return Error::None;
	world.tally.no_room++;
	if (msg)
		core::put_back(*this, *msg);
	/* As rpcrdma_send_ask(). */
	const bool retry = !ring_failed_ || world.schedule.once_in(16);
	if (open() && rpcrdma_ring_ask(&ring_, retry, &claim))
		ring_kick_ = true;
	if (planted(*this, Mutant::RoomUnmarked))
		ring_.asked = {};
	owner.no_room();
	return Error::NoRoom;
}

/* As rpcrdma_conn_send_planned(). */
Error Conn::send(Outgoing &m, bool ask)
{
	if (!fits(m.chain_cost))
		return Error::NoSpace;
	if (!open() && !planted(*this, Mutant::QueuedClosed))
		return Error::NotConnected;
	check::posts(*this, Stage::Open, "a message");
	const Error refused = ask ? admits(&m.msg, m.chain_cost) : Error::None;
	if (refused != Error::None)
		return refused;
	const bool direct = m.direct;

	m.over = false;
	m.turn = turns_++;
	if (m.msg.dir == RPCRDMA_CALL)
		m.sending = ++sendings_;
	if (pings::may_carry(*this) || !pump_idle(m)) {
		enqueue(m);
		pump();
	} else if (!pump_alone(m)) {
		pump();
	}
	/* Unless it is direct it may be gone. */
	if (direct) {
		m.direct = false;
		if (m.over)
			m.finish(m.outcome);
	}
	return Error::None;
}

Error Conn::start(Job &job)
{
	if (!fits(job.cost))
		return Error::NoSpace;
	if (!open())
		return Error::NotConnected;
	job_queue_.push(&job);
	pump();
	return Error::None;
}

/* As rpcrdma_conn_cancel() does first. */
void Conn::settle(const Outgoing &m)
{
	while (building_ && (pump_has(m) || (m.queued && m.msg.sent)))
		build();
}

void Conn::cancel(Outgoing &m)
{
	if (!m.queued)
		return;
	tx_queue_.remove(&m);
	m.queued = false;
	if (tx_queue_.empty() && !planted(*this, Mutant::CancelWaits))
		credit_wait(kPumpWaits, false);
	if (m.msg.sent)
		lost("message cancelled half sent");
}

bool Conn::withdraw(Outgoing &m)
{
	if (!m.queued || m.msg.sent || pump_has(m))
		return false;
	cancel(m);
	return true;
}

void Conn::call_refused(Outgoing &m, const rpcrdma_rx &rx)
{
	const u32 reason = rpcrdma_session_call_refused(&session, &m.msg, &rx);

	if (reason != RPCRDMA_REASON_NONE)
		lost(rpcrdma_reason_name(reason));
}

void Conn::end_call(Outgoing &m)
{
	const bool may_send =
		check::sound(*this, rpcrdma_session_end_call(&session, &m.msg));

	if (may_send || asks_room())
		pump();
}

void Conn::refuse(u32 xid, u32 code, u32 index, u32 needed)
{
	world.trace("%s refuses xid %08x: %s", link.name(side), xid,
		    rpcrdma_errcode_name(code));
	if (!core::refuse(*this, xid, code, index, needed))
		return lost("errors unanswered");
	pump();
}

void Conn::fault(const Completion &c, u64 call)
{
	if (c.status == Status::RemoteAccess ||
	    c.status == Status::RemoteInvalid)
		owner.fault(call, true);
	else if (c.status == Status::RemoteOperation)
		owner.fault(call, false);
	lost("Work Request failed");
}

void Conn::Send::complete(const Completion &c)
{
	conn->sent(*this, c);
}

void Conn::sent(Send &s, const Completion &c)
{
	if (c.status != Status::Success) {
		if (s.reply)
			return fault(c, s.call);
		return lost("Send flushed");
	}
	sends_end(ring_.tail + (s.index - ring_.tail) % config.sends + 1);
}

void Conn::Mark::complete(const Completion &c)
{
	conn->marked(c);
}

void Conn::marked(const Completion &c)
{
	if (c.status != Status::Success)
		return lost("mark flushed");
	marking_ = false;
	sq_avail_++;
	sends_end(marked_);
}

void Conn::sends_end(u32 last)
{
	while (ring_.tail != last) {
		Send &t = sends_[ring_.tail % config.sends];
		Outgoing *held = t.held;

		t.held = nullptr;
		if (world.options.mutant != Mutant::BudgetForgotten ||
		    !world.schedule.once_in(16))
			sq_avail_ += t.cost;
		ring_.tail++;
		if (held)
			held->done(Error::None);
	}
	pump();
}

u32 Conn::resting() const
{
	u32 resting = 0;

	for (u32 i = ring_.tail; i != ring_.head; i++)
		resting += sends_[i % config.sends].held != nullptr;
	return resting;
}

u32 Conn::budget() const
{
	u32 budget = sq_avail_ + marking_;

	for (u32 i = ring_.tail; i != ring_.head; i++)
		budget += sends_[i % config.sends].cost;
	return budget;
}

/* As rpcrdma_send_flush(). */
void Conn::flush()
{
	while (ring_.tail != ring_.head) {
		Send &s = sends_[ring_.tail++ % config.sends];
		Outgoing *m = s.held;

		s.held = nullptr;
		if (m && world.options.mutant != Mutant::FlushForgotten)
			m->done(Error::NotConnected);
	}
	while (!tx_queue_.empty()) {
		Outgoing *m = tx_queue_.pop();

		m->queued = false;
		m->done(Error::NotConnected);
	}
	while (!jobs_posted_.empty()) {
		Job *job = jobs_posted_.pop();

		if (world.options.mutant != Mutant::ReadForgotten)
			job->done(Error::NotConnected);
	}
	while (!job_queue_.empty())
		job_queue_.pop()->done(Error::NotConnected);
}

/* ------------------------------------------------------------------ */
/* ring.c                                                             */
/* ------------------------------------------------------------------ */

/* RPCRDMA_RING_NEAR and so on, for small rings. */
static constexpr rpcrdma::ring::Pace kPace = { 1, 12, 2 };

void Conn::create_sends()
{
	const u32 size = config.core.local.send_size;
	const Mutant m = world.options.mutant;
	/* These are about Sends that all have a buffer. */
	const bool all = m == Mutant::SendsWithoutBound ||
			 m == Mutant::AloneWithoutSend ||
			 m == Mutant::AloneOverBudget ||
			 m == Mutant::AloneCostLost ||
			 m == Mutant::SendBufferReused;

	ring_.sends = config.sends;
	ring_.rest = all ? config.sends : config.rest;
	ring_.bare = ring_.sends - ring_.rest;
	sends_.resize(config.sends);
	send_buffers_.reset(new u8[config.sends * size]);
	for (u32 i = 0; i < config.sends; i++) {
		u8 *const buffer = &send_buffers_[i * size];

		sends_[i].conn = this;
		sends_[i].index = i;
		if (i < ring_.bare)
			spare_buffers_.push_back(buffer);
		else
			sends_[i].buffer = buffer;
	}
}

/* As rpcrdma_send_next() and rpcrdma_send_turn(). */
Conn::Send &Conn::next_send()
{
	Send &s = sends_[ring_.head % config.sends];
	u32 from;

	if (!ring_.bare)
		return s;
	/* What was refused is tried again after a while. */
	const bool retry = !ring_failed_ || world.schedule.once_in(16);
	if (rpcrdma::ring::turn(ring_, retry, from, kPace))
		ring_kick_ = true;
	if (!s.buffer && !planted(*this, Mutant::RingTurnLost))
		std::swap(s.buffer, sends_[from % config.sends].buffer);
	return s;
}

/* Is the next one such that it has had its turn? */
bool Conn::early() const
{
	return sends_[ring_.head % config.sends].buffer;
}

/* A buffer is made and given to a Send: rpcrdma_ring_more(). Return: false if there is no memory. */
bool Conn::grow_ring()
{
	if (!world.allocates()) {
		world.tally.ring_refused++;
		return false;
	}
	const u32 first = rpcrdma::ring::first_bare(ring_, early());
	const u32 last = rpcrdma_ring_grow(&ring_, early());
	Send &s = sends_[(planted(*this, Mutant::RingPlaceWrong) ? first : last) %
			 config.sends];

	s.buffer = spare_buffers_.back();
	spare_buffers_.pop_back();
	world.tally.ring_grown++;
	return true;
}

/* As rpcrdma_ring_less(). */
bool Conn::shrink_ring()
{
	const bool any = planted(*this, Mutant::RingTakenInUse) &&
			 !rpcrdma_ring_rests(&ring_);
	u32 from = rpcrdma::ring::first_bare(ring_, early()) + ring_.bare;

	if (any)
		ring_.bare++;
	else if (!rpcrdma::ring::shrink(ring_, early(), from, kPace))
		return false;
	Send &s = sends_[from % config.sends];
	if (!rpcrdma_ring_unused(&ring_, from))
		fail("ring", "%s: the buffer of a Send that is under way is freed",
		     link.name(side));
	std::memset(s.buffer, 0xdd, config.core.local.send_size);
	spare_buffers_.push_back(std::exchange(s.buffer, nullptr));
	world.tally.ring_shrunk++;
	return true;
}

bool Conn::ring_sound() const
{
	const u32 first = rpcrdma::ring::first_bare(ring_, early());

	for (u32 i = 0; i < config.sends; i++)
		if (!sends_[(first + i) % config.sends].buffer !=
		    (i < ring_.bare))
			return false;
	return rpcrdma::ring::invariants(ring_);
}

/* As rpcrdma_ring_worker(): until it leaves the lock. */
void Conn::work_on_ring()
{
	if (ring_step_ == RingStep::None) {
		ring_kick_ = false;
		ring_timer_ = false;
		const u32 verdict = rpcrdma::ring::look(ring_, kPace);

		ring_before_ = ring_.bare;
		if (verdict == RPCRDMA_RING_FILL)
			ring_step_ = RingStep::Fill;
		else if (verdict == RPCRDMA_RING_FREE)
			ring_step_ = RingStep::Free;
		else
			ring_timer_ = true;
		return;
	}
	const bool fills = ring_step_ == RingStep::Fill;
	if (fills && ring_.bare && grow_ring())
		return;
	if (!fills && shrink_ring())
		return;
	ring_step_ = RingStep::None;
	if (!fills) {
		ring_timer_ = !rpcrdma_ring_rests(&ring_);
		return;
	}
	ring_failed_ = ring_.bare;
	ring_timer_ = true;
	if (ring_.bare != ring_before_)
		pump();
}

/* ------------------------------------------------------------------ */
/* recv.c                                                             */
/* ------------------------------------------------------------------ */

QueuePair::Posted Conn::posted(Receive &r) const
{
	const bool small = world.options.mutant == Mutant::BufferTooSmall;

	return { r.buffer.get(), r.size - (small ? 32 : 0), &r };
}

void Conn::post_receive(Receive &r)
{
	check::posts(*this, Stage::Ending, "a Receive");
	qp().post_receive(posted(r));
}

/* It has the size that is wanted now, or keeps its own if there is no memory. */
void Conn::fit(Receive &r)
{
	if (r.size == receive_size_ || !world.allocates())
		return;
	r.buffer.reset(new u8[receive_size_]);
	r.size = receive_size_;
}

void Conn::set_receive_size(u32 size)
{
	receive_size_ = size;
	largest_receive = std::max(largest_receive, size);
}

bool Conn::has(const Receive *r) const
{
	return std::any_of(receives_.begin(), receives_.end(),
			   [&](const auto &p) { return p.get() == r; });
}

u32 Conn::smallest_receive() const
{
	u32 smallest = UINT32_MAX;

	for (const auto &r : receives_)
		smallest = std::min(smallest, r->size);
	return smallest;
}

Receive *Conn::new_receive()
{
	if (!world.allocates())
		return nullptr;
	auto r = std::make_unique<Receive>();

	r->conn = this;
	r->size = receive_size_;
	r->buffer.reset(new u8[r->size]);
	receives_.push_back(std::move(r));
	n_receives_++;
	check::memory(*this);
	return receives_.back().get();
}

void Conn::retire(Receive &r)
{
	n_receives_--;
	for (auto &p : receives_) {
		if (p.get() != &r)
			continue;
		std::swap(p, receives_.back());
		receives_.pop_back();
		return;
	}
	fail("lost", "a Receive that is not there is retired");
}

void Conn::keep(Receive &r)
{
	r.kept = true;
	kept_++;
}

/* As rpcrdma_recv_gather(). */
void Conn::gather_receives()
{
	for (Receive *r : back_) {
		if (core::retire(*this)) {
			retire(*r);
			continue;
		}
		fit(*r);
		waiting_.push_back(r);
	}
	back_.clear();
}

/* As rpcrdma_recv_slack(). */
u32 Conn::slack() const
{
	const u32 free = static_cast<u32>(waiting_.size());

	if (n_receives_ != target_)
		return 0;
	for (const auto &r : receives_)
		if (r->size != receive_size_)
			return 0;
	if (rpcrdma_session_may_wait(&session, free + kSlack))
		return kSlack;
	return rpcrdma_session_may_wait(&session, free + 1);
}

/* As rpcrdma_recv_push(). Return: a GRANT became due. */
bool Conn::push_receives()
{
	if (dead() && !planted(*this, Mutant::ReceiveDead))
		return false;
	gather_receives();

	const u32 count = static_cast<u32>(waiting_.size());
	const bool wait =
		world.options.mutant == Mutant::ReceivesWaitForOthers ?
			count < config.core.window :
			rpcrdma_session_may_wait(&session, count);

	if (!count || wait) {
		slack_ = slack();
		return false;
	}
	for (Receive *r : waiting_)
		post_receive(*r);
	waiting_.clear();
	world.tally.batched += count > 1;
	const bool due = core::release(*this, count);
	slack_ = slack();
	return due;
}

/* As rpcrdma_recv_waits(). */
bool Conn::receives_wait() const
{
	const bool ample =
		rx_.ample || world.options.mutant == Mutant::ReceivesWaitOn;

	return !dead() && ample && slack_ == kSlack;
}

void Conn::put_receive(Receive &r)
{
	const Mutant mutant = world.options.mutant;

	if (r.kept) {
		kept_--;
		if (mutant == Mutant::ReceiveForgotten &&
		    world.schedule.once_in(32))
			return;
	}
	r.kept = false;
	if (dead() && mutant != Mutant::ReceiveDead)
		return lost("post Receive");
	if (mutant == Mutant::OfferBeforePosting) {
		if (core::retire(*this))
			return retire(r);
		fit(r);
		if (core::release(*this, 1))
			pump();
		return world.post_later(qp(), posted(r));
	}
	back_.push_back(&r);
	if (back_.size() > slack_ && push_receives())
		pump();
	pings::reposted(*this);
}

void Receive::complete(const Completion &c)
{
	conn->received(*this, c);
}

void Conn::received(Receive &r, const Completion &c)
{
	if (c.status != Status::Success)
		return lost("Receive flushed");
	r.length = c.length;
	r.sending = c.sending;
	r.invalidated = c.invalidated;
	if (stalled_ && !planted(*this, Mutant::StallOvertaken)) {
		world.tally.behind++;
		behind_.push_back(&r);
		return;
	}
	if (!take(r))
		stall(r);
}

/* As rpcrdma_recv_take(). Return: false if the owner cannot take it yet. */
bool Conn::take(Receive &r)
{
	sending = r.sending;
	core::receive(*this, r.buffer.get(), r.length, rx_);
	const bool due = !receives_wait() && push_receives();
	const u32 may_come = static_cast<u32>(waiting_.size()) + slack_;
	if (!dead() && may_come &&
	    !rpcrdma_session_may_wait(&session, may_come))
		fail("waits", "Receives wait that must not");
	if (!later_) {
		if (due)
			pump();
		return taken(r);
	}
	beginning_ = &r;
	/* Some other thread does. */
	pump();
	return true;
}

/* As rpcrdma_recv_begin(), while others do other things. */
void Conn::begin()
{
	Receive &r = *beginning_;

	beginning_ = nullptr;
	pings::begin(*this);
	world.tally.began_late++;
	n_receives_ -= later_;
	for (; later_; later_--) {
		Receive *fresh = new_receive();

		if (!fresh) {
			later_ = 0;
			return lost("no memory for Receives");
		}
		post_receive(*fresh);
	}
	pump();
	if (!taken(r))
		stall(r);
}

void Conn::stall(Receive &r)
{
	stalled_ = &r;
	owner.stalled();
}

/* As rpcrdma_recv_next(). */
bool Conn::next_behind()
{
	stalled_ = nullptr;
	if (behind_.empty())
		return false;
	stalled_ = behind_.front();
	behind_.erase(behind_.begin());
	return true;
}

/* As rpcrdma_conn_recv_again(). */
void Conn::again()
{
	if (!stalled_ || !give(*stalled_))
		return;
	while (next_behind())
		if (!take(*stalled_))
			return;
	check::receives(*this);
}

/* As rpcrdma_recv_give(). */
bool Conn::give(Receive &r)
{
	Taken verdict = Taken::No;

	if (rx_.action == RPCRDMA_RX_PAYLOAD)
		verdict = owner.payload(rx_, r, r.invalidated);
	if (verdict == Taken::No)
		put_receive(r);
	if (rx_.kick || rx_.opened)
		pump();
	return verdict != Taken::Again;
}

/* The rest of the Receive handler. Return: as take(). */
bool Conn::taken(Receive &r)
{
	const rpcrdma_rx &rx = rx_;

	sending = r.sending;
	world.trace("%s receives %s xid %08x action %u reason %u",
		    link.name(side), rpcrdma_htype_name(rx.htype), rx.xid,
		    rx.action, rx.reason);
	auth::received(*this);
	check::parts(*this, rx, begun);
	check::honest(*this, rx);

	if (rx.opened) {
		pings::opened(*this);
		owner.ready();
	}
	if (rx.abandon)
		owner.abandon(rx.dir);
	for (const u32 xid : pings::refused_replies(*this))
		owner.reply_refused(xid);
	switch (rx.action) {
	case RPCRDMA_RX_DROP:
	case RPCRDMA_RX_CONTROL:
		break;
	case RPCRDMA_RX_PAYLOAD:
		break;
	case RPCRDMA_RX_FAIL_RPC:
		/* A REPTERR has been counted. */
		if (!rx.reported)
			answers[rx.xid].replies++;
		else if (rx.errcode != RPCRDMA2_ERR_NONE)
			answers[rx.xid].errors++;
		owner.failed(rx);
		break;
	case RPCRDMA_RX_CLOSE:
		lost(rpcrdma_reason_name(rx.reason));
		return true;
	}
	if (!give(r))
		return false;
	if (!stalled_)
		check::receives(*this);
	return true;
}

/* As rpcrdma_conn_set_window(), in one step. */
void Conn::set_window(u32 window)
{
	const bool any = world.options.mutant == Mutant::ReceivesWithoutBound;
	std::vector<Receive *> fresh;

	largest_window = std::max(largest_window, window);
	while ((any ? fresh.size() : n_receives_) < window + 1) {
		Receive *r = new_receive();

		if (!r) {
			for (Receive *f : fresh)
				retire(*f);
			return;
		}
		fresh.push_back(r);
	}
	for (Receive *r : fresh)
		post_receive(*r);
	if (window != info().window)
		world.effect(Fault::Window);
	world.trace("%s offers a window of %u", link.name(side), window);
	target_ = window + 1;
	const bool due = core::set_window(*this, window);
	if (push_receives() || due)
		pump();
	check::receives(*this);
}

/* ------------------------------------------------------------------ */
/* frwr.c                                                             */
/* ------------------------------------------------------------------ */

bool Conn::grow(u32 count)
{
	const bool any = world.options.mutant == Mutant::RegionsWithoutBound;
	u32 added = 0;

	for (; added < count && (mrs_.size() < config.max_mrs || any);
	     added++) {
		if (!world.allocates())
			break;
		auto mr = std::make_unique<MemoryRegion>();

		mr->conn = this;
		mr->index = static_cast<u32>(mrs_.size());
		mr->key = (mr->index + 1) << 8;
		qp().add_region(&mr->region);
		mrs_.push_back(std::move(mr));
		check::memory(*this);
		if (!rpcrdma_mr_add(&table_, mrs_.back()->index))
			fail("lost", "there is no slot for a region");
	}
	return added;
}

bool Conn::active(const MemoryRegion &mr) const
{
	return slots_[mr.index].state == RPCRDMA_MR_ACTIVE;
}

void Conn::step(MemoryRegion &mr, u32 event)
{
	if (!rpcrdma_mr_event(&table_, mr.index, event, mr.key))
		fail("access", "region %u: event %u in state %u", mr.index,
		     event, slots_[mr.index].state);
}

void Conn::give_back(MemoryRegion &mr)
{
	if (!rpcrdma_mr_put(&table_, mr.index))
		fail("access", "region %u given back in state %u", mr.index,
		     slots_[mr.index].state);
}

int Conn::map(Regions &mrs, u8 *base, u32 offset, u32 length, bool write,
	      const void *of, rpcrdma_segment *segs, u32 max)
{
	const u32 largest = info().max_segment_size;
	Regions taken;
	u32 n = 0;

	while (length) {
		const bool never = n == max || !config.max_mrs;
		const s32 index =
			never || dead() ? -1 : rpcrdma_mr_take(&table_);

		if (index < 0) {
			mr_short_ |= !never;
			grow_ |= !never && mrs_.size() < config.max_mrs;
			for (MemoryRegion *mr : taken)
				give_back(*mr);
			return -static_cast<int>(never ? Error::MessageSize :
							 Error::NoRegion);
		}
		MemoryRegion &mr = *mrs_[index];
		const u32 most =
			world.options.mutant == Mutant::RegionTooLarge ?
				length :
				config.mr_octets;
		const u32 run =
			std::min({ length, largest, most - offset % kPage });
		mr.key = (mr.key & ~0xffU) | ((mr.key + 1) & 0xff);
		mr.window = { base + offset, run,
			      u64{ mr.key } << 20 | offset % kPage, write, of };
		segs[n++] = { mr.key, run, mr.window.address };
		taken.push_back(&mr);
		offset += run;
		length -= run;
	}
	mrs.insert(mrs.end(), taken.begin(), taken.end());
	return static_cast<int>(n);
}

void Conn::post_regions(Regions &mrs)
{
	for (MemoryRegion *mr : mrs) {
		WorkRequest wr = {};

		step(*mr, RPCRDMA_MR_POST);
		wr.op = WorkRequest::Register;
		wr.region = &mr->region;
		wr.window = mr->window;
		wr.key = mr->key;
		qp().post_send(wr);
	}
}

bool Conn::invalidate(Regions &mrs, Invalidated &inv)
{
	MemoryRegion *last = nullptr;

	if (world.options.mutant == Mutant::NoInvalidation)
		return false;
	for (MemoryRegion *mr : mrs) {
		const u32 state = slots_[mr->index].state;
		WorkRequest wr = {};

		if (state == RPCRDMA_MR_HELD)
			continue;
		last = mr;
		if (state != RPCRDMA_MR_ACTIVE)
			continue;
		if (!invalidates() &&
		    !planted(*this, Mutant::InvalidatedEnding)) {
			world.tally.regions_kept += !dead();
			continue;
		}
		check::posts(*this, Stage::Closed, "a Local Invalidate");
		step(*mr, RPCRDMA_MR_LOCAL_INV);
		wr.op = WorkRequest::Invalidate;
		wr.region = &mr->region;
		wr.key = mr->key;
		wr.owner = mr;
		wr.signaled = true;
		qp().post_send(wr);
	}
	if (last)
		last->waiter = &inv;
	return last;
}

void MemoryRegion::complete(const Completion &c)
{
	conn->invalidation_done(*this, c);
}

void Conn::invalidation_done(MemoryRegion &mr, const Completion &c)
{
	const bool ok = c.status == Status::Success;
	Invalidated *waiter = nullptr;

	if (!ok)
		lost("Local Invalidate flushed");
	else
		std::swap(waiter, mr.waiter);
	step(mr, ok ? RPCRDMA_MR_INV_DONE : RPCRDMA_MR_LOSE);
	if (waiter)
		waiter->unreachable();
}

/* As rpcrdma_frwr_more(). */
void Conn::more_regions()
{
	const bool told = mr_short_;

	mr_short_ = false;
	if (told && !planted(*this, Mutant::RegionsUntold))
		telling_++;
}

void Conn::put_regions(Regions &mrs)
{
	if (undo_regions(mrs))
		more_regions();
}

bool Conn::undo_regions(Regions &mrs)
{
	Regions left;

	for (MemoryRegion *mr : mrs) {
		if (slots_[mr->index].state != RPCRDMA_MR_HELD)
			left.push_back(mr);
		else if (world.options.mutant != Mutant::RegionForgotten ||
			 !world.schedule.once_in(16))
			give_back(*mr);
	}
	const bool any = left.size() != mrs.size();

	mrs = std::move(left);
	return any;
}

void Conn::remote_invalidated(Regions &mrs, u32 handle)
{
	for (MemoryRegion *mr : mrs)
		if (mr->key == handle) {
			if (rpcrdma_mr_event(&table_, mr->index,
					     RPCRDMA_MR_REMOTE_INV, handle)) {
				world.tally.remote_invalidates++;
				return;
			}
			break;
		}
	if (!link.excused(handle))
		fail("access", "%08x invalidated from afar", handle);
	lost("unknown handle invalidated");
}

void Conn::reclaim()
{
	for (auto &mr : mrs_)
		if (!rpcrdma_mr_event(&table_, mr->index, RPCRDMA_MR_LOSE,
				      mr->key))
			fail("lost", "region %u cannot be lost", mr->index);
	for (auto &mr : mrs_) {
		Invalidated *waiter = nullptr;

		std::swap(waiter, mr->waiter);
		if (waiter && world.options.mutant != Mutant::WaiterForgotten)
			waiter->unreachable();
	}
}

/* ------------------------------------------------------------------ */
/* conn.c                                                             */
/* ------------------------------------------------------------------ */

/* As rpcrdma_conn_advance(). */
void Conn::advance(Stage stage)
{
	if (stage_ < stage || planted(*this, Mutant::StageBack))
		stage_ = stage;
}

/* As rpcrdma_conn_shut(). */
void Conn::shut(Stage stage)
{
	advance(stage);
	check::stages(*this, before);
	if (planted(*this, Mutant::OwnerKept))
		return;
	credit_wait(kPumpWaits, false);
	credit_wait(kOwnerWaits, false);
	ring_.asked = {};
}

void Conn::lost(const char *reason)
{
	if (lost_flag)
		return;
	lost_flag = true;
	if (!planted(*this, Mutant::LostOpen))
		shut(Stage::Closed);
	why = reason;
	world.trace("%s is lost: %s", link.name(side), reason);
}

/* As rpcrdma_conn_ending(). */
void Conn::ending()
{
	shut(Stage::Ending);
	world.tally.endings++;
}

void Conn::work()
{
	if (beginning_)
		return begin();
	if (grow_) {
		grow_ = false;
		(void)grow(4);
		more_regions();
		return;
	}
	if (wanted_window_) {
		const u32 window = wanted_window_;

		wanted_window_ = 0;
		if (!dead())
			set_window(window);
	}
}

/* As the first half of rpcrdma_conn_destroy(). */
void Conn::close()
{
	lost_flag = true;
	if (planted(*this, Mutant::StopLate))
		qp().drain();
	/* As rpcrdma_send_stop(). */
	shut(Stage::Closed);
	while (building_)
		build();
	advance(Stage::Dead);
	life = Life::Draining;
	qp().drain();
}

bool Conn::drained() const
{
	return !qp().can_complete_send() &&
	       (!qp().can_complete_receive() ||
		planted(*this, Mutant::EndsEarly));
}

/* The second half. */
void Conn::destroy()
{
	check::drained(*this);
	reclaim();
	flush();
	stalled_ = nullptr;
	behind_.clear();
	life = Life::Gone;
	owner.gone();
	check::gone(*this);
}

void Conn::crash()
{
	qp().crash();
	lost_flag = true;
	stage_ = Stage::Dead;
	life = Life::Gone;
	building_ = alone_ = false;
	telling_ = 0;
	credit_waiters_ = 0;
	ring_.asked = {};
	beginning_ = nullptr;
	stalled_ = nullptr;
	behind_.clear();
	for (Send &s : sends_)
		s.held = nullptr;
	for (u32 i = 0; i < tx_queue_.size(); i++)
		tx_queue_[i]->queued = false;
	tx_queue_.cut(0);
	job_queue_.cut(0);
	jobs_posted_.cut(0);
}

} // namespace sim
