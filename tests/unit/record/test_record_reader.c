/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/log.h"
#include "ears.h"
#include "failing_memory.h"
#include "record/entry_scan.h"
#include "record/golden.h"
#include "record/record_reader.h"
#include "record/sample.h"

UNIT_TEST_ALONE;

static char path[64]; /* of a file in memory: it is rewritten thousands of times */
static struct record_view view;
static int interruptions; /* of the reads that come */

/* Instead of libc's. */
ssize_t read(int fd, void *ret_bytes, size_t size_bytes)
{
	if (interruptions > 0) {
		interruptions--;
		errno = EINTR;
		return -1;
	}
	return syscall(SYS_read, fd, ret_bytes, size_bytes);
}

static int setup(void **state)
{
	int fd = memfd_create("recording", 0);

	(void)state;
	/* Thousands of expected warnings would drown the results. */
	log_set_level(LOG_LEVEL_ERROR);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return fd < 0 ? -1 : 0;
}

/* Reads bytes as a file. Returns 0 or the reader's error; *ret_count is the number of records. */
static int read_bytes(const void *bytes, size_t size_bytes, uint64_t *ret_count,
		      bool *ret_truncated)
{
	struct record_reader *reader = NULL;
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	int r;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size_bytes), size_bytes);
	assert_int_equal(close(fd), 0);
	assert_int_equal(record_reader_open(path, &reader), 0);
	while ((r = record_reader_next(reader, &view)) > 0)
		;
	*ret_count = record_reader_entry_count(reader);
	*ret_truncated = record_reader_is_truncated(reader);
	if (r == 0 && !*ret_truncated)
		assert_int_equal(record_reader_offset(reader), size_bytes);
	record_reader_free(reader);
	return r;
}

TEST(reader_reads_recording_to_end)
{
	size_t file_bytes;
	char *file = golden_read("shop.rec", &file_bytes);
	bool is_truncated;
	uint64_t count;

	assert_int_equal(read_bytes(file, file_bytes, &count, &is_truncated), 0);
	assert_int_equal(count, GOLDEN_RECORDS);
	assert_false(is_truncated);
	assert_int_equal(view.kind, RECORD_KIND_SELF);
	assert_int_equal(view.wall_ns, 1700000001123456789);
	free(file);
}

TEST(reader_returns_complete_entries_of_file_cut_at_any_byte)
{
	size_t file_bytes, whole_bytes = 0, entry_bytes = 0;
	char *file = golden_read("shop.rec", &file_bytes);
	uint64_t whole_count = 0, count;
	bool is_truncated;

	assert_int_equal(entry_scan((uint8_t *)file, file_bytes, &entry_bytes), 0);
	for (size_t size_bytes = 0; size_bytes <= file_bytes; size_bytes++) {
		if (size_bytes == whole_bytes + entry_bytes) {
			whole_bytes = size_bytes;
			whole_count++;
			if (size_bytes < file_bytes)
				assert_int_equal(entry_scan((uint8_t *)file + whole_bytes,
							    file_bytes - whole_bytes, &entry_bytes),
						 0);
		}
		assert_int_equal(read_bytes(file, size_bytes, &count, &is_truncated), 0);
		assert_int_equal(count, whole_count);
		assert_int_equal(is_truncated, size_bytes != whole_bytes);
	}
	assert_int_equal(whole_count, GOLDEN_RECORDS);
	free(file);
}

/* Where standard input is closed it is that of the file. */
TEST(reader_uses_and_closes_descriptor_0)
{
	struct record_reader *reader = NULL;
	int saved = dup(STDIN_FILENO);

	assert_int_equal(close(STDIN_FILENO), 0);
	assert_int_equal(record_reader_open("/dev/null", &reader), 0);
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
	record_reader_free(reader);
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(close(saved), 0);
}

TEST(reader_finds_records_across_buffer_refills)
{
	enum {
		COPIES = 300
	};
	size_t file_bytes;
	char *file = golden_read("shop.rec", &file_bytes);
	char *many = malloc(COPIES * file_bytes);
	bool is_truncated;
	uint64_t count;

	assert_non_null(many);
	for (size_t i = 0; i < COPIES; i++)
		memcpy(many + i * file_bytes, file, file_bytes);
	assert_int_equal(read_bytes(many, COPIES * file_bytes, &count, &is_truncated), 0);
	assert_int_equal(count, GOLDEN_RECORDS * COPIES);
	free(many);
	free(file);
}

