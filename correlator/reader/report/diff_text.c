/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/diff_view.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/display.h"
#include "reader/aggregate/top.h"
#include "reader/report/cell_text.h"

static const char not_measured[] = "-";

/* A line of the table: one figure of a row. */
struct line {
	const struct diff_row *row;
	size_t what; /* 0: the row's first line */
};

struct view {
	const struct diff *diff;
	struct line *lines;
	size_t line_count;
};

enum {
	COLUMN_REQUESTS = 0, /* after the keys */
	COLUMN_FIGURE,
	COLUMN_BEFORE,
	COLUMN_AFTER,
	COLUMN_CHANGE,
	COLUMN_INTERVAL,
	COLUMN_VERDICT,
	_COLUMN_MAX,
};

static bool is_on_both_sides(const struct diff_row *row)
{
	return row->before.costs && row->after.costs;
}

static void add_lines(struct view *view, const struct diff_row *row)
{
	/* A group that is new or gone has nothing to compare. */
	size_t count = is_on_both_sides(row) ? _DIFF_MAX : 1;

	for (size_t what = 0; what < count; what++)
		view->lines[view->line_count++] = (struct line){ row, what };
}

static void write_key(const struct view *view, const struct diff_row *row, size_t key,
		      char ret_text[static TABLE_CELL_BYTES])
{
	const char *name = view->diff->before->groupings[0].keys[key];

	ret_text[0] = '\0';
	if (!diff_group(row)) {
		(void)strcpy(ret_text, key == 0 ? "all requests" : "");
		return;
	}
	cell_text_key(grouping_part(diff_group(row), key, diff_has_several_hosts(view->diff)), name,
		      TABLE_TEXT_COLUMN_MAX, ret_text);
}

/* Writes "+20.4": the change in percent of before_ns. */
static void write_percent(double change, int64_t before_ns, const char *end,
			  char ret_text[static DISPLAY_NUMBER_BYTES])
{
	double percent = before_ns > 0 ? 100 * change / (double)before_ns : 0;

	/* Avoids "-0.0". */
	percent = fabs(percent) < 0.05 ? 0 : percent;
	if (before_ns <= 0 || fabs(percent) >= 1e6)
		(void)strcpy(ret_text, not_measured);
	else
		(void)snprintf(ret_text, DISPLAY_NUMBER_BYTES, "%+.1f%s", percent, end);
}

static void write_interval(const struct diff_figure *figure, char ret_text[static TABLE_CELL_BYTES])
{
	char low[DISPLAY_NUMBER_BYTES], high[DISPLAY_NUMBER_BYTES];

	if (!figure->is_tested)
		return;
	/* before_ns is uncertain, too, but no more than all of it can be gone. */
	write_percent(fmax(figure->difference.low, -(double)figure->before_ns), figure->before_ns,
		      "", low);
	write_percent(figure->difference.high, figure->before_ns, " %", high);
	(void)snprintf(ret_text, TABLE_CELL_BYTES, "%s to %s", low, high);
}

static bool are_too_few(const struct diff_row *row, enum diff_what what)
{
	return row->before.request_count < diff_needed(what) ||
	       row->after.request_count < diff_needed(what);
}

static const char *verdict_of(const struct diff_row *row, const struct diff_figure *figure)
{
	if (!row->before.costs)
		return "new";
	if (!row->after.costs)
		return "gone";
	if (!figure->is_known)
		return "not measured";
	if (!figure->is_tested)
		return "equal";
	return diff_verdict(figure);
}

static void write_verdict(const struct diff_row *row, enum diff_what what,
			  char ret_text[static TABLE_CELL_BYTES])
{
	const struct diff_figure *figure = &row->figures[what];

	if (figure->is_known && !figure->is_tested && are_too_few(row, what))
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "too few to tell: %" PRIu64 " needed",
			       diff_needed(what));
	else
		(void)strcpy(ret_text, verdict_of(row, figure));
}

static void write_cell(const void *context, size_t index, size_t column,
		       char ret_text[static TABLE_CELL_BYTES])
{
	const struct view *view = context;
	const struct diff_row *row = view->lines[index].row;
	size_t what = view->lines[index].what;
	size_t key_count = view->diff->before->groupings[0].key_count;
	const struct diff_figure *figure = &row->figures[what];

	(void)strcpy(ret_text, column <= key_count && what > 0 ? "" : not_measured);
	if (column < key_count && what == 0)
		write_key(view, row, column, ret_text);
	else if (column == key_count + COLUMN_REQUESTS && what == 0)
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "%" PRIu64 " → %" PRIu64,
			       row->before.request_count, row->after.request_count);
	else if (column == key_count + COLUMN_FIGURE)
		(void)strcpy(ret_text, is_on_both_sides(row)
					       ? diff_info((enum diff_what)what)->title
					       : not_measured);
	else if (column == key_count + COLUMN_BEFORE && figure->is_known)
		display_duration(figure->before_ns, ret_text);
	else if (column == key_count + COLUMN_AFTER && figure->is_known)
		display_duration(figure->after_ns, ret_text);
	else if (column == key_count + COLUMN_CHANGE && figure->is_known)
		write_percent((double)(figure->after_ns - figure->before_ns), figure->before_ns,
			      " %", ret_text);
	else if (column == key_count + COLUMN_INTERVAL)
		write_interval(figure, ret_text);
	else if (column == key_count + COLUMN_VERDICT)
		write_verdict(row, (enum diff_what)what, ret_text);
}

