/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What xcharext (draft-dnoveck-nfsv4-rpcrdma-xcharext-02) has on the wire, section 5.2 of
 * that draft, with the numbers of D8. D23 has how it is read.
 *
 * As in rtr_wire, what a message has many of is decoded where it is.
 */
#ifndef _RPCRDMA_CORE_XCHAR_WIRE_H
#define _RPCRDMA_CORE_XCHAR_WIRE_H

#include "wire.h"
#include "xdr_array.h"
#include <rpcrdma/xcharext.h>

namespace rpcrdma
{

using XcharNumber = rpcrdma_xchar_number;

inline constexpr u32 kXcharBits = 32; /* of a word of a subset */

/* struct xcharval */
struct XcharValue {
	u32 which = 0;
	Bytes data;

	[[nodiscard]] bool decode(XdrReader &r);
};

/* xcharspec */
using XcharSpec = XdrArray<XcharValue>;

/* xcharsubset: positions in an xcharspec, as bits of words in a message. */
class XcharSubset {
public:
	[[nodiscard]] bool decode(XdrReader &r);
	/* Words that are not there are zero. */
	[[nodiscard]] bool has(u32 position) const;
	/* Each position is less than @n. */
	[[nodiscard]] bool within(u32 n) const;

private:
	[[nodiscard]] u32 word(u32 index) const;

	Bytes words_;
};

/* Each is all of what follows the prefix. */
struct XcharInit {
	XcharSpec start;
	XcharSubset nochg;

	[[nodiscard]] bool decode(Bytes body);
};

struct XcharRequest {
	XcharSpec want;

	[[nodiscard]] bool decode(Bytes body);
};

struct XcharResponse {
	XcharSubset done;
	XcharSubset rej;
	XcharSubset pend;

	[[nodiscard]] bool decode(Bytes body);
};

struct XcharUpdate {
	XcharValue now;
	bool pendclr = false;

	[[nodiscard]] bool decode(Bytes body);
};

/* All values here are one word. */
void encode_xchar_value(const XcharNumber &n, XdrWriter &w);
/* The first 32 positions. */
void encode_xchar_subset(u32 positions, XdrWriter &w);
/* All @n positions but those in @others. */
void encode_xchar_rest(u32 n, u32 others, XdrWriter &w);

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_XCHAR_WIRE_H */
