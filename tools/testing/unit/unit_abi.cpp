// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The C functions do the same as the C++ functions; this calls each of them once. And each that
 * may change something looks whether it is sound afterwards.
 */
#include "support.h"
#include "abi.h"

#include <rpcrdma/auth.h>
#include <rpcrdma/budget.h>
#include <rpcrdma/names.h>
#include <rpcrdma/recent.h>
#include <rpcrdma/regions.h>
#include <rpcrdma/ring.h>
#include <rpcrdma/rtrext.h>
#include <rpcrdma/sizes.h>
#include <rpcrdma/xcharext.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <string>

using namespace unit;
using rpcrdma::Xcharext;

namespace
{

struct Peer {
	rpcrdma_session s;
	rpcrdma_rx rx;
	rpcrdma_tx tx;
	bool grant = false;
	alignas(4) u8 buffer[4096];

	explicit Peer(rpcrdma_role role, u32 version = 2)
	{
		rpcrdma_config c = config(role);

		c.min_version = version;
		c.max_version = version;

		std::memset(&s, 0xee, sizeof(s));
		EXPECT_TRUE(rpcrdma_session_init(&s, &c));
	}
	u32 next(rpcrdma_message *msg = nullptr)
	{
		return rpcrdma_session_next_send(&s, msg, buffer,
						 sizeof(buffer), &tx);
	}
	void receive(const Peer &from)
	{
		rpcrdma_session_receive(
			&s, from.buffer,
			from.tx.header_length + from.tx.payload.length, &rx);
		grant = rpcrdma_session_release(&s, 1);
	}
};

/* Counts of Xcharext, which nothing mends. An explicit instantiation may name what is private. */
struct Counts {
	friend auto member(Counts);
};

template <auto counts> struct Reveal {
	friend auto member(Counts)
	{
		return counts;
	}
};

template struct Reveal<&Xcharext::counts_>;

/* What the functions below are called with: a client whose session is open, and others. */
struct Objects {
	Peer client{ RPCRDMA_ROLE_CLIENT };
	rpcrdma_session *s = &client.s;
	rpcrdma_ring ring = {};
	rpcrdma_mr_slot slots[3] = {};
	rpcrdma_mr_table table = {};
	rpcrdma_budget budget = {};
	rpcrdma_account account = {};
	rpcrdma_replies replies = {};
	const rpcrdma_replies_limits limits = { 8, 100 };

	rpcrdma_message msg = message(7, RPCRDMA_CALL, 40);
	rpcrdma_rx rx = {};
	rpcrdma_tx tx = {};
	rpcrdma_cm_private cm = { 2048, 2048, true, true, false };
	u8 buffer[4096] = {};
	u8 secret[RPCRDMA_AUTH_LEAST] = {};
	rpcrdma_rtr_group group = {};
	rpcrdma_rtr_send send = {};
	rpcrdma_rtr_directions directions = {};
	rpcrdma_reply_plan plan = {};
	rpcrdma_xchar_number number = { 1, 4096 };
	rpcrdma_claim claim = { 1, 0 };
	rpcrdma_supply supply = { 64, 64, 0, 0 };
	u32 from = 0;
	bool look = false;

	Objects()
	{
		Peer server(RPCRDMA_ROLE_SERVER);

		EXPECT_EQ(client.next(), u32{ RPCRDMA_TX_CONTROL });
		server.receive(client);
		EXPECT_EQ(server.next(), u32{ RPCRDMA_TX_CONTROL });
		client.receive(server);
		EXPECT_TRUE(client.rx.opened);
		/* A count of none. */
		directions.length = sizeof(u32);
		ring.sends = 16;
		ring.rest = 8;
		ring.bare = 8;
		rpcrdma_mr_table_init(&table, slots, 3);
		EXPECT_TRUE(rpcrdma_mr_add(&table, 0));
		EXPECT_TRUE(rpcrdma_mr_add(&table, 1));
		rpcrdma_budget_init(&budget, 1000);
		EXPECT_EQ(rpcrdma_budget_charge(&budget, 100, false),
			  u32{ RPCRDMA_BUDGET_START });
		rpcrdma_account_open(&account, 10, 100, 100, 100);
		EXPECT_TRUE(rpcrdma_replies_take(&replies, &limits, 10));
	}

