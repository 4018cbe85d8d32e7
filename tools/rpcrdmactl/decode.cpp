// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "decode.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <sstream>
#include <stdexcept>

#include "changes.h"
#include "fault.h"
#include "fields.h"
#include "groups.h"
#include "names.h"
#include "properties.h"
#include "wire.h"
#include "xdr.h"

namespace rpcrdmactl
{

namespace
{

using rpcrdma::Bytes;
using rpcrdma::Chunks;
using rpcrdma::Header;
using rpcrdma::kPrefixSize;
using rpcrdma::kWordSize;
using rpcrdma::Parse;

Json write_chunk(const Chunks &c, const rpcrdma_write_chunk &w)
{
	Json segments = Json::array();

	for (u32 i = 0; i < w.count && w.first + i < c.n_write_segs; i++)
		segments.push_back(segment(c.write_segs[w.first + i]));
	return segments;
}

/* @whole: all of them were read; else the count of the last may not have been. */
void put_chunks(Json &out, const Chunks &c, bool whole)
{
	for (u32 i = 0; i < c.n_call; i++)
		out["call-chunk"].push_back(segment(c.call[i]));
	for (u32 i = 0; i < c.n_reads; i++) {
		Json read = segment(c.reads[i].target);
		read["position"] = c.reads[i].position;
		out["read-list"].push_back(std::move(read));
	}
	for (u32 i = 0; i < c.n_writes; i++)
		out["write-list"].push_back(write_chunk(c, c.writes[i]));
	if (!c.has_reply)
		return;
	Json reply = write_chunk(c, c.reply);
	if (whole || !reply.empty())
		out["reply-chunk"] = std::move(reply);
}

/* Numbers have a meaning in their version only. */
const char *header_name(const rpcrdma::Prefix &p)
{
	const bool known = p.vers == rpcrdma::kVersion1 ?
				   p.htype <= RPCRDMA2_ERROR :
			   p.vers == rpcrdma::kVersion2 ?
				   p.htype >= RPCRDMA2_ERROR :
				   false;

	return known ? rpcrdma::htype_name(p.htype) : "?";
}

const char *direction_name(rpcrdma_dir direction)
{
	return direction == RPCRDMA_CALL ? "CALL" : "REPLY";
}

/* The code, and the words of the union's arm. @words: how many of them all there are. */
void put_error(Json &out, const rpcrdma::ErrorBody &error, u32 words)
{
	const rpcrdma::ErrorType *type = rpcrdma::error_type(error.code);

	if (!words)
		return;
	out["error-code"] = error.code;
	out["error-name"] = rpcrdma::errcode_name(error.code);
	for (u32 i = 0; type && i < type->words && i + 1 < words; i++)
		out["error-arguments"].push_back(error.arg[i]);
}

/*
 * The first words of an RPC message (RFC 5531). Other parts of one have no such words:
 * these are told by an XID that is not that of the header, or the wrong direction.
 */
void put_rpc(Json &out, const Header &h, Bytes payload)
{
	rpcrdma::XdrReader r(payload);
	static constexpr const char *kCall[] = { "rpc-version", "program",
						 "program-version",
						 "procedure" };
	const rpcrdma_dir direction = h.type->direction();
	u32 xid;
	u32 type;

	if (!r.word(xid) || !r.word(type) ||
	    rpcrdma::to_xid(xid) != h.prefix.xid || type != direction)
		return;
	Json rpc = { { "xid", hex(xid, 8) },
		     { "type", direction_name(direction) } };
	u32 word;
	if (direction == RPCRDMA_CALL) {
		for (const char *name : kCall)
			if (r.word(word))
				rpc[name] = word;
	} else if (r.word(word)) {
		rpc["status"] = word == 0 ? "accepted" :
				word == 1 ? "denied" :
					    "unknown";
	}
	out["rpc"] = std::move(rpc);
}

/* Of the message, all that can be said; the reason if it is not valid. */
class Decoder {
public:
	explicit Decoder(const Octets &message)
		: in_(message.data(), static_cast<u32>(message.size()))
	{
	}

