// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "rpc.h"

#include <cstring>

namespace sim
{

static void put_word(u8 *at, u32 word)
{
	word = __builtin_bswap32(word);
	std::memcpy(at, &word, sizeof(word));
}

u32 number_in(const u8 *message)
{
	u32 word;

	std::memcpy(&word, message + 8, sizeof(word));
	return __builtin_bswap32(word);
}

u32 padded(const rpcrdma_range &r)
{
	return (r.length + 3) & ~3U;
}

void build(const Shape &s, u32 xid, rpcrdma_dir dir, Octets &message)
{
	const u32 length = dir == RPCRDMA_CALL ? s.call_length : s.reply_length;
	const u32 n = dir == RPCRDMA_CALL ? s.n_items : s.n_results;
	const rpcrdma_range *ranges = dir == RPCRDMA_CALL ? s.items : s.results;
	Random content(u64{ s.number } << 1 | dir);

	message.resize(length);
	u32 at = kRpcHeader;
	for (; at + sizeof(u64) <= length; at += sizeof(u64)) {
		const u64 eight = content.next();

		std::memcpy(&message[at], &eight, sizeof(eight));
	}
	for (; at < length; at++)
		message[at] = static_cast<u8>(content.next());
	put_word(&message[0], xid);
	put_word(&message[4], dir);
	put_word(&message[8], s.number);
	/* XDR roundup is zero. */
	for (u32 i = 0; i < n; i++)
		std::memset(&message[ranges[i].offset + ranges[i].length], 0,
			    padded(ranges[i]) - ranges[i].length);
}

} // namespace sim
