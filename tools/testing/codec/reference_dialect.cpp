// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * What rpcgen makes of the XDR in the draft of 2016.
 */
#include "dialect.h"
#include "generated.h"
#include "old.h"

#include <deque>

namespace codec
{

namespace
{

static_assert(OLD_MSG == kOldMsg && OLD_NOMSG == kOldNomsg &&
	      OLD_ERROR == kOldError && OLD_OPTIONAL == kOldOptional);

WriteChunk from(const old_write_chunk &w)
{
	const auto *s = w.rdma_target.rdma_target_val;
	WriteChunk out;

	for (u32 i = 0; i < w.rdma_target.rdma_target_len; i++)
		out.push_back({ s[i].rdma_handle, s[i].rdma_length,
				s[i].rdma_offset });
	return out;
}

void fill(const old_chunks &c, Dialect &d)
{
	d.direction = as_received(c.rdma_direction);
	for (const old_read_list *l = c.rdma_reads; l; l = l->rdma_next) {
		const old_segment &s = l->rdma_entry.rdma_target;

		d.reads.push_back(
			{ l->rdma_entry.rdma_position,
			  { s.rdma_handle, s.rdma_length, s.rdma_offset } });
	}
	for (const old_write_list *l = c.rdma_writes; l; l = l->rdma_next)
		d.writes.push_back(from(l->rdma_entry));
	if (c.rdma_reply)
		d.reply = from(*c.rdma_reply);
}

void fill(const old_error &e, Dialect &d)
{
	d.error = e.rdma_err;
	if (e.rdma_err != OLD_ERR_VERS)
		return;
	d.error_args[0] = e.old_error_u.rdma_vrange.rdma_vers_low;
	d.error_args[1] = e.old_error_u.rdma_vrange.rdma_vers_high;
}

void fill(const old_optional &o, Dialect &d)
{
	const char *data = o.rdma_optinfo.rdma_optinfo_val;

	d.direction = as_received(o.rdma_optdir);
	d.opttype = o.rdma_opttype;
	d.optinfo = Octets(data, data + o.rdma_optinfo.rdma_optinfo_len);
}

void fill(const old_body &b, Dialect &d)
{
	switch (b.rdma_proc) {
	case OLD_MSG:
		return fill(b.old_body_u.rdma_chunks, d);
	case OLD_NOMSG:
		return fill(b.old_body_u.rdma_nomsg_chunks, d);
	case OLD_ERROR:
		return fill(b.old_body_u.rdma_error, d);
	case OLD_OPTIONAL:
		return fill(b.old_body_u.rdma_optional, d);
	}
}

/* The generated structs refer to memory that this keeps. */
class Builder {
public:
	old_chunks chunks(const Dialect &d)
	{
		old_chunks c = {};

		c.rdma_direction = static_cast<direction_type>(d.direction);
		for (auto s = d.reads.rbegin(); s != d.reads.rend(); ++s)
			c.rdma_reads = &reads_.emplace_back(old_read_list{
				{ s->position,
				  { s->target.handle, s->target.length,
				    s->target.offset } },
				c.rdma_reads });
		for (auto w = d.writes.rbegin(); w != d.writes.rend(); ++w)
			c.rdma_writes = &writes_.emplace_back(
				old_write_list{ chunk(*w), c.rdma_writes });
		if (d.reply) {
			reply_ = chunk(*d.reply);
			c.rdma_reply = &reply_;
		}
		return c;
	}

private:
	old_write_chunk chunk(const WriteChunk &w)
	{
		std::vector<old_segment> &s = segments_.emplace_back();

		for (const Segment &one : w)
			s.push_back({ one.handle, one.length, one.offset });
		return { { static_cast<u_int>(s.size()), s.data() } };
	}

	std::deque<old_read_list> reads_;
	std::deque<old_write_list> writes_;
	std::deque<std::vector<old_segment>> segments_;
	old_write_chunk reply_;
};

} // namespace

bool dialect_decode(const Octets &in, Dialect &d, u32 &consumed,
		    bool &canonical)
{
	Value<old_xprt_hdr> v(xdr_old_xprt_hdr, in.data(),
			      static_cast<u32>(in.size()));

	consumed = v.consumed;
	d.prefix = { rpcrdma::to_xid(v.value.rdma_xid), v.value.rdma_vers,
		     v.value.rdma_credit, v.value.rdma_body.rdma_proc };
	canonical = v.ok && v.canonical(in.data());
	if (v.ok)
		fill(v.value.rdma_body, d);
	return v.ok;
}

Octets dialect_encode(const Dialect &d)
{
	old_xprt_hdr h = {};
	auto &body = h.rdma_body.old_body_u;
	Octets info = d.optinfo;
	Builder b;

	h.rdma_xid = word_of(d.prefix.xid);
	h.rdma_vers = d.prefix.vers;
	h.rdma_credit = d.prefix.credit;
	h.rdma_body.rdma_proc = static_cast<old_proc>(d.prefix.htype);
	switch (h.rdma_body.rdma_proc) {
	case OLD_MSG:
		body.rdma_chunks = b.chunks(d);
		break;
	case OLD_NOMSG:
		body.rdma_nomsg_chunks = b.chunks(d);
		break;
	case OLD_ERROR:
		body.rdma_error.rdma_err = static_cast<old_errcode>(d.error);
		body.rdma_error.old_error_u.rdma_vrange = { d.error_args[0],
							    d.error_args[1] };
		break;
	case OLD_OPTIONAL:
		body.rdma_optional = { static_cast<direction_type>(d.direction),
				       d.opttype,
				       { static_cast<u_int>(info.size()),
					 reinterpret_cast<char *>(
						 info.data()) } };
		break;
	}
	return encode(xdr_old_xprt_hdr, h);
}

} // namespace codec
