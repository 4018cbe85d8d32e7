// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Properties that change while connected (xcharext, D23): what our client does with requests
 * of a server, with answers to its own, and with what a server says of itself.
 */
#include "changes.h"
#include "nfs3.h"

#include <gtest/gtest.h>

#include <algorithm>

using namespace peer;
using namespace peer::changes;

namespace
{

/* What the server's Receives can become. */
constexpr u32 kServerLarge = Link::kReceiveSize;
/* Travels in the message, by reads and writes of this size. */
constexpr u32 kData = 12288;
constexpr u32 kSmallest = 4096;
/* Sends that kData takes to a server of kServerSmall, of kSmall, of kServerLarge. */
constexpr u32 kMany = 4, kFewer = 2, kOne = 1;
/* Of the client: the window, and one more. */
constexpr u32 kReceives = 65;
/* Reverse-Direction Support of the client: continued messages, but no chunks. */
constexpr u32 kContinued = 2;
/* Of silence, and then some. */
constexpr int kLongIdle = 80000;

/* A server that has the extension, and such Receives. */
class Server : public Nfs3 {
public:
	explicit Server(u32 receive_size = kServerSmall)
	{
		opening = [this, receive_size](Peer &p) {
			p.take_properties(p.next());
			p.send(unit::connprop(p.new_xid(),
					      announced(receive_size)));
			p.speak_extensions();
			requests.clear();
			updates.clear();
		};
		message = [this](Peer &p, const Message &m) {
			return take(p, m);
		};
		on(kWrite3, [this](Peer &, const Rpc &call) {
			pieces = call.pieces;
			largest = call.largest;
			with_chunks = !call.reads.empty();
			longest = 0;
			for (const auto &[position, segment] : call.reads)
				longest = std::max(longest, segment.length);
			return false;
		});
	}

	void mount_it()
	{
		mount("timeo=600,wsize=12288,rsize=12288");
	}
	/* One WRITE. Return: the Sends that its Call took. */
	u32 sends()
	{
		EXPECT_EQ(write(4096, kData), 0);
		return pieces;
	}
	/* The same, after a while. */
	u32 sends(u32 wanted)
	{
		u32 n = sends();

		for (u32 i = 0; i < 100 && n != wanted; i++) {
			serve_for(100);
			n = sends();
		}
		return n;
	}
	/*
	 * WRITEs until the client asks for larger Receives, if it does.
	 * @rounds: of messages enough to show that this pays
	 */
	bool is_asked(u32 rounds = 40)
	{
		for (u32 i = 0; i < rounds && requests.empty(); i++) {
			EXPECT_EQ(write(0, 40 * kData), 0);
			serve_for(1100);
		}
		return !requests.empty();
	}
	/* Return: the request. */
	Message asked()
	{
		if (!is_asked())
			throw Failure("the client does not ask");
		Message m = requests.front();

		requests.clear();
		return m;
	}
	/*
	 * Replies until the client says that it has changed. Return: how many messages of
	 * this side's it took.
	 */
	u32 until_told()
	{
		const u32 before = peer().sent();

		for (u32 i = 0; i < 400 && updates.empty(); i++)
			EXPECT_EQ(stat(), 0);
		return peer().sent() - before;
	}
	/* READs in Replies of one message each, if they fit. */
	void reads(u32 n)
	{
		EXPECT_EQ(read(0, n * kData), 0);
	}
	/* All is as it was before, over the same connection. */
	void goes_on()
	{
		EXPECT_TRUE(requests.empty());
		EXPECT_TRUE(updates.empty());
		works_on();
	}

