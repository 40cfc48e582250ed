/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/clock.h"
#include "base/signals.h"
#include "ears.h"
#include "failing_memory.h"
#include "numbered_entries.h"
#include "record/check.h"
#include "recorder/queue/sink.h"

UNIT_TEST_ALONE;

static char directory[] = "/tmp/test_sink.XXXXXX";
static char path[sizeof(directory) + 16];

#define AT(name, is_overwritten) \
	(&(struct sink_file){ .path = (name), .overwrites = (is_overwritten) })

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

/* That the file holds entries of the first so many numbers. */
static void expect_numbers(size_t count)
{
	struct numbered_entry entries[16];
	FILE *file = fopen(path, "r");

	assert_non_null(file);
	assert_int_equal(fread(entries, sizeof(entries[0]), 16, file), count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(entry_number(entries, i), i);
	assert_int_equal(fclose(file), 0);
}

static int begin_limited(void **state);
static int end_limited(void **state);

#define FIXTURE_TEST(test) TEST_WITH(test, begin_limited, end_limited)

TEST(sink_new_file_is_private_and_holds_written_data)
{
	struct sink *sink = NULL;
	struct stat status;

	(void)unlink(path);
	assert_int_equal(sink_open(AT(path, false), &sink), 0);
	sink_write(sink, "one", 3, 1);
	sink_write(sink, "two", 3, 1);
	assert_int_equal(sink_close(sink, NULL), 0);
	expect_content("onetwo");
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
}

static void put(const char *content)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fchmod(fileno(file), 0600), 0);
	assert_int_equal(fputs(content, file) < 0, 0);
	assert_int_equal(fclose(file), 0);
}

TEST(sink_overwrites_only_if_forced_and_on_first_write)
{
	struct sink *sink = NULL;

	put("an old recording");
	assert_int_equal(sink_check(AT(path, false)), -EEXIST);
	assert_int_equal(sink_open(AT(path, false), &sink), -EEXIST);
	assert_null(sink);
	expect_content("an old recording");
	assert_int_equal(sink_check(AT(path, true)), 0);
	assert_int_equal(sink_open(AT(path, true), &sink), 0);
	expect_content("an old recording");
	assert_int_equal(sink_close(TAKE_PTR(sink), NULL), 0);
	expect_content("an old recording");
	assert_int_equal(sink_open(AT(path, true), &sink), 0);
	sink_write(sink, "new", 3, 1);
	sink_write(sink, "er", 2, 1);
	assert_int_equal(sink_close(sink, NULL), 0);
	expect_content("newer");
}

TEST(sink_opens_empty_file_without_force)
{
	struct sink *sink = NULL;

	put("");
	assert_int_equal(sink_check(AT(path, false)), 0);
	assert_int_equal(sink_open(AT(path, false), &sink), 0);
	assert_int_equal(sink_close(sink, NULL), 0);
}

TEST(sink_check_creates_no_file)
{
	(void)unlink(path);
	assert_int_equal(sink_check(AT(path, false)), 0);
	assert_int_equal(access(path, F_OK), -1);
	assert_int_equal(sink_check(AT("/nonexistent/out.rec", false)), 0);
	assert_int_equal(sink_check(AT("-", false)), 0);
}

/* Also by another path to it, and whoever may overwrite it; and not a moment longer. */
TEST(sink_refuses_second_writer_of_file)
{
	char other[sizeof(path) + 8];
	struct sink *first = NULL, *second = NULL;

	(void)snprintf(other, sizeof(other), "%s/./out.rec", directory);
	put("");
	assert_int_equal(sink_open(AT(path, false), &first), 0);
	sink_write(first, "one", 3, 1);
	assert_int_equal(sink_check(AT(other, true)), -EWOULDBLOCK);
	assert_int_equal(sink_open(AT(other, true), &second), -EWOULDBLOCK);
	assert_null(second);
	sink_write(first, "two", 3, 1);
	assert_int_equal(sink_close(TAKE_PTR(first), NULL), 0);
	expect_content("onetwo");
	assert_int_equal(sink_open(AT(other, true), &second), 0);
	assert_int_equal(sink_close(TAKE_PTR(second), NULL), 0);
}

/* base/output_file.h has the reasons; to be told before anything is recorded, and with --force. */
TEST(sink_refuses_symlink_and_file_others_can_read)
{
	struct sink *sink = NULL;

	put("");
	assert_int_equal(chmod(path, 0644), 0);
	assert_int_equal(sink_check(AT(path, true)), -EPERM);
	assert_int_equal(sink_open(AT(path, true), &sink), -EPERM);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/dev/null", path), 0);
	assert_int_equal(sink_check(AT(path, true)), -EPERM);
	assert_int_equal(sink_open(AT(path, true), &sink), -EPERM);
	assert_int_equal(unlink(path), 0);
	assert_null(sink);
}

