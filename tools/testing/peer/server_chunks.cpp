// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Chunks (sections 4.4, 4.5 and 6.6) that our server reads and writes. They
 * are in memory of this program, between guard bytes.
 */
#include "nfs.h"
#include "peer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <fstream>

using namespace peer;

static constexpr u32 kOpenNoent = 2;

static Chunk as_chunk(const std::vector<Words> &segments)
{
	Chunk c;

	for (const Words &w : segments)
		c.push_back({ w[0], w[1], u64{ w[2] } << 32 | w[3] });
	return c;
}

static bool operator==(const Segment &a, const Segment &b)
{
	return a.handle == b.handle && a.length == b.length &&
	       a.offset == b.offset;
}

/* All operations succeeded. */
static std::vector<Result> good(const Rpc &r,
				const std::vector<bool> &reduced = {})
{
	std::vector<Result> all = Nfs::results(r.stream, reduced);

	for (const Result &one : all)
		EXPECT_EQ(one.status, 0u) << "of operation " << one.op;
	return all;
}

/* The chunk came back as it was offered, but for the lengths. */
static void returned(const Chunk &got, const std::vector<Words> &offered,
		     const std::vector<u32> &lengths)
{
	Chunk expected = as_chunk(offered);

	ASSERT_EQ(got.size(), expected.size());
	for (u32 i = 0; i < got.size(); i++) {
		expected[i].length = lengths[i];
		EXPECT_TRUE(got[i] == expected[i])
			<< "segment " << i << " length " << got[i].length;
	}
}

/* ------------------------------------------------------------------ */
/* Read chunks                                                        */
/* ------------------------------------------------------------------ */

static void write_by_read_chunk(u32 size, u32 segments, bool more)
{
	const std::string name = "write" + std::to_string(size);
	const Octets data = Nfs::data(3, size);
	Peer p = Peer::open();
	Nfs nfs(p);
	Region from(p.link(), data);
	Lists lists;

	Nfs::create(name);
	Compound c = Nfs::file(name).write(0, size);
	const u32 position = c.position();
	const u32 each = (size + segments - 1) / segments;
	for (u32 at = 0; at < size; at += each)
		lists.read(position,
			   from.segment(at, std::min(each, size - at)));
	if (more)
		c.getattr();
	EXPECT_EQ(good(nfs.call(c, lists)).back().op, more ? 9u : 38u);
	EXPECT_TRUE(Nfs::written(name) == data);
	EXPECT_TRUE(from.content(0, size) == data);
	p.expect_works();
}

TEST(server_read_chunk, at_the_end_of_the_call)
{
	write_by_read_chunk(20000, 1, false);
}

TEST(server_read_chunk, in_the_middle_of_the_call)
{
	write_by_read_chunk(20001, 1, true);
}

TEST(server_read_chunk, of_several_segments)
{
	write_by_read_chunk(50003, 7, true);
}

TEST(server_read_chunk, of_a_few_octets)
{
	write_by_read_chunk(1, 1, true);
}

/*
 * nfsd takes the data of a WRITE from the beginning of pages, but for the first
 * page of the Call: the second one here begins in a third page.
 */
TEST(server_read_chunk, two_of_them_and_an_empty_one)
{
	Compound c = Nfs::file("two");
	const u32 header = 36;
	const u32 size = 8192 - (c.position() + header) - header - 3;
	const Octets a = Nfs::data(0, size), b = Nfs::data(7, 6000);
	Peer p = Peer::open();
	Nfs nfs(p);
	Region first(p.link(), a), second(p.link(), b);
	Lists lists;

	Nfs::create("two");
	c.write(0, size);
	lists.read(c.position(), first.segment());
	/* Positions are those in the message that has all chunks in it. */
	const u32 inserted = size + 3;
	c.write(size, 6000);
	ASSERT_EQ(c.position() + inserted, 8192u);
	lists.read(8192, second.segment());
	c.getattr();
	lists.read(c.position() + inserted + 6000, first.segment(0, 0));
	EXPECT_EQ(good(nfs.call(c, lists)).size(), 5u);

	Octets whole = a;
	whole.insert(whole.end(), b.begin(), b.end());
	EXPECT_TRUE(Nfs::written("two") == whole);
	p.expect_works();
}

