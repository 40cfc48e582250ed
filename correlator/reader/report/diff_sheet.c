/* SPDX-License-Identifier: GPL-2.0-only */
/* Changes between two recordings, for programs. */
#include "reader/report/diff_view.h"

#include "reader/aggregate/top.h"
#include "reader/report/json_part.h"
#include "reader/report/sheet_parts.h"

enum kind {
	KIND_GROUP,
	KIND_HIDDEN, /* counts the groups that --top hides */
	KIND_ALL,
	_KIND_MAX,
};

static const struct sheet_kind kinds[_KIND_MAX] = {
	[KIND_GROUP] = { "group", "rows", false, SHEET_PART_OF_ALL },
	[KIND_HIDDEN] = { "hidden", NULL, false, SHEET_PART_OF_ALL },
	[KIND_ALL] = { "all", NULL, false, SHEET_PART_OF_ALL },
};

struct side_columns {
	size_t requests;
	size_t costs;
};

struct view {
	const struct diff *diff;
	struct sheet sheet;
	size_t keys; /* these are indices of columns */
	struct side_columns before, after;
	size_t changes[_DIFF_MAX];
	size_t groups;
};

static struct side_columns add_side(struct sheet *sheet, const char *object)
{
	struct side_columns columns = { .requests = sheet_add(sheet, object, "requests") };

	columns.costs = sheet_add_costs(sheet, object);
	return columns;
}

static void add_columns(struct view *view)
{
	struct sheet *sheet = &view->sheet;

	view->keys = sheet_add_keys(sheet, &view->diff->before->groupings[0]);
	view->before = add_side(sheet, "before");
	view->after = add_side(sheet, "after");
	for (int what = 0; what < _DIFF_MAX; what++)
		view->changes[what] =
			sheet_add_change(sheet, diff_info((enum diff_what)what)->name);
	view->groups = sheet_add(sheet, NULL, "groups");
}

static void put_side(struct sheet *sheet, const struct side_columns *columns,
		     const struct diff_side *side, const struct totals *totals)
{
	if (side->request_count > 0)
		sheet_put(sheet, columns->requests, cell_integer((int64_t)side->request_count));
	if (side->costs)
		sheet_put_costs(sheet, columns->costs, side->costs, &totals->selection.recording);
}

static void put_row(struct view *view, const struct diff_row *row)
{
	const struct group *group = diff_group(row);
	struct sheet *sheet = &view->sheet;

	sheet_row(sheet, group ? KIND_GROUP : KIND_ALL);
	if (group)
		sheet_put_keys(sheet, view->keys, &view->diff->before->groupings[0], group,
			       diff_has_several_hosts(view->diff));
	put_side(sheet, &view->before, &row->before, view->diff->before);
	put_side(sheet, &view->after, &row->after, view->diff->after);
	for (int what = 0; what < _DIFF_MAX; what++)
		sheet_put_change(sheet, view->changes[what], &row->figures[what]);
	sheet_end_row(sheet);
}

/* The last row is the sum of all requests. */
static void put_rows(struct view *view, size_t top_count)
{
	const struct diff *diff = view->diff;
	size_t group_count = diff->row_count - 1;
	size_t shown_count = top_shown(group_count, top_count);

	for (size_t i = 0; i < shown_count && sheet_goes_on(&view->sheet); i++)
		put_row(view, &diff->rows[i]);
	if (shown_count < group_count) {
		sheet_row(&view->sheet, KIND_HIDDEN);
		sheet_put(&view->sheet, view->groups,
			  cell_integer((int64_t)(group_count - shown_count)));
		sheet_end_row(&view->sheet);
	}
	put_row(view, &diff->rows[group_count]);
	sheet_end_rows(&view->sheet);
}

static void add_recording(struct sheet *sheet, const char *name, const struct totals *totals,
			  const struct input_file *file)
{
	uint64_t duration_ns = recording_duration_ns(&totals->selection.recording);
	json_t *object = json_object();

	json_part_set(object, "name", json_part_text(file->name), &sheet->r);
	json_part_set(object, "records", json_integer((json_int_t)file->entry_count), &sheet->r);
	json_part_set(object, "truncated", json_boolean(file->is_truncated), &sheet->r);
	json_part_set(object, "damaged_bytes", json_integer((json_int_t)file->damaged_bytes),
		      &sheet->r);
	json_part_set(object, "duration_ns", json_integer((json_int_t)duration_ns), &sheet->r);
	sheet_member(sheet, name, object);
}

int diff_view_print(const struct diff *diff, const struct view_options *options, FILE *out)
{
	struct view view = { .diff = diff };
	struct sheet *sheet = &view.sheet;

	if (options->format == FORMAT_TABLE)
		return diff_text_print(diff, options, out);
	sheet_init(sheet, options->format, diff->before->groupings[0].by, kinds, _KIND_MAX, out);
	add_recording(sheet, "before", diff->before, &options->files[0]);
	add_recording(sheet, "after", diff->after, &options->files[1]);
	add_columns(&view);
	sheet_begin(sheet);
	put_rows(&view, options->top_count);
	sheet_member(sheet, "tested", json_integer((json_int_t)diff->tested_count));
	sheet_member(sheet, "changed", json_integer((json_int_t)diff->changed_count));
	return sheet_finish(sheet);
}
