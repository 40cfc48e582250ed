/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>

#include "failing_memory.h"
#include "report/format_diff.h"
#include "report/sample_totals.h"

enum {
	TRIALS = 200,
	REQUESTS = 400,
};

static struct totals before, after;
static struct diff diff;
static const char *const by = "endpoint";

static int setup(void **state)
{
	(void)state;
	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return -1;
	return totals_init(&before, &by, 1) < 0 ? -1 : totals_init(&after, &by, 1);
}

static int teardown(void **state)
{
	(void)state;
	diff_deinit(&diff);
	totals_deinit(&before);
	totals_deinit(&after);
	return 0;
}

static void begin(void)
{
	(void)teardown(NULL);
	assert_int_equal(setup(NULL), 0);
}

/* A request from its first activity to its last. */
static void add(struct totals *totals, const char *endpoint, int64_t cpu_ns, int64_t wall_ns)
{
	static int number;
	struct sample sample;
	char id[16];

	(void)snprintf(id, sizeof(id), "%d", ++number);
	sample_begin(&sample, "cpu", 42);
	sample_text(&sample, "request_id", id);
	sample_text(&sample, "endpoint", endpoint);
	sample_number(&sample, "cpu_ns", cpu_ns);
	sample_number(&sample, "first_ns", 1000);
	sample_number(&sample, "last_ns", 1000 + wall_ns);
	assert_int_equal(sample_add(&sample, totals), 0);
}

static void compare(void)
{
	assert_int_equal(totals_finish(&before), 0);
	assert_int_equal(totals_finish(&after), 0);
	assert_int_equal(diff_init(&diff, &before, &after), 0);
}

static const struct diff_row *find(const char *key)
{
	for (size_t i = 0; i + 1 < diff.row_count; i++) {
		const struct diff_row *row = &diff.rows[i];
		const struct group *group =
			row->before.group ? row->before.group : row->after.group;

		if (record_text_is(grouping_label(group, false), key))
			return row;
	}
	fail_msg("no row of %s", key);
	return NULL;
}

static void each_endpoint_is_beside_itself(void **state)
{
	const struct diff_row *row;

	(void)state;
	add(&before, "a", 10, 1);
	add(&before, "b", 20, 2);
	add(&before, "b", 30, 4);
	add(&before, "d", 5, 1);
	add(&after, "b", 50, 9);
	add(&after, "c", 70, 7);
	compare();
	assert_int_equal(diff.row_count, 5);
	row = find("b");
	assert_int_equal(row->before.request_count, 2);
	assert_int_equal(row->after.request_count, 1);
	assert_int_equal(row->before.costs->sums[COST_CPU], 50);
	assert_true(row->figures[DIFF_CPU_MEAN].is_known);
	assert_int_equal(row->figures[DIFF_CPU_MEAN].before_ns, 25);
	assert_int_equal(row->figures[DIFF_CPU_MEAN].after_ns, 50);
	assert_int_equal(row->figures[DIFF_CPU_P99].before_ns, 30);
	assert_int_equal(row->figures[DIFF_WALL_MEAN].before_ns, 3);
	assert_int_equal(row->figures[DIFF_WALL_P99].before_ns, 4);
	assert_int_equal(row->figures[DIFF_WALL_P99].after_ns, 9);
	assert_false(row->figures[DIFF_CPU_MEAN].is_tested);
	assert_null(find("a")->after.costs);
	assert_null(find("c")->before.group);
	assert_false(find("c")->figures[DIFF_CPU_MEAN].is_known);
	/* By CPU: b 100, c 70, a 10, d 5; and all. */
	assert_ptr_equal(find("b"), &diff.rows[0]);
	assert_ptr_equal(find("c"), &diff.rows[1]);
	assert_ptr_equal(find("a"), &diff.rows[2]);
	assert_ptr_equal(find("d"), &diff.rows[3]);
	row = &diff.rows[4];
	assert_null(row->before.group);
	assert_int_equal(row->before.request_count, 4);
	assert_int_equal(row->after.request_count, 2);
	assert_int_equal(row->figures[DIFF_CPU_MEAN].before_ns, 16);
	assert_int_equal(diff.tested_count, 0);
	assert_int_equal(diff.changed_count, 0);
}

