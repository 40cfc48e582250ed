/* SPDX-License-Identifier: GPL-2.0-only */
#include <correlator/context_hash.h>

#include <string.h>

#include "unit_test.h"

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
TEST(context_hash_is_siphash_1_3)
{
	assert_true(hash_words("abcdefgh", 1) == 0x3f7b849c0b8e35eaULL);
	assert_true(hash_words("abcdefghABCDEFGH", 2) == 0x6da2727a58cdf8b4ULL);
}

TEST(context_hash_reserve_avoids_reserved_values)
{
	for (uint64_t hash = 0; hash < CONTEXT_HASH_FIRST; hash++)
		assert_true(context_hash_reserve(hash) == CONTEXT_HASH_FIRST + hash);
	assert_true(context_hash_reserve(CONTEXT_HASH_FIRST) == CONTEXT_HASH_FIRST);
	assert_true(context_hash_reserve(UINT64_MAX) == UINT64_MAX);
}

static uint64_t hash_value(const struct value_snapshot *value)
{
	struct context_hash_key key = { { 7, 9 } };
	struct context_hash_state state;

	context_hash_init(&state, &key);
	context_hash_add_value(&state, value);
	return context_hash_final(&state);
}

TEST(context_hash_covers_every_part_of_value)
{
	struct value_snapshot value = { .kind = VALUE_KIND_STRING, .length_bytes = 5, .raw = 5 };
	struct value_snapshot other;
	uint64_t hash;

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

/* Two that differ in something else each. */
TEST(context_hash_distinguishes_parts_of_value)
{
	uint64_t hashes[3 * 8 + 5];
	size_t count = 0;

	for (uint32_t bit = 1; bit < 256; bit <<= 1) {
		const __u8 byte = (__u8)bit;
		const struct value_snapshot of_flags = { .flags = byte },
					    of_type = { .type = byte },
					    of_encoding = { .encoding = byte };

		hashes[count++] = hash_value(&of_flags);
		hashes[count++] = hash_value(&of_type);
		hashes[count++] = hash_value(&of_encoding);
	}
	for (__u16 length = 1; length <= 16; length <<= 1) {
		const struct value_snapshot of_length = { .length_bytes = length };

		hashes[count++] = hash_value(&of_length);
	}
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < i; j++)
			assert_true(hashes[i] != hashes[j]);
}

TEST(context_hash_covers_bytes_up_to_last_word)
{
	struct value_snapshot value = { .kind = VALUE_KIND_STRING };

	for (size_t length = 0; length <= VALUE_BYTES_MAX; length++) {
		uint64_t hash;

		value.length_bytes = (__u16)length;
		hash = hash_value(&value);
		for (size_t i = 0; i < VALUE_BYTES_MAX; i++) {
			value.bytes[i] ^= 1;
			assert_int_equal(hash_value(&value) != hash, i < (length + 7) / 8 * 8);
			value.bytes[i] ^= 1;
		}
	}
}