	void damage()
	{
		rpcrdma::session(s).with<Xcharext>(
			[](Xcharext &x, rpcrdma::Port &) {
				(x.*member(Counts{})).lost++;
			});
		ring.bare = 12;
		table.count[RPCRDMA_MR_LOST]++;
		budget.most = 0;
		budget.wanted = 1;
		account.forced = 1;
		replies.number = 0;
	}
};

struct Change {
	const char *name;
	u32 reports; /* if everything that it can change is not sound */
	void (*call)(Objects &o);
};

/* As if it returned nothing. */
#define CHANGE(name, reports, ...)                                         \
	{                                                                  \
		#name, reports,                                            \
			[](Objects &o) { std::invoke(name, __VA_ARGS__); } \
	}

const Change kChanges[] = {
	CHANGE(rpcrdma_session_receive, 1, o.s, o.buffer, 4, &o.rx),
	CHANGE(rpcrdma_session_release, 1, o.s, 0),
	CHANGE(rpcrdma_session_next_send, 1, o.s, nullptr, o.buffer,
	       sizeof(o.buffer), &o.tx),
	CHANGE(rpcrdma_session_admit, 1, o.s, &o.msg),
	CHANGE(rpcrdma_session_put_back, 1, o.s, &o.msg),
	CHANGE(rpcrdma_session_room, 1, o.s),
	CHANGE(rpcrdma_session_call_refused, 1, o.s, &o.msg, &o.rx),
	CHANGE(rpcrdma_session_end_call, 1, o.s, &o.msg),
	CHANGE(rpcrdma_session_refuse, 1, o.s, 7, RPCRDMA2_ERR_SYSTEM, 0, 0),
	CHANGE(rpcrdma_session_set_window, 1, o.s, 100),
	CHANGE(rpcrdma_session_send_room, 1, o.s, 0),
	CHANGE(rpcrdma_session_retire, 1, o.s),
	CHANGE(rpcrdma_session_private, 1, o.s, &o.cm),

	CHANGE(rpcrdma_session_auth_key, 1, o.s, o.secret, sizeof(o.secret),
	       o.secret),
	CHANGE(rpcrdma_session_auth_late, 1, o.s),
	CHANGE(rpcrdma_session_auth_end, 1, o.s),

	CHANGE(rpcrdma_rtr_declare, 1, o.s, nullptr, 0),
	CHANGE(rpcrdma_rtr_plan, 1, o.s, &o.msg, nullptr, nullptr, 0, &o.group),
	CHANGE(rpcrdma_rtr_plan_reply, 1, o.s, &o.directions, nullptr, 0, 40,
	       &o.msg, &o.plan, &o.group),
	CHANGE(rpcrdma_rtr_admit, 1, o.s, &o.msg, &o.group),
	CHANGE(rpcrdma_rtr_next_send, 1, o.s, &o.group, &o.msg, o.buffer,
	       sizeof(o.buffer), &o.tx, &o.send),

	CHANGE(rpcrdma_xchar_request, 1, o.s, &o.number, 1),
	CHANGE(rpcrdma_xchar_allow, 1, o.s, 1, 4096, 4096),
	CHANGE(rpcrdma_xchar_fix, 1, o.s, &o.number.which, 1),
	CHANGE(rpcrdma_xchar_begin, 1, o.s, 4096),
	CHANGE(rpcrdma_xchar_changed, 1, o.s, 1, 4096),

	CHANGE(rpcrdma_ring_ask, 1, &o.ring, true, &o.claim),
	CHANGE(rpcrdma_ring_answers, 1, &o.ring, &o.supply),
	CHANGE(rpcrdma_ring_turn, 1, &o.ring, true, &o.from),
	CHANGE(rpcrdma_ring_awaits, 1, &o.ring, 1, true, &o.look),
	CHANGE(rpcrdma_ring_grow, 1, &o.ring, true),
	CHANGE(rpcrdma_ring_shrink, 1, &o.ring, true, &o.from),
	CHANGE(rpcrdma_ring_look, 1, &o.ring),

	CHANGE(rpcrdma_mr_add, 1, &o.table, 2),
	CHANGE(rpcrdma_mr_take, 1, &o.table),
	CHANGE(rpcrdma_mr_event, 1, &o.table, 1, RPCRDMA_MR_LOSE, 0),
	CHANGE(rpcrdma_mr_put, 1, &o.table, 1),
	CHANGE(rpcrdma_mr_rested, 1, &o.table, 1),
	CHANGE(rpcrdma_mr_remove, 1, &o.table, 1),

	/* What an account uses is looked at besides, on all kernels. */
	CHANGE(rpcrdma_budget_change, 1, &o.budget, 2000),
	CHANGE(rpcrdma_budget_charge, 1, &o.budget, 10, false),
	CHANGE(rpcrdma_budget_uncharge, 1, &o.budget, 10),
	CHANGE(rpcrdma_budget_draw, 3, &o.budget, &o.account,
	       RPCRDMA_BUDGET_CALLS, 0, true),
	CHANGE(rpcrdma_budget_give, 3, &o.budget, &o.account, 0),
	/* A budget that takes and gets back something is sound. */
	CHANGE(rpcrdma_budget_extend, 2, &o.budget, &o.account, 110),
	CHANGE(rpcrdma_account_call, 2, &o.account, 10, false),
	CHANGE(rpcrdma_account_take, 2, &o.account, RPCRDMA_BUDGET_CALLS, 10),
	CHANGE(rpcrdma_account_put, 1, &o.account, RPCRDMA_BUDGET_CALLS, 0,
	       false),
	/* An account that is closed is sound. */
	CHANGE(rpcrdma_account_close, 1, &o.budget, &o.account),
	/* With one more there is one that can have it. */
	CHANGE(rpcrdma_replies_take, 0, &o.replies, &o.limits, 10),
	/* There is none to be put back, which is looked at besides, on all kernels. */
	CHANGE(rpcrdma_replies_put, 2, &o.replies, &o.limits, 10, true),
};

/* What these have made is sound, whatever was there before. */
const char *const kMade[] = {
	"rpcrdma_session_init",
	"rpcrdma_mr_table_init",
	"rpcrdma_budget_init",
	"rpcrdma_account_open",
};

/* What has invariants. */
const char *const kSound[] = {
	"struct rpcrdma_session *", "struct rpcrdma_ring *",
	"struct rpcrdma_mr_table *", "struct rpcrdma_budget *",
	"struct rpcrdma_account *", "struct rpcrdma_replies *",
};

/* Functions in the headers for C that may change their first argument, which is that. */
std::set<std::string> changes_in_headers()
{
	const std::filesystem::path here =
		std::filesystem::path(__FILE__).parent_path();
	std::set<std::string> names;

	for (const auto &file : std::filesystem::directory_iterator(
		     here / "../../../include/rpcrdma")) {
		std::ifstream in(file.path());
		const std::string text(std::istreambuf_iterator<char>(in), {});

		for (size_t i = text.find('('); i != text.npos;
		     i = text.find('(', i + 1)) {
			const size_t first =
				text.find_first_not_of(" \t\n", i + 1);
			size_t name = i;

			while (name && (std::isalnum(text[name - 1]) ||
					text[name - 1] == '_'))
				name--;
			for (const std::string of : kSound)
				if (!text.compare(first, of.size(), of))
					names.insert(
						text.substr(name, i - name));
		}
	}
	return names;
}

} // namespace

