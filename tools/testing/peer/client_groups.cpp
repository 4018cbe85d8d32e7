// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Groups of Sends, their data placed by Sends (rtrext, D20): what our client directs, what it
 * does with Replies that come so, and what with those that are wrong; and what it does when
 * its Calls are refused.
 */
#include "groups.h"
#include "nfs3.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <string>

using namespace peer;

namespace
{

/* New connections have the extension, and Receives of kPages pages: they are not made larger. */
struct Extension {
	const Parameter rtrext{ "rtrext", 1 };
	const Parameter grow{ "grow", 0 };
};

/* A property is in the set of a CONNPROP. */
bool announces(const Message &m, u32 which)
{
	u32 at = 5;

	for (u32 n = m.word(4); n; n--) {
		if (m.word(at) == which)
			return true;
		at += 2 + (m.word(at + 1) + 3) / 4;
	}
	return false;
}

/* The parts of a Reply: what is before the data, these, and how many Sends they take. */
struct Parts {
	explicit Parts(const Octets &whole, u32 length)
		: position(static_cast<u32>(whole.size()) -
			   (length + 3) / 4 * 4)
		, stream(whole.begin(), whole.begin() + position)
		, data(whole.begin() + position,
		       whole.begin() + position + length)
		, sends(std::max(1U, (length + kPages * kPage - 1) /
					     (kPages * kPage)))
	{
	}
	[[nodiscard]] Words numbers() const
	{
		Words w;

		for (u32 n = 0; n * kPage < data.size(); n++)
			w.push_back(n);
		return w;
	}
	[[nodiscard]] Words item(const Words &segments, u32 offset = 0) const
	{
		return Words{ position, static_cast<u32>(data.size()), kTbsn,
			      offset, static_cast<u32>(segments.size()) } +
		       segments;
	}
	/* The same of data that have been written there. */
	[[nodiscard]] Words written(const Chunk &memory) const
	{
		return Words{ position, static_cast<u32>(data.size()), kExrw } +
		       words_of(memory);
	}
	/* A result of @length octets: to NFS a short READ, whose rest it asks for. */
	[[nodiscard]] Parts first(u32 length) const
	{
		Parts p = *this;

		/* count, end of file, length */
		for (const u32 back : { 12U, 4U })
			for (u32 i = 0; i < 4; i++)
				p.stream[position - back + i] =
					static_cast<u8>(length >> (24 - 8 * i));
		p.data.resize(length);
		p.sends = std::max(1U, (length + kPages * kPage - 1) /
					       (kPages * kPage));
		return p;
	}

	u32 position;
	Octets stream;
	Octets data;
	u32 sends;
};

/* A server that has the extension. */
class Server : public Nfs3 {
public:
	/* Otherwise it takes no data by Sends, and WRITEs are as ever. */
	explicit Server(bool places = false)
		: Server(places ? Words{ 5 } + kSizeProperty + limits(kMostSends) +
					  kStructureProperty :
				  Words{ 3 } + limits(kMostSends))
	{
	}
	/* This property set is what it announces. Receives of both sides have so many pages. */
	explicit Server(const Words &set, u32 pages = kPages)
		: pages_(pages)
	{
		opening = [set, pages](Peer &p) {
			const Message m = p.next();

			p.take_properties(m);
			EXPECT_EQ(p.property(kSupport),
				  kTakesResponses | kTakesContinues);
			/* It takes no Calls: one Send, as of who says nothing. */
			EXPECT_FALSE(announces(m, kRequestLimit));
			EXPECT_FALSE(announces(m, kReplyLimit));
			EXPECT_EQ(p.property(2), kHead + pages * kPage);
			p.send(unit::connprop(p.new_xid(), set));
			p.speak_extensions();
		};
		message = [this](Peer &p, const Message &m) {
			return take(p, m);
		};
	}
	/* Three properties: it takes Calls of so many Sends, and sends such Replies. */
	static Words limits(u32 sends)
	{
		return { kSupport, 4, kTakesRequests | kTakesContinues,
			 kRequestLimit, 4, sends, kReplyLimit, 4, sends };
	}

	/* How READs are answered that came by a group; false: by one, as is right. */
	std::function<bool(Peer &, const Rpc &, const Parts &)> answer;
	/* Send @number of a WRITE has come. True: the Call has been refused. */
	std::function<bool(Peer &, u32 xid, u32 number)> refuses;
	u32 groups = 0; /* Calls that have come so */
	u32 group = 0; /* XID of the last */
	u32 promised = 0; /* to it */
	u32 direction = 0; /* of the last READ */
	u32 rdma_from = 0; /* if it is by size */
	Chunk offered; /* and its memory */
	u32 dropped = 0; /* Sends of WRITEs that were refused */
	std::vector<u32> reports; /* codes of REPTERR that have come */

