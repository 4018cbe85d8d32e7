// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "responder.h"
#include "budget.h"
#include "checkers.h"
#include "core.h"
#include "world.h"

#include <algorithm>
#include <cstring>

namespace sim
{

static constexpr u32 kCalls = RPCRDMA_BUDGET_CALLS;
static constexpr u32 kReplies = RPCRDMA_BUDGET_REPLIES;

static u32 page_count(u32 octets)
{
	return (octets + kPage - 1) / kPage;
}

template <typename T>
static std::unique_ptr<T> take_out(std::vector<std::unique_ptr<T>> &from, u32 i)
{
	std::unique_ptr<T> t = std::move(from[i]);

	from.erase(from.begin() + i);
	return t;
}

template <typename T>
static std::unique_ptr<T> take_out(std::vector<std::unique_ptr<T>> &from,
				   const T &which)
{
	for (u32 i = 0; i < from.size(); i++)
		if (from[i].get() == &which)
			return take_out(from, i);
	fail("lost", "a context is not where it should be");
}

Responder::Responder(Conn &c, Service &s, const ServiceLimits &l, u64 peer)
	: conn(c)
	, service(s)
	, limits(l)
	, peer_(peer)
{
	/* Those who hold nothing back have nothing that could wait. */
	const u32 reserve = l.holds ? page_count(l.max_call) * kPage : 1U << 30;

	/* Others may have more than there is; here no connection waits for that. */
	service.budget.limit += reserve;
	(void)!rpcrdma_budget_charge(&service.budget, reserve, true);
	rpcrdma_account_open(&account_, service.budget.batch, reserve,
			     l.holds ? l.call_memory : reserve, l.reply_memory);
}

Responder::~Responder()
{
	close_account();
	service.busy -= static_cast<u32>(executing_.size());
}

/* As rpcrdma_memory_call(). */
bool Responder::call(u32 octets, bool alone)
{
	u32 verdict = rpcrdma_account_call(&account_, octets, alone);

	if (verdict == RPCRDMA_BUDGET_DRAW)
		verdict = rpcrdma_budget_draw(&service.budget, &account_,
					      RPCRDMA_BUDGET_CALLS, octets,
					      alone);
	conn.world.tally.short_of_memory += verdict != RPCRDMA_BUDGET_START;
	return verdict == RPCRDMA_BUDGET_START;
}

void Responder::take(u32 kind, u32 octets)
{
	if (rpcrdma_account_take(&account_, kind, octets) ==
	    RPCRDMA_BUDGET_DRAW)
		(void)!rpcrdma_budget_draw(&service.budget, &account_, kind,
					   octets, true);
	conn.world.tally.forced += !!account_.forced;
}

/* As rpcrdma_svc_replies_charged(), after the account was charged. */
void Responder::hurry()
{
	if (!limits.holds)
		return;
	drop_sent(false);
	conn.hurry(replies_full());
}

/* As rpcrdma_memory_put(). */
bool Responder::put(u32 kind, u32 octets)
{
	const bool much = rpcrdma_account_replies_full(&account_);
	const u32 back = rpcrdma_account_put(
		&account_, kind, octets, rpcrdma_budget_short(&service.budget));

	if (back)
		(void)!rpcrdma_budget_give(&service.budget, &account_, back);
	return much && !rpcrdma_account_replies_full(&account_);
}

/* As rpcrdma_svc_uncharge(). */
void Responder::put_call(u32 octets)
{
	enqueued_ |= put(kCalls, octets);
}

/* As rpcrdma_svc_reply_take(). */
void Responder::take_reply(OutgoingReply &reply)
{
	const rpcrdma_replies_limits most = replies_limits();

	reply.pooled = rpcrdma_replies_take(&counted_, &most, reply.memory);
	if (!reply.pooled)
		take(kReplies, reply.memory);
	conn.world.tally.pooled[reply.pooled]++;
}

/* As rpcrdma_svc_reply_put(), and rpcrdma_svc_eased() behind it. */
void Responder::put_reply(const OutgoingReply &reply)
{
	const rpcrdma_replies_limits most = replies_limits();
	const Mutant mutant = conn.world.options.mutant;
	bool eased = false;

	if (!reply.pooled && mutant != Mutant::ReplyMemoryForgotten)
		eased = put(kReplies, reply.memory);
	if (rpcrdma_replies_put(&counted_, &most, reply.memory, reply.pooled))
		eased = true;
	if (mutant != Mutant::PoolUntold)
		enqueued_ |= eased;
}

/* As rpcrdma_svc_call_ready(): if it is not the first, whoever has added that one enqueues. */
void Responder::make_ready(CallPtr call)
{
	enqueued_ |= !came_++;
	ready_.push_back(std::move(call));
}

void Responder::close_account()
{
	const u32 reserve = account_.reserve;

	if (!reserve)
		return;
	(void)!rpcrdma_account_close(&service.budget, &account_);
	(void)!rpcrdma_budget_uncharge(&service.budget, reserve);
	service.budget.limit -= reserve;
}

bool Responder::memory_sound() const
{
	return rpcrdma::budget::invariants(account_) &&
	       rpcrdma::budget::invariants(counted_) &&
	       rpcrdma::budget::invariants(service.budget);
}

u32 Responder::call_bound() const
{
	if (!limits.holds)
		return (limits.slots + 1) * (limits.max_call + kPage);
	return limits.call_memory + (limits.max_call + kPage) +
	       conn.largest_window * (conn.largest_receive + 2 * kPage);
}

u32 Responder::reply_bound() const
{
	const u32 largest = page_count(conn.world.largest_reply()) * kPage;

	return limits.holds ? limits.reply_memory + service.threads * largest :
			      limits.slots * largest;
}

u32 Responder::octets_of_replies(bool pooled) const
{
	u32 octets = 0;

	for (const auto &reply : replies_)
		octets += reply->pooled == pooled ? reply->memory : 0;
	return octets;
}

u32 Responder::kept() const
{
	u32 n = 0;

	for (const auto &reply : replies_)
		n += reply->sent;
	return n;
}

u32 Responder::octets_kept() const
{
	u32 octets = 0;

	for (const auto &reply : replies_)
		octets += reply->sent ? reply->memory : 0;
	return octets;
}

/* Those that are sent and wait for another one to be sent are over for their Calls. */
bool Responder::idle() const
{
	return !partial_ && ready_.empty() && waiting_.empty() &&
	       reading_.empty() && executing_.empty() && held_.empty() &&
	       group_.empty() && replies_.size() == conn.resting() + n_sent_;
}

/* ------------------------------------------------------------------ */
/* receive.c, reads.c, recvfrom.c                                     */
/* ------------------------------------------------------------------ */

void IncomingCall::post()
{
	for (u32 i = 0; i < operations.size(); i++) {
		const Operation &o = operations[i];
		WorkRequest wr = {};

		wr.op = WorkRequest::Read;
		wr.local = o.local;
		wr.length = o.length;
		wr.key = o.handle;
		wr.address = o.address;
		wr.signaled = i + 1 == operations.size();
		wr.owner = wr.signaled ? static_cast<Completer *>(&last) : this;
		responder->conn.qp().post_send(wr);
	}
}

/* Only a failure is told: they are not signaled. */
void IncomingCall::complete(const Completion &c)
{
	responder->conn.fault(c, call);
}

/* As rpcrdma_job_done(). */
void IncomingCall::Last::complete(const Completion &c)
{
	Conn &conn = call->responder->conn;
	const bool ok = c.status == Status::Success;

	if (!ok) {
		conn.fault(c, call->call);
		if (conn.world.options.mutant != Mutant::ReadEndedByFlush)
			return;
	}
	conn.completed(*call);
	if (conn.qp().tells(*this))
		fail("lost", "a job ends of which more will be told");
	call->responder->read_done(*call, ok ? Error::None : Error::Io);
	conn.pump();
}

void IncomingCall::done(Error error)
{
	responder->read_done(*this, error);
}

Responder::CallPtr Responder::new_call(const rpcrdma_rx &rx, u64 id)
{
	if (!conn.world.allocates())
		return nullptr;
	auto call = std::make_unique<IncomingCall>();

	call->responder = this;
	call->last.call = call.get();
	call->xid = rx.xid;
	call->call = id;
	call->sending = conn.sending;
	call->length = rx.stream_length;
	return call;
}

static void complete_call(IncomingCall &call, const rpcrdma_rx &rx)
{
	call.unreduced = rx.unreduced_length;
	call.inv_handle = rx.inv_handle;
	call.external = rx.external;
	call.chunks = rx.chunks;
}

static bool has_reads(const IncomingCall &call)
{
	return call.chunks.n_call || call.chunks.n_reads;
}

/* As rpcrdma_svc_failed_answer(). */
bool Responder::answered_before(u64 call)
{
	if (!rpcrdma_recent_known(&service.failed_calls, peer_, call,
				  conn.world.seconds()))
		return false;
	conn.refuse(static_cast<u32>(call), RPCRDMA2_ERR_SYSTEM, 0, 0);
	return true;
}

void Responder::fault(u64 call, bool sure)
{
	const u32 now = conn.world.seconds();

	conn.link.pair.blamed[1 - conn.side].push_back(conn.world.blame(call));
	if (sure)
		rpcrdma_recent_note(&service.failed_calls, peer_, call, now);
	else
		rpcrdma_recent_suspect(&service.failed_calls, peer_, call, now);
	conn.world.remembered();
}

/* As rpcrdma_svc_payload(). */
Taken Responder::payload(const rpcrdma_rx &rx, Receive &r)
{
	bool kept = false;
	Error error;

	if (conn.lost_flag)
		return Taken::No;
	/* As rpcrdma_svc_copies(). */
	const bool copies =
		rx.vers == 1 && !rx.external && ready_.size() >= limits.kept_v1;
	if (pings::part_of_group(rx))
		error = group(rx, r, kept);
	else if (rx.last && !rx.stream_offset && !copies)
		error = single(rx, r, kept);
	else
		error = fragment(rx, r, kept);
	check::memory(*this);
	if (error == Error::NoMemory && limits.holds)
		return no_memory();
	if (error == Error::NoMemory) {
		conn.lost("no memory for a Call");
	} else if (error != Error::None) {
		conn.refuse(rx.xid, RPCRDMA2_ERR_SYSTEM, 0, 0);
		abandon();
	}
	check::memory(*this);
	return kept ? Taken::Kept : Taken::No;
}

/* As rpcrdma_svc_recv_short(). */
Taken Responder::no_memory()
{
	if (!conn.stalled() || patient()) {
		conn.world.tally.stalled++;
		return Taken::Again;
	}
	conn.lost("no memory for a Call");
	return Taken::No;
}

/* As rpcrdma_svc_stalled(). */
void Responder::stalled()
{
	if (!planted(conn, Mutant::StallUntold))
		resume_asked_ = true;
}

/* As rpcrdma_bc_call_get(). */
bool Responder::too_many(u32 xid)
{
	if (limits.holds || ready_.size() + waiting_.size() + reading_.size() +
					    executing_.size() +
					    replies_.size() <
				    limits.slots)
		return false;
	conn.refuse(xid, RPCRDMA2_ERR_SYSTEM, 0, 0);
	return true;
}

Error Responder::single(const rpcrdma_rx &rx, Receive &r, bool &kept)
{
	const u64 id = conn.world.call_id(rx, r.buffer.get());

	if (partial_)
		abandon();
	if (answered_before(id) || too_many(rx.xid))
		return Error::None;
	if (rx.payload.length > limits.max_call)
		return Error::Io;
	CallPtr call = new_call(rx, id);

	if (!call)
		return Error::NoMemory;
	complete_call(*call, rx);
	if (has_reads(*call) &&
	    (call->unreduced > limits.max_call || !call->unreduced))
		return Error::Io;
	if (limits.holds) {
		call->receive = &r;
		call->payload = rx.payload;
		conn.keep(r);
		kept = true;
	} else {
		const u8 *from = &r.buffer[rx.payload.offset];

		call->octets.assign(from, from + rx.payload.length);
		call->pages = page_count(rx.payload.length);
		take(kCalls, call->pages * kPage);
	}
	if (has_reads(*call))
		return wait(std::move(call));
	call->length = rx.payload.length;
	make_ready(std::move(call));
	return Error::None;
}

/* As rpcrdma_svc_group_payload(). Who holds no Receive back copies what is whole. */
Error Responder::group(const rpcrdma_rx &rx, Receive &r, bool &kept)
{
	if (!rx.stream_offset) {
		abandon();
		group_id_ = conn.world.call_id(rx, r.buffer.get());
		group_usable_ =
			!answered_before(group_id_) && !too_many(rx.xid);
	}
	if (!group_usable_)
		return Error::None;
	CallPtr call = rx.last ? new_call(rx, group_id_) : nullptr;

	if (rx.last && !call)
		return Error::NoMemory;
	group_.push_back({ &r, rx.payload });
	conn.keep(r);
	kept = true;
	if (!rx.last)
		return Error::None;
	if (rx.unreduced_length > limits.max_call)
		return Error::Io;
	complete_call(*call, rx);
	call->group.swap(group_);
	call->directions = pings::directions(conn, *call->group[0].receive);
	if (planted(conn, Mutant::RepeatedDirections))
		call->directions =
			directed_first_.emplace(rx.xid, call->directions)
				.first->second;
	bool placed = false;
	if (pings::fetches(conn, call->group, call->chunks, placed))
		return fetch(std::move(call), placed);
	if (!limits.holds) {
		call->octets =
			pings::lay_out(conn, call->group, call->unreduced);
		call->pages = page_count(call->unreduced);
		take(kCalls, call->pages * kPage);
		put_group(call->group);
	} else if (planted(conn, Mutant::GroupGivenBack)) {
		for (const Part &p : call->group)
			conn.put_receive(*p.receive);
	}
	make_ready(std::move(call));
	return Error::None;
}

/* As rpcrdma_svc_group_fetch(). */
Error Responder::fetch(CallPtr call, bool placed)
{
	const bool one = call->group.size() == 1 && !placed;

	conn.world.tally.fetched[one]++;
	conn.world.tally.fetched_mixed += placed;
	call->fetched = true;
	call->in_place = true;
	if (!limits.holds) {
		call->octets =
			pings::lay_out(conn, call->group, call->unreduced);
		call->pages = page_count(call->unreduced);
		take(kCalls, call->pages * kPage);
		put_group(call->group);
	} else if (one) {
		call->receive = call->group[0].receive;
		call->payload = call->group[0].payload;
		call->group.clear();
		call->in_place = false;
	}
	return wait(std::move(call));
}

void Responder::put_group(std::vector<Part> &group)
{
	for (const Part &p : group)
		conn.put_receive(*p.receive);
	group.clear();
}

Error Responder::fragment(const rpcrdma_rx &rx, Receive &r, bool &kept)
{
	const u64 id =
		rx.stream_offset ? 0 : conn.world.call_id(rx, r.buffer.get());

	if (!rx.stream_offset)
		abandon();
	if (!rx.stream_offset && !answered_before(id) && !too_many(rx.xid)) {
		if (rx.stream_length > limits.max_call)
			return Error::Io;
		partial_ = new_call(rx, id);
		if (!partial_)
			return Error::NoMemory;
	}
	if (!partial_)
		return Error::None;
	IncomingCall &call = *partial_;
	const u32 end = rx.stream_offset + rx.payload.length;

	if (call.length > limits.max_call)
		return Error::Io;

	if (rx.stream_offset > call.length || end > call.length)
		return Error::Io;
	if (page_count(end) > call.pages) {
		if (!conn.world.allocates())
			return Error::NoMemory;
		take(kCalls, (page_count(end) - call.pages) * kPage);
		call.pages = page_count(end);
		hurry();
	}
	if (call.octets.size() < end)
		call.octets.resize(end);
	std::memcpy(&call.octets[rx.stream_offset],
		    &r.buffer[rx.payload.offset], rx.payload.length);
	if (limits.holds && rpcrdma_account_calls_full(&account_)) {
		conn.world.tally.held++;
		held_.push_back(&r);
		conn.keep(r);
		kept = true;
	}
	if (!rx.last)
		return Error::None;

	complete_call(call, rx);
	if (!has_reads(call)) {
		make_ready(std::move(partial_));
		return Error::None;
	}
	if (call.unreduced > limits.max_call || !call.unreduced)
		return Error::Io;
	return wait(std::move(partial_));
}

void Responder::abandon()
{
	if (planted(conn, Mutant::GroupForgotten))
		group_.clear();
	put_group(group_);
	if (!partial_)
		return;
	put_call(partial_->pages * kPage);
	partial_.reset();
	freed();
}

/* As rpcrdma_svc_read_queue(). */
Error Responder::wait(CallPtr call)
{
	const bool first = waiting_.empty();

	waiting_.push_back(std::move(call));
	if (first)
		resume();
	else
		conn.world.tally.queued_behind++;
	return Error::None;
}

/* As rpcrdma_svc_freed(). */
void Responder::freed()
{
	if (!gone_ && (!no_regions_.empty() || !waiting_.empty() ||
		       !held_.empty()))
		resume_asked_ = true;
}

/* As rpcrdma_svc_short(): the work item tries again after a while, but not for ever. */
bool Responder::patient()
{
	if (conn.world.schedule.once_in(4))
		return false;
	if (!planted(conn, Mutant::ShortUntold))
		resume_asked_ = true;
	conn.world.tally.tried_again++;
	return true;
}

/* As rpcrdma_svc_resume_worker(). */
void Responder::work()
{
	resume_asked_ = false;
	if (!planted(conn, Mutant::WritesUntold))
		resume_writes();
	resume();
	conn.again();
}

/* As rpcrdma_svc_resume(). */
void Responder::resume()
{
	const bool gives_back =
		conn.world.options.mutant != Mutant::HeldForEver;

	for (;;) {
		while (gives_back && !rpcrdma_account_calls_full(&account_) &&
		       !held_.empty()) {
			Receive *r = held_.front();

			held_.erase(held_.begin());
			conn.put_receive(*r);
		}
		bool alone = false;
		/* One that fails leaves memory, too. */
		CallPtr call = conn.lost_flag ? nullptr : next_to_read(alone);

		if (!call)
			return;
		hurry();
		const Error error = start_reads(call);
		if (error != Error::None &&
		    !reads_failed(std::move(call), alone, error))
			return;
	}
}

Responder::CallPtr Responder::next_to_read(bool &alone)
{
	if (waiting_.empty() || !no_regions_.empty())
		return nullptr;
	const u32 need = page_count(waiting_[0]->unreduced) * kPage;

	if (!limits.holds ||
	    conn.world.options.mutant == Mutant::ReadsWithoutBound)
		take(kCalls, need);
	else if (!call(need, !n_reading_ && std::none_of(ready_.begin(), ready_.end(),
							 [](const CallPtr &c) {
								 return c->pages;
							 })))
		return nullptr;
	alone = !n_reading_++ && !regions();
	return take_out(waiting_, 0);
}

/* As rpcrdma_svc_layout_reads(). */
void Responder::lay_out_reads(IncomingCall &call) const
{
	u32 position = 0;
	u32 before = 0; /* octets of the items before that */
	u32 at = 0;

	for (u32 i = 0; i < call.chunks.n_reads; i++) {
		const rpcrdma_read_segment &s = call.chunks.reads[i];

		if (s.position != position) {
			before += padded({ position, at - position });
			position = at = s.position;
		}
		if (!s.target.length)
			continue;
		if (u64{ at } + s.target.length > call.laid_out.size())
			fail("invariant", "%u octets are to be read at %u",
			     s.target.length, at);
		const bool wrong = planted(conn, Mutant::GroupReadWrong);
		u8 *const to = &call.laid_out[at - (wrong ? before : 0)];
		call.operations.push_back({ to, s.target.length,
					    s.target.handle, s.target.offset });
		at += s.target.length;
	}
}

/* As rpcrdma_svc_layout(). */
Error Responder::lay_out(IncomingCall &call)
{
	if (call.in_place) {
		call.laid_out = call.group.empty() ?
					call.octets :
					pings::lay_out(conn, call.group,
						       call.unreduced);
		lay_out_reads(call);
		return Error::None;
	}
	rpcrdma_piece pieces[RPCRDMA_MAX_PIECES];
	const u32 n = rpcrdma_layout_call(&call.chunks, call.length, pieces);
	u8 *to = call.laid_out.data();
	u32 end = 0;

	for (u32 i = 0; i < n; i++) {
		rpcrdma_piece p = pieces[i];

		if (p.target.offset < end || p.target.offset > call.unreduced ||
		    p.target.length > call.unreduced - p.target.offset)
			return Error::Io;
		end = p.target.offset + p.target.length;
		if (p.segment >= 0) {
			const rpcrdma_segment &s =
				call.chunks.reads[p.segment].target;

			call.operations.push_back({ to + p.target.offset,
						    p.target.length, s.handle,
						    s.offset + p.source });
			continue;
		}
		if (!call.external) {
			const u8 *from =
				call.receive ?
					&call.receive
						 ->buffer[call.payload.offset] :
					call.octets.data();
			const u32 size = call.receive ? call.payload.length :
							u32(call.octets.size());

			if (p.source > size ||
			    p.target.length > size - p.source)
				return Error::Io;
			std::memcpy(to + p.target.offset, from + p.source,
				    p.target.length);
			continue;
		}
		for (u32 k = 0; k < call.chunks.n_call && p.target.length;
		     k++) {
			const rpcrdma_segment &s = call.chunks.call[k];

			if (p.source >= s.length) {
				p.source -= s.length;
				continue;
			}
			const u32 run =
				std::min(p.target.length, s.length - p.source);
			call.operations.push_back({ to + p.target.offset, run,
						    s.handle,
						    s.offset + p.source });
			p.target.offset += run;
			p.target.length -= run;
			p.source = 0;
		}
		if (p.target.length)
			return Error::Io;
	}
	return Error::None;
}

/* There are memory regions, which come back when other Reads end. */
bool Responder::has_room(const IncomingCall &call) const
{
	size_t n = call.operations.size();

	for (const auto &other : reading_)
		n += other->operations.size();
	return n <= limits.reads && has_regions(call.operations.size());
}

/* So many are free. */
bool Responder::has_regions(size_t count) const
{
	const u32 used = regions();

	return !used || used + count <= limits.regions;
}

/* Those that are in use. */
u32 Responder::regions() const
{
	size_t n = 0;

	for (const auto &call : reading_)
		n += call->operations.size();
	for (const auto &reply : replies_)
		n += reply->regions;
	return static_cast<u32>(n);
}

/* As rpcrdma_svc_read_start(). Unless it fails, @call is not the caller's. */
Error Responder::start_reads(CallPtr &call)
{
	World &w = conn.world;

	if (!w.allocates())
		return w.chaos.once_in(2) ? Error::NoMemory : Error::Again;
	call->operations.clear();
	call->laid_out.assign(call->unreduced,
			      w.options.mutant == Mutant::RoundupNotZero);
	const Error error = lay_out(*call);
	if (error != Error::None)
		return error;
	if (!has_room(*call))
		return Error::Again;
	if (!conn.fits(static_cast<u32>(call->operations.size())))
		return Error::NoSpace;

	put_call(call->pages * kPage);
	call->pages = page_count(call->unreduced);
	call->octets.swap(call->laid_out);
	call->length = call->unreduced;
	Receive *r = call->receive;
	call->receive = nullptr;
	std::vector<Part> group;
	group.swap(call->group);
	if (planted(conn, Mutant::GroupReadHeld))
		group.clear();
	call->cost = static_cast<u32>(call->operations.size());
	check::memory(*this);
	if (!call->cost) {
		make_ready(std::move(call));
		n_reading_--;
		if (r)
			conn.put_receive(*r);
		put_group(group);
		return Error::None;
	}
	IncomingCall &job = *call;
	job.reading = true;
	reading_.push_back(std::move(call));
	if (r)
		conn.put_receive(*r);
	put_group(group);
	if (conn.start(job) != Error::None) {
		put_call(job.pages * kPage);
		n_reading_--;
		(void)take_out(reading_, job);
	}
	return Error::None;
}

/* As rpcrdma_svc_read_failed(). */
bool Responder::reads_failed(CallPtr call, bool alone, Error error)
{
	const u32 need = page_count(call->unreduced) * kPage;
	Receive *r = call->receive;

	if (error == Error::NoMemory || (error == Error::Again && !alone)) {
		if (error == Error::NoMemory && !patient())
			conn.lost("no memory for a Call");
		put_call(need);
		waiting_.insert(waiting_.begin(), std::move(call));
		return !--n_reading_ && error != Error::NoMemory &&
		       !regions();
	}
	conn.refuse(call->xid,
		    error == Error::Again || error == Error::NoSpace ?
			    RPCRDMA2_ERR_READ_CHUNKS :
			    RPCRDMA2_ERR_SYSTEM,
		    0, 0);
	conn.world.tally.fetch_failed += call->fetched;
	if (!planted(conn, Mutant::GroupReadRefused))
		put_group(call->group);
	put_call(call->pages * kPage);
	call.reset();
	if (r)
		conn.put_receive(*r);
	put_call(need);
	n_reading_--;
	return true;
}

bool Responder::sound(const IncomingCall &call) const
{
	return !call.external ||
	       rpcrdma_first_words(call.octets.data(), call.length, call.xid,
				   RPCRDMA_CALL);
}

/* As rpcrdma_svc_read_done(). */
void Responder::read_done(IncomingCall &job, Error error)
{
	CallPtr call = take_out(reading_, job);

	if (error == Error::None && sound(job)) {
		make_ready(std::move(call));
	} else {
		if (error == Error::None)
			conn.refuse(job.xid, RPCRDMA2_ERR_BAD_XDR, 0, 0);
		conn.world.tally.fetch_broken += job.fetched;
		put_call(job.pages * kPage);
		call.reset();
	}
	n_reading_--;
	if (!planted(conn, Mutant::ReadsUntold))
		freed();
}

/* As rpcrdma_svc_has_wspace() and rpcrdma_svc_recvfrom(). */
void Responder::pick()
{
	enqueued_ = false;
	if (replies_full()) {
		conn.world.tally.looked_in_vain++;
		return;
	}
	if (came_ == ready_.size())
		came_ = 0;
	CallPtr call = take_out(ready_, 0);

	enqueued_ = !ready_.empty();
	if (conn.world.options.mutant != Mutant::CallMemoryForgotten)
		(void)put(kCalls, call->pages * kPage);
	if (call->receive) {
		const u8 *from = &call->receive->buffer[call->payload.offset];

		call->octets.assign(from, from + call->length);
		conn.put_receive(*call->receive);
		call->receive = nullptr;
	}
	if (!call->group.empty()) {
		call->octets =
			pings::lay_out(conn, call->group, call->unreduced);
		if (!planted(conn, Mutant::GroupGivenBack))
			put_group(call->group);
	}
	freed();
	check::memory(*this);
	call->shape = conn.world.arrived(conn, call->octets, call->xid);
	service.busy++;
	executing_.push_back(std::move(call));
}

/* ------------------------------------------------------------------ */
/* sendto.c                                                           */
/* ------------------------------------------------------------------ */

bool Responder::replies_full() const
{
	const rpcrdma_replies_limits most = replies_limits();

	if (!limits.holds || planted(conn, Mutant::RepliesWithoutBound))
		return false;
	if (planted(conn, Mutant::RepliesTooLarge))
		return counted_.number >= most.number;
	return rpcrdma_replies_full(&counted_, &most, &account_);
}

void OutgoingReply::chain()
{
	for (u32 i = 0; i < plan.n_jobs; i++) {
		const rpcrdma_write_job &job = plan.jobs[i];
		WorkRequest wr = {};

		wr.op = WorkRequest::Write;
		wr.local = &message[job.source.offset];
		wr.length = job.target.length;
		if (grouped &&
		    planted(responder->conn, Mutant::GroupWriteShort))
			wr.length--;
		wr.key = job.target.handle;
		wr.address = job.target.offset;
		wr.owner = this;
		responder->conn.qp().post_send(wr);
	}
}

void OutgoingReply::ungroup()
{
	plan.n_jobs = 0;
	regions = 0;
	chain_cost = 0;
	hold = false;
}

/* Only a failure is told: they are not signaled. */
void OutgoingReply::complete(const Completion &c)
{
	responder->conn.fault(c, call);
}

void OutgoingReply::done(Error error)
{
	responder->reply_done(*this, error);
}

Error Responder::send(OutgoingReply &reply, const IncomingCall &call)
{
	World &w = conn.world;
	Error error = Error::None;

	reply.call = call.call;
	reply.hold = reply.plan.n_jobs;
	/* Devices with elements enough do so. */
	reply.gather = limits.holds && !reply.hold &&
		       call.shape.reply_length >= kPage &&
		       conn.world.schedule.once_in(2);
	reply.direct = !reply.hold && !reply.gather;
	reply.msg.length = reply.plan.stream_length;
	reply.msg.external = reply.plan.external;
	if (reply.plan.chunks.n_writes || reply.plan.chunks.has_reply)
		reply.msg.chunks = &reply.plan.chunks;
	std::copy_n(reply.plan.removed, reply.plan.n_removed, reply.removed);
	reply.n_removed = reply.plan.n_removed;
	if (w.sends_invalidate(conn))
		reply.invalidate = call.inv_handle;
	if (reply.plan.n_jobs)
		error = no_regions_.empty() ? prepare(reply) : Error::Again;
	if (error == Error::None)
		return conn.send(reply);
	if (error != Error::Again && error != Error::NoMemory)
		return error;
	w.tally.writes_waited += error == Error::Again;
	no_regions_.push_back(&reply);
	freed();
	return Error::None;
}

/* As rpcrdma_svc_reply_writes(). */
Error Responder::prepare(OutgoingReply &reply)
{
	if (!conn.world.allocates())
		return Error::NoMemory;
	if (!has_regions(reply.plan.n_jobs))
		return Error::Again;
	reply.regions = reply.plan.n_jobs;
	reply.chain_cost = reply.plan.n_jobs;
	return Error::None;
}

/* As rpcrdma_svc_writes_resume(). */
void Responder::resume_writes()
{
	while (!no_regions_.empty() && !conn.lost_flag) {
		OutgoingReply &reply = *no_regions_.front();
		Error error = prepare(reply);

		if ((error == Error::Again && regions()) ||
		    (error == Error::NoMemory && patient()))
			break;
		no_regions_.erase(no_regions_.begin());
		if (error == Error::None)
			error = conn.send(reply);
		if (error != Error::None)
			failed(reply, error);
	}
}

/* As rpcrdma_svc_reply_failed(). */
void Responder::failed(OutgoingReply &reply, Error error)
{
	switch (error) {
	case Error::NoMemory:
	case Error::NotConnected:
		conn.lost("no way for a Reply");
		break;
	default:
		conn.refuse(reply.msg.xid, RPCRDMA2_ERR_SYSTEM, 0, 0);
	}
	remove(reply);
}

/* As rpcrdma_svc_sendto(). */
void Responder::reply()
{
	World &w = conn.world;
	CallPtr call =
		take_out(executing_, w.schedule.below(u32(executing_.size())));
	const Shape &s = call->shape;

	service.busy--;
	if (!s.reply_expected || gone_ ||
	    (conn.lost_flag && !planted(conn, Mutant::QueuedClosed)))
		return;
	if (!w.allocates())
		return conn.lost("no memory for a Reply");
	replies_.push_back(std::make_unique<OutgoingReply>());
	OutgoingReply &reply = *replies_.back();
	reply.responder = this;
	build(s, call->xid, RPCRDMA_REPLY, reply.message);
	reply.memory = page_count(s.reply_length) * kPage;
	take_reply(reply);
	/* As rpcrdma_svc_reply_charge(). */
	const rpcrdma_replies_limits most = replies_limits();

	if (rpcrdma_replies_charged(&counted_, &most, reply.pooled,
				    n_sent_ || conn.in_a_hurry()))
		hurry();
	check::memory(*this);

	reply.msg.xid = call->xid;
	reply.msg.dir = RPCRDMA_REPLY;
	reply.sending = call->sending;
	reply.directions = call->directions;
	reply.octets = reply.message.data();
	reply.shape = s;
	if (s.reducible) {
		reply.items = reply.shape.results;
		reply.n_items = s.n_results;
	}
	if (!pings::plan_reply(conn, reply, s.reply_length, reply.plan))
		core::plan_reply(conn, call->chunks, s.reply_length,
				 reply.items, reply.n_items, reply.plan);
	if (reply.plan.errcode) {
		conn.refuse(call->xid, reply.plan.errcode, reply.plan.index,
			    reply.plan.needed);
		return remove(reply);
	}
	const Error error = send(reply, *call);

	if (error != Error::None)
		failed(reply, error);
}

void Responder::remove(OutgoingReply &reply)
{
	put_reply(reply);
	(void)take_out(replies_, reply);
	freed();
}

/* As rpcrdma_svc_sent_take(). */
void Responder::sent_take(OutgoingReply &reply)
{
	reply.sent = false;
	n_sent_--;
	sent_memory_ -= reply.memory;
}

bool Responder::surplus() const
{
	const bool any = planted(conn, Mutant::KeptWithoutBound);

	conn.world.tally.kept_too_large +=
		n_sent_ <= kMostKept && sent_memory_ > kMostKeptOctets;
	return n_sent_ > kMostKept || replies_full() ||
	       (sent_memory_ > kMostKeptOctets && !any);
}

/* Of those that are kept, what is too much; the oldest first. */
void Responder::drop_sent(bool all)
{
	for (u32 i = 0; i < replies_.size() && n_sent_;) {
		OutgoingReply &reply = *replies_[i];

		if (!all && !surplus())
			return;
		if (!reply.sent) {
			i++;
			continue;
		}
		sent_take(reply);
		remove(reply);
		i = 0;
	}
}

/* As rpcrdma_svc_reply_refused(). */
bool Responder::refused(u32 xid)
{
	for (u32 i = static_cast<u32>(replies_.size()); i--;) {
		OutgoingReply &reply = *replies_[i];

		if (reply.msg.xid != xid || !reply.grouped || reply.refused ||
		    !(reply.sent || reply.msg.sent))
			continue;
		if (planted(conn, Mutant::RefusedForgotten))
			return true;
		reply.refused = true;
		if (!reply.sent) {
			/* It ends when its last Send completes. */
			conn.await(true);
			return true;
		}
		sent_take(reply);
		if (planted(conn, Mutant::KeptMemoryForgotten))
			sent_memory_ += reply.memory;
		send_again(reply);
		check::kept(*this);
		return true;
	}
	return false;
}

/* As rpcrdma_svc_reply_ungroup(). */
void Responder::send_again(OutgoingReply &reply)
{
	static const rpcrdma_chunks none = {};

	conn.world.tally.refused[1]++;
	conn.world.tally.written_refused += reply.chain_cost != 0;
	if (planted(conn, Mutant::RefusedTwice) && !reply.no_group) {
		replies_.push_back(std::make_unique<OutgoingReply>(reply));
		OutgoingReply &other = *replies_.back();

		take_reply(other);
		other.octets = other.message.data();
		other.no_group = true;
		send_again(other);
	}
	core::plan_reply(conn, none, reply.shape.reply_length, nullptr, 0,
			 reply.plan);
	reply.ungroup();
	reply.group.reset();
	reply.grouped = false;
	reply.no_group = true;
	reply.n_removed = 0;
	reply.msg.length = reply.plan.stream_length;
	reply.msg.sent = 0;
	reply.direct = false;
	if (reply.plan.errcode)
		return reply_done(reply, Error::MessageSize);
	if (conn.send(reply) != Error::None)
		reply_done(reply, Error::NotConnected);
}

void Responder::reply_done(OutgoingReply &reply, Error error)
{
	if (reply.grouped && reply.refused)
		conn.await(false);
	if (reply.grouped && error == Error::None && reply.refused)
		return send_again(reply);
	if (reply.grouped && error == Error::None && limits.holds) {
		const bool wrote = reply.regions;

		reply.regions = 0;
		reply.sent = true;
		n_sent_++;
		sent_memory_ += reply.memory;
		hurry();
		if (wrote)
			freed();
		return check::kept(*this);
	}
	if (error == Error::MessageSize && !conn.lost_flag)
		conn.refuse(reply.msg.xid, RPCRDMA2_ERR_SYSTEM, 0, 0);
	else if (error != Error::None)
		conn.lost("Reply not sent");
	if (conn.world.options.mutant == Mutant::ReplyForgotten &&
	    conn.world.schedule.once_in(16))
		return;
	remove(reply);
}

/* The connection is destroyed, and all Receives with it. */
void Responder::gone()
{
	gone_ = true;
	resume_asked_ = false;
	drop_sent(true);
	if (!planted(conn, Mutant::WritesNotEnded))
		for (OutgoingReply *reply : no_regions_)
			remove(*reply);
	no_regions_.clear();
	group_.clear();
	partial_.reset();
	ready_.clear();
	came_ = 0;
	waiting_.clear();
	held_.clear();
	close_account();
	check::responder_gone(*this);
}

void Responder::crash()
{
	reading_.clear();
	replies_.clear();
	counted_ = {};
	no_regions_.clear();
	n_reading_ = 0;
	n_sent_ = 0;
	sent_memory_ = 0;
	gone();
	service.busy -= static_cast<u32>(executing_.size());
	executing_.clear();
}

} // namespace sim
