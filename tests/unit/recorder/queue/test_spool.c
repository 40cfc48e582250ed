/* SPDX-License-Identifier: GPL-2.0-only */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unit_test.h"

#include "ears.h"
#include "inheritable.h"
#include "record/check.h"
#include "recorder/queue/segment.h"
#include "recorder/queue/spool.h"
#include "recorder/queue/spool_folder.h"

UNIT_TEST_ALONE;

/* Instead of libc's: who runs this, or another one. */
static uid_t other_user;

uid_t geteuid(void)
{
	return other_user ? other_user : (uid_t)syscall(SYS_geteuid);
}

static atomic_bool is_disk_full;
static void (*_Atomic before_it_is_full)(void); /* by the keeper, before it drops something */

/* Instead of libc's. What succeeds may leave an error there. */
int fstatvfs(int fd, struct statvfs *ret_system)
{
	int (*real)(int, struct statvfs *) =
		(int (*)(int, struct statvfs *))dlsym(RTLD_NEXT, "fstatvfs");
	int r = real(fd, ret_system);

	if (is_disk_full)
		ret_system->f_bavail = 0;
	if (before_it_is_full)
		before_it_is_full();
	if (r == 0)
		errno = ENOSPC;
	return r;
}

#define FIXTURE_TEST(test) TEST_WITH(test, empty, NULL)

FIXTURE_TEST(spool_is_private_and_locked_by_one_process)
{
	struct backlog_options options = { .spool = spool };
	struct backlog *first = make_backlog(&options), *second;
	char path[PATH_MAX];
	struct stat status;

	assert_int_equal(stat(spool, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0700);
	append_numbers(first, 1, 1);
	await_files(".part", 1, path);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(backlog_new(&options, &second), -EWOULDBLOCK);
	backlog_free(first);
	assert_int_equal(chmod(spool, 0750), 0);
	assert_int_equal(backlog_new(&options, &second), -EPERM);
	assert_int_equal(chmod(spool, 0700), 0);
	other_user = geteuid() + 1;
	assert_int_equal(backlog_new(&options, &second), -EPERM);
	other_user = 0;
	first = make_backlog(&options);
	backlog_free(first);
}

FIXTURE_TEST(spool_open_rejects_non_folder_and_missing_parent)
{
	struct backlog_options options = { .spool = "/dev/null" };
	struct backlog *backlog = NULL;

	assert_int_equal(backlog_new(&options, &backlog), -ENOTDIR);
	assert_null(backlog);
	backlog_free(backlog);
	options.spool = "/nonexistent/spool";
	assert_int_equal(backlog_new(&options, &backlog), -ENOENT);
}

FIXTURE_TEST(spool_restart_sends_leftover_chunks_first_with_same_ids)
{
	struct backlog *backlog = open_spool(2, LONG, 0);
	struct chunk first, second;
	char path[PATH_MAX];

	append_numbers(backlog, 1, 5);
	(void)expect_numbers(backlog, 1, 2);
	backlog_done(backlog);
	first = expect_numbers(backlog, 3, 2);
	backlog_free(backlog);
	assert_int_equal(count_files(".chunks", path), 2);
	assert_int_equal(count_files(".part", path), 0);

	backlog = open_spool(2, LONG, 0);
	append_numbers(backlog, 6, 2);
	second = expect_numbers(backlog, 3, 2);
	assert_string_equal(first.id, second.id);
	backlog_done(backlog);
	(void)expect_numbers(backlog, 5, 1);
	backlog_done(backlog);
	backlog_seal(backlog);
	(void)expect_numbers(backlog, 6, 2);
	backlog_done(backlog);
	assert_true(backlog_is_empty(backlog));
	await_files(".chunks", 0, path);
	backlog_free(backlog);
}

FIXTURE_TEST(spool_writes_chunk_before_returning_it)
{
	const struct numbered_entry entries[] = { number_entry(1), number_entry(2),
						  number_entry(3) };
	struct backlog *backlog = open_spool(100, 1000 * 1000, 0);
	char path[PATH_MAX];

	/* At once: one after the other they may come to be older than what makes a chunk. */
	assert_int_equal(backlog_append(backlog, entries, sizeof(entries)), 0);
	(void)expect_numbers(backlog, 1, 3);
	assert_int_equal(count_files(".chunks", path), 1);
	assert_non_null(strstr(path, "-3-"));
	backlog_free(backlog);
}

static void write_file(const char *name, const void *bytes, size_t size_bytes)
{
	char path[PATH_MAX];
	int fd;

	(void)mkdir(spool, 0700);
	(void)snprintf(path, sizeof(path), "%s/%s", spool, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size_bytes), size_bytes);
	assert_int_equal(close(fd), 0);
}

#define OPEN_NAME "0000000000000007-000102030405060708090a0b0c0d0e0f.open"

