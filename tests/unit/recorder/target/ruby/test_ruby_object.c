/* SPDX-License-Identifier: GPL-2.0-only */
/* What an object's own words say of it, at each bound of what they may say. */
#include "recorder/target/ruby/ruby_object.h"

#include <errno.h>
#include <stdbool.h>

#include "unit_test.h"

#include "recorder/target/forged_memory.h"

enum {
	FLAG_13 = 1 << 13
};

#define PLACE  UINT64_C(0x7f0000001000)
#define BEYOND (UINT64_C(1) << 40) /* of any length */

TEST(ruby_object_address_is_aligned_and_within_range)
{
	assert_true(ruby_object_is_address(0x10000));
	assert_false(ruby_object_is_address(0x10000 - 8));
	assert_true(ruby_object_is_address((UINT64_C(1) << 56) - 8));
	assert_false(ruby_object_is_address(UINT64_C(1) << 56));
	for (uint64_t bit = 1; bit < 8; bit *= 2)
		assert_false(ruby_object_is_address(PLACE + bit));
	assert_true(ruby_object_is_address(PLACE + 8));
}

TEST(ruby_object_read_copies_first_40_bytes)
{
	static struct forged_memory memory;
	const struct memory_reader reader = forged_reader(&memory);
	const uint64_t words[] = { 1, 2, 3, 4, 5 };
	struct ruby_object object;
	uint64_t address = forged_words(&memory, words, 5);

	assert_int_equal(ruby_object_read(&reader, address, &object), 0);
	assert_int_equal(object.address, address);
	assert_memory_equal(object.words, words, sizeof(words));
	assert_int_equal(ruby_object_read(&reader, address + 1, &object), -EINVAL);
	assert_int_equal(ruby_object_read(&reader, FORGED_BASE + FORGED_BYTES - 40, &object), 0);
	assert_int_equal(ruby_object_read(&reader, FORGED_BASE + FORGED_BYTES - 32, &object),
			 -EFAULT);
}

static int string_of(uint64_t flags, uint64_t length, uint64_t address, enum string_layout layout,
		     struct ruby_string *ret_string)
{
	const struct ruby_object object = { PLACE, { flags | 5, 0, length, address, 0 } };

	return ruby_object_string(&object, layout, ret_string);
}

TEST(ruby_object_string_is_embedded_or_on_heap)
{
	struct ruby_string string;

	assert_int_equal(string_of(7 << 14 | 0x55 << 22, 99, 0, STRING_LAYOUT_FLAGS, &string), 0);
	assert_int_equal(string.address, PLACE + 16);
	assert_int_equal(string.length_bytes, 7);
	assert_int_equal(string.encoding, 0x55);
	assert_int_equal(string_of(0x7fULL << 22, 9, 0, STRING_LAYOUT_LONG, &string), 0);
	assert_int_equal(string.address, PLACE + 24);
	assert_int_equal(string.length_bytes, 9);
	assert_int_equal(string.encoding, 0x7f);
	for (int layout = STRING_LAYOUT_FLAGS; layout <= STRING_LAYOUT_LONG; layout++) {
		assert_int_equal(
			string_of(FLAG_13, 1 << 20, 0x10001, (enum string_layout)layout, &string),
			0);
		assert_int_equal(string.address, 0x10001);
		assert_int_equal(string.length_bytes, 1 << 20);
	}
}

