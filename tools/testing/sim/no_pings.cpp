// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "world.h"

namespace sim::pings
{

void configure(Random & /*r*/, Pair & /*p*/)
{
}

bool can_act(const Conn & /*c*/)
{
	return false;
}

void act(Conn & /*c*/)
{
}

u32 some_type(Random &r)
{
	return r.within(3, 14);
}

void sent(Conn & /*c*/, bool /*between*/, rpcrdma_tx & /*tx*/, u8 * /*buffer*/)
{
}

void wrote(Conn & /*c*/, const rpcrdma_tx & /*tx*/)
{
}

bool may_carry(const Conn & /*c*/)
{
	return false;
}

bool carry(Conn & /*c*/, Outgoing * /*m*/, u8 * /*buffer*/, rpcrdma_tx & /*tx*/,
	   u32 & /*size*/, u32 & /*result*/)
{
	return false;
}

bool repeats(const Conn & /*c*/)
{
	return false;
}

void repeated(Conn & /*c*/)
{
}

std::shared_ptr<const rpcrdma_rtr_directions>
directions(const Conn & /*c*/, const Receive & /*r*/)
{
	return nullptr;
}

bool plan_reply(Conn & /*c*/, Outgoing & /*m*/, u32 /*length*/,
		rpcrdma_reply_plan & /*plan*/)
{
	return false;
}

bool answers(const Conn & /*c*/, const Receive & /*first*/,
	     rpcrdma_chunks & /*written*/)
{
	return true;
}

void declare(Conn & /*c*/)
{
}

void receive(Conn &c, const u8 *buffer, u32 length, rpcrdma_rx &rx)
{
	rpcrdma_session_receive(&c.session, buffer, length, &rx);
}

bool fetches(const Conn & /*c*/, const std::vector<Part> & /*parts*/,
	     rpcrdma_chunks & /*chunks*/, bool & /*placed*/)
{
	return false;
}

Octets lay_out(const Conn & /*c*/, const std::vector<Part> & /*parts*/,
	       u32 /*length*/)
{
	return {};
}

std::vector<u32> refused_replies(Conn & /*c*/)
{
	return {};
}

bool group_refused(const rpcrdma_rx & /*rx*/)
{
	return false;
}

void received(Conn & /*c*/, rpcrdma_rx & /*rx*/, const u8 * /*buffer*/,
	      u32 /*length*/)
{
}

bool begins_small(const Conn & /*c*/)
{
	return false;
}

void begin(Conn & /*c*/)
{
}

void opened(Conn & /*c*/)
{
}

void reposted(Conn & /*c*/)
{
}

bool stray(const Conn & /*c*/, const rpcrdma_rx & /*rx*/)
{
	return false;
}

void gone(Conn & /*c*/)
{
}

void quiet(const Link & /*l*/)
{
}

void print(const Tally & /*t*/)
{
}

bool reaches(const Tally & /*t*/)
{
	return true;
}

bool there_are()
{
	return false;
}

} // namespace sim::pings
