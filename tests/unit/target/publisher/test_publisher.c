/* SPDX-License-Identifier: GPL-2.0-only */
/* publishers over an object that a loader is still at work on: mapped here, and not relocated. */
#include "target/publisher/publisher.h"

#include <errno.h>

#include "target/forged_elf.h"
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

static struct loaded_object object_at(struct bench *bench, const struct memory_map_entry *entry)
{
	return (struct loaded_object){
		.map = &bench->copy.map,
		.entry = entry,
		.file = bench->file,
		.image = object_file_image(bench->file),
	};
}

static void an_object_is_noted_once_and_of_very_many_the_first(void **state)
{
	struct bench *bench = *state;
	struct memory_map_entry entry = *bench->copy.entry;
	struct loaded_object object = object_at(bench, &entry);

	assert_int_equal(publishers_note(&bench->publishers, &object), 0);
	assert_int_equal(bench->publishers.count, 1);
	for (size_t count = 2; count < PUBLISHERS_MAX + 3; count++) {
		entry.start++;
		assert_int_equal(publishers_note(&bench->publishers, &object), 0);
		assert_int_equal(bench->publishers.count,
				 count < PUBLISHERS_MAX ? count : PUBLISHERS_MAX);
	}
	assert_string_equal(bench->publishers.list[0]->path, bench->copy.path);
	assert_int_equal(bench->publishers.list[0]->start, (uintptr_t)bench->copy.start);
	assert_int_equal(bench->publishers.list[0]->end, bench->copy.entry->end);
}

static void another_name_is_not_the_variable(void **state)
{
	struct bench *bench = *state;
	struct publishers other = { .symbol = "fixture_variable_of_nobody" };
	struct loaded_object object = object_at(bench, bench->copy.entry);

	assert_int_equal(publishers_note(&other, &object), 0);
	assert_int_equal(other.count, 0);
}

static void it_ends_where_the_mappings_of_its_file_do(void **state)
{
	struct bench *bench = *state;
	struct memory_map_entry entries[] = {
		{ .start = 0x1000, .end = 0x2000, .inode = 7, .path = "/a" },
		{ .start = 0x2000, .end = 0x5000, .inode = 7, .path = "/a" },
		{ .start = 0x5000, .end = 0x6000, .inode = 8, .path = "/b" },
		{ .start = 0x6000, .end = 0x7000, .inode = 7, .path = "/a" },
	};
	struct memory_map map = { .entries = entries, .count = 4 };
	struct publishers publishers = { .symbol = "ruby_profiler_state" };
	struct loaded_object object = object_at(bench, &entries[0]);

	object.map = &map;
	entries[0].is_deleted = true;
	assert_int_equal(publishers_note(&publishers, &object), 0);
	assert_int_equal(publishers.list[0]->end, 0x5000);
	assert_true(publishers.list[0]->is_deleted);
	publishers_deinit(&publishers);
	/* To the very last one. */
	map.count = 2;
	assert_int_equal(publishers_note(&publishers, &object), 0);
	assert_int_equal(publishers.list[0]->end, 0x5000);
	publishers_deinit(&publishers);
}

#ifdef FIXTURE_REFERRING_GENERAL_DYNAMIC
static void its_sites_are_looked_for_where_they_are_wanted_once_for_a_file(void **state)
{
	struct mapped_copy copy;
	struct object_file *file;

	(void)state;
	mapped_copy_make(FIXTURE_REFERRING_GENERAL_DYNAMIC, &copy);
	assert_int_equal(object_file_get(NULL, getpid(), copy.entry, &file), 0);
	for (int wanted = 0; wanted < 3; wanted++) {
		struct publishers publishers = { .symbol = "ruby_profiler_state",
						 .has_sites = wanted > 0 };
		struct loaded_object object = { .map = &copy.map,
						.entry = copy.entry,
						.file = file,
						.image = object_file_image(file) };

		/* By the third time the file is empty, and not looked into again. */
		if (wanted == 2) {
			elf_image_rest(object.image);
			assert_int_equal(ftruncate(copy.fd, 0), 0);
		}
		assert_int_equal(publishers_note(&publishers, &object), 0);
		assert_int_equal(publishers.count, 1);
		assert_int_equal(publishers.list[0]->site_count, wanted ? 2 : 0);
		if (wanted) {
			assert_true(publishers.list[0]->sites[0].virtual_address > 0);
			assert_in_range(publishers.list[0]->sites[0].bytes[0], 1, 255);
		}
		publishers_deinit(&publishers);
	}
	object_file_release(file);
	mapped_copy_remove(&copy);
}
#endif

