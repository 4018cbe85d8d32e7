/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * rpcrdmactl trace: an archive for a report of a fault.
 */
#ifndef _RPCRDMACTL_TRACE_H
#define _RPCRDMACTL_TRACE_H

#include <cstdint>
#include <filesystem>

#include "keys.h"

namespace rpcrdmactl
{

/* What has become of it. */
struct TraceResult {
	std::filesystem::path file;
	std::uint64_t overwritten = 0;
};

/**
 * Record trace events for a while, with the state before and after.
 *
 * @keys: holds back signals until all is undone. A key or a signal ends the recording
 *	earlier; the archive is written all the same.
 * @file: the archive; if empty, one with the time in its name in the working directory
 * @seconds: how long
 *
 * Throws NotLoaded, Refusal or another std::runtime_error; then there is no archive. In any
 * case nothing is recorded any more.
 */
[[nodiscard]] TraceResult trace(Keys &keys, const std::filesystem::path &file,
				double seconds);

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_TRACE_H */
