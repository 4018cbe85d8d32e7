/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a message of the extension rtrext says. The module does not speak it; its peers may.
 */
#ifndef _RPCRDMACTL_GROUPS_H
#define _RPCRDMACTL_GROUPS_H

#include <optional>
#include <sstream>

#include "fault.h"
#include "message.h"
#include "wire.h"

namespace rpcrdmactl
{

/* Its name, or nullptr if this is no header type of rtrext. */
[[nodiscard]] const char *group_type_name(u32 htype);

/* A header, as far as it can be read. */
struct GroupHeader {
	std::optional<Fault> fault;
	u32 octets = 0;
	rpcrdma::Range payload = {};
	u32 dir = RPCRDMA_CALL;
	bool first = false; /* the payload begins an RPC message */
};

/**
 * Decode what follows the prefix.
 *
 * @out: gets the fields of the header
 * @prefix: its type is one of rtrext
 * @in: the whole message
 */
[[nodiscard]] GroupHeader put_group(Json &out, const rpcrdma::Prefix &prefix,
				    rpcrdma::Bytes in);

/* The same fields for people. */
void group_text(std::ostringstream &out, const Json &decoded);

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_GROUPS_H */
