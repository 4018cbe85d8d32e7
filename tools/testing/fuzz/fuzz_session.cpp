// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * A session between a caller that keeps the rules of core.h and a peer that may
 * send anything. The input chooses the next step of both; messages of the peer are
 * also built from choices, so most messages pass the checks of the prefix.
 *
 * The harness keeps its own numbers, and checks with them: what core.h promises about
 * struct rpcrdma_rx, rpcrdma_tx and rpcrdma_session_info; that messages are put
 * together without a hole; that each granted credit has a Receive, and only granted
 * credits are used; that a caller that sleeps until the core says "send" misses nothing.
 *
 * Another build has extensions, which both sides may announce and use. Choices that mean
 * something there mean another thing here; all others are the same.
 */
#include "abi.h"
#include "extension.h"
#include "fuzz.h"
#include "layout.h"
#include "properties.h"
#include "wire.h"
#include "xdr.h"

#include <rpcrdma/core.h>

#include <algorithm>
#include <vector>

using namespace rpcrdma;
using fuzz::Choices;

namespace
{

constexpr u32 kMaxMessage = 1 << 16;
/* In the build without the extensions of the tests neither side announces any. */
#ifdef RPCRDMA_TEST_EXTENSIONS
constexpr bool kExtended = true;
#else
constexpr bool kExtended = false;
#endif
constexpr u32 kOtherTypes = Extensions::kTypes - Extensions::kBaseTypes;

s32 ahead(u32 a, u32 b)
{
	return static_cast<s32>(a - b);
}

Segment segment(Choices &in)
{
	return { in.octet(), in.number(), in.octet() };
}

rpcrdma_config configuration(Choices &in)
{
	rpcrdma_config c = {};
	const u8 what = in.octet();

	c.role = what & 1 ? RPCRDMA_ROLE_SERVER : RPCRDMA_ROLE_CLIENT;
	c.extensions = kExtended && what & 2 ? RPCRDMA_ALL_EXTENSIONS : 0;
	c.window = RPCRDMA_MIN_WINDOW + in.up_to(20);
	c.max_message = kMaxMessage;
	c.max_read_chunks = in.up_to(4);
	c.max_write_chunks = in.up_to(4);
	c.first_xid = 0xf1;
	c.ddp_threshold = in.number();
	c.special_threshold = in.number();
	c.reserve = in.up_to(1);
	c.local.send_size = RPCRDMA_MIN_RECV_SIZE + in.number() % 4096;
	c.local.recv_size = RPCRDMA_MIN_RECV_SIZE + in.number() % 4096;
	c.local.max_segment_size = 1 | in.number();
	c.local.max_segments = in.up_to(16);
	c.local.reverse = in.up_to(3);
	/* Version 2 alone, both, or version 1 alone. */
	c.min_version = in.octet() < 0x80 ? kVersion2 : kVersion1;
	c.max_version = in.octet() < 0xe0 ? kVersion2 : c.min_version;
	return c;
}

/* -------------------------------------------------------------------- */
/* What the peer sends                                                  */
/* -------------------------------------------------------------------- */

/* Of a message that is being put together here. */
struct Partial {
	bool active;
	u32 xid;
	u32 at;
	u32 total;
};

class Message {
public:
	void word(u32 v)
	{
		octets_.resize(octets_.size() + 4);
		store_be32(&octets_[octets_.size() - 4], v);
	}
	void segment(Choices &in)
	{
		const Segment s = ::segment(in);

		word(s.handle);
		word(s.length);
		word(0);
		word(static_cast<u32>(s.offset));
	}
	void reads(Choices &in, bool call)
	{
		u32 position = 0;

		for (u32 n = in.octet(); n & 1; n >>= 1) {
			if (!call)
				position += 4 * in.up_to(15);
			word(1);
			word(position);
			segment(in);
		}
		word(0);
	}
	void write_chunk(Choices &in)
	{
		const u32 n = in.up_to(2);

		word(n);
		for (u32 i = 0; i < n; i++)
			segment(in);
	}
	void writes(Choices &in)
	{
		for (u32 n = in.octet(); n & 1; n >>= 1) {
			word(1);
			write_chunk(in);
		}
		word(0);
	}
	void reply(Choices &in)
	{
		const bool there = in.flip();

		word(there);
		if (there)
			write_chunk(in);
	}
	void properties(Choices &in)
	{
		const u32 n = in.up_to(4);

		word(n);
		for (u32 i = 0; i < n; i++) {
			const u8 which = in.octet();
			const bool other = kExtended && which >= 0xe0;

			word(other ? other_property(which) : which % 8);
			word(4);
			word(other && in.flip() ? UINT32_MAX : in.number());
		}
	}
	/* A header of an extension, with its own words before and after a payload. */
	void other(Choices &in, const HeaderType &type, u32 xid,
		   const Partial &p)
	{
		const u32 at = size();

		for (u32 n = type.payload ? 1 : in.up_to(20); n; n--)
			word(in.flip() ? in.up_to(8) :
			     in.flip() ? other_property(in.octet()) :
					 in.number());
		if (!type.payload)
			return;
		payload(in, xid, type.direction(), p);
		if (in.octet() < 0xe0)
			store_be32(&octets_[at], size() - at - 4);
		for (u32 n = in.up_to(2); n; n--)
			word(in.number());
	}
	void error(Choices &in)
	{
		const u32 code = in.up_to(13);

		word(code == 13 ? u32{ RPCRDMA2_ERR_SYSTEM } : code);
		for (u32 n = in.up_to(2); n; n--)
			word(in.number());
	}
	void payload(Choices &in, u32 xid, u32 dir, const Partial &p)
	{
		u32 words = 1 + in.number() % 300;

		/* What would end the message that is under way. */
		if (p.active && in.flip())
			words = (p.total - p.at) / 4;
		for (u32 i = 0; i < words; i++)
			word(i == 0 ? xid : i == 1 ? dir : i);
	}
	[[nodiscard]] u32 size() const
	{
		return static_cast<u32>(octets_.size());
	}
	std::vector<u8> &octets()
	{
		return octets_;
	}

private:
	/* Those of extensions, and the one that announces. */
	[[nodiscard]] static u32 other_property(u32 choice)
	{
		constexpr u32 n = Extensions::kProperties - kBaseProperties;

		return kPropertyTypes[kBaseProperties + (n ? choice % n : 0)]
			.id;
	}

