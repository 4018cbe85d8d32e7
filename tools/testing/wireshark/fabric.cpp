// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "fabric.h"

#include <algorithm>
#include <stdexcept>

namespace wireshark
{

namespace
{

constexpr std::size_t kMtu = 1024;
/* When captures begin; and 100 microseconds, as parts of 2^32 of a second. */
constexpr std::uint32_t kSeconds = 1735689600;
constexpr std::uint32_t kErfTick = 429497;
constexpr std::uint16_t kPort = 20049;
constexpr std::uint16_t kClientPort = 50000;
constexpr std::uint32_t kIcrc = 0x1c2c3c4c;

/* Opcodes of reliable connections: first, middle, last, only. */
constexpr std::uint8_t kSend[4] = { 0x00, 0x01, 0x02, 0x04 };
constexpr std::uint8_t kSendInvalidate[4] = { 0x00, 0x01, 0x16, 0x17 };
constexpr std::uint8_t kWrite[4] = { 0x06, 0x07, 0x08, 0x0a };
constexpr std::uint8_t kReadResponse[4] = { 0x0d, 0x0e, 0x0f, 0x10 };
constexpr std::uint8_t kReadRequest = 0x0c;
constexpr std::uint8_t kDatagram = 0x64;

/* Attributes of the communication manager. */
constexpr std::uint16_t kConnectRequest = 0x0010;
constexpr std::uint16_t kConnectReply = 0x0013;
constexpr std::uint16_t kReadyToUse = 0x0014;

/* Opcodes of RDMAP. */
constexpr std::uint8_t kRdmapWrite = 0;
constexpr std::uint8_t kRdmapReadRequest = 1;
constexpr std::uint8_t kRdmapReadResponse = 2;
constexpr std::uint8_t kRdmapSend = 3;
constexpr std::uint8_t kRdmapSendInvalidate = 4;

Octets part(const Octets &of, std::size_t from, std::size_t most)
{
	const std::size_t end = std::min(of.size(), from + most);

	return { of.begin() + static_cast<std::ptrdiff_t>(from),
		 of.begin() + static_cast<std::ptrdiff_t>(end) };
}

Octets ipv4_address(Side side)
{
	return { 192, 0, 2,
		 static_cast<std::uint8_t>(side == Side::Client ? 1 : 2) };
}

Octets ipv6_address(Side side)
{
	Octets address = { 0x20, 0x01, 0x0d, 0xb8 };

	put(address, 0, 8);
	put(address, side == Side::Client ? 1 : 2, 4);
	return address;
}

Octets ethernet(Side from, std::uint16_t protocol)
{
	Octets frame;

	for (const Side side : { other(from), from })
		put(frame, 0x020000000001 + (side == Side::Server), 6);
	put(frame, protocol, 2);
	return frame;
}

Octets ipv4(Side from, std::uint8_t protocol, const Octets &data)
{
	Octets packet = ethernet(from, 0x0800);

	put(packet, 0x4500, 2);
	put(packet, 20 + data.size(), 2);
	put(packet, 0x00004000, 4);
	put(packet, 64, 1);
	put(packet, protocol, 1);
	put(packet, 0, 2);
	put(packet, ipv4_address(from));
	put(packet, ipv4_address(other(from)));
	put(packet, data);
	return packet;
}

Octets ipv6(Side from, std::uint8_t protocol, const Octets &data)
{
	Octets packet = ethernet(from, 0x86dd);

	put(packet, 0x60000000, 4);
	put(packet, data.size(), 2);
	put(packet, protocol, 1);
	put(packet, 64, 1);
	put(packet, ipv6_address(from));
	put(packet, ipv6_address(other(from)));
	put(packet, data);
	return packet;
}

Octets udp(const Octets &data)
{
	Octets packet;

	put(packet, 49152, 2);
	put(packet, 4791, 2);
	put(packet, 8 + data.size(), 2);
	put(packet, 0, 2);
	put(packet, data);
	return packet;
}

} // namespace

void put(Octets &to, std::uint64_t value, int octets)
{
	while (octets--)
		to.push_back(static_cast<std::uint8_t>(value >> 8 * octets));
}

void put(Octets &to, const Octets &more)
{
	to.insert(to.end(), more.begin(), more.end());
}

Capture::Capture(const std::string &path, int link)
	: pcap_(pcap_open_dead(link, 65535))
	, out_(pcap_dump_open(pcap_, path.c_str()))
{
	if (!out_)
		throw std::runtime_error(pcap_geterr(pcap_));
}

Capture::~Capture()
{
	pcap_dump_close(out_);
	pcap_close(pcap_);
}

void Capture::add(const Octets &packet, std::size_t snap)
{
	pcap_pkthdr header = {};

	header.ts.tv_sec = kSeconds;
	header.ts.tv_usec = 100 * suseconds_t{ count_++ };
	header.len = static_cast<bpf_u_int32>(packet.size());
	header.caplen = static_cast<bpf_u_int32>(std::min(packet.size(), snap));
	pcap_dump(reinterpret_cast<u_char *>(out_), &header, packet.data());
}

InfiniBandWire::InfiniBandWire(Capture &capture, Link link, unsigned number)
	: capture_(capture)
	, link_(link)
	, number_(number)
	, psn_{ 0x100, 0xfffffd }
{
}

std::uint32_t InfiniBandWire::queue_pair(Side of) const
{
	return (of == Side::Client ? 0x11 : 0x21) + number_;
}

Octets InfiniBandWire::wrapped(Side from, const Octets &transport) const
{
	Octets frame;

	switch (link_) {
	case Link::RoceIpv4:
		return ipv4(from, 17, udp(transport));
	case Link::RoceIpv6:
		return ipv6(from, 17, udp(transport));
	default:
		break;
	}
	/* A record of ERF, whose clock is in the other order of octets. */
	const std::size_t size = 8 + transport.size() + 2;
	put(frame, __builtin_bswap32(capture_.count() * kErfTick), 4);
	put(frame, __builtin_bswap32(kSeconds), 4);
	put(frame, 21, 1);
	put(frame, 4, 1);
	put(frame, 16 + size, 2);
	put(frame, 0, 2);
	put(frame, size, 2);
	put(frame, 0x0002, 2);
	put(frame, other(from) == Side::Client ? 1 : 2, 2);
	/* In words, without the last checksum. */
	put(frame, (8 + transport.size()) / 4, 2);
	put(frame, from == Side::Client ? 1 : 2, 2);
	put(frame, transport);
	put(frame, 0, 2);
	return frame;
}

void InfiniBandWire::packet(Side from, const Packet &p, std::uint32_t psn,
			    std::uint32_t queue_pair)
{
	const std::size_t pad = (4 - p.data.size() % 4) % 4;
	Octets transport;

	put(transport, p.opcode, 1);
	put(transport, pad << 4, 1);
	put(transport, 0xffff, 2);
	put(transport, queue_pair, 4);
	put(transport, psn & 0xffffff, 4);
	put(transport, p.extension);
	put(transport, p.data);
	put(transport, 0, static_cast<int>(pad));
	put(transport, kIcrc, 4);
	last_ = wrapped(from, transport);
	if (lose_) {
		lose_--;
		return;
	}
	capture_.add(last_, snap_);
}

void InfiniBandWire::again()
{
	capture_.add(last_, snap_);
}

/* @extension_first: it is in the first packet, else in the last one. */
void InfiniBandWire::parts(Side from, const std::uint8_t (&opcodes)[4],
			   const Octets &extension, bool extension_first,
			   const Octets &data, std::uint32_t &psn)
{
	const std::size_t count =
		std::max<std::size_t>(1, (data.size() + kMtu - 1) / kMtu);

	for (std::size_t i = 0; i < count; i++) {
		const bool first = !i, last = i + 1 == count;
		const std::uint8_t opcode = first && last ? opcodes[3] :
					    first	  ? opcodes[0] :
					    last	  ? opcodes[2] :
							    opcodes[1];
		const bool has = extension_first ? first : last;
		packet(from,
		       { opcode, has ? extension : Octets(),
			 part(data, i * kMtu, kMtu) },
		       psn++, queue_pair(other(from)));
	}
}

void InfiniBandWire::manage(Side from, std::uint16_t attribute,
			    const Octets &body)
{
	Octets mad, deth;

	put(deth, 0x80010000, 4);
	put(deth, 1, 4);
	put(mad, 0x01070203, 4);
	put(mad, 0, 4);
	put(mad, 0x4d00 + number_, 8);
	put(mad, attribute, 2);
	put(mad, 0, 6);
	put(mad, body);
	mad.resize(256);
	packet(from, { kDatagram, deth, mad }, 1, 1);
}

void InfiniBandWire::connect(const Octets &client, const Octets &server)
{
	Octets request, reply, ready;

	put(request, 0x1000 + number_, 4);
	put(request, 0, 4);
	/* The port of TCP. */
	put(request, 0x0000000001060000 | kPort, 8);
	put(request, 0x0202, 8);
	put(request, 0, 8);
	put(request, queue_pair(Side::Client), 3);
	put(request, 4, 1);
	put(request, 4, 4);
	put(request, 0xa0, 4);
	put(request, psn(Side::Client), 3);
	put(request, 0xa7, 1);
	put(request, 0xffff37f0, 4);
	put(request, 0, 4);
	for (const Side side : { Side::Client, Side::Server }) {
		put(request, 0xffff, 12);
		put(request, ipv4_address(side));
	}
	request.resize(140);
	put(request, 0x0040, 2);
	put(request, kClientPort + number_, 2);
	for (const Side side : { Side::Client, Side::Server }) {
		put(request, 0, 12);
		put(request, ipv4_address(side));
	}
	put(request, client);
	manage(Side::Client, kConnectRequest, request);

	put(reply, 0x2000 + number_, 4);
	put(reply, 0x1000 + number_, 4);
	put(reply, 0, 4);
	put(reply, queue_pair(Side::Server), 3);
	put(reply, 0, 5);
	put(reply, psn(Side::Server), 3);
	put(reply, 0, 1);
	put(reply, 0x0404a0e0, 4);
	put(reply, 0x0203, 8);
	put(reply, server);
	manage(Side::Server, kConnectReply, reply);

	put(ready, 0x1000 + number_, 4);
	put(ready, 0x2000 + number_, 4);
	manage(Side::Client, kReadyToUse, ready);
}

void InfiniBandWire::send(Side from, const Octets &message,
			  std::uint32_t invalidate)
{
	Octets extension;

	if (invalidate)
		put(extension, invalidate, 4);
	parts(from, invalidate ? kSendInvalidate : kSend, extension, false,
	      message, psn(from));
}

void InfiniBandWire::write(Side from, std::uint32_t handle,
			   std::uint64_t offset, const Octets &data)
{
	Octets extension;

	put(extension, offset, 8);
	put(extension, handle, 4);
	put(extension, data.size(), 4);
	parts(from, kWrite, extension, true, data, psn(from));
}

void InfiniBandWire::read(Side from, std::uint32_t handle, std::uint64_t offset,
			  const Octets &data)
{
	Octets extension, acknowledge;

	put(extension, offset, 8);
	put(extension, handle, 4);
	put(extension, data.size(), 4);
	packet(from, { kReadRequest, extension, {} }, psn(from),
	       queue_pair(other(from)));
	put(acknowledge, 1, 4);

	/* Middle packets have no such header; here there are none. */
	if (data.size() > 2 * kMtu)
		throw std::logic_error("too much for one RDMA Read");
	const std::size_t count = (data.size() + kMtu - 1) / kMtu;
	for (std::size_t i = 0; i < count; i++) {
		const std::uint8_t opcode = count == 1 ? kReadResponse[3] :
					    !i	       ? kReadResponse[0] :
							 kReadResponse[2];
		packet(other(from),
		       { opcode, acknowledge, part(data, i * kMtu, kMtu) },
		       psn(from)++, queue_pair(from));
	}
}

IwarpWire::IwarpWire(Capture &capture)
	: capture_(capture)
	, sequence_{ 1000, 5000 }
{
}

void IwarpWire::tcp(Side from, std::uint8_t flags, const Octets &data)
{
	const bool server = from == Side::Server;
	Octets segment;

	put(segment, server ? kPort : kClientPort, 2);
	put(segment, server ? kClientPort : kPort, 2);
	put(segment, sequence_[server], 4);
	put(segment, flags & 0x10 ? sequence_[!server] : 0, 4);
	put(segment, 0x50, 1);
	put(segment, flags, 1);
	put(segment, 0xffff0000, 4);
	put(segment, 0, 2);
	put(segment, data);
	sequence_[server] += static_cast<std::uint32_t>(data.size()) +
			     (flags & 0x02 ? 1 : 0);
	capture_.add(ipv4(from, 6, segment));
}

void IwarpWire::connect(const Octets &client, const Octets &server)
{
	const std::string keys[] = { "MPA ID Req Frame", "MPA ID Rep Frame" };

	tcp(Side::Client, 0x02, {});
	tcp(Side::Server, 0x12, {});
	tcp(Side::Client, 0x10, {});
	for (const Side side : { Side::Client, Side::Server }) {
		const bool reply = side == Side::Server;
		const Octets &told = reply ? server : client;
		Octets frame(keys[reply].begin(), keys[reply].end());

		/* No markers, no checksums, revision 1. */
		put(frame, 0x0001, 2);
		put(frame, told.size(), 2);
		put(frame, told);
		tcp(side, 0x18, frame);
	}
}

void IwarpWire::segment(Side from, const Octets &ddp)
{
	Octets unit;

	put(unit, ddp.size(), 2);
	put(unit, ddp);
	unit.resize((unit.size() + 3) / 4 * 4);
	put(unit, 0, 4);
	if (hold_) {
		hold_ = false;
		held_ = unit;
		return;
	}
	put(held_, unit);
	tcp(from, 0x18, held_);
	held_.clear();
}

void IwarpWire::send(Side from, const Octets &message, std::uint32_t invalidate)
{
	const std::uint32_t number = ++number_[0][from == Side::Server];

	for (std::size_t at = 0; at < message.size(); at += kMtu) {
		const Octets data = part(message, at, kMtu);
		Octets ddp;

		put(ddp, at + data.size() == message.size() ? 0x41 : 0x01, 1);
		put(ddp,
		    0x40 | (invalidate ? kRdmapSendInvalidate : kRdmapSend), 1);
		put(ddp, invalidate, 4);
		put(ddp, 0, 4);
		put(ddp, number, 4);
		put(ddp, at, 4);
		put(ddp, data);
		segment(from, ddp);
	}
}

void IwarpWire::tagged(Side from, std::uint8_t opcode, std::uint32_t handle,
		       std::uint64_t offset, const Octets &data)
{
	for (std::size_t at = 0; at < data.size(); at += kMtu) {
		const Octets some = part(data, at, kMtu);
		Octets ddp;

		put(ddp, at + some.size() == data.size() ? 0xc1 : 0x81, 1);
		put(ddp, 0x40 | opcode, 1);
		put(ddp, handle, 4);
		put(ddp, offset + at, 8);
		put(ddp, some);
		segment(from, ddp);
	}
}

void IwarpWire::write(Side from, std::uint32_t handle, std::uint64_t offset,
		      const Octets &data)
{
	tagged(from, kRdmapWrite, handle, offset, data);
}

void IwarpWire::read(Side from, std::uint32_t handle, std::uint64_t offset,
		     const Octets &data)
{
	constexpr std::uint32_t kSink = 0x5111;
	constexpr std::uint64_t kSinkOffset = 0x7000;
	Octets ddp;

	put(ddp, 0x41, 1);
	put(ddp, 0x40 | kRdmapReadRequest, 1);
	put(ddp, 0, 4);
	put(ddp, 1, 4);
	put(ddp, ++number_[1][from == Side::Server], 4);
	put(ddp, 0, 4);
	put(ddp, kSink, 4);
	put(ddp, kSinkOffset, 8);
	put(ddp, data.size(), 4);
	put(ddp, handle, 4);
	put(ddp, offset, 8);
	segment(from, ddp);
	tagged(other(from), kRdmapReadResponse, kSink, kSinkOffset, data);
}

} // namespace wireshark
