// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "requester.h"
#include "checkers.h"
#include "core.h"
#include "world.h"

#include <algorithm>
#include <cstring>

namespace sim
{

void Rpc::chain()
{
	conn->post_regions(mrs);
}

void Rpc::done(Error error)
{
	requester.sent(*this, error);
}

void Rpc::unreachable()
{
	requester.unreachable(*this);
}

Repeated::Repeated(const Rpc &r)
	: rpc(r)
	, conn(*r.conn)
	, call_(r.call)
{
	msg.xid = r.xid;
	msg.dir = RPCRDMA_CALL;
	msg.length = r.shape.call_length;
	octets = call_.data();
	items = r.items;
	n_items = r.n_items;
	n_results = r.n_results;
	only_group = true;
}

/* Who waits for the answer is its RPC. */
void Repeated::done(Error /*error*/)
{
	conn.end_call(*this);
	rpc.requester.repeated(*this);
}

bool Requester::version1() const
{
	return world.pairs[pair_]->version1;
}

bool Requester::blamed(const Rpc &r) const
{
	const u32 address = world.pairs[pair_]->address;

	for (const auto &p : world.pairs) {
		/* Only these have a reason. */
		if (p->address != address ||
		    !(p->ever_tainted || p->requester[side_].cancelled()))
			continue;
		for (const Blame &b : p->blamed[side_])
			if (b.xid == r.xid && (b.number == r.shape.number ||
					       b.number == Blame::kUntold))
				return true;
	}
	return false;
}

/* The other side has a Call of this XID, too. */
bool Requester::has_twin(u32 xid) const
{
	const Requester &other = world.pairs[pair_]->requester[1 - side_];

	return std::any_of(other.rpcs_.begin(),
			   other.rpcs_.begin() + other.begun_,
			   [&](const Rpc &r) { return r.xid == xid; });
}

bool Requester::twin_excused(u32 xid) const
{
	const Requester &other = world.pairs[pair_]->requester[1 - side_];

	for (u32 i = 0; i < other.begun_; i++)
		if (other.rpcs_[i].xid == xid && other.rpcs_[i].excused)
			return true;
	return false;
}

bool Requester::no_other_way(const Rpc &r) const
{
	return version1() && world.denied() != r.denied;
}

void Requester::run()
{
	if (writer_ != Writer::Nobody)
		return send_on();
	if (full_) {
		begin(rpcs_[begun_++]);
		queued_.insert(0, queued_.take_last());
	} else if (queued_.empty()) {
		begin(rpcs_[begun_++]);
	}
	send(*queued_.pop());
}

/* The end of rpcrdma_send_request(), if a region is missing. */
void Requester::send_on()
{
	const Writer step = writer_;

	writer_ = Writer::Nobody;
	if (step == Writer::LooksAgain) {
		world.tally.looked_again += !conn->lacks_regions();
		full_ &= conn->lacks_regions();
		return;
	}
	full_ = true;
	if (step == Writer::Waits && !planted(*conn, Mutant::SecondLookLost))
		writer_ = Writer::LooksAgain;
}

/* As rpcrdma_client_no_room(). */
void Requester::no_room()
{
	if (planted(*conn, Mutant::NoRoomLate))
		writer_ = Writer::WaitsLate;
	else
		full_ = true;
}

void Requester::begin(Rpc &r)
{
	r.xid = xid_++;
	r.denied = world.denied();
	r.excused = world.may_fail(r.shape, pair_, side_);
	build(r.shape, r.xid, RPCRDMA_CALL, r.call);
	r.stream.resize(r.shape.reply_max);
	for (u32 i = 0; i < r.shape.offered; i++)
		r.results[i].resize(r.shape.result_max[i]);
	active_.push_back(&r);
	r.state = Rpc::State::Queued;
	queued_.push(&r);
}

/* More regions than there can be are not worth waiting for. */
static u32 max_segments(const Conn &conn)
{
	return std::min({ conn.info().max_segments, u32{ RPCRDMA_MAX_SEGMENTS },
			  conn.config.max_mrs });
}

/* Octets of a message but those @removed, as segments of a body chunk. */
int Requester::body(Rpc &r, Octets &octets, const rpcrdma_range *removed,
		    u32 n_removed, bool write, rpcrdma_segment *segs)
{
	const rpcrdma_chunks &c = r.chunks;
	const u32 max =
		max_segments(*r.conn) - c.n_call - c.n_reads - c.n_write_segs;
	const u32 end = static_cast<u32>(octets.size());
	Regions mrs;
	u32 at = 0;
	u32 n = 0;

	for (u32 i = 0; i <= n_removed; i++) {
		const u32 to = i < n_removed ? removed[i].offset : end;

		if (to > at) {
			const int added =
				r.conn->map(mrs, octets.data(), at, to - at,
					    write, &r, segs + n, max - n);
			if (added < 0) {
				r.conn->undo_regions(mrs);
				return added;
			}
			n += static_cast<u32>(added);
		}
		if (i < n_removed)
			at = to + removed[i].length;
	}
	r.mrs.insert(r.mrs.end(), mrs.begin(), mrs.end());
	return static_cast<int>(n);
}

/* As rpcrdma_req_prepare(), for any number of items and results. */
Error Requester::prepare(Rpc &r)
{
	const Shape &s = r.shape;
	rpcrdma_call_plan &plan = r.plan;
	rpcrdma_chunks &c = r.chunks;
	rpcrdma_call_shape shape = {};
	const u32 max = max_segments(*r.conn);
	/* The Call cannot do without what could not be mapped. */
	const auto needed = [&plan](int n, bool waits) {
		return n < 0 &&
		       (plan.chunks_required ||
			(waits && n == -static_cast<int>(Error::NoRegion)));
	};

	shape.length = s.call_length;
	if (s.n_items)
		shape.item = s.items[0];
	shape.avoid = r.avoid;
	shape.reducible = s.reducible;
	shape.reply_expected = s.reply_expected;
	if (s.reply_expected) {
		shape.reply_max = s.reply_max;
		shape.result_max = s.offered ? s.result_max[0] : 0;
	}
	shape.round_trip = s.round_trip;
	shape.sends = r.conn->spare_sends();
	core::plan_call(*r.conn, shape, plan);
	if ((plan.read_chunk || plan.write_chunk || plan.call_chunk ||
	     plan.reply_chunk) &&
	    asks(r) && conn->admits(nullptr) != Error::None)
		return Error::NoCredit;

	c.n_call = c.n_reads = c.n_writes = c.n_write_segs = 0;
	c.has_reply = false;
	r.n_removed = 0;
	r.msg.inv_handle = 0;

	for (u32 i = 0; plan.read_chunk && i < s.n_items; i++) {
		rpcrdma_segment segs[RPCRDMA_MAX_SEGMENTS];
		const int n = r.conn->map(r.mrs, r.call.data(),
					  s.items[i].offset, s.items[i].length,
					  false, &r, segs, max - c.n_reads);

		if (needed(n, plan.call_waits))
			return static_cast<Error>(-n);
		if (n < 0)
			break;
		for (int k = 0; k < n; k++)
			c.reads[c.n_reads++] = { s.items[i].offset, segs[k] };
		r.removed[r.n_removed++] = { s.items[i].offset,
					     padded(s.items[i]) };
	}
	plan.read_chunk = r.n_removed;
	plan.stream_length = s.call_length;
	for (u32 i = 0; i < r.n_removed; i++)
		plan.stream_length -= r.removed[i].length;

	for (u32 i = 0; plan.write_chunk && i < s.offered; i++) {
		const int n = r.conn->map(r.mrs, r.results[i].data(), 0,
					  s.result_max[i], true, &r,
					  c.write_segs + c.n_write_segs,
					  max - c.n_reads - c.n_write_segs);

		if (needed(n, plan.result_waits))
			return static_cast<Error>(-n);
		if (n < 0)
			break;
		c.writes[c.n_writes++] = { static_cast<u32>(n),
					   c.n_write_segs };
		c.n_write_segs += static_cast<u32>(n);
	}
	plan.write_chunk = c.n_writes;

	if (plan.call_chunk) {
		const int n =
			body(r, r.call, r.removed, r.n_removed, false, c.call);

		if (needed(n, plan.call_waits))
			return static_cast<Error>(-n);
		plan.call_chunk = n >= 0;
		c.n_call = n >= 0 ? static_cast<u32>(n) : 0;
	}
	if (plan.reply_chunk) {
		const int n = body(r, r.stream, nullptr, 0, true,
				   c.write_segs + c.n_write_segs);

		if (needed(n, plan.result_waits))
			return static_cast<Error>(-n);
		plan.reply_chunk = n >= 0;
		if (n >= 0) {
			c.reply = { static_cast<u32>(n), c.n_write_segs };
			c.has_reply = true;
			c.n_write_segs += static_cast<u32>(n);
		}
	}
	r.msg.inv_handle = rpcrdma_inv_handle(&c);
	return world.allocates() ? Error::None : Error::NoMemory;
}

/*
 * Callbacks of a server are sent as credits allow; so are probes, which do not go through
 * sunrpc.
 */
bool Requester::asks(const Rpc &r) const
{
	return side_ == 0 && !r.shape.probe;
}

/* sunrpc keeps it. */
void Requester::not_admitted(Rpc &r)
{
	r.conn = nullptr;
	r.state = Rpc::State::Queued;
	queued_.insert(0, &r);
	world.tally.not_admitted++;
}

/* As rpcrdma_send_request(). */
void Requester::send(Rpc &r)
{
	r.conn = conn;
	r.state = Rpc::State::Waiting;
	r.refused = 0;
	r.external = false;
	r.taken = 0;
	r.status = 0;
	const Error prepared = prepare(r);
	if (prepared == Error::NoCredit)
		return not_admitted(r);
	r.excused |= conn->link.tainted;
	if (prepared != Error::None) {
		r.conn->undo_regions(r.mrs);
		r.mrs.clear();
		if (prepared == Error::MessageSize)
			return over(r, Rpc::End::Failed);
		/* -ENOBUFS: sunrpc tries again later. */
		r.conn = nullptr;
		r.state = Rpc::State::Queued;
		if (prepared == Error::NoRegion) {
			queued_.insert(0, &r);
			writer_ = Writer::Waits;
			world.tally.no_regions++;
		} else {
			queued_.push(&r);
		}
		return;
	}
	r.octets = r.call.data();
	r.items = r.shape.items;
	r.n_items = r.shape.reducible ? r.shape.n_items : 0;
	r.n_results = r.shape.reducible ? r.shape.offered : 0;
	r.grouped = false;
	r.unwritten = false;
	r.offers = (r.chunks.n_writes || r.chunks.n_reads) &&
		   !r.chunks.n_call && !r.chunks.has_reply;
	r.chain_cost = static_cast<u32>(r.mrs.size());
	r.msg.xid = r.xid;
	r.msg.dir = RPCRDMA_CALL;
	r.msg.length = r.plan.stream_length;
	r.msg.external = r.plan.call_chunk;
	r.msg.chunks = &r.chunks;
	r.msg.call_only = !r.shape.reply_expected;
	r.msg.probe = r.shape.probe;
	r.msg.sent = 0;
	world.trace("%s calls %u xid %08x: %u octets%s%s%s%s",
		    conn->link.name(side_), r.shape.number, r.xid,
		    r.shape.call_length, r.plan.read_chunk ? " Read" : "",
		    r.plan.write_chunk ? " Write" : "",
		    r.plan.call_chunk ? " Call" : "",
		    r.plan.reply_chunk ? " Reply" :
		    r.plan.streamed    ? " far" :
					 "");
	const Error error = conn->send(r, asks(r));

	if (error == Error::None) {
		world.tally.streamed += r.plan.streamed;
		world.tally.reads += r.plan.read_chunk;
		world.tally.writes += r.plan.write_chunk;
		world.tally.call_chunks += r.plan.call_chunk;
		world.tally.reply_chunks += r.plan.reply_chunk;
		world.tally.retries += r.avoid != 0;
		return;
	}
	conn->undo_regions(r.mrs);
	if (error == Error::NoCredit)
		check::streamed(r);
	if (error == Error::NoCredit || error == Error::NoRoom) {
		r.mrs.clear();
		return not_admitted(r);
	}
	if (error == Error::NotConnected) {
		r.conn = nullptr;
		r.state = Rpc::State::Queued;
		queued_.push(&r);
		return;
	}
	over(r, Rpc::End::Failed);
}

/*
 * As no client of ours does: a Call whose first Send names no memory goes again, while it has no
 * answer. From now on the RPC itself goes by the types of -07 if it has to be sent again.
 */
void Requester::repeat()
{
	Rpc &r = *to_repeat_.pop();

	if (r.state != Rpc::State::Waiting || r.conn->pending(r) ||
	    !r.mrs.empty() || !r.conn->open() || !pings::repeats(*r.conn))
		return;
	Conn &c = *r.conn;

	world.trace("%s calls %u xid %08x again", c.link.name(side_),
		    r.shape.number, r.xid);
	pings::repeated(c);
	r.repeated = true;
	r.no_group = true;
	if (world.schedule.once_in(2))
		to_repeat_.push(&r);
	repeated_.push_back(std::make_unique<Repeated>(r));
	Repeated &m = *repeated_.back();
	if (c.send(m) != Error::None)
		repeated(m);
}

void Requester::repeated(Repeated &m)
{
	if (!std::erase_if(repeated_,
			   [&](const auto &p) { return p.get() == &m; }))
		fail("lost", "a Call that goes again is not there");
}

/*
 * The rest of a Reply that is not taken is dropped until its Call is sent again (D14). Nobody
 * needs that any more.
 */
void Requester::withdraw_repeated(const Conn &c, u32 xid)
{
	for (u32 i = 0; i < repeated_.size();) {
		Repeated &m = *repeated_[i];

		if (&m.conn == &c && m.msg.xid == xid && m.conn.withdraw(m))
			repeated(m);
		else
			i++;
	}
}

/* The RPC with this XID, if @c carries it and it is not over. */
Rpc *Requester::find(const Conn &c, u32 xid)
{
	for (Rpc *r : active_)
		if (r->xid == xid && r->conn == &c &&
		    r->state == Rpc::State::Waiting)
			return r;
	return nullptr;
}

namespace
{

/* For a planted bug: nobody waits. */
struct Nobody final : Invalidated {
	void unreachable() override
	{
	}
};

} // namespace

/* As rpcrdma_req_sent(). */
void Requester::sent(Rpc &r, Error error)
{
	static Nobody nobody;

	if (r.state != Rpc::State::Waiting || error == Error::NotConnected)
		return;
	const Mutant early = r.chunks.n_reads ? Mutant::GroupReadEarly :
						Mutant::GroupMemoryEarly;
	if (planted(*r.conn, early) && r.grouped)
		(void)!r.conn->invalidate(r.mrs, nobody);
	if (error != Error::None)
		return fail_rpc(r, -5);
	if (r.refused)
		return fail_rpc(r, r.refused);
	if (!r.shape.reply_expected)
		finish(r, 0);
	else if (pings::repeats(*r.conn) && world.schedule.once_in(2))
		to_repeat_.push(&r);
}

/*
 * A Call that was sent more often than once has an answer, to another sending than the last one of
 * its RPC. It is that of the RPC, too, unless it names memory, or can be taken back no more.
 */
bool Requester::ignores(Conn &c, Rpc &r, const rpcrdma_rx &rx)
{
	if (!r.repeated || c.sending == r.sending)
		return false;
	/* It has begun when nobody waited. */
	if (!r.mrs.empty() || rx.stream_offset != r.taken)
		return true;
	if (!rx.last || !c.pending(r))
		return false;
	if (!c.withdraw(r))
		return true;
	world.tally.repeated_withdrawn++;
	return false;
}

/* A part of a Reply, as rpcrdma_reply_take(). */
bool Requester::take(Rpc &r, const rpcrdma_rx &rx, const u8 *buffer)
{
	const rpcrdma_chunks &c = r.chunks;
	u32 replied = 0;

	for (u32 i = 0; rx.last && i < c.n_writes; i++) {
		r.written[i] = 0;
		if (rx.chunks.n_writes &&
		    !rpcrdma_written(&c, &rx.chunks, i, &r.written[i]))
			return false;
	}
	if (rx.external && !rpcrdma_replied(&c, &rx.chunks, &replied))
		return false;
	r.external = rx.external;
	r.unwritten = pings::part_of_group(rx) && !rx.chunks.n_write_segs;
	if (pings::part_of_group(rx) && !r.conn->link.tainted)
		check::written(r);
	r.length = rx.external ? replied : rx.stream_length;
	if (rx.external || rx.stream_offset >= r.stream.size())
		return true;
	const u32 room = static_cast<u32>(r.stream.size()) - rx.stream_offset;
	r.taken = rx.stream_offset + rx.payload.length;
	std::memcpy(&r.stream[rx.stream_offset], buffer + rx.payload.offset,
		    std::min(room, rx.payload.length));
	return true;
}

/* As rpcrdma_client_payload(). */
void Requester::payload(Conn &c, const rpcrdma_rx &rx, const u8 *buffer,
			u32 invalidated)
{
	Rpc *r = find(c, rx.xid);

	if (r)
		check::matched(*this, c, rx.xid);
	else
		check::unmatched(*this, c, rx.xid);
	c.answers[rx.xid].replies += rx.last;
	world.tally.repeated_answered += !r && rx.last && !c.link.tainted &&
					 c.answers[rx.xid].replies > 1;
	if (!r)
		return;
	if (ignores(c, *r, rx)) {
		world.tally.repeated_ignored++;
		return;
	}
	if (c.pending(*r) && !(r->repeated && c.sending != r->sending)) {
		if (!c.link.tainted)
			fail("answers", "Reply to %u, which is not sent",
			     r->shape.number);
		return c.lost("Reply to a Call not sent");
	}
	const bool ok = take(*r, rx, buffer);

	if (invalidated)
		c.remote_invalidated(r->mrs, invalidated);
	if (ok && rx.last)
		r->answered = &c;
	if (!ok || rx.last)
		finish(*r, ok ? 0 : -5);
	if (rx.last && world.options.mutant == Mutant::AnswerTwice &&
	    r->state == Rpc::State::Over)
		over(*r, Rpc::End::Answered);
}

/* Its Reply is not taken: what is to go again does not go, as in withdraw_repeated(). */
void Requester::fail_queued(const Conn &c, u32 xid)
{
	for (Rpc *r : active_) {
		if (r->xid != xid || r->state != Rpc::State::Queued ||
		    !r->repeated || conn != &c)
			continue;
		queued_.remove(r);
		r->status = -5;
		return over(*r, Rpc::End::Failed);
	}
}

/* As rpcrdma_client_failed(). */
void Requester::failed(Conn &c, const rpcrdma_rx &rx)
{
	Rpc *r = find(c, rx.xid);

	if (!rx.reported)
		withdraw_repeated(c, rx.xid);
	if (!r && !rx.reported)
		return fail_queued(c, rx.xid);
	if (!r)
		return;
	/* Its Reply is not taken: as in withdraw_repeated(). */
	if (r->repeated && !rx.reported)
		(void)c.withdraw(*r);
	/* A group has been refused, and it has gone otherwise. */
	if (r->repeated && !r->grouped && rx.reported &&
	    rx.errcode == RPCRDMA2_ERR_NONE)
		return;
	c.call_refused(*r, rx);
	const bool again = r->grouped && pings::group_refused(rx);
	s32 error = again ? 0 : core::plan_retry(c, r->plan, rx, r->avoid);

	r->no_group |= again;
	world.tally.refused[0] += again;
	world.tally.fetch_refused +=
		again && r->chunks.n_reads && rx.errcode == RPCRDMA2_ERR_NONE;
	if (!error)
		error = kAgain;
	world.trace("%s: %u has failed: %d", c.link.name(side_),
		    r->shape.number, error);
	fail_rpc(*r, error);
}

void Requester::fail_rpc(Rpc &r, s32 error)
{
	if (r.conn->pending(r))
		r.refused = error;
	else
		finish(r, error);
}

/* As rpcrdma_reply_finish(). */
void Requester::finish(Rpc &r, s32 status)
{
	r.status = status;
	r.state = Rpc::State::Ending;
	/* The peer may go on as if nothing were wrong. */
	if (status < 0 && (r.excused || twin_excused(r.xid)))
		for (const MemoryRegion *mr : r.mrs)
			r.conn->link.excuse(mr->key);
	const bool early =
		world.options.mutant == Mutant::AnswerBeforeInvalidation;
	const bool kept =
		(r.unwritten && planted(*r.conn, Mutant::GroupMemoryKept)) ||
		(r.grouped && r.no_group && r.chunks.n_reads &&
		 planted(*r.conn, Mutant::GroupReadKept));
	if (kept || !r.conn->invalidate(r.mrs, r) || early)
		unreachable(r);
}

/* As rpcrdma_reply_complete() and rpcrdma_req_woken(). */
void Requester::unreachable(Rpc &r)
{
	r.conn->put_regions(r.mrs);
	r.mrs.clear();
	r.conn->end_call(r);
	if (r.cancelled)
		return over(r, Rpc::End::Cancelled);
	if (r.status == kAgain) {
		check::unreachable(r);
		r.conn = nullptr;
		r.state = Rpc::State::Queued;
		queued_.push(&r);
		return;
	}
	if (r.status < 0)
		return over(r, Rpc::End::Failed);
	if (world.options.mutant == Mutant::ExcusedOctetWrong && r.excused &&
	    !r.conn->link.tainted && r.length && !r.stream.empty())
		r.stream[0] ^= 1;
	r.wrong = !right(r);
	over(r, r.wrong ? Rpc::End::Failed : Rpc::End::Answered);
}

/* Compare what came with what the other side has sent. */
bool Requester::right(Rpc &r)
{
	const Shape &s = r.shape;
	Octets whole;
	u32 from = 0;
	u32 at = 0;

	if (!s.reply_expected)
		return true;
	if (r.external && !rpcrdma_first_words(r.stream.data(), r.length, r.xid,
					       RPCRDMA_REPLY))
		return false;
	build(s, r.xid, RPCRDMA_REPLY, whole);
	const auto same = [&](u32 to) {
		const u32 n = to - from;

		if (at + n > r.length || r.length > r.stream.size() ||
		    std::memcmp(&r.stream[at], &whole[from], n) != 0)
			return false;
		at += n;
		return true;
	};
	for (u32 i = 0; i < r.chunks.n_writes; i++) {
		if (!r.written[i])
			continue;
		if (i >= s.n_results || r.written[i] != s.results[i].length ||
		    std::memcmp(r.results[i].data(),
				&whole[s.results[i].offset],
				r.written[i]) != 0 ||
		    !same(s.results[i].offset))
			return false;
		from = s.results[i].offset + padded(s.results[i]);
	}
	return same(static_cast<u32>(whole.size())) && at == r.length;
}

void Requester::over(Rpc &r, Rpc::End end)
{
	world.trace("%u is over: %d", r.shape.number, static_cast<int>(end));
	r.ends++;
	r.end = end;
	world.tally.ends[static_cast<u32>(end)]++;
	world.tally.callbacks += side_ == 1 && end == Rpc::End::Answered;
	check::ended(r);
	check::unreachable(r);
	r.state = Rpc::State::Over;
	r.conn = nullptr;
	r.call = {};
	r.stream = {};
	for (Octets &o : r.results)
		o = {};
	active_.erase(std::remove(active_.begin(), active_.end(), &r),
		      active_.end());
	world.progress();
}

bool Requester::has_answer(const Conn &c, u32 xid) const
{
	return std::any_of(
		rpcs_.begin(), rpcs_.begin() + begun_, [&](const Rpc &r) {
			return r.xid == xid && r.answered == &c &&
			       !has_more(c, xid, !r.repeated || !has_twin(xid));
		});
}

bool Requester::has_more(const Conn &c, u32 xid, bool errors_count) const
{
	const auto found = c.answers.find(xid);

	return found != c.answers.end() && found->second.more(errors_count);
}

const Rpc *Requester::carried_by(const Conn &c) const
{
	for (const Rpc *r : active_)
		if (r->conn == &c)
			return r;
	return nullptr;
}

void Requester::cancel_one()
{
	if (active_.empty())
		return;
	Rpc &r = *active_[world.chaos.below(active())];

	cancelled_ = true;
	switch (r.state) {
	case Rpc::State::Queued:
		world.effect(Fault::Cancel);
		queued_.remove(&r);
		return over(r, Rpc::End::Cancelled);
	case Rpc::State::Waiting:
		r.conn->settle(r);
		if (r.state != Rpc::State::Waiting)
			return;
		world.trace("%u is given up", r.shape.number);
		world.effect(Fault::Cancel);
		r.cancelled = true;
		world.tally.fetch_cancelled += r.grouped && r.chunks.n_reads;
		for (const MemoryRegion *mr : r.mrs)
			r.conn->link.excuse(mr->key);
		r.conn->cancel(r);
		/* As rpcrdma_req_recall(), if the answer is late. */
		if (side_ == 0 && r.msg.sent && world.chaos.once_in(4)) {
			r.conn->ending();
			r.conn->lost("Call not answered");
		}
		r.conn->end_call(r);
		return finish(r, 0);
	default:
		return;
	}
}

void Requester::excuse(const Conn &c)
{
	for (Rpc *r : active_)
		if (r->conn == &c)
			r->excused = true;
}

/*
 * Nothing can come from @c any more: send again on another one. A callback fails;
 * it belongs to its connection, also if it has not been sent.
 */
void Requester::gone(Conn &c)
{
	const std::vector<Rpc *> all = active_;
	const bool current = conn == &c;

	if (current) {
		conn = nullptr;
		full_ = false;
		writer_ = Writer::Nobody;
	}
	if (current && side_ == 1)
		queued_.cut(0);
	for (Rpc *r : all) {
		const bool queued = r->state == Rpc::State::Queued;

		if (queued && side_ == 1 && current) {
			r->excused = true;
			over(*r, Rpc::End::Failed);
		}
		if (r->conn != &c || r->state != Rpc::State::Waiting)
			continue;
		r->mrs.clear();
		check::unreachable(*r);
		c.end_call(*r);
		r->conn = nullptr;
		if (side_ == 1) {
			r->excused = true;
			over(*r, Rpc::End::Failed);
			continue;
		}
		if (world.options.mutant == Mutant::ReconnectForgets)
			continue;
		r->state = Rpc::State::Queued;
		queued_.push(r);
	}
}

void Requester::crash()
{
	const std::vector<Rpc *> all = active_;

	conn = nullptr;
	full_ = false;
	writer_ = Writer::Nobody;
	queued_.cut(0);
	to_repeat_.cut(0);
	repeated_.clear();
	for (Rpc *r : all) {
		r->mrs.clear();
		r->conn = nullptr;
		over(*r, Rpc::End::Crashed);
	}
}

} // namespace sim
