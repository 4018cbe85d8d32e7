// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "doctor.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

#include "data.h"
#include "tree.h"

namespace rpcrdmactl
{

namespace
{

constexpr const char *kMountinfo =
	"22 1 0:20 / / rw - ext4 /dev/sda1 rw\n"
	"30 22 0:50 / /mnt\\040one rw shared:9 - nfs4 192.0.2.1:/e "
	"rw,vers=4.2,proto=rdma,port=20049,addr=192.0.2.1\n"
	"31 22 0:51 / /mnt/two rw - nfs 192.0.2.1:/e "
	"rw,vers=3,proto=tcp,addr=192.0.2.1\n"
	"32 22 0:52 / /mnt/six rw - nfs4 [2001:db8::1]:/e "
	"rw,vers=4.2,proto=rdma6,port=20050,addr=2001:db8::1\n";
constexpr const char *kMountstats =
	"device 192.0.2.1:/e mounted on /mnt\\040one with fstype nfs4 "
	"statvers=1.1\n\topts:\trw\n\txprt:\trdma 0 0 1\n\txprt:\trdma 0 0 1\n"
	"device 192.0.2.1:/e mounted on /mnt/two with fstype nfs statvers=1.1\n"
	"\txprt:\ttcp 0 0 1\n"
	"device proc mounted on /proc with fstype proc\n";
constexpr const char *kFstab =
	"# 192.0.2.1:/e /mnt/six nfs proto=tcp\n"
	"192.0.2.1:/e /mnt/two nfs noauto,proto=rdma,port=20049 0 0\n"
	"192.0.2.1:/e /mnt\\040one nfs4 rdma 0 0\n"
	"[2001:db8::1]:/e /mnt/later nfs proto=rdma6,port=20050 0 0\n";

std::vector<NfsMount> mounts()
{
	std::istringstream mountinfo(kMountinfo), mountstats(kMountstats),
		fstab(kFstab);

	return read_mounts(mountinfo, mountstats, fstab);
}

/* A server that is its own client, and all is well. */
System healthy()
{
	System s;
	NfsMount m;

	s.loaded = true;
	s.ours = true;
	s.taint = "OE";
	s.release = "6.12.0";
	s.modules = { { "rpcrdma", "updates/rpcrdma.ko" },
		      { "rdma_rxe", "kernel/drivers/rdma_rxe.ko" },
		      { "ib_core", "kernel/drivers/ib_core.ko" } };
	s.interface = "eth0";
	s.ports = { { "mlx5_0", 1, "ACTIVE", "eth0", 9000, false } };
	m.point = "/mnt";
	m.source = "server:/e";
	m.server = "192.0.2.1";
	m.vers = "4.2";
	m.asked = "rdma";
	m.used = { "rdma" };
	m.peer = "192.0.2.1:20049";
	s.mounts = { m };
	s.nfsd = true;
	s.portlist = { "tcp 2049", "rdma 20049" };
	s.status.module = { { "version", "0.1.0" } };
	s.status.devices = { { { "name", "mlx5_0" }, { "version1", true } } };
	s.memlock = 8 << 20;
	s.status.listeners = { { { "address", "0.0.0.0:20049" },
				 { "listening", true } } };
	s.status.connections = { { { "role", "client" },
				   { "peer-address", "192.0.2.1:20049" },
				   { "version", 2 },
				   { "choice", "best" } } };
	return s;
}

/* A server that was tried, and answers. */
Reach reached()
{
	Reach r;

	r.target = { "server", 20049, "", false };
	r.address = "192.0.2.1";
	r.peer = "192.0.2.1:20049";
	r.interface = "eth0";
	r.rdma = Answer::Yes;
	r.ping = Answer::Yes;
	r.whole = Answer::Yes;
	r.octets = 4156;
	r.told = true;
	r.version2 = true;
	return r;
}

/* The one finding that is not ok. */
Finding only(const System &system)
{
	Finding bad;
	unsigned count = 0;

	for (const Finding &f : examine(system)) {
		EXPECT_EQ(f.mend.empty(), f.verdict == Verdict::Ok) << f.what;
		if (f.verdict != Verdict::Ok) {
			bad = f;
			count++;
		}
	}
	EXPECT_EQ(count, 1U) << findings_text(examine(system));
	return bad;
}

void expect(const System &system, Verdict verdict, const std::string &what)
{
	const Finding bad = only(system);

	EXPECT_EQ(bad.verdict, verdict) << bad.what;
	EXPECT_EQ(bad.check + ": " + bad.what, what);
}

/* The same, and what mends it. */
void expect(const System &system, Verdict verdict, const std::string &what,
	    const std::string &mend)
{
	expect(system, verdict, what);
	EXPECT_EQ(only(system).mend, mend);
}

/* One that was tried. */
void expect(const Reach &reach, const std::string &what,
	    const std::string &mend)
{
	System s = healthy();

	s.reaches = { reach };
	expect(s, Verdict::Fail, "network: " + what, mend);
}

/* What a command prints that somebody types in a directory. */
std::string printed_by(const test::Tree &tree, const std::string &command)
{
	tree.put("command", command + " > printed\n");
	EXPECT_EQ(
		std::system(("cd " + tree.root().string() + " && bash command")
				    .c_str()),
		0)
		<< command;
	return test::file(tree.root() / "printed");
}

} // namespace

TEST(doctor, all_is_well)
{
	const auto findings = examine(healthy());

	EXPECT_EQ(worst(findings), Verdict::Ok);
	EXPECT_EQ(findings_text(findings),
		  "ok module: rpcrdma 0.1.0 is loaded\n"
		  "ok device: mlx5_0/1 on eth0 is ACTIVE\n"
		  "ok device: mlx5_0 can carry connections of clients and "
		  "servers\n"
		  "ok server: nfsd listens on RDMA at 0.0.0.0:20049\n"
		  "ok mount: /mnt speaks version 2\n");
}

TEST(doctor, module)
{
	System s = healthy();

	s.secure = true;
	expect(s, Verdict::Warn,
	       "module: the module is not signed; Secure Boot does not allow "
	       "that",
	       "mokutil --import /var/lib/dkms/mok.pub && reboot");
	s.taint = "O";
	EXPECT_EQ(worst(examine(s)), Verdict::Ok);
	/* What the other one carries cannot be said. */
	s = healthy();
	s.ours = false;
	s.nfsd = false;
	s.status = {};
	expect(s, Verdict::Fail,
	       "module: another module rpcrdma is loaded, the kernel's own or an "
	       "older one",
	       "modprobe -r rpcrdma && modprobe rpcrdma");
	s.loaded = false;
	s.mounts.clear();
	expect(s, Verdict::Fail, "module: no module rpcrdma is loaded",
	       "modprobe rpcrdma");
	s.secure = true;
	expect(s, Verdict::Fail, "module: no module rpcrdma is loaded");
	s.unsigned_file = true;
	expect(s, Verdict::Fail,
	       "module: the module has no signature, and Secure Boot is on");
	/* What the kernel has is found first, or nothing at all is there. */
	s.modules["rpcrdma"] = "kernel/net/sunrpc/rpcrdma.ko";
	expect(s, Verdict::Fail,
	       "module: this module is not installed for the kernel 6.12.0");
	s.loaded = true;
	s.modules.erase("rpcrdma");
	expect(s, Verdict::Fail,
	       "module: this module is not installed for the kernel 6.12.0");
	/* Nobody knows which there are. */
	s.modules.clear();
	expect(s, Verdict::Fail,
	       "module: another module rpcrdma is loaded, the kernel's own or an "
	       "older one");
}

TEST(doctor, vendors_ib_core)
{
	System s = healthy();

	s.modules["ib_core"] = "extra/mlnx/ib_core.ko";
	EXPECT_EQ(worst(examine(s)), Verdict::Ok);
	s.ours = s.loaded = s.nfsd = false;
	s.status = {};
	s.mounts.clear();
	const auto findings = examine(s);
	ASSERT_GE(findings.size(), 2U);
	EXPECT_EQ(findings[0].what, "no module rpcrdma is loaded");
	EXPECT_EQ(findings[1].what,
		  "ib_core is not the kernel's own: it is extra/mlnx/ib_core.ko");
}

TEST(doctor, device)
{
	System s = healthy();

	s.ports.clear();
	expect(s, Verdict::Fail, "device: there is no RDMA device",
	       "rdma link add rxe0 type rxe netdev eth0");
	s.adapter = true;
	expect(s, Verdict::Fail, "device: there is no RDMA device",
	       "udevadm trigger --action=add, or: rdma link add rxe0 type rxe "
	       "netdev eth0");
	s.adapter = false;
	s.modules.erase("rdma_rxe");
	expect(s, Verdict::Fail,
	       "device: there is no RDMA adapter, and the kernel has no module "
	       "rdma_rxe");
	s = healthy();
	s.ports[0].state = "DOWN";
	expect(s, Verdict::Fail, "device: mlx5_0/1 on eth0 is DOWN");
	EXPECT_EQ(only(s).mend, "ip link set eth0 up");
	s = healthy();
	s.ports[0].mtu = 1500;
	expect(s, Verdict::Warn,
	       "device: mlx5_0/1 on eth0 has an MTU of 1500, which makes its "
	       "packets small");
	s = healthy();
	s.status.devices[0]["server-unfit"] = "no RDMA Reads";
	expect(s, Verdict::Warn,
	       "device: mlx5_0 cannot serve as a server: no RDMA Reads",
	       "use another device for that: rpcrdmactl show devices");
	EXPECT_NE(findings_text(examine(s)).find(
			  "ok device: mlx5_0 can carry connections of clients\n"),
		  std::string::npos);
	s = healthy();
	s.status.devices[0]["version1"] = false;
	EXPECT_NE(findings_text(examine(s)).find(
			  "connections of clients (version 2 alone) and servers\n"),
		  std::string::npos);
	/* InfiniBand has no interface, and no MTU of one. */
	s = healthy();
	s.ports[0].interface = "";
	s.ports[0].mtu = 0;
	EXPECT_EQ(worst(examine(s)), Verdict::Ok);
}

/* InfiniBand: what has no cable, and what nobody has given a number. */
TEST(doctor, port_of_infiniband)
{
	System s = healthy();

	s.ports[0].interface = "";
	s.ports[0].state = "INIT";
	expect(s, Verdict::Fail, "device: mlx5_0/1 is INIT",
	       "at one machine of the network: apt-get install opensm");
	s.ports[0].state = "DOWN";
	expect(s, Verdict::Fail, "device: mlx5_0/1 is DOWN",
	       "check the cable and the switch, then: ibstat mlx5_0");
}

/* Unknown, or without a limit, is no fault. */
TEST(doctor, memlock)
{
	System s = healthy();

	for (const std::uint64_t octets : { 0, 1 << 20 }) {
		s.memlock = octets;
		EXPECT_EQ(worst(examine(s)), Verdict::Ok) << octets;
	}
	s.memlock = 65536;
	expect(s, Verdict::Warn,
	       "device: a program may lock no more than 65536 octets of memory: "
	       "those that use RDMA themselves fail, but not NFS",
	       "echo '* - memlock unlimited' > "
	       "/etc/security/limits.d/rdma.conf; then log in again");
}

TEST(doctor, server)
{
	System s = healthy();

	s.portlist = { "tcp 2049" };
	s.status.listeners.clear();
	expect(s, Verdict::Warn,
	       "server: nfsd runs and does not listen on RDMA");
	s.nfsd = false;
	EXPECT_EQ(worst(examine(s)), Verdict::Ok);
	s = healthy();
	s.status.listeners.clear();
	expect(s, Verdict::Fail,
	       "server: nfsd listens on RDMA by another module",
	       "systemctl stop nfs-server && modprobe -r rpcrdma && modprobe "
	       "rpcrdma && systemctl start nfs-server");
	s = healthy();
	s.status.listeners[0]["listening"] = false;
	expect(s, Verdict::Fail,
	       "server: nfsd cannot listen at 0.0.0.0:20049: no RDMA device has "
	       "that address",
	       "rdma link add rxe0 type rxe netdev eth0");
	s.status.listeners[0]["address"] = "[2001:db8::9]:20049";
	expect(s, Verdict::Fail,
	       "server: nfsd cannot listen at [2001:db8::9]:20049: no RDMA "
	       "device has that address",
	       "ip address add 2001:db8::9 dev eth0");
}

TEST(doctor, mount)
{
	System s = healthy();

	s.mounts[0].used = { "rdma", "tcp" };
	expect(s, Verdict::Fail,
	       "mount: /mnt has fallen back from RDMA to tcp");
	s = healthy();
	s.mounts[0].asked = "tcp";
	s.mounts[0].wanted = "rdma";
	expect(s, Verdict::Fail,
	       "mount: /mnt uses tcp, and /etc/fstab asks for RDMA");
	s.mounts[0].wanted = "";
	EXPECT_EQ(worst(examine(s)), Verdict::Ok);
	s = healthy();
	s.status.connections[0]["role"] = "server";
	expect(s, Verdict::Warn,
	       "mount: /mnt has no connection at the moment");
	/* An idle one has none. */
	s.reaches = { reached() };
	EXPECT_EQ(worst(examine(s)), Verdict::Ok);
	s.reaches[0].rdma = Answer::Refused;
	s.reaches[0].tcp = Answer::Yes;
	expect(s, Verdict::Fail,
	       "network: nobody listens on RDMA at 192.0.2.1:20049");
}

/* Who asks for RDMA's port got the connection of another mount. */
TEST(doctor, fallen_back)
{
	System s = healthy();
	NfsMount other = s.mounts[0];

	s.status.connections.clear();
	other.point = "/mnt/by tcp";
	other.asked = "tcp";
	other.used = { "tcp" };
	s.mounts[0].asked = "tcp";
	s.mounts[0].used = { "tcp" };
	s.mounts.push_back(other);
	EXPECT_EQ(worst(examine(s)), Verdict::Ok);
	s.mounts[0].port_given = "20049";
	expect(s, Verdict::Fail, "mount: /mnt has fallen back from RDMA to tcp",
	       "umount '/mnt/by tcp' /mnt && mount -o "
	       "vers=4.2,proto=rdma,port=20049 server:/e /mnt");
	s.mounts[0].port_given = "";
	s.mounts[0].wanted = "rdma";
	expect(s, Verdict::Fail,
	       "mount: /mnt uses tcp, and /etc/fstab asks for RDMA",
	       "umount '/mnt/by tcp' /mnt && mount /mnt");
	/* One of version 3 does not share, and another server has its own. */
	s.mounts[1].vers = "3";
	expect(s, Verdict::Fail,
	       "mount: /mnt uses tcp, and /etc/fstab asks for RDMA",
	       "umount /mnt && mount /mnt");
	s.mounts[1].vers = "4.2";
	s.mounts[1].server = "192.0.2.9";
	expect(s, Verdict::Fail,
	       "mount: /mnt uses tcp, and /etc/fstab asks for RDMA",
	       "umount /mnt && mount /mnt");
}

TEST(doctor, reaches)
{
	System s = healthy();
	Reach r = reached();

	s.reaches = { r };
	EXPECT_NE(findings_text(examine(s)).find(
			  "ok network: 192.0.2.1:20049 answers by RDMA\n"),
		  std::string::npos);
	s.reaches[0].version2 = false;
	EXPECT_NE(findings_text(examine(s)).find(
			  "answers by RDMA, and does not say that it speaks "
			  "version 2\n"),
		  std::string::npos);
	EXPECT_EQ(worst(examine(s)), Verdict::Ok);

	r.whole = Answer::Silent;
	expect(r, "packets of 4156 octets do not get through to server",
	       "ip link set eth0 mtu 1500");
	/* Nothing is known of packets if no echo comes. */
	s.reaches = { r };
	s.reaches[0].ping = Answer::Silent;
	EXPECT_EQ(worst(examine(s)), Verdict::Ok);

	r = reached();
	r.rdma = Answer::NoDevice;
	r.interface = "eth1";
	expect(r, "no RDMA device is on eth1, which leads to server",
	       "rdma link add rxe0 type rxe netdev eth1");
	/* There is one, and programs cannot use it. */
	r.interface = "eth0";
	s.reaches = { r };
	expect(s, Verdict::Warn,
	       "network: RDMA cannot be tried, since programs have no access "
	       "to it",
	       "modprobe -a ib_uverbs rdma_ucm");
	r.rdma = Answer::NoWay;
	r.why = "No route to host";
	expect(r, "there is no way to server: No route to host",
	       "ip route get 192.0.2.1");
	r.rdma = Answer::NotAsked;
	r.address = "";
	expect(r, "the name server has no address", "getent hosts server");
}

TEST(doctor, nobody_listens)
{
	Reach r = reached();

	r.rdma = Answer::Refused;
	r.tcp = Answer::Yes;
	expect(r, "nobody listens on RDMA at 192.0.2.1:20049",
	       "at the server: echo rdma 20049 > /proc/fs/nfsd/portlist");
	r.tcp = Answer::Refused;
	expect(r, "nfsd does not run at server",
	       "at the server: systemctl start nfs-server");
	r.target.port = 20050;
	r.peer = "192.0.2.1:20050";
	r.usual = Answer::Yes;
	expect(r,
	       "nobody listens on RDMA at 192.0.2.1:20050, but at port 20049",
	       "rpcrdmactl doctor server");
	r.target.point = "/mnt/later";
	const std::string correct =
		"sed -i '\\|[[:space:]]/mnt/later[[:space:]]|"
		"s/\\bport=20050\\b/port=20049/' /etc/fstab && ";
	expect(r,
	       "nobody listens on RDMA at 192.0.2.1:20050, but at port 20049",
	       correct + "mount /mnt/later");
	/* It is mounted by hand. */
	r.target.point = "/mnt";
	expect(r,
	       "nobody listens on RDMA at 192.0.2.1:20050, but at port 20049",
	       "umount /mnt && mount -o vers=4.2,proto=rdma,port=20049 "
	       "server:/e /mnt");
}

/* Its line of /etc/fstab alone is found, whatever its name is for the shell and for sed. */
TEST(doctor, odd_names_in_fstab)
{
	for (const std::string name :
	     { "a b", "it's", "'; touch owned; '", "a|b", "a.*[b]^$c", "a\\b",
	       "a\tb\nc", "a\033b", "\"$(touch owned)`touch owned`" }) {
		const test::Tree tree;
		System s = healthy();
		Reach r = reached();
		const std::string point = "/" + name;
		std::string escaped;

		for (const char c : point)
			escaped += c == ' '  ? "\\040" :
				   c == '\t' ? "\\011" :
				   c == '\n' ? "\\012" :
				   c == '\\' ? "\\134" :
					       std::string(1, c);
		const std::string line = "server:/e " + escaped +
					 " nfs mountport=20050,port=";
		const std::string other = "server:/f /aXXb nfs port=20050\n";
		tree.put("fstab", line + "20050\n" + other);
		r.rdma = Answer::Refused;
		r.usual = Answer::Yes;
		r.target.port = 20050;
		r.target.point = point;
		s.mounts.clear();
		s.reaches = { r };
		const std::string mend = only(s).mend;
		const std::string file = " /etc/fstab && mount ";
		const std::size_t at = mend.find(file);
		ASSERT_NE(at, std::string::npos) << mend;
		EXPECT_EQ(
			printed_by(tree, mend.substr(0, at) +
						 " fstab && printf %s " +
						 mend.substr(at + file.size())),
			point);
		EXPECT_EQ(test::file(tree.root() / "fstab"),
			  line + "20049\n" + other);
		EXPECT_FALSE(std::filesystem::exists(tree.root() / "owned"));
	}
}

/* No name ends a command, or begins another one. */
TEST(doctor, odd_names_in_commands)
{
	Reach r = reached();

	r.rdma = Answer::NotAsked;
	r.address = "";
	r.target.server = "a;b";
	expect(r, "the name a;b has no address", "getent hosts 'a;b'");
	r = reached();
	r.rdma = Answer::NoDevice;
	r.interface = "et'h";
	expect(r, "no RDMA device is on et'h, which leads to server",
	       "rdma link add rxe0 type rxe netdev 'et'\\''h'");
	System s = healthy();
	s.auth = "client 192.0.2.1 proof a&b 5";
	expect(s, Verdict::Warn,
	       "network: the key a&b of host authentication is not the same "
	       "here and at the client 192.0.2.1",
	       "here and at 192.0.2.1: keyctl padd logon 'rpcrdma:a&b' "
	       "%keyring:.rpcrdma < FILE");
	/* Nor does what is wrong look like a line of its own. */
	s = healthy();
	s.mounts[0].point = "/a\n  b";
	s.mounts[0].used = { "tcp" };
	EXPECT_NE(
		findings_text(examine(s))
			.find("fail mount: /a?  b has fallen back from RDMA to "
			      "tcp\n  umount $'/a\\012  b' && mount -o "),
		std::string::npos)
		<< findings_text(examine(s));
}

TEST(doctor, silent_servers)
{
	Reach r = reached();

	r.rdma = r.tcp = r.ping = r.udp = Answer::Silent;
	expect(r, "server answers neither by RDMA, nor by TCP, nor an echo",
	       "ping 192.0.2.1");
	for (const auto &[tcp, ping] :
	     { std::pair{ Answer::Yes, Answer::Silent },
	       std::pair{ Answer::Refused, Answer::Silent },
	       std::pair{ Answer::Silent, Answer::Yes } }) {
		r.tcp = tcp;
		r.ping = ping;
		expect(r,
		       "server is there, and does not answer by RDMA: a "
		       "firewall drops UDP port 4791",
		       "at the server: rpcrdmactl doctor");
	}
	r.iwarp = true;
	expect(r,
	       "server is there, and does not answer by RDMA: a firewall drops "
	       "TCP port 20049",
	       "at the server: rpcrdmactl doctor");
	r.iwarp = false;
	r.udp = Answer::Refused;
	expect(r,
	       "server refuses UDP port 4791: it has no RDMA device, or a "
	       "firewall refuses",
	       "at the server: rpcrdmactl doctor");
}

TEST(doctor, rules)
{
	System s = healthy();

	s.rules = Json::parse(R"({"nftables": [
		{"chain": {"family": "ip", "table": "t", "name": "c",
			   "type": "filter", "hook": "input",
			   "policy": "drop"}}]})");
	/* Hardware does not pass them. */
	EXPECT_EQ(worst(examine(s)), Verdict::Ok);
	s.ports[0].soft = true;
	expect(s, Verdict::Fail,
	       "network: rules of this machine drop udp port 4791, which RDMA "
	       "needs: table ip t, chain c",
	       "nft insert rule ip t c udp dport 4791 accept");
	s.status.devices[0]["iwarp"] = true;
	expect(s, Verdict::Fail,
	       "network: rules of this machine drop tcp port 20049, which RDMA "
	       "needs: table ip t, chain c",
	       "nft insert rule ip t c tcp dport 20049 accept");
	/* Who only calls needs no open port of TCP. */
	s.status.listeners.clear();
	s.nfsd = false;
	EXPECT_EQ(worst(examine(s)), Verdict::Ok);
}