TEST(server_read_chunk, with_a_continued_call)
{
	const Octets data = Nfs::data(11, 30000);
	Peer p = Peer::open();
	Nfs nfs(p);
	Region from(p.link(), data);
	const u32 xid = p.new_xid();

	Nfs::create("continued");
	Compound c = Nfs::file("continued").write(0, 30000);
	const u32 position = c.position();
	const Octets stream = c.getattr().message(xid);
	for (u32 at = 0; at < 96; at += 32) {
		const Octets part(stream.begin() + at,
				  stream.begin() + at + 32);

		p.send(unit::prefix(xid, RPCRDMA2_CALL_MIDDLE) +
			       Words{ static_cast<u32>(stream.size()) - at -
				      32 },
		       part);
	}
	p.send(call_header(xid, Lists().read(position, from.segment())),
	       Octets(stream.begin() + 96, stream.end()));
	good(p.reply(xid));
	EXPECT_TRUE(Nfs::written("continued") == data);
	p.expect_works();
}

/*
 * Many Calls whose data is in many segments: the server has far more RDMA Reads to do than may be
 * under way at once. And it has more than it has memory regions for, in wire_registered.sh. Its
 * threads answer in any order.
 */
static void many_calls(u32 segments_of_a_region)
{
	constexpr u32 kCalls = 12, kPage = 4096;
	const u32 size = RPCRDMA_MAX_SEGMENTS * kPage;
	const u32 each = segments_of_a_region * kPage;
	Peer p = Peer::open();
	Nfs nfs(p);
	std::deque<Region> regions;
	std::vector<std::pair<Compound, Lists>> calls;
	std::vector<u32> xids;

	for (u32 i = 0; i < kCalls; i++) {
		const std::string name = "many" + std::to_string(i);
		const Octets data = Nfs::data(i + 1, size);
		Lists lists;

		Nfs::create(name);
		const Compound c = Nfs::file(name).write(0, size);
		for (u32 at = 0; at < size; at += kPage) {
			const auto start = data.begin() + at;

			if (at % each == 0)
				regions.emplace_back(
					p.link(), Octets(start, start + each));
			lists.read(c.position(),
				   regions.back().segment(at % each, kPage));
		}
		calls.emplace_back(c, lists);
	}
	for (const auto &[c, lists] : calls)
		xids.push_back(nfs.send(c, lists));
	while (!xids.empty()) {
		const Rpc r = p.next_rpc();
		const auto at = std::find(xids.begin(), xids.end(), r.xid);

		ASSERT_NE(at, xids.end());
		xids.erase(at);
		good(r);
	}
	for (u32 i = 0; i < kCalls; i++)
		EXPECT_TRUE(Nfs::written("many" + std::to_string(i)) ==
			    Nfs::data(i + 1, size));
	p.expect_works();
}

TEST(server_read_chunk, many_calls_with_a_region_each)
{
	many_calls(RPCRDMA_MAX_SEGMENTS);
}

TEST(server_read_chunk, many_calls_with_many_regions_each)
{
	many_calls(1);
}

/* ------------------------------------------------------------------ */
/* Write chunks                                                       */
/* ------------------------------------------------------------------ */

static void read_by_write_chunk(u32 offset, u32 count, u32 room, u32 segments)
{
	const Octets expected = Nfs::data(offset, count);
	const u32 length = static_cast<u32>(expected.size());
	const u32 each = (room + segments - 1) / segments;
	Peer p = Peer::open();
	Nfs nfs(p);
	Region to(p.link(), room, Access::Write);
	std::vector<Words> offered;
	std::vector<u32> lengths;
	u32 left = length;

	for (u32 at = 0; at < room; at += each) {
		const u32 here = std::min(each, room - at);

		offered.push_back(to.segment(at, here));
		lengths.push_back(std::min(here, left));
		left -= lengths.back();
	}
	const Rpc r = nfs.call(Nfs::read("data", offset, count).getattr(),
			       Lists().write(offered));
	const auto results = good(r, { true });
	EXPECT_EQ(results.at(2).length, length);
	ASSERT_EQ(r.writes.size(), 1u);
	EXPECT_FALSE(r.reply);
	returned(r.writes[0], offered, lengths);
	EXPECT_EQ(to.content(0, length), expected);
	/* No byte of XDR padding, and nothing else (section 4.5.2.1). */
	EXPECT_TRUE(to.untouched_from(length));
	p.expect_works();
}

TEST(server_write_chunk, filled)
{
	read_by_write_chunk(0, 40000, 40000, 1);
}

TEST(server_write_chunk, no_padding)
{
	read_by_write_chunk(0, 20001, 20001, 1);
	read_by_write_chunk(1, 20002, 20004, 1);
}

TEST(server_write_chunk, short_result)
{
	read_by_write_chunk(Nfs::kSize - 1001, 20000, 20000, 1);
}

TEST(server_write_chunk, of_several_segments)
{
	read_by_write_chunk(5, 50001, 50001, 7);
}

