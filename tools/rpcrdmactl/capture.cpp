// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "capture.h"

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <tuple>

#include <arpa/inet.h>
#include <pcap.h>

namespace rpcrdmactl
{

namespace
{

using Bytes = std::span<const std::uint8_t>;

constexpr std::uint16_t kIpv4 = 0x0800;
constexpr std::uint16_t kIpv6 = 0x86dd;
constexpr std::uint16_t kVlan = 0x8100;
constexpr std::uint16_t kRoceVersion1 = 0x8915;
constexpr std::uint8_t kUdp = 17;
constexpr std::uint16_t kRocePort = 4791;
/* Headers of InfiniBand: the local one, the global one, and that of the transport. */
constexpr std::size_t kLrh = 8;
constexpr std::size_t kGrh = 40;
constexpr std::size_t kBth = 12;
constexpr std::size_t kIcrc = 4;
constexpr std::uint8_t kNextIsTransport = 0x1b;
/* What follows the local header. */
constexpr std::uint8_t kThenTransport = 2;
constexpr std::uint8_t kThenGlobal = 3;
/* A record of ERF. */
constexpr std::size_t kErf = 16;
constexpr std::size_t kErfExtension = 8;
constexpr std::uint8_t kErfMore = 0x80;
constexpr std::uint8_t kErfEthernet = 2;
constexpr std::uint8_t kErfInfiniBand = 21;
/* With so much of a packet it can be seen whether it carries InfiniBand's transport. */
constexpr std::size_t kEnough = 20 + 4 + 40 + 8;

/* Opcodes of reliable connections that carry a Send, and what is in front of its data. */
enum class Part : std::uint8_t { First, Middle, Last, Only };

struct SendOpcode {
	std::uint8_t opcode;
	Part part;
	std::size_t extension;
};

constexpr SendOpcode kSends[] = {
	{ 0x00, Part::First, 0 }, { 0x01, Part::Middle, 0 },
	{ 0x02, Part::Last, 0 },  { 0x03, Part::Last, 4 },
	{ 0x04, Part::Only, 0 },  { 0x05, Part::Only, 4 },
	{ 0x16, Part::Last, 4 },  { 0x17, Part::Only, 4 },
};

std::uint32_t number(Bytes b, std::size_t at, std::size_t octets)
{
	std::uint32_t value = 0;

	for (std::size_t i = 0; i < octets; i++)
		value = value << 8 | b[at + i];
	return value;
}

/* The octets from @at on; nothing if there are none. */
Bytes after(Bytes b, std::size_t at)
{
	return at < b.size() ? b.subspan(at) : Bytes();
}

std::string address(int family, Bytes octets)
{
	char text[INET6_ADDRSTRLEN];

	return inet_ntop(family, octets.data(), text, sizeof(text));
}

/* From the header of InfiniBand's transport to the invariant CRC. @cut: not all of it. */
struct Packet {
	std::string from;
	std::string to;
	Bytes octets;
	bool cut = false;
};

std::optional<Packet> udp(Bytes ip, std::size_t header, std::size_t length,
			  const std::string &from, const std::string &to)
{
	/* Behind the packet there may be padding. */
	const std::size_t there = std::min(ip.size(), length);

	if (there < header + 8 || number(ip, header + 2, 2) != kRocePort)
		return {};
	return Packet{ from, to, ip.subspan(header + 8, there - header - 8),
		       there < length };
}

/* Of InfiniBand and of RoCE version 1. */
std::optional<Packet> global(Bytes b)
{
	if (b.size() < kGrh || b[6] != kNextIsTransport)
		return {};
	const std::size_t length = kGrh + number(b, 4, 2);
	const std::size_t there = std::min(b.size(), length);
	return Packet{ address(AF_INET6, b.subspan(8, 16)),
		       address(AF_INET6, b.subspan(24, 16)),
		       b.subspan(kGrh, there - kGrh), there < length };
}

std::optional<Packet> infiniband(Bytes b)
{
	if (b.size() < kLrh)
		return {};
	const std::uint8_t next = b[1] & 3;
	if (next == kThenGlobal)
		return global(b.subspan(kLrh));
	/* In words; all but the variant CRC. */
	const std::size_t length = (number(b, 4, 2) & 0x7ff) * 4;
	if (next != kThenTransport || length < kLrh)
		return {};
	const std::size_t there = std::min(b.size(), length);
	return Packet{ "lid " + std::to_string(number(b, 6, 2)),
		       "lid " + std::to_string(number(b, 2, 2)),
		       b.subspan(kLrh, there - kLrh), there < length };
}

std::optional<Packet> internet(std::uint16_t protocol, Bytes ip)
{
	if (protocol == kIpv4 && ip.size() >= 20 && ip[0] >> 4 == 4 &&
	    ip[9] == kUdp && !(number(ip, 6, 2) & 0x3fff))
		return udp(ip, (ip[0] & 15) * 4U, number(ip, 2, 2),
			   address(AF_INET, ip.subspan(12, 4)),
			   address(AF_INET, ip.subspan(16, 4)));
	if (protocol == kIpv6 && ip.size() >= 40 && ip[0] >> 4 == 6 &&
	    ip[6] == kUdp)
		return udp(ip, 40, 40 + number(ip, 4, 2),
			   address(AF_INET6, ip.subspan(8, 16)),
			   address(AF_INET6, ip.subspan(24, 16)));
	if (protocol == kRoceVersion1)
		return global(ip);
	return {};
}

/* @type_at: where the protocol is in the header of the link. */
std::optional<Packet> linked(Bytes frame, std::size_t type_at,
			     std::size_t header)
{
	if (frame.size() < header)
		return {};
	std::uint16_t protocol = number(frame, type_at, 2);
	while (protocol == kVlan && frame.size() >= header + 4) {
		protocol = number(frame, header + 2, 2);
		header += 4;
	}
	return internet(protocol, after(frame, header));
}

std::optional<Packet> ethernet(Bytes frame)
{
	return linked(frame, 12, 14);
}

/* Adapters that see packets which the kernel does not see write this. */
std::optional<Packet> erf(Bytes record)
{
	std::size_t header = kErf;

	if (record.size() < kErf)
		return {};
	const std::uint8_t type = record[8];
	std::uint8_t more = type;
	while (more & kErfMore) {
		if (record.size() < header + kErfExtension)
			return {};
		more = record[header];
		header += kErfExtension;
	}
	switch (type & ~kErfMore) {
	case kErfInfiniBand:
		return infiniband(after(record, header));
	case kErfEthernet:
		/* Two octets align the frame. */
		return ethernet(after(record, header + 2));
	default:
		return {};
	}
}

std::optional<Packet> cooked(Bytes frame)
{
	return linked(frame, 14, 16);
}

std::optional<Packet> cooked2(Bytes frame)
{
	return linked(frame, 0, 20);
}

std::optional<Packet> raw(Bytes ip)
{
	if (ip.empty())
		return {};
	return internet(ip[0] >> 4 == 6 ? kIpv6 : kIpv4, ip);
}

/* Kinds of links, and how much of a packet tells what it is. */
struct Link {
	int kind;
	std::optional<Packet> (*packet)(Bytes frame);
	std::size_t enough = kEnough;
};

constexpr Link kLinks[] = {
	{ DLT_EN10MB, ethernet },	{ DLT_ERF, erf, kErf + kEnough },
	{ DLT_INFINIBAND, infiniband }, { DLT_LINUX_SLL, cooked },
	{ DLT_LINUX_SLL2, cooked2 },	{ DLT_RAW, raw },
};

/* Puts together the packets of each queue pair. */
class Assembler {
public:
	explicit Assembler(
		const std::function<void(const CapturedSend &)> &take)
		: take_(take)
	{
	}

