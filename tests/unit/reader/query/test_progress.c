/* SPDX-License-Identifier: GPL-2.0-only */
#include <fcntl.h>
#include <pty.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "unit_test.h"

#include "reader/query/progress.h"

enum {
	CALLS = 1024, /* between two looks at the clock */
	MIB = 1 << 20,
};

static int kept_stderr = -1, terminal = -1;
static char path[] = "/tmp/test_progress-XXXXXX";

static int setup(void **state)
{
	struct winsize size = { .ws_col = 60, .ws_row = 10 };
	int end, file;

	(void)state;
	(void)strcpy(path, "/tmp/test_progress-XXXXXX");
	file = mkstemp(path);
	if (file < 0 || ftruncate(file, 2 * MIB) < 0 || close(file) < 0 ||
	    openpty(&terminal, &end, NULL, NULL, &size) < 0)
		return -1;
	kept_stderr = dup(STDERR_FILENO);
	(void)dup2(end, STDERR_FILENO);
	(void)close(end);
	return fcntl(terminal, F_SETFL, O_NONBLOCK);
}

static int teardown(void **state)
{
	(void)state;
	(void)dup2(kept_stderr, STDERR_FILENO);
	(void)close(kept_stderr);
	(void)close(terminal);
	return unlink(path);
}

/* What the terminal has been given since. */
static const char *said(void)
{
	static char text[4096];
	ssize_t got = read(terminal, text, sizeof(text) - 1);

	text[got > 0 ? got : 0] = '\0';
	return text;
}

static void tell_often(struct progress *progress, uint64_t bytes)
{
	for (int i = 0; i < CALLS; i++)
		progress_tell(progress, bytes, 5000);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(progress_is_shown_after_delay_and_erased_at_end)
{
	struct progress progress;
	const char *text;

	progress_begin(&progress, path, "name\033");
	assert_int_equal(progress.next_ns - progress.begin_ns, 1000000000);
	assert_int_equal(progress.total_bytes, 2 * MIB);
	progress.next_ns = UINT64_MAX;
	tell_often(&progress, MIB);
	assert_string_equal(said(), "");
	/* 5000 records since the clock began: few a second. */
	progress.next_ns = 1;
	progress.begin_ns = 1;
	tell_often(&progress, MIB);
	text = said();
	assert_memory_equal(text, "name\\x1b: 1.0 MiB of 2.0 MiB (50 %), ", 36);
	assert_non_null(strstr(text, " records/s\033[K\r"));
	/* And not again at once. */
	assert_true(progress.next_ns > 200000000);
	progress.next_ns = UINT64_MAX;
	tell_often(&progress, 2 * MIB);
	assert_string_equal(said(), "");
	progress.next_ns = 1;
	tell_often(&progress, 3 * MIB);
	assert_non_null(strstr(said(), "(100 %)"));
	progress_end(&progress);
	assert_string_equal(said(), "\033[K");
	progress_end(&progress);
	assert_string_equal(said(), "");
}

FIXTURE_TEST(progress_line_fits_terminal_width)
{
	struct winsize size = { .ws_col = 20, .ws_row = 10 };
	struct progress progress;

	assert_int_equal(ioctl(terminal, TIOCSWINSZ, &size), 0);
	progress_begin(&progress, path, "a name that is long");
	progress.next_ns = 1;
	tell_often(&progress, MIB);
	assert_int_equal(strlen(said()), 19 + 2 + strlen("\033[K\r")); /* "…" is 3 bytes */
	progress_end(&progress);
}

FIXTURE_TEST(progress_of_pipe_shows_no_percentage)
{
	struct progress progress;

	progress_begin(&progress, "/dev/null", "name");
	assert_int_equal(progress.total_bytes, 0);
	progress.next_ns = 1;
	tell_often(&progress, MIB);
	assert_memory_equal(said(), "name: 1.0 MiB, ", 15);
	progress_end(&progress);
}

FIXTURE_TEST(progress_erases_nothing_if_never_shown)
{
	struct progress progress;

	progress_begin(&progress, path, "name");
	progress_end(&progress);
	assert_string_equal(said(), "");
}

FIXTURE_TEST(progress_is_silent_without_terminal)
{
	struct progress progress;
	int ends[2];
	char byte;

	assert_int_equal(pipe2(ends, O_NONBLOCK), 0);
	(void)dup2(ends[1], STDERR_FILENO);
	progress_begin(&progress, path, "name");
	assert_int_equal(progress.begin_ns, 0);
	tell_often(&progress, MIB);
	progress_end(&progress);
	assert_int_equal(read(ends[0], &byte, 1), -1);
	(void)close(ends[0]);
	(void)close(ends[1]);
}
