/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/clock.h"
#include "ears.h"
#include "failing_memory.h"
#include "record/entry_scan.h"
#include "recorder/queue/backlog.h"
#include "recorder/queue/file_source.h"
#include "recorder/queue/numbered_entries.h"

UNIT_TEST_ALONE;

enum {
	ENTRY = sizeof(struct numbered_entry),
	/* Of a chunk that is full. */
	CHUNK_ENTRIES = BACKLOG_SEGMENT_BYTES / ENTRY,
	DEADLINE_MS = 10000,
	PIPE_BYTES = 1024 * 1024,
	MIB = 1024 * 1024,
};

static char folder[] = "/tmp/test_file_source.XXXXXX";
static char path[sizeof(folder) + 16];

/* Instead of libc's: a clock that stands, a second behind the timers', which are due at once. */
static uint64_t stopped_ns;

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	if (clock != CLOCK_MONOTONIC || !stopped_ns)
		return (int)syscall(SYS_clock_gettime, clock, ret_time);
	*ret_time =
		(struct timespec){ (time_t)(stopped_ns / NS_PER_S), (long)(stopped_ns % NS_PER_S) };
	return 0;
}

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/test.rec", folder);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(folder);
}

static void put(FILE *file, const void *bytes, size_t size_bytes)
{
	assert_int_equal(fwrite(bytes, 1, size_bytes, file), size_bytes);
}

static void put_numbers(FILE *file, uint64_t first, uint64_t count)
{
	for (uint64_t number = first; number < first + count; number++) {
		struct numbered_entry entry = number_entry(number);

		put(file, &entry, sizeof(entry));
	}
}

/* [EventTime, {"schema": 1, "kind": "x"}]: as each of ours begins. */
static const uint8_t whole[] = "\x92\xd7\0\0\0\0\1\0\0\0\2\x82\xa6schema\1\xa4kind\xa1x";

static void put_whole(FILE *file)
{
	put(file, whole, sizeof(whole) - 1);
}

static void put_garbage(FILE *file, size_t size_bytes)
{
	for (size_t i = 0; i < size_bytes; i++)
		put(file, "", 1);
}

static FILE *begin(void)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	return file;
}

static struct chunk_source open_source(FILE *written, uint64_t skip_records,
				       struct file_source **ret_source)
{
	assert_int_equal(fclose(written), 0);
	assert_int_equal(file_source_open(path, skip_records, ret_source), 0);
	return file_source_chunks(*ret_source);
}

static struct file_source_status status_of(const struct file_source *source)
{
	struct file_source_status status;

	file_source_get_status(source, &status);
	return status;
}

static int next(const struct chunk_source *chunks, struct chunk *ret_chunk)
{
	/* As something that went before may leave it. */
	errno = EAGAIN;
	return chunks->next(chunks->user, ret_chunk);
}

static struct chunk expect_numbers(const struct chunk_source *chunks, uint64_t first,
				   uint32_t count)
{
	struct chunk chunk;

	assert_int_equal(next(chunks, &chunk), 0);
	assert_int_equal(chunk.entries, count);
	assert_int_equal(chunk.size_bytes, count * ENTRY);
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(entry_number(chunk.bytes, i), first + i);
	return chunk;
}

static void expect_end(const struct chunk_source *chunks, int result)
{
	struct chunk chunk;

	assert_int_equal(next(chunks, &chunk), result);
}

