// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Groups of Sends of rtrext, as core/rtr_group.h has them: two sides, two FIFO channels, and
 * every interleaving.
 *
 * One step is: a side posts a message alone, or the first Send of a group, or the next one
 * of the group that it is in; it posts a GRANT that is due; the first message of a channel
 * arrives; a side gives a Receive back; a side changes its window. The Receives of a group
 * are kept until all of it has come, and then are held or given back as others are.
 * (credits_search.cpp is about Receives that wait to be posted with others.)
 *
 * With Rules::calls, what the first side sends are Calls. One that goes by a group reserves
 * Receives for its Reply (optxrq_rsbuf). What the second side sends are Replies of no more Sends
 * than that. With Rules::others the second side has Calls, too, and the first one replies: both
 * have groups of both directions, promises of their own, and Calls that may have the same XID.
 *
 * With Rules::refuses, the second side refuses one Call that comes by a group, or the first
 * side one Reply, or both do; with Rules::others what a side refuses may be either. It may be any
 * Send of any group. What follows of the group is
 * dropped. A REPTERR, or of a Call also an ERROR, says so, when there is a credit for it and no
 * group goes out. Then the message is sent again by the types of -07.
 *
 * States are taken for one if they differ only in which of its two Calls a side sent first, or in
 * which side is the first one. That divides their number by up to eight.
 *
 * A test whose name begins with DISABLED_ takes minutes and some GiB: with SEARCH_LONG=1.
 *
 * With Rules::twice, one Call may go by a second group while the first one has no answer, as when
 * it is retransmitted. Each has a Reply, and each may be refused. It is one RPC: the first report
 * has it sent again by -07, unless it has its answer, and a further one does not.
 *
 * In each state:
 * - each message that arrives finds a Receive, and is what its receiver expects;
 * - when nothing can happen any more but what the upper layers may do, and none of their
 *   messages is there, both sides can send; and none is in the middle of a group;
 * - what is reserved is what Replies that have not come may still take;
 * - if nothing else can happen, each answer that waits can go in some form;
 * - of each Call that has no answer the upper layer of one side has something to send: the
 *   Call again, its Reply, or the Reply again. Nobody waits for the answer to it otherwise,
 *   and each answer is one that is to come;
 * - what a report is about was refused and not reported before, its sender knows it, and
 *   does not know it any more afterwards;
 * - who sent a Call knows as many groups of it as have no answer.
 */
#include "rtr_group.h"
#include "states.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <deque>

namespace
{

using rpcrdma::GroupReceiver;
using rpcrdma::GroupSender;
using rpcrdma::lead_type;
using rpcrdma::ReplyReserve;
using rpcrdma::SentGroups;
using rpcrdma::to_xid;
using states::Credits;
using states::Essence;

/* XIDs of Calls, from one on. */
constexpr u32 kCalls = 2;
/* Forms of one Call: two groups at most, and one of -07. */
constexpr u32 kForms = 3;
constexpr u8 kPlain = 2;

/*
 * What is on its way; @count: of a first Send, the Sends of its group; @call: which it is, if there
 * are Calls; @form: of the Call, or of the one that the Reply answers; @promise: of a Call, the
 * Sends that its Reply may take; @number: of a Next, which of its group it is; @owner: whose Call
 * it is, or is about.
 */
struct Flying {
	enum Kind : u8 { Alone, Grant, First, Next, Report, Error };

	u32 credit;
	Kind kind;
	u8 count;
	u8 call;
	u8 form;
	u8 promise;
	u8 number;
	u8 owner;

	/* Less than 16. What has no count has the number of its kind there. */
	[[nodiscard]] u32 code() const
	{
		if (kind > Next)
			return Grant << 2 | (kind - Next);
		return kind << 2 | (count ? count - 1U : 0);
	}
};

/* Of a Call: one of those of its side. */
struct Name {
	u8 owner = 0;
	u8 call = 0;

	[[nodiscard]] u32 code() const
	{
		return owner << 2 | call;
	}
	bool operator==(const Name &) const = default;
};

struct Side {
	Credits credits;
	GroupSender out;
	GroupReceiver in;
	u32 posted; /* Receives on the queue */
	u32 kept = 0; /* Receives of the group that comes in */
	u32 held = 0; /* Receives of messages that the upper layer has */
	u32 target; /* the window wanted */
	SentGroups sent; /* if there are Calls */
	Name sending; /* the Call whose group goes out, or the Call of the Reply */
	u8 number = 0; /* of its next Send */
	Name coming; /* likewise, of the group that comes in */
	u8 form = 0; /* of it */
	u8 n_reports = 0;
	Name reports
		[4]; /* Calls whose group, or Reply, was refused: not said yet */
	u8 refused = 0; /* how many of them there were */
	u32 n_inbound = 0;
	Flying inbound[16] = {};

	explicit Side(u32 window)
		: credits(window)
		, posted(window + 1)
		, target(window)
	{
	}
};

constexpr size_t kKey = 80;
using Key = states::Key<kKey>;

/*
 * Of one Call. What a peer says names no group. So an answer to a form of -07, or a Reply that
 * comes again in one, is taken to be a group's if one has no answer: it is early.
 */
struct Call {
	bool waits = false; /* at its sender: it has no answer */
	bool other =
		false; /* it has been sent again by a type of -07, or is to be */
	u8 groups = 0; /* so many were sent, */
	u8 open = 0; /* so many of them have no answer, */
	u8 early = 0; /* and to so many of these one was early */
	u8 extra = 0; /* answers to come that are no group's */
	u8 held =
		0; /* Sends that the largest Reply to one that is open may take */
	u8 asked[kForms] = {}; /* at the other side, before it replies: the promise */
	bool whole[kForms] = {}; /* has all come */
	u8 again[2] = {}; /* it, or its Reply, is to be sent again so many times */
	/* Groups of its Reply: that are known, as none was reported. */
	u8 known = 0;
	u8 refused
		[2] = {}; /* its groups, or its Reply's, that a report is to come about */

	/* Groups of which its sender can tell that they have no answer. */
	[[nodiscard]] u32 left() const
	{
		return open - early;
	}
	[[nodiscard]] bool over() const
	{
		return !waits && !open && !extra;
	}
	/* The other side can reply, or one of both has something to send again. */
	[[nodiscard]] bool goes_on() const
	{
		for (u32 f = 0; f < kForms; f++)
			if (asked[f] && whole[f])
				return true;
		return again[0] || again[1];
	}
	/* An answer to this form has come, or was refused. */
	void answer(u32 form)
	{
		if (form != kPlain) {
			open--;
			if (early > open)
				early = open;
			if (!open)
				held = 0;
		} else {
			extra--;
			if (early < open)
				early++;
		}
	}
};

/* What a side has to do with a Call of @owner. */
[[nodiscard]] u32 role(u32 owner, u32 side)
{
	return owner != side;
}

/*
 * How a state is looked at. States that differ only in which side is the first one, or in which of
 * its two Calls a side sent first, go on alike, if the rules are the same for both.
 */
struct View {
	bool swapped = false; /* the second side comes first */
	/* Of who comes first, or second, the second Call does. */
	bool other[2] = { false, false };
	bool numbers = true; /* XIDs matter */