TEST(abi, changes__each_sees_what_is_not_sound)
{
	for (const Change &c : kChanges) {
		Objects o;

		/* What is sound stays so, or this ends here. */
		c.call(o);

		Objects broken;
		broken.damage();
		tolerated_breaks = 10;
		c.call(broken);
		EXPECT_EQ(10 - tolerated_breaks, c.reports) << c.name;
		tolerated_breaks = 0;
	}
}

TEST(abi, changes__are_all_there_are)
{
	std::set<std::string> here(std::begin(kMade), std::end(kMade));

	for (const Change &c : kChanges)
		EXPECT_TRUE(here.insert(c.name).second) << c.name;
	for (const std::string &name : changes_in_headers())
		EXPECT_EQ(here.erase(name), 1u) << name << " is missing here";
	for (const std::string &name : here)
		ADD_FAILURE() << name << " is in no header";
}

TEST(abi, session__exchange_call_and_refusal)
{
	Peer client(RPCRDMA_ROLE_CLIENT);
	Peer server(RPCRDMA_ROLE_SERVER);
	rpcrdma_message msg = message(7, RPCRDMA_CALL, 40);
	struct rpcrdma_session_info info;

	EXPECT_FALSE(rpcrdma_session_ready(&client.s));
	ASSERT_EQ(client.next(), u32{ RPCRDMA_TX_CONTROL });
	server.receive(client);
	EXPECT_TRUE(server.rx.opened);
	EXPECT_TRUE(rpcrdma_session_ready(&server.s));
	ASSERT_EQ(server.next(), u32{ RPCRDMA_TX_CONTROL });
	client.receive(server);
	EXPECT_TRUE(client.rx.opened);

	ASSERT_EQ(client.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	const Octets stream = octets(rpc(7, RPCRDMA_CALL, 40));
	std::memcpy(client.buffer + client.tx.header_length, stream.data(), 40);
	server.receive(client);
	ASSERT_EQ(server.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(server.rx.xid, 7u);

	ASSERT_TRUE(rpcrdma_session_refuse(
		&server.s, 7, RPCRDMA2_ERR_WRITE_RESOURCE, 2, 5000));
	ASSERT_EQ(server.next(), u32{ RPCRDMA_TX_CONTROL });
	EXPECT_EQ(Octets(server.buffer + 16, server.buffer + 28),
		  octets({ 9, 2, 5000 }));
	client.receive(server);
	EXPECT_EQ(client.rx.action, u32{ RPCRDMA_RX_FAIL_RPC });
	EXPECT_EQ(client.rx.xid, 7u);
	EXPECT_EQ(client.rx.errcode, u32{ RPCRDMA2_ERR_WRITE_RESOURCE });
	EXPECT_TRUE(msg.outstanding);
	EXPECT_FALSE(rpcrdma_session_end_call(&client.s, &msg));
	EXPECT_FALSE(msg.outstanding);

	rpcrdma_session_info(&client.s, &info);
	EXPECT_EQ(info.version, 2u);
	EXPECT_EQ(info.sent, 2u);
	EXPECT_EQ(info.received, 2u);
}

TEST(abi, session__version_1)
{
	const rpcrdma_cm_private small = { 2048, 2048, true, true, false };
	Peer client(RPCRDMA_ROLE_CLIENT, 1);
	Peer server(RPCRDMA_ROLE_SERVER, 1);
	rpcrdma_message msg = message(7, RPCRDMA_CALL, 40);
	rpcrdma_chunks c = {};
	struct rpcrdma_session_info info;

	EXPECT_EQ(rpcrdma_session_version(&client.s), 1u);
	EXPECT_EQ(rpcrdma_session_max_segment_size(&client.s), UINT32_MAX);
	EXPECT_EQ(rpcrdma_session_version(&server.s), 0u);
	rpcrdma_session_private(&client.s, &small);
	rpcrdma_session_private(&server.s, &small);
	rpcrdma_session_info(&client.s, &info);
	EXPECT_EQ(info.max_send, 2048u);

	EXPECT_EQ(rpcrdma_inv_handle(&c), 0u);
	c.n_reads = 1;
	c.reads[0] = { 8, { 0xb1, 40, 0 } };
	EXPECT_EQ(rpcrdma_inv_handle(&c), 0xb1u);
	msg.chunks = &c;
	ASSERT_EQ(client.next(&msg), u32{ RPCRDMA_TX_MESSAGE });
	const Octets stream = octets(rpc(7, RPCRDMA_CALL, 40));
	std::memcpy(client.buffer + client.tx.header_length, stream.data(),
		    stream.size());
	server.receive(client);
	EXPECT_EQ(server.rx.action, u32{ RPCRDMA_RX_PAYLOAD });
	EXPECT_EQ(server.rx.inv_handle, 0xb1u);
	EXPECT_EQ(rpcrdma_session_version(&server.s), 1u);
}

TEST(abi, session__refuse_puts_each_number_in_its_place)
{
	static const struct {
		u32 code;
		Words body;
	} rows[] = {
		{ RPCRDMA2_ERR_READ_CHUNKS, { 6, 11 } },
		{ RPCRDMA2_ERR_WRITE_CHUNKS, { 7, 11 } },
		{ RPCRDMA2_ERR_SEGMENTS, { 8, 11 } },
		{ RPCRDMA2_ERR_WRITE_RESOURCE, { 9, 11, 22 } },
		{ RPCRDMA2_ERR_REPLY_RESOURCE, { 10, 22 } },
		{ RPCRDMA2_ERR_SYSTEM, { 100 } },
	};
	Peer client(RPCRDMA_ROLE_CLIENT);
	Peer server(RPCRDMA_ROLE_SERVER);

	ASSERT_EQ(client.next(), u32{ RPCRDMA_TX_CONTROL });
	server.receive(client);
	ASSERT_EQ(server.next(), u32{ RPCRDMA_TX_CONTROL });
	for (const auto &row : rows) {
		ASSERT_TRUE(
			rpcrdma_session_refuse(&server.s, 7, row.code, 11, 22));
		ASSERT_EQ(server.next(), u32{ RPCRDMA_TX_CONTROL });
		EXPECT_EQ(Octets(server.buffer + 16,
				 server.buffer + server.tx.header_length),
			  octets(row.body));
	}
}

TEST(abi, session__init_refuses_what_contradicts_itself)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);
	rpcrdma_session s;

	c.window = 2;
	EXPECT_FALSE(rpcrdma_session_init(&s, &c));
}

