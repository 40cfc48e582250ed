/* SPDX-License-Identifier: GPL-2.0-only */
#include "record/entry_scan.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"

/* The first bytes of every entry: an array of two, EventTime's marks; and of every map of ours. */
static const uint8_t head[] = { 0x92, 0xd7, 0x00 };
static const uint8_t names[] = "\xa6schema\x01\xa4kind";

enum {
	HEAD_BYTES = 1 + ENTRY_TIME_BYTES, /* before the map */
	/* Where the next entry mostly begins. Farther than that is only looked where there is none,
	 * so that the work of scanning an entry is shared out over so many bytes. */
	NEAR_BYTES = 1024
};

/* One msgpack value: its own bytes (head and text), and how many values follow inside it. */
struct token {
	uint64_t size_bytes;
	uint64_t child_count;
	bool is_container;
};

static uint64_t read_big_endian(const uint8_t *bytes, size_t size_bytes)
{
	uint64_t value = 0;

	for (size_t i = 0; i < size_bytes; i++)
		value = value << 8 | bytes[i];
	return value;
}

/* Values 0xc0 to 0xdf: what each mark is, by its low five bits. */
enum shape {
	SHAPE_BAD = 0,
	SHAPE_FIXED, /* parameter: bytes after the mark */
	SHAPE_COUNTED, /* parameter: bytes of the length field */
	SHAPE_EXT, /* the same, and a type byte */
	SHAPE_ARRAY,
	SHAPE_MAP,
};

static const struct {
	uint8_t shape;
	uint8_t parameter;
} shapes[32] = {
	[0x00] = { SHAPE_FIXED, 0 },   [0x02] = { SHAPE_FIXED, 0 },   [0x03] = { SHAPE_FIXED, 0 },
	[0x04] = { SHAPE_COUNTED, 1 }, [0x05] = { SHAPE_COUNTED, 2 }, [0x06] = { SHAPE_COUNTED, 4 },
	[0x07] = { SHAPE_EXT, 1 },     [0x08] = { SHAPE_EXT, 2 },     [0x09] = { SHAPE_EXT, 4 },
	[0x0a] = { SHAPE_FIXED, 4 },   [0x0b] = { SHAPE_FIXED, 8 },   [0x0c] = { SHAPE_FIXED, 1 },
	[0x0d] = { SHAPE_FIXED, 2 },   [0x0e] = { SHAPE_FIXED, 4 },   [0x0f] = { SHAPE_FIXED, 8 },
	[0x10] = { SHAPE_FIXED, 1 },   [0x11] = { SHAPE_FIXED, 2 },   [0x12] = { SHAPE_FIXED, 4 },
	[0x13] = { SHAPE_FIXED, 8 },   [0x14] = { SHAPE_FIXED, 2 },   [0x15] = { SHAPE_FIXED, 3 },
	[0x16] = { SHAPE_FIXED, 5 },   [0x17] = { SHAPE_FIXED, 9 },   [0x18] = { SHAPE_FIXED, 17 },
	[0x19] = { SHAPE_COUNTED, 1 }, [0x1a] = { SHAPE_COUNTED, 2 }, [0x1b] = { SHAPE_COUNTED, 4 },
	[0x1c] = { SHAPE_ARRAY, 2 },   [0x1d] = { SHAPE_ARRAY, 4 },   [0x1e] = { SHAPE_MAP, 2 },
	[0x1f] = { SHAPE_MAP, 4 },
};

static int scan_marked(const uint8_t *bytes, size_t available_bytes, struct token *ret_token)
{
	uint8_t shape = shapes[bytes[0] & 0x1f].shape;
	size_t parameter = shapes[bytes[0] & 0x1f].parameter;
	uint64_t length;

	if (shape == SHAPE_BAD)
		return -EBADMSG;
	if (shape == SHAPE_FIXED) {
		*ret_token = (struct token){ .size_bytes = 1 + parameter };
		return 0;
	}
	if (available_bytes < 1 + parameter)
		return -EAGAIN;
	length = read_big_endian(bytes + 1, parameter);
	if (shape == SHAPE_COUNTED || shape == SHAPE_EXT)
		*ret_token =
			(struct token){ 1 + parameter + (shape == SHAPE_EXT) + length, 0, false };
	else
		*ret_token = (struct token){ 1 + parameter,
					     shape == SHAPE_MAP ? 2 * length : length, true };
	return 0;
}

static int scan_token(const uint8_t *bytes, size_t available_bytes, struct token *ret_token)
{
	uint8_t mark = bytes[0];

	if (mark <= 0x7f || mark >= 0xe0)
		*ret_token = (struct token){ .size_bytes = 1 };
	else if (mark <= 0x8f)
		*ret_token = (struct token){ 1, 2 * (uint64_t)(mark & 0x0f), true };
	else if (mark <= 0x9f)
		*ret_token = (struct token){ 1, mark & 0x0f, true };
	else if (mark <= 0xbf)
		*ret_token = (struct token){ .size_bytes = 1 + (uint64_t)(mark & 0x1f) };
	else
		return scan_marked(bytes, available_bytes, ret_token);
	return 0;
}

