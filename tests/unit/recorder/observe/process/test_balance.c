/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/process/balance.h"

#include <string.h>

#include "unit_test.h"

#include <correlator/snapshot.h>

enum {
	SOME_CONTEXT = CONTEXT_HASH_FIRST,
	WINDOW = 7
};

static const struct account_totals FIVE = { .user_ns = 2, .kernel_ns = 3, .blocked_ns = 1000 };

TEST(balance_attributes_only_time_in_a_context)
{
	struct balance balance = { 0 };
	struct process_books now = { .epochs[WINDOW & 1].exec_ns = 20 };
	struct balance_record record;

	balance_add(&balance, SOME_CONTEXT, &FIVE);
	balance_add(&balance, CONTEXT_HASH_NONE, &FIVE);
	balance_add(&balance, CONTEXT_HASH_UNKNOWN, &FIVE);
	balance_close(&balance, &now, WINDOW, 99, &record);
	assert_int_equal(record.attributed_ns, 5);
	assert_int_equal(record.unattributed_ns, 10);
	assert_int_equal(record.overflow_ns, 0);
	assert_int_equal(record.exec_ns, 20);
	assert_int_equal(record.residual_ns, 5);
	assert_int_equal(record.window_ns, 99);
}

TEST(balance_allows_negative_residual)
{
	struct balance balance = { 0 };
	struct process_books now = { .epochs[WINDOW & 1].exec_ns = 1 };
	struct balance_record record;

	balance_add(&balance, SOME_CONTEXT, &FIVE);
	balance_close(&balance, &now, WINDOW, 1, &record);
	assert_true(record.residual_ns == -4);
}

/* After theft that was told late; the sums over all windows are right. */
TEST(balance_deducts_negative_exec_growth_from_next_windows)
{
	static const struct {
		int64_t growth_ns;
		uint64_t exec_ns;
	} windows[] = { { 100, 100 }, { -7, 0 }, { 5, 0 }, { 10, 8 }, { 3, 3 } };
	struct balance balance = { 0 };
	struct process_books now = { 0 };
	struct balance_record record;

	for (unsigned int i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		now.epochs[i & 1].exec_ns += (uint64_t)windows[i].growth_ns;
		balance_close(&balance, &now, i, 1, &record);
		assert_int_equal(record.exec_ns, windows[i].exec_ns);
		assert_true(record.residual_ns == (int64_t)windows[i].exec_ns);
	}
}

TEST(balance_reports_growth_per_window)
{
	struct balance balance = { 0 };
	struct process_books now = { .epochs[WINDOW & 1].exec_ns = 100 };
	struct balance_record record;

	now.epochs[WINDOW & 1].overflow.user_ns = 7;
	balance_add(&balance, SOME_CONTEXT, &FIVE);
	balance_add(&balance, CONTEXT_HASH_NONE, &FIVE);
	balance_close(&balance, &now, WINDOW, 1, &record);
	assert_int_equal(record.overflow_ns, 7);

	now.epochs[WINDOW & 1].exec_ns += 11;
	now.epochs[WINDOW & 1].overflow.kernel_ns += 11;
	balance_close(&balance, &now, WINDOW, 1, &record);
	assert_int_equal(record.exec_ns, 11);
	assert_int_equal(record.attributed_ns, 0);
	assert_int_equal(record.unattributed_ns, 0);
	assert_int_equal(record.overflow_ns, 11);
	assert_true(record.residual_ns == 0);
}

TEST(balance_reports_each_loss_once)
{
	struct balance balance = { 0 };
	struct process_books now = { 0 };
	struct balance_record record;

	for (size_t i = 0; i < _COUNTER_MAX; i++) {
		now.losses[i] = i + 1;
		balance.losses[i] = 1000 * i;
	}
	balance_close(&balance, &now, WINDOW, 1, &record);
	for (size_t i = 0; i < _COUNTER_MAX; i++)
		assert_int_equal(record.losses[i], 1001 * i + 1);
	/* The kernel's figures as they stand by then: one has grown. */
	for (size_t i = 0; i < _COUNTER_MAX; i++)
		now.losses[i] = i + 1 + (i == 0 ? 2 : 0);
	balance_close(&balance, &now, WINDOW + 1, 1, &record);
	for (size_t i = 0; i < _COUNTER_MAX; i++)
		assert_int_equal(record.losses[i], i ? 0 : 2);
}

TEST(balance_counts_samples_per_window_times_period)
{
	struct balance balance = { .samples = 3, .period_ns = 10 };
	struct process_books now = { 0 };
	struct balance_record record;

	balance_close(&balance, &now, WINDOW, 1, &record);
	assert_true(record.has_samples);
	assert_int_equal(record.samples, 3);
	assert_int_equal(record.sampled_ns, 30);
	balance_close(&balance, &now, WINDOW + 1, 1, &record);
	assert_true(record.has_samples);
	assert_int_equal(record.samples, 0);
	assert_int_equal(record.sampled_ns, 0);
	balance.period_ns = 0;
	balance_close(&balance, &now, WINDOW + 2, 1, &record);
	assert_false(record.has_samples);
}

TEST(balance_ignores_epoch_of_other_parity)
{
	struct balance balance = { 0 };
	struct process_books now = { 0 };
	struct balance_record record;

	now.epochs[WINDOW & 1].exec_ns = 5;
	now.epochs[!(WINDOW & 1)].exec_ns = 1000;
	balance_add(&balance, SOME_CONTEXT, &FIVE);
	balance_close(&balance, &now, WINDOW, 1, &record);
	assert_int_equal(record.exec_ns, 5);
	now.epochs[!(WINDOW & 1)].exec_ns = 1700;
	balance_close(&balance, &now, WINDOW + 1, 1, &record);
	assert_int_equal(record.exec_ns, 1700);
}

TEST(balance_overflow_is_growth_of_each_total)
{
	struct balance balance = { 0 };
	struct process_books now = { 0 };
	struct account_totals overflow;
	uint64_t *totals = (uint64_t *)&now.epochs[WINDOW & 1].overflow,
		 *before = (uint64_t *)&balance.before.epochs[WINDOW & 1].overflow;
	const uint64_t *growth = (const uint64_t *)&overflow;

	for (size_t i = 0; i < sizeof(overflow) / sizeof(uint64_t); i++) {
		before[i] = 10 * i;
		totals[i] = 10 * i + i + 1;
	}
	balance_overflow(&balance, &now, WINDOW, &overflow);
	for (size_t i = 0; i < sizeof(overflow) / sizeof(uint64_t); i++)
		assert_int_equal(growth[i], i + 1);
}
