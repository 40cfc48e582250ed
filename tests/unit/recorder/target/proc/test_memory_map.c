/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "unit_test.h"

#include "base/cleanup.h"
#include "failing_memory.h"
#include "recorder/target/proc/memory_map.h"

static const char MAPS[] =
	"55a0c0a00000-55a0c0a01000 r--p 00000000 08:01 1310           /usr/bin/ruby\n"
	"55a0c0a01000-55a0c0a02000 r-xp 00001000 08:01 1310           /usr/bin/ruby\n"
	"7f0000000000-7f0000021000 rw-p 00000000 00:00 0 \n"
	"7f1000000000-7f1000001000 r--s 00002000 fd:1f 77             /srv/a b\\012c (deleted)\n"
	"7f1000001000-7f1000002000 rw-p 00000000 fd:1f 1310           /srv/other\n"
	"7f1000002000-7f1000003000 rw-s 00000000 00:01 5              /dev/zero (deleted)\n"
	"7f1000003000-7f1000004000 rw-s 00000000 00:01 6              /memfd:x (deleted)\n"
	"7f1000004000-7f1000005000 r--p 00002000 08:01 1310           /usr/bin/ruby\n"
	"7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0              [stack]\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0      [vsyscall]\n";

static int parse(const char *text, struct memory_map *ret_map)
{
	return memory_map_parse(text, strlen(text), ret_map);
}

TEST(memory_map_parses_fields_of_line)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	const struct memory_map_entry *entry;

	assert_int_equal(parse(MAPS, &map), 0);
	assert_int_equal(map.count, 10);
	entry = &map.entries[3];
	assert_int_equal(entry->start, 0x7f1000000000);
	assert_int_equal(entry->end, 0x7f1000001000);
	assert_int_equal(entry->offset, 0x2000);
	assert_int_equal(entry->device_major, 0xfd);
	assert_int_equal(entry->device_minor, 0x1f);
	assert_int_equal(entry->inode, 77);
	assert_true(entry->is_readable);
	assert_false(entry->is_writable);
	assert_false(entry->is_executable);
	assert_true(map.entries[1].is_executable);
}

TEST(memory_map_decodes_paths_and_strips_deleted_mark)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };

	assert_int_equal(parse(MAPS, &map), 0);
	assert_string_equal(map.entries[0].path, "/usr/bin/ruby");
	assert_false(map.entries[0].is_deleted);
	assert_string_equal(map.entries[2].path, "");
	assert_string_equal(map.entries[3].path, "/srv/a b\nc");
	assert_true(map.entries[3].is_deleted);
	assert_string_equal(map.entries[8].path, "[stack]");
}

TEST(memory_map_lists_objects_once_without_pseudo_files)
{
	static const char *const expected[] = { "/usr/bin/ruby", "/srv/a b\nc", "/srv/other" };
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	const struct memory_map_entry *entry;
	size_t cursor = 0;
	size_t count = 0;

	assert_int_equal(parse(MAPS, &map), 0);
	while ((entry = memory_map_next_object(&map, &cursor))) {
		assert_true(count < 3);
		assert_string_equal(entry->path, expected[count++]);
	}
	assert_int_equal(count, 3);
	assert_null(memory_map_next_object(&map, &cursor));
	assert_true(memory_map_same_object(&map.entries[0], &map.entries[7]));
	assert_false(memory_map_same_object(&map.entries[0], &map.entries[4]));
	assert_false(memory_map_same_object(&map.entries[2], &map.entries[2]));
}

/* A path is no type: what is mapped as code may be a library, wherever it lies. */
TEST(memory_map_lists_shared_memory_with_code_as_object)
{
	static const char text[] = "1000-2000 r--p 0 0:1 5 /dev/shm/correlator.so\n"
				   "2000-3000 r-xp 0 0:1 5 /dev/shm/correlator.so\n"
				   "3000-4000 rw-s 0 0:1 6 /dev/shm/data\n"
				   "4000-5000 r-xp 0 0:1 7 /memfd:code (deleted)\n";
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	size_t cursor = 0;

	assert_int_equal(parse(text, &map), 0);
	assert_ptr_equal(memory_map_next_object(&map, &cursor), &map.entries[0]);
	assert_null(memory_map_next_object(&map, &cursor));
}