	[[nodiscard]] Json run()
	{
		out_["octets"] = in_.size();
		out_["valid"] = true;
		if (!rpcrdma::decode_prefix(in_, header_.prefix))
			return wrong(in_.size(),
				     "the message ends in its prefix");
		const rpcrdma::Prefix &p = header_.prefix;
		out_["xid"] = hex(word_of(p.xid), 8);
		out_["version"] = p.vers;
		out_["credit"] = p.credit;
		out_["header-type"] = p.htype;
		out_["header-name"] = header_name(p);
		if (p.vers == rpcrdma::kVersion1)
			return version1();
		if (p.vers == rpcrdma::kVersion2)
			return version2();
		return wrong(kWordSize, "this version is not known");
	}

private:
	Json version1()
	{
		switch (header_.prefix.htype) {
		case RPCRDMA1_MSG:
		case RPCRDMA1_NOMSG:
			return body(
				rpcrdma::decode_body_v1(in_, header_, chunks_));
		case RPCRDMA2_ERROR:
			return error_version1();
		case RPCRDMA1_DONE:
			return in_.size() == kPrefixSize ?
				       std::move(out_) :
				       wrong(kPrefixSize,
					     "nothing can follow the prefix of "
					     "this type");
		}
		return wrong(3 * kWordSize,
			     "version 1 has no such procedure, or it is no "
			     "longer used");
	}

	/* Version 1 has two errors (RFC 8166, section 4.5). */
	Json error_version1()
	{
		header_.type = rpcrdma::header_type(RPCRDMA2_ERROR);
		const Parse parsed = rpcrdma::decode_body(
			in_, rpcrdma::kNoLimits, header_, chunks_);
		const u32 code = header_.error.code;

		if (in_.size() >= kPrefixSize + kWordSize && code != 1 &&
		    code != 2) {
			out_["error-code"] = code;
			return wrong(kPrefixSize,
				     "version 1 has no such error");
		}
		Json done = body(parsed);
		if (done.contains("error-name"))
			done["error-name"] = code == 1 ? "ERR_VERS" :
							 "ERR_CHUNK";
		return done;
	}

	Json version2()
	{
		if (rpcrdma::of_2016(in_, header_.prefix, chunks_))
			return dialect();
		header_.type = rpcrdma::header_type(header_.prefix.htype);
		if (is_change(header_.prefix.htype))
			return change();
		if (group_type_name(header_.prefix.htype))
			return group();
		if (!header_.type)
			return wrong(3 * kWordSize,
				     "version 2 has no such header type");
		return body(rpcrdma::decode_body(in_, rpcrdma::kNoLimits,
						 header_, chunks_));
	}

	/*
	 * Right in the dialect of 2016, which says that it is version 2. It is told whole;
	 * the octet is the first that version 2 cannot have.
	 */
	Json dialect()
	{
		static const std::string kDraft =
			" of the dialect of 2016, "
			"draft-cel-nfsv4-rpcrdma-version-two-01";
		const u32 proc = header_.prefix.htype;

		out_["dialect"] = "2016";
		if (proc == rpcrdma::kOptional2016) {
			optional();
			return wrong(kPrefixSize,
				     "a GRANT has no more; this is OPTIONAL" +
					     kDraft);
		}
		const Parse parsed =
			rpcrdma::decode_body_2016(in_, header_, chunks_);
		const std::string name = header_.type->name;

		out_["header-name"] = name;
		out_["direction"] = direction_name(header_.type->direction());
		put_chunks(out_, chunks_, parsed == Parse::Ok);
		if (parsed == Parse::Ok) {
			out_["header-octets"] = header_.end;
			put_payload();
		}
		return wrong(3 * kWordSize,
			     "version 2 has no such header type; this is " +
				     name + kDraft);
	}

