/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/cell_text.h"
#include "reader/report/totals_view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/display.h"
#include "reader/aggregate/series.h"
#include "reader/aggregate/top.h"
#include "reader/report/table.h"
#include "reader/report/table_columns.h"

enum {
	STEPS_SHOWN_MAX = 60, /* unless their length was given */
	BAR_COLUMNS = 12,
	CURVE_COLUMNS_MAX = 60,
	CURVE_COLUMNS_MIN = 12, /* width of its title */
	LINE_NUMBERS_COLUMNS = 30, /* a line's numbers and their gaps */
};

struct view {
	struct series series;
	int64_t most_ns; /* largest CPU of a step */
	bool has_date;
	size_t lines_shown;
	size_t curve_columns;
	size_t steps_of_column;
	int64_t *curves; /* CPU of each line shown, by column */
	enum figure figures[_FIGURE_MAX]; /* of the table being printed */
	size_t figure_count;
};

/* A row of the table of steps; the last row is the sum of all steps. */
struct row_of_step {
	const struct costs *all;
	const struct costs *unattributed;
	uint64_t request_count;
};

static struct row_of_step row_at(const struct view *view, size_t row)
{
	const struct totals *totals = view->series.totals;
	const struct series_step *step = &view->series.steps[row];

	if (row == view->series.step_count)
		return (struct row_of_step){ &totals->all, &totals->unattributed,
					     totals->groupings[0].request_count };
	return (struct row_of_step){ &step->all, &step->unattributed, step->request_count };
}

/* Writes a left-aligned bar in eighths of a column. */
static void write_bar(int64_t part, int64_t whole, char ret_text[static TABLE_CELL_BYTES])
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	size_t length = 0;
	int count = whole > 0 ? (int)((double)part / (double)whole * 8 * BAR_COLUMNS + 0.5) : 0;

	ret_text[0] = '\0';
	for (; count >= 8; count -= 8)
		length += (size_t)snprintf(ret_text + length, TABLE_CELL_BYTES - length, "█");
	(void)snprintf(ret_text + length, TABLE_CELL_BYTES - length, "%s", eighths[count]);
}

static size_t choose_figures(struct view *view, enum figure_view of, struct table_column *columns)
{
	view->figure_count = table_columns_choose(of, view->figures, columns);
	return view->figure_count;
}

static void write_figure(const struct costs *costs, uint64_t request_count, enum figure figure,
			 char ret_text[static TABLE_CELL_BYTES])
{
	if (figure != FIGURE_REQUESTS)
		cell_text_cost(costs, figure, ret_text);
	else if (request_count > 0)
		cell_text_number(figure, (int64_t)request_count, false, ret_text);
}

/* Without unattributed records it is 0 if CPU was measured. */
static void write_unattributed(const struct row_of_step *row,
			       char ret_text[static TABLE_CELL_BYTES])
{
	if (row->unattributed->record_count > 0 || costs_has(row->all, COST_CPU))
		cell_text_cost(row->unattributed, FIGURE_CPU, ret_text);
}

/* Columns of the table of steps: the start, the figures of the view, and these. */
enum {
	STEP_UNATTRIBUTED,
	STEP_BAR,
	_STEP_MAX,
};

static void write_step(const void *context, size_t row_index, size_t column,
		       char ret_text[static TABLE_CELL_BYTES])
{
	const struct view *view = context;
	struct row_of_step row = row_at(view, row_index);
	size_t behind = 1 + view->figure_count;
	bool is_total = row_index == view->series.step_count;

	(void)strcpy(ret_text, column == behind + STEP_BAR ? "" : "-");
	if (column == 0 && is_total)
		(void)strcpy(ret_text, "total");
	else if (column == 0)
		display_time((int64_t)view->series.steps[row_index].span.start_ns, view->has_date,
			     ret_text);
	else if (column < behind)
		write_figure(row.all, row.request_count, view->figures[column - 1], ret_text);
	else if (column == behind + STEP_UNATTRIBUTED)
		write_unattributed(&row, ret_text);
	else if (!is_total && costs_has(row.all, COST_CPU))
		write_bar(row.all->sums[COST_CPU], view->most_ns, ret_text);
}