	std::vector<Message> requests; /* REQXCH */
	std::vector<Message> updates; /* UPDXCH */
	u32 pieces = 0; /* of the last WRITE */
	u32 largest = 0;
	bool with_chunks = false;
	u32 longest = 0; /* of its segments */

private:
	/* Return: it is a message of the extension. */
	bool take(Peer &p, const Message &m)
	{
		if (m.htype() == kRequest) {
			requests.push_back(m);
			return true;
		}
		if (m.htype() != kUpdate)
			return false;
		updates.push_back(m);
		p.learn(m.word(4), m.word(6));
		return true;
	}
};

/* What the client's kernel has heard of this server. */
u64 heard(Server &server, const std::string &property)
{
	return number(server.peer(), "peer properties:", property);
}

/* Calls come to the client as far as it has said; in NFSv3 there is nobody for them. */
void takes_calls(Server &server)
{
	Peer &p = server.peer();
	const u32 xid = p.new_xid(), whole = p.new_xid();
	const Words call = null_call(xid);
	const u32 half = 16, rest = static_cast<u32>(4 * call.size()) - half;

	refused(p,
		unit::middle(RPCRDMA2_CALL_MIDDLE, xid, rest,
			     unit::slice(call, 0, half)),
		kSystem);
	p.send(unit::call_inline(xid, unit::slice(call, half, rest)));
	refused(p, unit::call_inline(whole, null_call(whole)), kSystem);
	const u32 chunk = p.new_xid();
	refused(p,
		call_header(chunk, Lists().write({ { 0xb1, 4, 0, 0x1000 } })) +
			null_call(chunk),
		{ RPCRDMA2_ERR_WRITE_CHUNKS, 0 });
}

/* Its Calls name a handle, and it takes Replies that invalidate that. */
void takes_invalidation(Server &server)
{
	u32 invalidated = 0;

	server.sender = [&](Peer &p, const Rpc &call, const Octets &stream) {
		const Words header =
			unit::prefix(call.xid, RPCRDMA2_REPLY_INLINE) +
			Words{ 0 };

		if (!call.inv_handle)
			return p.send(header, stream);
		invalidated++;
		p.send(header, stream, call.inv_handle);
	};
	for (u32 i = 0; i < 4; i++)
		EXPECT_EQ(server.write(65536 * i, 65536), 0);
	EXPECT_EQ(invalidated, 4u);
	server.sender = nullptr;
}

/* The client has Receives of @wanted octets, since this asks for @number. */
void grows(Server &server, u32 number, u32 wanted)
{
	EXPECT_EQ(answer(server.peer(),
			 Words{ 1 } + numeric(kReceiveSize, number)),
		  kPending);
	server.until_told();
	ASSERT_EQ(server.updates.size(), 1u);
	EXPECT_EQ(server.updates[0].words(4),
		  numeric(kReceiveSize, wanted) + Words{ 1 });
	server.updates.clear();
}

} // namespace

TEST(client_changes, announced)
{
	Server server;

	server.mount_it();
	EXPECT_EQ(server.peer().property(kExtensions), 1u);
	EXPECT_EQ(server.peer().property(kReceiveSize), kSmall);
	EXPECT_EQ(server.peer().property(kSendSize), kLarge);
	server.goes_on();
}

/* A server that cannot be asked is sent the messages of always: see Peer::arrival(). */
TEST(client_changes, not_announced)
{
	Server server;

	server.opening = [](Peer &p) {
		p.take_properties(p.next());
		p.send(unit::connprop(
			p.new_xid(),
			Words{ 1 } + numeric(kReceiveSize, kServerSmall)));
	};
	server.mount_it();
	EXPECT_FALSE(server.is_asked(6));
	EXPECT_EQ(server.sends(), kMany);
	server.goes_on();
}

/* ------------------------------------------------------------------ */
/* The server asks                                                    */
/* ------------------------------------------------------------------ */

/* The client says so when no smaller Receive is left, and not before. */
TEST(client_changes, larger_receives)
{
	Server server;

	server.mount_it();
	EXPECT_EQ(answer(server.peer(),
			 Words{ 1 } + numeric(kReceiveSize, 4 * kLarge)),
		  kPending);
	/* It is pending, and only once. */
	EXPECT_EQ(answer(server.peer(),
			 Words{ 1 } + numeric(kReceiveSize, kLarge)),
		  kRejected);
	/* A Receive goes with each message. */
	EXPECT_GE(server.until_told(), kReceives - 5);
	ASSERT_EQ(server.updates.size(), 1u);
	/* As large as may be is better than nothing. */
	EXPECT_EQ(server.updates[0].words(4),
		  numeric(kReceiveSize, kLarge) + Words{ 1 });
	server.updates.clear();
	/* The first of these comes to the Receive that was posted last. */
	const u32 before = server.peer().sent();

	server.reads(80);
	EXPECT_LE(server.peer().sent() - before, 100u);
	server.goes_on();
}

