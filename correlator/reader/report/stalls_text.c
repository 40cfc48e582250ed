/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/stalls_view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/display.h"
#include "reader/aggregate/top.h"
#include "reader/report/cell_text.h"

enum pair_column {
	PAIR_VALUE,
	PAIR_ENDER,
	PAIR_STALLS,
	PAIR_TIME,
	PAIR_SHARE,
	PAIR_MEAN,
	PAIR_LONGEST,
	PAIR_GVL, /* last: only if there is any */
	_PAIR_MAX,
};

enum wait_column {
	WAIT_VALUE,
	WAIT_LENGTH,
	WAIT_ON,
	WAIT_CALL,
	WAIT_OBJECT,
	WAIT_ENDER,
	WAIT_ENDING_REQUEST,
	WAIT_REQUEST,
	WAIT_THREAD,
	WAIT_BEGAN,
	WAIT_METHOD, /* last: only with stacks */
	_WAIT_MAX,
};

struct view {
	const struct stalls *stalls;
	const struct frames *frames;
	const struct stalls_pair **pairs; /* that are shown */
	size_t pair_count;
	const struct stalls_hog_sum **hog_sums; /* that are shown */
	size_t hog_sum_count;
	size_t wait_count, hog_count; /* that are shown */
	bool has_date;
	bool is_of_request; /* all waits are of one request, which is not named again */
	enum wait_column wait_columns[_WAIT_MAX]; /* that are shown, in order */
	size_t wait_column_count;
};

void stalls_text_method(const struct stalls_wait *wait, const struct frames *frames,
			char ret_text[static TABLE_CELL_BYTES])
{
	const struct frame *method = frames_method(frames, wait->texts[STALLS_STACK]);

	ret_text[0] = '\0';
	if (method)
		cell_text_fit((struct record_text){ method->name->bytes, method->name->size_bytes },
			      TABLE_TEXT_COLUMN_MAX, ret_text);
}

/* "POST /orders", "itself", "thread worker", "timer", "CPU of ruby", "idle CPU", "-". */
static void write_ender(enum stalls_ender ender, struct record_text text, const char *by,
			char ret_text[static TABLE_CELL_BYTES])
{
	char name[TABLE_CELL_BYTES];

	cell_text_key(text, by, TABLE_TEXT_COLUMN_MAX, name);
	if (ender == STALLS_BY_REQUEST)
		(void)strcpy(ret_text, name);
	else if ((ender == STALLS_BY_THREAD || ender == STALLS_BY_CPU) && text.size_bytes > 0)
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "%s %.*s",
			       ender == STALLS_BY_CPU ? "CPU of" : "thread", TABLE_TEXT_COLUMN_MAX,
			       name);
	else if (ender == STALLS_BY_UNKNOWN)
		(void)strcpy(ret_text, "-");
	else
		(void)strcpy(ret_text,
			     ender == STALLS_BY_CPU ? "idle CPU" : stalls_ender_name(ender));
}

static int64_t pair_ns(const struct stalls_pair *pair)
{
	return saturated_add(pair->blocked_ns, pair->run_queue_ns);
}

static void write_pair(const void *context, size_t row, size_t column,
		       char ret_text[static TABLE_CELL_BYTES])
{
	const struct view *view = context;
	const struct stalls_pair *pair = view->pairs[row];
	const struct stalls *stalls = view->stalls;

	switch ((enum pair_column)column) {
	case PAIR_VALUE:
		cell_text_key(pair->value, stalls->by, TABLE_FIRST_COLUMN_MAX, ret_text);
		return;
	case PAIR_ENDER:
		write_ender(pair->ender, pair->ender_text, stalls->by, ret_text);
		return;
	case PAIR_STALLS:
		display_number((int64_t)pair->count, ret_text);
		return;
	case PAIR_TIME:
		display_duration(pair_ns(pair), ret_text);
		return;
	case PAIR_SHARE:
		cell_text_share(pair_ns(pair),
				saturated_add(stalls->blocked_ns, stalls->run_queue_ns), ret_text);
		return;
	case PAIR_MEAN:
		display_duration(pair_ns(pair) / (int64_t)pair->count, ret_text);
		return;
	case PAIR_GVL:
		display_duration(pair->gvl_ns, ret_text);
		return;
	default:
		display_duration(pair->longest_ns, ret_text);
		return;
	}
}

