/* SPDX-License-Identifier: GPL-2.0-only */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_journal_is_told_the_priority),
		cmocka_unit_test(another_stderr_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
