// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "properties.h"
#include "xdr.h"

namespace rpcrdma
{

/*
 * A property whose type is uint32: its member, and the range that this side may
 * announce. From a peer any number is accepted (5.1).
 */
struct NumericProperty {
	Property which;
	u32 Properties::*field;
	u32 min;
	u32 max;
};

static constexpr NumericProperty kNumeric[] = {
	{ Property::SendSize, &Properties::send_size, RPCRDMA_MIN_RECV_SIZE,
	  UINT32_MAX },
	{ Property::RecvSize, &Properties::recv_size, RPCRDMA_MIN_RECV_SIZE,
	  UINT32_MAX },
	{ Property::SegmentSize, &Properties::max_segment_size, 1, UINT32_MAX },
	{ Property::SegmentCount, &Properties::max_segments, 0, UINT32_MAX },
	{ Property::Reverse, &Properties::reverse, RPCRDMA_RVRSDIR_NONE,
	  RPCRDMA_RVRSDIR_GENL },
};

static_assert(sizeof(kNumeric) / sizeof(kNumeric[0]) == kNumerics);

static bool get_number(const NumericProperty &n, Bytes data, Properties &p)
{
	XdrReader r(data);
	u32 value;

	if (!data.size()) {
		p.*n.field = kDefaultProperties.*n.field;
		return true;
	}
	if (!r.word(value) || r.left())
		return false;
	/* A level that is not known is ignored, as a property would be (6.3.4). */
	if (n.which == Property::Reverse && value > RPCRDMA_RVRSDIR_GENL)
		value = kDefaultProperties.reverse;
	p.*n.field = value;
	return true;
}

/* No policy here asks for authentication (D10), so only the form is checked. */
static bool check_host_auth(Bytes data)
{
	XdrReader r(data);
	Bytes material;
	u32 length;

	if (!data.size())
		return true;
	return r.word(length) && r.opaque(length, material) && !r.left();
}

static bool get_value(u32 which, Bytes data, Properties &p)
{
	if (which == static_cast<u32>(Property::HostAuth))
		return check_host_auth(data);
	for (const NumericProperty &n : kNumeric)
		if (which == static_cast<u32>(n.which))
			return get_number(n, data, p);
	return true;
}

PropertyParse decode_properties(Bytes in, Properties &p)
{
	Properties staged = p;
	XdrReader r(in);
	u32 count;

	if (!r.word(count))
		return PropertyParse::BadXdr;
	for (; count; count--) {
		u32 which;
		u32 length;
		Bytes data;

		if (!r.word(which) || !r.word(length))
			return PropertyParse::BadXdr;
		/* Section 5.1: longer than the message is a bad value. */
		if (!r.opaque(length, data) || !get_value(which, data, staged))
			return PropertyParse::BadValue;
	}
	if (r.left())
		return PropertyParse::BadXdr;
	p = staged;
	return PropertyParse::Ok;
}

u32 encode_properties(const Properties &p, MutableBytes out)
{
	XdrWriter w(out);

	w.word(kNumerics);
	for (const NumericProperty &n : kNumeric) {
		w.word(static_cast<u32>(n.which));
		w.word(sizeof(u32));
		w.word(p.*n.field);
	}
	return w.ok() ? w.size() : 0;
}

bool properties_valid(const Properties &p)
{
	for (const NumericProperty &n : kNumeric)
		if (p.*n.field < n.min || p.*n.field > n.max)
			return false;
	return true;
}

} // namespace rpcrdma
