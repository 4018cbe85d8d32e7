/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * One message of each header type, written by hand, word by word, from the XDR in
 * section 8 of the draft, without the code under test.
 */
#ifndef _RPCRDMA_UNIT_GOLDEN_H
#define _RPCRDMA_UNIT_GOLDEN_H

#include "support.h"

namespace unit
{

struct Golden {
	const char *name;
	u32 htype;
	Words header;
	/* The RPC message's octets that follow. */
	Words payload;
	/* What the header says. */
	u32 remaining = 0;
	u32 inv_handle = 0;
	rpcrdma::ErrorBody error = {};
	rpcrdma::Chunks chunks = {};

	[[nodiscard]] Octets message() const
	{
		return octets(header + payload);
	}
};

inline constexpr u32 kXid = 0x11223344;

inline rpcrdma::Chunks golden_call_chunks(bool external)
{
	rpcrdma::Chunks c = {};

	if (external) {
		c.n_call = 2;
		c.call[0] = { 0xa1, 0x100, 0x0000000100000000 };
		c.call[1] = { 0xa2, 0x40, 0x0000000200000008 };
	}
	/* Two Read chunks, the first of two segments. */
	c.n_reads = 3;
	c.reads[0] = { 8, { 0xb1, 0x1000, 0x1122334455667788 } };
	c.reads[1] = { 8, { 0xb2, 5, 0x10 } };
	c.reads[2] = { 0x1010, { 0xb3, 4, 0x20 } };
	/* Two Write chunks, the second one empty, and a Reply chunk. */
	c.n_writes = 2;
	c.writes[0] = { 2, 0 };
	c.writes[1] = { 0, 2 };
	c.has_reply = true;
	c.reply = { 1, 2 };
	c.n_write_segs = 3;
	c.write_segs[0] = { 0xc1, 0x2000, 0xffffffff00000000 };
	c.write_segs[1] = { 0xc2, 0, 1 };
	c.write_segs[2] = { 0xd1, 0x8000, 0x30 };
	return c;
}

/* clang-format off */
inline const Words kCallLists = {
	/* rdma_reads */
	1, 8, 0xb1, 0x1000, 0x11223344, 0x55667788,
	1, 8, 0xb2, 5, 0, 0x10,
	1, 0x1010, 0xb3, 4, 0, 0x20,
	0,
	/* rdma_provisional_writes */
	1, 2, 0xc1, 0x2000, 0xffffffff, 0, 0xc2, 0, 0, 1,
	1, 0,
	0,
	/* rdma_provisional_reply */
	1, 1, 0xd1, 0x8000, 0, 0x30,
};
/* clang-format on */

inline std::vector<Golden> goldens()
{
	const Words call = { kXid, RPCRDMA_CALL, 0xca11, 0xca12 };
	const Words reply = { kXid, RPCRDMA_REPLY, 0x4e91 };
	rpcrdma::Chunks writes = golden_call_chunks(false);
	rpcrdma::Chunks external;

	writes.n_reads = 0;
	writes.has_reply = false;
	writes.reply = {};
	writes.n_write_segs = 2;
	external = writes;
	external.has_reply = true;
	external.reply = { 1, 2 };
	external.n_write_segs = 3;
	external.write_segs[2] = { 0xd1, 0x400, 0x30 };

	std::vector<Golden> all;
	all.push_back({ "ERROR",
			RPCRDMA2_ERROR,
			{ kXid, 2, 7, 4, 9, 3, 0x12345 },
			{},
			0,
			0,
			{ RPCRDMA2_ERR_WRITE_RESOURCE, { 3, 0x12345 } },
			{} });
	all.push_back(
		{ "GRANT", RPCRDMA2_GRANT, { 0, 2, 7, 5 }, {}, 0, 0, {}, {} });
	for (u32 htype : { RPCRDMA2_CONNPROP_MIDDLE, RPCRDMA2_CONNPROP_FINAL })
		all.push_back(
			{ "CONNPROP",
			  htype,
			  { kXid, 2, 7, htype,
			    /* two: one known, one not, with padding */
			    2, 2, 4, 8192, 0x7777, 5, 0x61626364, 0x65000000 },
			  {},
			  0,
			  0,
			  {},
			  {} });
	all.push_back({ "CALL_EXTERNAL",
			RPCRDMA2_CALL_EXTERNAL,
			Words{ kXid, 2, 7, 8, 0xa2, 1, 0, 0xa1, 0x100, 1, 0, 1,
			       0, 0xa2, 0x40, 2, 8, 0 } +
				kCallLists,
			{},
			0,
			0xa2,
			{},
			golden_call_chunks(true) });
	all.push_back({ "CALL_MIDDLE",
			RPCRDMA2_CALL_MIDDLE,
			{ kXid, 2, 7, 9, 0x400 },
			call,
			0x400,
			0,
			{},
			{} });
	all.push_back({ "CALL_INLINE",
			RPCRDMA2_CALL_INLINE,
			Words{ kXid, 2, 7, 10, 0xd1 } + kCallLists,
			call,
			0,
			0xd1,
			{},
			golden_call_chunks(false) });
	all.push_back(
		{ "REPLY_EXTERNAL",
		  RPCRDMA2_REPLY_EXTERNAL,
		  { kXid, 2, 7, 11, 1, 2, 0xc1, 0x2000, 0xffffffff, 0, 0xc2, 0,
		    0,	  1, 1, 0,  0, 1, 1,	0xd1,	0x400,	    0, 0x30 },
		  {},
		  0,
		  0,
		  {},
		  external });
	all.push_back({ "REPLY_MIDDLE",
			RPCRDMA2_REPLY_MIDDLE,
			{ kXid, 2, 7, 12, 0x400 },
			reply,
			0x400,
			0,
			{},
			{} });
	all.push_back({ "REPLY_INLINE",
			RPCRDMA2_REPLY_INLINE,
			{ kXid, 2, 7, 13, 1, 2, 0xc1, 0x2000, 0xffffffff, 0,
			  0xc2, 0, 0, 1, 1, 0, 0 },
			reply,
			0,
			0,
			{},
			writes });
	return all;
}

} // namespace unit

#endif /* _RPCRDMA_UNIT_GOLDEN_H */