int value_scan(const uint8_t *bytes, size_t available_bytes, const struct value_limits *limits,
	       size_t *ret_value_bytes)
{
	uint64_t left[VALUE_DEPTH_MAX + 1] = { 1 }; /* values still to come, by depth */
	uint64_t value_count = 0, offset = 0;
	size_t depth = 0;
	int r;

	assert(limits->depth_max <= VALUE_DEPTH_MAX);
	for (;;) {
		struct token token;

		while (depth > 0 && left[depth] == 0)
			depth--;
		if (left[depth] == 0)
			break;
		if (offset >= available_bytes)
			return -EAGAIN;
		r = scan_token(bytes + offset, available_bytes - offset, &token);
		if (r < 0)
			return r;
		left[depth]--;
		value_count += token.child_count;
		offset += token.size_bytes;
		if (offset > limits->bytes_max || value_count > limits->values_max)
			return -E2BIG;
		if (!token.is_container)
			continue;
		if (depth == limits->depth_max)
			return -ELOOP;
		left[++depth] = token.child_count;
	}
	if (offset > available_bytes)
		return -EAGAIN;
	*ret_value_bytes = offset;
	return 0;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Bytes of the mark of a map and its count; 0: it is none. */
static size_t map_mark_bytes(uint8_t mark)
{
	if ((mark & 0xf0) == 0x80)
		return 1;
	return mark == 0xde ? 3 : mark == 0xdf ? 5 : 0;
}

/* So that a file of something else is refused at byte 0. */
static int scan_head(const uint8_t *bytes, size_t available_bytes)
{
	if (available_bytes > 0 && memcmp(bytes, head, smaller(available_bytes, sizeof(head))) != 0)
		return -EBADMSG;
	if (available_bytes <= HEAD_BYTES)
		return -EAGAIN;
	return map_mark_bytes(bytes[HEAD_BYTES]) > 0 ? 0 : -EBADMSG;
}

int entry_scan(const uint8_t *bytes, size_t available_bytes, size_t *ret_entry_bytes)
{
	const struct value_limits limits = {
		.bytes_max = ENTRY_BYTES_MAX - HEAD_BYTES,
		.depth_max = ENTRY_DEPTH_MAX - 1,
		.values_max = ENTRY_VALUES_MAX,
	};
	size_t map_bytes;
	int r = scan_head(bytes, available_bytes);

	if (r == 0)
		r = value_scan(bytes + HEAD_BYTES, available_bytes - HEAD_BYTES, &limits,
			       &map_bytes);
	if (r < 0)
		return r;
	*ret_entry_bytes = HEAD_BYTES + map_bytes;
	return 0;
}

uint64_t entry_time_ns(const uint8_t *entry)
{
	const uint8_t *time = entry + sizeof(head);

	return read_big_endian(time, 4) * NS_PER_S + read_big_endian(time + 4, 4);
}

enum start {
	START_NONE = 0,
	START_BEGUN, /* as far as there are bytes */
	START_COMPLETE,
};

static enum start look_at_start(const uint8_t *bytes, size_t available_bytes)
{
	const size_t names_bytes = sizeof(names) - 1;
	int r = scan_head(bytes, available_bytes);
	size_t names_offset;

	if (r < 0)
		return r == -EAGAIN ? START_BEGUN : START_NONE;
	names_offset = HEAD_BYTES + map_mark_bytes(bytes[HEAD_BYTES]);
	if (available_bytes <= names_offset)
		return START_BEGUN;
	if (memcmp(bytes + names_offset, names,
		   smaller(available_bytes - names_offset, names_bytes)) != 0)
		return START_NONE;
	return available_bytes < names_offset + names_bytes ? START_BEGUN : START_COMPLETE;
}

/* The first start in [from, to): its offset, or to. At the end one that has only begun is none. */
static size_t find_start(const uint8_t *bytes, size_t available_bytes, bool is_end, size_t from,
			 size_t to, enum start *ret_start)
{
	enum start least = is_end ? START_COMPLETE : START_BEGUN;

	*ret_start = START_NONE;
	while (from < to) {
		const uint8_t *found = memchr(bytes + from, head[0], to - from);

		if (!found)
			return to;
		from = (size_t)(found - bytes);
		*ret_start = look_at_start(found, available_bytes - from);
		if (*ret_start >= least)
			return from;
		*ret_start = START_NONE;
		from++;
	}
	return to;
}

int entry_search(const uint8_t *bytes, size_t available_bytes, bool is_end, size_t *ret_bytes)
{
	size_t near_bytes = smaller(available_bytes, NEAR_BYTES), entry_bytes = 0, next;
	enum start start;
	int r;

	next = find_start(bytes, available_bytes, is_end, 1, near_bytes, &start);
	r = entry_scan(bytes, start == START_NONE ? available_bytes : next, &entry_bytes);
	if (start == START_NONE)
		next = find_start(bytes, available_bytes, is_end, near_bytes,
				  r == 0 ? entry_bytes : available_bytes, &start);
	if (r == 0 && (start == START_NONE || entry_bytes <= next)) {
		*ret_bytes = entry_bytes;
		return 0;
	}
	if (r == 0 || r == -EAGAIN) {
		/* It reaches into another one, or into what may turn out to be one. */
		if (start != START_COMPLETE)
			return -EAGAIN;
		r = -EBADMSG;
	}
	*ret_bytes = next;
	return r;
}
