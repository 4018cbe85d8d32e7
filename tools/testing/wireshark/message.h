/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Messages of RPC-over-RDMA, encoded by the core, and RPC messages of NFS to be in them.
 */
#ifndef _WIRESHARK_MESSAGE_H
#define _WIRESHARK_MESSAGE_H

#include "fabric.h"

#include <optional>

#include "wire.h"

namespace wireshark
{

/* XDR as it is written down: items one after the other. */
class Xdr {
public:
	Xdr &word(u32 v)
	{
		put(octets_, v, 4);
		return *this;
	}
	Xdr &words(std::initializer_list<u32> all)
	{
		for (const u32 v : all)
			word(v);
		return *this;
	}
	Xdr &hyper(u64 v)
	{
		put(octets_, v, 8);
		return *this;
	}
	/* With its length, and padding. */
	Xdr &opaque(const Octets &data)
	{
		return word(static_cast<u32>(data.size())).fixed(data);
	}
	Xdr &fixed(const Octets &data)
	{
		put(octets_, data);
		put(octets_, 0, static_cast<int>((4 - data.size() % 4) % 4));
		return *this;
	}
	[[nodiscard]] const Octets &octets() const
	{
		return octets_;
	}

private:
	Octets octets_;
};

/* @size octets that are not all the same. */
[[nodiscard]] Octets pattern(std::size_t size);

/* A transport property. */
struct PropertyValue {
	u32 which;
	Octets data;
};

/* What is in a message besides its credit. */
struct Message {
	u32 htype = 0;
	u32 xid = 0;
	/* The part of an RPC message that is in it. */
	Octets payload = {};
	rpcrdma::Chunks chunks = {};
	u32 remaining = 0;
	u32 inv_handle = 0;
	rpcrdma::ErrorBody error = {};
	/* What follows the prefix, if the core does not encode that. */
	std::optional<Octets> body = {};
	u32 vers = rpcrdma::kVersion2;
	/* Instead of the right one. */
	std::optional<u32> credit = {};
};

[[nodiscard]] Octets encode(const Message &m, u32 credit);

/* struct rpcrdma2_hdr_connprop: the core's own properties, and more. */
[[nodiscard]] Octets property_set(const rpcrdma_properties &own,
				  const std::vector<PropertyValue> &more);

/* Chunk lists. */
void add_call(rpcrdma::Chunks &c, const rpcrdma::Segment &s);
void add_read(rpcrdma::Chunks &c, u32 position, const rpcrdma::Segment &s);
void add_write(rpcrdma::Chunks &c, const std::vector<rpcrdma::Segment> &s);
void set_reply(rpcrdma::Chunks &c, const std::vector<rpcrdma::Segment> &s);

/* RPC messages. */
[[nodiscard]] Octets rpc_call(u32 xid, u32 program, u32 version, u32 procedure,
			      const Octets &arguments = {});
[[nodiscard]] Octets rpc_reply(u32 xid, const Octets &results = {});

constexpr u32 kNfs = 100003;
constexpr u32 kNfsCallback = 0x40000000;

/* One connection: sends messages with the credits that belong to them (D1). */
class Connection {
public:
	explicit Connection(Wire &wire, u32 window = 64)
		: wire_(wire)
		, window_(window)
	{
	}

	void send(Side from, const Message &m, u32 invalidate = 0);
	/* Another window, for both sides. */
	void offer(u32 window)
	{
		window_ = window;
	}
	/* The same, of octets as they are. */
	void send_octets(Side from, const Octets &octets);
	[[nodiscard]] Wire &wire()
	{
		return wire_;
	}

	/* The initial exchange. */
	void open(const std::vector<PropertyValue> &client = {},
		  const std::vector<PropertyValue> &server = {});
	void call(u32 xid, const Octets &rpc, const rpcrdma::Chunks &c = {},
		  u32 inv_handle = 0);
	void reply(u32 xid, const Octets &rpc, const rpcrdma::Chunks &c = {},
		   u32 invalidate = 0);
	void grant(Side from);
	void error(Side from, u32 xid, const rpcrdma::ErrorBody &e);

private:
	Wire &wire_;
	u32 window_;
	u32 sent_[2] = {};
};

} // namespace wireshark

#endif /* _WIRESHARK_MESSAGE_H */
