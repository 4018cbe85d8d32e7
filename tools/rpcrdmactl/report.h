/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What a report of a fault needs to have, without names of files, users and programs.
 */
#ifndef _RPCRDMACTL_REPORT_H
#define _RPCRDMACTL_REPORT_H

#include <filesystem>
#include <istream>
#include <string>
#include <vector>

#include "text.h"

namespace rpcrdmactl
{

/* A file of the report. */
struct Piece {
	std::string name;
	std::string text;
};

/**
 * How the module, its settings, NFS mounts and nfsd are now
 *
 * @root: /, or what stands for it
 */
[[nodiscard]] std::vector<Piece>
state_pieces(const Status &status, const std::filesystem::path &root);

/* The kernel, the module's file and the RDMA devices: what does not change. */
[[nodiscard]] Json machine(const std::filesystem::path &root);

/**
 * NFS mounts of /proc/self/mountstats, with options and counts
 *
 * A number stands for what is mounted and where.
 */
[[nodiscard]] std::string mounts_without_paths(std::istream &mountstats);

/**
 * Those of the last lines of the kernel's log that have to do with RDMA, NFS or RPC, and
 * faults of the kernel with the calls that led to them
 *
 * @log: as klogctl(2) gives it, or dmesg(1)
 */
[[nodiscard]] std::string relevant_log(std::istream &log);

/* The kernel's log, or why it cannot be read. */
[[nodiscard]] std::string read_log();

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_REPORT_H */
