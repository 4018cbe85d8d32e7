/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Groups of Sends that carry one RPC message (rtrext, section 4), of both roles and both
 * directions. Between the Sends of a group its sender sends nothing else (D20).
 *
 * A group begins only when the peer has given credit for all of it. Then nothing has to
 * come before it can end, so two sides that are both in the middle of one cannot wait for
 * each other. This takes one rule more: in the middle of a group its sender sends no GRANT,
 * which would use a credit of the group, and need not, since each Send has the credit word.
 * Without that rule two windows of three stop for ever (tools/testing/sim/search). Only when
 * the peer has taken all credits back (D2) it may need a GRANT to give any.
 *
 * Whoever has not enough credits does not wait for them: a peer need give no more than what
 * it takes to send one message, and its window may have become smaller than the group. The
 * message goes by the header types of -07 instead.
 */
#ifndef _RPCRDMA_CORE_RTR_GROUP_H
#define _RPCRDMA_CORE_RTR_GROUP_H

#include "rtr_wire.h"

namespace rpcrdma
{

/* The type that begins a group of this direction, which optxc_itype repeats. */
[[nodiscard]] constexpr u32 lead_type(rpcrdma_dir dir)
{
	return dir == RPCRDMA_REPLY ? kXmtResp : kXmtReq;
}

/* The group that comes in. There is one at most, since nothing comes between its Sends. */
class GroupReceiver {
public:
	enum class Step : u8 {
		Take,
		Refuse, /* say so with @report */
		Discard, /* of a group that was refused */
	};

	/**
	 * @report: of Refuse
	 * @void_group: a group that had begun is over, and is not whole
	 */
	struct Verdict {
		Step step = Step::Take;
		bool void_group = false;
		ReportedError report = {};
	};

	[[nodiscard]] constexpr bool active() const
	{
		return active_;
	}
	[[nodiscard]] constexpr Xid xid() const
	{
		return xid_;
	}
	[[nodiscard]] constexpr rpcrdma_dir dir() const
	{
		return dir_;
	}
	/* The number of the Send that is being taken, or is the next. */
	[[nodiscard]] constexpr u32 next() const
	{
		return next_;
	}
	[[nodiscard]] constexpr u32 count() const
	{
		return count_;
	}
	/* Octets of the Payload stream in the Sends before that. */
	[[nodiscard]] constexpr u32 stream() const
	{
		return stream_;
	}
	/* The Send that is being taken is the last. */
	[[nodiscard]] constexpr bool last() const
	{
		return next_ + 1 == count_;
	}

	/**
	 * The first Send of a group has come.
	 *
	 * @count: Sends of it, as it says
	 * @most: that there may be
	 *
	 * If it is taken taken(), or refuse(), has to follow.
	 */
	[[nodiscard]] constexpr Verdict begin(Xid xid, rpcrdma_dir dir,
					      u32 count, u32 most)
	{
		const TransmissionId bad = { xid, dir, 0 };

		if (active_) {
			const Verdict v = broken(bad, RtrError::BadOmt,
						 kXmtCont, lead_type(dir));

			give_up(false);
			drop(xid, dir, 1, count);
			return v;
		}
		if (!count || count > most) {
			drop(xid, dir, 1, count);
			return { Step::Refuse,
				 false,
				 { bad,
				   false,
				   {},
				   { RtrError::BadSeq, { most, count, 0 } } } };
		}
		active_ = true;
		xid_ = xid;
		dir_ = dir;
		count_ = count;
		next_ = 0;
		stream_ = 0;
		return {};
	}

	/**
	 * Another Send of a group has come.
	 *
	 * @number: optxc_xnum
	 * @began: optxc_itype
	 *
	 * If it is taken taken(), or refuse(), has to follow.
	 */
	[[nodiscard]] constexpr Verdict go_on(Xid xid, u32 number, u32 began)
	{
		const bool reply = began == kXmtResp;
		const TransmissionId bad = {
			xid, reply ? RPCRDMA_REPLY : RPCRDMA_CALL, number
		};
		Verdict v;

		if (!active_) {
			if (discard(xid, number, began))
				return { Step::Discard, false, {} };
			return {
				Step::Refuse,
				false,
				{ bad, false, {}, { RtrError::BadCont, {} } }
			};
		}
		if (xid != xid_)
			v = broken(bad, RtrError::BadXid, word_of(xid_),
				   word_of(xid));
		else if (began != lead_type(dir_))
			v = broken(bad, RtrError::BadOmt, lead_type(dir_),
				   began);
		else if (number != next_)
			v = broken(bad, RtrError::BadSeq, next_, number);
		else
			return v;
		const bool its = xid == xid_ && began == lead_type(dir_) &&
				 number > next_;
		if (its)
			next_ = number;
		give_up(its);
		return v;
	}

