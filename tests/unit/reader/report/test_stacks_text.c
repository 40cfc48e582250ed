/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/profile/recorded_stacks.h"
#include "reader/report/formats.h"
#include "record/golden.h"
#include "record/record_reader.h"
#include "record/sample.h"

static void add_sample(struct stacks *stacks, const char *stack_id, int64_t samples)
{
	recorded_stacks_sample(stacks, "r", stack_id, samples);
}

typedef int (*format_fn)(const struct stacks *stacks, const struct stacks_view_options *options,
			 FILE *out);

static char *print_as(struct stacks *stacks, format_fn format, size_t width, bool is_bottom_up)
{
	const struct stacks_view_options options = { .width = width, .is_bottom_up = is_bottom_up };
	char *text = NULL;
	size_t size_bytes;
	FILE *out = open_memstream(&text, &size_bytes);

	assert_non_null(out);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(format(stacks, &options, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* The tree alone. */
static char *print(struct stacks *stacks, size_t width)
{
	char *text = print_as(stacks, stacks_view_print, width, false);
	char *methods = strstr(text, "  method\n");

	assert_non_null(methods);
	*methods = '\0';
	return text;
}

static json_t *load(struct stacks *stacks, bool is_bottom_up)
{
	char *text = print_as(stacks, print_stacks_json, 80, is_bottom_up);
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

	assert_non_null(root);
	free(text);
	return root;
}

static int64_t number(const json_t *object, const char *name)
{
	return json_integer_value(json_object_get(object, name));
}

/* The n-th of this name among rows. */
static const json_t *find(const json_t *rows, const char *name, size_t n)
{
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const char *found = json_string_value(json_object_get(row, "name"));

		assert_non_null(found);
		if (strcmp(found, name) == 0 && n-- == 0)
			return row;
	}
	fail_msg("no %s", name);
	return NULL;
}

/* main calls walk, which calls itself and leaf: of 100 samples 60 are in leaf below two walks. */
static void add_recursion(struct stacks *stacks)
{
	recorded_stacks_frame(stacks, "1", NULL, "main", 1);
	recorded_stacks_frame(stacks, "2", "1", "walk", 5);
	recorded_stacks_frame(stacks, "3", "2", "walk", 6);
	recorded_stacks_frame(stacks, "4", "3", "leaf", 9);
	recorded_stacks_frame(stacks, "5", "2", "leaf", 9);
	recorded_stacks_cpu(stacks, "r", 1000000000);
	add_sample(stacks, "4", 60);
	add_sample(stacks, "5", 10);
	add_sample(stacks, "3", 20);
	add_sample(stacks, "1", 10);
}

static int setup(void **state)
{
	static struct stacks stacks;
	struct filter filter = { 0 };

	stacks_init(&stacks, STACKS_CPU, &filter);
	*state = &stacks;
	return 0;
}

static int teardown(void **state)
{
	stacks_deinit(*state);
	return 0;
}

static int setup_waits(void **state);

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(stacks_merge_lines_of_method_and_fold_chains)
{
	struct stacks *stacks = *state;
	char *text, *a, *b;

	recorded_stacks_frame(stacks, "1", NULL, "main", 1);
	recorded_stacks_frame(stacks, "2", "1", "run", 1);
	recorded_stacks_frame(stacks, "3", "2", "small", 1);
	recorded_stacks_frame(stacks, "4", "2", "large", 1);
	recorded_stacks_frame(stacks, "5", "2", "large", 2);
	recorded_stacks_cpu(stacks, "r", 1000000000);
	recorded_stacks_cpu_of(stacks, "q", "GET /q", 5000000);
	add_sample(stacks, "3", 30);
	add_sample(stacks, "4", 40);
	add_sample(stacks, "5", 30);
	text = print(stacks, 400);
	assert_non_null(strstr(text, "5.000 ms in 1 context."));
	assert_null(strstr(text, "main"));
	assert_non_null(strstr(text, "(1 folded) run\n"));
	a = strstr(text, "large\n");
	b = strstr(text, "small\n");
	assert_non_null(a);
	assert_non_null(b);
	assert_true(a < b);
	assert_null(strstr(a + 1, "large"));
	assert_non_null(strstr(text, "70.0 %"));
	assert_non_null(strstr(text, "700.0 ms"));
	free(text);
}

FIXTURE_TEST(stacks_show_recursive_method_as_one_line)
{
	struct stacks *stacks = *state;
	char *text;

	add_recursion(stacks);
	text = print(stacks, 400);
	/* 20 end in the second, 10 leave from the first. */
	assert_non_null(strstr(text, "  90.0 %"));
	assert_non_null(strstr(text, " walk × 1…2\n"));
	assert_null(strstr(strstr(text, "walk") + 1, "walk"));
	assert_non_null(strstr(text, " leaf\n"));
	free(text);
	text = print_as(stacks, stacks_view_print, 400, true);
	assert_non_null(strstr(text, "(1 folded) walk × 1…2\n"));
	free(text);
}

static void add_frame_in(struct stacks *stacks, const char *id, const char *parent,
			 const char *name, const char *file)
{
	struct sample sample;

	sample_begin_frame(&sample, 7, id, parent, name, "ruby");
	sample_fields(&sample, "file=\"%s\" first_line=4", file);
	recorded_stacks_add(stacks, &sample);
}

FIXTURE_TEST(stacks_never_fold_application_behind_library)
{
	struct stacks *stacks = *state;
	char *text, *first, *second;

	add_frame_in(stacks, "1", NULL, "serve", "/usr/lib/ruby/vendor_ruby/puma/server.rb");
	add_frame_in(stacks, "2", "1", "first", "/srv/shop/app/first.rb");
	add_frame_in(stacks, "3", "2", "second", "/srv/shop/app/second.rb");
	add_frame_in(stacks, "4", "3", "render", "/gems/tilt-2/lib/tilt.rb");
	add_frame_in(stacks, "5", "4", "escape", "/gems/erb-1/lib/erb.rb");
	recorded_stacks_cpu(stacks, "r", 1000000000);
	add_sample(stacks, "5", 10);
	text = print(stacks, 400);
	first = strstr(text, "(2 folded) second shop/app/second.rb:4\n");
	assert_non_null(first);
	assert_non_null(strstr(first, "(1 folded) escape erb-1/lib/erb.rb:4\n"));
	free(text);
	text = print_as(stacks, stacks_view_print, 400, true);
	first = strstr(text, " render tilt-2/lib/tilt.rb:4\n");
	assert_non_null(first);
	second = strstr(first, "(2 folded) second shop/app/second.rb:4\n");
	assert_non_null(second);
	free(text);
}

FIXTURE_TEST(stacks_escape_and_cut_forged_name)
{
	char name[600];
	char *text, *line;

	memset(name, 'x', sizeof(name));
	name[3] = '\x1b';
	name[4] = '\n';
	name[sizeof(name) - 1] = '\0';
	recorded_stacks_frame(*state, "1", NULL, name, 1);
	recorded_stacks_cpu(*state, "r", 1000);
	add_sample(*state, "1", 1);
	text = print(*state, 80);
	assert_null(strchr(text, '\x1b'));
	line = strstr(text, "   xxx");
	assert_non_null(line);
	assert_true(strcspn(line, "\n") < 80);
	free(text);
}

FIXTURE_TEST(stacks_hide_methods_below_one_percent)
{
	static const char *const names[] = { "most", "hundredth", "less" };
	static const int64_t samples[] = { 9801, 100, 99 };
	char *text;

	for (int i = 0; i < 3; i++) {
		char id[8];

		(void)snprintf(id, sizeof(id), "%d", i);
		recorded_stacks_frame(*state, id, NULL, names[i], 1);
		add_sample(*state, id, samples[i]);
	}
	recorded_stacks_cpu(*state, "r", 10000);
	text = print_as(*state, stacks_view_print, 100, false);
	for (int i = 0; i < 2; i++)
		assert_non_null(strstr(strstr(text, names[i]) + 1, names[i]));
	assert_null(strstr(text, "less"));
	free(text);
}

static size_t blanks_before(const char *text, const char *name)
{
	const char *at = strstr(text, name);
	size_t count = 0;

	assert_non_null(at);
	while (at > text && *--at == ' ')
		count++;
	return count;
}

FIXTURE_TEST(stacks_limit_indentation_of_names)
{
	char *text;

	for (int i = 10; i < 40; i++) {
		char id[8], parent[8], name[16];

		(void)snprintf(id, sizeof(id), "%d", i);
		(void)snprintf(parent, sizeof(parent), "%d", i - 1);
		(void)snprintf(name, sizeof(name), "method %d", i);
		recorded_stacks_frame(*state, id, i > 10 ? parent : NULL, name, 1);
		add_sample(*state, id, 1);
	}
	recorded_stacks_cpu(*state, "r", 10000);
	text = print(*state, 400);
	assert_int_equal(blanks_before(text, "method 10\n"), 3);
	assert_int_equal(blanks_before(text, "method 33\n"), 3 + 23);
	assert_int_equal(blanks_before(text, "method 34\n"), 3 + 24);
	assert_int_equal(blanks_before(text, "method 39\n"), 3 + 24);
	free(text);
}

FIXTURE_TEST(stacks_cut_name_at_width_but_keep_minimum)
{
	static const struct {
		size_t width, shown;
	} cases[] = { { 1, 20 }, { 58, 20 }, { 59, 21 }, { 88, 50 }, { 89, 50 } };
	char name[51];

	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	recorded_stacks_frame(*state, "1", NULL, name, 1);
	recorded_stacks_cpu(*state, "r", 1000);
	add_sample(*state, "1", 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = print(*state, cases[i].width), *at = strstr(text, "   xxx");
		size_t size_bytes;

		assert_non_null(at);
		size_bytes = strcspn(at + 3, "\n");
		/* The sign of what is missing takes three bytes. */
		assert_int_equal(size_bytes,
				 cases[i].shown < 50 ? cases[i].shown + 2 : cases[i].shown);
		free(text);
	}
}

FIXTURE_TEST(stacks_show_no_tree_without_samples)
{
	char *text;

	recorded_stacks_cpu(*state, "r", 1000);
	text = print(*state, 80);
	assert_null(strstr(text, " % "));
	assert_non_null(strstr(text, "1.000 us in 1 context."));
	free(text);
}

FIXTURE_TEST(stacks_count_recursive_method_once_in_total)
{
	const json_t *methods, *walk;
	json_t *root;

	add_recursion(*state);
	root = load(*state, false);
	methods = json_object_get(root, "methods");
	assert_int_equal(json_array_size(methods), 3);
	walk = find(methods, "walk", 0);
	assert_int_equal(number(walk, "self_ns"), 200000000);
	assert_int_equal(number(walk, "self_samples"), 20);
	assert_int_equal(number(walk, "total_ns"), 900000000);
	assert_int_equal(number(walk, "samples"), 90);
	/* One of two places, and the most first. */
	assert_ptr_equal(json_array_get(methods, 0), find(methods, "leaf", 0));
	assert_int_equal(number(find(methods, "leaf", 0), "total_ns"), 700000000);
	assert_int_equal(number(find(methods, "main", 0), "total_ns"), 1000000000);
	json_decref(root);
}

FIXTURE_TEST(stacks_list_methods_by_self_time)
{
	char *text, *leaf, *walk, *main_method;

	add_recursion(*state);
	text = print_as(*state, stacks_view_print, 200, false);
	leaf = strstr(strstr(text, "  method\n"), "leaf\n");
	assert_non_null(leaf);
	walk = strstr(leaf, "walk\n");
	assert_non_null(walk);
	main_method = strstr(walk, "main\n");
	assert_non_null(main_method);
	assert_non_null(strstr(leaf, "20.0 %"));
	assert_non_null(strstr(leaf, "90.0 %"));
	free(text);
}

FIXTURE_TEST(stacks_json_bottom_up_puts_callee_above_caller)
{
	const json_t *branches, *leaf, *walk, *caller;
	json_t *root;

	add_recursion(*state);
	root = load(*state, true);
	branches = json_object_get(root, "branches");
	leaf = json_array_get(branches, 0);
	assert_ptr_equal(leaf, find(branches, "leaf", 0));
	assert_null(json_object_get(leaf, "parent"));
	assert_int_equal(number(leaf, "total_ns"), 700000000);
	walk = json_array_get(branches, 1);
	assert_int_equal(number(walk, "parent"), number(leaf, "branch"));
	assert_int_equal(number(walk, "line"), 6);
	assert_int_equal(number(walk, "total_ns"), 600000000);
	caller = json_array_get(branches, 2);
	assert_int_equal(number(caller, "parent"), number(walk, "branch"));
	assert_int_equal(number(caller, "line"), 5);
	assert_int_equal(number(caller, "depth"), 3);
	json_decref(root);
}

FIXTURE_TEST(stacks_bottom_up_shows_method_and_next_caller)
{
	struct stacks *stacks = *state;
	char *text, *leaf;

	recorded_stacks_frame(stacks, "1", NULL, "main", 1);
	recorded_stacks_frame(stacks, "2", "1", "outer", 1);
	recorded_stacks_frame(stacks, "3", "2", "inner", 1);
	recorded_stacks_frame(stacks, "4", "3", "leaf", 1);
	recorded_stacks_cpu(stacks, "r", 1000000000);
	add_sample(stacks, "4", 60);
	text = print_as(stacks, stacks_view_print, 200, true);
	leaf = strstr(text, "   leaf\n");
	assert_non_null(leaf);
	assert_non_null(strstr(leaf, "    (2 folded) inner\n"));
	assert_null(strstr(leaf, "main"));
	free(text);
}

FIXTURE_TEST(stacks_json_splits_branches_by_line_and_adds_up)
{
	const json_t *branches, *first, *second, *all;
	int64_t self_ns = 0;
	json_t *root;

	recorded_stacks_frame(*state, "1", NULL, "main", 1);
	recorded_stacks_frame(*state, "2", "1", "large", 3);
	recorded_stacks_frame(*state, "3", "1", "large", 4);
	recorded_stacks_frame(*state, "4", "1", "tiny", 9);
	recorded_stacks_cpu(*state, "r", 1000000001);
	recorded_stacks_cpu_of(*state, "q", "GET /q", 5000000);
	add_sample(*state, "2", 700);
	add_sample(*state, "3", 299);
	add_sample(*state, "4", 1);
	root = load(*state, false);
	branches = json_object_get(root, "branches");
	assert_int_equal(json_array_size(branches), 4);
	first = find(branches, "large", 0);
	second = find(branches, "large", 1);
	assert_int_equal(number(first, "line"), 3);
	assert_int_equal(number(second, "line"), 4);
	assert_int_equal(number(first, "samples"), 700);
	assert_int_equal(number(second, "parent"), number(find(branches, "main", 0), "branch"));
	assert_string_equal(json_string_value(json_object_get(first, "frame_kind")), "ruby");
	assert_true(json_number_value(json_object_get(first, "error_percent")) > 0);
	for (size_t i = 0; i < json_array_size(branches); i++)
		self_ns += number(json_array_get(branches, i), "self_ns");
	assert_int_equal(self_ns, 1000000001);
	all = json_object_get(root, "all");
	assert_int_equal(number(all, "sampled_cpu_ns"), 1000000001);
	assert_int_equal(number(all, "not_sampled_cpu_ns"), 5000000);
	assert_int_equal(number(all, "cpu_ns"), 1005000001);
	assert_int_equal(json_array_size(json_object_get(root, "methods")), 3);
	json_decref(root);
}

static size_t count_cells(const char *line)
{
	size_t count = 1;
	bool is_quoted = false;

	for (; *line != '\r' || is_quoted; line++) {
		assert_int_not_equal(*line, '\0');
		is_quoted ^= *line == '"';
		count += *line == ',' && !is_quoted;
	}
	return count;
}

FIXTURE_TEST(stacks_csv_rows_have_all_columns)
{
	size_t rows = 0, columns;
	char *text;

	recorded_stacks_frame(*state, "1", NULL, "=a,\\\"b\r\n", 1);
	recorded_stacks_cpu(*state, "r", 1000000000);
	recorded_stacks_cpu_of(*state, "q", "GET /q", 5000000);
	add_sample(*state, "1", 10);
	text = print_as(*state, print_stacks_csv, 80, false);
	columns = count_cells(text);
	for (char *line = text; *line; line = strstr(line, "\r\n") + 2, rows++)
		assert_int_equal(count_cells(line), columns);
	/* Header, branch, method, all, not sampled, left out. */
	assert_int_equal(rows, 6);
	assert_non_null(strstr(text, "\nbranch,1,,1,\"'=a,\"\"b"));
	assert_non_null(strstr(text, "\nnot_sampled,,,,,,,,,,5000000,,0,,,,,1\r\n"));
	free(text);
}

FIXTURE_TEST(stacks_json_has_no_rows_without_samples)
{
	json_t *root;

	recorded_stacks_cpu(*state, "r", 1000);
	root = load(*state, false);
	assert_int_equal(json_array_size(json_object_get(root, "branches")), 0);
	assert_int_equal(json_array_size(json_object_get(root, "methods")), 0);
	assert_int_equal(number(json_object_get(root, "all"), "not_sampled_cpu_ns"), 1000);
	json_decref(root);
}

FIXTURE_TEST(stacks_formats_match_golden_files)
{
	static const struct {
		format_fn format;
		const char *name;
		bool is_bottom_up;
	} cases[] = {
		{ stacks_view_print, "stacks.txt", false },
		{ stacks_view_print, "stacks-bottom-up.txt", true },
		{ print_stacks_json, "stacks.json", false },
		{ print_stacks_csv, "stacks.csv", false },
	};
	static struct record_view view;
	struct record_reader *reader = NULL;
	char path[4096];

	golden_path("stacks.rec", path, sizeof(path));
	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0)
		assert_int_equal(stacks_add(*state, &view), 0);
	record_reader_free(reader);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = print_as(*state, cases[i].format, 80, cases[i].is_bottom_up);

		golden_compare(cases[i].name, text, strlen(text));
		free(text);
	}
}

