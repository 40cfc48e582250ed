/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/process/look_budget.h"

#include "unit_test.h"

#define BURST CPU_BUDGET_BURST_NS

TEST(look_budget_allows_first_looks_for_free)
{
	struct look_budget budget = { 0 };

	for (int i = 0; i < LOOK_BUDGET_FREE; i++) {
		look_budget_spend(&budget, NS_PER_S, NS_PER_S);
		assert_true(look_budget_next_ns(&budget, NS_PER_S) == NS_PER_S);
	}
	look_budget_spend(&budget, NS_PER_S, NS_PER_S);
	assert_true(look_budget_next_ns(&budget, NS_PER_S) > NS_PER_S);
}

TEST(look_budget_allows_looks_immediately_within_burst)
{
	struct look_budget budget = { .looks = LOOK_BUDGET_FREE };

	assert_true(look_budget_next_ns(&budget, 5000) == 5000);
	look_budget_spend(&budget, NS_PER_S, BURST);
	assert_true(look_budget_next_ns(&budget, NS_PER_S) == NS_PER_S);
}

TEST(look_budget_delays_looks_after_burst_in_proportion)
{
	struct look_budget budget = { .looks = LOOK_BUDGET_FREE };
	uint64_t next_ns;

	look_budget_spend(&budget, NS_PER_S, BURST);
	look_budget_spend(&budget, NS_PER_S, NS_PER_MS);
	next_ns = look_budget_next_ns(&budget, NS_PER_S);
	assert_true(next_ns == NS_PER_S + CPU_BUDGET_PART * NS_PER_MS);
	assert_true(look_budget_next_ns(&budget, next_ns) == next_ns);
}

TEST(look_budget_bounds_continuous_looks_to_cpu_share)
{
	struct look_budget budget = { .looks = LOOK_BUDGET_FREE };
	uint64_t now_ns = NS_PER_S, spent_ns = 0;

	while (now_ns < 101 * NS_PER_S) {
		now_ns = look_budget_next_ns(&budget, now_ns) + 700 * NS_PER_US;
		look_budget_spend(&budget, now_ns, 700 * NS_PER_US);
		spent_ns += 700 * NS_PER_US;
	}
	assert_in_range(spent_ns, 100 * NS_PER_S / CPU_BUDGET_PART,
			100 * NS_PER_S / CPU_BUDGET_PART + BURST + NS_PER_MS);
}

TEST(look_budget_repays_debt_while_idle)
{
	struct look_budget budget = { .looks = LOOK_BUDGET_FREE };
	uint64_t now_ns = NS_PER_S;

	look_budget_spend(&budget, now_ns, 2 * BURST);
	now_ns += 2 * BURST * CPU_BUDGET_PART;
	assert_true(cpu_budget_debt_ns(&budget.others, now_ns) == 0);
	look_budget_spend(&budget, now_ns, BURST);
	assert_true(look_budget_next_ns(&budget, now_ns) == now_ns);
}
