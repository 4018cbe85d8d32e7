// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Host authentication (Documentation/host-authentication.rst): what our client does with a
 * server that authenticates, that does not, or that sends messages of the exchange wrong, late,
 * in another order, too large or once more. wire_auth.sh has given it the key.
 */
#include "auth.h"
#include "headers.h"
#include "nfs3.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <fstream>
#include <functional>
#include <sstream>

using namespace peer;
using namespace peer::auth;

namespace
{

constexpr u32 kMiddle = RPCRDMA2_CONNPROP_MIDDLE;
constexpr u32 kFinal = RPCRDMA2_CONNPROP_FINAL;

void tell(const std::string &name, const std::string &value)
{
	if (!(std::ofstream("/proc/sys/net/rpcrdma/" + name)
	      << value << std::flush))
		throw Failure("cannot set " + name);
}

/* While this exists, the client has the key and this policy, and speaks version 2 alone. */
class Policy {
public:
	explicit Policy(const std::string &policy)
	{
		tell("client_key", kName);
		tell("client_auth", policy);
	}
	~Policy()
	{
		std::ofstream("/proc/sys/net/rpcrdma/client_auth") << "off";
	}
	Policy(const Policy &) = delete;
	Policy &operator=(const Policy &) = delete;

private:
	const Setting version_{ "/proc/sys/sunrpc/rdma_min_version", 2 };
};

/* Whom this host has failed with last, why, and with which key. */
std::string last_failure()
{
	std::ifstream file("/proc/sys/net/rpcrdma/auth_last_failure");
	std::stringstream all;

	all << file.rdbuf();
	return all.str().substr(0, all.str().rfind(' '));
}

/* The octets of HOSTAUTH, which has to be the last property; others are learnt. */
Octets host_auth(Peer &p, const Message &m)
{
	Octets found;
	u32 at = 5;

	for (u32 count = m.word(4); count; count--) {
		const u32 which = m.word(at), length = m.word(at + 1);

		if (which == kHostAuth) {
			EXPECT_EQ(count, 1u) << "not the last property";
			found = part(m.octets, 4 * (at + 3), m.word(at + 2));
		} else if (length == 4) {
			p.learn(which, m.word(at + 2));
		}
		at += 2 + (length + 3) / 4;
	}
	return found;
}

/* A server that does all as it should. Tests have others do one thing otherwise. */
class Server : public Nfs3 {
public:
	explicit Server(const Octets &secret = key())
		: exchange(secret)
	{
		opening = [this](Peer &p) {
			openings++;
			if (begins(p))
				act(p);
		};
		message = [this](Peer &, const Message &) {
			messages++;
			return false;
		};
	}

	/* From the first message on. */
	std::function<void(Peer &)> act = [this](Peer &p) {
		until_proved(p);
		send(p, done(p));
	};

	[[nodiscard]] Octets
	challenge(Peer &p, const Octets &host = random_octets(kHost))
	{
		Octets value = unit::octets({ kMechanism, kChallenge });

		value += host;
		nonce_ = random_octets(kNonce);
		value += nonce_;
		value += Octets(kProof);
		exchange.begin(open.octets, part(value_, 8 + kHost, kNonce),
			       nonce_);
		return exchange.proved(p, "server proof", 2,
				       carrying(p.new_xid(), kMiddle, value));
	}
	/* PROVE comes, and it is right. */
	void proved(Peer &p)
	{
		exchange.add(2, sent.back());
		const Message m = p.next();

		EXPECT_EQ(m.htype(), kFinal) << m.describe();
		const Octets value = host_auth(p, m);
		ASSERT_EQ(value.size(), 8 + kProof) << m.describe();
		EXPECT_EQ(unit::word_at(value, 1), u32{ kProve });
		EXPECT_EQ(proof_in(m.octets),
			  exchange.proof("client proof", 1, m.octets));
		exchange.add(1, m.octets);
	}
	/* The client has proved itself. */
	void until_proved(Peer &p)
	{
		send(p, challenge(p));
		proved(p);
	}
	[[nodiscard]] Octets done(Peer &p) const
	{
		return exchange.proved(
			p, "server done", 2,
			carrying(p.new_xid(), kFinal, proof_value(kDone)));
	}
	void send(Peer &p, const Octets &message)
	{
		sent.push_back(message);
		p.send_as_is(message);
	}
	/* The client's own host identifier, as it said it. */
	[[nodiscard]] Octets client_host() const
	{
		return part(value_, 8, kHost);
	}

