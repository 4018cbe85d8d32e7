// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "hostauth.h"
#include "properties.h"
#include "../hostauth/crypto.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <type_traits>

using namespace rpcrdma;
using namespace unit;

namespace
{

using State = HostAuth::State;
using Reason = HostAuthReason;
using Policy = HostAuthPolicy;

/* A session holds it by value. */
static_assert(std::is_trivially_copyable_v<HostAuth>);

Octets hex(const std::string &s)
{
	Octets o;

	for (size_t i = 0; i + 1 < s.size(); i += 2)
		o.push_back(static_cast<u8>(
			std::stoul(s.substr(i, 2), nullptr, 16)));
	return o;
}

std::string hex(const Octets &o)
{
	static const char digits[] = "0123456789abcdef";
	std::string s;

	for (const u8 octet : o) {
		s += digits[octet >> 4];
		s += digits[octet & 15];
	}
	return s;
}

Octets text(const std::string &s)
{
	return Octets(s.begin(), s.end());
}

Octets octets_from(Bytes b)
{
	return Octets(b.begin(), b.end());
}

Bytes bytes(const Octets &o)
{
	return { o.data(), static_cast<u32>(o.size()) };
}

HostAuth::Identity identity(u8 host, u8 nonce)
{
	HostAuth::Identity i;

	std::memset(i.host, host, sizeof(i.host));
	std::memset(i.nonce, nonce, sizeof(i.nonce));
	return i;
}

const Octets kDecoy(32, 0xdd);
const Octets kSecret = hex("000102030405060708090a0b0c0d0e0f"
			   "101112131415161718191a1b1c1d1e1f");
const Octets kOther(48, 0x77);
const Octets kName = text("filer1-2026");

HostAuth a_client(Policy policy = Policy::Required,
		  const Octets &secret = kSecret, const Octets &name = kName,
		  const HostAuth::Identity &self = identity(0xa1, 0xc1))
{
	return HostAuth::client(policy, self, bytes(name), bytes(secret));
}

HostAuth a_server(Policy policy = Policy::Required,
		  const HostAuth::Identity &self = identity(0xb2, 0x52))
{
	return HostAuth::server(policy, self);
}

const Words kSet = { 2, 1, 4, 8192, 2, 4, 16384 };

/* Message @n of the sequence, without HOSTAUTH: FINALs have no properties. */
Octets plain(u32 n)
{
	return octets(connprop(0x1000 + n, n < 3 ? kSet : Words{ 0 },
			       n < 3 ? RPCRDMA2_CONNPROP_MIDDLE :
				       RPCRDMA2_CONNPROP_FINAL));
}

Octets complete(HostAuth &from, const Octets &without)
{
	Octets out = without;

	out.resize(1024);
	out.resize(from.add({ out.data(), static_cast<u32>(out.size()) },
			    static_cast<u32>(without.size())));
	return out;
}

void give(HostAuth &to, const Octets &message)
{
	const Exact copy(message);

	to.receive(copy.bytes());
}

using Exchange = std::array<Octets, 4>;
/* May change message @n before it arrives. */
using OnTheWay = std::function<void(u32 n, Octets &message)>;

/* As far as the two get. @secret is what the server has under the name. */
Exchange run(HostAuth &client, HostAuth &server, const Octets &secret,
	     const OnTheWay &change = {})
{
	Exchange sent;

	for (u32 n = 1; n <= 4; n++) {
		HostAuth &from = n % 2 ? client : server;
		HostAuth &to = n % 2 ? server : client;

		if (!from.due())
			break;
		sent[n - 1] = complete(from, plain(n));
		Octets arrives = sent[n - 1];
		if (change)
			change(n, arrives);
		give(to, arrives);
		if (server.state() == State::WantsKey)
			server.key(bytes(secret), bytes(kDecoy));
	}
	return sent;
}

/* The two up to the point where message @n is to be given to its receiver. */
struct Until {
	HostAuth client = a_client();
	HostAuth server = a_server();
	Octets message;

	explicit Until(u32 n, Policy policy = Policy::Required)
	{
		client = a_client(policy);
		server = a_server(policy);
		for (u32 i = 1; i <= n; i++) {
			message = complete(i % 2 ? client : server, plain(i));
			if (i == n)
				break;
			give(i % 2 ? server : client, message);
			if (i == 1)
				server.key(bytes(kSecret), bytes(kDecoy));
		}
	}
	HostAuth &receiver(u32 n)
	{
		return n % 2 ? server : client;
	}
};

/* A message whose last property is this one. */
Octets with_value(u32 htype, const Octets &value)
{
	Octets o = octets(connprop(7, {}, htype) +
			  Words{ 1, 6, static_cast<u32>(value.size() + 4),
				 static_cast<u32>(value.size()) });

	o.insert(o.end(), value.begin(), value.end());
	return o;
}

/* HOSTAUTH's own octets in a message of plain() that has been completed. */
Octets value_of(const Octets &message, u32 n)
{
	return Octets(message.begin() +
			      static_cast<std::ptrdiff_t>(plain(n).size()) + 12,
		      message.end());
}

bool contains(const HostAuth &a, const Octets &what)
{
	const u8 *p = reinterpret_cast<const u8 *>(&a);
	const Octets all(p, p + sizeof(a));

	return std::search(all.begin(), all.end(), what.begin(), what.end()) !=
	       all.end();
}

} // namespace

/* ------------------------------------------------------------------ */