TEST(doctor, rules_of_ipv6)
{
	System s = healthy();

	s.rules = Json::parse(R"({"nftables": [
		{"chain": {"family": "ip6", "table": "t", "name": "c",
			   "type": "filter", "hook": "input",
			   "policy": "drop"}}]})");
	s.ports[0].soft = true;
	expect(s, Verdict::Warn,
	       "network: rules of this machine drop udp port 4791 over IPv6: "
	       "clients cannot come by it: table ip6 t, chain c",
	       "nft insert rule ip6 t c udp dport 4791 accept");
	/* Who only calls, and calls by IPv4. */
	s.status.listeners.clear();
	s.nfsd = false;
	EXPECT_EQ(worst(examine(s)), Verdict::Ok);
	s.reaches = { reached() };
	s.reaches[0].address = "2001:db8::1";
	expect(s, Verdict::Fail,
	       "network: rules of this machine drop udp port 4791 over IPv6, "
	       "which RDMA needs: table ip6 t, chain c",
	       "nft insert rule ip6 t c udp dport 4791 accept");
}

/* Between two looks, which are two seconds apart. */
TEST(doctor, load)
{
	System s = healthy();
	Json &conn = s.status.connections[0];

	conn["id"] = 7;
	conn["calls-sent"] = 2;
	conn["credits"] = { { "available", 1 }, { "sent", 95 },
			    { "waits", 4 } };
	conn["events"] = { { "no-region", 0 } };
	s.before = s.status;
	s.seconds = 2;
	EXPECT_EQ(worst(examine(s)), Verdict::Ok);
	/* Nine may be chance, ten of two hundred are not. */
	conn["credits"]["sent"] = 295;
	conn["credits"]["waits"] = 13;
	EXPECT_EQ(worst(examine(s)), Verdict::Ok);
	conn["credits"]["waits"] = 14;
	expect(s, Verdict::Warn,
	       "load: the connection with 192.0.2.1:20049 waits for credit, 5 "
	       "times a second",
	       "at 192.0.2.1:20049: echo 64 > "
	       "/sys/module/rpcrdma/parameters/window");
	conn["credits"]["available"] = 62;
	EXPECT_EQ(only(s).mend, "at 192.0.2.1:20049: echo 128 > "
				"/sys/module/rpcrdma/parameters/window");
	conn["credits"]["sent"] = 296;
	EXPECT_EQ(worst(examine(s)), Verdict::Ok);
	conn["events"]["no-region"] = 10;
	expect(s, Verdict::Warn,
	       "load: the connection with 192.0.2.1:20049 is short of memory "
	       "regions, 5 times a second",
	       "umount /mnt && mount -o vers=4.2,proto=rdma,port=20049,"
	       "nconnect=2 server:/e /mnt");
	s.mounts[0].wanted = "rdma";
	s.mounts[0].nconnect = 12;
	EXPECT_EQ(only(s).mend, "umount /mnt && mount -o nconnect=16 /mnt");
	s.mounts.clear();
	EXPECT_EQ(only(s).mend,
		  "mount its shares with nconnect=2, or more than now");
	/* Another one: nothing is known of before. */
	conn["id"] = 8;
	EXPECT_EQ(worst(examine(s)), Verdict::Ok);
}

