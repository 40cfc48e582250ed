/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Objects on the heap of a live CRuby (2.7 to 4.1dev, 64-bit, little-endian): the parts that the
 * symbol table is made of. Works on a copy of an object's first 40 bytes, the smallest slot of any
 * version, so nothing beyond the object is read. Pure but for ruby_object_read.
 *
 * Everything is hostile data: a pointer that is returned is plausible, not valid; a length is
 * bounded. Facts: include/ruby/internal/core/ rbasic.h, rstring.h, rarray.h, rtypeddata.h and
 * symbol.h, v2_7_4 to v4_0_1, checked on live builds of each.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <correlator/config.h>

#include "recorder/target/proc/memory_reader.h"

/* enum ruby_value_type (value_type.h), unchanged since 2.7. */
enum ruby_object_type {
	RUBY_OBJECT_STRING = 0x05,
	RUBY_OBJECT_ARRAY = 0x07,
	RUBY_OBJECT_DATA = 0x0c,
	RUBY_OBJECT_SYMBOL = 0x14,
	RUBY_OBJECT_TYPE_MASK = 0x1f,
};

enum {
	RUBY_OBJECT_WORDS = 5
};

struct ruby_object {
	uint64_t address;
	uint64_t words[RUBY_OBJECT_WORDS]; /* flags, class, then by type */
};

struct ruby_string {
	uint64_t address; /* of the text; not NUL-terminated */
	uint64_t length_bytes; /* below 2^40 */
	uint8_t encoding; /* index of the encoding, encindex.h */
};

struct ruby_array {
	uint64_t address; /* of the elements */
	uint64_t count;
};

/* True if a VALUE can be the address of an object: aligned, above the first 64 KiB, below 2^56. */
bool ruby_object_is_address(uint64_t value);

/* Copies an object. 0, -EINVAL (value is not an address), or what the reader returned. */
int ruby_object_read(const struct memory_reader *reader, uint64_t value,
		     struct ruby_object *ret_object);

/* Each: 0, or -EINVAL when the object is of another type or its fields are impossible. */
int ruby_object_string(const struct ruby_object *object, enum string_layout layout,
		       struct ruby_string *ret_string);
int ruby_object_array(const struct ruby_object *object, struct ruby_array *ret_array);
/* The address of the C structure that a T_DATA wraps. */
int ruby_object_data(const struct ruby_object *object, uint64_t *ret_address);
/* The ID of a heap symbol; 0 when it has none (yet). */
int ruby_object_symbol_id(const struct ruby_object *object, uint64_t *ret_id);
