/* SPDX-License-Identifier: GPL-2.0-only */
/* The rows of a window by the accounts that they are of, until they are joined. Single thread. */
#pragma once

#include "base/cleanup.h"
#include "recorder/observe/window/window.h"

struct row_index;

/* Of the rows as they are. NULL: no memory. */
struct row_index *row_index_new(const struct window *window);
void row_index_free(struct row_index *index);
DEFINE_CLEANUP(struct row_index *, row_index_free);

/* NULL: no row is of that account. */
const struct window_row *row_index_find(const struct row_index *index,
					const struct account_key *key);
