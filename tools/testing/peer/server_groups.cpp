// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Calls by groups of Sends, their data placed by Sends (rtrext, D20): what our server does
 * with those that are in order, and with those that are not; and how its Replies carry out
 * what a Call directs.
 */
#include "groups.h"
#include "headers.h"
#include "nfs.h"
#include "nfs3.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

using namespace peer;

namespace
{

/*
 * As long as this exists new connections have the extension, and Receives of kPages pages: they are
 * not made larger.
 */
class server_groups : public testing::Test {
protected:
	const Parameter rtrext{ "rtrext", 1 };
	const Parameter grow{ "grow", 0 };
};

Peer open()
{
	Peer p = Peer::open({ 1, kSupport, 4, kTakesContinues });

	p.speak_extensions();
	return p;
}

/* The buffer segments from @first on. */
Words numbers(u32 first, u32 count)
{
	Words w(count);

	std::iota(w.begin(), w.end(), first);
	return w;
}

Words placed(u32 position, u32 length, u32 offset, const Words &segments)
{
	return Words{ position, length, kTbsn, offset,
		      static_cast<u32>(segments.size()) } +
	       segments;
}

Words request(u32 xid, const Words &items, u32 count, u32 stream)
{
	return unit::prefix(xid, kRequest) + items +
	       Words{ 0, count, 1, stream };
}

Words next_send(u32 xid, u32 number, u32 stream = 0, u32 began = kRequest)
{
	return unit::prefix(xid, kContinue) + Words{ number, began, stream };
}

/* What is behind the header: the stream, padding, and the data. */
Octets body(const Words &header, const Octets &stream, const Octets &data)
{
	Octets o = stream;

	o.resize(kHead - 4 * header.size());
	o.insert(o.end(), data.begin(), data.end());
	return o;
}

Octets part(const Octets &data, u32 send, u32 pages = kPages)
{
	const u32 from = send * pages * kPage;
	const u32 to = std::min<u32>(from + pages * kPage,
				     static_cast<u32>(data.size()));

	return { data.begin() + from, data.begin() + to };
}

/* A WRITE of all of @data to the file "written". */
struct Write {
	explicit Write(Peer &p, const Octets &content)
		: xid(p.new_xid())
		, data(content)
		, stream(Nfs::file("written")
				 .write(0, static_cast<u32>(content.size()))
				 .message(xid))
		, sends((static_cast<u32>(data.size()) + kPages * kPage - 1) /
			(kPages * kPage))
	{
	}
	[[nodiscard]] Words item() const
	{
		const u32 length = static_cast<u32>(data.size());

		return Words{ 1 } +
		       placed(static_cast<u32>(stream.size()), length, 0,
			      numbers(0, (length + kPage - 1) / kPage));
	}
	void first(Peer &p, const Words &items) const
	{
		const Words header = request(xid, items, sends,
					     static_cast<u32>(stream.size()));

		p.send(header, body(header, stream, part(data, 0)));
	}
	void first(Peer &p) const
	{
		first(p, item());
	}
	void next(Peer &p, u32 number) const
	{
		const Words header = next_send(xid, number);

		p.send(header, body(header, {}, part(data, number)));
	}
	void all(Peer &p) const
	{
		first(p);
		for (u32 i = 1; i < sends; i++)
			next(p, i);
	}

	u32 xid;
	Octets data;
	Octets stream;
	u32 sends;
};

void expect_written(Peer &p, const Write &w)
{
	for (const Result &r : Nfs::results(p.reply(w.xid).stream))
		EXPECT_EQ(r.status, 0u) << r.op;
	EXPECT_EQ(Nfs::written("written"), w.data);
}

/* Another one comes through. */
void expect_placed(Peer &p, u32 length)
{
	Nfs::create("written");
	const Write w(p, Nfs::data(11, length));

	w.all(p);
	expect_written(p, w);
}

/* A NULL call by one Send; @payload: how long it says that its stream is. */
void null_by_group(Peer &p, const Words &items, u32 count, u32 payload = 40)
{
	const u32 xid = p.new_xid();

	p.send(request(xid, items, count, payload) + null_call(xid));
}

/* The next message is a REPTERR with this code, about a Call. Return: what is behind it. */
Words reported(Peer &p, u32 code)
{
	const Message m = p.next();

	EXPECT_EQ(m.htype(), kReport) << m.describe();
	const u32 at = m.word(7) ? 11 : 8;
	EXPECT_EQ(m.word(5), u32{ RPCRDMA_CALL });
	EXPECT_EQ(m.word(at), code) << m.describe();
	return m.words(at + 1);
}

} // namespace

TEST_F(server_groups, announced)
{
	Peer p = open();

	EXPECT_EQ(p.property(kSupport), kTakesRequests | kTakesContinues);
	EXPECT_EQ(p.property(kRequestLimit), kMostSends);
	EXPECT_EQ(p.property(kReplyLimit), kMostSends);
	EXPECT_EQ(p.property(2), kHead + kPages * kPage);
	p.expect_works();
}

/* A peer without the extension works as ever, with Receives of that kind. */
TEST_F(server_groups, not_announced)
{
	Peer p = Peer::open();
	Nfs nfs(p);

	Nfs::create("written");
	const Octets data = Nfs::data(5, 5000);
	Compound c = Nfs::file("written").write(0, 5000);
	(void)nfs.call(c.data(data));
	EXPECT_EQ(Nfs::written("written"), data);
	refused(p, request(p.new_xid(), { 0 }, 1, 8) + Words{ 1, 0 },
		{ RPCRDMA2_ERR_INVAL_HTYPE });
}

/* Its head would have less than a page could; the header with what authenticates may not fit. */
TEST_F(server_groups, a_message_of_less_than_a_page_is_in_one_piece)
{
	static constexpr u32 kLength = 3000;
	Peer p = open();
	Nfs nfs(p);

	Nfs::create("written");
	const u64 before = total("bytes copied", "received");
	const Octets data = Nfs::data(5, kLength);
	Compound c = Nfs::file("written").write(0, kLength);
	(void)nfs.call(c.data(data));
	EXPECT_EQ(Nfs::written("written"), data);
	EXPECT_GE(total("bytes copied", "received") - before, kLength);
}

TEST_F(server_groups, data)
{
	Peer p = open();
	const Nfs nfs(p);

	for (const u32 length : { 1u, 4095u, 4096u, 4097u, 8192u, 8196u, 30000u,
				  65536u, kMostSends * kPages * kPage })
		expect_placed(p, length);
	p.expect_works();
}

