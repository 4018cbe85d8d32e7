// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Calls by groups of Sends, their data placed by Sends (rtrext, D20): what our server does
 * with those that are in order, and with those that are not.
 */
#include "headers.h"
#include "nfs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <numeric>

using namespace peer;

namespace
{

constexpr u32 kSupport = 0xffffff03;
constexpr u32 kRequest = 0xffffff05;
constexpr u32 kResponse = 0xffffff06;
constexpr u32 kContinue = 0xffffff07;
constexpr u32 kReport = 0xffffff08;

/* What is announced: requests, responses, continues. */
constexpr u32 kTakesRequests = 1;
constexpr u32 kTakesContinues = 4;

/* Where data is. */
constexpr u32 kExrw = 1;
constexpr u32 kTbsn = 2;

/* A Receive of the server: what is before its pages, and the pages. */
constexpr u32 kHead = 1024;
constexpr u32 kPage = 4096;
constexpr u32 kPages = 2;
constexpr u32 kMostSends = 16;

enum : u32 {
	kBadHmt = 1,
	kBadOmt = 2,
	kBadCont = 3,
	kBadSeq = 4,
	kBadXid = 5,
	kBadOff = 6,
	kBadTbsn = 7,
	kBadPl = 8
};

/* New connections have the extension, as long as this exists. */
class server_groups : public testing::Test {
protected:
	server_groups()
	{
		set(1);
	}
	~server_groups() override
	{
		set(0);
	}

private:
	static void set(u32 to)
	{
		std::ofstream f("/sys/module/rpcrdma/parameters/rtrext");

		f << to << std::flush;
		EXPECT_TRUE(f.good());
	}
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

Octets part(const Octets &data, u32 send)
{
	const u32 from = send * kPages * kPage;
	const u32 to = std::min<u32>(from + kPages * kPage,
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
		const Words header =
			request(xid, items, sends,
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

/* It is copied then: nfsd gets whole pages otherwise. */
TEST_F(server_groups, data_elsewhere)
{
	Peer p = open();
	const Nfs nfs(p);

	for (const u32 offset : { 0u, 4u, 1000u }) {
		Nfs::create("written");
		const Write w(p, Nfs::data(3, kPage - offset));
		const Words items = Words{ 1 } +
				    placed(static_cast<u32>(w.stream.size()),
					   kPage - offset, offset, { 1 });
		const Words header =
			request(w.xid, items, 1,
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

TEST_F(server_groups, memory_to_read_is_refused)
{
	Peer p = open();
	const Nfs nfs(p);
	const u32 xid = p.new_xid();

	p.send(request(xid, { 1, 40, 16, kExrw, 1, 1, 16, 0, 0 }, 1, 40) +
	       null_call(xid));
	p.expect_error(xid, { RPCRDMA2_ERR_READ_CHUNKS, 0 });
	expect_placed(p, 5000);
}

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
	expect_placed(p, 20000);
}

TEST_F(server_groups, out_of_order)
{
	Peer p = open();
	const Nfs nfs(p);
	const Octets data = Nfs::data(0, 5 * kPage);

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
		const Write w(p, data);
		const u32 xid = p.new_xid();
		w.first(p);
		p.send(unit::call_inline(xid, null_call(xid)));
		reported(p, kBadHmt);
		p.expect_error(xid, kInvalCont);
	}
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