static int try_print(const struct stacks *stacks, format_fn format, bool is_bottom_up)
{
	const struct stacks_view_options options = { .width = 80, .is_bottom_up = is_bottom_up };
	static char text[65536];
	FILE *out = fmemopen(text, sizeof(text), "w");
	int r;

	assert_non_null(out);
	r = format(stacks, &options, out);
	assert_int_equal(fclose(out), 0);
	return r;
}

static void expect_no_memory(const struct stacks *stacks, format_fn format, bool is_bottom_up)
{
	size_t failures = 0;

	assert_each_allocation_can_fail(try_print(stacks, format, is_bottom_up), failures++);
	assert_true(failures > 4);
}

FIXTURE_TEST(stacks_formats_return_enomem_without_memory)
{
	add_recursion(*state);
	assert_int_equal(stacks_finish(*state), 0);
	expect_no_memory(*state, stacks_view_print, false);
	expect_no_memory(*state, stacks_view_print, true);
	expect_no_memory(*state, print_stacks_json, false);
	expect_no_memory(*state, print_stacks_csv, false);
}

/* ---- where was waited ---- */

static int setup_waits(void **state)
{
	static struct stacks stacks;
	struct filter filter = { 0 };

	stacks_init(&stacks, STACKS_OFF_CPU, &filter);
	recorded_stacks_frame(&stacks, "1", NULL, "main", 1);
	recorded_stacks_frame(&stacks, "2", "1", "nap", 5);
	recorded_stacks_frame(&stacks, "3", "2", "sleep", 6);
	recorded_stacks_frame_of(&stacks, "4", "3", "do_syscall_64", "kernel");
	recorded_stacks_frame_of(&stacks, "5", "4", "__schedule", "kernel");
	recorded_stacks_frame_of(&stacks, "6", NULL, "ret_from_fork", "kernel");
	recorded_stacks_frame_of(&stacks, "7", "6", "__schedule", "kernel");
	recorded_stacks_record(&stacks, "cpu pid=7 request_id=r blocked_ns=900000000 "
					"run_queue_ns=100000000");
	recorded_stacks_wait(&stacks, "r", "5", 4, 700000000, 0);
	recorded_stacks_wait(&stacks, "r", "1", 4, 50000000, 0);
	recorded_stacks_wait(&stacks, "r", "7", 4, 250000000, 0);
	*state = &stacks;
	return 0;
}

