/* SPDX-License-Identifier: GPL-2.0-only */
/* Long waits, for programs: what ended them, by the key of the request that waited, and each of the
 * longest ones. */
#include "reader/report/stalls_view.h"

#include "reader/aggregate/top.h"
#include "reader/report/sheet_parts.h"

enum kind {
	KIND_TOTAL,
	KIND_PAIR,
	KIND_STALL,
	KIND_HOG_SUM,
	KIND_HOG,
	_KIND_MAX,
};

static const struct sheet_kind kinds[_KIND_MAX] = {
	[KIND_TOTAL] = { "total", NULL, false, SHEET_PART_OF_DOCUMENTS },
	[KIND_PAIR] = { "ended_by", "ended_by", false, SHEET_PART_OF_ALL },
	[KIND_STALL] = { "stall", "stalls", false, SHEET_PART_OF_ALL },
	[KIND_HOG_SUM] = { "hog_sum", "hog_sums", false, SHEET_PART_OF_ALL },
	[KIND_HOG] = { "hog", "hogs", false, SHEET_PART_OF_ALL },
};

/* The columns behind the key, in order. */
#define COLUMNS(X)                           \
	X(ENDED_BY, "ended_by")              \
	X(ENDER, "ender")                    \
	X(STALLS, "stalls")                  \
	X(BLOCKED, "blocked_ns")             \
	X(QUEUED, "run_queue_ns")            \
	X(GVL, "gvl_ns")                     \
	X(LONGEST, "longest_ns")             \
	X(LOST, "stalls_lost")               \
	X(START, "start_ns")                 \
	X(END, "end_ns")                     \
	X(PID, "pid")                        \
	X(TID, "tid")                        \
	X(THREAD, "thread_name")             \
	X(REQUEST, "request_id")             \
	X(BLOCKED_ON, "blocked_on")          \
	X(SYSCALL, "syscall")                \
	X(WAITED_ON, "waited_on")            \
	X(ENDER_PID, "ender_pid")            \
	X(ENDER_TID, "ender_tid")            \
	X(ENDER_REQUEST, "ender_request_id") \
	X(HOGS, "hogs")                      \
	X(KEPT, "kept_ns")                   \
	X(CPU, "cpu_ns")                     \
	X(HELD, "held_requests")             \
	X(HELD_NS, "held_ns")                \
	X(METHOD, "method")                  \
	X(FILE, "file")                      \
	X(LINE, "line")

enum column {
#define COLUMN(id, name) COLUMN_##id,
	COLUMNS(COLUMN)
#undef COLUMN
	_COLUMN_MAX,
};

static const char *const column_names[_COLUMN_MAX] = {
#define COLUMN(id, name) [COLUMN_##id] = (name),
	COLUMNS(COLUMN)
#undef COLUMN
};

struct view {
	const struct stalls *stalls;
	const struct frames *frames;
	struct sheet sheet;
	size_t key; /* these are indices of columns */
	size_t first;
};

static void add_columns(struct view *view)
{
	view->key = sheet_add_key(&view->sheet);
	view->first = view->key + 1;
	for (size_t i = 0; i < _COLUMN_MAX; i++)
		(void)sheet_add(&view->sheet, NULL, column_names[i]);
}

static void put(struct view *view, enum column column, int64_t number)
{
	sheet_put(&view->sheet, view->first + column, cell_integer(number));
}

/* Puts nothing if there is none: whether it is known is not. */
static void put_gvl(struct view *view, int64_t gvl_ns)
{
	if (gvl_ns > 0)
		put(view, COLUMN_GVL, gvl_ns);
}

/* Puts nothing if the text is empty: it is not known. */
static void put_text(struct view *view, enum column column, struct record_text text)
{
	if (text.size_bytes > 0)
		sheet_put(&view->sheet, view->first + column, cell_text(text));
}

static void put_ids(struct view *view, enum column pid_column, int64_t pid, int64_t tid)
{
	if (tid <= 0)
		return;
	put(view, pid_column, pid);
	put(view, pid_column + 1, tid);
}

static void put_key(struct view *view, struct record_text value)
{
	if (value.size_bytes > 0)
		sheet_put(&view->sheet, view->key, cell_text(value));
}

static void put_total(struct view *view)
{
	const struct stalls *stalls = view->stalls;

	sheet_row(&view->sheet, KIND_TOTAL);
	put(view, COLUMN_STALLS, (int64_t)stalls->count);
	put(view, COLUMN_BLOCKED, stalls->blocked_ns);
	put(view, COLUMN_QUEUED, stalls->run_queue_ns);
	put_gvl(view, stalls->gvl_ns);
	put(view, COLUMN_LOST, stalls->lost);
	sheet_end_row(&view->sheet);
}

static void put_ender(struct view *view, enum stalls_ender ender, struct record_text text)
{
	sheet_put(&view->sheet, view->first + COLUMN_ENDED_BY,
		  cell_string(stalls_ender_name(ender)));
	put_text(view, COLUMN_ENDER, text);
}

