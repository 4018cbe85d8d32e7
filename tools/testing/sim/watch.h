/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Prints the seed of a run that ends the process or hangs.
 */
#ifndef _RPCRDMA_SIM_WATCH_H
#define _RPCRDMA_SIM_WATCH_H

#include "base.h"

namespace sim
{

/* Threads that can be watched. */
inline constexpr u32 kMaxThreads = 256;

/* A thread does what @command does again, as long as there is one of these. */
class Watch {
public:
	explicit Watch(const std::string &command);
	~Watch();
	Watch(const Watch &) = delete;
	Watch &operator=(const Watch &) = delete;
};

/*
 * From now on a signal says what its thread was running, and a run that takes
 * longer than @seconds ends the process with its command.
 */
void watch_begin(u32 seconds);

} // namespace sim

#endif /* _RPCRDMA_SIM_WATCH_H */
