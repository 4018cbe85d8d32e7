// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Peers that mean the dialect of 2016 by version 2 (D25).
 */
#include "dialect.h"
#include "golden.h"
#include "support.h"

using namespace rpcrdma;
using namespace unit;

namespace
{

constexpr rpcrdma_dir kCall = RPCRDMA_CALL;
constexpr rpcrdma_dir kReply = RPCRDMA_REPLY;
/* Of a window of 64, what is for Calls of version 1. */
constexpr u32 kForward = 56;

rpcrdma_config versions(rpcrdma_role role, u32 min, u32 max)
{
	rpcrdma_config c = config(role);

	c.min_version = min;
	c.max_version = max;
	return c;
}

Endpoint server(u32 min = 1, u32 max = 2)
{
	return Endpoint(versions(RPCRDMA_ROLE_SERVER, min, max));
}

struct Decoded {
	Parse parsed;
	Header h;
	Chunks c = {};
};

Decoded decoded(const Octets &o)
{
	const Exact copy(o);
	Decoded d;

	if (!decode_prefix(copy.bytes(), d.h.prefix))
		d.parsed = Parse::BadXdr;
	else
		d.parsed = decode_body_2016(copy.bytes(), d.h, d.c);
	return d;
}

Decoded decoded(const Words &w)
{
	return decoded(octets(w));
}

bool is_dialect(const Octets &o)
{
	const Exact copy(o);
	Prefix p = {};
	Chunks c = {};

	return decode_prefix(copy.bytes(), p) && of_2016(copy.bytes(), p, c);
}

/* What comes of it, as far as the peer can see. */
Words answer_to(Endpoint &e, const Words &w)
{
	e.receive(w);
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
	EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_DIALECT });
	EXPECT_EQ(e.rx.type, u32{ RPCRDMA_TYPE_UNKNOWN });
	EXPECT_EQ(e.rx.chunks.n_reads + e.rx.chunks.n_call, 0u);
	EXPECT_FALSE(e.rx.opened);
	EXPECT_TRUE(e.rx.kick);
	EXPECT_FALSE(e.session.ready());
	EXPECT_EQ(e.info().version, 0u);
	Words sent = e.next_control();
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE }) << "nothing else";
	return sent;
}

/* ERR_VERS that says: version 1. Its credit word is a grant of version 1. */
Words version_1_only(u32 xid)
{
	return { xid, 2, 64, dialect::kError, dialect::kErrVers, 1, 1 };
}

Words bad_header(u32 xid)
{
	return { xid, 2, 64, dialect::kError, dialect::kErrBadHeader };
}

} // namespace

/* ------------------------------------------------------------------ */
/* The messages                                                       */
/* ------------------------------------------------------------------ */

TEST(dialect, decode__msg)
{
	const Words lists = v1::read_segment(8, 0xb1, 8) + Words{ 0, 1 } +
			    v1::segments(0xc1, { 4096, 8 }) + Words{ 0, 1 } +
			    v1::segments(0xd1, { 900 });
	const Decoded d = decoded(dialect::call(7, lists));

	ASSERT_EQ(d.parsed, Parse::Ok);
	EXPECT_EQ(d.h.type, &header_type_v1(RPCRDMA1_MSG, kCall));
	ASSERT_EQ(d.c.n_reads, 1u);
	EXPECT_EQ(d.c.reads[0].position, 8u);
	EXPECT_EQ(d.c.reads[0].target.handle, 0xb1u);
	ASSERT_EQ(d.c.n_writes, 1u);
	EXPECT_EQ(d.c.writes[0].count, 2u);
	EXPECT_EQ(d.c.write_segs[1].length, 8u);
	EXPECT_TRUE(d.c.has_reply);
	EXPECT_EQ(d.c.write_segs[2].handle, 0xd1u);
	EXPECT_EQ(d.h.payload.offset, 4 * (5 + lists.size()));
	EXPECT_EQ(d.h.payload.length, 40u);
	EXPECT_EQ(d.h.end, d.h.payload.offset);

	const Decoded r = decoded(dialect::msg(7, kReply, rpc(7, kReply, 24)));
	ASSERT_EQ(r.parsed, Parse::Ok);
	EXPECT_EQ(r.h.type, &header_type_v1(RPCRDMA1_MSG, kReply));
	EXPECT_EQ(r.h.payload.offset, 32u);
}