static const char *late_words; /* of another writer, just before it lets go of the file */
static int lock_error; /* of a file system without locks; 0 = none */

/* Instead of libc's. */
int flock(int fd, int operation)
{
	if (late_words) {
		FILE *file = fopen(path, "ae");

		(void)fputs(late_words, file);
		(void)fclose(file);
		late_words = NULL;
	}
	if (lock_error) {
		errno = lock_error;
		return -1;
	}
	return (int)syscall(SYS_flock, fd, operation);
}

TEST(sink_keeps_data_written_just_before_lock)
{
	struct sink *sink = NULL;

	put("");
	late_words = "the last";
	assert_int_equal(sink_open(AT(path, false), &sink), -EEXIST);
	assert_null(sink);
	expect_content("the last");
}

TEST(sink_warns_and_writes_file_that_cannot_be_locked)
{
	struct sink *sink = NULL;
	struct ears ears;
	char said[512];

	put("");
	ears = ears_open();
	lock_error = ENOLCK;
	assert_int_equal(sink_open(AT(path, true), &sink), 0);
	lock_error = 0;
	ears_close(&ears, said, sizeof(said));
	assert_non_null(strstr(said, path));
	assert_non_null(strstr(said, strerror(ENOLCK)));
	sink_write(sink, "one", 3, 1);
	assert_int_equal(sink_close(sink, NULL), 0);
	expect_content("one");
}

TEST(sink_locks_named_pipe_but_not_device)
{
	struct sink *first = NULL, *second = NULL;
	int reader;

	(void)unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(reader >= 0);
	assert_int_equal(sink_check(AT(path, false)), 0);
	assert_int_equal(sink_open(AT(path, false), &first), 0);
	assert_int_equal(sink_open(AT(path, false), &second), -EWOULDBLOCK);
	assert_int_equal(sink_close(TAKE_PTR(first), NULL), 0);
	assert_int_equal(close(reader), 0);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(sink_open(AT("/dev/null", false), &first), 0);
	assert_int_equal(sink_open(AT("/dev/null", false), &second), 0);
	sink_write(first, "one", 3, 1);
	assert_int_equal(sink_close(first, NULL), 0);
	assert_int_equal(sink_close(second, NULL), 0);
}

static struct sink_status status_of(const struct sink *sink)
{
	struct sink_status status;

	sink_get_status(sink, &status);
	return status;
}

/* Instead of libc's: a clock that stands, until it is put forward. */
static uint64_t now_ns = 1000 * NS_PER_S;

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	if (clock != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, clock, ret_time);
	*ret_time = clock_timespec(now_ns);
	return 0;
}

/* And not a moment before. */
static void await_next_try(struct sink *sink)
{
	uint64_t failures = status_of(sink).failures;

	assert_int_equal(sink_due_ns(sink), now_ns + NS_PER_S);
	now_ns += NS_PER_S - 1;
	sink_flush(sink);
	assert_int_equal(status_of(sink).failures, failures);
	assert_true(sink_due_ns(sink) != UINT64_MAX);
	now_ns++;
}

TEST(sink_buffers_and_retries_after_pause_on_full_disk)
{
	struct numbered_entry entry = number_entry(7);
	struct sink *sink = NULL;

	assert_int_equal(sink_open(AT("/dev/full", false), &sink), 0);
	assert_true(sink_due_ns(sink) == UINT64_MAX);
	sink_write(sink, &entry, sizeof(entry), 1);
	sink_write(sink, &entry, sizeof(entry), 1);
	assert_int_equal(status_of(sink).failures, 1);
	assert_int_equal(status_of(sink).waiting_bytes, 2 * sizeof(entry));
	assert_int_equal(status_of(sink).dropped_records, 0);
	assert_int_equal(sink_fd(sink), -1);
	for (uint64_t failures = 2; failures <= 3; failures++) {
		await_next_try(sink);
		sink_flush(sink);
		assert_int_equal(status_of(sink).failures, failures);
	}
	assert_int_equal(sink_close(sink, NULL), -EIO);
}

