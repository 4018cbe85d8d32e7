/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The short way of nearly every message.
 *
 * A plain message is an RPC message in the usual direction, Calls from client to server,
 * whose header has no chunks: INLINE, a MIDDLE, or MSG of version 1. All of its header
 * but a few words is known beforehand, so it is written and read here without the tables.
 *
 * What is not plain, and all that is wrong in any way, is left to the general code, as if
 * this file were not there: take_plain() and send_plain() return false before they have
 * changed anything that the general code would not change in the same way. unit_plain.cpp
 * compares both.
 *
 * Each is part of the one function that calls it: it is executed for every message.
 */
#ifndef _RPCRDMA_CORE_PLAIN_H
#define _RPCRDMA_CORE_PLAIN_H

#include "session.h"
#include "xdr.h"

namespace rpcrdma
{

/* Where the words of a header are. */
inline constexpr u32 kAtXid = 0;
inline constexpr u32 kAtVersion = 4;
inline constexpr u32 kAtCredit = 8;
inline constexpr u32 kAtType = 12;
/* Of a MIDDLE rdma_remaining; else rdma_inv_handle and the lists, which are all zero. */
inline constexpr u32 kAtRest = 16;

static_assert(kAtType + kWordSize == kPrefixSize && kAtRest == kPrefixSize);

/* RPC's own XID and direction. */
inline constexpr u32 kFirstWords = 2 * kWordSize;
/* Smaller ones, such as a short last part, go the general way. */
inline constexpr u32 kSmallestPlain = kLargestPlain + kFirstWords;

[[nodiscard]] inline u32 word_in(Bytes in, u32 at)
{
	return load_be32(in.data() + at);
}

[[nodiscard]] inline bool all_zero(const u8 *at, const u8 *end)
{
	for (; at != end; at += kWordSize)
		if (load_be32(at))
			return false;
	return true;
}

/* Headers without chunks, of the types that end a message. */
inline constexpr u32 kBareCall = kLargestPlain;
inline constexpr u32 kBareReply = bare_size(kFieldWrites);
inline constexpr u32 kBareMsg =
	bare_size(kFieldReads | kFieldWrites | kFieldReply);

/* See rpcrdma_header_is_bare(). @in is the first octets of a message of any session. */
[[nodiscard]] inline bool bare(Bytes in)
{
	const u32 vers = word_in(in, kAtVersion);
	const u32 htype = word_in(in, kAtType);
	u32 end = 0;

	if (vers == kVersion2 && htype == RPCRDMA2_CALL_INLINE)
		end = kBareCall;
	else if (vers == kVersion2 && htype == RPCRDMA2_REPLY_INLINE)
		end = kBareReply;
	else if (vers == kVersion1 && htype == RPCRDMA1_MSG)
		end = kBareMsg;
	else
		return vers == kVersion2 && (htype == RPCRDMA2_CALL_MIDDLE ||
					     htype == RPCRDMA2_REPLY_MIDDLE);
	return all_zero(in.data() + kAtRest, in.data() + end);
}

/* Nothing has come of it. */
[[gnu::always_inline]] inline void reset(rpcrdma_rx &rx)
{
	rx.action = RPCRDMA_RX_DROP;
	rx.reason = RPCRDMA_REASON_NONE;
	rx.htype = 0;
	rx.type = RPCRDMA_TYPE_UNKNOWN;
	rx.vers = 0;
	rx.xid = 0;
	rx.error = 0;
	rx.errcode = RPCRDMA2_ERR_NONE;
	rx.errargs[0] = 0;
	rx.errargs[1] = 0;
	rx.detail = nullptr;
	rx.detail_at = 0;
	rx.reported = false;
	rx.kick = false;
	rx.credits = 0;
	rx.taken_back = false;
	rx.ample = false;
	rx.opened = false;
	rx.abandon = false;
	rx.last = false;
	rx.external = false;
	rx.dir = RPCRDMA_CALL;
	rx.payload = {};
	rx.stream_offset = 0;
	rx.stream_length = 0;
	rx.unreduced_length = 0;
	rx.inv_handle = 0;
	clear(rx.chunks);
}

/* Nothing is sent of it. By member: g++ would clear so little with "rep stos". */
[[gnu::always_inline]] inline void reset(rpcrdma_tx &tx)
{
	tx.xid = 0;
	tx.htype = 0;
	tx.type = 0;
	tx.header_length = 0;
	tx.payload = {};
	tx.first = false;
	tx.last = false;
	tx.errcode = RPCRDMA2_ERR_NONE;
	tx.errargs[0] = 0;
	tx.errargs[1] = 0;
	tx.more = false;
}

/* Return: false if the general code has to look at it; nothing is lost then. */
[[gnu::always_inline]] inline bool Session::take_plain(Bytes in, rpcrdma_rx &rx)
{
	const rpcrdma_dir dir = client() ? RPCRDMA_REPLY : RPCRDMA_CALL;
	const Plain &types = terms_.plain_in;
	Continuation &incoming = incoming_[dir];

	if (!types.last || !opened() || middle_received() ||
	    in.size() < kSmallestPlain || word_in(in, kAtVersion) != version_)
		return false;

	const u32 htype = word_in(in, kAtType);
	const bool last = htype == types.last->htype;
	if (!last && (!types.middle || htype != types.middle->htype))
		return false;
	const HeaderType &type = last ? *types.last : *types.middle;
	const Xid xid = to_xid(word_in(in, kAtXid));
	const Bytes payload = in.part(type.bare, in.size() - type.bare);
	if ((last && !all_zero(in.data() + kAtRest, payload.data())) ||
	    !xdr_aligned(payload.size()) || incoming.discarding(xid))
		return false;

	/* It begins a message, or goes on with the one that has begun. */
	const bool begins = !incoming.active();
	if (begins ? to_xid(word_in(payload, 0)) != xid ||
			     word_in(payload, kWordSize) != dir :
		     !incoming.active(xid) || incoming.taken() < kFirstWords)
		return false;
	/* To take in the same word again changes nothing. */
	const u32 credit = word_in(in, kAtCredit);
	if (!version1() && (credits_.overrun(false) || !limit(credit)))
		return false;

	Range place = { 0, payload.size() };
	u32 total = payload.size();
	if (begins && last) {
		if (!incoming.take_whole(total, config_.max_message))
			return false;
	} else {
		const Fragment f = { xid, payload.size(),
				     last ? 0 : word_in(in, kAtRest), last };

		if (incoming.take(f, config_.max_message, place, total) !=
		    Continuation::Verdict::Accept)
			return false;
	}

	/* Read before @rx is written, for all that the compiler knows. */
	const u32 index = type.index;
	const u32 header = type.bare;
	const u32 vers = version_;

	reset(rx);
	rx.action = RPCRDMA_RX_PAYLOAD;
	rx.htype = htype;
	rx.type = index;
	rx.vers = vers;
	rx.xid = word_of(xid);
	rx.last = last;
	rx.dir = dir;
	rx.payload = { header, payload.size() };
	rx.stream_offset = place.offset;
	rx.stream_length = total;
	rx.unreduced_length = last ? total : 0;
	if (version1() && client())
		answered(xid, credit);
	else if (last && client())
		tell_answered(xid);
	return true;
}

/* Return: false if the general code has to decide; nothing has changed then. */
[[gnu::always_inline]] inline bool
Session::send_plain(rpcrdma_message &msg, MutableBytes out, rpcrdma_tx &tx)
{
	const Plain &types = terms_.plain_out;
	const rpcrdma_dir dir = client() ? RPCRDMA_CALL : RPCRDMA_REPLY;
	const HeaderType *type = types.last;
	u32 part = msg.length - msg.sent;

	if (!type || msg.dir != dir || msg.external || msg.inv_handle ||
	    (msg.chunks && !unused(*msg.chunks)) || out.size() < kLargestPlain)
		return false;
	if (msg.sent >= msg.length || !xdr_aligned(msg.length) ||
	    (sending_.active ? !goes_on(msg) || sending_.refused : msg.sent))
		return false;
	if (part > types.max - type->bare) {
		type = types.middle;
		if (!type)
			return false;
		part = middle_part(part, types.max - type->bare);
	}

	/* Read before the buffer is written, for all that the compiler knows. */
	const u32 header = type->bare;
	const u32 remaining = msg.length - msg.sent - part;

	u8 *const to = out.data();
	store_be32(to + kAtXid, msg.xid);
	store_be32(to + kAtVersion, version_);
	store_be32(to + kAtCredit, credit_word(dir));
	store_be32(to + kAtType, type->htype);
	store_be32(to + kAtRest, remaining);
	for (u32 at = kAtRest + kWordSize; at != header; at += kWordSize)
		store_be32(to + at, 0);
	post_part(msg, part, *type, type->last, header, tx);
	return true;
}

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_PLAIN_H */
