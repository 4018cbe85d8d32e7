// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "capture.h"

#include <cstdlib>
#include <gtest/gtest.h>
#include <pcap.h>
#include <unistd.h>

namespace rpcrdmactl
{

namespace
{

constexpr std::uint8_t kFirst = 0x00;
constexpr std::uint8_t kMiddle = 0x01;
constexpr std::uint8_t kLast = 0x02;
constexpr std::uint8_t kOnly = 0x04;
constexpr std::uint8_t kOnlyInvalidate = 0x17;
constexpr std::uint8_t kWriteOnly = 0x0a;

void put(Octets &to, std::uint32_t value, int octets)
{
	while (octets--)
		to.push_back(static_cast<std::uint8_t>(value >> 8 * octets));
}

void put(Octets &to, const Octets &more)
{
	to.insert(to.end(), more.begin(), more.end());
}

/* What InfiniBand's transport makes of it, whatever carries that. */
Octets transport(std::uint8_t opcode, std::uint32_t psn, Octets data)
{
	Octets p;
	const std::size_t pad = (4 - data.size() % 4) % 4;

	data.resize(data.size() + pad);
	if (opcode == kOnlyInvalidate)
		data.insert(data.begin(), 4, 0xee);
	put(p, opcode, 1);
	put(p, static_cast<std::uint32_t>(pad << 4), 1);
	put(p, 0xffff, 2);
	put(p, 0x11, 4);
	put(p, psn, 4);
	put(p, data);
	put(p, 0x1c2c3c4c, 4);
	return p;
}

/* A packet of RoCE version 2 from 192.0.2.1 to 192.0.2.2. */
Octets packet(std::uint8_t opcode, std::uint32_t psn, const Octets &data,
	      bool vlan = false)
{
	Octets p(12);
	const Octets inner = transport(opcode, psn, data);

	if (vlan) {
		put(p, 0x8100, 2);
		put(p, 7, 2);
	}
	put(p, 0x0800, 2);
	const std::size_t udp = 8 + inner.size();
	put(p, 0x45000000 | static_cast<std::uint32_t>(20 + udp), 4);
	put(p, 0, 4);
	put(p, 0x40110000, 4);
	put(p, 0xc0000201, 4);
	put(p, 0xc0000202, 4);
	put(p, 50000, 2);
	put(p, 4791, 2);
	put(p, static_cast<std::uint32_t>(udp), 2);
	put(p, 0, 2);
	put(p, inner);
	return p;
}

/* Behind the global header, from the port 2001:db8::1 to 2001:db8::2. */
Octets global(const Octets &inner)
{
	Octets p;

	put(p, 0x60000000, 4);
	put(p, static_cast<std::uint32_t>(inner.size()), 2);
	put(p, 0x1b40, 2);
	for (const std::uint32_t last : { 1U, 2U })
		for (const std::uint32_t word : { 0x20010db8U, 0U, 0U, last })
			put(p, word, 4);
	put(p, inner);
	return p;
}

/* On a subnet of InfiniBand from port 3 to 5. @next: what follows, 2 is the transport. */
Octets subnet(const Octets &inner, std::uint32_t next = 2)
{
	Octets p;

	put(p, next, 2);
	put(p, 5, 2);
	put(p, static_cast<std::uint32_t>((8 + inner.size()) / 4), 2);
	put(p, 3, 2);
	put(p, inner);
	/* The variant CRC. */
	put(p, 0x1616, 2);
	return p;
}

Octets frame(std::uint32_t protocol, const Octets &inner)
{
	Octets p(12);

	put(p, protocol, 2);
	put(p, inner);
	return p;
}

/* A record of ERF. @extensions: of its header. */
Octets erf(std::uint8_t type, const Octets &inner, int extensions = 0)
{
	Octets p(8);

	put(p, extensions ? type | 0x80U : type, 1);
	put(p, 4, 1);
	put(p, static_cast<std::uint32_t>(16 + inner.size()), 2);
	put(p, 0, 2);
	put(p, static_cast<std::uint32_t>(inner.size()), 2);
	while (extensions--) {
		put(p, extensions ? 0x81000000U : 0x01000000U, 4);
		put(p, 0, 4);
	}
	put(p, inner);
	return p;
}

Octets grant(std::uint32_t credit)
{
	Octets m;

	for (const std::uint32_t word : { 0U, 2U, credit, 5U })
		put(m, word, 4);
	return m;
}

/* @snap: of each packet there is no more than that. */
class Capture {
public:
	explicit Capture(const std::vector<Octets> &packets,
			 std::size_t snap = 65535, int link = DLT_EN10MB)
	{
		pcap_t *dead = pcap_open_dead(link, 65535);
		const int fd = mkstemp(path_);
		pcap_dumper_t *out = pcap_dump_fopen(dead, fdopen(fd, "w"));
		pcap_pkthdr header = {};

		for (const Octets &p : packets) {
			header.ts.tv_sec++;
			header.len = static_cast<bpf_u_int32>(p.size());
			header.caplen = static_cast<bpf_u_int32>(
				std::min(p.size(), snap));
			pcap_dump(reinterpret_cast<u_char *>(out), &header,
				  p.data());
		}
		pcap_dump_close(out);
		pcap_close(dead);
	}
	~Capture()
	{
		unlink(path_);
	}
	[[nodiscard]] std::vector<CapturedSend> sends() const
	{
		std::vector<CapturedSend> all;

		cut_ = read_capture(path_, [&](const CapturedSend &send) {
			all.push_back(send);
		});
		return all;
	}
	/* Of the last call of sends(). */
	[[nodiscard]] unsigned cut() const
	{
		return cut_;
	}

private:
	char path_[32] = "/tmp/rpcrdmactl-XXXXXX";
	mutable unsigned cut_ = 0;
};

} // namespace

TEST(capture, whole_messages)
{
	const auto sends = Capture({ packet(kOnly, 1, grant(1)),
				     packet(kOnlyInvalidate, 2, grant(2)),
				     packet(kWriteOnly, 3, grant(3)),
				     packet(kOnly, 4, grant(4), true),
				     packet(kOnly, 5, { 1, 2, 3 }) })
				   .sends();

	ASSERT_EQ(sends.size(), 3U);
	EXPECT_EQ(sends[0].octets, grant(1));
	EXPECT_EQ(sends[0].from, "192.0.2.1");
	EXPECT_EQ(sends[0].to, "192.0.2.2");
	EXPECT_EQ(sends[0].queue_pair, 0x11U);
	EXPECT_EQ(sends[0].time, 1);
	EXPECT_EQ(sends[1].octets, grant(2));
	EXPECT_EQ(sends[2].octets, grant(4));
}

TEST(capture, messages_in_parts)
{
	const Octets whole = grant(9);
	const Octets a(whole.begin(), whole.begin() + 8);
	const Octets b(whole.begin() + 8, whole.begin() + 12);
	const Octets c(whole.begin() + 12, whole.end());
	const auto sends =
		Capture({ packet(kFirst, 0xffffff, a), packet(kMiddle, 0, b),
			  /* sent again */
			  packet(kMiddle, 0, b), packet(kLast, 1, c),
			  packet(kLast, 1, c),
			  /* the second part is not there */
			  packet(kFirst, 2, a), packet(kLast, 4, c),
			  /* nor is the beginning */
			  packet(kLast, 6, c), packet(kOnly, 7, grant(1)) })
			.sends();

	ASSERT_EQ(sends.size(), 2U);
	EXPECT_EQ(sends[0].octets, whole);
	EXPECT_EQ(sends[1].octets, grant(1));
}

/* A whole message that is sent again is one message. */
TEST(capture, messages_again)
{
	EXPECT_EQ(Capture({ packet(kOnly, 1, grant(1)),
			    packet(kOnly, 2, grant(2)),
			    packet(kOnly, 1, grant(1)),
			    packet(kOnly, 3, grant(3)) })
			  .sends()
			  .size(),
		  3U);
}

/* A requester that has lost one sends all that followed it again. */
TEST(capture, several_messages_again)
{
	std::vector<Octets> packets;

	for (const std::uint32_t psn : { 1, 2, 3, 1, 2, 3, 4 })
		packets.push_back(packet(kOnly, psn, grant(psn)));
	EXPECT_EQ(Capture(packets).sends().size(), 4U);
}

/* It has the numbers of an old one, and begins elsewhere. */
TEST(capture, a_new_connection)
{
	EXPECT_EQ(Capture({ packet(kOnly, 0x500000, grant(1)),
			    packet(kOnly, 0x100000, grant(1)),
			    packet(kOnly, 0x100001, grant(2)) })
			  .sends()
			  .size(),
		  3U);
}

TEST(capture, packets_that_break_off)
{
	const Octets whole = packet(kOnly, 1, grant(1));

	for (std::size_t n = 0; n < whole.size(); n++) {
		const Octets part(whole.begin(), whole.begin() + n);
		EXPECT_TRUE(Capture({ part }).sends().empty()) << n;
	}
}

/* Sends that are cut are counted; other operations may be, and so may other packets. */
TEST(capture, packets_that_the_capture_has_cut)
{
	Octets other = packet(kOnly, 1, grant(1));
	other[14 + 20 + 3] ^= 1;
	const std::vector<Octets> packets = { packet(kOnly, 1, grant(1)),
					      packet(kWriteOnly, 2, Octets(100)),
					      packet(kOnly, 3, Octets(100)),
					      other };
	const Capture all(packets), some(packets, 80), none(packets, 73),
		nothing(packets, 20);

	EXPECT_EQ(all.sends().size(), 1U);
	EXPECT_EQ(all.cut(), 0U);
	EXPECT_EQ(some.sends().size(), 1U);
	EXPECT_EQ(some.cut(), 1U);
	EXPECT_TRUE(none.sends().empty());
	EXPECT_EQ(none.cut(), 2U);
	EXPECT_TRUE(nothing.sends().empty());
	EXPECT_EQ(nothing.cut(), 4U);
}

TEST(capture, other_networks)
{
	constexpr int kErf = 197, kInfiniBand = 247;
	const Octets send = transport(kOnly, 1, grant(1));
	const Octets align(2);
	Octets ethernet = align;
	put(ethernet, packet(kOnly, 1, grant(1)));
	const struct {
		int link;
		Octets packet;
		std::string from;
		std::string to;
	} cases[] = {
		{ DLT_EN10MB, frame(0x8915, global(send)), "2001:db8::1",
		  "2001:db8::2" },
		{ kInfiniBand, subnet(send), "lid 3", "lid 5" },
		{ kInfiniBand, subnet(global(send), 3), "2001:db8::1",
		  "2001:db8::2" },
		{ kErf, erf(21, subnet(send)), "lid 3", "lid 5" },
		{ kErf, erf(21, subnet(send), 2), "lid 3", "lid 5" },
		{ kErf, erf(2, ethernet), "192.0.2.1", "192.0.2.2" },
	};

	for (const auto &c : cases) {
		const auto sends = Capture({ c.packet }, 65535, c.link).sends();
		ASSERT_EQ(sends.size(), 1U) << c.link << ' ' << c.from;
		EXPECT_EQ(sends[0].octets, grant(1));
		EXPECT_EQ(sends[0].from, c.from);
		EXPECT_EQ(sends[0].to, c.to);
		/* The variant CRC may be missing, anything else may not. */
		for (std::size_t n = 0; n + 2 < c.packet.size(); n++) {
			const Octets part(c.packet.begin(),
					  c.packet.begin() + n);
			EXPECT_TRUE(Capture({ part }, 65535, c.link)
					    .sends()
					    .empty())
				<< c.link << ' ' << c.from << ' ' << n;
		}
	}
}

/* Raw packets, IP on InfiniBand, a length that ends in the header, another kind of record. */
TEST(capture, other_packets_of_other_networks)
{
	constexpr int kErf = 197, kInfiniBand = 247;
	const Octets send = transport(kOnly, 1, grant(1));
	Octets shorter = subnet(send), other = global(send);

	shorter[5] = 1;
	other[6] = 0x11;
	for (const Octets &p : { subnet(send, 0), subnet(send, 1), shorter,
				 subnet(other, 3) }) {
		const Capture capture({ p }, 65535, kInfiniBand);
		EXPECT_TRUE(capture.sends().empty());
		EXPECT_EQ(capture.cut(), 0U);
	}
	EXPECT_TRUE(Capture({ erf(1, subnet(send)) }, 65535, kErf).sends().empty());
}

TEST(capture, packets_of_other_networks_that_the_capture_has_cut)
{
	constexpr int kErf = 197, kInfiniBand = 247;
	const Octets send = transport(kOnly, 1, Octets(100));
	const Capture subnets({ subnet(send), subnet(global(send), 3) }, 80,
			      kInfiniBand);
	const Capture records({ erf(21, subnet(send)) }, 80, kErf);

	EXPECT_TRUE(subnets.sends().empty());
	EXPECT_EQ(subnets.cut(), 2U);
	EXPECT_TRUE(records.sends().empty());
	EXPECT_EQ(records.cut(), 1U);
}

TEST(capture, no_capture)
{
	EXPECT_THROW(read_capture("/dev/null", {}), std::runtime_error);
	EXPECT_THROW(read_capture("/nonexistent", {}), std::runtime_error);
}

} // namespace rpcrdmactl
