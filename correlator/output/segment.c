#include "output/segment.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <openssl/evp.h>

#include "base/entry_scan.h"

int segment_new(size_t capacity_bytes, struct segment **ret_segment)
{
	_cleanup_(segment_freep) struct segment *segment = calloc(1, sizeof(*segment));
	uint8_t random[CHUNK_ID_RANDOM_BYTES];

	if (!segment)
		return -ENOMEM;
	segment->bytes = malloc(capacity_bytes);
	if (!segment->bytes)
		return -ENOMEM;
	segment->capacity_bytes = capacity_bytes;
	/* At most 256 bytes come whole (getrandom(2)). */
	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return -errno;
	(void)EVP_EncodeBlock((unsigned char *)segment->id, random, sizeof(random));
	*ret_segment = TAKE_PTR(segment);
	return 0;
}

void segment_free(struct segment *segment)
{
	if (!segment)
		return;
	free(segment->bytes);
	free(segment);
}

bool segment_put(struct segment *segment, const uint8_t *entry, size_t entry_bytes)
{
	if (entry_bytes > segment->capacity_bytes - segment->size_bytes)
		return false;
	memcpy(segment->bytes + segment->size_bytes, entry, entry_bytes);
	segment->size_bytes += entry_bytes;
	segment->last_ns = entry_time_ns(entry);
	if (!segment->entries++)
		segment->first_ns = segment->last_ns;
	return true;
}

void segment_seal(struct segment *segment)
{
	uint8_t *shrunk = realloc(segment->bytes, segment->size_bytes);

	if (shrunk)
		segment->bytes = shrunk;
	segment->capacity_bytes = segment->size_bytes;
	segment->is_sealed = true;
}
