// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "rtrext.h"
#include <rpcrdma/rtrext.h>
#include "abi.h"
#include "base.h"
#include "compound.h"
#include "linux_errno.h"
#include "plain.h"
#include "rtr_reply.h"

namespace rpcrdma
{

static constexpr u32 kSmallestReceive = kPrefixSize + kPropertiesSize;

static_assert(Rtrext::kLargestBody <= kPropertiesSize);
/* What continues a message fits wherever the FINAL does. */
static_assert(kXmtContSize + kXdrUnit <= kSmallestReceive);

/* Where a session keeps these numbers. */
static constexpr u32 kSupportAt = property_index(kRtrSupport);
static constexpr u32 kStructureAt = property_index(kReceiveStructure);
static constexpr u32 kRequestLimitAt = property_index(kRequestReceiveLimit);
static constexpr u32 kResponseLimitAt = property_index(kResponseSendLimit);

static_assert(!Extensions::place<Rtrext>() ||
	      (kSupportAt < Extensions::kProperties &&
	       kStructureAt < Extensions::kProperties &&
	       kRequestLimitAt < Extensions::kProperties &&
	       kResponseLimitAt < Extensions::kProperties));

static constexpr Refusal bad_xdr(const char *detail)
{
	return { RPCRDMA_REASON_XDR, detail, RPCRDMA2_ERR_BAD_XDR };
}

/* Of the base protocol. */
static constexpr u32 kRecvSizeAt =
	property_index(static_cast<u32>(Property::RecvSize));
static constexpr u32 kSegmentSizeAt =
	property_index(static_cast<u32>(Property::SegmentSize));
static constexpr u32 kSegmentCountAt =
	property_index(static_cast<u32>(Property::SegmentCount));

/* Where data can be placed in this side's Receives; nowhere, unless declared. */
static Targets local_targets(const Port &port)
{
	return targets_of(port.local_at(kStructureAt));
}

/* And in those of the peer. */
static Targets peer_targets(const Port &port)
{
	return targets_of(port.peer_at(kStructureAt));
}

/* A message to this side may have several Sends. */
static bool takes_continues(const Port &port)
{
	return port.local_at(kSupportAt) & kTakesContinues;
}

/* And be the first Send of a Reply, or all of it. */
static bool takes_responses(const Port &port)
{
	return port.local_at(kSupportAt) & kTakesResponses;
}

bool Rtrext::declare(Port &port, const ReceiveShape &shape)
{
	const u32 told = shape_number(shape);

	if (told == kOtherShape || !told ||
	    shape.length() != port.local_at(kRecvSizeAt) ||
	    shape_of(told).length() != shape.length() ||
	    shape.target(0).offset < kXmtContSize ||
	    shape.targets() * kMostSends > kMostTargets)
		return false;
	return port.declare(kReceiveStructure, told);
}

/* ------------------------------------------------------------------ */
/* What comes in                                                      */
/* ------------------------------------------------------------------ */

/*
 * What leads the group is another message than the one that is bad. The beginning of a group
 * in the middle of another is that, also if both are of one RPC.
 */
static bool has_other_lead(const ReportedError &e)
{
	const bool begins = e.fault.code == RtrError::BadOmt && !e.bad.number &&
			    e.fault.words[0] == kXmtCont;

	return e.has_lead &&
	       (begins || e.lead.xid != e.bad.xid || e.lead.dir != e.bad.dir);
}

/*
 * Whatever is said of a Reply: its Responder may not have it any more, and then says nothing.
 * So nothing is reserved for it from now on. One that comes again may still take as much. The
 * RPC waits on, and its other groups may be refused.
 */
void Rtrext::doubt_reply(Xid xid)
{
	reserve_.doubt(xid);
	sent_.answer(xid, false);
}

/*
 * Not in the header: if two objects had a copy of SentGroups::answer(), the kernel's list of
 * functions to trace would refer to the one that the linker drops.
 */
void Rtrext::settle_group(Xid xid)
{
	sent_.answer(xid);
}

/* Return: false if there are too many that wait. */
bool Rtrext::report(const ReportedError &e, Port &port)
{
	if (e.bad.dir == RPCRDMA_REPLY)
		doubt_reply(e.bad.xid);
	if (has_other_lead(e) && e.lead.dir == RPCRDMA_REPLY)
		doubt_reply(e.lead.xid);
	if (reports_count_ == kMostReports ||
	    !port.send(kReptErr, e.bad.xid, {}))
		return false;
	reports_[(reports_first_ + reports_count_++) % kMostReports] = e;
	return true;
}

/* Of a group that had begun nothing is left. */
static void abandon(rpcrdma_dir dir, rpcrdma_rx &rx)
{
	rx.abandon = true;
	rx.dir = dir;
}

/* The Send is not what it should be here: say so, if that is new. */
Refusal Rtrext::out_of_order(const GroupReceiver::Verdict &v, Port &port,
			     rpcrdma_rx &rx)
{
	port.gather(in_.active());
	if (v.step == GroupReceiver::Step::Discard)
		return { RPCRDMA_REASON_DISCARDING,
			 "a Send of a group that was refused" };
	if (v.void_group)
		abandon(v.report.lead.dir, rx);
	if (!report(v.report, port))
		return { RPCRDMA_REASON_FLOOD, kFlood };
	return { RPCRDMA_REASON_CONTINUATION,
		 rtr_error_type(static_cast<u32>(v.report.fault.code))->name };
}

/*
 * The Send has its place, and what is in it is wrong in a way that REPTERR has no code for.
 * An ERROR cannot be about a Reply (D6), so that fails here.
 */
Refusal Rtrext::give_up(const Refusal &why, Port &port, rpcrdma_rx &rx)
{
	const GroupReceiver::Verdict v = in_.refuse({});

	port.gather(false);
	if (v.void_group)
		abandon(in_.dir(), rx);
	if (in_.dir() == RPCRDMA_CALL)
		return why;
	end(in_.xid());
	rx.action = RPCRDMA_RX_FAIL_RPC;
	rx.reason = why.reason;
	rx.detail = why.detail;
	rx.error = -kEIO;
	rx.errcode = why.code;
	return {};
}

Refusal Rtrext::misplaced(const Misplaced &m, Port &port, rpcrdma_rx &rx)
{
	if (m.kind == Misplaced::Kind::BadXdr)
		return give_up(bad_xdr("items, or a number of Sends, that cannot be"), port,
			       rx);
	return out_of_order(in_.refuse(m.fault), port, rx);
}

/* It cannot be read at all, so a group that is under way has been interrupted. */
Refusal Rtrext::malformed(Xid xid, rpcrdma_dir dir, Port &port, rpcrdma_rx &rx)
{
	if (in_.active() && !interrupted(lead_type(dir), true, port, rx))
		return { RPCRDMA_REASON_FLOOD, kFlood };
	in_.unreadable(xid, dir);
	port.gather(false);
	if (dir == RPCRDMA_CALL)
		return bad_xdr(kUnreadable);
	end(xid);
	rx.action = RPCRDMA_RX_FAIL_RPC;
	rx.reason = RPCRDMA_REASON_XDR;
	rx.detail = kUnreadable;
	rx.error = -kEIO;
	rx.errcode = RPCRDMA2_ERR_BAD_XDR;
	return {};
}

/* A Reply has nothing more to wait for; -07 fails one that comes there, too (D6). */
void Rtrext::between(const Header &h, rpcrdma_rx &rx)
{
	if (h.type->htype != kXmtResp)
		return;
	end(h.prefix.xid);
	rx.action = RPCRDMA_RX_FAIL_RPC;
	rx.error = -kEIO;
	rx.errcode = RPCRDMA2_ERR_INVAL_CONT;
}

void Rtrext::stop(rpcrdma_rx &rx)
{
	/* A Reply that ends in the middle is the answer to one group all the same. */
	if (in_.active() && in_.dir() == RPCRDMA_REPLY)
		doubt_reply(in_.xid());
	in_.stop();
	abandon(in_.dir(), rx);
}

/*
 * Section 7.1.3 of -07: that type is not sent again. A peer that does not take it may say so
 * of each Send of the group. Then what comes after the first ERROR is not about the form in
 * which the Call is sent next. If a group of it was refused or answered, the peer knows the type:
 * it speaks of that other form.
 */
bool Rtrext::refused(Xid xid, u32 code, Port & /*port*/)
{
	if (code != RPCRDMA2_ERR_INVAL_HTYPE)
		return false;
	if (refused_left_ && xid == refused_xid_) {
		refused_left_--;
		return true;
	}
	if (!sent_.waits(xid))
		return false;
	u32 sends = 0;
	u32 answers = 0;
	SentGroups::Group g;
	do {
		g = sent_.take(xid, RPCRDMA_CALL);
		sends += g.sends;
		/* The session counts one ERROR as an answer itself. */
		if (!g.call_only && answers++)
			reserve_.doubt(xid);
	} while (g.left);
	requests_refused_ = true;
	refused_xid_ = xid;
	refused_left_ = sends - 1;
	return false;
}

bool Rtrext::interrupted(u32 htype, bool other, Port &port, rpcrdma_rx &rx)
{
	const GroupReceiver::Verdict v = in_.interrupted(htype, other);

	port.gather(false);
	abandon(v.report.lead.dir, rx);
	return report(v.report, port);
}

/* Where the items are, as the first Send says. */
inline Refusal Rtrext::take_items(const MessageItems &items, Port &port,
				  rpcrdma_rx &rx)
{
	const Misplaced wrong = check_items(
		items, in_.dir(), local_targets(port), in_.count(), needs_);

	return wrong ? misplaced(wrong, port, rx) : Refusal{};
}

/* Section 7.2 of -07: the RPC message's own first words, as far as they are in this Send. */
static bool first_words_are(Bytes payload, const GroupReceiver &in)
{
	XdrReader r(payload);
	u32 word;

	if (!in.stream())
		return check_first_words(payload, in.xid(), in.dir()) ==
		       RPCRDMA_REASON_NONE;
	return in.stream() != kWordSize || !r.word(word) || word == in.dir();
}

/* The payload of a Send that has its place in its group. */
Refusal Rtrext::take_part(Bytes body, u32 head, u32 length, Port &port,
			  rpcrdma_rx &rx)
{
	const u32 before = kPrefixSize + head;
	const u32 least = in_.next() ? 0 : kLeastPart;
	Misplaced wrong = check_part(local_targets(port), needs_, in_.next(),
				     kPrefixSize + body.size(), before, length);

	if (!wrong && length < least)
		wrong = { Misplaced::Kind::Fault,
			  { RtrError::BadPl,
			    { length, least, body.size() - head } } };
	if (wrong)
		return misplaced(wrong, port, rx);
	if (!first_words_are(body.part(head, length), in_))
		return give_up(
			bad_xdr("the payload does not begin with this xid and direction"),
			port, rx);
	const u64 total = u64{ in_.stream() } + length;
	/* As of -07: 7.1.4 if the message is continued, 7.4.1 if not. */
	if (total + needs_.added > port.max_message(in_.dir()))
		return give_up({ RPCRDMA_REASON_TOO_LARGE, kTooLarge,
				 in_.count() > 1 ? RPCRDMA2_ERR_INVAL_CONT :
						   RPCRDMA2_ERR_SYSTEM },
			       port, rx);
	const bool enough =
		total >= u64{ 2 } * kWordSize && total >= needs_.stream;
	if (in_.last() && !enough)
		return give_up(bad_xdr("too short for an RPC message, or for its "
				       "items"),
			       port, rx);

	rx.action = RPCRDMA_RX_PAYLOAD;
	rx.dir = in_.dir();
	rx.last = in_.last();
	rx.payload = { before, length };
	rx.stream_offset = in_.stream();
	rx.stream_length = static_cast<u32>(total);
	if (rx.last)
		rx.unreduced_length = static_cast<u32>(total + needs_.added);
	if (rx.last && in_.dir() == RPCRDMA_REPLY)
		end(in_.xid());
	in_.taken(length);
	port.gather(in_.active());
	return {};
}

/* Segments of a Call that this side is to use: in its items, and for its Reply. */
static bool count_directions(const DirectionSets &sets, u32 &segments,
			     u32 &largest)
{
	RangeOrder order;

	return sets.each([&](const DirectionSet &s) {
		if (!order.next(s.begin, s.end))
			return false;
		return s.items.each([&](const DirectionItem &d) {
			segments += d.segments.size();
			return d.segments.each([&](const XdrSegment &one) {
				if (one.segment.length > largest)
					largest = one.segment.length;
				return true;
			});
		});
	});
}

Refusal Rtrext::take_request(Xid xid, Bytes body, Port &port, rpcrdma_rx &rx)
{
	const u32 reach = port.reach(RPCRDMA_CALL);
	const u32 most = reach < RPCRDMA_RVRSDIR_CONT ||
					 !takes_continues(port) ?
				 1 :
				 port.local_at(kRequestLimitAt);
	XmtRequest m;

	if (!m.decode(body))
		return malformed(xid, RPCRDMA_CALL, port, rx);
	const GroupReceiver::Verdict v =
		in_.begin(xid, RPCRDMA_CALL, m.count, most);
	if (v.step != GroupReceiver::Step::Take)
		return out_of_order(v, port, rx);
	if (reach == RPCRDMA_RVRSDIR_NONE)
		return give_up(
			{ RPCRDMA_REASON_HTYPE,
			  "this side takes no Calls from its server",
			  RPCRDMA2_ERR_INVAL_HTYPE },
			port, rx);
	const Refusal why = take_items(m.items, port, rx);
	if (why.reason != RPCRDMA_REASON_NONE)
		return why;

	u32 count = needs_.segments;
	u32 largest = needs_.largest;
	if (m.directions.size() &&
	    !count_directions(m.directions, count, largest))
		return give_up(bad_xdr("directions that are out of order"),
			       port, rx);
	const u32 most_reads = port.max_read_chunks();
	if (needs_.reads > most_reads)
		return give_up({ RPCRDMA_REASON_CHUNKS, kReadChunks,
				 RPCRDMA2_ERR_READ_CHUNKS, most_reads },
			       port, rx);
	const u32 most_segments = reach < RPCRDMA_RVRSDIR_GENL ?
					  0 :
					  port.local_at(kSegmentCountAt);
	if (count > most_segments)
		return give_up({ RPCRDMA_REASON_CHUNKS, kTooManySegments,
				 RPCRDMA2_ERR_SEGMENTS, most_segments },
			       port, rx);
	if (largest > port.local_at(kSegmentSizeAt))
		return give_up({ RPCRDMA_REASON_CHUNKS, kSegmentTooLong,
				 RPCRDMA2_ERR_SYSTEM },
			       port, rx);
	return take_part(body, m.head, m.length, port, rx);
}

Refusal Rtrext::take_response(Xid xid, Bytes body, Port &port, rpcrdma_rx &rx)
{
	XmtResponse m;

	if (!m.decode(body))
		return malformed(xid, RPCRDMA_REPLY, port, rx);
	const GroupReceiver::Verdict v =
		in_.begin(xid, RPCRDMA_REPLY, m.count, reserve_.most(xid));
	if (v.step != GroupReceiver::Step::Take)
		return out_of_order(v, port, rx);
	reserve_.shrink(xid, m.count);
	const Refusal why = take_items(m.items, port, rx);
	if (why.reason != RPCRDMA_REASON_NONE ||
	    rx.action == RPCRDMA_RX_FAIL_RPC)
		return why;
	return take_part(body, m.head, m.length, port, rx);
}

Refusal Rtrext::take_continue(Xid xid, Bytes body, Port &port, rpcrdma_rx &rx)
{
	XmtContinue m;

	/* Of which direction it is, is not to be read: an ERROR could be about a Reply. */
	if (!m.decode(body) && (!in_.active() || in_.xid() == xid))
		return in_.active() ?
			       give_up(bad_xdr(kUnreadable), port, rx) :
			       Refusal{ RPCRDMA_REASON_XDR, kUnreadable };
	const GroupReceiver::Verdict v = in_.go_on(xid, m.number, m.began);
	if (v.step != GroupReceiver::Step::Take)
		return out_of_order(v, port, rx);
	return take_part(body, m.head, m.length, port, rx);
}

/* An answer to one that means nothing could only be about something else. */
Refusal Rtrext::take_report(Bytes body, rpcrdma_rx &rx)
{
	ReportedError e;

	bool known = false;
	const auto refuse = [&](const TransmissionId &id) {
		const SentGroups::Group g = sent_.take(id.xid, id.dir);

		/* One that is not known any more may have been promised a Reply, too. */
		if (id.dir == RPCRDMA_CALL && !g.call_only)
			reserve_.doubt(id.xid);
		if (!g.sends)
			return;
		known = true;
		if (!g.settled)
			refused_[refused_count_++] = id;
	};

	refused_count_ = 0;
	if (!e.decode(body))
		return { RPCRDMA_REASON_XDR, kUnreadable };
	refuse(e.bad);
	if (has_other_lead(e))
		refuse(e.lead);
	if (!known)
		return { RPCRDMA_REASON_XID,
			 "about no group that this side has sent" };
	why_ = e.fault;
	rx.action = RPCRDMA_RX_CONTROL;
	return {};
}

/* What of RTR Support a message of this type needs. */
static u32 support_for(u32 htype)
{
	switch (htype) {
	case kXmtReq:
		return kTakesRequests;
	case kXmtResp:
		return kTakesResponses;
	case kXmtCont:
		return kTakesContinues;
	default:
		return UINT32_MAX;
	}
}

Refusal Rtrext::take(const Header &h, Bytes body, Port &port, rpcrdma_rx &rx)
{
	/* The peer was told that this side does not take it. */
	if (!(port.local_at(kSupportAt) & support_for(h.type->htype))) {
		if (in_.active() && !interrupted(h.type->htype, true, port, rx))
			return { RPCRDMA_REASON_FLOOD, kFlood };
		return { RPCRDMA_REASON_HTYPE,
			 "this side has not offered to take it",
			 RPCRDMA2_ERR_INVAL_HTYPE };
	}
	switch (h.type->htype) {
	case kXmtReq:
		return take_request(h.prefix.xid, body, port, rx);
	case kXmtResp:
		return take_response(h.prefix.xid, body, port, rx);
	case kXmtCont:
		return take_continue(h.prefix.xid, body, port, rx);
	default:
		return take_report(body, rx);
	}
}

/* ------------------------------------------------------------------ */
/* What goes out                                                      */
/* ------------------------------------------------------------------ */

/* The prefix of a REPTERR has the XID of what it is about; they leave in their order. */
void Rtrext::encode(const ControlMessage & /*m*/, const Port & /*port*/,
		    XdrWriter &w)
{
	encode_report(reports_[reports_first_], w);
	reports_first_ = (reports_first_ + 1) % kMostReports;
	reports_count_--;
}

u32 Rtrext::most_sends(const Port &port, rpcrdma_dir dir, u32 reply_count) const
{
	const u32 takes = port.peer_at(kSupportAt);
	const bool call = dir == RPCRDMA_CALL;
	const u32 reach = port.reach(call ? RPCRDMA_REPLY : RPCRDMA_CALL);
	u32 most = call ? port.peer_at(kRequestLimitAt) : reply_count;

	if (!(takes & (call ? kTakesRequests : kTakesResponses)) ||
	    (call && requests_refused_) || reach == RPCRDMA_RVRSDIR_NONE)
		return 0;
	if (!(takes & kTakesContinues) || reach < RPCRDMA_RVRSDIR_CONT)
		most = most ? 1 : 0;
	if (!call && most > port.local_at(kResponseLimitAt))
		most = port.local_at(kResponseLimitAt);
	/* Every Call may have a Reply of one Send. */
	return call || most ? most : 1;
}

bool Rtrext::may_reserve(const Port &port, u32 sends) const
{
	return sends <= 1 || (sends <= kMostSends && takes_continues(port) &&
			      sends <= port.peer_at(kResponseLimitAt) &&
			      sends <= reserve_.room(port.window()));
}

/*
 * Plan it, if it is not planned. What the plan was made for may have changed since: the
 * largest Send can. Return: Sends that it may have; zero if it cannot go so.
 */
u32 Rtrext::begin(const Port &port, GroupMessage &m) const
{
	m.content.dir = m.msg.dir;
	m.content.stream = m.msg.length;
	if (m.msg.sent || m.msg.external ||
	    (m.msg.chunks && !unused(*m.msg.chunks)) || !port.in_use())
		return 0;

	const u32 most = most_sends(port, m.msg.dir, m.reply_count);
	const Targets targets = peer_targets(port);
	const u32 max_send = port.max_send();
	if (!most)
		return 0;
	if (!m.plan.holds(m.content.stream, targets, max_send) &&
	    !m.plan.make(m.content, targets, max_send))
		return 0;
	return m.plan.count() <= most ? most : 0;
}

bool Rtrext::may_begin(const Port &port, GroupMessage &m) const
{
	if (out_.active())
		return false;
	const u32 most = begin(port, m);
	return GroupSender::may_begin(m.plan.count(), port.credits(m.msg),
				      most);
}

/* Sends that the Reply to this Call, which is about to be sent, may take. */
u32 Rtrext::reserve_reply(const Port &port, const GroupMessage &m)
{
	const u32 sends = port.peer_at(kResponseLimitAt);
	const u32 wanted = m.reply_count < sends ? m.reply_count : sends;
	const Xid xid = to_xid(m.msg.xid);

	if (m.msg.call_only || !takes_continues(port))
		return 1;
	/* To count groups takes long, and nothing is promised to a Reply of one Send. */
	return reserve_.reserve(xid, wanted, port.window(),
				wanted > 1 ? sent_.groups(xid, RPCRDMA_CALL) :
					     0);
}

/* What is between header, payload, data and the end of the Send (7.2). */
static void zero_padding(const GroupMessage &m, const GroupSend &s,
			 MutableBytes out)
{
	u32 at = s.head + s.payload.length;
	const auto zero = [&](u32 end) {
		if (at < end)
			__builtin_memset(out.data() + at, 0, end - at);
	};

	(void)m.plan.each_piece(
		{ m.content.items.data(), m.content.items.size() }, m.next,
		[&](u32 /*item*/, const ItemPiece &p) {
			zero(p.in.offset);
			at = p.in.offset + p.in.length;
			return true;
		});
	zero(s.size);
}

rpcrdma_tx_result Rtrext::send(Port &port, GroupMessage &m, MutableBytes out,
			       rpcrdma_tx &tx)
{
	const bool call = m.msg.dir == RPCRDMA_CALL;

	reset(tx);
	if (!m.next) {
		const u32 most = out_.active() ? 0 : begin(port, m);

		if (!most)
			return RPCRDMA_TX_INVALID;
		if (!GroupSender::may_begin(m.plan.count(), port.credits(m.msg),
					    most))
			return RPCRDMA_TX_BLOCKED;
	} else if (!out_.active() || !port.in_use()) {
		return RPCRDMA_TX_INVALID;
	} else if (!port.credits(m.msg)) {
		tx.more = port.more();
		return RPCRDMA_TX_BLOCKED;
	}
	const GroupSend s = m.plan.send(m.next);
	const u32 htype = m.next ? kXmtCont : lead_type(m.msg.dir);
	const u32 prefix = port.begin(m.msg, htype, out);
	XdrWriter w(out.after(prefix));

	if (!prefix || out.size() < s.size)
		return RPCRDMA_TX_INVALID;
	if (!m.next) {
		if (call)
			m.reply_count = reserve_reply(port, m);
		encode_items({ m.content.items.data(), m.content.items.size() },
			     w);
		if (call)
			encode_directions(m.content.directions, w);
		w.word(m.plan.count());
		if (call)
			w.word(m.reply_count);
		out_.begin(m.plan.count());
		sent_.add(to_xid(m.msg.xid), m.msg.dir, m.plan.count(),
			  call && m.msg.call_only);
	} else {
		w.words(m.next, lead_type(m.msg.dir));
	}
	w.word(s.payload.length);
	zero_padding(m, s, out);
	out_.sent();
	m.next++;
	m.size = s.size;
	port.post(m.msg, htype, s.payload.length, s.head, !out_.active(), tx);
	return RPCRDMA_TX_MESSAGE;
}

} // namespace rpcrdma

