/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What makes a process Ruby: the image is this test's own, which defines what a Ruby's does; its
 * mappings and its memory are forged.
 */
#include "recorder/target/ruby/ruby_target.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit_test.h"

#include "command/stand_in.h"
#include "recorder/target/forged_ruby.h"

UNIT_TEST_ALONE;

enum {
	OTHER_INODE = 99,
	MAPPINGS_MAX = 24,
};

struct bench {
	struct object_walk walk;
	struct loaded_object object; /* ours, in forged mappings */
	struct memory_map map;
	struct memory_map_entry entries[MAPPINGS_MAX];
	struct forged_ruby *ruby;
	uint64_t version_address;
	struct ruby_target target;
};

/* Our own image among those of this process. */
static void find_own_image(struct bench *bench)
{
	struct elf_symbol version;

	bench->walk.pid = getpid();
	assert_int_equal(object_walk_begin(&bench->walk, NULL), 0);
	do {
		assert_int_equal(object_walk_next(&bench->walk), 1);
	} while (!elf_image_find_defined(bench->walk.object.image, "ruby_version", &version));
	bench->object = bench->walk.object;
	bench->version_address = version.value;
}

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	assert_non_null(bench);
	find_own_image(bench);
	bench->ruby = forge_ruby(&layouts[2]);
	bench->map.entries = bench->entries;
	bench->object.map = &bench->map;
	bench->object.entry = &bench->entries[0];
	/* So that the version is in the forged block, too. */
	bench->object.bias = forged_take(&bench->ruby->memory, 64) - bench->version_address;
	forged_write(&bench->ruby->memory, bench->object.bias + bench->version_address, "3.4.5\0x",
		     8);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	ruby_target_deinit(&bench->target);
	object_walk_deinit(&bench->walk);
	free(bench->ruby);
	free(bench);
	return 0;
}

static struct memory_map_entry *add_mapping(struct bench *bench, uint64_t start, uint64_t end,
					    uint64_t inode)
{
	struct memory_map_entry *entry = &bench->entries[bench->map.count++];

	assert_true(bench->map.count <= MAPPINGS_MAX);
	*entry = (struct memory_map_entry){
		.start = start,
		.end = end,
		.inode = inode,
		.is_readable = true,
		.is_writable = true,
		.path = inode ? "/usr/bin/ruby" : "",
	};
	return entry;
}

static int note(struct bench *bench)
{
	return ruby_target_note(&bench->target, &bench->object, &bench->ruby->reader);
}

/* Its code, and some data up to the forged block, where the table is in the first 8 KiB. */
static void map_usual(struct bench *bench)
{
	add_mapping(bench, FORGED_BASE - 8192, FORGED_BASE - 4096, 1)->is_writable = false;
	add_mapping(bench, FORGED_BASE - 4096, FORGED_BASE, 1);
}

#define FORGED(test) TEST_WITH(test, set_up, tear_down)

FORGED(ruby_target_finds_table_in_data_of_its_object)
{
	struct bench *bench = *state;

	map_usual(bench);
	add_mapping(bench, FORGED_BASE, FORGED_BASE + 8192, 1);
	assert_int_equal(note(bench), 0);
	assert_true(bench->target.is_ruby);
	assert_string_equal(bench->target.version, "3.4.5");
	assert_string_equal(bench->target.path, "/usr/bin/ruby");
	assert_non_null(bench->target.symbols);
	assert_int_equal(ruby_symbols_table_address(bench->target.symbols), bench->ruby->table);
	/* Once it is found, it is not looked for again. */
	bench->map.count = 1;
	assert_int_equal(note(bench), 0);
}

FORGED(ruby_target_finds_table_in_adjacent_anonymous_memory)
{
	struct bench *bench = *state;

	map_usual(bench);
	add_mapping(bench, FORGED_BASE, FORGED_BASE + 8192, 0);
	assert_int_equal(note(bench), 0);
	assert_non_null(bench->target.symbols);
}