namespace
{

/* Of any length. */
Octets much_data(u32 length)
{
	Octets o;

	for (u32 i = 0; o.size() < length; i++) {
		const Octets more = Nfs::data(
			i, std::min<u32>(Nfs::kSize - i,
					 length - static_cast<u32>(o.size())));

		o.insert(o.end(), more.begin(), more.end());
	}
	return o;
}

/* A WRITE of so many octets to Receives of so many pages. */
void expect_placed_in_pages(Peer &p, u32 length, u32 pages)
{
	const u32 sends = (length + pages * kPage - 1) / (pages * kPage);

	Nfs::create("written");
	const Write w(p, much_data(length));
	for (u32 n = 0; n < sends; n++) {
		const Words header =
			n ? next_send(w.xid, n) :
			    request(w.xid, w.item(), sends,
				    static_cast<u32>(w.stream.size()));

		p.send(header, body(header, n ? Octets() : w.stream,
				    part(w.data, n, pages)));
	}
	expect_written(p, w);
}

} // namespace

/* The server says at once that its Receives have what others grow to, and so do its Sends. */
TEST_F(server_groups, data_in_large_receives)
{
	for (const u32 pages : { 3u, 7u }) {
		const Parameter larger("grow", (pages + 1) * kPage);
		Peer p = open();
		const Nfs nfs(p);

		EXPECT_EQ(p.property(2), kHead + pages * kPage);
		for (const u32 length : { 4096u, pages * kPage, 30000u, 65536u,
					  kMostSends * pages * kPage })
			expect_placed_in_pages(p, length, pages);
		/* The server has copied no data of the largest one. */
		const u64 before = total("bytes copied", "received");
		expect_placed_in_pages(p, kMostSends * pages * kPage, pages);
		EXPECT_LT(total("bytes copied", "received") - before, 2048u);
		/* A segment that is one too many. */
		null_by_group(p, Words{ 1 } + placed(40, 16, 0, { pages }), 1);
		reported(p, kBadTbsn);
		p.expect_works();
	}
}

/* It is copied then: nfsd gets whole pages otherwise. */
TEST_F(server_groups, data_elsewhere)
{
	Peer p = open();
	const Nfs nfs(p);

	for (const u32 offset : { 0u, 4u, 1000u }) {
		Nfs::create("written");
		const Write w(p, Nfs::data(3, kPage - offset));
		const Words items =
			Words{ 1 } + placed(static_cast<u32>(w.stream.size()),
					    kPage - offset, offset, { 1 });
		const Words header = request(w.xid, items, 1,
					     static_cast<u32>(w.stream.size()));

		Octets pages(kPage + offset);
		pages.insert(pages.end(), w.data.begin(), w.data.end());
		p.send(header, body(header, w.stream, pages));
		expect_written(p, w);
	}
}

/* A stream without an item, in several Sends. */
TEST_F(server_groups, continued)
{
	Peer p = open();
	const Nfs nfs(p);

	Nfs::create("written");
	const u32 xid = p.new_xid();
	const Octets data = Nfs::data(2, 12000);
	Compound c = Nfs::file("written").write(0, 12000);
	const Octets stream = c.data(data).message(xid);
	const u32 half = 6000;
	const u32 rest = static_cast<u32>(stream.size()) - half;

	p.send(request(xid, { 0 }, 2, half),
	       Octets(stream.begin(), stream.begin() + half));
	p.send(next_send(xid, 1, rest),
	       Octets(stream.begin() + half, stream.end()));
	EXPECT_EQ(p.reply(xid).xid, xid);
	EXPECT_EQ(Nfs::written("written"), data);
}

/* More groups than the window has room for, one after the other. */
TEST_F(server_groups, many)
{
	Peer p = open();
	const Nfs nfs(p);

	for (u32 i = 0; i < 40; i++)
		expect_placed(p, 20000 + i);
}

/* ------------------------------------------------------------------ */
/* Items that are to be read by RDMA                                  */
/* ------------------------------------------------------------------ */

namespace
{

Words in_memory(u32 position, u32 length, const std::vector<Words> &segments)
{
	Words w = { position, length, kExrw,
		    static_cast<u32>(segments.size()) };

	for (const Words &s : segments)
		w = w + s;
	return w;
}

/* All of @from, in so many segments. */
std::vector<Words> segments_of(const Region &from, u32 length, u32 count)
{
	const u32 each = (length + count - 1) / count;
	std::vector<Words> all;

	for (u32 at = 0; at < length; at += each)
		all.push_back(from.segment(at, std::min(each, length - at)));
	return all;
}

/* Send this stream in a group of so many Sends, behind which nothing is placed. */
void send_stream(Peer &p, u32 xid, const Words &items, const Octets &stream,
		 u32 count)
{
	const u32 all = static_cast<u32>(stream.size());
	const u32 each = all / count & ~3U;

	for (u32 i = 0; i < count; i++) {
		const u32 from = i * each;
		const u32 to = i + 1 == count ? all : from + each;

		p.send(i ? next_send(xid, i, to - from) :
			   request(xid, items, count, to - from),
		       Octets(stream.begin() + from, stream.begin() + to));
	}
}

void expect_good(const Rpc &r)
{
	for (const Result &one : Nfs::results(r.stream))
		EXPECT_EQ(one.status, 0u) << one.op;
}

/* A WRITE of so many octets, which are in so many segments of memory. */
void expect_read(Peer &p, u32 length, u32 segments, u32 sends, bool more)
{
	const Octets data = Nfs::data(7, length);
	const Region from(p.link(), data);
	const u32 xid = p.new_xid();

	Nfs::create("written");
	Compound c = Nfs::file("written").write(0, length);
	const Words items =
		Words{ 1 } + in_memory(c.position(), length,
				       segments_of(from, length, segments));
	if (more)
		c.getattr();
	send_stream(p, xid, items, c.message(xid), sends);
	expect_good(p.reply(xid));
	EXPECT_EQ(Nfs::written("written"), data);
	EXPECT_EQ(from.content(0, length), data);
}

} // namespace

TEST_F(server_groups, memory_to_read)
{
	Peer p = open();
	const Nfs nfs(p);
	const u64 before = total("RDMA operations", "read");

	for (const u32 length : { 1u, 4095u, 4096u, 20001u, 65536u, 100000u })
		for (const bool more : { false, true })
			expect_read(p, length, 1, 1, more);
	EXPECT_EQ(total("RDMA operations", "read") - before, 12u);
	expect_read(p, 50003, 7, 1, true);
	expect_read(p, 50003, 16, 1, false);
	expect_placed(p, 20000);
	p.expect_works();
}

TEST_F(server_groups, memory_to_read_of_a_call_in_several_sends)
{
	Peer p = open();
	const Nfs nfs(p);

	for (const u32 sends : { 2u, 3u, 16u }) {
		expect_read(p, 30000, 3, sends, true);
		expect_read(p, 30001, 1, sends, false);
	}
	expect_placed(p, 20000);
}

