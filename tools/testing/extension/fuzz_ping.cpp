// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "../fuzz/extension.h"
#include "abi.h"
#include "xdr.h"

using rpcrdma::Bytes;
using rpcrdma::Ping;
using rpcrdma::Port;

namespace fuzz
{

static constexpr u32 kBit = 1U << rpcrdma::Extensions::place<Ping>();

static u32 word_at(Bytes message, u32 index)
{
	rpcrdma::XdrReader r(message.after(4 * index));
	u32 word = 0;

	FUZZ_CHECK(r.word(word));
	return word;
}

bool Extension::act(rpcrdma_session &s, Choices &in)
{
	const u8 choice = in.octet();

	if (choice >= 0x60 && choice < 0xc0)
		return change(s, in);
	return rpcrdma::session(&s).with<Ping>([&](Ping &p, Port &port) {
		const u32 takes = port.local(Ping::kProperty);

		if (choice < 0xc0) {
			const bool sends = p.ping(port);

			FUZZ_CHECK(!sends ||
				   asked_ < port.peer(Ping::kProperty));
			asked_ += sends;
			return sends;
		}
		if (p.take_more(port, choice % 8)) {
			FUZZ_CHECK(port.local(Ping::kProperty) >= takes);
			return true;
		}
		FUZZ_CHECK(port.local(Ping::kProperty) == takes);
		return false;
	});
}

bool Extension::received(const rpcrdma_rx &rx, Bytes message, u32 in_use)
{
	check_ping(rx, message, in_use);
	return rx.vers == 2 && rx.htype == rpcrdma::Xcharext::kRequest &&
	       rx.action == RPCRDMA_RX_CONTROL;
}

void Extension::check_ping(const rpcrdma_rx &rx, Bytes message, u32 in_use)
{
	const bool taken = rx.action == RPCRDMA_RX_CONTROL ||
			   rx.action == RPCRDMA_RX_PAYLOAD;

	/* The number means nothing in another version. */
	if (rx.vers != 2)
		return;
	switch (rx.htype) {
	case Ping::kPing:
	case Ping::kPong:
	case Ping::kPings:
	case Ping::kNotedCall:
		if (in_use & kBit)
			break;
		FUZZ_CHECK(!taken && rx.action != RPCRDMA_RX_FAIL_RPC);
		FUZZ_CHECK(rx.action != RPCRDMA_RX_DROP ||
			   rx.reason == RPCRDMA_REASON_HTYPE ||
			   rx.reason == RPCRDMA_REASON_VERSION ||
			   rx.reason == RPCRDMA_REASON_VERSION_MISMATCH);
		return;
	}
	if (!taken)
		return;
	switch (rx.htype) {
	case Ping::kPing:
		owed_.push_back({ rx.xid, word_at(message, 4) });
		FUZZ_CHECK(owed_.size() <= Ping::kMost);
		break;
	case Ping::kPong:
		FUZZ_CHECK(asked_);
		asked_--;
		break;
	case Ping::kNotedCall:
		FUZZ_CHECK(rx.payload.offset == 20);
		FUZZ_CHECK(rx.payload.length == word_at(message, 4));
		break;
	case RPCRDMA2_ERROR:
		/* It is about this side's property set, or about a PING. */
		if (asked_ && rx.xid - Ping::kFirstXid <= UINT16_MAX)
			asked_--;
		break;
	}
}

void Extension::sent(const rpcrdma_tx &tx, Bytes message, u32 in_use)
{
	switch (tx.htype) {
	case Ping::kPong:
		FUZZ_CHECK(in_use & kBit && !owed_.empty());
		FUZZ_CHECK(tx.xid == owed_.front().xid);
		FUZZ_CHECK(word_at(message, 4) == owed_.front().number);
		owed_.erase(owed_.begin());
		break;
	case Ping::kPing:
	case Ping::kPings:
		FUZZ_CHECK(in_use & kBit);
		break;
	}
}

} // namespace fuzz
