// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "auth.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

#include <rpcrdma/crypto.h>

namespace peer::auth
{

Octets random_octets(u32 size)
{
	static std::mt19937 engine{ std::random_device("/dev/urandom")() };
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

static Octets text(const std::string &s)
{
	return Octets(s.begin(), s.end());
}

static Octets sha256(const Octets &in)
{
	const rpcrdma_octets part = { in.data(), static_cast<u32>(in.size()) };
	Octets out(kProof);

	EXPECT_TRUE(rpcrdma_shim_sha256(&part, 1, out.data()));
	return out;
}

static Octets hmac(const Octets &key, const Octets &in)
{
	const rpcrdma_octets k = { key.data(), static_cast<u32>(key.size()) };
	const rpcrdma_octets part = { in.data(), static_cast<u32>(in.size()) };
	Octets out(kProof);

	EXPECT_TRUE(rpcrdma_shim_hmac_sha256(&k, &part, 1, out.data()));
	return out;
}

/* T(i) of 11.4.4, or with @length the whole message's and @message less, P(i). */
static Octets chain(const Octets &before, u32 sender, u32 length,
		    const Octets &message)
{
	Octets in = before;

	in += unit::octets({ sender, length });
	in += message;
	return sha256(in);
}

/* 11.4.5; one block of HKDF-Expand is enough. */
static Octets expand(const Octets &secret, const std::string &label,
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

Octets key()
{
	std::ifstream file("/tmp/peer-key");
	std::stringstream all;

	all << file.rdbuf();
	EXPECT_EQ(all.str().size(), kSecretSize);
	return text(all.str());
}

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

Octets carrying(u32 xid, u32 htype, const Octets &value)
{
	const u32 size = static_cast<u32>(value.size());
	Octets o = unit::octets(
		unit::prefix(xid, htype, Peer::kWindow) +
		Words{ 1, kHostAuth, 4 + (size + 3) / 4 * 4, size });

	o += value;
	o.resize((o.size() + 3) / 4 * 4);
	return o;
}

Octets open_value(const std::string &name)
{
	Octets v = unit::octets({ kMechanism, kOpen });

	v += random_octets(kHost);
	v += random_octets(kNonce);
	v += unit::octets({ static_cast<u32>(name.size()) });
	v += text(name);
	v.resize((v.size() + 3) / 4 * 4);
	return v;
}

Octets proof_value(u32 step, const Octets &proof)
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

Octets with_credit(const Peer &peer, Octets message)
{
	const Octets word = unit::octets({ peer.received() + Peer::kWindow });

	std::copy(word.begin(), word.end(), message.begin() + 8);
	return message;
}

Exchange::Exchange(const Octets &secret)
	: secret_(hmac(Octets(kProof), secret))
{
}

void Exchange::begin(const Octets &open, const Octets &client_nonce,
		     const Octets &server_nonce)
{
	transcript_ = sha256(text("rpcrdma2 hostauth"));
	add(1, open);
	nonces_ = client_nonce;
	nonces_ += server_nonce;
}

void Exchange::add(u32 sender, const Octets &message)
{
	transcript_ = chain(transcript_, sender,
			    static_cast<u32>(message.size()), message);
}

Octets Exchange::proof(const char *label, u32 sender,
		       const Octets &message) const
{
	return hmac(expand(secret_, label, nonces_),
		    chain(transcript_, sender, static_cast<u32>(message.size()),
			  part(message, 0, message.size() - kProof)));
}

Octets Exchange::proved(const Peer &peer, const char *label, u32 sender,
			const Octets &message) const
{
	Octets o = with_credit(peer, message);
	const Octets p = proof(label, sender, o);

	std::copy(p.begin(), p.end(), o.end() - kProof);
	return o;
}

} // namespace peer::auth