TEST(memory_map_accepts_missing_last_newline_and_empty_text)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	_cleanup_(memory_map_deinit) struct memory_map empty = { 0 };
	size_t cursor = 0;

	assert_int_equal(parse("1000-2000 rw-p 0 0:0 0", &map), 0);
	assert_int_equal(map.count, 1);
	assert_string_equal(map.entries[0].path, "");
	assert_int_equal(memory_map_parse(NULL, 0, &empty), 0);
	assert_int_equal(empty.count, 0);
	assert_null(memory_map_next_object(&empty, &cursor));
}

TEST(memory_map_rejects_malformed_lines_and_keeps_result)
{
	static const char *const lines[] = {
		"\n",
		"1000-2000",
		"1000-2000 rw-p 0 0:0",
		"2000-1000 rw-p 0 0:0 0",
		"1000-1000 rw-p 0 0:0 0",
		"1000-2000 rw?p 0 0:0 0",
		"1000-2000 rw- 0 0:0 0",
		"1000-2000 rw-p g 0:0 0",
		"1000-2000 rw-p 0 0:100000000 0",
		"1000-2000 rw-p 0 0:0 1f",
		"1000-2000 rw-p 0 0:0 1A",
		"100A-2000 rw-p 0 0:0 0",
		"1000-200g rw-p 0 0:0 0",
		"100:-2000 rw-p 0 0:0 0",
		"1000-2000 rw-p 0 100000000:0 0",
		"1000+2000 rw-p 0 0:0 0",
		"1000-2000_rw-p 0 0:0 0",
		"1000-2000 rw-p_0 0:0 0",
		"1000-2000 rw-p 0_0:0 0",
		"1000-2000 rw-p 0 0.0 0",
		"1000-2000 rw-p 0 0:0_0",
		"1000-2000 rw-p 0 0:0 0_/a",
		"10000000000000000-20000000000000000 rw-p 0 0:0 0",
		"-2000 rw-p 0 0:0 0",
		"1000-2000 rw-p 0 0:0 99999999999999999999",
	};

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct memory_map map = { .count = 42 };

		if (parse(lines[i], &map) != -EINVAL)
			fail_msg("accepted: \"%s\"", lines[i]);
		assert_int_equal(map.count, 42);
	}
}

TEST(memory_map_parses_every_digit_and_flag)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };

	assert_int_equal(parse("9abcdef0-9abcdef1 -w-p 12345678 ffffffff:a 1234567890\n"
			       "fffffffffffffffe-ffffffffffffffff r-xs 0 0:ffffffff 0\n",
			       &map),
			 0);
	assert_int_equal(map.entries[0].start, 0x9abcdef0);
	assert_int_equal(map.entries[0].offset, 0x12345678);
	assert_int_equal(map.entries[0].device_major, 0xffffffff);
	assert_int_equal(map.entries[0].device_minor, 10);
	assert_int_equal(map.entries[0].inode, 1234567890);
	assert_false(map.entries[0].is_readable);
	assert_true(map.entries[0].is_writable);
	assert_false(map.entries[0].is_executable);
	assert_int_equal(map.entries[1].end, UINT64_MAX);
	assert_int_equal(map.entries[1].device_minor, 0xffffffff);
	assert_true(map.entries[1].is_readable && map.entries[1].is_executable);
	assert_false(map.entries[1].is_writable);
}

/* In any order, of devices and inodes that are alike in part. */
TEST(memory_map_distinguishes_files_by_device_and_inode)
{
	static const char text[] = "1000-2000 r--p 0 8:1 5 /a\n"
				   "2000-3000 r--p 0 8:2 5 /b\n"
				   "3000-4000 r--p 0 9:1 5 /c\n"
				   "4000-5000 r--p 0 8:1 6 /d\n"
				   "5000-6000 r--p 0 9:1 5 /c\n"
				   "6000-7000 r--p 0 8:2 5 /b\n"
				   "7000-8000 r--p 0 8:1 5 /a\n"
				   "8000-9000 r--p 0 8:1 0 /none\n"
				   "9000-a000 r--p 0 8:1 7 [none]\n"
				   "a000-b000 r--p 0 8:1 8 /SYSV0 (deleted)\n"
				   "b000-c000 r--p 0 8:1 6 /d\n";
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	char found[8] = "";
	const struct memory_map_entry *entry;
	size_t cursor = 0;

	assert_int_equal(parse(text, &map), 0);
	while ((entry = memory_map_next_object(&map, &cursor)))
		strncat(found, entry->path + 1, 1);
	assert_string_equal(found, "abcd");
	for (size_t i = 0; i < map.count; i++)
		for (size_t j = 0; j < map.count; j++)
			assert_int_equal(memory_map_same_object(&map.entries[i], &map.entries[j]),
					 map.entries[i].inode != 0 &&
						 !strcmp(map.entries[i].path, map.entries[j].path));
}