static void what_changed_comes_first_and_what_did_not_is_no_change(void **state)
{
	const struct diff_row *row;

	(void)state;
	for (int i = 0; i < 20; i++) {
		add(&before, "much", 1000 + i, 100 + i);
		add(&after, "much", 1000 + i, 100 + i);
		add(&before, "less", 20 + i, 100 + i);
		add(&after, "less", 1 + i, 100 + i);
	}
	compare();
	row = &diff.rows[0];
	assert_ptr_equal(row, find("less"));
	assert_true(row->figures[DIFF_CPU_MEAN].is_tested);
	assert_true(diff_has_changed(&row->figures[DIFF_CPU_MEAN]));
	assert_true(row->figures[DIFF_CPU_MEAN].difference.value == -19);
	assert_true(row->figures[DIFF_CPU_MEAN].corrected >=
		    row->figures[DIFF_CPU_MEAN].difference.probability * 5);
	assert_false(diff_has_changed(&row->figures[DIFF_WALL_MEAN]));
	assert_false(row->figures[DIFF_CPU_P99].is_tested);
	assert_false(diff_has_changed(&find("much")->figures[DIFF_CPU_MEAN]));
	/* Two means of each, and of all. */
	assert_int_equal(diff.tested_count, 6);
	assert_int_equal(diff.changed_count, 1);
	assert_string_equal(diff_name(DIFF_CPU_MEAN), "cpu_mean");
	assert_string_equal(diff_name(DIFF_WALL_P99), "wall_p99");
}

/* Uniform, above 0 and below 1. */
static double draw(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return ((double)(*seed >> 11) + 0.5) / 9007199254740992.0;
}

static double draw_factor(uint64_t *seed)
{
	return exp(0.5 * sqrt(-2 * log(draw(seed))) * cos(2 * M_PI * draw(seed)));
}

static void put(struct distribution *requests, enum figure figure, int64_t value)
{
	assert_int_equal(histogram_add(&requests->figures[figure], value), 0);
}

/* Requests of both endpoints, whose wall time is mostly that of their CPU: figures depend on each
 * other, as they do. Straight into the histograms, which takes no time. */
static void draw_requests(struct totals *totals, uint64_t *seed, double cpu_factor)
{
	struct grouping *grouping = &totals->groupings[0];

	add(totals, "a", 1000000, 2000000);
	add(totals, "b", 1000000, 2000000);
	assert_int_equal(totals_finish(totals), 0);
	for (struct group *group = grouping->groups; group; group = group->hh.next) {
		for (int i = 1; i < REQUESTS; i++) {
			double cpu = 1e6 * draw_factor(seed), wait = 1e6 * draw_factor(seed);

			group->request_count++;
			grouping->request_count++;
			put(group->requests, FIGURE_CPU, (int64_t)(cpu * cpu_factor));
			put(&grouping->requests, FIGURE_CPU, (int64_t)(cpu * cpu_factor));
			put(group->requests, FIGURE_WALL, (int64_t)(cpu + wait));
			put(&grouping->requests, FIGURE_WALL, (int64_t)(cpu + wait));
		}
	}
}

/* In how many trials something is said to have changed, and in how many CPU alone, up. */
static void count_changes(double cpu_factor, int *ret_any, int *ret_cpu)
{
	uint64_t seed = 20261122;

	*ret_any = *ret_cpu = 0;
	for (int i = 0; i < TRIALS; i++) {
		bool is_cpu = true;

		begin();
		draw_requests(&before, &seed, 1);
		draw_requests(&after, &seed, cpu_factor);
		compare();
		assert_int_equal(diff.tested_count, 12);
		for (size_t row = 0; row < diff.row_count; row++) {
			const struct diff_figure *figures = diff.rows[row].figures;

			is_cpu &= diff_has_changed(&figures[DIFF_CPU_MEAN]) &&
				  figures[DIFF_CPU_MEAN].difference.value > 0 &&
				  !diff_has_changed(&figures[DIFF_WALL_MEAN]) &&
				  !diff_has_changed(&figures[DIFF_WALL_P99]);
		}
		*ret_any += diff.changed_count > 0;
		*ret_cpu += is_cpu;
	}
	print_message("factor %g: %d of %d changed, CPU up in %d\n", cpu_factor, *ret_any, TRIALS,
		      *ret_cpu);
}

/* At most 5 % of 200, and by chance up to 19 (three standard deviations); none at all would be no
 * test. */
static void recordings_of_the_same_do_not_differ(void **state)
{
	int any, cpu;

	(void)state;
	count_changes(1, &any, &cpu);
	assert_true(any >= 1 && any <= 19);
	assert_int_equal(cpu, 0);
}

static void a_fifth_more_cpu_is_found(void **state)
{
	int any, cpu;

	(void)state;
	count_changes(1.2, &any, &cpu);
	assert_int_equal(any, TRIALS);
	assert_true(cpu >= TRIALS * 90 / 100);
}

