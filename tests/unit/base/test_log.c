/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit_test.h"

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

TEST(log_prefixes_priority_if_stderr_is_journal)
{
	expect_line(0, "<4>correlator: warning: disk 5\n");
}

TEST(log_omits_priority_if_stderr_is_not_journal)
{
	expect_line(1, "correlator: warning: disk 5\n");
}

/* What is said of each level, for a journal or not. */
static void say_all(bool is_journal, char *ret_said, size_t said_bytes)
{
	struct ears ears = ears_open();
	struct stat status;
	char stream[64];

	assert_int_equal(fstat(STDERR_FILENO, &status), 0);
	(void)snprintf(stream, sizeof(stream), "%llu:%llu", (unsigned long long)status.st_dev,
		       (unsigned long long)status.st_ino);
	assert_int_equal(setenv("JOURNAL_STREAM", is_journal ? stream : "", 1), 0);
	log_detect_journal();
	for (int i = 0; i < 9; i++)
		log_raise_level();
	(void)log_error(EIO, "one");
	log_warning("two");
	log_info("three");
	log_debug("four");
	log_line(LOG_LEVEL_TRACE, "five");
	ears_close(&ears, ret_said, said_bytes);
	(void)unsetenv("JOURNAL_STREAM");
	log_detect_journal();
	log_set_level(LOG_LEVEL_INFO);
}

TEST(log_levels_have_own_prefix_and_priority)
{
	char said[1024];

	say_all(false, said, sizeof(said));
	assert_string_equal(said, "correlator: error: one\ncorrelator: warning: two\n"
				  "correlator: three\ncorrelator: debug: four\n"
				  "correlator: trace: five\n");
	say_all(true, said, sizeof(said));
	assert_string_equal(said, "<3>correlator: error: one\n<4>correlator: warning: two\n"
				  "<6>correlator: three\n<7>correlator: debug: four\n"
				  "<7>correlator: trace: five\n");
}

TEST(log_prefixes_location_until_cleared)
{
	char place[4096], said[4096];
	struct ears ears = ears_open();

	memset(place, 'x', sizeof(place) - 1);
	place[sizeof(place) - 1] = '\0';
	log_set_place("some.conf:3");
	(void)log_error(EINVAL, "one");
	log_warning("two");
	log_set_place(NULL);
	log_info("three");
	/* The message has room. */
	log_set_place(place);
	log_info("four");
	log_set_place(NULL);
	ears_close(&ears, said, sizeof(said));
	assert_ptr_equal(strstr(said, "correlator: error: some.conf:3: one\n"
				      "correlator: warning: some.conf:3: two\n"
				      "correlator: three\n"),
			 said);
	assert_non_null(strstr(said, "x: four\n"));
}

/* A target, a file or a collector chose the bytes. */
TEST(log_escapes_message_to_single_line)
{
	struct ears ears = ears_open();
	char said[2048];

	log_warning("pid 7 (%s)", "x)\n<1>forged");
	(void)log_error_errno(ENOENT, "cannot open %s", "/tmp/\x1b]0;title\a\xff\u202e");
	log_set_place("a\rb.conf:3");
	log_info("%s", "caf\u00e9\u2066");
	log_set_place(NULL);
	ears_close(&ears, said, sizeof(said));
	assert_string_equal(said, "correlator: warning: pid 7 (x)\\x0a<1>forged)\n"
				  "correlator: error: cannot open /tmp/\\x1b]0;title\\x07\\xff"
				  "\\xe2\\x80\\xae: No such file or directory\n"
				  "correlator: a\\x0db.conf:3: caf\u00e9\\xe2\\x81\\xa6\n");
}

/* Escaped it is longer: it is cut between two characters, and the line still ends. */
TEST(log_truncates_escaped_line_at_character_boundary)
{
	char name[4096], said[8192];

	for (size_t length = 0; length < 6; length++) {
		struct ears ears = ears_open();

		memset(name, '\x1b', sizeof(name) - 1);
		memset(name, 'x', length);
		name[sizeof(name) - 1] = '\0';
		(void)log_error_errno(ENOENT, "%s", name);
		ears_close(&ears, said, sizeof(said));
		assert_true(strlen(said) <= 2048);
		assert_string_equal(said + strlen(said) - 5, "\\x1b\n");
	}
}

TEST(log_level_filters_all_but_errors)
{
	struct ears ears = ears_open();
	char said[256];

	log_set_level(LOG_LEVEL_ERROR);
	log_warning("two");
	assert_int_equal(log_error(EIO, "one"), -EIO);
	log_set_level(LOG_LEVEL_WARNING);
	log_info("three");
	log_warning("four");
	log_raise_level();
	log_info("five");
	log_debug("six");
	ears_close(&ears, said, sizeof(said));
	assert_string_equal(said, "correlator: error: one\ncorrelator: warning: four\n"
				  "correlator: five\n");
}

TEST(log_error_returns_negative_errno)
{
	struct ears ears = ears_open();
	char said[512], expected[512];

	assert_int_equal(log_error(ENOENT, "a %d", 7), -ENOENT);
	assert_int_equal(log_error(-ENOENT, "b"), -ENOENT);
	assert_int_equal(log_error(0, "c"), -EIO);
	assert_int_equal(log_error_errno(ENOENT, "d"), -ENOENT);
	assert_int_equal(log_error_errno(-ENOENT, "e %d", 5), -ENOENT);
	assert_int_equal(log_error_errno(0, "f"), -EIO);
	ears_close(&ears, said, sizeof(said));
	(void)snprintf(expected, sizeof(expected),
		       "correlator: error: a 7\ncorrelator: error: b\ncorrelator: error: c\n"
		       "correlator: error: d: %s\ncorrelator: error: e 5: %s\n"
		       "correlator: error: f: Input/output error\n",
		       strerror(ENOENT), strerror(ENOENT));
	assert_string_equal(said, expected);
}

/* What a write to a pipe does at once, and no line mixed into another. */
TEST(log_truncates_overlong_line_and_keeps_newline)
{
	char text[4096], said[8192];
	struct ears ears;

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
TEST(log_drops_lines_if_stderr_is_full_and_reports_count)
{
	const size_t room_bytes = 65536;
	int saved = dup(STDERR_FILENO), fds[2];
	char said[1024] = "", skipped[4096];
	ssize_t got;

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