TEST(server_write_chunk, of_several_segments_not_all_used)
{
	read_by_write_chunk(5, 20001, 60000, 6);
}

TEST(server_write_chunk, nothing_to_read)
{
	Peer p = Peer::open();
	Nfs nfs(p);
	Region to(p.link(), 4096, Access::Write);
	const Rpc r = nfs.call(Nfs::read("empty", 0, 4096).getattr(),
			       Lists().write({ to.segment() }));

	EXPECT_EQ(good(r, { true }).at(2).length, 0u);
	ASSERT_EQ(r.writes.size(), 1u);
	returned(r.writes[0], { to.segment() }, { 0 });
	EXPECT_TRUE(to.untouched_from(0));
	p.expect_works();
}

/* A Call that fails returns the chunk unused. */
TEST(server_write_chunk, no_result)
{
	Peer p = Peer::open();
	Nfs nfs(p);
	Region to(p.link(), 4096, Access::Write);
	const Rpc r = nfs.call(Nfs::read("not there", 0, 4096),
			       Lists().write({ to.segment() }));

	EXPECT_EQ(Nfs::results(r.stream).back().status, kOpenNoent);
	ASSERT_EQ(r.writes.size(), 1u);
	returned(r.writes[0], { to.segment() }, { 0 });
	EXPECT_TRUE(to.untouched_from(0));
	p.expect_works();
}

/*
 * nfsd puts the data of a second READ in the right page only if it begins that
 * page: the first one is of this size, and 16 bytes of results lie between.
 */
static constexpr u32 kFirst = 4096 - 16 - 3;

static Compound two_reads_and_a_link()
{
	return Nfs::read("data", 0, kFirst)
		.read(100, 6001)
		.root()
		.lookup("link")
		.readlink()
		.getattr();
}

/* Section 5.1.1 of the binding: it may be offered, and is not for this. */
TEST(server_write_chunk, not_for_read_plus)
{
	const u32 size = 20000;
	Peer p = Peer::open();
	Nfs nfs(p);
	Session session(p, 2, [](const Rpc &) { FAIL() << "no callbacks"; });
	Region to(p.link(), size, Access::Write);
	Lists lists;

	lists.write({ to.segment() });
	const Words all = session.compound(
		{ { kPutrootfh },
		  { kLookup, 4, 0x64617461 /* data */ },
		  { kReadPlus, 0, 0, 0, 0, 0, 0, size } },
		lists);
	/* After SEQUENCE, PUTROOTFH and LOOKUP: not at the end, one of data. */
	const Words result(all.begin() + 11 + 2 + 2, all.end());
	const Words first = { kReadPlus, 0, 0, 1, 0, 0, 0, size };
	ASSERT_EQ(result.size(), first.size() + size / 4);
	EXPECT_EQ(Words(result.begin(), result.begin() + 8), first);
	EXPECT_EQ(Words(result.begin() + 8, result.end()),
		  words(Nfs::data(0, size)));
	ASSERT_EQ(session.reply().writes.size(), 1u);
	returned(session.reply().writes[0], { to.segment() }, { 0 });
	EXPECT_TRUE(to.untouched_from(0));
	p.expect_works();
}

TEST(server_write_chunk, one_for_each_result)
{
	const u32 link = sizeof("where/ever") - 1;
	Peer p = Peer::open();
	Nfs nfs(p);
	Region a(p.link(), 5000, Access::Write),
		b(p.link(), 7000, Access::Write);
	Region c(p.link(), 1024, Access::Write),
		d(p.link(), 512, Access::Write);
	const Rpc r = nfs.call(two_reads_and_a_link(),
			       Lists().write({ a.segment() })
				       .write({ b.segment() })
				       .write({ c.segment() })
				       .write({ d.segment() }));

	good(r, { true, true, true });
	ASSERT_EQ(r.writes.size(), 4u);
	returned(r.writes[0], { a.segment() }, { kFirst });
	returned(r.writes[1], { b.segment() }, { 6001 });
	returned(r.writes[2], { c.segment() }, { link });
	returned(r.writes[3], { d.segment() }, { 0 });
	EXPECT_TRUE(a.content(0, kFirst) == Nfs::data(0, kFirst));
	EXPECT_TRUE(b.content(0, 6001) == Nfs::data(100, 6001));
	EXPECT_EQ(c.content(0, link), Octets(Nfs::kLink, Nfs::kLink + link));
	EXPECT_TRUE(a.untouched_from(kFirst));
	EXPECT_TRUE(b.untouched_from(6001));
	EXPECT_TRUE(c.untouched_from(link));
	EXPECT_TRUE(d.untouched_from(0));
	p.expect_works();
}

