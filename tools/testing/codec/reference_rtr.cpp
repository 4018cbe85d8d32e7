// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What rpcgen makes of the XDR in the draft of rtrext.
 */
#include "rtr.h"
#include "generated.h"
#include "rtr03.h"

#include <deque>

namespace codec
{

namespace
{

static_assert(ROPT_XMTREQ == kXmtReq && ROPT_XMTRESP == kXmtResp &&
	      ROPT_XMTCONT == kXmtCont && ROPT_REPTERR == kReptErr);
static_assert(XPROP_RTRSUPP == 3 && XPROP_RBSTRUCT == 4 &&
	      XPROP_REQRXLIM == 5 && XPROP_RESPSXLIM == 6);
static_assert(RTRS_XREQ == 1 && RTRS_XRESP == 2 && RTRS_XCONT == 4 &&
	      XMRSFLAG_PLT == 1);

/* ---- from what is generated ---- */

template <typename Array>
std::vector<Segment> segments(const Array *from, u_int count)
{
	std::vector<Segment> out;

	for (u_int i = 0; i < count; i++)
		out.push_back({ from[i].rdma_handle, from[i].rdma_length,
				from[i].rdma_offset });
	return out;
}

std::vector<Item> from(const xmdp_grpinfo &g)
{
	std::vector<Item> out;

	for (u_int i = 0; i < g.xmdp_grpinfo_len; i++) {
		const xmdp_mitem &m = g.xmdp_grpinfo_val[i];
		const xmdp_loc &l = m.xmdmi_where;
		Item item = { m.xmdmi_disp,
			      m.xmdmi_length,
			      static_cast<u32>(l.type),
			      {},
			      0,
			      {} };

		if (l.type == XMPTYPE_EXRW) {
			const auto &ex = l.xmdp_loc_u.xmdl_ex;

			item.segments =
				segments(ex.xmdl_ex_val, ex.xmdl_ex_len);
		} else if (l.type == XMPTYPE_TBSN) {
			const auto &tb = l.xmdp_loc_u.xmdl_placed;
			const auto &n = tb.xmdl_bsnum;

			item.offset = tb.xmdl_offset;
			item.numbers.assign(n.xmdl_bsnum_val,
					    n.xmdl_bsnum_val +
						    n.xmdl_bsnum_len);
		}
		out.push_back(item);
	}
	return out;
}

Direct from(const xmdp_rsditem &r)
{
	const xmdp_rsdloc &l = r.xmdrsdi_loc;
	const auto &ex = l.xmdp_rsdloc_u.xmdrsdl_ex;
	const auto &by = l.xmdp_rsdloc_u.xmdrsdl_sized;
	Direct d = { r.xmdrsdi_minlen, static_cast<u32>(l.type), 0, {} };

	switch (l.type) {
	case XMPTYPE_EXRW:
	case XMPTYPE_CHOICE:
		d.segments = segments(ex.xmdrsdl_ex_val, ex.xmdrsdl_ex_len);
		break;
	case XMPTYPE_BYSIZE:
		d.rdma_from = by.xmdrsdl_dsdov;
		d.segments = segments(by.xmdrsdl_bsex.xmdrsdl_bsex_val,
				      by.xmdrsdl_bsex.xmdrsdl_bsex_len);
		break;
	default:
		break;
	}
	return d;
}

std::vector<DirectSet> from(const xmdp_rsdgroup &g)
{
	std::vector<DirectSet> out;

	for (u_int i = 0; i < g.xmdp_rsdgroup_len; i++) {
		const xmdp_rsdset &s = g.xmdp_rsdgroup_val[i];
		DirectSet set = { s.xmdrsds_range.xmdrsdr_begin,
				  s.xmdrsds_range.xmdrsdr_end,
				  {} };

		for (u_int k = 0; k < s.xmdrsds_items.xmdrsds_items_len; k++)
			set.items.push_back(
				from(s.xmdrsds_items.xmdrsds_items_val[k]));
		out.push_back(set);
	}
	return out;
}

void fill(const optxmt_req &m, Rtr &out)
{
	out.items = from(m.optxrq_dp);
	out.directions = from(m.optxrq_rsd);
	out.words = { m.optxrq_count, m.optxrq_rsbuf, m.optxrq_pslen };
}

void fill(const optxmt_resp &m, Rtr &out)
{
	out.items = from(m.optxrs_dp);
	out.words = { m.optxrs_count, m.optxrs_pslen };
}

void fill(const optxmt_cont &m, Rtr &out)
{
	out.words = { m.optxc_xnum, m.optxc_itype, m.optxc_pslen };
}

std::vector<u32> from(const xms_id &id)
{
	return { id.xmsi_xid, as_received(id.xmsi_dir), id.xmsi_seq };
}

void fill(const optrept_err &m, Rtr &out)
{
	const optr_info &info = m.optre_info;
	const auto &pair = info.optr_info_u.optri_pair;
	const auto &range = info.optr_info_u.optri_range;

	out.bad = from(m.optre_bad);
	if (m.optre_lead)
		out.lead = from(*m.optre_lead);
	out.error = static_cast<u32>(info.optre_which);
	switch (info.optre_which) {
	case OPTRERR_BADHMT:
	case OPTRERR_BADOMT:
	case OPTRERR_BADSEQ:
	case OPTRERR_BADXID:
		out.error_words = { pair.optri_expect, pair.optri_current };
		break;
	case OPTRERR_BADCONT:
		break;
	default:
		out.error_words = { range.optri_value, range.optri_min,
				    range.optri_max };
		break;
	}
}

void fill(const xmrbs_buf &m, Rtr &out)
{
	out.words = { m.xmrbuf_length };
	for (u_int i = 0; i < m.xmrbuf_groups.xmrbuf_groups_len; i++) {
		const xmrbs_group &g = m.xmrbuf_groups.xmrbuf_groups_val[i];
		const xmrbs_seg &s = g.xmrgrp_info;

		out.groups.push_back({ { g.xmrgrp_count, s.xmrseg_length,
					 s.xmrseg_align, s.xmrseg_flags } });
	}
}

/* ---- to what is generated: structs that refer to memory that this keeps ---- */

class Builder {
public:
	explicit Builder(const Rtr &m)
		: m_(m)
	{
	}
	xmdp_grpinfo items()
	{
		for (Item &i : m_.items) {
			xmdp_mitem out = {};
			xmdp_loc &l = out.xmdmi_where;

			out.xmdmi_disp = i.position;
			out.xmdmi_length = i.length;
			l.type = static_cast<xmdp_type>(i.type);
			if (l.type == XMPTYPE_EXRW) {
				auto &ex = l.xmdp_loc_u.xmdl_ex;

				ex.xmdl_ex_val = list(i.segments);
				ex.xmdl_ex_len = i.segments.size();
			} else if (l.type == XMPTYPE_TBSN) {
				auto &tb = l.xmdp_loc_u.xmdl_placed;

				tb.xmdl_offset = i.offset;
				tb.xmdl_bsnum = { static_cast<u_int>(
							  i.numbers.size()),
						  i.numbers.data() };
			}
			items_.push_back(out);
		}
		return { static_cast<u_int>(items_.size()), items_.data() };
	}
	xmdp_rsdgroup directions()
	{
		for (DirectSet &s : m_.directions) {
			xmdp_rsdset out = {};

			directs_.emplace_back();
			for (Direct &d : s.items)
				directs_.back().push_back(direct(d));
			out.xmdrsds_range = { s.begin, s.end };
			out.xmdrsds_items = { static_cast<u_int>(
						      directs_.back().size()),
					      directs_.back().data() };
			sets_.push_back(out);
		}
		return { static_cast<u_int>(sets_.size()), sets_.data() };
	}
	static xms_id id(const std::vector<u32> &words)
	{
		return { words[0], static_cast<rtr_msg_type>(words[1]),
			 words[2] };
	}
	xms_id *lead()
	{
		if (m_.lead.empty())
			return nullptr;
		lead_ = id(m_.lead);
		return &lead_;
	}
	optr_info info() const
	{
		optr_info out = {};
		const std::vector<u32> &w = m_.error_words;

		out.optre_which = static_cast<optr_err>(m_.error);
		if (w.size() == 2)
			out.optr_info_u.optri_pair = { w[0], w[1] };
		else if (w.size() == 3)
			out.optr_info_u.optri_range = { w[0], w[1], w[2] };
		return out;
	}
	xmrbs_buf structure()
	{
		for (const Group &g : m_.groups)
			groups_.push_back(
				{ g.words[0],
				  { g.words[1], g.words[2], g.words[3] } });
		return { m_.words[0],
			 { static_cast<u_int>(groups_.size()),
			   groups_.data() } };
	}

private:
	rpcrdma2_segment *list(const std::vector<Segment> &segments)
	{
		lists_.emplace_back();
		for (const Segment &s : segments)
			lists_.back().push_back(
				{ s.handle, s.length, s.offset });
		return lists_.back().data();
	}
	xmdp_rsditem direct(const Direct &d)
	{
		xmdp_rsditem out = {};
		xmdp_rsdloc &l = out.xmdrsdi_loc;
		auto &ex = l.xmdp_rsdloc_u.xmdrsdl_ex;
		auto &by = l.xmdp_rsdloc_u.xmdrsdl_sized;
		const auto n = static_cast<u_int>(d.segments.size());

		out.xmdrsdi_minlen = d.least;
		l.type = static_cast<xmdp_type>(d.type);
		switch (l.type) {
		case XMPTYPE_EXRW:
		case XMPTYPE_CHOICE:
			ex.xmdrsdl_ex_val = list(d.segments);
			ex.xmdrsdl_ex_len = n;
			break;
		case XMPTYPE_BYSIZE:
			by.xmdrsdl_dsdov = d.rdma_from;
			by.xmdrsdl_bsex.xmdrsdl_bsex_val = list(d.segments);
			by.xmdrsdl_bsex.xmdrsdl_bsex_len = n;
			break;
		default:
			break;
		}
		return out;
	}