namespace
{

/* A Call whose stream is in two Sends, and what is placed in those after them. */
struct Mixed {
	/* Data that belong at @position, which is the next place of the Call. */
	void add(Compound &c, u32 type, u32 position, const Octets &o,
		 const Region &from)
	{
		const u32 length = static_cast<u32>(o.size());
		const u32 pages = (length + kPage - 1) / kPage;

		if (!type) {
			c.data(o);
			return;
		}
		items[0]++;
		if (type == kExrw) {
			items = items + in_memory(position, length,
						  segments_of(from, length, 2));
			return;
		}
		items = items +
			placed(position, length, 0, numbers(next, pages));
		next += pages;
		data.insert(data.end(), o.begin(), o.end());
		data.resize((next - 2 * kPages) * kPage);
	}
	void send(Peer &p, u32 xid, const Octets &stream) const
	{
		const u32 all = static_cast<u32>(stream.size());
		const u32 sends = (next + kPages - 1) / kPages;
		const u32 half = all / 2 & ~3U;
		const auto middle = stream.begin() + half;

		p.send(request(xid, items, sends, half),
		       Octets(stream.begin(), middle));
		p.send(next_send(xid, 1, all - half),
		       Octets(middle, stream.end()));
		for (u32 i = 2; i < sends; i++) {
			const Words header = next_send(xid, i);

			p.send(header, body(header, {}, part(data, i - 2)));
		}
	}

	Words items = { 0 };
	Octets data;
	u32 next = 2 * kPages; /* number of a segment */
};

} // namespace

/*
 * Two WRITEs, and where the data of each are: in the stream, in segments of Receives, or in
 * memory. nfsd takes the data of the second one from the beginning of a page, here the third one
 * of the Call: see server_chunks.cpp.
 */
TEST_F(server_groups, memory_to_read_among_other_data)
{
	constexpr u32 kHeader = 36;
	constexpr u32 kSecond = 8192;
	constexpr u32 kMore = 6001;
	Peer p = open();
	const Nfs nfs(p);
	const u32 first = Nfs::file("written").write(0, 0).position();
	const u32 size = kSecond - first - kHeader - 3;
	const Octets a = Nfs::data(0, size), b = Nfs::data(size, kMore);
	const Region in_a(p.link(), a), in_b(p.link(), b);

	Octets whole = a;
	whole.insert(whole.end(), b.begin(), b.end());
	for (const u32 type : { 0u, kExrw, kTbsn })
		for (const u32 other : { 0u, kExrw, kTbsn }) {
			const u32 xid = p.new_xid();
			Compound c = Nfs::file("written").write(0, size);
			Mixed m;

			m.add(c, type, first, a, in_a);
			c.write(size, kMore);
			m.add(c, other, kSecond, b, in_b);
			Nfs::create("written");
			m.send(p, xid, c.getattr().message(xid));
			expect_good(p.reply(xid));
			EXPECT_TRUE(Nfs::written("written") == whole)
				<< type << " " << other;
		}
	p.expect_works();
}

/* Of no octets, with segments and without. */
TEST_F(server_groups, memory_to_read_that_is_empty)
{
	Peer p = open();
	const Nfs nfs(p);
	const Octets data = Nfs::data(1, 5000);
	const Region from(p.link(), data);
	const u64 before = total("RDMA operations", "read");

	for (const std::vector<Words> &segments :
	     { std::vector<Words>{}, { from.segment(0, 0) } }) {
		const u32 xid = p.new_xid();
		Compound c = Nfs::file("written");
		const Words items =
			Words{ 1 } + in_memory(c.position(), 0, segments);

		Nfs::create("written");
		c.write(0, 5000).data(data);
		send_stream(p, xid, items, c.message(xid), 1);
		expect_good(p.reply(xid));
		EXPECT_EQ(Nfs::written("written"), data);
	}
	EXPECT_EQ(total("RDMA operations", "read"), before);
}

/* More than the server fetches at one time: some wait, with all their Receives. */
TEST_F(server_groups, memory_to_read_of_calls_that_wait)
{
	constexpr u32 kCalls = 24;
	constexpr u32 kLength = 1 << 20;
	Peer p = open();
	const Nfs nfs(p);
	Octets data(kLength);
	std::vector<u32> xids;

	for (u32 i = 0; i < kLength; i++)
		data[i] = static_cast<u8>(i * 5 + (i >> 8) * 11);
	const Region from(p.link(), data);
	Nfs::create("written");
	const Compound c = Nfs::file("written").write(0, kLength);
	const Words items = Words{ 1 } + in_memory(c.position(), kLength,
						   { from.segment() });
	for (u32 i = 0; i < kCalls; i++) {
		xids.push_back(p.new_xid());
		send_stream(p, xids.back(), items, c.message(xids.back()),
			    1 + i % 2);
	}
	while (!xids.empty()) {
		const Rpc r = p.next_rpc();
		const auto found = std::find(xids.begin(), xids.end(), r.xid);

		ASSERT_NE(found, xids.end());
		xids.erase(found);
		expect_good(r);
	}
	EXPECT_TRUE(Nfs::written("written") == data);
	expect_placed(p, 20000);
}

TEST_F(server_groups, memory_to_read_that_cannot_be)
{
	Peer p = open();
	const Nfs nfs(p);
	const Region from(p.link(), Nfs::data(0, 4096));
	const u64 before = total("RDMA operations", "read");
	const auto answer = [&](const Words &items, const Words &error) {
		const u32 xid = p.new_xid();

		p.send(request(xid, items, 1, 40) + null_call(xid));
		p.expect_error(xid, error);
	};
	const auto item = [&](u32 position, u32 length) {
		return Words{ 1 } +
		       in_memory(position, length, { from.segment(0, 16) });
	};
	std::vector<Words> many(RPCRDMA_MAX_SEGMENTS + 1, from.segment(0, 4));

	/* A length that is not that of the memory, and places that are none. */
	answer(item(40, 12), kBadXdr);
	answer(item(40, 20), kBadXdr);
	answer(item(0, 16), kBadXdr);
	answer(item(38, 16), kBadXdr);
	answer(item(44, 16), kBadXdr);
	answer({ 1, 40, 16, kExrw, 0 }, kBadXdr);
	answer({ 1, 40, 16, kExrw, 1000, 1, 16, 0, 0 }, kBadXdr);
	answer(Words{ 2 } + in_memory(36, 16, { from.segment(0, 16) }) +
		       in_memory(40, 16, { from.segment(16, 16) }),
	       kBadXdr);
	/* More segments, or items, than it takes; a message that is too large. */
	answer(Words{ 1 } + in_memory(40, 4 * 17, many),
	       { RPCRDMA2_ERR_SEGMENTS, RPCRDMA_MAX_SEGMENTS });
	Words items = { RPCRDMA_MAX_CHUNKS + 1 };
	for (u32 i = 0; i <= RPCRDMA_MAX_CHUNKS; i++)
		items = items +
			in_memory(40 + 4 * i, 4, { from.segment(0, 4) });
	answer(items, { RPCRDMA2_ERR_READ_CHUNKS, RPCRDMA_MAX_CHUNKS });
	answer({ 1, 40, 1U << 30, kExrw, 1, 1, 1U << 30, 0, 0 }, kSystem);
	many.assign(8, from.segment(0, 4096));
	for (Words &s : many)
		s[1] = 1 << 20;
	answer(Words{ 1 } + in_memory(40, 8 << 20, many), kSystem);
	EXPECT_EQ(total("RDMA operations", "read"), before);
	expect_read(p, 20000, 1, 1, false);
}

