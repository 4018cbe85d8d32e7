// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "recorder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <stdexcept>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace rpcrdmactl
{

namespace
{

namespace fs = std::filesystem;

/* KiB of all buffers together, and of one at least and at most. */
constexpr unsigned kAllBuffers = 32 * 1024;
constexpr unsigned kLeastBuffer = 256;
constexpr unsigned kMostBuffer = 4 * 1024;

/* Columns of a process' name in a line, which ends with a dash. */
constexpr std::size_t kNameColumns = 16;

/*
 * The second word is "" for a whole system. Of sunrpc and NFS those with names of files,
 * users or programs are left out, as are those of every page or poll.
 */
constexpr EventName kEvents[] = {
	{ "rpcrdma", "" },
	{ "rdma_cma", "" },
	{ "ib_cma", "" },
	{ "rdma_core", "cq_alloc" },
	{ "rdma_core", "cq_alloc_error" },
	{ "rdma_core", "cq_free" },
	{ "rdma_core", "mr_alloc" },
	{ "rdma_core", "mr_dereg" },
	{ "sunrpc", "rpc_request" },
	{ "sunrpc", "rpc_stats_latency" },
	{ "sunrpc", "rpc_call_status" },
	{ "sunrpc", "rpc_connect_status" },
	{ "sunrpc", "rpc_timeout_status" },
	{ "sunrpc", "rpc_retry_refresh_status" },
	{ "sunrpc", "rpc_call_rpcerror" },
	{ "sunrpc", "rpc_bad_callhdr" },
	{ "sunrpc", "rpc_bad_verifier" },
	{ "sunrpc", "rpc__prog_unavail" },
	{ "sunrpc", "rpc__prog_mismatch" },
	{ "sunrpc", "rpc__proc_unavail" },
	{ "sunrpc", "rpc__garbage_args" },
	{ "sunrpc", "rpc__unparsable" },
	{ "sunrpc", "rpc__mismatch" },
	{ "sunrpc", "rpc__stale_creds" },
	{ "sunrpc", "rpc__bad_creds" },
	{ "sunrpc", "rpc__auth_tooweak" },
	{ "sunrpc", "xprt_create" },
	{ "sunrpc", "xprt_connect" },
	{ "sunrpc", "xprt_disconnect_auto" },
	{ "sunrpc", "xprt_disconnect_done" },
	{ "sunrpc", "xprt_disconnect_force" },
	{ "sunrpc", "xprt_destroy" },
	{ "sunrpc", "xprt_timer" },
	{ "sunrpc", "xprt_lookup_rqst" },
	{ "sunrpc", "xprt_transmit" },
	{ "sunrpc", "xprt_retransmit" },
	{ "sunrpc", "xprt_reserve" },
	{ "sunrpc", "svc_process" },
	{ "sunrpc", "svc_send" },
	{ "sunrpc", "svc_drop" },
	{ "sunrpc", "svc_defer" },
	{ "sunrpc", "svc_stats_latency" },
	{ "sunrpc", "svc_xprt_create_err" },
	{ "sunrpc", "svc_xprt_accept" },
	{ "sunrpc", "svc_xprt_no_write_space" },
	{ "sunrpc", "svc_xprt_close" },
	{ "sunrpc", "svc_xprt_detach" },
	{ "sunrpc", "svc_xprt_free" },
	{ "sunrpc", "svc_alloc_arg_err" },
	{ "nfs", "nfs_xdr_status" },
	{ "nfs4", "nfs4_xdr_status" },
	{ "nfs4", "nfs4_sequence_done" },
	{ "nfs4", "nfs4_cb_sequence" },
	{ "nfs4", "nfs4_cb_seqid_err" },
	{ "nfs4", "nfs4_state_mgr" },
	{ "nfs4", "nfs4_state_mgr_failed" },
	{ "nfs4", "nfs4_create_session" },
	{ "nfs4", "nfs4_destroy_session" },
	{ "nfs4", "nfs4_bind_conn_to_session" },
	{ "nfsd", "nfsd_cb_setup" },
	{ "nfsd", "nfsd_cb_setup_err" },
	{ "nfsd", "nfsd_cb_state" },
	{ "nfsd", "nfsd_cb_probe" },
	{ "nfsd", "nfsd_cb_lost" },
	{ "nfsd", "nfsd_cb_shutdown" },
	{ "nfsd", "nfsd_cb_seq_status" },
};

/* The directory of instances. */
fs::path find_instances(const fs::path &root)
{
	std::error_code error;

	for (const char *place :
	     { "sys/kernel/tracing", "sys/kernel/debug/tracing" }) {
		const fs::path instances = root / place / "instances";
		if (fs::is_directory(instances, error))
			return instances;
		if (error == std::errc::permission_denied)
			throw std::runtime_error("only root may trace");
	}
	throw std::runtime_error(
		fs::exists(root / "sys/kernel/tracing", error) ?
			"tracefs is not mounted: mount -t tracefs tracefs "
			"/sys/kernel/tracing" :
			"this kernel has no tracefs");
}

unsigned processors()
{
	const long count = sysconf(_SC_NPROCESSORS_CONF);

	return count > 0 ? static_cast<unsigned>(count) : 1;
}

} // namespace

std::span<const EventName> recorded_events()
{
	return kEvents;
}

Recorder::Recorder(const fs::path &root)
	: instance_(find_instances(root) / "rpcrdmactl")
	, buffer_(std::clamp(kAllBuffers / processors(), kLeastBuffer,
			     kMostBuffer))
{
	std::error_code error;

	/* A process that was killed has left it. One that still records has it open. */
	if (rmdir(instance_.c_str()) && errno != ENOENT)
		error = { errno, std::generic_category() };
	if (error == std::errc::device_or_resource_busy ||
	    error == std::errc::directory_not_empty)
		throw std::runtime_error("another rpcrdmactl trace is running");
	if (mkdir(instance_.c_str(), 0700)) {
		if (errno == EACCES || (errno == EPERM && geteuid()))
			throw std::runtime_error("only root may trace");
		throw std::system_error(errno, std::generic_category(),
					instance_);
	}
	try {
		hold();
		put("tracing_on", "0");
		put("trace_clock", "mono");
		put("buffer_size_kb", std::to_string(buffer_));
		enable();
		put("tracing_on", "1");
	} catch (...) {
		release();
		throw;
	}
}

Recorder::~Recorder()
{
	release();
}

/* While it is open nobody can remove the instance. */
void Recorder::hold()
{
	held_ = open((instance_ / "tracing_on").c_str(), O_RDWR | O_CLOEXEC);
	if (held_ < 0)
		throw std::system_error(errno, std::generic_category(),
					instance_);
}

/* Its events end with it. */
void Recorder::release()
{
	if (held_ >= 0)
		close(held_);
	held_ = -1;
	rmdir(instance_.c_str());
}

void Recorder::put(const fs::path &file, const std::string &text) const
{
	std::ofstream out(instance_ / file);

	if (!(out << text << std::flush))
		throw std::runtime_error((instance_ / file).string() +
					 ": cannot write");
}

void Recorder::enable()
{
	for (const EventName &event : kEvents) {
		const fs::path file = fs::path("events") / event.system /
				      event.name / "enable";
		std::error_code ignored;
		if (!fs::exists(instance_ / file, ignored))
			continue;
		put(file, "1");
		events_.push_back(*event.name ? std::string(event.system) +
							":" + event.name :
						event.system);
	}
	if (events_.empty() || events_[0] != kEvents[0].system)
		throw std::runtime_error("the module has no trace events");
}

void Recorder::stop()
{
	put("tracing_on", "0");
}

std::uint64_t Recorder::overwritten() const
{
	const std::string overrun = "overrun: ";
	std::error_code error;
	std::uint64_t sum = 0;

	for (fs::directory_iterator at(instance_ / "per_cpu", error), end;
	     !error && at != end; at.increment(error)) {
		std::ifstream stats(at->path() / "stats");
		for (std::string line; std::getline(stats, line);)
			if (line.starts_with(overrun))
				sum += std::stoull(line.substr(overrun.size()));
	}
	return sum;
}

void Recorder::write_to(std::FILE *out) const
{
	std::ifstream in(instance_ / "trace");

	if (!in)
		throw std::runtime_error((instance_ / "trace").string() +
					 ": cannot read");
	for (std::string line; std::getline(in, line);) {
		line = without_process(line) + "\n";
		if (std::fwrite(line.data(), 1, line.size(), out) !=
		    line.size())
			throw std::system_error(errno, std::generic_category(),
						"temporary file");
	}
}

std::string without_process(const std::string &line)
{
	/* "     kworker/0:1-1234    [000] ....." */
	if (line.size() <= kNameColumns || line[0] == '#' ||
	    line[kNameColumns] != '-')
		return line;
	const std::size_t first = line.find_first_not_of(' ');
	const std::string name = line.substr(first, kNameColumns - first);
	for (const char *kernels : { "kworker/", "swapper/", "<" })
		if (name.starts_with(kernels))
			return line;
	if (name == "nfsd")
		return line;
	return std::string(kNameColumns, ' ') + line.substr(kNameColumns);
}

} // namespace rpcrdmactl
