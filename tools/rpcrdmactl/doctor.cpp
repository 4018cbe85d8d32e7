// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "doctor.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <set>
#include <sstream>
#include <string_view>

#include "quoted.h"
#include "rules.h"

namespace rpcrdmactl
{

namespace
{

namespace fs = std::filesystem;

/* Packets of RoCE have up to 4096 octets of data, and some of headers. */
constexpr unsigned kGoodMtu = 4200;
/* What rxe leaves for headers when it chooses the size, and those that a packet has. */
constexpr unsigned kRoceReserve = 80;
constexpr unsigned kRoceHeaders = 60;
const std::string kPort = std::to_string(kNfsRdmaPort);
/* Of more than one message in so many a credit was waited for: that makes it slow. */
constexpr std::uint64_t kFewWaits = 20;
/* What grows by less may be chance. */
constexpr std::uint64_t kSome = 10;
/* More than that a connection follows only if it is made anew. */
constexpr unsigned kLargestWindow = 256;
constexpr unsigned kMostConnections = 16;
/* Libraries of RDMA adapters lock their queues, which takes some hundred KiB. */
constexpr std::uint64_t kGoodMemlock = 1 << 20;
/* Seconds. A failure that is older may have been mended, and nobody has tried again. */
constexpr std::uint64_t kRecent = 600;

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

/* Files of modules by name, of modules.dep and modules.builtin. */
std::map<std::string, std::string> read_modules(const fs::path &directory)
{
	std::map<std::string, std::string> found;

	for (const char *list : { "modules.builtin", "modules.dep" }) {
		std::ifstream file(directory / list);
		for (std::string line; std::getline(file, line);) {
			const std::string path =
				line.substr(0, line.find(':'));
			std::string name = fs::path(path).filename();
			name = name.substr(0, name.find(".ko"));
			std::ranges::replace(name, '-', '_');
			found[name] = path;
		}
	}
	return found;
}

/* The kernel's own modules are there. */
bool is_kernels_own(const std::string &path)
{
	return path.starts_with("kernel/");
}

/* Secure Boot is on if the fifth octet of the variable is 1; lockdown follows from it. */
bool read_secure(const fs::path &root)
{
	const std::string lockdown =
		first_line(root / "sys/kernel/security/lockdown");
	std::ifstream variable(root / "sys/firmware/efi/efivars/SecureBoot-"
				      "8be4df61-93ca-11d2-aa0d-00e098032b8c",
			       std::ios::binary);
	char octets[5] = {};

	variable.read(octets, sizeof(octets));
	return (variable && octets[4] == 1) ||
	       lockdown.find("[integrity]") != std::string::npos ||
	       lockdown.find("[confidentiality]") != std::string::npos;
}

/* One that is up, of Ethernet's kind, and leads to other machines. */
std::string read_interface(const fs::path &root)
{
	const fs::path all = root / "sys/class/net";
	std::ifstream routes(root / "proc/net/route");
	std::string chosen;

	for (std::string line; std::getline(routes, line);) {
		std::istringstream words(line);
		std::string name, to;
		words >> name >> to;
		if (to == "00000000")
			return name;
	}
	for (const std::string &name : names_in(all)) {
		unsigned flags = 0;
		std::istringstream(first_line(all / name / "flags")) >>
			std::hex >> flags;
		if ((flags & 1) && first_line(all / name / "type") == "1" &&
		    chosen.empty())
			chosen = name;
	}
	return chosen;
}

/* "Max locked memory  8388608  8388608  bytes": what holds now, if it has a limit. */
std::uint64_t read_memlock(const fs::path &root)
{
	constexpr std::string_view kName = "Max locked memory";
	std::ifstream limits(root / "proc/self/limits");
	std::uint64_t octets = 0;

	for (std::string line; std::getline(limits, line);)
		if (line.starts_with(kName))
			std::istringstream(line.substr(kName.size())) >>
				octets;
	return octets;
}

/* InfiniBand controllers, and network controllers of the maker of most of them. */
bool read_adapter(const fs::path &root)
{
	const fs::path all = root / "sys/bus/pci/devices";

	return std::ranges::any_of(names_in(all), [&](const std::string &name) {
		const std::string kind = first_line(all / name / "class");
		return kind.starts_with("0x0207") ||
		       (kind.starts_with("0x02") &&
			first_line(all / name / "vendor") == "0x15b3");
	});
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

unsigned port_in(const std::string &options)
{
	const std::string port = option(options, "port");
	unsigned value = kNfsRdmaPort;

	std::from_chars(port.data(), port.data() + port.size(), value);
	return value;
}

/* An NFS mount of /etc/fstab. */
struct Wish {
	std::string source;
	std::string point;
	std::string protocol;
	unsigned port;
};

std::vector<Wish> wanted(std::istream &in)
{
	std::vector<Wish> found;

	for (std::string line; std::getline(in, line);) {
		std::istringstream words(line);
		std::string source, point, type, options;
		words >> source >> point >> type >> options;
		if (source.starts_with("#") || !is_nfs(type))
			continue;
		std::string protocol = option(options, "proto");
		/* "rdma6" is the same over IPv6. */
		if (("," + options + ",").find(",rdma,") != std::string::npos ||
		    protocol == "rdma6")
			protocol = "rdma";
		found.push_back({ source, unescaped(point), protocol,
				  port_in(options) });
	}
	return found;
}

/* Of "server:/export" or "[2001:db8::1]:/export". */
std::string server_of(const std::string &source)
{
	std::string server = source.substr(0, source.find(":/"));

	if (server.starts_with("[") && server.ends_with("]"))
		server = server.substr(1, server.size() - 2);
	return server;
}

/* As /etc/fstab has it. */
std::string escaped(const std::string &point)
{
	std::string text;

	for (const char c : point)
		text += c == ' ' || c == '\t' || c == '\n' || c == '\\' ?
				octal(c) :
				std::string(1, c);
	return text;
}

/* For a pattern of sed between two |, which finds this text alone. */
std::string pattern(const std::string &text)
{
	constexpr std::string_view kSpecial = "\\.*[^$|";
	std::string found;

	for (const char c : text) {
		if (kSpecial.find(c) != std::string_view::npos)
			found += '\\';
		found += c;
	}
	return found;
}

std::uint64_t number_at(const Json &object, const char *nest, const char *name)
{
	return object.contains(nest) && object.at(nest).contains(name) ?
		       object.at(nest).at(name).get<std::uint64_t>() :
		       0;
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
		rules();
		for (const Reach &r : s_.reaches)
			reach(r);
		again();
		authentication();
		server();
		for (const NfsMount &m : s_.mounts)
			mount(m);
		for (const Json &conn : s_.status.connections)
			load(conn);
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

	[[nodiscard]] bool has_module(const char *name) const
	{
		return s_.modules.contains(name);
	}

	void module()
	{
		const std::string load = "modprobe -r rpcrdma && modprobe "
					 "rpcrdma";
		const bool installed =
			s_.modules.empty() ||
			(has_module("rpcrdma") &&
			 !is_kernels_own(s_.modules.at("rpcrdma")));

		if (s_.ours)
			return ours();
		if (s_.loaded && installed)
			fail("module",
			     "another module rpcrdma is loaded, the "
			     "kernel's own or an older one",
			     load);
		else if (!installed)
			fail("module",
			     "this module is not installed for the kernel " +
				     s_.release,
			     "dkms autoinstall && " + load);
		else if (s_.secure && s_.unsigned_file)
			fail("module",
			     "the module has no signature, and Secure Boot is "
			     "on",
			     "mokutil --import /var/lib/dkms/mok.pub && reboot");
		else
			fail("module", "no module rpcrdma is loaded",
			     "modprobe rpcrdma");
		vendor();
	}

	void ours()
	{
		ok("module", "rpcrdma " + text_of(s_.status.module, "version") +
				     " is loaded");
		if (s_.secure && s_.taint.find('E') != std::string::npos)
			warn("module",
			     "the module is not signed; Secure Boot does not "
			     "allow that",
			     "mokutil --import /var/lib/dkms/mok.pub && reboot");
	}

	/* A module that was built for the kernel's own does not fit. */
	void vendor()
	{
		if (!has_module("ib_core") ||
		    is_kernels_own(s_.modules.at("ib_core")))
			return;
		warn("module",
		     "ib_core is not the kernel's own: it is " +
			     s_.modules.at("ib_core"),
		     "make KBUILD_EXTRA_SYMBOLS=/usr/src/ofa_kernel/default/"
		     "Module.symvers modules_install");
	}

	void devices()
	{
		if (s_.ports.empty())
			return no_device();
		for (const RdmaPort &p : s_.ports)
			port(p);
		for (const Json &device : s_.status.devices)
			ability(device);
		memlock();
	}

	void no_device()
	{
		const std::string make =
			rxe_on(s_.interface.empty() ? "INTERFACE" :
						      s_.interface);

		if (!s_.modules.empty() && !has_module("rdma_rxe") &&
		    !s_.adapter)
			return fail("device",
				    "there is no RDMA adapter, and the kernel "
				    "has no module rdma_rxe",
				    "apt-get install linux-image-$(dpkg "
				    "--print-architecture), and boot that "
				    "kernel; then: " +
					    make);
		fail("device", "there is no RDMA device",
		     s_.adapter ? "udevadm trigger --action=add, or: " + make :
				  make);
	}

	/* With a name that is free. */
	[[nodiscard]] std::string rxe_on(const std::string &interface) const
	{
		unsigned number = 0;
		const auto taken = [&](const RdmaPort &p) {
			return p.device == "rxe" + std::to_string(number);
		};

		while (std::ranges::any_of(s_.ports, taken))
			number++;
		return "rdma link add rxe" + std::to_string(number) +
		       " type rxe netdev " + quoted(interface);
	}

	static std::string name_of_port(const RdmaPort &p)
	{
		return p.device + "/" + std::to_string(p.number) +
		       (p.interface.empty() ? "" : " on " + p.interface);
	}

	void port(const RdmaPort &p)
	{
		const std::string name = name_of_port(p);

		if (p.state != "ACTIVE")
			return fail("device", name + " is " + p.state,
				    !p.interface.empty() ?
					    "ip link set " +
						    quoted(p.interface) +
						    " up" :
				    p.state == "INIT" ?
					    "at one machine of the network: "
					    "apt-get install opensm" :
					    "check the cable and the switch, "
					    "then: ibstat " +
						    quoted(p.device));
		ok("device", name + " is ACTIVE" +
				     (p.soft ? ", without hardware" : ""));
		if (p.mtu && p.mtu < kGoodMtu)
			warn("device",
			     name + " has an MTU of " + std::to_string(p.mtu) +
				     ", which makes its packets small",
			     "if the network can: ip link set " +
				     quoted(p.interface) + " mtu 9000");
	}

	void unfit(const Json &device, const std::string &role)
	{
		const std::string why =
			text_of(device, (role + "-unfit").c_str());

		if (!why.empty())
			warn("device",
			     text_of(device, "name") + " cannot serve as a " +
				     role + ": " + why,
			     "use another device for that: rpcrdmactl show "
			     "devices");
	}

	/* What it can do, and what it cannot. */
	void ability(const Json &device)
	{
		const bool client = text_of(device, "client-unfit").empty();
		const bool server = text_of(device, "server-unfit").empty();
		std::string what;

		if (client)
			what = device.value("version1", false) ?
				       "clients" :
				       "clients (version 2 alone)";
		if (server)
			what += client ? " and servers" : "servers";
		if (!what.empty())
			ok("device", text_of(device, "name") +
					     " can carry connections of " +
					     what);
		for (const char *role : { "client", "server" })
			unfit(device, role);
	}

	void memlock()
	{
		if (s_.memlock && s_.memlock < kGoodMemlock)
			warn("device",
			     "a program may lock no more than " +
				     std::to_string(s_.memlock) +
				     " octets of memory: those that use RDMA "
				     "themselves fail, but not NFS",
			     "echo '* - memlock unlimited' > "
			     "/etc/security/limits.d/rdma.conf; then log in "
			     "again");
	}

	[[nodiscard]] bool is_iwarp(const RdmaPort &p) const
	{
		for (const Json &device : s_.status.devices)
			if (text_of(device, "name") == p.device)
				return device.value("iwarp", false);
		return p.device.starts_with("siw");
	}

	/*
	 * Packets of devices that have hardware do not pass the kernel's rules. Whether
	 * somebody wants to come by IPv6 a server does not know.
	 */
	void rules()
	{
		std::vector<Packet> packets;

		for (const RdmaPort &p : s_.ports) {
			if (!p.soft)
				continue;
			if (!is_iwarp(p))
				packets.push_back({ "udp", kRocePort });
			else if (!s_.status.listeners.empty())
				packets.push_back({ "tcp", kNfsRdmaPort });
		}
		const bool six = std::any_of(
			s_.reaches.begin(), s_.reaches.end(),
			[](const Reach &r) {
				return r.address.find(':') != std::string::npos;
			});
		std::set<std::string> said;
		for (Packet packet : packets)
			for (const char *family : { "ip", "ip6" }) {
				packet.family = family;
				const bool meant = packet.family == "ip" || six;
				if (!meant && s_.status.listeners.empty())
					continue;
				for (const Dropping &d :
				     dropping(s_.rules, packet))
					if (said.insert(letting_pass(d, packet))
						    .second)
						rule(d, packet, meant);
			}
	}

	void rule(const Dropping &d, const Packet &packet, bool meant)
	{
		const std::string port =
			packet.protocol + " port " +
			std::to_string(packet.port) +
			(packet.family == "ip6" ? " over IPv6" : "");
		const std::string where = ": table " + d.family + " " +
					  d.table + ", chain " + d.chain;

		if (meant)
			fail("network",
			     "rules of this machine drop " + port +
				     ", which RDMA needs" + where,
			     letting_pass(d, packet));
		else
			warn("network",
			     "rules of this machine drop " + port +
				     ": clients cannot come by it" + where,
			     letting_pass(d, packet));
	}

	/* ---- one server */

	void reach(const Reach &r)
	{
		const std::string &server = r.target.server;

		switch (r.rdma) {
		case Answer::Yes:
			return reached(r);
		case Answer::Refused:
			return nobody(r);
		case Answer::NoDevice:
			if (has_device(r.interface))
				return untried();
			return fail("network",
				    "no RDMA device is on " + r.interface +
					    ", which leads to " + server,
				    rxe_on(r.interface));
		case Answer::Silent:
			return silent(r);
		case Answer::NoWay:
			return fail("network",
				    "there is no way to " + server + ": " +
					    r.why,
				    "ip route get " + quoted(r.address));
		case Answer::NotAsked:
			if (r.address.empty())
				return fail("network",
					    "the name " + server +
						    " has no address",
					    "getent hosts " + quoted(server));
			return untried();
		}
	}

	/* Programs need more than the kernel does. */
	void untried()
	{
		warn("network",
		     "RDMA cannot be tried, since programs have no access to "
		     "it",
		     "modprobe -a ib_uverbs rdma_ucm");
	}

	[[nodiscard]] bool has_device(const std::string &interface) const
	{
		return std::ranges::any_of(s_.ports, [&](const RdmaPort &p) {
			return p.state == "ACTIVE" && p.interface == interface;
		});
	}

	void reached(const Reach &r)
	{
		ok("network", r.peer + " answers by RDMA" +
				      (r.told && !r.version2 ?
					       ", and does not say that it "
					       "speaks version 2" :
					       ""));
		if (r.ping == Answer::Yes && r.whole != Answer::Yes &&
		    r.whole != Answer::NotAsked)
			fail("network",
			     "packets of " + std::to_string(r.octets) +
				     " octets do not get through to " +
				     r.target.server,
			     "ip link set " + quoted(r.interface) +
				     " mtu 1500");
	}

	/* Its adapter answers. */
	void nobody(const Reach &r)
	{
		const std::string port = std::to_string(r.target.port);

		if (r.usual == Answer::Yes)
			return fail("network",
				    "nobody listens on RDMA at " + r.peer +
					    ", but at port " + kPort,
				    other_port(r.target));
		if (r.tcp == Answer::Refused)
			return fail("network",
				    "nfsd does not run at " + r.target.server,
				    "at the server: systemctl start "
				    "nfs-server");
		fail("network", "nobody listens on RDMA at " + r.peer,
		     "at the server: echo rdma " + port +
			     " > /proc/fs/nfsd/portlist");
	}

	[[nodiscard]] std::string other_port(const Target &t) const
	{
		const std::string script =
			"\\|[[:space:]]" + pattern(escaped(t.point)) +
			"[[:space:]]|s/\\bport=" + std::to_string(t.port) +
			"\\b/port=" + kPort + "/";
		const std::string correct =
			"sed -i " + quoted(script) + " /etc/fstab && ";

		if (t.point.empty())
			return "rpcrdmactl doctor " + quoted(t.server);
		for (const NfsMount &m : s_.mounts)
			if (m.point == t.point)
				return (m.wanted == "rdma" ? correct : "") +
				       mount_again(m);
		return correct + "mount " + quoted(t.point);
	}

	void silent(const Reach &r)
	{
		const std::string &server = r.target.server;
		const std::string port = r.iwarp ? "TCP port " +
						   std::to_string(r.target.port) :
						   "UDP port " +
						   std::to_string(kRocePort);

		if (r.udp == Answer::Refused)
			return fail("network",
				    server + " refuses " + port +
					    ": it has no RDMA device, or a "
					    "firewall refuses",
				    "at the server: rpcrdmactl doctor");
		if (r.tcp == Answer::Yes || r.tcp == Answer::Refused ||
		    r.ping == Answer::Yes)
			return fail("network",
				    server + " is there, and does not answer "
					     "by RDMA: a firewall drops " +
					    port,
				    "at the server: rpcrdmactl doctor");
		fail("network",
		     server + " answers neither by RDMA, nor by TCP, nor an "
			      "echo",
		     "ping " + quoted(r.address));
	}

	/* ---- */

	void again()
	{
		for (const RdmaPort &p : s_.ports) {
			const std::string name =
				p.device + "/" + std::to_string(p.number);
			std::uint64_t grown = 0;
			for (const auto &[counter, now] : s_.resent) {
				const auto was = s_.resent_before.find(counter);
				if (counter.starts_with(name + " ") &&
				    was != s_.resent_before.end())
					grown += now - was->second;
			}
			if (grown >= kSome)
				warn("network",
				     name + " sends packets again: " +
					     rate(grown) + " a second",
				     p.interface.empty() ?
					     "perfquery -x" :
					     "ip -s -s link show " +
						     quoted(p.interface));
		}
	}

	[[nodiscard]] std::string rate(std::uint64_t grown) const
	{
		const double each = static_cast<double>(grown) /
				    (s_.seconds > 0 ? s_.seconds : 1);

		return std::to_string(
			static_cast<std::uint64_t>(std::max(each, 1.0)));
	}

	/* SIDE ADDRESS REASON KEY SECONDS-AGO */
	void authentication()
	{
		std::istringstream text(s_.auth);
		std::string side;
		std::string address;
		std::string reason;
		std::string key;
		std::uint64_t ago = 0;

		if (!(text >> side >> address >> reason >> key >> ago) ||
		    ago > kRecent)
			return;
		const std::string put = "keyctl padd logon " +
					quoted("rpcrdma:" + key) +
					" %keyring:.rpcrdma < FILE";
		if (key != "none" && (reason == "proof" ||
				      reason == "unknown-key" ||
				      reason == "refused"))
			return warn("network",
				    "the key " + key + " of host "
				    "authentication is not the same here and "
				    "at the " + side + " " + address,
				    "here and at " + address + ": " + put);
		warn("network",
		     "host authentication of the " + side + " " + address +
			     " failed: " + reason,
		     reason != "no-key" ?
			     "at " + address + ": rpcrdmactl doctor" :
		     key == "none" ? "sysctl -w net.rpcrdma.client_key=NAME" :
				     put);
	}

	void server()
	{
		if (!s_.nfsd)
			return;
		const std::string mend = "echo rdma " + kPort +
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
				    "systemctl stop nfs-server && modprobe -r "
				    "rpcrdma && modprobe rpcrdma && systemctl "
				    "start nfs-server");
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
				     give(address));
		}
	}

