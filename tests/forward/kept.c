/* SPDX-License-Identifier: GPL-2.0-only */
#include "forward/kept.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/queue/numbered_entries.h"

void kept_init(struct kept *kept)
{
	(void)pthread_mutex_init(&kept->lock, NULL);
}

void kept_deinit(struct kept *kept)
{
	(void)pthread_mutex_destroy(&kept->lock);
	free(kept->counts);
	free(kept->chunks);
}

static void *grow(void *items, size_t count, size_t item_bytes)
{
	void *larger = reallocarray(items, count, item_bytes);

	if (!larger)
		abort();
	return larger;
}

static void count_entry(struct kept *kept, uint64_t number)
{
	if (number >= kept->numbers) {
		size_t numbers = 2 * number + 64;

		kept->counts = grow(kept->counts, numbers, sizeof(*kept->counts));
		memset(kept->counts + kept->numbers, 0,
		       (numbers - kept->numbers) * sizeof(*kept->counts));
		kept->numbers = numbers;
	}
	kept->counts[number]++;
}

static void note_chunk(struct kept *kept, const char *id, uint64_t digest)
{
	struct kept_chunk *chunk;

	for (size_t i = 0; i < kept->chunk_count; i++) {
		if (strcmp(kept->chunks[i].id, id) != 0)
			continue;
		kept->changed_chunks += kept->chunks[i].digest != digest;
		return;
	}
	if (kept->chunk_count == kept->chunks_max) {
		kept->chunks_max = 2 * kept->chunks_max + 8;
		kept->chunks = grow(kept->chunks, kept->chunks_max, sizeof(*kept->chunks));
	}
	chunk = &kept->chunks[kept->chunk_count++];
	(void)snprintf(chunk->id, sizeof(chunk->id), "%s", id);
	chunk->digest = digest;
}

/* FNV-1a. */
static uint64_t digest_of(const char *bytes, size_t size_bytes)
{
	uint64_t digest = 14695981039346656037U;

	for (size_t i = 0; i < size_bytes; i++)
		digest = (digest ^ (uint8_t)bytes[i]) * 1099511628211U;
	return digest;
}

void kept_add(struct kept *kept, const char *id, const char *entries, size_t size_bytes)
{
	uint64_t digest = digest_of(entries, size_bytes);

	(void)pthread_mutex_lock(&kept->lock);
	for (size_t i = 0; i < size_bytes / sizeof(struct numbered_entry); i++)
		count_entry(kept, entry_number(entries, i));
	note_chunk(kept, id, digest);
	(void)pthread_mutex_unlock(&kept->lock);
}

uint32_t kept_count(struct kept *kept, uint64_t number)
{
	uint32_t count;

	(void)pthread_mutex_lock(&kept->lock);
	count = number < kept->numbers ? kept->counts[number] : 0;
	(void)pthread_mutex_unlock(&kept->lock);
	return count;
}

uint64_t kept_changed_chunks(struct kept *kept)
{
	uint64_t count;

	(void)pthread_mutex_lock(&kept->lock);
	count = kept->changed_chunks;
	(void)pthread_mutex_unlock(&kept->lock);
	return count;
}
