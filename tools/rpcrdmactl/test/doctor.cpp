// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "doctor.h"

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>

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
	"192.0.2.1:/e /mnt\\040one nfs4 rdma 0 0\n";

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
	s.taint = "O";
	s.ports = { { "mlx5_0", 1, "ACTIVE", "eth0", 9000, false } };
	m.point = "/mnt";
	m.asked = "rdma";
	m.used = { "rdma" };
	m.peer = "192.0.2.1:20049";
	s.mounts = { m };
	s.nfsd = true;
	s.portlist = { "tcp 2049", "rdma 20049" };
	s.status.module = { { "version", "0.1.0" } };
	s.status.devices = { { { "name", "mlx5_0" } } };
	s.status.listeners = { { { "address", "0.0.0.0:20049" },
				 { "listening", true } } };
	s.status.connections = { { { "role", "client" },
				   { "peer-address", "192.0.2.1:20049" },
				   { "version", 2 },
				   { "choice", "best" } } };
	return s;
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

} // namespace

TEST(doctor, all_is_well)
{
	const auto findings = examine(healthy());

	EXPECT_EQ(worst(findings), Verdict::Ok);
	EXPECT_EQ(findings_text(findings),
		  "ok module: rpcrdma 0.1.0 is loaded\n"
		  "ok device: mlx5_0/1 on eth0 is ACTIVE\n"
		  "ok server: nfsd listens on RDMA at 0.0.0.0:20049\n"
		  "ok mount: /mnt speaks version 2\n");
}

TEST(doctor, module)
{
	System s = healthy();

	s.taint = "OE";
	expect(s, Verdict::Warn,
	       "module: the module is not signed; Secure Boot does not allow "
	       "that");
	/* What the other one carries cannot be said. */
	s = healthy();
	s.ours = false;
	s.nfsd = false;
	s.status = {};
	expect(s, Verdict::Fail,
	       "module: another module rpcrdma is loaded, the kernel's own or an "
	       "older one");
	s.loaded = false;
	s.mounts.clear();
	expect(s, Verdict::Fail, "module: no module rpcrdma is loaded");
}

TEST(doctor, device)
{
	System s = healthy();

	s.ports.clear();
	expect(s, Verdict::Fail, "device: there is no RDMA device");
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
	       "device: mlx5_0 cannot serve as a server: no RDMA Reads");
	/* InfiniBand has no interface, and no MTU of one. */
	s = healthy();
	s.ports[0].interface = "";
	s.ports[0].mtu = 0;
	EXPECT_EQ(worst(examine(s)), Verdict::Ok);
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
	       "server: nfsd listens on RDMA by another module");
	s = healthy();
	s.status.listeners[0]["listening"] = false;
	expect(s, Verdict::Fail,
	       "server: nfsd cannot listen at 0.0.0.0:20049: no RDMA device has "
	       "that address");
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
	EXPECT_EQ(all[1].asked, "tcp");
	EXPECT_EQ(all[1].wanted, "rdma");
	EXPECT_EQ(all[1].used, std::set<std::string>({ "tcp" }));
	EXPECT_EQ(all[2].asked, "rdma");
	EXPECT_EQ(all[2].wanted, "");
	EXPECT_EQ(all[2].peer, "[2001:db8::1]:20050");
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
	put("proc/self/mountinfo", kMountinfo);
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
	fs::remove_all(root);
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
