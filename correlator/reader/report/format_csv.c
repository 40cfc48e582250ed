/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/format.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/display.h"
#include "reader/report/csv_part.h"

static void print_percent(bool is_measured, double percent, FILE *out)
{
	(void)fputc(',', out);
	if (is_measured)
		(void)fprintf(out, "%.6f", percent);
}

/* Of its requests, or of the one that it is. */
static void print_requests(const struct rows *rows, const struct row *row, FILE *out)
{
	int64_t number = 0;
	bool is_measured = rows_number(rows, row, ROW_FIELD_RATE, &number);

	print_percent(is_measured, (double)number / ROWS_PARTS, out);
	for (int field = ROW_FIELD_CPU_MEAN; field <= ROW_FIELD_PARKED; field++) {
		(void)fputc(',', out);
		if (rows_number(rows, row, (enum row_field)field, &number))
			(void)fprintf(out, "%" PRId64, number);
	}
	is_measured = rows_number(rows, row, ROW_FIELD_SYSCALLS_MEAN, &number);
	print_percent(is_measured, (double)number / ROWS_PARTS, out);
	if (row->group && !row->costs->lacks_span)
		(void)fprintf(out, ",%" PRId64 ",%" PRId64, row->costs->first_ns,
			      row->costs->last_ns);
	else
		(void)fputs(",,", out);
	(void)fputc(',', out);
	if (rows_number(rows, row, ROW_FIELD_CHILDREN, &number))
		(void)fprintf(out, "%" PRId64, number);
}

static void print_name(const struct row *row, enum group_name which, FILE *out)
{
	const char *name = row->group ? row->group->names[which] : NULL;

	(void)fputc(',', out);
	if (name)
		csv_part_label((struct record_text){ name, strlen(name) }, out);
}

static void print_row(const struct rows *rows, const struct row *row, FILE *out)
{
	const struct totals *totals = rows->totals;
	double percent = 0;
	bool is_measured;

	(void)fputs(rows_kind_name(row->kind), out);
	for (size_t i = 0; i < rows->grouping->key_count; i++) {
		(void)fputc(',', out);
		if (row->group)
			csv_part_label(
				grouping_part(row->group, i, totals->recording.has_several_hosts),
				out);
	}
	(void)fputc(',', out);
	if (row->request_count > 0)
		(void)fprintf(out, "%" PRIu64, row->request_count);
	for (int cost = COST_CPU; cost <= COST_BLOCKED; cost++)
		csv_part_cost(row->costs, (enum cost)cost, out);
	is_measured = costs_share_percent(row->costs, &totals->all, &percent);
	print_percent(is_measured, percent, out);
	for (int cost = COST_SLICES; cost < _COST_MAX; cost++)
		csv_part_cost(row->costs, (enum cost)cost, out);
	if (rows->grouping->has_all_time) {
		is_measured = totals_cpu_percent(totals, row->costs, &percent);
		print_percent(is_measured, percent, out);
		is_measured = totals_machine_percent(totals, row->costs, &percent);
		print_percent(is_measured, percent, out);
	}
	print_requests(rows, row, out);
	for (int name = 0; name < _GROUP_NAME_MAX; name++) {
		if (grouping_has_name(rows->grouping, (enum group_name)name))
			print_name(row, (enum group_name)name, out);
	}
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
	(void)fputs(",requests", out);
	for (int cost = COST_CPU; cost < _COST_MAX; cost++)
		(void)fprintf(out, "%s,%s", cost == COST_SLICES ? ",share_percent" : "",
			      costs_name((enum cost)cost));
	if (grouping->has_all_time)
		(void)fputs(",cpu_percent,machine_percent", out);
	(void)fputs(",requests_per_second", out);
	for (int field = ROW_FIELD_CPU_MEAN; field <= ROW_FIELD_PARKED; field++)
		(void)fprintf(out, ",%s_ns", rows_field_name((enum row_field)field));
	(void)fputs(",syscalls_mean,first_ns,last_ns," COSTS_CHILDREN_NAME, out);
	if (grouping_has_name(grouping, GROUP_NAME_THREAD))
		(void)fputs(",thread", out);
	if (grouping_has_name(grouping, GROUP_NAME_COMM))
		(void)fputs(",comm", out);
	if (grouping_has_name(grouping, GROUP_NAME_ENDPOINT))
		(void)fputs(",endpoint", out);
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
