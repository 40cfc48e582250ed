/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/top/history.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/random.h"

int history_init(struct history *history)
{
	*history = (struct history){ .bytes_max = HISTORY_BYTES_MAX, .seed = random_seed() };
	selection_init(&history->selection, sizeof(struct selection_request));
	history->windows = calloc(HISTORY_WINDOWS_MAX, sizeof(*history->windows));
	return history->windows ? 0 : -ENOMEM;
}

static struct history_window *window_at(const struct history *history, uint64_t number)
{
	return &history->windows[number % HISTORY_WINDOWS_MAX];
}

const struct history_window *history_window(const struct history *history, uint64_t number)
{
	assert(number >= history->first && number < history->first + history->count);
	return window_at(history, number);
}

static void drop_first(struct history *history)
{
	struct history_window *window = window_at(history, history->first);

	history->bytes -= window->records.capacity_bytes;
	free(window->records.bytes);
	*window = (struct history_window){ 0 };
	history->first++;
	history->count--;
}

void history_deinit(struct history *history)
{
	while (history->count > 0)
		drop_first(history);
	free(history->windows);
	free(history->frames.bytes);
	packing_deinit(&history->packing);
	selection_deinit(&history->selection);
	*history = (struct history){ 0 };
}

static struct history_window *last_window(const struct history *history)
{
	return window_at(history, history->first + history->count - 1);
}

/* Drops the oldest windows beyond the limits; the last window stays, however large it is. */
static void drop_old(struct history *history)
{
	const uint64_t most_ns = HISTORY_SECONDS_MAX * NS_PER_S;

	while (history->count > 1 &&
	       (history->bytes > history->bytes_max || history->count > HISTORY_WINDOWS_MAX - 1 ||
		last_window(history)->end_ns - window_at(history, history->first)->end_ns >
			most_ns))
		drop_first(history);
}

static void begin_window(struct history *history, const struct record_view *record)
{
	*window_at(history, history->first + history->count) =
		(struct history_window){ .end_ns = record->wall_ns, .start_ns = record->wall_ns };
	history->count++;
	history->is_open = true;
}

void history_close_window(struct history *history)
{
	struct packed *records;
	uint8_t *bytes;

	if (!history->is_open)
		return;
	history->is_open = false;
	records = &last_window(history)->records;
	bytes = records->bytes ? realloc(records->bytes, records->size_bytes) : NULL;
	if (!bytes)
		return;
	history->bytes -= records->capacity_bytes - records->size_bytes;
	records->bytes = bytes;
	records->capacity_bytes = records->size_bytes;
}

uint64_t history_closed_count(const struct history *history)
{
	return history->count - (history->is_open ? 1 : 0);
}

uint64_t history_tag(const struct history *history, struct record_text request_id)
{
	uint64_t hash;

	if (request_id.size_bytes == 0)
		return 0;
	hash = hash_bytes(history->seed, request_id.bytes, request_id.size_bytes);
	return hash ? hash : 1;
}

static uint64_t tag_of(const struct history *history, const struct record_view *record)
{
	struct record_text id = { 0 };

	if (record->kind == RECORD_KIND_CPU)
		(void)record_view_text(record, "request_id", &id);
	return history_tag(history, id);
}

static void note_length(struct history_window *window, const struct record_view *record)
{
	int64_t window_ns = 0;

	(void)record_view_count(record, RECORD_FIELD(balance, window_ns), &window_ns);
	if ((uint64_t)window_ns <= record->wall_ns &&
	    record->wall_ns - (uint64_t)window_ns < window->start_ns)
		window->start_ns = record->wall_ns - (uint64_t)window_ns;
}

static int put(struct history *history, const struct record_view *record)
{
	struct history_window *window;
	size_t before_bytes;
	int r;

	/* A record for a window that was already shown reopens it. */
	if (history->count == 0 || record->wall_ns > last_window(history)->end_ns) {
		history_close_window(history);
		begin_window(history, record);
	}
	window = last_window(history);
	before_bytes = window->records.capacity_bytes;
	r = packing_put(&history->packing, record, tag_of(history, record), &window->records);
	history->bytes += window->records.capacity_bytes - before_bytes;
	if (r == -E2BIG) {
		history->left_out++;
		return 0;
	}
	if (r < 0)
		return r;
	window->record_count++;
	note_length(window, record);
	history->is_open = true;
	drop_old(history);
	return 0;
}

