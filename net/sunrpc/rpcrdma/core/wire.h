/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * RPC-over-RDMA transport headers on the wire: version 2 (sections 6 and 8), and
 * version 1 (RFC 8166, section 4), whose fields are some of the same.
 *
 * A header is the prefix and then, depending on its type, some of these fields
 * in this order. One table says which; decoder, encoder and size follow it.
 */
#ifndef _RPCRDMA_CORE_WIRE_H
#define _RPCRDMA_CORE_WIRE_H

#include "chunks.h"
#include "span.h"
#include "xid.h"

namespace rpcrdma
{

inline constexpr u32 kVersion1 = 1;
inline constexpr u32 kVersion2 = 2;

/* struct rpcrdma2_hdr_prefix: four words, not twenty bytes (D4). */
inline constexpr u32 kPrefixSize = 16;
inline constexpr u32 kWordSize = 4;
inline constexpr u32 kSegmentSize = 16;
inline constexpr u32 kReadSegmentSize = 20;

/* What a header type is about. */
enum class Kind : u8 { Error, Grant, Connprop, Extension, Call, Reply };

/* Parts of a header after the prefix, in wire order. */
enum Field : u16 {
	kFieldError = 1 << 0,
	kFieldProperties = 1 << 1,
	kFieldRemaining = 1 << 2,
	kFieldInvHandle = 1 << 3,
	kFieldCall = 1 << 4,
	kFieldReads = 1 << 5,
	kFieldWrites = 1 << 6,
	kFieldReply = 1 << 7,
	/* Version 1: the Call chunk is at the head of the Read list. */
	kFieldCallInReads = 1 << 8,
};

/**
 * What the draft says of one header type (section 6.1)
 * @htype: its number on the wire, of any size
 * @fields: Field bits
 * @payload: a part of an RPC message follows the header
 * @last: no further message continues this one
 * @bare: octets of the header if it has no chunks: see header_size(); its table fills it in
 * @index: less than RPCRDMA_MAX_TYPES; the list of extensions fills it in
 * @extension: whose it is, zero is the base protocol; likewise
 */
struct HeaderType {
	const char *name = nullptr;
	u32 htype = 0;
	u16 fields = 0;
	Kind kind = Kind::Error;
	bool payload = false;
	bool last = false;
	u8 index = 0;
	u8 extension = 0;
	u8 bare = 0;

