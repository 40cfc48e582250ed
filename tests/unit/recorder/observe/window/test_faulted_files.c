/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/faulted_files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit_test.h"

static const char MAPS[] = "1000-2000 r--p 00000000 fe:01 11                /usr/lib/one\n"
			   "2000-3000 r-xp 00001000 fe:01 11                /usr/lib/one\n"
			   "3000-4000 r--p 00000000 fe:02 11                /srv/its namesake\n"
			   "4000-5000 r--p 00000000 00:2d 12                /over/lay\n"
			   "5000-6000 r--p 00000000 fe:01 13                /usr/lib/linked\n"
			   "6000-6800 r--p 00000000 fe:01 13                /usr/lib/and here\n"
			   "6800-6900 r--p 00000000 00:2e 13                /over/its namesake\n"
			   "7000-8000 r--p 00000000 fe:01 14                /mnt/gone (deleted)\n"
			   "8000-9000 r--p 00000000 00:2e 15                /over/a\n"
			   "9000-a000 r--p 00000000 00:2f 15                /over/b\n"
			   "b000-c000 rw-p 00000000 00:00 0 \n";

static uint32_t device(uint32_t major, uint32_t minor)
{
	return major << 20 | minor;
}

static const struct memory_map *maps(void)
{
	static struct memory_map map;

	memory_map_deinit(&map);
	map = (struct memory_map){ 0 };
	assert_int_equal(memory_map_parse(MAPS, sizeof(MAPS) - 1, &map), 0);
	return &map;
}

static void forget_maps(void)
{
	memory_map_deinit((struct memory_map *)maps());
}

TEST(faulted_file_is_that_of_device_and_inode)
{
	assert_string_equal(faulted_file_path(maps(), 11, device(0xfe, 1)), "/usr/lib/one");
	assert_string_equal(faulted_file_path(maps(), 11, device(0xfe, 2)), "/srv/its namesake");
	assert_string_equal(faulted_file_path(maps(), 14, device(0xfe, 1)), "/mnt/gone");
	assert_null(faulted_file_path(maps(), 11, device(0xfe, 3)));
	assert_null(faulted_file_path(maps(), 99, device(0xfe, 1)));
	forget_maps();
}

TEST(faulted_file_in_a_layer_is_known_by_its_inode)
{
	assert_string_equal(faulted_file_path(maps(), 12, device(0xfe, 1)), "/over/lay");
	/* A file system with a device of its own is no overlay. */
	assert_null(faulted_file_path(maps(), 14, device(0xfe, 9)));
	forget_maps();
}

TEST(faulted_file_with_several_names_has_none)
{
	assert_null(faulted_file_path(maps(), 13, device(0xfe, 1)));
	assert_null(faulted_file_path(maps(), 15, device(0xfe, 1)));
	forget_maps();
}

static char mapped[4096]; /* the path of a file that this process maps */

/* The path is longer than a stall has room for. */
static void map_long_path(void)
{
	char folder[] = "/tmp/correlator-faulted-XXXXXX", name[201];
	int fd;

	assert_non_null(mkdtemp(folder));
	strcpy(mapped, folder);
	memset(name, 'n', sizeof(name) - 1);
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	for (int depth = 0; depth < 6; depth++) {
		strcat(mapped, name);
		if (depth < 5)
			assert_int_equal(mkdir(mapped, 0700), 0);
	}
	fd = open(mapped, O_RDWR | O_CREAT, 0600);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, 1), 0);
	assert_true(mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0) != MAP_FAILED);
	assert_int_equal(close(fd), 0);
}

static void remove_long_path(void)
{
	assert_int_equal(unlink(mapped), 0);
	for (int depth = 0; depth < 6; depth++) {
		*strrchr(mapped, '/') = '\0';
		assert_int_equal(rmdir(mapped), 0);
	}
}

static struct stall stall_of_mapping(const char *path)
{
	struct stall stall = { .object = STALL_OBJECT_MAPPED, .life = 7 };
	struct memory_map map = { 0 };

	assert_int_equal(memory_map_of_process(getpid(), &map), 0);
	for (size_t i = 0; i < map.count; i++)
		if (strcmp(map.entries[i].path, path) == 0) {
			stall.inode = map.entries[i].inode;
			stall.device =
				device(map.entries[i].device_major, map.entries[i].device_minor);
		}
	memory_map_deinit(&map);
	assert_true(stall.inode);
	return stall;
}

TEST(faulted_files_are_named_by_the_mappings_of_their_process)
{
	char own[4096] = "", expected[sizeof(((struct stall *)NULL)->names)] = "...";
	struct observed_table table = { 0 };
	struct stall stalls[5];

	assert_true(readlink("/proc/self/exe", own, sizeof(own) - 1) > 0);
	map_long_path();
	assert_non_null(observed_add(&table, 7, getpid(), 0, "this"));
	stalls[0] = (struct stall){ .object = STALL_OBJECT_PIPE, .life = 7 };
	stalls[1] = stall_of_mapping(own);
	stalls[2] = stall_of_mapping(mapped);
	/* The process is not known any more; the file is not mapped any more. */
	stalls[3] = stall_of_mapping(own);
	stalls[3].life = 8;
	stalls[4] = (struct stall){ .object = STALL_OBJECT_MAPPED, .life = 7, .inode = UINT64_MAX };
	faulted_files_name(stalls, 5, &table);
	assert_int_equal(stalls[0].object, STALL_OBJECT_PIPE);
	assert_string_equal(stalls[0].names[0], "");
	assert_int_equal(stalls[1].object, STALL_OBJECT_MAPPED);
	assert_string_equal((const char *)stalls[1].names, own);
	strcat(expected, mapped + strlen(mapped) - (sizeof(expected) - 4));
	assert_string_equal((const char *)stalls[2].names, expected);
	assert_string_equal(stalls[3].names[0], "");
	assert_string_equal(stalls[4].names[0], "");
	assert_int_equal(stalls[4].object, STALL_OBJECT_NONE);
	remove_long_path();
	observed_table_deinit(&table);
}

TEST(faulted_files_have_no_name_once_looks_at_their_process_cost_too_much)
{
	struct observed_table table = { 0 };
	struct stall stall;
	struct observed *process = observed_add(&table, 7, getpid(), 0, "this");
	char own[4096] = "";

	assert_non_null(process);
	assert_true(readlink("/proc/self/exe", own, sizeof(own) - 1) > 0);
	process->family->looks.looks = LOOK_BUDGET_FREE;
	look_budget_spend(&process->family->looks, clock_monotonic_ns(), NS_PER_S);
	stall = stall_of_mapping(own);
	faulted_files_name(&stall, 1, &table);
	assert_string_equal(stall.names[0], "");
	observed_table_deinit(&table);
}

TEST(faulted_files_of_an_ended_process_have_no_name)
{
	struct observed_table table = { 0 };
	struct stall stall = { .object = STALL_OBJECT_MAPPED, .life = 7, .inode = 1 };

	assert_non_null(observed_add(&table, 7, INT32_MAX, 0, "gone"));
	faulted_files_name(&stall, 1, &table);
	assert_string_equal(stall.names[0], "");
	observed_table_deinit(&table);
}

TEST_GROUP(NULL, NULL)
