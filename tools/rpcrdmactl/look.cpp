// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "look.h"

#include <array>
#include <chrono>
#include <cstdio>
#include <optional>
#include <thread>

#include "netlink.h"

namespace rpcrdmactl
{

namespace
{

using Clock = std::chrono::steady_clock;

/* What a command prints; nothing if it fails, or there is no such program. */
std::optional<std::string> output_of(const std::string &command)
{
	/* Where an administrator's programs are, whoever asks. */
	const std::string line = "PATH=$PATH:/usr/sbin:/sbin; " + command +
				 " 2> /dev/null";
	std::array<char, 4096> part{};
	std::string output;

	FILE *pipe = popen(line.c_str(), "r");
	if (!pipe)
		return {};
	for (std::size_t got = 0;
	     (got = std::fread(part.data(), 1, part.size(), pipe)) > 0;)
		output.append(part.data(), got);
	if (pclose(pipe))
		return {};
	return output;
}

/* Only root can read them. */
Json read_rules()
{
	const auto text = output_of("nft -j list ruleset");

	return text ? Json::parse(*text, nullptr, false) : Json();
}

bool has_no_signature()
{
	const auto signer = output_of("modinfo -F signer rpcrdma");

	return signer && signer->find_first_not_of(" \n") == std::string::npos;
}

/* Return: whether the module is ours, and has told it. */
bool ask_module(Status &status)
{
	try {
		Netlink netlink;
		status = { netlink.module(), netlink.devices(),
			   netlink.listeners(), netlink.connections() };
	} catch (const NotLoaded &) {
		/* That is a finding. */
		return false;
	}
	return true;
}

} // namespace

System look(const std::string &server)
{
	const Clock::time_point begin = Clock::now();
	System system = read_system("/");

	system.ours = ask_module(system.status);
	if (system.secure && !system.loaded)
		system.unsigned_file = has_no_signature();
	system.rules = read_rules();
	const auto largest = largest_packets(system);
	for (const Target &target : targets(system, server))
		system.reaches.push_back(probe(target, largest));
	if (system.status.connections.empty())
		return system;

	std::this_thread::sleep_until(begin + std::chrono::seconds(1));
	Status now;
	if (!ask_module(now))
		return system;
	system.seconds =
		std::chrono::duration<double>(Clock::now() - begin).count();
	system.before = std::move(system.status);
	system.status = std::move(now);
	system.resent_before = std::move(system.resent);
	system.resent = read_resent("/");
	return system;
}

} // namespace rpcrdmactl
