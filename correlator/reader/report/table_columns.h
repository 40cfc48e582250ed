/* SPDX-License-Identifier: GPL-2.0-only */
/* The figures that each table of a report can have, after its keys. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "figures/figure.h"
#include "reader/report/table.h"
#include "reader/report/totals_view.h"

/* The number of tables of totals_text_print: 2 if there are groups and requests, else 1. */
size_t totals_text_tables(const struct totals *totals, const struct view_options *options);

/* The view whose figures a table has by default. */
enum figure_view table_columns_view(const struct grouping *grouping,
				    const struct view_options *options);

/* Whether some table can show the figure, or be sorted by it. */
bool table_columns_have(const struct totals *totals, const struct view_options *options,
			enum figure figure);
/* The same for the table of a grouping. */
bool table_columns_can_show(const struct grouping *grouping, enum figure figure);

/* Whether JSON and CSV of a grouping have the figure. */
bool table_columns_has_field(const struct grouping *grouping, enum figure figure);

/* The column of a figure, with its rank in a view. */
struct table_column table_column_of(enum figure figure, enum figure_view view);
/* The figures of a view, in order, and their columns (both arrays have room for all). Returns their
 * number. */
size_t table_columns_choose(enum figure_view view, enum figure ret_figures[static _FIGURE_MAX],
			    struct table_column ret_columns[static _FIGURE_MAX]);
