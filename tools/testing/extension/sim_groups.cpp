// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The simulator's part of rtrext. Messages without chunks go by groups now and then, if the
 * peer takes that and has given credit for all of it; else they go as ever. Their data are
 * placed in Receives of some ends, and Calls direct their Responders to do so. Where a Call has
 * memory registered for results, its directions name that (EXRW, CHOICE, BYSIZE), and it is
 * taken back when the Call has its answer, as after a Write chunk. Where it has memory registered
 * for its own items, some of these are said to be there (EXRW), some come by Sends in any case.
 * Some Sends of groups are spoilt: what they are a part of has to be refused, and is sent again by
 * the types of -07.
 */
#include "../sim/groups.h"
#include "../sim/checkers.h"
#include "../sim/world.h"
#include "abi.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <cstring>

namespace sim
{

using rpcrdma::Bytes;
using rpcrdma::Direction;
using rpcrdma::DirectionRange;
using rpcrdma::GroupMessage;
using rpcrdma::kPrefixSize;
using rpcrdma::kWordSize;
using rpcrdma::load_be32;
using rpcrdma::PlacedItem;
using rpcrdma::Placement;
using rpcrdma::Port;
using rpcrdma::Rtrext;
using rpcrdma::Segment;
using rpcrdma::Span;
using rpcrdma::store_be32;

namespace
{

constexpr u32 kReplySends = 4;
/* Receives in which data are placed: a head, and pages. */
constexpr u32 kHead = 512;
constexpr u32 kTarget = 128;
constexpr u32 kLargestReceive = 2048;
/* Words of a header of rtrext behind the prefix. */
constexpr u32 kNumberAt = kPrefixSize;
constexpr u32 kLeadAt = kPrefixSize + kWordSize;
/* Where directions of one range have the type of the first one. */
constexpr u32 kTypeAt = 5 * kWordSize;

pings::Ledger &ledger(const Conn &c)
{
	return c.link.ends[c.side]->pings;
}

pings::Ledger &peer_ledger(const Conn &c)
{
	return c.link.ends[1 - c.side]->pings;
}

pings::Budget &budget(const Conn &c)
{
	return c.link.pair.pings[c.side];
}

bool peer_places(const Conn &c)
{
	return c.link.pair.pings[1 - c.side].places;
}

const Rtrext &state(const Conn &c)
{
	return rpcrdma::session(&c.session).extension<Rtrext>();
}

bool in_use(const Conn &c)
{
	return rpcrdma::session(&c.session)
		.in_use(rpcrdma::Extensions::place<Rtrext>());
}

bool part_of_group(u32 htype)
{
	return rpcrdma_rtr_carries(htype);
}

rpcrdma_rtr_shape shape(const Conn &c)
{
	if (!budget(c).places)
		return {};
	return { kHead, kTarget,
		 (c.config.core.local.recv_size - kHead) / kTarget };
}

} // namespace

/*
 * The one that goes out. A Reply that its Call has directions for goes as @planned says. What a
 * Call directs is kept for its Reply.
 */
struct groups::Sending {
	Sending(rpcrdma_message &m, u32 reply_count)
		: group{ m, {}, reply_count }
		, chunks(m.chunks)
	{
	}
	GroupMessage group;
	const rpcrdma_chunks *const chunks; /* if it goes by the types of -07 */
	rpcrdma_chunks offered = {}; /* what of these directions name */
	rpcrdma_range in_memory[kItems]; /* items, likewise */
	u32 n_in_memory = 0;
	Segment segments[RPCRDMA_MAX_SEGMENTS]; /* of all of these */
	PlacedItem items[kItems];
	u32 placed = 0; /* of these, by Sends */
	Direction directions[kItems];
	DirectionRange range;
	bool by_plan = false;
	rpcrdma_rtr_group planned = {};
	u32 number = 0; /* of the next Send */
	bool spoilt = false;
};

namespace groups
{

void configure(Random &r, pings::Budget &b)
{
	b.groups = r.once_in(2);
	b.spoils = b.groups && r.once_in(2) ? r.within(1, 4) : 0;
}

/* With numbers of its own: what seeds have otherwise is as without. */
void configure_repeats(Pair &p)
{
	Random r(p.config[0].core.first_xid);

	for (u32 side = 0; side < 2; side++) {
		pings::Budget &b = p.pings[side];

		b.repeats = b.groups && r.once_in(3) ? r.within(1, 6) : 0;
		p.limits[1 - side].slots += b.repeats;
	}
}

/* Who places does not change sizes (D20). */
void configure_places(Random &r, Pair &p)
{
	constexpr u32 changes =
		1U << rpcrdma::Extensions::place<rpcrdma::Xcharext>();
	const u32 most = (kLargestReceive - kHead) / kTarget;

	if (p.version1 || !r.once_in(4))
		return;
	for (u32 side = 0; side < 2; side++) {
		rpcrdma_config &k = p.config[side].core;
		pings::Budget &b = p.pings[side];

		b.changes = 0;
		b.ruled = false;
		b.rest = 0;
		k.send_room = 0;
		k.local.send_size = kLargestReceive;
		b.places = k.extensions && !r.once_in(3);
		if (!b.places)
			continue;
		k.extensions &= ~changes;
		k.local.recv_size = kHead + kTarget * r.within(4, most);
	}
}

/* It is among those that this end can know. */
static bool known(const pings::Ledger &l, const pings::SentGroup &g)
{
	return l.n_groups - g.number < rpcrdma::SentGroups::kMost;
}

/*
 * The group that an answer to this Call is taken to be about: of those that are known the first,
 * but one that is not settled before those that are. Return: its place, or @open's size.
 */
static u32 answered(const pings::Ledger &l, const pings::SentCall &s)
{
	const u32 none = static_cast<u32>(s.open.size());
	u32 found = none;

	for (u32 i = none; i--;) {
		const pings::SentGroup &g = s.open[i];

		if (known(l, g) &&
		    (found == none || !g.settled || s.open[found].settled))
			found = i;
	}
	return found;
}

/*
 * Something has come that is an answer to one of the groups with this XID. @settle: and to their
 * RPC. When the last one has its answer nothing is reserved for Replies to them any more.
 */
static void answer(Conn &c, u32 xid, bool settle)
{
	pings::Ledger &l = ledger(c);
	const auto found = l.calls.find(xid);

	if (found == l.calls.end())
		return;
	pings::SentCall &s = found->second;
	const u32 which = answered(l, s);
	s.open.erase(s.open.begin() + (which < s.open.size() ? which : 0));
	for (pings::SentGroup &g : s.open)
		g.settled |= settle;
	if (s.open.empty())
		l.calls.erase(found);
}

/* Receives that Replies to all Calls together may take. */
static u32 held(const pings::Ledger &l)
{
	u32 all = 0;

	for (const auto &i : l.calls)
		all += i.second.held;
	return all;
}

/* A Call begins to go by a group, and promises so much to its Reply; one is nothing. */
static void promise(Conn &c, u32 xid, u32 sends)
{
	pings::Ledger &l = ledger(c);
	pings::SentCall &s = l.calls[xid];

	/* Of the others only those that are known are waited for. */
	if (!s.held)
		std::erase_if(s.open, [&](const pings::SentGroup &g) {
			return !known(l, g);
		});
	s.open.push_back({ ++l.n_groups, false });
	l.groups_of[xid]++;
	if (sends <= 1 || sends <= s.held)
		return;
	s.held = sends;
	const u32 all = held(l);
	if (all > c.info().window && !c.link.tainted)
		fail("groups", "%s: %u Receives are promised, of %u",
		     c.link.name(c.side), all, c.info().window);
}

/*
 * A REPTERR: of these Calls and Replies nothing comes any more. A Call is sent again unless all of
 * its groups that are known are settled.
 */
static void take_report(Conn &c, rpcrdma_rx &rx, Bytes body)
{
	pings::Ledger &l = ledger(c);
	rpcrdma_rtr_refused refused[RPCRDMA_RTR_MOST_REFUSED];
	rpcrdma::ReportedError e;
	bool knows = false;
	bool again = false;

	if (!e.decode(body) || e.bad.dir != RPCRDMA_CALL)
		e.bad.dir = RPCRDMA_REPLY;
	const u32 xid = rpcrdma::word_of(e.bad.xid);
	const auto found = l.calls.find(xid);
	if (e.bad.dir == RPCRDMA_CALL && found != l.calls.end()) {
		const pings::SentCall &s = found->second;
		const u32 which = answered(l, s);

		knows = which < s.open.size();
		again = knows && !s.open[which].settled;
	}
	const bool is_known = rx.reason != RPCRDMA_REASON_XID;
	const u32 n = rpcrdma_rtr_reported(&c.session, &rx, refused);
	for (u32 i = 0; i < n; i++) {
		if (refused[i].dir == RPCRDMA_REPLY)
			l.refused.push_back(refused[i].xid);
		else if (refused[i].xid != rx.xid && !c.link.tainted)
			fail("groups", "%s: two Calls are refused",
			     c.link.name(c.side));
	}
	if (e.bad.dir != RPCRDMA_CALL)
		return;
	const bool resends = rx.action == RPCRDMA_RX_FAIL_RPC;
	if (!c.link.tainted && (knows != is_known || again != resends))
		fail("groups",
		     "%s: xid %08x is refused, %s and %s, but is %s and %s",
		     c.link.name(c.side), xid, is_known ? "known" : "unknown",
		     resends ? "sent again" : "settled",
		     knows ? "known" : "unknown",
		     again ? "to be sent again" : "settled");
	c.answers[xid].refused++;
	c.world.tally.repeated_refused += knows && !again;
	answer(c, xid, true);
}

/*
 * A Reply that is too large, or cannot be read, fails its RPC and is not reported. Its Responder
 * learns of that only if a later Send of the group is wrong, and sends the Reply again.
 */
static void note_failed(Conn &c, const rpcrdma_rx &rx, bool refused)
{
	std::optional<u32> &failed = ledger(c).failed;

	if (refused && failed == rx.xid) {
		c.answers[rx.xid].again++;
		failed.reset();
	}
	if (!part_of_group(rx.htype))
		return;
	if (rx.action == RPCRDMA_RX_FAIL_RPC)
		failed = rx.xid;
	else if (rx.action == RPCRDMA_RX_PAYLOAD)
		failed.reset();
}

/*
 * A Call that went by a form of -07 and by one group: its Reply in one Send is taken for that of
 * the group, and the promise is forgotten. A larger one may come later, and is refused then.
 */
static void note_forgotten(Conn &c, const rpcrdma_rx &rx)
{
	pings::Ledger &l = ledger(c);
	const auto call = l.calls.find(rx.xid);

	if (rx.htype == rpcrdma::kXmtResp &&
	    rx.reason == RPCRDMA_REASON_CONTINUATION && l.forgotten.erase(rx.xid))
		l.refuses = true;
	if (rx.htype == rpcrdma::kXmtResp &&
	    rx.action == RPCRDMA_RX_PAYLOAD && rx.last && call != l.calls.end() &&
	    call->second.held && l.groups_of[rx.xid] == 1 &&
	    c.answers[rx.xid].sent > 1)
		l.forgotten.insert(rx.xid);
}

/* What this end has promised to the Reply that @rx is about is free, or less of it is kept. */
static void take_answer(Conn &c, const rpcrdma_rx &rx, Bytes body)
{
	const bool its =
		rx.htype == rpcrdma::kXmtResp ||
		(rx.htype == rpcrdma::kXmtCont &&
		 body.size() >= 2 * kWordSize &&
		 load_be32(body.data() + kWordSize) == rpcrdma::kXmtResp);
	const bool refused = rx.action == RPCRDMA_RX_DROP && its &&
			     rx.reason == RPCRDMA_REASON_CONTINUATION;
	const bool over = rx.action == RPCRDMA_RX_FAIL_RPC ||
			  (rx.action == RPCRDMA_RX_PAYLOAD && rx.last &&
			   rx.dir == RPCRDMA_REPLY);
	rpcrdma::XmtResponse first;

	note_failed(c, rx, refused);
	note_forgotten(c, rx);
	/* A Reply that this end refuses is an answer, and its RPC waits on. */
	if (over || refused)
		return answer(c, rx.xid, over);
	if (rx.htype != rpcrdma::kXmtResp || !first.decode(body))
		return;
	const auto found = ledger(c).calls.find(rx.xid);
	/* There may be a longer one to another group. */
	if (found != ledger(c).calls.end() && found->second.open.size() == 1)
		found->second.held = std::min(found->second.held, first.count);
}

static void check_reserved(const Conn &c)
{
	const u32 all = held(ledger(c));

	if (!c.link.tainted && state(c).reserved() != all)
		fail("groups", "%s: %u Receives are reserved for Replies of %u",
		     c.link.name(c.side), state(c).reserved(), all);
}

/* A group of which a Send is spoilt is not taken to its end. */
static void take_spoilt(Conn &c, const rpcrdma_rx &rx)
{
	pings::Ledger &l = ledger(c);

	l.refuses = false;
	if (l.spoilt.empty() || !part_of_group(rx.htype))
		return;
	const bool spoilt = l.spoilt.front();
	l.spoilt.pop_front();
	if (!spoilt)
		return;
	l.refuses = rx.reason == RPCRDMA_REASON_CONTINUATION;
	if (rx.action == RPCRDMA_RX_PAYLOAD && rx.last && !c.link.tainted)
		fail("groups", "%s takes a group of which a Send is spoilt",
		     c.link.name(c.side));
}

void received(Conn &c, rpcrdma_rx &rx, const u8 *buffer, u32 length)
{
	pings::Ledger &l = ledger(c);

	l.refused.clear();
	take_spoilt(c, rx);
	if (rx.vers != 2 || rx.htype == RPCRDMA2_GRANT)
		return;
	if (l.coming && !part_of_group(rx.htype) && !c.link.tainted)
		fail("groups", "%s: %s between the Sends of a group",
		     c.link.name(c.side), rpcrdma_htype_name(rx.htype));
	if (part_of_group(rx.htype))
		l.coming = rx.action == RPCRDMA_RX_PAYLOAD && !rx.last;
	const Bytes body = Bytes(buffer, length).after(kPrefixSize);
	if (rx.htype == rpcrdma::kReptErr)
		take_report(c, rx, body);
	else
		take_answer(c, rx, body);
	check_reserved(c);
}

void quiet(const Conn &c)
{
	if (state(c).reserved())
		fail("groups", "%s: %u Receives are reserved for nothing",
		     c.link.name(c.side), state(c).reserved());
}

void print(const Tally &t)
{
	std::printf("# groups of Sends %" PRIu64 ", of several %" PRIu64
		    " (Replies %" PRIu64 "), without credit for one %" PRIu64
		    "\n",
		    t.groups, t.long_groups, t.long_replies, t.no_group);
	std::printf("# data placed: Calls %" PRIu64 ", Replies %" PRIu64
		    "; refused and sent again: Calls %" PRIu64
		    ", Replies %" PRIu64 ", Replies that were not kept %" PRIu64
		    "\n",
		    t.placed[0], t.placed[1], t.refused[0], t.refused[1],
		    t.replies_not_kept);
	std::printf("# Calls sent again by a further group %" PRIu64
		    "; Replies when the RPC had one %" PRIu64
		    ", when another was waited for %" PRIu64
		    ", when it was to go otherwise %" PRIu64
		    "; groups refused of which nothing is sent again %" PRIu64
		    "\n",
		    t.repeated, t.repeated_answered, t.repeated_ignored,
		    t.repeated_withdrawn, t.repeated_refused);
	std::printf("# Calls by groups that name memory for results %" PRIu64
		    "; results written there %" PRIu64 ", sent instead %" PRIu64
		    "; Replies refused after RDMA Writes %" PRIu64
		    ", dropped for want of memory %" PRIu64 "\n",
		    t.offered, t.written, t.sent_instead, t.written_refused,
		    t.kept_too_large);
	std::printf(
		"# Calls by groups with items in memory %" PRIu64
		", in one Receive %" PRIu64 ", other items by Sends %" PRIu64
		"; refused before they were read %" PRIu64
		", since they could not be %" PRIu64
		"; connection ended meanwhile %" PRIu64
		", RPC given up %" PRIu64 "\n",
		t.fetched[0], t.fetched[1], t.fetched_mixed, t.fetch_refused,
		t.fetch_failed, t.fetch_broken, t.fetch_cancelled);
}

bool reaches(const Tally &t)
{
	return t.groups && t.long_groups && t.long_replies && t.no_group &&
	       t.placed[0] && t.placed[1] && t.refused[0] && t.refused[1] &&
	       t.replies_not_kept && t.repeated && t.repeated_answered &&
	       t.repeated_ignored && t.repeated_withdrawn &&
	       t.repeated_refused && t.offered && t.written && t.sent_instead &&
	       t.written_refused && t.kept_too_large && t.fetched[0] &&
	       t.fetched[1] && t.fetched_mixed && t.fetch_refused &&
	       t.fetch_failed && t.fetch_broken;
}

/* Data that are placed are not in the Payload stream. */
static void remove(Outgoing &m, const rpcrdma_range &range)
{
	m.removed[m.n_removed++] = range;
	m.msg.length -= range.length;
}

/* All of it is. */
static void put_back(Outgoing &m)
{
	for (u32 i = 0; i < m.n_removed; i++)
		m.msg.length += m.removed[i].length;
	m.n_removed = 0;
}

/* It goes otherwise. */
static void restore(Outgoing &m, const Sending &s)
{
	if (m.group) {
		m.group.reset();
		m.no_group = true;
		m.ungroup();
	}
	m.msg.chunks = s.chunks;
	put_back(m);
	for (u32 i = 0; i < s.n_in_memory; i++)
		remove(m, s.in_memory[i]);
}

/* Where the item at @position is, if it has been registered. */
static Span<const Segment> registered(const Sending &s, u32 position)
{
	const rpcrdma_chunks &c = *s.chunks;
	u32 first = 0;
	u32 n = 0;

	while (first < c.n_reads && c.reads[first].position != position)
		first++;
	while (first + n < c.n_reads && c.reads[first + n].position == position)
		n++;
	return { s.segments + first, n };
}

/* How the result with this number is to come. */
static void direct(Random &r, Sending &s, u32 number)
{
	Direction &d = s.directions[number];

	d.least = r.below(200);
	if (number >= s.offered.n_writes)
		return;
	const rpcrdma_write_chunk &w = s.offered.writes[number];
	constexpr Placement kTypes[] = { Placement::Exrw, Placement::Choice,
					 Placement::BySize };

	d.type = kTypes[r.below(3)];
	d.segments =
		Span<const Segment>(s.offered.write_segs + w.first, w.count);
	if (d.type == Placement::BySize)
		d.rdma_from = r.below(2000);
}

/* Where the items of a Call are to be: in memory, in Receives, or in the Payload stream. */
static u32 plan_items(Conn &c, Outgoing &m, Sending &s)
{
	Random &r = c.world.schedule;
	const bool places = peer_places(c) || r.once_in(4);
	u32 n = 0;

	s.n_in_memory = m.n_removed;
	std::copy_n(m.removed, m.n_removed, s.in_memory);
	put_back(m);
	for (u32 i = 0; m.offers && i < s.chunks->n_reads; i++)
		s.segments[i] = s.chunks->reads[i].target;
	for (u32 i = 0; i < m.n_items; i++) {
		const rpcrdma_range &where = m.items[i];
		PlacedItem &item = s.items[n];

		item = {};
		if (m.offers)
			item.segments = registered(s, where.offset);
		const bool fetch = item.segments.size() && !r.once_in(4);
		if (!where.length || (!fetch && (!places || r.once_in(2))))
			continue;
		item.position = where.offset;
		item.length = where.length;
		item.type = fetch ? Placement::Exrw : Placement::Tbsn;
		s.placed += !fetch;
		remove(m, { where.offset, padded(where) });
		n++;
	}
	return n;
}

static void plan_call(Conn &c, Outgoing &m, Sending &s)
{
	Random &r = c.world.schedule;
	GroupMessage &g = s.group;

	g.content.items = { s.items, plan_items(c, m, s) };
	s.range = { 0, m.msg.length, { s.directions, m.n_results } };
	if (m.offers) {
		s.offered = *m.msg.chunks;
		m.msg.chunks = nullptr;
	}
	for (u32 i = 0; i < m.n_results; i++)
		direct(r, s, i);
	if (m.n_results && !m.msg.call_only &&
	    (s.offered.n_writes || !r.once_in(4)))
		g.content.directions = { &s.range, 1 };
}

/* Return: false if it is to go by the types of -07. */
static bool begin(Conn &c, Outgoing &m)
{
	pings::Ledger &l = ledger(c);
	u32 sends = 0;

	if (m.group) {
		l.sending = m.group;
		return true;
	}
	/* XMTREQ has no handle that its Reply could invalidate. */
	if (m.no_group || m.msg.sent || m.msg.external ||
	    (m.n_removed && !m.offers) || m.invalidate ||
	    (m.msg.chunks && !rpcrdma::unused(*m.msg.chunks) && !m.offers) ||
	    (!m.only_group && c.world.schedule.once_in(3)))
		return false;
	if (m.msg.dir == RPCRDMA_CALL) {
		l.sending = std::make_shared<Sending>(m.msg, kReplySends);
		plan_call(c, m, *l.sending);
		return true;
	}
	if (m.directions)
		sends = m.directions->sends;
	l.sending = std::make_shared<Sending>(m.msg, sends);
	return true;
}

/* It does not go at all. Something else may. */
static bool leave_out(rpcrdma_tx &tx, u32 &result)
{
	tx = {};
	tx.more = true;
	result = RPCRDMA_TX_REFUSED;
	return true;
}

/* One of a single Send waits for its credit, as in rpcrdma_rtr_decide(). */
static bool waits(const Sending &s, u32 result)
{
	return result == RPCRDMA_TX_BLOCKED && s.by_plan &&
	       s.planned.sends == 1;
}

namespace
{

/* Where data of a Send go. */
struct Filler {
	const Outgoing &m;
	u8 *buffer;