static char *print(int (*format)(const struct diff *, const struct format_options *, FILE *),
		   size_t top_count, size_t width)
{
	static const struct format_file files[] = {
		{ .name = "monday.rec", .entry_count = 12 },
		{ .name = "tuesday\033.rec",
		  .entry_count = 34,
		  .damaged_places = 1,
		  .damaged_bytes = 5 },
	};
	const struct format_options options = {
		.top_count = top_count, .width = width, .files = files, .file_count = 2
	};
	size_t size_bytes = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &size_bytes);

	assert_non_null(out);
	assert_int_equal(format(&diff, &options, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void expect_in(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void people_read_what_changed_by_how_much_and_how_sure_it_is(void **state)
{
	char *text;

	(void)state;
	for (int i = 0; i < 500; i++) {
		add(&before, "GET /\033", 100000 + i, 100000 + 7 * i);
		add(&after, "GET /\033", 120000 + i, 100000 + 7 * i);
	}
	add(&before, "old", 5, 5);
	add(&after, "new", 5, 5);
	compare();
	text = print(format_diff_table, 0, 120);
	expect_in(text, "before  monday.rec: 501 requests in");
	expect_in(text, "after   tuesday\\x1b.rec: 501 requests in");
	expect_in(text, "DAMAGED: not all of it");
	expect_in(text, "GET /\\x1b     500 → 500  cpu mean   100.2 us  120.2 us  +20.0 %  "
			"+19.9 to +20.0 %  MORE");
	expect_in(text, "wall mean  101.7 us  101.7 us   +0.0 %    -0.1 to +0.1 %  "
			"no significant change");
	/* In one line: there is nothing to compare. */
	expect_in(text, "\nnew               0 → 1  -                 -         -        -"
			"                 -  new                  \nold ");
	expect_in(text, "\nold               1 → 0  -                 -         -        -"
			"                 -  gone                 \n─");
	expect_in(text, "all requests");
	expect_in(text, "4 of 8 figures changed significantly, at 95 % for all of them together");
	expect_in(text, "The intervals are of 95 % each");
	free(text);
	text = print(format_diff_table, 1, 120);
	expect_in(text, "… 2 more\n");
	assert_null(strstr(text, "gone"));
	free(text);
	text = print(format_diff_json, 0, 100);
	expect_in(text,
		  "{\"by\":\"endpoint\",\n\"before\":{\"name\":\"monday.rec\",\"records\":12,");
	expect_in(text, "\"cpu_mean\":{\"before_ns\":100249,\"after_ns\":120249,"
			"\"change_ns\":20000.0,\"low_ns\":");
	expect_in(text, "\"changed\":true}");
	expect_in(text, "{\"key\":\"new\",\"after\":{\"requests\":1,\"cpu_ns\":5}}");
	expect_in(text, "\"tested\":8,\"changed\":4}\n");
	free(text);
	text = print(format_diff_json, 1, 100);
	assert_null(strstr(text, "\"new\""));
	free(text);
}

static void of_few_requests_it_says_so(void **state)
{
	char *text;

	(void)state;
	add(&before, "a", 5, 5);
	add(&after, "a", 6, 5);
	compare();
	text = print(format_diff_table, 0, 120);
	expect_in(text, "cpu mean     5 ns   6 ns  +20.0 %              -  too few requests");
	expect_in(text, "wall mean    5 ns   5 ns   +0.0 %              -  equal");
	expect_in(text, "nothing to compare: too few requests with a request_id");
	free(text);
}

static void no_significant_change_is_said(void **state)
{
	char *text;

	(void)state;
	for (int i = 0; i < 20; i++) {
		add(&before, "a", 100 + i, 10 + i);
		add(&after, "a", 101 + i, 10 + i);
	}
	compare();
	text = print(format_diff_table, 0, 120);
	expect_in(text, "\nno significant change in 4 figures, at 95 %\n");
	free(text);
}

static void without_memory_it_says_so(void **state)
{
	int r = -ENOMEM;

	(void)state;
	for (int i = 0; i < 400; i++) {
		add(&before, "a", i, i);
		add(&after, "a", i, i);
	}
	assert_int_equal(totals_finish(&before), 0);
	assert_int_equal(totals_finish(&after), 0);
	for (size_t given = 0; r < 0; given++) {
		memory_fails_after(given);
		r = diff_init(&diff, &before, &after);
		memory_never_fails();
		assert_true(r == 0 || r == -ENOMEM);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_endpoint_is_beside_itself),
		TEST(what_changed_comes_first_and_what_did_not_is_no_change),
		TEST(recordings_of_the_same_do_not_differ),
		TEST(a_fifth_more_cpu_is_found),
		TEST(people_read_what_changed_by_how_much_and_how_sure_it_is),
		TEST(of_few_requests_it_says_so),
		TEST(no_significant_change_is_said),
		TEST(without_memory_it_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
