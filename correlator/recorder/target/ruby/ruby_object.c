/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/ruby/ruby_object.h"

#include <errno.h>

enum {
	/* The first 64 KiB are never mapped (vm.mmap_min_addr) and hold the immediate VALUEs. */
	ADDRESS_MIN = 0x10000,
	ADDRESS_BITS = 56,
	LENGTH_BITS = 40,
	/* FL_USHIFT is 12, so FL_USERn is bit 12 + n: fl_type.h. */
	STRING_NOEMBED = 1 << 13,
	STRING_EMBED_SHIFT = 14,
	STRING_EMBED_MASK = 0x1f,
	STRING_ENCODING_SHIFT = 22,
	STRING_ENCODING_MASK = 0x7f,
	/* RSTRING_EMBED_LEN_MAX of a 40-byte slot up to 3.1, and what the 640-byte slot holds. */
	STRING_EMBED_FLAGS_MAX = 23,
	STRING_EMBED_LONG_MAX = 640 - 24,
	ARRAY_EMBED = 1 << 13,
	ARRAY_EMBED_SHIFT = 15,
	/* Two bits up to 3.1, where the other five are always clear; seven since. */
	ARRAY_EMBED_MASK = 0x7f,
};

bool ruby_object_is_address(uint64_t value)
{
	return (value & 7) == 0 && value >= ADDRESS_MIN && value >> ADDRESS_BITS == 0;
}

int ruby_object_read(const struct memory_reader *reader, uint64_t value,
		     struct ruby_object *ret_object)
{
	struct ruby_object object = { .address = value };
	int r;

	if (!ruby_object_is_address(value))
		return -EINVAL;
	r = memory_read(reader, value, object.words, sizeof(object.words));
	if (r < 0)
		return r;
	*ret_object = object;
	return 0;
}

static enum ruby_object_type type_of(const struct ruby_object *object)
{
	return (enum ruby_object_type)(object->words[0] & RUBY_OBJECT_TYPE_MASK);
}

int ruby_object_string(const struct ruby_object *object, enum string_layout layout,
		       struct ruby_string *ret_string)
{
	uint64_t flags = object->words[0];
	struct ruby_string string;

	if (type_of(object) != RUBY_OBJECT_STRING)
		return -EINVAL;
	string.encoding = (uint8_t)(flags >> STRING_ENCODING_SHIFT & STRING_ENCODING_MASK);
	string.length_bytes = object->words[2];
	if (flags & STRING_NOEMBED) {
		string.address = object->words[3];
	} else if (layout == STRING_LAYOUT_FLAGS) {
		string.address = object->address + 16;
		string.length_bytes = flags >> STRING_EMBED_SHIFT & STRING_EMBED_MASK;
		if (string.length_bytes > STRING_EMBED_FLAGS_MAX)
			return -EINVAL;
	} else {
		string.address = object->address + 24;
		if (string.length_bytes > STRING_EMBED_LONG_MAX)
			return -EINVAL;
	}
	if (string.address < ADDRESS_MIN || string.length_bytes >> LENGTH_BITS != 0)
		return -EINVAL;
	*ret_string = string;
	return 0;
}

int ruby_object_array(const struct ruby_object *object, struct ruby_array *ret_array)
{
	uint64_t flags = object->words[0];
	struct ruby_array array;

	if (type_of(object) != RUBY_OBJECT_ARRAY)
		return -EINVAL;
	if (flags & ARRAY_EMBED) {
		array.address = object->address + 16;
		array.count = flags >> ARRAY_EMBED_SHIFT & ARRAY_EMBED_MASK;
	} else {
		array.address = object->words[4];
		array.count = object->words[2];
	}
	if (array.count >> LENGTH_BITS != 0 ||
	    (array.count > 0 && !ruby_object_is_address(array.address)))
		return -EINVAL;
	*ret_array = array;
	return 0;
}

int ruby_object_data(const struct ruby_object *object, uint64_t *ret_address)
{
	/*
	 * Word 3 is typed_flag up to 3.4 (1, or 3 when the structure is embedded in the object),
	 * and the type's address since 4.0, with bit 0 set when it is embedded. Either way the
	 * structure, or the pointer to it, is at word 4.
	 */
	uint64_t word = object->words[3];
	bool is_embedded = word <= 3 ? word & 2 : word & 1;
	uint64_t address = is_embedded ? object->address + 32 : object->words[4];

	if (type_of(object) != RUBY_OBJECT_DATA || !ruby_object_is_address(address))
		return -EINVAL;
	*ret_address = address;
	return 0;
}

int ruby_object_symbol_id(const struct ruby_object *object, uint64_t *ret_id)
{
	if (type_of(object) != RUBY_OBJECT_SYMBOL)
		return -EINVAL;
	*ret_id = object->words[4];
	return 0;
}
