/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What rtrext (draft-dnoveck-nfsv4-rpcrdma-rtrext-03) has on the wire, with the numbers of
 * D8. Section numbers are those of that draft. D20 has how it is read.
 *
 * What a message has many of is decoded where it is: these objects refer to the message,
 * and each is decoded again whenever it is looked at. So nothing here has a bound of its
 * own; the length of the message bounds all.
 */
#ifndef _RPCRDMA_CORE_RTR_WIRE_H
#define _RPCRDMA_CORE_RTR_WIRE_H

#include "wire.h"
#include "xdr_array.h"

namespace rpcrdma
{

/* Header types (9.1) and properties (8.1) */
inline constexpr u32 kXmtReq = 0xffffff05;
inline constexpr u32 kXmtResp = 0xffffff06;
inline constexpr u32 kXmtCont = 0xffffff07;
inline constexpr u32 kReptErr = 0xffffff08;
inline constexpr u32 kRtrSupport = 0xffffff03;
inline constexpr u32 kReceiveStructure = 0xffffff04;
inline constexpr u32 kRequestReceiveLimit = 0xffffff05;
inline constexpr u32 kResponseSendLimit = 0xffffff06;

/* RTR Support (8.2), a bit for each type that its sender takes */
inline constexpr u32 kTakesRequests = 1;
inline constexpr u32 kTakesResponses = 2;
inline constexpr u32 kTakesContinues = 4;

/* enum xmdp_type (6.2) */
enum class Placement : u32 {
	Exrw = 1,
	Tbsn = 2,
	Choice = 3,
	BySize = 4,
	TooShort = 5,
	NoItem = 6,
};

/* enum optr_err (9.5) */
enum class RtrError : u32 {
	BadHmt = 1,
	BadOmt = 2,
	BadCont = 3,
	BadSeq = 4,
	BadXid = 5,
	BadOff = 6,
	BadTbsn = 7,
	BadPl = 8,
};

/**
 * What the draft says of one error code
 * @words: how many words of the union's arm follow the code: what was expected and what
 *	came, or a value, the least and the most that it may be
 */
struct RtrErrorType {
	RtrError code;
	u32 words;
	const char *name;
};

/* The error with this number, or nullptr. */
[[nodiscard]] const RtrErrorType *rtr_error_type(u32 code);

/* ------------------------------------------------------------------ */
/* Decoding                                                           */
/* ------------------------------------------------------------------ */

/* struct rpcrdma1_segment, which is as that of -07 */
struct XdrSegment {
	static constexpr u32 kOctets = kSegmentSize;

	Segment segment = {};

	[[nodiscard, gnu::always_inline]] bool decode(XdrReader &r)
	{
		return r.words(segment.handle, segment.length) &&
		       r.hyper(segment.offset);
	}
};

/* xmdp_tbsn */
struct XdrNumber {
	static constexpr u32 kOctets = kWordSize;

	u32 value = 0;

	[[nodiscard]] bool decode(XdrReader &r)
	{
		return r.word(value);
	}
};

using XdrSegments = XdrArray<XdrSegment>;

/* Sum of their lengths, in octets. */
[[nodiscard]] u64 total_length(const XdrSegments &s);

/* Which types are XDR where: table 1. */
[[nodiscard]] constexpr bool type_is_one_of(Placement type, Placement first,
					    Placement last)
{
	return type == Placement::Exrw || type == Placement::Tbsn ||
	       (type >= first && type <= last);
}

/* union xmdp_loc: Exrw, Tbsn, TooShort or NoItem */
struct ItemLocation {
	Placement type = Placement::NoItem;
	XdrSegments segments;
	u32 offset = 0;
	XdrArray<XdrNumber> numbers;

	/* What follows the type. */
	[[nodiscard, gnu::always_inline]] bool decode(u32 which, XdrReader &r)
	{
		type = static_cast<Placement>(which);
		if (type == Placement::Tbsn)
			return r.word(offset) && numbers.decode(r);
		if (type == Placement::Exrw)
			return segments.decode(r);
		return type_is_one_of(type, Placement::TooShort,
				      Placement::NoItem);
	}
};

/**
 * struct xmdp_mitem
 * @position: xmdmi_disp, in the message with all its items back in
 */
struct MessageItem {
	u32 position = 0;
	u32 length = 0;
	ItemLocation where;

	[[nodiscard, gnu::always_inline]] bool decode(XdrReader &r)
	{
		u32 type;

		return r.words(position, length, type) && where.decode(type, r);
	}
};

/**
 * struct xmdp_rsditem with its union xmdp_rsdloc: Exrw, Tbsn, Choice or BySize
 * @least: xmdrsdi_minlen; a smaller item stays in the Payload stream
 * @rdma_from: xmdrsdl_dsdov, of BySize: an item of this length or more goes by RDMA
 */
struct DirectionItem {
	u32 least = 0;
	Placement type = Placement::Tbsn;
	u32 rdma_from = 0;
	XdrSegments segments;

