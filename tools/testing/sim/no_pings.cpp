// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "pings.h"

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

bool carry(Conn & /*c*/, rpcrdma_message * /*m*/, u8 * /*buffer*/,
	   rpcrdma_tx & /*tx*/, u32 & /*result*/)
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

bool stray(const rpcrdma_rx & /*rx*/)
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