	std::vector<u8> octets_;
};

/* -------------------------------------------------------------------- */
/* A Call or Reply of this side                                         */
/* -------------------------------------------------------------------- */

struct Outgoing {
	rpcrdma_message msg;
	Chunks chunks;
};

Outgoing outgoing(Choices &in)
{
	Outgoing o = {};
	Chunks &c = o.chunks;
	u32 position = 0;
	u32 body = 0;

	o.msg.xid = in.up_to(3);
	o.msg.dir = rpcrdma_dir{ in.up_to(1) };
	o.msg.length = 4 * in.number();
	o.msg.call_only = in.octet() > 0xf0;
	o.msg.probe = in.octet() > 0xe0;
	if (in.flip())
		return o;
	for (u32 n = in.up_to(3); n; n--)
		c.reads[c.n_reads++] = { position += 4 * in.up_to(20),
					 segment(in) };
	for (u32 n = in.up_to(2); n; n--) {
		c.writes[c.n_writes++] = { in.up_to(2), c.n_write_segs };
		for (u32 i = 0; i < c.writes[c.n_writes - 1].count; i++)
			c.write_segs[c.n_write_segs++] = segment(in);
	}
	c.has_reply = in.flip();
	if (c.has_reply) {
		c.reply = { 1, c.n_write_segs };
		c.write_segs[c.n_write_segs++] = segment(in);
	}
	o.msg.external = in.flip();
	for (u32 n = o.msg.external ? in.up_to(2) : 0; n; n--) {
		c.call[c.n_call] = segment(in);
		body += c.call[c.n_call++].length;
	}
	if (o.msg.external && in.flip()) {
		o.msg.length = body;
		if (o.msg.dir == RPCRDMA_REPLY && c.has_reply)
			o.msg.length = c.write_segs[c.n_write_segs - 1].length;
	}
	if (in.flip() && c.n_reads)
		o.msg.inv_handle = c.reads[0].target.handle;
	return o;
}

/* -------------------------------------------------------------------- */
/* The caller                                                           */
/* -------------------------------------------------------------------- */

class Caller {
public:
	explicit Caller(Choices &in)
		: in_(in)
		, config_(configuration(in))
		, local_(config_.local)
		, posted_(config_.window + 1)
		, buffer_(config_.local.send_size)
	{
		/* Any content will do. */
		std::memset(&s_, 0xa5, sizeof(s_));
		FUZZ_CHECK(rpcrdma_session_init(&s_, &config_));
		if constexpr (kExtended)
			fuzz::Extension::declare(s_, config_.local.recv_size);
		/* Who offers version 1 alone has nothing to agree on. */
		opened_ = client() && config_.max_version == kVersion1;
	}

	void run()
	{
		check();
		while (!in_.empty() && !gone_) {
			step();
			check();
		}
	}

private:
	void step()
	{
		const u8 choice = in_.octet();

		if (kExtended && choice >= 0xe0)
			return act();
		switch (choice % 16) {
		case 0:
		case 1:
		case 2:
		case 3:
		case 4:
			if (posted_)
				receive();
			break;
		case 5:
		case 6:
		case 7:
		case 8:
			send();
			break;
		case 9:
		case 10:
			release();
			break;
		case 11:
			begin();
			break;
		case 12:
			if (in_.octet() < 0xc0)
				set_window();
			else
				private_data();
			break;
		case 13:
			end_call();
			break;
		case 14:
			refuse();
			break;
		case 15:
			/* As most callers do it, but not 4 GiB at once. */
			for (u32 n = 0; n < 100 && !gone_ && send(); n++)
				;
			break;
		}
	}

