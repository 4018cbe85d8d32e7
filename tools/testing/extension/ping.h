/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * An extension that only tests have. It is there to use all that extensions can.
 *
 * PING has a count, which PONG repeats. The property Pings says how many PINGs its
 * sender takes at once; PINGS says so anew, and only ever more. NOTED_CALL is a Call
 * whose header has the length of the payload; behind that is a note, of any length.
 */
#ifndef _RPCRDMA_TESTS_PING_H
#define _RPCRDMA_TESTS_PING_H

#include "extension.h"

namespace rpcrdma
{

class Ping {
public:
	static constexpr u32 kPing = 0xfffffff0;
	static constexpr u32 kPong = 0xfffffff1;
	static constexpr u32 kPings = 0xfffffff2;
	static constexpr u32 kNotedCall = 0xfffffff3;
	static constexpr u32 kProperty = 0xfffffff0;
	/* Plus the count: what no Call has in these tests. */
	static constexpr u32 kFirstXid = 0x70000000;
	/* There is room for that, for as many answers, and for ERRORs. */
	static constexpr u32 kMost = 4;

	static constexpr const char *kName = "ping";
	static constexpr HeaderType kTypes[] = {
		{ "PING", kPing, 0, Kind::Extension, false, true },
		{ "PONG", kPong, 0, Kind::Extension, false, true },
		{ "PINGS", kPings, 0, Kind::Extension, false, true },
		{ "NOTED_CALL", kNotedCall, 0, Kind::Call, true, true },
	};
	static constexpr PropertyType kProperties[] = {
		{ .id = kProperty,
		  .name = "pings",
		  .decode = decode_number,
		  .encode = encode_number,
		  .most = kMost,
		  .ours = 2,
		  .may_change = true },
	};
	static constexpr Announcement kAnnounced = { kExtensionsProperty,
						     1U << 31 };
	static constexpr u32 kLargestBody = sizeof(u32);

	/* Return: false if the peer takes no more now. */
	[[nodiscard]] bool ping(Port &port)
	{
		if (unanswered() >= port.peer(kProperty) ||
		    unanswered() >= kMost ||
		    !port.send(kPing, to_xid(kFirstXid + sent_ + 1),
			       { sent_ + 1 }))
			return false;
		sent_++;
		return true;
	}

	/* Take so many at once from now on, which are no fewer than before. */
	[[nodiscard]] bool take_more(Port &port, u32 pings)
	{
		const u32 before = port.local(kProperty);

		if (pings < before || !port.set_local(kProperty, pings))
			return false;
		if (port.send(kPings, {}, { pings }))
			return true;
		return port.set_local(kProperty, before) && false;
	}

	[[nodiscard]] Refusal take(const Header &h, Bytes body, Port &port,
				   rpcrdma_rx & /*rx*/)
	{
		XdrReader r(body);
		u32 number;

		if (!r.word(number) || r.left())
			return { RPCRDMA_REASON_XDR, "not one number",
				 RPCRDMA2_ERR_BAD_XDR };
		switch (h.type->htype) {
		case kPing:
			return take_ping(h.prefix.xid, number, port);
		case kPong:
			return take_pong(number);
		default:
			return take_pings(number, port);
		}
	}

	void encode(const ControlMessage &m, const Port & /*port*/,
		    XdrWriter &w)
	{
		w.word(m.words[0]);
		if (m.words[1] == kAnswer)
			owed_--;
	}

	[[nodiscard]] bool refused(Xid xid, u32 /*code*/, Port & /*port*/)
	{
		const u32 count = word_of(xid) - kFirstXid;

		if (count <= answered_ || count > sent_)
			return false;
		answered_++;
		refused_++;
		return true;
	}

	[[nodiscard]] static Parse decode(Bytes in, const Limits & /*limits*/,
					  Header &h, Chunks & /*c*/)
	{
		XdrReader r(in.after(kPrefixSize));
		u32 length;

		if (!r.word(length) || length > r.left() ||
		    !xdr_aligned(r.left()))
			return Parse::BadXdr;
		h.payload = { kPrefixSize + r.offset(), length };
		return Parse::Ok;
	}

	[[nodiscard]] u32 unanswered() const
	{
		return sent_ - answered_;
	}
	[[nodiscard]] u32 sent() const
	{
		return sent_;
	}
	[[nodiscard]] u32 taken() const
	{
		return taken_;
	}
	[[nodiscard]] u32 refused() const
	{
		return refused_;
	}

private:
	static constexpr u32 kAnswer = 1;

	[[nodiscard]] Refusal take_ping(Xid xid, u32 number, Port &port)
	{
		if (owed_ >= port.local(kProperty))
			return { RPCRDMA_REASON_EARLY,
				 "more PINGs than are answered at once",
				 RPCRDMA2_ERR_INVAL_HTYPE };
		if (!port.send(kPong, xid, { number, kAnswer }))
			return { RPCRDMA_REASON_FLOOD, kFlood };
		owed_++;
		taken_++;
		return {};
	}

	[[nodiscard]] Refusal take_pong(u32 number)
	{
		if (number != answered_ + 1 || number > sent_)
			return { RPCRDMA_REASON_XID, "not the next PONG" };
		answered_++;
		return {};
	}

	[[nodiscard]] static Refusal take_pings(u32 number, Port &port)
	{
		if (number < port.peer(kProperty) ||
		    !port.set_peer(kProperty, number))
			return { RPCRDMA_REASON_PROPVAL, "fewer PINGs than before",
				 RPCRDMA2_ERR_BAD_PROPVAL };
		return {};
	}

	u32 sent_ = 0;
	u32 answered_ = 0; /* or refused */
	u32 refused_ = 0;
	u32 taken_ = 0;
	u32 owed_ = 0; /* PONGs that wait */
};

} // namespace rpcrdma

#endif /* _RPCRDMA_TESTS_PING_H */