/* A server that does not wait until it is told loses the connection. */
TEST(client_changes, more_before_it_is_told)
{
	Server server;
	u32 early = 0;

	server.mount_it();
	EXPECT_EQ(answer(server.peer(),
			 Words{ 1 } + numeric(kReceiveSize, kLarge)),
		  kPending);
	server.on(kRead3, [&](Peer &p, const Rpc &call) {
		if (early++)
			return false;
		p.send_last(unit::prefix(call.xid, RPCRDMA2_REPLY_INLINE) +
				    Words{ 0 },
			    server.result(p, call));
		return true;
	});
	EXPECT_EQ(server.read(0, kData, 60), 0);
	EXPECT_EQ(early, 2u);
	EXPECT_EQ(server.connections(), 2u);
	/* rxe calls by another name what InfiniBand calls a local length error. */
	EXPECT_TRUE(Nfs3::loss() == "local length error" ||
		    Nfs3::loss() == "local QP operation error")
		<< Nfs3::loss();
	/* Nothing is left of what was pending. */
	EXPECT_EQ(server.peer().property(kReceiveSize), kSmall);
	EXPECT_TRUE(server.updates.empty());
	server.works_again();
}

TEST(client_changes, smaller_receives)
{
	Server server;

	server.mount_it();
	grows(server, kServerLarge, kServerLarge);
	server.reads(10);
	/* Less than at the beginning is not to be had. */
	EXPECT_EQ(answer(server.peer(),
			 Words{ 1 } + numeric(kReceiveSize, kSmall - 8)),
		  kRejected);
	EXPECT_EQ(answer(server.peer(),
			 Words{ 1 } + numeric(kReceiveSize, kSmall)),
		  kDone);
	server.peer().learn(kReceiveSize, kSmall);
	/* It is so at once, and nobody is told once more. */
	server.reads(80);
	/* And back. */
	grows(server, 2 * kLarge, kLarge);
	server.reads(80);
	server.goes_on();
}

/* What it is not asked for it does not do. */
TEST(client_changes, nothing_unasked)
{
	Server server(kServerLarge);

	server.mount_it();
	for (u32 i = 0; i < 4; i++) {
		server.reads(80);
		server.serve_for(1100);
	}
	EXPECT_EQ(server.peer().property(kReceiveSize), kSmall);
	server.goes_on();
}

/* Sends grow to what the server takes, which needs no words. */
TEST(client_changes, smaller_and_larger_sends)
{
	Server server(kServerLarge);

	server.mount_it();
	EXPECT_EQ(server.sends(), kFewer);
	EXPECT_FALSE(server.is_asked(6));
	EXPECT_EQ(server.sends(kOne), kOne);
	EXPECT_EQ(
		answer(server.peer(), Words{ 1 } + numeric(kSendSize, kSmall)),
		kDone);
	/* From now on. */
	EXPECT_EQ(server.sends(), kFewer);
	EXPECT_LE(server.largest, kSmall);
	server.serve_for(2200);
	EXPECT_EQ(server.sends(), kFewer);

	EXPECT_EQ(answer(server.peer(),
			 Words{ 1 } + numeric(kSendSize, 2 * kLarge)),
		  kPending);
	server.serve_for(2200);
	ASSERT_EQ(server.updates.size(), 1u);
	EXPECT_EQ(server.updates[0].words(4),
		  numeric(kSendSize, kLarge) + Words{ 1 });
	server.updates.clear();
	EXPECT_EQ(server.sends(kOne), kOne);
	/* There is no more. */
	EXPECT_EQ(answer(server.peer(),
			 Words{ 1 } + numeric(kSendSize, 2 * kLarge)),
		  kRejected);
	server.goes_on();
}

