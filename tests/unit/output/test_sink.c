#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

#include "output/sink.h"

static char directory[] = "/tmp/test_sink.XXXXXX";
static char path[sizeof(directory) + 16];

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/out.rec", directory);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(directory);
}

static void expect_content(const char *expected)
{
	char content[256] = "";
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_int_equal(fread(content, 1, sizeof(content) - 1, file), strlen(expected));
	assert_string_equal(content, expected);
	assert_int_equal(fclose(file), 0);
}

static void a_new_file_is_private_and_holds_what_was_written(void **state)
{
	struct sink *sink = NULL;
	struct stat status;

	(void)state;
	(void)unlink(path);
	assert_int_equal(sink_open(path, &sink), 0);
	assert_int_equal(sink_write(sink, "one", 3), 0);
	assert_int_equal(sink_write(sink, "two", 3), 0);
	assert_int_equal(sink_close(sink), 0);
	expect_content("onetwo");
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_int_equal(sink_open(path, &sink), 0);
	assert_int_equal(sink_close(sink), 0);
	expect_content("");
}

static void a_full_disk_is_an_error_that_stays(void **state)
{
	struct sink *sink = NULL;

	(void)state;
	assert_int_equal(sink_open("/dev/full", &sink), 0);
	assert_int_equal(sink_write(sink, "one", 3), -ENOSPC);
	assert_int_equal(sink_write(sink, "two", 3), -ENOSPC);
	assert_int_equal(sink_close(sink), 0);
}

/* The file size limit makes the kernel accept a part of a write, as a filling disk does. */
static void the_partial_tail_of_a_failed_write_is_cut_off(void **state)
{
	struct rlimit old, small = { 8, 0 };
	struct sink *sink = NULL;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small.rlim_max = old.rlim_max;
	assert_int_equal(sink_open(path, &sink), 0);
	assert_int_equal(sink_write(sink, "entry1", 6), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(sink_write(sink, "entry2", 6), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(sink_close(sink), 0);
	expect_content("entry1");
}

static void a_folder_that_does_not_exist_is_an_error(void **state)
{
	struct sink *sink = NULL;

	(void)state;
	assert_int_equal(sink_open("/nonexistent/out.rec", &sink), -ENOENT);
	assert_null(sink);
}

/* Runs with standard output replaced by fd, and puts it back. */
static int write_to_stdout(int fd, const char *text)
{
	int saved = dup(STDOUT_FILENO);
	struct sink *sink = NULL;
	int r;

	(void)fflush(stdout);
	assert_true(saved >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
	r = sink_open("-", &sink);
	if (r == 0) {
		r = sink_write(sink, text, strlen(text));
		(void)sink_close(sink);
	}
	assert_true(dup2(saved, STDOUT_FILENO) >= 0);
	assert_int_equal(close(saved), 0);
	return r;
}

static void a_pipe_without_a_reader_gives_epipe(void **state)
{
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(close(fds[0]), 0);
	assert_int_equal(write_to_stdout(fds[1], "one"), -EPIPE);
	assert_int_equal(close(fds[1]), 0);
}

static void standard_output_stays_open_and_keeps_what_was_there(void **state)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "before,", 7), 7);
	assert_int_equal(write_to_stdout(fd, "one"), 0);
	assert_int_equal(write_to_stdout(fd, "two"), 0);
	assert_int_equal(close(fd), 0);
	expect_content("before,onetwo");
}

static void a_terminal_is_refused(void **state)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);
	int fd;

	(void)state;
	assert_true(terminal >= 0);
	assert_int_equal(grantpt(terminal), 0);
	assert_int_equal(unlockpt(terminal), 0);
	fd = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write_to_stdout(fd, "one"), -ENOTTY);
	assert_int_equal(close(fd), 0);
	assert_int_equal(close(terminal), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_file_is_private_and_holds_what_was_written),
		cmocka_unit_test(a_full_disk_is_an_error_that_stays),
		cmocka_unit_test(the_partial_tail_of_a_failed_write_is_cut_off),
		cmocka_unit_test(a_folder_that_does_not_exist_is_an_error),
		cmocka_unit_test(a_pipe_without_a_reader_gives_epipe),
		cmocka_unit_test(standard_output_stays_open_and_keeps_what_was_there),
		cmocka_unit_test(a_terminal_is_refused),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