TEST(hkdf, rfc5869__test_cases_of_sha256)
{
	struct Case {
		Octets ikm;
		Octets salt;
		Octets info;
		std::string prk;
		std::string okm;
	};
	const auto from = [](u8 first, u32 n) {
		Octets o;

		for (u32 i = 0; i < n; i++)
			o.push_back(static_cast<u8>(first + i));
		return o;
	};
	const Case cases[] = {
		{ Octets(22, 0x0b), from(0, 13), from(0xf0, 10),
		  "077709362c2e32df0ddc3f0dc47bba6390b6c73bb50f9c3122ec844ad7c2"
		  "b3e5",
		  "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4"
		  "c5bf"
		  "34007208d5b887185865" },
		{ from(0, 80), from(0x60, 80), from(0xb0, 80),
		  "06a6b88c5853361a06104c9ceb35b45cef760014904671014a193f40c15f"
		  "c244",
		  "b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19af"
		  "a97c"
		  "59045a99cac7827271cb41c65e590e09da3275600c2f09b8367793a9aca3"
		  "db71"
		  "cc30c58179ec3e87c14c01d5c1f3434f1d87" },
		{ Octets(22, 0x0b),
		  {},
		  {},
		  "19ef24a32c717b167f33a91d6f648bdf96596776afdb6377ac434c1c293c"
		  "cb04",
		  "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c73"
		  "8d2d"
		  "9d201395faa4b61a96c8" },
	};

	for (const Case &c : cases) {
		Digest prk;
		Octets okm(c.okm.size() / 2);

		ASSERT_TRUE(hkdf_extract(bytes(c.salt), bytes(c.ikm), prk));
		EXPECT_EQ(hex(octets_from(prk.bytes())), c.prk);
		ASSERT_TRUE(hkdf_expand(
			prk.bytes(), bytes(c.info),
			{ okm.data(), static_cast<u32>(okm.size()) }));
		EXPECT_EQ(hex(okm), c.okm);
	}
}

TEST(hkdf, expand__as_much_as_there_is_and_no_more)
{
	const Octets key(32, 1);
	Octets out(kHkdfMost + 1, 0xee);

	EXPECT_TRUE(hkdf_expand(bytes(key), {}, { out.data(), kHkdfMost }));
	EXPECT_EQ(out.back(), 0xee);
	EXPECT_FALSE(
		hkdf_expand(bytes(key), {}, { out.data(), kHkdfMost + 1 }));
	EXPECT_EQ(out, Octets(out.size(), 0)) << "nothing is left of it";
	EXPECT_TRUE(hkdf_expand(bytes(key), {}, {}));
}

TEST(hkdf, expand__fails_in_any_block)
{
	for (int good = 0; good < 3; good++) {
		Octets out(96, 0xee);

		hostauth::good_calls = good;
		EXPECT_FALSE(
			hkdf_expand(bytes(kSecret), {}, { out.data(), 96 }));
		EXPECT_EQ(out, Octets(96, 0));
	}
	hostauth::good_calls = -1;
}

/* RFC 8446's HkdfLabel, with this protocol's prefix. */
TEST(hkdf, expand_label__is_expand_with_this_info)
{
	Digest prk;
	Digest label;
	Octets out(32);
	Octets info = { 0, 32, 14 };
	const Octets name = text("rpcrdma2 hello");

	std::memset(prk.octets, 3, sizeof(prk.octets));
	info.insert(info.end(), name.begin(), name.end());
	info.push_back(2);
	info.push_back(9);
	info.push_back(8);
	ASSERT_TRUE(
		hkdf_expand_label(prk, Label("hello"), bytes({ 9, 8 }), label));
	ASSERT_TRUE(hkdf_expand(prk.bytes(), bytes(info), { out.data(), 32 }));
	EXPECT_EQ(octets_from(label.bytes()), out);
	EXPECT_FALSE(hkdf_expand_label(prk, Label("hello"), bytes(Octets(65)),
				       label));
	EXPECT_FALSE(hkdf_expand_label(
		prk, Label("a label of more than 23 octets"), {}, label));
}

/* ------------------------------------------------------------------ */

TEST(hostauth, both_complete)
{
	HostAuth client = a_client();
	HostAuth server = a_server();

	EXPECT_EQ(client.due(), u32{ RPCRDMA2_CONNPROP_MIDDLE });
	EXPECT_EQ(server.due(), 0u);
	const Exchange sent = run(client, server, kSecret);
	EXPECT_EQ(client.state(), State::Authenticated);
	EXPECT_EQ(server.state(), State::Authenticated);
	EXPECT_EQ(octets_from(server.key_name()), kName);
	EXPECT_EQ(client.due() + server.due(), 0u);
	/* What the sessions of today make of it: a form that they know. */
	for (const Octets &m : sent) {
		Properties p = kDefaultProperties;

		EXPECT_EQ(decode_properties(Exact(m).bytes().after(16), p),
			  PropertyParse::Ok);
	}
}

TEST(hostauth, step_by_step)
{
	HostAuth client = a_client();
	HostAuth server = a_server();

	EXPECT_EQ(client.state(), State::Start);
	EXPECT_EQ(server.state(), State::Waits);
	EXPECT_EQ(server.key_name().size(), 0u);
	const Octets open = complete(client, plain(1));
	EXPECT_EQ(client.state(), State::Waits);
	give(server, open);
	EXPECT_EQ(server.state(), State::WantsKey);
	EXPECT_EQ(server.due(), 0u);
	server.key(bytes(kSecret), bytes(kDecoy));
	EXPECT_EQ(server.due(), u32{ RPCRDMA2_CONNPROP_MIDDLE });
	give(client, complete(server, plain(2)));
	EXPECT_EQ(client.due(), u32{ RPCRDMA2_CONNPROP_FINAL });
	EXPECT_EQ(server.state(), State::Waits);
	give(server, complete(client, plain(3)));
	EXPECT_EQ(server.due(), u32{ RPCRDMA2_CONNPROP_FINAL });
	EXPECT_FALSE(server.final());
	give(client, complete(server, plain(4)));
	EXPECT_TRUE(client.final() && server.final());
}