TEST(server_write_chunk, an_empty_one_leaves_its_result_in_the_stream)
{
	const u32 link = sizeof("where/ever") - 1;
	Peer p = Peer::open();
	Nfs nfs(p);
	Region a(p.link(), 5000, Access::Write),
		c(p.link(), 1024, Access::Write);
	const Rpc r = nfs.call(two_reads_and_a_link(),
			       Lists().write({ a.segment() })
				       .write({})
				       .write({ c.segment() }));

	const auto results = good(r, { true, false, true });
	ASSERT_EQ(r.writes.size(), 3u);
	returned(r.writes[0], { a.segment() }, { kFirst });
	returned(r.writes[1], {}, {});
	returned(r.writes[2], { c.segment() }, { link });
	EXPECT_TRUE(results.at(3).data == Nfs::data(100, 6001));
	EXPECT_EQ(c.content(0, link), Octets(Nfs::kLink, Nfs::kLink + link));
	EXPECT_TRUE(a.untouched_from(kFirst));
	EXPECT_TRUE(c.untouched_from(link));
	p.expect_works();
}

TEST(server_write_chunk, fewer_than_results)
{
	Peer p = Peer::open();
	Nfs nfs(p);
	Region a(p.link(), 5000, Access::Write);
	const Rpc r = nfs.call(two_reads_and_a_link(),
			       Lists().write({ a.segment() }));
	const auto results = good(r, { true, false, false });

	ASSERT_EQ(r.writes.size(), 1u);
	EXPECT_TRUE(results.at(3).data == Nfs::data(100, 6001));
	EXPECT_EQ(results.at(6).length, sizeof("where/ever") - 1);
	p.expect_works();
}

TEST(server_write_chunk, too_small)
{
	Peer p = Peer::open();
	Nfs nfs(p);
	Region a(p.link(), 5000, Access::Write),
		b(p.link(), 6000, Access::Write);
	u32 xid =
		nfs.send(two_reads_and_a_link(),
			 Lists().write({ a.segment() }).write({ b.segment() }));

	p.expect_error(xid, { RPCRDMA2_ERR_WRITE_RESOURCE, 2, 6001 });
	xid = nfs.send(
		Nfs::read("data", 0, 5001),
		Lists().write({ a.segment(0, 2000), a.segment(2000, 3000) }));
	p.expect_error(xid, { RPCRDMA2_ERR_WRITE_RESOURCE, 1, 5001 });
	p.expect_works();
}

/*
 * All that nfsd takes at once, in as many segments as can be: 1 MiB, from Linux 6.16 on 4 MiB,
 * since wire_server.sh has asked for that.
 */
TEST(server_write_chunk, the_largest_write_and_read)
{
	Peer p = Peer::open();
	Nfs nfs(p);
	const Octets says =
		good(nfs.call(Compound().root().largest())).at(1).data;
	u32 major = 0, minor = 0, size = 0;
	char dot;

	std::ifstream("/proc/sys/kernel/osrelease") >> major >> dot >> minor;
	std::ifstream("/proc/fs/nfsd/max_block_size") >> size;
	ASSERT_EQ(size,
		  std::make_pair(major, minor) >= std::make_pair(6u, 16u) ?
			  4u << 20 :
			  1u << 20);
	EXPECT_EQ(words(says), (Words{ 0, size, 0, size }));

	Octets data(size);
	for (u32 i = 0; i < size; i++)
		data[i] = static_cast<u8>(i * 7 + (i >> 8) * 13 + (i >> 16));
	Region from(p.link(), data), to(p.link(), size, Access::Write);

	Nfs::create("largest");
	Compound c = Nfs::file("largest").write(0, size);
	const u32 each = size / RPCRDMA_MAX_SEGMENTS;
	std::vector<Words> segments;
	Lists lists;
	for (u32 at = 0; at < size; at += each) {
		lists.read(c.position(), from.segment(at, each));
		segments.push_back(to.segment(at, each));
	}
	good(nfs.call(c, lists));
	EXPECT_TRUE(Nfs::written("largest") == data);
	const Rpc r = nfs.call(Nfs::read("largest", 0, size),
			       Lists().write(segments));
	EXPECT_EQ(good(r, { true }).back().length, size);
	EXPECT_TRUE(to.content(0, size) == data);
	p.expect_works();
}

TEST(server_write_chunk, with_a_read_chunk)
{
	const Octets data = Nfs::data(2, 20003);
	Peer p = Peer::open();
	Nfs nfs(p);
	Region from(p.link(), data), to(p.link(), 20003, Access::Write);

	Nfs::create("both");
	Compound c = Nfs::file("both").write(0, 20003);
	const u32 position = c.position();
	const Rpc r = nfs.call(
		c.read(0, 20003),
		Lists().read(position, from.segment()).write({ to.segment() }));
	EXPECT_EQ(good(r, { true }).back().length, 20003u);
	EXPECT_TRUE(to.content(0, 20003) == data);
	EXPECT_TRUE(to.untouched_from(20003));
	p.expect_works();
}

