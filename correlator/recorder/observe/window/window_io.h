/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The reads and writes of a window, by account and peer: drained from the kernel side, and turned
 * into records. Single thread.
 */
#pragma once

#include "base/cleanup.h"
#include "recorder/observe/output/output.h"
#include "recorder/observe/process/observed.h"
#include "recorder/observe/window/window.h"
#include "recorder/probe/session.h"

struct window_ios;

/* Borrowed for the life of the window_ios, which is NULL without memory. */
struct window_io_places {
	struct session *session;
	struct observed_table *processes;
	const struct window *window;
	struct output *output;
};
struct window_ios *window_io_new(const struct window_io_places *places);
void window_io_free(struct window_ios *ios);
DEFINE_CLEANUP(struct window_ios *, window_io_free);

/*
 * Takes the figures of a window that was flushed, and whose rows are resolved but not yet joined.
 * Accepts NULL, as do the others. 0, -ENOMEM or -errno (logged).
 */
int window_io_settle(struct window_ios *ios, const struct window *window);

/* Adds the records of that window's figures to the output, and drops them. As output_add(). */
int window_io_put(struct window_ios *ios);

/* Drops the figures of a window that is lost. */
void window_io_forget(struct window_ios *ios);
