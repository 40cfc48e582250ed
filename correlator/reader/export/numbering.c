/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/export/numbering.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/random.h"

struct numbering_entry {
	UT_hash_handle hh;
	struct numbering_key key;
	uint64_t number;
};

void numbering_init(struct numbering *numbering)
{
	*numbering = (struct numbering){ .seed = random_seed() };
}

void numbering_deinit(struct numbering *numbering)
{
	struct numbering_entry *entry, *next;

	HASH_ITER(hh, numbering->table, entry, next) {
		HASH_DELETE(hh, numbering->table, entry);
		free(entry);
	}
}

int numbering_find(struct numbering *numbering, const struct numbering_key *key,
		   uint64_t *ret_number)
{
	unsigned int hash = hash_table_key(numbering->seed, key, sizeof(*key));
	struct numbering_entry *entry;

	HASH_FIND_BYHASHVALUE(hh, numbering->table, key, sizeof(*key), hash, entry);
	if (entry) {
		*ret_number = entry->number;
		return 0;
	}
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return -ENOMEM;
	entry->key = *key;
	entry->number = HASH_COUNT(numbering->table);
	HASH_ADD_BYHASHVALUE(hh, numbering->table, key, sizeof(entry->key), hash, entry);
	if (!entry->hh.tbl) {
		free(entry);
		return -ENOMEM;
	}
	*ret_number = entry->number;
	return 1;
}

const struct numbering_key *numbering_next(const struct numbering *numbering,
					   const struct numbering_key *key)
{
	const struct numbering_entry *entry = numbering->table;

	if (key)
		entry = ((const struct numbering_entry *)((const char *)key -
							  offsetof(struct numbering_entry, key)))
				->hh.next;
	return entry ? &entry->key : NULL;
}
