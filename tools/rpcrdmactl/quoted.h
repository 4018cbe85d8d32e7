/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Names from outside, in what somebody types or reads in one line.
 */
#ifndef _RPCRDMACTL_QUOTED_H
#define _RPCRDMACTL_QUOTED_H

#include <string>

namespace rpcrdmactl
{

/* A word of a command: the shell takes it as it is, whatever it has. */
[[nodiscard]] std::string quoted(const std::string &word);

/* An octet as the kernel writes those of names: "\040" is a space. */
[[nodiscard]] std::string octal(char octet);

/* Neither an end of line nor a control of the terminal: those are "?". */
[[nodiscard]] std::string in_one_line(std::string text);

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_QUOTED_H */