	/* The first device that is there gets the address; an address of none needs a device. */
	[[nodiscard]] std::string give(const std::string &address) const
	{
		const std::string plain =
			server_of(address.substr(0, address.rfind(':')));

		if (plain == "0.0.0.0" || plain == "::")
			return rxe_on(s_.interface.empty() ? "INTERFACE" :
							     s_.interface);
		for (const RdmaPort &p : s_.ports)
			if (!p.interface.empty())
				return "ip address add " + quoted(plain) +
				       " dev " + quoted(p.interface);
		return "ip address add " + quoted(plain) + " dev INTERFACE";
	}

	/*
	 * NFS 4.1 takes the connection that it has with this server, whatever its
	 * protocol: nothing of that may be left.
	 */
	[[nodiscard]] std::string mount_again(const NfsMount &m,
					      const std::string &more = "") const
	{
		std::string points;

		for (const NfsMount &other : s_.mounts)
			if (other.point != m.point && !m.server.empty() &&
			    other.server == m.server && other.asked != "rdma" &&
			    !other.vers.starts_with("3"))
				points += quoted(other.point) + " ";
		points += quoted(m.point);
		if (m.wanted == "rdma")
			return "umount " + points + " && mount " +
			       (more.empty() ? "" : "-o " + more + " ") +
			       quoted(m.point);
		const bool six = m.server.find(':') != std::string::npos;
		const std::string options =
			(m.vers.empty() ? "" : "vers=" + m.vers + ",") +
			(six ? "proto=rdma6,port=" : "proto=rdma,port=") +
			kPort + (more.empty() ? "" : "," + more);
		return "umount " + points + " && mount -o " + quoted(options) +
		       " " + quoted(m.source) + " " + quoted(m.point);
	}

