#include "report/format.h"

#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "report/display.h"
#include "report/table.h"

/* "Not measured", as against a measured 0. */
static const char not_measured[] = "-";

struct column {
	enum row_field field;
	struct table_column column;
};

/* The first title is the grouping's name. */
static const struct column context_columns[] = {
	{ ROW_FIELD_KEY, { .title = "" } },
	{ ROW_FIELD_REQUESTS, { "requests", 2, false } },
	{ ROW_FIELD_CPU, { "cpu", 0, false } },
	{ ROW_FIELD_USER, { "user", 1, false } },
	{ ROW_FIELD_KERNEL, { "kernel", 1, false } },
	{ ROW_FIELD_SPLIT_ERROR, { "split ±", 3, false } },
	{ ROW_FIELD_RUN_QUEUE, { "run queue", 3, false } },
	{ ROW_FIELD_BLOCKED, { "blocked", 2, false } },
	{ ROW_FIELD_SHARE, { "share", 0, false } },
	{ ROW_FIELD_SLICES, { "slices", 5, false } },
	{ ROW_FIELD_SWITCHES, { "switches", 4, false } },
};

static const struct column machine_columns[] = {
	{ ROW_FIELD_KEY, { .title = "" } },
	{ ROW_FIELD_THREAD_NAME, { "thread", 4, true } },
	{ ROW_FIELD_COMM, { "comm", 5, true } },
	{ ROW_FIELD_CPU, { "cpu", 0, false } },
	{ ROW_FIELD_USER, { "user", 1, false } },
	{ ROW_FIELD_KERNEL, { "kernel", 1, false } },
	{ ROW_FIELD_SPLIT_ERROR, { "split ±", 3, false } },
	{ ROW_FIELD_RUN_QUEUE, { "run queue", 2, false } },
	{ ROW_FIELD_BLOCKED, { "blocked", 2, false } },
	{ ROW_FIELD_CPU_PERCENT, { "% CPU", 0, false } },
	{ ROW_FIELD_MACHINE_PERCENT, { "% machine", 3, false } },
	{ ROW_FIELD_MIGRATIONS, { "migrations", 6, false } },
	{ ROW_FIELD_SWITCHES, { "switches", 7, false } },
};

struct view {
	struct rows rows;
	enum row_field fields[TABLE_COLUMNS_MAX];
};

static void write_label(const struct rows *rows, const struct row *row,
			char ret_text[static TABLE_CELL_BYTES])
{
	char escaped[4 * RECORD_VIEW_TEXT_BYTES_MAX + 1];
	char number[DISPLAY_NUMBER_BYTES];
	struct record_text value;

	switch (row->kind) {
	case ROW_KIND_GROUP:
		value = grouping_label(row->group, rows->totals->recording.has_several_hosts);
		(void)display_escape(value.bytes, value.size_bytes, escaped, sizeof(escaped));
		display_fit(escaped, TABLE_FIRST_COLUMN_MAX, ret_text, TABLE_CELL_BYTES);
		return;
	case ROW_KIND_HIDDEN:
		display_number((int64_t)rows->hidden_count, number);
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "… %s more", number);
		return;
	case ROW_KIND_WITHOUT_KEY:
		(void)snprintf(escaped, sizeof(escaped), "(no %s)", rows->grouping->by);
		display_fit(escaped, TABLE_FIRST_COLUMN_MAX, ret_text, TABLE_CELL_BYTES);
		return;
	case ROW_KIND_UNATTRIBUTED:
		(void)strcpy(ret_text, "unattributed");
		return;
	case ROW_KIND_OVERFLOW:
		(void)strcpy(ret_text, "overflow");
		return;
	default:
		(void)strcpy(ret_text, "total");
	}
}

/* Rows that are no group have no name either. */
static void write_name(const struct row *row, enum group_name which,
		       char ret_text[static TABLE_CELL_BYTES])
{
	char escaped[TEXT_ESCAPE_BYTES * GROUP_NAME_BYTES + 1];
	const char *name = row->group ? row->group->names[which] : "";

	if (!name)
		return;
	(void)display_escape(name, strlen(name), escaped, sizeof(escaped));
	display_fit(escaped, TABLE_TEXT_COLUMN_MAX, ret_text, TABLE_CELL_BYTES);
}

static void write_cost(const struct costs *costs, enum cost cost,
		       char ret_text[static TABLE_CELL_BYTES])
{
	if (!costs_has(costs, cost))
		return;
	if (cost == COST_SLICES || cost == COST_SWITCHES || cost == COST_MIGRATIONS)
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "%" PRId64, costs->sums[cost]);
	else
		display_duration(costs->sums[cost], ret_text);
}

