// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * rpcrdmactl: what the rpcrdma module is doing. rpcrdmactl.8 is its manual.
 */
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <system_error>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <linux/rpcrdma.h>

#include "capture.h"
#include "decode.h"
#include "doctor.h"
#include "json_text.h"
#include "keys.h"
#include "look.h"
#include "mounts.h"
#include "netlink.h"
#include "newfile.h"
#include "settings.h"
#include "text.h"
#include "trace.h"

namespace rpcrdmactl
{

namespace
{

/* As the manual says. */
enum Exit : int {
	kDone = 0,
	kFailed = 1,
	kUsage = 2,
	kNotLoaded = 3,
	kNotFound = 4,
	kWarned = 5,
};

struct Arguments {
	bool json = false;
	bool details = false;
	std::string object = "connections";
	std::uint64_t id = 0;
	double interval = 1;
	unsigned count = 0;
	std::string server;
	std::string file = "-";
	std::string output;
	std::string format = "openmetrics";
	bool pcap = false;
	double time = 10;
	std::vector<std::string> changes;
};

void print(const Json &json)
{
	std::cout << json_text(json, 2) << "\n";
}

int show_connections(Netlink &netlink, const Arguments &a)
{
	std::vector<Json> conns =
		a.id ? std::vector<Json>{ netlink.connection(a.id) } :
		       netlink.connections();

	put_uses(conns, read_uses("/"));
	if (a.json)
		print(conns);
	else if (!a.details)
		std::cout << table_of_connections(conns);
	else
		for (const Json &conn : conns)
			std::cout << details_of_connection(conn);
	return kDone;
}

int show(const Arguments &a)
{
	Netlink netlink;

	if (a.object == "connections")
		return show_connections(netlink, a);
	if (a.object == "module") {
		const Json module = netlink.module();
		if (a.json)
			print(module);
		else
			std::cout << lines_of_module(module);
		return kDone;
	}
	const bool devices = a.object == "devices";
	const std::vector<Json> list =
		devices ? netlink.devices() : netlink.listeners();
	if (a.json)
		print(list);
	else
		std::cout << (devices ? table_of_devices(list) :
					table_of_listeners(list));
	return kDone;
}

Status status_of(Netlink &netlink)
{
	return { netlink.module(), netlink.devices(), netlink.listeners(),
		 netlink.connections() };
}

int put_metrics(const Arguments &a)
{
	Status status;

	try {
		Netlink netlink;
		status = status_of(netlink);
	} catch (const NotLoaded &) {
		/* A file says that itself. */
		if (a.output.empty())
			throw;
	}
	status.mounts = current_mounts();
	const std::string text =
		metrics(status, a.format == "prometheus" ? Format::Prometheus :
							   Format::OpenMetrics);
	if (a.output.empty())
		std::cout << text;
	else
		replace_file(a.output, text);
	return kDone;
}

int doctor(const Arguments &a)
{
	const std::vector<Finding> findings = examine(look(a.server));
	if (a.json)
		print(findings_json(findings));
	else
		std::cout << findings_text(findings);
	switch (worst(findings)) {
	case Verdict::Fail:
		return kFailed;
	case Verdict::Warn:
		return kWarned;
	default:
		return kDone;
	}
}

int record(const Arguments &a)
{
	/* A signal takes effect when all is undone and said. */
	Keys keys;
	const TraceResult result = trace(keys, a.output, a.time);

	std::cout << result.file.string() << "\n";
	if (result.overwritten)
		std::cout << "the buffer was full: the oldest "
			  << result.overwritten << " events are not in it\n";
	std::cout.flush();
	return kDone;
}

/* Ask for a change on one connection. */
int set_connection(const Arguments &a)
{
	const Sizes sizes = read_sizes(a.changes);
	Netlink netlink;

	netlink.resize(a.id, sizes.mine, sizes.peers);
	if (a.json)
		print({ { "id", a.id },
			{ "receive-size", sizes.mine },
			{ "peer-receive-size", sizes.peers } });
	else
		std::cout << "connection " << a.id
			  << ": asked for; rpcrdmactl show -d --id " << a.id
			  << " tells what has become of it\n";
	return kDone;
}

int set(const Arguments &a)
{
	if (a.id)
		return set_connection(a);
	const std::vector<Change> changes = read_changes(a.changes);
	/* It tells whether the module is there and ours. */
	Netlink netlink;

	if (changes.empty()) {
		const Json all = read_settings("/");
		if (a.json)
			print(all);
		else
			std::cout << table_of_settings(all);
		return kDone;
	}
	const std::vector<Changed> done = write_changes("/", changes);
	if (a.json) {
		print(json_of_changes(done));
		return kDone;
	}
	const std::vector<Json> connections = netlink.connections();
	for (const Changed &changed : done)
		std::cout << line_of_change(changed, connections) << "\n";
	return kDone;
}

/* Empty if it is none that is known. */
std::string name_of_event(unsigned command)
{
	switch (command) {
	case RPCRDMA_CMD_CONN_VERSION_NTF:
		return "version";
	case RPCRDMA_CMD_CONN_UP_NTF:
		return "up";
	case RPCRDMA_CMD_CONN_DOWN_NTF:
		return "down";
	case RPCRDMA_CMD_AUTH_FAILED_NTF:
		return "auth-failed";
	default:
		return "";
	}
}

int monitor(const Arguments &a)
{
	Netlink netlink;
	unsigned left = a.count;

	netlink.follow(
		[&](unsigned command, const Json &conn) {
			const std::string event =
				command ? name_of_event(command) : "lost";
			/* A newer module tells more. */
			if (event.empty())
				return true;
			if (a.json) {
				Json line = { { "event", event } };
				line.update(conn.is_null() ? Json::object() :
							     conn);
				std::cout << json_text(line) << std::endl;
			} else if (event == "lost") {
				std::cout << "lost notifications" << std::endl;
			} else {
				std::cout << event_line(event, conn)
					  << std::endl;
			}
			return std::cout.good() && (!a.count || --left);
		});
	return kDone;
}

int watch(const Arguments &a)
{
	using Clock = std::chrono::steady_clock;
	Netlink netlink;
	Keys keys;
	const bool screen = isatty(STDOUT_FILENO);
	std::vector<Json> before = netlink.connections();
	Clock::time_point then = Clock::now();

	for (unsigned shown = 0;
	     (!a.count || shown < a.count) && std::cout.good(); shown++) {
		if (!keys.wait(a.interval))
			break;
		std::vector<Json> now = netlink.connections();
		const Clock::time_point when = Clock::now();
		const std::chrono::duration<double> passed = when - then;
		/* Home, and clear what is below. */
		std::cout << (screen ? "\033[H\033[J" :
			      shown  ? "\n" :
				       "")
			  << table_of_rates(before, now, passed.count())
			  << std::flush;
		before = std::move(now);
		then = when;
	}
	return kDone;
}

/* Return: whether it is valid. */
bool put_decoded(const Octets &octets, const Json &about, bool json)
{
	const Json decoded = decode(octets);

	if (json) {
		Json line = about;
		line.update(decoded);
		std::cout << json_text(line) << "\n";
	} else {
		for (const auto &[name, value] : about.items())
			std::cout << name << " "
				  << (value.is_string() ?
					      value.get<std::string>() :
					      json_text(value))
				  << " ";
		std::cout << decoded_text(decoded, octets);
	}
	return decoded.at("valid").get<bool>();
}

int fail(Exit status, const std::string &what)
{
	std::cerr << "rpcrdmactl: " << what << "\n";
	return status;
}

int decode_capture(const Arguments &a)
{
	bool valid = true;
	unsigned messages = 0;

	const unsigned cut =
		read_capture(a.file, [&](const CapturedSend &send) {
			const Json about = { { "time", send.time },
					     { "from", send.from },
					     { "to", send.to },
					     { "queue-pair", send.queue_pair } };
			messages++;
			valid = put_decoded(send.octets, about, a.json) &&
				valid;
			/* The capture may be a pipe that goes on. */
			std::cout.flush();
		});
	if (cut)
		return fail(kFailed,
			    a.file + ": packets that are cut off are left out: " +
				    std::to_string(cut) +
				    "; capture whole packets: tcpdump -s 0");
	if (!messages)
		throw std::runtime_error(a.file +
					 ": no message of RPC-over-RDMA");
	return valid ? kDone : kFailed;
}

int decode_hex(const Arguments &a)
{
	std::ifstream file;
	int status = kDone;
	bool some = false;

	if (a.file != "-") {
		file.open(a.file);
		if (!file)
			throw std::system_error(errno, std::generic_category(),
						a.file);
	}
	std::istream &in = a.file == "-" ? std::cin : file;
	read_hex(
		in,
		[&](const Octets &octets) {
			some = true;
			if (!put_decoded(octets, Json::object(), a.json))
				status = kFailed;
			std::cout.flush();
		},
		[&](unsigned line, const std::string &what) {
			some = true;
			status = fail(kFailed, a.file + ": line " +
						       std::to_string(line) +
						       ": " + what);
		});
	if (in.bad())
		throw std::runtime_error(a.file + ": cannot read");
	if (!some)
		throw std::runtime_error(a.file + ": no message");
	return status;
}

int decode_file(const Arguments &a)
{
	std::error_code ignored;

	if (std::filesystem::is_directory(a.file, ignored))
		throw std::system_error(EISDIR, std::generic_category(),
					a.file);
	return a.pcap ? decode_capture(a) : decode_hex(a);
}

/* Return: what is wrong with the text of a connection's number; nothing if it is one. */
std::string wrong_id(const std::string &text)
{
	std::uint64_t id = 0;
	const char *end = text.data() + text.size();
	const auto [at, error] = std::from_chars(text.data(), end, id);

	if (error == std::errc::result_out_of_range)
		return text + " is too large for the number of a connection";
	if (error != std::errc() || at != end)
		return text + " is not the number of a connection";
	return id ? "" : "the numbers of connections begin at 1";
}

/* Return: what is wrong with the name of a server; nothing if it can be one. */
std::string wrong_server(const std::string &text)
{
	const Target target = target_of(text);

	if (target.server.empty() || target.server.find('/') != std::string::npos)
		return text + " is no server: SERVER or SERVER:PORT";
	return target.port ? "" : text + " has no port from 1 to 65535";
}

int run(int argc, char **argv)
{
	Arguments a;
	CLI::App app("What the rpcrdma module is doing: NFS over RDMA.",
		     "rpcrdmactl");
	const auto json = [&a](CLI::App *command, const char *what) {
		command->add_flag("-j,--json", a.json, what);
	};

	app.require_subcommand(1);
	app.set_help_flag("-h,--help", "show this help");

	CLI::App *show_command = app.add_subcommand(
		"show", "show connections, devices, listeners or the module");
	show_command
		->add_option(
			"object", a.object,
			"connections (default), devices, listeners, module")
		->check(CLI::IsMember(
			{ "connections", "devices", "listeners", "module" }));
	show_command->add_option("--id", a.id, "only this connection")
		->check(wrong_id);
	show_command->add_flag("-d,--details", a.details,
			       "all that is known of each connection");
	json(show_command, "JSON");

	CLI::App *watch_command =
		app.add_subcommand("watch", "show how fast connections are");
	watch_command
		->add_option("-i,--interval", a.interval,
			     "seconds between two looks (default 1)")
		->check(CLI::Range(0.1, 3600.0));
	watch_command->add_option("-n,--count", a.count,
				  "end after so many tables");

	CLI::App *metrics_command = app.add_subcommand(
		"metrics", "write metrics for a monitoring program");
	metrics_command
		->add_option("-o,--output", a.output,
			     "replace this file (default: stdout)")
		->type_name("FILE");
	metrics_command
		->add_option("-f,--format", a.format,
			     "openmetrics (default), or prometheus for "
			     "node_exporter")
		->check(CLI::IsMember({ "openmetrics", "prometheus" }))
		->type_name("FORMAT");

	CLI::App *monitor_command = app.add_subcommand(
		"monitor", "tell of connections that come up and go down");
	monitor_command->add_option("-n,--count", a.count,
				    "end after so many notifications");
	json(monitor_command, "one JSON object a line");

	CLI::App *doctor_command = app.add_subcommand(
		"doctor", "find out what is wrong, and what mends it");
	doctor_command
		->add_option("server", a.server,
			     "try to reach this server by RDMA, too; "
			     "with :PORT if it is not 20049")
		->check(wrong_server);
	json(doctor_command, "JSON");

	CLI::App *trace_command = app.add_subcommand(
		"trace", "record what happens into an archive for a report");
	trace_command
		->add_option("-t,--time", a.time,
			     "seconds that it records (default 10)")
		->check(CLI::Range(0.1, 3600.0));
	trace_command->add_option(
		"-o,--output", a.output,
		"the archive (default: rpcrdma-trace-TIME.tar.gz)");

	CLI::App *set_command = app.add_subcommand(
		"set", "change settings of the module, or list them");
	set_command->add_option("settings", a.changes,
				"NAME=VALUE each; without any all are listed");
	set_command
		->add_option("--id", a.id,
			     "receive-size and peer-receive-size of this "
			     "connection")
		->check(wrong_id);
	json(set_command, "JSON");

	CLI::App *decode_command = app.add_subcommand(
		"decode", "decode messages of version 1 and 2");
	decode_command->add_option(
		"file", a.file,
		"hexadecimal, or with --pcap a capture (default: stdin)");
	decode_command->add_flag("-p,--pcap", a.pcap,
				 "the file is a capture of RoCE or InfiniBand");
	json(decode_command, "one JSON object a line");

	try {
		app.parse(argc, argv);
	} catch (const CLI::CallForHelp &help) {
		return app.exit(help);
	} catch (const CLI::ParseError &error) {
		return fail(kUsage, error.what());
	}
	if (!std::isfinite(a.interval) || !std::isfinite(a.time))
		return fail(kUsage, "this is no number of seconds");
	if ((a.id || a.details) && a.object != "connections")
		return fail(kUsage, "--id and --details are for connections");

	if (*show_command)
		return show(a);
	if (*watch_command)
		return watch(a);
	if (*metrics_command)
		return put_metrics(a);
	if (*monitor_command)
		return monitor(a);
	if (*doctor_command)
		return doctor(a);
	if (*trace_command)
		return record(a);
	if (*set_command)
		return set(a);
	return decode_file(a);
}

int main_or_error(int argc, char **argv)
{
	try {
		const int status = run(argc, argv);
		if (!std::cout.flush())
			return fail(kFailed, "cannot write");
		return status;
	} catch (const Usage &error) {
		return fail(kUsage, error.what());
	} catch (const NotLoaded &error) {
		return fail(kNotLoaded, error.what());
	} catch (const Refusal &error) {
		return fail(error.error() == ENOENT ? kNotFound : kFailed,
			    error.what());
	} catch (const std::exception &error) {
		return fail(kFailed, error.what());
	}
}

} // namespace

} // namespace rpcrdmactl

int main(int argc, char **argv)
{
	return rpcrdmactl::main_or_error(argc, argv);
}
