// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Replies by groups of Sends, their data placed by Sends (rtrext, D20): what our client
 * directs, what it does with such Replies, and what with those that are wrong.
 */
#include "groups.h"
#include "nfs3.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

using namespace peer;

namespace
{

constexpr u32 kBadSeq = 4;
constexpr u32 kBadTbsn = 7;

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
	[[nodiscard]] Words item(const Words &segments) const
	{
		return Words{ position, static_cast<u32>(data.size()), kTbsn, 0,
			      static_cast<u32>(segments.size()) } +
		       segments;
	}

	u32 position;
	Octets stream;
	Octets data;
	u32 sends;
};

/* A server that has the extension. It takes no data by Sends, so WRITEs are as ever. */
class Server : public Nfs3 {
public:
	Server()
	{
		opening = [](Peer &p) {
			p.take_properties(p.next());
			EXPECT_EQ(p.property(kSupport),
				  kTakesResponses | kTakesContinues);
			EXPECT_EQ(p.property(2), kHead + kPages * kPage);
			p.send(unit::connprop(
				p.new_xid(), { 3, kSupport, 4,
					       kTakesRequests | kTakesContinues,
					       kRequestLimit, 4, kMostSends,
					       kReplyLimit, 4, kMostSends }));
			p.speak_extensions();
		};
		message = [this](Peer &p, const Message &m) {
			return take(p, m);
		};
	}

	/* How READs are answered that came by a group; false: by one, as is right. */
	std::function<bool(Peer &, const Rpc &, const Parts &)> answer;
	u32 groups = 0; /* Calls that have come so */
	u32 promised = 0; /* to the last */
	std::vector<u32> reports; /* codes of REPTERR that have come */

	/* A Reply by a group, its first header with these items. */
	static void send_group(Peer &p, u32 xid, const Parts &parts,
			       const Words &items, u32 sends)
	{
		Words header =
			unit::prefix(xid, kResponse) + items +
			Words{ sends, static_cast<u32>(parts.stream.size()) };

		for (u32 n = 0; n < sends; n++) {
			Octets body = n ? Octets() : parts.stream;
			const u32 from = std::min<u32>(
				n * kPages * kPage,
				static_cast<u32>(parts.data.size()));
			const u32 to = std::min<u32>(
				from + kPages * kPage,
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
	static void send_placed(Peer &p, u32 xid, const Parts &parts)
	{
		send_group(p, xid, parts,
			   Words{ 1 } + parts.item(parts.numbers()),
			   parts.sends);
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
			const u32 at = m.word(7) ? 11 : 8;

			EXPECT_EQ(m.word(5), 1u) << "not about a Reply";
			reports.push_back(m.word(at));
			if (refused)
				refused(p, m.word(4));
			return true;
		}
		if (m.htype() != kRequest)
			return false;
		groups++;
		/* No items, one range, one direction: all of it, TBSN from a page on. */
		const u32 length = m.word(13);
		EXPECT_EQ(m.words(4), (Words{ 0, 1, 0, length, 1, kPage, kTbsn,
					      1, m.word(12), length } +
				       m.words(14)));
		promised = m.word(12);
		Rpc call;
		call.xid = m.xid();
		call.pieces = 1;
		call.stream.assign(m.octets.begin() + 56,
				   m.octets.begin() + 56 + length);
		EXPECT_EQ(call.word(5), u32{ kRead3 });
		last = call;
		const Octets whole = result(p, call);
		/* status, attributes, count, end of file, length */
		const Parts parts(whole, unit::word_at(whole, 6 + 1 + 22 + 2));
		if (!answer || !answer(p, call, parts))
			send_placed(p, call.xid, parts);
		return true;
	}

public:
	/* What follows a REPTERR about the Reply with this XID. */
	std::function<void(Peer &, u32 xid)> refused;
};

} // namespace

TEST(client_groups, reads)
{
	const Parameter rtrext("rtrext", 1);
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

/* Any form is right. */
TEST(client_groups, replies_in_other_forms)
{
	const Parameter rtrext("rtrext", 1);
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
			Octets whole = parts.stream;

			whole.insert(whole.end(), parts.data.begin(),
				     parts.data.end());
			p.send(unit::prefix(call.xid, kResponse) +
				       Words{ 1, parts.position,
					      static_cast<u32>(
						      parts.data.size()),
					      type, 1,
					      static_cast<u32>(whole.size()) },
			       whole);
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
	const Parameter rtrext("rtrext", 1);
	Server server;
	Rpc current;

	server.mount();
	server.refused = [&](Peer &p, u32 xid) {
		EXPECT_EQ(xid, current.xid);
		server.send_usual(p, current);
	};
	/* A segment that is not there, one twice, too few. */
	for (const Words &segments :
	     { Words{ 0, 4 }, Words{ 0, 0 }, Words{ 0 } }) {
		server.reports.clear();
		server.answer = [&](Peer &p, const Rpc &call,
				    const Parts &parts) {
			current = call;
			server.send_group(p, call.xid, parts,
					  Words{ 1 } + parts.item(segments), 1);
			return true;
		};
		EXPECT_EQ(server.read(4096, 8192), 0);
		EXPECT_EQ(server.reports, std::vector<u32>{ kBadTbsn });
	}
	/* More Sends than were promised, and one that is left out. */
	server.reports.clear();
	server.answer = [&](Peer &p, const Rpc &call, const Parts &parts) {
		current = call;
		server.send_group(p, call.xid, parts,
				  Words{ 1 } + parts.item(parts.numbers()), 3);
		return true;
	};
	EXPECT_EQ(server.read(4096, 16384), 0);
	EXPECT_EQ(server.reports, std::vector<u32>{ kBadSeq });
	server.reports.clear();
	server.answer = [&](Peer &p, const Rpc &call, const Parts &parts) {
		const Words header =
			unit::prefix(call.xid, kResponse) + Words{ 1 } +
			parts.item(parts.numbers()) +
			Words{ 3, static_cast<u32>(parts.stream.size()) };
		Octets body = parts.stream;

		current = call;
		body.resize(kHead - 4 * header.size());
		body.insert(body.end(), parts.data.begin(),
			    parts.data.begin() + kPages * kPage);
		p.send(header, body);
		p.send(unit::prefix(call.xid, kContinue) +
		       Words{ 2, kResponse, 0 });
		return true;
	};
	EXPECT_EQ(server.read(4096, 24576), 0);
	EXPECT_EQ(server.reports, std::vector<u32>{ kBadSeq });
	server.answer = nullptr;
	server.works_on();
}

/* Data in memory that was not offered; no answer to the direction, and one too many. */
TEST(client_groups, replies_that_fail)
{
	const Parameter rtrext("rtrext", 1);
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
			p.send(unit::prefix(call.xid, kResponse) + answers +
				       Words{ 1,
					      static_cast<u32>(whole.size()) },
			       whole);
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
	const Parameter rtrext("rtrext", 1);
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
