// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The core's codec against the one that rpcgen makes of the draft's own XDR: each reads
 * what the other writes, and writes the same bytes again; and each refuses
 * what the other refuses. Where the core is stricter on purpose, expected()
 * says how; it is a model of D7 on the reference's values, and must agree
 * in both directions.
 *
 *   CODEC_ROUNDS=10000	messages of each kind
 *   CODEC_SEED=1	seed of the messages
 */
#include "maker.h"

#include <algorithm>
#include <cstring>
#include <memory>

using namespace codec;
using rpcrdma::Header;
using rpcrdma::header_type;
using rpcrdma::kPrefixSize;
using rpcrdma::Limits;
using rpcrdma::Parse;
using rpcrdma::Prefix;
using rpcrdma::PropertyParse;

extern "C" void rpcrdma_shim_broken(const char *file, int line,
				    const char *what)
{
	std::fprintf(stderr, "%s:%d: invariant broken: %s\n", file, line, what);
	std::abort();
}

namespace
{

constexpr u32 kFirstType = RPCRDMA2_ERROR;
constexpr u32 kLastType = RPCRDMA2_REPLY_INLINE;

/* -------------------------------------------------------------------- */
/* What the core says of octets, in the same words                      */
/* -------------------------------------------------------------------- */

Segment from(const rpcrdma_segment &s)
{
	return { s.handle, s.length, s.offset };
}

WriteChunk from(const rpcrdma::Chunks &c, const rpcrdma::WriteChunk &w)
{
	WriteChunk out;

	for (const rpcrdma_segment &s : rpcrdma::segments(c, w))
		out.push_back(from(s));
	return out;
}

Content from(const Header &h, const rpcrdma::Chunks &c, const Octets &message)
{
	Content out;

	out.error = h.error.code;
	out.error_args[0] = h.error.arg[0];
	out.error_args[1] = h.error.arg[1];
	out.remaining = h.remaining;
	out.inv_handle = h.inv_handle;
	for (u32 i = 0; i < c.n_call; i++)
		out.call.push_back({ 0, from(c.call[i]) });
	for (u32 i = 0; i < c.n_reads; i++)
		out.reads.push_back(
			{ c.reads[i].position, from(c.reads[i].target) });
	for (u32 i = 0; i < c.n_writes; i++)
		out.writes.push_back(from(c, c.writes[i]));
	if (c.has_reply)
		out.reply = from(c, c.reply);
	if (h.type->payload)
		out.first_word =
			rpcrdma::load_be32(message.data() + h.payload.offset);
	return out;
}

/* False if it is more than the core has room for. */
bool to(const Content &content, Header &h, rpcrdma::Chunks &c)
{
	const auto add = [&](const WriteChunk &from, rpcrdma::WriteChunk &w) {
		w = { static_cast<u32>(from.size()), c.n_write_segs };
		if (c.n_write_segs + from.size() > RPCRDMA_MAX_SEGMENTS)
			return false;
		for (const Segment &s : from)
			c.write_segs[c.n_write_segs++] = { s.handle, s.length,
							   s.offset };
		return true;
	};

	h.error = { content.error,
		    { content.error_args[0], content.error_args[1] } };
	h.remaining = content.remaining;
	h.inv_handle = content.inv_handle;
	c = {};
	if (content.call.size() > RPCRDMA_MAX_SEGMENTS ||
	    content.reads.size() > RPCRDMA_MAX_SEGMENTS ||
	    content.writes.size() > RPCRDMA_MAX_CHUNKS)
		return false;
	for (const ReadSegment &s : content.call)
		c.call[c.n_call++] = { s.target.handle, s.target.length,
				       s.target.offset };
	for (const ReadSegment &s : content.reads)
		c.reads[c.n_reads++] = { s.position,
					 { s.target.handle, s.target.length,
					   s.target.offset } };
	for (const WriteChunk &w : content.writes)
		if (!add(w, c.writes[c.n_writes++]))
			return false;
	c.has_reply = content.reply.has_value();
	return !c.has_reply || add(*content.reply, c.reply);
}

/* -------------------------------------------------------------------- */
/* Where the core is stricter than the XDR                              */
/* -------------------------------------------------------------------- */

bool error_has_arm(u32 code)
{
	return (code >= RPCRDMA2_ERR_VERS &&
		code <= RPCRDMA2_ERR_VERS_MISMATCH) ||
	       code == RPCRDMA2_ERR_SYSTEM;
}

u32 count_read_chunks(const Content &c)
{
	u32 n = 0;

	for (u32 i = 0; i < c.reads.size(); i++)
		n += !i || c.reads[i].position != c.reads[i - 1].position;
	return n;
}

u32 count_segments(const Content &c)
{
	size_t n = c.call.size() + c.reads.size();

	for (const WriteChunk &w : c.writes)
		n += w.size();
	if (c.reply)
		n += c.reply->size();
	return static_cast<u32>(n);
}

bool names_handle(const Content &c, u32 handle)
{
	const auto is_it = [&](const Segment &s) {
		return s.handle == handle;
	};

	for (const ReadSegment &s : c.call)
		if (is_it(s.target))
			return true;
	for (const ReadSegment &s : c.reads)
		if (is_it(s.target))
			return true;
	for (const WriteChunk &w : c.writes)
		if (std::find_if(w.begin(), w.end(), is_it) != w.end())
			return true;
	return c.reply && std::find_if(c.reply->begin(), c.reply->end(),
				       is_it) != c.reply->end();
}

/* What decode_body() has to say of a body that the reference has read. */
Parse expected(u32 htype, const Decoded &d, u32 size, const Limits &limits)
{
	const bool payload = htype == RPCRDMA2_CALL_MIDDLE ||
			     htype == RPCRDMA2_CALL_INLINE ||
			     htype == RPCRDMA2_REPLY_MIDDLE ||
			     htype == RPCRDMA2_REPLY_INLINE;
	const Content &c = d.content;
	const u32 behind = size - d.consumed;

	/* libtirpc takes every word but zero for TRUE; RFC 4506 has one. */
	if (!d.ok || !d.canonical)
		return Parse::BadXdr;
	/* A message is words. An arm that is not known may have some (7). */
	if (behind % 4)
		return Parse::BadXdr;
	if (behind && !payload &&
	    (htype != RPCRDMA2_ERROR || error_has_arm(c.error)))
		return Parse::BadXdr;
	/* Special Format without its chunk says nothing (6.3.8, 6.3.11). */
	if (htype == RPCRDMA2_CALL_EXTERNAL && c.call.empty())
		return Parse::BadXdr;
	for (const ReadSegment &s : c.call)
		if (s.position)
			return Parse::BadXdr;
	if (htype == RPCRDMA2_REPLY_EXTERNAL && !c.reply)
		return Parse::BadXdr;
	/* What was announced, and never more than there is room for. */
	if (count_read_chunks(c) > limits.read_chunks)
		return Parse::TooManyReadChunks;
	if (c.writes.size() >
	    std::min<u32>(limits.write_chunks, RPCRDMA_MAX_CHUNKS))
		return Parse::TooManyWriteChunks;
	const u32 segments = count_segments(c);
	const u32 reads = static_cast<u32>(c.reads.size());
	const u32 call = static_cast<u32>(c.call.size());
	if (segments > limits.segments || call > RPCRDMA_MAX_SEGMENTS ||
	    reads > RPCRDMA_MAX_SEGMENTS ||
	    segments - call - reads > RPCRDMA_MAX_SEGMENTS)
		return Parse::TooManySegments;
	/* Section 6.5, D7. */
	if (c.inv_handle && !names_handle(c, c.inv_handle))
		return Parse::BadXdr;
	return Parse::Ok;
}

/* As properties.h has it; where both could be said, either is right. */
void expect_properties(PropertyParse got, const rpcrdma_properties &p,
		       const Octets &in)
{
	static constexpr u32 rpcrdma_properties::*kFields[] = {
		&rpcrdma_properties::send_size,
		&rpcrdma_properties::recv_size,
		&rpcrdma_properties::max_segment_size,
		&rpcrdma_properties::max_segments,
		&rpcrdma_properties::reverse,
	};
	rpcrdma_properties want = static_cast<const rpcrdma_properties &>(
		rpcrdma::kDefaultProperties);
	const u32 size = static_cast<u32>(in.size());
	std::vector<Property> set;
	bool sensible = true;
	u32 consumed;

	if (!reference_properties(in.data(), size, set, consumed)) {
		EXPECT_NE(got, PropertyParse::Ok);
		return;
	}
	for (const Property &p : set) {
		const bool number = p.which >= 1 && p.which <= 5;
		u32 value;

		if (p.which == 6 && !p.data.empty()) {
			sensible &= reference_host_auth(p.data);
		} else if (number && p.data.empty()) {
			want.*kFields[p.which - 1] =
				rpcrdma::kDefaultProperties.*
				kFields[p.which - 1];
		} else if (number) {
			if (!reference_number(p.which, p.data, value))
				sensible = false;
			else if (p.which == 5 && value > RPCRDMA_RVRSDIR_GENL)
				want.reverse = RPCRDMA_RVRSDIR_NONE;
			else
				want.*kFields[p.which - 1] = value;
		}
	}
	if (!sensible) {
		EXPECT_EQ(got, PropertyParse::BadValue);
	} else if (consumed != size) {
		EXPECT_EQ(got, PropertyParse::BadXdr);
	} else {
		EXPECT_EQ(got, PropertyParse::Ok);
		EXPECT_EQ(std::memcmp(&want, &p, sizeof(p)), 0);
	}
}

/* -------------------------------------------------------------------- */
/* Messages by chance                                                   */
/* -------------------------------------------------------------------- */

class Maker {
public:
	explicit Maker(u32 seed)
		: random_(seed)
	{
	}

