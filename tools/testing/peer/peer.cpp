// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "peer.h"

#include <rpcrdma/names.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace peer
{

/*
 * Where no earlier run of this program has been: the kernel remembers some. The guest's kernel
 * is asked, not the processor, whose random numbers are others in a replay.
 */
std::atomic<u32> Peer::last_xid =
	std::random_device("/dev/urandom")() & 0x7fffffff;

static constexpr u32 kPrefix = 4;

u32 Message::word(u32 index) const
{
	if (octets.size() < 4 * (index + 1))
		throw Failure("message too short: " + describe());
	return unit::word_at(octets, index);
}

Words Message::words(u32 index) const
{
	const Words all = peer::words(octets);

	return index < all.size() ? Words(all.begin() + index, all.end()) :
				    Words{};
}

static std::string describe_octets(const Octets &o)
{
	std::string s;
	char hex[16];

	if (o.size() >= 16) {
		s = std::to_string(unit::word_at(o, 3));
		if (unit::word_at(o, 1) == 2)
			s = rpcrdma_htype_name(unit::word_at(o, 3));
		s += ":";
	}
	for (u32 i = 0; i < o.size() / 4 && i < 16; i++) {
		std::snprintf(hex, sizeof(hex), " %x", unit::word_at(o, i));
		s += hex;
	}
	return s + " (" + std::to_string(o.size()) + " octets)";
}

std::string Message::describe() const
{
	return describe_octets(octets);
}

Words words(const Octets &octets)
{
	Words w;

	for (u32 i = 0; i < octets.size() / 4; i++)
		w.push_back(unit::word_at(octets, i));
	return w;
}

Peer Peer::connect(u32 receive_size, u32 receives, int patience,
		   const std::function<bool()> &more)
{
	const char *address = std::getenv("SERVER4");

	return Peer(std::make_unique<Link>(address ? address : "192.0.2.1",
					   kPort, receive_size, receives,
					   patience, more));
}

Peer Peer::open(const Words &set, u32 receive_size)
{
	Peer p = connect(receive_size);

	p.send(unit::connprop(p.new_xid(), set));
	p.take_properties(p.next());
	return p;
}

void Peer::take_properties(const Message &m)
{
	if (m.htype() != RPCRDMA2_CONNPROP_FINAL)
		fail("expected CONNPROP_FINAL, not " + m.describe());
	u32 at = kPrefix + 1;
	for (u32 count = m.word(kPrefix); count; count--) {
		const u32 length = m.word(at + 1);

		if (length == 4)
			properties_.emplace_back(m.word(at), m.word(at + 2));
		at += 2 + (length + 3) / 4;
	}
	if (m.octets.size() != 4 * at)
		fail("property set does not end with " + m.describe());
}

u32 Peer::property(u32 which) const
{
	for (const auto &[number, value] : properties_)
		if (number == which)
			return value;
	fail("no property " + std::to_string(which));
}

bool Peer::speaks(u32 htype) const
{
	for (const auto &[first, types] : spoken_)
		if (htype - first < types)
			return true;
	return false;
}

void Peer::learn(u32 which, u32 value)
{
	std::erase_if(properties_,
		      [which](const auto &p) { return p.first == which; });
	properties_.emplace_back(which, value);
}

std::string Peer::story() const
{
	std::string s;

	for (const std::string &line : story_)
		s += "\n  " + line;
	return s;
}

void Peer::fail(const std::string &what) const
{
	throw Failure(what + (link_->alive() ? "" : " (connection ended)") +
		      story());
}

void Peer::note(const char *what, const Octets &message)
{
	story_.push_back(what + describe_octets(message));
	if (story_.size() > 12)
		story_.pop_front();
}

bool Peer::send_as_is(const Octets &message, std::optional<u32> invalidate)
{
	note("sent ", message);
	sent_++;
	return link_->send(message, invalidate);
}

void Peer::await_credit()
{
	const long end = now() + kPatience;

	while (credit() <= 0) {
		const std::optional<Message> m = arrival(100);

		if (m && m->htype() != RPCRDMA2_GRANT)
			waiting_.push_back(*m);
		if (!link_->alive() || now() > end)
			fail("no credit to send");
	}
}

bool Peer::put(const Words &header, const Octets &payload,
	       std::optional<u32> invalidate)
{
	Words w = header;

	if (version_ == 2) {
		await_credit();
		w[2] = credit_word();
	}
	Octets o = unit::octets(w);
	o.insert(o.end(), payload.begin(), payload.end());
	return send_as_is(o, invalidate);
}

void Peer::send(const Words &header, const Octets &payload,
		std::optional<u32> invalidate)
{
	if (!put(header, payload, invalidate))
		fail("cannot send");
}

void Peer::send_last(const Words &header, const Octets &payload,
		     std::optional<u32> invalidate)
{
	put(header, payload, invalidate);
}

void Peer::send(const Words &message)
{
	send(message, {});
}

void Peer::send_grant()
{
	if (!send_as_is(unit::octets(
		    unit::prefix(0, RPCRDMA2_GRANT, credit_word()))))
		fail("cannot send");
}

/*
 * What was granted is not taken back, and no more is than a device could ever
 * post (D1). The credit word of an ERROR to another version means something
 * else, and so does that of an ERROR about version 2 once version 1 is spoken.
 */
void Peer::take_credit(const Message &m)
{
	if (m.octets.size() < 16)
		fail("received less than a prefix");
	if (m.vers() != 2 || version_ == 1)
		return;
	if (static_cast<s32>(m.credit() - limit_) < 0 ||
	    static_cast<s32>(m.credit() - sent_) > 4096)
		fail("credit word makes no sense after " +
		     std::to_string(sent_) + " sent, limit " +
		     std::to_string(limit_));
	limit_ = m.credit();
}

std::optional<Message> Peer::poll(int ms)
{
	if (waiting_.empty())
		return arrival(ms);
	const Message m = waiting_.front();

	waiting_.pop_front();
	return m;
}

std::optional<Message> Peer::arrival(int ms)
{
	std::optional<Arrival> a = link_->receive(ms);

	if (!a)
		return {};
	Message m = { std::move(a->octets), a->invalidated };
	note("got ", m.octets);
	received_++;
	take_credit(m);
	if (m.htype() == RPCRDMA2_GRANT) {
		grants_++;
		if (m.xid() || m.octets.size() != 16)
			fail("malformed GRANT");
	}
	if (m.vers() == 2 &&
	    (m.htype() < RPCRDMA2_ERROR || m.htype() > RPCRDMA2_REPLY_INLINE) &&
	    !speaks(m.htype()))
		fail("nobody has announced this type: " + m.describe());
	return m;
}

Message Peer::next(int ms)
{
	const long end = now() + ms;

	for (;;) {
		std::optional<Message> m =
			poll(static_cast<int>(std::max(0L, end - now())));

		if (!m)
			fail("no message came");
		if (m->htype() != RPCRDMA2_GRANT)
			return *m;
	}
}

void Peer::expect_error(u32 xid, const Words &body, u32 vers)
{
	const Message m = next();

	if (m.vers() != vers || m.htype() != RPCRDMA2_ERROR)
		fail("expected an ERROR, not " + m.describe());
	if (m.xid() != xid)
		fail("expected an ERROR about another XID");
	if (m.words(kPrefix) != body)
		fail("expected ERROR " + describe_octets(unit::octets(body)));
	if (m.invalidated)
		fail("an ERROR invalidates nothing (section 6.5)");
}

void Peer::expect_silence(int ms)
{
	const long end = now() + ms;

	for (;;) {
		const long left = end - now();
		const std::optional<Message> m =
			poll(static_cast<int>(std::max(0L, left)));

		if (!m)
			break;
		if (m->htype() != RPCRDMA2_GRANT)
			fail("expected nothing, not " + m->describe());
		if (m->invalidated)
			fail("a GRANT invalidates nothing (section 6.5)");
	}
	if (!link_->alive())
		fail("expected nothing");
}

void Peer::expect_closed(int ms)
{
	if (!link_->closed(ms))
		fail("the connection goes on");
}

void Peer::expect_works()
{
	const u32 xid = new_xid();

	send(unit::call_inline(xid, null_call(xid)));
	if (!is_null_reply(reply(xid)))
		fail("a NULL call has another answer");
}

/* Takes apart a header, word by word. */
class Reader {
public:
	explicit Reader(const Message &m)
		: m_(m)
	{
	}
	u32 word()
	{
		return m_.word(at_++);
	}
	bool boolean()
	{
		const u32 w = word();

		if (w > 1)
			throw Failure("no boolean: " + m_.describe());
		return w;
	}
	Segment segment()
	{
		const u32 handle = word();
		const u32 length = word();
		const u64 high = word();

		return { handle, length, high << 32 | word() };
	}
	std::vector<std::pair<u32, Segment>> reads()
	{
		std::vector<std::pair<u32, Segment>> list;

		while (boolean()) {
			const u32 position = word();

			list.emplace_back(position, segment());
		}
		return list;
	}
	Chunk chunk()
	{
		Chunk c;

		for (u32 n = word(); n; n--)
			c.push_back(segment());
		return c;
	}
	std::vector<Chunk> writes()
	{
		std::vector<Chunk> list;

		while (boolean())
			list.push_back(chunk());
		return list;
	}
	[[nodiscard]] Octets rest() const
	{
		return Octets(m_.octets.begin() + 4 * at_, m_.octets.end());
	}

private:
	const Message &m_;
	u32 at_ = kPrefix;
};

Rpc Peer::next_rpc(int ms)
{
	return rpc_from(next(ms));
}

/* The Call chunk is where the Read list says so (RFC 8166, section 3.5). */
Rpc Peer::rpc_from_version1(const Message &m) const
{
	Rpc rpc;
	Reader r(m);

	rpc.xid = m.xid();
	rpc.pieces = 1;
	rpc.largest = static_cast<u32>(m.octets.size());
	for (const auto &read : r.reads())
		(read.first ? rpc.reads : rpc.call).push_back(read);
	rpc.writes = r.writes();
	if (r.boolean())
		rpc.reply = r.chunk();
	rpc.external = m.htype() == RPCRDMA1_NOMSG;
	rpc.stream = r.rest();
	if (rpc.external != rpc.stream.empty() ||
	    rpc.external == rpc.call.empty())
		fail("no good RPC message: " + m.describe());
	if (!rpc.external && rpc.word(0) != rpc.xid)
		fail("rdma_xid is not that of the RPC message");
	return rpc;
}

Rpc Peer::rpc_from(Message first)
{
	Rpc rpc;
	u32 remaining = 0;

	if (version_ == 1)
		return rpc_from_version1(first);
	for (Message m = std::move(first);; m = next()) {
		const u32 type = m.htype();
		const bool call = type <= RPCRDMA2_CALL_INLINE;
		Reader r(m);

		if (m.vers() != 2 || type < RPCRDMA2_CALL_EXTERNAL ||
		    type > RPCRDMA2_REPLY_INLINE)
			fail("expected an RPC message, not " + m.describe());
		if (rpc.pieces && m.xid() != rpc.xid)
			fail("expected the rest of a message");
		rpc.xid = m.xid();
		rpc.pieces++;
		rpc.largest = std::max(rpc.largest,
				       static_cast<u32>(m.octets.size()));
		if (type == RPCRDMA2_CALL_MIDDLE ||
		    type == RPCRDMA2_REPLY_MIDDLE) {
			const u32 left = r.word();
			const Octets part = r.rest();

			if (m.invalidated || part.empty() || part.size() % 4)
				fail("no good part of a message");
			if (rpc.pieces > 1 && left + part.size() != remaining)
				fail("rdma_remaining is wrong");
			remaining = left;
			rpc.stream.insert(rpc.stream.end(), part.begin(),
					  part.end());
			/* A message may be longer than the window. */
			if (!frozen_ && rpc.pieces % 16 == 0 && credit() >= 0)
				send_grant();
			continue;
		}

		if (call)
			rpc.inv_handle = r.word();
		if (type == RPCRDMA2_CALL_EXTERNAL)
			rpc.call = r.reads();
		if (call)
			rpc.reads = r.reads();
		rpc.writes = r.writes();
		if ((call || type == RPCRDMA2_REPLY_EXTERNAL) && r.boolean())
			rpc.reply = r.chunk();
		rpc.external = type == RPCRDMA2_CALL_EXTERNAL ||
			       type == RPCRDMA2_REPLY_EXTERNAL;
		const Octets part = r.rest();
		if (rpc.external ? !part.empty() || rpc.pieces > 1 :
				   part.empty() || part.size() % 4)
			fail("no good end of a message");
		if (rpc.pieces > 1 && part.size() != remaining)
			fail("rdma_remaining was wrong");
		rpc.stream.insert(rpc.stream.end(), part.begin(), part.end());
		if (!rpc.external && rpc.word(0) != rpc.xid)
			fail("rdma_xid is not that of the RPC message");
		if (!rpc.external && rpc.word(1) != (call ? 0 : 1))
			fail("header type is not that of the RPC message");
		rpc.invalidated = m.invalidated;
		return rpc;
	}
}

Rpc Peer::reply(u32 xid)
{
	Rpc rpc = next_rpc();

	if (rpc.xid != xid)
		fail("expected a Reply to another Call");
	return rpc;
}

Lists &Lists::read(u32 position, const Words &segment)
{
	reads = reads + Words{ 1, position } + segment;
	return *this;
}

static Words chunk(const std::vector<Words> &segments)
{
	Words w = { static_cast<u32>(segments.size()) };

	for (const Words &s : segments)
		w = w + s;
	return w;
}

Lists &Lists::write(const std::vector<Words> &segments)
{
	writes = writes + Words{ 1 } + chunk(segments);
	return *this;
}

Lists &Lists::reply_chunk(const std::vector<Words> &segments)
{
	reply = Words{ 1 } + chunk(segments);
	return *this;
}

Words Lists::done() const
{
	return reads + Words{ 0 } + writes + Words{ 0 } +
	       (reply.empty() ? Words{ 0 } : reply);
}

Words call_header(u32 xid, const Lists &lists, u32 inv_handle)
{
	return unit::prefix(xid, RPCRDMA2_CALL_INLINE) + Words{ inv_handle } +
	       lists.done();
}

Words call_external(u32 xid, const std::vector<Words> &call, const Lists &lists,
		    u32 inv_handle)
{
	Words list;

	for (const Words &s : call)
		list = list + Words{ 1, 0 } + s;
	return unit::prefix(xid, RPCRDMA2_CALL_EXTERNAL) + Words{ inv_handle } +
	       list + Words{ 0 } + lists.done();
}

Words null_call(u32 xid)
{
	return { xid, RPCRDMA_CALL, 2, 100003, 4, 0, 0, 0, 0, 0 };
}

bool is_null_reply(const Rpc &reply)
{
	return !reply.external &&
	       words(reply.stream) == Words{ reply.xid, 1, 0, 0, 0, 0 };
}

} // namespace peer
