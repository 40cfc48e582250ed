/* SPDX-License-Identifier: GPL-2.0-only */
/* object_walk over this very process. */
#include "target/elf/object_walk.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

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

static void each_object_is_handed_out_once(void **state)
{
	struct object_walk walk = { .pid = getpid() };
	struct seen seen = walk_through(&walk);
	size_t all = seen.count;

	(void)state;
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

static void what_is_not_kept_is_handed_out_again(void **state)
{
	struct object_walk walk = { .pid = getpid() };
	uint64_t starts[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(object_walk_begin(&walk, NULL), 0);
		assert_int_equal(object_walk_next(&walk), 1);
		starts[i] = walk.object.entry->start;
	}
	assert_int_equal(starts[0], starts[1]);
	object_walk_deinit(&walk);
}

static void a_map_that_was_read_is_taken_over(void **state)
{
	struct object_walk walk = { .pid = getpid() };
	struct memory_map map;

	(void)state;
	assert_int_equal(memory_map_of_process(getpid(), &map), 0);
	assert_int_equal(object_walk_begin(&walk, &map), 0);
	assert_int_equal(map.count, 0);
	assert_int_equal(object_walk_next(&walk), 1);
	object_walk_deinit(&walk);
}

static void a_zombie_is_gone(void **state)
{
	pid_t child = fork();
	struct object_walk walk = { .pid = child };
	siginfo_t status;

	(void)state;
	if (child == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)child, &status, WEXITED | WNOWAIT), 0);
	assert_int_equal(object_walk_begin(&walk, NULL), -ESRCH);
	assert_int_equal(waitpid(child, NULL, 0), child);
	object_walk_deinit(&walk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_object_is_handed_out_once),
		cmocka_unit_test(what_is_not_kept_is_handed_out_again),
		cmocka_unit_test(a_map_that_was_read_is_taken_over),
		cmocka_unit_test(a_zombie_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