	/* ------------------------------------------------------------ */

	std::vector<u8> from_peer()
	{
		Message m;
		u32 xid = in_.up_to(4);
		const u32 kind = in_.octet();

		if (kind == 0xff) { /* anything */
			m.octets().resize(in_.number() % 2048);
			m.octets().resize(
				in_.take(m.octets().data(), m.octets().size()));
			return m.octets();
		}
		if (kind == 0xfe)
			return from_2016_peer(xid);
		const u32 htype = kind > 0xf0 ? in_.word() : some_type(kind);
		const HeaderType *type = header_type(htype);
		const u32 dir = type ? type->direction() : RPCRDMA_CALL;

		if (xid == 4)
			xid = config_.first_xid;
		if (type && type->payload && partial_[dir].active && in_.flip())
			xid = partial_[dir].xid;
		const u8 vers = in_.octet();
		if (vers < 0xf0 && config_.min_version == kVersion1 &&
		    (vers & 1 || info().version == kVersion1))
			return from_version1_peer(xid);
		m.word(xid);
		m.word(vers < 0xf0 ? 2 : in_.up_to(3));
		m.word(in_.octet() < 0xf0 ? info().sent + in_.up_to(20) :
					    in_.word());
		m.word(htype);
		if (type)
			body(m, *type, xid);
		/* And now and then something is wrong with it. */
		if (in_.octet() > 0xe0 && m.size()) {
			if (in_.flip())
				m.octets()[in_.number() % m.size()] ^=
					in_.octet();
			else
				m.octets().resize(in_.number() %
						  (m.size() + 8));
		}
		return m.octets();
	}

	[[nodiscard]] static u32 some_type(u8 choice)
	{
		if constexpr (kExtended)
			if (choice > 0xc0)
				return type_at(RPCRDMA_TYPE_UNKNOWN + 1 +
					       choice % kOtherTypes)
					->htype;
		return 4 + choice % 10;
	}

	std::vector<u8> from_version1_peer(u32 xid)
	{
		const u32 proc =
			in_.octet() < 0xe0 ? in_.up_to(1) : in_.up_to(5);
		const u32 dir = in_.up_to(1);
		Message m;

		m.word(xid);
		m.word(kVersion1);
		m.word(in_.number());
		m.word(proc);
		if (proc == RPCRDMA2_ERROR) {
			m.error(in_);
		} else {
			m.reads(in_,
				proc == RPCRDMA1_NOMSG && dir == RPCRDMA_CALL);
			m.writes(in_);
			m.reply(in_);
		}
		if (proc == RPCRDMA1_MSG)
			m.payload(in_, xid, dir, {});
		if (in_.octet() > 0xe0)
			m.octets()[in_.number() % m.size()] ^= in_.octet();
		return m.octets();
	}

	/* MSG, NOMSG, or OPTIONAL with so many octets. */
	std::vector<u8> from_2016_peer(u32 xid)
	{
		const u32 proc = in_.up_to(2);
		const u32 dir = in_.up_to(1);
		Message m;

		m.word(xid);
		m.word(kVersion2);
		m.word(in_.number());
		m.word(proc < 2 ? proc : kOptional2016);
		m.word(dir);
		if (proc < 2) {
			m.reads(in_,
				proc == RPCRDMA1_NOMSG && dir == RPCRDMA_CALL);
			m.writes(in_);
			m.reply(in_);
		} else {
			m.word(in_.octet());
			m.word(4 * in_.up_to(3));
		}
		if (proc != RPCRDMA1_NOMSG)
			m.payload(in_, xid, dir, {});
		if (in_.octet() > 0xe0)
			m.octets()[in_.number() % m.size()] ^= in_.octet();
		return m.octets();
	}

	void body(Message &m, const HeaderType &type, u32 xid)
	{
		const u16 f = type.fields;
		const u32 dir = type.direction();
		const Partial &p = partial_[dir];
		const u32 at = m.size();

		if constexpr (kExtended) {
			std::vector<u32> words;

			if (type.extension &&
			    fuzz::Extension::body(type.htype, xid, in_, words)) {
				for (const u32 w : words)
					m.word(w);
				return;
			}
		}
		if (type.extension)
			return m.other(in_, type, xid, p);
		if (f & kFieldError)
			m.error(in_);
		if (f & kFieldProperties)
			m.properties(in_);
		if (f & (kFieldRemaining | kFieldInvHandle))
			m.word(f & kFieldInvHandle ? in_.octet() & 0x83 : 0);
		if (f & kFieldCall)
			m.reads(in_, true);
		if (f & kFieldReads)
			m.reads(in_, false);
		if (f & kFieldWrites)
			m.writes(in_);
		if (f & kFieldReply)
			m.reply(in_);
		if (!type.payload)
			return;
		m.payload(in_, xid, dir, p);
		if (f & kFieldRemaining) {
			const u32 octets = m.size() - at - 4;

			store_be32(&m.octets()[at],
				   p.active && in_.octet() < 0xe0 ?
					   p.total - p.at - octets :
					   4 * in_.number());
		}
	}

