/* SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause */
/*
 * The memory of the module, and of the connections in it. <rpcrdma/budget.h> has the rules.
 *
 * What the module can hold at most, with L its limit, M the largest Call, R the largest
 * Reply, for a device whose Receives have I bytes, and windows of W:
 *
 *	L + T * R + N * (M + F),	F = W * (I + 2 * page + S + P)
 *
 * T are nfsd's threads, each of which may have begun a Call before its Reply was too much. N
 * are the connections in which both of these happen while the budget is used up: a continued
 * Call comes in, and another Call is alone, so it must not wait. A connection whose reserve
 * grows then, which it does once, adds what it grows by. F is what can come in by
 * credits that were given before; server/call.c has that.
 */
#ifndef _RPCRDMA_CORE_BUDGET_H
#define _RPCRDMA_CORE_BUDGET_H

#include <rpcrdma/budget.h>

namespace rpcrdma::budget
{

using Budget = rpcrdma_budget;
using Account = rpcrdma_account;
using Replies = rpcrdma_replies;
using RepliesLimits = rpcrdma_replies_limits;
using Verdict = rpcrdma_budget_verdict;

/* It can be changed in one step. */
static_assert(sizeof(Replies) == sizeof(u64));

[[nodiscard]] constexpr u32 used(const Account &a)
{
	return a.used[RPCRDMA_BUDGET_CALLS] + a.used[RPCRDMA_BUDGET_REPLIES];
}

/* What it can use and does not. */
[[nodiscard]] constexpr u32 spare(const Account &a)
{
	return a.reserve + a.drawn - used(a);
}

/* What the budget has left. */
[[nodiscard]] constexpr u64 room(const Budget &b)
{
	return b.held < b.limit ? b.limit - b.held : 0;
}

/*
 * What is true of the budget at all times: whoever was held back still lacks room, and may get
 * some.
 */
[[nodiscard]] constexpr bool invariants(const Budget &b)
{
	return b.held <= b.most &&
	       (!b.wanted || (room(b) < b.wanted && b.wanted <= b.limit));
}

/*
 * What is true of an account at all times: it uses what it has. What it was forced to draw it
 * still needs, when the budget has @back of it: what put() has returned, until give().
 */
[[nodiscard]] constexpr bool invariants(const Account &a, u32 back = 0)
{
	return used(a) <= a.reserve + a.drawn && back <= spare(a) &&
	       back <= a.drawn && a.forced <= a.drawn && used(a) <= a.most &&
	       (a.forced <= back || spare(a) == back);
}

/* What is true of Replies at all times: only they have something of the pool. */
[[nodiscard]] constexpr bool invariants(const Replies &r)
{
	return r.number || !r.pooled;
}

/* For each see the function of the same name in <rpcrdma/budget.h>. */
[[nodiscard]] bool change(Budget &b, u64 limit);
[[nodiscard]] bool is_short(const Budget &b);
[[nodiscard]] Verdict charge(Budget &b, u64 octets, bool must);
[[nodiscard]] bool uncharge(Budget &b, u64 octets);
void open(Account &a, u32 batch, u32 reserve, u32 calls, u32 replies);
[[nodiscard]] bool extend(Budget &b, Account &a, u32 reserve);
[[nodiscard]] bool close(Budget &b, Account &a);
[[nodiscard]] Verdict fits(const Account &a, u32 octets);
[[nodiscard]] Verdict call(Account &a, u32 octets, bool alone);
[[nodiscard]] Verdict take(Account &a, u32 kind, u32 octets);
[[nodiscard]] Verdict draw(Budget &b, Account &a, u32 kind, u32 octets,
			   bool must);
[[nodiscard]] u32 put(Account &a, u32 kind, u32 octets, bool scarce);
[[nodiscard]] bool give(Budget &b, Account &a, u32 octets);
[[nodiscard]] bool calls_full(const Account &a);
[[nodiscard]] bool take(Replies &r, const RepliesLimits &limits, u32 octets);
[[nodiscard]] bool put(Replies &r, const RepliesLimits &limits, u32 octets,
		       bool pooled);

} // namespace rpcrdma::budget

#endif /* _RPCRDMA_CORE_BUDGET_H */
