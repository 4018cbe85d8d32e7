/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * RDMA operations of two peers, as packets of a capture: RoCE version 2, InfiniBand and
 * iWARP.
 */
#ifndef _WIRESHARK_FABRIC_H
#define _WIRESHARK_FABRIC_H

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <pcap.h>

namespace wireshark
{

using Octets = std::vector<std::uint8_t>;

/* Append the low @octets of @value, the highest first. */
void put(Octets &to, std::uint64_t value, int octets);
void put(Octets &to, const Octets &more);

enum class Side : std::uint8_t { Client, Server };

[[nodiscard]] constexpr Side other(Side side)
{
	return side == Side::Client ? Side::Server : Side::Client;
}

/* A file; the packets in it are 100 microseconds apart. */
class Capture {
public:
	/* @link: one of pcap's DLT_ numbers. */
	Capture(const std::string &path, int link);
	~Capture();
	Capture(const Capture &) = delete;
	Capture &operator=(const Capture &) = delete;

	/* @snap: no more of the packet than that is in the file. */
	void add(const Octets &packet, std::size_t snap = 65535);
	/* How many there are. */
	[[nodiscard]] unsigned count() const
	{
		return count_;
	}

private:
	pcap_t *pcap_;
	pcap_dumper_t *out_;
	unsigned count_ = 0;
};

/* What one connection sends. Every operation of RDMA is one of @from. */
class Wire {
public:
	virtual ~Wire() = default;

	/* The two sides agree to connect, and tell each other these data. */
	virtual void connect(const Octets &client, const Octets &server) = 0;
	/* @invalidate: zero, or a handle: it is a Send With Invalidate. */
	virtual void send(Side from, const Octets &message,
			  std::uint32_t invalidate = 0) = 0;
	virtual void write(Side from, std::uint32_t handle,
			   std::uint64_t offset, const Octets &data) = 0;
	/* @from asks for @data, which is at @offset, and gets them. */
	virtual void read(Side from, std::uint32_t handle, std::uint64_t offset,
			  const Octets &data) = 0;
};

/* How packets of InfiniBand are wrapped. */
enum class Link : std::uint8_t { RoceIpv4, RoceIpv6, InfiniBand };

class InfiniBandWire : public Wire {
public:
	/* @number: of the connection; each has its own queue pairs. */
	InfiniBandWire(Capture &capture, Link link, unsigned number = 0);

	/* The same for all that follows: the capture has only so much of a packet. */
	void cut(std::size_t snap)
	{
		snap_ = snap;
	}
	/* The capture does not have the next packets. */
	void lose(unsigned packets)
	{
		lose_ = packets;
	}
	/* What has last been sent comes again. */
	void again();

	void connect(const Octets &client, const Octets &server) override;
	void send(Side from, const Octets &message,
		  std::uint32_t invalidate) override;
	void write(Side from, std::uint32_t handle, std::uint64_t offset,
		   const Octets &data) override;
	void read(Side from, std::uint32_t handle, std::uint64_t offset,
		  const Octets &data) override;

private:
	struct Packet {
		std::uint8_t opcode;
		Octets extension;
		Octets data;
	};

	void manage(Side from, std::uint16_t attribute, const Octets &body);
	void parts(Side from, const std::uint8_t (&opcodes)[4],
		   const Octets &extension, bool extension_first,
		   const Octets &data, std::uint32_t &psn);
	void packet(Side from, const Packet &p, std::uint32_t psn,
		    std::uint32_t queue_pair);
	[[nodiscard]] Octets wrapped(Side from, const Octets &transport) const;
	[[nodiscard]] std::uint32_t queue_pair(Side of) const;
	[[nodiscard]] std::uint32_t &psn(Side from)
	{
		return psn_[from == Side::Server];
	}

	Capture &capture_;
	Link link_;
	unsigned number_;
	std::uint32_t psn_[2];
	std::size_t snap_ = 65535;
	unsigned lose_ = 0;
	Octets last_;
};

class IwarpWire : public Wire {
public:
	explicit IwarpWire(Capture &capture);

	/* The next two messages travel in one segment of TCP. */
	void together()
	{
		hold_ = true;
	}

	void connect(const Octets &client, const Octets &server) override;
	void send(Side from, const Octets &message,
		  std::uint32_t invalidate) override;
	void write(Side from, std::uint32_t handle, std::uint64_t offset,
		   const Octets &data) override;
	void read(Side from, std::uint32_t handle, std::uint64_t offset,
		  const Octets &data) override;

private:
	void tcp(Side from, std::uint8_t flags, const Octets &data);
	void segment(Side from, const Octets &ddp);
	void tagged(Side from, std::uint8_t opcode, std::uint32_t handle,
		    std::uint64_t offset, const Octets &data);

	Capture &capture_;
	std::uint32_t sequence_[2];
	/* By queue: Sends and Read Requests. */
	std::uint32_t number_[2][2] = {};
	bool hold_ = false;
	Octets held_;
};

} // namespace wireshark

#endif /* _WIRESHARK_FABRIC_H */
