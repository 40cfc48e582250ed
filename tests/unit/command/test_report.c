/* SPDX-License-Identifier: GPL-2.0-only */
/* report on a terminal, and without memory. Its output is in cases/report.txt. */
#include <fcntl.h>
#include <pty.h>
#include <stdbool.h>
#include <stdlib.h>

#include "unit_test.h"

#include "base/clock.h"
#include "command/command.h"
#include "command_line.h"
#include "failing_memory.h"
#include "record/golden.h"
#include "requests/open_requests.h"

UNIT_TEST_ALONE;

enum {
	SCREEN_BYTES = 65536
};

static struct command_result result;
static char recording[4096];

/* Hours go by. */
uint64_t clock_monotonic_ns(void)
{
	static uint64_t now_ns;

	return now_ns += 3600 * NS_PER_S;
}

static int setup(void **state)
{
	(void)state;
	(void)unsetenv("COLUMNS");
	(void)unsetenv("NO_COLOR");
	golden_path("shop.rec", recording, sizeof(recording));
	return 0;
}

/* On the golden recording, with these options. */
static int report(const char *arguments)
{
	char line[6000];

	(void)snprintf(line, sizeof(line), "report %s", arguments);
	command_run_with(command_report, line, recording, &result);
	return result.code;
}

static void says(const char *text)
{
	if (!strstr(result.error, text))
		fail_msg("`%s' is not in:\n%s", text, result.error);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, NULL)

/* A recording of so many requests: its path. */
static const char *record_requests(unsigned int count)
{
	static char path[32];
	FILE *file;

	(void)strcpy(path, "/tmp/test_report-XXXXXX");
	file = fdopen(mkstemp(path), "w");
	assert_non_null(file);
	for (unsigned int i = 0; i < count; i++)
		(void)fprintf(file,
			      "\x92\xd7%c\x65\x53\xf1%c%c%c%c%c\x87\xa6schema\x01\xa4kind\xa3"
			      "cpu\xa9record_id\xac"
			      "b:1:1:%06u\xa9host_name\xa3web\xa3pid\x07"
			      "\xaarequest_id\xa6%06u\xa6"
			      "cpu_ns%c",
			      0, 1, 0, 0, 0, 0, i, i, i == 7 ? 127 : 1);
	assert_int_equal(fclose(file), 0);
	return path;
}

/* What a terminal is given as standard error, with standard output on one, too, or elsewhere. */
static const char *report_with_progress(char *option, const char *path, bool is_on_screen)
{
	const struct winsize size = { .ws_row = 25, .ws_col = 80 };
	char *words[] = { "report", option, (char *)path, NULL };
	int screen, program, saved[] = { dup(STDOUT_FILENO), dup(STDERR_FILENO) };
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
	static char said[SCREEN_BYTES];
	size_t used = 0;
	ssize_t got;

	assert_int_equal(openpty(&screen, &program, NULL, NULL, &size), 0);
	(void)fflush(stdout);
	(void)dup2(is_on_screen ? program : nowhere, STDOUT_FILENO);
	(void)dup2(program, STDERR_FILENO);
	(void)command_report(3, words);
	(void)fflush(stdout);
	(void)dup2(saved[0], STDOUT_FILENO);
	(void)dup2(saved[1], STDERR_FILENO);
	(void)close(saved[0]);
	(void)close(saved[1]);
	(void)close(nowhere);
	(void)close(program);
	/* To its end, as nobody has it any more. */
	while ((got = read(screen, said + used, sizeof(said) - 1 - used)) > 0)
		used += (size_t)got;
	said[used] = '\0';
	(void)close(screen);
	return said;
}

FIXTURE_TEST(report_shows_progress_on_terminal_and_clears_it)
{
	const char *path = record_requests(2050), *said;
	char expected[64];

	(void)snprintf(expected, sizeof(expected), "%s: 97.0 KiB of 194.2 KiB (", path);
	said = report_with_progress("--by=tid", path, true);
	assert_memory_equal(said, expected, strlen(expected));
	assert_non_null(strstr(said, " records/s\033[K\r"));
	said = strstr(said, "\r\033[K");
	assert_non_null(said);
	assert_null(strstr(said, "records/s"));
	assert_non_null(strstr(said, "total"));
	said = report_with_progress("--alert=lost>0", path, false);
	assert_memory_equal(said, expected, strlen(expected));
	/* It would be among what is printed. */
	assert_string_equal(report_with_progress("--alert=lost>0", path, true), "");
	assert_int_equal(unlink(path), 0);
}