	void mount(const NfsMount &m)
	{
		/* With TCP nobody asks for this port. */
		const bool fallen =
			m.asked != "rdma" && !m.port_given.empty() &&
			m.port == kNfsRdmaPort;

		if (m.asked != "rdma" && m.wanted == "rdma" && !fallen)
			return fail("mount",
				    m.point + " uses " + m.asked +
					    ", and /etc/fstab asks for RDMA",
				    mount_again(m));
		for (const std::string &protocol : m.used)
			if (protocol != "rdma" && (fallen || m.asked == "rdma"))
				return fail("mount",
					    m.point + " has fallen back from "
						      "RDMA to " +
						    protocol,
					    mount_again(m));
		if (m.asked == "rdma")
			version(m);
	}

	[[nodiscard]] const Reach *reach_of(const NfsMount &m) const
	{
		for (const Reach &r : s_.reaches)
			if (r.peer == m.peer)
				return &r;
		return nullptr;
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
			return unconnected(m);
		const std::string what =
			m.point + " speaks version " + std::to_string(lowest);
		if (lowest > 1)
			return ok("mount", what);
		if (choice == "best")
			return warn("mount",
				    what + ", since this side may speak no "
					   "higher one",
				    "echo 2 > /sys/module/rpcrdma/parameters/"
				    "client_max_version && " +
					    mount_again(m));
		if (choice == "silence")
			return warn("mount",
				    what + ", since the server has left "
					   "version 2 unanswered",
				    "at the server: modprobe rpcrdma; then: " +
					    mount_again(m));
		warn("mount", what + ", since the server speaks no higher one",
		     "at the server: echo 2 > /sys/module/rpcrdma/parameters/"
		     "server_max_version; then: " +
			     mount_again(m));
	}

