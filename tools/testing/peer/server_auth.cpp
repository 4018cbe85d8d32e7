// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Host authentication (Documentation/host-authentication.rst): what our server does with the
 * messages of a client that authenticates, that does not, or that sends them in another order,
 * too large or once more. It demands authentication, and wire_auth.sh has given it the key.
 */
#include "auth.h"
#include "headers.h"
#include "nfs.h"

#include <gtest/gtest.h>

#include <map>
#include <unistd.h>

using namespace peer;
using namespace peer::auth;

namespace
{

/* A client, and what it has sent and got. */
class Client {
public:
	explicit Client(const Octets &secret = key(),
			const std::string &name = kName)
		: peer(Peer::connect())
		, exchange_(secret)
		, name_(name)
	{
	}

	void send(const Octets &message)
	{
		sent.push_back(with_credit(peer, message));
		EXPECT_TRUE(peer.send_as_is(sent.back()));
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
		const size_t size = m.octets.size();

		EXPECT_EQ(m.htype(), u32{ RPCRDMA2_CONNPROP_MIDDLE })
			<< m.describe();
		if (size < kProof + kNonce || m.htype() == RPCRDMA2_ERROR)
			throw Failure("this is no CHALLENGE");
		exchange_.begin(sent[0],
				part(sent[0], kValue + 8 + kHost, kNonce),
				part(m.octets, size - kProof - kNonce, kNonce));
		const Octets right =
			exchange_.proof("server proof", 2, m.octets);
		exchange_.add(2, m.octets);
		challenge = m.octets;
		return proof_in(m.octets) == right;
	}

	/* Bytes that prove this client. */
	[[nodiscard]] Octets prove(u32 xid)
	{
		return exchange_.proved(peer, "client proof", 1,
					carrying(xid, RPCRDMA2_CONNPROP_FINAL,
						 proof_value(kProve)));
	}

	void finish()
	{
		send(prove(peer.new_xid()));
		exchange_.add(1, sent.back());
		const Message m = peer.next();

		ASSERT_EQ(m.htype(), u32{ RPCRDMA2_CONNPROP_FINAL })
			<< m.describe();
		EXPECT_EQ(proof_in(m.octets),
			  exchange_.proof("server done", 2, m.octets));
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
	Exchange exchange_;
	std::string name_;
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
		for (u32 i = 0;
		     i < 100 && count("failed-" + reason) == failed_[reason];
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
		const std::string reason =
			name == kName ? "proof" : "unknown-key";
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
