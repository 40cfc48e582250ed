/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "recorder/queue/backlog.h"
#include "recorder/queue/backlog_of_numbers.h"

UNIT_TEST_ALONE;

static struct backlog *make(size_t segment_bytes, size_t memory_bytes_max, uint64_t seal_ns)
{
	return make_backlog(&(struct backlog_options){ .segment_bytes = segment_bytes,
						       .memory_bytes_max = memory_bytes_max,
						       .seal_ns = seal_ns });
}

/* No disk to go to: what memory cannot hold is dropped. */
static int without_spill(void **state)
{
	(void)state;
	return setenv("TMPDIR", "/nonexistent", 1);
}

TEST(backlog_holds_young_chunk_until_its_seal_time)
{
	struct backlog *backlog = make(0, 0, 20 * 1000 * 1000);
	struct chunk chunk;

	assert_int_equal(backlog_next(backlog, &chunk), -EAGAIN);
	assert_false(is_readable(backlog, 0));
	append_numbers(backlog, 1, 2);
	assert_int_equal(backlog_next(backlog, &chunk), -EAGAIN);
	assert_false(backlog_is_empty(backlog));
	chunk = expect_numbers(backlog, 1, 2);
	assert_int_equal(strlen(chunk.id), 24);
	backlog_done(backlog);
	assert_true(backlog_is_empty(backlog));
	backlog_free(backlog);
}

TEST(backlog_wakes_reader_at_seal_time_without_prior_call)
{
	struct backlog *backlog = make(0, 0, 20 * 1000 * 1000);
	struct chunk chunk;

	append_numbers(backlog, 1, 2);
	assert_true(is_readable(backlog, DEADLINE_MS));
	assert_int_equal(backlog_next(backlog, &chunk), 0);
	assert_int_equal(chunk.entries, 2);
	backlog_free(backlog);
}

TEST(backlog_returns_full_chunk_at_once_and_splits_no_entry)
{
	struct backlog *backlog = make(3 * ENTRY + ENTRY / 2, 0, LONG);
	struct chunk first, second;

	append_numbers(backlog, 1, 7);
	first = expect_numbers(backlog, 1, 3);
	backlog_done(backlog);
	second = expect_numbers(backlog, 4, 3);
	assert_string_not_equal(first.id, second.id);
	backlog_done(backlog);
	assert_int_equal(backlog_next(backlog, &second), -EAGAIN);
	backlog_seal(backlog);
	(void)expect_numbers(backlog, 7, 1);
	backlog_free(backlog);
}

TEST(backlog_divides_entries_of_one_append_into_chunks)
{
	struct backlog *backlog = make(4 * ENTRY, 0, LONG);
	struct numbered_entry entries[10];

	for (uint64_t i = 0; i < 10; i++)
		entries[i] = number_entry(i);
	assert_int_equal(backlog_append(backlog, entries, sizeof(entries)), 0);
	(void)expect_numbers(backlog, 0, 4);
	backlog_done(backlog);
	(void)expect_numbers(backlog, 4, 4);
	backlog_free(backlog);
}

TEST(backlog_returns_same_chunk_until_done)
{
	struct backlog *backlog = make(2 * ENTRY, 0, LONG);
	struct chunk first, again;

	append_numbers(backlog, 1, 5);
	first = expect_numbers(backlog, 1, 2);
	assert_int_equal(backlog_next(backlog, &again), 0);
	assert_memory_equal(first.id, again.id, sizeof(first.id));
	assert_ptr_equal(first.bytes, again.bytes);
	backlog_free(backlog);
}

TEST(backlog_when_full_drops_oldest_but_not_in_flight_chunk)
{
	struct backlog *backlog = make(2 * ENTRY, 6 * ENTRY, LONG);
	struct backlog_status status;
	struct gap gap;

	append_numbers(backlog, 1, 6);
	(void)expect_numbers(backlog, 1, 2);
	assert_false(backlog_take_gap(backlog, &gap));
	append_numbers(backlog, 7, 4);
	(void)expect_numbers(backlog, 1, 2);
	assert_true(backlog_take_gap(backlog, &gap));
	assert_int_equal(gap.dropped_records, 4);
	assert_int_equal(gap.dropped_segments, 2);
	assert_int_equal(gap.first_ns, numbered_time_ns(3));
	assert_int_equal(gap.last_ns, numbered_time_ns(6));
	assert_string_equal(gap.reason, "memory queue full");
	assert_false(backlog_take_gap(backlog, &gap));
	backlog_get_status(backlog, &status);
	assert_int_equal(status.dropped_records, 4);
	assert_int_equal(status.queued_records, 6);
	assert_true(status.memory_bytes <= 6 * ENTRY);
	backlog_done(backlog);
	(void)expect_numbers(backlog, 7, 2);
	backlog_free(backlog);
}