static void write_cell(const void *context, size_t row_index, size_t column,
		       char ret_text[static TABLE_CELL_BYTES])
{
	const struct view *view = context;
	const struct totals *totals = view->rows.totals;
	enum row_field field = view->fields[column];
	struct row row = rows_at(&view->rows, row_index);
	enum cost cost;
	double percent;

	(void)strcpy(ret_text, not_measured);
	if (field == ROW_FIELD_KEY)
		write_label(&view->rows, &row, ret_text);
	else if (field == ROW_FIELD_THREAD_NAME)
		write_name(&row, GROUP_NAME_THREAD, ret_text);
	else if (field == ROW_FIELD_COMM)
		write_name(&row, GROUP_NAME_COMM, ret_text);
	else if (field == ROW_FIELD_REQUESTS && row.request_count > 0)
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "%" PRIu64, row.request_count);
	else if (field == ROW_FIELD_SHARE && costs_share_percent(row.costs, &totals->all, &percent))
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "%.2f %%", percent);
	else if ((field == ROW_FIELD_CPU_PERCENT &&
		  totals_cpu_percent(totals, row.costs, &percent)) ||
		 (field == ROW_FIELD_MACHINE_PERCENT &&
		  totals_machine_percent(totals, row.costs, &percent)))
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "%.2f", percent);
	else if (rows_field_cost(field, &cost))
		write_cost(row.costs, cost, ret_text);
}

static bool is_shown(const struct rows *rows, enum row_field field)
{
	const struct grouping *grouping = rows->grouping;

	/* One a row when grouped by it. */
	if (field == ROW_FIELD_REQUESTS)
		return strcmp(grouping->by, "request_id") != 0;
	if (field == ROW_FIELD_THREAD_NAME)
		return grouping_has_name(grouping, GROUP_NAME_THREAD);
	if (field == ROW_FIELD_SPLIT_ERROR)
		return rows_split_error_matters(rows);
	return field != ROW_FIELD_COMM || grouping_has_name(grouping, GROUP_NAME_COMM);
}

static int print_grouping(const struct totals *totals, const struct grouping *grouping,
			  const struct format_options *options, FILE *out)
{
	const struct column *all = grouping->has_all_time ? machine_columns : context_columns;
	size_t all_count = grouping->has_all_time
				   ? sizeof(machine_columns) / sizeof(machine_columns[0])
				   : sizeof(context_columns) / sizeof(context_columns[0]);
	struct table_column columns[TABLE_COLUMNS_MAX];
	char title[TABLE_CELL_BYTES];
	struct view view;
	struct table table = {
		.columns = columns,
		.width = options->width,
		.is_bold = options->is_bold,
		.cell = write_cell,
		.context = &view,
	};
	int r = rows_init(&view.rows, totals, grouping, options->sort, options->top_count);

	if (r < 0)
		return r;
	for (size_t i = 0; i < all_count; i++) {
		if (!is_shown(&view.rows, all[i].field))
			continue;
		view.fields[table.column_count] = all[i].field;
		columns[table.column_count++] = all[i].column;
	}
	display_fit(grouping->by, TABLE_FIRST_COLUMN_MAX, title, sizeof(title));
	columns[0].title = title;
	table.row_count = rows_count(&view.rows);
	table.rules[0] = rows_find_kind(&view.rows, ROW_KIND_UNATTRIBUTED);
	table.rules[1] = rows_find_kind(&view.rows, ROW_KIND_TOTAL);
	(void)fputc('\n', out);
	table_print(&table, out);
	rows_deinit(&view.rows);
	return 0;
}

static void print_inherited(const struct totals *totals, size_t width, FILE *out)
{
	const struct costs *inherited = &totals->inherited;
	size_t request_count = totals->inherited_requests.count;
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

int format_table(const struct totals *totals, const struct format_options *options, FILE *out)
{
	format_heading(totals, options, out);
	for (size_t i = 0; i < totals->grouping_count; i++) {
		int r;

		if (i > 0 && totals->groupings[i].group_count == 0)
			continue;
		r = print_grouping(totals, &totals->groupings[i], options, out);
		if (r < 0)
			return r;
	}
	print_inherited(totals, options->width, out);
	format_books(totals, options, out);
	format_cost(totals, options, out);
	return 0;
}
