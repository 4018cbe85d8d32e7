// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Our client, and a server of NFSv4.1 that calls it back. The server does as
 * much as a session needs; then it answers the mount with an error, and the
 * mount fails.
 */
#include "headers.h"
#include "nfs.h"
#include "nfs3.h"

#include <gtest/gtest.h>

#include <cerrno>

using namespace peer;

static constexpr u32 kAccess = 13; /* NFS4ERR_ACCESS */
static constexpr u32 kDelay = 10008; /* NFS4ERR_DELAY */

static const Words kSession = { 0x5e55, 1, 2, 3 };

/* Behind credential and verifier: tag, minor version, operations. */
static Words arguments(const Rpc &call)
{
	const Words w = words(call.stream);
	u32 at = 6;

	at += 2 + w.at(at + 1) / 4;
	at += 2 + w.at(at + 1) / 4;
	return Words(w.begin() + at, w.end());
}

static Words accepted(u32 xid, const Words &results)
{
	return Words{ xid, 1, 0, 0, 0, 0 } + results;
}

/* Status, no tag, one operation. */
static Words only(u32 op, const Words &result)
{
	return Words{ 0, 0, 1, op, 0 } + result;
}

/* SEQUENCE and what follows it, which is refused if it is about files. */
static Words sequenced(const Words &args)
{
	const Words slot = { args.at(8), args.at(9), args.at(9), args.at(9) };
	const Words first =
		Words{ kSequence, 0 } + kSession + slot + Words{ 0 };
	const bool more = args.at(2) > 1;
	const u32 second = more ? args.at(12) : 0;
	const u32 status = !more || second == kReclaimComplete ? 0 : kAccess;

	if (!more)
		return Words{ status, 0, 1 } + first;
	return Words{ status, 0, 2 } + first + Words{ second, status };
}

static Words results(const Rpc &call)
{
	if (!call.word(5))
		return {};
	const Words args = arguments(call);

	switch (args.at(3)) {
	case kExchangeId:
		/* clientid, first sequence, no pNFS, no state protection */
		return only(kExchangeId, { 0, 7, 1, 0x10000, 0,
					   /* owner, scope, implementation */
					   0, 1, 4, 0x61, 4, 0x62, 0 });
	case kCreateSession:
		/* With a way back; channels as they were asked for. */
		return only(kCreateSession,
			    kSession + Words{ args.at(6), 2 } +
				    Words(args.begin() + 8, args.begin() + 22));
	case kSequence:
		return sequenced(args);
	default:
		return only(args.at(3), {});
	}
}

/* AUTH_SYS as root; no tag, minor version 1, no identifier. */
static Words callback(u32 xid, u32 sequence = 1)
{
	return Words{ xid, 0, 2, 0x40000000, 1, 1, 1, 20, 0, 0,
		      0,   0, 0, 0,	     0, 0, 1, 0,  1, kCbSequence } +
	       kSession +
	       /* sequence, slot, highest, not cached, no other calls */
	       Words{ sequence, 0, 0, 0, 0 };
}

/* What the client says of CB_SEQUENCE, which is zero or NFS4ERR_DELAY. */
static u32 answer(Peer &p, u32 xid)
{
	const Rpc reply = p.next_rpc();
	const Words w = words(reply.stream);
	const u32 status = w.at(6);

	EXPECT_EQ(reply.xid, xid);
	/* The session may still be set up. */
	EXPECT_TRUE(!status || status == kDelay) << status;
	EXPECT_EQ(Words(w.begin(), w.begin() + 11),
		  accepted(xid, { status, 0, 1, kCbSequence, status }));
	return status;
}

using Hook = std::function<void(Peer &, u32)>;

/* Until the mount fails; @call_back when there is a session, @later when not any more. */
static void mounts(const Hook &call_back, const Hook &later = {})
{
	Nfs3 server;
	u32 callbacks = 0, refused = 0;

	server.message = [&](Peer &p, const Message &m) {
		const Rpc call = p.rpc_from(m);
		const Words r = results(call);

		if (r.size() > 3 && r[3] == kSequence && !callbacks) {
			callbacks++;
			call_back(p, call.xid);
		}
		if (later && r.size() > 3 && r[3] == kDestroyClientid)
			later(p, call.xid);
		refused += !r.empty() && r[0] == kAccess;
		p.send(unit::reply_inline(call.xid, accepted(call.xid, r)));
		return true;
	};
	const int error = server.try_mount("vers=4.1");
	EXPECT_TRUE(error == EACCES || error == EPERM) << "errno " << error;
	EXPECT_EQ(callbacks, 1u);
	EXPECT_GE(refused, 1u);
	EXPECT_EQ(server.connections(), 1u);
}

/*
 * Each side counts its own: the client's Call is answered after a Call with the
 * same XID, and after the Reply to that.
 */
TEST(client_callback, xids_are_equal_in_both_directions)
{
	mounts([](Peer &p, u32 xid) {
		p.send(unit::call_inline(xid, callback(xid)));
		answer(p, xid);
	});
}

/* More of them come to nothing than the client has memory for at once. */
TEST(client_callback, continued)
{
	mounts([](Peer &p, u32) {
		u32 sequence = 1;

		for (const u32 size : { 4u, 12u, 48u }) {
			Parts call(p, callback(p.new_xid(), sequence));

			while (call.left() > size)
				call.middle(size);
			call.last();
			sequence += !answer(p, call.xid());
		}
		for (u32 i = 0; i < 70; i++) {
			Parts call(p, callback(p.new_xid(), sequence));

			call.middle(16);
			call.middle(16, call.left(), call.xid());
			call.refused();
		}
		const u32 xid = p.new_xid();

		p.send(unit::call_inline(xid, callback(xid, sequence)));
		answer(p, xid);
	});
}

/* Who would take one of so few words drops it, and never lets go of its memory. */
TEST(client_callback, of_one_word)
{
	mounts([](Peer &p, u32) {
		for (u32 i = 0; i < 70; i++) {
			const u32 xid = p.new_xid();

			refused(p, unit::call_inline(xid, { xid }), kBadXdr);
		}
		const u32 xid = p.new_xid();

		p.send(unit::call_inline(xid, callback(xid)));
		answer(p, xid);
	});
}

/* The session has ended, and who took callbacks may be gone. */
TEST(client_callback, after_the_session)
{
	u32 refusals = 0;

	mounts([](Peer &, u32) {},
	       [&](Peer &p, u32) {
		       const u32 xid = p.new_xid();

		       refused(p, unit::call_inline(xid, callback(xid)),
			       { RPCRDMA2_ERR_SYSTEM });
		       refusals++;
	       });
	EXPECT_EQ(refusals, 1u);
}
