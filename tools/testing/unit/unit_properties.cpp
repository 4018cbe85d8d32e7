// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "properties.h"

#include <array>
#include <bit>

using namespace rpcrdma;
using namespace unit;

namespace
{

PropertyParse decode(const Octets &set, Properties &p)
{
	return decode_properties(Exact(set).bytes(), p);
}

PropertyParse decode(const Words &set, Properties &p)
{
	return decode(octets(set), p);
}

PropertyParse decode(const Words &set)
{
	Properties p = kDefaultProperties;

	return decode(set, p);
}

bool same(const Properties &a, const Properties &b)
{
	using Numbers = std::array<u32, sizeof(Properties) / kWordSize>;

	return std::bit_cast<Numbers>(a) == std::bit_cast<Numbers>(b);
}

/* Those of extensions at their defaults. */
Properties with(const rpcrdma_properties &base)
{
	Properties p = kDefaultProperties;

	static_cast<rpcrdma_properties &>(p) = base;
	return p;
}

} // namespace

TEST(properties, defaults__table_of_section_5_2)
{
	EXPECT_EQ(kDefaultProperties.send_size, 4096u);
	EXPECT_EQ(kDefaultProperties.recv_size, 4096u);
	EXPECT_EQ(kDefaultProperties.max_segment_size, 1048576u);
	EXPECT_EQ(kDefaultProperties.max_segments, 16u);
	EXPECT_EQ(kDefaultProperties.reverse, 0u);
}

TEST(properties, decode_properties__each_number)
{
	const Words set = { 5, 5,     4, 3, 4,	   4, 12, 3,
			    4, 65536, 2, 4, 16384, 1, 4,  8192 };
	Properties p = kDefaultProperties;

	ASSERT_EQ(decode(set, p), PropertyParse::Ok);
	EXPECT_EQ(p.send_size, 8192u);
	EXPECT_EQ(p.recv_size, 16384u);
	EXPECT_EQ(p.max_segment_size, 65536u);
	EXPECT_EQ(p.max_segments, 12u);
	EXPECT_EQ(p.reverse, 3u);
}

TEST(properties, decode_properties__absent_ones_stay)
{
	Properties p = with({ 1, 2048, 3, 4, 1 });
	const Properties before = p;

	ASSERT_EQ(decode(Words{ 0 }, p), PropertyParse::Ok);
	EXPECT_TRUE(same(p, before));
}

TEST(properties, decode_properties__no_octets_mean_the_default)
{
	Properties p = with({ 1, 2048, 3, 4, 1 });

	ASSERT_EQ(decode(Words{ 6, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0 }, p),
		  PropertyParse::Ok);
	EXPECT_TRUE(same(p, kDefaultProperties));
}

TEST(properties, decode_properties__unknown_ones_are_skipped)
{
	Properties p = kDefaultProperties;

	ASSERT_EQ(decode(Words{ 3, 7, 6, 0x01020304, 0x05060000, 0xffffff02, 0,
				1, 4, 2048 },
			 p),
		  PropertyParse::Ok);
	EXPECT_EQ(p.send_size, 2048u);
}

TEST(properties, decode_properties__the_last_of_duplicates_counts)
{
	Properties p = kDefaultProperties;

	ASSERT_EQ(decode(Words{ 2, 1, 4, 2048, 1, 4, 3072 }, p),
		  PropertyParse::Ok);
	EXPECT_EQ(p.send_size, 3072u);
}

TEST(properties, decode_properties__value_too_short_or_too_long)
{
	for (u32 which : { 1u, 2u, 3u, 4u, 5u }) {
		for (u32 length : { 1u, 2u, 3u })
			EXPECT_EQ(decode({ 1, which, length, 0x02020202 }),
				  PropertyParse::BadValue);
		for (u32 length : { 5u, 8u })
			EXPECT_EQ(decode({ 1, which, length, 2, 0 }),
				  PropertyParse::BadValue);
	}
}

TEST(properties, decode_flag__one_word_that_is_zero_or_one)
{
	const auto flag = [](const Words &value) {
		u32 number;

		return decode_flag(Exact(octets(value)).bytes(), number);
	};

	EXPECT_TRUE(flag({ 0 }));
	EXPECT_TRUE(flag({ 1 }));
	EXPECT_FALSE(flag({ 2 }));
	EXPECT_FALSE(flag({}));
	EXPECT_FALSE(flag({ 1, 0 }));
}

TEST(properties, decode_properties__longer_than_the_message)
{
	for (u32 length : { 5u, 8u, 0x80000000u, 0xfffffffdu, UINT32_MAX })
		for (u32 which : { 1u, 6u, 99u })
			EXPECT_EQ(decode({ 1, which, length, 0 }),
				  PropertyParse::BadValue);
}

TEST(properties, decode_properties__set_ends_too_soon)
{
	EXPECT_EQ(decode(Words{}), PropertyParse::BadXdr);
	EXPECT_EQ(decode({ 1 }), PropertyParse::BadXdr);
	EXPECT_EQ(decode({ 1, 1 }), PropertyParse::BadXdr);
	EXPECT_EQ(decode({ 2, 1, 4, 2048 }), PropertyParse::BadXdr);
	EXPECT_EQ(decode({ UINT32_MAX, 1, 4, 2048 }), PropertyParse::BadXdr);
}

