// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Two whole sessions that authenticate each other, and a network that the input controls: it
 * delivers what they send, or something else, or nothing; in any order; once more; to who has
 * sent it; longer than it may be; and between other messages.
 *
 * A side that has authenticated has got what the other one sent, and the other has got what
 * it sent itself. Whoever demands it is open to no other. A failure is final, and at most one
 * ERROR comes after it. If the network changes nothing, both sides authenticate.
 */
#include "fuzz.h"
#include "session.h"
#include "../hostauth/crypto.h"

#include <rpcrdma/auth.h>

#include <algorithm>
#include <deque>
#include <vector>

using namespace rpcrdma;
using fuzz::Choices;

namespace
{

using Octets = std::vector<u8>;

constexpr u32 kBuffer = 4096;
/* Of an exchange, of either side. */
constexpr u32 kOwnMessages = 2;

constexpr u8 kName[] = { 'k', '1' };
constexpr u8 kDecoy[RPCRDMA_AUTH_LEAST] = { 4, 5, 6 };

rpcrdma_auth auth(u32 role, u32 policy)
{
	rpcrdma_auth a = {};

	a.policy = policy;
	std::memset(a.host, 0xa0 + static_cast<int>(role), sizeof(a.host));
	std::memset(a.nonce, 0xc0 + static_cast<int>(role), sizeof(a.nonce));
	if (role == RPCRDMA_ROLE_SERVER)
		return a;
	std::memcpy(a.name, kName, sizeof(kName));
	a.name_size = sizeof(kName);
	std::memset(a.secret, 0x5e, RPCRDMA_AUTH_LEAST);
	a.secret_size = RPCRDMA_AUTH_LEAST;
	return a;
}

Session session(u32 role, const rpcrdma_auth &a, u32 min_version)
{
	rpcrdma_config c = {};

	c.role = role;
	c.window = 16;
	c.max_message = 1 << 16;
	c.first_xid = 0xf0 + role;
	c.local.send_size = kBuffer;
	c.local.recv_size = kBuffer;
	c.local.max_segment_size = 1 << 20;
	c.local.max_segments = 8;
	c.min_version = min_version;
	c.max_version = kVersion2;
	c.auth = &a;
	FUZZ_CHECK(Session::valid(c));
	return Session(c);
}

bool is_connprop(const Octets &o)
{
	if (o.size() < kPrefixSize)
		return false;
	const u32 htype = load_be32(o.data() + 3 * sizeof(u32));

	return load_be32(o.data() + sizeof(u32)) == kVersion2 &&
	       (htype == RPCRDMA2_CONNPROP_MIDDLE ||
		htype == RPCRDMA2_CONNPROP_FINAL);
}

/**
 * One end
 * @sent: its CONNPROP messages
 * @got: those that came before it was done
 * @way: of its messages, those that the network still has to deliver
 * @last_words: messages that it has sent after a failure
 * @closed: it has said so
 * @ended: its connection has: nothing comes or goes any more
 */
struct Side {
	Session session;
	u32 policy;
	std::vector<Octets> sent = {};
	std::vector<Octets> got = {};
	std::deque<Octets> way = {};
	u32 state = RPCRDMA_AUTH_NONE;
	u32 last_words = 0;
	bool closed = false;
	bool ended = false;
};

bool final(u32 state)
{
	return state >= RPCRDMA_AUTH_DONE;
}

class Network {
public:
	explicit Network(Choices &in)
		: in_(in)
		, min_version_(in.up_to(3) ? kVersion2 : kVersion1)
		, known_(in.up_to(7) != 0)
		, client_(side(RPCRDMA_ROLE_CLIENT))
		, server_(side(RPCRDMA_ROLE_SERVER))
	{
	}