TEST_WITH(stacks_off_cpu_are_exact_and_hide_kernel_frames, setup_waits, teardown)
{
	static const char *const lines[] = {
		"Off the CPU 1.000 s, blocked and run queue, exact; in 12 waits of 1 contexts. ",
		" In no stack: 0 ns in 0 contexts.",
		"   share          off CPU     waits   code\n",
		"  75.0 %         750.0 ms         8   main\n",
		"  70.0 %         700.0 ms         4    (1 folded) nap … sleep\n",
		"  25.0 %         250.0 ms         4   ret_from_fork\n",
		"  70.0 %         700.0 ms   70.0 %         700.0 ms   sleep\n",
	};
	char *text = print_as(*state, stacks_view_print, 400, false);

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_non_null(strstr(text, lines[i]));
	assert_null(strstr(text, "__schedule"));
	assert_null(strstr(text, "do_syscall_64"));
	assert_null(strstr(text, "±"));
	assert_null(strstr(text, "ampled"));
	free(text);
}

TEST_WITH(stacks_json_off_cpu_names_waits_and_omits_error, setup_waits, teardown)
{
	json_t *root = load(*state, false);
	const json_t *all = json_object_get(root, "all");
	const json_t *row = find(json_object_get(root, "methods"), "sleep", 0);

	assert_int_equal(number(all, "off_cpu_ns"), 1000000000);
	assert_int_equal(number(all, "off_cpu_in_stacks_ns"), 1000000000);
	assert_int_equal(number(all, "off_cpu_in_none_ns"), 0);
	assert_int_equal(number(all, "contexts_in_stacks"), 1);
	assert_non_null(json_object_get(all, "contexts_in_none"));
	assert_int_equal(number(all, "waits"), 12);
	assert_int_equal(number(row, "self_waits"), 4);
	assert_int_equal(number(row, "self_ns"), 700000000);
	assert_null(json_object_get(row, "error_percent"));
	assert_null(json_object_get(row, "self_error_percent"));
	assert_non_null(json_object_get(json_object_get(root, "left_out"), "waits"));
	json_decref(root);
}

TEST_WITH(stacks_csv_off_cpu_has_wait_columns, setup_waits, teardown)
{
	char *text = print_as(*state, print_stacks_csv, 80, false);

	assert_non_null(strstr(text, ",self_waits,waits,self_percent,"));
	assert_non_null(strstr(text, ",700000000,700000000,4,4,70,,70,,\r\n"));
	assert_non_null(strstr(text, "\r\nin_none,"));
	free(text);
}