	/* A Reply by a group, its first header with these items; or its first @most Sends. */
	static void send_group(Peer &p, u32 xid, const Parts &parts,
			       const Words &items, u32 sends,
			       u32 most = kMostSends, u32 pages = kPages)
	{
		Words header =
			unit::prefix(xid, kResponse) + items +
			Words{ sends, static_cast<u32>(parts.stream.size()) };

		for (u32 n = 0; n < std::min(sends, most); n++) {
			Octets body = n ? Octets() : parts.stream;
			const u32 from = std::min<u32>(
				n * pages * kPage,
				static_cast<u32>(parts.data.size()));
			const u32 to = std::min<u32>(
				from + pages * kPage,
				static_cast<u32>(parts.data.size()));

			if (n)
				header = unit::prefix(xid, kContinue) +
					 Words{ n, kResponse, 0 };
			body.resize(kHead - 4 * header.size());
			body.insert(body.end(), parts.data.begin() + from,
				    parts.data.begin() + to);
			p.send(header, body);
		}
	}
	static void send_some(Peer &p, u32 xid, const Parts &parts, u32 sends,
			      u32 most)
	{
		send_group(p, xid, parts,
			   Words{ 1 } + parts.item(parts.numbers()), sends,
			   most);
	}
	static void send_placed(Peer &p, u32 xid, const Parts &parts)
	{
		send_some(p, xid, parts, parts.sends, parts.sends);
	}
	/* With this answer, and all of the Payload stream. */
	static void send_answers(Peer &p, u32 xid, const Words &answers,
				 const Octets &stream)
	{
		p.send(unit::prefix(xid, kResponse) + answers +
			       Words{ 1, static_cast<u32>(stream.size()) },
		       stream);
	}
	/* The data stay in the Payload stream. */
	static void send_inline(Peer &p, u32 xid, const Parts &parts, u32 type)
	{
		Octets whole = parts.stream;

		whole.insert(whole.end(), parts.data.begin(), parts.data.end());
		whole.resize((whole.size() + 3) & ~3UL);
		send_answers(p, xid,
			     { 1, parts.position,
			       static_cast<u32>(parts.data.size()), type },
			     whole);
	}
	/* Write the data to what is offered. Return: what of it is used. */
	[[nodiscard]] Chunk write_data(Peer &p, const Parts &parts) const
	{
		Chunk used;

		EXPECT_TRUE(write_chunk(p, offered, parts.data, used));
		while (!used.empty() && !used.back().length)
			used.pop_back();
		return used;
	}
	void send_written(Peer &p, u32 xid, const Parts &parts) const
	{
		const Chunk used = write_data(p, parts);

		send_answers(p, xid, Words{ 1 } + parts.written(used),
			     parts.stream);
	}
	/* With this answer to its Call. */
	void send_as(Peer &p, u32 xid, const Parts &parts, u32 type) const
	{
		if (type == kExrw)
			send_written(p, xid, parts);
		else if (type == kTbsn)
			send_placed(p, xid, parts);
		else
			send_inline(p, xid, parts, type);
	}
	/* As its Call directs; by Sends rather than not. */
	void send_directed(Peer &p, u32 xid, const Parts &parts) const
	{
		if (direction == kExrw || parts.sends > promised ||
		    (direction == kBySize && parts.data.size() >= rdma_from))
			send_written(p, xid, parts);
		else
			send_placed(p, xid, parts);
	}
	/* In a form of version 2. */
	void send_usual(Peer &p, const Rpc &call)
	{
		reply(p, call);
	}

private:
	bool take(Peer &p, const Message &m)
	{
		if (m.htype() == kReport) {
			/* What leads the group, or what is wrong itself. */
			const u32 at = m.word(7) ? 8 : 4;

			EXPECT_EQ(m.word(at + 1), 1u) << "not about a Reply";
			reports.push_back(m.word(m.word(7) ? 11 : 8));
			if (refused)
				refused(p, m.word(at));
			return true;
		}
		if (m.htype() == kContinue) {
			EXPECT_EQ(m.xid(), group);
			dropped++;
			return true;
		}
		if (m.htype() != kRequest)
			return false;
		groups++;
		group = m.xid();
		if (m.word(4))
			take_write(p, m);
		else
			take_read(p, m);
		return true;
	}
	/* Its data are in all segments, from the first on, and it directs nothing. */
	void take_write(Peer &p, const Message &first)
	{
		const u32 position = first.word(5);
		const u32 length = first.word(6);
		const u32 padded = (length + 3) / 4 * 4;
		const u32 pages = (length + kPage - 1) / kPage;
		const u32 sends = (pages + pages_ - 1) / pages_;
		const u32 size = first.word(13 + pages);
		Words header = { 1, position, length, kTbsn, 0, pages };
		Rpc call;

		for (u32 n = 0; n < pages; n++)
			header.push_back(n);
		header = header + Words{ 0, sends, 1, size };
		EXPECT_EQ(first.words(4), header + first.words(14 + pages));
		call.xid = group;
		call.pieces = sends;
		const auto stream = first.octets.begin() + 4 * (14 + pages);
		call.stream.assign(stream, stream + size);
		Octets data;
		for (u32 n = 0; n < sends; n++) {
			const Message m = n ? p.next() : first;

			if (n) {
				EXPECT_EQ(m.htype(), kContinue);
				EXPECT_EQ(m.xid(), group);
				EXPECT_EQ(m.words(4).at(0), n);
				EXPECT_EQ(m.word(6), 0u);
			}
			data.insert(data.end(), m.octets.begin() + kHead,
				    m.octets.end());
			if (refuses && refuses(p, group, n))
				return;
		}
		EXPECT_GE(data.size(), length);
		data.resize(padded);
		call.stream.insert(call.stream.begin() + position, data.begin(),
				   data.end());
		EXPECT_EQ(call.word(5), u32{ kWrite3 });
		last = call;
		reply(p, call);
	}
	void take_read(Peer &p, const Message &m)
	{
		u32 at = 11;

		direction = m.word(10);
		rdma_from = direction == kBySize ? m.word(at++) : 0;
		offered.clear();
		if (direction != kTbsn)
			for (u32 n = m.word(at++); n; n--, at += 4)
				offered.push_back(
					{ m.word(at), m.word(at + 1),
					  u64{ m.word(at + 2) } << 32 |
						  m.word(at + 3) });
		/* No items, one range, one direction: all of it, from a page on. */
		const u32 length = m.word(at + 2);
		EXPECT_EQ(m.words(4), (Words{ 0, 1, 0, length, 1, kPage } +
				       m.words(10)));
		EXPECT_EQ(m.word(at), 1u);
		promised = m.word(at + 1);
		Rpc call;
		call.xid = m.xid();
		call.pieces = 1;
		const auto stream = m.octets.begin() + 4 * (at + 3);
		call.stream.assign(stream, stream + length);
		EXPECT_EQ(call.word(5), u32{ kRead3 });
		last = call;
		const Octets whole = result(p, call);
		/* status, attributes, count, end of file, length */
		const Parts parts(whole, unit::word_at(whole, 6 + 1 + 22 + 2));
		if (!answer || !answer(p, call, parts))
			send_directed(p, call.xid, parts);
	}

