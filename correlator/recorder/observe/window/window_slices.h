/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timeline of a recording: slices from the kernel side to their records, window by window.
 * Single thread.
 */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "recorder/observe/output/output.h"
#include "recorder/observe/process/observed.h"
#include "recorder/observe/window/contexts.h"
#include "recorder/observe/window/window.h"
#include "recorder/probe/session.h"

struct window_slices;

/* Holds at most so many bytes of slices. NULL: no memory. */
struct window_slices *window_slices_new(uint64_t held_bytes_max);
void window_slices_free(struct window_slices *timeline);
DEFINE_CLEANUP(struct window_slices *, window_slices_free);

/* When the ring is to be looked into again; UINT64_MAX of NULL. */
uint64_t window_slices_due_ns(const struct window_slices *timeline);
/* Looks into it. */
void window_slices_read(struct window_slices *timeline, struct session *session, uint64_t now_ns);

/*
 * Of a window that was flushed, and whose rows are resolved: reads what is left of it, and counts
 * what was lost in the balances of its processes. Before their books are closed.
 */
void window_slices_settle(struct window_slices *timeline, struct session *session,
			  struct window *window, struct observed_table *processes);

/*
 * Adds the records of that window's slices to the output, and writes it whenever there is much of
 * it. 0, or what output_add() and output_write() say. What does not come out so is forgotten.
 */
int window_slices_put(struct window_slices *timeline, const struct window *window,
		      struct observed_table *processes, struct context_table *contexts,
		      struct output *output);