/* ------------------------------------------------------------------ */
/* The functions of <rpcrdma/rtrext.h>                                */
/* ------------------------------------------------------------------ */

using rpcrdma::ask;
using rpcrdma::Bytes;
using rpcrdma::Direction;
using rpcrdma::DirectionRange;
using rpcrdma::DirectionSets;
using rpcrdma::Extensions;
using rpcrdma::GroupMessage;
using rpcrdma::GroupPlan;
using rpcrdma::ItemPiece;
using rpcrdma::kMostItems;
using rpcrdma::kPrefixSize;
using rpcrdma::kWordSize;
using rpcrdma::load_be32;
using rpcrdma::look;
using rpcrdma::MessageItem;
using rpcrdma::MessageItems;
using rpcrdma::MutableBytes;
using rpcrdma::PlacedItem;
using rpcrdma::Placement;
using rpcrdma::Port;
using rpcrdma::Range;
using rpcrdma::ReceiveShape;
using rpcrdma::ReplyItems;
using rpcrdma::rtr_error_type;
using rpcrdma::Rtrext;
using rpcrdma::RtrFault;
using rpcrdma::Targets;
using rpcrdma::TransmissionId;
using rpcrdma::word_of;

static_assert(RPCRDMA_RTR_XMTREQ == rpcrdma::kXmtReq);
static_assert(RPCRDMA_RTR_XMTRESP == rpcrdma::kXmtResp);
static_assert(RPCRDMA_RTR_XMTCONT == rpcrdma::kXmtCont);
static_assert(RPCRDMA_RTR_REPTERR == rpcrdma::kReptErr);
static_assert(RPCRDMA_RTR_CALLS == rpcrdma::kTakesRequests);
static_assert(RPCRDMA_RTR_REPLIES == rpcrdma::kTakesResponses);
static_assert(RPCRDMA_RTR_MOST_SENDS == rpcrdma::kMostSends);
static_assert(RPCRDMA_RTR_EXRW == static_cast<u32>(Placement::Exrw));
static_assert(RPCRDMA_RTR_TBSN == static_cast<u32>(Placement::Tbsn));
static_assert(RPCRDMA_RTR_CHOICE == static_cast<u32>(Placement::Choice));
static_assert(RPCRDMA_RTR_BYSIZE == static_cast<u32>(Placement::BySize));
static_assert(RPCRDMA_BARE_OCTETS >= rpcrdma::kXmtContSize + 2 * kWordSize);

