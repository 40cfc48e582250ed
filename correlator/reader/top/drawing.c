/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/top/drawing.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/display.h"
#include "reader/report/table.h"

enum {
	HEAD_ROWS = 2,
	FOOT_ROWS = 2,
	WIDE_WIDTH = 80, /* narrower screens show only the essentials */
	TITLE_BYTES = 64,
	TEXT_BYTES = 512,
	LINE_BYTES = 4 * SCREEN_SIDE_MAX + 1, /* size of the widest line, and a NUL */
};

static const char *const pane_names[_LIST_PANES] = {
	[LIST_GROUPS] = "groups",
	[LIST_IN_FLIGHT] = "in flight",
	[LIST_THREADS] = "threads",
	[LIST_BOOKS] = "books",
};

static const char *const help_lines[] = {
	"1 2 3 4   groups, flight, threads, books",
	"Tab       the next of them",
	"g         group by the next key",
	"Enter c   into a row, its code; Esc back",
	"< > s S   sort by another; r: turn round",
	"/         filter: a name, or KEY=VALUE",
	"Space     freeze, and go on",
	"[ ] ← →   a window back, forward",
	"w         a window, 10 s, all there is",
	"q         quit; any key ends this help",
};

/* Puts formatted text, and returns the column after it. */
__attribute__((format(printf, 5, 6))) static size_t put(struct screen *screen, size_t row,
							size_t column, enum screen_style style,
							const char *format, ...)
{
	char text[TEXT_BYTES], clean[TEXT_BYTES + 4];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* The size limit may have cut a character. */
	(void)display_escape(text, strlen(text), clean, sizeof(clean));
	return screen_put(screen, row, column, style, clean);
}

static size_t foot_rows(const struct drawing *drawing)
{
	return drawing->is_plain ? FOOT_ROWS - 1 : FOOT_ROWS;
}

/* Rows in addition to the groups: the table's heading, and the rows that are in no group. */
static size_t extra_rows(const struct drawing *drawing)
{
	const struct listing *listing = drawing->listing;

	return listing_is_text(listing) ? 0 : 1 + listing->rows.other_count;
}

size_t drawing_page_rows(const struct drawing *drawing, size_t height)
{
	size_t taken = HEAD_ROWS + foot_rows(drawing) + extra_rows(drawing);

	return height > taken ? height - taken : 1;
}

size_t drawing_height(const struct drawing *drawing, size_t rows_max)
{
	size_t rows = drawing->listing->row_count;

	rows = rows < rows_max ? rows : rows_max;
	return HEAD_ROWS + foot_rows(drawing) + extra_rows(drawing) + (rows > 0 ? rows : 1);
}

static void describe_span(const struct drawing *drawing, char ret_text[static TEXT_BYTES])
{
	const struct listing *listing = drawing->listing;
	char duration[DISPLAY_NUMBER_BYTES];

	display_duration((int64_t)(listing->end_ns - listing->start_ns), duration);
	(void)snprintf(ret_text, TEXT_BYTES, "%s%s",
		       drawing->navigation->span == SPAN_ALL ? "all of " : "last ", duration);
}

/* On a narrow screen the end is cut: the essential parts come first. */
static void draw_title(const struct drawing *drawing, struct screen *screen)
{
	const struct listing *listing = drawing->listing;
	time_t seconds = (time_t)(listing->end_ns / NS_PER_S);
	char clock[32] = "", span[TEXT_BYTES] = "";
	size_t column = 0;
	struct tm utc;

	screen_fill(screen, 0, SCREEN_BAR);
	if (screen->width >= WIDE_WIDTH)
		column = put(screen, 0, 0, SCREEN_BAR, "correlator top  ");
	column = put(screen, 0, column, SCREEN_BAR, "%.60s  ", drawing->source);
	if (!listing->has_windows)
		return;
	if (gmtime_r(&seconds, &utc))
		(void)strftime(clock, sizeof(clock), "%H:%M:%S", &utc);
	column = put(screen, 0, column, SCREEN_BAR, "%s  ", clock);
	if (drawing->navigation->is_frozen)
		column = put(screen, 0, column, SCREEN_CURRENT, "FROZEN, %" PRIu64 " back",
			     listing->newest - listing->last);
	else if (drawing->status[0] != '\0')
		column = put(screen, 0, column, SCREEN_CURRENT, "%s", drawing->status);
	if (drawing->navigation->is_frozen || drawing->status[0] != '\0')
		column = put(screen, 0, column, SCREEN_BAR, "  ");
	describe_span(drawing, span);
	(void)put(screen, 0, column, SCREEN_BAR, "%s", span);
}

