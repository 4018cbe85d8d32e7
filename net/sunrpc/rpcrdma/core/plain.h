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
 * Both are inline in the one function that calls them, since it is executed for every message.
 * take_plain_part(), in receive.cpp, is a function of its own: most messages have one part.
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

/* Headers without chunks, of the types that end a message. */
inline constexpr u32 kBareCall = kLargestPlain;
inline constexpr u32 kBareReply = bare_size(kFieldWrites);
inline constexpr u32 kBareMsg =
	bare_size(kFieldReads | kFieldWrites | kFieldReply);

/* Behind the first four words is one word more, or what two numbers cover. */
[[nodiscard]] constexpr bool one_word(u32 header)
{
	return header == kAtRest + kWordSize;
}
[[nodiscard]] constexpr bool two_cover(u32 header)
{
	return header - kAtRest >= sizeof(u64) &&
	       header - kAtRest <= 2 * sizeof(u64);
}
static_assert(two_cover(kBareCall) && one_word(kBareReply) &&
	      two_cover(kBareMsg));

[[nodiscard]] inline bool no_lists(const u8 *in, u32 header)
{
	u64 first;
	u64 last;

	if (one_word(header))
		return !load_be32(in + kAtRest);
	__builtin_memcpy(&first, in + kAtRest, sizeof(first));
	__builtin_memcpy(&last, in + header - sizeof(last), sizeof(last));
	return !(first | last);
}

inline void put_no_lists(u8 *out, u32 header)
{
	constexpr u64 none = 0;

	if (one_word(header))
		return store_be32(out + kAtRest, 0);
	__builtin_memcpy(out + kAtRest, &none, sizeof(none));
	__builtin_memcpy(out + header - sizeof(none), &none, sizeof(none));
}

/* See rpcrdma_header_is_bare(). @in is the first octets of a message of any session. */
[[nodiscard]] inline bool bare(Bytes in)
{
	const u32 vers = word_in(in, kAtVersion);
	const u32 htype = word_in(in, kAtType);

	if (vers == kVersion2) {
		if (htype == RPCRDMA2_CALL_INLINE)
			return no_lists(in.data(), kBareCall);
		if (htype == RPCRDMA2_REPLY_INLINE)
			return no_lists(in.data(), kBareReply);
		return htype == RPCRDMA2_CALL_MIDDLE ||
		       htype == RPCRDMA2_REPLY_MIDDLE;
	}
	return vers == kVersion1 && htype == RPCRDMA1_MSG &&
	       no_lists(in.data(), kBareMsg);
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
	rx.detail = nullptr;
	rx.detail_at = 0;
	rx.error = 0;
	rx.errcode = RPCRDMA2_ERR_NONE;
	rx.errargs[0] = 0;
	rx.errargs[1] = 0;
	rx.inv_handle = 0;
	rx.reported = false;
	rx.opened = false;
	rx.abandon = false;
	rx.external = false;
	rx.kick = false;
	rx.taken_back = false;
	rx.ample = false;
	rx.last = false;
	rx.credits = 0;
	rx.dir = RPCRDMA_CALL;
	rx.payload = {};
	rx.stream_offset = 0;
	rx.stream_length = 0;
	rx.unreduced_length = 0;
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
	tx.errcode = RPCRDMA2_ERR_NONE;
	tx.errargs[0] = 0;
	tx.errargs[1] = 0;
	tx.first = false;
	tx.last = false;
	tx.more = false;
}

/* To take in the same word again changes nothing. */
[[gnu::always_inline]] inline bool Session::take_plain_credit(Bytes in)
{
	return version1() || (!credits_.overrun(false) &&
			      limit(word_in(in, kAtCredit)));
}

