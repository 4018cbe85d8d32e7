/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * NFS mounts that are to use RDMA, and what connections are for.
 */
#ifndef _RPCRDMACTL_MOUNTS_H
#define _RPCRDMACTL_MOUNTS_H

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "doctor.h"

namespace rpcrdmactl
{

/**
 * Those that were made with proto=rdma, or for which /etc/fstab asks for RDMA.
 *
 * @mounts: all NFS mounts, in the order of mountinfo
 *
 * Return: one for each mount point; of several the one that is seen there.
 */
[[nodiscard]] std::vector<Mount>
to_use_rdma(const std::vector<NfsMount> &mounts);

/* Those of this process's mount namespace. */
[[nodiscard]] std::vector<Mount> current_mounts();

/**
 * What the module does not know: for whom its connections are
 * @mounts: all NFS mounts of this process's mount namespace
 * @domains: what nfsd calls the client that has an address
 * @exports: paths that nfsd has exported to a client of that name, and that it has used
 * @served: the two were read; only root can
 */
struct Uses {
	std::vector<NfsMount> mounts;
	std::map<std::string, std::string> domains;
	std::multimap<std::string, std::string> exports;
	bool served = false;
};

[[nodiscard]] Uses read_uses(const std::filesystem::path &root);

/*
 * A connection of a client gets "mounts", the mount points whose server it leads to; one of
 * a server gets "exports" if they are known.
 */
void put_uses(std::span<Json> conns, const Uses &uses);

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_MOUNTS_H */