static const char *reason_of(const struct stalls_wait *wait, char room[static TABLE_CELL_BYTES])
{
	if (wait->gvl_ns > stalls_wait_ns(wait) / 2)
		return "GVL";
	if (wait->ender == STALLS_BY_CPU)
		return "CPU";
	cell_text_fit(wait->texts[STALLS_BLOCKED_ON], TABLE_TEXT_COLUMN_MAX, room);
	return room;
}

static void write_wait(const void *context, size_t row, size_t column,
		       char ret_text[static TABLE_CELL_BYTES])
{
	static const enum stalls_text texts[_WAIT_MAX] = {
		[WAIT_CALL] = STALLS_SYSCALL,	 [WAIT_OBJECT] = STALLS_WAITED_ON,
		[WAIT_REQUEST] = STALLS_REQUEST, [WAIT_ENDING_REQUEST] = STALLS_ENDING_REQUEST,
		[WAIT_THREAD] = STALLS_THREAD,
	};
	const struct view *view = context;
	const struct stalls_wait *wait = view->stalls->waits[row];
	char room[TABLE_CELL_BYTES];

	column = view->wait_columns[column];
	if (column == WAIT_VALUE)
		cell_text_key(wait->texts[STALLS_VALUE], view->stalls->by, TABLE_FIRST_COLUMN_MAX,
			      ret_text);
	else if (column == WAIT_LENGTH)
		display_duration(stalls_wait_ns(wait), ret_text);
	else if (column == WAIT_ON)
		(void)strcpy(ret_text, reason_of(wait, room));
	else if (column == WAIT_METHOD)
		stalls_text_method(wait, view->frames, ret_text);
	else if (column == WAIT_ENDER)
		write_ender(wait->ender, wait->texts[STALLS_ENDER], view->stalls->by, ret_text);
	else if (column == WAIT_BEGAN)
		cell_text_number(FIGURE_BEGAN, wait->start_ns, view->has_date, ret_text);
	else
		cell_text_fit(wait->texts[texts[column]], TABLE_TEXT_COLUMN_MAX, ret_text);
}

enum hog_column {
	HOG_VALUE,
	HOG_LENGTH,
	HOG_CPU,
	HOG_HELD,
	HOG_HELD_TIME,
	HOG_REQUEST,
	HOG_THREAD,
	HOG_BEGAN,
	HOG_METHOD, /* last: only with stacks */
	_HOG_MAX,
};

static void write_hog(const void *context, size_t row, size_t column,
		      char ret_text[static TABLE_CELL_BYTES])
{
	const struct view *view = context;
	const struct stalls_wait *hog = view->stalls->hogs[row];

	switch ((enum hog_column)column) {
	case HOG_VALUE:
		cell_text_key(hog->texts[STALLS_VALUE], view->stalls->by, TABLE_FIRST_COLUMN_MAX,
			      ret_text);
		return;
	case HOG_LENGTH:
		display_duration(stalls_wait_ns(hog), ret_text);
		return;
	case HOG_CPU:
		display_duration(hog->cpu_ns, ret_text);
		return;
	case HOG_HELD:
		display_number((int64_t)hog->held_count, ret_text);
		return;
	case HOG_HELD_TIME:
		display_duration(hog->held_ns, ret_text);
		return;
	case HOG_METHOD:
		stalls_text_method(hog, view->frames, ret_text);
		return;
	case HOG_BEGAN:
		cell_text_number(FIGURE_BEGAN, hog->start_ns, view->has_date, ret_text);
		return;
	default:
		cell_text_fit(hog->texts[column == HOG_REQUEST ? STALLS_REQUEST : STALLS_THREAD],
			      TABLE_TEXT_COLUMN_MAX, ret_text);
		return;
	}
}