TEST(dialect, decode__nomsg)
{
	const Decoded d = decoded(dialect::long_call(7));

	ASSERT_EQ(d.parsed, Parse::Ok);
	EXPECT_EQ(d.h.type, &header_type_v1(RPCRDMA1_NOMSG, kCall));
	ASSERT_EQ(d.c.n_call, 1u);
	EXPECT_EQ(d.c.call[0].length, 5000u);
	EXPECT_EQ(d.h.payload.length, 0u);

	const Decoded r = decoded(dialect::nomsg(
		7, kReply, Words{ 0, 0, 1 } + v1::segments(0xd1, { 900 })));
	ASSERT_EQ(r.parsed, Parse::Ok);
	EXPECT_EQ(r.h.type, &header_type_v1(RPCRDMA1_NOMSG, kReply));
}

/* Section 4.2.2: rdma_direction is the msg_type of the RPC message. */
TEST(dialect, decode__direction)
{
	const Words call = rpc(7, kCall, 40);
	const Words reply = rpc(7, kReply, 40);

	for (const Words &w :
	     { dialect::msg(7, kReply, call), dialect::msg(7, kCall, reply),
	       dialect::msg(7, kCall, { 7, 2 }), dialect::msg(7, 2, call),
	       dialect::msg(7, UINT32_MAX, reply),
	       dialect::nomsg(7, kReply,
			      v1::read_segment(0, 0xa1, 40) + v1::kNoLists),
	       dialect::nomsg(7, kCall,
			      Words{ 0, 0, 1 } + v1::segments(0xd1, { 40 })) })
		EXPECT_EQ(decoded(w).parsed, Parse::BadXdr) << w[4];
}

/* Section 4.2.1, and the XDR. */
TEST(dialect, decode__cut_short)
{
	for (const Words &w : dialect::first_messages(7)) {
		const Octets whole = octets(w);

		EXPECT_TRUE(is_dialect(whole));
		if (w[3] == dialect::kOptional)
			continue;
		const u32 payload = w[3] == dialect::kMsg ? 40 : 0;
		const u32 header = static_cast<u32>(whole.size()) - payload;
		for (u32 n = 0; n < whole.size(); n++) {
			const Octets part(whole.begin(), whole.begin() + n);

			/* A payload of two words has a direction. */
			if (n >= header + 8 && n % 4 == 0)
				continue;
			EXPECT_FALSE(is_dialect(part)) << n;
			EXPECT_EQ(decoded(part).parsed, Parse::BadXdr);
		}
	}
	/* Nothing is read behind its end: sanitizers would say so. */
	for (const Words &w : v1::lying_calls(7)) {
		Words bad = dialect::prefix(7, w[3]) + Words{ kCall };

		bad.insert(bad.end(), w.begin() + 4, w.end());
		(void)decoded(bad);
	}
}

TEST(dialect, decode__more_than_there_is_room_for)
{
	Words many;

	for (u32 i = 0; i < 60; i++)
		many = many + v1::read_segment(8 + 8 * i, 0xb1, 8);
	const Words call = dialect::call(7, many + v1::kNoLists);
	EXPECT_EQ(decoded(call).parsed, Parse::TooManyReadChunks);
	EXPECT_TRUE(is_dialect(octets(call)));
}

TEST(dialect, decode__optional)
{
	const Octets o = octets(dialect::optional(
		7, kReply, 0x1234, 5, { 0x61626364, 0x65000000 }, { 1, 2 }));
	Optional2016 option;

	ASSERT_TRUE(decode_optional_2016({ o.data(), u32(o.size()) }, option));
	EXPECT_EQ(option.direction, kReply);
	EXPECT_EQ(option.opttype, 0x1234u);
	EXPECT_EQ(option.optinfo.offset, 28u);
	EXPECT_EQ(option.optinfo.length, 5u);
	EXPECT_EQ(option.payload.offset, 36u);
	EXPECT_EQ(option.payload.length, 8u);
	for (u32 n = 0; n < 36; n++)
		EXPECT_FALSE(is_dialect(Octets(o.begin(), o.begin() + n)));
	EXPECT_FALSE(is_dialect(octets(dialect::optional(7, 2, 1, 0, {}))));
	EXPECT_FALSE(is_dialect(
		octets(dialect::optional(7, kCall, 1, UINT32_MAX, { 1 }))));
}

