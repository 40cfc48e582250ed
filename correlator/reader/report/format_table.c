/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/format.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/display.h"
#include "base/text.h"
#include "reader/report/format_columns.h"
#include "reader/report/table.h"
#include "record/blocked.h"

enum {
	ITEM_BYTES = 512,
	PROCESSES_SHOWN_MAX = 12,
	GROUPS_SHOWN = 8,
	REQUESTS_SHOWN = 5,
	CLEAN_BYTES = 4 * RECORDING_TEXT_BYTES,
};

static const char without_split[] = " without user/kernel split";

/* A label and items separated by commas, continued on the next line where the screen ends. */
struct item_list {
	FILE *out;
	size_t width;
	size_t column;
	bool is_empty;
};

static struct item_list list_begin(const char *label, const struct format_options *options,
				   FILE *out)
{
	(void)fprintf(out, "%-*s", HEADING_COLUMNS, label);
	return (struct item_list){ out, options->width, HEADING_COLUMNS, true };
}

static void list_add(struct item_list *list, const char *item)
{
	size_t room = list->width > HEADING_COLUMNS + 1 ? list->width - HEADING_COLUMNS - 1 : 1;
	char fitted[ITEM_BYTES];
	size_t columns;

	display_fit(item, room, fitted, sizeof(fitted));
	columns = display_columns(fitted);
	if (!list->is_empty && list->column + 2 + columns + 1 > list->width) {
		(void)fprintf(list->out, ",\n%*s%s", HEADING_COLUMNS, "", fitted);
		list->column = HEADING_COLUMNS + columns;
	} else {
		(void)fprintf(list->out, "%s%s", list->is_empty ? "" : ", ", fitted);
		list->column += columns + (list->is_empty ? 0 : 2);
	}
	list->is_empty = false;
}

static void list_end(const struct item_list *list)
{
	(void)fputs(list->is_empty ? "-\n" : "\n", list->out);
}

static void describe_damage(const struct input_file *file, char *ret_text, size_t text_bytes)
{
	char bytes[DISPLAY_NUMBER_BYTES];

	if (file->damaged_places == 0)
		return;
	display_number((int64_t)file->damaged_bytes, bytes);
	(void)snprintf(ret_text, text_bytes, ", %s byte%s damaged", bytes,
		       file->damaged_bytes == 1 ? "" : "s");
}

static void print_files(const struct format_options *options, FILE *out)
{
	struct item_list list = list_begin("recording", options, out);

	for (size_t i = 0; i < options->file_count; i++) {
		const struct input_file *file = &options->files[i];
		char name[ITEM_BYTES / 2], number[DISPLAY_NUMBER_BYTES], item[ITEM_BYTES];
		char damage[2 * DISPLAY_NUMBER_BYTES] = "";

		(void)display_escape(file->name, strlen(file->name), name, sizeof(name));
		display_number((int64_t)file->entry_count, number);
		describe_damage(file, damage, sizeof(damage));
		(void)snprintf(item, sizeof(item), "%s (%s record%s%s%s)", name, number,
			       file->entry_count == 1 ? "" : "s", damage,
			       file->is_truncated ? ", truncated" : "");
		list_add(&list, item);
	}
	list_end(&list);
}

/* Where somebody set the clock, times go on as before. */
static void add_clock_set(struct item_list *list, const struct recording *recording)
{
	int64_t set_ns = recording->clock_set_ns;
	char by[DISPLAY_NUMBER_BYTES], after[DISPLAY_NUMBER_BYTES], item[ITEM_BYTES];

	if (set_ns == 0)
		return;
	display_duration(set_ns < 0 ? -(set_ns + 1) : set_ns, by);
	display_duration(recording->clock_set_at_ns > recording->start_ns
				 ? (int64_t)(recording->clock_set_at_ns - recording->start_ns)
				 : 0,
			 after);
	(void)snprintf(item, sizeof(item), "as by the clock before it was set %s by %s, after %s",
		       set_ns < 0 ? "back" : "on", by, after);
	list_add(list, item);
}