static void print_pairs(const struct view *view, const struct stalls_view_options *options,
			FILE *out)
{
	const struct table_column columns[_PAIR_MAX] = {
		[PAIR_VALUE] = { view->stalls->by, 0, false },
		[PAIR_ENDER] = { "ended by", 0, true },
		[PAIR_STALLS] = { "stalls", 2, false },
		[PAIR_TIME] = { "time", 0, false },
		[PAIR_SHARE] = { "share", 1, false },
		[PAIR_MEAN] = { "mean", 4, false },
		[PAIR_LONGEST] = { "longest", 3, false },
		[PAIR_GVL] = { "for the GVL", 1, false },
	};
	const struct table table = { .columns = columns,
				     .column_count =
					     view->stalls->gvl_ns > 0 ? _PAIR_MAX : PAIR_GVL,
				     .row_count = view->pair_count,
				     .width = options->width,
				     .is_bold = options->is_bold,
				     .cell = write_pair,
				     .context = view };

	text_printer_table(options->printer, &table, out);
}

static void name_began(char *title, size_t size)
{
	char zone[DISPLAY_ZONE_BYTES];

	(void)display_needs_date(0, 0, zone);
	(void)snprintf(title, size, "began (%s)", zone);
}

static void choose_wait_columns(struct view *view)
{
	view->wait_column_count = 0;
	for (enum wait_column column = 0; column < _WAIT_MAX; column++) {
		if (view->is_of_request && (column == WAIT_VALUE || column == WAIT_REQUEST))
			continue;
		if (column != WAIT_METHOD || view->frames)
			view->wait_columns[view->wait_column_count++] = column;
	}
}

static void print_waits(struct view *view, const struct stalls_view_options *options, FILE *out)
{
	char began[DISPLAY_ZONE_BYTES + sizeof("began ()")];
	const struct table_column columns[_WAIT_MAX] = {
		[WAIT_VALUE] = { view->stalls->by, 0, false },
		[WAIT_LENGTH] = { "wait", 0, false },
		[WAIT_ON] = { "on", 1, true },
		[WAIT_CALL] = { "in", 5, true },
		[WAIT_OBJECT] = { "file or peer", 3, true },
		[WAIT_METHOD] = { "method", 3, true },
		[WAIT_ENDER] = { "ended by", 2, true },
		[WAIT_ENDING_REQUEST] = { "in request", 6, true },
		[WAIT_REQUEST] = { "request_id", 4, true },
		[WAIT_THREAD] = { "thread", 8, true },
		[WAIT_BEGAN] = { began, 7, false },
	};
	struct table_column shown[_WAIT_MAX];
	struct table table = { .columns = shown,
			       .row_count = view->wait_count,
			       .width = options->width,
			       .is_bold = options->is_bold,
			       .cell = write_wait,
			       .context = view };

	choose_wait_columns(view);
	for (size_t i = 0; i < view->wait_column_count; i++)
		shown[i] = columns[view->wait_columns[i]];
	table.column_count = view->wait_column_count;
	name_began(began, sizeof(began));
	text_printer_table(options->printer, &table, out);
}

enum hog_sum_column {
	HOG_SUM_VALUE,
	HOG_SUM_HOGS,
	HOG_SUM_KEPT,
	HOG_SUM_CPU,
	HOG_SUM_LONGEST,
	HOG_SUM_HELD,
	HOG_SUM_HELD_TIME,
	_HOG_SUM_MAX,
};