/* Nor is any of the dialect anything there. */
TEST(dialect, decode__nothing_of_version_2_or_1)
{
	for (const Golden &g : goldens())
		EXPECT_FALSE(is_dialect(g.message())) << g.name;
	EXPECT_FALSE(is_dialect(octets(prefix(0, RPCRDMA2_GRANT))));
	EXPECT_FALSE(is_dialect(octets(v1::call(7))));
	for (Words w : dialect::first_messages(7)) {
		Header h = {};
		Chunks c;
		const Octets o = octets(w);

		h.type = header_type(w[3]);
		EXPECT_EQ(h.type != nullptr, w[3] == dialect::kOptional);
		if (h.type)
			EXPECT_EQ(decode_body({ o.data(), u32(o.size()) },
					      kNoLimits, h, c),
				  Parse::BadXdr);
		for (const u32 vers : { 0u, 1u, 3u }) {
			w[1] = vers;
			EXPECT_FALSE(is_dialect(octets(w)));
		}
	}
}

/* ------------------------------------------------------------------ */
/* A client of the dialect                                            */
/* ------------------------------------------------------------------ */

TEST(dialect, server__refuses_it_and_goes_on_with_version_1_D25)
{
	for (const Words &first : dialect::first_messages(7)) {
		Endpoint e = server();
		rpcrdma_message reply = message(8, kReply, 40);

		EXPECT_EQ(answer_to(e, first), version_1_only(7));
		/* Section 5.2 there: it selects a version in that range. */
		e.receive(v1::call(8));
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
		EXPECT_TRUE(e.rx.opened);
		EXPECT_EQ(e.info().version, 1u);
		ASSERT_EQ(e.next(&reply), u32{ RPCRDMA_TX_MESSAGE });
		EXPECT_EQ(e.sent, octets({ 8, 1, kForward, 0, 0, 0, 0 }));
		EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
		/* And version 1 stays. */
		e.receive(first);
		EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_VERSION_MISMATCH });
		EXPECT_EQ(e.next_control(),
			  (Words{ 7, 2, kForward, 4, 1, 1, 1 }));
	}
}

/* Whatever its credit word is, and however often it is sent. */
TEST(dialect, server__refuses_it_again_and_again_D25)
{
	static constexpr u32 kCredits[] = {
		0, 1, 32, 0x7fffffff, 0x80000000, UINT32_MAX
	};
	Endpoint e = server();

	for (u32 i = 0; i < 1000; i++) {
		const auto all = dialect::first_messages(i);
		Words w = all[i % all.size()];

		w[2] = kCredits[i % std::size(kCredits)];
		ASSERT_EQ(answer_to(e, w), version_1_only(i));
		ASSERT_FALSE(e.grant);
	}
	Words final = connprop(kClientXid);
	/* It has had so many answers. */
	final[2] = 1000 + 64;
	e.receive(final);
	EXPECT_TRUE(e.rx.opened) << "it knows version 2 all the same";
	EXPECT_EQ(e.info().version, 2u);
	ASSERT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
	EXPECT_EQ(e.tx.htype, u32{ RPCRDMA2_CONNPROP_FINAL });
	EXPECT_EQ(word_at(e.sent, 2), 1001u + 64u);
}

/* Without version 1 there is nothing to go on with: one error that both know. */
TEST(dialect, server__of_version_2_alone_D25)
{
	for (const Words &first : dialect::first_messages(7)) {
		Endpoint e = server(2, 2);

		EXPECT_EQ(answer_to(e, first), bad_header(7));
		EXPECT_EQ(answer_to(e, first), bad_header(7));
		e.receive(connprop(kClientXid));
		EXPECT_TRUE(e.rx.opened);
	}
}

TEST(dialect, server__of_version_1_alone_D25)
{
	for (const Words &first : dialect::first_messages(7)) {
		Endpoint e = server(1, 1);

		e.receive(first);
		EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_VERSION });
		EXPECT_EQ(e.next_control(), version_1_only(7));
		e.receive(v1::call(8));
		EXPECT_TRUE(e.rx.opened);
	}
}