	void put(u32 at, u32 offset, u32 length) const
	{
		std::memcpy(buffer + offset, m.octets + at, length);
	}
};

} // namespace

static u32 next_send(Conn &c, Outgoing &m, u8 *buffer, rpcrdma_tx &tx,
		     u32 &size)
{
	const u32 room = c.config.core.local.send_size;
	Sending &s = *ledger(c).sending;
	Filler to = { m, buffer };
	u32 result;

	if (s.by_plan) {
		rpcrdma_rtr_send send = {};

		result = rpcrdma_rtr_next_send(&c.session, &s.planned, &m.msg,
					       buffer, room, &tx, &send);
		if (result != RPCRDMA_TX_MESSAGE)
			return result;
		size = send.size;
		(void)!rpcrdma_rtr_each_piece(
			&s.planned, send.number,
			[](void *context, const rpcrdma_rtr_piece *p) {
				static_cast<Filler *>(context)->put(
					p->at, p->offset, p->length);
				return true;
			},
			&to);
	} else {
		GroupMessage &g = s.group;

		result = rpcrdma::session(&c.session)
				 .with<Rtrext>([&](Rtrext &x, Port &port) {
					 return x.send(port, g,
						       { buffer, room }, tx);
				 });
		if (result != RPCRDMA_TX_MESSAGE)
			return result;
		size = g.size;
		const rpcrdma::Span<const PlacedItem> items(
			g.content.items.data(), g.content.items.size());
		(void)!g.plan.each_piece(
			items, g.next - 1,
			[&](u32 i, const rpcrdma::ItemPiece &p) {
				to.put(items[i].position + p.at, p.in.offset,
				       p.in.length);
				return true;
			});
	}
	return result;
}

/* So that the peer has to refuse it: its number, how many there are, or its payload. */
static void spoil(Conn &c, const Outgoing &m, u8 *buffer, const rpcrdma_tx &tx)
{
	Sending &s = *ledger(c).sending;
	const bool call = m.msg.dir == RPCRDMA_CALL;

	/* Who holds nothing back does not keep its Replies. */
	if (s.spoilt || !budget(c).spoils || c.link.tainted ||
	    (!call && c.side == 0) || !c.world.schedule.once_in(4))
		return;
	budget(c).spoils--;
	s.spoilt = true;
	ledger(c).spoils = true;
	u8 *const end = buffer + tx.header_length - kWordSize;
	if (c.world.schedule.once_in(2))
		store_be32(end, load_be32(end) + 4 * kLargestReceive);
	else if (tx.first)
		store_be32(end - (call ? 2 : 1) * kWordSize,
			   RPCRDMA_RTR_MOST_SENDS + 1);
	else
		store_be32(buffer + kNumberAt, s.number - 1);
	c.world.trace("%s spoils Send %u of a group, xid %08x",
		      c.link.name(c.side), s.number, m.msg.xid);
}

/* It is a part of the group now. */
static void sent(Conn &c, Outgoing &m, u8 *buffer, const rpcrdma_tx &tx)
{
	pings::Ledger &l = ledger(c);
	const bool call = m.msg.dir == RPCRDMA_CALL;
	Tally &t = c.world.tally;

	if (planted(c, Mutant::GroupBroken) && !tx.first)
		store_be32(buffer + 12, RPCRDMA2_CALL_INLINE);
	m.grouped = true;
	if (tx.first && call) {
		t.offered += l.sending->offered.n_writes != 0;
		l.directed[m.sending] = l.sending;
	}
	if (tx.first && call)
		promise(c, m.msg.xid, l.sending->group.reply_count);
	else if (tx.first)
		l.n_groups++;
	check_reserved(c);
	t.groups += tx.first;
	t.repeated += tx.first && m.only_group;
	t.placed[call ? 0 : 1] +=
		tx.first &&
		(call ? l.sending->placed : l.sending->planned.placed);
	t.long_groups += tx.first && !tx.last;
	t.long_replies += tx.first && !tx.last && !call;
	spoil(c, m, buffer, tx);
	peer_ledger(c).spoilt.push_back(l.sending->spoilt);
	l.sending->number++;
	if (tx.last)
		l.sending.reset();
}

} // namespace groups

bool pings::may_carry(const Conn &c)
{
	return budget(c).groups && c.open() && in_use(c);
}

bool pings::carry(Conn &c, Outgoing *m, u8 *buffer, rpcrdma_tx &tx, u32 &size,
		  u32 &result)
{
	Ledger &l = ledger(c);

	if (m && !m->msg.sent && m->only_group && !may_carry(c))
		return groups::leave_out(tx, result);
	if (!m || !may_carry(c))
		return false;
	if (!l.sending && !groups::begin(c, *m))
		return false;
	if (&l.sending->group.msg != &m->msg)
		fail("groups", "%s: another message in the middle of a group",
		     c.link.name(c.side));
	result = groups::next_send(c, *m, buffer, tx, size);
	if (result == RPCRDMA_TX_MESSAGE) {
		groups::sent(c, *m, buffer, tx);
		return true;
	}
	if (!m->msg.sent) {
		const std::shared_ptr<groups::Sending> s = std::move(l.sending);

		l.sending.reset();
		c.world.tally.no_group += result == RPCRDMA_TX_BLOCKED;
		if (m->only_group)
			return groups::leave_out(tx, result);
		if (!groups::waits(*s, result)) {
			groups::restore(*m, *s);
			return false;
		}
	}
	/* A GRANT may be due. */
	if (result == RPCRDMA_TX_BLOCKED)
		result = rpcrdma_session_next_send(
			&c.session, nullptr, buffer,
			c.config.core.local.send_size, &tx);
	if (result == RPCRDMA_TX_NONE && !m->msg.sent)
		result = RPCRDMA_TX_BLOCKED;
	return true;
}

bool pings::repeats(const Conn &c)
{
	return budget(c).repeats && may_carry(c);
}

void pings::repeated(Conn &c)
{
	budget(c).repeats--;
}

std::shared_ptr<const rpcrdma_rtr_directions>
pings::directions(const Conn &c, const Receive &r)
{
	auto d = std::make_shared<rpcrdma_rtr_directions>();
	rpcrdma_rtr_first first;

	if (!rpcrdma_rtr_read(r.buffer.get(), r.length, &first))
		fail("answers", "%s: what begins a group cannot be read",
		     c.link.name(c.side));
	rpcrdma_rtr_get_directions(&first, d.get());
	d->rest = { 0, 1 };
	if (planted(c, Mutant::GroupOtherAnswer) && d->length > kTypeAt &&
	    load_be32(d->xdr + kTypeAt) == u32(Placement::Exrw))
		store_be32(d->xdr + kTypeAt, u32(Placement::Choice));
	return d;
}

bool pings::plan_reply(Conn &c, Outgoing &m, u32 length,
		       rpcrdma_reply_plan &plan)
{
	rpcrdma_rtr_result results[kItems];

	if (!may_carry(c) || !m.directions || !m.directions->length)
		return false;
	const rpcrdma_rtr_directions &d = *m.directions;
	m.no_group = true;
	/* A Responder may choose the types of -07 without any reason. */
	if (c.world.schedule.once_in(4))
		return false;
	for (u32 i = 0; i < m.n_items; i++)
		results[i] = { m.items[i], RPCRDMA_RTR_NOWHERE };
	auto s = std::make_shared<groups::Sending>(m.msg, d.sends);

	s->by_plan = rpcrdma_rtr_plan_reply(&c.session, &d, results, m.n_items,
					    length, &m.msg, &plan, &s->planned);
	if (!s->by_plan)
		return false;
	m.no_group = false;
	m.group = s;
	return true;
}

/* What is said of one result to which memory was offered. Return: false if it is not so. */
static bool take_written(const rpcrdma::MessageItem &item,
			 const rpcrdma_chunks &offered, u32 number,
			 rpcrdma_chunks &written)
{
	const rpcrdma_write_chunk &w = offered.writes[number];
	u32 n = written.n_write_segs;

	written.writes[number] = { 0, n };
	if (item.where.type != Placement::Exrw)
		return true;
	if (item.where.segments.size() > w.count)
		return false;
	/* A Write list says of all segments how much of them is used. */
	for (u32 i = 0; i < w.count; i++) {
		written.write_segs[n + i] = offered.write_segs[w.first + i];
		written.write_segs[n + i].length = 0;
	}
	written.writes[number].count = w.count;
	written.n_write_segs += w.count;
	return item.where.segments.each([&](const rpcrdma::XdrSegment &s) {
		written.write_segs[n++] = s.segment;
		return true;
	});
}

/* As rpcrdma_reply_group_answers(), of a Requester that offers memory. */
static bool take_answers(const Conn &c, const Receive &first,
			 rpcrdma_chunks &written)
{
	const auto found = ledger(c).directed.find(first.sending);
	const bool known = found != ledger(c).directed.end();
	const Bytes whole(first.buffer.get(), first.length);
	Span<const DirectionRange> directions;
	Tally &t = c.world.tally;
	rpcrdma::XmtResponse m;

	if (known)
		directions = found->second->group.content.directions;
	if (!m.decode(whole.after(kPrefixSize)) ||
	    !answers_valid(m.items, directions))
		return false;
	if (!known || !m.items.size())
		return true;
	const rpcrdma_chunks &offered = found->second->offered;

	written.n_writes = offered.n_writes;
	return m.items.each_at([&](u32 i, const rpcrdma::MessageItem &item) {
		if (i >= offered.n_writes)
			return true;
		t.written += item.where.type == Placement::Exrw;
		t.sent_instead += item.where.type == Placement::Tbsn;
		return take_written(item, offered, i, written);
	});
}

bool pings::answers(const Conn &c, const Receive &first,
		    rpcrdma_chunks &written)
{
	written = {};
	if (take_answers(c, first, written))
		return true;
	if (!c.link.tainted)
		fail("groups", "%s: a Reply does not do what its Call directs",
		     c.link.name(c.side));
	return false;
}

void pings::declare(Conn &c)
{
	const rpcrdma_rtr_shape s = shape(c);

	if (s.pages &&
	    !rpcrdma_rtr_declare(&c.session, &s,
				 RPCRDMA_RTR_CALLS | RPCRDMA_RTR_REPLIES))
		fail("invariant", "%s: such Receives cannot be declared",
		     c.link.name(c.side));
}

/*
 * Bugs of what comes in. One sees the Send that is next, whatever its number. To one the
 * Call that is refused is unknown, though its caller is told of it. To one a Reply is as many
 * answers as its Call has groups, and to one each refusal is the first.
 */
void pings::receive(Conn &c, const u8 *buffer, u32 length, rpcrdma_rx &rx)
{
	Octets changed(buffer, buffer + length);
	const u32 htype =
		length > kLeadAt ? load_be32(buffer + 3 * kWordSize) : 0;

	if (planted(c, Mutant::GroupNumberAny) && htype == rpcrdma::kXmtCont)
		store_be32(&changed[kNumberAt], state(c).incoming().next());
	if (planted(c, Mutant::GroupReserveKept) &&
	    htype == rpcrdma::kReptErr &&
	    load_be32(buffer + kLeadAt) == RPCRDMA_CALL) {
		const u32 xid = load_be32(buffer + kPrefixSize);

		for (u32 at = kPrefixSize; at < length; at += kWordSize)
			if (load_be32(&changed[at]) == xid)
				store_be32(&changed[at], ~xid);
		rpcrdma_session_receive(&c.session, changed.data(), length,
					&rx);
		rx.action = RPCRDMA_RX_FAIL_RPC;
		rx.reason = RPCRDMA_REASON_NONE;
		rx.detail = nullptr;
		rx.xid = xid;
		rx.error = -5;
		rx.reported = true;
		return;
	}
	rpcrdma_session_receive(&c.session, changed.data(), length, &rx);
	if (planted(c, Mutant::RepeatedAnswersAll) && part_of_group(rx) &&
	    rx.action == RPCRDMA_RX_PAYLOAD && rx.last &&
	    rx.dir == RPCRDMA_REPLY)
		for (u32 n = kReplySends; n; n--)
			rpcrdma::session(&c.session)
				.with<Rtrext>([&](Rtrext &x, Port &) {
					x.answered(rpcrdma::to_xid(rx.xid));
				});
	if (planted(c, Mutant::RepeatedResent) && htype == rpcrdma::kReptErr &&
	    rx.action == RPCRDMA_RX_CONTROL &&
	    load_be32(buffer + kLeadAt) == RPCRDMA_CALL) {
		rx.action = RPCRDMA_RX_FAIL_RPC;
		rx.error = -5;
		rx.reported = true;
	}
}

namespace
{

/* A message that is being put together. */
struct Laying {
	const Conn &c;
	const std::vector<Part> &parts;
	const bool reply;
	Octets out;
	u32 stream = 0; /* octets of the Payload stream that are there */
	u32 end = 0; /* octets of the message that are there */
	u32 written = 0; /* of these, by RDMA: they are not in @out */

