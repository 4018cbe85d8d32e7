// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Two sessions that send each other Calls by groups where there are credits for
 * them, and by the forms of -07 where there are not, in any order that chance gives. All of
 * a message arrives, each octet of its items from where its first Send says.
 */
#include "../unit/support.h"

#include <algorithm>
#include <deque>
#include <map>
#include <random>

using namespace rpcrdma;
using namespace unit;

namespace
{

constexpr u32 kPage = 256;
constexpr u32 kPages = 4;
constexpr u32 kBefore = 1024;
constexpr u32 kReceive = kBefore + kPages * kPage;
constexpr u32 kOurs = 1U << Extensions::place<Rtrext>();

/* An RPC message: its stream without items, and these. */
struct Rpc {
	u32 xid;
	rpcrdma_dir dir;
	Octets stream;
	std::vector<Octets> items;
	std::vector<u32> positions;
	bool operator==(const Rpc &) const = default;
};

using Random = std::mt19937;

u32 below(Random &r, u32 n)
{
	return static_cast<u32>(r() % n);
}

Octets some_octets(Random &r, u32 n)
{
	Octets o(n);

	for (u8 &b : o)
		b = static_cast<u8>(r());
	return o;
}

Rpc some_rpc(Random &r, u32 xid, rpcrdma_dir dir, u32 most)
{
	Rpc m = { xid,
		  dir,
		  octets(rpc(xid, dir, 40 + 4 * below(r, most / 8))),
		  {},
		  {} };
	u32 position = 8;

	for (u32 n = below(r, 3); n; n--) {
		const u32 length = below(r, most);

		m.items.push_back(some_octets(r, length));
		m.positions.push_back(position);
		position +=
			static_cast<u32>(xdr_roundup(length)) + 4 * below(r, 4);
	}
	return m;
}

rpcrdma_config some_config(rpcrdma_role role, u32 window)
{
	rpcrdma_config c = config(role);

	c.window = window;
	c.extensions = kOurs;
	c.local.recv_size = kReceive;
	c.local.send_size = kReceive;
	c.local.reverse = RPCRDMA_RVRSDIR_GENL;
	return c;
}

ReceiveShape shape()
{
	ReceiveShape s;

	EXPECT_TRUE(s.add({ 1, kBefore, 4, false }));
	EXPECT_TRUE(s.add({ kPages, kPage, kPage, true }));
	return s;
}

/* One end, with what it has to send, and what has come. */
class End {
public:
	End(rpcrdma_role role, u32 window)
		: session_(some_config(role, window))
	{
		EXPECT_TRUE(session_.with<Rtrext>([](Rtrext &, Port &port) {
			return Rtrext::declare(port, shape());
		}));
	}

	void add(const Rpc &m)
	{
		to_send_.push_back(m);
	}
	[[nodiscard]] bool idle() const
	{
		return to_send_.empty() && !current_;
	}
	[[nodiscard]] const std::vector<Rpc> &received() const
	{
		return received_;
	}
	[[nodiscard]] u32 groups() const
	{
		return groups_;
	}
	[[nodiscard]] u32 others() const
	{
		return others_;
	}
	[[nodiscard]] u32 reserved() const
	{
		return session_.extension<Rtrext>().reserved();
	}

	/* Return: something was sent, to @wire. */
	bool step(std::deque<Octets> &wire)
	{
		if (current_ && current_->grouped)
			return send_group(wire);
		if (!current_ && !to_send_.empty()) {
			current_ = std::make_unique<Current>(to_send_.front());
			to_send_.pop_front();
			if (session_.ready() && send_group(wire))
				return true;
		}
		return send_other(wire);
	}

