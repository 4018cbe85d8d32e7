// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "world.h"
#include "checkers.h"

#include <rpcrdma/shim.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace sim
{

thread_local const char *broken;

/* RDMA Reads of one Call at most. */
static constexpr u32 kReads = RPCRDMA_MAX_PIECES;
/* So few that small messages have to wait, too. */
static constexpr u32 kRegions = 4;

/* More steps than any run needs that ends. */
static constexpr u32 kStepsWithoutProgress = 60000;

/* ------------------------------------------------------------------ */
/* One connection                                                     */
/* ------------------------------------------------------------------ */

Link::End::End(Link &l, u32 s)
	: link(l)
	, side(s)
	, conn(l, s, l.pair.config[s], *this)
	, responder(conn, s ? l.world.server : l.pair.callbacks,
		    l.pair.limits[s], l.pair.address)
{
}

Link::Link(World &w, Pair &p)
	: world(w)
	, pair(p)
{
	for (u32 side = 0; side < 2; side++) {
		qp[side].bind(this, side);
		ends[side].emplace(*this, side);
	}
}

void Link::End::ready()
{
	auth::ready(conn);
	const bool newest = link.pair.links.back().get() == &link;

	if (newest &&
	    (side == 0 || conn.info().peer.reverse != RPCRDMA_RVRSDIR_NONE))
		link.pair.requester[side].use(conn);
}

Taken Link::End::payload(const rpcrdma_rx &rx, Receive &r, u32 invalidated)
{
	if (rx.dir == RPCRDMA_CALL)
		return responder.payload(rx, r);
	if (pings::part_of_group(rx))
		return reply_group(rx, r, invalidated);
	link.pair.requester[side].payload(conn, rx, r.buffer.get(),
					  invalidated);
	if (rx.last && link.world.options.mutant == Mutant::ReplyTwice)
		link.pair.requester[side].payload(conn, rx, r.buffer.get(), 0);
	return Taken::No;
}

/* As rpcrdma_reply_group_keep() and rpcrdma_reply_group_take(). */
Taken Link::End::reply_group(const rpcrdma_rx &rx, Receive &r, u32 invalidated)
{
	rpcrdma_rx one = rx;

	reply.push_back({ &r, rx.payload });
	conn.keep(r);
	if (!rx.last)
		return Taken::Kept;
	if (!pings::answers(conn, *reply[0].receive, one.chunks)) {
		one.error = -EIO;
		link.pair.requester[side].failed(conn, one);
		put_reply();
		return Taken::Kept;
	}
	const Octets whole = pings::lay_out(conn, reply, rx.unreduced_length);
	one.stream_offset = 0;
	one.stream_length = static_cast<u32>(whole.size());
	one.payload = { 0, one.stream_length };
	link.pair.requester[side].payload(conn, one, whole.data(), invalidated);
	put_reply();
	return Taken::Kept;
}

void Link::End::put_reply()
{
	for (const Part &p : reply)
		conn.put_receive(*p.receive);
	reply.clear();
}

void Link::End::abandon(rpcrdma_dir dir)
{
	if (dir == RPCRDMA_CALL)
		responder.abandon();
	else
		put_reply();
}

void Link::End::reply_refused(u32 xid)
{
	if (responder.refused(xid) || link.tainted)
		return;
	/* It is not kept any more: the Requester waits until its time is over. */
	link.world.tally.replies_not_kept++;
	link.ends[1 - side]->conn.lost("Call not answered");
}

void Link::End::failed(const rpcrdma_rx &rx)
{
	link.pair.requester[side].failed(conn, rx);
}

void Link::End::fault(u64 call, bool sure)
{
	responder.fault(call, sure);
}

void Link::End::no_room()
{
	link.pair.requester[side].no_room();
}

void Link::End::room()
{
	link.pair.requester[side].room(conn);
}

void Link::End::gone()
{
	reply.clear();
	responder.gone();
	link.pair.requester[side].gone(conn);
	pings::gone(conn);
}

void Link::End::crash()
{
	reply.clear();
	conn.crash();
	responder.crash();
	pings::gone(conn);
}

const char *Link::name(u32 side) const
{
	static const char *const kNames[3][2] = {
		{ "client 0", "server 0" },
		{ "client 1", "server 1" },
		{ "client 2", "server 2" },
	};

	return kNames[pair.index][side];
}

void Link::taint()
{
	if (tainted)
		return;
	world.trace("%s: not to be trusted from now on", name(0));
	tainted = true;
	pair.ever_tainted = true;
	for (u32 side = 0; side < 2; side++)
		pair.requester[side].excuse(ends[side]->conn);
}

bool Link::excused(u32 key) const
{
	return tainted || std::find(excused_.begin(), excused_.end(), key) !=
				  excused_.end();
}

bool Link::forgotten() const
{
	return !alive(0) && !alive(1);
}

/* ------------------------------------------------------------------ */
/* A run                                                              */
/* ------------------------------------------------------------------ */

Pair::Pair(World &w, u32 i, u32 a)
	: index(i)
	, address(a)
	, requester{ { w, i, 0 }, { w, i, 1 } }
{
}

static u64 stream(u64 seed, u64 which)
{
	return Random(seed * 8 + which).next();
}

World::World(const Options &o)
	: options(o)
	, schedule(stream(o.seed, 0))
	, chaos(stream(o.seed, 1))
{
	Random config(stream(o.seed, 2));
	Random work(stream(o.seed, 3));
	Random faults(stream(o.seed, 4));
	Random extension(stream(o.seed, 5));
	Random hosts(stream(o.seed, 6));
	Random addresses(stream(o.seed, 7));
	u32 n = config.once_in(3) ? config.within(2, 3) : 1;

	broken = nullptr;
	auth::plant(o);
	if (!o.has(Feature::Clients))
		n = 1;
	one_address_ = n > 1 && addresses.once_in(2);
	first_xid_ = static_cast<u32>(addresses.next());
	heavy_ = config.once_in(8);
	server.threads = heavy_ ? 1 : config.within(1, 4);
	rpcrdma_budget_init(&server.budget, kPage * config.below(64));
	server.budget.batch = kPage * config.within(1, 4);
	for (u32 i = 0; i < n; i++) {
		pairs.push_back(
			std::make_unique<Pair>(*this, i, one_address_ ? 0 : i));
		configure(config, *pairs.back());
		if (o.has(Feature::Pings))
			pings::configure(extension, *pairs.back());
		if (!o.has(Feature::Repeated))
			for (pings::Budget &b : pairs.back()->pings)
				b.repeats = 0;
		if (o.has(Feature::Auth))
			auth::configure(hosts, *pairs.back());
	}
	configure_rings(addresses);
	configure_pools(addresses);
	if (config.once_in(2))
		slow_ = config.next() & config.next() & config.next();
	/* Calls pile up when the server's only thread is slow. */
	if (heavy_)
		slow_ |= u64{ 1 } << (Reply * 2 + 1);
	for (auto &p : pairs)
		populate(work, *p);
	assert(shapes_.size() <= kMostRpcs);
	plan_faults(faults);
}

World::~World() = default;

template <u32 N> static u32 one_of(Random &r, const u32 (&values)[N])
{
	return values[r.below(N)];
}

/* A group of Sends needs room for all of it at once, so then all have a buffer. */
void World::configure_rings(Random &r)
{
	for (auto &p : pairs)
		for (u32 side = 0; side < 2; side++) {
			ConnConfig &c = p->config[side];
			const bool few = r.once_in(2);

			c.rest = few && !p->pings[side].groups ?
					 c.sends / 4 + 2 :
					 c.sends;
		}
}

/* None, or enough for some small Replies. */
void World::configure_pools(Random &r)
{
	for (auto &p : pairs)
		p->limits[1].pool = kPage * r.below(5);
}

void World::configure(Random &r, Pair &p)
{
	p.callbacks.threads = r.within(1, 2);
	for (u32 side = 0; side < 2; side++) {
		ConnConfig &c = p.config[side];
		rpcrdma_config &k = c.core;

		k.role = side;
		k.window = r.once_in(3) ? r.within(3, 5) : r.within(3, 16);
		k.max_message = 4 * one_of(r, { 5000, 5000, 2300, 2300, 2300,
						2300, 2300, 900 });
		k.max_read_chunks = one_of(r, { 16, 16, 16, 2, 1, 0 });
		k.max_write_chunks = one_of(r, { 8, 8, 8, 2, 1, 0 });
		k.first_xid = static_cast<u32>(r.next());
		k.ddp_threshold = one_of(r, { 0, 64, 256, 1024, 1 << 20 });
		k.special_threshold =
			one_of(r, { 256, 1024, 4096, 1 << 20, 1 << 20 });
		k.stream_from = side ? 0 : one_of(r, { 0, 1, 500 });
		k.reserve = side ? 0 : r.below(2);
		k.local.send_size = 1024 + r.below(1024);
		k.local.recv_size = 1024 + r.below(1024);
		k.local.max_segment_size =
			one_of(r, { 1 << 20, 1 << 20, 500, 128 });
		k.local.max_segments = one_of(r, { 16, 16, 16, 8, 2, 0 });
		k.local.reverse = r.below(4);
		if (side || !options.has(Feature::Reverse))
			k.local.reverse = RPCRDMA_RVRSDIR_NONE;
		if (!options.has(Feature::Chunks))
			k.local.max_segments = 0;
		if (!options.has(Feature::Special))
			k.special_threshold = 1 << 20;
		if (!options.has(Feature::Distance))
			k.stream_from = 0;
		if (!options.has(Feature::Reserve))
			k.reserve = 0;
		c.sends = one_of(r, { 4, 8, 16 });
		c.sq_depth = r.once_in(2) ? 40 : 64 + r.below(64);
		/* A short queue is full more often. */
		if (options.mutant == Mutant::AloneOverBudget ||
		    options.mutant == Mutant::AloneCostLost) {
			c.sends = 16;
			c.sq_depth = 40;
		}
		c.max_mrs = one_of(r, { 0, 4, 16, 32, 32 });
		c.first_mrs = r.within(1, 4);
		c.mr_octets = kPage * one_of(r, { 1, 2, 4, 16 });
		p.limits[side] = {
			k.max_message + kPage + r.below(k.max_message),
			r.within(1, 6),
			kPage * r.within(8, 64),
			k.max_message,
			side == 1,
			1,
			0,
			one_of(r, { kReads, kReads, kReads, 8, 2, 1 }),
			kRegions
		};
		p.invalidates[side] = r.below(2);
		if (heavy_) {
			k.window = RPCRDMA_MIN_WINDOW;
			k.max_message = 4 * 1750;
			k.ddp_threshold = 64;
			k.max_read_chunks = RPCRDMA_MAX_SEGMENTS;
			c.max_mrs = 32;
			p.limits[side].max_call = k.max_message;
			p.limits[side].call_memory = k.max_message + kPage;
			p.limits[side].reads = kReads;
		}
	}
	configure_versions(r, p);
	/* Both sides may use the same XIDs, and others at the same address. */
	const u32 own = static_cast<u32>(r.next());
	const u32 xid = one_address_ ? first_xid_ : own;
	for (u32 side = 0; side < 2; side++) {
		const u32 slots = heavy_ ? 16 : r.within(1, 16);

		p.requester[side].set_slots(slots, xid);
		/* Calls without a Reply are over for one side only. */
		p.limits[1 - side].slots = slots + 20;
	}
}

/* Who speaks what; there is always something in common. */
void World::configure_versions(Random &r, Pair &p)
{
	static constexpr u8 kVersions[][4] = {
		{ 0, 0, 0, 0 }, { 2, 2, 2, 2 }, { 2, 2, 1, 2 }, { 1, 2, 2, 2 },
		{ 1, 2, 1, 2 }, { 1, 2, 1, 1 }, { 1, 1, 1, 2 }, { 1, 1, 1, 1 },
	};
	const u8 *v = kVersions[r.below(8)];

	if (!options.has(Feature::Version1))
		v = kVersions[0];
	if (options.version1)
		v = kVersions[7];
	p.version1 = v[1] == 1 || v[3] == 1;
	p.welcomes = r.below(2);
	for (u32 side = 0; side < 2; side++) {
		ConnConfig &c = p.config[side];
		rpcrdma_config &k = c.core;

		k.min_version = v[2 * side];
		k.max_version = v[2 * side + 1];
		p.private_data[side] = !r.once_in(4);
		if (!p.version1)
			continue;
		/* There are no errors that say what else would do. */
		k.max_read_chunks = RPCRDMA_MAX_SEGMENTS;
		k.max_write_chunks = RPCRDMA_MAX_CHUNKS;
		k.local.max_segments = RPCRDMA_MAX_SEGMENTS;
		k.local.send_size &= ~1023U;
		k.local.recv_size = 1024 * r.within(1, 2);
		c.max_mrs = 32;
		c.mr_octets = 8 * kPage;
		p.limits[side].reads = kReads;
	}
}

static u32 size(Random &r, bool large, bool heavy)
{
	switch (large && heavy ? 3 : r.below(large ? 4 : 2)) {
	case 0:
		return 4 * r.within(3, 20);
	case 1:
		return 4 * r.within(20, 220);
	case 2:
		return 4 * r.within(200, 700);
	default:
		return 4 * r.within(500, 1700);
	}
}

/* Up to @n items in @length octets; they end where their roundup fits. */
static u32 items(Random &r, u32 length, u32 n, rpcrdma_range *range)
{
	u32 from = kRpcHeader;
	u32 count = 0;

	for (; count < n && from + 16 < length; count++) {
		const u32 room = (length - from) / (n - count);
		const u32 skip = 4 * r.below(room / 8 + 1);

		if (room < skip + 8)
			break;
		range[count] = { from + skip, r.within(1, room - skip - 4) };
		from += skip + ((range[count].length + 3) & ~3U);
	}
	return count;
}

Shape World::shape(Random &r, const Pair &p, u32 side)
{
	const bool simple =
		side && (p.version1 || p.config[0].core.local.reverse ==
					       RPCRDMA_RVRSDIR_SIMPLE);
	const bool large =
		options.has(Feature::Continued) && (!simple || r.once_in(4));
	const bool foreign = options.has(Feature::Foreign) && r.once_in(3);
	const u32 most = foreign && !p.version1 ? kItems : 1;
	Shape s = {};

	s.number = static_cast<u32>(shapes_.size());
	s.call_length = size(r, large, heavy_);
	s.reply_length = size(r, large, false);
	s.n_items = items(r, s.call_length, r.below(most + 1), s.items);
	s.n_results = items(r, s.reply_length, r.below(most + 1), s.results);
	s.offered = s.n_results;
	for (u32 i = 0; i < s.offered; i++) {
		s.result_max[i] = s.results[i].length + r.below(300);
		if (r.once_in(12) && !p.version1)
			s.result_max[i] = r.within(1, s.result_max[i]);
	}
	/* An operation that fails has no result. */
	if (r.once_in(6) && s.offered < most)
		s.result_max[s.offered++] = r.within(1, 3000);
	s.reply_max = s.reply_length + 4 * r.below(500);
	s.reducible = heavy_ || !r.once_in(4);
	s.reply_expected = p.version1 || !r.once_in(12);
	if (p.version1 && s.offered) {
		/* As there is room for: the rest, and the largest result. */
		if (!s.n_results)
			s.reply_length = std::min(s.reply_length, 400U);
		s.reply_max = s.reply_length + 4 * r.below(100) +
			      padded({ 0, s.result_max[0] });
		if (s.n_results)
			s.reply_max -= padded(s.results[0]);
	}
	s.probe = side == 0 && r.once_in(12);
	/* A microsecond more is worth a KiB. */
	if (r.once_in(2))
		s.round_trip = p.config[side].core.stream_from + r.below(10);
	return s;
}

void World::populate(Random &r, Pair &p)
{
	const u32 level = p.config[0].core.local.reverse;

	for (u32 side = 0; side < 2; side++) {
		u32 n = r.within(1, 16 / static_cast<u32>(pairs.size()) + 2);

		if (side && level == RPCRDMA_RVRSDIR_NONE)
			n = 0;
		for (; n && shapes_.size() < options.rpcs; n--) {
			shapes_.push_back(shape(r, p, side));
			largest_reply_ = std::max(largest_reply_,
						  shapes_.back().reply_length);
			p.requester[side].add(shapes_.back());
		}
	}
}

void World::plan_faults(Random &r)
{
	u32 n = r.once_in(4) ? 0 : r.within(1, kMostActs);

	for (; n; n--) {
		/* Early ones are as likely as late ones. */
		const u32 step = r.below(8U << r.below(10));
		const Fault f = static_cast<Fault>(
			r.below(static_cast<u32>(Fault::Count)));

		if (options.has(f) && acts_.size() < options.acts)
			acts_.push_back({ step, f });
	}
	std::sort(acts_.begin(), acts_.end(),
		  [](const Act &a, const Act &b) { return a.step > b.step; });
}

bool World::allocates()
{
	if (!failing_)
		return true;
	if (sparing_) {
		sparing_--;
		return true;
	}
	failing_--;
	effect(Fault::Allocation);
	return false;
}

bool World::loses_flush()
{
	if (!losing_ || !chaos.once_in(2))
		return false;
	effect(Fault::LostFlush);
	return true;
}

bool World::may_fail(const Shape &s, u32 pair, u32 side) const
{
	const Pair &p = *pairs[pair];
	const ConnConfig &here = p.config[side];
	const ConnConfig &there = p.config[1 - side];

	/* What RVRSDIR_SIMPLE allows fits one Send. */
	if (side == 1 &&
	    (p.version1 ||
	     there.core.local.reverse == RPCRDMA_RVRSDIR_SIMPLE) &&
	    (s.call_length > 900 || s.reply_length > 900))
		return true;
	return s.call_length > there.core.max_message ||
	       s.reply_length > here.core.max_message ||
	       s.reply_max > here.core.max_message;
}

bool World::sends_invalidate(const Conn &c) const
{
	return c.link.pair.invalidates[c.side];
}

Shape World::arrived(const Conn &c, const Octets &octets, u32 xid)
{
	const Link &l = c.link;
	const u32 number = octets.size() >= kRpcHeader ?
				   number_in(octets.data()) :
				   UINT32_MAX;
	Shape garbage = {};
	Octets whole;

	if (number < shapes_.size()) {
		build(shapes_[number], xid, RPCRDMA_CALL, whole);
		if (octets == whole)
			return shapes_[number];
	}
	if (!l.tainted)
		fail("answers", "%s has a wrong Call xid %08x, number %u",
		     l.name(c.side), xid, number);
	garbage.number = UINT32_MAX;
	garbage.reply_length = kRpcHeader;
	garbage.reply_expected = true;
	return garbage;
}

/* As rpcrdma_svc_call_id(). */
u64 World::call_id(const rpcrdma_rx &rx, const u8 *buffer)
{
	static constexpr u64 kSecret = 0x2545f4914f6cdd1d;
	const bool bare = options.mutant == Mutant::CallByXid;
	const u8 *const stream = buffer + rx.payload.offset;
	const u64 id =
		rpcrdma_call_id(rx.xid, bare ? 0 : rx.stream_length, stream,
				bare ? 0 : rx.payload.length, kSecret);

	calls_[id] = rx.payload.length >= kRpcHeader ? number_in(stream) :
						       Blame::kUntold;
	return id;
}

Blame World::blame(u64 call) const
{
	const auto found = calls_.find(call);

	return { static_cast<u32>(call),
		 found == calls_.end() ? Blame::kUntold : found->second };
}

void World::post_later(QueuePair &qp, const QueuePair::Posted &r)
{
	later_.emplace_back(&qp, r);
}

void World::trace(const char *format, ...)
{
	char line[200];
	va_list args;

	if (!options.trace && !options.digest)
		return;
	va_start(args, format);
	std::vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (options.trace)
		std::printf("%6u  %s\n", steps_, line);
	note(steps_);
	for (const char *c = line; *c; c++)
		note(static_cast<u8>(*c));
}

/* ------------------------------------------------------------------ */
/* What happens next                                                  */
/* ------------------------------------------------------------------ */

void World::collect(Link &l, u32 side)
{
	const QueuePair &qp = l.qp[side];
	Link::End &end = *l.ends[side];
	const auto add = [&](bool can, Kind kind) {
		if (can)
			sources_.push_back(
				{ kind, static_cast<u8>(side), &l, nullptr });
	};

	add(qp.can_arrive(), Arrive);
	add(end.responder.can_reply(), Reply);
	if (end.conn.life == Conn::Life::Gone)
		return;
	add(qp.can_issue(), qp.registers() ? Register : Issue);
	add(qp.can_respond(), Respond);
	add(qp.can_retire(), Retire);
	add(qp.can_complete_send(), CompleteSend);
	add(qp.can_complete_receive() && !end.conn.begins(), CompleteReceive);
	if (end.conn.life == Conn::Life::Draining) {
		add(end.conn.drained(), Destroy);
		return;
	}
	add(end.responder.can_pick(), Pick);
	add(end.responder.has_work(), Resume);
	add(end.conn.builds(), Build);
	add(end.conn.tells(), Tell);
	add(end.conn.has_work(), end.conn.grows() ? Grow : Work);
	add(end.conn.works_on_ring(), Ring);
	add(l.disconnected[side] && !end.conn.lost_flag, Disconnected);
	add(end.conn.lost_flag, Close);
	add(pings::can_act(end.conn), Ping);
}

void World::collect(Pair &p)
{
	const auto add = [&](bool can, Kind kind, u32 side) {
		if (can)
			sources_.push_back(
				{ kind, static_cast<u8>(side), nullptr, &p });
	};

	for (u32 side = 0; side < 2; side++) {
		add(p.requester[side].can_run(), Call, side);
		add(p.requester[side].can_repeat(), Repeat, side);
	}
	for (auto &l : p.links)
		for (u32 side = 0; side < 2; side++)
			collect(*l, side);
	if (!p.over() &&
	    (p.links.empty() ||
	     p.links.back()->ends[0]->conn.life == Conn::Life::Gone))
		sources_.push_back({ Connect, 0, nullptr, &p });
}

void World::happen(const Source &s)
{
	Link *l = s.link;

	switch (s.kind) {
	case Issue:
	case Register:
		return l->qp[s.side].issue();
	case Arrive:
		return l->qp[s.side].arrive();
	case Respond:
		return l->qp[s.side].respond();
	case Retire:
		return l->qp[s.side].retire();
	case CompleteSend:
		return l->qp[s.side].complete_send();
	case CompleteReceive:
		return l->qp[s.side].complete_receive();
	case Call:
		return s.pair->requester[s.side].run();
	case Pick:
		return l->ends[s.side]->responder.pick();
	case Reply:
		return l->ends[s.side]->responder.reply();
	case Build:
		return l->ends[s.side]->conn.build();
	case Resume:
		return l->ends[s.side]->responder.work();
	case Tell:
		return l->ends[s.side]->conn.tell();
	case Work:
	case Grow:
		return l->ends[s.side]->conn.work();
	case Ring:
		return l->ends[s.side]->conn.work_on_ring();
	case Disconnected:
		return l->ends[s.side]->conn.lost("disconnected");
	case Close:
		return l->ends[s.side]->conn.close();
	case Destroy:
		return l->ends[s.side]->conn.destroy();
	case Connect:
		return connect(*s.pair);
	case Ping:
		return pings::act(l->ends[s.side]->conn);
	case Repeat:
		return s.pair->requester[s.side].repeat();
	case Kinds:
		break;
	}
}

void World::connect(Pair &p)
{
	auth::begin(*this, p);
	auto link = std::make_unique<Link>(*this, p);

	seconds_++;
	for (auto &end : link->ends)
		if (!end->conn.create())
			return;
	trace("%s connects", link->name(0));
	tally.links++;
	tally.links_v1 += p.version1;
	exchange_private_data(*link);
	p.links.push_back(std::move(link));
	Link::End &client = *p.links.back()->ends[0];
	auth::begun(*p.links.back());
	client.conn.pump();
	if (rpcrdma_session_ready(&client.conn.session))
		client.ready();
}

/* RFC 8797; without it, its default is in force. */
void World::exchange_private_data(Link &l)
{
	for (u32 side = 0; side < 2; side++) {
		const rpcrdma_config &core = l.pair.config[side].core;
		const u32 send_size =
			core.send_room ? core.send_room : core.local.send_size;
		const rpcrdma_cm_private sent = { send_size & ~1023U,
						  core.local.recv_size & ~1023U,
						  l.pair.welcomes, true,
						  false };
		rpcrdma_cm_private received;
		u8 data[RPCRDMA_CM_PRIVATE_SIZE] = {};

		if (l.pair.private_data[side])
			rpcrdma_cm_private_encode(&sent, data);
		rpcrdma_cm_private_decode(data, sizeof(data), &received);
		rpcrdma_session_private(&l.ends[1 - side]->conn.session,
					&received);
	}
}

bool World::step()
{
	steps_++;
	if (steps_ - progress_ > kStepsWithoutProgress)
		fail("waits", "nothing comes to an end for %u steps",
		     kStepsWithoutProgress);
	while (!acts_.empty() && acts_.back().step <= steps_) {
		const Fault f = acts_.back().fault;

		acts_.pop_back();
		act(f);
	}
	if (jump_at_ && jump_at_ <= steps_) {
		jumps_ = false;
		jump_at_ = 0;
		jump(chaos.below(4 * RPCRDMA_RECENT_SECONDS));
	}
	if (!later_.empty() && schedule.once_in(16)) {
		later_.back().first->post_receive(later_.back().second);
		later_.pop_back();
	}

	sources_.clear();
	for (auto &p : pairs)
		collect(*p);
	if (sources_.empty())
		return false;
	const Source *s = &sources_[schedule.below(u32(sources_.size()))];
	const auto bit = [](const Source &source) {
		return u64{ 1 } << (source.kind * 2 + source.side);
	};
	if (registering_ & bit(*s) && !schedule.once_in(64)) {
		const Source *const first = s;

		s = &sources_[schedule.below(u32(sources_.size()))];
		if (s != first)
			effect(Fault::Registration);
	}
	if (slow_ & bit(*s) && !schedule.once_in(8))
		s = &sources_[schedule.below(u32(sources_.size()))];
	if (steps_ < stalled_until_ && stalled_ & bit(*s))
		for (const Source &other : sources_)
			if (!(stalled_ & bit(other))) {
				s = &other;
				effect(Fault::Stall);
				break;
			}
	if (options.digest)
		note(bit(*s));
	happen(*s);
	for (auto &p : pairs)
		for (auto &l : p->links)
			for (auto &end : l->ends) {
				Conn &c = end->conn;

				check::stages(c, c.before);
				check::waiters(c);
				check::ring(c);
			}
	if (broken)
		fail("invariant", "%s", broken);
	if (steps_ % 64 == 0)
		forget();
	return true;
}

/* Connections of which nothing is left. */
void World::forget()
{
	for (auto &p : pairs)
		for (u32 i = 0; i < p->links.size(); i++)
			if (p->links[i]->forgotten() &&
			    !p->links[i]->qp[0].can_arrive() &&
			    !p->links[i]->qp[1].can_arrive())
				p->links.erase(p->links.begin() + i--);
}

/*
 * Nothing can happen any more. Where somebody has not behaved, time-outs may
 * have to help; elsewhere nothing may have been waiting.
 */
bool World::time_out()
{
	bool any = false;

	for (auto &p : pairs)
		for (auto &l : p->links)
			for (auto &end : l->ends)
				if (l->tainted && !end->conn.lost_flag) {
					/* As rpcrdma_req_recall(). */
					if (end->conn.side == 0)
						end->conn.ending();
					end->conn.lost("time-out");
					any = true;
				}
	return any;
}

void World::run()
{
	for (;;) {
		while (step())
			;
		bool over = true;

		for (auto &p : pairs)
			over &= p->over();
		if (over)
			break;
		if (!time_out())
			stuck();
	}
	finish();
}

/* Say what waits. */
void World::stuck() const
{
	for (const auto &p : pairs)
		for (const Requester &q : p->requester) {
			const Rpc *r = q.waiting();

			if (r)
				fail("waits", "%u xid %08x for ever, state %d",
				     r->shape.number, r->xid,
				     static_cast<int>(r->state));
		}
	fail("waits", "%s", "RPCs are not begun");
}

/* Everything is over: what is left must be nothing. */
void World::finish()
{
	for (auto &p : pairs)
		for (auto &l : p->links)
			if (!l->tainted && !l->ends[0]->conn.lost_flag &&
			    !l->ends[1]->conn.lost_flag)
				check::quiet(*l);
	for (auto &p : pairs)
		for (auto &l : p->links)
			for (auto &end : l->ends)
				end->conn.lost("all is done");
	acts_.clear();
	while (step())
		;
	forget();
	for (auto &p : pairs)
		if (!p->links.empty())
			fail("lost", "%s", "a connection does not end");
	if (server.busy)
		fail("lost", "%u threads", server.busy);
	if (server.budget.held)
		fail("lost", "%s", "memory of the server");
	tally.seeds = 1;
	tally.steps = steps_;
	tally.several_clients = pairs.size() > 1;
	tally.one_address = one_address_;
}

void Tally::add(const Tally &t)
{
	static_assert(sizeof(Tally) % sizeof(u64) == 0);
	const u64 *from = reinterpret_cast<const u64 *>(&t);
	u64 *to = reinterpret_cast<u64 *>(this);

	for (u32 i = 0; i < sizeof(Tally) / sizeof(u64); i++)
		to[i] += from[i];
}

} // namespace sim

/* A broken invariant ends the run after the step that broke it. */
extern "C" void rpcrdma_shim_broken(const char *, int, const char *what)
{
	sim::broken = what;
}
