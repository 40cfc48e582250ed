/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/window_slices.h"

#include <errno.h>
#include <stdlib.h>

#include "base/hash_table.h"

/* Slices wake nobody up: the ring must hold them for this long. */
#define READ_PERIOD_NS (50 * NS_PER_MS)

enum {
	WRITE_AT_BYTES = 1024 * 1024
};

/* A row of a thread, which has its name. */
struct named_thread {
	uint64_t serial;
	const struct window_row *row;
	UT_hash_handle hh;
};

struct window_slices {
	struct stints *stints;
	uint64_t due_ns;
};

/* State to make records of the slices of a window. */
struct put {
	const struct window *window;
	struct observed_table *processes;
	struct context_table *contexts;
	struct output *output;
	struct named_thread *threads; /* uthash, by serial */
};

struct window_slices *window_slices_new(uint64_t held_bytes_max)
{
	_cleanup_(window_slices_freep) struct window_slices *timeline =
		calloc(1, sizeof(*timeline));

	if (!timeline)
		return NULL;
	timeline->stints = stints_new(held_bytes_max / sizeof(struct stint));
	return timeline->stints ? TAKE_PTR(timeline) : NULL;
}

void window_slices_free(struct window_slices *timeline)
{
	if (!timeline)
		return;
	stints_free(timeline->stints);
	free(timeline);
}

uint64_t window_slices_due_ns(const struct window_slices *timeline)
{
	return timeline ? timeline->due_ns : UINT64_MAX;
}

void window_slices_read(struct window_slices *timeline, struct session *session, uint64_t now_ns)
{
	if (!timeline || now_ns < timeline->due_ns)
		return;
	(void)session_read_stints(session, stints_add, timeline->stints);
	timeline->due_ns = now_ns + READ_PERIOD_NS;
}

void window_slices_settle(struct window_slices *timeline, struct session *session,
			  struct window *window, struct observed_table *processes)
{
	struct observed *process = processes->processes;

	if (!timeline)
		return;
	(void)session_read_stints(session, stints_add, timeline->stints);
	stints_settle(timeline->stints, (uint32_t)window->epoch);
	for (; process; process = process->hh.next)
		process->books.balance.losses[COUNTER_SLICE_LOST] +=
			stints_take_lost(timeline->stints, process->life);
}

/* Indexes the first row of each thread. 0 or -ENOMEM. */
static int name_threads(struct put *put, struct named_thread *rooms)
{
	const struct window *window = put->window;
	struct named_thread *known;

	for (size_t i = 0; i < window->row_count; i++) {
		const struct window_row *row = &window->rows[i];

		HASH_FIND(hh, put->threads, &row->key.thread_serial, sizeof(row->key.thread_serial),
			  known);
		if (known)
			continue;
		rooms[i] = (struct named_thread){ .serial = row->key.thread_serial, .row = row };
		HASH_ADD(hh, put->threads, serial, sizeof(rooms[i].serial), &rooms[i]);
		if (!rooms[i].hh.tbl)
			return -ENOMEM;
	}
	return 0;
}

static int write_much(struct put *put)
{
	if (output_mark(put->output) < WRITE_AT_BYTES)
		return 0;
	return output_write(put->output, window_wall_ns(put->window, put->window->end_ktime_ns));
}

/* A slice of a process that is no longer known has no record, as that process has no balance. */
static int put_slice(void *user, const struct slice *slice)
{
	struct put *put = user;
	const struct stint *stint = slice->stint;
	const struct observed *process = observed_find(put->processes, stint->life);
	const struct context *context = context_table_look(put->contexts, stint->context_hash);
	struct record_key keys[KEYS_MAX];
	struct named_thread *thread;
	struct slice_record record;
	int r;

	if (!process)
		return 0;
	HASH_FIND(hh, put->threads, &stint->thread_serial, sizeof(stint->thread_serial), thread);
	window_slice_record(put->window, &process->books, context, thread ? thread->row : NULL,
			    slice, keys, &record);
	r = output_add(put->output, window_wall_ns(put->window, put->window->end_ktime_ns),
		       &record);
	return r < 0 ? r : write_much(put);
}

int window_slices_put(struct window_slices *timeline, const struct window *window,
		      struct observed_table *processes, struct context_table *contexts,
		      struct output *output)
{
	struct put put = {
		.window = window, .processes = processes, .contexts = contexts, .output = output
	};
	_cleanup_free_ struct named_thread *rooms = NULL;
	int r;

	if (!timeline)
		return 0;
	rooms = calloc(window->row_count + 1, sizeof(*rooms));
	r = rooms ? name_threads(&put, rooms) : -ENOMEM;
	if (r == 0)
		r = stints_each(timeline->stints, put_slice, &put);
	HASH_CLEAR(hh, put.threads);
	stints_next(timeline->stints);
	return r;
}
