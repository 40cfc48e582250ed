/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A Ruby's symbol table in forged memory, in each of the layouts that Ruby has had. It holds the
 * operators, a static symbol :request_id, and a dynamic one with a long name.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/target/forged_memory.h"
#include "recorder/target/ruby/ruby_symbols.h"

enum {
	PAGE = 512,
	LAST_SERIAL = 600,
	/* A symbol that the program's source made, and one that was made at run time. */
	STATIC_SERIAL = 300,
	DYNAMIC_SERIAL = 550,
	T_STRING = 5,
	T_ARRAY = 7,
	T_DATA = 0xc,
	T_SYMBOL = 0x14,
	FLAG_13 = 1 << 13,
};

#define STATIC_ID  (((uint64_t)STATIC_SERIAL << 4) | 1)
#define DYNAMIC_ID ((uint64_t)DYNAMIC_SERIAL << 4)

/* How a version of Ruby keeps its table (see ruby_id_table.h). */
struct layout {
	const char *name;
	enum string_layout strings;
	bool is_page_data;
	bool is_directory_data;
	bool is_outer_embedded;
	bool is_data_embedded;
};

static const struct layout layouts[] = {
	{ "2.7", STRING_LAYOUT_FLAGS, .is_outer_embedded = true },
	{ "3.1, large", STRING_LAYOUT_FLAGS, .is_outer_embedded = false },
	{ "3.3", STRING_LAYOUT_LONG, .is_outer_embedded = true },
	{ "4.1 of January", STRING_LAYOUT_LONG, .is_page_data = true },
	{ "4.1", STRING_LAYOUT_LONG, .is_page_data = true, .is_directory_data = true },
	{ "4.1, embedded", STRING_LAYOUT_LONG, .is_page_data = true, .is_directory_data = true,
	  .is_data_embedded = true },
};

enum {
	LAYOUT_COUNT = sizeof(layouts) / sizeof(*layouts)
};

struct forged_ruby {
	struct forged_memory memory;
	const struct layout *layout;
	uint64_t table;
	uint64_t pages[2]; /* addresses of their entries */
	struct ruby_data_range range;
	struct memory_reader reader;
};

static inline uint64_t forge_string(struct forged_ruby *ruby, const char *text)
{
	size_t length = strlen(text);
	bool is_long = ruby->layout->strings == STRING_LAYOUT_LONG;
	uint64_t words[8] = { T_STRING };

	if (length > (is_long ? 40 : 23)) {
		words[0] |= FLAG_13;
		words[2] = length;
		words[3] = forged_take(&ruby->memory, length);
		forged_write(&ruby->memory, words[3], text, length);
	} else if (is_long) {
		words[2] = length;
		memcpy(&words[3], text, length);
	} else {
		words[0] |= length << 14;
		memcpy(&words[2], text, length);
	}
	return forged_words(&ruby->memory, words, 8);
}

static inline uint64_t forge_data(struct forged_ruby *ruby, const uint64_t *words, size_t count)
{
	uint64_t object[] = { T_DATA, 0, 0, FORGED_BASE | ruby->layout->is_data_embedded, 0 };
	uint64_t address;

	if (!ruby->layout->is_data_embedded) {
		object[4] = forged_words(&ruby->memory, words, count);
		return forged_words(&ruby->memory, object, 5);
	}
	address = forged_take(&ruby->memory, 32 + count * sizeof(*words));
	forged_write(&ruby->memory, address, object, 32);
	forged_write(&ruby->memory, address + 32, words, count * sizeof(*words));
	return address;
}

/* Returns the VALUE of a page of empty entries; *ret_entries is where they are. */
static inline uint64_t forge_page(struct forged_ruby *ruby, uint64_t *ret_entries)
{
	uint64_t words[2 + 2 * PAGE] = { PAGE, PAGE };
	uint64_t object[] = { T_ARRAY, 0, 2 * PAGE, 2 * PAGE, 0 };
	uint64_t page;

	if (ruby->layout->is_page_data) {
		page = forge_data(ruby, words, 2 + 2 * PAGE);
		*ret_entries = ruby->layout->is_data_embedded ? page + 32 + 16
							      : page - 16 * (PAGE + 1) + 16;
		return page;
	}
	object[4] = *ret_entries = forged_words(&ruby->memory, words + 2, 2 * PAGE);
	return forged_words(&ruby->memory, object, 5);
}

static inline void forge_entry(struct forged_ruby *ruby, uint64_t serial, uint64_t name,
			       uint64_t symbol)
{
	uint64_t entry = ruby->pages[serial / PAGE] + serial % PAGE * 16;
	bool is_swapped = ruby->layout->is_page_data;

	forged_write_u64(&ruby->memory, entry + (is_swapped ? 8 : 0), name);
	forged_write_u64(&ruby->memory, entry + (is_swapped ? 0 : 8), symbol);
}

static inline void forge_table(struct forged_ruby *ruby)
{
	uint64_t values[] = { 0, 0 };
	uint64_t embedded[] = { T_ARRAY | FLAG_13 | 2 << 15, 0, 0, 0, 0 };
	uint64_t object[] = { T_ARRAY, 0, 2, 2, 0 };
	uint64_t directory[] = { 2, 0 };
	uint64_t ids;

	for (size_t i = 0; i < 2; i++)
		values[i] = forge_page(ruby, &ruby->pages[i]);
	memcpy(&embedded[2], values, sizeof(values));
	object[4] = directory[1] = forged_words(&ruby->memory, values, 2);
	if (ruby->layout->is_directory_data)
		ids = forge_data(ruby, directory, 2);
	else
		ids = forged_words(&ruby->memory,
				   ruby->layout->is_outer_embedded ? embedded : object, 5);
	forged_write_u64(&ruby->memory, ruby->table, LAST_SERIAL);
	forged_write_u64(&ruby->memory, ruby->table + 8, FORGED_BASE);
	forged_write_u64(&ruby->memory, ruby->table + 16, ids);
}

static inline struct forged_ruby *forge_ruby(const struct layout *layout)
{
	static const char long_name[] = "a_name_that_no_string_object_has_room_for";
	struct forged_ruby *ruby = calloc(1, sizeof(*ruby));
	uint64_t symbol[] = { T_SYMBOL, 0, 0, 0, DYNAMIC_ID };

	assert_non_null(ruby);
	ruby->layout = layout;
	ruby->reader = forged_reader(&ruby->memory);
	ruby->range.address = forged_take(&ruby->memory, 8192);
	ruby->range.size_bytes = 8192;
	/* Across the border of two pages. */
	ruby->table = ruby->range.address + 4096 - 8;
	forge_table(ruby);
	for (char c = '!'; c < 'A'; c++)
		forge_entry(ruby, (uint8_t)c, forge_string(ruby, (char[]){ c, 0 }),
			    (uint64_t)c << 8 | 0x0c);
	forge_entry(ruby, '`', forge_string(ruby, "`"), '`' << 8 | 0x0c);
	forge_entry(ruby, STATIC_SERIAL, forge_string(ruby, "request_id"), STATIC_ID << 8 | 0x0c);
	symbol[3] = forge_string(ruby, long_name);
	forge_entry(ruby, DYNAMIC_SERIAL, symbol[3], forged_words(&ruby->memory, symbol, 5));
	return ruby;
}