	void optional()
	{
		rpcrdma::Optional2016 o;

		if (!rpcrdma::decode_optional_2016(in_, o))
			return;
		out_["header-name"] = "OPTIONAL";
		out_["direction"] = direction_name(o.direction);
		out_["optional-type"] = o.opttype;
		out_["optional-octets"] = o.optinfo.length;
		out_["header-octets"] = o.payload.offset;
		if (o.payload.length)
			out_["payload-octets"] = o.payload.length;
	}

	void put_payload()
	{
		if (!header_.payload.length)
			return;
		out_["payload-octets"] = header_.payload.length;
		put_rpc(out_, header_, in_.after(header_.payload.offset));
	}

	/* Of the extension rtrext. */
	Json group()
	{
		const GroupHeader g = put_group(out_, header_.prefix, in_);

		out_["header-name"] = group_type_name(header_.prefix.htype);
		if (g.fault)
			return wrong(g.fault->octet, g.fault->what);
		out_["header-octets"] = g.octets;
		header_.type = rpcrdma::header_type(
			g.dir == RPCRDMA_CALL ? RPCRDMA2_CALL_INLINE :
						RPCRDMA2_REPLY_INLINE);
		if (g.first)
			put_rpc(out_, header_,
				in_.part(g.payload.offset, g.payload.length));
		return std::move(out_);
	}

	/* Of the extension xcharext. */
	Json change()
	{
		const auto fault = put_change(out_, header_.prefix, in_);

		if (fault)
			return wrong(fault->octet, fault->what);
		out_["header-octets"] = in_.size();
		return std::move(out_);
	}

	Json body(Parse parsed)
	{
		const rpcrdma::HeaderType *type = header_.type;
		const u32 words = (in_.size() - kPrefixSize) / kWordSize;

		/* What was not read is not told. */
		if (type) {
			if (type->fields & rpcrdma::kFieldError)
				put_error(out_, header_.error, words);
			if ((type->fields & rpcrdma::kFieldRemaining) && words)
				out_["remaining"] = header_.remaining;
			if ((type->fields & rpcrdma::kFieldInvHandle) &&
			    in_.size() >= handle_at() + kWordSize)
				out_["inv-handle"] = hex(header_.inv_handle, 8);
		}
		put_chunks(out_, chunks_, parsed == Parse::Ok);
		if (parsed != Parse::Ok)
			return refused(parsed);
		if (type->fields & rpcrdma::kFieldProperties)
			return properties();
		out_["header-octets"] = header_.end;
		put_payload();
		return std::move(out_);
	}

	/* All of the set as it is in the message, up to what is wrong. */
	Json properties()
	{
		const u32 begin = header_.properties.offset;
		const Bytes set = in_.after(begin);
		rpcrdma::XdrReader r(set);
		u32 count;

		if (!r.word(count))
			return wrong(begin, "the message ends here");
		out_["properties"] = Json::object();
		for (; count; count--) {
			const u32 at = r.offset();
			u32 which;
			u32 length;
			Bytes value;

			if (!r.word(which) || !r.word(length))
				return wrong(begin + at,
					     "there are fewer properties than "
					     "the set says");
			if (!r.opaque(length, value))
				return wrong(begin + at,
					     "the value of this property is "
					     "longer than the message");
			if (!property_valid(set, at, r.offset()))
				return wrong(begin + at,
					     "this property cannot have this "
					     "value");
			put_property(out_["properties"], which, value);
		}
		if (r.left())
			return wrong(begin + r.offset(),
				     "more follows than the set says");
		out_["header-octets"] = in_.size();
		return std::move(out_);
	}

	/* A set of this one alone is valid. */
	static bool property_valid(Bytes set, u32 from, u32 to)
	{
		Octets one = { 0, 0, 0, 1 };
		rpcrdma::Properties p = rpcrdma::kDefaultProperties;

		one.insert(one.end(), set.begin() + from, set.begin() + to);
		return rpcrdma::decode_properties(
			       { one.data(), static_cast<u32>(one.size()) },
			       p) == rpcrdma::PropertyParse::Ok;
	}

	/* The word of rdma_inv_handle comes first, or second behind rdma_remaining. */
	[[nodiscard]] u32 handle_at() const
	{
		return header_.type->fields & rpcrdma::kFieldRemaining ?
			       kPrefixSize + kWordSize :
			       kPrefixSize;
	}

