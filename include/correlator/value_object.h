/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the fixed part of a Ruby heap object: which kind of value it is and where its bytes are.
 * Pure, shared by the kernel programs, the unit tests and the fuzzer.
 *
 * Sources: include/ruby/internal/core/{rbasic,rstring,rfloat}.h, internal/{symbol,bignum}.h of
 * CRuby 2.7 to 4.1dev; the string layout changed in 3.2 (struct RString, v3_2_0).
 */
#pragma once

#include <linux/types.h>

#include <correlator/config.h>
#include <correlator/snapshot.h>

/* Every heap object has a slot of at least five words (RVALUE, gc.c). */
enum {
	VALUE_OBJECT_WORDS = 5
};

enum ruby_type {
	RUBY_TYPE_MASK = 0x1f,
	RUBY_TYPE_NONE = 0, /* a freed slot */
	RUBY_TYPE_FLOAT = 0x04,
	RUBY_TYPE_STRING = 0x05,
	RUBY_TYPE_BIGNUM = 0x0a,
	RUBY_TYPE_SYMBOL = 0x14,
	RUBY_TYPE_MOVED = 0x1e, /* GC.compact is running, references are not updated yet */
};

/* Where a value's bytes are. The caller reads them, and captures at most VALUE_BYTES_MAX. */
struct value_location {
	__u64 address;
	__u64 length_bytes; /* length of the whole value; 0 = nothing to read */
	__u64 raw; /* value_snapshot.raw */
	__u32 kind; /* enum value_kind */
	__u32 flags; /* enum value_snapshot_flags */
	__u32 type;
	__u32 encoding;
};

/* A VALUE that is not a pointer: fixnum, flonum, static symbol, true, false, nil, undef. */
static inline int value_is_immediate(__u64 value)
{
	return (value & 7) != 0 || value <= 8;
}

static inline int value_is_moved(const __u64 *words)
{
	return (words[0] & RUBY_TYPE_MASK) == RUBY_TYPE_MOVED;
}

/*
 * Index of the word of a moved object that is its new address: struct RMoved, gc.c. Since 3.0 the
 * third word, and the second is no pointer; in 2.7 the second, and the third is another moved
 * object or none.
 */
enum {
	VALUE_MOVED_WORD = 2,
	VALUE_MOVED_WORD_2_7 = 1
};

/* Whether these are the words of an object that is in use and has not moved. */
static inline int value_is_at_home(const __u64 *words)
{
	__u32 type = words[0] & RUBY_TYPE_MASK;

	return type != RUBY_TYPE_NONE && type != RUBY_TYPE_MOVED;
}

/*
 * Returns one encoding for all whose bytes are shown alike (as UTF-8, where they are valid): equal
 * text is one context. encindex.h, unchanged from v2_7_0 to v4_0_1.
 */
static inline __u32 value_encoding(__u32 encoding)
{
	enum {
		BINARY = 0,
		US_ASCII = 2,
		UTF8_MAC = 9
	};

	if (encoding == BINARY || encoding == US_ASCII || encoding == UTF8_MAC)
		return VALUE_ENCODING_UTF_8;
	return encoding;
}

static inline void value_locate_string(const __u64 *words, __u64 address, __u32 layout,
				       struct value_location *ret_location)
{
	enum {
		NOEMBED = 1 << 13,
		TEXT_MAX_SHIFT = 40
	};
	__u64 flags = words[0];
	__u64 length = words[2];
	__u64 text = words[3];

	if (!(flags & NOEMBED)) {
		if (layout == STRING_LAYOUT_FLAGS) {
			length = (flags >> 14) & 0x1f;
			text = address + 16;
		} else {
			text = address + 24;
		}
	}
	ret_location->address = text;
	ret_location->length_bytes = length;
	ret_location->raw = length;
	ret_location->encoding = value_encoding((flags >> 22) & 0x7f);
	ret_location->kind = VALUE_KIND_STRING;
	/* No string is that long: garbage. */
	if (length >> TEXT_MAX_SHIFT) {
		ret_location->kind = VALUE_KIND_UNREADABLE;
		ret_location->length_bytes = 0;
	}
}

static inline void value_locate_bignum(const __u64 *words, __u64 address, __u32 embed_mask,
				       struct value_location *ret_location)
{
	enum {
		POSITIVE = 1 << 13,
		EMBED = 1 << 14,
		DIGITS_MAX_SHIFT = 36
	};
	__u64 flags = words[0];
	__u64 digits = (flags & EMBED) ? (flags >> 15) & embed_mask : words[2];

	ret_location->address = (flags & EMBED) ? address + 16 : words[3];
	ret_location->raw = digits;
	ret_location->length_bytes = digits * 4;
	ret_location->flags = (flags & POSITIVE) ? 0 : VALUE_NEGATIVE;
	ret_location->kind = VALUE_KIND_BIGNUM;
	if (digits >> DIGITS_MAX_SHIFT) {
		ret_location->kind = VALUE_KIND_UNREADABLE;
		ret_location->length_bytes = 0;
	}
}

/*
 * words: the first VALUE_OBJECT_WORDS of the object at address. For a heap symbol, kind is SYMBOL
 * and address is that of its name String, whose words the caller locates in turn.
 */
static inline void value_locate(const __u64 *words, __u64 address,
				const struct process_config *config,
				struct value_location *ret_location)
{
	__u32 type = words[0] & RUBY_TYPE_MASK;

	ret_location->address = 0;
	ret_location->length_bytes = 0;
	ret_location->raw = 0;
	ret_location->flags = 0;
	ret_location->type = type;
	ret_location->encoding = 0;
	switch (type) {
	case RUBY_TYPE_STRING:
		value_locate_string(words, address, config->string_layout, ret_location);
		break;
	case RUBY_TYPE_SYMBOL:
		ret_location->kind = VALUE_KIND_SYMBOL;
		ret_location->address = words[3];
		break;
	case RUBY_TYPE_FLOAT:
		ret_location->kind = VALUE_KIND_FLOAT;
		ret_location->raw = words[2];
		break;
	case RUBY_TYPE_BIGNUM:
		value_locate_bignum(words, address, config->bignum_embed_mask, ret_location);
		break;
	case RUBY_TYPE_NONE:
	case RUBY_TYPE_MOVED:
		ret_location->kind = VALUE_KIND_UNREADABLE;
		ret_location->raw = address;
		break;
	default:
		ret_location->kind = VALUE_KIND_OBJECT;
		ret_location->raw = words[1];
		break;
	}
}
