/* SPDX-License-Identifier: GPL-2.0-only */
/* publishers over an object that a loader is still at work on: mapped here, and not relocated. */
#include "recorder/target/publisher/publisher.h"

#include <errno.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "recorder/target/forged_elf.h"
#include "recorder/target/hanging_file.h"
#include "recorder/target/mapped_copy.h"
#include "recorder/target/proc/agent.h"

struct bench {
	struct mapped_copy copy;
	struct object_file *file;
	struct publishers publishers;
	struct memory_reader reader;
	uint64_t *slot; /* {module, offset} of the variable */
};

static int set_up_with(const char *fixture, void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	struct loaded_object object;
	uint64_t address;

	assert_non_null(bench);
	mapped_copy_make(fixture, &bench->copy);
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

static int set_up(void **state)
{
	return set_up_with(FIXTURE_TLS_GENERAL_DYNAMIC, state);
}

static int set_up_counting(void **state)
{
	return set_up_with(FIXTURE_TLS_COUNTING, state);
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

static int locate_by(struct bench *bench, const struct link_map_layout *layout)
{
	return publishers_locate(&bench->publishers, &bench->copy.map, &bench->reader, layout);
}

static int locate(struct bench *bench)
{
	const struct link_map_layout layout = { 0 };

	return locate_by(bench, &layout);
}

#define LIVE(test) TEST_WITH(test, set_up, tear_down)

LIVE(publisher_is_located_again_while_loader_works)
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

LIVE(publisher_is_refused_after_too_many_doubts)
{
	struct bench *bench = *state;

	for (int i = 0; i < PUBLISHER_DOUBTS_MAX; i++)
		assert_int_equal(locate(bench), 0);
	assert_int_equal(locate(bench), -EUCLEAN);
	bench->slot[0] = 5;
	assert_int_equal(locate(bench), 0);
	assert_null(publishers_live(&bench->publishers));
}

LIVE(publisher_counts_only_consecutive_doubts)
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

LIVE(publisher_unwritten_slot_counts_as_no_doubt)
{
	struct bench *bench = *state;

	bench->slot[0] = 0;
	assert_int_equal(locate(bench), 0);
	bench->slot[0] = 0x7f1234567890;
	publisher_is_refused_after_too_many_doubts(state);
}

static int refuse_to_read(const struct memory_reader *reader, uint64_t address, void *buffer,
			  size_t size_bytes)
{
	(void)reader;
	(void)address;
	(void)buffer;
	(void)size_bytes;
	return -EFAULT;
}

LIVE(publisher_is_located_again_after_temporary_read_error)
{
	struct bench *bench = *state;
	struct memory_reader reader = bench->reader;

	bench->reader = (struct memory_reader){ .read = refuse_to_read };
	bench->slot[0] = 5;
	for (int i = 0; i < 2 * PUBLISHER_DOUBTS_MAX; i++)
		assert_int_equal(locate(bench), 0);
	assert_null(publishers_live(&bench->publishers));
	bench->reader = reader;
	assert_int_equal(locate(bench), 0);
	assert_non_null(publishers_live(&bench->publishers));
}

LIVE(publisher_keeps_its_location)
{
	struct bench *bench = *state;
	const struct publisher *publisher = bench->publishers.list[0];

	bench->slot[0] = 5;
	assert_int_equal(locate(bench), 0);
	bench->slot[0] = 6;
	assert_int_equal(locate(bench), 0);
	assert_int_equal(publisher->tls.location.module, 5);
}

/* The loader maps the whole file first, then each segment over it. */
LIVE(publisher_end_follows_current_mappings)
{
	struct bench *bench = *state;
	struct publisher *publisher = bench->publishers.list[0];

	publisher->end = publisher->start + 1;
	assert_int_equal(locate(bench), 0);
	assert_int_equal(publisher->end, bench->copy.entry->end);
}

LIVE(publisher_is_refused_if_its_file_does_not_cover_mapping)
{
	struct bench *bench = *state;

	bench->slot[0] = 5;
	for (size_t i = 0; i < bench->copy.map.count; i++)
		if (bench->copy.entry == &bench->copy.map.entries[i])
			bench->copy.map.entries[i].offset = 1ULL << 40;
	assert_int_equal(locate(bench), -ENOENT);
	assert_true(bench->publishers.list[0]->is_refused);
}

/* The failure is told, whatever comes of those behind it. */
LIVE(publisher_failure_is_returned_despite_pending_ones)
{
	struct bench *bench = *state;
	struct publisher *other = calloc(1, sizeof(*other));

	assert_non_null(other);
	other->start = 0x1000;
	bench->publishers.list[bench->publishers.count++] = other;
	bench->publishers.list[0]->doubts = PUBLISHER_DOUBTS_MAX;
	assert_int_equal(locate(bench), -EUCLEAN);
}

LIVE(publisher_location_follows_libc)
{
	struct bench *bench = *state;
	const struct link_map_layout musl = { .is_musl = true };
	const struct publisher *publisher = bench->publishers.list[0];

	bench->slot[0] = 5;
	assert_int_equal(locate_by(bench, &musl), 0);
	assert_int_equal(publisher->tls.location.dtv_entry_bytes, 8);
}

/* Of its symbols nothing stays in memory: the file, emptied meanwhile, has no more to give. */
LIVE(publisher_releases_cached_reads_of_its_file)
{
	struct bench *bench = *state;
	struct elf_symbol symbol;

	bench->slot[0] = 5;
	assert_int_equal(locate(bench), 0);
	assert_int_equal(ftruncate(bench->copy.fd, 0), 0);
	assert_false(elf_image_find_defined(object_file_image(bench->file), "fixture_variable",
					    &symbol));
}

/* r_debug, and one link_map that says the module; as find_entry() of link_map.c reads them. */
struct forged_loader {
	uint64_t debug[2];
	uint64_t map[8];
	struct link_map_layout layout;
};

static void forge_loader(const struct bench *bench, uint64_t module, struct forged_loader *loader)
{
	*loader = (struct forged_loader){
		.debug = { 1, (uintptr_t)loader->map },
		.map = { [0] = (uintptr_t)bench->copy.start, [6] = module },
		.layout = { .debug_address = (uintptr_t)loader->debug,
			    .module_at = 6 * sizeof(uint64_t),
			    .offset_at = 7 * sizeof(uint64_t) },
	};
}

LIVE(publisher_is_doubted_until_loader_list_confirms_it)
{
	struct bench *bench = *state;
	const struct publisher *publisher = bench->publishers.list[0];
	struct forged_loader loader;

	bench->slot[0] = 5;
	forge_loader(bench, 6, &loader);
	assert_int_equal(locate_by(bench, &loader.layout), 0);
	assert_null(publishers_live(&bench->publishers));
	forge_loader(bench, 5, &loader);
	assert_int_equal(locate_by(bench, &loader.layout), 0);
	assert_ptr_equal(publishers_live(&bench->publishers), publisher);
	assert_true(publisher->tls.is_confirmed);
}

LIVE(publisher_is_unconfirmed_without_loader_list)
{
	struct bench *bench = *state;

	bench->slot[0] = 5;
	assert_int_equal(locate(bench), 0);
	assert_false(bench->publishers.list[0]->tls.is_confirmed);
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

LIVE(publishers_note_object_once_up_to_limit)
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

LIVE(publishers_note_fails_without_memory)
{
	struct bench *bench = *state;
	struct memory_map_entry entry = *bench->copy.entry;
	struct loaded_object object = object_at(bench, &entry);

	entry.start++;
	memory_fails_after(0);
	assert_int_equal(publishers_note(&bench->publishers, &object), -ENOMEM);
	memory_never_fails();
	assert_int_equal(bench->publishers.count, 1);
	assert_int_equal(publishers_note(&bench->publishers, &object), 0);
	assert_int_equal(bench->publishers.count, 2);
}

LIVE(publishers_ignore_other_symbol_name)
{
	struct bench *bench = *state;
	struct publishers other = { .symbol = "fixture_variable_of_nobody" };
	struct loaded_object object = object_at(bench, bench->copy.entry);

	assert_int_equal(publishers_note(&other, &object), 0);
	assert_int_equal(other.count, 0);
}

LIVE(publisher_ends_with_mappings_of_its_file)
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
	/* To the very last one, and not beyond it. */
	for (map.count = 1; map.count <= 2; map.count++) {
		assert_int_equal(publishers_note(&publishers, &object), 0);
		assert_int_equal(publishers.list[0]->end, entries[map.count - 1].end);
		publishers_deinit(&publishers);
	}
}

#ifdef FIXTURE_REFERRING_GENERAL_DYNAMIC
TEST(publisher_sites_are_searched_once_per_file_if_wanted)
{
	struct mapped_copy copy;
	struct object_file *file;

	mapped_copy_make(FIXTURE_REFERRING_GENERAL_DYNAMIC, &copy);
	assert_int_equal(object_file_get(NULL, getpid(), copy.entry, &file), 0);
	for (int wanted = 0; wanted < 4; wanted++) {
		struct publishers publishers = { .symbol = "ruby_profiler_state",
						 .has_sites = wanted > 0 };
		struct loaded_object object = { .map = &copy.map,
						.entry = copy.entry,
						.file = file,
						.image = object_file_image(file) };

		/* Without room to keep them they are found all the same. */
		if (wanted == 1)
			memory_fails_once_after(1);
		/* By the last time the file is empty, and not looked into again. */
		if (wanted == 3) {
			elf_image_rest(object.image);
			assert_int_equal(ftruncate(copy.fd, 0), 0);
		}
		assert_int_equal(publishers_note(&publishers, &object), 0);
		assert_true(wanted != 1 || memory_failures() == 1);
		memory_never_fails();
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

/* Near enough to be read with the variable, and of the same object. */
TEST_WITH(publisher_finds_change_counter_near_its_variable, set_up_counting, tear_down)
{
	static const struct {
		uint64_t module, offset;
		int32_t words;
	} places[] = {
		{ 5, 0x18 + 8, 1 },  { 5, 0x18 + 16, 2 }, { 5, 0x18 - 8, -1 }, { 5, 0x18 - 16, -2 },
		{ 5, 0x18 + 24, 0 }, { 5, 0x18 + 4, 0 },  { 6, 0x18 + 8, 0 },
	};
	struct bench *bench = *state;
	uint64_t address, *slot;

	assert_int_equal(tls_symbol_find_slot(object_file_image(bench->file), "correlator_changes",
					      &address),
			 0);
	slot = (uint64_t *)(void *)(bench->copy.start + address);
	bench->slot[0] = 5;
	/* The loader has not come to it yet. */
	slot[0] = 0;
	assert_int_equal(locate(bench), 0);
	assert_null(publishers_live(&bench->publishers));
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		slot[0] = places[i].module;
		slot[1] = places[i].offset;
		assert_int_equal(locate(bench), 0);
		assert_int_equal(publishers_live(&bench->publishers)->changes_words,
				 places[i].words);
		bench->publishers.list[0]->is_located = false;
	}
}

/* A gem that hears of threads imports what it takes. */
LIVE(publishers_follow_threads_if_one_imports_thread_hook)
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

LIVE(publishers_ignore_symbol_that_is_not_thread_local)
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

TEST(publishers_prefer_live_one_by_code_address)
{
	struct publishers set = make_set(3);

	assert_ptr_equal(publishers_live(&set), set.list[0]);
	assert_false(publishers_prefer(&set, 0x1000));
	assert_false(publishers_prefer(&set, 0x1fff));
	assert_false(publishers_prefer(&set, 0x2800));
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
	assert_int_equal(set.count, 0);
	assert_null(publishers_live(&set));
	set = (struct publishers){ 0 };
	assert_null(publishers_live(&set));
}

TEST(publishers_drop_those_no_longer_mapped)
{
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

TEST(publishers_mark_second_setter_of_shared_variable_interposed)
{
	const struct memory_map nothing = { 0 };
	const struct link_map_layout layout = { 0 };
	struct memory_reader reader = memory_reader_of_process(getpid());
	struct publishers set = make_set(4);

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

LIVE(publishers_read_first_located_one)
{
	struct bench *bench = *state;
	const struct publisher *real = bench->publishers.list[0];

	(void)add_other(bench, false);
	assert_int_equal(locate(bench), 0);
	assert_true(real->is_located);
	assert_ptr_equal(publishers_live(&bench->publishers), real);
}

LIVE(publishers_keep_first_when_another_is_located_later)
{
	struct bench *bench = *state;
	const struct publisher *real = bench->publishers.list[0];
	const struct publisher *first = add_other(bench, true);

	assert_int_equal(locate(bench), 0);
	assert_true(real->is_located);
	assert_ptr_equal(publishers_live(&bench->publishers), first);
	assert_int_equal(publishers_count_variables(&bench->publishers), 2);
}

LIVE(publishers_tolerate_failed_one_beside_located_one)
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

/* Also one that the loader's list speaks against: its relocation leads to the other's. */
LIVE(publisher_interposed_is_inspected_only_once)
{
	struct bench *bench = *state;
	struct publisher *real = bench->publishers.list[0];
	struct publisher *first = add_other(bench, true);
	struct forged_loader loader;

	forge_loader(bench, 6, &loader);
	assert_int_equal(locate(bench), 0);
	first->tls.location = real->tls.location;
	real->is_located = false;
	real->doubts = PUBLISHER_DOUBTS_MAX;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(locate_by(bench, &loader.layout), 0);
		assert_true(real->is_interposed);
		assert_false(real->is_located || real->is_refused);
		bench->slot[0] = 4;
	}
	assert_int_equal(real->tls.location.module, 5);
}

/* As one of a dead server does not. */
LIVE(publisher_is_pending_while_its_file_times_out)
{
	struct bench *bench = *state;
	struct object_files *files = object_files_new();
	struct publishers publishers = { .symbol = "ruby_profiler_state", .has_sites = true };
	struct object_file *file, *again;
	struct loaded_object object = object_at(bench, bench->copy.entry);
	uint64_t inode;

	assert_non_null(files);
	assert_int_equal(object_file_get(files, getpid(), bench->copy.entry, &file), 0);
	assert_int_equal(object_file_get(files, NOBODY, bench->copy.entry, &again), 0);
	object.file = file;
	assert_int_equal(publishers_note(&publishers, &object), 0);
	assert_int_equal(publishers.count, 1);
	agent_set_identifier(wait_for_ever, bench->copy.fd);
	assert_int_equal(object_file_identify(file, true, &inode), -ETIMEDOUT);
	agent_set_identifier(NULL, -1);
	bench->slot[0] = 5;
	assert_int_equal(publishers_locate(&publishers, &bench->copy.map, &bench->reader,
					   &(struct link_map_layout){ 0 }),
			 -ETIMEDOUT);
	assert_false(publishers.list[0]->is_located || publishers.list[0]->is_refused);
	publishers_deinit(&publishers);
	assert_int_equal(publishers_note(&publishers, &object), -ETIMEDOUT);
	assert_int_equal(publishers.count, 0);
	/* Nobody holds it any more. */
	object_file_release(file);
	object_file_release(again);
	assert_int_equal(object_files_count(files), 0);
	object_files_free(files);
}

LIVE(publisher_is_there_while_image_starts_at_its_address)
{
	struct bench *bench = *state;
	struct publisher publisher = { .start = (uintptr_t)bench->copy.start };

	assert_true(publisher_is_there(&publisher, getpid()));
	publisher.start += 1;
	assert_false(publisher_is_there(&publisher, getpid()));
	publisher.start = 0x1000;
	assert_false(publisher_is_there(&publisher, getpid()));
}