TEST(abi, plan__both_ways)
{
	Peer server(RPCRDMA_ROLE_SERVER);
	Peer client(RPCRDMA_ROLE_CLIENT);
	const rpcrdma_call_shape shape = {
		.length = 8192 + 200,
		.item = { 120, 8190 },
		.result_max = 9000,
		.reply_max = 10000,
		.avoid = 0,
		.round_trip = 0,
		.sends = 0,
		.reducible = true,
		.reply_expected = true,
	};
	rpcrdma_call_plan plan;

	ASSERT_EQ(client.next(), u32{ RPCRDMA_TX_CONTROL });
	server.receive(client);
	ASSERT_EQ(server.next(), u32{ RPCRDMA_TX_CONTROL });
	client.receive(server);
	rpcrdma_plan_call(&client.s, &shape, &plan);
	EXPECT_TRUE(plan.read_chunk);
	EXPECT_TRUE(plan.write_chunk);
	EXPECT_EQ(plan.stream_length, 200u);
	rpcrdma_plan_reasons why = {};
	rpcrdma_plan_why(&client.s, &shape, &plan, &why);
	EXPECT_TRUE(plan.call_chunk);
	EXPECT_EQ(why.chunks, u32{ RPCRDMA_AVOID_READ_CHUNK |
				   RPCRDMA_AVOID_WRITE_CHUNK |
				   RPCRDMA_AVOID_CALL_CHUNK });
	rpcrdma_plan_call(&server.s, &shape, &plan);
	EXPECT_FALSE(plan.read_chunk) << "the client offered no reverse chunks";

	rpcrdma_chunks call = {};
	call.n_reads = 1;
	call.reads[0] = { 120, { 5, 8190, 0 } };
	call.n_writes = 1;
	call.writes[0] = { 1, 0 };
	call.n_write_segs = 1;
	call.write_segs[0] = { 6, 9000, 0 };
	rpcrdma_piece pieces[RPCRDMA_MAX_PIECES];
	EXPECT_EQ(rpcrdma_layout_call(&call, 200, pieces), 3u);

	const rpcrdma_range result = { 100, 8999 };
	rpcrdma_reply_plan reply;
	rpcrdma_plan_reply(&server.s, &call, 9200, &result, 1, &reply);
	EXPECT_EQ(reply.errcode, 0u);
	EXPECT_EQ(reply.stream_length, 200u);
	u32 octets;
	EXPECT_TRUE(rpcrdma_written(&call, &reply.chunks, 0, &octets));
	EXPECT_EQ(octets, 8999u);
	u32 to;
	EXPECT_EQ(rpcrdma_stream_run(reply.removed, reply.n_removed, 100, &to),
		  UINT32_MAX);
	EXPECT_EQ(to, 9100u);
}