	u32 below(u32 n)
	{
		return static_cast<u32>(random_() % n);
	}
	bool one_in(u32 n)
	{
		return !below(n);
	}

	/* Often one of the values that arithmetic stumbles over. */
	u32 word()
	{
		static constexpr u32 kEdges[] = {
			0,	    1,		2,	    3,
			4,	    16,		17,	    0xff,
			0x3ff,	    0x400,	0xffff,	    0x10000,
			0x3fffffff, 0x40000000, 0x7fffffff, 0x80000000,
			0xfffffffb, 0xfffffffc, 0xffffffff,
		};

		return one_in(2) ? kEdges[below(std::size(kEdges))] :
				   static_cast<u32>(random_());
	}

	Prefix prefix(u32 htype)
	{
		return { rpcrdma::to_xid(word()), one_in(4) ? word() : 2,
			 word(), htype };
	}

	Content content(u32 htype)
	{
		Content c;

		switch (htype) {
		case RPCRDMA2_ERROR:
			c.error = one_in(8) ? word() : below(13);
			c.error = one_in(8) ? 100 : c.error;
			make_arm(c);
			return c;
		case RPCRDMA2_CALL_MIDDLE:
		case RPCRDMA2_REPLY_MIDDLE:
			c.remaining = word();
			break;
		case RPCRDMA2_CALL_EXTERNAL:
			for (u32 n = length(); n; n--)
				c.call.push_back(
					{ one_in(30) ? word() : 0, segment() });
			[[fallthrough]];
		case RPCRDMA2_CALL_INLINE:
			for (u32 n = length(); n; n--)
				c.reads.push_back({ position(c), segment() });
			make_writes(c);
			make_reply(c, 2);
			break;
		case RPCRDMA2_REPLY_EXTERNAL:
			make_writes(c);
			make_reply(c, 10);
			break;
		case RPCRDMA2_REPLY_INLINE:
			make_writes(c);
			break;
		}
		if (header_type(htype)->payload)
			c.first_word = word();
		if (htype == RPCRDMA2_CALL_EXTERNAL ||
		    htype == RPCRDMA2_CALL_INLINE)
			c.inv_handle = one_in(8) ? word() : some_handle(c);
		return c;
	}