/* Section 7.1.3: who has spoken version 2 is told what it expects. */
TEST(dialect, server__once_version_2_is_agreed_D25)
{
	Endpoint e = open_server(versions(RPCRDMA_ROLE_SERVER, 1, 2));

	for (const Words &w : dialect::first_messages(7)) {
		e.receive(w);
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
		if (w[3] == dialect::kOptional) {
			/* A GRANT that is malformed (D6). */
			EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_XDR });
			EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
		} else {
			EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_HTYPE });
			EXPECT_EQ(e.next_error(7),
				  Words{ RPCRDMA2_ERR_INVAL_HTYPE });
		}
		EXPECT_TRUE(e.session.ready());
	}
}

/* What is nothing in either is a header type that is not known (7.1.3). */
TEST(dialect, server__what_does_not_parse_D25)
{
	for (const Words &w :
	     { dialect::prefix(7, 0), dialect::prefix(7, 1),
	       dialect::prefix(7, 2) + Words{ 0, 0, 0, 0, 7, 0 },
	       dialect::msg(7, kReply, rpc(7, kCall, 40)) }) {
		Endpoint e = server();

		e.receive(w);
		EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_HTYPE });
		EXPECT_EQ(e.next_error(7), Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	}
	/* The smallest message of that number is a GRANT. */
	Endpoint e = server();
	e.receive(dialect::prefix(0, dialect::kOptional));
	EXPECT_TRUE(e.rx.opened);
	EXPECT_EQ(e.info().version, 2u);
}

/* An ERROR of either is never answered. */
TEST(dialect, server__errors_D25)
{
	for (u32 code = 0; code < 5; code++) {
		Endpoint e = server();

		e.receive(dialect::prefix(7, dialect::kError) +
			  Words{ code, 1, 1 });
		EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
		EXPECT_EQ(e.info().version, 0u);
		EXPECT_EQ(answer_to(e, dialect::call(8)), version_1_only(8));
	}
}

/* ------------------------------------------------------------------ */
/* A server of the dialect                                            */
/* ------------------------------------------------------------------ */

/* It cannot read a CONNPROP (4.2.3 there). The next connection speaks version 1. */
TEST(dialect, client__its_final_is_a_bad_header_D25)
{
	for (const u32 code :
	     { dialect::kErrBadHeader, u32{ RPCRDMA2_ERR_INVAL_HTYPE } }) {
		const Words error =
			dialect::prefix(kClientXid, dialect::kError) +
			Words{ code };
		Endpoint e(versions(RPCRDMA_ROLE_CLIENT, 1, 2));
		Endpoint two(versions(RPCRDMA_ROLE_CLIENT, 2, 2));
		Words other = error;

		(void)e.next();
		other[0] = 99;
		e.receive(other);
		EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_EARLY })
			<< "about nothing";
		e.receive(error);
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_CLOSE });
		EXPECT_EQ(e.rx.reason, u32{ RPCRDMA_REASON_DIALECT });
		EXPECT_EQ(e.info().version, 0u);
		EXPECT_EQ(e.info().peer_credits, 0u) << "its word is no count";
		EXPECT_FALSE(e.session.ready());
		/* Nothing is left to try. */
		(void)two.next();
		two.receive(error);
		EXPECT_EQ(two.rx.action, u32{ RPCRDMA_RX_CLOSE });
		EXPECT_EQ(two.rx.reason, u32{ RPCRDMA_REASON_NO_VERSION });
	}
}

/* Other errors about the FINAL say nothing of a dialect. */
TEST(dialect, client__other_first_errors_D25)
{
	const std::pair<u32, u32> reasons[] = {
		{ RPCRDMA2_ERR_INVAL_CONT, RPCRDMA_REASON_NO_VERSION },
		/* So says a server that demands host authentication. */
		{ RPCRDMA2_ERR_SYSTEM, RPCRDMA_REASON_AUTH },
	};

	for (const auto &[code, reason] : reasons) {
		Endpoint e(versions(RPCRDMA_ROLE_CLIENT, 1, 2));

		(void)e.next();
		e.receive(prefix(kClientXid, RPCRDMA2_ERROR) + Words{ code });
		EXPECT_EQ(e.rx.reason, reason);
	}
	/* Once it has been answered it is a version of both. */
	Endpoint e = open_client(versions(RPCRDMA_ROLE_CLIENT, 1, 2));
	e.receive(prefix(kClientXid, RPCRDMA2_ERROR) +
		  Words{ RPCRDMA2_ERR_BAD_XDR });
	EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	EXPECT_TRUE(e.session.ready());
}

