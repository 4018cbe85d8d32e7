/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * RPC messages by groups of Sends, their data placed by Sends
 * (draft-dnoveck-nfsv4-rpcrdma-rtrext-03), with the numbers of D8 on -07 as D20 has
 * it. Section numbers in files called rtr* are those of that draft.
 *
 *	XMTREQ		a Call, or the first Send of one
 *	XMTRESP		a Reply, or the first Send of one
 *	XMTCONT		a further Send of either
 *	REPTERR		what was wrong with one of these
 *
 * rtr_wire has the XDR, rtr_place what the Receives and the placement of data are, rtr_plan
 * how a message is divided, rtr_group what of it is in order. This file is one end of a
 * connection.
 *
 * The caller keeps the Receives of a group until it is whole or void: its first one says
 * where the data are, in all of them (XmtRequest, XmtResponse and each_piece()). It sends a
 * message again, in a form of -07, if a REPTERR says that the group was refused.
 */
#ifndef _RPCRDMA_CORE_RTREXT_H
#define _RPCRDMA_CORE_RTREXT_H

#include "extension.h"
#include "rtr_group.h"
#include "rtr_plan.h"

namespace rpcrdma
{

/**
 * A message that goes by a group
 * @msg: as for Session::next_send(); its length is that of the Payload stream
 * @content: its direction and stream are those of @msg
 * @reply_count: of a Call, Sends that its Reply may take; of a Reply, what its Call has
 *	said of that. At first; afterwards of a Call what there was room for.
 * @plan: once it has begun
 * @next: the Send that is next; zero at first, kept by Rtrext
 * @size: octets of the one before that
 *
 * Lives as long as it is being sent. Its content does not change once there is a plan.
 */
struct GroupMessage {
	rpcrdma_message &msg;
	GroupContent content;
	u32 reply_count = 1;
	GroupPlan plan = {};
	u32 next = 0;
	u32 size = 0;
};

static_assert(kMostSends <= SentGroups::kSends);

/* Rules, and the state of one end. */
class Rtrext {
public:
	/* Reports that wait to be sent; a peer that causes more is cut off. */
	static constexpr u32 kMostReports = RPCRDMA_MAX_CONTROL;
	/* Octets of a Payload stream in the first Send of its group, at least. */
	static constexpr u32 kLeastPart = kWordSize;

	static constexpr const char *kName = "rtrext";
	static constexpr HeaderType kTypes[] = {
		{ "XMTREQ", kXmtReq, 0, Kind::Extension, false, true },
		{ "XMTRESP", kXmtResp, 0, Kind::Extension, false, true },
		{ "XMTCONT", kXmtCont, 0, Kind::Extension, false, true },
		{ "REPTERR", kReptErr, 0, Kind::Extension, false, true },
	};
	static constexpr PropertyType kProperties[] = {
		{ .id = kRtrSupport,
		  .name = "rtr-support",
		  .decode = decode_number,
		  .encode = encode_number,
		  .ours = kTakesRequests | kTakesResponses | kTakesContinues },
		{ .id = kReceiveStructure,
		  .name = "receive-structure",
		  .decode = decode_shape_number,
		  .encode = encode_shape_number,
		  .receive = structure_length },
		{ .id = kRequestReceiveLimit,
		  .initial = 1,
		  .name = "request-receive-limit",
		  .decode = decode_number,
		  .encode = encode_number,
		  .least = 1,
		  .most = kMostSends,
		  .ours = kMostSends },
		{ .id = kResponseSendLimit,
		  .initial = 1,
		  .name = "response-send-limit",
		  .decode = decode_number,
		  .encode = encode_number,
		  .least = 1,
		  .most = kMostSends,
		  .ours = kMostSends },
	};
	static constexpr Announcement kAnnounced = {
		kRtrSupport, kTakesRequests | kTakesResponses | kTakesContinues
	};
	static constexpr u32 kLargestBody = kReptErrBody;

	/**
	 * Say how this side's Receives are made, before its properties are sent.
	 *
	 * @shape: its octets are this side's Receive Buffer Size; one run of targets, a
	 *	power of two each, with room for a header before it
	 *
	 * Return: false if it is not so; nothing has changed.
	 */
	[[nodiscard]] static bool declare(Port &port,
					  const ReceiveShape &shape);
	/* Likewise which of its types this side takes: kTakesRequests and so on. */
	[[nodiscard]] static bool declare(Port &port, u32 takes)
	{
		return port.declare(kRtrSupport, takes);
	}