	[[nodiscard]] static u8 opposite(u8 call)
	{
		return static_cast<u8>(kCalls + 1 - call);
	}
	/* What Call @n is, so seen. */
	[[nodiscard]] Name seen(Name n) const
	{
		n.owner ^= swapped;
		if (n.call && other[n.owner])
			n.call = opposite(n.call);
		return n;
	}
	/* Which Call is @n, so seen? */
	[[nodiscard]] Name real(Name n) const
	{
		if (other[n.owner])
			n.call = opposite(n.call);
		n.owner ^= swapped;
		return n;
	}
};

struct Model {
	Side sides[2];
	u8 most[2]; /* Calls of each at a time */
	ReplyReserve reserve[2] = {};
	Call calls[2][kCalls + 1] = {};
	/* Their XIDs. No two Calls of one side have the same. */
	u32 xids[2][kCalls + 1] = {};
	u32 latest[2] = {}; /* of each side */

	[[nodiscard]] rpcrdma::Xid xid(Name n) const
	{
		return to_xid(xids[n.owner][n.call]);
	}
	[[nodiscard]] Call &call(Name n)
	{
		return calls[n.owner][n.call];
	}
	[[nodiscard]] const Call &call(Name n) const
	{
		return calls[n.owner][n.call];
	}
	/* All that there may be. */
	template <typename F> void each(F f) const
	{
		for (u8 o = 0; o < 2; o++)
			for (u8 c = 1; c <= most[o]; c++)
				f(Name{ o, c });
	}
	/* A Call of the other side has an XID that this one has not used. */
	[[nodiscard]] u32 other_xid(u32 owner) const
	{
		const u32 xid = xids[1 - owner][1];

		return calls[1 - owner][1].over() || xid <= latest[owner] ? 0 :
									    xid;
	}
	[[nodiscard]] Key key(const View &view = {}) const
	{
		Key k = {};
		u32 n = 0;
		const auto put = [&](u32 v) {
			k.at(n++) = static_cast<u8>(v);
		};

		for (u32 at = 0; at < 2; at++) {
			const u32 i = at ^ view.swapped;
			const Side &s = sides[i];
			const u32 base = sides[1 - i].credits.received_count();
			const Essence e = essence(s.credits);

			put(e.window << 4 | e.surplus);
			put(u32(e.allowed));
			put(u32(e.told));
			put(e.in_use << 4 | s.posted);
			put(s.kept << 4 | s.held);
			put((s.out.active() ? view.seen(s.sending).code() << 4 :
					      0) |
			    s.out.left());
			put(s.in.active() ? s.in.next() << 4 | s.in.count() :
					    0);
			put(s.in.active() ?
				    s.form << 4 | view.seen(s.coming).code() :
				    0);
			put(s.target << 4 | s.n_inbound);
			for (u32 m = 0; m < s.n_inbound; m++) {
				const Flying &f = s.inbound[m];

				put((f.credit - base) << 4 | f.code());
				if (!f.call)
					continue;
				const Name of = view.seen({ f.owner, f.call });

				put(of.owner << 7 | f.promise << 4 |
				    f.form << 2 | of.call);
			}
		}
		if (!reserve[0].reserved() && !reserve[1].reserved() &&
		    !any_call())
			return k;
		put(reserve[!view.swapped].reserved() << 4 |
		    reserve[view.swapped].reserved());
		if (view.numbers)
			put((other_xid(0) != 0) << 2 |
			    (other_xid(1) != 0) << 1 |
			    (xids[0][1] == xids[1][1]));
		each([&](Name seen) {
			const Name n = view.real(seen);
			const Call &call = calls[n.owner][n.call];
			const ReplyReserve &r = reserve[n.owner];

			put(call.over() ? 0 :
					  r.stands(xid(n)) << 7 |
						  r.most(xid(n)) << 4 |
						  call.held);
			put(call.asked[0] << 3 | call.asked[1]);
			put(call.asked[kPlain] << 7 | call.whole[0] << 6 |
			    call.whole[1] << 5 | call.whole[kPlain] << 4 |
			    call.again[0] << 2 | call.again[1]);
			put(call.groups << 6 | call.known << 4 |
			    call.refused[0] << 2 | call.refused[1]);
			put(call.open << 6 | call.early << 4 | call.extra << 2 |
			    call.waits << 1 | call.other);
		});
		for (u32 at = 0; at < 2; at++) {
			const Side &s = sides[at ^ view.swapped];
			u32 reports = s.refused;

			for (u32 r = 0; r < s.n_reports; r++)
				reports = reports << 3 |
					  view.seen(s.reports[r]).code();
			put(reports >> 8);
			put(reports);
		}
		return k;
	}
	[[nodiscard]] bool any_call() const
	{
		bool any = sides[0].refused || sides[1].refused;

		each([&](Name n) { any |= !call(n).over(); });
		return any;
	}
	/* The rest of a group that was refused may still come. */
	[[nodiscard]] bool rest_comes(Name n) const
	{
		for (const Side &s : sides) {
			if (s.out.active() && s.sending == n)
				return true;
			for (u32 i = 0; i < s.n_inbound; i++)
				if (Name{ s.inbound[i].owner,
					  s.inbound[i].call } == n)
					return true;
		}
		return false;
	}
	/* An answer to a Call is to come, and nobody has anything to send for it. */
	[[nodiscard]] bool forgotten() const
	{
		bool any = false;

		each([&](Name n) {
			any |= !call(n).over() && !call(n).goes_on();
		});
		return any;
	}
	/* Something is to be sent again. */
	[[nodiscard]] bool resends() const
	{
		bool any = false;

		each([&](Name n) {
			any |= call(n).again[0] || call(n).again[1];
		});
		return any;
	}
	/* What is reserved is what Replies that have not come may still take. */
	[[nodiscard]] bool reserves() const
	{
		for (u8 o = 0; o < 2; o++) {
			u32 to_come = 0;

			/* Those of one Send need nothing. */
			for (const Call &c : calls[o])
				if (c.left() && c.held > 1)
					to_come += c.held;
			if (!reserve[o].invariants() ||
			    reserve[o].reserved() != to_come)
				return false;
		}
		return true;
	}
	/* Each group of a Call that has no answer is known, and no other one. */
	[[nodiscard]] bool all_known() const
	{
		bool known = true;

		each([&](Name n) {
			known &= sides[n.owner].sent.groups(
					 xid(n), RPCRDMA_CALL) ==
				 call(n).left();
		});
		return known;
	}
	[[nodiscard]] bool twice() const
	{
		bool any = false;

		each([&](Name n) { any |= call(n).open > 1; });
		return any;
	}
	/* Both sides have promised Receives. */
	[[nodiscard]] bool crossed() const
	{
		return reserve[0].reserved() && reserve[1].reserved();
	}
};

/* What must be found. */
enum class Mistake : u8 {
	None,
	Keeps, /* a Reply by the types of -07 gives nothing back */
	Early, /* the first Send of a Reply gives all back */
	RefusedKeeps, /* a Call that is refused gives nothing back */
	RefusesKeeps, /* a Reply that this side refuses gives nothing back */
	GivesTwice, /* a Call that is refused gives back what the other one has */
	Silent, /* the one who refuses does not say so */
	Unheard, /* the other one does not send it again */
	Twice, /* or twice */
	RestReported, /* what follows of a group that was refused is reported, too */
	ReportedTwice, /* or the same once more */
	InGroup, /* REPTERR comes in the middle of a group, with a credit of that */
	/* Of a Call that is sent twice: */
	OneRecord, /* the second group is not known */
	BothTaken, /* a report ends both */
	EachResent, /* a report has it sent again, whatever has come before */
	Unsettled, /* or whatever answer it has */
	RefusesSettled, /* a Reply that this side refuses is an answer for the upper layer */
	OneReserved, /* the second group reserves nothing */
	TwoReserved, /* or as two groups do */
	BothGivenBack, /* a Reply gives back what both have */
	Remembers, /* what was promised to a Reply that has come stands */
	NoneBefore, /* the first group, which promised nothing, is not counted */
	/* If both sides have Calls: */
	AnyDirection, /* a report about a Reply takes a Call with its XID */
	GroupEach, /* a Reply is not looked at when the group of a Call begins */
	Waits, /* a Reply waits for credits for all that it was promised */
};

struct Rules {
	u32 largest = 4; /* Sends of a group, at most four */
	bool hold[2] = { false, false };
	bool grants_in_groups = false; /* no: what rtr_group.h forbids */
	/* A side sends nothing at all until it has credits for so many. */
	u32 waits_for = 1;
	std::vector<u32> windows; /* of the first side, to change to */
	bool calls = false;
	bool same_xids = false; /* and these have the same XID if they can */
	u8 refuses[2] = { 0, 0 }; /* so many groups each */
	bool twice = false; /* a Call may be sent by a second group */
	u8 xids = kCalls; /* Calls of the first side at a time, */
	u8 others = 0; /* and of the second one */
	bool by_error = false; /* what is refused is a Call, by an ERROR */
	Mistake mistake = Mistake::None;
	bool stop = false; /* at the first that is found */
	u32 steps = UINT32_MAX;
	bool apart = false; /* what is alike is not taken for one state */
	u32 max_states = 3000000;
};

struct Outcome {
	size_t states = 0;
	size_t alike = 0; /* how many there would be, if they are apart */
	size_t groups = 0; /* states in which one is under way */
	bool overrun = false;
	bool overlap = false;
	bool blocked = false; /* a side that can never send */
	bool stuck = false; /* in the middle of a group */
	bool wrong = false; /* what is reserved */
	bool lost = false; /* a Call, or its answer */
	bool unasked = false; /* a report about what was not refused */
	bool unknown =
		false; /* a group that has no answer, or one that has is known */
	size_t twice =
		0; /* states in which two groups of a Call have no answer */
	size_t resends = 0; /* states in which something is to be sent again */
	size_t crossed = 0; /* in which both sides have promised Receives */
	bool complete = true;
};

class Search {
public:
	Search(const Model &start, const Rules &rules)
		: rules_(rules)
		, views_(views(start, rules))
	{
		reach(start);
		for (u32 i = 0; i < rules_.steps && !open_.empty(); i++)
			step();
		out_.states = seen_.size();
		out_.alike = alike_.size();
	}
	[[nodiscard]] const Outcome &outcome() const
	{
		return out_;
	}

private:
	[[nodiscard]] bool done() const
	{
		return out_.overrun || out_.overlap || out_.wrong ||
		       out_.lost || out_.unasked || out_.unknown ||
		       (rules_.stop && (out_.blocked || out_.stuck));
	}
	/* From each state that is new, all that may come next. */
	void step()
	{
		for (size_t left = open_.size(); left && !done(); left--) {
			if (seen_.size() > rules_.max_states) {
				out_.complete = false;
				open_.clear();
				return;
			}
			const Model m = open_.front();

			open_.pop_front();
			expand(m);
		}
		if (done())
			open_.clear();
	}
	/* All that may take the place of each other. */
	[[nodiscard]] static std::vector<View> views(const Model &start,
						     const Rules &rules)
	{
		const Side *sides = start.sides;
		/* Of two Calls only the first is sent twice, or has an XID of the other side. */
		const bool alike = !rules.twice && !rules.same_xids;
		const bool calls = alike && rules.calls;
		const bool swaps =
			alike && sides[0].target == sides[1].target &&
			rules.windows.empty() &&
			rules.hold[0] == rules.hold[1] &&
			rules.refuses[0] == rules.refuses[1] &&
			(!rules.calls || rules.xids == rules.others);
		std::vector<View> views;

		for (u32 i = 0; i < 8; i++) {
			const View v = { (i & 1) != 0,
					 { (i & 2) != 0, (i & 4) != 0 },
					 !alike };

			if ((!v.swapped || swaps) &&
			    (!v.other[0] || (calls && rules.xids == 2)) &&
			    (!v.other[1] || (calls && rules.others == 2)))
				views.push_back(v);
		}
		return views;
	}
	[[nodiscard]] bool planted(Mistake mistake) const
	{
		return rules_.mistake == mistake;
	}
	void reach(const Model &m)
	{
		const Key first = m.key(views_[0]);
		Key least = first;

		for (size_t i = 1; i < views_.size(); i++)
			least = std::min(least, m.key(views_[i]));
		if (!seen_.add(rules_.apart ? first : least).second)
			return;
		open_.push_back(m);
		if (rules_.apart)
			(void)alike_.add(least);
	}

