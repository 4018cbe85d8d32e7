// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "mounts.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include <arpa/inet.h>

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

/* An address in the one form that all have; nfsd writes all digits of one of IPv6. */
std::string plain_address(const std::string &text)
{
	std::array<char, INET6_ADDRSTRLEN> plain{};
	in6_addr octets{};

	if (inet_pton(AF_INET6, text.c_str(), &octets) != 1 ||
	    !inet_ntop(AF_INET6, &octets, plain.data(), plain.size()))
		return text;
	return plain.data();
}

/* Of "192.0.2.1:20049" or "[2001:db8::1]:20049". */
std::string address_of(const std::string &peer)
{
	const std::string address = peer.substr(0, peer.rfind(':'));

	if (address.starts_with("[") && address.ends_with("]"))
		return plain_address(address.substr(1, address.size() - 2));
	return address;
}

/* Lines of a cache of nfsd that hold; those that do not are comments. */
std::vector<std::string> cached(std::istream &in)
{
	std::vector<std::string> lines;

	for (std::string line; std::getline(in, line);)
		if (!line.empty() && line[0] != '#')
			lines.push_back(line);
	return lines;
}

/* "nfsd 192.0.2.1 DOMAIN" */
void read_domain(const std::string &line, Uses &uses)
{
	std::istringstream words(line);
	std::string service, address, domain;

	if (words >> service >> address >> domain && service == "nfsd" &&
	    domain != "-no-domain-")
		uses.domains[plain_address(address)] = domain;
}

/*
 * "/export DOMAIN(rw,...)"; without options it is none. The root of NFSv4 is made up, and
 * nobody's files are there.
 */
void read_export(const std::string &line, Uses &uses)
{
	std::istringstream words(line);
	std::string path, client;

	words >> path >> client;
	const std::size_t open = client.rfind('(');
	if (open == std::string::npos || client.ends_with("()") ||
	    client.find("v4root") != std::string::npos)
		return;
	uses.exports.emplace(client.substr(0, open), unescaped(path));
}

/* What of @all belongs to a connection; in order, and each once. */
Json in_order(std::vector<std::string> all)
{
	std::ranges::sort(all);
	const auto more = std::ranges::unique(all);
	all.erase(more.begin(), more.end());
	return all;
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

Uses read_uses(const std::filesystem::path &root)
{
	const std::filesystem::path caches = root / "proc/net/rpc";
	std::ifstream mountinfo(root / "proc/self/mountinfo");
	std::ifstream mountstats(root / "proc/self/mountstats");
	std::ifstream fstab(root / "etc/fstab");
	std::ifstream addresses(caches / "auth.unix.ip/content");
	std::ifstream exports(caches / "nfsd.export/content");
	Uses uses;

	uses.mounts = read_mounts(mountinfo, mountstats, fstab);
	uses.served = addresses && exports;
	for (const std::string &line : cached(addresses))
		read_domain(line, uses);
	for (const std::string &line : cached(exports))
		read_export(line, uses);
	return uses;
}

void put_uses(std::span<Json> conns, const Uses &uses)
{
	for (Json &conn : conns) {
		const std::string peer = conn.value("peer-address", "");
		std::vector<std::string> found;

		if (conn.value("role", "") == "client") {
			for (const NfsMount &m : uses.mounts)
				if (m.peer == peer && protocol_of(m) == "rdma")
					found.push_back(m.point);
			conn["mounts"] = in_order(std::move(found));
		} else if (uses.served) {
			const auto domain = uses.domains.find(address_of(peer));
			if (domain != uses.domains.end()) {
				const auto [first, last] =
					uses.exports.equal_range(domain->second);
				for (auto at = first; at != last; ++at)
					found.push_back(at->second);
			}
			conn["exports"] = in_order(std::move(found));
		}
	}
}

} // namespace rpcrdmactl
