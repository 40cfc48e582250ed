/* SPDX-License-Identifier: GPL-2.0-only */
/* What top is asked to show by each option. It shows nothing: what would is here. */
#include <errno.h>
#include <fcntl.h>
#include <pty.h>
#include <stdbool.h>
#include <stdio_ext.h>
#include <stdlib.h>

#include "unit_test.h"

#include "command/command.h"
#include "command_line.h"
#include "failing_memory.h"
#include "reader/top/top.h"

UNIT_TEST_ALONE;

/* What was asked for. */
static struct {
	unsigned int runs;
	struct top_options options;
	struct navigation start;
	char path[64], name[256];
	char recorder[4096]; /* its words, with a space before each */
	size_t recorder_words;
} asked;

static int top_code, top_write_error;
static struct command_result result;

int top_run(const struct top_options *options, int *ret_write_error)
{
	FILE *recorder = fmemopen(asked.recorder, sizeof(asked.recorder), "w");

	asked.runs++;
	asked.options = *options;
	asked.start = *options->start;
	(void)snprintf(asked.path, sizeof(asked.path), "%s", options->path ? options->path : "");
	(void)snprintf(asked.name, sizeof(asked.name), "%s", options->name);
	for (char *const *word = options->recorder; *word; word++) {
		(void)fprintf(recorder, " %s", *word);
		asked.recorder_words++;
	}
	(void)fclose(recorder);
	(void)fputs("a frame\n", stdout);
	/* Flushed, as each frame is: what is left to be said of it is the error. */
	if (top_write_error)
		__fpurge(stdout);
	*ret_write_error = top_write_error;
	return top_code;
}

static int setup(void **state)
{
	(void)state;
	top_code = EXIT_CODE_OK;
	top_write_error = 0;
	(void)unsetenv("COLUMNS");
	(void)unsetenv("NO_COLOR");
	return 0;
}

static int top(const char *arguments)
{
	static char line[4096];

	memset(&asked, 0, sizeof(asked));
	(void)snprintf(line, sizeof(line), "top %s", arguments);
	command_run(command_top, line, &result);
	return result.code;
}

static void shows(const char *arguments)
{
	if (top(arguments) != EXIT_CODE_OK || result.error[0] || asked.runs != 1)
		fail_msg("%s: code %d, said: %s", arguments, result.code, result.error);
}

static void refuses(const char *arguments, const char *says)
{
	static char line[4096];

	(void)snprintf(line, sizeof(line), "top %s", arguments);
	command_run_apart(command_top, line, &result);
	/* And no error of the kernel's. */
	if (result.code != EXIT_CODE_USAGE || result.output[0] || !strstr(result.error, says) ||
	    strstr(result.error, strerror(EPERM)))
		fail_msg("%s: code %d, said: %s%s", arguments, result.code, result.output,
			 result.error);
}

/* The same with standard output on a terminal. */
static void shows_on_screen(char *arguments)
{
	static char *words[COMMAND_WORDS_MAX];
	int screen, program, saved = dup(STDOUT_FILENO);

	assert_int_equal(openpty(&screen, &program, NULL, NULL, NULL), 0);
	(void)fflush(stdout);
	(void)dup2(program, STDOUT_FILENO);
	memset(&asked, 0, sizeof(asked));
	assert_int_equal(command_top(command_split(arguments, words), words), EXIT_CODE_OK);
	(void)dup2(saved, STDOUT_FILENO);
	(void)close(saved);
	(void)close(program);
	(void)close(screen);
	assert_int_equal(asked.runs, 1);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, NULL)

FIXTURE_TEST(top_starts_recorder_for_pid_with_default_keys)
{
	shows("-p 12");
	assert_string_equal(result.output, "a frame\n");
	assert_string_equal(asked.recorder,
			    " correlator record -o- -p 12 -i250ms --first-window=100ms -q");
	assert_null(asked.options.path);
	assert_string_equal(asked.name, "pid 12");
	assert_int_equal(asked.options.frame_count, 0);
	assert_int_equal(asked.options.width, TOP_BATCH_WIDTH);
	assert_true(asked.options.has_colour);
	assert_string_equal(asked.start.by, "");
	assert_string_equal(asked.start.filter, "");
	assert_int_equal(asked.start.depth, 1);
	assert_int_equal(asked.start.span, SPAN_SECONDS);
	assert_int_equal(asked.start.orders[LIST_GROUPS].field, FIGURE_CPU);
}

FIXTURE_TEST(top_passes_targets_keys_and_interval_to_recorder)
{
	shows("-p 12 -p 13 -k tenant -i 2s");
	assert_string_equal(asked.recorder, " correlator record -o- -p 12 -p 13 -k tenant -i 2s "
					    "--first-window=100ms -q");
	assert_string_equal(asked.name, "pid 12, 13");
	shows("--all-ruby");
	assert_string_equal(asked.recorder,
			    " correlator record -o- --all-ruby -i250ms --first-window=100ms -q");
	assert_string_equal(asked.name, "every Ruby");
	shows("--all-ruby -k a -k b");
	assert_string_equal(
		asked.recorder,
		" correlator record -o- --all-ruby -k a -k b -i250ms --first-window=100ms -q");
	shows("--all-ruby -i 10ms");
	assert_string_equal(asked.recorder, " correlator record -o- --all-ruby -i 10ms "
					    "--first-window=100ms -q");
}

