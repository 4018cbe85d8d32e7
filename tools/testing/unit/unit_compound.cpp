// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "compound.h"

#include <vector>

using namespace rpcrdma;
using unit::Exact;
using unit::octets;
using unit::Words;
using unit::operator+; /* NOLINT(misc-unused-using-decls): it is used */

namespace
{

const Words kAuthSys = { 1, 20, 0, 0, 0, 0, 0, 0, 0 };
/* Where the arguments begin. */
constexpr u32 kBegin = 4 * (6 + 9);

Words call(u32 version, const Words &arguments)
{
	return Words{ 7, 0, 2, 100003, version, 1 } + kAuthSys + arguments;
}

/* The tag, the minor version, the number of operations. */
Words compound(u32 count, const Words &operations)
{
	return call(4, Words{ 3, 0x61626300, 1, count } + operations);
}
constexpr u32 kFirst = kBegin + 16;

std::vector<u32> causes(const Words &words, u32 most, u32 &all)
{
	const Exact copy(octets(words));
	std::vector<u32> c(most);

	c.resize(get_causes(copy.bytes(), { c.data(), most }, all));
	return c;
}

std::vector<u32> causes(const Words &words, u32 most = 8)
{
	u32 all;

	return causes(words, most, all);
}

u32 known(const Words &words, u32 most = 8)
{
	u32 all;

	(void)causes(words, most, all);
	return all;
}

const Words kSequence = Words{ 53 } + Words(8);
const Words kPutfh = { 22, 5, 1, 2 };
const Words kRead = Words{ 25 } + Words(7);
const Words kGetattr = { 9, 2, 1, 2 };
const Words kVerify = { 37, 1, 2, 6, 3, 4 };
const Words kLookup = { 15, 1, 0x61000000 };
const Words kWrite = { 38, 0, 0, 0, 0, 0, 0, 0, 0 };

} // namespace

TEST(compound, one_operation)
{
	EXPECT_EQ(causes(call(3, { 1, 2, 3 })), std::vector<u32>{ kBegin });
	EXPECT_EQ(causes(call(2, {})), std::vector<u32>{ kBegin });
}

TEST(compound, several_operations)
{
	EXPECT_EQ(causes(compound(3, kSequence + kPutfh + kRead)),
		  std::vector<u32>{ kFirst + 4 * (9 + 4) });
	EXPECT_EQ(causes(compound(8, kPutfh + kGetattr + kRead + kVerify +
					     kRead + Words{ 32 } + kLookup +
					     Words{ 27 })),
		  (std::vector<u32>{ kFirst + 4 * 8, kFirst + 4 * 22,
				     kFirst + 4 * 34 }));
}

/* No more than there are said to be, or than there is room for. */
TEST(compound, counts)
{
	EXPECT_EQ(causes(compound(1, kRead + kRead)).size(), 1u);
	EXPECT_EQ(causes(compound(9, kRead + kRead)).size(), 2u);
	EXPECT_EQ(causes(compound(2, kRead + kRead), 1).size(), 1u);
	EXPECT_EQ(causes(compound(2, kRead + kRead), 0).size(), 0u);
}

/* Nothing is known of what is behind them. */
TEST(compound, operations_that_are_not_known)
{
	EXPECT_EQ(causes(compound(3, kRead + kWrite + kRead)).size(), 1u);
	EXPECT_EQ(causes(compound(2, Words{ 10044 } + kRead)).size(), 0u);
}

TEST(compound, how_far_all_is_known)
{
	const u32 whole = kFirst + 4 * 16;

	EXPECT_EQ(known(call(3, { 1, 2, 3 })), kBegin + 12);
	EXPECT_EQ(known(compound(2, kRead + kRead)), whole);
	EXPECT_EQ(known(compound(3, kRead + kRead)), whole);
	EXPECT_EQ(known(compound(2, kRead + kRead), 1), kFirst + 4 * 8);
	EXPECT_EQ(known(compound(3, kRead + kWrite + kRead)), kFirst + 4 * 8);
	EXPECT_EQ(known(compound(1, Words{ 10044 } + kRead)), kFirst);
	EXPECT_EQ(known(Words{ 7, 0, 2 }), 0u);
}

TEST(compound, what_is_cut_off)
{
	const Words all = compound(3, kPutfh + kGetattr + kRead);

	for (u32 n = 0; n < all.size(); n++)
		EXPECT_EQ(causes({ all.begin(), all.begin() + n }).size(), 0u)
			<< n;
	EXPECT_EQ(causes(all).size(), 1u);
	EXPECT_EQ(causes(compound(2, Words{ 9, UINT32_MAX } + kRead)).size(),
		  0u);
	EXPECT_EQ(causes(compound(2, Words{ 22, UINT32_MAX } + kRead)).size(),
		  0u);
}

TEST(compound, other_programs)
{
	Words other = call(3, {});

	other[3] = 100227;
	EXPECT_EQ(causes(other).size(), 0u);
	/* RPCSEC_GSS reads the arguments itself. */
	const Words privacy =
		Words{ 7, 0, 2, 100003, 4, 1, 6, 20, 1, 0, 9, 3, 0, 0, 0 } +
		Words{ 0, 1, 1 } + kRead;
	EXPECT_EQ(causes(privacy).size(), 0u);
}