/* A power loss may leave any part of a file that was not yet sealed, and zeros after it. */
FIXTURE_TEST(spool_salvages_whole_entries_of_torn_file)
{
	struct numbered_entry entries[4] = { number_entry(0), number_entry(1), number_entry(2) };
	char path[PATH_MAX];

	memset(&entries[3], 0, sizeof(entries[3]));
	for (size_t size = 0; size <= sizeof(entries); size++) {
		size_t whole = size / ENTRY < 3 ? size / ENTRY : 3;
		char said[1024], lost[64];
		struct backlog *backlog;
		struct ears ears;

		write_file(OPEN_NAME, entries, size);
		ears = ears_open();
		backlog = open_spool(100, LONG, 0);
		ears_close(&ears, said, sizeof(said));
		(void)snprintf(lost, sizeof(lost), "salvaged %zu records", whole);
		assert_int_equal(!!strstr(said, lost), whole != 0);
		assert_null(strstr(said, "left alone"));
		(void)snprintf(lost, sizeof(lost), " %zu bytes", size - whole * ENTRY);
		assert_int_equal(!!strstr(said, lost), whole != 0);
		assert_int_equal(count_files(".open", path), 0);
		assert_int_equal(count_files(".chunk", path), whole != 0);
		if (whole) {
			struct chunk chunk = expect_numbers(backlog, 0, (uint32_t)whole);

			assert_string_equal(chunk.id, "AAECAwQFBgcICQoLDA0ODw==");
			backlog_done(backlog);
		}
		assert_true(backlog_is_empty(backlog));
		backlog_free(backlog);
	}
}

static void expect_in_damaged(const char *end, unsigned int count)
{
	char path[PATH_MAX], folder[sizeof(spool)];

	memcpy(folder, spool, sizeof(folder));
	(void)strcat(spool, "/damaged");
	await_files(end, count, path);
	memcpy(spool, folder, sizeof(folder));
}

/* A power loss may leave a file as long as it was, and nothing of what was in it. */
FIXTURE_TEST(spool_logs_and_sets_aside_segment_without_whole_record)
{
	static const char zeros[300 * 1000];
	struct backlog_status status;
	struct backlog *backlog;
	struct ears ears;
	char said[1024];

	write_file(OPEN_NAME, zeros, sizeof(zeros));
	ears = ears_open();
	backlog = open_spool(100, LONG, 0);
	ears_close(&ears, said, sizeof(said));
	assert_non_null(strstr(said, "no whole record in " OPEN_NAME " (300000 bytes)"));
	backlog_get_status(backlog, &status);
	assert_int_equal(status.damaged_segments, 1);
	assert_true(backlog_is_empty(backlog));
	backlog_free(backlog);
	expect_in_damaged(".open", 1);
}

static atomic_bool folder_fails; /* fsync(2) of a folder does, once */
static _Atomic ino_t synced; /* the last folder that was */

/* Instead of libc's. */
int fsync(int fd)
{
	struct stat status;

	if (fstat(fd, &status) == 0 && S_ISDIR(status.st_mode)) {
		if (folder_fails) {
			folder_fails = false;
			errno = EIO;
			return -1;
		}
		synced = status.st_ino;
	}
	return (int)syscall(SYS_fsync, fd);
}

FIXTURE_TEST(spool_rewrites_segment_if_folder_sync_fails)
{
	struct numbered_entry entry = number_entry(1);
	struct segment *segments = NULL, *segment;
	struct store *store;
	char path[PATH_MAX];
	size_t part;

	assert_int_equal(spool_open(spool, &store, &segments), 0);
	assert_int_equal(segment_new(ENTRY, &segment), 0);
	assert_int_equal(segment_add_part(segment, NULL, &part), 0);
	segment_put(segment, part, (const uint8_t *)&entry, ENTRY);
	assert_int_equal(store->type->write(store, segment, segment->bytes, ENTRY), 0);
	folder_fails = true;
	assert_int_equal(store->type->seal(store, segment), -EIO);
	assert_int_equal(segment->written_bytes, 0);
	assert_int_equal(count_files(".chunks", path), 0);
	assert_int_equal(store->type->write(store, segment, segment->bytes, ENTRY), 0);
	assert_int_equal(store->type->seal(store, segment), 0);
	assert_int_equal(segment->fd, -1);
	assert_int_equal(count_files(".chunks", path), 1);
	assert_int_equal(unlink(path), 0);
	segment_free(segment);
	store->type->free(store);
}

/* Two entries, and one behind them, each with a check; the path of the file in ret_path. */
static void keep_in_two_parts(char ret_path[static PATH_MAX])
{
	struct segment *segments = NULL, *segment;
	struct store *store;
	size_t part;

	assert_int_equal(spool_open(spool, &store, &segments), 0);
	assert_int_equal(segment_new(3 * ENTRY, &segment), 0);
	assert_int_equal(segment_add_part(segment, NULL, &part), 0);
	for (uint64_t number = 1; number <= 3; number++) {
		struct numbered_entry entry = number_entry(number);

		segment_put(segment, part, (const uint8_t *)&entry, ENTRY);
	}
	assert_int_equal(store->type->write(store, segment, segment->bytes, 2 * ENTRY), 0);
	assert_int_equal(store->type->write(store, segment, segment->bytes + 2 * ENTRY, ENTRY), 0);
	assert_int_equal(store->type->seal(store, segment), 0);
	segment_free(segment);
	store->type->free(store);
	assert_int_equal(count_files(".chunks", ret_path), 1);
}

