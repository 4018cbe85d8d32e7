// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * The life of a session; receive.cpp and send.cpp hold what happens in it.
 */
#include "session.h"
#include "check.h"

namespace rpcrdma
{

/* Credit limits are less than 2^31 - 1 ahead of the counts (4.2.1). */
static constexpr u32 kWindowMax = (1U << 31) - 2;

/* More would only keep credits from being used. */
static constexpr u32 kReserveMax = 1;

bool Session::valid(const rpcrdma_config &cfg)
{
	return cfg.role <= RPCRDMA_ROLE_SERVER &&
	       cfg.window >= RPCRDMA_MIN_WINDOW && cfg.window <= kWindowMax &&
	       cfg.reserve <= kReserveMax &&
	       cfg.max_message >= RPCRDMA_MIN_RECV_SIZE &&
	       cfg.max_read_chunks <= RPCRDMA_MAX_SEGMENTS &&
	       cfg.max_write_chunks <= RPCRDMA_MAX_CHUNKS &&
	       cfg.local.max_segments <= RPCRDMA_MAX_SEGMENTS &&
	       cfg.local.send_size >= RPCRDMA_MIN_RECV_SIZE &&
	       properties_valid(cfg.local);
}

Session::Session(const rpcrdma_config &cfg)
	: Session(cfg, Options{})
{
}

Session::Session(const rpcrdma_config &cfg, const Options &options)
	: config_(cfg)
	, credits_(cfg.window, options.count_start)
{
}

bool Session::refuse(u32 xid, const ErrorBody &body)
{
	if (closed_ != RPCRDMA_REASON_NONE)
		return false;
	if (!RPCRDMA_CHECK(error_type(body.code))) {
		closed_ = RPCRDMA_REASON_INVARIANT;
		return false;
	}
	return errors_.push({ xid, kVersion2, body });
}

bool Session::set_window(u32 window)
{
	if (closed_ != RPCRDMA_REASON_NONE)
		return false;
	if (!RPCRDMA_CHECK(window >= RPCRDMA_MIN_WINDOW &&
			   window <= kWindowMax)) {
		closed_ = RPCRDMA_REASON_INVARIANT;
		return false;
	}
	credits_.set_window(window);
	return grant_due();
}

bool Session::retire()
{
	return credits_.retire();
}

bool Session::ready() const
{
	return opened_ && closed_ == RPCRDMA_REASON_NONE;
}

void Session::info(struct rpcrdma_session_info &info) const
{
	info.version = agreed_ ? kVersion2 : 0;
	info.local = config_.local;
	info.peer = peer_;
	info.max_send = max_send();
	info.sent = credits_.sent_count();
	info.received = credits_.received_count();
	info.peer_credits = credits_.available();
	info.window = credits_.window();
	info.window_used = credits_.in_use();
	info.window_high = credits_.high();
	info.blocked = blocked_;
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
		.chunks =
			peer_.max_segments && (!sends_reversed(RPCRDMA_CALL) ||
					       level >= RPCRDMA_RVRSDIR_GENL),
		.special = !(types_refused_ &
			     type_bit(*header_type(RPCRDMA2_CALL_EXTERNAL))),
		.continued = !sends_reversed(RPCRDMA_REPLY) ||
			     level >= RPCRDMA_RVRSDIR_CONT,
	};
}

} // namespace rpcrdma
