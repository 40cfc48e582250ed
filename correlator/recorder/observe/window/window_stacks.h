/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stacks of a recording: named as soon as the kernel side reports them, and recorded, each
 * frame once; and the samples of a window. Single thread. The books count whatever does not fit.
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

struct window_stacks;

enum {
	WINDOW_STACK_ID_BYTES = 33, /* of a frame, as text */
};

/* Borrowed for the life of the window_stacks, which is NULL without memory. */
struct window_stacks_places {
	struct session *session;
	struct observed_table *processes;
	const struct window *window;
	struct output *output;
	uint32_t hz;
	bool has_native; /* also name the native code that runs */
	bool has_callers; /* and its callers; needs has_native */
};
struct window_stacks *window_stacks_new(const struct window_stacks_places *places);
void window_stacks_free(struct window_stacks *stacks);
DEFINE_CLEANUP(struct window_stacks *, window_stacks_free);

/* Reads the kernel's names, which takes 100 ms: frames that are sampled meanwhile may be gone
 * before they are named. Without it they are read when the first sample needs them. Accepts NULL,
 * as do the others. */
void window_stacks_prepare(struct window_stacks *stacks);
/* Searches for the frames of new processes. */
void window_stacks_look(struct window_stacks *stacks, uint64_t now_ns);

/*
 * For a window that was flushed, and whose rows are resolved but not yet joined: takes its samples,
 * and adds them to the balances. 0, -ENOMEM or -errno (logged).
 */
int window_stacks_settle(struct window_stacks *stacks, struct window *window);

/* Adds the records of that window's samples to the output, and drops these. As output_add(). */
int window_stacks_put(struct window_stacks *stacks);

/*
 * Adds the frames of a stall's stack to the output, if they are not there yet. Sets *ret_id to the
 * innermost one's id; "": its stack was not taken. As output_add(). Call after window_stacks_put():
 * until the next window ends it is known what the kernel side reported.
 */
struct stall;
int window_stacks_put_stack(struct window_stacks *stacks, struct observed *process,
			    const struct stall *stall, char ret_id[static WINDOW_STACK_ID_BYTES]);

/*
 * A window is lost, with the records that were added in it: drops its samples, and forgets which
 * frames were written.
 */
void window_stacks_forget(struct window_stacks *stacks);