	void packet(double time, const Packet &p)
	{
		Bytes b = p.octets;

		if (p.cut) {
			/* That others are cut does no harm. */
			cut_ += b.empty() || sends(b[0]);
			return;
		}
		if (b.size() < kBth + kIcrc)
			return;
		const std::size_t pad = b[1] >> 4 & 3;
		const std::uint32_t queue_pair = number(b, 5, 3);
		const std::uint32_t psn = number(b, 9, 3);
		for (const SendOpcode &s : kSends) {
			const std::size_t header = kBth + s.extension;
			if (s.opcode != b[0] || b.size() < header + pad + kIcrc)
				continue;
			part({ p.from, p.to, queue_pair }, s.part, psn, time,
			     b.subspan(header,
				       b.size() - header - pad - kIcrc));
			return;
		}
	}

	/* One of which there is too little to tell what it is. */
	void unknown()
	{
		cut_++;
	}
	[[nodiscard]] unsigned cut() const
	{
		return cut_;
	}

private:
	static bool sends(std::uint8_t opcode)
	{
		return std::ranges::any_of(kSends, [=](const SendOpcode &s) {
			return s.opcode == opcode;
		});
	}

	using Key = std::tuple<std::string, std::string, std::uint32_t>;

	/* What has come of a Send; nothing is under way while @open is false. */
	struct Progress {
		bool open = false;
		std::optional<std::uint32_t> ended;
		std::uint32_t next = 0;
		Octets octets;
	};