	/* Without its handle the message is valid. */
	[[nodiscard]] bool foreign_handle() const
	{
		Header h = header_;
		Chunks c = {};

		if (!h.type || !(h.type->fields & rpcrdma::kFieldInvHandle) ||
		    in_.size() < handle_at() + kWordSize)
			return false;
		Octets without(in_.begin(), in_.end());
		std::fill_n(without.begin() + handle_at(), kWordSize, 0);
		return rpcrdma::decode_body({ without.data(), in_.size() },
					    rpcrdma::kNoLimits, h,
					    c) == Parse::Ok;
	}

	Json refused(Parse parsed)
	{
		switch (parsed) {
		case Parse::TooManyReadChunks:
			return wrong(header_.end, "more Read chunks than this "
						  "program can take");
		case Parse::TooManyWriteChunks:
			return wrong(header_.end, "more Write chunks than this "
						  "program can take");
		case Parse::TooManySegments:
			return wrong(header_.end, "more segments than this "
						  "program can take");
		default:
			break;
		}
		/* A type of version 1 is known only when its direction is. */
		const auto fault = find_fault(
			in_, header_.type ?
				     *header_.type :
				     rpcrdma::header_type_v1(
					     header_.prefix.htype,
					     RPCRDMA_CALL));
		if (fault)
			return wrong(fault->octet, fault->what);
		if (foreign_handle())
			return wrong(handle_at(),
				     "rdma_inv_handle is not in the header");
		if (!header_.type)
			return wrong(in_.size(),
				     "the message ends before the direction, "
				     "the second word of its payload");
		if (header_.prefix.vers == rpcrdma::kVersion1)
			return wrong(kPrefixSize, "a Reply has a Read list; "
						  "only a Call may have one");
		return wrong(header_.end,
			     "this extension does not allow what is here");
	}

	Json wrong(u32 octet, const std::string &error)
	{
		out_["valid"] = false;
		out_["octet"] = octet;
		out_["error"] = error;
		return std::move(out_);
	}