TEST(memory_map_strips_deleted_mark_only_after_name)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };

	assert_int_equal(parse("1000-2000 r--p 0 8:1 5 /x (deleted)\n"
			       "2000-3000 r--p 0 8:1 5  (deleted)\n"
			       "3000-4000 r--p 0 8:1 5 /x (deleted) \n"
			       "4000-5000 r--p 0 8:1 5 /\\012\\012x\\01\n",
			       &map),
			 0);
	assert_string_equal(map.entries[0].path, "/x");
	assert_true(map.entries[0].is_deleted);
	assert_string_equal(map.entries[1].path, "(deleted)");
	assert_false(map.entries[1].is_deleted);
	assert_string_equal(map.entries[2].path, "/x (deleted) ");
	assert_false(map.entries[2].is_deleted);
	assert_string_equal(map.entries[3].path, "/\n\nx\\01");
}

TEST(memory_map_rejects_nul_in_text)
{
	static const char text[] = "1000-2000 rw-p 0 0:0 1 /a\0b\n";
	struct memory_map map;

	assert_int_equal(memory_map_parse(text, sizeof(text) - 1, &map), -EINVAL);
}

TEST(memory_map_parses_or_rejects_every_prefix)
{
	for (size_t i = 0; i < sizeof(MAPS); i++) {
		_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
		_cleanup_free_ char *prefix = malloc(i + 1);
		int r;

		assert_non_null(prefix);
		memcpy(prefix, MAPS, i);
		r = memory_map_parse(prefix, i, &map);
		assert_true(r == 0 || r == -EINVAL);
	}
}

TEST(memory_map_limits_number_of_lines)
{
	static const char line[] = "1-2 r--p 0 0:0 0\n";
	const size_t line_bytes = sizeof(line) - 1;
	_cleanup_free_ char *text = malloc((MEMORY_MAP_ENTRIES_MAX + 1) * line_bytes);
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	struct memory_map none;

	assert_non_null(text);
	for (size_t i = 0; i <= MEMORY_MAP_ENTRIES_MAX; i++)
		memcpy(text + i * line_bytes, line, line_bytes);
	assert_int_equal(memory_map_parse(text, MEMORY_MAP_ENTRIES_MAX * line_bytes, &map), 0);
	assert_int_equal(map.count, MEMORY_MAP_ENTRIES_MAX);
	/* Whether it ends in a newline, or not. */
	assert_int_equal(memory_map_parse(text, (MEMORY_MAP_ENTRIES_MAX + 1) * line_bytes, &none),
			 -E2BIG);
	assert_int_equal(
		memory_map_parse(text, (MEMORY_MAP_ENTRIES_MAX + 1) * line_bytes - 1, &none),
		-E2BIG);
}

TEST(memory_map_limits_number_of_bytes)
{
	const size_t size_bytes = MEMORY_MAP_TEXT_BYTES_MAX + 1;
	/* Of zeros: it is not even looked at. */
	char *text = mmap(NULL, size_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct memory_map map;

	assert_ptr_not_equal(text, MAP_FAILED);
	assert_int_equal(memory_map_parse(text, size_bytes - 1, &map), -EINVAL);
	assert_int_equal(memory_map_parse(text, size_bytes, &map), -E2BIG);
	assert_int_equal(munmap(text, size_bytes), 0);
}

TEST(memory_map_of_own_process_has_new_page)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t address = (uint64_t)(uintptr_t)page;
	size_t found = 0;

	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(memory_map_of_process(getpid(), &map), 0);
	for (size_t i = 0; i < map.count; i++)
		found += map.entries[i].start <= address && address < map.entries[i].end;
	assert_int_equal(found, 1);
	assert_int_equal(munmap(page, 4096), 0);
}

TEST(memory_map_of_missing_process_returns_esrch)
{
	struct memory_map map;

	assert_int_equal(memory_map_of_process(0x7ffffffe, &map), -ESRCH);
}

TEST(memory_map_returns_enomem_and_keeps_result)
{
	struct memory_map map = { .count = 77 };
	size_t failures = 0;

	assert_each_allocation_can_fail(parse(MAPS, &map),
					(failures++, assert_int_equal(map.count, 77)));
	/* Its text, its entries, their order. */
	assert_int_equal(failures, 3);
	memory_map_deinit(&map);
}
