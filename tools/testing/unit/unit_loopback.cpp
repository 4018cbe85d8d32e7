// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Two sessions, two FIFO pipes and exactly as many Receives as the protocol
 * needs. A seed decides the sizes, the windows and when they change, which messages go
 * by Special Format, which side keeps a credit in reserve and the order of steps.
 *
 * Each side sends only after an event (a new message, rx.kick, or release
 * returning true) and until there is nothing to send, so a wake-up that the
 * core forgets shows as a deadlock. The checkers: no Receive is ever missing,
 * each message arrives once, whole, in order and with its chunks, and at the
 * end nothing is left and no GRANTs are exchanged any more.
 */
#include "support.h"
#include "xdr.h"

#include <deque>
#include <random>

using namespace rpcrdma;
using namespace unit;

namespace
{

struct Outgoing {
	rpcrdma_message msg;
	Chunks chunks;
	Octets stream;
};

class Loopback {
public:
	explicit Loopback(u32 seed, bool hold)
		: random_(seed)
		, hold_(hold)
		, side_{ Side(make_config(RPCRDMA_ROLE_CLIENT), start(seed)),
			 Side(make_config(RPCRDMA_ROLE_SERVER), start(seed)) }
	{
		for (int i = 0; i < 2; i++)
			for (u32 n = random_() % 30; n; n--)
				enqueue(i);
		for (Side &s : side_)
			s.resizes = random_() % 2 ? random_() % 6 : 0;
	}

	void run()
	{
		for (u32 step = 0;; step++) {
			ASSERT_LT(step, 100000u) << "it does not end";
			std::vector<int> can;

			for (int i = 0; i < 2; i++) {
				if (side_[i].awake)
					can.push_back(i);
				if (!side_[i].inbound.empty())
					can.push_back(2 + i);
				if (side_[i].held)
					can.push_back(4 + i);
				if (side_[i].resizes)
					can.push_back(6 + i);
				if (!side_[i].outstanding.empty())
					can.push_back(8 + i);
			}
			if (can.empty())
				break;
			const int what = can[random_() % can.size()];
			const int i = what % 2;

			if (what < 2)
				send(i);
			else if (what < 4)
				deliver(i);
			else if (what < 6)
				release(i, 1 + random_() % side_[i].held);
			else if (what < 8)
				resize(i);
			else
				end_call(i);
			if (::testing::Test::HasFatalFailure())
				return;
		}
		for (const Side &s : side_) {
			ASSERT_TRUE(s.queue.empty()) << "deadlock";
			ASSERT_TRUE(s.expected.empty()) << "lost";
			ASSERT_TRUE(s.session.ready());
			struct rpcrdma_session_info info;
			s.session.info(info);
			ASSERT_EQ(s.posted, info.window + 1);
		}
	}

	u32 grants = 0;
	u32 fragments = 0;
	u32 specials = 0;
	u32 retired = 0;

private:
	struct Side {
		explicit Side(const rpcrdma_config &c,
			      const Session::Options &options)
			: session(c, options)
			, posted(c.window + 1)
			, recv_size(c.local.recv_size)
			, buffer(c.local.send_size)
		{
		}
		Session session;
		std::deque<Outgoing> queue;
		std::deque<Octets> inbound;
		/* What the peer has queued for this side, in order. */
		std::deque<Outgoing> expected;
		/* Calls that were sent; when one is over, the seed says. */
		std::deque<rpcrdma_message> outstanding;
		Octets assembly[2];
		u32 posted;
		u32 recv_size;
		u32 held = 0;
		u32 resizes = 0;
		bool awake = true;
		Octets buffer;
	};

	/* One run in four has its counters cross 2^32, one in four 2^31. */
	static Session::Options start(u32 seed)
	{
		Session::Options o;

		if (seed % 4 == 1)
			o.count_start = UINT32_MAX - seed % 16;
		else if (seed % 4 == 2)
			o.count_start = 0x7fffffff - seed % 16;
		return o;
	}

