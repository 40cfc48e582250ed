/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/aggregate/sample_totals.h"
#include "reader/aggregate/series.h"

enum {
	START_S = 1700000000
};

#define S INT64_C(1000000000)

static struct totals totals;
static struct series series;

static int teardown(void **state)
{
	(void)state;
	series_deinit(&series);
	totals_deinit(&totals);
	return 0;
}

static void begin(const char *by, uint64_t step_ns)
{
	(void)teardown(NULL);
	assert_int_equal(totals_init(&totals, &by, 1), 0);
	grouping_split_over_time(&totals.groupings[0], step_ns);
}

/* Of the window that ends so many seconds after START_S. */
static void add(unsigned int end_s, int64_t window_ns, const char *request_id, const char *endpoint,
		int64_t cpu_ns)
{
	struct sample sample;

	sample_record(&sample,
		      "cpu pid=42 window_ns=%ld request_id=\"%s\" endpoint=\"%s\" cpu_ns=%ld",
		      window_ns, request_id, endpoint, cpu_ns);
	sample_set_time(&sample, START_S + end_s, 0);
	assert_int_equal(sample_add(&sample, &totals), 0);
}

static void make(uint64_t step_ns)
{
	assert_int_equal(totals_finish(&totals), 0);
	series_deinit(&series);
	assert_int_equal(series_init(&series, &totals, step_ns), 0);
}

static void expect_step(size_t index, int64_t start_s, int64_t cpu_ns, uint64_t request_count,
			size_t cells)
{
	const struct series_step *step = &series.steps[index];

	assert_true(index < series.step_count);
	assert_int_equal(step->span.start_ns, (START_S + start_s) * S);
	assert_int_equal(step->all.sums[COST_CPU], cpu_ns);
	assert_int_equal(step->request_count, request_count);
	assert_int_equal(step->cell_end - step->cell_begin, cells);
}

static void expect_cell(size_t index, size_t step, const char *key, int64_t cpu_ns, size_t line)
{
	const struct series_cell *cell = &series.cells[index];

	assert_true(index < series.cell_count);
	assert_int_equal(cell->step, step);
	assert_int_equal(cell->line, line);
	assert_true(record_text_is(grouping_label(cell->group, false), key));
	assert_int_equal(cell->costs.sums[COST_CPU], cpu_ns);
}

static void expect_line(size_t index, const char *key, int64_t cpu_ns, int64_t peak_ns,
			uint64_t request_count)
{
	const struct series_cell *line = &series.lines[index];

	assert_true(index < series.line_count);
	assert_true(record_text_is(grouping_label(line->group, false), key));
	assert_int_equal(line->costs.sums[COST_CPU], cpu_ns);
	assert_int_equal(line->peak_ns, peak_ns);
	assert_int_equal(line->request_count, request_count);
}

#define FIXTURE_TEST(test) TEST_WITH(test, NULL, teardown)

FIXTURE_TEST(series_puts_late_records_into_step_of_their_window)
{
	begin("endpoint", 0);
	add(2, S, "1", "b", 4);
	add(1, S, "2", "a", 1);
	add(1, S, "1", "b", 2);
	add(2, S, "", "", 8);
	add(2, S, "3", "", 16);
	add(2, S, "4", "b", 32);
	make(0);
	assert_int_equal(series.step_count, 2);
	/* A request is where its last record is, as they come. */
	expect_step(0, 0, 3, 2, 2);
	expect_step(1, 1, 60, 2, 2);
	assert_int_equal(series.steps[0].span.end_ns, (START_S + 1) * S);
	assert_int_equal(series.steps[1].unattributed.sums[COST_CPU], 8);
	assert_int_equal(series.steps[0].unattributed.record_count, 0);
	assert_int_equal(series.cell_count, 4);
	expect_cell(0, 0, "a", 1, 2);
	expect_cell(1, 0, "b", 2, 0);
	expect_cell(2, 1, "", 16, 1);
	expect_cell(3, 1, "b", 36, 0);
	assert_int_equal(series.line_count, 3);
	expect_line(0, "b", 38, 36, 2);
	expect_line(1, "", 16, 16, 1);
	expect_line(2, "a", 1, 1, 1);
}

