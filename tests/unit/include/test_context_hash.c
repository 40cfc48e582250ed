/* SPDX-License-Identifier: GPL-2.0-only */
#include <correlator/context_hash.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static uint64_t hash_words(const char *text, size_t words)
{
	struct context_hash_key key = { { 0, 0 } };
	struct context_hash_state state;
	uint64_t word;

	context_hash_init(&state, &key);
	for (size_t i = 0; i < words; i++) {
		memcpy(&word, text + 8 * i, sizeof(word));
		context_hash_add(&state, word);
	}
	return context_hash_final(&state);
}

/* The reference: CPython's hash() of bytes is SipHash-1-3, with a zero key for PYTHONHASHSEED=0. */
static void it_is_siphash_1_3(void **state)
{
	(void)state;
	assert_true(hash_words("abcdefgh", 1) == 0x3f7b849c0b8e35eaULL);
	assert_true(hash_words("abcdefghABCDEFGH", 2) == 0x6da2727a58cdf8b4ULL);
}

static uint64_t hash_value(const struct value_snapshot *value)
{
	struct context_hash_key key = { { 7, 9 } };
	struct context_hash_state state;

	context_hash_init(&state, &key);
	context_hash_add_value(&state, value);
	return context_hash_final(&state);
}

static void every_part_of_a_value_counts(void **state)
{
	struct value_snapshot value = { .kind = VALUE_KIND_STRING, .length_bytes = 5, .raw = 5 };
	struct value_snapshot other;
	uint64_t hash;

	(void)state;
	memcpy(value.bytes, "abcde", 5);
	hash = hash_value(&value);
	other = value;
	assert_true(hash_value(&other) == hash);
	other.bytes[4] = 'f';
	assert_true(hash_value(&other) != hash);
	other = value;
	other.kind = VALUE_KIND_SYMBOL;
	assert_true(hash_value(&other) != hash);
	other = value;
	other.raw = 500;
	assert_true(hash_value(&other) != hash);
	other = value;
	other.length_bytes = 6;
	assert_true(hash_value(&other) != hash);
	other = value;
	other.encoding = 1;
	assert_true(hash_value(&other) != hash);
	other = value;
	other.flags = VALUE_TRUNCATED;
	assert_true(hash_value(&other) != hash);
}

static void bytes_beyond_the_length_do_not_count(void **state)
{
	struct value_snapshot value = { .kind = VALUE_KIND_STRING, .length_bytes = 8, .raw = 8 };
	uint64_t hash = hash_value(&value);

	(void)state;
	memset(value.bytes + 8, 0xaa, VALUE_BYTES_MAX - 8);
	assert_true(hash_value(&value) == hash);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_siphash_1_3),
		cmocka_unit_test(every_part_of_a_value_counts),
		cmocka_unit_test(bytes_beyond_the_length_do_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