/* The table in the document. */
TEST(hostauth, sizes)
{
	const Octets name(kHostAuthNameMost, 'n');
	HostAuth client = a_client(Policy::Required, kSecret, name);
	HostAuth server = a_server();
	const Exchange sent = run(client, server, kSecret);
	const u32 added[] = { 136, 100, 52, 52 };

	ASSERT_EQ(client.state(), State::Authenticated);
	EXPECT_EQ(kHostAuthValueMost, 136u);
	for (u32 n = 1; n <= 4; n++)
		EXPECT_EQ(sent[n - 1].size(), plain(n).size() + added[n - 1]);
	/* A set as large as the core can have one, and the longest name. */
	EXPECT_LE(16 + properties_size(RPCRDMA_MAX_PROPERTIES - 1) +
			  kHostAuthValueMost,
		  336u);
	EXPECT_EQ(16 + properties_size(5) + kHostAuthValueMost, 216u);
	EXPECT_EQ(properties_size(5), kPropertiesSize);
}

TEST(hostauth, names_of_every_length)
{
	for (u32 size = 1; size <= kHostAuthNameMost; size++) {
		HostAuth client =
			a_client(Policy::Required, kSecret, Octets(size, '~'));
		HostAuth server = a_server();

		run(client, server, kSecret);
		EXPECT_EQ(client.state(), State::Authenticated);
		EXPECT_EQ(server.key_name().size(), size);
	}
}

/* Written from the document, in another language, by other libraries. */
TEST(hostauth, python_computes_the_same)
{
	const std::string in = ::testing::TempDir() + "hostauth.in";
	const std::string out = ::testing::TempDir() + "hostauth.out";
	std::mt19937 random(20261125);
	const auto some = [&](size_t size) {
		Octets o(size);

		for (u8 &octet : o)
			octet = static_cast<u8>(random());
		return o;
	};
	std::ofstream cases(in);
	std::string want;
	u32 count = 0;

	for (; count < 64; count++) {
		Octets name(1 + random() % kHostAuthNameMost);
		const Octets secret = some(32 + random() % 17);
		HostAuth::Identity ids[2];

		for (u8 &c : name)
			c = static_cast<u8>(0x21 + random() % 0x5e);
		for (HostAuth::Identity &i : ids) {
			const Octets o = some(sizeof(i));

			std::memcpy(&i, o.data(), sizeof(i));
		}
		HostAuth client =
			a_client(Policy::Required, secret, name, ids[0]);
		HostAuth server = a_server(Policy::Offered, ids[1]);
		const Exchange sent = run(client, server, secret);
		ASSERT_EQ(client.state(), State::Authenticated);
		ASSERT_EQ(server.state(), State::Authenticated);

		cases << hex(name) << ' ' << hex(secret);
		for (const HostAuth::Identity &i : ids)
			cases << ' ' << hex(octets_from(Bytes(i.host))) << ' '
			      << hex(octets_from(Bytes(i.nonce)));
		for (u32 n = 1; n <= 4; n++) {
			cases << ' ' << hex(plain(n));
			want += hex(sent[n - 1]) + (n < 4 ? " " : "\n");
		}
		cases << '\n';
	}
	cases.close();
	const std::string command =
		"python3 ../hostauth/exchange < " + in + " > " + out;
	/* NOLINTNEXTLINE(cert-env33-c,concurrency-mt-unsafe) */
	ASSERT_EQ(std::system(command.c_str()), 0);
	std::ifstream answer(out);
	std::stringstream got;
	got << answer.rdbuf();
	EXPECT_EQ(got.str(), want);
	std::remove(in.c_str());
	std::remove(out.c_str());
}

/* ------------------------------------------------------------------ */

/* Header, properties, value, proof: each octet is covered. */
TEST(hostauth, every_octet_that_changes_is_noticed)
{
	for (u32 n = 1; n <= 4; n++) {
		const size_t size = Until(n).message.size();

		for (size_t at = 0; at < size; at++) {
			HostAuth client = a_client();
			HostAuth server = a_server();

			run(client, server, kSecret, [&](u32 which, Octets &m) {
				if (which == n)
					m[at] ^= 1;
			});
			/* The server completes before the last message. */
			EXPECT_EQ(client.state() == State::Authenticated, false)
				<< "message " << n << " octet " << at;
			EXPECT_EQ(server.state() == State::Authenticated,
				  n == 4)
				<< "message " << n << " octet " << at;
		}
	}
}

/* Under "offered" it may come to nothing, but not to something else. */
TEST(hostauth, every_octet_that_changes_is_noticed_when_offered)
{
	for (u32 n = 1; n <= 4; n++) {
		const size_t size = Until(n).message.size();

		for (size_t at = 0; at < size; at++) {
			HostAuth client = a_client(Policy::Offered);
			HostAuth server = a_server(Policy::Offered);

			run(client, server, kSecret, [&](u32 which, Octets &m) {
				if (which == n)
					m[at] ^= 0x80;
			});
			EXPECT_NE(client.state(), State::Authenticated);
			EXPECT_EQ(server.state() == State::Authenticated,
				  n == 4);
		}
	}
}

TEST(hostauth, a_property_that_is_added_or_taken_away_is_noticed)
{
	for (u32 n = 1; n <= 4; n++)
		for (const bool more : { false, true }) {
			Until at(n);
			Octets &m = at.message;
			HostAuth &to = at.receiver(n);
			const std::ptrdiff_t first = 20;

			if (!more && n > 2)
				continue;
			if (more) {
				const Octets extra = octets({ 4, 4, 7 });

				m.insert(m.begin() + first, extra.begin(),
					 extra.end());
			} else {
				m.erase(m.begin() + first,
					m.begin() + first + 12);
			}
			m[19] = static_cast<u8>(m[19] + (more ? 1 : -1));
			give(to, m);
			if (n > 1) {
				EXPECT_EQ(to.state(), State::Failed);
				EXPECT_EQ(to.reason(), Reason::Proof);
				continue;
			}
			/* Nothing proves the first message yet. */
			to.key(bytes(kSecret), bytes(kDecoy));
			give(at.client, complete(to, plain(2)));
			EXPECT_EQ(at.client.reason(), Reason::Proof);
		}
}