static struct backlog *of_the_keeper;

static void send_all(void)
{
	struct chunk chunk;

	before_it_is_full = NULL;
	while (backlog_next(of_the_keeper, &chunk) == 0)
		backlog_done(of_the_keeper);
}

FIXTURE_TEST(spool_reuses_space_of_sent_segments_before_dropping)
{
	const uint64_t segment_bytes = ENTRY + 2 * CHECK_BYTES;
	struct backlog *backlog = open_spool(1, LONG, 3 * segment_bytes);
	struct backlog_status status;
	char said[256];
	struct ears ears;

	append_numbers(backlog, 1, 3);
	backlog_seal(backlog);
	backlog_settle(backlog);
	ears = ears_open();
	of_the_keeper = backlog;
	before_it_is_full = send_all;
	append_numbers(backlog, 4, 1);
	backlog_seal(backlog);
	backlog_settle(backlog);
	ears_close(&ears, said, sizeof(said));
	assert_string_equal(said, "");
	backlog_get_status(backlog, &status);
	assert_int_equal(status.dropped_records, 0);
	assert_int_equal(status.kept_records, 1);
	backlog_free(backlog);
}

/* As a power loss may have it, between a failed sync and the end of what was written again. */
FIXTURE_TEST(spool_reads_segment_with_two_files_once)
{
	char sealed[PATH_MAX], open_name[PATH_MAX + 8];
	struct backlog *backlog;

	keep_in_two_parts(sealed);
	/* Behind the number and the id. */
	(void)snprintf(open_name, sizeof(open_name), "%.*s.part",
		       (int)strlen(spool) + 1 + 16 + 1 + 32, sealed);
	assert_int_equal(link(sealed, open_name), 0);
	backlog = open_spool(3, LONG, 0);
	(void)expect_numbers(backlog, 1, 3);
	backlog_done(backlog);
	assert_true(backlog_is_empty(backlog));
	await_files(".chunks", 0, sealed);
	await_files(".part", 0, sealed);
	backlog_free(backlog);
}

/* A bit of what is at an offset of the file. */
static void change_bit(const char *path, off_t offset)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	uint8_t byte;

	assert_int_equal(pread(fd, &byte, 1, offset), 1);
	byte ^= 0x10;
	assert_int_equal(pwrite(fd, &byte, 1, offset), 1);
	assert_int_equal(close(fd), 0);
}

/* All that its check covers is lost with it, and nothing else. */
FIXTURE_TEST(spool_sends_intact_part_of_damaged_segment_and_counts_rest)
{
	char path[PATH_MAX], said[1024], lost[128];
	struct backlog *backlog;
	struct gap gap;
	struct ears ears;

	(void)snprintf(lost, sizeof(lost), "2 records are lost (%d bytes), the other 1 are sent",
		       2 * ENTRY + CHECK_BYTES);
	keep_in_two_parts(path);
	/* In a number: it is an entry all the same. */
	change_bit(path, CHECK_BYTES + 2 * ENTRY - 1);
	backlog = open_spool(3, LONG, 0);
	ears = ears_open();
	(void)expect_numbers(backlog, 3, 1);
	ears_close(&ears, said, sizeof(said));
	assert_non_null(strstr(said, lost));
	assert_true(backlog_take_gap(backlog, &gap));
	assert_int_equal(gap.dropped_records, 2);
	assert_string_equal(gap.reason, "segment damaged");
	backlog_done(backlog);
	await_files(".chunks", 0, path);
	expect_in_damaged(".chunks", 1);
	backlog_free(backlog);
}

FIXTURE_TEST(spool_counts_records_of_deleted_segment_as_dropped)
{
	struct backlog *backlog = open_spool(3, LONG, 0);
	char path[PATH_MAX], said[1024];
	struct gap gap;
	struct ears ears;

	append_numbers(backlog, 1, 1);
	backlog_seal(backlog);
	await_files(".chunks", 1, path);
	assert_int_equal(unlink(path), 0);
	append_numbers(backlog, 7, 3);
	backlog_seal(backlog);
	ears = ears_open();
	(void)expect_numbers(backlog, 7, 3);
	ears_close(&ears, said, sizeof(said));
	assert_non_null(strstr(said, "cannot read 1 records back"));
	assert_true(backlog_take_gap(backlog, &gap));
	assert_int_equal(gap.dropped_records, 1);
	assert_int_equal(gap.dropped_segments, 1);
	assert_string_equal(gap.reason, "segment unreadable");
	backlog_free(backlog);
}

/* What is behind the damage moves up, and is not found where it was, too. */
FIXTURE_TEST(spool_rereads_deferred_damaged_segment_unchanged)
{
	struct backlog *backlog;
	char path[PATH_MAX];

	keep_in_two_parts(path);
	change_bit(path, CHECK_BYTES);
	backlog = open_spool(3, LONG, 0);
	append_numbers(backlog, 9, 1);
	backlog_seal(backlog);
	await_files(".chunks", 2, path);
	for (int time = 0; time < 2; time++) {
		(void)expect_numbers(backlog, 3, 1);
		if (time == 0)
			assert_int_equal(backlog_defer(backlog), 0);
		if (time == 0)
			(void)expect_numbers(backlog, 9, 1);
		backlog_done(backlog);
	}
	backlog_free(backlog);
	assert_int_equal(run("rm -rf", spool), 0);
}

