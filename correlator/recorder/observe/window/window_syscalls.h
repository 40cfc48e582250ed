/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The system calls of a window, by account and number: drained from the kernel side, and turned
 * into records. Single thread.
 */
#pragma once

#include "base/cleanup.h"
#include "recorder/observe/output/output.h"
#include "recorder/observe/process/observed.h"
#include "recorder/observe/window/window.h"
#include "recorder/probe/session.h"

struct window_syscalls;

/* Borrowed for the life of the window_syscalls, which is NULL without memory. */
struct window_syscalls_places {
	struct session *session;
	struct observed_table *processes;
	const struct window *window;
	struct output *output;
};
struct window_syscalls *window_syscalls_new(const struct window_syscalls_places *places);
void window_syscalls_free(struct window_syscalls *syscalls);
DEFINE_CLEANUP(struct window_syscalls *, window_syscalls_free);

/*
 * Takes the calls of a window that was flushed, and whose rows are resolved but not yet joined.
 * Accepts NULL, as do the others. 0, -ENOMEM or -errno (logged).
 */
int window_syscalls_settle(struct window_syscalls *syscalls, const struct window *window);

/* Adds the records of that window's calls to the output, and drops the calls. As output_add(). */
int window_syscalls_put(struct window_syscalls *syscalls);

/* Drops the calls of a window that is lost. */
void window_syscalls_forget(struct window_syscalls *syscalls);
