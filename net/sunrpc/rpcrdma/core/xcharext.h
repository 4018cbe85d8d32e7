/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Properties that change while connected (draft-dnoveck-nfsv4-rpcrdma-xcharext-02), with
 * the numbers of D8. Section numbers in this file and in xcharext.cpp are those of that
 * draft. D23 has how it is read.
 *
 *	INITXCH		values of the sender's, and which of them never change
 *	REQXCH		values that the sender would like its peer to have
 *	RESPXCH		the answer: which are done, rejected, pending
 *	UPDXCH		a new value of the sender's; it may end what was pending
 *
 * Each side asks and is asked. A property of the peer's is in one request at a time, as
 * nothing tells one pending change of it from another (4.4).
 *
 * What a side may do is bounded by properties of its peer. A smaller number always means
 * that less may be done. So the smaller one holds from the moment that this side asks for
 * it; a larger one once the peer has said that it is so.
 */
#ifndef _RPCRDMA_CORE_XCHAREXT_H
#define _RPCRDMA_CORE_XCHAREXT_H

#include "base.h"
#include "extension.h"
#include "xchar_wire.h"

namespace rpcrdma
{

/* ------------------------------------------------------------------ */
/* The extension                                                      */
/* ------------------------------------------------------------------ */

/* Rules, and the state of one end. */
class Xcharext {
public:
	/* opttype of the draft, and xcharid of what -07 has no property for */
	static constexpr u32 kInit = 0xffffff01;
	static constexpr u32 kRequest = 0xffffff02;
	static constexpr u32 kResponse = 0xffffff03;
	static constexpr u32 kUpdate = 0xffffff04;
	static constexpr u32 kRemoteInvalidation = 0xffffff02;

	/* Values in one request of this side, and in its INITXCH: they fit any Receive. */
	static constexpr u32 kMostAsked = RPCRDMA_XCHAR_MOST_ASKED;
	static constexpr u32 kMostFixed = RPCRDMA_XCHAR_MOST_FIXED;
	/* Values in a request that can be answered: the answer fits any Receive. */
	static constexpr u32 kMostAnswered = 11 * 32;

	static constexpr const char *kName = "xcharext";
	static constexpr HeaderType kTypes[] = {
		{ "INITXCH", kInit, 0, Kind::Extension, false, true },
		{ "REQXCH", kRequest, 0, Kind::Extension, false, true },
		{ "RESPXCH", kResponse, 0, Kind::Extension, false, true },
		{ "UPDXCH", kUpdate, 0, Kind::Extension, false, true },
	};
	static constexpr PropertyType kProperties[] = {
		{ .id = kRemoteInvalidation,
		  .name = "remote-invalidation",
		  .decode = decode_flag,
		  .encode = encode_number,
		  .most = 1,
		  .ours = 1,
		  .may_change = true },
	};
	static constexpr Announcement kAnnounced = { kExtensionsProperty,
						     1U << 0 };
	static constexpr u32 kChanges[] = {
		static_cast<u32>(Property::SendSize),
		static_cast<u32>(Property::RecvSize),
		static_cast<u32>(Property::SegmentSize),
		static_cast<u32>(Property::SegmentCount),
		static_cast<u32>(Property::Reverse),
	};
	static constexpr u32 kLargestBody = 4 + 5 * 12;

	/* See the functions of these names in <rpcrdma/xcharext.h>. */
	[[nodiscard]] bool request(Port &port, Span<const XcharNumber> wanted);
	[[nodiscard]] bool allow(u32 which, u32 least, u32 most);
	[[nodiscard]] bool fix(Port &port, Span<const u32> which);
	[[nodiscard]] bool begin(Port &port, u32 receive_size);
	[[nodiscard]] u32 wanted(u32 which) const;
	[[nodiscard]] bool changed(Port &port, u32 which, u32 number);
	[[nodiscard]] u32 asking(u32 which) const;
	[[nodiscard]] bool askable(u32 which) const;
	void info(struct rpcrdma_xchar_info &info) const
	{
		info = counts_;
	}

	/* What all extensions have. */
	[[nodiscard]] Refusal take(const Header &h, Bytes body, Port &port,
				   rpcrdma_rx &rx);
	void encode(const ControlMessage &m, const Port &port, XdrWriter &w);
	[[nodiscard]] bool refused(Xid xid, u32 code, Port &port);
	void permit(const Port &port, rpcrdma_rx &rx) const;
	/* What holds between two events. */
	[[nodiscard]] bool invariants() const;

private:
	/* The properties that messages can be about. */
	static constexpr u32 kSpoken = rows(kChanges) + 1;
	/* Its own XIDs, counted back from the last, that an ERROR may still have. */
	static constexpr u32 kRecentXids = 64;

	/* A property of the peer's: what this side has asked for. */
	struct Asked {
		u32 state = RPCRDMA_XCHAR_IDLE;
		u32 position = 0;
		Xid xid = {};
		u32 wanted = 0;
		u32 before = 0; /* what the peer has, as far as it said */
	};

	/* A property of this side's: what its peer may have, and what it waits for. */
	struct Own {
		u32 least = 1;
		u32 most = 0;
		u32 wanted = 0;
		bool pending = false;
	};

	enum class Answer : u8 { Done, Rejected, Pending };

	[[nodiscard]] static u32 index_of(u32 which);
	[[nodiscard]] static u32 id_of(u32 i);
	[[nodiscard]] static bool decode_value(u32 i, Bytes data, u32 &number);

	[[nodiscard]] Refusal take_init(Bytes body, Port &port);
	[[nodiscard]] Refusal take_request(Xid xid, Bytes body, Port &port);
	[[nodiscard]] Refusal take_response(Xid xid, Bytes body, Port &port);
	[[nodiscard]] Refusal take_update(Bytes body, Port &port);

	[[nodiscard]] bool may_ask(const Port &port, u32 i, u32 number) const;
	[[nodiscard]] Answer decide(u32 i, u32 number, Port &port);
	[[nodiscard]] Refusal check(u32 i, u32 number, const Port &port) const;
	void learn(u32 i, u32 number, Port &port);
	void settle(u32 i, u32 number, Port &port);
	[[nodiscard]] u32 unanswered(Xid xid) const;
	void lose(Xid xid, bool rejected, Port &port);
	static void encode_init(u32 properties, const Port &port, XdrWriter &w);
	void encode_request(Xid xid, XdrWriter &w);
	[[nodiscard]] Xid next_xid(const Port &port) const
	{
		return to_xid(word_of(port.first_xid()) + 1 + sent_);
	}

	Asked asked_[kSpoken] = {};
	Own own_[kSpoken] = {};
	struct rpcrdma_xchar_info counts_ = {};
	u32 sent_ = 0; /* messages with an XID of this side's */
	/* Properties that never change, a bit each. */
	u32 fixed_ = 0;
	u32 peer_fixed_ = 0;
	bool unknown_ = false; /* REQXCH, to the peer */
};

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_XCHAREXT_H */
