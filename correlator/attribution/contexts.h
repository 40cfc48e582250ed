/*
 * The contexts that accounts were charged to, decoded: hash -> texts of the keys. Bounded by
 * forgetting contexts that no account has named for some windows. Pure; single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <correlator/limits.h>

#include "base/cleanup.h"

struct context {
	uint64_t hash;
	const char *values[KEYS_MAX]; /* NULL = the context has no such key */
	bool is_truncated; /* a value was longer than was captured */
	uint64_t last_window; /* number of the last window that named it */
};

struct context_table;

struct context_table *context_table_new(void); /* NULL: no memory */
void context_table_free(struct context_table *table);
DEFINE_CLEANUP(struct context_table *, context_table_free);

/* The context, marked as named in this window; NULL = not known. Lives until it is forgotten. */
const struct context *context_table_find(struct context_table *table, uint64_t hash,
					 uint64_t window);

/* Adds a context that is not there yet; values are copied. 0 or -ENOMEM. */
int context_table_add(struct context_table *table, const struct context *context,
		      size_t value_count);

typedef void (*context_forgotten_fn)(void *user, uint64_t hash);

/* Forgets those not named since window `oldest`; calls on_forgotten for each. */
void context_table_forget(struct context_table *table, uint64_t oldest,
			  context_forgotten_fn on_forgotten, void *user);

size_t context_table_count(const struct context_table *table);