static void print_time(const struct recording *recording, const struct format_options *options,
		       FILE *out)
{
	struct item_list list = list_begin("time", options, out);
	time_t seconds = (time_t)(recording->start_ns / (int64_t)NS_PER_S);
	char item[ITEM_BYTES], duration[DISPLAY_NUMBER_BYTES];
	struct tm utc;

	if (recording->end_ns > 0 && gmtime_r(&seconds, &utc)) {
		display_duration((int64_t)(recording->end_ns - recording->start_ns), duration);
		list_add(&list, duration);
		(void)strftime(item, sizeof(item), "from %Y-%m-%d %H:%M:%S UTC", &utc);
		list_add(&list, item);
		add_clock_set(&list, recording);
	}
	list_end(&list);
}

/* Adds to a list separated by commas; nothing when the text is empty. */
static void add_detail(char *details, size_t details_bytes, const char *label, const char *text)
{
	size_t length = strlen(details);

	if (text[0] != '\0')
		(void)snprintf(details + length, details_bytes - length, "%s%s%.80s",
			       length > 0 ? ", " : "", label, text);
}

static void describe_process(const struct recording_process_info *info, bool with_host,
			     char ret_item[static ITEM_BYTES])
{
	char host[2 * RECORDING_TEXT_BYTES], comm[2 * RECORDING_TEXT_BYTES];
	char details[2 * RECORDING_TEXT_BYTES] = "", clean[2 * RECORDING_TEXT_BYTES];

	(void)display_escape(info->host_name, strlen(info->host_name), host, sizeof(host));
	(void)display_escape(info->comm, strlen(info->comm), comm, sizeof(comm));
	add_detail(details, sizeof(details), "", info->server);
	add_detail(details, sizeof(details), "Ruby ", info->ruby_version);
	add_detail(details, sizeof(details), "", strcmp(info->mode, "exact") ? info->mode : "");
	add_detail(details, sizeof(details), "", info->end_ns > 0 ? "ended" : "");
	(void)display_escape(details, strlen(details), clean, sizeof(clean));
	(void)snprintf(ret_item, ITEM_BYTES, "%.128s%s%" PRId64 " %.160s%s%.200s%s",
		       with_host ? host : "", with_host ? ":" : "", info->pid, comm,
		       clean[0] != '\0' ? " (" : "", clean, clean[0] != '\0' ? ")" : "");
}

/*
 * Which process stands for all that have ended, where none is left: the first that has a Ruby, or
 * the first. NULL: some are left, which are named.
 */
static const void *find_first_of_ended(const struct recording *recording)
{
	struct recording_process_info info;
	const void *cursor = NULL, *first = NULL, *with_ruby = NULL;

	while (recording_next_process(recording, &cursor, &info)) {
		if (info.end_ns == 0)
			return NULL;
		if (!first)
			first = cursor;
		if (!with_ruby && info.ruby_version[0] != '\0')
			with_ruby = cursor;
	}
	return with_ruby ? with_ruby : first;
}

static void add_process(struct item_list *list, const struct recording_process_info *info,
			bool with_host)
{
	char raw[ITEM_BYTES], item[2 * ITEM_BYTES];

	describe_process(info, with_host, raw);
	/* Once more: the length limits may have cut a character. */
	(void)display_escape(raw, strlen(raw), item, sizeof(item));
	list_add(list, item);
}

/* With has_books also those that have ended: a request may have started thousands. */
static void print_processes(const struct recording *recording, const struct format_options *options,
			    FILE *out)
{
	struct item_list list = list_begin("processes", options, out);
	struct recording_process_info info;
	const void *cursor = NULL, *of_ended = find_first_of_ended(recording);
	size_t shown = 0, left = 0, ended = 0;
	char item[ITEM_BYTES];

	while (recording_next_process(recording, &cursor, &info)) {
		if (!options->has_books && info.end_ns > 0 && cursor != of_ended)
			ended++;
		else if (shown++ < PROCESSES_SHOWN_MAX)
			add_process(&list, &info, recording->has_several_hosts);
		else
			left++;
	}
	if (left > 0) {
		(void)snprintf(item, sizeof(item), "… %zu more", left);
		list_add(&list, item);
	}
	if (ended > 0) {
		(void)snprintf(item, sizeof(item), "%zu more have ended", ended);
		list_add(&list, item);
	}
	list_end(&list);
}

