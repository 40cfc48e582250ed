/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/top/listing.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/display.h"
#include "base/text.h"
#include "reader/report/cell_text.h"
#include "reader/report/table.h"
#include "reader/report/table_columns.h"
#include "reader/report/totals_view.h"
#include "reader/top/code.h"
#include "record/blocked.h"

enum {
	NUMBER_COLUMNS = 8, /* so that columns keep their place while figures change */
	BAR_CELLS = 20, /* cells for a whole window */
};

/* A column that is not a figure: the rows' names, or a column that only this list has. */
struct own_field {
	unsigned int place; /* position among the figures of the view */
	struct listing_field field;
};

/* The columns of a list: the figures of view, and its own columns. */
struct list_fields {
	enum figure_view view;
	struct own_field own[LISTING_OWN_MAX]; /* sorted by place; unused ones are empty */
};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static const struct list_fields list_fields[_LIST_MAX] = {
	[LIST_GROUPS] = { FIGURE_VIEW_TOP_GROUPS, { { 1, { FIGURE_KEY, "", 0, true } } } },
	[LIST_IN_FLIGHT] = { FIGURE_VIEW_TOP_FLIGHT,
			     { { 1, { FIGURE_KEY, "request in flight", 0, true } },
			       { 20, { LISTING_STATE, "state", 3, true } },
			       { 70, { LISTING_THREAD, "thread", 7, true } } } },
	[LIST_THREADS] = { FIGURE_VIEW_TOP_THREADS, { { 1, { FIGURE_KEY, "thread", 0, true } } } },
	[LIST_REQUESTS] = { FIGURE_VIEW_TOP_REQUESTS,
			    { { 1, { FIGURE_KEY, "request", 0, true } } } },
	[LIST_STORY] = { FIGURE_VIEW_TOP_STORY,
			 { { 1, { LISTING_AT, "after", 0, true } },
			   { 2, { LISTING_THREAD, "thread", 3, true } },
			   { 80, { LISTING_BAR, "█ ran ▒ queued ─ slept", 5, true } } } },
};

static struct listing_field field_of(enum figure figure, enum list list)
{
	struct table_column column = table_column_of(figure, list_fields[list].view);

	/* The wall time of a request in flight still grows. */
	if (figure == FIGURE_WALL && list == LIST_IN_FLIGHT)
		column.title = "age";
	return (struct listing_field){ (int)figure, column.title, column.rank, column.is_text };
}

bool listing_is_text(const struct listing *listing)
{
	return listing->list == LIST_BOOKS || listing->list == LIST_CODE;
}

static void choose_fields(struct listing *listing)
{
	const struct list_fields *fields = &list_fields[listing->list];
	const struct own_field *own = fields->own, *end = own + LENGTH(fields->own);
	enum figure wanted[_FIGURE_MAX];
	size_t count = listing_is_text(listing) ? 0 : figures_of_view(fields->view, wanted);

	for (size_t i = 0; i <= count; i++) {
		unsigned int place =
			i < count ? figure_infos[wanted[i]].places[fields->view].place : UINT_MAX;

		for (; own < end && own->field.title && own->place < place; own++)
			listing->fields[listing->field_count++] = own->field;
		if (i < count)
			listing->fields[listing->field_count++] =
				field_of(wanted[i], listing->list);
	}
}

/* Lists the possible keys (recorded keys, and the fields of any record), and chooses the current
 * one. */
static void choose_by(struct listing *listing, const struct navigation *navigation)
{
	static const char *const of_what_ran[] = { "pid", "comm", "thread_name", "host_name" };
	const struct recording *recording = &listing->history->selection.recording;
	const char *by = navigation->by;

	for (size_t i = 0; i < recording->key_count; i++)
		listing->by_names[listing->by_count++] = recording->keys[i];
	for (size_t i = 0; i < sizeof(of_what_ran) / sizeof(of_what_ran[0]); i++)
		listing->by_names[listing->by_count++] = of_what_ran[i];
	if (by[0] == '\0')
		by = recording_has_key(recording, "endpoint") ? "endpoint" : listing->by_names[0];
	if (listing->list == LIST_THREADS)
		by = "tid";
	else if (listing->list != LIST_GROUPS)
		by = "request_id";
	(void)snprintf(listing->by, sizeof(listing->by), "%s", by);
}