static size_t draw_panes(const struct drawing *drawing, struct screen *screen)
{
	const char *gap = screen->width < WIDE_WIDTH ? " " : "  ";
	size_t column = 0;

	for (int pane = 0; pane < _LIST_PANES; pane++) {
		bool is_current = drawing->navigation->path[0].list == (enum list)pane;

		column = put(screen, 1, column, is_current ? SCREEN_CURRENT : SCREEN_PLAIN, "%d %s",
			     pane + 1, pane_names[pane]);
		column = put(screen, 1, column, SCREEN_PLAIN, "%s", gap);
	}
	return column;
}

/* Draws the user's place: the panes, the filter, and what the list is about. */
static void draw_place(const struct drawing *drawing, struct screen *screen)
{
	const struct navigation *navigation = drawing->navigation;
	const struct listing *listing = drawing->listing;
	bool is_deep = navigation->depth > 1, has_filter = navigation->filter[0] != '\0';
	size_t column = 0;

	if (!drawing->is_plain && (screen->width >= WIDE_WIDTH || (!is_deep && !has_filter)))
		column = draw_panes(drawing, screen);
	if (has_filter)
		column = put(screen, 1, column, SCREEN_HEADING, "only %s  ", navigation->filter);
	if (listing->list == LIST_REQUESTS)
		(void)put(screen, 1, column, SCREEN_HEADING, "requests of %.200s",
			  listing->place->of);
	if (listing->list == LIST_STORY)
		(void)put(screen, 1, column, SCREEN_HEADING, "the story of %.200s",
			  listing->place->of);
	if (listing->list == LIST_CODE)
		(void)put(screen, 1, column, SCREEN_HEADING, "the code of %.200s",
			  listing->place->of[0] ? listing->place->of : "everything");
}

struct window_of_rows {
	const struct listing *listing;
	size_t first;
	size_t count;
};

/* Maps a table row to a listing row: one of the visible groups, or one that is in no group. */
static size_t row_of(const struct window_of_rows *window, size_t row)
{
	return row < window->count ? window->first + row
				   : window->listing->row_count + row - window->count;
}

static void write_cell(const void *context, size_t row, size_t column,
		       char ret_text[static TABLE_CELL_BYTES])
{
	const struct window_of_rows *window = context;

	listing_cell(window->listing, row_of(window, row), column, ret_text);
}

static void set_columns(const struct drawing *drawing, struct table_column *columns,
			char titles[][TITLE_BYTES])
{
	const struct listing *listing = drawing->listing;
	const struct order *order = navigation_order(drawing->navigation);
	bool is_sorted = listing->list != LIST_STORY;

	for (size_t i = 0; i < listing->field_count; i++) {
		const struct listing_field *field = &listing->fields[i];
		const char *title = field->title;
		bool is_order = is_sorted && field->field == (int)order->field;

		if (title[0] == '\0')
			title = listing->by;
		(void)snprintf(titles[i], TITLE_BYTES, "%.48s%s", title,
			       !is_order	    ? ""
			       : order->is_reversed ? "▲"
						    : "▼");
		columns[i] = (struct table_column){ .title = titles[i],
						    .rank = is_order ? 0 : field->rank,
						    .is_text = field->is_text };
	}
}

/* Puts lines of text into the screen's rows from row up to end. */
static void put_lines(struct screen *screen, size_t row, size_t end, const char *text)
{
	while (*text && row < end) {
		size_t size_bytes = strcspn(text, "\n");
		char line[LINE_BYTES];

		(void)snprintf(line, sizeof(line), "%.*s", (int)size_bytes, text);
		(void)screen_put(screen, row++, 0, SCREEN_PLAIN, line);
		text += size_bytes + (text[size_bytes] == '\n');
	}
}

