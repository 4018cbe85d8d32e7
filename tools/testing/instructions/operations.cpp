// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What the module asks of the core for an NFS operation, at both ends, in the order in
 * which it does: two sessions with a connection that loses nothing.
 *
 * Alone it only checks that each operation goes as it is meant to. 'count' runs it under
 * callgrind, which writes a file for each operation, with what was executed for kTimes of
 * them after some that do not count.
 */
#include <rpcrdma/plan.h>
#include <rpcrdma/private_data.h>
#include <rpcrdma/regions.h>
#include <rpcrdma/rtrext.h>
#include <rpcrdma/shim.h>

#include <valgrind/callgrind.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace
{

constexpr u32 kWarm = 100;
constexpr u32 kTimes = 64; /* 'count' reads this line */
constexpr u32 kKib = 1024;
constexpr u32 kMib = 1024 * kKib;
/* The module's defaults. */
constexpr u32 kInline = 8 * kKib;
constexpr u32 kWindow = 64;
constexpr u32 kThreshold = 16 * kKib;
constexpr u32 kSpecial = 64 * kKib;
constexpr u32 kPage = 4 * kKib;
/* As the module's client directs a result of a page or more. */
constexpr rpcrdma_rtr_direction kBySends = { RPCRDMA_RTR_TBSN, kPage, 0,
					     nullptr, 0 };
/* With rtrext, what comes before the pages of a Receive, and how many those are. */
constexpr u32 kHead = kKib;
constexpr u32 kTargets = 7;
constexpr u32 kGroupSend = kHead + kTargets * kPage;
/* About what NFSv4.2 has around the data of a READ or a WRITE. */
constexpr u32 kCall = 228;
constexpr u32 kReply = 136;

/**
 * An NFS operation
 * @item: octets of data in the Call
 * @result: octets of data in the Reply
 * @sends: how many Sends both messages take together
 * @chunk: the result goes by a Write chunk
 * @rtrext: both messages go by groups, if they have data
 */
struct Operation {
	const char *name;
	u32 version;
	u32 item;
	u32 result;
	u32 sends;
	bool chunk;
	bool rtrext = false;
};

constexpr Operation kOperations[] = {
	{ "READ 4 KiB, v2", 2, 0, 4 * kKib, 2, false },
	{ "WRITE 4 KiB, v2", 2, 4 * kKib, 0, 2, false },
	{ "WRITE 16 KiB, v2", 2, 16 * kKib, 0, 4, false },
	{ "READ 1 MiB, v2", 2, 0, kMib, 2, true },
	{ "READ 4 KiB, v1", 1, 0, 4 * kKib, 2, false },
	{ "WRITE 4 KiB, v1", 1, 4 * kKib, 0, 2, false },
	{ "READ 4 KiB, rtrext", 2, 0, 4 * kKib, 2, false, true },
	{ "WRITE 4 KiB, rtrext", 2, 4 * kKib, 0, 2, false, true },
	{ "READ 64 KiB, rtrext", 2, 0, 64 * kKib, 4, false, true },
	{ "WRITE 64 KiB, rtrext", 2, 64 * kKib, 0, 4, false, true },
};

/* Figures of an operation that went wrong mean nothing. */
void must(bool ok, const char *what, int line)
{
	if (ok)
		return;
	std::fprintf(stderr, "operations.cpp:%d: not so: %s\n", line, what);
	std::abort();
}
#define MUST(cond) must(cond, #cond, __LINE__)

void put_word(u8 *at, u32 v)
{
	v = __builtin_bswap32(v);
	std::memcpy(at, &v, sizeof(v));
}

/* One end of the connection. */
struct End {
	rpcrdma_session session;
	rpcrdma_rx rx;
	rpcrdma_tx tx;
	rpcrdma_rtr_group rtr;
	bool server;
	bool group = false; /* its message goes by @rtr */
	rpcrdma_rtr_shape shape;
	alignas(8) u8 buffer[kGroupSend];

	void begin(const Operation &op, rpcrdma_role role)
	{
		const bool client = role == RPCRDMA_ROLE_CLIENT;
		const u32 size = op.rtrext ? kGroupSend : kInline;
		const rpcrdma_cm_private given = { size, size, true, true,
						   false };
		rpcrdma_config c = {};

		server = !client;
		c.role = role;
		c.window = kWindow;
		c.max_message = 2 * kMib;
		c.max_reverse_call = client ? 4 * kKib : 0;
		c.max_read_chunks = client ? 0 : RPCRDMA_MAX_CHUNKS;
		c.max_write_chunks = client ? 0 : RPCRDMA_MAX_CHUNKS;
		c.first_xid = role + 1;
		c.ddp_threshold = client ? kThreshold : 0;
		c.special_threshold = client ? kSpecial : 0;
		c.reserve = client;
		c.min_version = op.version;
		c.max_version = op.version;
		c.extensions = RPCRDMA_ALL_EXTENSIONS;
		c.local = { size, size, kMib, RPCRDMA_MAX_SEGMENTS,
			    client ? u32{ RPCRDMA_RVRSDIR_CONT } :
				     u32{ RPCRDMA_RVRSDIR_NONE } };
		MUST(rpcrdma_session_init(&session, &c));
		shape = { kHead, kPage, kTargets };
		if (op.rtrext)
			MUST(rpcrdma_rtr_declare(&session, &shape,
						 client ? RPCRDMA_RTR_REPLIES :
							  RPCRDMA_RTR_CALLS));
		rpcrdma_session_private(&session, &given);
	}

	u32 next(rpcrdma_message *msg)
	{
		return rpcrdma_session_next_send(&session, msg, buffer,
						 sizeof(buffer), &tx);
	}

	void receive(const End &from)
	{
		receive(from, from.tx.header_length + from.tx.payload.length);
	}

	void receive(const End &from, u32 length)
	{
		/* A server's Receive is of pages; with rtrext a client's, too. */
		if ((server || from.group) && length > (from.group ? kHead : kPage))
			MUST(rpcrdma_header_is_bare(from.buffer) ||
			     rpcrdma_rtr_readable(from.buffer, kHead));
		rpcrdma_session_receive(&session, from.buffer, length, &rx);
	}

	/* The Receive is posted again, which is no reason to send. */
	void post_again()
	{
		MUST(!rpcrdma_session_retire(&session));
		MUST(!rpcrdma_session_release(&session, 1));
	}
};

/* A Call of NFSv4 with AUTH_SYS begins so; of a Reply nobody reads more than two words. */
void put_header(u8 *to, const rpcrdma_message &msg)
{
	constexpr u32 kRest[] = { 2, 100003, 4, 1, 1, 32, 0, 6, 0x636c6965,
				  0x6e740000, 0, 0, 1, 0, 0, 0 };

	put_word(to, msg.xid);
	put_word(to + 4, msg.dir);
	if (msg.dir != RPCRDMA_CALL)
		return;
	for (const u32 word : kRest)
		put_word((to += 4) + 4, word);
}

class Connection {
public:
	explicit Connection(const Operation &op)
		: op_(op)
	{
		client_.begin(op, RPCRDMA_ROLE_CLIENT);
		server_.begin(op, RPCRDMA_ROLE_SERVER);
		rpcrdma_mr_table_init(&regions_, &slot_, 1);
		MUST(rpcrdma_mr_add(&regions_, 0));
		if (op.version == 1)
			return;
		control(client_, server_);
		control(server_, client_);
	}

	void run()
	{
		const u32 before = sends_;

		xid_ = kFirstXid + operations_;
		offered_.n_call = 0;
		offered_.n_reads = 0;
		offered_.n_writes = 0;
		offered_.n_write_segs = 0;
		offered_.has_reply = false;
		send_call();
		send_reply();
		end_call();
		MUST(sends_ - before == op_.sends);
		operations_++;
	}

private:
	static constexpr u32 kFirstXid = 1000;
	static constexpr u32 kHandle = 0x1001;

	static void control(End &from, End &to)
	{
		MUST(from.next(nullptr) == RPCRDMA_TX_CONTROL);
		to.receive(from);
		MUST(to.rx.action == RPCRDMA_RX_CONTROL);
		to.post_again();
	}

	/* Plan it, and prepare the region of its Write chunk. */
	void plan_call()
	{
		const u32 length = kCall + op_.item;
		rpcrdma_call_shape shape = {};
		rpcrdma_call_plan plan;

		shape.length = length;
		shape.item = { op_.item ? kCall : 0, op_.item };
		shape.result_max = op_.result;
		shape.reply_max = op_.result + kKib;
		shape.reducible = true;
		shape.reply_expected = true;
		rpcrdma_plan_call(&client_.session, &shape, &plan);
		call_ = {};
		call_.xid = xid_;
		call_.dir = RPCRDMA_CALL;
		if (op_.rtrext) {
			plan_group(length, shape.item);
			return;
		}
		if (op_.chunk)
			MUST(rpcrdma_session_admit(&client_.session, nullptr));
		MUST(!plan.read_chunk && !plan.call_chunk && !plan.reply_chunk);
		MUST(plan.write_chunk == op_.chunk);
		if (plan.write_chunk) {
			MUST(rpcrdma_session_max_segment_size(
				     &client_.session) >= op_.result);
			MUST(rpcrdma_mr_take(&regions_) == 0);
			offered_.n_writes = 1;
			offered_.writes[0] = { 1, 0 };
			offered_.n_write_segs = 1;
			offered_.write_segs[0] = { kHandle, op_.result,
						   0x100000 };
		}
		call_.length = plan.stream_length;
		call_.inv_handle = rpcrdma_inv_handle(&offered_);
		call_.chunks = &offered_;
		MUST(rpcrdma_session_admit(&client_.session, &call_));
	}

	/* It goes by a group, or its Reply may do so. */
	void plan_group(u32 length, const rpcrdma_range &item)
	{
		call_.length = length - item.length;
		MUST(rpcrdma_rtr_plan(&client_.session, &call_,
				      item.length ? &item : nullptr,
				      op_.result ? &kBySends : nullptr,
				      op_.result, &client_.rtr));
		client_.group = true;
		MUST(rpcrdma_rtr_admit(&client_.session, &call_, &client_.rtr));
	}

	/*
	 * A group goes from one end to the other: its payload, and what is placed. @first is
	 * told of its first part.
	 */
	template <typename First>
	void send_group(End &from, End &to, rpcrdma_message &msg, First first)
	{
		do {
			rpcrdma_rtr_send s;

			/* Nothing else waits to be sent. */
			if (!msg.sent)
				MUST(from.next(nullptr) == RPCRDMA_TX_NONE);
			MUST(rpcrdma_rtr_next_send(&from.session, &from.rtr, &msg,
						   from.buffer, sizeof(from.buffer),
						   &from.tx, &s) ==
			     RPCRDMA_TX_MESSAGE);
			u8 *payload = from.buffer + from.tx.header_length;
			if (from.tx.first)
				put_header(payload, msg);
			MUST(rpcrdma_rtr_each_piece(&from.rtr, s.number, ignore,
						    nullptr));
			to.receive(from, s.size);
			MUST(to.rx.action == RPCRDMA_RX_PAYLOAD);
			if (from.tx.first) {
				std::memcpy(first_, from.buffer, kHead);
				first(payload, to.rx);
			}
			to.post_again();
			sends_++;
		} while (!from.tx.last);
		MUST(to.rx.last);
		if (msg.dir == RPCRDMA_CALL)
			MUST(!rpcrdma_session_room(&from.session));
	}

	template <typename Struct>
	static bool ignore(void *, const Struct *)
	{
		return true;
	}

	void look_at_parts(const End &to)
	{
		MUST(rpcrdma_rtr_read(first_, kHead, &group_) &&
		     !group_.external);
		MUST(rpcrdma_rtr_each_part(&to.shape, &group_, ignore,
					   nullptr));
	}

	/* All of @msg goes from one end to the other; @first is told of its first part. */
	template <typename First>
	void send(End &from, End &to, rpcrdma_message &msg, First first)
	{
		do {
			u32 at;

			MUST(from.next(&msg) == RPCRDMA_TX_MESSAGE);
			u8 *payload = from.buffer + from.tx.header_length;
			if (from.tx.first)
				put_header(payload, msg);
			/* To copy it to there. */
			MUST(rpcrdma_stream_run(removed_, n_removed_,
						from.tx.payload.offset, &at));
			to.receive(from);
			MUST(to.rx.action == RPCRDMA_RX_PAYLOAD);
			/* The first of version 1 opens, and its Reply gives credit. */
			MUST(!to.rx.kick || !operations_);
			if (from.tx.first)
				first(payload, to.rx);
			to.post_again();
			sends_++;
		} while (!from.tx.last);
		MUST(to.rx.last);
		MUST(!from.tx.more);
		if (msg.dir == RPCRDMA_CALL)
			MUST(!rpcrdma_session_room(&from.session));
	}

	void send_call()
	{
		plan_call();
		if (op_.chunk)
			MUST(rpcrdma_mr_event(&regions_, 0, RPCRDMA_MR_POST,
					      kHandle));
		n_removed_ = 0;
		const auto first = [](const u8 *payload, const rpcrdma_rx &rx) {
			MUST(rpcrdma_call_id(rx.xid, rx.stream_length, payload,
					     rx.payload.length, 1) != 0);
		};
		if (!op_.rtrext) {
			send(client_, server_, call_, first);
			return;
		}
		send_group(client_, server_, call_, first);
		look_at_parts(server_);
		rpcrdma_rtr_get_directions(&group_, &directions_);
	}

	void send_reply()
	{
		const rpcrdma_range result = { kReply, op_.result };
		rpcrdma_message reply = {};

		reply.xid = xid_;
		reply.dir = RPCRDMA_REPLY;
		if (op_.rtrext && send_reply_group(reply, result))
			return;
		rpcrdma_plan_reply(&server_.session, &server_.rx.chunks,
				   kReply + op_.result, &result, op_.chunk,
				   &plan_);
		MUST(!plan_.errcode && !plan_.external);
		MUST(plan_.n_jobs == op_.chunk);
		reply.length = plan_.stream_length;
		reply.chunks = &plan_.chunks;
		removed_ = plan_.removed;
		n_removed_ = plan_.n_removed;
		send(server_, client_, reply,
		     [](const u8 *, const rpcrdma_rx &) {});
	}

	/* Return: false if its Call directs nothing. */
	bool send_reply_group(rpcrdma_message &reply, const rpcrdma_range &where)
	{
		const rpcrdma_rtr_result result = { where, RPCRDMA_RTR_NOWHERE };

		server_.group = rpcrdma_rtr_plan_reply(
			&server_.session, &directions_, &result, !!op_.result,
			kReply + op_.result, &reply, &plan_, &server_.rtr);
		MUST(server_.group == !!op_.result);
		if (!server_.group)
			return false;
		MUST(!plan_.errcode && server_.rtr.placed == 1);
		send_group(server_, client_, reply,
			   [](const u8 *, const rpcrdma_rx &) {});
		look_at_parts(client_);
		rpcrdma_range written;
		MUST(rpcrdma_rtr_answers(&group_, &kBySends, &written));
		return true;
	}

	/* Its Reply has come. */
	void end_call()
	{
		u32 written;

		if (op_.chunk) {
			MUST(rpcrdma_mr_event(&regions_, 0,
					      RPCRDMA_MR_REMOTE_INV, kHandle));
			MUST(rpcrdma_written(&offered_, &client_.rx.chunks, 0,
					     &written));
			MUST(written == op_.result);
			MUST(rpcrdma_mr_put(&regions_, 0));
		}
		MUST(!rpcrdma_session_end_call(&client_.session, &call_));
	}

	const Operation &op_;
	End client_;
	End server_;
	rpcrdma_chunks offered_;
	rpcrdma_message call_;
	rpcrdma_reply_plan plan_;
	rpcrdma_rtr_directions directions_;
	alignas(8) u8 first_[kHead];
	rpcrdma_rtr_first group_;
	rpcrdma_mr_table regions_;
	rpcrdma_mr_slot slot_;
	const rpcrdma_range *removed_ = nullptr;
	u32 n_removed_ = 0;
	u32 xid_ = 0;
	u32 sends_ = 0;
	u32 operations_ = 0;
};

/* Not for the stack. */
alignas(Connection) u8 storage[sizeof(Connection)];

} // namespace

extern "C" void rpcrdma_shim_broken(const char *file, int line,
				    const char *what)
{
	std::fprintf(stderr, "%s:%d: invariant broken: %s\n", file, line, what);
	std::abort();
}

int main()
{
	for (const Operation &op : kOperations) {
		Connection &c =
			*::new (static_cast<void *>(storage)) Connection(op);

		for (u32 i = 0; i < kWarm; i++)
			c.run();
		CALLGRIND_START_INSTRUMENTATION;
		for (u32 i = 0; i < kTimes; i++)
			c.run();
		CALLGRIND_STOP_INSTRUMENTATION;
		CALLGRIND_DUMP_STATS_AT(op.name);
	}
}