	rpcrdma_config make_config(rpcrdma_role role)
	{
		rpcrdma_config c = config(role);

		c.window = 3 + random_() % (random_() % 2 ? 3 : 14);
		c.max_write_chunks = RPCRDMA_MAX_CHUNKS;
		c.max_read_chunks = RPCRDMA_MAX_SEGMENTS;
		c.local.send_size = 1024 + random_() % 4096;
		c.local.recv_size = 1024 + random_() % 4096;
		c.local.reverse = RPCRDMA_RVRSDIR_GENL;
		c.reserve = random_() % 2;
		return c;
	}

	void enqueue(int from)
	{
		const rpcrdma_dir dir = random_() % 2 ? RPCRDMA_REPLY :
						       RPCRDMA_CALL;
		const u32 length =
			4 * (4 + random_() % (random_() % 4 ? 300 : 6000));
		Outgoing o = { message(next_xid_++, dir, length), {}, {} };

		o.stream = octets({ o.msg.xid, dir });
		while (o.stream.size() < length)
			o.stream.push_back(u8(random_()));
		u32 position = 0;
		for (u32 n = random_() % 4; dir == RPCRDMA_CALL && n; n--) {
			const u32 size = random_() % 1000;

			position += 4;
			o.chunks.reads[o.chunks.n_reads++] = {
				position, { u32(random_()), size, random_() }
			};
			position += u32(xdr_roundup(size));
		}
		for (u32 n = random_() % 4; n; n--) {
			const u32 count = random_() % 3;

			o.chunks.writes[o.chunks.n_writes++] = {
				count, o.chunks.n_write_segs
			};
			for (u32 k = 0; k < count; k++)
				o.chunks.write_segs[o.chunks.n_write_segs++] = {
					u32(random_()),
					u32(random_()) % 1048577, random_()
				};
		}
		if (random_() % 4 == 0)
			make_special(o);
		o.msg.probe = random_() % 8 == 0;
		if (o.chunks.n_reads)
			o.msg.inv_handle = o.chunks.reads[0].target.handle;
		side_[from].queue.push_back(o);
		side_[1 - from].expected.push_back(o);
		side_[from].awake = true;
	}

	/* The stream goes into a body chunk of two segments. */
	void make_special(Outgoing &o)
	{
		Chunks &c = o.chunks;
		const u32 first = random_() % (o.msg.length + 1);
		const Segment segments[] = {
			{ u32(random_()), first, random_() },
			{ u32(random_()), o.msg.length - first, random_() }
		};

		o.msg.external = true;
		o.stream.clear();
		if (o.msg.dir == RPCRDMA_CALL) {
			for (const Segment &s : segments)
				c.call[c.n_call++] = s;
			return;
		}
		c.has_reply = true;
		c.reply = { 2, c.n_write_segs };
		for (const Segment &s : segments)
			c.write_segs[c.n_write_segs++] = s;
	}

	void resize(int i)
	{
		Side &s = side_[i];
		struct rpcrdma_session_info info;
		const u32 window = 3 + random_() % 14;

		s.resizes--;
		s.session.info(info);
		if (window > info.window)
			s.posted += window - info.window;
		s.awake |= s.session.set_window(window);
	}

	void end_call(int i)
	{
		Side &s = side_[i];

		s.awake |= s.session.end_call(s.outstanding.front());
		s.outstanding.pop_front();
	}

	/* One Send, or find that there is none. */
	void send(int i)
	{
		Side &s = side_[i];
		rpcrdma_tx tx;
		Outgoing *o = s.queue.empty() ? nullptr : &s.queue.front();

		if (o)
			o->msg.chunks = &o->chunks;
		const u32 result = s.session.next_send(
			o ? &o->msg : nullptr,
			{ s.buffer.data(), u32(s.buffer.size()) }, tx);
		Octets out(s.buffer.begin(),
			   s.buffer.begin() + tx.header_length);

		switch (result) {
		case RPCRDMA_TX_NONE:
		case RPCRDMA_TX_BLOCKED:
			s.awake = false;
			return;
		case RPCRDMA_TX_MESSAGE:
			out.insert(out.end(),
				   o->stream.begin() + tx.payload.offset,
				   o->stream.begin() + tx.payload.offset +
					   tx.payload.length);
			fragments += !tx.last;
			specials += o->msg.external;
			if (!tx.last)
				break;
			if (o->msg.outstanding)
				s.outstanding.push_back(o->msg);
			s.queue.pop_front();
			break;
		case RPCRDMA_TX_CONTROL:
			grants += tx.htype == RPCRDMA2_GRANT;
			ASSERT_NE(tx.htype, u32{ RPCRDMA2_ERROR });
			break;
		default:
			FAIL() << "the message is fine";
		}
		ASSERT_LE(out.size(), s.buffer.size());
		ASSERT_LE(out.size(), side_[1 - i].recv_size)
			<< "larger than the Receive";
		side_[1 - i].inbound.push_back(out);
	}

