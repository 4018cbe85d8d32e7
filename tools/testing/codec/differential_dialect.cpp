// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The dialect of 2016, in the core and as rpcgen has it. The settings are those of
 * differential.cpp.
 */
#include "dialect.h"
#include "maker.h"
#include "xdr.h"

#include <gtest/gtest.h>

using namespace codec;
using rpcrdma::Parse;

namespace
{

/* Messages that are right in the XDR, mostly with the payload that belongs to them. */
class Maker : public Numbers {
public:
	using Numbers::Numbers;

	Segment segment()
	{
		return { word(), word(), hyper() };
	}
	WriteChunk chunk()
	{
		WriteChunk w;

		for (u32 n = below(4); n; n--)
			w.push_back(segment());
		return w;
	}
	Dialect header(u32 proc)
	{
		Dialect d;

		d.prefix = { rpcrdma::to_xid(word()), rpcrdma::kVersion2,
			     word(), proc };
		d.direction = below(2);
		/* A NOMSG has its Call in Position zero. */
		if (proc == kOldNomsg && !d.direction)
			for (u32 n = below(3) + 1; n; n--)
				d.reads.push_back({ 0, segment() });
		if (!d.direction)
			for (u32 n = below(4); n; n--)
				d.reads.push_back({ word(), segment() });
		for (u32 n = below(3); n; n--)
			d.writes.push_back(chunk());
		if (below(2))
			d.reply = chunk();
		d.opttype = word();
		d.optinfo.resize(below(20));
		for (u8 &o : d.optinfo)
			o = static_cast<u8>(hyper());
		return d;
	}
	Octets message(u32 proc)
	{
		const Dialect d = header(proc);
		Octets o = dialect_encode(d);

		if (proc == kOldMsg || (proc == kOldOptional && below(2))) {
			put(o, word_of(d.prefix.xid));
			put(o, d.direction);
			for (u32 n = below(4); n; n--)
				put(o, word());
		}
		return o;
	}

private:
	static void put(Octets &o, u32 word)
	{
		o.resize(o.size() + 4);
		rpcrdma::store_be32(&o[o.size() - 4], word);
	}
};

/* More than the core has room for. */
bool too_many(const Dialect &d)
{
	size_t segments = d.reads.size() + (d.reply ? d.reply->size() : 0);

	for (const WriteChunk &w : d.writes)
		segments += w.size();
	return segments > RPCRDMA_MAX_SEGMENTS ||
	       d.writes.size() > RPCRDMA_MAX_CHUNKS;
}

/* What the text of the draft demands of MSG and NOMSG besides the XDR (4.2.1, 4.2.2). */
bool obeys_the_text(const Octets &o, const Dialect &d, u32 consumed)
{
	const size_t rest = o.size() - consumed;
	const bool call_chunk = !d.reads.empty() && !d.reads[0].position;

	if (d.direction == RPCRDMA_REPLY && !d.reads.empty())
		return false;
	if (d.prefix.htype == kOldNomsg)
		return !rest && d.direction == (call_chunk ? RPCRDMA_CALL :
							     RPCRDMA_REPLY);
	return rest >= 8 && rest % 4 == 0 &&
	       rpcrdma::load_be32(o.data() + consumed + 4) == d.direction;
}

void expect_same(const Dialect &want, const rpcrdma::Header &h,
		 const rpcrdma::Chunks &c)
{
	std::vector<ReadSegment> reads;
	std::vector<WriteChunk> writes;
	const auto chunk = [&](const rpcrdma::WriteChunk &w) {
		WriteChunk out;

		for (const rpcrdma_segment &s : rpcrdma::segments(c, w))
			out.push_back({ s.handle, s.length, s.offset });
		return out;
	};

	for (u32 i = 0; i < c.n_call; i++)
		reads.push_back({ 0,
				  { c.call[i].handle, c.call[i].length,
				    c.call[i].offset } });
	for (u32 i = 0; i < c.n_reads; i++)
		reads.push_back(
			{ c.reads[i].position,
			  { c.reads[i].target.handle, c.reads[i].target.length,
			    c.reads[i].target.offset } });
	for (u32 i = 0; i < c.n_writes; i++)
		writes.push_back(chunk(c.writes[i]));
	EXPECT_EQ(h.type->htype, want.prefix.htype);
	EXPECT_EQ(h.type->direction(), want.direction);
	EXPECT_EQ(reads, want.reads);
	EXPECT_EQ(writes, want.writes);
	EXPECT_EQ(c.has_reply, want.reply.has_value());
	if (want.reply)
		EXPECT_EQ(chunk(c.reply), *want.reply);
}

/* Through both decoders. Return: it is a message. */
bool compare(const Octets &o)
{
	Dialect want;
	u32 consumed;
	bool canonical;
	bool ok = dialect_decode(o, want, consumed, canonical) &&
		  want.direction <= RPCRDMA_REPLY;
	rpcrdma::Header h;
	rpcrdma::Chunks c = {};

	EXPECT_TRUE(rpcrdma::decode_prefix(bytes(o), h.prefix));
	const bool its = rpcrdma::of_2016(bytes(o), h.prefix, c);
	if (h.prefix.htype == kOldOptional) {
		rpcrdma::Optional2016 option;

		EXPECT_EQ(its, ok);
		EXPECT_EQ(rpcrdma::decode_optional_2016(bytes(o), option), ok);
		if (!ok || !its)
			return false;
		EXPECT_EQ(option.direction, want.direction);
		EXPECT_EQ(option.opttype, want.opttype);
		EXPECT_EQ(Octets(o.begin() + option.optinfo.offset,
				 o.begin() + option.optinfo.offset +
					 option.optinfo.length),
			  want.optinfo);
		EXPECT_EQ(option.payload.offset, consumed);
		EXPECT_EQ(option.payload.length, o.size() - consumed);
		return true;
	}
	/* XDR has two values of a bool; libtirpc takes any number for one of them. */
	ok = ok && canonical;
	const Parse parsed = rpcrdma::decode_body_2016(bytes(o), h, c);
	EXPECT_EQ(its, parsed != Parse::BadXdr);
	if (ok && too_many(want)) {
		EXPECT_NE(parsed, Parse::Ok);
		return false;
	}
	ok = ok && obeys_the_text(o, want, consumed);
	EXPECT_EQ(parsed == Parse::Ok, ok);
	if (!ok || parsed != Parse::Ok)
		return false;
	EXPECT_EQ(h.end, consumed);
	expect_same(want, h, c);
	return true;
}

class codec_dialect : public CodecTest {};

TEST_P(codec_dialect, decode__what_the_reference_wrote)
{
	compare_sound<Maker>([](Maker &m) { return m.message(GetParam()); },
			     compare);
}

/* The prefix stays: without it there is nothing to compare. */
TEST_P(codec_dialect, decode__what_has_been_damaged)
{
	compare_damaged<Maker>([](Maker &m) { return m.message(GetParam()); },
			       compare, rpcrdma::kPrefixSize);
}

INSTANTIATE_TEST_SUITE_P(draft, codec_dialect,
			 testing::Values(kOldMsg, kOldNomsg, kOldOptional));

} // namespace

/* A peer of the dialect reads these, and reads no other. */
TEST(codec_dialect, errors__those_that_a_server_sends)
{
	for (u32 code = 1; code <= RPCRDMA2_ERR_VERS_MISMATCH; code++) {
		const rpcrdma::Header h = {
			.prefix = { rpcrdma::Xid{ 7 }, rpcrdma::kVersion2, 64,
				    kOldError },
			.type = rpcrdma::header_type(RPCRDMA2_ERROR),
			.error = { code, { 1, 1 } },
		};
		Dialect want;
		Dialect got;
		u32 consumed;
		bool canonical;
		u8 out[64];

		want.prefix = h.prefix;
		want.error = code;
		want.error_args[0] = want.error_args[1] = 1;
		const u32 size = rpcrdma::encode(h, nullptr, out);
		const Octets o(out, out + size);
		const bool known = dialect_decode(o, got, consumed, canonical);
		EXPECT_EQ(known, code <= RPCRDMA2_ERR_BAD_PROPVAL) << code;
		if (!known)
			continue;
		EXPECT_EQ(consumed, size);
		EXPECT_EQ(got.error, code);
		EXPECT_EQ(dialect_encode(want), o) << code;
	}
}
