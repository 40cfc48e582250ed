/* SPDX-License-Identifier: GPL-2.0-only */
/* The columns of a grouping's rows: its keys, each figure that it can have, and how many groups a
 * row stands for that is of several. */
#pragma once

#include "reader/aggregate/rows.h"
#include "reader/report/sheet.h"

struct rows_columns {
	size_t keys;
	size_t figures[_FIGURE_MAX]; /* of those that the grouping has */
	size_t groups;
};

void rows_sheet_add(struct sheet *sheet, const struct grouping *grouping,
		    struct rows_columns *ret_columns);
/* A row of this kind of the sheet's. */
void rows_sheet_put(struct sheet *sheet, size_t kind, const struct rows_columns *columns,
		    const struct rows *rows, const struct row *row);