TEST(doctor, packets_again)
{
	System s = healthy();

	s.seconds = 1;
	s.resent_before = { { "mlx5_0/1 packet_seq_err", 5 },
			    { "mlx5_0/1 out_of_sequence", 100 },
			    { "mlx5_1/1 out_of_sequence", 0 } };
	s.resent = { { "mlx5_0/1 packet_seq_err", 14 },
		     { "mlx5_0/1 out_of_sequence", 100 },
		     { "mlx5_1/1 out_of_sequence", 50 } };
	EXPECT_EQ(worst(examine(s)), Verdict::Ok);
	s.resent["mlx5_0/1 out_of_sequence"] = 101;
	expect(s, Verdict::Warn,
	       "network: mlx5_0/1 sends packets again: 10 a second",
	       "ip -s -s link show eth0");
}

/* The lowest of its connections, and why. */
TEST(doctor, version)
{
	const std::pair<const char *, const char *> reasons[] = {
		{ "best", "this side may speak no higher one" },
		{ "silence", "the server has left version 2 unanswered" },
		{ "peer", "the server speaks no higher one" },
	};

	for (const auto &[choice, why] : reasons) {
		System s = healthy();
		Json other = s.status.connections[0];

		other["version"] = 1;
		other["choice"] = choice;
		s.status.connections.push_back(other);
		expect(s, Verdict::Warn,
		       std::string("mount: /mnt speaks version 1, since ") +
			       why);
	}
}