	/*
	 * The Send has been taken, with @octets of payload. Of groups before its own nothing
	 * comes any more: their sender goes on in order.
	 */
	constexpr void taken(u32 octets)
	{
		if (!next_)
			for (Rest &r : dropped_)
				r = {};
		stream_ += octets;
		next_++;
		if (next_ >= count_)
			active_ = false;
	}

	/* The Send is refused, for what is in it; @fault says why. */
	[[nodiscard]] constexpr Verdict refuse(const RtrFault &fault)
	{
		const TransmissionId bad = { xid_, dir_, next_ };
		const Verdict v = {
			Step::Refuse,
			next_ != 0,
			{ bad, next_ != 0, { xid_, dir_, 0 }, fault }
		};

		give_up(true);
		return v;
	}

	/* What follows of the group is dropped. */
	constexpr void stop()
	{
		give_up(false);
	}

	/*
	 * The first Send of a group has come, and says nothing that can be read: whatever
	 * follows is dropped.
	 */
	constexpr void unreadable(Xid xid, rpcrdma_dir dir)
	{
		drop(xid, dir, 1, UINT32_MAX);
		active_ = false;
	}

	/*
	 * A message that is no part of the group has come, of header type @htype of the base
	 * protocol or of another extension: the group is over. What is reported is the Send
	 * that should have come.
	 */
	[[nodiscard]] constexpr Verdict interrupted(u32 htype, bool extension)
	{
		const TransmissionId bad = { xid_, dir_, next_ };
		const Verdict v = broken(
			bad, extension ? RtrError::BadOmt : RtrError::BadHmt,
			kXmtCont, htype);

		give_up(false);
		return v;
	}

	/*
	 * What holds between two events: of a group some Sends have come, and some are to come.
	 * A rest of a refused one may have nothing left.
	 */
	[[nodiscard]] constexpr bool invariants() const
	{
		for (const Rest &r : dropped_)
			if (r.next > r.count)
				return false;
		return !active_ || (next_ && next_ < count_);
	}

private:
	[[nodiscard]] constexpr Verdict broken(const TransmissionId &bad,
					       RtrError code, u32 expected,
					       u32 came) const
	{
		return { Step::Refuse,
			 true,
			 { bad,
			   true,
			   { xid_, dir_, 0 },
			   { code, { expected, came, 0 } } } };
	}

	static constexpr u32 kMostRests = 3;

	/* What may still come of a group that was refused: Sends from @next on. */
	struct Rest {
		Xid xid = {};
		rpcrdma_dir dir = RPCRDMA_CALL;
		u16 next = 0;
		u16 count = 0;
	};

	/* Drop the rest without a word. @next_came: what would be the next has come. */
	constexpr void give_up(bool next_came)
	{
		if (next_came && next_ < count_)
			next_++;
		active_ = false;
		drop(xid_, dir_, next_, count_);
	}

	/*
	 * Two groups that overlap are both refused, and one more may begin among them. Of one
	 * that says that it has more Sends than a Rest can count, so many are dropped.
	 */
	constexpr void drop(Xid xid, rpcrdma_dir dir, u32 next, u32 count)
	{
		if (next >= count || next >= UINT16_MAX)
			return;
		for (u32 i = kMostRests - 1; i; i--)
			dropped_[i] = dropped_[i - 1];
		dropped_[0] = { xid, dir, static_cast<u16>(next),
				count < UINT16_MAX ? static_cast<u16>(count) :
						     u16{ UINT16_MAX } };
	}

	[[nodiscard]] constexpr bool discard(Xid xid, u32 number, u32 began)
	{
		for (Rest &r : dropped_) {
			if (xid != r.xid || began != lead_type(r.dir) ||
			    number < r.next || number >= r.count)
				continue;
			r.next = static_cast<u16>(number + 1);
			return true;
		}
		return false;
	}

