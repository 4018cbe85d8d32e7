// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Host authentication (Documentation/host-authentication.rst): what our server does with the
 * messages of a client that authenticates, that does not, or that sends them in another order,
 * too large or once more. It demands authentication, and wire_auth.sh has given it the key.
 *
 * The client is written from that text, and shares no code with the kernel's.
 */
#include "headers.h"
#include "nfs.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <random>
#include <sstream>
#include <unistd.h>

#include <rpcrdma/crypto.h>

using namespace peer;

namespace
{

constexpr u32 kHostAuth = 6;
constexpr u32 kMechanism = 0xffffff01;
enum Step : u32 { kOpen = 1, kChallenge, kProve, kDone };
constexpr u32 kHost = 16;
constexpr u32 kNonce = 32;
constexpr u32 kProof = 32;
constexpr u32 kMostName = 64;
/* Where HOSTAUTH's octets begin in a message whose set has nothing else. */
constexpr u32 kValue = 16 + 4 + 3 * 4;
constexpr u32 kSecretSize = 32;

const std::string kName = "peer-key";

Octets random_octets(u32 size)
{
	static std::mt19937 engine{ std::random_device()() };
	Octets o(size);

	for (u8 &octet : o)
		octet = static_cast<u8>(engine());
	return o;
}

Octets &operator+=(Octets &a, const Octets &b)
{
	a.insert(a.end(), b.begin(), b.end());
	return a;
}

Octets text(const std::string &s)
{
	return Octets(s.begin(), s.end());
}

Octets sha256(const Octets &in)
{
	const rpcrdma_octets part = { in.data(), static_cast<u32>(in.size()) };
	Octets out(kProof);

	EXPECT_TRUE(rpcrdma_shim_sha256(&part, 1, out.data()));
	return out;
}

Octets hmac(const Octets &key, const Octets &in)
{
	const rpcrdma_octets k = { key.data(), static_cast<u32>(key.size()) };
	const rpcrdma_octets part = { in.data(), static_cast<u32>(in.size()) };
	Octets out(kProof);

	EXPECT_TRUE(rpcrdma_shim_hmac_sha256(&k, &part, 1, out.data()));
	return out;
}

/* T(i) of 11.4.4, or with @length the whole message's and @message less, P(i). */
Octets chain(const Octets &before, u32 sender, u32 length, const Octets &message)
{
	Octets in = before;

	in += unit::octets({ sender, length });
	in += message;
	return sha256(in);
}

/* 11.4.5; one block of HKDF-Expand is enough. */
Octets expand(const Octets &secret, const std::string &label,
	      const Octets &context)
{
	const std::string whole = "rpcrdma2 " + label;
	Octets info = { 0, kProof, static_cast<u8>(whole.size()) };

	info += text(whole);
	info.push_back(static_cast<u8>(context.size()));
	info += context;
	info.push_back(1);
	return hmac(secret, info);
}

/* The key that wire_auth.sh has made, in the keyring of the module and in a file. */
Octets key()
{
	std::ifstream file("/tmp/peer-key");
	std::stringstream all;

	all << file.rdbuf();
	EXPECT_EQ(all.str().size(), kSecretSize);
	return text(all.str());
}

/* What is in the sysctl auth_counts under this name. */
u32 count(const std::string &name)
{
	std::ifstream file("/proc/sys/net/rpcrdma/auth_counts");
	u32 found = 0;

	for (std::string word; file >> word;)
		if (word.starts_with(name + "="))
			found = static_cast<u32>(
				std::stoul(word.substr(name.size() + 1)));
	return found;
}

/* A message whose only property is HOSTAUTH, with this value. */
Octets carrying(u32 xid, u32 htype, const Octets &value)
{
	const u32 size = static_cast<u32>(value.size());
	Octets o = unit::octets(unit::prefix(xid, htype, Peer::kWindow) +
				Words{ 1, kHostAuth, 4 + (size + 3) / 4 * 4,
				       size });

	o += value;
	o.resize((o.size() + 3) / 4 * 4);
	return o;
}

Octets open_value(const std::string &name = kName)
{
	Octets v = unit::octets({ kMechanism, kOpen });

	v += random_octets(kHost);
	v += random_octets(kNonce);
	v += unit::octets({ static_cast<u32>(name.size()) });
	v += text(name);
	v.resize((v.size() + 3) / 4 * 4);
	return v;
}

Octets proof_value(u32 step, const Octets &proof = random_octets(kProof))
{
	Octets v = unit::octets({ kMechanism, step });

	v += proof;
	return v;
}

Octets part(const Octets &o, size_t from, size_t size)
{
	return Octets(o.begin() + static_cast<long>(from),
		      o.begin() + static_cast<long>(from + size));
}

/* A client, and what it has sent and got. */
class Client {
public:
	explicit Client(const Octets &secret = key(),
			const std::string &name = kName)
		: peer(Peer::connect())
		, secret_(hmac(Octets(kProof), secret))
		, name_(name)
	{
	}