TEST(hostauth, wrong_key)
{
	HostAuth client = a_client();
	HostAuth server = a_server();

	run(client, server, kOther);
	EXPECT_EQ(client.state(), State::Failed);
	EXPECT_EQ(client.reason(), Reason::Proof);
	EXPECT_EQ(server.state(), State::Waits);
}

/* Neither what is sent nor the work tells which; nor how long a key is. */
TEST(hostauth, unknown_key_looks_like_a_wrong_one)
{
	const Octets has[] = { {}, Octets(32, 0x31), Octets(48, 0x31) };
	hostauth::Work work[3];
	Octets challenge[3];
	rpcrdma_errcode error[3];

	for (u32 i = 0; i < 3; i++) {
		Until at(1);
		HostAuth &server = at.server;

		give(server, at.message);
		hostauth::work = {};
		server.key(bytes(has[i]), bytes(kDecoy));
		challenge[i] = complete(server, plain(2));
		work[i] = hostauth::work;
		/* By the key that the client has. */
		const Octets prove = Until(3).message;
		hostauth::work = {};
		give(server, prove);
		work[i].calls += 100 * hostauth::work.calls;
		work[i].blocks += 100 * hostauth::work.blocks;
		work[i].compared += hostauth::work.compared;
		EXPECT_EQ(server.state(), State::Failed);
		EXPECT_EQ(server.reason(),
			  i ? Reason::Proof : Reason::UnknownKey);
		error[i] = host_auth_error(server.reason());
	}
	for (const u32 i : { 0u, 2u }) {
		EXPECT_EQ(work[i], work[1]);
		EXPECT_EQ(
			Octets(challenge[i].begin(), challenge[i].end() - 32),
			Octets(challenge[1].begin(), challenge[1].end() - 32));
		EXPECT_EQ(error[i], error[1]);
	}
	EXPECT_GT(work[1].compared, 0u);
	EXPECT_EQ(error[1], u32{ RPCRDMA2_ERR_SYSTEM });
}

/* What the document says of a server's work. */
TEST(hostauth, work)
{
	HostAuth client = a_client(Policy::Required, kSecret,
				   Octets(kHostAuthNameMost, 'n'));
	const Octets open = complete(client, plain(1));

	hostauth::work = {};
	HostAuth server = a_server();
	give(server, open);
	server.key(bytes(kSecret), bytes(kDecoy));
	const Octets challenge = complete(server, plain(2));
	EXPECT_LE(hostauth::work.blocks, 27u);
	EXPECT_GT(hostauth::work.blocks, 22u);
	hostauth::Work before = hostauth::work;
	give(client, challenge);
	const Octets prove = complete(client, plain(3));
	hostauth::work = before;
	give(server, prove);
	(void)complete(server, plain(4));
	EXPECT_EQ(server.state(), State::Authenticated);
	EXPECT_LE(hostauth::work.blocks, 55u);
	EXPECT_GT(hostauth::work.blocks, 45u);
}

/* Even who knows the decoy is refused. */
TEST(hostauth, the_decoy_is_no_key)
{
	HostAuth client = a_client(Policy::Required, kDecoy);
	HostAuth server = a_server();

	run(client, server, {});
	EXPECT_EQ(server.state(), State::Failed);
	EXPECT_EQ(server.reason(), Reason::UnknownKey);
	EXPECT_NE(client.state(), State::Authenticated);
}

TEST(hostauth, two_keys)
{
	const Octets names[] = { text("old"), text("new") };
	const Octets secrets[] = { kSecret, kOther };

	for (u32 has = 0; has < 2; has++)
		for (u32 says = 0; says < 2; says++) {
			HostAuth client = a_client(Policy::Required,
						   secrets[has], names[says]);
			HostAuth server = a_server();

			run(client, server, secrets[says]);
			EXPECT_EQ(client.state() == State::Authenticated,
				  has == says);
			EXPECT_EQ(server.state() == State::Authenticated,
				  has == says);
			EXPECT_EQ(octets_from(server.key_name()), names[says]);
		}
}

/* One secret under two names: the name is covered. */
TEST(hostauth, the_name_is_covered)
{
	HostAuth client = a_client();
	HostAuth server = a_server();

	run(client, server, kSecret, [](u32 n, Octets &m) {
		if (n == 1)
			m[m.size() - 12] = 'F';
	});
	EXPECT_EQ(octets_from(server.key_name()), text("Filer1-2026"));
	EXPECT_EQ(client.reason(), Reason::Proof);
}

/* ------------------------------------------------------------------ */

/* Each message of another exchange, with the same key and between the same hosts. */
TEST(hostauth, replayed)
{
	HostAuth client0 =
		a_client(Policy::Required, kSecret, kName, identity(0xa1, 1));
	HostAuth server0 = a_server(Policy::Required, identity(0xb2, 2));
	const Exchange old = run(client0, server0, kSecret);

	ASSERT_EQ(client0.state(), State::Authenticated);
	for (u32 n = 1; n <= 4; n++) {
		HostAuth client = a_client();
		HostAuth server = a_server();

		run(client, server, kSecret, [&](u32 which, Octets &m) {
			if (which == n)
				m = old[n - 1];
		});
		EXPECT_EQ(server.state() == State::Authenticated, n == 4);
		EXPECT_NE(client.state(), State::Authenticated);
		EXPECT_EQ((n == 3 ? server : client).reason(), Reason::Proof);
	}
	/* All of a client's messages, to a server that is asked again. */
	HostAuth server = a_server();
	give(server, old[0]);
	server.key(bytes(kSecret), bytes(kDecoy));
	complete(server, plain(2));
	give(server, old[2]);
	EXPECT_EQ(server.reason(), Reason::Proof);
}

