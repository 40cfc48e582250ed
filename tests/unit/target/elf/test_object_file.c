/* SPDX-License-Identifier: GPL-2.0-only */
/* object_file over a file that this process maps. */
#include "target/elf/object_file.h"

#include <fcntl.h>

#include "target/mapped_copy.h"

struct bench {
	struct mapped_copy copy;
	struct object_files *files;
};

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	assert_non_null(bench);
	mapped_copy_make(FIXTURE_TLS_INITIAL_EXEC, &bench->copy);
	bench->files = object_files_new();
	assert_non_null(bench->files);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	object_files_free(bench->files);
	mapped_copy_remove(&bench->copy);
	free(bench);
	return 0;
}

static struct object_file *get(struct bench *bench)
{
	struct object_file *file;

	assert_int_equal(object_file_get(bench->files, getpid(), bench->copy.entry, &file), 0);
	assert_true(object_file_is_shared(file));
	assert_true(fcntl(object_file_fd(file), F_GETFD) >= 0);
	return file;
}

static void who_comes_second_gets_what_is_open(void **state)
{
	struct bench *bench = *state;
	struct object_file *first = get(bench), *second = get(bench);
	struct elf_symbol symbol;

	assert_ptr_equal(first, second);
	assert_int_equal(object_files_opened(bench->files), 1);
	object_file_release(first);
	assert_int_equal(object_files_count(bench->files), 1);
	assert_true(
		elf_image_find_defined(object_file_image(second), "ruby_profiler_state", &symbol));
	object_file_release(second);
}

static void a_file_is_closed_with_its_last_holder(void **state)
{
	struct bench *bench = *state;
	struct object_file *file = get(bench);
	int fd = object_file_fd(file);

	object_file_release(file);
	assert_int_equal(object_files_count(bench->files), 0);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	object_file_release(get(bench));
	assert_int_equal(object_files_opened(bench->files), 2);
}

static void a_file_that_was_written_over_is_another_one(void **state)
{
	struct bench *bench = *state;
	struct object_file *before = get(bench), *after;

	assert_int_equal(pwrite(bench->copy.fd, "", 1, MAPPED_COPY_ROOM), 1);
	after = get(bench);
	assert_ptr_not_equal(before, after);
	assert_false(object_file_is_shared(before));
	assert_int_equal(object_files_count(bench->files), 1);
	object_file_release(before);
	assert_ptr_equal(get(bench), after);
	object_file_release(after);
	object_file_release(after);
}

static void what_is_no_elf_file_is_known_as_that(void **state)
{
	struct bench *bench = *state;
	struct object_file *file;

	assert_int_equal(pwrite(bench->copy.fd, "no", 2, 0), 2);
	file = get(bench);
	assert_null(object_file_image(file));
	assert_ptr_equal(get(bench), file);
	object_file_release(file);
	object_file_release(file);
}

static void notes_are_the_files(void **state)
{
	struct bench *bench = *state;
	struct object_file *file = get(bench);
	int *one = object_file_note(file, "one", sizeof(*one));
	int *two = object_file_note(file, "two", sizeof(*two));

	assert_non_null(one);
	assert_int_equal(*one + *two, 0);
	*one = 1;
	*two = 2;
	assert_ptr_equal(object_file_note(file, "one", sizeof(*one)), one);
	assert_ptr_equal(object_file_note(file, "two", sizeof(*two)), two);
	assert_int_equal(*one, 1);
	object_file_release(file);
}

static void nothing_is_shared_without_a_set(void **state)
{
	struct bench *bench = *state;
	struct object_file *files[2];

	for (int i = 0; i < 2; i++) {
		assert_int_equal(object_file_get(NULL, getpid(), bench->copy.entry, &files[i]), 0);
		assert_false(object_file_is_shared(files[i]));
	}
	assert_ptr_not_equal(files[0], files[1]);
	object_file_release(files[0]);
	object_file_release(files[1]);
}

int main(void)
{
#define LIVE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		LIVE(who_comes_second_gets_what_is_open),
		LIVE(a_file_is_closed_with_its_last_holder),
		LIVE(a_file_that_was_written_over_is_another_one),
		LIVE(what_is_no_elf_file_is_known_as_that),
		LIVE(notes_are_the_files),
		LIVE(nothing_is_shared_without_a_set),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
