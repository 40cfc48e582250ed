/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "inheritable.h"
#include "record/check.h"
#include "recorder/queue/backlog_of_numbers.h"
#include "recorder/queue/spill.h"

static char folder[] = "/tmp/test_spill.XXXXXX";

static int setup(void **state)
{
	(void)state;
	return mkdtemp(folder) ? setenv("TMPDIR", folder, 1) : -1;
}

/* Fails if anything is left there. */
static int teardown(void **state)
{
	(void)state;
	return rmdir(folder);
}

enum {
	COUNT = 20000,
	MEMORY_BYTES = 1000 * ENTRY,
};

static void append_as_the_disk_can(struct backlog *backlog, uint64_t count)
{
	struct backlog_status status;

	for (uint64_t number = 0; number < count; number++) {
		append_numbers(backlog, number, 1);
		do
			backlog_get_status(backlog, &status);
		while (status.memory_bytes > MEMORY_BYTES * 9 / 10);
	}
}

TEST(spill_returns_records_of_outage_in_order)
{
	struct backlog *backlog = make_backlog(&(struct backlog_options){
		.segment_bytes = 100 * ENTRY, .memory_bytes_max = MEMORY_BYTES, .seal_ns = LONG });
	struct backlog_status status;
	uint64_t next = 0;

	append_as_the_disk_can(backlog, COUNT);
	backlog_seal(backlog);
	backlog_get_status(backlog, &status);
	assert_int_equal(status.queued_records, COUNT);
	assert_int_equal(status.dropped_records, 0);
	assert_true(status.memory_bytes <= MEMORY_BYTES);
	assert_true(status.store_bytes > COUNT / 2 * ENTRY);
	while (!backlog_is_empty(backlog)) {
		struct chunk chunk = await_chunk(backlog);

		for (uint32_t i = 0; i < chunk.entries; i++)
			assert_int_equal(entry_number(chunk.bytes, i), next++);
		backlog_done(backlog);
	}
	assert_int_equal(next, COUNT);
	backlog_free(backlog);
}

TEST(spill_retries_read_back_after_failed_allocation)
{
	struct backlog *backlog = make_backlog(&(struct backlog_options){
		.segment_bytes = 100 * ENTRY, .memory_bytes_max = MEMORY_BYTES, .seal_ns = LONG });
	struct backlog_status status;
	size_t refusals = 0;
	uint64_t next = 0;

	append_as_the_disk_can(backlog, 5000);
	backlog_seal(backlog);
	while (!backlog_is_empty(backlog)) {
		struct chunk chunk;
		int r;

		assert_true(is_readable(backlog, DEADLINE_MS));
		memory_fails_after(0);
		r = backlog_next(backlog, &chunk);
		memory_never_fails();
		assert_true(r == 0 || r == -ENOMEM);
		refusals += r == -ENOMEM;
		/* Nobody says when there is some: who asks again has it. */
		assert_int_equal(backlog_next(backlog, &chunk), 0);
		for (uint32_t i = 0; i < chunk.entries; i++)
			assert_int_equal(entry_number(chunk.bytes, i), next++);
		backlog_done(backlog);
	}
	assert_int_equal(next, 5000);
	assert_true(refusals > 10);
	backlog_get_status(backlog, &status);
	assert_int_equal(status.dropped_records, 0);
	assert_int_equal(status.damaged_segments, 0);
	backlog_free(backlog);
}

TEST(spill_is_bounded_and_drops_oldest_first)
{
	struct backlog *backlog =
		make_backlog(&(struct backlog_options){ .segment_bytes = 100 * ENTRY,
							.memory_bytes_max = MEMORY_BYTES,
							.seal_ns = LONG,
							.store_bytes_max = 5000 * ENTRY });
	struct backlog_status status;
	uint64_t next = 0, read = 0;

	append_as_the_disk_can(backlog, COUNT);
	backlog_seal(backlog);
	while (next < COUNT) {
		struct chunk chunk = await_chunk(backlog);

		assert_true(entry_number(chunk.bytes, 0) >= next);
		next = entry_number(chunk.bytes, chunk.entries - 1) + 1;
		read += chunk.entries;
		backlog_done(backlog);
	}
	backlog_get_status(backlog, &status);
	assert_int_equal(read + status.dropped_records, COUNT);
	assert_true(read >= 5000 && read <= 6000);
	backlog_free(backlog);
}