	void send(const Octets &message)
	{
		Octets o = message;
		const Octets word =
			unit::octets({ peer.received() + Peer::kWindow });

		/* What it is to be, unless the test says otherwise. */
		std::copy(word.begin(), word.end(), o.begin() + 8);
		sent.push_back(o);
		EXPECT_TRUE(peer.send_as_is(o));
	}

	/* The first two messages. Return: the server's proof is right. */
	[[nodiscard]] bool begin()
	{
		send(carrying(peer.new_xid(), RPCRDMA2_CONNPROP_MIDDLE,
			      open_value(name_)));
		return answered();
	}

	/* CHALLENGE comes. Return: its proof is right. */
	[[nodiscard]] bool answered()
	{
		const Message m = peer.next();
		const u32 size = static_cast<u32>(m.octets.size());

		EXPECT_EQ(m.htype(), u32{ RPCRDMA2_CONNPROP_MIDDLE })
			<< m.describe();
		if (size < kProof + kNonce || m.htype() == RPCRDMA2_ERROR)
			throw Failure("this is no CHALLENGE");
		transcript_ = chain(sha256(text("rpcrdma2 hostauth")), 1,
				    static_cast<u32>(sent[0].size()), sent[0]);
		nonces_ = part(sent[0], kValue + 8 + kHost, kNonce);
		nonces_ += part(m.octets, size - kProof - kNonce, kNonce);
		const Octets right =
			proof("server proof", 2, size,
			      part(m.octets, 0, size - kProof));
		transcript_ = chain(transcript_, 2, size, m.octets);
		challenge = m.octets;
		return part(m.octets, size - kProof, kProof) == right;
	}

	/* Bytes that prove this client. */
	[[nodiscard]] Octets prove(u32 xid)
	{
		Octets o = carrying(xid, RPCRDMA2_CONNPROP_FINAL,
				    proof_value(kProve, Octets(kProof)));
		const u32 size = static_cast<u32>(o.size());
		const Octets word =
			unit::octets({ peer.received() + Peer::kWindow });

		std::copy(word.begin(), word.end(), o.begin() + 8);
		const Octets p = proof("client proof", 1, size,
				       part(o, 0, size - kProof));
		std::copy(p.begin(), p.end(), o.end() - kProof);
		return o;
	}

	void finish()
	{
		send(prove(peer.new_xid()));
		transcript_ = chain(transcript_, 1,
				    static_cast<u32>(sent.back().size()),
				    sent.back());
		const Message m = peer.next();
		const u32 size = static_cast<u32>(m.octets.size());

		ASSERT_EQ(m.htype(), u32{ RPCRDMA2_CONNPROP_FINAL })
			<< m.describe();
		EXPECT_EQ(part(m.octets, size - kProof, kProof),
			  proof("server done", 2, size,
				part(m.octets, 0, size - kProof)));
	}

	/* It is refused with this error, and the connection ends. */
	void refused(u32 xid, const Words &error)
	{
		peer.expect_error(xid, error);
		peer.expect_closed();
	}

