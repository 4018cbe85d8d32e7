// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "core.h"
#include "checkers.h"
#include "pings.h"
#include "world.h"

#include <cstdlib>
#include <thread>

namespace sim::core
{

void receive(Conn &c, const u8 *buffer, u32 length, rpcrdma_rx &rx)
{
	if (planted(c, Mutant::Crash))
		std::abort();
	while (planted(c, Mutant::Loop))
		std::this_thread::yield();
	pings::receive(c, buffer, length, rx);
	if (planted(c, Mutant::LastFragmentEarly) && rx.stream_offset)
		rx.last = true;
	check::sensible(c, rx, length);
	check::sound(c);
	if (planted(c, Mutant::KickLost) && !rx.opened)
		rx.kick = false;
	if (planted(c, Mutant::OffsetWrong) && rx.stream_offset)
		rx.stream_offset -= 4;
	if (planted(c, Mutant::WriteListShifted) && rx.chunks.n_write_segs > 1)
		std::swap(rx.chunks.write_segs[0], rx.chunks.write_segs[1]);
	pings::received(c, rx, buffer, length);
}

u32 next_send(Conn &c, Outgoing *o, u8 *buffer, rpcrdma_tx &tx, u32 &size)
{
	rpcrdma_message *const m = o ? &o->msg : nullptr;

	size = 0;
	if (planted(c, Mutant::ReserveLost) && m && c.world.schedule.once_in(8))
		m->reserved = 0;

	u32 result;
	if (!pings::carry(c, o, buffer, tx, size, result))
		result = rpcrdma_session_next_send(
			&c.session, m, buffer, c.config.core.local.send_size,
			&tx);

	if (planted(c, Mutant::MoreLost))
		tx.more = false;
	check::no_more(c, tx);
	check::sound(c);
	if (result == RPCRDMA_TX_CONTROL)
		pings::sent(c, m && m->sent, tx, buffer);
	if (result == RPCRDMA_TX_MESSAGE)
		pings::wrote(c, tx);
	if (planted(c, Mutant::GrantLost) && tx.htype == RPCRDMA2_GRANT)
		return RPCRDMA_TX_NONE;
	if (planted(c, Mutant::CreditOneMore) &&
	    (result == RPCRDMA_TX_MESSAGE || result == RPCRDMA_TX_CONTROL))
		buffer[11] += 2;
	if (planted(c, Mutant::ErrorBetweenParts) &&
	    result == RPCRDMA_TX_MESSAGE && !tx.first && !tx.last)
		buffer[15] = RPCRDMA2_ERROR;
	return result;
}

bool admit(Conn &c, rpcrdma_message *m)
{
	return check::sound(c, rpcrdma_session_admit(&c.session, m));
}

void put_back(Conn &c, rpcrdma_message &m)
{
	rpcrdma_session_put_back(&c.session, &m);
	check::sound(c);
}

bool room(Conn &c)
{
	return check::sound(c, rpcrdma_session_room(&c.session)) &&
	       !(planted(c, Mutant::RoomLost) && c.world.schedule.once_in(16));
}

bool release(Conn &c, u32 count)
{
	const bool twice = planted(c, Mutant::ReleaseTwice) &&
			   c.world.schedule.once_in(64);

	if (planted(c, Mutant::CreditLost) && c.world.schedule.once_in(64))
		return false;
	return check::sound(
		c, rpcrdma_session_release(&c.session, count + twice));
}

bool retire(Conn &c)
{
	if (planted(c, Mutant::RetireAlways) && c.receives() > 4)
		return true;
	return check::sound(c, rpcrdma_session_retire(&c.session));
}

bool set_window(Conn &c, u32 window)
{
	return check::sound(c, rpcrdma_session_set_window(&c.session, window));
}

bool refuse(Conn &c, u32 xid, u32 code, u32 index, u32 needed)
{
	return !planted(c, Mutant::RefuseFails) &&
	       check::sound(c, rpcrdma_session_refuse(&c.session, xid, code,
						      index, needed));
}

void plan_call(const Conn &c, const rpcrdma_call_shape &shape,
	       rpcrdma_call_plan &plan)
{
	rpcrdma_plan_call(&c.session, &shape, &plan);
	if (!planted(c, Mutant::DistanceOverCredits) || !shape.round_trip ||
	    !(plan.read_chunk || plan.call_chunk) || plan.chunks_required)
		return;
	plan.read_chunk = plan.call_chunk = false;
	plan.removed = {};
	plan.stream_length = shape.length;
	plan.streamed = true;
}

s32 plan_retry(const Conn &c, const rpcrdma_call_plan &plan,
	       const rpcrdma_rx &rx, u32 &avoid)
{
	const s32 error = rpcrdma_plan_retry(&plan, &rx, &avoid);

	return planted(c, Mutant::RetriedForEver) ? 0 : error;
}

void plan_reply(Conn &c, const rpcrdma_chunks &call, u32 length,
		const rpcrdma_range *results, u32 n, rpcrdma_reply_plan &plan)
{
	rpcrdma_plan_reply(&c.session, &call, length, results, n, &plan);
}

} // namespace sim::core