static void print_side(const char *label, const struct totals *totals,
		       const struct input_file *file, const struct view_options *options, FILE *out)
{
	char name[512], duration[DISPLAY_NUMBER_BYTES], requests[DISPLAY_NUMBER_BYTES];

	(void)display_escape(file->name, strlen(file->name), name, sizeof(name));
	display_duration((int64_t)recording_duration_ns(&totals->selection.recording), duration);
	display_number((int64_t)totals->groupings[0].request_count, requests);
	display_sentence(out, options->width, DISPLAY_INDENT, "%-7s %s: %s requests in %s%s%s",
			 label, name, requests, duration,
			 file->damaged_places > 0 ? ", DAMAGED: not all of it" : "",
			 file->is_truncated ? ", truncated" : "");
}

static void print_verdict(const struct diff *diff, size_t hidden_count,
			  const struct view_options *options, FILE *out)
{
	if (hidden_count > 0)
		(void)fprintf(out, "… %zu more\n", hidden_count);
	(void)fputc('\n', out);
	if (diff->tested_count == 0) {
		display_sentence(out, options->width, DISPLAY_INDENT,
				 "nothing to compare: too few requests with a request_id");
		return;
	}
	if (diff->changed_count == 0)
		display_sentence(out, options->width, DISPLAY_INDENT,
				 "no significant change in %zu figures, at 95 %%",
				 diff->tested_count);
	else
		display_sentence(out, options->width, DISPLAY_INDENT,
				 "%zu of %zu figures changed significantly, at 95 %% for all of "
				 "them together (Holm's correction)",
				 diff->changed_count, diff->tested_count);
	display_sentence(out, options->width, DISPLAY_INDENT,
			 "The intervals are of 95 %% each, and say how large a change may be that "
			 "is not significant. They take requests for independent: those of one "
			 "busy moment are not, so compare recordings under the same load, and "
			 "repeat what matters.");
}

int diff_text_print(const struct diff *diff, const struct view_options *options, FILE *out)
{
	static const struct table_column numbers[_COLUMN_MAX] = {
		[COLUMN_REQUESTS] = { "requests", 2, false },
		[COLUMN_FIGURE] = { "of each", 0, true },
		[COLUMN_BEFORE] = { "before", 4, false },
		[COLUMN_AFTER] = { "after", 3, false },
		[COLUMN_CHANGE] = { "change", 0, false },
		[COLUMN_INTERVAL] = { "95 % interval", 1, false },
		[COLUMN_VERDICT] = { "", 0, true },
	};
	const struct grouping *grouping = &diff->before->groupings[0];
	struct table_column columns[GROUPING_KEYS_MAX + _COLUMN_MAX];
	size_t group_count = diff->row_count - 1;
	size_t shown_count = top_shown(group_count, options->top_count);
	_cleanup_free_ struct line *lines = calloc(diff->row_count * _DIFF_MAX, sizeof(*lines));
	struct view view = { diff, lines, 0 };
	struct table table = {
		.columns = columns,
		.column_count = grouping->key_count + _COLUMN_MAX,
		.width = view_table_width(options),
		.is_bold = options->is_bold,
		.cell = write_cell,
		.context = &view,
	};

	if (!lines)
		return -ENOMEM;
	for (size_t i = 0; i < grouping->key_count; i++)
		columns[i] = (struct table_column){ grouping->keys[i], 0, true };
	memcpy(columns + grouping->key_count, numbers, sizeof(numbers));
	for (size_t i = 0; i < shown_count; i++)
		add_lines(&view, &diff->rows[i]);
	table.rules[0] = view.line_count;
	add_lines(&view, &diff->rows[group_count]);
	table.row_count = view.line_count;
	print_side("before", diff->before, &options->files[0], options, out);
	print_side("after", diff->after, &options->files[1], options, out);
	(void)fputc('\n', out);
	(void)table_print(&table, out);
	print_verdict(diff, group_count - shown_count, options, out);
	return 0;
}
