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

/* A packet of RoCE version 2 from 192.0.2.1 to 192.0.2.2. */
Octets packet(std::uint8_t opcode, std::uint32_t psn, Octets data,
	      bool vlan = false)
{
	Octets p(12);
	const std::size_t pad = (4 - data.size() % 4) % 4;

	data.resize(data.size() + pad);
	if (opcode == kOnlyInvalidate)
		data.insert(data.begin(), 4, 0xee);
	if (vlan) {
		put(p, 0x8100, 2);
		put(p, 7, 2);
	}
	put(p, 0x0800, 2);
	const std::size_t udp = 8 + 12 + data.size() + 4;
	put(p, 0x45000000 | static_cast<std::uint32_t>(20 + udp), 4);
	put(p, 0, 4);
	put(p, 0x40110000, 4);
	put(p, 0xc0000201, 4);
	put(p, 0xc0000202, 4);
	put(p, 50000, 2);
	put(p, 4791, 2);
	put(p, static_cast<std::uint32_t>(udp), 2);
	put(p, 0, 2);
	put(p, opcode, 1);
	put(p, static_cast<std::uint32_t>(pad << 4), 1);
	put(p, 0xffff, 2);
	put(p, 0x11, 4);
	put(p, psn, 4);
	p.insert(p.end(), data.begin(), data.end());
	put(p, 0x1c2c3c4c, 4);
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
			 std::size_t snap = 65535)
	{
		pcap_t *dead = pcap_open_dead(DLT_EN10MB, 65535);
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

TEST(capture, no_capture)
{
	EXPECT_THROW(read_capture("/dev/null", {}), std::runtime_error);
	EXPECT_THROW(read_capture("/nonexistent", {}), std::runtime_error);
}

} // namespace rpcrdmactl
