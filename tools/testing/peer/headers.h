/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Messages that break a rule (sections 6 and 7) and get the same answer from a
 * client and from a server. After each of these functions the connection can
 * be used as before.
 */
#ifndef _RPCRDMA_PEER_HEADERS_H
#define _RPCRDMA_PEER_HEADERS_H

#include "peer.h"

#include "../unit/golden.h"

namespace peer
{

inline const Words kBadXdr = { RPCRDMA2_ERR_BAD_XDR };
inline const Words kSystem = { RPCRDMA2_ERR_SYSTEM };
inline const Words kBadPropval = { RPCRDMA2_ERR_BAD_PROPVAL };
inline const Words kInvalCont = { RPCRDMA2_ERR_INVAL_CONT };

/* What debugfs says of all connections: the number after @word in the line of @name. */
[[nodiscard]] u64 total(const std::string &name, const std::string &word);
/* All that it says of this one, with the server in this guest. And the number, as above. */
[[nodiscard]] std::string said_of(const Peer &p);
[[nodiscard]] u64 number(const Peer &p, const std::string &name,
			 const std::string &word);
/* What rpcrdmactl, at $RPCRDMACTL, says of all connections; and a number of this one. */
[[nodiscard]] std::string details();
[[nodiscard]] u64 detail(const Peer &p, const std::string &name,
			 const std::string &word);
/* And one of the module. */
[[nodiscard]] u64 of_module(const std::string &name, const std::string &word);

/* The answer to @message is an ERROR with this body. */
void refused(Peer &p, const Words &message, const Words &error);

void unknown_header_types(Peer &p);
void other_versions(Peer &p);
void other_discriminators(Peer &p);
void less_than_a_prefix(Peer &p);
void no_whole_words(Peer &p);
void payload_where_there_is_none(Peer &p);
void another_xid_inside(Peer &p);
void another_type_inside(Peer &p);
/* A GRANT and ERRORs, which are never answered. */
void control_messages(Peer &p);
/* CONNPROP after the final one. */
void properties_again(Peer &p);

/* All headers of the unit tests with this type. */
[[nodiscard]] std::vector<unit::Golden> goldens(u32 htype);
/* After each byte that ends a word, and one more. */
void cut_short(Peer &p, const unit::Golden &g);

/* A Call to be sent in parts: a NULL call, if not said otherwise. */
class Parts {
public:
	explicit Parts(Peer &p)
		: Parts(p, null_call(p.new_xid()))
	{
	}
	Parts(Peer &p, const Words &call)
		: peer_(p)
		, xid_(call.at(0))
		, call_(call)
	{
	}
	[[nodiscard]] u32 xid() const
	{
		return xid_;
	}
	[[nodiscard]] u32 left() const
	{
		return static_cast<u32>(4 * call_.size()) - sent_;
	}
	/* The next part, with what it says is left after it. */
	void middle(u32 octets, u32 remaining, u32 xid)
	{
		peer_.send(unit::middle(RPCRDMA2_CALL_MIDDLE, xid, remaining,
					unit::slice(call_, sent_, octets)));
		sent_ += octets;
	}
	void middle(u32 octets)
	{
		middle(octets, left() - octets, xid_);
	}
	/* All that is left, or less. */
	void last(u32 octets)
	{
		peer_.send(unit::call_inline(
			xid_, unit::slice(call_, sent_, octets)));
		sent_ += octets;
	}
	void last()
	{
		last(left());
	}
	/* A Call in Special Format that has its XID. */
	void external()
	{
		peer_.send(call_external(xid_, { { 0xa1, 40, 0, 0x1000 } }));
	}
	/* The NULL call is. */
	void answered()
	{
		if (!is_null_reply(peer_.reply(xid_)))
			throw Failure("a NULL call has another answer");
	}
	void refused()
	{
		peer_.expect_error(xid_, kInvalCont);
	}

private:
	Peer &peer_;
	u32 xid_;
	Words call_;
	u32 sent_ = 0;
};

} // namespace peer

#endif /* _RPCRDMA_PEER_HEADERS_H */