	static void post(Model &m, u32 i, Flying::Kind kind, u32 count,
			 Name n = {}, u32 form = 0, u32 promise = 0)
	{
		Side &from = m.sides[i];
		Side &to = m.sides[1 - i];

		to.inbound[to.n_inbound++] = { from.credits.credit(),
					       kind,
					       static_cast<u8>(count),
					       n.call,
					       static_cast<u8>(form),
					       static_cast<u8>(promise),
					       from.number,
					       n.owner };
		from.credits.sent();
	}
	static void give_back(Side &s)
	{
		if (s.credits.retire())
			return;
		s.posted++;
		EXPECT_TRUE(s.credits.release(1));
	}
	void finished(Side &s, bool hold)
	{
		if (hold)
			s.held++;
		else
			give_back(s);
	}

	/* Is it what the group receiver takes? @refuse: then this side does not. */
	bool expected(Model &m, u32 i, const Flying &f, bool refuse)
	{
		const Name n = { f.owner, f.call };
		const rpcrdma_dir dir = f.call ? sent_by(n, 1 - i) :
						 RPCRDMA_CALL;
		Side &s = m.sides[i];
		GroupReceiver::Verdict v;

		switch (f.kind) {
		case Flying::Alone:
			return !s.in.active();
		case Flying::First:
			v = s.in.begin(m.xid(n), dir, f.count,
				       dir == RPCRDMA_REPLY ?
					       m.reserve[i].most(m.xid(n)) :
					       4);
			break;
		case Flying::Next:
			v = s.in.go_on(m.xid(n), f.number, lead_type(dir));
			break;
		case Flying::Grant:
		case Flying::Report:
		case Flying::Error:
			return true;
		}
		if (v.step == GroupReceiver::Step::Discard)
			return s.refused != 0;
		if (f.kind == Flying::First) {
			s.form = f.form;
			s.coming = n;
		}
		if (v.step != GroupReceiver::Step::Take)
			return false;
		if (refuse)
			return refused(m, i, f);
		s.in.taken(4);
		s.kept++;
		return true;
	}