static void style_rows(const struct drawing *drawing, const struct window_of_rows *window,
		       size_t row, struct screen *screen)
{
	const struct listing *listing = drawing->listing;

	screen_fill(screen, row, SCREEN_HEADING);
	for (size_t i = 0; i < listing->rows.other_count; i++)
		screen_fill(screen, row + 1 + window->count + i, SCREEN_FAINT);
	if (!drawing->is_plain && window->count > 0)
		screen_fill(screen, row + 1 + listing->selected - window->first, SCREEN_SELECTED);
}

static struct window_of_rows choose_rows(const struct drawing *drawing, const struct screen *screen)
{
	const struct listing *listing = drawing->listing;
	size_t page = drawing_page_rows(drawing, screen->height);
	struct window_of_rows window = { .listing = listing, .count = listing->row_count };

	if (window.count > page) {
		window.count = page;
		if (listing->selected >= page)
			window.first = listing->selected + 1 - page;
	}
	return window;
}

static int draw_table(const struct drawing *drawing, struct screen *screen)
{
	const struct listing *listing = drawing->listing;
	struct window_of_rows window = choose_rows(drawing, screen);
	struct table_column columns[LISTING_COLUMNS_MAX];
	char titles[LISTING_COLUMNS_MAX][TITLE_BYTES];
	const struct table table = {
		.columns = columns,
		.column_count = listing->field_count,
		.row_count = window.count + listing->rows.other_count,
		.width = screen->width,
		.cell = write_cell,
		.context = &window,
	};
	_cleanup_free_ char *text = NULL;
	size_t size_bytes;
	FILE *out = open_memstream(&text, &size_bytes);

	if (!out)
		return -ENOMEM;
	set_columns(drawing, columns, titles);
	table_print(&table, out);
	if (fclose(out) != 0)
		return -ENOMEM;
	put_lines(screen, HEAD_ROWS, HEAD_ROWS + 1 + table.row_count, text);
	style_rows(drawing, &window, HEAD_ROWS, screen);
	return 0;
}

static void draw_text(const struct drawing *drawing, struct screen *screen)
{
	const struct window_of_rows window = choose_rows(drawing, screen);
	const char *text = drawing->listing->text;

	for (size_t line = 0; line < window.first; line++)
		text = strchr(text, '\n') + 1;
	put_lines(screen, HEAD_ROWS, HEAD_ROWS + window.count, text);
}

/* Explains why the list is empty. */
static const char *explain_nothing(const struct drawing *drawing)
{
	const struct listing *listing = drawing->listing;

	if (!listing->has_windows)
		return drawing->status[0] ? drawing->status : "waiting for the first window";
	if (listing->list == LIST_CODE)
		return "no sample is of it in these windows: they are taken with --stacks";
	if (drawing->navigation->filter[0] != '\0')
		return "the filter lets nothing pass: / changes it, Esc takes it away";
	if (listing->list == LIST_THREADS || listing->list == LIST_GROUPS)
		return listing->totals.all.record_count > 0
			       ? "what ran in these windows has no such key"
			       : "nothing ran in these windows";
	if (!recording_has_key(&listing->history->selection.recording, "request_id"))
		return "no request_id is recorded: see -k";
	return listing->list == LIST_IN_FLIGHT ? "no request was being worked for"
					       : "nothing is left of it in these windows";
}

static int draw_list(const struct drawing *drawing, struct screen *screen)
{
	const struct listing *listing = drawing->listing;
	int r = 0;

	if (listing->text)
		draw_text(drawing, screen);
	else if (listing->has_windows && !listing_is_text(listing))
		r = draw_table(drawing, screen);
	if (listing->row_count == 0)
		(void)put(screen, HEAD_ROWS + extra_rows(drawing), 0, SCREEN_PLAIN, "%s",
			  explain_nothing(drawing));
	return r;
}

