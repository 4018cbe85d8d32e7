// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The messages of xcharext, in the core and as rpcgen has them. The settings are those of
 * differential.cpp.
 */
#include "changes.h"
#include "maker.h"
#include "properties.h"
#include "xcharext.h"
#include "xdr.h"

#include <gtest/gtest.h>

#include <cstring>

using namespace codec;

namespace
{

class Maker : public Numbers {
public:
	using Numbers::Numbers;

	Property value()
	{
		Property p = { below(4) ? 1 + below(6) : word(), {} };

		p.data.resize(below(3) ? 4 : below(11));
		for (u8 &o : p.data)
			o = static_cast<u8>(hyper());
		return p;
	}
	Subset subset()
	{
		Subset s(below(4));

		for (u32 &w : s)
			w = below(3) ? static_cast<u32>(hyper()) : 0;
		return s;
	}
	Change change(u32 op)
	{
		Change c;

		for (u32 n = op == kUpdate ? 1 : below(op == kResponse ? 1 : 9);
		     n; n--)
			c.values.push_back(value());
		for (u32 n = op == kInit ? 1 : op == kResponse ? 3 : 0; n; n--)
			c.subsets.push_back(subset());
		c.pendclr = below(2);
		return c;
	}
};

/* Without words that say nothing. */
Subset shortened(Subset s)
{
	while (!s.empty() && !s.back())
		s.pop_back();
	return s;
}

constexpr u32 kPositions = 1 << 13;

Subset from(const rpcrdma::XcharSubset &s)
{
	Subset out;

	for (u32 p = 0; p < kPositions; p++) {
		if (!s.has(p))
			continue;
		out.resize(p / 32 + 1);
		out[p / 32] |= 1U << p % 32;
	}
	return out;
}

Property from(const rpcrdma::XcharValue &v)
{
	return { v.which, Octets(v.data.begin(), v.data.end()) };
}

std::vector<Property> from(const rpcrdma::XcharSpec &s)
{
	std::vector<Property> out;

	EXPECT_TRUE(s.each_at([&](u32 position, const rpcrdma::XcharValue &v) {
		EXPECT_EQ(position, out.size());
		out.push_back(from(v));
		return true;
	}));
	EXPECT_EQ(out.size(), s.size());
	return out;
}

bool core_decode(u32 op, const Octets &in, Change &c)
{
	rpcrdma::XcharInit init;
	rpcrdma::XcharRequest request;
	rpcrdma::XcharResponse response;
	rpcrdma::XcharUpdate update;

	switch (op) {
	case kInit:
		if (!init.decode(bytes(in)))
			return false;
		c.values = from(init.start);
		c.subsets = { from(init.nochg) };
		return true;
	case kRequest:
		if (!request.decode(bytes(in)))
			return false;
		c.values = from(request.want);
		return true;
	case kResponse:
		if (!response.decode(bytes(in)))
			return false;
		c.subsets = { from(response.done), from(response.rej),
			      from(response.pend) };
		return true;
	default:
		if (!update.decode(bytes(in)))
			return false;
		c.values = { from(update.now) };
		c.pendclr = update.pendclr;
		return true;
	}
}

bool same(const std::vector<Property> &a, const std::vector<Property> &b)
{
	if (a.size() != b.size())
		return false;
	for (size_t i = 0; i < a.size(); i++)
		if (a[i].which != b[i].which || a[i].data != b[i].data)
			return false;
	return true;
}

/* Through both decoders. Return: it is a message. */
bool compare(u32 op, const Octets &o)
{
	Change want;
	Change got;
	u32 consumed;
	bool ok =
		reference_decode(op, o, want, consumed) && consumed == o.size();

	/* XDR has two values of a bool; libtirpc takes any number for one of them. */
	if (ok && op == kUpdate)
		ok = rpcrdma::load_be32(o.data() + o.size() - 4) <= 1;
	EXPECT_EQ(core_decode(op, o, got), ok) << "operation " << op;
	if (!ok)
		return false;
	EXPECT_TRUE(same(got.values, want.values)) << "operation " << op;
	EXPECT_EQ(got.subsets.size(), want.subsets.size());
	for (size_t i = 0; i < got.subsets.size(); i++)
		EXPECT_EQ(got.subsets[i], shortened(want.subsets[i]));
	if (op == kUpdate)
		EXPECT_EQ(got.pendclr, want.pendclr);
	return true;
}

class codec_changes : public CodecTest {
protected:
	static Octets make(Maker &m)
	{
		return reference_encode(GetParam(), m.change(GetParam()));
	}
	static bool same(const Octets &o)
	{
		return compare(GetParam(), o);
	}
};

TEST_P(codec_changes, decode__what_the_reference_wrote)
{
	compare_sound<Maker>(make, same);
}

TEST_P(codec_changes, decode__what_has_been_damaged)
{
	compare_damaged<Maker>(make, same);
}

INSTANTIATE_TEST_SUITE_P(
	draft, codec_changes, testing::Range(kInit, kUpdate + 1),
	[](const auto &info) {
		return rpcrdma::Xcharext::kTypes[info.param - 1].name;
	});

} // namespace

TEST(codec_changes, encode__what_the_reference_writes)
{
	Maker m(setting("CODEC_SEED", 1) + 2);

	for (u32 i = 0; i < setting("CODEC_ROUNDS", 10000); i++) {
		const u32 n = m.below(rpcrdma::Xcharext::kMostAnswered + 1);
		const u32 known = n < 32 ? (1U << n) - 1 : UINT32_MAX;
		const u32 done = m.word() & known;
		const u32 pend = m.word() & known & ~done;
		Change c = { {},
			     { Subset(done != 0, done),
			       Subset((n + 31) / 32, UINT32_MAX),
			       Subset(pend != 0, pend) },
			     false };
		u8 out[256];
		rpcrdma::XdrWriter w(out);

		if (n % 32)
			c.subsets[1].back() = (1U << n % 32) - 1;
		if (n)
			c.subsets[1][0] &= ~(done | pend);
		rpcrdma::encode_xchar_subset(done, w);
		rpcrdma::encode_xchar_rest(n, done | pend, w);
		rpcrdma::encode_xchar_subset(pend, w);
		Octets want = reference_encode(kResponse, c);
		ASSERT_EQ(w.size(), want.size());
		ASSERT_EQ(std::memcmp(out, want.data(), want.size()), 0);

		const rpcrdma::XcharNumber number = { m.word(), m.word() };
		Octets data(4);
		rpcrdma::store_be32(data.data(), number.number);
		c.values = { Property{ number.which, data } };
		c.pendclr = m.below(2);
		w = rpcrdma::XdrWriter(out);
		rpcrdma::encode_xchar_value(number, w);
		w.word(c.pendclr);
		want = reference_encode(kUpdate, c);
		ASSERT_EQ(w.size(), want.size());
		ASSERT_EQ(std::memcmp(out, want.data(), want.size()), 0);
	}
}

TEST(codec_changes, flag__as_the_reference_has_it)
{
	for (u32 octets = 0; octets < 10; octets++)
		for (u32 last = 0; last < 4; last++) {
			Octets data(octets);
			u32 want;
			u32 got;

			if (octets)
				data[octets - 1] = static_cast<u8>(last);
			const bool ok = reference_flag(data, want) && last <= 1;
			ASSERT_EQ(rpcrdma::decode_flag(bytes(data), got), ok)
				<< octets;
			if (ok)
				EXPECT_EQ(got, want);
		}
}
