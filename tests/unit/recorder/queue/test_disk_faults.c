/* SPDX-License-Identifier: GPL-2.0-only */
/* What becomes of records when the disk of the spool fails, in each of its calls, or the process.
 */
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "unit_test.h"

#include "base/clock.h"
#include "base/log.h"
#include "ears.h"
#include "record/check.h"
#include "recorder/queue/faulty_disk.h"
#include "recorder/queue/segment.h"
#include "recorder/queue/spool.h"
#include "recorder/queue/spool_folder.h"

UNIT_TEST_ALONE;

enum {
	SEGMENT = 2, /* entries */
	SEGMENTS = 3,
	COUNT = SEGMENT * SEGMENTS,
	NEVER = 1 << 30,
};

/* Instead of libc's: a clock that stands until it is put forward, in a future that no timer of the
 * system comes to. */
static _Atomic uint64_t now_ns;

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	if (clock != CLOCK_MONOTONIC)
		return (int)syscall(SYS_clock_gettime, clock, ret_time);
	*ret_time = clock_timespec(now_ns);
	return 0;
}

static int make_spool(void **state)
{
	struct timespec now;

	(void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	now_ns = ((uint64_t)now.tv_sec + 100000) * NS_PER_S;
	log_set_level(LOG_LEVEL_ERROR);
	disk_reset(0);
	return empty(state);
}

/* All at once: the calls of the keeper are the same each time. */
static void append_at_once(struct backlog *backlog, uint64_t first, uint64_t count)
{
	struct numbered_entry entries[COUNT];

	for (uint64_t i = 0; i < count; i++)
		entries[i] = number_entry(first + i);
	assert_int_equal(backlog_append(backlog, entries, count * ENTRY), 0);
}

/* How many entries it gives, in order, from the first on: no other, and none twice. */
static uint64_t take_in_order(struct backlog *backlog, uint64_t first)
{
	uint64_t next = first;

	while (!backlog_is_empty(backlog)) {
		struct chunk chunk = await_chunk(backlog);

		for (uint32_t i = 0; i < chunk.entries; i++)
			assert_int_equal(entry_number(chunk.bytes, i), next++);
		backlog_done(backlog);
	}
	return next - first;
}

static uint64_t take_after_restart(uint64_t first)
{
	struct backlog *backlog;
	uint64_t taken;

	disk_reset(0);
	backlog = open_spool(SEGMENT, LONG, 0);
	taken = take_in_order(backlog, first);
	backlog_free(backlog);
	return taken;
}

#define FIXTURE_TEST(test) TEST_WITH(test, make_spool, NULL)

/* Whatever fails, and why: at the end it is tried once more. */
FIXTURE_TEST(spool_survives_single_failure_of_any_disk_call)
{
	static const int errors[] = { EIO, EROFS, EINTR, 0 };
	unsigned int call = 1;

	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		for (call = 1;; call++) {
			struct backlog *backlog = open_spool(SEGMENT, LONG, 0);
			unsigned int failed;

			disk_reset(errors[i] ? DISK_CHANGES : DISK_WRITE);
			disk_fail(call, call + 1, errors[i]);
			append_at_once(backlog, 0, COUNT);
			backlog_seal(backlog);
			backlog_settle(backlog);
			backlog_free(backlog);
			failed = disk.failed;
			assert_int_equal(take_after_restart(0), COUNT);
			if (!failed)
				break;
		}
		/* Each segment: create, write, cut, sync, rename, and sync the folder. */
		assert_int_equal(call - 1, errors[i] ? 6 * SEGMENTS : SEGMENTS);
	}
}

/* Also one that does so while nobody is told. */
FIXTURE_TEST(spool_retries_failed_disk_once_more_when_freed)
{
	struct backlog *backlog = open_spool(SEGMENT, LONG, 0);

	disk_reset(DISK_CHANGES);
	disk_fail(1, NEVER, EIO);
	append_at_once(backlog, 0, COUNT);
	while (!disk.failed)
		(void)usleep(1000);
	backlog_settle(backlog);
	disk_fail(0, 0, 0);
	backlog_free(backlog);
	assert_int_equal(take_after_restart(0), COUNT);
}

