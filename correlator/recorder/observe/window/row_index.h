/* SPDX-License-Identifier: GPL-2.0-only */
/* Index of a window's rows by account, for use until the rows are joined. Single thread. */
#pragma once

#include "base/cleanup.h"
#include "recorder/observe/process/observed.h"
#include "recorder/observe/window/window.h"

struct row_index;

/* Indexes the current rows. NULL: no memory. */
struct row_index *row_index_new(const struct window *window);
void row_index_free(struct row_index *index);
DEFINE_CLEANUP(struct row_index *, row_index_free);

/* NULL: the account has no row. */
const struct window_row *row_index_find(const struct row_index *index,
					const struct account_key *key);
/* Sets all but the key of *owner by the row of its account. An account in the overflow has none:
 * then only its process is set, if it is among processes, and so has books. */
void row_index_find_owner(const struct row_index *index, struct observed_table *processes,
			  struct window_owner *owner);