	[[nodiscard, gnu::always_inline]] bool decode(XdrReader &r)
	{
		u32 word;

		if (!r.words(least, word))
			return false;
		type = static_cast<Placement>(word);
		if (type == Placement::Tbsn)
			return true;
		if (!type_is_one_of(type, Placement::Choice,
				    Placement::BySize) ||
		    (type == Placement::BySize && !r.word(rdma_from)))
			return false;
		return segments.decode(r);
	}
};

/* struct xmdp_rsdset */
struct DirectionSet {
	u32 begin = 0;
	u32 end = 0;
	XdrArray<DirectionItem> items;

	[[nodiscard, gnu::always_inline]] bool decode(XdrReader &r)
	{
		return r.words(begin, end) && items.decode(r);
	}
};

using MessageItems = XdrArray<MessageItem>;
using DirectionSets = XdrArray<DirectionSet>;

/*
 * The three that carry parts of an RPC message. @body is what follows the prefix, and
 * @head is set to how many octets of it come before the payload. Whether the payload
 * is there is not a matter of XDR (9.5): see check_part(). If decode() fails @head is
 * how far it came, and nothing else means anything but what a XmtContinue has read so far.
 */
struct XmtRequest {
	MessageItems items;
	DirectionSets directions;
	Range directed = {}; /* where they are in @body */
	u32 count = 0;
	u32 reply_count = 0; /* optxrq_rsbuf */
	u32 length = 0; /* optxrq_pslen */
	u32 head = 0;

	[[nodiscard]] bool decode(Bytes body);
};

/* The directions of a Call by themselves. */
[[nodiscard]] bool decode_directions(Bytes in, DirectionSets &sets);

struct XmtResponse {
	MessageItems items;
	u32 count = 0;
	u32 length = 0;
	u32 head = 0;

	[[nodiscard]] bool decode(Bytes body);
};

struct XmtContinue {
	u32 number = 0; /* optxc_xnum */
	u32 began = 0; /* optxc_itype */
	u32 length = 0;
	u32 head = 0;

	[[nodiscard]] bool decode(Bytes body);
};

/* struct xms_id: which message, and which of its transmissions */
struct TransmissionId {
	Xid xid = {};
	rpcrdma_dir dir = RPCRDMA_CALL;
	u32 number = 0;

	[[nodiscard]] bool decode(XdrReader &r);
	bool operator==(const TransmissionId &) const = default;
};

/* union optr_info */
struct RtrFault {
	RtrError code = RtrError::BadCont;
	u32 words[3] = {};

	[[nodiscard]] bool decode(XdrReader &r);
	bool operator==(const RtrFault &) const = default;
};

/* struct optrept_err, all of what follows the prefix */
struct ReportedError {
	TransmissionId bad;
	bool has_lead = false;
	TransmissionId lead;
	RtrFault fault;

	[[nodiscard]] bool decode(Bytes body);
	bool operator==(const ReportedError &) const = default;
};

/* struct xmrbs_group with its struct xmrbs_seg */
struct BufferGroup {
	u32 count = 0;
	u32 length = 0;
	u32 align = 0;
	u32 flags = 0;

	[[nodiscard]] bool decode(XdrReader &r);
};

/* XMRSFLAG_PLT */
inline constexpr u32 kBufferTarget = 1;

/* struct xmrbs_buf, all of a property's value */
struct BufferStructure {
	u32 length = 0;
	XdrArray<BufferGroup> groups;

	[[nodiscard]] bool decode(Bytes value);
};

/* ------------------------------------------------------------------ */
/* Encoding                                                           */
/* ------------------------------------------------------------------ */

/**
 * An item of a message of this side's
 * @type: Exrw, Tbsn, TooShort or NoItem
 * @segments: of Exrw
 * @first: of Tbsn: it is in this buffer segment and in those after it
 * @numbers: how many
 */
struct PlacedItem {
	u32 position = 0;
	u32 length = 0;
	Placement type = Placement::NoItem;
	Span<const Segment> segments;
	u32 offset = 0;
	u32 first = 0;
	u32 numbers = 0;
};

/* What a Call of this side's says of one item of its Reply. See DirectionItem. */
struct Direction {
	u32 least = 0;
	Placement type = Placement::Tbsn;
	u32 rdma_from = 0;
	Span<const Segment> segments;
};

/* And of a range of the Call, what items of the Reply come of it. */
struct DirectionRange {
	u32 begin = 0;
	u32 end = 0;
	Span<const Direction> items;
};

/* Octets of the headers without items and directions. */
inline constexpr u32 kXmtReqBare = kPrefixSize + 5 * kWordSize;
inline constexpr u32 kXmtRespBare = kPrefixSize + 3 * kWordSize;
inline constexpr u32 kXmtContSize = kPrefixSize + 3 * kWordSize;
inline constexpr u32 kIdSize = 3 * kWordSize;
/* With a lead, and the longest arm. */
inline constexpr u32 kReptErrBody = 2 * kIdSize + kWordSize + 4 * kWordSize;

[[nodiscard]] u32 items_size(Span<const PlacedItem> items);
[[nodiscard]] u32 directions_size(Span<const DirectionRange> ranges);

void encode_items(Span<const PlacedItem> items, XdrWriter &w);
void encode_directions(Span<const DirectionRange> ranges, XdrWriter &w);
void encode_report(const ReportedError &e, XdrWriter &w);
void encode_buffer_group(const BufferGroup &g, XdrWriter &w);

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_RTR_WIRE_H */
