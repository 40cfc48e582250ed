/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/queue/segment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "record/check.h"
#include "record/checked_entries.h"
#include "record/entry_scan.h"

int segment_new(size_t capacity_bytes, struct segment **ret_segment)
{
	_cleanup_(segment_freep) struct segment *segment = calloc(1, sizeof(*segment));
	int r;

	if (!segment)
		return -ENOMEM;
	segment->fd = -1;
	if (capacity_bytes) {
		segment->bytes = malloc(capacity_bytes);
		if (!segment->bytes)
			return -ENOMEM;
	}
	segment->capacity_bytes = capacity_bytes;
	r = random_bytes(segment->random, sizeof(segment->random));
	if (r < 0)
		return r;
	*ret_segment = TAKE_PTR(segment);
	return 0;
}

void segment_free(struct segment *segment)
{
	if (!segment)
		return;
	cleanup_fd(&segment->fd);
	free(segment->bytes);
	free(segment->parts);
	free(segment);
}

static void count_entry(struct segment *segment, const uint8_t *entry, size_t entry_bytes)
{
	segment->size_bytes += entry_bytes;
	segment->last_ns = entry_time_ns(entry);
	if (!segment->entries++)
		segment->first_ns = segment->last_ns;
}

int segment_add_part(struct segment *segment, struct share *share, size_t *ret_part)
{
	size_t count = segment->part_count;

	/* The array has room up to the next power of two. */
	if ((count & (count - 1)) == 0) {
		struct segment_part *parts =
			reallocarray(segment->parts, count ? 2 * count : 1, sizeof(*parts));

		if (!parts)
			return -ENOMEM;
		segment->parts = parts;
	}
	segment->parts[count] = (struct segment_part){ .share = share };
	segment->part_count++;
	*ret_part = count;
	return 0;
}

bool segment_has_room(const struct segment *segment, size_t entry_bytes)
{
	return entry_bytes <= segment->capacity_bytes - segment->size_bytes;
}

void segment_put(struct segment *segment, size_t part, const uint8_t *entry, size_t entry_bytes)
{
	struct segment_part *own = &segment->parts[part];

	memcpy(segment->bytes + segment->size_bytes, entry, entry_bytes);
	count_entry(segment, entry, entry_bytes);
	own->size_bytes += entry_bytes;
	own->last_ns = segment->last_ns;
	if (!own->entries++)
		own->first_ns = own->last_ns;
}

void segment_count(struct segment *segment, const uint8_t *bytes, size_t size_bytes)
{
	size_t part_bytes;

	segment->size_bytes = 0;
	segment->entries = 0;
	while (entry_search(bytes + segment->size_bytes, size_bytes - segment->size_bytes, true,
			    &part_bytes) == 0) {
		const uint8_t *entry = bytes + segment->size_bytes;

		if (check_is(entry, part_bytes))
			segment->size_bytes += part_bytes;
		else
			count_entry(segment, entry, part_bytes);
	}
}

struct segment_salvage segment_salvage(struct segment *segment, bool is_checked, uint8_t *bytes,
				       size_t size_bytes)
{
	struct checked_entries entries = { .is_checked = is_checked };
	struct segment_salvage salvage = { 0 };
	size_t at = 0, part_bytes;
	int r;

	segment->size_bytes = 0;
	segment->entries = 0;
	while ((r = checked_search(&entries, bytes + at, size_bytes - at, true, &part_bytes)) !=
	       -EAGAIN) {
		bool is_good = r >= 0 && !(is_checked && entries.is_loose);

		if (is_good && r != CHECKED_CHECK) {
			/* Another thread may be reading: write nothing if nothing is damaged. */
			if (at > segment->size_bytes)
				memmove(bytes + segment->size_bytes, bytes + at, part_bytes);
			count_entry(segment, bytes + segment->size_bytes, part_bytes);
		}
		checked_pass(&entries, part_bytes);
		at += part_bytes;
		if (is_good)
			salvage.end_bytes = at;
		else
			salvage.lost_bytes += part_bytes;
	}
	salvage.lost_bytes += size_bytes - at;
	return salvage;
}
