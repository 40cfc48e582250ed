/* SPDX-License-Identifier: GPL-2.0-only */
/* The figures that each table of a report can have, after its keys. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "figures/figure.h"
#include "reader/report/format.h"
#include "reader/report/table.h"

/* The number of tables that format_table prints: 2 if there are groups and requests, else 1. */
size_t format_table_count(const struct totals *totals, const struct format_options *options);

/* The view whose figures a table has by default. */
enum figure_view format_view(const struct grouping *grouping, const struct format_options *options);

/* Whether some table can show the figure, or be sorted by it. */
bool format_has_figure(const struct totals *totals, const struct format_options *options,
		       enum figure figure);
/* The same for the table of a grouping. */
bool format_can_show(const struct grouping *grouping, enum figure figure);

/* Whether JSON and CSV of a grouping have the figure. */
bool format_has_field(const struct grouping *grouping, enum figure figure);

/* The column of a figure, with its rank in a view. */
struct table_column format_column(enum figure figure, enum figure_view view);
/* The figures of a view, in order, and their columns (both arrays have room for all). Returns their
 * number. */
size_t format_columns(enum figure_view view, enum figure ret_figures[static _FIGURE_MAX],
		      struct table_column ret_columns[static _FIGURE_MAX]);