/* The file size limit makes the kernel accept a part of a write, as a filling disk does. */
TEST(sink_cuts_partial_record_and_resumes_when_space_returns)
{
	const struct numbered_entry entries[] = { number_entry(0), number_entry(1),
						  number_entry(2) };
	struct ears ears = ears_open();
	char said[1024], expected[1024];
	struct rlimit old, small = { sizeof(entries[0]) * 5 / 2, 0 };
	struct sink *sink = NULL;
	struct stat status;

	(void)unlink(path);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small.rlim_max = old.rlim_max;
	assert_int_equal(sink_open(AT(path, false), &sink), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	sink_write(sink, entries, sizeof(entries), 3);
	assert_int_equal(status_of(sink).failures, 1);
	assert_int_equal(status_of(sink).waiting_bytes, sizeof(entries[0]));
	assert_int_equal(status_of(sink).written_records, 2);
	for (uint64_t failures = 2; failures <= 3; failures++) {
		await_next_try(sink);
		sink_flush(sink);
		assert_int_equal(status_of(sink).failures, failures);
	}
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_size, 2 * sizeof(entries[0]));
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	await_next_try(sink);
	sink_flush(sink);
	assert_int_equal(status_of(sink).waiting_bytes, 0);
	assert_int_equal(status_of(sink).written_records, 3);
	assert_true(sink_due_ns(sink) == UINT64_MAX);
	assert_int_equal(sink_close(sink, NULL), 0);
	expect_numbers(3);
	ears_close(&ears, said, sizeof(said));
	(void)snprintf(expected, sizeof(expected),
		       "correlator: error: cannot write records to %s: %s; they wait in memory, at "
		       "most 8192 KiB, and it is tried again\n"
		       "correlator: records are written to %s again\n",
		       path, strerror(EFBIG), path);
	assert_string_equal(said, expected);
}

/* Of one write to a file that others append to: what goes, and what somebody else adds then. */
static struct {
	size_t bytes; /* 0 = it is as usual */
	const char *other;
} cut_short;

/* A disk that takes nothing, and does not say why. */
static bool takes_nothing;

/* Instead of libc's. */
ssize_t write(int fd, const void *bytes, size_t size_bytes)
{
	if (takes_nothing)
		return 0;
	if (!cut_short.bytes)
		return syscall(SYS_write, fd, bytes, size_bytes);
	if (cut_short.other) {
		int other = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);

		(void)syscall(SYS_write, fd, bytes, cut_short.bytes);
		(void)syscall(SYS_write, other, cut_short.other, strlen(cut_short.other));
		(void)close(other);
		cut_short.other = NULL;
		return (ssize_t)cut_short.bytes;
	}
	errno = ENOSPC;
	return -1;
}

/* It is his end of the file by then: ours follows, when there is room again. */
TEST(sink_never_truncates_file_that_others_append_to)
{
	const struct numbered_entry entry = number_entry(7);
	const size_t written = 10;
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
	int saved = dup(STDOUT_FILENO);
	struct sink *sink = NULL;
	uint8_t content[64], expected[64];
	size_t rest = sizeof(entry) - written;
	FILE *file;

	(void)fflush(stdout);
	assert_true(fd >= 0 && saved >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
	assert_int_equal(sink_open(AT("-", false), &sink), 0);
	cut_short.bytes = written;
	cut_short.other = "words";
	sink_write(sink, &entry, sizeof(entry), 1);
	cut_short.bytes = 0;
	assert_int_equal(status_of(sink).failures, 1);
	await_next_try(sink);
	sink_flush(sink);
	assert_int_equal(sink_close(sink, NULL), 0);
	assert_true(dup2(saved, STDOUT_FILENO) >= 0);
	assert_int_equal(close(saved), 0);
	assert_int_equal(close(fd), 0);
	memcpy(expected, &entry, written);
	memcpy(expected + written, "words", 5);
	memcpy(expected + written + 5, (const uint8_t *)&entry + written, rest);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fread(content, 1, sizeof(content), file), sizeof(entry) + 5);
	assert_int_equal(fclose(file), 0);
	assert_memory_equal(content, expected, sizeof(entry) + 5);
}

/* A pipe of one page. */
static struct sink *open_narrow_pipe(int *ret_reader)
{
	struct sink *sink = NULL;

	(void)unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	*ret_reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(*ret_reader >= 0);
	assert_int_equal(sink_open(AT(path, false), &sink), 0);
	assert_true(fcntl(*ret_reader, F_SETPIPE_SZ, 4096) > 0);
	return sink;
}

/* Reads numbers while the sink gives them: how many entries came. */
static size_t take_all(struct sink *sink, int reader, struct numbered_entry *entries, size_t count)
{
	size_t got_bytes = 0;
	ssize_t got;

	do {
		got = read(reader, (char *)entries + got_bytes,
			   count * sizeof(*entries) - got_bytes);
		if (got > 0)
			got_bytes += (size_t)got;
		sink_flush(sink);
	} while (got > 0 || sink_fd(sink) >= 0);
	assert_int_equal(got_bytes % sizeof(*entries), 0);
	return got_bytes / sizeof(*entries);
}

