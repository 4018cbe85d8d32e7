// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "trace.h"

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <system_error>

#include "json_text.h"
#include "netlink.h"
#include "recorder.h"
#include "report.h"
#include "tarball.h"

namespace rpcrdmactl
{

namespace
{

namespace fs = std::filesystem;

constexpr const char *kReadme =
	"This archive describes a fault of NFS over RDMA. rpcrdmactl trace has made it.\n"
	"\n"
	"about.json        kernel, module, devices; when and what was recorded\n"
	"before/, after/   the module, its connections, mounts and nfsd, before and after\n"
	"trace.txt         trace events; the time is in seconds, of the monotonic clock\n"
	"log.txt           lines of the kernel's log\n"
	"\n"
	"It has addresses of clients and servers, names of RDMA devices and of network\n"
	"interfaces, options of mounts, names of NFS operations and how many there were, XIDs,\n"
	"memory addresses and handles for RDMA. Lines of the kernel's log may have names of\n"
	"servers, and of programs whose calls led to a fault of the kernel.\n"
	"\n"
	"It has no data of files, no names of files, directories, exports and users, no keys.\n"
	"All files are text: look through them before you send them.\n";

std::string time_text(const char *format, std::time_t when)
{
	std::tm parts = {};
	char text[64];

	gmtime_r(&when, &parts);
	std::strftime(text, sizeof(text), format, &parts);
	return text;
}

/* The clock of the trace, in seconds. */
double monotonic()
{
	timespec now = {};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return static_cast<double>(now.tv_sec) +
	       static_cast<double>(now.tv_nsec) / 1e9;
}

Status status_now()
{
	Netlink netlink;

	return { netlink.module(), netlink.devices(), netlink.listeners(),
		 netlink.connections() };
}

struct CloseFile {
	void operator()(std::FILE *file) const
	{
		std::fclose(file);
	}
};

} // namespace

TraceResult trace(Keys &keys, const fs::path &file, double seconds)
{
	const std::time_t begin = std::time(nullptr);
	const std::string stem =
		"rpcrdma-trace-" + time_text("%Y%m%d-%H%M%S", begin);
	const fs::path path = file.empty() ? fs::path(stem + ".tar.gz") : file;
	const std::string top = stem + "/";
	const fs::path root = "/";
	TraceResult result = { path, 0 };

	/* Before anything is made: whether the module is there. */
	const std::vector<Piece> before = state_pieces(status_now(), root);
	std::optional<Recorder> recorder(std::in_place, root);
	const double begun = monotonic();
	/* It is known now that both can be. */
	Tarball archive(path);
	const std::unique_ptr<std::FILE, CloseFile> recorded(std::tmpfile());
	if (!recorded)
		throw std::system_error(errno, std::generic_category(),
					"temporary file");

	(void)keys.wait(seconds);
	recorder->stop();
	result.overwritten = recorder->overwritten();
	Json about = machine(root);
	about["begin"] = time_text("%Y-%m-%dT%H:%M:%SZ", begin);
	about["begin-monotonic"] = begun;
	about["end-monotonic"] = monotonic();
	about["events"] = recorder->events();
	about["buffer-kib-per-processor"] = recorder->buffer();
	about["overwritten"] = result.overwritten;
	recorder->write_to(recorded.get());
	recorder.reset();

	archive.add(top + "README", kReadme);
	archive.add(top + "about.json", json_text(about, 2) + "\n");
	for (const Piece &piece : before)
		archive.add(top + "before/" + piece.name, piece.text);
	try {
		for (const Piece &piece : state_pieces(status_now(), root))
			archive.add(top + "after/" + piece.name, piece.text);
	} catch (const NotLoaded &error) {
		/* The trace and the log may tell why. */
		archive.add(top + "after/module.json",
			    std::string(error.what()) + "\n");
	}
	archive.add(top + "trace.txt", recorded.get());
	archive.add(top + "log.txt", read_log());
	archive.commit();
	return result;
}

} // namespace rpcrdmactl