	void receive()
	{
		const std::vector<u8> octets = from_peer();
		const fuzz::Exact copy(octets.data(), octets.size());
		const Bytes in = copy.bytes();
		const struct rpcrdma_session_info before = info();
		const u32 in_use = extensions_in_use();
		rpcrdma_rx rx;
		Prefix p = {};

		std::memset(&rx, 0x5a, sizeof(rx));
		posted_--;
		held_++;
		rpcrdma_session_receive(&s_, in.data(), in.size(), &rx);

		const bool whole = decode_prefix(in, p);
		check_rx(rx, in, whole ? p : Prefix{});
		if (closed_)
			return;
		if constexpr (kExtended) {
			if (extension_.received(rx, in, in_use))
				local_ = info().local;
			extension_.reported(s_, rx);
		}
		received_++;
		push();
		if (whole && (p.vers != 2 || config_.max_version == kVersion1))
			other_versions_ = true;
		check_dialect(rx, in, p, before.version);
		check_overrun(rx, p, whole, before.version);
		if (rx.opened) {
			FUZZ_CHECK(!opened_);
			opened_ = true;
		}
		bool carried = false;
		if constexpr (kExtended)
			carried = extension_.carried(rx, in);
		if (rx.abandon && !carried) {
			FUZZ_CHECK(partial_[rx.dir].active);
			partial_[rx.dir].active = false;
		}
		if (rx.action == RPCRDMA_RX_PAYLOAD && !carried)
			take(rx);
		if (rx.action == RPCRDMA_RX_CLOSE) {
			closed_ = true;
			reason_ = rx.reason;
		}
		if (rx.kick)
			asleep_ = false;
	}

	void check_rx(const rpcrdma_rx &rx, Bytes in, const Prefix &p)
	{
		FUZZ_CHECK(rx.action <= RPCRDMA_RX_CLOSE);
		FUZZ_CHECK(rx.reason < RPCRDMA_REASON_COUNT);
		FUZZ_CHECK(rx.reason != RPCRDMA_REASON_INVARIANT);
		FUZZ_CHECK(!rx.reason == !rx.detail);
		FUZZ_CHECK(rx.dir <= RPCRDMA_REPLY);
		FUZZ_CHECK(well_formed(rx.chunks) || !rx.last);
		if (closed_) {
			FUZZ_CHECK(rx.action == RPCRDMA_RX_CLOSE);
			FUZZ_CHECK(rx.reason == reason_);
			FUZZ_CHECK(!rx.kick && !rx.abandon && !rx.opened);
			return;
		}
		if (rx.reason != RPCRDMA_REASON_EARLY || !client()) {
			FUZZ_CHECK(rx.xid == word_of(p.xid) &&
				   rx.vers == p.vers);
			FUZZ_CHECK(rx.htype == p.htype);
		}
		if (rx.action == RPCRDMA_RX_FAIL_RPC)
			FUZZ_CHECK(rx.error < 0 && rx.errcode);
		else if (rx.action != RPCRDMA_RX_CLOSE)
			FUZZ_CHECK(!rx.error && (!rx.errcode ||
						 rx.htype == RPCRDMA2_ERROR));
		FUZZ_CHECK(!rx.reported || rx.htype == RPCRDMA2_ERROR);
		FUZZ_CHECK(rx.reported || (!rx.errargs[0] && !rx.errargs[1]));
		FUZZ_CHECK(!rx.opened || rx.action == RPCRDMA_RX_PAYLOAD ||
			   rx.action == RPCRDMA_RX_CONTROL);
		switch (rx.action) {
		case RPCRDMA_RX_DROP:
		case RPCRDMA_RX_CLOSE:
			FUZZ_CHECK(rx.reason);
			break;
		case RPCRDMA_RX_CONTROL:
			FUZZ_CHECK(!rx.reason);
			break;
		case RPCRDMA_RX_FAIL_RPC:
			FUZZ_CHECK(rx.reported || rx.reason);
			break;
		case RPCRDMA_RX_PAYLOAD:
			FUZZ_CHECK(!rx.reason && !rx.abandon);
			FUZZ_CHECK(u64{ rx.payload.offset } +
					   rx.payload.length <=
				   in.size());
			FUZZ_CHECK(rx.payload.length || rx.external ||
				   rx.type > RPCRDMA_TYPE_UNKNOWN);
			break;
		}
	}