static void write_hog_sum(const void *context, size_t row, size_t column,
			  char ret_text[static TABLE_CELL_BYTES])
{
	const struct view *view = context;
	const struct stalls_hog_sum *sum = view->hog_sums[row];

	switch ((enum hog_sum_column)column) {
	case HOG_SUM_VALUE:
		cell_text_key(sum->value, view->stalls->by, TABLE_FIRST_COLUMN_MAX, ret_text);
		return;
	case HOG_SUM_HOGS:
		display_number((int64_t)sum->count, ret_text);
		return;
	case HOG_SUM_KEPT:
		display_duration(sum->kept_ns, ret_text);
		return;
	case HOG_SUM_CPU:
		display_duration(sum->cpu_ns, ret_text);
		return;
	case HOG_SUM_LONGEST:
		display_duration(sum->longest_ns, ret_text);
		return;
	case HOG_SUM_HELD:
		display_number((int64_t)sum->held_count, ret_text);
		return;
	default:
		display_duration(sum->held_ns, ret_text);
		return;
	}
}

static void print_hog_sums(const struct view *view, const struct stalls_view_options *options,
			   FILE *out)
{
	const struct table_column columns[_HOG_SUM_MAX] = {
		[HOG_SUM_VALUE] = { view->stalls->by, 0, false },
		[HOG_SUM_HOGS] = { "hogs", 2, false },
		[HOG_SUM_KEPT] = { "kept a thread", 0, false },
		[HOG_SUM_CPU] = { "cpu", 4, false },
		[HOG_SUM_LONGEST] = { "longest", 3, false },
		[HOG_SUM_HELD] = { "held up", 1, false },
		[HOG_SUM_HELD_TIME] = { "for, in sum", 0, false },
	};
	const struct table table = { .columns = columns,
				     .column_count = _HOG_SUM_MAX,
				     .row_count = view->hog_sum_count,
				     .width = options->width,
				     .is_bold = options->is_bold,
				     .cell = write_hog_sum,
				     .context = view };

	text_printer_table(options->printer, &table, out);
}

static void print_hogs(const struct view *view, const struct stalls_view_options *options,
		       FILE *out)
{
	char began[DISPLAY_ZONE_BYTES + sizeof("began ()")];
	const struct table_column columns[_HOG_MAX] = {
		[HOG_VALUE] = { view->stalls->by, 0, false },
		[HOG_LENGTH] = { "kept its thread", 0, false },
		[HOG_CPU] = { "cpu", 4, false },
		[HOG_HELD] = { "held up", 0, false },
		[HOG_HELD_TIME] = { "for, in sum", 1, false },
		[HOG_REQUEST] = { "request_id", 2, true },
		[HOG_THREAD] = { "thread", 5, true },
		[HOG_BEGAN] = { began, 4, false },
		[HOG_METHOD] = { "method", 3, true },
	};
	const struct table table = { .columns = columns,
				     .column_count = view->frames ? _HOG_MAX : HOG_METHOD,
				     .row_count = view->hog_count,
				     .width = options->width,
				     .is_bold = options->is_bold,
				     .cell = write_hog,
				     .context = view };

	name_began(began, sizeof(began));
	text_printer_table(options->printer, &table, out);
	text_printer_sentence(
		options->printer, options->width, out,
		"Held up: requests that were under way in other fibers of that thread, "
		"whatever they waited for.");
}

/* 0, -ENOMEM. */
static int choose_pairs(struct view *view, size_t top_count)
{
	const struct stalls_pair *pair = view->stalls->pairs;
	size_t count = top_shown(HASH_COUNT(view->stalls->pairs), top_count);

	view->pairs = calloc(count + 1, sizeof(*view->pairs));
	if (!view->pairs)
		return -ENOMEM;
	for (; view->pair_count < count; pair = pair->hh.next)
		view->pairs[view->pair_count++] = pair;
	return 0;
}

/* 0, -ENOMEM. */
static int choose_hog_sums(struct view *view, size_t top_count)
{
	const struct stalls_hog_sum *sum = view->stalls->hog_sums;
	size_t count = top_shown(HASH_COUNT(view->stalls->hog_sums), top_count);

	view->hog_sums = calloc(count + 1, sizeof(*view->hog_sums));
	if (!view->hog_sums)
		return -ENOMEM;
	for (; view->hog_sum_count < count; sum = sum->hh.next)
		view->hog_sums[view->hog_sum_count++] = sum;
	return 0;
}

