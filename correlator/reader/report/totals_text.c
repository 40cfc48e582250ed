/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/totals_view.h"

#include <inttypes.h>
#include <string.h>

#include "base/display.h"
#include "reader/report/table.h"
#include "reader/report/table_columns.h"

enum {
	GROUPS_SHOWN = 8, /* if there are two tables */
	REQUESTS_SHOWN = 5,
};

/* A table of a grouping. */
struct view {
	struct rows rows;
	bool has_date; /* times are of several days */
	char began[DISPLAY_NUMBER_BYTES], ended[DISPLAY_NUMBER_BYTES]; /* titles of these columns */
	enum figure fields[TABLE_COLUMNS_MAX];
};

_Static_assert(_FIGURE_MAX + GROUPING_KEYS_MAX <= TABLE_COLUMNS_MAX, "each figure has room");

static void write_cell(const void *context, size_t row_index, size_t column,
		       char ret_text[static TABLE_CELL_BYTES])
{
	const struct view *view = context;

	row_text_write(&view->rows, row_index, view->fields[column], view->has_date, ret_text);
}

/* Local times need the zone, and a date if the recording is of more than one day. */
static void describe_times(struct view *view)
{
	const struct recording *recording = &view->rows.totals->selection.recording;
	char zone[DISPLAY_ZONE_BYTES];

	view->has_date =
		display_needs_date((int64_t)recording->start_ns, (int64_t)recording->end_ns, zone);
	(void)snprintf(view->began, sizeof(view->began), "%s (%s)",
		       figure_infos[FIGURE_BEGAN].title, zone);
	(void)snprintf(view->ended, sizeof(view->ended), "%s (%s)",
		       figure_infos[FIGURE_ENDED].title, zone);
}

static void add_column(struct view *view, enum figure figure, struct table_column column,
		       struct table *table, struct table_column *columns)
{
	if (figure_infos[figure].unit == FIGURE_UNIT_TIME)
		column.title = figure == FIGURE_BEGAN ? view->began : view->ended;
	view->fields[table->column_count] = figure;
	columns[table->column_count++] = column;
}

static void add_keys(struct view *view, struct table *table, struct table_column *columns)
{
	const struct grouping *grouping = view->rows.grouping;
	size_t part;

	for (enum figure figure = 0; figure < _FIGURE_MAX; figure++)
		if (figure_part(figure, &part) && part < grouping->key_count)
			add_column(view, figure,
				   (struct table_column){ grouping->keys[part], 0, true }, table,
				   columns);
}

/* Chooses options->columns or, without them, all figures that tell something; the screen may have
 * room for only some. */
static void choose_columns(struct view *view, const struct view_options *options,
			   struct table *table, struct table_column *columns)
{
	const struct grouping *grouping = view->rows.grouping;
	enum figure_view of_view = table_columns_view(grouping, options);
	enum figure wanted[_FIGURE_MAX];
	size_t count = figures_of_view(of_view, wanted), part;

	add_keys(view, table, columns);
	if (options->columns) {
		count = options->column_count;
		memcpy(wanted, options->columns, count * sizeof(wanted[0]));
	}
	for (size_t i = 0; i < count; i++) {
		enum figure figure = wanted[i];
		struct table_column column = table_column_of(figure, of_view);

		if (figure_part(figure, &part) || !table_columns_can_show(grouping, figure) ||
		    (!options->columns && !rows_tell(&view->rows, figure)))
			continue;
		if (options->columns || figure == options->sort)
			column.rank = 0;
		add_column(view, figure, column, table, columns);
	}
}

/* Two tables share a screen, unless --top was given. */
static size_t count_shown(const struct totals *totals, const struct view_options *options,
			  bool is_second)
{
	if (options->has_top || totals_text_tables(totals, options) < 2)
		return options->top_count;
	return is_second ? REQUESTS_SHOWN : GROUPS_SHOWN;
}

/* The second table has no sums, which would repeat the first one's, and does not mention again that
 * columns are left out (*left_out). */
