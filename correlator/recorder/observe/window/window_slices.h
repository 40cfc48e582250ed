/* SPDX-License-Identifier: GPL-2.0-only */
/* The timeline of a recording: slices from kernel side to records, per window. Single thread. */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "recorder/observe/output/output.h"
#include "recorder/observe/process/observed.h"
#include "recorder/observe/window/contexts.h"
#include "recorder/observe/window/window.h"
#include "recorder/probe/session.h"

struct window_slices;

/* Holds at most held_bytes_max of slices. NULL: no memory. */
struct window_slices *window_slices_new(uint64_t held_bytes_max);
void window_slices_free(struct window_slices *timeline);
DEFINE_CLEANUP(struct window_slices *, window_slices_free);

/* When to read the ring again; UINT64_MAX if timeline is NULL. */
uint64_t window_slices_due_ns(const struct window_slices *timeline);
/* Reads the ring, if it is due. */
void window_slices_read(struct window_slices *timeline, struct session *session, uint64_t now_ns);

/*
 * For a window that was flushed, and whose rows are resolved: reads the rest of its slices, and
 * counts lost ones in the balances of its processes. Call before their books are closed.
 */
void window_slices_settle(struct window_slices *timeline, struct session *session,
			  struct window *window, struct observed_table *processes);

/*
 * Adds the records of that window's slices to the output, and writes the output whenever there is
 * much of it. 0, or the error of output_add() or output_write(): the remaining slices are dropped.
 */
int window_slices_put(struct window_slices *timeline, const struct window *window,
		      struct observed_table *processes, struct context_table *contexts,
		      struct output *output);
