// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "doctor.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

namespace rpcrdmactl
{

namespace
{

namespace fs = std::filesystem;

/* Packets of RoCE have up to 4096 octets of data, and some of headers. */
constexpr unsigned kGoodMtu = 4200;
constexpr const char *kPort = "20049";

std::string first_line(const fs::path &path)
{
	std::ifstream file(path);
	std::string line;

	std::getline(file, line);
	return line;
}

unsigned number_in(const fs::path &path)
{
	unsigned value = 0;

	std::istringstream(first_line(path)) >> value;
	return value;
}

/* Names in a directory, in order; none if it is not there. */
std::vector<std::string> names_in(const fs::path &directory)
{
	std::vector<std::string> names;
	std::error_code error;

	for (fs::directory_iterator at(directory, error), end; !error && at != end;
	     at.increment(error))
		names.push_back(at->path().filename());
	std::ranges::sort(names);
	return names;
}

std::vector<RdmaPort> read_ports(const fs::path &root)
{
	const fs::path devices = root / "sys/class/infiniband";
	std::vector<RdmaPort> ports;

	for (const std::string &device : names_in(devices))
		for (const std::string &port :
		     names_in(devices / device / "ports")) {
			const fs::path at = devices / device / "ports" / port;
			const std::string state = first_line(at / "state");
			RdmaPort p;

			p.device = device;
			std::istringstream(port) >> p.number;
			/* "4: ACTIVE" */
			const std::size_t colon = state.find(": ");
			p.state = colon == std::string::npos ?
					  state :
					  state.substr(colon + 2);
			p.interface = first_line(at / "gid_attrs/ndevs/0");
			if (!p.interface.empty())
				p.mtu = number_in(root / "sys/class/net" /
						  p.interface / "mtu");
			/* rxe has the first; what has hardware has the second. */
			std::error_code ignored;
			p.soft = fs::exists(devices / device / "parent",
					    ignored) ||
				 !fs::exists(devices / device / "device",
					     ignored);
			ports.push_back(p);
		}
	return ports;
}

/* Of "a=1,b,c=2". */
std::string option(const std::string &options, const std::string &name)
{
	std::istringstream in(options);

	for (std::string one; std::getline(in, one, ',');)
		if (one.starts_with(name + "="))
			return one.substr(name.size() + 1);
	return {};
}

bool is_nfs(const std::string &type)
{
	return type == "nfs" || type == "nfs4";
}

/* The kernel and fstab write a space as "\040". */
std::string unescaped(const std::string &text)
{
	std::string plain;

	for (std::size_t i = 0; i < text.size(); i++) {
		if (text[i] == '\\' && i + 3 < text.size() &&
		    std::all_of(text.begin() + i + 1, text.begin() + i + 4,
				[](char c) { return c >= '0' && c <= '7'; })) {
			plain += static_cast<char>(
				std::stoi(text.substr(i + 1, 3), nullptr, 8));
			i += 3;
		} else {
			plain += text[i];
		}
	}
	return plain;
}

/* Protocols of transports, by mount point. */
std::map<std::string, std::set<std::string>> transports(std::istream &in)
{
	std::map<std::string, std::set<std::string>> found;
	std::string point;

	for (std::string line; std::getline(in, line);) {
		std::istringstream words(line);
		std::string first, source, mounted, on, at;
		words >> first;
		if (first == "device") {
			words >> source >> mounted >> on >> at;
			point = unescaped(at);
		} else if (first == "xprt:") {
			std::string protocol;
			words >> protocol;
			found[point].insert(protocol);
		}
	}
	return found;
}

/* Protocols that are asked for, by mount point. */
std::map<std::string, std::string> wanted(std::istream &in)
{
	std::map<std::string, std::string> found;

	for (std::string line; std::getline(in, line);) {
		std::istringstream words(line);
		std::string source, point, type, options;
		words >> source >> point >> type >> options;
		if (source.starts_with("#") || !is_nfs(type))
			continue;
		const std::string protocol = option(options, "proto");
		const bool rdma = ("," + options + ",").find(",rdma,") !=
				  std::string::npos;
		found[unescaped(point)] = rdma ? "rdma" : protocol;
	}
	return found;
}

std::string text_of(const Json &object, const char *name)
{
	return object.contains(name) && object.at(name).is_string() ?
		       object.at(name).get<std::string>() :
		       "";
}

class Doctor {
public:
	explicit Doctor(const System &system)
		: s_(system)
	{
	}