/* True if at least half of the window is after wall_ns: window lengths differ by nanoseconds. */
static bool is_mostly_after(const struct history_window *window, uint64_t wall_ns)
{
	return window->start_ns + (window->end_ns - window->start_ns) / 2 >= wall_ns;
}

static void choose_windows(struct listing *listing, const struct navigation *navigation)
{
	const struct history *history = listing->history;
	uint64_t count = history_closed_count(history), number = history->first;
	uint64_t span_ns = NAVIGATION_SPAN_SECONDS * NS_PER_S;

	listing->has_windows = count > 0;
	if (!listing->has_windows)
		return;
	listing->newest = history->first + count - 1;
	listing->last = listing->newest;
	if (navigation->is_frozen && navigation->frozen_at < listing->last)
		listing->last = navigation->frozen_at > number ? navigation->frozen_at : number;
	listing->end_ns = history_window(history, listing->last)->end_ns;
	span_ns = span_ns < listing->end_ns ? span_ns : listing->end_ns;
	listing->first = navigation->span == SPAN_ALL ? history->first : listing->last;
	while (navigation->span == SPAN_SECONDS && listing->first > number &&
	       is_mostly_after(history_window(history, listing->first - 1),
			       listing->end_ns - span_ns))
		listing->first--;
	listing->start_ns = history_window(history, listing->first)->start_ns;
}

static int add_conditions(struct totals *totals, const struct navigation *navigation)
{
	const struct navigation_place *place = navigation_place(navigation);
	int r = 0;

	if (place->list == LIST_REQUESTS)
		r = filter_add(&totals->selection.filter, place->of);
	if (r == 0 && navigation_filter_is_condition(navigation->filter))
		r = filter_add(&totals->selection.filter, navigation->filter);
	/* A filter that is not a condition selects everything. */
	return r == -EINVAL ? 0 : r;
}

static int add_frame(struct listing *listing)
{
	const struct history_span span = { .first = listing->first,
					   .last = listing->last,
					   .has_no_cpu = true };
	int r = totals_init(&listing->frame, (const char *const[]){ "" }, 0);

	return r == 0 ? history_add_up(listing->history, &span, &listing->frame) : r;
}

static bool is_in_flight(const void *context, uint64_t tag)
{
	return in_flight_find(context, tag) != NULL;
}

static int add_rows(struct listing *listing, const struct navigation *navigation)
{
	struct history_span span = { .first = listing->first, .last = listing->last };
	const char *by = listing->by;
	int r = totals_init(&listing->totals, &by, listing->list == LIST_BOOKS ? 0 : 1);

	if (r == 0 && listing->list == LIST_IN_FLIGHT) {
		/* All kept windows, so that their age is complete. */
		span.first = listing->history->first;
		span.wants = is_in_flight;
		span.context = &listing->in_flight;
		r = in_flight_init(&listing->in_flight, listing->history, listing->last);
	}
	if (r == 0)
		r = add_conditions(&listing->totals, navigation);
	if (r == 0)
		r = history_add_up(listing->history, &span, &listing->totals);
	if (r == 0 && listing->list != LIST_BOOKS)
		r = rows_init(&listing->rows, &listing->totals, &listing->totals.groupings[0],
			      navigation_order(navigation)->field, 0);
	return r;
}

static bool does_match(const char *pattern, const char *text, size_t size_bytes)
{
	char shown[TEXT_ESCAPE_BYTES * RECORD_VIEW_TEXT_BYTES_MAX + 1];

	(void)display_escape(text, size_bytes, shown, sizeof(shown));
	return fnmatch(pattern, shown, FNM_NOESCAPE | FNM_CASEFOLD) == 0;
}

static bool is_named(const struct listing *listing, const struct group *group, const char *pattern)
{
	struct record_text label =
		grouping_label(group, listing->totals.selection.recording.has_several_hosts);

	if (does_match(pattern, label.bytes, label.size_bytes))
		return true;
	for (int name = 0; name < _GROUP_NAME_MAX; name++)
		if (group->names[name] &&
		    does_match(pattern, group->names[name], strlen(group->names[name])))
			return true;
	return false;
}