/* What is in a rpcrdma_rtr_group. There are @count items, and nothing behind them. */
struct GroupState {
	PlacedItem items[kMostItems];
	GroupPlan plan;
	u32 count = 0; /* of items */
	u32 next = 0;
	u32 reply_count = 1;
	bool directs = false; /* it is a Call with a direction */
	Direction direction; /* for an item of its Reply */
	u32 end = 0; /* octets of the whole Call */

	[[nodiscard]] rpcrdma::Span<const PlacedItem> all() const
	{
		return { items, count };
	}
};

static_assert(sizeof(GroupState) <= sizeof(rpcrdma_rtr_group::opaque));
static_assert(__is_trivially_copyable(GroupState));

static GroupState &state_of(rpcrdma_rtr_group &g)
{
	return *__builtin_launder(reinterpret_cast<GroupState *>(g.opaque));
}

static const GroupState &state_of(const rpcrdma_rtr_group &g)
{
	return *__builtin_launder(
		reinterpret_cast<const GroupState *>(g.opaque));
}

static GroupState &begin_state(rpcrdma_rtr_group &g)
{
	GroupState &state = state_of(g);

	state.plan = {};
	state.count = 0;
	state.next = 0;
	state.reply_count = 1;
	state.directs = false;
	state.direction = {};
	state.end = 0;
	return state;
}