FIXTURE_TEST(series_sorts_shorter_window_first_at_equal_start)
{
	begin("endpoint", 0);
	add(2, 2 * S, "1", "a", 1);
	add(1, S, "2", "a", 2);
	add(3, 3 * S, "3", "a", 4);
	make(0);
	assert_int_equal(series.step_count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(series.steps[i].span.end_ns, (START_S + 1 + (int64_t)i) * S);
	expect_step(0, 0, 2, 1, 1);
	expect_step(1, 0, 1, 1, 1);
	expect_step(2, 0, 4, 1, 1);
}

FIXTURE_TEST(series_places_window_by_its_middle)
{
	begin("endpoint", 10 * S);
	add(10, 2 * S, "1", "a", 1); /* 8 to 10 */
	add(11, 2 * S, "1", "a", 2); /* 9 to 11: it begins in the first */
	add(12, 5 * S, "1", "a", 4); /* 7 to 12 */
	add(20, S, "1", "a", 8);
	add(35, S, "1", "a", 16);
	make(0);
	assert_int_equal(series.step_count, 3);
	expect_step(0, 0, 5, 0, 1);
	expect_step(1, 10, 10, 0, 1);
	expect_step(2, 30, 16, 1, 1);
	assert_int_equal(series.steps[1].span.end_ns, (START_S + 20) * S);
}

FIXTURE_TEST(series_merges_into_longer_steps_without_loss)
{
	begin("endpoint", 0);
	for (unsigned int i = 1; i <= 25; i++)
		add(i, S, i % 2 ? "1" : "2", i % 2 ? "odd" : "even", 1 << (i % 10));
	make(0);
	assert_int_equal(series.step_count, 25);
	make(10 * S);
	assert_int_equal(series.step_count, 3);
	expect_step(0, 0, 1023, 0, 2);
	expect_step(1, 10, 1023, 0, 2);
	expect_step(2, 20, 62, 2, 2);
	assert_int_equal(series.cell_count, 6);
	expect_line(0, "odd", 2 * 682 + 42, 682, 1);
	expect_line(1, "even", 2 * 341 + 20, 341, 1);
}

FIXTURE_TEST(series_splits_costs_of_late_key_by_step)
{
	begin("endpoint", 0);
	add(1, S, "1", "", 1);
	add(2, S, "1", "", 2);
	add(3, S, "1", "a", 4);
	make(0);
	assert_int_equal(series.line_count, 1);
	expect_cell(0, 0, "a", 1, 0);
	expect_cell(1, 1, "a", 2, 0);
	expect_cell(2, 2, "a", 4, 0);
}

FIXTURE_TEST(series_puts_records_held_by_filter_into_their_step)
{
	begin("endpoint", 0);
	assert_int_equal(filter_add(&totals.selection.filter, "endpoint=a"), 0);
	add(1, S, "1", "", 1);
	add(2, S, "1", "a", 2);
	make(0);
	assert_int_equal(series.step_count, 2);
	expect_step(0, 0, 1, 0, 1);
	expect_step(1, 1, 2, 1, 1);
}

FIXTURE_TEST(series_groups_exclude_overflow_and_unknown)
{
	begin("endpoint", 0);
	sample_add_record(&totals, "cpu pid=42 endpoint= cpu_ns=1 flags=[overflow]");
	sample_add_record(&totals, "cpu pid=42 endpoint= cpu_ns=2 flags=[unknown]");
	sample_add_record(&totals, "cpu pid=42 endpoint=a cpu_ns=4 flags=[inherited]");
	make(0);
	assert_int_equal(series.step_count, 1);
	assert_int_equal(series.steps[0].overflow.sums[COST_CPU], 1);
	assert_int_equal(series.steps[0].unattributed.sums[COST_CPU], 2);
	assert_int_equal(series.cell_count, 1);
	expect_cell(0, 0, "a", 4, 0);
}

FIXTURE_TEST(series_chooses_round_step_length)
{
	static const struct {
		unsigned int windows;
		size_t steps_max;
		uint64_t step_s;
	} cases[] = {
		{ 60, 60, 0 },	 { 61, 60, 2 },	    { 118, 60, 2 }, { 120, 60, 5 },
		{ 700, 60, 15 }, { 3600, 60, 120 }, { 10, 9, 2 },
	};
	static const unsigned int lengths[] = { 5,   10,   15,	 30,   60,    120,   300,   600,
						900, 1800, 3600, 7200, 10800, 21600, 43200, 86400 };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin("endpoint", 0);
		for (unsigned int window = 1; window <= cases[i].windows; window++)
			add(window, S, "1", "a", 1);
		make(0);
		assert_int_equal(series_choose_step(&series, cases[i].steps_max),
				 cases[i].step_s * (uint64_t)S);
		if (cases[i].step_s == 0)
			continue;
		make(cases[i].step_s * (uint64_t)S);
		assert_true(series.step_count <= cases[i].steps_max);
	}
	/* Each length that there is fits what lasts as long, and nothing longer. */
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		for (unsigned int longer = 0; longer <= 1; longer++) {
			begin("endpoint", 0);
			add(1, S, "1", "a", 1);
			add(2, S, "1", "a", 1);
			add(lengths[i] + longer, S, "1", "a", 1);
			make(0);
			assert_true((series_choose_step(&series, 2) == lengths[i] * (uint64_t)S) ==
				    !longer);
		}
	}
	begin("endpoint", 0);
	add(1, S, "1", "a", 1);
	add(2, S, "1", "a", 1);
	add(1000000000, S, "1", "a", 1);
	make(0);
	assert_true(series_choose_step(&series, 2) > 86400 * (uint64_t)S);
}

FIXTURE_TEST(series_has_no_steps_without_records)
{
	begin("endpoint", 0);
	make(0);
	assert_int_equal(series.step_count, 0);
	assert_int_equal(series.line_count, 0);
	assert_int_equal(series_choose_step(&series, 60), 0);
}

FIXTURE_TEST(series_returns_enomem_without_memory)
{
	begin("endpoint", 0);
	add(1, S, "1", "a", 1);
	assert_int_equal(totals_finish(&totals), 0);
	assert_each_allocation_can_fail(series_init(&series, &totals, 0), (void)0);
}
