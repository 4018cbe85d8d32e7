// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What our client does with errors (section 7) and with Replies that break a
 * rule: one RPC fails, once, and the mount goes on. The tests count the Calls,
 * since a client that sends the same Call again and again can still end with
 * the right result.
 */
#include "nfs3.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <unistd.h>

using namespace peer;

static constexpr u32 kLarge = 65536;
static constexpr u32 kSmall = 4096;

TEST(client_mount, reads_and_writes)
{
	Nfs3 server;

	server.mount();
	for (const u32 length : { 512u, 4096u, 16384u, 65536u, 262144u }) {
		EXPECT_EQ(server.write(4096, length), 0) << length;
		EXPECT_EQ(server.read(4096, length), 0) << length;
	}
	EXPECT_EQ(server.stat(), 0);
	server.works_on();
}

/* Section 4.5.2.4 */
TEST(client_mount, no_room_for_roundup_in_a_write_chunk)
{
	Nfs3 server;

	server.mount();
	for (const u32 length : { 20001u, 32770u, 65535u }) {
		u32 room = 0, chunks = 0;

		server.on(kRead3, [&](Peer &, const Rpc &call) {
			for (const Chunk &chunk : call.writes) {
				chunks++;
				for (const Segment &s : chunk)
					room += s.length;
			}
			return false;
		});
		EXPECT_EQ(server.read(4096, length), 0);
		EXPECT_EQ(chunks, 1u);
		EXPECT_EQ(room, length);
	}
	server.works_on();
}

/* Section 4.5.3.1; nor in the stream that is left. */
TEST(client_mount, no_roundup_in_a_read_chunk)
{
	Nfs3 server;

	server.mount();
	for (const u32 length : { 20001u, 32770u, 65535u }) {
		u32 octets = 0, position = 0, end = 0;

		server.on(kWrite3, [&](Peer &, const Rpc &call) {
			for (const auto &[at, segment] : call.reads) {
				position = at;
				octets += segment.length;
			}
			end = static_cast<u32>(call.stream.size());
			return false;
		});
		EXPECT_EQ(server.write(4096, length), 0);
		EXPECT_EQ(octets, length);
		/* The data is the last in a WRITE, and roundup has been added. */
		EXPECT_EQ(end, position + (length + 3) / 4 * 4);
	}
	server.works_on();
}

/* The answer to READs or WRITEs that carry chunks is @body, @times times. */
static void refuse_chunks(Nfs3 &server, Proc proc, const Words &body, u32 times)
{
	server.forget();
	server.on(proc, [&server, body, times,
			 refused = 0u](Peer &p, const Rpc &call) mutable {
		if (refused == times)
			return false;
		refused++;
		server.error(p, call, body);
		return true;
	});
}

static void retries(Proc proc, const Words &body)
{
	const auto io = [proc](Nfs3 &s) {
		return proc == kRead3 ? s.read(0, kLarge) : s.write(0, kLarge);
	};
	const u64 before = Nfs3::total("retries");
	Nfs3 server;

	server.mount();
	/* It does what the error asks for, and succeeds. */
	refuse_chunks(server, proc, body, 1);
	EXPECT_EQ(io(server), 0);
	EXPECT_EQ(server.count(proc), 2u);
	EXPECT_EQ(Nfs3::total("retries") - before, 1u);
	EXPECT_TRUE(server.last.writes.empty() || proc == kWrite3);
	EXPECT_TRUE(server.last.reads.empty());

	/* It does not do so for ever. */
	refuse_chunks(server, proc, body, 100);
	EXPECT_EQ(io(server), EIO);
	EXPECT_LE(server.count(proc), 4u);
	/* All of these but the first were such, and the one before. */
	EXPECT_EQ(Nfs3::total("retries") - before, server.count(proc));
	server.works_on();
}

TEST(client_retry, read_chunks)
{
	retries(kWrite3, { RPCRDMA2_ERR_READ_CHUNKS, 0 });
}

TEST(client_retry, write_chunks)
{
	retries(kRead3, { RPCRDMA2_ERR_WRITE_CHUNKS, 0 });
}

