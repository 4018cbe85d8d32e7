// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The messages of rtrext, in the core and as rpcgen has them. The settings are those of
 * differential.cpp.
 */
#include "rtr.h"
#include "maker.h"
#include "rtr_wire.h"

#include <cstring>
#include <list>

using namespace codec;
using rpcrdma::Placement;

namespace
{

constexpr u32 kExrw = static_cast<u32>(Placement::Exrw);
constexpr u32 kTbsn = static_cast<u32>(Placement::Tbsn);
constexpr u32 kBySize = static_cast<u32>(Placement::BySize);

class Maker : public Numbers {
public:
	using Numbers::Numbers;

	std::vector<u32> words(u32 n)
	{
		std::vector<u32> out(n);

		for (u32 &w : out)
			w = word();
		return out;
	}
	std::vector<Segment> segments()
	{
		std::vector<Segment> out(below(4));

		for (Segment &s : out)
			s = { word(), word(), hyper() };
		return out;
	}
	/* @run: as this side sends them. */
	Item item(bool run)
	{
		static constexpr u32 kTypes[] = { 1, 2, 5, 6 };
		Item i = { word(), word(), kTypes[below(4)], {}, 0, {} };

		if (i.type == kExrw)
			i.segments = segments();
		if (i.type != kTbsn)
			return i;
		i.offset = word();
		i.numbers = words(below(6));
		for (u32 n = 1; run && n < i.numbers.size(); n++)
			i.numbers[n] = i.numbers[0] + n;
		return i;
	}
	Direct direct()
	{
		Direct d = { word(), 1 + below(4), 0, {} };

		if (d.type == kBySize)
			d.rdma_from = word();
		if (d.type != kTbsn)
			d.segments = segments();
		return d;
	}
	DirectSet set()
	{
		DirectSet s = { word(), word(), {} };

		for (u32 n = below(4); n; n--)
			s.items.push_back(direct());
		return s;
	}
	std::vector<u32> id()
	{
		return { word(), below(2), word() };
	}
	Rtr message(u32 op, bool run = false)
	{
		static constexpr u32 kWords[] = { 0, 3, 2, 3, 0, 1 };
		Rtr m;

		m.words = words(kWords[op]);
		if (op == kXmtReq || op == kXmtResp)
			for (u32 n = below(4); n; n--)
				m.items.push_back(item(run));
		if (op == kXmtReq)
			for (u32 n = below(4); n; n--)
				m.directions.push_back(set());
		if (op == kReptErr) {
			m.bad = id();
			if (below(2))
				m.lead = id();
			m.error = 1 + below(8);
			m.error_words =
				words(rpcrdma::rtr_error_type(m.error)->words);
		}
		if (op == kStructure)
			for (u32 n = below(5); n; n--)
				m.groups.push_back(
					{ { word(), word(), word(), word() } });
		return m;
	}
};

/* -------------------------------------------------------------------- */
/* What the core says, in the same words                                */
/* -------------------------------------------------------------------- */

std::vector<Segment> from(const rpcrdma::XdrSegments &s)
{
	std::vector<Segment> out;

	EXPECT_TRUE(s.each([&](const rpcrdma::XdrSegment &one) {
		out.push_back({ one.segment.handle, one.segment.length,
				one.segment.offset });
		return true;
	}));
	EXPECT_EQ(out.size(), s.size());
	return out;
}

std::vector<Item> from(const rpcrdma::MessageItems &items)
{
	std::vector<Item> out;

	EXPECT_TRUE(items.each([&](const rpcrdma::MessageItem &i) {
		Item item = { i.position,
			      i.length,
			      static_cast<u32>(i.where.type),
			      from(i.where.segments),
			      i.where.offset,
			      {} };

		EXPECT_TRUE(
			i.where.numbers.each([&](const rpcrdma::XdrNumber &n) {
				item.numbers.push_back(n.value);
				return true;
			}));
		out.push_back(item);
		return true;
	}));
	EXPECT_EQ(out.size(), items.size());
	return out;
}

std::vector<DirectSet> from(const rpcrdma::DirectionSets &sets)
{
	std::vector<DirectSet> out;

	EXPECT_TRUE(sets.each([&](const rpcrdma::DirectionSet &s) {
		DirectSet set = { s.begin, s.end, {} };

		EXPECT_TRUE(s.items.each([&](const rpcrdma::DirectionItem &d) {
			set.items.push_back({ d.least, static_cast<u32>(d.type),
					      d.rdma_from, from(d.segments) });
			return true;
		}));
		out.push_back(set);
		return true;
	}));
	return out;
}

std::vector<u32> from(const rpcrdma::TransmissionId &id)
{
	return { word_of(id.xid), id.dir, id.number };
}

bool core_decode(u32 op, const Octets &in, Rtr &m, u32 &head)
{
	rpcrdma::XmtRequest request;
	rpcrdma::XmtResponse response;
	rpcrdma::XmtContinue go_on;
	rpcrdma::ReportedError report;
	rpcrdma::BufferStructure structure;

	head = static_cast<u32>(in.size());
	switch (op) {
	case kXmtReq:
		if (!request.decode(bytes(in)))
			return false;
		m.items = from(request.items);
		m.directions = from(request.directions);
		m.words = { request.count, request.reply_count,
			    request.length };
		head = request.head;
		return true;
	case kXmtResp:
		if (!response.decode(bytes(in)))
			return false;
		m.items = from(response.items);
		m.words = { response.count, response.length };
		head = response.head;
		return true;
	case kXmtCont:
		if (!go_on.decode(bytes(in)))
			return false;
		m.words = { go_on.number, go_on.began, go_on.length };
		head = go_on.head;
		return true;
	case kReptErr:
		if (!report.decode(bytes(in)))
			return false;
		m.bad = from(report.bad);
		if (report.has_lead)
			m.lead = from(report.lead);
		m.error = static_cast<u32>(report.fault.code);
		for (u32 i = 0; i < rpcrdma::rtr_error_type(m.error)->words;
		     i++)
			m.error_words.push_back(report.fault.words[i]);
		return true;
	default:
		if (!structure.decode(bytes(in)))
			return false;
		m.words = { structure.length };
		EXPECT_TRUE(structure.groups.each(
			[&](const rpcrdma::BufferGroup &g) {
				m.groups.push_back({ { g.count, g.length,
						       g.align, g.flags } });
				return true;
			}));
		return true;
	}
}

/* -------------------------------------------------------------------- */
/* The comparison                                                       */
/* -------------------------------------------------------------------- */

/* What is XDR and libtirpc does not see: numbers that its enums and bools do not have. */
bool strict(const Rtr &m, const Octets &o)
{
	if (m.bad.empty())
		return true;
	const u32 there = rpcrdma::load_be32(o.data() + 12);

	return m.bad[1] <= 1 && there <= 1 &&
	       (m.lead.empty() || m.lead[1] <= 1);
}

/* A payload follows the header of these. */
bool carries(u32 op)
{
	return op <= kXmtCont;
}

/* Through both decoders. Return: it is a message. */
bool compare(u32 op, const Octets &o)
{
	Rtr want;
	Rtr got;
	u32 consumed;
	u32 head;
	const bool ok = reference_decode(op, o, want, consumed) &&
			(carries(op) || consumed == o.size()) &&
			strict(want, o);

	EXPECT_EQ(core_decode(op, o, got, head), ok) << "operation " << op;
	if (!ok)
		return false;
	EXPECT_EQ(head, consumed);
	EXPECT_EQ(got, want) << "operation " << op;
	return true;
}

class codec_rtr : public CodecTest {
protected:
	static Octets make(Maker &m)
	{
		return reference_encode(GetParam(), m.message(GetParam()));
	}
	static bool same(const Octets &o)
	{
		return compare(GetParam(), o);
	}
};

TEST_P(codec_rtr, decode__what_the_reference_wrote)
{
	compare_sound<Maker>(make, same);
}

TEST_P(codec_rtr, decode__what_has_been_damaged)
{
	compare_damaged<Maker>(make, same);
}

const char *const kNames[] = { "XMTREQ", "XMTRESP", "XMTCONT", "REPTERR",
			       "structure" };

INSTANTIATE_TEST_SUITE_P(draft, codec_rtr,
			 testing::Range(kXmtReq, kStructure + 1),
			 [](const auto &info) {
				 return kNames[info.param - 1];
			 });

/* What the core encodes, from the same values. */
class Encoder {
public:
	explicit Encoder(const Rtr &m)
	{
		for (const Item &i : m.items) {
			const bool placed = i.type == kTbsn;

			items_.push_back(
				{ i.position, i.length,
				  static_cast<Placement>(i.type),
				  list(i.segments), i.offset,
				  placed && !i.numbers.empty() ? i.numbers[0] :
								 0,
				  static_cast<u32>(i.numbers.size()) });
		}
		for (const DirectSet &s : m.directions) {
			directs_.emplace_back();
			auto &list_of = directs_.back();

			for (const Direct &d : s.items)
				list_of.push_back(
					{ d.least,
					  static_cast<Placement>(d.type),
					  d.rdma_from, list(d.segments) });
			ranges_.push_back(
				{ s.begin,
				  s.end,
				  { list_of.data(),
				    static_cast<u32>(list_of.size()) } });
		}
	}
	[[nodiscard]] rpcrdma::Span<const rpcrdma::PlacedItem> items() const
	{
		return { items_.data(), static_cast<u32>(items_.size()) };
	}
	[[nodiscard]] rpcrdma::Span<const rpcrdma::DirectionRange>
	ranges() const
	{
		return { ranges_.data(), static_cast<u32>(ranges_.size()) };
	}

private:
	rpcrdma::Span<const rpcrdma::Segment>
	list(const std::vector<Segment> &segments)
	{
		lists_.emplace_back();
		for (const Segment &s : segments)
			lists_.back().push_back(
				{ s.handle, s.length, s.offset });
		return { lists_.back().data(),
			 static_cast<u32>(lists_.back().size()) };
	}

