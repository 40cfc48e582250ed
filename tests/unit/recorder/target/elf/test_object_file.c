/* SPDX-License-Identifier: GPL-2.0-only */
/* object_file over a file that this process maps. */
#include "recorder/target/elf/object_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "recorder/target/hanging_file.h"
#include "recorder/target/mapped_copy.h"
#include "recorder/target/proc/agent.h"

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

#define LIVE(test) TEST_WITH(test, set_up, tear_down)

LIVE(object_files_return_open_file_to_second_caller)
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

LIVE(object_file_closes_with_last_reference)
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

LIVE(object_files_reopen_file_that_was_overwritten)
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

LIVE(object_files_cache_file_that_is_not_elf)
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

LIVE(object_files_return_enomem_or_correct_file)
{
	struct bench *bench = *state;
	size_t refusals = 0;
	bool is_shared = false;

	for (size_t successes = 0; !is_shared; successes++) {
		struct object_file *file;
		int r;

		memory_fails_once_after(successes);
		r = object_file_get(bench->files, getpid(), bench->copy.entry, &file);
		memory_never_fails();
		if (r < 0) {
			assert_int_equal(r, -ENOMEM);
			refusals++;
			continue;
		}
		assert_non_null(object_file_image(file));
		is_shared = object_file_is_shared(file);
		object_file_release(file);
	}
	assert_true(refusals > 3);
}

LIVE(object_file_notes_are_shared_by_name)
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

LIVE(object_files_share_nothing_without_set)
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

LIVE(object_file_limits_number_of_notes)
{
	static const char *const names[] = { "a", "b", "c", "d", "e" };
	struct bench *bench = *state;
	struct object_file *file = get(bench);
	void *notes[5];

	for (size_t i = 0; i < 5; i++)
		assert_non_null(notes[i] = object_file_note(file, names[i], 8));
	assert_null(object_file_note(file, "f", 8));
	for (size_t i = 0; i < 5; i++)
		assert_ptr_equal(object_file_note(file, names[i], 8), notes[i]);
	object_file_release(file);
}

LIVE(object_files_use_half_of_descriptor_limit_for_sharing)
{
	struct bench *bench = *state;
	struct mapped_copy copies[3];
	struct object_file *held[3];
	struct object_files *files;
	struct rlimit before, few;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){ .rlim_cur = 4, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	files = object_files_new();
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_non_null(files);
	for (int i = 0; i < 3; i++) {
		mapped_copy_make(FIXTURE_TLS_INITIAL_EXEC, &copies[i]);
		assert_int_equal(object_file_get(files, getpid(), copies[i].entry, &held[i]), 0);
		assert_int_equal(object_file_is_shared(held[i]), i < 2);
	}
	assert_int_equal(object_files_count(files), 2);
	assert_int_equal(object_files_opened(files), 3);
	for (int i = 0; i < 3; i++) {
		object_file_release(held[i]);
		mapped_copy_remove(&copies[i]);
	}
	object_files_free(files);
	(void)bench;
}

/* As of an overlay: maps name another device than stat(2) does. */
LIVE(object_files_identify_file_despite_other_device_in_maps)
{
	struct bench *bench = *state;
	struct memory_map_entry entry = *bench->copy.entry;
	struct object_file *files[3];

	entry.device_minor++;
	assert_int_equal(object_file_get(bench->files, getpid(), &entry, &files[0]), 0);
	/* Such a device once seen is not opened to be known, which takes memory. */
	memory_fails_after(0);
	assert_int_equal(object_file_get(bench->files, getpid(), &entry, &files[1]), 0);
	memory_never_fails();
	assert_ptr_equal(files[0], files[1]);
	assert_int_equal(object_files_opened(bench->files), 1);
	/* Another such device: it is opened to see that it is known. */
	entry.device_minor++;
	assert_int_equal(object_file_get(bench->files, getpid(), &entry, &files[2]), 0);
	assert_ptr_equal(files[0], files[2]);
	assert_int_equal(object_files_opened(bench->files), 1);
	assert_int_equal(object_files_count(bench->files), 1);
	for (int i = 0; i < 3; i++)
		object_file_release(files[i]);
	assert_int_equal(object_files_count(bench->files), 0);
}

/* Of 64 such devices: the oldest is forgotten, and found out anew. */
LIVE(object_files_identify_one_file_under_many_map_devices)
{
	struct bench *bench = *state;
	struct memory_map_entry entry = *bench->copy.entry;
	struct object_file *file, *first = NULL;

	for (int round = 0; round < 2; round++) {
		entry.device_minor = bench->copy.entry->device_minor;
		for (int i = 0; i < 70; i++) {
			entry.device_minor++;
			assert_int_equal(object_file_get(bench->files, getpid(), &entry, &file), 0);
			assert_true(!first || file == first);
			first = file;
		}
	}
	assert_int_equal(object_files_opened(bench->files), 1);
	for (int i = 0; i < 2 * 70; i++)
		object_file_release(first);
	assert_int_equal(object_files_count(bench->files), 0);
}

LIVE(object_file_gives_up_on_last_process_if_read_times_out)
{
	struct bench *bench = *state;
	struct object_file *file = get(bench), *again, *none;
	uint64_t inode;

	assert_int_equal(object_file_get(bench->files, NOBODY, bench->copy.entry, &again), 0);
	assert_ptr_equal(again, file);
	agent_set_identifier(wait_for_ever, bench->copy.fd);
	assert_false(object_file_is_late(file));
	assert_int_equal(object_file_identify(file, true, &inode), -ETIMEDOUT);
	agent_set_identifier(NULL, -1);
	assert_true(object_file_is_late(file));
	assert_true(agent_has_given_up(NOBODY));
	assert_false(agent_has_given_up(getpid()));
	/* And nobody else gets it meanwhile, nor does the process get another one. */
	assert_int_equal(object_file_get(bench->files, getpid(), bench->copy.entry, &none),
			 -ETIMEDOUT);
	assert_int_equal(object_file_get(NULL, NOBODY, bench->copy.entry, &none), -ETIMEDOUT);
	object_file_release(file);
	object_file_release(again);
	assert_int_equal(object_files_count(bench->files), 0);
}