	void run()
	{
		look(client_);
		look(server_);
		while (!in_.empty())
			step();
		if (disturbed_)
			return;
		while (turn(client_) || turn(server_))
			;
		if (client_.policy != RPCRDMA_AUTH_OFF &&
		    server_.policy != RPCRDMA_AUTH_OFF)
			for (const Side *s : { &client_, &server_ })
				FUZZ_CHECK((s->state == RPCRDMA_AUTH_DONE) ==
					   known_);
	}

private:
	[[nodiscard]] Side side(u32 role)
	{
		const u32 policy = in_.up_to(2);
		const rpcrdma_auth a = auth(role, policy);

		return { session(role, a, min_version_), policy };
	}

	[[nodiscard]] Side &other(const Side &s)
	{
		return &s == &client_ ? server_ : client_;
	}

	/* What has become of @s by what has just happened. */
	void look(Side &s)
	{
		const u32 before = s.state;
		const bool ready = s.session.ready();

		s.state = s.session.auth_state();
		/* A server that has believed its client, and could not say so. */
		const bool untold = before == RPCRDMA_AUTH_DONE &&
				    s.sent.size() < kOwnMessages && !s.ended;
		FUZZ_CHECK(!final(before) || s.state == before ||
			   (untold && s.state == RPCRDMA_AUTH_FAILED));
		FUZZ_CHECK(s.state != RPCRDMA_AUTH_WITHOUT ||
			   s.policy != RPCRDMA_AUTH_REQUIRED);
		FUZZ_CHECK((s.state == RPCRDMA_AUTH_NONE) ==
			   (s.policy == RPCRDMA_AUTH_OFF));
		FUZZ_CHECK(!ready || s.policy != RPCRDMA_AUTH_REQUIRED ||
			   s.state == RPCRDMA_AUTH_DONE);
		FUZZ_CHECK(s.state != RPCRDMA_AUTH_FAILED ||
			   (!ready && s.session.auth().reason() !=
					      HostAuthReason::None));
		if (s.state == RPCRDMA_AUTH_DONE && before != s.state)
			agree(s);
		FUZZ_CHECK(s.session.invariants());
	}

	/* Claims 1 and 2 of Documentation/host-authentication.rst. */
	void agree(const Side &s)
	{
		const Side &o = other(s);
		const auto begins = [](const std::vector<Octets> &whole,
				       const std::vector<Octets> &part) {
			return part.size() <= whole.size() &&
			       std::equal(part.begin(), part.end(),
					  whole.begin());
		};

		FUZZ_CHECK(known_);
		FUZZ_CHECK(o.policy != RPCRDMA_AUTH_OFF);
		FUZZ_CHECK(s.got.size() == kOwnMessages &&
			   begins(o.sent, s.got));
		/* What the other has got when it sent its last one. */
		FUZZ_CHECK(begins(o.got, s.sent));
	}

	void receive(Side &s, const Octets &o)
	{
		const fuzz::Exact copy(o.data(), o.size());
		rpcrdma_rx rx;

		if (s.ended)
			return;
		if (!final(s.state) && !s.closed && is_connprop(o))
			s.got.push_back(o);
		std::memset(&rx, 0x5a, sizeof(rx));
		s.session.receive(copy.bytes(), rx);
		FUZZ_CHECK(rx.action <= RPCRDMA_RX_CLOSE);
		FUZZ_CHECK(!s.closed || rx.action == RPCRDMA_RX_CLOSE);
		FUZZ_CHECK(rx.action != RPCRDMA_RX_PAYLOAD ||
			   s.session.ready());
		if (rx.action == RPCRDMA_RX_CLOSE)
			s.closed = true;
		else
			(void)!s.session.release(1);
		look(s);
		if (s.state == RPCRDMA_AUTH_WANTS_KEY) {
			const rpcrdma_auth a = auth(RPCRDMA_ROLE_CLIENT,
						    RPCRDMA_AUTH_OFFERED);

			(void)!s.session.auth_key(
				known_ ? Bytes(a.secret, a.secret_size) :
					 Bytes(),
				Bytes(kDecoy));
			look(s);
		}
	}