/* Writes the recorder's CPU, including its programs in the kernel where these are measured, as a
 * percentage of one CPU. */
static void describe_cost(const struct listing *listing, char ret_text[static TEXT_BYTES])
{
	uint64_t duration_ns = listing->end_ns - listing->start_ns;
	const struct self_cost *cost = &listing->frame.self_cost;
	int64_t cpu_ns = cost->cpu_ns;

	(void)strcpy(ret_text, "-");
	if (cost->record_count == 0 || duration_ns == 0)
		return;
	if (cost->has_programs)
		saturated_add_to(&cpu_ns, cost->run_ns);
	(void)snprintf(ret_text, TEXT_BYTES, "%.1f %%%s",
		       100.0 * (double)cpu_ns / (double)duration_ns,
		       cost->has_programs ? "" : " + ?");
}

static void draw_books(const struct drawing *drawing, size_t row, struct screen *screen)
{
	const struct totals *totals = &drawing->listing->frame;
	const struct recording_mode *mode = &totals->selection.recording.last_mode;
	uint64_t left_out = drawing->listing->history->left_out + drawing->listing->story_left_out;
	char residual[DISPLAY_NUMBER_BYTES], losses[DISPLAY_NUMBER_BYTES], cost[TEXT_BYTES];
	const char *gap = screen->width < WIDE_WIDTH ? " " : "  ";
	int64_t lost = books_lost(&totals->books);
	size_t column = 0;

	if (!drawing->listing->has_windows)
		return;
	screen_fill(screen, row, SCREEN_BAR);
	display_number(books_residual_ns(&totals->books), residual);
	display_number(lost, losses);
	describe_cost(drawing->listing, cost);
	if (totals->books.balance_count == 0)
		(void)strcpy(residual, "-");
	column = put(screen, row, column, books_balance(&totals->books) ? SCREEN_BAR : SCREEN_ALARM,
		     "residual %s ns", residual);
	column = put(screen, row, column, SCREEN_BAR, "%s", gap);
	column =
		put(screen, row, column, lost > 0 ? SCREEN_ALARM : SCREEN_BAR, "losses %s", losses);
	column = put(screen, row, column, SCREEN_BAR, "%s%.40s%s%sown %s", gap, mode->mode,
		     mode->has_kernel_split ? "" : " without split", gap, cost);
	if (left_out > 0)
		(void)put(screen, row, column, SCREEN_ALARM, "  %" PRIu64 " records left out",
			  left_out);
}

static void draw_keys(const struct drawing *drawing, size_t row, struct screen *screen)
{
	const struct navigation *navigation = drawing->navigation;

	if (navigation->is_typing)
		(void)put(screen, row, 0, SCREEN_HEADING, "only: %s_", navigation->typed);
	else
		(void)put(screen, row, 0, SCREEN_PLAIN,
			  "? help  q quit  / filter  Space freeze  [ ] step  Enter into  Esc back  "
			  "g group  s sort  w span");
}

static void draw_help(struct screen *screen)
{
	for (size_t i = 0; i < sizeof(help_lines) / sizeof(help_lines[0]); i++)
		(void)screen_put(screen, i, 0, SCREEN_PLAIN, help_lines[i]);
}

int drawing_draw(const struct drawing *drawing, struct screen *screen)
{
	int r;

	if (screen->width < DRAWING_WIDTH_MIN ||
	    (screen->height < DRAWING_HEIGHT_MIN && !drawing->is_plain)) {
		(void)put(screen, 0, 0, SCREEN_PLAIN, "too small:");
		(void)put(screen, 1, 0, SCREEN_PLAIN, "%dx%d needed", DRAWING_WIDTH_MIN,
			  DRAWING_HEIGHT_MIN);
		return 0;
	}
	if (drawing->navigation->shows_help) {
		draw_help(screen);
		return 0;
	}
	draw_title(drawing, screen);
	draw_place(drawing, screen);
	r = draw_list(drawing, screen);
	draw_books(drawing, screen->height - foot_rows(drawing), screen);
	if (!drawing->is_plain)
		draw_keys(drawing, screen->height - 1, screen);
	return r;
}
