/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The content of a message of rtrext, as plain values, to compare two codecs.
 */
#ifndef _RPCRDMA_CODEC_RTR_H
#define _RPCRDMA_CODEC_RTR_H

#include "content.h"

namespace codec
{

/* Numbers of the draft; and the value of a property with a structure. */
inline constexpr u32 kXmtReq = 1;
inline constexpr u32 kXmtResp = 2;
inline constexpr u32 kXmtCont = 3;
inline constexpr u32 kReptErr = 4;
inline constexpr u32 kStructure = 5;

struct Item {
	u32 position = 0;
	u32 length = 0;
	u32 type = 0;
	std::vector<Segment> segments;
	u32 offset = 0;
	std::vector<u32> numbers;
	bool operator==(const Item &) const = default;
};

struct Direct {
	u32 least = 0;
	u32 type = 0;
	u32 rdma_from = 0;
	std::vector<Segment> segments;
	bool operator==(const Direct &) const = default;
};

struct DirectSet {
	u32 begin = 0;
	u32 end = 0;
	std::vector<Direct> items;
	bool operator==(const DirectSet &) const = default;
};

struct Group {
	u32 words[4];
	bool operator==(const Group &) const = default;
};

/* What a message does not have is empty. */
struct Rtr {
	std::vector<Item> items;
	std::vector<DirectSet> directions;
	/* The words of a header besides; of a structure its length. */
	std::vector<u32> words;
	std::vector<Group> groups;
	/* REPTERR: xid, direction, number. */
	std::vector<u32> bad;
	std::vector<u32> lead;
	u32 error = 0;
	std::vector<u32> error_words;
	bool operator==(const Rtr &) const = default;
};

/* Return: false if it is none; @consumed then means nothing. */
bool reference_decode(u32 op, const Octets &in, Rtr &m, u32 &consumed);
Octets reference_encode(u32 op, const Rtr &m);

} // namespace codec

#endif /* _RPCRDMA_CODEC_RTR_H */
