/* SPDX-License-Identifier: GPL-2.0-only */
#include "forward/kept.h"

#include <stdio.h>
#include <string.h>

#include "queue/numbered_entries.h"

void kept_init(struct kept *kept)
{
	(void)pthread_mutex_init(&kept->lock, NULL);
}

void kept_deinit(struct kept *kept)
{
	(void)pthread_mutex_destroy(&kept->lock);
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
	struct kept_chunk *chunk = kept->chunks;

	(void)pthread_mutex_lock(&kept->lock);
	for (size_t i = 0; i < size_bytes / sizeof(struct numbered_entry); i++)
		kept->counts[entry_number(entries, i) % KEPT_NUMBERS_MAX]++;
	while (chunk < kept->chunks + kept->chunk_count && strcmp(chunk->id, id) != 0)
		chunk++;
	if (chunk < kept->chunks + kept->chunk_count) {
		kept->changed_chunks += chunk->digest != digest;
	} else if (kept->chunk_count < KEPT_CHUNKS_MAX) {
		(void)snprintf(chunk->id, sizeof(chunk->id), "%s", id);
		chunk->digest = digest;
		kept->chunk_count++;
	}
	(void)pthread_mutex_unlock(&kept->lock);
}

uint32_t kept_count(struct kept *kept, uint64_t number)
{
	uint32_t count;

	(void)pthread_mutex_lock(&kept->lock);
	count = kept->counts[number % KEPT_NUMBERS_MAX];
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
