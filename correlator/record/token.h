/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The front of one msgpack value in untrusted bytes: its kind, its length, and the number of values
 * in it. Reads nothing after its mark and its length. Pure; any thread. Format: the msgpack
 * specification ("Formats"), https://github.com/msgpack/msgpack.
 */
#pragma once

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum token_kind {
	TOKEN_BAD = 0, /* not msgpack */
	TOKEN_CUT, /* its length is cut off */
	TOKEN_OTHER, /* nil, a float, binary, an extension: no record has one */
	TOKEN_FALSE,
	TOKEN_TRUE,
	TOKEN_UNSIGNED, /* the payload is the number, big-endian */
	TOKEN_SIGNED,
	TOKEN_TEXT, /* the payload is the text */
	TOKEN_ARRAY, /* its values follow */
	TOKEN_MAP, /* its pairs of name and value follow */
};

/* Small enough for a register: a record has sixty of them. */
struct token {
	uint8_t kind;
	uint8_t head_bytes; /* before the payload; 0: the mark itself is the number */
	uint32_t count; /* as claimed: bytes of the payload; values in an array, pairs in a map */
};

/* The meaning of the first byte of a value. */
struct token_mark {
	uint8_t kind;
	uint8_t head_bytes;
	uint8_t length_bytes; /* of the count, after the mark; 0: it is the count below */
	uint8_t count;
};
extern const struct token_mark token_marks[256];

/* The big-endian number in 1, 2, 4 or 8 bytes. */
static inline uint64_t token_number(const uint8_t *bytes, size_t size_bytes)
{
	uint64_t eight;
	uint32_t four;
	uint16_t two;

	switch (size_bytes) {
	case 1:
		return bytes[0];
	case 2:
		memcpy(&two, bytes, sizeof(two));
		return be16toh(two);
	case 4:
		memcpy(&four, bytes, sizeof(four));
		return be32toh(four);
	default:
		memcpy(&eight, bytes, sizeof(eight));
		return be64toh(eight);
	}
}

/*
 * available_bytes >= 1. The marks of nearly all values in records are tested one by one: each
 * decides where the next value begins, and a predicted branch need not wait for the byte, as a
 * table lookup does.
 */
static inline struct token token_read(const uint8_t *bytes, size_t available_bytes)
{
	const struct token_mark *mark = &token_marks[bytes[0]];
	struct token token = { mark->kind, mark->head_bytes, mark->count };

	if ((bytes[0] & 0xe0) == 0xa0)
		return (struct token){ TOKEN_TEXT, 1, bytes[0] & 0x1f };
	if (bytes[0] <= 0x7f)
		return (struct token){ TOKEN_UNSIGNED, 0, 1 };
	if (bytes[0] == 0xce)
		return (struct token){ TOKEN_UNSIGNED, 1, 4 };
	if (bytes[0] == 0xcf)
		return (struct token){ TOKEN_UNSIGNED, 1, 8 };
	if (mark->length_bytes == 0)
		return token;
	if (available_bytes <= mark->length_bytes)
		return (struct token){ .kind = TOKEN_CUT };
	token.count = (uint32_t)token_number(bytes + 1, mark->length_bytes);
	return token;
}

/* Its own size, excluding the values in it. */
static inline uint64_t token_bytes(struct token token)
{
	return token.head_bytes + (token.kind < TOKEN_ARRAY ? (uint64_t)token.count : 0);
}
