// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What our client answers when a server sends messages that break a rule,
 * Calls among them. The mount goes on.
 */
#include "headers.h"
#include "nfs3.h"

#include <gtest/gtest.h>

using namespace peer;

static constexpr u32 kLarge = 65536;

static void told(const std::function<void(Peer &)> &what)
{
	Nfs3 server;

	server.mount();
	what(server.peer());
	server.works_on();
}

TEST(client_header, a_discriminator_is_zero_or_one)
{
	told(other_discriminators);
}

TEST(client_header, shorter_than_a_prefix_is_dropped)
{
	told(less_than_a_prefix);
}

TEST(client_header, unknown_header_types)
{
	told(unknown_header_types);
}

TEST(client_header, another_version)
{
	told(other_versions);
}

TEST(client_header, xid_is_that_of_the_rpc_message)
{
	told(another_xid_inside);
}

TEST(client_header, type_is_that_of_the_rpc_message)
{
	told(another_type_inside);
}

TEST(client_header, payload_of_no_whole_words)
{
	told(no_whole_words);
}

TEST(client_header, payload_where_there_is_none)
{
	told(payload_where_there_is_none);
}

TEST(client_header, inv_handle_is_in_the_header)
{
	told([](Peer &p) {
		const u32 xid = p.new_xid();

		refused(p, call_header(xid, {}, 0x77) + null_call(xid),
			kBadXdr);
	});
}

TEST(client_header, properties_after_the_final_ones)
{
	told(properties_again);
}

TEST(client_header, cut_short)
{
	for (u32 htype : { RPCRDMA2_CALL_INLINE, RPCRDMA2_CALL_MIDDLE,
			   RPCRDMA2_CALL_EXTERNAL, RPCRDMA2_REPLY_INLINE,
			   RPCRDMA2_REPLY_MIDDLE, RPCRDMA2_REPLY_EXTERNAL,
			   RPCRDMA2_ERROR })
		told([htype](Peer &p) {
			for (const unit::Golden &g : goldens(htype))
				cut_short(p, g);
		});
}

/* Section 7.3 holds for Calls to the client as well: it takes no chunks. */
TEST(client_reverse, chunks_are_refused)
{
	told([](Peer &p) {
		const std::vector<Words> one = { { 0xb1, 4, 0, 0x1000 } };
		const auto call = [&p](const Lists &lists) {
			const u32 xid = p.new_xid();

			return call_header(xid, lists) +
			       Words{ xid, 0, 2, 0x40000000, 1, 0, 0, 0, 0, 0 };
		};

		refused(p, call(Lists().read(8, one[0])),
			{ RPCRDMA2_ERR_READ_CHUNKS, 0 });
		refused(p, call(Lists().write(one)),
			{ RPCRDMA2_ERR_WRITE_CHUNKS, 0 });
		refused(p, call(Lists().reply_chunk(one)),
			{ RPCRDMA2_ERR_WRITE_CHUNKS, 0 });
		refused(p, call_external(p.new_xid(), one),
			{ RPCRDMA2_ERR_READ_CHUNKS, 0 });
		/* There is nobody for calls without chunks either, in NFSv3. */
		refused(p, call({}), { RPCRDMA2_ERR_SYSTEM });
	});
}

static void opened(const std::function<void(Peer &)> &first)
{
	Nfs3 server;
	u32 opened = 0;

	server.opening = [&](Peer &p) {
		p.take_properties(p.next());
		first(p);
		p.send(unit::connprop(p.new_xid()));
		opened++;
	};
	server.mount();
	EXPECT_EQ(server.read(0, kLarge), 0);
	EXPECT_EQ(opened, 1u);
	server.unmount();
}

TEST(client_opening, a_bad_property_set)
{
	opened([](Peer &p) {
		for (u32 length : { 1u, 2u, 3u })
			refused(p,
				unit::connprop(p.new_xid(),
					       { 1, 2, length, 8192 }),
				kBadPropval);
		refused(p, unit::connprop(p.new_xid(), { 1, 2, 8, 0, 8192 }),
			kBadPropval);
	});
}

/* Section 7: whatever it is about. */
TEST(client_opening, unknown_errors)
{
	Nfs3 server;

	server.opening = [&](Peer &p) {
		const Message m = p.next();

		p.take_properties(m);
		for (const u32 code : { 0x7777u, 12u, 0xffffffffu })
			p.send(unit::prefix(m.xid(), RPCRDMA2_ERROR) +
			       Words{ code });
		p.expect_silence();
		p.send(unit::connprop(p.new_xid()));
	};
	server.mount();
	EXPECT_EQ(server.read(0, kLarge), 0);
	server.unmount();
}

TEST(client_opening, no_call_between_properties)
{
	opened([](Peer &p) {
		const u32 xid = p.new_xid();

		p.send(unit::connprop(p.new_xid(), { 0 },
				      RPCRDMA2_CONNPROP_MIDDLE));
		refused(p, unit::call_inline(xid, null_call(xid)), kInvalCont);
	});
}

TEST(client_opening, control_messages_between_properties)
{
	opened([](Peer &p) {
		p.send(unit::connprop(p.new_xid(), { 0 },
				      RPCRDMA2_CONNPROP_MIDDLE));
		control_messages(p);
		p.expect_silence();
	});
}
