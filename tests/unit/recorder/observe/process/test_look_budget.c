/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/process/look_budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define BURST CPU_BUDGET_BURST_NS

static void look_budget_allows_first_looks_for_free(void **unused)
{
	struct look_budget budget = { 0 };

	(void)unused;
	for (int i = 0; i < LOOK_BUDGET_FREE; i++) {
		look_budget_spend(&budget, NS_PER_S, NS_PER_S);
		assert_true(look_budget_next_ns(&budget, NS_PER_S) == NS_PER_S);
	}
	look_budget_spend(&budget, NS_PER_S, NS_PER_S);
	assert_true(look_budget_next_ns(&budget, NS_PER_S) > NS_PER_S);
}

static void look_budget_allows_looks_immediately_within_burst(void **unused)
{
	struct look_budget budget = { .looks = LOOK_BUDGET_FREE };

	(void)unused;
	assert_true(look_budget_next_ns(&budget, 5000) == 5000);
	look_budget_spend(&budget, NS_PER_S, BURST);
	assert_true(look_budget_next_ns(&budget, NS_PER_S) == NS_PER_S);
}

static void look_budget_delays_looks_after_burst_in_proportion(void **unused)
{
	struct look_budget budget = { .looks = LOOK_BUDGET_FREE };
	uint64_t next_ns;

	(void)unused;
	look_budget_spend(&budget, NS_PER_S, BURST);
	look_budget_spend(&budget, NS_PER_S, NS_PER_MS);
	next_ns = look_budget_next_ns(&budget, NS_PER_S);
	assert_true(next_ns == NS_PER_S + CPU_BUDGET_PART * NS_PER_MS);
	assert_true(look_budget_next_ns(&budget, next_ns) == next_ns);
}

static void look_budget_bounds_continuous_looks_to_cpu_share(void **unused)
{
	struct look_budget budget = { .looks = LOOK_BUDGET_FREE };
	uint64_t now_ns = NS_PER_S, spent_ns = 0;

	(void)unused;
	while (now_ns < 101 * NS_PER_S) {
		now_ns = look_budget_next_ns(&budget, now_ns) + 700 * NS_PER_US;
		look_budget_spend(&budget, now_ns, 700 * NS_PER_US);
		spent_ns += 700 * NS_PER_US;
	}
	assert_in_range(spent_ns, 100 * NS_PER_S / CPU_BUDGET_PART,
			100 * NS_PER_S / CPU_BUDGET_PART + BURST + NS_PER_MS);
}

static void look_budget_repays_debt_while_idle(void **unused)
{
	struct look_budget budget = { .looks = LOOK_BUDGET_FREE };
	uint64_t now_ns = NS_PER_S;

	(void)unused;
	look_budget_spend(&budget, now_ns, 2 * BURST);
	now_ns += 2 * BURST * CPU_BUDGET_PART;
	assert_true(cpu_budget_debt_ns(&budget.others, now_ns) == 0);
	look_budget_spend(&budget, now_ns, BURST);
	assert_true(look_budget_next_ns(&budget, now_ns) == now_ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(look_budget_allows_first_looks_for_free),
		cmocka_unit_test(look_budget_allows_looks_immediately_within_burst),
		cmocka_unit_test(look_budget_delays_looks_after_burst_in_proportion),
		cmocka_unit_test(look_budget_bounds_continuous_looks_to_cpu_share),
		cmocka_unit_test(look_budget_repays_debt_while_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