/* A filter that is a pattern keeps only the groups whose displayed names match. */
static void keep_named(struct listing *listing, const char *filter)
{
	char pattern[NAVIGATION_FILTER_BYTES + 2];
	size_t kept = 0;

	if (filter[0] == '\0' || navigation_filter_is_condition(filter))
		return;
	(void)snprintf(pattern, sizeof(pattern), "*%s*", filter);
	for (size_t i = 0; i < listing->rows.group_count; i++)
		if (is_named(listing, listing->rows.groups[i], pattern))
			listing->rows.groups[kept++] = listing->rows.groups[i];
	listing->rows.group_count = kept;
}

static void reverse(struct rows *rows)
{
	for (size_t i = 0; i < rows->group_count / 2; i++) {
		const struct group *group = rows->groups[i];

		rows->groups[i] = rows->groups[rows->group_count - 1 - i];
		rows->groups[rows->group_count - 1 - i] = group;
	}
}

/* In the list of requests, the total is the only row besides the groups; requests in flight have
 * none. */
static void choose_others(struct listing *listing)
{
	if (listing->list == LIST_IN_FLIGHT)
		listing->rows.other_count = 0;
	if (listing->list == LIST_REQUESTS) {
		listing->rows.other_count = 1;
		listing->rows.others[0] = ROW_KIND_TOTAL;
	}
}

static int add_line(void *user, const struct history_window *window,
		    const struct record_view *record)
{
	struct listing *listing = user;
	struct story_line line = { .end_ns = window->end_ns, .costs = costs_of_record(record) };
	struct record_text id = { 0 }, name = { 0 };
	int64_t window_ns = 0;

	(void)record_view_text(record, "request_id", &id);
	if (!record_text_is(id, listing->place->of))
		return 0;
	if (listing->story_count == LISTING_STORY_MAX) {
		listing->story_left_out++;
		return 0;
	}
	(void)record_view_count(record, RECORD_FIELD(common, pid), &line.pid);
	(void)record_view_count(record, RECORD_FIELD(cpu, tid), &line.tid);
	(void)record_view_count(record, RECORD_FIELD(cpu, window_ns), &window_ns);
	line.window_ns =
		(uint64_t)window_ns < window->end_ns ? (uint64_t)window_ns : window->end_ns;
	if (record_view_text(record, RECORD_FIELD(cpu, thread_name), &name) &&
	    name.size_bytes <= GROUP_NAME_BYTES)
		memcpy(line.thread_name, name.bytes, name.size_bytes);
	listing->story[listing->story_count++] = line;
	return 0;
}

static bool is_story(const void *context, uint64_t tag)
{
	return tag == *(const uint64_t *)context;
}

static int add_story(struct listing *listing)
{
	const char *id = listing->place->of;
	uint64_t tag = history_tag(listing->history, (struct record_text){ id, strlen(id) });
	const struct history_span span = { .first = listing->history->first,
					   .last = listing->last,
					   .wants = is_story,
					   .context = &tag };

	listing->story = calloc(LISTING_STORY_MAX, sizeof(*listing->story));
	return listing->story ? history_visit(listing->history, &span, add_line, listing) : -ENOMEM;
}

/* Moves the selection to the row that has the selected value now. */
static void select_row(struct listing *listing, struct navigation *navigation)
{
	const struct navigation_place *place = navigation_place(navigation);
	char value[NAVIGATION_VALUE_BYTES] = "";

	listing->selected = place->selected;
	if (place->has_picked && place->value[0] != '\0') {
		for (size_t row = 0; row < listing->row_count; row++) {
			listing_value(listing, row, value);
			if (strcmp(value, place->value) == 0) {
				listing->selected = row;
				break;
			}
		}
	}
	if (listing->selected >= listing->row_count)
		listing->selected = listing->row_count > 0 ? listing->row_count - 1 : 0;
	value[0] = '\0';
	if (listing->row_count > 0)
		listing_value(listing, listing->selected, value);
	navigation_settle(navigation, listing->selected, value);
}