/* Who asks what is kept is told of now, and not of a second ago. */
FIXTURE_TEST(spool_does_not_report_unwritten_records_as_kept)
{
	struct backlog *backlog = open_spool(SEGMENT, LONG, 0);
	struct backlog_status status;

	disk_reset(DISK_CHANGES);
	disk_fail(1 + 6, NEVER, EIO);
	append_at_once(backlog, 0, COUNT);
	backlog_seal(backlog);
	backlog_settle(backlog);
	backlog_get_status(backlog, &status);
	assert_int_equal(status.queued_records, COUNT);
	assert_int_equal(status.kept_records, SEGMENT);
	disk_fail(0, 0, 0);
	backlog_settle(backlog);
	backlog_get_status(backlog, &status);
	assert_int_equal(status.queued_records, COUNT);
	assert_int_equal(status.kept_records, COUNT);
	backlog_free(backlog);
}

FIXTURE_TEST(spool_completes_one_byte_writes)
{
	struct backlog *backlog = open_spool(SEGMENT, LONG, 0);

	disk_reset(DISK_WRITE);
	disk.write_bytes_max = 1;
	append_at_once(backlog, 0, COUNT);
	backlog_free(backlog);
	/* Each segment: a check of nothing, what was written, and its check. */
	assert_int_equal(disk.calls, COUNT * ENTRY + SEGMENTS * 2 * CHECK_BYTES);
	assert_int_equal(take_after_restart(0), COUNT);
}

/* A disk that tells so only when it is written to, in each call of a segment. */
FIXTURE_TEST(spool_drops_and_counts_oldest_segment_on_full_disk)
{
	for (unsigned int call = 1; call <= 6; call++) {
		/* One segment is more than half of it. */
		struct backlog *backlog = make_backlog(
			&(struct backlog_options){ .segment_bytes = SEGMENT * ENTRY,
						   .memory_bytes_max = SEGMENT * ENTRY * 3 / 2,
						   .seal_ns = LONG,
						   .spool = spool });
		struct backlog_status status;
		struct gap gap;
		char path[PATH_MAX];

		for (unsigned int i = 0; i < 2; i++) {
			append_at_once(backlog, i * SEGMENT, SEGMENT);
			backlog_seal(backlog);
			backlog_settle(backlog);
		}
		assert_int_equal(count_files(".chunks", path), 2);
		disk_reset(DISK_CHANGES);
		disk_fail(call, call + 1, call % 2 ? ENOSPC : EDQUOT);
		append_at_once(backlog, 2 * SEGMENT, SEGMENT);
		backlog_seal(backlog);
		backlog_settle(backlog);
		assert_int_equal(disk.failed, 1);
		backlog_get_status(backlog, &status);
		assert_int_equal(status.kept_records, 2 * SEGMENT);
		assert_true(backlog_take_gap(backlog, &gap));
		assert_int_equal(gap.dropped_records, SEGMENT);
		assert_int_equal(gap.dropped_segments, 1);
		assert_int_equal(gap.first_ns, numbered_time_ns(0));
		assert_int_equal(gap.last_ns, numbered_time_ns(SEGMENT - 1));
		assert_string_equal(gap.reason, "disk full");
		backlog_free(backlog);
		assert_int_equal(take_after_restart(SEGMENT), 2 * SEGMENT);
	}
}

/* As long as memory can hold it. */
FIXTURE_TEST(spool_waits_for_full_disk_without_dropping)
{
	struct backlog *backlog = open_spool(SEGMENT, LONG, 0);
	struct backlog_status status;

	append_at_once(backlog, 0, SEGMENT);
	backlog_seal(backlog);
	backlog_settle(backlog);
	disk_reset(DISK_CHANGES);
	disk_fail(1, NEVER, ENOSPC);
	append_at_once(backlog, SEGMENT, COUNT - SEGMENT);
	while (!disk.failed)
		(void)usleep(1000);
	disk_fail(0, 0, 0);
	now_ns += NS_PER_S;
	backlog_seal(backlog);
	do
		backlog_get_status(backlog, &status);
	while (status.kept_records < COUNT);
	assert_int_equal(status.dropped_records, 0);
	assert_int_equal(take_in_order(backlog, 0), COUNT);
	backlog_free(backlog);
}