/* A kill in the middle of a write: what was kept before is whole; what has no check is not sent. */
FIXTURE_TEST(spool_sends_nothing_of_torn_write)
{
	char path[PATH_MAX], part[PATH_MAX], said[1024];
	const size_t first_bytes = CHECK_BYTES + 2 * ENTRY + CHECK_BYTES;
	size_t all_bytes = first_bytes + ENTRY + CHECK_BYTES;

	for (size_t size_bytes = first_bytes; size_bytes < all_bytes; size_bytes++) {
		struct backlog *backlog;
		struct ears ears;
		char lost[64];

		keep_in_two_parts(path);
		(void)snprintf(part, sizeof(part), "%s/%.*s.part", spool, 49,
			       strrchr(path, '/') + 1);
		assert_int_equal(rename(path, part), 0);
		assert_int_equal(truncate(part, (off_t)size_bytes), 0);
		ears = ears_open();
		backlog = open_spool(3, LONG, 0);
		ears_close(&ears, said, sizeof(said));
		(void)snprintf(lost, sizeof(lost), "salvaged 2 records");
		assert_non_null(strstr(said, lost));
		(void)snprintf(lost, sizeof(lost), " %zu bytes of a torn one",
			       size_bytes - first_bytes);
		assert_non_null(strstr(said, lost));
		(void)expect_numbers(backlog, 1, 2);
		backlog_done(backlog);
		assert_true(backlog_is_empty(backlog));
		backlog_free(backlog);
	}
}

FIXTURE_TEST(spool_leaves_foreign_files_alone)
{
	static const char *const names[] = {
		"!notes.txt",
		"0000000000000001",
		"0000000000000001-",
		"0000000000000001-00.open",
		"1-000102030405060708090a0b0c0d0e0f.open",
		"0000000000000001-000102030405060708090A0B0C0D0E0F.open",
		"0000000000000001-000102030405060708090a0b0c0d0e0f-1-2.chunk",
		"0000000000000001-000102030405060708090a0b0c0d0e0f-99999999999-2-3.chunk",
	};
	const struct numbered_entry entry = number_entry(1);
	char path[PATH_MAX];
	struct backlog *backlog;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		write_file(names[i], "text", 4);
	(void)snprintf(path, sizeof(path), "%s/%s", spool, OPEN_NAME);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	/* What is behind them is. */
	write_file("0000000000000009-000102030405060708090a0b0c0d0e0f-1-1-1.chunk", &entry, ENTRY);
	backlog = open_spool(3, LONG, 0);
	(void)expect_numbers(backlog, 1, 1);
	backlog_done(backlog);
	assert_true(backlog_is_empty(backlog));
	backlog_free(backlog);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", spool, names[i]);
		assert_int_equal(access(path, F_OK), 0);
	}
}

/* At once: it has one check. */
static void append_pair(struct backlog *backlog, uint64_t number)
{
	const struct numbered_entry entries[] = { number_entry(number), number_entry(number + 1) };

	assert_int_equal(backlog_append(backlog, entries, sizeof(entries)), 0);
}

FIXTURE_TEST(spool_when_full_drops_oldest_but_not_in_flight_segment)
{
	const uint64_t max_bytes = UINT64_C(4) * (2 * ENTRY + 2 * CHECK_BYTES);
	struct backlog *backlog = open_spool(2, LONG, max_bytes);
	struct backlog_status status;
	struct gap gap;
	char path[PATH_MAX];

	for (uint64_t number = 1; number <= 7; number += 2)
		append_pair(backlog, number);
	await_files(".chunks", 3, path);
	(void)expect_numbers(backlog, 1, 2);
	append_pair(backlog, 9);
	append_pair(backlog, 11);
	backlog_seal(backlog);
	do
		backlog_get_status(backlog, &status);
	while (status.dropped_segments < 2 || status.store_bytes < max_bytes);
	assert_true(backlog_take_gap(backlog, &gap));
	assert_int_equal(gap.dropped_records, 4);
	assert_int_equal(gap.dropped_segments, 2);
	assert_int_equal(gap.first_ns, numbered_time_ns(3));
	assert_int_equal(gap.last_ns, numbered_time_ns(6));
	assert_string_equal(gap.reason, "spool full");
	backlog_done(backlog);
	(void)expect_numbers(backlog, 7, 2);
	backlog_get_status(backlog, &status);
	assert_true(status.store_bytes <= max_bytes);
	backlog_free(backlog);
}

