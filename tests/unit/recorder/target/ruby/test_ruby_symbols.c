/* SPDX-License-Identifier: GPL-2.0-only */
/* ruby_symbols over forged memory: every layout of the table, and hostile ones. */
#include "recorder/target/ruby/ruby_symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "unit_test.h"

#include "failing_memory.h"
#include <correlator/value_digest.h>

#include "base/clock.h"
#include "recorder/target/forged_ruby.h"
#include "recorder/target/ruby/ruby_id_table.h"
#include "recorder/target/symbol_name.h"

UNIT_TEST_ALONE;

/* Time stands still but for the pauses, which are counted. */
static uint64_t now_ns = 1;
static size_t pauses;

uint64_t clock_monotonic_ns(void)
{
	return now_ns;
}

int nanosleep(const struct timespec *wanted, struct timespec *ret_left)
{
	(void)ret_left;
	now_ns += (uint64_t)wanted->tv_nsec;
	pauses++;
	return 0;
}

static struct ruby_symbols *open_symbols(struct forged_ruby *ruby)
{
	struct ruby_symbols *symbols = NULL;

	assert_int_equal(ruby_symbols_new(&ruby->reader, 0, &ruby->range, 1, &symbols), 0);
	assert_int_equal(ruby_symbols_table_address(symbols), ruby->table);
	return symbols;
}

TEST(ruby_symbols_recognise_and_read_every_layout)
{
	static const char *const names[] = { "request_id", "+", "not_there",
					     "a_name_that_no_string_object_has_room_for" };

	for (size_t i = 0; i < LAYOUT_COUNT; i++) {
		struct forged_ruby *ruby = forge_ruby(&layouts[i]);
		struct ruby_symbols *symbols = open_symbols(ruby);
		uint64_t ids[4] = { 0 };
		char name[VALUE_TEXT_BYTES];

		print_message("Ruby %s\n", layouts[i].name);
		assert_int_equal(ruby_symbols_string_layout(symbols), layouts[i].strings);
		assert_int_equal(ruby_symbols_find_ids(symbols, names, 4, ids), 1);
		assert_int_equal(ids[0], STATIC_ID);
		assert_int_equal(ids[1], '+');
		assert_int_equal(ids[2], 0);
		assert_int_equal(ids[3], DYNAMIC_ID);
		for (size_t at = 0; at < 4; at++) {
			if (ids[at] == 0)
				continue;
			assert_int_equal(find_name_text(symbols, ids[at], name), 0);
			assert_string_equal(name, names[at]);
		}
		assert_int_equal(find_name_text(symbols, 301 << 4, name), -ENOENT);
		ruby_symbols_free(symbols);
		free(ruby);
	}
}

static void assert_not_found(struct forged_ruby *ruby, int error)
{
	struct ruby_symbols *symbols = NULL;

	assert_int_equal(ruby_symbols_new(&ruby->reader, 0, &ruby->range, 1, &symbols), error);
	assert_null(symbols);
}

TEST(ruby_symbols_return_error_without_table)
{
	struct forged_ruby *ruby = forge_ruby(&layouts[1]);

	/* Before Ruby has made it. */
	forged_write_u64(&ruby->memory, ruby->table + 16, 0);
	assert_not_found(ruby, -ENOENT);
	free(ruby);
	/* One of the four operators is another. */
	ruby = forge_ruby(&layouts[1]);
	forge_entry(ruby, '<', forge_string(ruby, ">"), '<' << 8 | 0x0c);
	assert_not_found(ruby, -ENOENT);
	/* Nothing can be read. */
	ruby->range.address = FORGED_BASE + FORGED_BYTES;
	assert_not_found(ruby, -EFAULT);
	ruby->range.address = UINT64_MAX - 8191;
	assert_not_found(ruby, -ENOENT);
	free(ruby);
}

TEST(ruby_symbols_reject_two_tables_but_not_overlapping_ranges)
{
	struct forged_ruby *ruby = forge_ruby(&layouts[2]);
	struct ruby_data_range twice[] = { ruby->range, ruby->range };
	struct ruby_symbols *symbols = NULL;

	assert_int_equal(ruby_symbols_new(&ruby->reader, 0, twice, 2, &symbols), 0);
	ruby_symbols_free(symbols);
	memcpy(ruby->memory.bytes + 64, ruby->memory.bytes + 4096 - 8, 24);
	assert_not_found(ruby, -ENOTUNIQ);
	free(ruby);
}