	void copy(u32 position, u32 part, u32 offset, u32 length)
	{
		const Receive *r = parts[part].receive;
		const u32 to = position - written;

		if (planted(c, Mutant::GroupGivenBack) && !c.has(r))
			return;
		if (u64{ offset } + length > r->size ||
		    u64{ to } + length > out.size())
			fail("invariant", "a part of %u octets at %u, for %u",
			     length, offset, to);
		std::memcpy(&out[to], &r->buffer[offset], length);
	}
	void take_stream(u32 length)
	{
		u32 from = stream;

		stream += length;
		for (u32 i = 0; length && i < parts.size(); i++) {
			const rpcrdma_range &p = parts[i].payload;

			if (from >= p.length) {
				from -= p.length;
				continue;
			}
			const u32 run = std::min(length, p.length - from);
			copy(end, i, p.offset + from, run);
			end += run;
			length -= run;
			from = 0;
		}
	}
	void take_part(const rpcrdma_rtr_part &p)
	{
		const bool wrong = planted(c, Mutant::GroupPageWrong) && p.at;

		if (!p.at) {
			take_stream(p.position - end);
			end = (p.position + p.item + 3) & ~3U;
		}
		if (p.send == RPCRDMA_RTR_BY_READ) {
			written += reply ? end - p.position : 0;
			return;
		}
		copy(p.position + p.at, p.send,
		     p.offset - (wrong ? kTarget : 0), p.length);
	}
};

} // namespace

bool pings::fetches(const Conn &c, const std::vector<Part> &parts,
		    rpcrdma_chunks &chunks, bool &placed)
{
	const Receive &r = *parts[0].receive;
	rpcrdma_rtr_first first;

	if (!rpcrdma_rtr_read(r.buffer.get(), r.length, &first))
		fail("answers", "%s: what begins a group cannot be read",
		     c.link.name(c.side));
	placed = first.item.length;
	if (!first.external)
		return false;
	if (!rpcrdma_rtr_get_reads(&first, &chunks))
		fail("invariant", "%s: items are in too many segments",
		     c.link.name(c.side));
	if (planted(c, Mutant::GroupReadForgotten))
		chunks.n_reads--;
	return true;
}

Octets pings::lay_out(const Conn &c, const std::vector<Part> &parts, u32 length)
{
	/* Without pages nothing is placed, but there are items that went by RDMA. */
	const rpcrdma_rtr_shape any = { kHead, kTarget, 1 };
	const rpcrdma_rtr_shape s = shape(c).pages ? shape(c) : any;
	const Receive &r = *parts[0].receive;
	rpcrdma_rtr_first first;

	if (planted(c, Mutant::GroupGivenBack) && !c.has(&r))
		return Octets(length);
	if (!rpcrdma_rtr_read(r.buffer.get(), r.length, &first))
		fail("answers", "%s: what begins a group cannot be read",
		     c.link.name(c.side));
	Laying laying = { c, parts, first.reply, Octets(length) };
	(void)!rpcrdma_rtr_each_part(
		&s, &first,
		[](void *context, const rpcrdma_rtr_part *p) {
			static_cast<Laying *>(context)->take_part(*p);
			return true;
		},
		&laying);
	laying.take_stream(length - laying.end);
	laying.out.resize(length - laying.written);
	return laying.out;
}

std::vector<u32> pings::refused_replies(Conn &c)
{
	return ledger(c).refused;
}

/* As rpcrdma_req_group_refused(), but for errors that may be about a Reply (D6). */
bool pings::group_refused(const rpcrdma_rx &rx)
{
	if (!rx.reported)
		return false;
	switch (rx.errcode) {
	case RPCRDMA2_ERR_NONE: /* a REPTERR */
	case RPCRDMA2_ERR_READ_CHUNKS:
	case RPCRDMA2_ERR_SEGMENTS:
		return true;
	default:
		return false;
	}
}

} // namespace sim