static void add_labelled(struct item_list *list, const char *label, const char *text)
{
	char clean[CLEAN_BYTES], item[2 * ITEM_BYTES];

	(void)display_escape(text, strlen(text), clean, sizeof(clean));
	(void)snprintf(item, sizeof(item), "%s%s", label, clean);
	if (clean[0] != '\0')
		list_add(list, item);
}

static void print_mode_change(const struct recording *recording, const struct recording_mode *mode,
			      const struct format_options *options, FILE *out)
{
	uint64_t after_ns =
		mode->wall_ns > recording->start_ns ? mode->wall_ns - recording->start_ns : 0;
	char name[CLEAN_BYTES], reason[CLEAN_BYTES], duration[DISPLAY_NUMBER_BYTES];

	display_duration((int64_t)(after_ns & INT64_MAX), duration);
	(void)display_escape(mode->mode, strlen(mode->mode), name, sizeof(name));
	(void)display_escape(mode->reason, strlen(mode->reason), reason, sizeof(reason));
	display_sentence(out, options->width, HEADING_COLUMNS, "%*sthen %s%s after %s%s%s",
			 HEADING_COLUMNS, "", name, mode->has_kernel_split ? "" : without_split,
			 duration, reason[0] != '\0' ? ": " : "", reason);
}

static void print_mode(const struct recording *recording, const struct format_options *options,
		       FILE *out)
{
	struct item_list list = list_begin("mode", options, out);
	const struct recording_mode *first = &recording->modes[0];
	char item[ITEM_BYTES];

	if (recording->meta_count > 0) {
		(void)snprintf(item, sizeof(item), "%s%s", first->mode,
			       first->has_kernel_split ? "" : without_split);
		add_labelled(&list, "", item);
		display_duration(recording->interval_ns, item);
		add_labelled(&list, "windows of ", item);
	}
	list_end(&list);
	for (size_t i = 1; i < recording->mode_count; i++)
		print_mode_change(recording, &recording->modes[i], options, out);
	if (recording->modes_left_out > 0)
		(void)fprintf(out, "%*s… %" PRIu64 " more changes\n", HEADING_COLUMNS, "",
			      recording->modes_left_out);
}

static void print_system(const struct recording *recording, const struct format_options *options,
			 FILE *out)
{
	struct item_list list = list_begin("system", options, out);
	char item[ITEM_BYTES];

	add_labelled(&list, "Linux ", recording->kernel_release);
	if (recording->cpu_count > 0) {
		(void)snprintf(item, sizeof(item), "%" PRId64 " CPU%s", recording->cpu_count,
			       recording->cpu_count == 1 ? "" : "s");
		list_add(&list, item);
	}
	add_labelled(&list, "correlator ", recording->tool_version);
	list_end(&list);
}

static void print_keys(const struct recording *recording, const struct format_options *options,
		       FILE *out)
{
	struct item_list list = list_begin("keys", options, out);

	for (size_t i = 0; i < recording->key_count; i++)
		add_labelled(&list, "", recording->keys[i]);
	list_end(&list);
}

void format_heading(const struct totals *totals, const struct format_options *options, FILE *out)
{
	const struct recording *recording = &totals->selection.recording;
	struct item_list list;

	print_files(options, out);
	print_time(recording, options, out);
	print_processes(recording, options, out);
	print_mode(recording, options, out);
	if (options->has_books) {
		print_system(recording, options, out);
		print_keys(recording, options, out);
	}
	if (totals->selection.filter.condition_count == 0)
		return;
	list = list_begin("only", options, out);
	for (size_t i = 0; i < totals->selection.filter.condition_count; i++) {
		char text[256];

		filter_describe(&totals->selection.filter.conditions[i], text);
		add_labelled(&list, "", text);
	}
	list_end(&list);
}

