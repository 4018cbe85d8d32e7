// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What rpcgen makes of the XDR in the draft of xcharext.
 */
#include "changes.h"
#include "generated.h"
#include "xchar.h"

namespace codec
{

namespace
{

static_assert(ROPT_INITXCH == kInit && ROPT_REQXCH == kRequest &&
	      ROPT_RESPXCH == kResponse && ROPT_UPDXCH == kUpdate);
static_assert(XCHAR_RBSIZ == 1 && XCHAR_REQREMINV == 2 && XCHAR_BRS == 3);

Property from(const xcharval &v)
{
	const char *data = v.xchv_data.xchv_data_val;

	return { v.xchv_which, Octets(data, data + v.xchv_data.xchv_data_len) };
}

std::vector<Property> from(const xcharspec &s)
{
	std::vector<Property> out;

	for (u32 i = 0; i < s.xcharspec_len; i++)
		out.push_back(from(s.xcharspec_val[i]));
	return out;
}

Subset from(const xcharsubset &s)
{
	return Subset(s.xcharsubset_val, s.xcharsubset_val + s.xcharsubset_len);
}

void fill(const optinfo_initxch &m, Change &c)
{
	c.values = from(m.optixch_start);
	c.subsets = { from(m.optixch_nochg) };
}

void fill(const optinfo_reqxch &m, Change &c)
{
	c.values = from(m.optreqxch_want);
}

void fill(const optinfo_respxch &m, Change &c)
{
	c.subsets = { from(m.optrespxch_done), from(m.optrespxch_rej),
		      from(m.optrespxch_pend) };
}

void fill(const optinfo_updxch &m, Change &c)
{
	c.values = { from(m.optupdxch_now) };
	c.pendclr = m.optupdxch_pendclr;
}

/* The generated structs refer to memory that this keeps. */
class Builder {
public:
	explicit Builder(const Change &c)
		: change_(c)
	{
		for (Property &p : change_.values)
			values_.push_back({ p.which,
					    { static_cast<u_int>(p.data.size()),
					      reinterpret_cast<char *>(
						      p.data.data()) } });
	}
	xcharspec spec()
	{
		return { static_cast<u_int>(values_.size()), values_.data() };
	}
	xcharsubset subset(u32 i)
	{
		Subset &s = change_.subsets[i];

		return { static_cast<u_int>(s.size()), s.data() };
	}
	xcharval value()
	{
		return values_[0];
	}

private:
	Change change_;
	std::vector<xcharval> values_;
};

template <typename T>
bool decode_as(Proc<T> proc, const Octets &in, Change &c, u32 &consumed)
{
	const Value<T> v(proc, in.data(), static_cast<u32>(in.size()));

	consumed = v.consumed;
	if (v.ok)
		fill(v.value, c);
	return v.ok;
}

} // namespace

bool reference_decode(u32 op, const Octets &in, Change &c, u32 &consumed)
{
	switch (op) {
	case kInit:
		return decode_as(xdr_optinfo_initxch, in, c, consumed);
	case kRequest:
		return decode_as(xdr_optinfo_reqxch, in, c, consumed);
	case kResponse:
		return decode_as(xdr_optinfo_respxch, in, c, consumed);
	default:
		return decode_as(xdr_optinfo_updxch, in, c, consumed);
	}
}

Octets reference_encode(u32 op, const Change &c)
{
	Builder b(c);
	optinfo_initxch init;
	optinfo_reqxch request;
	optinfo_respxch response;
	optinfo_updxch update;

	switch (op) {
	case kInit:
		init = { b.spec(), b.subset(0) };
		return encode(xdr_optinfo_initxch, init);
	case kRequest:
		request = { b.spec() };
		return encode(xdr_optinfo_reqxch, request);
	case kResponse:
		response = { b.subset(0), b.subset(1), b.subset(2) };
		return encode(xdr_optinfo_respxch, response);
	default:
		update = { b.value(), c.pendclr };
		return encode(xdr_optinfo_updxch, update);
	}
}

bool reference_flag(const Octets &data, u32 &value)
{
	const Value<xchrreqrem> v(xdr_xchrreqrem, data.data(),
				  static_cast<u32>(data.size()));

	value = v.value;
	return v.ok && v.consumed == data.size();
}

} // namespace codec