TEST(ruby_symbols_skip_hole_in_range)
{
	struct forged_ruby *ruby = forge_ruby(&layouts[2]);
	struct ruby_symbols *symbols;

	/* The range starts before the block and goes on after it: a hole at either end. */
	ruby->range.address = FORGED_BASE - 8192;
	ruby->range.size_bytes = 8192 + FORGED_BYTES + 8192;
	symbols = open_symbols(ruby);
	ruby_symbols_free(symbols);
	ruby->memory.hole = FORGED_BASE + FORGED_BYTES - 4096;
	symbols = open_symbols(ruby);
	ruby_symbols_free(symbols);
	free(ruby);
}

TEST(ruby_symbols_find_name_written_after_its_serial)
{
	static const char *const names[] = { "late" };
	struct forged_ruby *ruby = forge_ruby(&layouts[4]);
	struct ruby_symbols *symbols = open_symbols(ruby);
	uint64_t id = 0;

	assert_int_equal(ruby_symbols_find_ids(symbols, names, 1, &id), 1);
	forge_entry(ruby, LAST_SERIAL - 1, forge_string(ruby, "late"),
		    ((LAST_SERIAL - 1) << 4 | 1) << 8 | 0x0c);
	assert_int_equal(ruby_symbols_find_ids(symbols, names, 1, &id), 0);
	assert_int_equal(id, (LAST_SERIAL - 1) << 4 | 1);
	ruby_symbols_free(symbols);
	free(ruby);
}

TEST(ruby_symbols_return_eagain_for_unreadable_entry_and_recover)
{
	static const char *const names[] = { "request_id", "not_there" };
	struct forged_ruby *ruby = forge_ruby(&layouts[1]);
	struct ruby_symbols *symbols = open_symbols(ruby);
	uint64_t entry = ruby->pages[0] + STATIC_SERIAL * 16, ids[2] = { 0 };
	uint64_t name;

	/* The name's object was freed, or moved away. */
	memcpy(&name, ruby->memory.bytes + (entry - FORGED_BASE), 8);
	forged_write_u64(&ruby->memory, name, 0);
	assert_int_equal(ruby_symbols_find_ids(symbols, names, 2, ids), -EAGAIN);
	assert_int_equal(ids[0], 0);
	/* It is unmapped. */
	forged_write_u64(&ruby->memory, entry, FORGED_BASE - 4096);
	assert_int_equal(ruby_symbols_find_ids(symbols, names, 2, ids), -EAGAIN);
	forged_write_u64(&ruby->memory, name, T_STRING | 10 << 14);
	forged_write_u64(&ruby->memory, entry, name);
	assert_int_equal(ruby_symbols_find_ids(symbols, names, 2, ids), 1);
	assert_int_equal(ids[0], STATIC_ID);
	ruby_symbols_free(symbols);
	free(ruby);
}

/* What lies behind the last name that is wanted, whatever it is, does not matter. */
TEST(ruby_symbols_stop_once_all_names_are_found)
{
	static const char *const names[] = { "request_id" };
	struct forged_ruby *ruby = forge_ruby(&layouts[1]);
	struct ruby_symbols *symbols = open_symbols(ruby);
	size_t before = pauses;
	uint64_t id = 0;

	forge_entry(ruby, STATIC_SERIAL + 1, FORGED_BASE + 3, 0x0c);
	assert_int_equal(ruby_symbols_find_ids(symbols, names, 1, &id), 0);
	assert_int_equal(id, STATIC_ID);
	assert_int_equal(pauses, before);
	ruby_symbols_free(symbols);
	free(ruby);
}