TEST(client_retry, segments_of_a_read_chunk)
{
	retries(kWrite3, { RPCRDMA2_ERR_SEGMENTS, 0 });
}

TEST(client_retry, segments_of_a_write_chunk)
{
	retries(kRead3, { RPCRDMA2_ERR_SEGMENTS, 0 });
}

TEST(client_retry, write_resource)
{
	retries(kRead3, { RPCRDMA2_ERR_WRITE_RESOURCE, 1, kLarge + 100 });
}

/* The next attempt offers a Reply chunk that could take the Reply. */
TEST(client_retry, reply_resource)
{
	const u32 needed = kSmall + 128;
	Nfs3 server;
	u32 offered = 0;

	server.mount();
	server.on(kRead3, [&](Peer &p, const Rpc &call) {
		if (call.reply)
			for (const Segment &s : *call.reply)
				offered += s.length;
		else
			server.error(p, call,
				     { RPCRDMA2_ERR_REPLY_RESOURCE, needed });
		return !call.reply;
	});
	EXPECT_EQ(server.read(0, kSmall), 0);
	EXPECT_EQ(server.count(kRead3), 2u);
	EXPECT_GE(offered, needed);

	refuse_chunks(server, kRead3, { RPCRDMA2_ERR_REPLY_RESOURCE, needed },
		      100);
	EXPECT_EQ(server.read(0, kSmall), EIO);
	EXPECT_LE(server.count(kRead3), 4u);
	server.works_on();
}

/* An RPC whose Call is answered with @code fails at once, with @error. */
static void fails(Nfs3 &server, u32 code, int error)
{
	for (const u32 length : { kSmall, kLarge })
		for (const Proc proc : { kRead3, kWrite3 }) {
			refuse_chunks(server, proc, { code }, 100);
			EXPECT_EQ(proc == kRead3 ? server.read(0, length) :
						   server.write(0, length),
				  error)
				<< "error " << code << " length " << length;
			EXPECT_EQ(server.count(proc), 1u)
				<< "error " << code << " length " << length;
			server.usual_answers();
		}
}

TEST(client_error, permanent_ones_fail_the_rpc_at_once)
{
	Nfs3 server;

	server.mount();
	for (const u32 code : { RPCRDMA2_ERR_BAD_XDR, RPCRDMA2_ERR_BAD_PROPVAL,
				RPCRDMA2_ERR_INVAL_CONT })
		fails(server, code, EIO);
	fails(server, RPCRDMA2_ERR_SYSTEM, EREMOTEIO);
	server.works_on();
}

/* Section 7.1.3: that type is not sent again on this connection. */
TEST(client_error, a_header_type_that_was_refused)
{
	Nfs3 server;

	server.mount();
	refuse_chunks(server, kRead3, { RPCRDMA2_ERR_INVAL_HTYPE }, 1);
	EXPECT_EQ(server.read(0, kSmall), EIO);
	EXPECT_EQ(server.count(kRead3), 1u);
	/* The connection is of no use without it; another is tried. */
	EXPECT_EQ(server.read(0, kSmall, 60), 0);
	EXPECT_EQ(server.count(kRead3), 2u);
	server.unmount();
}

/* While it is there, Calls of more than a Send have no chunk but a Call chunk. */
class Thresholds {
public:
	explicit Thresholds(u32 special)
		: ddp_("ddp_threshold", 1 << 20)
		, special_("special_threshold", special)
	{
	}

private:
	const Parameter ddp_;
	const Parameter special_;
};

/* A Call that waits for credit then goes in another way, without an error. */
TEST(client_error, a_header_type_that_was_refused_while_another_call_waits)
{
	const Thresholds thresholds(4096);
	std::vector<bool> external;
	Nfs3 server;

	server.opening = [](Peer &p) {
		p.offer(1);
		p.take_properties(p.next());
		p.send(unit::connprop(p.new_xid()));
	};
	server.mount();
	server.forget();
	server.on(kWrite3, [&](Peer &p, const Rpc &call) {
		external.push_back(call.external);
		if (external.size() > 1)
			return false;
		/* Until the other one is there. */
		usleep(500000);
		p.offer(Peer::kWindow);
		server.error(p, call, { RPCRDMA2_ERR_INVAL_HTYPE });
		return true;
	});
	/* Two Calls of wsize, one of which succeeds; if it is the first, so much. */
	EXPECT_NE(server.write(0, 2 * kLarge), 0);
	EXPECT_EQ(external, (std::vector<bool>{ true, false }));
	server.works_on();
}

