/* SPDX-License-Identifier: GPL-2.0-only */
/* By what ruby_behaviour_look() knows the members of an iseq's body, whichever iseq it is. */
#include "recorder/target/ruby/ruby_iseqs.h"

#include "unit_test.h"

#include "recorder/target/seen_behaviour.h"

enum {
	LINE_MAX = 1 << 24,
	BODY_WORDS = 32,
	LAST_LOCATION = BODY_WORDS - 4, /* where one of four words still fits */
};

static uint64_t body_word(struct forged_vm *forged, size_t i, size_t word)
{
	uint64_t value;

	assert_int_equal(memory_read_u64(&forged->reader, forged->bodies[i] + 8 * word, &value), 0);
	return value;
}

/* So many words of each body are somewhere else. */
static void move_words(struct forged_vm *forged, size_t from, size_t to, size_t count)
{
	uint64_t words[4];

	for (size_t i = 0; i < STACK_ISEQS; i++) {
		for (size_t j = 0; j < count; j++) {
			words[j] = body_word(forged, i, from + j);
			forged_set(forged, forged->bodies[i], from + j, 0);
		}
		for (size_t j = 0; j < count; j++)
			forged_set(forged, forged->bodies[i], to + j, words[j]);
	}
}

/* A change of one word of any iseq's body, and the figure that is not told then. */
static const struct {
	size_t word;
	uint64_t value;
	size_t field;
} changes[] = {
	{ STACK_BODY_LOCATION, 8, RUBY_LAYOUT_FIELD(body_path) },
	{ STACK_BODY_LOCATION + 1, 8, RUBY_LAYOUT_FIELD(body_path) },
	{ STACK_BODY_LOCATION + 2, 8, RUBY_LAYOUT_FIELD(body_path) },
	{ STACK_BODY_LOCATION + 3, LINE_MAX, RUBY_LAYOUT_FIELD(body_first_line) },
	{ STACK_BODY_LOCAL, 0, RUBY_LAYOUT_FIELD(body_local) },
	{ STACK_BODY_LINES, 0, RUBY_LAYOUT_FIELD(body_lines) },
	{ STACK_BODY_LINES + 2, 0, RUBY_LAYOUT_FIELD(body_lines) },
	{ STACK_BODY_LINES + 2, LINE_MAX, RUBY_LAYOUT_FIELD(body_lines) },
	{ STACK_BODY_LINES + 3, 4, RUBY_LAYOUT_FIELD(body_lines) },
	{ STACK_BODY_TYPE / 2, UINT64_C(9) << 32, RUBY_LAYOUT_FIELD(body_type) },
};

VM_TEST(iseqs_reject_member_missing_in_one_iseq)
{
	for (size_t i = 0; i < sizeof(changes) / sizeof(*changes); i++)
		for (size_t iseq = 0; iseq < STACK_ISEQS; iseq++) {
			struct forged_vm *forged = forge_vm();

			look(forged);
			assert_true(seen.fields[changes[i].field].count > 0);
			forged_set(forged, forged->bodies[iseq], changes[i].word, changes[i].value);
			look(forged);
			assert_int_equal(seen.fields[changes[i].field].count, 0);
			free(forged);
		}
}

VM_TEST(iseqs_reject_unreadable_body)
{
	for (size_t i = 0; i < STACK_ISEQS; i++) {
		struct forged_vm *forged = forge_vm();

		forged_set(forged, forged->iseqs[i], STACK_ISEQ_BODY, FORGED_BASE - 4096);
		look(forged);
		NONE(iseq_body);
		NONE(body_type);
		free(forged);
	}
}

