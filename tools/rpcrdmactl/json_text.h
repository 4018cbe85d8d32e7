/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Text that is UTF-8, as JSON and metrics have to be. Names of files need not be.
 */
#ifndef _RPCRDMACTL_JSON_TEXT_H
#define _RPCRDMACTL_JSON_TEXT_H

#include <string>

#include "message.h"

namespace rpcrdmactl
{

/**
 * JSON for other programs; octets that are no UTF-8 are replaced.
 *
 * @indent: of each level; below zero all is in one line
 */
[[nodiscard]] std::string json_text(const Json &json, int indent = -1);

/* @text, with octets as "\344" if it is no UTF-8: what differs stays different. */
[[nodiscard]] std::string utf8(const std::string &text);

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_JSON_TEXT_H */