TEST(abi, session__window_and_retry)
{
	Peer client(RPCRDMA_ROLE_CLIENT);
	Peer server(RPCRDMA_ROLE_SERVER);
	rpcrdma_call_plan plan = {};
	u32 avoid = 0;

	ASSERT_EQ(client.next(), u32{ RPCRDMA_TX_CONTROL });
	server.receive(client);
	ASSERT_EQ(server.next(), u32{ RPCRDMA_TX_CONTROL });
	client.receive(server);
	EXPECT_TRUE(rpcrdma_session_set_window(&server.s, 200));
	ASSERT_EQ(server.next(), u32{ RPCRDMA_TX_CONTROL });
	client.receive(server);
	EXPECT_FALSE(rpcrdma_session_set_window(&server.s, 100));
	EXPECT_FALSE(rpcrdma_session_retire(&server.s));
	EXPECT_TRUE(rpcrdma_session_may_wait(&server.s, 15));
	EXPECT_FALSE(rpcrdma_session_may_wait(&server.s, 16));

	plan.read_chunk = true;
	ASSERT_TRUE(rpcrdma_session_refuse(&server.s, 7,
					   RPCRDMA2_ERR_READ_CHUNKS, 0, 0));
	ASSERT_EQ(server.next(), u32{ RPCRDMA_TX_CONTROL });
	client.receive(server);
	EXPECT_EQ(rpcrdma_plan_retry(&plan, &client.rx, &avoid), 0);
	EXPECT_EQ(avoid, u32{ RPCRDMA_AVOID_READ_CHUNK });
	EXPECT_EQ(rpcrdma_plan_retry(&plan, &client.rx, &avoid), -EIO);
	EXPECT_EQ(rpcrdma_plan_outdated(&plan, &avoid), 0);
	EXPECT_EQ(rpcrdma_plan_outdated(&plan, &avoid), -EIO);
	EXPECT_EQ(rpcrdma_plan_too_long(&avoid), 0);
	EXPECT_EQ(rpcrdma_plan_too_long(&avoid), 0);
	EXPECT_EQ(rpcrdma_plan_too_long(&avoid), -EIO);
}

