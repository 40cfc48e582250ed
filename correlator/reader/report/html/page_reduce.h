/* SPDX-License-Identifier: GPL-2.0-only */
/* Keeps page_data within its limits. For page_data.c only. */
#pragma once

#include "reader/report/html/page_data.h"

/* Does nothing while there is room; otherwise drops details until there is. 0, -ENOMEM. */
int page_reduce(struct page_data *data);

/* Folds requests until at most limits.requests are left. 0, -ENOMEM. */
int page_reduce_finally(struct page_data *data);

/* Merges cells of one window, thread and group. */
void page_merge_cells(struct page_data *data);
