// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "support.h"
#include "call_header.h"

#include <set>

using namespace rpcrdma;
using unit::Exact;
using unit::octets;
using unit::Octets;
using unit::Words;
using unit::operator+; /* NOLINT(misc-unused-using-decls): it is used */

namespace
{

enum Service : u32 { kNone = 1, kIntegrity, kPrivacy };

const Words kFixed = { 7, 0, 2, 100003, 4, 1 };
const Words kArguments = { 0, 0, 3, 0x01020304 };

Words sys()
{
	return { 1, 20, 0, 0, 0, 0, 0 };
}

Words gss(u32 service, u32 sequence = 9, u32 procedure = 0, u32 version = 1)
{
	return { 6, 24, version, procedure, sequence, service, 4, 0x0a0b0c0d };
}

Words verifier(u32 word = 0)
{
	return { 6, 4, word };
}

Chunks one_chunk(u32 position, std::initializer_list<u32> lengths)
{
	Chunks c = {};

	for (u32 length : lengths)
		c.reads[c.n_reads++] = { position, { 5, length, 0 } };
	return c;
}

bool item_of(const Chunks &c, const Words &stream, Range &item)
{
	const Exact copy(octets(stream));

	return call_item(c, copy.bytes(), item);
}

} // namespace

TEST(call_header, call_item__of_one_chunk)
{
	const Words call = kFixed + sys() + verifier() + kArguments;
	const u32 arguments = 4 * (6 + 7 + 3);
	Range item = {};

	EXPECT_TRUE(item_of(one_chunk(arguments + 4, { 1 << 20 }), call, item));
	EXPECT_EQ(item.offset, arguments + 4);
	EXPECT_EQ(item.length, 1u << 20);
	EXPECT_TRUE(item_of(one_chunk(arguments, { 4095, 0, 2 }), call, item))
		<< "just behind the header";
	EXPECT_EQ(item.offset, arguments);
	EXPECT_EQ(item.length, 4097u);
	EXPECT_FALSE(item_of(one_chunk(arguments - 4, { 9 }), call, item))
		<< "inside the header";
	EXPECT_FALSE(item_of(one_chunk(arguments, { 0, 0 }), call, item));
	EXPECT_FALSE(item_of(one_chunk(arguments, {}), call, item));
	EXPECT_FALSE(
		item_of(one_chunk(arguments, { UINT32_MAX, 1 }), call, item));

	Chunks two = one_chunk(arguments, { 4096, 4096 });
	two.reads[1].position += 4096;
	EXPECT_FALSE(item_of(two, call, item));
}

/* Not inside of what sunrpc itself reads, wherever it begins there. */
TEST(call_header, call_divides__behind_the_header)
{
	const auto divides = [](const Words &call, size_t words, u32 position) {
		const Exact part(
			octets(Words(call.begin(), call.begin() + long(words))));

		return call_divides(part.bytes(), position);
	};
	for (const Words &credential : { sys(), gss(kNone) }) {
		const Words header = kFixed + credential + verifier();
		const u32 arguments = u32(4 * header.size());
		const Words call = header + kArguments;

		for (u32 at = 0; at <= 4 * call.size(); at += 4)
			EXPECT_EQ(divides(call, call.size(), at),
				  at >= arguments)
				<< at;
		/* The rest of the header is in what has been taken out. */
		for (size_t n = 0; n < header.size(); n++)
			EXPECT_FALSE(divides(call, n, u32(4 * n))) << n;
	}
	for (const Words &credential : { gss(kIntegrity), gss(kPrivacy),
					 gss(kNone, 9, 1) }) {
		const Words call =
			kFixed + credential + verifier() + kArguments;

		EXPECT_FALSE(divides(call, call.size(), u32(4 * call.size())));
	}
}

TEST(call_header, call_item__with_what_gss_does_not_cover)
{
	const auto plain = [](const Words &credential) {
		const Words call =
			kFixed + credential + verifier() + kArguments;
		Range item;

		return item_of(one_chunk(u32(4 * call.size()), { 8192 }), call,
			       item);
	};
	EXPECT_TRUE(plain(sys()));
	EXPECT_TRUE(plain({ 0, 0 }));
	EXPECT_TRUE(plain(gss(kNone)));
	EXPECT_FALSE(plain(gss(kIntegrity)));
	EXPECT_FALSE(plain(gss(kPrivacy)));
	EXPECT_FALSE(plain(gss(kNone, 9, 1))) << "a context is made";
	EXPECT_FALSE(plain(gss(kNone, 9, 0, 2))) << "some other version";
	EXPECT_FALSE(plain({ 6, 12, 1, 0, 9 })) << "no service in it";
	EXPECT_FALSE(plain({ 6, 8, 1, 0 })) << "no sequence";
	EXPECT_FALSE(plain({ 6, 4, 1 })) << "no procedure";
	EXPECT_FALSE(plain({ 6, 0 })) << "nothing in it";
}

