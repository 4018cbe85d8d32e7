// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "private_data.h"

using namespace rpcrdma;
using namespace unit;

namespace
{

Octets encode(const rpcrdma_cm_private &p)
{
	Octets o(RPCRDMA_CM_PRIVATE_SIZE);

	encode_private_data(p, { o.data(), RPCRDMA_CM_PRIVATE_SIZE });
	return o;
}

} // namespace

TEST(private_data, encode_private_data__golden)
{
	EXPECT_EQ(encode({ 4096, 65536, true, false, false }),
		  (Octets{ 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 63 }));
	EXPECT_EQ(encode({ 1024, 262144, false, false, false }),
		  (Octets{ 0xf6, 0xab, 0x0e, 0x18, 1, 0, 0, 255 }));
}

/* A reserved flag of version 1: peers that do not know it ignore it. */
TEST(private_data, version_2_is_a_flag_D5)
{
	const Octets o = encode({ 1024, 1024, true, false, true });
	rpcrdma_cm_private p;

	EXPECT_EQ(o, (Octets{ 0xf6, 0xab, 0x0e, 0x18, 1, 0x81, 0, 0 }));
	EXPECT_TRUE(decode_private_data(Exact(o).bytes(), p));
	EXPECT_TRUE(p.version2);
	EXPECT_TRUE(p.remote_inv);
	EXPECT_TRUE(decode_private_data(
		Exact(encode({ 1024, 1024, true, false, false })).bytes(), p));
	EXPECT_FALSE(p.version2);
	EXPECT_FALSE(decode_private_data({}, p));
	EXPECT_FALSE(p.version2);
}

TEST(private_data, opening_wait__by_what_the_server_says_D5)
{
	PrivateData p = kDefaultPrivateData;

	EXPECT_EQ(opening_wait(p, 0), 2000u);
	EXPECT_EQ(opening_wait(p, 62), 2000u);
	EXPECT_EQ(opening_wait(p, 100), 3200u) << "by round trips";
	EXPECT_EQ(opening_wait(p, 313), 10000u);
	EXPECT_EQ(opening_wait(p, UINT32_MAX), 10000u);
	p.version2 = true;
	EXPECT_EQ(opening_wait(p, 0), 10000u);
}

TEST(private_data, encode_private_data__sizes_out_of_range)
{
	EXPECT_EQ(encode({ 0, 262144 + 1024, false, false, false })[6], 0);
	EXPECT_EQ(encode({ 0, UINT32_MAX, false, false, false })[7], 255);
	EXPECT_EQ(encode({ 5000, 1023, false, false, false })[6], 3);
}

TEST(private_data, decode_private_data__every_size)
{
	for (u32 units = 1; units <= 256; units++) {
		rpcrdma_cm_private p;

		ASSERT_TRUE(decode_private_data(
			Exact(encode({ units * 1024,
				       262144 - (units - 1) * 1024,
				       units % 2 == 0, false, false }))
				.bytes(),
			p));
		EXPECT_EQ(p.send_size, units * 1024);
		EXPECT_EQ(p.recv_size, 262144 - (units - 1) * 1024);
		EXPECT_EQ(p.remote_inv, units % 2 == 0);
		EXPECT_TRUE(p.given);
	}
}

TEST(private_data, decode_private_data__nothing_there)
{
	const Octets good = encode({ 4096, 4096, true, false, false });
	rpcrdma_cm_private p;

	for (u32 size = 0; size < RPCRDMA_CM_PRIVATE_SIZE; size++) {
		EXPECT_FALSE(decode_private_data(
			Exact(Octets(good.begin(), good.begin() + size))
				.bytes(),
			p));
		EXPECT_EQ(p.send_size, 1024u);
		EXPECT_EQ(p.recv_size, 1024u);
		EXPECT_FALSE(p.remote_inv);
		EXPECT_FALSE(p.given);
	}
	for (u32 at : { 0u, 3u, 4u }) {
		Octets bad = good;

		bad[at] ^= 0x80;
		EXPECT_FALSE(decode_private_data(Exact(bad).bytes(), p));
	}
}

TEST(private_data, decode_private_data__octets_behind_it)
{
	Octets o = encode({ 4096, 8192, false, false, false });
	rpcrdma_cm_private p;

	o.resize(56);
	EXPECT_TRUE(decode_private_data(Exact(o).bytes(), p));
	EXPECT_EQ(p.recv_size, 8192u);
	o[5] = 0x7e; /* flags that mean nothing yet */
	EXPECT_TRUE(decode_private_data(Exact(o).bytes(), p));
	EXPECT_FALSE(p.version2);
	EXPECT_FALSE(p.remote_inv);
}