TEST(ruby_symbols_reread_page_that_moved)
{
	static const char *const names[] = { "request_id" };
	struct forged_ruby *ruby = forge_ruby(&layouts[1]);
	struct ruby_symbols *symbols = open_symbols(ruby);
	uint64_t id = 0;
	char name[VALUE_TEXT_BYTES];

	ruby->memory.zero_once = ruby->pages[0];
	assert_int_equal(ruby_symbols_find_ids(symbols, names, 1, &id), 0);
	assert_int_equal(id, STATIC_ID);
	ruby->memory.zero_once = ruby->pages[0] + STATIC_SERIAL * 16;
	assert_int_equal(find_name_text(symbols, id, name), 0);
	assert_string_equal(name, "request_id");
	ruby_symbols_free(symbols);
	free(ruby);
}

/* The name of an entry, which a compaction moves away when its text is read: the entry still leads
 * to the old place. */
static struct {
	struct forged_ruby *ruby;
	uint64_t name; /* address; 0 = it has moved */
} compaction;

static int read_while_compacting(const struct memory_reader *reader, uint64_t address, void *buffer,
				 size_t size_bytes)
{
	const struct memory_reader forged = forged_reader(&compaction.ruby->memory);
	static const uint64_t moved[5] = { 0x1e }; /* T_MOVED, ruby/internal/value_type.h */

	(void)reader;
	if (compaction.name && address > compaction.name && address < compaction.name + 40 &&
	    size_bytes == strlen("request_id")) {
		forged_write(&compaction.ruby->memory, compaction.name, moved, sizeof(moved));
		compaction.name = 0;
	}
	return forged_read(&forged, address, buffer, size_bytes);
}

TEST(ruby_symbols_pass_over_no_name_that_moves_while_it_is_compared)
{
	static const char *const names[] = { "request_id", "not_there" };
	struct forged_ruby *ruby = forge_ruby(&layouts[1]);
	struct ruby_symbols *symbols;
	uint64_t ids[2] = { 0 }, entry = ruby->pages[0] + STATIC_SERIAL * 16, name;
	uint8_t object[40];

	compaction.ruby = ruby;
	ruby->reader.read = read_while_compacting;
	symbols = open_symbols(ruby);
	memcpy(&name, ruby->memory.bytes + (entry - FORGED_BASE), 8);
	memcpy(object, ruby->memory.bytes + (name - FORGED_BASE), sizeof(object));
	compaction.name = name;
	assert_int_equal(ruby_symbols_find_ids(symbols, names, 2, ids), -EAGAIN);
	assert_int_equal(compaction.name, 0);
	forged_write(&ruby->memory, name, object, sizeof(object));
	assert_int_equal(ruby_symbols_find_ids(symbols, names, 2, ids), 1);
	assert_int_equal(ids[0], STATIC_ID);
	ruby_symbols_free(symbols);
	free(ruby);
}

/* Its scope is in the ID: once it is another, who kept the old name keeps that no longer. */
TEST(ruby_symbols_follow_serial_to_new_id)
{
	const uint64_t other = STATIC_ID ^ 4;
	struct forged_ruby *ruby = forge_ruby(&layouts[1]);
	struct ruby_symbols *symbols = open_symbols(ruby);
	char name[VALUE_TEXT_BYTES];

	assert_int_equal(find_name_text(symbols, STATIC_ID, name), 0);
	assert_string_equal(name, "request_id");
	assert_int_equal(find_name_text(symbols, other, name), -ENOENT);
	forge_entry(ruby, STATIC_SERIAL, forge_string(ruby, "other"), other << 8 | 0x0c);
	assert_int_equal(find_name_text(symbols, other, name), 0);
	assert_string_equal(name, "other");
	assert_int_equal(find_name_text(symbols, STATIC_ID, name), -ENOENT);
	ruby_symbols_free(symbols);
	free(ruby);
}

/* As the kernel programs make it of a value: the last chunk is zero behind the text. */
static uint64_t digest_of(const char *text, size_t size_bytes)
{
	struct context_hash_state digest;
	struct value_chunk chunk;
	uint32_t part_bytes;
	__u64 offset;

	value_digest_init(&digest, size_bytes);
	for (uint32_t i = 0; (part_bytes = value_chunk_locate(i, size_bytes, &offset)) > 0; i++) {
		chunk = (struct value_chunk){ 0 };
		memcpy(&chunk, text + offset, part_bytes);
		value_digest_add(&digest, &chunk);
	}
	return context_hash_final(&digest);
}

