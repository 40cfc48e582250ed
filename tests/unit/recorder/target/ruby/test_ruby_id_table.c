/* SPDX-License-Identifier: GPL-2.0-only */
/* What a hostile or a half-made table says of its own size, and where one is looked for. */
#include "recorder/target/ruby/ruby_id_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "unit_test.h"

#include "recorder/target/forged_ruby.h"

/* A Ruby's memory, and the longest read of it. */
struct watched_memory {
	struct memory_reader reader;
	struct forged_ruby *ruby;
	size_t longest_bytes;
};

static int watched_read(const struct memory_reader *reader, uint64_t address, void *buffer,
			size_t size_bytes)
{
	struct watched_memory *memory = (struct watched_memory *)reader->context;

	if (size_bytes > memory->longest_bytes)
		memory->longest_bytes = size_bytes;
	return forged_read(&memory->ruby->reader, address, buffer, size_bytes);
}

static struct ruby_id_table watch(struct watched_memory *memory)
{
	struct ruby_id_table table;

	memory->reader = (struct memory_reader){ .read = watched_read, .context = memory };
	assert_int_equal(ruby_id_table_probe(&memory->reader, memory->ruby->table, &table), 0);
	memory->longest_bytes = 0;
	return table;
}

/* How many entries the table says that a page has. */
static void say_count(struct forged_ruby *ruby, size_t page, uint64_t count)
{
	uint64_t entries = ruby->pages[page];

	if (ruby->layout->is_page_data)
		forged_write_u64(&ruby->memory, entries - 16, count);
	else
		forged_write_u64(&ruby->memory, entries + PAGE * 16 + 16, 2 * count);
}

TEST(id_table_limits_claimed_page_size)
{
	static const uint64_t claims[] = {
		PAGE - 1, PAGE, PAGE + 1, PAGE + 2, 1 << 16, 1ull << 38
	};

	for (size_t i = 0; i < LAYOUT_COUNT * sizeof(claims) / sizeof(*claims); i++) {
		struct watched_memory memory = { .ruby = forge_ruby(&layouts[i % LAYOUT_COUNT]) };
		uint64_t claim = claims[i / LAYOUT_COUNT];
		struct ruby_id_entry entries[RUBY_ID_PAGE_ENTRIES];
		struct ruby_id_table table = watch(&memory);

		forge_entry(memory.ruby, PAGE - 1, 16, 32);
		say_count(memory.ruby, 0, claim);
		assert_int_equal(ruby_id_table_read_page(&table, 0, entries), 0);
		assert_int_equal(memory.longest_bytes, (claim < PAGE ? claim : PAGE) * 16);
		assert_int_equal(entries[STATIC_SERIAL].symbol, STATIC_ID << 8 | 0x0c);
		assert_int_equal(entries[PAGE - 1].name, claim < PAGE ? 0 : 16);
		assert_int_equal(entries[PAGE - 1].symbol, claim < PAGE ? 0 : 32);
		free(memory.ruby);
	}
}

TEST(id_table_entry_beyond_page_count_is_empty)
{
	for (size_t i = 0; i < LAYOUT_COUNT; i++) {
		struct forged_ruby *ruby = forge_ruby(&layouts[i]);
		struct ruby_id_table table = { .reader = &ruby->reader, .address = ruby->table };
		struct ruby_id_entry entry = { 0 };

		say_count(ruby, 0, STATIC_SERIAL + 1);
		assert_int_equal(ruby_id_table_read_entry(&table, STATIC_SERIAL, &entry), 0);
		assert_false(ruby_id_entry_is_empty(&entry));
		assert_true(ruby_id_table_is_unchanged(&table, STATIC_SERIAL, &entry));
		say_count(ruby, 0, STATIC_SERIAL);
		assert_false(ruby_id_table_is_unchanged(&table, STATIC_SERIAL, &entry));
		assert_int_equal(ruby_id_table_read_entry(&table, STATIC_SERIAL, &entry), 0);
		assert_int_equal(entry.name, 0);
		assert_int_equal(entry.symbol, 0);
		say_count(ruby, 0, 0);
		assert_int_equal(ruby_id_table_read_entry(&table, 0, &entry), 0);
		assert_int_equal(entry.name, 0);
		free(ruby);
	}
}

