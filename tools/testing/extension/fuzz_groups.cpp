// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The caller's part of rtrext: it says how its Receives are made, sends groups, and keeps
 * what comes of one together.
 */
#include "../fuzz/extension.h"
#include "abi.h"

#include <rpcrdma/rtrext.h>

using namespace rpcrdma;

namespace fuzz
{

static constexpr u32 kPage = 128;
static constexpr u32 kPages = 2;

void Extension::declare(rpcrdma_session &s, u32 recv_size)
{
	ReceiveShape shape;

	if (recv_size <= kPages * kPage ||
	    !shape.add({ 1, recv_size - kPages * kPage, 4, false }) ||
	    !shape.add({ kPages, kPage, kPage, true }))
		return;
	session(&s).with<Rtrext>([&](Rtrext &, Port &port) {
		(void)!Rtrext::declare(port, shape);
	});
}

static void put_items(Choices &in, std::vector<u32> &words)
{
	const u32 n = in.up_to(2);
	u32 position = 0;

	words.push_back(n);
	for (u32 i = 0; i < n; i++) {
		const u32 length = in.octet();
		const u8 type = in.octet();

		position += 4 * in.up_to(10);
		words.insert(words.end(), { position, length });
		position += length;
		if (type < 0x80) {
			const u32 numbers =
				in.flip() ? in.up_to(3) :
					    (length + kPage - 1) / kPage;

			words.insert(words.end(), { 2, in.number(), numbers });
			for (u32 k = 0; k < numbers; k++)
				words.push_back(in.up_to(7));
		} else if (type < 0xe0) {
			words.insert(words.end(),
				     { 1, 1, in.word(), length, 0, 0 });
		} else {
			words.push_back(type % 8);
		}
	}
}

static void put_direction(Choices &in, std::vector<u32> &words)
{
	const auto type = Placement{ 1 + in.up_to(3) };

	words.insert(words.end(), { in.number(), static_cast<u32>(type) });
	if (type == Placement::Tbsn)
		return;
	if (type == Placement::BySize)
		words.push_back(in.number());
	const u32 segments = in.up_to(2);
	words.push_back(segments);
	for (u32 i = 0; i < segments; i++)
		words.insert(words.end(), { 7, in.number(), 0, 0 });
}

/* Some ranges are empty. */
static void put_directions(Choices &in, std::vector<u32> &words)
{
	const u32 ranges = in.up_to(2);
	u32 end = 0;

	words.push_back(ranges);
	for (u32 i = 0; i < ranges; i++) {
		const u32 begin = end + 4 * in.up_to(9);
		const u32 items = in.up_to(3);

		end = begin + 4 * in.up_to(9);
		words.insert(words.end(), { begin, end, items });
		for (u32 k = 0; k < items; k++)
			put_direction(in, words);
	}
}

/* Of one message, or two, with as many words as the code has, nearly always. */
static void put_report(u32 xid, Choices &in, std::vector<u32> &words)
{
	const u32 lead = in.up_to(7);
	const u32 code = 1 + in.up_to(7);
	const RtrErrorType *type = rtr_error_type(code);

	words.insert(words.end(), { xid, in.up_to(1), in.up_to(3) });
	words.push_back(lead > 3);
	if (lead > 3)
		words.insert(words.end(),
			     { in.up_to(3), in.up_to(1), in.up_to(3) });
	words.push_back(code);
	for (u32 i = 0; i < type->words; i++)
		words.push_back(in.number());
	if (in.octet() > 0xe0)
		words.resize(words.size() - in.up_to(3));
}

bool Extension::body(u32 htype, u32 xid, Choices &in, std::vector<u32> &words)
{
	const u32 payload = in.up_to(40);
	const bool reply = htype == kXmtResp;

	switch (htype) {
	case kXmtReq:
	case kXmtResp:
		put_items(in, words);
		if (!reply)
			put_directions(in, words);
		words.push_back(in.up_to(4));
		if (!reply)
			words.push_back(in.up_to(4));
		break;
	case kXmtCont:
		words.push_back(in.up_to(4));
		words.push_back(in.flip() ? kXmtReq : kXmtResp);
		break;
	case kReptErr:
		put_report(xid, in, words);
		return true;
	default:
		return false;
	}
	words.push_back(in.octet() < 0xe0 ? 4 * payload : in.number());
	for (u32 i = 0; i < payload; i++)
		words.push_back(i == 0 && htype != kXmtCont ? xid :
				i == 1 && htype != kXmtCont ? u32{ reply } :
							      i);
	/* Up to the end of its Receive, or not. */
	if (in.flip())
		words.resize(words.size() + in.octet());
	return true;
}

bool Extension::carry(rpcrdma_session &s, Choices &in, std::vector<u8> &buffer,
		      const std::function<void(const rpcrdma_tx &)> &sent)
{
	rpcrdma_message msg = {};
	PlacedItem item;
	Direction direction;
	DirectionRange range;
	GroupMessage m = { msg, {}, in.up_to(5) };
	const u32 before = session(&s).extension<Rtrext>().reserved();
	bool any = false;

	msg.xid = in.up_to(3);
	msg.dir = rpcrdma_dir{ in.up_to(1) };
	msg.length = 4 * in.number();
	if (in.flip()) {
		item.position = 4 * (1 + in.up_to(9));
		item.length = in.number();
		item.type = Placement::Tbsn;
		m.content.items = { &item, 1 };
	}
	if (msg.dir == RPCRDMA_CALL && in.flip()) {
		direction.least = in.number();
		range = { 0, msg.length, { &direction, 1 } };
		m.content.directions = { &range, 1 };
	}
	for (;;) {
		rpcrdma_tx tx;
		const u32 result = session(&s).with<Rtrext>([&](Rtrext &x,
								Port &port) {
			return x.send(port, m,
				      { buffer.data(),
					static_cast<u32>(buffer.size()) },
				      tx);
		});

		if (result != RPCRDMA_TX_MESSAGE) {
			/* It had credits for all of it, and room. */
			FUZZ_CHECK(!any);
			return false;
		}
		const GroupSend g = m.plan.send(m.next - 1);
		FUZZ_CHECK(tx.first == !any);
		FUZZ_CHECK(g.head == tx.header_length &&
			   g.payload.length == tx.payload.length &&
			   g.payload.offset == tx.payload.offset);
		FUZZ_CHECK(tx.last == (m.next == m.plan.count()));
		FUZZ_CHECK(g.head + g.payload.length <= g.size &&
			   g.size <= buffer.size());
		any = true;
		sent(tx);
		if (tx.last)
			break;
	}
	FUZZ_CHECK(msg.sent == msg.length);
	sent_again_ |=
		msg.dir == RPCRDMA_CALL && sent_.count({ msg.xid, msg.dir });
	sent_.insert({ msg.xid, msg.dir });
	(void)!rpcrdma_session_end_call(&s, &msg);
	struct rpcrdma_session_info info;
	rpcrdma_session_info(&s, &info);
	const u32 after = session(&s).extension<Rtrext>().reserved();
	FUZZ_CHECK(after <= before || after <= info.window);
	return true;
}

void Extension::reported(const rpcrdma_session &s, const rpcrdma_rx &rx)
{
	rpcrdma_rtr_refused refused[RPCRDMA_RTR_MOST_REFUSED] = {};
	rpcrdma_rx after = rx;

	if (rx.vers != 2 || rx.htype != kReptErr)
		return;
	const u32 n = rpcrdma_rtr_reported(&s, &after, refused);
	FUZZ_CHECK(n <= RPCRDMA_RTR_MOST_REFUSED);
	/* None of a Call that was sent twice, and has been refused or answered. */
	FUZZ_CHECK(!n || rx.action == RPCRDMA_RX_CONTROL);
	FUZZ_CHECK(n || rx.action != RPCRDMA_RX_CONTROL || sent_again_);
	FUZZ_CHECK(!n || !rx.abandon);
	bool call = false;
	for (u32 i = 0; i < n; i++) {
		const auto found =
			sent_.find({ refused[i].xid, refused[i].dir });

		FUZZ_CHECK(found != sent_.end());
		/* A Call that is sent again is one RPC. Each of its Replies may be refused. */
		if (refused[i].dir == RPCRDMA_CALL)
			sent_.erase(std::pair(*found));
		else
			sent_.erase(found);
		call |= refused[i].dir == RPCRDMA_CALL;
	}
	FUZZ_CHECK(after.action ==
		   (call ? u32{ RPCRDMA_RX_FAIL_RPC } : rx.action));
	FUZZ_CHECK(!call || (after.reported && after.error < 0));
}

namespace
{

/* What is laid out of a message, in order. */
struct Laid {
	u64 end = 0; /* of the item before */
	u64 stream = 0; /* octets before that */
	u64 read = 0; /* octets of items that are to be read */
};

} // namespace

/* All octets of a message that is whole have one place in it, and this is where they are. */
static void check_parts(const std::vector<u8> &send, const rpcrdma_rx &rx)
{
	/* In which place of a Receive is not looked at. */
	const rpcrdma_rtr_shape shape = { 512, kPage, kPages };
	rpcrdma_rtr_first first;
	rpcrdma_chunks chunks;
	Laid laid;

	FUZZ_CHECK(rpcrdma_rtr_read(send.data(), static_cast<u32>(send.size()),
				    &first));
	FUZZ_CHECK(rpcrdma_rtr_each_part(
		&shape, &first,
		[](void *context, const rpcrdma_rtr_part *p) {
			Laid &l = *static_cast<Laid *>(context);
			const u64 end =
				xdr_roundup(u64{ p->position } + p->item);

			if (!p->at) {
				FUZZ_CHECK(p->position >= l.end);
				l.stream += p->position - l.end;
				l.end = end;
			}
			FUZZ_CHECK(p->length && l.end == end);
			FUZZ_CHECK(u64{ p->at } + p->length <= p->item);
			if (p->send == RPCRDMA_RTR_BY_READ)
				l.read += p->length;
			return true;
		},
		&laid));
	FUZZ_CHECK(laid.stream <= rx.stream_length);
	FUZZ_CHECK(laid.end + (rx.stream_length - laid.stream) ==
		   rx.unreduced_length);
	if (rx.dir != RPCRDMA_CALL)
		return;
	FUZZ_CHECK(rpcrdma_rtr_get_reads(&first, &chunks));
	FUZZ_CHECK(first.external == !!chunks.n_reads);
	u32 position = 0;
	for (u32 i = 0; i < chunks.n_reads; i++) {
		FUZZ_CHECK(chunks.reads[i].position >= position);
		position = chunks.reads[i].position;
		laid.read -= chunks.reads[i].target.length;
	}
	FUZZ_CHECK(!laid.read);
}

bool Extension::carried(const rpcrdma_rx &rx, Bytes message)
{
	const bool its =
		rx.vers == 2 && (rx.htype == kXmtReq || rx.htype == kXmtResp ||
				 rx.htype == kXmtCont);

	if (coming_ && rx.abandon) {
		FUZZ_CHECK(rx.dir == coming_dir_);
		coming_ = false;
		return true;
	}
	if (!its || rx.action != RPCRDMA_RX_PAYLOAD) {
		FUZZ_CHECK(!coming_ || rx.action != RPCRDMA_RX_PAYLOAD);
		return false;
	}
	FUZZ_CHECK(coming_ == (rx.htype == kXmtCont));
	if (!coming_) {
		coming_dir_ = rx.dir;
		coming_at_ = 0;
		first_.assign(message.data(), message.data() + message.size());
	}
	FUZZ_CHECK(rx.dir == coming_dir_);
	FUZZ_CHECK(rx.stream_offset == coming_at_);
	coming_at_ += rx.payload.length;
	FUZZ_CHECK(rx.stream_length == coming_at_);
	FUZZ_CHECK(rx.payload.offset + rx.payload.length <= message.size());
	FUZZ_CHECK(!rx.last || rx.unreduced_length >= rx.stream_length);
	coming_ = !rx.last;
	if (rx.last)
		check_parts(first_, rx);
	return true;
}

} // namespace fuzz