TEST(client_changes, rejected)
{
	Server server;

	server.mount_it();
	impossible(server.peer());
	EXPECT_EQ(server.sends(), kMany);
	server.goes_on();
}

/* In these two it has what it has, and says so. */
TEST(client_changes, reverse_direction_and_invalidation_stay)
{
	Server server;

	server.mount();
	Peer &p = server.peer();
	EXPECT_EQ(p.property(kReverse), kContinued);
	EXPECT_EQ(p.property(kInvalidation), 1u);
	for (const u32 level : { 0u, 1u, 3u, 4u, 0xffffffffu })
		EXPECT_EQ(answer(p, Words{ 1 } + numeric(kReverse, level)),
			  kRejected);
	EXPECT_EQ(answer(p, Words{ 1 } + numeric(kInvalidation, 0)), kRejected);
	/* What is so is done; each value has its own answer. */
	EXPECT_EQ(answer(p, Words{ 2 } + numeric(kReverse, kContinued) +
				    numeric(kInvalidation, 1)),
		  (Words{ 1, 3, 1, 0, 0 }));
	EXPECT_EQ(answer(p, Words{ 3 } + numeric(kReverse, 0) +
				    numeric(kInvalidation, 1) +
				    numeric(kSendSize, 1024)),
		  (Words{ 1, 2, 1, 5, 0 }));
	/* No bool, and no number. */
	refused(p,
		unit::prefix(p.new_xid(), kRequest) + Words{ 1 } +
			numeric(kInvalidation, 2),
		kBadXdr);
	refused(p,
		unit::prefix(p.new_xid(), kRequest) + Words{ 1, kReverse, 0 },
		kBadXdr);
	takes_calls(server);
	takes_invalidation(server);
	server.goes_on();
}

TEST(client_changes, malformed)
{
	Server server;

	server.mount_it();
	malformed(server.peer());
	unasked(server.peer());
	/* Nothing of it has become true. */
	EXPECT_EQ(server.sends(), kMany);
	server.goes_on();
}

/* ------------------------------------------------------------------ */
/* What the server says of itself                                     */
/* ------------------------------------------------------------------ */

/* A change that never comes need not be asked for. */
TEST(client_changes, never_changes)
{
	Server server;

	server.mount_it();
	never_changes(server.peer(), kServerSmall);
	EXPECT_FALSE(server.is_asked(6));
	EXPECT_EQ(server.sends(), kMany);
	server.goes_on();
}

/* It may not have less unasked, but it is taken at its word. */
TEST(client_changes, less_and_more_unasked)
{
	Server server(kSmall);

	server.mount_it();
	EXPECT_EQ(server.sends(), kFewer);
	update(server.peer(), kReceiveSize, 1024, false);
	EXPECT_GT(server.sends(), kData / 1024);
	EXPECT_LE(server.largest, 1024u);
	update(server.peer(), kReceiveSize, kSmall, false);
	EXPECT_EQ(server.sends(), kFewer);
	server.goes_on();
}

/*
 * Whether Calls go to the client is its own word, and so is whether its Calls may be answered
 * with invalidation. What the server says of itself there is heard, and changes neither.
 */
TEST(client_changes, reverse_direction_and_invalidation_of_the_server)
{
	Server server;

	server.mount();
	Peer &p = server.peer();
	takes_calls(server);
	for (const u32 level : { 3u, 1u, 0u }) {
		update(p, kReverse, level, false);
		takes_calls(server);
		EXPECT_EQ(heard(server, "reverse"), level);
	}
	update(p, kReverse, kContinued, false);
	/* A level that is none is no support. */
	update(p, kReverse, 4, false);
	takes_calls(server);
	EXPECT_EQ(heard(server, "reverse"), 0u);
	for (const u32 yes : { 1u, 0u }) {
		update(p, kInvalidation, yes, false);
		takes_invalidation(server);
		EXPECT_EQ(heard(server, "remote-invalidation"), yes);
	}

	/* Nothing is pending, and this is no bool. */
	for (const u32 which : { kReverse, kInvalidation })
		update_refused(p, which, 1, 1, kBadPropval);
	update_refused(p, kInvalidation, 2, 0, kBadXdr);
	EXPECT_EQ(heard(server, "reverse"), 0u);
	EXPECT_EQ(heard(server, "remote-invalidation"), 0u);

	/* From now on they never change. */
	p.send(unit::prefix(p.new_xid(), kInit) + Words{ 2 } +
	       numeric(kReverse, 1) + numeric(kInvalidation, 1) +
	       Words{ 1, 3 });
	for (const u32 which : { kReverse, kInvalidation })
		update_refused(p, which, 0, 0, kBadPropval);
	EXPECT_EQ(heard(server, "reverse"), 1u);
	EXPECT_EQ(heard(server, "remote-invalidation"), 1u);
	takes_calls(server);
	takes_invalidation(server);
	server.goes_on();
}