TEST(sink_does_not_block_on_slow_pipe_reader)
{
	enum {
		COUNT = 10000
	};
	struct numbered_entry *entries = calloc(COUNT, sizeof(*entries)), *got;
	int reader;
	struct sink *sink = open_narrow_pipe(&reader);

	got = calloc(COUNT, sizeof(*got));
	assert_true(entries && got);
	for (size_t i = 0; i < COUNT; i++)
		entries[i] = number_entry(i);
	sink_write(sink, entries, COUNT * sizeof(*entries), COUNT);
	assert_true(status_of(sink).waiting_bytes > 0);
	assert_true(sink_fd(sink) >= 0);
	assert_true(sink_due_ns(sink) == UINT64_MAX);
	assert_int_equal(take_all(sink, reader, got, COUNT), COUNT);
	assert_memory_equal(got, entries, COUNT * sizeof(*entries));
	assert_int_equal(status_of(sink).failures, 0);
	assert_int_equal(sink_close(sink, NULL), 0);
	assert_int_equal(close(reader), 0);
	free(entries);
	free(got);
}

TEST(sink_drops_overflow_and_reports_gap_after_it)
{
	enum {
		PART = SINK_WAITING_BYTES / sizeof(struct numbered_entry) / 4
	};
	struct numbered_entry *entries = calloc(PART, sizeof(*entries)), *got;
	struct gap gap;
	int reader;
	struct sink *sink = open_narrow_pipe(&reader);

	got = calloc(8 * PART, sizeof(*got));
	assert_true(entries && got);
	for (uint64_t part = 0; part < 6; part++) {
		for (size_t i = 0; i < PART; i++)
			entries[i] = number_entry(part * PART + i);
		sink_write(sink, entries, PART * sizeof(*entries), PART);
		assert_false(sink_take_gap(sink, &gap));
	}
	assert_true(status_of(sink).waiting_bytes <= SINK_WAITING_BYTES);
	/* A page of the first is in the pipe already: all of four are there. */
	assert_int_equal(status_of(sink).dropped_records, 2 * PART);
	assert_int_equal(take_all(sink, reader, got, 8 * PART), 4 * PART);
	assert_int_equal(entry_number(got, 4 * PART - 1), 4 * PART - 1);
	assert_true(sink_take_gap(sink, &gap));
	assert_int_equal(gap.dropped_records, 2 * PART);
	assert_true(gap.first_ns == numbered_time_ns(4 * PART));
	assert_true(gap.last_ns == numbered_time_ns(6 * PART - 1));
	assert_string_equal(gap.reason, "reader too slow");
	assert_false(sink_take_gap(sink, &gap));
	assert_int_equal(sink_close(sink, NULL), -EIO);
	assert_int_equal(close(reader), 0);
	free(entries);
	free(got);
	assert_int_equal(unlink(path), 0);
}

TEST(sink_drops_record_without_memory_and_writes_next)
{
	struct numbered_entry entries[] = { number_entry(0), number_entry(1) }, got[2];
	struct gap gap;
	int reader;
	struct sink *sink = open_narrow_pipe(&reader);

	memory_fails_once_after(0);
	sink_write(sink, &entries[0], sizeof(entries[0]), 1);
	memory_never_fails();
	assert_int_equal(memory_failures(), 1);
	sink_write(sink, &entries[1], sizeof(entries[1]), 1);
	assert_int_equal(status_of(sink).dropped_records, 1);
	assert_int_equal(take_all(sink, reader, got, 2), 1);
	assert_int_equal(entry_number(got, 0), 1);
	assert_true(sink_take_gap(sink, &gap));
	assert_int_equal(gap.dropped_records, 1);
	assert_int_equal(sink_close(sink, NULL), -EIO);
	assert_int_equal(close(reader), 0);
	assert_int_equal(unlink(path), 0);
}