	Exchange exchange;
	Message open;
	std::vector<Octets> sent;
	u32 openings = 0;
	u32 plain = 0; /* without authentication */
	u32 messages = 0; /* after the exchange */

private:
	/* OPEN comes, or a client that goes on without. */
	bool begins(Peer &p)
	{
		open = p.next();
		value_ = host_auth(p, open);
		if (value_.empty()) {
			EXPECT_EQ(open.htype(), kFinal);
			plain++;
			p.send(unit::connprop(p.new_xid()));
			return false;
		}
		EXPECT_EQ(open.htype(), kMiddle);
		EXPECT_LE(open.octets.size(), 1024u);
		EXPECT_EQ(unit::word_at(value_, 0), kMechanism);
		EXPECT_EQ(unit::word_at(value_, 1), u32{ kOpen });
		EXPECT_EQ(value_.size(),
			  8 + kHost + kNonce + 4 + (kName.size() + 3) / 4 * 4);
		return true;
	}

	Octets value_;
	Octets nonce_;
};

using Act = std::function<void(Server &, Peer &)>;

/* The mount fails for that reason, and the client says so. No Call has come. */
void fails(const std::string &policy, const std::string &reason, const Act &act,
	   const Words &error = {})
{
	const Policy set(policy);
	const u32 before = count("failed-" + reason);
	const u32 authenticated = count("authenticated");
	Server server;

	server.act = [&](Peer &p) {
		act(server, p);
		if (!error.empty())
			p.expect_error(unit::word_at(server.sent.back(), 0),
				       error);
		if (p.link().alive())
			p.expect_closed(20000);
	};
	/* A server may be late because it has only just come up: it is asked again. */
	EXPECT_EQ(server.try_mount("", 100),
		  reason == "late" ? ETIMEDOUT : EACCES)
		<< policy << " " << reason;
	EXPECT_EQ(server.messages, 0u);
	EXPECT_EQ(server.plain, 0u);
	EXPECT_EQ(count("failed-" + reason), before + server.openings);
	EXPECT_GE(server.openings, 1u);
	EXPECT_EQ(count("authenticated"), authenticated);
	EXPECT_EQ(last_failure(), "server 192.0.2.1 " + reason + " " + kName);
}

/* It makes no difference that authentication is only offered: the exchange has begun. */
void fails(const std::string &reason, const Act &act, const Words &error = {})
{
	for (const char *policy : { "required", "offered" })
		fails(policy, reason, act, error);
}

/* Who only offers it goes on without, and says why. */
void goes_on_without(const std::string &reason, const Act &act)
{
	const Policy set("offered");
	const u32 before = count("without-" + reason);
	Server server;

	server.act = [&](Peer &p) {
		act(server, p);
	};
	server.mount();
	server.works();
	EXPECT_EQ(count("without-" + reason), before + 1);
	server.unmount();
}

} // namespace

TEST(auth_client, who_has_the_key_is_mounted)
{
	for (const char *policy : { "required", "offered" }) {
		const Policy set(policy);
		const u32 before = count("authenticated");
		Server server;

		server.mount();
		server.works();
		EXPECT_EQ(count("authenticated"), before + 1);
		EXPECT_EQ(server.plain, 0u);
		server.unmount();
	}
}

TEST(auth_client, who_has_another_key)
{
	fails(
		"proof",
		[](Server &s, Peer &p) {
			s.exchange = Exchange(random_octets(kSecretSize));
			s.send(p, s.challenge(p));
		},
		kSystem);
}

/* It may be that the server does not know of it. */
TEST(auth_client, who_does_not_authenticate)
{
	const Act plain = [](Server &s, Peer &p) {
		s.send(p, with_credit(p, unit::octets(
						 unit::connprop(p.new_xid()))));
	};

	fails("required", "missing", plain, kSystem);
	goes_on_without("missing", plain);
}

TEST(auth_client, no_answer)
{
	fails("required", "late", [](Server &, Peer &) {});
	goes_on_without("late", [](Server &, Peer &) {});
}

/* Who has proved itself does not go on without. */
TEST(auth_client, no_second_answer)
{
	fails("late", [](Server &s, Peer &p) { s.until_proved(p); });
}