/* What a server sends is no first message: it gets the answer of 7.1.3. */
TEST(dialect, client__a_message_of_it_D25)
{
	for (const Words &w : dialect::first_messages(7)) {
		Endpoint e(versions(RPCRDMA_ROLE_CLIENT, 1, 2));

		(void)e.next();
		e.receive(w);
		EXPECT_EQ(e.rx.action, u32{ RPCRDMA_RX_DROP });
		EXPECT_NE(e.rx.reason, u32{ RPCRDMA_REASON_DIALECT });
		EXPECT_FALSE(e.rx.opened);
		if (w[3] != dialect::kOptional)
			EXPECT_EQ(e.next_error(7),
				  Words{ RPCRDMA2_ERR_INVAL_HTYPE });
		EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_NONE });
	}
}

/* If it says that it speaks version 1, this connection may go on (5.2 there). */
TEST(dialect, client__is_told_of_version_1_D25)
{
	for (const u32 high : { 1u, 2u }) {
		Endpoint e(versions(RPCRDMA_ROLE_CLIENT, 1, 2));

		(void)e.next();
		e.receive(dialect::prefix(kClientXid, dialect::kError) +
			  Words{ dialect::kErrVers, 1, high });
		EXPECT_TRUE(e.rx.opened);
		EXPECT_EQ(e.info().version, 1u);
	}
}

/* ------------------------------------------------------------------ */
/* What both dialects have                                            */
/* ------------------------------------------------------------------ */

/* Number and layout of the errors; the third has another meaning. */
TEST(dialect, errors__those_that_both_have)
{
	EXPECT_EQ(u32{ RPCRDMA2_ERROR }, dialect::kError);
	EXPECT_EQ(u32{ RPCRDMA2_ERR_VERS }, dialect::kErrVers);
	EXPECT_EQ(error_type(dialect::kErrVers)->words, 2u);
	EXPECT_EQ(u32{ RPCRDMA2_ERR_BAD_XDR }, dialect::kErrBadHeader);
	EXPECT_EQ(error_type(dialect::kErrBadHeader)->words, 0u);
	EXPECT_EQ(u32{ RPCRDMA2_ERR_BAD_PROPVAL }, dialect::kErrInvalOption);
	EXPECT_EQ(error_type(dialect::kErrInvalOption)->words, 0u);
	EXPECT_EQ(u32{ RPCRDMA2_GRANT }, dialect::kOptional);
	EXPECT_EQ(kOptional2016, dialect::kOptional);
}

/* Section 2.3 there, 4.2.2 here: as long as nothing else has been said. */
TEST(dialect, thresholds__4096_octets_by_default)
{
	EXPECT_EQ(kDefaultProperties.send_size, 4096u);
	EXPECT_EQ(kDefaultProperties.recv_size, 4096u);
	Endpoint e = server();
	e.receive(call_inline(7, rpc(7, kCall, 40)));
	EXPECT_TRUE(e.rx.opened);
	EXPECT_EQ(e.info().max_send, 4096u);
}

/* Section 5.2 there: the threshold changes with the version, on one connection. */
TEST(dialect, thresholds__change_without_a_loss_D25)
{
	rpcrdma_config c = versions(RPCRDMA_ROLE_CLIENT, 1, 2);

	c.local.send_size = c.local.recv_size = 4096;
	Endpoint e(c);
	(void)e.next();
	EXPECT_LE(e.sent.size(), 1024u);
	e.receive(v1::err_vers(kClientXid, 1, 1, 2));
	EXPECT_TRUE(e.rx.opened);
	EXPECT_EQ(e.info().max_send, 1024u);

	Endpoint s = server();
	EXPECT_EQ(answer_to(s, dialect::call(7)), version_1_only(7));
	s.receive(v1::call(8));
	EXPECT_TRUE(s.rx.opened);
	EXPECT_EQ(s.info().max_send, 1024u);
}