TEST(backlog_drops_new_entry_if_in_flight_chunk_fills_memory)
{
	struct backlog *backlog = make(2 * ENTRY, 2 * ENTRY, LONG);
	struct gap gap;

	append_numbers(backlog, 1, 2);
	backlog_seal(backlog);
	(void)expect_numbers(backlog, 1, 2);
	append_numbers(backlog, 3, 1);
	assert_true(backlog_take_gap(backlog, &gap));
	assert_int_equal(gap.dropped_records, 1);
	assert_int_equal(gap.dropped_segments, 0);
	assert_int_equal(gap.first_ns, numbered_time_ns(3));
	backlog_free(backlog);
}

TEST(backlog_counts_entries_dropped_by_failed_allocation)
{
	struct backlog *backlog = make(2 * ENTRY, 0, LONG), *none = NULL;
	struct backlog_status status;
	struct gap gap;

	append_numbers(backlog, 1, 1);
	/* There is room for one more; of a segment first itself and then its bytes are missing. */
	memory_fails_after(0);
	append_numbers(backlog, 2, 2);
	memory_fails_after(1);
	append_numbers(backlog, 4, 1);
	memory_fails_after(0);
	assert_int_equal(backlog_new(NULL, &none), -ENOMEM);
	memory_never_fails();
	assert_null(none);
	append_numbers(backlog, 5, 2);
	assert_true(backlog_take_gap(backlog, &gap));
	assert_int_equal(gap.dropped_records, 2);
	assert_int_equal(gap.dropped_segments, 0);
	assert_int_equal(gap.first_ns, numbered_time_ns(3));
	assert_int_equal(gap.last_ns, numbered_time_ns(4));
	assert_string_equal(gap.reason, "no memory");
	backlog_get_status(backlog, &status);
	assert_int_equal(status.queued_records, 4);
	assert_int_equal(status.dropped_records, 2);
	backlog_seal(backlog);
	(void)expect_numbers(backlog, 1, 2);
	backlog_done(backlog);
	(void)expect_numbers(backlog, 5, 2);
	backlog_free(backlog);
}

TEST(backlog_puts_oversized_entry_in_its_own_chunk)
{
	struct backlog *backlog = make(ENTRY / 2, 0, LONG);

	append_numbers(backlog, 1, 2);
	backlog_seal(backlog);
	(void)expect_numbers(backlog, 1, 1);
	backlog_done(backlog);
	(void)expect_numbers(backlog, 2, 1);
	backlog_free(backlog);
}

TEST(backlog_append_rejects_non_entry_and_keeps_rest)
{
	struct backlog *backlog = make(0, 0, LONG);
	struct numbered_entry entries[2] = { number_entry(1), number_entry(2) };

	assert_int_equal(backlog_append(backlog, entries, sizeof(entries) - 1), -EBADMSG);
	assert_int_equal(backlog_append(backlog, "text", 4), -EBADMSG);
	backlog_seal(backlog);
	(void)expect_numbers(backlog, 1, 1);
	backlog_free(backlog);
}

TEST(backlog_counts_rejected_entry_as_dropped_without_spool)
{
	struct backlog *backlog = make(0, 0, LONG);
	struct backlog_status status;
	struct gap gap;
	struct chunk chunk;

	append_numbers(backlog, 1, 2);
	backlog_seal(backlog);
	chunk = expect_numbers(backlog, 1, 2);
	assert_int_equal(backlog_reject(backlog, chunk.bytes, ENTRY), -EOPNOTSUPP);
	backlog_done(backlog);
	backlog_get_status(backlog, &status);
	assert_int_equal(status.rejected_records, 1);
	assert_int_equal(status.dropped_records, 1);
	assert_int_equal(status.queued_bytes, 0);
	assert_true(backlog_take_gap(backlog, &gap));
	assert_int_equal(gap.dropped_records, 1);
	assert_int_equal(gap.first_ns, numbered_time_ns(1));
	assert_int_equal(gap.last_ns, numbered_time_ns(1));
	assert_string_equal(gap.reason, "refused");
	backlog_free(backlog);
}

