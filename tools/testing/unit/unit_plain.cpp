// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The short way of plain.h against the general code. Of each two sessions one may take the
 * short way and the other may not. Both get the same messages and commands, as a seed has
 * it, and must do the same: octet by octet of what they send, field by field of what they
 * say.
 */
#include "plain.h"
#include "support.h"

#include <algorithm>
#include <random>

using namespace rpcrdma;
using namespace unit;

namespace
{

/* All that means something. Only the last part of a message has chunks. */
void expect_same(const rpcrdma_rx &a, const rpcrdma_rx &b)
{
	EXPECT_EQ(a.action, b.action);
	EXPECT_EQ(a.reason, b.reason);
	EXPECT_EQ(a.htype, b.htype);
	EXPECT_EQ(a.type, b.type);
	EXPECT_EQ(a.vers, b.vers);
	EXPECT_EQ(a.xid, b.xid);
	EXPECT_EQ(a.error, b.error);
	EXPECT_EQ(a.errcode, b.errcode);
	EXPECT_EQ(a.errargs[0], b.errargs[0]);
	EXPECT_EQ(a.errargs[1], b.errargs[1]);
	EXPECT_EQ(a.reported, b.reported);
	EXPECT_EQ(a.kick, b.kick);
	EXPECT_EQ(a.credits, b.credits);
	EXPECT_EQ(a.taken_back, b.taken_back);
	EXPECT_EQ(a.opened, b.opened);
	EXPECT_EQ(a.abandon, b.abandon);
	EXPECT_EQ(a.last, b.last);
	EXPECT_EQ(a.external, b.external);
	EXPECT_EQ(a.dir, b.dir);
	EXPECT_EQ(a.payload.offset, b.payload.offset);
	EXPECT_EQ(a.payload.length, b.payload.length);
	EXPECT_EQ(a.stream_offset, b.stream_offset);
	EXPECT_EQ(a.stream_length, b.stream_length);
	EXPECT_EQ(a.unreduced_length, b.unreduced_length);
	EXPECT_EQ(a.inv_handle, b.inv_handle);
	EXPECT_EQ(a.chunks.n_call, b.chunks.n_call);
	EXPECT_EQ(a.chunks.n_reads, b.chunks.n_reads);
	EXPECT_EQ(a.chunks.n_writes, b.chunks.n_writes);
	EXPECT_EQ(a.chunks.n_write_segs, b.chunks.n_write_segs);
	EXPECT_EQ(a.chunks.has_reply, b.chunks.has_reply);
	EXPECT_EQ(a.chunks.reply.count, b.chunks.reply.count);
}

void expect_same(const rpcrdma_tx &a, const rpcrdma_tx &b)
{
	EXPECT_EQ(a.xid, b.xid);
	EXPECT_EQ(a.htype, b.htype);
	EXPECT_EQ(a.type, b.type);
	EXPECT_EQ(a.header_length, b.header_length);
	EXPECT_EQ(a.payload.offset, b.payload.offset);
	EXPECT_EQ(a.payload.length, b.payload.length);
	EXPECT_EQ(a.first, b.first);
	EXPECT_EQ(a.last, b.last);
	EXPECT_EQ(a.errcode, b.errcode);
}

void expect_same(const rpcrdma_message &a, const rpcrdma_message &b)
{
	EXPECT_EQ(a.sent, b.sent);
	EXPECT_EQ(a.types, b.types);
	EXPECT_EQ(a.reserved, b.reserved);
	EXPECT_EQ(a.outstanding, b.outstanding);
}

void expect_same(const struct rpcrdma_session_info &a,
		 const struct rpcrdma_session_info &b)
{
	static_assert(sizeof(a) % sizeof(u32) == 0, "numbers only");
	EXPECT_EQ(std::memcmp(&a, &b, sizeof(a)), 0);
}

class Twins {
public:
	Twins(u32 seed, rpcrdma_role role, u32 version)
		: random_(seed)
		, role_(role)
		, version_(version)
	{
		begin();
	}