namespace
{

/* The message as the extension has it. What it refers to is here, or in @state. */
class Message {
public:
	Message(rpcrdma_message &msg, GroupState &state)
		: state_(state)
		, range_{ 0, state.end, { &state.direction, 1 } }
		, m{ msg, {}, state.reply_count, state.plan, state.next }
	{
		m.content.dir = msg.dir;
		m.content.stream = msg.length;
		m.content.items = { state.items, state.count };
		if (state.directs)
			m.content.directions = { &range_, 1 };
	}
	Message(const Message &) = delete;
	Message(Message &&) = delete;
	Message &operator=(const Message &) = delete;
	Message &operator=(Message &&) = delete;
	~Message() = default;

	/* It is now as @m is. Its items always are: they are in the state, and fit its plan. */
	void keep(rpcrdma_rtr_group &g)
	{
		state_.plan = m.plan;
		state_.next = m.next;
		if (m.plan.count())
			g.sends = m.plan.count();
	}

private:
	GroupState &state_;
	DirectionRange range_;

public:
	GroupMessage m;
};

} // namespace

/* One that makes no sense has no pages. */
static ReceiveShape made(const rpcrdma_rtr_shape &shape)
{
	ReceiveShape s;

	if (!s.add({ 1, shape.head, rpcrdma::kXdrUnit, false }) ||
	    !s.add({ shape.pages, shape.page, shape.page, true }))
		return {};
	return s;
}

