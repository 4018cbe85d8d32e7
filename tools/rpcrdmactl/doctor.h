/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Whether NFS over RDMA works on this machine, and what to do if not.
 */
#ifndef _RPCRDMACTL_DOCTOR_H
#define _RPCRDMACTL_DOCTOR_H

#include <filesystem>
#include <istream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "probe.h"
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
 * @source: what is mounted, "server:/export"
 * @server: address of the server; empty if not known
 * @port: of the server, for RDMA
 * @port_given: the same as the options have it; empty if they do not
 * @vers: version of NFS; empty if not known
 * @asked: the protocol that it was mounted with, "tcp" or "rdma", as mountinfo has it
 * @wanted: the protocol that /etc/fstab asks for; empty if it does not
 * @used: protocols of its transports, as mountstats has them
 * @nconnect: connections that it was mounted with
 * @peer: address and port of the server, as a connection has it; empty if not known
 */
struct NfsMount {
	std::string point;
	std::string source;
	std::string server;
	unsigned port = kNfsRdmaPort;
	std::string port_given;
	std::string vers;
	std::string asked;
	std::string wanted;
	std::set<std::string> used;
	unsigned nconnect = 1;
	std::string peer;
};

/* How often something has happened, by name. */
using Counters = std::map<std::string, std::uint64_t>;

/**
 * What the system says
 * @loaded: a module rpcrdma is, ours or the kernel's own
 * @ours: ours is, and @status is what it tells
 * @taint: flags that the module has given the kernel
 * @release: of the kernel
 * @modules: files of the kernel's modules below /lib/modules/@release, by name; empty if
 *	not known
 * @secure: the kernel loads signed modules alone, since Secure Boot is on
 * @unsigned_file: the file of the module has no signature
 * @adapter: there is a PCI device that looks like an RDMA adapter
 * @memlock: octets that a program may lock in memory; 0 if not known
 * @interface: a network interface that is up, that of the default route if there is one
 * @wishes: NFS mounts with RDMA that /etc/fstab asks for
 * @portlist: what nfsd listens on, a line each: "rdma 20049"
 * @nfsd: it runs
 * @rules: of packets, as "nft -j list ruleset" has them; null if not known
 * @reaches: servers that were tried
 * @auth: the last failure of host authentication, as the module tells it; empty if none
 * @before: what the module told @seconds before @status
 * @resent_before: what read_resent() has found then
 */
struct System {
	bool loaded = false;
	bool ours = false;
	std::string taint;
	std::string release;
	std::map<std::string, std::string> modules;
	bool secure = false;
	bool unsigned_file = false;
	bool adapter = false;
	std::uint64_t memlock = 0;
	std::string interface;
	std::vector<RdmaPort> ports;
	std::vector<NfsMount> mounts;
	std::vector<Target> wishes;
	bool nfsd = false;
	std::vector<std::string> portlist;
	Json rules;
	std::vector<Reach> reaches;
	std::string auth;
	Status before;
	Status status;
	double seconds = 0;
	Counters resent_before;
	Counters resent;
};

enum class Verdict : std::uint8_t { Ok, Warn, Fail };

/**
 * What a check has found
 * @check: which: module, device, network, server, mount or load
 * @mend: what to do about it; empty if all is well
 */
struct Finding {
	Verdict verdict = Verdict::Ok;
	std::string check;
	std::string what;
	std::string mend;
};

/*
 * Read it from files below @root: all but the module's own status, the signature, the rules
 * and what needs the network.
 */
[[nodiscard]] System read_system(const std::filesystem::path &root);

/* Packets that the ports' devices have sent or got again, by port and the device's word. */
[[nodiscard]] Counters read_resent(const std::filesystem::path &root);

/* NFS mounts with RDMA that /etc/fstab asks for. */
[[nodiscard]] std::vector<Target> read_wishes(std::istream &fstab);

/**
 * Choose the servers that are to be tried: those that have a share here, or shall have one,
 * and no connection.
 *
 * @asked: a server that the user has named; it is tried in any case. Empty if there is none.
 *
 * None is tried if there is no RDMA port that is active.
 */
[[nodiscard]] std::vector<Target> targets(const System &system,
					  const std::string &asked);

/* Octets of the largest packet of RoCE that a device sends, by its network interface. */
[[nodiscard]] std::map<std::string, unsigned>
largest_packets(const System &system);

/* NFS mounts of /proc/self/mountinfo, /proc/self/mountstats and /etc/fstab. */
[[nodiscard]] std::vector<NfsMount> read_mounts(std::istream &mountinfo,
						std::istream &mountstats,
						std::istream &fstab);

/* All findings, in the order in which they are to be mended. */
[[nodiscard]] std::vector<Finding> examine(const System &system);

/* The kernel and fstab write a space as "\040". */
[[nodiscard]] std::string unescaped(const std::string &text);

[[nodiscard]] Verdict worst(const std::vector<Finding> &findings);
[[nodiscard]] std::string findings_text(const std::vector<Finding> &findings);
[[nodiscard]] Json findings_json(const std::vector<Finding> &findings);

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_DOCTOR_H */