TEST(id_table_page_after_last_is_empty)
{
	for (size_t i = 0; i < LAYOUT_COUNT; i++) {
		struct forged_ruby *ruby = forge_ruby(&layouts[i]);
		struct ruby_id_table table = { .reader = &ruby->reader, .address = ruby->table };
		struct ruby_id_entry entry;

		assert_int_equal(ruby_id_table_read_entry(&table, DYNAMIC_SERIAL, &entry), 0);
		assert_false(ruby_id_entry_is_empty(&entry));
		/* What is there would lead nowhere. */
		for (uint64_t serial = 2 * PAGE; serial < 6 * PAGE; serial += PAGE) {
			assert_int_equal(ruby_id_table_read_entry(&table, serial, &entry), 0);
			assert_int_equal(entry.name, 0);
		}
		free(ruby);
	}
}

/* Of an outer array that is not in its object: where the address of page 1 is. */
static uint64_t page_one_slot(const struct forged_ruby *ruby)
{
	uint64_t ids, values;

	memcpy(&ids, ruby->memory.bytes + (ruby->table + 16 - FORGED_BASE), sizeof(ids));
	memcpy(&values, ruby->memory.bytes + (ids + 32 - FORGED_BASE), sizeof(values));
	return values + 8;
}

TEST(id_table_unmade_page_is_empty_and_invalid_one_refused)
{
	static const struct {
		uint64_t value;
		int result;
	} cases[] = {
		{ 0, 0 },	{ 4, 0 }, { 8, 0 }, { 12, -EAGAIN }, { FORGED_BASE + 4, -EAGAIN },
		{ 16, -EAGAIN }
	};
	struct forged_ruby *ruby = forge_ruby(&layouts[1]);
	struct ruby_id_table table = { .reader = &ruby->reader, .address = ruby->table };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ruby_id_entry entry = { .name = 77 };

		forged_write_u64(&ruby->memory, page_one_slot(ruby), cases[i].value);
		assert_int_equal(ruby_id_table_read_entry(&table, DYNAMIC_SERIAL, &entry),
				 cases[i].result);
		assert_int_equal(entry.name, cases[i].result ? 77 : 0);
	}
	/* An object, and neither an array nor data. */
	forged_write_u64(&ruby->memory, page_one_slot(ruby), forge_string(ruby, "page"));
	assert_int_equal(
		ruby_id_table_read_entry(&table, DYNAMIC_SERIAL, &(struct ruby_id_entry){ 0 }),
		-EAGAIN);
	free(ruby);
}

TEST(id_table_returns_eagain_if_directory_is_gone)
{
	for (size_t i = 0; i < LAYOUT_COUNT; i++) {
		struct forged_ruby *ruby = forge_ruby(&layouts[i]);
		struct ruby_id_table table = { .reader = &ruby->reader, .address = ruby->table };
		struct ruby_id_entry entry = { .name = 77 };
		uint64_t ids;

		if (!layouts[i].is_directory_data || layouts[i].is_data_embedded) {
			free(ruby);
			continue;
		}
		memcpy(&ids, ruby->memory.bytes + (ruby->table + 16 - FORGED_BASE), sizeof(ids));
		/* Where its data is, there is nothing any more. */
		forged_write_u64(&ruby->memory, ids + 32, FORGED_BASE / 2);
		assert_int_equal(ruby_id_table_read_entry(&table, DYNAMIC_SERIAL, &entry), -EAGAIN);
		assert_int_equal(entry.name, 77);
		free(ruby);
	}
}