	void deliver(int i)
	{
		Side &s = side_[i];
		const Octets o = s.inbound.front();
		const Exact copy(o);
		rpcrdma_rx rx;

		s.inbound.pop_front();
		ASSERT_GT(s.posted, 0u) << "no Receive for it";
		s.posted--;
		s.session.receive(copy.bytes(), rx);
		s.held++;
		s.awake |= rx.kick;
		ASSERT_FALSE(rx.abandon);
		if (rx.action == RPCRDMA_RX_PAYLOAD)
			place(s, o, rx);
		else
			ASSERT_EQ(rx.action, u32{ RPCRDMA_RX_CONTROL })
				<< rx.reason;
		if (!hold_)
			release(i, s.held);
	}

	void place(Side &s, const Octets &o, const rpcrdma_rx &rx)
	{
		Octets &a = s.assembly[rx.dir];

		ASSERT_FALSE(s.expected.empty());
		const Outgoing &want = s.expected.front();
		ASSERT_EQ(rx.xid, want.msg.xid);
		ASSERT_EQ(rx.dir, want.msg.dir);
		ASSERT_EQ(rx.stream_length, want.msg.length);
		ASSERT_EQ(rx.stream_offset, a.size());
		a.insert(a.end(), o.begin() + rx.payload.offset,
			 o.begin() + rx.payload.offset + rx.payload.length);
		if (!rx.last)
			return;
		ASSERT_EQ(a, want.stream);
		ASSERT_EQ(rx.external, want.msg.external);
		ASSERT_EQ(rx.chunks.n_call, want.chunks.n_call);
		ASSERT_EQ(rx.chunks.has_reply, want.chunks.has_reply);
		ASSERT_EQ(rx.chunks.n_reads, want.chunks.n_reads);
		ASSERT_EQ(rx.chunks.n_writes, want.chunks.n_writes);
		ASSERT_EQ(rx.chunks.n_write_segs, want.chunks.n_write_segs);
		for (u32 k = 0; k < rx.chunks.n_write_segs; k++)
			ASSERT_EQ(std::memcmp(&rx.chunks.write_segs[k],
					      &want.chunks.write_segs[k],
					      sizeof(Segment)),
				  0);
		if (rx.dir == RPCRDMA_CALL)
			ASSERT_EQ(rx.inv_handle, want.msg.inv_handle);
		a.clear();
		s.expected.pop_front();
	}

	void release(int i, u32 count)
	{
		Side &s = side_[i];

		for (; count; count--) {
			s.held--;
			if (s.session.retire()) {
				retired++;
				continue;
			}
			s.posted++;
			s.awake |= s.session.release(1);
		}
	}

	std::mt19937 random_;
	bool hold_;
	u32 next_xid_ = 1;
	Side side_[2];
};

void run_seeds(u32 first, u32 last, bool hold)
{
	u32 grants = 0;
	u32 fragments = 0;
	u32 specials = 0;
	u32 retired = 0;

	for (u32 seed = first; seed <= last; seed++) {
		Loopback l(seed, hold);

		l.run();
		if (::testing::Test::HasFatalFailure())
			FAIL() << "seed " << seed;
		grants += l.grants;
		fragments += l.fragments;
		specials += l.specials;
		retired += l.retired;
	}
	/* The seeds do reach what they are there for. */
	EXPECT_GT(grants, last - first);
	EXPECT_GT(fragments, 10 * (last - first));
	EXPECT_GT(specials, last - first);
	EXPECT_GT(retired, last - first);
}

} // namespace

TEST(loopback, everything_arrives__receives_given_back_at_once)
{
	run_seeds(1, 1000, false);
}

TEST(loopback, everything_arrives__receives_held_at_random)
{
	run_seeds(1001, 2000, true);
}
