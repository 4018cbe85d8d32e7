/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * Types that all of the clock uses.
 */
#ifndef _RPCRDMA_CLOCK_BASE_H
#define _RPCRDMA_CLOCK_BASE_H

#include <cstdint>
#include <stdexcept>
#include <string>

namespace ttclock
{

using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

/* Nanoseconds since the guests began to boot. */
using Time = u64;

/* What a guest asks for that has nothing to wait for. */
inline constexpr Time kForever = INT64_MAX;

/* Why the program ends, as its exit status. */
enum class Status : u8 {
	Ended = 0, /* all guests have ended */
	Host = 1, /* wrong options, or the host denies something */
	Died = 2, /* a guest broke off */
	Protocol = 3, /* a guest said what it may not say */
	Forever = 4, /* all guests sleep, and nothing will wake them */
	Stalled = 5, /* a guest has run for too long in real time */
	Told = 6, /* by a signal */
	Late = 7, /* the virtual time is up */
};

class Failure : public std::runtime_error {
public:
	Failure(Status status, const std::string &what)
		: std::runtime_error(what)
		, status_(status)
	{
	}
	[[nodiscard]] Status status() const
	{
		return status_;
	}

private:
	Status status_;
};

/* The guest did what neither protocol allows. */
[[noreturn]] inline void refuse(const std::string &what)
{
	throw Failure(Status::Protocol, what);
}

} /* namespace ttclock */

#endif