static void put_pair(struct view *view, const struct stalls_pair *pair)
{
	sheet_row(&view->sheet, KIND_PAIR);
	put_key(view, pair->value);
	put_ender(view, pair->ender, pair->ender_text);
	put(view, COLUMN_STALLS, (int64_t)pair->count);
	put(view, COLUMN_BLOCKED, pair->blocked_ns);
	put(view, COLUMN_QUEUED, pair->run_queue_ns);
	put_gvl(view, pair->gvl_ns);
	put(view, COLUMN_LONGEST, pair->longest_ns);
	sheet_end_row(&view->sheet);
}

static void put_span(struct view *view, const struct stalls_wait *wait)
{
	put_key(view, wait->texts[STALLS_VALUE]);
	put(view, COLUMN_BLOCKED, wait->blocked_ns);
	put(view, COLUMN_QUEUED, wait->run_queue_ns);
	put(view, COLUMN_START, wait->start_ns);
	put(view, COLUMN_END, wait->end_ns);
	put_ids(view, COLUMN_PID, wait->thread.pid, wait->thread.tid);
	put_text(view, COLUMN_THREAD, wait->texts[STALLS_THREAD]);
	put_text(view, COLUMN_REQUEST, wait->texts[STALLS_REQUEST]);
}

static void put_method(struct view *view, const struct stalls_wait *wait)
{
	const struct frame *method = frames_method(view->frames, wait->texts[STALLS_STACK]);

	if (!method)
		return;
	sheet_put_text(&view->sheet, view->first + COLUMN_METHOD, method->name);
	sheet_put_text(&view->sheet, view->first + COLUMN_FILE, method->file);
	if (method->line > 0)
		put(view, COLUMN_LINE, method->line);
}

static void put_wait(struct view *view, const struct stalls_wait *wait)
{
	sheet_row(&view->sheet, KIND_STALL);
	put_span(view, wait);
	put_gvl(view, wait->gvl_ns);
	put_ender(view, wait->ender, wait->texts[STALLS_ENDER]);
	put_text(view, COLUMN_BLOCKED_ON, wait->texts[STALLS_BLOCKED_ON]);
	put_text(view, COLUMN_SYSCALL, wait->texts[STALLS_SYSCALL]);
	put_text(view, COLUMN_WAITED_ON, wait->texts[STALLS_WAITED_ON]);
	put_ids(view, COLUMN_ENDER_PID, wait->ender_pid, wait->ender_tid);
	put_text(view, COLUMN_ENDER_REQUEST, wait->texts[STALLS_ENDING_REQUEST]);
	put_method(view, wait);
	sheet_end_row(&view->sheet);
}

static void put_hog_sum(struct view *view, const struct stalls_hog_sum *sum)
{
	sheet_row(&view->sheet, KIND_HOG_SUM);
	put_key(view, sum->value);
	put(view, COLUMN_LONGEST, sum->longest_ns);
	put(view, COLUMN_HOGS, (int64_t)sum->count);
	put(view, COLUMN_KEPT, sum->kept_ns);
	put(view, COLUMN_CPU, sum->cpu_ns);
	put(view, COLUMN_HELD, (int64_t)sum->held_count);
	put(view, COLUMN_HELD_NS, sum->held_ns);
	sheet_end_row(&view->sheet);
}

static void put_hog(struct view *view, const struct stalls_wait *hog)
{
	sheet_row(&view->sheet, KIND_HOG);
	put_span(view, hog);
	put(view, COLUMN_CPU, hog->cpu_ns);
	put(view, COLUMN_HELD, (int64_t)hog->held_count);
	put(view, COLUMN_HELD_NS, hog->held_ns);
	put_method(view, hog);
	sheet_end_row(&view->sheet);
}

int stalls_view_print(const struct stalls *stalls, const struct stalls_view_options *options,
		      FILE *out)
{
	const struct stalls_hog_sum *sum = stalls->hog_sums;
	const struct stalls_pair *pair = stalls->pairs;
	size_t hog_count = top_shown(stalls->hog_count, options->top_count);
	struct view view = { .stalls = stalls, .frames = options->frames };

	if (options->format == FORMAT_TABLE)
		return stalls_text_print(stalls, options, out);
	sheet_init(&view.sheet, options->format, stalls->by, kinds, _KIND_MAX, out);
	add_columns(&view);
	sheet_begin(&view.sheet);
	put_total(&view);
	for (size_t left = top_shown(HASH_COUNT(pair), options->top_count); left > 0; left--) {
		put_pair(&view, pair);
		pair = pair->hh.next;
	}
	for (size_t i = 0; i < stalls->wait_count && sheet_goes_on(&view.sheet); i++)
		put_wait(&view, stalls->waits[i]);
	for (size_t left = top_shown(HASH_COUNT(sum), options->top_count); left > 0; left--) {
		put_hog_sum(&view, sum);
		sum = sum->hh.next;
	}
	for (size_t i = 0; i < hog_count && sheet_goes_on(&view.sheet); i++)
		put_hog(&view, stalls->hogs[i]);
	sheet_end_rows(&view.sheet);
	return sheet_finish(&view.sheet);
}
