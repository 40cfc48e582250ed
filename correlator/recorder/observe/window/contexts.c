/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/contexts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <correlator/snapshot.h>

#include "base/hash.h"
#include "base/hash_table.h"

struct entry {
	struct context context;
	uint64_t retired_window; /* the window that retired it; 0 = not retired */
	UT_hash_handle hh;
	const char *values[]; /* of context, followed by the texts */
};

struct context_table {
	struct entry *entries;
};

struct context_table *context_table_new(void)
{
	return calloc(1, sizeof(struct context_table));
}

void context_table_free(struct context_table *table)
{
	struct entry *entry, *next;

	if (!table)
		return;
	HASH_ITER(hh, table->entries, entry, next) {
		HASH_DEL(table->entries, entry);
		free(entry);
	}
	free(table);
}

const struct context *context_table_find(struct context_table *table, uint64_t hash,
					 uint64_t window)
{
	struct entry *entry;

	HASH_FIND(hh, table->entries, &hash, sizeof(hash), entry);
	if (!entry)
		return NULL;
	entry->context.last_window = window;
	entry->retired_window = 0;
	return &entry->context;
}

const struct context *context_table_look(struct context_table *table, uint64_t hash)
{
	struct entry *entry;

	HASH_FIND(hh, table->entries, &hash, sizeof(hash), entry);
	return entry ? &entry->context : NULL;
}

int context_table_add(struct context_table *table, const struct context *context,
		      size_t value_count)
{
	size_t sizes[KEYS_MAX] = { 0 }, total = value_count * sizeof(char *);
	uint64_t texts_digest = 0;
	struct entry *entry, *replaced;
	char *text;

	for (size_t i = 0; i < value_count; i++) {
		sizes[i] = context->values[i] ? strlen(context->values[i]) + 1 : 0;
		texts_digest = hash_bytes(texts_digest, context->values[i], sizes[i]);
		total += sizes[i];
	}
	entry = calloc(1, sizeof(*entry) + total);
	if (!entry)
		return -ENOMEM;
	entry->context = *context;
	entry->context.values = entry->values;
	entry->context.texts_digest = texts_digest;
	text = (char *)&entry->values[value_count];
	for (size_t i = 0; i < value_count; i++) {
		entry->values[i] = sizes[i] ? text : NULL;
		if (sizes[i])
			memcpy(text, context->values[i], sizes[i]);
		text += sizes[i];
	}
	HASH_REPLACE(hh, table->entries, context.hash, sizeof(entry->context.hash), entry,
		     replaced);
	free(replaced);
	if (entry->hh.tbl)
		return 0;
	free(entry);
	return -ENOMEM;
}

void context_table_end_window(struct context_table *table, uint64_t window,
			      context_retired_fn on_retired, void *user)
{
	struct entry *entry, *next;

	HASH_ITER(hh, table->entries, entry, next) {
		if (entry->context.last_window == window)
			continue;
		if (!entry->retired_window) {
			on_retired(user, entry->context.hash);
			entry->retired_window = window;
		} else if (window - entry->retired_window >= CONTEXT_RETIRED_DRAINS) {
			HASH_DEL(table->entries, entry);
			free(entry);
		}
	}
}

size_t context_table_count(const struct context_table *table)
{
	return HASH_COUNT(table->entries);
}