FIXTURE_TEST(top_rejects_more_than_256_recorder_arguments)
{
	static char line[4096];
	size_t used = (size_t)snprintf(line, sizeof(line), "--all-ruby");

	for (int i = 0; i < 126; i++)
		used += (size_t)snprintf(line + used, sizeof(line) - used, " -p %d", 1000 + i);
	shows(line);
	/* Of the options 256, and what is added. */
	assert_int_equal(asked.recorder_words, 256 + 3);
	assert_int_equal(strlen(asked.name), 127);
	assert_memory_equal(asked.name, "every Ruby, 1000, 1001, ", 24);
	(void)snprintf(line + used, sizeof(line) - used, " --all-ruby");
	refuses(line, "too many arguments");
}

FIXTURE_TEST(top_replays_recording_and_shows_escaped_name)
{
	shows("some.rec");
	assert_string_equal(asked.path, "some.rec");
	assert_string_equal(asked.name, "some.rec");
	shows("-");
	assert_string_equal(asked.path, "-");
	assert_string_equal(asked.name, "standard input");
	shows("a\033[2J");
	assert_string_equal(asked.name, "a\\x1b[2J");
}

FIXTURE_TEST(top_without_terminal_prints_batch_frames_at_full_speed)
{
	shows("a.rec");
	assert_true(asked.options.is_batch);
	assert_true(asked.options.speed == 0);
	shows_on_screen((char[]){ "top a.rec" });
	assert_false(asked.options.is_batch);
	assert_true(asked.options.speed == 1);
	assert_string_equal(asked.recorder, " correlator record -o- "
					    "-i250ms --first-window=100ms");
	shows_on_screen((char[]){ "top a.rec --batch" });
	assert_true(asked.options.is_batch);
	assert_true(asked.options.speed == 0);
	shows_on_screen((char[]){ "top a.rec -n 1" });
	assert_true(asked.options.is_batch);
	assert_int_equal(asked.options.frame_count, 1);
	shows("--frames 18446744073709551615 a.rec");
	assert_true(asked.options.frame_count == UINT64_MAX);
}

FIXTURE_TEST(top_speed_accepts_number_in_range_or_max)
{
	static const struct {
		char line[32];
		double speed;
	} cases[] = { { "top --speed 10 a", 10 },
		      { "top --speed 0.5 a", 0.5 },
		      { "top --speed 0.001 a", 0.001 },
		      { "top --speed 1000000 a", 1e6 },
		      { "top --speed max a", 0 } };
	static const char *const wrong[] = { "0", "0.0009", "1000001", "-1", "x", "1x", "nan", "" };
	char line[32];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)strcpy(line, cases[i].line);
		shows_on_screen(line);
		assert_true(asked.options.speed == cases[i].speed);
	}
	shows("--speed 2 a");
	assert_true(asked.options.speed == 2);
	shows("--speed 2 --speed max a");
	assert_true(asked.options.speed == 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		(void)snprintf(line, sizeof(line), "--speed=%s a", wrong[i]);
		refuses(line, "--speed takes a number such as 10 or 0.5, or max, not '");
	}
}

/* What an option besides FILE asks for, of what can be asked for by one. */
FIXTURE_TEST(top_options_set_only_their_own_fields)
{
	enum {
		BY = 1 << 0,
		SORT = 1 << 1,
		WHERE = 1 << 2,
		SPAN = 1 << 3,
		SPEED = 1 << 4,
		FRAMES = 1 << 5,
	};
	static const struct {
		const char *arguments;
		unsigned int asks_for;
	} cases[] = {
		{ "cpu", 0 },
		{ "--batch cpu", 0 },
		{ "--by cpu_p99 cpu", BY },
		{ "--sort cpu_p99 cpu", SORT },
		{ "--where all cpu", WHERE },
		{ "--span all cpu", SPAN },
		{ "--speed 7 cpu", SPEED },
		{ "--frames 7 cpu", FRAMES },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		unsigned int found;

		shows(cases[i].arguments);
		found = (asked.start.by[0] ? BY : 0) | (asked.start.filter[0] ? WHERE : 0) |
			(asked.start.orders[LIST_GROUPS].field != FIGURE_CPU ? SORT : 0) |
			(asked.start.span != SPAN_SECONDS ? SPAN : 0) |
			(asked.options.speed != 0 ? SPEED : 0) |
			(asked.options.frame_count ? FRAMES : 0);
		if (found != cases[i].asks_for || strcmp(asked.path, "cpu") != 0)
			fail_msg("%s: 0x%x, not 0x%x", cases[i].arguments, found,
				 cases[i].asks_for);
	}
}