TEST(properties, decode_properties__octets_after_the_set)
{
	EXPECT_EQ(decode({ 0, 0 }), PropertyParse::BadXdr);
	EXPECT_EQ(decode({ 1, 1, 4, 2048, 0 }), PropertyParse::BadXdr);
}

/* Section 5.1: what is of its type is valid, whether it makes sense or not. */
TEST(properties, decode_properties__any_number)
{
	for (const u32 value :
	     { 0u, 1u, 3u, 4u, 79u, 80u, 1023u, UINT32_MAX }) {
		Properties p = kDefaultProperties;

		for (const u32 which : { 1u, 2u, 3u, 4u, 5u })
			ASSERT_EQ(decode(property(which, value), p),
				  PropertyParse::Ok);
		EXPECT_EQ(p.send_size, value);
		EXPECT_EQ(p.recv_size, value);
		EXPECT_EQ(p.max_segment_size, value);
		EXPECT_EQ(p.max_segments, value);
		/* A level of some later draft says nothing that is known. */
		EXPECT_EQ(p.reverse, value <= 3 ? value : 0);
	}
}

TEST(properties, decode_properties__host_auth_form)
{
	EXPECT_EQ(decode({ 1, 6, 8, 3, 0x61626300 }), PropertyParse::Ok);
	EXPECT_EQ(decode({ 1, 6, 4, 0 }), PropertyParse::Ok);
	EXPECT_EQ(decode({ 1, 6, 4, 1 }), PropertyParse::BadValue);
	EXPECT_EQ(decode({ 1, 6, 8, 5, 0 }), PropertyParse::BadValue);
	EXPECT_EQ(decode({ 1, 6, 8, 0, 0 }), PropertyParse::BadValue);
	EXPECT_EQ(decode({ 1, 6, 2, 0 }), PropertyParse::BadValue);
}

TEST(properties, decode_properties__one_bad_value_and_none_is_applied)
{
	Properties p = kDefaultProperties;

	EXPECT_EQ(decode(Words{ 2, 1, 4, 2048, 5, 3, 9 }, p),
		  PropertyParse::BadValue);
	EXPECT_TRUE(same(p, kDefaultProperties));
	EXPECT_EQ(decode(Words{ 1, 1, 4, 2048, 0 }, p), PropertyParse::BadXdr);
	EXPECT_TRUE(same(p, kDefaultProperties));
}

TEST(properties, decode_properties__every_truncation)
{
	const Octets whole =
		octets({ 4, 1, 4, 8192, 6, 8, 2, 0x61620000, 0x7777, 5,
			 0x61626364, 0x65000000, 5, 4, 2 });

	Properties p = kDefaultProperties;
	ASSERT_EQ(decode(whole, p), PropertyParse::Ok);
	for (u32 size = 0; size < whole.size(); size++) {
		p = kDefaultProperties;
		EXPECT_NE(
			decode(Octets(whole.begin(), whole.begin() + size), p),
			PropertyParse::Ok);
		EXPECT_TRUE(same(p, kDefaultProperties));
	}
}

/* By index, as debugfs shows them. */
TEST(properties, number__each_that_has_one)
{
	Properties p = kDefaultProperties;

	ASSERT_EQ(decode(Words{ 5, 1, 4, 11, 2, 4, 12, 3, 4, 13, 4, 4, 14, 5, 4,
				3 },
			 p),
		  PropertyParse::Ok);
	for (u32 i = 0; i < 4; i++)
		EXPECT_EQ(*number(p, i), 11 + i);
	EXPECT_EQ(*number(p, 4), 3u);
	EXPECT_EQ(number(p, 5), nullptr) << "host authentication is opaque";
	for (u32 i = 0; i < 5; i++)
		EXPECT_EQ(*number(kDefaultProperties, i),
			  kPropertyTypes[i].initial);
}

TEST(properties, encode_properties__golden)
{
	const Properties p = with({ 4096, 8192, 1 << 20, 16, 2 });
	const Words want = { 5, 1,	 4, 4096, 2,  4, 8192, 3,
			     4, 1 << 20, 4, 4,	  16, 5, 4,    2 };
	Octets out(kPropertiesSize);

	ASSERT_EQ(encode_properties(p, { out.data(), kPropertiesSize }),
		  out.size());
	EXPECT_EQ(out, octets(want));
}

TEST(properties, encode_properties__too_small_a_buffer)
{
	for (u32 room = 0; room < kPropertiesSize; room++) {
		std::unique_ptr<u8[]> out(new u8[room]);

		EXPECT_EQ(encode_properties(kDefaultProperties,
					    { out.get(), room }),
			  0u);
	}
}

TEST(properties, properties_valid__of_this_side)
{
	Properties p = kDefaultProperties;

	EXPECT_TRUE(properties_valid(p));
	p.recv_size = 512;
	EXPECT_FALSE(properties_valid(p));
	p = kDefaultProperties;
	p.send_size = 1023;
	EXPECT_FALSE(properties_valid(p));
	p = kDefaultProperties;
	p.max_segment_size = 0;
	EXPECT_FALSE(properties_valid(p));
	p = kDefaultProperties;
	p.reverse = 4;
	EXPECT_FALSE(properties_valid(p));
	/* Each is inclusive. */
	EXPECT_TRUE(properties_valid({ 1024, 1024, 1, 0, 0 }));
	EXPECT_TRUE(properties_valid(
		{ UINT32_MAX, UINT32_MAX, UINT32_MAX, UINT32_MAX, 3 }));
}
