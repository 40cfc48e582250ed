#include "record/entry_search.h"

#include <errno.h>
#include <string.h>

#include "record/entry_scan.h"

enum {
	/* Where the next entry mostly begins. Farther than that is only looked where there is none,
	 * so that the work of scanning an entry is shared out over so many bytes. */
	NEAR_BYTES = 1024
};

static const uint8_t start[] = { 0x92, 0xd7, 0x00 };
static const uint8_t names[] = "\xa6schema\x01\xa4kind";

enum head {
	HEAD_NONE = 0,
	HEAD_BEGUN, /* as far as there are bytes */
	HEAD_COMPLETE,
};

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

static enum head look_at_head(const uint8_t *bytes, size_t available_bytes)
{
	const size_t time_end = 1 + ENTRY_TIME_BYTES, names_bytes = sizeof(names) - 1;
	size_t names_offset;

	if (memcmp(bytes, start, smaller(available_bytes, sizeof(start))))
		return HEAD_NONE;
	if (available_bytes <= time_end)
		return HEAD_BEGUN;
	names_offset = time_end + map_mark_bytes(bytes[time_end]);
	if (names_offset == time_end)
		return HEAD_NONE;
	if (available_bytes <= names_offset)
		return HEAD_BEGUN;
	if (memcmp(bytes + names_offset, names,
		   smaller(available_bytes - names_offset, names_bytes)))
		return HEAD_NONE;
	return available_bytes < names_offset + names_bytes ? HEAD_BEGUN : HEAD_COMPLETE;
}

/* The first head that begins in [from, to): its offset, or to. At the end one that has only begun
 * is none. */
static size_t find_head(const uint8_t *bytes, size_t available_bytes, bool is_end, size_t from,
			size_t to, enum head *ret_head)
{
	enum head least = is_end ? HEAD_COMPLETE : HEAD_BEGUN;

	*ret_head = HEAD_NONE;
	while (from < to) {
		const uint8_t *found = memchr(bytes + from, start[0], to - from);

		if (!found)
			return to;
		from = (size_t)(found - bytes);
		*ret_head = look_at_head(found, available_bytes - from);
		if (*ret_head >= least)
			return from;
		*ret_head = HEAD_NONE;
		from++;
	}
	return to;
}

int entry_search(const uint8_t *bytes, size_t available_bytes, bool is_end, size_t *ret_bytes)
{
	size_t near_bytes = smaller(available_bytes, NEAR_BYTES), entry_bytes = 0, next;
	enum head head;
	int r;

	if (available_bytes == 0)
		return -EAGAIN;
	next = find_head(bytes, available_bytes, is_end, 1, near_bytes, &head);
	r = entry_scan(bytes, head == HEAD_NONE ? available_bytes : next, &entry_bytes);
	if (head == HEAD_NONE)
		next = find_head(bytes, available_bytes, is_end, near_bytes,
				 r == 0 ? entry_bytes : available_bytes, &head);
	if (r == 0 && (head == HEAD_NONE || entry_bytes <= next)) {
		*ret_bytes = entry_bytes;
		return 0;
	}
	if (r == 0 || r == -EAGAIN) {
		/* It reaches into another one, or into what may turn out to be one. */
		if (head != HEAD_COMPLETE)
			return -EAGAIN;
		r = -EBADMSG;
	}
	*ret_bytes = next;
	return r;
}