	u32 pages_;

public:
	/* What follows a REPTERR about the Reply with this XID. */
	std::function<void(Peer &, u32 xid)> refused;
};

/* A Reply that is refused it sends again, in a form of version 2. */
class Resending : public Server {
public:
	Resending()
	{
		refused = [this](Peer &p, u32 xid) {
			EXPECT_EQ(xid, current_.xid);
			send_usual(p, current_);
		};
	}
	/* The answer to a READ is wrong. */
	void expect_refused(u32 code, u32 length,
			    const std::function<void(Peer &, u32 xid,
						     const Parts &)> &wrong)
	{
		reports.clear();
		answer = [&](Peer &p, const Rpc &call, const Parts &parts) {
			current_ = call;
			wrong(p, call.xid, parts);
			return true;
		};
		EXPECT_EQ(read(4096, length), 0) << code;
		EXPECT_EQ(reports, std::vector<u32>{ code });
		answer = nullptr;
	}

private:
	Rpc current_;
};

Words next_send(u32 xid, u32 number, u32 began = kResponse)
{
	return unit::prefix(xid, kContinue) + Words{ number, began, 0 };
}

} // namespace

TEST(client_groups, reads)
{
	const Extension extension;
	Server server;
	const u64 registrations = Nfs3::total("registrations");

	server.mount("rsize=262144,wsize=262144");
	for (const u32 length : { 4096u, 8192u, 16384u, 65536u, 131072u }) {
		server.groups = 0;
		EXPECT_EQ(server.read(4096, length), 0) << length;
		EXPECT_EQ(server.groups, 1u) << length;
		EXPECT_EQ(server.promised,
			  (length + kPages * kPage - 1) / (kPages * kPage));
	}
	EXPECT_EQ(Nfs3::total("registrations"), registrations);
	EXPECT_TRUE(server.reports.empty());
	/* Too much for a group. */
	server.groups = 0;
	EXPECT_EQ(server.read(4096, 262144), 0);
	EXPECT_EQ(server.groups, 0u);
	server.works_on();
}

/* The client says at once that its Receives have what others grow to, and fills the server's. */
TEST(client_groups, large_sends)
{
	constexpr u32 kMore = 3;
	constexpr u32 kSize = kHead + kMore * kPage;
	const Parameter rtrext("rtrext", 1);
	const Parameter grow("grow", (kMore + 1) * kPage);
	Server server(Words{ 5, 2, 4, kSize } + Server::limits(kMostSends) +
			      Words{ kStructure, 40, kSize, 2, 1, kHead, 4, 0,
				     kMore, kPage, kPage, 1 },
		      kMore);
	u32 sends = 0;

	server.refuses = [&sends](Peer &, u32, u32) {
		sends++;
		return false;
	};
	server.answer = [](Peer &p, const Rpc &call, const Parts &parts) {
		const u32 pages = static_cast<u32>(parts.numbers().size());

		Server::send_group(p, call.xid, parts,
				   Words{ 1 } + parts.item(parts.numbers()),
				   (pages + kMore - 1) / kMore, kMostSends,
				   kMore);
		return true;
	};
	server.mount("rsize=262144,wsize=262144");
	for (const u32 pages : { 1u, 3u, 4u, 16u }) {
		const u32 want = (pages + kMore - 1) / kMore;

		EXPECT_EQ(server.read(4096, pages * kPage), 0) << pages;
		EXPECT_EQ(server.promised, want);
		sends = 0;
		EXPECT_EQ(server.write(4096, pages * kPage), 0) << pages;
		EXPECT_EQ(sends, want);
	}
	EXPECT_TRUE(server.reports.empty());
	server.works_on();
}

/*
 * Servers that have the extension, and take no Call by a group, or say nothing of their Receives,
 * or have no place for data there. Data of WRITEs go as ever. Those of READs come by a group if
 * the server can send it, though it does not say how its own Receives are.
 */
TEST(client_groups, servers_that_place_nothing)
{
	static constexpr u32 kLengths[] = { 1,	   4096,   8192,  16384,
					    65536, 131072, 262144 };
	const Extension extension;
	const struct {
		Words set;
		u32 groups; /* READs that go so: the first of a page or more */
	} servers[] = {
		{ Words{ 5 } + kSizeProperty + Server::limits(0) +
			  kStructureProperty,
		  0 },
		{ Words{ 3 } + Server::limits(0), 0 },
		{ Words{ 5 } + kSizeProperty + Server::limits(0) +
			  kNoTargetsProperty,
		  0 },
		{ Words{ 3 } + kSizeProperty +
			  Words{ kSupport, 4, kTakesContinues } +
			  kStructureProperty,
		  0 },
		{ Words{ 1 } + kStructureProperty, 0 },
		{ { 1, kSupport, 4, kTakesRequests }, 2 },
		{ Words{ 5 } + kSizeProperty + Server::limits(kMostSends) +
			  kNoTargetsProperty,
		  5 },
	};

	for (const auto &one : servers) {
		SCOPED_TRACE(&one - servers);
		Server server(one.set);

		server.mount("rsize=262144,wsize=262144");
		for (const u32 length : kLengths) {
			EXPECT_EQ(server.write(4096, length), 0) << length;
			EXPECT_EQ(server.groups, 0u) << length;
		}
		for (const u32 length : kLengths)
			EXPECT_EQ(server.read(4096, length), 0) << length;
		EXPECT_EQ(server.groups, one.groups);
		EXPECT_TRUE(server.reports.empty());
		server.works_on();
		EXPECT_EQ(server.connections(), 1u);
	}
}

