/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The symbol table of a live Ruby, in any of its layouts, with words of it changed: first the
 * layout, then what is written where: a kind, an offset in units of 8, and a word.
 */
#include <assert.h>
#include <time.h>

#define assert_non_null(pointer) assert(pointer)

#include "fuzz_text.h"
#include "recorder/target/forged_ruby.h"
#include "recorder/target/ruby/ruby_id_table.h"
#include "recorder/target/symbol_name.h"

enum word_kind {
	WORD_AS_IS = 0,
	WORD_POINTER = 1, /* into the block */
	WORD_SMALL = 2,
	WORD_OF_TABLE = 3, /* as is, into the table's own three words */
	_WORD_KIND_MAX,
};

enum {
	CHANGES_MAX = 64,
	/* Two million, the most that one call reads, would take most of the fuzzer's time. */
	SERIALS_MAX = 4 * PAGE,
};

/* ruby_symbols pauses before it reads again what did not hold together. */
int nanosleep(const struct timespec *wanted, struct timespec *ret_left)
{
	(void)wanted;
	(void)ret_left;
	return 0;
}

static void limit_counter(struct forged_ruby *ruby)
{
	uint32_t counter;

	memcpy(&counter, ruby->memory.bytes + (ruby->table - FORGED_BASE), sizeof(counter));
	counter %= SERIALS_MAX;
	forged_write(&ruby->memory, ruby->table, &counter, sizeof(counter));
}

static void change_word(struct forged_ruby *ruby, struct fuzz_input *input)
{
	enum word_kind kind = fuzz_take_u8(input) % _WORD_KIND_MAX;
	uint16_t at;
	uint64_t word, address;

	fuzz_take(input, &at, sizeof(at));
	word = fuzz_take_u64(input);
	address = FORGED_BASE + (uint64_t)at * 8 % ruby->memory.used_bytes / 8 * 8;
	if (kind == WORD_POINTER)
		word = FORGED_BASE + word % FORGED_BYTES;
	else if (kind == WORD_SMALL)
		word %= 4096;
	else if (kind == WORD_OF_TABLE)
		address = ruby->table + at % RUBY_ID_TABLE_WORDS * 8;
	forged_write_u64(&ruby->memory, address, word);
}

static void ask_symbols(struct ruby_symbols *symbols)
{
	static const char *const names[] = { "request_id", "+", "endpoint",
					     "a_name_that_no_string_object_has_room_for" };
	static const uint64_t asked[] = { STATIC_ID, DYNAMIC_ID, '+', 301 << 4, UINT64_MAX };
	uint64_t ids[4] = { 0 };
	char text[VALUE_TEXT_BYTES];
	int r = ruby_symbols_find_ids(symbols, names, 4, ids);

	FUZZ_REQUIRE(r <= 4);
	for (size_t i = 0; i < 4; i++)
		FUZZ_REQUIRE(ids[i] == 0 || ruby_id_serial(ids[i]) < RUBY_ID_SERIAL_MAX);
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++)
		if (find_name_text(symbols, asked[i], text) >= 0)
			fuzz_require_clean(text, sizeof(text));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct fuzz_input input = { data, size_bytes };
	struct forged_ruby *ruby = forge_ruby(&layouts[fuzz_take_u8(&input) % LAYOUT_COUNT]);
	struct ruby_symbols *symbols = NULL;

	for (int i = 0; i < CHANGES_MAX && input.size_bytes > 0; i++)
		change_word(ruby, &input);
	limit_counter(ruby);
	if (ruby_symbols_new(&ruby->reader, ruby->table, &ruby->range, 1, &symbols) == 0)
		ask_symbols(symbols);
	ruby_symbols_free(symbols);
	free(ruby);
	return 0;
}