/* To this host's own server, which has the key. */
TEST(hostauth, reflected_to_the_own_host)
{
	HostAuth client = a_client();
	HostAuth server = a_server(Policy::Required, identity(0xa1, 0x52));

	run(client, server, kSecret);
	EXPECT_EQ(server.state(), State::Failed);
	EXPECT_EQ(server.reason(), Reason::Self);
	EXPECT_NE(client.state(), State::Authenticated);
}

/* The server does not look for itself, or has been lied to: then the client looks. */
TEST(hostauth, the_client_looks_for_itself_too)
{
	HostAuth client = a_client();
	HostAuth server = a_server(Policy::Required, identity(0xa1, 0x52));
	Octets open = complete(client, plain(1));

	open[plain(1).size() + 20] ^= 1; /* in ha_host */
	give(server, open);
	server.key(bytes(kSecret), bytes(kDecoy));
	give(client, complete(server, plain(2)));
	EXPECT_EQ(client.state(), State::Failed);
	EXPECT_EQ(client.reason(), Reason::Self);
}

/* What a side has sent comes back to it. */
TEST(hostauth, reflected_to_the_sender)
{
	for (u32 n = 1; n <= 3; n++) {
		Until at(n);
		HostAuth &from = n % 2 ? at.client : at.server;

		give(from, at.message);
		EXPECT_EQ(from.state(), State::Failed) << n;
		EXPECT_EQ(from.reason(), Reason::Step) << n;
	}
}

/* The other side's proof of the same connection, dressed up as one's own. */
TEST(hostauth, a_proof_of_the_server_is_none_of_the_client)
{
	Until at(3);
	HostAuth &server = at.server;
	const Octets challenge = Until(2).message;

	std::copy(challenge.end() - 32, challenge.end(), at.message.end() - 32);
	give(server, at.message);
	EXPECT_EQ(server.reason(), Reason::Proof);

	Until last(4);
	const Octets prove = Until(3).message;
	std::copy(prove.end() - 32, prove.end(), last.message.end() - 32);
	give(last.client, last.message);
	EXPECT_EQ(last.client.reason(), Reason::Proof);
}

/* Every message at every point at which another is due, or none. */
TEST(hostauth, out_of_order)
{
	Octets messages[5];

	for (u32 n = 1; n <= 4; n++)
		messages[n] = Until(n).message;
	for (u32 when = 1; when <= 4; when++)
		for (u32 n = 1; n <= 4; n++)
			for (const bool receiver : { false, true }) {
				Until at(when);
				HostAuth &to =
					at.receiver(receiver ? when : when + 1);

				/* That one is due. */
				if (n == when + !receiver)
					continue;
				/* Who has completed takes no more. */
				if (to.final())
					continue;
				give(to, messages[n]);
				EXPECT_EQ(to.state(), State::Failed)
					<< when << ' ' << n << receiver;
				EXPECT_EQ(to.reason(), Reason::Step)
					<< when << ' ' << n << receiver;
			}
}

TEST(hostauth, before_its_turn)
{
	Until at(1);

	/* OPEN twice: the key is still being looked for. */
	give(at.server, at.message);
	EXPECT_EQ(at.server.state(), State::WantsKey);
	give(at.server, at.message);
	EXPECT_EQ(at.server.reason(), Reason::Step);
	/* Too late for a key, but nothing breaks. */
	at.server.key(bytes(kSecret), bytes(kDecoy));
	EXPECT_EQ(at.server.state(), State::Failed);

	/* The server speaks first. */
	HostAuth client = a_client();
	give(client, plain(4));
	EXPECT_EQ(client.reason(), Reason::Step);

	/* The client goes on before the server has answered. */
	Until proved(3);
	give(proved.server, proved.message);
	give(proved.server, proved.message);
	EXPECT_EQ(proved.server.reason(), Reason::Step);
}

/* The step that a side is about to take itself. */
TEST(hostauth, the_own_step_from_the_peer)
{
	for (u32 n = 2; n <= 4; n++) {
		const Octets own = Until(n).message;
		Until at(n - 1);
		HostAuth &to = at.receiver(n - 1);

		give(to, at.message);
		if (n == 2) {
			HostAuth early = to;

			EXPECT_EQ(early.state(), State::WantsKey);
			give(early, own);
			EXPECT_EQ(early.reason(), Reason::Step);
			to.key(bytes(kSecret), bytes(kDecoy));
		}
		EXPECT_EQ(to.state(), State::Answers);
		give(to, own);
		EXPECT_EQ(to.state(), State::Failed);
		EXPECT_EQ(to.reason(), Reason::Step);
	}
}

/* A step is bound to its header type. */
TEST(hostauth, middle_and_final_are_not_the_same)
{
	for (u32 n = 1; n <= 4; n++) {
		Until at(n);

		at.message[15] ^=
			RPCRDMA2_CONNPROP_MIDDLE ^ RPCRDMA2_CONNPROP_FINAL;
		give(at.receiver(n), at.message);
		EXPECT_EQ(at.receiver(n).reason(), Reason::Step);
	}
}

/* ------------------------------------------------------------------ */

TEST(hostauth, message_that_ends_too_soon)
{
	for (u32 n = 1; n <= 4; n++) {
		const Octets whole = Until(n).message;

		for (size_t size = 0; size < whole.size(); size++) {
			Until at(n);

			give(at.receiver(n),
			     Octets(whole.begin(),
				    whole.begin() +
					    static_cast<std::ptrdiff_t>(size)));
			EXPECT_EQ(at.receiver(n).reason(), Reason::Form);
		}
		Until at(n);
		at.message.resize(whole.size() + 4);
		give(at.receiver(n), at.message);
		EXPECT_EQ(at.receiver(n).reason(), Reason::Form);
	}
}