/* Shows only the zone: "began (CET), steps of 10.00 s" would be too wide. */
static void describe_times(struct view *view, char ret_title[static DISPLAY_NUMBER_BYTES])
{
	const struct series *series = &view->series;
	char zone[DISPLAY_ZONE_BYTES];

	(void)strcpy(ret_title, "began");
	if (series->step_count == 0)
		return;
	view->has_date = display_needs_date(
		(int64_t)series->steps[0].span.start_ns,
		(int64_t)series->steps[series->step_count - 1].span.start_ns, zone);
	(void)snprintf(ret_title, DISPLAY_NUMBER_BYTES, "began (%s)", zone);
}

static void print_steps(struct view *view, const struct view_options *options, FILE *out)
{
	char began[DISPLAY_NUMBER_BYTES];
	struct table_column columns[1 + _FIGURE_MAX + _STEP_MAX] = { { began, 0, true } };
	const struct table table = {
		.columns = columns,
		.column_count =
			1 + choose_figures(view, FIGURE_VIEW_STEPS, columns + 1) + _STEP_MAX,
		.row_count = view->series.step_count + 1,
		.rules = { view->series.step_count },
		.width = view_table_width(options),
		.is_bold = options->is_bold,
		.cell = write_step,
		.context = view,
	};

	columns[1 + view->figure_count + STEP_UNATTRIBUTED] =
		(struct table_column){ "unattributed", 4, false };
	columns[1 + view->figure_count + STEP_BAR] =
		(struct table_column){ "cpu as a bar", 6, true };
	describe_times(view, began);
	for (size_t i = 0; i < view->series.step_count; i++)
		if (view->series.steps[i].all.sums[COST_CPU] > view->most_ns)
			view->most_ns = view->series.steps[i].all.sums[COST_CPU];
	(void)fputc('\n', out);
	(void)table_print(&table, out);
}

/* Several steps share a column if there are too many. Draws their mean, as the last column may have
 * fewer. */
static int sum_curves(struct view *view)
{
	const struct series *series = &view->series;
	size_t last = view->curve_columns - 1;

	view->curves =
		calloc(view->lines_shown + 1, (view->curve_columns + 1) * sizeof(*view->curves));
	if (!view->curves)
		return -ENOMEM;
	for (size_t i = 0; i < series->cell_count; i++) {
		const struct series_cell *cell = &series->cells[i];
		size_t column = cell->step / view->steps_of_column;

		if (cell->line < view->lines_shown)
			saturated_add_to(&view->curves[cell->line * view->curve_columns + column],
					 cell->costs.sums[COST_CPU]);
	}
	for (size_t i = 0; i < view->lines_shown * view->curve_columns; i++) {
		size_t count = i % view->curve_columns < last
				       ? view->steps_of_column
				       : series->step_count - last * view->steps_of_column;

		view->curves[i] /= (int64_t)count;
	}
	return 0;
}

