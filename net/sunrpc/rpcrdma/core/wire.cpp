// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "wire.h"
#include "extensions.h"
#include "linux_errno.h"
#include "xdr.h"

namespace rpcrdma
{

static_assert(kPrefixSize == 4 * kWordSize);
static_assert(kSegmentSize == kWordSize + kWordSize + sizeof(u64));
static_assert(kReadSegmentSize == kWordSize + kSegmentSize);

static constexpr auto kHeaderTypes = Extensions::types();
static constexpr u32 kBaseTypes = Extensions::kBaseTypes;

static_assert(numbers_differ<&HeaderType::htype>(Extensions::types()));
static_assert(Extensions::kIndices <= RPCRDMA_MAX_TYPES);

/*
 * The numbers of extensions' types are near each other, from this one on. Their places in
 * kHeaderTypes; zero stands for none.
 */
static constexpr u32 kNearNumbers = 16;
static constexpr u32 kNearFirst = kHeaderTypes[Extensions::kTypes - 1].htype &
				  ~(kNearNumbers - 1);

static constexpr Table<u8, kNearNumbers> near_types()
{
	Table<u8, kNearNumbers> place = {};

	for (u32 n = kBaseTypes; n < Extensions::kTypes; n++) {
		const u32 i = kHeaderTypes[n].htype - kNearFirst;

		if (i < kNearNumbers)
			place.rows[i] = static_cast<u8>(n);
	}
	return place;
}
static constexpr auto kNearTypes = near_types();

const HeaderType *header_type(u32 htype)
{
	const u32 i = htype - BaseProtocol::kFirstType;

	if (i < kBaseTypes)
		return &kHeaderTypes[i];
	if ((htype & ~(kNearNumbers - 1)) == kNearFirst) {
		const u32 n = kNearTypes[htype % kNearNumbers];

		if (n)
			return &kHeaderTypes[n];
	}
	for (u32 n = kBaseTypes; n < Extensions::kTypes; n++)
		if (kHeaderTypes[n].htype == htype)
			return &kHeaderTypes[n];
	return nullptr;
}

const HeaderType *type_at(u32 index)
{
	if (index < RPCRDMA_TYPE_UNKNOWN)
		return header_type(index);
	index -= RPCRDMA_TYPE_UNKNOWN + 1;
	return index < Extensions::kTypes - kBaseTypes ?
		       &kHeaderTypes[kBaseTypes + index] :
		       nullptr;
}

u32 type_count()
{
	return Extensions::kIndices;
}

static constexpr u16 kListsV1 = kFieldReads | kFieldWrites | kFieldReply;

static constexpr HeaderType type_v1(const char *name, u8 proc, u16 fields,
				    Kind kind, bool payload)
{
	return { name, proc, fields,	       kind, payload, true,
		 proc, 0,    bare_size(fields) };
}

/* By procedure and direction. */
static constexpr HeaderType kHeaderTypesV1[][2] = {
	{ type_v1("MSG", RPCRDMA1_MSG, kListsV1, Kind::Call, true),
	  type_v1("MSG", RPCRDMA1_MSG, kListsV1, Kind::Reply, true) },
	{ type_v1("NOMSG", RPCRDMA1_NOMSG, kListsV1 | kFieldCallInReads,
		  Kind::Call, false),
	  type_v1("NOMSG", RPCRDMA1_NOMSG, kListsV1, Kind::Reply, false) },
};

const HeaderType &header_type_v1(u32 proc, rpcrdma_dir dir)
{
	return kHeaderTypesV1[proc == RPCRDMA1_NOMSG][dir == RPCRDMA_REPLY];
}

static constexpr ErrorType kErrorTypes[] = {
	{ RPCRDMA2_ERR_VERS, 2, -kEPROTONOSUPPORT, "VERS" },
	{ RPCRDMA2_ERR_BAD_XDR, 0, -kEIO, "BAD_XDR" },
	{ RPCRDMA2_ERR_BAD_PROPVAL, 0, -kEIO, "BAD_PROPVAL" },
	{ RPCRDMA2_ERR_INVAL_HTYPE, 0, -kEIO, "INVAL_HTYPE" },
	{ RPCRDMA2_ERR_INVAL_CONT, 0, -kEIO, "INVAL_CONT" },
	{ RPCRDMA2_ERR_READ_CHUNKS, 1, -kEIO, "READ_CHUNKS" },
	{ RPCRDMA2_ERR_WRITE_CHUNKS, 1, -kEIO, "WRITE_CHUNKS" },
	{ RPCRDMA2_ERR_SEGMENTS, 1, -kEIO, "SEGMENTS" },
	{ RPCRDMA2_ERR_WRITE_RESOURCE, 2, -kEIO, "WRITE_RESOURCE" },
	{ RPCRDMA2_ERR_REPLY_RESOURCE, 1, -kEIO, "REPLY_RESOURCE" },
	{ RPCRDMA2_ERR_VERS_MISMATCH, 0, -kEPROTONOSUPPORT, "VERS_MISMATCH" },
	{ RPCRDMA2_ERR_SYSTEM, 0, -kEREMOTEIO, "SYSTEM" },
};

const ErrorType *error_type(u32 code)
{
	for (const ErrorType &e : kErrorTypes)
		if (e.code == code)
			return &e;
	return nullptr;
}

bool decode_prefix(Bytes in, Prefix &p)
{
	XdrReader r(in);
	u32 xid = 0;

	if (!r.words(xid, p.vers, p.credit, p.htype))
		return false;
	p.xid = to_xid(xid);
	return true;
}

static bool get_segment(XdrReader &r, Segment &s)
{
	return r.words(s.handle, s.length) && r.hyper(s.offset);
}

static bool get_read_segment(XdrReader &r, ReadSegment &s)
{
	return r.word(s.position) && get_segment(r, s.target);
}

/* An XDR list: @take reads one item, until none follows. */
template <typename Take> static bool get_list(XdrReader &r, Take take)
{
	bool more;

	for (;;) {
		if (!r.boolean(more))
			return false;
		if (!more)
			return true;
		if (!take())
			return false;
	}
}

static void add_call(const Segment &s, Chunks &c, Count &n)
{
	if (n.segments++ < RPCRDMA_MAX_SEGMENTS)
		c.call[c.n_call++] = s;
}

static bool get_call(XdrReader &r, Chunks &c, Count &n)
{
	const auto take = [&] {
		ReadSegment s;

		if (!get_read_segment(r, s) || s.position)
			return false;
		add_call(s.target, c, n);
		return true;
	};

	return get_list(r, take) && n.segments > 0;
}

/* @call: what comes first in Position zero is the Call chunk. */
static bool get_reads(XdrReader &r, bool call, Chunks &c, Count &n)
{
	u32 position = 0;

	return get_list(r, [&] {
		ReadSegment s;

		if (!get_read_segment(r, s))
			return false;
		if (call && !s.position && !n.read_chunks) {
			add_call(s.target, c, n);
			return true;
		}
		if (!n.read_chunks || s.position != position)
			n.read_chunks++;
		position = s.position;
		n.segments++;
		if (c.n_reads < RPCRDMA_MAX_SEGMENTS)
			c.reads[c.n_reads++] = s;
		return true;
	});
}

static bool get_write_chunk(XdrReader &r, Chunks &c, WriteChunk &w, Count &n)
{
	u32 count;

	if (!r.word(count) || count > r.left() / kSegmentSize)
		return false;
	w.first = c.n_write_segs;
	w.count = count;
	n.segments += count;
	for (u32 i = 0; i < count; i++) {
		Segment s;

		if (!get_segment(r, s))
			return false;
		if (c.n_write_segs < RPCRDMA_MAX_SEGMENTS)
			c.write_segs[c.n_write_segs++] = s;
	}
	return true;
}

static bool get_writes(XdrReader &r, Chunks &c, Count &n)
{
	return get_list(r, [&] {
		WriteChunk w;

		if (!get_write_chunk(r, c, w, n))
			return false;
		if (n.write_chunks++ < RPCRDMA_MAX_CHUNKS)
			c.writes[c.n_writes++] = w;
		return true;
	});
}

static bool get_reply(XdrReader &r, Chunks &c, Count &n)
{
	if (!r.boolean(c.has_reply))
		return false;
	return !c.has_reply || get_write_chunk(r, c, c.reply, n);
}

static bool get_error(XdrReader &r, ErrorBody &e)
{
	if (!r.word(e.code))
		return false;
	const ErrorType *type = error_type(e.code);
	if (!type) {
		Bytes rest;

		return r.opaque(r.left() & ~(kXdrUnit - 1), rest);
	}
	for (u32 i = 0; i < type->words; i++)
		if (!r.word(e.arg[i]))
			return false;
	return true;
}

static bool get_lists(XdrReader &r, const HeaderType &t, Chunks &c, Count &n)
{
	return (!(t.fields & kFieldCall) || get_call(r, c, n)) &&
	       (!(t.fields & kFieldReads) ||
		get_reads(r, t.fields & kFieldCallInReads, c, n)) &&
	       (!(t.fields & kFieldWrites) || get_writes(r, c, n)) &&
	       (!(t.fields & kFieldReply) || get_reply(r, c, n));
}

Count counted(const Chunks &c)
{
	Count n;

	for (u32 i = 0; i < c.n_reads; i++)
		if (!i || c.reads[i].position != c.reads[i - 1].position)
			n.read_chunks++;
	n.write_chunks = c.n_writes;
	n.segments = total_segments(c);
	return n;
}

Parse within_limits(const Count &n, const Limits &limits)
{
	if (n.read_chunks > limits.read_chunks)
		return Parse::TooManyReadChunks;
	if (n.write_chunks > limits.write_chunks ||
	    n.write_chunks > RPCRDMA_MAX_CHUNKS)
		return Parse::TooManyWriteChunks;
	if (n.segments > limits.segments)
		return Parse::TooManySegments;
	return Parse::Ok;
}

/* The same, and all of them have been stored in @c. */
static Parse within_limits(const Count &n, const Limits &limits,
			   const Chunks &c)
{
	const Parse p = within_limits(n, limits);

	if (p == Parse::Ok && n.segments != total_segments(c))
		return Parse::TooManySegments;
	return p;
}

static void clear_body(Header &h, Chunks &c)
{
	clear(c);
	h.error = {};
	h.remaining = 0;
	h.inv_handle = 0;
	h.properties = {};
	h.payload = {};
}

/* What follows the lists is a part of an RPC message, or nothing. */
static bool payload_valid(const HeaderType &t, u32 octets)
{
	return t.payload ? octets && xdr_aligned(octets) : !octets;
}

/* It is in the message, behind the prefix. */
static bool payload_inside(const Header &h, u32 size)
{
	const u64 end = u64{ h.payload.offset } + h.payload.length;

	if (!h.type->payload)
		return !h.payload.length;
	return h.payload.length && xdr_aligned(h.payload.length) &&
	       h.payload.offset >= kPrefixSize && end <= size;
}

/* Without extensions nothing calls it. */
[[maybe_unused]] static Parse decode_extension(Bytes in, const Limits &limits,
					       Header &h, Chunks &c)
{
	Parse p = Parse::BadXdr;

	Extensions::visit(h.type->extension, [&](auto which) {
		using E = typename decltype(which)::type;

		if constexpr (requires { E::decode(in, limits, h, c); })
			p = E::decode(in, limits, h, c);
	});
	if (p == Parse::Ok &&
	    !(payload_inside(h, in.size()) && handle_known(c, h.inv_handle)))
		return Parse::BadXdr;
	return p;
}

static Parse read_body(Bytes in, XdrReader &r, const Limits &limits, Header &h,
		       Chunks &c)
{
	const HeaderType &t = *h.type;
	Count n;

	clear_body(h, c);
	if constexpr (Extensions::kOthers > 0)
		if (t.extension)
			return decode_extension(in, limits, h, c);
	if ((t.fields & kFieldError) && !get_error(r, h.error))
		return Parse::BadXdr;
	if (t.fields & kFieldProperties) {
		/* The set is decoded elsewhere; it ends with the message. */
		h.properties = { kPrefixSize, r.left() };
		return Parse::Ok;
	}
	if ((t.fields & kFieldRemaining) && !r.word(h.remaining))
		return Parse::BadXdr;
	if ((t.fields & kFieldInvHandle) && !r.word(h.inv_handle))
		return Parse::BadXdr;
	if (!get_lists(r, t, c, n))
		return Parse::BadXdr;
	if (!payload_valid(t, r.left()))
		return Parse::BadXdr;
	if (t.htype == RPCRDMA2_REPLY_EXTERNAL && !c.has_reply)
		return Parse::BadXdr;

	const Parse p = within_limits(n, limits, c);
	if (p != Parse::Ok)
		return p;
	if (!handle_known(c, h.inv_handle))
		return Parse::BadXdr;
	if (t.payload)
		h.payload = { kPrefixSize + r.offset(), r.left() };
	return Parse::Ok;
}

Parse decode_body(Bytes in, const Limits &limits, Header &h, Chunks &c)
{
	XdrReader r(in.after(kPrefixSize));
	const Parse p = read_body(in, r, limits, h, c);

	h.end = kPrefixSize + r.offset();
	return p;
}

/*
 * Where the RPC message is not at hand, its chunk tells the direction. A word that is none is
 * taken for a Call's: whoever compares the words of the message with its header refuses it.
 */
static rpcrdma_dir direction_v1(Bytes payload, const Chunks &c)
{
	XdrReader r(payload);
	rpcrdma_dir dir = RPCRDMA_CALL;
	u32 xid;
	u32 word;

	if (!r.word(xid) || !r.word(word))
		return c.n_call ? RPCRDMA_CALL : RPCRDMA_REPLY;
	(void)direction_of(word, dir);
	return dir;
}

static Parse read_body_v1(Bytes in, XdrReader &r, Header &h, Chunks &c)
{
	const u32 proc = h.prefix.htype;
	const HeaderType &either = header_type_v1(proc, RPCRDMA_CALL);
	Count n;

	clear_body(h, c);
	h.type = nullptr;
	if (!get_lists(r, either, c, n) || !payload_valid(either, r.left()))
		return Parse::BadXdr;
	/* The direction is in the second word. */
	if (either.payload && r.left() < 2 * kWordSize)
		return Parse::BadXdr;

	const rpcrdma_dir dir = direction_v1(in.after(kPrefixSize + r.offset()), c);
	h.type = &header_type_v1(proc, dir);
	const Parse p = within_limits(n, kNoLimitsV1, c);
	if (p != Parse::Ok)
		return p;
	if (h.type->payload)
		h.payload = { kPrefixSize + r.offset(), r.left() };
	/* Read chunks are for Calls. */
	return dir == RPCRDMA_REPLY && !no_reads(c) ? Parse::BadXdr : Parse::Ok;
}

Parse decode_body_v1(Bytes in, Header &h, Chunks &c)
{
	XdrReader r(in.after(kPrefixSize));
	const Parse p = read_body_v1(in, r, h, c);

	h.end = kPrefixSize + r.offset();
	return p;
}

/* The second word of the payload, if there is one. */
static bool msg_type_is(Bytes in, const Range &payload, rpcrdma_dir direction)
{
	XdrReader r(in.after(payload.offset));
	u32 xid;
	u32 type;

	return !payload.length ||
	       (r.word(xid) && r.word(type) && type == direction);
}

Parse decode_body_2016(Bytes in, Header &h, Chunks &c)
{
	XdrReader r(in.after(kPrefixSize));
	u32 type = 0;
	Parse p = Parse::BadXdr;

	h.type = nullptr;
	if (r.word(type))
		p = read_body_v1(in, r, h, c);
	else
		clear_body(h, c);
	if (h.type && (h.type->direction() != type ||
		       !msg_type_is(in, h.payload, h.type->direction())))
		p = Parse::BadXdr;
	h.end = kPrefixSize + r.offset();
	return p;
}

bool decode_optional_2016(Bytes in, Optional2016 &o)
{
	XdrReader r(in.after(kPrefixSize));
	Bytes info;
	u32 length;
	u32 word;

	if (!r.word(word) || !direction_of(word, o.direction) ||
	    !r.word(o.opttype) || !r.word(length))
		return false;
	o.optinfo = { kPrefixSize + r.offset(), length };
	if (!r.opaque(length, info))
		return false;
	o.payload = { kPrefixSize + r.offset(), r.left() };
	return true;
}

bool of_2016(Bytes in, const Prefix &p, Chunks &c)
{
	Optional2016 o;
	Header h;

	if (p.vers != kVersion2)
		return false;
	if (p.htype == kOptional2016)
		return decode_optional_2016(in, o);
	if (p.htype > RPCRDMA1_NOMSG)
		return false;
	h.prefix = p;
	return decode_body_2016(in, h, c) != Parse::BadXdr;
}

static u32 write_chunk_size(const WriteChunk &w)
{
	return kWordSize + w.count * kSegmentSize;
}

u32 header_size(const HeaderType &t, const Chunks *c)
{
	u32 size = t.bare;

	if (!c)
		return size;
	if (t.fields & (kFieldCall | kFieldCallInReads))
		size += c->n_call * (kWordSize + kReadSegmentSize);
	if (t.fields & kFieldReads)
		size += c->n_reads * (kWordSize + kReadSegmentSize);
	if (t.fields & kFieldWrites)
		for (u32 i = 0; i < c->n_writes; i++)
			size += kWordSize + write_chunk_size(c->writes[i]);
	if ((t.fields & kFieldReply) && c->has_reply)
		size += write_chunk_size(c->reply);
	return size;
}

static void put_segment(XdrWriter &w, const Segment &s)
{
	w.word(s.handle);
	w.word(s.length);
	w.hyper(s.offset);
}

static void put_read_segment(XdrWriter &w, u32 position, const Segment &s)
{
	w.word(1);
	w.word(position);
	put_segment(w, s);
}

static void put_write_chunk(XdrWriter &w, const Chunks &c, const WriteChunk &k)
{
	w.word(k.count);
	for (const Segment &s : segments(c, k))
		put_segment(w, s);
}

static void put_lists(XdrWriter &w, const HeaderType &t, const Chunks *c)
{
	if (t.fields & (kFieldCall | kFieldCallInReads))
		for (u32 i = 0; c && i < c->n_call; i++)
			put_read_segment(w, 0, c->call[i]);
	if (t.fields & kFieldCall)
		w.word(0);
	if (t.fields & kFieldReads) {
		for (u32 i = 0; c && i < c->n_reads; i++)
			put_read_segment(w, c->reads[i].position,
					 c->reads[i].target);
		w.word(0);
	}
	if (t.fields & kFieldWrites) {
		for (u32 i = 0; c && i < c->n_writes; i++) {
			w.word(1);
			put_write_chunk(w, *c, c->writes[i]);
		}
		w.word(0);
	}
	if (t.fields & kFieldReply) {
		w.word(c && c->has_reply);
		if (c && c->has_reply)
			put_write_chunk(w, *c, c->reply);
	}
}

u32 encode(const Header &h, const Chunks *c, MutableBytes out)
{
	const HeaderType &t = *h.type;
	XdrWriter w(out);

	w.word(word_of(h.prefix.xid));
	w.word(h.prefix.vers);
	w.word(h.prefix.credit);
	w.word(t.htype);
	if (t.fields & kFieldError) {
		const ErrorType *e = error_type(h.error.code);

		w.word(h.error.code);
		for (u32 i = 0; e && i < e->words; i++)
			w.word(h.error.arg[i]);
	}
	if (t.fields & kFieldRemaining)
		w.word(h.remaining);
	if (t.fields & kFieldInvHandle)
		w.word(h.inv_handle);
	put_lists(w, t, c);
	return w.ok() ? w.size() : 0;
}

} // namespace rpcrdma