TEST(hostauth, value_that_ends_too_soon_or_too_late)
{
	for (u32 n = 1; n <= 4; n++) {
		const Octets value = value_of(Until(n).message, n);
		const u32 htype = n < 3 ? RPCRDMA2_CONNPROP_MIDDLE :
					  RPCRDMA2_CONNPROP_FINAL;

		for (u32 size = 4; size <= value.size() + 64; size += 4) {
			Until at(n);
			Octets v = value;

			v.resize(size);
			give(at.receiver(n), with_value(htype, v));
			EXPECT_EQ(at.receiver(n).reason() == Reason::Form,
				  size != value.size())
				<< n << ' ' << size;
		}
	}
}

TEST(hostauth, value_of_no_known_step)
{
	for (const u32 step : { 0u, 5u, 0x01000000u, UINT32_MAX }) {
		HostAuth server = a_server(Policy::Offered);

		give(server, with_value(RPCRDMA2_CONNPROP_MIDDLE,
					octets({ kHostAuthMechanism, step })));
		EXPECT_EQ(server.state(), State::Failed);
		EXPECT_EQ(server.reason(), Reason::Form);
	}
}

TEST(hostauth, names_that_are_none)
{
	const auto open = [](const Octets &name) {
		Octets v = octets({ kHostAuthMechanism, 1 });
		const u32 size = static_cast<u32>(name.size());
		const Octets length = octets({ size });

		v.resize(v.size() + 48, 0x11);
		v.insert(v.end(), length.begin(), length.end());
		v.insert(v.end(), name.begin(), name.end());
		v.resize((v.size() + 3) / 4 * 4);
		return with_value(RPCRDMA2_CONNPROP_MIDDLE, v);
	};
	const auto reason = [&](const Octets &name) {
		HostAuth server = a_server();

		give(server, open(name));
		return server.reason();
	};

	EXPECT_EQ(reason(text("a")), Reason::None);
	EXPECT_EQ(reason(Octets(64, 'a')), Reason::None);
	EXPECT_EQ(reason({}), Reason::Form);
	EXPECT_EQ(reason(Octets(65, 'a')), Reason::Form);
	EXPECT_EQ(reason(Octets(68, 'a')), Reason::Form);
	EXPECT_EQ(reason(Octets(256, 'a')), Reason::Form);
	for (u32 c = 0; c < 256; c++)
		EXPECT_EQ(reason({ 'a', static_cast<u8>(c) }) == Reason::None,
			  c >= 0x21 && c <= 0x7e);
	/* Longer than the value, up to what overflows. */
	for (const u32 length : { 12u, 64u, 65u, 0x7fffffffu, UINT32_MAX }) {
		HostAuth server = a_server();
		Octets m = open(text("abcdefgh"));
		const Octets l = octets({ length });

		std::copy(l.begin(), l.end(), m.end() - 12);
		give(server, m);
		EXPECT_EQ(server.reason(), Reason::Form);
	}
}

TEST(hostauth, property_that_comes_twice_or_is_not_the_last)
{
	for (u32 n = 1; n <= 4; n++) {
		const Octets whole = Until(n).message;
		const Octets property(
			whole.begin() +
				static_cast<std::ptrdiff_t>(plain(n).size()),
			whole.end());
		Octets twice = whole;
		Octets first = whole;
		const Octets after = octets({ 4, 4, 7 });

		twice[19]++;
		twice.insert(twice.end(), property.begin(), property.end());
		first[19]++;
		first.insert(first.end(), after.begin(), after.end());
		for (const Octets &m : { twice, first }) {
			Until at(n);

			give(at.receiver(n), m);
			EXPECT_EQ(at.receiver(n).reason(), Reason::Place);
		}
	}
}

/* A value of no octets is the default, as for all properties (5.1). */
TEST(hostauth, empty_property_is_none)
{
	HostAuth server = a_server(Policy::Offered);

	give(server, octets(connprop(7, { 2, 6, 0, 1, 4, 4096 })));
	EXPECT_EQ(server.state(), State::Without);
	/* Beside one that is not empty it does not matter either. */
	Until at(1);
	Octets m = at.message;
	const Octets empty = octets({ 6, 0 });
	m[19]++;
	m.insert(m.begin() + 20, empty.begin(), empty.end());
	give(at.server, m);
	EXPECT_EQ(at.server.state(), State::WantsKey);
}

TEST(hostauth, another_mechanism_is_as_none)
{
	const Words values[] = { {}, { 1 }, { 0xffffff02, 1, 2, 3 } };

	for (const Words &v : values)
		for (const Policy p : { Policy::Offered, Policy::Required }) {
			HostAuth server = a_server(p);

			give(server,
			     with_value(RPCRDMA2_CONNPROP_MIDDLE, octets(v)));
			EXPECT_EQ(server.state(), p == Policy::Offered ?
							  State::Without :
							  State::Failed);
			EXPECT_EQ(server.reason(), Reason::Missing);
		}
}

/* A session refuses it before, as a bad value. */
TEST(hostauth, property_that_is_no_opaque)
{
	const Words sets[] = {
		{ 1, 6, 2, 0 },
		{ 1, 6, 4, 1 },
		{ 1, 6, 4, UINT32_MAX },
		{ 1, 6, 8, 5, kHostAuthMechanism },
		{ 1, 6, 12, 4, kHostAuthMechanism, 1 },
		{ 1, 6, 4 },
		{ 1, 6 },
		{ 1 },
		{},
	};

	for (const Words &set : sets) {
		HostAuth server = a_server(Policy::Offered);

		give(server,
		     octets(connprop(7, set, RPCRDMA2_CONNPROP_MIDDLE)));
		EXPECT_EQ(server.reason(), Reason::Form);
	}
	/* Right, but for octets behind it. */
	Until at(1);
	Octets &m = at.message;
	m[plain(1).size() + 7] = static_cast<u8>(m[plain(1).size() + 7] + 4);
	m.resize(m.size() + 4);
	give(at.server, m);
	EXPECT_EQ(at.server.reason(), Reason::Form);
}

/* ------------------------------------------------------------------ */