/* Any form is right. */
TEST(client_groups, replies_in_other_forms)
{
	const Extension extension;
	Server server;

	server.mount();
	server.answer = [&](Peer &p, const Rpc &call, const Parts &) {
		server.send_usual(p, call);
		return true;
	};
	for (const u32 length : { 4096u, 65536u })
		EXPECT_EQ(server.read(4096, length), 0) << length;

	/* The item stays in the Payload stream. */
	for (const u32 type : { kTooShort, kNoItem }) {
		server.answer = [&, type](Peer &p, const Rpc &call,
					  const Parts &parts) {
			Server::send_inline(p, call.xid, parts, type);
			return true;
		};
		EXPECT_EQ(server.read(4096, 4096), 0);
	}
	/* In other segments, and not from the beginning of the first one. */
	server.answer = [](Peer &p, const Rpc &call, const Parts &parts) {
		const Words header =
			unit::prefix(call.xid, kResponse) +
			Words{ 1,
			       parts.position,
			       static_cast<u32>(parts.data.size()),
			       kTbsn,
			       100,
			       2,
			       0,
			       1,
			       1,
			       static_cast<u32>(parts.stream.size()) };
		Octets body = parts.stream;

		body.resize(kHead + 100 - 4 * header.size());
		body.insert(body.end(), parts.data.begin(), parts.data.end());
		p.send(header, body);
		return true;
	};
	EXPECT_EQ(server.read(4096, 4096), 0);
	EXPECT_TRUE(server.reports.empty());
	server.answer = nullptr;
	server.works_on();
}

/* It is told so, and takes the Reply when it comes in a form of version 2. */
TEST(client_groups, replies_that_are_refused)
{
	const Extension extension;
	Resending server;
	const auto group = [](const Words &segments, u32 offset = 0) {
		return [=](Peer &p, u32 xid, const Parts &parts) {
			Server::send_group(
				p, xid, parts,
				Words{ 1 } + parts.item(segments, offset), 1);
		};
	};

	server.mount();
	/* A segment that is not there, one twice, too few. */
	for (const Words &segments :
	     { Words{ 0, 4 }, Words{ 0, 0 }, Words{ 0 } })
		server.expect_refused(kBadTbsn, 8192, group(segments));
	/* Data that do not begin in their segment, or with a word. */
	for (const u32 offset : { kPage, 2u })
		server.expect_refused(kBadOff, 8192, group({ 0, 1 }, offset));
	/* A stream that does not end with a word. */
	server.expect_refused(
		kBadPl, 8192, [](Peer &p, u32 xid, const Parts &parts) {
			Parts wrong = parts;

			wrong.stream.resize(wrong.stream.size() + 2);
			Server::send_placed(p, xid, wrong);
		});
	/* More Sends than were promised. */
	server.expect_refused(kBadSeq, 16384,
			      [](Peer &p, u32 xid, const Parts &parts) {
				      Server::send_some(p, xid, parts, 3, 3);
			      });
	server.works_on();
}

/* The same of what comes instead of the second Send. */
TEST(client_groups, replies_that_are_interrupted)
{
	const Extension extension;
	Resending server;
	const auto with = [&](u32 code, const std::function<Words(u32)> &by) {
		server.expect_refused(
			code, 24576, [&](Peer &p, u32 xid, const Parts &parts) {
				Server::send_some(p, xid, parts, 3, 1);
				p.send(by(xid));
			});
	};

	server.mount();
	with(kBadSeq, [](u32 xid) { return next_send(xid, 2); });
	with(kBadXid, [](u32) { return next_send(Peer::new_xid(), 1); });
	with(kBadOmt, [](u32 xid) { return next_send(xid, 1, kRequest); });
	with(kBadHmt, [](u32) {
		const u32 xid = Peer::new_xid();

		return unit::reply_inline(xid, { xid, 1, 0, 0, 0, 0 });
	});
	/* Or of the first. */
	server.expect_refused(kBadCont, 24576,
			      [](Peer &p, u32 xid, const Parts &) {
				      p.send(next_send(xid, 1));
			      });
	server.works_on();
}

/* No Reply comes, and the connection works: only time tells. The Call comes on the next one. */
TEST(client_groups, replies_that_do_not_come_again)
{
	const Extension extension;
	Server server;
	u32 connections = 1;

	server.mount();
	for (const bool whole : { true, false }) {
		bool lost = false;

		server.reports.clear();
		server.groups = 0;
		server.answer = [&](Peer &p, const Rpc &call,
				    const Parts &parts) {
			Words twice = parts.numbers();

			if (lost)
				return false;
			lost = true;
			twice.back() = 0;
			if (whole)
				server.send_group(p, call.xid, parts,
						  Words{ 1 } +
							  parts.item(twice),
						  parts.sends);
			else
				server.send_some(p, call.xid, parts,
						 parts.sends, 1);
			return true;
		};
		EXPECT_EQ(server.read(4096, 65536), 0) << whole;
		EXPECT_EQ(server.reports, whole ? std::vector<u32>{ kBadTbsn } :
						  std::vector<u32>{})
			<< whole;
		EXPECT_EQ(server.groups, 2u) << whole;
		EXPECT_EQ(server.connections(), ++connections) << whole;
		EXPECT_EQ(Nfs3::loss(), "Call not answered") << whole;
	}
	server.works_again();
}

