/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/format.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/display.h"
#include "reader/report/csv_part.h"
#include "reader/report/format_columns.h"

static void print_figure(const struct rows *rows, const struct row *row, enum figure figure,
			 FILE *out)
{
	bool is_name = figure_infos[figure].source == FIGURE_SOURCE_NAME;
	const char *name =
		is_name && row->group ? row->group->names[figure_infos[figure].what] : NULL;
	int64_t number;
	double value;

	(void)fputc(',', out);
	if (name)
		csv_part_label((struct record_text){ name, strlen(name) }, out);
	else if (rows_real(rows, row, figure, &value))
		(void)fprintf(out, "%.6f", value);
	else if (!rows_is_real(figure) && rows_number(rows, row, figure, &number))
		(void)fprintf(out, "%" PRId64, number);
}

static void print_row(const struct rows *rows, const struct row *row, FILE *out)
{
	(void)fputs(rows_kind_name(row->kind), out);
	for (size_t i = 0; i < rows->grouping->key_count; i++) {
		(void)fputc(',', out);
		if (row->group)
			csv_part_label(
				grouping_part(row->group, i,
					      rows->totals->selection.recording.has_several_hosts),
				out);
	}
	for (enum figure figure = 0; figure < _FIGURE_MAX; figure++)
		if (format_has_field(rows->grouping, figure))
			print_figure(rows, row, figure, out);
	(void)fputc(',', out);
	if (row->kind == ROW_KIND_HIDDEN)
		(void)fprintf(out, "%zu", rows->hidden_count);
	(void)fputs("\r\n", out);
}

static void print_header(const struct grouping *grouping, FILE *out)
{
	(void)fputs("row", out);
	for (size_t i = 0; i < grouping->key_count; i++) {
		(void)fputc(',', out);
		csv_part_text(grouping->keys[i], out);
	}
	for (enum figure figure = 0; figure < _FIGURE_MAX; figure++)
		if (format_has_field(grouping, figure))
			(void)fprintf(out, ",%s", figure_infos[figure].field);
	(void)fputs(",groups\r\n", out);
}

int format_csv(const struct totals *totals, const struct format_options *options, FILE *out)
{
	struct rows rows;
	int r = rows_init(&rows, totals, &totals->groupings[0], options->sort, options->top_count);

	if (r < 0)
		return r;
	print_header(rows.grouping, out);
	for (size_t i = 0; i < rows_count(&rows) && !ferror(out); i++) {
		struct row row = rows_at(&rows, i);

		print_row(&rows, &row, out);
	}
	rows_deinit(&rows);
	return 0;
}