FIXTURE_TEST(spool_sets_rejected_entry_aside)
{
	struct backlog *backlog = open_spool(3, LONG, 0);
	struct numbered_entry found[2];
	struct backlog_status status;
	char path[PATH_MAX];
	struct chunk chunk;
	int fd;

	append_numbers(backlog, 1, 3);
	backlog_seal(backlog);
	chunk = expect_numbers(backlog, 1, 3);
	assert_int_equal(backlog_reject(backlog, chunk.bytes, ENTRY), 0);
	assert_string_equal(backlog_source(backlog).reject(
				    backlog, (const char *)chunk.bytes + 2 * ENTRY, ENTRY),
			    "it is set aside in the spool's folder rejected/");
	backlog_done(backlog);
	backlog_get_status(backlog, &status);
	assert_int_equal(status.rejected_records, 2);
	assert_int_equal(status.dropped_records, 0);
	backlog_free(backlog);
	(void)snprintf(path, sizeof(path), "%s/rejected/rejected.msgpack", spool);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_int_equal(read(fd, found, sizeof(found)), sizeof(found));
	assert_int_equal(close(fd), 0);
	assert_int_equal(entry_number(found, 0), 1);
	assert_int_equal(entry_number(found, 1), 3);
}

/* Somebody else takes what is left. */
static void fill_disk(void)
{
	char path[PATH_MAX];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/other", spool);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	while (write(fd, path, sizeof(path)) > 0)
		;
	assert_int_equal(close(fd), 0);
}

/* A file system of 64 KiB in a namespace of our own. */
FIXTURE_TEST(spool_on_full_file_system_drops_oldest_and_keeps_newest)
{
	struct backlog *backlog;
	struct backlog_status status;
	struct gap gap;
	uint64_t next, sent = 0;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		skip();
	assert_int_equal(mkdir(spool, 0700), 0);
	assert_int_equal(mount("tmpfs", spool, "tmpfs", 0, "size=64k,mode=700"), 0);
	backlog = make_backlog(&(struct backlog_options){ .segment_bytes = 200 * ENTRY,
							  .memory_bytes_max = 128 * 1024,
							  .seal_ns = LONG,
							  .spool = spool });
	append_numbers(backlog, 0, 20000);
	backlog_seal(backlog);
	do
		backlog_get_status(backlog, &status);
	while (!status.dropped_segments);
	fill_disk();
	append_numbers(backlog, 20000, 1000);
	backlog_seal(backlog);
	for (next = 0; next < 21000; backlog_done(backlog)) {
		struct chunk chunk = await_chunk(backlog);

		assert_true(entry_number(chunk.bytes, 0) >= next);
		next = entry_number(chunk.bytes, chunk.entries - 1) + 1;
		sent += chunk.entries;
	}
	assert_true(backlog_take_gap(backlog, &gap));
	backlog_get_status(backlog, &status);
	assert_true(gap.dropped_records > 0);
	assert_int_equal(sent + status.dropped_records, 21000);
	backlog_free(backlog);
	assert_int_equal(umount(spool), 0);
}

enum {
	OLD = 100, /* records, kept before the disk is full */
	NEW = 60,
	AT_ONCE = 10, /* to a segment */
};

static void await_kept(struct backlog *backlog, uint64_t records)
{
	struct backlog_status status;

	do
		backlog_get_status(backlog, &status);
	while (status.kept_records < records);
}

static struct backlog *make_backlog_of_four_segments(void)
{
	return make_backlog(&(struct backlog_options){ .segment_bytes = AT_ONCE * ENTRY,
						       .memory_bytes_max = 4 * AT_ONCE * ENTRY,
						       .seal_ns = LONG,
						       .spool = spool });
}

FIXTURE_TEST(spool_on_full_disk_drops_only_what_memory_cannot_hold)
{
	struct backlog *backlog = make_backlog_of_four_segments();
	struct backlog_status status;
	struct gap gap;
	uint64_t full_bytes;

	for (uint64_t number = 0; number < OLD; number += AT_ONCE) {
		append_numbers(backlog, number, AT_ONCE);
		backlog_seal(backlog);
		await_kept(backlog, number + AT_ONCE);
	}
	is_disk_full = true;
	append_numbers(backlog, OLD, AT_ONCE);
	backlog_get_status(backlog, &status);
	assert_int_equal(status.dropped_records, 0);
	assert_int_equal(status.kept_records, OLD);
	full_bytes = status.store_bytes;
	/* The open segment is written as it grows: a record at a time. */
	for (uint64_t number = OLD + AT_ONCE; number < OLD + NEW; number++) {
		append_numbers(backlog, number, 1);
		(void)usleep(1000);
	}
	backlog_seal(backlog);
	backlog_settle(backlog);
	is_disk_full = false;
	backlog_get_status(backlog, &status);
	/* Each write has a check, which is as large as two of these records: it is as many bytes.
	 */
	assert_true(status.store_bytes <= full_bytes);
	assert_true(status.store_bytes + AT_ONCE * ENTRY + (AT_ONCE + 1) * CHECK_BYTES >
		    full_bytes);
	assert_int_equal(status.kept_records, OLD + NEW - status.dropped_records);
	assert_true(backlog_take_gap(backlog, &gap));
	assert_string_equal(gap.reason, "disk full");
	(void)expect_numbers(backlog, status.dropped_records, AT_ONCE);
	backlog_free(backlog);
	assert_int_equal(run("rm -rf", spool), 0);
}

