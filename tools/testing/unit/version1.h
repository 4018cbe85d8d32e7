/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Messages of version 1, written by hand, word by word, from RFC 8166, section 4.
 */
#ifndef _RPCRDMA_UNIT_VERSION1_H
#define _RPCRDMA_UNIT_VERSION1_H

#include "messages.h"

namespace unit::v1
{

inline Words prefix(u32 xid, u32 proc, u32 credit = 32)
{
	return { xid, 1, credit, proc };
}

/* Read list, Write list and Reply chunk, all empty. */
inline const Words kNoLists = { 0, 0, 0 };

inline Words msg(u32 xid, u32 dir, u32 length = 40,
		 const Words &lists = kNoLists, u32 credit = 32)
{
	return prefix(xid, RPCRDMA1_MSG, credit) + lists +
	       rpc(xid, dir, length);
}

inline Words call(u32 xid, const Words &lists = kNoLists)
{
	return msg(xid, RPCRDMA_CALL, 40, lists);
}

inline Words reply(u32 xid, u32 credit = 32)
{
	return msg(xid, RPCRDMA_REPLY, 40, kNoLists, credit);
}

inline Words nomsg(u32 xid, const Words &lists)
{
	return prefix(xid, RPCRDMA1_NOMSG) + lists;
}

inline Words err_vers(u32 xid, u32 low, u32 high, u32 vers = 1)
{
	return { xid, vers, 32, 4, 1, low, high };
}

inline Words err_chunk(u32 xid, u32 credit = 32)
{
	return prefix(xid, 4, credit) + Words{ 2 };
}

/* One segment of a Read list, with its discriminator. */
inline Words read_segment(u32 position, u32 handle, u32 length)
{
	return { 1, position, handle, length, 0, handle };
}

/* A counted array of segments of these lengths. */
inline Words segments(u32 handle, const Words &lengths)
{
	Words w = { u32(lengths.size()) };

	for (u32 length : lengths) {
		w = w + Words{ handle, length, 0, handle };
		handle++;
	}
	return w;
}

/* Calls of which the header says what cannot be; their payload is of 40 octets. */
inline std::vector<Words> lying_calls(u32 xid)
{
	const Words payload = rpc(xid, RPCRDMA_CALL, 40);
	const Words head = prefix(xid, RPCRDMA1_MSG);
	const Words body = prefix(xid, RPCRDMA1_NOMSG);
	const Words none = { 0, 0, 0 };
	const Words segment = read_segment(8, 0xb1, 8);

	return {
		head, /* nothing behind the 16 octets */
		head + Words{ 0 },
		head + Words{ 0, 0 },
		head + none, /* no payload */
		head + none + Words{ xid }, /* no direction */
		head + Words{ 2, 0, 0 } + payload, /* no boolean */
		head + Words{ 0, 3, 0 } + payload,
		head + Words{ 0, 0, 4 } + payload,
		/* positions: zero, unaligned, outside, falling, overlapping */
		head + read_segment(0, 0xb1, 8) + none + payload,
		head + read_segment(6, 0xb1, 8) + none + payload,
		head + read_segment(44, 0xb1, 8) + none + payload,
		head + read_segment(UINT32_MAX - 3, 0xb1, 8) + none + payload,
		head + read_segment(16, 0xb1, 8) + segment + none + payload,
		head + segment + read_segment(12, 0xb1, 8) + none + payload,
		head + read_segment(8, 0xb1, UINT32_MAX) +
			read_segment(12, 0xb1, 8) + none + payload,
		/* counts */
		head + Words{ 0, 1, UINT32_MAX } + payload,
		head + Words{ 0, 1, 3 } + payload,
		head + Words{ 0, 0, 1, 0x10000000 } + payload,
		head + Words{ 0, 0, 1, 3 } + payload,
		/* a list without end */
		head + segment + segment,
		/* by chunk: none, of no octets, in a wrong place, unaligned */
		body + none,
		body + Words{ 0, 0, 1 } + segments(0xd1, { 5000 }),
		body + read_segment(0, 0xa1, 0) + none,
		body + read_segment(8, 0xa1, 40) + none,
		body + read_segment(0, 0xa1, 41) + none,
		body + segment + read_segment(0, 0xa1, 40) + none,
		/* and octets behind it */
		body + read_segment(0, 0xa1, 40) + none + payload,
	};
}

/* Replies that are none to a Call without chunks. */
inline std::vector<Words> lying_replies(u32 xid)
{
	const Words head = prefix(xid, RPCRDMA1_MSG);

	return {
		head,
		prefix(xid, RPCRDMA1_MSGP) + kNoLists,
		msg(xid, RPCRDMA_REPLY, 40,
		    read_segment(8, 0xb1, 8) + kNoLists),
		nomsg(xid, kNoLists),
		nomsg(xid, Words{ 0, 0, 1 } + segments(0xd1, { 0 })),
		nomsg(xid, Words{ 0, 0, 1 } + segments(0xd1, { 41 })),
		nomsg(xid, Words{ 0, 0, 1 } + segments(0xd1, { 0xfffffffc })),
		head + kNoLists + rpc(xid + 1, RPCRDMA_REPLY, 40),
		/* procedures that do not exist */
		prefix(xid, 5) + kNoLists + rpc(xid, RPCRDMA_REPLY, 40),
		prefix(xid, 0xffffffff) + kNoLists +
			rpc(xid, RPCRDMA_REPLY, 40),
		/* cut short in their lists */
		head + Words{ 0 },
		head + Words{ 0, 1, 2, 0xc1, 4096, 0 },
	};
}

} // namespace unit::v1

#endif /* _RPCRDMA_UNIT_VERSION1_H */
