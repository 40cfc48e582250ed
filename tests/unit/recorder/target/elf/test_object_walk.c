/* SPDX-License-Identifier: GPL-2.0-only */
/* object_walk over this very process. */
#include "unit_test.h"

#include "recorder/target/elf/object_walk.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <sys/wait.h>

#include "recorder/target/mapped_copy.h"

struct seen {
	size_t count;
	bool has_libc;
	bool has_fixture;
};

/* Keeps each object that is handed out. */
static struct seen walk_through(struct object_walk *walk)
{
	struct seen seen = { 0 };
	int r;

	assert_int_equal(object_walk_begin(walk, NULL), 0);
	while ((r = object_walk_next(walk)) > 0) {
		const struct loaded_object *object = &walk->object;

		assert_true(object->has_bias);
		assert_true(elf_image_machine(object->image) != EM_NONE);
		seen.count++;
		seen.has_libc |= strstr(object->entry->path, "/libc.so") != NULL;
		seen.has_fixture |= strcmp(object->entry->path, FIXTURE_TLS_INITIAL_EXEC) == 0;
		assert_int_equal(object_walk_keep(walk), 0);
	}
	assert_int_equal(r, 0);
	object_walk_end(walk);
	return seen;
}

static int set_up(void **state);
static int tear_down(void **state);

#define COPIED(test) TEST_WITH(test, set_up, tear_down)

TEST(object_walk_returns_each_object_once)
{
	struct object_walk walk = { .pid = getpid() };
	struct seen seen = walk_through(&walk);
	size_t all = seen.count;

	assert_true(seen.has_libc && !seen.has_fixture);
	assert_int_equal(walk_through(&walk).count, 0);
	assert_non_null(dlopen(FIXTURE_TLS_INITIAL_EXEC, RTLD_NOW | RTLD_LOCAL));
	seen = walk_through(&walk);
	assert_true(seen.has_fixture);
	assert_int_equal(seen.count, 1);
	object_walk_forget(&walk);
	assert_int_equal(walk_through(&walk).count, all + 1);
	object_walk_deinit(&walk);
}

TEST(object_walk_returns_unfinished_object_again)
{
	struct object_walk walk = { .pid = getpid() };
	uint64_t starts[2];

	for (int i = 0; i < 2; i++) {
		assert_int_equal(object_walk_begin(&walk, NULL), 0);
		assert_int_equal(object_walk_next(&walk), 1);
		starts[i] = walk.object.entry->start;
	}
	assert_int_equal(starts[0], starts[1]);
	object_walk_deinit(&walk);
}

TEST(object_walk_takes_over_given_map)
{
	struct object_walk walk = { .pid = getpid() };
	struct memory_map map;

	assert_int_equal(memory_map_of_process(getpid(), &map), 0);
	assert_int_equal(object_walk_begin(&walk, &map), 0);
	assert_int_equal(map.count, 0);
	assert_int_equal(object_walk_next(&walk), 1);
	object_walk_deinit(&walk);
}

TEST(object_walk_fails_for_zombie)
{
	pid_t child = fork();
	struct object_walk walk = { .pid = child };
	siginfo_t status;

	if (child == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)child, &status, WEXITED | WNOWAIT), 0);
	assert_int_equal(object_walk_begin(&walk, NULL), -ESRCH);
	assert_int_equal(waitpid(child, NULL, 0), child);
	object_walk_deinit(&walk);
}

/* A mapping of the copy's file that is nowhere: it is opened by its path. */
struct place {
	uint64_t start;
	uint64_t inode;
	uint32_t major, minor;
	const char *flags;
};

static struct memory_map map_of(const struct mapped_copy *copy, const struct place *places,
				size_t count)
{
	static char text[64 * 256];
	struct memory_map map;
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		used += (size_t)snprintf(
			text + used, sizeof(text) - used,
			"%" PRIx64 "-%" PRIx64 " %s 00000000 %x:%x %" PRIu64 " %s\n",
			places[i].start, places[i].start + 0x1000, places[i].flags, places[i].major,
			places[i].minor, places[i].inode, copy->path);
	assert_int_equal(memory_map_parse(text, used, &map), 0);
	return map;
}

/* How many objects are handed out, and kept. */
static size_t walk_over(struct object_walk *walk, const struct mapped_copy *copy,
			const struct place *places, size_t count)
{
	struct memory_map map = map_of(copy, places, count);
	size_t handed_out = 0;
	int r;

	assert_int_equal(object_walk_begin(walk, &map), 0);
	for (; (r = object_walk_next(walk)) > 0; handed_out++)
		assert_int_equal(object_walk_keep(walk), 0);
	assert_int_equal(r, 0);
	object_walk_end(walk);
	return handed_out;
}

