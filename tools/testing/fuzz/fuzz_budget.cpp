// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Four connections of a server and one budget, with sizes and an order that the input
 * chooses: each octet is held once, nothing that is alone waits, only what could not wait
 * is beyond the limit, and at the end nothing is held. Replies have a pool besides: each is
 * counted once, in the pool or in the account, and whoever makes room says so. New connections
 * come while the limit changes: who has to wait is told when there is room, or never will be.
 */
#include "budget.h"
#include "fuzz.h"

#include <vector>

using namespace rpcrdma::budget;

namespace
{

constexpr u32 kKinds = RPCRDMA_BUDGET_KINDS;

constexpr u32 kReplies = RPCRDMA_BUDGET_REPLIES;

struct Reply {
	u32 octets;
	bool pooled;
};

struct Connection {
	Account account = {};
	std::vector<u32> held[kKinds];
	Replies replies = {};
	RepliesLimits limits = {};
	std::vector<Reply> sending;
	bool told = true; /* of room for Calls, since there was none */
};

u32 amount(fuzz::Choices &c, u32 most)
{
	return 1 + c.number() % most;
}

/* What the kernel's sendto.c does: of the pool, or of the account. */
void send_reply(Budget &b, Connection &c, u32 octets, u64 &forced)
{
	const bool pooled = take(c.replies, c.limits, octets);

	c.sending.push_back({ octets, pooled });
	if (pooled)
		return;
	if (take(c.account, kReplies, octets) == RPCRDMA_BUDGET_DRAW)
		FUZZ_CHECK(draw(b, c.account, kReplies, octets, true) ==
			   RPCRDMA_BUDGET_START);
	forced += octets;
}

void end_reply(Budget &b, Connection &c, bool &told)
{
	const Reply reply = c.sending.back();
	const bool much = rpcrdma_account_replies_full(&c.account);
	bool eased = false;

	c.sending.pop_back();
	if (!reply.pooled) {
		const u32 back =
			put(c.account, kReplies, reply.octets, is_short(b));

		if (back)
			told |= give(b, c.account, back);
		eased = much && !rpcrdma_account_replies_full(&c.account);
	}
	eased |= put(c.replies, c.limits, reply.octets, reply.pooled);
	c.told |= eased;
}

/* All that is true of a connection's Replies, after each event. */
void check_replies(Connection &c)
{
	const bool none = rpcrdma_replies_full(&c.replies, &c.limits,
					       &c.account);
	u64 pooled = 0;

	for (const Reply &reply : c.sending)
		pooled += reply.pooled ? reply.octets : 0;
	FUZZ_CHECK(invariants(c.replies));
	FUZZ_CHECK(c.replies.pooled == pooled && pooled <= c.limits.pool);
	FUZZ_CHECK(c.replies.number == c.sending.size());
	FUZZ_CHECK(none || c.told);
	c.told = !none;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	fuzz::Choices c(data, size);
	Connection all[4];
	Budget b = {};
	u64 forced = 0; /* at most, in all steps so far */
	const u32 reserve = amount(c, 1U << 20);

	b.limit = 4 * u64{ reserve } + c.number() % (1U << 22);
	b.batch = amount(c, 1U << 16);
	for (Connection &one : all) {
		FUZZ_CHECK(charge(b, reserve, false) == RPCRDMA_BUDGET_START);
		open(one.account, b.batch, reserve, amount(c, 1U << 22),
		     amount(c, 1U << 22));
		one.limits = { amount(c, 8), c.number() % (1U << 18) };
	}
	u64 newcomer = 0; /* what a connection wants that could not be made yet */
	u64 came = 0; /* what those have that could */
	const auto ask = [&] {
		const u64 limit = b.limit;
		const Verdict v = charge(b, newcomer, false);

		FUZZ_CHECK((v == RPCRDMA_BUDGET_REFUSE) == (newcomer > limit));
		came += v == RPCRDMA_BUDGET_START ? newcomer : 0;
		if (v != RPCRDMA_BUDGET_HOLD_BACK)
			newcomer = 0;
	};
	bool told = false; /* it has to ask again */
	while (!c.empty()) {
		Connection &one = all[c.up_to(3)];
		Account &a = one.account;
		const u32 what = c.up_to(kKinds + 3);
		const u32 kind = what % kKinds;
		std::vector<u32> &mine = one.held[kind];
		const u32 wanted = amount(c, reserve);

		if (what == kKinds) {
			const bool much = rpcrdma_account_replies_full(&a);

			told |= extend(b, a, a.reserve + wanted);
			one.told |= much && !rpcrdma_account_replies_full(&a);
			forced += wanted;
		} else if (what == kKinds + 1) {
			if (c.flip() && !one.sending.empty())
				end_reply(b, one, told);
			else if (one.sending.size() < 64)
				send_reply(b, one, wanted, forced);
		} else if (what == kKinds + 2 && came && c.flip()) {
			told |= uncharge(b, came);
			came = 0;
		} else if (what == kKinds + 2 && !newcomer) {
			newcomer = amount(c, 1U << 22);
			ask();
		} else if (what == kKinds + 3) {
			const u64 limit = b.limit + amount(c, 1U << 21);
			const u64 less = amount(c, 1U << 22);

			told |= change(b, limit > less ? limit - less : 1);
			/* What was held before stays. */
			forced += less;
		} else if (c.flip() && !mine.empty()) {
			const bool had_much = rpcrdma_account_replies_full(&a);
			const u32 back = put(a, kind, mine.back(), is_short(b));

			mine.pop_back();
			FUZZ_CHECK(invariants(a, back));
			if (back)
				told |= give(b, a, back);
			one.told |= had_much && !rpcrdma_account_replies_full(&a);
		} else if (mine.size() < 64) {
			const bool must = kind || mine.empty();
			Verdict v = kind ? take(a, kind, wanted) :
					   call(a, wanted, must);

			FUZZ_CHECK(fits(a, wanted) == RPCRDMA_BUDGET_START);
			if (v == RPCRDMA_BUDGET_DRAW) {
				const u64 before = b.held;

				v = draw(b, a, kind, wanted, must);
				FUZZ_CHECK(must || b.held <= b.limit ||
					   b.held == before);
				forced += must ? wanted : 0;
			}
			FUZZ_CHECK(v != RPCRDMA_BUDGET_REFUSE &&
				   (v == RPCRDMA_BUDGET_START || !must));
			if (v == RPCRDMA_BUDGET_START)
				mine.push_back(wanted);
		}

		u64 sum = 0;

		for (Connection &each : all) {
			FUZZ_CHECK(invariants(each.account));
			FUZZ_CHECK(!rpcrdma_account_replies_full(&each.account) ||
				   !each.held[kReplies].empty() ||
				   !each.sending.empty());
			check_replies(each);
			sum += u64{ each.account.reserve } + each.account.drawn;
		}
		FUZZ_CHECK(sum + came == b.held && invariants(b));
		FUZZ_CHECK(!newcomer || told ||
			   (newcomer <= b.limit && newcomer > room(b)));
		if (told && newcomer)
			ask();
		told = false;
		FUZZ_CHECK(b.held <= b.limit + forced);
	}
	for (Connection &one : all) {
		const u32 held = one.account.reserve;

		while (!one.sending.empty())
			end_reply(b, one, told);
		FUZZ_CHECK(!one.replies.number && !one.replies.pooled);
		(void)close(b, one.account);
		(void)uncharge(b, held);
	}
	(void)uncharge(b, came);
	FUZZ_CHECK(!b.held);
	return 0;
}
