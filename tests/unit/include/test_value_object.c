/* SPDX-License-Identifier: GPL-2.0-only */
#include <correlator/value_object.h>

#include <stdbool.h>
#include <string.h>

#include "unit_test.h"

enum {
	NOEMBED = 1 << 13,
	ADDRESS = 0x7f0000001000 & 0x7fffffff
};

static const struct process_config OLD_STRINGS = { .string_layout = STRING_LAYOUT_FLAGS,
						   .bignum_embed_mask = 7 };
static const struct process_config NEW_STRINGS = { .string_layout = STRING_LAYOUT_LONG,
						   .bignum_embed_mask = 0x1ff };

static struct value_location locate(const __u64 *words, const struct process_config *config)
{
	struct value_location location;

	memset(&location, 0x5a, sizeof(location));
	value_locate(words, ADDRESS, config, &location);
	return location;
}

TEST(value_string_before_3_2_has_length_in_flags)
{
	const __u64 words[] = { RUBY_TYPE_STRING | 11 << 14 | 1 << 22, 0x1000, 0, 0, 0 };
	struct value_location location = locate(words, &OLD_STRINGS);

	assert_int_equal(location.kind, VALUE_KIND_STRING);
	assert_int_equal(location.address, ADDRESS + 16);
	assert_int_equal(location.length_bytes, 11);
	assert_int_equal(location.encoding, 1);
}

TEST(value_encodings_shown_alike_are_equal)
{
	const __u32 alike[] = { 0, 1, 2, 9 };
	__u64 words[] = { 0, 0x1000, 4, 0, 0 };

	for (__u64 encoding = 0; encoding < 128; encoding++) {
		bool is_alike = false;

		for (size_t i = 0; i < sizeof(alike) / sizeof(alike[0]); i++)
			is_alike |= alike[i] == encoding;
		words[0] = RUBY_TYPE_STRING | encoding << 22;
		assert_int_equal(locate(words, &OLD_STRINGS).encoding, is_alike ? 1 : encoding);
	}
}

TEST(value_string_since_3_2_has_length_word)
{
	const __u64 words[] = { RUBY_TYPE_STRING, 0x1000, 36, 0, 0 };
	struct value_location location = locate(words, &NEW_STRINGS);

	assert_int_equal(location.address, ADDRESS + 24);
	assert_int_equal(location.length_bytes, 36);
}

TEST(value_heap_string_is_equal_in_both_layouts)
{
	const __u64 words[] = { RUBY_TYPE_STRING | NOEMBED, 0x1000, 300, 0x7f0012345678, 0 };
	struct value_location old = locate(words, &OLD_STRINGS);
	struct value_location new = locate(words, &NEW_STRINGS);

	assert_int_equal(old.address, 0x7f0012345678);
	assert_int_equal(old.length_bytes, 300);
	assert_memory_equal(&old, &new, sizeof(old));
}

TEST(value_string_longer_than_memory_is_unreadable)
{
	const __u64 words[] = { RUBY_TYPE_STRING | NOEMBED, 0x1000, 1ULL << 62, 0x7f0012345678, 0 };
	struct value_location location = locate(words, &NEW_STRINGS);

	assert_int_equal(location.kind, VALUE_KIND_UNREADABLE);
	assert_int_equal(location.length_bytes, 0);
}

TEST(value_freed_slot_is_unreadable)
{
	const __u64 words[VALUE_OBJECT_WORDS] = { 0 };

	assert_int_equal(locate(words, &NEW_STRINGS).kind, VALUE_KIND_UNREADABLE);
}

TEST(value_moved_object_is_unreadable_and_not_at_home)
{
	const __u64 moved[] = { RUBY_TYPE_MOVED, 0x34, 0x7f0012345678, 0, 0 };
	const __u64 freed[] = { RUBY_TYPE_NONE, 0, 0, 0, 0 };
	const __u64 string[] = { RUBY_TYPE_STRING, 0x1000, 36, 0, 0 };

	assert_true(value_is_moved(moved));
	assert_int_equal(moved[VALUE_MOVED_WORD], 0x7f0012345678);
	assert_false(value_is_at_home(moved));
	assert_int_equal(locate(moved, &NEW_STRINGS).kind, VALUE_KIND_UNREADABLE);
	assert_false(value_is_moved(freed));
	assert_false(value_is_at_home(freed));
	assert_false(value_is_moved(string));
	assert_true(value_is_at_home(string));
}

TEST(value_bignum_is_embedded_or_on_heap)
{
	const __u64 embedded[] = { RUBY_TYPE_BIGNUM | NOEMBED | 1 << 14 | 3 << 15, 0x1000, 0, 0,
				   0 };
	const __u64 heap[] = { RUBY_TYPE_BIGNUM, 0x1000, 40, 0x7f0012345678, 0 };
	struct value_location location = locate(embedded, &OLD_STRINGS);

	assert_int_equal(location.kind, VALUE_KIND_BIGNUM);
	assert_int_equal(location.address, ADDRESS + 16);
	assert_int_equal(location.length_bytes, 12);
	assert_int_equal(location.flags, 0);
	location = locate(heap, &OLD_STRINGS);
	assert_int_equal(location.address, 0x7f0012345678);
	assert_int_equal(location.length_bytes, 160);
	assert_int_equal(location.flags, VALUE_NEGATIVE);
}

TEST(value_bignum_longer_than_memory_is_unreadable)
{
	__u64 words[] = { RUBY_TYPE_BIGNUM, 0x1000, (1ULL << 36) - 1, 0x7f0012345678, 0 };
	struct value_location location = locate(words, &OLD_STRINGS);

	assert_int_equal(location.kind, VALUE_KIND_BIGNUM);
	assert_int_equal(location.length_bytes, (1ULL << 38) - 4);
	words[2]++;
	location = locate(words, &OLD_STRINGS);
	assert_int_equal(location.kind, VALUE_KIND_UNREADABLE);
	assert_int_equal(location.length_bytes, 0);
}

TEST(value_of_other_object_is_its_class)
{
	const __u64 words[] = { 8 /* T_HASH */, 0x7f0000002000, 1, 2, 3 };
	struct value_location location = locate(words, &NEW_STRINGS);

	assert_int_equal(location.kind, VALUE_KIND_OBJECT);
	assert_int_equal(location.raw, 0x7f0000002000);
	assert_int_equal(location.type, 8);
	assert_int_equal(location.address, 0);
	assert_int_equal(location.length_bytes, 0);
}

TEST(value_pointer_is_distinguished_from_immediate)
{
	static const uint64_t immediates[] = { 0,    8,	   4,	    0x14,
					       0x24, 0x34, 1,	    0x7fffffffffffffff,
					       2,    0x0c, 0xf4e10c };

	for (unsigned int i = 0; i < sizeof(immediates) / sizeof(immediates[0]); i++)
		assert_true(value_is_immediate(immediates[i]));
	assert_false(value_is_immediate(0x7f0000001000));
	assert_false(value_is_immediate(16));
}
