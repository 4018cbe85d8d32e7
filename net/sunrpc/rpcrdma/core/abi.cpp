// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The C functions of <rpcrdma/core.h> and of the headers that it names. They only call the C++
 * core.
 */
#include "abi.h"
#include "call_header.h"
#include "check.h"
#include "names.h"
#include "placement.h"
#include "plain.h"
#include "planner.h"
#include "private_data.h"
#include "recent.h"
#include "registration.h"
#include "silence.h"
#include "sizes.h"

using rpcrdma::Bytes;
using rpcrdma::Event;
using rpcrdma::MutableBytes;
using rpcrdma::Range;
using rpcrdma::session;
using rpcrdma::Session;
using rpcrdma::Span;
using rpcrdma::to_xid;

static_assert(sizeof(Session) <= sizeof(rpcrdma_session));
static_assert(alignof(Session) <= alignof(rpcrdma_session));
static_assert(__is_trivially_copyable(Session), "its owner just forgets it");
static_assert(sizeof(rpcrdma_segment) == 16);
static_assert(RPCRDMA_BARE_OCTETS >= rpcrdma::kSmallestPlain);

static Bytes bytes(const void *p, u32 size)
{
	return Bytes(static_cast<const u8 *>(p), size);
}

static MutableBytes bytes(void *p, u32 size)
{
	return MutableBytes(static_cast<u8 *>(p), size);
}

static void check(const rpcrdma_mr_table &t)
{
	(void)RPCRDMA_CHECK(rpcrdma::registration::invariants(t));
}

using Regions = rpcrdma::EventOf<rpcrdma_mr_table, check>;