TEST(abi, replied__and_the_first_words)
{
	const Octets stream = octets({ 7, RPCRDMA_REPLY, 5 });
	rpcrdma_chunks call = {};
	rpcrdma_reply_plan plan;
	Peer server(RPCRDMA_ROLE_SERVER);
	u32 n;

	call.has_reply = true;
	call.reply = { 1, 0 };
	call.n_write_segs = 1;
	call.write_segs[0] = { 6, 9000, 0 };
	rpcrdma_plan_reply(&server.s, &call, 8000, nullptr, 0, &plan);
	EXPECT_TRUE(plan.external);
	EXPECT_TRUE(rpcrdma_replied(&call, &plan.chunks, &n));
	EXPECT_EQ(n, 8000u);

	const auto belongs = [&](u32 len, u32 xid, rpcrdma_dir dir) {
		const Exact copy(Octets(stream.begin(), stream.begin() + len));

		return rpcrdma_first_words(copy.bytes().data(), len, xid, dir);
	};
	EXPECT_TRUE(belongs(12, 7, RPCRDMA_REPLY));
	EXPECT_TRUE(belongs(8, 7, RPCRDMA_REPLY));
	EXPECT_TRUE(belongs(4, 7, RPCRDMA_CALL)) << "as many as there are";
	EXPECT_FALSE(belongs(12, 8, RPCRDMA_REPLY));
	EXPECT_FALSE(belongs(12, 7, RPCRDMA_CALL));
	EXPECT_FALSE(belongs(3, 7, RPCRDMA_REPLY));
}

TEST(abi, recent__note_and_ask)
{
	rpcrdma_recent t = {};

	rpcrdma_recent_note(&t, 5, 7, 100);
	EXPECT_TRUE(rpcrdma_recent_known(&t, 5, 7, 100));
	EXPECT_FALSE(
		rpcrdma_recent_known(&t, 5, 7, 100 + RPCRDMA_RECENT_SECONDS));
	EXPECT_TRUE(rpcrdma_recent_forget(&t, 5, 7, 100));
	for (u32 i = 0; i < RPCRDMA_MAX_SUSPECTED; i++) {
		EXPECT_FALSE(rpcrdma_recent_known(&t, 5, 8, 100));
		rpcrdma_recent_suspect(&t, 5, 8, 100);
	}
	EXPECT_TRUE(rpcrdma_recent_known(&t, 5, 8, 100));
	EXPECT_FALSE(rpcrdma_recent_known(&t, 5, 7, 100));
}

