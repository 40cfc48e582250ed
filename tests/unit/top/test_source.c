/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "top/source.h"
#include "top/streams.h"

enum {
	T0 = 1000000000 /* of the monotonic clock */
};

static struct history history;
static struct source source;
static char path[] = "/tmp/correlator-source-XXXXXX";
static FILE *file;

static int setup(void **state)
{
	int fd;

	(void)state;
	(void)strcpy(path + strlen(path) - 6, "XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	file = fdopen(fd, "wb");
	return history_init(&history);
}

static int teardown(void **state)
{
	(void)state;
	source_deinit(&source);
	history_deinit(&history);
	(void)fclose(file);
	(void)unlink(path);
	return 0;
}

/* A record of a window that ends so many milliseconds after the first second. */
static void write_at(FILE *out, const char *kind, uint32_t ms)
{
	struct sample sample;
	uint32_t ns = ms % 1000 * 1000000, s = 1700000001 + ms / 1000;

	sample_begin(&sample, kind, 42);
	sample_number(&sample, "cpu_ns", 1);
	sample_end(&sample);
	for (int i = 0; i < 4; i++) {
		sample.buffer.data[3 + i] = (char)(s >> (24 - 8 * i));
		sample.buffer.data[7 + i] = (char)(ns >> (24 - 8 * i));
	}
	assert_int_equal(fwrite(sample.buffer.data, 1, sample.buffer.size, out),
			 sample.buffer.size);
	assert_int_equal(fflush(out), 0);
	msgpack_sbuffer_destroy(&sample.buffer);
}

static void read_at(uint64_t ms)
{
	assert_int_equal(source_read(&source, &history, T0 + ms * NS_PER_MS), 0);
}

static void expect_due(uint64_t ms)
{
	uint64_t due_ns;
	int fd;

	source_awaits(&source, &fd, &due_ns);
	assert_int_equal(fd, -1);
	assert_int_equal(due_ns, T0 + ms * NS_PER_MS);
}

static void a_file_is_replayed_at_its_speed(void **state)
{
	(void)state;
	write_at(file, "meta", 0);
	write_at(file, "cpu", 0);
	write_at(file, "cpu", 0);
	write_at(file, "cpu", 1000);
	write_at(file, "cpu", 3000);
	assert_int_equal(source_open(&source, path, 2), 0);
	read_at(0);
	/* The first window is complete, since the second one is not due. */
	assert_int_equal(history_closed_count(&history), 1);
	assert_int_equal(history_window(&history, 0)->record_count, 2);
	expect_due(500);
	read_at(499);
	assert_int_equal(history.count, 1);
	read_at(500);
	assert_int_equal(history_closed_count(&history), 2);
	expect_due(1500);
	assert_false(source.has_ended);
	read_at(1500);
	assert_true(source.has_ended);
	assert_int_equal(history_closed_count(&history), 3);
	assert_int_equal(source_exit_code(&source), 0);
	read_at(1501);
	assert_int_equal(history.count, 3);
}

static void a_long_pause_is_cut(void **state)
{
	(void)state;
	write_at(file, "cpu", 0);
	write_at(file, "cpu", 60000);
	write_at(file, "cpu", 61000);
	assert_int_equal(source_open(&source, path, 1), 0);
	read_at(0);
	expect_due(SOURCE_GAP_SECONDS * 1000);
	read_at(SOURCE_GAP_SECONDS * 1000 - 1);
	assert_int_equal(history.count, 1);
	read_at(SOURCE_GAP_SECONDS * 1000);
	assert_int_equal(history.count, 2);
	expect_due(SOURCE_GAP_SECONDS * 1000 + 1000);
}

static void a_pause_of_just_that_is_not_cut(void **state)
{
	(void)state;
	write_at(file, "cpu", 0);
	write_at(file, "cpu", SOURCE_GAP_SECONDS * 1000);
	write_at(file, "cpu", SOURCE_GAP_SECONDS * 1000 + 500);
	assert_int_equal(source_open(&source, path, 1), 0);
	read_at(0);
	expect_due(SOURCE_GAP_SECONDS * 1000);
	read_at(SOURCE_GAP_SECONDS * 1000);
	expect_due(SOURCE_GAP_SECONDS * 1000 + 500);
}

static void what_goes_back_in_time_is_due_at_once(void **state)
{
	(void)state;
	write_at(file, "cpu", 2000);
	write_at(file, "cpu", 1000);
	write_at(file, "cpu", 2500);
	assert_int_equal(source_open(&source, path, 1), 0);
	read_at(0);
	assert_int_equal(history.count, 1);
	assert_int_equal(history_window(&history, 0)->record_count, 2);
	expect_due(500);
}

static void without_a_speed_all_comes_at_once(void **state)
{
	uint64_t due_ns;
	int fd;

	(void)state;
	for (uint32_t window = 0; window < 10; window++)
		write_at(file, "cpu", 1000 * window);
	assert_int_equal(source_open(&source, path, 0), 0);
	source_awaits(&source, &fd, &due_ns);
	assert_int_equal(due_ns, 0);
	/* One window after the other can be shown. */
	for (uint64_t count = 1; count <= 10; count++) {
		assert_false(source.has_ended);
		read_at(0);
		assert_int_equal(history_closed_count(&history), count);
	}
	assert_true(source.has_ended);
	source_awaits(&source, &fd, &due_ns);
	assert_int_equal(due_ns, UINT64_MAX);
	assert_int_equal(fd, -1);
}

static void a_large_file_is_read_in_parts(void **state)
{
	(void)state;
	for (int i = 0; i < SOURCE_READ_MAX + 1; i++)
		write_at(file, "cpu", 0);
	assert_int_equal(source_open(&source, path, 0), 0);
	read_at(0);
	assert_false(source.has_ended);
	assert_int_equal(history.count, 1);
	assert_int_equal(history_window(&history, 0)->record_count, SOURCE_READ_MAX);
	read_at(0);
	assert_true(source.has_ended);
	assert_int_equal(history_window(&history, 0)->record_count, SOURCE_READ_MAX + 1);
}

static void what_comes_by_a_pipe_is_complete_after_a_quiet_moment(void **state)
{
	const uint64_t quiet_ms = SOURCE_QUIET_NS / NS_PER_MS;
	char name[32];
	uint64_t due_ns;
	int fds[2], fd;
	FILE *out;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	out = fdopen(fds[1], "wb");
	(void)snprintf(name, sizeof(name), "/dev/fd/%d", fds[0]);
	assert_int_equal(source_open(&source, name, 1), 0);
	source_awaits(&source, &fd, &due_ns);
	assert_int_equal(fd, source.fd);
	assert_int_equal(due_ns, UINT64_MAX);
	read_at(0);
	assert_int_equal(history.count, 0);
	write_at(out, "cpu", 0);
	read_at(10);
	assert_int_equal(history.count, 1);
	assert_int_equal(history_closed_count(&history), 0);
	source_awaits(&source, &fd, &due_ns);
	assert_int_equal(due_ns, T0 + (10 + quiet_ms) * NS_PER_MS);
	read_at(9 + quiet_ms);
	assert_int_equal(history_closed_count(&history), 0);
	write_at(out, "cpu", 0);
	read_at(9 + quiet_ms);
	read_at(10 + quiet_ms);
	assert_int_equal(history_closed_count(&history), 0);
	read_at(9 + 2 * quiet_ms);
	assert_int_equal(history_closed_count(&history), 1);
	source_awaits(&source, &fd, &due_ns);
	assert_int_equal(due_ns, UINT64_MAX);
	assert_int_equal(fclose(out), 0);
	read_at(1000);
	assert_true(source.has_ended);
	(void)close(fds[0]);
}

static void what_is_damaged_is_said(void **state)
{
	(void)state;
	write_at(file, "cpu", 0);
	assert_int_equal(fputs("garbage", file), 1);
	write_at(file, "cpu", 1000);
	assert_int_equal(source_open(&source, path, 0), 0);
	assert_false(source.is_damaged);
	read_at(0);
	read_at(0);
	assert_true(source.is_damaged);
	assert_int_equal(history.count, 2);
}

static void what_is_no_recording_is_refused(void **state)
{
	(void)state;
	assert_int_equal(fputs("hello\n", file), 1);
	assert_int_equal(fflush(file), 0);
	assert_int_equal(source_open(&source, path, 0), 0);
	assert_int_equal(source_read(&source, &history, T0), -EBADMSG);
	source_deinit(&source);
	assert_int_equal(source_open(&source, "/nonexistent/file", 0), -ENOENT);
}

static void what_was_said_is_kept_to_its_end(void **state)
{
	char text[1000];
	int fds[2];

	(void)state;
	assert_int_equal(pipe2(fds, O_NONBLOCK), 0);
	source = (struct source){ .fd = -1, .said_fd = fds[0] };
	assert_int_equal(write(fds[1], "one\n", 4), 4);
	source_listen(&source);
	assert_int_equal(write(fds[1], "two\n", 4), 4);
	source_listen(&source);
	assert_string_equal(source.said, "one\ntwo\n");
	assert_int_equal(source.said_fd, fds[0]);
	memset(text, 'x', sizeof(text));
	for (int i = 0; i < 5; i++)
		assert_int_equal(write(fds[1], text, sizeof(text)), sizeof(text));
	assert_int_equal(write(fds[1], "end", 3), 3);
	(void)close(fds[1]);
	source_listen(&source);
	assert_int_equal(strlen(source.said), SOURCE_SAID_BYTES - 1);
	assert_string_equal(source.said + SOURCE_SAID_BYTES - 1 - 4, "xend");
	assert_int_equal(source.said_fd, -1);
	source_listen(&source);
}

static void the_exit_status_is_the_recorders(void **state)
{
	(void)state;
	source = (struct source){ .fd = -1, .said_fd = -1, .exit_status = 4 << 8 };
	assert_int_equal(source_exit_code(&source), 4);
	source.exit_status = 9;
	assert_int_equal(source_exit_code(&source), 128 + 9);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_replayed_at_its_speed),
		TEST(a_long_pause_is_cut),
		TEST(a_pause_of_just_that_is_not_cut),
		TEST(what_goes_back_in_time_is_due_at_once),
		TEST(without_a_speed_all_comes_at_once),
		TEST(a_large_file_is_read_in_parts),
		TEST(what_comes_by_a_pipe_is_complete_after_a_quiet_moment),
		TEST(what_is_damaged_is_said),
		TEST(what_is_no_recording_is_refused),
		TEST(what_was_said_is_kept_to_its_end),
		TEST(the_exit_status_is_the_recorders),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