	/* What has come of the group is given back. */
	bool refused(Model &m, u32 i, const Flying &f)
	{
		const Name n = { f.owner, f.call };
		Side &s = m.sides[i];
		Call &c = m.call(n);
		const auto v = s.in.refuse({});

		s.refused++;
		if (!planted(Mistake::Silent))
			s.reports[s.n_reports++] = n;
		if (planted(Mistake::ReportedTwice))
			s.reports[s.n_reports++] = n;
		c.refused[role(n.owner, 1 - i)]++;
		for (; s.kept; s.kept--)
			give_back(s);
		if (planted(Mistake::RestReported))
			s.in = {};
		if (n.owner != i) {
			c.asked[s.form] = 0;
			c.whole[s.form] = false;
			return v.step == GroupReceiver::Step::Refuse;
		}
		/* The Reply comes again. */
		c.answer(s.form);
		c.extra++;
		if (!planted(Mistake::RefusesKeeps))
			m.reserve[i].doubt(m.xid(n));
		s.sent.answer(m.xid(n), planted(Mistake::RefusesSettled));
		return v.step == GroupReceiver::Step::Refuse;
	}

	/* It, or its Reply. */
	[[nodiscard]] static rpcrdma_dir sent_by(Name n, u32 i)
	{
		return n.owner == i ? RPCRDMA_CALL : RPCRDMA_REPLY;
	}

	/* Its Reply was refused. Return: that is about one that is known. */
	bool reply_reported(Model &m, Name n)
	{
		SentGroups &sent = m.sides[1 - n.owner].sent;
		Call &c = m.call(n);
		const rpcrdma_dir dir = planted(Mistake::AnyDirection) ?
						RPCRDMA_CALL :
						RPCRDMA_REPLY;

		if (!c.refused[1] || !c.known || !sent.take(m.xid(n), dir).sends)
			return false;
		c.refused[1]--;
		c.known--;
		return sent.groups(m.xid(n), RPCRDMA_REPLY) == c.known;
	}

	/* A group of this Call was refused. Return: it is sent again. */
	bool call_reported(Model &m, Name n)
	{
		const rpcrdma::Xid xid = m.xid(n);
		Side &s = m.sides[n.owner];
		const SentGroups::Group g = s.sent.take(xid, RPCRDMA_CALL);

		if (planted(Mistake::BothTaken))
			(void)s.sent.take(xid, RPCRDMA_CALL);
		if (!planted(Mistake::RefusedKeeps))
			m.reserve[n.owner].doubt(xid);
		if (planted(Mistake::GivesTwice))
			m.reserve[n.owner].give_back(m.xid(
				{ n.owner,
				  static_cast<u8>(kCalls + 1 - n.call) }));
		return g.sends && (!g.settled || planted(Mistake::EachResent));
	}

	/* The other side has refused a group of this one. */
	void take_report(Model &m, u32 i, const Flying &f)
	{
		const u8 times = planted(Mistake::Unheard) ? 0 :
				 planted(Mistake::Twice)   ? 2 :
							     1;
		const Name n = { f.owner, f.call };
		Call &c = m.call(n);

		if (n.owner != i) {
			if (!reply_reported(m, n))
				out_.unasked = true;
			c.again[1] = static_cast<u8>(c.again[1] + times);
			return;
		}
		if (!c.refused[0] || !c.open) {
			out_.unasked = true;
			return;
		}
		const bool known = c.left();

		c.refused[0]--;
		c.answer(f.form);
		/* By then it has an answer, or another form. */
		const bool resend = known && c.waits && !c.other;
		if (call_reported(m, n) != resend)
			out_.lost = true;
		if (resend) {
			c.again[0] = times;
			c.other = true;
			c.extra++;
		} else if (f.kind == Flying::Error) {
			/* It cannot be told of which form it is. */
			done(c);
		}
		if (c.over())
			end(m, n);
	}

	/* The upper layer has an answer, and sends nothing any more. */
	static void done(Call &c)
	{
		c.waits = false;
		if (c.again[0] && c.extra) {
			c.again[0] = 0;
			c.extra--;
		}
	}