TEST(auth_client, the_last_proof_is_wrong)
{
	fails(
		"proof",
		[](Server &s, Peer &p) {
			s.until_proved(p);
			Octets o = s.done(p);
			o.back() ^= 1;
			s.send(p, o);
		},
		kSystem);
}

/* A proof covers all of its message, the credit word, too. */
TEST(auth_client, something_has_been_changed_on_the_way)
{
	fails(
		"proof",
		[](Server &s, Peer &p) {
			Octets o = s.challenge(p);
			o[11] ^= 1;
			s.send(p, o);
		},
		kSystem);
}

/* Who has listened to an exchange cannot use what it has heard. */
TEST(auth_client, messages_of_another_exchange)
{
	const Policy set("required");
	Server heard;

	heard.mount();
	heard.unmount();
	ASSERT_EQ(heard.sent.size(), 2u);
	fails(
		"proof", [&](Server &s, Peer &p) { s.send(p, heard.sent[0]); },
		kSystem);
	fails(
		"proof",
		[&](Server &s, Peer &p) {
			s.until_proved(p);
			s.send(p, heard.sent[1]);
		},
		kSystem);
}

TEST(auth_client, its_own_messages_come_back)
{
	fails(
		"step", [](Server &s, Peer &p) { s.send(p, s.open.octets); },
		kBadPropval);
	/* It talks to itself, as its identifier tells. */
	fails(
		"self",
		[](Server &s, Peer &p) {
			s.send(p, s.challenge(p, s.client_host()));
		},
		kSystem);
}

TEST(auth_client, messages_out_of_order)
{
	/* DONE before anything else, and CHALLENGE twice. */
	fails(
		"step",
		[](Server &s, Peer &p) {
			s.send(p, with_credit(p, carrying(p.new_xid(), kFinal,
							  proof_value(kDone))));
		},
		kBadPropval);
	fails(
		"step",
		[](Server &s, Peer &p) {
			s.until_proved(p);
			s.send(p, with_credit(p, s.sent[0]));
		},
		kBadPropval);
	/* It proves itself in a message that is not the last. */
	fails(
		"step",
		[](Server &s, Peer &p) {
			s.until_proved(p);
			s.send(p, with_credit(p, carrying(p.new_xid(), kMiddle,
							  proof_value(kDone))));
		},
		kBadPropval);
	/* No more properties of an exchange that has begun. */
	fails(
		"missing",
		[](Server &s, Peer &p) {
			s.until_proved(p);
			s.send(p, with_credit(p, unit::octets(unit::connprop(
							 p.new_xid()))));
		},
		kSystem);
}

TEST(auth_client, values_too_large_or_too_small)
{
	for (const int more : { -4, 4, 400 })
		fails(
			"form",
			[more](Server &s, Peer &p) {
				const Octets whole = s.challenge(p);
				Octets value = part(whole, kValue,
						    whole.size() - kValue);

				value.resize(value.size() + more);
				s.send(p, with_credit(p, carrying(p.new_xid(),
								  kMiddle,
								  value)));
			},
			kBadPropval);
}

TEST(auth_client, twice_in_one_message_or_not_the_last)
{
	for (const bool twice : { true, false })
		fails(
			"place",
			[twice](Server &s, Peer &p) {
				Octets o = s.challenge(p);

				if (twice)
					o += part(o, 20, o.size() - 20);
				else
					o += unit::octets({ 2, 4, 8192 });
				o[19] = 2;
				s.send(p, o);
			},
			kBadPropval);
}

/*
 * More than any Receive takes: the device ends the connection. That says nothing of version 1,
 * which the client may speak otherwise.
 */
TEST(auth_client, a_message_larger_than_a_receive)
{
	for (const auto &[policy, least] :
	     { std::pair("required", 2U), std::pair("offered", 2U),
	       std::pair("offered", 1U) }) {
		const Policy set(policy);
		const Setting version("/proc/sys/sunrpc/rdma_min_version",
				      least);
		const u32 before = count("authenticated");
		Server server;

		server.act = [&](Peer &p) {
			p.send_as_is(
				with_credit(p, carrying(p.new_xid(), kMiddle,
							random_octets(12000))));
			p.expect_closed();
		};
		EXPECT_NE(server.try_mount("", 100), 0);
		EXPECT_EQ(server.messages, 0u);
		EXPECT_EQ(server.plain, 0u);
		EXPECT_EQ(count("authenticated"), before);
	}
}