VM_TEST(iseqs_body_is_any_word_but_must_be_unique)
{
	struct forged_vm *forged = *state;

	for (size_t i = 0; i < STACK_ISEQS; i++) {
		forged_set(forged, forged->iseqs[i], STACK_ISEQ_BODY, 0);
		forged_set(forged, forged->iseqs[i], 1, forged->bodies[i]);
	}
	look(forged);
	ONLY(iseq_body, 8);
	ONLY(body_path, 8 * STACK_BODY_LOCATION);
	ONLY(body_type, 4 * STACK_BODY_TYPE);
	/* By two ways to it, what follows is not told. */
	for (size_t i = 0; i < STACK_ISEQS; i++)
		forged_set(forged, forged->iseqs[i], 3, forged->bodies[i]);
	look(forged);
	assert_int_equal(COUNT(iseq_body), 2);
	NONE(body_type);
	NONE(body_local);
}

VM_TEST(iseqs_find_location_anywhere_in_body)
{
	struct forged_vm *forged = *state;

	move_words(forged, STACK_BODY_LOCATION, LAST_LOCATION, 4);
	look(forged);
	ONLY(body_path, 8 * LAST_LOCATION);
	ONLY(body_base_label, 8 * LAST_LOCATION + 8);
	ONLY(body_label, 8 * LAST_LOCATION + 16);
	ONLY(body_first_line, 8 * LAST_LOCATION + 24);
	/* Its line would be behind the body. */
	move_words(forged, LAST_LOCATION, LAST_LOCATION + 1, 3);
	look(forged);
	NONE(body_path);
	move_words(forged, LAST_LOCATION + 1, 0, 3);
	look(forged);
	ONLY(body_path, 0);
}

VM_TEST(iseqs_reject_two_locations)
{
	struct forged_vm *forged = *state;

	for (size_t i = 0; i < STACK_ISEQS; i++)
		for (size_t j = 0; j < 3; j++)
			forged_set(forged, forged->bodies[i], 21 + j,
				   body_word(forged, i, STACK_BODY_LOCATION + j));
	look(forged);
	assert_int_equal(COUNT(body_path), 2);
	NONE(body_type);
	NONE(body_lines);
}

VM_TEST(iseqs_accept_labels_in_reverse_order)
{
	struct forged_vm *forged = *state;

	for (size_t i = 0; i < STACK_ISEQS; i++) {
		uint64_t label = body_word(forged, i, STACK_BODY_LOCATION + 2);

		forged_set(forged, forged->bodies[i], STACK_BODY_LOCATION + 2,
			   body_word(forged, i, STACK_BODY_LOCATION + 1));
		forged_set(forged, forged->bodies[i], STACK_BODY_LOCATION + 1, label);
	}
	look(forged);
	ONLY(body_label, 8 * STACK_BODY_LOCATION + 8);
	ONLY(body_base_label, 8 * STACK_BODY_LOCATION + 16);
}

static uint64_t forge_long_text(struct forged_vm *forged, size_t length)
{
	uint64_t text = forged_object(forged, 0x05, 64);

	forged_set(forged, text, 2, length);
	memset(forged->memory.bytes + (text - FORGED_BASE) + 24, 'x', length);
	return text;
}

VM_TEST(iseqs_do_not_compare_labels_of_256_characters)
{
	struct forged_vm *forged = *state;
	const size_t label = STACK_BODY_LOCATION + 2;

	/* Of each iseq, they have nothing in common with the base label. */
	for (size_t i = 0; i < STACK_ISEQS; i++) {
		uint64_t honest = body_word(forged, i, label);

		forged_set(forged, forged->bodies[i], label, forge_long_text(forged, 256));
		look(forged);
		assert_true(HAS(body_label, 8 * label));
		forged_set(forged, forged->bodies[i], label, forge_long_text(forged, 255));
		look(forged);
		NONE(body_label);
		forged_set(forged, forged->bodies[i], label, honest);
	}
	/* One that is shorter than its base does not end with it. */
	forged_set(forged, forged->bodies[0], label, forged_text(forged, "in>"));
	look(forged);
	NONE(body_label);
}

VM_TEST(iseqs_do_not_compare_unreadable_text)
{
	struct forged_vm *forged = *state;
	uint64_t text = forged_object(forged, 0x05 | 1 << 13, 5);

	forged_set(forged, text, 2, 4);
	forged_set(forged, text, 3, FORGED_BASE - 4096);
	forged_set(forged, forged->bodies[1], STACK_BODY_LOCATION + 2, text);
	look(forged);
	assert_true(HAS(body_label, 8 * STACK_BODY_LOCATION + 16));
}