/* It is not touched before the group is whole. */
TEST_F(server_groups, memory_to_read_of_a_group_that_breaks)
{
	Peer p = open();
	const Nfs nfs(p);
	const Region from(p.link(), Nfs::data(0, 20000));
	const u64 before = total("RDMA operations", "read");
	const Compound c = Nfs::file("written").write(0, 20000);
	const Words items =
		Words{ 1 } + in_memory(c.position(), 20000, { from.segment() });
	const auto begin = [&](u32 xid) {
		const Octets stream = c.message(xid);

		p.send(request(xid, items, 2, 64),
		       Octets(stream.begin(), stream.begin() + 64));
	};

	u32 xid = p.new_xid();
	begin(xid);
	p.send(next_send(xid, 3, 0));
	reported(p, kBadSeq);
	/* Its last Send ends before the item. */
	xid = p.new_xid();
	begin(xid);
	p.send(next_send(xid, 1, 0));
	p.expect_error(xid, kBadXdr);
	EXPECT_EQ(total("RDMA operations", "read"), before);
	expect_read(p, 20000, 1, 2, false);
	{
		Peer q = open();
		const Octets stream = c.message(xid);

		q.send(request(xid, items, 2, 64),
		       Octets(stream.begin(), stream.begin() + 64));
		q.link().disconnect();
	}
	expect_placed(p, 20000);
}

/* As with Read chunks: it ends the connection, and on the next one the Call is refused. */
TEST_F(server_groups, memory_to_read_that_is_not_there)
{
	const Compound c = Nfs::file("data").write(0, 20000);
	const Words items =
		Words{ 1 } +
		in_memory(c.position(), 20000, { { 0xbad, 20000, 0, 0x1000 } });

	for (const u32 sends : { 1u, 2u }) {
		const u32 xid = Peer::new_xid();
		{
			Peer p = open();
			const Nfs nfs(p);

			try {
				send_stream(p, xid, items, c.message(xid),
					    sends);
			} catch (const Failure &) {
				EXPECT_FALSE(p.link().alive());
			}
			p.expect_closed();
		}
		Peer q = open();
		for (u32 i = 0; i < 2; i++) {
			send_stream(q, xid, items, c.message(xid), sends);
			q.expect_error(xid, kSystem);
		}
		expect_placed(q, 20000);
	}
}

/* ------------------------------------------------------------------ */
/* What is not in order                                               */
/* ------------------------------------------------------------------ */

TEST_F(server_groups, placed_badly)
{
	Peer p = open();
	const Nfs nfs(p);
	const auto item = [](u32 length, u32 offset, const Words &segments) {
		return Words{ 1 } + placed(40, length, offset, segments);
	};

	/* One that is not there, one that is named twice, too many and too few. */
	null_by_group(p, item(16, 0, { 2 }), 1);
	reported(p, kBadTbsn);
	null_by_group(p, item(2 * kPage, 0, { 0, 0 }), 1);
	reported(p, kBadTbsn);
	null_by_group(p, item(16, 0, { 0, 1 }), 1);
	reported(p, kBadTbsn);
	null_by_group(p, item(kPage + 1, 0, { 0 }), 1);
	reported(p, kBadTbsn);
	null_by_group(p, item(16, kPage, { 0 }), 1);
	reported(p, kBadOff);
	/* The data are not there. */
	null_by_group(p, item(16, 0, { 0 }), 1);
	reported(p, kBadTbsn);
	/* The stream is longer than the Send. */
	null_by_group(p, { 0 }, 1, 44);
	reported(p, kBadPl);
	/* Of data that are there, no file gets any. */
	Nfs::create("written");
	const Write w(p, Nfs::data(0, 2 * kPage));
	w.first(p, Words{ 1 } + placed(static_cast<u32>(w.stream.size()),
				       2 * kPage, 0, { 0, 0 }));
	reported(p, kBadTbsn);
	EXPECT_TRUE(Nfs::written("written").empty());
	expect_placed(p, 20000);
}

TEST_F(server_groups, out_of_order)
{
	Peer p = open();
	const Nfs nfs(p);
	const Octets data = Nfs::data(0, 5 * kPage);

	Nfs::create("written");
	/* No group is under way. */
	p.send(next_send(p.new_xid(), 1));
	reported(p, kBadCont);
	null_by_group(p, { 0 }, 0);
	EXPECT_EQ(reported(p, kBadSeq), (Words{ kMostSends, 0 }));
	null_by_group(p, { 0 }, kMostSends + 1);
	EXPECT_EQ(reported(p, kBadSeq), (Words{ kMostSends, kMostSends + 1 }));
	{
		const Write w(p, data);
		w.first(p);
		w.next(p, 2);
		EXPECT_EQ(reported(p, kBadSeq), (Words{ 1, 2 }));
	}
	{
		const Write w(p, data), other(p, data);
		w.first(p);
		other.next(p, 1);
		EXPECT_EQ(reported(p, kBadXid), (Words{ w.xid, other.xid }));
	}
	{
		/* What interrupts a group is refused itself. */
		const Write w(p, data), other(p, data);
		w.first(p);
		other.first(p);
		reported(p, kBadOmt);
	}
	{
		/* It begins again, and says that it has another number of Sends. */
		const Write w(p, data);
		w.first(p);
		p.send(request(w.xid, { 0 }, w.sends + 1, 40) +
		       null_call(w.xid));
		reported(p, kBadOmt);
	}
	{
		/* One Send more than it has said. */
		const u32 xid = p.new_xid();
		p.send(request(xid, { 0 }, 1, 40) + null_call(xid));
		EXPECT_EQ(p.reply(xid).xid, xid);
		p.send(next_send(xid, 1));
		reported(p, kBadCont);
	}
	{
		const Write w(p, data);
		const u32 xid = p.new_xid();
		w.first(p);
		p.send(unit::call_inline(xid, null_call(xid)));
		reported(p, kBadHmt);
		p.expect_error(xid, kInvalCont);
	}
	EXPECT_TRUE(Nfs::written("written").empty());
	expect_placed(p, 30000);
}

