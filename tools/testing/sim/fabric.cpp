// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "fabric.h"
#include "world.h"

#include <algorithm>
#include <cstring>

namespace sim
{

/*
 * In the specification nothing is lost: in the error state each Work Request, signaled or
 * not, completes with a flush error before one that is posted later. Draining waits for
 * that. Transports rely on draining, but not on exactly one completion of each Work
 * Request: siw loses RDMA Reads, and completes others twice.
 */
bool QueuePair::lost(const WorkRequest &wr)
{
	World &w = link_->world;

	if (!w.loses_flush())
		return false;
	switch (wr.op) {
	case WorkRequest::Invalidate:
		w.tally.lost_invalidates++;
		break;
	case WorkRequest::Read:
		w.tally.lost_reads += wr.signaled;
		break;
	default:
		w.tally.lost_sends += wr.signaled;
	}
	return true;
}

/* What is posted now would complete when all completions have come. */
void QueuePair::posts() const
{
	if (draining_)
		fail("stages", "%s posts after the drain has begun",
		     link_->name(side_));
}

void QueuePair::post_send(const WorkRequest &wr)
{
	posts();
	if (!up()) {
		if (wr.owner && !lost(wr))
			send_cq_.push({ wr.owner, { Status::Flushed } });
		return;
	}
	invalidates_ += wr.op == WorkRequest::Invalidate;
	sq_.push(wr);
}

void QueuePair::post_receive(const Posted &r)
{
	posts();
	if (!up()) {
		recv_cq_.push({ r.owner, { Status::Flushed } });
		return;
	}
	rq_.push(r);
}

u32 QueuePair::reachable(const void *owner) const
{
	u32 n = 0;

	if (!up())
		return 0;
	for (const Region *r : regions_)
		n += r->valid && r->window.owner == owner;
	return n;
}

u32 QueuePair::exposed() const
{
	u32 octets = 0;

	for (const Region *r : regions_)
		if (r->valid)
			octets += r->window.length;
	return octets;
}

Region *QueuePair::region(u32 key) const
{
	for (Region *r : regions_)
		if (r->valid && r->key == key)
			return r;
	return nullptr;
}

/* What has left may still arrive. Some of the rest, nobody is told of. */
void QueuePair::error(Status status, u32 number)
{
	World &w = link_->world;

	if (!up())
		return;
	state_ = State::Error;
	link_->disconnected[1 - side_] = true;

	wire_.cut(w.schedule.below(wire_.size() + 1));
	for (u32 i = 0; i < wire_.size(); i++) {
		Packet &p = wire_[i];

		if (p.detached)
			continue;
		p.wr = numbered(p.number);
		p.detached = true;
		if (p.wr.op != WorkRequest::Read && p.wr.length)
			p.data.assign(p.wr.local, p.wr.local + p.wr.length);
		p.wr.done = false;
	}
	for (u32 i = 0; i < sq_.size(); i++) {
		const WorkRequest &wr = sq_[i];
		const bool failed =
			status != Status::Flushed && first_ + i == number;

		if (!wr.owner || (!failed && lost(wr)))
			continue;
		u32 times = 1;
		if (wr.op == WorkRequest::Read && w.loses_flush()) {
			w.tally.repeated_reads += wr.signaled;
			times++;
		}
		for (; times; times--)
			send_cq_.push(
				{ wr.owner,
				  { failed ? status : Status::Flushed } });
	}
	first_ += sq_.size();
	sq_.cut(0);
	issued_ = 0;
	invalidates_ = 0;
	responses_.cut(0);
	for (u32 i = 0; i < rq_.size(); i++)
		if (!w.loses_flush())
			recv_cq_.push({ rq_[i].owner, { Status::Flushed } });
	rq_.cut(0);
}

void QueuePair::crash()
{
	error();
	send_cq_.cut(0);
	recv_cq_.cut(0);
}

void QueuePair::issue()
{
	WorkRequest &wr = sq_[issued_];
	const u32 number = first_ + issued_++;

	switch (wr.op) {
	case WorkRequest::Register:
		if (wr.region->valid)
			fail("access", "region %#x registered while valid",
			     wr.region->key);
		*wr.region = { wr.window, wr.key, true };
		wr.done = true;
		break;
	case WorkRequest::Invalidate:
		if (!wr.region->valid || wr.region->key != wr.key) {
			if (!link_->excused(wr.key))
				fail("access",
				     "handle %#x invalidated, not "
				     "valid",
				     wr.key);
			return error(Status::RemoteOperation, number);
		}
		wr.region->valid = false;
		wr.done = true;
		break;
	default:
		wire_.push({ number, false, {}, {} });
	}
}

void QueuePair::inject(const WorkRequest &wr, std::vector<u8> data)
{
	wire_.push({ 0, true, wr, std::move(data) });
}

/* The other end is gone, and the oldest request is never acknowledged. */
void QueuePair::unreachable()
{
	wire_.cut(0);
	if (up() && issued_)
		error(Status::Unreachable, first_);
	wire_.cut(0);
}

void QueuePair::refused(Packet &p, QueuePair &to, Status status)
{
	const bool own = !p.detached;
	const u32 number = p.number;

	/* The answers to earlier requests come before the refusal. */
	while (can_respond())
		respond();
	while (can_retire())
		retire();
	error(own ? status : Status::Flushed, number);
	to.error();
	wire_.cut(0);
}

/* One octet after the other; each must be admitted. */
bool QueuePair::access(WorkRequest &wr, Packet &p, QueuePair &to)
{
	const Region *r = to.region(wr.key);
	const bool write = wr.op == WorkRequest::Write;
	const u32 n = std::min(wr.length - wr.at, kMtu);
	const u64 address = wr.address + wr.at;

	/* The handle of an RDMA Write of no octets is not looked at. */
	if (write && !wr.length)
		return true;
	if (!r || r->window.writable != write || address < r->window.address ||
	    n > r->window.length ||
	    address - r->window.address > r->window.length - n) {
		if (!link_->excused(wr.key))
			fail("access", "%s through handle %#x, %s",
			     write ? "RDMA Write" : "RDMA Read", wr.key,
			     r ? "outside its region" : "not valid");
		refused(p, to, Status::RemoteAccess);
		return false;
	}
	u8 *place = r->window.base + (address - r->window.address);
	if (write) {
		std::memcpy(place,
			    (p.detached ? p.data.data() : wr.local) + wr.at, n);
	} else if (!p.detached) {
		Response response;

		response.number = p.number;
		response.offset = wr.at;
		response.length = n;
		std::memcpy(response.data, place, n);
		responses_.push(response);
	}
	wr.at += n;
	return true;
}

void QueuePair::deliver(WorkRequest &wr, Packet &p, QueuePair &to)
{
	const u8 *data = p.detached ? p.data.data() : wr.local;

	if (to.rq_.empty() || wr.length > to.rq_[0].size) {
		if (!link_->tainted)
			fail("overrun", "%s: a message of %u octets",
			     to.rq_.empty() ? "no Receive" : "small Receive",
			     wr.length);
		return refused(p, to, Status::RemoteInvalid);
	}
	Completion c = { Status::Success, wr.length, 0, wr.sending };
	if (wr.op == WorkRequest::SendInvalidate) {
		Region *r = to.region(wr.key);

		if (!r) {
			if (!link_->excused(wr.key))
				fail("access",
				     "handle %#x invalidated from "
				     "afar, not valid",
				     wr.key);
			return refused(p, to, Status::RemoteOperation);
		}
		r->valid = false;
		c.invalidated = wr.key;
	}
	const Posted r = to.rq_.pop();
	if (wr.length)
		std::memcpy(r.buffer, data, wr.length);
	c.length = link_->mangle(side_, r.buffer, wr.length, r.size);
	to.recv_cq_.push({ r.owner, c });
	wr.done = true;
	wire_.pop();
}

void QueuePair::arrive()
{
	QueuePair &to = link_->qp[1 - side_];
	Packet &p = wire_.front();

	if (!to.up())
		return unreachable();
	WorkRequest &wr = p.detached ? p.wr : numbered(p.number);
	if (wr.op == WorkRequest::Send || wr.op == WorkRequest::SendInvalidate)
		return deliver(wr, p, to);
	if (!access(wr, p, to) || wr.at < wr.length)
		return;
	if (wr.op == WorkRequest::Write)
		wr.done = true;
	wire_.pop();
}

void QueuePair::respond()
{
	const Response &r = responses_.front();
	WorkRequest &wr = numbered(r.number);

	std::memcpy(wr.local + r.offset, r.data, r.length);
	wr.placed += r.length;
	wr.done = wr.placed == wr.length;
	responses_.pop();
}

void QueuePair::retire()
{
	const WorkRequest wr = sq_.pop();

	first_++;
	issued_--;
	invalidates_ -= wr.op == WorkRequest::Invalidate;
	if (wr.signaled)
		send_cq_.push({ wr.owner, { Status::Success } });
}

void QueuePair::complete_send()
{
	const Queued q = send_cq_.pop();

	q.owner->complete(q.completion);
}

bool QueuePair::tells(const Completer &c) const
{
	for (u32 i = 0; i < send_cq_.size(); i++)
		if (send_cq_[i].owner == &c)
			return true;
	return false;
}

void QueuePair::complete_receive()
{
	const Queued q = recv_cq_.pop();

	q.owner->complete(q.completion);
}

} // namespace sim