COPIED(object_walk_returns_object_again_if_place_or_file_changes)
{
	const struct mapped_copy *copy = *state;
	const struct place first = { 0x10000, copy->entry->inode, 8, 1, "r--p" };
	struct object_walk walk = { .pid = getpid() };
	struct place place = first;

	assert_int_equal(walk_over(&walk, copy, &place, 1), 1);
	assert_int_equal(walk_over(&walk, copy, &place, 1), 0);
	for (int change = 0; change < 3; change++) {
		place.start += change == 0 ? 0x1000 : 0;
		place.major += change == 1;
		place.minor += change == 2;
		assert_int_equal(walk_over(&walk, copy, &place, 1), 1);
		assert_int_equal(walk.unreadable_count, 0);
		assert_int_equal(walk_over(&walk, copy, &place, 1), 0);
	}
	/* That file is not at its path. */
	place.inode++;
	assert_int_equal(walk_over(&walk, copy, &place, 1), 0);
	assert_int_equal(walk.unreadable_count, 1);
	assert_string_equal(walk.unreadable_path, copy->path);
	/* What was not there meanwhile is handed out again. */
	assert_int_equal(walk_over(&walk, copy, &first, 1), 1);
	assert_int_equal(walk.unreadable_count, 0);
	/* What may not be read is not an object that can be looked into. */
	place = first;
	place.flags = "--xp";
	place.start += 0x1000;
	assert_int_equal(walk_over(&walk, copy, &place, 1), 0);
	assert_int_equal(walk.unreadable_count, 0);
	object_walk_deinit(&walk);
}

COPIED(object_walk_remembers_any_number_of_objects)
{
	enum {
		COUNT = 50
	};
	const struct mapped_copy *copy = *state;
	struct object_walk walk = { .pid = getpid() };
	struct place places[COUNT];

	for (uint32_t i = 0; i < COUNT; i++)
		places[i] = (struct place){ 0x10000 * (i + 1), copy->entry->inode, 8, i, "r--p" };
	for (size_t count = 1; count <= COUNT; count++) {
		assert_int_equal(walk_over(&walk, copy, places, count), 1);
		assert_int_equal(walk_over(&walk, copy, places, count), 0);
	}
	/* Without the last ones, which are new then. */
	assert_int_equal(walk_over(&walk, copy, places, 3), 0);
	assert_int_equal(walk_over(&walk, copy, places, COUNT), COUNT - 3);
	object_walk_deinit(&walk);
}

COPIED(object_walk_opens_non_elf_file_once)
{
	const struct mapped_copy *copy = *state;
	const struct place place = { 0x10000, copy->entry->inode, 8, 1, "r--p" };
	struct object_walk walk = { .pid = getpid(), .files = object_files_new() };

	assert_int_equal(pwrite(copy->fd, "no", 2, 0), 2);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(walk_over(&walk, copy, &place, 1), 0);
		assert_int_equal(walk.unreadable_count, 0);
		assert_int_equal(object_files_opened(walk.files), 1);
	}
	object_walk_deinit(&walk);
	assert_int_equal(object_files_count(walk.files), 0);
	object_files_free(walk.files);
}

COPIED(object_walk_object_outside_file_has_no_bias)
{
	const struct mapped_copy *copy = *state;
	const struct place place = { 0x10000, copy->entry->inode, 8, 1, "r--p" };
	struct memory_map map = map_of(copy, &place, 1);
	struct object_walk walk = { .pid = getpid() };

	map.entries[0].offset = 1 << 30;
	assert_int_equal(object_walk_begin(&walk, &map), 0);
	assert_int_equal(object_walk_next(&walk), 1);
	assert_false(walk.object.has_bias);
	object_walk_deinit(&walk);
}

/* What was read of it is given back: of a file that is empty by then nothing else is found. */
COPIED(object_walk_releases_cached_reads_of_finished_object)
{
	const struct mapped_copy *copy = *state;
	const struct place place = { 0x10000, copy->entry->inode, 8, 1, "r--p" };
	struct memory_map map = map_of(copy, &place, 1);
	struct object_walk walk = { .pid = getpid() };
	struct object_file *file;
	struct elf_symbol symbol;

	assert_int_equal(object_walk_begin(&walk, &map), 0);
	assert_int_equal(object_walk_next(&walk), 1);
	assert_false(elf_image_find_defined(walk.object.image, "no_such_name", &symbol));
	file = object_file_hold(walk.object.file);
	assert_int_equal(object_walk_next(&walk), 0);
	assert_null(walk.object.file);
	assert_int_equal(ftruncate(copy->fd, 0), 0);
	assert_false(
		elf_image_find_defined(object_file_image(file), "ruby_profiler_state", &symbol));
	object_file_release(file);
	object_walk_deinit(&walk);
}

static int set_up(void **state)
{
	struct mapped_copy *copy = calloc(1, sizeof(*copy));

	assert_non_null(copy);
	mapped_copy_make(FIXTURE_TLS_INITIAL_EXEC, copy);
	*state = copy;
	return 0;
}

static int tear_down(void **state)
{
	mapped_copy_remove(*state);
	free(*state);
	return 0;
}