/* Writes the books as the report prints them below its tables. */
static int write_books(struct listing *listing, size_t width)
{
	const struct view_options options = {
		.width = width,
		.has_books = true,
		.has_cost = true,
	};
	size_t size_bytes;
	FILE *out = open_memstream(&listing->text, &size_bytes);

	if (!out)
		return -ENOMEM;
	books_text_print(&listing->totals, &options, out);
	if (fclose(out) != 0)
		return -ENOMEM;
	/* Removes the empty line at the beginning. */
	memmove(listing->text, listing->text + 1, size_bytes);
	return 0;
}

static int write_code(struct listing *listing, const struct navigation *navigation, size_t width)
{
	const struct history_span span = { .first = listing->first, .last = listing->last };
	const char *filter = navigation->filter;
	const struct code_of of = {
		.history = listing->history,
		.span = &span,
		.condition = listing->place->of,
		.filter = navigation_filter_is_condition(filter) ? filter : "",
	};

	return code_write(&of, width, &listing->text);
}

static size_t count_lines(const char *text)
{
	size_t count = 0;

	for (; text && (text = strchr(text, '\n')); text++)
		count++;
	return count;
}

static int fill(struct listing *listing, struct navigation *navigation, size_t width)
{
	int r = add_frame(listing);

	if (r == 0 && listing->list == LIST_STORY)
		r = add_story(listing);
	else if (r == 0 && listing->list == LIST_CODE)
		r = write_code(listing, navigation, width);
	else if (r == 0)
		r = add_rows(listing, navigation);
	if (r == 0 && listing->list == LIST_BOOKS)
		r = write_books(listing, width);
	if (r < 0)
		return r;
	listing->row_count =
		listing_is_text(listing) ? count_lines(listing->text) : listing->story_count;
	if (listing->rows.groups) {
		keep_named(listing, navigation->filter);
		choose_others(listing);
		if (navigation_order(navigation)->is_reversed)
			reverse(&listing->rows);
		listing->row_count = listing->rows.group_count;
	}
	select_row(listing, navigation);
	return r;
}

int listing_init(struct listing *listing, const struct history *history,
		 struct navigation *navigation, size_t width)
{
	int r;

	*listing = (struct listing){ .history = history, .place = navigation_place(navigation) };
	listing->list = listing->place->list;
	choose_fields(listing);
	choose_by(listing, navigation);
	choose_windows(listing, navigation);
	if (!listing->has_windows)
		return 0;
	r = fill(listing, navigation, width);
	if (r < 0)
		listing_deinit(listing);
	return r;
}

int listing_show_first(struct listing *listing, size_t count)
{
	int r;

	if (!listing->rows.groups)
		return 0;
	r = rows_show_first(&listing->rows, count);
	listing->row_count = listing->rows.group_count;
	return r;
}

void listing_deinit(struct listing *listing)
{
	rows_deinit(&listing->rows);
	in_flight_deinit(&listing->in_flight);
	totals_deinit(&listing->totals);
	totals_deinit(&listing->frame);
	free(listing->story);
	free(listing->text);
	*listing = (struct listing){ 0 };
}

void listing_value(const struct listing *listing, size_t row,
		   char ret_value[static NAVIGATION_VALUE_BYTES])
{
	struct record_text text;
	const char *slash;

	ret_value[0] = '\0';
	if (!listing->rows.groups || row >= listing->rows.group_count)
		return;
	text = grouping_label(listing->rows.groups[row], false);
	/* Only TID of PID/TID. */
	slash = strcmp(listing->by, "tid") == 0 ? memrchr(text.bytes, '/', text.size_bytes) : NULL;
	if (slash) {
		text.size_bytes -= (size_t)(slash + 1 - text.bytes);
		text.bytes = slash + 1;
	}
	if (text.size_bytes >= NAVIGATION_VALUE_BYTES)
		text.size_bytes = NAVIGATION_VALUE_BYTES - 1;
	memcpy(ret_value, text.bytes, text.size_bytes);
	ret_value[text.size_bytes] = '\0';
}

static void write_thread(int64_t tid, const char *name, char *ret_text)
{
	char clean[TEXT_ESCAPE_BYTES * GROUP_NAME_BYTES + 1];

	(void)display_escape(name, strlen(name), clean, sizeof(clean));
	(void)snprintf(ret_text, TABLE_CELL_BYTES, "%" PRId64 " %s", tid, clean);
}

