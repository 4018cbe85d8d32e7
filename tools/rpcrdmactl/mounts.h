/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * NFS mounts that are to use RDMA.
 */
#ifndef _RPCRDMACTL_MOUNTS_H
#define _RPCRDMACTL_MOUNTS_H

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

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_MOUNTS_H */
