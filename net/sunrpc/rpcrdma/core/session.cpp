// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The state of a session; receive.cpp and send.cpp have the rules for messages.
 */
#include "session.h"
#include "check.h"

namespace rpcrdma
{

/* Receives that a side offers for reverse-direction Calls, and their Replies. */
static constexpr u32 kReverseShare = 8; /* one in so many */
static constexpr u32 kReverseMax = 16;

/* Zero and zero: what there was before version 1. */
static rpcrdma_config with_versions(rpcrdma_config cfg)
{
	if (!cfg.min_version && !cfg.max_version)
		cfg.min_version = cfg.max_version = kVersion2;
	return cfg;
}

/* More would only keep credits from being used. */
static constexpr u32 kReserveMax = 1;

bool Session::valid(const rpcrdma_config &cfg)
{
	const rpcrdma_config c = with_versions(cfg);

	return c.min_version >= kVersion1 && c.min_version <= c.max_version &&
	       c.max_version <= kVersion2 && c.role <= RPCRDMA_ROLE_SERVER &&
	       c.window >= RPCRDMA_MIN_WINDOW &&
	       c.window <= Credits::kLimitMax && c.reserve <= kReserveMax &&
	       c.max_message >= RPCRDMA_MIN_RECV_SIZE &&
	       c.max_reverse_call <= c.max_message &&
	       c.max_read_chunks <= RPCRDMA_MAX_SEGMENTS &&
	       c.max_write_chunks <= RPCRDMA_MAX_CHUNKS &&
	       c.local.max_segments <= RPCRDMA_MAX_SEGMENTS &&
	       c.local.send_size >= RPCRDMA_MIN_RECV_SIZE &&
	       properties_valid(c.local);
}

Session::Session(const rpcrdma_config &cfg)
	: Session(cfg, Options{})
{
}

Session::Session(const rpcrdma_config &cfg, const Options &options)
	: config_(with_versions(cfg))
	, credits_(cfg.window, options.count_start)
{
	static_cast<rpcrdma_properties &>(local_) = cfg.local;
	announce(cfg.extensions, local_);
	if (client() && !spoken(kVersion2)) {
		begin_version1();
		opened_ = true;
	}
}

/*
 * Each side has announced it, and neither can take the other's messages for something
 * else any more.
 */
bool Session::in_use(u32 extension) const
{
	return version_ == kVersion2 && final_sent_ && final_received_ &&
	       announced(local_, extension) && announced(peer_, extension);
}

/* The peer has not heard that this side knows extensions. */
void Session::withdraw()
{
	for (u32 i = kBaseProperties; i < Extensions::kProperties; i++)
		*number(local_, i) = kPropertyTypes[i].initial;
	if constexpr (Extensions::kOthers > 0)
		control_.keep_errors();
}

bool Port::in_use() const
{
	return session_.closed_ == RPCRDMA_REASON_NONE &&
	       session_.in_use(extension_);
}

static u32 number_of(const Properties &p, u32 which)
{
	const u32 i = property_index(which);
	const u32 *n = i < Extensions::kProperties ? number(p, i) : nullptr;

	return n ? *n : 0;
}

u32 Port::local(u32 which) const
{
	return number_of(session_.local_, which);
}

u32 Port::peer(u32 which) const
{
	return number_of(session_.peer_, which);
}

/* @p is changed only if the result is true. */
static bool change(Properties &p, u32 which, u32 to)
{
	const u32 i = property_index(which);
	u32 *n = i < Extensions::kProperties ? number(p, i) : nullptr;

	if (!n || !kPropertyTypes[i].may_change)
		return false;
	*n = to;
	return true;
}

bool Port::set_local(u32 which, u32 number)
{
	const u32 i = property_index(which);

	return i < Extensions::kProperties &&
	       number >= kPropertyTypes[i].least &&
	       number <= kPropertyTypes[i].most &&
	       change(session_.local_, which, number);
}

bool Port::set_peer(u32 which, u32 number)
{
	return change(session_.peer_, which, number);
}

bool Port::send(u32 htype, u32 xid, const u32 (&words)[kControlWords])
{
	const HeaderType *t = header_type(htype);
	ControlMessage m = { xid, kVersion2, 0, {} };

	if (!RPCRDMA_CHECK(t && t->extension == extension_) || !in_use())
		return false;
	m.type = t->index;
	for (u32 i = 0; i < kControlWords; i++)
		m.words[i] = words[i];
	return session_.control_.push(m);
}

/* There are no properties; what private data leaves open is at its largest. */
void Session::begin_version1()
{
	version_ = kVersion1;
	final_sent_ = true;
	local_.send_size = told_size(local_.send_size);
	local_.recv_size = told_size(local_.recv_size);
	static_cast<rpcrdma_properties &>(peer_) = {
		.send_size = private_.send_size,
		.recv_size = private_.recv_size,
		.max_segment_size = UINT32_MAX,
		.max_segments = RPCRDMA_MAX_SEGMENTS,
		.reverse = RPCRDMA_RVRSDIR_SIMPLE,
	};
}

void Session::peer_private(const PrivateData &p)
{
	private_ = p;
	if (version1())
		begin_version1();
}

/*
 * Version 1: the part of this side's Receives that is for Calls of direction @dir, or for
 * their Replies. Both parts together always suffice for the Calls of both directions.
 */
u32 Session::receives_for(u32 dir) const
{
	const u32 window = credits_.target();
	u32 reverse = window / kReverseShare;

	if (!reverse)
		reverse = 1;
	if (reverse > kReverseMax)
		reverse = kReverseMax;
	return sends_reversed(dir) ? reverse : window - reverse;
}

bool Session::refuse(u32 xid, const ErrorBody &body)
{
	if (closed_ != RPCRDMA_REASON_NONE)
		return false;
	if (!RPCRDMA_CHECK(error_type(body.code))) {
		closed_ = RPCRDMA_REASON_INVARIANT;
		return false;
	}
	/* What more comes of it, or comes instead, is as if refused here. */
	Continuation &calls = incoming_[RPCRDMA_CALL];
	if (calls.active(xid))
		(void)calls.refuse(xid, false, calls.left());
	return control_.push(
		error_message(xid, version1() ? kVersion1 : kVersion2, body));
}

bool Session::set_window(u32 window)
{
	if (closed_ != RPCRDMA_REASON_NONE)
		return false;
	if (!RPCRDMA_CHECK(window >= RPCRDMA_MIN_WINDOW &&
			   window <= Credits::kLimitMax)) {
		closed_ = RPCRDMA_REASON_INVARIANT;
		return false;
	}
	const bool could_begin = may_begin();
	const bool could_probe = available();
	credits_.set_window(window);
	return grant_due() || (!could_begin && may_begin()) ||
	       (!could_probe && available()) || has_wanted_room();
}

/*
 * In version 1 no message has the only purpose of giving credit: a Reply gives back the
 * credit of its Call, so the Receive has to be there before.
 */
bool Session::may_wait(u32 count) const
{
	return version_ == kVersion2 &&
	       count < receive_batch(credits_.window()) && credits_.ample();
}

bool Session::retire()
{
	/* A grant of version 1 can be taken back, but not at a known moment. */
	return !version1() && credits_.retire();
}

bool Session::ready() const
{
	return opened_ && closed_ == RPCRDMA_REASON_NONE;
}

void Session::info(struct rpcrdma_session_info &info) const
{
	info.version = version_;
	info.local = static_cast<const rpcrdma_properties &>(local_);
	info.peer = static_cast<const rpcrdma_properties &>(peer_);
	info.max_send = max_send();
	info.max_segment_size = max_segment_size();
	info.max_segments = max_segments();
	info.sent = credits_.sent_count();
	info.received = credits_.received_count();
	info.peer_credits = available();
	info.window = credits_.window();
	info.window_used = credits_.in_use();
	info.window_high = credits_.high();
	info.blocked = blocked_;
	info.taken_back = credits_.taken_back();
	info.outstanding = outstanding_;
}

void Session::numbers(rpcrdma_numbers &n) const
{
	n = {};
	for (u32 e = 1; e <= Extensions::kOthers; e++)
		n.extensions |= u32{ in_use(e) } << e;
	for (u32 i = 0; i < Extensions::kProperties; i++) {
		const u32 *local = number(local_, i);
		const u32 *peer = number(peer_, i);

		if (!local || !peer)
			continue;
		n.known |= 1U << i;
		n.local[i] = *local;
		n.peer[i] = *peer;
	}
}

/*
 * Octets of a Call that the credits of the peer carry in one go. Without
 * CALL_MIDDLE, what fits one Send that has no chunks.
 */
u32 Session::max_stream() const
{
	const HeaderType &inline_call = *header_type(RPCRDMA2_CALL_INLINE);
	const HeaderType &middle = *header_type(RPCRDMA2_CALL_MIDDLE);

	if (types_refused_ & type_bit(middle))
		return max_send() - header_size(inline_call, nullptr);
	const u64 octets = u64{ credits_.granted() } *
			   (max_send() - header_size(middle, nullptr));
	return octets < UINT32_MAX ? static_cast<u32>(octets) : UINT32_MAX;
}

PlanningRules Session::planning() const
{
	const u32 level = reverse_level();

	return {
		.ddp_threshold = config_.ddp_threshold,
		.special_threshold = config_.special_threshold,
		.max_send = max_send(),
		.max_stream = max_stream(),
		.chunks = max_segments() && max_segment_size() &&
			  max_send() >= kLargestHeader &&
			  (!sends_reversed(RPCRDMA_CALL) ||
			   level >= RPCRDMA_RVRSDIR_GENL),
		.special = !(types_refused_ &
			     type_bit(*header_type(RPCRDMA2_CALL_EXTERNAL))),
		.continued = !version1() && (!sends_reversed(RPCRDMA_REPLY) ||
					     level >= RPCRDMA_RVRSDIR_CONT),
		.version = version_,
		.max_reply = local_.recv_size < peer_.send_size ?
				     local_.recv_size :
				     peer_.send_size,
		.max_bare_reply = max_bare_reply(),
		.read_pads = version1() && !private_.given,
	};
}

} // namespace rpcrdma