TEST(abi, recent__filter)
{
	u64 words[RPCRDMA_RECENT_WORDS];
	rpcrdma_recent t = {};
	const u32 bit = rpcrdma_recent_bit(5, 7);

	rpcrdma_recent_note(&t, 5, 7, 100);
	rpcrdma_recent_filter(&t, 100, words);
	ASSERT_LT(bit, 64 * std::size(words));
	EXPECT_TRUE(words[bit / 64] >> bit % 64 & 1);
}

TEST(abi, call__its_item_and_what_it_is_known_by)
{
	const Octets stream = octets({ 7, 0, 2, 100003, 3, 7, 0, 0, 0, 0 });
	rpcrdma_chunks call = {};
	rpcrdma_range item;

	call.n_reads = 1;
	call.reads[0] = { 40, { 1, 5000, 0 } };
	ASSERT_TRUE(rpcrdma_call_item(&call, stream.data(), 40, &item));
	EXPECT_EQ(item.offset, 40u);
	EXPECT_EQ(item.length, 5000u);
	EXPECT_FALSE(rpcrdma_call_item(&call, stream.data(), 36, &item));
	EXPECT_TRUE(rpcrdma_call_divides(stream.data(), 40, 40));
	EXPECT_FALSE(rpcrdma_call_divides(stream.data(), 40, 36));
	EXPECT_FALSE(rpcrdma_call_divides(stream.data(), 36, 40));

	const u64 id = rpcrdma_call_id(7, 5040, stream.data(), 40, 1);
	EXPECT_EQ(u32(id), 7u);
	EXPECT_NE(id, rpcrdma_call_id(7, 5040, stream.data(), 36, 1));
	EXPECT_NE(id, rpcrdma_call_id(7, 5040, stream.data(), 40, 2));
}

TEST(abi, mr_table__one_life)
{
	rpcrdma_mr_slot slots[2];
	rpcrdma_mr_table t;

	rpcrdma_mr_table_init(&t, slots, 2);
	EXPECT_EQ(rpcrdma_mr_take(&t), -1);
	EXPECT_TRUE(rpcrdma_mr_add(&t, 1));
	EXPECT_EQ(rpcrdma_mr_take(&t), 1);
	EXPECT_TRUE(rpcrdma_mr_event(&t, 1, RPCRDMA_MR_POST, 9));
	EXPECT_FALSE(rpcrdma_mr_put(&t, 1));
	EXPECT_TRUE(rpcrdma_mr_event(&t, 1, RPCRDMA_MR_LOCAL_INV, 9));
	EXPECT_TRUE(rpcrdma_mr_event(&t, 1, RPCRDMA_MR_INV_DONE, 9));
	EXPECT_TRUE(rpcrdma_mr_put(&t, 1));
	EXPECT_EQ(t.count[RPCRDMA_MR_FREE], 1u);
	EXPECT_FALSE(rpcrdma_mr_rested(&t, 0));
	EXPECT_TRUE(rpcrdma_mr_rested(&t, 0));
	EXPECT_EQ(rpcrdma_mr_remove(&t, 1), -1);
	EXPECT_EQ(rpcrdma_mr_remove(&t, 0), 1);
	EXPECT_EQ(t.count[RPCRDMA_MR_NONE], 2u);
}

TEST(abi, cm_private__round_trip)
{
	const rpcrdma_cm_private in = { 4096, 8192, true, true, false };
	rpcrdma_cm_private out;
	u8 buf[RPCRDMA_CM_PRIVATE_SIZE];

	rpcrdma_cm_private_encode(&in, buf);
	rpcrdma_cm_private_decode(buf, sizeof(buf), &out);
	EXPECT_EQ(out.send_size, 4096u);
	EXPECT_EQ(out.recv_size, 8192u);
	EXPECT_TRUE(out.remote_inv);
	EXPECT_EQ(rpcrdma_opening_wait(&out, UINT32_MAX), 10000u);
	rpcrdma_cm_private_decode(nullptr, 0, &out);
	EXPECT_EQ(out.send_size, 1024u);
	EXPECT_EQ(out.recv_size, 1024u);
	EXPECT_FALSE(out.remote_inv);
}

TEST(abi, names__are_strings)
{
	EXPECT_STREQ(rpcrdma_htype_name(5), "GRANT");
	EXPECT_STREQ(rpcrdma_reason_name(RPCRDMA_REASON_XID), "xid");
	EXPECT_STREQ(rpcrdma_errcode_name(2), "BAD_XDR");
}
