// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Decides what a session sends next.
 *
 * Order: its own CONNPROP_FINAL; other control messages; the message; a GRANT. Each message
 * carries the credit word, so a GRANT is sent only when nothing else is to be sent, or
 * nothing else may be sent. Between the parts of a message only a GRANT
 * is sent (6.3.6, 6.3.9): the receiver need not accept anything else, and the next part
 * can use the credit that an ERROR would use.
 *
 * The credit in reserve only prevents the start of a Call: Replies
 * and the parts of a message already begun may use it, since the answer that the
 * reserve waits for may depend on them.
 *
 * A caller that can keep its Calls asks for admission first: a Call that is admitted has
 * credit for all of its Sends. One Call is admitted with less, if it is alone: it may need
 * more credits than the peer ever allows at one time.
 *
 * In version 1 only Calls need credit.
 */
#include "check.h"
#include "plain.h"

namespace rpcrdma
{

/* As send_part() divides it. What cannot be sent counts as one. */
inline u32 Session::sends_for(const rpcrdma_message &msg) const
{
	const Plain &types = terms_.plain_out;

	if (client() && types.last && !msg.external &&
	    (!msg.chunks || unused(*msg.chunks)) &&
	    msg.length <= types.max - types.last->bare)
		return 1;
	return sends_in_general(msg);
}

bool Session::has_room(u32 sends) const
{
	/* Whoever then sends learns of it, and ends the connection: nobody else might. */
	if (!opened())
		return closed_ == RPCRDMA_REASON_INVARIANT;
	const u32 credits = available();
	if (!reserved_)
		return credits > (outstanding_ ? config_.reserve : 0);
	return u64{ reserved_ } + sends + config_.reserve <= credits;
}

/* What a message needs of @sends Sends is kept for it, if it is there. */
inline bool Session::keep_room(rpcrdma_message *msg, u32 sends)
{
	if (msg)
		unreserve(*msg);
	if (!has_room(sends)) {
		if (!wanted_)
			blocked_++;
		wanted_ = sends;
		return false;
	}
	if (msg) {
		msg->reserved = sends;
		reserved_ += sends;
	}
	return true;
}

bool Session::admit(rpcrdma_message *msg)
{
	return keep_room(msg, msg ? sends_for(*msg) : 1);
}

bool Session::admit(rpcrdma_message *msg, u32 sends)
{
	return keep_room(msg, sends);
}

bool Session::room()
{
	if (!has_wanted_room())
		return false;
	wanted_ = 0;
	return true;
}

/* No Send of @msg is to come: others may have its credits. */
void Session::unreserve(rpcrdma_message &msg)
{
	if (!RPCRDMA_CHECK(msg.reserved <= reserved_))
		end(RPCRDMA_REASON_INVARIANT);
	else
		reserved_ -= msg.reserved;
	msg.reserved = 0;
}

bool Session::end_call(rpcrdma_message &msg)
{
	unreserve(msg);
	if (!msg.outstanding)
		return opened() && has_wanted_room();
	if (!RPCRDMA_CHECK(outstanding_)) {
		end(RPCRDMA_REASON_INVARIANT);
		return false;
	}
	msg.outstanding = false;
	outstanding_--;
	if (!opened())
		return false;
	/* No probe is needed any more, so the reserve is for whoever comes. */
	const u32 credits = available();
	const bool freed = !outstanding_ && credits &&
			   credits <= config_.reserve;
	return freed || has_wanted_room();
}

bool Session::exchange_due() const
{
	return auth_.final() ? client() || opened() : auth_.due();
}

/* The session is closed. */
rpcrdma_tx_result Session::send_last(MutableBytes out, rpcrdma_tx &tx)
{
	if (last_words_due())
		return send_control(out, tx);
	return closed_ == RPCRDMA_REASON_INVARIANT ? RPCRDMA_TX_INVALID :
						     RPCRDMA_TX_NONE;
}

rpcrdma_tx_result Session::decide(rpcrdma_message *msg, MutableBytes out,
				  rpcrdma_tx &tx)
{
	if (closed())
		return send_last(out, tx);
	/* The peer has taken credits back, and may need this to give any (D20). */
	if (grouping() && grant_due() && !available())
		return send_grant(out, tx);
	if (grouping())
		return RPCRDMA_TX_BLOCKED;

	if (may_send()) {
		if (properties_due())
			return send_properties(out, tx);
		if (!control_.empty() && !sending_.active)
			return send_control(out, tx);
		if (msg && opened() && may_go(*msg))
			return send_message(*msg, out, tx);
	}
	if (msg && opened() && !waiting_) {
		waiting_ = true;
		blocked_++;
	}
	if (grant_due())
		return send_grant(out, tx);
	return msg || control_due() ? RPCRDMA_TX_BLOCKED : RPCRDMA_TX_NONE;
}

rpcrdma_tx_result Session::send_any(rpcrdma_message *msg, MutableBytes out,
				    rpcrdma_tx &tx)
{
	reset(tx);
	const rpcrdma_tx_result result = decide(msg, out, tx);

	tx.more = closed() || control_due() || grant_due();
	return result;
}

rpcrdma_tx_result Session::next_send(rpcrdma_message *msg, MutableBytes out,
				     rpcrdma_tx &tx)
{
	if (msg) {
		if (control_.empty() && !grouping() && may_send() &&
		    may_go(*msg) && send_plain(*msg, out, tx)) {
			/* It carried the credit word, and nothing else waits. */
			tx.more = closed();
			return RPCRDMA_TX_MESSAGE;
		}
	} else if (!closed() && !control_due() && !grant_due()) {
		/* Often asked, when a group may begin: is there anything else? */
		reset(tx);
		return RPCRDMA_TX_NONE;
	}
	return send_any(msg, out, tx);
}

rpcrdma_tx_result Session::send_message(rpcrdma_message &msg, MutableBytes out,
					rpcrdma_tx &tx)
{
	const rpcrdma_tx_result result = msg.external ?
						 send_external(msg, out, tx) :
						 send_part(msg, out, tx);

	if (result != RPCRDMA_TX_MESSAGE)
		unreserve(msg);
	return result;
}

static rpcrdma_tx_result control(const Header &h, u32 size, rpcrdma_tx &tx)
{
	tx.xid = word_of(h.prefix.xid);
	tx.htype = h.type->htype;
	tx.type = h.type->index;
	tx.header_length = size;
	return RPCRDMA_TX_CONTROL;
}

/*
 * All of this side's properties fit its first message: only host authentication makes
 * another one (6.3.3).
 */
static_assert(kPrefixSize + kPropertiesSizeMax + kHostAuthValueMost <=
	      kFirstMessageMax);

static u32 encode_no_properties(MutableBytes out)
{
	XdrWriter w(out);

	w.word(0);
	return w.ok() ? w.size() : 0;
}

rpcrdma_tx_result Session::send_properties(MutableBytes out, rpcrdma_tx &tx)
{
	const u32 due = auth_.final() ? 0 : auth_.due();
	const u32 htype = due ? due : u32{ RPCRDMA2_CONNPROP_FINAL };
	const Header h = {
		.prefix = { first_xid(), kVersion2, credits_.credit(), htype },
		.type = header_type(htype),
	};
	const u32 head = encode(h, nullptr, out);
	u32 set = exchange_.sent == Told::Nothing ?
			  encode_properties(local_, out.after(head)) :
			  encode_no_properties(out.after(head));

	/* A peer with Receives as small as can be is told what is needed alone. */
	if (opened() && set > kPropertiesSize && head + set > terms_.max_send) {
		withdraw();
		set = encode_properties(local_, out.after(head));
	}

	if (!head || !set)
		return RPCRDMA_TX_INVALID;
	u32 size = head + set;
	if (due) {
		size = auth_.add(out, size);
		if (!size) {
			auth_close();
			return RPCRDMA_TX_INVALID;
		}
	}
	exchange_.sent = h.type->last ? Told::Final : Told::Middle;
	settle();
	credits_.sent();
	return control(h, size, tx);
}

rpcrdma_tx_result Session::send_control(MutableBytes out, rpcrdma_tx &tx)
{
	if (Extensions::kOthers && control_.front().type != RPCRDMA2_ERROR)
		return send_extension(out, tx);
	return send_error(out, tx);
}

/* What an extension sends fits wherever the FINAL does. */
static_assert(Extensions::largest_body() <= kPropertiesSize);

rpcrdma_tx_result Session::send_extension(MutableBytes out, rpcrdma_tx &tx)
{
	const ControlMessage &m = control_.front();
	const Header h = {
		.prefix = { m.xid, kVersion2, credits_.credit(), 0 },
		.type = type_at(m.type),
	};
	const u32 head = encode(h, nullptr, out);
	XdrWriter w(out.after(head));

	Extensions::visit(h.type->extension, [&](auto which) {
		using E = typename decltype(which)::type;

		with<E>([&](E &state, const Port &port) {
			state.encode(m, port, w);
		});
	});
	if (!head || !w.ok())
		return RPCRDMA_TX_INVALID;
	if (!RPCRDMA_CHECK(w.size() <= Extensions::largest_body())) {
		end(RPCRDMA_REASON_INVARIANT);
		return RPCRDMA_TX_INVALID;
	}
	control_.pop();
	credits_.sent();
	return control(h, head + w.size(), tx);
}

rpcrdma_tx_result Session::send_error(MutableBytes out, rpcrdma_tx &tx)
{
	const ControlMessage &e = control_.front();
	/*
	 * For version 1 the word is the number of Calls that the peer may have outstanding.
	 * Who is refused version 2 may go on with version 1, and the dialect of 2016 has the
	 * same word.
	 */
	const u32 credit = e.vers <= kVersion2 && !version_ ?
				   credits_.window() :
				   credit_word(RPCRDMA_REPLY);
	Header h = {
		.prefix = { e.xid, e.vers, credit, RPCRDMA2_ERROR },
		.type = header_type(RPCRDMA2_ERROR),
		.error = { e.words[0], { e.words[1], e.words[2] } },
	};
	/* Version 1 has ERR_CHUNK for everything else. */
	if (version1() && h.error.code != RPCRDMA2_ERR_VERS)
		h.error.code = RPCRDMA2_ERR_BAD_XDR;
	const u32 size = encode(h, nullptr, out);

	if (!size)
		return RPCRDMA_TX_INVALID;
	tx.errcode = e.words[0];
	tx.errargs[0] = e.words[1];
	tx.errargs[1] = e.words[2];
	control_.pop();
	credits_.sent();
	return control(h, size, tx);
}

rpcrdma_tx_result Session::send_grant(MutableBytes out, rpcrdma_tx &tx)
{
	const Header h = {
		.prefix = { {}, kVersion2, credits_.credit(), RPCRDMA2_GRANT },
		.type = header_type(RPCRDMA2_GRANT),
	};
	const u32 size = encode(h, nullptr, out);

	if (!size)
		return RPCRDMA_TX_INVALID;
	credits_.sent();
	return control(h, size, tx);
}

/* This side follows the rules that it checks in its peers (D7, 5.2.3, 5.2.4, 6.5). */
bool Session::chunks_sendable(const rpcrdma_message &msg) const
{
	const Chunks &c = *msg.chunks;
	const bool call = msg.dir == RPCRDMA_CALL;
	u64 unreduced;

	if (!well_formed(c))
		return false;
	if (msg.call_only ||
	    (sends_reversed(msg.dir) && terms_.reverse < RPCRDMA_RVRSDIR_GENL))
		return no_chunks(c);
	if (msg.external && body_length(c, msg.dir) != msg.length)
		return false;
	if (call ? c.n_call && !msg.external : c.n_call || c.n_reads)
		return false;
	/* Version 1 also returns a Reply chunk that has not been used. */
	if (!call)
		return c.has_reply == msg.external ||
		       (version1() && !body_length(c, msg.dir));
	return total_segments(c) <= terms_.max_segments &&
	       segments_within(c, terms_.max_segment_size) &&
	       reads_valid(c, msg.length, unreduced) &&
	       handle_known(c, msg.inv_handle);
}

bool Session::sendable(const rpcrdma_message &msg) const
{
	if (msg.dir > RPCRDMA_REPLY || !msg.length ||
	    !xdr_aligned(msg.length) || msg.sent >= msg.length)
		return false;
	if (sending_.active ? !goes_on(msg) : msg.sent != 0)
		return false;
	if (sends_reversed(msg.dir) && terms_.reverse == RPCRDMA_RVRSDIR_NONE)
		return false;
	if (msg.external && (!msg.chunks || no_chunks(*msg.chunks)))
		return false;
	return msg.chunks ? chunks_sendable(msg) : !msg.inv_handle;
}

/* The header of a message in one Send, or of the last part of a message. */
const HeaderType &Session::type_of(const rpcrdma_message &msg) const
{
	const bool call = msg.dir == RPCRDMA_CALL;

	if (version1())
		return header_type_v1(
			msg.external ? RPCRDMA1_NOMSG : RPCRDMA1_MSG, msg.dir);
	if (msg.external)
		return *header_type(call ? RPCRDMA2_CALL_EXTERNAL :
					   RPCRDMA2_REPLY_EXTERNAL);
	return *header_type(call ? RPCRDMA2_CALL_INLINE :
				   RPCRDMA2_REPLY_INLINE);
}

/* The header of a part that is not the last. */
static const HeaderType &middle_of(const rpcrdma_message &msg)
{
	return *header_type(msg.dir == RPCRDMA_CALL ? RPCRDMA2_CALL_MIDDLE :
						      RPCRDMA2_REPLY_MIDDLE);
}

/* Of what is not plain. */
u32 Session::sends_in_general(const rpcrdma_message &msg) const
{
	const u32 max = terms_.max_send & ~(kXdrUnit - 1);
	const u32 last = header_size(type_of(msg), msg.chunks);

	if (msg.external || version1() || last + kXdrUnit > max ||
	    msg.length <= max - last)
		return 1;
	const u32 part = max - header_size(middle_of(msg), nullptr);

	return 1 + static_cast<u32>(
			   (u64{ msg.length } - (max - last) + part - 1) /
			   part);
}

rpcrdma_tx_result Session::send_part(rpcrdma_message &msg, MutableBytes out,
				     rpcrdma_tx &tx)
{
	const HeaderType *type = &type_of(msg);
	const u32 max = msg.dir == RPCRDMA_REPLY ? terms_.max_bare_reply :
						   terms_.max_send;

	if (!sendable(msg))
		return RPCRDMA_TX_INVALID;
	u32 head = header_size(*type, msg.chunks);
	u32 part = msg.length - msg.sent;
	if (head > max || max - head < kXdrUnit)
		return RPCRDMA_TX_INVALID;
	if (part > max - head) {
		if (version1() || (sends_reversed(msg.dir) &&
				   terms_.reverse < RPCRDMA_RVRSDIR_CONT))
			return RPCRDMA_TX_INVALID;
		type = &middle_of(msg);
		head = header_size(*type, nullptr);
		part = middle_part(part, max - head);
	}

	if (sending_.refused) {
		sending_ = {};
		return RPCRDMA_TX_REFUSED;
	}
	if (types_refused_ & type_bit(*type))
		return RPCRDMA_TX_INVALID;

	const Header h = {
		.prefix = { to_xid(msg.xid), version_, credit_word(msg.dir),
			    type->htype },
		.type = type,
		.remaining = msg.length - msg.sent - part,
		.inv_handle = msg.inv_handle,
	};
	const u32 size = encode(h, msg.chunks, out);
	if (!size)
		return RPCRDMA_TX_INVALID;
	if (!RPCRDMA_CHECK(size == head && part)) {
		end(RPCRDMA_REASON_INVARIANT);
		return RPCRDMA_TX_INVALID;
	}

	post_part(msg, part, *type, type->last, size, tx);
	return RPCRDMA_TX_MESSAGE;
}

/* Special Format: the header is all that is sent (section 6.6.3). */
rpcrdma_tx_result Session::send_external(rpcrdma_message &msg, MutableBytes out,
					 rpcrdma_tx &tx)
{
	const Header h = {
		.prefix = { to_xid(msg.xid), version_, credit_word(msg.dir),
			    0 },
		.type = &type_of(msg),
		.inv_handle = msg.inv_handle,
	};

	if (!sendable(msg) || types_refused_ & type_bit(*h.type) ||
	    header_size(*h.type, msg.chunks) > terms_.max_send)
		return RPCRDMA_TX_INVALID;
	const u32 size = encode(h, msg.chunks, out);
	if (!size)
		return RPCRDMA_TX_INVALID;

	tx.xid = msg.xid;
	tx.htype = h.type->htype;
	tx.type = h.type->index;
	tx.header_length = size;
	tx.first = true;
	tx.last = true;
	account(msg, msg.length, *h.type, h.type->last);
	return RPCRDMA_TX_MESSAGE;
}

} // namespace rpcrdma