	[[nodiscard]] std::vector<Finding> run()
	{
		module();
		devices();
		server();
		for (const NfsMount &m : s_.mounts)
			mount(m);
		return std::move(found_);
	}

private:
	void ok(const char *check, const std::string &what)
	{
		found_.push_back({ Verdict::Ok, check, what, "" });
	}
	void warn(const char *check, const std::string &what,
		  const std::string &mend)
	{
		found_.push_back({ Verdict::Warn, check, what, mend });
	}
	void fail(const char *check, const std::string &what,
		  const std::string &mend)
	{
		found_.push_back({ Verdict::Fail, check, what, mend });
	}

	void module()
	{
		const char *again = "modprobe -r rpcrdma && modprobe rpcrdma";

		if (!s_.loaded)
			return fail("module", "no module rpcrdma is loaded",
				    "modprobe rpcrdma");
		if (!s_.ours)
			return fail("module",
				    "another module rpcrdma is loaded, the "
				    "kernel's own or an older one",
				    again);
		ok("module", "rpcrdma " + text_of(s_.status.module, "version") +
				     " is loaded");
		if (s_.taint.find('E') != std::string::npos)
			warn("module",
			     "the module is not signed; Secure Boot does not "
			     "allow that",
			     "sign it with a key that is enrolled, as DKMS does");
	}

	void devices()
	{
		if (s_.ports.empty())
			return fail("device", "there is no RDMA device",
				    "load the driver of the adapter, or: rdma "
				    "link add rxe0 type rxe netdev INTERFACE");
		for (const RdmaPort &p : s_.ports)
			port(p);
		for (const Json &device : s_.status.devices)
			for (const char *role : { "client", "server" })
				unfit(device, role);
	}

	void port(const RdmaPort &p)
	{
		const std::string name = p.device + "/" +
					 std::to_string(p.number) +
					 (p.interface.empty() ?
						  "" :
						  " on " + p.interface);

		if (p.state != "ACTIVE")
			return fail("device", name + " is " + p.state,
				    p.interface.empty() ?
					    "check the cable, the switch and "
					    "the subnet manager" :
					    "ip link set " + p.interface +
						    " up");
		ok("device", name + " is ACTIVE" +
				     (p.soft ? ", without hardware" : ""));
		if (p.mtu && p.mtu < kGoodMtu)
			warn("device",
			     name + " has an MTU of " + std::to_string(p.mtu) +
				     ", which makes its packets small",
			     "if the network can: ip link set " + p.interface +
				     " mtu 9000");
	}

	void unfit(const Json &device, const std::string &role)
	{
		const std::string why =
			text_of(device, (role + "-unfit").c_str());

		if (!why.empty())
			warn("device",
			     text_of(device, "name") + " cannot serve as a " +
				     role + ": " + why,
			     "use another device for that");
	}

	void server()
	{
		if (!s_.nfsd)
			return;
		const std::string mend = std::string("echo rdma ") + kPort +
					 " > /proc/fs/nfsd/portlist";
		const bool asked = std::ranges::any_of(
			s_.portlist, [](const std::string &line) {
				return line.starts_with("rdma ");
			});
		if (!asked && s_.status.listeners.empty())
			return warn("server",
				    "nfsd runs and does not listen on RDMA",
				    mend);
		if (!s_.ours)
			return;
		if (s_.status.listeners.empty())
			return fail("server",
				    "nfsd listens on RDMA by another module",
				    "stop nfsd, then: modprobe -r rpcrdma && "
				    "modprobe rpcrdma");
		for (const Json &l : s_.status.listeners) {
			const std::string address = text_of(l, "address");
			if (l.value("listening", false))
				ok("server",
				   "nfsd listens on RDMA at " + address);
			else
				fail("server",
				     "nfsd cannot listen at " + address +
					     ": no RDMA device has that "
					     "address",
				     "give the interface of a device that "
				     "address");
		}
	}

	void mount(const NfsMount &m)
	{
		const std::string again = "umount " + m.point + " && mount -o " +
					  "proto=rdma,port=" + kPort +
					  " SERVER:/EXPORT " + m.point;

		if (m.asked != "rdma") {
			if (m.wanted == "rdma")
				fail("mount",
				     m.point + " uses " + m.asked +
					     ", and /etc/fstab asks for RDMA",
				     again);
			return;
		}
		for (const std::string &protocol : m.used)
			if (protocol != "rdma")
				return fail("mount",
					    m.point + " has fallen back from "
						      "RDMA to " +
						    protocol,
					    again);
		version(m);
	}

