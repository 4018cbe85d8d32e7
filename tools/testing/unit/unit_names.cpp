// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "names.h"
#include "properties.h"
#include "wire.h"

#include <set>
#include <string>

using namespace rpcrdma;

TEST(names, reason_name__all_different)
{
	std::set<std::string> all;

	for (u32 r = 0; r < RPCRDMA_REASON_COUNT; r++)
		EXPECT_TRUE(all.insert(reason_name(r)).second);
	EXPECT_STREQ(reason_name(RPCRDMA_REASON_NONE), "none");
	EXPECT_STREQ(reason_name(RPCRDMA_REASON_CREDIT), "credit");
	EXPECT_STREQ(reason_name(RPCRDMA_REASON_INVARIANT), "invariant");
	EXPECT_STREQ(reason_name(RPCRDMA_REASON_COUNT), "?");
	EXPECT_STREQ(reason_name(UINT32_MAX), "?");
}

TEST(names, htype_name__as_in_the_draft)
{
	EXPECT_STREQ(htype_name(RPCRDMA2_CALL_INLINE), "CALL_INLINE");
	EXPECT_STREQ(htype_name(RPCRDMA1_MSG), "MSG");
	EXPECT_STREQ(htype_name(RPCRDMA1_NOMSG), "NOMSG");
	/* Not spoken, but counted. */
	EXPECT_STREQ(htype_name(RPCRDMA1_MSGP), "MSGP");
	EXPECT_STREQ(htype_name(RPCRDMA1_DONE), "DONE");
	EXPECT_STREQ(htype_name(14), "?");
}

TEST(names, type_name__by_index)
{
	std::set<std::string> all;

	for (u32 i = 0; i < type_count(); i++)
		EXPECT_TRUE(all.insert(type_name(i)).second) << i;
	EXPECT_STREQ(type_name(RPCRDMA1_DONE), "DONE");
	EXPECT_STREQ(type_name(RPCRDMA2_GRANT), "GRANT");
	EXPECT_STREQ(type_name(RPCRDMA_TYPE_UNKNOWN), "?");
	EXPECT_STREQ(type_name(type_count()), "?");
	EXPECT_STREQ(type_name(UINT32_MAX), "?");
}

TEST(names, property_name__by_index)
{
	std::set<std::string> all;

	for (u32 i = 0; i < Extensions::kProperties; i++)
		EXPECT_TRUE(all.insert(property_name(i)).second) << i;
	EXPECT_STREQ(property_name(0), "send");
	EXPECT_STREQ(property_name(5), "host-auth");
	EXPECT_STREQ(property_name(Extensions::kProperties), "?");
	EXPECT_STREQ(property_name(UINT32_MAX), "?");
}

TEST(names, errcode_name__as_in_the_draft)
{
	EXPECT_STREQ(errcode_name(RPCRDMA2_ERR_INVAL_CONT), "INVAL_CONT");
	EXPECT_STREQ(errcode_name(RPCRDMA2_ERR_SYSTEM), "SYSTEM");
	EXPECT_STREQ(errcode_name(0), "?");
	EXPECT_STREQ(errcode_name(12), "?");
}

TEST(names, chunk_reason_name__all_different)
{
	std::set<std::string> all;

	for (u32 r = 0; r < RPCRDMA_CHUNK_REASONS; r++)
		EXPECT_TRUE(all.insert(chunk_reason_name(r)).second);
	EXPECT_STREQ(chunk_reason_name(RPCRDMA_CHUNK_SMALL), "small");
	EXPECT_STREQ(rpcrdma_chunk_reason_name(RPCRDMA_CHUNK_TOO_LONG),
		     "too-long");
	EXPECT_STREQ(chunk_reason_name(RPCRDMA_CHUNK_REASONS), "?");
}