	std::vector<Property> properties()
	{
		std::vector<Property> set(one_in(20) ? below(200) : below(8));

		for (Property &p : set) {
			p.which = one_in(8) ? word() : 1 + below(7);
			if (one_in(4)) {
				p.data.resize(below(40));
				for (u8 &o : p.data)
					o = static_cast<u8>(random_());
			} else if (p.which == 6) {
				const u32 length = below(20);

				p.data.resize(4 + (length + 3) / 4 * 4);
				rpcrdma::store_be32(p.data.data(), length);
			} else if (!one_in(6)) {
				p.data.resize(4);
				rpcrdma::store_be32(p.data.data(),
						    p.which == 5 ? below(5) :
								   word());
			}
		}
		return set;
	}

private:
	u32 length()
	{
		return one_in(10) ? below(20) : below(3);
	}
	Segment segment()
	{
		return { word(), word(), u64{ word() } << 32 | word() };
	}
	u32 position(const Content &c)
	{
		return one_in(2) && !c.reads.empty() ? c.reads.back().position :
						       word();
	}
	WriteChunk chunk()
	{
		WriteChunk w(length());

		for (Segment &s : w)
			s = segment();
		return w;
	}
	void make_writes(Content &c)
	{
		for (u32 n = one_in(20) ? below(11) : below(3); n; n--)
			c.writes.push_back(chunk());
	}
	void make_reply(Content &c, u32 none)
	{
		if (!one_in(none))
			c.reply = chunk();
	}
	void make_arm(Content &c)
	{
		switch (c.error) {
		case RPCRDMA2_ERR_VERS:
		case RPCRDMA2_ERR_WRITE_RESOURCE:
			c.error_args[1] = word();
			[[fallthrough]];
		case RPCRDMA2_ERR_READ_CHUNKS:
		case RPCRDMA2_ERR_WRITE_CHUNKS:
		case RPCRDMA2_ERR_SEGMENTS:
		case RPCRDMA2_ERR_REPLY_RESOURCE:
			c.error_args[0] = word();
			break;
		default:
			break;
		}
	}
	u32 some_handle(const Content &c)
	{
		if (!c.reads.empty() && one_in(3))
			return c.reads.back().target.handle;
		if (!c.call.empty() && one_in(2))
			return c.call.back().target.handle;
		if (c.reply && !c.reply->empty())
			return c.reply->back().handle;
		return 0;
	}

