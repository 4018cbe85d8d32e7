// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Whatever message comes, a session reads nothing outside it, returns consistent values
 * and can go on. The fuzzers test this at length; this is their smoke test.
 */
#include "golden.h"

#include <random>

using namespace rpcrdma;
using namespace unit;

namespace
{

struct Endpoints {
	Endpoint client;
	Endpoint server;

	Endpoints()
		: client(open_client(client_config()))
		, server(open_server())
	{
	}
	static rpcrdma_config client_config()
	{
		rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);

		c.local.reverse = RPCRDMA_RVRSDIR_GENL;
		return c;
	}
};

void expect_sensible(Endpoint &e, u32 size)
{
	const rpcrdma_rx &rx = e.rx;

	ASSERT_LE(rx.action, u32{ RPCRDMA_RX_CLOSE });
	ASSERT_LT(rx.reason, u32{ RPCRDMA_REASON_COUNT });
	ASSERT_NE(rx.reason, u32{ RPCRDMA_REASON_INVARIANT });
	switch (rx.action) {
	case RPCRDMA_RX_PAYLOAD:
		ASSERT_LE(rx.dir, u32{ RPCRDMA_REPLY });
		ASSERT_LE(u64{ rx.payload.offset } + rx.payload.length, size);
		ASSERT_LE(rx.stream_length, 1u << 20);
		if (!rx.external) {
			ASSERT_GT(rx.payload.length, 0u);
			ASSERT_LE(u64{ rx.stream_offset } + rx.payload.length,
				  rx.stream_length);
		}
		if (rx.last) {
			ASSERT_TRUE(well_formed(rx.chunks));
			ASSERT_TRUE(handle_known(rx.chunks, rx.inv_handle));
			ASSERT_LE(rx.unreduced_length, 1u << 20);
			ASSERT_GE(rx.unreduced_length, rx.stream_length);
			rpcrdma_piece p[RPCRDMA_MAX_PIECES];
			ASSERT_LE(layout_call(rx.chunks, rx.stream_length, p),
				  u32{ RPCRDMA_MAX_PIECES });
		}
		break;
	case RPCRDMA_RX_FAIL_RPC:
		ASSERT_LT(rx.error, 0);
		ASSERT_NE(rx.errcode, 0u);
		break;
	case RPCRDMA_RX_CLOSE:
	case RPCRDMA_RX_DROP:
		ASSERT_NE(rx.reason, 0u);
		break;
	case RPCRDMA_RX_CONTROL:
		ASSERT_EQ(rx.reason, 0u);
		break;
	}
}

void drain(Endpoint &e)
{
	for (int i = 0; i < 40; i++)
		if (e.next() != RPCRDMA_TX_CONTROL)
			return;
	FAIL() << "no end of control messages";
}

/* To fresh sessions of both roles, then something well-formed after it. */
void expect_survives(const Octets &o)
{
	static const Endpoints fresh;
	Endpoints e = fresh;

	for (Endpoint *side : { &e.client, &e.server }) {
		side->receive_octets(o);
		expect_sensible(*side, u32(o.size()));
		drain(*side);
		if (side->rx.action == RPCRDMA_RX_CLOSE)
			continue;
		side->receive(side == &e.client ?
				      reply_inline(5, rpc(5, 1, 40)) :
				      call_inline(5, rpc(5, 0, 40)));
		expect_sensible(*side, UINT32_MAX);
	}
}

} // namespace

TEST(mutation, receive__every_truncation)
{
	for (const Golden &g : goldens()) {
		SCOPED_TRACE(g.name);
		const Octets whole = g.message();

		for (u32 size = 0; size <= whole.size(); size++)
			expect_survives(
				Octets(whole.begin(), whole.begin() + size));
	}
}

TEST(mutation, receive__every_bit)
{
	for (const Golden &g : goldens()) {
		SCOPED_TRACE(g.name);
		for (u32 bit = 0; bit < 8 * g.message().size(); bit++) {
			Octets o = g.message();

			o[bit / 8] ^= u8(1u << bit % 8);
			expect_survives(o);
		}
	}
}

TEST(mutation, receive__every_word_at_its_extremes)
{
	for (const Golden &g : goldens()) {
		SCOPED_TRACE(g.name);
		const Words whole = g.header + g.payload;

		for (u32 at = 0; at < whole.size(); at++)
			for (u32 value :
			     { 0u, 1u, 2u, 3u, 17u, 0x7fffffffu, 0x80000000u,
			       0xfffffffcu, UINT32_MAX }) {
				Words w = whole;

				w[at] = value;
				expect_survives(octets(w));
			}
	}
}

TEST(mutation, receive__every_type_with_every_body)
{
	for (const Golden &g : goldens())
		for (u32 htype = 0; htype < 16; htype++) {
			Words w = g.header + g.payload;

			w[3] = htype;
			expect_survives(octets(w));
		}
}

TEST(mutation, receive__random_sequences_on_one_session)
{
	const std::vector<Golden> all = goldens();

	for (u32 seed = 1; seed <= 300; seed++) {
		std::mt19937 random(seed);
		Endpoints e;

		for (int i = 0; i < 60; i++) {
			const Golden &g = all[random() % all.size()];
			Words w = g.header + g.payload;

			w[2] = kPlenty + i;
			w[0] = random() % 3;
			if (!g.payload.empty() && random() % 4)
				w[g.header.size()] = w[0];
			if (random() % 3 == 0)
				w[random() % w.size()] ^= 1u << random() % 32;
			for (Endpoint *side : { &e.client, &e.server }) {
				side->receive(w);
				expect_sensible(*side, 4 * u32(w.size()));
				drain(*side);
				if (HasFatalFailure())
					FAIL() << "seed " << seed;
			}
		}
	}
}