/* The digest of its text, of which the last byte is another one. */
static uint64_t digest_of_long_name(struct forged_ruby *ruby, uint64_t serial, char last)
{
	struct ruby_symbols *symbols = open_symbols(ruby);
	struct value_snapshot name;
	char text[1000];

	for (size_t i = 0; i < sizeof(text) - 1; i++)
		text[i] = (char)('a' + i * i % 23);
	text[sizeof(text) - 2] = last;
	text[sizeof(text) - 1] = '\0';
	forge_entry(ruby, serial, forge_string(ruby, text), (serial << 4 | 1) << 8 | 0x0c);
	assert_int_equal(ruby_symbols_find_name(symbols, serial << 4 | 1, &name), 0);
	assert_int_equal(name.flags, VALUE_TRUNCATED);
	assert_int_equal(name.length_bytes, VALUE_BYTES_MAX);
	assert_memory_equal(name.bytes, text, VALUE_BYTES_MAX);
	assert_int_equal(name.raw, digest_of(text, sizeof(text) - 1));
	ruby_symbols_free(symbols);
	return name.raw;
}

TEST(ruby_symbols_distinguish_long_names_by_whole_text)
{
	struct forged_ruby *ruby = forge_ruby(&layouts[2]);
	uint64_t digest = digest_of_long_name(ruby, STATIC_SERIAL + 1, 'x');

	assert_int_equal(digest_of_long_name(ruby, STATIC_SERIAL + 2, 'x'), digest);
	assert_int_not_equal(digest_of_long_name(ruby, STATIC_SERIAL + 3, 'y'), digest);
	free(ruby);
}

TEST(ruby_symbols_cache_name_until_forgotten)
{
	struct forged_ruby *ruby = forge_ruby(&layouts[2]);
	struct ruby_symbols *symbols = open_symbols(ruby);
	uint64_t serial = STATIC_SERIAL + 1, id = serial << 4 | 1;
	struct value_snapshot name;

	forge_entry(ruby, serial, forge_string(ruby, "before"), id << 8 | 0x0c);
	assert_false(ruby_symbols_has_name(symbols, id));
	ruby_symbols_forget_name(symbols, id);
	assert_int_equal(ruby_symbols_find_name(symbols, id, &name), 0);
	assert_true(ruby_symbols_has_name(symbols, id));
	assert_false(ruby_symbols_has_name(symbols, id + (1 << 4)));
	forge_entry(ruby, serial, forge_string(ruby, "behind"), id << 8 | 0x0c);
	assert_int_equal(ruby_symbols_find_name(symbols, id, &name), 0);
	assert_memory_equal(name.bytes, "before", 6);
	ruby_symbols_forget_name(symbols, id);
	assert_false(ruby_symbols_has_name(symbols, id));
	assert_int_equal(ruby_symbols_find_name(symbols, id, &name), 0);
	assert_memory_equal(name.bytes, "behind", 6);
	ruby_symbols_free(symbols);
	free(ruby);
}

TEST(ruby_symbols_compare_whole_text_on_heap)
{
	static const char *const names[] = { "a_name_that_no_string_object_has_room_foz" };
	struct forged_ruby *ruby = forge_ruby(&layouts[2]);
	struct ruby_symbols *symbols = open_symbols(ruby);
	uint64_t serial = STATIC_SERIAL + 1, id = 0;

	forge_entry(ruby, serial, forge_string(ruby, "a_name_that_no_string_object_has_room_fox"),
		    (serial << 4 | 1) << 8 | 0x0c);
	assert_int_equal(ruby_symbols_find_ids(symbols, names, 1, &id), 1);
	assert_int_equal(id, 0);
	ruby_symbols_free(symbols);
	free(ruby);
}