	/* Of the connections with its server. */
	void version(const NfsMount &m)
	{
		std::string choice;
		unsigned lowest = 0;

		if (!s_.ours)
			return;
		for (const Json &conn : s_.status.connections) {
			const unsigned version = conn.value("version", 0U);
			if (text_of(conn, "role") != "client" ||
			    text_of(conn, "peer-address") != m.peer || !version)
				continue;
			if (!lowest || version < lowest) {
				lowest = version;
				choice = text_of(conn, "choice");
			}
		}
		if (!lowest)
			return warn("mount",
				    m.point + " has no connection at the moment",
				    "ls " + m.point +
					    ", then: rpcrdmactl monitor");
		const std::string what =
			m.point + " speaks version " + std::to_string(lowest);
		if (lowest > 1)
			return ok("mount", what);
		if (choice == "best")
			return warn("mount",
				    what + ", since this side may speak no "
					   "higher one",
				    "echo 2 > /sys/module/rpcrdma/parameters/"
				    "client_max_version, and mount again");
		if (choice == "silence")
			return warn("mount",
				    what + ", since the server has left "
					   "version 2 unanswered",
				    "load this module at the server; then "
				    "mount again");
		warn("mount", what + ", since the server speaks no higher one",
		     "load this module at the server, or raise its "
		     "server_max_version; then mount again");
	}

	const System &s_;
	std::vector<Finding> found_;
};

const char *name_of(Verdict verdict)
{
	return verdict == Verdict::Ok	? "ok" :
	       verdict == Verdict::Warn ? "warn" :
					  "fail";
}

} // namespace

System read_system(const fs::path &root)
{
	const fs::path module = root / "sys/module/rpcrdma";
	std::ifstream mountinfo(root / "proc/self/mountinfo");
	std::ifstream mountstats(root / "proc/self/mountstats");
	std::ifstream fstab(root / "etc/fstab");
	std::ifstream portlist(root / "proc/fs/nfsd/portlist");
	std::error_code ignored;
	System s;

	s.loaded = fs::exists(module, ignored);
	s.taint = first_line(module / "taint");
	s.ports = read_ports(root);
	s.mounts = read_mounts(mountinfo, mountstats, fstab);
	s.nfsd = number_in(root / "proc/fs/nfsd/threads");
	for (std::string line; std::getline(portlist, line);)
		s.portlist.push_back(line);
	return s;
}

std::vector<NfsMount> read_mounts(std::istream &mountinfo,
				  std::istream &mountstats, std::istream &fstab)
{
	const auto used = transports(mountstats);
	const auto asks = wanted(fstab);
	std::vector<NfsMount> mounts;

	for (std::string line; std::getline(mountinfo, line);) {
		const std::size_t dash = line.find(" - ");
		if (dash == std::string::npos)
			continue;
		std::istringstream before(line), after(line.substr(dash + 3));
		std::string skip, point, type, source, options;
		before >> skip >> skip >> skip >> skip >> point;
		after >> type >> source >> options;
		if (!is_nfs(type))
			continue;
		NfsMount m;
		m.point = unescaped(point);
		m.asked = option(options, "proto");
		if (asks.contains(m.point))
			m.wanted = asks.at(m.point);
		if (used.contains(m.point))
			m.used = used.at(m.point);
		/* "rdma6" is the same over IPv6. */
		if (m.asked == "rdma6")
			m.asked = "rdma";
		const std::string address = option(options, "addr");
		const std::string port = option(options, "port");
		if (!address.empty())
			m.peer = (address.find(':') == std::string::npos ?
					  address :
					  "[" + address + "]") +
				 ":" + (port.empty() ? kPort : port);
		mounts.push_back(m);
	}
	return mounts;
}

std::vector<Finding> examine(const System &system)
{
	return Doctor(system).run();
}

Verdict worst(const std::vector<Finding> &findings)
{
	Verdict verdict = Verdict::Ok;

	for (const Finding &f : findings)
		verdict = std::max(verdict, f.verdict);
	return verdict;
}

std::string findings_text(const std::vector<Finding> &findings)
{
	std::ostringstream out;

	for (const Finding &f : findings) {
		out << name_of(f.verdict) << " " << f.check << ": " << f.what
		    << "\n";
		if (!f.mend.empty())
			out << "  " << f.mend << "\n";
	}
	return out.str();
}

Json findings_json(const std::vector<Finding> &findings)
{
	Json all = Json::array();

	for (const Finding &f : findings) {
		Json one = { { "verdict", name_of(f.verdict) },
			     { "check", f.check },
			     { "what", f.what } };
		if (!f.mend.empty())
			one["mend"] = f.mend;
		all.push_back(std::move(one));
	}
	return all;
}

} // namespace rpcrdmactl