/* Returns its output by endpoint on a terminal of this many columns. */
static const char *report_on_screen(unsigned short columns)
{
	const struct winsize size = { .ws_row = 25, .ws_col = columns };
	char *words[] = { "report", "--by=endpoint", recording, NULL };
	int screen, program, saved = dup(STDOUT_FILENO);
	static char shown[SCREEN_BYTES];
	size_t used = 0;
	ssize_t got;

	assert_int_equal(openpty(&screen, &program, NULL, NULL, &size), 0);
	(void)fflush(stdout);
	(void)dup2(program, STDOUT_FILENO);
	assert_int_equal(command_report(3, words), EXIT_CODE_OK);
	(void)fflush(stdout);
	(void)dup2(saved, STDOUT_FILENO);
	(void)close(saved);
	(void)close(program);
	while ((got = read(screen, shown + used, sizeof(shown) - 1 - used)) > 0)
		used += (size_t)got;
	shown[used] = '\0';
	(void)close(screen);
	return shown;
}

/* The columns of its widest line. */
static size_t width_of(const char *shown)
{
	size_t widest = 0;

	for (const char *line = shown; *line; line += strcspn(line, "\n") + 1) {
		size_t width = 0;

		for (const char *c = line; *c != '\n'; c++)
			width += (*c & 0xc0) != 0x80 && *c != '\r';
		if (width > widest)
			widest = width;
	}
	return widest;
}

/* A terminal that does not say its width, or a small one, is treated as a file is: all columns, and
 * text of 100. */
FIXTURE_TEST(report_width_follows_terminal_without_columns_variable)
{
	static const char long_line[] = "the map was full, or the family's share; in overflow; at "
					"most 5.000 ms";

	(void)setenv("NO_COLOR", "1", 1);
	assert_in_range(width_of(report_on_screen(40)), 35, 40);
	assert_in_range(width_of(report_on_screen(120)), 110, 120);
	assert_true(width_of(report_on_screen(19)) > 300);
	assert_null(strstr(report_on_screen(0), long_line));
	assert_true(width_of(report_on_screen(20)) < 40);
	assert_non_null(strstr(report_on_screen(1001), long_line));
	(void)setenv("COLUMNS", "77", 1);
	assert_in_range(width_of(report_on_screen(120)), 67, 77);
}

FIXTURE_TEST(report_on_terminal_is_bold_unless_no_color_is_set)
{
	assert_non_null(strstr(report_on_screen(80), "\033[1m"));
	(void)setenv("NO_COLOR", "", 1);
	assert_non_null(strstr(report_on_screen(80), "\033[1m"));
	(void)setenv("NO_COLOR", "1", 1);
	assert_null(strchr(report_on_screen(80), '\033'));
}

/* Whichever piece of it is missing, once. */
static void without_memory_it_fails(const char *arguments)
{
	size_t given = 0;

	for (;; given++) {
		memory_fails_once_after(given);
		(void)report(arguments);
		memory_never_fails();
		if (!memory_failures())
			break;
		assert_int_equal(result.code, EXIT_CODE_FAILURE);
		says("Cannot allocate memory");
	}
	assert_int_equal(result.code, EXIT_CODE_OK);
	assert_true(given > 10);
}

FIXTURE_TEST(report_alert_fails_without_memory)
{
	size_t given = 0;

	for (;; given++) {
		memory_fails_once_after(given);
		(void)report("--alert lost>1000");
		memory_never_fails();
		if (!memory_failures())
			break;
		assert_true(result.code == EXIT_CODE_FAILURE || result.code == EXIT_CODE_USAGE);
		says("Cannot allocate memory");
	}
	assert_int_equal(result.code, EXIT_CODE_OK);
	assert_true(given > 5);
}

FIXTURE_TEST(report_fails_without_memory_in_each_mode)
{
	char line[5000];

	without_memory_it_fails("--by tid");
	without_memory_it_fails("--request req-1");
	without_memory_it_fails("--over-time");
	without_memory_it_fails("--slowest=99%");
	(void)snprintf(line, sizeof(line), "--diff %s", recording);
	without_memory_it_fails(line);
}
