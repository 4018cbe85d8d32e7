// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Calls in several messages (section 6.6.2): what our server accepts, what it
 * refuses, and that it discards no more than the wrong message.
 */
#include "headers.h"
#include "nfs.h"

#include <gtest/gtest.h>

using namespace peer;

TEST(server_continued, parts_of_any_size)
{
	Peer p = Peer::open();

	for (u32 size : { 4, 8, 12, 36 }) {
		Parts call(p);

		while (call.left() > size)
			call.middle(size);
		call.last();
		call.answered();
	}
	p.expect_works();
}

TEST(server_continued, control_messages_may_come_between)
{
	Peer p = Peer::open();
	Parts call(p);

	call.middle(12);
	control_messages(p);
	call.middle(8);
	control_messages(p);
	call.last();
	call.answered();
	p.expect_works();
}

TEST(server_continued, a_reply_may_come_between)
{
	Peer p = Peer::open();
	Parts call(p);
	const u32 xid = p.new_xid();

	call.middle(12);
	p.send(unit::middle(RPCRDMA2_REPLY_MIDDLE, xid, 16, { xid, 1 }));
	call.middle(8);
	p.send(unit::reply_inline(xid, { 0, 0, 0, 0 }));
	call.last();
	call.answered();
	p.expect_works();
}

TEST(server_continued, another_xid_is_refused_and_the_first_goes_on)
{
	Peer p = Peer::open();
	Parts call(p), other(p);

	call.middle(12);
	other.middle(12);
	other.refused();
	/* The rest of what was refused is not answered again. */
	other.middle(8);
	other.last();
	p.expect_silence();
	call.last();
	call.answered();
	p.expect_works();
}

TEST(server_continued, a_whole_call_between_is_refused)
{
	Peer p = Peer::open();
	Parts call(p), other(p);

	call.middle(12);
	other.last();
	other.refused();
	call.last();
	call.answered();
	p.expect_works();
}

TEST(server_continued, an_external_call_between_is_refused)
{
	Peer p = Peer::open();
	Parts call(p), other(p);

	call.middle(12);
	other.external();
	other.refused();
	call.last();
	call.answered();
	p.expect_works();
}

/* @break_it sends the part that is wrong. */
static void broken(const std::function<void(Parts &)> &break_it)
{
	Peer p = Peer::open();
	Parts call(p);

	call.middle(12);
	break_it(call);
	call.refused();
	/* The message is void: the rest is dropped, once. */
	if (call.left()) {
		call.middle(4);
		call.last();
	}
	p.expect_silence();
	p.expect_works();
}

TEST(server_continued, remaining_does_not_fall)
{
	broken([](Parts &call) { call.middle(8, call.left(), call.xid()); });
}

/* A peer that has given it up may send it again under its XID (3.1.3). */
TEST(server_continued, a_broken_call_may_come_again_as_a_whole)
{
	Peer p = Peer::open();
	Parts call(p);

	call.middle(12);
	call.middle(8, call.left(), call.xid());
	call.refused();
	p.send(unit::call_inline(call.xid(), null_call(call.xid())));
	EXPECT_TRUE(is_null_reply(p.reply(call.xid())));
	p.expect_works();
}

TEST(server_continued, remaining_falls_by_too_much)
{
	broken([](Parts &call) {
		call.middle(8, call.left() - 12, call.xid());
	});
}

TEST(server_continued, remaining_is_zero)
{
	broken([](Parts &call) { call.middle(8, 0, call.xid()); });
}

TEST(server_continued, remaining_is_no_whole_words)
{
	broken([](Parts &call) {
		call.middle(8, call.left() - 9, call.xid());
	});
}

TEST(server_continued, an_external_call_with_its_xid)
{
	broken([](Parts &call) { call.external(); });
}

TEST(server_continued, ends_too_soon)
{
	Peer p = Peer::open();
	Parts call(p);

	call.middle(12);
	call.last(8);
	call.refused();
	p.expect_works();
}

TEST(server_continued, ends_too_late)
{
	Peer p = Peer::open();
	Parts call(p);

	call.middle(12);
	call.middle(24);
	p.send(unit::call_inline(call.xid(), { 0, 0, 0 }));
	call.refused();
	p.expect_works();
}

TEST(server_continued, total_is_bounded_at_the_first_part)
{
	Peer p = Peer::open();

	for (u32 remaining : { 0xfffffffcu, 0x80000000u, 64u << 20 }) {
		Parts call(p);

		call.middle(12, remaining, call.xid());
		call.refused();
	}
	p.expect_works();
}

TEST(server_continued, parts_of_one_message_may_be_abandoned_by_the_end)
{
	for (u32 i = 0; i < 4; i++) {
		Peer p = Peer::open();
		Parts call(p);

		call.middle(12, 200000, call.xid());
		call.middle(16, 200000 - 16, call.xid());
	}
	Peer::open().expect_works();
}

TEST(server_continued, read_list_is_checked_against_the_whole)
{
	Peer p = Peer::open();
	Parts call(p);
	const Words segment = { 0xb1, 4, 0, 0x1000 };

	call.middle(12);
	p.send(call_header(call.xid(), Lists().read(44, segment)) +
	       unit::slice(null_call(call.xid()), 12, 28));
	p.expect_error(call.xid(), kBadXdr);
	p.expect_works();
}

/* Between the parts of a Reply a client need not take an ERROR (6.3.9). */
TEST(server_continued, an_error_waits_for_the_last_part_of_a_reply)
{
	Peer p = Peer::open();
	Nfs nfs(p);
	bool ended = false;

	p.freeze(p.received() + 1);
	const u32 xid = nfs.send(nfs.read("data", 0, 100000));
	std::optional<Message> m = p.poll(kPatience);
	while (m && m->htype() == RPCRDMA2_GRANT)
		m = p.poll(kPatience);
	ASSERT_TRUE(m);
	ASSERT_EQ(m->htype(), u32{ RPCRDMA2_REPLY_MIDDLE });

	const u32 wrong = p.new_xid();
	p.send(unit::prefix(wrong, 99));
	/* Each GRANT allows one message. */
	p.offer(1);
	for (u32 rounds = 0; rounds < 100; rounds++) {
		p.send_grant();
		m = p.poll(kPatience);
		ASSERT_TRUE(m);
		if (m->xid() == wrong)
			break;
		if (m->xid() == xid)
			ended = m->htype() == RPCRDMA2_REPLY_INLINE;
	}
	EXPECT_EQ(m->htype(), u32{ RPCRDMA2_ERROR });
	EXPECT_EQ(m->words(4), Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	EXPECT_TRUE(ended);
	p.offer(Peer::kWindow);
	p.send_grant();
	p.expect_works();
}