	/* What a client sends in it before a version is agreed on, and nothing else. */
	void check_dialect(const rpcrdma_rx &rx, Bytes in, const Prefix &p,
			   u32 version)
	{
		Chunks c;
		const bool its = !client() && !version &&
				 config_.max_version == kVersion2 &&
				 of_2016(in, p, c);

		if (client())
			return;
		FUZZ_CHECK(its || rx.reason != RPCRDMA_REASON_DIALECT);
		if (!its)
			return;
		FUZZ_CHECK(rx.reason == RPCRDMA_REASON_DIALECT ||
			   rx.reason == RPCRDMA_REASON_FLOOD);
		FUZZ_CHECK(!info().version);
		FUZZ_CHECK(rx.type == RPCRDMA_TYPE_UNKNOWN);
		other_versions_ = true;
	}

	/* The peer knows the largest credit word that was sent, and no more. */
	void check_overrun(const rpcrdma_rx &rx, const Prefix &p, bool whole,
			   u32 version)
	{
		const bool counts = version || !whole || p.vers == 2;
		const bool grant =
			whole && p.vers == 2 && p.htype == RPCRDMA2_GRANT;
		const bool over = ahead(received_, told_) > (grant ? 1 : 0);

		if (other_versions_ || !counts || info().version == kVersion1 ||
		    rx.reason == RPCRDMA_REASON_EARLY)
			return;
		FUZZ_CHECK(over == (rx.action == RPCRDMA_RX_CLOSE &&
				    rx.reason == RPCRDMA_REASON_CREDIT));
	}

	/* Parts follow one another without a gap, up to what was announced. */
	void take(const rpcrdma_rx &rx)
	{
		Partial &p = partial_[rx.dir];

		FUZZ_CHECK(rx.stream_length && xdr_aligned(rx.stream_length));
		FUZZ_CHECK(rx.stream_length <= kMaxMessage);
		if (rx.external) {
			FUZZ_CHECK(!p.active && rx.last && !rx.payload.length);
			FUZZ_CHECK(body_length(rx.chunks, rx.dir) ==
				   rx.stream_length);
		} else if (p.active) {
			FUZZ_CHECK(rx.xid == p.xid);
			FUZZ_CHECK(rx.stream_offset == p.at);
			FUZZ_CHECK(rx.stream_length == p.total);
		} else {
			FUZZ_CHECK(!rx.stream_offset);
			p = { true, rx.xid, 0, rx.stream_length };
		}
		p.at += rx.payload.length;
		FUZZ_CHECK(rx.external || p.at <= p.total);
		FUZZ_CHECK(rx.external || rx.last == (p.at == p.total));
		if (!rx.last)
			return;
		p.active = false;
		FUZZ_CHECK(handle_known(rx.chunks, rx.inv_handle));
		FUZZ_CHECK(rx.unreduced_length >= rx.stream_length);
		FUZZ_CHECK(rx.unreduced_length <= kMaxMessage);
		fuzz::check_layout(rx.chunks, rx.stream_length,
				   rx.unreduced_length);
		if (rx.dir == RPCRDMA_CALL)
			check_limits(rx.chunks);
	}

	void check_limits(const Chunks &c)
	{
		u32 chunks = 0;

		for (u32 i = 0; i < c.n_reads; i++)
			chunks += !i || c.reads[i].position !=
						c.reads[i - 1].position;
		FUZZ_CHECK(chunks <= config_.max_read_chunks);
		FUZZ_CHECK(c.n_writes <= config_.max_write_chunks);
		if (!client() && info().version == kVersion2)
			FUZZ_CHECK(total_segments(c) <=
					   local_.max_segments &&
				   segments_within(
					   c, local_.max_segment_size));
		else if (!client())
			return;
		else if (local_.reverse < RPCRDMA_RVRSDIR_GENL)
			FUZZ_CHECK(!c.n_call && !c.n_reads && !c.n_writes &&
				   !c.has_reply);
	}

	/* ------------------------------------------------------------ */

	/* True if something was sent. */
	bool send()
	{
		rpcrdma_message *msg = has_message_ ? &current_.msg : nullptr;
		const struct rpcrdma_session_info before = info();
		const u32 in_use = extensions_in_use();
		const rpcrdma_session session = s_;
		const u32 already = msg ? msg->sent : 0;
		rpcrdma_tx tx;

		if (msg &&
		    (current_.chunks.n_call || current_.msg.external ||
		     current_.chunks.n_reads || current_.chunks.n_writes ||
		     current_.chunks.has_reply))
			msg->chunks = &current_.chunks;
		const u32 result = next(msg, tx);

		asleep_ = result == RPCRDMA_TX_NONE ||
			  result == RPCRDMA_TX_BLOCKED;
		if (closed_)
			FUZZ_CHECK(result == RPCRDMA_TX_NONE);
		if (result == RPCRDMA_TX_BLOCKED)
			FUZZ_CHECK(msg || !before.peer_credits);
		if (result == RPCRDMA_TX_INVALID) {
			FUZZ_CHECK(msg);
			FUZZ_CHECK(!std::memcmp(&session, &s_, sizeof(s_)));
			FUZZ_CHECK(msg->sent == already);
			has_message_ = false;
			/* What the peer has a part of cannot be taken back. */
			gone_ = already > 0;
			return false;
		}
		if (result == RPCRDMA_TX_REFUSED) {
			/* It is over, and another may begin. */
			FUZZ_CHECK(msg && msg->dir == RPCRDMA_CALL && already);
			FUZZ_CHECK(msg->sent == already);
			has_message_ = false;
			return false;
		}
		if (asleep_)
			return false;
		sent_++;
		if constexpr (kExtended)
			extension_.sent(tx,
					Bytes(buffer_.data(), tx.header_length),
					in_use);
		check_sent(result, tx, before, msg, already);
		if (result == RPCRDMA_TX_MESSAGE && tx.last) {
			if (msg->dir == RPCRDMA_CALL && calls_.size() < 8)
				calls_.push_back(current_);
			has_message_ = false;
		}
		return true;
	}