	Xid xid_ = {};
	rpcrdma_dir dir_ = RPCRDMA_CALL;
	u32 count_ = 0;
	u32 next_ = 0;
	u32 stream_ = 0;
	bool active_ = false;
	Rest dropped_[kMostRests] = {};
};

/* The group that goes out, if any. */
class GroupSender {
public:
	/**
	 * @count: Sends of it
	 * @credits: that the peer gives now, without those kept for other uses
	 * @most: Sends that the peer takes in a group of this direction
	 */
	[[nodiscard]] static constexpr bool may_begin(u32 count, u32 credits,
						      u32 most)
	{
		return count && count <= most && count <= credits;
	}

	constexpr void begin(u32 count)
	{
		left_ = count;
	}
	constexpr void sent()
	{
		left_--;
	}
	/* Nothing but the rest of it is sent now. */
	[[nodiscard]] constexpr bool active() const
	{
		return left_ != 0;
	}
	[[nodiscard]] constexpr u32 left() const
	{
		return left_;
	}

private:
	u32 left_ = 0;
};

/*
 * What this side has promised of its Receives to Replies of several Sends (optxrq_rsbuf).
 * All promises together are no more than its window. Every Call may have a Reply of one
 * Send, and needs no place here.
 *
 * A promise stands until the answer has come, also if nobody waits for it any more: the
 * Responder does not know that. A Call that is sent again with its XID has two answers. What
 * one of its groups was promised stands beside what a later one is, whatever has been
 * answered. A REPTERR about a Call is an answer, too.
 *
 * An ERROR of the base protocol names an XID and no direction. If a Call of each direction
 * has that XID, it may be about a Reply of this side. So after it nothing is reserved, but a
 * Reply of as many Sends as were promised is still taken.
 */
class ReplyReserve {
public:
	static constexpr u32 kMostCalls = 16;

	/**
	 * @xid: of a Call that is about to be sent
	 * @wanted: Sends that its Reply may take
	 * @window: of this side
	 * @before: groups with this XID that have no answer: whether they have promised
	 *	anything or not, the answer to one of them is not the last
	 *
	 * Return: what its optxrq_rsbuf says, at least one.
	 */
	[[nodiscard]] constexpr u32 reserve(Xid xid, u32 wanted, u32 window,
					    u32 before = 0)
	{
		const u32 left = window > reserved_ ? window - reserved_ : 0;
		const u32 count = wanted < left ? wanted : left;
		Call *c = find(xid);

		if (c && c->answers) {
			c->answers++;
			c->again = true;
			if (!wanted)
				return 1;
			return wanted < c->held ? wanted : c->held;
		}
		/* An earlier promise stands beside this: a Reply to that group may still come. */
		if (count <= 1)
			return 1;
		const u32 earlier = c ? c->promised : 0;
		if (!c)
			c = place();
		if (!c)
			return 1;
		if (!c->promised)
			kept_++;
		*c = { xid, earlier > count ? earlier : count, count,
		       before + 1, earlier || before };
		reserved_ += count;
		return count;
	}
	/* What can be reserved for one Call more, but for those of one Send. */
	[[nodiscard]] constexpr u32 room(u32 window) const
	{
		bool any = kept_ < kMostCalls;

		for (u32 i = 0; !any && i < kMostCalls; i++)
			any = !calls_[i].answers;
		return any && window > reserved_ ? window - reserved_ : 0;
	}
	/* Sends that the Reply to this Call may take. */
	[[nodiscard]] constexpr u32 most(Xid xid) const
	{
		const u32 i = index(xid);

		return i < kMostCalls ? calls_[i].promised : 1;
	}
	/* What was promised to it stands when it has been answered: it had several groups. */
	[[nodiscard]] constexpr bool stands(Xid xid) const
	{
		const u32 i = index(xid);

		return i < kMostCalls && calls_[i].again;
	}
	/* The Reply that comes takes no more than @count, unless it is refused and comes again. */
	constexpr void shrink(Xid xid, u32 count)
	{
		Call *c = find(xid);

		if (!c || c->held <= count || c->answers != 1)
			return;
		reserved_ -= c->held - count;
		c->held = count;
	}
	/* It has been answered. */
	constexpr void give_back(Xid xid)
	{
		answered(xid, true);
	}
	/* It may have been answered. */
	constexpr void doubt(Xid xid)
	{
		/* Each answer comes here, nearly none is about one of these. */
		if (reserved_)
			answered(xid, false);
	}
	[[nodiscard]] constexpr u32 reserved() const
	{
		return reserved_;
	}

