/* SPDX-License-Identifier: GPL-2.0-only */
/* What a record adds to sums is the same when it is written and when it was read back. */
#include <stdbool.h>

#include "unit_test.h"

#include "figures/costs.h"
#include "record/record_encode.h"
#include "record/sample.h"

/* Whether the wall time of such a cpu record is not known. */
static bool lacks_span(int64_t first_ns, int64_t last_ns)
{
	struct sample sample;
	struct record_view view;
	struct costs costs;

	sample_record(&sample, "cpu pid=7");
	if (first_ns >= 0)
		sample_fields(&sample, "first_ns=%ld", first_ns);
	if (last_ns >= 0)
		sample_fields(&sample, "last_ns=%ld", last_ns);
	sample_decode(&sample, &view);
	costs = costs_of_record(&view);
	msgpack_sbuffer_destroy(&sample.buffer);
	return costs.lacks_span;
}

TEST(costs_reject_missing_or_reversed_span)
{
	assert_false(lacks_span(5, 6));
	assert_false(lacks_span(5, 5));
	assert_true(lacks_span(6, 5));
	assert_true(lacks_span(-1, 5));
	assert_true(lacks_span(5, -1));
}

TEST(costs_add_up_to_the_whole_span)
{
	static const struct cpu_record records[] = { { .first_ns = 500, .last_ns = 600 },
						     { .first_ns = 300, .last_ns = 400 },
						     { .first_ns = 550, .last_ns = 700 } };
	struct costs sum = { 0 };
	int64_t wall_ns;

	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		const struct costs costs = costs_of_written(&records[i]);

		costs_add(&sum, &costs);
		assert_int_equal(sum.first_ns, i == 0 ? 500 : 300);
	}
	assert_true(costs_wall_ns(&sum, &wall_ns));
	assert_int_equal(wall_ns, 400);
	/* Nothing changes them that has no records. */
	costs_add(&sum, &(struct costs){ 0 });
	assert_int_equal(sum.first_ns, 300);
}

static struct costs costs_that(uint64_t cpu_ns, uint64_t blocked_ns, uint64_t lock_ns)
{
	return costs_of_written(&(struct cpu_record){
		.cpu_ns = cpu_ns, .blocked_ns = blocked_ns, .blocked_futex_ns = lock_ns });
}

TEST(costs_count_waits_for_locks_as_no_io)
{
	struct costs costs = costs_that(25, 110, 35);
	double value;

	assert_true(costs_io_percent(&costs, &value));
	assert_true(value == 75);
	assert_true(costs_usable_threads(&costs, &value));
	assert_true(value == 4);
	costs = costs_that(25, 35, 35);
	assert_true(costs_io_percent(&costs, &value) && value == 0);
	assert_true(costs_usable_threads(&costs, &value) && value == 1);
	/* Such a record is forged. */
	costs = costs_that(25, 35, 36);
	assert_true(costs_usable_threads(&costs, &value) && value == 1);
}

TEST(costs_without_cpu_or_reasons_tell_no_threads)
{
	struct costs costs = costs_that(0, 8, 1);
	double value;

	assert_true(costs_io_percent(&costs, &value) && value == 100);
	assert_false(costs_usable_threads(&costs, &value));
	costs = costs_that(0, 0, 0);
	assert_false(costs_io_percent(&costs, &value));
	/* Blocked, but on nothing: reasons were not recorded. */
	costs = costs_that(5, 8, 0);
	assert_false(costs_io_percent(&costs, &value));
	assert_false(costs_usable_threads(&costs, &value));
}

static const struct cpu_record whole = {
	.common = { .wall_ns = 1600000000000000000, .record_id = "1", .host_name = "h", .pid = 1 },
	.tid = 1,
	.has_kernel_split = true,
	.cpu_ns = 30,
	.user_ns = 20,
	.kernel_ns = 10,
	.split_error_ns = 3,
	.run_queue_ns = 4,
	.blocked_ns = 5,
	.uninterruptible_ns = 2,
	.stolen_ns = 6,
	.ambiguous_ns = 7,
	.slices = 11,
	.switches_voluntary = 8,
	.switches_involuntary = 9,
	.migrations = 12,
	.has_syscalls = true,
	.syscalls = 13,
	.blocked_disk_ns = 2,
	.blocked_futex_ns = 3,
	.has_gvl = true,
	.gvl_ns = 14,
	.gvl_waits = 15,
	.has_gc = true,
	.gc_ns = 16,
	.gc_runs = 17,
	.first_ns = 100,
	.last_ns = 160,
};