/* Data in memory that was not offered; no answer to the direction, and one too many. */
TEST(client_groups, replies_that_fail)
{
	const Extension extension;
	Server server;

	server.mount();
	server.answer = [](Peer &p, const Rpc &call, const Parts &parts) {
		const u32 length = static_cast<u32>(parts.data.size());

		p.send(unit::prefix(call.xid, kResponse) +
			       Words{ 1, parts.position, length, kExrw, 1, 5,
				      length, 0, 0, 1,
				      static_cast<u32>(parts.stream.size()) },
		       parts.stream);
		return true;
	};
	EXPECT_EQ(server.read(4096, 8192), EIO);
	for (const Words &answers :
	     { Words{ 0 }, Words{ 2, 0, 0, kNoItem, 0, 0, kNoItem } }) {
		server.answer = [&](Peer &p, const Rpc &call,
				    const Parts &parts) {
			Octets whole = parts.stream;

			whole.insert(whole.end(), parts.data.begin(),
				     parts.data.end());
			Server::send_answers(p, call.xid, answers, whole);
			return true;
		};
		EXPECT_EQ(server.read(4096, 4096), EIO);
	}
	server.answer = nullptr;
	server.works_on();
}

/* The Call comes again in a form of version 2, and the next one by a group. */
TEST(client_groups, calls_that_are_refused)
{
	const Extension extension;
	Server server;
	u32 left = 1;

	server.mount();
	server.answer = [&](Peer &p, const Rpc &call, const Parts &) {
		if (!left)
			return false;
		left--;
		p.send(unit::prefix(call.xid, kReport) +
		       Words{ call.xid, 0, 0, 0, 8, 40, 0, 36 });
		return true;
	};
	EXPECT_EQ(server.read(4096, 65536), 0);
	EXPECT_EQ(server.groups, 1u);
	EXPECT_FALSE(server.last.writes.empty());
	EXPECT_EQ(server.read(4096, 65536), 0);
	EXPECT_EQ(server.groups, 2u);
	server.works_on();
}

TEST(client_groups, writes)
{
	const Extension extension;
	Server server(true);
	const u64 registrations = Nfs3::total("registrations");

	server.mount("rsize=262144,wsize=262144");
	for (const u32 length :
	     { 4096u, 4097u, 8192u, 16384u, 65536u, 131072u }) {
		server.groups = 0;
		EXPECT_EQ(server.write(4096, length), 0) << length;
		EXPECT_EQ(server.groups, 1u) << length;
	}
	EXPECT_EQ(Nfs3::total("registrations"), registrations);
	/* Too much for a group. */
	server.groups = 0;
	EXPECT_EQ(server.write(4096, 262144), 0);
	EXPECT_EQ(server.groups, 0u);
	EXPECT_EQ(server.dropped, 0u);
	server.works_on();
}

namespace
{

constexpr u32 kWritten = 65536;
constexpr u32 kLast = kWritten / (kPages * kPage) - 1;

/* Each code with its words (9.5), and its name. */
const struct {
	Words body;
	const char *name;
} kEachFault[] = {
	{ { kBadHmt, kContinue, RPCRDMA2_CALL_INLINE }, "BADHMT" },
	{ { kBadOmt, kContinue, kRequest }, "BADOMT" },
	{ { kBadCont }, "BADCONT" },
	{ { kBadSeq, 1, 2 }, "BADSEQ" },
	{ { kBadXid, 3, 4 }, "BADXID" },
	{ { kBadOff, kPage, 0, kPage - 1 }, "BADOFF" },
	{ { kBadTbsn, 9, 0, 5 }, "BADTBSN" },
	{ { kBadPl, 44, 0, 40 }, "BADPL" },
};

/* The first two of its words as events have them. */
std::string words(const Words &fault)
{
	std::string text;

	for (u32 i = 1; i < 3; i++)
		text += " " + std::to_string(i < fault.size() ? fault[i] : 0);
	return text;
}

/* What the last event of this test says of an error, and of what follows. */
std::string retry()
{
	std::ifstream file("/sys/kernel/tracing/trace");
	std::string line, found;

	while (std::getline(file, line)) {
		const size_t at = line.find(" rpcrdma_retry: conn=");

		if (line.find(" tracing_mark_write: ") != std::string::npos)
			found.clear();
		if (at != std::string::npos)
			found = line.substr(
				line.find(' ', line.find(" xid=", at) + 1) + 1);
	}
	return found;
}

/* A REPTERR about a Send of a Call. */
Words report(u32 xid, u32 number,
	     const Words &fault = { kBadTbsn, 1, 0, 0 },
	     const Words &lead = { 0 })
{
	return unit::prefix(xid, kReport) +
	       Words{ xid, RPCRDMA_CALL, number } + lead + fault;
}

Words error(u32 xid, const Words &body)
{
	return unit::prefix(xid, RPCRDMA2_ERROR) + body;
}

/* The next WRITE is refused by this message when Send @at of it has come. */
void refuse_write(Server &server, u32 at,
		  const std::function<Words(u32)> &message)
{
	server.forget();
	server.groups = 0;
	server.dropped = 0;
	server.refuses = [&server, at, message](Peer &p, u32 xid, u32 number) {
		if (number < at || server.groups > 1)
			return false;
		p.send(message(xid));
		return true;
	};
}

/* It has come once more, in a form of version 2. */
void expect_again(Server &server, u32 at)
{
	EXPECT_EQ(server.groups, 1u);
	EXPECT_EQ(server.dropped, kLast - at);
	EXPECT_EQ(server.count(kWrite3), 1u);
	EXPECT_EQ(server.last.xid, server.group);
	EXPECT_FALSE(server.last.reads.empty());
}

} // namespace