/* Neither what was written is counted as missing, nor what was not as written. */
TEST(sink_close_logs_records_that_reader_never_took)
{
	enum {
		COUNT = 1000,
		TAKEN = 4096,
	};
	struct numbered_entry *entries = calloc(COUNT, sizeof(*entries));
	char taken[TAKEN], said[1024], expected[256];
	size_t in_pipe_bytes = TAKEN;
	struct sink_status status;
	struct ears ears;
	int reader;
	struct sink *sink = open_narrow_pipe(&reader);

	assert_non_null(entries);
	for (size_t i = 0; i < COUNT; i++)
		entries[i] = number_entry(i);
	sink_write(sink, entries, COUNT * sizeof(*entries), COUNT);
	for (size_t i = 0; i < 2; i++, in_pipe_bytes += TAKEN) {
		assert_int_equal(read(reader, taken, TAKEN), TAKEN);
		sink_flush(sink);
	}
	ears = ears_open();
	assert_int_equal(sink_close(sink, &status), -EIO);
	ears_close(&ears, said, sizeof(said));
	assert_int_equal(status.written_records, in_pipe_bytes / sizeof(*entries));
	assert_int_equal(status.written_records + status.dropped_records, COUNT);
	(void)snprintf(expected, sizeof(expected), "%zu records are missing (reader too slow)",
		       COUNT - in_pipe_bytes / sizeof(*entries));
	assert_non_null(strstr(said, expected));
	assert_int_equal(close(reader), 0);
	free(entries);
	assert_int_equal(unlink(path), 0);
}

TEST(sink_open_of_named_pipe_ends_on_signal)
{
	struct sink *sink = NULL;
	int fd = signals_catch();
	bool is_typed;

	assert_true(fd >= 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(raise(SIGTERM), 0);
	assert_int_equal(sink_open(AT(path, false), &sink), -EINTR);
	assert_null(sink);
	/* It is still there, for who reads it. */
	assert_int_equal(signals_read(fd, &is_typed), SIGTERM);
	assert_int_equal(close(fd), 0);
	assert_int_equal(unlink(path), 0);
}

TEST(sink_open_fails_in_missing_folder)
{
	struct sink *sink = NULL;

	assert_int_equal(sink_open(AT("/nonexistent/out.rec", false), &sink), -ENOENT);
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
	r = sink_open(AT("-", false), &sink);
	if (r == 0) {
		sink_write(sink, text, strlen(text), 1);
		r = sink_close(sink, NULL);
	}
	assert_true(dup2(saved, STDOUT_FILENO) >= 0);
	assert_int_equal(close(saved), 0);
	return r;
}

TEST(sink_close_returns_epipe_for_pipe_without_reader)
{
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(close(fds[0]), 0);
	assert_int_equal(write_to_stdout(fds[1], "one"), -EPIPE);
	assert_int_equal(close(fds[1]), 0);
}

TEST(sink_counts_zero_byte_write_as_failure)
{
	struct sink *sink = NULL;

	assert_int_equal(sink_open(AT(path, false), &sink), 0);
	takes_nothing = true;
	sink_write(sink, "one", 3, 1);
	takes_nothing = false;
	assert_int_equal(status_of(sink).failures, 1);
	assert_int_equal(status_of(sink).waiting_bytes, 3);
	assert_int_equal(sink_close(sink, NULL), 0);
	expect_content("one");
	assert_int_equal(unlink(path), 0);
}

/* It is not ours to make it a pipe that nobody waits for. */
TEST(sink_buffers_nothing_after_reader_is_gone)
{
	int reader;
	struct sink *sink = open_narrow_pipe(&reader);

	assert_int_equal(close(reader), 0);
	for (int i = 0; i < 2; i++) {
		sink_write(sink, "one", 3, 1);
		assert_true(status_of(sink).is_over);
		assert_int_equal(status_of(sink).waiting_bytes, 0);
		assert_int_equal(status_of(sink).written_records, 0);
		assert_int_equal(sink_fd(sink), -1);
	}
	assert_int_equal(sink_close(sink, NULL), -EPIPE);
	assert_int_equal(unlink(path), 0);
}

TEST(sink_does_not_block_on_slow_stdout_reader)
{
	enum {
		COUNT = 10000
	};
	struct numbered_entry *entries = calloc(COUNT, sizeof(*entries));
	int fds[2], saved = dup(STDOUT_FILENO);
	struct sink *sink = NULL;

	assert_non_null(entries);
	for (size_t i = 0; i < COUNT; i++)
		entries[i] = number_entry(i);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	(void)fflush(stdout);
	assert_true(saved >= 0 && dup2(fds[1], STDOUT_FILENO) >= 0);
	(void)alarm(10);
	assert_int_equal(sink_open(AT("-", false), &sink), 0);
	sink_write(sink, entries, COUNT * sizeof(*entries), COUNT);
	assert_true(status_of(sink).waiting_bytes > 0);
	assert_int_equal(sink_close(sink, NULL), -EIO);
	(void)alarm(0);
	assert_true(dup2(saved, STDOUT_FILENO) >= 0);
	assert_int_equal(close(saved), 0);
	assert_int_equal(close(fds[0]), 0);
	assert_int_equal(close(fds[1]), 0);
	free(entries);
}

TEST(sink_leaves_stdout_open_and_keeps_its_content)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "before,", 7), 7);
	assert_int_equal(write_to_stdout(fd, "one"), 0);
	assert_int_equal(write_to_stdout(fd, "two"), 0);
	expect_content("before,onetwo");
	assert_int_equal(close(fd), 0);
}