TEST(hostauth, off_does_nothing)
{
	HostAuth client = a_client(Policy::Off);
	HostAuth server = a_server(Policy::Off);

	for (HostAuth *a : { &client, &server }) {
		EXPECT_EQ(a->state(), State::Without);
		EXPECT_EQ(a->reason(), Reason::None);
		EXPECT_EQ(a->due(), 0u);
		give(*a, Until(1).message);
		a->late();
		a->version1();
		a->end();
		EXPECT_EQ(a->state(), State::Without);
	}
}

TEST(hostauth, no_key_of_its_own)
{
	const Octets bad_names[] = { {}, Octets(65, 'a'), text("a b") };

	for (const Policy p : { Policy::Offered, Policy::Required }) {
		const State want =
			p == Policy::Offered ? State::Without : State::Failed;

		for (const u32 size : { 0u, 1u, 31u, 49u }) {
			const HostAuth a = a_client(p, Octets(size, 7));

			EXPECT_EQ(a.state(), want);
			EXPECT_EQ(a.reason(), Reason::NoKey);
		}
		for (const Octets &name : bad_names)
			EXPECT_EQ(a_client(p, kSecret, name).state(), want);
		for (const u32 size : { 32u, 48u })
			EXPECT_EQ(a_client(p, Octets(size, 7)).state(),
				  State::Start);
	}
	EXPECT_EQ(host_auth_error(Reason::NoKey), u32{ RPCRDMA2_ERR_NONE });
	/* A key that is too short is none for a server either. */
	HostAuth client = a_client();
	HostAuth server = a_server();
	run(client, server, Octets(31, 7));
	EXPECT_EQ(client.reason(), Reason::Proof);
}

/* The peer does not authenticate: its FINAL has no HOSTAUTH, or a MIDDLE. */
TEST(hostauth, peer_without)
{
	for (const Policy p : { Policy::Offered, Policy::Required }) {
		const State want =
			p == Policy::Offered ? State::Without : State::Failed;

		for (const u32 n : { 1u, 3u }) {
			HostAuth server = a_server(p);
			HostAuth client = Until(1, p).client;

			give(server, plain(n));
			EXPECT_EQ(server.state(), want);
			EXPECT_EQ(server.reason(), Reason::Missing);
			give(client, plain(n + 1));
			EXPECT_EQ(client.state(), want);
			EXPECT_EQ(client.reason(), Reason::Missing);
		}
	}
	EXPECT_EQ(host_auth_error(Reason::Missing), u32{ RPCRDMA2_ERR_SYSTEM });
}

/* The client has stopped waiting: its FINAL crosses with the server's CHALLENGE. */
TEST(hostauth, client_that_stops_waiting)
{
	for (const Policy p : { Policy::Offered, Policy::Required }) {
		const State want =
			p == Policy::Offered ? State::Without : State::Failed;

		for (u32 how = 0; how < 3; how++) {
			Until at(how == 2 ? 2 : 1, p);
			HostAuth &server = at.server;

			if (how < 2)
				give(server, at.message);
			if (how == 1)
				server.key(bytes(kSecret), bytes(kDecoy));
			give(server, plain(4));
			EXPECT_EQ(server.state(), want) << how;
			EXPECT_EQ(server.reason(), Reason::Missing);
			/* Nothing more comes of it. */
			server.key(bytes(kSecret), bytes(kDecoy));
			EXPECT_EQ(server.state(), want);
			EXPECT_EQ(server.due(), 0u);
		}
		Until at(2, p);
		at.client.late();
		EXPECT_EQ(at.client.state(), want);
		EXPECT_EQ(at.client.reason(), Reason::Late);
		give(at.client, at.message);
		EXPECT_EQ(at.client.state(), want);
	}
}

/* Half-way a MIDDLE without it is no end, but a message too many. */
TEST(hostauth, middle_too_many)
{
	Until at(2, Policy::Offered);

	give(at.server, plain(1));
	EXPECT_EQ(at.server.reason(), Reason::Step);
	Until open(1, Policy::Offered);
	give(open.server, open.message);
	give(open.server, plain(1));
	EXPECT_EQ(open.server.reason(), Reason::Step);
}

/* What has been proved is not given up any more, whatever the policy. */
TEST(hostauth, no_way_back_from_a_proof)
{
	Until done(4, Policy::Offered);
	give(done.client, plain(4));
	EXPECT_EQ(done.client.state(), State::Failed);
	EXPECT_EQ(done.client.reason(), Reason::Missing);

	Until proved(3, Policy::Offered);
	give(proved.server, proved.message);
	give(proved.server, plain(3));
	EXPECT_EQ(proved.server.state(), State::Failed);

	Until challenged(2, Policy::Offered);
	give(challenged.client, challenged.message);
	give(challenged.client, plain(4));
	EXPECT_EQ(challenged.client.state(), State::Failed);
}

TEST(hostauth, a_failure_is_one_under_every_policy)
{
	for (u32 n = 2; n <= 4; n++) {
		Until at(n, Policy::Offered);

		at.message.back() ^= 1;
		give(at.receiver(n), at.message);
		EXPECT_EQ(at.receiver(n).state(), State::Failed);
		EXPECT_EQ(at.receiver(n).reason(), Reason::Proof);
	}
}

TEST(hostauth, late)
{
	for (const Policy p : { Policy::Offered, Policy::Required }) {
		HostAuth server = a_server(p);
		server.late();
		EXPECT_EQ(server.reason(), Reason::Late);
		EXPECT_EQ(server.state(), State::Failed);
		Until prove(3, p);
		prove.server.late();
		EXPECT_EQ(prove.server.state(), State::Failed);
		prove.client.late();
		EXPECT_EQ(prove.client.state(), State::Failed);
		Until done(4, p);
		done.client.late();
		EXPECT_EQ(done.client.state(), State::Failed);
		done.server.late();
		EXPECT_EQ(done.server.state(), State::Authenticated);
	}
}