/* "Not measured", as against a measured 0. */
struct view {
	struct rows rows;
	bool has_date; /* times without one could be of several days */
	char began[DISPLAY_NUMBER_BYTES], ended[DISPLAY_NUMBER_BYTES]; /* these columns' titles */
	enum figure fields[TABLE_COLUMNS_MAX];
};

_Static_assert(_FIGURE_MAX + GROUPING_KEYS_MAX <= TABLE_COLUMNS_MAX, "each figure has room");

static void write_cell(const void *context, size_t row_index, size_t column,
		       char ret_text[static TABLE_CELL_BYTES])
{
	const struct view *view = context;

	format_cell(&view->rows, row_index, view->fields[column], view->has_date, ret_text);
}

/* Local times need the zone, and a date where the recording is of more than one day. */
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

/* As they were asked for, or all that tell something, of which the screen may take only some. */
static void choose_columns(struct view *view, const struct format_options *options,
			   struct table *table, struct table_column *columns)
{
	const struct grouping *grouping = view->rows.grouping;
	enum figure_view of_view = format_view(grouping, options);
	enum figure wanted[_FIGURE_MAX];
	size_t count = figures_of_view(of_view, wanted), part;

	add_keys(view, table, columns);
	if (options->columns) {
		count = options->column_count;
		memcpy(wanted, options->columns, count * sizeof(wanted[0]));
	}
	for (size_t i = 0; i < count; i++) {
		enum figure figure = wanted[i];
		struct table_column column = format_column(figure, of_view);

		if (figure_part(figure, &part) || !format_can_show(grouping, figure) ||
		    (!options->columns && !rows_tell(&view->rows, figure)))
			continue;
		if (options->columns || figure == options->sort)
			column.rank = 0;
		add_column(view, figure, column, table, columns);
	}
}

/* Two tables share a screen, unless it was said how many rows each is to have. */
static size_t count_shown(const struct totals *totals, const struct format_options *options,
			  bool is_second)
{
	if (options->has_top || format_table_count(totals, options) < 2)
		return options->top_count;
	return is_second ? REQUESTS_SHOWN : GROUPS_SHOWN;
}

/* The second has no sums: they are those of the first; nor does it say again that columns are left
 * out (*left_out). */
static int print_grouping(const struct totals *totals, bool is_second,
			  const struct format_options *options, size_t *left_out, FILE *out)
{
	const struct grouping *grouping = &totals->groupings[is_second];
	struct table_column columns[TABLE_COLUMNS_MAX];
	struct view view = { 0 };
	struct table table = {
		.columns = columns,
		.width = format_table_width(options),
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

/* A row is exact, unless its value was given up meanwhile: then it is said by how much. */
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
		"%s has so many values that those which used least were summed up while "
		"reading: the row of one that came again may lack up to %s of CPU, and it is "
		"counted twice (all of them, exactly: --top 0)",
		by, duration);
}

/* What to ask next. */
static void print_next(const struct totals *totals, const struct format_options *options, FILE *out)
{
	display_sentence(out, options->width, HEADING_COLUMNS,
			 "%-*s%s--slowest, --request ID, --by KEY, --html PAGE, --books, --cost",
			 HEADING_COLUMNS, "next",
			 totals->books.sampled_count > 0 ? "--stacks, " : "");
}

int format_table(const struct totals *totals, const struct format_options *options, FILE *out)
{
	bool is_of_all_time = totals->groupings[0].has_all_time;
	size_t left_out = 0;
	int r;

	format_heading(totals, options, out);
	r = print_grouping(totals, false, options, &left_out, out);
	if (r == 0 && format_table_count(totals, options) > 1)
		r = print_grouping(totals, true, options, &left_out, out);
	if (r == 0 && options->has_books && !is_of_all_time)
		r = format_unattributed(totals, options, out);
	if (r < 0)
		return r;
	for (size_t i = 0; i < totals->grouping_count; i++)
		print_lacking(&totals->groupings[i], options->width, out);
	format_unattributed_remedy(totals, options, out);
	if (options->has_books)
		print_inherited(totals, options->width, out);
	format_books(totals, options, out);
	if (!options->has_books && !options->has_cost)
		print_next(totals, options, out);
	return 0;
}
