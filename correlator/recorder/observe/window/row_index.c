/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/row_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash_table.h"

struct row_by_key {
	struct account_key key;
	const struct window_row *row;
	UT_hash_handle hh;
};

struct row_index {
	struct row_by_key *table; /* uthash, of rooms */
	struct row_by_key rooms[];
};

struct row_index *row_index_new(const struct window *window)
{
	struct row_index *index =
		calloc(1, sizeof(*index) + window->row_count * sizeof(index->rooms[0]));

	for (size_t i = 0; index && i < window->row_count; i++) {
		struct row_by_key *room = &index->rooms[i];

		room->key = window->rows[i].key;
		room->row = &window->rows[i];
		HASH_ADD(hh, index->table, key, sizeof(room->key), room);
		if (!room->hh.tbl) {
			row_index_free(index);
			return NULL;
		}
	}
	return index;
}

void row_index_free(struct row_index *index)
{
	if (index)
		HASH_CLEAR(hh, index->table);
	free(index);
}

const struct window_row *row_index_find(const struct row_index *index,
					const struct account_key *key)
{
	struct row_by_key *found;

	HASH_FIND(hh, index->table, key, sizeof(*key), found);
	return found ? found->row : NULL;
}

void row_index_find_owner(const struct row_index *index, struct observed_table *processes,
			  struct window_owner *owner)
{
	const struct window_row *row = row_index_find(index, &owner->key);
	struct observed *process = row ? NULL : observed_find(processes, owner->key.life);

	if (process)
		owner->process = &process->books;
	if (!row)
		return;
	owner->process = row->process;
	owner->context = row->context;
	owner->tid = row->account.tid;
	owner->ns_tid = row->account.ns_tid;
	owner->account_flags = row->account.flags;
	memcpy(owner->comm, row->account.comm, sizeof(owner->comm));
}