	/* What was tried tells whether that is a fault. */
	void unconnected(const NfsMount &m)
	{
		const Reach *r = reach_of(m);

		if (r && r->rdma == Answer::Yes)
			return ok("mount", m.point + " is not used at the "
						     "moment");
		if (!r)
			warn("mount",
			     m.point + " has no connection at the moment",
			     "ls " + quoted(m.point) +
				     ", then: rpcrdmactl monitor");
	}

	/* What one connection has waited for between the two looks. */
	void load(const Json &conn)
	{
		for (const Json &old : s_.before.connections)
			if (old.value("id", std::uint64_t{ 0 }) ==
			    conn.value("id", std::uint64_t{ 0 }))
				return waited(old, conn);
	}

	void waited(const Json &old, const Json &conn)
	{
		const std::string peer = text_of(conn, "peer-address");
		/* These begin again at 2^32. */
		const auto grown = [&](const char *name) {
			return static_cast<std::uint32_t>(
				number_at(conn, "credits", name) -
				number_at(old, "credits", name));
		};
		const std::uint64_t waits = grown("waits");

		if (waits >= kSome && waits * kFewWaits >= grown("sent"))
			warn("load",
			     "the connection with " + peer + " waits for "
			     "credit, " + rate(waits) + " times a second",
			     "at " + peer + ": echo " + larger(conn) +
				     " > /sys/module/rpcrdma/parameters/"
				     "window");
		const std::uint64_t regions =
			number_at(conn, "events", "no-region") -
			number_at(old, "events", "no-region");
		if (regions >= kSome)
			warn("load",
			     "the connection with " + peer + " is short of "
			     "memory regions, " + rate(regions) +
				     " times a second",
			     more_connections(conn, peer));
	}