TEST(ruby_symbols_reject_symbol_of_other_serial)
{
	static const char *const names[] = { "request_id" };
	struct forged_ruby *ruby = forge_ruby(&layouts[1]);
	struct ruby_symbols *symbols = open_symbols(ruby);
	uint64_t entry = ruby->pages[0] + STATIC_SERIAL * 16, id = 0;

	forged_write_u64(&ruby->memory, entry + 8, (STATIC_ID + 16) << 8 | 0x0c);
	assert_int_equal(ruby_symbols_find_ids(symbols, names, 1, &id), -EAGAIN);
	assert_int_equal(id, 0);
	ruby_symbols_free(symbols);
	free(ruby);
}

TEST(ruby_symbols_limit_pauses_to_5_per_call_and_20_per_second)
{
	static const char *const names[] = { "not_there_" };
	struct forged_ruby *ruby = forge_ruby(&layouts[4]);
	struct ruby_symbols *symbols = open_symbols(ruby);
	uint64_t directory[] = { 1 << 30, FORGED_BASE + 256 };
	uint64_t ids = forge_data(ruby, directory, 2), page, first_ns, id = 0;
	char name[VALUE_TEXT_BYTES];

	/* Many pages are one and the same, full of names of the length sought; the rest faults. */
	page = forge_page(ruby, &ruby->pages[1]);
	for (uint64_t serial = PAGE; serial < 2 * PAGE; serial++)
		forge_entry(ruby, serial, forge_string(ruby, "request_id"), serial << 12 | 0x10c);
	for (uint64_t at = FORGED_BASE + 256; at < ruby->table; at += 8)
		forged_write_u64(&ruby->memory, at, page);
	forged_write_u64(&ruby->memory, ruby->table, RUBY_ID_SERIAL_MAX);
	forged_write_u64(&ruby->memory, ruby->table + 16, ids);
	pauses = 0;
	first_ns = now_ns;
	for (int call = 0; call < 4; call++) {
		assert_int_equal(ruby_symbols_find_ids(symbols, names, 1, &id), -EAGAIN);
		assert_int_equal(pauses, 5 * (call + 1));
	}
	/* No more in this second, also for names that never hold together. */
	forged_write_u64(&ruby->memory, ruby->table + 16, ruby->table);
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(find_name_text(symbols, 0x1000 + 16 * i, name), -EAGAIN);
	assert_int_equal(pauses, 20);
	now_ns = first_ns + NS_PER_S - 1;
	assert_int_equal(find_name_text(symbols, 0x1000, name), -EAGAIN);
	assert_int_equal(pauses, 20);
	now_ns++;
	pauses = 0;
	for (uint64_t i = 0; i < 1000; i++)
		assert_int_equal(find_name_text(symbols, 0x1000 + 16 * i, name), -EAGAIN);
	assert_int_equal(pauses, 20);
	ruby_symbols_free(symbols);
	free(ruby);
}

/* A table of very many pages, all of them empty, of which it is noted which was asked for. */
struct vast_table {
	struct forged_ruby *ruby;
	uint64_t page;
	uint64_t last;
};

#define FAR_AWAY UINT64_C(0x7f6600000000)

static int read_vast(const struct memory_reader *reader, uint64_t address, void *buffer,
		     size_t size_bytes)
{
	struct vast_table *table = (struct vast_table *)reader->context;

	if (address < FAR_AWAY)
		return memory_read(&table->ruby->reader, address, buffer, size_bytes);
	assert_int_equal(size_bytes, sizeof(table->page));
	memcpy(buffer, &table->page, sizeof(table->page));
	table->last = (address - FAR_AWAY) / sizeof(table->page);
	return 0;
}

TEST(ruby_symbols_read_two_million_entries_per_call)
{
	static const char *const names[] = { "not_there_" };
	struct vast_table table = { .ruby = forge_ruby(&layouts[4]) };
	const struct memory_reader reader = { .read = read_vast, .context = &table };
	const uint64_t empty[] = { 0, 0 }, directory[] = { 1 << 30, FAR_AWAY };
	struct ruby_symbols *symbols = NULL;
	uint64_t id = 0;

	assert_int_equal(ruby_symbols_new(&reader, table.ruby->table, NULL, 0, &symbols), 0);
	table.page = forge_data(table.ruby, empty, 2);
	forged_write_u64(&table.ruby->memory, table.ruby->table, RUBY_ID_SERIAL_MAX);
	forged_write_u64(&table.ruby->memory, table.ruby->table + 16,
			 forge_data(table.ruby, directory, 2));
	for (uint64_t call = 1; call <= 2; call++) {
		assert_int_equal(ruby_symbols_find_ids(symbols, names, 1, &id), -EAGAIN);
		assert_int_equal(table.last, call * (2 << 20) / PAGE - 1);
	}
	ruby_symbols_free(symbols);
	free(table.ruby);
}