VM_TEST(iseqs_path_is_text_or_array_that_starts_with_one)
{
	struct forged_vm *forged = *state;
	uint64_t array = forged_object(forged, 0x07 | 1 << 13 | 2 << 15, 5);

	forged_set(forged, forged->bodies[0], STACK_BODY_LOCATION, array);
	forged_set(forged, array, 2, array);
	look(forged);
	NONE(body_path);
	forged_set(forged, array, 2, forged_text(forged, "a.rb"));
	look(forged);
	ONLY(body_path, 8 * STACK_BODY_LOCATION);
	/* On the heap, where it is gone. */
	forged_set(forged, array, 0, 0x07);
	forged_set(forged, array, 4, FORGED_BASE - 4096);
	look(forged);
	NONE(body_path);
}

static void set_first_lines(struct forged_vm *forged, uint64_t line)
{
	for (size_t i = 0; i < STACK_ISEQS; i++)
		forged_set(forged, forged->bodies[i], STACK_BODY_LOCATION + 3, line);
	look(forged);
}

VM_TEST(iseqs_first_line_is_below_16_million)
{
	struct forged_vm *forged = *state;

	/* What stands in the other half of the word is another member. */
	set_first_lines(forged, UINT64_C(77) << 32 | (LINE_MAX - 2));
	ONLY(body_first_line_kind, RUBY_FIRST_LINE_INT);
	set_first_lines(forged, LINE_MAX);
	NONE(body_first_line_kind);
	NONE(body_first_line);
	set_first_lines(forged, 2 * (LINE_MAX - 1) + 1);
	ONLY(body_first_line_kind, RUBY_FIRST_LINE_VALUE);
	set_first_lines(forged, 2 * LINE_MAX + 1);
	NONE(body_first_line);
}

/* enum rb_iseq_type: TOP 0, METHOD, BLOCK, CLASS, RESCUE, ENSURE, EVAL, MAIN, PLAIN 8. */
VM_TEST(iseqs_type_must_fit_kind_of_frame)
{
	static const struct {
		uint64_t flags;
		bool types[10];
	} kinds[] = {
		{ 0x11110003, { [1] = true } },
		{ 0x22220003, { [2] = true } },
		{ 0x33330003, { [3] = true } },
		{ 0x44440003, { [0] = true, [7] = true } },
		{ 0x66660003, { true, true, true, true, true, true, true, true, true } },
		{ 0x77770003, { [6] = true, [7] = true } },
		{ 0x78880003, { [4] = true, [5] = true } },
	};
	struct forged_vm *forged = *state;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		for (uint32_t type = 0; type < 10; type++) {
			forged_set(forged, forged_ep(forged, 0), 0, kinds[i].flags);
			forged_half(forged, forged->bodies[0], STACK_BODY_TYPE, type);
			look(forged);
			assert_int_equal(HAS(body_type, 4 * STACK_BODY_TYPE), kinds[i].types[type]);
		}
}

VM_TEST(iseqs_type_is_among_first_16_half_words)
{
	struct forged_vm *forged = *state;
	static const struct {
		size_t half;
		bool is_found;
	} places[] = { { 0, true }, { 15, true }, { 16, false } };

	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		for (uint32_t j = 0; j < STACK_ISEQS; j++) {
			static const uint32_t types[] = { 7, 1, 2 };

			forged_half(forged, forged->bodies[j], STACK_BODY_TYPE, 77);
			forged_half(forged, forged->bodies[j], places[i].half, types[j]);
		}
		look(forged);
		assert_int_equal(COUNT(body_type), places[i].is_found);
		for (uint32_t j = 0; j < STACK_ISEQS; j++)
			forged_half(forged, forged->bodies[j], places[i].half, 77);
	}
}