/* Each: the table would be there, and none of it is the object's data. */
FORGED(ruby_target_does_not_find_table_elsewhere)
{
	struct bench *bench = *state;
	struct memory_map_entry *entry;

	map_usual(bench);
	/* Nothing at all. */
	assert_int_equal(note(bench), 1);
	/* Another object's, and the anonymous memory behind that. */
	add_mapping(bench, FORGED_BASE, FORGED_BASE + 4096, OTHER_INODE);
	add_mapping(bench, FORGED_BASE + 4096, FORGED_BASE + 8192, 0);
	assert_int_equal(note(bench), 1);
	/* Anonymous memory behind a gap. */
	bench->map.count = 2;
	bench->entries[1].end -= 1024;
	entry = add_mapping(bench, FORGED_BASE, FORGED_BASE + 8192, 0);
	assert_int_equal(note(bench), 1);
	/* What has a name, as the stack. */
	bench->entries[1].end += 1024;
	entry->path = "[stack]";
	assert_int_equal(note(bench), 1);
	/* What cannot be read, or not be written to. */
	*entry = (struct memory_map_entry){ FORGED_BASE, FORGED_BASE + 8192, .inode = 1,
					    .is_readable = true, .path = "/usr/bin/ruby" };
	assert_int_equal(note(bench), 1);
	entry->is_readable = false;
	entry->is_writable = true;
	assert_int_equal(note(bench), 1);
	assert_null(bench->target.symbols);
	assert_true(bench->target.is_ruby);
	entry->is_readable = true;
	assert_int_equal(note(bench), 0);
	assert_non_null(bench->target.symbols);
}

/* Of 16 pieces the last one has it; of 17 it is not looked for there. */
FORGED(ruby_target_searches_at_most_16_mappings)
{
	struct bench *bench = *state;

	for (uint64_t i = 0; i < 16; i++)
		add_mapping(bench, FORGED_BASE - (16 - i) * 4096, FORGED_BASE - (15 - i) * 4096, 1);
	add_mapping(bench, FORGED_BASE, FORGED_BASE + 8192, 1);
	assert_int_equal(note(bench), 1);
	bench->entries[3].is_writable = false;
	assert_int_equal(note(bench), 0);
}

FORGED(ruby_target_tries_place_known_from_other_process_first)
{
	struct bench *bench = *state;
	struct ruby_target next = { 0 };

	add_mapping(bench, FORGED_BASE, FORGED_BASE + 8192, 1);
	assert_int_equal(note(bench), 0);
	bench->map.count = 1;
	bench->entries[0].is_writable = false;
	assert_int_equal(ruby_target_note(&next, &bench->object, &bench->ruby->reader), 0);
	assert_non_null(next.symbols);
	ruby_target_deinit(&next);
	assert_null(next.symbols);
	assert_null(next.file);
	/* It is put to the test all the same. */
	bench->object.bias += 8;
	assert_int_equal(ruby_target_note(&next, &bench->object, &bench->ruby->reader), 1);
	ruby_target_deinit(&next);
}

FORGED(ruby_target_is_not_ruby_without_bias_or_symbols)
{
	struct bench *bench = *state;

	add_mapping(bench, FORGED_BASE, FORGED_BASE + 8192, 1);
	bench->object.has_bias = false;
	assert_int_equal(note(bench), 0);
	assert_false(bench->target.is_ruby);
	bench->object.has_bias = true;
	assert_int_equal(object_walk_next(&bench->walk), 1);
	bench->object.image = bench->walk.object.image;
	assert_int_equal(note(bench), 0);
	assert_false(bench->target.is_ruby);
}

FORGED(ruby_target_returns_enomem_if_notes_are_full)
{
	static const char others[] = "abcdefghijklmnop";
	struct bench *bench = *state;
	size_t i = 0;

	add_mapping(bench, FORGED_BASE, FORGED_BASE + 8192, 1);
	/* Each tail is another one. */
	while (object_file_note(bench->object.file, &others[i], 8))
		i++;
	assert_in_range(i, 1, sizeof(others) - 2);
	assert_int_equal(note(bench), -ENOMEM);
	assert_null(bench->target.symbols);
}