TEST(client_changes, segments)
{
	Server server;

	server.mount();
	EXPECT_EQ(server.write(0, 65536), 0);
	EXPECT_TRUE(server.with_chunks);
	update(server.peer(), kSegments, 0, false);
	EXPECT_EQ(server.write(0, 65536), 0);
	EXPECT_FALSE(server.with_chunks);
	update(server.peer(), kSegments, 16, false);
	EXPECT_EQ(server.write(0, 65536), 0);
	EXPECT_TRUE(server.with_chunks);
	EXPECT_GT(server.longest, 16384u);
	update(server.peer(), kSegmentSize, 16384, false);
	EXPECT_EQ(server.write(0, 65536), 0);
	EXPECT_TRUE(server.with_chunks);
	EXPECT_LE(server.longest, 16384u);
	server.goes_on();
}

/* ------------------------------------------------------------------ */
/* The client asks                                                    */
/* ------------------------------------------------------------------ */

TEST(client_changes, asks_and_gets)
{
	Server server;

	server.mount_it();
	const Message m = server.asked();
	EXPECT_EQ(m.words(4), Words{ 1 } + numeric(kReceiveSize, kServerLarge));
	/* Until it is answered nothing larger comes. */
	EXPECT_EQ(server.sends(), kMany);
	response(server.peer(), m, kDone);
	EXPECT_EQ(server.sends(kOne), kOne);
	server.goes_on();
}

TEST(client_changes, asks_in_vain)
{
	Server server;

	server.mount_it();
	response(server.peer(), server.asked(), kRejected);
	EXPECT_EQ(server.sends(), kMany);
	EXPECT_EQ(server.write(0, 20 * kData), 0);
	server.serve_for(2200);
	EXPECT_TRUE(server.requests.empty()) << "too early";
	/* It asks again, after more messages. */
	response(server.peer(), server.asked(), kRejected);
	EXPECT_EQ(server.sends(), kMany);
	server.goes_on();
}

/* Who does not know requests has rejected them, and gets no more of them. */
TEST(client_changes, asks_who_does_not_know_that)
{
	Server server;

	server.mount_it();
	server.peer().send(unit::prefix(server.asked().xid(), RPCRDMA2_ERROR) +
			   Words{ RPCRDMA2_ERR_INVAL_HTYPE });
	EXPECT_FALSE(server.is_asked(8));
	EXPECT_EQ(server.sends(), kMany);
	server.goes_on();
}

TEST(client_changes, asks_and_gets_a_part)
{
	Server server;

	server.mount_it();
	response(server.peer(), server.asked(), kPending);
	server.serve_for(2200);
	EXPECT_EQ(server.sends(), kMany);
	/* More of it, but not all. */
	update(server.peer(), kReceiveSize, kSmall, false);
	EXPECT_EQ(server.sends(kFewer), kFewer);
	update(server.peer(), kReceiveSize, kServerLarge, true);
	EXPECT_EQ(server.sends(kOne), kOne);
	server.goes_on();
}

/* What was pending comes to nothing, which is no rejection of what follows. */
TEST(client_changes, pending_in_vain)
{
	Server server;

	server.mount_it();
	response(server.peer(), server.asked(), kPending);
	update(server.peer(), kReceiveSize, kServerSmall, true);
	EXPECT_EQ(server.sends(), kMany);
	response(server.peer(), server.asked(), kDone);
	EXPECT_EQ(server.sends(kOne), kOne);
	server.goes_on();
}