/* ------------------------------------------------------------------ */
/* Special Format (section 4.4.3)                                     */
/* ------------------------------------------------------------------ */

TEST(server_call_chunk, alone)
{
	Peer p = Peer::open();
	const u32 xid = p.new_xid();
	Region stream(p.link(), unit::octets(null_call(xid)));

	p.send(call_external(xid, { stream.segment() }));
	EXPECT_TRUE(is_null_reply(p.reply(xid)));
	p.expect_works();
}

TEST(server_call_chunk, of_several_segments)
{
	Peer p = Peer::open();
	const u32 xid = p.new_xid();
	const Octets data = Nfs::data(9, 30002);
	Compound c = Nfs::file("special").write(0, 30002).data(data).getattr();
	const Octets message = c.message(xid);
	const u32 size = static_cast<u32>(message.size());
	Region stream(p.link(), message);

	Nfs::create("special");
	p.send(call_external(xid,
			     { stream.segment(0, 5), stream.segment(5, 9999),
			       stream.segment(10004, size - 10004) }));
	good(p.reply(xid));
	EXPECT_TRUE(Nfs::written("special") == data);
	p.expect_works();
}

TEST(server_call_chunk, with_a_read_chunk)
{
	Peer p = Peer::open();
	const u32 xid = p.new_xid();
	const Octets data = Nfs::data(9, 30001);
	Compound c = Nfs::file("special").write(0, 30001);
	const u32 position = c.position();
	const Octets message = c.getattr().message(xid);
	const u32 size = static_cast<u32>(message.size());
	Region stream(p.link(), message), from(p.link(), data);

	Nfs::create("special");
	p.send(call_external(
		xid, { stream.segment(0, 40), stream.segment(40, size - 40) },
		Lists().read(position, from.segment(0, 10000))
			.read(position, from.segment(10000, 20001))));
	good(p.reply(xid));
	EXPECT_TRUE(Nfs::written("special") == data);
	p.expect_works();
}

TEST(server_call_chunk, with_write_and_reply_chunks)
{
	Peer p = Peer::open();
	const u32 xid = p.new_xid();
	Nfs nfs(p);
	Region stream(p.link(),
		      Nfs::read("data", 0, 20001).getattr().message(xid));
	Region to(p.link(), 20001, Access::Write);
	Region reply(p.link(), 30000, Access::Write);

	p.send(call_external(xid, { stream.segment() },
			     Lists().write({ to.segment() })
				     .reply_chunk({ reply.segment() })));
	const Rpc r = p.reply(xid);
	good(r, { true });
	EXPECT_FALSE(r.external);
	EXPECT_TRUE(to.content(0, 20001) == Nfs::data(0, 20001));
	EXPECT_TRUE(to.untouched_from(20001));
	EXPECT_TRUE(reply.untouched_from(0));
	p.expect_works();
}

/* The XID and the direction inside are looked at when they have been read. */
TEST(server_call_chunk, its_first_words_are_checked)
{
	Peer p = Peer::open();
	const u32 xid = p.new_xid();
	Words reply = null_call(xid);

	reply[1] = RPCRDMA_REPLY;
	Region other(p.link(), unit::octets(null_call(xid + 1000)));
	Region backwards(p.link(), unit::octets(reply));

	p.send(call_external(xid, { other.segment() }));
	p.expect_error(xid, { RPCRDMA2_ERR_BAD_XDR });
	p.send(call_external(xid, { backwards.segment() }));
	p.expect_error(xid, { RPCRDMA2_ERR_BAD_XDR });
	p.expect_works();
}

TEST(server_reply_chunk, not_used_when_the_reply_fits)
{
	Peer p = Peer::open();
	Nfs nfs(p);
	Region reply(p.link(), 30000, Access::Write);
	const Rpc r = nfs.call(Nfs::read("data", 0, 2000),
			       Lists().reply_chunk({ reply.segment() }));

	EXPECT_FALSE(r.external);
	EXPECT_TRUE(Nfs::read_result(r) == Nfs::data(0, 2000));
	EXPECT_TRUE(reply.untouched_from(0));
	p.expect_works();
}