TEST(file_source_returns_full_chunks_unchanged_until_done)
{
	FILE *file = begin();
	struct file_source *source;
	struct chunk_source chunks;
	struct chunk first, again;
	struct ears ears = ears_open();
	char said[512];

	put_numbers(file, 0, 2 * CHUNK_ENTRIES + 7);
	chunks = open_source(file, 0, &source);
	assert_int_equal(chunks.event_fd, -1);
	assert_null(chunks.defer);
	assert_false(file_source_is_stream(source));
	first = expect_numbers(&chunks, 0, CHUNK_ENTRIES);
	again = expect_numbers(&chunks, 0, CHUNK_ENTRIES);
	assert_string_equal(first.id, again.id);
	assert_int_equal(strlen(first.id), CHUNK_ID_BYTES - 1);
	assert_int_equal(status_of(source).done_records, 0);
	chunks.done(chunks.user);
	again = expect_numbers(&chunks, CHUNK_ENTRIES, CHUNK_ENTRIES);
	assert_string_not_equal(first.id, again.id);
	assert_int_equal(status_of(source).done_records, CHUNK_ENTRIES);
	assert_int_equal(status_of(source).done_bytes, CHUNK_ENTRIES * ENTRY);
	assert_int_equal(status_of(source).size_bytes, (2 * CHUNK_ENTRIES + 7) * ENTRY);
	chunks.done(chunks.user);
	(void)expect_numbers(&chunks, 2 * CHUNK_ENTRIES, 7);
	assert_false(status_of(source).is_exhausted);
	chunks.done(chunks.user);
	/* Of a call before. */
	errno = EINTR;
	expect_end(&chunks, -ENODATA);
	assert_true(status_of(source).is_exhausted);
	assert_int_equal(status_of(source).done_bytes, (2 * CHUNK_ENTRIES + 7) * ENTRY);
	assert_int_equal(status_of(source).damaged_places, 0);
	file_source_free(source);
	ears_close(&ears, said, sizeof(said));
	assert_string_equal(said, "");
}

/* {"n": a string} */
static size_t put_large(FILE *file, uint32_t string_bytes)
{
	uint8_t head[] = {
		0x92, 0xd7, 0, 0, 0, 0, 1, 0, 0, 0, 2, 0x81, 0xa1, 'n', 0xdb, 0, 0, 0, 0
	};

	for (size_t i = 0; i < 4; i++)
		head[15 + i] = (uint8_t)(string_bytes >> (24 - 8 * i));
	put(file, head, sizeof(head));
	put_garbage(file, string_bytes);
	return sizeof(head) + string_bytes;
}

TEST(file_source_sends_largest_record_in_its_own_chunk)
{
	FILE *file = begin();
	struct file_source *source;
	struct chunk_source chunks;
	struct chunk chunk;

	put_numbers(file, 0, CHUNK_ENTRIES);
	assert_int_equal(put_large(file, ENTRY_BYTES_MAX - 19), ENTRY_BYTES_MAX);
	put_numbers(file, 1, 2);
	chunks = open_source(file, 0, &source);
	(void)expect_numbers(&chunks, 0, CHUNK_ENTRIES);
	chunks.done(chunks.user);
	assert_int_equal(next(&chunks, &chunk), 0);
	assert_int_equal(chunk.entries, 1);
	assert_int_equal(chunk.size_bytes, ENTRY_BYTES_MAX);
	chunks.done(chunks.user);
	(void)expect_numbers(&chunks, 1, 2);
	file_source_free(source);
}

/* A chunk is filled to the last byte. */
TEST(file_source_fills_chunk_to_its_exact_limit)
{
	for (uint32_t more = 0; more <= 1; more++) {
		FILE *file = begin();
		struct file_source *source;
		struct chunk_source chunks;
		struct chunk chunk;

		(void)state;
		put_numbers(file, 0, 1);
		(void)put_large(file, BACKLOG_SEGMENT_BYTES - ENTRY - 19 + more);
		chunks = open_source(file, 0, &source);
		assert_int_equal(next(&chunks, &chunk), 0);
		assert_int_equal(chunk.entries, more ? 1 : 2);
		file_source_free(source);
	}
}

TEST(file_source_counts_skipped_records_as_done)
{
	static const uint64_t skips[] = { 0, 1, 5, CHUNK_ENTRIES, CHUNK_ENTRIES + 3 };
	const uint64_t count = CHUNK_ENTRIES + 8;

	for (size_t i = 0; i < sizeof(skips) / sizeof(skips[0]); i++) {
		FILE *file = begin();
		struct file_source *source;
		struct chunk_source chunks;
		uint64_t rest = count - skips[i];

		put_numbers(file, 0, count);
		chunks = open_source(file, skips[i], &source);
		(void)expect_numbers(&chunks, skips[i],
				     rest < CHUNK_ENTRIES ? (uint32_t)rest : CHUNK_ENTRIES);
		assert_int_equal(status_of(source).done_records, skips[i]);
		assert_int_equal(status_of(source).done_bytes, skips[i] * ENTRY);
		file_source_free(source);
	}
}

TEST(file_source_counts_missing_records_if_skip_exceeds_file)
{
	FILE *file = begin();
	struct file_source *source;
	struct chunk_source chunks;

	put_numbers(file, 0, 3);
	chunks = open_source(file, 4, &source);
	expect_end(&chunks, -ENODATA);
	assert_int_equal(status_of(source).done_records, 3);
	assert_int_equal(status_of(source).missing_records, 1);
	assert_true(status_of(source).is_exhausted);
	file_source_free(source);
}

