// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "decode.h"

#include <filesystem>
#include <gtest/gtest.h>
#include <sstream>

#include "../../testing/unit/dialect.h"
#include "../../testing/unit/golden.h"
#include "../../testing/unit/version1.h"
#include "data.h"
#include "wire.h"

namespace rpcrdmactl
{

namespace
{

using unit::operator+;

Octets octets_of(const unit::Words &words)
{
	Octets octets;

	for (const u32 word : words)
		for (int shift = 24; shift >= 0; shift -= 8)
			octets.push_back(
				static_cast<std::uint8_t>(word >> shift));
	return octets;
}

Json decoded(const unit::Words &words)
{
	return decode(octets_of(words));
}

struct Hex {
	std::vector<Octets> messages;
	std::vector<unsigned> bad;
};

Hex read_all(std::istream &in)
{
	Hex all;

	read_hex(
		in,
		[&](const Octets &octets) { all.messages.push_back(octets); },
		[&](unsigned line, const std::string &) {
			all.bad.push_back(line);
		});
	return all;
}

/* Is a field named, or what is missing? */
bool exact(const Json &d)
{
	const std::string error = d.at("error");

	return error.find("extension") == std::string::npos;
}

} // namespace

/* Every header type of the unit tests of the core. */
TEST(decode, version_2)
{
	for (const unit::Golden &g : unit::goldens()) {
		const Json d = decoded(g.header + g.payload);

		EXPECT_EQ(d.at("valid"), true) << g.name << d;
		EXPECT_EQ(d.at("version"), 2);
		EXPECT_EQ(d.at("header-type"), g.htype);
		EXPECT_EQ(d.at("header-name").get<std::string>().find(g.name),
			  0U);
		EXPECT_EQ(d.at("header-octets"), 4 * g.header.size()) << g.name;
		EXPECT_EQ(d.value("payload-octets", 0U), 4 * g.payload.size());
		EXPECT_EQ(d.value("remaining", 0U), g.remaining);
	}
}

/* Cut off anywhere, a header goes wrong no later than where it is cut off. */
TEST(decode, version_2__cut_off)
{
	for (const unit::Golden &g : unit::goldens()) {
		const Octets whole = octets_of(g.header);

		for (std::size_t n = 0; n < whole.size(); n++) {
			const Octets part(whole.begin(), whole.begin() + n);
			const Json d = decode(part);

			ASSERT_EQ(d.at("valid"), false) << g.name << n << d;
			EXPECT_TRUE(exact(d)) << g.name << n << d;
			EXPECT_LE(d.at("octet"), n) << g.name << d;
			/* What is missing, or the count of segments that are. */
			if (n >= 16 && g.htype != RPCRDMA2_CONNPROP_FINAL &&
			    g.htype != RPCRDMA2_CONNPROP_MIDDLE)
				EXPECT_GE(d.at("octet").get<std::size_t>() + 40,
					  n)
					<< g.name << d;
		}
	}
}

TEST(decode, version_2__what_is_wrong)
{
	/* The discriminator of the Read list is no bool. */
	Json d = decoded({ 1, 2, 0, RPCRDMA2_CALL_INLINE, 0, 7, 0, 0, 1, 0 });
	EXPECT_EQ(d.at("octet"), 20U) << d;
	/* A handle that the header does not have. */
	d = decoded({ 1, 2, 0, RPCRDMA2_CALL_INLINE, 9, 0, 0, 0, 1, 0 });
	EXPECT_EQ(d.at("octet"), 16U) << d;
	EXPECT_EQ(d.at("error"), "rdma_inv_handle is not in the header");
	/* A header type that there is not. */
	d = decoded({ 1, 2, 0, 77 });
	EXPECT_EQ(d.at("octet"), 12U) << d;
	/* A version that there is not. */
	d = decoded({ 1, 3, 0, 0 });
	EXPECT_EQ(d.at("octet"), 4U) << d;
	/* A GRANT with something behind it. */
	d = decoded({ 1, 2, 0, RPCRDMA2_GRANT, 5 });
	EXPECT_EQ(d.at("octet"), 16U) << d;
	/* Two properties are announced and one is there. */
	d = decoded({ 1, 2, 0, RPCRDMA2_CONNPROP_FINAL, 2, 1, 4, 4096 });
	EXPECT_EQ(d.at("octet"), 32U) << d;
}

/* The field, and what it may be. */
TEST(decode, says_what_is_wrong)
{
	const auto error = [](const unit::Words &words) {
		return decoded(words).at("error").get<std::string>();
	};

	EXPECT_EQ(error({ 1, 2, 0, RPCRDMA2_CALL_INLINE, 0, 7, 0, 0, 1, 0 }),
		  "the word that says whether the Read list goes on is 7; it may "
		  "be 0 or 1");
	EXPECT_EQ(error({ 1, 2, 0, RPCRDMA2_CALL_INLINE, 0, 1, 4, 9 }),
		  "the message ends before or in the length of segment 0 of the "
		  "Read list");
	EXPECT_EQ(error({ 1, 2, 0, RPCRDMA2_CALL_EXTERNAL, 0, 1, 8, 1, 1, 0, 0,
			  0, 0, 0, 0 }),
		  "the position of segment 0 of the Call chunk is 8; it may be 0 "
		  "only");
	EXPECT_EQ(error({ 1, 2, 0, RPCRDMA2_CALL_EXTERNAL, 0, 0, 0, 0, 0 }),
		  "the Call chunk has no segment; it has one at least");
	EXPECT_EQ(error({ 1, 2, 0, RPCRDMA2_CALL_INLINE, 0, 0, 1, 900, 0, 0, 0,
			  0 }),
		  "Write chunk 0 says that it has 900 segments; in what follows "
		  "there is room for 1");
	EXPECT_EQ(error({ 1, 2, 0, RPCRDMA2_GRANT, 5 }),
		  "octets follow the header, and this type has none there: 4");
	EXPECT_EQ(error({ 1, 2, 0, RPCRDMA2_ERROR, RPCRDMA2_ERR_VERS, 1 }),
		  "the message ends before or in argument 2 of 2 of VERS");
	EXPECT_EQ(error({ 1, 1, 0, RPCRDMA1_MSG, 0, 0, 0, 1 }),
		  "the message ends before the direction, the second word of its "
		  "payload");
	EXPECT_EQ(error({ 1, 1, 0, RPCRDMA1_MSG, 1, 4, 1, 4, 0, 0, 0, 0, 0, 1,
			  RPCRDMA_REPLY }),
		  "a Reply has a Read list; only a Call may have one");

	Octets odd = octets_of(
		{ 1, 2, 0, RPCRDMA2_CALL_INLINE, 0, 0, 0, 0, 1, 0 });
	odd.pop_back();
	const Json d = decode(odd);
	EXPECT_EQ(d.at("octet"), 36U) << d;
	EXPECT_EQ(d.at("error"), "the payload has 7 octets; their number may be "
				 "a multiple of four only");
}

/* What the message has not is not told as zero. */
TEST(decode, what_is_not_there_is_not_told)
{
	Json d = decoded({ 1, 2, 0, RPCRDMA2_ERROR });
	EXPECT_FALSE(d.contains("error-code")) << d;
	d = decoded({ 1, 2, 0, RPCRDMA2_ERROR, RPCRDMA2_ERR_VERS, 1 });
	EXPECT_EQ(d.at("error-arguments"), Json({ 1 })) << d;
	d = decoded({ 1, 2, 0, RPCRDMA2_CALL_INLINE });
	EXPECT_FALSE(d.contains("inv-handle")) << d;
	d = decoded({ 1, 2, 0, RPCRDMA2_CALL_MIDDLE });
	EXPECT_FALSE(d.contains("remaining")) << d;
	d = decoded({ 1, 2, 0, RPCRDMA2_CALL_INLINE, 0, 0, 0, 1 });
	EXPECT_FALSE(d.contains("reply-chunk")) << d;
	d = decoded({ 1, 1, 0, 4 });
	EXPECT_FALSE(d.contains("error-code")) << d;
}

TEST(decode, version_2__rpc)
{
	const Json d = decoded({ 5, 2, 0, RPCRDMA2_CALL_INLINE, 0, 0, 0, 0, 5,
				 RPCRDMA_CALL, 2, 100003, 4, 1 });

	ASSERT_TRUE(d.contains("rpc")) << d;
	EXPECT_EQ(d.at("rpc").at("type"), "CALL");
	EXPECT_EQ(d.at("rpc").at("program"), 100003);
	EXPECT_EQ(d.at("rpc").at("procedure"), 1);
}

TEST(decode, version_1)
{
	Json d = decoded(unit::v1::call(5));
	EXPECT_EQ(d.at("valid"), true) << d;
	EXPECT_EQ(d.at("header-name"), "MSG");
	EXPECT_EQ(d.at("rpc").at("xid"), "0x00000005");

	d = decoded(unit::v1::err_vers(5, 1, 2));
	EXPECT_EQ(d.at("valid"), true) << d;
	EXPECT_EQ(d.at("error-arguments"), Json({ 1, 2 }));

	d = decoded(unit::v1::prefix(5, 9));
	EXPECT_EQ(d.at("octet"), 12U) << d;
	/* The Read list ends in the middle of a segment. */
	d = decoded(unit::v1::nomsg(5, { 1, 0, 7, 100 }));
	EXPECT_EQ(d.at("valid"), false);
	EXPECT_EQ(d.at("octet"), 32U) << d;
}

/* Where version 2 and it part, and all that it says. */
TEST(decode, dialect_of_2016)
{
	namespace old = unit::dialect;
	const unit::Words lists = unit::v1::read_segment(8, 0xb1, 8) +
				  unit::Words{ 0, 0, 1 } +
				  unit::v1::segments(0xd1, { 900 });

	Json d = decoded(old::call(7, lists));
	EXPECT_EQ(d.at("valid"), false);
	EXPECT_EQ(d.at("octet"), 12U);
	EXPECT_EQ(d.at("error"), "version 2 has no such header type; this is MSG of the "
				 "dialect of 2016, draft-cel-nfsv4-rpcrdma-version-two-01");
	EXPECT_EQ(d.at("dialect"), "2016");
	EXPECT_EQ(d.at("header-name"), "MSG");
	EXPECT_EQ(d.at("direction"), "CALL");
	EXPECT_EQ(d.at("read-list").at(0).at("position"), 8);
	EXPECT_EQ(d.at("reply-chunk").at(0).at("length"), 900);
	EXPECT_EQ(d.at("header-octets"), 4 * (5 + lists.size()));
	EXPECT_EQ(d.at("payload-octets"), 40U);
	EXPECT_EQ(d.at("rpc").at("xid"), "0x00000007");

	d = decoded(old::long_call(7));
	EXPECT_EQ(d.at("octet"), 12U);
	EXPECT_EQ(d.at("header-name"), "NOMSG");
	EXPECT_EQ(d.at("call-chunk").at(0).at("length"), 5000);
	EXPECT_FALSE(d.contains("payload-octets"));

	d = decoded(old::msg(7, RPCRDMA_REPLY, unit::rpc(7, RPCRDMA_REPLY, 24)));
	EXPECT_EQ(d.at("direction"), "REPLY");
	EXPECT_EQ(d.at("rpc").at("type"), "REPLY");

	d = decoded(old::optional(7, RPCRDMA_REPLY, 9, 5, { 1, 0 }, { 7, 1 }));
	EXPECT_EQ(d.at("octet"), 16U);
	EXPECT_EQ(d.at("error"), "a GRANT has no more; this is OPTIONAL of the dialect of "
				 "2016, draft-cel-nfsv4-rpcrdma-version-two-01");
	EXPECT_EQ(d.at("header-name"), "OPTIONAL");
	EXPECT_EQ(d.at("direction"), "REPLY");
	EXPECT_EQ(d.at("optional-type"), 9);
	EXPECT_EQ(d.at("optional-octets"), 5);
	EXPECT_EQ(d.at("header-octets"), 36);
	EXPECT_EQ(d.at("payload-octets"), 8);
}

/* What is right in neither, and what both have. */
TEST(decode, dialect_of_2016__nothing_else_is_taken_for_it)
{
	namespace old = unit::dialect;
	const unit::Words call = unit::rpc(7, RPCRDMA_CALL, 40);

	/* Its direction is not that of its payload; its list has no end. */
	for (const unit::Words &w : { old::msg(7, RPCRDMA_REPLY, call),
				      old::prefix(7, old::kMsg) +
					      unit::Words{ 0, 1, 0 } }) {
		const Json d = decoded(w);
		EXPECT_FALSE(d.contains("dialect")) << d;
		EXPECT_EQ(d.at("error"), "version 2 has no such header type");
	}
	for (const unit::Golden &g : unit::goldens())
		EXPECT_FALSE(decoded(g.header + g.payload).contains("dialect"));
	EXPECT_EQ(decoded(old::prefix(7, old::kError) + unit::Words{ 2 })
			  .at("valid"),
		  true);
}

/* What the fuzzers have found: the verdict is the core's, and the text has no end. */
TEST(decode, corpus)
{
	namespace fs = std::filesystem;
	unsigned valid = 0, wrong = 0;

	for (u8 version : { 1, 2 }) {
		const fs::path corpus =
			fs::path("../testing/fuzz/corpus") /
			(version == 1 ? "header1" : "header");
		for (const auto &entry : fs::directory_iterator(corpus)) {
			const std::string text = test::file(entry.path());
			Octets octets(text.begin(), text.end());
			/* The fuzzers do not look at it. */
			if (octets.size() >= 8)
				std::ranges::copy(Octets{ 0, 0, 0, version },
						  octets.begin() + 4);
			const Json d = decode(octets);

			(d.at("valid") == true ? valid : wrong)++;
			if (d.at("valid") == false) {
				EXPECT_LE(d.at("octet"), octets.size());
				EXPECT_TRUE(exact(d)) << d;
			}
			EXPECT_FALSE(decoded_text(d, octets).empty());
		}
	}
	EXPECT_GT(valid, 10U);
	EXPECT_GT(wrong, 10U);
}

/* As they are in the message; those that are not there are not told. */
TEST(decode, properties)
{
	Json d = decoded({ 1, 2, 9, RPCRDMA2_CONNPROP_FINAL, 3, 1, 4, 8192, 5, 4, 7,
			   99, 8, 1, 2 });

	EXPECT_EQ(d.at("valid"), true) << d;
	EXPECT_EQ(d.at("properties").size(), 3U) << d;
	EXPECT_EQ(d.at("properties").at("send-size"), 8192U) << d;
	EXPECT_EQ(d.at("properties").at("reverse"), 7U) << d;
	EXPECT_EQ(d.at("properties").at("property-99"), "0000000100000002") << d;

	/* The second has a value of the wrong length. */
	d = decoded({ 1, 2, 9, RPCRDMA2_CONNPROP_FINAL, 2, 1, 4, 8192, 2, 8, 1, 2 });
	EXPECT_EQ(d.at("octet"), 32U) << d;
	/* Its value is not there. */
	d = decoded({ 1, 2, 9, RPCRDMA2_CONNPROP_FINAL, 1, 1, 4 });
	EXPECT_EQ(d.at("octet"), 20U) << d;
}

TEST(decode, version_1__has_its_own_names)
{
	Json d = decoded({ 1, 1, 9, 4, 2 });

	EXPECT_EQ(d.at("valid"), true) << d;
	EXPECT_EQ(d.at("error-name"), "ERR_CHUNK") << d;
	d = decoded({ 1, 1, 9, 4, 6, 1 });
	EXPECT_EQ(d.at("octet"), 16U) << d;
	EXPECT_EQ(decoded({ 1, 1, 9, 10 }).at("header-name"), "?");
	EXPECT_EQ(decoded({ 1, 2, 9, 0 }).at("header-name"), "?");
	EXPECT_EQ(decoded({ 1, 3, 9, 10 }).at("header-name"), "?");
	EXPECT_EQ(decoded({ 1, 1, 9, 3, 0 }).at("valid"), false);
}

/* The middle of an RPC message has no words of its beginning. */
TEST(decode, only_the_beginning_is_an_rpc_header)
{
	const Json begins = decoded({ 7, 2, 0, RPCRDMA2_CALL_INLINE, 0, 0, 0, 0,
				      7, 0, 2, 100003 });
	const Json other = decoded({ 7, 2, 0, RPCRDMA2_REPLY_MIDDLE, 8, 0, 0 });

	EXPECT_EQ(begins.at("rpc").at("program"), 100003U) << begins;
	EXPECT_EQ(other.at("valid"), true) << other;
	EXPECT_FALSE(other.contains("rpc")) << other;
}

TEST(decode, text)
{
	const Octets octets =
		octets_of({ 1, 2, 0, RPCRDMA2_CALL_INLINE, 0, 7, 0, 0, 1, 0 });

	EXPECT_EQ(decoded_text(decode(octets), octets),
		  test::file("test/data/wrong.txt"));
}

TEST(hex, forms)
{
	std::istringstream in("# a comment\n"
			      "0000: 00 01 0203,04:05\n"
			      "00000010: 0607 0809  ..text..\n"
			      "\t0x0020:  0a0b\n"
			      "\n\n"
			      "0x00 0xff # one more\n");
	const std::vector<Octets> all = read_all(in).messages;

	ASSERT_EQ(all.size(), 2U);
	EXPECT_EQ(all[0], Octets({ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 }));
	EXPECT_EQ(all[1], Octets({ 0, 255 }));
}

/* The line is named, and its message alone is left out. */
TEST(hex, what_is_none_is_named)
{
	for (const char *text : { "00 0", "zz", "0x", "00\n0x" }) {
		std::istringstream in(std::string("aa\n\n") + text +
				      "\n01\nyy\n\nbb\n");
		const Hex all = read_all(in);
		const unsigned line = text[2] == '\n' ? 4 : 3;

		EXPECT_EQ(all.messages,
			  std::vector<Octets>({ { 0xaa }, { 0xbb } }))
			<< text;
		EXPECT_EQ(all.bad, std::vector<unsigned>({ line, line + 2 }));
	}
}

/* Words with a colon behind each are no offsets. */
TEST(hex, colons)
{
	for (const char *text :
	     { "00000001:00000002:", "0000:0001\n00000002",
	       "0000: 00000001 00000002", "0000:  00000001 00000002  a:b:c",
	       "00000001:\n00000002:", "0000:\t00000001\n0004: 00000002" }) {
		std::istringstream in(text);
		const Hex all = read_all(in);

		ASSERT_EQ(all.messages.size(), 1U) << text;
		EXPECT_EQ(all.messages[0], Octets({ 0, 0, 0, 1, 0, 0, 0, 2 }))
			<< text;
	}
}

/* It is told before all of it is there, and what follows is decoded. */
TEST(hex, a_message_without_end)
{
	std::string text;
	for (std::size_t i = 0; i < kLargestMessage / 32 + 10; i++)
		text += std::string(64, '0') + "\n";
	std::istringstream in(text + "\n01\n\n" +
			      std::string(5 * kLargestMessage, '0') + "\n\n02");
	const Hex all = read_all(in);

	EXPECT_EQ(all.messages, std::vector<Octets>({ { 1 }, { 2 } }));
	EXPECT_EQ(all.bad.size(), 2U);
}

} // namespace rpcrdmactl