	[[nodiscard]] constexpr rpcrdma_dir direction() const
	{
		return kind == Kind::Reply ? RPCRDMA_REPLY : RPCRDMA_CALL;
	}
	/* The RPC message is in a body chunk (section 4.4.3). */
	[[nodiscard]] constexpr bool external() const
	{
		return (kind == Kind::Call || kind == Kind::Reply) && !payload;
	}
};

/* Each of these fields is one word if there are no chunks. */
[[nodiscard]] constexpr u8 bare_size(u16 fields)
{
	constexpr Field kWords[] = { kFieldRemaining, kFieldInvHandle,
				     kFieldCall,      kFieldReads,
				     kFieldWrites,    kFieldReply };
	u32 size = kPrefixSize;

	for (const Field f : kWords)
		if (fields & f)
			size += kWordSize;
	return static_cast<u8>(size);
}

/* The largest header of a plain message, that of CALL_INLINE: see plain.h. */
inline constexpr u32 kLargestPlain =
	bare_size(kFieldInvHandle | kFieldReads | kFieldWrites | kFieldReply);

/* The type of version 2 with this number, or nullptr. */
[[nodiscard]] const HeaderType *header_type(u32 htype);

/* The type of version 2 with this index, or nullptr. */
[[nodiscard]] const HeaderType *type_at(u32 index);

/* How many indices there are, those of version 1 and the unknown types included. */
[[nodiscard]] u32 type_count();

/**
 * The type of version 1 with this procedure, for a Call or a Reply.
 *
 * @proc: RPCRDMA1_MSG or RPCRDMA1_NOMSG
 * @dir: which RFC 8167 leaves to the RPC message to say
 */
[[nodiscard]] const HeaderType &header_type_v1(u32 proc, rpcrdma_dir dir);

/**
 * What the draft says of one error code (section 7)
 * @words: how many words of the union's arm follow the code
 * @error: negative errno with which a Call completes
 */
struct ErrorType {
	u32 code;
	u32 words;
	s32 error;
	const char *name;
};

/* The error with this number, or nullptr. */
[[nodiscard]] const ErrorType *error_type(u32 code);

/**
 * struct rpcrdma2_hdr_error
 * @arg: the arm: low and high version; a maximum; chunk index and length
 *	needed; a length needed
 */
struct ErrorBody {
	u32 code;
	u32 arg[2];
};

/* struct rpcrdma_common, host order */
struct Prefix {
	Xid xid;
	u32 vers;
	u32 credit;
	u32 htype;
};

/**
 * One transport header, without its chunk lists
 * @type: never nullptr once decoded
 * @properties: where the property set is in the message
 * @payload: where the RPC message's octets are in the message
 * @end: octets of the message that were read as header: where it ends, or where what
 *	was found cannot be there
 */
struct Header {
	Prefix prefix = {};
	const HeaderType *type = nullptr;
	ErrorBody error = {};
	u32 remaining = 0;
	u32 inv_handle = 0;
	Range properties = {};
	Range payload = {};
	u32 end = 0;
};

/* How much of what a header may carry; the arrays of Chunks bound all. */
struct Limits {
	u32 segments;
	u32 read_chunks;
	u32 write_chunks;
};

inline constexpr Limits kNoLimits = { RPCRDMA_MAX_SEGMENTS,
				      RPCRDMA_MAX_SEGMENTS,
				      RPCRDMA_MAX_CHUNKS };

/*
 * Version 1 has no word for how many segments a header may have. The kernel's own
 * client keeps each list to as many as an array here has.
 */
inline constexpr Limits kNoLimitsV1 = { 3 * RPCRDMA_MAX_SEGMENTS,
					RPCRDMA_MAX_SEGMENTS,
					RPCRDMA_MAX_CHUNKS };

enum class Parse : u8 {
	Ok,
	BadXdr,
	TooManyReadChunks,
	TooManyWriteChunks,
	TooManySegments,
};

/* False if @in is shorter than a prefix; nothing of it can be trusted then. */
[[nodiscard]] bool decode_prefix(Bytes in, Prefix &p);

/**
 * Decode what follows the prefix.
 *
 * @in: the whole message
 * @limits: what this side accepts
 * @h: @h.prefix and @h.type are given, the rest is filled in
 * @c: overwritten; complete only if the result is Ok
 *
 * Beyond the XDR this checks that one header is consistent: a payload is a
 * positive multiple of four octets; nothing follows a header without payload;
 * a Call chunk has segments, all in Position zero; a REPLY_EXTERNAL has its
 * Reply chunk; rdma_inv_handle is in the header (D7). Lists are walked to their
 * end even when they are too long, never past the end of @in.
 *
 * For an ERROR, @h.error.code is set whenever the message is long enough for
 * it, also if the result is BadXdr. An unknown code has no arm: its words are
 * skipped.
 *
 * An RPC message with a header of an extension is decoded by that. Its payload is where
 * its type says, which need not be the end of the message.
 */
[[nodiscard]] Parse decode_body(Bytes in, const Limits &limits, Header &h,
				Chunks &c);

/**
 * Decode what follows the prefix of an RPC message of version 1.
 *
 * @in: the whole message
 * @h: @h.prefix is given, with RPCRDMA1_MSG or RPCRDMA1_NOMSG; the rest is
 *	filled in. @h.type tells Calls from Replies; null if that could not be read.
 * @c: overwritten; complete only if the result is Ok
 *
 * The checks are those of decode_body(). The limits depend on the direction, which
 * is known only after decoding: see counted() and within_limits().
 */
[[nodiscard]] Parse decode_body_v1(Bytes in, Header &h, Chunks &c);

/* rdma_proc of the dialect of 2016 that version 1 does not have: -07 has GRANT there. */
inline constexpr u32 kOptional2016 = 5;

/**
 * Decode what follows the prefix of RDMA2_MSG or RDMA2_NOMSG in the dialect of 2016:
 * draft-cel-nfsv4-rpcrdma-version-two-01, section 4.2.
 *
 * @in: the whole message
 * @h: as for decode_body_v1()
 * @c: likewise
 *
 * A word with the direction comes first. The rest is as in version 1, so the types are
 * those of version 1; the direction of the RPC message must be that in the header (4.2.2).
 */
[[nodiscard]] Parse decode_body_2016(Bytes in, Header &h, Chunks &c);

/**
 * struct rpcrdma2_optional of the dialect of 2016
 * @payload: what follows; it may be empty
 */
struct Optional2016 {
	rpcrdma_dir direction = RPCRDMA_CALL;
	u32 opttype = 0;
	Range optinfo = {};
	Range payload = {};
};

/**
 * Decode what follows the prefix of RDMA2_OPTIONAL.
 *
 * Return: false if it is none, as -07's GRANT, which is of that number, too.
 */
[[nodiscard]] bool decode_optional_2016(Bytes in, Optional2016 &o);

/**
 * This is a Call or a Reply of the dialect of 2016, or OPTIONAL, and nothing of -07.
 *
 * @p: its prefix
 * @c: room to work in; what is in it afterwards means nothing
 */
[[nodiscard]] bool of_2016(Bytes in, const Prefix &p, Chunks &c);

/* Counts of a header's chunks and segments, also if they are too many to store. */
struct Count {
	u32 read_chunks = 0;
	u32 write_chunks = 0;
	u32 segments = 0;
};

/* Of lists that decoding has stored whole. */
[[nodiscard]] Count counted(const Chunks &c);

[[nodiscard]] Parse within_limits(const Count &n, const Limits &limits);

/*
 * Octets of the largest header that this side sends: a CALL_EXTERNAL with all its
 * segments in the Read list, a Write chunk and a Reply chunk.
 */
inline constexpr u32 kLargestHeader =
	kPrefixSize + 5 * kWordSize +
	RPCRDMA_MAX_SEGMENTS * (kWordSize + kReadSegmentSize) + 3 * kWordSize;

/* Octets that encode() will write. Property sets are not counted. */
[[nodiscard]] u32 header_size(const HeaderType &type, const Chunks *c);

/**
 * Encode a header, all but a property set.
 *
 * @h: prefix, error, remaining, inv_handle and type are used
 * @c: chunk lists, well formed, or nullptr
 *
 * Return: octets written, or zero if @out is too small.
 */
[[nodiscard]] u32 encode(const Header &h, const Chunks *c, MutableBytes out);

} // namespace rpcrdma

#endif /* _RPCRDMA_CORE_WIRE_H */