TEST(file_source_does_not_send_torn_end)
{
	struct numbered_entry torn = number_entry(2);
	FILE *file = begin();
	struct file_source *source;
	struct chunk_source chunks;
	char said[512], expected[64];
	struct ears ears;

	put_numbers(file, 0, 2);
	put(file, &torn, sizeof(torn) - 1);
	chunks = open_source(file, 0, &source);
	(void)expect_numbers(&chunks, 0, 2);
	chunks.done(chunks.user);
	ears = ears_open();
	expect_end(&chunks, -ENODATA);
	ears_close(&ears, said, sizeof(said));
	(void)snprintf(expected, sizeof(expected), "at byte %d, is incomplete: not sent",
		       2 * ENTRY);
	assert_non_null(strstr(said, expected));
	assert_true(status_of(source).is_exhausted);
	assert_int_equal(status_of(source).done_bytes, 2 * ENTRY);
	assert_int_equal(status_of(source).damaged_bytes, 0);
	assert_int_equal(status_of(source).torn_bytes, ENTRY - 1);
	assert_int_equal(status_of(source).missing_records, 0);
	file_source_free(source);
}

/* Also where there is more of it than is read at once. */
TEST(file_source_skips_and_counts_damage)
{
	static const size_t sizes[] = { 1, 100, 5 * MIB };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		FILE *file = begin();
		struct file_source *source;
		struct chunk_source chunks;
		struct chunk chunk;

		put_whole(file);
		put_garbage(file, sizes[i]);
		put_whole(file);
		put_whole(file);
		put_garbage(file, 3);
		put_whole(file);
		chunks = open_source(file, 0, &source);
		for (uint32_t expected = 1; expected <= 2; expected++) {
			assert_int_equal(next(&chunks, &chunk), 0);
			assert_int_equal(chunk.entries, expected);
			assert_memory_equal(chunk.bytes, whole, sizeof(whole) - 1);
			chunks.done(chunks.user);
		}
		assert_int_equal(next(&chunks, &chunk), 0);
		assert_int_equal(chunk.entries, 1);
		chunks.done(chunks.user);
		expect_end(&chunks, -ENODATA);
		assert_int_equal(status_of(source).damaged_places, 2);
		assert_int_equal(status_of(source).damaged_bytes, sizes[i] + 3);
		assert_int_equal(status_of(source).done_records, 4);
		assert_true(status_of(source).is_exhausted);
		file_source_free(source);
	}
}

/* The first record may be far behind, but not behind all that is searched for it. */
TEST(file_source_rejects_file_without_record_near_its_start)
{
	static const struct {
		size_t garbage_bytes;
		bool has_record;
		int result;
	} cases[] = {
		{ 1, false, -EBADMSG },
		{ 1, true, 0 },
		{ ENTRY_SEARCH_BYTES_MAX - MIB, true, 0 },
		{ ENTRY_SEARCH_BYTES_MAX + 2 * MIB, true, -EBADMSG },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		FILE *file = begin();
		struct file_source *source;
		struct chunk_source chunks;

		put_garbage(file, cases[i].garbage_bytes);
		if (cases[i].has_record)
			put_whole(file);
		chunks = open_source(file, 0, &source);
		expect_end(&chunks, cases[i].result);
		assert_false(status_of(source).is_exhausted);
		file_source_free(source);
	}
}

TEST(file_source_skips_damage_of_any_size_after_record)
{
	FILE *file = begin();
	struct file_source *source;
	struct chunk_source chunks;
	struct chunk chunk;

	put_whole(file);
	put_garbage(file, ENTRY_SEARCH_BYTES_MAX + 2 * MIB);
	chunks = open_source(file, 0, &source);
	assert_int_equal(next(&chunks, &chunk), 0);
	chunks.done(chunks.user);
	expect_end(&chunks, -ENODATA);
	assert_int_equal(status_of(source).damaged_places, 1);
	assert_int_equal(status_of(source).damaged_bytes, ENTRY_SEARCH_BYTES_MAX + 2 * MIB);
	file_source_free(source);
}