	void arrive(const Octets &o)
	{
		const Exact copy(o);

		session_.receive(copy.bytes(), rx_);
		ASSERT_NE(rx_.action, u32{ RPCRDMA_RX_CLOSE });
		ASSERT_NE(rx_.action, u32{ RPCRDMA_RX_DROP });
		ASSERT_FALSE(rx_.abandon);
		if (rx_.action != RPCRDMA_RX_PAYLOAD) {
			(void)!session_.release(1);
			return;
		}
		/* What -07 has in parts is copied as it comes. */
		kept_.push_back(o);
		if (rx_.htype < kXmtReq)
			(void)!session_.release(1);
		else
			held_++;
		stream_.insert(stream_.end(), o.begin() + rx_.payload.offset,
			       o.begin() + rx_.payload.offset +
				       rx_.payload.length);
		if (rx_.last)
			finish();
	}

private:
	struct Current {
		explicit Current(const Rpc &from)
			: rpc(from)
			, msg(message(rpc.xid, rpc.dir,
				      static_cast<u32>(rpc.stream.size())))
			, group{ msg, {}, 16 }
		{
			for (u32 i = 0; i < rpc.items.size(); i++)
				items.push_back(
					{ rpc.positions[i],
					  static_cast<u32>(rpc.items[i].size()),
					  Placement::Tbsn,
					  {},
					  0,
					  0,
					  0 });
			group.content.items = {
				items.data(), static_cast<u32>(items.size())
			};
		}
		Rpc rpc;
		rpcrdma_message msg;
		std::vector<PlacedItem> items;
		GroupMessage group;
		bool grouped = false;
		Octets whole; /* for a form of -07 */
	};

	/* Items back in their stream. */
	static Octets whole(const Rpc &m)
	{
		Octets out;
		u32 from = 0;

		for (u32 i = 0; i < m.items.size(); i++) {
			const u32 more =
				m.positions[i] - static_cast<u32>(out.size());

			out.insert(out.end(), m.stream.begin() + from,
				   m.stream.begin() + from + more);
			from += more;
			out.insert(out.end(), m.items[i].begin(),
				   m.items[i].end());
			out.resize(xdr_roundup(out.size()));
		}
		out.insert(out.end(), m.stream.begin() + from, m.stream.end());
		return out;
	}

	bool send_group(std::deque<Octets> &wire)
	{
		Current &c = *current_;
		/* Of this nothing may be seen by the peer. */
		Octets out(kReceive, 0xee);
		std::vector<bool> padding(kReceive, true);
		const auto put = [&](u32 at, const u8 *from, u32 length) {
			std::copy_n(from, length, out.begin() + at);
			std::fill_n(padding.begin() + at, length, false);
		};
		rpcrdma_tx tx;
		const u32 result =
			session_.with<Rtrext>([&](Rtrext &x, Port &port) {
				return x.send(port, c.group,
					      { out.data(), kReceive }, tx);
			});

		if (result != RPCRDMA_TX_MESSAGE) {
			EXPECT_FALSE(c.grouped);
			return false;
		}
		const u32 n = c.group.next - 1;
		const GroupSend s = c.group.plan.send(n);
		EXPECT_EQ(s.head, tx.header_length);
		EXPECT_EQ(s.payload.length, tx.payload.length);
		EXPECT_LE(s.size, kReceive);
		std::fill_n(padding.begin(), s.head, false);
		put(s.head, c.rpc.stream.data() + s.payload.offset,
		    s.payload.length);
		EXPECT_TRUE(c.group.plan.each_piece(
			{ c.items.data(), static_cast<u32>(c.items.size()) }, n,
			[&](u32 item, const ItemPiece &p) {
				EXPECT_LE(p.in.offset + p.in.length, s.size);
				put(p.in.offset,
				    c.rpc.items[item].data() + p.at,
				    p.in.length);
				return true;
			}));
		out.resize(s.size);
		for (u32 i = 0; i < s.size; i++)
			if (padding[i])
				EXPECT_EQ(out[i], 0) << i;
		c.grouped = true;
		wire.push_back(out);
		if (tx.last) {
			groups_++;
			current_.reset();
		}
		return true;
	}

	bool send_other(std::deque<Octets> &wire)
	{
		Octets out(kReceive);
		rpcrdma_tx tx;
		rpcrdma_message *msg = nullptr;

		if (current_) {
			Current &c = *current_;

			if (c.whole.empty()) {
				c.whole = whole(c.rpc);
				c.msg.length = static_cast<u32>(c.whole.size());
			}
			msg = &c.msg;
		}
		const u32 result =
			session_.next_send(msg, { out.data(), kReceive }, tx);
		EXPECT_NE(result, u32{ RPCRDMA_TX_INVALID });
		if (result != RPCRDMA_TX_MESSAGE &&
		    result != RPCRDMA_TX_CONTROL)
			return false;
		out.resize(tx.header_length);
		if (result == RPCRDMA_TX_MESSAGE)
			out.insert(out.end(),
				   current_->whole.begin() + tx.payload.offset,
				   current_->whole.begin() + tx.payload.offset +
					   tx.payload.length);
		wire.push_back(out);
		if (result == RPCRDMA_TX_MESSAGE && tx.last) {
			others_++;
			current_.reset();
		}
		return true;
	}