/* They come again in a form of version 2, once, and the next ones by groups. */
TEST(client_groups, writes_that_are_refused)
{
	const Extension extension;
	Server server(true);

	server.mount();
	for (const u32 at : { 0u, kLast }) {
		const auto again = [&](const std::function<Words(u32)> &by) {
			const u64 before = Nfs3::total("retries");

			refuse_write(server, at, by);
			EXPECT_EQ(server.write(4096, kWritten), 0);
			expect_again(server, at);
			EXPECT_EQ(Nfs3::total("retries") - before, 1u);
			EXPECT_EQ(server.write(0, kWritten), 0);
			EXPECT_EQ(server.groups, 2u);
			EXPECT_EQ(server.count(kWrite3), 1u);
		};

		for (const auto &[body, name] : kEachFault) {
			SCOPED_TRACE(name);
			again([&, at](u32 xid) {
				return report(xid, at, body);
			});
			/* What led to it is the same Call. */
			again([&, at](u32 xid) {
				return report(xid, at, body,
					      { 1, xid, RPCRDMA_CALL, 0 });
			});
			EXPECT_EQ(retry(), std::string(name) + words(body) +
						   " avoid=0x0 status=0");
		}
		for (const Words &body :
		     { Words{ RPCRDMA2_ERR_BAD_XDR },
		       Words{ RPCRDMA2_ERR_INVAL_CONT },
		       Words{ RPCRDMA2_ERR_READ_CHUNKS, 0 },
		       Words{ RPCRDMA2_ERR_SEGMENTS, 0 } }) {
			SCOPED_TRACE(body[0]);
			again([body](u32 xid) { return error(xid, body); });
		}
		/* This is not about its form. */
		refuse_write(server, at, [](u32 xid) {
			return error(xid, { RPCRDMA2_ERR_SYSTEM });
		});
		EXPECT_EQ(server.write(4096, kWritten), EREMOTEIO);
		EXPECT_EQ(server.stat(), 0);
		EXPECT_EQ(server.groups, 1u);
		EXPECT_EQ(server.dropped, kLast - at);
		EXPECT_EQ(server.count(kWrite3), 0u);
	}
	server.works_on();
}

/* In the other form they are as ever. */
TEST(client_groups, writes_that_are_refused_twice)
{
	const Extension extension;
	Server server(true);
	const auto twice = [&](const std::function<Words(u32)> &by,
			       const Words &body) {
		refuse_write(server, kLast, by);
		server.on(kWrite3, [&server, body, left = 1](
					   Peer &p, const Rpc &call) mutable {
			if (!left--)
				return false;
			server.error(p, call, body);
			return true;
		});
		const int result = server.write(4096, kWritten);

		EXPECT_EQ(server.groups, 1u);
		EXPECT_EQ(server.last.xid, server.group);
		server.usual_answers();
		return result;
	};

	server.mount();
	for (const bool reported : { true, false }) {
		const auto by = [reported](u32 xid) {
			return reported ? report(xid, kLast) :
					  error(xid, { RPCRDMA2_ERR_BAD_XDR });
		};

		EXPECT_EQ(twice(by, { RPCRDMA2_ERR_BAD_XDR }), EIO);
		EXPECT_EQ(server.count(kWrite3), 1u);
		EXPECT_EQ(twice(by, { RPCRDMA2_ERR_READ_CHUNKS, 0 }), 0);
		EXPECT_EQ(server.count(kWrite3), 2u);
		EXPECT_TRUE(server.last.reads.empty());
		/* A REPTERR can only be about a group. */
		refuse_write(server, kLast, by);
		server.on(kWrite3, [](Peer &p, const Rpc &call) {
			p.send(report(call.xid, kLast));
			return false;
		});
		EXPECT_EQ(server.write(4096, kWritten), 0);
		expect_again(server, kLast);
		server.usual_answers();
	}
	server.works_on();
}

/* No group comes any more. The server may say so of each Send. */
TEST(client_groups, writes_whose_type_is_refused)
{
	const Extension extension;
	const auto by = [](u32 xid) {
		return error(xid, { RPCRDMA2_ERR_INVAL_HTYPE });
	};

	for (const u32 more : { 0u, kLast }) {
		Server server(true);

		server.mount();
		refuse_write(server, more ? 0 : kLast, by);
		server.on(kWrite3, [&](Peer &p, const Rpc &call) {
			for (u32 i = 0; i < more; i++)
				p.send(by(call.xid));
			return false;
		});
		EXPECT_EQ(server.write(4096, kWritten), 0);
		expect_again(server, more ? 0 : kLast);
		server.usual_answers();
		EXPECT_EQ(server.write(0, kWritten), 0);
		EXPECT_EQ(server.read(4096, kWritten), 0);
		EXPECT_EQ(server.groups, 1u);
		server.works_on();
	}
}

/* ------------------------------------------------------------------ */
/* Memory that is offered in directions                               */
/* ------------------------------------------------------------------ */