	u32 next(rpcrdma_message *msg, rpcrdma_tx &tx)
	{
		return rpcrdma_session_next_send(
			&s_, msg, buffer_.data(),
			static_cast<u32>(buffer_.size()), &tx);
	}

	void check_sent(u32 result, const rpcrdma_tx &tx,
			const struct rpcrdma_session_info &before,
			const rpcrdma_message *msg, u32 already)
	{
		/* In version 1 a peer may leave open how much it takes. */
		const bool bare = before.version == kVersion1 && !told_size_ &&
				  msg && msg->dir == RPCRDMA_REPLY;
		const u32 max = tx.htype == RPCRDMA2_CONNPROP_FINAL ? 1024 :
				bare ? before.local.send_size :
				       before.max_send;
		std::vector<u8> octets(buffer_.begin(),
				       buffer_.begin() + tx.header_length);
		Header h;
		Chunks c;

		FUZZ_CHECK(tx.header_length <= buffer_.size());
		FUZZ_CHECK(tx.header_length + tx.payload.length <= max);
		const bool version1 = before.version == kVersion1;

		/* In version 1 only Calls need credit. */
		if (tx.htype != RPCRDMA2_GRANT &&
		    !(version1 && (result == RPCRDMA_TX_CONTROL ||
				   msg->dir == RPCRDMA_REPLY)))
			FUZZ_CHECK(before.peer_credits);
		octets.resize(octets.size() + tx.payload.length);
		const Bytes out(octets.data(), static_cast<u32>(octets.size()));
		FUZZ_CHECK(decode_prefix(out, h.prefix));
		h.type = header_type(tx.htype);
		FUZZ_CHECK(h.prefix.htype == tx.htype);
		FUZZ_CHECK(h.prefix.xid == to_xid(tx.xid));
		if (version1 && result == RPCRDMA_TX_MESSAGE) {
			/* The RPC message's own words say what it is. */
			if (tx.payload.length == kWordSize)
				return;
			if (tx.payload.length)
				store_be32(
					&octets[tx.header_length + kWordSize],
					msg->dir);
			FUZZ_CHECK(decode_body_v1(out, h, c) == Parse::Ok);
		} else if (h.type && h.type->kind == Kind::Connprop) {
			check_properties(out.after(kPrefixSize));
		} else if (h.type && h.type->kind == Kind::Extension) {
			/* Its body is its own. */
		} else {
			FUZZ_CHECK(h.type);
			FUZZ_CHECK(decode_body(out, kNoLimits, h, c) ==
				   Parse::Ok);
		}
		if (h.prefix.vers == 2)
			check_credit(h.prefix.credit);
		else if (h.prefix.vers == kVersion1 && before.version != 2)
			FUZZ_CHECK(h.prefix.credit <= before.window);
		if (result == RPCRDMA_TX_CONTROL) {
			FUZZ_CHECK(!h.type->payload && !tx.payload.length);
			/* Between the parts of a message goes nothing else. */
			FUZZ_CHECK(!already || tx.htype == RPCRDMA2_GRANT);
			FUZZ_CHECK(h.type->kind < Kind::Call);
			return;
		}

		FUZZ_CHECK(result == RPCRDMA_TX_MESSAGE && msg && opened_);
		FUZZ_CHECK(h.prefix.vers == before.version);
		FUZZ_CHECK(h.prefix.xid == to_xid(msg->xid));
		FUZZ_CHECK(h.type->direction() == msg->dir);
		FUZZ_CHECK(tx.first == !already);
		FUZZ_CHECK(tx.last == h.type->last);
		FUZZ_CHECK(tx.last == (msg->sent == msg->length));
		FUZZ_CHECK(msg->external == h.type->external());
		if (!msg->external) {
			FUZZ_CHECK(tx.payload.offset == already);
			FUZZ_CHECK(tx.payload.length == msg->sent - already);
			FUZZ_CHECK(h.remaining == msg->length - msg->sent);
		}
		if (tx.last && msg->dir == RPCRDMA_CALL) {
			FUZZ_CHECK(total_segments(c) <= before.max_segments);
			FUZZ_CHECK(segments_within(c, before.max_segment_size));
		}
		check_reverse(*msg, before, c);
	}