/* A gem that hears of threads imports what it takes. */
static void threads_are_followed_if_one_of_them_hears_of_them(void **state)
{
	static const char hook[] = "rb_internal_thread_add_event_hook";
	struct bench *bench = *state;
	struct forged_elf elf = forged_elf_make(EM_X86_64, "ruby_profiler_state", 0);
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct memory_map_entry entry = *bench->copy.entry;
	struct loaded_object object = object_at(bench, &entry);
	Elf64_Sym *imported = (Elf64_Sym *)(void *)elf.relocations + 1;

	assert_false(bench->publishers.follows_threads);
	/* The relocations' bytes as a second table of symbols. */
	*imported = (Elf64_Sym){ .st_name = sizeof(elf.strings) - sizeof(hook) };
	memcpy(elf.strings + imported->st_name, hook, sizeof(hook));
	elf.sections[3].sh_type = SHT_SYMTAB;
	elf.sections[3].sh_link = 2;
	assert_int_equal(elf_image_open_memory(&elf, sizeof(elf), &image), 0);
	entry.start++;
	object.image = image;
	assert_int_equal(publishers_note(&bench->publishers, &object), 0);
	assert_int_equal(bench->publishers.count, 2);
	assert_true(bench->publishers.follows_threads);
	/* Another one that does not changes nothing. */
	entry.start++;
	object.image = object_file_image(bench->file);
	assert_int_equal(publishers_note(&bench->publishers, &object), 0);
	assert_int_equal(bench->publishers.count, 3);
	assert_true(bench->publishers.follows_threads);
}

static void what_is_no_thread_local_is_not_the_variable(void **state)
{
	struct bench *bench = *state;
	struct forged_elf elf = forged_elf_make(EM_X86_64, "ruby_profiler_state", 0);
	_cleanup_(elf_image_freep) struct elf_image *image = NULL;
	struct publishers publishers = { .symbol = "ruby_profiler_state" };
	struct loaded_object object = object_at(bench, bench->copy.entry);

	elf.symbols[FORGED_SYMBOL_INDEX].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
	assert_int_equal(elf_image_open_memory(&elf, sizeof(elf), &image), 0);
	object.image = image;
	assert_int_equal(publishers_note(&publishers, &object), 0);
	assert_int_equal(publishers.count, 0);
}

/* Of no file; the Nth is mapped from N times 0x1000 on and located. */
static struct publishers make_set(size_t count)
{
	struct publishers set = { .symbol = "x", .count = count };

	for (size_t i = 0; i < count; i++) {
		set.list[i] = calloc(1, sizeof(*set.list[i]));
		assert_non_null(set.list[i]);
		set.list[i]->start = 0x1000 * (i + 1);
		set.list[i]->end = set.list[i]->start + 0x800;
		set.list[i]->inode = 70 + i;
		set.list[i]->device = 8ULL << 32 | 1;
		set.list[i]->is_located = true;
		set.list[i]->tls.relocation = "by hand";
		set.list[i]->tls.location.module = i;
	}
	return set;
}

static void one_is_read_at_a_time_and_that_which_has_the_code_is_preferred(void **state)
{
	struct publishers set = make_set(3);

	(void)state;
	assert_ptr_equal(publishers_live(&set), set.list[0]);
	assert_false(publishers_prefer(&set, 0x1000));
	assert_false(publishers_prefer(&set, 0x1fff));
	assert_true(publishers_prefer(&set, 0x3000));
	assert_ptr_equal(publishers_live(&set), set.list[2]);
	assert_true(publishers_prefer(&set, 0x27ff));
	assert_ptr_equal(publishers_live(&set), set.list[1]);
	assert_false(publishers_prefer(&set, 0x2800));
	assert_false(publishers_prefer(&set, 0x3000 - 1));
	set.list[2]->is_located = false;
	assert_false(publishers_prefer(&set, 0x3000));
	set.list[1]->is_located = false;
	assert_null(publishers_live(&set));
	publishers_deinit(&set);
	assert_null(publishers_live(&set));
}

static void what_is_not_mapped_where_it_was_is_dropped(void **state)
{
	(void)state;
	for (int dropped = 0; dropped < 3; dropped++) {
		for (size_t live = 0; live < 3; live++) {
			struct publishers set = make_set(3);
			struct memory_map_entry entries[3];
			const struct memory_map map = { .entries = entries, .count = 3 };
			const struct publisher *was_live = set.list[live], *first;

			set.live = live;
			for (size_t i = 0; i < 3; i++)
				entries[i] = (struct memory_map_entry){ .start = 0x1000 * (i + 1),
									.inode = 70 + i,
									.device_major = 8,
									.device_minor = 1 };
			assert_false(publishers_drop_unmapped(&set, &map));
			assert_int_equal(set.count, 3);
			assert_int_equal(set.live, live);
			/* Another file there, of another device, or another place. */
			if (dropped == 0)
				entries[1].inode++;
			else if (dropped == 1)
				entries[1].device_minor++;
			else
				entries[1].start++;
			first = set.list[0];
			assert_true(publishers_drop_unmapped(&set, &map));
			assert_int_equal(set.count, 2);
			assert_ptr_equal(set.list[0], first);
			assert_ptr_equal(publishers_live(&set), live == 1 ? first : was_live);
			publishers_deinit(&set);
		}
	}
}