TEST(file_source_reports_empty_file_as_exhausted)
{
	struct file_source *source;
	struct chunk_source chunks;

	chunks = open_source(begin(), 0, &source);
	/* Of an earlier call: at the end of a file nothing has failed. */
	errno = EINTR;
	expect_end(&chunks, -ENODATA);
	assert_true(status_of(source).is_exhausted);
	file_source_free(source);
}

TEST(file_source_reports_missing_file_and_folder)
{
	struct file_source *source = NULL;
	struct chunk_source chunks;

	assert_int_equal(file_source_open("/nonexistent", 0, &source), -ENOENT);
	assert_null(source);
	file_source_free(source);
	assert_int_equal(file_source_open(folder, 0, &source), 0);
	chunks = file_source_chunks(source);
	expect_end(&chunks, -EISDIR);
	assert_false(status_of(source).is_exhausted);
	file_source_free(source);
}

TEST(file_source_open_fails_without_memory)
{
	struct file_source *source = NULL;
	size_t failures = 0;

	assert_each_allocation_can_fail(file_source_open(folder, 0, &source),
					(failures++, assert_null(source)));
	assert_true(failures > 2);
	file_source_free(source);
}

/* The chunk that is being sent stays, for its ack; none comes after it. */
TEST(file_source_ended_file_returns_no_further_chunk)
{
	FILE *file = begin();
	struct file_source *source;
	struct chunk_source chunks;

	put_numbers(file, 0, 2 * CHUNK_ENTRIES);
	chunks = open_source(file, 0, &source);
	(void)expect_numbers(&chunks, 0, CHUNK_ENTRIES);
	file_source_end(source);
	(void)expect_numbers(&chunks, 0, CHUNK_ENTRIES);
	chunks.done(chunks.user);
	expect_end(&chunks, -ENODATA);
	assert_false(status_of(source).is_exhausted);
	file_source_free(source);
}

TEST(file_source_logs_position_of_rejected_record)
{
	FILE *file = begin();
	struct file_source *source;
	struct chunk_source chunks;
	struct chunk chunk;
	char said[512], expected[64];
	struct ears ears;

	put_numbers(file, 0, CHUNK_ENTRIES + 5);
	chunks = open_source(file, 0, &source);
	(void)expect_numbers(&chunks, 0, CHUNK_ENTRIES);
	chunks.done(chunks.user);
	chunk = expect_numbers(&chunks, CHUNK_ENTRIES, 5);
	ears = ears_open();
	assert_string_equal(
		chunks.reject(chunks.user, (const uint8_t *)chunk.bytes + 2 * ENTRY, ENTRY),
		"it stays in its file");
	ears_close(&ears, said, sizeof(said));
	(void)snprintf(expected, sizeof(expected), "record %d, of %d bytes, was not delivered",
		       CHUNK_ENTRIES + 3, ENTRY);
	assert_non_null(strstr(said, expected));
	assert_int_equal(status_of(source).rejected_records, 1);
	file_source_free(source);
}

struct stream {
	struct file_source *source;
	struct chunk_source chunks;
	int writer;
};

/* As standard input; or by a name. */
static struct stream open_stream(uint64_t skip_records, bool has_name)
{
	struct stream stream;
	int saved = dup(STDIN_FILENO), fds[2];

	stopped_ns = clock_monotonic_ns() - NS_PER_S;
	if (has_name) {
		(void)unlink(path);
		assert_int_equal(mkfifo(path, 0600), 0);
		assert_int_equal(file_source_open(path, skip_records, &stream.source), 0);
		stream.writer = open(path, O_WRONLY | O_CLOEXEC);
		assert_int_equal(unlink(path), 0);
	} else {
		assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
		assert_true(dup2(fds[0], STDIN_FILENO) >= 0);
		assert_int_equal(file_source_open("-", skip_records, &stream.source), 0);
		assert_true(dup2(saved, STDIN_FILENO) >= 0);
		(void)close(fds[0]);
		stream.writer = fds[1];
	}
	(void)close(saved);
	assert_true(stream.writer >= 0);
	assert_true(fcntl(stream.writer, F_SETPIPE_SZ, PIPE_BYTES) >= PIPE_BYTES);
	stream.chunks = file_source_chunks(stream.source);
	assert_true(file_source_is_stream(stream.source));
	return stream;
}

static void close_stream(struct stream *stream)
{
	if (stream->writer >= 0)
		(void)close(stream->writer);
	file_source_free(stream->source);
	stopped_ns = 0;
}