	void check_reverse(const rpcrdma_message &msg,
			   const struct rpcrdma_session_info &before,
			   const Chunks &c) const
	{
		u32 level =
			client() ? before.local.reverse : before.peer.reverse;

		if (before.version == kVersion1 && level)
			level = RPCRDMA_RVRSDIR_SIMPLE;

		if (client() != (msg.dir == RPCRDMA_REPLY))
			return;
		FUZZ_CHECK(level != RPCRDMA_RVRSDIR_NONE);
		FUZZ_CHECK(level != RPCRDMA_RVRSDIR_SIMPLE ||
			   msg.sent == msg.length);
		FUZZ_CHECK(level == RPCRDMA_RVRSDIR_GENL || no_chunks(c));
	}

	void check_properties(Bytes set)
	{
		Properties p = kDefaultProperties;

		FUZZ_CHECK(decode_properties(set, p) == PropertyParse::Ok);
		const rpcrdma_properties &base = p;
		FUZZ_CHECK(!std::memcmp(&base, &config_.local, sizeof(base)));
		FUZZ_CHECK(config_.extensions || set.size() == kPropertiesSize);
	}

	/* Nothing is taken back, and there is a Receive for each message. */
	void check_credit(u32 credit)
	{
		FUZZ_CHECK(ahead(credit, told_) >= 0 || other_versions_);
		FUZZ_CHECK(ahead(credit, received_) <
			   static_cast<s32>(posted_));
		if (ahead(credit, told_) > 0)
			told_ = credit;
	}

	/* ------------------------------------------------------------ */

	void release()
	{
		for (u32 n = in_.up_to(7) + 1; n && held_; n--) {
			held_--;
			if (rpcrdma_session_retire(&s_))
				continue;
			free_++;
			push();
		}
	}

	/* Those that wait to be posted together. */
	void push()
	{
		const u32 count = free_;

		if (!count || rpcrdma_session_may_wait(&s_, count))
			return;
		free_ = 0;
		posted_ += count;
		if (rpcrdma_session_release(&s_, count)) {
			FUZZ_CHECK(!closed_);
			asleep_ = false;
		}
	}

	void begin()
	{
		if (has_message_)
			return;
		current_ = outgoing(in_);
		has_message_ = true;
		asleep_ = false;
	}

	void private_data()
	{
		u8 data[12];
		const size_t size = in_.take(data, sizeof(data));
		rpcrdma_cm_private p;

		rpcrdma_cm_private_decode(data, static_cast<u32>(size), &p);
		rpcrdma_session_private(&s_, &p);
		told_size_ = p.given;
	}

	void set_window()
	{
		const u32 window = RPCRDMA_MIN_WINDOW + in_.up_to(40);
		const u32 before = info().window;

		if (closed_)
			return;
		if (window > before)
			posted_ += window - before;
		if (rpcrdma_session_set_window(&s_, window))
			asleep_ = false;
		push();
	}

	/* The peer has answered it with an ERROR of any kind. */
	void call_refused(rpcrdma_message &msg)
	{
		static constexpr u32 kCodes[] = {
			RPCRDMA2_ERR_INVAL_HTYPE,
			RPCRDMA2_ERR_VERS,
			RPCRDMA2_ERR_VERS_MISMATCH,
			RPCRDMA2_ERR_SYSTEM,
		};
		rpcrdma_rx rx = {};

		rx.action = RPCRDMA_RX_FAIL_RPC;
		rx.reported = true;
		rx.errcode = kCodes[msg.types ? in_.up_to(3) : 0];
		rx.errargs[0] = kVersion1;
		rx.errargs[1] = in_.up_to(2);
		const u32 reason = rpcrdma_session_call_refused(&s_, &msg, &rx);
		if (reason == RPCRDMA_REASON_NONE)
			return;
		FUZZ_CHECK(reason == RPCRDMA_REASON_NO_VERSION ||
			   (reason == RPCRDMA_REASON_HTYPE && client()));
		closed_ = true;
		reason_ = reason;
	}

	void end_call()
	{
		if (calls_.empty())
			return;
		const u8 which = in_.octet();
		Outgoing &call = calls_[(which & 0x7f) % calls_.size()];
		if (which & 0x80 && !closed_)
			call_refused(call.msg);
		if (rpcrdma_session_end_call(&s_, &call.msg))
			asleep_ = false;
		FUZZ_CHECK(!call.msg.outstanding);
		FUZZ_CHECK(!rpcrdma_session_end_call(&s_, &call.msg));
		call = calls_.back();
		calls_.pop_back();
	}

	void act()
	{
		if constexpr (kExtended) {
			if (extension_.act(s_, in_)) {
				asleep_ = false;
				local_ = info().local;
			}
			if (!in_.flip())
				return;
			const auto sent = [&](const rpcrdma_tx &) {
				const u32 credit = load_be32(&buffer_[8]);

				sent_++;
				FUZZ_CHECK(ahead(credit, told_) >= 0);
				told_ = credit;
			};
			if (extension_.carry(s_, in_, buffer_, sent))
				asleep_ = false;
		}
	}

