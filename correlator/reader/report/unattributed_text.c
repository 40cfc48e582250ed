/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/totals_view.h"

#include <string.h>

#include "base/display.h"
#include "reader/report/cell_text.h"
#include "reader/report/table.h"
#include "reader/report/table_columns.h"
#include "requests/attribution.h"

enum {
	ROWS_SHOWN = 5,
	WORTH_A_WORD_PERCENT = 1,
};

/* Figures follow. */
enum {
	COLUMN_THREAD,
	COLUMN_WHAT,
	_COLUMN_MAX,
};

struct view {
	struct rows rows;
	enum figure figures[_FIGURE_MAX];
};

static void write_thread(const struct rows *rows, const struct row *row,
			 char ret_text[static TABLE_CELL_BYTES])
{
	if (row->kind == ROW_KIND_HIDDEN) {
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "… %zu more", rows->hidden_count);
		return;
	}
	if (row->kind == ROW_KIND_WITHOUT_KEY) {
		(void)strcpy(ret_text, "other threads");
		return;
	}
	cell_text_key(grouping_part(row->group, 0, false), "name", TABLE_TEXT_COLUMN_MAX, ret_text);
}

static void write_cell(const void *context, size_t row_index, size_t column,
		       char ret_text[static TABLE_CELL_BYTES])
{
	const struct view *view = context;
	struct row row = rows_at(&view->rows, row_index);

	(void)strcpy(ret_text, "-");
	if (column == COLUMN_THREAD)
		write_thread(&view->rows, &row, ret_text);
	else if (column == COLUMN_WHAT && row.group)
		cell_text_fit(grouping_part(row.group, 1, false), TABLE_TEXT_COLUMN_MAX, ret_text);
	else if (column == COLUMN_WHAT)
		ret_text[0] = '\0';
	else
		row_text_write(&view->rows, row_index, view->figures[column - _COLUMN_MAX], false,
			       ret_text);
}

int unattributed_text_print(const struct totals *totals, const struct view_options *options,
			    FILE *out)
{
	struct table_column columns[_COLUMN_MAX + _FIGURE_MAX] = {
		[COLUMN_THREAD] = { "unattributed, by thread", 0, true },
		[COLUMN_WHAT] = { "what it was", 1, true },
	};
	struct view view;
	struct table table = {
		.columns = columns,
		.column_count =
			_COLUMN_MAX + table_columns_choose(FIGURE_VIEW_UNATTRIBUTED, view.figures,
							   columns + _COLUMN_MAX),
		.width = view_table_width(options),
		.is_bold = options->is_bold,
		.cell = write_cell,
		.context = &view,
	};
	int r = rows_init(&view.rows, totals, &totals->unattributed_threads, FIGURE_CPU,
			  ROWS_SHOWN);

	if (r < 0)
		return r;
	table.row_count = rows_find_kind(&view.rows, ROW_KIND_TOTAL);
	if (table.row_count > 0) {
		(void)fputc('\n', out);
		(void)table_print(&table, out);
	}
	rows_deinit(&view.rows);
	return 0;
}

/* Whether the name is one that concurrent-ruby gives the threads of its pools: "worker-1",
 * "io-worker-2" (ruby_thread_pool_executor.rb, 1.1.6). */
static bool is_name_of_pool(struct record_text name)
{
	static const char worker[] = "worker-";
	const char *at = name.bytes, *end = name.bytes + name.size_bytes;

	while (at && at < end &&
	       (at = memmem(at, (size_t)(end - at), worker, sizeof(worker) - 1))) {
		at += sizeof(worker) - 1;
		if (at < end && *at >= '0' && *at <= '9')
			return true;
	}
	return false;
}

static bool is_of_pool(const struct group *group)
{
	return record_text_is(grouping_part(group, 1, false), attribution_name(ATTRIBUTION_NONE)) &&
	       is_name_of_pool(grouping_part(group, 0, false));
}

void unattributed_text_print_remedy(const struct totals *totals, const struct view_options *options,
				    FILE *out)
{
	struct costs sum = { 0 };
	double percent;

	for (const struct group *group = totals->unattributed_threads.groups; group;
	     group = group->hh.next)
		if (is_of_pool(group))
			costs_add(&sum, &group->costs);
	if (sum.record_count == 0 || !costs_share_percent(&sum, &totals->all, &percent) ||
	    percent < WORTH_A_WORD_PERCENT)
		return;
	(void)fputc('\n', out);
	display_sentence(
		out, options->width, DISPLAY_INDENT,
		"%.1f %% of the CPU was in threads of a pool, in no context: with the gem "
		"`correlator', `require \"correlator/concurrent\"' attributes it to the requests "
		"that queued the work",
		percent);
}