TEST(client_changes, answered_twice)
{
	Server server;

	server.mount_it();
	const Message m = server.asked();
	response(server.peer(), m, kDone);
	response(server.peer(), m, kRejected);
	server.peer().expect_silence();
	EXPECT_EQ(server.sends(kOne), kOne);
	response(server.peer(), m, kRejected);
	server.peer().expect_silence();
	EXPECT_EQ(server.sends(), kOne);
	server.goes_on();
}

/* It goes on as it was, and does not ask again. */
TEST(client_changes, answered_never)
{
	Server server;

	server.mount_it();
	(void)server.asked();
	EXPECT_FALSE(server.is_asked(8));
	EXPECT_EQ(server.sends(), kMany);
	server.goes_on();
}

/* Nothing that the server may have meant is taken for granted. */
TEST(client_changes, answered_badly)
{
	for (const Words &subsets : bad_subsets()) {
		const u64 before = refusals();
		Server server;

		server.mount_it();
		response(server.peer(), server.asked(), subsets);
		server.peer().expect_silence();
		EXPECT_EQ(server.sends(), kMany);
		EXPECT_EQ(refusals(), before + 1);
		server.goes_on();
	}
}

/* After a minute without traffic, and from then on it sends no more than that. */
TEST(client_changes, asks_for_less_when_idle)
{
	Server server;

	server.mount_it();
	response(server.peer(), server.asked(), kDone);
	EXPECT_EQ(server.sends(kOne), kOne);
	server.serve_for(kLongIdle);
	ASSERT_EQ(server.requests.size(), 1u);
	const Message m = server.requests[0];
	server.requests.clear();
	EXPECT_EQ(m.words(4), Words{ 1 } + numeric(kReceiveSize, kServerSmall));
	EXPECT_EQ(server.sends(), kMany);
	response(server.peer(), m, kDone);
	EXPECT_EQ(server.sends(), kMany);
	server.goes_on();
}

/* ------------------------------------------------------------------ */
/* The connection ends while a change is under way                    */
/* ------------------------------------------------------------------ */

TEST(client_changes, the_end_overtakes_what_the_server_asked_for)
{
	Server server;

	server.mount_it();
	for (u32 i = 0; i < 4; i++) {
		EXPECT_EQ(answer(server.peer(),
				 Words{ 1 } + numeric(kReceiveSize, kLarge)),
			  kPending);
		for (u32 n = 0; n < 3 * i; n++)
			EXPECT_EQ(server.stat(), 0);
		server.peer().link().disconnect();
		EXPECT_EQ(server.read(0, kSmallest, 60), 0);
		EXPECT_EQ(server.connections(), 2 + i);
		EXPECT_EQ(server.peer().property(kReceiveSize), kSmall);
		EXPECT_TRUE(server.updates.empty());
	}
	grows(server, kLarge, kLarge);
	server.reads(80);
	server.works_again();
}

TEST(client_changes, the_end_overtakes_what_the_client_asked_for)
{
	Server server;

	server.mount_it();
	for (const bool pending : { false, true }) {
		const Message m = server.asked();

		if (pending)
			response(server.peer(), m, kPending);
		server.peer().link().disconnect();
		EXPECT_EQ(server.read(0, kSmallest, 60), 0);
		EXPECT_EQ(server.sends(), kMany);
	}
	EXPECT_EQ(server.connections(), 3u);
	/* It asks anew. */
	response(server.peer(), server.asked(), kDone);
	EXPECT_EQ(server.sends(kOne), kOne);
	server.works_again();
}

/* The client ends it: see Nfs3::unmount(). */
TEST(client_changes, unmounts_meanwhile)
{
	Server server;

	server.mount_it();
	(void)server.asked();
	EXPECT_EQ(answer(server.peer(),
			 Words{ 1 } + numeric(kReceiveSize, kLarge)),
		  kPending);
	server.unmount();
	EXPECT_EQ(server.connections(), 1u);
}