FORGED(ruby_target_rejects_two_tables)
{
	struct bench *bench = *state;

	add_mapping(bench, FORGED_BASE, FORGED_BASE + 8192, 1);
	/* Two tables: it is open which is Ruby's. */
	memcpy(bench->ruby->memory.bytes + 64, bench->ruby->memory.bytes + 4096 - 8, 24);
	assert_int_equal(note(bench), -ENOTUNIQ);
}

FORGED(ruby_target_keeps_version_once_read)
{
	struct bench *bench = *state;

	map_usual(bench);
	assert_int_equal(note(bench), 1);
	/* Where nothing can be read. */
	bench->object.bias = 0;
	assert_int_equal(note(bench), 1);
	assert_string_equal(bench->target.version, "3.4.5");
}

FORGED(ruby_target_version_ends_at_first_invalid_character)
{
	static const struct {
		char text[17], version[16];
	} cases[] = {
		{ "4.1.0dev\0", "4.1.0dev" },
		{ "3.5.0-preview1 x", "3.5.0-preview1" },
		{ "2.7.8-rc2;", "2.7.8-rc2" },
		{ "12345678901234567", "123456789012345" },
		{ "x3.4", "" },
	};
	struct bench *bench = *state;

	add_mapping(bench, FORGED_BASE - 4096, FORGED_BASE, 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		forged_write(&bench->ruby->memory, bench->object.bias + bench->version_address,
			     cases[i].text, 16);
		assert_int_equal(note(bench), 1);
		assert_string_equal(bench->target.version, cases[i].version);
	}
	/* One that cannot be read is what was read before. */
	bench->object.bias = 0;
	(void)note(bench);
	assert_string_equal(bench->target.version, "");
}

static const char *const names[] = { "request_id", NULL, "not_there", "+" };

FORGED(ruby_target_finds_keys_by_name_and_counts_missing_ones)
{
	struct bench *bench = *state;
	struct ruby_target *target = &bench->target;
	struct process_config config = { 0 };

	add_mapping(bench, FORGED_BASE, FORGED_BASE + 8192, 1);
	assert_int_equal(note(bench), 0);
	target->keys_missing = 3;
	assert_int_equal(ruby_target_find_keys(target, names, 4, &bench->ruby->reader), 0);
	assert_int_equal(target->keys_missing, 1);
	assert_int_equal(target->key_ids[0], STATIC_ID);
	assert_int_equal(target->key_ids[1], 0);
	assert_int_equal(target->key_ids[2], 0);
	assert_int_equal(target->key_ids[3], '+');
	assert_int_equal(target->symbol_count, LAST_SERIAL);
	/* Until it is there, the programs are told what would have changed then. */
	ruby_target_config(target, &config);
	assert_int_equal(config.key_ids[0], STATIC_ID);
	assert_int_equal(config.key_ids[3], '+');
	assert_int_equal(config.string_layout, STRING_LAYOUT_LONG);
	assert_int_equal(config.symbol_count_address, bench->ruby->table);
	assert_int_equal(config.symbol_count, LAST_SERIAL);
	forge_entry(bench->ruby, 400, forge_string(bench->ruby, "not_there"),
		    (400 << 4 | 1) << 8 | 0x0c);
	/* It is behind those that were looked through, or looks like it. */
	forged_write_u64(&bench->ruby->memory, bench->ruby->table, LAST_SERIAL);
	target->keys_missing = 1;
	target->key_ids[2] = 400 << 4 | 1;
	assert_int_equal(ruby_target_find_keys(target, names, 4, &bench->ruby->reader), 0);
	assert_int_equal(target->keys_missing, 0);
	config = (struct process_config){ 0 };
	ruby_target_config(target, &config);
	assert_int_equal(config.symbol_count_address, 0);
	/* All are there: it is not asked any more. */
	target->key_ids[2] = 0;
	assert_int_equal(ruby_target_find_keys(target, names, 4, &bench->ruby->reader), 0);
	assert_int_equal(target->key_ids[2], 0);
}