TEST(doctor, reads_mounts)
{
	const std::vector<NfsMount> all = mounts();

	ASSERT_EQ(all.size(), 3U);
	EXPECT_EQ(all[0].point, "/mnt one");
	EXPECT_EQ(all[0].asked, "rdma");
	EXPECT_EQ(all[0].wanted, "rdma");
	EXPECT_EQ(all[0].used, std::set<std::string>({ "rdma" }));
	EXPECT_EQ(all[0].peer, "192.0.2.1:20049");
	EXPECT_EQ(all[0].source, "192.0.2.1:/e");
	EXPECT_EQ(all[0].server, "192.0.2.1");
	EXPECT_EQ(all[0].vers, "4.2");
	EXPECT_EQ(all[1].port_given, "");
	EXPECT_EQ(all[2].port, 20050U);
	EXPECT_EQ(all[1].asked, "tcp");
	EXPECT_EQ(all[1].wanted, "rdma");
	EXPECT_EQ(all[1].used, std::set<std::string>({ "tcp" }));
	EXPECT_EQ(all[2].asked, "rdma");
	EXPECT_EQ(all[2].wanted, "");
	EXPECT_EQ(all[2].peer, "[2001:db8::1]:20050");
}

TEST(doctor, targets)
{
	System s = healthy();
	std::istringstream fstab(kFstab);

	/* It is connected. */
	EXPECT_TRUE(targets(s, "").empty());
	s.mounts[0].point = "/mnt one";
	s.wishes = read_wishes(fstab);
	ASSERT_EQ(s.wishes.size(), 3U);
	/* That of /mnt/two is tried, and that of /mnt/later. */
	auto found = targets(s, "");
	ASSERT_EQ(found.size(), 2U);
	EXPECT_EQ(found[0].server, "192.0.2.1");
	EXPECT_EQ(found[0].point, "/mnt/two");
	EXPECT_FALSE(found[0].mounted);
	EXPECT_EQ(found[1].server, "2001:db8::1");
	EXPECT_EQ(found[1].port, 20050U);
	/* Each once, and what is known of it is kept. */
	found = targets(s, "[2001:db8::1]:20050");
	ASSERT_EQ(found.size(), 2U);
	EXPECT_EQ(found[0].point, "/mnt/later");
	s.wishes.clear();
	s.status.connections.clear();
	found = targets(s, "");
	ASSERT_EQ(found.size(), 1U);
	EXPECT_EQ(found[0].point, "/mnt one");
	EXPECT_TRUE(found[0].mounted);
	/* No port, no attempt. */
	s.ports[0].state = "DOWN";
	EXPECT_TRUE(targets(s, "server").empty());
}

