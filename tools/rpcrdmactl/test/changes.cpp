// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "decode.h"

#include <gtest/gtest.h>

#include "../../testing/unit/messages.h"
#include "xcharext.h"

namespace rpcrdmactl
{

namespace
{

using rpcrdma::Xcharext;
using unit::operator+;
using unit::Words;

constexpr u32 kXid = 0x11;

Json decoded(u32 type, const Words &body)
{
	return decode(unit::octets(unit::prefix(kXid, type) + body));
}

void expect_wrong(u32 type, const Words &body, u32 octet,
		  const std::string &error)
{
	const Json d = decoded(type, body);

	EXPECT_FALSE(d.at("valid").get<bool>()) << d;
	EXPECT_EQ(d.at("octet"), octet) << d;
	EXPECT_EQ(d.at("error"), error);
	EXPECT_FALSE(d.contains("header-octets"));
}

} // namespace

/* Two values, of which the second never changes. */
TEST(changes, beginning)
{
	const Json d = decoded(Xcharext::kInit,
			       { 2, 2, 4, 8192, 0xffffff02, 4, 1, 1, 2 });

	EXPECT_TRUE(d.at("valid")) << d;
	EXPECT_EQ(d.at("header-name"), "INITXCH");
	EXPECT_EQ(d.at("start"), Json({ { "receive-size", 8192 },
					{ "remote-invalidation", 1 } }));
	EXPECT_EQ(d.at("unchanging"), Json::array({ 1 }));
	EXPECT_EQ(d.at("header-octets"), 52);
}

TEST(changes, request_answer_and_news)
{
	EXPECT_EQ(decoded(Xcharext::kRequest, { 1, 1, 4, 32768 }).at("wanted"),
		  Json({ { "send-size", 32768 } }));
	/* What nobody knows is told all the same. */
	EXPECT_EQ(decoded(Xcharext::kRequest, { 1, 77, 5, 1, 0x02000000 })
			  .at("wanted"),
		  Json({ { "property-77", "0000000102" } }));
	const Json d = decoded(Xcharext::kResponse,
			       { 2, 5, 1, 1, 8, 0 });
	EXPECT_TRUE(d.at("valid")) << d;
	EXPECT_EQ(d.at("done"), Json::array({ 0, 2, 32 }));
	EXPECT_EQ(d.at("rejected"), Json::array({ 3 }));
	EXPECT_EQ(d.at("pending"), Json::array());
	const Json news = decoded(Xcharext::kUpdate, { 2, 4, 16384, 1 });
	EXPECT_EQ(news.at("now"), Json({ { "receive-size", 16384 } }));
	EXPECT_TRUE(news.at("ends-pending").get<bool>());
}

TEST(changes, for_people)
{
	const Octets octets = unit::octets(
		unit::prefix(kXid, Xcharext::kUpdate) + Words{ 2, 4, 16384, 0 });
	const std::string text = decoded_text(decode(octets), octets);

	EXPECT_NE(text.find("version 2 UPDXCH (4294967044) xid 0x00000011"),
		  std::string::npos)
		<< text;
	EXPECT_NE(text.find("\n  now: receive-size 16384\n"),
		  std::string::npos);
	EXPECT_NE(text.find("\n  ends-pending: false\n"), std::string::npos);
}

/* The prefix has 16 octets. */
TEST(changes, wrong__where)
{
	const std::string ends = "the message ends in its header";

	expect_wrong(Xcharext::kRequest, {}, 16, ends);
	expect_wrong(Xcharext::kRequest, { 1, 2 }, 24, ends);
	expect_wrong(Xcharext::kRequest, { 1, 2, 8, 8192 }, 24,
		     "the value of this property is longer than the message");
	expect_wrong(Xcharext::kRequest, { 1, 2, 4, 8192, 9 }, 32,
		     "more follows than a header of its type has");
	expect_wrong(Xcharext::kInit, { 1, 2, 4, 8192, 1, 2 }, 36,
		     "a bit stands for no property of the message");
	expect_wrong(Xcharext::kInit, { 1, 2, 4, 8192 }, 32, ends);
	expect_wrong(Xcharext::kResponse, { 0, 9, 1 }, 20,
		     "these words are more than the message has");
	expect_wrong(Xcharext::kUpdate, { 2, 4, 8192, 2 }, 28,
		     "neither 0 nor 1");
	expect_wrong(Xcharext::kUpdate, { 2, 4, 8192 }, 28, ends);
}

} // namespace rpcrdmactl
