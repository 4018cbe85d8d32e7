/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Whether NFS over RDMA works on this machine, and what to do if not.
 */
#ifndef _RPCRDMACTL_DOCTOR_H
#define _RPCRDMACTL_DOCTOR_H

#include <filesystem>
#include <istream>
#include <set>
#include <string>
#include <vector>

#include "text.h"

namespace rpcrdmactl
{

/**
 * A port of an RDMA device
 * @state: "ACTIVE", or why it is not
 * @interface: its network interface; empty if it has none
 * @mtu: of the interface, in octets; 0 if not known
 * @soft: rxe or siw
 */
struct RdmaPort {
	std::string device;
	unsigned number = 0;
	std::string state;
	std::string interface;
	unsigned mtu = 0;
	bool soft = false;
};

/**
 * An NFS mount
 * @asked: the protocol that it was mounted with, "tcp" or "rdma", as mountinfo has it
 * @wanted: the protocol that /etc/fstab asks for; empty if it does not
 * @used: protocols of its transports, as mountstats has them
 * @peer: address and port of the server, as a connection has it; empty if not known
 */
struct NfsMount {
	std::string point;
	std::string asked;
	std::string wanted;
	std::set<std::string> used;
	std::string peer;
};

/**
 * What the system says
 * @loaded: a module rpcrdma is, ours or the kernel's own
 * @ours: ours is, and @status is what it tells
 * @taint: flags that the module has given the kernel
 * @nfsd: it runs
 * @portlist: what nfsd listens on, a line each: "rdma 20049"
 */
struct System {
	bool loaded = false;
	bool ours = false;
	std::string taint;
	std::vector<RdmaPort> ports;
	std::vector<NfsMount> mounts;
	bool nfsd = false;
	std::vector<std::string> portlist;
	Status status;
};

enum class Verdict : std::uint8_t { Ok, Warn, Fail };

/**
 * What a check has found
 * @check: which: module, device, server or mount
 * @mend: what to do about it; empty if all is well
 */
struct Finding {
	Verdict verdict = Verdict::Ok;
	std::string check;
	std::string what;
	std::string mend;
};

/* Read it from files below @root; all but the module's own status. */
[[nodiscard]] System read_system(const std::filesystem::path &root);

/* NFS mounts of /proc/self/mountinfo, /proc/self/mountstats and /etc/fstab. */
[[nodiscard]] std::vector<NfsMount> read_mounts(std::istream &mountinfo,
						std::istream &mountstats,
						std::istream &fstab);

/* All findings, in the order in which they are to be mended. */
[[nodiscard]] std::vector<Finding> examine(const System &system);

[[nodiscard]] Verdict worst(const std::vector<Finding> &findings);
[[nodiscard]] std::string findings_text(const std::vector<Finding> &findings);
[[nodiscard]] Json findings_json(const std::vector<Finding> &findings);

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_DOCTOR_H */