/*
 * The first part of a long Call is refused, and all others then. How many of them
 * were under way depends on the machine.
 */
TEST(client_error, a_part_that_was_refused)
{
	const Thresholds thresholds(1 << 20);
	Nfs3 server;
	u32 xid = 0, parts = 0;

	server.mount();
	server.forget();
	server.message = [&](Peer &p, const Message &m) {
		if (m.htype() == RPCRDMA2_CALL_MIDDLE && !xid) {
			xid = m.xid();
			p.send(unit::prefix(xid, RPCRDMA2_ERROR) +
			       Words{ RPCRDMA2_ERR_INVAL_HTYPE });
		}
		parts += m.xid() == xid;
		return m.xid() == xid;
	};
	EXPECT_EQ(server.write(0, kLarge), EIO);
	server.serve_for(500);
	EXPECT_GE(parts, 1u);
	EXPECT_EQ(server.connections(), 1u);
	/* The next one finds another way, which is a Call chunk. */
	bool external = false;
	server.on(kWrite3, [&](Peer &, const Rpc &call) {
		external = call.external;
		return false;
	});
	EXPECT_EQ(server.write(0, kLarge), 0);
	EXPECT_TRUE(external);
	server.works_on();
}

/* Sections 7.1.1 and 7.1.2: there is no other version to go on with. */
TEST(client_error, a_version_that_was_refused)
{
	for (const Words &body : { Words{ RPCRDMA2_ERR_VERS_MISMATCH },
				   Words{ RPCRDMA2_ERR_VERS, 1, 1 } }) {
		Nfs3 server;

		server.mount();
		refuse_chunks(server, kRead3, body, 1);
		EXPECT_EQ(server.read(0, kSmall, 60), EPROTONOSUPPORT);
		EXPECT_EQ(server.count(kRead3), 1u);
		EXPECT_EQ(server.read(0, kSmall, 60), 0);
		server.unmount();
	}
}

TEST(client_error, about_chunks_that_were_not_there)
{
	Nfs3 server;

	server.mount();
	for (const Words &body :
	     { Words{ RPCRDMA2_ERR_READ_CHUNKS, 0 },
	       Words{ RPCRDMA2_ERR_WRITE_CHUNKS, 0 },
	       Words{ RPCRDMA2_ERR_SEGMENTS, 0 },
	       Words{ RPCRDMA2_ERR_WRITE_RESOURCE, 1, 4096 } }) {
		refuse_chunks(server, kRead3, body, 100);
		EXPECT_EQ(server.read(0, kSmall), EIO);
		EXPECT_LE(server.count(kRead3), 2u) << "error " << body[0];
	}
	server.works_on();
}

TEST(client_error, unknown_codes_are_dropped)
{
	Nfs3 server;

	server.mount();
	server.on(kRead3, [&](Peer &p, const Rpc &call) {
		for (const u32 code : { 0u, 12u, 99u, 101u, 0xffffffffu })
			server.error(p, call, { code });
		return false;
	});
	EXPECT_EQ(server.read(0, kSmall), 0);
	EXPECT_EQ(server.read(0, kLarge), 0);
	EXPECT_EQ(server.count(kRead3), 2u);
	server.works_on();
}

TEST(client_error, about_another_xid_is_dropped)
{
	Nfs3 server;

	server.mount();
	server.on(kRead3, [&](Peer &p, const Rpc &call) {
		Rpc other = call;

		other.xid ^= 0x40000000;
		server.error(p, other, { RPCRDMA2_ERR_SYSTEM });
		return false;
	});
	EXPECT_EQ(server.read(0, kSmall), 0);
	EXPECT_EQ(server.count(kRead3), 1u);
	server.works_on();
}

/* ------------------------------------------------------------------ */
/* Replies                                                            */
/* ------------------------------------------------------------------ */