TEST(ruby_symbols_reject_data_full_of_candidates)
{
	struct forged_ruby *ruby = forge_ruby(&layouts[1]);
	const uint64_t words[] = { LAST_SERIAL, FORGED_BASE + 64, FORGED_BASE + 64 };
	const struct ruby_data_range all = { FORGED_BASE, FORGED_BYTES };
	const struct ruby_data_range ranges[] = { all, all };
	struct ruby_symbols *symbols = NULL;

	_Static_assert(2 * FORGED_BYTES / sizeof(words) > RUBY_ID_TABLE_CANDIDATES_MAX, "enough");
	for (size_t at = 0; at + sizeof(words) <= FORGED_BYTES; at += sizeof(words))
		memcpy(ruby->memory.bytes + at, words, sizeof(words));
	assert_int_equal(ruby_symbols_new(&ruby->reader, 0, ranges, 2, &symbols), -E2BIG);
	assert_null(symbols);
	free(ruby);
}

/* xorshift64: the same damage on every run. */
static uint64_t next_random(uint64_t *random)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return *random;
}

TEST(ruby_symbols_survive_damaged_table)
{
	static const char *const names[] = { "request_id", "+",
					     "a_name_that_no_string_object_has_room_for" };
	uint64_t random = 88172645463325252u;

	for (int round = 0; round < 300; round++) {
		struct forged_ruby *ruby = forge_ruby(&layouts[round % LAYOUT_COUNT]);
		struct ruby_symbols *symbols = open_symbols(ruby);
		uint64_t ids[3] = { 0 };
		char name[VALUE_TEXT_BYTES];

		for (int damage = 0; damage < 40; damage++) {
			uint64_t word = next_random(&random);
			size_t at = next_random(&random) % (ruby->memory.used_bytes / 8) * 8;

			/* Wild, or a pointer to somewhere else in the block, or a small number. */
			word = damage % 3 == 0	 ? word
			       : damage % 3 == 1 ? FORGED_BASE + (word % FORGED_BYTES & ~7ull)
						 : word % 64;
			memcpy(ruby->memory.bytes + at, &word, 8);
		}
		(void)ruby_symbols_find_ids(symbols, names, 3, ids);
		assert_true(ids[0] == 0 || ruby_id_serial(ids[0]) < 2 * PAGE);
		for (uint64_t i = 0; i < 700; i += 7)
			(void)find_name_text(symbols, i << 4 | 1, name);
		ruby_symbols_free(symbols);
		free(ruby);
	}
}

TEST(ruby_symbols_return_enomem_and_recover)
{
	static const char *const name = "request_id";
	struct forged_ruby *ruby = forge_ruby(&layouts[2]);
	struct ruby_symbols *symbols = NULL;
	char text[VALUE_TEXT_BYTES];
	uint64_t id = 0;
	size_t failures = 0;

	assert_each_allocation_can_fail(
		ruby_symbols_new(&ruby->reader, 0, &ruby->range, 1, &symbols),
		(failures++, assert_null(symbols)));
	assert_non_null(symbols);
	assert_true(failures > 0);
	memory_fails_after(0);
	assert_int_equal(ruby_symbols_find_ids(symbols, &name, 1, &id), -ENOMEM);
	memory_never_fails();
	assert_int_equal(ruby_symbols_find_ids(symbols, &name, 1, &id), 0);
	assert_int_equal(id, STATIC_ID);
	memory_fails_after(0);
	assert_int_equal(find_name_text(symbols, id, text), -ENOMEM);
	memory_never_fails();
	assert_int_equal(find_name_text(symbols, id, text), 0);
	assert_string_equal(text, name);
	ruby_symbols_free(symbols);
	free(ruby);
}
