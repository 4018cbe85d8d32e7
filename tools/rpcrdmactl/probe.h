/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Whether a server can be reached: by RDMA, and, to tell why not, in other ways.
 */
#ifndef _RPCRDMACTL_PROBE_H
#define _RPCRDMACTL_PROBE_H

#include <cstdint>
#include <map>
#include <string>

namespace rpcrdmactl
{

inline constexpr unsigned kNfsRdmaPort = 20049;
inline constexpr unsigned kRocePort = 4791;

/**
 * A server that shall be reached
 * @server: its name or address
 * @port: on which it shall listen on RDMA
 * @point: where a share of it is mounted or shall be; empty if somebody asks by hand
 * @mounted: it is mounted there
 */
struct Target {
	std::string server;
	unsigned port = kNfsRdmaPort;
	std::string point;
	bool mounted = false;
};

/**
 * What became of an attempt
 * @NotAsked: there was none
 * @Yes: somebody has answered and would go on
 * @Refused: the other machine has answered that nobody is there
 * @Silent: no answer came in time
 * @NoDevice: no RDMA device is on the way to the other machine
 * @NoWay: this machine has not got that far
 */
enum class Answer : std::uint8_t { NotAsked, Yes, Refused, Silent, NoDevice, NoWay };

/**
 * What is known of the way to a server
 * @target: what was asked
 * @address: its address, without a port; empty if its name has none
 * @peer: address and port, as a connection has them
 * @interface: the network interface that leads there; empty if there is none
 * @iwarp: RDMA goes by iWARP, so by TCP
 * @rdma: at the port that was asked
 * @usual: at port 20049, if another one was asked and nobody is there
 * @tcp: at nfsd's port, 2049
 * @udp: at RoCE's port; a machine without RoCE refuses
 * @ping: an echo
 * @whole: an echo of @octets octets that must not be cut in pieces
 * @octets: as long as RoCE's packets are; 0 if that was not asked
 * @why: what the RDMA connection manager said; empty if nothing
 * @told: the server has said which versions it speaks
 * @version2: so that it speaks version 2
 */
struct Reach {
	Target target;
	std::string address;
	std::string peer;
	std::string interface;
	bool iwarp = false;
	Answer rdma = Answer::NotAsked;
	Answer usual = Answer::NotAsked;
	Answer tcp = Answer::NotAsked;
	Answer udp = Answer::NotAsked;
	Answer ping = Answer::NotAsked;
	Answer whole = Answer::NotAsked;
	unsigned octets = 0;
	std::string why;
	bool told = false;
	bool version2 = false;
};

/* "server", "192.0.2.1:20050" or "[2001:db8::1]:20050". */
[[nodiscard]] Target target_of(const std::string &text);

/**
 * Try to reach a server. It takes up to fifteen seconds.
 *
 * @largest: of RoCE's packets on a network interface, in octets with the header of IP
 *
 * The attempt by RDMA asks for a connection, and ends it before a message is sent. With
 * iWARP it is a TCP connection. Nothing else needs privileges but the echo, on some
 * systems.
 */
[[nodiscard]] Reach probe(const Target &target,
			  const std::map<std::string, unsigned> &largest);

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_PROBE_H */