	void step()
	{
		switch (pick(12)) {
		case 0:
			return end_call();
		case 1:
			return rare();
		case 2:
		case 3:
		case 4:
		case 5:
			return send();
		default:
			return receive();
		}
	}

	u32 delivered = 0;
	u32 continued = 0;
	u32 refused = 0;
	u32 sent = 0;
	u32 parts = 0;
	u32 waited = 0;
	u32 bare = 0;

private:
	u32 pick(u32 n)
	{
		return random_() % n;
	}
	bool one_in(u32 n)
	{
		return !pick(n);
	}
	[[nodiscard]] bool client() const
	{
		return role_ == RPCRDMA_ROLE_CLIENT;
	}

	void begin()
	{
		rpcrdma_config c = config(role_);
		const rpcrdma_cm_private given = { 2048, 2048, true, true,
						   false };

		c.window = 3 + pick(12);
		c.max_message = one_in(2) ? 1 << 20 : 2048;
		c.reserve = pick(2);
		c.local.send_size = 1024 + 4 * pick(200);
		c.local.recv_size = 1024;
		c.local.reverse = pick(4);
		c.min_version = c.max_version = version_;
		twins_.clear();
		for (const bool general : { false, true })
			twins_.emplace_back(
				c, Session::Options{ .count_start =
							     UINT32_MAX - 50,
						     .general = general });
		message_ = {};
		outstanding_.clear();
		continues_ = 0;
		credit_ = UINT32_MAX - 50 + 1;
		if (one_in(2))
			for (Endpoint &e : twins_)
				e.session.peer_private(given);
		/* Now and then without: then the first message is an RPC. */
		if (version_ == 1 || one_in(8))
			return;
		credit_ += 10;
		if (client())
			control();
		/* A server is open after a part of what its client has to say. */
		const u32 htype = !client() && one_in(6) ?
					  RPCRDMA2_CONNPROP_MIDDLE :
					  RPCRDMA2_CONNPROP_FINAL;
		deliver(octets(prefix(kServerXid, htype, credit_) +
			       property(5, pick(4))));
		if (!client())
			control();
	}

	void control()
	{
		for (Endpoint &e : twins_)
			(void)e.next();
		compare();
	}

	void compare()
	{
		expect_same(twins_[0].rx, twins_[1].rx);
		expect_same(twins_[0].tx, twins_[1].tx);
		expect_same(twins_[0].info(), twins_[1].info());
		EXPECT_EQ(twins_[0].sent, twins_[1].sent);
		EXPECT_EQ(twins_[0].grant, twins_[1].grant);
		for (const Endpoint &e : twins_)
			EXPECT_TRUE(e.session.invariants());
	}

	/* Of a message that says that no more is needed, only its first octets are there. */
	void take_in(Endpoint &e, const Octets &message)
	{
		const u32 size = static_cast<u32>(message.size());

		if (size < RPCRDMA_BARE_OCTETS ||
		    !rpcrdma_header_is_bare(message.data())) {
			(void)e.receive_octets(message);
			return;
		}
		const Exact first(
			Octets(message.begin(),
			       message.begin() + RPCRDMA_BARE_OCTETS));

		e.session.receive({ first.bytes().data(), size }, e.rx);
		if (e.rx.action != RPCRDMA_RX_CLOSE)
			e.grant = e.session.release(1);
		bare++;
	}

	void deliver(const Octets &message)
	{
		for (Endpoint &e : twins_)
			take_in(e, message);
		compare();
		const rpcrdma_rx &rx = twins_[0].rx;
		if (rx.action == RPCRDMA_RX_CLOSE)
			return begin();
		delivered += rx.action == RPCRDMA_RX_PAYLOAD;
		continued += rx.action == RPCRDMA_RX_PAYLOAD && !rx.last;
		refused += rx.action != RPCRDMA_RX_PAYLOAD;
	}