/* @in is a plain message of this type, and @place what it has of a stream of @total octets. */
[[gnu::always_inline]] inline void
Session::took_plain(Bytes in, const HeaderType &type, bool last, Range place,
		    u32 total, rpcrdma_rx &rx)
{
	/* Read before @rx is written, for all that the compiler knows. */
	const u32 xid = word_in(in, kAtXid);
	const u32 credit = word_in(in, kAtCredit);
	const u32 vers = version_;
	const u32 htype = type.htype;
	const u32 index = type.index;
	const u32 header = type.bare;
	const bool reply = client();

	reset(rx);
	rx.action = RPCRDMA_RX_PAYLOAD;
	rx.htype = htype;
	rx.type = index;
	rx.vers = vers;
	rx.xid = xid;
	rx.last = last;
	rx.dir = reply ? RPCRDMA_REPLY : RPCRDMA_CALL;
	rx.payload = { header, place.length };
	rx.stream_offset = place.offset;
	rx.stream_length = total;
	rx.unreduced_length = last ? total : 0;
	if (!reply)
		return;
	if (vers == kVersion1)
		answered(to_xid(xid), credit);
	else if (last)
		tell_answered(to_xid(xid));
}

/* Return: false if the general code has to look at it; nothing is lost then. */
[[gnu::always_inline]] inline bool Session::take_plain(Bytes in, rpcrdma_rx &rx)
{
	const HeaderType *type = terms_.plain_in.last;

	if (!type || in.size() < kSmallestPlain || !xdr_aligned(in.size()) ||
	    word_in(in, kAtVersion) != version_)
		return false;

	const rpcrdma_dir dir = client() ? RPCRDMA_REPLY : RPCRDMA_CALL;
	if (incoming_[dir].busy() || word_in(in, kAtType) != type->htype)
		return take_plain_part(in, rx);

	const u32 header = type->bare;
	const u32 size = in.size() - header;
	const u8 *const payload = in.data() + header;
	if (!no_lists(in.data(), header) || size > config_.max_message ||
	    load_be32(payload) != word_in(in, kAtXid) ||
	    load_be32(payload + kWordSize) != dir || !take_plain_credit(in))
		return false;
	took_plain(in, *type, true, { 0, size }, size, rx);
	return true;
}

/* Return: false if the general code has to decide; nothing has changed then. tx.more is the caller's. */
[[gnu::always_inline]] inline bool
Session::send_plain(rpcrdma_message &msg, MutableBytes out, rpcrdma_tx &tx)
{
	const Plain &types = terms_.plain_out;
	const rpcrdma_dir dir = client() ? RPCRDMA_CALL : RPCRDMA_REPLY;
	const HeaderType *type = types.last;
	const u32 sent = msg.sent;
	u32 part = msg.length - sent;

	if (!type || msg.dir != dir || msg.external || msg.inv_handle ||
	    (msg.chunks && !unused(*msg.chunks)) || out.size() < kLargestPlain)
		return false;
	if (sent >= msg.length || !xdr_aligned(msg.length) ||
	    (sending_.active ? !goes_on(msg) || sending_.refused : sent))
		return false;

	u8 *const to = out.data();
	const u32 most = types.max - type->bare;
	if (part <= most) {
		put_no_lists(to, type->bare);
	} else {
		const u32 left = part;

		type = types.middle;
		if (!type)
			return false;
		part = middle_part(left, types.max - type->bare);
		store_be32(to + kAtRest, left - part);
	}

	/* Read before the buffer is written, for all that the compiler knows. */
	const u32 header = type->bare;
	const u32 xid = msg.xid;
	const u32 vers = version_;
	const u32 credit = credit_word(dir);

	store_be32(to + kAtXid, xid);
	store_be32(to + kAtVersion, vers);
	store_be32(to + kAtCredit, credit);
	store_be32(to + kAtType, type->htype);
	tx.errcode = RPCRDMA2_ERR_NONE;
	tx.errargs[0] = 0;
	tx.errargs[1] = 0;
	post_part(msg, part, *type, type->last, header, tx);
	return true;
}

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_PLAIN_H */
