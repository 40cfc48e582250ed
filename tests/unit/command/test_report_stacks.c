/* SPDX-License-Identifier: GPL-2.0-only */
/* `correlator report --stacks`, whole, on the golden recording. */
#include <signal.h>
#include <stdbool.h>

#include "unit_test.h"
#include <jansson.h>

#include "base/exit_code.h"
#include "command/command.h"
#include "command_line.h"
#include "failing_memory.h"
#include "record/golden.h"

static struct command_result result;

/* `correlator report --stacks', with these words and so many times the recording. */
static void report(const char *words, const char *recording, size_t count)
{
	static char line[COMMAND_LINE_BYTES];
	char path[1024];
	int used = snprintf(line, sizeof(line), "report --stacks%s", words);

	golden_path(recording, path, sizeof(path));
	for (size_t i = 0; i < count; i++)
		used += snprintf(line + used, sizeof(line) - (size_t)used, " %s", path);
	command_run(command_report, line, &result);
}

static json_t *load(const char *words, size_t count)
{
	json_t *root;

	report(words, "stacks.rec", count);
	assert_int_equal(result.code, EXIT_CODE_OK);
	assert_string_equal(result.error, "");
	root = json_loads(result.output, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	return root;
}

static int64_t of_all(const json_t *root, const char *name)
{
	const json_t *number = json_object_get(json_object_get(root, "all"), name);

	assert_true(json_is_integer(number));
	return json_integer_value(number);
}

TEST(report_stacks_matches_golden_output_in_each_format)
{
	static const char *const cases[][2] = {
		{ "", "stacks.txt" },
		{ "=bottom-up", "stacks-bottom-up.txt" },
		{ " -f json", "stacks.json" },
		{ " -f csv", "stacks.csv" },
	};

	for (size_t i = 0; i < 4; i++) {
		report(cases[i][0], "stacks.rec", 1);
		assert_int_equal(result.code, EXIT_CODE_OK);
		assert_string_equal(result.error, "");
		golden_compare(cases[i][1], result.output, strlen(result.output));
	}
}

TEST(report_stacks_counts_records_of_several_files_once)
{
	json_t *root = load(" -f json", 2);

	assert_int_equal(of_all(root, "cpu_ns"), 496001234);
	assert_int_equal(of_all(root, "samples"), 49);
	json_decref(root);
}

static size_t count_methods(const char *words)
{
	const char *line, *heading;
	size_t count = 0;

	report(words, "stacks.rec", 1);
	assert_int_equal(result.code, EXIT_CODE_OK);
	heading = strstr(result.output, "  method\n");
	assert_non_null(heading);
	for (line = strchr(heading, '\n') + 1; *line; line = strchr(line, '\n') + 1)
		count++;
	return count;
}

TEST(report_stacks_top_limits_methods_and_slowest_limits_requests)
{
	assert_int_equal(count_methods(""), 5);
	assert_int_equal(count_methods(" --top 2"), 2);
	assert_int_equal(count_methods(" --slowest=1 --sort cpu"), 3);
}

TEST(report_stacks_slowest_selects_requests)
{
	json_t *root = load(" -f json --slowest=1 --sort cpu", 1);

	assert_int_equal(of_all(root, "cpu_ns"), 300001234);
	json_decref(root);
	root = load(" -f json --slowest --sort cpu", 1);
	assert_int_equal(of_all(root, "cpu_ns"), 484001234);
	json_decref(root);
	/* Of each endpoint the one that is above its median. */
	root = load(" -f json --slowest=50% --sort cpu", 1);
	assert_int_equal(of_all(root, "cpu_ns"), 380001234);
	json_decref(root);
	root = load(" -f json --where request_id=req-3", 1);
	assert_int_equal(of_all(root, "cpu_ns"), 80000000);
	json_decref(root);
}

TEST(report_stacks_explains_empty_result)
{
	report(" --where no_key=x", "stacks.rec", 1);
	assert_int_equal(result.code, EXIT_CODE_FAILURE);
	assert_non_null(strstr(result.error, "no_key"));
	assert_string_equal(result.output, "");
	report(" --diff --where no_key=x", "stacks.rec", 2);
	assert_int_equal(result.code, EXIT_CODE_FAILURE);
	assert_string_equal(result.output, "");
	report(" --since 2100-01-01T00:00:00Z", "stacks.rec", 1);
	assert_int_equal(result.code, EXIT_CODE_OK);
	assert_non_null(strstr(result.error, "--where, --since and --until"));
	command_run(command_report, "report --stacks /dev/null", &result);
	assert_int_equal(result.code, EXIT_CODE_FAILURE);
	assert_non_null(strstr(result.error, "no records to report"));
	report("", "shop.rec", 1);
	assert_int_equal(result.code, EXIT_CODE_OK);
	assert_non_null(strstr(result.error, "the recording has no samples"));
	/* A text is no recording. */
	report("", "stacks.txt", 1);
	assert_int_equal(result.code, EXIT_CODE_FAILURE);
}

TEST(report_stacks_diff_compares_two_recordings_in_each_format)
{
	json_t *root = load(" --diff -f json", 2);

	assert_int_equal(json_integer_value(json_object_get(root, "changed")), 0);
	assert_int_equal(json_array_size(json_object_get(root, "methods")), 8);
	json_decref(root);
	report(" --diff -f csv", "stacks.rec", 2);
	assert_int_equal(result.code, EXIT_CODE_OK);
	assert_ptr_equal(strstr(result.output, "row,name,"), result.output);
	assert_non_null(strstr(result.output, "\r\nall,,,,,4,48,4,48,"));
	report(" --diff --top 1", "stacks.rec", 2);
	assert_int_equal(result.code, EXIT_CODE_OK);
	assert_non_null(strstr(result.output, "before 4 requests, 48 samples"));
	assert_non_null(strstr(result.output, "… 7 more\n"));
	report(" --diff --where endpoint~GET*", "stacks.rec", 2);
	assert_int_equal(result.code, EXIT_CODE_OK);
	assert_non_null(strstr(result.output, "before 2 requests, 40 samples; after 2 requests"));
}

/* What is damaged in the middle is reported as far as it can be read, and is no success. */
TEST(report_stacks_prints_damaged_recording_and_fails)
{
	static const char *const words[] = { "--stacks", "--stacks --diff", "--diff" };
	char path[] = "/tmp/test_report_stacks.XXXXXX", whole[1024], line[3072];
	size_t size_bytes;
	char *bytes = golden_read("stacks.rec", &size_bytes);
	FILE *file = fdopen(mkstemp(path), "w");

	assert_non_null(file);
	(void)fwrite(bytes, 1, size_bytes, file);
	(void)fputs("\xc1\xc1\xc1\xc1", file);
	(void)fwrite(bytes, 1, size_bytes, file);
	assert_int_equal(fclose(file), 0);
	free(bytes);
	golden_path("stacks.rec", whole, sizeof(whole));
	for (size_t i = 0; i < 3; i++) {
		/* Alone, or as the later of two. */
		(void)snprintf(line, sizeof(line), "report %s %s %s", words[i], i > 0 ? whole : "",
			       path);
		command_run(command_report, line, &result);
		assert_int_equal(result.code, EXIT_CODE_FAILURE);
		assert_non_null(strstr(result.error, "damaged"));
		assert_string_not_equal(result.output, "");
	}
	assert_int_equal(unlink(path), 0);
}

/* Whichever piece of it is missing, once: it says so, and what it needed no more is free again.
 * From that piece on which is behind the options': without theirs the program ends. */
static void without_memory_it_fails(const char *words, size_t files, size_t first)
{
	for (size_t given = first;; given++) {
		memory_fails_once_after(given);
		report(words, "stacks.rec", files);
		memory_never_fails();
		if (!memory_failures()) {
			assert_true(given > 10);
			break;
		}
		assert_int_equal(result.code, EXIT_CODE_FAILURE);
		if (!strstr(result.error, "Cannot allocate memory"))
			fail_msg("%s, %zu: %s", words, given, result.error);
	}
	assert_int_equal(result.code, EXIT_CODE_OK);
}

TEST(report_stacks_fails_without_memory_in_each_mode)
{
	without_memory_it_fails(" --slowest", 1, 0);
	without_memory_it_fails(" -f json", 1, 0);
	without_memory_it_fails(" --diff", 2, 0);
	without_memory_it_fails(" --diff -f json --where endpoint~GET*", 2, 1);
}

static int set_width(void **state)
{
	(void)state;
	return setenv("COLUMNS", "80", 1);
}

TEST_GROUP(set_width, NULL)
