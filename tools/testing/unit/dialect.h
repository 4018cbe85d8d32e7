/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Messages of the dialect of 2016, written by hand, word by word, from
 * draft-cel-nfsv4-rpcrdma-version-two-01, section 4.2.
 */
#ifndef _RPCRDMA_UNIT_DIALECT_H
#define _RPCRDMA_UNIT_DIALECT_H

#include "messages.h"
#include "version1.h"

namespace unit::dialect
{

/* rdma_proc, and the error codes */
inline constexpr u32 kMsg = 0;
inline constexpr u32 kNomsg = 1;
inline constexpr u32 kError = 4;
inline constexpr u32 kOptional = 5;
inline constexpr u32 kErrVers = 1;
inline constexpr u32 kErrBadHeader = 2;
inline constexpr u32 kErrInvalOption = 3;

/* Its credit word is that of version 1: what a Requester asks for. */
inline Words prefix(u32 xid, u32 proc, u32 credit = 32)
{
	return { xid, 2, credit, proc };
}

/* rdma_direction, Read list, Write list and Reply chunk. */
inline Words msg(u32 xid, u32 dir, const Words &payload,
		 const Words &lists = v1::kNoLists)
{
	return prefix(xid, kMsg) + Words{ dir } + lists + payload;
}

inline Words call(u32 xid, const Words &lists = v1::kNoLists)
{
	return msg(xid, RPCRDMA_CALL, rpc(xid, RPCRDMA_CALL, 40), lists);
}

inline Words nomsg(u32 xid, u32 dir, const Words &lists)
{
	return prefix(xid, kNomsg) + Words{ dir } + lists;
}

/* The whole Call is in memory. */
inline Words long_call(u32 xid)
{
	return nomsg(xid, RPCRDMA_CALL,
		     v1::read_segment(0, 0xa1, 5000) + v1::kNoLists);
}

/* rdma_optdir, rdma_opttype, rdma_optinfo; @info: its octets, with padding */
inline Words optional(u32 xid, u32 dir, u32 opttype, u32 length,
		      const Words &info, const Words &payload = {})
{
	return prefix(xid, kOptional) + Words{ dir, opttype, length } + info +
	       payload;
}

/* What a client may send first; none of it is anything in -07. */
inline std::vector<Words> first_messages(u32 xid)
{
	return {
		call(xid),
		call(xid, v1::read_segment(8, 0xb1, 8) + Words{ 0, 1 } +
				  v1::segments(0xc1, { 4096, 8 }) +
				  Words{ 0, 1 } + v1::segments(0xd1, { 900 })),
		long_call(xid),
		optional(xid, RPCRDMA_CALL, 7, 0, {}),
		optional(xid, RPCRDMA_CALL, 7, 5, { 0x61626364, 0x65000000 },
			 rpc(xid, RPCRDMA_CALL, 40)),
	};
}

} // namespace unit::dialect

#endif /* _RPCRDMA_UNIT_DIALECT_H */
