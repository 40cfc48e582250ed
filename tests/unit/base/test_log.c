/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

#include "base/log.h"
#include "ears.h"

/* Logs with stderr as a pipe that JOURNAL_STREAM names, or, shifted, does not. */
static void expect_line(unsigned int shift, const char *expected)
{
	int saved = dup(STDERR_FILENO), fds[2];
	char stream[64], line[256] = "";
	struct stat status;

	assert_int_equal(pipe(fds), 0);
	assert_int_equal(fstat(fds[1], &status), 0);
	(void)snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)status.st_dev,
		       (unsigned long long)status.st_ino + shift);
	assert_int_equal(setenv("JOURNAL_STREAM", stream, 1), 0);
	assert_true(dup2(fds[1], STDERR_FILENO) >= 0);
	log_detect_journal();
	log_warning("disk %d", 5);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	assert_true(read(fds[0], line, sizeof(line) - 1) > 0);
	assert_string_equal(line, expected);
	(void)close(saved);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void the_journal_is_told_the_priority(void **state)
{
	(void)state;
	expect_line(0, "<4>correlator: warning: disk 5\n");
}

static void another_stderr_is_not(void **state)
{
	(void)state;
	expect_line(1, "correlator: warning: disk 5\n");
}

/* What a write to a pipe does at once, and no line mixed into another. */
static void a_line_that_is_too_long_is_cut_and_ends(void **state)
{
	char text[4096], said[8192];
	struct ears ears;

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (int has_reason = 0; has_reason <= 1; has_reason++) {
		ears = ears_open();
		if (has_reason)
			(void)log_error_errno(EIO, "%s", text);
		else
			log_warning("%s", text);
		log_warning("next");
		ears_close(&ears, said, sizeof(said));
		assert_in_range(strcspn(said, "\n"), 2000, 2047);
		assert_string_equal(strchr(said, '\n'), "\ncorrelator: warning: next\n");
	}
}

static void fill(int fd)
{
	const char byte = '\0';

	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	while (write(fd, &byte, 1) > 0)
		continue;
	assert_int_equal(fcntl(fd, F_SETFL, 0), 0);
}

/* Without end, if it waited: the alarm's. */
static void a_stderr_that_is_full_costs_lines_and_says_how_many(void **state)
{
	const size_t room_bytes = 65536;
	int saved = dup(STDERR_FILENO), fds[2];
	char said[1024] = "", skipped[4096];
	ssize_t got;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(fcntl(fds[1], F_SETPIPE_SZ, room_bytes), room_bytes);
	fill(fds[1]);
	assert_int_equal(setenv("JOURNAL_STREAM", "", 1), 0);
	log_detect_journal();
	(void)alarm(60);
	assert_true(dup2(fds[1], STDERR_FILENO) >= 0);
	for (int i = 0; i < 1000; i++)
		log_warning("%d", i);
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	for (size_t size = 0; size < room_bytes; size += (size_t)got) {
		got = read(fds[0], skipped, sizeof(skipped));
		assert_true(got > 0);
	}
	assert_true(dup2(fds[1], STDERR_FILENO) >= 0);
	log_warning("on");
	log_warning("and on");
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	(void)close(fds[1]);
	for (char *end = said; (got = read(fds[0], end, 100)) > 0; end += got)
		continue;
	assert_string_equal(said, "correlator: warning: 1000 lines were not written: nobody read\n"
				  "correlator: warning: on\ncorrelator: warning: and on\n");
	(void)alarm(0);
	(void)close(saved);
	(void)close(fds[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_journal_is_told_the_priority),
		cmocka_unit_test(another_stderr_is_not),
		cmocka_unit_test(a_line_that_is_too_long_is_cut_and_ends),
		cmocka_unit_test(a_stderr_that_is_full_costs_lines_and_says_how_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
