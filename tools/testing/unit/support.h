/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Shared by the unit tests: a session with a caller.
 */
#ifndef _RPCRDMA_UNIT_SUPPORT_H
#define _RPCRDMA_UNIT_SUPPORT_H

#include "messages.h"
#include "session.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>

namespace unit
{

/* How many calls of rpcrdma_shim_broken() the test has asked for. */
extern unsigned tolerated_breaks;

/* A copy whose end is the end of its allocation, for ASan to watch over. */
class Exact {
public:
	explicit Exact(const Octets &o)
		: size_(static_cast<u32>(o.size()))
		, copy_(new u8[o.size()])
	{
		if (size_)
			std::memcpy(copy_.get(), o.data(), size_);
	}
	[[nodiscard]] rpcrdma::Bytes bytes() const
	{
		return { copy_.get(), size_ };
	}

private:
	u32 size_;
	std::unique_ptr<u8[]> copy_;
};

inline constexpr u32 kClientXid = 0xc0000001;
inline constexpr u32 kServerXid = 0x50000001;

inline rpcrdma_config config(rpcrdma_role role)
{
	rpcrdma_config c = {};

	c.role = role;
	c.window = 64;
	c.max_message = 1 << 20;
	c.max_read_chunks = 4;
	c.max_write_chunks = 4;
	c.first_xid = role == RPCRDMA_ROLE_CLIENT ? kClientXid : kServerXid;
	c.ddp_threshold = 4096;
	c.local = static_cast<const rpcrdma_properties &>(
		rpcrdma::kDefaultProperties);
	return c;
}

/* A session, its Send buffer, and a scripted peer that never runs dry. */
class Endpoint {
public:
	explicit Endpoint(const rpcrdma_config &c,
			  const rpcrdma::Session::Options &options = {})
		: session(c, options)
		, buffer_(c.local.send_size)
	{
	}

	/* Receive a message and give its Receive back at once. */
	const rpcrdma_rx &receive(const Words &w)
	{
		return receive_octets(octets(w));
	}
	const rpcrdma_rx &receive_octets(const Octets &o)
	{
		const Exact copy(o);

		session.receive(copy.bytes(), rx);
		EXPECT_TRUE(session.invariants());
		EXPECT_EQ(!rx.reason, !rx.detail) << "reason " << rx.reason;
		if (rx.action != RPCRDMA_RX_CLOSE)
			grant = session.release(1);
		EXPECT_TRUE(session.invariants());
		return rx;
	}

	u32 next(rpcrdma_message *msg = nullptr)
	{
		const u32 result = session.next_send(
			msg,
			{ buffer_.data(), static_cast<u32>(buffer_.size()) },
			tx);

		EXPECT_TRUE(session.invariants());
		sent = Octets(buffer_.begin(),
			      buffer_.begin() + tx.header_length);
		EXPECT_EQ(tx.errcode != RPCRDMA2_ERR_NONE,
			  result == RPCRDMA_TX_CONTROL &&
				  tx.htype == RPCRDMA2_ERROR);
		if (!tx.more)
			EXPECT_EQ(peek(), u32{ RPCRDMA_TX_NONE });
		return result;
	}

	/* What next() without a message would return. */
	[[nodiscard]] u32 peek() const
	{
		rpcrdma::Session copy = session;
		Octets out(buffer_.size());
		rpcrdma_tx unused;

		return copy.next_send(
			nullptr, { out.data(), static_cast<u32>(out.size()) },
			unused);
	}

	/* What next_send() has to say, as words. */
	Words next_control()
	{
		Words w;

		EXPECT_EQ(next(), u32{ RPCRDMA_TX_CONTROL });
		for (u32 i = 0; i < sent.size() / 4; i++)
			w.push_back(word_at(sent, i));
		return w;
	}

	/* The words after the prefix of the ERROR that is next to be sent. */
	Words next_error(u32 xid)
	{
		const Words w = next_control();

		if (w.size() < 5)
			return {};
		EXPECT_EQ(w[0], xid);
		EXPECT_EQ(w[1], 2u);
		EXPECT_EQ(w[3], u32{ RPCRDMA2_ERROR });
		EXPECT_EQ(tx.errcode, w[4]);
		for (u32 i = 0; i < 2; i++)
			EXPECT_EQ(tx.errargs[i],
				  w.size() > 5 + i ? w[5 + i] : 0);
		return Words(w.begin() + 4, w.end());
	}

	/* The peer does not know the type of @msg. Return: the session goes on. */
	[[nodiscard]] bool type_refused(rpcrdma_message &msg)
	{
		rpcrdma_rx refusal = {};

		refusal.action = RPCRDMA_RX_FAIL_RPC;
		refusal.reported = true;
		refusal.errcode = RPCRDMA2_ERR_INVAL_HTYPE;
		return session.call_refused(msg, refusal) ==
		       RPCRDMA_REASON_NONE;
	}

	[[nodiscard]] struct rpcrdma_session_info info() const
	{
		struct rpcrdma_session_info i;

		session.info(i);
		return i;
	}

	rpcrdma::Session session;
	rpcrdma_rx rx = {};
	rpcrdma_tx tx = {};
	Octets sent;
	bool grant = false;

private:
	Octets buffer_;
};

/* Past the exchange of section 4.3; @peer is the peer's property set. */
inline Endpoint open_client(const rpcrdma_config &c, const Words &peer = { 0 },
			    const rpcrdma::Session::Options &options = {})
{
	Endpoint e(c, options);

	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
	EXPECT_EQ(e.receive(connprop(kServerXid, peer)).action,
		  u32{ RPCRDMA_RX_CONTROL });
	EXPECT_TRUE(e.rx.opened);
	return e;
}

inline Endpoint open_client(const Words &peer = { 0 })
{
	return open_client(config(RPCRDMA_ROLE_CLIENT), peer);
}

inline Endpoint open_server(const rpcrdma_config &c, const Words &peer = { 0 },
			    const rpcrdma::Session::Options &options = {})
{
	Endpoint e(c, options);

	EXPECT_EQ(e.receive(connprop(kClientXid, peer)).action,
		  u32{ RPCRDMA_RX_CONTROL });
	EXPECT_TRUE(e.rx.opened);
	EXPECT_EQ(e.next(), u32{ RPCRDMA_TX_CONTROL });
	return e;
}

inline Endpoint open_server(const Words &peer = { 0 })
{
	return open_server(config(RPCRDMA_ROLE_SERVER), peer);
}

/* A client whose reverse direction reaches to @level. */
inline Endpoint open_client_reverse(u32 level)
{
	rpcrdma_config c = config(RPCRDMA_ROLE_CLIENT);

	c.local.reverse = level;
	return open_client(c);
}

inline rpcrdma_dir opposite(rpcrdma_dir dir)
{
	return dir == RPCRDMA_CALL ? RPCRDMA_REPLY : RPCRDMA_CALL;
}

/* A Call of this side, all inline, not yet begun. */
inline rpcrdma_message message(u32 xid, rpcrdma_dir dir, u32 length,
			       const rpcrdma_chunks *chunks = nullptr)
{
	rpcrdma_message m = {};

	m.xid = xid;
	m.dir = dir;
	m.length = length;
	m.chunks = chunks;
	return m;
}

} // namespace unit

#endif /* _RPCRDMA_UNIT_SUPPORT_H */
