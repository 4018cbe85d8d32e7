// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "xcharext.h"
#include "abi.h"

namespace rpcrdma
{

/* ------------------------------------------------------------------ */
/* Properties                                                         */
/* ------------------------------------------------------------------ */

/* Whoever says that its Receives are smaller can be sent nothing, see receive.cpp. */
static constexpr u32 kSmallestReceive = kPrefixSize + kPropertiesSize;

static_assert(Xcharext::kLargestBody <= kPropertiesSize);
static_assert(kWordSize + Xcharext::kMostAsked * 3 * kWordSize <=
	      Xcharext::kLargestBody);
static_assert(kWordSize + Xcharext::kMostFixed * 3 * kWordSize +
		      2 * kWordSize <=
	      Xcharext::kLargestBody);
/* Three counts, and a word of what is done and of what is pending. */
static_assert(5 * kWordSize + Xcharext::kMostAnswered / 8 <=
	      Xcharext::kLargestBody);

static u32 lesser(u32 a, u32 b)
{
	return a < b ? a : b;
}

static bool is(u32 which, Property p)
{
	return which == static_cast<u32>(p);
}

u32 Xcharext::id_of(u32 i)
{
	return i < rows(kChanges) ? kChanges[i] : kRemoteInvalidation;
}

/* Return: kSpoken for any other property. */
u32 Xcharext::index_of(u32 which)
{
	u32 i = 0;

	while (i < kSpoken && id_of(i) != which)
		i++;
	return i;
}

/* Unlike in a CONNPROP, no octets are no value (2.1). */
bool Xcharext::decode_value(u32 i, Bytes data, u32 &number)
{
	return id_of(i) == kRemoteInvalidation ? decode_flag(data, number) :
						 decode_number(data, number);
}

/* More of it takes its time: its owner needs other buffers for it. */
static bool takes_time(u32 which)
{
	return is(which, Property::SendSize) || is(which, Property::RecvSize);
}

/*
 * What its owner may do unasked. It may send less than it said; of the rest it
 * may allow more.
 */
static bool free_to_change(u32 which, u32 from, u32 to)
{
	return is(which, Property::SendSize) ? to <= from : to >= from;
}

/* It is a number that this side can have. */
static bool possible(u32 which, u32 number)
{
	const PropertyType &t = kPropertyTypes[property_index(which)];

	return number >= t.least && number <= t.most &&
	       (!is(which, Property::SegmentCount) ||
		number <= RPCRDMA_MAX_SEGMENTS);
}

/* ------------------------------------------------------------------ */
/* Asking                                                             */
/* ------------------------------------------------------------------ */

bool Xcharext::askable(u32 which) const
{
	const u32 i = index_of(which);

	return i < kSpoken && !unknown_ && !(peer_fixed_ >> i & 1);
}

bool Xcharext::may_ask(const Port &port, u32 i, u32 number) const
{
	if (!askable(id_of(i)) || !possible(id_of(i), number) ||
	    asked_[i].state != RPCRDMA_XCHAR_IDLE)
		return false;
	/* The Replies to Calls under way need what is there (-07, 5.2.5). */
	return !is(id_of(i), Property::Reverse) ||
	       number >= port.peer(id_of(i)) || !port.calling();
}

bool Xcharext::request(Port &port, Span<const XcharNumber> wanted)
{
	const Xid xid = next_xid(port);
	u32 all = 0;

	if (!wanted.size() || wanted.size() > kMostAsked || !port.in_use())
		return false;
	for (const XcharNumber &n : wanted) {
		const u32 i = index_of(n.which);

		if (i == kSpoken || !may_ask(port, i, n.number) || all >> i & 1)
			return false;
		all |= 1U << i;
	}
	if (!port.send(kRequest, xid, {}))
		return false;
	sent_++;
	for (u32 position = 0; position < wanted.size(); position++) {
		const XcharNumber &n = wanted[position];
		const u32 now = port.peer(n.which);

		asked_[index_of(n.which)] = { RPCRDMA_XCHAR_QUEUED, position,
					      xid, n.number, now };
		(void)!port.set_peer(n.which, lesser(now, n.number));
		counts_.asked++;
	}
	return true;
}

u32 Xcharext::asking(u32 which) const
{
	const u32 i = index_of(which);

	return i < kSpoken ? asked_[i].state : u32{ RPCRDMA_XCHAR_IDLE };
}

/* Values of a request of this side's that is sent and not answered. */
u32 Xcharext::unanswered(Xid xid) const
{
	u32 n = 0;

	for (const Asked &a : asked_)
		n += a.state == RPCRDMA_XCHAR_ASKED && a.xid == xid;
	return n;
}

/* What was asked for is over, and @number is what the peer has. */
void Xcharext::settle(u32 i, u32 number, Port &port)
{
	asked_[i].state = RPCRDMA_XCHAR_IDLE;
	(void)!port.set_peer(id_of(i), number);
}

/* There is no answer to a request: it was refused, or may have been carried out. */
void Xcharext::lose(Xid xid, bool rejected, Port &port)
{
	for (u32 i = 0; i < kSpoken; i++) {
		const Asked &a = asked_[i];

		if (a.state != RPCRDMA_XCHAR_ASKED || a.xid != xid)
			continue;
		settle(i, rejected ? a.before : lesser(a.before, a.wanted),
		       port);
		(rejected ? counts_.rejected : counts_.lost)++;
	}
}

/* An answer has an XID of this side's: no ERROR can say that it is about an answer. */
Refusal Xcharext::take_response(Xid xid, Bytes body, Port &port)
{
	const u32 n = unanswered(xid);
	XcharResponse m;

	if (!n)
		return { RPCRDMA_REASON_XID, "an answer to nothing" };
	if (!m.decode(body)) {
		lose(xid, false, port);
		return { RPCRDMA_REASON_XDR, kUnreadable };
	}
	bool sound = m.done.within(n) && m.rej.within(n) && m.pend.within(n);
	for (u32 p = 0; p < n; p++)
		sound &= u32{ m.done.has(p) } + u32{ m.rej.has(p) } +
				 u32{ m.pend.has(p) } ==
			 1;
	if (!sound) {
		lose(xid, false, port);
		return { RPCRDMA_REASON_PROPVAL,
			 "not one answer for each property" };
	}
	for (u32 i = 0; i < kSpoken; i++) {
		Asked &a = asked_[i];

		if (a.state != RPCRDMA_XCHAR_ASKED || a.xid != xid)
			continue;
		if (m.done.has(a.position)) {
			settle(i, a.wanted, port);
			counts_.done++;
		} else if (m.rej.has(a.position)) {
			settle(i, a.before, port);
			counts_.rejected++;
		} else {
			a.state = RPCRDMA_XCHAR_PENDING;
			counts_.pended++;
		}
	}
	return {};
}

/* If the peer does not know requests, that is as if it rejected them all (3). */
bool Xcharext::refused(Xid xid, u32 code, Port &port)
{
	const u32 back = word_of(next_xid(port)) - word_of(xid);

	if (!back || back > kRecentXids || back > sent_)
		return false;
	if (code == RPCRDMA2_ERR_INVAL_HTYPE && unanswered(xid))
		unknown_ = true;
	lose(xid, true, port);
	return true;
}

/* ------------------------------------------------------------------ */
/* What the peer says of itself                                       */
/* ------------------------------------------------------------------ */

/* It can be so, after all that the peer has said. */
Refusal Xcharext::check(u32 i, u32 number, const Port &port) const
{
	const u32 which = id_of(i);
	const Asked &a = asked_[i];
	const u32 now =
		a.state == RPCRDMA_XCHAR_IDLE ? port.peer(which) : a.before;

	if (peer_fixed_ >> i & 1 && number != now)
		return { RPCRDMA_REASON_PROPVAL,
			 "the peer has said that this does not change",
			 RPCRDMA2_ERR_BAD_PROPVAL };
	if (is(which, Property::RecvSize) && number < kSmallestReceive)
		return { RPCRDMA_REASON_PROPVAL,
			 "the peer's Receives would be too small for anything",
			 RPCRDMA2_ERR_BAD_PROPVAL };
	return {};
}

/* A request of this side's for less holds all the same (3.1). */
void Xcharext::learn(u32 i, u32 number, Port &port)
{
	Asked &a = asked_[i];

	a.before = number;
	(void)!port.set_peer(id_of(i), a.state == RPCRDMA_XCHAR_IDLE ?
					       number :
					       lesser(number, a.wanted));
	counts_.heard++;
}

static constexpr Refusal kBadXdr = { RPCRDMA_REASON_XDR, kUnreadable,
				     RPCRDMA2_ERR_BAD_XDR };

/* A level of reverse direction that is not in -07 is ignored (D10). */
static u32 understood(u32 which, u32 number)
{
	return is(which, Property::Reverse) && number > RPCRDMA_RVRSDIR_GENL ?
		       u32{ RPCRDMA_RVRSDIR_NONE } :
		       number;
}

Refusal Xcharext::take_init(Bytes body, Port &port)
{
	Refusal why = kBadXdr;
	XcharInit m;

	if (!m.decode(body) || !m.nochg.within(m.start.size()))
		return why;
	if (!m.start.each([&](const XcharValue &v) {
		    const u32 i = index_of(v.which);
		    u32 number;

		    why = kBadXdr;
		    if (i == kSpoken)
			    return true;
		    if (!decode_value(i, v.data, number))
			    return false;
		    why = check(i, understood(v.which, number), port);
		    return why.reason == RPCRDMA_REASON_NONE;
	    }))
		return why;

	(void)!m.start.each_at([&](u32 position, const XcharValue &v) {
		const u32 i = index_of(v.which);
		u32 number = 0;

		if (i == kSpoken)
			return true;
		(void)!decode_value(i, v.data, number);
		learn(i, understood(v.which, number), port);
		if (m.nochg.has(position))
			peer_fixed_ |= 1U << i;
		return true;
	});
	return {};
}

Refusal Xcharext::take_update(Bytes body, Port &port)
{
	static constexpr Refusal kBadValue = {
		RPCRDMA_REASON_PROPVAL,
		"the answer to a request that does not wait for one",
		RPCRDMA2_ERR_BAD_PROPVAL
	};
	XcharUpdate m;
	u32 value;

	if (!m.decode(body))
		return kBadXdr;
	const u32 i = index_of(m.now.which);
	if (i == kSpoken)
		return {};
	if (!decode_value(i, m.now.data, value))
		return kBadXdr;
	value = understood(m.now.which, value);
	const Refusal why = check(i, value, port);
	if (why.reason != RPCRDMA_REASON_NONE)
		return why;
	if (m.pendclr && asked_[i].state != RPCRDMA_XCHAR_PENDING)
		return kBadValue;
	if (m.pendclr) {
		asked_[i].state = RPCRDMA_XCHAR_IDLE;
		counts_.cleared++;
	}
	learn(i, value, port);
	return {};
}

/* ------------------------------------------------------------------ */
/* Being asked                                                        */
/* ------------------------------------------------------------------ */

bool Xcharext::allow(u32 which, u32 least, u32 most)
{
	const u32 i = index_of(which);

	if (i == kSpoken || least > most || fixed_ >> i & 1 ||
	    !possible(which, least) || !possible(which, most))
		return false;
	own_[i].least = least;
	own_[i].most = most;
	return true;
}

bool Xcharext::fix(Port &port, Span<const u32> which)
{
	u32 all = 0;

	if (!which.size() || which.size() > kMostFixed)
		return false;
	for (const u32 id : which) {
		const u32 i = index_of(id);

		if (i == kSpoken || own_[i].pending)
			return false;
		all |= 1U << i;
	}
	if (!port.send(kInit, next_xid(port), { all }))
		return false;
	sent_++;
	fixed_ |= all;
	return true;
}

bool Xcharext::begin(Port &port, u32 receive_size)
{
	const u32 which = static_cast<u32>(Property::RecvSize);

	return port.opening() && receive_size >= RPCRDMA_MIN_RECV_SIZE &&
	       receive_size <= port.local(which) &&
	       port.set_local(which, receive_size);
}

u32 Xcharext::wanted(u32 which) const
{
	const u32 i = index_of(which);

	return i < kSpoken && own_[i].pending ? own_[i].wanted : 0;
}

Xcharext::Answer Xcharext::decide(u32 i, u32 number, Port &port)
{
	const u32 which = id_of(i);
	const u32 now = port.local(which);
	Own &o = own_[i];

	if (o.pending)
		return Answer::Rejected;
	if (number == now)
		return Answer::Done;
	if (fixed_ >> i & 1)
		return Answer::Rejected;
	/* A part of what is wanted is better than nothing (4.4). */
	if (number > now && takes_time(which)) {
		if (o.most <= now)
			return Answer::Rejected;
		o.wanted = lesser(number, o.most);
		o.pending = true;
		return Answer::Pending;
	}
	if (number < o.least || number > o.most ||
	    !port.set_local(which, number))
		return Answer::Rejected;
	return Answer::Done;
}

/*
 * Only the first 32 positions can be anything but rejected; this side has far fewer
 * properties. The last of duplicates counts, as in a CONNPROP; the others are rejected.
 */
Refusal Xcharext::take_request(Xid xid, Bytes body, Port &port)
{
	u32 position[kSpoken] = {};
	u32 values[kSpoken] = {};
	u32 there = 0;
	u32 carried_out = 0;
	u32 done = 0;
	u32 pend = 0;
	XcharRequest m;

	if (!m.decode(body))
		return kBadXdr;
	if (!m.want.each_at([&](u32 p, const XcharValue &v) {
		    const u32 i = index_of(v.which);
		    u32 n;

		    if (i == kSpoken)
			    return true;
		    if (!decode_value(i, v.data, n))
			    return false;
		    if (p < kXcharBits) {
			    position[i] = p;
			    values[i] = n;
			    there |= 1U << i;
		    }
		    return true;
	    }))
		return kBadXdr;
	if (m.want.size() > kMostAnswered)
		return { RPCRDMA_REASON_TOO_LARGE,
			 "a request with too many properties",
			 RPCRDMA2_ERR_SYSTEM };

	for (u32 i = 0; i < kSpoken; i++) {
		if (!(there >> i & 1))
			continue;
		switch (decide(i, values[i], port)) {
		case Answer::Done:
			done |= 1U << position[i];
			counts_.granted++;
			break;
		case Answer::Pending:
			pend |= 1U << position[i];
			counts_.deferred++;
			break;
		case Answer::Rejected:
			continue;
		}
		carried_out++;
	}
	counts_.refused += m.want.size() - carried_out;
	if (!port.send(kResponse, xid, { m.want.size(), done, pend }))
		return { RPCRDMA_REASON_FLOOD, kFlood };
	return {};
}

bool Xcharext::changed(Port &port, u32 which, u32 number)
{
	const u32 i = index_of(which);

	if (i == kSpoken || fixed_ >> i & 1 || !possible(which, number) ||
	    !port.in_use())
		return false;
	const u32 now = port.local(which);
	Own &o = own_[i];
	const bool asked = o.pending && number >= now && number <= o.wanted;

	if (!asked &&
	    (o.pending || number == now || !free_to_change(which, now, number)))
		return false;
	if (!port.send(kUpdate, next_xid(port), { which, number, o.pending }))
		return false;
	sent_++;
	o.pending = false;
	(void)!port.set_local(which, number);
	counts_.told++;
	return true;
}

/* ------------------------------------------------------------------ */
/* What all extensions have                                           */
/* ------------------------------------------------------------------ */

Refusal Xcharext::take(const Header &h, Bytes body, Port &port,
		       rpcrdma_rx & /*rx*/)
{
	switch (h.type->htype) {
	case kInit:
		return take_init(body, port);
	case kRequest:
		return take_request(h.prefix.xid, body, port);
	case kResponse:
		return take_response(h.prefix.xid, body, port);
	default:
		return take_update(body, port);
	}
}

void Xcharext::encode(const ControlMessage &m, const Port &port, XdrWriter &w)
{
	switch (type_at(m.type)->htype) {
	case kInit:
		return encode_init(m.words[0], port, w);
	case kRequest:
		return encode_request(m.xid, w);
	case kResponse:
		encode_xchar_subset(m.words[1], w);
		encode_xchar_rest(m.words[0], m.words[1] | m.words[2], w);
		return encode_xchar_subset(m.words[2], w);
	default:
		encode_xchar_value({ m.words[0], m.words[1] }, w);
		return w.word(m.words[2]);
	}
}

/* None of these values changes, so each is what it was when they were fixed. */
void Xcharext::encode_init(u32 properties, const Port &port, XdrWriter &w)
{
	u32 n = 0;

	w.word(n);
	for (u32 i = 0; i < kSpoken; i++) {
		if (!(properties >> i & 1))
			continue;
		encode_xchar_value({ id_of(i), port.local(id_of(i)) }, w);
		n++;
	}
	w.word_at(0, n);
	encode_xchar_subset((1U << n) - 1, w);
}

void Xcharext::encode_request(Xid xid, XdrWriter &w)
{
	u32 n = 0;

	w.word(n);
	for (u32 position = 0; position < kMostAsked; position++)
		for (u32 i = 0; i < kSpoken; i++) {
			Asked &a = asked_[i];

			if (a.state != RPCRDMA_XCHAR_QUEUED || a.xid != xid ||
			    a.position != position)
				continue;
			encode_xchar_value({ id_of(i), a.wanted }, w);
			a.state = RPCRDMA_XCHAR_ASKED;
			n++;
		}
	w.word_at(0, n);
}

/*
 * When it is false a Responder must use Send (3.2). A peer that has said nothing of it says
 * so; that its Calls name a handle does not change that.
 */
void Xcharext::permit(const Port &port, rpcrdma_rx &rx) const
{
	constexpr u32 kIndex = property_index(kRemoteInvalidation);

	if (!port.peer_at(kIndex))
		rx.inv_handle = 0;
}

bool Xcharext::invariants() const
{
	bool sound = !(fixed_ >> kSpoken) && !(peer_fixed_ >> kSpoken);
	u32 pending = 0;
	u32 under_way = 0;

	for (u32 i = 0; i < kSpoken; i++) {
		const Asked &a = asked_[i];
		const Own &o = own_[i];

		under_way += a.state != RPCRDMA_XCHAR_IDLE;
		pending += a.state == RPCRDMA_XCHAR_PENDING;
		/* What an answer is read by: each position of a request, once. */
		if (a.state == RPCRDMA_XCHAR_QUEUED ||
		    a.state == RPCRDMA_XCHAR_ASKED) {
			u32 together = 0;

			for (const Asked &b : asked_) {
				if (b.state != a.state || b.xid != a.xid)
					continue;
				sound &= &a == &b || a.position != b.position;
				together++;
			}
			sound &= a.position < together;
		}
		if (o.pending)
			sound &= takes_time(id_of(i)) && !(fixed_ >> i & 1) &&
				 possible(id_of(i), o.wanted);
	}
	return sound && pending == counts_.pended - counts_.cleared &&
	       under_way == counts_.asked - counts_.done - counts_.rejected -
				    counts_.lost - counts_.cleared;
}

} // namespace rpcrdma

