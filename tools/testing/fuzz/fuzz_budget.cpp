// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/*
 * Four connections of a server and one budget, with sizes and an order that the input
 * chooses: each octet is held once, nothing that is alone waits, only what could not wait
 * is beyond the limit, and at the end nothing is held.
 */
#include "budget.h"
#include "fuzz.h"

#include <vector>

using namespace rpcrdma::budget;

namespace
{

constexpr u32 kKinds = RPCRDMA_BUDGET_KINDS;

struct Connection {
	Account account = {};
	std::vector<u32> held[kKinds];
};

u32 amount(fuzz::Choices &c, u32 most)
{
	return 1 + c.number() % most;
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
	}
	while (!c.empty()) {
		Connection &one = all[c.up_to(3)];
		Account &a = one.account;
		const u32 what = c.up_to(kKinds);
		const u32 kind = what % kKinds;
		std::vector<u32> &mine = one.held[kind];
		const u32 wanted = amount(c, reserve);

		if (what == kKinds) {
			(void)extend(b, a, a.reserve + wanted);
			forced += wanted;
		} else if (c.flip() && !mine.empty()) {
			const u32 back = put(a, kind, mine.back(), is_short(b));

			mine.pop_back();
			FUZZ_CHECK(invariants(a, back));
			if (back)
				(void)give(b, a, back);
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

		for (const Connection &each : all) {
			FUZZ_CHECK(invariants(each.account));
			FUZZ_CHECK(!replies_full(each.account) ||
				   !each.held[RPCRDMA_BUDGET_REPLIES].empty());
			sum += u64{ each.account.reserve } + each.account.drawn;
		}
		FUZZ_CHECK(sum == b.held && invariants(b));
		FUZZ_CHECK(b.held <= b.limit + forced);
	}
	for (Connection &one : all) {
		const u32 held = one.account.reserve;

		(void)close(b, one.account);
		(void)uncharge(b, held);
	}
	FUZZ_CHECK(!b.held);
	return 0;
}
