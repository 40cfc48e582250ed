/* SPDX-License-Identifier: GPL-2.0-only */
/* More at once than memory holds: all of it is kept while the disk takes it, and nobody waits long
 * for a disk that hangs. */
#include <pthread.h>
#include <sys/syscall.h>

#include "unit_test.h"

#include "base/clock.h"
#include "base/log.h"
#include "recorder/queue/spool_folder.h"

UNIT_TEST_ALONE;

enum {
	SEGMENT = 100, /* entries */
	SEGMENTS_IN_MEMORY = 4,
	BURST = 100 * SEGMENT,
};

static pthread_mutex_t disk = PTHREAD_MUTEX_INITIALIZER; /* locked: it hangs */

/* Instead of libc's. */
int fsync(int fd)
{
	(void)pthread_mutex_lock(&disk);
	(void)pthread_mutex_unlock(&disk);
	return (int)syscall(SYS_fsync, fd);
}

static int start(void **state)
{
	log_set_level(LOG_LEVEL_ERROR);
	return empty(state);
}

static struct backlog *make(const char *folder)
{
	return make_backlog(
		&(struct backlog_options){ .segment_bytes = SEGMENT * ENTRY,
					   .memory_bytes_max = SEGMENTS_IN_MEMORY * SEGMENT * ENTRY,
					   .seal_ns = LONG,
					   .spool = folder });
}

/* In one call, as a window's records come. */
static void append_burst(struct backlog *backlog, uint64_t first, uint64_t count)
{
	struct numbered_entry *entries = calloc(count, sizeof(*entries));

	assert_non_null(entries);
	for (uint64_t i = 0; i < count; i++)
		entries[i] = number_entry(first + i);
	assert_int_equal(backlog_append(backlog, entries, count * ENTRY), 0);
	free(entries);
}

static uint64_t dropped(struct backlog *backlog)
{
	struct backlog_status status;

	backlog_get_status(backlog, &status);
	return status.dropped_records;
}

static void keeps_a_burst(const char *folder)
{
	struct backlog *backlog = make(folder);
	struct backlog_status status;

	append_burst(backlog, 0, BURST);
	backlog_seal(backlog);
	backlog_get_status(backlog, &status);
	assert_int_equal(status.dropped_records, 0);
	assert_int_equal(status.queued_records, BURST);
	assert_true(status.memory_bytes <= SEGMENTS_IN_MEMORY * SEGMENT * ENTRY);
	for (uint64_t first = 0; first < BURST; first += SEGMENT) {
		(void)expect_numbers(backlog, first, SEGMENT);
		backlog_done(backlog);
	}
	assert_true(backlog_is_empty(backlog));
	backlog_free(backlog);
}

#define FIXTURE_TEST(test) TEST_WITH(test, start, NULL)

FIXTURE_TEST(burst_larger_than_memory_goes_to_spool)
{
	keeps_a_burst(spool);
}

FIXTURE_TEST(burst_without_spool_goes_to_unnamed_file)
{
	keeps_a_burst(NULL);
}

/* The first to meet it waits, in vain; those after it do not. */
FIXTURE_TEST(burst_waits_only_once_for_hanging_disk)
{
	const unsigned int more = 20;
	struct backlog *backlog = make(spool);
	uint64_t lost_records, start_ns;

	(void)pthread_mutex_lock(&disk);
	append_burst(backlog, 0, (SEGMENTS_IN_MEMORY + 1) * SEGMENT);
	assert_int_equal(dropped(backlog), SEGMENT);
	start_ns = clock_monotonic_ns();
	for (unsigned int i = 0; i < more; i++)
		append_burst(backlog, 0, SEGMENT);
	/* Twenty waits would be ten times as long. */
	assert_true(clock_monotonic_ns() - start_ns <
		    (uint64_t)BACKLOG_PATIENCE_MS * NS_PER_MS * more / 10);
	lost_records = dropped(backlog);
	assert_int_equal(lost_records, (1 + more) * SEGMENT);

	(void)pthread_mutex_unlock(&disk);
	backlog_seal(backlog);
	backlog_settle(backlog);
	append_burst(backlog, 0, BURST);
	assert_int_equal(dropped(backlog), lost_records);
	backlog_free(backlog);
}

TEST_GROUP(setup, teardown)