namespace
{

/* Values of rtrext_offer. */
constexpr u32 kOfferExrw = 1;
constexpr u32 kOfferChoice = 2;
constexpr u32 kOfferBySize = 3;
constexpr u32 kWays[] = { kOfferExrw, kOfferChoice, kOfferBySize };
constexpr u32 kDirections[] = { 0, kExrw, kChoice, kBySize };
/* Results that are longer come by RDMA with the last. */
constexpr u32 kShort = 131072;
constexpr u32 kLong = 262144;
constexpr const char *kMount = "rsize=262144,wsize=262144";

/* A client that offers the memory of Write chunks in this way. */
struct Offers : Extension {
	explicit Offers(u32 way)
		: offer("rtrext_offer", way)
	{
	}
	const Parameter offer;
};

u32 octets_of(const Chunk &chunk)
{
	u32 sum = 0;

	for (const Segment &s : chunk)
		sum += s.length;
	return sum;
}

/* Regions that were registered since, all of which were taken back by their owner. */
class Regions {
public:
	void expect(u64 count) const
	{
		EXPECT_EQ(Nfs3::total("registrations") - registered_, count);
		EXPECT_EQ(Nfs3::total("local invalidates") - invalidated_,
			  count);
	}

private:
	u64 registered_ = Nfs3::total("registrations");
	u64 invalidated_ = Nfs3::total("local invalidates");
};

/* This is the answer to the next READ; the others are answered as they direct. */
void answer_once(
	Server &server,
	const std::function<void(Peer &, const Rpc &, const Parts &)> &by)
{
	server.groups = 0;
	server.answer = [by, done = false](Peer &p, const Rpc &call,
					   const Parts &parts) mutable {
		if (done)
			return false;
		done = true;
		by(p, call, parts);
		return true;
	};
}

/* The server writes to memory, which it cannot any more: that ends the connection. */
void expect_taken_back(Server &server, const Segment &memory)
{
	const u32 before = server.connections();
	bool tried = false;

	server.on(kGetattr3, [&](Peer &p, const Rpc &) {
		if (tried)
			return false;
		tried = true;
		EXPECT_FALSE(p.link().write(memory.handle, memory.offset,
					    Octets(64, 0xee)));
		p.link().disconnect();
		return true;
	});
	EXPECT_EQ(server.stat(), 0);
	EXPECT_TRUE(tried);
	EXPECT_GT(server.connections(), before);
	server.usual_answers();
}

} // namespace

/* What would be in a Write chunk is in a direction. What needs none is directed as ever. */
TEST(client_groups, memory_that_is_offered)
{
	for (const u32 way : kWays) {
		SCOPED_TRACE(way);
		const Offers offers(way);
		Server server;

		server.mount(kMount);
		for (const u32 length :
		     { 4096u, 8192u, 65536u, kShort, kLong }) {
			const u32 most = way == kOfferBySize ? kShort : 16384;
			const bool offered = length > most;
			const u32 sends = (std::min(length, kShort) +
					   kPages * kPage - 1) /
					  (kPages * kPage);
			const Regions regions;

			SCOPED_TRACE(length);
			server.groups = 0;
			EXPECT_EQ(server.read(4096, length), 0);
			EXPECT_EQ(server.groups, 1u);
			EXPECT_EQ(server.direction,
				  offered ? kDirections[way] : kTbsn);
			EXPECT_EQ(octets_of(server.offered),
				  offered ? length : 0);
			EXPECT_EQ(server.rdma_from,
				  offered && way == kOfferBySize ? kShort + 1 :
								   0);
			EXPECT_EQ(server.promised,
				  offered && way == kOfferExrw ? 1 : sends);
			regions.expect(offered);
		}
		EXPECT_TRUE(server.reports.empty());
		server.works_on();
	}
}

/* Each answer, to a part of what was asked for. The rest is as it was, and regions come back. */
TEST(client_groups, answers_to_an_offer)
{
	for (const u32 way : kWays) {
		const Offers offers(way);
		Server server;

		server.mount(kMount);
		for (const u32 type : { kExrw, kTbsn, kTooShort, kNoItem }) {
			if (way == kOfferExrw && type == kTbsn)
				continue;
			SCOPED_TRACE(testing::Message() << way << " " << type);
			const Regions regions;

			answer_once(server, [&](Peer &p, const Rpc &call,
						const Parts &parts) {
				/* No whole pages, unless in the stream. */
				const Parts some =
					parts.first(type == kExrw ? 40962 :
						    type == kTbsn ? 12292 :
								    4096);

				server.send_as(p, call.xid, some, type);
			});
			EXPECT_EQ(server.read(4096, kLong), 0);
			EXPECT_EQ(server.groups, 2u);
			regions.expect(2);
		}
		EXPECT_TRUE(server.reports.empty());
		server.works_on();
	}
}

/* What comes in a form of version 2 is whole: there was no Write chunk. */
TEST(client_groups, other_forms_that_answer_an_offer)
{
	for (const u32 way : kWays) {
		SCOPED_TRACE(way);
		const Offers offers(way);
		const Regions regions;
		Server server;

		server.mount(kMount);
		answer_once(server, [&](Peer &p, const Rpc &call,
					const Parts &) {
			server.send_usual(p, call);
		});
		EXPECT_EQ(server.read(4096, kLong), 0);
		EXPECT_EQ(server.groups, 1u);
		/* Though it could be written there. */
		answer_once(server, [&](Peer &p, const Rpc &call,
					const Parts &parts) {
			const Chunk used = server.write_data(p, parts);

			p.send(unit::prefix(call.xid, RPCRDMA2_REPLY_INLINE) +
				       write_list(used),
			       parts.stream);
		});
		EXPECT_EQ(server.read(4096, kLong), EIO);
		regions.expect(2);
		server.works_on();
	}
}

