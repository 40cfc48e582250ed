/* SPDX-License-Identifier: GPL-2.0-only */
/* publishers over an object that a loader is still at work on: mapped here, and not relocated. */
#include "target/publisher/publisher.h"

#include <errno.h>

#include "target/mapped_copy.h"

struct bench {
	struct mapped_copy copy;
	struct object_file *file;
	struct publishers publishers;
	struct memory_reader reader;
	uint64_t *slot; /* {module, offset} of the variable */
};

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct loaded_object object;
	uint64_t address;

	assert_non_null(bench);
	mapped_copy_make(FIXTURE_TLS_GENERAL_DYNAMIC, &bench->copy);
	bench->reader = memory_reader_of_process(getpid());
	bench->publishers = (struct publishers){ .symbol = "ruby_profiler_state" };
	assert_int_equal(object_file_get(NULL, getpid(), bench->copy.entry, &bench->file), 0);
	object = (struct loaded_object){
		.map = &bench->copy.map,
		.entry = bench->copy.entry,
		.file = bench->file,
		.image = object_file_image(bench->file),
	};
	assert_int_equal(publishers_note(&bench->publishers, &object), 0);
	assert_int_equal(bench->publishers.count, 1);
	assert_int_equal(tls_symbol_find_slot(object.image, "ruby_profiler_state", &address), 0);
	bench->slot = (uint64_t *)(void *)(bench->copy.start + address);
	bench->slot[0] = 0x7f1234567890;
	bench->slot[1] = 0x18;
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	publishers_deinit(&bench->publishers);
	object_file_release(bench->file);
	mapped_copy_remove(&bench->copy);
	free(bench);
	return 0;
}

static int locate(struct bench *bench)
{
	const struct link_map_layout layout = { 0 };

	return publishers_locate(&bench->publishers, &bench->copy.map, &bench->reader, &layout);
}

static void what_a_loader_at_work_leaves_is_looked_at_again(void **state)
{
	struct bench *bench = *state;

	for (int i = 0; i < PUBLISHER_DOUBTS_MAX; i++) {
		assert_int_equal(locate(bench), 0);
		assert_null(publishers_live(&bench->publishers));
	}
	bench->slot[0] = 5;
	assert_int_equal(locate(bench), 0);
	assert_non_null(publishers_live(&bench->publishers));
	assert_int_equal(publishers_live(&bench->publishers)->tls.location.module, 5);
}

static void but_not_for_ever(void **state)
{
	struct bench *bench = *state;

	for (int i = 0; i < PUBLISHER_DOUBTS_MAX; i++)
		assert_int_equal(locate(bench), 0);
	assert_int_equal(locate(bench), -EUCLEAN);
	bench->slot[0] = 5;
	assert_int_equal(locate(bench), 0);
	assert_null(publishers_live(&bench->publishers));
}

static void only_doubts_in_a_row_count(void **state)
{
	struct bench *bench = *state;

	for (int i = 0; i < 3 * PUBLISHER_DOUBTS_MAX; i++) {
		/* Zero: it was not written yet. */
		bench->slot[0] = i % 2 ? 0 : 0x7f1234567890;
		assert_int_equal(locate(bench), 0);
	}
	bench->slot[0] = 5;
	assert_int_equal(locate(bench), 0);
	assert_non_null(publishers_live(&bench->publishers));
}

int main(void)
{
#define LIVE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		LIVE(what_a_loader_at_work_leaves_is_looked_at_again),
		LIVE(but_not_for_ever),
		LIVE(only_doubts_in_a_row_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