/* So that what is soon sent is not written first. */
TEST(spill_leaves_half_of_memory_in_use)
{
	const uint64_t each = 100, half_bytes = MEMORY_BYTES / 2;
	struct backlog *backlog = make_backlog(&(struct backlog_options){
		.segment_bytes = each * ENTRY, .memory_bytes_max = MEMORY_BYTES, .seal_ns = LONG });
	struct backlog_status status;

	for (uint64_t number = 0; number < 30 * each; number += each) {
		append_numbers(backlog, number, each);
		backlog_seal(backlog);
		do
			backlog_get_status(backlog, &status);
		while (status.memory_bytes > half_bytes);
		if (number >= 4 * each)
			assert_int_equal(status.memory_bytes, half_bytes);
	}
	assert_int_equal(status.store_bytes, 25 * (each * ENTRY + CHECK_BYTES));
	backlog_free(backlog);
}

/* The descriptor of the file without a name, which is not open elsewhere. */
static int find_spill(void)
{
	char path[64], target[PATH_MAX];

	for (int fd = 3; fd < 256; fd++) {
		ssize_t bytes;

		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		bytes = readlink(path, target, sizeof(target) - 1);
		if (bytes > 0 && !memcmp(target, folder, strlen(folder)))
			return fd;
	}
	return -1;
}

static off_t disk_bytes(int fd)
{
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	return status.st_blocks * 512;
}

/* What was sent gives its place back, at once, although the file only grows. */
TEST(spill_frees_disk_space_of_sent_records)
{
	unsigned int before = count_inheritable();
	struct backlog *backlog =
		make_backlog(&(struct backlog_options){ .segment_bytes = 1000 * ENTRY,
							.memory_bytes_max = 10000 * ENTRY,
							.seal_ns = LONG });
	struct backlog_status status;
	char path[64], name[PATH_MAX];
	uint64_t next = 0;
	int fd;

	append_numbers(backlog, 0, 9000);
	do
		backlog_get_status(backlog, &status);
	while (status.memory_bytes > 5000 * ENTRY);
	fd = find_spill();
	assert_true(fd >= 0);
	assert_true(disk_bytes(fd) >= 3 * 1000 * ENTRY);
	assert_int_equal(count_inheritable(), before);
	/* Nobody can give it a name. */
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	(void)snprintf(name, sizeof(name), "%s/name", folder);
	assert_int_equal(linkat(AT_FDCWD, path, AT_FDCWD, name, AT_SYMLINK_FOLLOW), -1);
	backlog_seal(backlog);
	while (!backlog_is_empty(backlog)) {
		struct chunk chunk = await_chunk(backlog);

		for (uint32_t i = 0; i < chunk.entries; i++)
			assert_int_equal(entry_number(chunk.bytes, i), next++);
		backlog_done(backlog);
	}
	assert_int_equal(next, 9000);
	for (int ms = 0;; ms++) {
		backlog_get_status(backlog, &status);
		if (status.store_bytes == 0)
			break;
		assert_true(ms < DEADLINE_MS);
		(void)usleep(1000);
	}
	/* But for the rest of a block. */
	assert_true(disk_bytes(fd) <= 9 * 2 * 4096);
	backlog_free(backlog);
}

TEST(spill_uses_var_tmp_without_tmpdir)
{
	static const char *const folders[] = { NULL, "" };
	char here[] = "/tmp/test_spill.XXXXXX";
	struct store *store;

	memcpy(here, folder, sizeof(here));
	(void)strcpy(folder, "/var/tmp");
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(folders[i] ? setenv("TMPDIR", folders[i], 1) : unsetenv("TMPDIR"),
				 0);
		assert_int_equal(spill_open(&store), 0);
		assert_true(find_spill() >= 0);
		store->type->free(store);
		assert_int_equal(find_spill(), -1);
	}
	memcpy(folder, here, sizeof(here));
	assert_int_equal(setenv("TMPDIR", "/nonexistent", 1), 0);
	assert_int_equal(spill_open(&store), -ENOENT);
	assert_int_equal(setenv("TMPDIR", folder, 1), 0);
}

TEST_GROUP(setup, teardown)