TEST(doctor, names_of_servers)
{
	const std::tuple<const char *, const char *, unsigned> names[] = {
		{ "server", "server", 20049 },
		{ "server:20050", "server", 20050 },
		{ "192.0.2.1:1", "192.0.2.1", 1 },
		{ "2001:db8::1", "2001:db8::1", 20049 },
		{ "[2001:db8::1]", "2001:db8::1", 20049 },
		{ "[2001:db8::1]:7", "2001:db8::1", 7 },
		{ "server:", "server", 0 },
		{ "server:x", "server", 0 },
		{ "server:70000", "server", 0 },
	};

	for (const auto &[text, server, port] : names) {
		EXPECT_EQ(target_of(text).server, server) << text;
		EXPECT_EQ(target_of(text).port, port) << text;
	}
}

TEST(doctor, largest_packets)
{
	System s = healthy();

	EXPECT_EQ(largest_packets(s).at("eth0"), 4156U);
	s.ports[0].mtu = 1500;
	EXPECT_EQ(largest_packets(s).at("eth0"), 1084U);
	s.ports[0].mtu = 0;
	EXPECT_TRUE(largest_packets(s).empty());
}

TEST(doctor, reads_the_system)
{
	namespace fs = std::filesystem;
	char path[] = "/tmp/rpcrdmactl-XXXXXX";
	ASSERT_TRUE(mkdtemp(path));
	const fs::path root(path);
	const auto put = [&](const char *name, const std::string &text) {
		fs::create_directories((root / name).parent_path());
		std::ofstream(root / name) << text;
	};

	EXPECT_FALSE(read_system(root).loaded);
	put("sys/module/rpcrdma/taint", "OE\n");
	put("sys/class/infiniband/rxe0/parent", "eth0\n");
	put("sys/class/infiniband/rxe0/ports/1/state", "4: ACTIVE\n");
	put("sys/class/infiniband/rxe0/ports/1/gid_attrs/ndevs/0", "eth0\n");
	put("sys/class/net/eth0/mtu", "1500\n");
	put("sys/class/net/eth0/flags", "0x1003\n");
	put("sys/class/net/eth0/type", "1\n");
	put("sys/class/net/down/flags", "0x1002\n");
	put("sys/class/net/down/type", "1\n");
	put("sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_seq_err",
	    "7\n");
	put("sys/class/infiniband/rxe0/ports/1/hw_counters/sent_pkts", "9\n");
	put("sys/bus/pci/devices/0000:00:1f.0/class", "0x010601\n");
	put("sys/kernel/security/lockdown",
	    "none [integrity] confidentiality\n");
	put("proc/sys/kernel/osrelease", "6.12.0\n");
	put("lib/modules/6.12.0/modules.dep",
	    "updates/net/rpcrdma.ko.xz: kernel/net/sunrpc.ko.xz\n"
	    "kernel/drivers/rdma-rxe.ko:\n");
	put("lib/modules/6.12.0/modules.builtin",
	    "kernel/drivers/infiniband/core/ib_core.ko\n");
	put("etc/fstab", kFstab);
	put("proc/self/mountinfo", kMountinfo);
	put("proc/self/limits",
	    "Limit                     Soft Limit           Hard Limit  Units\n"
	    "Max stack size            8388608              unlimited   bytes\n"
	    "Max locked memory         65536                8388608     bytes\n");
	put("proc/fs/nfsd/threads", "8\n");
	put("proc/fs/nfsd/portlist", "rdma 20049\ntcp 2049\n");

	const System s = read_system(root);
	EXPECT_TRUE(s.loaded);
	EXPECT_EQ(s.taint, "OE");
	ASSERT_EQ(s.ports.size(), 1U);
	EXPECT_EQ(s.ports[0].device, "rxe0");
	EXPECT_EQ(s.ports[0].number, 1U);
	EXPECT_EQ(s.ports[0].state, "ACTIVE");
	EXPECT_EQ(s.ports[0].interface, "eth0");
	EXPECT_EQ(s.ports[0].mtu, 1500U);
	EXPECT_TRUE(s.ports[0].soft);
	EXPECT_EQ(s.mounts.size(), 3U);
	EXPECT_TRUE(s.nfsd);
	EXPECT_EQ(s.portlist.size(), 2U);
	EXPECT_EQ(s.release, "6.12.0");
	EXPECT_EQ(s.modules.at("rpcrdma"), "updates/net/rpcrdma.ko.xz");
	EXPECT_EQ(s.modules.at("rdma_rxe"), "kernel/drivers/rdma-rxe.ko");
	EXPECT_EQ(s.modules.at("ib_core"),
		  "kernel/drivers/infiniband/core/ib_core.ko");
	EXPECT_TRUE(s.secure);
	EXPECT_FALSE(s.adapter);
	EXPECT_EQ(s.memlock, 65536U);
	EXPECT_EQ(s.interface, "eth0");
	EXPECT_EQ(s.wishes.size(), 3U);
	EXPECT_EQ(s.resent, Counters({ { "rxe0/1 rcvd_seq_err", 7 } }));

	put("sys/kernel/security/lockdown",
	    "[none] integrity confidentiality\n");
	EXPECT_FALSE(read_system(root).secure);
	put("sys/firmware/efi/efivars/"
	    "SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
	    std::string("\6\0\0\0\1", 5));
	EXPECT_TRUE(read_system(root).secure);
	put("sys/bus/pci/devices/0000:00:02.0/class", "0x020000\n");
	put("sys/bus/pci/devices/0000:00:02.0/vendor", "0x15b3\n");
	EXPECT_TRUE(read_system(root).adapter);
	put("proc/self/limits",
	    "Max locked memory         unlimited            unlimited   bytes\n");
	EXPECT_EQ(read_system(root).memlock, 0U);
	put("proc/net/route", "Iface Destination\ndown 00000000\n");
	EXPECT_EQ(read_system(root).interface, "down");
	fs::remove_all(root);
}