	void refuse()
	{
		static constexpr u32 kCodes[] = {
			RPCRDMA2_ERR_BAD_XDR,
			RPCRDMA2_ERR_WRITE_RESOURCE,
			RPCRDMA2_ERR_REPLY_RESOURCE,
			RPCRDMA2_ERR_SYSTEM,
		};
		const u32 code = kCodes[in_.up_to(3)];
		const u32 xid = in_.up_to(3);
		Partial &p = partial_[RPCRDMA_CALL];

		/* There is no Call to refuse before RPC messages may flow. */
		if (!opened_ && !closed_)
			return;
		if (!rpcrdma_session_refuse(&s_, xid, code, in_.number(),
					    in_.number()))
			gone_ = true;
		else
			FUZZ_CHECK(!closed_);
		if (p.xid == xid)
			p.active = false;
		asleep_ = false;
	}

	/* ------------------------------------------------------------ */

	[[nodiscard]] struct rpcrdma_session_info info() const
	{
		struct rpcrdma_session_info i;

		rpcrdma_session_info(&s_, &i);
		return i;
	}

	/* A bit each, by their place. */
	[[nodiscard]] u32 extensions_in_use() const
	{
		rpcrdma_numbers n;

		rpcrdma_session_numbers(&s_, &n);
		FUZZ_CHECK(!n.extensions || (kExtended && config_.extensions &&
					     (opened_ || closed_)));
		return n.extensions;
	}

	[[nodiscard]] bool client() const
	{
		return config_.role == RPCRDMA_ROLE_CLIENT;
	}

	void check()
	{
		const struct rpcrdma_session_info i = info();

		FUZZ_CHECK(session(&s_).invariants());
		FUZZ_CHECK(rpcrdma_session_ready(&s_) == (opened_ && !closed_));
		if (closed_)
			return;
		FUZZ_CHECK(!i.version || (i.version >= config_.min_version &&
					  i.version <= config_.max_version));
		FUZZ_CHECK(i.version == rpcrdma_session_version(&s_));
		FUZZ_CHECK(i.max_segment_size ==
			   rpcrdma_session_max_segment_size(&s_));
		FUZZ_CHECK(i.version || !opened_);
		rpcrdma_properties local = local_;
		if (i.version == 1)
			for (u32 *size : { &local.send_size, &local.recv_size })
				*size = std::min(*size / 1024, 256u) * 1024;
		/* If the peer has refused what it was told, the defaults hold. */
		rpcrdma_properties untold = local;
		untold.send_size = std::min(local.send_size, 4096u);
		untold.reverse = RPCRDMA_RVRSDIR_NONE;
		FUZZ_CHECK(!std::memcmp(&i.local, &local, sizeof(local)) ||
			   !std::memcmp(&i.local, &untold, sizeof(untold)));
		FUZZ_CHECK(i.peer.reverse <= RPCRDMA_RVRSDIR_GENL);
		FUZZ_CHECK(i.max_send ==
			   std::min(i.local.send_size, i.peer.recv_size));
		FUZZ_CHECK(i.sent == sent_ && i.received == received_);
		FUZZ_CHECK(i.window >= RPCRDMA_MIN_WINDOW);
		FUZZ_CHECK(i.window_used == held_ + free_);
		FUZZ_CHECK(i.window_high >= held_ + free_);
		FUZZ_CHECK(posted_ + held_ + free_ == i.window + 1);
		if (asleep_)
			check_sleep();
	}

	/* On a copy: who was told to wait would wait in vain. */
	void check_sleep()
	{
		const rpcrdma_session session = s_;
		rpcrdma_message copy = current_.msg;
		rpcrdma_tx tx;
		const u32 result = next(has_message_ ? &copy : nullptr, tx);

		FUZZ_CHECK(result != RPCRDMA_TX_CONTROL &&
			   result != RPCRDMA_TX_MESSAGE);
		s_ = session;
	}

	Choices &in_;
	rpcrdma_config config_;
	rpcrdma_properties local_; /* an extension may change them */
	rpcrdma_session s_;
	u32 posted_; /* Receives on the queue */
	u32 held_ = 0; /* and completed, not given back */
	u32 free_ = 0; /* and given back, not posted */
	u32 sent_ = 0;
	u32 received_ = 0;
	bool told_size_ = false; /* by private data */
	u32 told_ = 1; /* the largest credit word that was sent */
	u32 reason_ = 0;
	bool opened_ = false;
	bool closed_ = false;
	bool gone_ = false; /* the caller ends the connection */
	bool other_versions_ = false;
	bool asleep_ = false;
	bool has_message_ = false;
	Outgoing current_ = {};
	std::vector<Outgoing> calls_; /* outstanding */
	Partial partial_[2] = {};
	fuzz::Extension extension_;
	std::vector<u8> buffer_;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	Choices in(data, size);

	Caller(in).run();
	return 0;
}