	std::vector<rpcrdma::PlacedItem> items_;
	std::vector<rpcrdma::DirectionRange> ranges_;
	std::list<std::vector<rpcrdma::Direction>> directs_;
	std::list<std::vector<rpcrdma::Segment>> lists_;
};

void expect_same(const Octets &want, const u8 *got, u32 size)
{
	ASSERT_EQ(size, want.size());
	EXPECT_EQ(std::memcmp(got, want.data(), size), 0);
}

rpcrdma::TransmissionId id_of(const std::vector<u32> &words)
{
	rpcrdma::TransmissionId id;

	id.xid = rpcrdma::to_xid(words[0]);
	EXPECT_TRUE(rpcrdma::direction_of(words[1], id.dir));
	id.number = words[2];
	return id;
}

} // namespace

TEST(codec_rtr, encode__what_the_reference_writes)
{
	Maker maker(setting("CODEC_SEED", 1) + 2);

	for (u32 i = 0; i < setting("CODEC_ROUNDS", 10000) && !HasFailure();
	     i++) {
		u8 out[4096];
		rpcrdma::XdrWriter w(out);
		Rtr m = maker.message(kXmtReq, true);
		const Encoder e(m);

		rpcrdma::encode_items(e.items(), w);
		EXPECT_EQ(w.size(), 4 + rpcrdma::items_size(e.items()));
		rpcrdma::encode_directions(e.ranges(), w);
		EXPECT_EQ(w.size(),
			  8 + rpcrdma::items_size(e.items()) +
				  rpcrdma::directions_size(e.ranges()));
		for (const u32 word : m.words)
			w.word(word);
		expect_same(reference_encode(kXmtReq, m), out, w.size());

		m = maker.message(kReptErr);
		rpcrdma::ReportedError r;
		r.bad = id_of(m.bad);
		r.has_lead = !m.lead.empty();
		if (r.has_lead)
			r.lead = id_of(m.lead);
		r.fault.code = static_cast<rpcrdma::RtrError>(m.error);
		for (u32 k = 0; k < m.error_words.size(); k++)
			r.fault.words[k] = m.error_words[k];
		w = rpcrdma::XdrWriter(out);
		rpcrdma::encode_report(r, w);
		EXPECT_LE(w.size(), rpcrdma::kReptErrBody);
		expect_same(reference_encode(kReptErr, m), out, w.size());

		m = maker.message(kStructure);
		w = rpcrdma::XdrWriter(out);
		w.word(m.words[0]);
		w.word(static_cast<u32>(m.groups.size()));
		for (const Group &g : m.groups)
			rpcrdma::encode_buffer_group({ g.words[0], g.words[1],
						       g.words[2], g.words[3] },
						     w);
		expect_same(reference_encode(kStructure, m), out, w.size());
	}
}