/* READs are answered by @answer; each fails its RPC, and nothing else. */
static void malformed(u32 length,
		      const std::function<void(Peer &, const Rpc &)> &answer)
{
	Nfs3 server;

	server.mount();
	server.on(kRead3, [&](Peer &p, const Rpc &call) {
		answer(p, call);
		return true;
	});
	EXPECT_EQ(server.read(0, length), EIO);
	EXPECT_EQ(server.count(kRead3), 1u);
	server.works_on();
}

static Words rpc_reply(u32 xid)
{
	/* NFS3ERR_IO would be no test of anything: this is a READ that ends. */
	return { xid, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0 };
}

TEST(client_reply, of_another_xid_is_dropped)
{
	Nfs3 server;

	server.mount();
	const u64 before = Nfs3::statistic(Nfs3::kBadXids);
	server.on(kRead3, [](Peer &p, const Rpc &call) {
		const u32 xid = call.xid ^ 0x40000000;

		p.send(unit::reply_inline(xid, rpc_reply(xid)));
		return false;
	});
	EXPECT_EQ(server.read(0, kSmall), 0);
	EXPECT_EQ(server.count(kRead3), 1u);
	EXPECT_EQ(Nfs3::statistic(Nfs3::kBadXids) - before, 1u);
	server.works_on();
}

TEST(client_reply, of_another_direction)
{
	malformed(kSmall, [](Peer &p, const Rpc &call) {
		Words w = rpc_reply(call.xid);

		w[1] = 0;
		p.send(unit::reply_inline(call.xid, w));
	});
}

TEST(client_reply, with_another_xid_inside)
{
	malformed(kSmall, [](Peer &p, const Rpc &call) {
		p.send(unit::reply_inline(call.xid, rpc_reply(call.xid + 1)));
	});
}

TEST(client_reply, without_a_payload)
{
	malformed(kSmall, [](Peer &p, const Rpc &call) {
		p.send(unit::reply_inline(call.xid, {}));
	});
}

TEST(client_reply, cut_short_in_its_lists)
{
	malformed(kSmall, [](Peer &p, const Rpc &call) {
		p.send(unit::prefix(call.xid, RPCRDMA2_REPLY_INLINE) +
		       Words{ 1, 2, 0xc1, 4096, 0 });
	});
}

TEST(client_reply, cut_short_before_them)
{
	malformed(kSmall, [](Peer &p, const Rpc &call) {
		p.send(unit::prefix(call.xid, RPCRDMA2_REPLY_INLINE));
	});
}

TEST(client_reply, external_without_a_reply_chunk)
{
	malformed(kSmall, [](Peer &p, const Rpc &call) {
		p.send(unit::prefix(call.xid, RPCRDMA2_REPLY_EXTERNAL) +
		       Words{ 0, 0 });
	});
}

TEST(client_reply, external_that_was_not_asked_for)
{
	malformed(kSmall, [](Peer &p, const Rpc &call) {
		p.send(unit::prefix(call.xid, RPCRDMA2_REPLY_EXTERNAL) +
		       Words{ 0, 1, 1, 0xd1, 128, 0, 0x1000 });
	});
}

/* Shorter than the RPC protocol's own header: sunrpc may ask again. */
TEST(client_reply, of_two_words)
{
	Nfs3 server;

	server.mount();
	server.on(kRead3, [](Peer &p, const Rpc &call) {
		p.send(unit::reply_inline(call.xid, { call.xid, 1 }));
		return true;
	});
	EXPECT_EQ(server.read(0, kSmall), EIO);
	EXPECT_LE(server.count(kRead3), 4u);
	server.usual_answers();
	server.unmount();
}

/* A READ by Write chunk whose Reply returns other segments than were offered. */
static void returns(const std::function<Words(const Chunk &)> &list)
{
	malformed(kLarge, [&list](Peer &p, const Rpc &call) {
		const Words post = { 0 };

		ASSERT_FALSE(call.writes.empty());
		p.send(unit::prefix(call.xid, RPCRDMA2_REPLY_INLINE) +
		       list(call.writes[0]) + Words{ call.xid, 1, 0, 0, 0, 0 } +
		       Words{ 0 } + post + Words{ kLarge, 0, kLarge });
	});
}

