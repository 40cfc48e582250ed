/* SPDX-License-Identifier: GPL-2.0-only */
/* How page_data stays within its limits. For page_data.c alone. */
#pragma once

#include "reader/report/html/page_data.h"

/* Nothing, as long as there is room; else it gives up details, and goes on until there is room
 * again. 0, -ENOMEM. */
int page_reduce(struct page_data *data);

/* Folds requests until no more than the limit are left. 0, -ENOMEM. */
int page_reduce_finally(struct page_data *data);

/* Makes one of the cells that are of one window, thread and group. */
void page_merge_cells(struct page_data *data);