static void set_sizes(struct forged_vm *forged, size_t half, uint32_t size)
{
	for (size_t i = 0; i < STACK_ISEQS; i++)
		forged_half(forged, forged->bodies[i], half, size);
	look(forged);
}

VM_TEST(iseqs_code_size_is_positive_and_bounded)
{
	struct forged_vm *forged = *state;

	set_sizes(forged, STACK_BODY_SIZE, (1 << 24) - 1);
	ONLY(body_code_words, 4 * STACK_BODY_SIZE);
	set_sizes(forged, STACK_BODY_SIZE, 1 << 24);
	NONE(body_code_words);
	/* At its first word the counter is in code of any size, as a type's, but not of none. */
	for (size_t i = 0; i < STACK_ISEQS; i++)
		forged_run(forged, forged->frames[i], forged->iseqs[i], forged->bodies[i], 0);
	set_sizes(forged, STACK_BODY_SIZE, 0);
	ONLY(body_code_words, 4 * STACK_BODY_TYPE);
	set_sizes(forged, STACK_BODY_SIZE, 1);
	assert_int_equal(COUNT(body_code_words), 2);
	/* Between two words it is none. */
	for (size_t i = 0; i < STACK_ISEQS; i++)
		forged_set(forged, forged->frames[i], STACK_FRAME_PC,
			   body_word(forged, i, STACK_BODY_CODE) + 4);
	look(forged);
	NONE(body_code_words);
}

VM_TEST(iseqs_code_is_at_valid_address)
{
	struct forged_vm *forged = *state;

	for (size_t i = 0; i < STACK_ISEQS; i++) {
		forged_set(forged, forged->bodies[i], STACK_BODY_CODE, 4096);
		forged_set(forged, forged->frames[i], STACK_FRAME_PC, 4096 + 8);
	}
	look(forged);
	NONE(body_code);
}

VM_TEST(iseqs_code_and_size_are_at_start_of_body)
{
	struct forged_vm *forged = *state;

	set_sizes(forged, STACK_BODY_SIZE, 0);
	set_sizes(forged, 0, STACK_CODE_WORDS);
	ONLY(body_code_words, 0);
	set_sizes(forged, 0, 0);
	set_sizes(forged, 15, STACK_CODE_WORDS);
	ONLY(body_code_words, 4 * 15);
	set_sizes(forged, 15, 0);
	set_sizes(forged, 16, STACK_CODE_WORDS);
	NONE(body_code_words);
	set_sizes(forged, 16, 0);
	set_sizes(forged, STACK_BODY_SIZE, STACK_CODE_WORDS);
	move_words(forged, STACK_BODY_CODE, 7, 1);
	look(forged);
	ONLY(body_code, 8 * 7);
	move_words(forged, 7, 8, 1);
	look(forged);
	NONE(body_code);
	set_sizes(forged, STACK_BODY_SIZE, 0);
	set_sizes(forged, 4, STACK_CODE_WORDS);
	move_words(forged, 8, 0, 1);
	look(forged);
	ONLY(body_code, 0);
}

VM_TEST(iseqs_local_iseq_is_after_first_words_of_body)
{
	struct forged_vm *forged = *state;

	move_words(forged, STACK_BODY_LOCAL, BODY_WORDS - 1, 1);
	look(forged);
	ONLY(body_local, 8 * (BODY_WORDS - 1));
	move_words(forged, BODY_WORDS - 1, 8, 1);
	look(forged);
	ONLY(body_local, 8 * 8);
	move_words(forged, 8, 7, 1);
	look(forged);
	NONE(body_local);
}

VM_TEST(iseqs_local_iseq_is_itself_only_for_method)
{
	struct forged_vm *forged = *state;

	forged_set(forged, forged->bodies[1], STACK_BODY_LOCAL, forged->iseqs[0]);
	look(forged);
	NONE(body_local);
	forged_set(forged, forged->bodies[1], STACK_BODY_LOCAL, forged->iseqs[1]);
	forged_set(forged, forged->bodies[2], STACK_BODY_LOCAL, forged->iseqs[2]);
	look(forged);
	NONE(body_local);
	/* Of what is neither, any. */
	forged_set(forged, forged->bodies[2], STACK_BODY_LOCAL, forged->iseqs[0]);
	forged_set(forged, forged->bodies[0], STACK_BODY_LOCAL, forged->iseqs[1]);
	look(forged);
	ONLY(body_local, 8 * STACK_BODY_LOCAL);
}