/* "running", "blocked: futex" */
static void write_state(const struct in_flight_request *request, char *ret_text)
{
	bool has_reason = sched_state_is_asleep(request->state) && request->blocked_on >= 0;

	(void)snprintf(ret_text, TABLE_CELL_BYTES, has_reason ? "%s: %s" : "%s",
		       sched_state_title(request->state),
		       blocked_name((uint32_t)request->blocked_on));
}

static void write_flight(const struct listing *listing, size_t row, int field, char *ret_text)
{
	struct record_text id = grouping_label(listing->rows.groups[row], false);
	const struct in_flight_request *request =
		in_flight_find(&listing->in_flight, history_tag(listing->history, id));

	(void)strcpy(ret_text, "-");
	if (!request)
		return;
	if (field == LISTING_STATE)
		write_state(request, ret_text);
	else
		write_thread(request->tid, request->thread_name, ret_text);
}

/* Number of bar cells for a part of the window, rounded up so that any time is visible. */
static size_t cells_of(int64_t part_ns, uint64_t window_ns)
{
	double cells = window_ns > 0 ? (double)part_ns * BAR_CELLS / (double)window_ns : 0;

	return cells > BAR_CELLS ? BAR_CELLS : (size_t)cells + ((double)(size_t)cells < cells);
}

static void write_bar(const struct story_line *line, char *ret_text)
{
	static const struct {
		enum cost cost;
		const char *mark;
	} parts[] = { { COST_CPU, "█" }, { COST_RUN_QUEUE, "▒" }, { COST_BLOCKED, "─" } };
	size_t left = BAR_CELLS;
	struct text_writer writer;

	text_writer_init(&writer, ret_text, TABLE_CELL_BYTES);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		size_t cells = cells_of(line->costs.sums[parts[i].cost], line->window_ns);

		for (; cells > 0 && left > 0; cells--, left--)
			text_writer_put(&writer, parts[i].mark, strlen(parts[i].mark));
	}
}

static void write_story(const struct listing *listing, size_t row, int field, char *ret_text)
{
	const struct story_line *line = &listing->story[row];
	uint64_t start_ns = listing->story[0].end_ns - listing->story[0].window_ns;

	if (field == LISTING_AT)
		display_duration((int64_t)(line->end_ns - start_ns), ret_text);
	else if (field == LISTING_THREAD)
		write_thread(line->tid, line->thread_name, ret_text);
	else if (field == LISTING_BAR)
		write_bar(line, ret_text);
	else
		cell_text_cost(&line->costs, (enum figure)field, ret_text);
}

static void pad(char *text)
{
	size_t columns = display_columns(text), missing;

	if (columns >= NUMBER_COLUMNS)
		return;
	missing = NUMBER_COLUMNS - columns;
	memmove(text + missing, text, strlen(text) + 1);
	memset(text, ' ', missing);
}

void listing_cell(const struct listing *listing, size_t row, size_t column, char *ret_text)
{
	const struct listing_field *field = &listing->fields[column];

	if (listing->list == LIST_STORY)
		write_story(listing, row, field->field, ret_text);
	else if (field->field >= _FIGURE_MAX)
		write_flight(listing, row, field->field, ret_text);
	else
		row_text_write(&listing->rows, row, (enum figure)field->field, false, ret_text);
	if (!field->is_text)
		pad(ret_text);
}

void listing_scene(const struct listing *listing, enum figure *fields, char *value,
		   struct scene *ret_scene)
{
	*ret_scene = (struct scene){
		.first = listing->has_windows ? listing->history->first : 0,
		.last = listing->newest,
		.has_windows = listing->has_windows,
		.row_count = listing->row_count,
		.value = value,
		.fields = fields,
		.by = listing->by,
		.by_names = listing->by_names,
		.by_count = listing->by_count,
	};
	listing_value(listing, listing->selected, value);
	if (listing->list == LIST_STORY || listing_is_text(listing))
		return;
	for (size_t i = 0; i < listing->field_count; i++)
		if (listing->fields[i].field < _FIGURE_MAX)
			fields[ret_scene->field_count++] = (enum figure)listing->fields[i].field;
}