static void read_by_reply_chunk(u32 room, const std::vector<u32> &segments)
{
	Peer p = Peer::open();
	Nfs nfs(p);
	Region reply(p.link(), room, Access::Write);
	std::vector<Words> offered;
	u32 at = 0;

	for (const u32 length : segments) {
		offered.push_back(reply.segment(at, length));
		at += length;
	}
	Rpc r = nfs.call(Nfs::read("data", 0, 20001).getattr(),
			 Lists().reply_chunk(offered));
	ASSERT_TRUE(r.external);
	ASSERT_TRUE(r.reply);
	EXPECT_TRUE(r.writes.empty());
	u32 length = 0;
	for (const Segment &s : *r.reply)
		length += s.length;
	std::vector<u32> lengths;
	u32 left = length;
	for (const u32 most : segments) {
		lengths.push_back(std::min(most, left));
		left -= lengths.back();
	}
	returned(*r.reply, offered, lengths);
	ASSERT_LE(length, room);
	r.stream = reply.content(0, length);
	EXPECT_EQ(r.word(0), r.xid);
	EXPECT_TRUE(good(r).at(2).data == Nfs::data(0, 20001));
	EXPECT_TRUE(reply.untouched_from(length));
	p.expect_works();
}

TEST(server_reply_chunk, used_when_it_does_not)
{
	read_by_reply_chunk(30000, { 30000 });
}

TEST(server_reply_chunk, of_several_segments)
{
	read_by_reply_chunk(30000, { 7, 10000, 13, 9980, 10000 });
}

TEST(server_reply_chunk, too_small)
{
	Peer p = Peer::open();
	Nfs nfs(p);
	Region reply(p.link(), 20000, Access::Write);
	const Rpc r = nfs.call(Nfs::read("data", 0, 20001),
			       Lists().reply_chunk({ reply.segment() }));

	EXPECT_FALSE(r.external);
	EXPECT_GT(r.pieces, 1u);
	EXPECT_TRUE(Nfs::read_result(r) == Nfs::data(0, 20001));
	EXPECT_TRUE(reply.untouched_from(0));
	p.expect_works();
}

TEST(server_reply_chunk, empty)
{
	Peer p = Peer::open();
	Nfs nfs(p);
	const Rpc r =
		nfs.call(Nfs::read("data", 0, 20001), Lists().reply_chunk({}));

	EXPECT_FALSE(r.external);
	EXPECT_TRUE(Nfs::read_result(r) == Nfs::data(0, 20001));
	p.expect_works();
}

TEST(server_reply_chunk, with_a_write_chunk)
{
	Peer p = Peer::open();
	Nfs nfs(p);
	Region reply(p.link(), 30000, Access::Write);
	Region to(p.link(), kFirst, Access::Write);
	Rpc r = nfs.call(Nfs::read("data", 0, kFirst).read(100, 20001),
			 Lists().write({ to.segment() })
				 .reply_chunk({ reply.segment() }));

	ASSERT_TRUE(r.external);
	ASSERT_EQ(r.writes.size(), 1u);
	returned(r.writes[0], { to.segment() }, { kFirst });
	ASSERT_EQ(r.reply->size(), 1u);
	r.stream = reply.content(0, r.reply->at(0).length);
	EXPECT_TRUE(good(r, { true, false }).back().data ==
		    Nfs::data(100, 20001));
	EXPECT_TRUE(to.content(0, kFirst) == Nfs::data(0, kFirst));
	EXPECT_TRUE(to.untouched_from(kFirst));
	p.expect_works();
}

/* ------------------------------------------------------------------ */
/* Remote invalidation (section 6.5)                                  */
/* ------------------------------------------------------------------ */

TEST(server_invalidation, just_the_handle_that_was_named)
{
	Peer p = Peer::open();
	Nfs nfs(p);

	for (u32 named = 0; named < 2; named++) {
		Region a(p.link(), 6000, Access::Write, true);
		Region b(p.link(), 7000, Access::Write, true);
		const u32 handle = named ? b.handle() : a.handle();
		const Lists lists =
			Lists().write({ a.segment() }).write({ b.segment() });
		const Rpc r = nfs.call(two_reads_and_a_link(), lists, handle);

		good(r, { true, true, false });
		ASSERT_TRUE(r.invalidated);
		EXPECT_EQ(*r.invalidated, handle);
		/* The other one is as it was. */
		const Region &left = named ? a : b;
		const Rpc again = nfs.call(Nfs::read("data", 50, 5001),
					   Lists().write({ left.segment() }));
		good(again, { true });
		EXPECT_FALSE(again.invalidated);
		EXPECT_TRUE(left.content(0, 5001) == Nfs::data(50, 5001));
	}
	p.expect_works();
}

