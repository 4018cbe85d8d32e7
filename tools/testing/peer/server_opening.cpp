// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What our server does with the first messages of a connection (section 4.3,
 * D5), with versions (7.1) and with transport properties (section 5).
 */
#include "headers.h"
#include "nfs.h"

#include <gtest/gtest.h>

using namespace peer;

/* The versions that the server says it speaks, and one of which it says so. */
static const Words kVersions = { RPCRDMA2_ERR_VERS, 1, 2 };
static constexpr u32 kVersionsNotSpoken[] = { 0, 3, 0xffffffff };

TEST(server_version, another_one_first)
{
	for (u32 vers : kVersionsNotSpoken) {
		Peer p = Peer::connect();
		const u32 xid = p.new_xid();

		/* Version 1's RDMA_MSG, or whatever it is in later ones. */
		ASSERT_TRUE(p.send_as_is(unit::octets(
			Words{ xid, vers, 32, 0, 0, 0, 0 } + null_call(xid))));
		p.expect_error(xid, kVersions, vers);
	}
}

TEST(server_version, two_after_another_one)
{
	Peer p = Peer::connect();

	ASSERT_TRUE(p.send_as_is(unit::octets(
		unit::connprop(p.new_xid(), { 0 }, RPCRDMA2_CONNPROP_FINAL))));
	p.take_properties(p.next());
	p.expect_works();

	Peer q = Peer::connect();
	const u32 xid = q.new_xid();
	ASSERT_TRUE(q.send_as_is(unit::octets(Words{ xid, 3, 32, 0, 0, 0, 0 } +
					      null_call(xid))));
	q.expect_error(xid, kVersions, 3);
	q.send_as_is(unit::octets(unit::connprop(q.new_xid())));
	q.take_properties(q.next());
	q.expect_works();
}

TEST(server_version, an_error_of_another_one_is_not_answered)
{
	Peer p = Peer::connect();

	ASSERT_TRUE(
		p.send_as_is(unit::octets({ p.new_xid(), 1, 32, 4, 1, 1, 1 })));
	p.expect_silence();
}

TEST(server_version, mismatch_later)
{
	Peer p = Peer::open();

	other_versions(p);
	p.expect_works();
}

static Words numeric(u32 which, u32 value)
{
	return { which, 4, value };
}

TEST(server_properties, all_six)
{
	const Words secret = { 6, 12, 8, 0x61626364, 0x65666768 };
	Peer p = Peer::open(Words{ 6 } + numeric(1, 8192) + numeric(2, 8192) +
			    numeric(3, 65536) + numeric(4, 4) + numeric(5, 0) +
			    secret);

	p.expect_works();
	/* What the server has to say makes sense. */
	EXPECT_GE(p.property(1), 1024u);
	EXPECT_GE(p.property(2), 1024u);
	EXPECT_GE(p.property(3), 65536u);
	EXPECT_GE(p.property(4), 1u);
	EXPECT_LE(p.property(5), 3u);
}

TEST(server_properties, unknown_ones_are_skipped)
{
	Peer p = Peer::open(Words{ 3, 0x7777, 5, 0x61626364, 0x65000000,
				   0xffffff02, 0, 0xffffffff, 4, 1 });

	p.expect_works();
}

/* Of those that it does not speak it sends nothing, and takes nothing. */
TEST(server_properties, every_extension_is_announced)
{
	/* The first one is spoken. */
	Peer p = Peer::open(Words{ 1, 0xffffff01, 4, 0xfffffffe });

	p.expect_works();
	unknown_header_types(p);
	p.expect_works();
}

TEST(server_properties, no_octets_mean_the_default)
{
	Peer p = Peer::open(Words{ 2 } + numeric(2, 1024) + Words{ 2, 0 });
	Nfs nfs(p);

	p.expect_works();
	const Rpc r = nfs.call(nfs.read("data", 0, 20000));
	EXPECT_LE(r.largest, 4096u);
	EXPECT_GT(r.largest, 1024u);
}

static void bad_value(const Words &set)
{
	Peer p = Peer::connect();
	const u32 xid = p.new_xid();

	p.send(unit::connprop(xid, set));
	p.expect_error(xid, kBadPropval);
	/* That was no property set; another one may follow. */
	p.send(unit::connprop(p.new_xid()));
	p.take_properties(p.next());
	p.expect_works();
}

