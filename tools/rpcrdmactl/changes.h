/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a message of the extension xcharext says, and how properties are written.
 */
#ifndef _RPCRDMACTL_CHANGES_H
#define _RPCRDMACTL_CHANGES_H

#include <optional>
#include <sstream>

#include "fault.h"
#include "message.h"
#include "wire.h"

namespace rpcrdmactl
{

/* A number if it is one, "default" if there is no value, or octets. */
void put_property(Json &out, u32 which, rpcrdma::Bytes value);

/* Is it a header type of xcharext? */
[[nodiscard]] bool is_change(u32 htype);

/**
 * Decode what follows the prefix.
 *
 * @out: gets the fields of the header
 * @prefix: its type is one of xcharext
 * @in: the whole message
 *
 * Return: what is wrong; nothing if it is valid.
 */
[[nodiscard]] std::optional<Fault>
put_change(Json &out, const rpcrdma::Prefix &prefix, rpcrdma::Bytes in);

/* The same fields for people. */
void change_text(std::ostringstream &out, const Json &decoded);

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_CHANGES_H */