TEST(id_table_rejects_counter_outside_limits)
{
	static const struct {
		uint64_t counter;
		int result;
	} cases[] = {
		{ 0, -EAGAIN },
		{ RUBY_ID_SERIAL_MIN - 1, -EAGAIN },
		{ RUBY_ID_SERIAL_MIN, 0 },
		{ RUBY_ID_SERIAL_MAX, 0 },
		{ RUBY_ID_SERIAL_MAX + 1, -EAGAIN },
		{ UINT64_MAX, -EAGAIN },
	};
	struct forged_ruby *ruby = forge_ruby(&layouts[1]);
	struct ruby_id_table table = { .reader = &ruby->reader, .address = ruby->table };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		uint64_t last = 0;
		struct ruby_id_table found;

		forged_write_u64(&ruby->memory, ruby->table, cases[i].counter);
		assert_int_equal(ruby_id_table_read_last_serial(&table, &last), cases[i].result);
		assert_int_equal(last, cases[i].result ? 0 : cases[i].counter);
		assert_int_equal(ruby_id_table_probe(&ruby->reader, ruby->table, &found),
				 cases[i].result ? -ENOENT : 0);
	}
	free(ruby);
}

TEST(id_table_requires_one_character_operator_names)
{
	static const char *const others[] = { "!x", "?", "" };

	for (size_t i = 0; i < LAYOUT_COUNT; i++)
		for (size_t j = 0; j < 3; j++) {
			struct forged_ruby *ruby = forge_ruby(&layouts[i]);
			struct ruby_id_table found;

			forge_entry(ruby, '!', forge_string(ruby, others[j]), '!' << 8 | 0x0c);
			assert_int_equal(ruby_id_table_probe(&ruby->reader, ruby->table, &found),
					 -ENOENT);
			free(ruby);
		}
}

TEST(id_table_static_symbol_needs_symbol_flag)
{
	struct forged_ruby *ruby = forge_ruby(&layouts[1]);
	struct ruby_id_table table = { .reader = &ruby->reader, .address = ruby->table };
	struct ruby_id_entry entry = { .symbol = STATIC_ID << 8 | 0x0c };
	uint64_t id = 0;

	assert_int_equal(ruby_id_table_read_id(&table, &entry, STATIC_SERIAL, &id), 0);
	assert_int_equal(id, STATIC_ID);
	assert_int_equal(ruby_id_table_read_id(&table, &entry, STATIC_SERIAL + 1, &id), -EAGAIN);
	entry.symbol = STATIC_ID << 8 | 0x14;
	assert_int_equal(ruby_id_table_read_id(&table, &entry, STATIC_SERIAL, &id), -EAGAIN);
	/* A symbol that has no ID yet. */
	entry.symbol = 0x0c;
	assert_int_equal(ruby_id_table_read_id(&table, &entry, 0, &id), -EAGAIN);
	assert_int_equal(id, STATIC_ID);
	free(ruby);
}

TEST(id_serial_of_operator_is_its_id_and_others_drop_scope_bits)
{
	assert_int_equal(ruby_id_serial(0), 0);
	assert_int_equal(ruby_id_serial('+'), '+');
	assert_int_equal(ruby_id_serial(1023), 1023);
	assert_int_equal(ruby_id_serial(1024), 64);
	assert_int_equal(ruby_id_serial(STATIC_ID), STATIC_SERIAL);
}

/*
 * Much memory, all of it zero but for the forged block and, at table_address, the words of its
 * table; with a page that is not there.
 */
struct wide_memory {
	struct memory_reader reader;
	struct forged_ruby *ruby;
	uint64_t table_address;
	uint64_t hole; /* 0 = none */
};

#define WIDE_BASE UINT64_C(0x550000000000)

static int wide_read(const struct memory_reader *reader, uint64_t address, void *buffer,
		     size_t size_bytes)
{
	const struct wide_memory *memory = reader->context;
	const uint8_t *table = memory->ruby->memory.bytes + (memory->ruby->table - FORGED_BASE);
	enum {
		TABLE_BYTES = RUBY_ID_TABLE_WORDS * 8
	};

	if (address >= FORGED_BASE)
		return forged_read(&memory->ruby->reader, address, buffer, size_bytes);
	if (address < WIDE_BASE)
		return -EFAULT;
	if (memory->hole && address < memory->hole + 4096 && address + size_bytes > memory->hole)
		return -EFAULT;
	memset(buffer, 0, size_bytes);
	for (size_t i = 0; i < TABLE_BYTES; i++)
		if (memory->table_address + i >= address &&
		    memory->table_address + i < address + size_bytes)
			((uint8_t *)buffer)[memory->table_address + i - address] = table[i];
	return 0;
}