/* `> file` of two shells, against `>> file`, where the kernel keeps the writes apart. */
TEST(sink_shares_stdout_only_in_append_mode)
{
	static const int modes[] = { O_TRUNC, O_APPEND };
	struct sink *sink = NULL;

	for (size_t i = 0; i < 2; i++) {
		int first = open(path, O_WRONLY | O_CREAT | modes[i] | O_CLOEXEC, 0600);
		int second = open(path, O_WRONLY | modes[i] | O_CLOEXEC);
		bool is_appending = modes[i] == O_APPEND;

		assert_true(first >= 0 && second >= 0);
		assert_int_equal(flock(first, is_appending ? LOCK_SH : LOCK_EX), 0);
		assert_int_equal(write_to_stdout(second, "one"), is_appending ? 0 : -EWOULDBLOCK);
		assert_int_equal(sink_open(AT(path, true), &sink), -EWOULDBLOCK);
		assert_int_equal(close(first), 0);
		assert_int_equal(write_to_stdout(second, "two"), 0);
		/* Although second is still open. */
		assert_int_equal(sink_open(AT(path, true), &sink), 0);
		assert_int_equal(sink_close(TAKE_PTR(sink), NULL), 0);
		assert_int_equal(close(second), 0);
	}
}

TEST(sink_refuses_terminal_as_output)
{
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);
	int fd;

	assert_true(terminal >= 0);
	assert_int_equal(grantpt(terminal), 0);
	assert_int_equal(unlockpt(terminal), 0);
	fd = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write_to_stdout(fd, "one"), -ENOTTY);
	assert_int_equal(close(fd), 0);
	assert_int_equal(close(terminal), 0);
}

/* With a limit. */
enum {
	LIMIT_BYTES = 40 * sizeof(struct numbered_entry),
};

static char kept_path[sizeof(path) + 2];
static struct numbered_entry heads[2];
static bool has_no_head;

static const void *give_heads(void *user, size_t *ret_size_bytes)
{
	assert_ptr_equal(user, heads);
	heads[0] = number_entry(1000);
	heads[1] = number_entry(1001);
	*ret_size_bytes = sizeof(heads);
	return has_no_head ? NULL : heads;
}

static const struct sink_file limited = {
	.path = path, .bytes_max = LIMIT_BYTES, .head = give_heads, .user = heads
};

static int begin_limited(void **state)
{
	(void)state;
	(void)snprintf(kept_path, sizeof(kept_path), "%s.1", path);
	(void)unlink(path);
	has_no_head = false;
	return 0;
}

static int end_limited(void **state)
{
	(void)state;
	(void)unlink(kept_path);
	return 0;
}

static void write_numbers(struct sink *sink, size_t first, size_t count)
{
	struct numbered_entry entries[64];

	for (size_t i = 0; i < count; i++)
		entries[i] = number_entry(first + i);
	sink_write(sink, entries, count * sizeof(entries[0]), count);
}

/* Heads, if has_heads, and then count from first on. */
static void expect_file_of(const char *name, bool has_heads, size_t first, size_t count)
{
	struct numbered_entry entries[64], expected;
	size_t read = 0, heads_count = has_heads ? 2 : 0;
	FILE *file = fopen(name, "r");

	assert_non_null(file);
	read = fread(entries, sizeof(entries[0]), 64, file);
	assert_int_equal(fgetc(file), EOF);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(read, heads_count + count);
	for (size_t i = 0; i < read; i++) {
		expected = number_entry(i < heads_count ? 1000 + i : first + i - heads_count);
		assert_memory_equal(&entries[i], &expected, sizeof(expected));
	}
}

