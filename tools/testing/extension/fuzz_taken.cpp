// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * One end of a connection on which both sides speak rtrext: what comes of groups, in any
 * order and with anything in between, and what this side sends of its own. Whatever comes
 * the connection goes on, unless its peer causes too many REPTERRs; what is taken follows
 * without a gap; and what this side says of faults is XDR.
 */
#include "../fuzz/extension.h"
#include "abi.h"

using namespace rpcrdma;

namespace
{

constexpr u32 kReceive = 1024;

/* Of the peer: Receive Buffer Size, Reverse-Direction Support, and those of rtrext. */
constexpr u32 kProperties[] = {
	6,
	2,
	4,
	kReceive,
	5,
	4,
	3,
	kRtrSupport,
	4,
	7,
	kReceiveStructure,
	40,
	kReceive,
	2,
	1,
	768,
	4,
	0,
	2,
	128,
	128,
	1,
	kRequestReceiveLimit,
	4,
	5,
	kResponseSendLimit,
	4,
	5,
};

class End {
public:
	explicit End(fuzz::Choices in)
		: in_(in)
		, buffer_(kReceive)
	{
		rpcrdma_config c = {};

		c.role = in_.up_to(1);
		c.window = 64;
		c.max_message = in_.flip() ? 1 << 16 : 1024;
		c.max_read_chunks = 4;
		c.max_write_chunks = 4;
		c.first_xid = 0x50000001;
		c.local = static_cast<const rpcrdma_properties &>(
			kDefaultProperties);
		c.local.recv_size = c.local.send_size = kReceive;
		c.local.reverse = in_.up_to(3);
		c.extensions = RPCRDMA_ALL_EXTENSIONS;
		client_ = c.role == RPCRDMA_ROLE_CLIENT;
		FUZZ_CHECK(rpcrdma_session_init(&s_, &c));
		fuzz::Extension::declare(s_, kReceive);
	}

	void run()
	{
		if (client_)
			send();
		message(RPCRDMA2_CONNPROP_FINAL,
			{ std::begin(kProperties), std::end(kProperties) });
		send();
		while (!in_.empty() && !closed_) {
			const u8 what = in_.octet();

			if (what < 0xb0)
				receive(what);
			else if (what < 0xd8)
				(void)!extension_.carry(
					s_, in_, buffer_,
					[](const rpcrdma_tx &) {});
			else
				send();
		}
	}

private:
	void receive(u8 what)
	{
		static constexpr u32 kTypes[] = { kXmtReq, kXmtCont, kXmtResp,
						  kXmtCont, kReptErr };
		static constexpr u32 kOthers[] = {
			RPCRDMA2_GRANT,	      RPCRDMA2_ERROR,
			RPCRDMA2_CALL_INLINE, RPCRDMA2_REPLY_INLINE,
			RPCRDMA2_CALL_MIDDLE, 99
		};
		const u32 xid = in_.up_to(2);
		std::vector<u32> words;

		if (what < 0x90) {
			const u32 htype = kTypes[what % 5];

			FUZZ_CHECK(
				fuzz::Extension::body(htype, xid, in_, words));
			if (in_.octet() > 0xf0 && !words.empty())
				words[in_.number() % words.size()] = in_.word();
			return message(htype, words, xid);
		}
		const u32 htype = kOthers[what % 6];
		if (htype == RPCRDMA2_ERROR)
			words = { 5 };
		else if (htype != RPCRDMA2_GRANT)
			words = { htype == RPCRDMA2_CALL_MIDDLE ? 4U : 0U, xid,
				  0, 1 };
		if (htype == RPCRDMA2_CALL_INLINE)
			words = { 0, 0, 0, 0, xid, 0, 1 };
		if (htype == RPCRDMA2_REPLY_INLINE)
			words = { 0, xid, 1, 1 };
		message(htype, words, xid);
	}

	void message(u32 htype, const std::vector<u32> &words, u32 xid = 0)
	{
		std::vector<u8> octets(16 + 4 * words.size());
		rpcrdma_rx rx;

		store_be32(&octets[0], xid);
		store_be32(&octets[4], 2);
		store_be32(&octets[8], 1U << 20);
		store_be32(&octets[12], htype);
		for (size_t i = 0; i < words.size(); i++)
			store_be32(&octets[16 + 4 * i], words[i]);
		if (octets.size() > kReceive)
			octets.resize(kReceive);
		const fuzz::Exact copy(octets.data(), octets.size());
		rpcrdma_session_receive(&s_, copy.bytes().data(),
					copy.bytes().size(), &rx);
		check(rx, copy.bytes());
		if (closed_)
			return;
		(void)!rpcrdma_session_release(&s_, 1);
		/* It sends no more than it may, so it has to hear what that is. */
		if (++unheard_ > 8 || in_.flip())
			send();
	}

	void check(const rpcrdma_rx &rx, Bytes message)
	{
		const GroupReceiver &g =
			session(&s_).extension<Rtrext>().incoming();

		if (rx.action == RPCRDMA_RX_CLOSE) {
			FUZZ_CHECK(rx.reason == RPCRDMA_REASON_FLOOD);
			closed_ = true;
			return;
		}
		const bool its = rx.htype >= kXmtReq && rx.htype <= kXmtCont;
		const bool carried = extension_.carried(rx, message);
		extension_.reported(s_, rx);
		FUZZ_CHECK(carried ||
			   !(its && rx.action == RPCRDMA_RX_PAYLOAD));
		if (its)
			FUZZ_CHECK(
				g.active() ==
				(rx.action == RPCRDMA_RX_PAYLOAD && !rx.last));
		if (rx.action == RPCRDMA_RX_FAIL_RPC)
			FUZZ_CHECK(rx.error < 0);
	}

	/* All that waits. */
	void send()
	{
		rpcrdma_tx tx;

		unheard_ = 0;
		do {
			const u32 result = rpcrdma_session_next_send(
				&s_, nullptr, buffer_.data(), kReceive, &tx);

			FUZZ_CHECK(result == RPCRDMA_TX_NONE ||
				   result == RPCRDMA_TX_CONTROL);
			if (result == RPCRDMA_TX_NONE)
				break;
			ReportedError e;
			const Bytes body(buffer_.data() + kPrefixSize,
					 tx.header_length - kPrefixSize);
			if (tx.htype == kReptErr)
				FUZZ_CHECK(e.decode(body) &&
					   e.bad.xid == to_xid(tx.xid));
		} while (tx.more);
	}

	fuzz::Choices in_;
	std::vector<u8> buffer_;
	rpcrdma_session s_ = {};
	fuzz::Extension extension_;
	u32 unheard_ = 0;
	bool client_ = false;
	bool closed_ = false;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	End(fuzz::Choices(data, size)).run();
	return 0;
}