static const int64_t not_measured = -1;

/* By enum cost. */
static void expect(const struct costs *costs, const int64_t sums[_COST_MAX], int64_t wall_ns)
{
	int64_t wall = not_measured;

	for (int cost = 0; cost < _COST_MAX; cost++) {
		assert_int_equal(costs_has(costs, (enum cost)cost), sums[cost] != not_measured);
		if (sums[cost] != not_measured)
			assert_true(costs->sums[cost] == sums[cost]);
	}
	assert_int_equal(costs_wall_ns(costs, &wall), wall_ns != not_measured);
	assert_true(wall == wall_ns);
	assert_int_equal(costs->record_count, 1);
}

static int64_t children_ns(const struct cpu_record *record)
{
	return record->flags & CPU_RECORD_INHERITED_BY_EXEC ? (int64_t)record->cpu_ns : 0;
}

static void expect_both(const struct cpu_record *record, const int64_t sums[_COST_MAX],
			int64_t wall_ns)
{
	struct record_encoder *encoder = record_encoder_new();
	struct cpu_record copy = *record;
	struct record_view view;
	struct costs costs;
	size_t size_bytes;
	const void *bytes;

	assert_non_null(encoder);
	assert_int_equal(record_encode_kind(encoder, RECORD_KIND_CPU, &copy), 0);
	bytes = record_encoder_bytes(encoder, &size_bytes);
	assert_int_equal(record_view_decode(bytes, size_bytes, &view), 0);
	costs = costs_of_written(record);
	expect(&costs, sums, wall_ns);
	assert_int_equal(costs.children_ns, children_ns(record));
	costs = costs_of_record(&view);
	expect(&costs, sums, wall_ns);
	assert_int_equal(costs.children_ns, children_ns(record));
	record_encoder_free(encoder);
}

#define ALL_SUMS                                                                            \
	[COST_CPU] = 30, [COST_USER] = 20, [COST_KERNEL] = 10, [COST_RUN_QUEUE] = 4,        \
	[COST_BLOCKED] = 5, [COST_SLICES] = 11, [COST_SWITCHES] = 17, [COST_AMBIGUOUS] = 7, \
	[COST_MIGRATIONS] = 12, [COST_STOLEN] = 6, [COST_SPLIT_ERROR] = 3,                  \
	[COST_UNINTERRUPTIBLE] = 2, [COST_SYSCALLS] = 13, [COST_BLOCKED_DISK] = 2,          \
	[COST_BLOCKED_FUTEX] = 3, [COST_GVL] = 14, [COST_GVL_WAITS] = 15, [COST_GC] = 16,   \
	[COST_GC_RUNS] = 17

TEST(costs_copy_each_field_of_record)
{
	static const int64_t sums[_COST_MAX] = { ALL_SUMS };

	expect_both(&whole, sums, 60);
}

TEST(costs_times_exclude_clock_adjustment)
{
	struct cpu_record record = whole;
	struct costs costs;

	record.common.clock_set_ns = 7;
	costs = costs_of_written(&record);
	assert_int_equal(costs.first_ns, whole.first_ns - 7);
	assert_int_equal(costs.last_ns, whole.last_ns - 7);
}

TEST(costs_include_cpu_of_children_in_total)
{
	static const int64_t sums[_COST_MAX] = { ALL_SUMS };
	struct cpu_record record = whole;
	struct costs costs = { 0 }, one;

	record.flags = CPU_RECORD_INHERITED_BY_EXEC | CPU_RECORD_INHERITED;
	expect_both(&record, sums, 60);
	one = costs_of_written(&record);
	costs_add(&costs, &one);
	costs_add(&costs, &one);
	one = costs_of_written(&whole);
	costs_add(&costs, &one);
	assert_int_equal(costs.children_ns, 60);
	assert_int_equal(costs.sums[COST_CPU], 90);
}