	/*
	 * What holds between two events: what is reserved is the sum of what is held for answers
	 * to come, and nothing is held that was not promised.
	 */
	[[nodiscard]] constexpr bool invariants() const
	{
		u32 kept = 0;
		u32 held = 0;

		for (u32 i = 0; i < kMostCalls; i++) {
			const Call &c = calls_[i];

			if (!c.promised)
				continue;
			kept++;
			held += c.answers ? c.held : 0;
			if (c.held > c.promised || index(c.xid) != i)
				return false;
		}
		return kept == kept_ && held == reserved_;
	}

private:
	/* Without a promise it is none. There is one of each XID at most. */
	struct Call {
		Xid xid = {};
		u32 promised = 0;
		u32 held = 0; /* of that, while an answer is to come */
		u32 answers : 31 = 0; /* that are still to come */
		bool again : 1 = false; /* there was more than one group */
	};

	/* kMostCalls if it is not there. Most often there are few, and all at the beginning. */
	[[nodiscard]] constexpr u32 index(Xid xid) const
	{
		u32 left = kept_;

		for (u32 i = 0; left && i < kMostCalls; i++) {
			if (!calls_[i].promised)
				continue;
			if (calls_[i].xid == xid)
				return i;
			left--;
		}
		return kMostCalls;
	}
	[[nodiscard]] constexpr Call *find(Xid xid)
	{
		const u32 i = index(xid);

		return i < kMostCalls ? &calls_[i] : nullptr;
	}
	constexpr void forget(Call &c)
	{
		c.promised = 0;
		kept_--;
	}
	/* One that is free, else that of the smallest promise of those that are answered. */
	[[nodiscard]] constexpr Call *place()
	{
		Call *least = nullptr;

		for (Call &c : calls_) {
			if (!c.promised)
				return &c;
			if (!c.answers &&
			    (!least || least->promised > c.promised))
				least = &c;
		}
		return least;
	}

	constexpr void answered(Xid xid, bool surely)
	{
		Call *c = find(xid);

		if (!c)
			return;
		if (c->answers) {
			c->answers--;
			if (!c->answers)
				reserved_ -= c->held;
		}
		/*
		 * An answer to a form of -07 may have been taken for that of a group, so of
		 * several groups one may still have a Reply to come.
		 */
		if (surely && !c->answers && !c->again)
			forget(*c);
	}

	Call calls_[kMostCalls] = {};
	u32 reserved_ = 0;
	u32 kept_ = 0; /* Calls that have a promise */
};

/*
 * Groups that this side has sent of late. A REPTERR that is about one of them has its
 * message sent again, in another form, once.
 *
 * Each Send of a message with an XID that was sent before is a group of its own, and each may be
 * refused. A REPTERR does not say which one it is about: it is taken to be about the first, of a
 * Call the first that is not settled.
 *
 * A Call that is sent again with its XID is one RPC. When that has its Reply, or is sent in
 * another form, its groups are settled: a REPTERR about another one only means that this one
 * has no Reply.
 *
 * While a REPTERR is on its way, at most a window of further groups is sent, each of one
 * Send. The peer's window may be larger than kMost: then what is older waits for the
 * RPC's time-out.
 */
class SentGroups {
public:
	static constexpr u32 kMost = 64;

	/**
	 * @sends: of the group; zero: there is none
	 * @settled: nothing of its message is to be sent again
	 * @call_only: no Reply to it is to come
	 * @left: other groups of that message
	 */
	struct Group {
		u32 sends = 0;
		bool settled = false;
		bool call_only = false;
		u32 left = 0;
	};

