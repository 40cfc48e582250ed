/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stacks of a recording: named as soon as the kernel side tells them, and written down, each
 * frame once; and the samples of a window. Single thread. What has no room is counted in the books.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "recorder/observe/output/output.h"
#include "recorder/observe/process/observed.h"
#include "recorder/observe/window/contexts.h"
#include "recorder/observe/window/window.h"
#include "recorder/probe/session.h"

struct stacks;

/* All borrowed for its life. NULL: no memory. */
struct stacks_places {
	struct session *session;
	struct observed_table *processes;
	const struct window *window;
	struct output *output;
	uint32_t hz;
	bool has_native; /* what native code runs is told, too */
};
struct stacks *stacks_new(const struct stacks_places *places);
void stacks_free(struct stacks *stacks);
DEFINE_CLEANUP(struct stacks *, stacks_free);

/* Looks where the frames of processes are that are new. Does nothing of NULL, as the others. */
void stacks_look(struct stacks *stacks, uint64_t now_ns);

/*
 * Of a window that was flushed, and whose rows are resolved and not joined yet: takes its samples,
 * and adds them to the balances. 0, -ENOMEM or -errno (logged).
 */
int stacks_settle(struct stacks *stacks, struct window *window);

/* Adds the records of that window's samples to the output, and forgets them. As output_add(). */
int stacks_put(struct stacks *stacks);

/* A window is lost, and so are records that were added in it: forgets its samples, and what was
 * written. */
void stacks_forget(struct stacks *stacks);