static int scan_wide(struct wide_memory *memory, uint64_t size_bytes)
{
	const struct ruby_data_range range = { WIDE_BASE, size_bytes };
	struct ruby_id_table table = { 0 };
	int r;

	memory->reader = (struct memory_reader){ .read = wide_read, .context = memory };
	r = ruby_id_table_scan(&memory->reader, &range, 1, &table);
	if (r == 0)
		assert_int_equal(table.address, memory->table_address);
	return r;
}

TEST(id_table_scan_finds_table_across_chunk_border)
{
	enum {
		CHUNK = 1 << 20
	};
	struct wide_memory memory = { .ruby = forge_ruby(&layouts[1]) };

	for (uint64_t at = 0; at <= 48; at += 8) {
		memory.table_address = WIDE_BASE + CHUNK - 40 + at;
		assert_int_equal(scan_wide(&memory, 2 * CHUNK), 0);
		/* To its last byte, and not one byte less. */
		assert_int_equal(scan_wide(&memory, CHUNK - 40 + at + 24), 0);
		assert_int_equal(scan_wide(&memory, CHUNK - 40 + at + 23), -ENOENT);
	}
	free(memory.ruby);
}

TEST(id_table_scan_inspects_each_page_around_hole)
{
	enum {
		PAGES = 600
	};
	struct wide_memory memory = { .ruby = forge_ruby(&layouts[1]) };

	memory.hole = WIDE_BASE + 4096 * 300;
	for (uint64_t at = 0; at <= 64; at += 8) {
		/* Up to the hole's start, and from its end on. */
		memory.table_address = memory.hole - 64 + at;
		assert_int_equal(scan_wide(&memory, 4096ull * PAGES),
				 memory.table_address + 24 <= memory.hole ? 0 : -ENOENT);
		memory.table_address = memory.hole + 4096 - 24 + at;
		assert_int_equal(scan_wide(&memory, 4096ull * PAGES), at >= 24 ? 0 : -ENOENT);
		/* Across the border of two pages on either side. */
		memory.table_address = WIDE_BASE + 4096 - 40 + at;
		assert_int_equal(scan_wide(&memory, 4096ull * PAGES), 0);
		memory.table_address = memory.hole + 2 * 4096 - 40 + at;
		assert_int_equal(scan_wide(&memory, 4096ull * PAGES), 0);
	}
	free(memory.ruby);
}

TEST(id_table_scan_limits_total_bytes)
{
	struct wide_memory memory = { .ruby = forge_ruby(&layouts[1]) };
	const struct ruby_data_range halves[] = {
		{ WIDE_BASE, RUBY_ID_TABLE_BYTES_MAX / 2 },
		{ WIDE_BASE + RUBY_ID_TABLE_BYTES_MAX, RUBY_ID_TABLE_BYTES_MAX },
	};
	struct ruby_id_table table;

	memory.table_address = WIDE_BASE + RUBY_ID_TABLE_BYTES_MAX - 24;
	assert_int_equal(scan_wide(&memory, UINT64_C(1) << 40), 0);
	memory.table_address += 8;
	assert_int_equal(scan_wide(&memory, UINT64_C(1) << 40), -ENOENT);
	memory.table_address = halves[1].address + RUBY_ID_TABLE_BYTES_MAX / 2 - 24;
	assert_int_equal(ruby_id_table_scan(&memory.reader, halves, 2, &table), 0);
	memory.table_address += 8;
	assert_int_equal(ruby_id_table_scan(&memory.reader, halves, 2, &table), -ENOENT);
	free(memory.ruby);
}

