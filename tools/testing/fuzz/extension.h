/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Extensions, as the caller of a session sees them. Only the build with some has this
 * (../extension/fuzz_ping.cpp, fuzz_xcharext.cpp and fuzz_groups.cpp there).
 */
#ifndef _RPCRDMA_FUZZ_EXTENSION_H
#define _RPCRDMA_FUZZ_EXTENSION_H

#include "fuzz.h"

#include <rpcrdma/core.h>

#include <functional>
#include <set>
#include <utility>
#include <vector>

namespace fuzz
{

class Extension {
public:
	/* What follows the prefix of a message of the peer's. Return: false for anything. */
	static bool body(u32 htype, u32 xid, Choices &in,
			 std::vector<u32> &words);
	/* Say more of this side than its configuration does, before it speaks. */
	static void declare(rpcrdma_session &s, u32 recv_size);
	/*
	 * A part of an RPC message has come by a header of its own, or such a message is
	 * void: there is nothing to take otherwise.
	 */
	bool carried(const rpcrdma_rx &rx, rpcrdma::Bytes message);
	/*
	 * Send an RPC message by such headers, all of it. @sent is called with each header.
	 * Return: it was sent.
	 */
	bool carry(rpcrdma_session &s, Choices &in, std::vector<u8> &buffer,
		   const std::function<void(const rpcrdma_tx &)> &sent);
	/*
	 * What has been taken may say that the peer refuses messages by such headers: each of
	 * them was sent so, and is refused once.
	 */
	void reported(const rpcrdma_session &s, const rpcrdma_rx &rx);

	/* Do something. Return: true if there is something to send. */
	bool act(rpcrdma_session &s, Choices &in);
	/*
	 * What it has taken is what came. @in_use: before that, a bit each by place. Return:
	 * this side's properties may have changed.
	 */
	bool received(const rpcrdma_rx &rx, rpcrdma::Bytes message, u32 in_use);
	/* It may send that now. */
	void sent(const rpcrdma_tx &tx, rpcrdma::Bytes message, u32 in_use);

private:
	void check_ping(const rpcrdma_rx &rx, rpcrdma::Bytes message,
			u32 in_use);
	static bool change(rpcrdma_session &s, Choices &in);
	struct Owed {
		u32 xid;
		u32 number;
	};

	std::vector<Owed> owed_; /* answers, in order */
	u32 asked_ = 0; /* sent or about to be, and not answered */
	/* An RPC message that comes by headers of its own. */
	bool coming_ = false;
	u32 coming_dir_ = 0;
	u32 coming_at_ = 0; /* octets of it that have come */
	std::vector<u8> first_; /* its first Send */
	/* XID and direction of those that were sent by such headers. */
	std::multiset<std::pair<u32, u32>> sent_;
	bool sent_again_ = false; /* a Call, by groups */
};

} // namespace fuzz

#endif /* _RPCRDMA_FUZZ_EXTENSION_H */