enum {
	STREAM_ENTRIES = 200000,
};

static void *write_stream(void *user)
{
	for (uint64_t number = 0; number < STREAM_ENTRIES; number++) {
		struct numbered_entry entry = number_entry(number);

		if (backlog_append(user, &entry, sizeof(entry)))
			return user;
	}
	backlog_seal(user);
	return NULL;
}

/* Each is either read, in order, or counted as dropped. */
TEST(backlog_reader_gets_or_counts_every_entry_of_writer)
{
	struct backlog *backlog = make(100 * ENTRY, 1000 * ENTRY, LONG);
	uint64_t next = 0, read = 0;
	struct backlog_status status;
	struct chunk chunk;
	pthread_t writer;
	void *failed;

	assert_int_equal(pthread_create(&writer, NULL, write_stream, backlog), 0);
	while (next < STREAM_ENTRIES) {
		assert_true(is_readable(backlog, 10000));
		if (backlog_next(backlog, &chunk))
			continue;
		for (uint32_t i = 0; i < chunk.entries; i++) {
			uint64_t number = entry_number(chunk.bytes, i);

			assert_true(number >= next);
			next = number + 1;
		}
		read += chunk.entries;
		backlog_done(backlog);
	}
	assert_int_equal(pthread_join(writer, &failed), 0);
	assert_null(failed);
	backlog_get_status(backlog, &status);
	assert_int_equal(read + status.dropped_records, STREAM_ENTRIES);
	assert_true(backlog_is_empty(backlog));
	backlog_free(backlog);
}

TEST(backlog_sends_other_chunks_before_deferred_one)
{
	struct backlog *backlog = make(2 * ENTRY, 0, LONG);
	struct chunk first, again;

	append_numbers(backlog, 1, 2);
	backlog_seal(backlog);
	first = expect_numbers(backlog, 1, 2);
	assert_int_equal(backlog_defer(backlog), -ENOENT);
	append_numbers(backlog, 3, 4);
	backlog_seal(backlog);
	assert_int_equal(backlog_defer(backlog), 0);
	(void)expect_numbers(backlog, 3, 2);
	assert_int_equal(backlog_defer(backlog), 0);
	(void)expect_numbers(backlog, 5, 2);
	/* All are deferred: they take turns. */
	assert_int_equal(backlog_defer(backlog), 0);
	again = expect_numbers(backlog, 1, 2);
	assert_string_equal(again.id, first.id);
	/* One is done: the oldest is tried again. */
	assert_int_equal(backlog_defer(backlog), 0);
	(void)expect_numbers(backlog, 3, 2);
	backlog_done(backlog);
	(void)expect_numbers(backlog, 1, 2);
	backlog_done(backlog);
	(void)expect_numbers(backlog, 5, 2);
	backlog_done(backlog);
	assert_true(backlog_is_empty(backlog));
	backlog_free(backlog);
}

static atomic_bool is_stderr_full, is_somebody_waiting;
static pthread_t test_thread;

/* Instead of libc's: stderr has room for another thread (base/log.c) when the test says so. */
int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	struct timespec timeout = { timeout_ms / 1000, timeout_ms % 1000 * 1000000L };

	if (pthread_equal(pthread_self(), test_thread) || !is_stderr_full)
		return ppoll(fds, count, timeout_ms < 0 ? NULL : &timeout, NULL);
	is_somebody_waiting = true;
	while (is_stderr_full)
		(void)usleep(1000);
	return 0;
}

/* What measuring does goes on; a deadlock would end in the alarm. */
TEST(backlog_append_does_not_block_on_full_stderr)
{
	struct backlog *backlog = make(2 * ENTRY, 8 * ENTRY, LONG);
	struct backlog_status status;

	(void)alarm(DEADLINE_MS / 1000);
	test_thread = pthread_self();
	is_stderr_full = true;
	append_numbers(backlog, 0, 8);
	while (!is_somebody_waiting)
		(void)usleep(1000);
	append_numbers(backlog, 8, 100);
	backlog_get_status(backlog, &status);
	assert_true(status.dropped_records > 0);
	is_stderr_full = false;
	backlog_free(backlog);
	(void)alarm(0);
}

TEST_GROUP(without_spill, NULL)
