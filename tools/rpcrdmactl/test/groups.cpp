// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "decode.h"

#include <gtest/gtest.h>

#include "../../testing/unit/messages.h"
#include "rtr_wire.h"

namespace rpcrdmactl
{

namespace
{

using rpcrdma::kReptErr;
using rpcrdma::kXmtCont;
using rpcrdma::kXmtReq;
using rpcrdma::kXmtResp;
using unit::operator+;
using unit::Words;

Octets octets_of(const Words &words)
{
	return unit::octets(words);
}

Json decoded(const Words &words)
{
	return decode(octets_of(words));
}

constexpr u32 kXid = 0x11;

const Words kCall = { kXid, 0, 2, 100003, 4, 1 };

Words request()
{
	return unit::prefix(kXid, kXmtReq) +
	       Words{ 2, 40, 33, 2, 4, 2, 0, 1, 80, 64, 1, 1, 7, 64, 0, 9 } +
	       Words{ 1, 0, 256, 2, 100, 4, 50, 1, 9, 30, 0, 3, 10, 2 } +
	       Words{ 2, 3, 24 } + kCall;
}

} // namespace

TEST(groups, request__all_that_is_in_it)
{
	const Json d = decoded(request());

	EXPECT_TRUE(d.at("valid"));
	EXPECT_EQ(d.at("header-name"), "XMTREQ");
	EXPECT_EQ(d.at("sends"), 2);
	EXPECT_EQ(d.at("reply-sends"), 3);
	EXPECT_EQ(d.at("payload-octets"), 24);
	ASSERT_EQ(d.at("items").size(), 2u);
	EXPECT_EQ(d.at("items")[0].at("placement"), "TBSN");
	EXPECT_EQ(d.at("items")[0].at("position"), 40);
	EXPECT_EQ(d.at("items")[0].at("buffer-segments"), Json({ 0, 1 }));
	EXPECT_EQ(d.at("items")[1].at("placement"), "EXRW");
	EXPECT_EQ(d.at("items")[1].at("segments")[0].at("length"), 64);
	ASSERT_EQ(d.at("directions").size(), 2u);
	EXPECT_EQ(d.at("directions")[0].at("placement"), "BYSIZE");
	EXPECT_EQ(d.at("directions")[0].at("rdma-from"), 50);
	EXPECT_EQ(d.at("directions")[1].at("least"), 10);
	EXPECT_EQ(d.at("rpc").at("program"), 100003);
}

TEST(groups, request__for_people)
{
	const std::string text =
		decoded_text(decoded(request()), octets_of(request()));

	EXPECT_NE(text.find("version 2 XMTREQ (4294967045) xid 0x00000011"),
		  std::string::npos);
	EXPECT_NE(text.find("  item 0: position 40 length 33 placement TBSN "
			    "offset 4 buffer-segments [0,1]\n"),
		  std::string::npos);
	EXPECT_NE(text.find("    handle 0x00000007 length 64 offset "
			    "0x0000000000000009\n"),
		  std::string::npos);
	EXPECT_NE(text.find("  direction 1: from 0 to 256 least 10 placement "
			    "TBSN\n"),
		  std::string::npos);
	EXPECT_NE(text.find("  reply-sends: 3\n"), std::string::npos);
}

TEST(groups, response_and_what_continues_it)
{
	const Json d = decoded(unit::prefix(kXid, kXmtResp) +
			       Words{ 1, 0, 0, 6, 2, 12, kXid, 1, 0 });

	EXPECT_TRUE(d.at("valid"));
	EXPECT_EQ(d.at("items")[0].at("placement"), "NOITEM");
	EXPECT_EQ(d.at("rpc").at("status"), "accepted");

	const Json c = decoded(unit::prefix(kXid, kXmtCont) +
			       Words{ 1, kXmtResp, 4, 77 });
	EXPECT_TRUE(c.at("valid"));
	EXPECT_EQ(c.at("number"), 1);
	EXPECT_EQ(c.at("began-with"), "XMTRESP");
	EXPECT_EQ(c.at("header-octets"), 28);
	EXPECT_FALSE(c.contains("rpc"));
}

TEST(groups, report)
{
	const Json d = decoded(unit::prefix(kXid, kReptErr) +
			       Words{ kXid, 1, 2, 1, 9, 0, 0, 8, 44, 0, 40 });

	EXPECT_TRUE(d.at("valid"));
	EXPECT_EQ(d.at("bad").at("type"), "REPLY");
	EXPECT_EQ(d.at("bad").at("number"), 2);
	EXPECT_EQ(d.at("lead").at("xid"), "0x00000009");
	EXPECT_EQ(d.at("error-name"), "BADPL");
	EXPECT_EQ(d.at("error-arguments"), Json({ 44, 0, 40 }));
}

TEST(groups, wrong__where)
{
	const auto at = [](const Words &w) {
		const Json d = decoded(w);

		EXPECT_FALSE(d.at("valid"));
		(void)decoded_text(d, octets_of(w));
		return d.at("octet").get<u32>();
	};

	/* The payload, by the word that has its length. */
	EXPECT_EQ(at(unit::prefix(kXid, kXmtCont) + Words{ 1, kXmtReq, 8, 1 }),
		  24u);
	EXPECT_EQ(at(unit::prefix(kXid, kXmtCont) + Words{ 1, kXmtReq, 3, 1 }),
		  24u);
	/* A header that ends too soon, of any type. */
	for (const u32 htype : { kXmtReq, kXmtResp, kXmtCont, kReptErr })
		EXPECT_EQ(at(unit::prefix(kXid, htype)), 16u);
	EXPECT_EQ(at(unit::prefix(kXid, kXmtReq) + Words{ 1, 40, 8 }), 28u);
	/* A placement that is none. */
	EXPECT_EQ(at(unit::prefix(kXid, kXmtResp) +
		     Words{ 1, 40, 8, 3, 1, 1, 0 }),
		  32u);
	EXPECT_EQ(at(unit::prefix(kXid, kReptErr) + Words{ kXid, 2, 0, 0, 3 }),
		  16u);
}

} // namespace rpcrdmactl