/* Likewise. */
static Targets targets_in(const rpcrdma_rtr_shape &shape)
{
	const Targets t = { shape.pages, shape.head, shape.page };

	return shape.head && t.valid() ? t : Targets{};
}

static u32 htype_of(const void *buf)
{
	constexpr size_t at = size_t{ 3 } * kWordSize;

	return load_be32(static_cast<const u8 *>(buf) + at);
}

extern "C" {

u32 rpcrdma_rtr_extension(void)
{
	constexpr u32 place = Extensions::place<Rtrext>();

	return place ? 1U << place : 0;
}

bool rpcrdma_rtr_declare(struct rpcrdma_session *s,
			 const struct rpcrdma_rtr_shape *shape, u32 takes)
{
	/* Who takes no Call by a group sends no Reply of several Sends either. */
	const u32 most = takes & RPCRDMA_RTR_CALLS ? rpcrdma::kMostSends : 1;

	return ask<Rtrext>(s, [&](Rtrext &, Port &port) {
		return (!shape || Rtrext::declare(port, made(*shape))) &&
		       Rtrext::declare(port,
				       takes | rpcrdma::kTakesContinues) &&
		       port.declare(rpcrdma::kRequestReceiveLimit, most) &&
		       port.declare(rpcrdma::kResponseSendLimit, most);
	});
}

[[gnu::flatten]] bool rpcrdma_rtr_read(const void *buf, u32 length,
				       struct rpcrdma_rtr_first *first)
{
	const auto *const begin = static_cast<const u8 *>(buf);
	const Bytes body = Bytes(begin, length).after(kPrefixSize);
	const u32 htype = htype_of(buf);
	MessageItems items;

	first->buf = buf;
	first->length = length;
	first->directions = {};
	first->n_directions = 0;
	first->sends = 0;
	first->reply = htype == rpcrdma::kXmtResp;
	first->external = false;
	first->pages = false;
	first->item = {};
	if (htype == rpcrdma::kXmtReq) {
		rpcrdma::XmtRequest m;

		if (!m.decode(body))
			return false;
		items = m.items;
		first->directions = { kPrefixSize + m.directed.offset,
				      m.directed.length };
		first->n_directions = m.directions.size();
		first->sends = m.reply_count;
	} else {
		rpcrdma::XmtResponse m;

		if (!first->reply || !m.decode(body))
			return false;
		items = m.items;
	}
	const Bytes in = items.octets();
	first->items = { static_cast<u32>(in.data() - begin), in.size() };
	first->n_items = items.size();
	(void)!items.each([&](const MessageItem &i) {
		if (i.where.type == Placement::Exrw && i.where.segments.size())
			first->external = true;
		if (i.where.type != Placement::Tbsn || !i.length)
			return true;
		/* All numbers but the first stand for what begins with a page. */
		first->pages = !first->item.length && !i.where.offset;
		if (!first->item.length)
			first->item = { i.position, i.length };
		return true;
	});
	return true;
}

/* It has been read: all of them are there. */
static MessageItems items_of(const rpcrdma_rtr_first &first)
{
	const Bytes whole(static_cast<const u8 *>(first.buf), first.length);

	return { whole.part(first.items.offset, first.items.length),
		 first.n_items };
}

bool rpcrdma_rtr_get_reads(const struct rpcrdma_rtr_first *first,
			   struct rpcrdma_chunks *chunks)
{
	rpcrdma::clear(*chunks);
	return items_of(*first).each([&](const MessageItem &i) {
		if (i.where.type != Placement::Exrw)
			return true;
		return i.where.segments.each([&](const rpcrdma::XdrSegment &s) {
			if (chunks->n_reads == RPCRDMA_MAX_SEGMENTS)
				return false;
			chunks->reads[chunks->n_reads++] = { i.position,
							     s.segment };
			return true;
		});
	});
}

static Direction direction_of(const rpcrdma_rtr_direction &d)
{
	return { d.least,
		 static_cast<Placement>(d.place),
		 d.rdma_from,
		 { d.segments, d.n_segments } };
}

bool rpcrdma_rtr_answers(const struct rpcrdma_rtr_first *first,
			 const struct rpcrdma_rtr_direction *direction,
			 struct rpcrdma_range *written)
{
	const Direction d = direction ? direction_of(*direction) : Direction{};
	const DirectionRange range = { 0, UINT32_MAX, { &d, 1 } };

	*written = {};
	if (!first->reply ||
	    !answers_valid(items_of(*first), { &range, direction ? 1U : 0U }))
		return false;
	if (!d.segments.size())
		return true;
	return items_of(*first).each([&](const MessageItem &i) {
		if (i.where.type == Placement::Exrw)
			*written = { i.position, i.length };
		return true;
	});
}

/* Sends that a Reply may need whose item has so many octets; zero if it cannot be. */
static u32 sends_for(u32 octets, const Targets &t)
{
	if (!octets)
		return 1;
	const u64 targets = t.size ? (u64{ octets } + t.size - 1) / t.size : 0;

	return t.count ? static_cast<u32>((targets + t.count - 1) / t.count) :
			 0;
}

bool rpcrdma_rtr_plan(struct rpcrdma_session *s, struct rpcrdma_message *msg,
		      const struct rpcrdma_range *item,
		      const struct rpcrdma_rtr_direction *direction, u32 most,
		      struct rpcrdma_rtr_group *g)
{
	return ask<Rtrext>(s, [&](const Rtrext &x, const Port &port) {
		if (!port.in_use())
			return false;
		GroupState &state = begin_state(*g);

		state.end = msg->length;
		if (item) {
			state.items[0] = { .position = item->offset,
					   .length = item->length,
					   .type = Placement::Tbsn,
					   .segments = {} };
			state.count = 1;
			state.end += static_cast<u32>(
				rpcrdma::xdr_roundup(item->length));
		}
		if (direction) {
			state.directs = true;
			state.direction = direction_of(*direction);
			state.reply_count =
				sends_for(most, local_targets(port));
			if (!state.reply_count || msg->call_only ||
			    !takes_responses(port) ||
			    !x.may_reserve(port, state.reply_count))
				return false;
		}
		Message w(*msg, state);
		if (msg->dir != RPCRDMA_CALL || !x.may_begin(port, w.m))
			return false;
		if (!w.m.plan.stream_is_in_first(
			    item ? peer_targets(port).before : UINT32_MAX))
			return false;
		w.keep(*g);
		g->placed = state.count;
		return true;
	});
}

void rpcrdma_rtr_get_directions(const struct rpcrdma_rtr_first *first,
				struct rpcrdma_rtr_directions *d)
{
	const Range &where = first->directions;

	d->sends = first->sends;
	d->rest = {};
	d->length = 0;
	if (!first->n_directions || where.length > sizeof(d->xdr))
		return;
	__builtin_memcpy(d->xdr,
			 static_cast<const u8 *>(first->buf) + where.offset,
			 where.length);
	d->length = where.length;
}

u32 rpcrdma_rtr_get_causes(const void *call, u32 length, u32 whole, u32 *causes,
			   struct rpcrdma_range *rest)
{
	u32 known;
	const u32 n = rpcrdma::get_causes(
		Bytes(static_cast<const u8 *>(call), length),
		{ causes, kMostItems }, known);

	*rest = { known, known < whole ? whole - known : 0 };
	return n;
}

bool rpcrdma_rtr_plan_reply(struct rpcrdma_session *s,
			    const struct rpcrdma_rtr_directions *d,
			    const struct rpcrdma_rtr_result *results,
			    u32 n_results, u32 length,
			    struct rpcrdma_message *msg,
			    struct rpcrdma_reply_plan *plan,
			    struct rpcrdma_rtr_group *g)
{
	DirectionSets sets;

	if (!d->length || !decode_directions(Bytes(d->xdr, d->length), sets) ||
	    !ranges_valid(sets))
		return false;
	return ask<Rtrext>(s, [&](const Rtrext &x, const Port &port) {
		const Targets targets = peer_targets(port);
		GroupState &state = begin_state(*g);
		u32 sends = 0;

		state.reply_count = d->sends;
		if (port.in_use())
			sends = x.most_sends(port, msg->dir, d->sends);
		if (!sends)
			return false;
		/* One Send can wait for its credit. */
		if (sends > 1) {
			const u32 credits = port.credits(*msg);

			if (sends > credits)
				sends = credits > 1 ? credits : 1;
		}
		ReplyItems out = { state.items };
		if (!answer_reply(sets, { results, n_results },
				  { d->rest.offset, d->rest.length }, length,
				  { sends * targets.count, targets.size }, out,
				  *plan))
			return false;
		state.count = out.count;
		g->placed = out.placed;
		g->sends = 1;
		if (plan->errcode)
			return true;
		msg->length = plan->stream_length;
		Message w(*msg, state);
		if (!x.plan(port, w.m) || w.m.plan.count() > sends)
			return false;
		w.keep(*g);
		return true;
	});
}

bool rpcrdma_rtr_admit(struct rpcrdma_session *s, struct rpcrdma_message *msg,
		       const struct rpcrdma_rtr_group *g)
{
	return rpcrdma::Event(s)->admit(msg, g->sends);
}

u32 rpcrdma_rtr_next_send(struct rpcrdma_session *s,
			  struct rpcrdma_rtr_group *g,
			  struct rpcrdma_message *msg, void *buf, u32 size,
			  struct rpcrdma_tx *tx, struct rpcrdma_rtr_send *send)
{
	return ask<Rtrext>(s, [&](Rtrext &x, Port &port) -> u32 {
		Message w(*msg, state_of(*g));
		const rpcrdma_tx_result result =
			x.send(port, w.m,
			       MutableBytes(static_cast<u8 *>(buf), size), *tx);

		w.keep(*g);
		if (result == RPCRDMA_TX_MESSAGE) {
			send->number = w.m.next - 1;
			send->size = w.m.size;
		}
		return result;
	});
}

bool rpcrdma_rtr_each_piece(const struct rpcrdma_rtr_group *g, u32 number,
			    bool (*f)(void *context,
				      const struct rpcrdma_rtr_piece *piece),
			    void *context)
{
	const GroupState &state = state_of(*g);

	/* Those of one item follow one another. */
	for (const PlacedItem &item : state.all()) {
		rpcrdma_rtr_piece piece = {};

		(void)state.plan.each_piece(
			{ &item, 1 }, number, [&](u32, const ItemPiece &p) {
				if (!piece.length) {
					piece.at = item.position + p.at;
					piece.offset = p.in.offset;
				}
				piece.length += p.in.length;
				return true;
			});
		if (piece.length && !f(context, &piece))
			return false;
	}
	return true;
}

u32 rpcrdma_rtr_reported(const struct rpcrdma_session *s, struct rpcrdma_rx *rx,
			 struct rpcrdma_rtr_refused *refused)
{
	if (rx->action != RPCRDMA_RX_CONTROL)
		return 0;
	return look<Rtrext>(s, [&](const Rtrext &x) {
		const RtrFault &why = x.refused_why();

		rx->detail = rtr_error_type(static_cast<u32>(why.code))->name;
		rx->errargs[0] = why.words[0];
		rx->errargs[1] = why.words[1];
		for (u32 i = x.refused_count(); i--;) {
			const TransmissionId &id = x.refused_message(i);

			refused[i] = { word_of(id.xid), id.dir };
			if (id.dir != RPCRDMA_CALL)
				continue;
			rx->action = RPCRDMA_RX_FAIL_RPC;
			rx->xid = word_of(id.xid);
			rx->error = -rpcrdma::kEIO;
			rx->reported = true;
		}
		return x.refused_count();
	});
}

u32 rpcrdma_rtr_lead_type(rpcrdma_dir dir)
{
	const rpcrdma::HeaderType *t =
		rpcrdma::header_type(rpcrdma::lead_type(dir));

	return t ? t->index : u32{ RPCRDMA_TYPE_UNKNOWN };
}

bool rpcrdma_rtr_readable(const void *buf, u32 length)
{
	const Bytes body =
		Bytes(static_cast<const u8 *>(buf), length).after(kPrefixSize);
	const u32 htype = htype_of(buf);

	if (htype == rpcrdma::kXmtReq) {
		rpcrdma::XmtRequest m;

		return m.decode(body) && m.head + 2 * kWordSize <= body.size();
	}
	if (htype == rpcrdma::kXmtResp) {
		rpcrdma::XmtResponse m;

		return m.decode(body) && m.head + 2 * kWordSize <= body.size();
	}
	return htype == rpcrdma::kXmtCont;
}

[[gnu::flatten]] bool rpcrdma_rtr_each_part(
	const struct rpcrdma_rtr_shape *shape,
	const struct rpcrdma_rtr_first *first,
	bool (*f)(void *context, const struct rpcrdma_rtr_part *part),
	void *context)
{
	const Targets targets = targets_in(*shape);

	if (!targets.count)
		return false;
	return items_of(*first).each([&](const MessageItem &i) {
		if (i.where.type == Placement::Exrw && i.length) {
			const rpcrdma_rtr_part part = {
				i.position,	     i.length, 0,
				RPCRDMA_RTR_BY_READ, 0,	       i.length
			};

			return f(context, &part);
		}
		/* It is in the Payload stream, if it is anywhere. */
		if (i.where.type != Placement::Tbsn)
			return true;
		return rpcrdma::each_piece(i, targets, [&](const ItemPiece &p) {
			const rpcrdma_rtr_part part = {
				i.position, i.length,	 p.at,
				p.send,	    p.in.offset, p.in.length
			};

			return f(context, &part);
		});
	});
}

} /* extern "C" */