	/* Of a Call that has been sent, or one that comes again. */
	u32 some_xid()
	{
		const u32 calls = static_cast<u32>(outstanding_.size());

		return calls && one_in(2) ? outstanding_[pick(calls)].xid :
					    pick(3);
	}

	/* A message from the peer, most of them plain, with something wrong or not. */
	void receive()
	{
		const rpcrdma_dir usual =
			client() ? RPCRDMA_REPLY : RPCRDMA_CALL;
		const rpcrdma_dir dir = one_in(8) ? opposite(usual) : usual;
		const u32 call = dir == RPCRDMA_CALL;
		const u32 xid =
			continues_ && !one_in(6) ? continued_xid_ : some_xid();
		const u32 length = one_in(20) ? 4 * pick(4) : 4 * pick(200);
		u32 remaining = 0;
		Words w;

		if (continues_ && !one_in(6))
			remaining = continues_ - std::min(continues_, length);
		else if (one_in(3))
			remaining = 4 * (1 + pick(300));
		credit_ += one_in(20) ? pick(60) - 30 : pick(3);
		if (version_ == 1)
			w = prefix(xid, RPCRDMA1_MSG, pick(40), 1) +
			    Words{ 0, 0, 0 };
		else if (remaining)
			w = prefix(xid,
				   call ? RPCRDMA2_CALL_MIDDLE :
					  RPCRDMA2_REPLY_MIDDLE,
				   credit_) +
			    Words{ remaining };
		else
			w = prefix(xid,
				   call ? RPCRDMA2_CALL_INLINE :
					  RPCRDMA2_REPLY_INLINE,
				   credit_) +
			    (call ? Words{ 0, 0, 0, 0 } : Words{ 0 });
		w = w + rpc(xid, dir, length);
		if (one_in(6))
			w[pick(w.size())] ^= 1U << pick(one_in(2) ? 3 : 32);

		Octets o = octets(w);
		if (one_in(12))
			o.resize(pick(static_cast<u32>(o.size())));
		deliver(o);

		const rpcrdma_rx &rx = twins_[0].rx;
		continues_ = 0;
		if (rx.action == RPCRDMA_RX_PAYLOAD && !rx.last) {
			continued_xid_ = rx.xid;
			continues_ = rx.stream_length - rx.stream_offset -
				     rx.payload.length;
		}
	}

	void new_message()
	{
		const bool call = client() != one_in(8);

		message_ = message(++xid_, call ? RPCRDMA_CALL : RPCRDMA_REPLY,
				   4 * pick(600));
		if (one_in(20))
			message_.length += pick(4);
		message_.probe = one_in(8);
		message_.call_only = one_in(8);
		message_.inv_handle = one_in(12) ? 0xb1 : 0;
		chunks_ = {};
		if (one_in(8)) {
			chunks_.n_writes = pick(2);
			chunks_.n_write_segs = pick(3);
			chunks_.writes[0] = { chunks_.n_write_segs, 0 };
			chunks_.write_segs[0] = { 0xb1, 4096, 0 };
			chunks_.n_reads = pick(2);
			chunks_.reads[0] = { 8, { 0xb2, 8, 0 } };
			chunks_.has_reply = one_in(4);
		}
		message_.chunks = one_in(2) ? &chunks_ : nullptr;
		message_.external = one_in(20);
		/* Some claim to have been begun. */
		message_.sent = one_in(20) ? 4 * pick(10) : 0;
	}

	/* Whether there is room or not, the message is sent afterwards. */
	void admit()
	{
		const bool any = one_in(6);
		rpcrdma_message asked[2] = { message_, message_ };
		bool room[2], admitted[2];

		for (u32 i = 0; i < 2; i++) {
			Session &s = twins_[i].session;

			room[i] = s.room();
			admitted[i] = s.admit(any ? nullptr : &asked[i]);
		}
		EXPECT_EQ(room[0], room[1]);
		EXPECT_EQ(admitted[0], admitted[1]);
		expect_same(asked[0], asked[1]);
		message_ = asked[0];
		waited += !admitted[0];
	}

