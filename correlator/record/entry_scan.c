/* SPDX-License-Identifier: GPL-2.0-only */
#include "record/entry_scan.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "record/token.h"

/* The first bytes of every entry (array of two, EventTime's marks), and of every map of ours. */
static const uint8_t head[] = { 0x92, 0xd7, 0x00 };
static const uint8_t names[] = "\xa6schema\x01\xa4kind";

int value_scan(const uint8_t *bytes, size_t available_bytes, const struct value_limits *limits,
	       size_t *ret_value_bytes)
{
	uint64_t outer[VALUE_DEPTH_MAX]; /* values left in the enclosing containers */
	uint64_t left = 1; /* values left in this container */
	uint64_t value_count = 0, offset = 0;
	size_t depth = 0;

	assert(limits->depth_max <= VALUE_DEPTH_MAX);
	while (left > 0) {
		struct token token;

		if (offset >= available_bytes)
			return -EAGAIN;
		token = token_read(bytes + offset, available_bytes - offset);
		if (token.kind <= TOKEN_CUT)
			return token.kind == TOKEN_CUT ? -EAGAIN : -EBADMSG;
		offset += token_bytes(token);
		if (offset > limits->bytes_max)
			return -E2BIG;
		left--;
		if (token.kind >= TOKEN_ARRAY) {
			uint64_t inside = (uint64_t)token.count << (token.kind == TOKEN_MAP);

			value_count += inside;
			if (value_count > limits->values_max)
				return -E2BIG;
			if (depth == limits->depth_max)
				return -ELOOP;
			outer[depth++] = left;
			left = inside;
		}
		while (left == 0 && depth > 0)
			left = outer[--depth];
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

/* Bytes of the mark of a map and its count; 0: not a map. */
static size_t map_mark_bytes(uint8_t mark)
{
	if ((mark & 0xf0) == 0x80)
		return 1;
	return mark == 0xde ? 3 : mark == 0xdf ? 5 : 0;
}

int entry_scan_head(const uint8_t *bytes, size_t available_bytes)
{
	if (available_bytes > 0 && memcmp(bytes, head, smaller(available_bytes, sizeof(head))) != 0)
		return -EBADMSG;
	if (available_bytes <= ENTRY_HEAD_BYTES)
		return -EAGAIN;
	return map_mark_bytes(bytes[ENTRY_HEAD_BYTES]) > 0 ? 0 : -EBADMSG;
}

int entry_scan(const uint8_t *bytes, size_t available_bytes, size_t *ret_entry_bytes)
{
	const struct value_limits limits = {
		.bytes_max = ENTRY_BYTES_MAX - ENTRY_HEAD_BYTES,
		.depth_max = ENTRY_DEPTH_MAX - 1,
		.values_max = ENTRY_VALUES_MAX,
	};
	size_t map_bytes;
	int r = entry_scan_head(bytes, available_bytes);

	if (r == 0)
		r = value_scan(bytes + ENTRY_HEAD_BYTES, available_bytes - ENTRY_HEAD_BYTES,
			       &limits, &map_bytes);
	if (r < 0)
		return r;
	*ret_entry_bytes = ENTRY_HEAD_BYTES + map_bytes;
	return 0;
}

uint64_t entry_time_ns(const uint8_t *entry)
{
	const uint8_t *time = entry + sizeof(head);

	return token_number(time, 4) * NS_PER_S + token_number(time + 4, 4);
}

/* Only texts and numbers precede the pid in our records: any other value ends the search. */
static bool take_simple(const uint8_t *entry, size_t entry_bytes, size_t *at, struct token *ret)
{
	if (*at >= entry_bytes)
		return false;
	*ret = token_read(entry + *at, entry_bytes - *at);
	*at += token_bytes(*ret);
	return (ret->kind == TOKEN_TEXT || ret->kind == TOKEN_UNSIGNED) && *at <= entry_bytes;
}

uint32_t entry_pid(const uint8_t *entry, size_t entry_bytes)
{
	static const char name[] = "pid";
	size_t at = ENTRY_HEAD_BYTES + map_mark_bytes(entry[ENTRY_HEAD_BYTES]);
	struct token token;

	for (int i = 0; i < ENTRY_PID_NAMES_MAX; i++) {
		bool is_pid;

		if (!take_simple(entry, entry_bytes, &at, &token))
			return 0;
		is_pid = token.count == sizeof(name) - 1 &&
			 memcmp(entry + at - token.count, name, token.count) == 0;
		if (!take_simple(entry, entry_bytes, &at, &token))
			return 0;
		if (is_pid)
			return token.kind == TOKEN_UNSIGNED
				       ? (uint32_t)token_number(entry + at - token.count,
								token.count)
				       : 0;
	}
	return 0;
}

enum start {
	START_NONE = 0,
	START_BEGUN, /* matches as far as there are bytes */
	START_COMPLETE,
};

static enum start look_at_start(const uint8_t *bytes, size_t available_bytes)
{
	const size_t names_bytes = sizeof(names) - 1;
	int r = entry_scan_head(bytes, available_bytes);
	size_t names_offset;

	if (r < 0)
		return r == -EAGAIN ? START_BEGUN : START_NONE;
	names_offset = ENTRY_HEAD_BYTES + map_mark_bytes(bytes[ENTRY_HEAD_BYTES]);
	if (available_bytes <= names_offset)
		return START_BEGUN;
	if (memcmp(bytes + names_offset, names,
		   smaller(available_bytes - names_offset, names_bytes)) != 0)
		return START_NONE;
	return available_bytes < names_offset + names_bytes ? START_BEGUN : START_COMPLETE;
}

/* Finds the first start in [from, to). Returns its offset, or to. With is_end a partial start does
 * not count. */
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

size_t entry_reach(const uint8_t *bytes, size_t available_bytes)
{
	enum start start;

	return find_start(bytes, available_bytes, false, 1,
			  smaller(available_bytes, ENTRY_NEAR_BYTES), &start);
}

int entry_search(const uint8_t *bytes, size_t available_bytes, bool is_end, size_t *ret_bytes)
{
	size_t near_bytes = smaller(available_bytes, ENTRY_NEAR_BYTES), entry_bytes = 0, next;
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
		/* The entry reaches into another one, or into bytes that may turn out to be one. */
		if (start != START_COMPLETE)
			return -EAGAIN;
		r = -EBADMSG;
	}
	*ret_bytes = next;
	return r;
}