	void part(const Key &key, Part part, std::uint32_t psn, double time,
		  Bytes data)
	{
		Progress &p = sends_[key];

		if (part == Part::First || part == Part::Only) {
			p.open = true;
			p.octets.clear();
		} else if (!p.open || psn != p.next) {
			/* A gap, or a packet that has been here before. */
			p.open = p.open && before(psn, p.next);
			return;
		}
		p.next = (psn + 1) & 0xffffff;
		if (p.octets.size() + data.size() > kLargestMessage) {
			p.open = false;
			return;
		}
		p.octets.insert(p.octets.end(), data.begin(), data.end());
		if (part != Part::Last && part != Part::Only)
			return;
		p.open = false;
		if (p.ended && again(psn, *p.ended))
			return;
		p.ended = psn;
		if (!ours(p.octets))
			return;
		take_({ time, std::get<0>(key), std::get<1>(key),
			std::get<2>(key), p.octets });
	}

	/* Sequence numbers have 24 bits and go round. */
	static bool before(std::uint32_t a, std::uint32_t b)
	{
		const std::uint32_t distance = (b - a) & 0xffffff;

		return distance && distance < 0x800000;
	}

	/* Not far behind it; what is far behind belongs to a new connection. */
	static bool again(std::uint32_t psn, std::uint32_t ended)
	{
		return ((ended - psn) & 0xffffff) < 0x10000;
	}

	static bool ours(const Octets &octets)
	{
		if (octets.size() < 16)
			return false;
		const std::uint32_t version = number(octets, 4, 4);
		return version == 1 || version == 2;
	}

	const std::function<void(const CapturedSend &)> &take_;
	std::map<Key, Progress> sends_;
	unsigned cut_ = 0;
};

struct ClosePcap {
	void operator()(pcap_t *pcap) const
	{
		pcap_close(pcap);
	}
};

} // namespace

unsigned read_capture(const std::string &path,
		      const std::function<void(const CapturedSend &)> &take)
{
	std::array<char, PCAP_ERRBUF_SIZE> error = {};
	const std::unique_ptr<pcap_t, ClosePcap> pcap(
		pcap_open_offline(path.c_str(), error.data()));
	Assembler assembler(take);
	pcap_pkthdr *header;
	const u_char *data;
	int result;

	if (!pcap)
		throw std::runtime_error(error.data());
	const auto *const link = std::ranges::find(
		kLinks, pcap_datalink(pcap.get()), &Link::kind);
	if (link == std::end(kLinks))
		throw std::runtime_error(path + ": link of an unknown kind");
	while ((result = pcap_next_ex(pcap.get(), &header, &data)) == 1) {
		const auto found = link->packet({ data, header->caplen });
		if (!found && header->caplen < header->len &&
		    header->caplen < link->enough)
			assembler.unknown();
		if (found)
			assembler.packet(
				static_cast<double>(header->ts.tv_sec) +
					static_cast<double>(
						header->ts.tv_usec) /
						1e6,
				*found);
	}
	if (result == PCAP_ERROR)
		throw std::runtime_error(path + ": " + pcap_geterr(pcap.get()));
	return assembler.cut();
}

} // namespace rpcrdmactl