	void give_up(const rpcrdma_message &msg)
	{
		rpcrdma_message over[2] = { msg, msg };
		bool more[2];

		for (u32 i = 0; i < 2; i++)
			more[i] = twins_[i].session.end_call(over[i]);
		EXPECT_EQ(more[0], more[1]);
		compare();
	}

	void send()
	{
		const bool begun =
			message_.sent && message_.sent < message_.length;
		const bool none = one_in(6);
		rpcrdma_message offered[2];

		if (!begun || one_in(12)) {
			if (message_.reserved)
				give_up(message_);
			new_message();
			if (message_.dir == RPCRDMA_CALL && one_in(2))
				admit();
		}
		u32 result[2];
		for (u32 i = 0; i < 2; i++) {
			offered[i] = message_;
			result[i] =
				twins_[i].next(none ? nullptr : &offered[i]);
		}
		EXPECT_EQ(result[0], result[1]);
		expect_same(offered[0], offered[1]);
		compare();
		message_ = offered[0];
		if (result[0] == RPCRDMA_TX_MESSAGE) {
			sent++;
			parts += !twins_[0].tx.last;
			if (message_.outstanding)
				outstanding_.push_back(message_);
		} else if (result[0] == RPCRDMA_TX_REFUSED || none) {
			message_ = none ? message_ : rpcrdma_message{};
		}
	}

	void end_call()
	{
		if (outstanding_.empty())
			return;
		const rpcrdma_message over = outstanding_.back();

		outstanding_.pop_back();
		give_up(over);
	}

	/* What may change the terms. */
	void rare()
	{
		const u32 window = 3 + pick(12);
		const u32 what = message_.sent && one_in(3) ? 11 : pick(11);
		const u32 code =
			one_in(3) ? pick(14) : u32{ RPCRDMA2_ERR_INVAL_HTYPE };
		bool ok[2];

		for (u32 i = 0; i < 2; i++) {
			Endpoint &e = twins_[i];
			rpcrdma_message msg = message_;
			ok[i] = false;

			if (what < 4)
				ok[i] = e.session.set_window(window);
			else if (what < 7)
				ok[i] = e.session.refuse(
					to_xid(continued_xid_),
					{ RPCRDMA2_ERR_SYSTEM, {} });
			else if (what < 9)
				ok[i] = e.session.retire();
			else if (what < 10)
				ok[i] = e.type_refused(msg);
		}
		EXPECT_EQ(ok[0], ok[1]);
		compare();
		if (what == 10)
			deliver(octets(prefix(kServerXid,
					      RPCRDMA2_CONNPROP_FINAL,
					      credit_) +
				       Words{ 0 }));
		/* About what is being sent, or about nothing. */
		if (what == 9 || what == 11)
			deliver(octets(prefix(message_.xid, RPCRDMA2_ERROR,
					      credit_, version_) +
				       Words{ code, 0, 0 }));
	}

	std::mt19937 random_;
	rpcrdma_role role_;
	u32 version_;
	std::vector<Endpoint> twins_;
	rpcrdma_message message_ = {};
	Chunks chunks_ = {};
	std::vector<rpcrdma_message> outstanding_;
	u32 xid_ = 100;
	u32 credit_ = 0;
	u32 continued_xid_ = 0;
	u32 continues_ = 0; /* octets that a begun message still needs */
};

} // namespace