	/* All that @s has to say. Return: whether it was anything. */
	bool send(Side &s)
	{
		u8 buffer[kBuffer];
		rpcrdma_tx tx;
		bool some = false;

		for (u32 n = 0; n < 100 && !s.ended; n++) {
			const u32 result = s.session.next_send(
				nullptr, { buffer, sizeof(buffer) }, tx);

			if (result != RPCRDMA_TX_CONTROL)
				break;
			Octets o(buffer, buffer + tx.header_length);
			if (s.state == RPCRDMA_AUTH_FAILED) {
				FUZZ_CHECK(tx.htype == RPCRDMA2_ERROR);
				FUZZ_CHECK(!s.last_words++);
			}
			if (is_connprop(o)) {
				FUZZ_CHECK(o.size() <= kFirstMessageMax);
				s.sent.push_back(o);
			}
			look(s);
			all_.push_back(o);
			s.way.push_back(std::move(o));
			some = true;
		}
		return some;
	}

	/* What @s has to say arrives. Return: whether it was anything. */
	bool turn(Side &s)
	{
		const bool some = send(s) || !s.way.empty();

		for (; !s.way.empty(); s.way.pop_front())
			receive(other(s), s.way.front());
		return some;
	}

	static void end(Side &s)
	{
		s.session.auth_end();
		s.ended = true;
		FUZZ_CHECK(s.policy == RPCRDMA_AUTH_OFF ||
			   s.session.auth().final());
	}

	/* What comes next from @s; something that was sent before if there is nothing. */
	[[nodiscard]] Octets next(Side &s)
	{
		Octets o = { 0, 0, 0, 1 };

		if (s.way.empty() && !all_.empty())
			o = all_[in_.octet() % all_.size()];
		if (s.way.empty())
			return o;
		o = s.way.front();
		s.way.pop_front();
		return o;
	}

	/* A message that nobody has sent. */
	[[nodiscard]] Octets made_up()
	{
		Octets o(kPrefixSize + 4 * in_.up_to(20));

		in_.take(o.data(), o.size());
		store_be32(o.data() + 4, in_.up_to(7) ? 2 : in_.up_to(3));
		store_be32(o.data() + 8, in_.up_to(20));
		store_be32(o.data() + 12, 4 + in_.up_to(11));
		return o;
	}

	void step()
	{
		const bool from_client = in_.flip();
		Side &from = from_client ? client_ : server_;
		Side &to = other(from);
		const u32 choice = in_.up_to(11);

		if (choice < 4) {
			(void)!turn(from);
			return;
		}
		disturbed_ = true;
		switch (choice) {
		case 4: /* it is still to come */
			(void)!send(from);
			break;
		case 5: /* once more, or of another time, or to who has sent it */
			if (!all_.empty())
				receive(to, all_[in_.octet() % all_.size()]);
			break;
		case 6: /* never */
			if (!from.way.empty())
				from.way.pop_front();
			break;
		case 7: /* the other way round */
			std::reverse(from.way.begin(), from.way.end());
			break;
		case 8: { /* with other words */
			Octets o = next(from);

			for (u32 n = in_.up_to(3) + 1; n; n--)
				store_be32(o.data() + in_.word() % (o.size() / 4) *
							       4,
					   in_.number());
			receive(to, o);
			break;
		}
		case 9: { /* too long or too short */
			Octets o = next(from);

			o.resize(in_.number() % kBuffer, in_.octet());
			receive(to, o);
			break;
		}
		case 10:
			receive(to, made_up());
			break;
		case 11:
			if (to.ended)
				break;
			if (in_.up_to(3))
				(void)!to.session.auth_late();
			else
				end(to);
			look(to);
			break;
		}
	}

	Choices &in_;
	u32 min_version_;
	bool known_; /* the server has the key */
	Side client_;
	Side server_;
	std::vector<Octets> all_; /* that were ever sent */
	bool disturbed_ = false;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	Choices in(data, size);

	Network(in).run();
	return 0;
}