TEST(server_invalidation, none_unless_asked_for)
{
	Peer p = Peer::open();
	Nfs nfs(p);
	Region a(p.link(), 6000, Access::Write, true);
	const Rpc r = nfs.call(Nfs::read("data", 0, 5001),
			       Lists().write({ a.segment() }));

	good(r, { true });
	EXPECT_FALSE(r.invalidated);
	p.expect_works();
}

TEST(server_invalidation, of_a_read_chunk)
{
	const Octets data = Nfs::data(0, 20000);
	Peer p = Peer::open();
	Nfs nfs(p);
	Region from(p.link(), data, true);

	Nfs::create("invalidate");
	Compound c = Nfs::file("invalidate").write(0, 20000);
	const Rpc r = nfs.call(c, Lists().read(c.position(), from.segment()),
			       from.handle());
	good(r);
	ASSERT_TRUE(r.invalidated);
	EXPECT_EQ(*r.invalidated, from.handle());
	EXPECT_TRUE(Nfs::written("invalidate") == data);
	p.expect_works();
}

/* The parts before the last are checked where they are put together. */
TEST(server_invalidation, with_the_last_part_of_a_reply)
{
	Peer p = Peer::open();
	Nfs nfs(p);
	Region a(p.link(), 6000, Access::Write, true);
	const Rpc r = nfs.call(Nfs::read("data", 0, kFirst).read(100, 30000),
			       Lists().write({ a.segment() }), a.handle());

	EXPECT_GT(r.pieces, 1u);
	EXPECT_TRUE(good(r, { true, false }).back().data ==
		    Nfs::data(100, 30000));
	ASSERT_TRUE(r.invalidated);
	EXPECT_EQ(*r.invalidated, a.handle());
	p.expect_works();
}

TEST(server_invalidation, of_a_reply_chunk)
{
	Peer p = Peer::open();
	Nfs nfs(p);
	Region reply(p.link(), 30000, Access::Write, true);
	const Rpc r = nfs.call(Nfs::read("data", 0, 20001),
			       Lists().reply_chunk({ reply.segment() }),
			       reply.handle());

	ASSERT_TRUE(r.external);
	ASSERT_TRUE(r.invalidated);
	EXPECT_EQ(*r.invalidated, reply.handle());
	p.expect_works();
}

TEST(server_invalidation, not_by_an_error)
{
	Peer p = Peer::open();
	Nfs nfs(p);
	Region a(p.link(), 6000, Access::Write, true);
	const u32 xid = nfs.send(Nfs::read("data", 0, 6001),
				 Lists().write({ a.segment() }), a.handle());

	p.expect_error(xid, { RPCRDMA2_ERR_WRITE_RESOURCE, 1, 6001 });
	/* The memory is as reachable as before. */
	const Rpc r = nfs.call(Nfs::read("data", 0, 6000),
			       Lists().write({ a.segment() }), a.handle());
	good(r, { true });
	EXPECT_TRUE(r.invalidated);
	p.expect_works();
}

/* ------------------------------------------------------------------ */
/* RDMA operations that fail (section 7.3)                            */
/* ------------------------------------------------------------------ */

/* The connection may end before the Send that is the reason completes here. */
static void ends(Peer &p, const std::function<void()> &send)
{
	try {
		send();
	} catch (const Failure &) {
		EXPECT_FALSE(p.link().alive());
	}
	p.expect_closed();
}

/* This client says that its Receives are as large as they usually are. */
static Peer open_with(u32 receive_size)
{
	return Peer::open(unit::property(2, Link::kReceiveSize), receive_size);
}

/* @connections: how many have to end first. */
static void ends_and_is_remembered(const std::function<void(Peer &, u32)> &send,
				   u32 connections = 1,
				   u32 receive_size = Link::kReceiveSize)
{
	const u32 xid = Peer::new_xid();

	for (u32 i = 0; i < connections; i++) {
		Peer p = open_with(receive_size);

		ends(p, [&] { send(p, xid); });
	}

	/* The same Call on the next connection does no harm to it. */
	Peer q = open_with(receive_size);
	send(q, xid);
	q.expect_error(xid, { RPCRDMA2_ERR_SYSTEM });
	send(q, xid);
	q.expect_error(xid, { RPCRDMA2_ERR_SYSTEM });
	q.expect_works();
}

TEST(server_rdma_error, of_a_read_chunk)
{
	Compound c = Nfs::file("data").write(0, 20000);

	ends_and_is_remembered([&](Peer &p, u32 xid) {
		p.send(call_header(xid,
				   Lists().read(c.position(),
						{ 0xbad, 20000, 0, 0x1000 })),
		       c.message(xid));
	});
}