/* What the server has not announced. */
TEST_F(server_groups, responses)
{
	Peer p = open();
	const u32 xid = p.new_xid();

	p.send(unit::prefix(xid, kResponse) + Words{ 0, 1, 8, xid, 1 });
	p.expect_error(xid, { RPCRDMA2_ERR_INVAL_HTYPE });
	p.expect_works();
}

/*
 * The rest of a group may take its time. Meanwhile the server answers what was called before,
 * and other clients.
 */
TEST_F(server_groups, stops_in_the_middle)
{
	Peer p = open();
	const Nfs nfs(p);
	Peer other = open();
	const Nfs others(other);

	for (const u32 sent : { 1u, 3u }) {
		Nfs::create("written");
		const Write w(p, Nfs::data(5, 7 * kPage));
		const u32 before = p.new_xid();

		p.send(unit::call_inline(before, null_call(before)));
		w.first(p);
		for (u32 i = 1; i < sent; i++)
			w.next(p, i);
		EXPECT_TRUE(is_null_reply(p.reply(before)));
		p.expect_silence();
		other.expect_works();
		p.send_grant();
		p.expect_silence();
		EXPECT_EQ(Nfs::written("written"), Octets());
		for (u32 i = sent; i < w.sends; i++)
			w.next(p, i);
		expect_written(p, w);
	}
	/* Or it never comes, and the Call comes again, with its XID. */
	Nfs::create("written");
	const Write w(p, Nfs::data(9, 7 * kPage));
	w.first(p);
	p.expect_silence();
	w.first(p);
	reported(p, kBadOmt);
	w.all(p);
	expect_written(p, w);
	expect_placed(p, 20000);
}

/* Groups stop with their connection; wire_server.sh sees that nothing is left of them. */
TEST_F(server_groups, ends_in_the_middle)
{
	for (u32 i = 0; i < 4; i++) {
		Peer p = open();
		const Write w(p, Nfs::data(0, 7 * kPage));

		w.first(p);
		if (i % 2)
			w.next(p, 1);
		p.link().disconnect();
	}
	Peer p = open();
	const Nfs nfs(p);
	expect_placed(p, 50000);
}

/* ------------------------------------------------------------------ */
/* Replies                                                            */
/* ------------------------------------------------------------------ */

namespace
{

/* One that has Receives like the server's. */
Peer open_for_replies()
{
	Peer p = Peer::open(Words{ 3 } + kSizeProperty +
				    Words{ kSupport, 4,
					   kTakesResponses | kTakesContinues } +
				    kStructureProperty,
			    kHead + kPages * kPage);

	p.speak_extensions();
	return p;
}

/* xmdp_rsditem */
Words tbsn(u32 least = 0)
{
	return { least, kTbsn };
}

Words exrw(const Words &segment)
{
	return Words{ 0, kExrw, 1 } + segment;
}

Words choice(const Words &segment)
{
	return Words{ 0, kChoice, 1 } + segment;
}

Words by_size(u32 rdma_from, const Words &segment)
{
	return Words{ 0, kBySize, rdma_from, 1 } + segment;
}

/* xmdp_rsdset */
Words range(u32 begin, u32 end, const std::vector<Words> &items)
{
	Words w = { begin, end, static_cast<u32>(items.size()) };

	for (const Words &i : items)
		w = w + i;
	return w;
}

/* Send a Call with these directions. */
void send_directed(Peer &p, u32 xid, const Compound &c,
		   const std::vector<Words> &sets, u32 reply_sends)
{
	const Octets stream = c.message(xid);
	Words header = unit::prefix(xid, kRequest) +
		       Words{ 0, static_cast<u32>(sets.size()) };

	for (const Words &s : sets)
		header = header + s;
	p.send(header +
		       Words{ 1, reply_sends, static_cast<u32>(stream.size()) },
	       stream);
}

/* The same. Return: its XID, which is new. */
u32 send_directed(Peer &p, const Compound &c, const std::vector<Words> &sets,
		  u32 reply_sends)
{
	const u32 xid = p.new_xid();

	send_directed(p, xid, c, sets, reply_sends);
	return xid;
}

/* Say that a Reply cannot be taken. */
void refuse_reply(Peer &p, u32 xid)
{
	p.send(unit::prefix(xid, kReport) +
	       Words{ xid, 1, 0, 0, kBadTbsn, 1, 0, 0 });
}

/* A Reply that has come by a group. */
struct Answer {
	struct Item {
		u32 position;
		u32 length;
		u32 type;
		Words segments;
		Octets data;
	};

	Answer(Peer &p, u32 xid)
	{
		const Message first = p.next();
		u32 at = 4;
		const auto word = [&] {
			return first.word(at++);
		};

		EXPECT_EQ(first.htype(), kResponse) << first.describe();
		if (first.htype() != kResponse)
			return;
		EXPECT_EQ(first.xid(), xid);
		std::vector<Words> numbers;
		for (u32 n = word(); n; n--) {
			Item i = {};

			i.position = word();
			i.length = word();
			i.type = word();
			numbers.emplace_back();
			if (i.type == kExrw)
				for (u32 k = word(); k; k--)
					for (u32 w = 0; w < 4; w++)
						i.segments.push_back(word());
			if (i.type == kTbsn) {
				EXPECT_EQ(word(), 0u);
				for (u32 k = word(); k; k--)
					numbers.back().push_back(word());
			}
			items.push_back(i);
		}
		sends = word();
		std::vector<Octets> all = { first.octets };
		take(first, at, word());
		for (u32 n = 1; n < sends; n++) {
			const Message m = p.next();

			EXPECT_EQ(m.htype(), kContinue) << m.describe();
			EXPECT_EQ(m.xid(), xid);
			EXPECT_EQ(m.word(4), n);
			EXPECT_EQ(m.word(5), kResponse);
			take(m, 7, m.word(6));
			all.push_back(m.octets);
		}
		for (u32 i = 0; i < items.size(); i++)
			for (const u32 n : numbers[i])
				items[i].data = data(items[i], all, n);
	}
	[[nodiscard]] Words types() const
	{
		Words w;

		for (const Item &i : items)
			w.push_back(i.type);
		return w;
	}

	u32 sends = 0;
	std::vector<Item> items;
	Octets stream;

private:
	void take(const Message &m, u32 words, u32 length)
	{
		const auto from = m.octets.begin() + 4 * words;

		EXPECT_LE(4 * words + length, m.octets.size());
		stream.insert(stream.end(), from, from + length);
	}
	static Octets data(const Item &i, const std::vector<Octets> &all, u32 n)
	{
		const Octets &from = all.at(n / kPages);
		const u32 begin = kHead + n % kPages * kPage;
		Octets d = i.data;
		const u32 left = std::min<u32>(
			kPage, i.length - static_cast<u32>(d.size()));

		EXPECT_LE(begin + left, from.size());
		d.insert(d.end(), from.begin() + begin,
			 from.begin() + begin + left);
		return d;
	}
};

/* The NULL procedure still works, and so does a READ. */
void expect_reads(Peer &p, u32 offset, u32 length)
{
	const Compound c = Nfs::read("data", offset, length);
	const u32 xid = send_directed(
		p, c, { range(0, c.position(), { tbsn(kPage) }) }, kMostSends);
	const Answer a(p, xid);

	ASSERT_EQ(a.types(), Words{ kTbsn });
	EXPECT_EQ(a.sends, (length + kPages * kPage - 1) / (kPages * kPage));
	EXPECT_EQ(a.items[0].data, Nfs::data(offset, length));
	EXPECT_EQ(Nfs::results(a.stream, { true }).back().length, length);
}

} // namespace