static void write_numbers(const struct stream *stream, uint64_t first, uint64_t count)
{
	for (uint64_t number = first; number < first + count; number++) {
		struct numbered_entry entry = number_entry(number);

		assert_int_equal(write(stream->writer, &entry, ENTRY), ENTRY);
	}
}

static bool is_readable(const struct stream *stream, int timeout_ms)
{
	struct pollfd fd = { .fd = stream->chunks.event_fd, .events = POLLIN };

	return poll(&fd, 1, timeout_ms) == 1;
}

/* And its fd says when it is worth to ask: when something came, and when that is due. */
TEST(file_source_stream_returns_chunk_after_one_second)
{
	for (int has_name = 0; has_name <= 1; has_name++) {
		struct stream stream = open_stream(0, has_name);

		expect_end(&stream.chunks, -EAGAIN);
		assert_false(is_readable(&stream, 0));
		write_numbers(&stream, 0, 2);
		assert_true(is_readable(&stream, 0));
		expect_end(&stream.chunks, -EAGAIN);
		assert_true(is_readable(&stream, DEADLINE_MS));
		stopped_ns += BACKLOG_SEAL_MS * NS_PER_MS - 1;
		write_numbers(&stream, 2, 1);
		expect_end(&stream.chunks, -EAGAIN);
		stopped_ns++;
		(void)expect_numbers(&stream.chunks, 0, 3);
		stream.chunks.done(stream.chunks.user);
		/* The timer is off again, or it would be asked for ever. */
		assert_false(is_readable(&stream, 0));
		write_numbers(&stream, 3, 1);
		expect_end(&stream.chunks, -EAGAIN);
		stopped_ns += BACKLOG_SEAL_MS * NS_PER_MS;
		(void)expect_numbers(&stream.chunks, 3, 1);
		assert_int_equal(status_of(stream.source).size_bytes, 0);
		close_stream(&stream);
	}
}

TEST(file_source_stream_returns_full_chunk_at_once)
{
	struct stream stream = open_stream(0, false);

	write_numbers(&stream, 0, CHUNK_ENTRIES);
	expect_end(&stream.chunks, -EAGAIN);
	write_numbers(&stream, CHUNK_ENTRIES, 1);
	(void)expect_numbers(&stream.chunks, 0, CHUNK_ENTRIES);
	stream.chunks.done(stream.chunks.user);
	expect_end(&stream.chunks, -EAGAIN);
	close_stream(&stream);
}

TEST(file_source_stream_returns_last_chunk_at_end_of_input)
{
	struct stream stream = open_stream(0, false);

	write_numbers(&stream, 0, 2);
	(void)close(stream.writer);
	stream.writer = -1;
	(void)expect_numbers(&stream.chunks, 0, 2);
	stream.chunks.done(stream.chunks.user);
	expect_end(&stream.chunks, -ENODATA);
	assert_true(status_of(stream.source).is_exhausted);
	close_stream(&stream);
}

TEST(file_source_ended_stream_returns_records_already_read)
{
	struct stream stream = open_stream(0, false);

	write_numbers(&stream, 0, 2);
	expect_end(&stream.chunks, -EAGAIN);
	write_numbers(&stream, 2, 1);
	file_source_end(stream.source);
	(void)expect_numbers(&stream.chunks, 0, 2);
	stream.chunks.done(stream.chunks.user);
	expect_end(&stream.chunks, -ENODATA);
	assert_false(status_of(stream.source).is_exhausted);
	close_stream(&stream);
}

TEST(file_source_stream_skips_first_and_joins_split_record)
{
	struct stream stream = open_stream(1, false);
	struct numbered_entry torn = number_entry(1);

	write_numbers(&stream, 0, 1);
	assert_int_equal(write(stream.writer, &torn, 5), 5);
	expect_end(&stream.chunks, -EAGAIN);
	assert_int_equal(status_of(stream.source).done_records, 1);
	assert_int_equal(write(stream.writer, (const uint8_t *)&torn + 5, ENTRY - 5), ENTRY - 5);
	expect_end(&stream.chunks, -EAGAIN);
	stopped_ns += BACKLOG_SEAL_MS * NS_PER_MS;
	(void)expect_numbers(&stream.chunks, 1, 1);
	close_stream(&stream);
}

TEST_GROUP(setup, teardown)
