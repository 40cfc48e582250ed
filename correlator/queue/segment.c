#include "queue/segment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
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
	if (segment->fd >= 0)
		(void)close(segment->fd);
	free(segment->bytes);
	free(segment);
}

static void count_entry(struct segment *segment, const uint8_t *entry, size_t entry_bytes)
{
	segment->size_bytes += entry_bytes;
	segment->last_ns = entry_time_ns(entry);
	if (!segment->entries++)
		segment->first_ns = segment->last_ns;
}

bool segment_put(struct segment *segment, const uint8_t *entry, size_t entry_bytes)
{
	if (entry_bytes > segment->capacity_bytes - segment->size_bytes)
		return false;
	memcpy(segment->bytes + segment->size_bytes, entry, entry_bytes);
	count_entry(segment, entry, entry_bytes);
	return true;
}

void segment_seal(struct segment *segment)
{
	uint8_t *shrunk = realloc(segment->bytes, segment->size_bytes);

	if (shrunk) {
		segment->bytes = shrunk;
		segment->capacity_bytes = segment->size_bytes;
	}
	segment->is_sealed = true;
}

void segment_salvage(struct segment *segment, const uint8_t *bytes, size_t size_bytes)
{
	size_t entry_bytes;

	segment->size_bytes = 0;
	segment->entries = 0;
	while (!entry_scan(bytes + segment->size_bytes, size_bytes - segment->size_bytes,
			   &entry_bytes))
		count_entry(segment, bytes + segment->size_bytes, entry_bytes);
}
