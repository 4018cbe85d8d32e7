// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "names.h"
#include "wire.h"

namespace rpcrdma
{

static constexpr const char *kUnknown = "?";

/* By enum rpcrdma_reason. */
// clang-format off
static constexpr const char *kReasons[] = {
	"none",
	"short",
	"version",
	"version-mismatch",
	"htype",
	"xdr",
	"xid",
	"direction",
	"propval",
	"continuation",
	"too-large",
	"chunks",
	"discarding",
	"unknown-error",
	"early",
	"credit",
	"credit-limit",
	"flood",
	"no-version",
	"invariant",
};
// clang-format on
static_assert(sizeof(kReasons) / sizeof(kReasons[0]) == RPCRDMA_REASON_COUNT);

const char *htype_name(u32 htype)
{
	const HeaderType *t = header_type(htype);

	switch (htype) {
	case RPCRDMA1_MSG:
	case RPCRDMA1_NOMSG:
		return header_type_v1(htype, RPCRDMA_CALL).name;
	case RPCRDMA1_MSGP:
		return "MSGP";
	case RPCRDMA1_DONE:
		return "DONE";
	}

	return t ? t->name : kUnknown;
}

const char *errcode_name(u32 code)
{
	const ErrorType *e = error_type(code);

	return e ? e->name : kUnknown;
}

const char *reason_name(u32 reason)
{
	return reason < RPCRDMA_REASON_COUNT ? kReasons[reason] : kUnknown;
}

} // namespace rpcrdma
