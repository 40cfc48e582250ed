/* SPDX-License-Identifier: GPL-2.0-only */
/* What programs get, of figures that are set and not added up; read back with the same library. */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "unit_test.h"
#include <jansson.h>

#include "failing_memory.h"
#include "reader/aggregate/sample_totals.h"
#include "reader/report/formats.h"

static struct totals totals;
static struct input_file files[2];
static struct view_options options;
static char *text;
static json_t *printed;

static int setup(void **state)
{
	(void)state;
	memset(files, 0, sizeof(files));
	options = (struct view_options){
		.sort = FIGURE_CPU, .width = 100, .files = files, .file_count = 2
	};
	files[0] = (struct input_file){ .name = "one.rec", .entry_count = 7 };
	files[1] = (struct input_file){ .name = "two.rec", .entry_count = 1 };
	return totals_init(&totals, NULL, 2);
}

static int teardown(void **state)
{
	(void)state;
	totals_deinit(&totals);
	json_decref(printed);
	free(text);
	text = NULL;
	printed = NULL;
	return 0;
}

static int try_print(void)
{
	size_t size_bytes = 0;
	FILE *out;
	int r;

	free(text);
	out = open_memstream(&text, &size_bytes);
	assert_non_null(out);
	r = print_json(&totals, &options, out);
	assert_int_equal(fclose(out), 0);
	return r;
}

static void print(void)
{
	json_error_t error;

	assert_int_equal(try_print(), 0);
	json_decref(printed);
	printed = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	if (!printed)
		fail_msg("%s: %s", error.text, text);
}

static const json_t *member(const char *part, const char *name)
{
	return json_object_get(json_object_get(printed, part), name);
}

static void expect_number(const json_t *object, const char *name, int64_t number)
{
	const json_t *value = json_object_get(object, name);

	if (!json_is_integer(value) || json_integer_value(value) != number)
		fail_msg("%s is not %lld in %s", name, (long long)number, text);
}

static void expect_text(const json_t *object, const char *name, const char *expected)
{
	const char *value = json_string_value(json_object_get(object, name));

	if (!value || strcmp(value, expected) != 0)
		fail_msg("%s is not %s in %s", name, expected, text);
}