static atomic_int looks_at_the_disk;

/* The keeper is slow: memory is full long before it has made room. */
static void come_late(void)
{
	struct backlog_status status;

	looks_at_the_disk++;
	backlog_get_status(of_the_keeper, &status);
	if (status.memory_bytes <= AT_ONCE * ENTRY)
		return;
	(void)usleep(50 * 1000);
	before_it_is_full = NULL;
}

FIXTURE_TEST(spool_on_full_disk_drops_oldest_even_if_keeper_is_late)
{
	struct backlog *backlog = make_backlog_of_four_segments();
	struct backlog_status status;
	struct gap gap;

	append_numbers(backlog, 0, OLD);
	backlog_seal(backlog);
	backlog_settle(backlog);
	of_the_keeper = backlog;
	looks_at_the_disk = 0;
	before_it_is_full = come_late;
	is_disk_full = true;
	append_numbers(backlog, OLD, AT_ONCE);
	while (!looks_at_the_disk)
		(void)sched_yield();
	append_numbers(backlog, OLD + AT_ONCE, NEW - AT_ONCE);
	backlog_seal(backlog);
	backlog_settle(backlog);
	is_disk_full = false;
	backlog_get_status(backlog, &status);
	assert_true(backlog_take_gap(backlog, &gap));
	assert_string_equal(gap.reason, "disk full");
	(void)expect_numbers(backlog, status.dropped_records, AT_ONCE);
	backlog_free(backlog);
	assert_int_equal(run("rm -rf", spool), 0);
}

/* Only the folder's own sync keeps what is in it through a power loss. */
FIXTURE_TEST(spool_syncs_parent_of_new_folder)
{
	struct backlog *backlog;
	struct stat status;
	char here[PATH_MAX];

	assert_int_equal(stat(parent, &status), 0);
	assert_non_null(getcwd(here, sizeof(here)));
	for (int is_relative = 0; is_relative <= 1; is_relative++) {
		struct backlog_options options = { .spool = is_relative ? "spool" : spool };

		(void)run("rm -rf", spool);
		assert_int_equal(chdir(is_relative ? parent : here), 0);
		synced = 0;
		backlog = make_backlog(&options);
		assert_int_equal(synced, status.st_ino);
		backlog_free(backlog);
		(void)run("rm -rf", spool);
		folder_fails = true;
		assert_int_equal(backlog_new(&options, &backlog), -EIO);
		assert_int_equal(chdir(here), 0);
	}
}

FIXTURE_TEST(spool_descriptors_are_not_inherited)
{
	unsigned int before = count_inheritable();
	struct backlog *backlog = open_spool(2, LONG, 0);
	char path[PATH_MAX];

	append_numbers(backlog, 1, 1);
	await_files(".part", 1, path);
	assert_int_equal(count_inheritable(), before);
	backlog_free(backlog);
}

static void grow_file(const char *name, off_t size_bytes)
{
	char path[PATH_MAX];

	write_file(name, "", 0);
	(void)snprintf(path, sizeof(path), "%s/%s", spool, name);
	assert_int_equal(truncate(path, size_bytes), 0);
}

static void make_inner(const char *name)
{
	char path[PATH_MAX];

	(void)mkdir(spool, 0700);
	(void)snprintf(path, sizeof(path), "%s/%s", spool, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void expect_mode(const char *name, mode_t mode)
{
	char path[PATH_MAX];
	struct stat status;

	(void)snprintf(path, sizeof(path), "%s/%s", spool, name);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, mode);
}

enum {
	REJECTED_BYTES_MAX = 16 * 1024 * 1024,
	DAMAGED_BYTES_MAX = 64 * 1024 * 1024,
	FILE_BYTES_MAX = 16 * 1024 * 1024,
};

FIXTURE_TEST(spool_rejected_file_is_private_and_bounded)
{
	struct backlog *backlog = open_spool(2, LONG, 0);
	struct numbered_entry entry = number_entry(1);

	assert_int_equal(backlog_reject(backlog, &entry, ENTRY), 0);
	expect_mode("rejected", 0700);
	expect_mode("rejected/rejected.msgpack", 0600);
	grow_file("rejected/rejected.msgpack", REJECTED_BYTES_MAX - ENTRY);
	assert_int_equal(backlog_reject(backlog, &entry, ENTRY), 0);
	grow_file("rejected/rejected.msgpack", REJECTED_BYTES_MAX - ENTRY + 1);
	assert_int_equal(backlog_reject(backlog, &entry, ENTRY), -EFBIG);
	backlog_free(backlog);
}

FIXTURE_TEST(spool_treats_empty_segment_as_damaged)
{
	struct backlog_status status;
	struct backlog *backlog;
	struct chunk chunk;

	write_file("0000000000000007-000102030405060708090a0b0c0d0e0f-3-1-2.chunk", "", 0);
	backlog = open_spool(2, LONG, 0);
	assert_int_equal(backlog_next(backlog, &chunk), -EAGAIN);
	backlog_get_status(backlog, &status);
	assert_int_equal(status.damaged_segments, 1);
	assert_int_equal(status.dropped_records, 3);
	assert_true(backlog_is_empty(backlog));
	backlog_free(backlog);
}

static unsigned int count_open(void)
{
	unsigned int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

/* Where a descriptor may be 0. */
FIXTURE_TEST(spool_works_with_stdin_closed_and_leaks_no_descriptor)
{
	static const char *const wrong[] = { "/dev/null", "/nonexistent/spool" };
	int saved = dup(STDIN_FILENO);
	struct backlog *backlog = NULL;
	unsigned int open_files;
	struct chunk chunk;

	assert_true(saved >= 0);
	assert_int_equal(close(STDIN_FILENO), 0);
	open_files = count_open();
	for (uint64_t round = 0; round < 2; round++) {
		backlog = open_spool(2, LONG, 0);
		assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), FD_CLOEXEC);
		append_numbers(backlog, 2 * round, 2);
		backlog_seal(backlog);
		chunk = expect_numbers(backlog, 0, 2);
		assert_int_equal(backlog_reject(backlog, chunk.bytes, ENTRY), 0);
		backlog_free(backlog);
		assert_int_equal(count_open(), open_files);
	}
	for (size_t i = 0; i < 2; i++)
		assert_true(backlog_new(&(struct backlog_options){ .spool = wrong[i] }, &backlog) <
			    0);
	assert_int_equal(count_open(), open_files);
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(close(saved), 0);
}

