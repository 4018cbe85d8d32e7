// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The codec that rpcgen makes of the draft, behind the types of content.h. Only the
 * generated code and libtirpc decide what it accepts and writes.
 */
#include "content.h"
#include "generated.h"
#include "rpcrdma2.h"

#include <deque>

namespace codec
{

namespace
{

Segment from(const rpcrdma2_segment &s)
{
	return { s.rdma_handle, s.rdma_length, s.rdma_offset };
}

rpcrdma2_segment to(const Segment &s)
{
	return { s.handle, s.length, s.offset };
}

std::vector<ReadSegment> from(const rpcrdma2_read_list *list)
{
	std::vector<ReadSegment> out;

	for (; list; list = list->rdma_next)
		out.push_back({ list->rdma_entry.rdma_position,
				from(list->rdma_entry.rdma_target) });
	return out;
}

WriteChunk from(const rpcrdma2_write_chunk &w)
{
	WriteChunk out;

	for (u32 i = 0; i < w.rdma_target.rdma_target_len; i++)
		out.push_back(from(w.rdma_target.rdma_target_val[i]));
	return out;
}

std::vector<WriteChunk> from(const rpcrdma2_write_list *list)
{
	std::vector<WriteChunk> out;

	for (; list; list = list->rdma_next)
		out.push_back(from(list->rdma_entry));
	return out;
}

std::optional<WriteChunk> from_reply(const rpcrdma2_write_chunk *w)
{
	if (!w)
		return std::nullopt;
	return from(*w);
}

/* The generated structs refer to memory that this keeps. */
class Builder {
public:
	rpcrdma2_read_list *reads(const std::vector<ReadSegment> &list)
	{
		rpcrdma2_read_list *head = nullptr;

		for (auto s = list.rbegin(); s != list.rend(); ++s) {
			reads_.push_back(
				{ { s->position, to(s->target) }, head });
			head = &reads_.back();
		}
		return head;
	}
	rpcrdma2_write_list *writes(const std::vector<WriteChunk> &list)
	{
		rpcrdma2_write_list *head = nullptr;

		for (auto w = list.rbegin(); w != list.rend(); ++w) {
			writes_.push_back({ chunk(*w), head });
			head = &writes_.back();
		}
		return head;
	}
	rpcrdma2_write_chunk *reply(const std::optional<WriteChunk> &w)
	{
		if (!w)
			return nullptr;
		reply_ = chunk(*w);
		return &reply_;
	}

private:
	rpcrdma2_write_chunk chunk(const WriteChunk &w)
	{
		std::vector<rpcrdma2_segment> &s = segments_.emplace_back();

		for (const Segment &segment : w)
			s.push_back(to(segment));
		return { { static_cast<u_int>(s.size()), s.data() } };
	}