static void expect_none(const json_t *object, const char *name)
{
	if (!object || json_object_get(object, name))
		fail_msg("%s in %s", name, text);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(json_contains_all_books_figures)
{
	const json_t *books;

	totals.books = (struct books){
		.balance_count = 1,
		.exec_ns = 1000,
		.attributed_ns = 600,
		.unattributed_ns = 300,
		.overflow_ns = 50,
		.worst_residual_ns = -7,
		.worst_exec_ns = 70,
		.own_cpu_ns = 12,
		.sampled_count = 1,
		.sampled_exec_ns = 1000,
		.samples = 9,
		.sampled_ns = 900,
	};
	for (int i = 0; i < _COUNTER_MAX; i++)
		totals.books.losses[i] = 100 + i;
	print();
	books = json_object_get(printed, "books");
	expect_number(books, "exec_ns", 1000);
	expect_number(books, "attributed_ns", 600);
	expect_number(books, "unattributed_ns", 300);
	expect_number(books, "overflow_ns", 50);
	expect_number(books, "residual_ns", 50);
	assert_true(json_real_value(json_object_get(books, "residual_ppm")) > 49999.9);
	assert_true(json_real_value(json_object_get(books, "residual_ppm")) < 50000.1);
	expect_number(books, "worst_residual_ns", -7);
	expect_number(books, "worst_exec_ns", 70);
	expect_number(books, "own_cpu_ns", 12);
	expect_number(books, "samples", 9);
	expect_number(books, "sampled_ns", 900);
	assert_true(json_real_value(json_object_get(books, "sampled_ratio")) == 0.9);
	assert_true(json_is_false(json_object_get(books, "balanced")));
	assert_true(json_is_false(json_object_get(books, "matches_records")));
	assert_int_equal(json_object_size(json_object_get(books, "losses")), _COUNTER_MAX);
	for (int i = 0; i < _COUNTER_MAX; i++)
		expect_number(json_object_get(books, "losses"), books_loss_name((enum counter)i),
			      100 + i);
	expect_none(books, "dropped_records");
}

FIXTURE_TEST(json_omits_books_figures_without_records)
{
	print();
	assert_int_equal(json_object_size(json_object_get(printed, "books")), 1);
	assert_int_equal(json_object_size(member("books", "losses")), 0);
	assert_null(json_object_get(printed, "inherited"));
	assert_null(json_object_get(printed, "own_cost"));
	assert_int_equal(json_array_size(json_object_get(printed, "rows")), 0);
	totals.books.gap_count = 1;
	totals.books.dropped_records = 5;
	totals.books.dropped_segments = 2;
	print();
	expect_number(json_object_get(printed, "books"), "dropped_records", 5);
	expect_number(json_object_get(printed, "books"), "dropped_segments", 2);
	expect_none(json_object_get(printed, "books"), "exec_ns");
}

FIXTURE_TEST(json_omits_residual_ppm_without_exec_time)
{
	totals.books.balance_count = 1;
	print();
	expect_none(json_object_get(printed, "books"), "residual_ppm");
	expect_none(json_object_get(printed, "books"), "samples");
	expect_none(json_object_get(printed, "books"), "sampled_ratio");
	assert_true(json_is_true(member("books", "balanced")));
	assert_true(json_is_true(member("books", "matches_records")));
}

FIXTURE_TEST(json_own_cost_contains_only_measured_figures)
{
	struct self_cost *own = &totals.self_cost;
	const json_t *cost, *programs;

	*own = (struct self_cost){ .record_count = 1, .cpu_ns = 9 };
	print();
	cost = json_object_get(printed, "own_cost");
	expect_number(cost, "cpu_ns", 9);
	assert_int_equal(json_object_size(cost), 1);
	own->rss_bytes_max = 1;
	own->fills[SELF_COST_MAP_CONTEXTS] = (struct self_cost_fill){ .used = 3, .limit = 1 };
	own->fills[SELF_COST_MAP_PROCESSES] = (struct self_cost_fill){ .used = 4, .limit = 5 };
	own->has_programs = true;
	own->run_ns = 77;
	own->programs_measured_ns = 78;
	own->programs_samples = 1;
	(void)strcpy(own->programs_error, "\x1b");
	own->program_count = 2;
	own->programs[0] = (struct self_cost_program){ "on_switch", 10, 20 };
	own->programs[1] = (struct self_cost_program){ "on_exit", 30, 40 };
	print();
	cost = json_object_get(printed, "own_cost");
	expect_number(cost, "rss_bytes_max", 1);
	expect_number(json_object_get(cost, "contexts"), "used_max", 3);
	expect_number(json_object_get(cost, "contexts"), "limit", 1);
	expect_number(json_object_get(cost, "processes"), "used_max", 4);
	expect_none(cost, "accounts");
	expect_number(cost, "programs_run_ns", 77);
	expect_number(cost, "programs_measured_ns", 78);
	expect_number(cost, "programs_samples", 1);
	expect_text(cost, "programs_error", "\\x1b");
	programs = json_object_get(cost, "programs");
	assert_int_equal(json_array_size(programs), 2);
	expect_text(json_array_get(programs, 0), "name", "on_switch");
	expect_number(json_array_get(programs, 0), "runs", 10);
	expect_number(json_array_get(programs, 0), "run_ns", 20);
	expect_text(json_array_get(programs, 1), "name", "on_exit");
}

FIXTURE_TEST(json_meta_lists_modes_with_times_if_several)
{
	struct recording *recording = &totals.selection.recording;
	const json_t *meta, *modes;

	recording->meta_count = 1;
	recording->mode_count = 1;
	recording->interval_ns = 500;
	recording->cpu_count = 1;
	(void)strcpy(recording->tool_version, "1.2.3");
	(void)strcpy(recording->kernel_release, "6.1.0");
	recording->modes[0] = (struct recording_mode){ 1000, true, "exact", "" };
	recording->modes[1] = (struct recording_mode){ 2000, false, "lean", "!" };
	print();
	meta = json_object_get(printed, "meta");
	expect_text(meta, "tool_version", "1.2.3");
	expect_text(meta, "kernel_release", "6.1.0");
	expect_number(meta, "cpu_count", 1);
	expect_number(meta, "interval_ns", 500);
	expect_text(meta, "mode", "exact");
	assert_true(json_is_true(json_object_get(meta, "kernel_split")));
	expect_none(meta, "modes");
	expect_none(meta, "start_ns");
	recording->mode_count = 2;
	recording->cpu_count = 0;
	print();
	meta = json_object_get(printed, "meta");
	expect_text(meta, "mode", "mixed");
	expect_none(meta, "kernel_split");
	expect_none(meta, "cpu_count");
	modes = json_object_get(meta, "modes");
	assert_int_equal(json_array_size(modes), 2);
	expect_number(json_array_get(modes, 0), "start_ns", 1000);
	expect_text(json_array_get(modes, 0), "mode", "exact");
	assert_true(json_is_true(json_object_get(json_array_get(modes, 0), "kernel_split")));
	expect_none(json_array_get(modes, 0), "reason");
	expect_number(json_array_get(modes, 1), "start_ns", 2000);
	expect_text(json_array_get(modes, 1), "mode", "lean");
	expect_text(json_array_get(modes, 1), "reason", "!");
	assert_true(json_is_false(json_object_get(json_array_get(modes, 1), "kernel_split")));
}

FIXTURE_TEST(json_meta_contains_keys_files_and_time)
{
	const json_t *meta, *file;

	print();
	meta = json_object_get(printed, "meta");
	expect_none(meta, "mode");
	expect_none(meta, "tool_version");
	expect_none(meta, "double_records");
	expect_none(meta, "modules");
	assert_int_equal(json_array_size(json_object_get(meta, "keys")), 0);
	assert_int_equal(json_array_size(json_object_get(meta, "processes")), 0);
	(void)strcpy(totals.selection.recording.keys[0], "request_id");
	(void)strcpy(totals.selection.recording.keys[1], "tenant");
	totals.selection.recording.key_count = 2;
	(void)strcpy(totals.selection.recording.modules[0], "stall");
	totals.selection.recording.module_count = 1;
	totals.selection.recording.start_ns = 1;
	totals.selection.recording.end_ns = 4;
	totals.selection.double_records = 1;
	files[1].is_truncated = true;
	files[1].damaged_places = 1;
	files[1].damaged_bytes = 90;
	print();
	meta = json_object_get(printed, "meta");
	assert_string_equal(json_string_value(json_array_get(json_object_get(meta, "keys"), 1)),
			    "tenant");
	assert_string_equal(json_string_value(json_array_get(json_object_get(meta, "modules"), 0)),
			    "stall");
	expect_number(meta, "start_ns", 1);
	expect_number(meta, "end_ns", 4);
	expect_number(meta, "duration_ns", 3);
	expect_number(meta, "double_records", 1);
	assert_int_equal(json_array_size(json_object_get(meta, "files")), 2);
	file = json_array_get(json_object_get(meta, "files"), 0);
	expect_text(file, "name", "one.rec");
	expect_number(file, "records", 7);
	assert_true(json_is_false(json_object_get(file, "truncated")));
	expect_none(file, "damaged_places");
	expect_none(file, "damaged_bytes");
	file = json_array_get(json_object_get(meta, "files"), 1);
	expect_text(file, "name", "two.rec");
	assert_true(json_is_true(json_object_get(file, "truncated")));
	expect_number(file, "damaged_places", 1);
	expect_number(file, "damaged_bytes", 90);
}

FIXTURE_TEST(json_process_contains_only_known_members)
{
	const json_t *processes, *process;

	sample_add_record(&totals, "process pid=42 comm=ruby");
	sample_add_record(&totals, "process pid=43 comm=puma server=p ruby_version=\"3\" mode=l "
				   "ambiguous_is_bound=true ppid=1 start_ns=1000 end_ns=2000");
	print();
	processes = member("meta", "processes");
	assert_int_equal(json_array_size(processes), 2);
	process = json_array_get(processes, 0);
	expect_text(process, "host_name", "web-1");
	expect_number(process, "pid", 42);
	expect_text(process, "comm", "ruby");
	assert_int_equal(json_object_size(process), 3);
	process = json_array_get(processes, 1);
	expect_number(process, "pid", 43);
	expect_text(process, "server", "p");
	expect_text(process, "ruby_version", "3");
	expect_text(process, "mode", "l");
	assert_true(json_is_true(json_object_get(process, "ambiguous_is_bound")));
	expect_number(process, "ppid", 1);
	expect_number(process, "start_ns", 1000);
	expect_number(process, "end_ns", 2000);
}

FIXTURE_TEST(json_inherited_contains_only_measured_cpu)
{
	totals.inherited = (struct costs){ .record_count = 1, .sums = { [COST_CPU] = 55 } };
	totals.inherited_requests = 2;
	print();
	expect_number(json_object_get(printed, "inherited"), "requests", 2);
	expect_number(json_object_get(printed, "inherited"), "cpu_ns", 55);
	totals.inherited.missing = 1U << COST_CPU;
	print();
	expect_number(json_object_get(printed, "inherited"), "requests", 2);
	expect_none(json_object_get(printed, "inherited"), "cpu_ns");
	totals.inherited_requests = 0;
}

/* One of each part, so that each may lack memory. */
static void fill(void)
{
	struct self_cost *own = &totals.self_cost;

	for (int i = 0; i < 4; i++)
		sample_add_cpu(&totals, i, i % 2 ? "odd" : "even", "GET /", 10 + i, i);
	sample_add_balance(&totals, 60, 40, 15, 5);
	sample_add_record(&totals,
			  "process pid=43 comm=puma server=puma ruby_version=\"3.4.5\" mode=lean");
	*own = (struct self_cost){ .record_count = 1, .has_programs = true, .program_count = 1 };
	own->fills[0] = (struct self_cost_fill){ 1, 2 };
	(void)strcpy(own->programs[0].name, "on_switch");
	totals.inherited.record_count = 1;
	totals.selection.recording.meta_count = 1;
	totals.selection.recording.mode_count = 2;
	(void)strcpy(totals.selection.recording.modes[1].reason, "too dear");
	totals_finish(&totals);
}

FIXTURE_TEST(json_returns_enomem_and_never_omits_parts)
{
	static char whole[16384];
	size_t failures = 0;

	fill();
	json_set_alloc_funcs(malloc, free);
	print();
	(void)snprintf(whole, sizeof(whole), "%s", text);
	assert_each_allocation_can_fail(try_print(), failures++);
	assert_string_equal(text, whole);
	assert_true(failures > 50);
}

static int print_as(int (*format)(const struct totals *, const struct view_options *, FILE *))
{
	static char place[65536];
	FILE *out = fmemopen(place, sizeof(place), "w");
	int r;

	assert_non_null(out);
	r = format(&totals, &options, out);
	(void)fclose(out);
	return r;
}

FIXTURE_TEST(formats_return_enomem_without_memory)
{
	int (*const formats[])(const struct totals *, const struct view_options *,
			       FILE *) = { totals_text_print, print_csv, print_ndjson,
					   unattributed_text_print };

	options.width = 120;
	fill();
	json_set_alloc_funcs(malloc, free);
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
		size_t failures = 0;

		assert_each_allocation_can_fail(print_as(formats[i]), failures++);
		assert_true(failures > 0);
	}
}

static const char *const by_request = "request_id";

FIXTURE_TEST(json_sums_rows_beyond_top_count_as_hidden)
{
	totals_deinit(&totals);
	assert_int_equal(totals_init(&totals, &by_request, 1), 0);
	fill();
	options.top_count = 1;
	print();
	assert_int_equal(json_array_size(json_object_get(printed, "rows")), 1);
	expect_text(json_array_get(json_object_get(printed, "rows"), 0), "key", "odd");
	expect_number(json_array_get(json_object_get(printed, "rows"), 0), "cpu_ns", 11 + 13 + 4);
	expect_number(json_object_get(printed, "hidden"), "groups", 1);
	expect_number(json_object_get(printed, "hidden"), "cpu_ns", 10 + 12 + 2);
	expect_text(printed, "by", "request_id");
}
