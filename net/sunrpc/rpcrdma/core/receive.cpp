// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * How a session handles a received message.
 *
 * An ERROR, or a GRANT, whose XID means nothing, is never answered with an ERROR.
 * A malformed Call is answered; a malformed Reply
 * fails its RPC here, and is answered only if the draft's continuation rules
 * demand it (D6). A message between the parts of another is answered with
 * INVAL_CONT, whether it parses or not; a part that does not parse, with
 * BAD_XDR.
 *
 * Version 1 has fewer header types and one error for all faults of a
 * Call; after its lists are read both versions use the same code.
 */
#include "check.h"
#include "linux_errno.h"
#include "plain.h"

namespace rpcrdma
{

/* What the words of enum rpcrdma_reason leave open, where it comes up more than once. */
static constexpr char kBetween[] = "between the parts of another message";
static constexpr char kBrokenError[] =
	"no error code, or not what belongs after it";
static constexpr char kNoLimit[] = "the peer cannot mean this limit";
static constexpr char kNotOurVersion[] = "not a version that is allowed here";
static constexpr char kOtherVersion[] = "not the version of this connection";
static constexpr char kOverrun[] = "a Send more than was allowed";

static constexpr Refusal kNoReverse = {
	RPCRDMA_REASON_HTYPE, "this side has not offered to take such Calls from its server",
	RPCRDMA2_ERR_INVAL_HTYPE
};

static void drop(rpcrdma_reason reason, const char *detail, rpcrdma_rx &rx)
{
	rx.action = RPCRDMA_RX_DROP;
	rx.reason = reason;
	rx.detail = detail;
}

void Session::close(rpcrdma_reason reason, const char *detail, rpcrdma_rx &rx)
{
	end(reason);
	control_.clear();
	rx.action = RPCRDMA_RX_CLOSE;
	rx.reason = reason;
	rx.detail = detail;
	rx.detail_at = 0;
}

void Session::open(rpcrdma_rx &rx)
{
	if (phase_ != Phase::Agreeing)
		return;
	advance(Phase::Open);
	rx.opened = true;
}

/* The caller has set the action; a flood of errors overrides it. */
void Session::answer(const Prefix &p, const ErrorBody &body, rpcrdma_rx &rx)
{
	if (!control_.push(error_message(p.xid, p.vers, body)))
		close(RPCRDMA_REASON_FLOOD, kFlood, rx);
}

/* Version 1 counts Calls, and a Reply says how many are allowed. */
void Session::answered(Xid xid, u32 credit)
{
	if (version1() && requests_.answered(xid))
		requests_.grant(credit);
	tell_answered(xid);
}

void Session::abandon(rpcrdma_dir direction, Xid xid, bool last, u32 left,
		      rpcrdma_rx &rx)
{
	if (!incoming_[direction].refuse(xid, last, left))
		return;
	rx.abandon = true;
	rx.dir = direction;
}

/*
 * What take_plain() does not take by itself: a message of another type than that of whole ones, or
 * any that comes while a message is put together or discarded. take_plain() has seen that its size
 * is aligned and large enough, and its version. Return: as take_plain().
 */
bool Session::take_plain_part(Bytes in, rpcrdma_rx &rx)
{
	const rpcrdma_dir dir = client() ? RPCRDMA_REPLY : RPCRDMA_CALL;
	Continuation &incoming = incoming_[dir];
	const u32 htype = word_in(in, kAtType);
	const HeaderType *type = terms_.plain_in.last;
	if (htype != type->htype) {
		type = terms_.plain_in.middle;
		if (!type || htype != type->htype)
			return false;
	} else if (!no_lists(in.data(), type->bare)) {
		return false;
	}

	const Xid xid = to_xid(word_in(in, kAtXid));
	const Bytes payload = in.after(type->bare);
	if (incoming.discarding(xid))
		return false;
	/* It begins a message, or goes on with the one that has begun. */
	if (incoming.active() ?
		    !incoming.active(xid) || incoming.taken() < kFirstWords :
		    to_xid(word_in(payload, 0)) != xid ||
			    word_in(payload, kWordSize) != dir)
		return false;
	if (!take_plain_credit(in))
		return false;

	const Fragment f = { xid, payload.size(),
			     type->last ? 0 : word_in(in, kAtRest),
			     type->last };
	Range place = {};
	u32 total = 0;
	if (incoming.take(f, config_.max_message, place, total) !=
	    Continuation::Verdict::Accept)
		return false;
	took_plain(in, *type, type->last, place, total, rx);
	return true;
}

void Session::receive(Bytes in, rpcrdma_rx &rx)
{
	if (closed()) {
		reset(rx);
		close(closed_, "the connection has ended before", rx);
		return;
	}

	const u32 kept = outstanding_ ? config_.reserve : 0;
	const u32 before = available();
	const u32 taken_back = credits_.taken_back();
	credits_.received();
	if (gathering() || !take_plain(in, rx)) {
		reset(rx);
		take(in, rx);
	}
	rx.credits = available();
	rx.taken_back = credits_.taken_back() != taken_back;
	rx.ample = version_ == kVersion2 && credits_.ample();
	if (closed()) {
		rx.kick = last_words_due();
		return;
	}
	/* A Call may be begun that could not be before, or at least a probe. */
	rx.kick = (before <= kept && rx.credits > kept) ||
		  (!before && rx.credits) || rx.opened ||
		  (!rx.ample && grant_due()) ||
		  (control_due() && may_send()) || has_wanted_room();
}

void Session::take(Bytes in, rpcrdma_rx &rx)
{
	Prefix p = {};

	if (client() && exchange_.sent == Told::Nothing)
		return close(RPCRDMA_REASON_EARLY,
			     "a server sends before its client", rx);
	if (!decode_prefix(in, p)) {
		if (!version1() && credits_.overrun(false))
			return close(RPCRDMA_REASON_CREDIT, kOverrun, rx);
		return drop(RPCRDMA_REASON_SHORT,
			    "shorter than the first four words", rx);
	}
	rx.xid = word_of(p.xid);
	rx.vers = p.vers;
	rx.htype = p.htype;
	/* Each version has some of these numbers, and both have ERROR. */
	if (p.vers == kVersion1 ?
		    p.htype <= RPCRDMA2_ERROR :
		    p.vers == kVersion2 && p.htype >= RPCRDMA2_ERROR &&
			    p.htype < RPCRDMA_TYPE_UNKNOWN)
		rx.type = p.htype;
	if (version_ ? p.vers != version_ : !speaks(p.vers))
		take_other_version(p, rx);
	else if (p.vers == kVersion1)
		take_version1(in, p, rx);
	else if (!version_ && !client() && in_dialect(in, p, rx))
		take_dialect(p, rx);
	else
		take_version2(in, p, rx);
}

/* The fourth word has meant "error" since version 1: never answer that. */
void Session::take_other_version(const Prefix &p, rpcrdma_rx &rx)
{
	const bool answerable = p.htype != RPCRDMA2_ERROR;
	const ErrorBody low_and_high = {
		RPCRDMA2_ERR_VERS, { config_.min_version, config_.max_version }
	};

	if (version1()) {
		drop(RPCRDMA_REASON_VERSION_MISMATCH, kOtherVersion, rx);
		/* Only a Responder says so (RFC 8166, section 4.5.1). */
		if (answerable && !client())
			answer(p,
			       { RPCRDMA2_ERR_VERS, { kVersion1, kVersion1 } },
			       rx);
		return;
	}
	if (version_) {
		if (credits_.overrun(false))
			return close(RPCRDMA_REASON_CREDIT, kOverrun, rx);
		if (gathering())
			interrupt(p.htype, nullptr, rx);
		if (closed())
			return;
		drop(RPCRDMA_REASON_VERSION_MISMATCH, kOtherVersion, rx);
		if (answerable)
			answer(p, { RPCRDMA2_ERR_VERS_MISMATCH, {} }, rx);
		return;
	}
	if (client() || (p.vers == kVersion1 &&
			 auth_.policy() == HostAuthPolicy::Required))
		auth_.version1();
	if (client())
		return close(auth_.failed() ? RPCRDMA_REASON_AUTH :
					      RPCRDMA_REASON_NO_VERSION,
			     kNotOurVersion, rx);

	if (auth_.failed())
		auth_close();
	drop(auth_.failed() ? RPCRDMA_REASON_AUTH : RPCRDMA_REASON_VERSION,
	     kNotOurVersion, rx);
	if (answerable)
		answer(p, low_and_high, rx);
	credits_.ping_pong(control_.size());
}

/* What a client sends first says which version 2 it means (D25). */
bool Session::in_dialect(Bytes in, const Prefix &p, rpcrdma_rx &rx)
{
	const bool its = of_2016(in, p, rx.chunks);

	clear(rx.chunks);
	return its;
}

/*
 * A peer of the dialect of 2016 knows two of our errors. From the one it learns that it may
 * go on with version 1. Where that is not so, it is told the other: it would take a range
 * with version 2 in it for its own.
 */
void Session::take_dialect(const Prefix &p, rpcrdma_rx &rx)
{
	drop(RPCRDMA_REASON_DIALECT, "a message of the dialect of 2016", rx);
	/* It is no GRANT. */
	rx.type = RPCRDMA_TYPE_UNKNOWN;
	if (speaks(kVersion1))
		answer(p, { RPCRDMA2_ERR_VERS, { kVersion1, kVersion1 } }, rx);
	else
		answer(p, { RPCRDMA2_ERR_BAD_XDR, {} }, rx);
	credits_.ping_pong(control_.size());
}

/* RFC 8166, section 4: other messages than RPC messages are refused, or ignored. */
void Session::take_version1(Bytes in, const Prefix &p, rpcrdma_rx &rx)
{
	Header h = {};

	h.prefix = p;
	if (p.htype == RPCRDMA2_ERROR)
		return take_error(in, h, rx);
	/* A client learns of version 1 from an error, or began with version 1. */
	if (client() && !version_)
		return close(RPCRDMA_REASON_NO_VERSION,
			     "version 1 in answer to version 2, and no error",
			     rx);
	if (!version_)
		begin_version1();
	if (p.htype == RPCRDMA1_DONE)
		return drop(RPCRDMA_REASON_HTYPE, "RDMA_DONE", rx);
	take_rpc(in, h, rx);
}

void Session::take_version2(Bytes in, const Prefix &p, rpcrdma_rx &rx)
{
	const HeaderType *type = header_type(p.htype);
	Header h = {};

	if (credits_.overrun(type && type->kind == Kind::Grant))
		return close(RPCRDMA_REASON_CREDIT, kOverrun, rx);

	/*
	 * An ERROR does not show that the peer speaks version 2: a version 1
	 * server may echo the version of what it refuses, and its credit word
	 * is no running count (D5).
	 */
	if (p.htype != RPCRDMA2_ERROR && version_ != kVersion2)
		begin_version2();
	if (version_ && !limit(p.credit))
		return close(RPCRDMA_REASON_CREDIT_LIMIT, kNoLimit, rx);

	if constexpr (Extensions::kOthers > 0)
		if (type && type->extension)
			rx.type = type->index;
	interloper_ = false;
	if (gathering())
		interrupt(p.htype, type, rx);
	if (closed())
		return;
	if (!type || !known(*type)) {
		drop(RPCRDMA_REASON_HTYPE,
		     type ? "a type of an extension that is not in use" :
			    "no such type",
		     rx);
		return answer(p, { RPCRDMA2_ERR_INVAL_HTYPE, {} }, rx);
	}
	h.prefix = p;
	h.type = type;
	switch (type->kind) {
	case Kind::Error:
		return take_error(in, h, rx);
	case Kind::Grant:
		return take_grant(in, rx);
	case Kind::Connprop:
		return take_connprop(in, h, rx);
	case Kind::Extension:
		return take_extension(in, h, rx);
	case Kind::Call:
	case Kind::Reply:
		if (!auth_over() && !auth_open(p, rx))
			return;
		return take_rpc(in, h, rx);
	}
}

/* What an extension gathers is over, unless this is of its own, or may come in between. */
void Session::interrupt([[maybe_unused]] u32 htype,
			[[maybe_unused]] const HeaderType *type,
			[[maybe_unused]] rpcrdma_rx &rx)
{
	if constexpr (Extensions::kOthers > 0) {
		const u32 by = type ? type->extension : 0;
		bool stays = true;

		if (by == gathering_ || (type && (type->kind == Kind::Error ||
						  type->kind == Kind::Grant)))
			return;
		Extensions::visit(gathering_, [&](auto which) {
			using E = typename decltype(which)::type;

			if constexpr (requires { &E::interrupted; })
				stays = with<E>([&](E &state, Port &port) {
					return state.interrupted(htype, by != 0,
								 port, rx);
				});
		});
		gathering_ = 0;
		interloper_ = true;
		if (!stays)
			close(RPCRDMA_REASON_FLOOD, kFlood, rx);
	}
}

/* The exchange has failed by this message: @code is what the peer is told, if anything. */
void Session::auth_failed(const Prefix &p, u32 code, rpcrdma_rx &rx)
{
	const char *detail = host_auth_reason(auth_.reason());

	close(RPCRDMA_REASON_AUTH, detail, rx);
	if (code == RPCRDMA2_ERR_NONE)
		return;
	drop(RPCRDMA_REASON_AUTH, detail, rx);
	answer(p, { code, {} }, rx);
}

/* An RPC message: its sender has no host authentication in mind. */
bool Session::auth_open(const Prefix &p, rpcrdma_rx &rx)
{
	auth_.other();
	if (!auth_.failed())
		return true;
	auth_failed(p, host_auth_error(auth_.reason()), rx);
	return false;
}

void Session::take_grant(Bytes in, rpcrdma_rx &rx)
{
	if (in.size() != kPrefixSize)
		return drop(RPCRDMA_REASON_XDR, "something follows a GRANT",
			    rx);
	rx.action = RPCRDMA_RX_CONTROL;
	if (!middle_received() && auth_over())
		open(rx);
}

/* Sections 7.1.1 and 7.1.2: the peer takes no more of this version. */
bool Session::version_refused(const rpcrdma_rx &rx) const
{
	if (rx.reason != RPCRDMA_REASON_NONE)
		return false;
	return (rx.errcode == RPCRDMA2_ERR_VERS_MISMATCH && !version1()) ||
	       (rx.errcode == RPCRDMA2_ERR_VERS &&
		(rx.errargs[0] > version_ || rx.errargs[1] < version_));
}

/* Section 7.1.3: the rest of what is being sent stays here. */
void Session::parts_refused(Xid xid)
{
	/* An extension's header types say nothing of those of version 2. */
	if (!sending_.active || grouping_ || sending_.dir != RPCRDMA_CALL ||
	    sending_.xid != xid)
		return;
	types_refused_ |= type_bit(*header_type(RPCRDMA2_CALL_MIDDLE));
	sending_.refused = true;
	settle();
}

/*
 * Section 7.1.3: do not send that type again. A peer that refuses a continued Call
 * means its parts, and may send an ERROR for each: that refuses one type, not several.
 */
void Session::type_refused(rpcrdma_message &msg)
{
	static constexpr u32 kOrder[] = { RPCRDMA2_CALL_EXTERNAL,
					  RPCRDMA2_CALL_MIDDLE,
					  RPCRDMA2_CALL_INLINE };

	for (const u32 htype : kOrder) {
		const u32 bit = type_bit(*header_type(htype));

		if (!(msg.types & bit))
			continue;
		msg.types = 0;
		types_refused_ |= bit;
		settle();
		/* A server has more to do than its own Calls. */
		if (htype == RPCRDMA2_CALL_INLINE && client() && !closed())
			end(RPCRDMA_REASON_HTYPE);
		break;
	}
}

rpcrdma_reason Session::call_refused(rpcrdma_message &msg, const rpcrdma_rx &rx)
{
	if (!rx.reported)
		return closed_;
	if (rx.errcode == RPCRDMA2_ERR_INVAL_HTYPE)
		type_refused(msg);
	/* No other version is spoken here, so there is nothing left to say. */
	if (version_refused(rx) && !closed())
		end(RPCRDMA_REASON_NO_VERSION);
	return closed_;
}

/* The peer refused our first message: it offers version 1, or speaks it (D5). */
bool Session::speaks_version1(const Header &h, Parse parsed) const
{
	/* What has sent a property set in version 2 does not lack that version. */
	if (!speaks(kVersion1) || version_)
		return false;
	if (h.error.code == RPCRDMA2_ERR_VERS)
		return parsed == Parse::Ok && h.error.arg[0] <= kVersion1 &&
		       h.error.arg[1] >= kVersion1;
	return h.prefix.vers == kVersion1;
}

/*
 * The peer answers in version 2, and does not know what every peer of it knows (6.1): it
 * means something else by version 2. Version 1 is left, but this connection may have been
 * taken for one of the peer's version 2 (D25).
 */
bool Session::foreign_final(const Header &h) const
{
	return speaks(kVersion1) && (h.error.code == RPCRDMA2_ERR_BAD_XDR ||
				     h.error.code == RPCRDMA2_ERR_INVAL_HTYPE);
}

/* An ERROR whose code means nothing here, or cannot be read. */
static void unknown_error(Parse parsed, rpcrdma_rx &rx)
{
	if (parsed == Parse::Ok)
		drop(RPCRDMA_REASON_UNKNOWN_ERROR,
		     "not an error code of this version", rx);
	else
		drop(RPCRDMA_REASON_XDR, kBrokenError, rx);
}

/*
 * An ERROR before the connection is open is about this side's FINAL, or about
 * nothing (D6). BAD_PROPVAL is not a code of version 1, so it is an answer in
 * version 2. After any other known code nothing is left to try. While hosts authenticate
 * each other every known code ends that, but one that says version 1 under "offered".
 */
void Session::take_first_error(const Header &h, Parse parsed, rpcrdma_rx &rx)
{
	if (h.prefix.xid != first_xid())
		return drop(RPCRDMA_REASON_EARLY,
			    "an error about nothing that was sent", rx);
	if (speaks_version1(h, parsed)) {
		auth_.version1();
		if (auth_.failed())
			return close(RPCRDMA_REASON_AUTH,
				     "the server has version 1 only", rx);
		begin_version1();
		rx.action = RPCRDMA_RX_CONTROL;
		return open(rx);
	}
	if (!error_type(h.error.code))
		return unknown_error(parsed, rx);
	if (!auth_.final()) {
		auth_.refuse(h.error.code == RPCRDMA2_ERR_VERS ?
				     HostAuthReason::Version :
				     HostAuthReason::Refused);
		return close(RPCRDMA_REASON_AUTH,
			     host_auth_reason(auth_.reason()), rx);
	}
	/* So says a server that demands host authentication (11.4.7). */
	if (h.error.code == RPCRDMA2_ERR_SYSTEM)
		return close(RPCRDMA_REASON_AUTH,
			     "SYSTEM in answer to CONNPROP: so says a server that "
			     "demands host authentication", rx);
	if (foreign_final(h))
		return close(RPCRDMA_REASON_DIALECT,
			     "the server does not know CONNPROP", rx);
	if (h.error.code != RPCRDMA2_ERR_BAD_PROPVAL)
		return close(RPCRDMA_REASON_NO_VERSION,
			     "the server has refused the first message", rx);
	begin_version2();
	if (!limit(h.prefix.credit))
		return close(RPCRDMA_REASON_CREDIT_LIMIT, kNoLimit, rx);
	properties_refused(rx);
	if (!closed())
		open(rx);
}

/*
 * The peer does not know this side's properties, so the defaults apply (4.2.2): it may size
 * its Receives by the default of Maximum Send Size, and send as much as the default of
 * Receive Buffer Size.
 */
void Session::properties_refused(rpcrdma_rx &rx)
{
	Properties &ours = local_;

	if (ours.recv_size < kDefaultProperties.recv_size)
		return close(RPCRDMA_REASON_PROPVAL,
			     "without our properties the peer would send more "
			     "than Receives here take",
			     rx);
	if (ours.send_size > kDefaultProperties.send_size)
		ours.send_size = kDefaultProperties.send_size;
	ours.reverse = kDefaultProperties.reverse;
	if (gathering())
		stop_gathering(rx);
	withdraw();
	settle();
	rx.action = RPCRDMA_RX_CONTROL;
}

/* Version 1 has two error codes; any other code is treated as one of them. */
static u32 error_code_v1(const ErrorBody &e)
{
	return e.code == RPCRDMA2_ERR_VERS ? RPCRDMA2_ERR_VERS :
					     RPCRDMA2_ERR_BAD_XDR;
}

void Session::take_error(Bytes in, Header &h, rpcrdma_rx &rx)
{
	h.type = header_type(RPCRDMA2_ERROR);
	const Parse parsed = decode_body(in, kNoLimits, h, rx.chunks);

	if (error_type(h.error.code))
		rx.errcode = h.error.code;
	if (client() && !opened())
		return take_first_error(h, parsed, rx);
	if (version1())
		h.error.code = error_code_v1(h.error);
	const ErrorType *type = error_type(h.error.code);
	if (!type)
		return unknown_error(parsed, rx);
	if (!auth_over() && exchange_.sent != Told::Nothing &&
	    h.prefix.xid == first_xid()) {
		auth_.refuse(HostAuthReason::Refused);
		return close(RPCRDMA_REASON_AUTH,
			     "the peer has refused host authentication", rx);
	}
	if (type->code == RPCRDMA2_ERR_BAD_PROPVAL &&
	    exchange_.sent == Told::Final && h.prefix.xid == first_xid())
		return properties_refused(rx);
	if (extension_refused(h.prefix.xid, type->code)) {
		rx.action = RPCRDMA_RX_CONTROL;
		return;
	}
	rx.action = RPCRDMA_RX_FAIL_RPC;
	if (parsed != Parse::Ok) {
		rx.reason = RPCRDMA_REASON_XDR;
		rx.detail = kBrokenError;
	}
	rx.error = type->error;
	rx.errcode = type->code;
	rx.reported = true;
	if (type->code == RPCRDMA2_ERR_INVAL_HTYPE)
		parts_refused(h.prefix.xid);
	if (parsed == Parse::Ok) {
		rx.errargs[0] = h.error.arg[0];
		rx.errargs[1] = h.error.arg[1];
	}
	answered(h.prefix.xid, h.prefix.credit);
	const Continuation &replies = incoming_[RPCRDMA_REPLY];
	if (replies.active(h.prefix.xid)) {
		/* A Reply that ends in the middle is an answer, too. */
		tell_answered(h.prefix.xid);
		abandon(RPCRDMA_REPLY, h.prefix.xid, false, replies.left(), rx);
	} else if (gathers_reply(h.prefix.xid)) {
		stop_gathering(rx);
	}
}

/*
 * The peer must be able to receive this many bytes: this side's FINAL is the largest
 * control message. With less, nothing can be sent.
 */
static constexpr u32 kSmallestReceive = kPrefixSize + kPropertiesSize;

/* What the peer's messages have said of it is in force. */
void Session::properties_settled(rpcrdma_rx &rx)
{
	peer_ = staged_;
	settle_receive_size(receive_told_, peer_);
	settle();
	if (peer_.recv_size < kSmallestReceive)
		close(RPCRDMA_REASON_PROPVAL,
		      "the peer's Receives are too small for anything", rx);
}

void Session::take_connprop(Bytes in, const Header &h, rpcrdma_rx &rx)
{
	Properties p = staged_;
	ReceiveTold told = receive_told_;
	const auto discard = [&](rpcrdma_reason reason, const char *detail,
				 u32 code) {
		if (!auth_over())
			reason = RPCRDMA_REASON_AUTH;
		auth_.refuse(HostAuthReason::Form);
		if (auth_.failed())
			return auth_failed(h.prefix, code, rx);
		drop(reason, detail, rx);
		answer(h.prefix, { code, {} }, rx);
		/*
		 * Only that message of the sequence is discarded (7.2.2). If it was
		 * the last, the sequence has ended.
		 */
		if (!h.type->last || !middle_received())
			return;
		exchange_.received = Told::Nothing;
		properties_settled(rx);
	};

	const bool ended = exchange_.received == Told::Final;

	if (ended || continuing()) {
		drop(RPCRDMA_REASON_CONTINUATION,
		     ended ? "a CONNPROP after the last one" :
			     "a CONNPROP between parts of a message",
		     rx);
		return answer(h.prefix, { RPCRDMA2_ERR_INVAL_CONT, {} }, rx);
	}
	switch (decode_properties(in.after(kPrefixSize), p, told)) {
	case PropertyParse::BadXdr:
		return discard(RPCRDMA_REASON_XDR,
			       "the list of properties does not end with the message",
			       RPCRDMA2_ERR_BAD_XDR);
	case PropertyParse::BadValue:
		return discard(RPCRDMA_REASON_PROPVAL,
			       "a property is too long for the message, or cannot "
			       "have this value",
			       RPCRDMA2_ERR_BAD_PROPVAL);
	case PropertyParse::Ok:
		break;
	}
	auth_.receive(in);
	if (auth_.failed())
		return auth_failed(h.prefix, host_auth_error(auth_.reason()),
				   rx);
	staged_ = p;
	receive_told_ = told;
	rx.action = RPCRDMA_RX_CONTROL;
	exchange_.received = h.type->last ? Told::Final : Told::Middle;
	if (h.type->last)
		properties_settled(rx);
	else
		settle();
	if (closed())
		return;
	/*
	 * A client with more to say needs credit for it, so a server answers
	 * the first MIDDLE already; a client has nothing to answer.
	 */
	if (auth_over() && (h.type->last || !client()))
		open(rx);
}

/* A message has been begun by the peer, of either direction, and not ended. */
bool Session::continuing() const
{
	return interloper_ || incoming_[RPCRDMA_CALL].active() ||
	       incoming_[RPCRDMA_REPLY].active();
}

/* Between the parts of a message it would be one that 6.3.6 and 6.3.9 forbid. */
void Session::take_extension(Bytes in, const Header &h, rpcrdma_rx &rx)
{
	Refusal why = { RPCRDMA_REASON_CONTINUATION, kBetween,
			RPCRDMA2_ERR_INVAL_CONT };
	const bool between = continuing();

	Extensions::visit(h.type->extension, [&](auto which) {
		using E = typename decltype(which)::type;

		if (!between)
			why = with<E>([&](E &state, Port &port) {
				return state.take(h, in.after(kPrefixSize),
						  port, rx);
			});
		else if constexpr (requires { &E::between; })
			Extensions::state<E>(extensions_).between(h, rx);
	});
	if (why.reason == RPCRDMA_REASON_FLOOD)
		return close(why.reason, why.detail, rx);
	if (why.reason == RPCRDMA_REASON_NONE) {
		if (rx.action == RPCRDMA_RX_DROP)
			rx.action = RPCRDMA_RX_CONTROL;
		return;
	}
	if (between && rx.action == RPCRDMA_RX_FAIL_RPC) {
		rx.reason = why.reason;
		rx.detail = why.detail;
	} else {
		drop(why.reason, why.detail, rx);
	}
	if (why.code != RPCRDMA2_ERR_NONE)
		answer(h.prefix, { why.code, { why.arg, 0 } }, rx);
}

/* An extension puts the Reply to this Call together. */
bool Session::gathers_reply([[maybe_unused]] Xid xid) const
{
	bool its = false;

	if (!gathering())
		return false;
	Extensions::visit(gathering_, [&](auto which) {
		using E = typename decltype(which)::type;

		if constexpr (requires { &E::gathers_reply; })
			its = Extensions::state<E>(extensions_)
				      .gathers_reply(xid);
	});
	return its;
}

/* Of what an extension gathers nothing more is taken, and nobody is told. */
void Session::stop_gathering([[maybe_unused]] rpcrdma_rx &rx)
{
	Extensions::visit(gathering_, [&](auto which) {
		using E = typename decltype(which)::type;

		if constexpr (requires { &E::stop; })
			Extensions::state<E>(extensions_).stop(rx);
	});
	gathering_ = 0;
}

/* An extension has sent the message that an ERROR is about. */
bool Session::extension_refused([[maybe_unused]] Xid xid,
				[[maybe_unused]] u32 code)
{
	bool its = false;

	for (u32 e = 1; e <= Extensions::kOthers && !its; e++)
		Extensions::visit(e, [&](auto which) {
			using E = typename decltype(which)::type;

			if constexpr (requires(E & state, Port & port) {
					      state.refused(xid, code, port);
				      })
				its = in_use(e) &&
				      with<E>([&](E &state, Port &port) {
					      return state.refused(xid, code,
								   port);
				      });
		});
	return its;
}

/* What an extension has to say of the RPC message in @rx. */
void Session::permit([[maybe_unused]] rpcrdma_rx &rx)
{
	for (u32 e = 1; e <= Extensions::kOthers; e++)
		Extensions::visit(e, [&](auto which) {
			using E = typename decltype(which)::type;

			if constexpr (requires { &E::permit; })
				if (in_use(e))
					with<E>([&](const E &state,
						    const Port &port) {
						state.permit(port, rx);
					});
		});
}

bool Session::supported(const HeaderType &t) const
{
	/* A client's ingress Calls are reverse-direction ones (section 4.6). */
	if (t.kind != Kind::Call || !client())
		return true;
	switch (terms_.reverse) {
	case RPCRDMA_RVRSDIR_NONE:
		return false;
	case RPCRDMA_RVRSDIR_SIMPLE:
		return t.last;
	default:
		return true;
	}
}

/* A Reply returns what its Call offered, so no limit of ours applies. */
Limits Session::limits_for(const HeaderType &t) const
{
	const Limits &most = version1() ? kNoLimitsV1 : kNoLimits;

	if (t.kind != Kind::Call)
		return most;
	if (client() && terms_.reverse < RPCRDMA_RVRSDIR_GENL)
		return { RPCRDMA_MAX_SEGMENTS, 0, 0 };
	return { version1() ? most.segments : local_.max_segments,
		 config_.max_read_chunks, config_.max_write_chunks };
}

rpcrdma_reason check_first_words(Bytes stream, Xid xid, rpcrdma_dir dir)
{
	XdrReader r(stream);
	u32 word;

	if (!r.word(word) || to_xid(word) != xid)
		return RPCRDMA_REASON_XID;
	if (r.word(word) && word != dir)
		return RPCRDMA_REASON_DIRECTION;
	return RPCRDMA_REASON_NONE;
}

/* For a refusal, what check_first_words() has found. */
static const char *first_words_detail(rpcrdma_reason reason)
{
	return reason == RPCRDMA_REASON_XID ?
		       "the message's xid is not the header's" :
		       "the message's msg_type is not that of the header";
}

/* A first part of one word leaves the direction to the next. */
rpcrdma_reason Session::first_words(const Header &h, Bytes part) const
{
	const rpcrdma_dir dir = h.type->direction();
	const Continuation &incoming = incoming_[dir];
	XdrReader r(part);
	u32 word;

	if (!incoming.active())
		return check_first_words(part, h.prefix.xid, dir);
	if (incoming.active(h.prefix.xid) && incoming.taken() == kWordSize &&
	    r.word(word) && word != dir)
		return RPCRDMA_REASON_DIRECTION;
	return RPCRDMA_REASON_NONE;
}

/*
 * Section 7.3.2: a Responder that takes no Write chunks and cannot continue a Reply
 * asks for a Reply chunk; the length of the Reply is not known yet.
 */
Refusal Session::no_writes(const Limits &limits) const
{
	if (!limits.write_chunks && client() &&
	    terms_.reverse == RPCRDMA_RVRSDIR_SIMPLE)
		return { RPCRDMA_REASON_CHUNKS,
			 "a Write chunk, where only a Reply chunk is taken",
			 RPCRDMA2_ERR_REPLY_RESOURCE };
	return { RPCRDMA_REASON_CHUNKS,
		 "more Write chunks than are taken, or a Reply chunk",
		 RPCRDMA2_ERR_WRITE_CHUNKS, limits.write_chunks };
}

/* Section 7.1 to 7.3: everything that can be wrong with an RPC message. */
Refusal Session::examine(Bytes in, Header &h, rpcrdma_rx &rx)
{
	const Limits limits = limits_for(*h.type);
	const Parse parsed = decode_body(in, limits, h, rx.chunks);

	if (!supported(*h.type))
		return kNoReverse;
	if (interrupts(h))
		return { RPCRDMA_REASON_CONTINUATION, kBetween,
			 RPCRDMA2_ERR_INVAL_CONT };
	return examine_lists(in, h, parsed, limits, rx);
}

/* Sections 6.3.3, 6.3.6 and 6.3.9: it is not a part of the message that has begun. */
bool Session::interrupts(const Header &h) const
{
	const Continuation &incoming = incoming_[h.type->direction()];

	return middle_received() || interloper_ ||
	       (incoming.active() &&
		(h.type->external() || !incoming.active(h.prefix.xid)));
}

/* The same for version 1, where the direction is known only after decoding. */
Refusal Session::examine_v1(Bytes in, Header &h, rpcrdma_rx &rx)
{
	const rpcrdma_dir mine = client() ? RPCRDMA_REPLY : RPCRDMA_CALL;
	Parse parsed = Parse::BadXdr;

	if (h.prefix.htype > RPCRDMA1_NOMSG) {
		h.type = &header_type_v1(RPCRDMA1_MSG, mine);
		return { RPCRDMA_REASON_HTYPE, "a type that this side does not take",
			 RPCRDMA2_ERR_INVAL_HTYPE };
	}
	parsed = decode_body_v1(in, h, rx.chunks);
	/* In the reverse direction there are no chunks (RFC 8167). */
	if (!h.type || (h.type->external() && !client()))
		h.type = &header_type_v1(h.prefix.htype, mine);

	const Limits limits = limits_for(*h.type);
	if (!supported(*h.type))
		return kNoReverse;
	if (parsed == Parse::Ok)
		parsed = within_limits(counted(rx.chunks), limits);
	return examine_lists(in, h, parsed, limits, rx);
}

/* What @limits allowed, as far as it has been @parsed. */
Refusal Session::examine_lists(Bytes in, const Header &h, Parse parsed,
			       const Limits &limits, rpcrdma_rx &rx)
{
	switch (parsed) {
	case Parse::BadXdr:
		return { RPCRDMA_REASON_XDR, kUnreadable,
			 RPCRDMA2_ERR_BAD_XDR };
	case Parse::TooManyReadChunks:
		return { RPCRDMA_REASON_CHUNKS, kReadChunks,
			 RPCRDMA2_ERR_READ_CHUNKS, limits.read_chunks };
	case Parse::TooManyWriteChunks:
		return no_writes(limits);
	case Parse::TooManySegments:
		return { RPCRDMA_REASON_CHUNKS, kTooManySegments,
			 RPCRDMA2_ERR_SEGMENTS, limits.segments };
	case Parse::Ok:
		break;
	}
	if (rx.chunks.n_call && !limits.read_chunks)
		return { RPCRDMA_REASON_CHUNKS,
			 "a Call chunk, and none is taken",
			 RPCRDMA2_ERR_READ_CHUNKS, 0 };
	if (rx.chunks.has_reply && !limits.write_chunks)
		return no_writes(limits);
	/* There is no code for this that says more (7.4.1). */
	if (!version1() && h.type->kind == Kind::Call &&
	    !segments_within(rx.chunks, local_.max_segment_size))
		return { RPCRDMA_REASON_CHUNKS, kSegmentTooLong,
			 RPCRDMA2_ERR_SYSTEM };
	if (h.type->payload) {
		const rpcrdma_reason reason = first_words(
			h, in.part(h.payload.offset, h.payload.length));

		if (reason != RPCRDMA_REASON_NONE)
			return { reason, first_words_detail(reason),
				 RPCRDMA2_ERR_BAD_XDR };
	}
	return assemble(h, rx);
}

/* A client may take less from its server than from its upper layer. */
u32 Session::max_message(rpcrdma_dir dir) const
{
	const bool reverse = client() && dir == RPCRDMA_CALL;

	return reverse && config_.max_reverse_call ? config_.max_reverse_call :
						     config_.max_message;
}

/*
 * The message parses, and no other choice of chunks would help. The error is that of
 * section 7.1.4 for a continued message, of 7.4.1 for others.
 */
Refusal Session::too_large(bool continued)
{
	return { RPCRDMA_REASON_TOO_LARGE, kTooLarge,
		 continued ? RPCRDMA2_ERR_INVAL_CONT : RPCRDMA2_ERR_SYSTEM };
}

Refusal Session::assemble(const Header &h, rpcrdma_rx &rx)
{
	const auto bad_xdr = [](const char *detail) {
		return Refusal{ RPCRDMA_REASON_XDR, detail,
				RPCRDMA2_ERR_BAD_XDR };
	};
	const auto broken = [](const char *detail) {
		return Refusal{ RPCRDMA_REASON_CONTINUATION, detail,
				RPCRDMA2_ERR_INVAL_CONT };
	};
	const u32 max = max_message(h.type->direction());
	Range place = {};
	u32 total = 0;

	if (h.type->external()) {
		const u64 length = body_length(rx.chunks, h.type->direction());

		if (!length || !xdr_aligned(length))
			return bad_xdr("no chunk that holds the message, or one of a "
				       "length that no message has");
		if (length > max)
			return too_large(false);
		total = static_cast<u32>(length);
	} else {
		Continuation &incoming = incoming_[h.type->direction()];
		const Fragment f = { h.prefix.xid, h.payload.length,
				     h.remaining, h.type->last };

		switch (incoming.take(f, max, place, total)) {
		case Continuation::Verdict::Accept:
			break;
		case Continuation::Verdict::TooLarge:
			return too_large(!h.type->last);
		case Continuation::Verdict::Broken:
			return broken("the lengths of the parts do not add up");
		case Continuation::Verdict::Interloper:
			return broken(kBetween);
		}
	}

	/* Who they are for, and of which direction, is in two words. */
	if (total < 2 * kWordSize)
		return bad_xdr(kTooShort);
	rx.dir = h.type->direction();
	if (h.type->last) {
		u64 unreduced;
		const bool fits = reads_valid(rx.chunks, total, unreduced);

		/* The continuation has ended, but what it left is void. */
		rx.abandon = place.offset > 0;
		if (!fits)
			return bad_xdr("Positions of Read chunks that cannot be");
		if (unreduced > max)
			return too_large(place.offset);
		rx.abandon = false;
		rx.unreduced_length = static_cast<u32>(unreduced);
	}
	rx.payload = h.payload;
	rx.stream_offset = place.offset;
	rx.stream_length = total;
	return {};
}

/*
 * It belongs to a message that was refused. A peer may send that message again with the
 * same XID (3.1.3), without sending the rest of the old one.
 */
bool Session::discarded(Bytes in, Header &h, rpcrdma_rx &rx)
{
	const rpcrdma_dir dir = h.type->direction();
	Continuation &incoming = incoming_[dir];

	if (!incoming.discarding(h.prefix.xid))
		return false;

	const Parse parsed = decode_body(in, limits_for(*h.type), h, rx.chunks);
	const Bytes part = in.part(h.payload.offset, h.payload.length);
	const Fragment f = { h.prefix.xid, h.payload.length, h.remaining,
			     h.type->last };
	if (parsed == Parse::Ok && part.size() >= 2 * kWordSize &&
	    !incoming.goes_on_with(f) &&
	    check_first_words(part, h.prefix.xid, dir) == RPCRDMA_REASON_NONE) {
		incoming.expect(h.prefix.xid);
		return false;
	}
	clear(rx.chunks);
	incoming.discarded(f);
	return true;
}

void Session::take_rpc(Bytes in, Header &h, rpcrdma_rx &rx)
{
	/* Version 1 has no type before its lists are read. */
	if (h.type && h.type->payload && discarded(in, h, rx))
		return drop(RPCRDMA_REASON_DISCARDING,
			    "a part of a message that was refused", rx);

	const Refusal why = h.type ? examine(in, h, rx) : examine_v1(in, h, rx);
	if (why.reason != RPCRDMA_REASON_NONE)
		return refuse_rpc(h, why, rx);

	rx.action = RPCRDMA_RX_PAYLOAD;
	rx.last = h.type->last;
	if (rx.last && h.type->kind == Kind::Reply)
		answered(h.prefix.xid, h.prefix.credit);
	rx.external = h.type->external();
	rx.inv_handle = h.inv_handle;
	/* Version 1 leaves it to the Responder (RFC 8797). */
	if (version1() && h.type->kind == Kind::Call && private_.remote_inv)
		rx.inv_handle = inv_handle(rx.chunks);
	if (rx.inv_handle)
		permit(rx);
	open(rx);
}

void Session::refuse_rpc(const Header &h, const Refusal &why, rpcrdma_rx &rx)
{
	const ErrorBody body = { why.code, { why.arg, 0 } };
	const rpcrdma_dir dir = h.type->direction();
	/* More of what it has broken into may be under way. */
	const bool broke =
		h.type->external() && incoming_[dir].active(h.prefix.xid);
	const bool rest = !h.type->last || broke;

	abandon(dir, h.prefix.xid, !rest,
		broke ? incoming_[dir].left() : h.remaining, rx);
	rx.reason = why.reason;
	rx.detail = why.detail;
	rx.detail_at = h.end;
	if (h.type->kind == Kind::Call) {
		rx.action = RPCRDMA_RX_DROP;
		return answer(h.prefix, body, rx);
	}
	answered(h.prefix.xid, h.prefix.credit);
	/* So has the one that it has broken into. */
	if (broke)
		tell_answered(h.prefix.xid);
	rx.action = RPCRDMA_RX_FAIL_RPC;
	rx.error = -kEIO;
	rx.errcode = why.code;
	if (why.code == RPCRDMA2_ERR_INVAL_CONT)
		answer(h.prefix, body, rx);
}

bool Session::release(u32 count)
{
	if (closed())
		return false;
	if (!RPCRDMA_CHECK(credits_.release(count))) {
		end(RPCRDMA_REASON_INVARIANT);
		return false;
	}
	return !credits_.ample() && grant_due();
}

} // namespace rpcrdma