	/* Each connection has regions of its own; callbacks of a server need none. */
	[[nodiscard]] std::string more_connections(const Json &conn,
						   const std::string &peer) const
	{
		for (const NfsMount &m : s_.mounts)
			if (m.peer == peer && text_of(conn, "role") == "client")
				return mount_again(
					m,
					"nconnect=" +
						std::to_string(std::min(
							2 * m.nconnect,
							kMostConnections)));
		return "mount its shares with nconnect=2, or more than now";
	}

	/* A window that lets this side send more; how large the peer's is now is not known. */
	static std::string larger(const Json &conn)
	{
		const std::uint64_t seen =
			number_at(conn, "credits", "available") +
			conn.value("calls-sent", 0U);
		unsigned window = 64;

		while (window <= seen && window < kLargestWindow)
			window *= 2;
		return std::to_string(window);
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

System read_system(const fs::path &root)
{
	const fs::path module = root / "sys/module/rpcrdma";
	std::ifstream mountinfo(root / "proc/self/mountinfo");
	std::ifstream mountstats(root / "proc/self/mountstats");
	std::ifstream fstab(root / "etc/fstab"), again(root / "etc/fstab");
	std::ifstream portlist(root / "proc/fs/nfsd/portlist");
	std::error_code ignored;
	System s;

	s.loaded = fs::exists(module, ignored);
	s.taint = first_line(module / "taint");
	s.release = first_line(root / "proc/sys/kernel/osrelease");
	s.modules = read_modules(root / "lib/modules" / s.release);
	s.secure = read_secure(root);
	s.adapter = read_adapter(root);
	s.memlock = read_memlock(root);
	s.interface = read_interface(root);
	s.ports = read_ports(root);
	s.mounts = read_mounts(mountinfo, mountstats, fstab);
	s.wishes = read_wishes(again);
	s.nfsd = number_in(root / "proc/fs/nfsd/threads");
	for (std::string line; std::getline(portlist, line);)
		s.portlist.push_back(line);
	s.resent = read_resent(root);
	s.auth = first_line(root / "proc/sys/net/rpcrdma/auth_last_failure");
	return s;
}

Counters read_resent(const fs::path &root)
{
	/* Words of rxe, then of hardware. */
	static const char *const kWords[] = {
		"completer_retry_err", "rcvd_seq_err",
		"out_of_seq_request",  "retry_exceeded_err",
		"packet_seq_err",      "local_ack_timeout_err",
		"out_of_sequence",     "implied_nak_seq_err",
	};
	const fs::path devices = root / "sys/class/infiniband";
	Counters found;

	for (const std::string &device : names_in(devices))
		for (const std::string &port :
		     names_in(devices / device / "ports"))
			for (const char *word : kWords) {
				const std::string line = first_line(
					devices / device / "ports" / port /
					"hw_counters" / word);
				std::uint64_t value = 0;
				if (std::istringstream(line) >> value)
					found[device + "/" + port + " " +
					      word] = value;
			}
	return found;
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
		m.source = unescaped(source);
		m.asked = option(options, "proto");
		m.vers = option(options, "vers");
		m.server = option(options, "addr");
		m.port_given = option(options, "port");
		m.port = port_in(options);
		std::istringstream(option(options, "nconnect")) >> m.nconnect;
		for (const Wish &wish : asks)
			if (wish.point == m.point)
				m.wanted = wish.protocol;
		if (used.contains(m.point))
			m.used = used.at(m.point);
		/* "rdma6" is the same over IPv6. */
		if (m.asked == "rdma6")
			m.asked = "rdma";
		if (!m.server.empty())
			m.peer = (m.server.find(':') == std::string::npos ?
					  m.server :
					  "[" + m.server + "]") +
				 ":" + std::to_string(m.port);
		mounts.push_back(m);
	}
	return mounts;
}

std::vector<Target> read_wishes(std::istream &fstab)
{
	std::vector<Target> found;

	for (const Wish &wish : wanted(fstab))
		if (wish.protocol == "rdma")
			found.push_back({ server_of(wish.source), wish.port,
					  wish.point, false });
	return found;
}

std::vector<Target> targets(const System &system, const std::string &asked)
{
	std::vector<Target> found;
	const auto add = [&](const Target &target) {
		const auto same = std::ranges::find_if(
			found, [&](const Target &other) {
				return other.server == target.server &&
				       other.port == target.port;
			});
		if (same == found.end())
			found.push_back(target);
		else if (same->point.empty())
			*same = target;
	};
	const auto active = [](const RdmaPort &port) {
		return port.state == "ACTIVE";
	};

	if (std::ranges::none_of(system.ports, active))
		return found;
	if (!asked.empty())
		add(target_of(asked));
	for (const NfsMount &m : system.mounts) {
		const auto connected = [&](const Json &conn) {
			return text_of(conn, "role") == "client" &&
			       text_of(conn, "peer-address") == m.peer &&
			       conn.value("version", 0U);
		};
		if (m.asked == "rdma" && !m.server.empty() && system.ours &&
		    std::ranges::none_of(system.status.connections, connected))
			add({ m.server, m.port, m.point, true });
	}
	for (const Target &wish : system.wishes) {
		const auto mounted = [&](const NfsMount &m) {
			return m.point == wish.point;
		};
		if (std::ranges::none_of(system.mounts, mounted))
			add(wish);
	}
	return found;
}

std::map<std::string, unsigned> largest_packets(const System &system)
{
	std::map<std::string, unsigned> found;

	for (const RdmaPort &p : system.ports)
		for (unsigned size = 4096; size >= 256 && p.mtu; size /= 2)
			if (size + kRoceReserve <= p.mtu) {
				found[p.interface] = size + kRoceHeaders;
				break;
			}
	return found;
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
		out << name_of(f.verdict) << " " << f.check << ": "
		    << in_one_line(f.what) << "\n";
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
