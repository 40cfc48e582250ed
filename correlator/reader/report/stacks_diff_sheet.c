/* SPDX-License-Identifier: GPL-2.0-only */
/* Changes by method, for programs. */
#include "reader/report/stacks_diff_view.h"

#include "reader/report/sheet_parts.h"

enum kind {
	KIND_METHOD,
	KIND_ALL, /* exact, including all that was called */
	_KIND_MAX,
};

static const struct sheet_kind kinds[_KIND_MAX] = {
	[KIND_METHOD] = { "method", "methods", false, SHEET_PART_OF_ALL },
	[KIND_ALL] = { "all", NULL, false, SHEET_PART_OF_ALL },
};

static const char *const sides[] = { "before", "after" };

struct view {
	const struct stacks_diff *diff;
	struct sheet sheet;
	size_t name, file, first_line, frame_kind; /* these are indices of columns */
	size_t requests[2], samples[2];
	size_t changes[_STACKS_DIFF_MAX];
};

static void add_columns(struct view *view)
{
	static const char *const changes[_STACKS_DIFF_MAX] = { "self", "total" };
	bool is_of_cpu = view->diff->measure == STACKS_CPU;
	struct sheet *sheet = &view->sheet;

	view->name = sheet_add(sheet, NULL, "name");
	view->file = sheet_add(sheet, NULL, "file");
	view->first_line = sheet_add(sheet, NULL, "first_line");
	view->frame_kind = sheet_add(sheet, NULL, "frame_kind");
	for (size_t i = 0; i < 2; i++) {
		view->requests[i] = sheet_add(sheet, sides[i], "requests");
		view->samples[i] = sheet_add(sheet, sides[i], is_of_cpu ? "samples" : "waits");
	}
	for (int what = 0; what < _STACKS_DIFF_MAX; what++)
		view->changes[what] = sheet_add_change(sheet, changes[what]);
}

static void put_method(struct view *view, const struct stacks_diff_row *row)
{
	struct sheet *sheet = &view->sheet;

	sheet_row(sheet, KIND_METHOD);
	sheet_put_text(sheet, view->name, row->key.name);
	sheet_put_text(sheet, view->file, row->key.file);
	if (row->key.first_line > 0)
		sheet_put(sheet, view->first_line, cell_integer(row->key.first_line));
	sheet_put(sheet, view->frame_kind,
		  cell_string(frame_kind_name((enum frame_kind)row->key.kind)));
	for (int what = 0; what < _STACKS_DIFF_MAX; what++)
		sheet_put_change(sheet, view->changes[what], &row->figures[what]);
	sheet_end_row(sheet);
}

static void put_all(struct view *view)
{
	const struct stacks_diff *diff = view->diff;
	struct sheet *sheet = &view->sheet;

	sheet_row(sheet, KIND_ALL);
	for (size_t i = 0; i < 2; i++) {
		sheet_put(sheet, view->requests[i], cell_integer((int64_t)diff->requests[i]));
		sheet_put(sheet, view->samples[i], cell_integer((int64_t)diff->samples[i]));
	}
	sheet_put_change(sheet, view->changes[STACKS_DIFF_TOTAL], &diff->spent);
	sheet_end_row(sheet);
}

int stacks_diff_view_print(const struct stacks_diff *diff,
			   const struct stacks_view_options *options, FILE *out)
{
	struct view view = { .diff = diff };
	struct sheet *sheet = &view.sheet;
	const struct stacks_diff_row *row;

	if (options->format == FORMAT_TABLE) {
		stacks_diff_text_print(diff, options, out);
		return 0;
	}
	sheet_init(sheet, options->format, NULL, kinds, _KIND_MAX, out);
	add_columns(&view);
	sheet_begin(sheet);
	for (row = diff->rows; row && sheet_goes_on(sheet); row = row->hh.next)
		put_method(&view, row);
	put_all(&view);
	sheet_end_rows(sheet);
	sheet_member(sheet, "tested", json_integer((json_int_t)diff->tested_count));
	sheet_member(sheet, "changed", json_integer((json_int_t)diff->changed_count));
	return sheet_finish(sheet);
}
