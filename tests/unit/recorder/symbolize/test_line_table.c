/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/symbolize/line_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "unit_test.h"

#include "recorder/target/forged_memory.h"

enum {
	POSITIONS = 1700, /* of the immediate part, and of four blocks, the last one not full */
	BLOCKS = 4,
};

struct fixture {
	struct forged_memory memory;
	struct memory_reader reader;
	struct line_table table;
	uint32_t begins[POSITIONS]; /* the positions where entries begin, ascending */
	uint32_t count;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	*state = fixture;
	if (!fixture)
		return -1;
	fixture->reader = forged_reader(&fixture->memory);
	return 0;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

/* Of entry number n: no two have the same, and none that of another column. */
static uint32_t line_of(uint32_t number)
{
	return 7 + 3 * number;
}

static bool begins_at(const struct fixture *fixture, uint32_t next, uint32_t position)
{
	return next < fixture->count && fixture->begins[next] == position;
}

/* As succ_index_table_create() of iseq.c, v3_1_2, does it. */
static uint64_t forge_succinct(struct fixture *fixture)
{
	uint64_t words[6 + 10 * BLOCKS] = { 0 };
	uint32_t next = 0;

	for (uint32_t position = 0; position < 54; position++) {
		next += begins_at(fixture, next, position);
		words[position / 9] |= (uint64_t)next << (position % 9 * 7);
	}
	for (uint32_t block = 0; block < BLOCKS; block++) {
		uint64_t *here = words + 6 + 10 * (size_t)block;
		uint32_t first = next;

		here[0] = first;
		for (uint32_t bit = 0; bit < 512; bit++) {
			if (bit % 64 == 0 && bit > 0)
				here[1] |= (uint64_t)(next - first) << ((bit / 64 - 1) * 9);
			if (!begins_at(fixture, next, 54 + 512 * block + bit))
				continue;
			here[2 + bit / 64] |= 1ULL << bit % 64;
			next++;
		}
	}
	return forged_words(&fixture->memory, words, sizeof(words) / sizeof(*words));
}

static uint64_t forge_list(struct fixture *fixture)
{
	uint64_t address = forged_take(&fixture->memory, sizeof(fixture->begins));

	forged_write(&fixture->memory, address, fixture->begins, fixture->count * 4);
	return address;
}

static void forge(struct fixture *fixture, uint32_t kind, uint32_t entry_bytes)
{
	struct line_table *table = &fixture->table;

	fixture->memory.used_bytes = 0;
	memset(fixture->memory.bytes, 0xff, sizeof(fixture->memory.bytes));
	*table = (struct line_table){ .kind = kind,
				      .entry_bytes = entry_bytes,
				      .count = fixture->count };
	table->entries = forged_take(&fixture->memory, POSITIONS * (size_t)12);
	for (uint32_t i = 0; i < fixture->count; i++) {
		uint32_t line = line_of(i);

		forged_write(&fixture->memory, table->entries + (uint64_t)i * entry_bytes, &line,
			     sizeof(line));
	}
	table->positions =
		kind == RUBY_LINE_POSITIONS_LIST ? forge_list(fixture) : forge_succinct(fixture);
}

/* Each position has the line of the entry that begins at it or was the last to. */
static void assert_all_found(struct fixture *fixture)
{
	uint32_t entry = 0, line;

	for (uint32_t position = 0; position < POSITIONS; position++) {
		while (begins_at(fixture, entry + 1, position))
			entry++;
		line = 0;
		assert_int_equal(
			line_table_find(&fixture->reader, &fixture->table, position, &line), 0);
		assert_int_equal(line, line_of(entry));
	}
}

static void begin_each(struct fixture *fixture, uint32_t step)
{
	fixture->count = 0;
	for (uint32_t position = 0; position < POSITIONS; position += step)
		fixture->begins[fixture->count++] = position;
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(line_table_finds_line_of_each_position)
{
	static const uint32_t steps[] = { 1, 2, 3, 7, 53, 64, 97, 512, 851 };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++) {
		begin_each(fixture, steps[i]);
		for (uint32_t kind = RUBY_LINE_POSITIONS_LIST; kind <= RUBY_LINE_POSITIONS_SUCCINCT;
		     kind++) {
			forge(fixture, kind, kind == RUBY_LINE_POSITIONS_LIST ? 8 : 12);
			assert_all_found(fixture);
		}
	}
}

FIXTURE_TEST(line_table_applies_single_entry_to_all_positions)
{
	struct fixture *fixture = *state;
	uint32_t line = 0;

	fixture->count = 1;
	forge(fixture, RUBY_LINE_POSITIONS_SUCCINCT, 12);
	fixture->table.positions = 0;
	for (uint32_t kind = 0; kind < 4; kind++) {
		fixture->table.kind = kind;
		assert_int_equal(line_table_find(&fixture->reader, &fixture->table, 99, &line), 0);
		assert_int_equal(line, line_of(0));
	}
}

static void assert_not_found(struct fixture *fixture, uint32_t position, int error)
{
	uint32_t line = 77;

	assert_int_equal(line_table_find(&fixture->reader, &fixture->table, position, &line),
			 error);
	assert_int_equal(line, 77);
}

FIXTURE_TEST(line_table_returns_enoent_if_absent)
{
	struct fixture *fixture = *state;

	begin_each(fixture, 3);
	forge(fixture, RUBY_LINE_POSITIONS_SUCCINCT, 12);
	fixture->table.count = 0;
	assert_not_found(fixture, 5, -ENOENT);
	fixture->table.count = fixture->count;
	fixture->table.kind = RUBY_LAYOUT_UNKNOWN;
	assert_not_found(fixture, 5, -ENOENT);
}

FIXTURE_TEST(line_table_rejects_inconsistent_table)
{
	struct fixture *fixture = *state;
	const uint32_t line = 0x80000000, last_line = 0x7fffffff;
	uint32_t found;

	/* Before the first entry, in both kinds. */
	fixture->begins[0] = 5;
	fixture->begins[1] = 700;
	fixture->count = 2;
	for (uint32_t kind = RUBY_LINE_POSITIONS_LIST; kind <= RUBY_LINE_POSITIONS_SUCCINCT;
	     kind++) {
		forge(fixture, kind, 12);
		assert_not_found(fixture, 4, -EINVAL);
	}
	/* More entries than there are: in the immediate part, and in a block. */
	fixture->count = 1;
	fixture->table.count = 2;
	forged_write_u64(&fixture->memory, fixture->table.positions, 3);
	assert_not_found(fixture, 0, -EINVAL);
	forged_write_u64(&fixture->memory, fixture->table.positions + 48, 0xffffffff);
	assert_not_found(fixture, 54, -EINVAL);
	/* A line that no file has. */
	forged_write_u64(&fixture->memory, fixture->table.positions, 1);
	forged_write(&fixture->memory, fixture->table.entries, &line, sizeof(line));
	assert_not_found(fixture, 0, -EINVAL);
	forged_write(&fixture->memory, fixture->table.entries, &last_line, sizeof(last_line));
	assert_int_equal(line_table_find(&fixture->reader, &fixture->table, 0, &found), 0);
	assert_int_equal(found, last_line);
}

FIXTURE_TEST(line_table_returns_error_of_failed_read)
{
	struct fixture *fixture = *state;

	begin_each(fixture, 3);
	for (uint32_t kind = RUBY_LINE_POSITIONS_LIST; kind <= RUBY_LINE_POSITIONS_SUCCINCT;
	     kind++) {
		forge(fixture, kind, 12);
		fixture->table.entries = 16;
		assert_not_found(fixture, 0, -EFAULT);
		forge(fixture, kind, 12);
		fixture->table.positions = 16;
		assert_not_found(fixture, 0, -EFAULT);
		assert_not_found(fixture, 54, -EFAULT);
	}
}