TEST(server_properties, numbers_of_another_size)
{
	for (u32 which = 1; which <= 5; which++) {
		bad_value({ 1, which, 8, 0, 8192 });
		bad_value({ 1, which, 3, 0 });
	}
}

TEST(server_properties, longer_than_the_message)
{
	bad_value({ 1, 2, 0xffffffff, 8192 });
	bad_value({ 1, 0x7777, 8, 8192 });
	bad_value({ 1, 6, 8, 8, 0 });
}

/* Section 5.1: any number is one. */
TEST(server_properties, numbers_of_any_size)
{
	for (const Words &one :
	     { numeric(1, 0), numeric(1, 0xffffffff), numeric(3, 0),
	       numeric(3, 0xffffffff), numeric(4, 0xffffffff), numeric(5, 4),
	       numeric(5, 0xffffffff) }) {
		Peer p = Peer::open(Words{ 1 } + one);

		p.expect_works();
	}
}

/* Nothing goes through it. */
TEST(server_properties, receives_too_small_for_any_answer)
{
	for (const u32 size : { 0u, 79u }) {
		Peer p = Peer::connect();

		p.send_last(
			unit::connprop(p.new_xid(), unit::property(2, size)));
		p.expect_closed();
	}
}

TEST(server_properties, set_cut_short)
{
	for (const Words &set : { Words{}, Words{ 1 }, Words{ 1, 2 },
				  Words{ 2, 2, 4, 8192 }, Words{ 0xffffffff },
				  /* and one too long */
				  Words{ 0, 0 } }) {
		Peer p = Peer::connect();
		const u32 xid = p.new_xid();

		p.send(unit::prefix(xid, RPCRDMA2_CONNPROP_FINAL) + set);
		p.expect_error(xid, kBadXdr);
		p.send(unit::connprop(p.new_xid()));
		p.take_properties(p.next());
		p.expect_works();
	}
}

/* Bytes of the largest message of a Reply that has several. */
static u32 largest(Peer &p)
{
	return Nfs(p).call(Nfs::read("data", 0, 20000)).largest;
}

TEST(server_properties, in_several_messages)
{
	Peer p = Peer::connect();

	p.send(unit::connprop(p.new_xid(), unit::property(2, 1024),
			      RPCRDMA2_CONNPROP_MIDDLE));
	p.take_properties(p.next());
	p.send(unit::connprop(p.new_xid(), { 0 }, RPCRDMA2_CONNPROP_MIDDLE));
	p.send(unit::connprop(p.new_xid()));
	p.expect_silence();
	p.expect_works();
	EXPECT_LE(largest(p), 1024u);
}

TEST(server_properties, no_call_between_them)
{
	Peer p = Peer::connect();
	const u32 xid = p.new_xid();

	p.send(unit::connprop(p.new_xid(), { 0 }, RPCRDMA2_CONNPROP_MIDDLE));
	p.take_properties(p.next());
	p.send(unit::call_inline(xid, null_call(xid)));
	p.expect_error(xid, kInvalCont);
	/* Nor one that cannot be read. */
	refused(p, unit::prefix(p.new_xid(), RPCRDMA2_CALL_INLINE), kInvalCont);
	p.send(unit::connprop(p.new_xid()));
	p.expect_works();
}

/* Section 7.2.2: that message alone is discarded, and Calls may follow. */
TEST(server_properties, the_final_ones_are_refused)
{
	Peer p = Peer::connect();

	p.send(unit::connprop(p.new_xid(), unit::property(2, 1024),
			      RPCRDMA2_CONNPROP_MIDDLE));
	p.take_properties(p.next());
	refused(p, unit::connprop(p.new_xid(), { 1, 1, 3, 0 }), kBadPropval);
	p.expect_works();
	EXPECT_LE(largest(p), 1024u);
}

TEST(server_properties, control_messages_may_come_between)
{
	Peer p = Peer::connect();

	p.send(unit::connprop(p.new_xid(), unit::property(2, 1024),
			      RPCRDMA2_CONNPROP_MIDDLE));
	p.take_properties(p.next());
	control_messages(p);
	p.send(unit::connprop(p.new_xid()));
	p.expect_silence();
	EXPECT_LE(largest(p), 1024u);
	p.expect_works();
}