TEST(hostauth, version_1)
{
	for (const Policy p : { Policy::Offered, Policy::Required }) {
		const State want =
			p == Policy::Offered ? State::Without : State::Failed;
		HostAuth server = a_server(p);
		HostAuth start = a_client(p);
		Until open(1, p);

		for (HostAuth *a : { &server, &start, &open.client }) {
			a->version1();
			EXPECT_EQ(a->state(), want);
			EXPECT_EQ(a->reason(), Reason::Version);
		}
		Until prove(3, p);
		for (HostAuth *a : { &prove.client, &prove.server }) {
			a->version1();
			EXPECT_EQ(a->state(), State::Failed);
		}
		Until done(4, p);
		done.server.version1();
		EXPECT_EQ(done.server.state(), State::Authenticated);
	}
	EXPECT_EQ(host_auth_error(Reason::Version), u32{ RPCRDMA2_ERR_VERS });
}

TEST(hostauth, every_reason_has_a_name)
{
	for (u32 i = 0; i < static_cast<u32>(Reason::Count); i++) {
		const char *name = host_auth_reason(static_cast<Reason>(i));

		EXPECT_GT(std::strlen(name), 0u);
		for (u32 j = 0; j < i; j++)
			EXPECT_STRNE(name,
				     host_auth_reason(static_cast<Reason>(j)));
	}
	for (const Reason r : { Reason::Form, Reason::Place, Reason::Step })
		EXPECT_EQ(host_auth_error(r), u32{ RPCRDMA2_ERR_BAD_PROPVAL });
	for (const Reason r : { Reason::Self, Reason::UnknownKey, Reason::Proof,
				Reason::Missing, Reason::Internal })
		EXPECT_EQ(host_auth_error(r), u32{ RPCRDMA2_ERR_SYSTEM });
}

/* ------------------------------------------------------------------ */

/* What HKDF makes of the key is in it while it is needed, the key never. */
TEST(hostauth, nothing_secret_is_left)
{
	Digest s;

	ASSERT_TRUE(hkdf_extract({}, bytes(kSecret), s));
	const Octets secret = octets_from(s.bytes());
	for (u32 n = 1; n <= 4; n++) {
		Until at(n);

		EXPECT_EQ(contains(at.client, secret), true);
		EXPECT_EQ(contains(at.server, secret), n > 1 && n < 4);
		EXPECT_FALSE(contains(at.client, kSecret));
		EXPECT_FALSE(contains(at.server, kSecret));
		HostAuth lost = at.client;
		lost.end();
		EXPECT_FALSE(contains(lost, secret));
		HostAuth failed = at.client;
		give(failed, plain(1));
		EXPECT_FALSE(contains(failed, secret));
		give(at.receiver(n), at.message);
		if (at.receiver(n).final())
			EXPECT_FALSE(contains(at.receiver(n), secret));
	}
	HostAuth gone = Until(1, Policy::Offered).client;
	EXPECT_TRUE(contains(gone, secret));
	gone.late();
	EXPECT_FALSE(contains(gone, secret));
}

TEST(hostauth, end_of_the_connection)
{
	Until at(2);

	at.client.end();
	EXPECT_EQ(at.client.state(), State::Failed);
	EXPECT_EQ(at.client.reason(), Reason::Ended);
	Until done(4);
	done.server.end();
	EXPECT_EQ(done.server.state(), State::Authenticated);
}

/* The host cannot compute: the exchange fails, and nobody is authenticated by it. */
TEST(hostauth, cryptography_fails_at_any_call)
{
	u32 failures = 0;

	for (int good = 0;; good++) {
		hostauth::good_calls = good;
		HostAuth client = a_client(Policy::Offered);
		HostAuth server = a_server(Policy::Offered);
		run(client, server, kSecret);
		const bool failed = hostauth::good_calls < 0;
		hostauth::good_calls = -1;
		if (!failed)
			break;
		failures++;
		EXPECT_TRUE(client.reason() == Reason::Internal ||
			    server.reason() == Reason::Internal)
			<< good;
		EXPECT_NE(client.state(), State::Authenticated) << good;
		EXPECT_NE(client.state(), State::Without) << good;
	}
	EXPECT_GT(failures, 20u);
}

TEST(hostauth, no_room)
{
	const Octets without = plain(1);
	const u32 size = static_cast<u32>(without.size());
	HostAuth fits = a_client();
	const u32 needs = static_cast<u32>(complete(fits, without).size());

	for (u32 room = size; room < needs; room++) {
		HostAuth client = a_client();
		std::unique_ptr<u8[]> out(new u8[room]);

		std::memcpy(out.get(), without.data(), size);
		tolerated_breaks = 1;
		EXPECT_EQ(client.add({ out.get(), room }, size), 0u);
		EXPECT_EQ(tolerated_breaks, 0u);
		EXPECT_EQ(client.reason(), Reason::Internal);
	}
}

/* Mistakes of the caller end the exchange. */
TEST(hostauth, called_wrongly)
{
	Octets out = plain(3);
	const u32 size = static_cast<u32>(out.size());
	HostAuth client = a_client();
	HostAuth server = a_server();
	HostAuth decoyless = Until(1).server;

	out.resize(1024);
	tolerated_breaks = 4;
	EXPECT_EQ(client.add({ out.data(), 1024 }, size), 0u)
		<< "a FINAL, where a MIDDLE is due";
	EXPECT_EQ(server.add({ out.data(), 1024 }, size), 0u) << "none is due";
	a_server().key(bytes(kSecret), bytes(kDecoy));
	give(decoyless, Until(1).message);
	decoyless.key(bytes(kSecret), {});
	EXPECT_EQ(tolerated_breaks, 0u);
	for (const HostAuth *a : { &client, &server, &decoyless })
		EXPECT_EQ(a->reason(), Reason::Internal);
}