/* They go out from memory, and nothing of them stays behind. */
FIXTURE_TEST(spool_sends_from_memory_if_disk_fails)
{
	struct backlog *backlog = open_spool(SEGMENT, LONG, 0);
	struct backlog_status status;
	char path[PATH_MAX];

	for (unsigned int call = 1; call <= 6; call++) {
		disk_reset(DISK_CHANGES);
		disk_fail(call, NEVER, EIO);
		append_at_once(backlog, 0, COUNT);
		backlog_seal(backlog);
		assert_int_equal(take_in_order(backlog, 0), COUNT);
		backlog_get_status(backlog, &status);
		assert_int_equal(status.dropped_records, 0);
		assert_int_equal(status.memory_bytes, 0);
		await_files(".part", 0, path);
		await_files(".chunks", 0, path);
		do
			backlog_get_status(backlog, &status);
		while (status.store_bytes);
		disk_reset(0);
		now_ns += NS_PER_S;
	}
	backlog_free(backlog);
}

/* Once in a second, however much comes. */
FIXTURE_TEST(spool_retries_failed_disk_once_per_second)
{
	struct backlog *backlog = open_spool(1, LONG, 0);
	char path[PATH_MAX];

	disk_reset(DISK_CREATE);
	disk_fail(1, NEVER, EIO);
	for (uint64_t number = 0; number < 20; number++) {
		append_numbers(backlog, number, 1);
		while (!disk.calls)
			(void)usleep(1000);
	}
	assert_int_equal(disk.calls, 1);
	disk_fail(0, 0, 0);
	now_ns += NS_PER_S - 1;
	append_numbers(backlog, 20, 1);
	assert_int_equal(disk.calls, 1);
	now_ns++;
	append_numbers(backlog, 21, 1);
	backlog_seal(backlog);
	await_files(".chunks", 22, path);
	assert_int_equal(disk.calls, 1 + 22);
	assert_int_equal(take_in_order(backlog, 0), 22);
	backlog_free(backlog);
}

/* A chunk is given out when it is so old, or five times as old where others wait before it. */
FIXTURE_TEST(spool_seals_open_segment_at_its_age_limit)
{
	const uint64_t seal_ns = 7 * NS_PER_S;
	struct backlog *backlog = open_spool(100, seal_ns, 0);
	struct backlog_status status;
	struct stat first = { 0 };
	char path[PATH_MAX];

	for (unsigned int chunks = 0; chunks < 2; chunks++) {
		append_numbers(backlog, 3 * chunks, 1);
		now_ns += (chunks ? 5 : 1) * seal_ns - 1;
		append_numbers(backlog, 3 * chunks + 1, 1);
		/* Both were kept, between two checks or with a third, but not given out: nobody is
		 * told to come. */
		do
			backlog_get_status(backlog, &status);
		while (status.store_bytes < (uint64_t)first.st_size + 2 * CHECK_BYTES + 2 * ENTRY);
		assert_int_equal(count_files(".chunks", path), chunks);
		assert_int_equal(is_readable(backlog, 0), chunks);
		now_ns++;
		append_numbers(backlog, 3 * chunks + 2, 1);
		await_files(".chunks", chunks + 1, path);
		assert_int_equal(stat(path, &first), 0);
	}
	(void)expect_numbers(backlog, 0, 3);
	backlog_done(backlog);
	(void)expect_numbers(backlog, 3, 3);
	backlog_free(backlog);
}

/* Once each, however often it is tried. */
FIXTURE_TEST(spool_logs_start_and_end_of_each_outage_once)
{
	struct backlog *backlog =
		make_backlog(&(struct backlog_options){ .spool = spool,
							.segment_bytes = SEGMENT * ENTRY,
							.seal_ns = LONG,
							.memory_bytes_max = 2048 * 1024 });
	struct ears ears = ears_open();
	char said[2048], expected[512];

	for (int outage = 0; outage < 2; outage++) {
		disk_reset(DISK_CREATE);
		disk_fail(1, NEVER, EROFS);
		append_at_once(backlog, 0, COUNT);
		for (int try = 0; try < 3; try++)
			backlog_settle(backlog);
		disk_fail(0, 0, 0);
		backlog_seal(backlog);
		for (int try = 0; try < 3; try++)
			backlog_settle(backlog);
	}
	backlog_free(backlog);
	ears_close(&ears, said, sizeof(said));
	(void)snprintf(expected, sizeof(expected),
		       "correlator: warning: cannot keep records in %s: %s; they wait in memory, "
		       "at most 2048 KiB\ncorrelator: records are kept in %s again\n",
		       spool, strerror(EROFS), spool);
	assert_int_equal(strlen(said), 2 * strlen(expected));
	assert_memory_equal(said, expected, strlen(expected));
	assert_string_equal(said + strlen(expected), expected);
}