static int put_frame(struct history *history, const struct record_view *record)
{
	int r = history->frames.size_bytes < HISTORY_FRAMES_BYTES_MAX
			? packing_put(&history->packing, record, 0, &history->frames)
			: -E2BIG;

	if (r == -E2BIG) {
		history->left_out++;
		return 0;
	}
	return r;
}

int history_add(struct history *history, const struct record_view *record)
{
	struct books unused = { 0 };
	int r;

	if (record->kind == RECORD_KIND_BALANCE && books_add_balance(&unused, record) < 0) {
		history->damaged++;
		return 0;
	}
	r = selection_admit(&history->selection, record);
	if (r <= 0 || record->kind == RECORD_KIND_META || record->kind == RECORD_KIND_PROCESS ||
	    record->kind == RECORD_KIND_OTHER)
		return r < 0 ? r : 0;
	return record->kind == RECORD_KIND_STACK ? put_frame(history, record)
						 : put(history, record);
}

/* True if the record must be unpacked; its head alone decides. */
static bool is_wanted(const struct history_span *span, const struct packed_head *head)
{
	if (head->kind != RECORD_KIND_CPU)
		return true;
	return !span->has_no_cpu && (!span->wants || span->wants(span->context, head->tag));
}

static int add_window_up(const struct history *history, const struct history_span *span,
			 const struct history_window *window, struct record_view *view,
			 struct totals *totals)
{
	struct packed_head head;
	size_t offset = 0;
	int r = 0;

	while (r == 0 && packing_next_head(&window->records, &offset, &head)) {
		if (!is_wanted(span, &head))
			continue;
		packing_get(&history->packing, &window->records, offset, &head, view);
		r = totals_add(totals, view);
	}
	return r;
}

int history_add_up(const struct history *history, const struct history_span *span,
		   struct totals *totals)
{
	_cleanup_free_ struct record_view *view = malloc(sizeof(*view));
	int r = view ? 0 : -ENOMEM;

	recording_borrow(&totals->selection.recording, &history->selection.recording);
	for (uint64_t number = span->first; number <= span->last && r == 0; number++)
		r = add_window_up(history, span, history_window(history, number), view, totals);
	return r == 0 ? totals_finish(totals) : r;
}

static int add_all_stacks(const struct history *history, const struct packed *records,
			  struct record_view *view, struct stacks *stacks)
{
	struct packed_head head;
	size_t offset = 0;
	int r = 0;

	while (r == 0 && packing_next_head(records, &offset, &head)) {
		if (head.kind != RECORD_KIND_CPU && head.kind != RECORD_KIND_SAMPLE &&
		    head.kind != RECORD_KIND_STACK)
			continue;
		packing_get(&history->packing, records, offset, &head, view);
		r = stacks_add(stacks, view);
	}
	return r;
}

int history_add_stacks(const struct history *history, const struct history_span *span,
		       struct stacks *stacks)
{
	_cleanup_free_ struct record_view *view = malloc(sizeof(*view));
	int r = view ? 0 : -ENOMEM;

	recording_borrow(&stacks->selection.recording, &history->selection.recording);
	if (r == 0)
		r = add_all_stacks(history, &history->frames, view, stacks);
	for (uint64_t number = span->first; number <= span->last && r == 0; number++)
		r = add_all_stacks(history, &history_window(history, number)->records, view,
				   stacks);
	return r == 0 ? stacks_finish(stacks) : r;
}

static int visit_window(const struct history *history, const struct history_span *span,
			const struct history_window *window, struct record_view *view,
			history_visit_fn visit, void *user)
{
	struct packed_head head;
	size_t offset = 0;
	int r = 0;

	while (r == 0 && packing_next_head(&window->records, &offset, &head)) {
		if (head.kind != RECORD_KIND_CPU || !is_wanted(span, &head))
			continue;
		packing_get(&history->packing, &window->records, offset, &head, view);
		r = visit(user, window, view);
	}
	return r;
}

int history_visit(const struct history *history, const struct history_span *span,
		  history_visit_fn visit, void *user)
{
	_cleanup_free_ struct record_view *view = malloc(sizeof(*view));
	int r = view ? 0 : -ENOMEM;

	for (uint64_t number = span->first; number <= span->last && r == 0; number++)
		r = visit_window(history, span, history_window(history, number), view, visit, user);
	return r;
}