FIXTURE_TEST(sink_rotates_file_at_half_of_limit)
{
	struct sink *sink = NULL;
	struct stat status;

	assert_int_equal(sink_check(&limited), 0);
	assert_int_equal(sink_open(&limited, &sink), 0);
	write_numbers(sink, 0, 5);
	write_numbers(sink, 5, 5);
	assert_int_equal(status_of(sink).files, 0);
	expect_file_of(path, false, 0, 10);
	/* Another write as large as this one would be too much. */
	write_numbers(sink, 10, 6);
	assert_int_equal(status_of(sink).files, 1);
	expect_file_of(kept_path, false, 0, 16);
	expect_file_of(path, true, 0, 0);
	write_numbers(sink, 16, 1);
	/* It came larger than the last: what is there is kept before it. */
	write_numbers(sink, 17, 18);
	assert_int_equal(status_of(sink).files, 3);
	expect_file_of(kept_path, true, 17, 18);
	expect_file_of(path, true, 0, 0);
	/* A write that is larger than a whole file has one of its own. */
	write_numbers(sink, 35, 50);
	write_numbers(sink, 85, 1);
	expect_file_of(kept_path, true, 35, 50);
	expect_file_of(path, true, 85, 1);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode, S_IFREG | 0600);
	assert_int_equal(status_of(sink).written_records, 86);
	assert_int_equal(sink_close(sink, NULL), 0);
}

/* 8 entries each, and their check. */
struct __attribute__((packed)) span {
	struct numbered_entry entries[8];
	uint8_t check[CHECK_BYTES];
};

static struct span span_of(size_t first)
{
	struct span span;

	for (size_t i = 0; i < 8; i++)
		span.entries[i] = number_entry(first + i);
	check_write((const uint8_t *)span.entries, sizeof(span.entries),
		    (const uint8_t *)span.entries, span.check);
	return span;
}

/* Heads, if has_heads, and then spans from the number first on. */
static void expect_spans(const char *name, bool has_heads, size_t first, size_t count)
{
	struct numbered_entry expected_heads[2] = { number_entry(1000), number_entry(1001) };
	struct span span, expected;
	FILE *file = fopen(name, "r");

	assert_non_null(file);
	if (has_heads) {
		assert_int_equal(fread(heads, sizeof(heads), 1, file), 1);
		assert_memory_equal(heads, expected_heads, sizeof(heads));
	}
	for (size_t i = 0; i < count; i++) {
		expected = span_of(first + 8 * i);
		assert_int_equal(fread(&span, sizeof(span), 1, file), 1);
		assert_memory_equal(&span, &expected, sizeof(span));
	}
	assert_int_equal(fgetc(file), EOF);
	assert_int_equal(fclose(file), 0);
}

/* Two spans are half of the limit; a write of five would be more than all of it. */
FIXTURE_TEST(sink_splits_long_write_across_files_after_check)
{
	struct span spans[5];
	struct sink *sink = NULL;

	assert_true(2 * sizeof(spans[0]) <= LIMIT_BYTES / 2 &&
		    3 * sizeof(spans[0]) > LIMIT_BYTES / 2);
	for (size_t i = 0; i < 5; i++)
		spans[i] = span_of(8 * i);
	assert_int_equal(sink_open(&limited, &sink), 0);
	sink_write(sink, spans, 3 * sizeof(spans[0]), 24);
	expect_spans(kept_path, false, 0, 2);
	expect_spans(path, true, 16, 1);
	sink_write(sink, spans, sizeof(spans), 40);
	expect_spans(kept_path, true, 24, 1);
	expect_spans(path, true, 32, 1);
	assert_int_equal(status_of(sink).written_records, 64);
	assert_int_equal(sink_close(sink, NULL), 0);
}

