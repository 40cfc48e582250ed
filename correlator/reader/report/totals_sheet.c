/* SPDX-License-Identifier: GPL-2.0-only */
/* The totals of each group, for programs. */
#include "reader/report/totals_view.h"

#include "reader/report/recording_json.h"
#include "reader/report/rows_sheet.h"

int totals_view_print(const struct totals *totals, const struct view_options *options, FILE *out)
{
	const struct grouping *grouping = &totals->groupings[0];
	struct sheet_kind kinds[_ROW_KIND_MAX] = { [ROW_KIND_GROUP] = { .array = "rows" } };
	struct rows_columns columns = { 0 };
	struct sheet sheet;
	struct rows rows;
	int r;

	if (options->format == FORMAT_TABLE)
		return totals_text_print(totals, options, out);
	r = rows_init(&rows, totals, grouping, options->sort, options->top_count);
	if (r < 0)
		return r;
	for (int kind = 0; kind < _ROW_KIND_MAX; kind++)
		kinds[kind].name = rows_kind_name((enum row_kind)kind);
	sheet_init(&sheet, options->format, grouping->by, kinds, _ROW_KIND_MAX, out);
	rows_sheet_add(&sheet, grouping, &columns);
	sheet_begin(&sheet);
	for (size_t i = 0; i < rows_count(&rows) && sheet_goes_on(&sheet); i++) {
		struct row row = rows_at(&rows, i);

		rows_sheet_put(&sheet, row.kind, &columns, &rows, &row);
	}
	sheet_end_rows(&sheet);
	if (grouping->lacking_cpu_ns > 0)
		sheet_member(&sheet, "lacking_cpu_ns", json_integer(grouping->lacking_cpu_ns));
	recording_json_add(&sheet, totals, options);
	rows_deinit(&rows);
	return sheet_finish(&sheet);
}