/* As a segment, which has the lowest number that is free. */
FIXTURE_TEST(spool_works_if_stdin_is_closed_after_open)
{
	int saved = dup(STDIN_FILENO);
	struct backlog *backlog = open_spool(3, LONG, 0);
	struct backlog_status status;
	char path[PATH_MAX];

	assert_true(saved >= 0);
	assert_int_equal(close(STDIN_FILENO), 0);
	for (uint64_t number = 0; number < 4; number++) {
		append_numbers(backlog, number, 1);
		do
			backlog_get_status(backlog, &status);
		while (status.store_bytes < (number + 1) * ENTRY && !status.dropped_records);
	}
	assert_int_equal(status.dropped_records, 0);
	(void)expect_numbers(backlog, 0, 3);
	backlog_seal(backlog);
	backlog_settle(backlog);
	assert_int_equal(count_files(".part", path), 0);
	assert_int_equal(count_files(".chunks", path), 2);
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
	backlog_free(backlog);
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(close(saved), 0);
	assert_int_equal(run("rm -rf", spool), 0);
}

/* Whoever can write there could have us write, or send, what is elsewhere. */
FIXTURE_TEST(spool_follows_no_symlink)
{
	static const char *const links[] = { "", "/lock", "/rejected",
					     "/rejected/rejected.msgpack" };
	struct numbered_entry entry = number_entry(1);
	char path[PATH_MAX], target[PATH_MAX];
	struct backlog *backlog = NULL;
	struct stat status;
	int fd;

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
		(void)run("rm -rf", spool);
		(void)snprintf(target, sizeof(target), "%s/target", parent);
		(void)snprintf(path, sizeof(path), "%s%s", spool, links[i]);
		if (i)
			assert_int_equal(mkdir(spool, 0700), 0);
		if (i == 3)
			make_inner("rejected");
		if (i % 2) {
			fd = open(target, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
			assert_true(fd >= 0);
			(void)close(fd);
		} else {
			assert_int_equal(mkdir(target, 0700), 0);
		}
		assert_int_equal(symlink(target, path), 0);
		if (i < 2) {
			assert_true(backlog_new(&(struct backlog_options){ .spool = spool },
						&backlog) < 0);
		} else {
			backlog = open_spool(2, LONG, 0);
			assert_true(backlog_reject(backlog, &entry, ENTRY) < 0);
			backlog_free(backlog);
		}
		assert_int_equal(stat(target, &status), 0);
		assert_true(S_ISDIR(status.st_mode) ? rmdir(target) == 0
						    : !status.st_size && unlink(target) == 0);
		assert_int_equal(unlink(path), 0);
	}
}

FIXTURE_TEST(spool_treats_symlinked_segment_as_damaged)
{
	struct backlog *backlog = open_spool(2, LONG, 0);
	struct backlog_status status;
	char path[PATH_MAX], other[PATH_MAX];
	struct chunk chunk;

	append_numbers(backlog, 1, 2);
	backlog_seal(backlog);
	await_files(".chunks", 1, path);
	do
		backlog_get_status(backlog, &status);
	while (status.memory_bytes);
	(void)snprintf(other, sizeof(other), "%s/other", spool);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(backlog_next(backlog, &chunk), -EAGAIN);
	backlog_get_status(backlog, &status);
	assert_int_equal(status.damaged_segments, 1);
	assert_int_equal(status.dropped_records, 2);
	backlog_free(backlog);
}

#define CHUNK_NAME "0000000000000007-000102030405060708090a0b0c0d0e0f-3-1-2.chunk"