/* Entries of so many words each for each body: a line, perhaps a node's number, events. */
static uint64_t set_tables(struct forged_vm *forged, size_t entry_words, uint32_t count)
{
	uint64_t table = forged_take(&forged->memory, (size_t)count * entry_words * 4);

	for (uint32_t i = 0; i < count; i++) {
		forged_half(forged, table, i * entry_words, 0x80000 + i);
		if (entry_words > 2)
			forged_half(forged, table, i * entry_words + 1, UINT32_MAX);
		forged_half(forged, table, (i + 1) * entry_words - 1, 0x3ffff);
	}
	for (size_t i = 0; i < STACK_ISEQS; i++) {
		forged_set(forged, forged->bodies[i], STACK_BODY_LINES, table);
		forged_set(forged, forged->bodies[i], STACK_BODY_LINES + 2, count);
	}
	return table;
}

/* Of each entry the line has a bound, and the events are of those that there are. */
VM_TEST(iseqs_check_each_entry_of_line_table)
{
	struct forged_vm *forged = *state;

	for (size_t words = 2; words <= 3; words++)
		for (size_t i = 0; i < 4; i++) {
			uint64_t table = set_tables(forged, words, 4);
			size_t line = i * words, events = (i + 1) * words - 1;

			look(forged);
			ONLY(line_entry_bytes, 4 * words);
			ONLY(body_lines, 8 * STACK_BODY_LINES);
			ONLY(body_line_count, 8 * STACK_BODY_LINES + 16);
			ONLY(body_line_positions, 8 * STACK_BODY_LINES + 24);
			forged_half(forged, table, line, LINE_MAX - 1);
			look(forged);
			ONLY(line_entry_bytes, 4 * words);
			forged_half(forged, table, line, LINE_MAX);
			look(forged);
			NONE(line_entry_bytes);
			forged_half(forged, table, line, 0x80000);
			forged_half(forged, table, events, 0x40000);
			look(forged);
			NONE(line_entry_bytes);
		}
}

VM_TEST(iseqs_check_at_most_64_lines)
{
	struct forged_vm *forged = *state;
	uint64_t table = set_tables(forged, 3, 70);

	forged_half(forged, table, 64 * 3, LINE_MAX);
	look(forged);
	ONLY(line_entry_bytes, 12);
	forged_half(forged, table, 63 * 3, LINE_MAX);
	look(forged);
	NONE(line_entry_bytes);
	/* As many as there may be. */
	table = set_tables(forged, 3, 70);
	for (size_t i = 0; i < STACK_ISEQS; i++)
		forged_set(forged, forged->bodies[i], STACK_BODY_LINES + 2, LINE_MAX - 1);
	look(forged);
	ONLY(line_entry_bytes, 12);
}

VM_TEST(iseqs_find_line_table_anywhere_after_first_words)
{
	struct forged_vm *forged = *state;

	(void)set_tables(forged, 3, 4);
	move_words(forged, STACK_BODY_LINES, LAST_LOCATION, 4);
	look(forged);
	ONLY(body_lines, 8 * LAST_LOCATION);
	move_words(forged, LAST_LOCATION, LAST_LOCATION + 1, 3);
	look(forged);
	NONE(body_lines);
	(void)set_tables(forged, 3, 1);
	for (size_t i = 0; i < STACK_ISEQS; i++)
		for (size_t j = 0; j < 4; j++)
			forged_set(forged, forged->bodies[i], LAST_LOCATION + j, 0);
	move_words(forged, STACK_BODY_LINES, 7, 4);
	look(forged);
	NONE(body_lines);
}