	/* The first Send of a Call or of a Reply is there, or its last. */
	void take_call(Model &m, u32 i, const Flying &f)
	{
		const bool whole = !m.sides[i].in.active();
		const Name n = { f.owner, f.call };
		const rpcrdma::Xid xid = m.xid(n);
		ReplyReserve &reserve = m.reserve[i];
		Call &c = m.call(n);

		const u32 form =
			f.kind == Flying::Alone ? f.form : m.sides[i].form;

		if (n.owner != i) {
			if (f.kind != Flying::Next)
				c.asked[form] = f.promise;
			c.whole[form] = whole;
			return;
		}
		/* With another group there may be a longer one. */
		if (f.kind == Flying::First && c.left() == 1 &&
		    f.count < c.held)
			c.held = f.count;
		if (f.kind == Flying::First && !planted(Mistake::Early))
			reserve.shrink(xid, f.count);
		else if (f.kind == Flying::First)
			reserve.give_back(xid);
		if (!whole)
			return;
		if (f.kind != Flying::Alone && !planted(Mistake::Remembers))
			reserve.give_back(xid);
		else if (!planted(Mistake::Keeps))
			reserve.doubt(xid);
		if (planted(Mistake::BothGivenBack))
			reserve.give_back(xid);
		m.sides[i].sent.answer(xid, !planted(Mistake::Unsettled));
		if (form == kPlain ? !c.extra : !c.open) {
			out_.lost = true;
			return;
		}
		c.answer(form);
		/* Then nothing is promised to another Call that has this XID. */
		if (f.kind != Flying::Alone && !c.left() &&
		    reserve.most(xid) != 1 && !reserve.stands(xid))
			out_.wrong = true;
		done(c);
		if (c.over())
			end(m, n);
	}

	/* Which Replies were sent is not known any more when a slot is used again. */
	static void end(Model &m, Name n)
	{
		SentGroups &sent = m.sides[1 - n.owner].sent;

		while (sent.take(m.xid(n), RPCRDMA_REPLY).sends)
			;
		m.call(n) = {};
	}

	/* Of what has come the upper layer gets nothing. */
	[[nodiscard]] static bool dropped(const Side &s, const Flying &f)
	{
		return f.kind == Flying::Grant || f.kind > Flying::Next ||
		       (f.kind == Flying::Next && !s.kept);
	}

	void arrive(Model &m, u32 i, bool refuse)
	{
		const bool hold = rules_.hold[i];
		Side &s = m.sides[i];
		const Flying f = s.inbound[0];

		s.n_inbound--;
		for (u32 i = 0; i < s.n_inbound; i++)
			s.inbound[i] = s.inbound[i + 1];
		if (!s.posted)
			out_.overrun = true;
		s.posted--;
		s.credits.received();
		if (s.credits.overrun(f.kind == Flying::Grant) ||
		    !s.credits.limit(f.credit))
			out_.overrun = true;
		/* What is refused is given back with the rest of its group. */
		s.kept += refuse;
		if (!expected(m, i, f, refuse))
			out_.overlap = true;
		if (refuse)
			return;
		if (f.kind > Flying::Next)
			take_report(m, i, f);
		else if (rules_.calls && !dropped(s, f))
			take_call(m, i, f);
		if (dropped(s, f))
			give_back(s);
		else if (f.kind == Flying::Alone)
			finished(s, hold);
		else if (!s.in.active())
			for (; s.kept; s.kept--)
				finished(s, hold);
	}

	[[nodiscard]] bool may_refuse(const Side &s, u32 i) const
	{
		const Flying::Kind kind = s.inbound[0].kind;

		return s.refused < rules_.refuses[i] &&
		       (kind == Flying::First ||
			(kind == Flying::Next && s.in.active()));
	}

	/* The rest of what has been begun, and what needs no upper layer. */
	bool goes_on(const Model &m, u32 i)
	{
		const Side &s = m.sides[i];
		bool any = false;

		if (s.out.active() && s.credits.may_send()) {
			Model next = m;
			Side &me = next.sides[i];

			me.out.sent();
			post(next, i, Flying::Next, 0, s.sending);
			me.number++;
			reach(next);
			any = true;
		}
		if (s.n_reports && s.credits.may_send() &&
		    (!s.out.active() || planted(Mistake::InGroup))) {
			Model next = m;
			Side &me = next.sides[i];

			post(next, i,
			     rules_.by_error ? Flying::Error : Flying::Report,
			     0, s.reports[0]);
			me.n_reports--;
			for (u32 r = 0; r < me.n_reports; r++)
				me.reports[r] = me.reports[r + 1];
			reach(next);
			any = true;
		}
		if (s.credits.grant_due() && s.credits.may_grant() &&
		    (!s.out.active() || rules_.grants_in_groups)) {
			Model next = m;

			post(next, i, Flying::Grant, 0);
			reach(next);
			any = true;
		}
		if (s.n_inbound) {
			Model next = m;

			arrive(next, i, false);
			reach(next);
			any = true;
		}
		if (s.n_inbound && may_refuse(s, i)) {
			Model next = m;

			arrive(next, i, true);
			reach(next);
		}
		return any;
	}

	/* No Call, or this one, or the Reply to it, by the types of -07. Return: so it can go. */
	bool begin_alone(const Model &m, u32 i, Name n, u32 form = kPlain)
	{
		Model next = m;

		if (m.sides[i].out.active() ||
		    m.sides[i].credits.available() < rules_.waits_for)
			return false;
		post(next, i, Flying::Alone, 0, n, form, n.owner == i);
		reach(next);
		return true;
	}

	/* The same by a group of each size, of @least Sends or more. */
	bool begin_groups(const Model &m, u32 i, Name n, u32 largest,
			  u32 form = 0, u32 promise = 0, u32 least = 1)
	{
		const Side &s = m.sides[i];
		const bool call = n.call && n.owner == i;
		bool any = false;

		/* Of a Reply, if the group of a Call is to begin. */
		if (s.out.active() &&
		    !(planted(Mistake::GroupEach) && call &&
		      s.sending.owner != i))
			return false;
		for (u32 count = least; count <= largest; count++) {
			if (!GroupSender::may_begin(
				    count, s.credits.available(), 4) ||
			    count < rules_.waits_for)
				continue;
			Model next = m;
			Side &me = next.sides[i];

			me.out.begin(count);
			me.out.sent();
			me.number = 0;
			post(next, i, Flying::First, count, n, form, promise);
			me.sending = n;
			me.number = 1;
			if (n.call &&
			    !(call && form && planted(Mistake::OneRecord)))
				me.sent.add(m.xid(n), sent_by(n, i), count);
			if (n.call && !call)
				next.call(n).known++;
			reach(next);
			any = true;
		}
		return any;
	}

	/* What this Call by a group promises to its Reply. */
	u32 reserve(Model &m, Name n, u32 wanted)
	{
		const Side &s = m.sides[n.owner];
		const rpcrdma::Xid xid = m.xid(n);
		const u32 window = s.credits.target();
		ReplyReserve &r = m.reserve[n.owner];
		const Call &c = m.call(n);
		const u32 before = planted(Mistake::NoneBefore) ?
					   0 :
					   s.sent.groups(xid, RPCRDMA_CALL);

		if (c.groups && planted(Mistake::OneReserved))
			return r.most(xid);
		if (c.groups && planted(Mistake::TwoReserved))
			(void)r.reserve(xid, wanted, window, before);
		return r.reserve(xid, wanted, window, before);
	}

