// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "nfs.h"

#include <fstream>
#include <iterator>
#include <unistd.h>

namespace peer
{

static const std::string kExport = "/export/";
const char Nfs::kLink[] = "where/ever";

static Octets opaque(const Octets &o)
{
	Octets out = unit::octets({ static_cast<u32>(o.size()) });

	out.insert(out.end(), o.begin(), o.end());
	out.resize((out.size() + 3) & ~3UL);
	return out;
}

static void append(Octets &to, const Octets &o)
{
	to.insert(to.end(), o.begin(), o.end());
}

Compound &Compound::op(const Words &w)
{
	append(octets_, unit::octets(w));
	ops_++;
	return *this;
}

Compound &Compound::root()
{
	return op({ kPutrootfh });
}

Compound &Compound::lookup(const std::string &name)
{
	op({ kLookup });
	append(octets_, opaque(Octets(name.begin(), name.end())));
	return *this;
}

/* FATTR4_SIZE alone */
Compound &Compound::getattr()
{
	return op({ kGetattr, 1, 1 << 4 });
}

/* FATTR4_MAXREAD and FATTR4_MAXWRITE */
Compound &Compound::largest()
{
	return op({ kGetattr, 1, 3U << 30 });
}

Compound &Compound::read(u64 offset, u32 count)
{
	return op({ kRead, 0, 0, 0, 0, static_cast<u32>(offset >> 32),
		    static_cast<u32>(offset), count });
}

Compound &Compound::readlink()
{
	return op({ kReadlink });
}

Compound &Compound::remove(const std::string &name)
{
	op({ kRemove });
	append(octets_, opaque(Octets(name.begin(), name.end())));
	return *this;
}

Compound &Compound::write(u64 offset, u32 length)
{
	return op({ kWrite, 0, 0, 0, 0, static_cast<u32>(offset >> 32),
		    static_cast<u32>(offset), 0, length });
}

Compound &Compound::data(const Octets &octets)
{
	append(octets_, octets);
	octets_.resize((octets_.size() + 3) & ~3UL);
	return *this;
}

/* AUTH_SYS as root; no tag, minor version 0. */
Words Compound::header(u32 xid, u32 ops)
{
	return { xid, RPCRDMA_CALL, 2, 100003, 4, 1,
		 /* credential and verifier */
		 1, 20, 0, 0, 0, 0, 0, 0, 0, 0, 0, ops };
}

u32 Compound::position() const
{
	return static_cast<u32>(4 * header(0, 0).size() + octets_.size());
}

Octets Compound::message(u32 xid) const
{
	Octets o = unit::octets(header(xid, ops_));

	append(o, octets_);
	return o;
}

Octets Nfs::data(u32 offset, u32 length)
{
	Octets o;

	for (u32 i = offset; i < offset + length && i < kSize; i++)
		o.push_back(static_cast<u8>(i * 7 + (i >> 8) * 13));
	return o;
}

void Nfs::prepare()
{
	static bool done;

	if (done)
		return;
	const Octets content = data(0, kSize);
	std::ofstream(kExport + "data", std::ios::binary)
		.write(reinterpret_cast<const char *>(content.data()),
		       static_cast<long>(content.size()));
	const std::ofstream empty(kExport + "empty");
	unlink((kExport + "link").c_str());
	if (symlink(kLink, (kExport + "link").c_str()))
		throw Failure("no symbolic link");
	done = true;
}

void Nfs::create(const std::string &name)
{
	std::ofstream(kExport + name, std::ios::trunc);
}

Octets Nfs::written(const std::string &name)
{
	std::ifstream file(kExport + name, std::ios::binary);

	return Octets(std::istreambuf_iterator<char>(file), {});
}

u32 Nfs::send(const Compound &c, const Lists &lists, u32 inv_handle)
{
	const u32 xid = peer_.new_xid();

	peer_.send(call_header(xid, lists, inv_handle), c.message(xid));
	return xid;
}

Rpc Nfs::call(const Compound &c, const Lists &lists, u32 inv_handle)
{
	return peer_.reply(send(c, lists, inv_handle));
}

std::vector<Result> Nfs::results(const Octets &stream,
				 const std::vector<bool> &reduced)
{
	std::vector<Result> all;
	u32 at = 0, data = 0;
	const auto word = [&] {
		if (4 * (at + 1) > stream.size())
			throw Failure("a Reply is too short");
		return unit::word_at(stream, at++);
	};

	const auto octets = [&](u32 length) {
		if (4 * at + length > stream.size())
			throw Failure("a Reply is too short");
		const auto begin = stream.begin() + 4 * at;

		at += (length + 3) / 4;
		return Octets(begin, begin + length);
	};

	/* xid, REPLY, accepted, verifier, success */
	at = 1;
	for (const u32 expected : { 1, 0, 0, 0, 0 })
		if (word() != expected)
			throw Failure("an RPC was not accepted");
	word(); /* status of the last operation */
	if (word())
		throw Failure("there is a tag in a Reply");
	for (u32 n = word(); n; n--) {
		Result r = {};

		r.op = word();
		r.status = word();
		if (r.status) {
			all.push_back(r);
			continue;
		}
		if (r.op == kRead)
			word(); /* eof */
		if (r.op == kRead || r.op == kReadlink) {
			r.length = word();
			const bool here =
				data >= reduced.size() || !reduced[data];

			data++;
			if (here)
				r.data = octets(r.length);
		} else if (r.op == kWrite) {
			r.length = word();
			at += 3;
		} else if (r.op == kGetattr) {
			at += word(); /* bitmap */
			r.length = word();
			r.data = octets(r.length);
		}
		all.push_back(r);
	}
	if (4 * at != stream.size())
		throw Failure("a Reply is too long");
	return all;
}

Octets Nfs::read_result(const Rpc &reply)
{
	const std::vector<Result> all = results(reply.stream);

	if (all.empty() || all.back().status)
		throw Failure(
			"READ failed with status " +
			std::to_string(all.empty() ? 0 : all.back().status));
	return all.back().data;
}

u32 Session::numbers;

Session::Session(Peer &peer, u32 minor, std::function<void(const Rpc &)> take)
	: peer_(peer)
	, minor_(minor)
	, take_(std::move(take))
	, number_(++numbers)
{
	Words r = call({ { kExchangeId, number_, 0, 4, number_, 0, 0, 0 } });

	client_ = unit::slice(r, 8, 8);
	r = call({ Words{ kCreateSession } + unit::slice(r, 8, 12) +
		   Words{ 2 } + channel(65536, 16) + channel(kCallback, 1) +
		   /* program, AUTH_SYS as root */
		   Words{ kProgram, 1, 1, 0, 0, 0, 0, 0 } });
	id_ = unit::slice(r, 8, 16);
}

Words Session::channel(u32 octets, u32 requests)
{
	return { 0, octets, octets, 0, 16, requests, 0 };
}

Words Session::compound(const std::vector<Words> &ops, const Lists &lists)
{
	std::vector<Words> all = { Words{ kSequence } + id_ +
				   Words{ ++sequence_, 0, 0, 0 } };

	all.insert(all.end(), ops.begin(), ops.end());
	return call(all, lists);
}

Words Session::call(const std::vector<Words> &ops, const Lists &lists)
{
	const u32 xid = peer_.new_xid();
	Words message = { xid, 0, 2, 100003, 4, 1,
			  /* AUTH_SYS as root, no tag */
			  1, 20, 0, 0, 0, 0, 0, 0, 0, 0, minor_,
			  static_cast<u32>(ops.size()) };

	for (const Words &op : ops)
		message = message + op;
	peer_.send(call_header(xid, lists), unit::octets(message));
	while (reply_ = peer_.next_rpc(), reply_.word(1) != 1)
		take_(reply_);
	const Words w = words(reply_.stream);
	/* accepted, verifier, success; status, tag, count */
	if (reply_.xid != xid || w.size() < 10 || w[6] || w[7])
		throw Failure("a COMPOUND failed");
	return Words(w.begin() + 9, w.end());
}

} // namespace peer