	/**
	 * The next Send of a message.
	 *
	 * @m: only if it has begun, other messages have to wait until it is over
	 * @out: gets prefix, header and padding; as long as the Send
	 * @tx: gets what is to be sent; GroupPlan::send() and each_piece() of Send number
	 *	@m.next - 1 say what follows
	 *
	 * Return: RPCRDMA_TX_MESSAGE; RPCRDMA_TX_INVALID if it cannot go by a group to this
	 * peer, or RPCRDMA_TX_BLOCKED if there are not credits for all of it: then it goes
	 * by a form of -07. In the middle of a group BLOCKED means that the peer has taken
	 * credits back (D2), and the rest goes when they have come.
	 */
	[[nodiscard]] rpcrdma_tx_result send(Port &port, GroupMessage &m,
					     MutableBytes out, rpcrdma_tx &tx);
	/* Fill in the plan of a message that has not begun. Return: false if it cannot go so. */
	[[nodiscard]] bool plan(const Port &port, GroupMessage &m) const
	{
		return begin(port, m) != 0;
	}
	/**
	 * Can it begin now?
	 *
	 * @m: not begun; its plan is made
	 */
	[[nodiscard]] bool may_begin(const Port &port, GroupMessage &m) const;
	/*
	 * Sends that the peer takes in a group of this direction; zero: none at all.
	 * @reply_count: as in GroupMessage
	 */
	[[nodiscard]] u32 most_sends(const Port &port, rpcrdma_dir dir,
				     u32 reply_count) const;
	/* A Call can promise so many to its Reply. */
	[[nodiscard]] bool may_reserve(const Port &port, u32 sends) const;
	/**
	 * What the REPTERR that has just been taken is about.
	 *
	 * @i: less than refused_count()
	 *
	 * That message of this side's was refused, and will not be reported again.
	 */
	[[nodiscard]] const TransmissionId &refused_message(u32 i) const
	{
		return refused_[i];
	}
	[[nodiscard]] u32 refused_count() const
	{
		return refused_count_;
	}
	/* Why. */
	[[nodiscard]] const RtrFault &refused_why() const
	{
		return why_;
	}
	/* Receives that Replies of several Sends may take. */
	[[nodiscard]] u32 reserved() const
	{
		return reserve_.reserved();
	}
	/* A group comes in, and the Send of it that is next. */
	[[nodiscard]] const GroupReceiver &incoming() const
	{
		return in_;
	}

	/* What all extensions have. */
	[[nodiscard]] Refusal take(const Header &h, Bytes body, Port &port,
				   rpcrdma_rx &rx);
	void encode(const ControlMessage &m, const Port &port, XdrWriter &w);
	[[nodiscard]] bool interrupted(u32 htype, bool other, Port &port,
				       rpcrdma_rx &rx);
	void between(const Header &h, rpcrdma_rx &rx);
	/* A REPTERR about a Call that has an answer has nothing sent again. */
	void answered(Xid xid)
	{
		reserve_.doubt(xid);
		settle(xid);
	}
	[[nodiscard]] bool refused(Xid xid, u32 code, Port &port);
	/* What holds between two events. */
	[[nodiscard]] bool invariants() const
	{
		return in_.invariants() && reserve_.invariants() &&
		       sent_.invariants() && reports_first_ < kMostReports &&
		       reports_count_ <= kMostReports;
	}
	[[nodiscard]] bool gathers_reply(Xid xid) const
	{
		return in_.active() && in_.dir() == RPCRDMA_REPLY &&
		       in_.xid() == xid;
	}
	void stop(rpcrdma_rx &rx);

private:
	[[nodiscard]] Refusal take_request(Xid xid, Bytes body, Port &port,
					   rpcrdma_rx &rx);
	[[nodiscard]] Refusal take_response(Xid xid, Bytes body, Port &port,
					    rpcrdma_rx &rx);
	[[nodiscard]] Refusal take_continue(Xid xid, Bytes body, Port &port,
					    rpcrdma_rx &rx);
	[[nodiscard]] Refusal take_report(Bytes body, rpcrdma_rx &rx);
	[[nodiscard, gnu::always_inline]] Refusal
	take_items(const MessageItems &items, Port &port, rpcrdma_rx &rx);
	[[nodiscard]] Refusal take_part(Bytes body, u32 head, u32 length,
					Port &port, rpcrdma_rx &rx);
	[[nodiscard]] Refusal out_of_order(const GroupReceiver::Verdict &v,
					   Port &port, rpcrdma_rx &rx);
	[[nodiscard]] Refusal misplaced(const Misplaced &m, Port &port,
					rpcrdma_rx &rx);
	[[nodiscard]] Refusal give_up(const Refusal &why, Port &port,
				      rpcrdma_rx &rx);
	[[nodiscard]] Refusal malformed(Xid xid, rpcrdma_dir dir, Port &port,
					rpcrdma_rx &rx);
	[[nodiscard]] bool report(const ReportedError &e, Port &port);
	/* A group of this Call has its answer, and so has its RPC. */
	void settle(Xid xid)
	{
		if (sent_.any())
			settle_group(xid);
	}
	void settle_group(Xid xid);
	/* The Reply to it has come, or is never taken. */
	void end(Xid xid)
	{
		reserve_.give_back(xid);
		settle(xid);
	}
	void doubt_reply(Xid xid);
	[[nodiscard]] u32 begin(const Port &port, GroupMessage &m) const;
	[[nodiscard]] u32 reserve_reply(const Port &port,
					const GroupMessage &m);

	GroupReceiver in_;
	GroupNeeds needs_ = {};
	GroupSender out_;
	ReplyReserve reserve_;
	SentGroups sent_;
	ReportedError reports_[kMostReports] = {};
	u32 reports_first_ = 0;
	u32 reports_count_ = 0;
	TransmissionId refused_[2] = {};
	u32 refused_count_ = 0;
	RtrFault why_ = {};
	bool requests_refused_ = false; /* their type, by the peer */
	Xid refused_xid_ = {}; /* of the last one of these */
	u32 refused_left_ =
		0; /* ERRORs that may still come for its other Sends */
};

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_RTREXT_H */