/* A write that ended in the middle of a span goes on in the same file. */
FIXTURE_TEST(sink_keeps_checked_span_in_one_file)
{
	struct rlimit old, small = { 0 };
	struct span spans[3] = { span_of(0), span_of(8), span_of(16) };
	struct sink *sink = NULL;
	struct ears ears = ears_open();
	char said[1024];

	assert_int_equal(sink_open(&limited, &sink), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	small = (struct rlimit){ sizeof(spans[0]) + 3 * sizeof(spans[0].entries[0]), old.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	sink_write(sink, spans, 2 * sizeof(spans[0]), 16);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_true(status_of(sink).waiting_bytes > 0);
	/* Together they are more than the file has room for. */
	sink_write(sink, &spans[2], sizeof(spans[0]), 8);
	await_next_try(sink);
	sink_flush(sink);
	ears_close(&ears, said, sizeof(said));
	expect_spans(kept_path, false, 0, 2);
	expect_spans(path, true, 16, 1);
	assert_int_equal(sink_close(sink, NULL), 0);
}

/* An eighth of the room is left for one that is larger than any before. */
FIXTURE_TEST(sink_rotation_reserves_space_for_larger_write)
{
	struct sink *sink = NULL;

	assert_int_equal(sink_open(&limited, &sink), 0);
	for (size_t number = 0; number < 17; number++)
		write_numbers(sink, number, 1);
	assert_int_equal(status_of(sink).files, 0);
	write_numbers(sink, 17, 1);
	assert_int_equal(status_of(sink).files, 1);
	expect_file_of(kept_path, false, 0, 18);
	assert_int_equal(sink_close(sink, NULL), 0);
}

FIXTURE_TEST(sink_locks_current_file_after_rotation)
{
	struct sink *sink = NULL, *second = NULL;

	assert_int_equal(sink_open(&limited, &sink), 0);
	write_numbers(sink, 0, 15);
	assert_int_equal(status_of(sink).files, 1);
	assert_int_equal(sink_open(AT(path, true), &second), -EWOULDBLOCK);
	assert_int_equal(sink_open(AT(kept_path, true), &second), 0);
	assert_int_equal(sink_close(second, NULL), 0);
	assert_int_equal(sink_close(sink, NULL), 0);
}

FIXTURE_TEST(sink_rotates_without_head_if_out_of_memory)
{
	struct sink *sink = NULL;

	has_no_head = true;
	assert_int_equal(sink_open(&limited, &sink), 0);
	write_numbers(sink, 0, 15);
	write_numbers(sink, 15, 1);
	expect_file_of(path, false, 15, 1);
	assert_int_equal(sink_close(sink, NULL), 0);
}

FIXTURE_TEST(sink_replaces_existing_rotated_file_only_if_forced)
{
	struct sink_file forced = limited;
	struct sink *sink = NULL;

	put("");
	assert_int_equal(rename(path, kept_path), 0);
	assert_int_equal(sink_check(&limited), -EEXIST);
	assert_int_equal(sink_open(&limited, &sink), -EEXIST);
	forced.overwrites = true;
	assert_int_equal(sink_check(&forced), 0);
	assert_int_equal(sink_open(&forced, &sink), 0);
	write_numbers(sink, 0, 15);
	expect_file_of(kept_path, false, 0, 15);
	assert_int_equal(sink_close(sink, NULL), 0);
}

/* New entries wait, and the limit holds; the old file is not touched. */
FIXTURE_TEST(sink_buffers_records_while_rotation_fails)
{
	struct sink *sink = NULL;
	struct ears ears = ears_open();
	char said[1024];

	assert_int_equal(sink_open(&limited, &sink), 0);
	assert_int_equal(mkdir(kept_path, 0700), 0);
	write_numbers(sink, 0, 15);
	write_numbers(sink, 15, 15);
	expect_file_of(path, false, 0, 15);
	assert_true(status_of(sink).waiting_bytes > 0);
	assert_int_equal(status_of(sink).failures, 1);
	assert_int_equal(rmdir(kept_path), 0);
	await_next_try(sink);
	sink_flush(sink);
	expect_file_of(kept_path, false, 0, 15);
	expect_file_of(path, true, 15, 15);
	assert_int_equal(sink_close(sink, NULL), 0);
	ears_close(&ears, said, sizeof(said));
	assert_non_null(strstr(said, strerror(EISDIR)));
	assert_non_null(strstr(said, "again"));
}

FIXTURE_TEST(sink_leaves_moved_and_foreign_files_alone)
{
	char other[sizeof(path) + 8];
	struct sink *sink = NULL;
	struct ears ears = ears_open();
	char said[1024];

	(void)snprintf(other, sizeof(other), "%s.other", path);
	assert_int_equal(sink_open(&limited, &sink), 0);
	write_numbers(sink, 0, 5);
	assert_int_equal(rename(path, other), 0);
	put("theirs");
	write_numbers(sink, 5, 16);
	expect_content("theirs");
	assert_int_equal(access(kept_path, F_OK), -1);
	assert_int_equal(unlink(path), 0);
	await_next_try(sink);
	sink_flush(sink);
	expect_file_of(other, false, 0, 5);
	expect_file_of(path, true, 5, 16);
	assert_int_equal(access(kept_path, F_OK), -1);
	assert_int_equal(sink_close(sink, NULL), 0);
	assert_int_equal(unlink(other), 0);
	ears_close(&ears, said, sizeof(said));
	assert_non_null(strstr(said, strerror(EEXIST)));
}

FIXTURE_TEST(sink_limit_requires_regular_file)
{
	struct sink_file file = limited;
	struct sink *sink = NULL;

	file.path = "-";
	assert_int_equal(sink_check(&file), -EINVAL);
	assert_int_equal(sink_open(&file, &sink), -EINVAL);
	file.path = "/dev/null";
	assert_int_equal(sink_open(&file, &sink), -EINVAL);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(sink_check(&limited), -EINVAL);
	assert_null(sink);
}

TEST_GROUP(setup, teardown)