TEST(plain, twins__do_the_same)
{
	u32 delivered[2] = {};
	u32 refused = 0;
	u32 continued = 0;
	u32 sent[2] = {};
	u32 parts = 0;
	u32 waited = 0;
	u32 bare = 0;

	for (u32 seed = 1; seed <= 250; seed++) {
		const u32 version = 1 + seed / 2 % 2;
		Twins twins(seed,
			    seed % 2 ? RPCRDMA_ROLE_CLIENT :
				       RPCRDMA_ROLE_SERVER,
			    version);

		for (u32 i = 0; i < 300; i++) {
			twins.step();
			if (::testing::Test::HasFailure())
				FAIL() << "seed " << seed << ", step " << i;
		}
		delivered[version - 1] += twins.delivered;
		sent[version - 1] += twins.sent;
		refused += twins.refused;
		continued += twins.continued;
		parts += twins.parts;
		waited += twins.waited;
		bare += twins.bare;
	}
	/* Enough of everything has happened. */
	EXPECT_GT(delivered[0], 3000u);
	EXPECT_GT(delivered[1], 3000u);
	EXPECT_GT(sent[0], 1000u);
	EXPECT_GT(sent[1], 1000u);
	EXPECT_GT(refused, 3000u);
	EXPECT_GT(continued, 1000u);
	EXPECT_GT(parts, 300u);
	EXPECT_GT(waited, 300u);
	EXPECT_GT(bare, 10000u);
}

/* Chunks, other messages and other versions: then all of the header counts. */
TEST(plain, bare__a_message_without_chunks)
{
	const auto is_bare = [](const Words &w) {
		Octets o = octets(w);

		o.resize(RPCRDMA_BARE_OCTETS);
		return rpcrdma_header_is_bare(Exact(o).bytes().data());
	};

	EXPECT_EQ(kBareCall, header_type(RPCRDMA2_CALL_INLINE)->bare);
	EXPECT_EQ(kBareReply, header_type(RPCRDMA2_REPLY_INLINE)->bare);
	EXPECT_EQ(kBareMsg, header_type_v1(RPCRDMA1_MSG, RPCRDMA_CALL).bare);
	EXPECT_EQ(kBareMsg, header_type_v1(RPCRDMA1_MSG, RPCRDMA_REPLY).bare);
	for (const u32 htype : { RPCRDMA2_CALL_MIDDLE, RPCRDMA2_REPLY_MIDDLE })
		EXPECT_TRUE(one_word(header_type(htype)->bare));
	EXPECT_TRUE(is_bare(prefix(7, RPCRDMA2_CALL_INLINE)));
	EXPECT_TRUE(is_bare(prefix(7, RPCRDMA2_REPLY_INLINE)));
	EXPECT_TRUE(is_bare(prefix(7, RPCRDMA2_CALL_MIDDLE) + Words{ 8000 }));
	EXPECT_TRUE(is_bare(prefix(7, RPCRDMA2_REPLY_MIDDLE) + Words{ 8000 }));
	EXPECT_TRUE(is_bare(prefix(7, RPCRDMA1_MSG, 1, 1)));
	EXPECT_TRUE(is_bare(prefix(7, RPCRDMA1_MSG, 1, 1) +
			    Words{ 0, 0, 0, 7, 1 }));

	/* A handle to invalidate, then the lists. */
	for (u32 i = 0; i < 4; i++) {
		Words w = { 0, 0, 0, 0 };

		w[i] = 1;
		EXPECT_FALSE(is_bare(prefix(7, RPCRDMA2_CALL_INLINE) + w)) << i;
		EXPECT_EQ(is_bare(prefix(7, RPCRDMA1_MSG, 1, 1) + w), i == 3)
			<< i;
	}
	EXPECT_FALSE(is_bare(prefix(7, RPCRDMA2_REPLY_INLINE) + Words{ 1 }));
	EXPECT_FALSE(is_bare(prefix(7, RPCRDMA2_ERROR)));
	EXPECT_FALSE(is_bare(prefix(7, RPCRDMA2_GRANT)));
	EXPECT_FALSE(is_bare(prefix(7, RPCRDMA2_CONNPROP_FINAL)));
	EXPECT_FALSE(is_bare(prefix(7, RPCRDMA2_CONNPROP_MIDDLE)));
	EXPECT_FALSE(is_bare(prefix(7, RPCRDMA2_CALL_EXTERNAL)));
	EXPECT_FALSE(is_bare(prefix(7, RPCRDMA2_REPLY_EXTERNAL)));
	EXPECT_FALSE(is_bare(prefix(7, 0xffffffff)));
	EXPECT_FALSE(is_bare(prefix(7, RPCRDMA1_NOMSG, 1, 1)));
	EXPECT_FALSE(is_bare(prefix(7, RPCRDMA1_MSG, 1, 3)));
	EXPECT_FALSE(is_bare(prefix(7, RPCRDMA2_CALL_INLINE, 1, 1)));
}