	std::mt19937_64 random_;
};

/* -------------------------------------------------------------------- */
/* Comparing                                                            */
/* -------------------------------------------------------------------- */

/* For ASan: nothing behind the last octet. */
struct Exact {
	explicit Exact(const Octets &o)
		: size(static_cast<u32>(o.size()))
		, data(new u8[o.size()])
	{
		if (size)
			std::memcpy(data.get(), o.data(), size);
	}
	[[nodiscard]] rpcrdma::Bytes bytes() const
	{
		return { data.get(), size };
	}
	u32 size;
	std::unique_ptr<u8[]> data;
};

struct Tally {
	u32 accepted = 0;
	u32 refused = 0;
};

/* @o, a message of a known type, through both decoders. */
void compare(const Octets &o, const Limits &limits, Tally &tally)
{
	const Exact in(o);
	Header h;
	rpcrdma::Chunks chunks;

	if (!rpcrdma::decode_prefix(in.bytes(), h.prefix)) {
		EXPECT_LT(o.size(), kPrefixSize);
		return;
	}
	const Prefix p = reference_prefix(o.data());
	ASSERT_EQ(std::memcmp(&p, &h.prefix, sizeof(p)), 0);
	h.type = header_type(p.htype);
	if (!h.type) {
		EXPECT_TRUE(p.htype < kFirstType || p.htype > kLastType);
		return;
	}
	if (h.type->kind == rpcrdma::Kind::Connprop) {
		rpcrdma::Properties got = rpcrdma::kDefaultProperties;
		const rpcrdma::Bytes set = in.bytes().after(kPrefixSize);
		const PropertyParse parsed =
			rpcrdma::decode_properties(set, got);

		expect_properties(parsed, got,
				  Octets(o.begin() + kPrefixSize, o.end()));
		(parsed == PropertyParse::Ok ? tally.accepted :
					       tally.refused)++;
		return;
	}

	const u32 size = in.size - kPrefixSize;
	const Decoded d =
		reference_decode(p.htype, o.data() + kPrefixSize, size);
	const Parse got = rpcrdma::decode_body(in.bytes(), limits, h, chunks);

	ASSERT_EQ(got, expected(p.htype, d, size, limits))
		<< h.type->name << " the reference "
		<< (d.ok ? "takes it" : "refuses it");
	(got == Parse::Ok ? tally.accepted : tally.refused)++;
	if (got != Parse::Ok)
		return;
	ASSERT_TRUE(from(h, chunks, o) == d.content) << h.type->name;
	if (h.type->payload) {
		EXPECT_EQ(h.payload.offset + 4, kPrefixSize + d.consumed);
		EXPECT_EQ(h.payload.offset + h.payload.length, in.size);
	}

	/* And back. */
	u8 again[1 << 13];
	const u32 written = rpcrdma::encode(h, &chunks, again);
	const u32 header =
		h.type->payload ? h.payload.offset : kPrefixSize + d.consumed;
	ASSERT_EQ(written, header);
	EXPECT_EQ(std::memcmp(again, o.data(), written), 0) << h.type->name;
	if (h.type->kind != rpcrdma::Kind::Error)
		EXPECT_EQ(rpcrdma::header_size(*h.type, &chunks), written);
}

Limits some_limits(Maker &m)
{
	if (m.one_in(2))
		return rpcrdma::kNoLimits;
	return { m.below(18), m.below(18), m.below(10) };
}

/* By type, so that a failure names the one. */
class codec_type : public CodecTest {
protected:
	[[nodiscard]] u32 htype() const
	{
		return GetParam();
	}
	[[nodiscard]] bool connprop() const
	{
		return header_type(htype())->kind == rpcrdma::Kind::Connprop;
	}
	Octets make(Maker &m)
	{
		const Prefix p = m.prefix(htype());
		Octets o = reference_encode(p, connprop() ? Content{} :
							    m.content(htype()));

		if (connprop()) {
			const Octets set = reference_encode(m.properties());

			o.insert(o.end(), set.begin(), set.end());
		}
		if (header_type(htype())->payload)
			o.resize(o.size() + 4 * m.below(20));
		return o;
	}
};

TEST_P(codec_type, decode__what_the_reference_wrote)
{
	Maker m(seed);
	Tally tally;

	for (u32 i = 0; i < rounds && !HasFailure(); i++) {
		SCOPED_TRACE(i);
		compare(make(m), some_limits(m), tally);
	}
	std::printf("%u accepted, %u refused\n", tally.accepted, tally.refused);
	EXPECT_GT(tally.accepted, rounds / 10);
}

TEST_P(codec_type, decode__what_has_been_damaged)
{
	Maker m(seed + 1);
	Tally tally;

	for (u32 i = 0; i < rounds && !HasFailure(); i++) {
		SCOPED_TRACE(i);
		Octets o = make(m);

		for (u32 n = 1 + m.below(3); n; n--)
			damage(m, o);
		compare(o, some_limits(m), tally);
	}
	std::printf("%u accepted, %u refused\n", tally.accepted, tally.refused);
	EXPECT_GT(tally.refused, rounds / 20);
}

TEST_P(codec_type, encode__what_the_reference_writes)
{
	Maker m(seed + 2);
	u32 compared = 0;

	for (u32 i = 0; i < rounds && !HasFailure(); i++) {
		Content content = m.content(htype());
		Header h;
		rpcrdma::Chunks chunks;
		u8 out[1 << 13];

		h.prefix = m.prefix(htype());
		h.type = header_type(htype());
		if (!to(content, h, chunks))
			continue;
		/* The core's own Call chunks have no other position. */
		for (ReadSegment &s : content.call)
			s.position = 0;
		Octets want = reference_encode(h.prefix, content);
		/* The payload is appended by whoever sends. */
		if (h.type->payload)
			want.resize(want.size() - 4);
		ASSERT_EQ(rpcrdma::encode(h, &chunks, out), want.size());
		EXPECT_EQ(std::memcmp(out, want.data(), want.size()), 0)
			<< "round " << i;
		compared++;
	}
	EXPECT_GT(compared, rounds / 10);
}

INSTANTIATE_TEST_SUITE_P(draft, codec_type,
			 testing::Range(kFirstType, kLastType + 1),
			 [](const auto &info) {
				 return header_type(info.param)->name;
			 });

} // namespace

TEST(codec, encode_properties__what_the_reference_writes)
{
	Maker m(setting("CODEC_SEED", 1) + 3);

	for (u32 i = 0; i < setting("CODEC_ROUNDS", 10000); i++) {
		rpcrdma::Properties p = rpcrdma::kDefaultProperties;
		static_cast<rpcrdma_properties &>(p) = { m.word(), m.word(),
							 m.word(), m.word(),
							 m.word() };
		const u32 values[] = { p.send_size, p.recv_size,
				       p.max_segment_size, p.max_segments,
				       p.reverse };
		std::vector<Property> set;
		u8 out[rpcrdma::kPropertiesSize];

		for (u32 which = 1; which <= 5; which++) {
			Octets data(4);

			rpcrdma::store_be32(data.data(), values[which - 1]);
			set.push_back({ which, data });
		}
		const Octets want = reference_encode(set);
		ASSERT_EQ(rpcrdma::encode_properties(p, out), want.size());
		ASSERT_EQ(std::memcmp(out, want.data(), want.size()), 0);
	}
}