static void of_two_that_share_a_variable_one_only_sets_it(void **state)
{
	const struct memory_map nothing = { 0 };
	const struct link_map_layout layout = { 0 };
	struct memory_reader reader = memory_reader_of_process(getpid());
	struct publishers set = make_set(4);

	(void)state;
	assert_int_equal(publishers_locate(&set, &nothing, &reader, &layout), 0);
	assert_int_equal(publishers_count_variables(&set), 4);
	/* Confirmed by the loader's list, without a relocation, not located: no other's. */
	for (size_t i = 1; i < 4; i++)
		set.list[i]->tls.location.module = 0;
	set.list[1]->tls.is_confirmed = true;
	set.list[2]->tls.relocation = NULL;
	assert_int_equal(publishers_locate(&set, &nothing, &reader, &layout), 0);
	assert_int_equal(publishers_count_variables(&set), 3);
	assert_true(set.list[3]->is_interposed);
	assert_false(set.list[3]->is_located);
	assert_false(set.list[0]->is_interposed);
	publishers_deinit(&set);
	/* Also of two alone, whichever is read. */
	for (size_t live = 0; live < 2; live++) {
		set = make_set(2);
		set.live = live;
		set.list[1]->tls.location.module = 0;
		assert_int_equal(publishers_locate(&set, &nothing, &reader, &layout), 0);
		assert_int_equal(publishers_count_variables(&set), 1);
		assert_true(set.list[1 - live]->is_interposed);
		assert_ptr_equal(publishers_live(&set), set.list[live]);
		publishers_deinit(&set);
	}
}

/* Beside the one of the bench one that is mapped nowhere, before it. */
static struct publisher *add_other(struct bench *bench, bool is_located)
{
	struct publishers other = make_set(1);

	other.list[0]->is_located = is_located;
	bench->publishers.list[bench->publishers.count++] = bench->publishers.list[0];
	bench->publishers.list[0] = other.list[0];
	bench->slot[0] = 5;
	return other.list[0];
}

static void the_first_one_that_is_located_is_read(void **state)
{
	struct bench *bench = *state;
	const struct publisher *real = bench->publishers.list[0];

	(void)add_other(bench, false);
	assert_int_equal(locate(bench), 0);
	assert_true(real->is_located);
	assert_ptr_equal(publishers_live(&bench->publishers), real);
}

static void one_that_is_located_later_is_not(void **state)
{
	struct bench *bench = *state;
	const struct publisher *real = bench->publishers.list[0];
	const struct publisher *first = add_other(bench, true);

	assert_int_equal(locate(bench), 0);
	assert_true(real->is_located);
	assert_ptr_equal(publishers_live(&bench->publishers), first);
	assert_int_equal(publishers_count_variables(&bench->publishers), 2);
}

static void one_that_cannot_be_located_does_not_matter_beside_one_that_is(void **state)
{
	struct bench *bench = *state;
	struct publisher *real = bench->publishers.list[0];
	struct publisher *first = add_other(bench, true);

	bench->slot[0] = 0x7f1234567890;
	real->doubts = PUBLISHER_DOUBTS_MAX;
	assert_int_equal(locate(bench), 0);
	assert_false(real->is_located);
	assert_ptr_equal(publishers_live(&bench->publishers), first);
}

static void it_is_there_while_an_image_begins_there(void **state)
{
	struct bench *bench = *state;
	struct publisher publisher = { .start = (uintptr_t)bench->copy.start };

	assert_true(publisher_is_there(&publisher, getpid()));
	publisher.start += 1;
	assert_false(publisher_is_there(&publisher, getpid()));
	publisher.start = 0x1000;
	assert_false(publisher_is_there(&publisher, getpid()));
}

int main(void)
{
#define LIVE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		LIVE(what_a_loader_at_work_leaves_is_looked_at_again),
		LIVE(but_not_for_ever),
		LIVE(only_doubts_in_a_row_count),
		LIVE(an_object_is_noted_once_and_of_very_many_the_first),
		LIVE(another_name_is_not_the_variable),
#ifdef FIXTURE_REFERRING_GENERAL_DYNAMIC
		cmocka_unit_test(its_sites_are_looked_for_where_they_are_wanted_once_for_a_file),
#endif
		LIVE(it_ends_where_the_mappings_of_its_file_do),
		cmocka_unit_test(one_is_read_at_a_time_and_that_which_has_the_code_is_preferred),
		cmocka_unit_test(what_is_not_mapped_where_it_was_is_dropped),
		cmocka_unit_test(of_two_that_share_a_variable_one_only_sets_it),
		LIVE(threads_are_followed_if_one_of_them_hears_of_them),
		LIVE(what_is_no_thread_local_is_not_the_variable),
		LIVE(the_first_one_that_is_located_is_read),
		LIVE(one_that_is_located_later_is_not),
		LIVE(one_that_cannot_be_located_does_not_matter_beside_one_that_is),
		LIVE(it_is_there_while_an_image_begins_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
