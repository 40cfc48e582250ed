/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "target/proc/memory_map.h"

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

static void a_line_is_parsed_into_its_fields(void **state)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	const struct memory_map_entry *entry;

	(void)state;
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

static void paths_are_decoded_and_the_deleted_mark_is_stripped(void **state)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };

	(void)state;
	assert_int_equal(parse(MAPS, &map), 0);
	assert_string_equal(map.entries[0].path, "/usr/bin/ruby");
	assert_false(map.entries[0].is_deleted);
	assert_string_equal(map.entries[2].path, "");
	assert_string_equal(map.entries[3].path, "/srv/a b\nc");
	assert_true(map.entries[3].is_deleted);
	assert_string_equal(map.entries[8].path, "[stack]");
}

static void objects_are_listed_once_and_without_pseudo_files(void **state)
{
	static const char *const expected[] = { "/usr/bin/ruby", "/srv/a b\nc", "/srv/other" };
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	const struct memory_map_entry *entry;
	size_t cursor = 0;
	size_t count = 0;

	(void)state;
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

static void a_text_without_a_last_newline_and_an_empty_one_are_accepted(void **state)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	_cleanup_(memory_map_deinit) struct memory_map empty = { 0 };
	size_t cursor = 0;

	(void)state;
	assert_int_equal(parse("1000-2000 rw-p 0 0:0 0", &map), 0);
	assert_int_equal(map.count, 1);
	assert_string_equal(map.entries[0].path, "");
	assert_int_equal(memory_map_parse(NULL, 0, &empty), 0);
	assert_int_equal(empty.count, 0);
	assert_null(memory_map_next_object(&empty, &cursor));
}

static void malformed_lines_are_refused_and_leave_the_result_alone(void **state)
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
		"10000000000000000-20000000000000000 rw-p 0 0:0 0",
		"-2000 rw-p 0 0:0 0",
		"1000-2000 rw-p 0 0:0 99999999999999999999",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		struct memory_map map = { .count = 42 };

		if (parse(lines[i], &map) != -EINVAL)
			fail_msg("accepted: \"%s\"", lines[i]);
		assert_int_equal(map.count, 42);
	}
}

static void a_nul_in_the_text_is_refused(void **state)
{
	static const char text[] = "1000-2000 rw-p 0 0:0 1 /a\0b\n";
	struct memory_map map;

	(void)state;
	assert_int_equal(memory_map_parse(text, sizeof(text) - 1, &map), -EINVAL);
}

static void every_prefix_of_a_text_is_parsed_or_refused(void **state)
{
	(void)state;
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

static void too_many_lines_are_refused(void **state)
{
	size_t size_bytes = MEMORY_MAP_ENTRIES_MAX + 1;
	_cleanup_free_ char *text = malloc(size_bytes);
	struct memory_map map;

	(void)state;
	assert_non_null(text);
	memset(text, '\n', size_bytes);
	assert_int_equal(memory_map_parse(text, size_bytes, &map), -E2BIG);
}

static void the_map_of_this_process_has_a_page_just_mapped(void **state)
{
	_cleanup_(memory_map_deinit) struct memory_map map = { 0 };
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t address = (uint64_t)(uintptr_t)page;
	size_t found = 0;

	(void)state;
	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(memory_map_of_process(getpid(), &map), 0);
	for (size_t i = 0; i < map.count; i++)
		found += map.entries[i].start <= address && address < map.entries[i].end;
	assert_int_equal(found, 1);
	assert_int_equal(munmap(page, 4096), 0);
}

static void a_process_that_does_not_exist_is_reported_as_such(void **state)
{
	struct memory_map map;

	(void)state;
	assert_int_equal(memory_map_of_process(0x7ffffffe, &map), -ESRCH);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_parsed_into_its_fields),
		cmocka_unit_test(paths_are_decoded_and_the_deleted_mark_is_stripped),
		cmocka_unit_test(objects_are_listed_once_and_without_pseudo_files),
		cmocka_unit_test(a_text_without_a_last_newline_and_an_empty_one_are_accepted),
		cmocka_unit_test(malformed_lines_are_refused_and_leave_the_result_alone),
		cmocka_unit_test(a_nul_in_the_text_is_refused),
		cmocka_unit_test(every_prefix_of_a_text_is_parsed_or_refused),
		cmocka_unit_test(too_many_lines_are_refused),
		cmocka_unit_test(the_map_of_this_process_has_a_page_just_mapped),
		cmocka_unit_test(a_process_that_does_not_exist_is_reported_as_such),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
