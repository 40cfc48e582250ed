/* SPDX-License-Identifier: GPL-2.0-only */
/* What changed, for programs: JSON, a line of JSON for each row, and CSV. */
#include "reader/report/format_diff.h"

#include <inttypes.h>

#include "reader/report/csv_part.h"
#include "reader/report/json_group.h"
#include "reader/report/json_part.h"

/* Of those that are by keys; the last row is of all. */
static size_t shown_count(const struct diff *diff, const struct format_options *options)
{
	size_t count = diff->row_count - 1;

	return options->top_count > 0 && options->top_count < count ? options->top_count : count;
}

static json_t *describe_side(const struct diff_side *side, int *r)
{
	json_t *object = json_object();

	if (side->request_count > 0)
		json_part_set(object, "requests", json_integer((json_int_t)side->request_count), r);
	json_group_costs(object, side->costs, r);
	return object;
}

static void describe_row(const struct diff *diff, const struct diff_row *row, json_t *object,
			 int *r)
{
	const struct group *group = diff_group(row);

	if (group)
		json_group_keys(object, &diff->before->groupings[0], group,
				diff_has_several_hosts(diff), r);
	if (row->before.costs)
		json_part_set(object, "before", describe_side(&row->before, r), r);
	if (row->after.costs)
		json_part_set(object, "after", describe_side(&row->after, r), r);
	for (int what = 0; what < _DIFF_MAX; what++)
		if (row->figures[what].is_known)
			json_part_set(object, diff_info((enum diff_what)what)->name,
				      json_group_figure(&row->figures[what], r), r);
}

static int print_row(const struct diff *diff, const struct diff_row *row, const char *before,
		     FILE *out)
{
	json_t *object = json_object();
	int r = 0;

	describe_row(diff, row, object, &r);
	return json_part_print(before, object, r, out);
}

static int print_recording(const char *before, const struct totals *totals,
			   const struct input_file *file, FILE *out)
{
	json_t *object = json_object();
	int r = 0;

	json_part_set(object, "name", json_part_text(file->name), &r);
	json_part_set(object, "records", json_integer((json_int_t)file->entry_count), &r);
	json_part_set(object, "truncated", json_boolean(file->is_truncated), &r);
	json_part_set(object, "damaged_bytes", json_integer((json_int_t)file->damaged_bytes), &r);
	json_part_set(object, "duration_ns",
		      json_integer((json_int_t)recording_duration_ns(&totals->selection.recording)),
		      &r);
	return json_part_print(before, object, r, out);
}

int format_diff_json(const struct diff *diff, const struct format_options *options, FILE *out)
{
	size_t count = shown_count(diff, options);
	int r = json_part_print("{\"by\":", json_part_text(diff->before->groupings[0].by), 0, out);

	if (r == 0)
		r = print_recording(",\n\"before\":", diff->before, &options->files[0], out);
	if (r == 0)
		r = print_recording(",\n\"after\":", diff->after, &options->files[1], out);
	(void)fputs(",\n\"rows\":[", out);
	for (size_t i = 0; i < count && r == 0 && !ferror(out); i++)
		r = print_row(diff, &diff->rows[i], i == 0 ? "\n" : ",\n", out);
	(void)fputs("]", out);
	if (count < diff->row_count - 1)
		(void)fprintf(out, ",\n\"hidden\":{\"groups\":%zu}", diff->row_count - 1 - count);
	if (r == 0)
		r = print_row(diff, &diff->rows[diff->row_count - 1], ",\n\"all\":", out);
	(void)fprintf(out, ",\n\"tested\":%zu,\"changed\":%zu}\n", diff->tested_count,
		      diff->changed_count);
	return r;
}

typedef int (*row_fn)(const struct diff *diff, const struct diff_row *row, FILE *out);
/* Instead of so many groups. */
typedef int (*hidden_fn)(const struct diff *diff, size_t count, FILE *out);

static int for_each_row(const struct diff *diff, const struct format_options *options, row_fn fn,
			hidden_fn hidden, FILE *out)
{
	size_t count = shown_count(diff, options), hidden_count = diff->row_count - 1 - count;
	int r = 0;

	for (size_t i = 0; i < count && r == 0 && !ferror(out); i++)
		r = fn(diff, &diff->rows[i], out);
	if (r == 0 && hidden_count > 0)
		r = hidden(diff, hidden_count, out);
	return r == 0 ? fn(diff, &diff->rows[diff->row_count - 1], out) : r;
}