	std::deque<rpcrdma2_read_list> reads_;
	std::deque<rpcrdma2_write_list> writes_;
	std::deque<std::vector<rpcrdma2_segment>> segments_;
	rpcrdma2_write_chunk reply_;
};

/*
 * How each header type's struct and a Content become each other. The members have
 * other names in other structs, so each is spelled out.
 */
void fill(const rpcrdma2_hdr_error &h, Content &c)
{
	const auto &u = h.rpcrdma2_hdr_error_u;

	c.error = h.rdma_err;
	switch (h.rdma_err) {
	case RDMA2_ERR_VERS:
		c.error_args[0] = u.rdma_vrange.rdma_vers_low;
		c.error_args[1] = u.rdma_vrange.rdma_vers_high;
		break;
	case RDMA2_ERR_READ_CHUNKS:
		c.error_args[0] = u.rdma_max_chunks;
		break;
	case RDMA2_ERR_WRITE_CHUNKS:
		c.error_args[0] = u.rdma_max_write_chunks;
		break;
	case RDMA2_ERR_SEGMENTS:
		c.error_args[0] = u.rdma_max_segments;
		break;
	case RDMA2_ERR_WRITE_RESOURCE:
		c.error_args[0] = u.rdma_writeres.rdma_chunk_index;
		c.error_args[1] = u.rdma_writeres.rdma_length_needed;
		break;
	case RDMA2_ERR_REPLY_RESOURCE:
		c.error_args[0] = u.rdma_length_needed;
		break;
	default:
		break;
	}
}

void fill(const Content &c, Builder &, rpcrdma2_hdr_error &h)
{
	auto &u = h.rpcrdma2_hdr_error_u;

	h.rdma_err = c.error;
	switch (c.error) {
	case RDMA2_ERR_VERS:
		u.rdma_vrange = { c.error_args[0], c.error_args[1] };
		break;
	case RDMA2_ERR_READ_CHUNKS:
		u.rdma_max_chunks = c.error_args[0];
		break;
	case RDMA2_ERR_WRITE_CHUNKS:
		u.rdma_max_write_chunks = c.error_args[0];
		break;
	case RDMA2_ERR_SEGMENTS:
		u.rdma_max_segments = c.error_args[0];
		break;
	case RDMA2_ERR_WRITE_RESOURCE:
		u.rdma_writeres = { c.error_args[0], c.error_args[1] };
		break;
	case RDMA2_ERR_REPLY_RESOURCE:
		u.rdma_length_needed = c.error_args[0];
		break;
	default:
		break;
	}
}

void fill(const rpcrdma2_hdr_call_external &h, Content &c)
{
	c.inv_handle = h.rdma_inv_handle;
	c.call = from(h.rdma_call);
	c.reads = from(h.rdma_reads);
	c.writes = from(h.rdma_provisional_writes);
	c.reply = from_reply(h.rdma_provisional_reply);
}

void fill(const Content &c, Builder &b, rpcrdma2_hdr_call_external &h)
{
	h = { c.inv_handle, b.reads(c.call), b.reads(c.reads),
	      b.writes(c.writes), b.reply(c.reply) };
}

void fill(const rpcrdma2_hdr_call_inline &h, Content &c)
{
	c.inv_handle = h.rdma_inv_handle;
	c.reads = from(h.rdma_reads);
	c.writes = from(h.rdma_provisional_writes);
	c.reply = from_reply(h.rdma_provisional_reply);
	c.first_word = h.rdma_rpc_first_word;
}

void fill(const Content &c, Builder &b, rpcrdma2_hdr_call_inline &h)
{
	h = { c.inv_handle, b.reads(c.reads), b.writes(c.writes),
	      b.reply(c.reply), c.first_word };
}

void fill(const rpcrdma2_hdr_reply_external &h, Content &c)
{
	c.writes = from(h.rdma_writes);
	c.reply = from_reply(h.rdma_reply);
}

void fill(const Content &c, Builder &b, rpcrdma2_hdr_reply_external &h)
{
	h = { b.writes(c.writes), b.reply(c.reply) };
}

void fill(const rpcrdma2_hdr_reply_inline &h, Content &c)
{
	c.writes = from(h.rdma_writes);
	c.first_word = h.rdma_rpc_first_word;
}

void fill(const Content &c, Builder &b, rpcrdma2_hdr_reply_inline &h)
{
	h = { b.writes(c.writes), c.first_word };
}

/* CALL_MIDDLE and REPLY_MIDDLE are alike. */
template <typename Middle>
concept IsMiddle = requires(Middle h)
{
	h.rdma_remaining;
};

void fill(const IsMiddle auto &h, Content &c)
{
	c.remaining = h.rdma_remaining;
	c.first_word = h.rdma_rpc_first_word;
}

void fill(const Content &c, Builder &, IsMiddle auto &h)
{
	h = { c.remaining, c.first_word };
}

template <typename T> Decoded decode_as(Proc<T> proc, const u8 *in, u32 size)
{
	Value<T> v(proc, in, size);
	Decoded d;

	d.ok = v.ok;
	if (!d.ok)
		return d;
	d.canonical = v.canonical(in);
	d.consumed = v.consumed;
	fill(v.value, d.content);
	return d;
}

template <typename T> Octets encode_as(Proc<T> proc, const Content &content)
{
	Builder b;
	T value = {};

	fill(content, b, value);
	return encode(proc, value);
}

} // namespace

Decoded reference_decode(u32 htype, const u8 *in, u32 size)
{
	switch (htype) {
	case RDMA2_ERROR:
		return decode_as(xdr_rpcrdma2_hdr_error, in, size);
	case RDMA2_CALL_EXTERNAL:
		return decode_as(xdr_rpcrdma2_hdr_call_external, in, size);
	case RDMA2_CALL_MIDDLE:
		return decode_as(xdr_rpcrdma2_hdr_call_middle, in, size);
	case RDMA2_CALL_INLINE:
		return decode_as(xdr_rpcrdma2_hdr_call_inline, in, size);
	case RDMA2_REPLY_EXTERNAL:
		return decode_as(xdr_rpcrdma2_hdr_reply_external, in, size);
	case RDMA2_REPLY_MIDDLE:
		return decode_as(xdr_rpcrdma2_hdr_reply_middle, in, size);
	case RDMA2_REPLY_INLINE:
		return decode_as(xdr_rpcrdma2_hdr_reply_inline, in, size);
	default:
		/* GRANT: the prefix is all there is. */
		return { true, true, 0, {} };
	}
}

static Octets encode_body(u32 htype, const Content &c)
{
	switch (htype) {
	case RDMA2_ERROR:
		return encode_as(xdr_rpcrdma2_hdr_error, c);
	case RDMA2_CALL_EXTERNAL:
		return encode_as(xdr_rpcrdma2_hdr_call_external, c);
	case RDMA2_CALL_MIDDLE:
		return encode_as(xdr_rpcrdma2_hdr_call_middle, c);
	case RDMA2_CALL_INLINE:
		return encode_as(xdr_rpcrdma2_hdr_call_inline, c);
	case RDMA2_REPLY_EXTERNAL:
		return encode_as(xdr_rpcrdma2_hdr_reply_external, c);
	case RDMA2_REPLY_MIDDLE:
		return encode_as(xdr_rpcrdma2_hdr_reply_middle, c);
	case RDMA2_REPLY_INLINE:
		return encode_as(xdr_rpcrdma2_hdr_reply_inline, c);
	default:
		return {};
	}
}

Octets reference_encode(const rpcrdma::Prefix &p, const Content &content)
{
	rpcrdma2_hdr_prefix prefix = { { word_of(p.xid), p.vers, p.credit,
					 p.htype } };
	Octets out = encode(xdr_rpcrdma2_hdr_prefix, prefix);
	const Octets body = encode_body(p.htype, content);

	out.insert(out.end(), body.begin(), body.end());
	return out;
}

rpcrdma::Prefix reference_prefix(const u8 *in)
{
	const Value<rpcrdma2_hdr_prefix> v(xdr_rpcrdma2_hdr_prefix, in,
					   rpcrdma::kPrefixSize);
	const rpcrdma_common &p = v.value.rdma_start;

	return { rpcrdma::to_xid(p.rdma_xid), p.rdma_vers, p.rdma_credit,
		 p.rdma_htype };
}

bool reference_properties(const u8 *in, u32 size, std::vector<Property> &set,
			  u32 &consumed)
{
	const Value<rpcrdma2_hdr_connprop> v(xdr_rpcrdma2_hdr_connprop, in,
					     size);
	const rpcrdma2_propset &s = v.value.rdma_props;

	set.clear();
	consumed = v.consumed;
	for (u32 i = 0; v.ok && i < s.rpcrdma2_propset_len; i++) {
		const rpcrdma2_propval &p = s.rpcrdma2_propset_val[i];
		const char *data = p.rdma_data.rdma_data_val;

		set.push_back(
			{ p.rdma_which,
			  Octets(data, data + p.rdma_data.rdma_data_len) });
	}
	return v.ok;
}

Octets reference_encode(const std::vector<Property> &set)
{
	std::vector<rpcrdma2_propval> values;
	std::vector<Octets> data;
	rpcrdma2_hdr_connprop h;

	for (const Property &p : set)
		data.push_back(p.data);
	for (u32 i = 0; i < set.size(); i++)
		values.push_back(
			{ set[i].which,
			  { static_cast<u_int>(data[i].size()),
			    reinterpret_cast<char *>(data[i].data()) } });
	h.rdma_props = { static_cast<u_int>(values.size()), values.data() };
	return encode(xdr_rpcrdma2_hdr_connprop, h);
}

bool reference_number(u32 which, const Octets &data, u32 &value)
{
	static constexpr Proc<u32> kProcs[] = {
		xdr_rpcrdma2_prop_sbsiz, xdr_rpcrdma2_prop_rbsiz,
		xdr_rpcrdma2_prop_rssiz, xdr_rpcrdma2_prop_rcsiz,
		xdr_rpcrdma2_prop_brs,
	};
	static_assert(RDMA2_PROPID_SBSIZ == 1 && RDMA2_PROPID_BRS == 5);
	const Value<u32> v(kProcs[which - 1], data.data(),
			   static_cast<u32>(data.size()));

	value = v.value;
	return v.ok && v.consumed == data.size();
}

bool reference_host_auth(const Octets &data)
{
	const Value<rpcrdma2_prop_hostauth> v(xdr_rpcrdma2_prop_hostauth,
					      data.data(),
					      static_cast<u32>(data.size()));

	return v.ok && v.consumed == data.size();
}

} // namespace codec