TEST_F(server_groups, results)
{
	Peer p = open_for_replies();
	const Nfs nfs(p);
	const u64 writes = total("RDMA operations", "write");

	for (const u32 length : { 4096u, 4097u, 8192u, 8196u, 30000u, 65536u,
				  kMostSends * kPages * kPage })
		for (const u32 offset : { 0u, 4096u, 100u, 4095u })
			expect_reads(p, offset, length);
	EXPECT_EQ(total("RDMA operations", "write"), writes);
	p.expect_works();
}

/* What is too short, or is not there, is in the Payload stream. */
TEST_F(server_groups, results_that_are_not_placed)
{
	Peer p = open_for_replies();
	const Nfs nfs(p);
	const Compound small = Nfs::read("data", 0, 4095);
	const Compound none = Nfs::file("data").getattr();

	const u32 first = send_directed(
		p, small, { range(0, small.position(), { tbsn(kPage) }) }, 1);
	const Answer a(p, first);
	EXPECT_EQ(a.types(), Words{ kTooShort });
	EXPECT_EQ(Nfs::results(a.stream).back().data, Nfs::data(0, 4095));

	const u32 second = send_directed(
		p, none, { range(0, none.position(), { tbsn() }) }, 1);
	const Answer b(p, second);
	EXPECT_EQ(b.types(), Words{ kNoItem });
	EXPECT_EQ(Nfs::results(b.stream).size(), 3u);
}

/*
 * Clients that have the extension and direct what nobody can place: they take no groups, or say
 * nothing of their Receives, or have no place for data there. What a Reply by a group cannot place
 * is in its Payload stream. Their own Calls by groups are as ever.
 */
TEST_F(server_groups, clients_that_place_nothing)
{
	static constexpr u32 kLength = 30000;
	const Words takes = { kSupport, 4, kTakesResponses | kTakesContinues };
	const Words limits = { kRequestLimit, 4, 0, kReplyLimit, 4, 0 };
	const struct {
		Words set;
		bool groups;
	} clients[] = {
		{ Words{ 1 } + takes, true },
		{ Words{ 3 } + takes + limits, true },
		{ Words{ 3 } + kSizeProperty + takes + kNoTargetsProperty,
		  true },
		{ Words{ 3 } + kSizeProperty +
			  Words{ kSupport, 4, kTakesContinues } +
			  kStructureProperty,
		  false },
	};
	const Compound c = Nfs::read("data", 0, kLength);
	const std::vector<Words> sets = { range(0, c.position(),
						{ tbsn(kPage) }) };

	for (const auto &one : clients) {
		SCOPED_TRACE(&one - clients);
		Peer p = Peer::open(one.set, kHead + kPages * kPage);
		const Nfs nfs(p);

		p.speak_extensions();
		for (const u32 sends : { 0u, 1u, kMostSends }) {
			const u32 xid = send_directed(p, c, sets, sends);

			if (!one.groups || sends < kMostSends) {
				EXPECT_EQ(Nfs::read_result(p.reply(xid)),
					  Nfs::data(0, kLength));
				continue;
			}
			const Answer a(p, xid);
			EXPECT_EQ(a.types(), Words{ kTooShort });
			EXPECT_EQ(Nfs::results(a.stream).back().data,
				  Nfs::data(0, kLength));
		}
		expect_placed(p, kLength);
		p.expect_works();
	}
}

/* They are about Calls to it, and about its Replies. */
TEST_F(server_groups, a_client_with_limits_of_0)
{
	Peer p = Peer::open(Words{ 5 } + kSizeProperty +
				    Words{ kSupport, 4,
					   kTakesResponses | kTakesContinues } +
				    kStructureProperty +
				    Words{ kRequestLimit, 4, 0, kReplyLimit, 4,
					   0 },
			    kHead + kPages * kPage);
	const Nfs nfs(p);

	p.speak_extensions();
	expect_reads(p, 0, 30000);
	p.expect_works();
}

/* More than the Call has room for: the Reply goes in a form of version 2. */
TEST_F(server_groups, results_without_room)
{
	Peer p = open_for_replies();
	Nfs nfs(p);
	const Compound c = Nfs::read("data", 0, 30000);
	const u32 xid = send_directed(
		p, c, { range(0, c.position(), { tbsn(kPage) }) }, 2);

	EXPECT_EQ(Nfs::read_result(p.reply(xid)), Nfs::data(0, 30000));
	/* Nor without directions, or with more than the server answers. */
	const u32 bare = send_directed(p, c, {}, 8);
	EXPECT_EQ(Nfs::read_result(p.reply(bare)), Nfs::data(0, 30000));
	const u32 many = send_directed(
		p, c,
		{ range(0, c.position(), std::vector<Words>(9, tbsn(kPage))) },
		8);
	EXPECT_EQ(Nfs::read_result(p.reply(many)), Nfs::data(0, 30000));
	expect_reads(p, 0, 30000);
}

/* There is credit for half of it. */
TEST_F(server_groups, results_without_credit)
{
	Peer p = open_for_replies();
	const Nfs nfs(p);
	const Compound c = Nfs::read("data", 0, 65536);

	p.offer(4);
	const u32 xid = send_directed(
		p, c, { range(0, c.position(), { tbsn(kPage) }) }, 8);
	const Message first = p.next();
	p.offer(Peer::kWindow);
	p.send_grant();
	const Rpc reply = p.rpc_from(first);
	EXPECT_EQ(reply.xid, xid);
	EXPECT_EQ(Nfs::read_result(reply), Nfs::data(0, 65536));
	expect_reads(p, 0, 65536);
}

/*
 * Several operations, and ranges for them. nfsd puts the data of a further READ in the right
 * page only if it begins that page: see kFirst in server_chunks.cpp.
 */