static bool has_interrupt(const struct stalls *stalls)
{
	for (const struct stalls_pair *pair = stalls->pairs; pair; pair = pair->hh.next)
		if (pair->ender == STALLS_BY_INTERRUPT)
			return true;
	return false;
}

static void print_sums(const struct view *view, const struct stalls_view_options *options,
		       FILE *out)
{
	const struct stalls *stalls = view->stalls;
	char count[DISPLAY_NUMBER_BYTES], lost[DISPLAY_NUMBER_BYTES];
	char blocked[DISPLAY_NUMBER_BYTES], queued[DISPLAY_NUMBER_BYTES];
	char least[DISPLAY_NUMBER_BYTES];
	char usual[sizeof(", above p of their endpoint") + DISPLAY_NUMBER_BYTES] = "";
	int64_t least_ns = stalls->selection.recording.stall_ns;
	int64_t percentile = stalls->selection.recording.stall_percentile;

	if (percentile > 0)
		(void)snprintf(usual, sizeof(usual), ", above p%" PRId64 " of their endpoint",
			       percentile);
	display_duration(least_ns, least);
	display_number((int64_t)stalls->count, count);
	display_duration(stalls->blocked_ns, blocked);
	display_duration(stalls->run_queue_ns, queued);
	text_printer_sentence(
		options->printer, options->width, out,
		"%s wait%s%s%s%s: %s blocked, %s for a CPU.%s", count,
		display_plural(stalls->count), least_ns > 0 ? " of at least " : "",
		least_ns > 0 ? least : "", usual, blocked, queued,
		has_interrupt(stalls) ? " An interrupt may be a timer, a packet or a disk." : "");
	if (stalls->lost <= 0)
		return;
	display_number(stalls->lost, lost);
	text_printer_sentence(options->printer, options->width, out,
			      "%s long wait%s of all processes could not be recorded.", lost,
			      display_plural((uint64_t)stalls->lost));
}

static void print_tables(struct view *view, const struct stalls_view_options *options, FILE *out)
{
	if (view->pair_count > 0) {
		print_pairs(view, options, out);
		(void)fputc('\n', out);
		print_waits(view, options, out);
		(void)fputc('\n', out);
	}
	if (view->hog_count > 0) {
		print_hog_sums(view, options, out);
		(void)fputc('\n', out);
		print_hogs(view, options, out);
		(void)fputc('\n', out);
	}
	print_sums(view, options, out);
}

int stalls_text_print(const struct stalls *stalls, const struct stalls_view_options *options,
		      FILE *out)
{
	struct view view = { .stalls = stalls,
			     .frames = options->frames,
			     .wait_count = stalls->wait_count,
			     .hog_count = top_shown(stalls->hog_count, options->top_count) };
	char zone[DISPLAY_ZONE_BYTES];
	int r = choose_pairs(&view, options->top_count);

	if (r == 0)
		r = choose_hog_sums(&view, options->top_count);
	view.has_date = display_needs_date((int64_t)stalls->selection.recording.start_ns,
					   (int64_t)stalls->selection.recording.end_ns, zone);
	if (r == 0)
		print_tables(&view, options, out);
	free(view.hog_sums);
	free(view.pairs);
	return r;
}

void stalls_text_print_of_request(const struct stalls *stalls,
				  const struct stalls_view_options *options, FILE *out)
{
	struct view view = { .stalls = stalls,
			     .frames = options->frames,
			     .is_of_request = true,
			     .wait_count = top_shown(stalls->wait_count, options->top_count) };

	print_waits(&view, options, out);
	if (view.wait_count < stalls->count)
		display_sentence(out, options->width, DISPLAY_INDENT,
				 "… %" PRIu64 " shorter wait%s", stalls->count - view.wait_count,
				 display_plural(stalls->count - view.wait_count));
}