/* What is in there already, in two files, leaves room for one more, or just not. */
FIXTURE_TEST(spool_damaged_folder_is_private_and_bounded)
{
	char path[PATH_MAX], folder[sizeof(spool)];
	struct chunk chunk;

	memcpy(folder, spool, sizeof(folder));
	for (off_t more = 0; more <= 1; more++) {
		struct backlog *backlog;

		(void)run("rm -rf", spool);
		make_inner("damaged");
		grow_file("damaged/one", DAMAGED_BYTES_MAX / 2);
		grow_file("damaged/two", DAMAGED_BYTES_MAX / 2 - 10 + more);
		write_file(CHUNK_NAME, "0123456789", 10);
		backlog = open_spool(2, LONG, 0);
		assert_int_equal(backlog_next(backlog, &chunk), -EAGAIN);
		backlog_free(backlog);
		assert_int_equal(count_files(".chunk", path), more);
		(void)strcat(spool, "/damaged");
		assert_int_equal(count_files(".chunk", path), 1 - more);
		memcpy(spool, folder, sizeof(folder));
	}
	/* Nothing is said of it but where it cannot be done. */
	for (int is_no_folder = 0; is_no_folder <= 1; is_no_folder++) {
		struct backlog *backlog;
		struct ears ears;
		char said[1024];

		(void)run("rm -rf", spool);
		write_file(CHUNK_NAME, "0123456789", 10);
		if (is_no_folder)
			write_file("damaged", "", 0);
		backlog = open_spool(2, LONG, 0);
		ears = ears_open();
		assert_int_equal(backlog_next(backlog, &chunk), -EAGAIN);
		backlog_free(backlog);
		ears_close(&ears, said, sizeof(said));
		assert_int_equal(count_files(".chunk", path), is_no_folder);
		assert_int_equal(!!strstr(said, "cannot set aside"), is_no_folder);
		if (!is_no_folder)
			expect_in_damaged(".chunk", 1);
		if (!is_no_folder)
			expect_mode("damaged", 0700);
	}
}

FIXTURE_TEST(spool_warns_of_oversized_file_and_leaves_it_alone)
{
	struct backlog_status status;
	char path[PATH_MAX], said[1024], expected[512];

	(void)snprintf(expected, sizeof(expected),
		       "correlator: warning: spool %s: left alone what cannot be used, " CHUNK_NAME
		       ": %s\n",
		       spool, strerror(EFBIG));
	for (off_t more = 0; more <= 1; more++) {
		struct backlog *backlog;
		struct ears ears = ears_open();

		grow_file(CHUNK_NAME, FILE_BYTES_MAX + more);
		backlog = open_spool(2, LONG, 0);
		ears_close(&ears, said, sizeof(said));
		assert_string_equal(said, more ? expected : "");
		backlog_get_status(backlog, &status);
		assert_int_equal(status.queued_bytes, more ? 0 : FILE_BYTES_MAX);
		assert_int_equal(status.queued_records, more ? 0 : 3);
		assert_int_equal(status.store_bytes, status.queued_bytes);
		backlog_free(backlog);
		assert_int_equal(count_files(".chunk", path), 1);
	}
}

/* The oldest first, also of those that were cut off, and what is new behind them. */
FIXTURE_TEST(spool_orders_leftover_segments_by_number)
{
	static const char *const names[] = {
		"0000000000000019-000102030405060708090a0b0c0d0e0f-1-1-1.chunk",
		"0000000000000007-ff0102030405060708090a0b0c0d0e0f.open",
		"0000000000000020-000102030405060708090a0b0c0d0e0f-1-1-1.chunk",
		"0000000000000003-010102030405060708090a0b0c0d0e0f-1-1-1.chunk",
	};
	static const uint64_t numbers[] = { 2, 1, 3, 0 };
	struct backlog *backlog;
	char path[PATH_MAX];

	for (size_t i = 0; i < 4; i++) {
		struct numbered_entry entry = number_entry(numbers[i]);

		write_file(names[i], &entry, ENTRY);
	}
	backlog = open_spool(1, LONG, 0);
	append_numbers(backlog, 4, 1);
	await_files(".part", 1, path);
	assert_non_null(strstr(path, "/0000000000000021-"));
	backlog_seal(backlog);
	for (uint64_t number = 0; number <= 4; number++) {
		(void)expect_numbers(backlog, number, 1);
		backlog_done(backlog);
	}
	backlog_free(backlog);
}

/* Nothing was written before its writer was gone. */
FIXTURE_TEST(spool_loads_segments_behind_empty_torn_one)
{
	const struct numbered_entry entry = number_entry(1);
	struct backlog *backlog;
	char path[PATH_MAX];

	write_file(OPEN_NAME, "", 0);
	write_file("0000000000000009-000102030405060708090a0b0c0d0e0f-1-1-1.chunk", &entry, ENTRY);
	backlog = open_spool(3, LONG, 0);
	assert_int_equal(count_files(".open", path), 0);
	(void)expect_numbers(backlog, 1, 1);
	backlog_done(backlog);
	assert_true(backlog_is_empty(backlog));
	backlog_free(backlog);
}

TEST_GROUP(setup, teardown)