TEST_F(server_groups, results_of_several_operations)
{
	constexpr u32 kEach = kPage - 16 - 3;
	Peer p = open_for_replies();
	const Nfs nfs(p);
	Compound c = Nfs::file("data").read(0, kEach);
	const u32 second = c.position();
	c.read(5000, kEach).read(8192, kEach);
	const u32 third = c.position();
	c.read(100000, 9000);

	const u32 xid = send_directed(p, c,
				      { range(0, second, { tbsn(), tbsn() }),
					range(second, third, { tbsn(kPage) }),
					range(third, third + 4, { tbsn() }) },
				      8);
	const Answer a(p, xid);
	ASSERT_EQ(a.types(), (Words{ kTbsn, kNoItem, kTooShort, kTbsn }));
	EXPECT_EQ(a.items[0].data, Nfs::data(0, kEach));
	EXPECT_EQ(a.items[3].data, Nfs::data(100000, 9000));
	const std::vector<Result> r =
		Nfs::results(a.stream, { true, false, false, true });
	ASSERT_EQ(r.size(), 6u);
	EXPECT_EQ(r[3].data, Nfs::data(5000, kEach));
	EXPECT_EQ(r[4].data, Nfs::data(8192, kEach));
}

/* Memory, by itself or as a choice. */
TEST_F(server_groups, results_by_explicit_rdma)
{
	constexpr u32 kLength = 20000;
	Peer p = open_for_replies();
	const Nfs nfs(p);
	const Compound c = Nfs::read("data", 0, kLength);
	const auto answer = [&](const Words &item, u32 sends) {
		return Answer(
			p, send_directed(p, c,
					 { range(0, c.position(), { item }) },
					 sends));
	};

	for (const u32 sends : { 1u, 8u }) {
		Region to(p.link(), 2 * kLength, Access::Write);
		const Answer a = answer(exrw(to.segment()), sends);

		ASSERT_EQ(a.types(), Words{ kExrw });
		EXPECT_EQ(a.sends, 1u);
		EXPECT_EQ(to.content(0, kLength), Nfs::data(0, kLength));
		EXPECT_TRUE(to.untouched_from(kLength));
		EXPECT_EQ(a.items[0].segments, to.segment(0, kLength));
		EXPECT_EQ(Nfs::results(a.stream, { true }).back().length,
			  kLength);
	}
	for (const u32 sends : { 1u, 8u }) {
		Region to(p.link(), kLength, Access::Write);
		const Answer a = answer(choice(to.segment()), sends);

		ASSERT_EQ(a.types(), Words{ sends == 1 ? kExrw : kTbsn });
		EXPECT_TRUE(to.untouched_from(sends == 1 ? kLength : 0));
	}
	for (const u32 from : { kLength, kLength + 1 }) {
		Region to(p.link(), kLength, Access::Write);
		const Answer a = answer(by_size(from, to.segment()), 8);

		ASSERT_EQ(a.types(), Words{ from == kLength ? kExrw : kTbsn });
		EXPECT_TRUE(to.untouched_from(from == kLength ? kLength : 0));
	}
	expect_reads(p, 0, kLength);
}

namespace
{

/*
 * Two READs, whose data are to be written or to come by Sends as directed. The first is so long
 * that nfsd puts the data of the second in the right page.
 */
struct TwoReads {
	static constexpr u32 kFirst = 3 * kPage - 16 - 3;
	static constexpr u32 kSecond = 30000;
	static constexpr u32 kOffset = 100000;

	explicit TwoReads(Peer &peer)
		: p(peer)
	{
	}
	/* The answers are of @types. What is not placed by Sends is in memory, and nowhere else. */
	void expect(const Words &one, const Words &other, const Words &types)
	{
		const Answer a(p, send_directed(
					  p, c,
					  { range(0, c.position(),
						  { one, other }) },
					  kMostSends));
		const Region *const to[] = { &first, &second };
		u32 pages = 0;

		ASSERT_EQ(a.types(), types);
		for (u32 i = 0; i < 2; i++) {
			const u32 length = static_cast<u32>(data[i].size());
			const bool written = types[i] == kExrw;

			SCOPED_TRACE(i);
			EXPECT_EQ(a.items[i].length, length);
			EXPECT_EQ(a.items[i].data,
				  written ? Octets() : data[i]);
			EXPECT_EQ(a.items[i].segments,
				  written ? to[i]->segment(0, length) :
					    Words());
			if (written)
				EXPECT_EQ(to[i]->content(0, length), data[i]);
			else
				pages += (length + kPage - 1) / kPage;
			EXPECT_TRUE(to[i]->untouched_from(written ? length :
								    0));
		}
		EXPECT_EQ(a.sends, (pages + kPages - 1) / kPages);
		const std::vector<Result> r =
			Nfs::results(a.stream, { true, true });
		ASSERT_GE(r.size(), 2u);
		EXPECT_EQ(r[r.size() - 2].length, kFirst);
		EXPECT_EQ(r.back().length, kSecond);
	}

	Peer &p;
	Compound c = Nfs::read("data", 0, kFirst).read(kOffset, kSecond);
	Octets data[2] = { Nfs::data(0, kFirst), Nfs::data(kOffset, kSecond) };
	Region first{ p.link(), 2 * kFirst, Access::Write };
	Region second{ p.link(), 2 * kSecond, Access::Write };
};

} // namespace

/* RDMA Writes go before the first Send of the group, and the Sends have the other data. */
TEST_F(server_groups, results_by_explicit_rdma_and_by_sends)
{
	Peer p = open_for_replies();
	const Nfs nfs(p);
	const u64 writes = total("RDMA operations", "write");

	for (u32 i = 0; i < 4; i++) {
		{
			TwoReads r(p);
			r.expect(exrw(r.first.segment()), tbsn(),
				 { kExrw, kTbsn });
		}
		{
			TwoReads r(p);
			r.expect(tbsn(kPage), exrw(r.second.segment()),
				 { kTbsn, kExrw });
		}
		/* There is room for all of it, and the second is large enough for RDMA. */
		{
			TwoReads r(p);
			r.expect(choice(r.first.segment()),
				 by_size(TwoReads::kSecond, r.second.segment()),
				 { kTbsn, kExrw });
		}
		{
			TwoReads r(p);
			r.expect(by_size(TwoReads::kFirst, r.first.segment()),
				 choice(r.second.segment()), { kExrw, kTbsn });
		}
	}
	EXPECT_EQ(total("RDMA operations", "write") - writes, 16u);
	expect_reads(p, 0, 30000);
}

/* All of its data come again, in a form of version 2, if the client refuses the Sends. */
TEST_F(server_groups, results_by_explicit_rdma_and_by_sends_that_are_refused)
{
	Peer p = open_for_replies();
	const Nfs nfs(p);
	TwoReads r(p);
	const u32 xid = send_directed(
		p, r.c,
		{ range(0, r.c.position(),
			{ exrw(r.first.segment()), tbsn() }) },
		kMostSends);

	EXPECT_EQ(Answer(p, xid).types(), (Words{ kExrw, kTbsn }));
	refuse_reply(p, xid);
	const std::vector<Result> all = Nfs::results(p.reply(xid).stream);
	ASSERT_GE(all.size(), 2u);
	EXPECT_EQ(all[all.size() - 2].data, r.data[0]);
	EXPECT_EQ(all.back().data, r.data[1]);
	expect_reads(p, 0, 30000);
}