TEST(client_reply, returns_a_longer_segment)
{
	returns(returning_longer_segments);
}

TEST(client_reply, returns_another_handle)
{
	returns(returning_other_handles);
}

TEST(client_reply, returns_more_segments)
{
	returns(returning_more_segments);
}

TEST(client_reply, returns_more_chunks)
{
	returns(returning_more_chunks);
}

/* To NFS that is a short read: it asks for the rest, and gets it. */
TEST(client_reply, returns_fewer_octets_than_it_says)
{
	Nfs3 server;
	bool asked = false;

	server.mount();
	server.on(kRead3, [&](Peer &p, const Rpc &call) {
		if (asked)
			return false;
		asked = true;
		Octets stream = server.result(p, call);
		const auto data = stream.end() - kLarge;
		Chunk written;

		EXPECT_TRUE(Nfs3::write_chunk(p, call.writes.at(0),
					      { data, data + kLarge / 2 },
					      written));
		stream.resize(stream.size() - kLarge);
		p.send(unit::prefix(call.xid, RPCRDMA2_REPLY_INLINE) +
			       write_list(written),
		       stream);
		return true;
	});
	EXPECT_EQ(server.read(0, kLarge), 0);
	EXPECT_EQ(server.count(kRead3), 2u);
	server.works_on();
}

/* ------------------------------------------------------------------ */
/* Continued Replies                                                  */
/* ------------------------------------------------------------------ */

/* In parts of @size bytes, with @between before each but the first. */
static void send_parts(Peer &p, u32 xid, Octets stream, u32 size,
		       const std::function<void()> &between)
{
	const auto cut = [&stream](u32 length) {
		Octets part(stream.begin(), stream.begin() + length);

		stream.erase(stream.begin(), stream.begin() + length);
		return part;
	};

	while (stream.size() > size) {
		const Octets part = cut(size);

		p.send(unit::prefix(xid, RPCRDMA2_REPLY_MIDDLE) +
			       Words{ static_cast<u32>(stream.size()) },
		       part);
		between();
	}
	p.send(unit::prefix(xid, RPCRDMA2_REPLY_INLINE) + Words{ 0 }, stream);
}

TEST(client_continued, in_parts_of_any_size)
{
	for (const u32 size : { 4u, 52u, 1000u }) {
		Nfs3 server;
		u32 parts = 0;

		server.mount();
		server.on(kRead3, [&](Peer &p, const Rpc &call) {
			send_parts(p, call.xid, server.result(p, call), size,
				   [&] {
					   if (++parts % 16 == 0)
						   p.send_grant();
				   });
			return true;
		});
		EXPECT_EQ(server.read(0, 1024), 0) << size;
		EXPECT_EQ(server.count(kRead3), 1u);
		server.works_on();
	}
}

TEST(client_continued, control_messages_may_come_between)
{
	Nfs3 server;

	server.mount();
	server.on(kRead3, [&](Peer &p, const Rpc &call) {
		u32 n = 0;

		send_parts(p, call.xid, server.result(p, call), 200, [&] {
			if (n++ % 4 == 0)
				p.send_grant();
			p.send(unit::prefix(call.xid ^ 0x40000000,
					    RPCRDMA2_ERROR) +
			       Words{ n % 2 ? u32{ RPCRDMA2_ERR_SYSTEM } :
					      0x7777u });
		});
		return true;
	});
	EXPECT_EQ(server.read(0, 4096), 0);
	EXPECT_EQ(server.count(kRead3), 1u);
	server.works_on();
}

/* Broken: the RPC fails, and the server is told (D6). */
static void breaks(const std::function<void(Peer &, u32, const Octets &)> &send)
{
	Nfs3 server;
	u32 xid = 0;
	u32 told = 0;

	server.mount();
	server.control = [&](Peer &, const Message &m) {
		if (m.htype() == RPCRDMA2_ERROR && m.xid() == xid &&
		    m.words(4) == Words{ RPCRDMA2_ERR_INVAL_CONT })
			told++;
	};
	server.on(kRead3, [&](Peer &p, const Rpc &call) {
		xid = call.xid;
		send(p, call.xid, server.result(p, call));
		return true;
	});
	EXPECT_EQ(server.read(0, kSmall), EIO);
	EXPECT_EQ(server.count(kRead3), 1u);
	server.serve_for(200);
	EXPECT_EQ(told, 1u);
	server.works_on();
}

