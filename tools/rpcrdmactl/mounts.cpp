// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "mounts.h"

#include <fstream>
#include <map>

namespace rpcrdmactl
{

namespace
{

/* What it uses, if it is not what it was mounted with. */
std::string protocol_of(const NfsMount &mount)
{
	for (const std::string &used : mount.used)
		if (used != "rdma")
			return used;
	return mount.asked;
}

} // namespace

std::vector<Mount> to_use_rdma(const std::vector<NfsMount> &mounts)
{
	std::map<std::string, Mount> seen;
	std::vector<Mount> found;

	for (const NfsMount &m : mounts) {
		seen.erase(m.point);
		if (m.asked == "rdma" || m.wanted == "rdma")
			seen[m.point] = { m.point, m.peer, protocol_of(m) };
	}
	for (auto &[point, mount] : seen)
		found.push_back(std::move(mount));
	return found;
}

std::vector<Mount> current_mounts()
{
	std::ifstream mountinfo("/proc/self/mountinfo");
	std::ifstream mountstats("/proc/self/mountstats");
	std::ifstream fstab("/etc/fstab");

	return to_use_rdma(read_mounts(mountinfo, mountstats, fstab));
}

} // namespace rpcrdmactl
