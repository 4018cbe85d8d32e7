// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "headers.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <unistd.h>

namespace peer
{

void refused(Peer &p, const Words &message, const Words &error)
{
	p.send(message);
	p.expect_error(message[0], error);
}

static u64 number_of(std::istream &&said, const std::string &name,
		     const std::string &word)
{
	std::string line;

	while (std::getline(said, line)) {
		std::istringstream words(line.substr(0, name.size()) == name ?
						 line.substr(name.size()) :
						 "");
		std::string w;
		u64 number = 0;

		while (words >> w)
			if (w == word && words >> number)
				return number;
	}
	return 0;
}

u64 total(const std::string &name, const std::string &word)
{
	std::ifstream file("/sys/kernel/debug/rpcrdma/totals");

	if (!file)
		throw Failure("no totals");
	return number_of(std::move(file), name, word);
}

std::string said_of(const Peer &p)
{
	const std::string end = ":" + std::to_string(p.link().port());
	const long until = now() + kPatience;

	/* The kernel makes the file soon after the connection. */
	for (; now() < until; usleep(10000))
		for (const auto &conn : std::filesystem::directory_iterator(
			     "/sys/kernel/debug/rpcrdma/conn")) {
			std::ifstream file(conn.path());
			std::ostringstream text;
			std::string name;

			std::getline(file, name);
			if (!name.ends_with(end))
				continue;
			text << name << "\n" << file.rdbuf();
			return text.str();
		}
	throw Failure("debugfs does not have the connection from " + end);
}

u64 number(const Peer &p, const std::string &name, const std::string &word)
{
	return number_of(std::istringstream(said_of(p)), name, word);
}

static std::string shown(const std::string &what)
{
	const char *program = std::getenv("RPCRDMACTL");
	const std::string command =
		std::string(program ? program : "rpcrdmactl") + " show " + what;
	const std::unique_ptr<FILE, int (*)(FILE *)> pipe(
		/* NOLINTNEXTLINE(cert-env33-c) */
		popen(command.c_str(), "r"), pclose);
	std::string all;
	char some[4096];

	if (!pipe)
		throw Failure("cannot run " + command);
	while (std::fgets(some, sizeof(some), pipe.get()))
		all += some;
	return all;
}

std::string details()
{
	return shown("--details");
}

u64 of_module(const std::string &name, const std::string &word)
{
	const std::string all = shown("module");

	if (all.find("  " + name) == std::string::npos)
		throw Failure("rpcrdmactl says of the module no " + name +
			      " in:\n" + all);
	return number_of(std::istringstream(all), "  " + name, word);
}

u64 detail(const Peer &p, const std::string &name, const std::string &word)
{
	const std::string from = ":" + std::to_string(p.link().port()) + " ";
	const std::string all = details();
	const size_t at = all.find(from);

	if (at == std::string::npos)
		throw Failure("rpcrdmactl does not have the connection from " +
			      from + "in:\n" + all);
	return number_of(std::istringstream(all.substr(at)), "  " + name, word);
}

void unknown_header_types(Peer &p)
{
	static constexpr u32 kUnknown[] = { 0,		1,	    2,
					    3,		14,	    15,
					    255,	0x7fffffff, 0xfffffeff,
					    0xfffffff0, 0xffffffff };
	const u64 n = sizeof(kUnknown) / sizeof(kUnknown[0]);
	const u64 received = total("messages ?", "received");
	const u64 refusals = total("refused", "htype:");

	for (u32 htype : kUnknown)
		refused(p,
			unit::prefix(p.new_xid(), htype) +
				null_call(p.new_xid()),
			{ RPCRDMA2_ERR_INVAL_HTYPE });
	/* They have no name, and are counted none the less; none is ever sent. */
	if (total("messages ?", "received") != received + n ||
	    total("refused", "htype:") != refusals + n)
		throw Failure("unknown types are not counted");
	if (total("messages ?", "sent"))
		throw Failure("an unknown type has been sent");

	/* Those of an extension that this peer has not announced have names. */
	for (u32 htype = 0xffffff01; htype <= 0xffffff04; htype++)
		refused(p,
			unit::prefix(p.new_xid(), htype) +
				null_call(p.new_xid()),
			{ RPCRDMA2_ERR_INVAL_HTYPE });
}

void other_versions(Peer &p)
{
	for (u32 vers : { 0u, 1u, 3u, 0xffffffffu }) {
		const u32 xid = p.new_xid();
		Words call = unit::call_inline(xid, null_call(xid));

		call[1] = vers;
		p.send(call);
		p.expect_error(xid, { RPCRDMA2_ERR_VERS_MISMATCH }, vers);
	}
}

void other_discriminators(Peer &p)
{
	const u32 xid = p.new_xid();
	const Words head = unit::prefix(xid, RPCRDMA2_CALL_INLINE);
	const Words call = null_call(xid);

	refused(p, head + Words{ 0, 2, 0, 0 } + call, kBadXdr);
	refused(p, head + Words{ 0, 0, 0xffffffff, 0 } + call, kBadXdr);
	refused(p, head + Words{ 0, 0, 0, 2 } + call, kBadXdr);
}

/* Bytes that are no message of this connection's credit scheme. */
static Octets with_credit(Peer &p, Words message)
{
	message[2] = p.received() + Peer::kWindow;
	return unit::octets(message);
}

static void say(Peer &p, const Octets &octets)
{
	if (!p.send_as_is(octets))
		throw Failure("the connection is gone");
}

void less_than_a_prefix(Peer &p)
{
	const Octets whole =
		with_credit(p, unit::prefix(p.new_xid(), RPCRDMA2_CALL_INLINE));

	for (u32 length : { 0, 1, 4, 8, 12, 15 })
		say(p, Octets(whole.begin(), whole.begin() + length));
	p.expect_silence();
}

void no_whole_words(Peer &p)
{
	const u32 xid = p.new_xid();

	p.send(call_header(xid, {}), Octets(41));
	p.expect_error(xid, kBadXdr);
	p.send(call_header(xid, {}));
	p.expect_error(xid, kBadXdr);
}

void payload_where_there_is_none(Peer &p)
{
	const u32 xid = p.new_xid();

	refused(p,
		call_external(xid, { { 0xb1, 40, 0, 0x1000 } }) +
			null_call(xid),
		kBadXdr);
	p.send(unit::prefix(0, RPCRDMA2_GRANT) + null_call(xid));
	p.send(unit::prefix(xid, RPCRDMA2_ERROR) +
	       Words{ RPCRDMA2_ERR_BAD_XDR } + null_call(xid));
	p.expect_silence();
}

void another_xid_inside(Peer &p)
{
	const u32 xid = p.new_xid();

	refused(p, unit::call_inline(xid, null_call(xid + 1)), kBadXdr);
	refused(p, unit::middle(RPCRDMA2_CALL_MIDDLE, xid, 36, { xid + 1 }),
		kBadXdr);
}

void another_type_inside(Peer &p)
{
	const u32 xid = p.new_xid();
	Words reply = null_call(xid);

	reply[1] = RPCRDMA_REPLY;
	refused(p, unit::call_inline(xid, reply), kBadXdr);
	/* No Call of this side's has that XID, so nobody is told. */
	p.send(unit::reply_inline(xid, null_call(xid)));
	p.expect_silence();
}

void control_messages(Peer &p)
{
	p.send_grant();
	for (u32 code : { u32{ RPCRDMA2_ERR_BAD_XDR }, 0x7777u })
		p.send(unit::prefix(p.new_xid(), RPCRDMA2_ERROR) +
		       Words{ code });
}

void properties_again(Peer &p)
{
	for (u32 htype : { RPCRDMA2_CONNPROP_MIDDLE, RPCRDMA2_CONNPROP_FINAL })
		refused(p, unit::connprop(p.new_xid(), { 0 }, htype),
			kInvalCont);
}

std::vector<unit::Golden> goldens(u32 htype)
{
	std::vector<unit::Golden> found;

	for (const unit::Golden &g : unit::goldens())
		if (g.htype == htype)
			found.push_back(g);
	return found;
}

/* Others are dropped. */
static bool is_answered(u32 htype)
{
	return htype == RPCRDMA2_CALL_INLINE || htype == RPCRDMA2_CALL_MIDDLE ||
	       htype == RPCRDMA2_CALL_EXTERNAL;
}

void cut_short(Peer &p, const unit::Golden &g)
{
	const u32 end = static_cast<u32>(4 * g.header.size());

	for (u32 length = 16; length < end; length += 4)
		for (u32 more : { 0, 1 }) {
			Words header = g.header;

			/* What is left of a refused one is dropped. */
			header[0] = p.new_xid();
			Octets o = with_credit(p, header);
			o.resize(length + more);
			/* Room for the answers first. */
			while (p.credit() < 2)
				if (!p.poll(kPatience))
					throw Failure("no credit comes");
			say(p, o);
			if (is_answered(g.htype))
				p.expect_error(header[0], kBadXdr);
		}
}

} // namespace peer