static void send_middle(Peer &p, u32 xid, const Octets &stream, u32 from,
			u32 length, u32 remaining)
{
	p.send(unit::prefix(xid, RPCRDMA2_REPLY_MIDDLE) + Words{ remaining },
	       Octets(stream.begin() + from, stream.begin() + from + length));
}

TEST(client_continued, remaining_does_not_fall)
{
	breaks([](Peer &p, u32 xid, const Octets &stream) {
		const u32 size = static_cast<u32>(stream.size());

		send_middle(p, xid, stream, 0, 200, size - 200);
		send_middle(p, xid, stream, 200, 200, size - 200);
	});
}

TEST(client_continued, ends_too_soon)
{
	breaks([](Peer &p, u32 xid, const Octets &stream) {
		const u32 size = static_cast<u32>(stream.size());

		send_middle(p, xid, stream, 0, 200, size - 200);
		p.send(unit::prefix(xid, RPCRDMA2_REPLY_INLINE) + Words{ 0 },
		       Octets(stream.begin() + 200, stream.begin() + 400));
	});
}

TEST(client_continued, far_too_large)
{
	breaks([](Peer &p, u32 xid, const Octets &stream) {
		send_middle(p, xid, stream, 0, 200, 0xfffffff0);
	});
}

/*
 * The second Call waits for a credit. The part of its Reply that comes before it is lost, and what
 * follows is no Reply: the client sends the Call again when it has waited for long enough.
 */
TEST(client_continued, begins_before_its_call)
{
	Nfs3 server;
	Rpc first = {};
	u32 next = 0;
	const auto reply = [&server](Peer &p, const Rpc &call) {
		p.send(unit::prefix(call.xid, RPCRDMA2_REPLY_INLINE) +
			       Words{ 0 },
		       server.result(p, call));
	};

	server.opening = [](Peer &p) {
		p.offer(1);
		p.take_properties(p.next());
		p.send(unit::connprop(p.new_xid()));
	};
	server.mount("rsize=4096");
	server.on(kRead3, [&](Peer &p, const Rpc &call) {
		const Octets stream = server.result(p, call);

		if (!next) {
			first = call;
			/* XIDs count in the client's order of octets. */
			next = __builtin_bswap32(__builtin_bswap32(call.xid) +
						 1);
			Rpc second = call;
			second.xid = next;
			send_middle(p, next, server.result(p, second), 0, 200,
				    static_cast<u32>(stream.size()) - 200);
			p.offer(Peer::kWindow);
			p.send_grant();
			return true;
		}
		EXPECT_EQ(call.xid, next);
		if (server.count(kRead3) > 2) {
			reply(p, call);
			return true;
		}
		p.send(unit::prefix(next, RPCRDMA2_REPLY_INLINE) + Words{ 0 },
		       Octets(stream.begin() + 200, stream.end()));
		reply(p, first);
		return true;
	});
	EXPECT_EQ(server.read(0, 8192), 0);
	EXPECT_EQ(server.count(kRead3), 3u);
	EXPECT_EQ(server.connections(), 2u);
	server.works_again();
}

TEST(client_continued, another_reply_between)
{
	Nfs3 server;

	server.mount();
	server.on(kRead3, [&](Peer &p, const Rpc &call) {
		const Octets stream = server.result(p, call);
		const u32 size = static_cast<u32>(stream.size());
		const u32 other = call.xid ^ 0x40000000;

		send_middle(p, call.xid, stream, 0, 200, size - 200);
		p.send(unit::reply_inline(other, rpc_reply(other)));
		p.send(unit::prefix(call.xid, RPCRDMA2_REPLY_INLINE) +
			       Words{ 0 },
		       Octets(stream.begin() + 200, stream.end()));
		return true;
	});
	EXPECT_EQ(server.read(0, kSmall), 0);
	server.works_on();
}
