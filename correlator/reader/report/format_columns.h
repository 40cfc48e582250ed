/* SPDX-License-Identifier: GPL-2.0-only */
/* Which columns each table of a report has, behind its keys, and which of them go first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "reader/report/format.h"
#include "reader/report/table.h"

struct format_column {
	enum row_field field;
	struct table_column column;
};

struct format_column_set {
	const struct format_column *columns;
	size_t count;
};

/* Tables that format_table prints: 2 where groups and requests are to be told, else 1. */
size_t format_table_count(const struct totals *totals, const struct format_options *options);

/* The default columns of a table. */
struct format_column_set format_columns_of(const struct grouping *grouping,
					   const struct format_options *options);
/* The column of that field; NULL: no such table can have it. */
const struct format_column *format_column(const struct grouping *grouping,
					  const struct format_options *options,
					  enum row_field field);

/* Whether a table has this column, or rows that it sorts. */
bool format_has_field(const struct totals *totals, const struct format_options *options,
		      enum row_field field);
