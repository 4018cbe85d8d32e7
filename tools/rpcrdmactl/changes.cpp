// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "changes.h"

#include <cstdio>
#include <string>

#include "fields.h"
#include "properties.h"
#include "xchar_wire.h"
#include "xcharext.h"

namespace rpcrdmactl
{

namespace
{

using rpcrdma::Bytes;
using rpcrdma::kPrefixSize;
using rpcrdma::kWordSize;
using rpcrdma::XcharSpec;
using rpcrdma::XcharSubset;
using rpcrdma::XcharValue;
using rpcrdma::Xcharext;
using rpcrdma::XdrReader;

/* Those of the draft as netlink has them, those of extensions as the core has them. */
std::string property_name(u32 which)
{
	static constexpr const char *kNames[] = {
		nullptr,	"send-size", "receive-size", "segment-size",
		"segment-count", "reverse",  "host-auth",
	};

	if (which && which < std::size(kNames))
		return kNames[which];
	for (u32 i = 0; i < rpcrdma::Extensions::kProperties; i++)
		if (rpcrdma::kPropertyTypes[i].id == which)
			return rpcrdma::kPropertyTypes[i].name;
	return "property-" + std::to_string(which);
}

/* Reads the parts of a message one after the other, up to what is wrong. */
class Parts {
public:
	Parts(Json &out, Bytes in)
		: out_(out)
		, in_(in)
		, r_(in.after(kPrefixSize))
	{
	}

	/* Return: how many there are. */
	u32 values(const char *name)
	{
		XdrReader r = r_;
		u32 count;
		XcharSpec spec;

		if (!ok())
			return 0;
		out_[name] = Json::object();
		if (!r.word(count)) {
			ends();
			return 0;
		}
		for (u32 i = 0; i < count; i++)
			if (!value(r, out_[name]))
				return 0;
		if (!spec.decode(r_))
			wrong(r_.offset(), "this cannot be decoded");
		return spec.size();
	}

	/* One value, without a count. */
	void one(const char *name)
	{
		if (!ok())
			return;
		out_[name] = Json::object();
		(void)!value(r_, out_[name]);
	}

	/* @n: how many positions there are; UINT32_MAX if the message does not say it. */
	void positions(const char *name, u32 n)
	{
		const u32 begin = r_.offset();
		XcharSubset subset;
		u32 words = 0;

		if (!ok())
			return;
		if (!XdrReader(r_).word(words)) {
			ends();
			return;
		}
		if (!subset.decode(r_)) {
			wrong(begin, "these words are more than the message "
				     "has");
			return;
		}
		if (!subset.within(n)) {
			wrong(begin + kWordSize,
			      "a bit stands for no property of the message");
			return;
		}
		out_[name] = Json::array();
		for (u32 p = 0; p / rpcrdma::kXcharBits < words; p++)
			if (subset.has(p))
				out_[name].push_back(p);
	}

	void flag(const char *name)
	{
		const u32 begin = r_.offset();
		bool is_set = false;

		if (!ok())
			return;
		if (r_.boolean(is_set))
			out_[name] = is_set;
		else if (r_.left() < kWordSize)
			ends();
		else
			wrong(begin, "neither 0 nor 1");
	}

	std::optional<Fault> end()
	{
		if (ok() && r_.left())
			wrong(r_.offset(), "more follows than a header of its "
					   "type has");
		return std::move(fault_);
	}

private:
	[[nodiscard]] bool ok() const
	{
		return !fault_;
	}
	void wrong(u32 offset, const char *what)
	{
		fault_ = Fault{ kPrefixSize + offset, what };
	}
	void ends()
	{
		fault_ = Fault{ in_.size(), "the message ends in its header" };
	}

	[[nodiscard]] bool value(XdrReader &r, Json &into)
	{
		const u32 begin = r.offset();
		const u32 left = r.left();
		XcharValue v;

		if (v.decode(r)) {
			put_property(into, v.which, v.data);
			return true;
		}
		if (left < 2 * kWordSize)
			ends();
		else
			wrong(begin + kWordSize,
			      "the value of this property is longer than the "
			      "message");
		return false;
	}

	Json &out_;
	Bytes in_;
	XdrReader r_;
	std::optional<Fault> fault_;
};

} // namespace

void put_property(Json &out, u32 which, Bytes value)
{
	const std::string name = property_name(which);
	XdrReader r(value);
	u32 number;

	if (!value.size()) {
		out[name] = "default";
	} else if (value.size() == kWordSize && r.word(number)) {
		out[name] = number;
	} else {
		std::string octets;
		char text[3];

		for (const u8 octet : value) {
			std::snprintf(text, sizeof(text), "%02x", octet);
			octets += text;
		}
		out[name] = octets;
	}
}

bool is_change(u32 htype)
{
	return htype >= Xcharext::kInit && htype <= Xcharext::kUpdate;
}

std::optional<Fault> put_change(Json &out, const rpcrdma::Prefix &prefix,
				Bytes in)
{
	Parts parts(out, in);

	switch (prefix.htype) {
	case Xcharext::kInit:
		parts.positions("unchanging", parts.values("start"));
		break;
	case Xcharext::kRequest:
		parts.values("wanted");
		break;
	case Xcharext::kResponse:
		for (const char *name : { "done", "rejected", "pending" })
			parts.positions(name, UINT32_MAX);
		break;
	default:
		parts.one("now");
		parts.flag("ends-pending");
		break;
	}
	return parts.end();
}

void change_text(std::ostringstream &out, const Json &decoded)
{
	group_lines(out, decoded, { "start", "wanted", "now" });
	field_lines(out, decoded,
		    { "unchanging", "done", "rejected", "pending",
		      "ends-pending" });
}

} // namespace rpcrdmactl