	/**
	 * @sends: of the group, at least one
	 * @call_only: no Reply to it is to come
	 */
	constexpr void add(Xid xid, rpcrdma_dir dir, u32 sends,
			   bool call_only = false)
	{
		if (!sends_[at_])
			count_++;
		xid_[at_] = xid;
		sends_[at_] = static_cast<u8>(sends | of(dir) |
					      (call_only ? kCallOnly : 0));
		at_ = (at_ + 1) % kMost;
	}
	[[nodiscard]] constexpr bool any() const
	{
		return count_ != 0;
	}
	/**
	 * A group has been refused. Of several it is the one that was sent first, but one that
	 * is not settled comes before those that are.
	 *
	 * Nothing of the message is to be sent again after this, if it is a Call.
	 *
	 * Return: what it was. It is not there any more.
	 */
	[[nodiscard]] constexpr Group take(Xid xid, rpcrdma_dir dir)
	{
		return take(xid, dir, true, 0);
	}
	/**
	 * A group of this Call has its answer. It is chosen likewise, but those to which a Reply
	 * is to come are before those that have none. It is not there any more.
	 *
	 * @settle: nothing of the message is to be sent again
	 */
	constexpr void answer(Xid xid, bool settle = true)
	{
		(void)take(xid, RPCRDMA_CALL, settle, kCallOnly);
	}

	/* Groups with this XID that are known, and that are to have an answer if they are Calls. */
	[[nodiscard]] constexpr u32 groups(Xid xid, rpcrdma_dir dir) const
	{
		u32 n = 0;

		each(xid, dir, [&](u32 i) { n += !(sends_[i] & kCallOnly); });
		return n;
	}

	/* A group of this Call has no answer, and its RPC has none either. */
	[[nodiscard]] constexpr bool waits(Xid xid) const
	{
		bool one = false;

		each(xid, RPCRDMA_CALL,
		     [&](u32 i) { one |= !(sends_[i] & kSettled); });
		return one;
	}

	/* What holds between two events. */
	[[nodiscard]] constexpr bool invariants() const
	{
		u32 count = 0;

		for (const u8 sends : sends_)
			count += sends != 0;
		return count == count_ && at_ < kMost;
	}

	/* What is kept of a group: the number of its Sends, and what else is known of it. */
	static constexpr u8 kSends = 0x1f;
	static constexpr u8 kSettled = 0x20;
	static constexpr u8 kCallOnly = 0x40;
	static constexpr u8 kOfReply = 0x80;

private:
	[[nodiscard]] static constexpr u8 of(rpcrdma_dir dir)
	{
		return dir == RPCRDMA_REPLY ? kOfReply : u8{ 0 };
	}
	/*
	 * Places of all groups with this XID. The last one is the first: most often it is that.
	 * Each Reply comes here, so both are inlined.
	 */
	template <typename F>
	[[gnu::always_inline]] constexpr void each(Xid xid, rpcrdma_dir dir,
						   F f) const
	{
		u32 all = count_;

		for (u32 i = at_ + kMost - 1; all; i--) {
			const u32 at = i % kMost;

			if (!sends_[at])
				continue;
			all--;
			if ((sends_[at] & kOfReply) == of(dir) &&
			    xid_[at] == xid)
				f(at);
		}
	}
	/* @last: a flag; groups that have it come behind all others, and are not settled by this */
	[[nodiscard, gnu::always_inline]] constexpr Group
	take(Xid xid, rpcrdma_dir dir, bool settle, u8 last)
	{
		u32 first = kMost;
		u8 best = 0;
		Group found;

		each(xid, dir, [&](u32 i) {
			u8 &sends = sends_[i];
			/* The smaller the better. */
			const u8 order = sends & (kSettled | last);

			if (first < kMost)
				found.left++;
			if (first == kMost || order <= best) {
				first = i;
				best = order;
			}
			if (settle && dir == RPCRDMA_CALL && !(sends & last))
				sends |= kSettled;
		});
		if (first == kMost)
			return found;
		found.sends = sends_[first] & kSends;
		found.settled = best & kSettled;
		found.call_only = sends_[first] & kCallOnly;
		drop(sends_[first]);
		return found;
	}
	constexpr void drop(u8 &sends)
	{
		sends = 0;
		count_--;
	}

	Xid xid_[kMost] = {};
	u8 sends_[kMost] = {}; /* zero: there is none */
	u32 at_ = 0;
	u32 count_ = 0;
};

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_RTR_GROUP_H */