	Bytes in_;
	Header header_;
	Chunks chunks_ = {};
	Json out_ = Json::object();
};

/* Sixteen octets a line, and a mark below the one that is wrong. */
void dump(std::ostringstream &out, const Octets &message, std::size_t wrong)
{
	constexpr std::size_t kLine = 16;
	char text[24];

	for (std::size_t at = 0; at <= message.size(); at += kLine) {
		std::string line;
		if (at == message.size() && wrong != at)
			break;
		for (std::size_t i = at; i < at + kLine && i < message.size();
		     i++) {
			std::snprintf(text, sizeof(text), " %02x", message[i]);
			line += text;
		}
		std::snprintf(text, sizeof(text), "%04zx", at);
		out << "    " << text << ":" << line << "\n";
		if (wrong >= at && wrong < at + kLine)
			out << std::string(10 + 3 * (wrong - at), ' ')
			    << "^^ octet " << wrong << "\n";
	}
}

void segments(std::ostringstream &out, const std::string &name,
	      const Json &list)
{
	out << "  " << name << ":";
	if (list.empty())
		out << " no segments";
	out << "\n";
	for (const Json &s : list)
		out << "    " << segment_line(s) << "\n";
}

} // namespace

Json decode(const Octets &message)
{
	return Decoder(message).run();
}

std::string decoded_text(const Json &d, const Octets &message)
{
	std::ostringstream out;

	out << d.at("octets") << " octets";
	if (d.contains("xid"))
		out << ": version " << d.at("version") << " "
		    << plain(d.at("header-name")) << " (" << d.at("header-type")
		    << ") xid " << plain(d.at("xid")) << " credit "
		    << d.at("credit");
	out << "\n";
	field_lines(out, d,
		    { "error-code", "error-name", "error-arguments",
		      "remaining", "inv-handle", "dialect", "direction",
		      "optional-type", "optional-octets", "header-octets",
		      "payload-octets" });
	change_text(out, d);
	group_text(out, d);
	for (const char *name : { "call-chunk", "read-list", "reply-chunk" })
		if (d.contains(name))
			segments(out, name, d.at(name));
	if (d.contains("write-list"))
		for (std::size_t i = 0; i < d.at("write-list").size(); i++)
			segments(out, "write-chunk " + std::to_string(i),
				 d.at("write-list").at(i));
	group_lines(out, d, { "properties", "rpc" });
	if (!d.at("valid").get<bool>()) {
		out << "  wrong at octet " << d.at("octet") << ": "
		    << plain(d.at("error")) << "\n";
		dump(out, message, d.at("octet").get<std::size_t>());
	}
	return out.str();
}

/* ------------------------------------------------------------------ */
/* Hexadecimal                                                        */
/* ------------------------------------------------------------------ */

namespace
{

/* Where a colon ends an offset at the beginning of a line; else npos. */
std::size_t offset_end(const std::string &line)
{
	const std::size_t first = line.find_first_not_of(" \t");
	const std::size_t colon = line.find(':');

	/* It has more digits than an octet, and white space follows. */
	if (colon == std::string::npos || colon - first <= 2 ||
	    colon + 1 == line.size() ||
	    !std::isspace(static_cast<unsigned char>(line[colon + 1])))
		return std::string::npos;
	return colon;
}

/* Without a comment, the offset at its beginning and the text at its end. */
std::string digits_of(std::string line)
{
	const auto cut = [&line](std::size_t at) {
		if (at != std::string::npos)
			line.resize(at);
	};

	cut(line.find('#'));
	const std::size_t colon = offset_end(line);
	if (colon != std::string::npos) {
		line.erase(0, line.find_first_not_of(" \t", colon + 1));
		cut(line.find("  "));
	}
	return line;
}

bool between(char c)
{
	return std::isspace(static_cast<unsigned char>(c)) || c == ',' ||
	       c == ':';
}

/* Appends the octets of one line. Return: false if it has something else. */
bool take_line(const std::string &line, Octets &octets)
{
	for (std::size_t i = 0; i < line.size();) {
		if (between(line[i])) {
			i++;
			continue;
		}
		if (line[i] == '0' && i + 2 < line.size() &&
		    (line[i + 1] == 'x' || line[i + 1] == 'X')) {
			i += 2;
			continue;
		}
		if (i + 1 >= line.size() ||
		    !std::isxdigit(static_cast<unsigned char>(line[i])) ||
		    !std::isxdigit(static_cast<unsigned char>(line[i + 1])))
			return false;
		octets.push_back(static_cast<std::uint8_t>(
			std::stoul(line.substr(i, 2), nullptr, 16)));
		i += 2;
	}
	return true;
}

/* Of a line that is longer only so much is kept. */
constexpr std::size_t kLongestLine = 4 * kLargestMessage;

/* Return: false at the end. */
bool get_line(std::istream &in, std::string &line)
{
	char c;

	line.clear();
	while (in.get(c) && c != '\n')
		if (line.size() <= kLongestLine)
			line += c;
	return in || !line.empty();
}

} // namespace

void read_hex(std::istream &in, const std::function<void(const Octets &)> &take,
	      const std::function<void(unsigned, const std::string &)> &bad)
{
	Octets message;
	std::string line;
	bool spoilt = false;
	const auto end = [&] {
		if (!message.empty() && !spoilt)
			take(message);
		message.clear();
		spoilt = false;
	};

	for (unsigned number = 1; get_line(in, line); number++) {
		if (line.find_first_not_of(" \t\r") == std::string::npos) {
			end();
		} else if (line.size() > kLongestLine ||
			   !take_line(digits_of(line), message)) {
			bad(number, "not hexadecimal");
			spoilt = true;
		} else if (message.size() > kLargestMessage) {
			if (!spoilt)
				bad(number, "the message is too long");
			spoilt = true;
		}
		if (spoilt)
			message.clear();
	}
	end();
}

} // namespace rpcrdmactl
