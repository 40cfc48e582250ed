/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of generated code: of lines, and of the file that this process writes. */
#include "recorder/symbolize/perf_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/clock.h"
#include "failing_memory.h"

static struct perf_map *map;
static char path[64], old_path[80];
static uint64_t now_ns = 1000 * NS_PER_S;

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	(void)snprintf(old_path, sizeof(old_path), "%s.old", path);
	(void)unlink(path);
	map = perf_map_new(getpid());
	return map ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	(void)unlink(path);
	perf_map_free(map);
	return 0;
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

static void add(const char *text)
{
	assert_int_equal(perf_map_add(map, text, strlen(text)), strlen(text));
}

/* name: NULL = none. */
static void expect(uint64_t address, const char *name)
{
	const char *found = perf_map_find(map, address);

	if (name)
		assert_non_null(found);
	else
		assert_null(found);
	if (found)
		assert_string_equal(found, name);
}

FIXTURE_TEST(perf_map_names_addresses_from_start_to_end)
{
	expect(0x1000, NULL);
	add("2000 10 two words\n1000 20 first\n0X3000 0xA third\n");
	expect(0xfff, NULL);
	expect(0x1000, "first");
	expect(0x101f, "first");
	expect(0x1020, NULL);
	expect(0x200f, "two words");
	expect(0x3009, "third");
	expect(0x300a, NULL);
	expect(UINT64_MAX, NULL);
}

FIXTURE_TEST(perf_map_prefers_later_lines)
{
	add("1000 100 old\n1000 10 new\n1080 10 middle\n");
	expect(0x1000, "new");
	expect(0x1010, "old");
	expect(0x1088, "middle");
	expect(0x1090, "old");
	add("0ff0 100 newest\n");
	expect(0x1088, "newest");
	expect(0x10f0, "old");
}

FIXTURE_TEST(perf_map_passes_over_lines_in_other_formats)
{
	add("\n \n1000\n1000 \n1000 10\n1000 10 \n 1000 10 a\ng000 10 b\n1000 1g c\n0x 10 d\n"
	    "-1000 10 e\n1000 0 f\nffffffffffffffff 1 g\n00000000000001000 10 h\n");
	for (uint64_t address = 0; address < 0x2000; address += 8)
		expect(address, NULL);
	expect(UINT64_MAX, NULL);
	add("ffffffffffffff00 f0 last\n1000 10 real\n");
	expect(0x1000, "real");
	expect(UINT64_MAX - 0x0f, NULL);
	expect(UINT64_MAX - 0x10, "last");
}

FIXTURE_TEST(perf_map_takes_whole_lines_only)
{
	static const char text[] = "1000 10 first\n2000 10 sec";

	assert_int_equal(perf_map_add(map, text, strlen(text)), strlen("1000 10 first\n"));
	expect(0x1000, "first");
	expect(0x2000, NULL);
	assert_int_equal(perf_map_add(map, "", 0), 0);
}

FIXTURE_TEST(perf_map_is_bounded)
{
	static char line[2 * PERF_MAP_NAME_BYTES];
	size_t texts_max = PERF_MAP_TEXT_BYTES_MAX / PERF_MAP_NAME_BYTES;

	memset(line, 'x', sizeof(line) - 2);
	memcpy(line, "1000 1 ", 7);
	line[sizeof(line) - 2] = '\n';
	add(line);
	assert_int_equal(strlen(perf_map_find(map, 0x1000)), PERF_MAP_NAME_BYTES - 1);
	for (size_t i = 1; i < texts_max; i++)
		add(line);
	add("2000 1 too much text\n");
	expect(0x2000, NULL);
	perf_map_free(map);
	map = perf_map_new(getpid());
	for (int i = 0; i < PERF_MAP_ENTRIES_MAX; i++)
		add("1000 1 x\n");
	add("2000 1 one too many\n");
	expect(0x1000, "x");
	expect(0x2000, NULL);
}

FIXTURE_TEST(perf_map_survives_running_out_of_memory)
{
	for (size_t given = 0; given < 8; given++) {
		memory_fails_once_after(given);
		(void)perf_map_add(map, "1000 10 first\n2000 10 second\n",
				   strlen("1000 10 first\n2000 10 second\n"));
		memory_never_fails();
	}
	expect(0x1000, "first");
	expect(0x2000, "second");
}

static void write_file(const char *how, const char *text)
{
	FILE *file = fopen(path, how);

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void look_later(void)
{
	now_ns += NS_PER_S;
	perf_map_look(map, now_ns);
}

FIXTURE_TEST(perf_map_follows_file_of_process)
{
	perf_map_look(map, now_ns);
	expect(0x1000, NULL);
	write_file("w", "1000 10 first\n2000 10 se");
	now_ns += NS_PER_S - 1;
	perf_map_look(map, now_ns);
	expect(0x1000, NULL);
	look_later();
	expect(0x1000, "first");
	expect(0x2000, NULL);
	write_file("a", "cond\n");
	look_later();
	expect(0x2000, "second");
	/* Nothing new. */
	look_later();
	expect(0x2000, "second");
	/* A removed file keeps its names; another file, or a shorter one, is read anew. */
	assert_int_equal(rename(path, old_path), 0);
	look_later();
	expect(0x1000, "first");
	write_file("w", "3000 10 third\n4000 10 fourth\n5000 10 fifth\n");
	look_later();
	expect(0x1000, NULL);
	expect(0x5000, "fifth");
	assert_int_equal(unlink(old_path), 0);
	write_file("w", "3000 10 third\n");
	look_later();
	expect(0x3000, "third");
	expect(0x5000, NULL);
}

FIXTURE_TEST(perf_map_is_not_read_if_it_is_of_another_user)
{
	if (geteuid() != 0)
		skip();
	write_file("w", "1000 10 first\n");
	assert_int_equal(chown(path, 12345, 0), 0);
	look_later();
	expect(0x1000, NULL);
	assert_int_equal(chown(path, 0, 12345), 0);
	look_later();
	expect(0x1000, "first");
}

FIXTURE_TEST(perf_map_passes_over_line_that_never_ends)
{
	static char text[PERF_MAP_READ_BYTES_MAX + 1];

	memset(text, 'x', PERF_MAP_READ_BYTES_MAX);
	write_file("w", text);
	write_file("a", "\n1000 10 first\n");
	look_later();
	expect(0x1000, NULL);
	look_later();
	expect(0x1000, "first");
}