static const char *row_name(const struct diff_row *row)
{
	return diff_group(row) ? "group" : "all";
}

static int print_ndjson_row(const struct diff *diff, const struct diff_row *row, FILE *out)
{
	json_t *object = json_object();
	int r = 0;

	json_part_set(object, "row", json_part_text(row_name(row)), &r);
	json_part_set(object, "by", json_part_text(diff->before->groupings[0].by), &r);
	describe_row(diff, row, object, &r);
	r = json_part_print("", object, r, out);
	(void)fputc('\n', out);
	return r;
}

static int print_ndjson_hidden(const struct diff *diff, size_t count, FILE *out)
{
	json_t *object = json_object();
	int r = 0;

	json_part_set(object, "row", json_part_text("hidden"), &r);
	json_part_set(object, "by", json_part_text(diff->before->groupings[0].by), &r);
	json_part_set(object, "groups", json_integer((json_int_t)count), &r);
	r = json_part_print("", object, r, out);
	(void)fputc('\n', out);
	return r;
}

int format_diff_ndjson(const struct diff *diff, const struct format_options *options, FILE *out)
{
	return for_each_row(diff, options, print_ndjson_row, print_ndjson_hidden, out);
}

static void print_csv_side(const struct diff_side *side, FILE *out)
{
	(void)fputc(',', out);
	if (side->request_count > 0)
		(void)fprintf(out, "%" PRIu64, side->request_count);
	for (int cost = 0; cost < _COST_MAX; cost++) {
		if (side->costs)
			csv_part_cost(side->costs, (enum cost)cost, out);
		else
			(void)fputc(',', out);
	}
	(void)fputc(',', out);
	if (side->costs)
		(void)fprintf(out, "%" PRId64, side->costs->children_ns);
}

static int print_csv_row(const struct diff *diff, const struct diff_row *row, FILE *out)
{
	const struct group *group = diff_group(row);

	(void)fputs(row_name(row), out);
	for (size_t i = 0; i < diff->before->groupings[0].key_count; i++) {
		(void)fputc(',', out);
		if (group)
			csv_part_label(grouping_part(group, i, diff_has_several_hosts(diff)), out);
	}
	print_csv_side(&row->before, out);
	print_csv_side(&row->after, out);
	for (int what = 0; what < _DIFF_MAX; what++)
		csv_part_figure(&row->figures[what], out);
	(void)fputs(",\r\n", out);
	return 0;
}

static int print_csv_hidden(const struct diff *diff, size_t count, FILE *out)
{
	static const struct diff_row nothing;

	(void)fputs("hidden", out);
	for (size_t i = 0; i < diff->before->groupings[0].key_count; i++)
		(void)fputc(',', out);
	print_csv_side(&nothing.before, out);
	print_csv_side(&nothing.after, out);
	for (int what = 0; what < _DIFF_MAX; what++)
		csv_part_figure(&nothing.figures[what], out);
	(void)fprintf(out, ",%zu\r\n", count);
	return 0;
}

static void print_csv_header(const struct grouping *grouping, FILE *out)
{
	static const char *const sides[] = { "before", "after" };
	static const char *const columns[] = { "before_ns", "after_ns",	   "change_ns", "low_ns",
					       "high_ns",   "probability", "corrected", "changed" };

	(void)fputs("row", out);
	for (size_t i = 0; i < grouping->key_count; i++) {
		(void)fputc(',', out);
		csv_part_text(grouping->keys[i], out);
	}
	for (size_t side = 0; side < 2; side++) {
		(void)fprintf(out, ",%s_requests", sides[side]);
		for (int cost = 0; cost < _COST_MAX; cost++)
			(void)fprintf(out, ",%s_%s", sides[side],
				      figure_infos[figure_of_cost((enum cost)cost)].field);
		(void)fprintf(out, ",%s_%s", sides[side], figure_infos[FIGURE_CHILDREN].field);
	}
	for (int what = 0; what < _DIFF_MAX; what++)
		for (size_t i = 0; i < sizeof(columns) / sizeof(columns[0]); i++)
			(void)fprintf(out, ",%s_%s", diff_info((enum diff_what)what)->name,
				      columns[i]);
	(void)fputs(",groups\r\n", out);
}

int format_diff_csv(const struct diff *diff, const struct format_options *options, FILE *out)
{
	print_csv_header(&diff->before->groupings[0], out);
	return for_each_row(diff, options, print_csv_row, print_csv_hidden, out);
}