	template <typename T> void take_items(Rpc &m)
	{
		const Targets targets = targets_of(shape_number(shape()));
		T head;

		ASSERT_TRUE(head.decode(Bytes(kept_[0].data(),
					      static_cast<u32>(kept_[0].size()))
						.after(kPrefixSize)));
		EXPECT_TRUE(head.items.each([&](const MessageItem &i) {
			Octets data;

			EXPECT_TRUE(
				each_piece(i, targets, [&](const ItemPiece &p) {
					const Octets &from = kept_.at(p.send);

					data.insert(data.end(),
						    from.begin() + p.in.offset,
						    from.begin() + p.in.offset +
							    p.in.length);
					return true;
				}));
			m.items.push_back(data);
			m.positions.push_back(i.position);
			return true;
		}));
	}

	void finish()
	{
		Rpc m = { rx_.xid, rx_.dir, stream_, {}, {} };
		const u32 first = word_at(kept_[0], 3);

		if (first == kXmtReq)
			take_items<XmtRequest>(m);
		else if (first == kXmtResp)
			take_items<XmtResponse>(m);
		EXPECT_EQ(rx_.unreduced_length, whole(m).size());
		received_.push_back({ m.xid, m.dir, whole(m), {}, {} });
		(void)!session_.release(held_);
		held_ = 0;
		kept_.clear();
		stream_.clear();
	}

public:
	static Rpc unreduced(const Rpc &m)
	{
		return { m.xid, m.dir, whole(m), {}, {} };
	}

private:
	Session session_;
	std::deque<Rpc> to_send_;
	std::unique_ptr<Current> current_;
	std::vector<Octets> kept_;
	u32 held_ = 0; /* Receives of a group */
	Octets stream_;
	std::vector<Rpc> received_;
	rpcrdma_rx rx_ = {};
	u32 groups_ = 0;
	u32 others_ = 0;
};

struct Total {
	u32 groups = 0;
	u32 others = 0;
};

void run(u32 seed, Total &total)
{
	Random r(seed);
	End ends[2] = { End(RPCRDMA_ROLE_CLIENT, 3 + below(r, 14)),
			End(RPCRDMA_ROLE_SERVER, 3 + below(r, 14)) };
	std::vector<Rpc> want[2];
	std::deque<Octets> wire[2];
	bool stopped = false;

	for (u32 side = 0; side < 2; side++)
		for (u32 i = 0; i < 12; i++) {
			const Rpc m = some_rpc(r, 100 * side + i, RPCRDMA_CALL,
					       below(r, 3) ? 600 : 6000);

			ends[side].add(m);
			want[1 - side].push_back(End::unreduced(m));
		}
	for (u32 idle = 0; idle < 200 && !testing::Test::HasFailure();) {
		const u32 side = below(r, 2);
		bool any = false;

		if (below(r, 2) && !wire[side].empty()) {
			ends[1 - side].arrive(wire[side].front());
			wire[side].pop_front();
			any = true;
		} else {
			any = ends[side].step(wire[side]);
		}
		idle = any ? 0 : idle + 1;
	}
	for (u32 side = 0; side < 2; side++) {
		stopped |= !ends[side].idle() || !wire[side].empty();
		EXPECT_TRUE(ends[side].received() == want[side]) << seed;
		total.groups += ends[side].groups();
		total.others += ends[side].others();
	}
	EXPECT_FALSE(stopped) << seed;
}

} // namespace

TEST(rtr_loopback, all_arrives_by_groups_and_otherwise)
{
	Total total;

	for (u32 seed = 1; seed <= 300 && !HasFailure(); seed++)
		run(seed, total);
	/* Both were used. */
	EXPECT_GT(total.groups, 1000u);
	EXPECT_GT(total.others, 100u);
	RecordProperty("groups", int(total.groups));
	RecordProperty("others", int(total.others));
}
