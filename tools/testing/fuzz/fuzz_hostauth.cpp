// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Host authentication: two sides, and messages that the input changes or makes up. Who
 * completes has seen exactly what the other has sent; if nothing is changed, both complete;
 * a failure is final; a policy that requires authentication is not got around.
 */
#include "fuzz.h"
#include "hostauth.h"
#include "../hostauth/crypto.h"

#include <vector>

using namespace rpcrdma;

namespace
{

using State = HostAuth::State;
using Octets = std::vector<u8>;

constexpr u8 kSecret[32] = { 1, 2, 3 };
constexpr u8 kDecoy[32] = { 4, 5, 6 };
constexpr u8 kName[] = { 'k', '1' };

HostAuth::Identity identity(u8 fill)
{
	HostAuth::Identity i;

	std::memset(&i, fill, sizeof(i));
	return i;
}

/* A message with a property or none, as the session will write it. */
Octets bare(u32 htype, bool property)
{
	Octets o(property ? 32 : 20);

	store_be32(o.data() + 4, 2);
	store_be32(o.data() + 12, htype);
	store_be32(o.data() + 16, property);
	if (property) {
		store_be32(o.data() + 20, 1);
		store_be32(o.data() + 24, 4);
		store_be32(o.data() + 28, 4096);
	}
	return o;
}

/* What arrives of @message. */
Octets change(const Octets &message, const Octets &older, fuzz::Choices &in)
{
	Octets m = message;

	switch (in.up_to(7)) {
	case 4: { /* something else */
		m.resize(in.number() % 1025);
		m.resize(in.take(m.data(), m.size()));
		break;
	}
	case 1: /* what was sent before */
		m = older;
		break;
	case 2: { /* some words are others */
		for (u32 n = in.up_to(3) + 1; n; n--) {
			const u32 at = in.word() % (m.size() / 4) * 4;

			store_be32(m.data() + at, in.number());
		}
		break;
	}
	case 3: /* the end is missing */
		m.resize(in.number() % (m.size() + 1));
		break;
	default:
		break;
	}
	return m;
}

void finality(const HostAuth &a, State before, HostAuthPolicy policy)
{
	FUZZ_CHECK(before < State::Authenticated || a.state() == before);
	FUZZ_CHECK(a.state() != State::Without ||
		   policy != HostAuthPolicy::Required);
	FUZZ_CHECK(a.state() != State::Failed ||
		   a.reason() != HostAuthReason::None);
	FUZZ_CHECK(!a.final() || !a.due());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	fuzz::Choices in(data, size);
	const auto policy = static_cast<HostAuthPolicy>(in.up_to(2));
	HostAuth client = HostAuth::client(policy, identity(0xc1), Bytes(kName),
					   Bytes(kSecret));
	HostAuth server = HostAuth::server(policy, identity(0x52));
	const bool known = !in.flip();
	Octets older = bare(RPCRDMA2_CONNPROP_FINAL, false);
	bool same = known;
	bool disturbed = false;

	for (u32 n = 1; n <= 8; n++) {
		HostAuth &from = n % 2 ? client : server;
		HostAuth &to = n % 2 ? server : client;
		const State before = to.state();
		Octets sent = older;

		if (from.due()) {
			sent = bare(from.due(), n < 3);
			const u32 bare_size = static_cast<u32>(sent.size());
			sent.resize(1024);
			sent.resize(from.add(
				{ sent.data(), static_cast<u32>(sent.size()) },
				bare_size));
			FUZZ_CHECK(sent.size() <=
				   bare_size + kHostAuthValueMost);
		} else if (n > 4 && in.empty()) {
			break;
		}
		const Octets arrives = change(sent, older, in);
		same = same && arrives == sent;
		const fuzz::Exact copy(arrives.data(), arrives.size());
		to.receive(copy.bytes());
		FUZZ_CHECK(to.state() != State::Authenticated ||
			   before == State::Authenticated || same);
		finality(to, before, policy);
		if (server.state() == State::WantsKey)
			server.key(known ? Bytes(kSecret) : Bytes(),
				   Bytes(kDecoy));
		/* After PROVE the server completes by sending. */
		FUZZ_CHECK(n != 3 || !server.due() || same);
		older = sent;
		if (in.up_to(15) == 15) {
			const State was = to.state();

			disturbed = true;
			if (in.flip())
				to.late();
			else
				to.version1();
			finality(to, was, policy);
		}
	}
	if (same && !disturbed && policy != HostAuthPolicy::Off)
		FUZZ_CHECK(client.state() == State::Authenticated &&
			   server.state() == State::Authenticated);
	client.end();
	server.end();
	FUZZ_CHECK(client.final() && server.final());
	return 0;
}
