// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "budget.h"
#include "check.h"
#include "event.h"

namespace rpcrdma::budget
{

static constexpr u32 kCalls = RPCRDMA_BUDGET_CALLS;
static constexpr u32 kReplies = RPCRDMA_BUDGET_REPLIES;

/* One part in so many is left when memory is short. */
static constexpr u64 kShortPart = 8;

static void add(Budget &b, u64 octets)
{
	b.held += octets;
	if (b.held > b.most)
		b.most = b.held;
}

/* Room has become more. Who waits is told once. */
static bool tell(Budget &b)
{
	if (!b.wanted || room(b) < b.wanted)
		return false;
	b.wanted = 0;
	return true;
}

bool change(Budget &b, u64 limit)
{
	const bool waits = b.wanted;
	const bool less = limit < b.limit;

	b.limit = limit;
	if (!less || !waits)
		return tell(b);
	/* There may never be so much any more: who waits has to learn that. */
	b.wanted = 0;
	return true;
}

bool is_short(const Budget &b)
{
	return room(b) < b.limit / kShortPart;
}

Verdict charge(Budget &b, u64 octets, bool must)
{
	if (!must && octets > b.limit) {
		b.refused++;
		return RPCRDMA_BUDGET_REFUSE;
	}
	if (!must && octets > room(b)) {
		b.held_back++;
		if (!b.wanted || octets < b.wanted)
			b.wanted = octets;
		return RPCRDMA_BUDGET_HOLD_BACK;
	}
	add(b, octets);
	return RPCRDMA_BUDGET_START;
}

bool uncharge(Budget &b, u64 octets)
{
	if (!RPCRDMA_CHECK(octets <= b.held))
		octets = b.held;
	b.held -= octets;
	return tell(b);
}

void open(Account &a, u32 batch, u32 reserve, u32 calls, u32 replies)
{
	a = {};
	a.reserve = reserve;
	a.batch = batch;
	a.limit[kCalls] = calls < reserve ? reserve : calls;
	a.limit[kReplies] = replies;
}

bool close(Budget &b, Account &a)
{
	const u32 drawn = a.drawn;

	a = {};
	return uncharge(b, drawn);
}

Verdict fits(const Account &a, u32 octets)
{
	return octets <= a.reserve ? RPCRDMA_BUDGET_START :
				     RPCRDMA_BUDGET_REFUSE;
}

static void use(Account &a, u32 kind, u32 octets)
{
	a.used[kind] += octets;
	if (used(a) > a.most)
		a.most = used(a);
	(void)RPCRDMA_CHECK(invariants(a));
}

static Verdict hold_back(Account &a)
{
	a.held_back += !a.waits;
	a.waits = true;
	return RPCRDMA_BUDGET_HOLD_BACK;
}

Verdict take(Account &a, u32 kind, u32 octets)
{
	if (octets > spare(a))
		return RPCRDMA_BUDGET_DRAW;
	use(a, kind, octets);
	return RPCRDMA_BUDGET_START;
}

Verdict call(Account &a, u32 octets, bool alone)
{
	const u32 now = a.used[kCalls];

	if (!alone && (now > a.limit[kCalls] || octets > a.limit[kCalls] - now))
		return hold_back(a);

	const Verdict verdict = take(a, kCalls, octets);

	if (verdict == RPCRDMA_BUDGET_START)
		a.waits = false;
	return verdict;
}

Verdict draw(Budget &b, Account &a, u32 kind, u32 octets, bool must)
{
	const u32 missing = octets > spare(a) ? octets - spare(a) : 0;
	const u64 left = room(b);

	if (missing > left) {
		if (!must) {
			b.held_back++;
			return hold_back(a);
		}
		a.forced += missing - static_cast<u32>(left);
	}

	/* A little more than it needs, if nobody lacks it. */
	const bool more = missing < b.batch && b.batch <= left &&
			  !is_short(b) && !a.forced;
	const u32 amount = more ? b.batch : missing;

	add(b, amount);
	a.drawn += amount;
	use(a, kind, octets);
	a.waits = false;
	return RPCRDMA_BUDGET_START;
}

u32 put(Account &a, u32 kind, u32 octets, bool scarce)
{
	if (!RPCRDMA_CHECK(octets <= a.used[kind]))
		octets = a.used[kind];
	a.used[kind] -= octets;

	const u32 left = spare(a);
	const u32 excess = left < a.drawn ? left : a.drawn;

	if (scarce || a.forced)
		return excess;
	return excess > 2 * a.batch ? excess - a.batch : 0;
}

bool give(Budget &b, Account &a, u32 octets)
{
	a.drawn -= octets;
	a.forced -= octets < a.forced ? octets : a.forced;
	(void)RPCRDMA_CHECK(invariants(a));
	return uncharge(b, octets);
}

bool extend(Budget &b, Account &a, u32 reserve)
{
	if (!RPCRDMA_CHECK(reserve >= a.reserve))
		return false;
	(void)charge(b, reserve - a.reserve, true);
	a.reserve = reserve;
	if (a.limit[kCalls] < reserve)
		a.limit[kCalls] = reserve;

	const u32 left = spare(a);

	return give(b, a, left < a.drawn ? left : a.drawn);
}

bool calls_full(const Account &a)
{
	return a.forced || a.used[kCalls] >= a.limit[kCalls];
}

bool take(Replies &r, const RepliesLimits &limits, u32 octets)
{
	const bool pooled = octets <= limits.pool &&
			    r.pooled <= limits.pool - octets;

	r.number++;
	if (pooled)
		r.pooled += octets;
	return pooled;
}

bool put(Replies &r, const RepliesLimits &limits, u32 octets, bool pooled)
{
	const bool before = rpcrdma_replies_many(&r, &limits);

	if (!RPCRDMA_CHECK(r.number))
		return false;
	if (pooled && !RPCRDMA_CHECK(octets <= r.pooled))
		octets = r.pooled;
	r.number--;
	if (pooled)
		r.pooled -= octets;
	return before && !rpcrdma_replies_many(&r, &limits);
}

} // namespace rpcrdma::budget

