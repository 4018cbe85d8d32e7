// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "groups.h"

#include <string>

#include "fields.h"
#include "rtr_place.h"

namespace rpcrdmactl
{

namespace
{

using rpcrdma::Bytes;
using rpcrdma::kPrefixSize;
using rpcrdma::kWordSize;
using rpcrdma::Placement;

const char *placement_name(Placement type)
{
	static constexpr const char *kNames[] = { "EXRW",     "TBSN",
						  "CHOICE",   "BYSIZE",
						  "TOOSHORT", "NOITEM" };

	return kNames[static_cast<u32>(type) - 1];
}

Json segments(const rpcrdma::XdrSegments &s)
{
	Json list = Json::array();

	(void)!s.each([&](const rpcrdma::XdrSegment &one) {
		list.push_back(segment(one.segment));
		return true;
	});
	return list;
}

void put_items(Json &out, const rpcrdma::MessageItems &items)
{
	out["items"] = Json::array();
	(void)!items.each([&](const rpcrdma::MessageItem &i) {
		Json item = { { "position", i.position },
			      { "length", i.length },
			      { "placement", placement_name(i.where.type) } };

		if (i.where.type == Placement::Exrw)
			item["segments"] = segments(i.where.segments);
		if (i.where.type == Placement::Tbsn) {
			item["offset"] = i.where.offset;
			item["buffer-segments"] = Json::array();
			(void)!i.where.numbers.each(
				[&](const rpcrdma::XdrNumber &n) {
					item["buffer-segments"].push_back(
						n.value);
					return true;
				});
		}
		out["items"].push_back(std::move(item));
		return true;
	});
}

void put_directions(Json &out, const rpcrdma::DirectionSets &sets)
{
	out["directions"] = Json::array();
	(void)!sets.each([&](const rpcrdma::DirectionSet &s) {
		return s.items.each([&](const rpcrdma::DirectionItem &d) {
			Json direction = {
				{ "from", s.begin },
				{ "to", s.end },
				{ "least", d.least },
				{ "placement", placement_name(d.type) },
			};

			if (d.type == Placement::BySize)
				direction["rdma-from"] = d.rdma_from;
			if (d.type != Placement::Tbsn)
				direction["segments"] = segments(d.segments);
			out["directions"].push_back(std::move(direction));
			return true;
		});
	});
}

Json transmission(const rpcrdma::TransmissionId &id)
{
	return { { "xid", hex(word_of(id.xid), 8) },
		 { "type", id.dir == RPCRDMA_CALL ? "CALL" : "REPLY" },
		 { "number", id.number } };
}

/* The message ends in its header, or something in that cannot be. */
Fault unreadable(u32 octet, Bytes in)
{
	if (octet + kWordSize > in.size())
		return { in.size(), "the message ends in its header" };
	return { octet, "this cannot be in a header of its type" };
}

/* @head: octets between prefix and payload; the last word of them is its length. */
void payload(GroupHeader &h, Json &out, Bytes in, u32 head, u32 length)
{
	const u32 before = kPrefixSize + head;

	out["payload-octets"] = length;
	h.octets = before;
	if (length > in.size() - before)
		h.fault = { before - kWordSize,
			    "the payload would be longer than the message" };
	else if (!rpcrdma::xdr_aligned(length))
		h.fault = { before - kWordSize,
			    "the length of the payload is no multiple of "
			    "four" };
	else
		h.payload = { before, length };
}

/* The first Send of a group. */
template <typename First>
GroupHeader put_first(Json &out, Bytes in, rpcrdma_dir dir)
{
	First m;
	GroupHeader h;

	h.dir = dir;
	if (!m.decode(in.after(kPrefixSize))) {
		h.fault = unreadable(kPrefixSize + m.head, in);
		return h;
	}
	put_items(out, m.items);
	if constexpr (requires { m.directions; })
		put_directions(out, m.directions);
	out["sends"] = m.count;
	if constexpr (requires { m.reply_count; })
		out["reply-sends"] = m.reply_count;
	h.first = true;
	payload(h, out, in, m.head, m.length);
	return h;
}

GroupHeader put_continue(Json &out, Bytes in)
{
	rpcrdma::XmtContinue m;
	GroupHeader h;

	if (!m.decode(in.after(kPrefixSize))) {
		h.fault = unreadable(kPrefixSize + m.head, in);
		return h;
	}
	const char *began = group_type_name(m.began);
	out["number"] = m.number;
	out["began-with"] = began ? began : std::to_string(m.began);
	payload(h, out, in, m.head, m.length);
	return h;
}

GroupHeader put_report(Json &out, Bytes in)
{
	rpcrdma::ReportedError e;
	GroupHeader h;

	if (!e.decode(in.after(kPrefixSize))) {
		h.fault = unreadable(kPrefixSize, in);
		return h;
	}
	const u32 code = static_cast<u32>(e.fault.code);
	const rpcrdma::RtrErrorType *type = rpcrdma::rtr_error_type(code);
	out["bad"] = transmission(e.bad);
	if (e.has_lead)
		out["lead"] = transmission(e.lead);
	out["error-code"] = code;
	out["error-name"] = type->name;
	for (u32 i = 0; i < type->words; i++)
		out["error-arguments"].push_back(e.fault.words[i]);
	h.octets = in.size();
	return h;
}

/* Its fields in a line, and its segments in further ones. */
void line(std::ostringstream &out, const std::string &name, const Json &fields)
{
	out << "  " << name << ":";
	for (const auto &[key, value] : fields.items())
		if (key != "segments")
			out << " " << key << " " << plain(value);
	out << "\n";
	if (!fields.contains("segments"))
		return;
	for (const Json &s : fields.at("segments"))
		out << "    " << segment_line(s) << "\n";
}

} // namespace

const char *group_type_name(u32 htype)
{
	switch (htype) {
	case rpcrdma::kXmtReq:
		return "XMTREQ";
	case rpcrdma::kXmtResp:
		return "XMTRESP";
	case rpcrdma::kXmtCont:
		return "XMTCONT";
	case rpcrdma::kReptErr:
		return "REPTERR";
	}
	return nullptr;
}

GroupHeader put_group(Json &out, const rpcrdma::Prefix &prefix, Bytes in)
{
	switch (prefix.htype) {
	case rpcrdma::kXmtReq:
		return put_first<rpcrdma::XmtRequest>(out, in, RPCRDMA_CALL);
	case rpcrdma::kXmtResp:
		return put_first<rpcrdma::XmtResponse>(out, in, RPCRDMA_REPLY);
	case rpcrdma::kXmtCont:
		return put_continue(out, in);
	default:
		return put_report(out, in);
	}
}

void group_text(std::ostringstream &out, const Json &decoded)
{
	field_lines(out, decoded,
		    { "sends", "reply-sends", "number", "began-with" });
	for (const char *name : { "bad", "lead" })
		if (decoded.contains(name))
			line(out, name, decoded.at(name));
	for (const char *name : { "items", "directions" }) {
		if (!decoded.contains(name))
			continue;
		const std::string one(name, std::string(name).size() - 1);
		std::size_t n = 0;

		for (const Json &fields : decoded.at(name))
			line(out, one + " " + std::to_string(n++), fields);
	}
}

} // namespace rpcrdmactl