/* A WRITE in two parts, of which the second has a Read chunk that is nowhere. */
static void begin_bad_write(Peer &p, u32 xid, const Octets &stream)
{
	p.send(unit::prefix(xid, RPCRDMA2_CALL_MIDDLE) +
		       Words{ static_cast<u32>(stream.size()) - 32 },
	       Octets(stream.begin(), stream.begin() + 32));
}

static void bad_write(Peer &p, u32 xid)
{
	Compound c = Nfs::file("data").write(0, 20000);
	const Octets stream = c.message(xid);

	begin_bad_write(p, xid, stream);
	p.send(call_header(xid, Lists().read(c.position(),
					     { 0xbad, 20000, 0, 0x1000 })),
	       Octets(stream.begin() + 32, stream.end()));
}

/* There is one answer to all parts. */
TEST(server_rdma_error, of_a_read_chunk_of_a_continued_call)
{
	ends_and_is_remembered(bad_write);
}

/* Nothing more of it has to come: another Call may. */
TEST(server_rdma_error, of_a_continued_call_that_is_given_up_then)
{
	Peer p = Peer::open();
	const u32 xid = p.new_xid();

	ends(p, [&] { bad_write(p, xid); });

	Peer q = Peer::open();
	begin_bad_write(q, xid, Nfs::file("data").write(0, 20000).message(xid));
	q.expect_error(xid, { RPCRDMA2_ERR_SYSTEM });
	q.expect_works();
}

TEST(server_rdma_error, of_a_write_chunk)
{
	const Compound c = Nfs::read("data", 0, 20000);
	Peer p = Peer::open();
	Nfs nfs(p);

	ends_and_is_remembered([&](Peer &q, u32 xid) {
		q.send(call_header(xid, Lists().write({ { 0xbad, 20000, 0,
							  0x1000 } })),
		       c.message(xid));
	});
	p.expect_works();
}

/* Several clients can have one address, and so one XID at the same time. */
TEST(server_rdma_error, harms_no_other_call_of_that_xid)
{
	const Compound c = Nfs::read("data", 0, 20000);
	const u32 xid = Peer::new_xid();
	Peer p = Peer::open();

	ends(p, [&] {
		p.send(call_header(xid, Lists().write({ { 0xbad, 20000, 0,
							  0x1000 } })),
		       c.message(xid));
	});

	Peer q = Peer::open();
	const Compound other = Nfs::read("data", 0, 50);
	q.send(call_header(xid, {}), other.message(xid));
	EXPECT_EQ(q.reply(xid).xid, xid);
	q.send(call_header(xid, Lists().write({ { 0xbad, 20000, 0, 0x1000 } })),
	       c.message(xid));
	q.expect_error(xid, { RPCRDMA2_ERR_SYSTEM });
	q.expect_works();
}

TEST(server_rdma_error, of_a_call_chunk)
{
	ends_and_is_remembered([](Peer &p, u32 xid) {
		p.send(call_external(xid, { { 0xbad, 40, 0, 0x1000 } }));
	});
}

TEST(server_rdma_error, of_a_reply_chunk)
{
	const Compound c = Nfs::read("data", 0, 20000);
	Peer p = Peer::open();
	Nfs nfs(p);

	ends_and_is_remembered([&](Peer &q, u32 xid) {
		q.send(call_header(xid, Lists().reply_chunk({ { 0xbad, 40000, 0,
								0x1000 } })),
		       c.message(xid));
	});
	p.expect_works();
}

/* rxe reports it like a lack of memory, which may have been chance (D14). */
static void no_room_for_the_reply(u32 size)
{
	const Compound c = Nfs::read("data", 0, size);
	Peer p = Peer::open();
	Nfs nfs(p);

	ends_and_is_remembered(
		[&](Peer &q, u32 xid) {
			q.send(call_header(xid, {}), c.message(xid));
		},
		3, 1024);
	/* Who has room gets the Reply. */
	EXPECT_TRUE(Nfs::read_result(nfs.call(c)) == Nfs::data(0, size));
}

TEST(server_rdma_error, of_a_reply)
{
	no_room_for_the_reply(2000);
}

TEST(server_rdma_error, of_a_continued_reply)
{
	no_room_for_the_reply(40000);
}

/* Memory that is there, but not for this. */
TEST(server_rdma_error, without_the_right_to_write)
{
	Peer p = Peer::open();
	Nfs nfs(p);
	Region from(p.link(), Nfs::data(0, 20000));

	ends(p, [&] {
		nfs.send(Nfs::read("data", 100, 20000),
			 Lists().write({ from.segment() }));
	});
	EXPECT_TRUE(from.content(0, 20000) == Nfs::data(0, 20000));
	Peer::open().expect_works();
}