TEST(costs_distinguish_unmeasured_from_zero)
{
	int64_t sums[_COST_MAX] = { ALL_SUMS };
	struct cpu_record record = whole;

	record.last_ns = 99;
	expect_both(&record, sums, not_measured);
	record.first_ns = record.last_ns;
	expect_both(&record, sums, 0);
	record.has_gvl = false;
	sums[COST_GVL] = sums[COST_GVL_WAITS] = not_measured;
	expect_both(&record, sums, 0);
	record.has_gc = false;
	sums[COST_GC] = sums[COST_GC_RUNS] = not_measured;
	expect_both(&record, sums, 0);
	record.has_syscalls = false;
	sums[COST_SYSCALLS] = not_measured;
	expect_both(&record, sums, 0);
	record.has_kernel_split = false;
	sums[COST_USER] = sums[COST_KERNEL] = sums[COST_SPLIT_ERROR] = not_measured;
	expect_both(&record, sums, 0);
}

/* Of a recording that was made before there were reasons, and of one that has them. */
TEST(costs_blocked_reasons_are_zero_only_if_measured)
{
	int64_t sums[_COST_MAX] = { ALL_SUMS };
	struct cpu_record record = whole;

	record.blocked_disk_ns = record.blocked_futex_ns = 0;
	for (uint32_t reason = 0; reason < _BLOCKED_REASON_MAX; reason++)
		sums[costs_blocked_on(reason)] = not_measured;
	expect_both(&record, sums, 60);
	/* Of who was never asleep it is known. */
	record.blocked_ns = 0;
	sums[COST_BLOCKED] = 0;
	for (uint32_t reason = 0; reason < _BLOCKED_REASON_MAX; reason++)
		sums[costs_blocked_on(reason)] = 0;
	expect_both(&record, sums, 60);
	record.blocked_ns = record.blocked_other_ns = 5;
	sums[COST_BLOCKED] = sums[COST_BLOCKED_OTHER] = 5;
	expect_both(&record, sums, 60);
}

TEST(costs_find_dominant_blocked_reason)
{
	struct costs costs = { .sums = { [COST_BLOCKED] = 10 } };

	assert_int_equal(costs_most_blocked_on(&costs), BLOCKED_ON_OTHER);
	for (uint32_t reason = 0; reason < _BLOCKED_REASON_MAX; reason++) {
		costs.sums[costs_blocked_on(reason)] = 3 + (int64_t)reason;
		assert_int_equal(costs_most_blocked_on(&costs), reason);
	}
	costs.sums[COST_BLOCKED_OTHER] = 100;
	assert_int_equal(costs_most_blocked_on(&costs), BLOCKED_ON_OTHER);
	costs.missing = 1U << COST_BLOCKED_OTHER;
	assert_int_equal(costs_most_blocked_on(&costs), -1);
}

TEST(costs_saturate_values_out_of_range)
{
	int64_t sums[_COST_MAX] = { ALL_SUMS };
	struct cpu_record record = whole;

	record.cpu_ns = UINT64_MAX;
	record.blocked_ns = (uint64_t)INT64_MAX + 1;
	record.run_queue_ns = INT64_MAX;
	record.switches_voluntary = INT64_MAX - 1;
	sums[COST_CPU] = sums[COST_BLOCKED] = sums[COST_RUN_QUEUE] = sums[COST_SWITCHES] =
		INT64_MAX;
	expect_both(&record, sums, 60);
}

TEST(costs_add_merges_spans_and_missing_fields)
{
	struct costs sum = { 0 };
	struct costs early = { .record_count = 1, .first_ns = 5, .last_ns = 7 };
	struct costs late = { .record_count = 1, .first_ns = 6, .last_ns = 20 };
	int64_t ns;

	assert_false(costs_wall_ns(&sum, &ns));
	early.sums[COST_CPU] = INT64_MAX - 1;
	late.sums[COST_CPU] = 3;
	late.missing = 1U << COST_KERNEL;
	costs_add(&sum, &late);
	costs_add(&sum, &early);
	assert_true(costs_wall_ns(&sum, &ns));
	assert_int_equal(ns, 15);
	assert_true(costs_has(&sum, COST_CPU));
	assert_true(sum.sums[COST_CPU] == INT64_MAX);
	assert_false(costs_has(&sum, COST_KERNEL));
	assert_int_equal(sum.record_count, 2);
	/* One of nothing. */
	costs_add(&sum, &(struct costs){ 0 });
	assert_true(costs_wall_ns(&sum, &ns));
	assert_int_equal(ns, 15);
}