TEST(id_table_scan_starts_at_first_whole_word)
{
	struct wide_memory memory = { .ruby = forge_ruby(&layouts[1]),
				      .table_address = WIDE_BASE + 16 };
	struct ruby_data_range range = { .size_bytes = 4096 };
	struct ruby_id_table table;

	memory.reader = (struct memory_reader){ .read = wide_read, .context = &memory };
	for (uint64_t at = 9; at <= 24; at++) {
		range.address = WIDE_BASE + at;
		assert_int_equal(ruby_id_table_scan(&memory.reader, &range, 1, &table),
				 at <= 16 ? 0 : -ENOENT);
	}
	free(memory.ruby);
}

/* The process ends while its second chunk is read. */
static int ending_read(const struct memory_reader *reader, uint64_t address, void *buffer,
		       size_t size_bytes)
{
	(void)reader;
	memset(buffer, 0, size_bytes);
	return address < WIDE_BASE + (1 << 19) ? 0 : -ESRCH;
}

TEST(id_table_scan_returns_esrch_if_process_exits)
{
	const struct ruby_data_range range = { WIDE_BASE, 4 << 20 };
	struct memory_reader reader = { .read = ending_read };
	struct ruby_id_table table;

	assert_int_equal(ruby_id_table_scan(&reader, &range, 1, &table), -ESRCH);
}

TEST(id_table_scan_distinguishes_unreadable_memory_from_no_table)
{
	struct forged_ruby *ruby = forge_ruby(&layouts[1]);
	const struct ruby_data_range ranges[] = { { FORGED_BASE - 8192, 8192 },
						  { FORGED_BASE + FORGED_BYTES - 4096, 4096 } };
	struct ruby_id_table table;

	assert_int_equal(ruby_id_table_scan(&ruby->reader, ranges, 1, &table), -EFAULT);
	assert_int_equal(ruby_id_table_scan(&ruby->reader, ranges, 2, &table), -ENOENT);
	assert_int_equal(ruby_id_table_scan(&ruby->reader, ranges, 0, &table), -ENOENT);
	free(ruby);
}

/* Every word of it begins what passes the filter, and none is a table. */
static int candidates_read(const struct memory_reader *reader, uint64_t address, void *buffer,
			   size_t size_bytes)
{
	const uint64_t *count = reader->context;
	const uint64_t end = WIDE_BASE + *count * 24;

	if (address < WIDE_BASE || size_bytes == 24)
		return -EFAULT;
	memset(buffer, 0, size_bytes);
	for (uint64_t at = address; at + 8 <= address + size_bytes && at < end; at += 8) {
		uint64_t word = (at - WIDE_BASE) % 24 ? WIDE_BASE : RUBY_ID_SERIAL_MIN;

		memcpy((uint8_t *)buffer + (at - address), &word, sizeof(word));
	}
	return 0;
}

TEST(id_table_scan_limits_number_of_candidates)
{
	const struct ruby_data_range range = { WIDE_BASE, 2 << 20 };
	uint64_t count = RUBY_ID_TABLE_CANDIDATES_MAX;
	struct memory_reader reader = { .read = candidates_read, .context = &count };
	struct ruby_id_table table;

	assert_int_equal(ruby_id_table_scan(&reader, &range, 1, &table), -ENOENT);
	count++;
	assert_int_equal(ruby_id_table_scan(&reader, &range, 1, &table), -E2BIG);
}

/* It ends while what looks like a table is tried. */
static int candidate_gone_read(const struct memory_reader *reader, uint64_t address, void *buffer,
			       size_t size_bytes)
{
	return size_bytes == 24 ? -ESRCH : candidates_read(reader, address, buffer, size_bytes);
}

TEST(id_table_scan_returns_esrch_if_process_exits_at_candidate)
{
	const struct ruby_data_range range = { WIDE_BASE, 1 << 19 };
	uint64_t count = 1;
	struct memory_reader reader = { .read = candidate_gone_read, .context = &count };
	struct ruby_id_table table;

	assert_int_equal(ruby_id_table_scan(&reader, &range, 1, &table), -ESRCH);
}