TEST(doctor, authentication)
{
	System s = healthy();
	const auto says = [&](const char *auth, const std::string &what,
			      const std::string &mend) {
		s.auth = auth;
		expect(s, Verdict::Warn, what);
		EXPECT_EQ(only(s).mend, mend);
	};
	const std::string put =
		"keyctl padd logon rpcrdma:one %keyring:.rpcrdma < FILE";

	for (const char *reason : { "proof", "unknown-key", "refused" })
		says((std::string("server 192.0.2.1 ") + reason + " one 7")
			     .c_str(),
		     "network: the key one of host authentication is not the "
		     "same here and at the server 192.0.2.1",
		     "here and at 192.0.2.1: " + put);
	says("client 192.0.2.1 missing none 600",
	     "network: host authentication of the client 192.0.2.1 failed: "
	     "missing",
	     "at 192.0.2.1: rpcrdmactl doctor");
	says("server 192.0.2.1 no-key one 0",
	     "network: host authentication of the server 192.0.2.1 failed: "
	     "no-key",
	     put);
	says("server 192.0.2.1 no-key none 0",
	     "network: host authentication of the server 192.0.2.1 failed: "
	     "no-key",
	     "sysctl -w net.rpcrdma.client_key=NAME");
	for (const char *none : { "", "server 192.0.2.1 proof one 601" }) {
		s.auth = none;
		for (const Finding &f : examine(s))
			EXPECT_EQ(f.verdict, Verdict::Ok) << f.what;
	}
}

TEST(doctor, json)
{
	System s = healthy();
	s.ports.clear();
	const Json all = findings_json(examine(s));

	EXPECT_EQ(all.at(0).at("verdict"), "ok");
	EXPECT_FALSE(all.at(0).contains("mend"));
	EXPECT_EQ(all.at(1).at("verdict"), "fail");
	EXPECT_EQ(all.at(1).at("check"), "device");
	EXPECT_TRUE(all.at(1).contains("mend"));
}

} // namespace rpcrdmactl