	void call_by_groups(const Model &m, Name n)
	{
		const u32 window = m.sides[n.owner].credits.target();
		const u32 reserved = m.reserve[n.owner].reserved();

		for (u32 wanted = 1; wanted <= 4; wanted++) {
			Model next = m;
			Call &c = next.call(n);
			const u32 got = reserve(next, n, wanted);
			const u32 all = next.reserve[n.owner].reserved();

			c.waits = true;
			c.open++;
			if (got > c.held)
				c.held = static_cast<u8>(got);
			/* The second group promises of what the first one has. */
			out_.wrong |= all > window && all > reserved;
			begin_groups(next, n.owner, n, rules_.largest,
				     c.groups++, got);
		}
	}

	/* Return: each answer that waits can go, when no group goes out. */
	bool reply(const Model &m, Name n)
	{
		const u32 i = 1 - n.owner;
		bool all = true;

		for (u32 form = 0; form < kForms; form++) {
			const u32 asked = m.call(n).asked[form];
			const bool waits = planted(Mistake::Waits) && asked > 1;

			if (!asked || !m.call(n).whole[form])
				continue;
			Model next = m;
			bool any = false;

			next.call(n).asked[form] = 0;
			next.call(n).whole[form] = false;
			if (!waits)
				any |= begin_alone(next, i, n, form);
			/* One by a group would be taken for the answer to the group. */
			if (form != kPlain || !m.call(n).groups)
				any |= begin_groups(next, i, n, asked, form, 0,
						    waits ? asked : 1);
			all &= any;
		}
		return all;
	}

	/* A new Call has another XID than those before it. */
	void name(Model &m, Name n)
	{
		const u32 other = rules_.same_xids ? m.other_xid(n.owner) : 0;
		u32 &latest = m.latest[n.owner];

		latest = other ? other :
				 std::max(m.latest[0], m.latest[1]) + 1;
		m.xids[n.owner][n.call] = latest;
	}

	/* Return: each answer that waits can go, when no group goes out. */
	bool rpcs(const Model &m, u32 i)
	{
		bool all = true;

		m.each([&](Name n) {
			const Call &call = m.call(n);

			if (call.again[role(n.owner, i)]) {
				Model next = m;

				next.call(n).again[role(n.owner, i)]--;
				begin_alone(next, i, n);
			}
			if (n.owner != i) {
				all &= reply(m, n);
				return;
			}
			/* Of two Calls one is enough. */
			if (rules_.twice && n.call == 1 && call.waits &&
			    call.groups == 1 && call.open == 1)
				call_by_groups(m, n);
			if (!call.over() || m.rest_comes(n))
				return;
			Model next = m;

			name(next, n);
			call_by_groups(next, n);
			next.call(n).waits = true;
			next.call(n).extra = 1;
			begin_alone(next, i, n);
		});
		return all;
	}

	/* Return: each answer that waits can go, when no group goes out. */
	bool upper_layer(const Model &m, u32 i)
	{
		bool all = true;
		const Side &s = m.sides[i];

		if (s.held) {
			Model next = m;

			next.sides[i].held--;
			give_back(next.sides[i]);
			reach(next);
		}
		if (rules_.calls) {
			all = rpcs(m, i);
		} else {
			begin_alone(m, i, {});
			begin_groups(m, i, {}, rules_.largest);
		}
		if (i)
			return all;
		for (const u32 window : rules_.windows) {
			if (window == s.target)
				continue;
			Model next = m;
			Side &me = next.sides[0];

			if (window > me.credits.window())
				me.posted += window - me.credits.window();
			me.credits.set_window(window);
			me.target = window;
			reach(next);
		}
		return all;
	}

	void expand(const Model &m)
	{
		const bool any = goes_on(m, 0) | goes_on(m, 1);

		out_.wrong |= !m.reserves();
		out_.unknown |= !m.all_known();

		if (!any && !m.sides[0].held && !m.sides[1].held &&
		    m.forgotten())
			out_.lost = true;
		out_.groups +=
			m.sides[0].out.active() || m.sides[1].out.active();
		out_.resends += m.resends();
		out_.twice += m.twice();
		out_.crossed += m.crossed();
		for (u32 i = 0; i < 2; i++) {
			const Side &s = m.sides[i];
			const Side &other = m.sides[1 - i];

			if (!any && s.out.active())
				out_.stuck = true;
			if (!any && !other.held &&
			    s.credits.available() < rules_.waits_for)
				out_.blocked = true;
			if (!upper_layer(m, i) && !any && !other.held &&
			    !s.out.active())
				out_.blocked = true;
		}
	}

	const Rules &rules_;
	std::vector<View> views_;
	Outcome out_;
	states::Numbers<kKey> seen_;
	states::Numbers<kKey> alike_;
	std::deque<Model> open_;
};

Outcome search_for(u32 a, u32 b, const Rules &rules)
{
	return Search({ { Side(a), Side(b) }, { rules.xids, rules.others } },
		      rules)
		.outcome();
}

void expect_sound(u32 a, u32 b, const Rules &rules)
{
	const Outcome o = search_for(a, b, rules);

	EXPECT_TRUE(o.complete);
	EXPECT_FALSE(o.overrun);
	EXPECT_FALSE(o.overlap);
	EXPECT_FALSE(o.blocked);
	EXPECT_FALSE(o.stuck);
	EXPECT_FALSE(o.wrong);
	EXPECT_FALSE(o.lost);
	EXPECT_FALSE(o.unasked);
	EXPECT_FALSE(o.unknown);
	EXPECT_EQ(o.twice != 0, rules.twice);
	EXPECT_GT(o.groups, 0u);
	EXPECT_EQ(o.resends != 0, rules.refuses[0] || rules.refuses[1]);
	EXPECT_EQ(o.crossed != 0, rules.others != 0);
	std::printf("%swindows %u%s%s and %u%s, groups of up to %u: "
		    "%zu states, a group under way in %zu",
		    rules.twice ? "a Call sent twice, " :
		    rules.others ? "Calls and Replies of both, " :
		    rules.calls ? "Calls and Replies, " :
				  "",
		    a, rules.windows.empty() ? "" : ", changing",
		    rules.hold[0] ? ", held" : "", b,
		    rules.hold[1] ? ", held" : "", rules.largest, o.states,
		    o.groups);
	if (o.resends)
		std::printf(", something to be sent again in %zu", o.resends);
	if (o.twice)
		std::printf(", two groups of a Call in %zu", o.twice);
	if (o.crossed)
		std::printf(", both have promised in %zu", o.crossed);
	std::printf("\n");
}

} // namespace

