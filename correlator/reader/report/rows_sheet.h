/* SPDX-License-Identifier: GPL-2.0-only */
/* The columns of a grouping's rows: its keys, each figure that it can have, and the number of
 * groups in a row that sums up several. */
#pragma once

#include "reader/aggregate/rows.h"
#include "reader/report/sheet.h"

struct rows_columns {
	size_t keys;
	size_t figures[_FIGURE_MAX]; /* set for figures that the grouping has */
	size_t groups;
};

void rows_sheet_add(struct sheet *sheet, const struct grouping *grouping,
		    struct rows_columns *ret_columns);
/* Puts a row, as this kind of the sheet's rows. */
void rows_sheet_put(struct sheet *sheet, size_t kind, const struct rows_columns *columns,
		    const struct rows *rows, const struct row *row);