	Rtr m_;
	std::deque<std::vector<rpcrdma2_segment>> lists_;
	std::deque<std::vector<xmdp_rsditem>> directs_;
	std::vector<xmdp_mitem> items_;
	std::vector<xmdp_rsdset> sets_;
	std::vector<xmrbs_group> groups_;
	xms_id lead_ = {};
};

template <typename T>
bool decode_as(Proc<T> proc, const Octets &in, Rtr &m, u32 &consumed)
{
	const Value<T> v(proc, in.data(), static_cast<u32>(in.size()));

	consumed = v.consumed;
	if (v.ok)
		fill(v.value, m);
	return v.ok;
}

} // namespace

bool reference_decode(u32 op, const Octets &in, Rtr &m, u32 &consumed)
{
	switch (op) {
	case kXmtReq:
		return decode_as(xdr_optxmt_req, in, m, consumed);
	case kXmtResp:
		return decode_as(xdr_optxmt_resp, in, m, consumed);
	case kXmtCont:
		return decode_as(xdr_optxmt_cont, in, m, consumed);
	case kReptErr:
		return decode_as(xdr_optrept_err, in, m, consumed);
	default:
		return decode_as(xdr_xmrbs_buf, in, m, consumed);
	}
}

Octets reference_encode(u32 op, const Rtr &m)
{
	Builder b(m);
	optxmt_req request;
	optxmt_resp response;
	optxmt_cont go_on;
	optrept_err report;
	xmrbs_buf structure;

	switch (op) {
	case kXmtReq:
		request = { b.items(), b.directions(), m.words[0], m.words[1],
			    m.words[2] };
		return encode(xdr_optxmt_req, request);
	case kXmtResp:
		response = { b.items(), m.words[0], m.words[1] };
		return encode(xdr_optxmt_resp, response);
	case kXmtCont:
		go_on = { m.words[0], m.words[1], m.words[2] };
		return encode(xdr_optxmt_cont, go_on);
	case kReptErr:
		report = { Builder::id(m.bad), b.lead(), b.info() };
		return encode(xdr_optrept_err, report);
	default:
		structure = b.structure();
		return encode(xdr_xmrbs_buf, structure);
	}
}

} // namespace codec
