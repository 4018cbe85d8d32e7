/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The draft's literal formula: "Sent message count" + "Advertised credits". This file is
 * included first and replaces the core's Credits, so the whole core uses this formula (D1).
 */
#ifndef _RPCRDMA_SIM_LITERAL_CREDITS_H
#define _RPCRDMA_SIM_LITERAL_CREDITS_H

#define Credits RealCredits
#include <credits.h>
#undef Credits

namespace rpcrdma
{

class Credits : public RealCredits {
public:
	using RealCredits::RealCredits;

	[[nodiscard]] constexpr u32 credit() const
	{
		return sent_count() + window() - in_use();
	}
};

} // namespace rpcrdma

#endif /* _RPCRDMA_SIM_LITERAL_CREDITS_H */