TEST(group_search, every_window__all_interleavings_D20)
{
	for (u32 a = 3; a <= 5; a++)
		for (u32 b = 3; b <= a; b++)
			expect_sound(a, b, {});
}

TEST(group_search, every_window__held_receives_D20)
{
	for (u32 held = 1; held < 4; held++) {
		Rules rules;

		rules.hold[0] = held & 1;
		rules.hold[1] = held & 2;
		expect_sound(3, 3, rules);
		expect_sound(4, 3, rules);
	}
}

TEST(group_search, windows__change_at_any_moment_D20)
{
	Rules rules;

	rules.windows = { 3, 4 };
	expect_sound(3, 3, rules);
	rules.hold[0] = true;
	expect_sound(3, 3, rules);
}

/* What is reserved for Replies is theirs, all of it comes back, and nothing waits for it. */
TEST(group_search, reserve__all_interleavings_D20)
{
	Rules rules;

	rules.calls = true;
	rules.largest = 2;
	expect_sound(3, 3, rules);
	expect_sound(4, 3, rules);
	expect_sound(3, 4, rules);
	rules.hold[0] = true;
	rules.hold[1] = true;
	expect_sound(3, 3, rules);
}

TEST(group_search, reserve__windows_change_at_any_moment_D20)
{
	Rules rules;

	rules.calls = true;
	rules.largest = 2;
	rules.windows = { 3, 4 };
	expect_sound(3, 3, rules);
}

TEST(group_search, reserve__what_is_not_given_back_is_found)
{
	for (const Mistake m :
	     { Mistake::Keeps, Mistake::Early, Mistake::Remembers }) {
		Rules rules;

		rules.calls = true;
		rules.mistake = m;
		EXPECT_TRUE(search_for(3, 3, rules).wrong);
	}
}

/* What a REPTERR ends gives back what it has, once, and all is answered in the end. */
TEST(group_search, refused__a_call_is_sent_again_D20)
{
	Rules rules;

	rules.calls = true;
	rules.largest = 2;
	rules.refuses[1] = 1;
	expect_sound(3, 3, rules);
	expect_sound(4, 3, rules);
	expect_sound(3, 4, rules);
	rules.by_error = true;
	expect_sound(3, 3, rules);
}

TEST(group_search, refused__a_reply_is_sent_again_D20)
{
	Rules rules;

	rules.calls = true;
	rules.largest = 2;
	rules.refuses[0] = 1;
	expect_sound(3, 3, rules);
	expect_sound(4, 3, rules);
	expect_sound(3, 4, rules);
}

TEST(group_search, refused__a_call_and_a_reply_D20)
{
	Rules rules;

	rules.calls = true;
	rules.largest = 2;
	rules.refuses[0] = 1;
	rules.refuses[1] = 1;
	expect_sound(3, 3, rules);
	rules.hold[0] = true;
	expect_sound(3, 3, rules);
}

/* A Reply that is refused, while the window that it was promised of becomes smaller. */
TEST(group_search, refused__windows_change_at_any_moment_D20)
{
	Rules rules;

	rules.calls = true;
	rules.largest = 2;
	rules.refuses[0] = 1;
	rules.windows = { 3, 4 };
	expect_sound(3, 3, rules);
}

TEST(group_search, refused__what_goes_wrong_is_found)
{
	const auto search = [](u32 side, Mistake mistake) {
		Rules rules;

		rules.calls = true;
		rules.largest = 2;
		rules.refuses[side] = 1;
		rules.mistake = mistake;
		rules.stop = true;
		return search_for(3, 3, rules);
	};

	EXPECT_TRUE(search(1, Mistake::RefusedKeeps).wrong);
	EXPECT_TRUE(search(1, Mistake::GivesTwice).wrong);
	EXPECT_TRUE(search(0, Mistake::RefusesKeeps).wrong);
	for (u32 side = 0; side < 2; side++) {
		EXPECT_TRUE(search(side, Mistake::Silent).lost);
		EXPECT_TRUE(search(side, Mistake::Unheard).lost);
		EXPECT_TRUE(search(side, Mistake::Twice).lost);
		EXPECT_TRUE(search(side, Mistake::RestReported).overlap);
		EXPECT_TRUE(search(side, Mistake::ReportedTwice).unasked);
	}
}

/* Of one or two Calls one goes by two groups; so many groups and Replies are refused. */
static Rules twice(u8 xids, u8 calls, u8 replies)
{
	Rules rules;

	rules.calls = true;
	rules.twice = true;
	rules.largest = 2;
	rules.xids = xids;
	rules.refuses[0] = replies;
	rules.refuses[1] = calls;
	return rules;
}

/* Each group has one answer, in whatever form, and is known until then. */
TEST(group_search, twice__all_interleavings_D20)
{
	for (u8 calls = 0; calls <= 2; calls++)
		for (u8 replies = 0; replies <= 2; replies++)
			expect_sound(3, 3, twice(1, calls, replies));
	expect_sound(4, 3, twice(1, 2, 2));
	expect_sound(3, 4, twice(1, 2, 2));
}

TEST(group_search, twice__refused_by_an_error_D20)
{
	Rules rules = twice(1, 2, 2);

	rules.by_error = true;
	expect_sound(3, 3, rules);
}

TEST(group_search, twice__held_receives_D20)
{
	Rules rules = twice(1, 2, 1);

	rules.hold[0] = true;
	rules.hold[1] = true;
	expect_sound(3, 3, rules);
}

TEST(group_search, twice__windows_change_at_any_moment_D20)
{
	Rules rules = twice(1, 2, 1);

	rules.windows = { 3, 4 };
	expect_sound(3, 3, rules);
}

/* The other Call has promises of its own. */
TEST(group_search, twice__beside_another_call_D20)
{
	expect_sound(3, 3, twice(2, 0, 0));
	expect_sound(3, 3, twice(2, 1, 0));
	expect_sound(3, 3, twice(2, 0, 1));
}

TEST(group_search, twice__what_goes_wrong_is_found)
{
	const auto search = [](u8 calls, u8 replies, Mistake mistake) {
		Rules rules = twice(1, calls, replies);

		rules.mistake = mistake;
		rules.stop = true;
		return search_for(3, 3, rules);
	};

	EXPECT_TRUE(search(0, 0, Mistake::OneRecord).unknown);
	EXPECT_TRUE(search(1, 0, Mistake::BothTaken).unknown);
	EXPECT_TRUE(search(2, 0, Mistake::EachResent).lost);
	EXPECT_TRUE(search(1, 0, Mistake::Unsettled).lost);
	EXPECT_TRUE(search(1, 1, Mistake::RefusesSettled).lost);
	EXPECT_TRUE(search(0, 0, Mistake::OneReserved).wrong);
	EXPECT_TRUE(search(0, 0, Mistake::TwoReserved).wrong);
	EXPECT_TRUE(search(0, 0, Mistake::BothGivenBack).wrong);
	EXPECT_TRUE(search(0, 0, Mistake::NoneBefore).wrong);
	EXPECT_TRUE(search(1, 0, Mistake::RefusedKeeps).wrong);
	EXPECT_TRUE(search(0, 1, Mistake::RefusesKeeps).wrong);
	EXPECT_TRUE(search(2, 0, Mistake::ReportedTwice).unasked);
	EXPECT_TRUE(search(0, 2, Mistake::ReportedTwice).unasked);
}

