/* SPDX-License-Identifier: GPL-2.0-only */
#include <correlator/digest_budget.h>

#include "unit_test.h"

#define SECOND 1000000000ULL

enum {
	CONTEXT_BYTES = 8 * 4096
};

/* How many bytes may be read from then on, asked for every microsecond. */
static uint64_t take_all(uint64_t from_ns, uint64_t for_ns)
{
	uint64_t paid_ns = 0, taken = 0;

	for (uint64_t now_ns = from_ns; now_ns < from_ns + for_ns; now_ns += 1000) {
		uint64_t next_ns = digest_budget_take(paid_ns, now_ns, CONTEXT_BYTES);

		if (!next_ns)
			continue;
		paid_ns = next_ns;
		taken += CONTEXT_BYTES;
	}
	return taken;
}

TEST(digest_budget_allows_burst_at_once)
{
	uint64_t paid_ns = 0;

	for (uint32_t taken = 0; taken < DIGEST_BUDGET_BURST_BYTES; taken += CONTEXT_BYTES) {
		paid_ns = digest_budget_take(paid_ns, SECOND, CONTEXT_BYTES);
		assert_true(paid_ns > SECOND);
	}
	/* What begins before the burst is used up is read to its end; and then nothing. */
	paid_ns = digest_budget_take(paid_ns, SECOND, 1);
	assert_true(paid_ns > SECOND);
	assert_int_equal(digest_budget_take(paid_ns, SECOND, 1), 0);
}

TEST(digest_budget_limits_rate_after_burst)
{
	uint64_t rate = 10 * SECOND / DIGEST_BUDGET_NS_PER_BYTE;

	assert_in_range(take_all(SECOND, 10 * SECOND), rate,
			rate + DIGEST_BUDGET_BURST_BYTES + 2 * CONTEXT_BYTES);
}

TEST(digest_budget_saves_no_more_than_one_burst)
{
	assert_true(take_all(3600 * SECOND, 1000) <= CONTEXT_BYTES);
	assert_in_range(take_all(3600 * SECOND, 1000000), DIGEST_BUDGET_BURST_BYTES,
			DIGEST_BUDGET_BURST_BYTES + 2 * CONTEXT_BYTES);
}