static int print_grouping(const struct totals *totals, bool is_second,
			  const struct view_options *options, size_t *left_out, FILE *out)
{
	const struct grouping *grouping = &totals->groupings[is_second];
	struct table_column columns[TABLE_COLUMNS_MAX];
	struct view view = { 0 };
	struct table table = {
		.columns = columns,
		.width = view_table_width(options),
		.is_silent = *left_out > 0,
		.is_bold = options->is_bold,
		.cell = write_cell,
		.context = &view,
	};
	int r = rows_init(&view.rows, totals, grouping, options->sort,
			  count_shown(totals, options, is_second));

	if (r < 0)
		return r;
	describe_times(&view);
	choose_columns(&view, options, &table, columns);
	table.rules[0] = rows_find_kind(&view.rows, ROW_KIND_UNATTRIBUTED);
	table.row_count = is_second ? table.rules[0] : rows_count(&view.rows);
	table.rules[1] = rows_find_kind(&view.rows, ROW_KIND_TOTAL);
	(void)fputc('\n', out);
	*left_out = table_print(&table, out);
	rows_deinit(&view.rows);
	return 0;
}

static void print_inherited(const struct totals *totals, size_t width, FILE *out)
{
	const struct costs *inherited = &totals->inherited;
	uint64_t request_count = totals->inherited_requests;
	char duration[DISPLAY_NUMBER_BYTES] = "-", number[DISPLAY_NUMBER_BYTES],
	     what[2 * DISPLAY_NUMBER_BYTES];

	if (inherited->record_count == 0)
		return;
	if (costs_has(inherited, COST_CPU))
		display_duration(inherited->sums[COST_CPU], duration);
	display_number((int64_t)request_count, number);
	if (request_count > 0)
		(void)snprintf(what, sizeof(what), "%s request%s", number,
			       request_count == 1 ? " was" : "s were");
	else
		(void)strcpy(what, "contexts were");
	(void)fputc('\n', out);
	display_sentence(
		out, width, DISPLAY_INDENT,
		"%s already in force on a thread when it was first seen: flagged inherited, "
		"%s of CPU",
		what, duration);
}

/* A row is exact unless its value was summed up while reading: then prints how much it may lack. */
static void print_lacking(const struct grouping *grouping, size_t width, FILE *out)
{
	char by[256], duration[DISPLAY_NUMBER_BYTES];

	if (grouping->lacking_cpu_ns == 0)
		return;
	(void)display_escape(grouping->by, strlen(grouping->by), by, sizeof(by));
	display_duration(grouping->lacking_cpu_ns, duration);
	(void)fputc('\n', out);
	display_sentence(
		out, width, DISPLAY_INDENT,
		"%s has too many values to keep: those that used least were summed up while "
		"reading. A value that came again may lack up to %s of CPU in its row, and is "
		"counted twice (--top 0 keeps all)",
		by, duration);
}

/* Suggests options to try next. */
static void print_next(const struct totals *totals, const struct view_options *options, FILE *out)
{
	display_sentence(out, options->width, HEADING_COLUMNS,
			 "%-*s%s--slowest, --request ID, --by KEY, --html PAGE, --books, --cost",
			 HEADING_COLUMNS, "next",
			 totals->books.sampled_count > 0 ? "--stacks, " : "");
}

int totals_text_print(const struct totals *totals, const struct view_options *options, FILE *out)
{
	bool is_of_all_time = totals->groupings[0].has_all_time;
	size_t left_out = 0;
	int r;

	heading_text_print(totals, options, out);
	r = print_grouping(totals, false, options, &left_out, out);
	if (r == 0 && totals_text_tables(totals, options) > 1)
		r = print_grouping(totals, true, options, &left_out, out);
	if (r == 0 && options->has_books && !is_of_all_time)
		r = unattributed_text_print(totals, options, out);
	if (r < 0)
		return r;
	for (size_t i = 0; i < totals->grouping_count; i++)
		print_lacking(&totals->groupings[i], options->width, out);
	unattributed_text_print_remedy(totals, options, out);
	if (options->has_books)
		print_inherited(totals, options->width, out);
	books_text_print(totals, options, out);
	if (!options->has_books && !options->has_cost)
		print_next(totals, options, out);
	return 0;
}