FIXTURE_TEST(spool_bounds_memory_and_counts_drops_if_disk_fails)
{
	struct backlog *backlog =
		make_backlog(&(struct backlog_options){ .segment_bytes = SEGMENT * ENTRY,
							.memory_bytes_max = 3 * SEGMENT * ENTRY,
							.seal_ns = LONG,
							.spool = spool });
	struct gap gap;

	disk_reset(DISK_CHANGES);
	disk_fail(1, NEVER, EIO);
	append_at_once(backlog, 0, SEGMENT);
	while (!disk.failed)
		(void)usleep(1000);
	backlog_seal(backlog);
	backlog_settle(backlog);
	append_at_once(backlog, SEGMENT, 3 * SEGMENT - 1 > COUNT ? COUNT : 3 * SEGMENT - 1);
	backlog_seal(backlog);
	assert_true(backlog_take_gap(backlog, &gap));
	assert_int_equal(gap.dropped_records, SEGMENT);
	assert_int_equal(gap.first_ns, numbered_time_ns(0));
	assert_string_equal(gap.reason, "memory queue full");
	assert_int_equal(take_in_order(backlog, SEGMENT), 3 * SEGMENT - 1);
	backlog_free(backlog);
}

/* What it said of records that then survived its death, in memory that both have. */
struct witness {
	uint64_t given_out; /* by the source: they may have been sent */
	uint64_t settled;
};

static void write_until_dead(struct witness *witness, unsigned int call, bool is_power)
{
	struct backlog *backlog = open_spool(SEGMENT, LONG, 0);
	struct chunk chunk;

	disk_reset(DISK_CHANGES);
	disk.dies_with_power = is_power;
	disk.dies_at = call;
	append_at_once(backlog, 0, SEGMENT);
	backlog_seal(backlog);
	chunk = await_chunk(backlog);
	witness->given_out = chunk.entries;
	append_at_once(backlog, SEGMENT, COUNT - SEGMENT);
	backlog_seal(backlog);
	backlog_settle(backlog);
	witness->settled = COUNT;
	/* It is not done: no death may take it. */
	backlog_free(backlog);
	_exit(1);
}

static bool die_at(unsigned int call, bool is_power, struct witness *witness)
{
	pid_t child;
	int code;

	*witness = (struct witness){ 0 };
	child = fork();
	assert_true(child >= 0);
	if (!child)
		write_until_dead(witness, call, is_power);
	assert_int_equal(waitpid(child, &code, 0), child);
	assert_true(WIFEXITED(code));
	return WEXITSTATUS(code) == 0;
}

/* In each call: with all that was written so far, and with only what was synced. Nothing that was
 * said to be kept is missing then, and what is there is the beginning of what was appended. */
