/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What doctor examines, of the machine where it runs.
 */
#ifndef _RPCRDMACTL_LOOK_H
#define _RPCRDMACTL_LOOK_H

#include <string>

#include "doctor.h"

namespace rpcrdmactl
{

/**
 * Look at this machine, and at the servers that it uses. It changes nothing.
 *
 * @server: one more server to be tried, perhaps with a port; empty if there is none
 *
 * If there are connections, it looks twice, with a second or more between. A server that
 * does not answer takes up to fifteen seconds.
 */
[[nodiscard]] System look(const std::string &server);

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_LOOK_H */
