// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "names.h"
#include "properties.h"
#include "wire.h"
#include <rpcrdma/plan.h>
#include <rpcrdma/sizes.h>

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
	"dialect",
	"invariant",
	"authentication",
};

/* By enum rpcrdma_unfit: why a device cannot be used. */
static constexpr const char *kUnfit[] = {
	"nothing is missing",
	"no elements to send from or to receive into",
	"queues too short for Receives",
	"queues too short for the largest message",
	"no RDMA Reads",
	"no elements for RDMA Reads to fill",
	"RDMA Reads into registered memory alone, and it registers none",
	"iWARP, and too few memory regions",
};

/* By enum rpcrdma_chunk_reason. */
static constexpr const char *kChunkReasons[] = {
	"small",
	"not-allowed",
	"refused",
	"ddp-threshold",
	"special-threshold",
	"credits",
	"send-size",
	"asked",
	"too-long",
	"placed",
	"round-trip",
	"offered",
};
// clang-format on
static_assert(sizeof(kReasons) / sizeof(kReasons[0]) == RPCRDMA_REASON_COUNT);
static_assert(sizeof(kUnfit) / sizeof(kUnfit[0]) == RPCRDMA_UNFIT_COUNT);
static_assert(sizeof(kChunkReasons) / sizeof(kChunkReasons[0]) ==
	      RPCRDMA_CHUNK_REASONS);

/* What is of version 1 alone: the numbers of its types do not occur in the other. */
static const char *version1_name(u32 htype)
{
	switch (htype) {
	case RPCRDMA1_MSG:
	case RPCRDMA1_NOMSG:
		return header_type_v1(htype, RPCRDMA_CALL).name;
	case RPCRDMA1_MSGP:
		return "MSGP";
	case RPCRDMA1_DONE:
		return "DONE";
	default:
		return kUnknown;
	}
}

const char *type_name(u32 type)
{
	const HeaderType *t = type_at(type);

	return t ? t->name : version1_name(type);
}

const char *htype_name(u32 htype)
{
	const HeaderType *t = header_type(htype);

	return t ? t->name : version1_name(htype);
}

static constexpr auto kExtensionNames = Extensions::names();

const char *extension_name(u32 extension)
{
	return extension <= Extensions::kOthers ? kExtensionNames[extension] :
						  kUnknown;
}

const char *property_name(u32 property)
{
	return property < Extensions::kProperties ?
		       kPropertyTypes[property].name :
		       kUnknown;
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

const char *unfit_name(u32 unfit)
{
	return unfit < RPCRDMA_UNFIT_COUNT ? kUnfit[unfit] : kUnknown;
}

const char *chunk_reason_name(u32 reason)
{
	return reason < RPCRDMA_CHUNK_REASONS ? kChunkReasons[reason] :
						kUnknown;
}

} // namespace rpcrdma