FIXTURE_TEST(top_options_set_initial_grouping_sort_filter_and_span)
{
	static const struct {
		const char *arguments;
		enum span span;
	} spans[] = { { "--span window a", SPAN_WINDOW },
		      { "--span 10s a", SPAN_SECONDS },
		      { "--span all a", SPAN_ALL } };

	shows("--by tid --sort wall_p99 --where GET* a.rec");
	assert_string_equal(asked.start.by, "tid");
	assert_string_equal(asked.start.filter, "GET*");
	assert_int_equal(asked.start.orders[LIST_GROUPS].field, FIGURE_WALL_P99);
	for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
		shows(spans[i].arguments);
		assert_int_equal(asked.start.span, spans[i].span);
	}
}

FIXTURE_TEST(top_rejects_grouping_and_filter_over_maximum_length)
{
	static const struct {
		const char *option;
		int bytes;
		const char *says;
	} cases[] = {
		{ "--by", sizeof(asked.start.by) - 1, "--by is longer than 127 bytes" },
		{ "--where", sizeof(asked.start.filter) - 1, "--where is longer than 255 bytes" },
	};
	char line[400];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)snprintf(line, sizeof(line), "%s %0*d a", cases[i].option, cases[i].bytes, 0);
		shows(line);
		assert_int_equal(strlen(i ? asked.start.filter : asked.start.by), cases[i].bytes);
		(void)snprintf(line, sizeof(line), "%s %0*d a", cases[i].option, cases[i].bytes + 1,
			       0);
		refuses(line, cases[i].says);
	}
}

FIXTURE_TEST(top_frame_width_follows_columns_variable_in_range)
{
	static const struct {
		const char *columns;
		size_t width;
	} cases[] = { { "40", 40 },    { "39", 160 }, { "1000", 1000 },
		      { "1001", 160 }, { "x", 160 },  { "", 160 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		(void)setenv("COLUMNS", cases[i].columns, 1);
		shows("a.rec");
		assert_int_equal(asked.options.width, cases[i].width);
	}
}

FIXTURE_TEST(top_disables_colour_with_no_color_variable)
{
	(void)setenv("NO_COLOR", "", 1);
	shows("a.rec");
	assert_true(asked.options.has_colour);
	(void)setenv("NO_COLOR", "1", 1);
	shows("a.rec");
	assert_false(asked.options.has_colour);
}

FIXTURE_TEST(top_rejects_invalid_and_conflicting_options)
{
	static const struct {
		const char *arguments, *says;
	} cases[] = {
		{ "", "nothing to show: give a PID, --all-ruby or a FILE" },
		{ "-k a", "nothing to show" },
		{ "-i 1s --batch", "nothing to show" },
		{ "a b", "one FILE at a time" },
		{ "a -p 1", "FILE is shown as it was recorded" },
		{ "a --all-ruby", "FILE is shown as it was recorded" },
		{ "a -k tenant", "FILE is shown as it was recorded" },
		{ "a -i 1s", "FILE is shown as it was recorded" },
		{ "-p x", "`x` is not a process ID" },
		{ "-p 0", "`0` is not a process ID" },
		{ "--span 1h a", "unknown span '1h': one of window, 10s, all" },
		{ "--sort colour a", "unknown field 'colour' to sort by" },
		{ "-n 0 a", "--frames takes a number, not '0'" },
		{ "-n x a", "--frames takes a number, not 'x'" },
		{ "--no-such-option a", "no-such-option" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		refuses(cases[i].arguments, cases[i].says);
}

/* Standard output that is full: the exit status. */
static int top_on_full_disk(void)
{
	char *words[] = { "top", "a.rec", NULL };
	int saved = dup(STDOUT_FILENO), full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct ears ears;
	int code;

	(void)fflush(stdout);
	(void)dup2(full, STDOUT_FILENO);
	ears = ears_open();
	code = command_top(2, words);
	ears_close(&ears, result.error, sizeof(result.error));
	__fpurge(stdout);
	clearerr(stdout);
	(void)dup2(saved, STDOUT_FILENO);
	(void)close(saved);
	(void)close(full);
	return code;
}

FIXTURE_TEST(top_exit_status_reflects_run_and_write_errors)
{
	top_code = EXIT_CODE_NO_TARGET;
	assert_int_equal(top("-p 1"), EXIT_CODE_NO_TARGET);
	assert_int_equal(top_on_full_disk(), EXIT_CODE_NO_TARGET);
	top_code = EXIT_CODE_OK;
	assert_int_equal(top_on_full_disk(), EXIT_CODE_FAILURE);
	assert_non_null(strstr(result.error, "cannot write the frames: No space left on device"));
	top_write_error = EFBIG;
	assert_int_equal(top_on_full_disk(), EXIT_CODE_FAILURE);
	assert_non_null(strstr(result.error, "cannot write the frames: File too large"));
}

FIXTURE_TEST(top_fails_without_memory_before_start)
{
	memory_fails_after(0);
	assert_int_equal(top("a.rec"), EXIT_CODE_FAILURE);
	memory_never_fails();
	assert_int_equal(asked.runs, 0);
	assert_non_null(strstr(result.error, "cannot start: Cannot allocate memory"));
}