static int read_sample(struct sample *sample)
{
	bool is_truncated;
	uint64_t count;
	int r;

	sample_end(sample);
	r = read_bytes(sample->buffer.data, sample->buffer.size, &count, &is_truncated);
	msgpack_sbuffer_destroy(&sample->buffer);
	return r;
}

/* What a writer sent, packet by packet: a read gives one. */
static uint64_t read_packets(const char *bytes, const size_t *packet_bytes, size_t packet_count)
{
	struct record_reader *reader = NULL;
	int fds[2], status, saved = dup(STDIN_FILENO);
	uint64_t count;
	pid_t writer;

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	writer = fork();
	assert_true(writer >= 0);
	if (writer == 0) {
		for (size_t i = 0; i < packet_count; bytes += packet_bytes[i++])
			if (send(fds[1], bytes, packet_bytes[i], MSG_NOSIGNAL) < 0)
				_exit(1);
		_exit(0);
	}
	assert_int_equal(close(fds[1]), 0);
	assert_int_equal(dup2(fds[0], STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(close(fds[0]), 0);
	assert_int_equal(record_reader_open("-", &reader), 0);
	while (record_reader_next(reader, &view) > 0)
		;
	count = record_reader_entry_count(reader);
	assert_false(record_reader_is_truncated(reader));
	record_reader_free(reader);
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(close(saved), 0);
	assert_int_equal(waitpid(writer, &status, 0), writer);
	assert_int_equal(status, 0);
	return count;
}

TEST(reader_finds_records_in_packets_of_any_size)
{
	size_t file_bytes, packets[3] = { 1 };
	char *file = golden_read("shop.rec", &file_bytes);
	size_t *single = calloc(file_bytes, sizeof(*single));

	assert_non_null(single);
	for (size_t i = 0; i < file_bytes; i++)
		single[i] = 1;
	assert_int_equal(read_packets(file, single, file_bytes), GOLDEN_RECORDS);
	for (size_t at = 2; at < file_bytes; at += 97) {
		packets[1] = at - 1;
		packets[2] = file_bytes - at;
		assert_int_equal(read_packets(file, packets, 3), GOLDEN_RECORDS);
	}
	free(single);
	free(file);
}

/* Longer ones than are looked at first. */
TEST(reader_reads_records_longer_than_first_lookahead)
{
	char text[RECORD_VIEW_TEXT_BYTES_MAX + 1];
	struct record_text found = { 0 };
	struct sample sample;

	for (size_t size_bytes = 900; size_bytes <= RECORD_VIEW_TEXT_BYTES_MAX; size_bytes++) {
		memset(text, 'x', size_bytes);
		text[size_bytes] = '\0';
		sample_record(&sample, "gap pid=1 reason=%s", text);
		assert_int_equal(read_sample(&sample), 0);
		/* Its bytes are gone, but not how many they were. */
		assert_true(record_view_text_at(&view, RECORD_PLACE(gap, reason), &found));
		assert_int_equal(found.size_bytes, size_bytes);
		size_bytes += size_bytes > 1100 ? 97 : 0;
	}
}

TEST(reader_rejects_garbage_alone_but_not_after_records)
{
	size_t file_bytes;
	char *file = golden_read("shop.rec", &file_bytes);
	char *damaged = malloc(file_bytes + 16);
	bool is_truncated;
	uint64_t count;

	assert_non_null(damaged);
	assert_int_equal(read_bytes("hello, world", 12, &count, &is_truncated), -EBADMSG);
	memcpy(damaged, file, file_bytes);
	memcpy(damaged + file_bytes, "not an entry....", 16);
	assert_int_equal(read_bytes(damaged, file_bytes + 16, &count, &is_truncated), 0);
	assert_int_equal(count, GOLDEN_RECORDS);
	assert_false(is_truncated);
	free(damaged);
	free(file);
}

TEST(reader_rejects_records_over_size_limits)
{
	char text[RECORD_VIEW_TEXT_BYTES_MAX + 2];
	struct sample sample;

	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	sample_record(&sample, "gap pid=1 reason=%s", text);
	assert_int_equal(read_sample(&sample), -E2BIG);

	sample_record(&sample, "gap pid=1");
	for (int i = 0; i < RECORD_VIEW_FIELDS_MAX; i++)
		sample_fields(&sample, "same=%d", i);
	assert_int_equal(read_sample(&sample), -E2BIG);

	sample_record(&sample, "gap pid=1");
	for (int i = 0; i <= RECORD_VIEW_ITEMS_MAX; i++)
		sample_fields(&sample, "flags=[f]");
	assert_int_equal(read_sample(&sample), -E2BIG);
}

TEST(reader_rejects_other_schema_and_accepts_other_kind)
{
	struct sample sample;

	sample_record(&sample, "of_the_future pid=1");
	assert_int_equal(read_sample(&sample), 0);
	assert_int_equal(view.kind, RECORD_KIND_OTHER);
	sample_record(&sample, "cpu pid=1");
	/* "schema" is the first field: its number follows the 6 bytes of its name. */
	sample.buffer.data[sample.map_offset + 3 + 1 + 6] = 2;
	assert_int_equal(read_sample(&sample), -EPROTONOSUPPORT);
}

/* Of a recording of it alone. */
static void expect_said(struct sample *sample, const char *what)
{
	char expected[256], said[512];
	struct ears ears = ears_open();

	assert_true(read_sample(sample) < 0);
	ears_close(&ears, said, sizeof(said));
	log_set_level(LOG_LEVEL_ERROR);
	(void)snprintf(expected, sizeof(expected), "correlator: error: %s: byte 0: %s\n", path,
		       what);
	assert_string_equal(said, expected);
}

TEST(reader_logs_why_recording_is_unreadable)
{
	static char text[RECORD_VIEW_TEXT_BYTES_MAX + 2];
	struct sample sample;

	memset(text, 'x', sizeof(text) - 1);
	sample_record(&sample, "gap pid=1 reason=%s", text);
	expect_said(&sample, "a record larger than any that correlator writes");
	sample_record(&sample, "gap pid=1");
	sample.buffer.data[sample.map_offset + 3 + 1 + 6] = 2;
	expect_said(&sample, "a record of another schema than 1: read it with a newer correlator");
	sample_record(&sample, "gap pid=1");
	msgpack_pack_str_with_body(&sample.packer, "deep", 4);
	for (int depth = 0; depth < 1000; depth++)
		msgpack_pack_array(&sample.packer, 1);
	msgpack_pack_nil(&sample.packer);
	sample.field_count++;
	expect_said(&sample, "a record nested deeper than any that correlator writes");
	sample_record(&sample, "gap pid=1");
	sample.buffer.data[0] = 0;
	expect_said(&sample, "not a recording of correlator");
}

TEST(reader_logs_offset_of_truncated_entry)
{
	char expected[256], said[512];
	size_t file_bytes, last = 0;
	char *file = golden_read("shop.rec", &file_bytes);
	struct ears ears = ears_open();
	bool is_truncated;
	uint64_t count;

	/* Each begins as the first one does. */
	for (size_t at = 0; at + 3 < file_bytes; at++)
		if (memcmp(file + at, file, 3) == 0)
			last = at;
	assert_int_equal(read_bytes(file, file_bytes - 1, &count, &is_truncated), 0);
	ears_close(&ears, said, sizeof(said));
	log_set_level(LOG_LEVEL_ERROR);
	(void)snprintf(expected, sizeof(expected),
		       "correlator: warning: %s: truncated after %d entries at byte %zu; the last, "
		       "incomplete entry is left out\n",
		       path, GOLDEN_RECORDS - 1, last);
	assert_string_equal(said, expected);
	free(file);
}

TEST(reader_counts_dropped_record_as_damage)
{
	struct record_reader *reader = NULL;
	uint64_t places, bytes, begin;
	char recording[4096];

	golden_path("shop.rec", recording, sizeof(recording));
	assert_int_equal(record_reader_open(recording, &reader), 0);
	assert_int_equal(record_reader_next(reader, &view), 1);
	begin = record_reader_offset(reader);
	record_reader_get_damage(reader, &places, &bytes);
	assert_int_equal(places + bytes, 0);
	assert_int_equal(record_reader_next(reader, &view), 1);
	record_reader_drop(reader, "of no use");
	assert_int_equal(record_reader_entry_count(reader), 1);
	record_reader_get_damage(reader, &places, &bytes);
	assert_int_equal(places, 1);
	assert_int_equal(bytes, record_reader_offset(reader) - begin);
	while (record_reader_next(reader, &view) > 0)
		;
	assert_int_equal(record_reader_entry_count(reader), GOLDEN_RECORDS - 1);
	record_reader_free(reader);
}

TEST(reader_retries_interrupted_read)
{
	size_t file_bytes;
	char *file = golden_read("shop.rec", &file_bytes);
	bool is_truncated;
	uint64_t count;

	interruptions = 3;
	assert_int_equal(read_bytes(file, file_bytes, &count, &is_truncated), 0);
	assert_int_equal(count, GOLDEN_RECORDS);
	assert_int_equal(interruptions, 0);
	free(file);
}

TEST(reader_closes_only_descriptors_it_opened)
{
	int free_fd = dup(STDERR_FILENO);
	struct record_reader *reader = NULL;

	assert_int_equal(close(free_fd), 0);
	assert_int_equal(record_reader_open("/dev/null", &reader), 0);
	record_reader_free(reader);
	assert_int_equal(dup(STDERR_FILENO), free_fd);
	assert_int_equal(close(free_fd), 0);
	/* But not what it was given. */
	assert_int_equal(record_reader_open("-", &reader), 0);
	assert_string_equal(record_reader_name(reader), "standard input");
	record_reader_free(reader);
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
}

TEST(reader_returns_enomem_without_memory)
{
	struct record_reader *reader = NULL;
	size_t failures = 0;

	assert_each_allocation_can_fail(record_reader_open("/dev/zero", &reader),
					(failures++, assert_null(reader)));
	assert_true(failures > 1);
	memory_fails_once_after(0);
	assert_int_equal(record_reader_next(reader, &view), -ENOMEM);
	memory_never_fails();
	record_reader_free(reader);
}

TEST(reader_reports_missing_file_and_directory)
{
	struct record_reader *reader = NULL;

	record_reader_free(NULL);
	assert_int_equal(record_reader_open("/nonexistent.rec", &reader), -ENOENT);
	assert_null(reader);
	assert_int_equal(record_reader_open("/", &reader), 0);
	assert_int_equal(record_reader_next(reader, &view), -EISDIR);
	record_reader_free(reader);
}

TEST(reader_resumes_nonblocking_pipe_after_eagain)
{
	struct record_reader *reader = NULL;
	size_t file_bytes, half;
	char *file = golden_read("shop.rec", &file_bytes);
	int fds[2];

	half = file_bytes / 2;
	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(record_reader_open_fd(fds[0], "a pipe", &reader), 0);
	assert_string_equal(record_reader_name(reader), "a pipe");
	assert_int_equal(record_reader_next(reader, &view), -EAGAIN);
	assert_int_equal(write(fds[1], file, half), half);
	while (record_reader_next(reader, &view) > 0)
		;
	assert_true(record_reader_entry_count(reader) > 0);
	assert_true(record_reader_entry_count(reader) < GOLDEN_RECORDS);
	assert_int_equal(record_reader_next(reader, &view), -EAGAIN);
	assert_int_equal(write(fds[1], file + half, file_bytes - half), file_bytes - half);
	assert_int_equal(close(fds[1]), 0);
	while (record_reader_next(reader, &view) > 0)
		;
	assert_int_equal(record_reader_entry_count(reader), GOLDEN_RECORDS);
	assert_false(record_reader_is_truncated(reader));
	record_reader_free(reader);
	/* It is not the reader's. */
	assert_int_equal(close(fds[0]), 0);
	free(file);
}

TEST_GROUP(setup, NULL)
