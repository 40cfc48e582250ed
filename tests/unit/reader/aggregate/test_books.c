/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>

#include "unit_test.h"

#include "reader/aggregate/books.h"
#include "reader/aggregate/sample_totals.h"

static int setup(void **state)
{
	static const char *const by[] = { "request_id" };
	static struct totals totals;

	*state = &totals;
	return totals_init(&totals, by, 1);
}

static int teardown(void **state)
{
	totals_deinit(*state);
	return 0;
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(books_sum_times_and_compute_residual)
{
	struct totals *totals = *state;
	const struct books *books = &totals->books;
	double ppm;

	assert_false(books_residual_ppm(books, &ppm));
	sample_add_balance(totals, 600000, 500000, 98000, 1000);
	sample_add_balance(totals, 400000, 300000, 97000, 2000);
	assert_int_equal(books->balance_count, 2);
	assert_int_equal(books->exec_ns, 1000000);
	assert_int_equal(books->attributed_ns, 800000);
	assert_int_equal(books->unattributed_ns, 195000);
	assert_int_equal(books->overflow_ns, 3000);
	assert_int_equal(books_charged_ns(books), 998000);
	assert_int_equal(books_residual_ns(books), 2000);
	assert_int_equal(books->stated_residual_ns, 2000);
	assert_true(books_residual_ppm(books, &ppm));
	assert_true(ppm == 2000);
}

FIXTURE_TEST(books_balance_within_one_per_mille)
{
	static const struct {
		int64_t charged_ns;
		bool does_balance;
	} cases[] = { { 999000, true }, { 998999, false }, { 1001000, true }, { 1001001, false } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct totals *totals = *state;

		totals->books = (struct books){ 0 };
		sample_add_balance(totals, 1000000, cases[i].charged_ns, 0, 0);
		assert_int_equal(books_balance(&totals->books), cases[i].does_balance);
	}
}

FIXTURE_TEST(books_reject_charge_without_exec_time)
{
	struct totals *totals = *state;

	assert_true(books_balance(&totals->books));
	sample_add_balance(totals, 0, 1, 0, 0);
	assert_false(books_balance(&totals->books));
}

FIXTURE_TEST(books_keep_first_window_with_largest_residual)
{
	struct totals *totals = *state;
	const struct books *books = &totals->books;

	sample_add_balance(totals, 700, 700, 0, 0);
	assert_int_equal(books->worst_exec_ns, 700);
	sample_add_balance(totals, 1000, 900, 0, 0);
	sample_add_balance(totals, 2000, 2100, 0, 0);
	sample_add_balance(totals, 3000, 2999, 0, 0);
	assert_int_equal(books->worst_residual_ns, 100);
	assert_int_equal(books->worst_exec_ns, 1000);
	totals->books = (struct books){ 0 };
	sample_add_balance(totals, 1000, 900, 0, 0);
	sample_add_balance(totals, 3000, 2999, 0, 0);
	assert_int_equal(books->worst_exec_ns, 1000);
	/* By its own times, whatever it states. */
	sample_add_balance(totals, 5000, 1, 2, 5100);
	assert_int_equal(books->worst_residual_ns, -103);
	assert_int_equal(books->worst_exec_ns, 5000);
}

static void begin_balance(struct sample *sample, int64_t residual_ns)
{
	sample_record(sample,
		      "balance pid=42 exec_ns=%ld attributed_ns=%ld unattributed_ns=%ld "
		      "overflow_ns=%ld residual_ns=%ld",
		      INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, residual_ns);
}

FIXTURE_TEST(books_sampled_ratio_ignores_records_without_samples)
{
	struct totals *totals = *state;
	struct books merged = { 0 };
	double ratio;

	sample_add_balance(totals, 5000, 5000, 0, 0);
	assert_int_equal(totals->books.sampled_count, 0);
	assert_false(books_sampled_ratio(&totals->books, &ratio));
	for (size_t i = 0; i < 2; i++)
		sample_add_record(totals, "balance pid=42 exec_ns=1000 attributed_ns=1000 "
					  "unattributed_ns=0 overflow_ns=0 residual_ns=0 "
					  "samples=3 sampled_ns=750");
	books_merge(&merged, &totals->books);
	books_merge(&merged, &totals->books);
	assert_int_equal(merged.sampled_count, 4);
	assert_int_equal(merged.samples, 12);
	assert_int_equal(merged.sampled_ns, 3000);
	assert_true(books_sampled_ratio(&merged, &ratio));
	assert_true(ratio == 0.75);
}

FIXTURE_TEST(books_sums_saturate_at_int64_limits)
{
	const int64_t extremes[] = { INT64_MAX, INT64_MIN };
	struct totals *totals = *state;

	for (size_t i = 0; i < 2; i++) {
		totals->books = (struct books){ 0 };
		for (size_t round = 0; round < 2; round++) {
			struct sample sample;

			begin_balance(&sample, extremes[i]);
			assert_int_equal(sample_add(&sample, totals), 0);
		}
		assert_true(totals->books.exec_ns == INT64_MAX);
		assert_true(books_charged_ns(&totals->books) == INT64_MAX);
		assert_true(totals->books.stated_residual_ns == extremes[i]);
	}
}

FIXTURE_TEST(books_sum_each_loss_under_its_name)
{
	struct totals *totals = *state;

	for (size_t round = 0; round < 2; round++) {
		struct sample sample;

		begin_balance(&sample, 0);
		for (int i = 0; i < _COUNTER_MAX; i++)
			sample_fields(&sample, "%s=%d", books_loss_name((enum counter)i), i + 1);
		sample_fields(&sample, "own_cpu_ns=1000");
		assert_int_equal(sample_add(&sample, totals), 0);
	}
	for (int i = 0; i < _COUNTER_MAX; i++)
		assert_int_equal(totals->books.losses[i], 2 * (i + 1));
	assert_int_equal(totals->books.own_cpu_ns, 2000);
}

FIXTURE_TEST(books_reject_balance_with_missing_time)
{
	static const char *const times[] = { "exec_ns", "attributed_ns", "unattributed_ns",
					     "overflow_ns", "residual_ns" };
	struct totals *totals = *state;
	const size_t count = sizeof(times) / sizeof(times[0]);
	struct sample sample;

	for (size_t lacking = 0; lacking < 2 * count; lacking++) {
		sample_record(&sample, "balance pid=42");
		for (size_t i = 0; i < count; i++)
			if (i != lacking % count)
				sample_fields(&sample, "%s=5", times[i]);
			else if (lacking >= count)
				sample_fields(&sample, "%s=\"5\"", times[i]);
		assert_int_equal(sample_add(&sample, totals), -EBADMSG);
	}
	assert_int_equal(totals->books.balance_count, 0);
	assert_int_equal(totals->books.exec_ns, 0);
}

static void add_gap(struct totals *totals, int64_t records, int64_t segments, const char *reason)
{
	struct sample sample;

	sample_record(&sample, "gap pid=7 dropped_records=%ld dropped_segments=%ld", records,
		      segments);
	if (reason)
		sample_fields(&sample, "reason=%s", reason);
	assert_int_equal(sample_add(&sample, totals), 0);
}

static struct books books_of(int64_t unit)
{
	struct books books = {
		.balance_count = (uint64_t)unit,
		.exec_ns = 2 * unit,
		.attributed_ns = 3 * unit,
		.unattributed_ns = 4 * unit,
		.overflow_ns = 5 * unit,
		.stated_residual_ns = 6 * unit,
		.worst_residual_ns = 7 * unit,
		.worst_exec_ns = 8 * unit,
		.own_cpu_ns = 9 * unit,
		.gap_count = (uint64_t)unit,
		.dropped_records = 11 * unit,
		.dropped_segments = 12 * unit,
		.gap_reason = "why",
	};

	for (int i = 0; i < _COUNTER_MAX; i++)
		books.losses[i] = (20 + i) * unit;
	return books;
}

FIXTURE_TEST(books_merge_sums_both_and_keeps_worst_window)
{
	struct books first = books_of(1), none = { 0 }, second = books_of(10);

	second.worst_residual_ns = -70;
	books_merge(&first, &second);
	assert_int_equal(first.balance_count, 11);
	assert_int_equal(first.exec_ns, 22);
	assert_int_equal(first.attributed_ns, 33);
	assert_int_equal(first.unattributed_ns, 44);
	assert_int_equal(first.overflow_ns, 55);
	assert_int_equal(first.stated_residual_ns, 66);
	assert_int_equal(first.worst_residual_ns, -70);
	assert_int_equal(first.worst_exec_ns, 80);
	assert_int_equal(first.own_cpu_ns, 99);
	assert_int_equal(first.gap_count, 11);
	assert_int_equal(first.dropped_records, 121);
	assert_int_equal(first.dropped_segments, 132);
	for (int i = 0; i < _COUNTER_MAX; i++)
		assert_int_equal(first.losses[i], 11 * (20 + i));
	(void)strcpy(second.gap_reason, "another");
	books_merge(&first, &second);
	assert_string_equal(first.gap_reason, "why");
	/* What has no records has no worst one, and takes any. */
	none.worst_residual_ns = 1000;
	books_merge(&first, &none);
	assert_int_equal(first.worst_residual_ns, -70);
	none.worst_residual_ns = 0;
	second.worst_residual_ns = 0;
	books_merge(&none, &second);
	assert_int_equal(none.worst_exec_ns, 80);
	assert_string_equal(none.gap_reason, "another");
}

FIXTURE_TEST(books_sum_gaps_and_keep_first_reason)
{
	struct totals *totals = *state;
	const struct books *books = &totals->books;

	add_gap(totals, 10, 1, "full\n");
	add_gap(totals, 5, 2, "old");
	assert_int_equal(books->gap_count, 2);
	assert_int_equal(books->dropped_records, 15);
	assert_int_equal(books->dropped_segments, 3);
	assert_string_equal(books->gap_reason, "full\\x0a");
	totals->books = (struct books){ 0 };
	add_gap(totals, 1, 0, NULL);
	add_gap(totals, 1, 0, "old");
	assert_string_equal(books->gap_reason, "not known");
}