/* Both sides have Calls and Replies, and both refuse so many of the other one's groups. */
static Rules both(u8 refuses = 0, u8 others = 0)
{
	Rules rules;

	rules.calls = true;
	rules.largest = 2;
	rules.xids = 1;
	rules.others = 1;
	rules.refuses[0] = refuses;
	rules.refuses[1] = others;
	return rules;
}

/* Each side promises of its own window, and takes nothing for it from what the other one has. */
TEST(group_search, both__all_interleavings_D20)
{
	expect_sound(3, 3, both());
	expect_sound(4, 3, both());
	expect_sound(4, 4, both());
}

TEST(group_search, both__groups_of_any_size_D20)
{
	Rules rules = both();

	rules.largest = 4;
	expect_sound(4, 4, rules);
	expect_sound(5, 3, rules);
}

TEST(group_search, both__two_calls_of_one_side_D20)
{
	Rules rules = both();

	rules.xids = 2;
	expect_sound(3, 3, rules);
}

static Rules two_calls_each()
{
	Rules rules = both();

	rules.xids = 2;
	rules.others = 2;
	return rules;
}

TEST(group_search, both__two_calls_of_each_side_D20)
{
	expect_sound(3, 3, two_calls_each());
}

TEST(group_search, DISABLED_both__two_calls_of_each_side_and_a_larger_window_D20)
{
	Rules rules = two_calls_each();

	rules.max_states = 6000000;
	expect_sound(4, 3, rules);
}

TEST(group_search, DISABLED_both__two_calls_of_each_side_and_held_receives_D20)
{
	Rules rules = two_calls_each();

	rules.hold[0] = true;
	rules.hold[1] = true;
	expect_sound(3, 3, rules);
}

TEST(group_search, DISABLED_both__two_calls_of_each_side_and_one_refused_D20)
{
	Rules rules = two_calls_each();

	rules.refuses[0] = 1;
	rules.max_states = 12000000;
	expect_sound(3, 3, rules);
}

/* Whichever of the states that are alike comes first, the same ones follow. */
TEST(group_search, both__what_is_alike_goes_on_alike)
{
	Rules rules = two_calls_each();

	rules.steps = 6;
	const size_t states = search_for(3, 3, rules).states;
	rules.apart = true;
	const Outcome o = search_for(3, 3, rules);
	EXPECT_EQ(o.alike, states);
	EXPECT_GT(o.states, 6 * states);
	std::printf("%zu states, of which %zu are not alike\n", o.states, states);
}

TEST(group_search, both__held_receives_D20)
{
	Rules rules = both();

	rules.hold[0] = true;
	rules.hold[1] = true;
	expect_sound(3, 3, rules);
}

TEST(group_search, both__windows_change_at_any_moment_D20)
{
	Rules rules = both();

	rules.windows = { 3, 4 };
	expect_sound(3, 3, rules);
}

/* What is refused may be a Call or a Reply, and a Call of the other side may have its XID. */
TEST(group_search, both__refused_D20)
{
	for (u32 same = 0; same < 2; same++) {
		Rules rules = both(1, 0);

		rules.same_xids = same;
		expect_sound(3, 3, rules);
	}
	expect_sound(3, 3, both(1, 1));
}

TEST(group_search, both__what_goes_wrong_is_found)
{
	const auto search = [](Rules rules, Mistake mistake) {
		rules.mistake = mistake;
		rules.stop = true;
		return search_for(3, 3, rules);
	};
	Rules rules = both(1, 0);

	EXPECT_TRUE(search(rules, Mistake::GroupEach).overlap);
	EXPECT_TRUE(search(rules, Mistake::Keeps).wrong);
	EXPECT_TRUE(search(rules, Mistake::Early).wrong);
	EXPECT_TRUE(search(rules, Mistake::RefusedKeeps).wrong);
	EXPECT_TRUE(search(rules, Mistake::Silent).lost);
	EXPECT_TRUE(search(rules, Mistake::InGroup).stuck);
	rules.same_xids = true;
	EXPECT_TRUE(search(rules, Mistake::AnyDirection).unasked);
	rules = both();
	rules.grants_in_groups = true;
	EXPECT_TRUE(search(rules, Mistake::None).stuck);
}

/* Why a Reply goes otherwise when there are not credits for what was promised to it. */
TEST(group_search, both__a_reply_that_waits_for_its_promise_blocks)
{
	Rules rules = both();

	rules.mistake = Mistake::Waits;
	rules.stop = true;
	EXPECT_TRUE(search_for(3, 3, rules).blocked);
}

/* Why a REPTERR waits for the end of the group that goes out: as with a GRANT. */
TEST(group_search, refused__a_report_in_a_group_takes_its_credits)
{
	Rules rules;

	rules.calls = true;
	rules.largest = 2;
	rules.refuses[0] = 1;
	rules.refuses[1] = 1;
	rules.mistake = Mistake::InGroup;
	rules.stop = true;
	EXPECT_TRUE(search_for(3, 3, rules).stuck);
}

/* Why a sender posts no GRANT in the middle of its group. */
TEST(group_search, grants__in_a_group_take_its_credits)
{
	Rules rules;

	rules.grants_in_groups = true;
	rules.stop = true;
	const Outcome o = search_for(3, 3, rules);
	EXPECT_TRUE(o.stuck);
	std::printf("GRANTs in groups: stuck within %zu states\n", o.states);
}

/*
 * Why a sender does not wait for the credits of a group: GRANTs come when half of the
 * window is used up, so with one more than half nothing need come. Up to that it may wait,
 * as long as no window shrinks.
 */
TEST(group_search, waiting__for_more_than_half_the_window)
{
	for (u32 window = 3; window <= 4; window++) {
		Rules rules;

		rules.waits_for = window / 2 + 1;
		EXPECT_FALSE(search_for(window, window, rules).blocked);
		rules.waits_for = window / 2 + 2;
		rules.stop = true;
		EXPECT_TRUE(search_for(window, window, rules).blocked);
	}
}