/* As with Write chunks: it ends the connection, and on the next one the Call is refused. */
TEST_F(server_groups, results_to_memory_that_is_not_there)
{
	constexpr u32 kLength = 20000;
	const Compound c = Nfs::read("data", 0, kLength);
	const Words nowhere = { 0xbad, kLength, 0, 0x1000 };

	for (const Words &direction :
	     { exrw(nowhere), by_size(kLength, nowhere) }) {
		const std::vector<Words> sets = { range(0, c.position(),
							{ direction }) };
		const u32 xid = Peer::new_xid();
		{
			Peer p = open_for_replies();
			const Nfs nfs(p);

			try {
				send_directed(p, xid, c, sets, 1);
			} catch (const Failure &) {
				EXPECT_FALSE(p.link().alive());
			}
			p.expect_closed();
		}
		Peer q = open_for_replies();
		for (u32 i = 0; i < 2; i++) {
			send_directed(q, xid, c, sets, 1);
			q.expect_error(xid, kSystem);
		}
		/* Memory that is there: it is about that Call alone. */
		Region to(q.link(), kLength, Access::Write);
		const Answer a(q, send_directed(
					  q, c,
					  { range(0, c.position(),
						  { exrw(to.segment()) }) },
					  1));
		EXPECT_EQ(a.types(), Words{ kExrw });
		EXPECT_EQ(to.content(0, kLength), Nfs::data(0, kLength));
		expect_reads(q, 0, kLength);
	}
}

/* The same of a Reply with further data in its Sends. */
TEST_F(server_groups, results_by_sends_and_to_memory_that_is_not_there)
{
	const u32 xid = Peer::new_xid();
	const auto send = [xid](Peer &p, const Compound &c) {
		send_directed(p, xid, c,
			      { range(0, c.position(),
				      { tbsn(), exrw({ 0xbad, TwoReads::kSecond,
						       0, 0x1000 }) }) },
			      kMostSends);
	};
	{
		Peer p = open_for_replies();
		const Nfs nfs(p);
		const TwoReads r(p);

		try {
			send(p, r.c);
		} catch (const Failure &) {
			EXPECT_FALSE(p.link().alive());
		}
		p.expect_closed();
	}
	Peer q = open_for_replies();
	TwoReads r(q);
	send(q, r.c);
	q.expect_error(xid, kSystem);
	r.expect(tbsn(), exrw(r.second.segment()), { kTbsn, kExrw });
}

TEST_F(server_groups, results_that_do_not_fit)
{
	Peer p = open_for_replies();
	const Nfs nfs(p);
	const Compound c = Nfs::read("data", 0, 9000);
	Region to(p.link(), 8999, Access::Write);
	const u32 xid = send_directed(
		p, c, { range(0, c.position(), { exrw(to.segment()) }) }, 1);

	p.expect_error(xid, { RPCRDMA2_ERR_WRITE_RESOURCE, 1, 9000 });
	EXPECT_TRUE(to.untouched_from(0));
	expect_reads(p, 0, 9000);
}

/* The client cannot take a Reply: it comes again, in a form of version 2, once. */
TEST_F(server_groups, results_that_are_refused)
{
	Peer p = open_for_replies();
	const Nfs nfs(p);

	for (const u32 length : { 4096u, 65536u }) {
		const Compound c = Nfs::read("data", 0, length);
		const u32 xid = send_directed(
			p, c, { range(0, c.position(), { tbsn(kPage) }) }, 8);

		EXPECT_EQ(Answer(p, xid).types(), Words{ kTbsn });
		refuse_reply(p, xid);
		EXPECT_EQ(Nfs::read_result(p.reply(xid)), Nfs::data(0, length));
		refuse_reply(p, xid);
		p.expect_silence();
	}
	/* One that was not sent, or not of late. */
	std::vector<u32> xids;
	const Compound c = Nfs::read("data", 0, 4096);
	for (u32 i = 0; i < 40; i++) {
		xids.push_back(send_directed(
			p, c, { range(0, c.position(), { tbsn(kPage) }) }, 1));
		EXPECT_EQ(Answer(p, xids.back()).types(), Words{ kTbsn });
	}
	refuse_reply(p, xids[0]);
	p.expect_silence();
	refuse_reply(p, xids[39]);
	EXPECT_EQ(Nfs::read_result(p.reply(xids[39])), Nfs::data(0, 4096));
	expect_reads(p, 0, 65536);
}

/*
 * Of large ones the server keeps only the last that have 1 MiB together. Who refuses an older one
 * gets no answer before it sends the Call again.
 */
TEST_F(server_groups, results_are_kept_within_a_bound)
{
	constexpr u32 kLength = kMostSends * kPages * kPage;
	constexpr u32 kMore = 3;
	constexpr u32 kMost = 1 << 20;
	Peer p = open_for_replies();
	const Nfs nfs(p);
	const Compound c = Nfs::read("data", 0, kLength);
	const std::vector<Words> sets = { range(0, c.position(),
						{ tbsn(kPage) }) };
	const auto expect_answer = [&](u32 xid) {
		const Answer a(p, xid);

		ASSERT_EQ(a.types(), Words{ kTbsn });
		EXPECT_EQ(a.items[0].data, Nfs::data(0, kLength));
	};
	const auto expect_again = [&](u32 xid) {
		refuse_reply(p, xid);
		EXPECT_EQ(Nfs::read_result(p.reply(xid)),
			  Nfs::data(0, kLength));
	};
	std::vector<u32> xids = { send_directed(p, c, sets, kMostSends) };

	expect_answer(xids[0]);
	/* Its memory is there while it is sent, and while it is kept. */
	const u32 one = static_cast<u32>(detail(p, "memory:", "replies"));
	ASSERT_GT(one, kLength);
	const u32 kept = kMost / one;
	/* There is a bound of 16, too. */
	ASSERT_LE(kept + kMore, 16u);
	while (xids.size() < kept + kMore) {
		xids.push_back(send_directed(p, c, sets, kMostSends));
		expect_answer(xids.back());
	}
	/* The last one is kept when it has been sent, which the next Send may tell. */
	u64 memory;
	const long until = now() + kPatience;
	do {
		p.expect_works();
		memory = detail(p, "memory:", "replies");
	} while (memory != kept * one && now() < until);
	EXPECT_EQ(memory, kept * one);

	expect_again(xids[kMore]);
	const u32 old = xids[kMore - 1];
	refuse_reply(p, old);
	p.expect_silence();
	send_directed(p, old, c, sets, kMostSends);
	expect_answer(old);
	/* One has gone and one has come. */
	expect_again(xids[kMore + 1]);
	expect_again(old);
	expect_reads(p, 0, 65536);
}
