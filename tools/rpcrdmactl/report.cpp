// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "report.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <deque>
#include <fstream>
#include <sstream>

#include <sys/klog.h>
#include <sys/utsname.h>

#include "doctor.h"
#include "json_text.h"
#include "settings.h"

namespace rpcrdmactl
{

namespace
{

namespace fs = std::filesystem;

/* Lines of the log that are kept, and of the calls that led to a fault. */
constexpr std::size_t kLogLines = 400;
constexpr unsigned kFaultLines = 80;

/* <linux/klog.h> is the kernel's own. */
constexpr int kReadAll = 3;
constexpr int kSizeOfLog = 10;

/* A line of the log with one of these, in any case, has to do with us. */
constexpr const char *kOurWords[] = {
	"rdma",	 "sunrpc",  "rpc:",	"nfs",	"lockd", "infiniband",
	"ib_",	 "iwarp",   "rxe",	"siw",	"mlx4",	 "mlx5",
	"irdma", "bnxt_re", "cxgb4",	"hfi1", "qedr",	 "erdma",
	"iw_cm", "mana_ib", "hns_roce", "xprt",
};

/* After a line with one of these come the calls that led to it. */
constexpr const char *kFaultWords[] = {
	"cut here",    "BUG: ",	    "WARNING: CPU", "WARNING: possible",
	"INFO: task",  "INFO: rcu", "Oops: ",	    "general protection fault",
	"Call Trace:",
};

/* How the kernel was started is nobody's business, whatever words are in it. */
constexpr const char *kCommandLine = "ommand line: ";

/* Where a report on a fault of the kernel ends. */
constexpr const char *kFaultEnd = "end trace";

std::string first_line(const fs::path &path)
{
	std::ifstream file(path);
	std::string line;

	std::getline(file, line);
	return line;
}

std::string whole(const fs::path &path)
{
	std::ifstream file(path);
	std::ostringstream text;

	text << file.rdbuf();
	return text.str();
}

std::string lower(std::string text)
{
	std::ranges::transform(text, text.begin(), [](unsigned char c) {
		return static_cast<char>(std::tolower(c));
	});
	return text;
}

bool has_one(const std::string &text, std::span<const char *const> words)
{
	return std::ranges::any_of(words, [&](const char *word) {
		return text.find(word) != std::string::npos;
	});
}

std::string server(const fs::path &root)
{
	const fs::path nfsd = root / "proc/fs/nfsd";
	std::ostringstream out;

	out << "threads: " << first_line(nfsd / "threads") << "\n"
	    << "versions: " << first_line(nfsd / "versions") << "\n"
	    << "max_block_size: " << first_line(nfsd / "max_block_size")
	    << "\nportlist:\n"
	    << whole(nfsd / "portlist") << "counts:\n"
	    << whole(root / "proc/net/rpc/nfsd");
	return out.str();
}

Json json_of_port(const RdmaPort &port, const fs::path &device)
{
	Json json = {
		{ "device", port.device }, { "port", port.number },
		{ "state", port.state },   { "interface", port.interface },
		{ "mtu", port.mtu },	   { "soft", port.soft }
	};
	const fs::path at = device / "ports" / std::to_string(port.number);

	for (const char *name : { "hca_type", "fw_ver", "board_id" })
		if (const std::string line = first_line(device / name);
		    !line.empty())
			json[name] = line;
	for (const char *name : { "rate", "link_layer" })
		if (const std::string line = first_line(at / name);
		    !line.empty())
			json[name] = line;
	return json;
}

} // namespace

std::vector<Piece> state_pieces(const Status &status, const fs::path &root)
{
	std::ifstream mountstats(root / "proc/self/mountstats");
	std::string details;

	for (const Json &conn : status.connections)
		details += details_of_connection(conn);
	return {
		{ "connections.json", json_text(status.connections, 2) + "\n" },
		{ "connections.txt", details },
		{ "devices.json", json_text(status.devices, 2) + "\n" },
		{ "listeners.json", json_text(status.listeners, 2) + "\n" },
		{ "module.json", json_text(status.module, 2) + "\n" },
		{ "settings.txt", table_of_settings(read_settings(root)) },
		{ "metrics.txt", metrics(status) },
		{ "mounts.txt", mounts_without_paths(mountstats) },
		{ "server.txt", server(root) },
	};
}

Json machine(const fs::path &root)
{
	const fs::path module = root / "sys/module/rpcrdma";
	utsname kernel = {};
	Json json, ports = Json::array();

	uname(&kernel);
	/* Not the name of the machine, nor who has built the kernel. */
	json["kernel"] = kernel.release;
	json["kernel-version"] = kernel.version;
	json["architecture"] = kernel.machine;
	json["module-version"] = first_line(module / "version");
	json["module-srcversion"] = first_line(module / "srcversion");
	json["module-taint"] = first_line(module / "taint");
	json["kernel-taint"] = first_line(root / "proc/sys/kernel/tainted");
	for (const RdmaPort &port : read_system(root).ports)
		ports.push_back(json_of_port(
			port, root / "sys/class/infiniband" / port.device));
	json["ports"] = ports;
	return json;
}

std::string mounts_without_paths(std::istream &mountstats)
{
	std::string text;
	unsigned number = 0;
	bool nfs = false;

	for (std::string line; std::getline(mountstats, line);) {
		if (line.starts_with("device ")) {
			/* "device server:/export mounted on /mnt with fstype nfs4 ..." */
			const std::size_t type = line.rfind(" with fstype nfs");
			nfs = type != std::string::npos &&
			      line.compare(type, 17, " with fstype nfsd") != 0;
			if (nfs)
				text += "mount " + std::to_string(++number) +
					line.substr(type) + "\n";
		} else if (nfs && line.find("fsc:") == std::string::npos) {
			text += line + "\n";
		}
	}
	return text;
}

std::string relevant_log(std::istream &log)
{
	std::deque<std::string> kept;
	unsigned fault = 0;
	std::string text;

	for (std::string line; std::getline(log, line);) {
		if (line.find(kCommandLine) != std::string::npos)
			continue;
		if (has_one(line, kFaultWords))
			fault = kFaultLines;
		if (fault || has_one(lower(line), kOurWords))
			kept.push_back(line);
		if (kept.size() > kLogLines)
			kept.pop_front();
		if (fault)
			fault--;
		if (line.find(kFaultEnd) != std::string::npos)
			fault = 0;
	}
	for (const std::string &line : kept)
		text += line + "\n";
	return text;
}

std::string read_log()
{
	const int size = klogctl(kSizeOfLog, nullptr, 0);
	std::string log(size > 0 ? size : 0, '\0');
	const int got = size > 0 ? klogctl(kReadAll, log.data(), size) : size;

	if (got < 0)
		return std::string("cannot be read: ") + std::strerror(errno) +
		       "\n";
	log.resize(got);
	std::istringstream in(log);
	return relevant_log(in);
}

} // namespace rpcrdmactl