TEST(ruby_object_rejects_impossible_string)
{
	const struct ruby_object array = { PLACE, { 7, 0, 1, PLACE, 0 } };
	struct ruby_string string;

	/* What a slot of 40 bytes, and the largest of all, have room for. */
	assert_int_equal(string_of(23 << 14, 0, 0, STRING_LAYOUT_FLAGS, &string), 0);
	assert_int_equal(string_of(24 << 14, 0, 0, STRING_LAYOUT_FLAGS, &string), -EINVAL);
	assert_int_equal(string_of(0, 640 - 24, 0, STRING_LAYOUT_LONG, &string), 0);
	assert_int_equal(string_of(0, 640 - 23, 0, STRING_LAYOUT_LONG, &string), -EINVAL);
	assert_int_equal(string_of(FLAG_13, BEYOND - 1, PLACE, STRING_LAYOUT_LONG, &string), 0);
	assert_int_equal(string_of(FLAG_13, BEYOND, PLACE, STRING_LAYOUT_LONG, &string), -EINVAL);
	assert_int_equal(string_of(FLAG_13, 1, 0x10000, STRING_LAYOUT_LONG, &string), 0);
	assert_int_equal(string_of(FLAG_13, 1, 0xffff, STRING_LAYOUT_LONG, &string), -EINVAL);
	assert_int_equal(ruby_object_string(&array, STRING_LAYOUT_LONG, &string), -EINVAL);
}

static int array_of(uint64_t flags, uint64_t count, uint64_t address, struct ruby_array *ret_array)
{
	const struct ruby_object object = { PLACE, { flags | 7, 0, count, 0, address } };

	return ruby_object_array(&object, ret_array);
}

TEST(ruby_object_array_is_embedded_or_on_heap)
{
	struct ruby_array array;
	const struct ruby_object string = { PLACE, { 5, 0, 1, 0, PLACE } };

	assert_int_equal(array_of(FLAG_13 | 0x7f << 15, 9, 0, &array), 0);
	assert_int_equal(array.address, PLACE + 16);
	assert_int_equal(array.count, 0x7f);
	assert_int_equal(array_of(0x7f << 15, 9, PLACE + 8, &array), 0);
	assert_int_equal(array.address, PLACE + 8);
	assert_int_equal(array.count, 9);
	assert_int_equal(array_of(0, BEYOND - 1, PLACE, &array), 0);
	assert_int_equal(array_of(0, BEYOND, PLACE, &array), -EINVAL);
	/* An empty one need not be anywhere. */
	assert_int_equal(array_of(0, 0, 0, &array), 0);
	assert_int_equal(array.count, 0);
	assert_int_equal(array_of(0, 1, 0, &array), -EINVAL);
	assert_int_equal(ruby_object_array(&string, &array), -EINVAL);
}

TEST(ruby_object_data_is_embedded_if_third_word_says_so)
{
	static const struct {
		uint64_t type;
		bool is_embedded;
	} cases[] = {
		/* typed_flag, up to 3.4. */
		{ 0, false },
		{ 1, false },
		{ 2, true },
		{ 3, true },
		/* The type's address, since 4.0. */
		{ PLACE, false },
		{ PLACE | 1, true },
		{ PLACE | 2, false },
		{ 4, false },
	};
	struct ruby_object object = { PLACE, { 0xc, 0, 0, 0, PLACE + 800 } };
	uint64_t address = 77;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		object.words[3] = cases[i].type;
		assert_int_equal(ruby_object_data(&object, &address), 0);
		assert_int_equal(address, PLACE + (cases[i].is_embedded ? 32 : 800));
	}
	object.words[4] = 1;
	object.words[3] = PLACE | 1;
	assert_int_equal(ruby_object_data(&object, &address), 0);
	object.words[3] = PLACE;
	assert_int_equal(ruby_object_data(&object, &address), -EINVAL);
	object.words[4] = PLACE;
	object.words[0] = 5;
	assert_int_equal(ruby_object_data(&object, &address), -EINVAL);
}

TEST(ruby_object_symbol_id_is_fourth_word)
{
	struct ruby_object object = { PLACE, { 0x14 | FLAG_13, 0, 0, 3, 77 } };
	uint64_t id = 0;

	assert_int_equal(ruby_object_symbol_id(&object, &id), 0);
	assert_int_equal(id, 77);
	object.words[0] = 5;
	assert_int_equal(ruby_object_symbol_id(&object, &id), -EINVAL);
}