	Peer peer;
	std::vector<Octets> sent;
	Octets challenge;

private:
	[[nodiscard]] Octets proof(const char *label, u32 sender, u32 size,
				   const Octets &covered) const
	{
		return hmac(expand(secret_, label, nonces_),
			    chain(transcript_, sender, size, covered));
	}

	Octets secret_; /* S */
	std::string name_;
	Octets transcript_;
	Octets nonces_;
};

/* Another client, whom nothing of this concerns; and what has failed. */
class auth_server : public testing::Test {
protected:
	void SetUp() override
	{
		ASSERT_TRUE(other_.begin());
		other_.finish();
		other_.peer.expect_works();
		before_ = count("authenticated");
	}
	void TearDown() override
	{
		other_.peer.expect_works();
	}

	/* One more has failed for that reason than before. */
	void failed(const std::string &reason)
	{
		for (u32 i = 0; i < 100 && count("failed-" + reason) ==
						   failed_[reason];
		     i++)
			usleep(20000);
		EXPECT_EQ(count("failed-" + reason), failed_[reason] + 1)
			<< reason;
		failed_[reason] = count("failed-" + reason);
		EXPECT_EQ(count("authenticated"), before_);
		/* Longer than the server turns away who has failed too often. */
		sleep(11);
	}
	void expect(const std::string &reason)
	{
		failed_[reason] = count("failed-" + reason);
	}

	Client other_;
	u32 before_ = 0;
	std::map<std::string, u32> failed_;
};

} // namespace

TEST_F(auth_server, who_has_the_key_gets_in)
{
	Client c;

	ASSERT_TRUE(c.begin());
	c.finish();
	c.peer.expect_works();
	EXPECT_EQ(count("authenticated"), before_ + 1);
	/* What comes after it is a property set too many. */
	properties_again(c.peer);
	c.peer.expect_works();
}

/* To it the key is like another one, and so it is in the end. */
TEST_F(auth_server, who_has_none_does_not)
{
	for (const std::string &name : { kName, std::string("no-such-key") }) {
		const std::string reason = name == kName ? "proof" :
							   "unknown-key";
		Client c(random_octets(kSecretSize), name);
		const u32 xid = c.peer.new_xid();

		expect(reason);
		EXPECT_FALSE(c.begin());
		c.send(c.prove(xid));
		c.refused(xid, kSystem);
		failed(reason);
	}
}

TEST_F(auth_server, who_does_not_authenticate_does_not)
{
	expect("missing");
	for (const bool call : { true, false }) {
		Client c;
		const u32 xid = c.peer.new_xid();

		if (call)
			c.peer.send(unit::call_inline(xid, null_call(xid)));
		else
			c.peer.send(unit::connprop(xid));
		c.refused(xid, kSystem);
		failed("missing");
	}
}

TEST_F(auth_server, messages_out_of_order)
{
	struct {
		u32 htype;
		Octets value;
	} const firsts[] = {
		{ RPCRDMA2_CONNPROP_FINAL, proof_value(kProve) },
		{ RPCRDMA2_CONNPROP_MIDDLE, proof_value(kProve) },
		{ RPCRDMA2_CONNPROP_FINAL, proof_value(kDone) },
		{ RPCRDMA2_CONNPROP_FINAL, open_value() },
	};

	expect("step");
	for (const auto &[htype, value] : firsts) {
		Client c;
		const u32 xid = c.peer.new_xid();

		c.send(carrying(xid, htype, value));
		c.refused(xid, { RPCRDMA2_ERR_BAD_PROPVAL });
		failed("step");
	}
	/* After OPEN: again, and a proof in a message that is not the last. */
	for (const bool again : { true, false }) {
		Client c;
		const u32 xid = c.peer.new_xid();

		ASSERT_TRUE(c.begin());
		c.send(carrying(xid, RPCRDMA2_CONNPROP_MIDDLE,
				again ? open_value() : proof_value(kProve)));
		c.refused(xid, { RPCRDMA2_ERR_BAD_PROPVAL });
		failed("step");
	}
	/* A Call after CHALLENGE. */
	Client c;
	const u32 xid = c.peer.new_xid();

	ASSERT_TRUE(c.begin());
	c.peer.send(unit::call_inline(xid, null_call(xid)));
	c.refused(xid, { RPCRDMA2_ERR_BAD_PROPVAL });
	failed("step");
}