/* Nothing is written behind the header, and nothing before there is room for it. */
TEST(plain, send__writes_the_header_alone)
{
	Endpoint e = open_client();
	rpcrdma_message msg = message(7, RPCRDMA_CALL, 40);

	for (const u32 room : { 31u, 32u, 33u, 64u }) {
		Octets buffer(64, 0xee);
		rpcrdma_tx tx;
		const u32 result =
			e.session.next_send(&msg, { buffer.data(), room }, tx);

		EXPECT_EQ(result, room < 32 ? u32{ RPCRDMA_TX_INVALID } :
					      u32{ RPCRDMA_TX_MESSAGE });
		for (u32 i = room < 32 ? 0 : 32; i < buffer.size(); i++)
			EXPECT_TRUE(buffer[i] == 0xee || i < 32) << i;
		if (result == RPCRDMA_TX_MESSAGE) {
			EXPECT_EQ(tx.header_length, 32u);
			msg = message(msg.xid + 1, RPCRDMA_CALL, 40);
		}
	}
}

/* The header of each type, with any numbers in it, is the one that encode() writes. */
TEST(plain, header__is_that_of_the_table)
{
	std::mt19937 random(1);

	for (u32 i = 0; i < 200; i++) {
		const u32 version = 1 + i % 2;
		const bool client = i / 2 % 2;
		const bool middle = version == 2 && i / 4 % 2;
		rpcrdma_config c = config(client ? RPCRDMA_ROLE_CLIENT :
						   RPCRDMA_ROLE_SERVER);

		c.min_version = c.max_version = version;
		const Session::Options options = { .count_start = u32(random() %
								      500) };
		Endpoint e = version == 1 ? Endpoint(c, options) :
			     client	  ? open_client(c, { 0 }, options) :
					    open_server(c, { 0 }, options);
		if (version == 1 && !client)
			(void)e.receive(Words{ 3, 1, 9, 0, 0, 0, 0, 3, 0 });
		const rpcrdma_dir dir = client ? RPCRDMA_CALL : RPCRDMA_REPLY;
		rpcrdma_message msg =
			message(random(), dir, middle ? 100000 : 40);

		ASSERT_EQ(e.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
		const HeaderType &type =
			version == 1 ?
				header_type_v1(RPCRDMA1_MSG, dir) :
				*header_type(client ? middle ?
						      RPCRDMA2_CALL_MIDDLE :
						      RPCRDMA2_CALL_INLINE :
					     middle ? RPCRDMA2_REPLY_MIDDLE :
						      RPCRDMA2_REPLY_INLINE);
		Octets out(64);
		const Header h = {
			.prefix = { to_xid(msg.xid), version,
				    word_at(e.sent, 2), type.htype },
			.type = &type,
			.remaining = msg.length - msg.sent,
		};
		const u32 size = encode(h, nullptr, { out.data(), 64 });

		out.resize(size);
		EXPECT_EQ(e.sent, out);
		EXPECT_EQ(size, type.bare);
	}
}
