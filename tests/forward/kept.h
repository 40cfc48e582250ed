/* SPDX-License-Identifier: GPL-2.0-only */
/* What a collector kept: how often each numbered entry, and whether chunks were the same each time.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

enum {
	KEPT_ID_BYTES = 64,
};

struct kept_chunk {
	char id[KEPT_ID_BYTES];
	uint64_t digest;
};

struct kept {
	pthread_mutex_t lock; /* guards what follows */
	/* As many as there are: most collectors live for a few entries, and there are thousands. */
	uint32_t *counts; /* by number */
	size_t numbers;
	struct kept_chunk *chunks;
	size_t chunk_count;
	size_t chunks_max;
	uint64_t changed_chunks;
};

void kept_init(struct kept *kept);
void kept_deinit(struct kept *kept);
/* entries: numbered ones (numbered_entries.h). */
void kept_add(struct kept *kept, const char *id, const char *entries, size_t size_bytes);
uint32_t kept_count(struct kept *kept, uint64_t number);
uint64_t kept_changed_chunks(struct kept *kept);