extern "C" {

bool rpcrdma_session_init(struct rpcrdma_session *s,
			  const struct rpcrdma_config *cfg)
{
	if (!Session::valid(*cfg))
		return false;
	::new (static_cast<void *>(s->opaque)) Session(*cfg);
	(void)Event(s);
	return true;
}

void rpcrdma_session_receive(struct rpcrdma_session *s, const void *buf,
			     u32 len, struct rpcrdma_rx *rx)
{
	Event(s)->receive(bytes(buf, len), *rx);
}

bool rpcrdma_header_is_bare(const void *buf)
{
	return rpcrdma::bare(bytes(buf, RPCRDMA_BARE_OCTETS));
}

bool rpcrdma_session_release(struct rpcrdma_session *s, u32 count)
{
	return Event(s)->release(count);
}

u32 rpcrdma_session_next_send(struct rpcrdma_session *s,
			      struct rpcrdma_message *msg, void *buf, u32 size,
			      struct rpcrdma_tx *tx)
{
	return Event(s)->next_send(msg, bytes(buf, size), *tx);
}

u32 rpcrdma_session_call_refused(struct rpcrdma_session *s,
				 struct rpcrdma_message *msg,
				 const struct rpcrdma_rx *rx)
{
	return Event(s)->call_refused(*msg, *rx);
}

bool rpcrdma_session_admit(struct rpcrdma_session *s,
			   struct rpcrdma_message *msg)
{
	return Event(s)->admit(msg);
}

u32 rpcrdma_session_reserved(const struct rpcrdma_session *s)
{
	return session(s).reserved();
}

void rpcrdma_session_put_back(struct rpcrdma_session *s,
			      struct rpcrdma_message *msg)
{
	Event(s)->put_back(*msg);
}

bool rpcrdma_session_room(struct rpcrdma_session *s)
{
	return Event(s)->room();
}

bool rpcrdma_session_end_call(struct rpcrdma_session *s,
			      struct rpcrdma_message *msg)
{
	return Event(s)->end_call(*msg);
}

bool rpcrdma_session_refuse(struct rpcrdma_session *s, u32 xid, u32 errcode,
			    u32 index, u32 needed)
{
	/* An arm with two words begins with the index; the other arms have one word. */
	const bool length_only = errcode == RPCRDMA2_ERR_REPLY_RESOURCE;

	return Event(s)->refuse(to_xid(xid), { errcode,
					       { length_only ? needed : index,
						 length_only ? 0 : needed } });
}

bool rpcrdma_session_set_window(struct rpcrdma_session *s, u32 window)
{
	return Event(s)->set_window(window);
}

void rpcrdma_session_send_room(struct rpcrdma_session *s, u32 octets)
{
	Event(s)->send_room(octets);
}

bool rpcrdma_session_retire(struct rpcrdma_session *s)
{
	return Event(s)->retire();
}

bool rpcrdma_session_may_wait(const struct rpcrdma_session *s, u32 count)
{
	return session(s).may_wait(count);
}

bool rpcrdma_session_ready(const struct rpcrdma_session *s)
{
	return session(s).ready();
}

u32 rpcrdma_session_max_segment_size(const struct rpcrdma_session *s)
{
	return session(s).max_segment_size();
}

u32 rpcrdma_session_version(const struct rpcrdma_session *s)
{
	return session(s).version();
}

void rpcrdma_session_info(const struct rpcrdma_session *s,
			  struct rpcrdma_session_info *info)
{
	session(s).info(*info);
}

void rpcrdma_session_numbers(const struct rpcrdma_session *s,
			     struct rpcrdma_numbers *numbers)
{
	session(s).numbers(*numbers);
}

void rpcrdma_plan_call(const struct rpcrdma_session *s,
		       const struct rpcrdma_call_shape *shape,
		       struct rpcrdma_call_plan *plan)
{
	const rpcrdma::PlanningRules &rules = session(s).planning();
	/* Free Sends matter only there, and counting them takes time. */
	const bool far = shape->round_trip > rules.stream_from;

	rpcrdma::plan_call(rules, *shape, *plan,
			   far ? session(s).spare_sends(shape->sends) : 0);
}

void rpcrdma_plan_why(const struct rpcrdma_session *s,
		      const struct rpcrdma_call_shape *shape,
		      const struct rpcrdma_call_plan *plan,
		      struct rpcrdma_plan_reasons *why)
{
	*why = rpcrdma::plan_reasons(session(s).planning(), *shape, *plan);
}

s32 rpcrdma_plan_retry(const struct rpcrdma_call_plan *plan,
		       const struct rpcrdma_rx *rx, u32 *avoid)
{
	return rpcrdma::plan_retry(*plan, *rx, *avoid);
}

s32 rpcrdma_plan_outdated(const struct rpcrdma_call_plan *plan, u32 *avoid)
{
	return rpcrdma::plan_outdated(*plan, *avoid);
}

s32 rpcrdma_plan_too_long(u32 *avoid)
{
	return rpcrdma::plan_too_long(*avoid);
}

void rpcrdma_plan_reply(const struct rpcrdma_session *s,
			const struct rpcrdma_chunks *call, u32 length,
			const struct rpcrdma_range *results, u32 n_results,
			struct rpcrdma_reply_plan *plan)
{
	rpcrdma::plan_reply(session(s).planning(), *call, length,
			    Span<const Range>(results, n_results), *plan);
}

u32 rpcrdma_layout_call(const struct rpcrdma_chunks *chunks, u32 stream_length,
			struct rpcrdma_piece *pieces)
{
	return rpcrdma::layout_call(*chunks, stream_length, pieces);
}

u64 rpcrdma_call_id(u32 xid, u64 length, const void *stream, u32 len,
		    u64 secret)
{
	return rpcrdma::call_id(to_xid(xid), length, bytes(stream, len),
				secret);
}

bool rpcrdma_call_divides(const void *stream, u32 len, u32 position)
{
	return rpcrdma::call_divides(bytes(stream, len), position);
}

bool rpcrdma_call_item(const struct rpcrdma_chunks *chunks, const void *stream,
		       u32 len, struct rpcrdma_range *item)
{
	return rpcrdma::call_item(*chunks, bytes(stream, len), *item);
}

u32 rpcrdma_stream_run(const struct rpcrdma_range *removed, u32 n_removed,
		       u32 offset, u32 *unreduced)
{
	return rpcrdma::stream_run(Span<const Range>(removed, n_removed),
				   offset, *unreduced);
}

bool rpcrdma_written(const struct rpcrdma_chunks *offered,
		     const struct rpcrdma_chunks *returned, u32 index,
		     u32 *length)
{
	return rpcrdma::written(*offered, *returned, index, *length);
}

bool rpcrdma_replied(const struct rpcrdma_chunks *offered,
		     const struct rpcrdma_chunks *returned, u32 *length)
{
	return rpcrdma::replied(*offered, *returned, *length);
}

u32 rpcrdma_inv_handle(const struct rpcrdma_chunks *chunks)
{
	return rpcrdma::inv_handle(*chunks);
}

bool rpcrdma_first_words(const void *stream, u32 len, u32 xid, rpcrdma_dir dir)
{
	return rpcrdma::check_first_words(bytes(stream, len), to_xid(xid),
					  dir) == RPCRDMA_REASON_NONE;
}

void rpcrdma_recent_note(struct rpcrdma_recent *t, u64 peer, u64 id, u32 now)
{
	rpcrdma::recent::note(*t, peer, id, now);
}

bool rpcrdma_recent_suspect(struct rpcrdma_recent *t, u64 peer, u64 id, u32 now)
{
	return rpcrdma::recent::suspect(*t, peer, id, now);
}

bool rpcrdma_recent_known(const struct rpcrdma_recent *t, u64 peer, u64 id,
			  u32 now)
{
	return rpcrdma::recent::known(*t, peer, id, now);
}

bool rpcrdma_recent_forget(struct rpcrdma_recent *t, u64 peer, u64 id, u32 now)
{
	return rpcrdma::recent::forget(*t, peer, id, now);
}

u32 rpcrdma_recent_bit(u64 peer, u64 id)
{
	return rpcrdma::recent::bit(peer, id);
}

void rpcrdma_recent_filter(const struct rpcrdma_recent *t, u32 now,
			   u64 words[RPCRDMA_RECENT_WORDS])
{
	rpcrdma::recent::filter(*t, now,
				Span<u64>(words, RPCRDMA_RECENT_WORDS));
}

void rpcrdma_mr_table_init(struct rpcrdma_mr_table *t,
			   struct rpcrdma_mr_slot *slots, u32 capacity)
{
	rpcrdma::registration::init(*Regions(*t), slots, capacity);
}

bool rpcrdma_mr_add(struct rpcrdma_mr_table *t, u32 index)
{
	return rpcrdma::registration::add(*Regions(*t), index);
}

s32 rpcrdma_mr_take(struct rpcrdma_mr_table *t)
{
	return rpcrdma::registration::take(*Regions(*t));
}

bool rpcrdma_mr_event(struct rpcrdma_mr_table *t, u32 index, u32 event,
		      u32 handle)
{
	return rpcrdma::registration::event(*Regions(*t), index, event, handle);
}

bool rpcrdma_mr_put(struct rpcrdma_mr_table *t, u32 index)
{
	return rpcrdma::registration::put(*Regions(*t), index);
}

bool rpcrdma_mr_rested(struct rpcrdma_mr_table *t, u32 keep)
{
	return rpcrdma::registration::rested(*Regions(*t), keep);
}

s32 rpcrdma_mr_remove(struct rpcrdma_mr_table *t, u32 keep)
{
	return rpcrdma::registration::remove(*Regions(*t), keep);
}

u32 rpcrdma_device_limit(s64 said)
{
	return rpcrdma::device_limit(said);
}

bool rpcrdma_size_conn(const struct rpcrdma_device_limits *limits,
		       const struct rpcrdma_wants *wants,
		       struct rpcrdma_sizes *sizes)
{
	*sizes = rpcrdma::size_conn(*limits, *wants);
	return sizes->unfit == RPCRDMA_FIT;
}

void rpcrdma_cm_private_encode(const struct rpcrdma_cm_private *p, void *buf)
{
	rpcrdma::encode_private_data(*p, bytes(buf, RPCRDMA_CM_PRIVATE_SIZE));
}

void rpcrdma_cm_private_decode(const void *buf, u32 len,
			       struct rpcrdma_cm_private *p)
{
	(void)!rpcrdma::decode_private_data(bytes(buf, len), *p);
}

u32 rpcrdma_opening_wait(const struct rpcrdma_cm_private *p, u32 round_trip)
{
	return rpcrdma::opening_wait(*p, round_trip);
}

void rpcrdma_session_private(struct rpcrdma_session *s,
			     const struct rpcrdma_cm_private *p)
{
	Event(s)->peer_private(*p);
}

u32 rpcrdma_silence_look(struct rpcrdma_silence *s,
			 const struct rpcrdma_silence_seen *seen)
{
	return rpcrdma::look(*s, *seen);
}

u32 rpcrdma_type_count(void)
{
	return rpcrdma::type_count();
}

const char *rpcrdma_type_name(u32 type)
{
	return rpcrdma::type_name(type);
}

const char *rpcrdma_htype_name(u32 htype)
{
	return rpcrdma::htype_name(htype);
}

u32 rpcrdma_extension_count(void)
{
	return 1 + rpcrdma::Extensions::kOthers;
}

const char *rpcrdma_extension_name(u32 extension)
{
	return rpcrdma::extension_name(extension);
}

u32 rpcrdma_property_count(void)
{
	return rpcrdma::Extensions::kProperties;
}

const char *rpcrdma_property_name(u32 property)
{
	return rpcrdma::property_name(property);
}

const char *rpcrdma_reason_name(u32 reason)
{
	return rpcrdma::reason_name(reason);
}

const char *rpcrdma_errcode_name(u32 errcode)
{
	return rpcrdma::errcode_name(errcode);
}

const char *rpcrdma_unfit_name(u32 unfit)
{
	return rpcrdma::unfit_name(unfit);
}

const char *rpcrdma_chunk_reason_name(u32 reason)
{
	return rpcrdma::chunk_reason_name(reason);
}

} /* extern "C" */