TEST(server_properties, none_between_the_parts_of_a_call)
{
	Peer p = Peer::connect();
	Parts call(p);

	call.middle(12);
	p.take_properties(p.next());
	for (u32 htype : { RPCRDMA2_CONNPROP_MIDDLE, RPCRDMA2_CONNPROP_FINAL })
		refused(p,
			unit::connprop(p.new_xid(), unit::property(2, 1024),
				       htype),
			kInvalCont);
	call.last();
	call.answered();
	/* That was not the final one. */
	EXPECT_GT(largest(p), 1024u);
	p.send(unit::connprop(p.new_xid(), unit::property(2, 1024)));
	EXPECT_LE(largest(p), 1024u);
	p.expect_works();
}

TEST(server_properties, none_after_the_final_ones)
{
	Peer p = Peer::open();

	properties_again(p);
	p.expect_works();
}

/* Its own properties come first, and the defaults hold for the peer. */
TEST(server_opening, a_call_first)
{
	Peer p = Peer::connect();
	const u32 xid = p.new_xid();

	p.send(unit::call_inline(xid, null_call(xid)));
	p.take_properties(p.next());
	EXPECT_TRUE(is_null_reply(p.reply(xid)));
	p.expect_works();
	EXPECT_LE(largest(p), 4096u);
}

TEST(server_opening, a_grant_first)
{
	Peer p = Peer::connect();

	p.send_grant();
	p.take_properties(p.next());
	p.expect_works();
}

TEST(server_opening, rubbish_first)
{
	Peer p = Peer::connect();
	const u32 xid = p.new_xid();

	p.send(unit::prefix(xid, 0x7777));
	p.expect_error(xid, { RPCRDMA2_ERR_INVAL_HTYPE });
	p.send(unit::connprop(p.new_xid()));
	p.take_properties(p.next());
	p.expect_works();
}

/* Before any message: a client waits for this server longer than for others. */
TEST(server_opening, says_that_it_speaks_version_2)
{
	Peer p = Peer::connect();
	const Octets &said = p.link().private_data();

	ASSERT_GE(said.size(), 8u);
	EXPECT_EQ(said[5] & 0x80, 0x80);
	p.send(unit::connprop(p.new_xid()));
	p.take_properties(p.next());
	p.expect_works();
}

TEST(server_opening, nothing_at_all)
{
	Peer silent = Peer::connect();

	Peer::open().expect_works();
	silent.expect_silence();
}

/* Less than a Receive of version 1 has. */
TEST(server_properties, receives_of_little)
{
	Peer p = Peer::open(unit::property(2, 128));
	Nfs nfs(p);

	p.expect_works();
	const Rpc r = nfs.call(nfs.read("data", 0, 2000));
	EXPECT_LE(r.largest, 128u);
	EXPECT_TRUE(Nfs::read_result(r) == nfs.data(0, 2000));
}

/* Reply size, Maximum Segment Size and Count of the smallest kind. */
TEST(server_properties, the_smallest_receives)
{
	Peer p = Peer::open(Words{ 3 } + numeric(2, 1024) + numeric(3, 1) +
			    numeric(4, 0));
	Nfs nfs(p);

	p.expect_works();
	const Rpc r = nfs.call(nfs.read("data", 0, 20000));
	EXPECT_LE(r.largest, 1024u);
	EXPECT_GE(r.pieces, 20u);
	EXPECT_TRUE(Nfs::read_result(r) == nfs.data(0, 20000));
	p.expect_works();
}

/* Section 3.4.2 of the binding: another connection has another port. */
TEST(server_replay, a_call_again_on_another_connection)
{
	const Compound c = Compound().root().remove("removed");
	const auto call = [&](Peer &p, u32 xid) {
		p.send(call_header(xid, {}), c.message(xid));
		return words(p.reply(xid).stream);
	};
	Peer first = Peer::open();
	const u32 xid = first.new_xid();

	Nfs::create("removed");
	const Words done = call(first, xid);
	ASSERT_GT(done.size(), 6u);
	EXPECT_EQ(done[6], 0u);
	first.link().disconnect();
	Peer second = Peer::open();
	EXPECT_EQ(call(second, xid), done);
	/* It has not been done once more: there is nothing to be removed. */
	EXPECT_EQ(call(second, second.new_xid()).at(6), 2u);
}