/* Each curve has its own scale; a blank is no CPU at all. */
static void write_curve(const struct view *view, size_t line,
			char ret_text[static TABLE_CELL_BYTES])
{
	static const char *const levels[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	const int64_t *curve = view->curves + line * view->curve_columns;
	int64_t most_ns = 0;
	size_t length = 0;

	ret_text[0] = '\0';
	for (size_t i = 0; i < view->curve_columns; i++)
		most_ns = curve[i] > most_ns ? curve[i] : most_ns;
	for (size_t i = 0; i < view->curve_columns; i++) {
		int64_t ns = curve[i];
		int level = (int)((double)ns / (double)most_ns * 7 + 0.5);

		length += (size_t)snprintf(ret_text + length, TABLE_CELL_BYTES - length, "%s",
					   ns > 0 ? levels[level] : " ");
	}
}

/* Columns of the table of lines: the keys, the figures of the view, and these. */
enum {
	LINE_PEAK,
	LINE_CURVE,
	_LINE_MAX,
};

static void write_key(const struct view *view, const struct series_cell *line, size_t key,
		      char ret_text[static TABLE_CELL_BYTES])
{
	const struct totals *totals = view->series.totals;
	struct record_text value =
		grouping_part(line->group, key, totals->selection.recording.has_several_hosts);

	cell_text_key(value, totals->groupings[0].keys[key], TABLE_TEXT_COLUMN_MAX, ret_text);
}

static void write_line(const void *context, size_t row, size_t column,
		       char ret_text[static TABLE_CELL_BYTES])
{
	const struct view *view = context;
	const struct series_cell *line = &view->series.lines[row];
	size_t key_count = view->series.grouping->key_count;
	size_t behind = key_count + view->figure_count;

	(void)strcpy(ret_text, "-");
	if (column < key_count)
		write_key(view, line, column, ret_text);
	else if (column < behind)
		write_figure(&line->costs, line->request_count, view->figures[column - key_count],
			     ret_text);
	else if (!costs_has(&line->costs, COST_CPU))
		return;
	else if (column == behind + LINE_PEAK)
		display_duration(line->peak_ns, ret_text);
	else
		write_curve(view, row, ret_text);
}

static void print_lines(struct view *view, const struct view_options *options, FILE *out)
{
	const struct grouping *grouping = view->series.grouping;
	struct table_column columns[GROUPING_KEYS_MAX + _FIGURE_MAX + _LINE_MAX];
	size_t behind = grouping->key_count +
			choose_figures(view, FIGURE_VIEW_LINES, columns + grouping->key_count);
	struct table table = {
		.columns = columns,
		.column_count = behind + _LINE_MAX,
		.row_count = view->lines_shown,
		.width = view_table_width(options),
		.is_bold = options->is_bold,
		.cell = write_line,
		.context = view,
	};

	for (size_t i = 0; i < grouping->key_count; i++)
		columns[i] = (struct table_column){ grouping->keys[i], 0, true };
	columns[behind + LINE_PEAK] = (struct table_column){ "peak", 1, false };
	columns[behind + LINE_CURVE] = (struct table_column){ "cpu over time", 3, true };
	if (view->lines_shown == 0)
		return;
	(void)fputc('\n', out);
	(void)table_print(&table, out);
	if (view->lines_shown < view->series.line_count)
		(void)fprintf(out, "… %zu more\n", view->series.line_count - view->lines_shown);
}

/* Makes a series in the grouping's steps or, unless has_step, in longer ones that fit a screen. */
static int init_series(struct series *series, const struct totals *totals,
		       const struct view_options *options)
{
	int r = series_init(series, totals, 0);
	uint64_t step_ns;

	if (r < 0 || options->has_step)
		return r;
	step_ns = series_choose_step(series, STEPS_SHOWN_MAX);
	if (step_ns == 0)
		return 0;
	series_deinit(series);
	return series_init(series, totals, step_ns);
}

/* The columns left on the screen for curves beside the rest of a line. */
static size_t room_of_curves(const struct view *view, const struct view_options *options)
{
	const struct grouping *grouping = view->series.grouping;
	size_t taken = LINE_NUMBERS_COLUMNS;
	char cell[TABLE_CELL_BYTES];

	for (size_t key = 0; key < grouping->key_count; key++) {
		size_t widest = display_columns(grouping->keys[key]);

		for (size_t line = 0; line < view->lines_shown; line++) {
			size_t width;

			write_key(view, &view->series.lines[line], key, cell);
			width = display_columns(cell);
			widest = width > widest ? width : widest;
		}
		taken += widest + 2;
	}
	if (options->is_endless || taken + CURVE_COLUMNS_MAX < options->width)
		return CURVE_COLUMNS_MAX;
	return taken + CURVE_COLUMNS_MIN < options->width ? options->width - taken
							  : CURVE_COLUMNS_MIN;
}

static int draw_curves(struct view *view, const struct view_options *options)
{
	size_t room = room_of_curves(view, options), step_count = view->series.step_count;

	view->steps_of_column = step_count > room ? (step_count + room - 1) / room : 1;
	view->curve_columns = (step_count + view->steps_of_column - 1) / view->steps_of_column;
	return sum_curves(view);
}

int series_text_print(const struct totals *totals, const struct view_options *options, FILE *out)
{
	struct view view = { 0 };
	int r = init_series(&view.series, totals, options);

	if (r < 0)
		return r;
	view.lines_shown = top_shown(view.series.line_count, options->top_count);
	r = draw_curves(&view, options);
	if (r == 0) {
		heading_text_print(totals, options, out);
		print_steps(&view, options, out);
		print_lines(&view, options, out);
		books_text_print(totals, options, out);
	}
	free(view.curves);
	series_deinit(&view.series);
	return r;
}