static u64 id_of(const Words &stream, u64 length = 5000, u64 secret = 99)
{
	const Exact copy(octets(stream));

	return call_id(Xid{ 7 }, length, copy.bytes(), secret);
}

TEST(call_header, call_id__is_of_the_content)
{
	const Words call = kFixed + sys() + verifier() + kArguments;
	const u64 id = id_of(call);

	EXPECT_EQ(u32(id), 7u);
	EXPECT_EQ(id_of(call), id);
	EXPECT_NE(id_of(call, 5004), id);
	EXPECT_NE(id_of(call, 5000, 98), id);
	const size_t arguments = (kFixed + sys() + verifier()).size();
	for (size_t i = 0; i < call.size(); i++) {
		const bool telling = i < kFixed.size() || i >= arguments;
		Words other = call;

		other[i] ^= 1u << (i % 32);
		/* A credential may have a time in it. Some of its words are lengths. */
		EXPECT_TRUE(!telling || id_of(other) != id) << "word " << i;
		other = Words(call.begin(), call.begin() + long(i));
		EXPECT_NE(id_of(other), id) << "the first " << i;
	}
	Words later = call;
	later[kFixed.size() + 2] ^= 1;
	EXPECT_EQ(id_of(later), id) << "another stamp of AUTH_SYS";
	EXPECT_NE(id_of(call + Words{ 0 }), id_of(call + Words{ 0, 0 }));
	/* The sums of many do not meet more often than by chance. */
	std::set<u64> ids;
	for (u32 i = 0; i < 1000; i++)
		ids.insert(id_of(kFixed + sys() + verifier() + Words{ i }));
	EXPECT_EQ(ids.size(), 1000u);
}

TEST(call_header, call_id__is_of_its_first_octets)
{
	const Words header = kFixed + sys() + verifier();
	Words call = header + Words(512);
	const u64 id = id_of(call);

	call[header.size() + 79 / 4] ^= 1;
	EXPECT_NE(id_of(call), id);
	call[header.size() + 79 / 4] ^= 1;
	call[header.size() + 80 / 4] ^= 1;
	EXPECT_EQ(id_of(call), id);

	/* Any first part has 512 octets, whatever of the header is behind them. */
	Words strange = kFixed + Words{ 1, 401 } + Words(512);
	const u64 other = id_of(strange);
	strange[511 / 4] ^= 1;
	EXPECT_NE(id_of(strange), other);
	strange[511 / 4] ^= 1;
	strange[512 / 4] ^= 1;
	EXPECT_EQ(id_of(strange), other);
	EXPECT_EQ(id_of({}, 0), id_of({}, 0));
	EXPECT_EQ(u32(id_of({}, 0)), 7u);
}

/* Sent again, it has another sequence number, and so another verifier. */
TEST(call_header, call_id__is_not_of_what_gss_changes)
{
	const auto id = [](u32 service, u32 sequence, const Words &arguments) {
		return id_of(kFixed + gss(service, sequence) +
			     verifier(sequence) + arguments);
	};
	const Words other = { 0, 0, 3, 0x01020305 };

	for (u32 service : { kNone, kIntegrity, kPrivacy }) {
		EXPECT_EQ(id(service, 10, kArguments),
			  id(service, 9, kArguments));
		EXPECT_EQ(id(service, 9, other) == id(service, 9, kArguments),
			  service != kNone)
			<< "what is covered has the number in it";
	}
	EXPECT_NE(id(kNone, 9, kArguments), id(kIntegrity, 9, kArguments));
	Words another = kFixed + gss(kPrivacy) + verifier();
	const u64 one = id_of(another);
	another[6 + 7] ^= 1;
	EXPECT_NE(id_of(another), one) << "another context";
	another[6 + 7] ^= 1;
	another[5] ^= 1;
	EXPECT_NE(id_of(another), one) << "another procedure";
}

TEST(call_header, call_item__of_half_a_header)
{
	const Words call = kFixed + sys() + verifier();
	const Chunks c = one_chunk(4 * 200, { 8192 });
	const Octets all = octets(call);
	Range item;

	for (size_t n = 0; n < all.size(); n++) {
		const Exact part(Octets(all.begin(), all.begin() + long(n)));

		EXPECT_FALSE(call_item(c, part.bytes(), item)) << n;
	}
	EXPECT_TRUE(item_of(c, call, item));
	EXPECT_FALSE(item_of(c, kFixed + Words{ 1, 401 } + Words(200), item))
		<< "a credential of more than 400 bytes";
	EXPECT_FALSE(
		item_of(c, kFixed + Words{ 1, UINT32_MAX } + Words(200), item));
	EXPECT_TRUE(item_of(c, kFixed + Words{ 1, 400 } + Words(200), item));
}
