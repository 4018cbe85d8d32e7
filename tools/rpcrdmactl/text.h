/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * What people and other programs read.
 */
#ifndef _RPCRDMACTL_TEXT_H
#define _RPCRDMACTL_TEXT_H

#include <chrono>
#include <string>
#include <vector>

#include "message.h"

namespace rpcrdmactl
{

/**
 * An NFS mount that is to use RDMA
 * @peer: address and port of the server, as a connection has it; empty if not known
 * @protocol: what it uses: "rdma", or what it has fallen back to
 */
struct Mount {
	std::string point;
	std::string peer;
	std::string protocol;
};

/* All that the module tells, and the mounts, of which it does not know. */
struct Status {
	Json module;
	std::vector<Json> devices;
	std::vector<Json> listeners;
	std::vector<Json> connections;
	std::vector<Mount> mounts = {};
};

/* One line for each, below a headline. */
[[nodiscard]] std::string table_of_connections(const std::vector<Json> &conns);
[[nodiscard]] std::string table_of_devices(const std::vector<Json> &devices);
[[nodiscard]] std::string
table_of_listeners(const std::vector<Json> &listeners);
[[nodiscard]] std::string lines_of_module(const Json &module);
/* Of read_settings(). */
[[nodiscard]] std::string table_of_settings(const Json &settings);

/* Several lines: all that is known. */
[[nodiscard]] std::string details_of_connection(const Json &conn);

/*
 * Prometheus is the format from before OpenMetrics. node_exporter's textfile collector reads
 * that one: in the other it takes counters for numbers of no type, and without their help.
 */
enum class Format { OpenMetrics, Prometheus };

/* Without @status.module the module is not loaded. */
[[nodiscard]] std::string metrics(const Status &status,
				  Format format = Format::OpenMetrics);

/* A notification: "version", "up", "down" or "auth-failed", and of what. */
[[nodiscard]] std::string event_line(const std::string &event,
				     const Json &conn);

/**
 * How fast each connection is.
 *
 * @before: connections @seconds ago
 * @now: connections now; one that is new is measured from its beginning
 */
[[nodiscard]] std::string table_of_rates(const std::vector<Json> &before,
					 const std::vector<Json> &now,
					 double seconds);

} // namespace rpcrdmactl

#endif /* _RPCRDMACTL_TEXT_H */