/* ------------------------------------------------------------------ */
/* The functions of <rpcrdma/xcharext.h>                              */
/* ------------------------------------------------------------------ */

using rpcrdma::ask;
using rpcrdma::Extensions;
using rpcrdma::look;
using rpcrdma::Port;
using rpcrdma::session;
using rpcrdma::Xcharext;

static_assert(RPCRDMA_XCHAR_FIRST_TYPE == Xcharext::kInit &&
	      RPCRDMA_XCHAR_TYPES == rpcrdma::rows(Xcharext::kTypes) &&
	      Xcharext::kUpdate == Xcharext::kInit + RPCRDMA_XCHAR_TYPES - 1);

extern "C" {

u32 rpcrdma_xchar_extension(void)
{
	return Extensions::place<Xcharext>() ?
		       1U << Extensions::place<Xcharext>() :
		       0;
}

bool rpcrdma_xchar_in_use(const struct rpcrdma_session *s)
{
	return Extensions::place<Xcharext>() &&
	       session(s).in_use(Extensions::place<Xcharext>());
}

bool rpcrdma_xchar_request(struct rpcrdma_session *s,
			   const struct rpcrdma_xchar_number *wanted, u32 count)
{
	return ask<Xcharext>(s, [&](Xcharext &x, Port &port) {
		return x.request(port, { wanted, count });
	});
}

u32 rpcrdma_xchar_asking(const struct rpcrdma_session *s, u32 which)
{
	return look<Xcharext>(
		s, [&](const Xcharext &x) { return x.asking(which); });
}

bool rpcrdma_xchar_askable(const struct rpcrdma_session *s, u32 which)
{
	return rpcrdma_xchar_in_use(s) &&
	       look<Xcharext>(s, [&](const Xcharext &x) {
		       return u32{ x.askable(which) };
	       }) != 0;
}

bool rpcrdma_xchar_allow(struct rpcrdma_session *s, u32 which, u32 least,
			 u32 most)
{
	return ask<Xcharext>(s, [&](Xcharext &x, Port &) {
		return x.allow(which, least, most);
	});
}

bool rpcrdma_xchar_fix(struct rpcrdma_session *s, const u32 *which, u32 count)
{
	return ask<Xcharext>(s, [&](Xcharext &x, Port &port) {
		return x.fix(port, { which, count });
	});
}

bool rpcrdma_xchar_begin(struct rpcrdma_session *s, u32 receive_size)
{
	return ask<Xcharext>(s, [&](Xcharext &x, Port &port) {
		return x.begin(port, receive_size);
	});
}

u32 rpcrdma_xchar_wanted(const struct rpcrdma_session *s, u32 which)
{
	return look<Xcharext>(
		s, [&](const Xcharext &x) { return x.wanted(which); });
}

bool rpcrdma_xchar_changed(struct rpcrdma_session *s, u32 which, u32 number)
{
	return ask<Xcharext>(s, [&](Xcharext &x, Port &port) {
		return x.changed(port, which, number);
	});
}

void rpcrdma_xchar_info(const struct rpcrdma_session *s,
			struct rpcrdma_xchar_info *info)
{
	*info = {};
	(void)look<Xcharext>(s, [&](const Xcharext &x) {
		x.info(*info);
		return u32{ 0 };
	});
}

} /* extern "C" */