FIXTURE_TEST(spool_preserves_kept_records_across_crash_and_power_loss)
{
	struct witness *witness = mmap(NULL, sizeof(*witness), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int call;
	uint64_t taken;
	bool is_dead;

	for (int is_power = 0; is_power <= 1; is_power++) {
		for (call = 1, is_dead = true; is_dead; call++) {
			is_dead = die_at(call, is_power, witness);
			taken = take_after_restart(0);
			assert_true(taken >= witness->given_out);
			assert_true(taken >= witness->settled);
			assert_true(taken <= COUNT);
		}
		assert_int_equal(witness->settled, COUNT);
		assert_int_equal(call - 2, 6 * SEGMENTS);
	}
	assert_int_equal(munmap(witness, sizeof(*witness)), 0);
}

static void write_over_a_failed_sync(struct witness *witness, unsigned int sync)
{
	struct backlog *backlog = open_spool(SEGMENT, LONG, 0);
	struct backlog_status status;

	disk_reset(DISK_SYNC);
	disk_fail(sync, sync + 1, EIO);
	append_at_once(backlog, 0, COUNT);
	backlog_seal(backlog);
	do {
		backlog_settle(backlog);
		backlog_get_status(backlog, &status);
	} while (status.kept_records < COUNT);
	witness->settled = COUNT;
	(void)pthread_mutex_lock(&disk_lock);
	disk_lose_power();
	(void)syscall(SYS_exit_group, disk.failed ? 0 : 1);
}

/* The kernel has thrown away what it could not sync, and says so once. */
FIXTURE_TEST(spool_rewrites_records_after_failed_sync)
{
	struct witness *witness = mmap(NULL, sizeof(*witness), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	unsigned int sync = 0;
	bool has_failed;

	do {
		pid_t child;
		int code;

		sync++;
		*witness = (struct witness){ 0 };
		child = fork();
		assert_true(child >= 0);
		if (!child)
			write_over_a_failed_sync(witness, sync);
		assert_int_equal(waitpid(child, &code, 0), child);
		assert_true(WIFEXITED(code));
		has_failed = WEXITSTATUS(code) == 0;
		assert_int_equal(witness->settled, COUNT);
		assert_int_equal(take_after_restart(0), COUNT);
	} while (has_failed);
	assert_int_equal(sync - 1, 2 * SEGMENTS);
	assert_int_equal(munmap(witness, sizeof(*witness)), 0);
}

#define OPEN_NAME "0000000000000007-000102030405060708090a0b0c0d0e0f.open"

static void leave_torn(void)
{
	const struct numbered_entry entries[] = { number_entry(0), number_entry(1),
						  number_entry(2) };
	char path[PATH_MAX];
	FILE *file;

	(void)run("rm -rf", spool);
	assert_int_equal(mkdir(spool, 0700), 0);
	(void)snprintf(path, sizeof(path), "%s/%s", spool, OPEN_NAME);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(entries, sizeof(entries) - 1, 1, file), 1);
	assert_int_equal(fclose(file), 0);
}

/* What was cut off is salvaged, now or when the disk is well again. */
FIXTURE_TEST(spool_open_loses_nothing_if_disk_fails)
{
	struct backlog *backlog = NULL;
	unsigned int call = 0, failed;
	int r;

	do {
		leave_torn();
		disk_reset(DISK_CHANGES | DISK_READ);
		call++;
		disk_fail(call, call + 1, EIO);
		r = backlog_new(&(struct backlog_options){ .spool = spool }, &backlog);
		assert_true(r == 0 || r == -EIO);
		if (r == 0)
			backlog_free(backlog);
		failed = disk.failed;
		assert_int_equal(take_after_restart(0), 2);
	} while (failed);
	/* Lock, read, cut, sync, rename, and sync the folder. */
	assert_int_equal(call - 1, 6);
}

static void fill_spool(void)
{
	struct backlog *backlog;

	(void)run("rm -rf", spool);
	disk_reset(0);
	backlog = open_spool(SEGMENT, LONG, 0);
	append_at_once(backlog, 0, COUNT);
	backlog_free(backlog);
}

/* Takes all that is there, in whatever order; how many entries, and each was there once. */
static unsigned int take_each_once(struct backlog *backlog)
{
	bool has_seen[COUNT] = { false };
	unsigned int taken = 0;
	struct chunk chunk;
	int r;

	while (!backlog_is_empty(backlog) && !backlog_is_stuck(backlog)) {
		r = backlog_next(backlog, &chunk);
		if (r == -EAGAIN)
			now_ns += NS_PER_S / 4;
		if (r == -EAGAIN)
			continue;
		assert_int_equal(r, 0);
		for (uint32_t i = 0; i < chunk.entries; i++, taken++) {
			uint64_t number = entry_number(chunk.bytes, i);

			assert_false(has_seen[number]);
			has_seen[number] = true;
		}
		backlog_done(backlog);
	}
	return taken;
}

/* The first calls that read fail: nothing is lost, nor called damaged, and it is said once. */
FIXTURE_TEST(spool_retries_failed_reads_without_loss)
{
	static const int errors[] = { EMFILE, ENFILE, EIO, EACCES };
	struct backlog_status status;
	char said[2048], expected[512];

	for (unsigned int i = 0; i < 4 * 2 * SEGMENTS; i++) {
		struct backlog *backlog;
		struct ears ears;

		fill_spool();
		backlog = open_spool(SEGMENT, LONG, 0);
		disk_reset(DISK_READ | DISK_OPEN);
		disk_fail(1, 1 + i / 4, errors[i % 4]);
		ears = ears_open();
		log_set_level(LOG_LEVEL_INFO);
		assert_int_equal(take_each_once(backlog), COUNT);
		log_set_level(LOG_LEVEL_ERROR);
		ears_close(&ears, said, sizeof(said));
		(void)snprintf(expected, sizeof(expected),
			       "correlator: warning: cannot read records back from %s: %s; they "
			       "stay there, and it is tried again each second\n"
			       "correlator: records are read back from %s again\n",
			       spool, strerror(errors[i % 4]), spool);
		assert_string_equal(said, i / 4 ? expected : "");
		backlog_get_status(backlog, &status);
		assert_int_equal(status.dropped_records, 0);
		assert_int_equal(status.damaged_segments, 0);
		backlog_free(backlog);
	}
}

/* Who sends a spool ends then; what is there is sent next time. */
FIXTURE_TEST(spool_keeps_unreadable_records_for_next_start)
{
	struct backlog *backlog;

	fill_spool();
	backlog = open_spool(SEGMENT, LONG, 0);
	disk_reset(DISK_READ);
	disk_fail(1, NEVER, EIO);
	assert_int_equal(take_each_once(backlog), 0);
	assert_false(backlog_is_empty(backlog));
	backlog_free(backlog);
	assert_int_equal(take_after_restart(0), COUNT);
}

FIXTURE_TEST(spool_delivers_all_records_from_read_only_disk)
{
	struct backlog *backlog = NULL;
	struct ears ears;
	char said[2048], path[PATH_MAX];

	fill_spool();
	disk_reset(DISK_CHANGES | DISK_REMOVE);
	disk_fail(1, NEVER, EROFS);
	ears = ears_open();
	backlog = open_spool(SEGMENT, LONG, 0);
	assert_int_equal(take_each_once(backlog), COUNT);
	backlog_free(backlog);
	ears_close(&ears, said, sizeof(said));
	assert_non_null(strstr(said, "cannot remove delivered records"));
	assert_null(strstr(strstr(said, "cannot remove") + 1, "cannot remove"));
	assert_int_equal(count_files(".chunks", path), SEGMENTS);
	/* Also one that was cut off. */
	leave_torn();
	disk_reset(DISK_CHANGES | DISK_REMOVE);
	disk_fail(1, NEVER, EROFS);
	run("touch", strcat(strcpy(path, spool), "/lock"));
	backlog = open_spool(SEGMENT, LONG, 0);
	assert_int_equal(take_each_once(backlog), 2);
	backlog_free(backlog);
}

static size_t rejected_bytes(void)
{
	char path[PATH_MAX];
	struct stat status = { 0 };

	(void)snprintf(path, sizeof(path), "%s/rejected/rejected.msgpack", spool);
	(void)stat(path, &status);
	return (size_t)status.st_size;
}

/* Only whole records are in it, however the disk fails. */
FIXTURE_TEST(spool_reject_leaves_no_partial_record_if_disk_fails)
{
	struct numbered_entry entry = number_entry(1);
	size_t before_bytes;
	unsigned int call = 0, failed;
	int r;

	do {
		struct backlog *backlog = open_spool(SEGMENT, LONG, 0);

		assert_int_equal(backlog_reject(backlog, &entry, ENTRY), 0);
		before_bytes = rejected_bytes();
		assert_int_equal(before_bytes % ENTRY, 0);
		disk_reset(DISK_CHANGES);
		disk.write_bytes_max = ENTRY / 2;
		call++;
		disk_fail(call, call + 1, EIO);
		r = backlog_reject(backlog, &entry, ENTRY);
		failed = disk.failed;
		assert_int_equal(r, failed ? -EIO : 0);
		if (r < 0)
			assert_true(rejected_bytes() == before_bytes ||
				    rejected_bytes() == before_bytes + ENTRY);
		disk_reset(0);
		backlog_free(backlog);
		assert_int_equal(rejected_bytes() % ENTRY, 0);
	} while (failed);
	/* Folder, file, two or three writes, and three times to sync. */
	assert_int_equal(call - 1, 2 + (ENTRY + ENTRY / 2 - 1) / (ENTRY / 2) + 3);
}

TEST_GROUP(setup, teardown)
