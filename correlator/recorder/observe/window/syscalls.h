/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The system calls of a window, by account and number: taken from the kernel side, and made
 * records. Single thread.
 */
#pragma once

#include "base/cleanup.h"
#include "recorder/observe/output/output.h"
#include "recorder/observe/process/observed.h"
#include "recorder/observe/window/window.h"
#include "recorder/probe/session.h"

struct syscalls;

/* All borrowed for its life. NULL: no memory. */
struct syscalls_places {
	struct session *session;
	struct observed_table *processes;
	const struct window *window;
	struct output *output;
};
struct syscalls *syscalls_new(const struct syscalls_places *places);
void syscalls_free(struct syscalls *syscalls);
DEFINE_CLEANUP(struct syscalls *, syscalls_free);

/*
 * Of a window that was flushed, and whose rows are resolved and not joined yet: takes its calls.
 * Does nothing of NULL, as the others. 0, -ENOMEM or -errno (logged).
 */
int syscalls_settle(struct syscalls *syscalls, const struct window *window);

/* Adds the records of that window's calls to the output, and forgets them. As output_add(). */
int syscalls_put(struct syscalls *syscalls);

/* A window is lost: forgets its calls. */
void syscalls_forget(struct syscalls *syscalls);
