// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "message.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "properties.h"

extern "C" void rpcrdma_shim_broken(const char *file, int line,
				    const char *what)
{
	std::fprintf(stderr, "%s:%d: invariant broken: %s\n", file, line, what);
	std::abort();
}

namespace wireshark
{

namespace
{

constexpr u32 kLargest = 4096;
constexpr u32 kRpcVersion = 2;
constexpr u32 kAuthSys = 1;

/* The core's type, for the version of the message. */
const rpcrdma::HeaderType *type_of(const Message &m)
{
	if (m.vers != rpcrdma::kVersion1)
		return rpcrdma::header_type(m.htype);
	if (m.htype > RPCRDMA1_NOMSG)
		return nullptr;
	const bool reply = m.payload.size() > 7 && m.payload[7];
	return &rpcrdma::header_type_v1(m.htype,
					reply ? RPCRDMA_REPLY : RPCRDMA_CALL);
}

} // namespace

Octets pattern(std::size_t size)
{
	Octets all(size);

	for (std::size_t i = 0; i < size; i++)
		all[i] = static_cast<std::uint8_t>('a' + i % 26);
	return all;
}

Octets encode(const Message &m, u32 credit)
{
	Octets out(kLargest);

	credit = m.credit.value_or(credit);
	if (m.body) {
		out = Xdr().words({ m.xid, m.vers, credit, m.htype }).octets();
		put(out, *m.body);
	} else {
		rpcrdma::Header h;

		h.type = type_of(m);
		if (!h.type)
			throw std::logic_error("no such type");
		h.prefix = { rpcrdma::to_xid(m.xid), m.vers, credit, m.htype };
		h.error = m.error;
		h.remaining = m.remaining;
		h.inv_handle = m.inv_handle;
		out.resize(rpcrdma::encode(h, &m.chunks,
					   { out.data(), kLargest }));
	}
	put(out, m.payload);
	return out;
}

Octets property_set(const rpcrdma_properties &own,
		    const std::vector<PropertyValue> &more)
{
	rpcrdma::Properties p = rpcrdma::kDefaultProperties;
	Octets out(kLargest);

	static_cast<rpcrdma_properties &>(p) = own;
	out.resize(rpcrdma::encode_properties(p, { out.data(), kLargest }));
	rpcrdma::store_be32(out.data(), rpcrdma::load_be32(out.data()) +
						static_cast<u32>(more.size()));
	for (const PropertyValue &value : more)
		put(out, Xdr().word(value.which).opaque(value.data).octets());
	return out;
}

void add_call(rpcrdma::Chunks &c, const rpcrdma::Segment &s)
{
	c.call[c.n_call++] = s;
}

void add_read(rpcrdma::Chunks &c, u32 position, const rpcrdma::Segment &s)
{
	c.reads[c.n_reads++] = { position, s };
}

static rpcrdma::WriteChunk take(rpcrdma::Chunks &c,
				const std::vector<rpcrdma::Segment> &all)
{
	const rpcrdma::WriteChunk chunk = { static_cast<u32>(all.size()),
					    c.n_write_segs };

	for (const rpcrdma::Segment &s : all)
		c.write_segs[c.n_write_segs++] = s;
	return chunk;
}

void add_write(rpcrdma::Chunks &c, const std::vector<rpcrdma::Segment> &s)
{
	const rpcrdma::WriteChunk chunk = take(c, s);

	c.writes[c.n_writes++] = chunk;
}

void set_reply(rpcrdma::Chunks &c, const std::vector<rpcrdma::Segment> &s)
{
	c.reply = take(c, s);
	c.has_reply = true;
}

Octets rpc_call(u32 xid, u32 program, u32 version, u32 procedure,
		const Octets &arguments)
{
	const Octets credential = Xdr().word(0)
					  .opaque({ 'c', 'l', 't' })
					  .words({ 0, 0, 0 })
					  .octets();
	Octets rpc = Xdr().words({ xid, RPCRDMA_CALL, kRpcVersion, program,
				   version, procedure, kAuthSys })
			     .opaque(credential)
			     .words({ 0, 0 })
			     .octets();

	put(rpc, arguments);
	return rpc;
}

Octets rpc_reply(u32 xid, const Octets &results)
{
	Octets rpc = Xdr().words({ xid, RPCRDMA_REPLY, 0, 0, 0, 0 }).octets();

	put(rpc, results);
	return rpc;
}

void Connection::send_octets(Side from, const Octets &octets)
{
	sent_[from == Side::Server]++;
	wire_.send(from, octets);
}

void Connection::send(Side from, const Message &m, u32 invalidate)
{
	const u32 received = sent_[other(from) == Side::Server];

	sent_[from == Side::Server]++;
	wire_.send(from, encode(m, received + window_), invalidate);
}

void Connection::open(const std::vector<PropertyValue> &client,
		      const std::vector<PropertyValue> &server)
{
	const rpcrdma_properties &defaults = rpcrdma::kDefaultProperties;
	rpcrdma_properties own = defaults;

	own.reverse = RPCRDMA_RVRSDIR_CONT;
	send(Side::Client, { .htype = RPCRDMA2_CONNPROP_FINAL,
			     .xid = 0xc0000001,
			     .body = property_set(own, client) });
	own.reverse = RPCRDMA_RVRSDIR_NONE;
	own.send_size = 8192;
	send(Side::Server, { .htype = RPCRDMA2_CONNPROP_FINAL,
			     .xid = 0x50000001,
			     .body = property_set(own, server) });
}

void Connection::call(u32 xid, const Octets &rpc, const rpcrdma::Chunks &c,
		      u32 inv_handle)
{
	send(Side::Client, { .htype = RPCRDMA2_CALL_INLINE,
			     .xid = xid,
			     .payload = rpc,
			     .chunks = c,
			     .inv_handle = inv_handle });
}

void Connection::reply(u32 xid, const Octets &rpc, const rpcrdma::Chunks &c,
		       u32 invalidate)
{
	send(Side::Server,
	     { .htype = RPCRDMA2_REPLY_INLINE,
	       .xid = xid,
	       .payload = rpc,
	       .chunks = c },
	     invalidate);
}

void Connection::grant(Side from)
{
	send(from, { .htype = RPCRDMA2_GRANT });
}

void Connection::error(Side from, u32 xid, const rpcrdma::ErrorBody &e)
{
	send(from, { .htype = RPCRDMA2_ERROR, .xid = xid, .error = e });
}

} // namespace wireshark