/* Memory that was not offered so, or as much as is not written; no answer, and one too many. */
TEST(client_groups, wrong_answers_to_an_offer)
{
	const std::function<Words(const Parts &, const Chunk &)> wrong[] = {
		[](const Parts &parts, Chunk c) {
			c[0].handle++;
			return Words{ 1 } + parts.written(c);
		},
		[](const Parts &parts, Chunk c) {
			c[0].offset += 4;
			return Words{ 1 } + parts.written(c);
		},
		[](const Parts &parts, Chunk c) {
			c[0].length += 4;
			return Words{ 1 } + parts.written(c);
		},
		[](const Parts &parts, Chunk c) {
			c[0].length -= 4;
			return Words{ 1 } + parts.written(c);
		},
		[](const Parts &parts, Chunk c) {
			c.push_back({ c[0].handle, 0, c[0].offset });
			return Words{ 1 } + parts.written(c);
		},
		[](const Parts &parts, const Chunk &) {
			return Words{ 1 } + parts.written({});
		},
		/* One answer too many, and one too few. */
		[](const Parts &parts, const Chunk &c) {
			return Words{ 2 } + parts.written(c) +
			       Words{ 0, 0, kNoItem };
		},
		[](const Parts &, const Chunk &) { return Words{ 0 }; },
	};

	for (const u32 way : kWays) {
		const Offers offers(way);
		Server server;

		server.mount(kMount);
		for (const auto &answers : wrong) {
			SCOPED_TRACE(testing::Message()
				     << way << " " << &answers - wrong);
			const Regions regions;

			answer_once(server, [&](Peer &p, const Rpc &call,
						const Parts &parts) {
				const Chunk used = server.write_data(p, parts);

				Server::send_answers(p, call.xid,
						     answers(parts, used),
						     parts.stream);
			});
			EXPECT_EQ(server.read(4096, kLong), EIO);
			regions.expect(1);
		}
		if (way != kOfferExrw) {
			server.works_on();
			continue;
		}
		/* Inv. in table 2. */
		answer_once(server, [&](Peer &p, const Rpc &call,
					const Parts &parts) {
			Server::send_placed(p, call.xid, parts.first(8192));
		});
		EXPECT_EQ(server.read(4096, kLong), EIO);
		server.works_on();
	}
}

/* Whatever the answer is, nobody writes there when the READ is over. */
TEST(client_groups, memory_is_taken_back)
{
	const Offers offers(kOfferChoice);
	Server server;

	server.mount(kMount);
	for (const u32 type : { kExrw, kTbsn, kTooShort }) {
		Chunk memory;

		SCOPED_TRACE(type);
		answer_once(server, [&](Peer &p, const Rpc &call,
					const Parts &parts) {
			memory = server.offered;
			server.send_as(p, call.xid,
				       type == kTooShort ? parts.first(4096) :
							   parts,
				       type);
		});
		EXPECT_EQ(server.read(4096, 65536), 0);
		ASSERT_FALSE(memory.empty());
		expect_taken_back(server, memory[0]);
	}
	server.works_again();
}

/* The Call comes again with a Write chunk, and that has other memory. */
TEST(client_groups, offers_that_are_refused)
{
	for (const u32 way : kWays) {
		SCOPED_TRACE(way);
		const Offers offers(way);
		const Regions regions;
		Server server;

		server.mount(kMount);
		for (const bool reported : { true, false }) {
			Chunk memory;

			answer_once(server, [&](Peer &p, const Rpc &call,
						const Parts &) {
				memory = server.offered;
				p.send(reported ?
					       report(call.xid, 0) :
					       error(call.xid,
						     { RPCRDMA2_ERR_SEGMENTS,
						       0 }));
			});
			EXPECT_EQ(server.read(4096, kLong), 0);
			EXPECT_EQ(server.groups, 1u);
			ASSERT_EQ(server.last.writes.size(), 1u);
			EXPECT_EQ(octets_of(server.last.writes[0]), kLong);
			ASSERT_FALSE(memory.empty());
			EXPECT_NE(server.last.writes[0][0].handle,
				  memory[0].handle);
		}
		/* The next one offers memory again. */
		EXPECT_EQ(server.read(4096, kLong), 0);
		EXPECT_EQ(server.groups, 2u);
		regions.expect(5);
		server.works_on();
	}
}

/* The connection ends with it. */
TEST(client_groups, offers_that_are_lost)
{
	for (const u32 way : kWays) {
		SCOPED_TRACE(way);
		const Offers offers(way);
		Server server;

		server.mount(kMount);
		answer_once(server, [&](Peer &p, const Rpc &, const Parts &) {
			EXPECT_FALSE(server.offered.empty());
			p.link().disconnect();
		});
		EXPECT_EQ(server.read(4096, kLong), 0);
		EXPECT_EQ(server.groups, 2u);
		EXPECT_EQ(server.direction, kDirections[way]);
		server.works_again();
	}
}

/*
 * A server that sends Replies of one Send only: it may choose, but where the size decides there
 * is nothing to choose, and the memory is in a Write chunk.
 */
TEST(client_groups, offers_without_receives)
{
	for (const u32 way : kWays) {
		SCOPED_TRACE(way);
		const Offers offers(way);
		Server server(Words{ 3 } + Server::limits(1));

		server.mount(kMount);
		for (const u32 length : { 65536u, kLong }) {
			server.groups = 0;
			EXPECT_EQ(server.read(4096, length), 0) << length;
			EXPECT_EQ(server.groups, way == kOfferBySize ? 0u : 1u);
			if (way == kOfferBySize)
				EXPECT_EQ(server.last.writes.size(), 1u);
			else
				EXPECT_EQ(server.promised, 1u);
		}
		EXPECT_TRUE(server.reports.empty());
		server.works_on();
	}
}
