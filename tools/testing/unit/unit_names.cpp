// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "names.h"

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

TEST(names, errcode_name__as_in_the_draft)
{
	EXPECT_STREQ(errcode_name(RPCRDMA2_ERR_INVAL_CONT), "INVAL_CONT");
	EXPECT_STREQ(errcode_name(RPCRDMA2_ERR_SYSTEM), "SYSTEM");
	EXPECT_STREQ(errcode_name(0), "?");
	EXPECT_STREQ(errcode_name(12), "?");
}
