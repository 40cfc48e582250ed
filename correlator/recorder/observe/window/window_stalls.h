/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stalls of a window, from the kernel side's ring to records. A stall is of the window in which
 * its last part was charged: by then its context, and that of its waker, are known. Bounded; stalls
 * without room are counted. Single thread.
 */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "recorder/observe/output/output.h"
#include "recorder/observe/process/observed.h"
#include "recorder/observe/window/contexts.h"
#include "recorder/observe/window/window.h"
#include "recorder/observe/window/window_stacks.h"
#include "recorder/probe/session.h"

struct window_stalls;

/* Borrowed for the life of the window_stalls, which is NULL without memory. */
struct window_stalls_places {
	struct session *session;
	struct observed_table *processes;
	struct context_table *contexts;
	struct window_stacks *stacks; /* NULL = none are taken */
	uint32_t percentile; /* only waits longer than that of their endpoint (usual_waits.h); 0 =
				all */
	const struct window *window;
	struct output *output;
};
struct window_stalls *window_stalls_new(const struct window_stalls_places *places);
void window_stalls_free(struct window_stalls *stalls);
DEFINE_CLEANUP(struct window_stalls *, window_stalls_free);

/* When to read the ring again; UINT64_MAX if stalls is NULL. */
uint64_t window_stalls_due_ns(const struct window_stalls *stalls);
/* Reads the ring, if it is due. Accepts NULL, as do the others. */
void window_stalls_read(struct window_stalls *stalls, uint64_t now_ns);

/* For a window that was flushed: reads the rest of its stalls. Call before the books are closed, in
 * which lost ones are counted. */
void window_stalls_settle(struct window_stalls *stalls);

/* Adds the records of that window's stalls that are wanted to the output, and drops them. As
 * output_add(). */
int window_stalls_put(struct window_stalls *stalls);