TEST_F(auth_server, values_too_large_or_too_small)
{
	Octets longer = open_value();
	const Octets whole = open_value();

	expect("form");
	longer.resize(1024);
	for (const Octets &value :
	     { open_value(std::string(kMostName + 1, 'k')), open_value(""),
	       open_value("a b"), longer, part(whole, 0, 8),
	       part(whole, 0, whole.size() - 4),
	       unit::octets({ kMechanism, 5 }) }) {
		Client c;
		const u32 xid = c.peer.new_xid();

		c.send(carrying(xid, RPCRDMA2_CONNPROP_MIDDLE, value));
		c.refused(xid, { RPCRDMA2_ERR_BAD_PROPVAL });
		failed("form");
	}
	/* It says that it is longer than the message. */
	Client c;
	const u32 xid = c.peer.new_xid();
	Octets cut = carrying(xid, RPCRDMA2_CONNPROP_MIDDLE, whole);

	cut.resize(cut.size() - 4);
	c.send(cut);
	c.peer.next();
	c.peer.expect_closed();
	failed("form");
}

/* More than any Receive takes. */
TEST_F(auth_server, a_message_larger_than_a_receive)
{
	Client c;

	(void)c.peer.send_as_is(carrying(c.peer.new_xid(),
					 RPCRDMA2_CONNPROP_MIDDLE,
					 random_octets(12000)));
	c.peer.expect_closed();
}

TEST_F(auth_server, twice_in_one_message_or_not_the_last)
{
	const Octets value = open_value();

	expect("place");
	for (const bool twice : { true, false }) {
		Client c;
		const u32 xid = c.peer.new_xid();
		Octets o = carrying(xid, RPCRDMA2_CONNPROP_MIDDLE, value);

		if (twice)
			o += part(o, 20, o.size() - 20);
		else
			o += unit::octets({ 2, 4, 8192 });
		o[19] = 2;
		c.send(o);
		c.refused(xid, { RPCRDMA2_ERR_BAD_PROPVAL });
		failed("place");
	}
}

/* Who has listened to an exchange knows all messages of it, and cannot use them. */
TEST_F(auth_server, messages_of_another_exchange)
{
	Client again;
	const u32 xid = unit::word_at(other_.sent[1], 0);

	expect("proof");
	again.send(other_.sent[0]);
	/* The same OPEN gets another nonce, and so another proof. */
	EXPECT_TRUE(again.answered());
	EXPECT_NE(again.challenge, other_.challenge);
	again.send(other_.sent[1]);
	again.refused(xid, kSystem);
	failed("proof");

	/* Its own messages come back to the server. */
	Client reflected;
	expect("step");
	ASSERT_TRUE(reflected.begin());
	reflected.send(reflected.challenge);
	reflected.refused(unit::word_at(reflected.challenge, 0),
			  { RPCRDMA2_ERR_BAD_PROPVAL });
	failed("step");
}

/* PROVE comes twice: the second is one too many for the exchange that it has ended. */
TEST_F(auth_server, the_proof_again)
{
	Client c;

	ASSERT_TRUE(c.begin());
	c.finish();
	c.send(c.sent[1]);
	c.peer.expect_error(unit::word_at(c.sent[1], 0), kInvalCont);
	c.peer.expect_works();
	EXPECT_EQ(count("authenticated"), before_ + 1);
}

/* The server does not wait for ever, neither for OPEN nor for PROVE. */
TEST_F(auth_server, nothing_more)
{
	Client silent;
	Client stopped;

	expect("late");
	ASSERT_TRUE(stopped.begin());
	silent.peer.expect_closed(20000);
	stopped.peer.expect_closed(20000);
	EXPECT_GE(count("failed-late"), failed_["late"] + 1);
	sleep(11);
}