FORGED(ruby_target_unreadable_symbol_count_is_zero)
{
	struct bench *bench = *state;

	add_mapping(bench, FORGED_BASE, FORGED_BASE + 8192, 1);
	assert_int_equal(note(bench), 0);
	bench->target.keys_missing = 3;
	assert_int_equal(ruby_target_find_keys(&bench->target, names, 4, &bench->ruby->reader), 0);
	assert_int_equal(bench->target.symbol_count, LAST_SERIAL);
	/* So that whatever it is then asks for another look. */
	bench->ruby->memory.hole = FORGED_BASE;
	assert_int_equal(ruby_target_find_keys(&bench->target, names, 4, &bench->ruby->reader), 0);
	assert_int_equal(bench->target.symbol_count, 0);
	assert_int_equal(bench->target.keys_missing, 1);
	assert_int_equal(bench->target.key_ids[0], STATIC_ID);
}

FORGED(ruby_target_checks_ids_of_other_process_by_name)
{
	struct bench *bench = *state;
	struct ruby_target next = { .keys_missing = 2 };
	static const char *const others[] = { "+", NULL, NULL, "request_id" };

	add_mapping(bench, FORGED_BASE, FORGED_BASE + 8192, 1);
	assert_int_equal(note(bench), 0);
	bench->target.keys_missing = 3;
	assert_int_equal(ruby_target_find_keys(&bench->target, names, 4, &bench->ruby->reader), 0);
	/* Where they cannot be searched for any more, what is known is there. */
	assert_int_equal(ruby_target_note(&next, &bench->object, &bench->ruby->reader), 0);
	assert_int_equal(next.keys_missing, 2);
	forge_entry(bench->ruby, 5, FORGED_BASE - 4096, 0x50c);
	next.keys_missing = 3;
	assert_int_equal(ruby_target_find_keys(&next, names, 4, &bench->ruby->reader), 0);
	assert_int_equal(next.key_ids[0], STATIC_ID);
	assert_int_equal(next.key_ids[3], '+');
	ruby_target_deinit(&next);
	/* And where it is another, it is looked for. */
	forge_entry(bench->ruby, 5, 0, 0);
	next = (struct ruby_target){ .keys_missing = 2 };
	assert_int_equal(ruby_target_note(&next, &bench->object, &bench->ruby->reader), 0);
	next.keys_missing = 2;
	assert_int_equal(ruby_target_find_keys(&next, others, 4, &bench->ruby->reader), 0);
	assert_int_equal(next.key_ids[0], '+');
	assert_int_equal(next.key_ids[3], STATIC_ID);
	ruby_target_deinit(&next);
}

TEST(ruby_target_config_has_bignum_mask_of_version)
{
	static const struct {
		const char *version;
		uint32_t mask;
	} cases[] = { { "", 7 },
		      { "3.4.9", 7 },
		      { "4.0.0", 0x1ff },
		      { "4.1.0dev", 0x1ff },
		      { "10.0", 0x1ff } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ruby_target target = { .is_ruby = true, .keys_missing = 1 };
		struct process_config config = { .symbol_count_address = 77, .string_layout = 5 };

		(void)snprintf(target.version, sizeof(target.version), "%s", cases[i].version);
		ruby_target_config(&target, &config);
		assert_int_equal(config.bignum_embed_mask, cases[i].mask);
		/* Without symbols the rest is not said. */
		assert_int_equal(config.symbol_count_address, 77);
		assert_int_equal(config.string_layout, 5);
	}
}

int main(int argc, char **argv)
{
	if (argc > 1)
		return stand_in_main(argc, argv);
	return unit_test_run(NULL);
}
