// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Writes the captures of the tests: the same octets each time.
 *
 *	captures DIRECTORY
 */
#include "message.h"

#include <cstdio>
#include <exception>
#include <functional>

#include "private_data.h"
#include "properties.h"

namespace wireshark
{

namespace
{

using rpcrdma::Chunks;
using rpcrdma::Segment;

/* Numbers of D8 and D19. */
constexpr u32 kInitXch = 0xffffff01;
constexpr u32 kReqXch = 0xffffff02;
constexpr u32 kRespXch = 0xffffff03;
constexpr u32 kUpdXch = 0xffffff04;
constexpr u32 kXmtReq = 0xffffff05;
constexpr u32 kXmtResp = 0xffffff06;
constexpr u32 kXmtCont = 0xffffff07;
constexpr u32 kReptErr = 0xffffff08;
constexpr u32 kPropExtensions = 0xffffff01;
constexpr u32 kPropReqRemInv = 0xffffff02;
constexpr u32 kPropRtrSupport = 0xffffff03;
constexpr u32 kPropBufferStructure = 0xffffff04;
constexpr u32 kPropReceiveLimit = 0xffffff05;
constexpr u32 kPropSendLimit = 0xffffff06;
constexpr u32 kPropHostAuth = 6;

const Octets kFileHandle = pattern(16);
/* MOUNT, version 3: EXPORT. */
constexpr u32 kMount = 100005, kExport = 5;

Octets number(u32 value)
{
	return Xdr().word(value).octets();
}

/* NFS version 3. */
constexpr u32 kNull = 0, kGetattr = 1, kReadlink = 5, kRead = 6, kWrite = 7,
	      kSymlink = 10;

Octets nfs3(u32 xid, u32 procedure, const Octets &arguments = {})
{
	return rpc_call(xid, kNfs, 3, procedure, arguments);
}

Octets read_call(u32 xid, u32 count)
{
	return nfs3(xid, kRead,
		    Xdr().opaque(kFileHandle).hyper(0).word(count).octets());
}

/* @data: what of it is inline. */
Octets read_reply(u32 xid, u32 count, const Octets &data)
{
	Octets rpc =
		rpc_reply(xid, Xdr().words({ 0, 0, count, 1, count }).octets());

	put(rpc, Xdr().fixed(data).octets());
	return rpc;
}

Octets write_call(u32 xid, u32 count, const Octets &data)
{
	Octets rpc = nfs3(xid, kWrite,
			  Xdr().opaque(kFileHandle)
				  .hyper(4096)
				  .words({ count, 2, count })
				  .octets());

	put(rpc, Xdr().fixed(data).octets());
	return rpc;
}

Octets write_reply(u32 xid, u32 count)
{
	return rpc_reply(xid,
			 Xdr().words({ 0, 0, 0, count, 2, 1, 2 }).octets());
}

Octets symlink_call(u32 xid, std::size_t length)
{
	return nfs3(xid, kSymlink,
		    Xdr().opaque(kFileHandle)
			    .opaque({ 'l', 'i', 'n', 'k' })
			    .words({ 0, 0, 0, 0, 0, 0 })
			    .opaque(pattern(length))
			    .octets());
}

Octets symlink_reply(u32 xid)
{
	return rpc_reply(xid, Xdr().words({ 0, 0, 0, 0, 0 }).octets());
}

Octets readlink_call(u32 xid)
{
	return nfs3(xid, kReadlink, Xdr().opaque(kFileHandle).octets());
}

Octets readlink_reply(u32 xid, std::size_t length)
{
	return rpc_reply(
		xid, Xdr().words({ 0, 0 }).opaque(pattern(length)).octets());
}

/* NFS version 4.1: SEQUENCE, PUTFH, READ. */
Octets compound_read_call(u32 xid, u32 count)
{
	return rpc_call(xid, kNfs, 4, 1,
			Xdr().words({ 0, 1, 3, 53 })
				.fixed(pattern(16))
				.words({ 7, 0, 0, 0, 22 })
				.opaque(kFileHandle)
				.words({ 25, 0, 0, 0, 0 })
				.hyper(0)
				.word(count)
				.octets());
}

Octets compound_read_reply(u32 xid, u32 count)
{
	return rpc_reply(xid, Xdr().words({ 0, 0, 3, 53, 0 })
				      .fixed(pattern(16))
				      .words({ 7, 0, 15, 15, 0 })
				      .words({ 22, 0, 25, 0, 1, count })
				      .octets());
}

Octets slice(const Octets &of, std::size_t from, std::size_t to)
{
	return { of.begin() + static_cast<std::ptrdiff_t>(from),
		 of.begin() + static_cast<std::ptrdiff_t>(to) };
}

Octets private_data(bool version2)
{
	const rpcrdma_cm_private p = { .send_size = 4096,
				       .recv_size = 4096,
				       .remote_inv = true,
				       .given = true,
				       .version2 = version2 };
	Octets out(RPCRDMA_CM_PRIVATE_SIZE);

	rpcrdma::encode_private_data(p,
				     { out.data(), RPCRDMA_CM_PRIVATE_SIZE });
	return out;
}

/* The parts of one RPC message of @type (CALL_INLINE or REPLY_INLINE). */
void send_parts(Connection &c, Side from, u32 type, u32 xid, const Octets &rpc,
		std::size_t size, bool grant_between = false)
{
	std::size_t at = 0;

	for (; rpc.size() - at > size; at += size) {
		const std::size_t end = at + size;
		c.send(from,
		       { .htype = type - 1,
			 .xid = xid,
			 .payload = slice(rpc, at, end),
			 .remaining = static_cast<u32>(rpc.size() - end) });
		if (grant_between && !at)
			c.grant(from);
	}
	c.send(from, { .htype = type,
		       .xid = xid,
		       .payload = slice(rpc, at, rpc.size()) });
}

/* -------------------------------------------------------------------- */

/* From the first packet to the last. */
void connection(InfiniBandWire &wire)
{
	Connection c(wire);

	wire.connect(private_data(true), private_data(true));
	c.open();
	c.call(0x11110001, nfs3(0x11110001, kNull));
	c.reply(0x11110001, rpc_reply(0x11110001));
	c.call(0x11110002,
	       nfs3(0x11110002, kGetattr, Xdr().opaque(kFileHandle).octets()));
	c.call(0x11110003, nfs3(0x11110003, kNull));
	c.reply(0x11110003, rpc_reply(0x11110003));
	c.grant(Side::Server);
	c.grant(Side::Client);
	/* A server that calls its client. */
	c.send(Side::Server,
	       { .htype = RPCRDMA2_CALL_INLINE,
		 .xid = 0x11110002,
		 .payload = rpc_call(0x11110002, kNfsCallback, 1, 0) });
	c.send(Side::Client, { .htype = RPCRDMA2_REPLY_INLINE,
			       .xid = 0x11110002,
			       .payload = rpc_reply(0x11110002) });
}

void properties(InfiniBandWire &wire)
{
	Connection c(wire);
	const rpcrdma_properties &own = rpcrdma::kDefaultProperties;
	const Octets structure =
		Xdr().words({ 5120, 2, 1, 1024, 4, 0, 1, 4096, 4096, 1 })
			.octets();

	c.send(Side::Client,
	       { .htype = RPCRDMA2_CONNPROP_MIDDLE,
		 .xid = 0xc0000001,
		 .body = property_set(own,
				      { { kPropHostAuth,
					  Xdr().opaque(pattern(20)).octets() },
					{ kPropExtensions, number(1) },
					{ kPropReqRemInv, number(1) } }) });
	c.send(Side::Server,
	       { .htype = RPCRDMA2_CONNPROP_MIDDLE,
		 .xid = 0x50000001,
		 .body = property_set(own,
				      { { kPropRtrSupport, number(7) },
					{ kPropBufferStructure, structure },
					{ kPropReceiveLimit, number(8) },
					{ kPropSendLimit, number(9) } }) });
	/* Unknown ones, and one that has its default. */
	c.send(Side::Client, { .htype = RPCRDMA2_CONNPROP_FINAL,
			       .xid = 0xc0000002,
			       .body = Xdr().words({ 3, 77 })
					       .opaque(pattern(6))
					       .words({ 0xffffff77, 0, 2, 0 })
					       .octets() });
	c.send(Side::Server, { .htype = RPCRDMA2_CONNPROP_FINAL,
			       .xid = 0x50000002,
			       .body = Xdr().word(0).octets() });
}

void errors(InfiniBandWire &wire)
{
	Connection c(wire);
	u32 xid = 0x22220001;

	c.open();
	for (u32 code = RPCRDMA2_ERR_BAD_XDR; code <= RPCRDMA2_ERR_SYSTEM;
	     code++) {
		if (!rpcrdma::error_type(code))
			continue;
		c.call(xid, nfs3(xid, kNull));
		const u32 first =
			code == RPCRDMA2_ERR_REPLY_RESOURCE ? 65536 : 3;
		c.error(Side::Server, xid++, { code, { first, 65536 } });
	}
	/* Nobody knows it, and the next one answers nothing. */
	c.send(Side::Server, { .htype = RPCRDMA2_ERROR,
			       .xid = xid,
			       .body = Xdr().words({ 55, 1, 2 }).octets() });
	c.error(Side::Server, 0x99999999, { RPCRDMA2_ERR_INVAL_CONT, {} });
	/* The Call that was refused comes again. */
	c.call(0x22220001, nfs3(0x22220001, kNull));
	c.reply(0x22220001, rpc_reply(0x22220001));
}

/* Data items by RDMA Read and RDMA Write. */
void chunks(Connection &c)
{
	const Octets data = pattern(1500);
	Chunks reads = {}, writes = {}, written = {}, two = {},
	       two_written = {};

	c.open();
	const Octets write = write_call(0x33330001, 1500, {});
	add_read(reads, static_cast<u32>(write.size()),
		 { 0xaa01, 1000, 0x10000 });
	add_read(reads, static_cast<u32>(write.size()),
		 { 0xaa02, 500, 0x20000 });
	c.call(0x33330001, write, reads, 0xaa01);
	c.wire().read(Side::Server, 0xaa01, 0x10000, slice(data, 0, 1000));
	c.wire().read(Side::Server, 0xaa02, 0x20000, slice(data, 1000, 1500));
	c.reply(0x33330001, write_reply(0x33330001, 1500), {}, 0xaa01);

	add_write(writes, { { 0xbb01, 4096, 0x30000 } });
	set_reply(writes, { { 0xbb02, 8192, 0x40000 } });
	c.call(0x33330002, read_call(0x33330002, 4096), writes, 0xbb01);
	c.wire().write(Side::Server, 0xbb01, 0x30000, data);
	add_write(written, { { 0xbb01, 1500, 0x30000 } });
	c.reply(0x33330002, read_reply(0x33330002, 1500, {}), written, 0xbb01);

	/* Two segments, by NFS version 4.1; the chunk after them is not used. */
	add_write(two,
		  { { 0xcc01, 1000, 0x50000 }, { 0xcc02, 1000, 0x60000 } });
	add_write(two, { { 0xcc03, 1000, 0x70000 } });
	c.call(0x33330003, compound_read_call(0x33330003, 2000), two);
	c.wire().write(Side::Server, 0xcc01, 0x50000, slice(data, 0, 1000));
	c.wire().write(Side::Server, 0xcc02, 0x60000, slice(data, 1000, 1300));
	add_write(two_written,
		  { { 0xcc01, 1000, 0x50000 }, { 0xcc02, 300, 0x60000 } });
	add_write(two_written, { { 0xcc03, 0, 0x70000 } });
	c.reply(0x33330003, compound_read_reply(0x33330003, 1300), two_written);

	/* An empty chunk; and of this Reply's data the capture has none. */
	two = {};
	add_write(two, {});
	add_write(two, { { 0xdd01, 3000, 0x80000 } });
	c.call(0x33330004, read_call(0x33330004, 3000), two);
	two.write_segs[0].length = 2997;
	c.reply(0x33330004, read_reply(0x33330004, 2997, {}), two);

	/* Of a program whose binding the dissector does not know. */
	Chunks unknown = {};
	add_write(unknown, { { 0xdd02, 8, 0x90000 } });
	c.call(0x33330005, rpc_call(0x33330005, kMount, 3, kExport), unknown);
	c.reply(0x33330005, rpc_reply(0x33330005, number(0)), unknown);
}

void continued(InfiniBandWire &wire)
{
	Connection c(wire);

	c.open();
	send_parts(c, Side::Client, RPCRDMA2_CALL_INLINE, 0x44440001,
		   write_call(0x44440001, 700, pattern(700)), 300, true);
	c.reply(0x44440001, write_reply(0x44440001, 700));
	c.call(0x44440002, read_call(0x44440002, 500));
	send_parts(c, Side::Server, RPCRDMA2_REPLY_INLINE, 0x44440002,
		   read_reply(0x44440002, 500, pattern(500)), 200);
}

/* The whole RPC message by RDMA. */
void special(Connection &c)
{
	const Octets call = symlink_call(0x55550001, 900);
	const Octets reply = readlink_reply(0x55550002, 900);
	const u32 half = 512;
	Chunks c1 = {}, c2 = {}, c3 = {};

	c.open();
	add_call(c1, { 0xee01, half, 0x10000 });
	add_call(c1, { 0xee02, static_cast<u32>(call.size()) - half, 0x20000 });
	c.send(Side::Client, { .htype = RPCRDMA2_CALL_EXTERNAL,
			       .xid = 0x55550001,
			       .chunks = c1,
			       .inv_handle = 0xee02 });
	c.wire().read(Side::Server, 0xee01, 0x10000, slice(call, 0, half));
	c.wire().read(Side::Server, 0xee02, 0x20000,
		      slice(call, half, call.size()));
	c.reply(0x55550001, symlink_reply(0x55550001));

	set_reply(c2, { { 0xee03, 4096, 0x30000 } });
	c.call(0x55550002, readlink_call(0x55550002), c2);
	c.wire().write(Side::Server, 0xee03, 0x30000, reply);
	set_reply(c3, { { 0xee03, static_cast<u32>(reply.size()), 0x30000 } });
	c.send(Side::Server, { .htype = RPCRDMA2_REPLY_EXTERNAL,
			       .xid = 0x55550002,
			       .chunks = c3 });
}

void xcharext(InfiniBandWire &wire)
{
	Connection c(wire);
	const auto control = [&](Side from, u32 htype, u32 xid,
				 const Xdr &body) {
		c.send(from,
		       { .htype = htype, .xid = xid, .body = body.octets() });
	};

	c.open({ { kPropExtensions, number(1) } },
	       { { kPropExtensions, number(1) } });
	control(Side::Client, kInitXch, 0x66660001,
		Xdr().words({ 2, 2, 4, 8192, kPropReqRemInv, 4, 1, 1, 2 }));
	control(Side::Client, kReqXch, 0x66660002,
		Xdr().words({ 3, 2, 4, 16384, 5, 4, 1, 77, 0 }));
	control(Side::Server, kRespXch, 0x66660002,
		Xdr().words({ 1, 1, 1, 4, 1, 2 }));
	control(Side::Server, kUpdXch, 0x66660003, Xdr().words({ 5, 4, 1, 1 }));
	control(Side::Server, kUpdXch, 0x66660004,
		Xdr().words({ 2, 4, 2048, 0 }));
}

/* Of a receiver's buffer: a segment of 512 octets, then one that data go to. */
const Octets kStructure =
	Xdr().words({ 1536, 2, 1, 512, 4, 0, 1, 1024, 1024, 1 }).octets();

void rtrext(InfiniBandWire &wire)
{
	Connection c(wire);
	const Octets data = pattern(600);
	const auto transmission = [&](Side from, u32 htype, u32 xid,
				      const Xdr &header, const Octets &payload,
				      const Octets &placed) {
		Octets body = header.octets();

		put(body, payload);
		if (!placed.empty()) {
			body.resize(512 - rpcrdma::kPrefixSize);
			put(body, placed);
		}
		c.send(from, { .htype = htype, .xid = xid, .body = body });
	};

	c.open({ { kPropRtrSupport, number(7) },
		 { kPropBufferStructure, kStructure } },
	       { { kPropRtrSupport, number(7) },
		 { kPropBufferStructure, kStructure },
		 { kPropReceiveLimit, number(4) },
		 { kPropSendLimit, number(4) } });

	/* A WRITE in one transmission, whose data are in a buffer segment. */
	const Octets write = write_call(0x77770001, 600, {});
	transmission(
		Side::Client, kXmtReq, 0x77770001,
		Xdr().words({ 1, static_cast<u32>(write.size()), 600, 2, 0, 1,
			      0, 0, 1, 1, static_cast<u32>(write.size()) }),
		write, data);
	transmission(Side::Server, kXmtResp, 0x77770001,
		     Xdr().words({ 0, 1, 52 }), write_reply(0x77770001, 600),
		     {});

	/* A READ: the requester lets the Responder choose; it takes two transmissions. */
	const Octets read = read_call(0x77770002, 1200);
	transmission(Side::Client, kXmtReq, 0x77770002,
		     Xdr().words({ 0,
				   1,
				   0,
				   0xffffffff,
				   3,
				   100,
				   3,
				   1,
				   0xff01,
				   1200,
				   0,
				   0x90000,
				   200,
				   4,
				   1000,
				   1,
				   0xff02,
				   1200,
				   0,
				   0xa0000,
				   300,
				   2,
				   1,
				   2,
				   static_cast<u32>(read.size()) }),
		     read, {});
	const Octets reply = read_reply(0x77770002, 600, {});
	transmission(Side::Server, kXmtResp, 0x77770002,
		     Xdr().words({ 3, static_cast<u32>(reply.size()), 600, 2, 0,
				   1, 1, 0, 0, 6, 0, 0, 5, 2, 20 }),
		     slice(reply, 0, 20), {});
	transmission(Side::Server, kXmtCont, 0x77770002,
		     Xdr().words({ 1, kXmtResp,
				   static_cast<u32>(reply.size()) - 20 }),
		     slice(reply, 20, reply.size()), data);

	/* What continues nothing, the wrong one, and one that is left off. */
	transmission(Side::Server, kXmtCont, 0x77770002,
		     Xdr().words({ 1, kXmtResp, 0 }), {}, {});
	const Octets null = nfs3(0x77770004, kNull);
	for (const u32 second : { 3, 2 }) {
		transmission(Side::Client, kXmtReq, 0x77770004,
			     Xdr().words({ 0, 0, 3, 0, 20 }),
			     slice(null, 0, 20), {});
		transmission(Side::Client, kXmtCont, 0x77770004,
			     Xdr().words({ 1, kXmtReq, 20 }),
			     slice(null, 20, 40), {});
		transmission(
			Side::Client, kXmtCont, 0x77770004,
			Xdr().words({ second, kXmtReq,
				      static_cast<u32>(null.size()) - 40 }),
			slice(null, 40, null.size()), {});
	}
	transmission(Side::Client, kXmtReq, 0x77770005,
		     Xdr().words({ 0, 0, 2, 0, 20 }),
		     slice(nfs3(0x77770005, kNull), 0, 20), {});

	/* By explicit RDMA. */
	Xdr explicit_rdma;
	explicit_rdma.words({ 1, static_cast<u32>(write.size()), 600, 1, 1,
			      0xff03, 600, 0, 0xb0000, 0, 1, 1,
			      static_cast<u32>(write.size()) });
	transmission(Side::Client, kXmtReq, 0x77770003, explicit_rdma,
		     write_call(0x77770003, 600, {}), {});
	wire.read(Side::Server, 0xff03, 0xb0000, data);
	c.send(Side::Server,
	       { .htype = kReptErr,
		 .xid = 0x77770003,
		 .body = Xdr().words({ 0x77770003, 0, 1, 1, 0x77770003, 0, 0, 7,
				       9, 0, 3 })
				 .octets() });
	c.send(Side::Server,
	       { .htype = kReptErr,
		 .xid = 0x77770003,
		 .body = Xdr().words({ 0x77770003, 0, 2, 0, 4, 1, 2 })
				 .octets() });
	c.send(Side::Server,
	       { .htype = kReptErr,
		 .xid = 0x77770003,
		 .body = Xdr().words({ 0x77770003, 1, 0, 0, 3 }).octets() });
	/* The others: expected and found, or a value with its least and most. */
	for (const auto &[code, words] :
	     { std::pair{ 1, std::vector<u32>{ 2, 3 } },
	       { 2, { 0, 7 } },
	       { 5, { 0x77770003, 0x77770004 } },
	       { 6, { 4096, 0, 2048 } },
	       { 8, { 40, 4, 32 } } }) {
		Xdr body;

		body.words({ 0x77770003, 0, 1, 0, static_cast<u32>(code) });
		for (const u32 word : words)
			body.words({ word });
		c.send(Side::Server, { .htype = kReptErr,
				       .xid = 0x77770003,
				       .body = body.octets() });
	}
}

/* What a peer must not send. */
void violations(InfiniBandWire &wire)
{
	Connection c(wire, 4);
	const Octets null = nfs3(0x88880001, kNull);
	u32 xid = 0x88880001;
	const auto next = [&] {
		return ++xid;
	};
	const auto null_call = [&] {
		return nfs3(xid, kNull);
	};
	const auto answer = [&] {
		c.grant(Side::Server);
	};

	c.open();
	/* More than the four credits. */
	for (int i = 0; i < 6; i++) {
		next();
		c.call(xid, null_call());
	}
	answer();
	/* Another type, another version, too short. */
	c.send(Side::Client, { .htype = 99, .xid = next(), .body = Octets() });
	c.send(Side::Client, { .htype = RPCRDMA2_CALL_INLINE,
			       .xid = next(),
			       .payload = null_call(),
			       .vers = 3 });
	c.send_octets(Side::Client, { 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 9 });
	answer();
	/* Lists that break off, that have no end, or that are no lists. */
	for (const std::initializer_list<u32> &words :
	     std::vector<std::initializer_list<u32>>{
		     { 0, 1, 0, 1, 2 },
		     { 0, 0, 1, 0xffffffff, 1, 2, 0, 3 },
		     { 0, 7, 0, 0 } }) {
		c.send(Side::Client, { .htype = RPCRDMA2_CALL_INLINE,
				       .xid = next(),
				       .body = Xdr().words(words).octets() });
		answer();
	}
	/* XIDs, directions, handles and positions that do not fit. */
	c.call(next(), null);
	answer();
	next();
	c.call(xid, rpc_reply(xid));
	answer();
	next();
	c.call(xid, null_call(), {}, 0x1234);
	answer();
	Chunks back = {};
	add_read(back, 80, { 1, 4, 0 });
	add_read(back, 40, { 2, 4, 0 });
	next();
	c.call(xid, null_call(), back);
	answer();
	Chunks odd = {};
	add_read(odd, 42, { 1, 4, 0 });
	next();
	c.call(xid, null_call(), odd);
	answer();
	Chunks far = {};
	add_read(far, 400000, { 1, 4, 0 });
	next();
	c.call(xid, null_call(), far);
	answer();
	/* External messages without the chunk for it. */
	c.send(Side::Client,
	       { .htype = RPCRDMA2_CALL_EXTERNAL, .xid = next() });
	c.send(Side::Server, { .htype = RPCRDMA2_REPLY_EXTERNAL, .xid = xid });
	answer();
	/* Octets behind a header that has no payload, and a value of a wrong size. */
	c.send(Side::Client,
	       { .htype = RPCRDMA2_GRANT, .xid = 5, .body = number(1) });
	answer();
	c.send(Side::Client, { .htype = RPCRDMA2_CONNPROP_FINAL,
			       .xid = next(),
			       .body = Xdr().words({ 1, 2, 3, 0 }).octets() });
	answer();
	/* Parts that do not belong together. */
	next();
	c.send(Side::Client, { .htype = RPCRDMA2_CALL_MIDDLE,
			       .xid = xid,
			       .payload = null_call(),
			       .remaining = 100 });
	c.send(Side::Client, { .htype = RPCRDMA2_CALL_MIDDLE,
			       .xid = xid,
			       .payload = null_call(),
			       .remaining = 90 });
	answer();
	c.send(Side::Client, { .htype = RPCRDMA2_CALL_MIDDLE,
			       .xid = next(),
			       .payload = null_call(),
			       .remaining = 100 });
	next();
	c.call(xid, null_call());
	answer();
	/* The same Call again, a Reply to none, and an RDMA handle of nobody. */
	c.call(xid, null_call());
	c.reply(0x12345678, rpc_reply(0x12345678));
	answer();
	wire.write(Side::Server, 0xdead, 0x1000, pattern(8));
	/* Invalidation of what was not offered, and by what is no Reply. */
	next();
	c.call(xid, null_call());
	c.reply(xid, rpc_reply(xid), {}, 0x1234);
	c.send(Side::Server, { .htype = RPCRDMA2_GRANT }, 0x1234);
	answer();
	/* Larger than the peer's Receive buffers, and chunks that it does not take. */
	next();
	c.call(xid, write_call(xid, 4200, pattern(4200)));
	Chunks large = {};
	next();
	add_read(large, static_cast<u32>(null_call().size()),
		 { 1, 2000000, 0 });
	c.call(xid, null_call(), large);
	Xdr many;
	many.words({ 0, 0, 1, 17 });
	for (u32 i = 0; i < 17; i++)
		many.words({ i, 4, 0, i });
	Octets body = many.words({ 0, 0 }).octets();
	next();
	put(body, null_call());
	c.send(Side::Client,
	       { .htype = RPCRDMA2_CALL_INLINE, .xid = xid, .body = body });
	answer();
	/* Version 1 after version 2. */
	next();
	c.send(Side::Client, { .htype = RPCRDMA1_MSG,
			       .xid = xid,
			       .payload = null_call(),
			       .vers = rpcrdma::kVersion1 });
	/* Fewer credits than before, and a limit that nobody can have. */
	c.offer(2);
	answer();
	c.send(Side::Server, { .htype = RPCRDMA2_GRANT, .credit = 0xfffffff0 });
}

/* To a server of version 1 alone, and back to version 2 on another connection. */
void fallback(Capture &capture)
{
	InfiniBandWire one(capture, Link::RoceIpv4),
		two(capture, Link::RoceIpv4, 1);
	Connection old(one), other(two);
	const auto version1 = [&](u32 xid) {
		old.send(Side::Client, { .htype = RPCRDMA1_MSG,
					 .xid = xid,
					 .payload = nfs3(xid, kNull),
					 .vers = rpcrdma::kVersion1,
					 .credit = 32 });
		old.send(Side::Server, { .htype = RPCRDMA1_MSG,
					 .xid = xid,
					 .payload = rpc_reply(xid),
					 .vers = rpcrdma::kVersion1,
					 .credit = 32 });
	};

	one.connect(private_data(false), private_data(false));
	two.connect(private_data(true), private_data(true));
	old.send(Side::Client,
		 { .htype = RPCRDMA2_CONNPROP_FINAL,
		   .xid = 0xc0000001,
		   .body = property_set(rpcrdma::kDefaultProperties, {}) });
	/* The kernel's own server echoes the version. */
	old.send(Side::Server, { .htype = RPCRDMA2_ERROR,
				 .xid = 0xc0000001,
				 .error = { RPCRDMA2_ERR_VERS, { 1, 1 } },
				 .credit = 32 });
	version1(0x99990001);
	other.open();
	other.call(0x99990002, nfs3(0x99990002, kNull));
	version1(0x99990003);
	/* Version 1 came last: Wireshark offers it this ERROR first. */
	other.error(Side::Server, 0x99990002, { RPCRDMA2_ERR_SYSTEM, {} });
	version1(0x99990004);
	old.send(Side::Server, { .htype = RPCRDMA2_ERROR,
				 .xid = 0x99990004,
				 .body = Xdr().word(2).octets(),
				 .vers = rpcrdma::kVersion1,
				 .credit = 32 });
	version1(0x99990005);
	other.send(Side::Client,
		   { .htype = 3, .xid = 0x99990006, .body = Octets() });
}

/* A client of the dialect of 2016, and a server that is one. */
void dialect(Capture &capture)
{
	InfiniBandWire one(capture, Link::RoceIpv4),
		two(capture, Link::RoceIpv4, 1);
	Connection client(one), server(two);
	const auto first = [&](u32 htype, u32 xid, const Octets &body) {
		client.send(Side::Client, { .htype = htype,
					    .xid = xid,
					    .body = body,
					    .credit = 32 });
		client.send(Side::Server,
			    { .htype = RPCRDMA2_ERROR,
			      .xid = xid,
			      .error = { RPCRDMA2_ERR_VERS, { 1, 1 } },
			      .credit = 64 });
	};
	const auto call = [](const Xdr &header, u32 xid) {
		Octets body = header.octets();

		put(body, nfs3(xid, kNull));
		return body;
	};

	one.connect(private_data(false), private_data(true));
	two.connect(private_data(true), private_data(false));
	/* With a Read chunk, Write chunks and a Reply chunk; then without. */
	first(0, 0xdddd0001,
	      call(Xdr().words({ 0, 1, 40, 0xa1, 8, 0, 0x1000, 0, 1, 1, 0xa2,
				 4096, 0, 0x2000, 0, 1, 1, 0xa3, 900, 0,
				 0x3000 }),
		   0xdddd0001));
	first(0, 0xdddd0002, call(Xdr().words({ 0, 0, 0, 0 }), 0xdddd0002));
	first(1, 0xdddd0003,
	      Xdr().words({ 0, 1, 0, 0xa4, 5000, 0, 0x4000, 0, 0, 0 }).octets());
	first(5, 0xdddd0004,
	      call(Xdr().words({ 0, 77 }).opaque(pattern(5)), 0xdddd0004));
	/* Its lists have no end. */
	client.send(Side::Client,
		    { .htype = 0,
		      .xid = 0xdddd0005,
		      .body = Xdr().words({ 0, 0, 1, 900 }).octets(),
		      .credit = 32 });
	/* It is refused; version 1 is not. */
	client.send(Side::Client, { .htype = RPCRDMA1_MSG,
				    .xid = 0xdddd0006,
				    .payload = nfs3(0xdddd0006, kNull),
				    .vers = rpcrdma::kVersion1,
				    .credit = 32 });
	client.send(Side::Server, { .htype = RPCRDMA1_MSG,
				    .xid = 0xdddd0006,
				    .payload = rpc_reply(0xdddd0006),
				    .vers = rpcrdma::kVersion1,
				    .credit = 32 });
	server.send(Side::Client,
		    { .htype = RPCRDMA2_CONNPROP_FINAL,
		      .xid = 0xc0000001,
		      .body = property_set(rpcrdma::kDefaultProperties, {}) });
	server.send(Side::Server, { .htype = RPCRDMA2_ERROR,
				    .xid = 0xc0000001,
				    .error = { RPCRDMA2_ERR_BAD_XDR, {} },
				    .credit = 32 });
}

/* Sends that take several packets; some are not in the capture or come twice. */
void packets(Capture &capture)
{
	InfiniBandWire wire(capture, Link::RoceIpv6);
	Connection c(wire);

	c.open();
	c.call(0xaaaa0001, write_call(0xaaaa0001, 3000, pattern(3000)));
	wire.again();
	c.reply(0xaaaa0001, write_reply(0xaaaa0001, 3000));
	wire.again();
	wire.lose(1);
	c.call(0xaaaa0002, write_call(0xaaaa0002, 3000, pattern(3000)));
	c.call(0xaaaa0003, nfs3(0xaaaa0003, kNull));
	c.reply(0xaaaa0003, rpc_reply(0xaaaa0003));
	wire.cut(100);
	c.call(0xaaaa0004, write_call(0xaaaa0004, 100, pattern(100)));
	c.reply(0xaaaa0004, write_reply(0xaaaa0004, 100));
	wire.cut(70);
	c.call(0xaaaa0005, nfs3(0xaaaa0005, kNull));
}

/* The capture begins in the middle, and there are two connections. */
void middle(Capture &capture)
{
	InfiniBandWire one(capture, Link::RoceIpv4),
		two(capture, Link::RoceIpv4, 1);
	Connection first(one), second(two);
	Chunks c = {};

	add_write(c, { { 0xab01, 100, 0x1000 } });
	first.call(0xbbbb0001, read_call(0xbbbb0001, 100), c);
	second.call(0xbbbb0002, nfs3(0xbbbb0002, kNull));
	two.write(Side::Server, 0xab02, 0x1000, pattern(100));
	one.write(Side::Server, 0xab01, 0x1000, pattern(100));
	first.reply(0xbbbb0001, read_reply(0xbbbb0001, 100, {}), c);
	second.reply(0xbbbb0002, rpc_reply(0xbbbb0002));
}

void iwarp(Capture &capture)
{
	IwarpWire wire(capture);
	Connection c(wire);

	wire.connect(private_data(true), private_data(true));
	chunks(c);
	c.call(0xcccc0001, write_call(0xcccc0001, 2000, pattern(2000)));
	c.reply(0xcccc0001, write_reply(0xcccc0001, 2000));
	wire.together();
	c.call(0xcccc0002, nfs3(0xcccc0002, kNull));
	c.call(0xcccc0003, nfs3(0xcccc0003, kNull));
	c.reply(0xcccc0003, rpc_reply(0xcccc0003));
	c.error(Side::Server, 0xcccc0002, { RPCRDMA2_ERR_SYSTEM, {} });
}

struct Named {
	const char *name;
	int link;
	std::function<void(Capture &)> write;
};

/* On RoCE over IPv4. */
template <typename F> std::function<void(Capture &)> roce(F f)
{
	return [f](Capture &capture) {
		InfiniBandWire wire(capture, Link::RoceIpv4);

		if constexpr (std::is_invocable_v<F, InfiniBandWire &>) {
			f(wire);
		} else {
			Connection c(wire);
			f(c);
		}
	};
}

void infiniband(Capture &capture)
{
	InfiniBandWire wire(capture, Link::InfiniBand);
	Connection c(wire);

	wire.connect(private_data(true), private_data(true));
	chunks(c);
	c.error(Side::Server, 0x33330009, { RPCRDMA2_ERR_SYSTEM, {} });
}

const Named kCaptures[] = {
	{ "connection", DLT_EN10MB, roce(connection) },
	{ "properties", DLT_EN10MB, roce(properties) },
	{ "errors", DLT_EN10MB, roce(errors) },
	{ "chunks", DLT_EN10MB, roce(chunks) },
	{ "continued", DLT_EN10MB, roce(continued) },
	{ "special", DLT_EN10MB, roce(special) },
	{ "xcharext", DLT_EN10MB, roce(xcharext) },
	{ "rtrext", DLT_EN10MB, roce(rtrext) },
	{ "violations", DLT_EN10MB, roce(violations) },
	{ "fallback", DLT_EN10MB, fallback },
	{ "dialect", DLT_EN10MB, dialect },
	{ "packets", DLT_EN10MB, packets },
	{ "middle", DLT_EN10MB, middle },
	{ "infiniband", DLT_ERF, infiniband },
	{ "iwarp", DLT_EN10MB, iwarp },
};

} // namespace

} // namespace wireshark

int main(int argc, char **argv)
{
	if (argc != 2) {
		std::fprintf(stderr, "usage: %s DIRECTORY\n", argv[0]);
		return 2;
	}
	try {
		for (const auto &c : wireshark::kCaptures) {
			wireshark::Capture capture(std::string(argv[1]) + "/" +
							   c.name + ".pcap",
						   c.link);
			c.write(capture);
		}
	} catch (const std::exception &e) {
		std::fprintf(stderr, "%s: %s\n", argv[0], e.what());
		return 1;
	}
	return 0;
}
