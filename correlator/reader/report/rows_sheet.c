/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/rows_sheet.h"

#include "reader/report/sheet_parts.h"
#include "reader/report/table_columns.h"

void rows_sheet_add(struct sheet *sheet, const struct grouping *grouping,
		    struct rows_columns *ret_columns)
{
	ret_columns->keys = sheet_add_keys(sheet, grouping);
	for (enum figure figure = 0; figure < _FIGURE_MAX; figure++)
		if (table_columns_has_field(grouping, figure))
			ret_columns->figures[figure] =
				sheet_add(sheet, NULL, figure_infos[figure].field);
	ret_columns->groups = sheet_add(sheet, NULL, "groups");
}

static struct cell cell_of(const struct rows *rows, const struct row *row, enum figure figure)
{
	bool is_name = figure_infos[figure].source == FIGURE_SOURCE_NAME;
	const char *name =
		is_name && row->group ? row->group->names[figure_infos[figure].what] : NULL;
	int64_t number;
	double value;

	if (name)
		return cell_string(name);
	if (rows_real(rows, row, figure, &value))
		return cell_real(value);
	if (!rows_is_real(figure) && rows_number(rows, row, figure, &number))
		return cell_integer(number);
	return (struct cell){ 0 };
}

void rows_sheet_put(struct sheet *sheet, size_t kind, const struct rows_columns *columns,
		    const struct rows *rows, const struct row *row)
{
	sheet_row(sheet, kind);
	if (row->group)
		sheet_put_keys(sheet, columns->keys, rows->grouping, row->group,
			       rows->totals->selection.recording.has_several_hosts);
	for (enum figure figure = 0; figure < _FIGURE_MAX; figure++)
		if (table_columns_has_field(rows->grouping, figure))
			sheet_put(sheet, columns->figures[figure], cell_of(rows, row, figure));
	if (row->kind == ROW_KIND_HIDDEN)
		sheet_put(sheet, columns->groups, cell_integer((int64_t)rows->hidden_count));
	sheet_end_row(sheet);
}