using namespace rpcrdma;

static void check(const budget::Budget &b)
{
	(void)RPCRDMA_CHECK(budget::invariants(b));
}

static void check(const budget::Account &a)
{
	(void)RPCRDMA_CHECK(budget::invariants(a));
}

static void check(const budget::Replies &r)
{
	(void)RPCRDMA_CHECK(budget::invariants(r));
}

using BudgetEvent = EventOf<budget::Budget, check>;
using AccountEvent = EventOf<budget::Account, check>;
using RepliesEvent = EventOf<budget::Replies, check>;

extern "C" {

void rpcrdma_budget_init(struct rpcrdma_budget *b, u64 limit)
{
	const BudgetEvent event(*b);

	*event = {};
	event->limit = limit;
	event->batch = RPCRDMA_BUDGET_BATCH;
}

bool rpcrdma_budget_change(struct rpcrdma_budget *b, u64 limit)
{
	return budget::change(*BudgetEvent(*b), limit);
}

bool rpcrdma_budget_short(const struct rpcrdma_budget *b)
{
	return budget::is_short(*b);
}

u32 rpcrdma_budget_charge(struct rpcrdma_budget *b, u64 octets, bool must)
{
	return budget::charge(*BudgetEvent(*b), octets, must);
}

bool rpcrdma_budget_uncharge(struct rpcrdma_budget *b, u64 octets)
{
	return budget::uncharge(*BudgetEvent(*b), octets);
}

void rpcrdma_account_open(struct rpcrdma_account *a, u32 batch, u32 reserve,
			  u32 calls, u32 replies)
{
	budget::open(*AccountEvent(*a), batch, reserve, calls, replies);
}

bool rpcrdma_budget_extend(struct rpcrdma_budget *b, struct rpcrdma_account *a,
			   u32 reserve)
{
	return budget::extend(*BudgetEvent(*b), *AccountEvent(*a), reserve);
}

bool rpcrdma_account_close(struct rpcrdma_budget *b, struct rpcrdma_account *a)
{
	return budget::close(*BudgetEvent(*b), *AccountEvent(*a));
}

u32 rpcrdma_account_fits(const struct rpcrdma_account *a, u32 octets)
{
	return budget::fits(*a, octets);
}

u32 rpcrdma_account_call(struct rpcrdma_account *a, u32 octets, bool alone)
{
	return budget::call(*AccountEvent(*a), octets, alone);
}

u32 rpcrdma_account_take(struct rpcrdma_account *a, u32 kind, u32 octets)
{
	return budget::take(*AccountEvent(*a), kind, octets);
}

u32 rpcrdma_budget_draw(struct rpcrdma_budget *b, struct rpcrdma_account *a,
			u32 kind, u32 octets, bool must)
{
	return budget::draw(*BudgetEvent(*b), *AccountEvent(*a), kind, octets,
			    must);
}

u32 rpcrdma_account_put(struct rpcrdma_account *a, u32 kind, u32 octets,
			bool scarce)
{
	const u32 back = budget::put(*a, kind, octets, scarce);

#ifdef RPCRDMA_CHECKED
	(void)RPCRDMA_CHECK(budget::invariants(*a, back));
#endif
	return back;
}

bool rpcrdma_budget_give(struct rpcrdma_budget *b, struct rpcrdma_account *a,
			 u32 octets)
{
	return budget::give(*BudgetEvent(*b), *AccountEvent(*a), octets);
}

bool rpcrdma_account_calls_full(const struct rpcrdma_account *a)
{
	return budget::calls_full(*a);
}

bool rpcrdma_replies_take(struct rpcrdma_replies *r,
			  const struct rpcrdma_replies_limits *limits,
			  u32 octets)
{
	return budget::take(*RepliesEvent(*r), *limits, octets);
}

bool rpcrdma_replies_put(struct rpcrdma_replies *r,
			 const struct rpcrdma_replies_limits *limits,
			 u32 octets, bool pooled)
{
	return budget::put(*RepliesEvent(*r), *limits, octets, pooled);
}

} /* extern "C" */
